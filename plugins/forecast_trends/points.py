"""One value per date: what a shape that follows a single path through time can use."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from forecast.base.arrays import Array
from forecast.base.roots import find_roots
from forecast.errors import FitError, UsageError, printable
from forecast_trends.evidence import first_of_each_record, log_series

__all__ = [
    "LARGEST",
    "Path",
    "cached_fit",
    "checked_average",
    "growth_facts",
    "is_numeric_option",
    "mirrored",
    "path",
    "quantile",
    "said_growth",
]

#: A log value beyond this leaves what a float can hold once units are converted; such draws stay there, finite.
LARGEST = 600.0

#: Growth a year that is rounding.
_FLAT = 1e-9


@dataclass(frozen=True, kw_only=True)
class Path:
    """A series with one value a date.

    Parameters
    ----------
    time : ndarray
        Decimal years, increasing.
    y : ndarray
        Log value.
    points : int
        Rows that went in.
    notes : tuple of str
        What was done to them, for `Description.assumptions`.
    """

    time: Array
    y: Array
    points: int
    notes: tuple[str, ...]

    @property
    def span(self) -> float:
        """Years from the first date to the last."""
        return float(self.time[-1] - self.time[0])

    def within(self, time: Array) -> Array:
        """Return the log value at dates inside the series: straight between its points."""
        return np.interp(time, self.time, self.y)


def cached_fit(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Make the method `fit` of a shape keep its last results, by the options of the shape and what it is given.

    The pool, those of its members that stand beside it, several scenarios, and every variant of one ask for the same.
    """

    @functools.lru_cache(maxsize=64)
    def fitted(kind: type, options: tuple[Any, ...], times: bytes, values: bytes, *, frontier: bool, seed: int) -> Any:
        shape = object.__new__(kind)
        vars(shape).update(options)
        return fit(shape, np.frombuffer(times), np.frombuffer(values), frontier=frontier, seed=seed)

    @functools.wraps(fit)
    def once(self: Any, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> Any:
        cells = (np.asarray(each, dtype=float).tobytes() for each in (time, value))
        return fitted(type(self), tuple(vars(self).items()), *cells, frontier=frontier, seed=seed)

    return once


def is_numeric_option(value: object) -> bool:
    """Tell a number from other options; a truth value is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def checked_average(average: object) -> float:
    """Return the option `average` of a shape that follows one path.

    Raises
    ------
    UsageError
        If it is no number of years.
    """
    if not is_numeric_option(average) or not 0 <= (years := float(average)) < math.inf:  # type: ignore[arg-type]
        raise UsageError(f"average: expected a number of years, or 0 for none, got '{printable(average, 40)}'")
    return years


def path(time: Array, value: Array, *, frontier: bool, least: int, what: str, average: float = 0.0) -> Path:
    """Check a series and reduce it to one value a date.

    Values of one date are averaged in logs, and with `average` those of every span of so many years: many things of one
    year scatter around its level, which a walk would take for shocks. Of a running maximum the records are kept, and
    the last date, at which the last record still stands: what lies between repeats a record and is no evidence.

    Raises
    ------
    DataError
        As `log_series`.
    FitError
        If fewer than `least` dates are left.
    UsageError
        If a running maximum is to be averaged.
    """
    time, y = log_series(time, value, frontier=frontier)
    points, notes = len(y), []
    if average:
        if frontier:
            raise UsageError(f"{what}: average: a running maximum is not averaged")
        _, span = np.unique(np.floor(time / average + 1e-9), return_inverse=True)
        size = np.bincount(span)
        time, y = np.bincount(span, time) / size, np.bincount(span, y) / size
        notes.append(f"{points} points were averaged in logs over every {average:g} year{'' if average == 1 else 's'}")
    if frontier:
        keep = first_of_each_record(y)
        keep[-1] = True
        time, y = time[keep], y[keep]
        notes.append("of the running maximum only its records count, and that the last one still stands")
    dates, which = np.unique(time, return_inverse=True)
    if len(dates) < len(time):
        # of a running maximum, the highest value of a date is its record
        y = np.array([y[which == i].max() if frontier else y[which == i].mean() for i in range(len(dates))])
        if not frontier:
            notes.append(f"{len(time) - len(dates)} points that share a date with another were averaged with it")
    if len(dates) < least:
        raise FitError(f"{what} needs at least {least} {'records' if frontier else 'dates'}, got {len(dates)}")
    return Path(time=dates, y=y, points=points, notes=tuple(notes))


def mirrored(half: Array, sign: float = -1.0) -> Array:
    """Interleave the last axis with its mirror image, or with itself for ``sign=1``: antithetic pairs of draws."""
    out = np.empty((*half.shape[:-1], 2 * half.shape[-1]))
    out[..., 0::2], out[..., 1::2] = half, sign * half
    return out


def growth_facts(growth: float, low: float, high: float) -> dict[str, float]:
    """Return a growth a year in logs with its 90 % interval, and the doubling times they mean (infinite: never)."""

    def doubling(rate: float) -> float:
        return math.log(2) / rate if abs(rate) > _FLAT else math.inf

    return {
        "growth_per_year": growth,
        "growth_p05": low,
        "growth_p95": high,
        "doubling_years": doubling(growth),
        "doubling_p05": doubling(high) if high > 0 else math.inf,
        "doubling_p95": doubling(low) if low > 0 else math.inf,
    }


def said_growth(facts: Mapping[str, float], now: str = "") -> str:
    """Say the doubling time, or the halving time, with its interval: "doubles every 2.10 years [90 %: 1.90, 2.30]"."""
    rate, low, high = (facts[name] for name in ("growth_per_year", "growth_p05", "growth_p95"))
    if abs(rate) <= _FLAT:
        end = f" [90 %: doubles every {math.log(2) / high:.2f} years, never]" if high > _FLAT else ""
        return f"does not {now}grow{end}"
    verb = "doubles" if rate > 0 else "halves"
    sign = 1.0 if rate > 0 else -1.0
    fast, slow = max(sign * low, sign * high), min(sign * low, sign * high)
    ends = [f"{math.log(2) / fast:.2f}", f"{math.log(2) / slow:.2f}" if slow > _FLAT else "never"]
    return f"{now}{verb} every {math.log(2) / abs(rate):.2f} years [90 %: {ends[0]}, {ends[1]}]"


def quantile(q: float, centres: Array, widths: Array, dof: float, weights: Array) -> float:
    """Return a quantile of a mixture of Student t distributions."""
    from scipy.special import stdtr, stdtrit

    widths = np.maximum(widths, 1e-12 * (1 + np.abs(centres)))
    ends = centres + stdtrit(dof, q) * widths
    low, high = float(ends.min()), float(ends.max())
    if high - low < 1e-12 * (1 + abs(high)):
        return low

    def above(x: Array) -> Array:
        return np.asarray(stdtr(dof, (x[:, None] - centres) / widths) @ weights - q)

    (root,) = find_roots(above, np.array([low]), np.array([high]))
    if np.isnan(root):  # all weight is of what has its quantile at an end, but for rounding
        return (low, high)[int(np.argmin(np.abs(above(np.array([low, high])))))]
    return float(root)
