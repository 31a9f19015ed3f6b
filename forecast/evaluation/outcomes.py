"""Forecasts of others, judged by what happened.

``hit``
    A date or a value inside the interval or range that was stated; a single date within a tenth of the time it looked
    ahead, and at least a tenth of a year; a single value within 6 %, as for a hedge; a probability on the right side of
    one half.
``early``, ``late``
    It came before or after that. ``missed``: it was due and had not come when somebody last looked.
``underestimated``, ``overestimated``
    There was more, or less, than was said; what happened was given less than one half, or what did not happen more.
``pending``
    Nobody can know yet. ``provisional``: the outcome may still change. ``unverified``: the forecast was not read where
    it was made. None of these counts.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable
from typing import Any

from forecast.base.dates import year_of
from forecast.base.lazy import xr
from forecast.contract.specs import DatedForecast
from forecast.evaluation.ledger import coverage_interval
from forecast.evaluation.scores import brier

DECIDED_VERDICTS = ("hit", "early", "late", "missed", "underestimated", "overestimated")
FORECAST_VERDICTS = (*DECIDED_VERDICTS, "pending", "provisional", "unverified")

#: How near one stated date must be: a share of the time it looked ahead, and years; and how near one stated value.
DATE_RTOL, DATE_ATOL_YEARS, VALUE_RTOL = 0.1, 0.1, 0.06


def judge(forecast: DatedForecast) -> str:
    """Return the verdict on a forecast, from its numbers alone.

    Examples
    --------
    >>> made = DatedForecast(who="demo", kind="date", published="2005-01-01", median=2015.0, outcome=2018.5,
    ...                      observed_on="2018-06-25")
    >>> judge(made)
    'late'
    """
    if not forecast.verified:
        return "unverified"
    if forecast.provisional:
        return "provisional"
    if forecast.outcome is None:
        overdue = (
            forecast.kind == "date" and forecast.observed_on and year_of(forecast.observed_on) > _reach(forecast)[1]
        )
        return "missed" if overdue else "pending"
    if forecast.kind == "probability":
        assert forecast.median is not None
        right = forecast.median >= 0.5 if forecast.outcome else forecast.median <= 0.5
        return "hit" if right else "underestimated" if forecast.outcome else "overestimated"
    low, high = _reach(forecast)
    # decimal figures are not exact in binary: the end of a reach belongs to it
    slack = 1e-9 * max(abs(end) for end in (low, high, forecast.outcome) if math.isfinite(end))
    if low - slack <= forecast.outcome <= high + slack:
        return "hit"
    before, after = ("early", "late") if forecast.kind == "date" else ("overestimated", "underestimated")
    return before if forecast.outcome < low else after


def _reach(forecast: DatedForecast) -> tuple[float, float]:
    """Return between which outcomes a forecast came true: its interval, or what is near its one figure."""
    if forecast.low is not None or forecast.high is not None:
        low = -math.inf if forecast.low is None else forecast.low
        return low, math.inf if forecast.high is None else forecast.high
    assert forecast.median is not None
    if forecast.kind == "date":
        near = max(DATE_RTOL * (forecast.median - year_of(forecast.published)), DATE_ATOL_YEARS)
    else:
        near = VALUE_RTOL * abs(forecast.median)
    return forecast.median - near, forecast.median + near


def inside_interval(forecast: DatedForecast) -> bool | None:
    """Tell whether the stated interval covers the outcome; None without a level, or while nothing is decided."""
    if forecast.level is None or judge(forecast) not in DECIDED_VERDICTS:
        return None
    return judge(forecast) == "hit"


def verdict_text(forecast: DatedForecast) -> str:
    """Return what was foretold, in short.

    Examples
    --------
    >>> verdict_text(DatedForecast(who="demo", kind="date", published="2025-04-03", median=2030, low=2026, level=0.8))
    '2030 (80 %: 2026 to open)'
    """
    ends = " to ".join("open" if end is None else f"{end:.6g}" for end in (forecast.low, forecast.high))
    if forecast.low is None and forecast.high is None:
        return f"{forecast.median:.6g}"
    share = "" if forecast.level is None else f"{forecast.level:.0%}".replace("%", " %: ")
    return ends if forecast.median is None else f"{forecast.median:.6g} ({share}{ends})"


def summary_by_kind(forecasts: Iterable[DatedForecast]) -> list[dict[str, Any]]:
    """Return how forecasts have done, by kind.

    Returns
    -------
    list of dict
        ``kind``, ``n``, ``verdicts`` (how many of each), ``decided``, ``hits``, with ``low`` and ``high``, the 90 %
        interval of the share of hits; ``intervals`` that state a level and are decided, and how many of them cover the
        outcome (``held``); ``ratio``, the median of outcome over forecast (values), ``years``, the median of outcome
        less forecast (dates), or ``brier`` (probabilities), each None where there is nothing to compare.
    """
    rows = []
    every = list(forecasts)
    for kind in ("date", "value", "probability"):
        of = [each for each in every if each.kind == kind]
        if not of:
            continue
        verdicts = Counter(map(judge, of))
        decided, hits = sum(verdicts[v] for v in DECIDED_VERDICTS), verdicts["hit"]
        low, high = coverage_interval(hits, decided) if decided else (None, None)
        covered = [share for each in of if (share := inside_interval(each)) is not None]
        came = [
            each
            for each in of
            if judge(each) in DECIDED_VERDICTS and each.outcome is not None and each.median is not None
        ]
        rows.append(
            {
                "kind": kind,
                "n": len(of),
                "verdicts": {verdict: verdicts[verdict] for verdict in FORECAST_VERDICTS if verdicts[verdict]},
                "decided": decided,
                "hits": hits,
                "low": low,
                "high": high,
                "intervals": len(covered),
                "held": sum(covered),
                **_forecast_errors(kind, came),
            }
        )
    return rows


def _forecast_errors(kind: str, came: list[DatedForecast]) -> dict[str, float | None]:
    """Return how far outcomes were from forecasts, in the measure of the kind."""
    pairs = [(float(each.median), float(each.outcome)) for each in came]  # type: ignore[arg-type]
    if kind == "probability":
        told, seen = (xr.DataArray([pair[i] for pair in pairs], dims="forecast") for i in (0, 1))
        return {"brier": float(brier(told, seen)) if pairs else None}
    if kind == "date":
        return {"years": statistics.median(seen - told for told, seen in pairs) if pairs else None}
    ratios = [seen / told for told, seen in pairs if told > 0]
    return {"ratio": statistics.median(ratios) if ratios else None}


def hit_rate_sentence(rows: Iterable[dict[str, Any]]) -> str:
    """Say in a sentence how many forecasts came true, and how little that may tell.

    Examples
    --------
    >>> made = DatedForecast(who="demo", kind="value", published="2015-01-01", target="2025-01-01", median=100,
    ...                      outcome=53, observed_on="2025-11-15")
    >>> hit_rate_sentence(summary_by_kind([made]))
    '0 of 1 dated forecasts whose outcome is known came true (0% to 95% by so few); no interval is decided.'
    """
    rows = list(rows)
    decided, hits = sum(row["decided"] for row in rows), sum(row["hits"] for row in rows)
    intervals, covered = sum(row["intervals"] for row in rows), sum(row["held"] for row in rows)
    if not decided:
        return "No dated forecast has an outcome that counts."
    low, high = coverage_interval(hits, decided)
    spread = f"{low:.0%} to {high:.0%} by so few"
    coverage_text = f"{covered} of {intervals} stated intervals held" if intervals else "no interval is decided"
    return f"{hits} of {decided} dated forecasts whose outcome is known came true ({spread}); {coverage_text}."
