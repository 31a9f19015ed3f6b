"""What a device gives at all, per watt and per dollar, estimated together on the same devices.

Of FP32 alone 52 devices have a verified rate, power and launch price (of tensor cores 3 in FP16 and 2 in FP8). In logs
the three of a device are a line in time, a random walk and a scatter of its own. These have one correlation matrix, in
the size of its walk to its scatter alone a model is free: the homogeneous model of seemingly unrelated time series
(Harvey 1989, 8.3). Walks and scatters with matrices of their own gain 1.2 in the log likelihood for five parameters
more, and walks at all .6 over lines alone (devices to 2025-03): the data do not tell them apart. How strong the walk is
is therefore weighed over a grid. statsmodels filters and smooths each; given it, the covariance is inverse Wishart and
the growths are normal.

Which joint draw a world has says the quantity `posterior`, a uniform number that the three models of one scenario
share. With a `posterior` each, they are drawn apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forecast import ModelSpec
from forecast.errors import DataError, FitError
from forecast.models import Description, FittedModel, ModelRecord, Observations, OtherQuantity
from forecast_hardware.gpu import ACCELERATORS_TABLE, FIRST_RELEASE, PRECISIONS
from forecast_hardware.named import DEVICE_MEASURES, JOINT

if TYPE_CHECKING:
    from forecast.models import Model
    from forecast.streams import Streams

Array = NDArray[np.float64]

__all__ = ["Posterior", "joint", "joint_posterior"]

_MEASURE_NAMES = tuple(DEVICE_MEASURES)
#: Years of a cell of the filter: devices of one cell are averaged.
CELL_YEARS = 0.5
#: Standard deviation of the walk in a year over that of one device's scatter: from none to as large, every one alike.
WALK_RATIOS = np.linspace(0.0, 1.0, 21)
#: Joint draws, of which each world has one, and years that their walks go on.
N_JOINT_DRAWS, MAX_AHEAD_YEARS = 16384, 120
#: Fewer devices tell no covariance of three.
_FEWEST = 12


class Posterior(NamedTuple):
    """Joint draws of what goes on from the last device: growth a year, covariance, and how strong the walk is.

    Attributes
    ----------
    growth : ndarray
        (draw, measure), in logs a year.
    covariance : ndarray
        (draw, measure, measure), of the scatter of one device.
    walk : ndarray
        (draw,), the standard deviation of the walk in a year over that of the scatter.
    """

    growth: Array
    covariance: Array
    walk: Array

    def correlation(self) -> Array:
        """Return the correlation matrix of each draw."""
        scale = np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))
        return self.covariance / (scale[:, :, None] * scale[:, None, :])


@lru_cache(maxsize=4)
def _of_devices(time: bytes, logs: bytes, seed: int) -> Posterior:
    """Return the posterior of these devices, which the three models of one scenario share."""
    return joint_posterior(np.frombuffer(time), np.frombuffer(logs).reshape(-1, len(_MEASURE_NAMES)), seed=seed)


def joint_posterior(time: Array, logs: Array, *, draws: int = N_JOINT_DRAWS, seed: int = 0) -> Posterior:
    """Estimate growths and their covariance on the same devices.

    Parameters
    ----------
    time : ndarray
        Decimal years, one a device.
    logs : ndarray
        (device, measure), in natural logarithms.
    draws, seed : int

    Raises
    ------
    FitError
        With fewer than twelve devices, or all in so few years that no growth is told.

    References
    ----------
    Harvey (1989), Forecasting, Structural Time Series Models and the Kalman Filter, 8.3.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> t = np.sort(rng.uniform(2010, 2025, 60))
    >>> scatter = rng.multivariate_normal([0, 0], [[0.09, 0.08], [0.08, 0.09]], 60)
    >>> found = joint_posterior(t, np.outer(t - 2010, [0.3, 0.2]) + scatter, draws=400)
    >>> np.median(found.growth, axis=0).round(1).tolist()
    [0.3, 0.2]
    >>> bool(np.median(found.correlation()[:, 0, 1]) > 0.7)
    True
    """
    if len(time) < _FEWEST or np.ptp(time) < 4 * CELL_YEARS:
        raise FitError(f"expected at least {_FEWEST} devices over {4 * CELL_YEARS:g} years, got {len(time)}")
    cell = np.floor(time / CELL_YEARS).astype(int)
    cell -= cell.min()
    count = np.bincount(cell).astype(float)
    filled = count > 0
    mean = np.full((len(count), logs.shape[1]), np.nan)
    for measure in range(logs.shape[1]):
        mean[filled, measure] = np.bincount(cell, logs[:, measure])[filled] / count[filled]
    within = logs - mean[cell]
    of_cells = within.T @ within
    dof = len(time) - 2  # of all devices, less a level and a slope
    fits = [_smoothed(mean, count, ratio) for ratio in WALK_RATIOS]
    scatter = [of_cells + each.scatter for each in fits]
    weight = np.array(
        [each.log_density - dof / 2 * np.linalg.slogdet(s)[1] for each, s in zip(fits, scatter, strict=True)]
    )
    weight = np.exp(weight - weight.max())
    rng = np.random.default_rng(seed)
    taken = rng.choice(len(fits), size=draws, p=weight / weight.sum())
    growth, covariance = np.empty((draws, logs.shape[1])), np.empty((draws, logs.shape[1], logs.shape[1]))
    for which, (fit, total) in enumerate(zip(fits, scatter, strict=True)):
        rows = np.flatnonzero(taken == which)
        covariance[rows] = _inverse_wishart(rng, total, dof, len(rows))
        root = np.linalg.cholesky(covariance[rows])
        noise = np.einsum("rij,rj->ri", root, rng.standard_normal((len(rows), logs.shape[1])))
        growth[rows] = fit.slope + np.sqrt(fit.slope_variance) * noise
    order = np.argsort(growth[:, 0], kind="stable")
    return Posterior(growth[order], covariance[order], WALK_RATIOS[taken][order])


class _Smoothed(NamedTuple):
    """What the smoother says at one size of the walk, of a scatter whose covariance is the unit matrix."""

    slope: Array
    slope_variance: float
    scatter: Array
    log_density: float


def _smoothed(mean: Array, count: Array, ratio: float) -> _Smoothed:
    """Filter and smooth means of cells: levels that grow and walk, scatter over the root of the count of devices."""
    from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother

    cells, measures = mean.shape
    unit, none = np.eye(measures), np.zeros((measures, measures))
    space = KalmanSmoother(k_endog=measures, k_states=2 * measures, k_posdef=measures)
    space.bind(np.ascontiguousarray(mean))
    space["design"] = np.hstack([unit, none])
    space["transition"] = np.block([[unit, CELL_YEARS * unit], [none, unit]])
    space["selection"] = np.vstack([unit, none])
    space["state_cov"] = ratio**2 * CELL_YEARS * unit
    space["obs_cov"] = unit[:, :, None] / np.maximum(count, 1.0)
    space.initialize_diffuse()
    found = space.smooth()
    known = np.flatnonzero((count > 0) & (np.arange(cells) >= found.nobs_diffuse))
    error, variance = found.forecasts_error[:, known], found.forecasts_error_cov[0, 0, known]
    # the first two cells with a device tell level and slope: their density is that of the diffuse start
    start = np.flatnonzero((count > 0) & (np.arange(cells) < found.nobs_diffuse))
    diffuse = found.forecasts_error_diffuse_cov[0, 0, start]
    density = -measures / 2 * (np.log(variance).sum() + np.log(diffuse[diffuse > 0]).sum())
    return _Smoothed(
        slope=found.smoothed_state[measures:, -1],
        slope_variance=float(found.smoothed_state_cov[measures, measures, -1]),
        scatter=(error / variance) @ error.T,
        log_density=float(density),
    )


def _inverse_wishart(rng: np.random.Generator, scale: Array, dof: int, count: int) -> Array:
    """Draw inverse Wishart matrices by Bartlett's decomposition."""
    size = len(scale)
    lower = np.tril(rng.standard_normal((count, size, size)), -1)
    lower[:, range(size), range(size)] = np.sqrt(rng.chisquare(dof - np.arange(size), (count, size)))
    root = np.linalg.solve(lower, np.broadcast_to(np.linalg.cholesky(scale).T, (count, size, size)))
    return np.asarray(np.swapaxes(root, 1, 2) @ root)


