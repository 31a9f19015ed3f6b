"""``forecast backtest``: what would have been said in the past, against what then happened.

With ``--whole`` it is a scenario as it would have spoken at several dates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from forecast.base.lazy import xr
from forecast.cli import render
from forecast.cli.catalogue.listing import json_option
from forecast.cli.fit import fit_arguments
from forecast.cli.output_files import (
    TABLE_SUFFIXES,
    check_outputs,
    columns_of,
    emit_files,
    out_option,
    plot_option,
    reject_options,
    stated_options,
)
from forecast.cli.reading_options import access_options, reading_options, reduce_option
from forecast.errors import ForecastError, UsageError, printable
from forecast.evaluation.whole import scenario_scores as scores

if TYPE_CHECKING:
    from forecast.contract.registry import Plugin
    from forecast.laws import Law
    from forecast.models import Model
    from forecast.tables.columns import Columns


def whole(subject: str, options: Mapping[str, Any], *, draws: int, seed: int, out: str | None, as_json: bool) -> None:
    """Run the scenario as of each date, score it, and write the answer."""
    from forecast.cli.ask.run import parse_key_values, parse_past_year
    from forecast.contract.registry import get_registry
    from forecast.evaluation.whole.scenario_backtest import backtest_scenario

    is_file = subject.lower().endswith(".toml")
    with render.progress_bar("projecting") as report:
        found = backtest_scenario(
            Path(subject) if is_file else subject,
            vintages=[parse_past_year(text, "--vintage") for text in options["vintages"]],
            quantities=options["quantities"],
            scales=parse_key_values(options["scales"], "--scale"),
            with_=parse_key_values(options["settings"], "--set"),
            draws=draws,
            seed=seed,
            progress=report,
        )
    if not found.sentence:
        raise UsageError(
            f"{printable(subject, 60)}: nothing is known of what it said at these dates, or it said nothing"
        )
    rows, plugins = scores.forecast_rows(found), [] if is_file else [get_registry().find("scenario", subject).plugin]
    result = {
        "subject": printable(Path(subject).name, 200),
        "headline": found.sentence,
        "quantities": scores.quantity_scores(found, by_ahead=True),
        "forecasts": rows,
        "published": found.attrs["published"],
        "limits": scores.limitation_lines(found),
        "refused": [
            {"name": name, "reason": f"{when}: {why}"}
            for name, told in found.attrs["failures"].items()
            for when, why in told.items()
        ],
    }
    emit_files(
        result,
        text=lambda: _print_scenario_backtest(result, found),
        table=lambda: columns_of(rows),
        files=(out,),
        as_json=as_json,
        provenance=render.provenance(plugins, computed=True, seed=seed, draws=draws),
    )


def _print_scenario_backtest(result: Mapping[str, Any], found: xr.Dataset) -> None:
    own = str(found["model"].values[0])
    render.write_headline(result["headline"])
    total = {(row["quantity"], row["model"]): row for row in result["quantities"] if row["ahead"] is None}
    names = [name for name, model in total if model == own]
    heads = ["quantity", "scored in", "forecasts", "50 % held", "90 % held", "90 % wide", "score"]
    render.write_table(heads, [_score_cells(total[name, own]) for name in names])
    render.write()
    render.prose("By what share the score is better than a rival's, on the rows that both forecast.")
    rows = [[name, *(_over(total.get((name, rival))) for rival in scores.RIVALS)] for name in names]
    render.write_table(["quantity", *scores.RIVALS], rows)
    render.write()
    render.prose("By months ahead: 90 % intervals that held, of so many, and the score.")
    apart = {(row["quantity"], row["ahead"]): row for row in result["quantities"] if row["model"] == own}
    ahead = [float(each) for each in found["ahead"].values]
    render.write_table(
        ["quantity", *(f"{12 * years:g}" for years in ahead)],
        [[name, *(_ahead(apart.get((name, years))) for years in ahead)] for name in names],
    )
    published = [row for (_, model), row in total.items() if model in result["published"] and row["both"]]
    if published:
        render.write()
        render.prose("Published models, from the day they appeared:")
        heads = ["model", "of", "quantity", "forecasts", "90 % held", "score", "the scenario's there"]
        render.write_table(
            heads, [[row["model"], result["published"][row["model"]], *_published_cells(row)] for row in published]
        )
    render.write()
    render.prose(
        "A score is the weighted interval score of the median and the 50 and 90 % intervals: 0 is perfect. It and the "
        "widths are in powers of ten (log10), doublings (log2), or the unit that is named."
    )
    for line in result["limits"]:
        render.prose(f"- {line[:1].upper()}{line[1:]}.")
    if result["refused"]:
        render.prose(f"- {len(result['refused'])} times no forecast could be made (--json says which, and why).")


def _score_cells(row: Mapping[str, Any]) -> list[Any]:
    shares = (f"{100 * row[key]:.0f} %" for key in ("half", "held"))
    unit = scores.unit_text(row) if row["scale"] == "unit" else row["scale"]
    return [row["quantity"], unit, row["forecasts"], *shares, f"{row['width']:.3g}", f"{row['score']:.2g}"]


def _published_cells(row: Mapping[str, Any]) -> list[Any]:
    covered = f"{100 * row['held']:.0f} %" if row["width"] > 0 else "no interval"
    return [row["quantity"], row["both"], covered, f"{row['mine']:.2g}", f"{row['beside']:.2g}"]


def _over(row: Mapping[str, Any] | None) -> str:
    return f"{100 * (1 - row['beside'] / row['mine']):+.0f} %" if row and row["mine"] else ""


def _ahead(row: Mapping[str, Any] | None) -> str:
    return f"{round(row['held'] * row['forecasts'])} of {row['forecasts']}, {row['score']:.2g}" if row else ""


#: What to test: the name of each series, its backtest, and why some models could not be made.
_MAX_BRIER_SCORES = 4
#: Where a value comes from that somebody typed.
_TYPED = click.core.ParameterSource.COMMANDLINE
Tests = list[tuple[str, "Callable[..., xr.Dataset]", dict[str, str]]]


@click.command()
@click.argument("subject", metavar="X")
@click.option("--x", metavar="COLUMN", help="File: the column of dates, or of decimal years.")
@click.option("--y", metavar="COLUMN", help="File: the column of values, or what the law explains.")
@click.option("--by", metavar="COLUMN", help="File: a series or curve for each value of this column.")
@click.option("--data", metavar="TABLE|FILE", help="Law: what it is fitted to.")
@click.option("--along", metavar="FORMULA", help="Law: what goes from small to large.  [default: 1st variable]")
@click.option("--leave-out", metavar="COLUMN", help="Law: forecast each group from all others.")
@click.option("--law", "laws", multiple=True, metavar="LAW", help="Try this law too; may be given again.")
@click.option("--let", multiple=True, metavar='"N = FORMULA"', help="Law: a variable as a formula over columns.")
@click.option("--variables", multiple=True, metavar="NAMES", help="Law given as a formula: its variables, x or N,D.")
@click.option(
    "--objective", metavar="NAME", help="Law: what is minimised.  [default: least squares of logs, where y is positive]"
)
@click.option("--frontier", is_flag=True, help="File: the values are a running maximum.")
@click.option("--frontier-rows", "records", is_flag=True, help="File: count only the rows that set a record.")
@click.option("--where", multiple=True, metavar="CONDITION", help='Rows of a file: "year > 1990", "kind is dense".')
@reduce_option
@reading_options
@click.option("--shape", "shapes", multiple=True, metavar="SHAPE", help="Only this shape, beside what it must beat.")
@click.option("--score", "scores", multiple=True, metavar="NAME", help="Add a score: crps, or one of a plugin.")
@click.option("--crossings", is_flag=True, help="Series: also how often levels were reached by a date, as stated.")
@click.option("--years", type=float, metavar="N", help="Series: years ahead.  [default: 10]")
@click.option(
    "--origins",
    type=click.IntRange(1),
    default=6,
    show_default=True,
    metavar="N",
    help="Most dates in the past to forecast from.",
)
@click.option("--whole", is_flag=True, help="Scenario: test the whole of it, and not its series.")
@click.option(
    "--vintage", "vintages", multiple=True, metavar="DATE", help="Whole: as of this date; may be given again."
)
@click.option("--quantity", "quantities", multiple=True, metavar="NAME", help="Whole: only this; may be given again.")
@click.option("--scale", "scales", multiple=True, metavar="NAME=SCALE", help="Whole: score it in log10, log2 or unit.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Whole: a choice or number of the scenario."
)
@click.option("--draws", type=click.IntRange(100, 10_000), metavar="N", help="Whole: worlds.  [default: 1024]")
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Equal seeds give equal numbers.")
@click.option(
    "--workers", type=int, default=1, show_default=True, metavar="N", help="Processes; the result is the same."
)
@out_option(TABLE_SUFFIXES, "Write the scores.")
@plot_option
@access_options
@json_option
@click.pass_context
def backtest(
    ctx: click.Context,
    /,
    subject: str,
    reading: dict[str, Any],
    origins: int,
    seed: int,
    workers: int,
    out: str | None,
    plots: tuple[str, ...],
    as_json: bool,
    **options: Any,
) -> None:
    """Test forecasts of X on the past: of a series, SERIES@SHAPE, a model, a scenario, a law, or a file.

    At most six dates in the past, each with eight dates and 40 % of the span behind it, are taken as the present: every
    shape is fitted to what was known, and its forecasts of observations are scored against what happened within ten
    years. Of a scenario it tests every series that its quantities rest on. A score is the weighted interval score of
    the natural logarithm: 0.1 is about ten per cent off; "held" is the share of 90 % intervals that held.

    A law (with --data) is fitted to the lowest points, at least eight places and 40 % of them, and its forecasts of the
    others are scored in the same way; --leave-out takes each group as what is to come. A file with --along is tried
    with the laws of learning curves, or with those that --law names.

    With --whole a scenario is run as of at most seven dates, each half a year after the one before, and each of its
    quantities that is observed is scored 6, 12 and 24 months ahead, beside rivals on the same rows: the quantity's own
    trend, forecast extrapolate, the last value, and published models that had appeared.

    \b
    forecast backtest hardware/linpack --plot record.svg
    forecast backtest hardware/linpack@damped-trend --json
    forecast backtest brain-parity --workers 2
    forecast backtest chain --whole --quantity index --vintage 2026-01-01
    forecast backtest costs.csv:cost --by technology
    forecast backtest chinchilla --data runs.csv --let "N = params" --let "D = tokens" --y loss --along "6*N*D"
    forecast backtest curves.csv --along steps --y loss --by run
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast import tables
    from forecast.evaluation import rolling_origin
    from forecast.report.figures.fit_figure import plot_backtest
    from forecast.scenarios.question_text import split_file_column

    data, along, years = options["data"], options["along"], options["years"]
    check_outputs(plots, {"X": subject, "--data": data}, out=out)
    of_file = stated_options(ctx, "x", "y", "by", "frontier", "records", "where", "rule")
    of_laws = stated_options(ctx, "data", "along", "leave_out", "laws", "let", "variables", "objective")
    if (parts := split_file_column(subject))[1]:
        subject, options["y"] = parts
    is_file = tables.is_plain_file(subject) and "@" not in subject
    if options["whole"]:
        if is_file:
            raise UsageError(f"X: expected a scenario to test as a --whole, got the file '{printable(subject, 60)}'")
        typed = [n for n in ("origins", "workers") if ctx.get_parameter_source(n) is _TYPED]
        beside = stated_options(ctx, "shapes", "scores", "crossings", "years", "plots", *typed)
        reject_options({**of_file, **of_laws, **beside}, "not of a scenario that is tested as a --whole")
        whole(subject, options, draws=options["draws"] or 1024, seed=seed, out=out, as_json=as_json)
        return
    of_whole = stated_options(ctx, "vintages", "quantities", "scales", "settings", "draws")
    reject_options(of_whole, "only of a scenario that is tested as a --whole")
    source: dict[str, str] = {}
    plugins: list[Plugin] = []
    notes: list[str] = []
    read = ""
    if data is not None or (is_file and (along is not None or options["laws"])):
        of_series = stated_options(ctx, "x", "frontier", "records", "shapes", "years", "crossings", "rule")
        reject_options(of_series, "only of a series: laws go --along a column")
        if data is not None and is_file:
            raise UsageError(f"X: expected a law to fit to --data, got the file '{printable(subject, 60)}'")
        named = options["laws"] if is_file else (subject, *options["laws"])
        rivals, plugins = _select_laws(named, options["variables"])
        tests, source, notes, read = _curves_of_file(rivals, subject if is_file else str(data), options, reading)
    else:
        reject_options(of_laws, "only of a law: forecast backtest LAW --data FILE, or FILE --along COLUMN")
        ahead = 10.0 if years is None else years
        if is_file:
            tests, source, read = _series_of_file(subject, options, ahead, reading)
        else:
            reject_options(of_file, f"only of a file: '{printable(subject, 60)}' says its own")
            tests = _series_of_name(subject, options["shapes"], ahead)
    found: list[xr.Dataset] = []
    skipped: list[str] = []
    how: dict[str, Any] = {"scores": (*rolling_origin.DEFAULT_SCORES, *options["scores"]), "most_origins": origins}
    if options["crossings"]:
        how["crossings"] = True
    with render.progress_bar("forecasting") as report:
        for i, (name, tested, _) in enumerate(tests):

            def told(done: int, total: int, before: int = i) -> None:
                report(before + done / total, len(tests))

            try:
                found.append(tested(name=name, **how, seed=seed, workers=workers, progress=told))
            except ForecastError as problem:
                if len(tests) == 1:
                    raise
                skipped.append(str(problem))
    if not found:
        raise ForecastError(f"no series could be tested; the first: {skipped[0]}")
    rows = rolling_origin.score_rows(found)
    refused = {label: why for _, _, reasons in tests for label, why in reasons.items()}
    refused |= rolling_origin.fit_failures(found)
    result = {
        "subject": printable(Path(subject).name if is_file else subject, 200),
        "headline": rolling_origin.best_model_sentence(rows, found),
        "models": rows,
        "series": [str(each.attrs["name"]) for each in found],
        **({"crossings": _crossing_rows(rows, found)} if options["crossings"] else {}),
        "refused": [{"name": label, "reason": why} for label, why in refused.items()],
    }
    emit_files(
        result,
        text=partial(_print_backtest, result),
        table=partial(columns_of, rows),
        draw=partial(plot_backtest, result),
        files=(out,),
        plots=plots,
        as_json=as_json,
        read=[read],
        warnings=[*notes, *skipped],
        provenance=render.provenance(plugins, computed=True, seed=seed, data=source),
    )


