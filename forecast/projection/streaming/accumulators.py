"""What the parts of a reduced batch hold, in one form: so that batches are added up, sent and saved in one way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from forecast.projection.streaming.histograms import DateHistogram, ValueHistogram

__all__ = ["KeptColumn", "SummedColumn", "WorldColumn", "merge", "to_arrays", "unpack"]


@dataclass(frozen=True, eq=False)
class SummedColumn:
    """Sums over all worlds."""

    values: NDArray[Any]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers as a plain array."""
        return {"": self.values}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
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


def to_arrays(holdings: Sequence[WorldColumn]) -> dict[str, NDArray[Any]]:
    """Return everything as plain arrays."""
    return {f"{number}.{part}": a for number, each in enumerate(holdings) for part, a in each.arrays().items()}


def unpack(holdings: Sequence[WorldColumn], arrays: Mapping[str, NDArray[Any]]) -> None:
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
