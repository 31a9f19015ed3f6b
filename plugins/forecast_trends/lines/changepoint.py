"""The changepoint: two lines in log value that meet at a break, if a break is really there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forecast.models import FittedShape, Shape
from forecast_trends.evidence import autocorrelation, evidence, first_of_each_record, log_series
from forecast_trends.lines.exponential import growth_facts, straight
from forecast_trends.lines.line import FittedLine, solve
from forecast_trends.points import said_growth

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Changepoint"]


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

    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Search the break, test it, and weigh the dates it may have."""
        import numpy as np

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
        counted = evidence(solve(time, y, origin, best).residuals, records if frontier else None)
        straight_rss = float(np.sum(solve(time, y, origin, None).residuals ** 2))
        # a break that leaves no residual at all is known to rounding, not to infinity
        left = np.maximum(1 - gains / straight_rss, 1e-16)
        likelihood = -0.5 * counted.size * np.log(left)
        weights = np.exp(likelihood - likelihood.max())
        weights[weights < 1e-6] = 0.0
        order = np.argsort(-weights, kind="stable")
        order = order[weights[order] > 0]
        lines = tuple(solve(time, y, origin, float(dates[i])) for i in order)
        shares = weights[order] / weights[order].sum()

        facts = growth_facts(lines[0], counted, records if frontier else None)
        inside = np.cumsum(np.sort(shares)[::-1]) <= 0.9
        around = dates[order][: int(inside.sum()) + 1]
        before = float(lines[0].coefficients[1])
        facts |= {"break": best, "break_p_value": p, "growth_before": before, "statistic": statistic}
        repeats = f", {records.sum():.0f} distinct records" if frontier else ""
        return FittedLine(
            lines=lines,
            weights=shares,
            origin=origin,
            evidence=counted,
            summary=(
                f"{_past(before)} until {best:.1f} [{around.min():.1f}, {around.max():.1f}], "
                f"since then {_since(facts, before)} "
                f"from {len(y)} points{repeats} (effective n {counted.size:.1f}; p = {p:.3f} for no break)"
            ),
            assumptions=(
                "growth stays at the rate since the break: no further break, and no limit, is built in",
                "log value is a broken straight line in time with Student-t scatter",
            ),
            facts=facts,
        )

    def _candidates(self, time: Array, records: NDArray[np.bool_]) -> Array:
        """Return the dates that leave a segment of evidence on either side."""
        import numpy as np

        counted = time[records]
        inner = np.unique(time)
        before = np.searchsorted(counted, inner, side="right")
        after = len(counted) - before
        return inner[(before >= self.segment) & (after >= self.segment)]

    def _test(self, time: Array, y: Array, dates: Array, seed: int) -> tuple[Array, float, float]:
        """Return the fall of the residual sum of squares at each date, the largest F, and its p value."""
        import numpy as np

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
        rho = autocorrelation(solve(time, y, float(time.mean()), None).residuals)
        noise = np.random.default_rng(np.random.SeedSequence(seed)).standard_normal((n, self.simulations))
        for i in range(1, n):
            noise[i] = rho * noise[i - 1] + np.sqrt(1 - rho**2) * noise[i]
        simulated, total = gains_of(noise)
        top = simulated.max(axis=0)
        larger = int(np.sum(top / (total - top) * (n - 3) >= statistic))
        return gains[:, 0], statistic, (larger + 1) / (self.simulations + 1)


def _past(growth: float) -> str:
    """Say the growth before a break."""
    import numpy as np

    if growth == 0:
        return "did not grow"
    return f"{'doubled' if growth > 0 else 'halved'} every {np.log(2) / abs(growth):.2f} years"


def _since(facts: dict[str, float], before: float) -> str:
    """Say the growth since a break: the verb only where it is another."""
    said = said_growth(facts)
    same = facts["growth_per_year"] * before > 0 and " every " in said
    return said.partition(" ")[2] if same else f"it {said}"
