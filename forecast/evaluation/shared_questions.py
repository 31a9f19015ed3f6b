"""What several scenarios say to the questions that they share, side by side, scored where it is known what happened.

A question of a scenario states ``comparable_as = "NAME"``; a table called ``shared-questions``, which any plugin may
bring, says what the question is and what came of it: the columns ``question``, ``title``, ``quantity`` (what it is
about, where others ask about the same at other dates and levels), ``known_by`` (the date to which it is known),
``happened`` (the date on which it did, where it asks when), ``outcome`` (where it asks for a value) and ``differs`` (in
what the scenarios do not mean the same).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from forecast.base.lazy import xr
from forecast.errors import UnknownNameError
from forecast.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from forecast.contract.registry import Registry
    from forecast.projection.result import Projection

SHARED_QUESTIONS_TABLE = "shared-questions"
_QUANTILE_PERCENTS = {"p05": 5, "p50": 50, "p95": 95}


def shared_questions(registry: Registry) -> dict[str, dict[str, Any]]:
    """Return every shared question by its name: what it is, and what is known of it."""
    found: dict[str, dict[str, Any]] = {}
    for row in table_rows(registry, SHARED_QUESTIONS_TABLE):
        found[str(row["question"])] = {
            "title": str(row["title"]),
            "quantity": str(row.get("quantity", "")),
            "known_by": _iso_date(row["known_by"]),
            "happened": _iso_date(row["happened"]),
            "outcome": None if math.isnan(row["outcome"]) else float(row["outcome"]),
            "differs": str(row.get("differs", "")),
        }
    return found


def table_rows(registry: Registry, name: str) -> Iterator[dict[str, Any]]:
    """Walk the rows of the tables of a name, which any plugin may bring."""
    from forecast import tables

    for full in registry.names("table"):
        if full.rpartition("/")[2] == name:
            data = tables.flatten_rows(tables.table(full))
            for i in range(data.sizes[next(iter(data.sizes))]):
                yield {str(column): data[column].values[i] for column in data.variables}


def _iso_date(stamp: Any) -> str | None:

    return None if np.isnat(stamp) else str(stamp)[:10]


class SharedQuestion(NamedTuple):
    """A scenario's own question that answers a shared one.

    Parameters
    ----------
    own, question : str
        The names of the scenario's question and of the shared one.
    under : mapping of str to str
        The values of choices under which it does, where not under the first of every definition.
    """

    own: str
    question: str
    under: Mapping[str, str]


def scenarios_sharing(
    registry: Registry, questions: Mapping[str, Any]
) -> Iterator[tuple[Scenario, list[SharedQuestion]]]:
    """Walk the scenarios that answer shared questions, with their own questions that do.

    Raises
    ------
    UnknownNameError
        For a question that no table has.
    """
    for full in registry.names("scenario"):
        spec = registry.find("scenario", full).spec
        if not _may_share(spec.path):
            continue
        scenario = Scenario.load(full)
        every = {name: each.shared for name, each in scenario.questions.items()}
        every |= {name: each.shared for name, each in scenario.figures.items()}
        shared = [
            SharedQuestion(name, question, under) for name, own in every.items() for question, under in own.items()
        ]
        for name, question, _ in shared:
            if question not in questions:
                at = f"{full}: questions.{name}.comparable_as"
                raise UnknownNameError("shared question", question, questions, where=at)
        if shared:
            yield scenario, shared


def _may_share(path: str) -> bool:
    """Tell by its text whether a scenario can share a question: most do not, and are not read further."""
    from pathlib import Path

    text = Path(path).read_text(encoding="utf-8", errors="replace")
    return "comparable_as" in text or "extends" in text


def compare_scenarios(
    only: Sequence[str] = (),
    *,
    draws: int = 2048,
    seed: int = 0,
    progress: Callable[[float, float], None] | None = None,
) -> list[dict[str, Any]]:
    """Return what every scenario says to every shared question.

    Of a definition the first value is taken, which is the one that a sentence names, unless the scenario says under
    which of its values it asks the same; rivals are pooled by weight.

    Parameters
    ----------
    only : sequence of str
        Names of shared questions; all by default.
    draws, seed : int
    progress : callable, optional
        Called with (scenarios done, scenarios in all).

    Returns
    -------
    list of dict
        For each question its ``name``, ``title``, ``known_by``, ``happened``, ``outcome``, ``differs`` and ``answers``:
        each with ``scenario``, ``made`` (the day of a published forecast), ``definitions`` (the values taken), ``kind``
        (``date`` or ``value``), ``p05``, ``p50`` and ``p95`` (decimal years, or values; None inside the never mass),
        ``never``, ``start`` and ``until`` (of the scenario, decimal years), ``uncertain`` (whether anything in it
        differs between worlds), ``by_known`` (of a date the probability by `known_by`), ``score`` and ``measure``: the
        Brier score of that probability, or the CRPS in powers of ten. A forecast that was made after the outcome was
        known is ``seen`` and has no score.
    """
    from forecast.contract.registry import get_registry
    from forecast.projection.engine import project
    from forecast.projection.paths.run_cache import RunCache
    from forecast.sensitivity.first_order import certain

    registry = get_registry()
    questions = shared_questions(registry)
    for name in only:
        if name not in questions:
            raise UnknownNameError("shared question", name, questions)
    wanted_of_scenarios = [
        (scenario, wanted)
        for scenario, shared in scenarios_sharing(registry, questions)
        if (wanted := [each for each in shared if not only or each.question in only])
    ]
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name in (only or questions)}
    cache = RunCache(0)  # the scenarios share series, and no draws that would be worth their memory
    for done, (scenario, wanted) in enumerate(wanted_of_scenarios):
        first = {n: c.values[0] for n, c in scenario.choices.items() if c.kind == "definition" and len(c.values) > 1}
        made = scenario.stated.get("published_on", scenario.stated.get("issued_on"))
        made = None if made is None else str(made)
        runs: dict[tuple[tuple[str, str], ...], tuple[Projection, dict[str, Any]]] = {}
        for own, name, under in wanted:
            taken = {**first, **under}
            key = tuple(sorted(taken.items()))
            if key not in runs:
                own_questions = [each.own for each in wanted if {**first, **each.under} == taken]
                run = project(
                    scenario.asking(own_questions),
                    with_=taken,
                    draws=draws,
                    keep=draws,
                    seed=seed,
                    paths=(),
                    cache=cache,
                    progress=partial(_report_progress, progress, done, len(wanted_of_scenarios)),
                )
                start, until = run.span
                about = {"scenario": scenario.name, "made": made, "definitions": taken}
                runs[key] = run, {**about, "start": start, "until": until, "uncertain": not certain(run)}
            run, about = runs[key]
            dated = own in scenario.questions
            row = (_score_date_question if dated else _score_value_question)(run, own, questions[name], made)
            answers[name].append({**about, "kind": "date" if dated else "value", **row})
        if progress is not None:
            progress(done + 1, len(wanted_of_scenarios))
    return [{"name": name, **questions[name], "answers": rows} for name, rows in answers.items() if rows]


def _report_progress(
    progress: Callable[[float, float], None] | None, done: int, of: int, blocks: int, every: int
) -> None:
    """Tell how far the comparison is while one scenario is run."""
    if progress is not None:
        progress(done + blocks / (every + 1), of)


def _score_date_question(run: Projection, own: str, question: Mapping[str, Any], made: str | None) -> dict[str, Any]:
    """Return the date that a scenario gives, and the score of its probability by the date to which it is known."""
    from forecast.base.dates import decimal_year
    from forecast.projection.claim_values import claim_draws, of_dates

    answer = next(each for each in run.dates if each.name == own)
    figure = partial(of_dates, *claim_draws(run, answer.unmasked, where=own), run.span[0], where=own)
    found = {name: figure(f"p{level}") for name, level in _QUANTILE_PERCENTS.items()}
    out: dict[str, Any] = {name: value if math.isfinite(value) else None for name, value in found.items()}
    out |= {"never": figure("never"), "by_known": None}
    out |= {"score": None, "measure": "Brier", "seen": False}
    if question["known_by"] is None:
        return out
    by, happened = question["known_by"], question["happened"]
    out["seen"] = made is not None and made >= (happened or by)
    if not out["seen"]:
        said = figure("by", round(float(decimal_year(np.datetime64(by, "s"))), 5))
        out["by_known"], out["score"] = said, (said - (happened is not None)) ** 2
    return out


def _score_value_question(run: Projection, own: str, question: Mapping[str, Any], made: str | None) -> dict[str, Any]:
    """Return the value that a scenario gives at the first of its dates, and its score where it is known."""
    from forecast.evaluation.scores import crps
    from forecast.projection.claim_values import claim_draws
    from forecast.projection.crossing import weighted_quantiles

    values, weights = claim_draws(
        run, next(each for each in run.values if each.name == own).every.isel(date=0), where=own
    )
    levels = [level / 100 for level in _QUANTILE_PERCENTS.values()]
    found = weighted_quantiles(values, weights, levels)
    out: dict[str, Any] = dict(zip(_QUANTILE_PERCENTS, map(float, found), strict=True))
    out |= {"never": None, "by_known": None, "score": None, "measure": "CRPS of log10", "seen": False}
    if question["outcome"] is not None:
        out["seen"] = made is not None and question["known_by"] is not None and made >= question["known_by"]
        if not out["seen"] and (values > 0).all():
            # as many equally likely values as worlds, where worlds count differently
            even = weighted_quantiles(values, weights, ((np.arange(len(values)) + 0.5) / len(values)).tolist())
            forecast, seen = xr.DataArray(np.log10(even), dims="draw"), xr.DataArray(np.log10(question["outcome"]))
            out["score"] = float(crps(forecast, seen))
    return out
