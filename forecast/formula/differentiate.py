"""First and second derivatives of a formula, as trees that share their parts.

The formula becomes a graph in which equal parts are one node: sums with coefficients, products of powers. Every node is
differentiated once, with what is already there (the slope of ``u**v`` is ``u**v`` times something), and what stands in
several places is written once, under a name of its own.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from forecast.errors import FormulaError, printable
from forecast.formula import tree
from forecast.formula.tree import Binary, Call, Name, Node, Number, Unary, signed

__all__ = ["RULES", "Derivatives", "Differentiated", "derivative", "differentiate"]

#: Parts of a formula and its derivatives together, those of a sum or a product counted each time.
MAX_PARTS = 100_000
#: Levels of a derivative that is written as one formula.
MAX_DEPTH = 250
#: Levels of a tree before a part of it is given a name.
_DEEP = 16
#: Work that the search for what to multiply first may do.
_LOOKS = 200_000

#: The slope of each function of one argument, in its own grammar; the slopes of steps are taken away from the step.
RULES: Mapping[str, str] = {
    "abs": "sign(x)",
    "acos": "-1/sqrt(1 - x**2)",
    "asin": "1/sqrt(1 - x**2)",
    "atan": "1/(1 + x**2)",
    "cbrt": "1/(3*cbrt(x)**2)",
    "ceil": "0",
    "cos": "-sin(x)",
    "cosh": "sinh(x)",
    "erf": "2/sqrt(pi)*exp(-x**2)",
    "erfc": "-2/sqrt(pi)*exp(-x**2)",
    "exp": "exp(x)",
    "expm1": "exp(x)",
    "heaviside": "0",
    "log": "1/x",
    "log10": "1/(log(10)*x)",
    "log1p": "1/(1 + x)",
    "log2": "1/(log(2)*x)",
    "sign": "0",
    "sin": "cos(x)",
    "sinh": "cosh(x)",
    "sqrt": "1/(2*sqrt(x))",
    "tan": "1 + tan(x)**2",
    "tanh": "1 - tanh(x)**2",
}


@dataclass(frozen=True)
class Derivatives:
    """Derivatives of a formula.

    Parameters
    ----------
    shared : tuple of (str, Node)
        Assignments, to be made in order.
    gradient : tuple of Node
        One tree for each parameter, over the formula's names and the assigned ones.
    hessian : tuple of (int, int, Node)
        The second derivatives that are not zero, row <= column; empty where they were not asked for.
    """

    shared: tuple[tuple[str, Node], ...]
    gradient: tuple[Node, ...]
    hessian: tuple[tuple[int, int, Node], ...]


class Differentiated:
    """A formula and its derivatives by some parameters, taken when they are first asked for.

    Parameters
    ----------
    root : Node
    parameters : sequence of str
    """

    def __init__(self, root: Node, parameters: Sequence[str]) -> None:
        self.parameters = tuple(parameters)
        self._parts = _Parts(parameters, printable(tree.text(root), 80))
        self._root = self._parts.enter(root)
        self._written: dict[tuple[int, frozenset[str]], Derivatives] = {}

    @functools.cached_property
    def _first(self) -> list[int]:
        return [self._parts.slope(self._root, name) for name in self.parameters]

    @functools.cached_property
    def _second(self) -> list[tuple[int, int, int]]:
        found = []
        for i, first in enumerate(self._first):
            for j, name in list(enumerate(self.parameters))[i:]:
                curve = self._parts.slope(first, name)
                if not self._parts.is_zero(curve):
                    found.append((i, j, curve))
        return found

    def curved(self) -> frozenset[tuple[int, int]]:
        """Return the pairs (i, j), i <= j, of parameters whose second derivative is not always zero."""
        return frozenset((i, j) for i, j, _ in self._second)

    def derivatives(self, order: int, positive: Iterable[str] = ()) -> Derivatives:
        """Write the derivatives up to an order, 1 or 2, for values where the names in `positive` are above zero.

        Raises
        ------
        FormulaError
            If the derivatives have too many parts, or a number in them is out of range.
        """
        key = order, frozenset(positive)
        if key not in self._written:
            second = self._second if order > 1 else []
            results = [*self._first, *(curve for _, _, curve in second)]
            shared, trees = _Writer(self._parts, self._root, results, key[1]).written()
            self._written[key] = Derivatives(
                shared=tuple(shared),
                gradient=tuple(trees[: len(self._first)]),
                hessian=tuple((i, j, t) for (i, j, _), t in zip(second, trees[len(self._first) :], strict=True)),
            )
        return self._written[key]


def differentiate(root: Node, parameters: Sequence[str], order: int, positive: Iterable[str] = ()) -> Derivatives:
    """Differentiate a tree by each of `parameters`, once (`order` 1) or twice (`order` 2).

    Examples
    --------
    >>> from forecast.formula import parse
    >>> from forecast.formula.tree import text
    >>> found = differentiate(parse("a*exp(b*x)").root, ["a", "b"], 2)
    >>> [(name, text(node)) for name, node in found.shared]
    [('shared0', 'exp(b*x)'), ('shared1', 'a*shared0')]
    >>> [text(node) for node in found.gradient], [(i, j, text(node)) for i, j, node in found.hessian]
    (['shared0', 'x*shared1'], [(0, 1, 'x*shared0'), (1, 1, 'x**2*shared1')])
    """
    return Differentiated(root, parameters).derivatives(order, positive)


def derivative(root: Node, name: str) -> Node:
    """Return the derivative of a tree with respect to `name`, as one tree."""
    parts = _Parts([name], printable(tree.text(root), 80))
    whole = parts.enter(root)
    found = _Writer(parts, whole, [parts.slope(whole, name)], frozenset()).whole_tree()
    size, depth = _measured(found)
    if size > MAX_PARTS or depth > MAX_DEPTH:
        raise FormulaError(f"formula '{printable(tree.text(root), 80)}': its derivative is too large for one formula")
    return found


def _measured(root: Node) -> tuple[int, int]:
    """Return size and depth of a tree, some of whose parts may be one object in several places."""
    known: dict[int, tuple[int, int]] = {}
    todo = [root]
    while todo:
        below = tree.children(todo[-1])
        left = [child for child in below if id(child) not in known]
        if left:
            todo.extend(left)
            continue
        sizes = [known[id(child)] for child in below]
        known[id(todo.pop())] = 1 + sum(s for s, _ in sizes), 1 + max((d for _, d in sizes), default=0)
    return known[id(root)]


# The graph ------------------------------------------------------------------------------------------------------------

#: What a node is made of, as bits: parameters come as columns, variables as rows, and what holds both is a matrix.
_COLUMN, _ROW, _MATRIX = 1, 2, 3


class _Parts:
    """Nodes in normal form, each once; what a node rests on stands before it.

    A node is ``("number", value)``, ``("name", name)``, ``("sum", constant, ((coefficient, node), ...))``,
    ``("product", ((node, exponent), ...))`` with numbers for exponents, ``("power", base, exponent)`` or
    ``("call", function, arguments)``.
    """

    def __init__(self, parameters: Sequence[str], shown: str) -> None:
        self.nodes: list[tuple[Any, ...]] = []
        self.kinds: list[int] = []
        self.holds: list[int] = []  # which parameters, as bits
        self.bits = {name: 1 << i for i, name in enumerate(parameters)}
        self.names: set[str] = set()
        self._known: dict[tuple[Any, ...], int] = {}
        self._slopes: dict[str, dict[int, int]] = {name: {} for name in parameters}
        self._shown, self._size = shown, 0

    def _add(self, *node: Any) -> int:
        found = self._known.get(node)
        if found is not None:
            return found
        self._size += 1 + len(below(node))
        if self._size > MAX_PARTS:
            raise FormulaError(
                f"formula '{self._shown}': its derivatives have more than {MAX_PARTS} parts; "
                "a formula with fewer nested powers and functions has fewer"
            )
        at = self._known[node] = len(self.nodes)
        kind = holds = 0
        if node[0] == "name":
            self.names.add(node[1])
            holds = self.bits.get(node[1], 0)
            kind = _COLUMN if holds else _ROW
        for part in below(node):
            kind |= self.kinds[part]
            holds |= self.holds[part]
        self.nodes.append(node)
        self.kinds.append(kind)
        self.holds.append(holds)
        return at

    def is_zero(self, node: int) -> bool:
        """Tell whether a node is the number 0."""
        return bool(self.nodes[node] == ("number", 0.0))

    def number(self, value: float) -> int:
        """Return the node of a number."""
        if not math.isfinite(value):
            raise FormulaError(f"formula '{self._shown}': a number in its derivatives is out of range")
        return self._add("number", value + 0.0)

    def sum(self, terms: Iterable[tuple[float, int]], *, flat: bool = False) -> int:
        """Add nodes times numbers; `flat` also takes sums among them apart."""
        constant, found = 0.0, dict[int, float]()
        terms = list(terms)
        flat = flat and len(terms) > 1  # -1*(a - b) stays what it is
        for factor, term in terms:
            node = self.nodes[term]
            if node[0] == "number":
                constant += factor * node[1]
            elif node[0] == "sum" and (flat or _scaled(node)):
                constant += factor * node[1]
                for inner, part in node[2]:
                    found[part] = found.get(part, 0.0) + factor * inner
            else:
                found[term] = found.get(term, 0.0) + factor
        left = tuple((factor, term) for term, factor in sorted(found.items()) if factor)
        if not left:
            return self.number(constant)
        if len(left) == 1 and left[0][0] == 1 and not constant:
            return left[0][1]
        if not all(math.isfinite(factor) for factor, _ in left) or not math.isfinite(constant):
            self.number(math.inf)
        return self._add("sum", constant + 0.0, left)

    def product(self, factors: Iterable[tuple[int, float]], factor: float = 1.0) -> int:
        """Multiply powers of nodes, exponents being numbers."""
        todo, found = list(factors), dict[int, float]()
        while todo:
            for at, exponent in todo:
                factor *= self._collect(at, exponent, found)
            # what has become a first power may itself be a product
            todo = [(at, 1.0) for at, e in found.items() if e == 1 and self._parts_of_product(at)]
            for at, _ in todo:
                del found[at]
        left = tuple((at, exponent) for at, exponent in sorted(found.items()) if exponent)
        if factor == 0 or not left:
            return self.number(factor)
        whole = left[0][0] if len(left) == 1 and left[0][1] == 1 else self._add("product", left)
        return whole if factor == 1 else self.sum([(factor, whole)])

    def _parts_of_product(self, at: int) -> bool:
        node = self.nodes[at]
        return bool(node[0] == "product" or _scaled(node))

    def _collect(self, at: int, exponent: float, found: dict[int, float]) -> float:
        """Take a factor apart as far as its power allows; return the number in it."""
        node, whole = self.nodes[at], exponent == int(exponent)
        if node[0] == "number":
            value = _raised(node[1], exponent)
            if value is not None:
                return value
        elif _scaled(node):
            ((inner, part),) = node[2]
            value = _raised(inner, exponent)
            if value:
                return value * self._collect(part, exponent, found)
        elif node[0] == "product" and whole and all(abs(power * exponent) <= 1e6 for _, power in node[1]):
            value = 1.0
            for part, power in node[1]:
                value *= self._collect(part, power * exponent, found)
            return value
        found[at] = found.get(at, 0.0) + exponent
        return 1.0

    def power(self, base: int, exponent: int) -> int:
        """Raise a node to a node."""
        if self.nodes[exponent][0] == "number":
            return self.product([(base, self.nodes[exponent][1])])
        return base if self.nodes[base] == ("number", 1.0) else self._add("power", base, exponent)

    def call(self, function: str, args: Sequence[int]) -> int:
        """Apply a function."""
        if len(args) > 2:
            return functools.reduce(lambda a, b: self.call(function, (a, b)), args)
        nodes = [self.nodes[a] for a in args]
        if all(node[0] == "number" for node in nodes):
            made = Call(function, tuple(signed(node[1]) for node in nodes))
            value = float(tree.evaluate(made, {}))
            if math.isfinite(value):
                return self.number(value)
        if function == "sqrt":
            return self.product([(args[0], 0.5)])
        if (function, *nodes[0][:2]) in (("exp", "call", "log"), ("log", "call", "exp")):
            return int(nodes[0][2][0])
        return self._add("call", function, tuple(args))

    def enter(self, root: Node, names: Mapping[str, int] | None = None) -> int:
        """Put a tree into the graph, `names` being nodes that stand for names."""
        made: dict[int, int] = {}
        order, todo = [], [root]
        while todo:
            order.append(todo.pop())
            todo.extend(tree.children(order[-1]))
        for node in reversed(order):  # in reading order, children before what they are in
            parts = [made[id(child)] for child in tree.children(node)]
            made[id(node)] = self._entered(node, parts, names or {})
        return made[id(root)]

    def _entered(self, node: Node, parts: list[int], names: Mapping[str, int]) -> int:
        match node:
            case Number(value):
                return self.number(value)
            case Name(name):
                return names[name] if name in names else self._add("name", name)
            case Unary():
                return self.sum([(-1.0, parts[0])], flat=True)
            case Call(function):
                return self.call(function, parts)
            case Binary("+" | "-" as op):
                return self.sum([(1.0, parts[0]), (1.0 if op == "+" else -1.0, parts[1])], flat=True)
            case Binary("*" | "/" as op):
                return self.product([(parts[0], 1.0), (parts[1], 1.0 if op == "*" else -1.0)])
        return self.power(*parts)

    def slope(self, root: int, name: str) -> int:
        """Return the node of a derivative; every node is differentiated once by every parameter."""
        known, bit = self._slopes[name], self.bits[name]
        found, todo = set[int](), [root]
        while todo:
            at = todo.pop()
            if at not in found and at not in known and self.holds[at] & bit:
                found.add(at)
                todo.extend(below(self.nodes[at]))
        for at in sorted(found):
            known[at] = self._slope(at, known)
        return known[root] if root in known else self.number(0.0)

    def _slope(self, at: int, known: Mapping[int, int]) -> int:
        match self.nodes[at]:
            case ("name", _):
                return self.number(1.0)
            case ("sum", _, terms):
                return self.sum([(factor, known[term]) for factor, term in terms if term in known], flat=True)
            case ("product", factors):
                return self.sum([(1.0, term) for term in self._product_slopes(at, factors, known)], flat=True)
            case ("power", base, exponent):
                factors = []
                if exponent in known:
                    factors.append(self.product([(known[exponent], 1), (self.call("log", [base]), 1)]))
                if base in known:
                    factors.append(self.product([(exponent, 1), (known[base], 1), (base, -1)]))
                return self.product([(at, 1), (self.sum((1.0, factor) for factor in factors), 1)])
            case ("call", function, args) if len(args) == 1:
                outer = self.enter(_rule(function), {"x": args[0]})
                return self.product([(known[args[0]], 1), (outer, 1)])
            case ("call", function, (left, right)):
                ahead = self.sum([(1.0, left), (-1.0, right)])
                steps = [self.call("heaviside", [self.sum([(sign, ahead)])]) for sign in (1.0, -1.0)]
                pairs = zip((left, right), steps if function == "max" else reversed(steps), strict=True)
                return self.sum([(1.0, self.product([(known[a], 1), (step, 1)])) for a, step in pairs if a in known])
        raise AssertionError(self.nodes[at])

    def _product_slopes(self, at: int, factors: Any, known: Mapping[int, int]) -> Iterator[int]:
        for i, (base, exponent) in enumerate(factors):
            if base not in known:
                continue
            if self.nodes[base][0] == "product":  # (a*x)**1.7 by a is 1.7*(a*x)**1.7/a
                yield self.product([(at, 1.0), (known[base], 1.0), (base, -1.0)], exponent)
            else:
                others = (*factors[:i], *factors[i + 1 :])
                yield self.product([(base, exponent - 1), (known[base], 1.0), *others], exponent)


def below(node: tuple[Any, ...]) -> tuple[int, ...]:
    """Return what a node of the graph is made of."""
    match node:
        case ("sum", _, terms):
            return tuple(term for _, term in terms)
        case ("product", factors):
            return tuple(base for base, _ in factors)
        case ("power", base, exponent):
            return base, exponent
        case ("call", _, args):
            return tuple(args)
    return ()


def _positive(parts: _Parts, names: frozenset[str]) -> list[bool]:
    """Tell of every node whether it is above zero where some names are."""
    found: list[bool] = []
    for node in parts.nodes:
        match node:
            case ("number", value):
                known = value > 0
            case ("name", name):
                known = name in names
            case ("sum", constant, terms):
                known = constant >= 0 and all(factor > 0 and found[term] for factor, term in terms)
            case ("product", factors):
                known = all(found[base] for base, _ in factors)
            case ("power", base, _):
                known = found[base]
            case ("call", function, args):
                known = function in ("exp", "cosh") or (function in _RISING and all(found[a] for a in args))
        found.append(known)
    return found


#: Functions that are above zero where their arguments are.
_RISING = frozenset(("abs", "cbrt", "erf", "expm1", "log1p", "max", "min", "sign", "sinh", "tanh"))


def _scaled(node: tuple[Any, ...]) -> bool:
    """Tell whether a node is a number times a node."""
    return node[0] == "sum" and not node[1] and len(node[2]) == 1


def _raised(value: float, exponent: float) -> float | None:
    """Return a power of two numbers, if it is a number that float64 holds well."""
    if exponent == 1:
        return value
    try:
        found = math.pow(value, exponent)
    except (OverflowError, ValueError):
        return None
    return found if not value or abs(found) > 1e-290 else None


@functools.cache
def _rule(function: str) -> Node:
    from forecast.formula import parse

    return parse(RULES[function]).root


# Writing --------------------------------------------------------------------------------------------------------------

#: A part of what is written: ``("node", node)``, ``("to", node, exponent)`` for a numeric power,
#: ``("moved", base, exponent, number)`` for a power whose exponent has a number added, ``("of", part, ...)`` a product.
_Part: TypeAlias = "tuple[Any, ...]"


class _Writer:
    """Writes nodes as trees: what stands in several places once, and of products that share factors those first."""

    def __init__(self, parts: _Parts, value: int, results: Sequence[int], positive: frozenset[str]) -> None:
        self.parts, self.results = parts, [("node", r) for r in results]
        self._kinds: dict[_Part, int] = {}
        self.positive = _positive(parts, positive)
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
        lists = {at: p for at, p in self.products.items() if self.parts.kinds[at] == _MATRIX}
        factors: list[_Part] = list(dict.fromkeys(part for parts in lists.values() for part in parts))
        index = {part: i for i, part in enumerate(factors)}
        search = _Search({at: [index[part] for part in parts] for at, parts in lists.items()})
        search.kinds = [self._kind(part) for part in factors]
        for some in search.found():
            factors.append(("of", *sorted((factors[i] for i in some), key=self._place)))
            self._kinds[factors[-1]] = _MATRIX
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
        several = self.uses[part] >= enough and (part[0] == "node" or self._kind(part) == _MATRIX)
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
            promised, _, some = heapq.heappop(self._heap)
            saved, chosen = self._saved(some)
            if saved < -promised:  # fewer than when it was noted
                if saved > 0:
                    heapq.heappush(self._heap, (-saved, len(self._noted), some))
                continue
            whole = len(self.kinds)
            self.kinds.append(_MATRIX)
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
        return kinds.count(_MATRIX), kinds.count(_COLUMN), kinds.count(_ROW)

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
            if kinds[one] | kinds[other] == _MATRIX:
                yield frozenset((one, other))
        for kind in (_COLUMN, _ROW):
            together = [i for i in held if kinds[i] == kind]
            if len(together) > 1:
                for i in held if new is None else [new]:
                    if kinds[i] != kind and kinds[i] | kind == _MATRIX:
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
