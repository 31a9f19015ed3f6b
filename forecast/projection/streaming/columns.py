"""One thing that every world says, under each combination of the choices on which it depends.

The first worlds are kept one by one, all of them may be counted in histograms or added up beside that. Batches are
merged, sent and saved through `holdings`, and a reader of quantiles or dates need not know which of these it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import AnyArray, Array
from forecast.base.lazy import xr
from forecast.base.quantiles import QUANTILES
from forecast.projection.paths.alike import alike, is_one_row
from forecast.projection.paths.run_cache import BoundedStore
from forecast.projection.streaming.histograms import DateHistogram, ValueHistogram

# --- Holdings ---------------------------------------------------------------------------------------------------------
# What the parts of a reduced batch hold, in one form: so that batches are added up, sent and saved in one way.


@dataclass(frozen=True, eq=False)
class SummedColumn:
    """Sums over all worlds."""

    values: AnyArray

    def arrays(self) -> dict[str, AnyArray]:
        """Return the numbers as a plain array."""
        return {"": self.values}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Take the numbers from a plain array."""
        self.values[...] = arrays[""]


@dataclass(frozen=True, eq=False)
class KeptColumn(SummedColumn):
    """Numbers of the worlds that are kept one by one, which stand along one axis."""

    axis: int = 0


#: What a batch holds of one thing; histograms count all worlds.
WorldColumn = KeptColumn | SummedColumn | ValueHistogram | DateHistogram


def merge(mine: Sequence[WorldColumn], theirs: Sequence[WorldColumn], place: slice[int, int, None]) -> None:
    """Add what another batch holds; the worlds it keeps stand at `place`."""
    for one, other in zip(mine, theirs, strict=True):
        if isinstance(one, KeptColumn) and isinstance(other, KeptColumn):
            one.values[(*(slice(None),) * one.axis, place)] = other.values
        elif isinstance(one, SummedColumn) and isinstance(other, SummedColumn):
            one.values[...] += other.values
        elif isinstance(one, (ValueHistogram, DateHistogram)):
            one.merge(other)  # type: ignore[arg-type]


def to_arrays(holdings: Sequence[WorldColumn]) -> dict[str, AnyArray]:
    """Return everything as plain arrays."""
    return {f"{number}.{part}": a for number, each in enumerate(holdings) for part, a in each.arrays().items()}


def unpack(holdings: Sequence[WorldColumn], arrays: Mapping[str, AnyArray]) -> None:
    """Take everything from plain arrays.

    Raises
    ------
    ValueError
        If they are not those of such holdings.
    """
    if to_arrays(holdings).keys() != arrays.keys():
        raise ValueError("expected the arrays of its quantities and questions, got others")
    for number, each in enumerate(holdings):
        each.restore({part: arrays[f"{number}.{part}"] for part in each.arrays()})


if TYPE_CHECKING:
    from forecast.projection.failures import BlockSlice
    from forecast.projection.plan import Plan
    from forecast.scenarios.graph import ScenarioGraph
    from forecast.scenarios.quantities.node import Combination


