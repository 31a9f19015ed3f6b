"""The formulas of a step as one list of numpy calls over fixed arrays: a step looks up no name.

A value is *still*, and computed when its formula is read; *dated*, and computed once a step; or *moving* with the
members of a cycle. Everything is computed as the formulas are written, in the same order: the last digits stay.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np

from forecast.base.arrays import Array
from forecast.formula import FUNCTIONS, Binary, Call, Comparison, Name, Node, Sequence as Listed, Text, Unary
from forecast.formula.functions import ces_of, implementation
from forecast.formula.tree import COMPARISON_FUNCTIONS, apply, children, common_power, compile_tree, walk
from forecast.projection.paths.alike import still
from forecast.units import Prepared

Compare = Callable[[Any, Any], Any]

_ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


class Changes(IntEnum):
    """When a value changes: never, with the date, or with the members of the cycle."""

    NEVER, DATES, MEMBERS = range(3)


@dataclass(frozen=True, eq=False)
class StepValue:
    """Where a value of the step stands: one number, (), or one a world, (draw,).

    Parameters
    ----------
    array : ndarray or str
        A text stands for itself.
    changes : Changes
    """

    array: Any
    changes: Changes


class StepDates:
    """What formulas read from outside of a cycle, at steps or halfway between them.

    Parameters
    ----------
    draws : int
    clocks : mapping of str to ndarray
        The names of time at every step, or one number for all.
    path : callable
        Returns by its name what is no member of the cycle: (1, draw) where it does not change, else (time, draw).
    labels : callable
        Returns the texts that the values of a name stand for; nothing where they are numbers.
    spare : list of ndarray
        Arrays, (draw,), for what is needed within one formula: programs share them.

    Attributes
    ----------
    step : int
        For which step its values are.
    """

    def __init__(
        self,
        draws: int,
        clocks: Mapping[str, Array],
        path: Callable[[str], Array],
        labels: Callable[[str], Sequence[str]],
        spare: list[Array],
    ) -> None:
        self.draws, self.step, self.spare = draws, -1, spare
        self._clocks, self._path, self._labels = clocks, path, labels
        self._known: dict[Any, StepValue] = {}
        self._kept: list[Any] = []  # what keys name by its `id`
        self._paths: list[tuple[Array, Array]] = []
        self._calls: list[Callable[[], object]] = []

    def at(self, step: int) -> None:
        """Compute everything that changes with the date for a step."""
        if step != self.step:
            self.step = step
            for array, path in self._paths:
                np.copyto(array, path[step])
            for call in self._calls:
                call()

    def clear(self) -> None:
        """Give back every array, and what computes it."""
        for each in (self._known, self._kept, self._paths, self._calls, self.spare):
            each.clear()

    def keep(self, formula: Prepared) -> None:
        """Keep a formula, so that its `id` stays its own."""
        self._kept.append(formula)

    def value(self, name: str) -> StepValue:
        """Return the numbers of what is no member of the cycle."""
        if name not in self._known:
            path = self._clocks[name] if name in self._clocks else self._path(name)
            if len(still(path)) == 1 or (_same(path[0], path[-1]) and _same(path, path[:1])):
                self._known[name] = StepValue(np.array(path[0]), Changes.NEVER)
            else:
                array = np.empty(path.shape[1:])
                self._known[name] = StepValue(array, Changes.DATES)
                self._paths.append((array, path))
                self.step = -1  # it has no values yet
        return self._known[name]

    def read(self, name: str) -> StepValue:
        """Return what is no member of the cycle as formulas read it: numbers, or texts."""
        numbers = self.value(name)
        texts = np.asarray(self._labels(name))
        if not texts.size:
            return numbers
        return self.computed(("texts", name), lambda codes: texts[codes.astype(np.intp)], (numbers,), kind=texts.dtype)

    def computed(
        self,
        key: Any,
        function: Callable[..., Any],
        parts: Sequence[StepValue],
        *,
        kind: Any = np.float64,
        least: Changes = Changes.NEVER,
        worlds: bool = False,
    ) -> StepValue:
        """Return what a function makes of values that no member changes: the same for an equal key and equal parts.

        It is one number where all parts are; with `worlds` one a world even then.
        """
        at = (key, *(part.array if isinstance(part.array, str) else id(part.array) for part in parts))
        if at not in self._known:
            self._kept.append((key, *parts))
            arrays = [part.array for part in parts]
            if max([least, *(part.changes for part in parts)]) is Changes.NEVER:
                self._known[at] = StepValue(np.array(function(*arrays)), Changes.NEVER)
            else:
                array = np.empty(self.draws if worlds or any(map(np.ndim, arrays)) else (), dtype=kind)
                self._known[at] = StepValue(array, Changes.DATES)
                self._calls.append(_into(array, function, arrays))
                self.step = -1
        return self._known[at]


class StepProgram:
    """Formulas and functions that are computed one after another at a step.

    Parameters
    ----------
    dates : StepDates
    names : mapping of str to StepValue
        The members of the cycle that are known. Those that are added can be read by what comes after them.
    """

    def __init__(self, dates: StepDates, names: Mapping[str, StepValue]) -> None:
        self.dates, self.names = dates, dict(names)
        self.calls: list[Callable[[], object]] = []
        self._converted: dict[tuple[int, str], StepValue] = {}
        self._used: dict[int, Array] = {}  # of the spare arrays

    def run(self, step: int) -> None:
        """Compute everything for a step; numpy may warn."""
        self.dates.at(step)
        for call in self.calls:
            call()

    def formula(self, made: Prepared) -> StepValue:
        """Add a formula and return where its value will stand, (draw,), in the unit of the answer."""
        self.dates.keep(made)
        into = np.empty(self.dates.draws)
        if made.answers_base:
            value = self._node(made.formula.root, made, into)
        else:
            value = self._add_call("answer", made.answer, [self._node(made.formula.root, made)], into, only=id(made))
        if not np.ndim(value.array):
            return self.dates.computed("every world", partial(np.full, self.dates.draws), [value], worlds=True)
        if value.changes is Changes.MEMBERS and value.array is not into:  # a name: its array may change before this one
            self.calls.append(partial(np.copyto, into, value.array))
            return StepValue(into, Changes.MEMBERS)
        return value

    def called(
        self, key: Any, function: Callable[..., Any], parts: Sequence[StepValue] = (), least: Changes = Changes.NEVER
    ) -> StepValue:
        """Add a function of some values, and return where its value will stand, (draw,).

        Parameters
        ----------
        key : hashable
            What names the function.
        function : callable
            Takes the array of each part.
        parts : sequence of StepValue
        least : Changes
            When it changes, though its parts do not.
        """
        arrays = [part.array for part in parts]
        changes = max([least, *(part.changes for part in parts)])
        if changes is not Changes.MEMBERS:
            return self.dates.computed(key, function, parts, least=changes, worlds=True)
        value = StepValue(np.empty(self.dates.draws), changes)
        self.calls.append(lambda: np.copyto(value.array, function(*arrays)))
        return value

    def _name(self, name: str, made: Prepared) -> StepValue:
        """Return a name as a formula takes it."""
        value = self.names.get(name) or self.dates.read(name)
        if made.is_base(name):
            return value
        key = id(made), name
        if key not in self._converted:
            into = np.empty(self.dates.draws)
            self._converted[key] = self._add_call("base", partial(made.base, name), [value], into, only=key)
        return self._converted[key]

    def _node(self, node: Node, made: Prepared, into: Array | None = None) -> StepValue:
        """Add a part of a formula and return where its value will stand."""
        match node:
            case Name(name):
                return self._name(name, made)
            case Text(value):
                return StepValue(value, Changes.NEVER)
            case Unary(_, operand) if not _constant(node):
                return self._add_call("-", np.negative, [self._node(operand, made)], into)
            case Binary("**") if not _constant(node):
                return self._power(node, made, into)
            case Call("clip", (value, low, high)):
                return self._node(Call("min", (Call("max", (value, low)), high)), made, into)
            case Call("min" | "max" as function, args) if not _constant(node):
                return self._add_extremum(function, args, made, into)
            case Call("ces", (Listed(goods), Listed(shares), rho)) if not _constant(node):
                return self._ces(node, [goods, shares, (rho,)], made, into)
        if _constant(node):
            return self.dates.computed(node, lambda: compile_tree(node)({}), [])
        if (compared := self._add_comparison(node, made, into)) is not None:
            return compared
        grouped = [each.items if isinstance(each, Listed) else (each,) for each in children(node)]
        parts = [self._node(each, made) for group in grouped for each in group]
        if isinstance(node, Binary):
            return self._add_call(node.op, _ARITHMETIC[node.op], parts, into)
        if isinstance(node, Call) and len(parts) == 1 and node.function in FUNCTIONS:
            return self._add_call(node.function, implementation(node.function), parts, into)
        lengths = [len(each.items) if isinstance(each, Listed) else 0 for each in children(node)]
        key = (type(node), getattr(node, "function", None) or getattr(node, "op", None), *lengths)
        return self._add_call(key, partial(_applied, node, lengths), parts, into)

    def _ces(self, node: Node, args: Sequence[Sequence[Node]], made: Prepared, into: Array | None) -> StepValue:
        """Add a ``ces``; where its shares and its power never change, what they alone tell is computed here."""
        goods, shares, power = ([self._node(each, made) for each in group] for group in args)
        if any(part.changes is not Changes.NEVER for part in (*shares, *power)):
            lengths = (len(goods), len(shares), 0)
            return self._add_call(("ces", lengths), partial(_applied, node, lengths), [*goods, *shares, *power], into)
        function = ces_of(tuple(part.array for part in shares), power[0].array)
        return self._add_call(function, lambda *parts: function(parts), goods, into)

    def _add_comparison(self, node: Node, made: Prepared, into: Array | None) -> StepValue | None:
        """Add a comparison of numbers, or the choice by one, which then is no array of its own; None for all else."""
        match node:
            case Comparison(op, left, right):
                function: Callable[..., Any] = _compare_numbers
                read: tuple[Node, ...] = (left, right)
            case Call("where", (Comparison(op, left, right), one, other)):
                function, read = _chosen, (left, right, one, other)
            case _:
                return None
        if any(isinstance(side, Text) for side in (left, right)):
            return None
        parts = [self._node(each, made) for each in read]
        numbers = [part.changes is Changes.NEVER and not np.isnan(part.array).any() for part in parts[:2]]
        unsure = [place for place, number in enumerate(numbers) if not number]
        return self._add_call((function, op, *unsure), partial(function, COMPARISON_FUNCTIONS[op], unsure), parts, into)

    def _power(self, node: Binary, made: Prepared, into: Array | None) -> StepValue:
        """Add a power: an exponent that never changes tells what computes it."""
        base, exponent = self._node(node.left, made), self._node(node.right, made)
        if np.ndim(exponent.array):
            return self._add_call("**", np.power, [base, exponent], into)
        if exponent.changes is not Changes.NEVER:
            return self._add_call("**", partial(_applied, node, (0, 0)), [base, exponent], into)
        function = common_power(float(exponent.array))
        if function is not None:
            return self._add_call(function, function, [base], into)
        return self._add_call("**", np.power, [base, exponent], into)

    def _add_extremum(self, function: str, args: Sequence[Node], made: Prepared, into: Array | None) -> StepValue:
        """Add the smallest or the largest of several: of two after two, from left to right."""
        computed = np.minimum if function == "min" else np.maximum
        found = self._node(args[0], made)
        for arg in args[1:]:
            pair = [found, self._node(arg, made)]
            if any(np.ndim(each.array) for each in pair):  # numpy is twice as fast where no side is one number
                pair = [self._every(each) for each in pair]
            found = self._add_call(function, computed, pair, into if arg is args[-1] else None)
        return found

    def _every(self, value: StepValue) -> StepValue:
        """Return a number that never changes as an array; not 0, of which there are two."""
        if np.ndim(value.array) or value.changes is not Changes.NEVER or value.array == 0:
            return value
        return self.dates.computed("every world", partial(np.full, self.dates.draws), [value])

    def _add_call(
        self,
        key: Any,
        function: Callable[..., Any],
        parts: Sequence[StepValue],
        into: Array | None = None,
        *,
        only: Any = None,
    ) -> StepValue:
        """Add a call; what no member changes is computed with the dates."""
        if all(part.changes is not Changes.MEMBERS for part in parts):
            return self.dates.computed((key, only), function, parts)
        arrays = [part.array for part in parts]
        if into is None:  # before the parts are given back: no call writes into what it reads
            into = self.dates.spare.pop() if self.dates.spare else np.empty(self.dates.draws)
            self._used[id(into)] = into
        self.calls.append(_into(into, function, arrays))
        for array in arrays:
            if id(array) in self._used:
                self.dates.spare.append(self._used.pop(id(array)))
        return StepValue(into, Changes.MEMBERS)


def _into(array: Array, function: Callable[..., Any], parts: Sequence[Any]) -> Callable[[], object]:
    """Return the call that writes what a function makes of arrays into another one."""
    if isinstance(function, np.ufunc) and array.dtype == np.float64:
        return partial(function, *parts, out=array)
    return lambda: np.copyto(array, function(*parts))


def _applied(node: Node, lengths: Sequence[int], *parts: Any) -> Any:
    """Compute a node whose lists come one item after another."""
    rest = iter(parts)
    return apply(node, tuple(tuple(itertools.islice(rest, n)) if n else next(rest) for n in lengths))


def _compare_numbers(compare: Compare, unsure: Sequence[int], left: Any, right: Any) -> Any:
    """Return whether a comparison holds; no number where a side is none, as in `forecast.formula.tree`.

    `unsure` says which sides, the left one (0) or the right one (1), may be no number.
    """
    return _with_missing(unsure, (left, right), compare(left, right))


def _chosen(compare: Compare, unsure: Sequence[int], left: Any, right: Any, one: Any, other: Any) -> Any:
    """Return one value where a comparison holds, another one where not, and no number where a side is none."""
    return _with_missing(unsure, (left, right), np.where(compare(left, right), one, other))


def _with_missing(unsure: Sequence[int], sides: Sequence[Any], value: Any) -> Any:
    for place in unsure:
        none = np.isnan(sides[place])
        if np.count_nonzero(none):
            value = np.where(none, np.nan, value)
    return value


def _constant(node: Node) -> bool:
    return not any(isinstance(part, (Name, Text)) for part in walk(node))


def _same(a: Array, b: Array) -> bool:
    return bool((a == b).all())
