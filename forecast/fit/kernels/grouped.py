"""The kernel of a grouped law: the law's own derivatives at every point, summed group by group.

A point knows the parameters of its own group only, so that what is summed is the law's few derivatives and not those of
every group's parameters: 20 groups cost little more than one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.fit.kernels.general import LawState, Placement, natural, of_fits, to_logs
from forecast.laws.grouped import Grouped

if TYPE_CHECKING:
    from forecast.laws import Law

__all__ = ["GroupKernel", "is_supported"]

Array: TypeAlias = NDArray[np.float64]


def is_supported(law: Law, variables: Mapping[str, Array]) -> bool:
    """Tell whether a law is grouped, has a formula, and all fits share the points."""
    form = law._form
    return (
        isinstance(form, Grouped)
        and form.law.expression is not None
        and all(v.ndim == 1 for v in variables.values())
    )  # fmt: skip


class GroupKernel:
    """A grouped law at the points; see `forecast.fit.kernels.general.Kernel`.

    Parameters
    ----------
    placement : Placement
        Of a grouped law, with the groups among the variables, all of them (n,).
    """

    def __init__(self, placement: Placement) -> None:
        form = placement.law._form
        assert isinstance(form, Grouped)
        self.placement = placement
        self.form, self.free, self.logs, self.fixed = form, placement.free, placement.logs, placement.fixed
        self.link = placement.link
        self.program = form.law.program()
        self.points = {n: placement.variables[n] for n in form.law.variables}
        self.codes = placement.variables[form.by]
        self.n = self.codes.size
        self.member = (self.codes[:, None] == np.arange(len(form.labels))).astype(float)
        roles = form.roles()
        #: For each parameter of the law, the coordinates that take its place: (coordinate, group or None).
        self.places: list[list[tuple[int, int | None]]] = [[] for _ in form.law.parameters]
        for a, name in enumerate(self.free):
            for i, group in roles[name]:
                self.places[i].append((a, group))
        #: For each pair of the law's parameters, the coordinates that meet in some group: (one, other, which sum).
        self.pairs = {
            (i, j): [
                (a, b, other if group is None else group)
                for a, group in mine
                for b, other in self.places[j]
                if group is None or other is None or group == other
            ]
            for i, mine in enumerate(self.places)
            for j in range(i + 1)
        }

    def fits(self, state: LawState, rows: Any) -> LawState:
        """Return the law of some of the fits."""
        return of_fits(state, rows)

    def take(self, rows: Any) -> GroupKernel:
        """Return the kernel of some of the fits."""
        return self

    def some(self, points: slice) -> GroupKernel:
        """Return the kernel at some of the points."""
        return GroupKernel(self.placement.some(points))

    def at(self, q: Array, order: int = 2) -> LawState:
        """Return the law at parameters (k, B)."""
        with np.errstate(all="ignore"):
            p = natural(q, self.logs)
            given: dict[str, Any] = {n: np.float64(v) for n, v in self.fixed.items()}
            given |= {name: p[i][:, None] for i, name in enumerate(self.free)}
            chosen = self.form.chosen({**given, self.form.by: self.codes})
            shared = {n: given[n] for n in self.form.law.parameters if n not in chosen}
            value, slopes, curves = self.program.evaluate({**shared, **chosen, **self.points}, order)
            value = np.broadcast_to(value, (q.shape[1], self.n))
            f = np.log(value) if self.link else value
        return LawState(f, (p, value, slopes, curves))

    def contract(self, state: LawState, first: Array, second: Array, share: Array | None = None) -> tuple[Array, Array]:
        """Return gradient (k, B) and Hessian (k, k, B); see `Kernel.contract`."""
        p, value, slopes, curves = state.inner
        k, shape = len(self.free), first.shape
        with np.errstate(all="ignore"):
            slope = first
            if self.link:  # derivatives of log f from those of f
                inverse = 1.0 / value
                slope = first * inverse
                second = (second - (first if share is None else share * first)) * inverse * inverse
            bend = slope if share is None else share * slope
            gradient, hessian = np.zeros((k, shape[0])), np.zeros((k, k, shape[0]))
            for i, mine in enumerate(self.places):
                if not mine:
                    continue
                sums = self._summed(np.multiply(slopes[i], slope), {group for _, group in mine})
                for a, group in mine:
                    gradient[a] += sums[group]
                side = np.multiply(second, slopes[i])
                for j in range(i + 1):
                    pairs = self.pairs[i, j]
                    if not pairs:
                        continue
                    table = np.multiply(side, slopes[j])
                    if (j, i) in curves:
                        table = table + np.multiply(curves[j, i], bend)
                    sums = self._summed(table, {group for _, _, group in pairs})
                    for a, b, group in pairs:
                        hessian[a, b] += sums[group]
                        if j < i:
                            hessian[b, a] += sums[group]
            return to_logs(gradient, hessian, p, self.logs, share)

    def _summed(self, table: Array, groups: set[int | None]) -> dict[int | None, Array]:
        """Return the sums over the requested `groups`: over all points under None, over a group under its place."""
        found: dict[int | None, Array] = {}
        if groups - {None}:
            sums = table @ self.member
            found.update({g: sums[:, g] for g in groups if g is not None})
        if None in groups:
            found[None] = table.sum(axis=1)
        return found

    def jacobian(self, state: LawState) -> Array:
        """Return the derivatives of f by the coordinates, (k, B, n)."""
        p, value, slopes, _ = state.inner
        table = np.zeros((len(self.free), *value.shape))
        with np.errstate(all="ignore"):
            for i, mine in enumerate(self.places):
                for a, group in mine:
                    table[a] += np.multiply(slopes[i], 1.0 if group is None else self.member[:, group])
            table *= np.where(self.logs[:, None], p, 1.0)[:, :, None]
            return table / value if self.link else table
