"""``list`` and ``show``, once for every kind of record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import click

from forecast.api.catalogue_search import record_details, record_rows
from forecast.cli import completion, render
from forecast.cli.output_files import add_options
from forecast.cli.reading_options import access_options, reading_options
from forecast.contract.registry import Plugin, Record, Registry, get_registry
from forecast.errors import UsageError

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")


def plural(kind: str) -> str:
    """Return several of a kind of record, which is also its command: ``quantities``."""
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def listing_warnings(registry: Registry, kind: str | None = None) -> list[str]:
    """Say in one line each what a listing lacks: plugins that failed, and names that two distributions offer."""
    lines = [
        f"plugin {p.origin} failed: {p.reason} (forecast plugins show {p.name})"
        for p in registry.plugins
        if p.status == "failed"
    ]
    if kind is not None:
        usable = set(registry.names(kind))
        clashing = sorted({r.full_name for r in registry.records(kind)} - usable)
        lines += [f"{kind} '{name}' is offered by two distributions: it resolves to neither" for name in clashing]
    return lines


#: What narrows a list of things that have a unit and a kind.
_FILTER_OPTIONS = (
    click.option("--unit", default="", metavar="UNIT", help="Only those of this dimension: FLOP/s finds TFLOP/s too."),
    click.option("--kind", "of_kind", default="", metavar="KIND", help="Only those of this kind: trend."),
)


_VALUES_OPTION = click.option(
    "--values", "with_values", is_flag=True, help="Today's value and 2030's too: half a minute for all."
)


def with_record(result: dict[str, Any]) -> None:
    """Write a record; where it says how its forecasts have done, with a chart of that."""
    rows = result.get("record") or []
    render.write_details({**result, "record": [{k: v for k, v in row.items() if k != "deciles"} for row in rows]})
    if rows:
        from forecast.report.figures.calibration import chart

        render.write()
        for line in chart(rows[0]):
            render.write(line)


def catalogue(
    noun: str,
    kind: str,
    *,
    columns: dict[str, Callable[[Record], Any]],
    describe: Callable[[Record], dict[str, Any]],
    reads: bool = False,
    describe_file: Callable[[str, Mapping[str, Any]], dict[str, Any] | None] | None = None,
    overview: Callable[[list[dict[str, Any]]], None] | None = None,
    narrowed: Callable[[str, str], Callable[[Record], bool]] | None = None,
    values: dict[str, Callable[[Record], Any]] | None = None,
) -> click.Group:
    """Make the group ``forecast NOUN list|show``.

    Parameters
    ----------
    noun, kind : str
        ``"laws"`` for people, ``"law"`` for the registry.
    columns : dict
        What `list` shows beside name and title; computed from the record alone, so that it stays cheap.
    describe : callable
        What `show` shows of a record, beside name, title, reference and origin.
    reads : bool
        `show` reads tables.
    describe_file : callable, optional
        Describes a file of the user's own, given to `show` by its path, and by how it is to be read.
    overview : callable, optional
        Writes the list for people, given its rows. Default: a table.
    narrowed : callable, optional
        Given a unit and a kind, either of them empty, returns what tells which records are listed. Without it `list`
        has no such options.
    values : dict, optional
        Columns that `list` shows with ``--values``, which are computed.
    """

    @click.group(noun, help=f"List {noun} or show one.", invoke_without_command=True)
    @click.pass_context
    def group(ctx: click.Context) -> None:
        if ctx.invoked_subcommand is None:
            render.write(ctx.get_help())

    @group.command("list", help=f"List all {noun}, or those of one plugin.")
    @click.option("--plugin", metavar="NAME", help="Only those of this plugin.")
    @partial(add_options, () if narrowed is None else _FILTER_OPTIONS)
    @partial(add_options, () if values is None else (_VALUES_OPTION,))
    @json_option
    def list_(plugin: str | None, as_json: bool, unit: str = "", of_kind: str = "", with_values: bool = False) -> None:
        registry = get_registry().complete()
        only = None if plugin is None else {p.name for p in registry.plugin(plugin)}
        records = [r for r in registry.records(kind, parts=False) if only is None or r.plugin.name in only]
        if narrowed is not None and (unit or of_kind):
            records = list(filter(narrowed(unit, of_kind), records))
        told = columns | (values or {} if with_values else {})
        result = record_rows(records, told)

        def text() -> None:
            if not result:
                render.write(f"no {noun}")
                return
            if overview is not None:
                overview(result)
                return
            shown = ["name", *told, "title"]
            render.write_table(shown, [[row[c] for c in shown] for row in result])

        render.emit(
            result, json=as_json, text=text, warnings=listing_warnings(registry, kind),
            provenance=render.provenance(plugins_of(records)),
        )  # fmt: skip

    @group.command("show", help=f"Show one {kind}; a bare name works while it is unique.")
    @click.argument("name", shell_complete=completion.complete_names(kind))
    @partial(add_options, (access_options,) if reads else ())
    @partial(add_options, () if describe_file is None else (reading_options,))
    @json_option
    def show(name: str, as_json: bool, reading: Mapping[str, Any] = MappingProxyType({})) -> None:
        if describe_file is not None and (described := describe_file(name, reading)) is not None:
            render.emit(described, json=as_json, provenance=render.provenance([]),
                        read=[described.pop("read")])  # fmt: skip
            return
        if reading:
            raise UsageError(f"--{next(iter(reading))} is for files; of a described table its description says it")
        record = get_registry().find(kind, name)
        result = record_details(record, describe)
        render.emit(
            result, json=as_json, text=lambda: with_record(result),
            provenance=render.provenance(plugins_of([record])),
        )  # fmt: skip

    return group


def plugins_of(records: Iterable[Record]) -> list[Plugin]:
    """Return the plugin of each record."""
    return [record.plugin for record in records]
