"""Many laws of a curve at once: their shapes on grids, weighed by how well they pass through what is known.

No law is chosen. Each law of the catalogue that a curve may follow is laid out over a grid of its shapes; its scale is
profiled out, its floor is on a grid too, and every combination is a *member* with a weight. What members say beyond the
data differs by parameters and by form, and both are in the band.

What a curve is expected to do beyond its points is said by three forecasts, combined by how each has done on this very
curve: a pool of laws, the last value, and a line through the last points (Bates & Granger 1969). Their
weights fall with the errors that each would have made from earlier points. The variance of an observation is a sum of
three, the law of total variance: of the members of the pool, between the forecasts, and of the noise of a point. No
multiplier widens it; its distribution is Student's t, since noise of real curves has jumps.

A curve's forecast has structure, which was designed, and numbers, which curves chose for `forecast.extrapolate`. The
numbers stand at the top and nowhere else: what each does, on which data and split, what it is worth. They were chosen
on the development halves of two collections of curves, 323 in all, by leaving one source out at a time, and by the mean
logarithmic score of the curves; ``python -m tests.benchmarks curves`` chooses anew.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from forecast.base.arrays import Array, IntArray
from forecast.base.quantiles import Z95
from forecast.errors import FitError
from forecast.laws import Law, law


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The numbers of a curve's forecast.

    Parameters
    ----------
    recency : float
        Points are weighted by x to this power when laws are weighed: what comes next looks like what was last.
    worth, most : float
        What one point is worth beside independent ones, and all of them together at most: residuals of a curve follow
        each other, and no law is true, so that a likelihood of all points would be far too sure.
    carried : float
        The share of the last residual that goes on.
    pool, last_value, drift : float
        The weights of the three forecasts that are combined, before a curve's own past is looked at.
    trust : float
        A forecast's weight falls with the mean squared error of its hindcasts, to this power.
    stretch : float
        The share of the points, the last ones, that the drift is a line through.
    shrinkage : float
        How many times its sampling variance is taken off the square of the slope of the drift; 1 is unbiased.
    hindcasts : int
        From how many earlier points the forecasts are tried.
    freedom : float
        Degrees of freedom of Student's t, the distribution of an observation: a scale mixture of normal ones, whose
        tails are what a jump makes of them.
    """

    recency: float = 2.0
    worth: float = 0.3
    most: float = 5.0
    carried: float = 1.0
    pool: float = 5.0
    last_value: float = 2.0
    drift: float = 3.0
    trust: float = 0.4
    stretch: float = 0.6
    shrinkage: float = 1.0
    hindcasts: int = 5
    freedom: float = 2.75


TUNING = Tuning()
#: No curve on record was forecast further than this; nearer, distance made no interval hold less.
FARTHEST_DECADES = 0.76


def _grid(**values: Sequence[float] | Array) -> dict[str, Array]:
    """Return every combination, one row each: (G, 1) a name."""
    rows = np.array(list(itertools.product(*values.values())), dtype=float).T
    return {name: row[:, None] for name, row in zip(values, rows, strict=True)}


def _saturating_grid(_: Array) -> dict[str, Array]:
    return _grid(c=np.geomspace(0.02, 3.0, 40))


def _shifted_grid(_: Array) -> dict[str, Array]:
    return _grid(d=np.geomspace(1e-3, 10.0, 14), b=np.geomspace(0.05, 8.0, 22))


def _broken_power_grid(x: Array) -> dict[str, Array]:
    """Breaks stand where there are points, and just beyond the last: one that is coming cannot be seen earlier."""
    places = np.append(np.quantile(np.log(x), [0.1, 0.3, 0.5, 0.65, 0.8, 0.9, 1.0]), 0.35)
    return _grid(
        c0=[0.0, 0.05, 0.15, 0.3, 0.6],
        c1=[-0.2, -0.08, 0.1, 0.25, 0.5, 1.0, 2.0],
        d1=np.exp(places),
        f1=[0.15, 0.5, 1.5],
    )


