"""What a fit has to say of its data and its search, without any further computation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forecast.errors import printable
from forecast.fit.data.groups import MIN_GROUPS
from forecast.fit.solve.multistart import is_too_few
from forecast.laws.grouped import Grouped

if TYPE_CHECKING:
    from forecast.fit.inference.bootstrap import Replicates
    from forecast.fit.solutions import Solutions


def notes_of_fit(solutions: Solutions) -> tuple[str, ...]:
    """Return the notes of a single fit; what is said of one group is what is said of all."""
    solutions = solutions.whole
    found = [*_search_notes(solutions), *_data_notes(solutions)]
    repeated = solutions.replicates[0]
    if repeated is not None:
        found += _replicate_notes(solutions, repeated)
    return tuple(found)


def of_optimum(solutions: Solutions) -> list[str]:
    """Return whether the optimum is in doubt: none or few of the starts agree on it, or the search did not end."""
    agree, total = int(solutions.starts[0, 0]), int(solutions.starts[1, 0])
    led = "led to the best objective: a better one may exist; give start= to choose"
    scarce = (
        [f"{solutions.name}: only {agree} of {total} starts {led}"] if is_too_few((agree, total)) and agree > 1 else []
    )
    if 0 in solutions.doubts:
        return [f"{solutions.name}: the fit did not converge: {solutions.doubts[0]}", *scarce]
    if total > 1 and agree == 1:
        return [f"{solutions.name}: no two starts {led}"]
    if not solutions.converged[0]:
        return [f"{solutions.name}: the fit did not converge: its parameters are not the optimum"]
    return scarce


def _search_notes(solutions: Solutions) -> list[str]:
    name, known, found = solutions.name, solutions.known, of_optimum(solutions)
    for parameter, reason in known.reasons().items():
        found.append(f"{name}: parameter '{parameter}' is not identified by these data: {reason}")
    return found


def _data_notes(solutions: Solutions) -> list[str]:
    name, seen, known, found = solutions.name, solutions.curves.one(0), solutions.known, []
    n, k = int(solutions.n[0]), len(known.names)
    columns = [*seen.variables.values(), seen.y]
    # one column that differs in most rows says it already
    most = max(np.unique(column).size for column in columns)
    distinct = most if 2 * most > n else len(np.unique(np.column_stack(columns), axis=0))
    if distinct <= n / 2:
        found.append(f"{name}: {n} rows are only {distinct} different ones; the intervals take them as independent")
    if doubt := solutions.objective.doubt(seen.y, seen.weights):
        found.append(f"{name}: {doubt}")
    form = solutions.law._form
    if isinstance(form, Grouped):
        codes = seen.variables[form.by][seen.weights > 0].astype(int)
        for label, count in zip(form.labels, np.bincount(codes, minlength=len(form.labels)), strict=True):
            if count <= len(form.slots):
                found.append(
                    f"{name}: group '{printable(label, 60)}' has only as many points ({count}) as parameters of its "
                    "own: it says nothing about the shared ones"
                )
    if 0 < known.clusters < MIN_GROUPS:
        found.append(f"{name}: {known.clusters} groups are few: cluster-robust standard errors are too small")
    if seen.sigma_x:
        text = f"{name}: errors in {', '.join(seen.sigma_x)} are counted: their true values are solved for"
        estimated = not seen.absolute_sigma
        found.append(text + ("; the scatter of y itself is estimated beside them" if estimated else ""))
    dof = int(known.dof[0])
    if 0 < dof < 5:
        found.append(f"{name}: {n} points for {k} parameters: intervals rest on normal noise")
    return found


def _replicate_notes(solutions: Solutions, repeated: Replicates) -> list[str]:
    name, n = solutions.name, int(solutions.n[0])
    found = repeated.warnings(name)
    if 0 < repeated.clusters < MIN_GROUPS:
        found.append(f"{name}: {repeated.clusters} groups are few: the bootstrap understates the uncertainty")
    if n < solutions.setting.solver.audit.min_warm_points:
        found.append(f"{name}: {n} points are few to resample: the bootstrap understates the uncertainty")
    return found
