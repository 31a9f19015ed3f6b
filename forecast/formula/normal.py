"""A formula and its derivatives as one graph in normal form: sums with coefficients, products of powers.

Equal parts are one node, and every node is differentiated once by every parameter, with what is already there: the
slope of ``u**v`` is ``u**v`` times something.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from forecast.base import budgets
from forecast.errors import FormulaError
from forecast.formula import tree
from forecast.formula.tree import Binary, Call, Name, Node, Number, Unary, signed

__all__ = ["COLUMN", "MATRIX", "ROW", "RULES", "Parts", "below", "positive"]

#: Parts of a formula and its derivatives together, those of a sum or a product counted each time.
MAX_PARTS = 100_000

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


#: What a node is made of, as bits: parameters come as columns, variables as rows, and what holds both is a matrix.
COLUMN, ROW, MATRIX = 1, 2, 3


class Parts:
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
        self._work = f"formula '{shown}': differentiation"

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
            kind = COLUMN if holds else ROW
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
            budgets.check_time(self._work)
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


def positive(parts: Parts, names: frozenset[str]) -> list[bool]:
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
