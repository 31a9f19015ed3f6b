"""What the parts of a reduced batch hold, in one form: so that batches are added up, sent and saved in one way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast.projection.streaming.histograms import DateHistogram, ValueHistogram

__all__ = [
    "CountedColumn",
    "KeptColumn",
    "SummedColumn",
    "WorldColumn",
    "check_layout",
    "check_values",
    "merge",
    "to_arrays",
    "unpack",
]


@dataclass(frozen=True, eq=False)
class KeptColumn:
    """Numbers of the worlds that are kept one by one, which stand along one axis.

    Where they are `complete`, every world has its number unless something is noted that failed.
    """

    values: NDArray[Any]
    axis: int = 0
    complete: bool = False


@dataclass(frozen=True, eq=False)
class SummedColumn:
    """Sums over all worlds."""

    values: NDArray[Any]


@dataclass(frozen=True, eq=False)
class CountedColumn:
    """Counts of all worlds.

    Where they are `complete`, every world is counted once unless something is noted that failed.
    """

    counts: ValueHistogram | DateHistogram
    complete: bool = False


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


Layout = Mapping[str, "tuple[np.dtype[Any], tuple[int, ...]]"]


def check_layout(holdings: Sequence[WorldColumn], layout: Layout) -> None:
    """Refuse arrays of other names, types and shapes than such holdings have, before any is read.

    Raises
    ------
    ValueError
    """
    growing = {
        f"{number}.{part}"
        for number, each in enumerate(holdings)
        if isinstance(each, CountedColumn)
        for part in each.counts.growing
    }
    expected = to_arrays(holdings)
    if set(expected) != set(layout):
        raise ValueError(f"expected {len(expected)} arrays of its quantities and questions, got {len(layout)} others")
    for name, own in expected.items():
        dtype, shape = layout[name]
        if dtype != own.dtype or (len(shape) != 1 if name in growing else shape != own.shape):
            raise ValueError(f"array {name}: expected {own.dtype} of shape {own.shape}, got {dtype} of shape {shape}")


def check_values(holdings: Sequence[WorldColumn], *, worlds: int, n_stored: int, weighted: bool, failing: bool) -> None:
    """Refuse what `worlds` worlds cannot hold, the first `n_stored` of them one by one.

    Where worlds count differently (`weighted`) their sums have no bound; where something is noted that failed, numbers
    may be missing.

    Raises
    ------
    ValueError
    """
    for number, each in enumerate(holdings):
        if isinstance(each, KeptColumn):
            drawn = each.values[(*(slice(None),) * each.axis, slice(n_stored))]
            if each.complete and not failing and np.isnan(drawn).any():
                raise ValueError(f"array {number}: a world has no number, and nothing is noted that failed")
            continue
        sound = bool((each.values >= 0).all()) if isinstance(each, SummedColumn) else each.counts.sound()
        if not sound:
            raise ValueError(f"array {number}: counts of worlds are negative, missing or of bins that there are not")
        totals = each.values if isinstance(each, SummedColumn) else each.counts.totals()
        if not weighted and (totals > worlds).any():
            raise ValueError(f"array {number}: counts more than the {worlds:,} worlds that were drawn")
        if isinstance(each, CountedColumn) and each.complete and not (weighted or failing) and (totals != worlds).any():
            raise ValueError(f"array {number}: counts other than the {worlds:,} worlds that were drawn")


def unpack(holdings: Sequence[WorldColumn], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Take everything from plain arrays.

    Raises
    ------
    KeyError, ValueError
        If they are not those of such holdings.
    """
    for number, each in enumerate(holdings):
        if isinstance(each, CountedColumn):
            prefix = f"{number}."
            each.counts.restore({k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)})
        else:
            each.values[...] = arrays[f"{number}"]
