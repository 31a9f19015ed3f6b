"""Laws made of laws: sums and products, parameters fixed, tied or renamed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from forecast.base.number_checks import is_real
from forecast.errors import FormulaError, UnknownNameError, UsageError, printable
from forecast.formula import Binary, Call, Formula, Name, Node, check_name, parse
from forecast.formula.tree import number_node, walk
from forecast.laws.forms import Code, Explicit, Form, replace_names as replaced
from forecast.laws.grouped import Groupable
from forecast.laws.program import FormulaProgram

if TYPE_CHECKING:
    from forecast.laws.definition import Law

#: Functions with a kink: the derivative says nothing of what lies beyond it.
_KINKED_FUNCTIONS = ("abs", "ceil", "heaviside", "max", "min", "sign")


class Composable(Groupable):
    """The part of `forecast.Law` that makes other laws of it; none of them keeps the name or the published fits."""

    def with_(self, values: Mapping[str, float] | None = None, /, *, tie: Sequence[Any] = (), **fixed: float) -> Law:
        """Return the law with parameters fixed, or tied to each other.

        Parameters
        ----------
        values : mapping of str to float, optional
            Another way to give `fixed`.
        tie : sequence of str, or sequence of those
            Parameters that are one; the first name stays.
        **fixed : float

        Examples
        --------
        >>> from forecast import Law
        >>> law = Law("E + A*N**-alpha + B*D**-beta", variables=["N", "D"])
        >>> law.with_(E=1.6, tie=("alpha", "beta")).text
        'y = 1.6 + A*N**-alpha + B*D**-alpha'
        """
        return _modify_law(cast("Law", self), {**(values or {}), **fixed}, tie)

    def prefixed(self, prefix: str) -> Law:
        """Return the law with `prefix` before the name of every parameter.

        Examples
        --------
        >>> from forecast import Law
        >>> Law("a*x", variables=["x"]).prefixed("left_").parameters
        ('left_a',)
        """
        law = cast("Law", self)
        names = {n: check_name(f"{prefix}{n}", where=f"{law._where}: prefix") for n in law.parameters}
        return _replace_parameters(law, {n: Formula(Name(new)) for n, new in names.items()}, names)

    def __add__(self, other: Law | float) -> Law:
        return _combine_laws("+", self, other)

    def __sub__(self, other: Law | float) -> Law:
        return _combine_laws("-", self, other)

    def __mul__(self, other: Law | float) -> Law:
        return _combine_laws("*", self, other)

    def __truediv__(self, other: Law | float) -> Law:
        return _combine_laws("/", self, other)

    def __radd__(self, other: float) -> Law:
        return _combine_laws("+", other, self)

    def __rsub__(self, other: float) -> Law:
        return _combine_laws("-", other, self)

    def __rmul__(self, other: float) -> Law:
        return _combine_laws("*", other, self)

    def __rtruediv__(self, other: float) -> Law:
        return _combine_laws("/", other, self)


def law_arguments(law: Law) -> dict[str, Any]:
    """Return the arguments of `forecast.Law` that say what it computes."""
    from forecast.laws.implicit import Implicit

    form = law._form
    if isinstance(form, Implicit):
        return {"expression": form.left.text, "equals": form.right.text, "between": tuple(e.text for e in form.ends)}
    return {"expression": law.formula.text}


def other_arguments(law: Law) -> dict[str, Any]:
    """Return the other arguments of `forecast.Law`."""
    return {
        "variables": dict(law.variables),
        "output": law.output,
        "unit": law.unit,
        "bounds": {n: b for n, b in law.bounds.items() if b != (-math.inf, math.inf)},
        "linear": law._linear,
        "requires": dict(law.requires),
        "name": law.name,
        "objective": law.objective,
        "published": law.published_fits,
        "title": law.title,
        "reference": law.reference,
    }


# Fixing, tying, renaming ----------------------------------------------------------------------------------------------


def _replace_parameters(law: Law, changes: Mapping[str, Formula], renamed: Mapping[str, str]) -> Law:
    """Return a law with parameters replaced; `renamed` says what those that stay parameters are called now."""
    form: Form = law._form.replaced(changes)
    bounds: dict[str, tuple[float, float]] = {}
    for name, new in renamed.items():
        low, high = bounds.get(new, (-math.inf, math.inf))
        bounds[new] = max(low, law.bounds[name][0]), min(high, law.bounds[name][1])
        if bounds[new][0] > bounds[new][1]:
            raise UsageError(f"{law._where}: tie: the bounds of '{name}' and '{new}' have no number in common")
    linear = None
    if law._linear is not None:  # a tied parameter is not linear because one of its roles is
        count = list(renamed.values())
        linear = tuple(renamed[n] for n in law._linear if n in renamed and count.count(renamed[n]) == 1)
    requires = {replaced(parse(text), changes).text: what for text, what in law.requires.items()}
    result = {"bounds": bounds, "linear": linear, "requires": requires, "name": None, "published": (), "title": ""}
    return type(law)._from_form(form, other_arguments(law) | result)


def _modify_law(law: Law, fixed: Mapping[str, float], tie: Sequence[Any]) -> Law:
    if isinstance(tie, str):
        raise UsageError(f"{law._where}: tie: expected the names of parameters, got the text '{printable(tie, 60)}'")
    groups = [tuple(tie)] if tie and all(isinstance(n, str) for n in tie) else [tuple(g) for g in tie]
    tied = [n for group in groups for n in group]
    for what, names in (("with_", tuple(fixed)), ("tie", tuple(tied))):
        for name in names:
            if name not in law.parameters:
                raise UnknownNameError("parameter", name, law.parameters, where=f"{law._where}: {what}")
    twice = sorted({n for n in (*fixed, *tied) if (*fixed, *tied).count(n) > 1})
    if twice:
        raise UsageError(f"{law._where}: named twice among what is fixed and tied: {', '.join(twice)}")
    if any(len(group) < 2 for group in groups):
        raise UsageError(f"{law._where}: tie: expected two parameters or more")
    changes: dict[str, Formula] = {}
    for name, value in fixed.items():
        low, high = law.bounds[name]
        if not is_real(value) or not math.isfinite(value):
            raise UsageError(f"{law._where}: with_: '{name}': expected a finite number, got {printable(value, 40)}")
        if not low <= value <= high:
            raise UsageError(f"{law._where}: with_: {name} = {value:g} is outside its bounds ({low:g}, {high:g})")
        changes[name] = Formula(number_node(float(value)))
    renamed = {n: n for n in law.parameters if n not in fixed}
    for first, *others in groups:
        for name in others:
            changes[name], renamed[name] = Formula(Name(first)), first
    return _replace_parameters(law, changes, renamed) if changes else law


# Sums and products ----------------------------------------------------------------------------------------------------


def _combine_laws(op: str, left: Any, right: Any) -> Law:
    for side in (left, right):
        if isinstance(side, bool) or not isinstance(side, (Composable, int, float)):
            raise UsageError(f"a law {op} something: expected a law or a number, got {type(side).__name__}")
    laws = [cast("Law", s) for s in (left, right) if isinstance(s, Composable)]
    trees = []
    for side in (left, right):
        if isinstance(side, Composable):
            form = cast("Law", side)._form
            if form.formula is None:
                kind = "code" if isinstance(form, Code) else "implicit"
                raise UsageError(f"{cast('Law', side)._where}: is {kind}: only laws that are formulas can be combined")
            trees.append(form.formula.root)
        elif math.isfinite(side):
            trees.append(number_node(float(side)))
        else:
            raise UsageError(f"a law and {side:g}: expected a finite number")
    if len(laws) == 2:
        _check_compatible(op, *laws)
    text = Formula(Binary(op, trees[0], trees[1])).text
    first, last = laws[0], laws[-1]
    reference = "; ".join(dict.fromkeys(law.reference for law in laws if law.reference))
    changes = {
        "variables": {**first.variables, **{n: u for n, u in last.variables.items() if u or n not in first.variables}},
        "output": first.output if first.output != "y" else last.output,
        "unit": _combined_unit(op, first, last) if len(laws) == 2 else first.unit if op != "/" or left is first else "",
        "bounds": other_arguments(first)["bounds"] | other_arguments(last)["bounds"],
        "requires": {**first.requires, **last.requires},
        "objective": first.objective if first.objective == last.objective else "least_squares",
    }
    changes |= {"linear": None, "name": None, "published": (), "title": "", "reference": reference}
    return type(first)._from_form(Explicit(parse(text, where=f"{first._where} {op} {last._where}")), changes)


def _check_compatible(op: str, left: Law, right: Law) -> None:
    """Collect everything that two laws do not agree on, and raise it at once."""
    wrong = []
    both = [n for n in left.parameters if n in right.parameters]
    if both:
        wrong.append(f"parameters of both: {', '.join(both)} (rename one side: law.prefixed('a_'), or tie= afterwards)")
    mixed = [n for a, b in ((left, right), (right, left)) for n in a.parameters if n in b.variables]
    if mixed:
        wrong.append(f"a parameter on one side and a variable on the other: {', '.join(mixed)}")
    units = [
        f"'{n}' [{left.variables[n]}] and [{right.variables[n]}]"
        for n in left.variables
        if left.variables[n] and right.variables.get(n) and left.variables[n] != right.variables[n]
    ]
    if units:
        wrong.append(f"variables in different units: {', '.join(units)}")
    if op in "+-" and left.unit and right.unit and left.unit != right.unit:
        wrong.append(f"outputs in different units: [{left.unit}] and [{right.unit}]")
    if wrong:
        raise FormulaError(f"{left._where} {op} {right._where}: {'; '.join(wrong)}")


def _combined_unit(op: str, left: Law, right: Law) -> str:
    if op in "+-":
        return left.unit or right.unit
    if left.unit and right.unit:
        return f"({left.unit}){op}({right.unit})"
    return left.unit if op == "/" and not right.unit else "" if op == "/" else left.unit or right.unit


# Linear parameters ----------------------------------------------------------------------------------------------------


def _kinked_names(root: Node) -> Iterator[str]:
    for node in walk(root):
        if isinstance(node, Call) and node.function in _KINKED_FUNCTIONS:
            yield from (n.name for n in walk(node) if isinstance(n, Name))


def linear_parameters(law: Law) -> tuple[str, ...]:
    """Find parameters in which, taken together, a law is linear: their second derivatives are all zero.

    None are found of a law that is code or implicit.
    """
    if law._form.formula is None:
        return ()
    program = law.program()
    assert isinstance(program, FormulaProgram)
    pairs = program.curved()
    names = law.parameters
    bent = {i for i, j in pairs if i == j} | {
        i for i, n in enumerate(names) if n in set(_kinked_names(law.formula.root))
    }
    found: list[int] = []
    for i in sorted(range(len(names)), key=lambda i: sum(i in p for p in pairs)):
        if i not in bent and not any((min(i, j), max(i, j)) in pairs for j in found):
            found.append(i)
    return tuple(names[i] for i in sorted(found))
