"""How a change acts on a path: its growth multiplied, or its value replaced, from a date on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


__all__ = ["grown", "replaced"]


def grown(time: Array, path: Array, factor: float, since: float, until: float) -> Array:
    """Return a path whose growth is multiplied between two dates.

    The increments of its logarithm are multiplied; of a step in which a date lies, the part beyond it. What was gained
    or lost stays so afterwards. Before the first date the path is what it was, bit for bit. What has no logarithm where
    it would be needed is NaN there.

    Examples
    --------
    >>> time, path = np.arange(2025.0, 2030.0), 4.0 ** np.arange(5)[:, np.newaxis]
    >>> grown(time, path, 0.5, 2026.0, 2028.0).ravel().round(9).tolist()
    [1.0, 4.0, 8.0, 16.0, 64.0]
    """
    part = np.minimum(time[1:], until) - np.maximum(time[:-1], since)
    part = np.maximum(part, 0.0)[:, np.newaxis] / np.diff(time)[:, np.newaxis]
    inside = part[:, 0] > 0
    touched = np.concatenate([inside, [False]]) | np.concatenate([[False], inside])
    lost = ~(np.isfinite(path) & (path > 0)) & touched[:, np.newaxis]
    logs = np.log(np.where(touched[:, np.newaxis] & ~lost, path, 1.0))
    gained = np.where(inside[:, np.newaxis], (factor - 1) * part * np.diff(logs, axis=0), 0.0)
    with np.errstate(over="ignore"):
        made = path * np.exp(np.concatenate([np.zeros((1, path.shape[1])), np.cumsum(gained, axis=0)]))
    return np.where(lost, np.nan, made)


def replaced(time: Array, path: Array, value: Array, since: float, until: float) -> Array:
    """Return a path that is `value` at the steps from one date on and before another.

    Examples
    --------
    >>> time = np.arange(2025.0, 2029.0)
    >>> replaced(time, np.ones((4, 1)), np.full((4, 1), 7.0), 2026.0, 2028.0).ravel().tolist()
    [1.0, 7.0, 7.0, 1.0]
    """
    return np.where(((time >= since) & (time < until))[:, np.newaxis], value, path)
