"""Forecasts of a projection, as lines of a ledger: only of questions that somebody can decide later.

Such a question has a threshold that is the same in every draw, a deadline, and a source that decides; or it asks for a
quantity at a date, and has a source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast import formula
from forecast.base.dates import decimal_year, iso_date_or_none
from forecast.base.quantiles import QUANTILE_NAMES, QUANTILES
from forecast.errors import FormulaError, UnknownNameError, UsageError, printable
from forecast.evaluation.ledger import append, parse_date, past
from forecast.projection.crossing import weighted_quantiles
from forecast.projection.likelihood_weights import value_quantiles
from forecast.projection.result import DateAnswer, ProjectedAnswer, Projection, ValueAnswer
from forecast.projection.result.observed_values import share_met_by_rows
from forecast.scenarios.kinds.chosen import with_placeholders

#: Quantiles that stand for the whole distribution, in the middle of as many equal shares.
N_QUANTILE_POINTS = 100
_POINT_SHARES = [(i + 0.5) / N_QUANTILE_POINTS for i in range(N_QUANTILE_POINTS)]


def record(
    run: Projection, to: str | Path, *, on: str, questions: Sequence[str] = (), by: Sequence[str] = (), source: str = ""
) -> list[dict[str, Any]]:
    """Add the forecasts of a projection to a ledger; see `forecast_entries`.

    Parameters
    ----------
    run : Projection
    to : str or path
        The ledger, a file of JSON lines; made where there is none.
    on, questions, by, source
        See `forecast_entries`.

    Returns
    -------
    list of dict
        The new lines, with their hashes.
    """
    return append(to, forecast_entries(run, on=on, questions=questions, by=by, source=source))


def forecast_entries(
    run: Projection, *, on: str, questions: Sequence[str] = (), by: Sequence[str] = (), source: str = ""
) -> list[dict[str, Any]]:
    """Return what a projection says to its questions: one forecast for each definition, and each date of a value.

    Parameters
    ----------
    run : Projection
        With every world.
    on : str
        The date of the forecast, or ``"today"``; none that has not come.
    questions : sequence of str
        By default all that ask for dates or values.
    by : sequence of str
        Deadlines: the ledger states the probability by these dates, beside those of the scenario.
    source : str
        Who decides, where the scenario does not say it under ``resolves``.

    Raises
    ------
    UsageError
        Saying what a question lacks that somebody could decide it later, or why there is no one forecast.

    Examples
    --------
    >>> import forecast
    >>> run = forecast.project({"start": 2025, "until": 2030, "quantities": {"x": {"expression": "t - 2024"}},
    ...     "questions": {"high": {"when": "x >= 3", "dates": [2028], "resolves": "the almanac"}}}, draws=10)
    >>> forecast_entries(run, on="2025-01-01")[0]["median"]
    '2027-01-01'
    """
    on = past(on, "--as-of")
    answers: dict[str, DateAnswer | ValueAnswer] = {each.name: each for each in run.dates}
    answers |= {each.name: each for each in run.values}
    others = {each.name for each in (*run.rankings, *run.firsts)}
    for name in questions:
        if name in others:
            raise UsageError(f"question '{name}' asks for an order; expected one that asks when, value or growth")
        if name not in answers:
            raise UnknownNameError("question", name, answers)
    if not answers:
        raise UsageError("record: the scenario asks no question that can be decided: expected when, value or growth")
    if run.swept or run.settings.kept < run.settings.draws:
        what = "a sweep holds several answers" if run.swept else "worlds were counted: keep them all"
        raise UsageError(f"record: {what}; expected one answer, with every world")
    newest = max(run.newest.values(), default=None)
    if newest is not None and newest > on:
        raise UsageError(f"--as-of {on}: the data go on until {newest}; expected a date on which they were known")
    extra = tuple(parse_date(date, "--deadline") for date in by)
    about = {**_run_settings(run), "on": on, "newest": newest}
    out = []
    for name in questions or answers:
        answer = answers[name]
        resolves = source.strip() or answer.resolves
        if not resolves:
            raise _missing_field_error(
                name, "no source that decides", f'resolves = "..." to [questions.{name}]', "--source"
            )
        kind = "when" if isinstance(answer, DateAnswer) else "growth" if answer.growth else "value"
        common = {**about, "question": name, "title": answer.title, "asks": kind, "resolves": resolves}
        forecasts_of_question = (
            _date_entries(answer, extra) if isinstance(answer, DateAnswer) else _value_entries(answer)
        )
        out += [{"kind": "forecast", **common, **each} for each in forecasts_of_question]
    for each in out:
        first = each["at"] if "at" in each else each["by"][0]["date"]
        if first <= on:
            raise UsageError(f"question '{each['question']}': it is asked by {first}, which is not after --as-of {on}")
    return out


def _missing_field_error(name: str, what: str, add: str, option: str) -> UsageError:
    question = f"question '{printable(name, 60)}'"
    return UsageError(f"{question} has {what}: nobody could decide it; add {add}, or give {option}")


def _run_settings(run: Projection) -> dict[str, Any]:
    """Return what it takes to make the forecast again."""
    record, stated = run.provenance, run.settings
    same = ("seed", "draws", "data", "plugins", "versions", "scenario_hash")
    how = ("set", "swap", "changes", "start", "until", "step", "as_of")
    settings = {name: value for name in how if (value := stated.plain[name]) not in ({}, [], None)}
    return {"scenario": run.scenario, **{name: record[name] for name in same}, "settings": settings}


# --- dates ------------------------------------------------------------------------------------------------------------


def _date_entries(answer: DateAnswer, extra: Sequence[str]) -> Iterator[dict[str, Any]]:
    name, run = answer.name, answer.run
    dates = sorted({*(date[:10] for date in answer.dates), *extra})
    if not dates:
        raise _missing_field_error(
            name, "no date by which it is asked", f"dates = [2030] to [questions.{name}]", "--deadline DATE"
        )
    first, last = (str(run.time[i].astype("datetime64[D]")) for i in (0, -1))
    if dates[-1] > last:
        raise UsageError(f"question '{name}': it is asked by {dates[-1]}, and the projection ends on {last}: --until")
    if bool(answer.unmasked.isnull().any()):
        raise UsageError(f"question '{name}' has no answer: {'; '.join(run.failures)}")
    for chosen, over, worlds, weights in _definition_answers(answer):
        threshold = _fixed_side(answer, chosen)
        known = ~np.isnan(worlds)
        share = weights * known / (weights * known).sum()
        ends = decimal_year(np.array(dates, dtype="datetime64[s]"))
        points = weighted_quantiles(worlds, weights, _POINT_SHARES)
        quantiles = weighted_quantiles(worlds, weights, QUANTILES)
        levels = dict(zip(QUANTILE_NAMES, map(iso_date_or_none, quantiles), strict=True))
        yield {
            "asked": answer.text, "unit": "year", "threshold": threshold, "choices": chosen, "pooled": over,
            "start": first, "until": last, "median": levels["p50"], "quantiles": levels,
            "never": float(share[np.isposinf(worlds)].sum()),
            "already": float(share[worlds <= run.span[0]].sum()) * share_met_by_rows(answer, chosen),
            "by": [
                {"date": date, "probability": min(1.0, float(share[worlds <= end].sum()))}
                for date, end in zip(dates, ends, strict=True)
            ],
            "points": [float(p) if np.isfinite(p) else None for p in points],
        }  # fmt: skip


def _fixed_side(answer: DateAnswer, chosen: Mapping[str, str]) -> dict[str, Any]:
    """Return the side of a condition that is the same in every world and at every date, with what it is made of."""
    name, when, run = answer.name, answer.text, answer.run
    try:
        condition = formula.parse_condition(with_placeholders(when)[0], where=f"question '{name}'")
    except FormulaError:
        condition = None
    moving: list[str] = []
    for side in () if condition is None else (condition.right, condition.left):
        known = {each: _constant_value(run, each, chosen) for each in side.names}
        if None not in known.values():
            return {"side": side.text, **({"values": known} if known else {})}
        moving += [each for each, value in known.items() if value is None]
    raise _missing_field_error(
        name,
        f"no threshold: both sides of '{printable(when, 80)}' differ from world to world ({', '.join(moving)})",
        "a number or a fixed quantity on one side",
        "--set NAME=NUMBER",
    )


def _constant_value(run: Projection, name: str, chosen: Mapping[str, str]) -> dict[str, Any] | None:

    if name not in run.numeric:
        return None
    values = run.worlds[name]
    own = values.sel({dim: value for dim, value in chosen.items() if dim in values.dims})
    number = float(own.values.flat[0])
    same = np.isfinite(number) and bool((own.values == number).all())
    return {"value": number, "unit": str(own.attrs["units"])} if same else None


# --- values -----------------------------------------------------------------------------------------------------------


def _value_entries(answer: ValueAnswer) -> Iterator[dict[str, Any]]:
    for each in answer.at:
        for chosen, over, worlds, weights in _definition_answers(each):
            if np.isnan(worlds).all():
                failures = "; ".join(answer.run.failures)
                raise UsageError(f"question '{answer.name}' has no answer on {each.date}: {failures}")
            points = weighted_quantiles(worlds, weights, _POINT_SHARES)
            alike = bool((weights == weights[0]).all())
            found = value_quantiles(worlds[:, None], None if alike else weights)[:, 0]
            levels = dict(zip(QUANTILE_NAMES, map(float, found), strict=True))
            yield {
                "asked": each.text, "unit": each.unit, "choices": chosen, "pooled": over, "at": each.date[:10],
                "median": levels["p50"], "quantiles": levels, "points": [float(p) for p in points],
            }  # fmt: skip


# --- worlds -----------------------------------------------------------------------------------------------------------

Worlds = tuple[dict[str, str], dict[str, dict[str, float]], "NDArray[np.float64]", "NDArray[np.float64]"]


def _definition_answers(answer: ProjectedAnswer) -> Iterator[Worlds]:
    """Walk the definitions: what is chosen, the weights of pooled rivals, and what every world says and counts."""
    single = [dim for dim in answer.choices if len(answer.values(dim)) == 1]
    rivals = [dim for dim in answer.choices if dim not in single and dim not in answer.definitions]
    for dim in rivals:
        if dim not in answer.rivals:
            values = ", ".join(answer.values(dim))
            raise UsageError(
                f"question '{answer.name}': there is no one forecast: the rivals of '{dim}' have no weights; give one, "
                f"--set {dim}=... ({values}), or weights in the scenario"
            )
    pools = {dim: dict(zip(answer.values(dim), answer.rivals[dim], strict=True)) for dim in rivals}
    left = [dim for dim in answer.choices if dim not in rivals]
    for chosen in answer.combinations(left):
        worlds, weights = answer.pooled_draws(chosen)
        yield chosen, pools, worlds, np.ones(len(worlds)) if weights is None else weights
