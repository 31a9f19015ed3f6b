"""``forecast backtest SCENARIO --whole``: a scenario as it would have spoken at several dates, against what came."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forecast.base.lazy import xr
from forecast.cli import render
from forecast.cli.output_files import columns_of, emit_files
from forecast.errors import UsageError, printable
from forecast.evaluation.whole import scenario_scores as scores


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
