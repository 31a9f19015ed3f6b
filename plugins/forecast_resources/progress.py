"""What a unit of progress takes, from a table of models with their training compute and date.

Progress at a fixed date and progress at a fixed compute are told apart by one regression,
``y = a + b·log C + g·(t − 2024)``: b is what a factor e in compute came with at one date, g what a year came with at
one compute (algorithms, data, training after training). The two estimates depend on one another, so g is drawn given b.

The lag of open models is read off a regression too: ``y = a + g·(t − lag·open)`` through the records of either kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forecast import ModelSpec
from forecast.models import Description, FittedModel, Model, ModelRecord, Need, OtherModel
from forecast.streams import student_t

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.streams import Streams

    Array = NDArray[np.float64]

__all__ = ["frontier", "open_lag", "per_compute", "per_year"]

TABLE = "datasets/capability"
LAW = "resources/compute-and-time"
#: Editions are measured differently and never mixed: the last that was read as a whole.
EDITIONS, EDITION = "datasets/capability-editions", "2026-08"


_WHAT = ("points for each factor e in compute, at one date", "points a year, at one compute")
_NOW: Any = (0.0,)


def _fitted(as_of: float | None, name: str) -> tuple[Array, Array, float, int]:
    """Return b and g, their covariance, the degrees of freedom, and how many models there are."""
    import numpy as np

    from forecast import law, tables
    from forecast.tables import series

    rows = series.rows(TABLE, where={}, as_of=as_of, name=name, date="release_date")
    compute, eci = rows.numeric("training_compute"), rows.numeric("eci")
    known = np.isfinite(compute) & np.isfinite(eci)
    time = tables.decimal_year(rows.column("release_date")[known])
    fit = law(LAW).fit({"C": compute[known], "t": time, "y": eci[known]}, objective="least_squares")
    table = fit.covariance.sel(parameter=["b", "g"], other=["b", "g"]).values
    return np.array([fit.values["b"], fit.values["g"]]), table, float(known.sum() - 3), int(known.sum())


def per_compute(name: str, spec: ModelSpec) -> Model:
    """Build the model of progress per factor e in compute, at one date."""
    return _PerCompute(name=name, unit=spec.unit, note=spec.note, sources=(spec.reference,))


def per_year(name: str, spec: ModelSpec) -> Model:
    """Build the model of progress per year, at one compute; drawn given progress per compute."""
    import forecast

    slope = forecast.model("resources/progress-per-compute")
    inputs: dict[str, Need] = {"slope": OtherModel(model=slope)}
    return _PerYear(name=name, unit=spec.unit, note=spec.note, sources=(spec.reference,), inputs=inputs)


def frontier(name: str, spec: ModelSpec) -> Model:
    """Build the model of the points a year by which the best model so far has risen."""
    return _Frontier(name=name, unit=spec.unit, note=spec.note, sources=(spec.reference,))


def open_lag(name: str, spec: ModelSpec) -> Model:
    """Build the model of the years by which the best open model comes after the best closed one."""
    return _OpenLag(name=name, unit=spec.unit, note=spec.note, sources=(spec.reference,))


@dataclass(frozen=True, kw_only=True)
class _PerCompute(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        centre, table, dof, n = _fitted(as_of, self.name)
        return _Fitted(model=self, centre=centre, table=table, dof=dof, n=n, which=0)


@dataclass(frozen=True, kw_only=True)
class _PerYear(_PerCompute):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        centre, table, dof, n = _fitted(as_of, self.name)
        return _Fitted(model=self, centre=centre, table=table, dof=dof, n=n, which=1)


@dataclass(frozen=True, kw_only=True)
class _Frontier(_PerCompute):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        import numpy as np

        from forecast.tables import series

        time, y, _ = series.read(TABLE, x="release_date", y="eci", as_of=as_of, name=self.name, records=True)
        t = time - time.mean()
        slope, level = np.polyfit(t, y, 1)
        left = y - level - slope * t
        n = len(y)
        wider = _repeated([left])
        variance = float(left @ left / (n - 2) / (t @ t)) * wider
        dof = max(n / wider - 2, 1.0)
        return _Fitted(
            model=self, centre=np.array([slope]), table=np.array([[variance]]), dof=dof, n=len(np.unique(y)), which=0,
            what="points a year, of the best model so far",
        )  # fmt: skip


def _repeated(left: list[Array]) -> float:
    """Return by what the residuals of series widen a variance; records that follow one another repeat what they know.

    The number of observations over the effective one (Bayley & Hammersley 1946).
    """
    rho = max(sum(float(e[1:] @ e[:-1]) for e in left) / sum(float(e @ e) for e in left), 0.0)
    return (1 + rho) / (1 - rho)


@dataclass(frozen=True, kw_only=True)
class _OpenLag(_PerCompute):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        import numpy as np

        from forecast.tables import series

        read = [
            series.read(
                EDITIONS, x="release_date", y="eci", where={"edition": EDITION, "weights": kind}, as_of=as_of,
                name=self.name, records=True,
            )
            for kind in ("closed", "open")
        ]  # fmt: skip
        time, y = (np.concatenate([part[i] for part in read]) for i in (0, 1))
        is_open = np.repeat([0.0, 1.0], [len(part[0]) for part in read])
        x = np.column_stack([np.ones(len(y)), time - time.mean(), is_open])
        found = np.linalg.lstsq(x, y, rcond=None)[0]
        left = y - x @ found
        wider = _repeated([left[is_open == 0], left[is_open == 1]])
        table = (left @ left / (len(y) - 3) * np.linalg.inv(x.T @ x) * wider)[1:, 1:]
        dof = max(len(y) / wider - 3, 1.0)
        return _FittedLag(model=self, centre=found[1:], table=table, dof=dof, n=len(y))


@dataclass(frozen=True, kw_only=True)
class _FittedLag(FittedModel):
    """The lag −d/g, from the points a year g and the points d by which open models stand apart."""

    model: _PerCompute
    centre: Array
    table: Array
    dof: float
    n: int

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return the draws of the lag."""
        return {"value": self.sample(_NOW, {}, streams)[0]}

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        import numpy as np

        z = student_t(streams.uniforms("parameters", 3), self.dof)
        g, d = self.centre[:, None] + np.linalg.cholesky(self.table) @ z
        return np.broadcast_to(-d / g, (len(time), streams.draws)).copy()

    def describe(self) -> Description:
        value = float(-self.centre[1] / self.centre[0])
        low, high = self._interval()
        points = -float(self.centre[1])
        return Description(
            summary=f"open models come {value:.2f} years after the frontier [90 %: {low:.2f}, {high:.2f}], "
            f"{points:.1f} points, from {self.n} records of either kind in edition {EDITION}; {self.model.note}",
            assumptions=(
                "the frontiers of open and of closed models rise along two parallel lines",
                "a score counts as it stands: Epoch AI lets a model catch up that is not significantly behind",
            ),
            sources=self.model.sources,
            facts={"value": value, "p05": low, "p95": high, "points": points, "n": float(self.n)},
        )

    def _interval(self) -> tuple[float, float]:
        """Return the 90 % interval of a ratio: the lags at which d + lag·g does not differ from 0 (Fieller 1954)."""
        import numpy as np
        from scipy.special import stdtrit

        (g, d), limit = self.centre, float(stdtrit(self.dof, 0.95)) ** 2
        (gg, gd), (_, dd) = self.table
        ends = np.sort(np.roots([g**2 - limit * gg, 2 * (g * d - limit * gd), d**2 - limit * dd]).real)
        return float(ends[0]), float(ends[1])


