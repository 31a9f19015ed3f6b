"""The sentence that opens an answer: its numbers in the patterns of `forecast.report.words`, and what was changed."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forecast.errors import printable
from forecast.projection.result import DateAnswer, FirstAnswer, ProjectedAnswer, Projection, RankingAnswer, ValueAnswer
from forecast.projection.result.projected_answers import AnswerDistribution, RankingRow
from forecast.report.words.date_text import as_text, fine_interval, fine_span
from forecast.report.words.number_text import amount, percent, short_zeros
from forecast.report.words.patterns import fill
from forecast.scenarios.quantities.changes import as_phrase as change_phrase
from forecast.scenarios.setting_values import as_phrase, as_text as setting_text
from forecast.sensitivity.of_answer import uncertain

__all__ = [
    "LEVEL",
    "MAX_COMBINATIONS",
    "MAX_NAMED",
    "Words",
    "cells",
    "changed",
    "contestant",
    "event",
    "first_sentence",
    "first_shares",
    "headline",
    "on_date",
    "pooled_over",
    "sentence",
    "value_title",
]  # fmt: skip

#: So many combinations stand in one sentence; of more the range is said.
MAX_COMBINATIONS = 3
#: Of the interval that every sentence, row and figure tells.
LEVEL = 0.9
#: Digits of a number that stands in a title: it is stated, not estimated.
_STATED = 6
#: What parameters of models of this house are called for people.
_PARAMETERS = {"member": "which source", "log_level": "level"}
#: So many values of a choice are named in one sentence.
MAX_NAMED = 6
#: So many values at the same dates are said together.
_MAX_VALUES = 3


class Words:
    """What the names of a projection are called for people.

    Parameters
    ----------
    run : Projection
    """

    def __init__(self, run: Projection) -> None:
        self.run = run
        self._labels = run.labels

    def __call__(self, name: str) -> str:
        """Return the label of a quantity, a choice or a value, or else its name."""
        return printable(self._labels.get(name, name), 60)

    def short(self, name: str, title: str) -> str:
        """Return the label of a question where it has one, for where there is little room; else its title."""
        return self(name) if name in self._labels else title

    def given(self, chosen: Mapping[str, str]) -> str:
        """Say values of choices: ``metric: HPCG``."""
        return ", ".join(f"{self(choice)}: {self(value)}" for choice, value in chosen.items())

    def driver(self, name: str, *, stated: bool = False) -> str:
        """Call what moves an answer by its label, or without the plugins behind its names; of many the first."""
        (said, of), *others = (self.number(each) for each in name.split(", "))
        if len(others) == 1:
            said, of = f"{said}{f' ({of})' if of else ''} with {others[0][0]}", others[0][1]
        elif others:
            said, of = f"{said}{f' ({of})' if of else ''} with {len(others)} more that move together", ""
        beside = ", ".join(filter(None, (of, "stated, not fitted" if stated else "")))
        return f"{said}{f' ({beside})' if beside else ''}"

    def number(self, name: str) -> tuple[str, str]:
        """Return what an uncertain number is called, and its model and shape: ``("growth", "hpcg, pooled")``."""
        owner, dot, parameter = name.rpartition(".")
        if not dot or self(name) != name:
            return self(name), ""
        series, _, shape = owner.rpartition("/")[2].partition("@")
        of = ", ".join(self(each) for each in (series, shape) if each)
        return _PARAMETERS.get(parameter, printable(parameter.replace("_", " "), 60)), of

    def title(self, text: str, chosen: Mapping[str, str]) -> str:
        """Fill the names in braces of a title: of a choice its value's label, of a quantity what it is."""

        def fill(brace: re.Match[str]) -> str:
            article, filled = brace[1] or "", self._filled(brace[2], chosen)
            return filled if filled.startswith("each ") else f"{article}{filled}"

        return printable(re.sub(r"(\b(?:the|an?) )?\{([^{}]*)\}", fill, text), 300)

    def _filled(self, name: str, chosen: Mapping[str, str]) -> str:
        choices = self.run.choices
        if name in choices:
            if name not in chosen and len(choices[name].values) > 1:
                return f"each {self(name)}"
            return self(chosen.get(name, choices[name].values[0]))
        if name not in self.run.numeric:
            return name
        quantity = self.run.quantities[name]
        cells = [c for c in quantity.cells if all(chosen.get(k, v) == v for k, v in c.items())]
        low, middle, high = (float(quantity.quantiles(cells[0])[i][-1]) for i in (0, 2, 4))
        unit = quantity.unit
        if low == high:
            return amount(middle, unit, _STATED)
        return f"{amount(middle, unit)} ({amount(low, unit)} to {amount(high, unit)})"


