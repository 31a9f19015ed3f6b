"""The sentence that opens an answer: its numbers in the patterns of `forecast.report.words`, and what was changed."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from forecast.base.dates import decimal_year
from forecast.base.distributions import distribution
from forecast.contract.registry import get_registry
from forecast.errors import ForecastError, printable
from forecast.projection.result import (
    DateAnswer,
    FirstAnswer,
    ProjectedAnswer,
    ProjectedLimit,
    Projection,
    RankingAnswer,
    ValueAnswer,
)
from forecast.projection.result.observed_values import last_observation
from forecast.projection.result.projected_answers import AnswerDistribution, RankingRow
from forecast.report.words.date_text import as_text, fine_interval
from forecast.report.words.number_text import (
    amount,
    amount_range,
    format_number,
    interval_text,
    percent,
    range_text,
    short_zeros,
)
from forecast.report.words.patterns import fill, load_patterns, written
from forecast.scenarios.authored_sentences import CONTENDER_SLOT, SLOT, SLOTS
from forecast.scenarios.quantities.changes import as_phrase as change_phrase
from forecast.scenarios.settings import setting_values
from forecast.scenarios.settings.setting_values import as_phrase, as_text as setting_text
from forecast.sensitivity.first_order import certain

#: So many combinations stand in one sentence; of more the range is said.
MAX_SENTENCE_COMBINATIONS = 3
#: What is best with a smaller chance than this is too close to call.
MIN_CLEAR_PROBABILITY = 0.8
#: What seldom takes part is said to be best from this share of the worlds on.
MIN_SELDOM_SHARE = 0.1
#: Where a bound decides in a larger share of the worlds than this, an interval of 90 % leaves no room beside it.
MIN_WHOLE_SHARE = 0.9
#: Digits of a number that stands in a title: it is stated, not estimated.
_TITLE_DIGITS = 6
#: A name that programs read: lower case, its parts joined by hyphens or underscores.
_IDENTIFIER = re.compile(r"[a-z][a-z0-9.]*(?:[-_][a-z0-9.]+)+")
#: What parameters of models of this house are called for people.
_PARAMETERS = {"member": "which source", "log_level": "level"}
#: So many settings and changes are told in one sentence.
MAX_SETTINGS = 5
#: So many values of a choice are named in one sentence.
MAX_NAMED = 6


class Labels:
    """What the names of a projection are called for people.

    Parameters
    ----------
    run : Projection
    """

    def __init__(self, run: Projection) -> None:
        self.run = run
        self._labels = run.labels
        # of a model for each of several things, NAME@THING, whether what it gives is an estimate
        models = run.models if isinstance(run.models, dict) else {}
        self._estimated = {n.rpartition("@")[2] for n, each in models.items() if each.get("facts", {}).get("estimated")}

    def __call__(self, name: str) -> str:
        """Return the label of a quantity, a choice or a value, or else its name in words."""
        label = printable(self._labels[name], 60) if name in self._labels else name_in_words(name)
        if "{" in label and name in self.run.quantities:
            label = self.title(label, {})
        return fill("estimated", label=label) if name in self._estimated else label

    def __contains__(self, name: str) -> bool:
        return name in self._labels

    def model(self, name: str, *, whole: bool = False) -> str:
        """Return what a model and its shape are called: by its label, or else its title up to a comma, or `whole`."""
        own, _, shape = name.partition("@")
        series, title = own.rpartition("/")[2], _model_title(own)
        short = title if whole else re.split(r"[,:;] ", title)[0]
        said = self(series) if series in self or not short else short if whole else in_line(short)
        return f"{said}, {self(shape.rpartition('/')[2])}" if shape else said

    def short(self, name: str, title: str) -> str:
        """Return the label of a question where it has one, for where there is little room; else its title."""
        return printable(self._labels[name], 60) if name in self else title

    def given(self, chosen: Mapping[str, str]) -> str:
        """Say values of choices: ``metric: HPCG``."""
        return ", ".join(f"{self(choice)}: {self(value)}" for choice, value in chosen.items())

    def driver(self, name: str) -> str:
        """Call what moves an answer by its label, or without the plugins behind its names; of many the first."""
        (label, of), *others = (self.number(each) for each in name.split(", "))
        if len(others) == 1:
            label, of = f"{label}{f' ({of})' if of else ''} with {others[0][0]}", others[0][1]
        elif others:
            label, of = f"{label}{f' ({of})' if of else ''} with {len(others)} more that move together", ""
        return f"{label}{f' ({of})' if of else ''}"

    def number(self, name: str) -> tuple[str, str]:
        """Return what an uncertain number is called, and its model and shape: ``("growth", "LINPACK, pooled")``."""
        owner, dot, parameter = name.rpartition(".")
        if not dot or name in self:
            return self(name), ""
        if parameter.startswith("weight_"):  # of a member of a mixture
            parameter = f"weight of {self(parameter.removeprefix('weight_').replace('_', '-'))}"
        return _PARAMETERS.get(parameter, name_in_words(parameter)), self.model(owner)

    def title(self, text: str, chosen: Mapping[str, str]) -> str:
        """Fill the names in braces of a title: of a choice its value's label, of a quantity what it is."""

        def fill(brace: re.Match[str]) -> str:
            article, filled = brace[1] or "", self._filled(brace[2], chosen)
            return filled if filled.startswith("each ") else f"{article}{filled}"

        return printable(re.sub(r"(\b(?:the|an?) )?\{([^{}]*)\}", fill, text), 300)

    def slot(self, name: str, chosen: Mapping[str, str]) -> str:
        """Return what stands for a name in a sentence: of a choice its value's label, of a quantity what it is."""
        choices = self.run.choices
        if name in choices:
            return self(chosen.get(name, choices[name].values[0]))
        if name not in self.run.numeric:
            return name
        quantity = self.run.quantities[name]
        unit = quantity.unit
        if quantity.fixed is not None:
            return amount(quantity.fixed, unit, _TITLE_DIGITS)
        cells = [c for c in quantity.cells if all(chosen.get(k, v) == v for k, v in c.items())]
        low, middle, high = (float(quantity.quantiles(cells[0])[i][-1]) for i in (0, 2, 4))
        if low == high:
            return amount(middle, unit, _TITLE_DIGITS)
        return f"{amount(middle, unit)} ({' to '.join(amount_range(low, high, unit, middle))})"

    def _filled(self, name: str, chosen: Mapping[str, str]) -> str:
        """Return the same in a title, which is also of a choice that nobody narrowed."""
        free = name in self.run.choices and name not in chosen and len(self.run.choices[name].values) > 1
        return f"each {self(name)}" if free else self.slot(name, chosen)


