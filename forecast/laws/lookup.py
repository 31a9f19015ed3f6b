"""Laws of the catalogue, by name."""

from __future__ import annotations

from typing import Any

from forecast.contract.specs import LawSpec
from forecast.formula import check_name
from forecast.laws.definition import Law
from forecast.laws.forms import Code

_made: dict[int, tuple[LawSpec, Law]] = {}


#: What a record says of a law, whatever computes it.
_SHARED_FIELDS = (
    "variables", "output", "unit", "bounds", "positive", "requires", "objective", "published", "title", "reference"
)  # fmt: skip


def _law_of_spec(spec: LawSpec, full_name: str) -> Law:
    """Make a law of its record; one without a text form has the parameters of the record's example."""
    shared: dict[str, Any] = {name: getattr(spec, name) for name in _SHARED_FIELDS}
    if spec.expression is not None:
        return Law(spec.expression, equals=spec.equals, between=spec.between, name=full_name, **shared)
    from forecast.contract.registry import import_target

    assert spec.target is not None
    code, where = import_target(spec.target, what=f"law {full_name}"), f"law '{full_name}'"
    parameters = tuple(check_name(n, where=where) for n in spec.example)
    form = Code(code, parameters, tuple(spec.variables), where)
    return Law._from_form(form, {**shared, "linear": (), "name": full_name})


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
    from forecast.contract.registry import get_registry

    record = get_registry().find("law", name, where=where)
    spec = record.spec
    # one law per record, so that its derivatives are taken once; the record is kept, so its id stays its own
    if id(spec) not in _made:
        _made[id(spec)] = (spec, _law_of_spec(spec, record.full_name))
    return _made[id(spec)][1]
