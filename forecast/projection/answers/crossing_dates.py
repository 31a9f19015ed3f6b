"""The answer to a question for a date, from the date of every world or from counts of them, as arrays of a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.dates import from_decimal_year
from forecast.base.quantiles import QUANTILES
from forecast.base.sobol import REPLICATES
from forecast.errors import printable
from forecast.projection.crossing import date_quantiles, weighted_quantiles
from forecast.projection.failures import is_too_many
from forecast.projection.likelihood_weights import weighted_share
from forecast.projection.streaming.histograms import DateHistogram, replicate_error

Array = NDArray[np.float64]


__all__ = ["DateDraws", "Dates", "answer_variables", "to_datetime64"]


@dataclass(frozen=True, eq=False)
class DateDraws:
    """The dates of all worlds.

    Parameters
    ----------
    dates : ndarray
        Decimal years, (draw,); infinite where never, NaN where a world fails.
    start : float
        The first step.
    by : sequence of float
        Dates by which it is asked how likely it is.
    weights : ndarray, optional
        What a world counts for, (draw,).
    """

    dates: Array
    start: float
    by: Sequence[float] = ()
    weights: Array | None = None

    def _share(self, holds: NDArray[np.bool_]) -> float:
        failing = np.isnan(self.dates)
        return np.nan if failing.all() else float(weighted_share(holds, self.weights, failing))

    @property
    def already(self) -> float:
        """The share of the worlds in which it is so at the first step; NaN where there is no answer."""
        return self._share(self.dates <= self.start)

    @property
    def never(self) -> float:
        """The share in which it is not so by the last step."""
        return self._share(np.isposinf(self.dates))

    @property
    def reached(self) -> list[float]:
        """The shares in which it is so by each of the dates that are asked about."""
        return [self._share(self.dates <= year) for year in self.by]

    def quantiles(self, levels: Sequence[float]) -> Array:
        """Return the dates by which these shares have reached it, (level,), infinite inside the never mass."""
        return _date_quantiles(self.dates, self.weights, levels)

    def error(self, levels: Sequence[float]) -> Array:
        """Return the Monte Carlo error of the quantiles in years, (level,); NaN with too few worlds to tell."""
        if len(self.dates) < 2 * REPLICATES:
            return np.full(len(levels), np.nan)
        own = None if self.weights is None else self.weights
        parts = [slice(r, None, REPLICATES) for r in range(REPLICATES)]
        return replicate_error(
            np.array([_date_quantiles(self.dates[p], None if own is None else own[p], levels) for p in parts])
        )


#: When something is so, over all worlds that do not fail: of each of them, or of their counts.
Dates = DateDraws | DateHistogram


def _date_quantiles(dates: Array, weights: Array | None, levels: Sequence[float]) -> Array:
    return date_quantiles(dates, levels) if weights is None else weighted_quantiles(dates, weights, levels)


def answer_variables(
    name: str, dims: tuple[str, ...], sizes: tuple[int, ...], each: Sequence[Dates | None], title: str = ""
) -> dict[str, Any]:
    """Return the variables of one question: quantiles, their Monte Carlo error, *already*, *never*, and by which date.

    Parameters
    ----------
    name : str
        The question.
    dims, sizes : tuple
        The choices, and how many values each has.
    each : sequence of Dates
        The dates under every combination of the choices; None where there is no answer.
    title : str
        What is asked.
    """
    levels = list(QUANTILES)
    nothing = np.full(len(levels), np.nan)
    quantiles = np.array([nothing if d is None else d.quantiles(levels) for d in each])
    error = np.array([nothing if d is None else d.error(levels) for d in each])
    masses = np.array([(np.nan, np.nan) if d is None else (d.already, d.never) for d in each])
    shares = {part: masses[:, i].reshape(sizes) for i, part in enumerate(("already", "never"))}
    about = {"long_name": printable(title, 500)} if title else {}
    out: dict[str, Any] = {
        name: (("quantile", *dims), to_datetime64(quantiles.T.reshape(-1, *sizes)), about),
        f"{name}_error": (("quantile", *dims), error.T.reshape(-1, *sizes), {"units": "year"}),
        **{f"{name}_{part}": (dims, values) for part, values in shares.items()},
    }
    n_dates = next((len(d.reached) for d in each if d is not None), 0)
    if n_dates:
        reached = np.array([np.full(n_dates, np.nan) if d is None else d.reached for d in each])
        out[f"{name}_by"] = ((f"{name}_by_date", *dims), reached.T.reshape(-1, *sizes))
    return out


def to_datetime64(years: Array) -> NDArray[np.datetime64]:
    """Return dates; NaT where a date is infinite (never) or missing."""
    return from_decimal_year(np.where(np.isfinite(years), years, np.nan))


def has_answer(dates: Array) -> bool:
    """Tell whether few enough worlds fail, (draw,), for an answer.

    Examples
    --------
    >>> has_answer(np.array([2030.0, np.nan]))
    False
    """
    failing = int(np.isnan(dates).sum())
    return failing < len(dates) and not is_too_many(failing, len(dates))
