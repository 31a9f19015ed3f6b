"""What the conformance kit asks of a shape, which it tries on simulated series."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forecast.base.arrays import Array
from forecast.base.quantiles import DEFAULT_LEVEL, QUANTILES
from forecast.base.streams import DRAWS_PER_BLOCK, Streams
from forecast.conformance.law_checks import check_array, refuse, reject_writes
from forecast.contract.registry import Record, get_registry
from forecast.errors import FitError
from forecast.models import FittedShape, Shape, shape

#: Points of the series that a shape is tried on; the longer one only where the shape refuses the shorter.
SERIES_LENGTHS = (20, 60)
#: Number of the last observations that the prediction interval is compared with.
N_LAST = 10
#: From so many series that it simulates itself it must find what comes next.
N_SIMULATED_SERIES = 20
#: Quantiles at the ends of a band, which should hold a share of `DEFAULT_LEVEL`.
BAND_QUANTILES = (QUANTILES[0], QUANTILES[-1])
#: The chance that a sound shape is refused.
FALSE_ALARM_RATE = 1e-3


class _FittedShapeTrial:
    """A shape fitted to a series; each further column that it asks for grows from row to row."""

    def __init__(self, record: Record, shape: Shape, time: Array, value: Array) -> None:
        self.record, self.shape, self.time, self.value = record, shape, time, value
        self.fitted = self.fit(value)

    def fit(self, value: Array, *, later: int = 0) -> FittedShape:
        """Fit another series at the same dates, or at as many dates that begin so many steps later."""
        size = len(self.time)
        step = self.time[1] - self.time[0]
        elapsed = step * np.arange(later + size)
        # the sum of an exponential with noise
        made = {
            name: np.cumsum(1.5**elapsed * np.exp(0.1 * np.random.default_rng(i).standard_normal(later + size)))[later:]
            for i, name in enumerate(self.shape.columns, 1)
        }
        time = self.time + step * later
        for array in (time, value, *made.values()):
            array.flags.writeable = False
        covariates: dict[str, Any] = {"columns": made} if made else {}
        with reject_writes(self.record, "fit"):
            return self.shape.fit(time, value, seed=0, **covariates)

    def sample(self, fitted: FittedShape, time: Array, *, observed: bool = False) -> Array:
        """Draw at these dates."""
        with reject_writes(self.record, "sample"):
            drawn = fitted.sample(time, Streams(seed=0, node="check", block=0), observed=observed)
        check_array(self.record, "sample", drawn, (len(time), DRAWS_PER_BLOCK))
        return drawn

    def band(self, fitted: FittedShape, time: Array) -> tuple[Array, Array]:
        """Return the ends of the band of one observation at these dates."""
        low, high = np.quantile(self.sample(fitted, time, observed=True), BAND_QUANTILES, axis=1)
        return low, high


def _fit_trial_series(record: Record) -> _FittedShapeTrial:
    """Fit an exponential with noise from 2000 to 2020; a shape may refuse twenty points as too few."""
    result = shape(record.full_name)
    for points in SERIES_LENGTHS:
        time = 2000.0 + np.arange(points) * 20 / points
        value = 2.0 ** (time - 2000) * np.exp(0.05 * np.random.default_rng(0).standard_normal(points))
        try:
            return _FittedShapeTrial(record, result, time, value)
        except FitError:
            if points == SERIES_LENGTHS[-1]:
                raise
    raise AssertionError("the last length returns or raises")


def fewest(trials: int) -> int:
    """Return how many of so many observations a band of nine in ten holds but for bad luck of one in a thousand."""
    from scipy.special import bdtr

    return next(covered for covered in range(trials + 1) if bdtr(covered, trials, DEFAULT_LEVEL) >= FALSE_ALARM_RATE)


def _check_reproducible(record: Record) -> None:
    """Fitted twice to one series it draws the same numbers."""
    trial = _fit_trial_series(record)
    ahead = np.arange(2020.0, 2031.0)
    if not np.array_equal(trial.sample(trial.fitted, ahead), trial.sample(trial.fit(trial.value), ahead)):
        raise refuse(record, "the same seed gives other draws after fitting again")


def _check_coverage(record: Record) -> None:
    """The band of one observation holds the last observations of the series itself."""
    trial = _fit_trial_series(record)
    low, high = trial.band(trial.fitted, trial.time[-N_LAST:])
    seen = trial.value[-N_LAST:]
    rounding = 1e-9 * np.abs(seen)  # a walk goes through its observations
    covered = int(((low - rounding <= seen) & (seen <= high + rounding)).sum())
    if covered < fewest(N_LAST):
        raise refuse(
            record,
            f"its band of one observation (90 %) holds {covered} of the last {N_LAST} observations of its own series; "
            f"{fewest(N_LAST)} are the fewest that chance explains",
        )


def _check_depends_on_data(record: Record) -> None:
    """Fitted to a series twice as large it draws other numbers."""
    trial = _fit_trial_series(record)
    ahead = np.arange(2020.0, 2031.0)
    if np.array_equal(trial.sample(trial.fitted, ahead), trial.sample(trial.fit(2 * trial.value), ahead)):
        raise refuse(record, "it draws the same numbers whatever series it is fitted to")


def _check_calibration(record: Record) -> None:
    """Fitted to series that it simulates itself, it finds what comes next as often as its band says."""
    trial = _fit_trial_series(record)
    step = trial.time[-1] - trial.time[-2]
    # after the series: before its end a walk has no scatter
    size = len(trial.time)
    dates = trial.time[0] + step * np.arange(size, 2 * size + 1)
    simulated = trial.sample(trial.fitted, dates, observed=True)
    covered = 0
    for draw in range(0, 2 * N_SIMULATED_SERIES, 2):  # neighbours may be mirror images of one another
        (low,), (high,) = trial.band(trial.fit(simulated[:-1, draw].copy(), later=size), dates[-1:])
        covered += bool(low <= simulated[-1, draw] <= high)
    if covered < fewest(N_SIMULATED_SERIES):
        raise refuse(
            record,
            f"fitted to {N_SIMULATED_SERIES} series that it simulates itself, its band of one observation (90 %) holds "
            f"the next one of {covered}; {fewest(N_SIMULATED_SERIES)} are the fewest that chance explains",
        )


def _check_declared_constraints(record: Record) -> None:
    """It keeps what it declares; as a frontier, where it has such a form, it starts at the record and never falls."""
    trial = _fit_trial_series(record)
    ahead = np.concatenate([trial.time[-1:], np.arange(2020.0, 2031.0)])
    drawn = trial.sample(trial.fitted, ahead)
    if record.spec.keeps == "positive" and (drawn <= 0).any():
        raise refuse(record, f"declares keeps = 'positive', and draws {drawn[drawn <= 0][0]:.4g}")
    top = np.maximum.accumulate(trial.value)
    anchored = trial.fitted.anchored(trial.time, top)
    if anchored is None:
        if record.spec.keeps == "frontier":
            raise refuse(record, "declares keeps = 'frontier', and offers no anchored form")
        return
    drawn = trial.sample(anchored, ahead)
    if (np.abs(drawn[0] - top[-1]) > 1e-9 * top[-1]).any():
        raise refuse(record, f"anchored at the record {top[-1]:.4g}, it starts at {drawn[0].max():.4g}")
    if (np.diff(drawn, axis=0) < -1e-9 * drawn[:-1]).any():
        raise refuse(record, "anchored, it falls")


def _check_members(record: Record, within: tuple[str, ...] = ()) -> None:
    """The shapes that it says it pools are there, and none of them pools it in turn."""
    path = (*within, record.full_name)
    for name in (*record.spec.members, *record.spec.record_members):
        member = get_registry().find("shape", name, where=f"shape '{record.full_name}': members")
        if member.full_name in path:
            raise refuse(record, f"members: the pool contains itself: {' → '.join((*path, member.full_name))}")
        _check_members(member, path)


#: (label, check).
SHAPE_CHECKS: tuple[tuple[str, Callable[[Record], None]], ...] = (
    ("fits, and same seed, same draws", _check_reproducible),
    ("its band holds what it saw", _check_coverage),
    ("reads its series", _check_depends_on_data),
    ("recovers what it simulates", _check_calibration),
    ("keeps what it declares, and a record", _check_declared_constraints),
    ("pools shapes that are there", _check_members),
)
