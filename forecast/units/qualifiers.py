"""What a unit cannot say: precision, sparsity, direction, whose dollars. Stated beside a number and never mixed.

*Qualifiers* are a mapping of attribute to value: ``{"precision": "fp16", "sparsity": "dense"}``. The rule is short:

- What is **added, subtracted, compared** or put into ``min`` and ``max`` must agree in every attribute that both sides
  state. A side that states nothing agrees with everything.
- A **product or a ratio** states what its parts state. Where two parts state different things it is refused too, as a
  ratio compares; unless the expression itself says what comes out: ``qualifiers = { sparsity = "sparse / dense" }``.
- What an expression states replaces what it inherits; an empty text takes the attribute away.

GB and GiB are units, and convert.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from forecast.errors import QualifierError, UsageError, nearest, printable
from forecast.formula import (
    Binary,
    Call,
    Comparison,
    Formula,
    Measured,
    Name,
    Node,
    Number,
    Sequence,
    Text,
    Unary,
    parse,
    tree,
)

#: What may be stated, with examples. A column of a table that bears one of these names states it for its rows.
ATTRIBUTES: Mapping[str, str] = {
    "basis": "what was run: peak, linpack, hpcg; or how a figure is stated: marketed, data, signalling",
    "counting": "what N counts: total, non-embedding, active",
    "direction": "one-way or two-way",
    "dollars": "nominal, or real in the dollars of a year",
    "path": "vector or tensor",
    "precision": "fp64, fp32, tf32, bf16, fp16, fp8, int8, fp4, int4",
    "sparsity": "dense or sparse",
    "tokenizer": "what a token is",
}

#: Attribute to value.
Qualifiers = Mapping[str, str]


def check(qualifiers: Mapping[str, object], *, where: str = "") -> dict[str, str]:
    """Return qualifiers as they were stated, or say what is wrong with it.

    Raises
    ------
    UsageError
        For an attribute that is not in `ATTRIBUTES`, and for a value that is no text.

    Examples
    --------
    >>> check({"precision": "fp16"})
    {'precision': 'fp16'}
    """
    at = f"{where}: " if where else ""
    for name, value in qualifiers.items():
        if name not in ATTRIBUTES:
            near = nearest(str(name), ATTRIBUTES)
            hint = f"did you mean '{near}'?" if near else f"known: {', '.join(ATTRIBUTES)}"
            raise UsageError(f"{at}qualifiers: unknown attribute '{printable(name, 60)}'; {hint}")
        if not isinstance(value, str):
            raise UsageError(f"{at}qualifiers.{name}: expected text, got {printable(value, 40)}")
    return {name: str(value) for name, value in qualifiers.items()}


def of_rows(where: Mapping[str, str]) -> dict[str, str]:
    """Return the qualifiers of rows that were picked by the values of their columns.

    Examples
    --------
    >>> of_rows({"precision": "fp16", "status": "verified"})
    {'precision': 'fp16'}
    """
    return {name: value for name, value in where.items() if name in ATTRIBUTES}


def of_record(rows: Mapping[str, str], stated: Mapping[str, object], *, where: str = "") -> dict[str, str]:
    """Return the qualifiers of rows and of what the record states of them; an empty text takes an attribute away.

    Examples
    --------
    >>> of_record({"precision": "fp32", "direction": "one-way"}, {"precision": "", "dollars": "nominal"})
    {'direction': 'one-way', 'dollars': 'nominal'}
    """
    merged = {**of_rows(rows), **check(stated, where=where)}
    return {name: value for name, value in merged.items() if value}


def qualifiers_text(qualifiers: Qualifiers) -> str:
    """Write qualifiers in words: ``precision fp16, sparsity dense``."""
    return ", ".join(f"{name} {printable(value, 40)}" for name, value in qualifiers.items() if value) or "no qualifiers"


def meet(a: Qualifiers, b: Qualifiers, *, left: str, right: str, where: str = "") -> dict[str, str]:
    """Return what two sides state together.

    Parameters
    ----------
    a, b : mapping of str to str
    left, right : str
        What the sides are called, for the message.
    where : str

    Raises
    ------
    QualifierError
        Where they state different values of one attribute; the message names both sides.

    Examples
    --------
    >>> meet({"sparsity": "dense"}, {"precision": "fp16"}, left="a", right="b")
    {'sparsity': 'dense', 'precision': 'fp16'}
    >>> meet({"sparsity": "dense"}, {"sparsity": "sparse"}, left="a", right="b")
    Traceback (most recent call last):
    ...
    forecast.errors.QualifierError: qualifiers do not match: 'a' is sparsity dense, 'b' is sparsity sparse
    """
    differ = _differ(a, b)
    if differ:
        _mismatch_error(differ, a, b, left, right, f"{where}: " if where else "")
    return {**a, **b}


def _differ(a: Qualifiers, b: Qualifiers) -> list[str]:
    return [name for name in a if name in b and a[name] != b[name]]


def _mismatch_error(
    differ: list[str], a: Qualifiers, b: Qualifiers, left: str, right: str, before: str, hint: str = ""
) -> NoReturn:
    first, second = (qualifiers_text({name: side[name] for name in differ}) for side in (a, b))
    sides = f"'{printable(left, 60)}' is {first}, '{printable(right, 60)}' is {second}"
    raise QualifierError(f"{before}qualifiers do not match: {sides}{hint}")


def infer(
    formula: Formula | str, bases: Mapping[str, Qualifiers], *, qualifiers: Qualifiers | None = None, where: str = ""
) -> Qualifiers:
    """Return the qualifiers of a formula from those of its names.

    Parameters
    ----------
    formula : Formula or str
    bases : mapping of str to qualifiers
        A name that is missing states nothing.
    qualifiers : mapping, optional
        What the expression itself states: it replaces what is inherited, and lets products and ratios mix that
        attribute.
    where : str
        For the message.

    Raises
    ------
    QualifierError

    Examples
    --------
    >>> sides = {"fast": {"sparsity": "sparse"}, "slow": {"sparsity": "dense"}, "price": {"dollars": "nominal"}}
    >>> infer("fast/price", sides)
    {'sparsity': 'sparse', 'dollars': 'nominal'}
    >>> infer("fast/slow", sides, qualifiers={"sparsity": "sparse / dense"})
    {'sparsity': 'sparse / dense'}
    >>> infer("fast/slow", sides)
    Traceback (most recent call last):
    ...
    forecast.errors.QualifierError: in 'fast/slow', qualifiers do not match: 'fast' is sparsity sparse, 'slow' is \
