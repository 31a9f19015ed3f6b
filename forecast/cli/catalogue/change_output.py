"""What changed in tables and what follows for trends and forecasts, as text and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forecast.base.quantiles import QUANTILE_NAMES, QUANTILES
from forecast.cli import render
from forecast.tables.diff import Difference, difference_sentence

if TYPE_CHECKING:
    from forecast.evaluation.table_changes import AnswerChange, Refresh, ScenarioChange, TableChange
    from forecast.evaluation.trend_changes import FigureChange, TrendChange

#: The figures of a trend that its headline may name, in order of preference: label and unit.
_HEADLINE_FIGURES = {"doubling_years": ("doubling time", " years"), "growth_per_year": ("growth", " a year in logs")}
_SIDES = ("before", "after")
#: Rows of a table that a sentence names; answers of a scenario that are shown after the first.
_MAX_NAMED_ROWS, _MAX_ANSWERS = 3, 6


# --- two versions of a table ------------------------------------------------------------------------------------------


def difference_data(part: Difference) -> dict[str, Any]:
    """Return what differs in one part of a table, as plain data."""
    return {
        "name": _part_name(part),
        "key": part.key,
        "rows_before": part.before,
        "rows_after": part.after,
        "rows_changed": part.rows_changed,
        "added": [{"name": _row_name(row), "key": row} for row in part.added],
        "removed": [{"name": _row_name(row), "key": row} for row in part.removed],
        "changed": [{"name": _row_name(cell.key), **vars(cell), "relative": cell.relative} for cell in part.changed],
        "columns_added": part.columns_added,
        "columns_removed": part.columns_removed,
        "units_changed": [
            {"name": name, "before": was, "after": now} for name, (was, now) in part.units_changed.items()
        ],
    }


def trend_data(trend: TrendChange) -> dict[str, Any]:
    """Return how a trend differs, as plain data."""
    return {
        **vars(trend.options),
        "unit": trend.unit,
        "figures": [vars(figure) for figure in trend.figures],
        **{side: {"summary": trend.summaries.get(side), "failed": trend.errors.get(side)} for side in _SIDES},
    }


def _part_name(part: Difference) -> str:
    return ", ".join(part.key) or "rows"


def _row_name(key: Mapping[str, Any]) -> str:
    return ", ".join(str(v) for v in key.values())


def difference_headline(parts: Sequence[Difference], trend: TrendChange | None = None) -> str:
    """Say in one sentence which rows differ, and how far a trend moves."""
    return f"{difference_sentence(parts)}; {_trend_sentence(trend)}." if trend else f"{difference_sentence(parts)}."


def _trend_sentence(trend: TrendChange) -> str:
    y = trend.options.y
    figures = {figure.name: figure for figure in trend.figures}
    name = next((name for name in _HEADLINE_FIGURES if name in figures), None)
    if not figures:
        return f"no trend of {y} could be compared"
    if name is None:
        return f"the figures of the trend of {y} stand below"
    figure, (label, unit) = figures[name], _HEADLINE_FIGURES[name]
    if figure.before is None or figure.after is None:
        return f"the {label} of {y} goes from {_format_years(figure.before)} to {_format_years(figure.after)}{unit}"
    if figure.before == figure.after:
        return f"the {label} of {y} stays at {figure.before:.3g}{unit}"
    interval = _interval(figure.interval_before)
    where = "outside" if figure.outside else "inside"
    inside = f", {where} its 90 % interval before {interval}" if interval else ""
    share = f" ({figure.relative:+.2g})" if figure.relative is None else f" ({100 * figure.relative:+.2g} %)"
    return f"the {label} of {y} moves from {figure.before:.3g} to {figure.after:.3g}{unit}{share}{inside}"


def _format_years(value: float | None) -> str:
    return "never" if value is None else f"{value:.3g}"


def _interval(interval: Mapping[str, float | None] | None) -> str | None:
    return f"[{_format_years(interval['p05'])}, {_format_years(interval['p95'])}]" if interval else None


def write_difference(headline: str, parts: Sequence[Difference], trend: TrendChange | None, limit: int) -> None:
    """Write which rows differ, so many of each kind, and how a trend does."""
    render.write_headline(headline)
    rows = [(_part_name(p), p.before, p.after, len(p.added), len(p.removed), p.rows_changed) for p in parts]
    render.write_table(["part", "before", "after", "added", "removed", "changed"], rows)
    for part in parts:
        _write_rows(part, limit, label=f" of {_part_name(part)}" if len(parts) > 1 else "")
    if trend:
        _write_trend(trend)


def _write_rows(part: Difference, limit: int, *, label: str) -> None:
    for kind, rows in (("added", part.added), ("removed", part.removed)):
        if rows:
            render.write()
            render.write(f"{kind}{label}:")
            for row in rows[:limit]:
                render.verbatim(f"  {_row_name(row)}")
            _print_remaining_count(len(rows), limit)
    if part.changed:
        render.write()
        render.write(f"changed{label}:")
        cells = [
            (_row_name(change.key), change.column, change.before, change.after, _format_percent(change.relative))
            for change in part.changed[:limit]
        ]
        render.write_table(["row", "column", "before", "after", "change"], cells, indent=2)
        _print_remaining_count(len(part.changed), limit)
    for kind, columns in (("added", part.columns_added), ("removed", part.columns_removed)):
        if columns:
            render.write()
            render.verbatim(f"columns {kind}{label}: {', '.join(columns)}")
    for name, (before, after) in part.units_changed.items():
        render.verbatim(f"unit of {name}: {before} before, {after} after (converted)")


def _print_remaining_count(count: int, limit: int) -> None:
    if count > limit:
        render.write(f"  … and {count - limit} more (--json lists all)")


def _format_percent(share: float | None) -> str | None:
    return None if share is None else f"{100 * share:+.3g} %"


def _write_trend(trend: TrendChange) -> None:
    options = trend.options
    conditions = {**options.where, **({"since": options.since} if options.since else {}), **options.options}
    text = "".join(f", {column} = {value}" for column, value in conditions.items())
    render.write()
    render.verbatim(f"{options.shape} of {options.y} over {options.x}{text}:")
    for side in _SIDES:
        render.verbatim(f"  {side}: {trend.summaries.get(side) or f'failed: {trend.errors.get(side)}'}")
    if trend.figures:
        render.write()
        columns = ["figure", "before", "90 % before", "after", "90 % after", "change"]
        render.write_table(columns, [_figure_cells(figure) for figure in trend.figures], indent=2)


def _figure_cells(figure: FigureChange) -> list[str | None]:
    before, after = (None if value is None else f"{value:.5g}" for value in (figure.before, figure.after))
    intervals = _interval(figure.interval_before), _interval(figure.interval_after)
    return [figure.name, before, intervals[0], after, intervals[1], _format_percent(figure.relative)]


# --- tables and the forecasts that rest on them -----------------------------------------------------------------------


def refresh_data(refresh: Refresh) -> dict[str, Any]:
    """Return what changed in tables and in forecasts, with its headline, as plain data."""
    return {
        "headline": refresh_headline(refresh),
        "tables": [
            {**vars(table), "parts": [difference_data(part) for part in table.parts]} for table in refresh.tables
        ],
        "scenarios": [
            {
                **vars(scenario),
                "answers": [_answer_data(answer) for answer in scenario.answers],
                "newest": [
                    {"table": table, "before": was, "after": now} for table, (was, now) in scenario.newest.items()
                ],
                "alone": {
                    table: [_answer_data(answer) for answer in answers] for table, answers in scenario.alone.items()
                },
            }
            for scenario in refresh.scenarios
        ],
    }


def _answer_data(answer: AnswerChange) -> dict[str, Any]:
    return {**vars(answer.label), "before": answer.before, "after": answer.after, "moved": answer.changed}


def refresh_headline(refresh: Refresh) -> str:
    """Say in one sentence how many tables changed, and how many forecasts moved."""
    tables, scenarios = refresh.tables, refresh.scenarios
    changed, failed = sum(table.changed for table in tables), sum(table.error is not None for table in tables)
    counts = [f"{len(tables)} table{'s' * (len(tables) != 1)}: {changed} changed"]
    counts += [f"{failed} could not be had"] if failed else []
    if changed:
        moved = sum(any(answer.changed for answer in scenario.answers) for scenario in scenarios)
        counts.append(f"{moved} of {len(scenarios)} scenario{'s' * (len(scenarios) != 1)} moved")
    return f"{', '.join(counts)}."


def write_refresh(refresh: Refresh) -> None:
    """Write what changed in tables, and how the forecasts that rest on them moved."""
    render.write_headline(refresh_headline(refresh))
    for table in refresh.tables:
        states = [f"failed: {table.error}"] if table.error else [table.state, table.difference]
        render.verbatim(f"{table.name}: {'; '.join(filter(None, states))}")
    tables = {table.name: table for table in refresh.tables}
    still: list[str] = []
    apart: list[str] = []
    for scenario in refresh.scenarios:
        changed = [answer for answer in scenario.answers if answer.changed]
        if scenario.error:
            render.verbatim(f"{scenario.scenario}: failed: {scenario.error}")
        elif changed:
            render.write()
            for line in _scenario_lines(scenario, changed, tables):
                render.verbatim(line)
        else:
            (still if scenario.rests_on else apart).append(scenario.scenario)
    if still or apart:
        render.write()
    if still:
        render.verbatim(f"rest on what changed, and did not move: {', '.join(still)}")
    if apart:
        render.verbatim(f"rest on nothing that changed: {', '.join(apart)}")


def _scenario_lines(
    scenario: ScenarioChange, changed: Sequence[AnswerChange], tables: Mapping[str, TableChange]
) -> Iterator[str]:
    """Say how a forecast moved and because of what; then how its other answers did, the largest changes first."""
    first, *others = changed
    because = _change_reason(scenario, tables)
    moved = f"the forecast moved {_change_sentence(first)}, because {because}."
    yield f"{scenario.scenario}: {_answer_title(first)}: {moved}"
    for name, answers in scenario.alone.items():
        same = next((answer for answer in answers if _answer_title(answer) == _answer_title(first)), None)
        yield f"  {name} alone moves it {_change_sentence(same)}" if same else f"  {name} alone does not move it"
    others.sort(key=lambda answer: answer.size, reverse=True)
    for answer in others[:_MAX_ANSWERS]:
        about = _answer_title(answer)
        yield f"  {about.removeprefix(first.label.title).lstrip(', ') or about}: {_change_sentence(answer)}"
    if len(others) > _MAX_ANSWERS:
        yield f"  … and {len(others) - _MAX_ANSWERS} more of {len(scenario.answers)} answers (--json lists all)"


def _change_reason(scenario: ScenarioChange, tables: Mapping[str, TableChange]) -> str:
    """Name the tables that changed, the first of the rows that did, and how far each table reaches."""
    reasons = []
    for name, (was, now) in scenario.newest.items():
        parts = tables[name].parts
        rows = [
            _row_names_text("added", [row for part in parts for row in part.added]),
            _row_names_text("removed", [row for part in parts for row in part.removed]),
            _row_names_text("changed", [change.key for part in parts for change in part.changed]),
        ]
        reason = f"{name} has {', '.join(filter(None, rows)) or 'other columns'}"
        if was and now:
            reason += f"; its newest datum is of {now}" + (f", it was of {was}" if was != now else " as before")
        reasons.append(reason)
    return "; ".join(reasons)


def _row_names_text(kind: str, keys: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(map(_row_name, keys)))
    if not names:
        return ""
    shown = "; ".join(names[:_MAX_NAMED_ROWS]) + (" …" if len(names) > _MAX_NAMED_ROWS else "")
    return f"{len(names)} row{'s' * (len(names) != 1)} {kind} ({shown})"


def _answer_title(answer: AnswerChange) -> str:
    label = answer.label
    at = f" ({label.at})" if label.at else ""
    return f"{label.title}{at}" + "".join(f", {name} = {value}" for name, value in label.choices.items())


def _change_sentence(answer: AnswerChange) -> str:
    """Say from what to what an answer went, and how far its median."""
    unit = answer.label.unit
    text = f"from {_format_side(answer.before, unit)} to {_format_side(answer.after, unit)}"
    was, now = answer.medians or (0.0, 0.0)
    if was == now:
        return text
    if unit == "date":
        size = f"{answer.size:.1f}" if answer.size >= 0.05 else "less than 0.05"
        return f"{text}, {size} years {'later' if now > was else 'earlier'}"
    return f"{text}, {100 * (now / was - 1):+.2g} %" if was > 0 else text


def _format_side(figures: Mapping[str, Any] | None, unit: str) -> str:
    if figures is None:
        return "nothing"  # a value of a choice that one edition does not have
    if "never" in figures:
        if figures["never"] is None:
            return "no answer"
        low, middle, high = (_crossing_text(figures, q) for q in ("p05", "p50", "p95"))
        return f"{middle} (90 %: {low} to {high}, never {figures['never']:.1%})"
    if "best" in figures:
        return f"{figures['best']} (best in {figures['first']:.1%})"
    if "p50" in figures:
        if figures["p50"] is None:
            return "no answer"
        unit = f" {unit}" if unit else ""
        return f"{figures['p50']:.4g}{unit} (90 %: {figures['p05']:.3g} to {figures['p95']:.3g})"
    return "no answer" if figures.get("first") is None else f"{figures['first']:.1%}"


def _crossing_text(crossing: Mapping[str, Any], quantile: str) -> str:
    if crossing[quantile] is None:
        return "never"
    share = QUANTILES[QUANTILE_NAMES.index(quantile)]
    return "already" if crossing["already"] >= share else str(crossing[quantile])[:7]
