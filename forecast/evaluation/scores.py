"""Scores of a forecast against what happened, all in one grammar.

``f(forecast, observed, *, reduce_dims=None, preserve_dims=None, weights=None)``, as in the package ``scores``, which
the tests compare with. It is not imported here: it loads scipy.stats, pandas and bottleneck (0.6 s), and its CRPS of
an ensemble takes memory for every pair of draws.

A forecast has a dimension ``draw``, or a dimension ``quantile`` whose coordinate says the levels; for `brier` and
`log_loss` it is a probability, and has neither. What is observed has neither. Where either is missing (NaN) the score
is missing and does not count.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any

import numpy as np

from forecast.base.lazy import xr
from forecast.base.quantiles import QUANTILES
from forecast.errors import DataError, UnknownNameError, UsageError, printable

__all__ = [
    "QUANTILES",
    "SCORES",
    "brier",
    "coverage",
    "crps",
    "log_loss",
    "log_score",
    "mean_or_none",
    "pinball",
    "pit",
    "rmsle",
    "score",
    "skill",
    "weighted_interval",
    "width",
]

#: What logarithms and back do to a number, relatively.
ROUNDING_RTOL = 1e-12

Dims = str | Iterable[str] | None


def mean_or_none(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are there; None if there is none.

    Examples
    --------
    >>> mean_or_none([1.0, None, 2.0]), mean_or_none([None])
    (1.5, None)
    """
    found = [value for value in values if value is not None]
    return math.fsum(found) / len(found) if found else None


def _mean_over(values: xr.DataArray, reduce_dims: Dims, preserve_dims: Dims, weights: xr.DataArray | None) -> Any:
    """Return the mean over what is to be reduced: everything, where nothing is said."""
    if reduce_dims is not None and preserve_dims is not None:
        raise UsageError("reduce_dims and preserve_dims say the same thing twice: give one")
    stated = reduce_dims if reduce_dims is not None else preserve_dims
    every = [str(dim) for dim in values.dims]
    named = every if stated == "all" else [stated] if isinstance(stated, str) else list(stated or ())
    for dim in named:
        if dim not in every:
            raise UnknownNameError("dimension", dim, every, where="score")
    kept = [dim for dim in every if dim not in named] if reduce_dims is not None else named
    over = [dim for dim in every if dim not in kept]
    if weights is None:
        return values.mean(over)
    if not bool((weights >= 0).all()):
        raise UsageError("weights: expected numbers from 0, none missing")
    return values.weighted(weights).mean(over)


def _average_score(values: Callable[..., xr.DataArray], *, power: float = 1.0) -> Callable[..., Any]:
    """Give a score the grammar of all: of its values the mean over what is to be reduced, by weights, to a power."""

    @functools.wraps(values)
    def score(
        forecast: xr.DataArray,
        observed: xr.DataArray,
        *,
        reduce_dims: Dims = None,
        preserve_dims: Dims = None,
        weights: xr.DataArray | None = None,
        **own: Any,
    ) -> Any:
        mean = _mean_over(values(forecast, observed, **own), reduce_dims, preserve_dims, weights)
        return mean if power == 1 else mean**power

    stated, grammar = inspect.signature(values), inspect.signature(score, follow_wrapped=False).parameters
    more = [grammar[name] for name in ("reduce_dims", "preserve_dims", "weights")]
    score.__signature__ = stated.replace(parameters=[*stated.parameters.values(), *more])  # type: ignore[attr-defined]
    return score


def _find_dimension(forecast: xr.DataArray, *allowed: str) -> str:
    found = [dim for dim in allowed if dim in forecast.dims]
    if len(found) != 1:
        raise UsageError(
            f"forecast: expected a dimension {' or '.join(map(repr, allowed))}, "
            f"got {', '.join(map(str, forecast.dims)) or 'none'}"
        )
    return found[0]


