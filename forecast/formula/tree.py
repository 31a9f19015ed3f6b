"""The tree of a formula: its nodes, its numbers (by numpy), its text and its LaTeX.

Nothing here executes text: a formula is evaluated by walking this tree. A law is made of `Number`, `Name`, `Unary`,
`Binary` and `Call`; the expressions of scenarios hold the others too.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from forecast.errors import FormulaError, printable
from forecast.formula.functions import SCENARIO_FUNCTIONS, implementation


@dataclass(frozen=True)
class Number:
    """A number as it was written; never negative in parsed text (a sign is a `Unary`)."""

    value: float


@dataclass(frozen=True)
class Name:
    """A variable or a parameter."""

    name: str


@dataclass(frozen=True)
class Unary:
    """A minus sign; `op` is ``"-"``."""

    op: str
    operand: Node


@dataclass(frozen=True)
class Binary:
    """``left op right`` with `op` one of ``+ - * / **``."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Call:
    """A function of the tables in `forecast.formula.functions` and its arguments."""

    function: str
    args: tuple[Node, ...]


@dataclass(frozen=True)
class Comparison:
    """``left op right`` with `op` one of ``>= > <= < ==``: 1 where it holds, else 0."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Measured:
    """A number with a unit."""

    value: float
    unit: str


@dataclass(frozen=True)
class Text:
    """A text in quotes, with which a categorical quantity is compared."""

    value: str


@dataclass(frozen=True)
class Sequence:
    """A list in square brackets, an argument of a function that takes one."""

    items: tuple[Node, ...]


Node: TypeAlias = Number | Name | Unary | Binary | Call | Comparison | Measured | Text | Sequence


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes right below `node`, in reading order."""
    if isinstance(node, Unary):
        return (node.operand,)
    if isinstance(node, (Binary, Comparison)):
        return (node.left, node.right)
    if isinstance(node, Sequence):
        return node.items
    return node.args if isinstance(node, Call) else ()


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and everything below it, in reading order."""
    stack = [node]
    while stack:
        found = stack.pop()
        yield found
        stack.extend(reversed(children(found)))


def rebuild(node: Node, parts: tuple[Node, ...]) -> Node:
    """Return `node` with other children."""
    if isinstance(node, Unary):
        return Unary(node.op, parts[0])
    if isinstance(node, Binary):
        return Binary(node.op, *parts)
    if isinstance(node, Comparison):
        return Comparison(node.op, *parts)
    if isinstance(node, Sequence):
        return Sequence(parts)
    return Call(node.function, parts) if isinstance(node, Call) else node


def rewrite(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return a tree in which each part, from the leaves up, is what a function makes of it."""
    return change(rebuild(node, tuple(rewrite(part, change) for part in children(node))))


def _power(base: Any, exponent: Any) -> Any:
    import numpy as np

    common = common_power(float(exponent)) if np.ndim(exponent) == 0 else None
    return np.power(base, exponent) if common is None else common(base)


def common_power(exponent: float) -> Callable[[Any], Any] | None:
    """Return the function of the base that computes a power faster than the general one does, if there is one."""
    import numpy as np

    return {2.0: np.square, 0.5: np.sqrt, 1.0: np.positive, -1.0: np.reciprocal}.get(exponent)


def _compare(op: str, left: Any, right: Any) -> Any:
    """Return 1 where a comparison holds, 0 where it does not, and NaN where a side is not a number."""
    import numpy as np

    if isinstance(left, str) or isinstance(right, str):
        return np.equal(left, right).astype(np.float64)[()]
    return np.where(np.isnan(left) | np.isnan(right), np.nan, COMPARISON_FUNCTIONS[op](left, right))[()]


#: Each operator of a comparison, and its function.
COMPARISON_FUNCTIONS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "==": operator.eq}
)
#: The operator that says the same once the sides are exchanged; equality has none.
MIRRORED_OPERATORS: Mapping[str, str] = MappingProxyType({">=": "<=", ">": "<", "<=": ">=", "<": ">"})

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": _power}
)


