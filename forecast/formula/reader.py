"""Reading a formula: text to tree through Python's `ast` (which parses and runs nothing) and an own whitelist.

The limits on size and on constant powers hold before anybody computes anything from the text. There are two grammars:
that of laws, arithmetic, and that of scenarios, which adds to it.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NoReturn

from forecast.base.number_checks import is_real
from forecast.errors import FormulaError, nearest, printable
from forecast.formula import tree
from forecast.formula.functions import FUNCTIONS, SCENARIO_FUNCTIONS
from forecast.formula.numbers import DIGITS_PATTERN, GROUPED_PATTERN, POWER_PATTERN, POWERS_OF_TEN
from forecast.formula.tree import Binary, Call, Comparison, Measured, Name, Node, Number, Sequence, Text, Unary

NAME_PATTERN = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
#: Names that nobody may use: keywords, functions, constants of other systems, and the dimensions of our results.
RESERVED_NAMES: Mapping[str, str] = {
    **dict.fromkeys(keyword.kwlist, "is a Python keyword"),
    **dict.fromkeys(FUNCTIONS, "is the name of a function"),
    "pi": "is the constant",
    **dict.fromkeys(("nan", "inf", "oo", "zoo"), "is the name of a constant elsewhere; write the number"),
    **dict.fromkeys(("draw", "time", "point", "level"), "is a dimension of every result"),
}

MAX_FORMULA_CHARACTERS = 4000
MAX_FORMULA_NODES = 1000
MAX_NAMES = 256
MAX_FORMULA_DEPTH = 120  # also the longest chain of + or *
MAX_DIGITS = 40
MAX_POWER = 10_000.0  # product of nested constant exponents
MAX_TERMS = 20_000.0  # of the formula, were it expanded

_AST_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}
COMPARISONS: Mapping[type[ast.cmpop], str] = {ast.GtE: ">=", ast.Gt: ">", ast.LtE: "<=", ast.Lt: "<", ast.Eq: "=="}
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
_SIGN_HINTS: Mapping[str, str] = {
    **dict.fromkeys("·×∙⋅•∗", "write * for a product"),
    **dict.fromkeys("−–—", "write - for a minus"),
    **dict.fromkeys("÷∕", "write / for a quotient"),
    **dict.fromkeys("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "write ** for a power"),
    **dict.fromkeys("αβγδεζηθικλμνξπρστυφχψω", "spell the name in ASCII, like alpha"),
    "√": "write sqrt(...)",
    "≥": "write >=",
    "≤": "write <=",
    "%": "write 0.1 for 10%",
    "!": "write == and swap what depends on it",
    "^": "write ** for a power",
    "$": "give a unit apart from the formula",
    "=": "a formula has no '='; a condition has one of >=, >, <=, <",
}


#: What the grammar of scenarios adds.
_ADDED = (ast.Compare, ast.List)
_UNIT_ENDS = (
    "a unit after a number ends at a comma, a bracket, a comparison, or an operator between blanks: 3 USD * x, 2 FLOP/s"
)
_ONE_COMPARISON = (
    "a condition is one comparison: write min({0}) >= 1 where each must hold, max({0}) >= 1 where one will do"
)
#: Where a unit follows a number: a space, and a name or ``1/``; or ``%``.
_UNIT_START_PATTERN = re.compile(r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?= *%| +(?:[A-Za-z]|1/))", re.ASCII)
_UNIT_WORD = r"(?:[A-Za-z]\w*|\([\w*/ .-]*\))(?: *\*\* *-?\d(?:\.\d+)?)?"
_UNIT_AFTER_PATTERN = re.compile(rf" *%| +(?:1(?=/)|{_UNIT_WORD})(?:(?:[*/]| +){_UNIT_WORD})*", re.ASCII)
#: A number with what stands for a power of ten: ``70B``, ``20 million``.
_SHORT = re.compile(rf"(?<![\w.]){DIGITS_PATTERN}({POWER_PATTERN})", re.ASCII)
#: ``14,000``, or a bracket, inside which a comma separates.
_THOUSANDS = re.compile(rf"(?<![\w.,]){GROUPED_PATTERN}|[\[\](){{}}]", re.ASCII)
_TEXT_PATTERN = re.compile(r"""'[^'"\\]{0,64}'|"[^'"\\]{0,64}\"""", re.ASCII)


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
        If it breaks that rule, or is in `RESERVED_NAMES`.

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
    if not NAME_PATTERN.fullmatch(text):
        expected = "expected letters, digits and underscores (ASCII, at most 64), not starting with a digit or '__'"
        raise _fault(text, expected, where=where, noun="name")
    if text in RESERVED_NAMES:
        raise _fault(text, f"{RESERVED_NAMES[text]}; try '{text}_'", where=where, noun="name")
    return text


class Reader:
    """Reads one text into a tree, or says what in it is outside the grammar and where.

    Parameters
    ----------
    text : str
    where : str
        Where it was written, for messages.
    noun : str
        What it is called in messages.
    scenario : bool
        The grammar is that of scenarios: comparisons, texts, lists, numbers with a unit, and functions over time.
    """

    def __init__(self, text: object, where: str, noun: str, *, scenario: bool = False) -> None:
        self.text, self.where, self.noun, self.scenario = text, where, noun, scenario
        self.functions = SCENARIO_FUNCTIONS if scenario else FUNCTIONS
        self.nodes = 0
        if not isinstance(text, str):
            self.fail(f"expected text, got {type(text).__name__}")
        self.source = re.sub(r"[\t\r\n]", " ", text)
        self.shift = len(self.source) - len(self.source.lstrip())
        if not self.source.strip():
            self.fail("is empty")
        if len(text) > MAX_FORMULA_CHARACTERS:
            self.fail(f"has {len(text)} characters; the limit is {MAX_FORMULA_CHARACTERS}")
        self.written = self.source.strip()
        self.code = _TEXT_PATTERN.sub(lambda quoted: " " * len(quoted[0]), self.source) if scenario else self.source
        self._check_characters()
        self._join_thousands()
        self.powers = dict(self._take_powers())
        self.units = dict(self._take_units()) if scenario else {}
        self._check_words()

    def fail(self, reason: str, position: int | None = None) -> NoReturn:
        """Raise the error that names the text, the reason and the position."""
        raise _fault(self.text, reason, where=self.where, noun=self.noun, position=position) from None

    def _at(self, node: ast.expr | ast.keyword) -> int:
        return node.col_offset + self.shift

    def _check_characters(self) -> None:
        depth = 0
        for position, c in enumerate(self.code):
            if not 32 <= ord(c) < 127 or c in "#\\;`?!$":
                hint = f"; {_SIGN_HINTS[c]}" if c in _SIGN_HINTS else "; a formula is plain ASCII"
                self.fail(f"character '{printable(c)}' is outside the grammar{hint}", position)
            depth += (c in "([{") - (c in ")]}")
            if depth > MAX_FORMULA_DEPTH // 2:
                self.fail(f"has more than {MAX_FORMULA_DEPTH // 2} nested parentheses", position)

    def _overwrite(self, start: int, end: int, text: str = "") -> None:
        """Put a text in the place of a longer one, with blanks after it: everything else stays where it was written."""
        text = text.ljust(end - start)
        self.source = f"{self.source[:start]}{text}{self.source[end:]}"
        self.code = f"{self.code[:start]}{text}{self.code[end:]}"

    def _join_thousands(self) -> None:
        """Take the commas out of ``14,000`` where none separates: outside brackets."""
        depth = 0
        for found in _THOUSANDS.finditer(self.code) if self.scenario else ():
            depth += (found[0] in "([{") - (found[0] in ")]}")
            if depth == 0 and "," in found[0]:
                self._overwrite(*found.span(), found[0].replace(",", ""))

    def _take_powers(self) -> Iterator[tuple[int, int]]:
        """Take the letters of ``70B`` out of the source, and yield where each number stands with its power of ten."""
        for short in _SHORT.finditer(self.code):
            self._overwrite(*short.span(1))
            yield short.start(), POWERS_OF_TEN[short[1].strip()]

    def _take_units(self) -> Iterator[tuple[int, str]]:
        """Take the units after numbers out of the source, and yield where each number stands with its unit."""
        for measured in list(_UNIT_START_PATTERN.finditer(self.code)):
            unit = _UNIT_AFTER_PATTERN.match(self.code, measured.end())
            end = unit.end() if unit else measured.end()
            if unit and any(word in keyword.kwlist for word in unit[0].split()):
                continue  # refused as a keyword
            if unit is None or not re.match(r" *(?:$|[]),<>]|==)| +[-+*/]+ ", self.code[end:]):
                self.fail(_UNIT_ENDS, measured.start())
            self._overwrite(measured.end(), end)
            yield measured.start(), " ".join(unit[0].split())

    def _check_words(self) -> None:
        """Refuse what Python's tokenizer would warn of, or read in a way of its own."""
        if re.search("['\"]", self.code):
            return  # no text in quotes passes the whitelist, and what is inside it is not read as numbers
        pattern = r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?P<rest>\w*)|[A-Za-z_]\w*"
        for found in re.finditer(pattern, self.code, re.ASCII):
            digits, rest = found["number"], found["rest"]
            if digits is None:
                if self.scenario and found[0] in ("and", "or"):
                    sides = [part.strip() for part in re.split(r"\b(?:and|or)\b", self.written)]
                    inside = any(part.count("(") != part.count(")") for part in sides)
                    shown = "a > b, c > d" if inside else ", ".join(sides)
                    self.fail(f"'{found[0]}': {_ONE_COMPARISON.format(shown)}", found.start())
                if found[0] in keyword.kwlist:
                    article = "an" if self.noun[0] in "aeiou" else "a"
                    self.fail(f"'{found[0]}' is a Python keyword and no part of {article} {self.noun}", found.start())
                continue
            if len(digits) > MAX_DIGITS:
                self.fail(f"a number has more than {MAX_DIGITS} digits", found.start())
            if rest and rest[0] == "_":
                self.fail("a number holds '_'; write the digits alone", found.start())
            if rest:
                unit = ", or a space before a unit" if self.scenario else ""
                reason = f"'{printable(found[0], 20)}': write an explicit * between number and name{unit}"
                self.fail(reason, found.start())
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
                    self.fail(f"'{c}' is outside the grammar; {_SIGN_HINTS[c]}", at)
            self.fail("does not parse; expected an operator (write every *) or a closing parenthesis", position)
        except (ValueError, MemoryError, RecursionError, OverflowError):
            self.fail("is nested too deeply or malformed")

    def formula(self, node: ast.expr) -> Node:
        """Return the tree of one formula, if it passes the whitelist and the limits."""
        root = self.node(node, 0)
        names = len({part.name for part in tree.walk(root) if isinstance(part, Name)})
        if names > MAX_NAMES:
            self.fail(f"has {names} names; the limit is {MAX_NAMES}")
        if _max_terms(root) > MAX_TERMS:
            self.fail(f"would expand to more than {MAX_TERMS:.0f} terms")
        if _degree(root) > MAX_POWER:
            self.fail(f"a power is too large; nested constant exponents may reach {MAX_POWER:.0f}")
        return root

    def node(self, node: ast.expr, depth: int) -> Node:
        """Return the tree of `node`."""
        self.nodes += 1
        if self.nodes > MAX_FORMULA_NODES:
            self.fail(f"has more than {MAX_FORMULA_NODES} parts")
        if depth > MAX_FORMULA_DEPTH:
            self.fail(f"is nested, or chained, more than {MAX_FORMULA_DEPTH} deep", self._at(node))
        match node:
            case ast.Constant():
                return self._number(node)
            case ast.Name(id="pi"):
                return Number(math.pi)
            case ast.Name(id=name):
                if name in RESERVED_NAMES or not NAME_PATTERN.fullmatch(name):
                    prefix = f"{self.where}: " if self.where else ""
                    check_name(name, where=f"{prefix}{self.noun} '{printable(self.text, 80)}'")
                return Name(name)
            case ast.Attribute() if self.scenario and (parts := _dotted_parts(node)):
                for name in parts:
                    if name in RESERVED_NAMES or not NAME_PATTERN.fullmatch(name):
                        check_name(name, where=f"{self.where}: " * bool(self.where) + printable(self.text, 80))
                return Name(".".join(parts))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
                inner = self.node(operand, depth + 1)
                return inner if isinstance(sign, ast.UAdd) else self._in_range(node, Unary("-", inner))
            case ast.BinOp(op=op, left=left, right=right):
                if type(op) not in _AST_OPERATORS:
                    reason = _FOREIGN_OPERATORS.get(type(op), f"operator {type(op).__name__} is outside the grammar")
                    self.fail(reason, self._at(right) - 1)
                made = Binary(_AST_OPERATORS[type(op)], self.node(left, depth + 1), self.node(right, depth + 1))
                by = made.right
                if made.op == "/" and (not by.value if isinstance(by, Number) else _is_zero(by)):
                    self.fail("a division by zero has no value", self._at(right))
                return self._in_range(node, made)
            case ast.Call():
                return self._call(node, depth)
            case ast.Compare() if self.scenario:
                return self._comparison(node, depth)
        found = _CONSTRUCTS.get(type(node), type(node).__name__)
        extra = f" '.{printable(node.attr, 40)}'" if isinstance(node, ast.Attribute) else ""
        hint = "" if self.scenario or not isinstance(node, _ADDED) else "; it belongs to the expressions of scenarios"
        if self.scenario and isinstance(node, ast.List):
            hint = "; only a function that asks for a list takes one: ces([x, y], [w, 1 - w], rho)"
        self.fail(f"{found}{extra} is outside the grammar{hint}", self._at(node))

    def comparison(self, node: ast.Compare) -> str:
        """Return the operator of a comparison, if it is one that is known, and alone."""
        if len(node.ops) != 1:
            if not self.scenario:
                self.fail("expected exactly one comparison")
            sides = (node.left, *node.comparators)
            starts = [side.col_offset for side in sides]
            pairs = [
                self.written[a : (*starts, node.end_col_offset)[i + 2]].strip(" <>=") for i, a in enumerate(starts[:-1])
            ]
            cut = any(pair.count("(") != pair.count(")") for pair in pairs)
            shown = "a > b, b > c" if cut or len(pairs) > 3 else ", ".join(pairs)
            self.fail(f"comparisons are not chained; {_ONE_COMPARISON.format(shown)}", self._at(node))
        op = COMPARISONS.get(type(node.ops[0]))
        if op is None or (op == "==" and not self.scenario):
            known = [c for c in COMPARISONS.values() if self.scenario or c != "=="]
            self.fail(f"expected one of {', '.join(known)}", self._at(node))
        return op

    def _comparison(self, node: ast.Compare, depth: int) -> Node:
        op = self.comparison(node)
        sides = (node.left, node.comparators[0])
        texts = [self._text(side) for side in sides]
        if any(text is not None for text in texts):
            if op != "==" or not any(isinstance(s, ast.Name) and s.id != "pi" for s in sides):
                self.fail('a text is compared with the name of a quantity, by ==: kind == "super"', self._at(node))
            self.nodes += 1
        left, right = (
            self.node(side, depth + 1) if text is None else Text(text) for text, side in zip(texts, sides, strict=True)
        )
        return self._in_range(node, Comparison(op, left, right))

    def _text(self, node: ast.expr) -> str | None:
        """Return the text in quotes that a node is."""
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            return None
        quoted = _TEXT_PATTERN.match(self.source, self._at(node))
        if quoted is None or quoted[0][1:-1] != node.value or not node.value.isprintable() or not node.value:
            self.fail("expected a text of 1 to 64 plain characters in quotes", self._at(node))
        return node.value

    def _sequence(self, node: ast.expr, depth: int, name: str) -> Sequence:
        if not isinstance(node, ast.List) or not 2 <= len(node.elts) <= 8:
            self.fail(f"{name}() expects a list of 2 to 8 here: [x, y]", self._at(node))
        self.nodes += 1
        return Sequence(tuple(self.node(item, depth + 1) for item in node.elts))

    def _number(self, node: ast.Constant) -> Node:
        if not is_real(node.value):
            kinds = {str: "text in quotes", bytes: "bytes", complex: "a complex number"}
            hint = ""
            if isinstance(node.value, str):
                belongs = "it may only be compared" if self.scenario else "it belongs to the expressions of scenarios"
                hint = f'; {belongs}: kind == "super"'
            self.fail(f"{kinds.get(type(node.value), 'a constant')} is outside the grammar{hint}", self._at(node))
        power = self.powers.get(self._at(node))
        try:
            value = float(node.value if power is None else Decimal(repr(node.value)).scaleb(power))
        except OverflowError:  # a whole number that no float holds
            value = math.inf
        if math.isinf(value):
            self.fail("a number is too large", self._at(node))
        unit = self.units.get(self._at(node))
        return Number(value) if unit is None else Measured(value, unit)

    def _call(self, node: ast.Call, depth: int) -> Node:
        if not isinstance(node.func, ast.Name):
            if isinstance(node.func, ast.Attribute):
                self.node(node.func, depth)
            self.fail("a call of something that is no function; write an explicit * for a product", self._at(node))
        name = node.func.id
        if name not in self.functions:
            near = nearest(name, self.functions)
            hint = f"did you mean '{near}'?" if near else f"known: {', '.join(self.functions)}"
            hint += " (a product needs an explicit *)"
            if name in SCENARIO_FUNCTIONS:
                hint = "it belongs to the expressions of scenarios"
            self.fail(f"unknown function '{printable(name, 40)}'; {hint}", self._at(node))
        if node.keywords:
            self.fail(f"{name}() takes no keyword arguments", self._at(node.keywords[0]))
        function, count = self.functions[name], len(node.args)
        if not function.least <= count <= function.most:
            expected = f"{function.least}" + (f" to {function.most}" if function.most > function.least else "")
            expected += " argument" if expected == "1" else " arguments"
            self.fail(f"{name}() takes {expected}, got {count}", self._at(node))
        args = tuple(
            self._sequence(a, depth + 1, name) if i in function.lists else self.node(a, depth + 1)
            for i, a in enumerate(node.args)
        )
        if len({len(each.items) for each in args if isinstance(each, Sequence)}) > 1:
            self.fail(f"{name}() expects lists of one length", self._at(node))
        return self._in_range(node, Call(name, args))

    def _in_range(self, node: ast.expr, made: Node) -> Node:
        """Return a part; refuse one without a name that is out of range before anything exact is computed of it."""
        if tree.constant(made) and not math.isfinite(value := float(tree.evaluate(made, {}))):
            problem = "no number" if math.isnan(value) else "out of range"
            self.fail(f"the constant '{printable(tree.to_text(made), 40)}' is {problem}", self._at(node))
        return made


