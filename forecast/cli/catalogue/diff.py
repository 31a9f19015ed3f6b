"""``forecast tables diff``: what changed between two versions of a table, and how far a trend moves by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from forecast.cli import render
from forecast.cli.access_options import access_options
from forecast.cli.catalogue.listing import json_option

if TYPE_CHECKING:
    from forecast.contract.registry import Plugin
    from forecast.tables.diff import Difference, Version

__all__ = ["diff", "headline", "plain"]

COMMAND = "tables diff"
#: What of a trend is said in the headline, in order of preference, and how it is called.
_TELLING = {"doubling_years": ("doubling time", " years"), "growth_per_year": ("growth", " a year in logs")}


@click.command()
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@click.option("--key", metavar="COLUMNS", help="For CSV files: the columns that tell rows apart, like name,date.")
@click.option("--trend", metavar="SHAPE", help="Fit this shape to both: trends/exponential. Needs --x and --y.")
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
    ctx: click.Context,
    before: str,
    after: str,
    key: str | None,
    trend: str | None,
    x: str | None,
    y: str | None,
    where: tuple[str, ...],
    since: str,
    option: tuple[str, ...],
    frontier: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Say which rows of a table were added, removed and changed, and how far a trend moves.

    BEFORE and AFTER are tables by name, descriptors (datapackage.json) or their folders, or CSV files. NAME@earlier is
    what a downloaded table was before its last update, NAME@sha256:... an earlier snapshot by its hash. With --trend
    the shape is fitted to both, and its figures stand side by side with their 90 % intervals. --json lists every row.

    \b
    forecast tables diff old/datapackage.json datasets/supercomputers --trend trends/exponential --x date --y rmax_top1
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.errors import UsageError
    from forecast.tables import diff as differing

    asked = _asked(trend, x, y, {"where": where, "since": since, "option": option, "frontier": frontier})
    columns = [name.strip() for name in (key or "").split(",") if name.strip()]
    if columns and not any(source.lower().endswith(".csv") for source in (before, after)):
        raise UsageError("--key is for CSV files; a described table has its own key")
    versions = [differing.read(source, key=columns) for source in (before, after)]
    parts = differing.compare(*versions)
    moves, plugins, failures = _trend(versions, asked) if asked else (None, [], [])
    result = {
        "headline": headline(parts, moves),
        "before": _version(versions[0]),
        "after": _version(versions[1]),
        "parts": [plain(part) for part in parts],
        "trend": moves,
    }
    render.emit(
        result,
        json=as_json,
        command=COMMAND,
        text=lambda: _text(result, limit),
        warnings=failures,
        provenance=render.provenance(plugins, data={"before": versions[0].hash, "after": versions[1].hash}),
    )
    if failures:
        ctx.exit(1)


def _asked(trend: str | None, x: str | None, y: str | None, further: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what was asked about a trend, or None; half a question is an error."""
    from forecast.cli.fit.fit_arguments import settings
    from forecast.errors import UsageError, printable
    from forecast.tables.schema import cells

    if trend is None:
        given = {"x": x, "y": y, **further}
        if any(given.values()):
            named = ", ".join(f"--{name}" for name, value in given.items() if value)
            raise UsageError(f"{named}: about a trend: name its shape with --trend")
        return None
    if not x or not y:
        raise UsageError("--trend needs --x (dates) and --y (values)")
    kept = {}
    for text in further["where"]:
        column, word, value = text.partition(" is ")
        if not word or not column.strip() or not value.strip():
            raise UsageError(f"--where: expected 'COLUMN is VALUE', got '{printable(text, 60)}'")
        kept[column.strip()] = value.strip()
    try:
        since = str(cells.date(further["since"])) if further["since"] else ""
    except ValueError as error:
        raise UsageError(f"--since: '{printable(further['since'], 40)}': {error}") from None
    return {
        "shape": trend, "x": x, "y": y, "where": kept, "frontier": further["frontier"], "since": since,
        "options": {name: _whole(value) for name, value in settings(further["option"], "--option").items()},
    }  # fmt: skip


