"""The damped trend: exponential smoothing whose growth dies away."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forecast.models import Description, FittedShape, Shape
from forecast_trends.points import LARGEST, Path, checked_average, path, said_growth
from forecast_trends.walks.states import FittedStates, Point, cells, maximise, weigh

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["DampedTrend"]

_LEVEL = (0.02, 0.3, 0.65, 0.98)
_GROWTH = (0.01, 0.15, 0.5, 0.95)  # as a share of the level's
_DAMPING = (0.8, 0.87, 0.93, 0.98)


class DampedTrend(Shape):
    """Holt's exponential smoothing of log value with growth that falls by a factor φ every step.

    y = level + φ·growth + e, level ← level + φ·growth + α·e, growth ← φ·growth + β·e: the model ETS(A,Ad,N), by
    statsmodels' state-space ``ExponentialSmoothing``, with φ between 0.8 and 0.98. The level ends at a finite value.

    Parameter uncertainty: α, β and φ are weighed by their likelihood over a grid (flat prior), the initial level and
    growth are diffuse, and the scale is Student t. The central forecast is that at statsmodels' maximum of the
    likelihood.

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

    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Weigh the smoothing parameters."""
        import numpy as np
        from statsmodels.tsa.statespace.exponential_smoothing import ExponentialSmoothing

        seen = path(time, value, frontier=frontier, least=6, what="a damped trend", average=self.average)
        grid = cells(seen, self.average)
        model = ExponentialSmoothing(grid.y, trend=True, damped_trend=True, concentrate_scale=False)

        def point(alpha: float, beta: float, phi: float) -> Point:
            model.update(np.array([alpha, beta, phi, 1.0, 0.0, 0.0]))
            model.ssm.initialize(_diffuse(alpha))
            named = {"smoothing_level": alpha, "smoothing_growth": beta, "damping": phi}
            return Point.of(model.ssm, named, level=1, growth=[0, 0, phi], scatter=(1 - alpha**2) ** 0.5)

        points, weights = weigh(point(a, a * b, c) for a in _LEVEL for b in _GROWTH for c in _DAMPING)
        first = points[0]

        def climb() -> Point:
            if first.scale**2 <= 1e-12 * (1.0 + float(np.nanmax(np.abs(grid.y))) ** 2):
                return first
            alpha, beta, phi = first.parameters.values()
            climbing = ExponentialSmoothing(grid.y, trend=True, damped_trend=True)
            edges = np.clip([alpha, beta, phi], [1e-3, 1e-3, 0.802], [0.99, 0.98, 0.978])
            slope = (seen.y[-1] - seen.y[0]) / seen.span * grid.step
            found = maximise(climbing, np.array([*edges, seen.y[0] - slope, slope]))
            return self._at(grid.y, *(float(p) for p in found.params))

        return FittedStates(
            grid=grid,
            points=points,
            weights=weights,
            climb=climb,
            dof=float(grid.counted - 2),
            summarise=lambda fitted: _describe(fitted, seen),
        )

    @staticmethod
    def _at(y: Array, alpha: float, beta: float, phi: float, level: float, growth: float) -> Point:
        """Return the point at the maximum of the likelihood, where initial level and growth are estimated too."""
        import numpy as np
        from statsmodels.tsa.statespace.exponential_smoothing import ExponentialSmoothing

        model = ExponentialSmoothing(y, trend=True, damped_trend=True, concentrate_scale=False)
        model.update(np.array([alpha, beta, phi, 1.0, level, growth]))
        named = {"smoothing_level": alpha, "smoothing_growth": beta, "damping": phi}
        named |= {"initial_level": level, "initial_growth": growth}
        return Point.of(model.ssm, named, level=1, growth=[0, 0, phi], scatter=(1 - alpha**2) ** 0.5)


def _diffuse(alpha: float) -> Any:
    """Return a start that knows nothing of level and growth; the first error has its own variance."""
    from statsmodels.tsa.statespace.initialization import Initialization

    start = Initialization(3)
    start.set(0, "known", constant=[0.0], stationary_cov=[[(1 - alpha) ** 2]])
    start.set((1, 3), "diffuse")
    return start


def _describe(fitted: FittedStates, seen: Path) -> Description:
    import numpy as np

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
