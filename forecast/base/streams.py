"""Random streams that do not depend on who draws first, on how many draws, or on how many workers.

Numbers that a world has once, inputs and parameters, come from Sobol' points (`forecast.base.sobol`); noise comes from
pseudo-random generators, ``SeedSequence(seed, spawn_key=(blake2b-64 of the node's name, of the part, block))``. A block
has one fixed size, but a run draws its first one in two pieces, of 256 and 768 worlds, each with generators of its own,
so that few draws cost little. A block or piece is always drawn whole and then cut, and arrays are drawn (time, draw):
fewer draws are a prefix of more, a longer horizon keeps the earlier steps. The global random state is never touched.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forecast.base.arrays import Array
from forecast.base.number_checks import is_integer
from forecast.base.sobol import DRAWS_PER_BLOCK as DRAWS_PER_BLOCK, FIRST_BLOCK_PIECES, key, uniform_block
from forecast.errors import UsageError, printable

T = TypeVar("T")

_LARGEST_SEED = 2**64


def check_seed(seed: object) -> int:
    """Return a seed that can be recorded: an integer in [0, 2**64); None takes a fresh one from the system.

    Raises
    ------
    UsageError
        For anything else, booleans included.

    Examples
    --------
    >>> check_seed(7)
    7
    """
    if seed is None:
        import secrets

        return secrets.randbits(32)
    if not is_integer(seed) or not 0 <= int(seed) < _LARGEST_SEED:
        raise UsageError(f"seed: expected an integer from 0 to 2**64 - 1, got '{printable(seed, 40)}'")
    return int(seed)


@dataclass(frozen=True)
class Streams:
    """The random streams of one node in one block.

    Parameters
    ----------
    seed : int
        Of the projection.
    node : str
        The node's name: ``hardware/hpcg@exponential``.
    block : int
        Which block.
    piece : int, optional
        Which piece of the first block; without it the whole of it.

    Examples
    --------
    >>> streams = Streams(seed=0, node="demo", block=0)
    >>> bool((streams("noise").random(3) == streams("noise").random(3)).all())
    True
    """

    seed: int
    node: str
    block: int
    piece: int | None = None

    @property
    def draws(self) -> int:
        """How many draws to return: always the whole block, or the whole piece of it."""
        return DRAWS_PER_BLOCK if self.piece is None else len(FIRST_BLOCK_PIECES[self.piece])

    def __call__(self, part: str) -> np.random.Generator:
        """Return a fresh generator for one part (``"parameters"``, ``"noise"``), the same at every call."""
        own = () if self.piece is None else (self.piece + 1,)
        spawn_key = (key(self.node), key(part), self.block, *own)
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=spawn_key)))

    def uniforms(self, part: str, count: int) -> Array:
        """Return evenly spread uniforms for numbers that a world has once, (count, draw), the same at every call.

        Each lies inside of (0, 1); the rows of one call are the dimensions of one point.
        """
        return uniform_block(self.seed, self.node, part, count, self.block, self.piece)

    def once(self, of: object, what: Hashable, make: Callable[[], T]) -> T:
        """Return a value computed from these streams alone; a subclass may cache it.

        Parameters
        ----------
        of : object
            The object that draws: compared by identity, and never changed.
        what : hashable
            Every other dependency of the value.
        make : callable
        """
        return make()


def choice(weights: ArrayLike, uniform: Array) -> NDArray[np.intp]:
    """Choose one of several by its weight, through uniforms in the open unit interval.

    Examples
    --------
    >>> import numpy as np
    >>> choice([0.2, 0.8], np.array([0.1, 0.3, 0.9])).tolist()
    [0, 1, 1]
    """
    edges = np.cumsum(weights)
    return np.searchsorted(edges[:-1] / edges[-1], uniform, side="right")


def student_t(uniforms: Array, dof: float) -> Array:
    """Return standard multivariate-t vectors, (dimension, draw), through uniforms, (dimension + 1, draw).

    Parameters
    ----------
    uniforms : ndarray
        In the open unit interval: of each dimension, and of the common scale.
    dof : float
        Degrees of freedom; infinite gives normal vectors.

    Examples
    --------
    >>> import numpy as np
    >>> student_t(np.array([[0.5, 0.975], [0.3, 0.3]]), np.inf).round(2).tolist()
    [[0.0, 1.96]]
    """
    from scipy.special import ndtri

    normal = np.asarray(ndtri(uniforms[:-1]))
    return normal * np.exp(_log_scale(dof, ndtri(uniforms[-1]))) if np.isfinite(dof) else normal


#: Scores of the table behind `_log_scale`, and their distance: those of 52 binary digits end at 8.2.
_MAX_SCORE, _SCORE_STEP = 8.25, 1 / 64


@functools.lru_cache(maxsize=64)
def _log_scale_table(dof: float) -> tuple[Array, Array]:
    """Return the logarithm of what makes a normal number a Student t, and its slope, at the scores of a table."""
    from scipy.special import gammainccinv, gammaincinv, gammaln, ndtr

    score = np.arange(-_MAX_SCORE, _MAX_SCORE + _SCORE_STEP / 2, _SCORE_STEP)
    tail = ndtr(-np.abs(score))  # each half from its own tail
    square = 2 * np.where(score > 0, gammaincinv(dof / 2, tail), gammainccinv(dof / 2, tail))
    log_density = (dof / 2 - 1) * np.log(square) - (square + dof * np.log(2)) / 2 - gammaln(dof / 2)
    slope = np.exp(-(score**2 + np.log(2 * np.pi)) / 2 - log_density) / (2 * square)
    return -np.log(square / dof) / 2, slope * _SCORE_STEP


def _log_scale(dof: float, score: Array) -> Array:
    """Return -log(χ²/dof)/2, where χ² has the upper tail of a normal score: to 1e-10, at a fifth of the cost.

    Between the scores of a table by cubic Hermite interpolation.
    """
    value, slope = _log_scale_table(float(dof))
    share = (score + _MAX_SCORE) / _SCORE_STEP
    place = share.astype(np.intp)
    share -= place
    rise, low, high = value[place + 1] - value[place], slope[place], slope[place + 1]
    cubic = share * (3 * rise - 2 * low - high + share * (low + high - 2 * rise))
    return np.asarray(value[place] + share * (low + cubic))
