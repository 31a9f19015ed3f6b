"""``forecast tables fetch``: the files of a described table, downloaded or given by hand, verified and recorded."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from forecast.base import access
from forecast.cli import completion, render
from forecast.cli.catalogue.listing import json_option
from forecast.cli.reading_options import access_options

if TYPE_CHECKING:
    from forecast.tables.remote.trust_on_first_use import Copy
    from forecast.tables.schema.descriptor import Package, Resource

__all__ = ["fetch"]


@click.command()
@click.argument("name", metavar="NAME", shell_complete=completion.complete_names("table"))
@click.option("--update", is_flag=True, help="Take what the source gives now, where no hash is published.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="Take this file instead of a download.")
@click.option("--hash", "hashes", multiple=True, metavar="HASH", help="The snapshot that you expect: sha256:...")
@access_options
@json_option
def fetch(name: str, update: bool, files: tuple[str, ...], hashes: tuple[str, ...], as_json: bool) -> None:
    """Fetch the files of a described table into the cache, and say what was verified against what.

    A file with a published hash must have it. One without is recorded as it is at its first fetch, and every later read
    must have that hash, until --update takes a newer file; the earlier one stays. --hash takes back the snapshot that
    has it, or refuses a download that has another. Of a table of several files say which: --file dram=DRAM.csv.

    \b
    forecast tables fetch epoch-models
    forecast tables fetch epoch-models --update
    forecast tables diff epoch-models@earlier epoch-models
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast import tables
    from forecast.errors import UsageError, printable
    from forecast.tables.remote import download, resource_bytes
    from forecast.tables.schema import descriptor
    from forecast.tables.schema.descriptor import RECORDED_HASH

    package = descriptor.read_descriptor(tables.descriptor_of(name))
    remote = [resource for resource in package.resources if resource.remote]
    if not remote:
        raise UsageError(f"table '{printable(package.name, 80)}' is shipped: there is nothing to fetch")
    if update and all(resource.hash != RECORDED_HASH for resource in remote):
        raise UsageError(f"table '{printable(package.name, 80)}' has published hashes: there is nothing to update")
    replacements = _by_resource(files, "--file", remote)
    expected = _by_resource(hashes, "--hash", remote)
    for text in expected.values():
        if not descriptor.HASH_PATTERN.fullmatch(text):
            raise UsageError(f"--hash: expected 'sha256:' and 64 hexadecimal digits, got '{printable(text, 80)}'")
    with warnings.catch_warnings(record=True) as caught, access.allow(downloads=True):
        warnings.simplefilter("always")
        rows = []
        for resource in remote:
            with render.progress_bar(f"downloading {resource.name}") as report, download.report_downloads(report):
                file, digest = replacements.get(resource.name), expected.get(resource.name)
                copy = resource_bytes.local_copy(package, resource, file=file, update=update, expected=digest)
            usable_rows = resource_bytes.readable(resource, copy.path, resource_bytes.where_of(package, resource))
            rows.append(_resource_row(resource, copy, usable_rows))
            render.written.append(resource.name)  # an interrupt does not cost those before it
    record = resource_bytes.record_of(package)
    table_name = resource_bytes.command(package).removeprefix("forecast tables fetch ")
    result = {
        "headline": _fetch_headline(package, rows),
        "name": table_name,
        "data version": package.version,
        "resources": rows,
    }
    render.emit(
        result,
        json=as_json,
        text=lambda: _print_fetch(result, table_name),
        warnings=list(dict.fromkeys(str(warning.message) for warning in caught)),
        provenance=render.provenance(
            [record.plugin] if record else [], data={row["name"]: row["hash"] for row in rows}
        ),
    )


def _by_resource(texts: Sequence[str], option: str, remote: Sequence[Resource]) -> dict[str, str]:
    """Return what an option says, by resource: ``VALUE`` where there is one resource, else ``RESOURCE=VALUE``."""
    from forecast.errors import UnknownNameError, UsageError

    names = [resource.name for resource in remote]
    files: dict[str, str] = {}
    for text in texts:
        head, equals, tail = text.partition("=")
        if equals and head in names:
            name, value = head, tail
        elif len(names) == 1:
            name, value = names[0], text
        elif not equals:
            raise UsageError(f"{option}: which file? Say RESOURCE=..., with one of {', '.join(names)}")
        else:
            raise UnknownNameError("resource", head, names, where=option)
        if name in files:
            raise UsageError(f"{option}: given twice for '{name}'")
        files[name] = value
    return files


def _resource_row(resource: Resource, copy: Copy, rows: int) -> dict[str, Any]:
    snapshot, before = copy.snapshot, copy.before
    return {
        "name": resource.name,
        "state": copy.state,
        "hash": snapshot.hash,
        "bytes": snapshot.bytes,
        "rows": rows,
        "licence": resource.licenses,
        "url": resource.path,
        "file": str(copy.path),
        "recorded": snapshot.fetched or None,
        "before": {"hash": before.hash, "recorded": before.fetched} if before else None,
    }


def _fetch_headline(package: Package, rows: Sequence[Mapping[str, Any]]) -> str:
    states = list(dict.fromkeys(row["state"] for row in rows))
    files = "1 file" if len(rows) == 1 else f"{len(rows)} files"
    count = sum(row["rows"] for row in rows)
    return f"{package.name}: {files}, {count:,} rows, {'; '.join(states)}."


def _print_fetch(result: Mapping[str, Any], table_name: str) -> None:
    render.write_headline(result["headline"])
    for line in _resource_lines(result["resources"]):
        render.verbatim(line)
    if any(row["before"] for row in result["resources"]):
        render.write()
        render.verbatim(f"compare: forecast tables diff {table_name}@earlier {table_name}")


def _resource_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield f"{row['name']}: {row['state']}"
        yield f"  hash     {row['hash']}"
        if row["before"]:
            yield f"  before   {row['before']['hash']} (recorded on {row['before']['recorded']})"
        yield f"  size     {row['bytes']:,} bytes, {row['rows']:,} rows"
        yield f"  licence  {row['licence']}"
        yield f"  from     {row['url']}"
        yield f"  file     {row['file']}"
