"""The sections of an answer: what one screen has no room for, a screen each, laid out as the first one is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from forecast.errors import printable
from forecast.evaluation.whole.scenario_scores import record_sentences
from forecast.models.shapes.track_record import record_sentence as track_record
from forecast.projection.result import (
    DateAnswer,
    FirstAnswer,
    ProjectedAnswer,
    ProjectedLimit,
    ProjectedQuantity,
    Projection,
    RankingAnswer,
    ValueAnswer,
)
from forecast.report.brief import Brief, section_sizes
from forecast.report.headline import Labels, event, on_date, opening_sentence, value_title
from forecast.report.result_data import data_ages, driver_rows
from forecast.report.rows import COLUMNS, ReportRow, RowGroup, answer_row, quantity_row, race_group, ranking_groups
from forecast.report.words.date_text import as_text
from forecast.report.words.number_text import percent
from forecast.report.words.patterns import fill

__all__ = ["SECTIONS", "limit_sentence", "section"]

#: Characters of one text from outside.
_MAX_SECTION_TEXT = 600
#: Characters of a list of names below a table.
_MAX_LIST = 160


def section(run: Projection, name: str, *, today: str = "") -> Brief:
    """Return one section of an answer.

    Parameters
    ----------
    run : Projection
    name : str
        One of `SECTIONS`.
    today : str
        ISO; by it the ages of data are said.
    """
    words = Labels(run)
    groups, notes = SECTIONS[name](run, words, today)
    others = tuple(
        f"{other} ({size})" if size else other for other, size in section_sizes(run).items() if other != name
    )
    kept = tuple(group for group in groups if group.rows)
    return Brief(
        sentence=opening_sentence(run), groups=kept, notes=tuple(notes) or (("none",) if not kept else ()), left=others
    )


Section = tuple[list[RowGroup], list[str]]


# --- Answers ----------------------------------------------------------------------------------------------------------


def _answer_section(run: Projection, words: Labels, today: str) -> Section:
    return [group for answer in run.answers.values() for group in _of_answer(answer, words)], []


def _of_answer(answer: ProjectedAnswer, words: Labels) -> Iterator[RowGroup]:
    if isinstance(answer, DateAnswer):
        title = _title_with_choices(event(answer, {}, words, short=True), answer, words)
        own = (
            [ReportRow(label=title), *_answer_rows(answer, words)]
            if answer.choices
            else [answer_row(answer, {}, title)]
        )
        rows = [*own, *_by_dates(answer, words)]
        yield RowGroup(rows=tuple(rows), columns=COLUMNS["date"], kind="date", ends=answer.run.span)
    elif isinstance(answer, ValueAnswer):
        rows = [ReportRow(label=_title_with_choices(value_title(answer, {}, words, short=True), answer, words))]
        for at in answer.at:
            rows += [_on(row, on_date(at.date)) for row in _answer_rows(at, words)]
        yield RowGroup(rows=tuple(rows))
    elif isinstance(answer, RankingAnswer):
        yield from ranking_groups(answer, words, most=math.inf)
    elif isinstance(answer, FirstAnswer):
        race = race_group(answer, words)
        yield replace(race, rows=(ReportRow(label=words.title(answer.title or "what comes first", {})), *race.rows))


def _title_with_choices(title: str, answer: ProjectedAnswer, words: Labels) -> str:
    """Name the choices whose values stand in the rows."""
    return f"{title} ({', '.join(map(words, answer.choices))})" if answer.choices else title


def _on(row: ReportRow, date: str) -> ReportRow:
    return replace(row, label=f"{date}, {row.label}" if row.label else date)


def _answer_rows(answer: ProjectedAnswer, words: Labels) -> Iterator[ReportRow]:
    """Walk the answer pooled over rivals, then in every combination of choices."""
    every = [*answer.pooled_rows, *(row for row in answer.rows if row.weights is None)]
    for row in every:
        label = ", ".join([*map(words, row.choices.values()), *(["pooled"] if row.weights else [])])
        yield answer_row(answer, row.choices, label)


def _by_dates(answer: DateAnswer, words: Labels) -> Iterator[ReportRow]:
    """Walk the dates that the question states, with how likely it is by each under the sentence's own choices."""
    found = answer.headline
    if found is not None and found.medians is None:
        for date, chance in zip(answer.dates, found.by, strict=False):
            yield ReportRow(label=f"by {on_date(date)}", cells=(percent(chance),))


