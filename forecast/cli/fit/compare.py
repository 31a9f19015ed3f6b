"""``forecast compare``: rival laws on the same data, by what they explain and by what they would have forecast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import click

from forecast.cli import completion, render
from forecast.cli.fit.fit_options import FitOptions, data_options, output_options, seed_option
from forecast.cli.output_files import RESULT_SUFFIXES, columns_of, emit_files
from forecast.report.words.number_text import format_or_dash

__all__ = ["compare", "show_comparison"]

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
        table, about = comparing.compare(
            rivals,
            rows,
            objective=options.objective,
            let=options.lets,
            y=options.y,
            by=options.by,
            seed=options.seed,
            progress=report,
        )
    about |= {"seed": options.seed, "data": source}
    show_comparison(table, about, plugins=plugins, notes=[note] if note else [], **options.files)
    if sum("failed" not in row for row in table) < min(len(table), 2):
        ctx.exit(1)


def show_comparison(
    table: Sequence[dict[str, Any]],
    about: Mapping[str, Any],
    *,
    plugins: Sequence[Any] = (),
    notes: Sequence[str] = (),
    **outputs: Any,
) -> None:
    """Write a comparison, new or loaded, and the files, plots and JSON of `emit_files`."""
    from forecast.fit import compare as comparing

    best = comparing.best_laws(table)
    judged = [row["law"] for row in table if "failed" not in row]
    reasons = [_reason_for_law(row["law"], reason) for row in table for reason in row.get("warnings", ())]
    reasons += [_reason_for_law(row["law"], row[why]) for why in ("failed", "opposed") for row in table if why in row]
    result = {
        **{key: value for key, value in about.items() if key not in ("seed", "data", "read")},
        "headline": _comparison_headline(best, dict(about), len(table), judged),
        "best": {measure: names[0] if len(names) == 1 else None for measure, names in best.items()},
        "tied": {measure: list(names) for measure, names in best.items()},
        "laws": [_complete_row(row) for row in table],
    }
    emit_files(
        result,
        text=lambda: _print_comparison(result),
        table=lambda: columns_of(result["laws"], without=("warnings", "without")),
        draw=partial(_plot_comparison, result),
        save=partial(comparing.save_comparison, table, about),
        read=[about.get("read", "")],
        **outputs,
        warnings=[*notes, *reasons],
        provenance=render.provenance(plugins, computed=True, seed=about["seed"], data=about["data"]),
    )


def _plot_comparison(result: dict[str, Any], path: str, width: str) -> None:
    from forecast.report.figures.comparison_figure import plot_comparison

    plot_comparison(result, path, width=width)


def _reason_for_law(law: str, reason: str) -> str:
    """Return a reason that names its law, once."""
    return reason if reason.startswith(f"{law}:") else f"{law}: {reason}"


def _complete_row(row: dict[str, Any]) -> dict[str, Any]:
    keys = ("law", "parameters", "points", "converged", "objective", "aic", "aicc", "bic", "rollout", "origins")
    whole = {key: row.get(key) for key in (*keys, "origins_tried", "verdict", "failed", "opposed")}
    return {**whole, "warnings": list(row.get("warnings", ())), "without": row.get("without", {})}


def _comparison_headline(best: dict[str, tuple[str, ...]], about: dict[str, Any], count: int, judged: list[str]) -> str:
    points = "the one point" if about["points"] == 1 else f"the {about['points']} points"
    if len(judged) == 1 and count == 1:
        return f"{judged[0]} is alone on {points}: name another law to compare it with."
    if len(judged) == 1:
        return f"Only {judged[0]} can be judged on {points}: there is nothing to compare it with."
    explains, forecasts = best["aicc"] or best["aic"], best["rollout"]
    alike = explains == forecasts
    parts = []
    if explains:
        sentence = f"{_subject_and_verb(explains, 'explain')} {points} best ({'AICc' if best['aicc'] else 'AIC'})"
        parts.append(sentence if alike else sentence + _tie_note(explains))
    if forecasts:
        link = (
            f"and also {_subject_and_verb(forecasts, 'forecast', named=False)}"
            if alike
            else _subject_and_verb(forecasts, "forecast")
        )
        parts.append(f"{link} the larger ones best from the smaller ones{_tie_note(forecasts)}")
    nothing = "No law goes where these data go." if judged else "No law can be judged on these data."
    return ", ".join(parts) + "." if parts else nothing


def _subject_and_verb(laws: tuple[str, ...], verb: str, *, named: bool = True) -> str:
    """Return "A explains", or "A, B and C explain"."""
    verb += "" if len(laws) > 1 else "s"
    return f"{' and '.join(filter(None, (', '.join(laws[:-1]), laws[-1])))} {verb}" if named else verb


def _tie_note(laws: tuple[str, ...]) -> str:
    return " (they cannot be told apart)" if len(laws) > 1 else ""


def _print_comparison(result: dict[str, Any]) -> None:
    from forecast.fit.objectives import find

    render.write_headline(result["headline"])
    rows = []
    for row in result["laws"]:
        marks = [format_or_dash(row[m], 6) + (" *" if row["law"] in result["tied"][m] else "") for m in _MEASURE_LABELS]
        tried = "-" if row["origins_tried"] is None else f"{row['origins']} of {row['origins_tried']}"
        ended = "cannot follow" if row["opposed"] else "converged" if row["converged"] else "failed"
        rows.append([row["law"], row["parameters"], *marks, tried, ended])
    render.write_table(["law", "parameters", *_MEASURE_LABELS.values(), "origins", "fit"], rows)
    render.write()
    kind = "of logs" if find(result["objective"]).log else "in the unit of y"
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