def headline(run: Projection) -> str:
    """Return the sentence that opens the answer, and what a change does to it where one is known."""
    from forecast.report.changes import effect  # which says it in the words of this module

    words = Words(run)
    text = sentence(run.opening, words) if run.opening is not None else _level(run, words)
    given = f"Given {printable(short_zeros(' and '.join(run.given)), 600)}: " if run.given else ""
    return f"{given}{text}{changed(run, words)}{effect(run)}."


def sentence(answer: ProjectedAnswer, words: Words) -> str:
    """Return what one answer says, without what was changed for it."""
    if isinstance(answer, DateAnswer):
        return _date_sentence(answer, words)
    if isinstance(answer, ValueAnswer):
        return _value_sentence(answer, words)
    if isinstance(answer, FirstAnswer):
        return first_sentence(answer, words)
    assert isinstance(answer, RankingAnswer)
    return _ranking_sentence(answer, words)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _span(texts: Sequence[str], *, between: str = "range") -> str:
    """Write the lowest and the highest of several, or the one text that both are."""
    low, high = texts[0], texts[-1]
    return fill(between, "same_text" if low == high else "", low=low, high=high)


# --- What was changed -------------------------------------------------------------------------------------------------


def changed(run: Projection, words: Words) -> str:
    """Say what was set, swapped and changed, and what stood there instead."""
    choices, settings = run.choices, run.settings
    told = []
    for key, value in settings.set.items():
        if key not in choices:
            replaced = settings.replaced.get(key)
            was = _stated(**replaced) if replaced and not _same(value, replaced["stated"]) else ""
            number = _number(value, replaced["unit"]) if replaced else ""
            now = f" = {number}" if number else setting_text({key: value})[0].removeprefix(key)
            told.append(f"{words(key)}{now}{f' instead of {was}' if was else ''}")
        elif isinstance(value, str) and "," not in value:
            told.append(words.given({key: value}))
    told += setting_text(settings.swap)
    told += [change_phrase(change) for change in settings.changes]
    return f"; with {printable(', '.join(told), 1000)}" if told else ""


def _number(value: Any, unit: str) -> str:
    """Say a bare number that was set, in the unit in which it counts; nothing of what says its own, or is no number."""
    try:
        return amount(float(value), unit, _STATED)
    except (TypeError, ValueError):
        return ""


def _same(value: Any, stated: Mapping[str, Any]) -> bool:
    """Tell whether a number was set to what it is stated as."""
    try:
        return "value" in stated and float(value) == float(stated["value"])
    except (TypeError, ValueError):  # a unit, a range or a distribution
        return False


def _stated(stated: Mapping[str, Any], unit: str) -> str:
    """Say what a number was stated as."""
    if set(stated) == {"value"}:
        return amount(stated["value"], unit, _STATED) if isinstance(stated["value"], (int, float)) else ""
    if {"p05", "p95"} <= set(stated):
        return f"{amount(stated['p05'], unit)} to {amount(stated['p95'], unit)}"
    families = ("normal", "lognormal", "uniform", "loguniform")
    family = next((f for f in families if isinstance(stated.get(f), (list, tuple))), None)
    if family is not None:
        low, high = (float(end) for end in stated[family][:2])
        return f"{amount(low, unit)} to {amount(high, unit)}"
    if "made" in stated:
        return f"its {'formula' if stated['made'] == 'expression' else stated['made']}"
    return as_phrase(dict(stated))


# --- Dates ------------------------------------------------------------------------------------------------------------


