"""What the capability index tells of other links: the pace of algorithms, and the time horizon at an index.

Compute and date of a model explain its index, and compute is uncertain. Regressed on compute, the index makes each
order of magnitude worth too little, and algorithms too fast; compute regressed on the index errs the other way. With
errors in both, the truth lies between the two and the points do not say where (Frisch 1934): the pace is a range, and
each world draws a place in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forecast import Input, ModelSpec
from forecast.errors import DataError
from forecast.models import Description, FittedModel, Model, ModelRecord, OtherQuantity
from forecast.streams import student_t

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.streams import Streams

    Array = NDArray[np.float64]

__all__ = ["SAME", "horizon", "pace"]

INDEX, HORIZONS, EDITION, VERSION = "datasets/capability-editions", "datasets/time-horizons", "2026-08", "TH1.1"

#: Models of the table of horizons, and what the table of the index calls them where it is something else.
SAME: Mapping[str, str] = {
    "gpt-4": "gpt-4-mar-2023",
    "gpt-4-1106": "gpt-4-turbo-nov-2023",
    "gpt-4-turbo": "gpt-4-turbo-apr-2024",
    "gpt-4o": "gpt-4o-may-2024",
    "claude-3.5-sonnet-new": "claude-3.5-sonnet-october-2024",
    "claude-4-opus": "claude-opus-4",
    "claude-4.1-opus": "claude-opus-4.1",
    "claude-4.5-opus": "claude-opus-4.5",
    "claude-4.6-opus": "claude-opus-4.6",
}


def pace(name: str, spec: ModelSpec) -> Model:
    """Build the model of the pace of algorithms between the two regressions."""
    place = Input(
        name="place",
        unit="",
        distribution={"low": 0.0, "high": 1.0, "family": "uniform"},
        source="the points do not say how much of the scatter is error in compute",
        title="0: all error is in the index, 1: all is in compute",
    )
    return _Pace(name=name, unit=spec.unit, inputs={"place": place}, note=spec.note, sources=(spec.reference,))


def horizon(name: str, spec: ModelSpec) -> Model:
    """Build the model of the time horizon at an index."""
    inputs = {"index": OtherQuantity(unit="", title="capability index (ECI)")}
    return _Horizon(name=name, unit=spec.unit, inputs=inputs, note=spec.note, sources=(spec.reference,))


def _rows(table: str, where: dict[str, str], as_of: float | None, name: str) -> Any:
    from forecast.tables import series

    return series.rows(table, where=where, as_of=as_of, name=name, date="release_date")


@dataclass(frozen=True, kw_only=True)
class _Pace(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        import numpy as np

        from forecast import tables

        rows = _rows(INDEX, {"edition": EDITION}, as_of, self.name)
        compute, index = rows.numeric("training_compute"), rows.numeric("eci")
        known = np.isfinite(compute) & np.isfinite(index)
        if int(known.sum()) < 10:
            raise DataError(f"{self.name}: expected ten models with compute and index, got {int(known.sum())}")
        logs, points = np.log10(compute[known]), index[known]
        years = tables.decimal_year(rows.column("release_date")[known])
        one = np.ones_like(logs)
        years = years - years.mean()
        # log compute takes the place of the index: the plane of one regression, solved for the other's variable
        forward, spread, scale = _plane(np.stack([one, logs, years], axis=1), points)
        reverse, back, scale_back = _plane(np.stack([one, points, years], axis=1), logs)
        return _FittedPace(
            model=self,
            forward=float(forward[2] / forward[1]),
            forward_error=_ratio_error(forward, spread * scale),
            reverse=float(-reverse[2]),
            reverse_error=float(np.sqrt(back[2, 2] * scale_back)),
            dof=float(len(logs) - 3),
        )


def _plane(x: Array, y: Array) -> tuple[Array, Array, float]:
    """Return the coefficients of least squares, the inverse of x'x, and the variance of what is left."""
    import numpy as np

    inverse = np.linalg.inv(x.T @ x)
    found = inverse @ x.T @ y
    left = y - x @ found
    return found, np.asarray(inverse, dtype=float), float(left @ left / (len(y) - x.shape[1]))


