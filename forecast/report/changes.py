"""What a change does to the answers, in words: what it was, what it is, and the difference, question by question."""

from __future__ import annotations

import math
import re

from forecast.projection.result import DateAnswer, Projection, RankingAnswer, ValueAnswer
from forecast.projection.result.differences import AnswerDifference
from forecast.report.headline import Labels, event, on_date, value_title
from forecast.report.rows import COLUMNS, ReportRow, RowGroup
from forecast.report.words.date_text import as_text, fine_span
from forecast.report.words.number_text import amount, percent
from forecast.report.words.patterns import fill

__all__ = ["changed_group", "effect", "unchanged_questions"]

#: A date as rows have it: a year, or a year and a month.
_DATE_TEXT = re.compile(r"\d{4}(?:-\d{2})?", re.ASCII)


def effect(run: Projection) -> str:
    """Return the clause that says what a change does to the sentence's answer; empty where nothing stands beside it."""
    if not run.differences or _another_question(run):
        return ""
    first = next((each for each in run.differences if each.answer is run.opening), None)
    rows = [] if first is None else _answer_change_rows(first, Labels(run))
    if rows:
        number, row = rows[0]
        what = fill("moved", number, until=as_text(run.span[1]), start=as_text(run.span[0]))
        return f", which moves {what} from {row.cells[0]} to {row.cells[1]}"
    moved = any(each.moved for each in run.differences)
    return ", which does not move this" if moved else ", which changes nothing here"


def changed_group(run: Projection) -> RowGroup:
    """Return the numbers that a change moves, those of the sentence's answer first."""
    words = Labels(run)
    rows = (row for each in run.differences for _, row in _answer_change_rows(each, words))
    return RowGroup(rows=tuple(rows), columns=COLUMNS["change"])


def unchanged_questions(run: Projection) -> list[str]:
    """Return the questions that a change does not move, as rows call them."""
    words = Labels(run)
    if _another_question(run):
        return []
    return list(
        dict.fromkeys(_answer_label(each, words) for each in run.differences if not _answer_change_rows(each, words))
    )


def _another_question(run: Projection) -> bool:
    """Tell whether a definition was narrowed and nothing else: that is no change of what is forecast."""
    settings = run.settings
    only = all(key in run.definitions for key in settings.set) and not settings.swap and not settings.changes
    return only and not any(each.moved for each in run.differences)


def _answer_label(each: AnswerDifference, words: Labels) -> str:
    answer = each.answer
    if isinstance(answer, DateAnswer):
        return event(answer, answer.default, words, short=True)
    if isinstance(answer, ValueAnswer):
        return f"{value_title(answer, answer.default, words, short=True)}, {on_date(answer.date)}"
    return words.title(words.short(answer.name, answer.title or answer.text), {})


def _answer_change_rows(each: AnswerDifference, words: Labels) -> list[tuple[str, ReportRow]]:
    """Return what a change moves of an answer, each row with the number that it is of."""
    answer = each.answer
    label = "" if answer is answer.run.opening else _answer_label(each, words)
    if isinstance(answer, ValueAnswer):
        texts = tuple(amount(value, answer.unit) for value in each.median)
        row = ReportRow(label=label or on_date(answer.date), cells=(*texts, _ratio(*each.median)))
        return [("value", row)] if each.moved else []
    rows: list[tuple[str, ReportRow]] = []

    def add(number: str, what: str, texts: tuple[str, ...], difference: str) -> None:
        if texts[0] != texts[1]:
            rows.append((number, ReportRow(label=f"{what}: {label}" if label else what, cells=(*texts, difference))))

    if isinstance(answer, RankingAnswer):
        texts = tuple(f"{words(best)} ({percent(share)})" for best, share in zip(each.best, each.share, strict=True))
        add("best", "first", texts, "another one" if each.best[0] != each.best[1] else _percentage_points(*each.share))
        if not any(map(math.isnan, each.median)):
            texts = tuple(amount(value, answer.unit) for value in each.median)
            add("value", "its value", texts, _ratio(*each.median))
        add("among", "compared", tuple(map(str, each.among)), f"{each.among[1] - each.among[0]:+d}")
        return rows
    start, until = answer.run.span
    dates = tuple(_date_change(each, side, start, until) for side in (0, 1))
    add("median", "median", dates, _years_difference(*each.median, dates))
    for number, shares, by in (
        ("never", each.never, f"not by {as_text(until)}"),
        ("already", each.already, f"by {as_text(start)}"),
    ):
        add(number, by, tuple(map(percent, shares)), _percentage_points(*shares))
    return rows


def _date_change(each: AnswerDifference, side: int, start: float, until: float) -> str:
    median = each.median[side]
    flag = "never" if not math.isfinite(median) else "already" if median <= start else ""
    date = as_text(median, fine=fine_span(start, until), short=True)
    return fill("date_in_row", flag, until=as_text(until), date=date)


def _years_difference(before: float, after: float, shown: tuple[str, ...] = ()) -> str:
    """Say by how much a date moves: what a reader finds who takes one from the other as shown.

    Examples
    --------
    >>> _years_difference(2030.0, 2030.25), _years_difference(2040, 2037), _years_difference(2030, float("inf"))
    ('3 months later', '3 years earlier', '')
    >>> _years_difference(2048.4, 2042.9, ("2048", "2043"))
    '5 years earlier'
    >>> _years_difference(2028.73, 2029.08, ("2028-09", "2029-01"))
    '4 months later'
    """
    gap = after - before
    if not math.isfinite(gap):
        return ""
    if shown and all(_DATE_TEXT.fullmatch(text) for text in shown) and len(shown[0]) == len(shown[1]):
        one, other = (int(year) + (int(month or 1) - 1) / 12 for year, _, month in (t.partition("-") for t in shown))
        gap = other - one
    months = round(abs(gap) * 12)
    if not months:
        return f"days {'later' if gap > 0 else 'earlier'}" if gap else "none"
    count, unit = (months, "month") if months < 24 else (round(abs(gap)), "year")
    return f"{count} {unit}{'s' if count != 1 else ''} {'later' if gap > 0 else 'earlier'}"


def _percentage_points(before: float, after: float) -> str:
    """Say by how much a probability moves, in points of percent, as it is shown on either side.

    Examples
    --------
    >>> _percentage_points(0.1949, 0.2351), _percentage_points(0.47, 0.3)
    ('+5', '-17')
    """
    return f"{round(100 * after) - round(100 * before):+d}"


def _ratio(before: float, after: float) -> str:
    """Say by how much a value moves.

    Examples
    --------
    >>> _ratio(2.0, 1.0), _ratio(2.0, 2.2), _ratio(1.0, 1e6), _ratio(0.0, 2.0)
    ('2 times less', '+10 %', '1e6 times more', '')
    """
    if not (before > 0 and after > 0):
        return ""
    factor = after / before
    if 2 / 3 < factor < 1.5:
        return f"{100 * (factor - 1):+.2g} %"
    return f"{amount(max(factor, 1 / factor))} times {'more' if factor > 1 else 'less'}"
