"""The changepoint: two lines in log value that meet at a break, if a break is really there."""

from __future__ import annotations

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.models import FittedShape, Shape
from forecast_trends.autoregression import NEGLIGIBLE, Mixture, Regressions
from forecast_trends.evidence import autocorrelation, first_of_each_record, log_series
from forecast_trends.lines.exponential import line_facts, spacing, straight
from forecast_trends.lines.line import FittedLine, design, regressed_lines
from forecast_trends.points import cached_fit, said_growth

__all__ = ["Changepoint"]

#: Dates that a break may have, how often they are drawn closer, and the weight below which a date is left out then.
_N_DATES, _REFINED, _UNLIKELY = 21, 6, 1e-3


class Changepoint(Shape):
    """log y = a + g·t + d·max(0, t − c): growth changes from g to g + d at c.

    Whether there is a break at all is tested: the largest F over all dates against its distribution on series without a
    break, simulated with the autocorrelation that the residuals of the straight line show. Without a significant
    break the straight line is returned and says so.

    Parameters
    ----------
    level : float
        Of the test.
    simulations : int
        Series without a break.
    segment : int
        Points (for a running maximum: records) that must lie on either side of a break.
    """

    def __init__(self, level: float = 0.05, simulations: int = 999, segment: int = 4) -> None:
        self.level, self.simulations, self.segment = level, simulations, segment

    @cached_fit
    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Search the break, test it, and weigh the dates it may have."""
        time, y = log_series(time, value, frontier=frontier)
        records = first_of_each_record(y) if frontier else np.ones(len(y), dtype=bool)
        dates = self._candidates(time, records)
        if not len(dates):
            return straight(time, y, frontier=frontier, note="; too short to look for a break")
        gains, statistic, p = self._test(time, y, dates, seed)
        best = float(dates[int(np.argmax(gains))])
        if p > self.level:
            return straight(time, y, frontier=frontier, note=f"; no break found (p = {p:.2f})")

        origin = float(time.mean())
        told = records if frontier else None
        grid, plain, found, weights = _weighed(time, y, origin, dates, best, told)
        each = weights.sum(axis=1)
        mixed = Mixture.of(found, plain, weights)
        which = int(np.argmin(found.squares))
        likely, central = float(grid[which]), plain[which]
        facts = line_facts(mixed, central, found, weights, told, len(y))
        order = np.argsort(-each / _apart(grid), kind="stable")
        around = grid[order[: int(np.sum(np.cumsum(each[order]) <= 0.9)) + 1]]
        before = float(central[1])
        facts |= {"break": likely, "break_p_value": p, "growth_before": before, "statistic": statistic}
        repeats = f", {records.sum():.0f} distinct records" if frontier else ""
        return FittedLine(
            lines=mixed,
            breaks=grid,
            central_line=central,
            central_break=likely,
            residuals=y - design(time, origin, likely) @ central,
            origin=origin,
            apart=spacing(time, found),
            last=(float(time[-1]), float(y[-1])),
            summary=(
                f"{_past(before)} until {likely:.1f} [{around.min():.1f}, {around.max():.1f}], "
                f"since then {_since(facts, before)} "
                f"from {len(y)} points{repeats} (effective n {facts['n_effective']:.1f}; p = {p:.3f} for no break)"
            ),
            assumptions=(
                "growth stays at the rate since the break: no further break, and no limit, is built in",
                "log value is a broken straight line in time, and its scatter follows itself from point to point",
            ),
            facts=facts,
        )

    def _candidates(self, time: Array, records: BoolArray) -> Array:
        """Return the dates that leave a segment of evidence on either side."""
        counted = time[records]
        inner = np.unique(time)
        before = np.searchsorted(counted, inner, side="right")
        after = len(counted) - before
        return inner[(before >= self.segment) & (after >= self.segment)]

    def _test(self, time: Array, y: Array, dates: Array, seed: int) -> tuple[Array, float, float]:
        """Return the fall of the residual sum of squares at each date, the largest F, and its p value."""
        n = len(y)
        base = np.stack([np.ones(n), time - time.mean()], axis=1)
        q, _ = np.linalg.qr(base)
        hinges = np.maximum(0.0, time[:, None] - dates[None, :])
        hinges -= q @ (q.T @ hinges)
        hinges /= np.linalg.norm(hinges, axis=0)

        def gains_of(series: Array) -> tuple[Array, Array]:
            rest = series - q @ (q.T @ series)
            return (hinges.T @ rest) ** 2, np.sum(rest**2, axis=0)

        gains, rss = gains_of(y[:, None])
        best = float(gains.max())
        statistic = best / max(float(rss[0]) - best, 1e-300) * (n - 3)
        if best <= 1e-20 * max(float(y @ y), 1e-300):
            return gains[:, 0], 0.0, 1.0  # an exact straight line
        # From the straight line: a real break inflates it, which costs power; from the broken line it is biased low,
        # and autocorrelated noise then raises a false alarm one time in four instead of one in thirteen (n = 40).
        rho = autocorrelation(y - q @ (q.T @ y))
        noise = np.random.default_rng(np.random.SeedSequence(seed)).standard_normal((n, self.simulations))
        for i in range(1, n):
            noise[i] = rho * noise[i - 1] + np.sqrt(1 - rho**2) * noise[i]
        simulated, total = gains_of(noise)
        top = simulated.max(axis=0)
        larger = int(np.sum(top / (total - top) * (n - 3) >= statistic))
        return gains[:, 0], statistic, (larger + 1) / (self.simulations + 1)


def _weighed(
    time: Array, y: Array, origin: float, dates: Array, best: float, records: BoolArray | None
) -> tuple[Array, Array, Regressions, Array]:
    """Return dates that the break may have, each with its lines and weights: any date is as likely before the data.

    A break may lie between two points, so dates are drawn closer around those that fit until they tell them apart. The
    prior on level and growths is flat on orthonormal columns, so no date is preferred for the size of its column.
    """
    low, high, rho = float(dates[0]), float(dates[-1]), None
    for _ in range(_REFINED):
        grid = np.union1d(np.linspace(low, high, _N_DATES), best)
        plain, found = regressed_lines(design(time, origin, grid), y, records, rho)
        each = np.exp(found.likelihood - found.likelihood.max()) * _apart(grid)[:, None]
        whole = each.sum(axis=1)
        best = float(grid[int(np.argmin(found.squares))])
        inside = np.flatnonzero(whole > _UNLIKELY * whole.max())
        if len(inside) > _N_DATES // 3 or len(grid) == 1:
            break
        rho = found.rho[each.sum(axis=0) > NEGLIGIBLE * each.sum()]
        low, high = float(grid[max(inside[0] - 1, 0)]), float(grid[min(inside[-1] + 1, len(grid) - 1)])
    return grid, plain, found, each / each.sum()


def _apart(grid: Array) -> Array:
    """Return the span of time that each date stands for; where there is but one, any."""
    return np.asarray(np.gradient(grid)) if len(grid) > 1 else np.ones(1)


def _past(growth: float) -> str:
    """Say the growth before a break."""
    if growth == 0:
        return "did not grow"
    return f"{'doubled' if growth > 0 else 'halved'} every {np.log(2) / abs(growth):.2f} years"


def _since(facts: dict[str, float], before: float) -> str:
    """Say the growth since a break: the verb only where it is another."""
    said = said_growth(facts)
    same = facts["growth_per_year"] * before > 0 and " every " in said
    return said.partition(" ")[2] if same else f"it {said}"
