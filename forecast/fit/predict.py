"""What fits say at given points: the law, its confidence band, and the band of one observation.

A fit whose parameters are not identified has no interval of its own. Along one variable the pool of laws has: it needs
no parameter to be identified, since every member says something of the places beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.base.lazy import is_masked_array, xr
from forecast.base.netcdf import quantiles
from forecast.errors import DataError, FitError, UncertaintyError, UnknownNameError, UsageError, first_names, printable
from forecast.fit.data.groups import group_codes
from forecast.fit.data.observations import points_of
from forecast.fit.data.residual_autocorrelation import error_inflation
from forecast.fit.diagnostics.stability import stability_tests
from forecast.fit.kernels.general import program_of
from forecast.fit.notes import of_optimum
from forecast.fit.options import check_level
from forecast.fit.pool.law_pool import FARTHEST_DECADES, MIN_CURVE_POINTS, TUNING, ceiling_of, forecast_curve, is_rising
from forecast.fit.sizes import TABLE_ELEMENTS
from forecast.fit.solutions import Solutions
from forecast.laws.requirements import unmet

if TYPE_CHECKING:
    from forecast.fit.fit import Fit, Fits
    from forecast.fit.inference.bootstrap import Replicates
    from forecast.laws import Law


#: A band of 90 % whose ends are further apart than this factor is warned of. Of what was tried on real curves this
#: alone told large errors from small ones (``tests/evaluation/test_curve_record.py``).
WARN_BAND_FACTOR = 2.0


@dataclass(frozen=True, eq=False)
class Curve:
    """The points of a fit along its one variable, rows of one place averaged in logarithms, and the places beyond.

    Parameters
    ----------
    x, y : ndarray
        (n,), x rising.
    places : ndarray
        (p,), where the law is asked for.
    ahead : ndarray of bool
        (p,): beyond the last x.
    """

    x: Array
    y: Array
    places: Array
    ahead: BoolArray

    def pooled(self, level: float) -> dict[str, Array]:
        """Return the bands of the pool of laws at the places ahead: of the law, and of an observation; maybe none."""
        to, which = np.unique(self.places[self.ahead], return_inverse=True)
        try:
            made = forecast_curve(self.x, self.y, to)
        except FitError:
            return {}
        bands: dict[str, Array] = {}
        for prefix, said in (("", made.without_noise()), ("observed_", made)):
            ends = np.exp([said.quantile(q)[which] for q in (0.5 - level / 2, 0.5 + level / 2)])
            bands |= {f"{prefix}lower": ends[0], f"{prefix}upper": ends[1]}
        return bands

    def end(self, level: float) -> tuple[str, float] | None:
        """Return the side on which a curve that never turned back ends, and where; None of one that did.

        It is the last value and the noise of a point, as `forecast.extrapolate` has it.
        """
        from scipy.special import stdtrit

        sign = -1.0 if is_rising(self.x, self.y) else 1.0
        last = ceiling_of(self.x, self.y, sign)
        if last is None:
            return None
        return ("upper" if sign > 0 else "lower"), float(
            np.exp(last[0] + sign * stdtrit(TUNING.freedom, 0.5 + level / 2) * last[1])
        )


def beyond(solutions: Solutions, row: int, places: Array) -> Curve | None:
    """Return the curve that a fit is carried beyond, at places (p,); None where it is not one, or no place is beyond.

    A curve has one variable, and enough positive points of which none is known to depend on another.
    """
    if not solutions.ordered or solutions.law.levels or solutions.curves.groups is not None:
        return None
    data = solutions.curves.one(row)
    (along,) = data.variables.values()
    used = data.weights > 0
    x, y = along[used], data.y[used]
    if not ((x > 0) & (y > 0) & np.isfinite(x) & np.isfinite(y)).all():
        return None
    distinct, which = np.unique(x, return_inverse=True)
    ahead = np.isfinite(places) & (places > distinct.max(initial=0.0))
    if distinct.size < MIN_CURVE_POINTS or not ahead.any():
        return None
    return Curve(distinct, np.exp(np.bincount(which, np.log(y)) / np.bincount(which)), places, ahead)


#: Predictions further than this from the data carry a warning, in decades; along a curve see `FARTHEST_DECADES`.
WARN_DECADES = 0.5
STATISTICS = ("median", "mean")
BANDS = ("lower", "upper", "observed_lower", "observed_upper")


def predict(
    fit: Fit | Fits, data: Any, *, level: float, statistic: str, variables: Mapping[str, Any], by: str | None = None
) -> xr.Dataset:
    """Return the law of a fit, or of all over the dimension `by`, with its bands; see `forecast.Fit.predict`."""
    _check_prediction_arguments(level, statistic, fit.name)
    if data is not None:
        variables = points_of(fit.law, data, variables, fit.name)
    if statistic == "mean" and fit.log and not by and fit.residual_scale is None:
        why = fit.uncertainty.flaw() if fit.uncertainty is not None else ""
        raise FitError(
            f"{fit.name}: no mean: {why or 'its scatter is not known'}; the law was fitted to logarithms, and gives "
            "the median"
        )
    points, dims, coords = _broadcast_points(fit, variables, by)
    shape = next(iter(points.values())).shape[1:]
    flat = {n: v.reshape(len(v), int(np.prod(shape, dtype=int))) for n, v in points.items()}
    attrs: dict[str, Any] = {"level": level, "fit": fit.name}
    origin: str | UncertaintyError = "" if by else band_origin(fit, level)  # type: ignore[arg-type]
    if isinstance(origin, UncertaintyError):
        attrs["no_interval"] = str(origin)
    columns, far, doubted = _prediction_columns(fit, flat, level, statistic, banded="no_interval" not in attrs)
    curves = _extrapolated_curves(fit, flat)
    curve, pooled = None, False
    if by:
        for row, each in curves.items():
            _cap_bands(each, columns, row, level)
    elif curves:
        curve = curves[0]
        pooled = _replace_curve_bands(curve, columns, level)
    if statistic == "mean":
        attrs["mean_by"] = _mean_by(fit)
    if by:
        found = _many_prediction_attributes(fit, columns, far)  # type: ignore[arg-type]
    else:
        if pooled:
            attrs.pop("no_interval", None)
            why = origin.reason if isinstance(origin, UncertaintyError) else "those of the fit are not finite"
            attrs["bands"] = f"the pool of laws that forecast.extrapolate uses ({why})"
        elif not isinstance(origin, UncertaintyError):
            attrs["bands"] = origin + _band_inflation(fit, doubted)  # type: ignore[arg-type]
        found = _prediction_attributes(fit, flat, columns, far, level, curve, pooled=pooled)  # type: ignore[arg-type]
    attrs |= found
    lead = (by,) if by else ()
    arrays = {
        name: xr.DataArray(v.reshape((*v.shape[:1] * len(lead), *shape)), dims=(*lead, *dims),
                           attrs={"unit": fit.law.unit})
        for name, v in columns.items()
    }  # fmt: skip
    if by:
        coords = {**coords, by: fit.labels}  # type: ignore[union-attr]
    return xr.Dataset(arrays, coords=coords, attrs=attrs)


def _prediction_columns(
    fit: Fit | Fits, points: Mapping[str, Array], level: float, statistic: str, *, banded: bool
) -> tuple[dict[str, Array], Array, bool]:
    """Return the columns of a prediction, how far the points lie outside the data, (B, p), and whether the form of
    the law is doubted there; nan of fits that failed.
    """
    made, values = fit.solutions, {n: np.atleast_1d(v) for n, v in fit.values.items()}
    count, size = next(iter(values.values())).size, next(iter(points.values())).shape[1]
    names = ["median", *(BANDS if banded else ()), *(["mean"] * (statistic == "mean"))]
    columns = {name: np.full((count, size), np.nan) for name in names}
    far, doubted = np.zeros((count, size)), False
    good = np.arange(count) if made is None else np.flatnonzero(made.settled)
    ranges = {} if made is None else made.ranges
    step = max(1, TABLE_ELEMENTS // max(size * (len(fit.law.parameters) + 6), 1))
    for first in range(0, good.size, step):
        rows = good[first : first + step]
        part = {n: v if len(v) == 1 else v[rows] for n, v in points.items()}
        parameters = {n: v[rows] for n, v in values.items()}
        _check_meaning(fit, parameters, part)
        centre = columns["median"][rows] = _law_values(fit.law, parameters, part)
        if statistic == "mean":
            columns["mean"][rows] = _observation_mean(fit, rows, centre)
        if banded:
            assert made is not None
            bands, doubt = _prediction_bands(made, rows, part, centre, level)
            doubted |= doubt
            for name, band in bands.items():
                columns[name][rows] = band
        far[rows] = _decades_outside({n: (low[rows], high[rows]) for n, (low, high) in ranges.items()}, part)
    return columns, far, doubted


def _extrapolated_curves(fit: Fit | Fits, points: Mapping[str, Array]) -> dict[int, Curve]:
    """Return the curves that fits are carried beyond, by row; none of what is no curve."""
    made = fit.solutions
    if made is None or not made.ordered:
        return {}
    (places,) = points.values()
    rows = np.flatnonzero(made.settled).tolist() if made.settled.size > 1 else [0]
    found = {row: beyond(made, row, places[row if len(places) > 1 else 0]) for row in rows}
    return {row: curve for row, curve in found.items() if curve is not None}


def _replace_curve_bands(curve: Curve, columns: dict[str, Array], level: float) -> bool:
    """Give a curve bands that end where its past says, in place; return whether they are those of the pool of laws.

    They are where the fit has none at some place ahead, and hold what it says there.
    """
    centre = columns["median"][0]
    ahead = curve.ahead & np.isfinite(centre)
    if "upper" in columns and all(np.isfinite(columns[name][0, ahead]).all() for name in BANDS):
        _cap_bands(curve, columns, 0, level)
        return False
    bands = curve.pooled(level) if ahead.any() else {}
    for name, band in bands.items():
        hold = np.minimum if name.endswith("lower") else np.maximum
        there = hold(band, centre[curve.ahead])[ahead[curve.ahead]]
        columns.setdefault(name, np.full((1, centre.size), np.nan))[0, ahead] = there
    return bool(bands)


def _cap_bands(curve: Curve, columns: dict[str, Array], row: int, level: float) -> None:
    """End bands where a curve that never turned back ends, in place, beyond what the law says itself."""
    if "upper" not in columns or (end := curve.end(level)) is None:
        return
    side, value = end
    cut, hold = (np.minimum, np.maximum) if side == "upper" else (np.maximum, np.minimum)
    for name in (side, f"observed_{side}"):
        band, centre = columns[name][row], columns["median"][row]
        band[curve.ahead] = cut(band, hold(value, centre))[curve.ahead]


def _prediction_attributes(
    fit: Fit, points: Mapping[str, Array], columns: Mapping[str, Array], far: Array, level: float,
    curve: Curve | None, *, pooled: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return what a reader of a prediction must know of one fit, naming the points."""
    attrs: dict[str, Any] = {}
    notes, centre = list(fit.notes), columns["median"]
    if curve is not None:
        notes = _curve_warnings(fit, curve, columns, level, pooled=pooled)
    elif fit.uncertainty is not None:  # what the band holds is no warning: it says so itself
        notes = list(dict.fromkeys([*notes, *fit.diagnostics.warnings(fit.name, predicting=True)]))
    if fit.ranges and (np.isfinite(centre).any() or not centre.size):
        reach = float(np.max(far[np.isfinite(centre)], initial=0.0))
        attrs["extrapolation_decades"] = reach
        if reach > (WARN_DECADES if curve is None else FARTHEST_DECADES):
            where = f"{reach:.1f} decades outside its data" if np.isfinite(reach) else "at 0 or below, outside its data"
            other = "; forecast.extrapolate pools several laws" if len(fit.law.variables) == 1 else ""
            notes.append(f"{fit.name}: predicts {where}{other}")
    lost = ~np.isfinite(centre)
    if lost.any():
        attrs["lost"] = _missing_value_reason(fit, points, lost)
        why = f": {attrs['lost']}" if attrs["lost"] else ""
        notes.append(f"{fit.name}: {int(lost.sum())} of {centre.size} points cannot be computed{_which(lost)}{why}")
    unknown = np.zeros_like(lost) if "lower" not in columns else ~lost & ~np.isfinite(columns["upper"])
    if unknown.any():
        notes.append(f"{fit.name}: {int(unknown.sum())} of {centre.size} points have no interval{_which(unknown)}")
    return {**attrs, "warnings": "\n".join(notes)}


