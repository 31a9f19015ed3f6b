"""Scrambled Sobol' points: evenly spread uniforms, a randomisation of its own for every name.

World i is point i // 8 of randomisation i mod 8: fewer worlds are a prefix of more, and the eight replicates, which are
independent, tell the Monte Carlo error of an answer.

What a name draws must not depend on the other names of a scenario, so a name cannot have the next free dimensions of
one sequence that all share. Each has Sobol' dimensions of its own, and in every block of worlds a random order of its
own (padding [4]_). What depends on one name alone then has the small error of the sequence, and what several do
together that of independent draws. Tried and left: random generator matrices, which make one net of all names, and
nested shuffles; by chance two names then correlate up to three times, and 1.25 times, as much as independent draws.

References
----------
.. [1] Joe, S. & Kuo, F. Y. (2008). Constructing Sobol sequences with better two-dimensional projections. SIAM Journal
   on Scientific Computing 30(5), 2635-2654; the initial numbers are of their table new-joe-kuo-6.21201.
.. [2] Matoušek, J. (1998). On the L2-discrepancy for anchored boxes. Journal of Complexity 14(4), 527-556: random
   linear scrambling and a digital shift.
.. [3] L'Ecuyer, P. & Lemieux, C. (2002). Recent advances in randomized quasi-Monte Carlo methods. In Modeling
   Uncertainty, 419-474: independent randomisations tell the error.
.. [4] Owen, A. B. (1998). Latin supercube sampling for very high-dimensional simulations. ACM Transactions on Modeling
   and Computer Simulation 8(1), 71-102.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array

#: Worlds in a block.
DRAWS_PER_BLOCK = 1024
#: The worlds of the pieces in which a run draws its first block, so that few draws cost little.
FIRST_BLOCK_PIECES = (range(256), range(256, DRAWS_PER_BLOCK))
#: Independent randomisations, among which the worlds take turns.
REPLICATES = 8
#: Binary digits of a point's number: 2^27 points of 8 randomisations are a thousand million worlds.
MAX_INDEX_BITS = 27
#: Binary digits of a point: with half of the last one added it is exact, and neither 0 nor 1.
POINT_BITS = 52

#: Points of one randomisation in a block, and binary digits of their number in it.
POINTS_PER_BLOCK = DRAWS_PER_BLOCK // REPLICATES
POINT_INDEX_BITS = POINTS_PER_BLOCK.bit_length() - 1

#: Of each dimension but the first the degree and the coefficients of a primitive polynomial, and the first direction
#: numbers [1]_.
_DIRECTION_NUMBERS = (
    (1, 0, (1,)),
    (2, 1, (1, 3)),
    (3, 1, (1, 3, 1)),
    (3, 2, (1, 1, 1)),
    (4, 1, (1, 1, 3, 3)),
    (4, 4, (1, 3, 5, 13)),
    (5, 2, (1, 1, 5, 5, 17)),
    (5, 4, (1, 1, 5, 5, 5)),
    (5, 7, (1, 1, 7, 11, 19)),
    (5, 11, (1, 1, 5, 1, 1)),
    (5, 13, (1, 1, 1, 3, 11)),
    (5, 14, (1, 3, 5, 5, 31)),
    (6, 1, (1, 3, 3, 9, 7, 49)),
    (6, 13, (1, 1, 1, 15, 21, 21)),
    (6, 16, (1, 3, 1, 13, 27, 49)),
)
#: Dimensions of one sequence; who needs more has several, each scrambled by itself and in an order of its own.
MAX_DIMENSIONS = len(_DIRECTION_NUMBERS) + 1


def key(text: str) -> int:
    """Return a number of 64 bits that stands for a text in the key of a random stream."""
    import hashlib

    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


@functools.cache
def direction_numbers() -> NDArray[np.uint64]:
    """Return the columns of the generator matrices, (dimension, `MAX_INDEX_BITS`), as binary fractions.

    Examples
    --------
    >>> (direction_numbers()[1, :3] / 2**27).tolist()
    [0.5, 0.75, 0.625]
    """
    rows = [[1] * MAX_INDEX_BITS]
    for degree, coefficients, first in _DIRECTION_NUMBERS:
        m = list(first)
        for k in range(degree, MAX_INDEX_BITS):
            new = m[k - degree] ^ (m[k - degree] << degree)
            for j in range(1, degree):
                if coefficients >> (degree - 1 - j) & 1:
                    new ^= m[k - j] << j
            m.append(new)
        rows.append(m)
    return np.array([[m << (MAX_INDEX_BITS - 1 - k) for k, m in enumerate(row)] for row in rows], dtype=np.uint64)


@functools.cache
def _generator_bits() -> tuple[NDArray[np.int8], NDArray[np.float32], NDArray[np.float32]]:
    """Return where scrambling matrices are random, and are one, and the generator matrices digit by digit."""
    places = np.arange(MAX_INDEX_BITS - 1, -1, -1, dtype=np.uint64)
    generators = (direction_numbers()[:, None, :] >> places[:, None] & np.uint64(1)).astype(np.float32)
    return (
        np.tri(POINT_BITS, MAX_INDEX_BITS, -1, dtype=np.int8),
        np.eye(POINT_BITS, MAX_INDEX_BITS, dtype=np.float32),
        generators,
    )


@functools.lru_cache(maxsize=512)
def _scrambled_points(
    spawn_key: tuple[int, ...], seed: int, count: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the first points of a block, (point, randomisation, dimension), and what later digits add to them."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=spawn_key)))
    below, diagonal, generators = _generator_bits()
    scramble = rng.integers(0, 2, (REPLICATES, count, POINT_BITS, MAX_INDEX_BITS), dtype=np.int8) * below
    shift = rng.integers(0, 2**POINT_BITS, (REPLICATES, count), dtype=np.uint64)
    # sums below 2^7: exact in single precision, and in a byte their last digit is read at once
    sums = (scramble + diagonal) @ generators[:count]
    columns = (sums.astype(np.uint8) & np.uint8(1)).astype(np.float64)
    powers = 2.0 ** np.arange(POINT_BITS - 1, -1, -1)
    digits = np.moveaxis(powers @ columns, -1, 0).astype(np.uint64)
    first = np.empty((POINTS_PER_BLOCK, REPLICATES, count), dtype=np.uint64)
    first[0] = shift
    for k in range(POINT_INDEX_BITS):
        first[2**k : 2 ** (k + 1)] = first[: 2**k] ^ digits[k]
    return first, digits[POINT_INDEX_BITS:]


def _order(spawn_key: tuple[int, ...], seed: int, worlds: range) -> NDArray[np.intp]:
    """Return an order of the points of these worlds of a block, (point, randomisation)."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=spawn_key)))
    points = np.arange(worlds.start // REPLICATES, worlds.stop // REPLICATES)
    return rng.permuted(np.tile(points[:, None], REPLICATES), axis=0)


def uniform_block(seed: int, node: str, part: str, count: int, block: int, piece: int | None = None) -> Array:
    """Return one block of points in the open unit cube, or one piece of the first block: (dimension, world).

    Parameters
    ----------
    seed : int
    node, part : str
        Who draws, and what for.
    count : int
        Dimensions.
    block : int
    piece : int, optional
        Which of `FIRST_BLOCK_PIECES`, of block 0. All pieces have the points of the block, each in an order of its own.

    Examples
    --------
    >>> u = uniform_block(0, "demo", "parameters", 2, 0)
    >>> u.shape, bool(((u > 0) & (u < 1)).all())
    ((2, 1024), True)
    >>> sorted((u[0, ::8] * 128).astype(int).tolist()) == list(range(128))
    True
    """
    worlds, own = (range(DRAWS_PER_BLOCK), ()) if piece is None else (FIRST_BLOCK_PIECES[piece], (piece + 1,))
    names, rows = (key(node), key(part)), np.empty((count, len(worlds)))
    for low in range(0, count, MAX_DIMENSIONS):
        high = min(low + MAX_DIMENSIONS, count)
        which = low // MAX_DIMENSIONS
        first, later = _scrambled_points((*names, key("points"), which), seed, high - low)
        order = _order((*names, key("order"), which, block, *own), seed, worlds)
        added = np.zeros(first.shape[1:], dtype=np.uint64)
        for k in range(block.bit_length()):
            if block >> k & 1:
                added ^= later[k]
        first = np.take_along_axis(first, order[:, :, None], axis=0)
        rows[low:high] = ((first ^ added).reshape(len(worlds), -1).T + 0.5) * 2.0**-POINT_BITS
    return rows
