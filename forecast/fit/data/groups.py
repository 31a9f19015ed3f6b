"""Groups of rows: read from a column, made part of the law where each has parameters of its own, and said to people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.errors import DataError, FitError, UnknownNameError, UsageError, printable

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observed
    from forecast.fit.inference.uncertainty import Uncertainty
    from forecast.fit.options import Request
    from forecast.fit.problem.problem import Problem
    from forecast.fit.solution import Fit
    from forecast.laws import Law

__all__ = ["FEW", "check", "check_scheme", "coded", "labels_of", "notes", "of_groups", "said", "started"]

Array = NDArray[np.float64]

#: Fewer groups than this say little about how groups differ.
FEW = 10


def labels_of(column: Any, size: int, name: str) -> tuple[NDArray[np.str_], NDArray[np.int64], tuple[str, ...]]:
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
        rows = ", ".join(str(i) for i in np.flatnonzero(missing)[:8] + 1)
        raise DataError(f"{name}: groups: no label in row {rows} of {size} (counted from 1)")
    if values.dtype.kind in "iuf":  # in the order of numbers
        distinct, places = np.unique(values, return_inverse=True)
        labels = [number_label(v) for v in distinct]
    else:
        distinct, places = np.unique(texts, return_inverse=True)
        labels = [str(v) for v in distinct]
    return texts, np.asarray(places, dtype=np.int64).ravel(), tuple(labels)


def number_label(value: Any) -> str:
    """Return a number as the label of a group.

    Examples
    --------
    >>> number_label(7.0)
    '7'
    """
    return f"{float(value):.15g}"


def coded(law: Law, name: str, given: Any, where: str) -> Any:
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


def check(request: Request, name: str) -> tuple[str, ...]:
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


def of_groups(law: Law, seen: Observed, varying: tuple[str, ...], name: str) -> tuple[Law, Observed]:
    """Return the law with own parameters for each group, and the data with the group as a variable.

    Raises
    ------
    DataError
        If there is one group only, or one has fewer points than parameters of its own.
    """
    if seen.groups is None:
        return law, seen
    if len(seen.labels) < 2:
        raise DataError(f"{name}: groups: expected at least 2 different labels, got one ('{seen.labels[0]}')")
    if not varying:
        return law, seen
    for parameter in varying:
        if parameter not in law.parameters:
            raise UnknownNameError("parameter", printable(parameter, 60), law.parameters, where=f"{name}: varying")
    counts = np.bincount(seen.groups[seen.weights > 0], minlength=len(seen.labels))
    for label, count in zip(seen.labels, counts, strict=True):
        if count < len(varying):
            points = "1 point" if count == 1 else f"{count} points"
            raise FitError(
                f"{name}: group '{printable(label, 60)}' has {points} for {len(varying)} parameters of its own "
                f"({', '.join(varying)}); leave it out, or let it share one"
            )
    by = re.sub(r"[^A-Za-z0-9]+", "_", seen.by).strip("_") or "group"
    if not re.match("[A-Za-z]", by):
        by = f"group_{by}"
    taken = {n.lower() for n in (*law.parameters, *law.variables, law.output)}
    while by.lower() in taken:
        by += "_"
    made = law.grouped(by, seen.labels, varying=varying)
    codes = seen.groups.astype(float)
    return made, replace(seen, variables={**seen.variables, by: codes}, groups=None, by=by)


def started(law: Law, start: Mapping[str, float] | None) -> Mapping[str, float] | None:
    """Return a start in which what is given for an own parameter is every group's."""
    from forecast.laws.grouped import Grouped

    if start is None or not isinstance(law._form, Grouped):
        return start
    slots = {p: [n for f in found for n in f.names] for p, found in law._form.slots.items()}
    spread = {n: value for p, value in start.items() for n in slots.get(p, ()) if p not in law.parameters}
    return {**spread, **{n: v for n, v in start.items() if n in law.parameters or n not in slots}}


