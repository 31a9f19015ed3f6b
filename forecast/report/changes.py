"""What a change does to the answers, in words: what it was, what it is, and the difference, question by question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from forecast.projection.result import DateAnswer, Projection, RankingAnswer, ValueAnswer
from forecast.projection.result.differences import AnswerDifference
from forecast.projection.result.shifts import SHIFT_LEVELS
from forecast.report.headline import Labels, on_date, span_texts
from forecast.report.rows import COLUMNS, ReportRow, RowGroup, question_label
from forecast.report.words.date_text import date_cell, fine_span
from forecast.report.words.number_text import amount, amount_range, format_number, percent
from forecast.report.words.patterns import fill, load_patterns

#: From so many months on years are said.
_MAX_MONTHS = 24


def effect(run: Projection) -> str:
    """Return the clause that says what a change does to the sentence's answer; empty where nothing stands beside it."""
    if not run.differences or _another_question(run):
        return ""
    for each in run.differences:
        if each.answer is run.opening and (rows := _answer_change_rows(each, Labels(run))):
            (number, row), (start, until) = rows[0], span_texts(run).values()
            by, new = _shift_text(each, number, each.shift), each.shift.get("new", 0.0)
            what = fill("moved", number, until=until, start=start)
            texts = {"what": what, "before": row.cells[0], "after": row.cells[1], "until": until, "by": by}
            texts |= {"new": percent(new), "where": _regime_clause(each) if by else ""}
            return fill("moves", number if by else "", "new" if new >= load_patterns()["hardly"] else "", **texts)
    any_moved = any(each.moved for each in run.differences)
    return ", which does not move this" if any_moved else ", which changes nothing here"


def moved_and_unmoved(run: Projection) -> tuple[RowGroup, list[str]]:
    """Return the numbers that a change moves, those of the sentence's answer first, and the questions it does not."""
    words = Labels(run)
    every = [(each, _answer_change_rows(each, words)) for each in run.differences]
    group = RowGroup(rows=tuple(row for _, rows in every for _, row in rows), columns=COLUMNS["change"])
    unmoved = [] if _another_question(run) else [_answer_label(each, words) for each, rows in every if not rows]
    return group, list(dict.fromkeys(unmoved))


def _another_question(run: Projection) -> bool:
    """Tell whether a definition was narrowed and nothing else: that is no change of what is forecast."""
    settings = run.settings
    only = all(key in run.definitions for key in settings.set) and not settings.swap and not settings.changes
    return only and not any(each.moved for each in run.differences)


def _answer_label(each: AnswerDifference, words: Labels) -> str:
    answer = each.answer
    if isinstance(answer, (DateAnswer, ValueAnswer)):
        return question_label(answer, answer.default, words)
    return words.title(words.short(answer.name, answer.title or answer.text), {})


def _answer_change_rows(each: AnswerDifference, words: Labels) -> list[tuple[str, ReportRow]]:
    """Return what a change moves of an answer, each row with the number that it is of."""
    answer = each.answer
    if not each.moved:
        return []
    label = "" if answer is answer.run.opening else _answer_label(each, words)
    by = _shift_text(each, "in_row", each.shift)
    if isinstance(answer, ValueAnswer):
        texts = (*(amount(value, answer.unit) for value in each.median), by or _ratio_text(*each.median))
        row = ReportRow(label=label or on_date(answer.date, short=True), cells=texts)
        return [("value", row)]
    rows: list[tuple[str, ReportRow]] = []

    def add(number: str, what: str, texts: tuple[str, ...], difference: str, shift: str = "") -> None:
        if shift != fill("shift", "same", "none") if shift else texts[0] != texts[1]:
            rows.append((number, ReportRow(label=f"{what}: {label}" if label else what, cells=(*texts, difference))))

    if isinstance(answer, RankingAnswer):
        best = zip(each.best, each.share, strict=True)
        texts = tuple(f"{words(name)} ({percent(share)})" if name else "none" for name, share in best)
        add("best", "first", texts, "another one" if each.best[0] != each.best[1] else _percentage_points(*each.share))
        stays = len(rows) if each.best[0] == each.best[1] else 0  # its value then comes first
        if not any(map(math.isnan, each.median)):
            texts = tuple(amount(value, answer.unit) for value in each.median)
            add("value", "its value", texts, _ratio_text(*each.median))
        rows[:] = [*rows[stays:], *rows[:stays]]
        add("among", "compared", tuple(map(str, each.among)), f"{each.among[1] - each.among[0]:+d}")
        return rows
    (start, until), ends = answer.run.span, span_texts(answer.run)
    sides, fine = zip(each.median, each.already, strict=True), fine_span(start, until)
    dates = tuple(date_cell(year, until, fine=fine, already=share >= 0.5, start=start) for year, share in sides)
    add("median", "median", dates, by or _years_difference(*each.median, dates), by)
    add("never", f"not by {ends['until']}", tuple(map(percent, each.never)), _percentage_points(*each.never))
    add("already", "already", tuple(map(percent, each.already)), _percentage_points(*each.already))
    return rows


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
    if shown and all(text[0].isdigit() for text in shown) and len(shown[0]) == len(shown[1]):
        one, other = (int(year) + (int(month or 1) - 1) / 12 for year, _, month in (t.partition("-") for t in shown))
        gap = other - one
    months = round(abs(gap) * 12)
    if not months:
        return f"days {'later' if gap > 0 else 'earlier'}" if gap else "none"
    count, unit = (months, "month") if months < _MAX_MONTHS else (round(abs(gap)), "year")
    return f"{count} {unit}{'s' if count != 1 else ''} {'later' if gap > 0 else 'earlier'}"


