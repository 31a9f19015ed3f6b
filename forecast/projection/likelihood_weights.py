"""What worlds count for, where something is known besides: ``[update]`` weighs each by its likelihood.

Kept are the logarithms of the likelihoods, world by world, under ``/update``. The weights are made of them here, for
whoever asks: the answers while they are drawn, and readers of a saved projection.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.base.lazy import xr
from forecast.base.netcdf import quantiles
from forecast.base.quantiles import QUANTILES
from forecast.errors import DataError, EmptyDataError, printable
from forecast.projection.crossing import weighted_quantiles
from forecast.projection.failures import Attempt, BlockSlice, in_brackets
from forecast.projection.streaming.columns import Column, Columns, WorldColumn
from forecast.scenarios.quantities.node import Combination

if TYPE_CHECKING:
    from forecast.projection.evaluate import Block
    from forecast.projection.plan import Plan
    from forecast.projection.result import Projection


#: A world whose likelihood is this many units of the logarithm above the highest of the first block's counts as if it
#: were no more: its weight would be no number.
_MAX_LOG_RATIO = 600.0

#: With fewer effective worlds an answer rests on too few.
MIN_ESS = 200


def normalise_weights(log_likelihood: Array) -> Array:
    """Return weights that sum to 1 over the worlds, (draw, ...); NaN where none is possible.

    A world whose likelihood is no number weighs nothing.

    Examples
    --------
    >>> normalise_weights(np.log([1.0, 2.0, 1.0])).tolist()
    [0.25, 0.5, 0.25]
    """
    with np.errstate(invalid="ignore"):
        best = np.fmax.reduce(log_likelihood, axis=0)
        weight = np.exp(log_likelihood - best)
        weight = np.where(np.isnan(log_likelihood) & ~np.isnan(best) & (best > -np.inf), 0.0, weight)
        return np.asarray(weight / weight.sum(axis=0))


def effective_sample_size(weight: Array) -> Array:
    """Return how many worlds of equal weight would say as much: 1/Σw² (Kish 1965, Survey Sampling, section 11.7).

    Examples
    --------
    >>> float(effective_sample_size(np.array([0.5, 0.5, 0.0])))
    2.0
    """
    return np.asarray(1 / (weight**2).sum(axis=0))


def weighted_share(holds: BoolArray, weights: Array | None, failing: BoolArray | None = None) -> Array:
    """Return the share of the worlds in which something holds, (...); `weights` as `holds`, (draw, ...).

    Those that are `failing` are left out; where all are the share is NaN.

    Examples
    --------
    >>> float(weighted_share(np.array([True, False, True]), None, np.array([False, False, True])))
    0.5
    """
    if failing is None or not failing.any():
        return np.asarray(holds.mean(axis=0) if weights is None else (holds * weights).sum(axis=0))
    left = np.where(failing, 0.0, 1.0 if weights is None else weights)
    with np.errstate(invalid="ignore"):
        return np.asarray((holds * left).sum(axis=0) / left.sum(axis=0))


def weights_of(run: Projection) -> xr.DataArray | None:
    """Return the weights of a projection's worlds, (draw, choices); None where all count alike."""
    if "update" not in run:
        return None
    log_likelihoods = run.dataset("update").data_vars.values()
    total = functools.reduce(operator.add, log_likelihoods).transpose("draw", ...)
    return total.copy(data=normalise_weights(total.values))


def select(weights: xr.DataArray | None, chosen: Mapping[str, str]) -> Array | None:
    """Return the weights under these values of the choices, (draw,); None where all count alike."""
    if weights is None:
        return None
    return np.asarray(weights.sel({d: v for d, v in chosen.items() if d in weights.dims}).values)


def broadcast_to_weights(data: xr.DataArray, weights: xr.DataArray | None) -> xr.DataArray:
    """Return levels along every choice on which they or the weights of their worlds depend."""
    if weights is None:
        return data
    extra = {d: weights[d].values for d in weights.dims if d not in data.dims}
    return data.expand_dims(extra, axis=range(data.ndim, data.ndim + len(extra))) if extra else data


def value_quantiles(values: Array, weights: Array | None) -> Array:
    """Return the five `QUANTILES` of levels (draw, ...), (quantile, ...); `weights` (draw,) or as `values`.

    NaN is left out; where nothing else is there the quantiles are NaN.
    """
    levels = list(QUANTILES)
    if weights is not None:
        return weighted_quantiles(values, weights, levels)
    out = quantiles(values, levels, axis=0)
    failing = np.isnan(values)
    for place in zip(*np.nonzero(failing.any(axis=0) & ~failing.all(axis=0)), strict=True):
        column = values[(slice(None), *place)]
        out[(slice(None), *place)] = quantiles(column[~np.isnan(column)], levels)
    return out


