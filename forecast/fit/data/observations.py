"""The columns a law asks for, computed from a user's data and checked row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast import formula
from forecast.errors import DataError, EmptyDataError, UnknownNameError, UsageError, printable
from forecast.fit.data.groups import labels_of
from forecast.fit.objectives.objective import Objective
from forecast.fit.options import Request

if TYPE_CHECKING:
    from forecast.laws import Law
    from forecast.tables import Columns

__all__ = ["Observations", "gather"]

Array = NDArray[np.float64]

#: Where y is nowhere larger than this, or its inverse, sums of squares leave the range of numbers.
SMALLEST = 1e-120
#: An error in a variable over this many times its largest value is in another unit.
TOO_FAR = 1e6


@dataclass(frozen=True, kw_only=True, eq=False)
class Observations:
    """What fits see: one data set, or many curves side by side, padded with points of weight 0.

    Parameters
    ----------
    variables : mapping of str to ndarray
        One column a variable of the law: (n,) of one data set and where all curves share the points, else (B, n).
    y, weights : ndarray
        (n,) of one data set, (B, n) of curves.
    scale_known : bool
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
    """

    variables: Mapping[str, Array]
    y: Array
    weights: Array
    scale_known: bool = False
    columns: Mapping[str, Array] = field(default_factory=dict)
    sigma_x: Mapping[str, Array] = field(default_factory=dict)
    groups: NDArray[np.int64] | None = None
    group_labels: tuple[str, ...] = ()
    by: str = ""
    labels: NDArray[Any] = field(default_factory=lambda: np.array([0]))
    reasons: tuple[str, ...] = ("",)
    given: NDArray[np.bool_] | None = None

    def as_curves(self) -> Observations:
        """Return one data set as a curve beside no other."""
        return replace(
            self, y=self.y[None], weights=self.weights[None], columns={n: v[None] for n, v in self.columns.items()}
        )

    def take(self, rows: NDArray[np.int64]) -> Observations:
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


def _numbers(column: Any, where: str) -> Array:
    from forecast import tables

    values = np.asarray(column)
    if np.issubdtype(values.dtype, np.datetime64):
        return np.asarray(tables.decimal_year(values), dtype=float)
    if values.dtype == bool or not np.issubdtype(values.dtype, np.number) or np.iscomplexobj(values):
        kind = "text" if values.dtype.kind in "UO" else str(values.dtype)
        raise DataError(f"{where}: expected numbers, got {kind}")
    return values.astype(float)


def _compute(text: object, columns: Mapping[str, Any], where: str) -> Array:
    """Return a column by its name, or a formula over columns."""
    if not isinstance(text, str):
        raise UsageError(f"{where}: expected a column or a formula, got {type(text).__name__}")
    if text in columns:
        return _numbers(columns[text], f"{where}: column '{printable(text, 60)}'")
    size = len(next(iter(columns.values())))
    from forecast.tables.column_names import meant

    parsed = formula.parse(text, where=where)
    column = {name: meant(name, columns, where) for name in parsed.names}
    values = {name: _numbers(columns[c], f"{where}: column '{printable(c, 60)}'") for name, c in column.items()}
    return np.broadcast_to(np.asarray(parsed.evaluate(values), dtype=float), (size,)).copy()


def _rows(bad: NDArray[np.bool_]) -> str:
    found = np.flatnonzero(bad) + 1
    shown = ", ".join(str(i) for i in found[:8]) + (", …" if found.size > 8 else "")
    return f"{'row' if found.size == 1 else 'rows'} {shown} of {bad.size} (counted from 1)"


def _extra(given: Any, columns: Mapping[str, Any], size: int, where: str) -> Array:
    if isinstance(given, str):
        return _compute(given, columns, where)
    values = _numbers(np.asarray(given), where)
    if values.ndim == 0:
        values = np.full(size, float(values))
    if values.shape != (size,):
        raise DataError(f"{where}: expected {size} numbers, one a row, got shape {values.shape}")
    return values


def _variable(law: Law, variable: str, source: Any, columns: Columns, name: str, hint: str) -> Array:
    """Return a variable of a law: a column, or a formula over columns; the groups' places of one with levels."""
    where = f"{name}: variable '{variable}'"
    if source == variable and variable not in columns:
        raise UnknownNameError("column", variable, columns, where=f"{where} ({hint})")
    if variable in law.levels and source in columns:
        coded: Array = law._coded(variable, labels_of(columns[source], columns.rows, name)[0])
        return coded
    return _compute(source, columns, where)


