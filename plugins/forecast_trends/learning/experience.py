"""The experience curve: a value that falls, or rises, by so much with every doubling of what was ever made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from forecast.errors import FitError, UsageError, printable
from forecast.models import Anchored, Array, Description, FittedShape, Shape
from forecast_trends.learning.production import Production, totals
from forecast_trends.learning.sahal import Rivals
from forecast_trends.points import LARGEST, Path, is_numeric_option, mirrored, path
from forecast_trends.walks.echo import Increments, path_noise, said_taken_back

if TYPE_CHECKING:
    from forecast.streams import Streams


__all__ = ["POOLED_STEP_CORRELATION", "Experience", "FittedExperience", "error_variance"]

#: ρ of Lafond et al. (2018), pooled over their technologies. (From memory: unverified.) Eighteen costs of the
#: performance-curve database give 0.22 by restricted likelihood, 90 %: 0.09 to 0.34. The nineteenth, the acres for a
#: bushel of wheat, has 142 changes and −0.60, as the weather of a year is undone by the next: with it all give −0.13.
POOLED_STEP_CORRELATION = 0.19

#: Years after which a shock is echoed.
_LAG = 1.0

#: A factor from which on a summary gives factors and no percentages.
_FEW = 10.0


def error_variance(past: Array, ahead: Array, rho: float = 0.0) -> float:
    """Return the variance of a forecast's error where production is known, in units of the variance of v.

    The changes of log cost are −w·X + v(t) + ρ·v(t − 1) in yearly steps; ŵ is least squares through the origin.
    Without ρ it is τ + (Σ ahead)²/Σ past².

    Parameters
    ----------
    past, ahead : ndarray
        X, the yearly growth of experience in logs: of the years behind ŵ, and of those to come.
    rho : float

    References
    ----------
    Lafond, F. et al. (2018), How well do experience curves predict technological progress? A method for making
    distributional forecasts, Technological Forecasting and Social Change 128, 104-117.

    Examples
    --------
    >>> import numpy as np
    >>> round(error_variance(np.full(5, 0.1), np.full(3, 0.1)), 9)  # even growth: 3 + 3²/5, as of a random walk
    4.8
    """
    past, ahead = np.asarray(past, dtype=float), np.asarray(ahead, dtype=float)
    known = -past * ahead.sum() / (past @ past)
    # what every shock does to the error: by its own year, and a year later
    own = np.concatenate([[0.0], known, np.ones(len(ahead))])
    later = np.concatenate([known, np.ones(len(ahead)), [0.0]])
    return float(np.sum((own + rho * later) ** 2))


class Experience(Shape):
    """Δlog y = −w·Δlog Q + v(t) + ρ·v(t − 1): with every doubling of all that was ever made, Q, y falls by 1 − 2^−w.

    ŵ is least squares through the origin on the changes, each weighed by the years it took, and not a line through the
    levels: the errors of levels follow one another, and its interval would be far too narrow. The forecast starts at
    the last observation; its error is Student t, and its variance grows with the years ahead and with the square of
    the experience to come (`error_variance`). Uneven dates are followed in continuous time
    (`forecast_trends.walks.echo`).

    Experience to come is drawn too. Production is a random walk with drift of its own
    (`forecast_trends.learning.production.Production`) and adds up, so a cost falls more slowly when production stops
    growing.
    Noise of cost and of production are independent of one another.

    Parameters
    ----------
    cumulative : str
        The column, or formula over columns, of all that was made up to each date, in any unit.
    growth : float, optional
        How production goes on instead: growth a year in logs, from the last production seen; 0 goes on as now. Nothing
        else of production is then drawn. A distribution in a trend's options, in 1/year.
    rho : float
        Of the moving average, in (−1, 1).

    Raises
    ------
    UsageError
        For a column that is no text, a growth that is no number, or another ρ.

    References
    ----------
    Wright, T. P. (1936), Factors affecting the cost of airplanes, Journal of the Aeronautical Sciences 3(4), 122-128.
    Lafond, F., Bailey, A. G., Bakker, J. D., Rebois, D., Zadourian, R., McSharry, P. & Farmer, J. D. (2018), How well
    do experience curves predict technological progress? A method for making distributional forecasts, Technological
    Forecasting and Social Change 128, 104-117.

    Examples
    --------
    >>> import numpy as np
    >>> made = np.cumsum(1.3 ** np.arange(12))
    >>> fitted = Experience().fit(np.arange(2000.0, 2012.0), 50 * made**-0.32, columns={"cumulative": made})
    >>> round(fitted.describe().facts["w"], 6)
    0.32
    """

    uncertain: Mapping[str, str] = {"growth": "1/year"}

    def __init__(
        self, cumulative: str = "cumulative", growth: float | None = None, rho: float = POOLED_STEP_CORRELATION
    ) -> None:
        if not isinstance(cumulative, str) or not cumulative:
            raise UsageError(
                "cumulative: expected the column of all that was made up to each date, or a formula over columns, got "
                f"'{printable(cumulative, 40)}'"
            )
        if growth is not None and not (is_numeric_option(growth) and math.isfinite(growth)):
            raise UsageError(f"growth: expected a number a year in logs, such as 0.1, got '{printable(growth, 40)}'")
        if not (is_numeric_option(rho) and -1 < rho < 1):
            raise UsageError(f"rho: expected a number between -1 and 1, got '{printable(rho, 40)}'")
        self.columns = {"cumulative": cumulative}
        self.growth, self.rho = None if growth is None else float(growth), float(rho)

    def fit(
        self,
        time: Array,
        value: Array,
        *,
        frontier: bool = False,
        seed: int = 0,
        columns: Mapping[str, Array] | None = None,
    ) -> FittedShape:
        """Measure w, its noise, and the growth of production."""
        if columns is None or "cumulative" not in columns:
            raise FitError("an experience curve needs what was made up to each date: columns={'cumulative': ...}")
        # growth and its noise take two numbers from the production between dates, w and its noise from the changes
        least = 4 if self.growth is None else 3
        seen = path(time, value, frontier=frontier, least=least, what="an experience curve")
        result = totals(time, columns["cumulative"], seen.time)
        production = Production.of(seen.time, result)
        steps = Increments.of(seen.time, seen.y, _LAG, along=result, what="an experience curve")
        scales, dofs = steps.scales(np.array([self.rho]))
        return FittedExperience(
            seen=seen,
            made=result,
            steps=steps,
            rho=self.rho,
            scale=float(scales[0]),
            dof=float(dofs[0]),
            production=production if self.growth is not None else production.known(),
            growth=None if self.growth is None else np.array([self.growth]),
        )


@dataclass(frozen=True, kw_only=True)
class FittedExperience(FittedShape):
    """An experience curve from the last observation.

    Parameters
    ----------
    seen : Path
    made : ndarray
        Log of all that was made up to each of its dates.
    steps : Increments
        Of the value, along `made`.
    rho, scale, dof : float
        ρ, the standard deviation of v, and its degrees of freedom.
    production : Production
    growth : ndarray, optional
        Growth of production to come, where it was stated: one number, or one a draw.
    """

    seen: Path
    made: Array
    steps: Increments
    rho: float
    scale: float
    dof: float
    production: Production
    growth: Array | None

    @property
    def w(self) -> float:
        """Wright's exponent: positive where the value falls."""
        return -self.steps.slope

    def given(self, options: Mapping[str, Array]) -> FittedShape:
        """Return the curve with draws of the growth of production."""
        return replace(self, growth=options["growth"])

    def _half(self, streams: Streams) -> tuple[Array, Array]:
        """Return the error of the slope in units of σ, and σ, for every other draw."""
        rng, size = streams("parameters"), streams.draws // 2
        sigma = self.scale * np.sqrt(self.dof / rng.chisquare(self.dof, size))
        return rng.standard_normal(size) * self.steps.variance(self.rho) ** 0.5, sigma

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Draw w, the noise of a year, and the growth of production where it is not stated.

        The learning rate follows from w alone, and is no parameter of its own.
        """
        error, sigma = self._half(streams)
        w = self.w + mirrored(sigma * error, -1.0)
        drawn = {"w": w, "noise_per_year": mirrored(sigma * (1 + self.rho**2) ** 0.5, 1.0)}
        if self.growth is None:
            drawn["growth_of_production"] = self.production.drawn_growth(streams)
        return drawn

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw paths; one observation has no scatter beyond the curve's own."""
        time = np.asarray(time, dtype=float)
        error, sigma = self._half(streams)
        slope, variance = -self.w - mirrored(sigma * error), self.steps.variance(self.rho)
        out = np.broadcast_to(self.seen.within(time)[:, None], (len(time), streams.draws)).copy()
        shocks = partial(path_noise, lag=_LAG, error=error, variance=variance, theta=self.rho)
        after, before = np.flatnonzero(time > self.seen.time[-1]), np.flatnonzero(time < self.seen.time[0])[::-1]
        if len(after):
            ahead = time[after] - self.seen.time[-1]
            noise = shocks(ahead, streams("noise"), recent=self.steps.recent(_LAG))
            out[after] = self.seen.y[-1] + slope * self._to_come(ahead, streams) + mirrored(sigma * noise)
        if len(before):
            # seen backwards the curve obeys the same law; what was made before is not known
            back = self.seen.time[0] - time[before]
            noise = shocks(back, streams("past noise"), recent=self._reversed().recent(_LAG))
            out[before] = self.seen.y[0] - slope * self._pace * back[:, None] - mirrored(sigma * noise)
        return np.exp(np.clip(out, -LARGEST, LARGEST))

    @property
    def _pace(self) -> float:
        """Growth a year of all that was made, in logs, over the series."""
        return float(self.made[-1] - self.made[0]) / self.seen.span

    def _reversed(self) -> Increments:
        steps = self.steps
        turned = {"step": steps.step[::-1], "drive": steps.drive[::-1], "length": steps.length[::-1]}
        return replace(steps, **turned, shared=steps.shared[::-1, ::-1])

    def _to_come(self, ahead: Array, streams: Streams) -> Array:
        """Return the growth of experience in logs, (time, draw)."""
        return (
            self.production.drawn(ahead, streams) if self.growth is None else self.production.steady(ahead, self.growth)
        )

    def central(self, time: Array) -> Array:
        """Return the observations and, beyond them, the curve without noise, production growing steadily."""
        time = np.asarray(time, dtype=float)
        out = self.seen.within(time).copy()
        after, before = time > self.seen.time[-1], time < self.seen.time[0]
        growth = self.production.growth if self.growth is None else float(np.median(self.growth))
        order = np.argsort(time[after], kind="stable")
        ahead = np.empty(int(after.sum()))
        ahead[order] = self.production.steady(time[after][order] - self.seen.time[-1], np.array([growth]))[:, 0]
        out[after] -= self.w * ahead
        out[before] += self.w * self._pace * (self.seen.time[0] - time[before])
        return np.asarray(np.exp(np.clip(out, -LARGEST, LARGEST)))

    def anchored(self, time: Array, record: Array) -> FittedShape:
        """Return the same from the last record on."""
        return Anchored(shape=self, time=time, record=record)

    def describe(self) -> Description:
        """Say the learning rate, the growth of production, and whether experience can be told from time."""
        from scipy.special import stdtrit

        rivals = Rivals.of(self.steps, self.rho)
        half = float(stdtrit(self.dof, 0.95)) * self.scale * self.steps.variance(self.rho) ** 0.5
        low, high = self.w - half, self.w + half
        noise = self.scale * (1 + self.rho**2) ** 0.5
        facts = {
            "n": float(self.seen.points),
            "n_effective": self.dof + 1,
            "degrees_of_freedom": self.dof,
            "w": self.w,
            "w_p05": low,
            "w_p95": high,
            "learning_rate": _learnt(self.w),
            "learning_rate_p05": _learnt(low),
            "learning_rate_p95": _learnt(high),
            "noise_per_year": noise,
            "rho": self.rho,
            "growth_of_experience": rivals.pace,
            "spread_of_experience": rivals.spread,
            **self._production_facts(),
        }
        if not math.isnan(rivals.time):
            facts |= {"p_experience": rivals.experience, "p_time": rivals.time}
        return Description(
            summary=(
                f"{_said(self.w, low, high)} with every doubling of all that was ever made (w = {self.w:.2f}), and "
                f"{self._said_production(facts)}; from {self.seen.points} points, whose log value moves by "
                f"±{noise:.2g} a year around the curve{rivals.said()}"
                f"{said_taken_back(self.steps.taken_back(), len(self.steps.step), 'the curve')}"
            ),
            assumptions=(
                "the curve starts at the last observation; shocks stay, and learning has no limit",
                f"a shock is echoed {self.rho:g}-fold a year later "
                + ("(pooled by Lafond et al. 2018), " if self.rho == POOLED_STEP_CORRELATION else "(given), ")
                + "and uneven spacing is followed in continuous time",
                "noise of the value and of production are independent",
                "between observations the level is straight in logs; before the first, all that was made is taken to "
                "have grown as it did on average over the series",
                *self.seen.notes,
            ),
            sources=(
                "Wright, T. P. (1936), Journal of the Aeronautical Sciences 3(4), 122-128",
                "Lafond, F. et al. (2018), Technological Forecasting and Social Change 128, 104-117",
            ),
            facts=facts,
        )

    def _production_facts(self) -> dict[str, float]:
        """Return how production goes on, in logs a year."""
        if self.growth is not None:
            return {"growth_of_production": float(np.median(self.growth))}
        low, high = self.production.interval
        return {
            "growth_of_production": self.production.growth,
            "growth_of_production_p05": low,
            "growth_of_production_p95": high,
            "noise_of_production": self.production.noise,
        }

    def _said_production(self, facts: Mapping[str, float]) -> str:
        middle, *ends = (
            facts[f"growth_of_production{end}"] for end in ("", "_p05", "_p95") if f"growth_of_production{end}" in facts
        )
        stated = "is said to grow" if ends == [] else "grows"
        if max(map(abs, (middle, *ends))) > math.log(_FEW):  # no percentage says this
            said, *wide = (f"{g:.4g}" for g in (middle, *ends))
            said = f"production {stated} by {said} a year in logs"
        else:
            said, *wide = (_percent(math.expm1(g)) for g in (middle, *ends))
            said = f"production {stated} by {said} a year"
        return said + (f" [90 %: {wide[0]}, {wide[1]}]" if wide else "")


def _learnt(w: float) -> float:
    """Return 1 − 2^−w."""
    return -math.expm1(-math.log(2) * max(w, -LARGEST))


def _said(w: float, low: float, high: float) -> str:
    """Say by how much a value falls, or rises: "falls by 20 % [90 %: 15 %, 25 %]"; by which factor, where that is far.

    A fall of -38 % to one of 104-fold is no interval to be read: from a tenth to ten times it is said in per cent.
    """
    if max(abs(low), abs(high)) > math.log2(_FEW):
        least, middle, most = (f"{2 ** -min(max(x, -1000.0), 1000.0):.3g}" for x in (high, w, low))
        return f"is multiplied by {middle} [90 %: {least}, {most}]"
    if w >= 0:
        return f"falls by {_percent(_learnt(w), 0)} [90 %: {_percent(_learnt(low), 0)}, {_percent(_learnt(high), 0)}]"
    rises = [_percent(-_learnt(x), 0) for x in (w, high, low)]
    return f"rises by {rises[0]} [90 %: {rises[1]}, {rises[2]}]"


def _percent(share: float, digits: int = 1) -> str:
    """Return a share in per cent; what rounds to nothing has no sign."""
    return f"{round(100 * share, digits) + 0.0:.{digits}f} %"
