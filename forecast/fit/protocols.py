"""Published ways of fitting, by name: which rows they take, and how they fit them.

The two parts are kept apart. Rows are chosen only where somebody asks, by `Protocol.select`; a fit by a protocol never
drops one.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from forecast import formula, tables
from forecast.base.arrays import Array, BoolArray
from forecast.base.lazy import xr
from forecast.base.notebook_html import HtmlText
from forecast.contract.published import ProtocolSpec
from forecast.errors import DataError, EmptyDataError, FormulaError, UnknownNameError, UsageError, printable
from forecast.fit.data.observations import column_numbers, read_observations
from forecast.fit.fit import Fit
from forecast.fit.options import FitKeywords, FitRequest
from forecast.formula.tree import COMPARISON_FUNCTIONS
from forecast.laws import Law, law
from forecast.tables.column_names import meant

#: Points of a grid of starts that are looked at once.
MAX_STARTS = 100_000

_DROP = re.compile(r"drop (\d{1,6}) (largest|smallest) (\S.*)")
_PRESENT = re.compile(r"present (\S.*)")
_IS = re.compile(r"(\S.*?) is (\S.*)")


@dataclass(frozen=True)
class Protocol(HtmlText):
    """A published way of fitting a law. Made by `forecast.protocol`.

    Attributes
    ----------
    law : str
        The full name of the law.
    spec : forecast.ProtocolSpec
        The record: rows, objective, starts, source.
    """

    law: str
    spec: ProtocolSpec

    @property
    def name(self) -> str:
        """Its name, without that of the law."""
        return self.spec.name

    def __repr__(self) -> str:
        return f"<Protocol {self.law}@{self.name}: {self.spec.title}>"

    def select(self, data: Any, *, held_out: bool = False) -> xr.Dataset:
        """Return the rows that the source fits, with the columns that the protocol adds.

        Parameters
        ----------
        data : xarray.Dataset, pandas or polars DataFrame, dict of arrays, path, or the name of a table
        held_out : bool
            Return the rows that the source keeps for judging its fit instead.

        Returns
        -------
        xarray.Dataset
            Along ``row``, whose coordinate counts the rows of `data` from 0.

        Raises
        ------
        UnknownNameError
            For a column that is not there.
        EmptyDataError
            If no row is left.

        Examples
        --------
        >>> import forecast
        >>> runs = {"Model Size": [1e8] * 7, "Training FLOP": [1e19] * 7, "loss": [3, 9, 4, 8, 5, 7, 6]}
        >>> chosen = forecast.protocol("besiroglu2024").select(runs)
        >>> chosen["loss"].values, chosen["row"].values
        (array([3., 4.]), array([0, 2]))
        """
        where = f"protocol '{self.name}'"
        columns = _with_protocol_columns(self.spec, data, law(self.law).variables, where)
        kept = keep_rows(columns, self.spec.keep, where=where)
        chosen = keep_rows(columns, self.spec.train, where=where, among=kept)
        if held_out:
            chosen = kept & ~chosen
        if not chosen.any():
            what = "holds out no row" if held_out else "leaves no row"
            raise EmptyDataError(f"{where}: {what} of {chosen.size}")
        rows = np.flatnonzero(chosen)
        found = {name: ("row", values[rows]) for name, values in columns.items() if name != "row"}
        attrs = {"protocol": f"{self.law}@{self.name}", "rows": len(rows), "rows_given": chosen.size}
        return xr.Dataset(found, coords={"row": rows}, attrs=attrs)

    def fit(self, data: Any, **options: Unpack[FitKeywords]) -> Fit:
        """Fit the law to all rows of `data` as the source does: ``law.fit(data, protocol=name)``.

        Parameters
        ----------
        data : xarray.Dataset, pandas or polars DataFrame, dict of arrays, path, or the name of a table
        **options
            As in `forecast.Law.fit`, but for what the protocol says: the objective and the start.
        """
        keywords: FitKeywords = {**options, "protocol": self.name}
        found: Fit = law(self.law).fit(data, **keywords)
        return found


def protocol(name: str, *, law: str | None = None) -> Protocol:
    """Return a published protocol by its name, alone or with its law: ``scaling/chinchilla@besiroglu2024``.

    Parameters
    ----------
    name : str
    law : str, optional
        Full name of the law whose protocols are meant.

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> import forecast
    >>> forecast.protocol("besiroglu2024").law
    'scaling/chinchilla'
    """
    from forecast.contract.registry import get_registry

    if not isinstance(name, str):
        raise UsageError(f"expected the name of a protocol, got {type(name).__name__}")
    before, at, short = name.rpartition("@")
    registry = get_registry()
    law_name = registry.find("law", before).full_name if at else law
    if law is not None and law_name != law:
        raise UsageError(f"protocol '{printable(name, 80)}': is of another law than '{law}'")
    protocols: dict[str, list[Protocol]] = {}
    for record in registry.records("law"):
        if law_name is None or record.full_name == law_name:
            for spec in record.spec.protocols:
                protocols.setdefault(spec.name, []).append(Protocol(record.full_name, spec))
    if short not in protocols:
        raise UnknownNameError("protocol", short, protocols, where="" if law_name is None else f"law '{law_name}'")
    if len(protocols[short]) > 1:
        laws = ", ".join(f"{p.law}@{short}" for p in protocols[short])
        raise UsageError(f"protocol '{printable(short, 80)}' is one of several laws: write {laws}")
    return protocols[short][0]


# Rows ----------------------------------------------------------------------------------------------------------------


def check_rule(rule: str, *, where: str = "") -> None:
    """Raise `FormulaError` unless a text is a rule for rows.

    Examples
    --------
    >>> check_rule("drop 5 largest loss"), check_rule("C <= 84")
    (None, None)
    """
    if not (_DROP.fullmatch(rule) or _PRESENT.fullmatch(rule) or _IS.fullmatch(rule)):
        formula.parse_row_condition(rule, where=where)


def keep_rows(
    columns: Mapping[str, Any], rules: Sequence[str], *, where: str = "", among: BoolArray | None = None
) -> BoolArray:
    """Mark the rows that pass every rule, each rule looking at what those before it left.

    Parameters
    ----------
    columns : mapping of str to array
    rules : sequence of str
        As in `forecast.ProtocolSpec`.
    where : str
        For messages.
    among : array of bool, optional
        The rows to begin with. Default: all.
    """
    size = len(next(iter(columns.values()))) if columns else 0
    kept = np.ones(size, dtype=bool) if among is None else among.copy()
    for rule in rules:
        kept &= _rule_mask(columns, rule, kept, f"{where}: rule '{printable(rule, 80)}'")
    return kept


def _find_column(columns: Mapping[str, Any], name: str, where: str) -> Any:
    return columns[meant(name, columns, where)]


def _rule_mask(columns: Mapping[str, Any], rule: str, mask: BoolArray, where: str) -> BoolArray:

    if found := _DROP.fullmatch(rule):
        count, side, name = int(found[1]), found[2], found[3]
        values = _numeric_column(columns, name, where) * (1.0 if side == "largest" else -1.0)
        order = np.sort(values[mask & ~np.isnan(values)])
        if not 0 < count <= order.size:
            raise DataError(f"{where}: only {order.size} rows have '{printable(name, 60)}'")
        return np.asarray(values < order[-count])
    if found := _PRESENT.fullmatch(rule):
        values = np.asarray(_find_column(columns, found[1], where))
        if values.dtype.kind == "f":
            return ~np.isnan(values)
        return ~np.isnat(values) if values.dtype.kind == "M" else np.array([v not in ("", None) for v in values])
    if found := _IS.fullmatch(rule):
        return np.array([str(v) == found[2] for v in np.asarray(_find_column(columns, found[1], where))])
    condition = formula.parse_row_condition(rule, where=where)
    known = {name: _numeric_column(columns, name, where) for name in condition.names}
    with np.errstate(invalid="ignore"):
        passing = COMPARISON_FUNCTIONS[condition.op](condition.left.evaluate(known), condition.right.evaluate(known))
    return np.broadcast_to(np.asarray(passing), mask.shape)


def _numeric_column(columns: Mapping[str, Any], name: str, where: str) -> Array:

    return column_numbers(columns, meant(name, columns, where), where)


def _with_protocol_columns(spec: ProtocolSpec, data: Any, needed: Iterable[str], where: str) -> dict[str, Any]:
    """Return the columns of the data and those that the protocol adds; names the data have already stay as they are.

    What cannot be added is an error where it is needed, and left out where not.
    """
    columns = dict(tables.to_columns(data, where=where))
    for name in needed:
        if name in spec.columns:
            _add(columns, spec, name, where)
    for name in spec.columns:
        with contextlib.suppress(UnknownNameError):
            _add(columns, spec, name, where)
    return columns


def _add(columns: dict[str, Any], spec: ProtocolSpec, name: str, where: str) -> None:
    """Add one of the protocol's columns, and before it those it is computed from."""
    if name in columns:
        return
    source, at = spec.columns[name], f"{where}: column '{name}'"
    if source in columns:
        columns[name] = columns[source]
        return
    try:
        parsed = formula.parse(source, where=at)
    except FormulaError:  # the name of a column, and no formula
        raise UnknownNameError("column", source, columns, where=at) from None
    before = list(spec.columns)[: list(spec.columns).index(name)]
    for used in parsed.names:
        if used in before:
            _add(columns, spec, used, where)
    values = {used: _numeric_column(columns, used, at) for used in parsed.names}
    size = len(next(iter(columns.values())))
    columns[name] = np.broadcast_to(np.asarray(parsed.evaluate(values), dtype=float), (size,)).copy()


