"""``forecast tables``: observations, their columns, units, licences and sources; fetched, and two versions compared."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forecast.base import access
from forecast.cli import completion, render
from forecast.cli.catalogue.listing import catalogue, json_option
from forecast.cli.reading_options import access_options, reading_options
from forecast.contract.registry import Record, get_registry
from forecast.errors import DataError, UnknownNameError, UsageError, printable
from forecast.tables.remote.download import cache_folder
from forecast.tables.schema import descriptor
from forecast.tables.schema.descriptor import RECORDED_HASH, Package, Resource

if TYPE_CHECKING:
    from forecast.evaluation.trend_changes import TrendOptions
    from forecast.tables.remote.snapshots import Snapshot
    from forecast.tables.remote.trust_on_first_use import Copy

# --- Editions and forecasts -------------------------------------------------------------------------------------------
# ``forecast tables refresh``: what is described is fetched anew, and what changed says how far the forecasts move.


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=completion.complete_names("table"))
@click.option("--file", "files", multiple=True, metavar="NAME=PATH", help="Try this file in the place of a table.")
@click.option(
    "--edition",
    "substitutes",
    multiple=True,
    metavar="NAME:THIS=OTHER",
    help="Try one edition that a table holds in the place of another.",
)
@click.option("--scenario", "scenarios", multiple=True, metavar="NAME", help="Run these; by default all of them.")
@click.option("--draws", type=int, default=2048, show_default=True, metavar="N", help="Joint samples.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Of either run.")
@access_options
@json_option
@click.pass_context
def refresh(
    ctx: click.Context,
    names: tuple[str, ...],
    files: tuple[str, ...],
    substitutes: tuple[str, ...],
    scenarios: tuple[str, ...],
    draws: int,
    seed: int,
    as_json: bool,
) -> None:
    """Fetch described tables anew, and say what changed in them and how far every forecast moves by it.

    By default all tables that are downloaded are fetched as `tables fetch --update` does. NAME@earlier (or
    NAME@sha256:...) fetches nothing: it compares the table with what it was. --file tries a file in the place of a
    table, a shipped one too, and keeps nothing; rows without the table's key stand beside its own (quotes of yours);
    PATH may be another description, datapackage.json or its folder.
    --edition tries one of the editions that a table holds in the place of another: THIS and OTHER are two values of a
    column that keeps rows apart (2026-08 and 2026-07), or two columns of one quantity (cost and cost_2026_09).

    Every scenario that rests on a table that changed runs with both editions in the same worlds. A table that cannot
    be fetched is listed with its reason, and the exit code is 1.

    \b
    forecast tables refresh
    forecast tables refresh epoch-models@earlier
    forecast tables refresh --file supercomputers=mine.csv --scenario brain-parity
    forecast tables refresh --edition capability-editions:2026-08=2026-07
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.api.table_refresh import refresh as refresh_tables
    from forecast.cli.catalogue import change_output
    from forecast.cli.fit.fit_arguments import parse_formulas

    registry = get_registry()
    if len(names) == 1 and len(files) == 1 and "=" not in files[0]:  # NAME --file PATH
        files, names = (f"{names[0]}={files[0]}",), names[:0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        refreshed = refresh_tables(
            *names, files=parse_formulas(files, "--file", "NAME=PATH"), editions=_parse_substitutes(substitutes),
            scenarios=scenarios, draws=draws, seed=seed, progress=render.progress_bar,
        )  # fmt: skip
    tables = {table.name: table for table in refreshed.tables}
    render.emit(
        change_output.refresh_data(refreshed),
        json=as_json,
        text=lambda: change_output.write_refresh(refreshed),
        warnings=list(dict.fromkeys(str(warning.message) for warning in caught)),
        provenance=render.provenance(
            [record.plugin for record in registry.records("table") if record.full_name in tables],
            computed=bool(refreshed.scenarios), draws=draws, seed=seed,
            data={name: {"before": table.before, "after": table.after} for name, table in tables.items()},
        ),
    )  # fmt: skip
    if refreshed.failed:
        ctx.exit(1)


def _parse_substitutes(texts: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Read ``NAME:THIS=OTHER``."""
    for text in texts:
        name, _, other = text.partition("=")
        table, _, this = name.strip().rpartition(":")
        if not (table and this and other.strip()):
            raise UsageError(f"--edition: expected NAME:THIS=OTHER, got '{printable(text, 80)}'")
        yield table, this, other.strip()


# --- Downloads --------------------------------------------------------------------------------------------------------
# ``forecast tables fetch``: the files of a described table, downloaded or given by hand, verified and recorded.


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
    from forecast.tables.remote import download, resource_bytes

    package = descriptor.read_descriptor(tables.descriptor_of(name))
    remote = [resource for resource in package.resources if resource.remote]
    if not remote:
        raise UsageError(f"table '{printable(package.name, 80)}' is shipped: there is nothing to fetch")
    if update and all(resource.hash != RECORDED_HASH for resource in remote):
        raise UsageError(f"table '{printable(package.name, 80)}' has published hashes: there is nothing to update")
    replacements = _option_by_resource(files, "--file", remote)
    expected = _option_by_resource(hashes, "--hash", remote)
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


def _option_by_resource(texts: Sequence[str], option: str, remote: Sequence[Resource]) -> dict[str, str]:
    """Return what an option says, by resource: ``VALUE`` where there is one resource, else ``RESOURCE=VALUE``."""
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


# --- Two versions -----------------------------------------------------------------------------------------------------
# ``forecast tables diff``: what changed between two versions of a table, and how far a trend moves by it.


@click.command()
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.option("--key", metavar="COLUMNS", help="For files: the columns that tell rows apart, like name,date.")
@click.option(
    "--trend", "shape", metavar="SHAPE", help="Fit this shape to both: trends/exponential. Needs --x and --y."
)
@click.option("--x", metavar="COLUMN", help="The trend's column of dates or decimal years.")
@click.option("--y", metavar="COLUMN", help="The trend's column of values.")
@click.option("--where", multiple=True, metavar="CONDITION", help='Rows of the trend: "precision is fp16".')
@click.option(
    "--since", metavar="DATE", default="", help="The trend's first day (YYYY-MM-DD); earlier rows are left out."
)
@click.option("--option", multiple=True, metavar="NAME=VALUE", help="Of the trend's shape: cumulative=dram_cumulative.")
@click.option("--frontier", is_flag=True, help="The trend's column is a running maximum.")
@click.option("--limit", type=click.IntRange(0), default=20, show_default=True, metavar="N", help="Rows shown of each.")
@access_options
@reading_options
@json_option
@click.pass_context
def diff(
    ctx: click.Context, /, before: str, after: str, key: str | None, limit: int, as_json: bool,
    reading: dict[str, Any], **trend: Any,
) -> None:  # fmt: skip
    """Say which rows of a table were added, removed and changed, and how far a trend moves.

    BEFORE and AFTER are tables by name, descriptors (datapackage.json) or their folders, or files. NAME@earlier is
    what a downloaded table was before its last update, NAME@sha256:... an earlier snapshot by its hash. With --trend
    the shape is fitted to both, and its figures stand side by side with their 90 % intervals. --json lists every row.

    \b
    forecast tables diff old/datapackage.json datasets/supercomputers --trend trends/exponential --x date --y rmax_top1
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast import tables
    from forecast.cli.catalogue import change_output
    from forecast.evaluation.trend_changes import compare_trends
    from forecast.tables import diff as table_diff

    options = _trend_options(**trend)
    columns = [name.strip() for name in (key or "").split(",") if name.strip()]
    for name in [*(["key"] if columns else []), *reading]:
        if not any(map(tables.is_plain_file, (before, after))):
            raise UsageError(f"--{name} is for files; of a described table its description says it")
    sides = {
        side: table_diff.read_version(source, key=columns, reading=reading)
        for side, source in (("before", before), ("after", after))
    }
    parts = table_diff.compare_versions(**sides)
    change = compare_trends(**sides, options=options) if options else None
    errors = [f"trend of {side}: {error}" for side, error in change.errors.items()] if change else []
    headline = change_output.difference_headline(parts, change)
    result = {
        "headline": headline,
        **{side: {"name": v.name, "version": v.version or None, "hash": v.hash} for side, v in sides.items()},
        "parts": [change_output.difference_data(part) for part in parts],
        "trend": change_output.trend_data(change) if change else None,
    }
    render.emit(
        result,
        json=as_json,
        text=lambda: change_output.write_difference(headline, parts, change, limit),
        warnings=errors,
        read=[version.data.read_line for version in sides.values() if version.text],
        provenance=render.provenance(
            [get_registry().find("shape", options.shape).plugin] if options else [],
            data={side: version.hash for side, version in sides.items()},
        ),
    )
    if errors:
        ctx.exit(1)


def _trend_options(*, shape: str | None, **trend: Any) -> TrendOptions | None:
    """Return what the options say of a trend, None where they say nothing; half of them are an error."""
    from forecast.cli.fit.fit_arguments import parse_settings
    from forecast.evaluation.trend_changes import TrendOptions
    from forecast.tables.schema import cells

    if shape is None:
        if named := ", ".join(f"--{name}" for name, value in trend.items() if value):
            raise UsageError(f"{named}: about a trend: name its shape with --trend")
        return None
    if not trend["x"] or not trend["y"]:
        raise UsageError("--trend needs --x (dates) and --y (values)")
    conditions = {}
    for text in trend["where"]:
        column, word, value = text.partition(" is ")
        if not word or not column.strip() or not value.strip():
            raise UsageError(f"--where: expected 'COLUMN is VALUE', got '{printable(text, 60)}'")
        conditions[column.strip()] = value.strip()
    try:
        first_day = str(cells.date(trend["since"])) if trend["since"] else ""
    except ValueError as error:
        raise UsageError(f"--since: '{printable(trend['since'], 40)}': {error}") from None
    options = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value  # it may be a count
        for name, value in parse_settings(trend.pop("option"), "--option").items()
    }
    return TrendOptions(shape=shape, **{**trend, "where": conditions, "since": first_day}, options=options)


def _table_details(record: Record) -> dict[str, Any]:
    from forecast.tables import file_formats

    package = descriptor.read_descriptor(Path(record.spec.descriptor))
    resources = []
    fields = []
    for resource in package.resources:
        rows = None
        if not resource.remote:
            rows = file_formats.read_file(package.folder / resource.path, reader="none").rows
        snapshot = _recorded_snapshot(resource)
        resources.append(
            {
                "name": resource.name,
                "rows": rows,
                "key": list(resource.key),
                "data": resource.path if resource.remote else "shipped",
                "licence": resource.licenses,
                "hash": resource.hash if resource.hash != RECORDED_HASH else snapshot and snapshot.hash,
                "state": _download_state(resource, snapshot) if resource.remote else None,
                "recorded": snapshot.fetched if snapshot else None,
            }
        )
        for field in resource.fields:
            fields.append(
                {
                    "name": field.name,
                    "type": field.type,
                    "unit": field.unit,
                    "title": field.title,
                    "qualifiers": dict(field.qualifiers),
                    "resource": resource.name if len(package.resources) > 1 else "",
                }
            )
    return {
        "description": package.description or package.title,
        "data version": package.version,
        "licences": [dict(entry) for entry in package.licenses],
        "resources": resources,
        "fields": fields,
        "sources": [dict(entry) for entry in package.sources],
    }


def _recorded_snapshot(resource: Resource) -> Snapshot | None:
    """Return what is recorded of a file without a published hash."""
    from forecast.tables.remote import snapshots

    if resource.hash != RECORDED_HASH:
        return None
    known = snapshots.read_snapshots(cache_folder()).get(resource.path)
    return known.current if known else None


def _download_state(resource: Resource, snapshot: Snapshot | None) -> str:
    if not resource.remote:
        return "shipped"
    if resource.hash != RECORDED_HASH:
        return "published hash"
    if snapshot is None:
        return "not fetched yet"
    gone = "" if (cache_folder() / snapshot.file).is_file() else ", not in the cache"
    return f"recorded on {snapshot.fetched}{gone}"


def _data(record: Record) -> str:
    """Say where a table's files are; a descriptor that cannot be read must not spoil the listing of the others."""
    try:
        package = descriptor.read_descriptor(Path(record.spec.descriptor))
        return "; ".join(dict.fromkeys(_download_state(r, _recorded_snapshot(r)) for r in package.resources))
    except DataError:
        return "cannot be read"


def _file_details(name: str, reading: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what each column of a file is; None for the name of a table."""
    from forecast import tables as tables_room

    if not tables_room.is_plain_file(name):
        return None
    columns = tables_room.read(name, **reading)
    fields = []
    for column in columns:
        with contextlib.suppress(DataError):  # what cannot be read is shown in its row
            columns.column(column)
        found = columns.meaning(column)
        cells = columns.texts(column)
        missing = int(found.missing_mask().sum())
        problem = "" if found.problem is None else str(found.problem)
        fields.append(
            {"name": column, "is": columns.kind(column), "unit": columns.units.get(column, ""), "missing": missing,
             "read as": ", ".join(found.notes) or problem, "first": cells[0], "last": cells[-1]}
        )  # fmt: skip
    return {"file": columns.label, "rows": columns.rows, "fields": fields, "read": columns.notes.line()}


tables = catalogue(
    "tables", "table", columns={"data": _data}, describe=_table_details, reads=True, describe_file=_file_details
)
tables.add_command(diff)
tables.add_command(fetch)
tables.add_command(refresh)