@dataclass(frozen=True, kw_only=True)
class CurveFamily:
    """A law of the catalogue, as the pool lays it out.

    Parameters
    ----------
    law : str
        Its full name; one variable, x.
    floor, scale : str
        The two parameters in which it is linear: what is left at the end, and the size of what falls away.
    prior : float
        Its share before any point is seen.
    shapes : callable
        From the places of the points, in units of the last one, to its other parameters: (G, 1) each.
    """

    law: str
    floor: str
    scale: str
    prior: float
    shapes: Callable[[Array], dict[str, Array]]


#: The broken power law contains the two others near enough (a break that does not bend, a break at the start), so it
#: has as large a share as both. Other laws of the catalogue (m3, hill) made the development curves worse.
CURVE_FAMILIES = (
    CurveFamily(law="scaling/broken-power", floor="a", scale="b", prior=0.5, shapes=_broken_power_grid),
    CurveFamily(law="scaling/shifted-power", floor="c", scale="a", prior=0.25, shapes=_shifted_grid),
    CurveFamily(law="scaling/saturating-power", floor="E", scale="beta", prior=0.25, shapes=_saturating_grid),
)
#: Floors, as the share by which they lie below the lowest point; 1 is no floor at all.
FLOOR_SHARES = np.array([0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.27, 0.35, 0.45, 0.55, 0.7, 0.85, 0.95, 1.0])
#: Residuals smaller than this share of y are as good as none: what a curve is read or printed to.
EXACT_FIT_RTOL = 1e-4
#: How many members of equal weight stand for the pool: quantiles at 5 % then rest on 25 of them.
N_MEMBERS = 512


@dataclass(frozen=True, kw_only=True)
class LawPool:
    """What the members say at some places, in logarithms.

    Parameters
    ----------
    log : ndarray
        (members, places), of equal weight.
    shares : mapping of str to float
        The weight of each law.
    says : mapping of str to float
        The median of each law's members at the last place; a law without a member is absent.
    """

    log: Array
    shares: Mapping[str, float]
    says: Mapping[str, float]


def pool(x: Array, y: Array, to: Array, tuning: Tuning = TUNING) -> LawPool:
    """Weigh the members by a falling curve and ask them for places beyond it.

    Parameters
    ----------
    x, y : ndarray
        (n,), positive, x rising.
    to : ndarray
        (p,).
    tuning : Tuning

    Returns
    -------
    LawPool
    """
    size, unit = x[-1], y.min()
    x, y, to = x / size, y / unit, to / size
    recent = x**tuning.recency
    recent /= recent.mean()
    worth = max(min(tuning.worth * x.size, tuning.most), 3.0)
    parts = [_weighted_members(form, x, y, recent, worth) for form in CURVE_FAMILIES]
    best = max(part.log_weight.max(initial=-np.inf) for part in parts)
    weights = [np.exp(part.log_weight - best) for part in parts]
    whole = sum(float(w.sum()) for w in weights)
    said, apart, chances = [], [], []
    shares, says = {}, {}
    for part, weight in zip(parts, weights, strict=True):
        kept = np.flatnonzero(weight > 1e-4 * max(w.max(initial=0.0) for w in weights))
        shares[part.form.law] = float(weight.sum()) / whole
        if not kept.size:
            continue
        there, residuals = part.at(kept, x, y, to)
        there += tuning.carried * residuals[:, -1:]
        chosen = _spread_evenly(there[:, -1], weight[kept], N_MEMBERS)
        says[part.form.law] = float(np.median(there[chosen, -1])) + np.log(unit)
        said.append(there)
        chances.append(weight[kept])
        apart.append(there[:, -1])
    chance = np.concatenate(chances)
    rows = _spread_evenly(np.concatenate(apart), chance, N_MEMBERS)
    return LawPool(log=np.concatenate(said)[rows] + np.log(unit), shares=shares, says=says)


