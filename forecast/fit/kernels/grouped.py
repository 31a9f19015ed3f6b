"""The kernel of a grouped law: the law's own derivatives at every point, summed group by group.

A point knows the parameters of its own group only, so that what is summed is the law's few derivatives and not those of
every group's parameters: 20 groups cost little more than one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from forecast.base.arrays import Array
from forecast.fit.kernels.general import Placement, ProgramKernel
from forecast.laws import Law
from forecast.laws.grouped import Grouped


def is_supported(law: Law, variables: Mapping[str, Array]) -> bool:
    """Tell whether a law is grouped, has a formula, and all fits share the points."""
    form = law._form
    return (
        isinstance(form, Grouped)
        and form.law.expression is not None
        and all(v.ndim == 1 for v in variables.values())
    )  # fmt: skip


class GroupKernel(ProgramKernel):
    """A grouped law at the points; see `forecast.fit.kernels.general.Kernel`.

    Parameters
    ----------
    placement : Placement
        Of a grouped law, with the groups among the variables, all of them (n,).
    program : Program, optional
        That of the law that each group follows, where it is at hand.
    """

    def __init__(self, placement: Placement, *, program: Any = None) -> None:
        form = placement.law._form
        assert isinstance(form, Grouped)
        super().__init__(placement, program=form.law.program() if program is None else program)
        self.form, self.codes = form, placement.variables[form.by]
        self.points = {n: placement.variables[n] for n in form.law.variables}
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

    def _evaluated(self, parameters: dict[str, Any], order: int) -> tuple[Any, list[Any], Any]:
        """Return value, slopes and curvatures of the law that each group follows, each point with those of its own."""
        chosen = self.form.chosen({**parameters, self.form.by: self.codes})
        shared = {n: parameters[n] for n in self.form.law.parameters if n not in chosen}
        return self.program.evaluate({**shared, **chosen, **self.points}, order)  # type: ignore[no-any-return]

    def _sums(self, slopes: list[Any], curves: Any, slope: Array, second: Array, bend: Array) -> tuple[Array, Array]:
        """Return gradient and Hessian by the parameters as the law has them."""
        k, count = len(self.free), len(slope)
        gradient, hessian = np.zeros((k, count)), np.zeros((k, k, count))
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
        return gradient, hessian

    def _summed(self, table: Array, groups: set[int | None]) -> dict[int | None, Array]:
        """Return the sums over the requested `groups`: over all points under None, over a group under its place."""
        found: dict[int | None, Array] = {}
        if groups - {None}:
            sums = table @ self.member
            found.update({g: sums[:, g] for g in groups if g is not None})
        if None in groups:
            found[None] = table.sum(axis=1)
        return found

    def _slope_table(self, slopes: list[Any], shape: tuple[int, ...]) -> Array:
        """Return the slopes by the free parameters as one array, (k, B, n)."""
        table = np.zeros((len(self.free), *shape))
        for i, mine in enumerate(self.places):
            for a, group in mine:
                table[a] += np.multiply(slopes[i], 1.0 if group is None else self.member[:, group])
        return table