# Fits ----------------------------------------------------------------------------------------------------------------


def fit_by(fit: Callable[[Law, Any, FitRequest], Any], law: Law, data: Any, request: FitRequest) -> Any:
    """Fit a law by one of its protocols; what `forecast.Law.fit` does with ``protocol=``.

    Parameters
    ----------
    fit : callable
        ``fit(law, data, request)``, without a protocol.
    law : forecast.Law
    data : as in `forecast.Law.fit`
    request : Request
        The request of the caller; it names the protocol.
    """
    name = str(request.protocol)
    if law.name is None:
        raise UsageError(f"protocol '{printable(name, 80)}': only a law of the catalogue has protocols")
    chosen = protocol(name, law=law.name)
    spec, where = chosen.spec, f"{law.name}@{chosen.name}"
    for key in ("objective", "options", "start"):
        if getattr(request, key) is not None:
            raise UsageError(f"{where}: {key}: the protocol says it; give one of the two")
    columns = _with_protocol_columns(spec, data, law.variables, where)
    if request.by is not None and request.by in getattr(data, "dims", ()):
        columns = _drop_padding(columns, str(request.y or spec.y or law.output))
    complete_request = request.but(
        protocol=None,
        objective=spec.objective,
        options=spec.options,
        y=request.y if request.y is not None else spec.y,
        let={v: f for v, f in spec.let.items() if v not in columns} | dict(request.let or {}),
    )
    reduced = law.with_(**dict[str, Any](spec.fix)) if spec.fix else law
    if spec.starts:
        complete_request = complete_request.but(start=_best_start(reduced, spec, columns, complete_request, where))
    return fit(reduced, columns, complete_request)


