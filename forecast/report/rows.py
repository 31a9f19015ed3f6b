"""The rows of an answer: what screen, sections, notebook, page and figures lay out, each number written once."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from forecast.base.quantiles import DEFAULT_LEVEL
from forecast.errors import first_names
from forecast.projection.result import (
    AnswerDistribution,
    DateAnswer,
    FirstAnswer,
    ProjectedAnswer,
    ProjectedQuantity,
    Projection,
    RankingAnswer,
    ValueAnswer,
)
from forecast.projection.result.projected_answers import RankingRow
from forecast.report.headline import MIN_SELDOM_SHARE, Labels, event, first_shares, on_date, share_text, value_title
from forecast.report.words.date_text import as_text, date_cell, fine_interval, fine_span
from forecast.report.words.number_text import (
    amount,
    amount_range,
    format_number,
    interval_text,
    percent,
    range_text,
    scale_of,
)
from forecast.report.words.patterns import fill
from forecast.sensitivity.first_order import certain

#: What stands above the cells of rows, by what these are of: the page reads it too.
COLUMNS = {
    "date": ("median", "90 %", "not by the end"),
    "value": ("median", "90 %", ""),
    "rank": ("median", "90 %", "best in", "tier"),
    "first": ("share of worlds",),
    "change": ("as it was", "changed", "difference"),
}


def date_columns(until: float) -> tuple[str, ...]:
    """Return the columns of dates that are asked for up to a last one: what *never* means there is said."""
    return tuple(f"not by {as_text(until)}" if "not by" in name else name for name in COLUMNS["date"])


#: A ranking in more combinations of choices than this shows only the best value of each.
MAX_RANKING_COMBINATIONS = 2
#: Columns of a terminal for a heading, so that what stands at its end is never cut.
_HEADING_WIDTH = 78


@dataclass(frozen=True, kw_only=True)
class ReportRow:
    """One line of a table.

    Parameters
    ----------
    label : str
        For people: a value of a choice, or the question.
    cells : tuple of str
        What stands beside it, under the columns of its group from the first on; none of a heading.
    spread : AnswerDistribution or None
        What is drawn of it; None where it failed, or is no number.
    share : float
        The share of worlds that is drawn of it instead.
    of : str
        The choice whose value it is; empty where it is an answer of its own.
    leads : bool
        The sentence's own answer.
    repeats : bool
        A value of a choice under which the sentence's own answer has the same numbers.
    """

    label: str
    cells: tuple[str, ...] = ()
    spread: AnswerDistribution | None = None
    share: float = math.nan
    of: str = ""
    leads: bool = False
    repeats: bool = False

    @property
    def is_heading(self) -> bool:
        """Whether it heads the rows below it."""
        return self.spread is None and not self.cells


@dataclass(frozen=True, kw_only=True)
class RowGroup:
    """Rows of one kind.

    Parameters
    ----------
    rows : tuple of ReportRow
    columns : tuple of str
        What the cells of rows are.
    kind : {"text", "date", "value"}
        Whether they have an axis, and of what.
    unit : str
        Of values.
    ends : (float, float)
        Of the axis: the first and the last date, or the lowest and the highest end of an interval.
    factor : float or None
        By what the rows' texts divide values, where a heading names the unit; None where each names its own.
    log : bool
        The axis is logarithmic.
    title : str
        What the values are of, whole; empty where a heading or the sentence says it.
    """

    rows: tuple[ReportRow, ...]
    columns: tuple[str, ...] = COLUMNS["value"]
    kind: str = "text"
    unit: str = ""
    ends: tuple[float, float] = (0.0, 1.0)
    factor: float | None = None
    log: bool = False
    title: str = ""

    @property
    def heading(self) -> str:
        """The heading of all its rows; empty where the first is no heading."""
        return self.rows[0].label if self.rows and self.rows[0].is_heading else ""

    @property
    def body(self) -> tuple[ReportRow, ...]:
        """The rows below that."""
        return self.rows[bool(self.heading) :]

    @property
    def heads(self) -> list[str]:
        """The columns where a table names them: none without a cell, and no median of what has no axis."""
        used = [any(column) for column in zip(*map(self.cells, self.rows), strict=True)]
        return [name if used[i] and (i or self.kind != "text") else "" for i, name in enumerate(self.columns)]

    def cells(self, row: ReportRow) -> tuple[str, ...]:
        """Return the cells of one of its rows, one a column."""
        return (*row.cells, *[""] * (len(self.columns) - len(row.cells)))


# --- Dates and values -------------------------------------------------------------------------------------------------


def table_cells(answer: ProjectedAnswer, found: AnswerDistribution, level: float = DEFAULT_LEVEL) -> tuple[str, ...]:
    """Return the cells of an answer, one a column of `COLUMNS`: its median, its interval of a level, and never.

    Where nothing is drawn, never has no probability.
    """
    low, middle, high = (found.quantiles[i] for i in (0, 2, 4))
    if isinstance(answer, DateAnswer):
        first, last = answer.run.span
        fine = fine_interval(low, high) if found.medians is None else fine_span(first, last)

        def text(year: float, share: float) -> str:
            return date_cell(year, last, fine=fine, already=found.already >= share, start=first)

        if found.medians is not None:
            return range_text([text(low, 0.5), text(high, 0.5)]), "", range_text([percent(n) for n in found.nevers])
        ends = (text(low, round((1 - level) / 2, 12)), text(high, round((1 + level) / 2, 12)))
        never = "" if _is_certain(answer.run, found) else percent(found.never)
        return text(middle, 0.5), interval_text(low, high, *ends), never
    if found.medians is not None:
        return (range_text(amount_range(low, high, answer.unit)),)
    return value_cells(found, answer.unit)


def value_cells(found: AnswerDistribution, unit: str) -> tuple[str, ...]:
    """Return the cells of a value: its median and its interval."""
    low, middle, high = (found.quantiles[i] for i in (0, 2, 4))
    return amount(middle, unit), interval_text(low, high, *amount_range(low, high, unit, middle))


def _is_certain(run: Projection, found: AnswerDistribution) -> bool:
    """Return True if all worlds give one date because nothing that differs between them moves it."""
    date = found.quantiles[0]
    if date != found.quantiles[4] or found.never not in (0.0, 1.0):
        return False
    return run.span[0] < date < math.inf or certain(run)


def answer_row(
    answer: ProjectedAnswer, chosen: Mapping[str, str], label: str, *, of: str = "", leads: bool = False
) -> ReportRow:
    """Return the row of an answer under values of choices."""
    found = answer.over(chosen)
    texts = (answer.run.unanswered(chosen),) if found is None else table_cells(answer, found)
    return ReportRow(label=label, spread=found, cells=texts, of=of, leads=leads)


def question_label(answer: ProjectedAnswer, chosen: Mapping[str, str], words: Labels) -> str:
    """Call a question by its label, or else by its title; a value at its date, by the month as in all rows."""
    if isinstance(answer, DateAnswer):
        return event(answer, chosen, words, short=True)
    assert isinstance(answer, ValueAnswer)
    title = value_title(answer, chosen, words, short=True)
    return title if answer.undated else f"{title}, {on_date(answer.date, short=True)}"


def quantity_row(quantity: ProjectedQuantity, chosen: Mapping[str, str], label: str, place: int = -1) -> ReportRow:
    """Return the row of a quantity at a step, by default the last one, under values of choices."""
    low, lower, middle, upper, high = map(float, quantity.quantiles(chosen)[:, place])
    found = AnswerDistribution(quantiles=(low, lower, middle, upper, high))
    return ReportRow(label=label, spread=found, cells=value_cells(found, quantity.unit))


def scaled_group(
    rows: list[ReportRow], unit: str, *, kind: str = "value", factor: float | None = None, title: str = ""
) -> RowGroup:
    """Return rows of values on an axis that holds their intervals."""
    ends = [r.spread.quantiles[i] for r in rows if r.spread is not None for i in (0, 4)]
    ends = [end for end in ends if math.isfinite(end)]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    log = low > 0 and high / low > 10
    return RowGroup(
        rows=tuple(rows), columns=COLUMNS[kind], kind="value", unit=unit, ends=(low, high), factor=factor, log=log,
        title=title,
    )  # fmt: skip


# --- What is first, and what is best ----------------------------------------------------------------------------------


def race_group(answer: FirstAnswer, words: Labels) -> RowGroup:
    """Return what may come first with its share of the worlds, as the sentence says it."""
    row = answer.sentence_row
    choices = {} if row is None else row.choices
    title = words.title(answer.title or "what comes first", choices)
    rows = [
        ReportRow(label=label, cells=(share_text(ends),), share=sum(ends) / 2)
        for label, ends in first_shares(answer, words)
    ]
    return RowGroup(
        rows=tuple(rows) or (ReportRow(label=answer.run.unanswered(choices)),),
        columns=COLUMNS["first"],
        title=f"{title}{f' ({words.given(choices)})' if choices else ''}",
    )


def ranking_groups(answer: RankingAnswer, words: Labels, most: float = MAX_RANKING_COMBINATIONS) -> Iterator[RowGroup]:
    """Yield the groups of a ranking: its members in order, or only the best of each of many combinations of choices."""
    if len(answer.table) > most:
        best = [_winner_row(row, words) for row in answer.table]
        heading = ReportRow(label=words.title(words.short(answer.name, answer.title), {}))
        title = words.title(answer.title or answer.text, {})
        yield RowGroup(rows=(heading, *best), columns=COLUMNS["rank"], title=title)
    else:
        yield from (_ranking_group(answer, row, words) for row in answer.table)


def _winner_row(row: RankingRow, words: Labels) -> ReportRow:
    label = words.given(row.choices)
    if row.best is None:
        return ReportRow(label=label, cells=(fill("none_of_them"),), share=0.0)
    count = len(row.first_tier)
    note = fill("tied", "none" if count < 2 else "", percent=percent(row.best.first), count=count)
    cells = words(row.best.name), "", "" if _is_decided(row) else note
    return ReportRow(label=label, cells=cells, share=row.best.first)


def _is_decided(row: RankingRow) -> bool:
    """Tell whether fixed numbers are ranked, one the best in all worlds: being the best then has no probability."""
    return all(each.first in (0.0, 1.0) and each.quantiles[0] == each.quantiles[4] for each in row.taking_part)


def _ranking_group(answer: RankingAnswer, row: RankingRow, words: Labels) -> RowGroup:
    """Return those that take part in a ranking, best first, in one unit."""
    taking = [each for each in row.taking_part if math.isfinite(each.median)]
    factor, unit = scale_of([each.median for each in taking], answer.unit)
    rows, decided = [], _is_decided(row)
    for each in taking:
        low, middle, high = (format_number(each.quantiles[i] / factor) for i in (0, 2, 4))
        interval = fill("interval", "same" if low == high else "", low=low, high=high)
        note = "" if decided else percent(each.first)
        tier = str(each.tier) if each.tier and not decided else ""
        rows.append(ReportRow(label=words(each.name), spread=each, cells=(middle, interval, note, tier)))
    if taking and row.seldom >= MIN_SELDOM_SHARE:
        others = [words(each.name) for each in row.order if each.first >= MIN_SELDOM_SHARE and not each.takes_part]
        label = fill("seldom", "named" if others else "", names=first_names(others, 2))
        rows.append(ReportRow(label=label, cells=("", "", percent(row.seldom)), share=row.seldom))
    choices = words.given(row.choices)
    title = words.title(words.short(answer.name, answer.title or answer.text), row.choices)
    rest = f"{f' ({choices})' if choices else ''}{f' [{unit}]' if unit else ''}"
    short = textwrap.shorten(title, max(_HEADING_WIDTH - len(rest), 8), placeholder=" …")
    whole = f"{title}{f' ({choices})' if choices else ''}"
    group = scaled_group(rows, answer.unit, kind="rank", factor=factor, title=whole)
    return replace(group, rows=(ReportRow(label=f"{short}{rest}"), *group.rows))