def _forecast_quantile(forecast: xr.DataArray, level: float) -> xr.DataArray:
    """Return the quantile at a level: of the draws, or the one that is stated."""
    if not 0 < level < 1:
        raise UsageError(f"level: expected a share between 0 and 1, got {printable(level, 40)}")
    if _find_dimension(forecast, "draw", "quantile") == "draw":
        return forecast.quantile(level, "draw", skipna=False).drop_vars("quantile")
    levels = forecast["quantile"].values.astype(float)
    place = int(np.argmin(abs(levels - level)))
    if abs(levels[place] - level) > 1e-9:
        raise UsageError(f"the forecast states no quantile {level:g}; nearest: {levels[place]:g}")
    return forecast.isel(quantile=place, drop=True)


def _log_positive(values: xr.DataArray, what: str) -> xr.DataArray:

    if bool((values <= 0).any()):
        raise DataError(f"{what}: expected positive values for a score of logarithms, got {float(values.min()):g}")
    return values.copy(data=np.log(values.values))


def _quantile_loss(forecast: xr.DataArray, observed: xr.DataArray, level: float) -> xr.DataArray:
    error = observed - _forecast_quantile(forecast, level)
    return error * (level - (error < 0))


@_average_score
def pinball(forecast: xr.DataArray, observed: xr.DataArray, *, level: float = 0.5) -> xr.DataArray:
    """Return the pinball loss of one quantile: at the median, half the absolute error.

    Parameters
    ----------
    forecast, observed : DataArray
    level : float
        Of the quantile.
    reduce_dims, preserve_dims : str or iterable of str, optional
        What to average over, or what to keep; by default one figure is left. ``"all"`` names every dimension.
    weights : DataArray, optional
        Of the mean.

    References
    ----------
    Koenker, R. & Bassett, G. (1978), Regression quantiles, Econometrica 46(1), 33-50.

    Examples
    --------
    >>> import xarray as xr
    >>> stated = xr.DataArray([1.0, 3.0], coords={"quantile": [0.5, 0.9]})
    >>> round(float(pinball(stated, xr.DataArray(2.0), level=0.9)), 3)
    0.1
    """
    return _quantile_loss(forecast, observed, level)


@_average_score
def weighted_interval(forecast: xr.DataArray, observed: xr.DataArray, *, logs: bool = True) -> xr.DataArray:
    """Return the weighted interval score of the natural logarithm.

    The mean over the levels .05, .25, .5, .75 and .95 of twice the pinball loss: an absolute error in logs where the
    forecast is one number, so .1 is about ten per cent off.

    Parameters
    ----------
    forecast, observed : DataArray
    logs : bool
        False scores the values as they are: dates, in years.
    reduce_dims, preserve_dims, weights
        See `pinball`.

    References
    ----------
    Bracher, J. et al. (2021), Evaluating epidemic forecasts in an interval format, PLOS Computational Biology 17(2),
    e1008618: equation 1 with weights α/2 and, for the median, 1/2, over 5/2.

    Examples
    --------
    >>> import xarray as xr
    >>> stated = xr.DataArray([1.0] * 5, coords={"quantile": list(QUANTILES)})
    >>> round(float(weighted_interval(stated, xr.DataArray(2.0))), 4)  # ln 2
    0.6931
    """
    stated, came = (
        (_log_positive(forecast, "forecast"), _log_positive(observed, "observed")) if logs else (forecast, observed)
    )
    losses = [_quantile_loss(stated, came, level) for level in QUANTILES]
    return 2 * sum(losses[1:], losses[0]) / len(QUANTILES)


@_average_score
def crps(forecast: xr.DataArray, observed: xr.DataArray) -> xr.DataArray:
    """Return the continuous ranked probability score of the draws' distribution: ``E|X − y| − E|X − X'|/2``.

    References
    ----------
    Gneiting, T. & Raftery, A. E. (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102(477),
    359-378, equation 21; the second term by sorting.

    Examples
    --------
    >>> import xarray as xr
    >>> float(crps(xr.DataArray([0.0, 2.0], dims="draw"), xr.DataArray(1.0)))
    0.5
    """
    _find_dimension(forecast, "draw")

    def apart(draws: Any) -> Any:
        n = draws.shape[-1]
        return np.sort(draws, axis=-1) @ (2 * np.arange(1, n + 1) - n - 1.0) / n**2

    spread = xr.apply_ufunc(apart, forecast, input_core_dims=[["draw"]])
    found: xr.DataArray = abs(forecast - observed).mean("draw", skipna=False) - spread
    return found


