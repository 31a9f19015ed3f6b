"""``forecast backtest SCENARIO --whole``: a scenario as it would have spoken at several dates, against what came."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from forecast.base.lazy import xr
from forecast.cli import render
from forecast.cli.output_files import writers
from forecast.errors import printable
from forecast.evaluation import scenario_backtest

__all__ = ["whole"]

COMMAND = "backtest"
#: Shares of a year in months, for headings.
_MONTHS = 12


def whole(
    subject: str,
    *,
    vintages: Sequence[str],
    quantities: Sequence[str],
    scales: Sequence[str],
    settings: Sequence[str],
    draws: int,
    seed: int,
    out: str | None,
    as_json: bool,
) -> None:
    """Run the scenario as of each date, score it, and write the answer."""
    from forecast.cli.ask.run import pairs, year_of

    with render.progress("projecting") as report:
        found = scenario_backtest.backtest_scenario(
            Path(subject) if subject.lower().endswith(".toml") else subject,
            vintages=[year_of(text, "--vintage") for text in vintages],
            quantities=quantities,
            scales=pairs(scales, "--scale"),
            with_=pairs(settings, "--set"),
            draws=draws,
            seed=seed,
            progress=report,
        )
    failures: Mapping[str, Mapping[str, str]] = found.attrs["failures"]
    result = {
        "subject": printable(Path(subject).name, 200),
        "headline": scenario_backtest.sentence(found),
        "quantities": scenario_backtest.quantity_scores(found, by_ahead=True),
        "forecasts": scenario_backtest.forecast_rows(found),
        "published": found.attrs["published"],
        "limits": scenario_backtest.limits(found),
        "refused": [{"name": name, "reason": f"{when}: {why}"} for name, told in failures.items() for when, why in told.items()],
    }
    said: dict[str, Any] = {
        "command": COMMAND,
        "provenance": render.provenance(_plugins(subject), computed=True, seed=seed, draws=draws),
    }
    table: Callable[[], Any] = lambda: _columns(result["forecasts"])  # noqa: E731
    written = writers(out, answer=lambda: render.answered(result, **said), table=table)
    render.emit(result, json=as_json, text=lambda: _text(result, found), files=written, **said)


def _plugins(subject: str) -> list[Any]:
    from forecast.contract.registry import get_registry

    return [] if subject.lower().endswith(".toml") else [get_registry().find("scenario", subject).plugin]


def _columns(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {key: [row[key] for row in rows] for key in rows[0]}


def _text(result: Mapping[str, Any], found: xr.Dataset) -> None:
    rows = result["quantities"]
    own = str(found["model"].values[0])
    render.headline(result["headline"])
    total = {(row["quantity"], row["model"]): row for row in rows if row["ahead"] is None}
    heads = ["quantity", "scored in", "forecasts", "50 % held", "90 % held", "90 % wide", "score"]
    lines = [
        [
            name, _unit(row), row["forecasts"], f"{100 * row['half']:.0f} %", f"{100 * row['held']:.0f} %",
            f"{row['width']:.3g}", f"{row['score']:.2g}", *(_over(total.get((name, rival))) for rival in scenario_backtest.RIVALS),
        ]
        for (name, model), row in total.items()
        if model == own
    ]  # fmt: skip
    render.table([*heads, *(f"over {rival}" for rival in scenario_backtest.RIVALS)], lines)
    render.write()
    render.prose("By time ahead: 90 % intervals that held, of so many, and the score.")
    ahead = [float(each) for each in found["ahead"].values]
    apart = {(row["quantity"], row["ahead"]): row for row in rows if row["model"] == own}
    render.table(
        ["quantity", *(f"{_MONTHS * years:g} months" for years in ahead)],
        [[name, *(_cell(apart.get((name, years))) for years in ahead)] for name, model in total if model == own],
    )
    published = [row for (_, model), row in total.items() if model in result["published"]]
    if published:
        render.write()
        render.prose("Published models, from the day they appeared, on the same rows:")
        render.table(
            ["model", "of", "quantity", "forecasts", "90 % held", "score", f"{own} there"],
            [
                [
                    row["model"], result["published"][row["model"]], row["quantity"], row["forecasts"],
                    f"{100 * row['held']:.0f} %" if row["width"] > 0 else "no interval", f"{row['mine']:.2g}", f"{row['beside']:.2g}",
                ]
                for row in published
                if row["mine"] is not None
            ],
        )  # fmt: skip
    render.write()
    render.prose(
        "A score is the weighted interval score of the median and the 50 and 90 % intervals, in the unit beside it: 0 is "
        "perfect. Over a rival: by what share it is better than the rival's on the rows that both forecast."
    )
    for line in result["limits"]:
        render.prose(f"- {line[:1].upper()}{line[1:]}.")
    if result["refused"]:
        render.prose(f"{len(result['refused'])} forecasts could not be made (--json says which, and why).")


def _unit(row: Mapping[str, Any]) -> str:
    return scenario_backtest.SCALES[row["scale"]].title or row["unit"] or "points"


def _over(row: Mapping[str, Any] | None) -> str:
    if row is None or row["mine"] is None or not row["mine"]:
        return ""
    return f"{100 * (1 - row['beside'] / row['mine']):+.0f} %"


def _cell(row: Mapping[str, Any] | None) -> str:
    return "" if row is None else f"{round(row['held'] * row['forecasts'])} of {row['forecasts']}, {row['score']:.2g}"