def _curve_warnings(fit: Fit, curve: Curve, columns: Mapping[str, Array], level: float, *, pooled: bool) -> list[str]:
    """Return what a reader of a prediction beyond a curve must know: what told large errors from small on real ones.

    What parameters are known by says nothing of a place ahead: its band holds it. That no two starts agree is no doubt
    of a band that comes from the pool.
    """
    assert fit.solutions is not None
    notes = [*([] if pooled else of_optimum(fit.solutions)), *fit.remarks]
    if "observed_upper" in columns:
        low, high = (columns[f"observed_{side}"][0, curve.ahead] for side in ("lower", "upper"))
        with np.errstate(all="ignore"):
            wide = np.nan_to_num(np.log(high / np.where(low > 0, low, 0.0)), posinf=np.inf)
        wide = wide * NormalDist().inv_cdf(0.95) / NormalDist().inv_cdf(0.5 + level / 2)
        if (wide > np.log(WARN_BAND_FACTOR)).any():
            times = float(np.exp(np.max(wide)))
            far = f"a factor of {times:.2g} apart" if np.isfinite(times) else "at 0 and above"
            notes.append(f"{fit.name}: the ends of the 90 % band of an observation are {far}: little is known there")
    return notes


def _many_prediction_attributes(fits: Fits, columns: Mapping[str, Array], far: Array) -> dict[str, Any]:
    """Return the same of many fits, counting them."""
    good, count = np.flatnonzero(fits.solutions.settled), len(fits)
    lost = ~np.isfinite(columns["median"][good])
    unknown = ~lost & ~np.isfinite(columns["upper"][good])
    reach = float(np.max(far[good][~lost], initial=0.0))
    notes = [*fits.warnings]
    if reach > WARN_DECADES:
        beyond = int((far > WARN_DECADES).any(axis=1).sum())
        notes.append(
            f"{fits.name}: {beyond} of {count} fits predict more than {WARN_DECADES:g} decades outside their data"
        )
    if lost.any():
        notes.append(f"{fits.name}: {int(lost.sum())} of {lost.size} points cannot be computed")
    if unknown.any():
        notes.append(f"{fits.name}: {int(unknown.any(axis=1).sum())} of {count} fits have no interval")
    return {"extrapolation_decades": reach, "warnings": "\n".join(notes)}


