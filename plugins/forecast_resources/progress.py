"""What a unit of progress takes, from a table of models with their training compute and date.

Progress at a fixed date and progress at a fixed compute are told apart by ``y = a + b·log C + g·(t − 2024)``: b is what
a factor e in compute came with at one date, g what a year came with at one compute (algorithms, data, training after
training). Compute is itself an estimate. With errors in both variables the points identify no b, only a range of them:
from the regression of the index on compute, which puts all error into the index, to that of compute on the index, which
puts all into compute (Frisch 1934). Each world draws its place in that range, uniform in 1/b and so in what a year is
worth in compute, g/b; g follows from b.

The lag of open models is read off a regression too: ``y = a + g·(t − lag·open)`` through the records of either kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import Input, ModelSpec
from forecast.errors import DataError
from forecast.models import Array, Description, FittedModel, Model, ModelRecord, OtherModel, model
from forecast.streams import student_t

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["frontier", "open_lag", "per_compute", "per_year"]

INDEX_TABLE = "datasets/capability-editions"
#: The scale is fitted anew with every edition: one edition at a time, and the newest that was read whole.
EDITION: Mapping[str, str] = {"edition": "2026-08"}

_NOW: Any = (0.0,)


@dataclass(frozen=True)
class _Moments:
    """Sums of squares and products of log compute and index, both less their line in time; and those lines' slopes."""

    cc: float
    cy: float
    yy: float
    tt: float
    slope_c: float
    slope_y: float
    n: int

    @property
    def dof(self) -> float:
        return float(self.n - 3)

    @property
    def forward(self) -> float:
        """Points for each factor e, by the regression of the index on compute."""
        return self.cy / self.cc

    @property
    def reverse(self) -> float:
        """Points for each factor e, by the regression of compute on the index."""
        return self.yy / self.cy

    @property
    def error(self) -> float:
        """Standard error of either, over it."""
        return math.sqrt(max(self.cc * self.yy / self.cy**2 - 1, 0.0) / self.dof)

    def at_one_compute(self, b: Any) -> Any:
        """Points a year at one compute, where a factor e of compute brings `b`."""
        return self.slope_y - b * self.slope_c

    def error_at_one_compute(self, b: Any) -> Any:
        """Return the standard error of that."""
        return ((self.yy - 2 * b * self.cy + b**2 * self.cc) / (self.n - 2) / self.tt) ** 0.5


def _moments(as_of: float | None, name: str) -> _Moments:
    """Return what the models of the table with compute and index say."""
    from forecast import tables
    from forecast.tables import series

    rows = series.rows_as_of(INDEX_TABLE, where=EDITION, as_of=as_of, name=name, date="release_date")
    compute, eci = rows.numeric("training_compute"), rows.numeric("eci")
    known = np.isfinite(compute) & np.isfinite(eci)
    if int(known.sum()) < 10:
        raise DataError(f"{name}: expected ten models with compute and index, got {int(known.sum())}")
    t = tables.decimal_year(rows.column("release_date")[known])
    t, c, y = (v - v.mean() for v in (t, np.log(compute[known]), eci[known]))
    slope_c, slope_y = float(t @ c / (t @ t)), float(t @ y / (t @ t))
    c, y = c - slope_c * t, y - slope_y * t
    return _Moments(float(c @ c), float(c @ y), float(y @ y), float(t @ t), slope_c, slope_y, int(known.sum()))


@dataclass(frozen=True, kw_only=True)
class _OfMoments(ModelRecord):
    per_year: bool = False

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        fitted = _FittedPerYear if self.per_year else _FittedPerCompute
        return fitted(model=self, moments=_moments(as_of, self.name))


def per_compute(name: str, spec: ModelSpec) -> Model:
    """Build the model of progress per factor e in compute, at one date."""
    place = Input(
        name="place",
        unit="",
        distribution={"low": 0.0, "high": 1.0, "family": "uniform"},
        source="the points do not say how much of the scatter is error in compute",
        title="0: all error is in the index, 1: all is in compute",
    )
    return _OfMoments.from_spec(name, spec, inputs={"place": place})


def per_year(name: str, spec: ModelSpec) -> Model:
    """Build the model of progress per year, at one compute, which follows from progress per compute."""
    slope = OtherModel(model=model("resources/progress-per-compute"))
    return _OfMoments.from_spec(name, spec, inputs={"slope": slope}, per_year=True)


@dataclass(frozen=True, kw_only=True)
class _FittedMoments(FittedModel):
    model: ModelRecord
    moments: _Moments


@dataclass(frozen=True, kw_only=True)
class _FittedPerCompute(_FittedMoments):
    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        of, place = self.moments, inputs["place"]
        z = student_t(streams.uniforms("parameters", 2), of.dof)[0]
        middle = 1 / ((1 - place) / of.forward + place / of.reverse)
        return np.broadcast_to(middle * np.exp(of.error * z), (len(time), streams.draws)).copy()

    def describe(self) -> Description:
        return _described(self.model, self.moments, lambda b: b, "points for each factor e in compute, at one date")


