"""Thousands of data sets fitted at once: ``law.fit(curves, over="curve")``.

Curves of different lengths are padded with points of weight 0. A curve that cannot be fitted is marked, with the
reason, and raises nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from forecast.errors import UnknownNameError, printable
from forecast.fit import newton
from forecast.fit.coarse import coarse
from forecast.fit.newton import Target
from forecast.fit.objective import HUBER_FACTOR, Objective
from forecast.fit.padded import Padded, pad
from forecast.fit.prepare import coordinates
from forecast.fit.request import Request
from forecast.fit.solver import kernel_for
from forecast.fit.steps import factored

if TYPE_CHECKING:
    from forecast.fit.newton import Solved
    from forecast.laws import Law

__all__ = ["Fits", "fit_over"]

Array: TypeAlias = NDArray[np.float64]

#: A standard error of a logarithm above this is no knowledge.
VAGUE = 5.0
#: Stop when a step lowers an objective by less than this share.
TOLERANCE, BLIND = 1e-12, 3e-10
#: Iterations in which most curves arrive; the others go on by themselves.
SOON = 12
#: Starts of the curves that the first did not lead to an optimum.
AGAIN = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class Fits:
    """One fit for each value of a dimension.

    Attributes
    ----------
    law : forecast.Law
    over : str
        The dimension.
    params, stderr : xarray.Dataset
        One variable a parameter, over the dimension; nan where a fit failed; a standard error is inf where not known.
    objective, converged, n, verdict : xarray.DataArray
        The plain value, whether it is an optimum, the number of points, and the judgement in words.
    objective_name : str
    warnings : tuple of str
    """

    law: Law
    over: str
    params: xr.Dataset
    stderr: xr.Dataset
    objective: xr.DataArray
    converged: xr.DataArray
    n: xr.DataArray
    verdict: xr.DataArray
    objective_name: str
    warnings: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.converged.size)

    def interval(self, name: str, level: float = 0.95) -> xr.Dataset:
        """Return Wald intervals of a parameter, ``lower`` and ``upper`` over the dimension; nan where not known."""
        from scipy import stats

        if name not in self.params:
            raise UnknownNameError("parameter", name, [str(p) for p in self.params], where="interval")
        value, error = self.params[name], self.stderr[name].where(np.isfinite(self.stderr[name]))
        half = stats.t.ppf(0.5 + level / 2, np.maximum(self.n - len(self.params), 1)) * error
        low, _ = self.law.bounds[name]
        if low >= 0:
            with np.errstate(all="ignore"):
                factor = np.exp(half / value)
            return xr.Dataset({"lower": value / factor, "upper": value * factor})
        return xr.Dataset({"lower": value - half, "upper": value + half})

    def predict(self, **variables: Any) -> xr.DataArray:
        """Return the law of every fit at points; they come after the dimension of the fits."""
        points = {name: np.asarray(value, dtype=float) for name, value in variables.items()}
        rank = max((p.ndim for p in points.values()), default=0)
        columns = {n: np.reshape(self.params[n].values, (-1,) + (1,) * rank) for n in self.law.parameters}
        found = self.law.value(columns, **points)
        dims = [self.over, *(f"point_{i}" for i in range(rank))] if rank != 1 else [self.over, "point"]
        return xr.DataArray(found, dims=dims, coords={self.over: self.params[self.over]}, attrs={"unit": self.law.unit})

    def summary(self) -> str:
        """Return the fits in a few lines: how many converged, and the middle of each parameter."""
        good = int(self.converged.sum())
        lines = [f"{len(self)} fits over '{self.over}', {good} converged ({self.objective_name})"]
        for name, values in self.params.items():
            some = values.values[self.converged.values]
            if some.size:
                low, middle, high = np.quantile(some, [0.05, 0.5, 0.95])
                lines.append(f"{name}: median {middle:.6g}, 90% of the fits in [{low:.6g}, {high:.6g}]")
        reasons, counts = np.unique(self.verdict.values[~self.converged.values], return_counts=True)
        lines += [f"{count} fits: {reason}" for reason, count in zip(reasons, counts, strict=True)]
        return "\n".join([*lines, *(f"warning: {w}" for w in self.warnings)])


def fit_over(
    law: Law, data: Any, request: Request, *, objective: Objective, options: Mapping[str, Any], name: str
) -> Fits:
    """Fit a law to every curve of a data set; the function behind ``law.fit(..., over=)``.

    Parameters
    ----------
    data : xarray.Dataset, or long columns
        A Dataset with the dimension ``request.over`` (nan pads curves of different lengths), or any table with a
        column of that name.
    request : Request
    objective, options, name
        As read from the request.
    """
    over, sigma = str(request.over), request.sigma
    where = coordinates(law, name)
    seen = pad(law, data, over, request, objective=objective, name=name)
    count, k = seen.weights.shape[0], len(where.free)
    n = (seen.weights > 0).sum(axis=1)
    reasons = np.array(seen.reasons, dtype=object)
    reasons[(reasons == "") & (n < k)] = f"not fitted: fewer than {k} points"
    usable = np.flatnonzero(reasons == "")
    found = np.full((k, count), np.nan)
    errors, value = np.full((k, count), np.nan), np.full(count, np.nan)
    settled = np.zeros(count, dtype=bool)
    if usable.size:
        part = seen.take(usable)
        kernel = kernel_for(law, part.variables, where.free, where.logs, where.fixed, objective.log)
        options = {o: v for o, v in options.items() if v is not None}
        same = bool((part.weights == part.weights[0]).all())
        weight = part.weights[0] if same else part.weights
        target = Target(kernel=kernel, objective=objective, y=part.linked, weights=weight, options=options)
        ask = (where.lower, where.upper, where.logs)
        starts = coarse(law, part, where, objective.log, AGAIN)
        target, solved = _solved(target, starts, ask)
        with np.errstate(all="ignore"):
            factors = np.where(where.logs[:, None], np.exp(np.where(where.logs[:, None], solved.q, 0.0)), solved.q)
            natural = np.where(where.logs[:, None], factors, solved.q)
        good = solved.settled
        settled[usable] = good
        found[:, usable] = np.where(good, natural, np.nan)
        delta = target.options.get("delta")
        stated = objective.stated(solved.value, part.weights.sum(axis=1), None if delta is None else np.ravel(delta))
        value[usable] = np.where(good, stated, np.nan)
        error = _errors(target, solved, n[usable] - k, sigma is not None)
        with np.errstate(all="ignore"):
            vague = ~np.isfinite(error) | (where.logs[:, None] & (error > VAGUE))
            error = np.where(vague, np.inf, error * np.where(where.logs[:, None], natural, 1.0))
        errors[:, usable] = np.where(good, error, np.nan)
        reasons[usable] = np.where(
            good, np.where(vague.any(axis=0), _vague(where.free, vague), "converged"), "not converged"
        )
    return _made(law, over, seen, objective, where, found, errors, value, settled, n, reasons, name)


def _solved(target: Target, starts: Array, ask: tuple[Array, Array, NDArray[np.bool_]]) -> tuple[Target, Solved]:
    """Solve every curve from its best start, and those that did not arrive from the next ones."""
    if target.objective.loss in ("huber", "quantile") and not {"delta", "width"} & set(target.options):
        squares = replace(target, objective=Objective("squares", log=target.objective.log), options={})
        _, first = _solved(squares, starts, ask)
        return _scaled(target, first.q, ask)
    solved = newton.solve(target, starts[0], *ask, iterations=SOON, tolerance=TOLERANCE, blind=BLIND)
    for start in (solved.q.copy(), *starts[1:]):
        left = np.flatnonzero(~solved.settled)
        if not left.size:
            break
        gauss = np.full(left.size, target.objective.scale == "residual")
        again = newton.solve(target.take(left), start[:, left], *ask, gauss=gauss, tolerance=TOLERANCE, blind=BLIND)
        with np.errstate(invalid="ignore"):
            better = again.settled | (again.value < solved.value[left])
        for name in ("q", "value", "settled", "active", "iterations", "hessian"):
            getattr(solved, name)[..., left[better]] = getattr(again, name)[..., better]
    return target, solved


def _scaled(target: Target, q: Array, ask: tuple[Array, Array, NDArray[np.bool_]]) -> tuple[Target, Solved]:
    """Set each curve's threshold by iterating between it and the fit."""
    k, before = q.shape[0], None
    weights = np.broadcast_to(target.weights, (q.shape[1], target.y.shape[-1]))
    n = (weights > 0).sum(axis=1)
    quantile = target.objective.loss == "quantile"
    for _ in range(1 if quantile else 20):
        apart = np.where(weights > 0, np.abs(target.kernel.at(q).f - target.y), np.nan)
        scale = np.nanmedian(apart, axis=1) / 0.6744897501960817 * np.sqrt(n / np.maximum(n - k, 1))
        if quantile:
            width = np.maximum(((k + np.log(n)) / n) ** 0.4, 0.05) * np.maximum(scale, 1e-12)
            target = replace(target, options={**target.options, "width": width[:, None]})
        else:
            target = replace(target, options={"delta": np.maximum(HUBER_FACTOR * scale, 1e-12)[:, None]})
        solved = newton.solve(target, q, *ask, tolerance=TOLERANCE, blind=BLIND)
        q = np.where(np.isfinite(solved.value), solved.q, q)
        if before is not None and np.all(np.abs(scale - before) <= 1e-6 * scale):
            break
        before = scale
    return target, solved