def opening_sentence(run: Projection) -> str:
    """Return the sentence that opens the answer, and what a change does to it where one is known."""
    from forecast.report.changes import effect  # which says it in the words of this module

    words = Labels(run)
    text = answer_sentence(run.opening, words) if run.opening is not None else _last_value_sentence(run, words)
    met = printable(short_zeros(" and ".join(run.given)), 600)
    condition = f"Given {met}{_without_worlds(run, words)}: " if run.given else ""
    return f"{condition}{text}{settings_sentence(run, words)}{effect(run)}."


def _without_worlds(run: Projection, words: Labels) -> str:
    """Say which definitions the sentence would be about, had the condition left them a world."""
    if not isinstance(opening := run.opening, (DateAnswer, ValueAnswer)):
        return ""
    lost = [words(first) for name, value in opening.default.items() if (first := opening.values(name)[0]) != value]
    return f" (which leaves no world under {' and '.join(lost)})" if lost else ""


def answer_sentence(answer: ProjectedAnswer, words: Labels) -> str:
    """Return what one answer says, without what was changed for it."""
    if isinstance(answer, DateAnswer):
        return _date_sentence(answer, words)
    if isinstance(answer, ValueAnswer):
        return _capital(_value_sentence(answer, words))
    if isinstance(answer, FirstAnswer):
        return first_sentence(answer, words)
    assert isinstance(answer, RankingAnswer)
    return _ranking_sentence(answer, words)


