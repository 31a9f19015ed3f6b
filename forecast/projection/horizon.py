"""The grid of a projection: when its steps are, as exact decimal years and as dates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast.base.dates import decimal_year, from_decimal_year
from forecast.errors import ScenarioError, UsageError, printable
from forecast.projection.paths.time_functions import SAME_DATE

if TYPE_CHECKING:
    from forecast.scenarios.graph import ScenarioGraph

#: Steps at most: a day over a thousand years.
MAX_GRID_STEPS = 400_000


@dataclass(frozen=True)
class Horizon:
    """The steps of a projection.

    Parameters
    ----------
    years : ndarray
        Decimal years, (time,): exactly ``start + k*step``, or the first days of months.
    dates : ndarray
        The same as ``datetime64[s]``.
    """

    years: NDArray[np.float64]
    dates: NDArray[np.datetime64]


def step_of(value: object, *, where: str = "step") -> str:
    """Return a step as it is recorded: ``"year"``, ``"month"``, or a share of a year such as ``"1/12"``.

    Examples
    --------
    >>> step_of("1/48"), step_of(0.25), step_of("month")
    ('1/48', '1/4', 'month')
    """
    if value in ("year", "month"):
        return str(value)
    try:
        years = Fraction(value) if isinstance(value, str) and len(value) <= 20 else Fraction(str(float(value)))  # type: ignore[arg-type]
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        years = Fraction(0)
    if isinstance(value, bool) or not Fraction(1, 1000) <= years <= 1000:
        expected = "expected 'year', 'month', or years such as \"1/12\" or 0.25"
        raise UsageError(f"{where}: {expected}, got '{printable(value, 40)}'")
    return "year" if years == 1 else str(years)


def horizon(start: float, until: float, step: str) -> Horizon:
    """Return the steps from `start` to the last one not after `until`.

    Parameters
    ----------
    start, until : float
        Decimal years.
    step : str
        As `step_of` returns it. A month is that of the calendar: its first day.

    Raises
    ------
    ScenarioError, UsageError
        If the last step is not after the first, there are too many, or months begin inside a year.

    Examples
    --------
    >>> horizon(2025, 2026, "1/2").years.tolist()
    [2025.0, 2025.5, 2026.0]
    """
    if until <= start:
        raise UsageError(f"until: expected a year after the first one, {start:g}, got {until:g}")
    if step == "month":
        if start != int(start) or until != int(until):
            raise ScenarioError(
                'step: months of the calendar need whole years for start and until; or write step = "1/12"'
            )
        months = np.arange(f"{int(start):04d}-01", f"{int(until):04d}-02", dtype="datetime64[M]")
        return Horizon(decimal_year(months), months.astype("datetime64[s]"))
    width = Fraction(1) if step == "year" else Fraction(step)
    first = Fraction(start)
    count = int((Fraction(until) - first + Fraction(1, 10**9)) / width) + 1
    if count < 2:
        raise UsageError(f"until: expected at least one step of {width} years after {start:g}, got {until:g}")
    if count > MAX_GRID_STEPS:
        raise UsageError(f"step: {count:,} steps from {start:g} to {until:g}; at most {MAX_GRID_STEPS:,} are walked")
    years = _step_years(first, width, count)
    return Horizon(years, from_decimal_year(years))


def _step_years(first: Fraction, width: Fraction, count: int) -> NDArray[np.float64]:
    """Return the numbers `first + k*width`, each rounded once."""
    base = first.denominator * width.denominator
    start, step = first.numerator * width.denominator, width.numerator * first.denominator
    if max(base, abs(start) + count * step) < 2**53:  # then numerators and denominator are floats as they are
        return (start + step * np.arange(count)) / base
    return np.array([(start + k * step) / base for k in range(count)])


def clock(name: str, time: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what a name of time stands for: at every step ``t`` and ``dt``, (time,), or ``start``, (1,).

    The last step is as wide as the one before.

    Examples
    --------
    >>> clock("dt", np.array([2025.0, 2025.5, 2026.5])).tolist()
    [0.5, 1.0, 1.0]
    """
    if name == "start":
        return time[:1]
    if name == "t" or len(time) < 2:
        return time if name == "t" else np.zeros(1)
    widths = np.diff(time)
    return np.append(widths, widths[-1])


def until_end(graph: ScenarioGraph, steps: Horizon, *, until: float | None) -> ScenarioGraph:
    """Return the graph of a run with values that are asked for until its last step.

    Where the run states an end, `until`, later dates are left out, and what has no date left is asked for at the last
    step. Else a date after the last step and not after the scenario's own end is that of the last step.
    """
    end, last_date = steps.years[-1] + SAME_DATE, str(steps.dates[-1])[:10]

    def left(dates: tuple[str, ...]) -> tuple[str, ...]:
        years = decimal_year(np.array(dates, dtype="datetime64[s]"))
        if until is not None:
            return tuple(date for date, year in zip(dates, years, strict=True) if year <= end) or (last_date,)
        latest = (graph.scenario.until or end) + SAME_DATE
        at = (last_date if end < year <= latest else date for date, year in zip(dates, years, strict=True))
        return tuple(dict.fromkeys(at))

    figures = {name: replace(each, dates=left(each.dates)) for name, each in graph.scenario.figures.items()}
    if figures == graph.scenario.figures:
        return graph
    return replace(graph, scenario=replace(graph.scenario, figures=figures))
