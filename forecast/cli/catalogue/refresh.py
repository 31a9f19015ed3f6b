"""``forecast tables refresh``: what is described is fetched anew, and what changed says how far the forecasts move."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import click

from forecast.cli import completion, render
from forecast.cli.catalogue.listing import json_option
from forecast.cli.reading_options import access_options
from forecast.errors import UsageError, printable

__all__ = ["refresh"]


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
    from forecast.cli.catalogue import change_output
    from forecast.cli.catalogue.labelled_answers import labelled_answers
    from forecast.contract.registry import get_registry
    from forecast.evaluation import table_changes

    registry = get_registry()
    requests = table_changes.table_requests(names, _parse_files(files), _parse_substitutes(substitutes))
    chosen = [registry.find("scenario", s).full_name if not s.lower().endswith(".toml") else s for s in scenarios]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        refreshed = table_changes.refresh(
            requests,
            chosen or registry.names("scenario"),
            read_answers=labelled_answers,
            draws=draws,
            seed=seed,
            progress=render.progress_bar,
        )
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


def _parse_files(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Read ``NAME=PATH``."""
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not name.strip() or not path:
            raise UsageError(f"--file: expected NAME=PATH, got '{printable(text, 80)}'")
        yield name.strip(), path


def _parse_substitutes(texts: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Read ``NAME:THIS=OTHER``."""
    for text in texts:
        name, _, other = text.partition("=")
        table, _, this = name.strip().rpartition(":")
        if not (table and this and other.strip()):
            raise UsageError(f"--edition: expected NAME:THIS=OTHER, got '{printable(text, 80)}'")
        yield table, this, other.strip()
