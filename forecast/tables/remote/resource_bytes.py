"""From a resource to its cells: a file next to the descriptor, or a download, its bytes verified before use."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from forecast.errors import DataError, DownloadError, TableError, UnknownNameError, UsageError, printable
from forecast.tables import file_formats
from forecast.tables.raw_table import RawTable
from forecast.tables.schema import checks
from forecast.tables.schema.descriptor import RECORDED_HASH, Package, Resource
from forecast.tables.schema.validate import parse_resource

if TYPE_CHECKING:
    from forecast.contract.registry import Record
    from forecast.tables.remote.trust_on_first_use import Copy

#: In the place of a hash: the snapshot before the current one.
EARLIER_HASH = "earlier"


def where_of(package: Package, resource: Resource) -> str:
    """Return how messages call a resource."""
    return f"table '{package.name}', resource '{resource.name}'"


def record_of(package: Package) -> Record | None:
    """Return the record of a table that a plugin registered; None of any other."""
    from forecast.contract.registry import get_registry

    records = get_registry().records("table")
    return next((r for r in records if getattr(r.spec, "descriptor", "") == str(package.file)), None)


def command(package: Package) -> str:
    """Return what fetches a table from the command line: by its registered name, or the descriptor's path."""
    record = record_of(package)
    return f"forecast tables fetch {record.full_name if record else shlex.quote(printable(package.file, 300))}"


def in_cache(resource: Resource) -> str:
    """Return the name of a resource's file in the cache, where the start of its hash stands before it."""
    return f"{resource.name}.{'csv' if resource.format == 'csv' else 'data'}"


def open_resource(package: Package, resource: Resource, snapshot: str = "") -> tuple[RawTable, str]:
    """Return a resource's cells as text, its bytes verified, and the day on which their hash was recorded.

    The day is empty where the descriptor states the hash.

    Parameters
    ----------
    package : Package
    resource : Resource
    snapshot : str
        The recorded hash of another snapshot than the current one, which is in the cache.
    """
    where, recorded = where_of(package, resource), ""
    if not resource.remote:
        path, digest = package.folder / resource.path, resource.hash
    else:
        copy = _snapshot_copy(resource, snapshot, where) if snapshot else local_copy(package, resource)
        path, digest, recorded = copy.path, copy.snapshot.hash, copy.snapshot.fetched
    cells = _read_cells(resource, path, where)
    if cells.hash != digest:  # over the very bytes that were read
        stated = RECORDED_HASH if resource.hash == RECORDED_HASH else "described"
        raise TableError(f"{printable(path.name, 40)}: its hash is {cells.hash}, {stated} is {digest}")
    return cells, recorded


def local_copy(
    package: Package, resource: Resource, *, file: str | None = None, update: bool = False, expected: str | None = None
) -> Copy:
    """Return the file of a resource that is downloaded, in the cache, fetching it if need be.

    Parameters
    ----------
    package : Package
    resource : Resource
    file : str, optional
        A file to take instead of a download.
    update : bool
        Take what the source gives now, where no hash is published.
    expected : str, optional
        The hash that the file must have; where none is published, also that of an earlier snapshot.

    Raises
    ------
    DownloadError
    """
    from forecast.tables.remote import trust_on_first_use

    where, published = where_of(package, resource), "" if resource.hash == RECORDED_HASH else resource.hash
    if published and expected and expected != published:
        raise DownloadError(f"{where}: the published hash is {published}, expected is {expected}")
    return trust_on_first_use.take(
        resource.path, in_cache(resource), where=where, command=command(package), published=published,
        check=lambda path: readable(resource, path, where), file=file, update=update, expected=expected,
    )  # fmt: skip


def _snapshot_copy(resource: Resource, snapshot: str, where: str) -> Copy:
    """Return another snapshot than the current one, by its hash."""
    from forecast.tables.remote import snapshots, trust_on_first_use
    from forecast.tables.remote.download import cache_folder

    folder = cache_folder()
    known = snapshots.read_snapshots(folder).get(resource.path)
    one = known.of(snapshot) if known else None
    if one is None:
        raise DataError(f"{where}: no snapshot {printable(snapshot, 80)} is recorded")
    path = folder / one.file
    if not trust_on_first_use.intact(folder, one):
        why = "altered in the cache" if path.exists() else "not in the cache any more"
        put = f"put a copy of it at {printable(path, 300)}, or compare with another snapshot"
        raise DownloadError(f"{where}: the file recorded on {one.fetched} ({one.hash}) is {why}: {put}")
    return trust_on_first_use.Copy(path=path, snapshot=one, how="cached")


def pinned_hash(package: Package, which: str) -> dict[str, str]:
    """Return the hash of another snapshot than the current one, by the name of the resource that has it.

    Parameters
    ----------
    package : Package
    which : str
        ``"earlier"``: the one before the current; or ``"sha256:..."``, the beginning of a hash.

    Raises
    ------
    UnknownNameError
        If none is recorded.
    UsageError
        If a beginning fits two of one resource.
    """
    from forecast.tables.remote import snapshots
    from forecast.tables.remote.download import cache_folder

    chosen: dict[str, str] = {}
    candidates: list[str] = []
    every = snapshots.read_snapshots(cache_folder())
    for resource in package.resources:
        known = every.get(resource.path) if resource.hash == RECORDED_HASH else None
        if known is None:
            continue
        candidates += [s.hash for s in (known.current, *known.earlier)]
        fits = [s.hash for s in (known.current, *known.earlier) if s.hash.startswith(which)]
        if which == EARLIER_HASH:
            fits = [s.hash for s in known.earlier[:1]]
        if len(fits) > 1:
            begin = printable(which, 80)
            raise UsageError(f"{where_of(package, resource)}: {len(fits)} snapshots begin with '{begin}'")
        if fits:
            chosen[resource.name] = fits[0]
    if not chosen:
        shipped = all(not resource.remote for resource in package.resources)
        note = "nothing of it was updated" if which == EARLIER_HASH else ""
        note = "it is shipped and has no snapshots: compare with a copy of its folder" if shipped else note
        raise UnknownNameError("snapshot", which, candidates, where=f"table '{package.name}'", note=note)
    return chosen


def readable(resource: Resource, path: Path, where: str) -> int:
    """Return how many rows of a file can be used, read as this resource.

    Raises
    ------
    TableError, EmptyDataError
        If it cannot be read as that.
    """
    cells = _read_cells(resource, path, where)
    failures: list[str] = []
    values = parse_resource(resource, cells, failures)
    if failures:
        raise TableError(failures)
    ((_, _, kept),) = checks.enforce_checks([(checks.with_own_checks(resource), values, cells)], where)
    return len(kept.lines)


def _read_cells(resource: Resource, path: Path, where: str) -> RawTable:
    """Read a file as its descriptor says: plain CSV, in which nothing is left out or decided, or by a reader.

    A file of somebody's in its place (``"any"``) may be of any form: its cells are spelt as the descriptor has them.
    """
    if resource.parser == "any":
        from forecast.tables.columns import described_cells

        return described_cells(file_formats.read_file(path), resource.fields)
    if resource.parser != "csv":
        from forecast.contract.registry import get_registry

        return file_formats.read_with(get_registry().find("reader", resource.parser, where=f"{where}: parser"), path,
                                      where=where)  # fmt: skip
    read = file_formats.read_file(path, reader="none")
    if decided := [note for note in read.notes if not note.endswith("(#) left out")]:
        raise TableError(f"{read.label}: a described table is plain CSV in UTF-8; this one: {', '.join(decided)}")
    return read
