"""One file of a described table, fetched or given by hand, with what it was verified against."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from forecast.errors import DownloadError
from forecast.tables.remote import download, resource_bytes, trust_on_first_use
from forecast.tables.remote.snapshots import Snapshot
from forecast.tables.schema.descriptor import RECORDED, Package, Resource

__all__ = ["FetchedResource", "Progress", "fetch_resource", "silent"]

#: Opens a progress bar with a label; what it yields is called with the work done and the work in all.
Progress = Callable[[str], AbstractContextManager[Callable[[float, float], None]]]

_STATES = {
    "verified": "verified against the published hash",
    "recorded": "recorded today",
    "unchanged": "unchanged since {day}",
    "updated": "updated today",
    "chosen": "taken back, recorded on {day}",
}


def silent(label: str) -> AbstractContextManager[Callable[[float, float], None]]:
    """Show no progress."""
    return nullcontext(lambda done, total: None)


@dataclass(frozen=True, kw_only=True)
class FetchedResource:
    """A file of a table in the cache.

    Parameters
    ----------
    resource : Resource
    path : Path
    hash : str
    rows : int
    how : str
        ``verified`` against a published hash, else as in `forecast.tables.remote.trust_on_first_use.Copy`.
    recorded : str, optional
        The day on which a file without a published hash was recorded.
    before : Snapshot, optional
        The snapshot that was current before, if it is another.
    """

    resource: Resource
    path: Path
    hash: str
    rows: int
    how: str
    recorded: str | None = None
    before: Snapshot | None = None

    @property
    def state(self) -> str:
        """What the file was verified against, in words."""
        return _STATES.get(self.how, "recorded on {day}").format(day=self.recorded)


def fetch_resource(
    package: Package,
    resource: Resource,
    *,
    update: bool = False,
    file: str | None = None,
    expected: str | None = None,
    progress: Progress = silent,
) -> FetchedResource:
    """Fetch one file of a table into the cache.

    Parameters
    ----------
    package : Package
    resource : Resource
    update : bool
        Take what the source gives now, where no hash is published.
    file : str, optional
        A file to take instead of a download.
    expected : str, optional
        The hash that the file must have; of a file without a published hash, also that of an earlier snapshot.
    progress : callable
        Opens a progress bar; by default none.

    Raises
    ------
    DownloadError, DataError
    """
    where, command = resource_bytes.where_of(package, resource), resource_bytes.command(package)
    cached_name = resource_bytes.in_cache(resource)
    with progress(f"downloading {resource.name}") as report, download.watched(report):
        if resource.hash != RECORDED:
            if expected and expected != resource.hash:
                raise DownloadError(f"{where}: the published hash is {resource.hash}, expected is {expected}")
            if file is not None:
                path = download.adopt(file, resource.hash, cached_name, where=where)
            else:
                path = download.fetch(resource.path, resource.hash, cached_name, where=where, command=command)
            rows = resource_bytes.readable(resource, path, where)
            return FetchedResource(resource=resource, path=path, hash=resource.hash, rows=rows, how="verified")
        copy = trust_on_first_use.take(
            resource.path,
            cached_name,
            where=where,
            command=command,
            check=lambda path: resource_bytes.readable(resource, path, where),
            file=file,
            update=update,
            expected=expected,
        )
    return FetchedResource(
        resource=resource,
        path=copy.path,
        hash=copy.snapshot.hash,
        rows=resource_bytes.readable(resource, copy.path, where),
        how=copy.how,
        recorded=copy.snapshot.fetched,
        before=copy.before,
    )
