"""What the conformance kit asks of a law, and of a shape, which it tries on simulated series; what all checks share."""

from __future__ import annotations

import contextlib
import unittest
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from forecast import formula, laws, units
from forecast.base.arrays import Array
from forecast.base.quantiles import DEFAULT_LEVEL, QUANTILES
from forecast.base.streams import DRAWS_PER_BLOCK, Streams
from forecast.contract.registry import Record, get_registry
from forecast.errors import FitError, ForecastError, PluginContractError, printable
from forecast.fit.objectives import find_objective
from forecast.fit.protocols import check_rule
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


N_CHECK_POINTS = 200
#: So many of them are the data a law is recovered from, the relative noise on these, and how close it must come. Fewer
#: tell less, so that what is found from these would be found from all.
N_DATA_POINTS = 60
NOISE = 1e-4
RECOVERY_RTOL = 0.05


def refuse(record: Record, reason: str) -> PluginContractError:
    """Return the error that names the record."""
    return PluginContractError(f"{record.spec.kind} '{record.full_name}': {reason}")


@contextlib.contextmanager
def reject_writes(record: Record, what: str) -> Iterator[None]:
    """Say in our words that code wrote into the read-only arrays it was given."""
    try:
        yield
    except (ValueError, ForecastError) as problem:
        if "read-only" in str(problem):
            raise refuse(record, f"{what} writes into its inputs") from problem
        raise


def _law(record: Record) -> Any:
    return laws.law(record.full_name)


def _example_points(record: Record) -> tuple[dict[str, float], dict[str, Array]]:
    """Return the example parameters and read-only points spread over the domain."""
    if not record.spec.example or not record.spec.domain:
        raise unittest.SkipTest("gives no example and domain")
    for what, given, names in (
        ("example", record.spec.example, _law(record).parameters),
        ("domain", record.spec.domain, tuple(record.spec.variables)),
    ):
        if set(given) != set(names):
            raise refuse(record, f"{what}: expected {', '.join(names)}; got {', '.join(given)}")
    rng = np.random.default_rng(0)
    points = {}
    for name, (low, high) in record.spec.domain.items():
        u = rng.random(N_CHECK_POINTS)
        # wide positive ranges are spread over their decades
        values = low * (high / low) ** u if low > 0 and high / low > 10 else low + (high - low) * u
        values.flags.writeable = False
        points[name] = values
    return dict(record.spec.example), points


def _law_value(record: Record, parameters: Mapping[str, float], points: Mapping[str, Any]) -> Any:
    with reject_writes(record, "value"), warnings.catch_warnings():
        warnings.simplefilter("error")  # a lost imaginary part is no more than a warning
        return _law(record).value(parameters, **points)


def _law_units(record: Record) -> None:
    for name, unit in record.spec.variables.items():
        units.unit(unit, where=f"law '{record.full_name}': variable '{printable(name, 60)}'")
    units.unit(record.spec.unit, where=f"law '{record.full_name}': output '{printable(record.spec.output, 60)}'")


def _law_text(record: Record) -> None:
    """Text → formula → text → formula is the same formula, with the same values."""
    if record.spec.expression is None:
        raise unittest.SkipTest("has no text form")
    names: set[str] = set()
    for text in (record.spec.expression, *((record.spec.equals,) if record.spec.equals is not None else ())):
        first = formula.parse(text, where=f"law '{record.full_name}'")
        again = formula.parse(first.text, where=f"law '{record.full_name}'")
        if again.text != first.text or again.names != first.names:
            raise refuse(record, f"'{printable(first.text)}' comes back as '{printable(again.text)}'")
        names |= set(first.names)
    if record.spec.equals is not None:
        names.discard(record.spec.output)
    if set(_law(record).parameters) != names - set(record.spec.variables):
        raise refuse(record, "its parameters are not the names in its text that are no variables")