@dataclass(frozen=True, kw_only=True)
class _FittedPerYear(_FittedMoments):
    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return what its own stream adds to what follows from progress per compute, in standard errors."""
        return {"given_compute": student_t(streams.uniforms("parameters", 2), self.moments.dof + 1)[0]}

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        b, of = inputs["slope"][0], self.moments
        z = self.posterior(streams)["given_compute"]
        drawn = of.at_one_compute(b) + of.error_at_one_compute(b) * z
        return np.broadcast_to(drawn, (len(time), streams.draws)).copy()

    def describe(self) -> Description:
        return _described(self.model, self.moments, self.moments.at_one_compute, "points a year, at one compute")


def _described(model: ModelRecord, of: _Moments, value: Callable[[float], float], what: str) -> Description:
    forward, reverse = value(of.forward), value(of.reverse)
    paces = [math.exp(of.at_one_compute(b) / b) for b in (of.forward, of.reverse)]
    return Description(
        summary=f"{forward:.2f} (the index regressed on compute) to {reverse:.2f} (compute on the index) {what}, from "
        f"{of.n} models; a year is then worth a factor of {paces[0]:.3g} to {paces[1]:.3g} in compute, and where "
        "between them the points do not say" + (f"; {model.note}" if model.note else ""),
        assumptions=(
            "the index is linear in log compute and in time, for every maker and every compute alike",
            "errors of index and compute are independent, and every place between the two regressions is as likely",
            "models are independent observations; those of one family are not, and the interval is too narrow",
        ),
        sources=model.sources,
        facts={"forward": forward, "reverse": reverse, "n": float(of.n)},
    )


@dataclass(frozen=True, kw_only=True)
class _Frontier(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:

        from forecast.tables import series

        time, y, *_ = series.read_columns(
            INDEX_TABLE, x="release_date", y="eci", where=EDITION, as_of=as_of, name=self.name, records=True
        )
        t = time - time.mean()
        slope, level = np.polyfit(t, y, 1)
        left = y - level - slope * t
        n = len(y)
        wider = _repeated([left])
        variance = float(left @ left / (n - 2) / (t @ t)) * wider
        dof = max(n / wider - 2, 1.0)
        return _FittedFrontier(model=self, slope=float(slope), error=variance**0.5, dof=dof, n=len(np.unique(y)))


def _repeated(left: list[Array]) -> float:
    """Return by what the residuals of series widen a variance; records that follow one another repeat what they know.

    The number of observations over the effective one (Bayley & Hammersley 1946).
    """
    rho = max(sum(float(e[1:] @ e[:-1]) for e in left) / sum(float(e @ e) for e in left), 0.0)
    return (1 + rho) / (1 - rho)


#: Builds the model of the points a year by which the best model so far has risen.
frontier = _Frontier.from_spec


@dataclass(frozen=True, kw_only=True)
class _OpenLag(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:

        from forecast.tables import series

        read = [
            series.read_columns(
                INDEX_TABLE, x="release_date", y="eci", where={**EDITION, "weights": kind}, as_of=as_of,
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


#: Builds the model of the years by which the best open model comes after the best closed one.
open_lag = _OpenLag.from_spec


@dataclass(frozen=True, kw_only=True)
class _FittedLag(FittedModel):
    """The lag −d/g, from the points a year g and the points d by which open models stand apart."""

    model: ModelRecord
    centre: Array
    table: Array
    dof: float
    n: int

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return the draws of the lag."""
        return {"value": self.sample(_NOW, {}, streams)[0]}

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        z = student_t(streams.uniforms("parameters", 3), self.dof)
        g, d = self.centre[:, None] + np.linalg.cholesky(self.table) @ z
        return np.broadcast_to(-d / g, (len(time), streams.draws)).copy()

    def describe(self) -> Description:
        value = float(-self.centre[1] / self.centre[0])
        low, high = self._interval()
        points, edition = -float(self.centre[1]), EDITION["edition"]
        return Description(
            summary=f"open models come {value:.2f} years after the frontier [90 %: {low:.2f}, {high:.2f}], "
            f"{points:.1f} points, from {self.n} records of either kind in edition {edition}; {self.model.note}",
            assumptions=(
                "the frontiers of open and of closed models rise along two parallel lines",
                "a score counts as it stands: Epoch AI lets a model catch up that is not significantly behind",
            ),
            sources=self.model.sources,
            facts={"value": value, "p05": low, "p95": high, "points": points, "n": float(self.n)},
        )

    def _interval(self) -> tuple[float, float]:
        """Return the 90 % interval of a ratio: the lags at which d + lag·g does not differ from 0 (Fieller 1954)."""
        from scipy.special import stdtrit

        (g, d), limit = self.centre, float(stdtrit(self.dof, 0.95)) ** 2
        (gg, gd), (_, dd) = self.table
        ends = np.sort(np.roots([g**2 - limit * gg, 2 * (g * d - limit * gd), d**2 - limit * dd]).real)
        return float(ends[0]), float(ends[1])


@dataclass(frozen=True, kw_only=True)
class _FittedFrontier(FittedModel):
    """Points a year with their standard error.

    Parameters
    ----------
    model : Model
    slope, error, dof : float
    n : int
        Models that were the best.
    """

    model: _Frontier
    slope: float
    error: float
    dof: float
    n: int

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return the draws."""
        return {"value": self.sample(_NOW, {}, streams)[0]}

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        drawn = self.slope + self.error * student_t(streams.uniforms("parameters", 2), self.dof)[0]
        return np.broadcast_to(drawn, (len(time), streams.draws)).copy()

    def describe(self) -> Description:
        from scipy.special import stdtrit

        half = float(stdtrit(self.dof, 0.95)) * self.error
        low, high = self.slope - half, self.slope + half
        return Description(
            summary=f"{self.slope:.2f} points a year, of the best model so far [90 %: {low:.2f}, {high:.2f}] from "
            f"{self.n} models" + (f"; {self.model.note}" if self.model.note else ""),
            assumptions=("the index of the best model rises along a line",),
            sources=self.model.sources,
            facts={"value": self.slope, "p05": low, "p95": high, "n": float(self.n)},
        )
