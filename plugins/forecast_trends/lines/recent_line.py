"""The recent line: a line in log value through the latest points, whose growth dies away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forecast.models import Anchored, Array, FittedShape, Shape
from forecast_trends.autoregression import Mixture
from forecast_trends.evidence import log_series
from forecast_trends.lines.line import FittedLine
from forecast_trends.points import growth_facts, said_growth

__all__ = ["DAMPING_SPANS", "INDEPENDENT_POINTS", "Recent", "RecentLine", "recent"]

#: The latest points that the line must rest on, as independent ones.
INDEPENDENT_POINTS = 5
#: Shortest half-life of a point's weight, as a share of the span.
_HALF_LIFE_SPANS = 0.03
#: The time in which growth dies away, as a share of the span.
DAMPING_SPANS = 0.5


@dataclass(frozen=True)
class Recent:
    """A line in log value through the latest points, whose growth dies away.

    Parameters
    ----------
    last, level, growth : float
        The last date, log level and growth a year there.
    lasting : float
        Years: growth falls by the factor e in so many.
    covariance : ndarray
        Of level and growth.
    scatter : float
        Variance of one observation around the line.
    points : float
        Independent points behind it.
    """

    last: float
    level: float
    growth: float
    lasting: float
    covariance: Array
    scatter: float
    points: float

    def at(self, time: Array) -> Array:
        """Return the log level at later dates; at earlier ones growth is that of the last."""
        return self.level + self.growth * self.carried(time)

    def variance(self, time: Array) -> Array:
        """Return how uncertain the log level of the line is."""
        (level, both), (_, growth) = self.covariance
        ahead = self.carried(time)
        return level + 2 * both * ahead + growth * ahead**2

    def carried(self, time: Array) -> Array:
        """Return the years ahead, as growth that dies away counts them; those back as they are."""
        ahead = np.asarray(time, dtype=float) - self.last
        return np.asarray(np.where(ahead < 0, ahead, -self.lasting * np.expm1(-np.maximum(ahead, 0.0) / self.lasting)))


def recent(time: Array, y: Array) -> Recent:
    """Fit the line: weights halve so fast that five independent points are left (or four fifths of what there is)."""
    last, span = float(time[-1]), float(time[-1] - time[0])
    age, life = last - time, _HALF_LIFE_SPANS * span
    wanted_points = min(INDEPENDENT_POINTS, 0.8 * len(time))
    while True:
        weight = 0.5 ** (age / life)
        points = weight.sum() ** 2 / np.sum(weight**2)
        if points >= wanted_points:
            break
        life *= 1.15
    x = np.stack([np.ones_like(age), -age], axis=1)
    inverse = np.linalg.inv(x.T @ (weight[:, None] * x))
    line = inverse @ (x.T @ (weight * y))
    scatter = weight @ (y - x @ line) ** 2 / weight.sum() * points / max(points - 2, 0.5)
    covariance = scatter * inverse @ (x.T @ (weight[:, None] ** 2 * x)) @ inverse
    level, growth, scatter, points = (float(value) for value in (*line, scatter, points))
    lasting = DAMPING_SPANS * span
    return Recent(
        last=last, level=level, growth=growth, lasting=lasting, covariance=covariance, scatter=scatter, points=points
    )


class RecentLine(Shape):
    """A line through the latest points, whose growth falls by the factor e in half the span that was seen.

    Weighted least squares of log value: weights halve with age so fast that five independent points are left, or four
    fifths of what there is where that is less. Level, growth and the scatter of an observation are Student t, with two
    degrees of freedom fewer than points: so few tell the scatter badly. The level ends at a finite value. `trends/pool`
    takes this line for what the latest points tell.

    References
    ----------
    Gardner, E. S. & McKenzie, E. (1985), Forecasting trends in time series, Management Science 31(10), 1237-1246.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.arange(2000.0, 2010.0)
    >>> round(RecentLine().fit(t, 2.0 ** (t - 2000)).describe().facts["doubling_years"], 6)
    1.0
    """

    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Fit the line to the latest points."""
        time, y = log_series(time, value, frontier=frontier)
        line = recent(time, y)
        central = np.array([line.level, line.growth])
        values, vectors = np.linalg.eigh(line.covariance)
        mixed = Mixture(
            weights=np.ones(1),
            design=np.zeros(1, dtype=np.intp),
            rho=np.zeros(1),
            scale=np.array([line.scatter**0.5]),
            centre=central[None],
            # the symmetric root: eigenvectors have any sign, and a library on another processor gives another one
            root=((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)[None],
            dof=max(line.points - 2, 1.0),
        )
        along = np.array([0.0, 1.0])
        facts = growth_facts(line.growth, mixed.quantile(0.05, along), mixed.quantile(0.95, along))
        facts |= {"n": float(len(y)), "n_effective": line.points, "lasting_years": line.lasting}
        return FittedRecentLine(
            lines=mixed,
            breaks=None,
            central_line=central,
            central_break=None,
            residuals=y - line.at(time),
            origin=line.last,
            apart=float(np.ptp(time)) / max(len(time) - 1, 1),
            last=(line.last, float(y[-1])),
            summary=(
                f"{said_growth(facts, 'now ')}, as the latest {line.points:.1f} of {len(y)} points have it; "
                f"growth dies away over {line.lasting:.3g} years"
            ),
            assumptions=(
                "only the latest points tell, and growth falls by e in half the span that was seen: the level ends",
                "before the last observation the line goes straight back",
            ),
            facts=facts,
            line=line,
        )


@dataclass(frozen=True, kw_only=True)
class FittedRecentLine(FittedLine):
    """A line whose growth dies away after the last observation.

    Parameters
    ----------
    line : Recent
    """

    line: Recent

    def _straightened(self, time: Array) -> Array:
        return self.line.last + self.line.carried(time)

    def anchored(self, time: Array, record: Array) -> FittedShape:
        """Return the same from the last record on: it gains what the line gains."""
        return Anchored(shape=self, time=time, record=record)
