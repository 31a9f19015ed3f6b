"""The tree of a formula: its nodes, the functions it may call, its numbers (by numpy), its text and its LaTeX.

Nothing here executes text: a formula is evaluated by walking this tree.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

__all__ = [
    "FUNCTIONS",
    "Binary",
    "Call",
    "Function",
    "Name",
    "Node",
    "Number",
    "Unary",
    "apply",
    "children",
    "constant",
    "evaluate",
    "latex",
    "latex_name",
    "number",
    "rebuild",
    "signed",
    "text",
    "walk",
]


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
    """A function of the table `FUNCTIONS` and its arguments."""

    function: str
    args: tuple[Node, ...]


Node: TypeAlias = Number | Name | Unary | Binary | Call


@dataclass(frozen=True)
class Function:
    """One function of the grammar.

    Parameters
    ----------
    numpy : str
        The numpy function (``scipy.special`` for erf and erfc).
    tex : str
        LaTeX before the parentheses.
    most : int
        The largest number of arguments; more than one means at least two.
    """

    numpy: str
    tex: str
    most: int = 1


#: The functions of the grammar. Their counterparts in sympy stand in `forecast.formula.symbolic`.
FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "abs": Function("abs", "|"),
        "acos": Function("arccos", r"\arccos"),
        "asin": Function("arcsin", r"\arcsin"),
        "atan": Function("arctan", r"\arctan"),
        "cbrt": Function("cbrt", r"\sqrt[3]"),
        "ceil": Function("ceil", r"\operatorname{ceil}"),
        "cos": Function("cos", r"\cos"),
        "cosh": Function("cosh", r"\cosh"),
        "erf": Function("erf", r"\operatorname{erf}"),
        "erfc": Function("erfc", r"\operatorname{erfc}"),
        "exp": Function("exp", r"\exp"),
        "expm1": Function("expm1", r"\operatorname{expm1}"),
        "heaviside": Function("heaviside", r"\theta"),
        "log": Function("log", r"\log"),
        "log10": Function("log10", r"\log_{10}"),
        "log1p": Function("log1p", r"\operatorname{log1p}"),
        "log2": Function("log2", r"\log_{2}"),
        "max": Function("maximum", r"\max", 8),
        "min": Function("minimum", r"\min", 8),
        "sign": Function("sign", r"\operatorname{sign}"),
        "sin": Function("sin", r"\sin"),
        "sinh": Function("sinh", r"\sinh"),
        "sqrt": Function("sqrt", r"\sqrt"),
        "tan": Function("tan", r"\tan"),
        "tanh": Function("tanh", r"\tanh"),
    }
)


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes right below `node`, in reading order."""
    if isinstance(node, Unary):
        return (node.operand,)
    if isinstance(node, Binary):
        return (node.left, node.right)
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
    return Call(node.function, parts) if isinstance(node, Call) else node


@functools.cache
def _numpy(function: str) -> Callable[..., Any]:
    import numpy as np

    if function in ("erf", "erfc"):
        from scipy import special

        error_function: Callable[..., Any] = getattr(special, function)
        return error_function
    if function == "heaviside":
        return lambda x: np.heaviside(x, 0.5)
    found: Callable[..., Any] = getattr(np, FUNCTIONS[function].numpy)
    return (lambda *args: functools.reduce(found, args)) if FUNCTIONS[function].most > 1 else found


def _power(base: Any, exponent: Any) -> Any:
    import numpy as np

    if np.ndim(exponent) == 0:  # the common exponents have faster routes than the general power
        fast = {2.0: np.square, 0.5: np.sqrt, 1.0: np.positive, -1.0: np.reciprocal}.get(float(exponent))
        if fast is not None:
            return fast(base)
    return np.power(base, exponent)


def apply(node: Node, parts: tuple[Any, ...]) -> Any:
    """Compute the value of a unary, binary or call node from the values of its children (float64 arrays or scalars)."""
    if isinstance(node, Unary):
        return -parts[0]
    if isinstance(node, Call):
        return _numpy(node.function)(*parts)
    assert isinstance(node, Binary)
    left, right = parts
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
            return _power(left, right)


