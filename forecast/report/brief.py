"""An answer in brief: what one screen, the first figure, a page and a notebook show of it, as plain data."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from forecast.base.dates import decimal_year
from forecast.errors import printable
from forecast.evaluation.whole.scenario_record import screen_line
from forecast.models.shapes.track_record import coverage
from forecast.projection.result import (
    AnswerDistribution,
    DateAnswer,
    ProjectedAnswer,
    Projection,
    RankingAnswer,
    ValueAnswer,
)
from forecast.projection.result.observed_values import standing, starting
from forecast.projection.result.projected_answers import RankingRow
from forecast.report.changes import ChangedRow, changed_rows, unmoved
from forecast.report.driver_labels import driver_labels
from forecast.report.headline import LEVEL, Words, cells, event, first_sentence, headline, on_date, value_title
from forecast.report.result_data import drivers
from forecast.report.words.date_text import age, as_text
from forecast.report.words.number_text import amount, amount_range, percent, plain, scale_of, short_zeros
from forecast.report.words.patterns import fill
from forecast.sensitivity.first_order import certain

__all__ = [
    "MOST_ORDERS",
    "Brief",
    "Group",
    "Row",
    "brief",
    "called",
    "newest_data",
    "orders",
    "past_record",
    "row_of",
    "sizes",
]

#: So many drivers, tables, observations and levers are named.
_MOST_DRIVERS, _MOST_TABLES, _MOST_STANDINGS, _MOST_LEVERS = 5, 2, 3, 3
#: An observation is called by so many characters.
_LONGEST_ROW = 30
#: It is known, and told to three digits where an answer has two: 165 is not 160.
_DIGITS_OBSERVED = 3
#: Columns of a heading, so that what stands at its end is never cut.
_HEADING = 78
#: A ranking in more combinations of choices than this shows only the best value of each.
MOST_ORDERS = 2
#: What explains less than this share of the variance moves nothing worth a word.
_LEAST_SHARE = 0.02


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the chart.

    Parameters
    ----------
    label : str
        For people: a value of a choice, or the question.
    spread : AnswerDistribution or None
        None where it failed.
    text : str
        The median, or the range of medians.
    interval : str
        The 90 % interval.
    note : str
        The probability of never, or of being the best.
    of : str
        The choice whose value it is; empty where it is an answer of its own.
    leads : bool
        The sentence's own answer.
    repeats : bool
        A value of a choice under which the sentence's own answer has the same numbers.
    """

    label: str
    spread: AnswerDistribution | None
    text: str
    interval: str = ""
    note: str = ""
    of: str = ""
    leads: bool = False
    repeats: bool = False


@dataclass(frozen=True, kw_only=True)
class Group:
    """Rows on one axis.

    Parameters
    ----------
    rows : tuple of Row
    kind : {"date", "value"}
    unit : str
        Of values.
    ends : (float, float)
        Of the axis: the first and the last date, or the lowest and the highest end of an interval.
    factor : float or None
        By what the rows' texts divide values, where a heading names the unit; None where each names its own.
    log : bool
        The axis is logarithmic.
    note : str
        What the rows' notes are.
    title : str
        What the values are of, whole; empty where a heading or the sentence says it.
    """

    rows: tuple[Row, ...]
    kind: str = "date"
    unit: str = ""
    ends: tuple[float, float] = (0.0, 1.0)
    factor: float | None = None
    log: bool = False
    note: str = ""
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Brief:
    """An answer in brief.

    Parameters
    ----------
    sentence : str
    groups : tuple of Group
        What the sentence answers first, in order of importance; a reader with less room shows fewer rows.
    drivers : tuple of (str, float)
        What moves the sentence's answer, each alone, as shares of the variance.
    choices : mapping of str to float
        The shares of the choices, by what rows call them: those along which it differs most are shown first.
    together : float
        The share that several hold only together.
    levers : tuple of str
        What is typed to move it: options of the command, of the first levers of the scenario.
    races : tuple of str
        What comes first of several questions, a sentence each, but for the one that the answer opens with.
    by_today : str
        What a publication gave for that which was to come by today; empty for any other scenario.
    today : str
        What the questions are about as it was last observed; empty where nobody observes it.
    changes : tuple of ChangedRow
        What a change moves, where one was made.
    unmoved : tuple of str
        The questions that it does not move.
    level : str
        The interval of the sentence's answer at another level than 90 %, where one was asked for.
    data, record : str
        How old the newest data are, and how past forecasts of the kind have done; empty where nothing is known.
    memory : tuple of str
        Numbers on which the answer rests that its source has from memory.
    notes : tuple of str
        Texts that stand below the tables, as far as there is room.
    left : tuple of str
        The sections that are not shown, with how much each holds.
    """

    sentence: str
    groups: tuple[Group, ...] = ()
    drivers: tuple[tuple[str, float], ...] = ()
    choices: Mapping[str, float] = field(default_factory=dict)
    together: float = 0.0
    levers: tuple[str, ...] = ()
    races: tuple[str, ...] = ()
    by_today: str = ""
    today: str = ""
    changes: tuple[ChangedRow, ...] = ()
    unmoved: tuple[str, ...] = ()
    level: str = ""
    data: str = ""
    record: str = ""
    memory: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left: tuple[str, ...] = field(default=())


