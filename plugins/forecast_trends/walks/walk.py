"""The random walk with drift and moving-average noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forecast.errors import UsageError, printable
from forecast.models import Anchored, Array, Description, FittedShape, Shape
from forecast_trends.points import (
    LARGEST,
    Path,
    checked_average,
    growth_facts,
    is_numeric_option,
    mirrored,
    path,
    said_growth,
)
from forecast_trends.walks.echo import Increments, drift_variance, path_noise, said_taken_back

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["POOLED_THETA", "FittedWalk", "RandomWalk"]

#: θ of Farmer & Lafond (2016), pooled over 53 technologies: the value at which the errors of their hindcasts grow with
#: the horizon as they did. (From memory of section 4 of the paper: unverified.)
POOLED_THETA = 0.63

#: The values of θ that are weighed where it is fitted.
_THETA_GRID = (-0.96, 0.96, 97)

#: Dates from which θ can be fitted: with fewer its intervals are too narrow.
_MIN_FIT_DATES = 10


class RandomWalk(Shape):
    """log y(t) = log y(t − 1) + μ + v(t) + θ·v(t − 1): a shock stays, and a year later θ times the shock follows.

    The forecast is y(t) + μ̂·τ with the drift measured from the first date to the last, and its error is Student t with
    the variance A* of Farmer & Lafond (`forecast_trends.walks.echo.forecast_variance`). The last observation is where
    it starts, so it forgets how the series came there, and its width grows with the horizon.

    Observations may be spaced unevenly: the process is followed in continuous time (`forecast_trends.walks.echo`).

    Parameters
    ----------
    theta : float or "fitted"
        Of the moving average, in (−1, 1). ``"fitted"`` takes it from the series, which needs ten dates: the draws
        differ in θ by their restricted likelihood. One short series hardly tells θ, so the default is the pooled value.
    lag : float
        Years after which a shock is echoed.
    average : float
        Average the log values of every so many years first: many things of one year scatter around its level, and a
        walk takes scatter for shocks.

    Raises
    ------
    UsageError
        For another θ, lag or average.

    References
    ----------
    Farmer, J. D. & Lafond, F. (2016), How predictable is technological progress?, Research Policy 45(3), 647-665.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.arange(2000.0, 2010.0)
    >>> round(RandomWalk().fit(t, 2.0 ** (t - 2000)).describe().facts["doubling_years"], 6)
    1.0
    """

    def __init__(self, theta: float | str = POOLED_THETA, lag: float = 1.0, average: float = 0.0) -> None:
        if theta != "fitted" and not (is_numeric_option(theta) and -1 < float(theta) < 1):
            raise UsageError(f"theta: expected a number between -1 and 1 or 'fitted', got '{printable(theta, 40)}'")
        if not (is_numeric_option(lag) and 0 < lag < float("inf")):
            raise UsageError(f"lag: expected a positive number of years, got '{printable(lag, 40)}'")
        self.theta, self.lag, self.average = theta, float(lag), checked_average(average)

    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Measure drift and noise."""
        fitted = self.theta == "fitted"
        what = "a random walk whose theta is fitted" if fitted else "a random walk"
        least = _MIN_FIT_DATES if fitted else 3
        seen = path(time, value, frontier=frontier, least=least, what=what, average=self.average)
        steps = Increments.of(seen.time, seen.y, self.lag, what=what)
        thetas, weights = np.linspace(*_THETA_GRID), np.ones(1)
        if not fitted:
            thetas = np.array([float(self.theta)])
        else:
            found = steps.likelihood(thetas)
            weights = np.exp(found - found.max())
            keep = weights > 1e-4
            thetas, weights = thetas[keep], weights[keep] / weights[keep].sum()
        scales, dofs = steps.scales(thetas)
        return FittedWalk(
            seen=seen,
            lag=self.lag,
            thetas=thetas,
            weights=weights,
            scales=scales,
            dofs=dofs,
            pooled=self.theta == POOLED_THETA,
            taken_back=steps.taken_back(),
        )


