"""The answers that a page carries at places of each lever, so that a reader moves a fixed number without an engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.projection.crossing import date_quantiles, weighted_quantiles
from forecast.projection.result import DateAnswer, Projection, RankingAnswer, ValueAnswer
from forecast.projection.result.projected_answers import AnswerDistribution, FirstRow, RankingRow
from forecast.report.changes import ChangedRow, changed_rows, unmoved
from forecast.report.headline import Words, changed, event, headline, on_date, value_title
from forecast.sensitivity.lever_points import DRAWS, lever_points

if TYPE_CHECKING:
    from forecast.scenarios.scenario import Scenario

__all__ = ["CarriedAnswer", "LeverAnswers", "carried", "lever_answers"]

#: Of the curve of the sentence's answer: each of so many points stands for an equal share of the worlds.
_CURVE = 50


@dataclass(frozen=True, kw_only=True)
class CarriedAnswer:
    """All that a page says of a projection without its worlds.

    Parameters
    ----------
    sentence : str
    changed : str
        What it was run with, as it ends every sentence.
    opens : str
        The key of the sentence's answer among them.
    dated : mapping of str to bool
        Whether each is a date.
    answers : mapping of str to AnswerDistribution
        Under their own definitions, by question, and by question and place of the date of a value.
    titles : mapping of str to str
        What these are called.
    rows : mapping of str to list of AnswerDistribution
        The sentence's answer under each value of each choice.
    curve : tuple of float
        Quantiles of the sentence's answer at equal steps; empty where it is no date and no value.
    orders : mapping of str to (str, list of RankingRow)
        The rankings: the choice whose values are ranked, and a row a combination of the others.
    firsts : mapping of str to FirstRow
        Of what comes first.
    changes : tuple of ChangedRow
        What differs from the same without what was set or moved, where that stands beside it.
    unmoved : tuple of str
        The questions that do not differ.
    """

    sentence: str
    changed: str
    opens: str
    dated: Mapping[str, bool]
    answers: Mapping[str, AnswerDistribution | None]
    titles: Mapping[str, str]
    rows: Mapping[str, list[AnswerDistribution | None]]
    curve: tuple[float, ...]
    orders: Mapping[str, tuple[str, list[RankingRow]]]
    firsts: Mapping[str, FirstRow | None]
    changes: tuple[ChangedRow, ...]
    unmoved: tuple[str, ...]

    def plain(self, choices: Mapping[str, list[str]], of: Mapping[str, str], start: float) -> dict[str, Any]:
        """Return it as plain data: dates are years from the start, inf is None, and a value of a choice its place.

        Parameters
        ----------
        choices : mapping of str to list of str
            The values of every choice of the page.
        of : mapping of str to str
            Titles that the page has already.
        start : float
            The first date of the page.
        """
        base = {key: start if dated else 0.0 for key, dated in self.dated.items()}
        opens = base.get(self.opens, 0.0)
        return {
            "sentence": self.sentence,
            "changed": self.changed,
            "answers": {key: _plain(each, base[key]) for key, each in self.answers.items()},
            "titles": {key: title for key, title in self.titles.items() if of.get(key) != title},
            "rows": {key: [_plain(each, opens) for each in row] for key, row in self.rows.items()},
            "curve": [_number(each, opens) for each in self.curve],
            "orders": {
                key: [_ordered(row, over, choices) for row in rows] for key, (over, rows) in self.orders.items()
            },
            "firsts": {key: None if row is None else _first(row) for key, row in self.firsts.items()},
            "changes": [[row.label, row.before, row.after, row.difference] for row in self.changes],
            "unmoved": list(self.unmoved),
        }


@dataclass(frozen=True, kw_only=True)
class LeverAnswers:
    """The answers at places of each lever.

    Parameters
    ----------
    draws : int
        How many worlds were drawn at each.
    points : mapping of str to mapping of str to CarriedAnswer or str
        By lever and by what is set; a text where it cannot be set to that, which says why.
    """

    draws: int
    points: Mapping[str, Mapping[str, CarriedAnswer | str]] = field(default_factory=dict)


def lever_answers(
    run: Projection,
    scenario: str | Path | Scenario,
    *,
    draws: int = DRAWS,
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
    points: dict[str, dict[str, CarriedAnswer | str]] = {}
    for point in lever_points(run, scenario, draws=draws, progress=progress):
        told = point.problem if point.run is None else carried(point.run)
        points.setdefault(point.lever.name, {})[point.value] = told
    return LeverAnswers(draws=min(draws, run.settings.draws), points=points)


def carried(run: Projection) -> CarriedAnswer:
    """Return all that a page says of a projection without its worlds."""
    words, opening = Words(run), run.opening
    questions: list[DateAnswer | ValueAnswer] = [*run.dates, *(at for each in run.values for at in each.at)]
    rows: dict[str, list[AnswerDistribution | None]] = {}
    curve: tuple[float, ...] = ()
    if isinstance(opening, (DateAnswer, ValueAnswer)):
        rows = {
            choice: [opening.over({**opening.default, choice: value}) for value in opening.values(choice)]
            for choice in opening.choices
        }
        curve = _curve(opening)
    rankings: list[RankingAnswer] = run.rankings
    return CarriedAnswer(
        sentence=headline(run),
        changed=changed(run, words),
        opens=_key(opening) if isinstance(opening, (DateAnswer, ValueAnswer)) else "",
        dated={_key(each): isinstance(each, DateAnswer) for each in questions},
        answers={_key(each): each.over(each.default) for each in questions},
        titles={_key(each): _title(each, words) for each in questions}
        | {each.name: words.title(each.title or f"the {each.best} {each.text}", {}) for each in rankings},
        rows=rows,
        curve=curve,
        orders={each.name: (each.over_choice, list(each.table)) for each in rankings},
        firsts={each.name: each.sentence_row for each in run.firsts},
        changes=tuple(changed_rows(run)),
        unmoved=tuple(unmoved(run)),
    )


def _key(answer: DateAnswer | ValueAnswer) -> str:
    return answer.name if isinstance(answer, DateAnswer) else f"{answer.name}.{answer.place}"


def _title(answer: DateAnswer | ValueAnswer, words: Words) -> str:
    if isinstance(answer, DateAnswer):
        return event(answer, {}, words, short=True)
    return f"{value_title(answer, answer.default, words)}, {on_date(answer.date)}"


def _curve(answer: DateAnswer | ValueAnswer) -> tuple[float, ...]:
    found = answer.headline
    if found is None or found.medians is not None:
        return ()
    values, weights = answer.pooled_draws(answer.default)
    known = ~np.isnan(values)
    levels = [(place + 0.5) / _CURVE for place in range(_CURVE)]
    if weights is not None:
        made = weighted_quantiles(values[known], weights[known], levels)
    elif answer.kind == "when":
        made = date_quantiles(values[known], levels)
    else:
        made = np.quantile(values[known], levels)
    return tuple(map(float, made))


def _number(value: float, start: float = 0.0) -> float | None:
    """Return a number with the digits that a page tells apart: a date, in years from the start, to some hours."""
    if not math.isfinite(value):
        return None
    return round(value - start, 3) if start else float(f"{value:.4g}")


def _plain(found: AnswerDistribution | None, start: float) -> Any:
    if found is None:
        return None
    shares = [_number(found.never), _number(found.already)]
    if found.medians is None:
        return [[_number(each, start) for each in found.quantiles], *(shares if start else [])]
    nevers = [_number(each) for each in found.nevers]
    medians = [_number(each, start) for each in found.medians]
    return {"medians": medians, "nevers": nevers, "never": shares[0], "already": shares[1], "count": found.count}


def _ordered(row: RankingRow, over: str, choices: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return a ranking: under which values, those that take part with the best median first, and the best."""
    place = choices[over].index
    rows = [[place(each.name), _number(each.first), [_number(q) for q in each.quantiles]] for each in row.taking_part]
    at = {name: choices[name].index(value) for name, value in row.choices.items()}
    return {"at": at, "rows": rows, "best": None if row.best is None else place(row.best.name)}


def _first(row: FirstRow) -> list[float | None] | None:
    """Return the probabilities of what comes first, then of several at once, and of none; None where it failed."""
    if row.failed:
        return None
    return [_number(ends[0]) for ends in (*row.first.values(), row.together, row.none)]
