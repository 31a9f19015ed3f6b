"""``datapackage.json``: what a table says about itself, read into records.

The vocabulary is that of Frictionless Data Package and Table Schema, with five words of our own: `unit` and
`qualifiers` on a field, `checks` and `separate` on a schema, and `parser` on a resource that is downloaded: the name of
a reader that a plugin registered, for a file from a stranger runs nothing. Keys that are not known are errors: a
misspelt ``primaryKey`` would otherwise be passed over in silence.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from forecast.base import access
from forecast.base.files import file_hash, read_bytes
from forecast.base.json_text import strict_json
from forecast.base.number_checks import is_real
from forecast.base.saved_records import (
    ANYTHING,
    FLAG,
    ListSchema,
    MappingSchema,
    ObjectSchema,
    RefinedSchema,
    ValueSchema,
    find_problems,
)
from forecast.errors import DataError, FormulaError, TableError, did_you_mean, first_names, printable
from forecast.formula import parse_row_condition
from forecast.tables.schema import cells, checks
from forecast.units.qualifiers import ATTRIBUTES

MAX_DESCRIPTOR_BYTES = 4 * 2**20
#: A larger descriptor is parsed anew each time, so that those of strangers do not fill the memory.
_MAX_CACHED_BYTES = 2**18
FIELD_TYPES = ("string", "number", "integer", "date", "boolean")
_PARSERS = {"number": cells.parse_cell_number, "integer": cells.integer, "date": cells.date, "boolean": cells.boolean}
HASH_PATTERN = re.compile(r"sha256:[0-9a-f]{64}")
#: In the place of a hash that nobody published: the one that a download has at its first fetch, from then on.
RECORDED_HASH = "recorded"
RESOURCE_NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
#: The name of a registered reader: ``datasets/gpu-trends``, or bare.
READER_PATTERN = re.compile(r"(?:[a-z0-9][a-z0-9-]{0,63}/)?[a-z0-9][a-z0-9-]{0,63}")


def _clean(value: object) -> bool:
    return isinstance(value, str) and not any(ord(c) < 32 and c not in "\n\t" for c in value)


_TEXT_SCHEMA = ValueSchema("text without control characters", _clean)
_NON_EMPTY_TEXT = ValueSchema("text that is not empty", lambda v: _clean(v) and bool(v.strip()))
_FIELD_NAME_SCHEMA = ValueSchema(
    "lower case letters, digits, '.', '_' and '-'",
    lambda v: isinstance(v, str) and bool(RESOURCE_NAME_PATTERN.fullmatch(v)),
)


def _one_of(*words: str) -> RefinedSchema:
    """Return the form of a licence or a source: texts by name, with at least one of some words."""
    return RefinedSchema(
        MappingSchema(_TEXT_SCHEMA), f"one of {', '.join(words)}", lambda v: any(v.get(w, "").strip() for w in words)
    )


_SOURCES, _LICENCES = ListSchema(_one_of("title", "path")), ListSchema(_one_of("name", "path", "title"))


def _least(form: ListSchema) -> ListSchema:
    return ListSchema(form.form, 1)


_PACKAGE = ObjectSchema(
    {
        "name": _FIELD_NAME_SCHEMA, "title": _NON_EMPTY_TEXT, "version": _NON_EMPTY_TEXT, "licenses": _least(_LICENCES),
        "sources": _least(_SOURCES), "resources": ListSchema(ANYTHING, 1),
    },
    {
        **dict.fromkeys(("$schema", "contributors", "created", "homepage", "id", "keywords", "profile"), ANYTHING),
        "description": _TEXT_SCHEMA,
    },
)  # fmt: skip
_RESOURCE = ObjectSchema(
    {"name": _FIELD_NAME_SCHEMA, "path": _NON_EMPTY_TEXT, "schema": ANYTHING},
    {
        **dict.fromkeys(("bytes", "description", "mediatype", "profile", "title"), ANYTHING),
        **dict.fromkeys(("hash", "format", "parser"), _TEXT_SCHEMA),
        "encoding": ValueSchema("utf-8", lambda v: v in ("utf-8", "UTF-8")), "licenses": _LICENCES, "sources": _SOURCES,
    },
)  # fmt: skip
_KEY = ValueSchema(
    "a field's name or a list of names",
    lambda v: isinstance(v, str) or (isinstance(v, list) and all(isinstance(k, str) for k in v)),
)
_SCHEMA = ObjectSchema(
    {"fields": ListSchema(ANYTHING, 1)},
    {
        **dict.fromkeys(("title", "description"), ANYTHING), "checks": ListSchema(ANYTHING), "primaryKey": _KEY,
        "missingValues": ListSchema(_TEXT_SCHEMA), "separate": ListSchema(_TEXT_SCHEMA),
    },
)  # fmt: skip
_FIELD = ObjectSchema(
    {"name": _NON_EMPTY_TEXT, "type": _NON_EMPTY_TEXT},
    {
        **dict.fromkeys(("description", "example"), ANYTHING), "unit": _TEXT_SCHEMA, "title": _TEXT_SCHEMA,
        "qualifiers": ObjectSchema({}, dict.fromkeys(ATTRIBUTES, _TEXT_SCHEMA)),
        "constraints": ObjectSchema({}, {
            "required": FLAG, "minimum": ANYTHING, "maximum": ANYTHING, "enum": ListSchema(ANYTHING),
        }),
    },
)  # fmt: skip


_CHECK = ObjectSchema(
    {
        "name": _NON_EMPTY_TEXT,
        "condition": _NON_EMPTY_TEXT,
        "reason": ValueSchema("text that says why it must hold", _NON_EMPTY_TEXT.good),
    },
    {
        "where": MappingSchema(
            ValueSchema("a text or a list of texts", lambda v: isinstance(v, str) or (bool(v) and _KEY.good(v)))
        ),
        "other": MappingSchema(_TEXT_SCHEMA),
        "previous": _TEXT_SCHEMA,
    },
)


@dataclass(frozen=True, kw_only=True)
class Field:
    """A column: its type, unit and constraints. `minimum`, `maximum` and `enum` are in the column's own type.

    `qualifiers` is what a unit cannot say (`forecast.units.qualifiers`): ``{"basis": "linpack"}``. An empty text says
    that a column of that name is no statement about this one: a price has no precision.
    """

    name: str
    type: str
    unit: str = ""
    title: str = ""
    required: bool = False
    minimum: Any = None
    maximum: Any = None
    enum: tuple[Any, ...] | None = None
    qualifiers: Mapping[str, str] = field(default_factory=dict)

    def value(self, cell: str) -> Any:
        """Return a cell's value in this column's type; ValueError says what is wrong with it."""
        return _PARSERS.get(self.type, cells.normalise_text)(cell)

    def check(self, value: Any) -> str | None:
        """Say which constraint a value breaks, or None."""
        if self.minimum is not None and value < self.minimum:
            return f"{value} is below the minimum {self.minimum}"
        if self.maximum is not None and value > self.maximum:
            return f"{value} is above the maximum {self.maximum}"
        if self.enum is not None and value not in self.enum:
            allowed = first_names(self.enum)
            return f"'{printable(value, 60)}' is not one of {allowed}"
        return None


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One CSV file, shipped next to the descriptor or described by URL and hash (of a download also `RECORDED_HASH`).

    Rows that differ in a column of `separate` must not be mixed in a fit (`forecast.tables.schema.separate`).
    """

    name: str
    path: str
    hash: str
    fields: tuple[Field, ...]
    key: tuple[str, ...]
    missing: frozenset[str]
    format: str = "csv"
    parser: str = "csv"
    licenses: str = ""
    checks: tuple[checks.Check, ...] = ()
    separate: tuple[str, ...] = ()

    @property
    def remote(self) -> bool:
        """Tell whether the data are downloaded."""
        return "://" in self.path


