"""Formulas, conditions and names as people write them: parsed through an own whitelist, never executed.

The grammar is arithmetic: numbers, names, ``+ - * / **``, parentheses, the constant ``pi`` and the functions of
`FUNCTIONS`. ``log`` is the natural logarithm, angles are in radians, Euler's number is ``exp(1)``.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from forecast.errors import FormulaError, printable
from forecast.formula import tree
from forecast.formula.reader import REFUSED, Reader, check_name
from forecast.formula.tree import FUNCTIONS, Binary, Call, Name, Node, Number, Unary

__all__ = [
    "FUNCTIONS",
    "REFUSED",
    "Binary",
    "Call",
    "Condition",
    "Formula",
    "Name",
    "Node",
    "Number",
    "Unary",
    "check_name",
    "from_sympy",
    "parse",
    "parse_condition",
]

_COMPARISONS: Mapping[type[ast.cmpop], str] = {ast.GtE: ">=", ast.Gt: ">", ast.LtE: "<=", ast.Lt: "<"}


@dataclass(frozen=True)
class Formula:
    """An arithmetic formula: a tree of `Number`, `Name`, `Unary`, `Binary` and `Call`. Made by `parse`.

    Examples
    --------
    >>> f = parse("E + A/N**alpha")
    >>> f.names
    ('E', 'A', 'N', 'alpha')
    >>> f.evaluate({"E": 1.0, "A": 8.0, "N": 4.0, "alpha": 0.5})
    5.0
    >>> f.derivative("A").text
    '1/N**alpha'
    """

    root: Node

    @functools.cached_property
    def text(self) -> str:
        """The formula in canonical spelling; ``parse(f.text) == f``."""
        return tree.text(self.root)

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The names in it, in order of appearance."""
        return tuple(dict.fromkeys(n.name for n in tree.walk(self.root) if isinstance(n, Name)))

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
            is nan; nothing warns.

        Returns
        -------
        float or numpy.ndarray
        """
        import numpy as np

        known: dict[str, Any] = {}
        for name in self.names:
            if name not in values:
                raise FormulaError(f"formula '{printable(self.text, 80)}': no value for '{name}'")
            try:
                known[name] = np.asarray(values[name], dtype=np.float64)[()]
            except (TypeError, ValueError):
                kind = type(values[name]).__name__
                raise FormulaError(f"value of '{name}': expected numbers, got {kind}") from None

        try:
            result = tree.evaluate(self.root, known)
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
        known = {n: v.root if isinstance(v, Formula) else tree.signed(float(v)) for n, v in values.items()}

        def swap(node: Node) -> Node:
            if isinstance(node, Name):
                return known.get(node.name, node)
            return tree.rebuild(node, tuple(map(swap, tree.children(node))))

        return Formula(swap(self.root))

    def latex(self) -> str:
        r"""Write the formula in LaTeX, for instance ``E + \frac{A}{N^{\alpha}}``."""
        return tree.latex(self.root)

    def to_sympy(self) -> Any:
        """Return the formula as a sympy expression over plain symbols of the same names, built node by node."""
        from forecast.formula.symbolic import to_sympy

        return to_sympy(self.root)

    def derivative(self, name: str) -> Formula:
        """Return the derivative with respect to `name`, as a formula of the same grammar."""
        from forecast.formula.differentiate import derivative

        return Formula(derivative(self.root, name))

    def solve(self, name: str, value: float) -> list[Formula | float]:
        """Return what `name` must be for the formula to equal `value`: numbers where no other name is left.

        Examples
        --------
        >>> parse("2015 + d*log2(ratio)").solve("d", 2037.0)[0].text
        '(2037 - 2015)/log2(ratio)'
        >>> parse("a**2").solve("a", 9.0)
        [3.0, -3.0]
        """
        from forecast.formula.symbolic import solve

        found = [Formula(n) for n in solve(self.root, name, float(value))]
        answers = [f if f.names else f.evaluate({}) for f in found]
        return [a for a in answers if isinstance(a, Formula) or math.isfinite(a)]


@dataclass(frozen=True)
class Condition:
    """One comparison of two formulas. Made by `parse_condition`."""

    left: Formula
    op: Literal[">=", ">", "<=", "<"]
    right: Formula

    @property
    def text(self) -> str:
        """The condition in canonical spelling."""
        return f"{self.left.text} {self.op} {self.right.text}"

    @property
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


def parse_condition(text: object, *, where: str = "") -> Condition:
    """Read a condition: two formulas and one of ``>= > <= <`` between them.

    Examples
    --------
    >>> parse_condition("machine >= brain/2").greater_side.text
    'machine'
    """
    reader = Reader(text, where, "condition")
    node = reader.syntax()
    if not isinstance(node, ast.Compare):
        reader.fail("expected one comparison: >=, >, <= or <")
    if len(node.ops) != 1:
        reader.fail("expected exactly one comparison")
    op = _COMPARISONS.get(type(node.ops[0]))
    if op is None:
        reader.fail("expected one of >=, >, <=, <")
    left, right = Formula(reader.formula(node.left)), Formula(reader.formula(node.comparators[0]))
    return Condition(left, cast(Literal[">=", ">", "<=", "<"], op), right)


def from_sympy(expression: Any, names: Any) -> Formula:
    """Return a sympy expression as a formula, if it is inside the grammar and its symbols are all in `names`."""
    from forecast.formula.symbolic import from_sympy as convert

    return Formula(convert(expression, tuple(names)))
