"""``forecast tables diff``: what changed between two versions of a table, and how far a trend moves by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from forecast.cli import render
from forecast.cli.catalogue.listing import json_option
from forecast.cli.reading_options import access_options
from forecast.errors import UsageError, printable

if TYPE_CHECKING:
    from forecast.evaluation.trend_changes import TrendOptions

__all__ = ["diff"]


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
@json_option
@click.pass_context
def diff(
    ctx: click.Context, /, before: str, after: str, key: str | None, limit: int, as_json: bool, **trend: Any
) -> None:
    """Say which rows of a table were added, removed and changed, and how far a trend moves.

    BEFORE and AFTER are tables by name, descriptors (datapackage.json) or their folders, or files. NAME@earlier is
    what a downloaded table was before its last update, NAME@sha256:... an earlier snapshot by its hash. With --trend
    the shape is fitted to both, and its figures stand side by side with their 90 % intervals. --json lists every row.

    \b
    forecast tables diff old/datapackage.json datasets/supercomputers --trend trends/exponential --x date --y rmax_top1
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast import tables
    from forecast.cli.catalogue import change_output
    from forecast.contract.registry import get_registry
    from forecast.evaluation.trend_changes import compare_trends
    from forecast.tables import diff as table_diff

    options = _trend_options(**trend)
    columns = [name.strip() for name in (key or "").split(",") if name.strip()]
    if columns and not any(map(tables.is_plain_file, (before, after))):
        raise UsageError("--key is for files; a described table has its own key")
    sides = {
        side: table_diff.read_version(source, key=columns) for side, source in (("before", before), ("after", after))
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
        provenance=render.provenance(
            [get_registry().find("shape", options.shape).plugin] if options else [],
            data={side: version.hash for side, version in sides.items()},
        ),
    )
    if errors:
        ctx.exit(1)


def _trend_options(
    *,
    shape: str | None,
    x: str | None,
    y: str | None,
    where: Sequence[str],
    since: str,
    option: Sequence[str],
    frontier: bool,
) -> TrendOptions | None:
    """Return what the options say of a trend, None where they say nothing; half of them are an error."""
    from forecast.cli.fit.fit_arguments import parse_settings
    from forecast.evaluation.trend_changes import TrendOptions
    from forecast.tables.schema import cells

    if shape is None:
        values = {"x": x, "y": y, "where": where, "since": since, "option": option, "frontier": frontier}
        if named := ", ".join(f"--{name}" for name, value in values.items() if value):
            raise UsageError(f"{named}: about a trend: name its shape with --trend")
        return None
    if not x or not y:
        raise UsageError("--trend needs --x (dates) and --y (values)")
    conditions = {}
    for text in where:
        column, word, value = text.partition(" is ")
        if not word or not column.strip() or not value.strip():
            raise UsageError(f"--where: expected 'COLUMN is VALUE', got '{printable(text, 60)}'")
        conditions[column.strip()] = value.strip()
    try:
        first_day = str(cells.date(since)) if since else ""
    except ValueError as error:
        raise UsageError(f"--since: '{printable(since, 40)}': {error}") from None
    options = {name: _int_if_whole(value) for name, value in parse_settings(option, "--option").items()}
    return TrendOptions(shape=shape, x=x, y=y, where=conditions, frontier=frontier, since=first_day, options=options)


def _int_if_whole(value: float | str) -> float | str:
    """Return a whole number as an int: an option may be a count."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