# --- World by world ---------------------------------------------------------------------------------------------------


def _shift_text(each: AnswerDifference, place: str, shift: Mapping[str, float | None]) -> str:
    """Say by how much an answer moves with its interval, in all worlds or under a value; empty where it is not known.

    It is not told of a date that less than half of the worlds reach without the change. The place is a sentence about a
    ``median`` date or a ``value``, ``where`` a regime has a value, or ``in_row``.
    """
    if not each.shift or not math.isfinite(each.median[0]):
        return ""
    quantiles = [math.inf if (end := shift[level]) is None else float(end) for level in SHIFT_LEVELS]
    if isinstance(each.answer, DateAnswer):
        by, ends = _years_shift(quantiles, fill("past", place, **span_texts(each.answer.run, short=place == "in_row")))
    else:
        by, ends = _value_shift(each.shift["kind"], quantiles, each.answer.unit)
    return fill("shift", place, "" if ends else "same", by, by=by, ends=ends)


def _regime_clause(each: AnswerDifference) -> str:
    """Say by how much an answer moves under each value of the regime that decides; empty where none does."""
    words, text = Labels(each.answer.run), ""
    for value, shift in each.by.get("values", {}).items():
        names = {"regime": words(each.by["regime"]), "value": words(value)}
        text += fill("shift_where", "" if text else "first", by=_shift_text(each, "where", shift), **names)
    return text


def _years_shift(quantiles: Sequence[float], past: str) -> tuple[str, str]:
    """Say by how much a date moves, and the ends of the interval; these are empty where they are said alike.

    They are negative where the date is earlier, and have a unit where it is not that of the median.

    Examples
    --------
    >>> _years_shift((0.0, 0.6, 6.2), "past 2060"), _years_shift((-6.0, -2.5, 1.5), "past 2060")
    (('7 months later', '0 to 6.2 years'), ('2 years earlier', '-6 to 1.5'))
    >>> _years_shift((-1.0, 0.0, 1.5), "past 2060"), _years_shift((2.0, 2.0, 2.0), "past 2060")
    (('none', '-12 to 18 months'), ('2 years later', ''))
    >>> _years_shift((0.0, 0.5, math.inf), "past 2060"), _years_shift((2.0, math.inf, math.inf), "past 2060")
    (('6 months later', '0 to past 2060'), ('past 2060', 'at least 2 years later'))
    """
    if all(12 * abs(each) < 1 for each in quantiles):
        return "none", ""
    low, median, high = quantiles
    by = _years_difference(0.0, median if 24 * abs(median) > 1 else 0.0) or past
    size = max(abs(end) for end in (low, high, 0.0) if math.isfinite(end))
    unit, scale = ("month", 12) if round(12 * size) < _MAX_MONTHS else ("year", 1)
    texts = [past if end == math.inf else format_number(round(scale * end, int(scale == 1))) for end in (low, high)]
    if size and unit not in by:
        texts[1 if math.isfinite(high) else 0] += f" {unit}{'' if round(scale * size) == 1 else 's'}"
    at_least = "at_least" if by == past and 12 * low >= 1 else ""
    return by, "" if texts[0] == texts[1] else fill("shift_ends", at_least, low=texts[0], high=texts[1])


def _value_shift(kind: str, quantiles: Sequence[float], unit: str) -> tuple[str, str]:
    """Say by how much a value moves, and the ends of the interval; these are empty where they are said alike.

    Examples
    --------
    >>> _value_shift("ratio", (0.25, 0.5, 1.0), "W"), _value_shift("ratio", (0.8, 1.1, 3.0), "W")
    (('2 times less', '-75 to 0 %'), ('+10 %', '-20 to 200 %'))
    >>> _value_shift("difference", (-2.0, 2.0, 3.0), "W"), _value_shift("difference", (-2.0, -2.0, -2.0), "W")
    (('+2 W', '-2 to 3 W'), ('-2 W', ''))
    """
    low, median, high = quantiles
    by = _ratio_text(1.0, median) if kind == "ratio" else f"{'+' if median > 0 else ''}{amount(median, unit)}"
    if kind == "ratio":
        low, high, unit = 100 * (low - 1), 100 * (high - 1), "percent"
    begin, end = amount_range(low, high, unit)
    return by, "" if begin == end else fill("shift_ends", low=begin, high=end)


def _percentage_points(before: float, after: float) -> str:
    """Say by how much a probability moves, in points of percent, as it is shown on either side.

    Examples
    --------
    >>> _percentage_points(0.1949, 0.2351), _percentage_points(0.47, 0.3)
    ('+5', '-17')
    """
    return f"{round(100 * after) - round(100 * before):+d}"


def _ratio_text(before: float, after: float) -> str:
    """Say by how much a value moves.

    Examples
    --------
    >>> _ratio_text(2.0, 1.0), _ratio_text(2.0, 2.2), _ratio_text(1.0, 1e6), _ratio_text(0.0, 2.0)
    ('2 times less', '+10 %', '1e6 times more', '')
    """
    if not (before > 0 and after > 0):
        return ""
    factor = after / before
    if 2 / 3 < factor < 1.5:
        return f"{100 * (factor - 1):+.2g} %"
    return f"{amount(max(factor, 1 / factor))} times {'more' if factor > 1 else 'less'}"