# --- What its author wrote --------------------------------------------------------------------------------------------


def authored_sentences(answer: ProjectedAnswer, chosen: Mapping[str, str], words: Labels) -> dict[str, str]:
    """Return the sentences that the scenario's author wrote for an answer, by case: all but its numbers is filled in.

    Parameters
    ----------
    answer : ProjectedAnswer
    chosen : mapping of str to str
        The definitions that it is about.
    words : Words
    """

    def filled(brace: re.Match[str]) -> str:
        if brace[1] in SLOTS[answer.kind] or CONTENDER_SLOT.search(brace[1]):
            return brace[0]
        name, _, of = brace[1].rpartition(" of ")
        for other in (each for each in answer.run.rankings if each.name == of):
            rows = (row for row in other.table if all(chosen.get(k, v) == v for k, v in row.choices.items()))
            if (best := next(rows).best) is None:
                return "none"
            return words.slot(name or other.over_choice, {**chosen, other.over_choice: best.name})
        return words.slot(brace[1], chosen)

    sentences = answer.run.says.get(answer.name, {})
    return {case: printable(SLOT.sub(filled, text), 600) for case, text in sentences.items()}


def now_of(answer: ProjectedAnswer, chosen: Mapping[str, str]) -> tuple[float | None, dict[str, str]]:
    """Return what an answer is about as it was last observed, and what sentences say of it; None if nobody did."""
    found = last_observation(answer, chosen)
    if found is None:
        return None, {}
    year = float(decimal_year([found.date])[0])
    return found.value, {"now": amount(found.value, found.unit), "now_date": as_text(year, fine=True)}


def span_texts(run: Projection, *, short: bool = False) -> dict[str, str]:
    """Say the first and the last step by their months: a year alone is any day of it. In a row the last is a year."""
    first, last = run.span
    return {"start": as_text(first, fine=True, short=short), "until": as_text(last, fine=not short)}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- What was changed -------------------------------------------------------------------------------------------------


def settings_sentence(run: Projection, words: Labels) -> str:
    """Say what was set, swapped and changed, and what stood there instead."""
    choices, settings = run.choices, run.settings
    texts = []
    for key, value in {**settings.with_values, **settings.set}.items():
        if key not in choices:
            replaced = settings.replaced.get(key)
            is_other = replaced and key in settings.set and not _is_stated_value(value, replaced["stated"])
            was = _format_stated(**replaced, words=words) if replaced and is_other else ""
            if key in run.quantities and run.quantities[key].kind == "regime":
                text = _regime_text(value, words)
            else:
                text = _format_set_number(value, replaced["unit"]) if replaced else ""
            now = f" = {text}" if text else setting_text({key: value})[0].removeprefix(key)
            texts.append(f"{words(key)}{now}{f' instead of {was}' if was else ''}")
        elif isinstance(value, str) and "," not in value:
            texts.append(words.given({key: value}))
    texts += setting_text(settings.swap)
    texts += [change_phrase(change) for change in settings.changes]
    if len(texts) > MAX_SETTINGS:
        texts = [*texts[: MAX_SETTINGS - 1], f"and {len(texts) - MAX_SETTINGS + 1} more settings"]
    return f"; with {printable(', '.join(texts), 1000)}" if texts else ""


def _regime_text(value: Any, words: Labels) -> str:
    """Say the labels of a regime with their probabilities, or the one label that was set."""
    table = setting_values.parse_table(value, "set", expected="probabilities")
    if table is None:
        return words(value)
    shares = table.get("draw", table)
    return ", ".join(f"{words(label)} {percent(share)}" for label, share in shares.items() if share)


