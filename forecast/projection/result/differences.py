"""What a change makes of the answers: each as it is without the change, and with it, in the same worlds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forecast.base.dates import from_decimal_year
from forecast.base.json_text import none_if_not_finite
from forecast.projection.result.combinations import iso
from forecast.projection.result.projected_answers import (
    DateAnswer,
    ProjectedAnswer,
    RankingAnswer,
    ValueAnswer,
)

if TYPE_CHECKING:
    from forecast.projection.result.projection import Projection

__all__ = ["AnswerDifference", "answer_differences", "baseline"]


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
    """

    answer: ProjectedAnswer
    median: tuple[float, float] = (math.nan, math.nan)
    never: tuple[float, float] = (0.0, 0.0)
    already: tuple[float, float] = (0.0, 0.0)
    best: tuple[str, str] = ("", "")
    share: tuple[float, float] = (0.0, 0.0)
    among: tuple[int, int] = (0, 0)

    @property
    def moved(self) -> bool:
        """Whether anything of it differs: the worlds are the same, so that what a change does not reach is equal."""
        return any(
            before != after
            for before, after in (self.median, self.never, self.already, self.best, self.share, self.among)
            if before == before or after == after  # two that are no number are equal
        )

    @property
    def plain(self) -> dict[str, Any]:
        """The same as plain data: ISO dates; None for one that never comes, and where there is no answer."""
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
        return {**about, "before": sides[0], "after": sides[1], "moved": self.moved}


def baseline(run: Projection, changed: Projection) -> dict[str, dict[str, Any]]:
    """Return the answers of a projection without a change, by question, as `Projection.beside` keeps them.

    Where the change narrows a definition the answer is that under the same one: another definition is another question.
    """
    return {
        answer.name: _headline_numbers(answer, changed) for answer in run.answers.values() if _is_comparable(answer)
    }


def answer_differences(run: Projection, before: Mapping[str, Mapping[str, Any]]) -> Iterator[AnswerDifference]:
    """Walk the answers that a projection without the change has too, that of the sentence first."""
    for answer in run.answers.values():
        was = before.get(answer.name)
        if was is None or not _is_comparable(answer):
            continue
        now = _headline_numbers(answer)
        pairs = {key: (was[key], now[key]) for key in now if key in was}  # none where one of them failed
        if "median" in pairs:
            missing = math.inf if isinstance(answer, DateAnswer) else math.nan
            was_at, now_at = (missing if end is None else float(end) for end in pairs["median"])
            pairs["median"] = (was_at, now_at)
        yield AnswerDifference(answer=answer, **pairs)


def _is_comparable(answer: ProjectedAnswer) -> bool:
    return isinstance(answer, (DateAnswer, ValueAnswer, RankingAnswer))


def _headline_numbers(answer: ProjectedAnswer, like: Projection | None = None) -> dict[str, Any]:
    """Return the numbers of an answer's sentence, None for what never comes; under the definitions of a projection."""
    known = {} if like is None else {name: choice.values for name, choice in like.choices.items()}
    if isinstance(answer, RankingAnswer):
        row = next((row for row in answer.table if all(v in known.get(c, (v,)) for c, v in row.choices.items())), None)
        best = None if row is None else row.best
        among = 0 if row is None else len(row.taking_part)
        if best is None:
            return {"best": "", "median": None, "share": 0.0, "among": among}
        return {"best": best.name, "median": none_if_not_finite(best.median), "share": best.first, "among": among}
    chosen = {c: v if v in known.get(c, (v,)) else known[c][0] for c, v in answer.default.items()}
    found = answer.over(chosen)
    if found is None or found.medians is not None:  # rivals that nobody weighs have no one number
        return {}
    numbers = {"median": none_if_not_finite(found.median)}
    return {**numbers, "never": found.never, "already": found.already} if answer.kind == "when" else numbers
