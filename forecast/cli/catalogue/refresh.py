"""``forecast tables refresh``: what is described is fetched anew, and what changed says how far the forecasts move."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forecast.base import access
from forecast.cli import completion, render
from forecast.cli.access_options import access_options
from forecast.cli.catalogue import diff
from forecast.cli.catalogue.answer_changes import Changed, moves
from forecast.cli.catalogue.listing import json_option

if TYPE_CHECKING:
    from forecast.tables.editions import Edition
    from forecast.tables.schema.descriptor import Package

__all__ = ["refresh"]

COMMAND = "tables refresh"
#: So many rows of a table are named in a sentence, and so many further answers of a scenario are shown.
_MOST_ROWS, _MOST_ANSWERS = 3, 6


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A table that was asked for: to be fetched, or with another edition to compare with."""

    name: str
    package: Package
    earlier: str = ""
    tried: Edition | None = None


@click.command()
@click.argument("names", metavar="[NAME]...", nargs=-1, shell_complete=completion.names("table"))
@click.option("--file", "files", multiple=True, metavar="NAME=PATH", help="Try this file in the place of a table.")
@click.option(
    "--edition",
    "held",
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
    held: tuple[str, ...],
    scenarios: tuple[str, ...],
    draws: int,
    seed: int,
    as_json: bool,
) -> None:
    """Fetch described tables anew, and say what changed in them and how far every forecast moves by it.

    By default all tables that are downloaded are fetched as `tables fetch --update` does. NAME@earlier (or
    NAME@sha256:...) fetches nothing: it compares the table with what it was. --file tries a file in the place of a
    table, a shipped one too, and keeps nothing; PATH may be another description, datapackage.json or its folder.
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
    from forecast.contract.registry import get_registry
    from forecast.errors import ForecastError

    registry = get_registry()
    asked = list(_asked(names, files, held))
    run = [registry.find("scenario", s).full_name if not _is_file(s) else s for s in scenarios]
    rows: list[dict[str, Any]] = []
    changed: list[Changed] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for one in asked:
            row = _row(one.name)
            try:
                edition = _edition(one, row)
                if edition is not None and _compare(edition, row):
                    changed.append(edition)
            except ForecastError as error:
                row |= {"state": "failed", "error": str(error)}
            rows.append(row)
        with render.progress("running scenarios") as report:
            todo = (run or registry.names("scenario")) if changed else []
            moved = moves(todo, changed, draws=draws, seed=seed, report=report)
    result = {"headline": _headline(rows, moved), "tables": rows, "scenarios": moved}
    failed = [row["name"] for row in rows if row["error"]] + [row["scenario"] for row in moved if row["error"]]
    render.emit(
        result,
        json=as_json,
        command=COMMAND,
        text=lambda: _text(result),
        warnings=list(dict.fromkeys(str(warning.message) for warning in caught)),
        provenance=render.provenance(
            [r.plugin for r in registry.records("table") if r.full_name in {row["name"] for row in rows}],
            computed=bool(moved), draws=draws, seed=seed,
            data={row["name"]: {"before": row["before"], "after": row["after"]} for row in rows},
        ),
    )  # fmt: skip
    if failed:
        ctx.exit(1)


def _is_file(name: str) -> bool:
    return name.lower().endswith(".toml")


# --- what is asked for ------------------------------------------------------------------------------------------------


def _asked(names: Sequence[str], files: Sequence[str], held: Sequence[str]) -> Iterator[_Asked]:
    """Walk the tables that are asked for, each once: those that are named or tried, else all described."""
    from forecast import tables
    from forecast.contract.registry import get_registry
    from forecast.errors import UsageError, printable
    from forecast.tables import editions
    from forecast.tables.schema import descriptor

    seen: set[Path] = set()

    def package(name: str) -> Package:
        path = tables.descriptor_of(name)
        if path in seen:
            raise UsageError(f"table '{printable(name, 80)}' is named twice")
        seen.add(path)
        return descriptor.read(path)

    for text in files:
        name, equals, path = text.partition("=")
        if not equals or not name.strip() or not path:
            raise UsageError(f"--file: expected NAME=PATH, got '{printable(text, 80)}'")
        table, _, resource = name.strip().partition(":")
        one, where = package(table), f"--file {printable(name, 80)}"
        yield _Asked(name=_full(one, table), package=one, tried=editions.tried(one, path, resource, where=where))
    for text in held:
        name, equals, other = text.partition("=")
        table, colon, this = name.strip().rpartition(":")
        if not (equals and colon and table and this and other.strip()):
            raise UsageError(f"--edition: expected NAME:THIS=OTHER, got '{printable(text, 80)}'")
        one, where = package(table), f"--edition {printable(name, 80)}"
        yield _Asked(name=_full(one, table), package=one, tried=editions.held(one, this, other.strip(), where=where))
    for text in names:
        name, at, which = text.rpartition("@")
        if at and (which == "earlier" or which.startswith("sha256:")):
            yield _Asked(name=_full(one := package(name), name), package=one, earlier=which)
            continue
        one = package(text)
        if not any(resource.remote for resource in one.resources):
            raise UsageError(
                f"table '{printable(one.name, 80)}' is shipped: there is nothing to fetch; "
                f"to try a file in its place: --file {printable(text, 80)}=PATH"
            )
        yield _Asked(name=_full(one, text), package=one)
    if not (names or files or held):
        for record in get_registry().records("table"):
            one = descriptor.read(Path(record.spec.descriptor))  # type: ignore[attr-defined]
            if any(resource.remote for resource in one.resources):
                yield _Asked(name=record.full_name, package=one)


def _full(package: Package, name: str) -> str:
    """Return the registered name of a table, or how it was called."""
    from forecast.contract.registry import get_registry

    records = get_registry().records("table")
    return next((r.full_name for r in records if getattr(r.spec, "descriptor", "") == str(package.file)), name)


# --- what changed -----------------------------------------------------------------------------------------------------


def _row(name: str) -> dict[str, Any]:
    return {"name": name, "state": "", "before": None, "after": None, "difference": None, "parts": [], "error": None}


def _edition(asked: _Asked, row: dict[str, Any]) -> Changed | None:
    """Return the editions of a table to compare, fetching it where that is asked; None where nothing is another."""
    from forecast.cli.catalogue.fetch import fetched
    from forecast.tables import editions
    from forecast.tables.editions import Edition

    package = asked.package
    about: dict[str, Any] = {"name": asked.name, "descriptor": package.file}
    if asked.tried is not None:
        instead = asked.tried.instead
        row["state"] = f"{instead[1]} in the place of {instead[0]}, " if instead else "tried, "
        row["state"] += "nothing is kept"
        return Changed(**about, before=None, after=asked.tried)
    if asked.earlier:
        row["state"] = f"compared with {asked.earlier}"
        return Changed(**about, before=editions.earlier(package, asked.earlier), after=None)
    with access.allow(downloads=True):  # for what is asked for, and for nothing that a scenario reads besides
        files = [fetched(package, resource, True, None, None) for resource in package.resources if resource.remote]
    row["state"] = "; ".join(dict.fromkeys(file["state"] for file in files))
    pinned = {file["name"]: file["before"]["hash"] for file in files if file["before"]}
    return Changed(**about, before=Edition(package=package, pinned=pinned), after=None) if pinned else None


def _compare(changed: Changed, row: dict[str, Any]) -> bool:
    """Say of a table what changed, and tell whether anything did."""
    from forecast.tables import diff as differing
    from forecast.tables.editions import standing

    versions = []
    for edition in (changed.before, changed.after):
        with standing({} if edition is None else {changed.descriptor: edition}):
            versions.append(differing.read(changed.descriptor))
    before, after = versions
    instead = changed.after.instead if changed.after else None
    parts = differing.compare(*(instead and differing.held(before, *instead)) or versions)
    row |= {"before": before.hash, "after": after.hash, "parts": [diff.plain(part) for part in parts]}
    if changed.after and instead:  # one file on both sides
        row["after"] = changed.after.hash
    row["difference"] = diff.headline(parts, None).removesuffix(".")
    return bool(row["before"] != row["after"])


# --- what is said -----------------------------------------------------------------------------------------------------


def _headline(rows: Sequence[Mapping[str, Any]], moved: Sequence[Mapping[str, Any]]) -> str:
    changed = [row["name"] for row in rows if row["difference"] and row["before"] != row["after"]]
    failed = [row["name"] for row in rows if row["error"]]
    told = [f"{len(rows)} table{'s' * (len(rows) != 1)}: {len(changed)} changed"]
    told += [f"{len(failed)} could not be had"] if failed else []
    if changed:
        count = sum(any(answer["moved"] for answer in row["answers"]) for row in moved)
        told.append(f"{count} of {len(moved)} scenario{'s' * (len(moved) != 1)} moved")
    return f"{', '.join(told)}."


def _text(result: Mapping[str, Any]) -> None:
    render.headline(result["headline"])
    for row in result["tables"]:
        told = f"failed: {row['error']}" if row["error"] else "; ".join(filter(None, [row["state"], row["difference"]]))
        render.verbatim(f"{row['name']}: {told}")
    tables = {row["name"]: row for row in result["tables"]}
    still: list[str] = []
    apart: list[str] = []
    for row in result["scenarios"]:
        changed = [answer for answer in row["answers"] if answer["moved"]]
        if row["error"]:
            render.verbatim(f"{row['scenario']}: failed: {row['error']}")
        elif changed:
            render.write()
            for line in _moved(row, changed, tables):
                render.verbatim(line)
        else:
            (still if row["rests_on"] else apart).append(row["scenario"])
    if still or apart:
        render.write()
    if still:
        render.verbatim(f"rest on what changed, and did not move: {', '.join(still)}")
    if apart:
        render.verbatim(f"rest on nothing that changed: {', '.join(apart)}")


def _moved(
    row: Mapping[str, Any], changed: Sequence[Mapping[str, Any]], tables: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """Say how a forecast moved and because of what; then how its other answers did, the largest moves first."""
    first, *others = changed
    yield f"{row['scenario']}: {_about(first)}: the forecast moved {_step(first)}, because {_because(row, tables)}."
    for name, answers in row["alone"].items():
        same = next((each for each in answers if _about(each) == _about(first)), None)
        yield f"  {name} alone moves it {_step(same)}" if same else f"  {name} alone does not move it"
    others.sort(key=_size, reverse=True)
    for answer in others[:_MOST_ANSWERS]:
        about = _about(answer)
        yield f"  {about.removeprefix(first['title']).lstrip(', ') or about}: {_step(answer)}"
    if len(others) > _MOST_ANSWERS:
        yield f"  … and {len(others) - _MOST_ANSWERS} more of {len(row['answers'])} answers (--json lists all)"


def _because(row: Mapping[str, Any], tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Name the tables that changed, the first of the rows that did, and how far each table reaches."""
    told = []
    for reach in row["newest"]:
        rows = [_rows(kind, tables[reach["table"]]["parts"]) for kind in ("added", "removed", "changed")]
        text = f"{reach['table']} has {', '.join(filter(None, rows)) or 'other columns'}"
        then, now = reach["before"], reach["after"]
        if then and now:
            text += f"; its newest datum is of {now}" + (f", it was of {then}" if then != now else " as before")
        told.append(text)
    return "; ".join(told)