def _format_set_number(value: Any, unit: str) -> str:
    """Say a number that was set, in its unit or that in which it counts; nothing of what is no number."""
    try:
        measured = setting_values.parse_measured(value) if isinstance(value, str) else None
        number, unit = measured or (float(value), unit)
        return amount(number, unit, _TITLE_DIGITS)
    except (TypeError, ValueError, ForecastError):
        return ""


def _is_stated_value(value: Any, record: Mapping[str, Any]) -> bool:
    """Tell whether a number was set to what it is stated as."""
    try:
        return "value" in record and float(value) == float(record["value"])
    except (TypeError, ValueError):  # a unit, a range or a distribution
        return False


def _format_stated(stated: Mapping[str, Any], unit: str, words: Labels) -> str:
    """Say what a number was stated as: of a distribution the lowest and the highest number that it states."""
    if "draw" in stated:
        return _regime_text(stated, words)
    if "made" in stated:
        return f"its {'formula' if stated['made'] == 'expression' else stated['made']}"
    try:
        (_, low), *_, (_, high) = 2 * distribution({k: v for k, v in stated.items() if k != "truncate"}).points
    except ForecastError:
        return as_phrase(dict(stated))
    return amount(low, unit, _TITLE_DIGITS) if low == high else range_text(amount_range(low, high, unit))


# --- Dates ------------------------------------------------------------------------------------------------------------


def event(answer: DateAnswer, chosen: Mapping[str, str], words: Labels, *, short: bool = False) -> str:
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
    filled = words.title(title, chosen)
    rest = {c: value for c, value in chosen.items() if c not in named and not filled.startswith(words(value))}
    return f"{filled} ({words.given(rest)})" if rest else filled


def pooled_over(answer: ProjectedAnswer, words: Labels) -> str:
    """Say over which choices an answer is pooled."""
    weighed = [words(d) for d, w in answer.rivals.items() if sum(share > 0 for share in w) > 1]
    return fill("pooled", "" if weighed else "none", choices=" and ".join(weighed))


def _date_sentence(answer: DateAnswer, words: Labels) -> str:
    found = answer.headline
    what = event(answer, answer.default, words)
    texts: dict[str, Any] = {
        "what": what, "What": _capital(what), "given": "", **span_texts(answer.run),
    }  # fmt: skip
    if found is None:
        return fill("when", "failed", **texts)
    if found.medians is not None:
        free = [d for d in answer.choices if d not in answer.default and d not in answer.rivals]
        return _several_dates(answer.run, found, " and ".join(map(words, free)), texts)
    low, high = found.quantiles[0], found.quantiles[4]
    fine = fine_interval(low, high)
    by, already = percent(1 - found.never), percent(found.at_start)
    ahead = math.isfinite(low) and found.at_start < 0.5
    fixed = low == high and (ahead or certain(answer.run))  # a date ahead that all worlds share is no matter of chance
    texts |= {
        "pooled": pooled_over(answer, words),
        "low": _date_text(answer.run, low, fine),
        "high": _date_text(answer.run, high, fine),
        "low_month": as_text(low, fine=True),
        "low_year": as_text(low),
        "median": as_text(found.median, fine=fine),
        "already": already,
        "never": percent(found.never),
        "by": by,
    }
    hardly = found.never < load_patterns()["hardly"]
    case = (
        ("point" if math.isfinite(low) else "point_never") if fixed else
        "already" if found.at_start >= 0.5 else "date" if math.isfinite(found.median) else "never"
    )  # fmt: skip
    if case in (sentences := authored_sentences(answer, answer.default, words)):
        now = now_of(answer, answer.default)[1]
        beside = {"interval": fill("interval", low=texts["low"], high=texts["high"])}
        idle = [*(["never"] if hardly else []), *({"now", "now_date"} - set(now))]
        return written(sentences[case], texts | beside | now, idle)
    flags = {
        "same": low == high,
        "dated": not found.never,
        "certain": fixed and not math.isfinite(low),
        "never_low": not math.isfinite(low),
        "never_median": not math.isfinite(found.median),
        "never_hardly": hardly,
        "already": found.already == 1 and bool(answer.run.newest),  # a row shows it
        "already_some": found.at_start >= 0.05,
        "already_half": found.at_start >= 0.5,
        "already_most": found.at_start >= 0.95,
        "already_all": by == already,
    }
    return fill("when", *(flag for flag, holds in flags.items() if holds), **texts)


