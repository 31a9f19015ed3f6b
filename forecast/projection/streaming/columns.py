"""One thing that every world says, under each combination of the choices on which it depends.

The first worlds are kept one by one, all of them may be counted in histograms or added up beside that. Batches are
merged, sent and saved through `holdings`, and a reader of quantiles or dates need not know which of these it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import AnyArray, Array
from forecast.base.quantiles import QUANTILES
from forecast.projection.paths.alike import alike, is_one_row
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
        self._shape, self._rows, self._fill = (*self.sizes, *rows, n_stored or 0), rows, fill
        #: Of a complete column, until worlds differ in it: what they all say under each combination, (*rows,).
        self._alike: dict[Combination, AnyArray] | None = {} if complete else None
        #: Of a complete column one row is kept until rows differ.
        self._is_still = complete and rows > (1,)
        self._room: AnyArray | None = None
        self.new_counts = new_counts
        self.counts = {} if new_counts is None else {combination: new_counts() for combination in self.index}
        self.sums = np.zeros((sums, *self.sizes))
        self._axis, self._is_kept, self._complete = len(rows), n_stored is not None, complete

    @property
    def kept(self) -> AnyArray:
        """(*rows, world, *choices); not to be written to."""
        if self._alike is None:
            room = self.room if self._room is None else self._room
            return self._as_read(np.broadcast_to(room, self._shape) if self._is_still else room)
        rows = np.full((*self.sizes, *self._rows, 1), self._fill)
        for combination, row in self._alike.items():
            rows[self.index[combination]] = row[..., np.newaxis]
        return self._as_read(np.broadcast_to(rows, self._shape))

    def _as_read(self, room: AnyArray) -> AnyArray:
        # the worlds of one combination lie side by side in memory: they are written and read so
        dims = len(self.sizes)
        return np.moveaxis(room, range(dims), range(-dims, 0)) if dims else room

    @property
    def room(self) -> AnyArray:
        """What is kept, to be written to: (*choices, *rows, world)."""
        if self._room is None or self._is_still:
            self._is_still = False
            self._make_room(self._shape)
        assert self._room is not None
        return self._room

    def _make_room(self, shape: tuple[int, ...]) -> None:
        # where every world writes its number, or is blanked, the pages of much memory are touched once
        empty = np.empty(shape, np.result_type(self._fill))
        room = empty if self._complete else np.full(shape, self._fill)
        if self._room is not None:
            room[...] = self._room
        for combination, row in (self._alike or {}).items():
            rows = tuple(map(slice, shape[len(self.sizes) : -1]))
            room[self.index[combination]] = row[rows][..., np.newaxis]
        self._alike, self._room = None, room

    def _still_room(self, values: AnyArray) -> AnyArray | None:
        """Return the room of one row, to be written to; None where rows differ now or did before."""
        if not self._is_still or not is_one_row(values):
            return None
        if self._room is None:
            if not all(is_one_row(row[:, np.newaxis]) for row in (self._alike or {}).values()):
                return None
            self._make_room((*self.sizes, 1, self._shape[-1]))
        return self._room

    def _shares(self, combination: Combination, row: AnyArray) -> bool:
        """Tell whether a row is what all worlds said so far, and note it."""
        assert self._alike is not None
        return np.array_equal(self._alike.setdefault(combination, row.copy()), row, equal_nan=True)

    def put(self, combination: Combination, values: AnyArray, part: BlockSlice, weights: Array | None = None) -> None:
        """Keep and count what some worlds say, (*rows, world); where all are alike they take the room of one."""
        shared = self._room is None and alike(values) and self._shares(combination, values[..., 0])
        if not shared and (one := self._still_room(values)) is not None:
            one[(*self.index[combination], ..., part.kept)] = values[:1, : part.n_stored]
        elif not shared:
            self.room[(*self.index[combination], ..., part.kept)] = values[..., : part.n_stored]
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
