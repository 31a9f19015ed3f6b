"""How the worlds of a run are cut into blocks: one of 256 worlds, one of 768, and from there on 1,024 each.

Models draw a whole block, however few of its worlds are asked for: with small blocks first, few draws cost little, and
many are drawn in large ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from forecast.base.sobol import DRAWS_PER_BLOCK, FIRST_BLOCK_PIECES
from forecast.base.streams import Streams

S = TypeVar("S", bound=Streams)

#: The later blocks count as much less than their number among the streams.
_BLOCK_OFFSET = len(FIRST_BLOCK_PIECES) - 1


def start(number: int) -> int:
    """Return the first world of a block.

    Examples
    --------
    >>> [start(number) for number in range(6)]
    [0, 256, 1024, 2048, 3072, 4096]
    """
    return (
        FIRST_BLOCK_PIECES[number].start
        if number < len(FIRST_BLOCK_PIECES)
        else (number - _BLOCK_OFFSET) * DRAWS_PER_BLOCK
    )


def blocks_between(low: int, high: int) -> range:
    """Return the numbers of the blocks that hold the worlds from `low`, at the beginning of a block, up to `high`.

    Examples
    --------
    >>> blocks_between(0, 64), blocks_between(0, 1024), blocks_between(1024, 5000)
    (range(0, 1), range(0, 2), range(2, 6))
    """
    return range(_block_of_draw(low), _block_of_draw(max(high - 1, low)) + 1)


def _block_of_draw(world: int) -> int:
    """Return the number of the block that holds a world."""
    if world >= DRAWS_PER_BLOCK:
        return world // DRAWS_PER_BLOCK + _BLOCK_OFFSET
    return next(number for number, piece in enumerate(FIRST_BLOCK_PIECES) if world in piece)


def draw_positions(numbers: Iterable[int]) -> list[slice]:
    """Return where the worlds of each block stand among those of all these blocks.

    Examples
    --------
    >>> draw_positions(range(2))
    [slice(0, 256, None), slice(256, 1024, None)]
    """
    out, done = [], 0
    for number in numbers:
        size = start(number + 1) - start(number)
        out.append(slice(done, done + size))
        done += size
    return out


def node_streams(kind: type[S], seed: int, node: str, number: int, **more: Any) -> S:
    """Return the streams of a node in a block of a run.

    Examples
    --------
    >>> [node_streams(Streams, 0, "demo", number).draws for number in range(4)]
    [256, 768, 1024, 1024]
    """
    if number < len(FIRST_BLOCK_PIECES):
        return kind(seed, node, 0, number, **more)
    return kind(seed, node, number - _BLOCK_OFFSET, **more)