def _several_dates(run: Projection, found: AnswerDistribution, free: str, texts: Mapping[str, Any]) -> str:
    """Say the range of medians over rivals that nobody has weighed."""
    assert found.medians is not None
    low, high = found.medians
    fine = fine_interval(low, high)
    flags = {
        "several": True, "same": low == high, "already_low": low <= run.span[0],
        "never_low": not math.isfinite(low), "never_high": not math.isfinite(high),
    }  # fmt: skip
    return fill(
        "when",
        *(flag for flag, holds in flags.items() if holds),
        **texts,
        free=free,
        chances=range_text([percent(1 - never) for never in reversed(found.nevers)]),
        nevers=range_text([percent(never) for never in found.nevers]),
        begin=fill("begin", "already" * flags["already_low"], start=texts["start"], date=as_text(low, fine=fine)),
        end=_date_text(run, high, fine),
    )


def _date_text(run: Projection, year: float, fine: bool) -> str:
    flag = "never" if not math.isfinite(year) else "at_start" if year <= run.span[0] else ""
    return fill("date", flag, **span_texts(run), date=as_text(year, fine=fine))


# --- Values, races, orders --------------------------------------------------------------------------------------------


def value_title(answer: ValueAnswer, chosen: Mapping[str, str], words: Labels, *, short: bool = False) -> str:
    """Return what a value is called, with the definitions that its title does not name."""
    text = answer.title or (f"growth of {answer.text}" if answer.growth else answer.text)
    title = words.title(words.short(answer.name, text) if short else text, chosen)
    told = {c for c, v in chosen.items() if short or f"{{{c}}}" in answer.title or title.startswith(words(v))}
    rest = {c: v for c, v in chosen.items() if c not in told}
    return f"{title}{f' ({words.given(rest)})' if rest else ''}"


def on_date(date: str, *, short: bool = False) -> str:
    """Say the date of a value by the month, and by the year at the start of one; ``short`` in a table.

    Examples
    --------
    >>> on_date("2030-01-01"), on_date("2030-12-31"), on_date("2030-12-31", short=True)
    ('2030', 'December 2030', '2030-12')
    """
    if date.endswith("-01-01"):
        return date[:4]
    return date[:7] if short else f"{load_patterns()['months'][int(date[5:7]) - 1]} {date[:4]}"


def _value_sentence(answer: ValueAnswer, words: Labels) -> str:
    found = answer.headline
    texts: dict[str, Any] = {
        "what": value_title(answer, answer.default, words),
        "given": "",
        "on": on_date(answer.date),
    }
    if found is None:
        return fill("value", "failed", **texts)
    if found.medians is not None:
        medians = range_text([amount(end, answer.unit) for end in found.medians])
        return fill("value", "several", **texts, medians=medians, count=found.count)
    median = amount(found.quantiles[2], answer.unit)
    low, high = amount_range(found.quantiles[0], found.quantiles[4], answer.unit, found.quantiles[2])
    same = found.quantiles[0] == found.quantiles[4]
    sentences = authored_sentences(answer, answer.default, words)
    if (case := "point" if same else "value") in sentences:
        now, now_texts = now_of(answer, answer.default)
        more = {"value": median, "interval": interval_text(*found.quantiles[:5:4], low, high)}
        if now and found.median / now > 0:
            more["ratio"] = format_number(found.median / now)
        idle = {"now", "now_date", "ratio"} - {*now_texts, *more}
        return written(sentences[case], texts | {"low": low, "high": high} | more | now_texts, idle)
    pooled = pooled_over(answer, words)
    flag = "bounded" if is_at_bound(answer) else "same" if same else ""
    return fill(
        "value", flag, "undated" if answer.undated else "", **texts, low=low, median=median, high=high, pooled=pooled
    )