sparsity dense; where the ratio is meant, state what it is: qualifiers = { sparsity = "..." }
    """
    made = formula if isinstance(formula, Formula) else parse(formula, where=where)
    declared = dict(qualifiers or {})
    inferred = _BasisWalker(bases, declared, where).of(made.root)
    return {name: value for name, value in {**inferred, **declared}.items() if value}


class _BasisWalker:
    """Walks a formula with bases in the place of numbers."""

    def __init__(self, bases: Mapping[str, Qualifiers], qualifiers: Qualifiers, where: str) -> None:
        self.bases, self.stated, self.where = bases, qualifiers, where

    def of(self, node: Node) -> dict[str, str]:
        match node:
            case Number() | Measured() | Text():
                return {}
            case Name(name):
                return dict(self.bases.get(name, {}))
            case Unary(operand=operand):
                return self.of(operand)
            case Call(args=args) | Sequence(items=args):
                return self.joined(node, args, mixes=False)
            case Comparison(left=left, right=right):
                self.joined(node, (left, right), mixes=False)
                return {}  # whether it holds is neither side's
            case Binary(op=op, left=left, right=right):
                return self.joined(node, (left, right), mixes=op not in "+-")

    def joined(self, node: Node, parts: tuple[Node, ...], *, mixes: bool) -> dict[str, str]:
        together: dict[str, str] = {}
        for index, part in enumerate(parts):
            other = self.of(part)
            differ = [n for n in _differ(together, other) if not (mixes and n in self.stated)]
            if differ:
                first = next(p for p in parts[:index] if _differ(self.of(p), other))
                at = f"in '{printable(tree.to_text(node), 60)}', "
                before = f"{self.where}: {at}" if self.where else at
                _mismatch_error(
                    differ, together, other, tree.to_text(first), tree.to_text(part), before, self.hint(node, differ)
                )
            together |= other
        return together

    def hint(self, node: Node, differ: list[str]) -> str:
        """Say how a product or a ratio of the two is meant; a sum of them never is."""
        if not isinstance(node, Binary) or node.op in "+-":
            return ""
        what = "ratio" if node.op == "/" else "product"
        missing = ", ".join(f'{name} = "..."' for name in differ)
        return f"; where the {what} is meant, state what it is: qualifiers = {{ {missing} }}"