class Updates(Columns):
    """The log likelihoods of the worlds of a batch, and what the worlds count for.

    Parameters
    ----------
    plan : Plan
    kept : int
        The number of worlds that are kept one by one.
    references : mapping, optional
        Where worlds are counted: by the values of the choices, what is taken off their log likelihood.
    """

    def __init__(self, plan: Plan, n_stored: int, references: Mapping[Combination, float] | None = None) -> None:
        graph = plan.graph
        super().__init__(graph)
        self._formulas, self._references, self._n_kept = graph.scenario.updates, references, n_stored
        self.columns = {name: Column(graph, graph.dims(tree.names), n_stored) for name, tree in self._formulas.items()}
        for name, tree in self._formulas.items():
            how: dict[str, Any] = {"target": "", "where": _where(name), "step": 0}
            self.ask(plan, name, self[name].dims, partial(plan.formula, tree, self[name].dims, **how))
        self.along = graph.dims(graph.weighed_by)
        self._now: dict[tuple[str, Combination], Array] = {}
        # the sum of the weights and of their squares
        self._weight = Column(graph, self.along, sums=2 if self._formulas else 0)

    @property
    def weighing(self) -> bool:
        """Whether worlds count differently."""
        return bool(self._formulas)

    def holdings(self) -> Iterator[WorldColumn]:
        """Walk the arrays of every column."""
        yield from super().holdings()
        yield from self._weight.holdings()

    def fill(self, block: Block, part: BlockSlice, attempt: Attempt) -> None:
        """Compute the likelihoods of some worlds."""
        self._now = {}
        for name, column in self.columns.items():
            for combination in column.index:
                made = attempt(f"update.{name}", combination, partial(self._likelihood, block, name, combination))
                if made is not None:
                    logs = self._now[name, combination] = np.where(made[1], np.nan, made[0][: part.worlds])
                    column.put(combination, logs, part)
        for combination in self._weight.index:
            weights = self.of(self.along, combination, part)
            if weights is not None:
                self._weight.add(combination, [weights.sum(), (weights**2).sum()])

    def _likelihood(self, block: Block, name: str, combination: Combination) -> Array:
        value = block.take(self.steps[name, combination])[0]
        if np.isposinf(value).any():
            text = printable(self._formulas[name].text, 80)
            raise DataError(f"{_where(name)}: '{text}' is infinite: no likelihood is")
        return np.asarray(value)

    def highest(self, part: BlockSlice) -> dict[Combination, float]:
        """Return the highest log likelihood of the worlds at hand, by the values of the choices; 0 for none."""
        totals = {c: self._total_now(self.along, c, part) for c in self._weight.index}
        best = {c: float(np.fmax.reduce(total, initial=-np.inf)) for c, total in totals.items()}
        return {c: each if np.isfinite(each) else 0.0 for c, each in best.items()}

    def _total_now(self, dims: tuple[str, ...], combination: Combination, part: BlockSlice) -> Array:
        chosen = dict(zip(dims, combination, strict=True))
        total = np.zeros(part.worlds)
        for name, own in self.dims.items():
            total = total + self._now.get((name, tuple(chosen[d] for d in own)), np.nan)
        return total

    def of(self, dims: tuple[str, ...], combination: Combination, part: BlockSlice) -> Array | None:
        """Return what the worlds at hand count for, (draw,), where these are counted; None where all count alike."""
        if not self._formulas or self._references is None:
            return None
        chosen = dict(zip(dims, combination, strict=True))
        total = self._total_now(dims, combination, part) - self._references[tuple(chosen[d] for d in self.along)]
        return np.where(np.isnan(total), 0.0, np.exp(np.minimum(total, _MAX_LOG_RATIO)))

    def blank(self, name: str, combination: Combination) -> None:
        """Take out what failed under a combination of choices."""
        if name.startswith("update."):
            super().blank(name.removeprefix("update."), combination)

    def dataset(self) -> xr.Dataset:
        """Return the log likelihood of every world that is kept under each update."""
        data = {
            name: (("draw", *column.dims), _as_saved(column), {"units": "", "long_name": self._formulas[name].text})
            for name, column in self.columns.items()
        }
        return xr.Dataset(data, coords=self.coordinates())

    def impossible(self) -> Iterator[str]:
        """Say which values of the choices an update leaves no world.

        Raises
        ------
        EmptyDataError
            Where that is none of them.
        """
        if not self._formulas:
            return
        if self._references is None:
            none_left = np.asarray(np.isneginf(np.fmax.reduce(self._total(self.along), axis=0)))
        else:
            none_left = self._weight.sums[0] == 0
        lost = dict(zip(self.graph.combinations(self.along), none_left.ravel().tolist(), strict=True))
        for combination, gone in lost.items():
            if gone:
                chosen = in_brackets(dict(zip(self.along, combination, strict=True)))
                text = f"update{chosen}: no world is possible: the likelihood is 0 in each"
                if all(lost.values()):
                    raise EmptyDataError(f"{self.graph.scenario.where}: {text}")
                yield text

    def weights(self, dims: tuple[str, ...]) -> Array | None:
        """Return the weights of the kept worlds along these choices, among them all of the updates', (draw, ...).

        None where all worlds count alike.
        """
        if not self._formulas:
            return None
        return np.broadcast_to(normalise_weights(self._total(dims)), (self._n_kept, *self.graph.sizes(dims)))

    def _total(self, dims: tuple[str, ...]) -> Array:
        """Return the log likelihoods of all updates together, along these choices or 1 where they do not depend."""
        total = np.zeros((self._n_kept, *(1 for _ in dims)))
        for column in self.columns.values():
            shape = tuple(column.sizes[column.dims.index(d)] if d in column.dims else 1 for d in dims)
            total = total + _as_saved(column).reshape(self._n_kept, *shape)
        return total

    def effective(self) -> float | None:
        """Return the effective number of worlds, the least over the choices; None without an update."""
        if not self._formulas:
            return None
        if self._references is not None:
            first, second = self._weight.sums
            counts = np.divide(first**2, second, out=np.full(first.shape, np.nan), where=second > 0)
        else:
            counts = effective_sample_size(normalise_weights(self._total(self.along)))
        return float(np.nanmin(counts)) if np.isfinite(counts).any() else 0.0


def _where(name: str) -> str:
    return f"update.{name}.log_likelihood"


def _as_saved(column: Column) -> Array:
    """Return what is kept as files hold it: sums of weights run over worlds, and are the same to the last digit."""
    return np.ascontiguousarray(column.kept)
