"""METR's trends of the time horizon: ordinary least squares of its logarithm on the date, over models that led.

A trend is two links: how long the horizon takes to double, and the line with that doubling time through the centre of
the points. In a regression of a line the centre and the slope are independent, so that either can be swapped.

A bent trend is the same regression on another clock, of days that count double every year: on it the logarithm of a
horizon whose doublings halve every year is a straight line. Its doubling time is that at the newest model that led.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast import Input
from forecast.errors import DataError
from forecast.models import (
    Array,
    Description,
    FittedModel,
    Model,
    ModelRecord,
    Need,
    Observations,
    OtherQuantity,
    trend,
)

if TYPE_CHECKING:
    from forecast import ModelSpec
    from forecast.streams import Streams


__all__ = ["HORIZON_EDITION", "LAST", "doubling", "line"]

HORIZON_TABLE, HORIZON_EDITION = "datasets/time-horizons", "TH1.1"
#: The last row that the published trends read: Hurford's copy of TH1.1, released 2026-03-05. Later rows are not theirs.
LAST = 2026.18
#: METR's own floor of a horizon, in minutes.
LEAST = 0.001
#: Days in which doublings get half as long, where the trend is bent: metr_graph's default.
HALVING = 365.0


def doubling(name: str, spec: ModelSpec) -> Model:
    """Build the model of a doubling time."""
    return _Regression.from_spec(name, spec, inputs=_inputs())


def line(name: str, spec: ModelSpec) -> Model:
    """Build the line, of whatever doubling time."""
    inputs = {"doubling": OtherQuantity(unit="day", title="doubling time"), **_inputs()}
    return _Regression.from_spec(name, spec, inputs=inputs)


def _inputs() -> dict[str, Need]:
    error = Input(
        name="error",
        unit="",
        distribution={"normal": [-1.959964, 1.959964], "width": 0.95},
        source="standard errors of the regression; 0 is the published point",
        title="how many standard errors off",
    )
    return {"error": error}


@dataclass(frozen=True, kw_only=True)
class _Regression(ModelRecord):
    """What both links of one trend are made of."""

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:

        window = self.name.rpartition("horizon-")[2].removeprefix("line-")
        since, _, share = window.removeprefix("bent-").partition("-p")
        dates, half, names = self._points("horizon", since, as_of)
        best = half >= np.maximum.accumulate(half)
        values = half if not share else self._points("horizon_80", since, as_of)[1]
        if int(best.sum()) < 3 or len(values) != len(half):
            raise DataError(f"{self.name}: expected at least three models that led, got {int(best.sum())}")
        bent_at = float(_days(dates[best])[-1]) if window.startswith("bent-") else None
        x, y = _clock(dates[best], bent_at), np.log(np.maximum(values[best], LEAST))
        centred = x - x.mean()
        slope = float(centred @ y / (centred @ centred))
        left = y - y.mean() - slope * centred
        scatter = float(left @ left / (len(x) - 2))
        return _Fitted(
            model=self,
            slope=slope,
            stderr=float(np.sqrt(scatter / (centred @ centred))),
            bent_at=bent_at,
            day=float(x.mean()),
            level=float(y.mean()),
            level_stderr=float(np.sqrt(scatter / len(x))),
            r2=1 - float(left @ left) / float(((y - y.mean()) ** 2).sum()),
            points=Observations(time=dates[best], value=values[best], unit="min", names=tuple(names[best].tolist())),
        )

    def _points(self, column: str, since: str, as_of: float | None) -> tuple[Array, Array, NDArray[np.str_]]:
        """Return the dates, horizons and models of a window of the table, as published."""
        read = trend(
            HORIZON_TABLE, shape="trends/exponential", x="release_date", y=column, unit="min",
            where={"version": HORIZON_EDITION},
            since=since + "-01-01"[len(since) - 4 :], name=self.name,
        ).fit(as_of=min(LAST, LAST if as_of is None else as_of))  # fmt: skip
        seen = read.observed()
        return seen.time, seen.value, np.array(seen.names, dtype=str)


@dataclass(frozen=True, kw_only=True)
class _Fitted(FittedModel):
    model: _Regression
    slope: float
    stderr: float
    bent_at: float | None
    day: float
    level: float
    level_stderr: float
    r2: float
    points: Observations

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        shape = (len(time), streams.draws)
        if "doubling" not in inputs:
            growth = self.slope + self.stderr * inputs["error"]
            return np.broadcast_to(np.log(2) / growth, shape).copy()
        since = (_clock(time, self.bent_at) - self.day)[:, None]
        logs = self.level + self.level_stderr * inputs["error"] + np.log(2) * since / inputs["doubling"]
        with np.errstate(over="ignore"):  # a doubling in hours, carried on for years
            return np.asarray(np.exp(logs))

    def observed(self) -> Observations:
        return self.points if "doubling" in self.model.inputs else Observations()

    def describe(self) -> Description:
        import math

        n, days = len(self.points.time), math.log(2) / self.slope
        low, high = (math.log(2) / (self.slope + sign * 2 * self.stderr) for sign in (1, -1))
        return Description(
            summary=f"{n} models that led: the horizon doubles in {days:.1f} days ({low:.0f} to {high:.0f} at two "
            f"standard errors, R² {self.r2:.2f}); {self.model.note}",
            assumptions=(
                "the logarithm of the horizon rises in a straight line"
                if self.bent_at is None
                else f"doublings get half as long in {HALVING:g} days; the doubling time is that of the newest model",
                "the points are independent",
            ),
            sources=self.model.sources,
            facts={"n": float(n), "doubling_days": days, "low_days": low, "high_days": high, "r2": self.r2},
        )


def _clock(years: Array, bent_at: float | None) -> Array:
    """Return days, or days that count double every `HALVING` days and as one at `bent_at`."""
    days = _days(years)
    return days if bent_at is None else np.asarray(HALVING / np.log(2) * 2 ** ((days - bent_at) / HALVING))


def _days(years: Array) -> Array:
    """Return decimal years as days of the calendar, which is what the source regresses on."""
    whole = np.floor(years)
    begins = (whole - 1970).astype("datetime64[Y]").astype("datetime64[D]").astype(float)
    ends = (whole - 1969).astype("datetime64[Y]").astype("datetime64[D]").astype(float)
    return np.asarray(begins + (years - whole) * (ends - begins))
