"""Formulas, conditions and names as people write them: parsed through an own whitelist, never executed.

The grammar of laws is arithmetic: numbers, names, ``+ - * / **``, parentheses, the constant ``pi`` and the functions of
`FUNCTIONS`. ``log`` is the natural logarithm, angles are in radians, Euler's number is ``exp(1)``. The expressions of
scenarios have comparisons, and the functions of `SCENARIO_FUNCTIONS`, some of them over time.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, cast

from forecast.errors import FormulaError, printable
from forecast.formula import tree
from forecast.formula.functions import FUNCTIONS, SCENARIO_FUNCTIONS
from forecast.formula.reader import RESERVED_NAMES, Reader, check_name
from forecast.formula.tree import Binary, Call, Comparison, Measured, Name, Node, Number, Sequence, Text, Unary

__all__ = [
    "FUNCTIONS",
    "RESERVED_NAMES",
    "SCENARIO_FUNCTIONS",
    "TIME_NAMES",
    "Binary",
    "Call",
    "Comparison",
    "Condition",
    "Formula",
    "Measured",
    "Name",
    "Node",
    "Number",
    "Sequence",
    "Text",
    "Unary",
    "check_name",
    "parse",
    "parse_condition",
    "parse_expression",
    "parse_row_condition",
]

#: Names that are plain numbers in the expressions of scenarios: the date, the first one, and the step, in years.
TIME_NAMES = ("t", "start", "dt")


@dataclass(frozen=True)
class Formula:
    """A formula: a tree of nodes. Made by `parse`, and by `parse_expression` where it belongs to a scenario.

    Examples
    --------
    >>> f = parse("E + A/N**alpha")
    >>> f.names
    ('E', 'A', 'N', 'alpha')
    >>> f.evaluate({"E": 1.0, "A": 8.0, "N": 4.0, "alpha": 0.5})
    5.0
    """

    root: Node

    @functools.cached_property
    def text(self) -> str:
        """The formula in canonical spelling; what made it reads it back."""
        return tree.to_text(self.root)

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The names in it, in order of appearance."""
        return tuple(dict.fromkeys(n.name for n in tree.walk(self.root) if isinstance(n, Name)))

    @functools.cached_property
    def categories(self) -> frozenset[str]:
        """The names that are compared with a text: they stand for texts, not for numbers."""
        pairs = [tree.children(n) for n in tree.walk(self.root) if isinstance(n, Comparison)]
        return frozenset(
            n.name for pair in pairs if any(isinstance(n, Text) for n in pair) for n in pair if isinstance(n, Name)
        )

    @functools.cached_property
    def _run(self) -> Callable[[Mapping[str, Any]], Any]:
        return tree.compile_tree(self.root)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_run"}  # which no pickle holds

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Formula({self.text!r})"

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Compute the formula in float64.

        Parameters
        ----------
        values : mapping of str to float or array
            At least the names of the formula; the arrays broadcast. What overflows is inf, what has no real value
            is nan; nothing warns. What is compared with a text holds texts.

        Returns
        -------
        float or numpy.ndarray
        """
        import numpy as np

        known: dict[str, Any] = {}
        for name in self.names:
            if name not in values:
                raise FormulaError(f"formula '{printable(self.text, 80)}': no value for '{name}'")
            if name in self.categories:
                known[name] = np.asarray(values[name], dtype=np.str_)
                continue
            try:
                known[name] = np.asarray(values[name], dtype=np.float64)[()]
            except (TypeError, ValueError):
                kind = type(values[name]).__name__
                raise FormulaError(f"value of '{name}': expected numbers, got {kind}") from None

        try:
            with np.errstate(all="ignore"):
                result = self._run(known)
        except ValueError:
            shapes = ", ".join(f"{n} {np.shape(v)}" for n, v in known.items() if np.ndim(v))
            raise FormulaError(f"formula '{printable(self.text, 80)}': shapes do not broadcast: {shapes}") from None
        if np.ndim(result) == 0:
            return float(result)
        return result.copy() if isinstance(self.root, Name) else result

    def substitute(self, values: Mapping[str, float | Formula]) -> Formula:
        """Return the formula with names replaced by numbers or by formulas.

        Examples
        --------
        >>> parse("a*x + b").substitute({"a": -2.0, "x": parse("u + 1")}).text
        '-2*(u + 1) + b'
        """
        known = {n: v.root if isinstance(v, Formula) else tree.number_node(float(v)) for n, v in values.items()}

        return Formula(tree.rewrite(self.root, lambda n: known.get(n.name, n) if isinstance(n, Name) else n))

    def latex(self) -> str:
        r"""Write the formula in LaTeX, for instance ``E + \frac{A}{N^{\alpha}}``."""
        return tree.latex(self.root)

    def _arithmetic(self) -> Node:
        """Return the tree, if it is in the grammar of laws."""
        for node in tree.walk(self.root):
            known = isinstance(node, (Number, Name, Unary, Binary))
            if not known and not (isinstance(node, Call) and node.function in FUNCTIONS):
                part = f"'{printable(tree.to_text(node), 40)}' belongs to the expressions of scenarios"
                raise FormulaError(f"formula '{printable(self.text, 80)}': {part}: no closed form")
        return self.root

    def solve(self, name: str, value: float, known: Mapping[str, float] | None = None) -> list[float]:
        """Return what `name` must be for the formula to equal `value`, with the numbers of the other names in `known`.

        Examples
        --------
        >>> parse("a**2 + b").solve("a", 9.0, {"b": 5.0})
        [-2.0, 2.0]
        """
        from forecast.formula.inverses import solve

        return solve(self._arithmetic(), name, float(value), known or {})


@dataclass(frozen=True)
class Condition:
    """One comparison of two formulas. Made by `parse_condition`."""

    left: Formula
    op: Literal[">=", ">", "<=", "<", "=="]
    right: Formula

    @functools.cached_property
    def formula(self) -> Formula:
        """The condition as a formula: 1 where it holds, else 0."""
        return Formula(Comparison(self.op, self.left.root, self.right.root))

    @functools.cached_property
    def text(self) -> str:
        """The condition in canonical spelling."""
        return f"{self.left.text} {self.op} {self.right.text}"

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The names on both sides, in order of appearance."""
        return tuple(dict.fromkeys(self.left.names + self.right.names))

    @property
    def greater_side(self) -> Formula:
        """The side that is the greater one when the condition holds."""
        return self.left if ">" in self.op else self.right

    @property
    def lesser_side(self) -> Formula:
        """The side that is the lesser one when the condition holds."""
        return self.right if ">" in self.op else self.left


