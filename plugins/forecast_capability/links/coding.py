"""Coding by people and machines: a CES over a continuum of tasks with the best allocation of both.

After the public ancestor of the AI Futures Model, brendanhalstead/ai-progress-rates@786c665 (no licence: rebuilt from
its equations, no code copied). Tasks lie from 0 to 1 by the progress that machines need to do them, which rises in a
straight line through two anchors. Beyond that need, what a chip does of a task grows by so many orders of magnitude an
order of progress. Weights are even, so that with x(i) done of task i there is (∫ x(i)**rho di)**(1/rho).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


__all__ = ["labour"]

#: The source's grid ends so far before the last task, which people alone do.
TAIL = 1e-6
#: What of the tasks is automated at present lies so far within 0 and 1, as in the source.
EDGE = 1e-9
#: Worlds that are solved leave where no more than this share is not.
SOLVED = 0.75
#: Steps of Newton's method at most; where one does not halve what is left, the bracket is halved.
STEPS = 100


def labour(**given: Array) -> Array:
    """Return coding labour, in people, with people and chips where they add most.

    Parameters
    ----------
    **given : ndarray
        ``people`` and ``chips`` (H100 equivalents); ``progress``, and the progress ``now`` and ``then`` of the anchors,
        in orders of magnitude of effective compute; the share of tasks ``automated`` now (all are then); what a chip
        does of a task at its need, ``rate`` (people), and by how many orders of magnitude an order of progress it
        rises, ``slope``; and ``rho`` < 0: each of one shape.

    Examples
    --------
    Where machines can do nothing yet, there is what people do:

    >>> import numpy as np
    >>> case = {"people": 9, "chips": 100, "progress": 1, "now": 4, "then": 8, "automated": 0.2, "rate": 0.05}
    >>> labour(**{name: np.array([[float(value)]]) for name, value in (case | {"slope": 2, "rho": -2}).items()})
    array([[9.]])
    """
    people, slope, rho = given["people"], given["slope"], given["rho"]
    automated = np.clip(given["automated"], EDGE, 1 - EDGE)
    with np.errstate(all="ignore"):
        # need of task i, relative to progress: first + steep*i, in powers of e
        steep = (given["then"] - given["now"]) / (1 - automated) * np.log(10)
        first = (given["now"] - given["progress"]) * np.log(10) - automated * steep
        can = np.clip(-first / steep, 0, 1 - TAIL)
        if not (can > 0).any():
            return np.array(people)
        pull = -rho / (1 - rho) * slope * steep  # chips go to the harder tasks, by exp(pull*i)
        supply = np.log(given["rate"] * given["chips"] / people) - slope * first  # what all chips do of task 0
        drift = slope * steep / (1 - rho)
        last = _last(*np.broadcast_arrays(supply, pull, drift, can))
        by_people = (1 - rho) * np.log1p(-last)
        by_chips = rho * supply + (1 - rho) * (np.log(last) + _spread(pull * last)[0])
        done = people * np.exp(np.logaddexp(by_people, by_chips) / rho)
    return np.asarray(np.where(can > 0, done, people))


def _last(supply: Array, pull: Array, drift: Array, can: Array) -> Array:
    """Return the task on which a chip adds as much as the people whom it frees, or the last one that machines `can` do.

    With b(i) what chips do of the tasks up to i, log b(i) + drift*i - log(1 - i) = supply; in z = log(i/(1 - i)) the
    left side rises at least as fast as z. Worlds leave as they are solved.
    """
    last, edge = can.copy(), np.log(can / (1 - can))
    z = np.minimum(supply, edge)
    below = (can > 0) & ((z < edge) | (z + _spread(pull * can)[0] + drift * can > supply))
    place = np.flatnonzero(below)
    z, supply, pull, drift = (each[below] for each in (z, supply, pull, drift))
    high, low, before = supply, supply - _spread(pull)[0] - drift, np.full(len(z), np.inf)
    close = 1e-9 * (1 + np.abs(supply))
    for _ in range(STEPS):
        i = 1 / (1 + np.exp(-z))
        spread, slope_there = _spread(pull * i)
        off = z + spread + drift * i - supply
        under = off < 0
        low, high = np.where(under, z, low), np.where(under, high, z)
        rise = 1 + (pull * slope_there + drift) * i * (1 - i)
        step = z - off / rise
        away = np.abs(off)
        near = (away < before / 2) | (away < close)
        step = np.where((step >= low) & (step <= high) & near, step, (low + high) / 2)
        moved = np.abs(step - z) > 1e-8 * (1 + np.abs(z))  # convergence is quadratic: the next step is rounding
        z, before, left = step, away, np.count_nonzero(moved)
        if left <= SOLVED * len(z):
            done = ~moved
            last.flat[place[done]] = np.minimum(1 / (1 + np.exp(-z[done])), last.flat[place[done]])
            place, z, low, high, before, close, supply, pull, drift = (
                each[moved] for each in (place, z, low, high, before, close, supply, pull, drift)
            )
        if not left:
            break
    last.flat[place] = np.minimum(1 / (1 + np.exp(-z)), last.flat[place])
    return last


def _spread(x: Array) -> tuple[Array, Array]:
    """Return log((exp(x) - 1)/x), of x >= 0, and its derivative, 1/(1 - exp(-x)) - 1/x."""
    lost, size, small = np.expm1(-x), np.maximum(x, 1e-300), x < 1e-5
    spread, slope = x + np.log(-lost / size), -1 / lost - 1 / size
    if not small.any():
        return spread, slope
    return np.where(small, x / 2, spread), np.where(small, 0.5 + x / 12, slope)