def _ratio_error(found: Array, covariance: Array) -> float:
    """Return the standard error of the year's coefficient over that of compute."""
    import numpy as np

    slope = np.array([0.0, -found[2] / found[1] ** 2, 1 / found[1]])
    return float(np.sqrt(slope @ covariance @ slope))


@dataclass(frozen=True, kw_only=True)
class _FittedPace(FittedModel):
    model: _Pace
    forward: float
    forward_error: float
    reverse: float
    reverse_error: float
    dof: float

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        import numpy as np

        z = student_t(streams.uniforms("parameters", 2), self.dof)[0]
        low, high = self.reverse + self.reverse_error * z, self.forward + self.forward_error * z
        drawn = high + inputs["place"] * (low - high)
        return np.broadcast_to(drawn, (len(time), streams.draws)).copy()

    def describe(self) -> Description:
        return Description(
            summary=f"{10**self.reverse:.3g} a year (compute regressed on the index) to {10**self.forward:.3g} (the "
            f"index on compute), {self.dof + 3:.0f} models; where between them the points do not say",
            assumptions=("errors of index and compute are independent", "every place between the two is as likely"),
            sources=self.model.sources,
            facts={"forward": self.forward, "reverse": self.reverse},
        )


@dataclass(frozen=True, kw_only=True)
class _Horizon(ModelRecord):
    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        import numpy as np

        scored = _rows(INDEX, {"edition": EDITION}, as_of, self.name)
        index = dict(zip(scored.column("model"), scored.numeric("eci"), strict=True))
        timed = _rows(HORIZONS, {"version": VERSION, "censored": "no"}, as_of, self.name)
        pairs = [
            (index[SAME.get(str(model), str(model))], minutes)
            for model, minutes in zip(timed.column("model"), timed.numeric("horizon"), strict=True)
            if SAME.get(str(model), str(model)) in index and np.isfinite(minutes)
        ]
        if len(pairs) < 5:
            raise DataError(f"{self.name}: expected five models with index and horizon, got {len(pairs)}")
        x, y = np.array(pairs).T
        middle = float(x.mean())
        found, inverse, left = _plane(np.stack([np.ones_like(x), x - middle], axis=1), np.log2(y))
        return _FittedHorizon(
            model=self,
            middle=middle,
            level=float(found[0]),
            slope=float(found[1]),
            errors=(float(np.sqrt(inverse[0, 0] * left)), float(np.sqrt(inverse[1, 1] * left))),
            scatter=float(np.sqrt(left)),
            n=len(x),
        )


@dataclass(frozen=True, kw_only=True)
class _FittedHorizon(FittedModel):
    model: _Horizon
    middle: float
    level: float
    slope: float
    errors: tuple[float, float]
    scatter: float
    n: int

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        import numpy as np

        z = student_t(streams.uniforms("parameters", 3), self.n - 2.0)
        logs = (
            self.level + self.errors[0] * z[0] + (self.slope + self.errors[1] * z[1]) * (inputs["index"] - self.middle)
        )
        if observed:
            logs = logs + self.scatter * streams("one model").standard_normal(logs.shape)
        return np.asarray(np.exp2(np.clip(logs, -600.0, 600.0)))

    def describe(self) -> Description:
        return Description(
            summary=f"{self.n} models in both tables: the horizon doubles every {1 / self.slope:.1f} points; single "
            f"models lie a factor {2**self.scatter:.2f} off",
            assumptions=("the logarithm of the horizon is a line in the index, beyond what was measured too",),
            sources=self.model.sources,
            facts={"points_per_doubling": 1 / self.slope, "n": float(self.n)},
        )
