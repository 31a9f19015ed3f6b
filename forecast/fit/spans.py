"""Intervals and predictions of many fits at once, by the rules of a single one; nan where a single one refuses."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from forecast.errors import DataError, FitError, UnknownNameError, printable
from forecast.fit.inference.covariance import WIDE
from forecast.fit.inference.interval import METHODS
from forecast.fit.inference.limits import Optima, limits
from forecast.fit.inference.profile import CHEAP, RIDGE
from forecast.fit.predict import FAR, STATISTICS, broadcast, check_level, percentiles

if TYPE_CHECKING:
    from forecast.fit.fits import Fits, Solutions

__all__ = ["interval", "predict"]

Array: TypeAlias = NDArray[np.float64]

#: Numbers that are worked on together.
CELLS = 4_000_000
#: Curves whose limits are searched together.
TOGETHER = 1024


# Intervals ------------------------------------------------------------------------------------------------------------


def interval(fits: Fits, name: str, level: float, method: str | None) -> xr.Dataset:
    """Return the interval of a parameter in every fit; see `forecast.fit.inference.interval.interval` for the methods.

    Raises
    ------
    FitError, UnknownNameError, UsageError
        For what is wrong with all of them.
    """
    made, free = fits.made, fits.made.setting.where.free
    if name not in made.natural:
        raise UnknownNameError("parameter", name, made.natural, where=fits.name)
    check_level(level, fits.name)
    if method is not None and method not in METHODS:
        raise UnknownNameError("method", method, METHODS, where=f"{fits.name}: interval")
    if name not in free:
        raise FitError(f"{fits.name}: no interval for '{name}': its bounds fix it")
    i = free.index(name)
    if method == "bootstrap":
        low, high = _percentiles(fits, name, level)
    elif method == "wald":
        low, high = made.known.wald(i, level)
    elif method == "profile":
        low, high = (ends[i].copy() for ends in _profiled(fits, level))
    else:
        low, high = _default(fits, i, level)
    none = int(np.isnan(low).sum())
    failed = int((~made.settled).sum())
    notes = [*fits.warnings]
    if none > failed:
        notes.append(f"{fits.name}: {none - failed} of {len(fits)} fits have no interval for '{name}'")
    attrs = {"parameter": name, "level": level, "method": method or "default", "warnings": "\n".join(notes)}
    return xr.Dataset({"lower": fits.along(low), "upper": fits.along(high)}, attrs=attrs)


def _percentiles(fits: Fits, name: str, level: float) -> tuple[Array, Array]:
    repeated = fits.made.repeated
    if repeated is None:
        raise FitError(f"{fits.name}: no bootstrap interval for '{name}': fit with bootstrap=1000 first")
    ends = [(np.nan, np.nan) if r is None or not r.good.size else r.interval(name, level) for r in repeated]
    low, high = np.array(ends, dtype=float).reshape(-1, 2).T
    return low, high


def _default(fits: Fits, i: int, level: float) -> tuple[Array, Array]:
    """Return profiles where a single fit takes them, else Wald's."""
    made = fits.made
    low, high = made.known.wald(i, level)
    n = (made.curves.weights > 0).sum(axis=1)
    law, likely = made.setting.law, made.setting.objective.scale != "sandwich"
    cheap = (n * len(law.parameters) <= CHEAP) & made.settled & (law.expression is not None)
    if not cheap.any():
        return low, high
    wide_low, wide_high = (ends[i] for ends in _profiled(fits, level))
    bound, unknown = made.known.marked("bounds", i), made.known.marked("unidentified", i)
    # a covariance says little of what is not quadratic: there the profile knows
    for b, own in made.known.odd.items():
        unknown[b] &= not (likely and not own.flaw and own.unidentified.get(made.setting.where.free[i]) == WIDE)
    chosen = cheap & ~unknown
    if likely:
        with np.errstate(invalid="ignore"):
            least = (wide_low == 0) & ~bound if made.setting.where.positive[i] else np.isneginf(wide_low)
            unlimited = (wide_high == np.inf) & (least | np.isneginf(wide_low))
        return (
            np.where(chosen, np.where(unlimited, np.nan, wide_low), low),
            np.where(chosen, np.where(unlimited, np.nan, wide_high), high),
        )
    # no likelihood: the profile shows a ridge that the sandwich does not see
    with np.errstate(all="ignore"):
        logs = low > 0
        narrow = np.where(logs, np.log(high) - np.log(low), high - low)
        both = np.where(wide_low > 0, np.log(wide_high) - np.log(wide_low), np.inf)
        wide = np.where(logs, both, wide_high - wide_low)
        chosen &= ~bound & (wide > RIDGE * narrow)
    return np.where(chosen, wide_low, low), np.where(chosen, wide_high, high)


