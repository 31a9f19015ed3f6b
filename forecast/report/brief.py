"""An answer in brief: what one screen, the first figure, a page and a notebook show of it, as plain data."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from forecast import units
from forecast.base.dates import decimal_year, iso_date, year_of
from forecast.base.quantiles import DEFAULT_LEVEL
from forecast.contract.track_record import coverage_by_shape, crossings_by_shape, record_sentence as track_record
from forecast.errors import printable
from forecast.evaluation.crossing_record import MOST_YEARS, statement_text
from forecast.evaluation.whole.scenario_scores import record_sentences, screen_line
from forecast.projection.failures import in_brackets
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
from forecast.projection.result.observed_values import LastObservation, computed_median, last_observation
from forecast.report.changes import moved_and_unmoved
from forecast.report.headline import (
    Labels,
    driver_labels,
    event,
    first_sentence,
    name_in_words,
    on_date,
    opening_sentence,
    value_title,
)
from forecast.report.result_data import driver_rows, newest_data
from forecast.report.rows import (
    ReportRow,
    RowGroup,
    answer_row,
    date_columns,
    quantity_row,
    question_label,
    race_group,
    ranking_groups,
    scaled_group,
    table_cells,
)
from forecast.report.words.date_text import as_text, day_text
from forecast.report.words.number_text import amount, percent, short_zeros
from forecast.report.words.patterns import fill
from forecast.sensitivity.first_order import MIN_DRIVER_SHARE, certain

#: So many drivers, tables, observations, levers and numbers from memory are named.
_MAX_DRIVERS, _MAX_SOURCE_TABLES, _MAX_OBSERVATIONS, _MAX_LEVERS, _MAX_MEMORY = 5, 6, 3, 3, 3
#: An observation is called by so many characters.
_MAX_ROW_LABEL = 30
#: It is known, and told to three digits where an answer has two: 165 is not 160.
_OBSERVED_DIGITS = 3


@dataclass(frozen=True, kw_only=True)
class Brief:
    """An answer in brief.

    Parameters
    ----------
    sentence : str
    differs : str
        Which other forecast says something else, and why; empty where none does.
    groups : tuple of RowGroup
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
    details : mapping of str to str
        What is said below the tables, a sentence each, by its name: ``level`` (the interval of another level),
        ``dates`` (how likely it is by the dates that the question states), ``today`` (what a publication gave for that
        which was to come by today), ``memory`` (numbers that their source has from memory), ``observed``, ``data`` (how
        old the newest are) and ``record`` (of past forecasts of the kind). What there is nothing to say of is left out.
    changes : RowGroup
        What a change moves, where one was made.
    unmoved : tuple of str
        The questions that it does not move.
    notes : tuple of str
        Texts that stand below the tables, as far as there is room.
    left : tuple of str
        The sections that are not shown, with how much each holds.
    """

    sentence: str
    differs: str = ""
    groups: tuple[RowGroup, ...] = ()
    drivers: tuple[tuple[str, float], ...] = ()
    choices: Mapping[str, float] = field(default_factory=dict)
    together: float = 0.0
    levers: tuple[str, ...] = ()
    races: tuple[str, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)
    changes: RowGroup = field(default_factory=lambda: RowGroup(rows=()))
    unmoved: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left: tuple[str, ...] = field(default=())


def brief(run: Projection, *, today: str = "", by: str = "", level: float = DEFAULT_LEVEL) -> Brief:
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
    words, opening, (changes, unmoved) = Labels(run), run.opening, moved_and_unmoved(run)
    moved = driver_rows(run, least=0.0, only=[opening.name])[0] if opening is not None else {"drivers": []}
    rows = moved["drivers"]
    if len(rows) == 1 and rows[0]["share"] < 1 - MIN_DRIVER_SHARE:
        rows = []  # one number alone is uncertain: what it does not explain is chance, and no interaction
    alone = sum(row["share"] for row in rows)
    stated = next((row["name"] for row in rows if row["kind"] == "number"), "") if "note" in moved else ""
    chances = ", ".join(f"{row.cells[0]} {row.label}" for row in _deadline_rows(opening))
    details = {
        "level": "" if level == DEFAULT_LEVEL else at_level(opening, level),
        "dates": f"Its chance: {chances}" if chances else "",
        "today": by_today(run, words, today),
        "memory": _from_memory(run, words, [row["name"] for row in rows if row["share"] >= MIN_DRIVER_SHARE]),
        "observed": last_observed(run, words, today),
        "data": newest_data(run, today),
        "record": past_record(run),
    }
    return Brief(
        sentence=opening_sentence(run),
        changes=changes,
        unmoved=tuple(unmoved),
        groups=tuple(group for group in _answer_groups(run, words, by) if group.rows),
        drivers=tuple(_driver_labels(run, rows, stated)),
        choices={words(row["name"]): row["share"] for row in rows if row["kind"] == "choice"},
        together=max(0.0, 1.0 - alone) if rows else 0.0,
        levers=tuple(lever.command() for lever in run.levers if lever.name not in run.settings.set)[:_MAX_LEVERS],
        races=tuple(first_sentence(each, words) for each in run.firsts if each is not opening),
        details={name: f"{text}." for name, text in details.items() if text},
        left=tuple(f"{name} ({size})" for name, size in section_sizes(run).items()),
    )


def _answer_groups(run: Projection, words: Labels, by: str) -> Iterator[RowGroup]:
    opening = run.opening
    if isinstance(opening, DateAnswer):
        yield _date_group(opening, words, by)
    others = [(each, _of_winners(each)) for each in run.values if each is not opening]
    if isinstance(opening, ValueAnswer):
        yield scaled_group([*_rows_along_choices(opening, words, by, "")], opening.unit)
    yield RowGroup(rows=tuple(answer_row(each, own, question_label(each, own, words)) for each, own in others))
    if isinstance(opening, ValueAnswer) and run.dates:
        yield _date_group(run.dates[0], words, by, label=event(run.dates[0], {}, words, short=True))
    for ranking in run.rankings:
        yield from ranking_groups(ranking, words)
    if opening is None:
        yield RowGroup(rows=tuple(_last_values(run, words)))


def _of_winners(answer: ProjectedAnswer) -> dict[str, str]:
    """Return the choices of an answer, where a ranking opens the run those of what is first in it: the device, say."""
    return {name: answer.run.winners.get(name, value) for name, value in answer.default.items()}


# --- Dates and values -------------------------------------------------------------------------------------------------


def _date_group(answer: DateAnswer, words: Labels, by: str, *, label: str = "") -> RowGroup:
    """Return a date under its definitions and its rivals, and the dates of the other questions.

    Its own row is called by its definitions where the sentence is about it, else by `label`.
    """
    rows = [*_rows_along_choices(answer, words, by, label)]
    for other in answer.run.dates:
        if other is not answer:
            named = {c: v for c, v in other.default.items() if f"{{{c}}}" in other.title}
            rows.append(answer_row(other, other.default, event(other, named, words, short=True)))
    return RowGroup(rows=tuple(rows), columns=date_columns(answer.run.span[1]), kind="date", ends=answer.run.span)


def _rows_along_choices(answer: ProjectedAnswer, words: Labels, by: str, label: str) -> Iterator[ReportRow]:
    """Walk the sentence's own answer, and it under the values of each choice, which repeat none of the sentence."""
    leading = answer_row(answer, answer.default, label or _own_label(answer, words), leads=True)
    yield leading
    own = {**answer.default, **_sole_rivals(answer)}
    for choice in sorted(answer.choices, key=lambda c: (c != by, c not in answer.definitions)):
        values = answer.values(choice)
        for value in values if len(values) > 1 else ():
            if own.get(choice) != value:
                row = answer_row(answer, {**answer.default, choice: value}, words(value), of=words(choice))
                # what was asked for by name is shown, whatever it says
                yield replace(row, repeats=choice != by and row.cells == leading.cells)


