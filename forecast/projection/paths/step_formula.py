"""A formula that is computed step by step: what rests on no member of the cycle is computed once, or once a step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast.formula import TIME, Name, Node
from forecast.formula.tree import children, compiled, rebuild, walk
from forecast.units import Prepared

Array = NDArray[np.float64]

__all__ = ["StepFormula"]


class StepFormula:
    """A formula at steps, or halfway between them.

    Parts of it that do not rest on members are computed as they stand, in the same order: the numbers are the same.

    Parameters
    ----------
    made : Prepared
        Kept, so that its `id` stays its own.
    members : collection of str
        The names whose rows it is handed.
    outside : callable
        Returns by its name what is no member, as the formula takes it: (1, draw) where it does not change, else
        (time, draw).
    clocks : mapping of str to ndarray
        The names of time at every step, or one number for all.
    """

    def __init__(
        self,
        made: Prepared,
        members: Collection[str],
        outside: Callable[[str], Any],
        clocks: Mapping[str, Array],
    ) -> None:
        self.made = made
        names = made.formula.names
        self._members = [n for n in names if n in members and made.is_base(n)]
        self._converted = [n for n in names if n in members and not made.is_base(n)]
        self._clocks = {n: clocks[n] for n in names if n in TIME and n not in members}
        given = {n: outside(n) for n in names if n not in TIME and n not in members}
        self._paths = {n: path for n, path in given.items() if len(path) > 1}
        #: What does not change: names, and parts of the formula.
        self._still: dict[str, Any] = {n: path[0] for n, path in given.items() if len(path) == 1}
        self._parts: dict[str, Callable[[Mapping[str, Any]], Any]] = {}
        self._run = compiled(self._split(made.formula.root))
        self._step, self._dated = -1, self._still

    def _split(self, node: Node) -> Node:
        """Return a tree in which names stand for the parts that rest on no member."""
        names = {part.name for part in walk(node) if isinstance(part, Name)}
        if not names or not children(node):
            return node
        dated = names & {*self._paths, *self._clocks}
        if names - dated - self._still.keys():
            return rebuild(node, tuple(map(self._split, children(node))))
        key = f"part {len(self._parts) + len(self._still)}"  # no name of a formula has a space
        if dated:
            self._parts[key] = compiled(node)
        else:
            self._still[key] = compiled(node)(self._still)
        return Name(key)

    def __call__(self, step: int, rows: Mapping[str, Array]) -> Any:
        """Return the value in the unit of the answer; numpy may warn."""
        if step != self._step:
            dated: dict[str, Any] = {**self._still, **{name: path[step] for name, path in self._paths.items()}}
            dated |= {name: every[step if len(every) > 1 else 0] for name, every in self._clocks.items()}
            dated |= {key: part(dated) for key, part in self._parts.items()}
            self._step, self._dated = step, dated
        known = dict(self._dated)
        for name in self._members:
            known[name] = rows[name]
        for name in self._converted:
            known[name] = self.made.base(name, rows[name])
        return self.made.answer(self._run(known))