def _profiled(fits: Fits, level: float) -> tuple[Array, Array]:
    """Return the profiles' limits of all parameters as the law has them, (k, B) each."""
    kept = fits.profiled
    if level not in kept:
        made, shape = fits.made, fits.made.q.shape
        flawed = np.array([b for b, own in made.known.odd.items() if own.flaw], dtype=np.int64)
        good = np.setdiff1d(np.flatnonzero(made.settled), flawed)
        low, high = np.full(shape, np.nan), np.full(shape, np.nan)
        for first in range(0, good.size, TOGETHER):
            rows = good[first : first + TOGETHER]
            low[:, rows], high[:, rows] = _limits(made, rows, level)
        kept[level] = low, high
    found: tuple[Array, Array] = kept[level]
    return found


def _limits(made: Solutions, rows: NDArray[np.int64], level: float) -> tuple[Array, Array]:
    where, target = made.setting.where, made.target(rows)
    q = made.q[:, rows]
    value, _, hessian = target.evaluate(q)
    optima = Optima(
        target=target, q=q, value=value, hessian=hessian, lower=where.lower, upper=where.upper, logs=where.logs
    )
    found = limits(optima, _allowed(made, rows, optima, level))
    with np.errstate(over="ignore"):
        low, high = (np.where(where.logs[:, None], np.exp(e), e) for e in (found.low, found.high))
    # a better optimum was found: there is no interval about this one
    return np.where(found.better, np.nan, low), np.where(found.better, np.nan, high)


def _allowed(made: Solutions, rows: NDArray[np.int64], optima: Optima, level: float) -> Array:
    """Return by how much each objective may rise, (k, B); see `forecast.fit.inference.profile.allowed`."""
    known, k = made.known, made.q.shape[0]
    squared = known.quantile(0.5 + level / 2)[rows] ** 2
    rule = made.setting.objective.scale
    if rule == "residual":
        unit = 1.0 if known.scale_known else optima.value / np.maximum(known.dof[rows], 1)
        return np.repeat((squared * unit)[None], k, axis=0)
    if rule == "known":
        return np.repeat((0.5 * squared)[None], k, axis=0)
    # no likelihood: the rise that belongs to the sandwich's variance (Kent, 1982)
    spread = np.einsum("iib->ib", optima.inverse)
    variance = np.einsum("bii->ib", known.covariance[rows]).copy()
    turned = known.logs & ~made.setting.where.logs
    for j, b in enumerate(rows):
        if int(b) in known.odd:
            own = known.odd[int(b)]
            variance[:, j] = np.where(own.logs == known.logs, np.diag(own.covariance), np.nan)
    variance[turned] *= made.q[np.ix_(turned, rows)] ** 2
    with np.errstate(all="ignore"):
        ratio = variance / spread
        good = np.isfinite(ratio) & (ratio > 0)
        middle = np.array([np.median(r[g]) if g.any() else np.nan for r, g in zip(ratio.T, good.T, strict=True)])
    ratio = np.where(good, ratio, middle)
    return np.asarray(0.5 * squared * np.where(good.any(axis=0), ratio, known.scale[rows] ** 2))


# Predictions ----------------------------------------------------------------------------------------------------------


