"""Reads one figure out of a projection, as a claim names it: ``"tai p50"``, ``"tai by 2030"``, ``"spend p90 2030"``."""

from __future__ import annotations

import re

import numpy as np
import xarray as xr

from forecast.base.arrays import Array
from forecast.errors import FormulaError, UnknownNameError, printable
from forecast.projection.crossing import weighted_quantiles
from forecast.projection.result import DateAnswer, Projection

_ANSWER_QUANTILE_PATTERN = re.compile(r"p(\d\d?(?:\.\d+)?)", re.ASCII)
_YEAR_PATTERN = re.compile(r"\d{4}(?:\.\d+)?", re.ASCII)
_ANSWER_FORMS = "'QUESTION p50', 'QUESTION by 2030', 'QUESTION never', 'QUANTITY p50 2030' or 'QUANTITY mean 2030'"


def read_claim_value(run: Projection, text: str, *, where: str) -> float:
    """Return a figure of a projection all of whose worlds are kept.

    Parameters
    ----------
    run : Projection
    text : str
        The name of a question and ``p50`` (any quantile of its date, a decimal year, infinite where never), ``by``
        with a year, ``never`` or ``already``; or the name of a quantity, ``p50`` or ``mean``, and a year: of its
        nearest step, or of the only one of what does not change with time. Rivals with weights are pooled.
    where : str
        For messages.

    Examples
    --------
    >>> import forecast
    >>> run = forecast.project({"start": 2025, "until": 2030, "quantities": {"x": {"value": 4, "unit": ""}},
    ...     "questions": {"there": {"when": "x*(t - start) >= 10"}}}, draws=10)
    >>> read_claim_value(run, "there p50", where="demo"), read_claim_value(run, "x mean", where="demo")
    (2027.5, 4.0)
    """
    name, statistic, year = _split_reading(text, where)
    levels, answer = run.worlds, run.answers.get(name)
    if isinstance(answer, DateAnswer):
        return of_dates(*claim_draws(run, answer.unmasked, where=where), run.span[0], statistic, year, where=where)
    if name not in levels:
        dated = [each.name for each in run.dates]
        raise UnknownNameError("quantity or question", name, [*map(str, levels.data_vars), *dated], where=where)
    values = levels[name]
    if "time" in values.dims:
        if year is None and not bool((values == values.isel(time=0)).all()):
            raise FormulaError(
                f"{where}: '{printable(name, 60)}' changes with time: expected a year, as {_ANSWER_FORMS}"
            )
        steps = run.years
        values = values.isel(time=0 if year is None else int(np.abs(steps - year).argmin()))
    drawn, weights = claim_draws(run, values, where=where)
    return (
        float(np.average(drawn, weights=weights))
        if statistic == "mean"
        else _quantile_of(drawn, weights, statistic, where)
    )


def claim_draws(run: Projection, data: xr.DataArray, *, where: str) -> tuple[Array, Array]:
    """Return the worlds of one quantity, (draw,), over rivals that have weights, and what each counts for.

    Raises
    ------
    FormulaError
        Where it depends on a choice that has no weights.
    """
    known, counted = run.rivals, run.weights
    total = xr.ones_like(data, dtype=float) if counted is None else counted * xr.ones_like(data, dtype=float)
    for dim in map(str, total.dims):
        if dim in known:
            total = total * xr.DataArray(list(known[dim]), dims=dim, coords={dim: list(run.choices[dim].values)})
        elif dim != "draw" and total.sizes[dim] > 1:
            raise FormulaError(f"{where}: choose one of each choice in settings: {dim}")
    values, total = xr.broadcast(data, total)
    return values.values.ravel(), total.values.ravel()


def _split_reading(text: str, where: str) -> tuple[str, str, float | None]:
    words = text.split()
    if len(words) not in (2, 3) or (len(words) == 3 and not _YEAR_PATTERN.fullmatch(words[2])):
        raise FormulaError(f"{where}: expected {_ANSWER_FORMS}, got '{printable(text, 60)}'")
    return words[0], words[1], float(words[2]) if len(words) == 3 else None


def of_dates(
    years: Array, weights: Array, first: float, statistic: str, year: float | None = None, *, where: str
) -> float:
    """Return a figure of dates in worlds, as `read_claim_value` does.

    Parameters
    ----------
    years, weights : ndarray
        Decimal years, and what each world counts for.
    first : float
        The date of what is so already.
    statistic : str
        ``p50`` (any quantile), ``by``, ``never`` or ``already``.
    year : float, optional
        By when.
    where : str
        For messages.
    """
    if statistic == "by":
        if year is None:
            raise FormulaError(f"{where}: by when? Expected {_ANSWER_FORMS}")
        holds = years <= year
    elif statistic in ("never", "already"):
        holds = np.isinf(years) if statistic == "never" else years <= first
    else:
        return _quantile_of(years, weights, statistic, where)
    return float(np.average(holds, weights=weights))


def _quantile_of(values: Array, weights: Array, statistic: str, where: str) -> float:
    if not (found := _ANSWER_QUANTILE_PATTERN.fullmatch(statistic)):
        raise FormulaError(f"{where}: expected {_ANSWER_FORMS}, got '{printable(statistic, 60)}'")
    level = float(found[1]) / 100
    return float(weighted_quantiles(values, weights, [level])[0])
