"""Laws whose output is the solution of an equation: ``left(y, parameters) = right(x, parameters)``.

The left side is monotone in the output between two ends. The solution is found by Newton's method on the logit of its
place between them, in a bracket that bisection keeps; its derivatives follow from those of both sides.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forecast.base import budgets
from forecast.errors import FormulaError
from forecast.formula import Formula, parse
from forecast.formula.tree import latex_name, signed
from forecast.laws.compiled.program import Found, Program
from forecast.laws.forms import Form, changed, formula_program

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Implicit", "read"]

#: A solution is done when its step is this small, relative to it; and when the rounding of the left side stops it.
STEP, FLOOR = 2e-14, 1e-9
ITERATIONS = 200


class Implicit(Form):
    """The output solves ``left = right``.

    Parameters
    ----------
    left, right : Formula
    output : str
        The name solved for; only in `left`.
    ends : (Formula, Formula)
        Below and above it, numbers or formulas of parameters.
    """

    def __init__(self, left: Formula, right: Formula, output: str, ends: tuple[Formula, Formula]) -> None:
        self.left, self.right, self.output, self.ends = left, right, output, ends
        self.names = tuple(n for n in dict.fromkeys(left.names + right.names) if n != output)

    def text(self, output: str) -> str:
        """Return ``left = right``."""
        return f"{self.left.text} = {self.right.text}"

    def latex(self, output: str) -> str:
        """Return the equation in LaTeX, and between what the output lies."""
        low, high = (e.latex() for e in self.ends)
        return rf"{self.left.latex()} = {self.right.latex()}, \quad {low} < {latex_name(output)} < {high}"

    def value(self, values: Mapping[str, Any], shape: tuple[int, ...]) -> Array:
        """Solve the equation."""
        return self._solver.evaluate(values, 0)[0]

    @functools.cached_property
    def _solver(self) -> Program:
        return self.program(self.names, ())

    def program(self, parameters: tuple[str, ...], variables: tuple[str, ...]) -> Program:
        """Return the program that solves the equation and differentiates its solution."""
        return ImplicitProgram(self, parameters, variables)

    def replaced(self, changes: Mapping[str, Formula]) -> Implicit:
        """Return the equation with names replaced on both sides and in the ends."""
        left, right, low, high = (changed(f, changes) for f in (self.left, self.right, *self.ends))
        return Implicit(left, right, self.output, (low, high))


def read(
    left: str, right: str, *, output: str, between: Sequence[Any] | None, variables: Sequence[str], where: str
) -> Implicit:
    """Read the equation of a law, or say what is wrong with it."""

    def refuse(reason: str) -> FormulaError:
        return FormulaError(f"{where}: {reason}")

    sides = parse(left, where=where), parse(right, where=f"{where}: equals")
    if output in variables:
        raise refuse(f"the output '{output}' is also a variable; give another with output=")
    if output not in sides[0].names:
        raise refuse(f"the output '{output}' is not in the left side '{sides[0].text}': it cannot be solved for")
    if output in sides[1].names:
        raise refuse(f"the output '{output}' is in the right side '{sides[1].text}'; bring it to the left")
    if between is None or isinstance(between, str) or len(between) != 2:
        raise refuse("between: expected the two names or numbers the output lies between, as ('einf', 'e0')")
    known = {*sides[0].names, *sides[1].names} - {output, *variables}
    ends = []
    for end in between:
        if isinstance(end, str):
            formula = parse(end, where=f"{where}: between")
        elif isinstance(end, (int, float)) and not isinstance(end, bool) and abs(end) < float("inf"):
            formula = Formula(signed(float(end)))
        else:
            raise refuse(f"between: expected a parameter's name or a finite number, got {type(end).__name__}")
        for name in formula.names:
            if name not in known:
                raise refuse(f"between: '{name}' is not a parameter of the law ({', '.join(sorted(known))})")
        ends.append(formula)
    return Implicit(*sides, output, (ends[0], ends[1]))


class ImplicitProgram(Program):
    """Value by batched bracketed Newton; gradient and Hessian by implicit differentiation. nan where there is none.

    Parameters
    ----------
    form : Implicit
    parameters, variables : tuple of str
    """

    def __init__(self, form: Implicit, parameters: tuple[str, ...], variables: tuple[str, ...]) -> None:
        super().__init__(parameters, variables)
        self.form, y = form, form.output
        left, right = form.left, form.right
        self._left_names = tuple(n for n in left.names if n != y)
        self._own_left = tuple(p for p in parameters if p in left.names)
        self._own_right = tuple(p for p in parameters if p in right.names)
        rest = tuple(v for v in variables if v in left.names)
        self._slope = formula_program(left, (y,), self._left_names)
        self._left = formula_program(left, (y, *self._own_left), rest)
        self._right = formula_program(right, self._own_right, tuple(v for v in variables if v in right.names))

    def _evaluate(self, values: Mapping[str, Array], shape: tuple[int, ...], order: int) -> Found:
        y = self._solve(values, shape)
        if not order:
            return y, [], {}
        _, g, h = self._left.evaluate({**values, self.form.output: y}, order)
        _, gr, hr = self._right.evaluate(values, order)
        names = self.parameters
        at_left = {p: i + 1 for i, p in enumerate(self._own_left)}
        at_right = {p: i for i, p in enumerate(self._own_right)}

        def first(p: str) -> Any:
            return (g[at_left[p]] if p in at_left else 0.0) - (gr[at_right[p]] if p in at_right else 0.0)

        def pair(table: Mapping[tuple[int, int], Any], places: Mapping[str, int], p: str, q: str) -> Any:
            if p not in places or q not in places:
                return 0.0
            i, j = sorted((places[p], places[q]))
            return table.get((i, j), 0.0)

        gradient = [-first(p) / g[0] for p in names]
        if order == 1:
            return y, gradient, {}
        turn = {p: h.get((0, at_left[p]), 0.0) if p in at_left else 0.0 for p in names}
        bend = h.get((0, 0), 0.0)
        hessian = {}
        for i, p in enumerate(names):
            for j in range(i, len(names)):
                q = names[j]
                own = pair(h, at_left, p, q) - pair(hr, at_right, p, q)
                cross = turn[p] * gradient[j] + turn[q] * gradient[i] + bend * gradient[i] * gradient[j]
                hessian[i, j] = -(own + cross) / g[0]
        return y, gradient, hessian

    def _solve(self, values: Mapping[str, Array], shape: tuple[int, ...]) -> Array:
        import numpy as np

        low, high = (np.asarray(e.evaluate(values), dtype=np.float64) for e in self.form.ends)
        goal = np.broadcast_to(self._right.evaluate(values, 0)[0], shape)
        given = {n: values[n] for n in self._left_names}
        direction = np.broadcast_to(self._direction(given, low, high), shape)
        y = np.full(shape, np.nan)
        rows = np.flatnonzero((direction != 0) & np.isfinite(goal))
        if rows.size:
            flat = {n: np.broadcast_to(a, shape).reshape(-1)[rows] for n, a in given.items()}
            ends = [np.broadcast_to(e, shape).reshape(-1)[rows] for e in (low, high)]
            goal, direction = goal.reshape(-1)[rows], direction.reshape(-1)[rows]
            y.reshape(-1)[rows] = _roots(self._at, flat, ends[0], ends[1], goal, direction)
        return y

    def _at(self, y: Array, given: Mapping[str, Array]) -> tuple[Array, Array]:
        import numpy as np

        left, gradient, _ = self._slope.evaluate({**given, self.form.output: y}, 1)
        return left, np.broadcast_to(gradient[0], y.shape)

    def _direction(self, given: Mapping[str, Array], low: Array, high: Array) -> Array:
        """Return 1 where the left side rises between the ends, -1 where it falls, 0 where it does neither."""
        import numpy as np

        shape = np.broadcast_shapes(low.shape, high.shape, *(a.shape for a in given.values()))
        share = 1 / (1 + np.exp(-np.linspace(-12, 12, 25).reshape(-1, *(1,) * len(shape))))
        y = low + (high - low) * share
        left, _, _ = self._slope.evaluate({**given, self.form.output: y}, 0)
        change = np.diff(left, axis=0)
        rises, falls = (change >= 0).all(axis=0), (change <= 0).all(axis=0)  # neither, where any is nan
        return np.where((rises ^ falls) & (low < high), np.where(rises, 1.0, -1.0), 0.0)


def _roots(at: Any, given: Mapping[str, Array], low: Array, high: Array, goal: Array, direction: Array) -> Array:
    """Solve ``left = goal`` for many independent equations; nan where no solution lies between the ends."""
    import numpy as np

    width = high - low
    # nothing between the ends is closer to one than its rounding
    a = -40 - np.clip(np.log(width / np.abs(low)), 0, 700)
    b = 40 + np.clip(np.log(width / np.abs(high)), 0, 700)
    inside = np.nextafter(low, high), np.nextafter(high, low)

    def place(u: Array, some: Any) -> Array:
        small = np.exp(-np.abs(u))
        step = width[some] * small / (1 + small)
        found = np.where(u < 0, low[some] + step, high[some] - step)
        return np.asarray(np.clip(found, inside[0][some], inside[1][some]))

    y = np.full(low.shape, np.nan)
    todo, u = np.arange(low.size), np.clip(np.zeros(low.size), a, b)
    last = np.full(low.size, np.inf)
    for _ in range(ITERATIONS):
        budgets.check_time("solving an implicit law")
        here = place(u, todo)
        left, slope = at(here, {n: v[todo] for n, v in given.items()})
        target, sign = goal[todo], direction[todo]
        short = sign * (left - target)
        a[todo] = np.where(short <= 0, u, a[todo])
        b[todo] = np.where(short >= 0, u, b[todo])
        stretch = slope * (here - low[todo]) * (high[todo] - here) / width[todo]
        both = (left > 0) & (target > 0) & np.isfinite(left)
        step = np.where(both, np.log(left / target) * left, left - target) / stretch
        new = u - step
        out = ~((new >= a[todo]) & (new <= b[todo]))
        new = np.where(out, 0.5 * (a[todo] + b[todo]), new)
        there = place(new, todo)
        moved = np.abs(there - here)
        done = (moved <= STEP * np.abs(there)) & ~out | (short == 0) | (b[todo] - a[todo] <= 4e-16 * np.abs(u))
        done |= (moved >= last) & (moved <= FLOOR * np.abs(there)) & ~out
        done |= moved <= 2e-16 * np.abs(np.where(new < 0, low[todo], high[todo]))  # what a place can be told to
        y[todo[done]] = np.where(short == 0, here, there)[done]
        todo, u, last = todo[~done], new[~done], moved[~done]
        if not todo.size:
            break
    for _ in range(2):  # where the ends are far larger than the output, the output itself has digits left
        left, slope = at(y, given)
        step = (left - goal) / slope
        y = np.where(np.abs(step) <= 1e-15 * width, np.clip(y - step, *inside), y)
    left, slope = at(y, given)
    near = np.abs(left - goal) <= 1e-8 * np.abs(slope * y) + 1e-12 * np.abs(goal)
    for end, closest, side in ((low, inside[0], -1.0), (high, inside[1], 1.0)):  # solved between two floats
        near |= (y == closest) & (side * direction * (at(end, given)[0] - goal) >= 0)
    return np.where(near & (slope * direction > 0), y, np.nan)
