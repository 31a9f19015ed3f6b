"""Who is best, with which probability: the values of a choice compared draw by draw, in the same worlds.

A projection keeps the last level of every value of the choice, and whether it takes part.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import units
from forecast.base.arrays import Array, BoolArray
from forecast.base.lazy import xr
from forecast.base.quantiles import QUANTILES
from forecast.errors import printable
from forecast.projection.failures import Attempt, BlockSlice
from forecast.projection.likelihood_weights import Updates, value_quantiles, weighted_share
from forecast.projection.streaming.columns import Column, Columns
from forecast.projection.streaming.histograms import ValueHistogram
from forecast.scenarios.quantities.node import Combination

if TYPE_CHECKING:
    from forecast.formula import Formula
    from forecast.projection.evaluate import Block
    from forecast.projection.plan import Plan


class Ranked(Columns):
    """What the worlds of a batch say to every ranking of a graph.

    Parameters
    ----------
    plan : Plan
    kept : int
        The number of worlds that are kept one by one.
    updates : Updates
    counting : bool
        Worlds are counted.
    """

    def __init__(self, plan: Plan, n_stored: int, updates: Updates, *, counting: bool) -> None:
        graph = plan.graph
        super().__init__(graph)
        self.rankings, self.updates = graph.scenario.rankings, updates
        self.units = {n: units.infer(r.rank, graph.unit_of) for n, r in self.rankings.items()}
        new_counts = partial(ValueHistogram, 1, weighted=updates.weighing) if counting else None
        for name, r in self.rankings.items():
            dims = graph.dims([*r.rank.names, *(n for c in r.among for n in c.names), *graph.weighed_by])
            # sums: how much is first, takes part, does not fail, and what all of that counts beside others that fail
            self.columns[name] = Column(graph, dims, n_stored, (1,), new_counts=new_counts, sums=4 if counting else 0)
            for number, (part, tree, target) in enumerate(self._parts(name)):
                how: dict[str, Any] = {"target": target, "where": f"questions.{name}.{part}", "step": -1}
                self.ask(plan, (name, number), dims, partial(plan.formula, tree, dims, **how))
            self.columns[_takes_part(name)] = Column(graph, dims, n_stored, (1,), fill=False)

    def _parts(self, name: str) -> list[tuple[str, Formula, str]]:
        """Return what is compared and what has to hold for it: the key, the formula, and its unit."""
        ranking = self.rankings[name]
        conditions = [("subject_to", condition.formula, "") for condition in ranking.among]
        return [("rank", ranking.rank, self.units[name]), *conditions]

    def fill(self, block: Block, part: BlockSlice, attempt: Attempt) -> None:
        """Compare in some worlds."""
        for name, ranking in self.rankings.items():
            own, takes = self[name], self[_takes_part(name)]
            values, counts = np.full((part.worlds, *own.sizes), np.nan), np.ones((part.worlds, *own.sizes))
            among = np.zeros(values.shape, dtype=bool)
            for combination, index in own.index.items():
                made = attempt(name, combination, partial(self._compared, block, name, combination))
                cell, weights = (slice(None), *index), self.updates.of(own.dims, combination, part)
                if made is not None:
                    (value, taking), failing = made
                    values[cell] = np.where(failing, np.nan, value[: part.worlds])
                    among[cell] = taking[: part.worlds] & ~failing
                if weights is not None:
                    counts[cell] = weights
                own.put(combination, values[cell][None], part, weights)
                takes.put(combination, among[cell][None], part)
            if not own.counts:
                continue
            axis = own.dims.index(ranking.over) + 1
            best, left = best_shares(
                np.moveaxis(values, axis, -1), np.moveaxis(among, axis, -1), lowest=self._lowest(name)
            )
            first = np.moveaxis(best, -1, axis) * counts
            compared = np.moveaxis(np.broadcast_to(left[..., None], best.shape), -1, axis) * counts
            answered = np.where(np.isnan(values), 0.0, counts)
            own.sums += [each.sum(axis=0) for each in (first, among * counts, answered, compared)]

    def _lowest(self, name: str) -> bool:
        return self.rankings[name].best == "lowest"

    def _compared(self, block: Block, name: str, combination: Combination) -> tuple[Array, BoolArray]:
        """Return what is compared at the last step, and what takes part, (draw,)."""
        steps = [self.steps[(name, number), combination] for number in range(len(self._parts(name)))]
        value, among = block.take(steps[0])[0], np.ones(block.draws, dtype=bool)
        for step in steps[1:]:
            among &= block.take(step)[0] != 0
        return value, among

    def blank(self, name: str, combination: Combination) -> None:
        """Take out what failed under a combination of choices."""
        super().blank(name, combination)
        super().blank(_takes_part(name), combination)

    def dataset(self) -> xr.Dataset:
        """Return each ranking's quantiles, how often each is first and takes part, and what every kept world says."""
        data: dict[str, Any] = {}
        for name, ranking in self.rankings.items():
            own, takes = self[name], self[_takes_part(name)].kept[0]
            levels, best, among = self._counted(name) if own.counts else self._drawn(name)
            title = {"units": self.units[name], "long_name": printable(ranking.title or ranking.rank.text, 500)}
            data[name] = (("quantile", *own.dims), levels, title)
            data[f"{name}_first"] = (own.dims, best)
            data[f"{name}_among"] = (own.dims, among)
            data[f"{name}_value"] = (("draw", *own.dims), own.kept[0], title)
            data[f"{name}_takes"] = (("draw", *own.dims), takes.astype(np.int8))
        return xr.Dataset(data, coords={"quantile": list(QUANTILES), **self.coordinates()})

    def _counted(self, name: str) -> tuple[Array, Array, Array]:
        """Return quantiles, shares of being first and shares of taking part, from the counts."""
        first, among, answered, compared = self[name].sums
        with np.errstate(invalid="ignore"):
            return self[name].quantiles()[:, 0], first / compared, among / answered

    def _drawn(self, name: str) -> tuple[Array, Array, Array]:
        """Return the same from all worlds."""
        dims, value, among = self[name].dims, self[name].kept[0], self[_takes_part(name)].kept[0]
        axis, weights = dims.index(self.rankings[name].over) + 1, self.updates.weights(dims)
        counts = np.ones(value.shape) if weights is None else weights * len(value)
        values, takes, counted = (np.moveaxis(each, axis, -1) for each in (value, among, counts))
        rows = []
        for place in np.ndindex(*values.shape[1:-1]):
            cell = (slice(None), *place)
            own: tuple[Array, BoolArray] = values[cell], takes[cell].astype(bool)
            rows.append(first(*own, lowest=self._lowest(name), counts=counted[cell]))
        best = np.moveaxis(np.asarray(rows).reshape(values.shape[1:]), -1, axis - 1)
        failing = np.isnan(value)
        return value_quantiles(value, weights), best, weighted_share(among, weights, failing & ~failing.all(axis=0))