def _check_prediction_arguments(level: float, statistic: str, name: str) -> None:
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


def _missing_value_reason(fit: Fit, values: Mapping[str, Array], lost: BoolArray) -> str:
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


def _which(marked: BoolArray) -> str:
    """Name the first points that are marked; nothing where there is only one point."""
    if marked.size == 1:
        return ""
    places = np.flatnonzero(marked) + 1
    return f" (number {first_names(places)}, counted from 1)"


def _observation_mean(fit: Fit | Fits, rows: IntArray, centre: Array) -> Array:
    """Return the mean of an observation, (B, p): under a log objective above the median."""
    if fit.solutions is None or not fit.log:
        return centre
    scale = np.nan_to_num(fit.solutions.residual_scale[rows])
    return np.asarray(centre * np.exp(0.5 * scale[:, None] ** 2))


def _mean_by(fit: Fit | Fits) -> str:
    """Say how the mean of an observation follows from the median."""
    if not fit.log:
        return "the scatter is taken as symmetric: the mean is the median"
    assert fit.solutions is not None
    scale = fit.solutions.residual_scale
    said = f"s = {scale[0]:.6g}" if scale.size == 1 else "s the residual_scale of each fit"
    return f"lognormal scatter: the median times exp(s**2/2), {said}"


def band_origin(fit: Fit, level: float) -> str | UncertaintyError:
    """Return what the bands come from: the replicates of the bootstrap if there are enough of them.

    Without bands, returns the error that says why.
    """
    repeated, made = fit.replicates, fit.solutions
    if repeated is not None and made is not None and made.enough_replicates(level)[0]:
        return f"percentiles of {repeated.good.shape[1]} bootstrap replicates ({repeated.resample})"
    try:
        known = fit._known("interval")
    except UncertaintyError as error:
        return error
    origin = "standard errors of the parameters"
    if known.clusters:
        origin = f"cluster-robust standard errors over {known.clusters} groups"
    if repeated is None or known.exact[0]:
        return origin
    return f"{origin} ({repeated.good.shape[1]} replicates are too few for {level:g})"


