"""What a curve is expected to do beyond its points: three forecasts combined by how each has done on this very curve.

A pool of laws, the last value, and a line through the last points are a linear combination (Bates & Granger 1969). Its
weights fall with the errors that each would have made from earlier points. The variance of an observation is a sum of
three, the law of total variance: of the members of the pool, between the forecasts, and of the noise of a point. No
multiplier widens it; its distribution is Student's t, since noise of real curves has jumps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from forecast.base.arrays import Array
from forecast.base.quantiles import Z95
from forecast.errors import FitError
from forecast.fit.pool.curve_constants import TUNING, Tuning
from forecast.fit.pool.law_pool import EXACT_FIT_RTOL, LawPool, pool

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
