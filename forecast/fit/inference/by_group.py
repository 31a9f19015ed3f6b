"""What a fit knows of its groups: said in plain words, and one of them as a fit of its own."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array
from forecast.errors import UsageError, printable
from forecast.fit.data.groups import number_label
from forecast.fit.fit import Fit
from forecast.fit.problem.problem import solver_coordinates
from forecast.fit.solutions import Solutions
from forecast.laws.grouped import Grouped


def groups_text(fit: Fit) -> list[str]:
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
        lines.append(f"errors in {', '.join(seen.sigma_x)} are counted (orthogonal distances)")
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
    whole = fit.solutions
    assert whole is not None
    known, repeated = whole.known, whole.replicates[0]
    keep = [i for i, n in enumerate(known.names) if n in called]
    names = tuple(called[known.names[i]] for i in keep)
    assessed = replace(
        known,
        names=names,
        at=known.at[keep],
        logs=known.logs[keep],
        covariance=known.covariance[np.ix_([0], keep, keep)],
        bounds=known.bounds[keep],
        sides=known.sides[keep],
        unidentified={
            b: {called[n]: w for n, w in why.items() if n in called} for b, why in known.unidentified.items()
        },
    )
    if repeated is not None:
        repeated = replace(repeated, names=names, values=repeated.values[keep])
    setting = replace(whole.setting, law=form.law, coordinates=solver_coordinates(form.law, fit.name))
    p, logs = np.array([values[n] for n in setting.coordinates.free]), setting.coordinates.logs
    with np.errstate(all="ignore"):
        q = np.where(logs, np.log(np.where(logs, p, 1.0)), p)[:, None]
    result = GroupSolution(
        setting=setting, curves=whole.curves, q=q, settled=whole.settled,
        converged=whole.converged, starts=whole.starts, options=whole.options, given=whole.given, assessed=assessed,
        replicates=(repeated,), of=whole, label=text, numbers=values,
    )  # fmt: skip
    return replace(fit, law=form.law, solutions=result)


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupSolution(Solutions):
    """What the fit of a law with groups says of one of them: parameters of the plain law, which its rows share.

    Parameters
    ----------
    of : Solutions
        Of all groups.
    label : str
    numbers : mapping of str to float
        The parameters of the group.
    """

    of: Solutions
    label: str
    numbers: Mapping[str, float]

    @property
    def group(self) -> str | None:
        """The label: they are the optimum of all groups together, and of none alone."""
        return self.label

    @property
    def whole(self) -> Solutions:
        """The fit of all groups."""
        return self.of

    @functools.cached_property
    def values(self) -> dict[str, Array]:
        """The parameters, of which some may be those of several groups together."""
        return {n: np.array([v]) for n, v in self.numbers.items()}

    def points(self) -> tuple[dict[str, Array], Array]:
        """Return the variables and the observations of the group."""
        form, seen = self.of.law._form, self.curves.one(0)
        assert isinstance(form, Grouped)
        rows = (seen.variables[form.by] == form.labels.index(self.label)) & (seen.weights > 0)
        return {v: c[rows] for v, c in seen.variables.items() if v != form.by}, seen.y[rows]

    @functools.cached_property
    def ranges(self) -> dict[str, tuple[Array, Array]]:
        """The least and the greatest value of each variable among the rows of the group."""
        return {v: (np.array([c.min()]), np.array([c.max()])) for v, c in self.points()[0].items()}

    @functools.cached_property
    def outcome(self) -> NDArray[np.str_]:
        """How the fit of all groups ended, and that this is one of them."""
        form = self.of.law._form
        assert isinstance(form, Grouped)
        group = f"{form.by} {printable(self.label, 60)} of a fit to {len(form.labels)} groups"
        return np.array([f"{self.of.outcome[0]}; {group}"])
