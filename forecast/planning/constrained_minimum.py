"""The best point of one surface along a level line of another, for many surfaces at once.

Both questions about a budget are this one: the lowest loss along the splits that cost `compute`, and the lowest cost
along the splits that reach a loss. Everything is in logarithms of the two variables, (rows, places); a row is one draw
of the parameters.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from forecast.base import budgets
from forecast.base.arrays import Array
from forecast.base.roots import find_roots
from forecast.errors import UsageError
from forecast.formula import Formula
from forecast.laws import Law
from forecast.laws.program import FormulaProgram

Index = NDArray[np.intp]

#: The sizes that are looked at: powers of ten, down and up.
MAX_DECADES = 45.0
#: First step of the grid in which a minimum or a change of side is looked for.
GRID_STEP_DECADES = 0.25
#: Values that differ by less than this share are level.
LEVEL_RTOL = 1e-12
#: Rows that are worked on together.
ROWS_PER_CHUNK = 512
#: Step of a numeric derivative, of a logarithm.
DERIVATIVE_STEP = 1e-5


class SearchEnd(enum.IntEnum):
    """How the search of a row ended."""

    INSIDE = 0
    FLAT = 1
    LARGE = 2
    SMALL = 3
    NO_LINE = 4
    NO_VALUE = 5


class Surface(Protocol):
    """A function of the logarithms of two variables."""

    def value(self, u: Array, v: Array) -> Array:
        """Return the value, nan where there is none."""

    def slopes(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Return the derivatives by `u` and by `v`."""

    def take(self, rows: Index) -> Surface:
        """Return some of the rows."""


