"""The interval of one parameter, by the method asked for or the one that keeps its coverage."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from forecast.errors import FitError, UnknownNameError
from forecast.fit.inference import profile
from forecast.fit.inference.covariance import WIDE
from forecast.fit.predict import check_level

if TYPE_CHECKING:
    from forecast.fit.solution import Fit

__all__ = ["METHODS", "interval", "origin"]

METHODS = ("profile", "wald", "bootstrap")


def interval(fit: Fit, name: str, level: float, method: str | None) -> tuple[float, float]:
    """Return the interval of a parameter.

    Parameters
    ----------
    fit : Fit
    name : str
    level : float
    method : {"profile", "wald", "bootstrap"}, optional
        ``"profile"``: where the fit, the other parameters refitted, gets no worse than the level allows; an end is
        infinite (0 for a positive parameter) where the data set none. ``"wald"``: Student's t about the estimate, or
        its logarithm; one-sided on a bound. ``"bootstrap"``: percentiles of the replicates. Default: the percentiles
        where the fit was bootstrapped often enough for the level (with 200 replicates at .95); else the profile,
        whose coverage holds where a law is curved; Wald's under objectives that are no likelihood (Huber's,
        quantiles; there too the profile's where it is far wider), for laws that are code, and beyond 100,000 points
        times parameters. Where the profile finds no end, no percentile is taken for one.

    Raises
    ------
    FitError
        Where the data give none (not identified, no degree of freedom, nothing published), saying why.
    """
    if name not in fit.values:
        raise UnknownNameError("parameter", name, fit.values, where=fit.name)
    check_level(level, fit.name)
    if method is not None and method not in METHODS:
        raise UnknownNameError("method", method, METHODS, where=f"{fit.name}: interval")
    if method == "bootstrap":
        if fit.replicates is None or name not in fit.replicates.names or not fit.replicates.good.size:
            why = "its bounds fix it" if fit.replicates is not None else "fit with bootstrap=1000 first"
            raise FitError(f"{fit.name}: no bootstrap interval for '{name}': {why}")
        return fit.replicates.interval(name, level)
    if method == "profile":
        return profile.interval(fit, name, level)
    known = fit.uncertainty
    if known is None:
        return _stated(fit, name, level)
    if name not in known.names:
        raise FitError(f"{fit.name}: no interval for '{name}': its bounds fix it")
    wald = None if name in known.unidentified or known.flaw else known.interval
    if method is None and (ridge := profile.hidden_ridge(fit, name, level)) is not None:
        return ridge
    repeated = fit.replicates if method is None and wald is not None else None
    repeated = repeated if repeated is not None and repeated.enough(level) else None
    if known.unidentified.get(name) == WIDE and method is None and profile.cheap(fit):
        wald = known.interval  # a covariance says little of what is not quadratic: the profile knows
    if method == "wald" or wald is None or not profile.cheap(fit):
        return repeated.interval(name, level) if repeated else known.interval(name, level, fit.name)
    low, high = profile.interval(fit, name, level)
    if high == float("inf") and (low == -float("inf") or (low == 0 and name not in known.bounds)):
        raise FitError(
            f"{fit.name}: no interval for '{name}': it is not identified by these data (its profile likelihood is "
            "limited on neither side)"
        )
    if repeated and math.isfinite(high) and math.isfinite(low):
        return repeated.interval(name, level)
    return low, high


def origin(fit: Fit, level: float) -> str:
    """Tell where the default intervals of a bootstrapped fit come from; empty for one that is not."""
    if fit.replicates is None:
        return ""
    count, resample = fit.replicates.good.shape[1], fit.replicates.resample
    if fit.replicates.enough(level):
        apart = ", ".join(fit.diagnostics.unidentified)
        return f"percentiles of {count} bootstrap replicates ({resample})" + (f", except of {apart}" if apart else "")
    return f"not from the bootstrap ({resample}): {count} replicates are too few for {level:g}"


def _stated(fit: Fit, name: str, level: float) -> tuple[float, float]:
    """Return the normal interval of a published standard error, as far as the bounds of the law let it reach."""
    from scipy.special import ndtri

    stated = fit.published.stderr if fit.published else {}
    if name not in stated:
        raise FitError(f"{fit.name}: no interval for '{name}': {fit._why_not()}")
    half = float(ndtri(0.5 + level / 2)) * float(stated[name])
    least, most = fit.law.bounds.get(name, (-math.inf, math.inf))  # a large standard error reaches past a bound
    return max(fit.values[name] - half, least), min(fit.values[name] + half, most)
