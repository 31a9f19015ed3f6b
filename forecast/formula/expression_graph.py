"""Trees as one graph in which equal parts are one node, arranged so that little is computed at full size.

A formula is compiled in three steps, tree to graph to tape; its derivatives are nodes of the same graph
(`forecast.formula.derivatives`).

A parameter comes as a column (B, 1), a variable as a row (n,); what holds both is a matrix (B, n). Products and sums
are regrouped so that columns and rows meet first, among themselves, and matrices are touched as seldom as can be.
Where a base is known to be positive, ``x**p`` is ``exp(p*log(x))``: the logarithm is shared, and is often a row.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from forecast.errors import FormulaError
from forecast.formula.functions import FUNCTIONS
from forecast.formula.tree import Binary, Call, Name, Node, Number, Unary

#: Nodes of a formula and its derivatives together, each counted with its arguments.
MAX_NODES = 100_000

#: What a node is made of, as bits.
_COLUMN, _ROW, _MATRIX = 1, 2, 3
_COMMUTATIVE = ("+", "*")
_ODD_FUNCTIONS = ("asin", "atan", "cbrt", "erf", "sign", "sin", "sinh", "tan", "tanh")
_LARGEST_CHAIN = 4  # x**4 is two products; beyond, a power costs less or is more exact


class ExpressionGraph:
    """Nodes ``(operation, arguments)`` in an order in which they can be computed.

    Parameters
    ----------
    parameters, variables : collection of str
    positive : collection of str
        The names whose every value is above zero.
    shown : str
        The formula, for the error that says that its derivatives are too large.
    """

    def __init__(
        self, parameters: Collection[str], variables: Collection[str], positive: Collection[str], shown: str = ""
    ) -> None:
        self.nodes: list[tuple[str, tuple[int, ...]]] = []
        self.kinds: list[int] = []
        self.positive: list[bool] = []
        self.numbers: dict[int, float] = {}
        self.names: dict[str, int] = {}
        #: Base and exponent of what is written as products: differentiated as the power that it is, ``u*sqrt(u)`` has
        #: a derivative at 0.
        self.powers: dict[int, tuple[int, float]] = {}
        self._shown, self._size = shown, 0
        self._known: dict[object, int] = {}
        for kind, names in ((_COLUMN, parameters), (_ROW, variables)):
            for name in names:
                self.names[name] = self._add("name", (), key=("name", name), kind=kind, positive=name in positive)

    def tree(self, node: Node, names: Mapping[str, int] | None = None) -> int:
        """Put a tree into the graph and return its node; with `names`, those nodes stand for the names in it."""
        names = self.names if names is None else names
        match node:
            case Number(value):
                return self.number(value)
            case Name(name):
                return names[name]
            case Call(function, args):
                return self.call(function, [self.tree(a, names) for a in args])
            case Binary("**", base, exponent):
                return self.power(self.tree(base, names), self.tree(exponent, names))
            case Binary("+" | "-"):
                return self.sum(list(self._terms(node, False, names)))
        return self.product(list(self._factors(node, False, names)))

    def _terms(self, node: Node, minus: bool, names: Mapping[str, int]) -> Iterator[tuple[int, bool]]:
        match node:
            case Binary("+" | "-" as op, left, right):
                yield from self._terms(left, minus, names)
                yield from self._terms(right, minus ^ (op == "-"), names)
            case Unary(_, operand):
                yield from self._terms(operand, not minus, names)
            case _:
                yield self.tree(node, names), minus

    def _factors(self, node: Node, below: bool, names: Mapping[str, int]) -> Iterator[tuple[int, bool]]:
        match node:
            case Binary("*" | "/" as op, left, right):
                yield from self._factors(left, below, names)
                yield from self._factors(right, below ^ (op == "/"), names)
            case Unary(_, operand):
                yield self.number(-1.0), False
                yield from self._factors(operand, below, names)
            case _:
                yield self.tree(node, names), below

    # One node after another -------------------------------------------------------------------------------------------

    def _add(self, op: str, args: tuple[int, ...], *, key: object, kind: int, positive: bool) -> int:
        if key not in self._known:
            self._size += 1 + len(args)
            if self._size > MAX_NODES:
                raise FormulaError(
                    f"formula '{self._shown}': its derivatives have more than {MAX_NODES} parts; "
                    "a formula with fewer nested powers and functions has fewer"
                )
            self._known[key] = len(self.nodes)
            self.nodes.append((op, args))
            self.kinds.append(kind)
            self.positive.append(positive)
        return self._known[key]

    def number(self, value: float) -> int:
        """Return the node of a number."""
        at = self._add("number", (), key=("number", repr(value)), kind=0, positive=value > 0)
        self.numbers[at] = value
        return at

    def op(self, op: str, *args: int) -> int:
        """Return the node of an operation; a number where all arguments are numbers."""
        if all(a in self.numbers for a in args):
            from forecast.formula.tape import compute

            return self.number(compute(op, [self.numbers[a] for a in args]))
        if op in _COMMUTATIVE:
            args = tuple(sorted(args))
        kind = 0
        for a in args:
            kind |= self.kinds[a]
        return self._add(op, args, key=(op, args), kind=kind, positive=self._is_positive(op, args))

    def _is_positive(self, op: str, args: tuple[int, ...]) -> bool:
        known = [self.positive[a] for a in args]
        if op in ("+", "*", "/", "sqrt", "reciprocal", "min"):
            return all(known)
        if op in ("**", "square", "abs", "cbrt", "erf", "expm1", "log1p", "sign", "sinh", "tanh"):
            return known[0]
        return op in ("cosh", "exp") or (op == "max" and any(known))

    def _negated(self, node: int) -> int | None:
        """Return what a node is the negative of, if it is one."""
        op, args = self.nodes[node]
        return args[0] if op == "negative" else None

    def minus(self, node: int) -> int:
        """Return the negative of a node."""
        inner = self._negated(node)
        return self.op("negative", node) if inner is None else inner

    # Sums and products ------------------------------------------------------------------------------------------------

    def product(self, factors: Iterable[tuple[int, bool]]) -> int:
        """Multiply nodes, or divide by those marked; columns and rows first."""
        factors, factor, groups = list(factors), 1.0, _empty_groups()
        for node, below in factors:
            inner = self._negated(node)
            if inner is not None:
                node, factor = inner, -factor
            number = self.numbers.get(node)
            if number is None:
                groups[self.kinds[node], below].append(node)
            elif below:
                factor = factor / number if number else math.nan
            else:
                factor *= number
        if not math.isfinite(factor) or factor == 0:
            return self._plain(factors)
        above = sorted(groups[_MATRIX, False])
        for kind in (_COLUMN, _ROW):
            cheap = self._ratio(abs(factor), sorted(groups[kind, False]), sorted(groups[kind, True]))
            if cheap is not None:
                above.append(self.minus(cheap) if factor < 0 else cheap)
                factor = 1.0
        under = self._chain("*", sorted(groups[_MATRIX, True]))
        if abs(factor) != 1:
            above.append(self.number(abs(factor)))
        whole = self._chain("*", above)
        if under is not None:
            whole = self.op("reciprocal", under) if whole is None else self.op("/", whole, under)
        if whole is None:
            return self.number(factor)
        return self.minus(whole) if factor < 0 else whole

    def _ratio(self, factor: float, above: Sequence[int], below: Sequence[int]) -> int | None:
        """Return factor * above / below as a node, or None where there is neither."""
        if not above and not below:
            return None
        under = self._chain("*", below)
        number = self.number(factor)
        over = self._chain("*", above if factor == 1 else [number, *above])
        if under is None:
            return over
        return self.op("reciprocal", under) if over is None else self.op("/", over, under)

    def _plain(self, factors: Iterable[tuple[int, bool]]) -> int:
        """Multiply from left to right: numbers out of range keep their place."""
        whole = self.number(1.0)
        for node, below in factors:
            whole = self.op("/" if below else "*", whole, node)
        return whole

    def _chain(self, op: str, nodes: Sequence[int]) -> int | None:
        found: int | None = None
        for node in nodes:
            found = node if found is None else self.op(op, found, node)
        return found

    def sum(self, terms: Iterable[tuple[int, bool]]) -> int:
        """Add nodes, or subtract those marked; columns and rows first."""
        offset, groups = 0.0, _empty_groups()
        for node, minus in terms:
            inner = self._negated(node)
            if inner is not None:
                node, minus = inner, not minus
            if node in self.numbers:
                offset += -self.numbers[node] if minus else self.numbers[node]
            else:
                groups[self.kinds[node], minus].append(node)
        plus, less = sorted(groups[_MATRIX, False]), sorted(groups[_MATRIX, True])
        for kind in (_COLUMN, _ROW):
            some = self._difference(sorted(groups[kind, False]), sorted(groups[kind, True]), offset)
            if some is not None:
                plus.append(some) if self._negated(some) is None else less.append(self.minus(some))
                offset = 0.0
        whole = self._difference(plus, less, offset)
        return self.number(offset) if whole is None else whole

    def _difference(self, plus: Sequence[int], less: Sequence[int], offset: float) -> int | None:
        """Return plus - less + offset as a node, or None where there is no term."""
        if not plus and not less:
            return None
        more = [*plus, self.number(offset)] if offset > 0 or (offset and not plus) else list(plus)
        fewer = [*less, self.number(-offset)] if offset < 0 and plus else list(less)
        if not more:
            total = self._chain("+", fewer)
            assert total is not None
            return self.minus(total)
        whole = more[0]
        for node in more[1:]:
            whole = self.op("+", whole, node)
        for node in fewer:
            whole = self.op("-", whole, node)
        return whole

    # Powers and functions ---------------------------------------------------------------------------------------------

    def call(self, function: str, args: Sequence[int]) -> int:
        """Apply a function."""
        if FUNCTIONS[function].most > 1:
            found = args[0]
            for node in args[1:]:
                found = self.op(function, found, node)
            return found
        (arg,) = args
        if function == "log":
            return self._log(arg)
        if function == "exp" and self.nodes[arg][0] == "log" and self.positive[self.nodes[arg][1][0]]:
            return self.nodes[arg][1][0]
        inner = self._negated(arg)
        if inner is not None and function in _ODD_FUNCTIONS:
            return self.minus(self.op(function, inner))
        return self.op(function, arg)

    def _log(self, node: int) -> int:
        """Return the logarithm; that of a product of a column and a row is a sum of theirs."""
        op, args = self.nodes[node]
        if op == "exp":
            return args[0]
        if op in "*/" and self.kinds[node] == _MATRIX and all(self.positive[a] and self.kinds[a] < 3 for a in args):
            return self.op("+" if op == "*" else "-", *(self._log(a) for a in args))
        return self.op("log", node)

    def power(self, base: int, exponent: int) -> int:
        """Raise a node to a node."""
        power = self.numbers.get(exponent)
        if base in self.numbers and power is not None:
            return self.op("**", base, exponent)
        if power == 0:
            return self.number(1.0)
        if power is not None and power == int(power) and 0 < abs(power) <= _LARGEST_CHAIN:
            whole = self._as_power(self._chain_power(base, int(abs(power))), base, abs(power))
            return whole if power > 0 else self.op("reciprocal", whole)
        if power is not None and abs(power) == 0.5:
            root = self.op("sqrt", base)
            return root if power > 0 else self.op("reciprocal", root)
        if power is not None and 2 * power == int(2 * power) and abs(power) < _LARGEST_CHAIN:
            whole = self.op("*", self._chain_power(base, int(abs(power))), self.op("sqrt", base))
            self._as_power(whole, base, abs(power))
            return whole if power > 0 else self.op("reciprocal", whole)
        if not self.positive[base]:
            return self.op("**", base, exponent)
        known = self._moved(base, exponent)
        if known is not None:
            return known
        return self.call("exp", [self.product([(exponent, False), (self._log(base), False)])])

    def _as_power(self, whole: int, base: int, power: float) -> int:
        if whole not in self.numbers and power != 1:
            self.powers[whole] = base, power
        return whole

    def _moved(self, base: int, exponent: int) -> int | None:
        """Return ``u**(v + n)``, u being positive, as ``u**v`` times a power of u, where ``u**v`` is there already."""
        for rest, n in self._split(exponent):
            inner = self.product([(rest, False), (self._log(base), False)])
            there = self._known.get(("exp", (inner,)))
            if there is not None and 0 < abs(n) <= _LARGEST_CHAIN and n == int(n):
                return self.product([(there, False), (self._chain_power(base, int(abs(n))), n < 0)])
        return None

    def _split(self, node: int) -> Iterator[tuple[int, float]]:
        """Yield what an exponent is the sum of: something, and a number."""
        if node in self.numbers:
            for n in (-1.0, -2.0, 1.0, 2.0):
                yield self.number(self.numbers[node] - n), n
            return
        op, args = self.nodes[node]
        if op in ("+", "-") and args[1] in self.numbers:
            yield args[0], self.numbers[args[1]] if op == "+" else -self.numbers[args[1]]
        elif op in ("+", "-") and args[0] in self.numbers:
            yield args[1] if op == "+" else self.minus(args[1]), self.numbers[args[0]]

    def _chain_power(self, base: int, power: int) -> int:
        if power == 1:
            return base
        half = self.op("square", self._chain_power(base, power // 2))
        return self.op("*", half, base) if power % 2 else half

    def needed(self, results: Iterable[int]) -> list[int]:
        """Return the nodes that some results rest on, in the order in which they can be computed."""
        found, todo = set(), list(results)
        while todo:
            node = todo.pop()
            if node not in found:
                found.add(node)
                todo.extend(self.nodes[node][1])
        return sorted(found)


def _empty_groups() -> dict[tuple[int, bool], list[int]]:
    return {(kind, marked): [] for kind in (_COLUMN, _ROW, _MATRIX) for marked in (False, True)}
