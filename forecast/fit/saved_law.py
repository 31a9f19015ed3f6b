"""The law of a saved fit as JSON: its registered name and its text, from which it is made again; never code."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from forecast.base.saved_records import (
    TEXT,
    Form,
    ListSchema,
    MappingSchema,
    ObjectSchema,
    OptionalSchema,
    ValueSchema,
    check_record,
)
from forecast.errors import ForecastError, ResultError, UsageError, printable
from forecast.formula import check_name, parse
from forecast.laws import Law, law
from forecast.laws.grouped import Grouped, law_of_form

MAX_LAW_NAME = 500
_NAME_SCHEMA = OptionalSchema(ValueSchema("a name", lambda v: isinstance(v, str) and len(v) <= MAX_LAW_NAME))
_END = ValueSchema(
    "a number, or -inf or inf as text",
    lambda v: v in ("inf", "-inf") if isinstance(v, str) else type(v) in (int, float) and math.isfinite(v),
)
_LAW_KEYS: dict[str, Form] = {
    "variables": MappingSchema(TEXT),
    "output": TEXT,
    "unit": TEXT,
    "bounds": MappingSchema(ListSchema(_END, 2, 2)),
    "linear": OptionalSchema(ListSchema(TEXT)),
    "requires": MappingSchema(TEXT),
    "name": _NAME_SCHEMA,
    "objective": TEXT,
    "title": TEXT,
    "reference": TEXT,
}
#: What the text of a law may hold: a formula, or an equation with the ends between which it is solved.
_EXPLICIT = ObjectSchema({**_LAW_KEYS, "expression": TEXT})
_IMPLICIT = ObjectSchema({**_LAW_KEYS, "expression": TEXT, "equals": TEXT, "between": ListSchema(TEXT, 2, 2)})
_CODE = ObjectSchema(
    {
        "name": _NAME_SCHEMA,
        "arguments": ValueSchema("null, of a law that is code", lambda v: v is None),
        "parameters": ListSchema(TEXT),
    }
)
_GROUPED = ObjectSchema({"by": TEXT, "labels": ListSchema(TEXT, 2), "slots": MappingSchema(ListSchema(TEXT, 2))})


def law_record(law: Law) -> dict[str, Any]:
    """Return what makes a law again, as JSON: of code the name alone."""
    form = law._form
    if isinstance(form, Grouped):
        slots = {p: [f.text for f in each] for p, each in form.slots.items()}
        own = {"by": form.by, "labels": list(form.labels), "slots": slots}
        return {"name": law.name, "grouped": own, "law": law_record(form.law)}
    arguments = _law_arguments(law)
    return {"name": law.name, "arguments": arguments, "parameters": list(law.parameters)}


def _law_arguments(law: Law) -> dict[str, Any] | None:
    """Return the text of a law as JSON; None of a law that is code."""
    try:
        found = {k: v for k, v in law.record().items() if k != "published"}
    except UsageError:
        return None
    ends = {n: [e if math.isfinite(e) else str(e) for e in pair] for n, pair in found["bounds"].items()}
    lists: dict[str, Any] = {
        k: None if found[k] is None else list(found[k]) for k in ("linear", "between") if k in found
    }
    return {**found, "bounds": ends, **lists}


def law_of(record: Any, where: str) -> tuple[Law, str]:
    """Return the law of a saved fit, and a warning where the catalogue has another one of its name.

    Raises
    ------
    ResultError
        For what is no law, and for code that no plugin here brings.
    """
    at = f"{where}: law"
    if isinstance(record, dict) and "grouped" in record:
        return _build_grouped(record, at)
    plain = isinstance(record, dict) and isinstance(record.get("arguments"), dict)
    text = _IMPLICIT if plain and "equals" in record["arguments"] else _EXPLICIT
    check_record(record, ObjectSchema({**_CODE.fields, "arguments": text}) if plain else _CODE, where=at)
    name, names = record["name"], record["parameters"]
    law, note = _build_ungrouped(name, record["arguments"], at)
    if law is None or (record["arguments"] is None and list(law.parameters) != names):
        shown = printable(name or "without a name", 80)
        raise ResultError(f"{where}: its law is code, {shown}, and no plugin here brings the same one")
    if list(law.parameters) != names:
        raise ResultError(
            f"{at}: parameters: expected {', '.join(law.parameters)}, as in '{printable(law.text, 80)}', "
            f"got {printable(', '.join(names), 80)}"
        )
    return law, note


def _build_ungrouped(name: str | None, arguments: dict[str, Any] | None, at: str) -> tuple[Law | None, str]:
    """Return a law without groups: the registered one where it is the same; None where there is none."""
    try:
        registered = law(name) if name else None
    except ForecastError:
        registered = None
    if arguments is None:
        return registered, ""
    if arguments["name"] != name:
        raise ResultError(f"{at}: name: '{printable(name, 60)}' is '{printable(arguments['name'], 60)}' below it")
    own: dict[str, Any] = {
        **arguments,
        "bounds": {n: (float(a), float(b)) for n, (a, b) in arguments["bounds"].items()},
    }
    own |= {k: tuple(own[k]) for k in ("linear", "between") if own.get(k) is not None}
    result = Law(**own)
    if registered is None:
        note = f"{printable(name, 80)}: no plugin here brings this law; the saved one is used" if name else ""
        return result, note if name and "/" in name else ""
    if _is_same_law(registered, result):
        return registered, ""
    return result, f"{printable(name, 80)}: the catalogue's law is another one now; the saved one is used"


def _is_same_law(registered: Law, other_law: Law) -> bool:
    """Tell whether two laws are one but for what is said of them."""
    one, other = (
        {k: v for k, v in (_law_arguments(law) or {"code": law}).items() if k not in ("title", "reference")}
        for law in (registered, other_law)
    )
    return one == other


def _build_grouped(record: Mapping[str, Any], at: str) -> tuple[Law, str]:
    """Return a law in which groups have values of their own."""
    inner = ValueSchema("a law", lambda v: isinstance(v, dict))
    check_record(record, ObjectSchema({"name": _NAME_SCHEMA, "grouped": _GROUPED, "law": inner}), where=at)
    plain, note = law_of(record["law"], at)
    by, labels, slots = (record["grouped"][key] for key in ("by", "labels", "slots"))
    if len(set(labels)) < len(labels):
        raise ResultError(f"{at}: groups: labels: expected each once")
    if not slots or not all(p in plain.parameters and len(each) == len(labels) for p, each in slots.items()):
        raise ResultError(f"{at}: groups: slots: expected one formula a group, of parameters of the law")
    check_name(by, where=f"{at}: groups")
    read = {p: tuple(parse(text, where=at) for text in each) for p, each in slots.items()}
    result = law_of_form(plain, by, tuple(labels), read)
    if record["name"] not in (None, result.name):
        raise ResultError(f"{at}: name: expected '{printable(result.name, 80)}', got '{printable(record['name'])}'")
    return result, note
