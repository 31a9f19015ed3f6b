"""Laws of the catalogue, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forecast.contract.specs import LawSpec
from forecast.formula import check_name
from forecast.laws.definition import Law
from forecast.laws.forms import Code

__all__ = ["law"]

_made: dict[int, tuple[LawSpec, Law]] = {}


def _of_code(code: Callable[..., Any], spec: LawSpec, full_name: str) -> Law:
    """Make a law without a text form; its parameters are those of the record's example."""
    where = f"law '{full_name}'"
    parameters = tuple(check_name(n, where=where) for n in spec.example)
    options = {
        "variables": spec.variables,
        "output": spec.output,
        "unit": spec.unit,
        "bounds": spec.bounds,
        "positive": spec.positive,
        "linear": (),
        "requires": spec.requires,
        "name": full_name,
        "objective": spec.objective,
        "published": spec.published,
        "title": spec.title,
        "reference": spec.reference,
    }
    return Law._from_form(Code(code, parameters, tuple(spec.variables), where), options)


def law(name: str | Law, *, where: str = "") -> Law:
    """Return a law of the catalogue by its name, full (``scaling/power``) or bare while unique.

    Raises
    ------
    UnknownNameError, AmbiguousNameError, ConflictError

    Examples
    --------
    >>> import forecast
    >>> forecast.law("scaling/chinchilla").parameters
    ('E', 'A', 'alpha', 'B', 'beta')
    """
    if isinstance(name, Law):
        return name
    from forecast.contract.registry import get_registry, import_target

    record = get_registry().find("law", name, where=where)
    spec = record.spec
    assert isinstance(spec, LawSpec)
    # one law per record, so that its derivatives are taken once; the record is kept, so its id stays its own
    if id(spec) not in _made:
        if spec.expression is None:
            assert spec.target is not None
            code = import_target(spec.target, what=f"law {record.full_name}")
            made = _of_code(code, spec, record.full_name)
        else:
            made = Law(
                spec.expression,
                variables=spec.variables,
                output=spec.output,
                unit=spec.unit,
                bounds=spec.bounds,
                positive=spec.positive,
                equals=spec.equals,
                between=spec.between,
                requires=spec.requires,
                name=record.full_name,
                objective=spec.objective,
                published=spec.published,
                title=spec.title,
                reference=spec.reference,
            )
        _made[id(spec)] = (spec, made)
    return _made[id(spec)][1]