def _constant_exponent(node: Node) -> float | None:
    """Return the absolute constant exponent of a power, if it has one."""
    if not (isinstance(node, Binary) and node.op == "**") or not tree.constant(node.right):
        return None
    return abs(float(tree.evaluate(node.right, {})))


def _degree(node: Node) -> float:
    """Return the largest product of nested constant exponents."""
    inner = [*map(_degree, tree.children(node))]
    exponent = _constant_exponent(node)
    return max([1.0, *inner]) if exponent is None else max(1.0, exponent * inner[0], inner[1])


def _is_zero(node: Node) -> bool:
    """Tell a number that is written as a formula, and is 0."""
    return tree.constant(node) and not tree.evaluate(node, {})


def _max_terms(node: Node) -> float:
    """Bound the number of terms, were the formula expanded."""
    if isinstance(node, (Call, Comparison, Sequence)):
        return max(map(_max_terms, tree.children(node)))
    if isinstance(node, Unary):
        return _max_terms(node.operand)
    if not isinstance(node, Binary):
        return 1.0
    left, right = _max_terms(node.left), _max_terms(node.right)
    if node.op in "+-":
        return left + right
    if node.op != "**":
        return min(left * right, 1e300)
    exponent = _constant_exponent(node)
    if exponent is None or left <= 1 or exponent <= 1:
        return max(left, right)
    logarithm = math.lgamma(exponent + left) - math.lgamma(exponent + 1) - math.lgamma(left)
    return math.exp(min(logarithm, 600.0))


def _dotted_parts(node: ast.expr) -> tuple[str, ...]:
    """Return the parts of a name in another scenario, ``mc.run``; none where it is anything else."""
    if isinstance(node, ast.Attribute):
        inner = _dotted_parts(node.value)
        return (*inner, node.attr) if inner else ()
    return (node.id,) if isinstance(node, ast.Name) else ()