def event(answer: DateAnswer, chosen: Mapping[str, str], words: Words, *, short: bool = False) -> str:
    """Return what a question asks the date of, as a clause; a definition that it does not name stands behind it.

    A title that a setting may have made untrue is not used: it may spell out a number that stands in the condition.

    Parameters
    ----------
    answer : DateAnswer
    chosen : mapping of str to str
        The definitions that it is about.
    words : Words
    short : bool
        By the question's label, where it has one.
    """
    title = answer.title
    named = set(re.findall(r"\{([^{}]*)\}", title))
    of = set(re.findall(r"[A-Za-z_]\w*", answer.text))
    replaced = answer.run.settings.replaced
    spelt = {key for key, was in replaced.items() if set(was["stated"]) == {"value"}}
    if not title or (spelt & of) - named:
        title, named = f"'{short_zeros(answer.text)}' holds", set()
    elif short:
        title = words.short(answer.name, title)
    rest = {choice: value for choice, value in chosen.items() if choice not in named}
    filled = words.title(title, chosen)
    return f"{filled} ({words.given(rest)})" if rest else filled


def pooled_over(answer: ProjectedAnswer, words: Words) -> str:
    """Say over which choices an answer is pooled."""
    weighed = [words(d) for d, w in answer.rivals.items() if sum(share > 0 for share in w) > 1]
    return fill("pooled", "" if weighed else "none", choices=" and ".join(weighed))


def _date_sentence(answer: DateAnswer, words: Words) -> str:
    found = answer.headline
    what = event(answer, answer.default, words)
    start, until = answer.run.span
    texts: dict[str, Any] = {"what": what, "What": _capital(what), "given": "", "until": as_text(until)}
    if found is None:
        return fill("when", "failed", **texts)
    texts["start"] = as_text(start)
    if found.medians is not None:
        free = [d for d in answer.choices if d not in answer.default and d not in answer.rivals]
        return _several_dates(found, " and ".join(map(words, free)), texts, start, until)
    low, high = found.quantiles[0], found.quantiles[4]
    fine = fine_interval(low, high)
    by, already = percent(1 - found.never), percent(found.already)
    flags = {
        "same": low == high,
        "dated": not found.never,
        "certain": not math.isfinite(low) and not any(number.moves for number in uncertain(answer.run).values()),
        "never_low": not math.isfinite(low),
        "never_median": not math.isfinite(found.median),
        "already_some": found.already >= 0.05,
        "already_half": found.already >= 0.5,
        "already_most": found.already >= 0.95,
        "already_all": by == already,
    }
    return fill(
        "when",
        *(flag for flag, holds in flags.items() if holds),
        **texts,
        pooled=pooled_over(answer, words),
        low=_date(low, until, fine, already=found.already >= 0.05),
        high=_date(high, until, fine, already=found.already >= 0.95),
        low_month=as_text(low, fine=True),
        low_year=as_text(low),
        median=as_text(found.median, fine=fine),
        already=already,
        never=percent(found.never),
        by=by,
    )


def _several_dates(found: AnswerDistribution, free: str, texts: Mapping[str, Any], start: float, until: float) -> str:
    """Say the range of medians over rivals that nobody has weighed."""
    assert found.medians is not None
    low, high = found.medians
    fine = fine_interval(low, high)
    flags = {
        "several": True, "same": low == high, "already_low": low <= start,
        "never_low": not math.isfinite(low), "never_high": not math.isfinite(high),
    }  # fmt: skip
    return fill(
        "when",
        *(flag for flag, holds in flags.items() if holds),
        **texts,
        free=free,
        chances=_span([percent(1 - never) for never in reversed(found.nevers)]),
        nevers=_span([percent(never) for never in found.nevers]),
        begin=fill("begin", "already" if low <= start else "", start=texts["start"], date=as_text(low, fine=fine)),
        end=_date(high, until, fine),
    )


def _date(year: float, until: float, fine: bool, *, already: bool = False, row: bool = False) -> str:
    flag = "never" if not math.isfinite(year) else "already" if already else ""
    date = as_text(year, fine=fine, short=row)
    return fill("date_in_row" if row else "date", flag, until=as_text(until), date=date)


