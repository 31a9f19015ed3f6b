"""What fits say at given points: the law, its confidence band, and the band of one observation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.netcdf import quantiles
from forecast.errors import DataError, FitError, UnknownNameError, UsageError, printable
from forecast.fit.data.groups import coded
from forecast.fit.data.observations import points_of
from forecast.fit.data.residual_autocorrelation import widened
from forecast.fit.diagnostics.stability import stability_tests
from forecast.fit.kernels.general import program_of
from forecast.fit.options import check_level
from forecast.fit.sizes import TABLE_ELEMENTS
from forecast.laws.requirements import unmet

if TYPE_CHECKING:
    import xarray as xr

    from forecast.fit.fits import Fits
    from forecast.fit.inference.fit_batch import FitBatch
    from forecast.fit.inference.replicates import Replicates
    from forecast.fit.solution import Fit
    from forecast.laws import Law

__all__ = ["FAR", "STATISTICS", "check_level", "extrapolation", "percentiles", "predict", "predict_many"]

Array = NDArray[np.float64]

#: Predictions further than this from the data carry a warning, in decades.
FAR = 0.5
STATISTICS = ("median", "mean")


def predict(fit: Fit, data: Any, *, level: float, statistic: str, variables: Mapping[str, Any]) -> xr.Dataset:
    """Return the law at given points with its bands; see `forecast.Fit.predict`."""
    import xarray as xr

    _check(level, statistic, fit.name)
    if data is not None:
        variables = points_of(fit.law, data, variables, fit.name)
    values = broadcast(fit, variables)
    shape = next(iter(values.values())).shape
    points = {n: v.reshape(1, -1) for n, v in values.items()}
    one = np.array([0])
    parameters = {n: np.array([v]) for n, v in fit.values.items()}
    _check_meaning(fit, parameters, points)
    centre = _values(fit.law, parameters, points)
    columns = {"median": centre}
    attrs: dict[str, Any] = {"level": level, "fit": fit.name}
    notes = list(fit.notes)
    if fit.uncertainty is not None:  # what the band holds is no warning: it says so itself
        notes = list(dict.fromkeys([*notes, *fit.diagnostics.warnings(fit.name, predicting=True)]))
    if statistic == "mean":
        if fit.log and fit.residual_scale is None:
            why = fit._why_not()
            raise FitError(f"{fit.name}: no mean: {why}; the law was fitted to logarithms, and gives the median")
        columns["mean"], attrs["mean_by"] = _mean(fit.log, np.array([fit.residual_scale or 0.0]), centre)
    try:
        attrs["bands"] = _origin(fit, level)
    except FitError as problem:
        attrs["no_interval"] = str(problem)
    else:
        assert fit.estimates is not None
        made, doubted = _bands(fit.estimates, one, points, centre, level)
        columns.update(made)
        if (rho := float(fit.estimates.correlation[0])) > 0:
            attrs["bands"] += f", times {float(widened(np.array(rho))):.2g}: residuals follow each other"
        if doubted:
            attrs["bands"] += ", and by how far the last points turn away from the law"
    if fit.ranges and (np.isfinite(centre).any() or not centre.size):
        ranges = {n: (np.array([low]), np.array([high])) for n, (low, high) in fit.ranges.items()}
        far = float(np.max(_decades(ranges, points)[np.isfinite(centre)], initial=0.0))
        attrs["extrapolation_decades"] = far
        if far > FAR:
            where = f"{far:.1f} decades outside its data" if np.isfinite(far) else "at 0 or below, outside its data"
            other = "; forecast.extrapolate pools several laws" if len(fit.law.variables) == 1 else ""
            notes.append(f"{fit.name}: predicts {where}{other}")
    lost = ~np.isfinite(centre)
    if lost.any():
        attrs["lost"] = _why_lost(fit, points, lost)
        why = f": {attrs['lost']}" if attrs["lost"] else ""
        notes.append(f"{fit.name}: {int(lost.sum())} of {centre.size} points cannot be computed{_which(lost)}{why}")
    unknown = np.zeros_like(lost) if "lower" not in columns else ~lost & ~np.isfinite(columns["upper"])
    if unknown.any():
        notes.append(f"{fit.name}: {int(unknown.sum())} of {centre.size} points have no interval{_which(unknown)}")
    attrs["warnings"] = "\n".join(notes)
    dims, coords = _labels(fit, variables, values, shape)
    arrays = {
        n: xr.DataArray(np.reshape(v, shape), dims=dims, attrs={"unit": fit.law.unit}) for n, v in columns.items()
    }
    return xr.Dataset(arrays, coords=coords, attrs=attrs)


def predict_many(fits: Fits, data: Any, level: float, statistic: str, variables: Mapping[str, Any]) -> xr.Dataset:
    """Return the law of every fit at given points with its bands; see `forecast.fit.fits.Fits.predict`."""
    import xarray as xr

    _check(level, statistic, fits.name)
    if data is not None:
        variables = points_of(fits.law, data, variables, fits.name)
    points, dims, coords = _points(fits, variables)
    shape = next(iter(points.values())).shape[1:]
    count, size = len(fits), int(np.prod(shape, dtype=int))
    names = ["median", "lower", "upper", "observed_lower", "observed_upper", *(["mean"] * (statistic == "mean"))]
    columns = {name: np.full((count, size), np.nan) for name in names}
    far = np.zeros((count, size))
    estimates, good = fits.estimates, np.flatnonzero(fits.made.settled)
    flat = {n: v.reshape(len(v), size) for n, v in points.items()}
    step = max(1, TABLE_ELEMENTS // max(size * (len(fits.law.parameters) + 6), 1))
    for first in range(0, good.size, step):
        rows = good[first : first + step]
        part = {n: v if len(v) == 1 else v[rows] for n, v in flat.items()}
        parameters = {n: v[rows] for n, v in estimates.values.items()}
        _check_meaning(fits, parameters, part)
        centre = columns["median"][rows] = _values(fits.law, parameters, part)
        if statistic == "mean":
            columns["mean"][rows], _ = _mean(fits.log, estimates.residual_scale[rows], centre)
        made, _ = _bands(estimates, rows, part, centre, level)
        for name, values in made.items():
            columns[name][rows] = values
        far[rows] = _decades({n: (low[rows], high[rows]) for n, (low, high) in estimates.ranges.items()}, part)
    lost = ~np.isfinite(columns["median"][good])
    unknown = ~lost & ~np.isfinite(columns["upper"][good])
    reach = float(np.max(far[good][~lost], initial=0.0))
    notes = [*fits.warnings]
    if reach > FAR:
        beyond = int((far > FAR).any(axis=1).sum())
        notes.append(f"{fits.name}: {beyond} of {count} fits predict more than {FAR:g} decades outside their data")
    if lost.any():
        notes.append(f"{fits.name}: {int(lost.sum())} of {lost.size} points cannot be computed")
    if unknown.any():
        notes.append(f"{fits.name}: {int(unknown.any(axis=1).sum())} of {count} fits have no interval")
    attrs = {"level": level, "fit": fits.name, "extrapolation_decades": reach, "warnings": "\n".join(notes)}
    if statistic == "mean":
        attrs["mean_by"] = _mean(fits.log, estimates.residual_scale, columns["median"])[1]
    arrays = {
        name: xr.DataArray(v.reshape(count, *shape), dims=(fits.by, *dims), attrs={"unit": fits.law.unit})
        for name, v in columns.items()
    }
    return xr.Dataset(arrays, coords={**coords, fits.by: fits.labels}, attrs=attrs)


def _check(level: float, statistic: str, name: str) -> None:
    check_level(level, name)
    if statistic not in STATISTICS:
        raise UnknownNameError("statistic", printable(statistic, 40), STATISTICS, where=name)


def _check_meaning(fit: Fit | Fits, parameters: Mapping[str, Array], points: Mapping[str, Array]) -> None:
    """Refuse points at which a requirement of the law does not hold; the message has both sides of it."""
    known = {**{n: v[:, None] for n, v in parameters.items()}, **points}
    shape = np.broadcast_shapes(*(v.shape for v in known.values()))
    for text, names, values in unmet(fit.law.requires, known, shape):
        bad = values <= 0
        at = np.unravel_index(int(np.argmax(bad)), bad.shape)
        said = ", ".join(f"{n} = {float(np.broadcast_to(known[n], bad.shape)[at]):.6g}" for n in names)
        what = f"{fit.law.requires[text]}: expected {text} > 0"
        which = _which(bad) if len(bad) == 1 else ""
        raise UsageError(f"{fit.name}: {what}, got {float(values[at]):.4g} at {said}{which}")


def _why_lost(fit: Fit, values: Mapping[str, Array], lost: NDArray[np.bool_]) -> str:
    """Say which variable is to blame at points without a value: missing, or not positive where it must be."""
    reasons = []
    for name, column in values.items():
        if np.isnan(column[lost]).any():
            reasons.append(f"'{name}' is missing")
        low = lost & (column <= 0)
        if name in fit.law.levels or not low.any():
            continue
        moved = fit.law.value(fit.values, **{n: np.abs(v[low]) + (v[low] == 0) for n, v in values.items()})
        if np.isfinite(moved).any():
            reasons.append(f"'{name}' is not positive ({float(column[low].min()):g})")
    return ", ".join(reasons)


def _which(marked: NDArray[np.bool_]) -> str:
    """Name the first points that are marked; nothing where there is only one point."""
    if marked.size == 1:
        return ""
    places = np.flatnonzero(marked) + 1
    more = ", …" if places.size > 8 else ""
    return f" (number {', '.join(map(str, places[:8]))}{more}, counted from 1)"


def _mean(log: bool, scale: Array, centre: Array) -> tuple[Array, str]:
    """Return the mean of an observation, (B, p), and how it follows from the median."""
    if not log:
        return centre, "the scatter is taken as symmetric: the mean is the median"
    said = f"s = {scale[0]:.6g}" if scale.size == 1 else "s the residual_scale of each fit"
    return centre * np.exp(0.5 * scale[:, None] ** 2), f"lognormal scatter: the median times exp(s**2/2), {said}"


def _origin(fit: Fit, level: float) -> str:
    """Tell where the bands come from: the bootstrap's replicates where there are enough of them.

    Raises
    ------
    FitError
        Where there are none.
    """
    repeated, estimates = fit.replicates, fit.estimates
    if repeated is not None and estimates is not None and estimates.repeated(level)[0]:
        return f"percentiles of {repeated.good.shape[1]} bootstrap replicates ({repeated.resample})"
    known = fit._known("interval")
    origin = "standard errors of the parameters"
    if known.clusters:
        origin = f"cluster-robust standard errors over {known.clusters} groups"
    if repeated is None or known.exact:
        return origin
    return f"{origin} ({repeated.good.shape[1]} replicates are too few for {level:g})"


def _bands(
    estimates: FitBatch, rows: NDArray[np.int64], points: Mapping[str, Array], centre: Array, level: float
) -> tuple[dict[str, Array], bool]:
    """Return both bands of some fits, (B, p): of the law, and of one observation; and whether its form is doubted.

    Parameters
    ----------
    rows : ndarray of int
        Which fits.
    points : mapping of str to ndarray
        (1, p) where these fits share the points, else (B, p).
    centre : ndarray
        (B, p), the law there.
    """
    log, known = estimates.objective.log, estimates.known
    q = known.quantile(0.5 + level / 2)[rows, None]
    with np.errstate(all="ignore"):
        apart = widened(estimates.correlation[rows])[:, None]
        width = apart * _errors(estimates, rows, points, centre)
        lower, upper = (centre * np.exp(s * width) if log else centre + s * width for s in (-q, q))
        for j in np.flatnonzero(estimates.repeated(level)[rows]):
            repeated = estimates.replicates[rows[j]]
            assert repeated is not None
            fitted = {n: float(v[rows[j]]) for n, v in estimates.values.items()}
            there = {n: v[0 if len(v) == 1 else j] for n, v in points.items()}
            ends = percentiles(estimates.law, fitted, repeated, there, level)
            lower[j], upper[j] = (_moved(end, centre[j], float(apart[j, 0]), log) for end in ends)
            q[j] = NormalDist().inv_cdf(0.5 + level / 2)
        doubt = stability_tests(estimates, rows, points, lambda some, there: _slopes(estimates, some, there))
        if doubt.any():
            lower, upper = (_and(end, centre, q * doubt, sign, log) for end, sign in ((lower, -1), (upper, 1)))
        bands = {"lower": lower, "upper": upper}
        scatter = q * estimates.residual_scale[rows, None]
        for side, sign in (("lower", -1), ("upper", 1)):  # the scatter of one observation comes on top
            bands[f"observed_{side}"] = _and(bands[side], centre, scatter, sign, log)
    return bands, bool(doubt.any())


def _and(end: Array, centre: Array, more: Array, sign: int, log: bool) -> Array:
    """Return an end of an interval with more beside what made it, both as distances from the centre."""
    far = np.log(end / centre) if log else end - centre
    wide = sign * np.sqrt(np.maximum(sign * far, 0.0) ** 2 + more**2)
    return np.asarray(centre * np.exp(wide) if log else centre + wide)


def _moved(end: Array, centre: Array, times: float, log: bool) -> Array:
    """Return an end of an interval so many times as far from the centre."""
    if times == 1.0:
        return end
    return centre * (end / centre) ** times if log else centre + times * (end - centre)


def _values(law: Law, parameters: Mapping[str, Array], points: Mapping[str, Array]) -> Array:
    """Return the law at points, (B, p)."""
    return _at_points(law, parameters, points, lambda own, there: law.value(own, **there))


def _at_points(
    law: Law, parameters: Mapping[str, Array], points: Mapping[str, Array], of: Callable[[Any, Any], Any]
) -> Array:
    """Return what is asked of a law at parameters (B,) and points, (1, p) or (B, p); the last two axes are (B, p)."""
    count, size = next(iter(parameters.values())).size, next(iter(points.values())).shape[-1]
    if law.expression is not None and count > 1:
        columns = {n: v[:, None] for n, v in parameters.items()}
        values = np.asarray(of(columns, points))
        return np.broadcast_to(values, (*values.shape[:-2], count, size))
    parts = []
    for b in range(count):  # the code of a plugin need not broadcast: one fit at a time
        own = {n: float(v[b]) for n, v in parameters.items()}
        values = np.asarray(of(own, {n: v[0 if len(v) == 1 else b] for n, v in points.items()}), dtype=float)
        parts.append(np.broadcast_to(values, (*values.shape[:-1], size)))
    return np.stack(parts, axis=-2) if count > 1 else parts[0][..., None, :]


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
    step = max(1, TABLE_ELEMENTS // good.shape[1])
    for first in range(0, size, step):
        some = {n: v[first : first + step] for n, v in flat.items()}
        levels = program.evaluate({**parameters, **some}, 0)[0]
        ends[:, first : first + step] = quantiles(levels, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return ends[0].reshape(shape), ends[1].reshape(shape)


def _errors(estimates: FitBatch, rows: NDArray[np.int64], points: Mapping[str, Array], centre: Array) -> Array:
    """Return the standard error of the law at points, (B, p), of its logarithm under a log objective."""
    known = estimates.known
    slopes = _slopes(estimates, rows, points, centre) * known.factors[:, rows, None]
    sure = np.asarray(known.known[:, rows].all(axis=0))
    covariance = np.where(sure[:, None, None], known.covariance[rows], np.nan)
    return np.asarray(np.sqrt(np.einsum("ibp,bij,jbp->bp", slopes, covariance, slopes)))


def _slopes(
    estimates: FitBatch, rows: NDArray[np.int64], points: Mapping[str, Array], centre: Array | None = None
) -> Array:
    """Return the derivatives of the law by its free parameters, (k, B, p); of its logarithm under a log objective."""
    law = estimates.law
    parameters = {n: v[rows] for n, v in estimates.values.items()}
    slopes = _at_points(law, parameters, points, lambda own, there: law.jacobian(own, **there))
    slopes = slopes[[law.parameters.index(n) for n in estimates.known.names]]
    if not estimates.objective.log:
        return np.asarray(slopes)
    return np.asarray(slopes / (_values(law, parameters, points) if centre is None else centre))


def extrapolation(fit: Fit | Fits, variables: Mapping[str, Any]) -> Array:
    """Return how far points lie outside the data, in decades of the variable that is furthest out.

    Of many fits the first axis is theirs.
    """
    values = broadcast(fit, variables)
    shape = next(iter(values.values())).shape
    ranges = {n: (np.atleast_1d(low), np.atleast_1d(high)) for n, (low, high) in fit.ranges.items()}
    far = _decades(ranges, {n: v.reshape(1, -1) for n, v in values.items()})
    return far.reshape(far.shape[:1] + shape)


def _decades(ranges: Mapping[str, tuple[Array, Array]], points: Mapping[str, Array]) -> Array:
    """Return how far points lie outside the data of each fit, (B, p)."""
    far = np.zeros((1, next(iter(points.values())).shape[1]))
    for name, (low, high) in ranges.items():
        low, high = low[:, None], high[:, None]
        with np.errstate(all="ignore"):
            beyond = np.maximum(np.log10(points[name] / high), np.log10(low / points[name]))
        beyond = np.where(np.isnan(beyond), np.inf, beyond)
        far = np.where(low > 0, np.fmax(far, beyond), far)
    return far


def _points(fits: Fits, variables: Mapping[str, Any]) -> tuple[dict[str, Array], tuple[str, ...], dict[str, Any]]:
    """Return the variables, (1, ...) where all fits share the points, else (B, ...); their dimensions and labels."""
    import xarray as xr

    labelled = {n: v for n, v in variables.items() if isinstance(v, xr.DataArray)}
    for name, column in labelled.items():
        if fits.by in column.dims and fits.by in column.coords:
            try:
                variables = {**variables, name: column.sel({fits.by: fits.labels})}
            except KeyError:
                raise DataError(f"{fits.name}: {name}: lacks some labels of '{fits.by}'") from None
    values = broadcast(fits, variables)
    shape = next(iter(values.values())).shape
    if not labelled:
        dims = ("point",) if len(shape) == 1 else tuple(f"point_{i}" for i in range(len(shape)))
        units = fits.law.variables
        coords = {n: xr.DataArray(v, dims=dims, attrs={"unit": units[n]}) for n, v in values.items()}
        return {n: v[None] for n, v in values.items()}, dims, coords
    together = xr.broadcast(*(variables[n] for n in labelled))[0]
    dims = tuple(str(d) for d in together.dims)
    coords = {str(k): v for k, v in together.coords.items() if k not in (*fits.law.variables, fits.by)}
    if fits.by not in dims:
        return {n: v[None] for n, v in values.items()}, dims, coords
    place = dims.index(fits.by)
    if shape[place] != len(fits):
        raise DataError(f"{fits.name}: '{fits.by}': expected {len(fits)} labels, got {shape[place]}")
    moved = {n: np.moveaxis(v, place, 0) for n, v in values.items()}
    return moved, tuple(d for d in dims if d != fits.by), coords


def broadcast(fit: Fit | Fits, variables: Mapping[str, Any]) -> dict[str, Array]:
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
