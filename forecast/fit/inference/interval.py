"""Intervals of parameters, by the requested method or the one that keeps its coverage: of many fits, or of one."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.errors import UncertaintyError, UnknownNameError
from forecast.fit.fit import Fit
from forecast.fit.inference.covariance import WIDE_INTERVAL_REASON
from forecast.fit.inference.profile import endpoints_of, hidden_ridges, no_profile
from forecast.fit.options import check_level
from forecast.fit.solutions import Solutions

INTERVAL_METHODS = ("profile", "wald", "bootstrap")
UNBOUNDED_REASON = "it is not identified by these data (its profile likelihood is limited on neither side)"


def check_interval_arguments(
    name: str, level: float, method: str | None, parameters: Iterable[str], called: str
) -> None:
    """Refuse a parameter, a level or a method that is none."""
    if name not in parameters:
        raise UnknownNameError("parameter", name, parameters, where=called)
    check_level(level, called)
    if method is not None and method not in INTERVAL_METHODS:
        raise UnknownNameError("method", method, INTERVAL_METHODS, where=f"{called}: interval")


def interval_arrays(solutions: Solutions, name: str, level: float, method: str | None) -> tuple[Array, Array]:
    """Return the interval of a parameter in every fit, (B,) each; nan where there is none.

    Parameters
    ----------
    solutions : Solutions
    name : str
    level : float
    method : {"profile", "wald", "bootstrap"}, optional
        ``"profile"``: where the fit, the other parameters refitted, gets no worse than the level allows; an end is
        infinite (0 for a positive parameter) where the data set none. ``"wald"``: Student's t about the estimate, or
        its logarithm; one-sided on a bound. ``"bootstrap"``: percentiles of the replicates. Default: the percentiles
        where the fit was bootstrapped often enough for the level (with 100 replicates at .9); else the profile,
        whose coverage holds where a law is curved; Wald's under objectives that are no likelihood (Huber's,
        quantiles; there too the profile's where it is far wider), for laws that are code, beyond 100,000 points
        times parameters, and where the data lie on the law to rounding. Where the profile finds no end, no percentile
        is taken for one.

    Raises
    ------
    FitError
        Where the bounds of the law fix the parameter, or nothing was bootstrapped.
    """
    known = solutions.known
    if method == "bootstrap" and not solutions.bootstrapped:
        raise UncertaintyError(solutions.name, f"bootstrap interval for '{name}'", "fit with bootstrap=1000 first")
    if name not in known.names:
        what = "bootstrap interval" if method == "bootstrap" else "profile" if method == "profile" else "interval"
        raise UncertaintyError(solutions.name, f"{what} for '{name}'", "its bounds fix it")
    i = known.names.index(name)
    low, high = known.wald(i, level)
    if method == "wald":
        return low, high
    if method == "profile":
        return endpoints_of(solutions, level, np.flatnonzero(solutions.profilable)).ends(i)
    if method == "bootstrap":
        some = np.array([r is not None and r.good.size > 0 for r in solutions.replicates])
        return _percentile_intervals(
            solutions, name, level, some, np.full_like(low, np.nan), np.full_like(high, np.nan)
        )
    percentiles = solutions.enough_replicates(level) & known.known[i]
    if solutions.likelihood:
        wide = [b for b, reasons in known.unidentified.items() if reasons.get(name) == WIDE_INTERVAL_REASON]
        profiled = known.known[i].copy()
        profiled[wide] = True  # a covariance says little of what is not quadratic: the profile knows
        profiled &= solutions.affordable
        if profiled.any():
            far_low, far_high = endpoints_of(solutions, level, np.flatnonzero(profiled)).ends(i)
            open_ = np.isinf(far_high) & (np.isneginf(far_low) | ((far_low == 0) & (known.sides[i] == 0)))
            low = np.where(profiled, np.where(open_, np.nan, far_low), low)
            high = np.where(profiled, np.where(open_, np.nan, far_high), high)
            percentiles &= ~profiled | (np.isfinite(low) & np.isfinite(high))
    else:
        ridge, far_low, far_high = hidden_ridges(solutions, i, level)
        low, high = np.where(ridge, far_low, low), np.where(ridge, far_high, high)
        percentiles &= ~ridge
    return _percentile_intervals(solutions, name, level, percentiles, low, high)


def _percentile_intervals(
    solutions: Solutions, name: str, level: float, some: BoolArray, low: Array, high: Array
) -> tuple[Array, Array]:
    for b in np.flatnonzero(some):
        repeated = solutions.replicates[b]
        assert repeated is not None
        low[b], high[b] = repeated.interval(name, level)
    return low, high


def refusal(solutions: Solutions, name: str, level: float, method: str | None, where: str) -> UncertaintyError:
    """Return why a single fit has no interval of a parameter: not identified, no degree of freedom, no replicate."""
    if method == "bootstrap":
        return UncertaintyError(where, f"bootstrap interval for '{name}'", "no replicate could be fitted")
    searched = method == "profile" or level in solutions.profiled
    if searched and (why := no_profile(solutions, level)):
        return UncertaintyError(where, "profile", why)
    known = solutions.known
    reason = known.why_not(0, name) or UNBOUNDED_REASON
    return UncertaintyError(
        where, f"interval for '{name}'", reason, unidentified=not known.flaw() or bool(known.reasons())
    )


def origin(fit: Fit, level: float) -> str:
    """Tell where the default intervals of a bootstrapped fit come from; empty for one that is not."""
    if fit.replicates is None:
        return ""
    count, resample = fit.replicates.good.shape[1], fit.replicates.resample
    if fit.replicates.enough(level):
        apart = ", ".join(fit.diagnostics.unidentified)
        return f"percentiles of {count} bootstrap replicates ({resample})" + (f", except of {apart}" if apart else "")
    return f"not from the bootstrap ({resample}): {count} replicates are too few for {level:g}"


def published_interval(fit: Fit, name: str, level: float) -> tuple[float, float]:
    """Return the normal interval of a published standard error, as far as the bounds of the law let it reach."""
    from scipy.special import ndtri

    stated = fit.published.errors if fit.published else {}
    if name not in stated:
        raise UncertaintyError(fit.name, f"interval for '{name}'", fit._why_not())
    half = float(ndtri(0.5 + level / 2)) * float(stated[name])
    lower, upper = fit.law.bounds.get(name, (-math.inf, math.inf))  # a large standard error reaches past a bound
    return max(fit.values[name] - half, lower), min(fit.values[name] + half, upper)
