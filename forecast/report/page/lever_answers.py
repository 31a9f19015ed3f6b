"""The answers that a page carries at places of each lever, so that a reader moves a fixed number without an engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.projection.crossing import date_quantiles, weighted_quantiles
from forecast.projection.result import DateAnswer, Projection, ValueAnswer
from forecast.projection.result.projected_answers import FirstRow, RankingRow
from forecast.report.changes import changed_group, unchanged_questions
from forecast.report.headline import Labels, event, on_date, opening_sentence, settings_sentence, value_title
from forecast.sensitivity.lever_points import N_DRAWS, lever_points

if TYPE_CHECKING:
    from forecast.scenarios.scenario import Scenario

__all__ = ["LeverAnswers", "answer_titles", "carried_answer", "lever_answers"]

#: Of the curve of the sentence's answer: each of so many points stands for an equal share of the worlds.
_N_SENTENCE_CURVE_POINTS = 50


@dataclass(frozen=True, kw_only=True)
class LeverAnswers:
    """The answers at places of each lever.

    Parameters
    ----------
    draws : int
        How many worlds were drawn at each.
    points : mapping of str to mapping of str to dict or str
        By lever and by what is set, as `carried_answer` has it; a text where it cannot be set to that, which says why.
    """

    draws: int
    points: Mapping[str, Mapping[str, dict[str, Any] | str]] = field(default_factory=dict)


def lever_answers(
    run: Projection,
    scenario: str | Path | Scenario,
    *,
    draws: int = N_DRAWS,
    progress: Callable[[int, int], None] | None = None,
) -> LeverAnswers:
    """Return the answers of a projection at places of each of its levers, one moved at a time.

    Parameters
    ----------
    run : Projection
    scenario : str, path or Scenario
        Of which it is one.
    draws : int
        At every place; 0 for none.
    progress : callable, optional
        Called with (places done, places in all).
    """
    points: dict[str, dict[str, dict[str, Any] | str]] = {}
    titles = answer_titles(run)
    for point in lever_points(run, scenario, draws=draws, progress=progress):
        told = point.problem if point.run is None else carried_answer(point.run, run, titles)
        points.setdefault(point.lever.name, {})[point.value] = told
    return LeverAnswers(draws=min(draws, run.settings.draws), points=points)


def carried_answer(run: Projection, page: Projection, page_titles: Mapping[str, str]) -> dict[str, Any]:
    """Return all that a page says of a projection without its worlds.

    Parameters
    ----------
    run : Projection
    page : Projection
        What the page is of: a value of a choice is its place there.
    page_titles : mapping of str to str
        Its `answer_titles`.

    Returns
    -------
    dict
        ``sentence`` and how it ends, ``changed``; ``answers`` to every question, and at every date of a value, under
        their own definitions; ``titles`` that are not those of the page; ``rows``, the sentence's answer under each
        value of each choice, and its ``curve``; ``orders`` and ``firsts``; ``changes`` and ``unmoved``. Dates are years
        from the start of the page, and None is what never comes.
    """
    words, opening, start = Labels(run), run.opening, page.span[0]
    choices = {name: list(choice.values) for name, choice in page.choices.items()}
    rows: dict[str, list[Any]] = {}
    curve: list[float | None] = []
    if isinstance(opening, (DateAnswer, ValueAnswer)):
        rows = {
            choice: [_encoded(opening, {**opening.default, choice: value}, start) for value in opening.values(choice)]
            for choice in opening.choices
        }
        curve = [_round_for_page(each, start if opening.kind == "when" else 0.0) for each in _curve(opening)]
    return {
        "sentence": opening_sentence(run),
        "changed": settings_sentence(run, words),
        "answers": {_answer_key(each): _encoded(each, each.default, start) for each in _numeric(run)},
        "titles": {key: title for key, title in answer_titles(run).items() if page_titles.get(key) != title},
        "rows": rows,
        "curve": curve,
        "orders": {
            each.name: [_encode_ranking(row, each.over_choice, choices) for row in each.table] for each in run.rankings
        },
        "firsts": {
            each.name: None if each.sentence_row is None else _encode_first(each.sentence_row) for each in run.firsts
        },
        "changes": [[row.label, *row.cells] for row in changed_group(run).rows],
        "unmoved": unchanged_questions(run),
    }


def _numeric(run: Projection) -> list[DateAnswer | ValueAnswer]:
    return [*run.dates, *(at for each in run.values for at in each.at)]


def answer_titles(run: Projection) -> dict[str, str]:
    """Return what the answers of a projection are called, by their keys."""
    words, rankings = Labels(run), run.rankings
    titles = {_answer_key(each): _answer_title(each, words) for each in _numeric(run)}
    return titles | {each.name: words.title(each.title or f"the {each.best} {each.text}", {}) for each in rankings}


def _answer_key(answer: DateAnswer | ValueAnswer) -> str:
    return answer.name if isinstance(answer, DateAnswer) else f"{answer.name}.{answer.place}"


def _answer_title(answer: DateAnswer | ValueAnswer, words: Labels) -> str:
    if isinstance(answer, DateAnswer):
        return event(answer, {}, words, short=True)
    return f"{value_title(answer, answer.default, words)}, {on_date(answer.date)}"


def _curve(answer: DateAnswer | ValueAnswer) -> tuple[float, ...]:
    found = answer.headline
    if found is None or found.medians is not None:
        return ()
    values, weights = answer.pooled_draws(answer.default)
    known = ~np.isnan(values)
    levels = [(place + 0.5) / _N_SENTENCE_CURVE_POINTS for place in range(_N_SENTENCE_CURVE_POINTS)]
    if weights is not None:
        made = weighted_quantiles(values[known], weights[known], levels)
    elif answer.kind == "when":
        made = date_quantiles(values[known], levels)
    else:
        made = np.quantile(values[known], levels)
    return tuple(map(float, made))


def _round_for_page(value: float, start: float = 0.0) -> float | None:
    """Return a number with the digits that a page tells apart: a date, in years from the start, to some hours."""
    if not math.isfinite(value):
        return None
    return round(value - start, 3) if start else float(f"{value:.4g}")


def _encoded(answer: DateAnswer | ValueAnswer, chosen: Mapping[str, str], first: float) -> Any:
    """Return an answer under values of choices: its quantiles and shares, or the range of several medians."""
    found, start = answer.over(chosen), first if answer.kind == "when" else 0.0
    if found is None:
        return None
    shares = [_round_for_page(found.never), _round_for_page(found.already)]
    if found.medians is None:
        return [[_round_for_page(each, start) for each in found.quantiles], *(shares if start else [])]
    nevers = [_round_for_page(each) for each in found.nevers]
    medians = [_round_for_page(each, start) for each in found.medians]
    return {"medians": medians, "nevers": nevers, "never": shares[0], "already": shares[1], "count": found.count}


def _encode_ranking(row: RankingRow, over: str, choices: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return a ranking: under which values, those that take part with the best median first, and the best."""
    place = choices[over].index
    rows = [
        [place(each.name), _round_for_page(each.first), [_round_for_page(q) for q in each.quantiles]]
        for each in row.taking_part
    ]
    at = {name: choices[name].index(value) for name, value in row.choices.items()}
    return {"at": at, "rows": rows, "best": None if row.best is None else place(row.best.name)}


def _encode_first(row: FirstRow) -> list[float | None] | None:
    """Return the probabilities of what comes first, then of several at once, and of none; None where it failed."""
    if row.failed:
        return None
    return [_round_for_page(ends[0]) for ends in (*row.first.values(), row.together, row.none)]