def notes(problem: Problem, seen: Observed, known: Uncertainty, name: str) -> list[str]:
    """Return what a reader must know of groups and of errors in x."""
    from forecast.laws.grouped import Grouped

    found, form = [], problem.law._form
    if isinstance(form, Grouped):
        codes = seen.variables[form.by][seen.weights > 0].astype(int)
        counts = np.bincount(codes, minlength=len(form.labels))
        for label, count in zip(form.labels, counts, strict=True):
            if count <= len(form.slots):
                found.append(
                    f"{name}: group '{printable(label, 60)}' has only as many points ({count}) as parameters of its "
                    "varying: it says nothing about the shared ones"
                )
    if 0 < known.clusters < FEW:
        found.append(f"{name}: {known.clusters} groups are few: cluster-robust standard errors are too small")
    if seen.sigma_x:
        text = f"{name}: errors in {', '.join(seen.sigma_x)} are counted by the law's slope there (effective variance)"
        estimated = not seen.scale_known
        found.append(text + ("; the scatter of y itself is estimated beside them" if estimated else ""))
    return found


def said(fit: Fit) -> list[str]:
    """Return in plain words what is shared and what is each group's own, and which errors are counted."""
    from forecast.laws.grouped import Grouped

    lines, form, seen, known = [], fit.law._form, fit.data, fit.uncertainty
    if isinstance(form, Grouped):
        shared = [n for n in form.law.parameters if n not in form.slots and n in fit.law.parameters]
        labels = ", ".join(printable(text, 40) for text in form.labels[:12]) + (", …" if len(form.labels) > 12 else "")
        lines.append(f"each of {len(form.labels)} groups has its own {', '.join(form.slots)} ({form.by}: {labels})")
        lines.append(f"shared by all groups: {', '.join(shared) or 'nothing'}")
    if known is not None and known.clusters:
        said_by = f" ({seen.by})" if seen is not None else ""
        lines.append(f"standard errors are cluster-robust over {known.clusters} groups of rows{said_by}")
    if seen is not None and seen.sigma_x:
        lines.append(f"errors in {', '.join(seen.sigma_x)} are counted (effective variance)")
    return lines


def one_of(fit: Fit, label: object) -> Fit:
    """Return what a grouped fit says of one group, as a fit of the law without groups; see `forecast.Fit.group`."""
    from forecast.laws.grouped import Grouped

    form = fit.law._form
    if not isinstance(form, Grouped):
        raise UsageError(f"{fit.name}: has no groups: fit with groups= and varying=")
    text = number_label(label) if isinstance(label, (int, float)) else str(label)
    place = int(form.coded(np.array(text), fit.name))
    called: dict[str, str] = {}  # what a parameter of the grouped law is called in the plain one
    values: dict[str, float] = {}
    for name in form.law.parameters:
        slot = form.slots[name][place] if name in form.slots else None
        for own in slot.names if slot else (name,):
            called[own] = name
        values[name] = float(slot.evaluate(fit.values)) if slot else fit.values[name]
    known, repeated = fit.uncertainty, fit.replicates
    if known is not None:
        keep = [i for i, n in enumerate(known.names) if n in called]
        known = replace(
            known,
            names=tuple(called[known.names[i]] for i in keep),
            at=known.at[keep],
            logs=known.logs[keep],
            covariance=known.covariance[np.ix_(keep, keep)],
            unidentified={called[n]: why for n, why in known.unidentified.items() if n in called},
            bounds={called[n]: bound for n, bound in known.bounds.items() if n in called},
        )
    if repeated is not None:
        keep = [i for i, n in enumerate(repeated.names) if n in called]
        repeated = replace(repeated, names=tuple(called[repeated.names[i]] for i in keep), values=repeated.values[keep])
    ranges = fit.ranges
    if fit.data is not None:
        rows = (fit.data.variables[form.by] == place) & (fit.data.weights > 0)
        columns = {v: c[rows] for v, c in fit.data.variables.items() if v != form.by}
        ranges = {v: (float(c.min()), float(c.max())) for v, c in columns.items()}
    return replace(
        fit,
        law=form.law,
        values=values,
        uncertainty=known,
        replicates=repeated,
        data=None,
        ranges=ranges,
        objective=None,
        outcome=f"{fit.outcome}; {form.by} {printable(text, 60)} of a fit to {len(form.labels)} groups",
    )
