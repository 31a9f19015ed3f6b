"""Laws on their way to another process: as their own text, or, where they are code, as their name."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from forecast.errors import ForecastError, UsageError, printable

if TYPE_CHECKING:
    from forecast.laws.definition import Law

__all__ = ["check_sendable", "sent"]

#: Laws that were made here from a text, so that each is compiled once; and how many are kept.
_made: dict[str, Law] = {}
MAX_CACHED_LAWS = 32


def sent(law: Law) -> tuple[Callable[..., Law], tuple[Any, ...]]:
    """Return a function of this module and its arguments that make a law again: what copies of it are made by."""
    from forecast.laws.compose import other_arguments
    from forecast.laws.forms import Code
    from forecast.laws.grouped import Grouped

    form = law._form
    if isinstance(form, Grouped):
        slots = {name: tuple(f.text for f in each) for name, each in form.slots.items()}
        return _load_grouped, (form.law, form.by, form.labels, slots, _to_plain_record(other_arguments(law)))
    if isinstance(form, Code):
        if _is_registered(law):
            return _load_named, (law.name,)
        return _load_coded, (form, _to_plain_record(other_arguments(law)))
    record = _to_plain_record(law.record())
    return _written, (repr(record), record)


def _to_plain_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record whose mappings are plain ones, published fits as their fields."""
    found = {name: _to_dict(value) for name, value in record.items()}
    found["published"] = tuple(
        {f.name: _to_dict(getattr(p, f.name)) for f in dataclasses.fields(p)} for p in record["published"]
    )
    return found


def _to_dict(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _to_law_arguments(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as a law takes it."""
    from forecast.contract.published import PublishedFit

    return {**record, "published": tuple(PublishedFit(**fields) for fields in record["published"])}


def _is_registered(law: Law) -> bool:
    """Tell whether the catalogue has this very law."""
    from forecast.laws import law as find

    if law.name is None:
        return False
    try:
        return find(law.name) is law
    except ForecastError:
        return False


def _load_named(name: str) -> Law:
    from forecast.laws import law

    return law(name)


def _load_coded(form: Any, options: Mapping[str, Any]) -> Law:
    from forecast.laws import Law

    return Law._from_form(form, _to_law_arguments(options))


def _written(key: str, record: Mapping[str, Any]) -> Law:
    from forecast.laws import Law

    if key not in _made:
        while len(_made) >= MAX_CACHED_LAWS:
            del _made[next(iter(_made))]
        _made[key] = Law(**_to_law_arguments(record))
    return _made[key]


def _load_grouped(
    law: Law, by: str, labels: tuple[str, ...], slots: Mapping[str, Any], options: Mapping[str, Any]
) -> Law:
    from forecast.formula import parse
    from forecast.laws import Law
    from forecast.laws.grouped import Grouped

    read = {name: tuple(parse(text) for text in each) for name, each in slots.items()}
    return Law._from_form(Grouped(law, by, labels, read), _to_law_arguments(options))


def check_sendable(law: Law, where: str) -> None:
    """Raise `UsageError` for a law that no other process can be given.

    Examples
    --------
    >>> from forecast import Law
    >>> check_sendable(Law("a*x", variables=["x"]), "workers")
    """
    from forecast.laws.forms import Code
    from forecast.laws.grouped import Grouped

    inner = law._form.law if isinstance(law._form, Grouped) else law
    form = inner._form
    if not isinstance(form, Code) or _is_registered(inner):
        return
    module, name = getattr(form._code, "__module__", None), getattr(form._code, "__qualname__", "<locals>")
    here: Any = sys.modules.get(module or "")
    for part in name.split("."):
        here = getattr(here, part, None)
    if here is not form._code:
        raise UsageError(
            f"{where}: {printable(law.name or 'the law', 100)} is code that was made in this process, and no other can "
            "be given it; leave workers out, or fit the law as the catalogue has it"
        )