def brief(run: Projection, *, today: str = "", by: str = "", level: float = LEVEL) -> Brief:
    """Return a projection's answer in brief.

    Parameters
    ----------
    run : Projection
    today : str
        ISO; by it the ages of data are said. Without it their dates are, so that it says the same on every day.
    by : str
        A choice whose values come first.
    level : float
        Of an interval of the sentence's answer that is told beside that of 90 %.
    """
    words, opening = Words(run), run.opening
    moved = drivers(run, least=0.0, only=[opening.name])[0] if isinstance(opening, DateAnswer) else {"drivers": []}
    rows = moved["drivers"]
    alone = sum(row["share"] for row in rows)
    stated = next((row["name"] for row in rows if row["kind"] == "number"), "") if "note" in moved else ""
    return Brief(
        sentence=headline(run),
        changes=tuple(changed_rows(run)),
        unmoved=tuple(unmoved(run)),
        groups=tuple(group for group in _groups(run, words, by) if group.rows),
        drivers=tuple(_drivers(run, rows, stated)),
        choices={words(row["name"]): row["share"] for row in rows if row["kind"] == "choice"},
        together=max(0.0, 1.0 - alone) if rows else 0.0,
        levers=tuple(lever.command() for lever in run.levers if lever.name not in run.settings.set)[:_MOST_LEVERS],
        races=tuple(first_sentence(each, words) for each in run.firsts if each is not opening),
        by_today=by_today(run, words, today),
        today=last_observed(run, words),
        level="" if level == LEVEL else at_level(opening, level),
        data=newest_data(run, today),
        record=past_record(run),
        memory=tuple(_from_memory(run, words, [row["name"] for row in rows if row["share"] >= _LEAST_SHARE])),
        left=tuple(f"{name} ({size})" for name, size in sizes(run).items()),
    )


def _groups(run: Projection, words: Words, by: str) -> Iterator[Group]:
    opening = run.opening
    if isinstance(opening, DateAnswer):
        yield _dates(opening, words, by)
    others = [each for each in run.values if each is not opening]
    if isinstance(opening, ValueAnswer):
        yield _values(opening, words, by)
    yield Group(rows=tuple(_single(each, words) for each in others), kind="text")
    if isinstance(opening, ValueAnswer) and run.dates:
        yield _dates(run.dates[0], words, by, label=event(run.dates[0], {}, words, short=True))
    for ranking in run.rankings:
        yield from orders(ranking, words)
    if opening is None:
        yield Group(rows=tuple(_last(run, words)), kind="text")


# --- Dates and values -------------------------------------------------------------------------------------------------


def _dates(answer: DateAnswer, words: Words, by: str, *, label: str = "") -> Group:
    """Return a date under its definitions and its rivals, and the dates of the other questions.

    Its own row is called by its definitions where the sentence is about it, else by `label`.
    """
    rows = [*_along(answer, words, by, label)]
    for other in answer.run.dates:
        if other is not answer:
            named = {c: v for c, v in other.default.items() if f"{{{c}}}" in other.title}
            rows.append(row_of(other, other.default, event(other, named, words, short=True)))
    return Group(rows=tuple(rows), ends=answer.run.span, note="never")


def _values(answer: ValueAnswer, words: Words, by: str) -> Group:
    """Return a value under its definitions and rivals, on an axis of its unit."""
    return _scaled([*_along(answer, words, by, "")], answer.unit)


