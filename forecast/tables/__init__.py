"""``datapackage.json`` + CSV (or a checksummed download) -> a validated `xarray.Dataset`.

The columns of the primary key become dimensions: one key column gives a table along it, k of them a grid in k
dimensions. A table without a key lies along ``row``. Resources of one package share one grid. Every variable says its
`unit`, `title` and `type`; the table's attributes are name, title, version, licenses, sources and hash, all text, and
`beside`, a JSON list of the keys of the rows that a user set beside its own.

One column has one unit, the one its field declares. Where the rows state units of their own, in a column
``<column>_unit`` (or ``unit``, next to a single column of numbers), each must be that unit: rows are never converted in
silence, so TFLOP/s and PFLOP/s, or FLOP and FLOP/s, do not mix. A schema may hold `checks`, conditions that every row
must satisfy (`forecast.tables.schema.checks`); a row that breaks one is refused with the reason that the check gives,
or left out of a download with a warning.
"""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lazy_loader  # type: ignore[import-untyped]

from forecast.base import access
from forecast.base.dates import decimal_year, from_decimal_year
from forecast.base.files import file_hash
from forecast.base.json_text import to_json
from forecast.base.lazy import xr
from forecast.base.number_checks import is_real
from forecast.errors import DataError, EmptyDataError, TableError, UnknownNameError, UsageError, printable
from forecast.tables import cache, editions
from forecast.tables.editions import Edition
from forecast.tables.raw_table import RawTable, join_rows
from forecast.tables.remote import resource_bytes
from forecast.tables.row_filters import wanted_value
from forecast.tables.schema import checks
from forecast.tables.schema.descriptor import Field, Package, Resource, read_descriptor
from forecast.tables.schema.validate import parse_resource

if TYPE_CHECKING:
    from forecast.base.arrays import AnyArray
    from forecast.tables.columns import Columns
    from forecast.tables.intake import read, to_columns


__all__ = [
    "Columns",
    "cited_hashes",
    "decimal_year",
    "descriptor_of",
    "file_hash",
    "flatten_rows",
    "flatten_variable",
    "from_decimal_year",
    "is_plain_file",
    "read",
    "resolve_data_name",
    "snapshot",
    "table",
    "to_columns",
    "wanted_value",
]  # fmt: skip

#: A primary key of k columns spans a grid; two long keys that hardly meet would fill the memory.
MAX_GRID_CELLS = 5_000_000


#: Endings that make a text the name of a file of data, also where there is no such file. The format is told by content.
DATA_SUFFIXES = (
    ".csv", ".tsv", ".txt", ".dat", ".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".xlsx", ".xls", ".ods", ".parquet",
    ".pq", ".gz", ".zip", ".eval", ".log",
)  # fmt: skip
#: Endings of files that are no data but results and scenarios.
_OTHER_SUFFIXES = (".nc", ".toml")


# what computes is imported at its first use: to list tables takes no numpy
__getattr__, *_ = lazy_loader.attach(__name__, submod_attrs={"columns": ["Columns"], "intake": ["read", "to_columns"]})


def table(name_or_path: str | os.PathLike[str]) -> xr.Dataset:
    r"""Load and validate a table.

    Parameters
    ----------
    name_or_path : str or path
        A registered name (``"datasets/supercomputers"``, or bare while unique), the path of a ``datapackage.json``, or
        its folder.

    Returns
    -------
    xarray.Dataset
        See this module's text. Numbers, integers and truth values are float64 with NaN for missing, text is ``str``
        (missing: empty), dates are ``datetime64[s]`` (missing: NaT).

    Raises
    ------
    UnknownNameError
        If there is no table of that name.
    TableError
        With all failures: of the descriptor, or of cells as ``file:row:column``.
    EmptyDataError, DownloadError

    Examples
    --------
    >>> import tempfile, pathlib, json
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "runs.csv").write_text("run,loss\na,2.5\nb,2.25\n")
    >>> fields = [{"name": "run", "type": "string"}, {"name": "loss", "type": "number", "unit": ""}]
    >>> _ = (folder / "datapackage.json").write_text(json.dumps({
    ...     "name": "runs", "title": "Runs", "version": "1", "licenses": [{"name": "CC0-1.0"}],
    ...     "sources": [{"title": "our cluster"}], "resources": [{"name": "runs", "path": "runs.csv",
    ...     "hash": file_hash(folder / "runs.csv"), "schema": {"fields": fields, "primaryKey": ["run"]}}]}))
    >>> float(table(folder)["loss"].sel(run="b"))
    2.25
    """
    found = shared_table(name_or_path)
    return found.table.copy(deep=True) if found.stamp else found.table


