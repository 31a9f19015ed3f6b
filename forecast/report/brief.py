"""An answer in brief: what one screen, the first figure, a page and a notebook show of it, as plain data."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from forecast.base.dates import decimal_year
from forecast.base.lazy import xr
from forecast.errors import printable
from forecast.models.shapes.track_record import coverage
from forecast.projection.source_tables import newest
from forecast.report.answer_distributions import AnswerDistribution, ReportedAnswer, ReportedDate, ReportedValue
from forecast.report.headline import Words, best_of, dates_of, event, headline, opening, said_race
from forecast.report.plain_data import attribute
from forecast.report.rankings import rankings
from forecast.report.result_data import drivers
from forecast.report.value_quantiles import ValueQuantiles
from forecast.report.words.date_text import FINE, age, as_text
from forecast.report.words.number_text import amount, percent, plain, scale_of

__all__ = ["MOST_ORDERS", "Brief", "Group", "Row", "brief", "newest_data", "past_record"]

#: So many drivers, tables and names of what is left out are named.
_MOST_DRIVERS, _MOST_TABLES = 5, 2
#: Columns of a heading, so that what stands at its end is never cut.
_HEADING = 78
#: A ranking that is asked oftener than this is shown by its best ones.
MOST_ORDERS = 2
#: What explains less than this share of the variance moves nothing worth a word.
_LEAST_SHARE = 0.02


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the chart.

    Parameters
    ----------
    label : str
        For people: a value of a choice, or what is asked.
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
    """

    label: str
    spread: AnswerDistribution | None
    text: str
    interval: str = ""
    note: str = ""
    of: str = ""
    leads: bool = False


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
    together : float
        The share that several hold only together.
    races : tuple of str
        What comes first of several questions, a sentence each, but for the one that the answer opens with.
    data, record : str
        How old the newest data are, and how past forecasts of the kind have done; empty where nothing is known.
    left : tuple of str
        What is not shown.
    """

    sentence: str
    groups: tuple[Group, ...] = ()
    drivers: tuple[tuple[str, float], ...] = ()
    together: float = 0.0
    races: tuple[str, ...] = ()
    data: str = ""
    record: str = ""
    left: tuple[str, ...] = field(default=())


def brief(tree: xr.DataTree, *, today: str = "", by: str = "") -> Brief:
    """Return a projection's answer in brief.

    Parameters
    ----------
    tree : xarray.DataTree
        From `forecast.project` or `forecast.load`.
    today : str
        ISO; by it the ages of data are said. Without it their dates are, so that it says the same on every day.
    by : str
        A choice whose values come first.
    """
    words = Words(tree)
    name, kind = opening(tree)
    groups = [group for group in _groups(tree, words, name, kind, by) if group.rows]
    found = drivers(tree, least=0.0, only=[name])[0] if kind == "when" else {"drivers": []}
    moved = found["drivers"]
    alone = sum(row["share"] for row in moved)
    stated = next((row["name"] for row in moved if row["kind"] == "number"), "") if "note" in found else ""
    return Brief(
        sentence=headline(tree),
        groups=tuple(groups),
        drivers=tuple(
            (words.driver(d["name"], stated=d["name"] == stated), d["share"])
            for d in moved[:_MOST_DRIVERS]
            if d["share"] >= _LEAST_SHARE
        ),
        together=max(0.0, 1.0 - alone) if moved else 0.0,
        races=tuple(
            said_race(tree, each, words)
            for each in (attribute(tree, "first") if "first" in tree.attrs else {})
            if each != name
        ),
        data=newest_data(tree, today),
        record=past_record(tree),
        left=tuple(_left(tree)),
    )


def _groups(tree: xr.DataTree, words: Words, name: str, kind: str, by: str) -> Iterator[Group]:
    if kind == "when":
        yield _dates(tree, words, name, by)
    if "values" in tree.attrs:
        names = sorted(attribute(tree, "values"), key=lambda each: each != name)
        first = [ReportedValue(tree, names[0])] if kind == "value" else []
        yield from (_values(tree, words, figure, by) for figure in first)
        yield Group(rows=tuple(_single(tree, words, each) for each in names[len(first) :]), kind="text")
    if kind == "value" and (asked := list(attribute(tree, "questions"))):
        yield _dates(tree, words, asked[0], by, label=event(tree, asked[0], {}, words, short=True))
    if "rankings" in tree.attrs:
        yield from _orders(tree, words)
    if not kind:
        yield Group(rows=tuple(_last(tree, words)), kind="text")


# --- Dates ------------------------------------------------------------------------------------------------------------


def _dates(tree: xr.DataTree, words: Words, name: str, by: str, *, label: str = "") -> Group:
    """Return a question under its definitions and its rivals, and the other questions.

    Its own row is called by its definitions where the sentence is about it, else by `label`.
    """
    question = ReportedDate(tree, name)
    first, last = dates_of(tree)
    rows = [_dated(words, question, question.default, first, last, label=label or _own(words, question), leads=True)]
    for choice in sorted(question.choices, key=lambda c: (c != by, c not in question.definitions)):
        rows += _along(words, question, choice, first, last)
    for other in attribute(tree, "questions"):
        if other != name:
            asked = ReportedDate(tree, other)
            named = {
                c: v for c, v in asked.default.items() if f"{{{c}}}" in attribute(tree, "questions")[other]["title"]
            }
            label = event(tree, other, named, words, short=True)
            rows.append(_dated(words, asked, asked.default, first, last, label=label))
    return Group(rows=tuple(rows), ends=(first, last), note="never")


def _own(words: Words, question: ReportedAnswer) -> str:
    """Call the answer of the sentence by its definition and by the rival that it rests on."""
    named = [words(value) for value in {**question.default, **_sole(question)}.values()]
    pooled = [d for d in question.rivals if d not in _sole(question)]
    return ", ".join(dict.fromkeys([*named, *(["pooled"] if pooled else [])])) or "answer"


def _sole(asked: ReportedAnswer) -> dict[str, str]:
    """Return the rivals that have all the weight of their choice."""
    return {
        d: next(v for v, w in zip(asked.values(d), weights, strict=True) if w > 0)
        for d, weights in asked.rivals.items()
        if sum(w > 0 for w in weights) == 1
    }


def _along(words: Words, question: ReportedDate, choice: str, first: float, last: float) -> Iterator[Row]:
    """Walk the values of one choice, the others as in the sentence; those of the sentence itself are not repeated."""
    values = question.values(choice)
    if len(values) < 2:
        return
    own = {**question.default, **_sole(question)}
    for value in values:
        if own.get(choice) != value:
            chosen = {**question.default, choice: value}
            yield _dated(words, question, chosen, first, last, label=words(value), of=words(choice))


def _dated(
    words: Words, question: ReportedDate, chosen: dict[str, str], first: float, last: float, **more: object
) -> Row:
    spread = question.spread(chosen)
    if spread is None:
        return Row(spread=None, text="failed", **more)  # type: ignore[arg-type]
    low, middle, high = (spread.quantiles[i] for i in (0, 2, 4))
    fine = last - first < 3 * FINE

    def date(year: float, level: float) -> str:
        if not math.isfinite(year):
            return f">{as_text(last)}"
        return "already" if spread.already >= level else as_text(year, fine=fine, short=True)

    if spread.medians is not None:
        nevers = "-".join(dict.fromkeys(percent(n) for n in spread.nevers))
        return Row(spread=spread, text=f"{date(low, 0.5)} to {date(high, 0.5)}", note=nevers, **more)  # type: ignore[arg-type]
    begins, ends = date(low, 0.05), date(high, 0.95)
    interval = "" if low == high else begins if begins == ends else f"{begins} to {ends}"
    return Row(spread=spread, text=date(middle, 0.5), interval=interval, note=percent(spread.never), **more)  # type: ignore[arg-type]


# --- Values and orders ------------------------------------------------------------------------------------------------


def _values(tree: xr.DataTree, words: Words, figure: ReportedValue, by: str) -> Group:
    """Return a value under its definitions and rivals, on an axis of its unit."""
    rows = [_valued(words, figure, figure.default, label=_own(words, figure), leads=True)]
    for choice in sorted(figure.choices, key=lambda c: (c != by, c not in figure.definitions)):
        rows += [
            _valued(words, figure, {**figure.default, choice: value}, label=words(value), of=words(choice))
            for value in figure.values(choice)
            if {**figure.default, **_sole(figure)}.get(choice) != value and len(figure.values(choice)) > 1
        ]
    return _scaled(rows, figure.unit)


def _valued(words: Words, figure: ReportedValue, chosen: dict[str, str], **more: object) -> Row:
    spread = figure.spread(chosen)
    if spread is None:
        return Row(spread=None, text="failed", **more)  # type: ignore[arg-type]
    low, middle, high = (amount(spread.quantiles[i], figure.unit) for i in (0, 2, 4))
    if spread.medians is not None:
        return Row(spread=spread, text=f"{low} to {high}", **more)  # type: ignore[arg-type]
    ends = f"{low} to {high}" if low != high else ""
    return Row(spread=spread, text=middle, interval=ends, **more)  # type: ignore[arg-type]


def _single(tree: xr.DataTree, words: Words, name: str) -> Row:
    """Return another value that is asked for, at its last date."""
    asked, figure = attribute(tree, "values")[name], ReportedValue(tree, name)
    stated = asked["title"] or asked.get("value") or f"growth of {asked.get('growth')}"
    title = words.title(words.short(name, stated), figure.default)
    date = asked["dates"][-1]
    return _valued(words, figure, figure.default, label=f"{title}, {date[:4] if date.endswith('-01-01') else date}")


def _orders(tree: xr.DataTree, words: Words) -> Iterator[Group]:
    """Walk the rankings: who takes part in each, or the best ones of one that is asked many times."""
    for name in attribute(tree, "rankings"):
        rows = [row for row in rankings(tree) if row["name"] == name]
        if len(rows) > MOST_ORDERS:
            best = [_winner(words, row) for row in rows]
            heading = Row(label=words.title(words.short(name, rows[0]["title"]), {}), spread=None, text="")
            yield Group(rows=(heading, *best), kind="text", note="best in")
        else:
            yield from (_order(words, row) for row in rows)


def _winner(words: Words, row: dict[str, Any]) -> Row:
    label = words.given(row["choices"])
    if (best := best_of(row)) is None:
        return Row(label=label, spread=None, text="none")
    return Row(label=label, spread=None, text=words(best["name"]), note=percent(best["first"]))


def _order(words: Words, row: dict[str, Any]) -> Group:
    """Return those that take part in a ranking, best first, in one unit."""
    taking = [entry for entry in row["order"] if entry["among"] >= 0.5 and entry["p50"] is not None]
    spreads = [
        AnswerDistribution(quantiles=(entry["p05"], entry["p25"], entry["p50"], entry["p75"], entry["p95"]))
        for entry in taking
    ]
    factor, unit = scale_of([s.median for s in spreads], row["unit"])
    rows = []
    for entry, spread in zip(taking, spreads, strict=True):
        low, middle, high = (plain(spread.quantiles[i] / factor) for i in (0, 2, 4))
        ends = f"{low} to {high}" if low != high else ""
        label = words(entry["name"])
        rows.append(Row(label=label, spread=spread, text=middle, interval=ends, note=percent(entry["first"])))
    given = words.given(row["choices"])
    title = words.title(words.short(row["name"], row["title"] or row["rank"]), row["choices"])
    rest = f"{f' ({given})' if given else ''}{f' [{unit}]' if unit else ''}"
    heading = Row(
        label=textwrap.shorten(title, max(_HEADING - len(rest), 8), placeholder=" …") + rest, spread=None, text=""
    )
    made = _scaled([heading, *rows], row["unit"], factor=factor, note="best in")
    return replace(made, title=f"{title}{f' ({given})' if given else ''}")


def _scaled(rows: list[Row], unit: str, *, factor: float | None = None, note: str = "") -> Group:
    ends = [r.spread.quantiles[i] for r in rows if r.spread is not None for i in (0, 4)]
    ends = [end for end in ends if math.isfinite(end)]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    log = low > 0 and high / low > 10
    return Group(rows=tuple(rows), kind="value", unit=unit, ends=(low, high), factor=factor, log=log, note=note)


def _last(tree: xr.DataTree, words: Words) -> Iterator[Row]:
    """Walk the quantities that are shown, at the last date: no question is asked."""
    levels = ValueQuantiles(tree)
    shown = attribute(tree, "show") if "show" in tree.attrs else levels.names()
    for name in shown:
        for cell in levels.cells(name) if name in levels.names() else ():
            unit = str(levels.kept[name].attrs["units"])
            low, middle, high = (float(levels.quantiles(name, cell)[i][-1]) for i in (0, 2, 4))
            if math.isnan(middle):
                continue
            given = words.given(cell)
            ends = f"{amount(low, unit)} to {amount(high, unit)}" if low != high else ""
            label = f"{words(name)}{f' ({given})' if given else ''}"
            yield Row(label=label, spread=None, text=amount(middle, unit), interval=ends)


# --- Around it --------------------------------------------------------------------------------------------------------


def newest_data(tree: xr.DataTree, today: str) -> str:
    """Say how old the newest data are."""
    ages = sorted(newest(tree).items(), key=lambda item: item[1], reverse=True)
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


def past_record(tree: xr.DataTree) -> str:
    """Say how often past intervals of forecasts of this kind have held."""
    rows = coverage(attribute(tree, "models"))
    if not rows:
        return ""
    shares = [row["held"] for row in rows.values()]
    ends = " to ".join(dict.fromkeys(f"{100 * share:.0f}" for share in (min(shares), max(shares))))
    count = min(row["forecasts"] for row in rows.values())
    shapes = f"trend shape {next(iter(rows))}" if len(rows) == 1 else f"{len(rows)} trend shapes used here"
    held_in = f"{ends} % of {count:,} past forecasts, up to ten years ahead"
    return f"Record: the 90 % intervals of the {shapes} contained the outcome in {held_in}"


def _left(tree: xr.DataTree) -> Iterator[str]:
    """Name what a brief answer leaves out."""
    questions = tree["questions"].to_dataset() if "questions" in tree else None
    if questions is not None:
        several = [
            math.prod(questions[name].sizes[d] for d in questions[name].dims if d != "quantile")
            for name in attribute(tree, "questions")
        ]
        if sum(several) > len(several):
            yield f"{sum(several)} answers by choices"
    levels = ValueQuantiles(tree).names()
    yield f"{len(levels)} quantit{'ies' if len(levels) > 1 else 'y'} over time"
    if "limits" in tree.attrs:
        yield "limits"
    if models := attribute(tree, "models"):
        yield f"{len(models)} model{'s' if len(models) > 1 else ''} with sources"
