"""What a fit knows of its groups: said in plain words, and one of them as a fit of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from forecast.errors import UsageError, printable
from forecast.fit.data.groups import FEW, number_label
from forecast.laws.grouped import Grouped

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observed
    from forecast.fit.inference.uncertainty import Uncertainty
    from forecast.fit.problem.problem import Problem
    from forecast.fit.solution import Fit

__all__ = ["notes", "one_of", "said"]


def notes(problem: Problem, seen: Observed, known: Uncertainty, name: str) -> list[str]:
    """Return what a reader must know of groups and of errors in x."""
    found, form = [], problem.law._form
    if isinstance(form, Grouped):
        codes = seen.variables[form.by][seen.weights > 0].astype(int)
        counts = np.bincount(codes, minlength=len(form.labels))
        for label, count in zip(form.labels, counts, strict=True):
            if count <= len(form.slots):
                found.append(
                    f"{name}: group '{printable(label, 60)}' has only as many points ({count}) as parameters of its "
                    "own: it says nothing about the shared ones"
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
    form = fit.law._form
    if not isinstance(form, Grouped):
        raise UsageError(f"{fit.name}: has no groups: fit with groups= and own=")
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