def _own_label(answer: ProjectedAnswer, words: Labels) -> str:
    """Call the answer of the sentence by its definition and by the rival that it rests on."""
    named = [words(value) for value in {**answer.default, **_sole_rivals(answer)}.values()]
    several = [d for d in answer.rivals if d not in _sole_rivals(answer)]
    if not named and not several:
        return question_label(answer, {}, words)
    return ", ".join(dict.fromkeys([*named, *(["pooled"] if several else [])]))


def _sole_rivals(answer: ProjectedAnswer) -> dict[str, str]:
    """Return the rivals that have all the weight of their choice."""
    return {
        d: next(v for v, w in zip(answer.values(d), weights, strict=True) if w > 0)
        for d, weights in answer.rivals.items()
        if sum(w > 0 for w in weights) == 1
    }


def _last_values(run: Projection, words: Labels) -> Iterator[ReportRow]:
    """Yield the shown quantities at the last date, for a scenario without a question."""
    for name in run.numeric if run.shown is None else run.shown:
        quantity = run.quantities[name]
        for cell in quantity.cells if name in run.numeric else ():
            values = words.given(cell)
            row = quantity_row(quantity, cell, f"{words(name)}{f' ({values})' if values else ''}")
            if row.spread is not None and not math.isnan(row.spread.median):
                yield row


