"""The answer to a question for a date, from the date of every world or from counts of them, as arrays of a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.base.dates import from_decimal_year
from forecast.base.lazy import xr
from forecast.base.quantiles import QUANTILES
from forecast.base.sobol import REPLICATES
from forecast.base.streams import Streams, choice as chosen
from forecast.errors import printable
from forecast.projection import blocks
from forecast.projection.crossing import date_quantiles, weighted_quantiles
from forecast.projection.failures import BlockSlice, is_too_many
from forecast.projection.likelihood_weights import Updates, weighted_share
from forecast.projection.streaming.columns import Column, Columns
from forecast.projection.streaming.histograms import DateHistogram, replicate_error

if TYPE_CHECKING:
    from forecast.projection.evaluate import Block
    from forecast.scenarios.graph import ScenarioGraph
    from forecast.scenarios.quantities.node import Combination


@dataclass(frozen=True, eq=False)
class DateDraws:
    """The dates of all worlds.

    Parameters
    ----------
    dates : ndarray
        Decimal years, (draw,); infinite where never, NaN where a world fails.
    start : float
        The first step.
    by : sequence of float
        Dates by which it is asked how likely it is.
    weights : ndarray, optional
        What a world counts for, (draw,).
    """

    dates: Array
    start: float
    by: Sequence[float] = ()
    weights: Array | None = None

    def _share(self, holds: BoolArray) -> float:
        failing = np.isnan(self.dates)
        return np.nan if failing.all() else float(weighted_share(holds, self.weights, failing))

    @property
    def already(self) -> float:
        """The share of the worlds in which it is so at the first step; NaN where there is no answer."""
        return self._share(self.dates <= self.start)

    @property
    def never(self) -> float:
        """The share in which it is not so by the last step."""
        return self._share(np.isposinf(self.dates))

    @property
    def reached(self) -> list[float]:
        """The shares in which it is so by each of the dates that are asked about."""
        return [self._share(self.dates <= year) for year in self.by]

    def quantiles(self, levels: Sequence[float]) -> Array:
        """Return the dates by which these shares have reached it, (level,), infinite inside the never mass."""
        return _date_quantiles(self.dates, self.weights, levels)

    def error(self, levels: Sequence[float]) -> Array:
        """Return the Monte Carlo error of the quantiles in years, (level,); NaN with too few worlds to tell."""
        if len(self.dates) < 2 * REPLICATES:
            return np.full(len(levels), np.nan)
        own, parts = self.weights, [slice(r, None, REPLICATES) for r in range(REPLICATES)]
        return replicate_error(
            np.array([_date_quantiles(self.dates[p], None if own is None else own[p], levels) for p in parts])
        )


#: When something is so, over all worlds that do not fail: of each of them, or of their counts.
Dates = DateDraws | DateHistogram


def _date_quantiles(dates: Array, weights: Array | None, levels: Sequence[float]) -> Array:
    return date_quantiles(dates, levels) if weights is None else weighted_quantiles(dates, weights, levels)


def answer_variables(
    name: str, dims: tuple[str, ...], sizes: tuple[int, ...], each: Sequence[Dates | None], title: str = ""
) -> dict[str, Any]:
    """Return the variables of one question: quantiles, their Monte Carlo error, *already*, *never*, and by which date.

    Parameters
    ----------
    name : str
        The question.
    dims, sizes : tuple
        The choices, and how many values each has.
    each : sequence of Dates
        The dates under every combination of the choices; None where there is no answer.
    title : str
        What is asked.
    """
    levels = list(QUANTILES)
    nothing = np.full(len(levels), np.nan)
    quantiles = np.array([nothing if d is None else d.quantiles(levels) for d in each])
    error = np.array([nothing if d is None else d.error(levels) for d in each])
    masses = np.array([(np.nan, np.nan) if d is None else (d.already, d.never) for d in each])
    shares = {part: masses[:, i].reshape(sizes) for i, part in enumerate(("already", "never"))}
    about = {"long_name": printable(title, 500)} if title else {}
    out: dict[str, Any] = {
        name: (("quantile", *dims), to_datetime64(quantiles.T.reshape(-1, *sizes)), about),
        f"{name}_error": (("quantile", *dims), error.T.reshape(-1, *sizes), {"units": "year"}),
        **{f"{name}_{part}": (dims, values) for part, values in shares.items()},
    }
    n_dates = next((len(d.reached) for d in each if d is not None), 0)
    if n_dates:
        reached = np.array([np.full(n_dates, np.nan) if d is None else d.reached for d in each])
        out[f"{name}_by"] = ((f"{name}_by_date", *dims), reached.T.reshape(-1, *sizes))
    return out


def to_datetime64(years: Array) -> NDArray[np.datetime64]:
    """Return dates; NaT where a date is infinite (never) or missing."""
    return from_decimal_year(np.where(np.isfinite(years), years, np.nan))


def has_answer(dates: Array) -> bool:
    """Tell whether few enough worlds fail, (draw,), for an answer.

    Examples
    --------
    >>> has_answer(np.array([2030.0, np.nan]))
    False
    """
    failing = int(np.isnan(dates).sum())
    return failing < len(dates) and not is_too_many(failing, len(dates))


# --- Over pooled rivals -----------------------------------------------------------------------------------------------
# Rivals pooled: in every world one of them holds, drawn with their stated weights.


def rival_of_draw(stream: str, weights: Sequence[float], *, seed: int, worlds: int, first: int = 0) -> IntArray:
    """Return which rival of a choice holds in each world, by its place, (world,).

    Fewer worlds are the first of more, and no other quantity's draws depend on it.

    Parameters
    ----------
    stream : str
        The name by which the choice draws.
    weights : sequence of float
    seed, worlds : int
    first : int
        The first of the worlds, at the beginning of a block.

    Examples
    --------
    >>> rival_of_draw("trend", [0.0, 1.0], seed=0, worlds=3).tolist()
    [1, 1, 1]
    """
    numbers = blocks.blocks_between(first, first + worlds)
    drawn = [blocks.node_streams(Streams, seed, stream, number).uniforms("choice", 1)[0] for number in numbers]
    return chosen(weights, np.concatenate(drawn)[:worlds])


class PooledDates(Columns):
    """The dates of questions over rivals, all of whose rivals have weights.

    Where worlds are counted, a column counts the dates of the worlds in which each combination of rivals holds, and
    adds up what all worlds count for.

    Parameters
    ----------
    graph : ScenarioGraph
    dates : Columns
        The dates of every question.

    Attributes
    ----------
    definitions : dict of str to tuple of str
        The choices that are left, of the questions that are pooled.
    """

    def __init__(self, graph: ScenarioGraph, dates: Columns) -> None:
        super().__init__(graph)
        choices, self._dates = graph.scenario.choices, dates
        self._rivals = {n: tuple(d for d in dims if choices[d].kind == "rival") for n, dims in dates.dims.items()}
        self.definitions = {
            name: tuple(d for d in dates[name].dims if d not in rivals)
            for name, rivals in self._rivals.items()
            if rivals and all(choices[d].weights is not None for d in rivals)
        }
        self.columns = {
            name: Column(graph, dates[name].dims, new_counts=dates[name].new_counts, sums=1)
            for name in self.definitions
            if dates[name].counts
        }
        self._drawn: list[tuple[str, Combination, Array, Array | None]] = []

    def add(self, name: str, combination: Combination, dates: Array, weights: Array | None) -> None:
        """Take the dates of some worlds under one combination of choices."""
        if name in self.columns:
            self._drawn.append((name, combination, dates, weights))

    def reduce(self, block: Block) -> None:
        """Count the dates of the worlds in which each combination of rivals holds."""
        rival_by_choice: dict[str, IntArray] = {}
        for name, combination, dates, weights in self._drawn:
            holds = np.ones(len(dates), dtype=bool)
            for choice, value in zip(self[name].dims, combination, strict=True):
                if choice in self._rivals[name]:
                    if choice not in rival_by_choice:
                        rival_by_choice[choice] = self._rival(choice, block.seed, block.draws, block.first)
                    holds &= rival_by_choice[choice][: len(dates)] == self._place(choice, value)
            # a world in which another one holds is skipped, and those that count keep their number
            places = np.flatnonzero(holds)
            self[name].add(combination, float(len(dates) if weights is None else weights.sum()))
            own = None if weights is None else weights[places]
            self[name].counts[combination].add(dates[places], own, numbers=places)
        self._drawn = []

    def _rival(self, choice: str, seed: int, worlds: int, first: int = 0) -> IntArray:
        weights = self.graph.scenario.choices[choice].weights or ()
        return rival_of_draw(self.graph.stream(choice), weights, seed=seed, worlds=worlds, first=first)

    def _place(self, choice: str, value: str) -> int:
        return self.graph.scenario.choices[choice].values.index(value)

    def dates(self, name: str, start: float, by: Sequence[float], updates: Updates, seed: int) -> list[Dates | None]:
        """Return the dates over all rivals, under each combination of the definitions."""
        if name in self.columns:
            return [self._counted(name, definition) for definition in self._defined(name)]
        dates = self._dates[name]
        weights = updates.weights(dates.dims)
        rivals = {choice: self._rival(choice, seed, len(dates.kept)) for choice in self._rivals[name]}
        out: list[Dates | None] = []
        for definition in self._defined(name):
            place = tuple(rivals[d] if d in rivals else self._place(d, definition[d]) for d in dates.dims)
            own = dates.kept[(np.arange(len(dates.kept)), *place)]
            # a rival of which no world is possible weighs nothing
            counts = None if weights is None else np.nan_to_num(weights[(np.arange(len(dates.kept)), *place)])
            total = 1.0 if counts is None else float(counts.sum())
            shares = None if counts is None or not total else counts / total
            out.append(DateDraws(own, start, by, shares) if total and has_answer(own) else None)
        return out

    def _defined(self, name: str) -> Iterator[dict[str, str]]:
        """Walk the combinations of the definitions."""
        for combination in self.graph.combinations(self.definitions[name]):
            yield dict(zip(self.definitions[name], combination, strict=True))

    def _counted(self, name: str, definition: Mapping[str, str]) -> Dates | None:
        """Add up the counts of the rivals under one combination of the definitions."""
        column, weighted = self[name], self.graph.weighed_by or self.graph.scenario.updates
        assert column.new_counts is not None  # as columns are made
        whole = column.new_counts()
        for combination, index in column.index.items():
            counted = float(column.sums[(0, *index)])
            if counted and all(definition.get(d, v) == v for d, v in zip(column.dims, combination, strict=True)):
                # a likelihood weighs the worlds of each rival, and leaves the rivals' own weights as they are stated
                whole.merge(column.counts[combination], 1 / counted if weighted else 1.0)
        return whole if whole.total > 0 and not is_too_many(whole.failed, whole.weight) else None


# --- Which comes first ------------------------------------------------------------------------------------------------
# Which of several questions' dates comes first.


#: What stands beside the names of the questions: several on the same first date, and none by the last step.
TOGETHER_LABEL, NONE_LABEL = " together", " none"


def earliest(years: Array) -> BoolArray:
    """Tell which event comes alone before all others, whether several come together, and whether none comes.

    Parameters
    ----------
    years : ndarray
        (event, draw); infinite where never.

    Returns
    -------
    ndarray of bool
        (event + 2, draw).

    Examples
    --------
    >>> earliest(np.array([[2030.0, 2031.0, np.inf], [2031.0, 2031.0, np.inf]])).astype(int).tolist()
    [[1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    none = np.isposinf(years).all(axis=0)
    least = (years == years.min(axis=0)) & ~none
    alone = least.sum(axis=0) == 1
    return np.vstack([least & alone, ~alone & ~none, none])


class Earliest(Columns):
    """Sums over all worlds of which question's date comes first.

    Parameters
    ----------
    graph : ScenarioGraph
    dates : Columns
        The dates of every question.
    counting : bool
        Worlds are counted; where they are kept, readers compare the dates themselves.
    """

    def __init__(self, graph: ScenarioGraph, dates: Columns, *, counting: bool) -> None:
        super().__init__(graph)
        self._dims = dates.dims
        self.events = {name: tuple(each.first) for name, each in graph.scenario.firsts.items()} if counting else {}
        for name, events in self.events.items():
            dims = tuple(d for d in graph.scenario.choices if any(d in self._dims[e] for e in events))
            self.columns[name] = Column(graph, dims, sums=len(events) + 3)
        self._drawn: dict[tuple[str, Combination], Array] = {}

    def add(self, name: str, combination: Combination, dates: Array) -> None:
        """Take the dates of some worlds of a question."""
        self._drawn[name, combination] = dates

    def reduce(self, updates: Updates, part: BlockSlice) -> None:
        """Count them."""
        for name, events in self.events.items():
            for combination in self[name].index:
                years = np.stack([self._drawn[each, self._own(name, each, combination)] for each in events])
                weights = updates.of(self[name].dims, combination, part)
                counts = np.where(np.isnan(years).any(axis=0), 0.0, 1.0 if weights is None else weights)
                holds = earliest(np.where(np.isnan(years), np.inf, years))
                self[name].add(combination, [*(holds * counts).sum(axis=1), counts.sum()])
        self._drawn = {}

    def _own(self, name: str, event: str, combination: Combination) -> Combination:
        chosen = dict(zip(self[name].dims, combination, strict=True))
        return tuple(chosen[d] for d in self._dims[event])

    def blank(self, name: str, combination: Combination) -> None:
        """Take out what depends on a question that failed under a combination of choices."""
        for of, events in self.events.items():
            for along in self[of].index if name in events else ():
                if self._own(of, name, along) == combination:
                    self[of].blank(along)

    def dataset(self) -> xr.Dataset:
        """Return the share of the worlds in which each comes first."""
        with np.errstate(invalid="ignore"):
            shares = {name: column.sums[:-1] / column.sums[-1] for name, column in self.columns.items()}
        data = {name: ((f"{name}_event", *self[name].dims), each) for name, each in shares.items()}
        coords = {f"{name}_event": [*events, TOGETHER_LABEL, NONE_LABEL] for name, events in self.events.items()}
        return xr.Dataset(data, coords={**coords, **self.coordinates()})
