"""The sentence that opens an answer: the first question's, in effective values, and what was changed for it."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forecast.base.dates import decimal_year
from forecast.base.lazy import xr
from forecast.errors import printable
from forecast.report.answer_distributions import AnswerDistribution, ReportedDate, ReportedValue
from forecast.report.plain_data import attribute
from forecast.report.rankings import rankings
from forecast.report.value_quantiles import ValueQuantiles
from forecast.report.value_text import race
from forecast.report.words.date_text import FINE, as_text
from forecast.report.words.number_text import amount, percent
from forecast.scenarios.quantities.changes import as_phrase as spoken_change
from forecast.scenarios.setting_values import as_phrase, as_text as said_settings
from forecast.sensitivity.of_answer import uncertain

__all__ = [
    "MOST_NAMED", "MOST_SAID", "Words", "best_of", "changed", "contestant", "dates_of", "event", "headline", "opening",
    "said_race",
]  # fmt: skip

#: So many combinations stand in one sentence; of more the range is said.
MOST_SAID = 3
#: Digits of a number that stands in a title: it is stated, not estimated.
_STATED = 6
#: What is said where all worlds agree.
_CERTAIN = "no uncertainty is stated"
#: What parameters of models of this house are called for people.
_PARAMETERS = {"member": "which source", "log_level": "level"}
#: So many values of a choice are named in one sentence.
MOST_NAMED = 6


class Words:
    """What the names of a projection are called for people.

    Parameters
    ----------
    tree : xarray.DataTree
    """

    def __init__(self, tree: xr.DataTree) -> None:
        self.tree = tree
        self._labels: dict[str, str] = attribute(tree, "labels") if "labels" in tree.attrs else {}

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
        (said, of), *others = (self._number(each) for each in name.split(", "))
        if len(others) == 1:
            said, of = f"{said}{f' ({of})' if of else ''} with {others[0][0]}", others[0][1]
        elif others:
            said, of = f"{said}{f' ({of})' if of else ''} with {len(others)} more that move together", ""
        beside = ", ".join(filter(None, (of, "stated, not fitted" if stated else "")))
        return f"{said}{f' ({beside})' if beside else ''}"

    def _number(self, name: str) -> tuple[str, str]:
        """Return what a number is called, and its model and shape: ``("growth", "hpcg, pooled")``."""
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
        choices = attribute(self.tree, "choices")
        if name in choices:
            if name not in chosen and len(choices[name]) > 1:
                return f"each {self(name)}"
            return self(chosen.get(name, choices[name][0]))
        levels = ValueQuantiles(self.tree)
        if name not in levels.names():
            return name
        cells = [c for c in levels.cells(name) if all(chosen.get(k, v) == v for k, v in c.items())]
        low, middle, high = (float(levels.quantiles(name, cells[0])[i][-1]) for i in (0, 2, 4))
        unit = str(levels.kept[name].attrs["units"])
        if low == high:
            return amount(middle, unit, _STATED)
        return f"{amount(middle, unit)} ({amount(low, unit)} to {amount(high, unit)})"


def opening(tree: xr.DataTree) -> tuple[str, str]:
    """Return which question opens the answer and its kind: when, value, first, rank; empty where none is asked."""
    first = attribute(tree, "opens") if "opens" in tree.attrs else ""
    for kind, key in (("when", "questions"), ("rank", "rankings"), ("value", "values"), ("first", "first")):
        names = list(attribute(tree, key)) if key in tree.attrs else []
        if names and (not first or first in names):
            return first or names[0], kind
    return "", ""


def headline(tree: xr.DataTree) -> str:
    """Return the sentence that opens the answer."""
    name, kind = opening(tree)
    words = Words(tree)
    made = {"when": _when, "value": _value, "first": said_race, "rank": _rank}.get(kind, _level)
    return f"{made(tree, name, words)}{changed(tree, words)}."


# --- What was changed -------------------------------------------------------------------------------------------------


def changed(tree: xr.DataTree, words: Words) -> str:
    """Say what was set, swapped and changed, and what stood there instead."""
    choices = attribute(tree, "choices")
    replaced = attribute(tree, "replaced") if "replaced" in tree.attrs else {}
    told = []
    for key, value in attribute(tree, "set").items():
        if key not in choices:
            was = _stated(**replaced[key]) if key in replaced and not _same(value, replaced[key]["stated"]) else ""
            stands = _number(value, replaced[key]["unit"]) if key in replaced else ""
            stands = f" = {stands}" if stands else said_settings({key: value})[0].removeprefix(key)
            told.append(f"{words(key)}{stands}{f' instead of {was}' if was else ''}")
        elif isinstance(value, str) and "," not in value:
            told.append(words.given({key: value}))
    swaps = attribute(tree, "swap") if "swap" in tree.attrs else {}
    told += said_settings(swaps)
    told += [spoken_change(change) for change in (attribute(tree, "changes") if "changes" in tree.attrs else [])]
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


def event(tree: xr.DataTree, name: str, chosen: Mapping[str, str], words: Words, *, short: bool = False) -> str:
    """Return what a question asks the date of, as a clause; a definition that it does not name stands behind it.

    A title that a setting may have made untrue is not used: it may spell out a number that stands in the condition.

    Parameters
    ----------
    tree : xarray.DataTree
    name : str
    chosen : mapping of str to str
        The definitions that it is about.
    words : Words
    short : bool
        By the question's label, where it has one.
    """
    asked = attribute(tree, "questions")[name]
    title = asked["title"]
    named = set(re.findall(r"\{([^{}]*)\}", title))
    of = set(re.findall(r"[A-Za-z_]\w*", asked["when"]))
    replaced = attribute(tree, "replaced") if "replaced" in tree.attrs else {}
    spelt = {key for key, was in replaced.items() if set(was["stated"]) == {"value"}}
    if not title or (spelt & of) - named:
        title, named = f"'{asked['when']}' holds", set()
    elif short:
        title = words.short(name, title)
    rest = {choice: value for choice, value in chosen.items() if choice not in named}
    filled = words.title(title, chosen)
    return f"{filled} ({words.given(rest)})" if rest else filled


def dates_of(tree: xr.DataTree) -> tuple[float, float]:
    """Return the first and the last date, as decimal years."""
    first, last = decimal_year(tree["projection"].to_dataset()["time"].values[[0, -1]])
    return float(first), float(last)


def _when(tree: xr.DataTree, name: str, words: Words) -> str:
    question = ReportedDate(tree, name)
    spread = question.spread(question.default)
    what = event(tree, name, question.default, words)
    first, last = dates_of(tree)
    if spread is None:
        return f"It cannot be said when {what}: every combination of choices failed"
    if spread.medians is not None:
        free = [d for d in question.choices if d not in question.default and d not in question.rivals]
        return _ranged(what, spread, " and ".join(map(words, free)), first, last)
    weighed = [words(d) for d, w in question.rivals.items() if sum(share > 0 for share in w) > 1]
    over = f", pooled over {' and '.join(weighed)}" if weighed else ""
    low, high = (spread.quantiles[i] for i in (0, 4))
    fine = math.isfinite(high) and high - low < FINE
    ends = f"{_date(low, spread.already >= 0.05, last, fine)} to {_date(high, spread.already >= 0.95, last, fine)}"
    about = f"(90 % interval: {ends}; not by {as_text(last)}: {percent(spread.never)}){over}"
    if low == high and not spread.never and spread.already < 0.5:
        return f"{_capital(what)} in {as_text(low, fine=True)}{over}; {_CERTAIN}"
    if spread.already >= 0.5:
        sure = f" with a probability of {percent(spread.already)}"
        return f"{_capital(what)} already in {as_text(first)}{sure}{over if spread.already >= 0.95 else f' {about}'}"
    if not math.isfinite(low) and _certain(tree):
        return f"It is after {as_text(last)}, if ever, that {what}{over}; {_CERTAIN}"
    if not math.isfinite(spread.median):
        begins = f" (5 % by {as_text(low)})" if math.isfinite(low) else ""
        if spread.already >= 0.05:
            begun = percent(spread.already)
            begins = f" ({begun} already in {as_text(first)})" if begun != percent(1 - spread.never) else ""
        return f"The probability that {what} by {as_text(last)} is {percent(1 - spread.never)}{begins}{over}"
    return f"{_capital(what)} in {as_text(spread.median, fine=fine)} in the median forecast {about}"


def _ranged(what: str, spread: AnswerDistribution, over: str, first: float, last: float) -> str:
    """Say the range of medians over rivals that nobody has weighed."""
    assert spread.medians is not None
    low, high = spread.medians
    nevers = " to ".join(dict.fromkeys(map(percent, spread.nevers)))
    if not math.isfinite(low):
        shares = " to ".join(dict.fromkeys(percent(1 - n) for n in reversed(spread.nevers)))
        return f"The probability that {what} by {as_text(last)} is {shares}, depending on {over}"
    fine = math.isfinite(high) and high - low < FINE
    begin = f"{as_text(first)}, or before," if low <= first else as_text(low, fine=fine)
    end = f"after {as_text(last)}" if not math.isfinite(high) else as_text(high, fine=fine)
    when = (
        f"in {end}" if low == high else f"between {begin} and {end}" if math.isfinite(high) else f"in {begin} to {end}"
    )
    return f"{_capital(what)} {when} in the median forecast, depending on {over} (not by {as_text(last)}: {nevers})"


def _certain(tree: xr.DataTree) -> bool:
    """Tell whether nothing is drawn: every world is the same."""
    return not any(number.moves for number in uncertain(tree).values())


def _date(year: float, already: bool, last: float, fine: bool) -> str:
    if not math.isfinite(year):
        return f"after {as_text(last)}"
    return "already" if already else as_text(year, fine=fine)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- Values, races, orders --------------------------------------------------------------------------------------------


def _value(tree: xr.DataTree, name: str, words: Words) -> str:
    """Say a value, with those that are asked for next to it at the same dates."""
    asked = attribute(tree, "values")
    order = list(asked)
    beside = itertools.takewhile(
        lambda each: each in asked and asked[each]["dates"] == asked[name]["dates"], order[order.index(name) :]
    )
    first, *others = (_one_value(tree, each, words) for each in itertools.islice(beside, MOST_SAID))
    return _capital("; ".join([first.replace("(90 %: ", "(90 % interval: "), *others]))


def _one_value(tree: xr.DataTree, name: str, words: Words) -> str:
    asked = attribute(tree, "values")[name]
    figure = ReportedValue(tree, name)
    spread = figure.spread(figure.default)
    title = words.title(asked["title"] or asked.get("value") or f"growth of {asked.get('growth')}", figure.default)
    rest = {c: v for c, v in figure.default.items() if f"{{{c}}}" not in asked["title"]}
    what = f"{title}{f' ({words.given(rest)})' if rest else ''}"
    when = asked["dates"][-1]
    on = when[:4] if when.endswith("-01-01") else when
    if spread is None:
        return f"{what}: failed by {on}"
    low, middle, high = (amount(spread.quantiles[i], figure.unit) for i in (0, 2, 4))
    if spread.medians is not None:
        ends = " to ".join(dict.fromkeys(amount(end, figure.unit) for end in spread.medians))
        return f"{what}: {ends} in {on}, the medians of {spread.count} rivals"
    weighed = [words(d) for d, w in figure.rivals.items() if sum(share > 0 for share in w) > 1]
    over = f", pooled over {' and '.join(weighed)}" if weighed else ""
    if spread.quantiles[0] == spread.quantiles[4]:
        return f"{what}: {middle} in {on}{over}; {_CERTAIN}"
    return f"{what}: {middle} in {on} (90 %: {low} to {high}){over}"


def said_race(tree: xr.DataTree, name: str, words: Words) -> str:
    """Say what comes first of several questions, and how likely none does."""
    title = attribute(tree, "first")[name]["title"]
    made = race(tree, name)
    if made is None:
        return f"{_capital(words.title(title or 'what comes first', {}))}: failed"
    chosen, shares = made
    what = _capital(words.title(title or "what comes first", chosen))
    rest = {choice: value for choice, value in chosen.items() if f"{{{choice}}}" not in title}
    asked = attribute(tree, "questions")
    told = [f"{contestant(tree, each, words) if each in asked else each} {p}" for each, p in shares.items()]
    return f"{what}{f' ({words.given(rest)})' if rest else ''}, by {as_text(dates_of(tree)[1])}: {', '.join(told)}"


def contestant(tree: xr.DataTree, name: str, words: Words) -> str:
    """Return what may come first, as a clause if it has a title."""
    return event(tree, name, {}, words, short=True) if attribute(tree, "questions")[name]["title"] else words(name)


def _rank(tree: xr.DataTree, name: str, words: Words) -> str:
    """Say who is best, and where: combinations of choices that have the same best one are said together."""
    rows = [row for row in rankings(tree) if row["name"] == name]
    title = words.title(rows[0]["title"] or f"the {rows[0]['best']} {rows[0]['rank']}", rows[0]["choices"])
    alike: dict[str | None, list[Mapping[str, Any]]] = {}
    for row in rows:
        best = best_of(row)
        alike.setdefault(None if best is None else best["name"], []).append(row)
    told = [_best(own, words, alone=len(alike) == 1) for own in itertools.islice(alike.values(), MOST_SAID)]
    left = sum(len(own) for own in itertools.islice(alike.values(), MOST_SAID, None))
    return f"{_capital(title)}: {'; '.join(told)}{f'; others in {left} more' if left else ''}"


def best_of(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return who is the likeliest to be best of those that take part; None where none does."""
    taking = [entry for entry in row["order"] if entry["among"] >= 0.5]
    return max(taking, key=lambda entry: float(entry["first"]), default=None)