# --- Around it --------------------------------------------------------------------------------------------------------


def _driver_labels(run: Projection, rows: Sequence[Mapping[str, Any]], stated: str) -> Iterator[tuple[str, float]]:
    """Walk what moves the answer most, with the share of each; one number is marked as stated and not fitted."""
    most = [row for row in rows[:_MAX_DRIVERS] if row["share"] >= MIN_DRIVER_SHARE]
    labels = driver_labels(run, [row["name"] for row in most])
    for row, label in zip(most, labels, strict=True):
        if row["name"] == stated:
            label = f"{label[:-1]}, stated, not fitted)" if label.endswith(")") else f"{label} (stated, not fitted)"
        yield label, row["share"]


def last_observed(run: Projection, words: Labels, today: str = "") -> str:
    """Say what the questions are about as it was last observed, that of the sentence first."""
    texts: dict[str, str] = {}
    newest = ""
    unseen: list[ProjectedAnswer] = []
    opening = [run.opening] if isinstance(run.opening, (DateAnswer, ValueAnswer)) else []
    for answer in (*opening, *run.dates, *run.values):
        if len(texts) == _MAX_OBSERVATIONS:
            break
        found = last_observation(answer, _of_winners(answer))
        if found is None:
            unseen.append(answer)
        elif found.of not in texts:
            newest = max(newest, found.date)
            row = found.row if " " in found.row or len(found.row) <= _MAX_ROW_LABEL else ""  # a key is not to be read
            row = printable(textwrap.shorten(row, _MAX_ROW_LABEL, placeholder=" …"), _MAX_ROW_LABEL)
            named = words(found.of) if found.of in run.quantities else f"'{short_zeros(found.of)}'"
            value = amount(found.value, found.unit, _OBSERVED_DIGITS)
            since = as_text(float(decimal_year([found.date])[0]), fine=True)
            texts[found.of] = (
                f"{named} {value}, the record since {since}{f' ({row})' if row else ''}" if found.stands
                else f"{named} {value} ({', '.join(filter(None, [row, found.date[:7]]))})"
            )  # fmt: skip
            if isinstance(answer, ValueAnswer) and answer is run.opening and (stands := _record_stands(answer, found)):
                texts[found.of] += f", no new one {_deadline_text(answer.date)}: {stands}"
    every = "; ".join([*texts.values(), *_computed_texts(words, unseen, _MAX_OBSERVATIONS - len(texts), today)])
    when = " when it was published" if newest <= run.published_on else ""
    return f"Last observed{when}: {every}" if texts else f"{every[:1].upper()}{every[1:]}"