@dataclass(frozen=True, kw_only=True)
class FittedWalk(FittedShape):
    """A walk from the last observation.

    Parameters
    ----------
    seen : Path
    lag : float
    thetas, weights : ndarray
        Values of θ, and the share of draws that take each.
    scales, dofs : ndarray
        For each θ: σ, and its degrees of freedom.
    pooled : bool
        θ is the published pooled value.
    taken_back : float
        Correlation of a change with the one before it; see `Increments.taken_back`.
    """

    seen: Path
    lag: float
    thetas: Array
    weights: Array
    scales: Array
    dofs: Array
    pooled: bool
    taken_back: float

    @property
    def growth(self) -> float:
        """Drift in log value a year."""
        return float((self.seen.y[-1] - self.seen.y[0]) / self.seen.span)

    def _half(self, streams: Streams) -> tuple[Array, Array, Array]:
        """Return the error of the drift in units of σ, σ and θ, for every other draw."""
        rng, size = streams("parameters"), streams.draws // 2
        pick = rng.choice(len(self.thetas), size=size, p=self.weights)
        theta, dof = self.thetas[pick], self.dofs[pick]
        sigma = self.scales[pick] * np.sqrt(dof / rng.chisquare(dof))
        return rng.standard_normal(size) * np.sqrt(drift_variance(self.seen.span, self.lag, theta)), sigma, theta

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Draw growth, the noise of a year, and θ where it is fitted."""
        error, sigma, theta = self._half(streams)
        out = {
            "growth": self.growth - mirrored(sigma * error),
            "noise_per_year": mirrored(sigma * np.sqrt(1 + theta**2), 1.0),
        }
        if len(self.thetas) > 1:
            out["theta"] = mirrored(theta, 1.0)
        return out

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        """Growth."""
        return {"growth": "1/year"}

    def log_level(self, time: Array, parameters: Mapping[str, Array]) -> Array:
        """Return what growth adds beyond the observations; between them the path is known."""
        first, last = self.seen.time[0], self.seen.time[-1]
        away = np.maximum(np.asarray(time) - last, 0.0) + np.minimum(np.asarray(time) - first, 0.0)
        return np.asarray(away[:, None] * parameters["growth"])

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw paths; one observation has no scatter beyond the walk's own."""
        time = np.asarray(time, dtype=float)
        error, sigma, theta = self._half(streams)
        variance = drift_variance(self.seen.span, self.lag, theta)
        recent = Increments.of(self.seen.time[[0, -1]], self.seen.y[[0, -1]], self.lag).recent(self.lag)
        out = np.broadcast_to(self.seen.within(time)[:, None], (len(time), streams.draws)).copy()
        first, last = self.seen.time[0], self.seen.time[-1]
        # seen backwards, the walk obeys the same law
        for rows, ahead, start, sign, part in (
            (np.flatnonzero(time > last), time[time > last] - last, self.seen.y[-1], 1.0, "noise"),
            (
                np.flatnonzero(time < first)[::-1],
                (first - time[time < first])[::-1],
                self.seen.y[0],
                -1.0,
                "past noise",
            ),
        ):
            if len(rows):
                noise = path_noise(
                    ahead, streams(part), lag=self.lag, error=error, variance=variance, recent=recent, theta=theta
                )
                away = mirrored(sigma * (noise - ahead[:, None] * error))
                out[rows] = start + sign * (self.growth * ahead[:, None] + away)
        return np.exp(np.clip(out, -LARGEST, LARGEST))

    def central(self, time: Array) -> Array:
        """Return the observations and, beyond them, the drift."""
        time = np.asarray(time, dtype=float)
        beyond = np.maximum(time - self.seen.time[-1], 0.0) + np.minimum(time - self.seen.time[0], 0.0)
        return np.asarray(np.exp(np.clip(self.seen.within(time) + self.growth * beyond, -LARGEST, LARGEST)))

    def anchored(self, time: Array, record: Array) -> FittedShape:
        """Return the same from the last record on."""
        return Anchored(shape=self, time=time, record=record)

    def describe(self) -> Description:
        """Say drift, noise and θ."""
        from scipy.special import stdtrit

        best = int(np.argmax(self.weights))
        theta, scale, dof = float(self.thetas[best]), float(self.scales[best]), float(self.dofs[best])
        width = scale * float(drift_variance(self.seen.span, self.lag, self.thetas[best])) ** 0.5
        half = float(stdtrit(dof, 0.95)) * width
        growth, noise = self.growth, scale * (1 + theta**2) ** 0.5
        facts = growth_facts(growth, growth - half, growth + half) | {
            "n": float(self.seen.points),
            "n_effective": dof + 1,
            "degrees_of_freedom": dof,
            "noise_per_year": noise,
            "theta": theta,
        }
        how = "given"
        if len(self.thetas) > 1:
            order = np.cumsum(self.weights)
            low, high = (float(self.thetas[np.searchsorted(order, q)]) for q in (0.05, 0.95))
            facts |= {"theta_p05": low, "theta_p95": high}
            how = f"fitted, 90 %: {low:.2f} to {high:.2f}"
        elif self.pooled:
            how = "pooled over 53 technologies by Farmer & Lafond 2016"
        scatter = said_taken_back(self.taken_back, len(self.seen.time) - 1, "a walk")
        return Description(
            summary=(
                f"{said_growth(facts)} from {self.seen.points} points, as a random walk whose log value moves by "
                f"±{noise:.2g} a year around its drift (θ = {theta:.2f}, {how}){scatter}"
            ),
            assumptions=(
                "the walk starts at the last observation; shocks stay, and the drift has no limit",
                f"a shock is echoed θ-fold {self.lag:g} year{'' if self.lag == 1 else 's'} later, "
                "and uneven spacing is followed in continuous time",
                "between observations the level is straight in logs",
                *self.seen.notes,
            ),
            sources=("Farmer, J. D. & Lafond, F. (2016), Research Policy 45(3), 647-665",),
            facts=facts,
        )