def cells(answer: ProjectedAnswer, found: AnswerDistribution, level: float = LEVEL) -> tuple[str, str, str]:
    """Return what a row of a table says of an answer: its median, its interval of a level, and how likely never is."""
    low, middle, high = (found.quantiles[i] for i in (0, 2, 4))
    if isinstance(answer, DateAnswer):
        start, until = answer.run.span
        fine = fine_span(start, until)

        def text(year: float, share: float) -> str:
            return _date(year, until, fine, already=found.already >= share, row=True)

        if found.medians is not None:
            return _span([text(low, 0.5), text(high, 0.5)]), "", _span([percent(n) for n in found.nevers])
        ends = (text(low, round((1 - level) / 2, 12)), text(high, round((1 + level) / 2, 12)))
        return text(middle, 0.5), _interval(low, high, *ends), percent(found.never)
    texts = (amount(low, answer.unit), amount(high, answer.unit))
    if found.medians is not None:
        return _span(texts), "", ""
    return amount(middle, answer.unit), _interval(low, high, *texts), ""


def _interval(low: float, high: float, begin: str, end: str) -> str:
    flags = ("same" if low == high else "", "same_text" if begin == end else "")
    return fill("interval", *flags, low=begin, high=end)


# --- Values, races, orders --------------------------------------------------------------------------------------------


def _value_sentence(answer: ValueAnswer, words: Words) -> str:
    """Say a value, with the value questions that follow it at the same dates."""
    order = answer.run.values
    beside = itertools.takewhile(lambda each: each.dates == answer.dates, order[order.index(answer) :])
    told = [_one_value(each, words, opens=each is answer) for each in itertools.islice(beside, _MAX_VALUES)]
    return _capital("; ".join(told))


def value_title(answer: ValueAnswer, chosen: Mapping[str, str], words: Words, *, short: bool = False) -> str:
    """Return what a value is called, with the definitions that its title does not name."""
    stated = answer.title or (f"growth of {answer.text}" if answer.growth else answer.text)
    title = words.title(words.short(answer.name, stated) if short else stated, chosen)
    rest = {} if short else {c: v for c, v in chosen.items() if f"{{{c}}}" not in answer.title}
    return f"{title}{f' ({words.given(rest)})' if rest else ''}"


def on_date(date: str) -> str:
    """Say the date of a value: the year, where it is the first of it."""
    return date[:4] if date.endswith("-01-01") else date


def _one_value(answer: ValueAnswer, words: Words, *, opens: bool) -> str:
    found = answer.headline
    texts: dict[str, Any] = {
        "what": value_title(answer, answer.default, words),
        "given": "",
        "on": on_date(answer.date),
    }
    if found is None:
        return fill("value", "failed", **texts)
    if found.medians is not None:
        medians = _span([amount(end, answer.unit) for end in found.medians])
        return fill("value", "several", **texts, medians=medians, count=found.count)
    low, median, high = (amount(found.quantiles[i], answer.unit) for i in (0, 2, 4))
    flags = ("same" if found.quantiles[0] == found.quantiles[4] else "", "opens" if opens else "")
    return fill("value", *flags, **texts, low=low, median=median, high=high, pooled=pooled_over(answer, words))


def first_shares(answer: FirstAnswer, label: Any) -> Iterator[tuple[str, str]]:
    """Walk what may come first with its probability in words, the likeliest first; then several at once, and none."""
    row = answer.sentence_row
    if row is not None:
        order = sorted(row.first.items(), key=lambda item: -sum(item[1]))
        yield from ((label(name), _span([percent(end) for end in ends])) for name, ends in order)
        if row.together[1]:
            yield fill("several_at_once"), _span([percent(end) for end in row.together])
        yield fill("none_of_them"), _span([percent(end) for end in row.none])


def first_sentence(answer: FirstAnswer, words: Words) -> str:
    """Say what comes first of several questions, and how likely none does."""
    title, row = answer.title or "what comes first", answer.sentence_row
    if row is None:
        return fill("first", "failed", What=_capital(words.title(title, {})))
    rest = {choice: value for choice, value in row.choices.items() if f"{{{choice}}}" not in title}
    told = (
        fill("share", label=label, percent=chance)
        for label, chance in first_shares(answer, lambda name: contestant(answer.run, name, words))
    )
    return fill(
        "first",
        What=_capital(words.title(title, row.choices)),
        given=f" ({words.given(rest)})" if rest else "",
        until=as_text(answer.run.span[1]),
        shares=", ".join(told),
    )


