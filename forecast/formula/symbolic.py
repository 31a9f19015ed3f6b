"""Trees to sympy and back, node by node, and inverses. sympy is never handed a text.

Symbols carry no assumptions, and all functions but exp, log and powers are opaque, so that sympy does little of its own
accord: its own tanh(sin(...)) takes minutes when nested a few dozen deep.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from forecast.errors import FormulaError, printable
from forecast.formula import tree
from forecast.formula.functions import FUNCTIONS
from forecast.formula.tree import Binary, Call, Name, Node, Number, Unary, number_node

__all__ = ["from_sympy", "solve", "to_sympy"]

_SMALL = 1000.0  # whole numbers up to here may be exact in sympy
_EXACT = 10_000.0  # but only while the product of those inside powers stays below this
_SOLVABLE = 60  # parts of a formula in which a name occurs more than once


#: What sympy knows by a name of its own.
_THEIRS: Mapping[str, str] = {"abs": "Abs", "max": "Max", "min": "Min", "heaviside": "Heaviside", "ceil": "ceiling"}
_TRUE = ("exp", "log", "sqrt", "log2", "log10")


@functools.cache
def _sympy_functions() -> Mapping[str, Callable[..., Any]]:
    import sympy as sp

    table: dict[str, Callable[..., Any]] = {n: type(f"{n}_", (sp.Function,), {}) for n in FUNCTIONS if n not in _TRUE}
    table |= {n: getattr(sp, n) for n in ("exp", "log", "sqrt")}
    table |= {"log10": lambda x: sp.log(x) / sp.log(10), "log2": lambda x: sp.log(x) / sp.log(2)}
    return table


def _burden(root: Node) -> float:
    """Multiply the numbers that stand inside powers: what exact arithmetic may raise a number to.

    ``exp(n*log(x))`` is a power too: sympy makes one of it.
    """
    product = 1.0
    for node in tree.walk(root):
        inside = node.right if isinstance(node, Binary) and node.op == "**" else node
        if inside is not node or (isinstance(node, Call) and node.function == "exp"):
            for part in tree.walk(inside):
                if isinstance(part, Number):
                    product = min(product * max(1.0, part.value), 1e300)
    return product


def to_sympy(root: Node) -> Any:
    """Return a tree as a sympy expression over plain symbols of the same names.

    Whole numbers are exact where that is harmless, else floats, so that no exact power can explode.
    """
    import sympy as sp

    exact = _burden(root) <= _EXACT

    def number(value: float) -> Any:
        whole = value == int(value) and abs(value) <= (_SMALL if exact else 1.0)
        return sp.Integer(int(value)) if whole else sp.Float(value)

    def fold(node: Node) -> Any:
        match node:
            case Number(value):
                return number(value)
            case Binary("/", Number(above), Number(below)) if below and exact and max(above, below) <= _SMALL:
                return number(above) / number(below)
        value = float(tree.evaluate(node, {}))
        if not math.isfinite(value):
            raise FormulaError(f"the constant '{printable(tree.to_text(node), 60)}' is out of range")
        return number(value)

    def convert(node: Node) -> Any:
        if isinstance(node, Name):
            return sp.Symbol(node.name)
        if tree.constant(node):
            return fold(node)
        if isinstance(node, Unary):
            return -convert(node.operand)
        if isinstance(node, Call):
            make, args = _sympy_functions()[node.function], [convert(a) for a in node.args]
            return functools.reduce(make, args) if len(args) > 1 else make(*args)
        assert isinstance(node, Binary)
        left, right = convert(node.left), convert(node.right)
        match node.op:
            case "+":
                return left + right
            case "-":
                return left - right
            case "*":
                return left * right
            case "/":
                return left / right
            case _:
                return left**right

    return convert(root)


def _chain(op: str, nodes: Sequence[Node]) -> Node:
    """Join many nodes by one operator as a balanced tree, which keeps it shallow."""
    if len(nodes) < 9:
        return functools.reduce(lambda a, b: Binary(op, a, b), nodes)
    half = len(nodes) // 2
    return Binary(op, _chain(op, nodes[:half]), _chain(op, nodes[half:]))


def from_sympy(expression: Any, names: Iterable[str]) -> Node:
    """Return a sympy expression as a tree.

    Raises
    ------
    FormulaError
        If something in it is outside the grammar (a complex number, an integral), or a symbol is not in `names`.
    """
    import sympy as sp

    allowed = frozenset(names)
    back = {make: name for name, make in _sympy_functions().items() if isinstance(make, type)}
    for name in FUNCTIONS:
        theirs = getattr(sp, _THEIRS.get(name, name), None)
        if isinstance(theirs, type):
            back[theirs] = name
    constants = {sp.pi: Number(math.pi), sp.E: Call("exp", (Number(1.0),))}

    def real(e: Any) -> float:
        value = float(sp.Float(e))
        if not math.isfinite(value):
            raise FormulaError("a number in a symbolic result is out of range")
        return value

    def product(e: Any) -> Node:
        above: list[Node] = []
        below: list[Node] = []
        negative = False
        for factor in e.args:
            if factor.is_Number:
                negative ^= bool(factor < 0)
                if factor.is_Rational and not factor.is_Integer:
                    below.append(Number(real(factor.q)))
                    factor = sp.Integer(factor.p)
                if abs(factor) != 1:
                    above.append(Number(abs(real(factor))))
            elif factor.is_Pow and factor.exp.is_Number and factor.exp < 0:
                below.append(convert(factor.base ** (-factor.exp)))
            else:
                above.append(convert(factor))
        node = _chain("*", above) if above else Number(1.0)
        node = Binary("/", node, _chain("*", below)) if below else node
        return Unary("-", node) if negative else node

    def total(e: Any) -> Node:
        plus: list[Node] = []
        minus: list[Node] = []
        for node in map(convert, e.args):
            if isinstance(node, Unary):
                minus.append(node.operand)
            else:
                plus.append(node)
        if not plus:
            return Unary("-", _chain("+", minus))
        if len(minus) > 8:
            return Binary("-", _chain("+", plus), _chain("+", minus))
        return functools.reduce(lambda a, b: Binary("-", a, b), minus, _chain("+", plus))

    def convert(e: Any) -> Node:
        if e.is_Symbol:
            if e.name not in allowed:
                raise FormulaError(f"unknown name '{printable(e.name, 60)}' in a symbolic result")
            return Name(e.name)
        if e in constants:
            return cast(Node, constants[e])
        if e.is_Rational and not e.is_Integer:
            node = Binary("/", Number(abs(real(e.p))), Number(real(e.q)))
            return Unary("-", node) if e < 0 else node
        if e.is_Number:
            return number_node(real(e))
        if e.is_Add:
            return total(e)
        if e.is_Mul:
            return product(e)
        if e.is_Pow:
            if e.exp == sp.Rational(1, 2):
                return Call("sqrt", (convert(e.base),))
            if e.exp == -1:
                return Binary("/", Number(1.0), convert(e.base))
            return Binary("**", convert(e.base), convert(e.exp))
        if e.func is sp.DiracDelta:  # the slope of a step, away from the step
            return Number(0.0)
        if e.func in back:
            args = e.args[:1] if e.func is sp.Heaviside else e.args
            return Call(back[e.func], tuple(map(convert, args)))
        raise FormulaError(f"a symbolic result is outside the grammar: {type(e).__name__}")

    return convert(expression)


def _count_occurrences(node: Node, name: str) -> int:
    return sum(isinstance(n, Name) and n.name == name for n in tree.walk(node))


def solve(root: Node, name: str, value: float) -> list[Node]:
    """Return trees for what `name` must be so that `root` equals `value`.

    A name that occurs once is freed step by step; otherwise sympy solves, for formulas of moderate size.
    """
    count = _count_occurrences(root, name)
    if count == 0:
        raise FormulaError(f"formula '{printable(tree.to_text(root), 80)}' does not depend on '{printable(name, 60)}'")
    if count == 1:
        return _free(root, name, number_node(value))
    return _solve_by_sympy(root, name, value)


def _free(node: Node, name: str, value: Node) -> list[Node]:
    if isinstance(node, Name):
        return [value]
    if isinstance(node, Unary):
        return _free(node.operand, name, Unary("-", value))
    if isinstance(node, Call):
        return [r for v in _inverse(node, value) for r in _free(node.args[0], name, v)]
    assert isinstance(node, Binary)
    left, right, on_left = node.left, node.right, _count_occurrences(node.left, name) == 1
    if node.op == "**":
        if not on_left:
            return _free(right, name, Binary("/", Call("log", (value,)), Call("log", (left,))))
        root = Binary("**", value, Binary("/", Number(1.0), right))
        roots: list[Node] = [root]
        if tree.constant(right) and float(tree.evaluate(right, {})) % 2 == 0:
            roots.append(Unary("-", root))
        return [r for v in roots for r in _free(left, name, v)]
    if on_left:
        undo = {"+": "-", "-": "+", "*": "/", "/": "*"}[node.op]
        return _free(left, name, Binary(undo, value, right))
    if node.op in "+*":
        return _free(right, name, Binary("-" if node.op == "+" else "/", value, left))
    return _free(right, name, Binary(node.op, left, value))


def _inverse(node: Call, v: Node) -> list[Node]:
    one, two = Number(1.0), Number(2.0)
    match node.function:
        case "exp":
            return [Call("log", (v,))]
        case "log":
            return [Call("exp", (v,))]
        case "log2":
            return [Binary("**", two, v)]
        case "log10":
            return [Binary("**", Number(10.0), v)]
        case "sqrt":
            return [Binary("**", v, two)]
        case "abs":
            return [v, Unary("-", v)]
        case "tanh":
            ratio = Binary("/", Binary("+", one, v), Binary("-", one, v))
            return [Binary("/", Call("log", (ratio,)), two)]
        case "cbrt":
            return [Binary("**", v, Number(3.0))]
        case "expm1":
            return [Call("log1p", (v,))]
        case "log1p":
            return [Call("expm1", (v,))]
        case "atan":
            return [Call("tan", (v,))]
        case "asin" | "acos":
            return [Call(node.function[1:], (v,))]
    raise FormulaError(f"cannot be solved through {node.function}(): it has no single inverse in this grammar")


def _solve_by_sympy(root: Node, name: str, value: float) -> list[Node]:
    import sympy as sp

    shown = printable(tree.to_text(root), 80)
    if sum(1 for _ in tree.walk(root)) > _SOLVABLE or _burden(root) > 64:
        raise FormulaError(f"formula '{shown}': too large to be solved for '{printable(name, 60)}' (it occurs twice)")
    equation = to_sympy(Binary("-", root, number_node(value)))
    try:
        found = sp.solve(equation, sp.Symbol(name))
    except (NotImplementedError, ValueError, TypeError, RecursionError):
        raise FormulaError(f"formula '{shown}': no closed form when solved for '{printable(name, 60)}'") from None
    names = {n.name for n in tree.walk(root) if isinstance(n, Name)} - {name}
    nodes: list[Node] = []
    for answer in found:
        if not answer.free_symbols:
            number = complex(answer.evalf())
            if abs(number.imag) <= 1e-12 * max(1.0, abs(number.real)):
                nodes.append(number_node(number.real))
            continue
        try:
            nodes.append(from_sympy(answer, names))
        except FormulaError:
            continue  # a complex branch
    return nodes