def joint(name: str, spec: ModelSpec) -> Model:
    """Build the model of one of the three measures."""
    return _Joint(
        name=name,
        unit=spec.unit,
        inputs={"posterior": OtherQuantity(unit="", title="which joint draw a world has, from 0 to 1")},
        measure=spec.name.removeprefix(JOINT),
        note=spec.note,
        sources=(spec.reference,),
        qualifiers=spec.qualifiers,
        keeps=spec.keeps,
    )


@dataclass(frozen=True, kw_only=True)
class _Joint(ModelRecord):
    measure: str = ""

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        """Read the devices with a rate, a power and a price, and estimate the three together."""
        from forecast.tables import decimal_year
        from forecast.tables.series import rows_as_of

        where = {**PRECISIONS["fp32"], "sparsity": "dense", "peak_status": "verified", "status": "verified"}
        found = rows_as_of(ACCELERATORS_TABLE, where=where, as_of=as_of, name=self.name, date="release_date")
        time = decimal_year(found.column("release_date"))
        since = decimal_year(np.array([FIRST_RELEASE], dtype="datetime64[D]"))[0]
        logs = np.column_stack([_log(found, parts, factor) for _, factor, parts, _ in DEVICE_MEASURES.values()])
        kept = np.isfinite(logs).all(axis=1) & (time >= since)
        order = np.flatnonzero(kept)[np.argsort(time[kept], kind="stable")]
        time, logs = time[order], logs[order]
        try:
            posterior = _of_devices(time.tobytes(), logs.tobytes(), seed)
        except FitError as error:
            raise FitError(f"{self.name}: {error}") from None
        return _FittedJoint(
            model=self, time=time, level=np.exp(logs[:, _MEASURE_NAMES.index(self.measure)]), drawn=posterior,
            called=tuple(str(each) for each in found.column("name")[order]), seed=seed,
        )  # fmt: skip


