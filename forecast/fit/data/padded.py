"""Many data sets as arrays of one shape: curves beside each other, padded with points of weight 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast import formula
from forecast.base.lazy import xr
from forecast.errors import DataError, EmptyDataError, UnknownNameError, UsageError, printable
from forecast.fit.data.observations import Observations, _option_columns
from forecast.fit.objectives.objective import Objective, RowRule
from forecast.fit.options import Request

if TYPE_CHECKING:
    from forecast.laws import Law

__all__ = ["pad"]

Array: TypeAlias = NDArray[np.float64]


class _Grid:
    """The columns of a Dataset that has the dimension, each (n,) or (B, n)."""

    def __init__(self, data: xr.Dataset, by: str, name: str) -> None:
        others = [str(d) for d in data.dims if str(d) != by]
        if len(others) > 1:
            raise DataError(f"{name}: by='{by}': expected one other dimension, got {', '.join(others)}")
        self.dims = (by, *others)
        self.labels = np.asarray(data[by].values if by in data.coords else np.arange(data.sizes[by]))
        self.shape = (data.sizes[by], data.sizes[others[0]] if others else 1)
        self.columns: dict[str, Array] = {}
        for key, column in data.variables.items():
            if np.issubdtype(column.dtype, np.number) or column.dtype == bool:
                self.columns[str(key)] = self._placed(column)
        self.given = np.ones(self.shape, dtype=bool)

    def _placed(self, column: Any) -> Array:
        values = np.asarray(column.transpose(*(d for d in self.dims if d in column.dims)).values, float)
        return values[:, None] if column.dims == self.dims[:1] else values

    def dealt(self, given: Any, where: str) -> Array:
        """Return numbers that came beside the data, (n,) or (B, n)."""
        if isinstance(given, xr.DataArray) and set(map(str, given.dims)) <= set(self.dims):
            return self._placed(given.variable)
        values = np.asarray(given, dtype=float)
        if values.shape not in ((), self.shape[1:], self.shape):
            raise DataError(f"{where}: expected numbers of shape {self.shape} or {self.shape[1:]}, got {values.shape}")
        return np.atleast_1d(values)


class _Long:
    """The columns of a long table, dealt out to the curves they belong to."""

    def __init__(self, data: Any, by: str, name: str) -> None:
        from forecast import tables

        columns = tables.columns(data, where=name)
        if by not in columns:
            raise UnknownNameError("column", by, columns, where=f"{name}: by")
        self.labels, group = np.unique(np.asarray(columns[by]), return_inverse=True)
        group = np.ravel(group)
        sizes = np.bincount(group, minlength=self.labels.size)
        order = np.argsort(group, kind="stable")
        place = np.empty(group.size, dtype=np.int64)
        place[order] = np.arange(group.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.shape = (self.labels.size, int(sizes.max(initial=0)))
        self.given = np.zeros(self.shape, dtype=bool)
        self.at = (group, place)
        self.given[self.at] = True
        self.columns = {}
        for key, column in columns.items():
            if key != by and np.issubdtype(np.asarray(column).dtype, np.number):
                self.columns[key] = self.dealt(column, key)

    def dealt(self, given: Any, where: str) -> Array:
        """Return numbers, one a row of the table, as they belong to the curves, (B, n)."""
        rows, found = np.asarray(given, dtype=float), np.ones(self.shape)
        if rows.shape not in ((), self.at[0].shape):
            raise DataError(f"{where}: expected {self.at[0].size} numbers, one a row, got shape {rows.shape}")
        found[self.at] = rows
        return found


def pad(
    law: Law,
    data: Any,
    by: str,
    request: Request,
    *,
    objective: Objective,
    name: str,
    options: Mapping[str, Any] | None = None,
) -> Observations:
    """Return the curves of a data set side by side.

    Raises
    ------
    DataError, EmptyDataError, UnknownNameError, UsageError
        For what is wrong with all curves; what is wrong with one is its reason.
    """
    y, weights, sigma = request.y, request.weights, request.sigma
    wide = isinstance(data, xr.Dataset) and by in data.dims and len(data.dims) > 1
    source = _Grid(data, by, name) if wide else _Long(data, by, name)
    if 0 in source.shape:
        raise EmptyDataError(f"{name}: no rows to fit")

    def column(text: Any, where: str) -> Array:
        if not isinstance(text, str):
            try:
                return source.dealt(text, where)
            except (TypeError, ValueError):
                got = type(text).__name__
                raise UsageError(f"{where}: expected a column, a formula or numbers, got {got}") from None
        if text in source.columns:
            return source.columns[text]
        from forecast.tables.column_names import meant

        parsed = formula.parse(text, where=where)
        values = {n: source.columns[meant(n, source.columns, where)] for n in parsed.names}
        return np.asarray(parsed.evaluate(values), dtype=float)

    let = dict(request.let or {})
    for key in let:
        if key not in law.variables:
            raise UnknownNameError("variable", key, law.variables, where=f"{name}: let")
    variables = {v: column(let.get(v, v), f"{name}: variable '{v}'") for v in law.variables}
    observed = np.broadcast_to(column(y if y is not None else law.output, f"{name}: y"), source.shape)
    if weights is not None and sigma is not None:
        raise UsageError(f"{name}: give weights or sigma, not both")
    weight = np.ones(1) if weights is None else column(weights, f"{name}: weights")
    if sigma is not None:
        with np.errstate(all="ignore"):
            errors = column(sigma, f"{name}: sigma")
            weight = np.where(errors > 0, 1 / errors**2, np.nan)
    weight = np.broadcast_to(weight, source.shape)
    chosen = _option_columns(
        objective, options or {}, lambda given, where: np.broadcast_to(column(given, where), source.shape), name
    )
    known = sigma is not None or objective.scale == "known"
    return replace(_checked(source, variables, observed, weight, objective, chosen), scale_known=known)


def _filled(values: Array, good: NDArray[np.bool_]) -> Array:
    """Put a value of the same curve where there is none: the law can be computed there, too."""
    values = np.broadcast_to(values, good.shape)
    first = values[np.arange(len(values)), good.argmax(axis=1)]
    some = values[good]
    first = np.where(good.any(axis=1), first, some[0] if some.size else 1.0)
    return np.where(good, values, first[:, None])


def _checked(
    source: _Grid | _Long,
    variables: dict[str, Array],
    y: Array,
    weight: Array,
    objective: Objective,
    counted: dict[str, Array],
) -> Observations:
    """Give padding the weight 0, and every curve that cannot be fitted its reason."""
    # in a grid, missing observations are how curves of different lengths are written; in a table they are missing
    absent = np.isnan(y) if isinstance(source, _Grid) else ~source.given
    reasons = np.full(source.shape[0], "", dtype=object)

    def refuse(bad: NDArray[np.bool_], reason: str | RowRule) -> None:
        bad = bad & ~absent
        for b in np.flatnonzero(bad.any(axis=1) & (reasons == "")):
            if isinstance(reason, RowRule):
                text = reason.text((b, int(np.argmax(bad[b]))))
                reasons[b] = f"not fitted: {text}" + (f": {reason.hint}" if reason.hint else "")
            else:
                reasons[b] = f"not fitted: {reason}"

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
    for rule in objective.row_rules(y, counted):
        refuse(rule.bad, rule)
    hidden = absent | (reasons != "")[:, None]
    if hidden.any():
        y, weight = np.where(hidden, 1.0, y), np.where(hidden, 0.0, weight)
        counted = {n: np.where(hidden, 1.0 if n == "trials" else 0.0, v) for n, v in counted.items()}
        for v, values in variables.items():
            if values.ndim == 2 and (not np.isfinite(values).all() or isinstance(source, _Long)):
                variables[v] = _filled(values, ~absent & np.isfinite(values))
    for v, values in variables.items():
        if values.ndim == 2 and values.shape[1] == source.shape[1] and not hidden.any() and (values == values[0]).all():
            variables[v] = values[0]
        elif values.ndim == 0 or values.shape[-1] != source.shape[1]:
            variables[v] = np.broadcast_to(values, source.shape).copy()
    y = np.ascontiguousarray(y)
    return Observations(
        variables=variables,
        y=y,
        weights=np.ascontiguousarray(weight),
        labels=source.labels,
        reasons=tuple(reasons),
        given=~hidden,
        columns={n: np.ascontiguousarray(v) for n, v in counted.items()},
    )