@dataclass(frozen=True)
class FormulaSurface:
    """A formula over two names, the same in every row."""

    formula: Formula
    names: tuple[str, str]

    def _at(self, u: Array, v: Array) -> dict[str, Any]:
        with np.errstate(over="ignore"):
            return dict(zip(self.names, (np.exp(u), np.exp(v)), strict=True))

    def value(self, u: Array, v: Array) -> Array:
        """Return the value."""
        found = self.formula.evaluate(self._at(u, v))
        return np.broadcast_to(np.asarray(found, dtype=float), np.broadcast_shapes(u.shape, v.shape))

    def slopes(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Return the derivatives by `u` and by `v`."""
        at = self._at(u, v)
        found = _formula_slopes(self.formula, at, self.names)
        with np.errstate(all="ignore"):
            return found[0] * at[self.names[0]], found[1] * at[self.names[1]]

    def take(self, rows: Index) -> FormulaSurface:
        """Return itself."""
        return self


@dataclass(frozen=True)
class LawSurface:
    """A law of two variables with parameters of shape (rows, 1)."""

    law: Law
    parameters: Mapping[str, Array]

    @classmethod
    def of(cls, law: Law, parameters: Mapping[str, Any]) -> LawSurface:
        """Return the surface of a law; the parameters are numbers or draws."""
        return cls(law, {n: np.atleast_1d(np.asarray(p, dtype=float))[:, None] for n, p in parameters.items()})

    @property
    def rows(self) -> int:
        """How many draws there are."""
        return max(int(p.shape[0]) for p in self.parameters.values())

    def _at(self, u: Array, v: Array) -> dict[str, Any]:
        with np.errstate(over="ignore"):
            return dict(zip(self.law.variables, (np.exp(u), np.exp(v)), strict=True))

    def value(self, u: Array, v: Array) -> Array:
        """Return the value."""
        return self.law.value(self.parameters, **self._at(u, v))

    def slopes(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Return the derivatives by `u` and by `v`: exact for a law with a text form, else by differences."""
        formula = _text_form(self.law)
        with np.errstate(all="ignore"):
            if formula is None:
                ahead_u, behind_u = self.value(u + DERIVATIVE_STEP, v), self.value(u - DERIVATIVE_STEP, v)
                ahead_v, behind_v = self.value(u, v + DERIVATIVE_STEP), self.value(u, v - DERIVATIVE_STEP)
                return (ahead_u - behind_u) / (2 * DERIVATIVE_STEP), (ahead_v - behind_v) / (2 * DERIVATIVE_STEP)
            at = self._at(u, v)
            names = tuple(self.law.variables)
            found = _formula_slopes(formula, {**self.parameters, **at}, names)
            return found[0] * at[names[0]], found[1] * at[names[1]]

    def take(self, rows: Index) -> LawSurface:
        """Return the draws of some rows."""
        return LawSurface(self.law, {n: p if p.shape[0] == 1 else p[rows] for n, p in self.parameters.items()})


@functools.lru_cache(maxsize=64)
def _formula_program(formula: Formula, names: tuple[str, ...]) -> FormulaProgram:
    return FormulaProgram(formula.root, names, tuple(n for n in formula.names if n not in names))


def _formula_slopes(formula: Formula, values: Mapping[str, Any], names: tuple[str, ...]) -> list[Any]:
    """Return the derivatives of a formula by some names."""
    return _formula_program(formula, names).evaluate(values, 1)[1]


def _text_form(law: Law) -> Formula | None:
    """Return the formula that gives the law's output, None where there is none (code, or an implicit law)."""
    try:
        formula = law.formula
    except UsageError:
        return None
    return formula if set(formula.names) <= {*law.variables, *law.parameters} else None


@dataclass(frozen=True)
class Minima:
    """Where the best points are, by row; `u` and `v` are logarithms, infinite at an end."""

    u: Array
    v: Array
    end: NDArray[np.int_]


def along(surface: Surface, level: Array, u: Array, *, rising: bool = False) -> Array:
    """Return the `v` at which a surface has a level, nan where it has it nowhere (or, `rising`, falls through it)."""
    shape = np.broadcast_shapes(u.shape, level.shape)
    low = np.full(shape, -MAX_DECADES * math.log(10))

    def excess(v: Array) -> Array:
        value = np.asarray(surface.value(u, v), dtype=float)
        with np.errstate(all="ignore"):
            ratio = np.log(np.maximum(value, 0.0) / level)
            found = np.where(level > 0, ratio, value - level)
        return np.where(np.isnan(value), np.nan, found)

    found = find_roots(excess, low, -low)
    return np.where(excess(low) < 0, found, np.nan) if rising else found


def lowest(objective: Surface, line: Surface, level: Array, *, rising: bool = False) -> Minima:
    """Return the lowest points of `objective` where `line` has its level.

    Parameters
    ----------
    objective, line : Surface
    level : ndarray
        (rows,)
    rising : bool
        The line must grow with the second variable, as a cost does.
    """
    rows = level.size
    u, v, end = np.full(rows, np.nan), np.full(rows, np.nan), np.zeros(rows, dtype=int)
    for begin in range(0, rows, ROWS_PER_CHUNK):
        budgets.check_time("the lowest points on lines", begin, rows, "rows")
        part = np.arange(begin, min(begin + ROWS_PER_CHUNK, rows))
        u[part], v[part], end[part] = _chunk(objective.take(part), line.take(part), level[part, None], rising)
    return Minima(u, v, end)


def _profile(objective: Surface, line: Surface, level: Array, u: Array, rising: bool = False) -> tuple[Array, Array]:
    """Return `v` on the line and the objective there; inf where there is no line or no value."""
    v = along(line, level, u, rising=rising)
    with np.errstate(all="ignore"):
        value = objective.value(u, np.where(np.isnan(v), 0.0, v))
    return v, np.where(np.isfinite(value) & ~np.isnan(v), value, np.inf)


def _chunk(objective: Surface, line: Surface, level: Array, rising: bool) -> tuple[Array, Array, NDArray[np.int_]]:
    rows = level.shape[0]
    found = np.full(rows, np.nan)
    end = np.full(rows, SearchEnd.INSIDE, dtype=int)
    grid = np.arange(-MAX_DECADES, MAX_DECADES + GRID_STEP_DECADES, GRID_STEP_DECADES)[None, :] * math.log(10)
    open_rows = np.arange(rows)
    for zoom in range(4):  # the lowest point may lie within one step of where the line ends: look closer there
        v, value = _profile(objective.take(open_rows), line.take(open_rows), level[open_rows], grid, rising)
        grid = np.broadcast_to(grid, value.shape)
        finite = np.isfinite(value)
        some = finite.any(axis=1)
        best = np.argmin(value, axis=1)
        first = np.argmax(finite, axis=1)
        last = finite.shape[1] - 1 - np.argmax(finite[:, ::-1], axis=1)
        each = np.arange(open_rows.size)
        least = value[each, best]
        with np.errstate(invalid="ignore"):
            rise = np.minimum(value[each, first], value[each, last]) - least
            between = (first < best) & (best < last) & some
            inside = between & (rise > LEVEL_RTOL * np.abs(least))
            flat = np.where(finite, value, -np.inf).max(axis=1) - least <= LEVEL_RTOL * np.abs(least)
        if zoom == 0:
            middle = finite.cumsum(axis=1)[each, best] > (finite.sum(axis=1) + 1) // 2
            end[:] = np.where(flat, SearchEnd.FLAT, np.where(middle, SearchEnd.LARGE, SearchEnd.SMALL))
            end[~some] = np.where(np.isnan(v).all(axis=1) if v.shape[0] == rows else np.isnan(v).all(), 4, 5)[~some]
        done = open_rows[inside]
        end[done] = SearchEnd.INSIDE
        below, above = (grid[each, np.clip(best + s, 0, grid.shape[1] - 1)] for s in (-1, 1))
        if done.size:
            pick = (objective.take(done), line.take(done), level[done])
            found[done] = _polish(*pick, below[inside][:, None], above[inside][:, None])
        closer = some & ~inside & ~between & (best > 0) & (best < grid.shape[1] - 1)
        if not closer.any():
            break
        share = np.linspace(0.0, 1.0, 201)
        grid = below[closer][:, None] * (1 - share) + above[closer][:, None] * share
        open_rows = open_rows[closer]
    second = along(line, level, np.where(np.isnan(found), 0.0, found)[:, None])[:, 0]
    second[np.isnan(found)] = np.nan
    for side, sign in ((SearchEnd.LARGE, np.inf), (SearchEnd.SMALL, -np.inf)):
        found[end == side], second[end == side] = sign, -sign
    return found, second, end


def _polish(objective: Surface, line: Surface, level: Array, low: Array, high: Array) -> Array:
    """Return the lowest point of each row between `low` and `high`, (rows, 1) each."""

    def slope(u: Array) -> Array:
        v = along(line, level, u)
        f_u, f_v = objective.slopes(u, v)
        g_u, g_v = line.slopes(u, v)
        with np.errstate(all="ignore"):
            return f_u - f_v * g_u / g_v

    found = find_roots(slope, low, high, tolerance=1e-15)[:, 0]
    lost = np.flatnonzero(np.isnan(found))
    if lost.size:  # no slope, or one that jumps: look closer and closer
        a, b = low[lost], high[lost]
        pick = (objective.take(lost), line.take(lost), level[lost])
        share = np.linspace(0.0, 1.0, 41)
        for _ in range(7):
            grid = a * (1 - share) + b * share
            best = np.argmin(_profile(*pick, grid)[1], axis=1)
            each = np.arange(lost.size)
            a = grid[each, np.maximum(best - 1, 0)][:, None]
            b = grid[each, np.minimum(best + 1, share.size - 1)][:, None]
        found[lost] = 0.5 * (a + b)[:, 0]
    return np.asarray(found)
