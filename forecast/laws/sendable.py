"""Laws on their way to another process: as their own text, or, where they are code, as their name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from forecast.errors import ForecastError, UsageError, printable
from forecast.laws import law as find
from forecast.laws.definition import Law
from forecast.laws.forms import Code, Form
from forecast.laws.grouped import Grouped

#: Laws that were made here from a text, so that each is compiled once; and how many are kept.
_made: dict[str, Law] = {}
MAX_CACHED_LAWS = 32


def sent(law: Law) -> tuple[Callable[..., Law], tuple[Any, ...]]:
    """Return a function of this module and its arguments that make a law again: what copies of it are made by."""
    from forecast.laws.compose import law_arguments, other_arguments

    form, options = law._form, other_arguments(law)
    if isinstance(form, Code) and _is_registered(law):
        return find, (law.name,)
    key = "" if isinstance(form, (Code, Grouped)) else repr({**law_arguments(law), **options})
    return _load_made, (key, form, options)


def _is_registered(law: Law) -> bool:
    """Tell whether the catalogue has this very law."""
    if law.name is None:
        return False
    try:
        return find(law.name) is law
    except ForecastError:
        return False


def _load_made(key: str, form: Form, options: Mapping[str, Any]) -> Law:
    """Return a law of a form, the one that was made before where the form is a text and has a key."""
    if key not in _made:
        result = Law._from_form(form, options)
        if not key:
            return result
        while len(_made) >= MAX_CACHED_LAWS:
            del _made[next(iter(_made))]
        _made[key] = result
    return _made[key]


def check_sendable(law: Law, where: str) -> None:
    """Raise `UsageError` for a law that no other process can be given.

    Examples
    --------
    >>> from forecast import Law
    >>> check_sendable(Law("a*x", variables=["x"]), "workers")
    """
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