def binding_shares(answer: ValueAnswer) -> Iterator[tuple[ProjectedLimit, float]]:
    """Yield in which share of the worlds each bound binds, at the date of the answer."""
    place = int(np.abs(answer.run.years - decimal_year([answer.date])[0]).argmin())
    for limit in answer.run.limits:
        chosen = {choice: value for choice, value in answer.default.items() if choice in limit.choices}
        if chosen.items() <= limit.choices.items():
            yield limit, float(limit.probability[place])


def is_at_bound(answer: ValueAnswer) -> bool:
    """Tell whether a value that has no interval is at a bound in nearly all worlds, and so no stated number."""
    found = answer.headline
    if found is None or found.medians is not None or found.quantiles[0] != found.quantiles[4]:
        return False
    return any(limit.name == answer.text and share >= MIN_WHOLE_SHARE for limit, share in binding_shares(answer))


def first_shares(answer: FirstAnswer, words: Labels) -> Iterator[tuple[str, tuple[float, float]]]:
    """Walk what may come first with its lowest and highest probability, the likeliest first; then several, and none."""
    row = answer.sentence_row
    if row is not None:
        order = sorted(row.first.items(), key=lambda item: -sum(item[1]))
        yield from ((contestant(answer.run, name, words), ends) for name, ends in order)
        if row.together[1] >= load_patterns()["hardly"]:
            yield fill("several_at_once"), row.together
        yield fill("none_of_them"), row.none


def share_text(ends: tuple[float, float]) -> str:
    """Say a probability, or the lowest and the highest where rivals have no weights."""
    return range_text([percent(end) for end in ends])


def first_sentence(answer: FirstAnswer, words: Labels) -> str:
    """Say what comes first of several questions, and how likely none does."""
    title, row = answer.title or "what comes first", answer.sentence_row
    if row is None:
        reason = answer.run.unanswered({})
        return fill("first", "failed", What=_capital(words.title(title, {})), reason=reason)
    rest = {choice: value for choice, value in row.choices.items() if f"{{{choice}}}" not in title}
    shares = (fill("share", label=label, percent=share_text(ends)) for label, ends in first_shares(answer, words))
    return fill(
        "first",
        What=_capital(words.title(title, row.choices)),
        given=f" ({words.given(rest)})" if rest else "",
        until=span_texts(answer.run)["until"],
        shares=", ".join(shares),
    )


def contestant(run: Projection, name: str, words: Labels) -> str:
    """Return what may come first, as a clause if it has a title."""
    answer = run.answer(name)
    return event(answer, {}, words, short=True) if answer.title and isinstance(answer, DateAnswer) else words(name)


def _ranking_sentence(answer: RankingAnswer, words: Labels) -> str:
    """Say who is best, and where: combinations of choices that have the same best one are said together."""
    rows = answer.table
    if own := _authored_ranking(answer, rows[0], words):
        return own
    title = words.title(answer.title or f"the {answer.best} {answer.text}", rows[0].choices)
    alike: dict[str | None, list[RankingRow]] = {}
    for row in rows:
        alike.setdefault(None if row.best is None else row.best.name, []).append(row)
    clauses = [
        _best_text(answer, own, words, alone=len(alike) == 1)
        for own in itertools.islice(alike.values(), MAX_SENTENCE_COMBINATIONS)
    ]
    left = sum(len(own) for own in itertools.islice(alike.values(), MAX_SENTENCE_COMBINATIONS, None))
    return fill("rank", "more" if left else "", What=_capital(title), best="; ".join(clauses), left=left)