@_average_score
def log_score(forecast: xr.DataArray, observed: xr.DataArray) -> xr.DataArray:
    """Return minus the log density at what happened, from the draws by a normal kernel.

    The bandwidth is Silverman's, .9·min(sd, interquartile range/1.34)·n^−1/5. Far from every draw the score is that of
    the kernel's tail: large, and hardly a statement about the forecast.

    References
    ----------
    Krüger, F., Lerch, S., Thorarinsdottir, T. & Gneiting, T. (2021), Predictive inference based on Markov chain Monte
    Carlo output, International Statistical Review 89(2), 274-301, section 4.
    """
    _find_dimension(forecast, "draw")
    n = forecast.sizes["draw"]
    sd = forecast.std("draw", ddof=1)
    middle = _forecast_quantile(forecast, 0.75) - _forecast_quantile(forecast, 0.25)
    spread = np.minimum(sd, middle.where(middle > 0, sd * 1.34) / 1.34)
    if bool((spread == 0).any()):
        raise DataError("log_score: all draws are one number, which has no density")
    size = 0.9 * spread * n**-0.2
    exponent = -0.5 * ((observed - forecast) / size) ** 2
    top = exponent.max("draw")
    total = np.exp(exponent - top).mean("draw", skipna=False)
    found: xr.DataArray = -(top + np.log(total)) + np.log(size * math.sqrt(2 * math.pi))
    return found


@_average_score
def coverage(forecast: xr.DataArray, observed: xr.DataArray, *, level: float = 0.9) -> xr.DataArray:
    """Return the share of central intervals that cover the outcome, endpoints included, to rounding.

    Parameters
    ----------
    forecast, observed : DataArray
    level : float
        Of the interval: .9 is from the quantile .05 to .95.
    reduce_dims, preserve_dims, weights
        See `pinball`.

    References
    ----------
    Gneiting, T., Balabdaoui, F. & Raftery, A. E. (2007), Probabilistic forecasts, calibration and sharpness, JRSS B
    69(2), 243-268.
    """
    low, high = _interval_endpoints(forecast, level)
    rounding = ROUNDING_RTOL * abs(observed)  # a forecast of one value has been through logarithms
    covered = ((low - rounding <= observed) & (observed <= high + rounding)).where((low + high + observed).notnull())
    return covered