def _law_vectorises(record: Record) -> None:
    """An array gives what its elements give one by one: real, finite, of the same shape, twice the same."""
    parameters, points = _example_points(record)
    whole = _law_value(record, parameters, points)
    check_array(record, "value", whole, (N_CHECK_POINTS,))
    if not np.array_equal(whole, _law_value(record, parameters, points)):
        raise refuse(record, "the same call twice gives two results: it draws random numbers")
    for i in (0, N_CHECK_POINTS // 2, N_CHECK_POINTS - 1):
        one = _law_value(record, parameters, {k: float(v[i]) for k, v in points.items()})
        if not np.allclose(one, whole[i], rtol=1e-12, atol=0):
            raise refuse(record, f"a number gives {float(one):g} where an array gives {whole[i]:g}")
    square = {k: v.reshape(2, -1) for k, v in points.items()}
    if not np.array_equal(_law_value(record, parameters, square), whole.reshape(2, -1)):
        raise refuse(record, "a two-dimensional array gives other values than a flat one")


def check_array(record: Record, what: str, values: Any, shape: tuple[int, ...]) -> None:
    """Refuse what is no array of finite numbers of this shape."""
    if not isinstance(values, np.ndarray) or values.dtype != np.float64:
        kind = f"an array of {values.dtype}" if isinstance(values, np.ndarray) else type(values).__name__
        raise refuse(record, f"{what}: expected an array of float64, got {kind}")
    if values.shape != shape:
        raise refuse(record, f"{what}: expected the shape {shape}, got {values.shape}")
    if not np.isfinite(values).all():
        raise refuse(record, f"{what}: {int((~np.isfinite(values)).sum())} of {values.size} values are not finite")


def _law_jacobian(record: Record) -> None:
    parameters, points = _example_points(record)
    law = _law(record)
    exact = np.asarray(law.jacobian(parameters, **points))
    check_array(record, "jacobian", exact, (len(law.parameters), N_CHECK_POINTS))
    for row, name in zip(exact, law.parameters, strict=True):
        step = 1e-6 * max(abs(parameters[name]), 1e-3)
        up, down = ({**parameters, name: parameters[name] + s * step} for s in (1, -1))
        near = (_law_value(record, up, points) - _law_value(record, down, points)) / (2 * step)
        # rounding of the value, divided by the step, is what finite differences cannot see below
        noise = np.abs(_law_value(record, parameters, points)).max() * 1e-15 / step
        if not np.allclose(row, near, rtol=1e-5, atol=10 * noise + 1e-7 * np.abs(row).max()):
            raise refuse(record, f"jacobian: the derivative by '{name}' disagrees with finite differences")


def _law_recovers(record: Record) -> None:
    parameters, points = _example_points(record)
    law = _law(record)
    points = {name: values[:N_DATA_POINTS] for name, values in points.items()}
    noise = 1 + NOISE * np.random.default_rng(1).standard_normal(N_DATA_POINTS)
    data = {**points, law.output: _law_value(record, parameters, points) * noise}
    fit = law.fit(data, seed=0)
    if record.spec.ridge:
        apart = np.max(np.abs(law.value(fit.values, **points) / data[law.output] - 1))
        if not apart <= 10 * NOISE:
            raise refuse(record, f"fitted to its own data it misses them by {apart:.2g}; is the domain wide enough?")
        return
    far = []
    for name, true in parameters.items():
        recovered = float(fit.params[name])
        if not abs(recovered - true) <= RECOVERY_RTOL * max(abs(true), 1e-6):
            far.append(f"{name} = {recovered:g} instead of {true:g}")
    if far:
        raise refuse(record, f"fitted to its own data it finds {', '.join(far)}; is the domain wide enough?")


def _law_published(record: Record) -> None:
    if not record.spec.published:
        raise unittest.SkipTest("has no published parameters")
    names = set(_law(record).parameters)
    for fit in record.spec.published:
        if set(fit.parameters) != names or not set(fit.stderr) <= names:
            raise refuse(record, f"published '{fit.name}': expected parameters {', '.join(sorted(names))}")


def _law_protocols(record: Record) -> None:
    """A protocol speaks of the law's own variables and parameters, and its rules and objective can be read."""
    if not record.spec.protocols:
        raise unittest.SkipTest("has no protocols")
    law = _law(record)
    for protocol in record.spec.protocols:
        where = f"law '{record.full_name}': protocol '{printable(protocol.name, 60)}'"
        for rule in (*protocol.keep, *protocol.train):
            check_rule(rule, where=where)
        find_objective(protocol.objective, where=where)
        named = {*protocol.fix, *protocol.coordinates, *protocol.starts}
        if not named <= set(law.parameters) or not set(protocol.let) <= set(law.variables):
            raise refuse(record, f"protocol '{printable(protocol.name, 60)}' names what is no part of the law")
        if protocol.starts and {*protocol.starts, *protocol.fix} != set(law.parameters):
            raise refuse(record, f"protocol '{printable(protocol.name, 60)}': a start names every parameter")


def _law_requires(record: Record) -> None:
    """What a law requires (of its own names, or it is no law) is said, and holds at its example."""
    if not record.spec.requires:
        raise unittest.SkipTest("requires nothing")
    parameters, points = _example_points(record)
    for text, what in record.spec.requires.items():
        requirement = formula.parse(text, where=f"law '{record.full_name}': requires")
        if not what or not (np.asarray(requirement.evaluate({**parameters, **points})) > 0).all():
            raise refuse(
                record, f"requires '{printable(text, 60)}': does not say what it is, or fails in its own domain"
            )


#: (label, check).
LAW_CHECKS: tuple[tuple[str, Callable[[Record], None]], ...] = (
    ("units parse", _law_units),
    ("round-trips through text", _law_text),
    ("vectorises and leaves its inputs alone", _law_vectorises),
    ("Jacobian agrees with finite differences", _law_jacobian),
    ("recovers known parameters", _law_recovers),
    ("published parameters are its own", _law_published),
    ("protocols are its own", _law_protocols),
    ("requires what holds for it", _law_requires),
)
