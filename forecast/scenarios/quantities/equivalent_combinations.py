"""Combinations of choices under which a quantity is the same, because it is computed from the same.

A choice that switches a few quantities leaves most of what follows from them as it is under several of its values. What
is the same is found from what is stated, before a number is drawn: the model, the numbers and the quantities it needs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from forecast.base.budgets import check_time

if TYPE_CHECKING:
    from forecast.scenarios.quantities.node import Combination, Node

__all__ = ["EquivalentCombinations"]


class EquivalentCombinations:
    """The first of those combinations under which a quantity is the same.

    Parameters
    ----------
    nodes : mapping of str to Node
        In an order in which everything is computed before it is needed.
    values : mapping of str to sequence of str
        Of every choice.

    Examples
    --------
    >>> from forecast.scenarios.graph import build
    >>> from forecast.scenarios.scenario import Scenario
    >>> choices = {"rate": {"values": ["1", "1.0", "2"], "kind": "definition"}}
    >>> quantities = {"x": {"expression": "{rate}*t"}, "y": {"expression": "x + 1"}}
    >>> graph = build(Scenario.from_dict({"start": 2025, "until": 2030, "choices": choices, "quantities": quantities}))
    >>> graph.equivalent.of("y", ("1.0",)), graph.equivalent.of("y", ("2",))
    (('1',), ('2',))
    """

    def __init__(self, nodes: Mapping[str, Node], values: Mapping[str, Iterable[str]]) -> None:
        self._dims = {name: node.dims for name, node in nodes.items()}
        self._values = values
        #: By quantity, where some are equivalent.
        self._first: dict[str, dict[Combination, Combination]] = {}
        self._of_all: dict[Any, dict[Combination, Combination]] = {}
        walked: set[str] = set()
        for name, node in nodes.items():
            if name in walked or not node.dims:
                continue
            members = node.cycle or (name,)
            walked.update(members)
            own = [(nodes[each].own, _stated(nodes[each])) for each in members]
            # what is not known yet is taken to be another one under each combination
            sources = dict.fromkeys(n for each in members for n in nodes[each].sources if n not in members)
            if first := self._found(node.dims, sources, own):
                self._first.update(dict.fromkeys(members, first))

    def of(self, name: str, combination: Combination) -> Combination:
        """Return the first combination of its choices under which a quantity is as it is under this one."""
        known = self._first.get(name)
        return combination if known is None else known[combination]

    def of_all(self, names: tuple[str, ...], dims: tuple[str, ...], combination: Combination) -> Combination:
        """Return the same of several quantities together; `dims` are all the choices on which they depend, or more."""
        key = names, dims
        if key not in self._of_all:
            self._of_all[key] = self._found(dims, names, [])
        return self._of_all[key].get(combination, combination)

    def _found(
        self,
        dims: tuple[str, ...],
        names: Iterable[str],
        own: Iterable[tuple[tuple[str, ...], Mapping[Combination, int]]],
    ) -> dict[Combination, Combination]:
        """Return the first equivalent combination of each; nothing where no two are equivalent.

        `own` are choices with numbers that tell which of their combinations state the same.
        """
        parts: list[tuple[tuple[str, ...], Mapping[Combination, Any]]] = []
        whole: set[str] = set()  # choices of which every value counts
        for name in names:
            if name in self._first:
                parts.append((self._dims[name], self._first[name]))
            else:
                whole.update(self._dims[name])
        for choices, stated in own:
            if len(set(stated.values())) < len(stated):
                parts.append((choices, stated))
            else:
                whole.update(choices)
        if not parts or whole.issuperset(dims):
            return {}
        each = [(tuple(map(dims.index, choices)), known) for choices, known in parts]
        alone = tuple(place for place, d in enumerate(dims) if d in whole)
        seen: dict[Any, Combination] = {}
        out: dict[Combination, Combination] = {}
        for count, combination in enumerate(itertools.product(*(self._values[d] for d in dims))):
            check_time("comparing the combinations of choices", count, things="combinations")
            key = [tuple(combination[place] for place in alone)]
            for places, known in each:
                restricted = tuple(combination[place] for place in places)
                key.append(known.get(restricted, restricted))
            out[combination] = seen.setdefault(tuple(key), combination)
        return out if len(seen) < len(out) else {}


def _stated(node: Node) -> dict[Combination, int]:
    """Return a number for each combination of a node's own choices; of those that state the same it is one."""
    known: dict[Any, tuple[int, Any]] = {}
    out: dict[Combination, int] = {}
    for own in dict.fromkeys((*node.models, *node.variants, *node.figures)):
        variant = node.variants.get(own)
        # by their texts, too: zero equals minus zero, and is not the same
        text = repr(variant), repr(node.figures.get(own)), id(node.models.get(own))
        number, first = known.setdefault(text, (len(out), variant))
        out[own] = number if first == variant else len(out)
    return out
