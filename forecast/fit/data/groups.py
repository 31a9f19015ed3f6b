"""Groups of rows: read from a column, and made part of the law where each has parameters of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array, IntArray
from forecast.errors import DataError, FitError, UnknownNameError, UsageError, first_names, printable

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observations
    from forecast.fit.options import FitRequest
    from forecast.laws import Law


#: Fewer groups than this say little about how groups differ.
MIN_GROUPS = 10


def labels_of(column: Any, size: int, name: str) -> tuple[NDArray[np.str_], IntArray, tuple[str, ...]]:
    """Return the label of each row, its place among the labels, and the labels in order.

    Raises
    ------
    DataError
        For a wrong number of labels, and for missing ones, naming the rows.
    """
    values = np.ravel(np.asarray(column))
    if values.size != size or np.ndim(column) == 0:
        raise DataError(f"{name}: groups: expected {size} labels, one a row, got {values.size}")
    if values.dtype.kind in "iuf":
        missing = np.isnan(values.astype(float))
        texts = np.array([number_label(v) for v in values])
    else:
        texts = np.array([str(v) for v in values])
        missing = np.array([v is None or t.strip() in ("", "NaT", "nan") for v, t in zip(values, texts, strict=True)])
    if missing.any():
        rows = first_names(np.flatnonzero(missing) + 1)
        raise DataError(f"{name}: groups: no label in row {rows} of {size} (counted from 1)")
    if values.dtype.kind in "iuf":  # in the order of numbers
        distinct, places = np.unique(values, return_inverse=True)
        labels = [number_label(v) for v in distinct]
    else:
        distinct, places = np.unique(texts, return_inverse=True)
        labels = [str(v) for v in distinct]
    return texts, np.asarray(places, dtype=np.int64).ravel(), tuple(labels)


def point_codes(columns: Sequence[Array]) -> IntArray:
    """Return which rows stand at one point, an integer from 0 each, in the order of their values.

    Many times faster than ``numpy.unique`` along an axis, which compares rows as bytes.

    Examples
    --------
    >>> point_codes([np.array([2.0, 1.0, 2.0]), np.array([5.0, 5.0, 5.0])]).tolist()
    [1, 0, 1]
    """
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        own = np.unique(column, return_inverse=True)[1].ravel()
        codes = codes * (own.max(initial=0) + 1) + own
        codes = np.unique(codes, return_inverse=True)[1].ravel() if len(columns) > 1 else codes
    return codes


def number_label(value: Any) -> str:
    """Return a number as the label of a group.

    Examples
    --------
    >>> number_label(7.0)
    '7'
    """
    return f"{float(value):.15g}"


def group_codes(law: Law, name: str, given: Any, where: str) -> Any:
    """Return the places of labels, text or numbers, among the groups of a law; other variables are left as they are.

    Raises
    ------
    UnknownNameError
        With the nearest label.
    """
    if name not in law.levels:
        return given
    values = np.asarray(getattr(given, "values", given))
    numbers = values.dtype.kind in "iuf"
    texts = np.array([number_label(v) if numbers else str(v) for v in values.flat]).reshape(values.shape)
    return law._coded(name, given.copy(data=texts) if hasattr(given, "dims") else texts)


def check_varying(request: FitRequest, name: str) -> tuple[str, ...]:
    """Return the names of own parameters.

    Raises
    ------
    UsageError
        For what does not go together.
    """
    if isinstance(request.varying, str):
        raise UsageError(
            f"{name}: varying: expected names like ('E',), got the text '{printable(request.varying, 60)}'"
        )
    varying = tuple(dict.fromkeys(request.varying))
    if varying and request.groups is None:
        raise UsageError(f"{name}: varying={varying!r} needs groups=, the column that says each row's group")
    if request.bootstrap is not None:
        check_scheme(request.resample, varying, request.sigma_x or (), name)
    for option in ("sigma_x", "groups"):
        given = getattr(request, option)
        if request.by is not None and given is not None and not (option == "sigma_x" and not given):
            raise UsageError(f"{name}: by= does not take {option}=")
    return varying


def check_scheme(resample: str, varying: Iterable[str], sigma_x: Iterable[str], name: str) -> None:
    """Raise `UsageError` for a way of resampling that own parameters or errors in x do not allow."""
    lonely = next(iter(varying), None)
    if lonely is not None and resample == "cluster":
        raise UsageError(
            f"{name}: resample='cluster' draws whole groups, and a group that is not drawn has no '{lonely}' of its own"
        )
    if resample in ("residuals", "wild") and next(iter(sigma_x), None) is not None:
        raise UsageError(
            f"{name}: resample='{resample}' keeps the variables as they are, and these have errors: use 'pairs'"
        )


def of_groups(law: Law, observations: Observations, varying: tuple[str, ...], name: str) -> tuple[Law, Observations]:
    """Return the law with own parameters for each group, and the data with the group as a variable.

    Raises
    ------
    DataError
        If there is one group only, or one has fewer points than parameters of its own.
    """
    if observations.groups is None:
        return law, observations
    if len(observations.group_labels) < 2:
        raise DataError(
            f"{name}: groups: expected at least 2 different labels, got one ('{observations.group_labels[0]}')"
        )
    if not varying:
        return law, observations
    for parameter in varying:
        if parameter not in law.parameters:
            raise UnknownNameError("parameter", printable(parameter, 60), law.parameters, where=f"{name}: varying")
    counts = np.bincount(observations.groups[observations.weights > 0], minlength=len(observations.group_labels))
    for label, count in zip(observations.group_labels, counts, strict=True):
        if count < len(varying):
            points = "1 point" if count == 1 else f"{count} points"
            raise FitError(
                f"{name}: group '{printable(label, 60)}' has {points} for {len(varying)} parameters of its own "
                f"({', '.join(varying)}); leave it out, or let it share one"
            )
    by = re.sub(r"[^A-Za-z0-9]+", "_", observations.by).strip("_") or "group"
    if not re.match("[A-Za-z]", by):
        by = f"group_{by}"
    taken = {n.lower() for n in (*law.parameters, *law.variables, law.output)}
    while by.lower() in taken:
        by += "_"
    result = law.grouped(by, observations.group_labels, varying=varying)
    codes = observations.groups.astype(float)
    return result, replace(observations, variables={**observations.variables, by: codes}, groups=None, by=by)


def expand_start(law: Law, start: Mapping[str, float] | None) -> Mapping[str, float] | None:
    """Return a start in which what is given for an own parameter is every group's."""
    from forecast.laws.grouped import Grouped

    if start is None or not isinstance(law._form, Grouped):
        return start
    slots = {p: [n for f in found for n in f.names] for p, found in law._form.slots.items()}
    spread = {n: value for p, value in start.items() for n in slots.get(p, ()) if p not in law.parameters}
    return {**spread, **{n: v for n, v in start.items() if n in law.parameters or n not in slots}}