def _errors(target: Target, solved: Solved, dof: NDArray[np.int64], known: bool) -> Array:
    """Return standard errors in the solver's coordinates, (k, B), by the rules of a single fit."""
    k, count = solved.q.shape
    errors = np.empty((k, count))
    step = max(256, newton.CELLS // target.y.shape[-1])
    for first in range(0, count, step):
        rows = slice(first, min(first + step, count))
        part = target.take(rows)
        state = part.kernel.at(solved.q[:, rows])
        with np.errstate(all="ignore"):
            zero = np.zeros_like(state.f)
            free = np.maximum(dof[rows], 0) / 1.0
            if part.objective.scale == "residual":
                weights = np.broadcast_to(part.weights, zero.shape)
                bread = part.kernel.contract(state, zero, weights)[1]
                spread = 1.0 if known else solved.value[rows] / free
                errors[:, rows] = np.sqrt(spread * _diagonal(bread, bread, None))
                continue
            _, score, _ = part.objective.pointwise(state.f, part.y, part.options)
            bread, meat = solved.hessian[:, :, rows], None
            if part.objective.scale == "sandwich":
                meat = part.kernel.contract(state, zero, (score * part.weights) ** 2)[1]
                meat = meat * ((free + k) / free)
            errors[:, rows] = np.sqrt(_diagonal(bread, bread, meat))
    return errors


def _diagonal(bread: Array, scale: Array, meat: Array | None) -> Array:
    """Return the diagonal of the inverse, or of inverse * meat * inverse, (k, B); nan where it is not positive."""
    k, count = bread.shape[0], bread.shape[2]
    size = np.abs(bread[range(k), range(k)])
    size = np.where(size > 0, size, 1.0)
    found = np.empty((k, count))
    for a in range(k):
        unit = np.zeros((k, count))
        unit[a] = -1.0
        column, bad = factored(bread, unit, 1e-300 * size, size)
        found[a] = column[a] if meat is None else np.einsum("ib,ijb,jb->b", column, meat, column)
        found[a, bad] = np.nan
    return found


def _vague(free: tuple[str, ...], vague: NDArray[np.bool_]) -> NDArray[Any]:
    texts = np.array([""] * vague.shape[1], dtype=object)
    for column in np.flatnonzero(vague.any(axis=0)):
        texts[column] = "converged; not identified: " + ", ".join(np.array(free)[vague[:, column]])
    return texts


def _made(
    law: Law,
    over: str,
    seen: Padded,
    objective: Objective,
    where: Any,
    found: Array,
    errors: Array,
    value: Array,
    settled: NDArray[np.bool_],
    n: NDArray[np.int64],
    reasons: NDArray[Any],
    name: str,
) -> Fits:
    coords = {over: seen.labels}

    def along(column: Any) -> xr.DataArray:
        return xr.DataArray(column, dims=(over,), coords=coords)

    fixed = {p: np.full(settled.size, v) for p, v in where.fixed.items()}
    values = {**fixed, **dict(zip(where.free, found, strict=True))}
    spread = {**{p: np.zeros(settled.size) for p in fixed}, **dict(zip(where.free, errors, strict=True))}
    notes = []
    if not settled.all():
        first = str(seen.labels[int(np.flatnonzero(~settled)[0])])
        lost = int((~settled).sum())
        notes.append(f"{name}: {lost} of {settled.size} fits failed, the first is {over} {printable(first, 40)}")
    return Fits(
        law=law,
        over=over,
        params=xr.Dataset({p: ((over,), values[p]) for p in law.parameters}, coords=coords),
        stderr=xr.Dataset({p: ((over,), spread[p]) for p in law.parameters}, coords=coords),
        objective=along(value),
        converged=along(settled),
        n=along(n),
        verdict=along(reasons.astype(str)),
        objective_name=objective.name,
        warnings=tuple(notes),
    )