def _whole(value: float | str) -> float | str:
    """Return a whole number as an int: an option may be a count."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _trend(versions: Sequence[Version], asked: Mapping[str, Any]) -> tuple[dict[str, Any], list[Plugin], list[str]]:
    """Fit the shape to both versions and compare the figures; a fit that fails is a failure of its side only."""
    from forecast import models
    from forecast.contract.registry import get_registry
    from forecast.errors import DataError, ForecastError, UnknownNameError
    from forecast.tables.diff import moved

    record = get_registry().find("shape", asked["shape"])
    unit = _unit(versions, asked["y"])
    sides: list[dict[str, Any]] = []
    failures = []
    for side, version in zip(("before", "after"), versions, strict=True):
        try:
            fitted = models.trend(version.data, unit=unit, name=f"trend of {side}", **asked).fit()
            description = fitted.describe()
            sides.append({"summary": description.summary, "facts": dict(description.facts), "failed": None})
        except UnknownNameError:
            raise  # a misspelt column or option: nothing was asked that makes sense
        except (DataError, ForecastError) as error:
            sides.append({"summary": None, "facts": {}, "failed": str(error)})
            failures.append(f"trend of {side}: {error}")
    both = not failures
    return (
        {
            **asked,
            "unit": unit,
            "figures": moved(sides[0]["facts"], sides[1]["facts"]) if both else [],
            "before": {k: sides[0][k] for k in ("summary", "failed")},
            "after": {k: sides[1][k] for k in ("summary", "failed")},
        },
        [record.plugin],
        failures,
    )


def _unit(versions: Sequence[Version], y: str) -> str:
    """Return the unit that the first version with one states for a column."""
    return next((part.units[y] for version in versions for part in version.parts if y in part.units), "")


def _version(version: Version) -> dict[str, Any]:
    return {"name": version.name, "version": version.version or None, "hash": version.hash}


def _name(key: Mapping[str, Any]) -> str:
    return ", ".join(str(v) for v in key.values())


def plain(part: Difference) -> dict[str, Any]:
    """Return what differs in one part of a table, as plain data."""
    return {
        "name": ", ".join(part.key) or "rows",
        "key": list(part.key),
        "rows_before": part.before,
        "rows_after": part.after,
        "rows_changed": part.rows_changed,
        "added": [{"name": _name(row), "key": dict(row)} for row in part.added],
        "removed": [{"name": _name(row), "key": dict(row)} for row in part.removed],
        "changed": [
            {
                "name": _name(change.key),
                "key": dict(change.key),
                "column": change.column,
                "before": change.before,
                "after": change.after,
                "relative": change.relative,
            }
            for change in part.changed
        ],
        "columns_added": list(part.columns_added),
        "columns_removed": list(part.columns_removed),
        "units_changed": [
            {"name": name, "before": was, "after": now} for name, (was, now) in part.units_changed.items()
        ],
    }


def headline(parts: Sequence[Difference], trend: Mapping[str, Any] | None) -> str:
    """Say in one sentence which rows differ, and how far the trend moves if one was asked for."""
    added, removed = (sum(len(getattr(p, side)) for p in parts) for side in ("added", "removed"))
    changed, before = sum(p.rows_changed for p in parts), sum(p.before for p in parts)
    after = sum(p.after for p in parts)
    if added or removed or changed:
        rows = "row" if added == 1 else "rows"
        sentence = f"{added} {rows} added, {removed} removed, {changed} changed ({before} rows before, {after} after)"
    elif any(p.columns_added or p.columns_removed or p.units_changed for p in parts):
        sentence = f"no row differs in the columns that both versions have ({before} rows)"
    else:
        sentence = f"the versions hold the same {before} rows"
    return f"{sentence}; {_moves(trend)}." if trend else f"{sentence}."


def _moves(trend: Mapping[str, Any]) -> str:
    figures = {figure["name"]: figure for figure in trend["figures"]}
    telling = next((name for name in _TELLING if name in figures), None)
    if not figures:
        return f"no trend of {trend['y']} could be compared"
    if telling is None:
        return f"the figures of the trend of {trend['y']} stand below"
    figure, (called, unit) = figures[telling], _TELLING[telling]
    if figure["before"] is None or figure["after"] is None:
        return f"the {called} of {trend['y']} goes from {_number(figure['before'])} to {_number(figure['after'])}{unit}"
    if figure["before"] == figure["after"]:
        return f"the {called} of {trend['y']} stays at {figure['before']:.3g}{unit}"
    span = figure["interval_before"]
    where = "outside" if figure["outside"] else "inside"
    inside = f", {where} its 90 % interval before [{_number(span['p05'])}, {_number(span['p95'])}]" if span else ""
    share = f" ({figure['relative']:+.2g})" if figure["relative"] is None else f" ({100 * figure['relative']:+.2g} %)"
    return (
        f"the {called} of {trend['y']} moves from {figure['before']:.3g} to {figure['after']:.3g}{unit}{share}{inside}"
    )


def _number(value: float | None) -> str:
    return "never" if value is None else f"{value:.3g}"


def _text(result: Mapping[str, Any], limit: int) -> None:
    render.headline(result["headline"])
    shown = ["part", "before", "after", "added", "removed", "changed"]
    rows = [
        (p["name"], p["rows_before"], p["rows_after"], len(p["added"]), len(p["removed"]), p["rows_changed"])
        for p in result["parts"]
    ]
    render.table(shown, rows)
    for part in result["parts"]:
        _rows(part, limit, many=len(result["parts"]) > 1)
    if result["trend"]:
        _figures(result["trend"])


def _rows(part: Mapping[str, Any], limit: int, *, many: bool) -> None:
    label = f" of {part['name']}" if many else ""
    for kind in ("added", "removed"):
        if part[kind]:
            render.write()
            render.write(f"{kind}{label}:")
            for row in part[kind][:limit]:
                render.verbatim(f"  {row['name']}")
            _rest(len(part[kind]), limit)
    if part["changed"]:
        render.write()
        render.write(f"changed{label}:")
        render.table(
            ["row", "column", "before", "after", "change"],
            [
                (c["name"], c["column"], c["before"], c["after"], _percent(c["relative"]))
                for c in part["changed"][:limit]
            ],
            indent=2,
        )
        _rest(len(part["changed"]), limit)
    for kind in ("columns_added", "columns_removed"):
        if part[kind]:
            render.write()
            render.verbatim(f"{kind.replace('_', ' ')}{label}: {', '.join(part[kind])}")
    for unit in part["units_changed"]:
        render.verbatim(f"unit of {unit['name']}: {unit['before']} before, {unit['after']} after (converted)")


def _rest(count: int, limit: int) -> None:
    if count > limit:
        render.write(f"  … and {count - limit} more (--json lists all)")


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:+.3g} %"


def _figures(trend: Mapping[str, Any]) -> None:
    conditions = {**trend["where"], **({"since": trend["since"]} if trend["since"] else {}), **trend["options"]}
    kept = "".join(f", {column} = {value}" for column, value in conditions.items())
    render.write()
    render.verbatim(f"{trend['shape']} of {trend['y']} over {trend['x']}{kept}:")
    for side in ("before", "after"):
        render.verbatim(f"  {side}: {trend[side]['summary'] or 'failed: ' + str(trend[side]['failed'])}")
    if trend["figures"]:
        render.write()
        columns = ["figure", "before", "90 % before", "after", "90 % after", "change"]
        render.table(columns, [_figure(figure) for figure in trend["figures"]], indent=2)


def _figure(figure: Mapping[str, Any]) -> list[Any]:
    def span(side: str) -> str | None:
        interval = figure[f"interval_{side}"]
        return f"[{_number(interval['p05'])}, {_number(interval['p95'])}]" if interval else None

    def shown(side: str) -> str | None:
        return None if figure[side] is None else f"{figure[side]:.5g}"

    return [
        figure["name"], shown("before"), span("before"), shown("after"), span("after"), _percent(figure["relative"]),
    ]  # fmt: skip
