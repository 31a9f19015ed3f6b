"""What the levers of a scenario must hold: each moves something that the scenario shows."""

from __future__ import annotations

from collections.abc import Iterator

from forecast.conformance.answer_checks import Breach
from forecast.errors import ForecastError
from forecast.projection.engine import project
from forecast.projection.paths.run_cache import SHARED_BYTES, RunCache
from forecast.projection.result import DateAnswer, Projection, RankingAnswer, ValueAnswer
from forecast.scenarios.quantities.levers import Lever
from forecast.scenarios.scenario import Scenario

__all__ = ["lever_breaches"]


def lever_breaches(
    scenario: Scenario, *, draws: int = 64, seed: int = 0, cache: RunCache | None = None
) -> Iterator[Breach]:
    """Walk the levers that cannot be moved to an end, or move no answer at either.

    The worlds are the same with and without, so that whatever differs was moved by the lever.

    Parameters
    ----------
    scenario : Scenario
    draws, seed : int
    cache : RunCache, optional
        What was fitted and drawn for the scenario already.

    Examples
    --------
    >>> scenario = Scenario.from_dict({"start": 2025, "until": 2030, "quantities": {
    ...     "x": {"p05": 1, "p95": 4, "unit": "FLOP"}, "y": {"value": 1, "unit": "FLOP"}},
    ...     "questions": {"one": {"when": "x >= 2"}},
    ...     "levers": {"x": {"label": "size", "range": [1, 3]}, "y": {"label": "other", "range": [1, 3]}}})
    >>> [each.question for each in lever_breaches(scenario)]
    ['y']
    """
    if not scenario.levers:
        return
    cache = RunCache(SHARED_BYTES) if cache is None else cache
    base = project(scenario, draws=draws, seed=seed, cache=cache)
    for lever in scenario.levers:
        try:
            moves = _changes_answer(base, lever) or any(
                each.moved
                for end in lever.ends
                for each in project(scenario, draws=draws, seed=seed, cache=cache, **lever.moved(end))
                .beside(base)
                .differences
            )
        except ForecastError as error:
            yield Breach(rule="levers", question=lever.name, message=f"cannot be moved: {error}")
            continue
        if not moves:
            text = f"'{lever.label}' moves no answer, from {' to '.join((lever.ends[0], lever.ends[-1]))}"
            yield Breach(rule="levers", question=lever.name, message=text)


def _changes_answer(run: Projection, lever: Lever) -> bool:
    """Tell whether a choice is one whose values have different answers: one of them is another question, no change."""
    for answer in run.answers.values():
        if isinstance(answer, RankingAnswer):
            rows = [
                [(each.name, each.first, each.median) for each in row.taking_part]
                for row in answer.table
                if lever.name in row.choices
            ]
            if any(row != rows[0] for row in rows):
                return True
        elif isinstance(answer, (DateAnswer, ValueAnswer)) and lever.name in answer.choices:
            found = [answer.over({**answer.default, lever.name: value}) for value in answer.values(lever.name)]
            if any(each is not None and found[0] is not None and each != found[0] for each in found):
                return True
    return False