def _interval_endpoints(forecast: xr.DataArray, level: float) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the ends of the central interval, from whole thousandths: .05 is stated, (1 − .9)/2 is not quite."""
    if not 0 < level < 1:
        raise UsageError(f"level: expected a share between 0 and 1, got {printable(level, 40)}")
    outside = round((1 - level) / 2, 12)
    return _forecast_quantile(forecast, outside), _forecast_quantile(forecast, 1 - outside)


@_average_score
def width(forecast: xr.DataArray, observed: xr.DataArray, *, level: float = 0.9) -> xr.DataArray:
    """Return the width of the central interval in natural logarithms; what happened says only where it counts.

    See `coverage` for the arguments: of two forecasts that hold what they say, the narrower is better.
    """
    low, high = _interval_endpoints(forecast, level)
    wide = _log_positive(high, "forecast") - _log_positive(low, "forecast")
    return wide.where(observed.notnull())


@_average_score
def pit(forecast: xr.DataArray, observed: xr.DataArray) -> xr.DataArray:
    """Return the probability integral transform: the share of draws below what happened, ties half.

    Of calibrated forecasts it is uniform; the mean alone tells only a bias, so keep ``preserve_dims="all"`` to see.

    References
    ----------
    Dawid, A. P. (1984), Statistical theory: the prequential approach, JRSS A 147(2), 278-292.
    """
    _find_dimension(forecast, "draw")
    rank = (forecast < observed).mean("draw") + 0.5 * (forecast == observed).mean("draw")
    known = forecast.notnull().all("draw") & observed.notnull()
    return rank.where(known)


@functools.partial(_average_score, power=0.5)
def rmsle(forecast: xr.DataArray, observed: xr.DataArray) -> xr.DataArray:
    """Return the root of the mean squared error of the median's natural logarithm.

    References
    ----------
    Alabdulmohsin, I. et al. (2022), Revisiting neural scaling laws in language and vision, NeurIPS 35: the measure of
    extrapolated learning curves.
    """
    return (_forecast_quantile(_log_positive(forecast, "forecast"), 0.5) - _log_positive(observed, "observed")) ** 2


def _check_probabilities(forecast: xr.DataArray, observed: xr.DataArray) -> None:
    if bool(((forecast < 0) | (forecast > 1)).any()):
        raise DataError("forecast: expected probabilities from 0 to 1")
    if bool((observed.notnull() & (observed != 0) & (observed != 1)).any()):
        raise DataError("observed: expected 1 where the event happened and 0 where it did not")


@_average_score
def brier(forecast: xr.DataArray, observed: xr.DataArray) -> xr.DataArray:
    """Return the Brier score of probabilities: the squared error, where what is observed is 1 or 0.

    References
    ----------
    Brier, G. W. (1950), Verification of forecasts expressed in terms of probability, Monthly Weather Review 78(1), 1-3;
    here of one of the two classes, half of his.

    Examples
    --------
    >>> import xarray as xr
    >>> float(brier(xr.DataArray([0.8, 0.5], dims="event"), xr.DataArray([1, 0], dims="event")))
    0.145
    """
    _check_probabilities(forecast, observed)
    return (forecast - observed) ** 2


@_average_score
def log_loss(forecast: xr.DataArray, observed: xr.DataArray) -> xr.DataArray:
    """Return minus the natural logarithm of the probability of what happened; infinite where that was said to be 0.

    References
    ----------
    Good, I. J. (1952), Rational decisions, JRSS B 14(1), 107-114.

    Examples
    --------
    >>> import xarray as xr
    >>> round(float(log_loss(xr.DataArray(0.5), xr.DataArray(1))), 4)
    0.6931
    """
    _check_probabilities(forecast, observed)
    told = forecast.where(observed == 1, 1 - forecast).where(observed.notnull())
    with np.errstate(divide="ignore"):
        found = told.copy(data=-np.log(told.values))
    return found


def skill(found: Any, reference: Any) -> Any:
    """Return what share of a reference's score is saved: 1 is perfect, 0 no better, less than 0 worse.

    Parameters
    ----------
    found, reference : DataArray or float
        Scores of which less is better, over the same forecasts.

    Examples
    --------
    >>> skill(3.0, 4.0)
    0.25
    """
    return 1 - found / reference


#: Scores by the name under which a backtest computes them.
SCORES = MappingProxyType(
    {
        "coverage": coverage,
        "crps": crps,
        "log-score": log_score,
        "pinball": pinball,
        "pit": pit,
        "rmsle": rmsle,
        "weighted-interval": weighted_interval,
        "width": width,
    }
)


def score(name: str) -> Callable[..., Any]:
    """Return a score by name: one of `SCORES`, or one that a plugin brings, as ``plugin/name``.

    Raises
    ------
    UnknownNameError, AmbiguousNameError, PluginError
    """
    from forecast.contract.registry import get_registry, import_target

    if name in SCORES:
        return SCORES[name]
    registry = get_registry()
    try:
        record = registry.find("score", name)
    except UnknownNameError:
        raise UnknownNameError("score", name, [*SCORES, *registry.names("score")]) from None
    found = import_target(record.spec.target, what=f"score '{record.full_name}'")
    assert callable(found)
    return found  # type: ignore[no-any-return]
