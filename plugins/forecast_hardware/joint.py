"""What one device gives at all, per watt and per dollar: one model of the devices to come, of which the best counts.

In logs the measures of a device are a line in time, a random walk and a scatter of its own. They have one covariance
matrix, in the size of its walk to its scatter alone a model is free: the homogeneous model of seemingly unrelated time
series (Harvey 1989, 8.3). How strong the walk is is weighed over a grid. A device without a power or a price is kept:
measures are missing in one order (no price without a power, no power without a rate), so that the density is a product
of regressions of each measure on those before it, each on the devices that have it (Anderson 1957; Little & Rubin 2019,
7.2). Given the walk these are conjugate and need no chain of draws. Prices are missing by market (a data centre's are
not published), and cards of other markets than the consumer's cost more: the price alone has an offset for them.

From the last date on devices come as often as in the last years, each of the market and with the measures of one of
those; the best of what is there and what comes is the record, as the table will state it. So a record stalls where it
is ahead of its time, and of one device that has a rate, a power and a price at once is never said more than of any.

Which joint draw a world has says the quantity `posterior`, a uniform number that the models of one scenario share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forecast import ModelSpec
from forecast.base.arrays import accumulate
from forecast.errors import DataError, FitError
from forecast.models import Array, Description, FittedModel, ModelRecord, Observations, OtherQuantity
from forecast_hardware.gpu import ACCELERATORS_TABLE, FIRST_RELEASE, PRECISIONS
from forecast_hardware.named import DEVICE_MEASURES, JOINT, WITHIN

if TYPE_CHECKING:
    from forecast.models import Model
    from forecast.streams import Streams


__all__ = ["Posterior", "joint", "joint_posterior"]

_MEASURE_NAMES = tuple(DEVICE_MEASURES)
#: Standard deviation of the walk in a year over that of one device's scatter: from none to as large, every one alike.
WALK_RATIOS = np.linspace(0.0, 1.0, 21)
#: Joint draws, of which each world has one, and years that devices go on to come.
N_JOINT_DRAWS, MAX_AHEAD_YEARS = 4096, 120
#: Years of which the devices say how often others come, of which market and with which measures.
RECENT_YEARS = 4.0
#: Standard deviation of the offset of a market, in scatters of one device: weak, and for dates without such a price.
OFFSET_SCATTERS = 5.0
#: Rounding of a logarithm: a device of 300 W draws 300 W.
LOG_ATOL = 1e-9
#: Devices that a measure needs: two more than the coefficients of a price.
MIN_DEVICES, MIN_SPAN_YEARS = 7, 2.0


class Posterior(NamedTuple):
    """Joint draws of devices at and after the last date, each measure given those before it in the table's order.

    Attributes
    ----------
    level, slope, offset : ndarray
        (draw, measure): of a device at the last date, walk included, in logs; a year; and of other markets.
    loading : ndarray
        (draw, measure, measure), on the measures before.
    variance : ndarray
        (draw, measure), of the scatter of one device.
    walk : ndarray
        (draw,), the standard deviation of the walk in a year over that of the scatter.
    """

    level: Array
    slope: Array
    offset: Array
    loading: Array
    variance: Array
    walk: Array

    def compose(self, parts: Array) -> Array:
        """Return measures, (..., draw, measure), from what each has beside those before it."""
        found = np.array(parts)
        for j in range(1, found.shape[-1]):
            found[..., j] += (self.loading[:, j, :j] * found[..., :j]).sum(axis=-1)
        return found

    @property
    def growth(self) -> Array:
        """Growth of each measure, (draw, measure), in logs a year."""
        return self.compose(self.slope)

    def correlation(self) -> Array:
        """Return the correlation matrix of each draw."""
        root = self.compose(np.moveaxis(np.sqrt(self.variance)[:, :, None] * np.eye(self.level.shape[1]), 1, 0))
        covariance = np.einsum("kdi,kdj->dij", root, root)
        scale = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        return np.asarray(covariance / (scale[:, :, None] * scale[:, None, :]))


def joint_posterior(
    time: Array, logs: Array, offset: Array | None = None, *, draws: int = N_JOINT_DRAWS, seed: int = 0
) -> Posterior:
    """Estimate growths and their covariance on all devices, some of which lack the later measures.

    Parameters
    ----------
    time : ndarray
        Decimal years, one a device, that do not fall.
    logs : ndarray
        (device, measure), in natural logarithms; NaN where a measure is missing, and then those after it are left out.
    offset : ndarray, optional
        (device, measure), 1 where a device is of another market that this measure differs in.
    draws, seed : int

    Raises
    ------
    FitError
        With fewer than `MIN_DEVICES` devices of a measure, or all in so few years that no growth is told.

    References
    ----------
    Harvey (1989), Forecasting, Structural Time Series Models and the Kalman Filter, 8.3; Anderson (1957), Maximum
    likelihood estimates for a multivariate normal distribution when some observations are missing, JASA 52.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> t = np.sort(rng.uniform(2010, 2025, 60))
    >>> scatter = rng.multivariate_normal([0, 0], [[0.09, 0.08], [0.08, 0.09]], 60)
    >>> logs = np.outer(t - 2010, [0.3, 0.2]) + scatter
    >>> logs[::3, 1] = np.nan
    >>> found = joint_posterior(t, logs, draws=400)
    >>> np.median(found.growth, axis=0).round(1).tolist()
    [0.3, 0.2]
    >>> bool(np.median(found.correlation()[:, 0, 1]) > 0.7)
    True
    """
    measures = logs.shape[1]
    offset = np.zeros_like(logs) if offset is None else offset
    have = np.logical_and.accumulate(np.isfinite(logs), axis=1)
    for j, count in enumerate(have.sum(axis=0)):
        if count < MIN_DEVICES or np.ptp(time[have[:, j]]) < MIN_SPAN_YEARS:
            devices = f"{MIN_DEVICES} devices with measure {j + 1} of {measures}"
            raise FitError(f"expected at least {devices} over {MIN_SPAN_YEARS:g} years, got {count}")
    fits = [[_regress(time, logs, offset, have, j, ratio) for j in range(measures)] for ratio in WALK_RATIOS]
    weight = np.array([sum(each.log_density for each in columns) for columns in fits])
    weight = np.exp(weight - weight.max())
    rng = np.random.default_rng(seed)
    which = np.sort(rng.choice(len(fits), size=draws, p=weight / weight.sum()))
    level, slope, shift, variance = (np.empty((draws, measures)) for _ in range(4))
    loading = np.zeros((draws, measures, measures))
    for index in np.unique(which):
        rows = np.flatnonzero(which == index)
        for j, fit in enumerate(fits[index]):
            variance[rows, j] = fit.squares / rng.chisquare(fit.dof, len(rows))
            scale = np.sqrt(variance[rows, j])[:, None]
            found = fit.mean + scale * (rng.standard_normal((len(rows), len(fit.mean))) @ fit.root.T)
            noise = np.sqrt(fit.walk_variance) * scale[:, 0] * rng.standard_normal(len(rows))
            level[rows, j] = found[:, 0] + fit.residual - found @ fit.walked + noise
            slope[rows, j], shift[rows, j] = found[:, 1], found[:, 2]
            loading[rows, j, :j] = found[:, 3:]
    every = Posterior(level, slope, shift, loading, variance, WALK_RATIOS[which])
    order = np.argsort(every.growth.sum(axis=1), kind="stable")
    return Posterior(*(each[order] for each in every))


class _Regression(NamedTuple):
    """A measure on time, offset and the measures before it, at one size of the walk, in units of its scatter.

    The walk at the last date has the mean `residual` less `walked` times the coefficients, and a variance.
    """

    mean: Array
    root: Array
    squares: float
    dof: int
    log_density: float
    residual: float
    walked: Array
    walk_variance: float


def _regress(time: Array, logs: Array, offset: Array, have: Array, j: int, ratio: float) -> _Regression:
    """Return the posterior of one measure given those before it: normal and inverse gamma, for a walk of this size."""
    rows = have[:, j]
    age = time - time[0]
    covariance = ratio**2 * np.minimum.outer(age, age)
    known = np.eye(rows.sum()) + covariance[np.ix_(rows, rows)]
    x = np.column_stack([np.ones(len(time)), time - time[-1], offset[:, j], logs[:, :j]])[rows]
    whitened = np.linalg.solve(np.linalg.cholesky(known), np.column_stack([x, logs[rows, j]]))
    left, right = whitened[:, :-1], whitened[:, -1]
    precision = left.T @ left
    precision[2, 2] += OFFSET_SCATTERS**-2
    mean = np.linalg.solve(precision, left.T @ right)
    squares = float(right @ right - mean @ precision @ mean)
    # as of an inverse Wishart matrix of all measures, whose degrees are the devices less a level and a slope
    dof = int(rows.sum()) - 2 - (logs.shape[1] - 1 - j)
    logdet = np.linalg.slogdet(known)[1] + np.linalg.slogdet(precision)[1]
    gain = np.linalg.solve(known, covariance[-1, rows])
    return _Regression(
        mean=mean, root=np.linalg.cholesky(np.linalg.inv(precision)), squares=squares, dof=dof,
        log_density=float(-logdet / 2 - dof / 2 * np.log(squares)), residual=float(gain @ logs[rows, j]),
        walked=gain @ x, walk_variance=max(float(covariance[-1, -1] - gain @ covariance[-1, rows]), 0.0),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Devices:
    """The devices of one format that were known at a date, and joint draws of those to come."""

    time: Array
    logs: Array
    offset: Array
    until: float
    seed: int
    posterior: Posterior = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "posterior", joint_posterior(self.time, self.logs, self.offset, seed=self.seed))

    @property
    def recent(self) -> NDArray[np.intp]:
        return np.flatnonzero(self.time > self.time[-1] - RECENT_YEARS)

    def coming(self, years: float) -> Array:
        """Return the dates at which devices come in so many years."""
        gap = RECENT_YEARS / len(self.recent)
        return np.asarray(self.until + gap * np.arange(1, int(years / gap) + 1))


@lru_cache(maxsize=4)
def _of_devices(time: bytes, logs: bytes, offset: bytes, until: float, seed: int) -> _Devices:
    """Return the devices, whose draws the models of one scenario share."""
    dates = np.frombuffer(time)
    columns = [np.frombuffer(each).reshape(len(dates), -1) for each in (logs, offset)]
    return _Devices(dates, columns[0], columns[1], until, seed)


@lru_cache(maxsize=2)
def _draw_coming(devices: _Devices, years: float) -> Array:
    """Return the devices that come, (device, draw, measure), in logs; -inf where a measure will not be known."""
    dates, drawn = devices.coming(years), devices.posterior
    shape = (len(dates), *drawn.level.shape)
    like, walk, scatter = (np.random.default_rng((devices.seed, 1, stream)) for stream in range(3))
    kind = like.choice(devices.recent, size=shape[:2])
    ahead = (dates - devices.time[-1])[:, None, None]
    parts = accumulate(np.add, np.sqrt(np.diff(ahead, axis=0, prepend=0.0)) * walk.standard_normal(shape))
    parts = (parts * drawn.walk[:, None] + scatter.standard_normal(shape)) * np.sqrt(drawn.variance)
    parts += drawn.level + ahead * drawn.slope + devices.offset[kind] * drawn.offset
    found = drawn.compose(parts)
    found[~np.isfinite(devices.logs)[kind]] = -np.inf
    return found


def joint(name: str, spec: ModelSpec) -> Model:
    """Build the model of one measure, or of the rate within a power and a price."""
    measure, _, precision = spec.name.removeprefix(JOINT).partition("-fp")
    inputs = {"posterior": OtherQuantity(unit="", title="which joint draw a world has, from 0 to 1")}
    if measure == WITHIN:
        inputs["power"] = OtherQuantity(unit="W", title="power that the device draws at most")
        inputs["budget"] = OtherQuantity(unit="USD", title="launch price that it has at most")
    return _Joint.from_spec(name, spec, inputs=inputs, measure=measure, precision=f"fp{precision or 32}")


@dataclass(frozen=True, kw_only=True)
class _Joint(ModelRecord):
    measure: str = ""
    precision: str = "fp32"

    @property
    def measures(self) -> tuple[str, ...]:
        """The measures of this format: prices of devices with tensor cores are too few."""
        return _MEASURE_NAMES if self.precision == "fp32" else _MEASURE_NAMES[:2]

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        """Read the devices with a rate, and estimate their measures together."""
        from forecast.tables import decimal_year
        from forecast.tables.series import rows_as_of

        where = {**PRECISIONS[self.precision], "sparsity": "dense", "peak_status": "verified", "status": "verified"}
        found = rows_as_of(ACCELERATORS_TABLE, where=where, as_of=as_of, name=self.name, date="release_date")
        time = decimal_year(found.column("release_date"))
        since = decimal_year(np.array([FIRST_RELEASE], dtype="datetime64[D]"))[0]
        logs = np.column_stack([_log(found, *DEVICE_MEASURES[each][1:3]) for each in self.measures])
        kept = np.isfinite(logs[:, 0]) & (time >= since)
        order = np.flatnonzero(kept)[np.argsort(time[kept], kind="stable")]
        time, logs = time[order], logs[order]
        offset = np.zeros_like(logs)
        if "per-dollar" in self.measures:
            offset[:, self.measures.index("per-dollar")] = found.column("kind")[order] != "consumer"
        until = float(time[-1]) if as_of is None and len(time) else float(as_of or 0.0)
        try:
            devices = _of_devices(time.tobytes(), logs.tobytes(), offset.tobytes(), until, seed)
        except FitError as error:
            raise FitError(f"{self.name}: {error}") from None
        called = tuple(str(each) for each in found.column("name")[order])
        return _FittedJoint(model=self, devices=devices, called=called)


def _log(rows: Any, factor: float, parts: tuple[str, ...]) -> Array:
    top, *bottom = (rows.numeric(part) for part in parts)
    return np.asarray(np.log(factor * top / (bottom[0] if bottom else 1.0)))


@dataclass(frozen=True, kw_only=True)
class _FittedJoint(FittedModel):
    """The best device at the last date, and what all devices gain from there on."""

    model: _Joint
    devices: _Devices = field(repr=False)
    called: tuple[str, ...]

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        years = max(float(np.ceil(time[-1] - self.devices.until)), 0.0)
        if years > MAX_AHEAD_YEARS:
            last = self.devices.until + MAX_AHEAD_YEARS
            raise DataError(f"{self.model.name}: devices go on to come for {MAX_AHEAD_YEARS} years, to {last:.0f}")
        row = np.minimum((inputs["posterior"][0] * N_JOINT_DRAWS).astype(np.intp), N_JOINT_DRAWS - 1)
        logs = np.nan_to_num(self.devices.logs, nan=-np.inf)[:, None]
        values = [self._values(each, inputs) for each in (logs, _draw_coming(self.devices, years)[:, row])]
        values[0] = np.broadcast_to(values[0], (len(logs), len(row)))
        best = accumulate(np.maximum, np.concatenate(values))
        dates = np.concatenate([self.devices.time, self.devices.coming(years)])
        return np.asarray(np.exp(best[np.maximum(np.searchsorted(dates, time, side="right") - 1, 0)]))

    def _values(self, logs: Array, inputs: Mapping[str, Array]) -> Array:
        """Return what counts of each device, (device, draw), in logs: its rate where it is within power and price."""
        if self.model.measure in self.model.measures:
            return np.asarray(logs[..., self.model.measures.index(self.model.measure)])
        fits = np.ones((), dtype=bool)
        for j, name in ((1, "power"), (2, "budget")):
            most = np.log(inputs[name][0] / DEVICE_MEASURES[_MEASURE_NAMES[j]][1])
            fits = fits & (logs[..., 0] - logs[..., j] <= most + LOG_ATOL)
        return np.where(fits, logs[..., 0], -np.inf)

    def observed(self) -> Observations:
        if self.model.measure not in self.model.measures:  # whose is the best depends on a power and a price
            return Observations()
        level = np.exp(self.devices.logs[:, self.model.measures.index(self.model.measure)])
        best = np.fmax.accumulate(np.nan_to_num(level))
        kept = np.flatnonzero(np.diff(best, prepend=0.0) > 0)
        whose = [self.called[i] for i in kept]
        last = np.flatnonzero(np.isfinite(level))[-1]
        if kept[-1] < last:  # that nothing has come since is known, too
            kept, whose = np.append(kept, last), [*whose, whose[-1]]
        return Observations(time=self.devices.time[kept], value=best[kept], unit=self.model.unit, names=tuple(whose))

    def describe(self) -> Description:
        drawn, names = self.devices.posterior, self.model.measures
        counts = np.isfinite(self.devices.logs).sum(axis=0)
        facts = {"n": float(counts[0])} | {f"n_{name}": float(n) for name, n in zip(names, counts, strict=True)}
        ends = (("", 0.5), ("_p05", 0.05), ("_p95", 0.95))
        growth, correlation = drawn.growth, drawn.correlation()
        rank = growth.argsort(axis=0).argsort(axis=0)  # no two draws are the same
        pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
        for i, name in enumerate(names):
            facts |= {f"growth_{name}{label}": float(np.quantile(growth[:, i], q)) for label, q in ends}
        for i, j in pairs:
            key = f"{names[i]}_{names[j]}"
            facts |= {f"correlation_{key}{label}": float(np.quantile(correlation[:, i, j], q)) for label, q in ends}
            facts[f"rank_correlation_{key}"] = float(np.asarray(np.corrcoef(rank[:, [i, j]], rowvar=False))[0, 1])
        facts = {name.replace("-", "_"): value for name, value in facts.items()}
        which = self.model.measure if self.model.measure in names else names[0]
        mean = [np.expm1(facts[f"growth_{which}{end}".replace("-", "_")]) for end, _ in ends]
        spoken = [each.replace("-", " ") for each in names]
        said = ", ".join(f"{spoken[i]} and {spoken[j]} {np.median(correlation[:, i, j]):.2f}" for i, j in pairs)
        known = ", ".join(f"{n} of them {name}" for name, n in zip(spoken[1:], counts[1:], strict=True))
        return Description(
            summary=f"grows {mean[0]:.0%} a year [90 %: {mean[1]:.0%}, {mean[2]:.0%}] from {counts[0]} devices "
            f"that have a rate, {known}; correlations of growths: {said}; {self.model.note}",
            assumptions=(
                "walk and scatter of the measures have one correlation matrix, and the size of the walk is weighed",
                f"devices come as often, and of the markets, as in the last {RECENT_YEARS:g} years",
            ),
            sources=self.model.sources,
            facts=facts,
        )