def _along(answer: ProjectedAnswer, words: Words, by: str, label: str) -> Iterator[Row]:
    """Walk the sentence's own answer, and it under the values of each choice, which repeat none of the sentence."""
    leading = row_of(answer, answer.default, label or _own(answer, words), leads=True)
    yield leading
    own = {**answer.default, **_sole(answer)}
    for choice in sorted(answer.choices, key=lambda c: (c != by, c not in answer.definitions)):
        values = answer.values(choice)
        for value in values if len(values) > 1 else ():
            if own.get(choice) != value:
                row = row_of(answer, {**answer.default, choice: value}, words(value), of=words(choice))
                # what was asked for by name is shown, whatever it says
                yield replace(row, repeats=choice != by and _numbers(row) == _numbers(leading))


def _numbers(row: Row) -> tuple[str, str, str]:
    return row.text, row.interval, row.note


def row_of(answer: ProjectedAnswer, chosen: Mapping[str, str], label: str, *, of: str = "", leads: bool = False) -> Row:
    """Return the line of an answer under values of choices."""
    found = answer.over(chosen)
    text, interval, note = ("failed", "", "") if found is None else cells(answer, found)
    return Row(label=label, spread=found, text=text, interval=interval, note=note, of=of, leads=leads)


def _own(answer: ProjectedAnswer, words: Words) -> str:
    """Call the answer of the sentence by its definition and by the rival that it rests on."""
    named = [words(value) for value in {**answer.default, **_sole(answer)}.values()]
    several = [d for d in answer.rivals if d not in _sole(answer)]
    if not named and not several:
        return called(answer, {}, words)
    return ", ".join(dict.fromkeys([*named, *(["pooled"] if several else [])]))


def called(answer: ProjectedAnswer, chosen: Mapping[str, str], words: Words) -> str:
    """Call a question by its label, or else by its title; a value at its date, by the month as in all rows."""
    if isinstance(answer, DateAnswer):
        return event(answer, chosen, words, short=True)
    assert isinstance(answer, ValueAnswer)
    on = on_date(answer.date)
    return f"{value_title(answer, chosen, words, short=True)}, {on if len(on) == 4 else on[:7]}"


def _sole(answer: ProjectedAnswer) -> dict[str, str]:
    """Return the rivals that have all the weight of their choice."""
    return {
        d: next(v for v, w in zip(answer.values(d), weights, strict=True) if w > 0)
        for d, weights in answer.rivals.items()
        if sum(w > 0 for w in weights) == 1
    }


def _single(answer: ValueAnswer, words: Words) -> Row:
    """Return the answer to another value question, at its last date."""
    return row_of(answer, answer.default, called(answer, answer.default, words))


# --- Orders -----------------------------------------------------------------------------------------------------------


def orders(answer: RankingAnswer, words: Words, most: float = MOST_ORDERS) -> Iterator[Group]:
    """Yield the groups of a ranking: its members in order, or only the best of each of many combinations of choices."""
    if len(answer.table) > most:
        best = [_winner(row, words) for row in answer.table]
        heading = Row(label=words.title(words.short(answer.name, answer.title), {}), spread=None, text="")
        yield Group(rows=(heading, *best), kind="text", note="best in")
    else:
        yield from (_order(answer, row, words) for row in answer.table)


def _winner(row: RankingRow, words: Words) -> Row:
    label = words.given(row.choices)
    if row.best is None:
        return Row(label=label, spread=None, text=fill("none_of_them"))
    note = "" if _decided(row) else percent(row.best.first)
    return Row(label=label, spread=None, text=words(row.best.name), note=note)


def _decided(row: RankingRow) -> bool:
    """Tell whether fixed numbers are ranked, one the best in all worlds: being the best then has no probability."""
    return all(each.first in (0.0, 1.0) and each.quantiles[0] == each.quantiles[4] for each in row.taking_part)


