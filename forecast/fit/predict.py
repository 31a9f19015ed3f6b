"""What a fit says at given points: the law, its confidence band, and the band of one observation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from forecast.errors import DataError, FitError, UnknownNameError, UsageError, printable

if TYPE_CHECKING:
    from forecast.fit.result import Fit
    from forecast.fit.uncertainty import Uncertainty

__all__ = ["FAR", "STATISTICS", "check_level", "extrapolation", "predict"]

Array = NDArray[np.float64]

#: Predictions further than this from the data carry a warning, in decades.
FAR = 0.5
STATISTICS = ("median", "mean")


def check_level(level: object, where: str) -> float:
    """Return a confidence level, or say what one is."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise UsageError(f"{where}: level: expected a number between 0 and 1, got {printable(repr(level), 40)}")
    return float(level)


def predict(fit: Fit, *, level: float, statistic: str, variables: Mapping[str, Any]) -> xr.Dataset:
    """Return the law at given points with its bands; see `forecast.Fit.predict`."""
    check_level(level, fit.name)
    if statistic not in STATISTICS:
        raise UnknownNameError("statistic", printable(statistic, 40), STATISTICS, where=fit.name)
    values = broadcast(fit, variables)
    shape = next(iter(values.values())).shape
    centre = fit.law.value(fit.values, **values)
    found = {"median": centre}
    attrs: dict[str, Any] = {"level": level, "fit": fit.name}
    notes = list(fit.warnings)
    if statistic == "mean":
        found["mean"], attrs["mean_by"] = _mean(fit, centre)
    try:
        found.update(_bands(fit, fit._known("interval"), values, centre, level))
    except FitError as problem:
        attrs["no_interval"] = str(problem)
    if fit.ranges:
        far = float(np.max(_decades(fit, values)[np.isfinite(centre)], initial=0.0))
        attrs["extrapolation_decades"] = far
        if far > FAR:
            where = f"{far:.1f} decades outside its data" if np.isfinite(far) else "at 0 or below, outside its data"
            notes.append(f"{fit.name}: predicts {where}")
    lost = ~np.isfinite(centre)
    if lost.any():
        notes.append(f"{fit.name}: {int(lost.sum())} of {centre.size} points cannot be computed{_which(lost)}")
    unknown = np.zeros(shape, dtype=bool) if "lower" not in found else ~lost & ~np.isfinite(found["upper"])
    if unknown.any():
        notes.append(f"{fit.name}: {int(unknown.sum())} of {centre.size} points have no interval{_which(unknown)}")
    attrs["warnings"] = "\n".join(notes)
    dims, coords = _labels(fit, variables, values, shape)
    arrays = {n: xr.DataArray(np.reshape(v, shape), dims=dims, attrs={"unit": fit.law.unit}) for n, v in found.items()}
    return xr.Dataset(arrays, coords=coords, attrs=attrs)


def _which(marked: NDArray[np.bool_]) -> str:
    """Name the first points that are marked; nothing where there is only one point."""
    if marked.size == 1:
        return ""
    found = np.flatnonzero(marked) + 1
    more = ", …" if found.size > 8 else ""
    return f" (number {', '.join(map(str, found[:8]))}{more}, counted from 1)"


def _mean(fit: Fit, centre: Array) -> tuple[Array, str]:
    """Return the mean of an observation, and how it follows from the median."""
    if not fit.log:
        return centre, "the scatter is taken as symmetric: the mean is the median"
    if fit.residual_scale is None:
        raise FitError(f"{fit.name}: no mean: {fit._why_not()}; the law was fitted to logarithms, and gives the median")
    scale = fit.residual_scale
    return centre * np.exp(0.5 * scale**2), f"lognormal scatter: the median times exp(s**2/2), s = {scale:.6g}"


def _bands(fit: Fit, known: Uncertainty, values: Mapping[str, Array], centre: Array, level: float) -> dict[str, Array]:
    rows = fit.law.jacobian(fit.values, **values)
    keep = [list(fit.values).index(name) for name in known.names]
    factors = np.where(known.logs, np.exp(np.where(known.logs, known.at, 0.0)), 1.0)
    slopes = np.array([np.broadcast_to(rows[i], centre.shape) * f for i, f in zip(keep, factors, strict=True)])
    with np.errstate(all="ignore"):
        if fit.log:
            slopes = slopes / centre
        variance = np.einsum("i...,ij,j...->...", slopes, known.covariance, slopes)
        scale = fit.residual_scale or 0.0
        q = known.quantile(0.5 + level / 2)
        found = {}
        for prefix, width in (("", np.sqrt(variance)), ("observed_", np.sqrt(variance + scale**2))):
            for side, sign in (("lower", -q), ("upper", q)):
                found[prefix + side] = centre * np.exp(sign * width) if fit.log else centre + sign * width
        return found


def extrapolation(fit: Fit, variables: Mapping[str, Any]) -> Array:
    """Return how far points lie outside the data, in decades of the variable that is furthest out."""
    return _decades(fit, broadcast(fit, variables))


def _decades(fit: Fit, values: Mapping[str, Array]) -> Array:
    far = np.zeros(next(iter(values.values())).shape)
    for name, (low, high) in fit.ranges.items():
        if low > 0:
            with np.errstate(all="ignore"):
                beyond = np.maximum(np.log10(values[name] / high), np.log10(low / values[name]))
            far = np.fmax(far, np.where(np.isnan(beyond), np.inf, beyond))
    return far


def broadcast(fit: Fit, variables: Mapping[str, Any]) -> dict[str, Array]:
    """Return a value of every variable, all of one shape."""
    for name in variables:
        if name not in fit.law.variables:
            raise UnknownNameError("variable", name, fit.law.variables, where=fit.name)
    missing = [name for name in fit.law.variables if name not in variables]
    if missing:
        raise UsageError(f"{fit.name}: no value for the variable '{missing[0]}'")
    given = [variables[name] for name in fit.law.variables]
    if any(isinstance(v, xr.DataArray) for v in given):
        given = list(xr.broadcast(*(xr.DataArray(v) if np.ndim(v) == 0 else v for v in given)))
    try:
        plain = [_real(v) for v in given]
        arrays = np.broadcast_arrays(*plain)
    except (TypeError, ValueError):
        raise DataError(f"{fit.name}: {', '.join(fit.law.variables)}: expected numbers that broadcast") from None
    return dict(zip(fit.law.variables, arrays, strict=True))


def _real(values: Any) -> Array:
    """Return numbers as float64, masked ones as NaN; complex numbers and text are a TypeError."""
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(values.astype(float), np.nan))
    array = np.asarray(values)
    if array.dtype.kind not in "biufO" or any(isinstance(v, str) for v in array.ravel() if array.dtype.kind == "O"):
        raise TypeError
    return array.astype(float)


def _labels(
    fit: Fit, variables: Mapping[str, Any], values: Mapping[str, Array], shape: tuple[int, ...]
) -> tuple[tuple[str, ...], dict[str, Any]]:
    labelled = [v for v in variables.values() if isinstance(v, xr.DataArray)]
    if labelled:
        together = xr.broadcast(*labelled)[0]
        dims = tuple(str(d) for d in together.dims)
        return dims, {str(k): v for k, v in together.coords.items() if k not in fit.law.variables}
    dims = ("point",) if len(shape) == 1 else tuple(f"point_{i}" for i in range(len(shape)))
    units = fit.law.variables
    return dims, {n: xr.DataArray(v, dims=dims, attrs={"unit": units[n]}) for n, v in values.items()}
