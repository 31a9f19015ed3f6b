"""The damped trend: exponential smoothing whose growth dies away."""

from __future__ import annotations

import functools

import numpy as np

from forecast.models import Array, Description, FittedShape, Shape
from forecast.streams import Streams
from forecast_trends.points import LARGEST, Path, cached_fit, checked_average, path, said_growth
from forecast_trends.walks.filtering import StateSpaces, settled
from forecast_trends.walks.states import FittedStates, Point, cells, maximise, weigh

__all__ = ["DampedTrend"]

#: Least and largest damping.
_DAMPING_RANGE = (0.8, 0.98)

#: Parameters that are looked at, a power of two, and points that are taken of them.
_CANDIDATES, _SUPPORT = 1024, 64


class DampedTrend(Shape):
    """Holt's exponential smoothing of log value with growth that falls by a factor φ every step.

    y = level + φ·growth + e, level ← level + φ·growth + α·e, growth ← φ·growth + β·e: the model ETS(A,Ad,N), with
    φ between 0.8 and 0.98. The level ends at a finite value.

    Parameter uncertainty: α, β/α and φ have a flat prior and are drawn by their likelihood from Sobol' points, the
    initial level and growth are diffuse, and the scale is Student t. The central forecast is that at statsmodels'
    maximum of the likelihood.

    Parameters
    ----------
    average : float
        Average the log values of every so many years first, so that the model moves in steps of these.

    References
    ----------
    Gardner, E. S. & McKenzie, E. (1985), Forecasting trends in time series, Management Science 31(10), 1237-1246.
    Hyndman, R. J., Koehler, A. B., Ord, J. K. & Snyder, R. D. (2008), Forecasting with exponential smoothing, Springer.
    """

    def __init__(self, average: float = 0.0) -> None:
        self.average = checked_average(average)

    @cached_fit
    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Weigh the smoothing parameters."""
        seen = path(time, value, frontier=frontier, least=6, what="a damped trend", average=self.average)
        grid = cells(seen, self.average)
        support, dense = _support(grid.y)
        named = dict(zip(("smoothing_level", "smoothing_growth", "damping"), support.T, strict=True))
        growth = support[:, 2:] * np.array([0.0, 0.0, 1.0])
        pick = np.array([0.0, 1.0, 0.0])
        points, weights = weigh(Point.of_all(grid.y, _spaces(*support.T), named, level=pick, growth=growth), dense)
        first = points[0]

        def climb() -> Point:
            if first.scale**2 <= 1e-12 * (1.0 + float(np.nanmax(np.abs(grid.y))) ** 2):
                return first
            from statsmodels.tsa.statespace.exponential_smoothing import ExponentialSmoothing

            alpha, beta, phi = first.parameters.values()
            climbing = ExponentialSmoothing(grid.y, trend=True, damped_trend=True)
            edges = np.clip([alpha, beta, phi], [1e-3, 1e-3, 0.802], [0.99, 0.98, 0.978])
            slope = (seen.y[-1] - seen.y[0]) / seen.span * grid.step
            found = maximise(climbing, np.array([*edges, seen.y[0] - slope, slope]))
            return self._fit_point(grid.y, *(float(p) for p in found.params))

        return FittedStates(
            grid=grid,
            points=points,
            weights=weights,
            climb=climb,
            dof=float(grid.counted - 2),
            summarise=lambda fitted: _describe(fitted, seen),
        )

    @staticmethod
    def _fit_point(y: Array, alpha: float, beta: float, phi: float, level: float, growth: float) -> Point:
        """Return the point at the maximum of the likelihood, where initial level and growth are estimated too."""
        from statsmodels.tsa.statespace.exponential_smoothing import ExponentialSmoothing

        model = ExponentialSmoothing(y, trend=True, damped_trend=True, concentrate_scale=False)
        model.update(np.array([alpha, beta, phi, 1.0, level, growth]))
        named = {"smoothing_level": alpha, "smoothing_growth": beta, "damping": phi}
        named |= {"initial_level": level, "initial_growth": growth}
        return Point.of(model.ssm, named, level=1, growth=[0, 0, phi], scatter=(1 - alpha**2) ** 0.5)


@functools.cache
def _candidates() -> Array:
    """Return α, β and φ, evenly spread in α, β/α and φ: (parameter, candidate), by increasing damping."""
    level, share, damping = Streams(seed=0, node="damped-trend", block=0).uniforms("support", 3)[:, :_CANDIDATES]
    low, high = _DAMPING_RANGE
    found = np.stack([level, level * share, low + (high - low) * damping])
    return found[:, np.argsort(damping)]


def _support(y: Array) -> tuple[Array, Array]:
    """Return α, β and φ of points that lie as densely as they are likely, and the logarithm of that density.

    The likelihood of a candidate is that of the errors of its recursion, first level and growth and the scale
    integrated out. A cell without an observation is passed over as if it had no error: what that distorts, `weigh` puts
    right.
    Points are taken by systematic resampling (Kitagawa, G. 1996, Monte Carlo filter and smoother for non-Gaussian
    nonlinear state space models, Journal of Computational and Graphical Statistics 5(1), 1-25).
    """
    candidates = _candidates()
    alpha, beta, phi = candidates[:, :, None]
    seen = y - y[np.isfinite(y)][0]
    level, growth = np.zeros((2, _CANDIDATES, 3))
    level[:, 1], growth[:, 2] = 1.0, 1.0  # of the series, of the first level, of the first growth
    products = np.zeros((_CANDIDATES, 3, 3))
    for value in seen:
        growth = phi * growth
        level = level + growth
        if np.isfinite(value):
            error = np.array([value, 0.0, 0.0]) - level
            products += error[:, :, None] * error[:, None, :]
            level, growth = level + alpha * error, growth + beta * error
    count = int(np.isfinite(seen).sum())
    inner, cross = products[:, 1:, 1:], products[:, 1:, :1]
    settles = settled(inner)
    inner = np.where(settles[:, None, None], inner, np.eye(2))
    explained = (np.swapaxes(cross, 1, 2) @ np.linalg.solve(inner, cross))[:, 0, 0]
    # a series that a level and a growth explain to rounding tells nothing of how they move
    squares = np.maximum(products[:, 0, 0] - explained, 1e-14 * products[:, 0, 0] + 1e-300)
    likelihood = -0.5 * np.linalg.slogdet(inner)[1] - 0.5 * (count - 2) * np.log(squares)
    likelihood = np.where(settles, likelihood, -np.inf)
    edges = np.cumsum(np.exp(likelihood - likelihood.max()))
    taken = np.searchsorted(edges, (np.arange(_SUPPORT) + 0.5) / _SUPPORT * edges[-1])
    which, often = np.unique(taken, return_counts=True)
    return candidates[:, which].T, likelihood[which] - np.log(often)


def _spaces(alpha: Array, beta: Array, phi: Array) -> StateSpaces:
    """Return the state spaces, whose state is what of the error is not in the level, the level and the growth.

    They start knowing nothing of level and growth; the first error has its own variance.
    """
    shares = np.stack([1 - alpha, alpha, beta], axis=1)[:, :, None]
    carried = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    first = np.zeros((len(alpha), 3, 3))
    first[:, 0, 0] = (1 - alpha) ** 2
    return StateSpaces(
        design=np.array([1.0, 1.0, 0.0]),
        transition=np.diag([0.0, 1.0, 0.0]) + phi[:, None, None] * carried,
        selection=shares,
        scatter=np.zeros(len(alpha)),
        observed=np.sqrt(1 - alpha**2),
        first=first,
        diffuse=(1, 2),
    )


def _describe(fitted: FittedStates, seen: Path) -> Description:

    facts = fitted.growth_facts() | {"n": float(seen.points)}
    each = np.array([p.parameters["damping"] for p in fitted.points])
    phi = float(fitted.weights @ each)
    low, ahead, high = (fitted.quantile_of_growth(q, 1 / (1 - each)) for q in (0.05, 0.5, 0.95))
    facts |= {
        "damping": phi,
        "damping_per_year": phi ** (1 / fitted.grid.step),
        "log_growth_to_come": ahead,
        "log_growth_to_come_p05": low,
        "log_growth_to_come_p95": high,
    }
    ends = [f"{np.exp(min(x, LARGEST)):.3g}" for x in (ahead, low, high)]
    return Description(
        summary=(
            f"{said_growth(facts, 'now ')}; growth falls by {1 - facts['damping_per_year']:.0%} a year and the level "
            f"ends at {ends[0]} times today's [90 %: {ends[1]}, {ends[2]}]; from {seen.points} points"
        ),
        assumptions=(
            "growth dies away geometrically: the level ends at a finite value",
            fitted.grid.said(),
            "before the first observation the level continues straight back",
            *seen.notes,
        ),
        sources=(
            "Gardner, E. S. & McKenzie, E. (1985), Management Science 31(10), 1237-1246",
            "Hyndman, R. J. et al. (2008), Forecasting with exponential smoothing, Springer",
        ),
        facts=facts,
    )