class Column:
    """What the worlds of a batch say to one thing.

    Parameters
    ----------
    graph : ScenarioGraph
    dims : tuple of str
        The choices on which it depends.
    kept : int, optional
        The number of worlds that are kept one by one; by default there is no room for any.
    rows : tuple of int
        The shape of what one world says: a number, or a row of them.
    new_counts : callable, optional
        Makes the histogram of one combination of choices, where worlds are counted.
    sums : int
        How many sums over all worlds there are for one combination of choices.
    fill : float or bool
        Stands where nothing was written.
    complete : bool
        Every world has its number and is counted once, unless a failure is noted.

    Attributes
    ----------
    index : dict
        The place of each combination of choices in the last axes of the arrays.
    counts : dict
        The histogram of each combination; empty where worlds are not counted.
    sums : ndarray
        (sum, *choices).
    """

    def __init__(
        self,
        graph: ScenarioGraph,
        dims: tuple[str, ...],
        n_stored: int | None = None,
        rows: tuple[int, ...] = (),
        *,
        new_counts: Callable[[], Any] | None = None,
        sums: int = 0,
        fill: float | bool = np.nan,
        complete: bool = False,
    ) -> None:
        self.dims, self.sizes = dims, graph.sizes(dims)
        self.index: dict[Combination, Any] = dict(zip(graph.combinations(dims), np.ndindex(*self.sizes), strict=True))
        # the worlds of one combination lie side by side in memory: they are written and read so
        self._shape, self._fill = (*rows, n_stored or 0), fill
        #: Of a complete column one row, and one world, until rows, or worlds, differ under some combination.
        self._room: AnyArray | None = None
        self._written: set[Combination] = set()
        self.new_counts = new_counts
        self.counts = {} if new_counts is None else {combination: new_counts() for combination in self.index}
        self.sums = np.zeros((sums, *self.sizes))
        self._axis, self._is_kept, self._complete = len(rows), n_stored is not None, complete

    @property
    def kept(self) -> AnyArray:
        """(*rows, world, *choices); not to be written to."""
        room = self.room if self._room is None else self._room
        return self._as_read(np.broadcast_to(room, (*self.sizes, *self._shape)))

    def _as_read(self, room: AnyArray) -> AnyArray:
        # the worlds of one combination lie side by side in memory: they are written and read so
        dims = len(self.sizes)
        return np.moveaxis(room, range(dims), range(-dims, 0)) if dims else room

    @property
    def room(self) -> AnyArray:
        """What is kept, to be written to: (*choices, *rows, world)."""
        return self._room_of(self._shape)

    def _room_of(self, shape: tuple[int, ...]) -> AnyArray:
        """Return the room of so many rows and worlds, with what is kept."""
        if self._room is None or self._room.shape != (*self.sizes, *shape):
            # where every world writes its number, or is blanked, the pages of much memory are touched once
            make = np.empty if self._complete and shape == self._shape else partial(np.full, fill_value=self._fill)
            room = make((*self.sizes, *shape), dtype=np.result_type(self._fill))
            for place in map(self.index.get, self._written):
                room[place] = self._room[place]  # type: ignore[index]
            self._room = room
        return self._room

    def _folded_shape(self, combination: Combination, values: AnyArray) -> tuple[int, ...]:
        """Return how many rows and worlds have to be kept, with those of earlier blocks."""
        if not self._complete:
            return self._shape
        now = (1,) * len(self._shape) if self._room is None else self._room.shape[len(self.sizes) :]
        rows = () if len(now) == 1 else (1,) if now[0] == 1 and is_one_row(values) else self._shape[:1]
        if now[-1] > 1 or not alike(values):
            return *rows, self._shape[-1]
        one = values[..., :1]
        known = one if combination not in self._written else self._room_of(now)[self.index[combination]]
        return *rows, 1 if np.array_equal(np.broadcast_to(known, one.shape), one, equal_nan=True) else self._shape[-1]

    def put(self, combination: Combination, values: AnyArray, part: BlockSlice, weights: Array | None = None) -> None:
        """Keep and count what some worlds say, (*rows, world); where all are alike they take the room of one."""
        if part.n_stored:
            shape = self._folded_shape(combination, values)
            room, is_one = self._room_of(shape), shape[-1] < self._shape[-1]
            worlds = slice(1) if is_one else slice(part.n_stored)
            kept = values[..., worlds] if len(shape) == 1 else values[: shape[0], worlds]
            room[(*self.index[combination], ..., worlds if is_one else part.kept)] = kept
            self._written.add(combination)
        if self.counts:
            self.counts[combination].add(values, weights)

    def add(self, combination: Combination, amounts: Any) -> None:
        """Add to the sums of one combination, (sum,)."""
        self.sums[(slice(None), *self.index[combination])] += amounts

    def blank(self, combination: Combination) -> None:
        """Take out one combination, which failed."""
        self.room[self.index[combination]] = self._fill
        self.sums[(..., *self.index[combination])] = 0.0
        if self.counts:
            self.counts[combination].clear()

    def holdings(self) -> Iterator[WorldColumn]:
        """Walk the arrays and histograms, in the form in which batches are merged and saved."""
        if self._is_kept:
            yield KeptColumn(self._as_read(self.room), axis=self._axis)
        if len(self.sums):
            yield SummedColumn(self.sums)
        yield from self.counts.values()

    def quantiles(self) -> Array:
        """Return the quantiles of what was counted, (quantile, row, *choices)."""
        each = np.array([counts.quantiles(QUANTILES) for counts in self.counts.values()])
        return np.moveaxis(each, 0, -1).reshape(*each.shape[1:], *self.sizes)


#: Coordinates that were made, by what they hold: each takes a twentieth of a run's dataset.
_made: BoundedStore = BoundedStore(2**20)


def dataset(data: Mapping[str, Any], coords: Mapping[str, Any]) -> xr.Dataset:
    """Return a dataset of these variables; coordinates that are alike are made once."""
    key = repr([(name, each.tobytes() if isinstance(each, np.ndarray) else each) for name, each in coords.items()])
    if (found := _made.take(key)) is None:
        _made.give(key, found := xr.Coordinates(coords))
    return xr.Dataset(data, coords=found)


class Columns:
    """The columns of one kind of question, by name.

    Attributes
    ----------
    steps : dict
        The steps of a plan that the worlds are asked for: by what they are for, and the combination of choices.
    """

    def __init__(self, graph: ScenarioGraph) -> None:
        self.graph = graph
        self.columns: dict[Any, Column] = {}
        self.steps: dict[tuple[Any, Combination], int] = {}

    def ask(
        self,
        plan: Plan,
        what: Hashable,
        dims: tuple[str, ...],
        lower: Callable[[Combination], int],
        under: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Ask the worlds for something under every combination of these choices: `lower` gives the plan its step.

        Combinations with other values than those of `under` are left out.
        """
        for each in self.graph.combinations(dims):
            if all(under.get(choice, value) == value for choice, value in zip(dims, each, strict=True)):
                self.steps[what, each] = plan.attempt(lower, each)

    def __getitem__(self, name: Hashable) -> Column:
        return self.columns[name]

    @property
    def dims(self) -> dict[Any, tuple[str, ...]]:
        """The choices on which each depends."""
        return {name: column.dims for name, column in self.columns.items()}

    def blank(self, name: str, combination: Combination) -> None:
        """Take out a combination of choices under which something failed."""
        if name in self.columns:
            self.columns[name].blank(combination)

    def holdings(self) -> Iterator[WorldColumn]:
        """Walk the arrays and histograms of every column."""
        for column in self.columns.values():
            yield from column.holdings()

    def coordinates(self, dims: Iterable[str] | None = None) -> dict[str, Any]:
        """Return the values of these choices, in the scenario's order; by default those of every column."""
        used = {d for node in self.graph.nodes.values() for d in node.dims}
        own = {d for each in self.dims.values() for d in each} if dims is None else set(dims)
        return {d: (d, list(c.values)) for d, c in self.graph.scenario.choices.items() if d in used & own}