@dataclass(frozen=True, kw_only=True)
class Package:
    """A whole descriptor. `licenses` and `sources` are lists of mappings, as they stand."""

    file: Path
    name: str
    title: str
    version: str
    licenses: tuple[Mapping[str, str], ...]
    sources: tuple[Mapping[str, str], ...]
    resources: tuple[Resource, ...]
    description: str = ""

    @property
    def folder(self) -> Path:
        """The folder the paths are relative to."""
        return self.file.parent


class _DescriptorReader:
    """Collects every failure as ``file: key: reason`` while it reads."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.failures: list[str] = []

    def fail(self, at: str, reason: str) -> None:
        self.failures.append(f"{self.label}: {at}: {reason}")

    def read_form(self, value: Any, at: str, form: ObjectSchema) -> dict[str, Any] | None:
        """Return an object that has a form; None, with what is wrong, of one that has not."""
        found = list(find_problems(value, form, at))
        for place, reason in found:
            self.fail(place, reason)
        return None if found else value


def read_descriptor(path: Path) -> Package:
    """Read a ``datapackage.json``.

    Raises
    ------
    TableError
        With all failures, each as ``file: key: reason``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "datapackage.json")
    >>> _ = path.write_text('{"name": "runs", "primarykey": 1}')
    >>> read_descriptor(path)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    forecast.errors.TableError: datapackage.json: package.primarykey: unknown key; ...
    """
    data = read_bytes(path, limit=MAX_DESCRIPTOR_BYTES, error=TableError)
    if len(data) > _MAX_CACHED_BYTES:
        return _parse_descriptor(path, data)
    package = _cached_descriptor(path, data)
    reachable = all(each.remote or access.inside(package.folder, each.path) for each in package.resources)
    return package if reachable else _parse_descriptor(path, data)  # what may be read is another since: it says so


def _parse_descriptor(path: Path, data: bytes) -> Package:
    label = printable(path.parent.name + "/" + path.name if path.parent.name else path.name)
    raw = strict_json(data, where=label, error=TableError)
    r = _DescriptorReader(label)
    top = r.read_form(raw, "package", _PACKAGE)
    entries = raw["resources"] if isinstance(raw, dict) and isinstance(raw.get("resources"), list) else []
    resources = [
        found for i, entry in enumerate(entries) if (found := _resource(r, entry, f"resources[{i}]", path.parent))
    ]
    names = [resource.name for resource in resources]
    for twice in sorted({n for n in names if names.count(n) > 1}):
        r.fail("resources", f"the name '{printable(twice, 60)}' is given twice")
    for i, resource in enumerate(resources):
        for reason in checks.find_misfits(resource, resources):
            r.fail(f"resources[{i}].schema.checks", reason)
    if r.failures or top is None:
        raise TableError(r.failures)
    return Package(
        file=path,
        name=top["name"],
        title=cells.normalise_text(top["title"]),
        version=cells.normalise_text(top["version"]),
        licenses=tuple(top["licenses"]),
        sources=tuple(top["sources"]),
        resources=tuple(resources),
        description=cells.normalise_text(top.get("description", "")),
    )


#: Every run asks for the hashes of its tables. The file is read each time, and what stands in it is checked once.
_cached_descriptor = functools.lru_cache(maxsize=64)(_parse_descriptor)


def _resource(r: _DescriptorReader, raw: Any, at: str, folder: Path) -> Resource | None:
    top = r.read_form(raw, at, _RESOURCE)
    schema = _schema(r, raw["schema"], f"{at}.schema") if isinstance(raw, dict) and "schema" in raw else None
    if top is None or schema is None:
        return None
    path, digest = cells.normalise_text(top["path"]), top.get("hash", "")
    remote = "://" in path
    if remote and not path.startswith(("https://", "http://")):
        r.fail(f"{at}.path", "a URL: expected http or https")
    elif not remote and access.inside(folder, path) is None:
        r.fail(f"{at}.path", access.outside(path, "descriptor"))
    if not digest:
        r.fail(f"{at}.hash", "is missing" + ("" if remote else f"; the file's is {_actual(folder, path)}"))
    elif digest == RECORDED_HASH and not remote:
        r.fail(f"{at}.hash", f"'{RECORDED_HASH}' is for downloads; the file's is {_actual(folder, path)}")
    elif digest != RECORDED_HASH and not HASH_PATTERN.fullmatch(digest):
        r.fail(f"{at}.hash", "expected 'sha256:' and 64 lower case hexadecimal digits")
    if remote and "parser" not in top:
        r.fail(f"{at}.parser", "is missing: 'csv', or the name of a reader that a plugin registered")
    licenses = top.get("licenses", [])
    if remote and not licenses:
        r.fail(f"{at}.licenses", "is missing or empty, of a download")
    form, parser = top.get("format") or "csv", top.get("parser") or "csv"
    if parser == "csv" and form != "csv":
        r.fail(f"{at}.format", f"'{printable(form, 40)}' needs a parser; csv does not")
    elif not READER_PATTERN.fullmatch(parser):
        r.fail(f"{at}.parser", _no_reader(parser))
    return Resource(
        name=top["name"], path=path, hash=digest, format=form, parser=parser,
        licenses=", ".join(entry.get("name") or entry.get("title") or entry.get("path", "") for entry in licenses),
        **schema,
    )  # fmt: skip


def _no_reader(parser: str) -> str:
    """Say that a file names no code, and which reader may be meant; only here are the plugins loaded."""
    from forecast.contract.registry import get_registry

    known = get_registry().names("reader")
    hint = did_you_mean(parser.rpartition(":")[2].replace("_", "-"), known) or did_you_mean(parser, known)
    return f"'{printable(parser, 80)}': a file names 'csv' or a reader that a plugin registered, never code{hint}"


def _read_checks(r: _DescriptorReader, schema: Mapping[str, Any], at: str) -> tuple[checks.Check, ...]:
    found = []
    for i, entry in enumerate(schema.get("checks", [])):
        here = f"{at}.checks[{i}]"
        if (stated := r.read_form(entry, here, _CHECK)) is None:
            continue
        try:
            condition = parse_row_condition(stated["condition"], where="")
        except FormulaError as error:
            r.fail(f"{here}.condition", str(error))
            continue
        rows = {column: (v,) if isinstance(v, str) else tuple(v) for column, v in stated.get("where", {}).items()}
        found.append(checks.Check(**{**stated, "condition": condition, "where": rows}))
    return tuple(found)


def _check_field_names(r: _DescriptorReader, listed: Sequence[str], names: Sequence[str], at: str) -> tuple[str, ...]:
    """Return names of fields, and say which are none."""
    for name in listed:
        if name not in names:
            r.fail(at, f"no field '{printable(name, 60)}'{did_you_mean(name, names)}")
    return tuple(name for name in listed if name in names)


def _actual(folder: Path, path: str) -> str:
    target = access.inside(folder, path)
    try:
        return file_hash(target) if target else "unknown"
    except DataError:
        return "unknown: there is no such file"


def _schema(r: _DescriptorReader, raw: Any, at: str) -> dict[str, Any] | None:
    """Return what a schema says of a resource, by the names of its record."""
    top = r.read_form(raw, at, _SCHEMA)
    entries = raw["fields"] if isinstance(raw, dict) and isinstance(raw.get("fields"), list) else []
    each = (_field(r, entry, f"{at}.fields[{i}]") for i, entry in enumerate(entries))
    fields = [found for found in each if found is not None]
    if top is None:
        return None
    names = [f.name for f in fields]
    for twice in sorted({n for n in names if names.count(n) > 1}):
        r.fail(f"{at}.fields", f"the name '{printable(twice, 60)}' is given twice")
    stated = top.get("primaryKey", [])
    key = [stated] if isinstance(stated, str) else stated
    if len(set(key)) != len(key):
        r.fail(f"{at}.primaryKey", "a field is named twice")
    return {
        "fields": tuple(fields),
        "key": _check_field_names(r, key, names, f"{at}.primaryKey"),
        "missing": frozenset({"", *top.get("missingValues", [""])}),
        "checks": _read_checks(r, top, at),
        "separate": _check_field_names(r, top.get("separate", []), names, f"{at}.separate"),
    }


def _field(r: _DescriptorReader, raw: Any, at: str) -> Field | None:
    top = r.read_form(raw, at, _FIELD)
    if top is None:
        return None
    name, kind = cells.normalise_text(top["name"]), top["type"]
    if "/" in name or name != name.strip() or any(not c.isprintable() for c in name):
        r.fail(f"{at}.name", f"'{printable(name, 60)}': no '/', control characters or blanks around it")
    if kind not in FIELD_TYPES:
        listed = ", ".join(FIELD_TYPES)
        r.fail(f"{at}.type", f"'{printable(kind, 40)}'; expected one of {listed}{did_you_mean(kind, FIELD_TYPES)}")
    if kind == "number" and "unit" not in top:
        r.fail(f"{at}.unit", f"is missing: a number has a unit ('{printable(name, 60)}'); \"\" is dimensionless")
    if kind in ("string", "date", "boolean") and top.get("unit"):
        r.fail(f"{at}.unit", f"a {kind} has none")
    plain = Field(
        name=name,
        type=kind,
        unit=cells.normalise_text(top.get("unit", "")),
        title=cells.normalise_text(top.get("title", "")),
    )
    limits = top.get("constraints", {})
    enum = limits.get("enum")
    return replace(
        plain, required=limits.get("required", False),
        minimum=_limit(r, plain, limits, "minimum", at), maximum=_limit(r, plain, limits, "maximum", at),
        enum=None if enum is None else tuple(_typed_value(r, plain, v, f"{at}.constraints.enum") for v in enum),
        qualifiers={key: cells.normalise_text(text) for key, text in top.get("qualifiers", {}).items()},
    )  # fmt: skip


def _limit(r: _DescriptorReader, field: Field, limits: Mapping[str, Any], key: str, at: str) -> Any:
    if key not in limits:
        return None
    if field.type not in ("number", "integer", "date"):
        r.fail(f"{at}.constraints.{key}", f"a {field.type} has no order")
        return None
    return _typed_value(r, field, limits[key], f"{at}.constraints.{key}")


def _typed_value(r: _DescriptorReader, field: Field, value: Any, at: str) -> Any:
    """Read a constraint's value in its column's type: a JSON number for numbers, text for the rest."""
    if field.type in ("number", "integer") and is_real(value):
        return value
    if field.type == "boolean" and isinstance(value, bool):
        return value
    if field.type in ("string", "date") and isinstance(value, str):
        try:
            return field.value(value)
        except ValueError as error:
            r.fail(at, str(error))
            return None
    r.fail(at, f"expected {'an' if field.type == 'integer' else 'a'} {field.type}, got {printable(repr(value), 60)}")
    return None