# --- Quantities and limits --------------------------------------------------------------------------------------------


def _quantity_section(run: Projection, words: Labels, today: str) -> Section:
    """Return the quantities that are shown at the last date, and at the first one beside."""
    start, until = run.span
    shown = run.numeric if run.shown is None else [name for name in run.shown if name in run.numeric]
    rows = []
    for quantity in (run.quantities[name] for name in shown):
        for cell in quantity.cells:
            given = ", ".join(map(words, cell.values()))
            row = quantity_row(quantity, cell, f"{words(quantity.name)}{f': {given}' if given else ''}")
            first = quantity_row(quantity, cell, "", place=0).cells[0]
            rows.append(row if first == row.cells[0] else replace(row, cells=(*row.cells, first)))
    title = f"Median and 90 % interval in {as_text(until)}; the median in {as_text(start)} where it differs"
    regimes = [_regime(q, cell, words) for q in run.quantities.values() if q.kind == "regime" for cell in q.cells]
    helpers = [name for name in run.numeric if name not in shown]
    notes = [f"Step by step: --quantity NAME. Not shown: {printable(', '.join(helpers), _MAX_LIST)}"] if helpers else []
    notes = notes or ["Step by step: --quantity NAME"]
    groups = [RowGroup(rows=each) for each in ((ReportRow(label=title), *rows), tuple(regimes))]
    return groups, notes


def _regime(quantity: ProjectedQuantity, cell: dict[str, str], words: Labels) -> ReportRow:
    given = ", ".join(map(words, cell.values()))
    chances = quantity.probabilities(cell).items()
    text = ", ".join(fill("share", label=words(label), percent=percent(chance)) for label, chance in chances)
    return ReportRow(label=f"{words(quantity.name)}{f': {given}' if given else ''}", cells=(text,))


def limit_sentence(limit: ProjectedLimit, until: float) -> str:
    """Say of one limit in how many worlds it binds, and when it first does."""
    given = ", ".join(f"{choice} = {value}" for choice, value in limit.choices.items())
    what = f"{'limit' if limit.bound == 'limit' else 'floor'} of {limit.name}{f' ({given})' if given else ''}"
    last = as_text(until)
    if limit.ever is None:
        return f"{what}: failed"
    if not limit.ever:
        return f"{what} does not bind by {last}"
    first = str(limit.first["p50"])[:4]
    return f"{what} binds by {last} in {100 * limit.ever:.0f} % of worlds, first in {first} (median)"


def _limit_section(run: Projection, words: Labels, today: str) -> Section:
    return [], [limit_sentence(each, run.span[1]) for each in run.limits]


# --- Sources and warnings ---------------------------------------------------------------------------------------------


def _source_section(run: Projection, words: Labels, today: str) -> Section:
    notes = [
        f"{printable(name, 120)}: {printable(about['summary'], _MAX_SECTION_TEXT)}"
        for name, about in run.models.items()
    ]
    ages = data_ages(run, today)
    whole = record_sentences(run.scenario, run.labels)
    record = [track_record(run.models)] if whole is None else whole
    return [], [
        text
        for text in (printable(ages, _MAX_SECTION_TEXT), *(printable(each, _MAX_SECTION_TEXT) for each in record))
        if text
    ] + notes


def _warning_section(run: Projection, words: Labels, today: str) -> Section:
    notes = [printable(text, _MAX_SECTION_TEXT) for text in (*run.failures, *run.warnings)]
    for chosen, effective in run.effective():
        given = f" ({words.given(chosen)})" if chosen else ""
        count = "no world is possible"
        if effective is not None:
            count = f"{effective:,.0f} of {run.settings.draws:,} worlds are effective"
        notes.append(f"weighed by what is known of {', '.join(run.updated_by)}{given}: {count}")
    notes += [
        f"{row['name']}: {printable(row['note'], _MAX_SECTION_TEXT)}" for row in driver_rows(run) if "note" in row
    ]
    return [], notes


#: The sections by their names, in the order in which they are named.
SECTIONS: dict[str, Callable[[Projection, Labels, str], Section]] = {
    "answers": _answer_section,
    "quantities": _quantity_section,
    "limits": _limit_section,
    "sources": _source_section,
    "warnings": _warning_section,
}
