"""What fits see: the columns a law asks for, read from rows of a table or from curves side by side, and checked."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from forecast import formula, tables
from forecast.base.arrays import AnyArray, Array, BoolArray, IntArray
from forecast.base.lazy import xr
from forecast.errors import DataError, EmptyDataError, UnknownNameError, UsageError, first_names, printable
from forecast.fit.data.groups import labels_of
from forecast.fit.objectives.objective import Objective, RowRule
from forecast.fit.options import FitRequest
from forecast.laws import Law
from forecast.tables import Columns
from forecast.tables.column_names import check_named_once, columns_in, meant, unquoted

#: Where y is nowhere larger than this, or its inverse, sums of squares leave the range of numbers.
MIN_MAGNITUDE = 1e-120
#: An error in a variable over this many times its largest value is in another unit.
MAX_ERROR_RATIO = 1e6


@dataclass(frozen=True, kw_only=True, eq=False)
class Observations:
    """What fits see: one data set, or many curves side by side, padded with points of weight 0.

    Parameters
    ----------
    variables : mapping of str to ndarray
        One column a variable of the law: (n,) of one data set and where all curves share the points, else (B, n).
    y, weights : ndarray
        (n,) of one data set, (B, n) of curves.
    absolute_sigma : bool
        The weights come from known standard deviations.
    columns : mapping of str to ndarray
        What the objective asks for at each point: trials, chance; shaped as `y`.
    sigma_x : mapping of str to ndarray
        (n,), known standard deviations of variables; empty where there are none, as in curves.
    groups : ndarray of int, optional
        (n,), the place of each row's group among `group_labels`; rows of one group are not independent. None where
        there are no groups, in curves, and where the law itself knows them.
    group_labels : tuple of str
    by : str
        What the groups are called.
    labels : ndarray, optional
        (B,), of the curves.
    reasons : tuple of str
        Why a curve cannot be fitted; empty where it can.
    given : ndarray of bool, optional
        (B, n): a point of the data, and no padding. Default: every point.
    called : mapping of str to str, optional
        The column or formula that each variable and the output were read from.
    read : str
        The sentence about what was read; empty for curves on a grid.
    """

    variables: Mapping[str, Array]
    y: Array
    weights: Array
    absolute_sigma: bool = False
    columns: Mapping[str, Array] = field(default_factory=dict)
    sigma_x: Mapping[str, Array] = field(default_factory=dict)
    groups: IntArray | None = None
    group_labels: tuple[str, ...] = ()
    by: str = ""
    labels: AnyArray = field(default_factory=lambda: np.array([0]))
    reasons: tuple[str, ...] = ("",)
    given: BoolArray | None = None
    called: Mapping[str, str] = field(default_factory=dict)
    read: str = ""

    def as_curves(self) -> Observations:
        """Return one data set as a curve beside no other."""
        return replace(
            self, y=self.y[None], weights=self.weights[None], columns={n: v[None] for n, v in self.columns.items()}
        )

    def take(self, rows: IntArray) -> Observations:
        """Return some of the curves."""
        if rows.size == len(self.reasons):
            return self
        return replace(
            self,
            variables={n: v if v.ndim == 1 else v[rows] for n, v in self.variables.items()},
            y=self.y[rows],
            weights=self.weights[rows],
            columns={n: v[rows] for n, v in self.columns.items()},
            labels=self.labels[rows],
            reasons=tuple(self.reasons[i] for i in rows),
            given=None if self.given is None else self.given[rows],
        )

    def one(self, i: int) -> Observations:
        """Return one of the curves as a data set, without its padding."""
        there: Any = slice(None) if self.given is None or self.given[i].all() else self.given[i]
        return replace(
            self,
            variables={n: (v if v.ndim == 1 else v[i])[there] for n, v in self.variables.items()},
            y=self.y[i][there],
            weights=self.weights[i][there],
            columns={n: v[i][there] for n, v in self.columns.items()},
            labels=self.labels[i : i + 1],
            reasons=self.reasons[i : i + 1],
            given=None,
        )

    def ranges(self) -> dict[str, tuple[Array, Array]]:
        """Return the least and the greatest value of each variable in each curve, (B,)."""
        found = {}
        for name, values in self.variables.items():
            shaped = np.broadcast_to(values, self.y.shape)
            if self.given is None:
                found[name] = shaped.min(axis=1), shaped.max(axis=1)
                continue
            low, high = (np.where(self.given, shaped, far) for far in (np.inf, -np.inf))
            found[name] = low.min(axis=1), high.max(axis=1)
        return found


def _as_numbers(column: Any, where: str) -> Array:
    values = np.asarray(column)
    if np.issubdtype(values.dtype, np.datetime64):
        return np.asarray(tables.decimal_year(values), dtype=float)
    if values.dtype == bool or not np.issubdtype(values.dtype, np.number) or np.iscomplexobj(values):
        kind = "text" if values.dtype.kind in "UO" else str(values.dtype)
        raise DataError(f"{where}: expected numbers, got {kind}")
    return values.astype(float)


def _evaluate(text: object, columns: Mapping[str, Any], where: str) -> Array:
    """Return a column by its name, or a formula over columns, in the shape that its columns have together."""
    if not isinstance(text, str):
        raise UsageError(f"{where}: expected a column or a formula, got {type(text).__name__}")

    text = unquoted(text, columns)
    if text in columns:
        return column_numbers(columns, text, where)
    parsed = formula.parse(text, where=where)
    values = {name: column_numbers(columns, meant(name, columns, where), where) for name in parsed.names}
    return np.asarray(parsed.evaluate(values), dtype=float)


def column_numbers(columns: Mapping[str, Any], name: str, where: str) -> Array:
    """Return a column of numbers, or of dates as decimal years; a cell that is neither is named."""
    return _as_numbers(columns[name], f"{where}: column '{printable(name, 60)}'")


def _compute(text: object, columns: Mapping[str, Any], where: str) -> Array:
    """Return a column by its name, or a formula over columns, one number a row."""
    return np.broadcast_to(_evaluate(text, columns, where), (len(next(iter(columns.values()))),)).copy()


def _format_rows(bad: BoolArray) -> str:
    found = np.flatnonzero(bad) + 1
    return f"{'row' if found.size == 1 else 'rows'} {first_names(found)} of {bad.size} (counted from 1)"


class _Rows:
    """The rows of a table: those of one curve, or dealt out to the curves they belong to."""

    def __init__(self, columns: Columns, by: str | None, name: str) -> None:
        self.columns, size = columns, columns.rows
        self.labels, self.shape, self.absent = np.array([0]), (1, size), np.zeros((1, size), dtype=bool)
        self.places: Any = None
        if by is None:
            return
        if by not in columns:
            raise UnknownNameError("column", by, columns, where=f"{name}: by")
        self.labels, group = np.unique(columns.labels(by), return_inverse=True)
        group = np.ravel(group)
        sizes = np.bincount(group, minlength=self.labels.size)
        order = np.argsort(group, kind="stable")
        place = np.empty(size, dtype=np.int64)
        place[order] = np.arange(size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self.places, self.shape = (group, place), (self.labels.size, int(sizes.max(initial=0)))
        self.absent = np.ones(self.shape, dtype=bool)
        self.absent[self.places] = False

    def as_curves(self, values: Array) -> Array:
        """Return numbers, one a row of the table, as they belong to the curves, (B, n)."""
        rows = np.broadcast_to(values, (self.columns.rows,))
        if self.places is None:
            return rows[None]
        table = np.ones(self.shape)
        table[self.places] = rows
        return table

    def read_extra(self, given: Any, where: str) -> Array:
        """Return what may stand beside the data instead of in a column of it."""
        return self.as_curves(_row_numbers(given, self.columns, self.columns.rows, where))


class _Grid:
    """The columns of a Dataset that has the dimension, each (n,) or (B, n)."""

    def __init__(self, data: xr.Dataset, by: str, name: str) -> None:
        others = [str(d) for d in data.dims if str(d) != by]
        if len(others) > 1:
            raise DataError(f"{name}: by='{by}': expected one other dimension, got {', '.join(others)}")
        self.dims = (by, *others)
        self.labels = np.asarray(data[by].values if by in data.coords else np.arange(data.sizes[by]))
        self.shape = (data.sizes[by], data.sizes[others[0]] if others else 1)
        self.columns = {str(key): self._placed(column) for key, column in data.variables.items()}

    def _placed(self, column: Any) -> AnyArray:
        values = np.asarray(column.transpose(*(d for d in self.dims if d in column.dims)).values)
        values = values.astype(float) if values.dtype == bool else values
        return values[:, None] if column.dims == self.dims[:1] else values

    def as_curves(self, values: Array) -> Array:
        """Return numbers as they are: points that all curves share stay shared."""
        return np.atleast_1d(values)

    def read_extra(self, given: Any, where: str) -> Array:
        """Return what may stand beside the data instead of in a column of it, (n,) or (B, n)."""
        if isinstance(given, str):
            return self.as_curves(_evaluate(given, self.columns, where))
        if isinstance(given, xr.DataArray) and set(map(str, given.dims)) <= set(self.dims):
            return _as_numbers(self._placed(given.variable), where)
        values = _as_numbers(given, where)
        if values.shape not in ((), self.shape[1:], self.shape):
            raise DataError(f"{where}: expected numbers of shape {self.shape} or {self.shape[1:]}, got {values.shape}")
        return self.as_curves(values)


def _row_numbers(given: Any, columns: Mapping[str, Any], size: int, where: str) -> Array:
    if isinstance(given, str):
        return _compute(given, columns, where)
    values = _as_numbers(np.asarray(given), where)
    if values.shape not in ((), (size,)):
        raise DataError(f"{where}: expected {size} numbers, one a row, got shape {values.shape}")
    return np.broadcast_to(values, (size,)).copy()


def _variable(law: Law, variable: str, source: Any, columns: Mapping[str, Any], name: str, hint: str = "") -> Array:
    """Return a variable of a law: a column, or a formula over columns; the groups' places of one with levels."""
    where = f"{name}: variable '{variable}'"
    check_named_once(str(source), columns, where)
    if source == variable and variable not in columns:
        hint = hint or f"let={{'{variable}': …}} makes it, by a formula over the columns {first_names(list(columns))}"
        raise UnknownNameError("column", variable, columns, where=f"{where} ({hint})")
    if variable in law.levels and source in columns:
        labels = columns.labels(source) if isinstance(columns, tables.Columns) else columns[source]
        coded: Array = law._coded(variable, labels_of(labels, len(labels), name)[0])
        return coded
    return _evaluate(source, columns, where)