def protocol_starts(spec: ProtocolSpec) -> dict[str, Array]:
    """Return the grid of starts of a protocol as parameters: one column each, a row a start."""
    size = math.prod(map(len, spec.starts.values()))
    if size > MAX_STARTS:
        raise UsageError(f"protocol '{spec.name}': {size} starts; the limit is {MAX_STARTS}")
    grid = np.array(list(itertools.product(*spec.starts.values())), dtype=float).reshape(size, -1)
    return {
        name: np.exp(column) if spec.coordinates.get(name) == "log" else column
        for name, column in zip(spec.starts, grid.T, strict=True)
    }


def _drop_padding(columns: dict[str, Any], y: str) -> dict[str, Any]:
    """Return the rows of a grid without those that fill up its shorter curves: they have no observation."""
    if y not in columns or columns[y].dtype.kind != "f":
        return columns
    there = ~np.isnan(columns[y])
    return {name: np.asarray(values)[there] for name, values in columns.items()}


def _best_start(
    law: Law, spec: ProtocolSpec, columns: Mapping[str, Any], request: FitRequest, where: str
) -> dict[str, Any]:
    """Return the start of the grid at which the objective is lowest, of each curve where there are many.

    Starts on a bound of the law are left out.
    """
    from forecast.fit.objectives import find_objective

    objective = find_objective(spec.objective, where=where)
    seen = read_observations(law, columns, request, objective=objective, options=request.options or {}, name=where)
    grid = protocol_starts(spec)
    inside = np.ones(len(next(iter(grid.values()))), dtype=bool)
    for name, values in grid.items():
        low, high = law.bounds[name]
        inside &= (values > low) & (values < high)
    if not inside.any():
        raise UsageError(f"{where}: every start is on a bound")
    shape = (-1, *(1,) * seen.y.ndim)
    grid = {name: values[inside].reshape(shape) for name, values in grid.items()}
    options = {**objective.resolve_options(spec.options, where), **seen.columns}
    loss = objective.as_squares() if objective.is_open(options) else objective
    y = objective.linked(seen.y)
    costs = np.empty((inside.sum(), *seen.y.shape[:-1]))
    step = max(1, 1_000_000 // seen.y.size)
    for first in range(0, len(costs), step):
        part = slice(first, first + step)
        predicted = law.value({n: v[part] for n, v in grid.items()}, **seen.variables)
        costs[part] = np.sum(seen.weights * loss.losses(objective.linked(predicted), y, options)[0], axis=-1)
    best = np.argmin(np.where(np.isfinite(costs), costs, np.inf), axis=0)
    found = {name: np.ravel(values)[best] for name, values in grid.items()}
    return found if request.by is not None else {name: float(value) for name, value in found.items()}