def shared_table(name_or_path: str | os.PathLike[str], *, where: str = "") -> cache.SharedTable:
    """Return a table as all who read it have it: nothing of it may be written to."""
    descriptor = editions.note_table(descriptor_of(name_or_path))
    from forecast.tables.intake import to_columns

    return cache.get_shared(descriptor, _load_table, functools.partial(to_columns, where=where))


def look(name_or_path: str | os.PathLike[str]) -> xr.Dataset:
    """Return what `table` does, shared with others: it must not be written to."""
    return shared_table(name_or_path).table


def _load_table(descriptor: Path) -> tuple[xr.Dataset, list[Path]]:
    """Return a table and the files it was read from; none where one of them is a download."""
    edition = editions.of(descriptor)
    package = edition.package
    files = [package.folder / resource.path for resource in package.resources if not resource.remote]
    local = len(files) == len(package.resources)
    return _load(edition), [package.file, *files] if local else []


def descriptor_of(name_or_path: str | os.PathLike[str]) -> Path:
    """Return the path of a table's descriptor.

    Raises
    ------
    UnknownNameError
    """
    if not isinstance(name_or_path, (str, os.PathLike)):
        raise UsageError(f"table: expected a name or a path, got {type(name_or_path).__name__}")
    path = Path(name_or_path)
    text = os.fspath(name_or_path)
    plain = isinstance(name_or_path, str) and not text.endswith((".json", "/")) and not text.startswith((".", "/", "~"))
    if plain and not path.is_absolute():
        from forecast.contract.registry import get_registry

        try:
            spec: Any = get_registry().find("table", text).spec
            return Path(spec.descriptor)
        except UnknownNameError:
            if not text or not _is_folder(path):
                raise
    if not _is_folder(path):
        return path
    if not (path / "datapackage.json").exists():
        missing = f"{printable(text, 80)}/datapackage.json: no such file"
        raise TableError(f"{missing}: a folder is no file of data, unless it is a table's")
    return path / "datapackage.json"