def _takes_part(name: str) -> str:
    """Return the name of the column that tells which values take part; no question is called so."""
    return f"{name} takes part"


def first(value: Array, among: BoolArray, *, lowest: bool = False, counts: Array | float = 1.0) -> Array:
    """Return how often each value of a choice is the best of those that take part.

    Parameters
    ----------
    value : ndarray
        (draw, choice); NaN in every draw takes no part, and a draw in which another one is NaN is left out.
    among : ndarray of bool
        Which ones take part, (draw, choice).
    lowest : bool
        The lowest is the best.
    counts : ndarray
        What a draw counts for, 1 on average, (draw, choice).

    Returns
    -------
    ndarray
        Shares of the draws, (choice,). Those that tie share a draw; one in which none takes part counts for nobody.

    Examples
    --------
    >>> import numpy as np
    >>> value = np.array([[3.0, 2.0, 9.0], [1.0, 2.0, 9.0]])
    >>> first(value, np.array([[True, True, False], [True, True, False]])).tolist()
    [0.5, 0.5, 0.0]
    """
    best, left = best_shares(value, among, lowest=lowest)
    if left.all():
        return np.asarray((best * counts).mean(axis=0))
    kept = np.broadcast_to(counts, value.shape)[left]
    return np.asarray((best[left] * kept).sum(axis=0) / kept.sum(axis=0))


def best_shares(value: Array, among: BoolArray, *, lowest: bool) -> tuple[Array, BoolArray]:
    """Return each one's share of being the best, (draw, ..., choice), and which draws can be compared, (draw, ...).

    See `first`. A draw that cannot be compared has no best.
    """
    takes = among & ~np.isnan(value)
    score = np.where(takes, -value if lowest else value, -np.inf)
    best = takes & (score == score.max(axis=-1, keepdims=True))
    ties = np.maximum(best.sum(axis=-1, keepdims=True), 1)
    failing = np.isnan(value)
    left = np.asarray(~(failing & ~failing.all(axis=0)).any(axis=-1))
    return np.where(left[..., None], best / ties, 0.0), left
