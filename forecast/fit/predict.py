"""What a fit says at given points: the law, its confidence band, and the band of one observation."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.netcdf import quantiles
from forecast.errors import DataError, FitError, UnknownNameError, UsageError, printable
from forecast.fit.data.groups import coded
from forecast.fit.kernels.general import program_of
from forecast.fit.options import check_level
from forecast.laws.meaning import unmet

if TYPE_CHECKING:
    import xarray as xr

    from forecast.fit.inference.covariance import Uncertainty
    from forecast.fit.inference.replicates import Replicates
    from forecast.fit.solution import Fit
    from forecast.laws import Law

__all__ = ["FAR", "STATISTICS", "check_level", "extrapolation", "percentiles", "predict"]

Array = NDArray[np.float64]

#: Predictions further than this from the data carry a warning, in decades.
FAR = 0.5
STATISTICS = ("median", "mean")
#: Numbers that are computed together.
CELLS = 2_000_000


def predict(fit: Fit, *, level: float, statistic: str, variables: Mapping[str, Any]) -> xr.Dataset:
    """Return the law at given points with its bands; see `forecast.Fit.predict`."""
    import xarray as xr

    check_level(level, fit.name)
    if statistic not in STATISTICS:
        raise UnknownNameError("statistic", printable(statistic, 40), STATISTICS, where=fit.name)
    values = broadcast(fit, variables)
    shape = next(iter(values.values())).shape
    _check_meaning(fit, values)
    centre = fit.law.value(fit.values, **values)
    found = {"median": centre}
    attrs: dict[str, Any] = {"level": level, "fit": fit.name}
    notes = list(fit.notes)
    if statistic == "mean":
        found["mean"], attrs["mean_by"] = _mean(fit, centre)
    try:
        bands, attrs["bands"] = _bands(fit, values, centre, level)
        found.update(bands)
    except FitError as problem:
        attrs["no_interval"] = str(problem)
    if fit.ranges and (np.isfinite(centre).any() or not centre.size):
        far = float(np.max(_decades(fit, values)[np.isfinite(centre)], initial=0.0))
        attrs["extrapolation_decades"] = far
        if far > FAR:
            where = f"{far:.1f} decades outside its data" if np.isfinite(far) else "at 0 or below, outside its data"
            notes.append(f"{fit.name}: predicts {where}")
    lost = ~np.isfinite(centre)
    if lost.any():
        attrs["lost"] = _why_lost(fit, values, lost)
        why = f": {attrs['lost']}" if attrs["lost"] else ""
        notes.append(f"{fit.name}: {int(lost.sum())} of {centre.size} points cannot be computed{_which(lost)}{why}")
    unknown = np.zeros(shape, dtype=bool) if "lower" not in found else ~lost & ~np.isfinite(found["upper"])
    if unknown.any():
        notes.append(f"{fit.name}: {int(unknown.sum())} of {centre.size} points have no interval{_which(unknown)}")
    attrs["warnings"] = "\n".join(notes)
    dims, coords = _labels(fit, variables, values, shape)
    arrays = {n: xr.DataArray(np.reshape(v, shape), dims=dims, attrs={"unit": fit.law.unit}) for n, v in found.items()}
    return xr.Dataset(arrays, coords=coords, attrs=attrs)


def _check_meaning(fit: Fit, values: Mapping[str, Array]) -> None:
    """Refuse points at which a requirement of the law does not hold; the message has both sides of it."""
    for text, names, found in unmet(fit.law.requires, {**fit.values, **values}, next(iter(values.values())).shape):
        bad = found <= 0
        at = np.unravel_index(int(np.argmax(bad)), bad.shape)
        given = {n: values[n] if n in values else fit.values[n] for n in names}
        said = ", ".join(f"{n} = {float(np.broadcast_to(v, bad.shape)[at]):.6g}" for n, v in given.items())
        what = f"{fit.law.requires[text]}: expected {text} > 0"
        raise UsageError(f"{fit.name}: {what}, got {float(found[at]):.4g} at {said}{_which(bad)}")


def _why_lost(fit: Fit, values: Mapping[str, Array], lost: NDArray[np.bool_]) -> str:
    """Say which variable is to blame at points without a value: missing, or not positive where it must be."""
    found = []
    for name, column in values.items():
        if np.isnan(column[lost]).any():
            found.append(f"'{name}' is missing")
        low = lost & (column <= 0)
        if name in fit.law.levels or not low.any():
            continue
        moved = fit.law.value(fit.values, **{n: np.abs(v[low]) + (v[low] == 0) for n, v in values.items()})
        if np.isfinite(moved).any():
            found.append(f"'{name}' is not positive ({float(column[low].min()):g})")
    return ", ".join(found)


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


def _bands(fit: Fit, values: Mapping[str, Array], centre: Array, level: float) -> tuple[dict[str, Array], str]:
    """Return both bands, and where they come from: the bootstrap's replicates where there are enough of them."""
    repeated = fit.replicates
    if repeated is not None and repeated.enough(level):
        lower, upper = percentiles(fit.law, fit.values, repeated, values, level)
        found, q = {"lower": lower, "upper": upper}, NormalDist().inv_cdf(0.5 + level / 2)
        origin = f"percentiles of {repeated.good.shape[1]} bootstrap replicates ({repeated.resample})"
    else:
        known = fit._known("interval")
        width = _error(fit, known, values, centre)
        q = known.quantile(0.5 + level / 2)
        with np.errstate(all="ignore"):
            ends = [centre * np.exp(s * width) if fit.log else centre + s * width for s in (-q, q)]
        found, origin = {"lower": ends[0], "upper": ends[1]}, "standard errors of the parameters"
        if known.clusters:
            origin = f"cluster-robust standard errors over {known.clusters} groups"
        if repeated is not None:
            origin += f" ({repeated.good.shape[1]} replicates are too few for {level:g})"
    scale = fit.residual_scale or 0.0
    with np.errstate(all="ignore"):
        for side, sign in (("lower", -1), ("upper", 1)):  # the scatter of one observation comes on top
            apart = np.log(found[side] / centre) if fit.log else found[side] - centre
            wide = sign * np.sqrt(np.maximum(sign * apart, 0.0) ** 2 + (q * scale) ** 2)
            found[f"observed_{side}"] = centre * np.exp(wide) if fit.log else centre + wide
    return found, origin