def _series_of_name(subject: str, shapes: tuple[str, ...], years: float) -> Tests:
    """Return the series of a scenario, or the one that a model's name stands for."""
    from forecast.contract.registry import get_registry
    from forecast.evaluation import rolling_origin

    registry = get_registry()
    toml = Path(subject).suffix.lower() == ".toml"
    scenario = toml or any(subject in (full, full.partition("/")[2]) for full in registry.names("scenario"))
    names = rolling_origin.series_of(subject) if scenario else [subject]
    return [_with_shapes(name, *rolling_origin.of_name(name, shapes), years) for name in names]


def _with_shapes(name: str, models: dict[str, Model], refused: dict[str, str], years: float) -> Any:
    from forecast.evaluation import rolling_origin

    return name, partial(rolling_origin.backtest, models, years=years), refused


def _series_of_file(
    path: str, options: Mapping[str, Any], years: float, reading: dict[str, Any]
) -> tuple[Tests, dict[str, str], str]:
    """Return the series of a file, and its hash."""
    from forecast.evaluation import rolling_origin
    from forecast.scenarios.question_text import find_date_column
    from forecast.tables.column_names import unquoted
    from forecast.tables.series import complete

    columns, source = fit_arguments.data_of(path, "backtest", reading)
    rows, _ = fit_arguments.write_outputs(columns, options["where"])
    x = options["x"] or find_date_column(rows, rows.label)
    rows = complete(rows, [unquoted(name, rows) for name in (x, options["y"]) if name], "backtest")
    parts = _rows_by_group(rows, options["by"], Path(path).stem)
    kept = {"x": x, **{key: options[key] for key in ("y", "shapes", "frontier", "records")}}
    kept["rule"] = options["rule"] or ""
    tests = [_with_shapes(name, *rolling_origin.of_column(part, name=name, **kept), years) for name, part in parts]
    return tests, source, rows.notes.line()


