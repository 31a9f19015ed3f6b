"""How forecasts of curves have done, by how far they went and from how many points."""

from __future__ import annotations

from dataclasses import dataclass

from forecast.fit.pool.law_pool import FARTHEST_DECADES


@dataclass(frozen=True)
class CurveTrackRecord:
    """How forecasts from so many points, so far ahead, have done, each with numbers chosen without its own source.

    Parameters
    ----------
    points : (int, int)
        Of the curves before the forecast, from and to.
    decades : (float, float)
        How far beyond them the last target lay: more than the first, at most the second.
    curves, sources : int
        How many.
    error, last_value : float
        Mean over curves of the root mean square error of log y: of the forecast, and of the last value.
    coverage : float
        Mean over curves of the share of later points inside the 90 % intervals.
    """

    points: tuple[int, int]
    decades: tuple[float, float]
    curves: int
    sources: int
    error: float
    last_value: float
    coverage: float

    def sentence(self) -> str:
        """Say it."""
        low, high = self.points
        points = f"{low} to {high}" if high < MANY_POINTS else f"{low} or more"
        near, far = (f"{each:g}" for each in self.decades)
        reach = f"{near} to {far} decades" if self.decades[0] else f"up to {far} decades"
        errors = f"{100 * self.error:.2g} % (the last value: {100 * self.last_value:.2g} %)"
        return (
            f"{self.curves} curves of {self.sources} sources, from {points} points and {reach} ahead: off by {errors}, "
            f"and {100 * self.coverage:.0f} % of their later points lay in the 90 % intervals"
        )


#: More points than any curve has.
MANY_POINTS = 10**9
#: Measured by ``python -m tests.benchmarks curves``, and checked by ``tests/evaluation/test_curve_record.py``.
RECORD = tuple(
    CurveTrackRecord(*row)
    for row in (
        ((6, 8), (0.0, 0.45), 18, 1, 0.0157, 0.0573, 1.0),
        ((6, 8), (0.45, FARTHEST_DECADES), 76, 3, 0.102, 0.118, 0.905),
        ((9, 15), (0.0, 0.45), 24, 6, 0.11, 0.155, 0.866),
        ((9, 15), (0.45, FARTHEST_DECADES), 42, 2, 0.203, 0.231, 0.92),
        ((16, MANY_POINTS), (0.0, 0.45), 124, 9, 0.0399, 0.0594, 0.914),
        ((16, MANY_POINTS), (0.45, FARTHEST_DECADES), 36, 2, 0.113, 0.153, 0.915),
    )
)


def record_text(points: int, decades: float) -> str:
    """Return how forecasts from as many points, as far ahead, have done, or that there were none."""
    for each in RECORD:
        if each.points[0] <= points <= each.points[1] and each.decades[0] < decades <= each.decades[1]:
            return each.sentence()
    fewest = min(each.points[0] for each in RECORD)
    limits = [f"start from {fewest} points or more"] * (points < fewest)
    limits += [f"go {FARTHEST_DECADES:g} decades at most"] * (decades > FARTHEST_DECADES)
    asked = f"from {points} points and {decades:.2g} decades ahead"
    return f"no forecast {asked} is on record: those there are {' and '.join(limits)}"