def _spread_evenly(order: Array, weight: Array, count: int) -> IntArray:
    """Return the rows at even steps of their weight, in an order in which neighbours say nearly the same."""
    rows = np.argsort(order, kind="stable")
    reached = np.cumsum(weight[rows])
    return np.asarray(rows[np.searchsorted(reached, (np.arange(count) + 0.5) / count * reached[-1])])


@dataclass(frozen=True, kw_only=True)
class _LawMembers:
    """The members of one law: which row of its grid with which floor and scale, and log weights."""

    form: CurveFamily
    law: Law
    shapes: Mapping[str, Array]
    columns: Array
    floors: Array
    scales: Array
    log_weight: Array

    def at(self, members: IntArray, x: Array, y: Array, to: Array) -> tuple[Array, Array]:
        """Return logarithms at the places, (members, p), and residuals of log y, (members, n)."""
        row, floor = np.divmod(members, self.floors.size)
        rows, place = np.unique(row, return_inverse=True)
        beyond = _law_columns(self.form, self.law, {n: v[rows] for n, v in self.shapes.items()}, to)
        base, size = self.floors[floor][:, None], self.scales.ravel()[members][:, None]
        with np.errstate(all="ignore"):
            return np.log(base + size * beyond[place]), np.log(y) - np.log(base + size * self.columns[row])


def _law_columns(form: CurveFamily, chosen: Law, shapes: Mapping[str, Array], x: Array) -> Array:
    """Return what falls away, (G, n): the law without its floor, at a scale of 1."""
    return chosen.value({**shapes, form.floor: 0.0, form.scale: 1.0}, x=x)


def _weighted_members(form: CurveFamily, x: Array, y: Array, recent: Array, worth: float) -> _LawMembers:
    """Return the members of a law with their weights: a likelihood of relative residuals, tempered to their worth."""
    chosen, shapes = law(form.law), form.shapes(x)
    columns = _law_columns(form, chosen, shapes, x)
    floors = y.min() * (1.0 - FLOOR_SHARES)
    weights = recent / y**2
    with np.errstate(all="ignore"):
        square, side, total = (columns**2) @ weights, columns @ (weights * y), columns @ weights
        # the best scale of each shape above each floor, and what it leaves of the squares: sums alone, no residuals
        scales = (side[:, None] - floors * total[:, None]) / square[:, None]
        known = recent.sum() - 2 * floors * (weights @ y) + floors**2 * weights.sum()
        left = (known - scales**2 * square[:, None]) / x.size
        log_weight = -0.5 * worth * np.log(np.maximum(left, 0.0) + EXACT_FIT_RTOL**2) + np.log(form.prior / left.size)
    log_weight = np.where(np.isfinite(log_weight) & (scales > 0), log_weight, -np.inf)
    return _LawMembers(
        form=form,
        law=chosen,
        shapes=shapes,
        columns=columns,
        floors=floors,
        scales=scales,
        log_weight=log_weight.ravel(),
    )


#: The forecasts that are combined; those beside the pool of laws have the names that a backtest gives them.
POOL, LAST_VALUE, DRIFT = "pool", "last-value", "drift"
#: Points that a curve needs.
MIN_CURVE_POINTS = 5
#: Points that a hindcast needs, that a line goes through, and residuals that noise is measured by, at least.
MIN_HINDCAST_POINTS, MIN_LINE_POINTS, MIN_NOISE_RESIDUALS = 4, 4, 4
#: No hindcast starts from fewer than this share of the points.
MIN_HINDCAST_SHARE = 1 / 3
#: Standard deviations from the middle of a normal distribution to the ends of its central 90 %.