@dataclass(frozen=True, kw_only=True)
class _Fitted(FittedModel):
    """b, or g given b.

    Parameters
    ----------
    model : Model
    centre, table : ndarray
        Estimates of b and g, and their covariance.
    dof : float
    n, which : int
        Models in the table; 0 for b, 1 for g.
    what : str
        What it is, for people.
    """

    model: _PerCompute
    centre: Array
    table: Array
    dof: float
    n: int
    which: int
    what: str = ""

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return the draws; of g given b what its own stream adds, in standard errors."""
        if self.which == 0:
            return {"value": self.sample(_NOW, {}, streams)[0]}
        return {"given_compute": student_t(streams.uniforms("parameters", 2), self.dof + 1)[0]}

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        import numpy as np

        size = streams.draws
        if self.which == 0:
            z = student_t(streams.uniforms("parameters", 2), self.dof)[0]
            drawn = self.centre[0] + np.sqrt(self.table[0, 0]) * z
        else:
            away = inputs["slope"][0] - self.centre[0]
            left = self.table[1, 1] - self.table[0, 1] ** 2 / self.table[0, 0]
            # Student's t given one of its parts: wider the further out that part is (Ding 2016)
            wide = (self.dof + away**2 / self.table[0, 0]) / (self.dof + 1)
            z = student_t(streams.uniforms("parameters", 2), self.dof + 1)[0]
            drawn = self.centre[1] + self.table[0, 1] / self.table[0, 0] * away + np.sqrt(wide * left) * z
        return np.broadcast_to(drawn, (len(time), size)).copy()

    def describe(self) -> Description:
        from scipy.special import stdtrit

        value = float(self.centre[self.which])
        half = float(stdtrit(self.dof, 0.95) * self.table[self.which, self.which] ** 0.5)
        what = self.what or _WHAT[self.which]
        return Description(
            summary=f"{value:.2f} {what} [90 %: {value - half:.2f}, {value + half:.2f}] from {self.n} models"
            + (f"; {self.model.note}" if self.model.note else ""),
            assumptions=(
                "the index is linear in log compute and in time, for every maker and every compute alike",
                "models are independent observations; those of one family are not, and the interval is too narrow",
            ),
            sources=self.model.sources,
            facts={"value": value, "p05": value - half, "p95": value + half, "n": float(self.n)},
        )