def _record_stands(answer: ValueAnswer, found: LastObservation) -> str:
    """Say in which share of the worlds the last record still stands; empty for what is no record, which never does."""
    if answer.growth or certain(answer.run):
        return ""
    values, weights = answer.pooled_draws(answer.default)
    last = units.convert(found.value, found.unit, answer.unit, where=answer.name)
    share = np.average(np.isclose(values, last, rtol=1e-9, atol=0), weights=weights)
    return percent(float(share)) if share > 0 else ""


def by_today(run: Projection, words: Labels, today: str) -> str:
    """Say what a publication gave for what it asks to be so by today, that of the sentence first.

    Nothing where it is of today or later or starts later, where something in it was set or changed, so that it is no
    longer what was published, and for what is no matter of chance.
    """
    changed = run.settings.set or run.settings.with_values or run.settings.swap or run.settings.changes or run.given
    if not today or not run.published_on or run.published_on >= today or changed or certain(run):
        return ""
    if (year := float(decimal_year([today])[0])) < run.span[0]:
        return ""
    answers = sorted(run.dates, key=lambda answer: answer is not run.opening)
    single = [each for each in answers if each.headline is not None and each.headline.medians is None]
    if not single or single[0] is not run.opening:
        return ""
    first, *others = ((answer, percent(answer.probability(year))) for answer in single[:_MAX_OBSERVATIONS])
    rest = (fill("by_today", "of", event=event(a, a.default, words, short=True), p=p) for a, p in others)
    return "; ".join([fill("by_today", p=first[1], today=day_text(today), published=day_text(run.published_on)), *rest])


def _computed_texts(words: Labels, answers: Sequence[ProjectedAnswer], most: int, today: str) -> Iterator[str]:
    """Walk what answers are about that nobody observes, as computed for one day: so many of them, as one text.

    One without a label tells a reader nothing, and a value that is asked for at that step is told already.
    """
    texts: dict[str, str] = {}
    day = ""
    for answer in answers:
        if len(texts) == most:
            break
        if getattr(answer, "undated", False):
            continue
        found = computed_median(answer, today, _of_winners(answer))
        if found is not None and found.of in words and found.date != getattr(answer, "date", ""):
            day = found.date
            texts[found.of] = f"{words(found.of)} {amount(found.value, found.unit, _OBSERVED_DIGITS)}"
    if texts:
        yield f"computed for {as_text(year_of(day), fine=True)}: {', '.join(texts.values())}"


def at_level(answer: ProjectedAnswer | None, level: float) -> str:
    """Say the interval of an answer at a level; empty where it has none."""
    if not isinstance(answer, (DateAnswer, ValueAnswer)) or answer.headline is None:
        return ""
    low, high = answer.interval(level)
    if math.isnan(low) or math.isnan(high):
        return ""
    ends = replace(answer.headline, quantiles=(low, low, answer.headline.median, high, high))
    return f"{100 * level:g} % interval: {table_cells(answer, ends, level)[1]}"


def past_record(run: Projection) -> str:
    """Say the coverage of past intervals: of the scenario as a whole where it keeps a record, else of its shapes."""
    whole = screen_line(run.scenario, run.shown or (), run.labels)
    if whole is not None:
        return whole
    rows = coverage_by_shape(run.models)
    if not rows:
        return "No record of accuracy yet"
    shares = [row["held"] for row in rows.values()]
    ends = " to ".join(dict.fromkeys(f"{100 * share:.0f}" for share in (min(shares), max(shares))))
    count = min(row["forecasts"] for row in rows.values())
    first = name_in_words(next(iter(rows)))
    shapes = f"trend shape {first}" if len(rows) == 1 else f"{len(rows)} trend shapes used here"
    intervals = f"Record: {ends} % of {count:,} past 90 % intervals of the {shapes} held, up to ten years ahead"
    return f"{intervals}{_statements_like(run)}"