@dataclass(frozen=True, kw_only=True)
class CurveForecast:
    """The distribution of an observation at places beyond a curve, in logarithms.

    Parameters
    ----------
    middle, scale : ndarray
        Of Student's t, (places,).
    freedom : float
        Its degrees of freedom.
    ceiling : (float, float) or None
        The last value and the noise of a point, of a curve that never rose by more than its noise: it is not expected
        above the one by more than the other. None of a curve that did rise.
    sign : float
        -1 where the curve rises, and the ceiling is a floor; else 1.
    noise : float
        The standard deviation of a point about the curve.
    weights, says : mapping of str to float
        Of each law, of the last value and of the drift: its share, and its own median at the last place. A law of
        which no member passes near the points has a share and says nothing.
    """

    middle: Array
    scale: Array
    freedom: float
    ceiling: tuple[float, float] | None
    sign: float
    noise: float
    weights: Mapping[str, float]
    says: Mapping[str, float]

    def without_noise(self) -> CurveForecast:
        """Return the distribution of the curve itself."""
        return replace(self, scale=np.sqrt(np.maximum(self.scale**2 - self.noise**2, 0.0)))

    def quantile(self, q: float) -> Array:
        """Return a quantile of the logarithm of an observation, (places,)."""
        from scipy.special import stdtrit

        apart = float(stdtrit(self.freedom, q if self.sign > 0 else 1 - q))
        found = self.sign * self.middle + apart * self.scale  # of the curve that falls
        if self.ceiling is not None:
            last, noise = self.ceiling
            found = np.minimum(found, self.sign * last + apart * noise)
        return np.asarray(self.sign * found)


def forecast_curve(x: Array, y: Array, to: Array, tuning: Tuning = TUNING) -> CurveForecast:
    """Forecast a curve beyond its points.

    Parameters
    ----------
    x, y : ndarray
        (n,), positive, x rising.
    to : ndarray
        (places,), rising, beyond the last x.
    tuning : Tuning

    Returns
    -------
    CurveForecast

    Raises
    ------
    FitError
        If no law of the pool passes near the points.

    References
    ----------
    Bates, J. M. & Granger, C. W. J. (1969), The combination of forecasts, Operational Research Quarterly 20, 451-468.
    """
    sign = -1.0 if is_rising(x, y) else 1.0
    laws, middles = _pool_and_forecasts(x, y, to, sign, tuning)
    if not np.isfinite(middles[POOL]).all():
        raise FitError("extrapolate: no law of the pool passes near these points")
    weights = _forecast_weights(x, y, float(to[-1] / x[-1]), tuning)
    middle = np.sum([weights[name] * middles[name] for name in weights], axis=0)
    between = np.sum([weights[name] * (middles[name] - middle) ** 2 for name in weights], axis=0)
    within = (np.diff(np.quantile(laws.log, [0.05, 0.95], axis=0), axis=0)[0] / (2 * Z95)) ** 2
    noise = max(local_noise(x, y), EXACT_FIT_RTOL)
    says = {name: sign * value for name, value in laws.says.items()}
    says |= {name: float(middles[name][-1]) for name in (LAST_VALUE, DRIFT)}
    shares = {name: weights[POOL] * share for name, share in laws.shares.items()}
    return CurveForecast(
        middle=middle, scale=np.sqrt(within + between + noise**2), freedom=tuning.freedom,
        ceiling=ceiling_of(x, y, sign), sign=sign, noise=noise,
        weights=shares | {name: weights[name] for name in (LAST_VALUE, DRIFT)}, says=says,
    )  # fmt: skip


def _pool_and_forecasts(x: Array, y: Array, to: Array, sign: float, tuning: Tuning) -> tuple[LawPool, dict[str, Array]]:
    """Return the pool, of the reciprocal of a curve that rises, and the logarithms that each forecast says."""
    laws = pool(x, y**sign, to, tuning)
    middles = {
        POOL: sign * np.quantile(laws.log, 0.5, axis=0),
        LAST_VALUE: np.full(to.size, np.log(y[-1])),
        DRIFT: sign * _extend_by_slope(np.log(x), sign * np.log(y), np.log(to), tuning),
    }
    return laws, middles