def _band_inflation(fit: Fit, doubted: bool) -> str:
    """Tell what makes the bands wider than their origin does."""
    assert fit.solutions is not None
    rho = float(fit.solutions.correlation[0])
    apart = f", times {float(error_inflation(np.array(rho))):.2g}: residuals follow each other" if rho > 0 else ""
    return apart + (", and by how far the last points turn away from the law" if doubted else "")


def _prediction_bands(
    solutions: Solutions, rows: IntArray, points: Mapping[str, Array], centre: Array, level: float
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
    log, known = solutions.objective.log, solutions.known
    q = known.quantile(0.5 + level / 2)[rows, None]
    with np.errstate(all="ignore"):
        apart = error_inflation(solutions.correlation[rows])[:, None]
        width = apart * _law_standard_errors(solutions, rows, points, centre)
        lower, upper = (centre * np.exp(s * width) if log else centre + s * width for s in (-q, q))
        for j in np.flatnonzero(solutions.enough_replicates(level)[rows]):
            repeated = solutions.replicates[rows[j]]
            assert repeated is not None
            fitted = {n: float(v[rows[j]]) for n, v in solutions.values.items()}
            there = {n: v[0 if len(v) == 1 else j] for n, v in points.items()}
            ends = replicate_percentiles(solutions.law, fitted, repeated, there, level)
            lower[j], upper[j] = (_stretch_endpoint(end, centre[j], float(apart[j, 0]), log) for end in ends)
            q[j] = NormalDist().inv_cdf(0.5 + level / 2)
        doubt = stability_tests(solutions, rows, points, lambda some, there: _law_slopes(solutions, some, there))
        if doubt.any():
            lower, upper = (_and(end, centre, q * doubt, sign, log) for end, sign in ((lower, -1), (upper, 1)))
        bands = {"lower": lower, "upper": upper}
        scatter = q * np.nan_to_num(solutions.residual_scale[rows, None])
        for side, sign in (("lower", -1), ("upper", 1)):  # the scatter of one observation comes on top
            bands[f"observed_{side}"] = _and(bands[side], centre, scatter, sign, log)
    return bands, bool(doubt.any())


def _and(end: Array, centre: Array, more: Array, sign: int, log: bool) -> Array:
    """Return an end of an interval with more beside what made it, both as distances from the centre."""
    far = np.log(end / centre) if log else end - centre
    wide = sign * np.sqrt(np.maximum(sign * far, 0.0) ** 2 + more**2)
    return np.asarray(centre * np.exp(wide) if log else centre + wide)


def _stretch_endpoint(end: Array, centre: Array, times: float, log: bool) -> Array:
    """Return an end of an interval so many times as far from the centre."""
    if times == 1.0:
        return end
    return centre * (end / centre) ** times if log else centre + times * (end - centre)


def _law_values(law: Law, parameters: Mapping[str, Array], points: Mapping[str, Array]) -> Array:
    """Return the law at points, (B, p)."""
    return _evaluate_at_points(law, parameters, points, lambda own, there: law.value(own, **there))


def _evaluate_at_points(
    law: Law, parameters: Mapping[str, Array], points: Mapping[str, Array], of: Callable[[Any, Any], Any]
) -> Array:
    """Evaluate `of` for a law at parameters (B,) and points, (1, p) or (B, p); the last two axes are (B, p)."""
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


def replicate_percentiles(
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


def _law_standard_errors(solutions: Solutions, rows: IntArray, points: Mapping[str, Array], centre: Array) -> Array:
    """Return the standard error of the law at points, (B, p), of its logarithm under a log objective."""
    known = solutions.known
    slopes = _law_slopes(solutions, rows, points, centre) * known.factors[:, rows, None]
    sure = np.asarray(known.known[:, rows].all(axis=0))
    covariance = np.where(sure[:, None, None], known.covariance[rows], np.nan)
    return np.asarray(np.sqrt(np.einsum("ibp,bij,jbp->bp", slopes, covariance, slopes)))


def _law_slopes(
    solutions: Solutions, rows: IntArray, points: Mapping[str, Array], centre: Array | None = None
) -> Array:
    """Return the derivatives of the law by its free parameters, (k, B, p); of its logarithm under a log objective."""
    law = solutions.law
    parameters = {n: v[rows] for n, v in solutions.values.items()}
    slopes = _evaluate_at_points(law, parameters, points, lambda own, there: law.jacobian(own, **there))
    slopes = slopes[[law.parameters.index(n) for n in solutions.known.names]]
    if not solutions.objective.log:
        return np.asarray(slopes)
    return np.asarray(slopes / (_law_values(law, parameters, points) if centre is None else centre))


def extrapolation(fit: Fit | Fits, variables: Mapping[str, Any]) -> Array:
    """Return how far points lie outside the data, in decades of the variable that is furthest out.

    Of many fits the first axis is theirs.
    """
    values = broadcast(fit, variables)
    shape = next(iter(values.values())).shape
    ranges = {n: (np.atleast_1d(low), np.atleast_1d(high)) for n, (low, high) in fit.ranges.items()}
    far = _decades_outside(ranges, {n: v.reshape(1, -1) for n, v in values.items()})
    return far.reshape(far.shape[:1] + shape)


def _decades_outside(ranges: Mapping[str, tuple[Array, Array]], points: Mapping[str, Array]) -> Array:
    """Return how far points lie outside the data of each fit, (B, p)."""
    far = np.zeros((1, next(iter(points.values())).shape[1]))
    for name, (low, high) in ranges.items():
        low, high = low[:, None], high[:, None]
        with np.errstate(all="ignore"):
            beyond = np.maximum(np.log10(points[name] / high), np.log10(low / points[name]))
        beyond = np.where(np.isnan(beyond), np.inf, beyond)
        far = np.where(low > 0, np.fmax(far, beyond), far)
    return far


def _broadcast_points(
    fit: Fit | Fits, variables: Mapping[str, Any], by: str | None
) -> tuple[dict[str, Array], tuple[str, ...], dict[str, Any]]:
    """Return the variables, (1, ...) where all fits share the points, else (B, ...); their dimensions and labels."""
    labelled = {n: v for n, v in variables.items() if isinstance(v, xr.DataArray)}
    for name, column in labelled.items():
        if by is not None and by in column.dims and by in column.coords:
            try:
                variables = {**variables, name: column.sel({by: fit.labels})}  # type: ignore[union-attr]
            except KeyError:
                raise DataError(f"{fit.name}: {name}: lacks some labels of '{by}'") from None
    values = broadcast(fit, variables)
    shape = next(iter(values.values())).shape
    together = {n: v[None] for n, v in values.items()}
    if not labelled:
        dims = ("point",) if len(shape) == 1 else tuple(f"point_{i}" for i in range(len(shape)))
        units, levels = fit.law.variables, fit.law.levels
        shown = {n: np.array(levels[n])[v.astype(int)] if n in levels else v for n, v in values.items()}
        return together, dims, {n: xr.DataArray(v, dims=dims, attrs={"unit": units[n]}) for n, v in shown.items()}
    whole = xr.broadcast(*(variables[n] for n in labelled))[0]
    dims = tuple(str(d) for d in whole.dims)
    coords = {str(k): v for k, v in whole.coords.items() if k not in (*fit.law.variables, by)}
    if by is None or by not in dims:
        return together, dims, coords
    place, count = dims.index(by), len(fit.labels)  # type: ignore[union-attr]
    if shape[place] != count:
        raise DataError(f"{fit.name}: '{by}': expected {count} labels, got {shape[place]}")
    moved = {n: np.moveaxis(v, place, 0) for n, v in values.items()}
    return moved, tuple(d for d in dims if d != by), coords


def broadcast(fit: Fit | Fits, variables: Mapping[str, Any]) -> dict[str, Array]:
    """Return a value of every variable, all of one shape."""
    for name in variables:
        if name not in fit.law.variables:
            raise UnknownNameError("variable", name, fit.law.variables, where=fit.name)
    missing = [name for name in fit.law.variables if name not in variables]
    if missing:
        raise UsageError(f"{fit.name}: no value for the variable '{missing[0]}'")
    given = [group_codes(fit.law, name, variables[name], fit.name) for name in fit.law.variables]
    if any(isinstance(v, xr.DataArray) for v in given):
        given = list(xr.broadcast(*(xr.DataArray(v) if np.ndim(v) == 0 else v for v in given)))
    try:
        plain = [_real_numbers(v) for v in given]
        arrays = np.broadcast_arrays(*plain)
    except (TypeError, ValueError):
        raise DataError(f"{fit.name}: {', '.join(fit.law.variables)}: expected numbers that broadcast") from None
    return dict(zip(fit.law.variables, arrays, strict=True))


def _real_numbers(values: Any) -> Array:
    """Return numbers as float64, masked ones as NaN; complex numbers and text are a TypeError."""
    if is_masked_array(values):
        return np.asarray(np.ma.filled(values.astype(float), np.nan))
    array = np.asarray(values)
    if array.dtype.kind not in "biufO" or any(isinstance(v, str) for v in array.ravel() if array.dtype.kind == "O"):
        raise TypeError
    return array.astype(float)
