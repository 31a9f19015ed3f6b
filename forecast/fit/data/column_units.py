"""Columns that state a unit, brought into the units of a law before anything is computed."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from forecast import tables, units
from forecast.errors import UnitError, printable
from forecast.fit.options import FitRequest


def in_order(data: Any, request: FitRequest, name: str) -> FitRequest:
    """Return the request with weights, errors and groups that have row labels in the order of the data's rows.

    Raises
    ------
    DataError
        Where their labels are not those of the data.
    """
    labelled = [v for v in (request.weights, request.sigma, request.groups) if hasattr(v, "reindex")]
    errors = request.sigma_x if isinstance(request.sigma_x, Mapping) else {}
    if not labelled and not any(hasattr(v, "reindex") for v in errors.values()):
        return request
    from forecast.tables.frames import align_to_data

    return request.but(
        weights=align_to_data(data, request.weights, f"{name}: weights"),
        sigma=align_to_data(data, request.sigma, f"{name}: sigma"),
        groups=align_to_data(data, request.groups, f"{name}: groups"),
        sigma_x={n: align_to_data(data, v, f"{name}: sigma_x: '{printable(n, 60)}'") for n, v in errors.items()}
        or request.sigma_x,
    )


def in_units(variables: Mapping[str, str], output: Mapping[str, str], data: Any, request: FitRequest, name: str) -> Any:
    """Return data in which every column that is a variable of a law, or its output, is in the law's unit.

    A column without a unit, or with one that we do not know, is taken as it is; so is what a formula computes: inside
    one, a column is a plain number.

    Parameters
    ----------
    variables, output : mapping of str to str
        Of the law: the unit of each variable, and of the output, by name.
    data : as in `forecast.Law.fit`
    request : Request
        Says which column is which variable.
    name : str
        Of the law, for messages.

    Returns
    -------
    xarray.Dataset where `data` is one with the dimension ``request.by``, else `forecast.tables.columns.Columns`

    Raises
    ------
    UnitError
        Naming both units, where one cannot be converted into the other.

    Examples
    --------
    >>> import forecast, xarray as xr
    >>> from forecast.fit.options import FitRequest
    >>> law = forecast.law("scaling/chinchilla")
    >>> runs = xr.Dataset({"D": ("run", [1.0, 2.0], {"unit": "Ttoken"})})
    >>> in_units(law.variables, {law.output: law.unit}, runs, FitRequest(), "law")["D"]
    array([1.e+12, 2.e+12])
    """
    from forecast.tables.intake import declared_units

    let = request.let or {}
    wanted = [(let.get(v, v), unit, f"variable '{v}'") for v, unit in variables.items()]
    wanted += [(name_of_y if request.y is None else request.y, unit, "y") for name_of_y, unit in output.items()]
    grid = request.by is not None and request.by in getattr(data, "dims", ())
    columns = None if grid else tables.to_columns(data, where=name)
    known = columns.units if columns is not None else declared_units(data.variables)
    changed, became = {}, {}
    for column, unit, what in wanted:
        stated = known.get(column)
        if not unit or stated is None or stated == unit or not _is_unit(stated):
            continue
        values = np.asarray(data[column].values if columns is None else columns[column])
        if values.dtype.kind in "fiu":
            at = f"{name}: {what}: column '{printable(column, 60)}'"
            changed[column], became[column] = units.convert(values.astype(float), stated, unit, where=at), unit
    if columns is None:
        return data.assign({n: data[n].copy(data=v).assign_attrs(unit=became[n]) for n, v in changed.items()})
    return columns.replaced(changed, became) if changed else columns


@functools.lru_cache(256)
def _is_unit(unit: str) -> bool:
    try:
        units.label(unit)
    except UnitError:
        return False
    return True