def _rows_by_group(rows: Columns, by: str | None, name: str) -> Iterator[tuple[str, Columns]]:
    """Walk the rows of each value of a column, and its name; all of them where there is none."""
    if by is None:
        yield name, rows
        return
    groups = rows.labels(by)
    for value in np.unique(groups[groups != ""] if groups.dtype.kind == "U" else groups):
        yield str(value), rows.take(groups == value)


def _select_laws(names: tuple[str, ...], variables: tuple[str, ...]) -> tuple[list[Law], list[Plugin]]:
    """Return the laws that are named, or the usual ones, and the plugins behind them."""
    from forecast.evaluation.law_rolling import DEFAULT_LAWS

    rivals, plugins = [], []
    for text in dict.fromkeys(names or DEFAULT_LAWS):
        law, behind = fit_arguments.law_of(text, () if fit_arguments.is_name(text) else variables)
        rivals.append(law)
        plugins += behind
    return rivals, plugins


def _curves_of_file(
    rivals: list[Law], path: str, options: Mapping[str, Any], reading: dict[str, Any]
) -> tuple[Tests, dict[str, str], list[str], str]:
    """Return the curves of a file or a table, its hash, and a note about its rows."""
    from forecast.evaluation.law_rolling import backtest_laws
    from forecast.tables.series import complete

    columns, source = fit_arguments.data_of(path, "backtest", reading)
    rows, note = fit_arguments.write_outputs(columns, options["where"])
    along, lets = options["along"], fit_arguments.parse_formulas(options["let"], "--let")
    how = {key: options[key] for key in ("y", "leave_out", "objective")}
    single = [name for name in {name for law in rivals for name in law.variables} if name not in rows]
    if along is not None and not lets and len(single) == 1:
        lets = {single[0]: along}  # laws of one variable, which is what they go along
    rows = complete(rows, [*lets.values(), *filter(None, (along, options["y"]))], "backtest")
    result: Tests = [
        (name, partial(backtest_laws, rivals, part, let=lets, along=along, **how), {})
        for name, part in _rows_by_group(rows, options["by"], Path(path).stem)
    ]
    return result, source, [note] if note else [], rows.notes.line()


