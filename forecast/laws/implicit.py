"""Laws whose output is the solution of an equation: ``left(y, parameters) = right(x, parameters)``.

The left side is monotone in the output between two ends. The solution is found by Newton's method on the logit of its
place between them, in a bracket that bisection keeps, from where a few places between the ends say that it is; its
derivatives follow from those of both sides.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forecast.base import budgets
from forecast.base.arrays import Array
from forecast.base.number_checks import is_real
from forecast.errors import FormulaError
from forecast.formula import Formula, parse
from forecast.formula.tree import latex_name, number_node
from forecast.laws.forms import Form, replace_names
from forecast.laws.program import FormulaProgram, Found, Program

#: A solution is done when its step is this small, relative to it; and when the rounding of the left side stops it.
ROOT_STEP_RTOL, EQUATION_RTOL = 2e-14, 1e-9
#: A step as small as this may be the last: steps by then shrink as their squares do.
ROOT_RTOL = 1e-6
#: Newton steps of all equations together, and of those that need more.
FIRST_ROUNDS, LAST_ROUNDS = 6, 200
#: The logits of the places that are looked at first are the whole numbers up to this.
BRACKET_POINTS = 12
#: Ends that lie this many times the output apart leave it digits of its own.
MAX_BRACKET_RATIO = 4.0


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
        left, right, low, high = (replace_names(f, changes) for f in (self.left, self.right, *self.ends))
        return Implicit(left, right, self.output, (low, high))


def parse_equation(
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
        elif is_real(end) and abs(end) < float("inf"):
            formula = Formula(number_node(float(end)))
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
        self._slope = FormulaProgram(left.root, (y,), self._left_names)
        self._left = FormulaProgram(left.root, (y, *self._own_left), rest)
        self._right = FormulaProgram(right.root, self._own_right, tuple(v for v in variables if v in right.names))

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
        down = -g[0]
        hessian = {}
        for i, p in enumerate(names):
            bent = bend * gradient[i]
            for j in range(i, len(names)):
                q = names[j]
                own = pair(h, at_left, p, q) - pair(hr, at_right, p, q)
                cross = turn[p] * gradient[j] + turn[q] * gradient[i] + bent * gradient[j]
                hessian[i, j] = (own + cross) / down
        return y, gradient, hessian

    def _solve(self, values: Mapping[str, Array], shape: tuple[int, ...], rounds: int = FIRST_ROUNDS) -> Array:
        """Solve the equations; those that need more rounds are solved anew, by themselves."""
        low, high = (np.asarray(e.evaluate(values), dtype=np.float64) for e in self.form.ends)
        goal = np.broadcast_to(self._right.evaluate(values, 0)[0], shape)
        width, inside = high - low, (np.nextafter(low, high), np.nextafter(high, low))
        given = {n: values[n] for n in self._left_names}

        def place(u: Array) -> Array:
            small = np.exp(-np.abs(u))
            step = width * small / (1 + small)
            return _clip(np.where(u < 0, low + step, high - step), *inside)

        direction, start = self._bracket_solutions(given, low, high, goal)
        usable = (direction != 0) & np.isfinite(goal)
        y, sure, done = np.full(shape, np.nan), np.zeros(shape, dtype=bool), ~usable
        # nothing between the ends is closer to one than its rounding
        a = -40 - _clip(np.log(width / np.abs(low)), 0, 700)
        b = 40 + _clip(np.log(width / np.abs(high)), 0, 700)
        u, last = _clip(start, a, b), np.full(shape, np.inf)
        here = place(u)
        for _ in range(rounds):
            budgets.check_time("solving an implicit law")
            left, slope = self._at(here, given)
            short = direction * (left - goal)
            a, b = np.where(short <= 0, u, a), np.where(short >= 0, u, b)
            stretch = slope * (here - low) * (high - here) / width
            both = (left > 0) & (goal > 0) & np.isfinite(left)
            new = u - np.where(both, np.log(left / goal) * left, left - goal) / stretch
            out = ~((new >= a) & (new <= b))
            new = np.where(out, 0.5 * (a + b), new)
            there = place(new)
            moved, size = np.abs(there - here), np.abs(there)
            found = (moved <= ROOT_STEP_RTOL * size) | ((moved >= last) & (moved <= EQUATION_RTOL * size))
            found |= (
                (moved <= ROOT_RTOL * size)
                & (moved * moved * moved <= ROOT_STEP_RTOL * size * last * last)
                & (last < np.inf)
            )
            found &= ~out & (slope * direction > 0)
            ends = found | (short == 0) | (b - a <= 4e-16 * np.abs(u))
            ends |= moved <= 2e-16 * np.abs(np.where(new < 0, low, high))  # what a place can be told to
            ends &= ~done
            y, sure, done = np.where(ends, np.where(short == 0, here, there), y), sure | (ends & found), done | ends
            if done.all():
                break
            u, here, last = new, there, moved
        y = np.where(done, y, here)
        doubt = usable & (done | (rounds == LAST_ROUNDS)) & (~sure | (width > MAX_BRACKET_RATIO * np.abs(y)))
        if doubt.any():
            y = np.where(doubt, self._polish_roots(y, given, low, high, goal, direction), y)
        if rounds < LAST_ROUNDS and not done.all():
            rest = {name: np.broadcast_to(each, shape)[~done] for name, each in values.items()}
            y[~done] = self._solve(rest, (int((~done).sum()),), LAST_ROUNDS)
        return np.where(usable, y, np.nan)

    def _at(self, y: Array, given: Mapping[str, Array]) -> tuple[Array, Array]:
        left, (slope, *_), _ = self._slope.evaluate({**given, self.form.output: y}, 1)
        return left, slope

    def _bracket_solutions(
        self, given: Mapping[str, Array], low: Array, high: Array, goal: Array
    ) -> tuple[Array, Array]:
        """Bracket the solutions: return the direction of the left side, and logits of places close to the goal."""
        shape = np.broadcast_shapes(low.shape, high.shape, *(a.shape for a in given.values()))
        places = np.arange(-BRACKET_POINTS, BRACKET_POINTS + 1.0).reshape(-1, *(1,) * len(shape))
        y = low + (high - low) / (1 + np.exp(-places))
        left, _, _ = self._slope.evaluate({**given, self.form.output: y}, 0)
        change = np.diff(left, axis=0)
        rises, falls = (change >= 0).all(axis=0), (change <= 0).all(axis=0)  # neither, where any is nan
        direction = np.where((rises ^ falls) & (low < high), np.where(rises, 1.0, -1.0), 0.0)
        table, wanted = direction * left, direction * goal
        above = np.zeros(goal.shape, dtype=np.int8)
        for row in table:
            above += row <= wanted
        after = np.clip(above, 1, 2 * BRACKET_POINTS).astype(np.int64)
        column = np.arange(direction.size).reshape(shape)
        under, over = (left.reshape(-1)[i * direction.size + column] for i in (after - 1, after))
        alike = under * over > 0  # of one sign: closer to straight in the logarithm
        part = np.where(
            alike, np.log(np.abs(goal / under)) / np.log(np.abs(over / under)), (goal - under) / (over - under)
        )
        part = np.where(np.isfinite(part), _clip(part, 0.0, 1.0), 0.5)
        return direction, np.asarray(part + (after - 1.0 - BRACKET_POINTS))

    def _polish_roots(
        self, y: Array, given: Mapping[str, Array], low: Array, high: Array, goal: Array, direction: Array
    ) -> Array:
        """Return solutions after a last step, nan where they are none."""
        inside = np.nextafter(low, high), np.nextafter(high, low)
        left, slope = self._at(y, given)
        for _ in range(2):  # where the ends are far larger than the output, the output itself has digits left
            step = (left - goal) / slope
            moved = np.where(np.abs(step) <= 1e-15 * (high - low), _clip(y - step, *inside), y)
            if np.array_equal(moved, y, equal_nan=True):
                break
            y = moved
            left, slope = self._at(y, given)
        near = np.abs(left - goal) <= 1e-8 * np.abs(slope * y) + 1e-12 * np.abs(goal)
        for end, closest, side in ((low, inside[0], -1.0), (high, inside[1], 1.0)):
            edge = ~near & (y == closest)  # solved between two floats
            if edge.any():
                near |= edge & (side * direction * (self._at(end, given)[0] - goal) >= 0)
        return np.where(near & (slope * direction > 0), y, np.nan)


def _clip(values: Array, low: Any, high: Any) -> Array:
    """Return values moved between two others, as `numpy.clip` does in three times as long where they are few."""
    return np.asarray(np.minimum(np.maximum(values, low), high))
