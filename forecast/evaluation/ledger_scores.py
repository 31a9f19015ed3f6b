"""What became of forecasts in a ledger: each is scored by its last outcome, as far as that tells.

A date is scored in years, up to the last date that is known: of an event that has not happened yet, what the forecast
said beyond that date does not count (the integral of the CRPS ends there, which is the CRPS of dates cut off there).
Whether it came by each deadline is scored as a probability. A quantity is scored in its unit, and in logarithms
where it is positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from forecast.base.dates import year_of
from forecast.base.files import check_regular
from forecast.base.lazy import xr
from forecast.base.quantiles import QUANTILE_NAMES, QUANTILES
from forecast.errors import UsageError, printable
from forecast.evaluation import scores
from forecast.evaluation.ledger import (
    NEVER_OUTCOME,
    SHORT_HASH_DIGITS as DIGITS,
    extend,
    find_forecast,
    parse_date,
    past,
)
from forecast.evaluation.scores import mean_or_none


def resolve_forecast(
    path: str | Path,
    name: str,
    outcome: str | float,
    *,
    on: str,
    source: str = "",
    expect: str | Iterable[str] = (),
    alike: bool = False,
) -> dict[str, Any]:
    """Add what happened to a ledger, and return the scores of the forecast; its own line stays as it is.

    Parameters
    ----------
    path : str or path
    name : str
        The first digits of the forecast's hash.
    outcome : str or float
        The date on which it first was so, ``"never"`` for not by `on`, or a number in the unit of the forecast.
    on : str
        The date on which this was known, or ``"today"``; none that has not come.
    source : str
        Where it was read, if that is not what the forecast says.
    expect : str or iterable of str
        Hashes that were published, which the ledger must hold; see `forecast.evaluation.ledger.parse_published_hashes`.
    alike : bool
        It is the outcome of every forecast of this statement: of the same source and the same threshold, whoever made
        it and at which dates it asks.

    Returns
    -------
    dict
        As `score_forecast`, with ``"replaces"``: the outcome that stood there before, or None; and ``"alike"``: how
        many other forecasts it was added to.

    Raises
    ------
    UsageError
        For an outcome that is none of this forecast.
    DataError
        For what `forecast.evaluation.ledger.read_ledger` refuses.
    """
    check_regular(Path(path))
    known: list[dict[str, Any]] = []

    def line(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        known[:] = records
        forecast = find_forecast(records, name)
        day = past(on, "--on")
        told = _parse_outcome(forecast, outcome, day)
        decided = source.strip() or forecast["resolves"]
        told_of = [forecast, *(_same_statement_forecasts(records, forecast, told, day) if alike else ())]
        return [{"kind": "outcome", "of": e["sha256"], "on": day, "outcome": told, "source": decided} for e in told_of]

    added, *others = extend(path, line, expect=expect)
    forecast, before = find_forecast(known, name), _last_outcomes(known).get(added["of"])
    replaces = None if before is None else before["outcome"]
    return {**score_forecast(forecast, added), "replaces": replaces, "alike": len(others)}


def _same_statement_forecasts(
    records: Sequence[Mapping[str, Any]], forecast: Mapping[str, Any], outcome: str | float, day: str
) -> Iterator[Mapping[str, Any]]:
    """Walk the other forecasts of a statement that were made by a day and have another outcome, or none."""
    if forecast["asks"] != "when":
        raise UsageError("--statement: it asks for a value, and no other forecast asks when that is so")
    known, wanted = _last_outcomes(records), (forecast["resolves"], threshold_text(forecast))
    for line in records:
        if line["kind"] != "forecast" or line["asks"] != "when" or line["sha256"] == forecast["sha256"]:
            continue
        settled = known.get(str(line["sha256"]), {}).get("outcome")
        if (line["resolves"], threshold_text(line)) == wanted and line["on"] <= day and settled != outcome:
            yield line


def _parse_outcome(forecast: Mapping[str, Any], stated: str | float, on: str) -> str | float:
    """Read an outcome as this forecast can have it."""
    shown = printable(stated, 40)
    if on < forecast["on"]:
        raise UsageError(f"--on {on}: the forecast is of {forecast['on']}; expected that date or a later one")
    if forecast["asks"] == "when":
        if stated == NEVER_OUTCOME:
            return NEVER_OUTCOME
        date = parse_date(str(stated), "--outcome")
        if date > on:
            raise UsageError(f"--outcome {shown}: comes after --on {on}, on which it was known")
        return date
    try:
        number = float(stated)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        unit = f" in {forecast['unit']}" if forecast["unit"] else ""
        raise UsageError(f"--outcome: expected a number{unit}, got '{shown}'")
    if on < forecast["at"]:
        raise UsageError(f"--on {on}: the forecast is about {forecast['at']}, which comes after it")
    return number


def _last_outcomes(records: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the last outcome of every forecast that has one."""
    return {str(record["of"]): record for record in records if record["kind"] == "outcome"}