def points_of(law: Law, data: Any, stated: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the variables of a law at the rows of a table, read as a fit reads its data; what is stated goes first.

    Raises
    ------
    EmptyDataError, UnknownNameError, DataError
        As `read_observations`.
    """
    from forecast.fit.data.column_units import in_units

    columns = in_units(law.variables, {law.output: law.unit}, data, FitRequest(), name)
    if columns.rows == 0:
        raise EmptyDataError(f"{name}: no rows to predict")
    found: dict[str, Any] = dict(stated)
    for variable in (each for each in law.variables if each not in stated):
        given = _variable(law, variable, variable, columns, name, f"{variable}= may state it for all rows")
        levels = law.levels.get(variable)
        found[variable] = given if levels is None else np.array(levels)[given.astype(int)]
    return found


def read_observations(
    law: Law, data: Any, request: FitRequest, *, objective: Objective, options: Mapping[str, Any], name: str
) -> Observations:
    """Return what a fit of `law` sees of `data`: one data set, or with ``request.by`` the curves of it side by side.

    Raises
    ------
    EmptyDataError
        If there is no row.
    UnknownNameError
        For a column, or for a variable in `let`, that is not there.
    DataError
        For cells that a fit cannot take (missing or infinite ones, logarithms of what is not positive), naming the
        rows. What is wrong with one of several curves is its reason instead, and raises nothing.
    """
    by = request.by
    wide = by is not None and isinstance(data, xr.Dataset) and by in data.dims and len(data.dims) > 1
    if not wide:
        data, request, options = _complete_rows(law, tables.to_columns(data, where=name), request, options, name)
    source = _Grid(data, str(by), name) if wide else _Rows(data, by, name)
    if 0 in source.shape:
        raise EmptyDataError(f"{name}: no rows to fit")
    let = dict(request.let or {})
    for key in let:
        if key not in law.variables:
            raise UnknownNameError("variable", key, law.variables, where=f"{name}: let")
    variables = {v: source.as_curves(_variable(law, v, let.get(v, v), source.columns, name)) for v in law.variables}
    explained = request.y if request.y is not None else law.output
    check_named_once(explained, source.columns, f"{name}: y")
    if request.y is None and explained not in source.columns:
        at = f"{name}: say y=, the column that the law explains"
        raise UnknownNameError("column", explained, source.columns, where=at)
    itself = next((v for v in law.variables if let.get(v, v) == explained), None)
    if itself is not None:
        what = "column" if explained in source.columns else "formula"
        raise UsageError(f"{name}: y: the {what} '{printable(explained, 60)}' is also the variable '{itself}'")
    if not wide and by is None and request.groups is None and data.from_file:
        from forecast.tables.same_place import check_one_curve

        places = np.stack([np.broadcast_to(each, source.shape)[0] for each in variables.values()])
        check_one_curve(data, places, _columns_used(law, request, options, data), name)
    y = np.broadcast_to(source.as_curves(_evaluate(explained, source.columns, f"{name}: y")), source.shape)
    weights, errors = _read_weights(request, source, name)
    columns = _option_columns(objective, options, source, name)
    # in a grid, missing observations are how curves of different lengths are written; in a table they are missing
    absent = source.absent if isinstance(source, _Rows) else np.isnan(y)
    faults = _row_rules(variables, y, weights, errors, absent, objective, columns, explained)
    known = errors is not None or objective.scale == "known"
    called = {**{v: let.get(v, v) for v in law.variables}, law.output: explained}
    if by is None:  # what is wrong with one of several curves is its reason
        for fault in faults:
            if fault.bad.any():
                raise DataError(f"{name}: {fault.text((0, int(np.argmax(fault.bad))), _format_rows(fault.bad))}")
    fills = {n: 1.0 if (usual := objective.options[n].default) is None else usual for n in columns}
    curves = _pad_curves(source, variables, y, weights, columns, absent, faults, fills)
    curves = replace(curves, absolute_sigma=known, called=called, read="" if wide else data.read_line)
    if by is not None:
        return curves
    groups, labels, group_name = _read_groups(request, source.columns, y.size, name)
    alone = curves.one(0)
    errors_in_x = _errors_in_x(law, request, source.columns, alone.variables, objective, name)
    return replace(alone, sigma_x=errors_in_x, groups=groups, group_labels=labels, by=group_name)


def _columns_used(law: Law, request: FitRequest, options: Mapping[str, Any], columns: Columns) -> list[str]:
    """Return the columns that a fit uses, by their names or in formulas."""
    let = request.let or {}
    sigma_x = request.sigma_x if isinstance(request.sigma_x, Mapping) else {}
    used = [*(let.get(v, v) for v in law.variables), request.y if request.y is not None else law.output, request.by]
    beside = (request.weights, request.sigma, request.groups, *sigma_x.values(), *options.values())
    return [each for text in (*used, *beside) if isinstance(text, str) for each in columns_in(text, columns)]


def _complete_rows(
    law: Law, columns: Columns, request: FitRequest, options: Mapping[str, Any], name: str
) -> tuple[Columns, FitRequest, Mapping[str, Any]]:
    """Leave out the rows that lack a value in a column that is used, also from what is given beside the data."""
    sigma_x = request.sigma_x if isinstance(request.sigma_x, Mapping) else {}
    beside = {"weights": request.weights, "sigma": request.sigma, "groups": request.groups}
    names = _columns_used(law, request, options, columns)
    complete = columns.complete([column for column in dict.fromkeys(names) if columns.meaning(column).problem is None])
    if complete.rows == columns.rows:
        return complete, request, options
    if not complete.rows:
        raise EmptyDataError(f"{name}: no row has a value in all of {', '.join(printable(c, 40) for c in names)}")
    keep = columns.complete_mask(names)

    def cut(given: Any) -> Any:
        return np.asarray(given)[keep] if not isinstance(given, str) and np.shape(given) == keep.shape else given

    changed = {key: cut(given) for key, given in beside.items()}
    request = request.but(**changed, sigma_x={v: cut(given) for v, given in sigma_x.items()} or request.sigma_x)
    return complete, request, {option: cut(given) for option, given in options.items()}


def _read_weights(request: FitRequest, source: _Rows | _Grid, name: str) -> tuple[Array, Array | None]:
    """Return the weights of the points, (B, n), and the standard deviations they come from, where these are given."""
    if request.weights is not None and request.sigma is not None:
        raise UsageError(f"{name}: give weights or sigma, not both")
    if request.sigma is not None:
        errors = np.broadcast_to(source.read_extra(request.sigma, f"{name}: sigma"), source.shape)
        with np.errstate(all="ignore"):
            return 1 / errors**2, errors
    weights = np.ones(1) if request.weights is None else source.read_extra(request.weights, f"{name}: weights")
    return np.broadcast_to(weights, source.shape), None


def _option_columns(
    objective: Objective, options: Mapping[str, Any], source: _Rows | _Grid, name: str
) -> dict[str, Array]:
    """Read the options of an objective that are columns, (B, n) each."""
    for option in objective.columns:
        if options.get(option) is None:
            what = objective.options[option].column
            raise UsageError(f"{name}: objective '{objective.name}' needs options={{'{option}': COLUMN}}: {what}")
    return {
        option: np.broadcast_to(source.read_extra(options[option], f"{name}: {option}"), source.shape)
        for option in objective.columns
    }


def _row_rules(
    variables: Mapping[str, Array],
    y: Array,
    weights: Array,
    errors: Array | None,
    absent: BoolArray,
    objective: Objective,
    columns: Mapping[str, Array],
    explained: str,
) -> Iterator[RowRule]:
    """Yield what no fit, or not this objective, can take, (B, n); some of it may stand where there is no point."""
    if errors is not None:
        good = (errors > 0) & (weights > 0) & np.isfinite(weights)
        yield RowRule(~good, "sigma: expected positive standard deviations, not so")
    for what, column in (*((f"variable '{v}'", c) for v, c in variables.items()), ("y", y), ("weights", weights)):
        bad = ~np.isfinite(column)
        if bad.any():
            kind = "missing" if np.isnan(column[bad]).all() else "missing or infinite"
            yield RowRule(np.broadcast_to(bad, y.shape), f"{what} is {kind}", "drop them first")
    none = ~((weights > 0) & ~absent).any(axis=1, keepdims=True)
    yield RowRule((weights < 0) | none, "weights: expected numbers of at least 0, not all of them 0, not so")
    if objective.log:
        yield RowRule(~(y > 0), f"objective '{objective.name}' takes the log of y, which is not positive")
    yield from objective.rules(y, columns)
    if objective.log:
        return
    sizes = np.where(~absent & np.isfinite(y), np.abs(y), 0.0)
    largest = sizes.max(axis=1, keepdims=True)
    beyond = (largest > 0) & ~((largest > MIN_MAGNITUDE) & (largest < 1 / MIN_MAGNITUDE))
    if beyond.any():
        factor = 1 / min(max(float(largest[beyond][0]), 1e-307), 1e300)
        yield RowRule(
            beyond & (sizes == largest), "the square of y = {y:.3g} leaves double precision",
            f"scale it: y='{factor:.0e}*{explained}'", {"y": y},
        )  # fmt: skip


def _pad_curves(
    source: _Rows | _Grid,
    variables: dict[str, Array],
    y: Array,
    weights: Array,
    columns: Mapping[str, Array],
    absent: BoolArray,
    faults: Iterator[RowRule],
    fills: Mapping[str, float],
) -> Observations:
    """Return curves side by side: padding has the weight 0, and every curve that cannot be fitted its reason."""
    reasons = np.full(source.shape[0], "", dtype=object)
    for fault in faults:
        bad = fault.bad & ~absent
        for b in np.flatnonzero(bad.any(axis=1) & (reasons == "")):
            reasons[b] = f"not fitted: {fault.text((b, int(np.argmax(bad[b]))))}"
    hidden = absent | (reasons != "")[:, None]
    if hidden.any():
        y, weights = np.where(hidden, 1.0, y), np.where(hidden, 0.0, weights)
        columns = {n: np.where(hidden, fills[n], v) for n, v in columns.items()}
        for v, values in variables.items():
            if values.ndim == 2 and (not np.isfinite(values).all() or isinstance(source, _Rows)):
                variables[v] = _fill_missing(values, ~absent & np.isfinite(values))
    for v, values in variables.items():
        if values.ndim == 2 and values.shape[1] == source.shape[1] and not hidden.any() and (values == values[0]).all():
            variables[v] = np.ascontiguousarray(values[0])
        elif values.shape[-1] != source.shape[1]:
            variables[v] = np.broadcast_to(values, source.shape).copy()
    return Observations(
        variables=variables,
        y=np.ascontiguousarray(y),
        weights=np.ascontiguousarray(weights),
        labels=source.labels,
        reasons=tuple(reasons),
        given=~hidden,
        columns={n: np.ascontiguousarray(v) for n, v in columns.items()},
    )


def _fill_missing(values: Array, good: BoolArray) -> Array:
    """Put a value of the same curve where there is none: the law can be computed there, too."""
    values = np.broadcast_to(values, good.shape)
    first = values[np.arange(len(values)), good.argmax(axis=1)]
    some = values[good]
    first = np.where(good.any(axis=1), first, some[0] if some.size else 1.0)
    return np.where(good, values, first[:, None])


def _read_groups(
    request: FitRequest, columns: Mapping[str, Any], size: int, name: str
) -> tuple[IntArray | None, tuple[str, ...], str]:
    """Read the group of each row: its place among the labels, the labels, and what they are called."""
    given = request.groups
    if given is None:
        return None, (), ""
    if not isinstance(given, str):
        _, places, labels = labels_of(given, size, name)
        return places, labels, "group"
    if given not in columns:
        raise UnknownNameError("column", printable(given, 60), columns, where=f"{name}: groups")
    read = columns.labels(given) if isinstance(columns, tables.Columns) else columns[given]
    _, places, labels = labels_of(read, size, name)
    return places, labels, given


def _errors_in_x(
    law: Law,
    request: FitRequest,
    columns: Mapping[str, Any],
    variables: Mapping[str, Array],
    objective: Objective,
    name: str,
) -> dict[str, Array]:
    """Read the known standard deviations of variables; those that are 0 everywhere are none."""
    sigma_x: Any = request.sigma_x or {}
    size = next(iter(variables.values())).size
    if not isinstance(sigma_x, Mapping):
        got = type(sigma_x).__name__
        raise UsageError(f"{name}: sigma_x: expected a mapping of variables, like {{'N': '0.1*N'}}, got {got}")
    if sigma_x and not objective.takes_sigma_x:
        raise UsageError(f"{name}: sigma_x: objective '{objective.name}' has no scatter to add errors in x to")
    if sigma_x and objective.scale == "sandwich" and request.sigma is None:
        raise UsageError(
            f"{name}: sigma_x: under objective '{objective.name}' give sigma= too: it cannot be told from errors in x"
        )
    found = {}
    for variable, value in sigma_x.items():
        where = f"{name}: sigma_x: '{printable(variable, 60)}'"
        if variable not in law.variables or variable in law.levels:
            known = [v for v in law.variables if v not in law.levels]
            raise UnknownNameError("variable", printable(variable, 60), known, where=f"{name}: sigma_x")
        every: Any = (dict(variables), columns)  # a column is read only if it is asked for
        errors = _row_numbers(value, ChainMap(*every), size, where)
        bad = ~(np.isfinite(errors) & (errors >= 0))
        if bad.any():
            raise DataError(f"{where}: expected standard deviations of at least 0, not so in {_format_rows(bad)}")
        far = MAX_ERROR_RATIO * float(np.abs(variables[variable]).max())
        if far and errors.max() > far:
            rows = _format_rows(errors > far)
            raise DataError(
                f"{where}: standard deviations of more than {MAX_ERROR_RATIO:.0e} times its largest value in {rows}; "
                "give them in the unit of the variable"
            )
        if (errors > 0).any():
            found[variable] = errors
    return found
