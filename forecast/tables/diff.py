"""Two versions of a table: which rows came, went and changed, told apart by their key.

A version is a table by name, its descriptor or folder, or a CSV file. The columns that share a key are one part (a
resource of a described table). Rows of one part are matched by the key, columns by their name; where the unit of a
column differs between the versions, the figures are converted before they are compared, and the unit is listed.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from forecast import tables
from forecast.base.arrays import AnyArray
from forecast.base.lazy import xr
from forecast.errors import DataError, UsageError, printable

Key = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class ChangedResource:
    """The columns that share a key.

    Parameters
    ----------
    key : tuple of str
        Columns that tell the rows apart; empty where nothing does.
    columns : mapping of str to list
        One value a row: a number, text, an ISO date, True or False; None is missing. The key columns are among them.
    units, types : mapping of str to str
        Of the columns, where the version states them; units of numbers only.
    """

    key: tuple[str, ...]
    columns: Mapping[str, list[Any]]
    units: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(next(iter(self.columns.values()), ()))

    def keys(self) -> list[Key]:
        """Return the key of every row."""
        return list(zip(*(self.columns[k] for k in self.key), strict=True))


@dataclass(frozen=True, kw_only=True)
class Version:
    """One version of a table. `data` is what a trend can be fitted to: a Dataset, or the columns of a file.

    `text` holds the cells of a CSV file as they stand: which of them are dates or numbers, the other version may know.
    """

    name: str
    version: str
    hash: str
    parts: tuple[ChangedResource, ...]
    data: Any
    text: Mapping[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RowChange:
    """One cell that differs, in the unit of the version before."""

    key: Mapping[str, Any]
    column: str
    before: Any
    after: Any

    @property
    def relative(self) -> float | None:
        """Change of a number relative to what it was; None for text, dates, and where either is zero or missing."""
        numbers = isinstance(self.before, float) and isinstance(self.after, float)
        return self.after / self.before - 1 if numbers and self.before and self.after else None


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What differs between the versions of one part; `added` and `removed` are keys of rows (without a key: rows)."""

    key: tuple[str, ...]
    before: int
    after: int
    added: tuple[Mapping[str, Any], ...] = ()
    removed: tuple[Mapping[str, Any], ...] = ()
    changed: tuple[RowChange, ...] = ()
    columns_added: tuple[str, ...] = ()
    columns_removed: tuple[str, ...] = ()
    units_changed: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def rows_changed(self) -> int:
        """How many rows have at least one cell that differs."""
        return len({tuple(change.key.items()) for change in self.changed})


def read_version(
    source: str | os.PathLike[str], *, key: Sequence[str] = (), reading: Mapping[str, Any] = MappingProxyType({})
) -> Version:
    r"""Read one version of a table.

    Parameters
    ----------
    source : str or path
        A registered name, a ``datapackage.json`` or its folder, or a file of data. Of a table that was fetched more
        than once ``NAME@earlier`` is what it was before its last update, ``NAME@sha256:...`` the snapshot whose hash
        begins so.
    key : sequence of str
        For a file, which describes no key: the columns that tell its rows apart.
    reading : mapping
        How a file is read: keywords of `forecast.read`.

    Raises
    ------
    UnknownNameError, DataError

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "runs.csv")
    >>> _ = file.write_text("run,loss\na,2.5\nb,\n")
    >>> read_version(file, key=["run"]).parts[0].columns
    {'run': ['a', 'b'], 'loss': [2.5, None]}
    """
    text = os.fspath(source)
    if tables.is_plain_file(text):
        data = tables.read(text, **reading)
        cells = {name: data.texts(name) for name in data}
        plain = {name: _plain_values(data[name], "") for name in data}
        for column in key:
            data.column(column)  # an unknown one suggests the nearest
        part = ChangedResource(key=tuple(key), columns=plain, units=data.units)
        digest = tables.file_hash(text)
        return Version(name=Path(text).name, version="", hash=digest, parts=(part,), data=data, text=cells)
    name, _, which = text.rpartition("@")
    pinned = name and (which == "earlier" or which.startswith("sha256:"))
    dataset = tables.snapshot(name, which) if pinned else tables.table(text)
    attrs = dataset.attrs
    return Version(
        name=attrs["name"],
        version=attrs["version"],
        hash=tables.cited_hashes(dataset),
        parts=tuple(_split_by_key(dataset)),
        data=dataset,
    )


