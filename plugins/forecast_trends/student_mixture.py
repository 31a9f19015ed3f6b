"""Mixtures of Student t distributions, one a date: what a fitted shape says of its log level, without drawing paths."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from forecast.base.arrays import Array
from forecast.streams import choice

__all__ = ["StudentMixture"]

#: The fractional part of the golden ratio: its multiples are spread evenly over the unit interval.
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, kw_only=True)
class StudentMixture:
    """Distributions at several dates, mixed of the same components with the same weights.

    Parameters
    ----------
    centres, widths : ndarray
        Location and scale of each component, (date, component).
    dof : float
        Degrees of freedom.
    weights : ndarray
        Of the components, (component,).

    Examples
    --------
    >>> import numpy as np
    >>> one = StudentMixture(centres=np.zeros((1, 1)), widths=np.ones((1, 1)), dof=30.0, weights=np.ones(1))
    >>> np.quantile(one.ordered(1024), [0.05, 0.5, 0.95]).round(1).tolist()
    [-1.7, 0.0, 1.7]
    """

    centres: Array
    widths: Array
    dof: float
    weights: Array

    def ordered(self, count: int) -> Array:
        """Return values that are spread evenly over the probability, in increasing order: (date, `count`).

        Component and quantile are the two coordinates of a lattice of the golden ratio, each evenly spread by itself
        and both together; the error of a quantile falls almost as 1 / `count`.
        """
        first, _ = _lattice(count)
        pick = choice(self.weights, first)
        values = self.centres[:, pick] + self.widths[:, pick] * _quantiles(self.dof, count)
        values.sort(axis=1)
        return values


@functools.cache
def _lattice(count: int) -> tuple[Array, Array]:
    """Return the points of a lattice in the open unit square."""
    number = np.arange(count)
    return (number + 0.5) / count, (number * _GOLDEN + 0.5) % 1.0


@functools.lru_cache(maxsize=64)
def _quantiles(dof: float, count: int) -> Array:
    """Return the quantiles of Student t at the second coordinates: a shape asks for them on every grid of dates."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(dof, _lattice(count)[1]))