def predict(fits: Fits, level: float, statistic: str, variables: Mapping[str, Any]) -> xr.Dataset:
    """Return the law of every fit at given points with its bands; see `forecast.fit.fits.Fits.predict`."""
    check_level(level, fits.name)
    if statistic not in STATISTICS:
        raise UnknownNameError("statistic", printable(statistic, 40), STATISTICS, where=fits.name)
    points, dims, coords = _points(fits, variables)
    shape = next(iter(points.values())).shape[1:]
    count, size = len(fits), int(np.prod(shape, dtype=int))
    names = ["median", "lower", "upper", "observed_lower", "observed_upper", *(["mean"] * (statistic == "mean"))]
    found = {name: np.full((count, size), np.nan) for name in names}
    far = np.zeros((count, size))
    good = np.flatnonzero(fits.made.settled)
    flat = {n: v.reshape(len(v), size) for n, v in points.items()}
    step = max(1, CELLS // max(size * (len(fits.law.parameters) + 6), 1))
    for first in range(0, good.size, step):
        rows = good[first : first + step]
        part = {n: v if len(v) == 1 else v[rows] for n, v in flat.items()}
        for name, values in _bands(fits, rows, part, level).items():
            if name in found:
                found[name][rows] = values
        far[rows] = _decades(fits, rows, part)
    lost = ~np.isfinite(found["median"][good])
    unknown = ~lost & ~np.isfinite(found["upper"][good])
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
        log = fits.made.setting.objective.log
        attrs["mean_by"] = (
            "lognormal scatter: the median times exp(s**2/2), s the residual_scale of each fit"
            if log
            else "the scatter is taken as symmetric: the mean is the median"
        )
    arrays = {
        name: xr.DataArray(v.reshape(count, *shape), dims=(fits.by, *dims), attrs={"unit": fits.law.unit})
        for name, v in found.items()
    }
    return xr.Dataset(arrays, coords={**coords, fits.by: fits.labels}, attrs=attrs)


def _points(fits: Fits, variables: Mapping[str, Any]) -> tuple[dict[str, Array], tuple[str, ...], dict[str, Any]]:
    """Return the variables, (1, ...) where all fits share the points, else (B, ...); their dimensions and labels."""
    labelled = {n: v for n, v in variables.items() if isinstance(v, xr.DataArray)}
    for name, column in labelled.items():
        if fits.by in column.dims and fits.by in column.coords:
            try:
                variables = {**variables, name: column.sel({fits.by: fits.labels})}
            except KeyError:
                raise DataError(f"{fits.name}: {name}: lacks some labels of '{fits.by}'") from None
    values = broadcast(fits, variables)  # type: ignore[arg-type]
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


def _bands(fits: Fits, rows: NDArray[np.int64], points: Mapping[str, Array], level: float) -> dict[str, Array]:
    made, law = fits.made, fits.law
    log, repeated = made.setting.objective.log, made.repeated
    q = made.known.quantile(0.5 + level / 2)[rows, None]
    scale = np.nan_to_num(fits.residual_scale.values[rows])[:, None]
    keep = [law.parameters.index(n) for n in made.setting.where.free]
    with np.errstate(all="ignore"):
        centre, slopes = _law(fits, rows, points)
        inner = slopes[keep] / centre if log else slopes[keep]
        width = np.sqrt(np.einsum("ibp,bij,jbp->bp", inner, fits.covariance.values[rows], inner))
        lower, upper = (centre * np.exp(s * width) if log else centre + s * width for s in (-q, q))
        for j, b in enumerate(rows if repeated is not None else ()):
            own = repeated[b] if repeated is not None else None
            if own is not None and own.enough(level):
                fitted = {n: float(v[b]) for n, v in made.natural.items()}
                there = {n: v[0 if len(v) == 1 else j] for n, v in points.items()}
                lower[j], upper[j] = percentiles(law, fitted, own, there, level)
                q[j] = NormalDist().inv_cdf(0.5 + level / 2)
        found = {"median": centre, "mean": centre * np.exp(0.5 * scale**2) if log else centre}
        for side, sign, end in (("lower", -1, lower), ("upper", 1, upper)):  # one observation scatters on top
            apart = np.log(end / centre) if log else end - centre
            wide = sign * np.sqrt(np.maximum(sign * apart, 0.0) ** 2 + (q * scale) ** 2)
            found |= {side: end, f"observed_{side}": centre * np.exp(wide) if log else centre + wide}
    return found


def _law(fits: Fits, rows: NDArray[np.int64], points: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return the law and its slopes at the points of some fits, (B, p) and (k, B, p)."""
    law, natural = fits.law, fits.made.natural
    columns = {n: natural[n][rows][:, None] for n in law.parameters}
    if law.expression is not None:
        return law.value(columns, **points), law.jacobian(columns, **points)
    values, slopes = [], []
    for b in range(rows.size):  # the code of a plugin need not broadcast: one fit at a time
        own = {n: float(v[b, 0]) for n, v in columns.items()}
        there = {n: v[0 if len(v) == 1 else b] for n, v in points.items()}
        values.append(law.value(own, **there))
        slopes.append(law.jacobian(own, **there))
    return np.array(values), np.moveaxis(np.array(slopes), 0, 1)


def _decades(fits: Fits, rows: NDArray[np.int64], points: Mapping[str, Array]) -> Array:
    """Return how far points lie outside the data of each fit, in decades of the variable that is furthest out."""
    size = next(iter(points.values())).shape[1]
    far = np.zeros((rows.size, size))
    for name, (low, high) in fits.made.curves.ranges().items():
        low, high = low[rows, None], high[rows, None]
        with np.errstate(all="ignore"):
            beyond = np.maximum(np.log10(points[name] / high), np.log10(low / points[name]))
        beyond = np.where(np.isnan(beyond), np.inf, beyond)
        far = np.where(low > 0, np.fmax(far, beyond), far)
    return far