def _extend_by_slope(log_x: Array, log_y: Array, to: Array, tuning: Tuning) -> Array:
    """Carry on a falling curve from its last value, by the slope of its last points as far as that is known.

    The steps between points, less the slope, are those of a random walk; their variance is that of the slope. It is
    taken off the slope's square (James & Stein 1961, the positive part), and a curve that falls is not sent upward.
    """
    count = min(max(MIN_LINE_POINTS, int(np.ceil(tuning.stretch * log_x.size))), log_x.size)
    a, b = log_x[-count:], log_y[-count:]
    centred = a - a.mean()
    slope = float(centred @ b / (centred @ centred))
    steps = np.diff(a)
    variance = float(np.sum((np.diff(b) - slope * steps) ** 2 / steps)) / max(count - 2, 1) / float(a[-1] - a[0])
    known = max(0.0, 1.0 - tuning.shrinkage * variance / slope**2) if slope < 0 else 0.0
    return np.asarray(b[-1] + known * slope * (to - a[-1]))


def _forecast_weights(x: Array, y: Array, times: float, tuning: Tuning) -> dict[str, float]:
    """Weigh the forecasts by the errors they make from earlier points, over the same ratio of x as is asked for.

    Errors from later origins count more, as the square root of x.
    """
    before = {POOL: tuning.pool, LAST_VALUE: tuning.last_value, DRIFT: tuning.drift}
    first = max(MIN_HINDCAST_POINTS, int(np.ceil(MIN_HINDCAST_SHARE * x.size)))
    squares, counted = dict.fromkeys(before, 0.0), 0.0
    for count in np.unique(np.rint(np.linspace(first, x.size - 1, tuning.hindcasts)).astype(int)):
        known, end = slice(None, count), max(int(np.searchsorted(x, times * x[count - 1], side="right")), count + 1)
        sign = -1.0 if is_rising(x[known], y[known]) else 1.0
        _, middles = _pool_and_forecasts(x[known], y[known], x[count:end], sign, tuning)
        errors = {name: float(np.mean((middles[name] - np.log(y[count:end])) ** 2)) for name in before}
        if not np.isfinite(list(errors.values())).all():
            continue
        weight = float(np.sqrt(x[count - 1] / x[-1]))
        counted += weight
        squares = {name: squares[name] + weight * errors[name] for name in before}
    if counted:
        before = {n: w * (squares[n] / counted + EXACT_FIT_RTOL**2) ** -tuning.trust for n, w in before.items()}
    return {name: weight / sum(before.values()) for name, weight in before.items()}


def local_noise(x: Array, y: Array) -> float:
    """Return the standard deviation of a point about its curve, in logarithms, in the later half of the points.

    Each point is held against the chord between its neighbours, so that no form of the curve is supposed; their mean,
    which is the bend of the curve, is taken off.

    References
    ----------
    Gasser, T., Sroka, L. & Jennen-Steinmetz, C. (1986), Residual variance and residual pattern in nonlinear
    regression, Biometrika 73, 625-633.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.geomspace(1, 100, 400)
    >>> y = x**-0.3 * np.exp(0.02 * np.random.default_rng(0).standard_normal(400))
    >>> round(local_noise(x, y), 2)
    0.02
    """
    along, log_y = np.log(x), np.log(y)
    near = (along[2:] - along[1:-1]) / (along[2:] - along[:-2])
    residuals = log_y[1:-1] - (near * log_y[:-2] + (1 - near) * log_y[2:])
    residuals /= np.sqrt(1 + near**2 + (1 - near) ** 2)
    return float(np.std(residuals[-max(MIN_NOISE_RESIDUALS, int(np.ceil(x.size / 2))) :]))


def ceiling_of(x: Array, y: Array, sign: float) -> tuple[float, float] | None:
    """Return the logarithm of the last value and the noise of a point, of a curve that never rose by more than that.

    With a sign of -1, of one that never fell by more.
    """
    noise = max(local_noise(x, y), EXACT_FIT_RTOL)
    return (float(np.log(y[-1])), noise) if (sign * np.diff(np.log(y))).max() <= noise else None


def is_rising(x: Array, y: Array) -> bool:
    """Tell whether y rises with x, by the slope of the logarithms."""
    along = np.log(x)
    return bool((along - along.mean()) @ np.log(y) > 0)