def _crossing_rows(rows: list[dict[str, Any]], found: list[xr.Dataset]) -> list[dict[str, Any]]:
    """Return how often levels were reached by a date, as each model stated: best first, references last."""
    from forecast.evaluation.crossing_record import tally_crossings
    from forecast.evaluation.rolling_origin import REFERENCE_SHAPES

    names = [row["model"] for row in sorted(rows, key=lambda row: row["model"] in REFERENCE_SHAPES)]
    return [
        {"model": row.pop("name"), **row}
        for row in tally_crossings([("all", each) for each in found], names)
        if row.pop("kind") == "all"
    ]


def _print_crossings(rows: list[dict[str, Any]]) -> None:
    """Print the reliability of the best model, and the Brier score of those after it and of the references."""
    from forecast.evaluation.rolling_origin import REFERENCE_SHAPES

    for statement, what in (("level", "reaches a level by a date"), ("record", "sets a record by a date")):
        of = [row for row in rows if row["statement"] == statement]
        if not of:
            continue
        best, wholes = of[0]["model"], [row for row in of if "brier" in row]
        render.write()
        render.prose(f"That the series {what}, as {best} stated it ({wholes[0]['count']:,} statements):")
        render.write_table(
            ["stated", "statements", "mean", "came true"],
            [
                [f"{100 * row['lower']:.0f} to {100 * row['upper']:.0f} %", row["count"], *_percents(row)]
                for row in of
                if row["model"] == best and "brier" not in row
            ],
        )
        shown = [row for i, row in enumerate(wholes) if i < _MAX_BRIER_SCORES or row["model"] in REFERENCE_SHAPES]
        told = ", ".join(f"{row['model']} {row['brier']:.3f}" for row in shown)
        usual = wholes[0].get("climatology")
        beside = "" if usual is None else f"; the rate of the other series {usual:.3f}"
        render.prose(f"Brier score (0 is perfect): {told}{beside}")


