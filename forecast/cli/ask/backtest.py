"""``forecast backtest``: what would have been said in the past, against what then happened."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from forecast.cli import render
from forecast.cli.allowed import access_options
from forecast.cli.catalogue.listing import json_option
from forecast.errors import ForecastError, UsageError, printable

if TYPE_CHECKING:
    import xarray as xr

    from forecast.models import Model
    from forecast.tables.columns import Columns

__all__ = ["backtest"]

COMMAND = "backtest"
#: What to test: the name of each series, its models, and why others could not be made.
Asked = list[tuple[str, "dict[str, Model]", dict[str, str]]]


@click.command()
@click.argument("subject", metavar="X")
@click.option("--x", metavar="COLUMN", help="Of a file: its dates, or decimal years.")
@click.option("--y", metavar="COLUMN", help="Of a file: its values.")
@click.option("--by", metavar="COLUMN", help="Of a file: a series for each value of this column.")
@click.option("--frontier", is_flag=True, help="Of a file: the values are a running maximum.")
@click.option("--records", is_flag=True, help="Of a file: only the rows that set a record count.")
@click.option("--where", multiple=True, metavar="CONDITION", help='Rows of a file: "year > 1990", "kind is dense".')
@click.option("--shape", "shapes", multiple=True, metavar="SHAPE", help="Only this shape, and what it must beat.")
@click.option("--score", "scores", multiple=True, metavar="NAME", help="One more score: crps, or that of a plugin.")
@click.option("--years", type=float, default=10.0, show_default=True, metavar="N", help="How far ahead.")
@click.option("--origins", type=click.IntRange(1), default=6, show_default=True, metavar="N", help="At most so many.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds give equal numbers.")
@click.option("--workers", type=int, default=1, show_default=True, metavar="N", help="Processes; the result is equal.")
@access_options
@json_option
def backtest(
    subject: str,
    x: str | None,
    y: str | None,
    by: str | None,
    frontier: bool,
    records: bool,
    where: tuple[str, ...],
    shapes: tuple[str, ...],
    scores: tuple[str, ...],
    years: float,
    origins: int,
    seed: int,
    workers: int,
    as_json: bool,
) -> None:
    """Say how forecasts of X would have done: a series, SERIES@SHAPE, a model, a scenario, or a .csv file.

    At most six dates in the past, each with eight dates and 40 % of the span behind it, are taken as the present: every
    shape is fitted to what was known, and its forecasts of observations are scored against what happened within ten
    years. Of a scenario it tests every series that its quantities rest on. A score is the weighted interval score of
    the natural logarithm: 0.1 is about ten per cent off; "held" is the share of 90 % intervals that held.

    \b
    forecast backtest hardware/linpack
    forecast backtest hardware/linpack@damped-trend --json
    forecast backtest brain-parity --workers 2
    forecast backtest costs.csv --x year --y cost --by technology
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.evaluation import rolling

    given = {"--x": x, "--y": y, "--by": by, "--frontier": frontier, "--records": records, "--where": where}
    is_file = Path(subject).suffix.lower() in (".csv", ".parquet", ".pq")
    source: dict[str, str] = {}
    if is_file:
        asked, source = _of_file(subject, x, y, by, frontier, records, where, shapes)
    else:
        if stated := [option for option, value in given.items() if value]:
            raise UsageError(f"{', '.join(stated)}: only of a file: '{printable(subject, 60)}' says its own")
        asked = _of_name(subject, shapes)
    found: list[xr.Dataset] = []
    skipped: list[str] = []
    options: dict[str, Any] = {"scores": (*rolling.DEFAULT, *scores), "most_origins": origins, "years": years}
    with render.progress("forecasting") as report:
        for i, (name, models, _) in enumerate(asked):

            def told(done: int, total: int, before: int = i) -> None:
                report(before + done / total, len(asked))

            try:
                made = rolling.backtest(models, name=name, **options, seed=seed, workers=workers, progress=told)
                found.append(made)
            except ForecastError as problem:
                if len(asked) == 1:
                    raise
                skipped.append(str(problem))
    if not found:
        raise ForecastError(f"no series could be tested; the first: {skipped[0]}")
    rows = rolling.summary(found)
    refused = {label: why for _, _, reasons in asked for label, why in reasons.items()}
    refused |= rolling.unfitted(found)
    result = {
        "subject": printable(Path(subject).name if is_file else subject, 200),
        "headline": _headline(rows, found),
        "models": rows,
        "series": [str(each.attrs["name"]) for each in found],
        "refused": [{"name": label, "reason": why} for label, why in refused.items()],
    }
    render.emit(
        result, json=as_json, command=COMMAND, text=partial(_text, result), warnings=skipped,
        provenance=render.provenance(computed=True, seed=seed, data=source),
    )  # fmt: skip