def _rows(kind: str, parts: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(entry["name"] for part in parts for entry in part[kind]))
    if not names:
        return ""
    shown = "; ".join(names[:_MOST_ROWS]) + (" …" if len(names) > _MOST_ROWS else "")
    return f"{len(names)} row{'s' * (len(names) != 1)} {kind} ({shown})"


def _about(answer: Mapping[str, Any]) -> str:
    at = f" ({answer['at']})" if answer["at"] else ""
    return f"{answer['title']}{at}" + "".join(f", {name} = {value}" for name, value in answer["choices"].items())


def _step(answer: Mapping[str, Any]) -> str:
    sides = (_side(answer[side], answer["unit"]) for side in ("before", "after"))
    return f"from {' to '.join(sides)}{_by(answer)}"


def _side(figures: Mapping[str, Any] | None, unit: str) -> str:
    if figures is None:
        return "nothing"  # a value of a choice that one edition does not have
    if "never" in figures:
        if figures["never"] is None:
            return "no answer"
        low, middle, high = (_day(figures, q) for q in ("p05", "p50", "p95"))
        return f"{middle} (90 %: {low} to {high}, never {figures['never']:.1%})"
    if "best" in figures:
        return f"{figures['best']} (best in {figures['first']:.1%})"
    if "p50" in figures:
        if figures["p50"] is None:
            return "no answer"
        unit = f" {unit}" if unit else ""
        return f"{figures['p50']:.4g}{unit} (90 %: {figures['p05']:.3g} to {figures['p95']:.3g})"
    return "no answer" if figures.get("first") is None else f"{figures['first']:.1%}"