def _split_by_key(dataset: xr.Dataset) -> Iterator[ChangedResource]:
    """Take a Dataset apart into the columns that lie along the same key, and drop the places where no row is."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, variable in dataset.data_vars.items():
        groups.setdefault(tuple(map(str, variable.dims)), []).append(str(name))
    for dims, names in groups.items():
        shape = tuple(dataset.sizes[d] for d in dims)
        key = tuple(d for d in dims if d in dataset.coords)
        flat: dict[str, list[Any]] = {}
        for name in (*key, *names):
            values = tables.flatten_variable(dataset[name].variable, dict(zip(dims, shape, strict=True)))
            flat[name] = _plain_values(values, dataset[name].attrs.get("type", ""))
        rows = [i for i in range(int(np.prod(shape))) if any(flat[name][i] is not None for name in names)]
        types = {n: dataset[n].attrs.get("type", "") for n in (*key, *names)}
        units = {n: dataset[n].attrs["unit"] for n, kind in types.items() if kind == "number"}
        columns = {n: [column[i] for i in rows] for n, column in flat.items()}
        yield ChangedResource(key=key, columns=columns, units=units, types=types)


def _plain_values(array: AnyArray, kind: str) -> list[Any]:
    """Return plain values: ISO dates, floats, truth values where the column holds these, and None for missing."""
    if array.dtype.kind == "M":
        return [None if t == "NaT" else t.removesuffix("T00:00:00") for t in np.datetime_as_string(array, unit="s")]
    if array.dtype.kind == "f":
        return [None if math.isnan(v) else bool(v) if kind == "boolean" else float(v) for v in array.tolist()]
    return [str(v) or None for v in array.tolist()]


def editions_within(version: Version, this: str, other: str) -> tuple[Version, Version] | None:
    """Take two editions that a table holds as rows for two versions of it; None where it does not.

    The column that tells them apart goes, and so does `source`, which names the edition in every row. Where each row
    has a name of its own, the fewest leading columns behind it tell the rows apart.

    Examples
    --------
    >>> part = ChangedResource(key=("edition", "model"), columns={
    ...     "edition": ["1", "1", "2"], "model": ["a", "b", "a"], "score": [1.0, 2.0, 1.5]})
    >>> both = editions_within(Version(name="index", version="", hash="", parts=(part,), data=None), "1", "2")
    >>> difference, = compare_versions(*both)
    >>> difference.removed, difference.changed[0].before, difference.changed[0].after
    (({'model': 'b'},), 1.0, 1.5)
    """
    cut: tuple[list[ChangedResource], list[ChangedResource]] = ([], [])
    for part in version.parts:
        column = next((name for name, cells in part.columns.items() if this in cells and other in cells), None)
        if column is None:
            continue
        key = tuple(name for name in part.key if name != column) if column in part.key else ()
        names = [n for n in part.columns if n not in (column, "source") and (n not in part.key or n in key)]
        for parts, label in zip(cut, (this, other), strict=True):
            rows = [row for row, value in enumerate(part.columns[column]) if value == label]
            columns = {name: [part.columns[name][row] for row in rows] for name in names}
            parts.append(
                ChangedResource(key=key, columns=columns, units={n: u for n, u in part.units.items() if n in names})
            )
    if not cut[0]:
        return None
    before, after = (replace(version, parts=tuple(parts)) for parts in cut)
    return before, after


def compare_versions(before: Version, after: Version) -> tuple[Difference, ...]:
    """Compare two versions, part by part.

    A CSV file without a key takes that of the described part it shares most columns with; between two CSV files the
    fewest leading columns that tell all rows apart are taken.

    Raises
    ------
    UsageError
        If nothing tells the rows of a CSV file apart.
    DataError
        If a key stands twice.

    Examples
    --------
    >>> a = ChangedResource(key=("run",), columns={"run": ["a", "b"], "loss": [2.5, 2.0]})
    >>> b = ChangedResource(key=("run",), columns={"run": ["b", "c"], "loss": [1.0, 3.0]})
    >>> def version(part):
    ...     return Version(name="runs", version="1", hash="", parts=(part,), data=None)
    >>> difference, = compare_versions(version(a), version(b))
    >>> difference.added, difference.removed, difference.changed[0].relative
    (({'run': 'c'},), ({'run': 'a'},), -0.5)
    """
    pairs = []
    for one, two in _pair_resources(before, after):
        first, second = _with_keys(one, two, before.name, after.name)
        pairs.append(_compare_resources(first, second, before.name, after.name))
    return tuple(pairs)


def difference_sentence(parts: Sequence[Difference]) -> str:
    """Say in one sentence how many rows differ between two versions, without a full stop."""
    added, removed = sum(len(p.added) for p in parts), sum(len(p.removed) for p in parts)
    before, after = sum(p.before for p in parts), sum(p.after for p in parts)
    changed = sum(p.rows_changed for p in parts)
    if added or removed or changed:
        rows = "row" if added == 1 else "rows"
        return f"{added} {rows} added, {removed} removed, {changed} changed ({before} rows before, {after} after)"
    if any(p.columns_added or p.columns_removed or p.units_changed for p in parts):
        return f"no row differs in the columns that both versions have ({before} rows)"
    return f"the versions hold the same {before} rows"


def _pair_resources(before: Version, after: Version) -> Iterator[tuple[ChangedResource, ChangedResource]]:
    if before.text or after.text:
        a, b = max(((a, b) for a in before.parts for b in after.parts), key=lambda pair: len(_shared_columns(*pair)))
        yield _retype(a, before, b), _retype(b, after, a)
        return
    others = {part.key: part for part in after.parts}
    for part in before.parts:
        yield part, others.pop(part.key, ChangedResource(key=part.key, columns={name: [] for name in part.columns}))
    for part in others.values():
        yield ChangedResource(key=part.key, columns={name: [] for name in part.columns}), part


def _retype(part: ChangedResource, version: Version, other: ChangedResource) -> ChangedResource:
    """Read as text what the other version describes as text: 2024-11 may be the name of a list and no date."""
    texts = {n: version.text[n] for n in part.columns if other.types.get(n) == "string" and n in version.text}
    columns = {**part.columns, **{n: [cell or None for cell in cells] for n, cells in texts.items()}}
    return ChangedResource(key=part.key, columns=columns, units=part.units, types=part.types)


def _shared_columns(a: ChangedResource, b: ChangedResource) -> list[str]:
    return [name for name in a.columns if name in b.columns]


def _with_keys(
    a: ChangedResource, b: ChangedResource, left: str, right: str
) -> tuple[ChangedResource, ChangedResource]:
    """Give a part without a key that of the other, or the fewest leading columns that tell the rows apart in both."""
    # a key that was given for a file stands before one that the other version describes
    key = next((side.key for side in (a, b) if side.key and not side.types), a.key or b.key)
    if key and not all(name in side.columns for side in (a, b) for name in key):
        lost = next(name for name in key for side in (a, b) if name not in side.columns)
        raise UsageError(f"the key column '{printable(lost, 60)}' is in one version only; name others with --key")
    shared = _shared_columns(a, b)
    if not shared:
        raise UsageError(f"'{printable(left, 60)}' and '{printable(right, 60)}' have no column in common")
    if not key:
        described = bool(a.types and b.types)
        lengths = range(1, len(shared) + 1) if not described else ()
        key = next((k for n in lengths if _is_key(a, k := tuple(shared[:n])) and _is_key(b, k)), ())
        if not key and not described:
            raise UsageError("no columns tell the rows apart (some stand twice as a whole); name them with --key")
    result = tuple(ChangedResource(key=key, columns=side.columns, units=side.units) for side in (a, b))
    return result[0], result[1]


def _is_key(part: ChangedResource, key: tuple[str, ...]) -> bool:
    keys = ChangedResource(key=key, columns=part.columns).keys()
    return len(set(keys)) == len(keys)


def _compare_resources(a: ChangedResource, b: ChangedResource, left: str, right: str) -> Difference:
    came = tuple(n for n in b.columns if n not in a.columns)
    went = tuple(n for n in a.columns if n not in b.columns)
    units = {n: (a.units[n], b.units[n]) for n in a.units if n in b.units and a.units[n] != b.units[n]}
    names = a.key or tuple(_shared_columns(a, b))
    changed: list[RowChange] = []
    if not a.key:
        one, two = (Counter(zip(*(side.columns[n] for n in names), strict=True)) for side in (a, b))
        added, removed = (two - one).elements(), (one - two).elements()
    else:
        places, known = _rows_by_key(b, right), _rows_by_key(a, left)
        changed = list(_row_changes(a, b, known, places, units))
        added, removed = (key for key in places if key not in known), (key for key in known if key not in places)
    return Difference(
        key=a.key,
        before=a.rows,
        after=b.rows,
        added=tuple(dict(zip(names, row, strict=True)) for row in added),
        removed=tuple(dict(zip(names, row, strict=True)) for row in removed),
        changed=tuple(changed),
        columns_added=came,
        columns_removed=went,
        units_changed=units,
    )


def _row_changes(
    a: ChangedResource,
    b: ChangedResource,
    known: Mapping[Key, int],
    places: Mapping[Key, int],
    units: Mapping[str, tuple[str, str]],
) -> Iterator[RowChange]:
    """Yield the cells that differ in the rows of both, row by row."""
    theirs = {name: _convert_unit(b, name, units) for name in _shared_columns(a, b) if name not in a.key}
    for key, row in known.items():
        for name, cells in theirs.items() if key in places else ():
            was, now = a.columns[name][row], cells[places[key]]
            if not _is_equal(was, now):
                yield RowChange(key=dict(zip(a.key, key, strict=True)), column=name, before=was, after=now)


def _rows_by_key(part: ChangedResource, name: str) -> dict[Key, int]:
    row_of: dict[Key, int] = {}
    for row, key in enumerate(part.keys()):
        if key in row_of:
            shown = ", ".join(f"{k} = {printable(v, 40)}" for k, v in zip(part.key, key, strict=True))
            raise DataError(f"{printable(name, 80)}: two rows have {shown}; name more columns with --key")
        row_of[key] = row
    return row_of


def _convert_unit(part: ChangedResource, name: str, units: Mapping[str, tuple[str, str]]) -> list[Any]:
    """Return a column in the unit of the version before."""
    if name not in units:
        return part.columns[name]
    from forecast.units import factor

    ours, theirs = units[name]
    scale = factor(theirs, ours, where=f"column '{printable(name, 60)}'")
    return [None if v is None else v * scale for v in part.columns[name]]


def _is_equal(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        # a conversion of units leaves rounding behind; nothing that is printed with 12 digits differs by less
        return a == b or math.isclose(a, b, rel_tol=1e-13)
    return bool(a == b)
