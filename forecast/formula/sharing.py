"""Nodes of a graph written as trees: what stands in several places once, under a name of its own.

Parameters come as columns and variables as rows, so a product of both is an array of full size: those are made as
seldom as can be, by multiplying first what several products have in common.
"""

from __future__ import annotations

import functools
import heapq
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from forecast.base import budgets
from forecast.formula.normal import COLUMN, MATRIX, ROW, Parts, below, positive
from forecast.formula.tree import Binary, Call, Name, Node, Number, Unary, signed

__all__ = ["Writer"]

#: Levels of a tree before a part of it is given a name.
_DEEP = 16
#: Work that the search for what to multiply first may do.
_LOOKS = 200_000

#: A part of what is written: ``("node", node)``, ``("to", node, exponent)`` for a numeric power,
#: ``("moved", base, exponent, number)`` for a power whose exponent has a number added, ``("of", part, ...)`` a product.
_Part: TypeAlias = "tuple[Any, ...]"


class Writer:
    """Writes nodes as trees: what stands in several places once, and of products that share factors those first."""

    def __init__(self, parts: Parts, value: int, results: Sequence[int], above: frozenset[str]) -> None:
        self.parts, self.results = parts, [("node", r) for r in results]
        self._kinds: dict[_Part, int] = {}
        self.positive = positive(parts, above)
        self.products = self._split([value, *results])
        self._gather()
        self.uses: Counter[_Part] = Counter()
        self._count([*self.results])
        self.shared: list[tuple[str, Node]] = []
        self.made: dict[_Part, tuple[Node, int]] = {}
        self.fresh = (n for n in (f"shared{i}" for i in itertools.count()) if n not in parts.names)
        self.naming = True

    # What stands in several places ------------------------------------------------------------------------------------

    def _split(self, results: Sequence[int]) -> dict[int, list[_Part]]:
        """Return the factors of every product that is needed."""
        found, todo = set[int](), list(results)
        while todo:
            at = todo.pop()
            if at not in found:
                found.add(at)
                todo.extend(below(self.parts.nodes[at]))
        return {
            at: self._factors(self.parts.nodes[at][1]) for at in sorted(found) if self.parts.nodes[at][0] == "product"
        }

    def _factors(self, factors: Sequence[tuple[int, float]]) -> list[_Part]:
        nodes, numbers = self.parts.nodes, dict(factors)
        made: list[_Part] = []
        for at, exponent in factors:
            node = nodes[at]
            if node[0] == "power" and abs(exponent) == 1 and node[1] in numbers and not self.positive[node[1]]:
                # u**v/u is u**(v - 1), which is right at u = 0 too
                moved = ("moved", node[1], node[2], numbers.pop(node[1]) * exponent)
                made.append(moved if exponent == 1 else ("to", moved, exponent))
                del numbers[at]
        made += [("node", at) if e == 1 else ("to", ("node", at), e) for at, e in factors if at in numbers]
        return sorted(made, key=self._place)

    def _place(self, part: _Part) -> int:
        match part:
            case ("node", at):
                return int(at)
            case ("moved", base, exponent, _):
                return int(max(base, exponent))
            case ("to", inner, _):
                return self._place(inner)
        return min(map(self._place, part[1:]))

    def _kind(self, part: _Part) -> int:
        found = self._kinds.get(part)
        if found is None:
            match part:
                case ("node", at):
                    found = self.parts.kinds[at]
                case ("moved", base, exponent, _):
                    found = self.parts.kinds[base] | self.parts.kinds[exponent]
                case ("to", inner, _):
                    found = self._kind(inner)
                case _:
                    found = functools.reduce(int.__or__, map(self._kind, part[1:]))
            self._kinds[part] = found
        return found

    def _gather(self) -> None:
        """Multiply first what saves the most products of full size, as long as something does."""
        lists = {at: p for at, p in self.products.items() if self.parts.kinds[at] == MATRIX}
        factors: list[_Part] = list(dict.fromkeys(part for parts in lists.values() for part in parts))
        index = {part: i for i, part in enumerate(factors)}
        search = _Search({at: [index[part] for part in parts] for at, parts in lists.items()})
        search.kinds = [self._kind(part) for part in factors]
        for some in search.found():
            factors.append(("of", *sorted((factors[i] for i in some), key=self._place)))
            self._kinds[factors[-1]] = MATRIX
        for at, held in search.products.items():
            self.products[at] = [factors[i] for i in held]

    def _inside(self, part: _Part) -> list[_Part]:
        match part:
            case ("node", at):
                node = self.parts.nodes[at]
                if node[0] == "product":
                    return self.products[at]
                return [("node", inner) for inner in below(node)]
            case ("moved", base, exponent, _):
                return [("node", base), ("node", exponent)]
            case ("to", inner, exponent):
                return [inner]
        return list(part[1:])

    def _count(self, todo: list[_Part]) -> None:
        for part in todo:
            self.uses[part] += 1
        seen = set(todo)
        while todo:
            for inner in self._inside(todo.pop()):
                self.uses[inner] += 1
                if inner not in seen:
                    seen.add(inner)
                    todo.append(inner)

    # Trees ------------------------------------------------------------------------------------------------------------

    def written(self) -> tuple[list[tuple[str, Node]], list[Node]]:
        """Return assignments, and the tree of each result."""
        for at in range(len(self.parts.nodes)):  # from below, so that nothing is called deep inside itself
            budgets.check_time("writing derivatives", at, len(self.parts.nodes), "parts")
            if self.uses[("node", at)]:
                self.tree(("node", at))
        return self.shared, [self.tree(part)[0] for part in self.results]

    def whole_tree(self) -> Node:
        """Return the one result without names for what is shared."""
        self.naming = False
        return self.written()[1][0]

    def tree(self, part: _Part) -> tuple[Node, int]:
        """Return a part as a tree, and the depth of that."""
        if part in self.made:
            return self.made[part]
        node, depth = self._tree(part)
        leaf = isinstance(node, Name | Number) or (isinstance(node, Unary) and isinstance(node.operand, Number))
        # two quotients cost less than an inverse and two products
        enough = 3 if part[0] == "to" and part[2] < 0 else 2
        several = self.uses[part] >= enough and (part[0] == "node" or self._kind(part) == MATRIX)
        if self.naming and not leaf and (several or depth > _DEEP):
            name = next(self.fresh)
            self.shared.append((name, node))
            node, depth = Name(name), 1
        self.made[part] = node, depth
        return node, depth

    def _tree(self, part: _Part) -> tuple[Node, int]:
        match part:
            case ("node", at):
                return self._node(at)
            case ("moved", base, exponent, number):
                (b, i), (e, j) = self.tree(("node", base)), self.tree(("node", exponent))
                moved = _added(e, number)
                return Binary("**", b, moved), max(i, j + 1) + 1
            case ("to", inner, exponent):
                node, depth = self.tree(inner)
                if exponent < 0:
                    return Binary("/", Number(1.0), _powered(node, -exponent)), depth + 2
                return _powered(node, exponent), depth + 1
        return self._times(part[1:])

    def _node(self, at: int) -> tuple[Node, int]:
        match self.parts.nodes[at]:
            case ("number", value):
                return signed(value), 1
            case ("name", name):
                return Name(name), 1
            case ("sum", constant, terms):
                return self._total(constant, terms)
            case ("product", _):
                return self._times(self.products[at])
            case ("power", base, exponent):
                (b, i), (e, j) = self.tree(("node", base)), self.tree(("node", exponent))
                return Binary("**", b, e), max(i, j) + 1
            case ("call", function, args):
                made = [self.tree(("node", a)) for a in args]
                return Call(function, tuple(node for node, _ in made)), max(d for _, d in made) + 1
        raise AssertionError(at)

    def _total(self, constant: float, terms: Sequence[tuple[float, int]]) -> tuple[Node, int]:
        plus: list[Node] = []
        minus: list[Node] = []
        deepest = 0
        for factor, term in terms:
            node, depth = self.tree(("node", term))
            deepest = max(deepest, depth + (abs(factor) != 1))
            (plus if factor > 0 else minus).append(_multiplied(node, abs(factor)))
        if constant:
            (plus if constant > 0 else minus).append(Number(abs(constant)))
        deepest += 2 * max(1, len(terms)).bit_length()
        if not plus:
            return Unary("-", _chain("+", minus)), deepest + 1
        whole = _chain("+", plus)
        return (Binary("-", whole, _chain("+", minus)) if minus else whole), deepest

    def _times(self, factors: Iterable[_Part]) -> tuple[Node, int]:
        above: list[Node] = []
        under: list[Node] = []
        deepest, count = 0, 0
        for part in factors:
            node, depth = self.tree(part)
            deepest, count = max(deepest, depth), count + 1
            match node:
                case Binary("/", Number(1.0), lower):
                    under.append(lower)
                case _:
                    above.append(node)
        whole = _chain("*", above) if above else Number(1.0)
        deepest += 2 * count.bit_length()
        return (Binary("/", whole, _chain("*", under)) if under else whole), deepest


