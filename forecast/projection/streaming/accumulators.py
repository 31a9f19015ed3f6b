"""What the parts of a reduced batch hold, in one form: so that batches are added up, sent and saved in one way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from forecast.projection.streaming.histograms import DateHistogram, ValueHistogram

__all__ = [
    "CountedColumn",
    "KeptColumn",
    "SummedColumn",
    "WorldColumn",
    "merge",
    "to_arrays",
    "unpack",
]


@dataclass(frozen=True, eq=False)
class KeptColumn:
    """Numbers of the worlds that are kept one by one, which stand along one axis."""

    values: NDArray[Any]
    axis: int = 0


@dataclass(frozen=True, eq=False)
class SummedColumn:
    """Sums over all worlds."""

    values: NDArray[Any]


@dataclass(frozen=True, eq=False)
class CountedColumn:
    """Counts of all worlds."""

    counts: ValueHistogram | DateHistogram


WorldColumn = KeptColumn | SummedColumn | CountedColumn


def merge(mine: Sequence[WorldColumn], theirs: Sequence[WorldColumn], place: slice[int, int, None]) -> None:
    """Add what another batch holds; the worlds it keeps stand at `place`."""
    for one, other in zip(mine, theirs, strict=True):
        if isinstance(one, KeptColumn) and isinstance(other, KeptColumn):
            one.values[(*(slice(None),) * one.axis, place)] = other.values
        elif isinstance(one, SummedColumn) and isinstance(other, SummedColumn):
            one.values[...] += other.values
        elif isinstance(one, CountedColumn) and isinstance(other, CountedColumn):
            one.counts.merge(other.counts)  # type: ignore[arg-type]


def to_arrays(holdings: Sequence[WorldColumn]) -> dict[str, NDArray[Any]]:
    """Return everything as plain arrays."""
    return dict(_named_arrays(holdings))


def _named_arrays(holdings: Sequence[WorldColumn]) -> Iterator[tuple[str, NDArray[Any]]]:
    for number, each in enumerate(holdings):
        if isinstance(each, CountedColumn):
            yield from ((f"{number}.{part}", values) for part, values in each.counts.arrays().items())
        else:
            yield f"{number}", each.values


def unpack(holdings: Sequence[WorldColumn], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Take everything from plain arrays.

    Raises
    ------
    KeyError, ValueError
        If they are not those of such holdings.
    """
    if to_arrays(holdings).keys() != arrays.keys():
        raise ValueError("expected the arrays of its quantities and questions, got others")
    for number, each in enumerate(holdings):
        if isinstance(each, CountedColumn):
            prefix = f"{number}."
            each.counts.restore({k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)})
        else:
            each.values[...] = arrays[f"{number}"]
