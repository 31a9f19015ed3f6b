"""Every solution of an equation in each world: where its sides change order, and where they meet without doing so.

The sides are compared at powers of ten. Between two of these there is a solution where they change order; where they do
not, but come nearer from both ends, the lowest point between says whether there are two, or one. What was found is
divided out before the next is looked for, so that solutions close to each other are told apart.

Where the sides can be equal only once, as the unknown stands in them once and every function around it gives each value
once, a change of order is all that is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.base.roots import find_roots
from forecast.formula import Binary, Call, Name, Node, Unary
from forecast.formula.tree import walk

#: Where a solution is looked for: powers of ten, of either sign.
DECADES = np.linspace(-15.0, 15.0, 121)
#: The slope at a trial is that to a place this share further on; at a solution it is that to twice this share.
SLOPE_SHARE = 1e-5
#: A place is a solution if the sides differ by less than this share of their size there, or of how much they differ at
#: the trials around it: a pole is none, nor is a jump.
CLOSE_RTOL = 1e-6
#: Where they do not change order, they must come so much nearer than they are at the trials.
MEET_RTOL = 1e-12
#: Two places are one solution if they differ by less than this share of their size.
SAME_RTOL = 1e-6
#: Sides that differ by less than this share of their size are equal but for rounding.
SOLUTION_RTOL = 1e-14
#: Below this, a number beside others of ordinary size is lost to rounding: sides that stay equal there say nothing.
MIN_FLAT = 1e-4
#: So many solutions are told, and so many places are looked at on each side of zero.
MAX_SOLUTIONS, MAX_SEARCH_PLACES = 12, 40
#: So often the sides may meet at one solution.
MAX_TIMES = 4
#: Functions that give each value once.
ONE_TO_ONE = frozenset({"exp", "log", "log10", "log2", "logistic", "logit", "sqrt"})
#: Steps towards a lowest point, each of which leaves this share of the stretch.
MAX_GOLDEN_STEPS, GOLDEN_SHARE = 44, (np.sqrt(5) - 1) / 2


def is_injective(node: Node, names: Collection[str]) -> bool:
    """Tell whether a formula takes each of its values once, as one of these names changes and nothing else does.

    Examples
    --------
    >>> from forecast.formula import parse_expression
    >>> [is_injective(parse_expression(text).root, "k") for text in ("log(a*k) - 2", "a", "k*k", "(k - a)**2")]
    [True, False, False, False]
    """
    match node:
        case Name(name):
            return name in names
        case Unary(_, operand):
            return is_injective(operand, names)
        case Binary("+" | "-" | "*" | "/", left, right):
            sides = [side for side in (left, right) if any(isinstance(n, Name) and n.name in names for n in walk(side))]
            return len(sides) == 1 and is_injective(sides[0], names)
        case Call(function, (argument,)):
            return function in ONE_TO_ONE and is_injective(argument, names)
    return False


def find_solutions(
    sides: Callable[[Array], tuple[Array, Array]], draws: int, *, once: bool = False
) -> tuple[Array, BoolArray]:
    """Return the solutions in each world, and in which worlds the sides stay equal over a stretch.

    Parameters
    ----------
    sides : callable
        From a number a world to the difference of the sides, and the size of the larger one.
    draws : int
    once : bool
        The sides are equal once at most: their difference `is_injective`.

    Returns
    -------
    found : ndarray, (solution, draw)
        In the order in which they were found, from 1e-15 up, then below zero; NaN after the last.
    flat : ndarray of bool, (draw,)

    Examples
    --------
    >>> found, flat = find_solutions(lambda k: ((k - 1) * (k - 2) * (k - 3), 6 + 0 * k), 1)
    >>> np.sort(found[:4, 0]).round(9), bool(flat[0])
    (array([ 1.,  2.,  3., nan]), False)
    """
    search = _Search(sides, draws, once)
    for sign in (1.0, -1.0):
        search.beside_zero(sign * 10.0**DECADES)
        if once and search.is_solved().all():
            return search.found, search.flat
    search.keep(np.zeros(draws), np.zeros(draws))
    return search.found, search.flat


class _Search:
    def __init__(self, sides: Callable[[Array], tuple[Array, Array]], draws: int, once: bool) -> None:
        self.sides, self.worlds, self.once = sides, np.arange(draws), once
        self.found: Array = np.full((MAX_SOLUTIONS, draws), np.nan)
        #: How often each is divided out: where the sides meet twice, as of ``(k - 1)**2``, twice.
        self.times: Array = np.ones((MAX_SOLUTIONS, draws))
        self.flat: BoolArray = np.zeros(draws, dtype=bool)

    def divided(self, place: Array, value: Array) -> Array:
        """Return a difference without the solutions that are known; NaN at one of them."""
        for known, times in zip(self.found, self.times, strict=True):
            unknown = np.isnan(known)
            if unknown.all():
                break
            apart = place - known
            apart[apart == 0] = np.nan
            apart[unknown] = 1.0
            value = value / (apart if (times == 1).all() else apart**times)
        return value

    def left(self, place: Array) -> Array:
        return self.divided(place, self.sides(place)[0])

    def keep(self, place: Array, scale: Array) -> BoolArray:
        """Keep what is a solution, as the sides differ by less than `scale` there; return what is now divided out."""
        apart, size = self.sides(place)
        new = np.isfinite(size) & (np.abs(apart) <= np.maximum(CLOSE_RTOL * size, scale))
        again = np.zeros_like(new)
        for known, times in zip(self.found, self.times, strict=True):
            if np.isnan(known).all():
                break
            same = np.abs(place - known) <= SAME_RTOL * np.maximum(np.abs(place), np.abs(known))
            hidden = ~np.isnan(known)
            for share in (0.5, 0.3):  # two places of one solution, between which rounding hides that the sides differ
                between, size = self.sides(place + share * (known - place))
                hidden &= np.abs(between) <= np.maximum(SOLUTION_RTOL * size, MEET_RTOL / CLOSE_RTOL * scale)
            same = new & (same | hidden)
            new &= ~same
            again |= same & (times < MAX_TIMES)
            times[same & (times < MAX_TIMES)] += 1
        number = (~np.isnan(self.found)).sum(axis=0)
        new &= number < MAX_SOLUTIONS
        self.found[number[new], self.worlds[new]] = place[new]
        return new | again

    def beside_zero(self, trials: Array) -> None:
        """Look for solutions between trials, which are all of one sign."""
        at = [(trials * (1 + n * SLOPE_SHARE))[:, None] for n in range(3)]
        values = [np.empty((len(trials), len(self.worlds))) for _ in at]
        zero = np.empty(values[0].shape, dtype=bool)
        for i in range(len(trials)):
            value, size = self.sides(at[0][i])
            values[0][i], zero[i] = value, np.isfinite(size) & (np.abs(value) <= SOLUTION_RTOL * size)
        # without slopes, the next place is needed where it stands for a pole
        rows = np.arange(len(trials)) if not self.once else np.flatnonzero(~np.isfinite(values[0]).all(axis=1))
        for place, each in zip(at[1:2] if self.once else at[1:], values[1:], strict=False):
            for i in rows.tolist():
                each[i] = self.sides(place[i])[0]
        flat = zero[1:] & zero[:-1]
        self.flat |= flat[np.abs(trials[:-1]) >= MIN_FLAT].any(axis=0)
        open_: BoolArray = ~flat
        for _ in range(MAX_SEARCH_PLACES):
            place, value, crossed, dips = self._changes(at, values)
            candidates = open_ & (crossed | dips)
            one = candidates.any(axis=0) & ~self.flat
            if not one.any():
                return
            first = candidates.argmax(axis=0)
            low, high = (np.where(one, place[first + n, self.worlds], np.nan) for n in range(2))
            ends = np.minimum(*(np.abs(each[first, self.worlds]) for each in (value[:-1], value[1:])))
            sign = np.sign(value[first, self.worlds])
            bend = np.where(one & ~crossed[first, self.worlds], self._lowest(low, high, sign), np.nan)
            dipping = ~np.isnan(bend)
            if dipping.any():
                below = dipping & (sign * self.left(bend) < 0)
                high = np.where(below, bend, np.where(dipping, np.nan, high))
                dipping &= ~below
            solution = np.where(dipping, bend, find_roots(self.left, low, high))
            share = np.where(dipping, MEET_RTOL, CLOSE_RTOL)
            near = np.abs(self.left(solution)) <= share * ends
            scale = np.where(near, np.abs(self.sides(solution)[0]), 0.0)
            new = self.keep(np.where(dipping & ~near, np.nan, solution), scale)
            meets = (self.found == solution) & dipping  # without a change of order, and so at least twice
            self.times[meets] = np.maximum(self.times[meets], 2)
            gone = one & ~new
            open_[first[gone], self.worlds[gone]] = False

    def is_solved(self) -> BoolArray:
        """Tell in which worlds a solution is there."""
        return np.asarray(~np.isnan(self.found[0]))

    def _changes(self, at: list[Array], values: list[Array]) -> tuple[Array, Array, BoolArray, BoolArray]:
        """Return the trials, the difference there, between which of them it changes sign, and between which it dips."""
        if self.once:
            pole = ~np.isfinite(values[0])
            place, value = np.where(pole, at[1], at[0]), np.where(pole, values[1], values[0])
            crossed = _crossed(value) & ~self.is_solved()
            return place, value, crossed, np.zeros_like(crossed)
        left = [np.array(list(map(self.divided, place, value))) for place, value in zip(at, values, strict=True)]
        known = ~np.isfinite(left[0])  # a known solution, or a pole: the next place stands for it
        place, value = np.where(known, at[1], at[0]), np.where(known, left[1], left[0])
        slope = np.where(known, left[2] - left[1], left[1] - left[0]) / (at[1] - at[0])
        return place, value, _crossed(value), _dip_mask(place, value, slope)

    def _lowest(self, low: Array, high: Array, sign: Array) -> Array:
        """Return where the difference, times its sign, is lowest between two places; or where it is below zero."""
        low, high = low.copy(), high.copy()
        inner = high - GOLDEN_SHARE * (high - low)
        outer = low + GOLDEN_SHARE * (high - low)
        one, other = sign * self.left(inner), sign * self.left(outer)
        for _ in range(MAX_GOLDEN_STEPS):
            if not ((np.minimum(one, other) > 0) & (high != low)).any():
                break
            nearer = one < other
            low, high = np.where(nearer, low, inner), np.where(nearer, outer, high)
            fresh = np.where(nearer, high - GOLDEN_SHARE * (high - low), low + GOLDEN_SHARE * (high - low))
            computed = sign * self.left(fresh)
            inner, outer = np.where(nearer, fresh, outer), np.where(nearer, inner, fresh)
            one, other = np.where(nearer, computed, other), np.where(nearer, one, computed)
        return np.asarray(np.where(one < other, inner, outer))


def _crossed(value: Array) -> BoolArray:
    """Return between which trials a difference changes sign."""
    finite = np.isfinite(value)
    return finite[:-1] & finite[1:] & (value[:-1] * value[1:] <= 0)


def _dip_mask(place: Array, value: Array, slope: Array) -> BoolArray:
    """Return between which trials a difference of one sign dips so that it may reach zero."""
    low, high, rise = value[:-1], value[1:], np.diff(place, axis=0)
    sign = np.sign(low)
    down, up = sign * slope[:-1] * np.sign(rise), sign * slope[1:] * np.sign(rise)
    # the tangents of both ends meet below what lies between, where that is bent one way
    with np.errstate(all="ignore"):
        meet = sign * low + down * (sign * (high - low) - up * np.abs(rise)) / (down - up)
    return np.isfinite(low) & np.isfinite(high) & (low * high > 0) & (down < 0) & (up > 0) & (meet <= 0)