class _Search:
    """The search for factors that are best multiplied first, because several products have them.

    Parameters
    ----------
    products : mapping of int to list of int
        The factors of each product of full size, as indices.
    """

    def __init__(self, products: Mapping[int, Iterable[int]]) -> None:
        self.products = {at: dict.fromkeys(held) for at, held in products.items()}
        self.kinds: list[int] = []
        self.holding: dict[int, set[int]] = {}
        for at, held in self.products.items():
            for i in held:
                self.holding.setdefault(i, set()).add(at)
        self._looks = 0
        self._heap: list[tuple[int, int, frozenset[int]]] = []
        self._noted: set[frozenset[int]] = set()

    def found(self) -> Iterator[frozenset[int]]:
        """Yield sets of factors; the next index after those there are becomes the index of their product."""
        self._counts = {at: self._counted(held) for at, held in self.products.items()}
        for held in self.products.values():
            self._note(self._candidates(list(held)))
        while self._heap and self._looks < 2 * _LOOKS:
            budgets.check_time("sharing the parts of derivatives")
            promised, _, some = heapq.heappop(self._heap)
            saved, chosen = self._saved(some)
            if saved < -promised:  # fewer than when it was noted
                if saved > 0:
                    heapq.heappush(self._heap, (-saved, len(self._noted), some))
                continue
            whole = len(self.kinds)
            self.kinds.append(MATRIX)
            self.holding[whole] = set(chosen)
            for at in chosen:
                held = self.products[at]
                for i in some:
                    del held[i]
                    self.holding[i].discard(at)
                held[whole] = None
                self._counts[at] = self._counted(held)
            for at in chosen:
                self._note(self._candidates(list(self.products[at]), whole))
            yield some

    def _counted(self, held: Iterable[int]) -> tuple[int, int, int]:
        """Count matrices, columns and rows among some factors."""
        kinds = [self.kinds[i] for i in held]
        return kinds.count(MATRIX), kinds.count(COLUMN), kinds.count(ROW)

    def _saved(self, some: frozenset[int]) -> tuple[int, list[int]]:
        """Return what multiplying some factors first saves, and the products in which it is no loss."""
        m, c, r = self._counted(some)
        saved, chosen = 1 - m - (c > 0) - (r > 0), []
        there = set.intersection(*(self.holding[i] for i in some))
        self._looks += 8 + len(there)
        for at in there:
            _, columns, rows = self._counts[at]
            gain = m - 1 + (columns > 0) - (columns > c) + (rows > 0) - (rows > r)
            if gain >= 0:
                saved += gain
                chosen.append(at)
        return saved, sorted(chosen)

    def _candidates(self, held: list[int], new: int | None = None) -> Iterator[frozenset[int]]:
        """Yield pairs of factors of full size, and all columns or all rows with another factor."""
        kinds = self.kinds
        for one, other in itertools.combinations(held, 2) if new is None else ((i, new) for i in held if i != new):
            if kinds[one] | kinds[other] == MATRIX:
                yield frozenset((one, other))
        for kind in (COLUMN, ROW):
            together = [i for i in held if kinds[i] == kind]
            if len(together) > 1:
                for i in held if new is None else [new]:
                    if kinds[i] != kind and kinds[i] | kind == MATRIX:
                        yield frozenset((*together, i))

    def _note(self, candidates: Iterator[frozenset[int]]) -> None:
        for some in candidates:
            if self._looks > _LOOKS:
                return
            if some not in self._noted:
                self._noted.add(some)
                saved = self._saved(some)[0]
                if saved > 0:
                    heapq.heappush(self._heap, (-saved, len(self._noted), some))


def _chain(op: str, nodes: Sequence[Node]) -> Node:
    """Join many nodes by one operator as a balanced tree, which keeps it shallow."""
    if len(nodes) < 5:
        return functools.reduce(lambda a, b: Binary(op, a, b), nodes)
    half = len(nodes) // 2
    return Binary(op, _chain(op, nodes[:half]), _chain(op, nodes[half:]))


def _powered(node: Node, exponent: float) -> Node:
    if exponent == 1:
        return node
    return Call("sqrt", (node,)) if exponent == 0.5 else Binary("**", node, Number(exponent))


def _multiplied(node: Node, factor: float) -> Node:
    if factor == 1:
        return node
    match node:
        case Binary("/", Number(1.0), lower):
            return Binary("/", Number(factor), lower)
    return Binary("*", Number(factor), node)


def _added(node: Node, number: float) -> Node:
    return Binary("+" if number > 0 else "-", node, Number(abs(number)))
