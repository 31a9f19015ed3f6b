"""The local linear trend: level and growth both wander."""

from __future__ import annotations

import numpy as np

from forecast.models import Array, Description, FittedShape, Shape
from forecast_trends.points import Path, cached_fit, checked_average, path, said_growth
from forecast_trends.walks.filtering import StateSpaces
from forecast_trends.walks.states import FittedStates, Point, cells, maximise, weigh

__all__ = ["LocalLinear"]

#: Standard deviations of the level's and the growth's shocks in one step, as multiples of an observation's scatter.
_LEVEL_RATIOS = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0)
_GROWTH = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)


class LocalLinear(Shape):
    """Level and growth of log value are random walks, and an observation scatters around the level.

    y = level + ε, level ← level + growth + η, growth ← growth + ζ: statsmodels' ``UnobservedComponents`` with a local
    linear trend and exact diffuse starts. Growth that may change at any time makes the far future very wide.

    Parameter uncertainty: the ratios of the three variances are weighed by their likelihood over a grid (flat prior
    on the grid, which reaches from no shocks at all to hardly any scatter), and the common scale by its Student t, so
    that a variance estimated as zero does not narrow the draws to a straight line. The central forecast is that at
    statsmodels' maximum of the likelihood.

    Parameters
    ----------
    average : float
        Average the log values of every so many years first, so that the model moves in steps of these.

    References
    ----------
    Harvey, A. C. (1989), Forecasting, structural time series models and the Kalman filter, Cambridge University Press.
    """

    def __init__(self, average: float = 0.0) -> None:
        self.average = checked_average(average)

    @cached_fit
    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Weigh the variances."""
        seen = path(time, value, frontier=frontier, least=5, what="a local linear trend", average=self.average)
        grid = cells(seen, self.average)
        ratios = np.stack(np.meshgrid(_LEVEL_RATIOS, _GROWTH, indexing="ij"), axis=-1).reshape(-1, 2)
        one = np.ones(len(ratios))
        spaces = StateSpaces(
            design=np.array([1.0, 0.0]),
            transition=np.broadcast_to([[1.0, 1.0], [0.0, 1.0]], (len(ratios), 2, 2)),
            selection=ratios[:, :, None] * np.eye(2),
            scatter=one,
            observed=one,
            first=np.zeros((len(ratios), 2, 2)),
            diffuse=(0, 1),
        )
        named = {"level_shock": ratios[:, 0], "growth_shock": ratios[:, 1]}
        growths = np.broadcast_to([0.0, 1.0], ratios.shape)
        points, weights = weigh(Point.of_all(grid.y, spaces, named, level=np.array([1.0, 0.0]), growth=growths))
        first = points[0]
        tiny = 1e-12 * (1.0 + float(np.nanmax(np.abs(grid.y))) ** 2)

        def climb() -> Point:
            if first.scale**2 < tiny:
                return first  # an exact straight line has no likelihood to climb
            from statsmodels.tsa.statespace.structural import UnobservedComponents

            model = UnobservedComponents(grid.y, "local linear trend", use_exact_diffuse=True)
            start = first.scale**2 * np.array([1.0, *np.square([*first.parameters.values()])])
            found = maximise(model, np.maximum(start, 1e-6 * first.scale**2))
            scatter, level, growth = np.maximum(found.params, 0.0)
            unit = max(scatter, level, growth)
            model.update(np.array([scatter, level, growth]) / unit)
            named = {"level_shock": (level / scatter) ** 0.5 if scatter else np.inf}
            named["growth_shock"] = (growth / scatter) ** 0.5 if scatter else np.inf
            return Point.of(model.ssm, named, level=0, growth=[0, 1], scatter=(scatter / unit) ** 0.5)

        return FittedStates(
            grid=grid,
            points=points,
            weights=weights,
            climb=climb,
            dof=float(grid.counted - 2),
            summarise=lambda fitted: _describe(fitted, seen),
        )


def _describe(fitted: FittedStates, seen: Path) -> Description:
    facts = fitted.growth_facts() | {"n": float(seen.points)}
    return Description(
        summary=(f"{said_growth(facts, 'now ')} from {seen.points} points, as a level and a growth that both wander"),
        assumptions=(
            "growth and level may change at every step, by normal shocks of a constant size",
            fitted.grid.said(),
            "before the first observation the level continues straight back",
            *seen.notes,
        ),
        sources=("Harvey, A. C. (1989), Forecasting, structural time series models and the Kalman filter",),
        facts=facts,
    )