def percentiles(
    law: Law, fitted: Mapping[str, float], repeated: Replicates, values: Mapping[str, Array], level: float
) -> tuple[Array, Array]:
    """Return percentiles of the law over the replicates; nan where one of them cannot be computed."""
    shape = next(iter(values.values())).shape
    flat = {n: v.ravel() for n, v in values.items()}
    size = next(iter(flat.values())).size
    good, program = repeated.good, program_of(law)
    parameters = {n: good[repeated.names.index(n)][:, None] if n in repeated.names else v for n, v in fitted.items()}
    ends = np.empty((2, size))
    step = max(1, CELLS // good.shape[1])
    for first in range(0, size, step):
        some = {n: v[first : first + step] for n, v in flat.items()}
        found = program.evaluate({**parameters, **some}, 0)[0]
        ends[:, first : first + step] = quantiles(found, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return ends[0].reshape(shape), ends[1].reshape(shape)


def _error(fit: Fit, known: Uncertainty, values: Mapping[str, Array], centre: Array) -> Array:
    """Return the standard error of the law at points, of its logarithm under a log objective."""
    rows = fit.law.jacobian(fit.values, **values)
    keep = [list(fit.values).index(name) for name in known.names]
    factors = np.where(known.logs, np.exp(np.where(known.logs, known.at, 0.0)), 1.0)
    slopes = np.array([np.broadcast_to(rows[i], centre.shape) * f for i, f in zip(keep, factors, strict=True)])
    with np.errstate(all="ignore"):
        if fit.log:
            slopes = slopes / centre
        return np.asarray(np.sqrt(np.einsum("i...,ij,j...->...", slopes, known.covariance, slopes)))


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
    import xarray as xr

    for name in variables:
        if name not in fit.law.variables:
            raise UnknownNameError("variable", name, fit.law.variables, where=fit.name)
    missing = [name for name in fit.law.variables if name not in variables]
    if missing:
        raise UsageError(f"{fit.name}: no value for the variable '{missing[0]}'")
    given = [coded(fit.law, name, variables[name], fit.name) for name in fit.law.variables]
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
    import xarray as xr

    labelled = [v for v in variables.values() if isinstance(v, xr.DataArray)]
    if labelled:
        together = xr.broadcast(*labelled)[0]
        dims = tuple(str(d) for d in together.dims)
        return dims, {str(k): v for k, v in together.coords.items() if k not in fit.law.variables}
    dims = ("point",) if len(shape) == 1 else tuple(f"point_{i}" for i in range(len(shape)))
    units, levels = fit.law.variables, fit.law.levels
    shown = {n: np.array(levels[n])[v.astype(int)] if n in levels else v for n, v in values.items()}
    return dims, {n: xr.DataArray(v, dims=dims, attrs={"unit": units[n]}) for n, v in shown.items()}