def _order(answer: RankingAnswer, row: RankingRow, words: Words) -> Group:
    """Return those that take part in a ranking, best first, in one unit."""
    taking = [each for each in row.taking_part if math.isfinite(each.median)]
    factor, unit = scale_of([each.median for each in taking], answer.unit)
    rows, decided = [], _decided(row)
    for each in taking:
        low, middle, high = (plain(each.quantiles[i] / factor) for i in (0, 2, 4))
        interval = fill("interval", "same" if low == high else "", low=low, high=high)
        found = AnswerDistribution(quantiles=each.quantiles)
        note = "" if decided else percent(each.first)
        rows.append(Row(label=words(each.name), spread=found, text=middle, interval=interval, note=note))
    given = words.given(row.choices)
    title = words.title(words.short(answer.name, answer.title or answer.text), row.choices)
    rest = f"{f' ({given})' if given else ''}{f' [{unit}]' if unit else ''}"
    heading = Row(
        label=textwrap.shorten(title, max(_HEADING - len(rest), 8), placeholder=" …") + rest, spread=None, text=""
    )
    group = _scaled([heading, *rows], answer.unit, factor=factor, note="best in")
    return replace(group, title=f"{title}{f' ({given})' if given else ''}")


def _scaled(rows: list[Row], unit: str, *, factor: float | None = None, note: str = "") -> Group:
    ends = [r.spread.quantiles[i] for r in rows if r.spread is not None for i in (0, 4)]
    ends = [end for end in ends if math.isfinite(end)]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    log = low > 0 and high / low > 10
    return Group(rows=tuple(rows), kind="value", unit=unit, ends=(low, high), factor=factor, log=log, note=note)


def _last(run: Projection, words: Words) -> Iterator[Row]:
    """Yield the shown quantities at the last date, for a scenario without a question."""
    for name in run.numeric if run.shown is None else run.shown:
        quantity = run.quantities[name]
        for cell in quantity.cells if name in run.numeric else ():
            low, middle, high = (float(quantity.quantiles(cell)[i][-1]) for i in (0, 2, 4))
            if math.isnan(middle):
                continue
            given = words.given(cell)
            begin, end = amount_range(low, high, quantity.unit, middle)
            interval = fill("interval", "same" if low == high else "", low=begin, high=end)
            label = f"{words(name)}{f' ({given})' if given else ''}"
            yield Row(label=label, spread=None, text=amount(middle, quantity.unit), interval=interval)


# --- Around it --------------------------------------------------------------------------------------------------------


def _drivers(run: Projection, rows: Sequence[Mapping[str, Any]], stated: str) -> Iterator[tuple[str, float]]:
    """Walk what moves the answer most, with the share of each; one number is marked as stated and not fitted."""
    most = [row for row in rows[:_MOST_DRIVERS] if row["share"] >= _LEAST_SHARE]
    labels = driver_labels(run, [row["name"] for row in most])
    for row, label in zip(most, labels, strict=True):
        if row["name"] == stated:
            label = f"{label[:-1]}, stated, not fitted)" if label.endswith(")") else f"{label} (stated, not fitted)"
        yield label, row["share"]


def last_observed(run: Projection, words: Words) -> str:
    """Say what the questions are about as it was last observed, that of the sentence first."""
    told: dict[str, str] = {}
    unseen: list[ProjectedAnswer] = []
    opening = [run.opening] if isinstance(run.opening, (DateAnswer, ValueAnswer)) else []
    for answer in (*opening, *run.dates, *run.values):
        if len(told) == _MOST_STANDINGS:
            break
        found = standing(answer)
        if found is None:
            unseen.append(answer)
        elif found.of not in told:
            row = printable(textwrap.shorten(found.row, _LONGEST_ROW, placeholder=" …"), _LONGEST_ROW)
            behind = ", ".join(filter(None, [row, found.date[:7]]))
            named = words(found.of) if found.of in run.quantities else f"'{short_zeros(found.of)}'"
            told[found.of] = f"{named} {amount(found.value, found.unit, _DIGITS_OBSERVED)} ({behind})"
    return "; ".join([*told.values(), *_computed(run, words, unseen, _MOST_STANDINGS - len(told))])