def _of_name(subject: str, shapes: tuple[str, ...]) -> Asked:
    """Return the series of a scenario, or the one that a model's name stands for."""
    from forecast.contract.registry import get_registry
    from forecast.evaluation import rolling

    registry = get_registry()
    toml = Path(subject).suffix.lower() == ".toml"
    series, _, _ = subject.partition("@")
    scenario = toml or any(series in (full, full.rpartition("/")[2]) for full in registry.names("scenario"))
    return [(name, *rolling.of_name(name, shapes)) for name in (rolling.series_of(subject) if scenario else [subject])]


def _of_file(
    path: str,
    x: str | None,
    y: str | None,
    by: str | None,
    frontier: bool,
    records: bool,
    where: tuple[str, ...],
    shapes: tuple[str, ...],
) -> tuple[Asked, dict[str, str]]:
    """Return the series of a file, and its hash."""
    import numpy as np

    from forecast.cli.fit.asked import data_of, kept

    if x is None or y is None:
        raise UsageError(f"{printable(Path(path).name, 60)}: a file needs --x and --y: its dates and its values")
    columns, source = data_of(path, COMMAND)
    rows, _ = kept(columns, where)
    if by is None:
        return [_series(Path(path).stem, rows, x, y, frontier, records, shapes)], source
    groups = rows.column(by)
    made = []
    for value in np.unique(groups[groups != ""] if groups.dtype.kind == "U" else groups):
        part = rows.take(groups == value)
        made.append(_series(str(value), part, x, y, frontier, records, shapes))
    return made, source


def _series(
    name: str, rows: Columns, x: str, y: str, frontier: bool, records: bool, shapes: tuple[str, ...]
) -> tuple[str, dict[str, Model], dict[str, str]]:
    """Return a series of a file with every shape; rows without a value or in no order of dates are no hindrance."""
    import forecast
    from forecast.evaluation import rolling

    data = {column: rows.column(column) for column in dict.fromkeys((x, y))}

    def made(shape: Any) -> Model:
        return forecast.trend(data, shape=shape, x=x, y=y, unit="", frontier=frontier, records=records, name=name)

    return (name, *rolling.rivals(made, shapes))


def _headline(rows: list[dict[str, Any]], found: list[xr.Dataset]) -> str:
    """Say in a sentence what did best, how good that is, and how often its intervals held."""
    from forecast.evaluation.origins import REFERENCES

    rivals = [row for row in rows if row["model"] not in REFERENCES]
    if not rivals:
        return "No model could be fitted to the past of any series."
    most = max(row["forecasts"] for row in rivals)
    best = next(row for row in rivals if row["forecasts"] == most)
    of = f" of {len(found)} series" if len(found) > 1 else ""
    sentence = (
        f"Of {best['forecasts']} forecasts{of} from {best['origins']} dates in the past, those of {best['model']} were "
        f"best: a score of {best['weighted-interval']:.3g}, and {best['coverage']:.0%} of its 90 % intervals held"
    )
    beaten = best.get("skill_last_value")
    if beaten is None:
        return sentence + "."
    return f"{sentence}; {abs(beaten):.0%} {'better' if beaten > 0 else 'worse'} than the last value."


def _text(result: dict[str, Any]) -> None:
    import math

    render.headline(result["headline"])
    shown = []
    known = {"model", "series", "origins", "forecasts", "weighted-interval", "coverage", "width", "pit"}
    more = sorted({key for row in result["models"] for key in row} - known - {"skill_last_value", "skill_drift"})
    for row in result["models"]:
        cells = [row["model"], row["forecasts"], f"{row['weighted-interval']:.3g}", f"{row['coverage']:.0%}"]
        cells += [f"×{math.exp(min(row['width'] / 2, 600)):.3g}"]
        cells += [f"{row[key]:+.0%}" if key in row else "" for key in ("skill_last_value", "skill_drift")]
        shown.append([*cells, *(f"{row[key]:.3g}" if key in row else "" for key in more)])
    columns = ["model", "forecasts", "score", "held", "90 % within", "over last value", "over drift", *more]
    render.table(columns, shown)
    if result["refused"]:
        render.write()
        names = ", ".join(each["name"] for each in result["refused"])
        render.write(f"Not fitted everywhere (--json says why): {names}")