def _percents(row: dict[str, Any]) -> list[str]:
    return [f"{100 * row[key]:.0f} %" for key in ("stated", "happened")]


def _print_backtest(result: dict[str, Any]) -> None:
    import math

    render.write_headline(result["headline"])
    shown = []
    known = {"model", "series", "origins", "forecasts", "weighted-interval", "coverage", "width", "pit"}
    more = sorted({key for row in result["models"] for key in row} - known - {"skill_last_value", "skill_drift"})
    for row in result["models"]:
        cells = [row["model"], row["forecasts"], f"{row['weighted-interval']:.3g}", f"{100 * row['coverage']:.0f} %"]
        cells += [f"×{math.exp(min(row['width'] / 2, 600)):.3g}"]
        cells += [f"{100 * row[key]:+.0f} %" if key in row else "" for key in ("skill_last_value", "skill_drift")]
        shown.append([*cells, *(f"{row[key]:.3g}" if key in row else "" for key in more)])
    columns = ["model", "forecasts", "score", "held", "90 % within", "over last value", "over drift", *more]
    render.write_table(columns, shown)
    render.prose(
        "score: mean error of forecasts and intervals, in logarithms; held: share of 90 % intervals that had what came;"
        " 90 % within: their usual ends; over: how far the score is below that of the last value, or a steady drift."
    )
    _print_crossings(result.get("crossings", []))
    if result["refused"]:
        render.write()
        names = ", ".join(each["name"] for each in result["refused"])
        render.prose(f"Not fitted to every past (--json says why): {names}")