def evaluate(node: Node, values: Mapping[str, Any]) -> Any:
    """Compute a tree in float64 over values that are float64 already; what overflows is inf, and nothing warns."""
    import numpy as np

    def compute(part: Node) -> Any:
        if isinstance(part, Name):
            return values[part.name]
        if isinstance(part, Number):
            return np.float64(part.value)
        return apply(part, tuple(map(compute, children(part))))

    with np.errstate(all="ignore"):
        return compute(node)


def constant(node: Node) -> bool:
    """Tell whether no name is in a tree."""
    return not any(isinstance(part, Name) for part in walk(node))


def signed(value: float) -> Node:
    """Return a number of either sign as a node."""
    return Unary("-", Number(-value)) if value < 0 else Number(value)


# How tightly a node binds, as in Python: -x**2 is -(x**2), and 2**-x needs no parentheses.
_SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(1, 6)
_BINDS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "**": _POWER}


def _binds(node: Node) -> int:
    if isinstance(node, Binary):
        return _BINDS[node.op]
    return _SIGN if isinstance(node, Unary) else _ATOM


def number(value: float) -> str:
    """Write a number so that it reads back as the same float64."""
    if value == math.pi:
        return "pi"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return repr(value).replace("e+", "e")


def text(node: Node) -> str:
    """Write a tree in the safe grammar; the text parses back to an equal tree.

    Examples
    --------
    >>> text(Binary("**", Name("N"), Unary("-", Name("alpha"))))
    'N**-alpha'
    """
    if isinstance(node, Number):
        return number(node.value)
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Call):
        return f"{node.function}({', '.join(map(text, node.args))})"

    def inside(part: Node, least: int) -> str:
        return text(part) if _binds(part) >= least else f"({text(part)})"

    if isinstance(node, Unary):
        return "-" + inside(node.operand, _SIGN)
    if node.op == "**":
        return f"{inside(node.left, _ATOM)}**{inside(node.right, _SIGN)}"
    binds = _BINDS[node.op]
    op = f" {node.op} " if binds == _SUM else node.op
    return f"{inside(node.left, binds)}{op}{inside(node.right, binds + 1)}"


_GREEK = re.compile(
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|rho|sigma|tau|upsilon|phi|chi|psi|omega|"
    "Gamma|Delta|Theta|Lambda|Xi|Sigma|Upsilon|Phi|Psi|Omega"
)


def _word(word: str) -> str:
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
    below = ",".join(map(_word, words[1:]))
    return _word(words[0]) + (f"_{{{below}}}" if below else "")


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
    if isinstance(node, Call):
        inner = ", ".join(map(latex, node.args))
        if node.function == "abs":
            return rf"\left|{inner}\right|"
        tex = FUNCTIONS[node.function].tex
        return f"{tex}{{{inner}}}" if node.function in ("sqrt", "cbrt") else rf"{tex}\left({inner}\right)"

    def inside(part: Node, least: int) -> str:
        # a fraction draws its own borders, so it is wrapped only under a power
        bound = _ATOM if isinstance(part, Binary) and part.op == "/" and least <= _PRODUCT + 1 else _binds(part)
        return latex(part) if bound >= least else rf"\left({latex(part)}\right)"

    if isinstance(node, Unary):
        return "-" + inside(node.operand, _SIGN)
    if node.op == "/":
        return rf"\frac{{{latex(node.left)}}}{{{latex(node.right)}}}"
    if node.op == "**":
        base = inside(node.left, _ATOM)
        if isinstance(node.left, Call) or (isinstance(node.left, Number) and not base.isdigit()):
            base = rf"\left({base}\right)"
        return f"{base}^{{{latex(node.right)}}}"
    left, right = inside(node.left, _BINDS[node.op]), inside(node.right, _BINDS[node.op] + 1)
    if node.op != "*":
        return f"{left} {node.op} {right}"
    return rf"{left} \cdot {right}" if right[0].isdigit() or right[0] == "-" else rf"{left} \, {right}"
