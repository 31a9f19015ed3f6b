"""Hindcasts: what a method would have said in the past, against what then happened.

`hindcasts` is the experiment of Farmer & Lafond: every forecast of a random walk with drift that a table of
technologies allows, from a short moving window, with all errors brought onto one scale. `coverage` asks the same of any
shape: how often does its interval contain the outcome?
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import xarray as xr

from forecast.base.arrays import Array, IntArray
from forecast.errors import BudgetError, DataError, ForecastError, UnknownNameError, UsageError, printable
from forecast.models import Shape, shape as made
from forecast.streams import Streams
from forecast.tables import to_columns
from forecast.tables.series import read_columns
from forecast_trends.evidence import log_series
from forecast_trends.walks.echo import forecast_variance
from forecast_trends.walks.walk import POOLED_THETA

__all__ = ["Hindcasts", "coverage", "hindcasts", "improvers"]


@dataclass(frozen=True, kw_only=True)
class Hindcasts:
    """Forecast errors of many technologies, one entry a hindcast.

    Parameters
    ----------
    technologies : tuple of str
    series : ndarray of int
        Which technology.
    origin : ndarray
        The year in which the forecast was made.
    horizon : ndarray of int
        Years ahead.
    error : ndarray
        Outcome less forecast, in logs.
    noise : ndarray
        K̂, the standard deviation of the yearly changes in the window.
    window : int
        Yearly changes behind each forecast.
    """

    technologies: tuple[str, ...]
    series: IntArray
    origin: Array
    horizon: IntArray
    error: Array
    noise: Array
    window: int

    @property
    def count(self) -> int:
        """How many hindcasts there are."""
        return len(self.error)

    def normalised(self, theta: float = POOLED_THETA) -> Array:
        """Return the errors over their expected size, K̂·√(A*/(1 + θ²)): all from one distribution, if the model holds.

        Without moving average (θ = 0) that is exactly a Student t with one degree of freedom less than the window has
        yearly changes; with it, nearly. A window without any noise makes it infinite.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = forecast_variance(self.horizon.astype(float), self.window, theta)
            size = self.noise * np.sqrt(variance / (1 + theta**2))
            return np.where(self.error == 0, 0.0, self.error / size)

    def coverage(self, theta: float = POOLED_THETA, level: float = 0.9) -> xr.Dataset:
        """Return how often the nominal interval contained the outcome, by horizon.

        Returns
        -------
        xarray.Dataset
            Over ``horizon``: ``coverage``, ``count`` of hindcasts and of ``technologies`` behind it; the whole is in
            the attributes ``coverage`` and ``count``.
        """
        from scipy.special import stdtrit

        inside = abs(self.normalised(theta)) <= stdtrit(self.window - 1, 0.5 + level / 2)
        return _coverage_by_horizon(self.horizon, self.series, inside, level)

    def compare(self, theta: float = POOLED_THETA) -> xr.Dataset:
        """Return quantiles of the normalised errors next to those of Student's t, and the largest gap between the two.

        The errors of one technology overlap in time, so they are far fewer independent ones than their count, and a
        Kolmogorov-Smirnov test of them would mislead: ``gap`` is its distance, and no p value is given.
        """
        from scipy.stats import kstest, t as student

        shares = np.array([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99])
        found = self.normalised(theta)
        expected = student(self.window - 1)
        return xr.Dataset(
            {
                "hindcasts": ("quantile", np.quantile(found, shares)),
                "student": ("quantile", expected.ppf(shares)),
                "gap": float(kstest(found, expected.cdf).statistic),
            },
            coords={"quantile": shares},
            attrs={"count": self.count, "degrees_of_freedom": self.window - 1, "theta": theta},
        )