# --- what a forecast is of --------------------------------------------------------------------------------------------


def threshold_text(line: Mapping[str, Any]) -> str:
    """Return the fixed side of a condition: a number with its unit, or its text where it is more than one name."""
    stated = line.get("threshold", {})
    side, values = str(stated.get("side", line["asked"])), stated.get("values", {})
    return amount_text(values[side]["value"], values[side]["unit"]) if set(values) == {side} else side


def title(line: Mapping[str, Any], amount: Callable[[float, str], str] | None = None) -> str:
    """Return the title of a question with the numbers of its threshold in it."""
    text = str(line.get("title") or line["question"])
    for name, each in line.get("threshold", {}).get("values", {}).items():
        text = text.replace(f"{{{name}}}", (amount or amount_text)(each["value"], each["unit"]))
    return text


def amount_text(value: float, unit: str) -> str:
    """Return a number and its unit."""
    return f"{value:g} {unit}".strip()


# --- scores -----------------------------------------------------------------------------------------------------------


def score_forecast(forecast: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores of one forecast.

    Returns
    -------
    dict
        ``id``, ``question``, ``asks``, ``outcome``, ``final`` (False while it has not happened and still may),
        ``crps``, ``wis`` (in years, or of logarithms; None where a quantity is not positive), ``held`` (whether the
        90 % interval covers the outcome; None while that is open) and ``by``: for each date that is decided, the
        ``probability``, whether it ``came``, ``brier`` and ``log_loss``.
    """
    about = {key: forecast[key] for key in ("question", "asks", "unit", "choices")}
    base = {"id": forecast["sha256"][:DIGITS], **about, "outcome": outcome["outcome"], "on": outcome["on"]}
    return {
        **base,
        **(_score_date(forecast, outcome) if forecast["asks"] == "when" else _score_value(forecast, outcome)),
    }


def _score_date(forecast: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:

    start, until, known = (year_of(each) for each in (forecast["start"], forecast["until"], outcome["on"]))
    came = math.inf if outcome["outcome"] == NEVER_OUTCOME else year_of(outcome["outcome"])
    final = came < math.inf or known >= until
    end = until if final else max(known, start)
    points = np.clip([math.inf if p is None else float(p) for p in forecast["points"]], start, end)
    stated = {q: math.inf if (day := forecast["quantiles"][q]) is None else year_of(day) for q in QUANTILE_NAMES}
    levels = _quantile_array({q: min(max(value, start), end) for q, value in stated.items()})
    seen = _as_array(min(max(came, start), end))
    # a quantile is None where it lies after the horizon, as an event does that came later or never
    beyond = came if came <= until else math.inf
    covered: bool | None = stated["p05"] <= max(beyond, start) <= stated["p95"]
    if not final and stated["p95"] > known:
        covered = True if stated["p05"] <= known and stated["p95"] == math.inf else None
    by = []
    for row in forecast["by"]:
        if came < math.inf or outcome["on"] >= row["date"]:
            happened = came <= year_of(row["date"])
            by.append({**row, "came": happened, **_binary(row["probability"], happened, forecast["draws"])})
    return {
        "final": final,
        "crps": float(scores.crps(_draw_array(points), seen)),
        "wis": float(scores.weighted_interval(levels, seen, logs=False)),
        "held": covered,
        "by": by,
    }


def _score_value(forecast: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:
    levels, seen = _quantile_array(forecast["quantiles"]), _as_array(float(outcome["outcome"]))
    positive = bool((levels > 0).all()) and bool(seen > 0)
    return {
        "final": True,
        "crps": float(scores.crps(_draw_array(forecast["points"]), seen)),
        "wis": float(scores.weighted_interval(levels, seen)) if positive else None,
        "held": bool(scores.coverage(levels, seen)),
        "by": [],
    }


def _binary(probability: float, came: bool, worlds: int) -> dict[str, float]:
    """Score a probability; for its logarithm n worlds tell it no nearer to 0 and 1 than by half a world."""
    seen, half = _as_array(float(came)), 0.5 / worlds
    told = _as_array(min(max(probability, half), 1 - half))
    return {"brier": float(scores.brier(_as_array(probability), seen)), "log_loss": float(scores.log_loss(told, seen))}


def _as_array(value: float) -> xr.DataArray:

    return xr.DataArray(float(value))


def _draw_array(points: Any) -> xr.DataArray:

    return xr.DataArray(np.asarray(points, dtype=float), dims="draw")


def _quantile_array(quantiles: Mapping[str, float]) -> xr.DataArray:

    numbers = [float(quantiles[q]) for q in QUANTILE_NAMES]
    return xr.DataArray(numbers, dims="quantile", coords={"quantile": list(QUANTILES)})


# --- the whole ledger -------------------------------------------------------------------------------------------------


def due(forecast: Mapping[str, Any], outcome: Mapping[str, Any] | None) -> str | None:
    """Return the next date on which something of a forecast is decided, or None where all is."""
    if forecast["asks"] != "when":
        return None if outcome else str(forecast["at"])
    if outcome is None:
        return str(min(row["date"] for row in forecast["by"]))
    if score_forecast(forecast, outcome)["final"]:
        return None
    left = [row["date"] for row in forecast["by"] if row["date"] > outcome["on"]]
    return str(min([*left, forecast["until"]]))


def forecast_rows(records: Sequence[Mapping[str, Any]], on: str | None = None) -> list[dict[str, Any]]:
    """Return every forecast of a ledger with what became of it.

    Parameters
    ----------
    records : sequence of dict
        As `forecast.evaluation.ledger.read_ledger` returns them.
    on : str, optional
        What is due on this date is told; without it nothing is, for nothing here reads the clock.

    Returns
    -------
    list of dict
        ``id``, ``on``, ``scenario``, ``question``, ``asked``, ``unit``, ``choices``, ``resolves``, ``quantiles``,
        ``at`` (of a value, its date), ``next`` (the next date that decides something, None for none), ``due`` and
        ``score`` (as `score_forecast`, or None).
    """
    outcomes = _last_outcomes(records)
    out = []
    for forecast in (record for record in records if record["kind"] == "forecast"):
        outcome = outcomes.get(str(forecast["sha256"]))
        following = due(forecast, outcome)
        same = ("on", "scenario", "question", "asks", "asked", "unit", "choices", "resolves", "quantiles")
        out.append(
            {
                "id": str(forecast["sha256"])[:DIGITS],
                **{key: forecast[key] for key in same},
                **({"at": forecast["at"]} if "at" in forecast else {}),
                "next": following,
                "due": None if on is None else following is not None and following <= on,
                "score": None if outcome is None else score_forecast(forecast, outcome),
            }
        )
    return out


def coverage_interval(covered: int, of: int, level: float = 0.9) -> tuple[float, float]:
    """Return the confidence interval of a coverage: `covered` of so many outcomes, after Clopper & Pearson.

    References
    ----------
    Clopper, C. J. & Pearson, E. S. (1934), The use of confidence or fiducial limits, Biometrika 26(4), 404-413.

    Examples
    --------
    >>> [round(end, 3) for end in coverage_interval(2, 3)]
    [0.135, 0.983]
    """
    from scipy.special import betaincinv

    outside = (1 - level) / 2
    low = float(betaincinv(covered, of - covered + 1, outside)) if covered else 0.0
    high = float(betaincinv(covered + 1, of - covered, 1 - outside)) if covered < of else 1.0
    return low, high


def mean_scores(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean scores so far, by what was forecast.

    Parameters
    ----------
    rows : sequence of dict
        As `forecast_rows`.

    Returns
    -------
    list of dict
        ``of`` (probabilities, dates, values), ``n``, and the scores: ``brier`` and ``log_loss``; ``open`` (dates that
        have not come yet and are scored so far), ``crps`` of dates in years, ``wis``, and ``held``: how many of the
        ``intervals`` cover the outcome, with ``low`` and ``high``, the 90 % confidence interval of that share.
    """
    found = [row["score"] for row in rows if row["score"] is not None]
    by = [each for score in found for each in score["by"]]
    out: list[dict[str, Any]] = []
    if by:
        means = {key: mean_or_none(row[key] for row in by) for key in ("brier", "log_loss")}
        out.append({"of": "probabilities", "n": len(by), **means})
    for name, asks in (("dates", ("when",)), ("values", ("value", "growth"))):
        of = [score for score in found if score["asks"] in asks]
        if not of:
            continue
        covered = [score["held"] for score in of if score["held"] is not None]
        row = {"of": name, "n": len(of), "open": sum(not score["final"] for score in of)}
        row |= {"crps": mean_or_none(score["crps"] for score in of)} if name == "dates" else {}
        row |= {"wis": mean_or_none(score["wis"] for score in of), "held": sum(covered), "intervals": len(covered)}
        if covered:
            row["low"], row["high"] = coverage_interval(sum(covered), len(covered))
        out.append(row)
    return out
