"""Many data sets as arrays of one shape: curves beside each other, padded with points of weight 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from forecast import formula
from forecast.errors import DataError, EmptyDataError, UnknownNameError, UsageError, printable
from forecast.fit.objective import Objective
from forecast.fit.request import Request

if TYPE_CHECKING:
    from forecast.laws import Law

__all__ = ["Padded", "pad"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Padded:
    """What a batch of fits sees.

    Parameters
    ----------
    variables : mapping of str to ndarray
        (n,) where all curves share the points, else (B, n).
    y, linked, weights : ndarray
        (B, n); `linked` is y in the objective's link.
    labels : ndarray
        Of the curves.
    reasons : tuple of str
        Why a curve cannot be fitted; empty where it can.
    """

    variables: Mapping[str, Array]
    y: Array
    linked: Array
    weights: Array
    labels: NDArray[Any]
    reasons: tuple[str, ...]

    def take(self, rows: NDArray[np.int64]) -> Padded:
        """Return some of the curves."""
        if rows.size == len(self.reasons):
            return self
        return Padded(
            variables={n: v if v.ndim == 1 else v[rows] for n, v in self.variables.items()},
            y=self.y[rows],
            linked=self.linked[rows],
            weights=self.weights[rows],
            labels=self.labels[rows],
            reasons=tuple(self.reasons[i] for i in rows),
        )


class _Grid:
    """The columns of a Dataset that has the dimension, each (n,) or (B, n)."""

    def __init__(self, data: xr.Dataset, over: str, name: str) -> None:
        others = [str(d) for d in data.dims if str(d) != over]
        if len(others) > 1:
            raise DataError(f"{name}: over='{over}': expected one other dimension, got {', '.join(others)}")
        self.labels = np.asarray(data[over].values if over in data.coords else np.arange(data.sizes[over]))
        self.shape = (data.sizes[over], data.sizes[others[0]] if others else 1)
        self.columns: dict[str, Array] = {}
        for key, column in data.variables.items():
            if np.issubdtype(column.dtype, np.number) or column.dtype == bool:
                values = np.asarray(column.transpose(*(d for d in (over, *others) if d in column.dims)).values, float)
                if column.dims == (over,):
                    values = values[:, None]
                self.columns[str(key)] = values
        self.given = np.ones(self.shape, dtype=bool)


class _Long:
    """The columns of a long table, dealt out to the curves they belong to."""

    def __init__(self, data: Any, over: str, name: str) -> None:
        from forecast import tables

        columns = tables.columns(data, where=name)
        if over not in columns:
            raise UnknownNameError("column", over, columns, where=f"{name}: over")
        self.labels, group = np.unique(np.asarray(columns[over]), return_inverse=True)
        group = np.ravel(group)
        sizes = np.bincount(group, minlength=self.labels.size)
        order = np.argsort(group, kind="stable")
        place = np.empty(group.size, dtype=np.int64)
        place[order] = np.arange(group.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.shape = (self.labels.size, int(sizes.max(initial=0)))
        self.given = np.zeros(self.shape, dtype=bool)
        self.given[group, place] = True
        self.columns = {}
        for key, column in columns.items():
            if key != over and np.issubdtype(np.asarray(column).dtype, np.number):
                values = np.ones(self.shape)
                values[group, place] = column
                self.columns[key] = values


def pad(
    law: Law,
    data: Any,
    over: str,
    request: Request,
    *,
    objective: Objective,
    name: str,
) -> Padded:
    """Return the curves of a data set side by side.

    Raises
    ------
    DataError, EmptyDataError, UnknownNameError, UsageError
        For what is wrong with all curves; what is wrong with one is its reason.
    """
    if objective.loss == "binomial":
        raise UsageError(f"{name}: over= does not take trials yet: fit one at a time")
    y, weights, sigma = request.y, request.weights, request.sigma
    wide = isinstance(data, xr.Dataset) and over in data.dims and len(data.dims) > 1
    source = _Grid(data, over, name) if wide else _Long(data, over, name)
    if 0 in source.shape:
        raise EmptyDataError(f"{name}: no rows to fit")

    def column(text: Any, where: str) -> Array:
        if not isinstance(text, str):
            raise UsageError(f"{where}: expected a column or a formula, got {type(text).__name__}")
        if text in source.columns:
            return source.columns[text]
        parsed = formula.parse(text, where=where)
        for used in parsed.names:
            if used not in source.columns:
                raise UnknownNameError("column", used, source.columns, where=where)
        return np.asarray(parsed.evaluate({n: source.columns[n] for n in parsed.names}), dtype=float)

    asked = dict(request.let or {})
    for key in asked:
        if key not in law.variables:
            raise UnknownNameError("variable", key, law.variables, where=f"{name}: let")
    variables = {v: column(asked.get(v, v), f"{name}: variable '{v}'") for v in law.variables}
    observed = np.broadcast_to(column(y if y is not None else law.output, f"{name}: y"), source.shape)
    if weights is not None and sigma is not None:
        raise UsageError(f"{name}: give weights or sigma, not both")
    weight = np.ones(1) if weights is None else column(weights, f"{name}: weights")
    if sigma is not None:
        with np.errstate(all="ignore"):
            errors = column(sigma, f"{name}: sigma")
            weight = np.where(errors > 0, 1 / errors**2, np.nan)
    weight = np.broadcast_to(weight, source.shape)
    return _checked(source, variables, observed, weight, objective)


def _checked(
    source: _Grid | _Long, variables: dict[str, Array], y: Array, weight: Array, objective: Objective
) -> Padded:
    """Give padding the weight 0, and every curve that cannot be fitted its reason."""
    # in a grid, missing observations are how curves of different lengths are written; in a table they are missing
    absent = np.isnan(y) if isinstance(source, _Grid) else ~source.given
    reasons = np.full(source.shape[0], "", dtype=object)

    def refuse(bad: NDArray[np.bool_], reason: str) -> None:
        rows = (bad & ~absent).any(axis=1) & (reasons == "")
        reasons[rows] = f"not fitted: {reason}"

    for v, values in variables.items():
        if not np.isfinite(values).all():
            refuse(
                np.broadcast_to(~np.isfinite(values), source.shape),
                f"variable '{printable(v, 40)}' is missing or infinite",
            )
    if not np.isfinite(y).all():
        refuse(~np.isfinite(y), "y is missing or infinite")
    refuse(~(weight >= 0), "weights or sigma are missing, negative or infinite")
    refuse(~np.isfinite(weight), "weights or sigma are missing, negative or infinite")
    if objective.log:
        refuse(~(y > 0), f"y is not positive, and objective '{objective.name}' takes its log")
    if objective.loss == "poisson":
        refuse(~(y >= 0), "y is negative, and objective 'poisson' takes counts")
    hidden = absent | (reasons != "")[:, None]
    if hidden.any():
        y, weight = np.where(hidden, 1.0, y), np.where(hidden, 0.0, weight)
        for v, values in variables.items():
            if values.ndim == 2 and not np.isfinite(values).all():
                some = values[np.isfinite(values)]
                fill = float(some[0]) if some.size else 1.0
                variables[v] = np.where(np.isfinite(values), values, fill)
            elif isinstance(source, _Long):
                variables[v] = np.where(absent, float(values[~absent][0]), values)
    for v, values in variables.items():
        if values.ndim == 2 and values.shape[1] == source.shape[1] and not hidden.any() and (values == values[0]).all():
            variables[v] = values[0]
        elif values.ndim == 0 or values.shape[-1] != source.shape[1]:
            variables[v] = np.broadcast_to(values, source.shape).copy()
    y = np.ascontiguousarray(y)
    return Padded(
        variables=variables,
        y=y,
        linked=np.log(y) if objective.log else y,
        weights=np.ascontiguousarray(weight),
        labels=source.labels,
        reasons=tuple(reasons),
    )
