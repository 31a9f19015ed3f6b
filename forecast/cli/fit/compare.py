"""``forecast compare``: rival laws on the same data, by what they explain and by what they would have forecast."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from forecast.cli import completion, render
from forecast.cli.fit.fit_options import FitOptions, data_options, output_options, seed_option
from forecast.cli.output_files import RESULT_SUFFIXES, columns_of, emit_files
from forecast.report.words.number_text import format_or_dash

if TYPE_CHECKING:
    from forecast.fit.compare import Comparison

_MEASURE_LABELS = {"aic": "AIC", "aicc": "AICc", "bic": "BIC", "rollout": "extrapolation"}


@click.command()
@click.argument("laws", nargs=-1, required=True, metavar="LAW...", shell_complete=completion.complete_names("law"))
@data_options(
    let="A variable as a formula over columns.",
    y="The column, or formula, that the laws explain.",
    variables="The variables of formulas: x or N,D.",
)
@click.option(
    "--objective", metavar="NAME", help="Of every law.  [default: least squares of logs, where y is positive]"
)
@click.option("--by", metavar="FORMULA", help="What the rollout goes along, small to large.  [default: 1st variable]")
@seed_option()
@output_options(RESULT_SUFFIXES, "Save the comparison, for show, or its figures.")
@click.pass_context
def compare(ctx: click.Context, laws: tuple[str, ...], options: FitOptions) -> None:
    """Fit several laws to the same points: AIC, AICc and BIC, beside the error of forecasts by rollout.

    The rollout fits the smallest 50, 60, 70, 80 and 90 % of the points and forecasts the others. A law that cannot be
    judged is listed with its reason. Exits with 1 where nothing could be compared: none could be judged, or only one of
    several.

    \b
    forecast compare scaling/power scaling/saturating-power --data curve.csv
    forecast compare scaling/power scaling/saturating-power --data curve.csv --out both.nc --plot laws.svg
    """  # noqa: D301 - click reads the \b as "do not rewrap"
    from forecast.cli.fit import fit_arguments
    from forecast.fit import compare as comparing

    options.check_outputs()
    columns, source = options.columns("compare")
    rows, note = fit_arguments.write_outputs(columns, options.where)
    rivals, plugins = [], []
    for text in dict.fromkeys(laws):
        # a name stays a name where the formulas beside it need variables
        law, behind = fit_arguments.law_of(text, () if fit_arguments.is_name(text) else options.variables)
        rivals.append(law)
        plugins += behind
    with render.progress_bar("fitting") as report:
        found = comparing.compare(
            rivals,
            rows,
            objective=options.objective,
            let=options.lets,
            y=options.y,
            by=options.by,
            seed=options.seed,
            progress=report,
        )
    found.about |= {"data": source}
    show_comparison(found, plugins=plugins, notes=[note] if note else [], **options.files)
    if sum("failed" not in row for row in found) < min(len(found), 2):
        ctx.exit(1)


def show_comparison(
    table: Comparison, *, plugins: Sequence[Any] = (), notes: Sequence[str] = (), **outputs: Any
) -> None:
    """Write a comparison, new or loaded, and the files, plots and JSON of `emit_files`."""
    from forecast.report.figures.fit_figure import plot_comparison

    about, best = table.about, table.best
    reasons = [_reason_for_law(row["law"], reason) for row in table for reason in row.get("warnings", ())]
    reasons += [_reason_for_law(row["law"], row[why]) for why in ("failed", "opposed") for row in table if why in row]
    result = {
        **{key: value for key, value in about.items() if key not in ("seed", "data", "read")},
        "headline": table.headline,
        "best": {measure: names[0] if len(names) == 1 else None for measure, names in best.items()},
        "tied": {measure: list(names) for measure, names in best.items()},
        "laws": [_complete_row(row) for row in table],
    }
    emit_files(
        result,
        text=lambda: _print_comparison(result),
        table=lambda: columns_of(result["laws"], without=("warnings", "without")),
        draw=partial(plot_comparison, result),
        save=table.save,
        read=[about.get("read", "")],
        **outputs,
        warnings=[*notes, *reasons],
        provenance=render.provenance(plugins, computed=True, seed=about["seed"], data=about["data"]),
    )


def _reason_for_law(law: str, reason: str) -> str:
    """Return a reason that names its law, once."""
    return reason if reason.startswith(f"{law}:") else f"{law}: {reason}"


def _complete_row(row: dict[str, Any]) -> dict[str, Any]:
    keys = ("law", "parameters", "points", "converged", "objective", "aic", "aicc", "bic", "rollout", "origins")
    whole = {key: row.get(key) for key in (*keys, "origins_tried", "verdict", "failed", "opposed")}
    return {**whole, "warnings": list(row.get("warnings", ())), "without": row.get("without", {})}


def _print_comparison(result: dict[str, Any]) -> None:
    from forecast.fit.objectives import find_objective

    render.write_headline(result["headline"])
    rows = []
    for row in result["laws"]:
        marks = [format_or_dash(row[m], 6) + (" *" if row["law"] in result["tied"][m] else "") for m in _MEASURE_LABELS]
        tried = "-" if row["origins_tried"] is None else f"{row['origins']} of {row['origins_tried']}"
        ended = "cannot follow" if row["opposed"] else "converged" if row["converged"] else "failed"
        rows.append([row["law"], row["parameters"], *marks, tried, ended])
    render.write_table(["law", "parameters", *_MEASURE_LABELS.values(), "origins", "fit"], rows)
    render.write()
    kind = "of logs" if find_objective(result["objective"]).log else "in the unit of y"
    render.write_details(
        {
            "objective": result["objective"],
            "extrapolation": f"root mean square error {kind} beyond each origin, along {result['by']}",
            "*": "best by this measure; several differ by rounding"
            if any(len(names) > 1 for names in result["tied"].values())
            else "best by this measure",
        }
    )
    lines = []
    for row in result["laws"]:
        reasons = {"every": row["failed"]} if row["failed"] else row["without"]
        for reason in dict.fromkeys(reasons.values()):
            measures = [_MEASURE_LABELS.get(measure, measure) for measure, why in reasons.items() if why == reason]
            lines.append([row["law"], ", ".join(measures), reason])
    if lines:
        render.write()
        render.write("what is missing:")
        render.write_table(["law", "measure", "reason"], lines, indent=2)