def _is_folder(path: Path) -> bool:
    """Return True for a folder; what no file can be called is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_plain_file(text: str) -> bool:
    """Return True if a text names a file of data that no descriptor describes, and no table.

    Examples
    --------
    >>> [is_plain_file(text) for text in ("runs.csv", "a/runs.dat", "datasets/fabs", "mine/datapackage.json")]
    [True, True, False, False]
    """
    path = Path(text)
    suffix = path.suffix.lower()
    if path.name == "datapackage.json" or text.endswith("/") or suffix in _OTHER_SUFFIXES:
        return False
    try:
        if not path.is_file():
            return suffix in DATA_SUFFIXES
        return suffix != ".json" or not _is_descriptor(path)
    except (OSError, ValueError):
        return False


def _is_descriptor(path: Path) -> bool:
    """Return True if a JSON file describes a table: descriptors may have any name."""
    with path.open("rb") as stream:
        head = stream.read(1 << 16)
    return b'"resources"' in head and b'"licenses"' in head


def resolve_data_name(text: str, folder: Path, *, where: str) -> str:
    """Return what a file in `folder` names as its data: a registered table's name, or a path that it may reach.

    Parameters
    ----------
    text : str
        A registered name, or a file (.csv, .parquet, datapackage.json) or folder, relative to `folder`.
    folder : Path
    where : str
        The file and the key, for messages.

    Raises
    ------
    UnknownNameError
        If there is neither such a table nor such a folder.
    ScenarioError
        If the path is out of reach (`forecast.base.access`).
    """
    from forecast.contract.registry import get_registry

    if not (is_plain_file(text) or text.endswith((".json", "/")) or text.startswith((".", "/", "~"))):
        try:
            get_registry().find("table", text, where=where)
            return text
        except UnknownNameError:
            near = access.inside(folder, text)
            if near is None or not (_is_folder(near) or near.suffix):
                raise
    path = access.within(folder, text, where=where)
    if _is_folder(path):
        path = access.within(folder, f"{text}/datapackage.json", where=where)
    # without a folder before it, what has no ending would be looked up as a name
    return str(path) if path.is_absolute() or path.suffix else f"./{path}"


def snapshot(name_or_path: str | os.PathLike[str], which: str) -> xr.Dataset:
    """Load a table as it was when it was fetched before.

    Parameters
    ----------
    name_or_path : str or path
        See `table`.
    which : str
        ``"earlier"``: before the last update; or ``"sha256:..."``, the beginning of the hash of one of its files.

    Raises
    ------
    UnknownNameError
        If there is no such snapshot.
    """
    return _load(editions.earlier(read_descriptor(descriptor_of(name_or_path)), which))


def cited_hashes(ds: xr.Dataset) -> str:
    """Return the hashes behind a table, each with the day on which it was recorded if no descriptor states it.

    Examples
    --------
    >>> import xarray as xr
    >>> cited_hashes(xr.Dataset(attrs={"hash": "sha256:00 sha256:11", "recorded": "2026-01-31 -"}))
    'sha256:00 (recorded 2026-01-31) sha256:11'
    """
    hashes = str(ds.attrs.get("hash", "")).split()
    days = str(ds.attrs.get("recorded", "")).split() or ["-"] * len(hashes)
    return " ".join(h if day == "-" else f"{h} (recorded {day})" for h, day in zip(hashes, days, strict=True))


def _load(edition: Edition) -> xr.Dataset:
    """Read every resource, then lay all of them on one grid; failures of all resources are collected."""
    package = edition.package
    failures: list[str] = []
    read: list[tuple[Resource, dict[str, list[Any]], RawTable]] = []
    hashes: list[str] = []
    recorded: list[str] = []
    own: list[str] = []
    for resource in package.resources:
        cells, day = resource_bytes.open_resource(package, resource, edition.pinned.get(resource.name, ""))
        values = parse_resource(resource, cells, failures)
        hashes.append(cells.hash)
        recorded.append(day)
        if (beside := editions.added_rows(edition, resource)) is not None:
            more = parse_resource(*beside, failures)
            own += [str(each) for each in more[resource.key[0]]] if len(resource.key) == 1 else []
            values = {name: [*own, *more[name]] for name, own in values.items()}
            cells = join_rows(cells, beside[1])
        read.append((resource, values, cells))

    if failures:
        raise TableError(failures)
    read = list(editions.apply_substitution(edition, checks.enforce_checks(read, f"table '{package.name}'")))
    _check_shared(package)
    _check_units(package)
    coordinates: dict[str, dict[Any, int]] = {}
    for resource, values, _ in read:
        for key in resource.key:
            codes = coordinates.setdefault(key, {})
            for value in values[key]:
                codes.setdefault(value, len(codes))
    variables: dict[str, Any] = {}
    coords: dict[str, Any] = {}
    for resource, values, csv in read:
        dims = resource.key or ("row",)
        shape = tuple(len(coordinates[k]) for k in resource.key) or (len(next(iter(values.values()))),)
        if len(shape) > 1 and math.prod(shape) > MAX_GRID_CELLS:
            extent = " x ".join(f"{n:,}" for n in shape)
            raise TableError(f"{csv.label}: the primary key spans a grid of {extent} cells; at most {MAX_GRID_CELLS:,}")
        index = tuple([coordinates[k][v] for v in values[k]] for k in resource.key) or (slice(None),)
        _check_unique(resource, index, csv)
        for field in resource.fields:
            attrs: dict[str, Any] = {"unit": field.unit, "title": field.title, "type": field.type}
            ends = {"minimum": field.minimum, "maximum": field.maximum}
            attrs |= {end: float(limit) for end, limit in ends.items() if is_real(limit)}
            if field.qualifiers:
                attrs["qualifiers"] = to_json(dict(field.qualifiers))
            if field.name in resource.separate:
                attrs["separate"] = "yes"
            if field.name in resource.key:
                labels = list(coordinates[field.name])
                coords[field.name] = ((field.name,), _grid_column(field, labels, (len(labels),), (slice(None),)), attrs)
            else:
                variables[field.name] = (dims, _grid_column(field, values[field.name], shape, index), attrs)
    attributes = _dataset_attributes(edition, hashes, recorded)
    return xr.Dataset(variables, coords, {**attributes, **({"beside": to_json(own)} if own else {})})


def _dataset_attributes(edition: Edition, hashes: list[str], recorded: list[str]) -> dict[str, str]:
    package, beside = edition.package, dict.fromkeys(digest for _, digest in edition.added.values())
    citation = {
        "name": package.name,
        "title": package.title,
        "version": package.version,
        "licenses": to_json(package.licenses),
        "sources": to_json(package.sources),
        "hash": " ".join((*hashes, *beside)),
    }
    if any(recorded):
        citation["recorded"] = " ".join((*(day or "-" for day in recorded), *("-" for _ in beside)))
    return citation


def _check_units(package: Package) -> None:
    from forecast.units import unit

    for resource in package.resources:
        for field in resource.fields:
            if field.unit:
                unit(field.unit, where=f"table '{package.name}', field '{printable(field.name, 60)}'")


def _check_shared(package: Package) -> None:
    """Resources may share key columns, of one type and unit, and nothing else."""
    seen: dict[str, tuple[Field, bool]] = {}
    if len(package.resources) > 1 and any(not r.key for r in package.resources):
        raise TableError(f"table '{package.name}': several resources need a primaryKey each, to be laid on one grid")
    for resource in package.resources:
        for field in resource.fields:
            is_key = field.name in resource.key
            other, was_key = seen.setdefault(field.name, (field, is_key))
            if other is field:
                continue
            if not (is_key and was_key) or (other.type, other.unit) != (field.type, field.unit):
                raise TableError(
                    f"table '{package.name}': field '{printable(field.name, 60)}' is in two resources; "
                    "only key fields of one type and unit may be"
                )


def _check_unique(resource: Resource, index: tuple[Any, ...], csv: RawTable) -> None:
    if not resource.key:
        return
    seen: dict[tuple[int, ...], int] = {}
    failures = []
    for row, place in enumerate(zip(*index, strict=True)):
        first = seen.setdefault(place, row)
        if first != row:
            key = ", ".join(printable(f"{k}={csv[k][row]}", 60) for k in resource.key)
            failures.append(f"{csv.at(row, resource.key[0])}: the key {key} is that of line {csv.lines[first]} too")
    if failures:
        raise TableError(failures)


def _grid_column(field: Field, values: list[Any], shape: tuple[int, ...], index: tuple[Any, ...]) -> AnyArray:
    """Lay a column on the grid."""
    import numpy as np

    from forecast.tables.columns import text_array

    flat: AnyArray
    if field.type == "string":
        flat = text_array(["" if v is None else v for v in values], f"column '{printable(field.name, 80)}'")
        grid = np.zeros(shape, dtype=flat.dtype)
    elif field.type == "date":
        flat = np.array([np.datetime64("NaT") if v is None else v for v in values], dtype="datetime64[s]")
        grid = np.full(shape, np.datetime64("NaT", "s"))
    else:
        flat = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
        grid = np.full(shape, np.nan)
    grid[index] = flat
    return grid


def flatten_rows(ds: xr.Dataset, *, where: str = "") -> xr.Dataset:
    """Flatten a Dataset to one dimension ``row``; keys become ordinary columns.

    From a grid in several dimensions only the places that hold something are kept.

    Examples
    --------
    >>> import xarray as xr
    >>> ds = xr.Dataset({"v": (("a", "b"), [[1.0, float("nan")], [3.0, 4.0]])}, {"a": ["x", "y"], "b": [0, 1]})
    >>> flatten_rows(ds)["v"].values
    array([1., 3., 4.])
    """
    import numpy as np
    import pandas as pd

    at = f"{where}: " if where else ""
    sizes = dict(ds.sizes)
    total = int(np.prod(list(sizes.values()), dtype=object)) if sizes else 0
    if not sizes or not total:
        raise EmptyDataError(f"{at}the Dataset has no rows")
    if total > 4 * MAX_GRID_CELLS:
        raise DataError(f"{at}a Dataset of {total:,} places; at most {4 * MAX_GRID_CELLS:,} are laid out as rows")
    flat = {str(n): flatten_variable(v, sizes) for n, v in ds.variables.items()}
    keep = np.ones(total, dtype=bool)
    whole = [str(n) for n in ds.data_vars if set(ds.variables[n].dims) == set(sizes)]
    if len(sizes) > 1 and whole:
        keep = np.any([flat[n] != "" if flat[n].dtype.kind == "U" else ~pd.isnull(flat[n]) for n in whole], axis=0)
    if not keep.any():
        raise EmptyDataError(f"{at}the Dataset holds no value")
    return xr.Dataset({n: ("row", v[keep], ds.variables[n].attrs) for n, v in flat.items()}, attrs=ds.attrs)


def flatten_variable(variable: xr.Variable, sizes: Mapping[Any, int]) -> AnyArray:
    """Return the values on all dimensions, in their order, as one row."""
    flat: AnyArray = variable.set_dims(dict(sizes)).transpose(*sizes).values.ravel()  # type: ignore[no-untyped-call]
    return flat
