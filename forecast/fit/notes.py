"""What a fit has to say of its data and its search, without any further computation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forecast.errors import printable
from forecast.fit.data.groups import FEW
from forecast.fit.inference.bootstrap import FEW as FEW_TO_RESAMPLE
from forecast.fit.inference.resample import FEW_GROUPS
from forecast.fit.solve.multistart import few
from forecast.laws.grouped import Grouped

if TYPE_CHECKING:
    from forecast.fit.inference.replicates import Replicates
    from forecast.fit.solutions import Solutions

__all__ = ["notes", "of_optimum"]


def notes(made: Solutions) -> tuple[str, ...]:
    """Return the notes of a single fit; what is said of one group is what is said of all."""
    made = made.whole
    found = [*_of_search(made), *_of_data(made)]
    repeated = made.replicates[0]
    if repeated is not None:
        found += _of_replicates(repeated, made.name, int(made.n[0]))
    return tuple(found)


def of_optimum(made: Solutions) -> list[str]:
    """Return whether the optimum is in doubt: none or few of the starts agree on it, or the search did not end."""
    agree, total = int(made.starts[0, 0]), int(made.starts[1, 0])
    led = "led to the best objective: a better one may exist; give start= to choose"
    scarce = [f"{made.name}: only {agree} of {total} starts {led}"] if few((agree, total)) and agree > 1 else []
    if 0 in made.doubts:
        return [f"{made.name}: the fit did not converge: {made.doubts[0]}", *scarce]
    if total > 1 and agree == 1:
        return [f"{made.name}: no two starts {led}"]
    if not made.converged[0]:
        return [f"{made.name}: the fit did not converge: its parameters are not the optimum"]
    return scarce


def _of_search(made: Solutions) -> list[str]:
    name, known, found = made.name, made.known, of_optimum(made)
    for parameter, reason in known.reasons().items():
        found.append(f"{name}: parameter '{parameter}' is not identified by these data: {reason}")
    return found


def _of_data(made: Solutions) -> list[str]:
    name, seen, known, found = made.name, made.curves.one(0), made.known, []
    n, k = int(made.n[0]), len(known.names)
    columns = [*seen.variables.values(), seen.y]
    # one column that differs in most rows says it already
    most = max(np.unique(column).size for column in columns)
    distinct = most if 2 * most > n else len(np.unique(np.column_stack(columns), axis=0))
    if distinct <= n / 2:
        found.append(f"{name}: {n} rows are only {distinct} different ones; the intervals take them as independent")
    if doubt := made.objective.doubt(seen.y, seen.weights):
        found.append(f"{name}: {doubt}")
    form = made.law._form
    if isinstance(form, Grouped):
        codes = seen.variables[form.by][seen.weights > 0].astype(int)
        for label, count in zip(form.labels, np.bincount(codes, minlength=len(form.labels)), strict=True):
            if count <= len(form.slots):
                found.append(
                    f"{name}: group '{printable(label, 60)}' has only as many points ({count}) as parameters of its "
                    "own: it says nothing about the shared ones"
                )
    if 0 < known.clusters < FEW:
        found.append(f"{name}: {known.clusters} groups are few: cluster-robust standard errors are too small")
    if seen.sigma_x:
        text = f"{name}: errors in {', '.join(seen.sigma_x)} are counted: their true values are solved for"
        estimated = not seen.scale_known
        found.append(text + ("; the scatter of y itself is estimated beside them" if estimated else ""))
    dof = int(known.dof[0])
    if 0 < dof < 5:
        found.append(f"{name}: {n} points for {k} parameters: intervals rest on normal noise")
    return found


def _of_replicates(repeated: Replicates, name: str, n: int) -> list[str]:
    found = repeated.warnings(name)
    if 0 < repeated.clusters < FEW_GROUPS:
        found.append(f"{name}: {repeated.clusters} groups are few: the bootstrap understates the uncertainty")
    if n < FEW_TO_RESAMPLE:
        found.append(f"{name}: {n} points are few to resample: the bootstrap understates the uncertainty")
    return found
