"""``datapackage.json``: what a table says about itself, read into records.

The vocabulary is that of Frictionless Data Package and Table Schema, with five words of our own: `unit` and
`qualifiers` on a field, `checks` and `separate` on a schema, and `parser` on a resource that is downloaded: the name of
a reader that a plugin registered, for a file from a stranger runs nothing. Keys that are not known are errors: a
misspelt ``primaryKey`` would otherwise be passed over in silence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forecast.base import access
from forecast.base.files import read_bytes
from forecast.base.json_text import strict_json
from forecast.errors import TableError, nearest, printable
from forecast.tables.schema import cells, checks
from forecast.units.qualifiers import ATTRIBUTES

__all__ = ["RECORDED", "Field", "Package", "Resource", "read"]

LIMIT_BYTES = 4 * 2**20
TYPES = ("string", "number", "integer", "date", "boolean")
HASH = re.compile(r"sha256:[0-9a-f]{64}")
#: In the place of a hash that nobody published: the one that a download has at its first fetch, from then on.
RECORDED = "recorded"
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
#: The name of a registered reader: ``datasets/gpu-trends``, or bare.
READER = re.compile(r"(?:[a-z0-9][a-z0-9-]{0,63}/)?[a-z0-9][a-z0-9-]{0,63}")

# fmt: off
_PACKAGE = frozenset((
    "$schema", "contributors", "created", "description", "homepage", "id", "keywords", "licenses", "name", "profile",
    "resources", "sources", "title", "version",
))
_RESOURCE = frozenset((
    "bytes", "description", "encoding", "format", "hash", "licenses", "mediatype", "name", "parser", "path", "profile",
    "schema", "sources", "title",
))
# fmt: on
_SCHEMA = frozenset(("checks", "fields", "primaryKey", "missingValues", "separate", "title", "description"))
_FIELD = frozenset(("name", "type", "unit", "title", "description", "constraints", "example", "qualifiers"))
_CONSTRAINTS = frozenset(("required", "minimum", "maximum", "enum"))


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
        if self.type == "number":
            return cells.number(cell)
        if self.type == "integer":
            return cells.integer(cell)
        if self.type == "date":
            return cells.date(cell)
        if self.type == "boolean":
            return cells.boolean(cell)
        return cells.text(cell)

    def check(self, value: Any) -> str | None:
        """Say which constraint a value breaks, or None."""
        if self.minimum is not None and value < self.minimum:
            return f"{value} is below the minimum {self.minimum}"
        if self.maximum is not None and value > self.maximum:
            return f"{value} is above the maximum {self.maximum}"
        if self.enum is not None and value not in self.enum:
            allowed = ", ".join(str(v) for v in self.enum[:8]) + (", …" if len(self.enum) > 8 else "")
            return f"'{printable(value, 60)}' is not one of {allowed}"
        return None


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One CSV file, shipped next to the descriptor or described by URL and hash (of a download also `RECORDED`).

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


class _Reader:
    """Collects every failure as ``file: key: reason`` while it reads."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.failures: list[str] = []

    def fail(self, at: str, reason: str) -> None:
        self.failures.append(f"{self.label}: {at}: {reason}")

    def mapping(self, value: Any, at: str, known: Iterable[str]) -> dict[str, Any]:
        if not isinstance(value, dict):
            self.fail(at, f"expected an object, got {_kind(value)}")
            return {}
        for key in value:
            if key not in known:
                hint = nearest(key, known)
                self.fail(f"{at}.{printable(key, 60)}", "unknown key" + (f"; did you mean '{hint}'?" if hint else ""))
        return value

    def text(self, of: Mapping[str, Any], key: str, at: str, *, required: bool = False) -> str:
        value = of.get(key, "")
        if not isinstance(value, str):
            self.fail(f"{at}.{key}", f"expected text, got {_kind(value)}")
            return ""
        if required and not value.strip():
            self.fail(f"{at}.{key}", "is missing" if key not in of else "is empty")
        if any(ord(c) < 32 and c not in "\n\t" for c in value):
            self.fail(f"{at}.{key}", "holds control characters")
        return cells.text(value)

    def items(self, of: Mapping[str, Any], key: str, at: str, *, required: bool = True) -> list[Any]:
        value = of.get(key, [])
        if not isinstance(value, list):
            self.fail(f"{at}.{key}", f"expected a list, got {_kind(value)}")
            return []
        if required and not value:
            self.fail(f"{at}.{key}", "is missing" if key not in of else "is empty")
        return value

    def described(
        self, of: Mapping[str, Any], key: str, at: str, words: tuple[str, ...], *, required: bool = True
    ) -> tuple[Mapping[str, str], ...]:
        """Read a list of licences or sources: objects of text, with at least one of `words`."""
        entries = self.items(of, key, at, required=required)
        for index, entry in enumerate(entries):
            if not isinstance(entry, dict) or not all(isinstance(v, str) for v in entry.values()):
                self.fail(f"{at}.{key}[{index}]", "expected an object of texts")
            elif not any(entry.get(w, "").strip() for w in words):
                self.fail(f"{at}.{key}[{index}]", f"expected one of {', '.join(words)}")
        return tuple(entry for entry in entries if isinstance(entry, dict))


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def read(path: Path) -> Package:
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
    >>> read(path)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    forecast.errors.TableError: datapackage.json: package.primarykey: unknown key; ...
    """
    label = printable(path.parent.name + "/" + path.name if path.parent.name else path.name)
    raw = strict_json(read_bytes(path, limit=LIMIT_BYTES, error=TableError), where=label, error=TableError)
    r = _Reader(label)
    top = r.mapping(raw, "package", _PACKAGE)
    name = r.text(top, "name", "package", required=True)
    if name and not NAME.fullmatch(name):
        r.fail("package.name", "expected lower case letters, digits, '.', '_' and '-'")
    resources = [
        _resource(r, entry, f"resources[{i}]", path.parent)
        for i, entry in enumerate(r.items(top, "resources", "package"))
    ]
    names = [resource.name for resource in resources]
    for twice in sorted({n for n in names if n and names.count(n) > 1}):
        r.fail("resources", f"the name '{printable(twice, 60)}' is given twice")
    for i, resource in enumerate(resources):
        for reason in checks.misfits(resource, resources):
            r.fail(f"resources[{i}].schema.checks", reason)
    package = Package(
        file=path,
        name=name,
        title=r.text(top, "title", "package", required=True),
        version=r.text(top, "version", "package", required=True),
        licenses=r.described(top, "licenses", "package", ("name", "path", "title")),
        sources=r.described(top, "sources", "package", ("title", "path")),
        resources=tuple(resources),
        description=r.text(top, "description", "package"),
    )
    if r.failures:
        raise TableError(r.failures)
    return package


def _resource(r: _Reader, raw: Any, at: str, folder: Path) -> Resource:
    top = r.mapping(raw, at, _RESOURCE)
    path = r.text(top, "path", at, required=True)
    digest = r.text(top, "hash", at)
    remote = "://" in path
    if remote and not path.startswith(("https://", "http://")):
        r.fail(f"{at}.path", "a URL: expected http or https")
    elif path and not remote and access.inside(folder, path) is None:
        r.fail(f"{at}.path", access.outside(path, "descriptor"))
    if not digest:
        r.fail(f"{at}.hash", "is missing" + ("" if remote else f"; the file's is {_actual(folder, path)}"))
    elif digest == RECORDED and not remote:
        r.fail(f"{at}.hash", f"'{RECORDED}' is for downloads; the file's is {_actual(folder, path)}")
    elif digest != RECORDED and not HASH.fullmatch(digest):
        r.fail(f"{at}.hash", "expected 'sha256:' and 64 lower case hexadecimal digits")
    if remote and "parser" not in top:
        r.fail(f"{at}.parser", "is missing: 'csv', or the name of a reader that a plugin registered")
    licenses = r.described(top, "licenses", at, ("name", "path", "title"), required=remote)
    r.described(top, "sources", at, ("title", "path"), required=False)
    if top.get("encoding", "utf-8") not in ("utf-8", "UTF-8"):
        r.fail(f"{at}.encoding", "expected utf-8")
    form = r.text(top, "format", at) or "csv"
    parser = r.text(top, "parser", at) or "csv"
    if parser == "csv" and form != "csv":
        r.fail(f"{at}.format", f"'{printable(form, 40)}' needs a parser; csv does not")
    elif not READER.fullmatch(parser):
        r.fail(f"{at}.parser", _no_reader(parser))
    name = r.text(top, "name", at, required=True)
    if name and not NAME.fullmatch(name):
        r.fail(f"{at}.name", "expected lower case letters, digits, '.', '_' and '-'")
    schema = top.get("schema")
    fields, key, missing = _schema(r, schema, f"{at}.schema")
    return Resource(
        name=name, path=path, hash=digest, fields=fields, key=key, missing=missing, format=form, parser=parser,
        licenses=", ".join(entry.get("name") or entry.get("title") or entry.get("path", "") for entry in licenses),
        checks=_checks(r, schema if isinstance(schema, dict) else {}, f"{at}.schema"),
        separate=_separate(r, schema if isinstance(schema, dict) else {}, fields, f"{at}.schema"),
    )  # fmt: skip


def _no_reader(parser: str) -> str:
    """Say that a file names no code, and which reader may be meant; only here are the plugins loaded."""
    from forecast.contract.registry import get_registry

    known = get_registry().names("reader")
    hint = nearest(parser.rpartition(":")[2].replace("_", "-"), known) or nearest(parser, known)
    says = f"; did you mean '{printable(hint)}'?" if hint else ""
    return f"'{printable(parser, 80)}': a file names 'csv' or a reader that a plugin registered, never code{says}"


def _checks(r: _Reader, schema: Mapping[str, Any], at: str) -> tuple[checks.Check, ...]:
    checks_read = []
    for i, entry in enumerate(r.items(schema, "checks", at, required=False)):
        here = f"{at}.checks[{i}]"
        made, wrong = checks.read(r.mapping(entry, here, checks.KEYS), "")
        for key, reason in wrong:
            r.fail(f"{here}.{key}", reason)
        if made is not None:
            checks_read.append(made)
    return tuple(checks_read)


def _separate(r: _Reader, schema: Mapping[str, Any], fields: Sequence[Field], at: str) -> tuple[str, ...]:
    listed = r.items(schema, "separate", at, required=False)
    names = [f.name for f in fields]
    for name in listed:
        if name not in names:
            hint = nearest(str(name), names)
            r.fail(
                f"{at}.separate", f"no field '{printable(name, 60)}'" + (f"; did you mean '{hint}'?" if hint else "")
            )
    return tuple(name for name in listed if name in names)


def _actual(folder: Path, path: str) -> str:
    from forecast.base.files import file_hash
    from forecast.errors import DataError

    target = access.inside(folder, path)
    try:
        return file_hash(target) if target else "unknown"
    except DataError:
        return "unknown: there is no such file"


def _schema(r: _Reader, raw: Any, at: str) -> tuple[tuple[Field, ...], tuple[str, ...], frozenset[str]]:
    if raw is None:
        r.fail(at, "is missing")
        return (), (), frozenset(("",))
    top = r.mapping(raw, at, _SCHEMA)
    fields = tuple(_field(r, entry, f"{at}.fields[{i}]") for i, entry in enumerate(r.items(top, "fields", at)))
    names = [f.name for f in fields]
    for twice in sorted({n for n in names if n and names.count(n) > 1}):
        r.fail(f"{at}.fields", f"the name '{printable(twice, 60)}' is given twice")
    raw_key = top.get("primaryKey", [])
    key = [raw_key] if isinstance(raw_key, str) else raw_key
    if not isinstance(key, list) or not all(isinstance(k, str) for k in key):
        r.fail(f"{at}.primaryKey", "expected a field's name or a list of names")
        key = []
    for k in key:
        if k not in names:
            hint = nearest(k, names)
            r.fail(f"{at}.primaryKey", f"no field '{printable(k, 60)}'" + (f"; did you mean '{hint}'?" if hint else ""))
    if len(set(key)) != len(key):
        r.fail(f"{at}.primaryKey", "a field is named twice")
    missing = top.get("missingValues", [""])
    if not isinstance(missing, list) or not all(isinstance(m, str) for m in missing):
        r.fail(f"{at}.missingValues", "expected a list of texts")
        missing = []
    return fields, tuple(key), frozenset({"", *missing})


def _field(r: _Reader, raw: Any, at: str) -> Field:
    top = r.mapping(raw, at, _FIELD)
    name = r.text(top, "name", at, required=True)
    if "/" in name or name != name.strip() or any(not c.isprintable() for c in name):
        r.fail(f"{at}.name", f"'{printable(name, 60)}': no '/', control characters or blanks around it")
    kind = r.text(top, "type", at, required=True)
    if kind and kind not in TYPES:
        hint = nearest(kind, TYPES)
        says = f"; did you mean '{hint}'?" if hint else ""
        r.fail(f"{at}.type", f"'{printable(kind, 40)}'; expected one of {', '.join(TYPES)}{says}")
    if kind == "number" and "unit" not in top:
        r.fail(f"{at}.unit", f"is missing: a number has a unit ('{printable(name, 60)}'); \"\" is dimensionless")
    if kind in ("string", "date", "boolean") and top.get("unit"):
        r.fail(f"{at}.unit", f"a {kind} has none")
    stated = r.mapping(top.get("qualifiers", {}), f"{at}.qualifiers", frozenset(ATTRIBUTES))
    bases = {key: r.text(stated, key, f"{at}.qualifiers") for key in stated}
    plain = Field(name=name, type=kind, unit=r.text(top, "unit", at), title=r.text(top, "title", at))
    limits = r.mapping(top.get("constraints", {}), f"{at}.constraints", _CONSTRAINTS)
    required = limits.get("required", False)
    if not isinstance(required, bool):
        r.fail(f"{at}.constraints.required", "expected true or false")
    enum = limits.get("enum")
    if enum is not None and not isinstance(enum, list):
        r.fail(f"{at}.constraints.enum", "expected a list")
        enum = None
    return Field(
        name=name, type=kind, unit=plain.unit, title=plain.title, required=required is True,
        minimum=_limit(r, plain, limits, "minimum", at), maximum=_limit(r, plain, limits, "maximum", at),
        enum=None if enum is None else tuple(_typed(r, plain, v, f"{at}.constraints.enum") for v in enum),
        qualifiers=bases,
    )  # fmt: skip


def _limit(r: _Reader, field: Field, limits: Mapping[str, Any], key: str, at: str) -> Any:
    if key not in limits:
        return None
    if field.type not in ("number", "integer", "date"):
        r.fail(f"{at}.constraints.{key}", f"a {field.type} has no order")
        return None
    return _typed(r, field, limits[key], f"{at}.constraints.{key}")


def _typed(r: _Reader, field: Field, value: Any, at: str) -> Any:
    """Read a constraint's value in its column's type: a JSON number for numbers, text for the rest."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if field.type in ("number", "integer") and number:
        return value
    if field.type == "boolean" and isinstance(value, bool):
        return value
    if field.type in ("string", "date") and isinstance(value, str):
        try:
            return field.value(value)
        except ValueError as error:
            r.fail(at, str(error))
            return None
    r.fail(at, f"expected a {field.type}, got {_kind(value)}")
    return None
