"""``forecast find``: laws, models, tables and scenarios by words of their names, titles, units and sources."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from forecast.api.catalogue_search import SEARCHED_KINDS, find_records, shortest_name
from forecast.cli import render
from forecast.cli.catalogue.listing import json_option, listing_warnings, plugins_of, plural
from forecast.contract.registry import get_registry
from forecast.errors import printable

#: Rows that people are shown.
MAX_RESULTS = 20
#: Most columns that names take of a line; a longer one pushes its own line alone.
MAX_NAME_WIDTH = 27


@click.command("find")
@click.argument("words", nargs=-1, required=True)
@json_option
def find(words: tuple[str, ...], as_json: bool) -> None:
    """Find quantities, scenarios, models, laws and tables.

    Every word must stand in the name, the title, a unit, a column or the reference. Names come first, then titles.

    \b
    forecast find gpu price
    forecast find FLOP/s
    forecast find dettmers
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    found, result, nothing = find_records(words)
    registry = get_registry().complete()
    warnings = dict.fromkeys(line for kind in (None, *SEARCHED_KINDS) for line in listing_warnings(registry, kind))

    def text() -> None:
        if result:
            _print_matches(result, width=render.width())
        else:
            render.write(nothing)

    render.emit(
        result, json=as_json, text=text, warnings=[*warnings],
        provenance=render.provenance(plugins_of(found)),
    )  # fmt: skip


def _print_matches(rows: list[dict[str, Any]], *, width: int) -> None:
    """Write a line for each of the first rows: kind, name, and as much of the title as there is room for."""
    shown = rows[:MAX_RESULTS]
    names = [shortest_name(row) for row in shown]
    longest = min(max(map(len, names)), MAX_NAME_WIDTH)
    for row, name in zip(shown, names, strict=True):
        start = f"{row['kind']:<8}  {name:<{longest}}  "
        title = textwrap.shorten(printable(row["title"]), max(width - len(start), 2), placeholder=" …")
        render.write(f"{start}{title}".rstrip())
    render.write()
    if len(rows) > len(shown):
        render.write(f"{len(rows) - len(shown)} more match: another word narrows it, --json has them all.")
    render.write(f"All about the first: forecast {plural(rows[0]['kind'])} show {names[0]}")
    run = next((name for row, name in zip(shown, names, strict=True) if row["kind"] == "scenario"), None)
    if run is not None:
        render.write(f"Run a scenario: forecast run {run}")