def _best(rows: Sequence[Mapping[str, Any]], words: Words, *, alone: bool) -> str:
    """Say who is best under one or several combinations of choices; what is next, where there is only one."""
    best, row = best_of(rows[0]), rows[0]
    where = _where(rows, words, alone=alone)
    if best is None:
        return f"none of {len(row['order'])} meets {' and '.join(row['among']) or 'what is asked'}{where}"
    shares = sorted(float(found["first"]) for each in rows if (found := best_of(each)) is not None)
    likely = " to ".join(dict.fromkeys(map(percent, (shares[0], shares[-1]))))
    ahead = (entry for entry in row["order"] if entry["among"] >= 0.5 and entry is not best)
    second = next((f", ahead of {words(entry['name'])}" for entry in ahead), "") if len(rows) == 1 and alone else ""
    return f"{words(best['name'])}{where}, with a probability of {likely}{second}"


def _where(rows: Sequence[Mapping[str, Any]], words: Words, *, alone: bool) -> str:
    """Say under which choices."""
    choices = list(rows[0]["choices"])
    if not choices:
        return ""
    if alone and len(rows) > 1:
        return f" for every {' and '.join(map(words, choices))}"
    given = (
        [words(row["choices"][choices[0]]) for row in rows] if len(choices) == 1 else
        [words.given(row["choices"]) for row in rows]
    )  # fmt: skip
    more = f" and {len(given) - MOST_NAMED + 1} more" if len(given) > MOST_NAMED else ""
    named = ", ".join(given[: MOST_NAMED - 1] if more else given)
    return f" ({f'{words(choices[0])}: ' if len(choices) == 1 else ''}{named}{more})"


def _level(tree: xr.DataTree, name: str, words: Words) -> str:
    """Say the first quantity that is shown at the last date: no question is asked."""
    levels = ValueQuantiles(tree)
    shown = attribute(tree, "show") if "show" in tree.attrs else []
    name = next((n for n in (*shown, *levels.names()) if n in levels.names()), "")
    title = str(attribute(tree, "title") or attribute(tree, "scenario"))
    if not name:
        return title.rstrip(".")
    cell = next(iter(levels.cells(name)), {})
    unit = str(levels.kept[name].attrs["units"])
    low, middle, high = (np.asarray(levels.quantiles(name, cell))[i] for i in (0, 2, 4))
    first, last = dates_of(tree)
    given = f" ({words.given(cell)})" if cell else ""
    begins, ends = amount(float(middle[0]), unit), amount(float(middle[-1]), unit)
    moved = f"{begins} in {as_text(first)} and " if begins != ends else ""
    least, most = amount(float(low[-1]), unit), amount(float(high[-1]), unit)
    span = f" (90 % interval: {least} to {most})" if least != most else ""
    what = f"{_capital(words(name))}{given} is {moved}{ends} in {as_text(last)}{span}"
    return f"{title}{'' if title.endswith('?') else ':'} {what}"