def _day(crossing: Mapping[str, Any], quantile: str) -> str:
    from forecast.projection.crossing import QUANTILES

    if crossing[quantile] is None:
        return "never"
    return "already" if crossing["already"] >= QUANTILES[quantile] else str(crossing[quantile])[:7]


def _medians(answer: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the medians of both sides, dates as years; None where one has none, or they are of different things."""
    import numpy as np

    from forecast.base.dates import decimal_year

    sides = [answer[side] or {} for side in ("before", "after")]
    was, now = (side.get("p50") for side in sides)
    if was is None or now is None or sides[0].get("best") != sides[1].get("best"):
        return None
    if answer["unit"] != "date":
        return was, now
    then, later = decimal_year(np.array([was, now], dtype="datetime64[s]"))
    return float(then), float(later)


def _size(answer: Mapping[str, Any]) -> float:
    """Return how far a median went, to sort by: years, or the logarithm of a ratio; what has no median comes last."""
    pair = _medians(answer)
    if pair is None:
        return -1.0
    if answer["unit"] == "date":
        return abs(pair[1] - pair[0])
    return abs(math.log(pair[1] / pair[0])) if min(pair) > 0 else abs(pair[1] - pair[0])


def _by(answer: Mapping[str, Any]) -> str:
    """Say how far the median went, where it has gone some way."""
    pair = _medians(answer)
    if pair is None or pair[0] == pair[1]:
        return ""
    was, now = pair
    if answer["unit"] == "date":
        size = abs(now - was)
        return f", {f'{size:.1f}' if size >= 0.05 else 'less than 0.05'} years {'later' if now > was else 'earlier'}"
    return f", {100 * (now / was - 1):+.2g} %" if was > 0 else ""