def _statements_like(run: Projection) -> str:
    """Say how statements like that of the first date, within as many years as the record reaches, came true."""
    answer = next((each for each in run.dates if each.headline), None)
    if answer is None:
        return ""
    by = math.floor(min(run.span[0] + MOST_YEARS, run.span[1]))
    probability = answer.probability(by)
    rows = list(crossings_by_shape(run.models, probability).values()) if math.isfinite(probability) else []
    return f". {percent(probability)} {_deadline_text(iso_date(by))}: {statement_text(rows)}" if rows else ""


def section_sizes(run: Projection) -> dict[str, int]:
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


def _from_memory(run: Projection, words: Labels, drivers: Sequence[str]) -> str:
    """Name the numbers that move an answer and that somebody stated from memory."""
    names = []
    for name in drivers if isinstance(run.opening, DateAnswer) else run.uncertain:
        owner, _, short = name.rpartition(".")
        lines = run.models.get(owner, {}).get("assumptions", ())
        if any("from memory" in line for line in lines if line.startswith(f"{short} [")):
            names.append(words.driver(name))
    more = f" and {len(names) - _MAX_MEMORY} more" if len(names) > _MAX_MEMORY else ""
    return f"From memory, not checked: {', '.join(names[:_MAX_MEMORY])}{more}" if names else ""


# --- Sections ---------------------------------------------------------------------------------------------------------
# The sections of an answer: what one screen has no room for, a screen each, laid out as the first one is.


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
    return [group for answer in run.answers.values() for group in _groups_of_answer(answer, words)], []


def _groups_of_answer(answer: ProjectedAnswer, words: Labels) -> Iterator[RowGroup]:
    if isinstance(answer, DateAnswer):
        title = _title_with_choices(event(answer, {}, words, short=True), answer, words)
        rows = [answer_row(answer, {}, title)]
        if answer.choices:
            rows = [ReportRow(label=title), *_answer_rows(answer, words)]
        rows += _deadline_rows(answer)
        yield RowGroup(rows=tuple(rows), columns=date_columns(answer.run.span[1]), kind="date", ends=answer.run.span)
    elif isinstance(answer, ValueAnswer):
        rows = [ReportRow(label=_title_with_choices(value_title(answer, {}, words, short=True), answer, words))]
        for at in answer.at:
            date = "" if answer.undated else on_date(at.date, short=True)
            rows += [replace(row, label=", ".join(filter(None, (date, row.label)))) for row in _answer_rows(at, words)]
        yield RowGroup(rows=tuple(rows))
    elif isinstance(answer, RankingAnswer):
        yield from ranking_groups(answer, words, most=math.inf)
    elif isinstance(answer, FirstAnswer):
        race = race_group(answer, words)
        yield replace(race, rows=(ReportRow(label=words.title(answer.title or "what comes first", {})), *race.rows))


def _title_with_choices(title: str, answer: ProjectedAnswer, words: Labels) -> str:
    """Name the choices whose values stand in the rows."""
    return f"{title} ({', '.join(map(words, answer.choices))})" if answer.choices else title


def _answer_rows(answer: ProjectedAnswer, words: Labels) -> Iterator[ReportRow]:
    """Walk the answer pooled over rivals, then in every combination of choices."""
    every = [*answer.pooled_rows, *(row for row in answer.rows if row.weights is None)]
    for row in every:
        label = ", ".join([*map(words, row.choices.values()), *(["pooled"] if row.weights else [])])
        yield answer_row(answer, row.choices, label)


def _deadline_rows(answer: ProjectedAnswer | None) -> Iterator[ReportRow]:
    """Walk the dates that the question states, with how likely it is by each under the sentence's own choices."""
    if not isinstance(answer, DateAnswer):
        return
    found = answer.headline
    if found is not None and found.medians is None:
        for date, chance in zip(answer.dates, found.by, strict=False):
            yield ReportRow(label=_deadline_text(date), cells=(percent(chance),))


def _deadline_text(date: str) -> str:
    """Say by which date: before a year or a month where it is the first day of one, by the month where it is in it."""
    return f"{'before' if date.endswith('-01') else 'by'} {on_date(date)}"


