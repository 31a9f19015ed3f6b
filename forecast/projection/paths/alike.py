"""Values that all worlds share, which are one column in memory: computed for two worlds in place of all.

Two, because numpy takes other ways for an operand that is one number, and models for arrays whose worlds lie on one
another: the last digit may then be another one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forecast.base.arrays import Array
from forecast.base.streams import Streams

#: The worlds that are computed in place of all.
PAIR = 2


@dataclass(frozen=True)
class DrawlessStreams(Streams):
    """Streams of what draws nothing, and is computed for any number of worlds.

    Parameters
    ----------
    worlds : int
    """

    worlds: int = PAIR

    @property
    def draws(self) -> int:
        """How many worlds there are."""
        return self.worlds


def alike(values: Array) -> bool:
    """Tell whether values, (..., draw), are one column in memory that all worlds share.

    Examples
    --------
    >>> import numpy as np
    >>> alike(np.broadcast_to(1.0, (3, 8))), alike(np.ones((3, 8)))
    (True, False)
    """
    return values.strides[-1] == 0


def still(values: Array) -> Array:
    """Return the one row of values, (time, draw), whose rows are all the same memory; else the values.

    Examples
    --------
    >>> import numpy as np
    >>> still(np.broadcast_to(np.arange(4.0), (3, 4))).shape, still(np.ones((3, 4))).shape
    ((1, 4), (3, 4))
    """
    return values[:1] if values.strides[0] == 0 else values


def is_one_row(values: Array) -> bool:
    """Tell whether all rows of values, (time, draw), are the same, bit for bit."""
    bits = values.view(np.int64)
    return values.strides[0] == 0 or bool((bits[0] == bits[-1]).all() and (bits == bits[0]).all())


def distinct(values: Array) -> Array:
    """Return what there is in memory of values, (time, draw): one row, or one world, where all are that one."""
    return still(values[:, :1] if alike(values) else values)


def read_only(values: Array) -> Array:
    """Return a view of values that nobody can write to."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view


def pair(values: Array) -> Array:
    """Return two worlds of values in which all are alike."""
    return np.repeat(values[..., :1], PAIR, axis=-1)


def spread(values: Array, draws: int) -> Array:
    """Return all worlds of values that were computed for two of them."""
    return np.broadcast_to(values[..., :1], (*values.shape[:-1], draws))


def dense(values: Array) -> Array:
    """Return values whose worlds lie side by side in memory; what does not change with time stays one row."""
    if not alike(values) or not values.size:
        return values
    one = values[..., :1] if values.ndim == 1 or values.strides[0] else values[:1, :1]
    return np.broadcast_to(np.repeat(one, values.shape[-1], axis=-1), values.shape)
