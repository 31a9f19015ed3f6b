"""Coding by people and machines: a CES over a continuum of tasks with the best allocation of both.

After the public ancestor of the AI Futures Model, brendanhalstead/ai-progress-rates@786c665 (no licence: rebuilt from
its equations, no code copied). Tasks lie from 0 to 1 by the progress that machines need to do them, which rises in a
straight line through two anchors. Beyond that need, what a chip does of a task grows by so many orders of magnitude an
order of progress. Weights are even, so that with x(i) done of task i there is (∫ x(i)**rho di)**(1/rho).
"""

from __future__ import annotations

import numpy as np

from forecast.base.arrays import Array

__all__ = ["labour"]

#: The source's grid ends so far before the last task, which people alone do.
TAIL = 1e-6
#: What of the tasks is automated at present lies so far within 0 and 1, as in the source.
EDGE = 1e-9
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
    automated = np.minimum(np.maximum(given["automated"], EDGE), 1 - EDGE)
    with np.errstate(all="ignore"):
        # need of task i, relative to progress: first + steep*i, in powers of e
        steep = (given["then"] - given["now"]) / (1 - automated) * np.log(10)
        first = (given["now"] - given["progress"]) * np.log(10) - automated * steep
        can = np.minimum(np.maximum(-first / steep, 0), 1 - TAIL)
        some = can > 0
        if not np.count_nonzero(some):
            return np.array(people)
        pull = -rho / (1 - rho) * slope * steep  # chips go to the harder tasks, by exp(pull*i)
        supply = np.log(given["rate"] * given["chips"] / people) - slope * first  # what all chips do of task 0
        drift = slope * steep / (1 - rho)
        last, spread = _last(supply, pull, drift, can)
        by_people = (1 - rho) * np.log1p(-last)
        by_chips = rho * supply + (1 - rho) * (np.log(last) + spread)
        # the logarithm of the sum of both, four times as fast as logaddexp
        both = np.maximum(by_people, by_chips) + np.log1p(np.exp(-np.abs(by_people - by_chips)))
        done = people * np.exp(both / rho)
    return np.where(some, done, people)


def _last(supply: Array, pull: Array, drift: Array, can: Array) -> tuple[Array, Array]:
    """Return the last task that chips do, and `_spread` of it by their pull.

    That is the task on which a chip adds as much as the people whom it frees, or the last one that machines `can` do.
    With b(i) what chips do of the tasks up to i, log b(i) + drift*i - log(1 - i) = supply.
    """
    spread, edge = _spread(pull * can)[0], np.log(can / (1 - can))
    within = np.flatnonzero((can > 0) & ((supply < edge) | (edge + spread + drift * can > supply)))
    if not len(within):
        return can, spread
    last = can.copy()
    solved = _solved(*(np.take(each, within) for each in (supply, pull, drift, edge)))
    last.flat[within] = np.minimum(solved, np.take(can, within))
    spread.flat[within] = _spread(np.take(pull, within) * last.flat[within])[0]
    return last, spread


def _solved(supply: Array, pull: Array, drift: Array, edge: Array) -> Array:
    """Return the task where the equation of `_last` holds, below the one at log(i/(1 - i)) = `edge`.

    In z = log(i/(1 - i)) its left side rises at least as fast as z. A world's steps rest on that world alone, which
    leaves as it is solved: its result is the same beside any others.
    """
    found, place = np.empty(len(supply)), np.arange(len(supply))
    low, high = supply - _spread(pull)[0] - drift, supply
    z, before, close = np.minimum(supply, edge), np.full(len(supply), np.inf), 1e-9 * (1 + np.abs(supply))
    for _ in range(STEPS):
        i = 1 / (1 + np.exp(-z))
        spread, slope = _spread(pull * i)
        off = z + spread + drift * i - supply
        under = off < 0
        low, high = np.where(under, z, low), np.where(under, high, z)
        step = z - off / (1 + (pull * slope + drift) * i * (1 - i))
        away = np.abs(off)
        near = (step >= low) & (step <= high) & ((away < before / 2) | (away < close))
        if np.count_nonzero(near) < len(near):
            step = np.where(near, step, (low + high) / 2)
        left = np.abs(step - z) > 1e-8 * (1 + np.abs(z))  # convergence is quadratic: the next step is rounding
        found[place] = z = step
        before = away
        if not np.count_nonzero(left):
            break
        if np.count_nonzero(left) < len(left):
            place = place[left]
            z, low, high, before, close, supply, pull, drift = (
                each[left] for each in (z, low, high, before, close, supply, pull, drift)
            )
    return 1 / (1 + np.exp(-found))


def _spread(x: Array) -> tuple[Array, Array]:
    """Return log((exp(x) - 1)/x), of x >= 0, and its derivative, 1/(1 - exp(-x)) - 1/x."""
    lost, size, small = np.expm1(-x), np.maximum(x, 1e-300), x < 1e-5
    spread, slope = x + np.log(-lost / size), -1 / lost - 1 / size
    if not np.count_nonzero(small):
        return spread, slope
    return np.where(small, x / 2, spread), np.where(small, 0.5 + x / 12, slope)
