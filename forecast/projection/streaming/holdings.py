"""What the parts of a reduced batch hold, in one form: so that batches are added up, sent and saved in one way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.projection.streaming.counted import DateCounts, LevelCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Counted", "Holding", "Kept", "Total", "merge", "packed", "side_by_side", "unpack"]


def side_by_side(kept: Sequence[int], choices: Sequence[int]) -> NDArray[np.float64]:
    """Return room for numbers of worlds, (*kept, *choices), with those of one combination side by side in memory.

    They are written and read so, one combination after another. What nobody writes is NaN.
    """
    room = np.full((*choices, *kept), np.nan)
    return room.transpose(*range(len(choices), room.ndim), *range(len(choices)))


@dataclass(frozen=True, eq=False)
class Kept:
    """Numbers of the worlds that are kept one by one, which stand along one axis."""

    values: NDArray[Any]
    axis: int = 0


@dataclass(frozen=True, eq=False)
class Total:
    """Sums over all worlds."""

    values: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts of all worlds."""

    counts: LevelCounts | DateCounts


Holding = Kept | Total | Counted


def merge(mine: Sequence[Holding], theirs: Sequence[Holding], place: slice[int, int, None]) -> None:
    """Add what another batch holds; the worlds it keeps stand at `place`."""
    for one, other in zip(mine, theirs, strict=True):
        if isinstance(one, Kept) and isinstance(other, Kept):
            one.values[(*(slice(None),) * one.axis, place)] = other.values
        elif isinstance(one, Total) and isinstance(other, Total):
            one.values[...] += other.values
        elif isinstance(one, Counted) and isinstance(other, Counted):
            one.counts.merge(other.counts)  # type: ignore[arg-type]


def packed(holdings: Sequence[Holding]) -> dict[str, NDArray[Any]]:
    """Return everything as plain arrays."""
    return dict(_named(holdings))


def _named(holdings: Sequence[Holding]) -> Iterator[tuple[str, NDArray[Any]]]:
    for number, each in enumerate(holdings):
        if isinstance(each, Counted):
            yield from ((f"{number}.{part}", values) for part, values in each.counts.arrays().items())
        else:
            yield f"{number}", each.values


def unpack(holdings: Sequence[Holding], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Take everything from plain arrays.

    Raises
    ------
    KeyError, ValueError
        If they are not those of such holdings.
    """
    for number, each in enumerate(holdings):
        if isinstance(each, Counted):
            prefix = f"{number}."
            each.counts.restore({k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)})
        else:
            each.values[...] = arrays[f"{number}"]
