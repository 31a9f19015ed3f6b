"""Every number that curves chose for `forecast.extrapolate`: what it does, on which data and split, what it is worth.

A curve's forecast has structure, which was designed, and numbers, which were chosen. The numbers stand here and nowhere
else. They were chosen on the development halves of two collections of curves, 323 in all, by leaving one source out at
a time, and by the mean logarithmic score of the curves; ``python -m tests.benchmarks curves``
chooses anew.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The numbers of a curve's forecast.

    Parameters
    ----------
    recency : float
        Points are weighted by x to this power when laws are weighed: what comes next looks like what was last.
    worth, most : float
        What one point is worth beside independent ones, and all of them together at most: residuals of a curve follow
        each other, and no law is true, so that a likelihood of all points would be far too sure.
    carried : float
        The share of the last residual that goes on.
    pool, last_value, drift : float
        The weights of the three forecasts that are combined, before a curve's own past is looked at.
    trust : float
        A forecast's weight falls with the mean squared error of its hindcasts, to this power.
    stretch : float
        The share of the points, the last ones, that the drift is a line through.
    shrinkage : float
        How many times its sampling variance is taken off the square of the slope of the drift; 1 is unbiased.
    hindcasts : int
        From how many earlier points the forecasts are tried.
    freedom : float
        Degrees of freedom of Student's t, the distribution of an observation: a scale mixture of normal ones, whose
        tails are what a jump makes of them.
    """

    recency: float = 2.0
    worth: float = 0.3
    most: float = 5.0
    carried: float = 1.0
    pool: float = 5.0
    last_value: float = 2.0
    drift: float = 3.0
    trust: float = 0.4
    stretch: float = 0.6
    shrinkage: float = 1.0
    hindcasts: int = 5
    freedom: float = 2.75


TUNING = Tuning()
#: No curve on record was forecast further than this; nearer, distance made no interval hold less.
FARTHEST_DECADES = 0.76
