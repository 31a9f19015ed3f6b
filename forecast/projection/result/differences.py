"""What a change makes of the answers: each as it is without the change, and with it, in the same worlds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forecast.base.dates import from_decimal_year
from forecast.base.json_text import none_if_not_finite
from forecast.projection.result.combinations import iso
from forecast.projection.result.projected_answers import DateAnswer, ProjectedAnswer, RankingAnswer, ValueAnswer
from forecast.projection.result.shifts import SHIFT_LEVELS, comparable_choices, find_shift

if TYPE_CHECKING:
    from forecast.projection.result.projection import Projection

#: Answers that have numbers of which it can be said by how much they differ.
_COMPARABLE = (DateAnswer, ValueAnswer, RankingAnswer)


@dataclass(frozen=True, kw_only=True)
class AnswerDifference:
    """An answer without a change and with it.

    Parameters
    ----------
    answer : ProjectedAnswer
        With the change.
    median, never, already : (float, float)
        Before and after; dates are decimal years, inf where they never come; of a ranking that of its best. NaN where
        there is none.
    best : (str, str)
        Of a ranking: what is best.
    share : (float, float)
        Of a ranking: how likely it is to be that.
    among : (int, int)
        Of a ranking: how many take part.
    shift, by : mapping
        By how much a date or a value moves, world by world, and the regime that decides: as `find_shift` returns them.
    """

    answer: ProjectedAnswer
    median: tuple[float, float] = (math.nan, math.nan)
    never: tuple[float, float] = (0.0, 0.0)
    already: tuple[float, float] = (0.0, 0.0)
    best: tuple[str, str] = ("", "")
    share: tuple[float, float] = (0.0, 0.0)
    among: tuple[int, int] = (0, 0)
    shift: Mapping[str, Any] = field(default_factory=dict)
    by: Mapping[str, Any] = field(default_factory=dict)

    @property
    def moved(self) -> bool:
        """Whether anything of it differs: the worlds are the same, so that what a change does not reach is equal."""
        unmoved = 1.0 if self.shift.get("kind") == "ratio" else 0.0
        return any(self.shift.get(level, unmoved) != unmoved for level in SHIFT_LEVELS) or any(
            before != after
            for before, after in (self.median, self.never, self.already, self.best, self.share, self.among)
            if before == before or after == after  # two that are no number are equal
        )

    @property
    def plain(self) -> dict[str, Any]:
        """The same as plain data: ISO dates; None for one that never comes, and where there is no answer.

        None in a shift is a date that does not come by the last step with the change.
        """
        pairs: dict[str, tuple[Any, Any]] = {"median": self.median}
        if isinstance(self.answer, DateAnswer):
            dates = [iso(from_decimal_year(end)) for end in self.median]
            pairs = {"median": (dates[0], dates[1]), "never": self.never, "already": self.already}
        elif isinstance(self.answer, RankingAnswer):
            pairs = {"best": self.best, "median": self.median, "share": self.share, "among": self.among}
        sides = [{key: none_if_not_finite(pair[side]) for key, pair in pairs.items()} for side in (0, 1)]
        about = {"name": self.answer.name, "kind": self.answer.kind, "unit": self.answer.unit}
        if isinstance(self.answer, ValueAnswer):
            about["date"] = self.answer.date
        shift = {key: each for key, each in (("shift", self.shift), ("by", self.by)) if each}
        return {**about, "before": sides[0], "after": sides[1], "moved": self.moved, **shift}


def baseline(run: Projection, changed: Projection, *, decided: bool = True) -> dict[str, dict[str, Any]]:
    """Return the answers of a projection without a change, by question, as `Projection.beside` keeps them.

    Where the change narrows a definition the answer is that under the same one: another definition is another question.
    What regime decides is told of all of them where it is `decided`, and else of the sentence's alone.
    """
    comparable = [answer for answer in run.answers.values() if isinstance(answer, _COMPARABLE)]
    opens = next(iter(run.answers), "")
    return {
        each.name: _headline_numbers(each, changed) | find_shift(each, changed, decided=decided or each.name == opens)
        for each in comparable
    }


def answer_differences(run: Projection, before: Mapping[str, Mapping[str, Any]]) -> Iterator[AnswerDifference]:
    """Walk the answers that a projection without the change has too, that of the sentence first."""
    for answer in run.answers.values():
        was = before.get(answer.name)
        if was is None or not isinstance(answer, _COMPARABLE):
            continue
        now = _headline_numbers(answer)
        pairs = {key: (was[key], now[key]) for key in now if key in was}  # none where one of them failed
        if "median" in pairs:
            missing = math.inf if isinstance(answer, DateAnswer) else math.nan
            was_at, now_at = (missing if end is None else float(end) for end in pairs["median"])
            pairs["median"] = (was_at, now_at)
        yield AnswerDifference(answer=answer, shift=was.get("shift", {}), by=was.get("by", {}), **pairs)


def _headline_numbers(answer: ProjectedAnswer, like: Projection | None = None) -> dict[str, Any]:
    """Return the numbers of an answer's sentence, None for what never comes; under the definitions of a projection."""
    if isinstance(answer, RankingAnswer):
        known = {} if like is None else {name: choice.values for name, choice in like.choices.items()}
        row = next((row for row in answer.table if all(v in known.get(c, (v,)) for c, v in row.choices.items())), None)
        best = None if row is None else row.best
        among = 0 if row is None else len(row.taking_part)
        if best is None:
            return {"best": "", "median": None, "share": 0.0, "among": among}
        return {"best": best.name, "median": none_if_not_finite(best.median), "share": best.first, "among": among}
    found = answer.over(answer.default if like is None else comparable_choices(answer, like))
    if found is None or found.medians is not None:  # rivals that nobody weighs have no one number
        return {}
    numbers = {"median": none_if_not_finite(found.median)}
    return {**numbers, "never": found.never, "already": found.already} if answer.kind == "when" else numbers
