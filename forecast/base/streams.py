"""Random streams that do not depend on who draws first, on how many draws, or on how many workers.

Every stream is ``SeedSequence(seed, spawn_key=(blake2b-64 of the node's name, of the part, block))``. A block has one
fixed size, is always drawn whole and then cut, and arrays are drawn (time, draw): fewer draws are a prefix of more, a
longer horizon keeps the earlier steps. The global random state is never touched.
"""

from __future__ import annotations

import hashlib
import numbers
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forecast.errors import UsageError, printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["BLOCK", "Streams", "check_seed", "symmetric_t"]

#: Draws in a block.
BLOCK = 1024

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
        return secrets.randbits(32)
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral) or not 0 <= int(seed) < _LARGEST_SEED:
        raise UsageError(f"seed: expected an integer from 0 to 2**64 - 1, got '{printable(seed, 40)}'")
    return int(seed)


def _key(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


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

    Examples
    --------
    >>> streams = Streams(seed=0, node="demo", block=0)
    >>> bool((streams("noise").random(3) == streams("noise").random(3)).all())
    True
    """

    seed: int
    node: str
    block: int

    @property
    def draws(self) -> int:
        """How many draws to return: always the whole block."""
        return BLOCK

    def __call__(self, part: str) -> np.random.Generator:
        """Return a fresh generator for one part (``"parameters"``, ``"noise"``), the same at every call."""
        import numpy as np

        spawn_key = (_key(self.node), _key(part), self.block)
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=spawn_key)))


def symmetric_t(rng: np.random.Generator, size: int, dimension: int, dof: float) -> NDArray[np.float64]:
    """Draw standard multivariate-t vectors in antithetic pairs, shape (dimension, size).

    Draw 2i+1 is the mirror image of draw 2i. The distribution of each draw is unchanged, and the median of anything
    linear in them is exact at any even number of draws instead of wandering by a Monte Carlo error.

    Parameters
    ----------
    rng : numpy.random.Generator
    size : int
        Even.
    dimension : int
    dof : float
        Degrees of freedom; infinite gives normal vectors.
    """
    import numpy as np

    half = rng.standard_normal((dimension, size // 2))
    if np.isfinite(dof):
        half /= np.sqrt(rng.chisquare(dof, size // 2) / dof)
    out = np.empty((dimension, size))
    out[:, 0::2], out[:, 1::2] = half, -half
    return out