def parse(text: object, *, where: str = "") -> Formula:
    """Read an arithmetic formula.

    Parameters
    ----------
    text : str
        ASCII: numbers, names, ``+ - * / **``, parentheses, and the functions of `FUNCTIONS`.
    where : str
        Where it was written, for the message.

    Raises
    ------
    FormulaError
        Naming the construct that is outside the grammar, its position and the text.

    Examples
    --------
    >>> parse("a*x^b")
    Traceback (most recent call last):
    ...
    forecast.errors.FormulaError: formula 'a*x^b': '^' is no power here; write ** (position 4)
    """
    reader = Reader(text, where, "formula")
    return Formula(reader.formula(reader.syntax()))


def parse_expression(text: object, *, where: str = "") -> Formula:
    """Read an expression of a scenario: a formula that may compare, and call the functions of `SCENARIO_FUNCTIONS`.

    ``t``, ``start`` and ``dt`` are the date, the first one and the step, in years. A comparison is 1 where it holds,
    else 0; one side may end in a number with a unit, and a bare number has the unit of the other side.

    Examples
    --------
    >>> parse_expression("where(machine >= 1 EFLOP/s, saturate(spend, limit), previous(spend))").names
    ('machine', 'spend', 'limit')
    >>> parse_expression('where(kind == "super", growth(x, 2), 0.1)*(t - start)').text
    'where(kind == "super", growth(x, 2), 0.1)*(t - start)'
    """
    if type(text) is str:
        with suppress(FormulaError):  # what is wrong with it is said with `where`
            return _expression(text)
    reader = Reader(text, where, "expression", scenario=True)
    return Formula(reader.formula(reader.syntax()))


@functools.lru_cache(maxsize=4096)
def _expression(text: str) -> Formula:
    """Read an expression once: scenarios are often read again, with a setting or beside another one."""
    reader = Reader(text, "", "expression", scenario=True)
    return Formula(reader.formula(reader.syntax()))


def parse_condition(text: object, *, where: str = "") -> Condition:
    """Read a condition of a scenario: two expressions and one of ``>= > <= < ==`` between them.

    Examples
    --------
    >>> parse_condition("machine >= brain/2").greater_side.text
    'machine'
    >>> parse_condition("machine/2 >= 1 EFLOP/s").text
    'machine/2 >= 1 EFLOP/s'
    """
    reader = Reader(text, where, "condition", scenario=True)
    root = reader.formula(reader.syntax())
    if not isinstance(root, Comparison):
        reader.fail("expected one comparison: >=, >, <=, < or ==")
    op = cast(Literal[">=", ">", "<=", "<", "=="], root.op)
    return Condition(Formula(root.left), op, Formula(root.right))


def parse_row_condition(text: object, *, where: str = "") -> Condition:
    """Read a condition on the rows of a table: two formulas in the grammar of laws, and ``>=``, ``>``, ``<=`` or ``<``.

    Examples
    --------
    >>> parse_row_condition("N >= 1e6").names
    ('N',)
    """
    reader = Reader(text, where, "condition")
    node = reader.syntax()
    if not isinstance(node, ast.Compare):
        reader.fail("expected one comparison: >=, >, <= or <")
    op = cast(Literal[">=", ">", "<=", "<"], reader.comparison(node))
    return Condition(Formula(reader.formula(node.left)), op, Formula(reader.formula(node.comparators[0])))