def points_of(law: Law, data: Any, stated: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the variables of a law at the rows of a table, read as a fit reads its data; what is stated goes first.

    Raises
    ------
    EmptyDataError, UnknownNameError, DataError
        As `gather`.
    """
    from forecast.fit.data.column_units import in_units

    columns = in_units(law, data, Request(), name)
    if columns.rows == 0:
        raise EmptyDataError(f"{name}: no rows to predict")
    found: dict[str, Any] = dict(stated)
    for variable in (each for each in law.variables if each not in stated):
        given = _variable(law, variable, variable, columns, name, f"{variable}= may state it for all rows")
        levels = law.levels.get(variable)
        found[variable] = given if levels is None else np.array(levels)[given.astype(int)]
    return found


def gather(
    law: Law,
    data: Any,
    request: Request,
    *,
    objective: Objective,
    name: str,
    options: Mapping[str, Any] | None = None,
) -> Observations:
    """Return what a fit of `law` sees of `data`.

    Raises
    ------
    EmptyDataError
        If there is no row.
    UnknownNameError
        For a column, or for a variable in `let`, that is not there.
    DataError
        For missing or infinite cells and for logarithms of what is not positive, naming the rows.
    """
    from forecast import tables

    y, weights, sigma = request.y, request.weights, request.sigma
    columns = tables.columns(data, where=name)
    size = columns.rows
    if size == 0:
        raise EmptyDataError(f"{name}: no rows to fit")
    let = dict(request.let or {})
    for key in let:
        if key not in law.variables:
            raise UnknownNameError("variable", key, law.variables, where=f"{name}: let")
    have = ", ".join(printable(c, 40) for c in list(columns)[:8])
    hint = f"let may make it, by a formula over the columns {have}"
    variables = {
        variable: _variable(law, variable, let.get(variable, variable), columns, name, hint)
        for variable in law.variables
    }
    explained = y if y is not None else law.output
    if y is None and explained not in columns:
        raise UnknownNameError("column", explained, columns, where=f"{name}: say y=, the column that the law explains")
    itself = next((v for v in law.variables if let.get(v, v) == explained), None)
    if itself is not None:
        what = "column" if explained in columns else "formula"
        raise UsageError(f"{name}: y: the {what} '{printable(explained, 60)}' is also the variable '{itself}'")
    observed = _compute(explained, columns, f"{name}: y")
    if weights is not None and sigma is not None:
        raise UsageError(f"{name}: give weights or sigma, not both")
    weight = np.ones(size)
    if weights is not None:
        weight = _extra(weights, columns, size, f"{name}: weights")
    if sigma is not None:
        errors = _extra(sigma, columns, size, f"{name}: sigma")
        with np.errstate(all="ignore"):
            weight = 1 / errors**2
        bad = ~((errors > 0) & (weight > 0) & np.isfinite(weight))
        if bad.any():
            raise DataError(f"{name}: sigma: expected positive standard deviations, not so in {_rows(bad)}")
    for label, column in [
        *((f"variable '{v}'", c) for v, c in variables.items()),
        ("y", observed),
        ("weights", weight),
    ]:
        bad = ~np.isfinite(column)
        if bad.any():
            what = "missing" if np.isnan(column[bad]).all() else "missing or infinite"
            raise DataError(f"{name}: {label} is {what} in {_rows(bad)}; drop them first")
    if (weight < 0).any() or not (weight > 0).any():
        raise DataError(f"{name}: weights: expected numbers of at least 0, not all of them 0")
    largest = float(np.abs(observed).max())
    if not objective.log and largest and not SMALLEST < largest < 1 / SMALLEST:
        raise DataError(
            f"{name}: y is at most {largest:.3g}, the squares of such numbers leave double precision; "
            f"scale it: y='{1 / min(max(largest, 1e-307), 1e300):.0e}*{explained}'"
        )
    chosen = _option_columns(objective, options or {}, lambda given, where: _extra(given, columns, size, where), name)
    for rule in objective.row_rules(observed, chosen):
        if rule.bad.any():
            where = f"{name}: {rule.text(int(np.argmax(rule.bad)))} in {_rows(rule.bad)}"
            raise DataError(f"{where}: {rule.hint}" if rule.hint else where)
    known = sigma is not None or objective.scale == "known"
    groups, labels, by = _groups(request, columns, size, name)
    return Observations(
        variables=variables,
        y=observed,
        weights=weight,
        scale_known=known,
        columns=chosen,
        sigma_x=_errors_in_x(law, request, columns, variables, objective, name),
        groups=groups,
        group_labels=labels,
        by=by,
    )


def _groups(
    request: Request, columns: Mapping[str, Any], size: int, name: str
) -> tuple[NDArray[np.int64] | None, tuple[str, ...], str]:
    """Read the group of each row: its place among the labels, the labels, and what they are called."""
    given = request.groups
    if given is None:
        return None, (), ""
    if not isinstance(given, str):
        _, places, labels = labels_of(given, size, name)
        return places, labels, "group"
    if given not in columns:
        raise UnknownNameError("column", printable(given, 60), columns, where=f"{name}: groups")
    _, places, labels = labels_of(columns[given], size, name)
    return places, labels, given


def _errors_in_x(
    law: Law,
    request: Request,
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
        errors = _extra(value, {**columns, **variables}, size, where)
        bad = ~(np.isfinite(errors) & (errors >= 0))
        if bad.any():
            raise DataError(f"{where}: expected standard deviations of at least 0, not so in {_rows(bad)}")
        far = TOO_FAR * float(np.abs(variables[variable]).max())
        if far and errors.max() > far:
            rows = _rows(errors > far)
            raise DataError(
                f"{where}: standard deviations of more than {TOO_FAR:.0e} times its largest value in {rows}; "
                "give them in the unit of the variable"
            )
        if (errors > 0).any():
            found[variable] = errors
    return found


def _option_columns(
    objective: Objective, options: Mapping[str, Any], read: Callable[[Any, str], Array], name: str
) -> dict[str, Array]:
    """Read the options of an objective that are columns."""
    for option in objective.columns:
        if options.get(option) is None:
            what = objective.options[option].column
            raise UsageError(f"{name}: objective '{objective.name}' needs options={{'{option}': COLUMN}}: {what}")
    return {option: read(options[option], f"{name}: {option}") for option in objective.columns}
