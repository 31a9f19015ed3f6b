"""All of an answer as text: questions along every choice, rankings, limits, models, and quantities step by step."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from forecast.base.lazy import xr
from forecast.cli import render
from forecast.errors import printable

__all__ = ["show", "show_quantities", "show_swept"]

_PERCENT = {"p05": "5 %", "p25": "25 %", "p50": "50 %", "p75": "75 %", "p95": "95 %"}

#: So many of a ranking, and of what moves an answer, are shown; --json has them all.
_MOST_RANKED, _MOST_DRIVERS = 15, 6

#: A quantity along more combinations of choices than this would bury the answer: it is shown at its first and its last
#: step, and along more than `_MOST_ENDS` not at all. One that does not change with time is shown along `_MOST_STILL`.
_MOST_COMBINATIONS, _MOST_ENDS, _MOST_STILL = 8, 40, 12
_ENDS = ("p05", "p50", "p95")


def show(tree: xr.DataTree, result: dict[str, Any], every: int | None = None) -> None:
    """Show everything that people read; what is longer still is named."""
    from forecast.evaluation.ledger import dated
    from forecast.report import result_data
    from forecast.report.value_quantiles import ValueQuantiles

    render.headline(result["headline"])
    for rows in _by_name(result["questions"]).values():
        _show_question(rows)
        moved = next(d for d in result["drivers"] if d["name"] == rows[0]["name"])
        if moved["drivers"]:
            shares = ", ".join(f"{printable(d['name'], 80)} {d['share']:.0%}" for d in moved["drivers"][:_MOST_DRIVERS])
            render.prose(f"what moves it (share of the variance, each alone): {shares}")
            if "note" in moved:
                render.prose(printable(moved["note"], 600))
            render.write()
    for row in result.get("rankings", ()):
        _show_ranking(row)
    for row in result.get("update", ()):
        _show_update(row)
    for name in dict.fromkeys(row["name"] for key in ("values", "first") for row in result.get(key, ())):
        render.prose(f"{printable(name)}: {printable(result_data.asked_sentence(tree, name), 2000)}")
        render.write()
    for row in result.get("limits", ()):
        render.prose(printable(result_data.limit_sentence(row), 400))
    if "limits" in result:
        render.write()
    for row in result.get("regimes", ()):
        _show_regime(row)
    for model in result["models"]:
        render.prose(f"{printable(model['name'])}: {printable(model['summary'], 600)}")
    if "record" in result:
        render.prose(printable(result["record"], 600))
    if "newest" in result:
        render.prose(printable(result_data.data_ages(tree, dated("today", "today")), 600))
    if result["models"] or "newest" in result:
        render.write()
    left = []
    quantities = _by_name(result["quantities"])
    named = ValueQuantiles(tree).names()
    shown = result_data.attribute(tree, "show") if "show" in tree.attrs else named
    for name in shown:
        if name not in quantities:  # a regime, shown above
            continue
        rows = quantities[name]
        still = all(_still(row) for row in rows)
        if len(rows) <= (_MOST_STILL if still else _MOST_COMBINATIONS):
            _show_quantity(rows, every or _stride(len(rows[0]["time"])))
        elif not still and len(rows) <= _MOST_ENDS:
            _show_ends(rows)
        else:
            left.append(
                f"{printable(name)}: {len(rows)} combinations, {'' if still else 'year by year '}in --json and --out"
            )
    for line in left:
        render.write(line)
    if helpers := [printable(name, 80) for name in named if name not in shown]:
        render.prose(f"in --json and --out alone: {', '.join(helpers)}")


def show_quantities(rows: Sequence[dict[str, Any]], only: Collection[str], every: int | None = None) -> None:
    """Show these quantities step by step, in every combination of choices."""
    for name, own in _by_name(rows).items():
        if name in only:
            _show_quantity(own, every or _stride(len(own[0]["time"])))


def show_swept(tree: xr.DataTree, result: dict[str, Any]) -> None:
    """Show what a sweep is for: every question along it, over rivals where these are pooled."""
    from forecast.report import result_data

    render.headline(result["headline"])
    pooled = _by_name(result.get("pooled", ()))
    for name, rows in _by_name(result["questions"]).items():
        _show_question(pooled.get(name, rows))
    for row in result.get("rankings", ()):
        _show_ranking(row)
    for name in dict.fromkeys(row["name"] for key in ("values", "first") for row in result.get(key, ())):
        render.prose(f"{printable(name)}: {printable(result_data.asked_sentence(tree, name), 2000)}")
        render.write()
    if not result["questions"]:
        for rows in _by_name(result["quantities"]).values():
            if set(rows[0]["choices"]) & set(result_data.swept(tree)):
                _show_ends(rows)
    render.write("every quantity and every combination: --json and --out")


def _by_name(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    rows_of: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        rows_of.setdefault(row["name"], []).append(row)
    return rows_of


def _show_question(rows: Sequence[dict[str, Any]]) -> None:
    render.write(f"{printable(rows[0]['name'])}: {printable(rows[0]['when'])}")
    lines = []
    for row in rows:
        crossing = row["crossing"]
        dates = [_date(crossing, q) for q in _PERCENT]
        by = [_share(asked["probability"]) for asked in row.get("dates", ())]
        lines.append([*row["choices"].values(), *dates, _share(crossing["never"]), _share(crossing["already"]), *by])
    asked_by = [f"by {asked['date']}" for asked in rows[0].get("dates", ())]
    render.table([*rows[0]["choices"], *_PERCENT.values(), "never", "already", *asked_by], lines)
    if errors := [row["crossing"]["error"] for row in rows if row["crossing"]["error"]]:
        most = f"{max(errors):.1g} years" if max(errors) >= 0.01 else "less than 0.01 years"
        render.write(
            f"Monte Carlo error of {'each' if len(rows) > 1 else 'the'} median: {'at most ' * (len(errors) > 1)}{most}"
        )
    render.write()


def _show_ranking(row: dict[str, Any]) -> None:
    """Show those that take part, the best ones; the others are counted."""
    given = "".join(f", {k} = {v}" for k, v in row["choices"].items())
    unit = f" [{row['unit']}]" if row["unit"] else ""
    asked = f", where {' and '.join(row['among'])}" if row["among"] else ""
    render.prose(printable(f"{row['name']}: {row['best']} {row['rank']}{unit}{asked}{given}", 400))
    taking = [entry for entry in row["order"] if entry["among"] > 0]
    shown = taking[:_MOST_RANKED]
    heads, figures = _columns(shown)
    lines = [
        [entry["name"], *quantiles, _share(entry["first"]), _share(entry["among"])]
        for entry, quantiles in zip(shown, figures, strict=True)
    ]
    if lines:
        render.table([row["over"], *heads, "first", "takes part"], lines)
    left, out = len(taking) - len(lines), len(row["order"]) - len(taking)
    counted = [f"{left} more take part" if left else "", f"{out} do not meet the conditions" if out else ""]
    if any(counted):
        render.write("; ".join(filter(None, counted)))
    render.write()


def _show_update(row: dict[str, Any]) -> None:
    """Say how many worlds an answer rests on, where they count differently."""
    given = "".join(f", {k} = {v}" for k, v in row["choices"].items())
    count = "no world is possible"
    if row["effective"] is not None:
        count = f"{row['effective']:,.0f} of {row['draws']:,} worlds are effective"
    render.prose(printable(f"weighed by what is known of {', '.join(row['of'])}{given}: {count}", 400))
    render.write()


def _show_regime(row: dict[str, Any]) -> None:
    given = "".join(f", {k} = {v}" for k, v in row["choices"].items())
    shares = ", ".join(f"{label} {_share(share)}" for label, share in row["shares"].items())
    render.prose(printable(f"{row['name']}{given}: {shares}", 600))
    render.write()


def _date(crossing: dict[str, Any], quantile: str) -> str:
    """Show a year, ``never`` inside the never mass, ``already`` inside the already mass."""
    from forecast.projection.crossing import QUANTILES

    if crossing["never"] is None:
        return "failed"
    if crossing[quantile] is None:
        return "never"
    if crossing["already"] >= QUANTILES[quantile]:
        return "already"
    return str(crossing[quantile])[:7]


def _share(value: float | None) -> str:
    return "failed" if value is None else f"{value:.1%}"


def _show_quantity(rows: Sequence[dict[str, Any]], every: int) -> None:
    """Show quantiles step by step; a quantity that does not change is shown once."""
    render.write(_head(rows[0]))
    if all(_still(row) for row in rows):
        heads, figures = _columns([{q: row[q][0] for q in _PERCENT} for row in rows])
        render.table(
            [*rows[0]["choices"], *heads], [[*r["choices"].values(), *f] for r, f in zip(rows, figures, strict=True)]
        )
    else:
        lines = []
        for row in rows:
            steps = len(row["time"])
            for i in [0] if _still(row) else sorted({*range(0, steps, every), steps - 1}):
                when = "any" if _still(row) else _when(row, i)
                lines.append([*row["choices"].values(), when, *(_figure(row[q][i]) for q in _PERCENT)])
        render.table([*rows[0]["choices"], "time", *_PERCENT.values()], lines)
    render.write()


def _head(row: dict[str, Any]) -> str:
    return printable(f"{row['name']} [{row['unit']}]" if row["unit"] else row["name"])


def _show_ends(rows: Sequence[dict[str, Any]]) -> None:
    """Show a quantity at its first and its last step, a line for each combination of choices."""
    render.write(_head(rows[0]))
    heads = [f"{_when(rows[0], i)}: {_PERCENT[q]}" for i in (0, -1) for q in _ENDS]
    lines = [[*row["choices"].values(), *(_figure(row[q][i]) for i in (0, -1) for q in _ENDS)] for row in rows]
    render.table([*rows[0]["choices"], *heads], lines)
    render.write()


def _when(row: dict[str, Any], step: int) -> str:
    stamp = str(row["time"][step][:7])
    return stamp.removesuffix("-01") if _yearly(row) else stamp


def _stride(steps: int) -> int:
    """Return a round number of steps between those shown, so that they are about a dozen."""
    return next((n for n in (1, 2, 5, 10, 20, 50, 100) if steps <= 13 * n), 250)


def _still(row: dict[str, Any]) -> bool:
    """Tell whether a quantity does not change with time."""
    return all(len(set(row[q])) == 1 for q in _PERCENT)


def _columns(quantiles: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return heads and figures: a column a quantile, or a single one where no figure is uncertain."""
    if all(len({row[q] for q in _PERCENT}) == 1 for row in quantiles):
        return ["value"], [[_figure(row["p50"])] for row in quantiles]
    return [*_PERCENT.values()], [[_figure(row[q]) for q in _PERCENT] for row in quantiles]


def _yearly(row: dict[str, Any]) -> bool:
    return all(stamp.endswith("-01-01") for stamp in row["time"][:3])


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