def contestant(run: Projection, name: str, words: Words) -> str:
    """Return what may come first, as a clause if it has a title."""
    answer = run.answers[name]
    return event(answer, {}, words, short=True) if answer.title and isinstance(answer, DateAnswer) else words(name)


def _ranking_sentence(answer: RankingAnswer, words: Words) -> str:
    """Say who is best, and where: combinations of choices that have the same best one are said together."""
    rows = answer.table
    title = words.title(answer.title or f"the {answer.best} {answer.text}", rows[0].choices)
    alike: dict[str | None, list[RankingRow]] = {}
    for row in rows:
        alike.setdefault(None if row.best is None else row.best.name, []).append(row)
    told = [
        _best(answer, own, words, alone=len(alike) == 1) for own in itertools.islice(alike.values(), MAX_COMBINATIONS)
    ]
    left = sum(len(own) for own in itertools.islice(alike.values(), MAX_COMBINATIONS, None))
    return fill("rank", "more" if left else "", What=_capital(title), best="; ".join(told), left=left)


def _best(answer: RankingAnswer, rows: Sequence[RankingRow], words: Words, *, alone: bool) -> str:
    """Say who is best under one or several combinations of choices; what is next, where there is only one."""
    row, where = rows[0], _where(rows, words, alone=alone)
    if row.best is None:
        conditions = " and ".join(answer.conditions) or "what is asked"
        return fill("best", "none", count=len(row.order), conditions=conditions, where=where)
    chances = sorted(each.best.first for each in rows if each.best is not None)
    ahead = (each for each in row.taking_part if each is not row.best)
    second = next((words(each.name) for each in ahead), "") if len(rows) == 1 and alone else ""
    texts = {"label": words(row.best.name), "where": where, "second": second}
    return fill(
        "best", "second" if second else "", **texts, chances=_span([percent(c) for c in (chances[0], chances[-1])])
    )


def _where(rows: Sequence[RankingRow], words: Words, *, alone: bool) -> str:
    """Say under which choices."""
    choices = list(rows[0].choices)
    if not choices:
        return fill("where", "nowhere")
    if alone and len(rows) > 1:
        return fill("where", "everywhere", choices=" and ".join(map(words, choices)), given="")
    given = (
        [words(row.choices[choices[0]]) for row in rows] if len(choices) == 1 else
        [words.given(row.choices) for row in rows]
    )  # fmt: skip
    more = len(given) > MAX_NAMED
    named = given[: MAX_NAMED - 1] if more else given
    stem = f"{words(choices[0])}: " if len(choices) == 1 else ""
    return fill("where", "more" if more else "", stem=stem, named=", ".join(named), left=len(given) - len(named))


def _level(run: Projection, words: Words) -> str:
    """Say the first shown quantity at the last date, for a scenario without a question."""
    name = next((n for n in (*(run.shown or ()), *run.numeric) if n in run.numeric), "")
    title = (run.title or run.scenario).rstrip(".") if not name else run.title or run.scenario
    if not name:
        return title
    quantity = run.quantities[name]
    cell = next(iter(quantity.cells), {})
    low, middle, high = (quantity.quantiles(cell)[i] for i in (0, 2, 4))
    first, last = run.span
    begin, end = amount(float(middle[0]), quantity.unit), amount(float(middle[-1]), quantity.unit)
    least, most = amount(float(low[-1]), quantity.unit), amount(float(high[-1]), quantity.unit)
    what = fill(
        "level",
        "moves" if begin != end else "",
        "certain" if least == most else "",
        What=_capital(words(name)),
        given=f" ({words.given(cell)})" if cell else "",
        begin=begin,
        end=end,
        start=as_text(first),
        until=as_text(last),
        low=least,
        high=most,
    )
    return f"{title}{'' if title.endswith('?') else ':'} {what}"