def apply(node: Node, parts: tuple[Any, ...]) -> Any:
    """Compute the value of a node from the values of its children (float64 arrays or scalars, and texts).

    Raises
    ------
    FormulaError
        For a function over time and for a number with a unit: both need more than the numbers in the formula.
    """
    if isinstance(node, Unary):
        return -parts[0]
    if isinstance(node, Call):
        if SCENARIO_FUNCTIONS[node.function].over_time:
            raise FormulaError(f"'{printable(to_text(node), 60)}' reads a path over time: a scenario computes it")
        return implementation(node.function)(*parts)
    if isinstance(node, Comparison):
        return _compare(node.op, *parts)
    if isinstance(node, Sequence):
        return parts
    if isinstance(node, Measured):
        raise FormulaError(f"'{printable(to_text(node), 60)}' has a unit: forecast.units.evaluate computes it")
    assert isinstance(node, Binary)
    return _OPERATORS[node.op](*parts)


def evaluate(node: Node, values: Mapping[str, Any]) -> Any:
    """Compute a tree in float64 over values that are float64 already; what overflows is inf, and nothing warns."""
    import numpy as np

    with np.errstate(all="ignore"):
        return compile_tree(node)(values)


def compile_tree(node: Node) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function that computes a tree as `evaluate` does, for whoever computes it many times.

    It leaves numpy's warnings as they are.
    """
    import numpy as np

    if isinstance(node, Name):
        return operator.itemgetter(node.name)
    if isinstance(node, (Number, Text)):
        value = np.float64(node.value) if isinstance(node, Number) else node.value
        return lambda values: value
    parts = [compile_tree(part) for part in children(node)]
    if isinstance(node, Binary):
        (left, right), combine = parts, _OPERATORS[node.op]
        return lambda values: combine(left(values), right(values))
    if isinstance(node, Unary):
        (operand,) = parts
        return lambda values: -operand(values)
    if isinstance(node, Call) and not SCENARIO_FUNCTIONS[node.function].over_time:
        function = implementation(node.function)
        if len(parts) == 1:
            (argument,) = parts
            return lambda values: function(argument(values))
        return lambda values: function(*[part(values) for part in parts])
    return lambda values: apply(node, tuple([part(values) for part in parts]))


def constant(node: Node) -> bool:
    """Tell whether a tree is one number: no name, path over time, unit or text is in it."""
    return not any(
        isinstance(part, (Name, Measured, Text))
        or (isinstance(part, Call) and SCENARIO_FUNCTIONS[part.function].over_time)
        for part in walk(node)
    )


def number_node(value: float) -> Node:
    """Return a number of either sign as a node."""
    return Unary("-", Number(-value)) if value < 0 else Number(value)


# How tightly a node binds, as in Python: -x**2 is -(x**2), and 2**-x needs no parentheses.
_COMPARISON, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(6)
_PRECEDENCE = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "**": _POWER}


def _precedence(node: Node) -> int:
    if isinstance(node, Binary):
        return _PRECEDENCE[node.op]
    if isinstance(node, Comparison):
        return _COMPARISON
    return _SIGN if isinstance(node, Unary) else _ATOM


def _ends_in_unit(node: Node) -> bool:
    return isinstance(node, Measured) or (isinstance(node, Unary) and _ends_in_unit(node.operand))


def format_number(value: float) -> str:
    """Write a number so that it reads back as the same float64."""
    if value == math.pi:
        return "pi"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value).replace("e+", "e")


def to_text(node: Node) -> str:
    """Write a tree in the safe grammar; the text parses back to an equal tree.

    Examples
    --------
    >>> to_text(Binary("**", Name("N"), Unary("-", Name("alpha"))))
    'N**-alpha'
    """
    if isinstance(node, Number):
        return format_number(node.value)
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Measured):
        return f"{format_number(node.value)} {node.unit}"
    if isinstance(node, Text):
        return f'"{node.value}"'
    if isinstance(node, (Call, Sequence)):
        inner = ", ".join(map(to_text, children(node)))
        return f"{node.function}({inner})" if isinstance(node, Call) else f"[{inner}]"

    def inside(part: Node, least: int, *, tight: bool = False) -> str:
        # what follows a unit without a blank would be read as a part of it
        bare = _precedence(part) >= least and not (tight and _ends_in_unit(part))
        return to_text(part) if bare else f"({to_text(part)})"

    if isinstance(node, Unary):
        return "-" + inside(node.operand, _SIGN)
    if isinstance(node, Comparison):
        return f"{inside(node.left, _SUM)} {node.op} {inside(node.right, _SUM)}"
    if node.op == "**":
        return f"{inside(node.left, _ATOM, tight=True)}**{inside(node.right, _SIGN, tight=True)}"
    binds = _PRECEDENCE[node.op]
    tight = binds != _SUM
    op = node.op if tight else f" {node.op} "
    return f"{inside(node.left, binds, tight=tight)}{op}{inside(node.right, binds + 1, tight=tight)}"


_GREEK = re.compile(
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|rho|sigma|tau|upsilon|phi|chi|psi|omega|"
    "Gamma|Delta|Theta|Lambda|Xi|Sigma|Upsilon|Phi|Psi|Omega"
)


def _latex_word(word: str) -> str:
    if _GREEK.fullmatch(word):
        return "\\" + word
    return word if len(word) == 1 or word.isdigit() else rf"\mathrm{{{word}}}"


def latex_name(name: str) -> str:
    r"""Write a name: ``alpha_N`` is ``\alpha_{N}``, ``b1`` is ``b_{1}``, ``lambda_`` is ``\lambda``."""
    words = [w for w in name.split("_") if w]
    if not words:
        return r"\_" * len(name)
    numbered = re.fullmatch(r"([A-Za-z]+)(\d+)", words[0])
    if numbered:
        words[:1] = numbered.groups()
    below = ",".join(map(_latex_word, words[1:]))
    return _latex_word(words[0]) + (f"_{{{below}}}" if below else "")


def _latex_number(value: float) -> str:
    if value == math.pi:
        return r"\pi"
    digits, _, exponent = f"{value:.6g}".partition("e")
    if not exponent:
        return digits
    power = f"10^{{{int(exponent)}}}"
    return power if digits == "1" else rf"{digits} \cdot {power}"


def latex(node: Node) -> str:
    r"""Write a tree in LaTeX, in the order in which it was written.

    Examples
    --------
    >>> latex(Binary("/", Name("A"), Binary("**", Name("N"), Name("alpha"))))
    '\\frac{A}{N^{\\alpha}}'
    """
    if isinstance(node, Number):
        return _latex_number(node.value)
    if isinstance(node, Name):
        return latex_name(node.name)
    if isinstance(node, Measured):
        return rf"{_latex_number(node.value)}\,\mathrm{{{node.unit}}}"
    if isinstance(node, Text):
        return rf"\text{{{node.value}}}"
    if isinstance(node, Sequence):
        return rf"\left[{', '.join(map(latex, node.items))}\right]"
    if isinstance(node, Call):
        inner = ", ".join(map(latex, node.args))
        if node.function == "abs":
            return rf"\left|{inner}\right|"
        tex = SCENARIO_FUNCTIONS[node.function].tex
        return f"{tex}{{{inner}}}" if node.function in ("sqrt", "cbrt") else rf"{tex}\left({inner}\right)"

    def inside(part: Node, least: int) -> str:
        # a fraction draws its own borders, so it is wrapped only under a power
        bound = _ATOM if isinstance(part, Binary) and part.op == "/" and least <= _PRODUCT + 1 else _precedence(part)
        return latex(part) if bound >= least else rf"\left({latex(part)}\right)"

    if isinstance(node, Unary):
        return "-" + inside(node.operand, _SIGN)
    if isinstance(node, Comparison):
        sign = {">=": r"\ge", "<=": r"\le", "==": "="}.get(node.op, node.op)
        return f"{inside(node.left, _SUM)} {sign} {inside(node.right, _SUM)}"
    if node.op == "/":
        return rf"\frac{{{latex(node.left)}}}{{{latex(node.right)}}}"
    if node.op == "**":
        base = inside(node.left, _ATOM)
        if isinstance(node.left, Call) or (isinstance(node.left, Number) and not base.isdigit()):
            base = rf"\left({base}\right)"
        return f"{base}^{{{latex(node.right)}}}"
    left, right = inside(node.left, _PRECEDENCE[node.op]), inside(node.right, _PRECEDENCE[node.op] + 1)
    if node.op != "*":
        return f"{left} {node.op} {right}"
    return rf"{left} \cdot {right}" if right[0].isdigit() or right[0] == "-" else rf"{left} \, {right}"
