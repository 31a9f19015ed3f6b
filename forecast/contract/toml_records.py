"""Records written as TOML: what a plugin brings that is data and no code, in files beside it."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from forecast.contract.fields import Checked
from forecast.contract.specs import (
    ClaimSpec,
    EstimateSpec,
    LawSpec,
    MixtureSpec,
    QuantitySpec,
    RelationSpec,
    Spec,
    TrendSpec,
    UnitSpec,
)
from forecast.errors import PluginContractError, UnknownNameError, printable

#: The records that can be said without naming code or another file.
TOML_RECORD_KINDS: tuple[type[Spec], ...] = (
    LawSpec, ClaimSpec, EstimateSpec, TrendSpec, RelationSpec, MixtureSpec, QuantitySpec, UnitSpec
)  # fmt: skip
MAX_RECORD_FILE_BYTES = 4_000_000

S = TypeVar("S", bound=Spec)


def records_from(path: str | os.PathLike[str], kind: type[S]) -> tuple[S, ...]:
    """Read records from a TOML file: a table each, under its name, whose keys are the fields of the record.

    What stands above the first table holds for every record of the file that does not say otherwise. Records inside a
    record (`published`, `protocols`, `inputs`, `shapes`) are tables under their names too, as
    ``[power.published.kaplan2020]``.
    The record's own class checks the values, so the same rules hold for a file and for Python. ``target`` is no key: a
    record that names code is written in Python.

    Parameters
    ----------
    path : path-like
        The file, or a folder whose ``*.toml`` files are all read, in the order of their names. It must be absolute:
        ``Path(__file__).with_name("laws.toml")`` lies beside the plugin wherever a command is run.
    kind : type
        `LawSpec`, `ClaimSpec`, `EstimateSpec`, `TrendSpec`, `RelationSpec`, `MixtureSpec`, `QuantitySpec` or
        `UnitSpec`.

    Returns
    -------
    tuple of kind
        In the order of the file.

    Raises
    ------
    PluginContractError
        Names the file, the record and the key, what was expected, and the nearest key there is.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "laws.toml")
    >>> _ = path.write_text('''
    ... reference = "Hestness et al. 2017, eq. 1"
    ...
    ... [power]
    ... expression = "beta*x**-c"
    ... variables = { x = "" }
    ... positive = ["beta", "c"]
    ... ''')
    >>> [law] = records_from(path, LawSpec)
    >>> law.name, law.expression, law.positive
    ('power', 'beta*x**-c', ('beta', 'c'))
    """
    if not (isinstance(kind, type) and issubclass(kind, TOML_RECORD_KINDS)):
        known = ", ".join(k.__name__ for k in TOML_RECORD_KINDS)
        raise PluginContractError(f"records_from: expected one of {known}; every other record is written in Python")
    source = Path(path)
    if not source.is_absolute():
        raise PluginContractError(
            f"records_from: {printable(source)}: expected a full path, as "
            f"Path(__file__).with_name('{printable(source.name)}') is"
        )
    files = sorted(source.glob("*.toml")) if source.is_dir() else [source]
    if not files:
        raise PluginContractError(f"records_from: {printable(source.name)}: the folder holds no TOML file")
    return tuple(record for file in files for record in _read_records(file, kind))


def _read_records(file: Path, kind: type[S]) -> Iterator[S]:
    import tomllib

    from forecast.base.files import read_bytes

    shown = printable(file.name)
    try:
        text = read_bytes(file, limit=MAX_RECORD_FILE_BYTES, error=PluginContractError).decode("utf-8-sig")
        written = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:  # not UTF-8, not TOML, or a number of thousands of digits
        raise PluginContractError(f"{shown}: not TOML: {printable(problem, 200)}") from problem
    shared = {key: value for key, value in written.items() if not isinstance(value, dict)}
    _check_keys(kind, shared, shown)
    for name, table in written.items():
        if isinstance(table, dict):
            yield _build_record(kind, name, shared | table, shown)


R = TypeVar("R", bound=Checked)


def _build_record(kind: type[R], name: str, table: Mapping[str, Any], where: str) -> R:
    at = f"{where}: {kind.__name__} '{printable(name, 80)}'"
    _check_keys(kind, table, at)
    _, inner, needed = _record_keys(kind)  # type: ignore[arg-type]
    values: dict[str, Any] = {"name": name}
    for key, value in table.items():
        values[key] = _inside(inner[key], key, value, at) if key in inner else _to_tuples(value)
    for key, says in needed:
        if key not in values:
            raise PluginContractError(f"{at}: {key}: is missing; expected {says}")
    try:
        return kind(**values)
    except PluginContractError as problem:
        raise PluginContractError(f"{where}: {problem}") from problem


@functools.cache
def _record_keys(kind: type[Any]) -> tuple[list[str], dict[str, type[Any]], list[tuple[str, str]]]:
    """Return the keys of a record in a file, those that hold records, and those it must have with what they hold."""
    known = [f.name for f in fields(kind) if f.name not in ("name", "target")]
    inner = {f.name: f.metadata["record"] for f in fields(kind) if "record" in f.metadata}
    needed = [f for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING]
    return known, inner, [(f.name, f.metadata["says"]) for f in needed]


def _inside(kind: type[R], key: str, value: object, at: str) -> tuple[R, ...]:
    if not (isinstance(value, dict) and all(isinstance(table, dict) for table in value.values())):
        raise PluginContractError(f"{at}: {key}: expected a table for each {kind.__name__}, under its name")
    return tuple(_build_record(kind, name, table, at) for name, table in value.items())


def _check_keys(kind: type[Checked], table: Mapping[str, Any], at: str) -> None:
    """Refuse keys that the record has no field for, and those that are not for a file to say."""
    known = _record_keys(kind)[0]  # type: ignore[arg-type]
    for key in table:
        if key == "target":
            raise PluginContractError(f"{at}: target: a file names no code; write this record in Python")
        if key == "name":
            raise PluginContractError(f"{at}: name: it is that of the table, [{printable(table[key], 80)}]")
        if key not in known:
            raise PluginContractError(str(UnknownNameError("key", key, known, where=at)))


def _to_tuples(value: Any) -> Any:
    """Return TOML's arrays as the tuples that records hold."""
    if isinstance(value, list):
        return tuple(map(_to_tuples, value))
    return {key: _to_tuples(v) for key, v in value.items()} if isinstance(value, dict) else value