def _authored_ranking(answer: RankingAnswer, row: RankingRow, words: Labels) -> str:
    """Say who is best under the first combination of choices, where the scenario's author wrote a sentence for it."""
    order = sorted(row.taking_part, key=lambda each: -each.first)
    case = _ranking_case(row, fixed=all(each.quantiles[0] == each.quantiles[4] for each in order))
    sentences = authored_sentences(answer, row.choices, words)
    if case not in sentences:
        return ""
    texts = {"n": str(len(order) or len(row.order)), "conditions": " and ".join(answer.conditions)}
    texts["tier"] = str(len(row.first_tier)) if len(row.first_tier) > 1 else ""
    texts["p_others"] = percent(row.seldom) if row.seldom >= MIN_SELDOM_SHARE else ""
    for place, contender in zip(("first", "second"), order, strict=False):
        texts |= {place: words(contender.name), f"p_{place}": percent(contender.first)}
        for slot in (each for each in SLOT.findall(sentences[case]) if each.endswith(f" of {place}")):
            texts[slot] = words.slot(CONTENDER_SLOT.sub("", slot), {**row.choices, answer.over_choice: contender.name})
    if order:
        low, middle, high = (order[0].quantiles[i] for i in (0, 2, 4))
        ends = amount_range(low, high, answer.unit, middle)
        texts |= {"value": amount(middle, answer.unit), "interval": interval_text(low, high, *ends)}
    return written(sentences[case], texts, [slot for slot in SLOTS["rank"] if not texts.get(slot)])


def _ranking_case(row: RankingRow, *, fixed: bool) -> str:
    """Tell which sentence a ranking has: whether one leads, two are too close to call, or none takes part."""
    if row.best is None:
        return "none"
    return (
        "point" if fixed else "winner" if row.best.first >= MIN_CLEAR_PROBABILITY or len(row.taking_part) < 2 else "tie"
    )


def _best_text(answer: RankingAnswer, rows: Sequence[RankingRow], words: Labels, *, alone: bool) -> str:
    """Say who is best under one or several combinations of choices; what is next, where there is only one."""
    row, where = rows[0], _choices_clause(rows, words, alone=alone)
    if row.best is None:
        conditions = " and ".join(answer.conditions) or "what is asked"
        return fill("best", "none", count=len(row.order), conditions=conditions, where=where)
    chances = sorted(each.best.first for each in rows if each.best is not None)
    ahead = (each for each in row.taking_part if each is not row.best)
    second = next((words(each.name) for each in ahead), "") if len(rows) == 1 and alone else ""
    texts = {"label": words(row.best.name), "where": where, "second": second}
    return fill(
        "best", "second" if second else "", **texts, chances=range_text([percent(c) for c in (chances[0], chances[-1])])
    )


def _choices_clause(rows: Sequence[RankingRow], words: Labels, *, alone: bool) -> str:
    """Say under which choices."""
    choices = list(rows[0].choices)
    if not choices:
        return fill("where", "nowhere")
    if alone and len(rows) > 1:
        return fill("where", "everywhere", choices=" and ".join(map(words, choices)), given="")
    values = (
        [words(row.choices[choices[0]]) for row in rows] if len(choices) == 1 else
        [words.given(row.choices) for row in rows]
    )  # fmt: skip
    more = len(values) > MAX_NAMED
    named = values[: MAX_NAMED - 1] if more else values
    stem = f"{words(choices[0])}: " if len(choices) == 1 else ""
    return fill("where", "more" if more else "", stem=stem, named=", ".join(named), left=len(values) - len(named))