def by_today(run: Projection, words: Words, today: str) -> str:
    """Say what a publication gave for what it asks to be so by today, that of the sentence first.

    Nothing where it is of today or later or starts later, where something in it was set or changed, so that it is no
    longer what was published, and for what is no matter of chance.
    """
    changed = run.settings.set or run.settings.swap or run.settings.changes or run.given
    if not today or not run.published_on or run.published_on >= today or changed or certain(run):
        return ""
    if (year := float(decimal_year([today])[0])) < run.span[0]:
        return ""
    answers = sorted(run.dates, key=lambda answer: answer is not run.opening)
    told = [each for each in answers if each.headline is not None and each.headline.medians is None]
    if not told or told[0] is not run.opening:
        return ""
    first, *others = ((answer, percent(answer.probability(year))) for answer in told[:_MOST_STANDINGS])
    rest = (fill("by_today", "of", event=event(a, a.default, words, short=True), p=p) for a, p in others)
    return "; ".join([fill("by_today", p=first[1]), *rest])


def _computed(run: Projection, words: Words, answers: Sequence[ProjectedAnswer], most: int) -> Iterator[str]:
    """Walk what answers are about that nobody observes, as computed at the first step: so many of them, as one text."""
    told: dict[str, str] = {}
    for answer in answers:
        if len(told) == most:
            break
        found = starting(answer)
        if found is not None and found.of not in told:
            told[found.of] = f"{words(found.of)} {amount(found.value, found.unit, _DIGITS_OBSERVED)}"
    if told:
        when = f"computed for {as_text(run.span[0], fine=True)}"
        yield f"{when}: {', '.join(told.values())}"


def at_level(answer: ProjectedAnswer | None, level: float) -> str:
    """Say the interval of an answer at a level; empty where it has none."""
    if not isinstance(answer, (DateAnswer, ValueAnswer)) or answer.headline is None:
        return ""
    low, high = answer.interval(level)
    if math.isnan(low) or math.isnan(high):
        return ""
    ends = replace(answer.headline, quantiles=(low, low, answer.headline.median, high, high))
    return f"{100 * level:g} % interval: {cells(answer, ends, level)[1]}"


def newest_data(run: Projection, today: str) -> str:
    """Say how old the newest data are."""
    ages = sorted(run.newest.items(), key=lambda item: item[1], reverse=True)
    told = []
    for name, date in ages[:_MOST_TABLES]:
        short = printable(name.rpartition("/")[2], 40)
        if today:
            now, then = decimal_year(np.array([today, date], dtype="datetime64[s]"))
            told.append(f"{short} {date[:7]} ({age(float(now - then)) if now >= then else 'planned'})")
        else:
            told.append(f"{short} {date}")
    more = f", and {len(ages) - len(told)} more to {ages[-1][1][:7]}" if len(ages) > len(told) else ""
    return f"{', '.join(told)}{more}" if told else ""


def past_record(run: Projection) -> str:
    """Say the coverage of past intervals: of the scenario as a whole where it keeps a record, else of its shapes."""
    whole = screen_line(run.scenario, run.shown or (), run.labels)
    if whole is not None:
        return whole
    rows = coverage(run.models)
    if not rows:
        return ""
    shares = [row["held"] for row in rows.values()]
    ends = " to ".join(dict.fromkeys(f"{100 * share:.0f}" for share in (min(shares), max(shares))))
    count = min(row["forecasts"] for row in rows.values())
    shapes = f"trend shape {next(iter(rows))}" if len(rows) == 1 else f"{len(rows)} trend shapes used here"
    return f"Record: {ends} % of {count:,} past 90 % intervals of the {shapes} held, up to ten years ahead"


def sizes(run: Projection) -> dict[str, int]:
    """Return how much each section of the answer holds, of those that hold anything."""
    answers = sum(each.row_count for each in (*run.dates, *run.values))
    answers += sum(len(each.table) for each in run.rankings) + sum(len(each.table) for each in run.firsts)
    bounds = [bound for stated in run.constraints.values() for bound in ("limit", "at_least") if bound in stated]
    counts = {
        "answers": answers,
        "quantities": len(run.quantities),
        "limits": len(bounds),
        "sources": len(run.models),
        "warnings": len(run.failures) + len(run.warnings),
    }
    return {name: size for name, size in counts.items() if size}


def _from_memory(run: Projection, words: Words, drivers: Sequence[str]) -> Iterator[str]:
    """Walk the numbers that move an answer and that somebody stated from memory."""
    for name in drivers if isinstance(run.opening, DateAnswer) else run.uncertain:
        owner, _, short = name.rpartition(".")
        lines = run.models.get(owner, {}).get("assumptions", ())
        if any("from memory" in line for line in lines if line.startswith(f"{short} [")):
            yield words.driver(name)