# --- Quantities and limits --------------------------------------------------------------------------------------------


def _quantity_section(run: Projection, words: Labels, today: str) -> Section:
    """Return the quantities that are shown at the last date, and at the first one beside."""
    start, until = run.span
    shown = run.numeric if run.shown is None else [name for name in run.shown if name in run.numeric]
    rows = []
    for quantity in (run.quantities[name] for name in shown):
        for cell in quantity.cells:
            values = ", ".join(map(words, cell.values()))
            row = quantity_row(quantity, cell, f"{words(quantity.name)}{f': {values}' if values else ''}")
            first = quantity_row(quantity, cell, "", place=0).cells[0]
            rows.append(row if first == row.cells[0] else replace(row, cells=(*row.cells, first)))
    title = f"Median and 90 % interval in {as_text(until)}; the median in {as_text(start)} where it differs"
    regimes = [_regime_row(q, cell, words) for q in run.quantities.values() if q.kind == "regime" for cell in q.cells]
    helpers = ", ".join(name for name in run.numeric if name not in shown)
    others = f". Not shown: {printable(helpers, _MAX_LIST)}" if helpers else ""
    groups = [RowGroup(rows=each) for each in ((ReportRow(label=title), *rows), tuple(regimes))]
    return groups, [f"Step by step: --quantity NAME{others}"]


def _regime_row(quantity: ProjectedQuantity, cell: dict[str, str], words: Labels) -> ReportRow:
    values = ", ".join(map(words, cell.values()))
    chances = quantity.probabilities(cell).items()
    text = ", ".join(fill("share", label=words(label), percent=percent(chance)) for label, chance in chances)
    return ReportRow(label=f"{words(quantity.name)}{f': {values}' if values else ''}", cells=(text,))


def limit_sentence(limit: ProjectedLimit, until: float, reason: str = "failed") -> str:
    """Say of one limit in how many worlds it binds, and when it first does, or why it cannot be said."""
    what = f"{'limit' if limit.bound == 'limit' else 'floor'} of {limit.name}{in_brackets(limit.choices)}"
    last = as_text(until, fine=True)
    if limit.ever is None:
        return f"{what}: {reason}"
    if not limit.ever:
        return f"{what} does not bind by {last}"
    first = str(limit.first["p50"])[:4]
    return f"{what} binds by {last} in {100 * limit.ever:.0f} % of worlds, first in {first} (median)"


def _limit_section(run: Projection, words: Labels, today: str) -> Section:
    notes = []
    for each in run.limits:
        chosen = {words(choice): words(value) for choice, value in each.choices.items()}
        said = replace(each, name=words(each.name), choices=chosen)
        notes.append(limit_sentence(said, run.span[1], run.unanswered(each.choices)))
    return [], notes


# --- Sources and warnings ---------------------------------------------------------------------------------------------


def _source_section(run: Projection, words: Labels, today: str) -> Section:
    notes = [
        f"{words.model(name, whole=True)} ({printable(name, 120)}): {printable(about['summary'], _MAX_SECTION_TEXT)}"
        for name, about in run.models.items()
    ]
    record = record_sentences(run.scenario, run.labels) or [track_record(run.models)]
    return [], [
        *(
            printable(text, _MAX_SECTION_TEXT)
            for text in (newest_data(run, today, _MAX_SOURCE_TABLES), *record)
            if text
        ),
        *notes,
    ]


def _warning_section(run: Projection, words: Labels, today: str) -> Section:
    notes = [printable(text, _MAX_SECTION_TEXT) for text in (*run.failures, *run.warnings)]
    for chosen, effective in run.effective():
        where = f" ({words.given(chosen)})" if chosen else ""
        count = "no world is possible"
        if effective is not None:
            count = f"{effective:,.0f} of {run.settings.draws:,} worlds are effective"
        notes.append(f"weighed by what is known of {', '.join(run.updated_by)}{where}: {count}")
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