def _last_value_sentence(run: Projection, words: Labels) -> str:
    """Say the first shown quantity at the last date, for a scenario without a question."""
    name = next((n for n in (*(run.shown or ()), *run.numeric) if n in run.numeric), "")
    if not name:
        return (run.title or run.scenario).rstrip(".")
    quantity = run.quantities[name]
    cell = next(iter(quantity.cells), {})
    low, middle, high = (quantity.quantiles(cell)[i] for i in (0, 2, 4))
    first, last = run.span
    begin, end = amount(float(middle[0]), quantity.unit), amount(float(middle[-1]), quantity.unit)
    least, most = amount_range(float(low[-1]), float(high[-1]), quantity.unit, float(middle[-1]))
    return fill(
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


# --- What moves an answer ---------------------------------------------------------------------------------------------
# What moves an answer, called for people: no two alike, none by a raw name where better is known.


#: A number of a mixture says which of its models a world has: the title of the mixture says nothing of it.
_MEMBER_INPUTS = {"member"}
#: Of many numbers that move together only the first is named.
_CORRELATED_SUFFIX = "with {} more that move together"


def driver_labels(run: Projection, names: Sequence[str]) -> list[str]:
    """Return a label for each driver: as short as keeps it apart from the others.

    A lever is called by its label; a number of a model that has no label by what the title of the model says of it,
    with the shape of a trend where two differ in that alone.
    """
    words, levers = Labels(run), {lever.name: lever.label for lever in run.levers if not lever.since}
    ways = [_label_candidates(run, words, levers, name) for name in names]
    longest = max(map(len, ways), default=0)
    labels = [each[0] for each in ways]
    for depth in range(1, longest):
        labels = [each[min(depth, len(each) - 1)] if labels.count(own) > 1 else own
                  for each, own in zip(ways, labels, strict=True)]  # fmt: skip
    return labels


def _label_candidates(run: Projection, words: Labels, levers: dict[str, str], name: str) -> list[str]:
    """Return how a driver may be called, from short to long."""
    first, *others = name.split(", ")
    if others:
        beside = (
            f"with {_label_candidates(run, words, levers, others[0])[0]}"
            if len(others) == 1
            else _CORRELATED_SUFFIX.format(len(others))
        )
        return [f"{each} {beside}" for each in _label_candidates(run, words, levers, first)]
    if first in levers:
        return [in_line(levers[first]), words.driver(first)]
    owner, dot, parameter = first.rpartition(".")
    series, _, shape = owner.rpartition("/")[2].partition("@")
    title = _model_title(owner.partition("@")[0]) if dot else ""
    if not title or parameter in _MEMBER_INPUTS or first in words or series in words:
        return [words.driver(first)]
    return _label_by_title(words.driver(first).partition(" (")[0], title, words(shape) if shape else "")


def _label_by_title(label: str, title: str, shape: str) -> list[str]:
    """Say a number of a model by the title of the model: without what is behind a comma, with its shape, whole."""
    short = re.split(r"[,:;] ", title)[0]
    result = []
    for text, of in ((short, ""), (short, shape), (title, shape)):
        named = in_line(text)
        whole = named if named.startswith(label) else f"{label}: {named}"
        result.append(f"{whole} ({of})" if of else whole)
    return list(dict.fromkeys(result))


def _model_title(name: str) -> str:
    """Return the title of a model; empty where it is not installed, or has none."""
    try:
        return printable(get_registry().find("model", name, where="figure").spec.title, 200)
    except ForecastError:
        return ""


def name_in_words(name: str) -> str:
    """Return a name that programs read as words: of a published work author and year; what is no such name as it is.

    >>> name_in_words("moravec-1997"), name_in_words("goal_week"), name_in_words("RTX A6000-48")
    ('Moravec 1997', 'goal week', 'RTX A6000-48')
    """
    if "." in name or not _IDENTIFIER.fullmatch(name):  # of a quantity in another scenario the name is its address
        return printable(name, 60)
    words = re.split("[-_]", printable(name, 60))
    if not re.fullmatch(r"[a-z-]+-\d{4}", name):
        return " ".join(words)
    return " ".join(each.upper() if len(each) < 3 else each.capitalize() for each in words)


def in_line(label: str) -> str:
    """Write a label that begins a line without its capital, where it is no name: ``Power``, and not ``AI``."""
    return label[:1].lower() + label[1:] if label[1:2].islower() or label[1:2] == " " else label