def _log(rows: Any, parts: tuple[str, ...], factor: float) -> Array:
    top, *bottom = (rows.numeric(part) for part in parts)
    return np.asarray(np.log(factor * top / (bottom[0] if bottom else 1.0)))


@dataclass(frozen=True, kw_only=True)
class _FittedJoint(FittedModel):
    """The best device at the last date, and what all devices gain from there on."""

    model: _Joint
    time: Array
    level: Array = field(repr=False)
    drawn: Posterior = field(repr=False)
    called: tuple[str, ...]
    seed: int

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:

        last, which = self.time[-1], _MEASURE_NAMES.index(self.model.measure)
        if time[-1] > last + MAX_AHEAD_YEARS:
            raise DataError(
                f"{self.model.name}: the walks go on for {MAX_AHEAD_YEARS} years, to {last + MAX_AHEAD_YEARS:.0f}"
            )
        row = np.minimum((inputs["posterior"][0] * N_JOINT_DRAWS).astype(np.intp), N_JOINT_DRAWS - 1)
        ahead = np.maximum(time - last, 0.0)
        gain = ahead[:, None] * self.drawn.growth[row, which] + self._walked(ahead)[:, row]
        records = np.maximum.accumulate(self.level)
        seen = records[np.maximum(np.searchsorted(self.time, time, side="right") - 1, 0)]
        return np.asarray(seen[:, None] * np.exp(np.maximum.accumulate(np.maximum(gain, 0.0), axis=0)))

    def _walked(self, ahead: Array) -> Array:
        """Return the walks, (time, row): of one origin for the three measures, correlated as the draw has it."""
        which = _MEASURE_NAMES.index(self.model.measure)
        rng = np.random.default_rng((self.seed, 1))
        years = int(np.ceil(ahead[-1])) if ahead[-1] > 0 else 0
        root = np.linalg.cholesky(self.drawn.covariance)[:, which] * self.drawn.walk[:, None]
        steps = np.zeros((years + 1, N_JOINT_DRAWS))
        for year in range(years):
            steps[year + 1] = np.einsum("rj,rj->r", root, rng.standard_normal((N_JOINT_DRAWS, len(_MEASURE_NAMES))))
        path = np.cumsum(steps, axis=0)
        at = np.minimum(ahead.astype(np.intp), max(years - 1, 0))
        part = (ahead - at)[:, None]
        return np.asarray(path[at] + part * (path[np.minimum(at + 1, years)] - path[at]))

    def observed(self) -> Observations | None:
        best = np.maximum.accumulate(self.level)
        kept = np.flatnonzero(np.diff(best, prepend=0.0) > 0)
        whose = [self.called[i] for i in kept]
        if kept[-1] < len(best) - 1:  # that nothing has come since is known, too
            kept, whose = np.append(kept, len(best) - 1), [*whose, whose[-1]]
        return Observations(time=self.time[kept], value=best[kept], unit=self.model.unit, names=tuple(whose))

    def describe(self) -> Description:
        facts = {"n": float(len(self.time))}
        for i, name in enumerate(_MEASURE_NAMES):
            for label, q in (("", 0.5), ("_p05", 0.05), ("_p95", 0.95)):
                facts[f"growth_{name}{label}"] = float(np.quantile(self.drawn.growth[:, i], q))
        correlation = self.drawn.correlation()
        pairs = [(0, 1), (0, 2), (1, 2)]
        for i, j in pairs:
            for label, q in (("", 0.5), ("_p05", 0.05), ("_p95", 0.95)):
                key = f"correlation_{_MEASURE_NAMES[i]}_{_MEASURE_NAMES[j]}{label}"
                facts[key] = float(np.quantile(correlation[:, i, j], q))
        for i, j in pairs:
            ranks = [np.argsort(np.argsort(self.drawn.growth[:, k])) for k in (i, j)]
            facts[f"rank_correlation_{_MEASURE_NAMES[i]}_{_MEASURE_NAMES[j]}"] = float(np.corrcoef(*ranks)[0, 1])
        facts = {name.replace("-", "_"): value for name, value in facts.items()}
        which = self.model.measure.replace("-", "_")
        growth = [np.expm1(facts[f"growth_{which}{end}"]) for end in ("", "_p05", "_p95")]
        spoken = [each.replace("-", " ") for each in _MEASURE_NAMES]
        said = ", ".join(f"{spoken[i]} and {spoken[j]} {np.median(correlation[:, i, j]):.2f}" for i, j in pairs)
        return Description(
            summary=f"grows {growth[0]:.0%} a year [90 %: {growth[1]:.0%}, {growth[2]:.0%}] from {len(self.time)} "
            f"devices that have a rate, a power and a price; correlations of growths: {said}; {self.model.note}",
            assumptions=(
                "walk and scatter of the three have one correlation matrix, and the size of the walk is weighed",
            ),
            sources=self.model.sources,
            facts=facts,
        )