def hindcasts(
    data: Any, *, series: str, x: str, y: str, window: int = 5, horizon: int = 20, only: Collection[str] | None = None
) -> Hindcasts:
    """Make every forecast that a table of yearly series allows, and compare it with what happened.

    The forecast from a year t is y(t) + μ̂·τ in logs, with μ̂ the mean of the `window` yearly changes up to t. It is
    compared with every later year up to `horizon`. A window in which a year is missing makes no hindcast.

    Parameters
    ----------
    data : str, path, Dataset, DataFrame or dict of arrays
        The name of a table, a CSV file, or anything `forecast.tables.columns` reads.
    series, x, y : str
        The columns for the name of the technology, the year and the value.
    window : int
        Yearly changes behind a forecast, at least 2.
    horizon : int
        Years ahead, at most.
    only : collection of str, optional
        Names of the series to use: those of `improvers`, as in the paper.

    Returns
    -------
    Hindcasts

    Raises
    ------
    DataError
        If a series is not yearly, has two values for a year, or a value without a logarithm.
    UnknownNameError
        For a name in `only` that the table does not have.
    UsageError
        For a window or horizon that cannot be.

    References
    ----------
    Farmer, J. D. & Lafond, F. (2016), How predictable is technological progress?, Research Policy 45(3), 647-665:
    8212 hindcasts of 53 technologies with a window of 5 and horizons up to 20.

    Examples
    --------
    >>> import numpy as np
    >>> years = np.arange(1990, 2010)
    >>> cost = np.exp(np.cumsum(np.random.default_rng(0).normal(-0.1, 0.05, 20)))
    >>> found = hindcasts({"tech": ["a"] * 20, "year": years, "cost": cost}, series="tech", x="year", y="cost")
    >>> found.count  # 1 from the last but one year, 2 from the year before it, ... 14 from the sixth
    105
    """
    _whole("window", window, 2)
    _whole("horizon", horizon, 1)
    names: list[str] = []
    parts: list[Array] = []
    for name, year, value, _ in _all_series(data, series=series, x=x, y=y, only=only):
        years, logs = _yearly(name, year, value)
        names.append(name)
        for i in range(window, len(years)):
            past = logs[i - window : i + 1]
            if years[i] - years[i - window] != window:
                continue
            ahead = years[i + 1 :] - years[i]
            ahead = ahead[ahead <= horizon]
            change = (past[-1] - past[0]) / window
            error = logs[i + 1 : i + 1 + len(ahead)] - past[-1] - change * ahead
            same = np.ones(len(ahead))
            noise = float(np.std(np.diff(past), ddof=1))
            parts.append(np.stack([same * (len(names) - 1), same * years[i], ahead, error, same * noise]))
    found = np.concatenate(parts, axis=1) if parts else np.empty((5, 0))
    if not found.shape[1]:
        raise DataError(f"hindcasts: no series has {window + 2} years in a row, as many as one hindcast needs")
    return Hindcasts(
        technologies=tuple(names),
        series=found[0].astype(np.int64),
        origin=found[1],
        horizon=found[2].astype(np.int64),
        error=found[3],
        noise=found[4],
        window=window,
    )


def improvers(data: Any, *, series: str, x: str, y: str, lower: bool = True, level: float = 0.1) -> list[str]:
    """Name the technologies whose drift is significant, by a one-sided t test on their yearly changes.

    Parameters
    ----------
    data, series, x, y
        As for `hindcasts`.
    lower : bool
        A lower value is an improvement, as for costs.
    level : float
        Of the test.

    Returns
    -------
    list of str
    """
    from scipy.stats import ttest_1samp

    kept = []
    for name, year, value, _ in _all_series(data, series=series, x=x, y=y):
        changes = np.diff(_yearly(name, year, value)[1])
        p = ttest_1samp(changes, 0.0, alternative="less" if lower else "greater").pvalue
        if p < level:
            kept.append(name)
    return kept


