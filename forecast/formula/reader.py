"""Reading a formula: text to tree through Python's `ast` (which parses and runs nothing) and an own whitelist.

The limits on size and on constant powers hold before sympy, or anybody else, computes anything from the text.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from forecast.errors import FormulaError, nearest, printable
from forecast.formula import tree
from forecast.formula.tree import FUNCTIONS, Binary, Call, Name, Node, Number, Unary

__all__ = ["NAME", "REFUSED", "Reader", "check_name"]

NAME = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
#: Names that nobody may use: keywords, functions, constants of other systems, and the dimensions of our results.
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(keyword.kwlist, "is a Python keyword"),
    **dict.fromkeys(FUNCTIONS, "is the name of a function"),
    "pi": "is the constant",
    **dict.fromkeys(("nan", "inf", "oo", "zoo"), "is the name of a constant elsewhere; write the number"),
    **dict.fromkeys(("draw", "time", "point", "level"), "is a dimension of every result"),
}

MAX_CHARACTERS = 4000
MAX_NODES = 1000
MAX_NAMES = 256
MAX_DEPTH = 120  # also the longest chain of + or *
MAX_DIGITS = 40
MAX_POWER = 10_000.0  # product of nested constant exponents
MAX_TERMS = 20_000.0  # of the formula, were it expanded

_OPERATORS: Mapping[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}
_FOREIGN_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.BitXor: "'^' is no power here; write **",
    ast.Mod: "'%' is not an operator here; write 0.1 for 10%",
    ast.FloorDiv: "'//' is not an operator here; write /",
    ast.MatMult: "'@' is not an operator here; write *",
}
_CONSTRUCTS: Mapping[type[ast.AST], str] = {
    ast.Attribute: "attribute access",
    ast.Subscript: "a subscript",
    ast.Lambda: "a lambda",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.GeneratorExp: "a generator",
    ast.NamedExpr: "an assignment",
    ast.JoinedStr: "an f-string",
    ast.IfExp: "a conditional",
    ast.BoolOp: "'and' or 'or'",
    ast.Compare: "a comparison",
    ast.Tuple: "a comma",
    ast.List: "a list",
    ast.Dict: "a dict",
    ast.Set: "a set",
    ast.Starred: "a starred argument",
    ast.Await: "await",
    ast.Yield: "yield",
    ast.YieldFrom: "yield",
    ast.UnaryOp: "'~' or 'not'",
}
_HINTS: Mapping[str, str] = {
    **dict.fromkeys("·×∙⋅•∗", "write * for a product"),
    **dict.fromkeys("−–—", "write - for a minus"),
    **dict.fromkeys("÷∕", "write / for a quotient"),
    **dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "write ** for a power"),
    **dict.fromkeys("αβγδεζηθικλμνξπρστυφχψω", "spell the name in ASCII, like alpha"),
    "√": "write sqrt(...)",
    "≥": "write >=",
    "≤": "write <=",
    "%": "write 0.1 for 10%",
    "^": "write ** for a power",
    "$": "give a unit apart from the formula",
    "=": "a formula has no '='; a condition has one of >=, >, <=, <",
}


def _fault(text: object, reason: str, *, where: str, noun: str, position: int | None = None) -> FormulaError:
    at = "" if position is None else f" (position {position + 1})"
    return FormulaError(f"{where + ': ' if where else ''}{noun} '{printable(text, 80)}': {reason}{at}")


def check_name(text: object, *, where: str = "") -> str:
    """Return `text` if it may be the name of a variable, a parameter or a column in a formula.

    Parameters
    ----------
    text : str
        Letters, digits and underscores, ASCII, at most 64, not starting with a digit or with two underscores.
    where : str
        Where it was written, for the message.

    Raises
    ------
    FormulaError
        If it breaks that rule, or is in `REFUSED`.

    Examples
    --------
    >>> check_name("lambda_")
    'lambda_'
    >>> check_name("lambda")
    Traceback (most recent call last):
    ...
    forecast.errors.FormulaError: name 'lambda': is a Python keyword; try 'lambda_'
    """
    if not isinstance(text, str):
        raise _fault(text, f"expected text, got {type(text).__name__}", where=where, noun="name")
    if not NAME.fullmatch(text):
        expected = "expected letters, digits and underscores (ASCII, at most 64), not starting with a digit or '__'"
        raise _fault(text, expected, where=where, noun="name")
    if text in REFUSED:
        raise _fault(text, f"{REFUSED[text]}; try '{text}_'", where=where, noun="name")
    return text


class Reader:
    """Reads one text into a tree, or says what in it is outside the grammar and where."""

    def __init__(self, text: object, where: str, noun: str) -> None:
        self.text, self.where, self.noun = text, where, noun
        self.nodes = 0
        if not isinstance(text, str):
            self.fail(f"expected text, got {type(text).__name__}")
        self.source = re.sub(r"[\t\r\n]", " ", text)
        self.shift = len(self.source) - len(self.source.lstrip())
        if not self.source.strip():
            self.fail("is empty")
        if len(text) > MAX_CHARACTERS:
            self.fail(f"has {len(text)} characters; the limit is {MAX_CHARACTERS}")
        self._characters()
        self._words()

    def fail(self, reason: str, position: int | None = None) -> NoReturn:
        """Raise the error that names the text, the reason and the position."""
        raise _fault(self.text, reason, where=self.where, noun=self.noun, position=position) from None

    def _at(self, node: ast.expr | ast.keyword) -> int:
        return node.col_offset + self.shift

    def _characters(self) -> None:
        depth = 0
        for position, c in enumerate(self.source):
            if not 32 <= ord(c) < 127 or c in "#\\;`?!$":
                hint = f"; {_HINTS[c]}" if c in _HINTS else "; a formula is plain ASCII"
                self.fail(f"character '{printable(c)}' is outside the grammar{hint}", position)
            depth += (c in "([{") - (c in ")]}")
            if depth > MAX_DEPTH // 2:
                self.fail(f"has more than {MAX_DEPTH // 2} nested parentheses", position)

    def _words(self) -> None:
        """Refuse what Python's tokenizer would warn of, or read in a way of its own."""
        if re.search("['\"]", self.source):
            return  # no text in quotes passes the whitelist, and what is inside it is not read as numbers
        pattern = r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?P<rest>\w*)|[A-Za-z_]\w*"
        for found in re.finditer(pattern, self.source, re.ASCII):
            digits, rest = found["number"], found["rest"]
            if digits is None:
                if found[0] in keyword.kwlist:
                    self.fail(f"'{found[0]}' is a Python keyword and no part of a {self.noun}", found.start())
                continue
            if len(digits) > MAX_DIGITS:
                self.fail(f"a number has more than {MAX_DIGITS} digits", found.start())
            if rest and rest[0] == "_":
                self.fail("a number holds '_'; write the digits alone", found.start())
            if rest:
                self.fail(f"'{printable(found[0], 20)}': write an explicit * between number and name", found.start())
            if re.match(r"0\d", digits) and digits.isdigit():
                self.fail(f"the number '{digits}' has a leading zero", found.start())

    def syntax(self) -> ast.expr:
        """Return Python's syntax tree of the text."""
        try:
            return ast.parse(self.source.strip(), mode="eval").body
        except SyntaxError as error:
            position = (error.offset or 1) - 1 + self.shift
            for c in "%=":
                at = self.source.find(c)
                # >=, <= and == are comparisons, which ast reads
                if at >= 0 and not re.search(r"[<>=]=", self.source):
                    self.fail(f"'{c}' is outside the grammar; {_HINTS[c]}", at)
            self.fail("does not parse; expected an operator (write every *) or a closing parenthesis", position)
        except (ValueError, MemoryError, RecursionError, OverflowError):
            self.fail("is nested too deeply or malformed")

    def formula(self, node: ast.expr) -> Node:
        """Return the tree of one formula, if it passes the whitelist and the limits."""
        root = self.node(node, 0)[0]
        names = len({part.name for part in tree.walk(root) if isinstance(part, Name)})
        if names > MAX_NAMES:
            self.fail(f"has {names} names; the limit is {MAX_NAMES}")
        if _terms(root) > MAX_TERMS:
            self.fail(f"would expand to more than {MAX_TERMS:.0f} terms")
        if _degree(root) > MAX_POWER:
            self.fail(f"a power is too large; nested constant exponents may reach {MAX_POWER:.0f}")
        return root

    def node(self, node: ast.expr, depth: int) -> tuple[Node, Any]:
        """Return the tree of `node` and, where it holds no name, its value."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.fail(f"has more than {MAX_NODES} parts")
        if depth > MAX_DEPTH:
            self.fail(f"is nested, or chained, more than {MAX_DEPTH} deep", self._at(node))
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.Name(id="pi"):
                return Number(math.pi), math.pi
            case ast.Name(id=name):
                if name in REFUSED or not NAME.fullmatch(name):
                    prefix = f"{self.where}: " if self.where else ""
                    check_name(name, where=f"{prefix}{self.noun} '{printable(self.text, 80)}'")
                return Name(name), None
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
                inner, value = self.node(operand, depth + 1)
                return (inner, value) if isinstance(sign, ast.UAdd) else self._value(node, Unary("-", inner), (value,))
            case ast.BinOp(op=op, left=left, right=right):
                if type(op) not in _OPERATORS:
                    reason = _FOREIGN_OPERATORS.get(type(op), f"operator {type(op).__name__} is outside the grammar")
                    self.fail(reason, self._at(right) - 1)
                (a, x), (b, y) = self.node(left, depth + 1), self.node(right, depth + 1)
                return self._value(node, Binary(_OPERATORS[type(op)], a, b), (x, y))
            case ast.Call():
                return self._call(node, depth)
        found = _CONSTRUCTS.get(type(node), type(node).__name__)
        extra = f" '.{printable(node.attr, 40)}'" if isinstance(node, ast.Attribute) else ""
        self.fail(f"{found}{extra} is outside the grammar", self._at(node))

    def _number(self, node: ast.Constant) -> tuple[Node, Any]:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            kinds = {str: "text in quotes", bytes: "bytes", complex: "a complex number"}
            self.fail(f"{kinds.get(type(node.value), 'a constant')} is outside the grammar", self._at(node))
        try:
            value = float(node.value)
        except OverflowError:  # a whole number that no float holds
            value = math.inf
        if math.isinf(value):
            self.fail("a number is too large", self._at(node))
        return Number(value), value

    def _call(self, node: ast.Call, depth: int) -> tuple[Node, Any]:
        if not isinstance(node.func, ast.Name):
            if isinstance(node.func, ast.Attribute):
                self.node(node.func, depth)
            self.fail("a call of something that is no function; write an explicit * for a product", self._at(node))
        name = node.func.id
        if name not in FUNCTIONS:
            near = nearest(name, FUNCTIONS)
            hint = f"did you mean '{near}'?" if near else f"known: {', '.join(FUNCTIONS)}"
            hint += " (a product needs an explicit *)"
            self.fail(f"unknown function '{printable(name, 40)}'; {hint}", self._at(node))
        if node.keywords:
            self.fail(f"{name}() takes no keyword arguments", self._at(node.keywords[0]))
        most = FUNCTIONS[name].most
        least = 1 if most == 1 else 2
        if not least <= len(node.args) <= most:
            expected = "1 argument" if most == 1 else f"2 to {most} arguments"
            self.fail(f"{name}() takes {expected}, got {len(node.args)}", self._at(node))
        pairs = [self.node(a, depth + 1) for a in node.args]
        return self._value(node, Call(name, tuple(p[0] for p in pairs)), tuple(p[1] for p in pairs))

    def _value(self, node: ast.expr, made: Node, parts: tuple[Any, ...]) -> tuple[Node, Any]:
        """Fold a constant part, so that one out of range is refused before anything exact is computed of it."""
        if any(p is None for p in parts):
            return made, None
        value = _quiet(made, parts)
        if not math.isfinite(value):
            problem = "no number" if math.isnan(value) else "out of range"
            self.fail(f"the constant '{printable(tree.text(made), 40)}' is {problem}", self._at(node))
        return made, value


def _quiet(node: Node, parts: tuple[Any, ...]) -> float:
    import numpy as np

    with np.errstate(all="ignore"):
        return float(tree.apply(node, tuple(np.float64(p) for p in parts)))


def _constant_exponent(node: Node) -> float | None:
    """Return the absolute constant exponent of a power, if it has one."""
    if not (isinstance(node, Binary) and node.op == "**") or not tree.constant(node.right):
        return None
    return abs(float(tree.evaluate(node.right, {})))


def _degree(node: Node) -> float:
    """Return the largest product of nested constant exponents."""
    inner = [_degree(child) for child in tree.children(node)]
    exponent = _constant_exponent(node)
    return max([1.0, *inner]) if exponent is None else max(1.0, exponent * inner[0], inner[1])


def _terms(node: Node) -> float:
    """Bound the number of terms, were the formula expanded."""
    if isinstance(node, Call):
        return max(map(_terms, node.args))
    if isinstance(node, Unary):
        return _terms(node.operand)
    if not isinstance(node, Binary):
        return 1.0
    left, right = _terms(node.left), _terms(node.right)
    if node.op in "+-":
        return left + right
    if node.op != "**":
        return min(left * right, 1e300)
    exponent = _constant_exponent(node)
    if exponent is None or left <= 1 or exponent <= 1:
        return max(left, right)
    logarithm = math.lgamma(exponent + left) - math.lgamma(exponent + 1) - math.lgamma(left)
    return math.exp(min(logarithm, 600.0))