def coverage(
    data: Any,
    *,
    series: str,
    x: str,
    y: str,
    shape: str | Shape,
    options: Mapping[str, Any] | None = None,
    window: int | None = None,
    least: int = 6,
    horizon: int = 20,
    level: float = 0.9,
    only: Collection[str] | None = None,
    seed: int = 0,
) -> xr.Dataset:
    """Fit a shape at every date of every series to what came before, and count how often its interval was right.

    Parameters
    ----------
    data, series, x, y
        As for `hindcasts`; dates need not be yearly.
    shape : str or Shape
        By name: ``"trends/random-walk"``. It is handed the further columns that it asks for.
    options : mapping, optional
        Of a shape given by name: ``{"cumulative": "cum"}``.
    window : int, optional
        Fit only that many of the latest points.
    least : int
        Points before the first forecast.
    horizon : float
        Years ahead, at most.
    level : float
        Of the interval for one observation, between the draws' quantiles.
    only : collection of str, optional
        Names of the series to use.
    seed : int

    Returns
    -------
    xarray.Dataset
        As `Hindcasts.coverage`, with horizons rounded to whole years; ``width`` is the median width of the interval in
        logs. ``failed`` in the attributes counts the fits that were refused.
    """
    _whole("least", least, 3)
    if not 0 < level < 1:
        raise UsageError(f"level: expected a share between 0 and 1, got '{printable(level, 40)}'")
    chosen, failed = made(shape, options), 0
    rows: list[Array] = []
    every = _all_series(data, series=series, x=x, y=y, only=only, covariates=chosen.columns)
    for number, (name, time, value, covariates) in enumerate(every):
        streams = Streams(seed=seed, node=name, block=0)
        for i in range(least - 1, len(time) - 1):
            ahead = time[i + 1 :][(time[i + 1 :] > time[i]) & (time[i + 1 :] <= time[i] + horizon)]
            seen = slice(0 if window is None else max(0, i + 1 - window), i + 1)
            if not len(ahead):
                continue
            covariate_columns: dict[str, Any] = (
                {"columns": {k: v[seen] for k, v in covariates.items()}} if covariates else {}
            )
            try:
                drawn = chosen.fit(time[seen], value[seen], seed=seed, **covariate_columns).sample(
                    ahead, streams, observed=True
                )
            except BudgetError:
                raise
            except ForecastError:
                failed += 1
                continue
            low, high = np.quantile(np.log(drawn), [0.5 - level / 2, 0.5 + level / 2], axis=1)
            first = int(np.searchsorted(time, ahead[0]))
            outcome = np.log(value[first : first + len(ahead)])
            inside = (low <= outcome) & (outcome <= high)
            steps = np.maximum(np.rint(ahead - time[i]), 1)
            rows.append(np.stack([np.full(len(ahead), float(number)), steps, inside, high - low]))
    if not rows:
        raise DataError(f"coverage: no series could be forecast from {least} points ({failed} fits were refused)")
    found = np.concatenate(rows, axis=1)
    out = _coverage_by_horizon(found[1].astype(np.int64), found[0].astype(np.int64), found[2] > 0, level)
    wide = [float(np.median(found[3][found[1] == h])) for h in out["horizon"].values]
    return out.assign(width=("horizon", wide)).assign_attrs(failed=failed)


def _coverage_by_horizon(horizon: IntArray, series: IntArray, inside: Any, level: float) -> xr.Dataset:
    """Count by horizon."""
    steps = np.unique(horizon)
    at = [horizon == h for h in steps]
    return xr.Dataset(
        {
            "coverage": ("horizon", [float(np.mean(inside[rows])) for rows in at]),
            "count": ("horizon", [int(rows.sum()) for rows in at]),
            "technologies": ("horizon", [len(np.unique(series[rows])) for rows in at]),
        },
        coords={"horizon": steps},
        attrs={"level": level, "coverage": float(np.mean(inside)), "count": len(horizon)},
    )


def _all_series(
    data: Any,
    *,
    series: str,
    x: str,
    y: str,
    only: Collection[str] | None = None,
    covariates: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[tuple[str, Array, Array, dict[str, Array]]]:
    """Yield each series of a table and its further columns, in the order in which they appear."""
    table = to_columns(data, where="hindcasts")
    names = table.column(series)
    labels = [str(n) for n in names]
    known = list(dict.fromkeys(labels))
    for name in only or ():
        if name not in known:
            raise UnknownNameError("series", name, known, where=table.label)
    for name in known if only is None else [n for n in known if n in only]:
        keep = np.array([label == name for label in labels])
        where = f"series '{printable(name, 60)}'"
        found = read_columns(table.take(keep), x=x, y=y, covariates=covariates, name=where)
        yield name, found.time, found.value, found.covariates


def _yearly(name: str, time: Array, value: Array) -> tuple[Array, Array]:
    """Return whole years and log values; a series is yearly or it is refused."""
    where = f"series '{printable(name, 60)}'"
    years = np.floor(time)
    steps = np.diff(time)
    uneven = np.flatnonzero((np.abs(steps - np.rint(steps)) > 0.02) | (steps < 0.5))
    if uneven.size:
        i = int(uneven[0])
        raise DataError(f"{where}: expected one value a year, got dates {time[i]:.2f} and {time[i + 1]:.2f}")
    try:
        return years, log_series(time, value, frontier=False)[1]
    except ForecastError as error:
        raise DataError(f"{where}: {error}") from error


def _whole(name: str, value: object, low: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise UsageError(f"{name}: expected a whole number from {low}, got '{printable(value, 40)}'")
