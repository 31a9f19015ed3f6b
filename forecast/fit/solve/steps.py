"""Newton's steps for many fits: small linear systems as arrays, one column a fit.

The Cholesky decomposition is written over arrays, so that a thousand systems cost little more than one.
"""

from __future__ import annotations

import numpy as np

from forecast.base.arrays import Array, BoolArray, IntArray

#: Up to this many fits a call costs more than its numbers.
BATCH_THRESHOLD = 200


def diagonal(h: Array) -> Array:
    """Return a view of the diagonals of matrices (k, k, B), (k, B)."""
    return np.asarray(np.einsum("iib->ib", h))


def curvature(g: Array, h: Array, q: Array) -> Array:
    """Return how curved each coordinate is, (k, B): one without curvature counts by the slope along it."""
    sizes = np.abs(diagonal(h))
    np.maximum(sizes, 1e-3 * np.abs(g) / np.maximum(np.abs(q), 1.0), out=sizes)
    sizes[sizes <= 0] = 1.0
    return sizes


def decrement(g: Array, h: Array, active: BoolArray, q: Array) -> Array:
    """Return half the Newton decrement, (B,): how far the objective is above its minimum; inf at a saddle."""
    if active.any():
        g, h = frozen(g, h, active)
    sizes = curvature(g, h, q)
    step, bad = solve_damped(h, g, 1e-12 * sizes, sizes)
    half = -0.5 * np.einsum("ib,ib->b", step, g)
    if bad.any():
        scale = 1.0 / np.sqrt(sizes[:, bad])
        values, vectors = np.linalg.eigh(np.moveaxis(h[:, :, bad] * scale[:, None] * scale[None], 2, 0))
        across = np.einsum("bij,ib->bj", vectors, g[:, bad] * scale)
        part = 0.5 * np.sum(across**2 / np.maximum(values, 1e-12), axis=1)
        half[bad] = np.where(values[:, 0] < -1e-7, np.inf, part)
    return np.asarray(half)


def frozen(g: Array, h: Array, active: BoolArray) -> tuple[Array, Array]:
    """Return derivatives in which coordinates on an active bound cannot move."""
    if not active.any():
        return g, h
    g, h = np.where(active, 0.0, g), h.copy()
    for a in np.flatnonzero(active.any(axis=1)):
        h[a, :, active[a]] = 0.0
        h[:, a, active[a]] = 0.0
        h[a, a, active[a]] = 1.0
    return g, h


def relative(g: Array, h: Array, q: Array, places: IntArray, which: BoolArray) -> tuple[Array, Array]:
    """Return derivatives by the logarithms of some coordinates, in the fits where `which` (places, B) says so."""
    g, h = g.copy(), h.copy()
    for row, a in enumerate(places):
        size = np.where(which[row], q[a], 1.0)
        g[a] *= size
        h[a] *= size
        h[:, a] *= size
        h[a, a] += np.where(which[row], g[a], 0.0)
    return g, h


def solve_damped(h: Array, g: Array, extra: Array, scale: Array) -> tuple[Array, BoolArray]:
    """Solve (H + diag(extra)) step = -g for every fit, and tell where that is not positive."""
    k, count = g.shape
    low = np.empty((k + 1, k, count))  # the last row is the right side, which the same steps turn into the solution
    low[:k], low[k] = h, -g
    diagonal(low[:k])[:] += extra
    good = np.empty((k, count), dtype=bool)
    least = 1e-15 * scale
    with np.errstate(all="ignore"):
        for i in range(k):
            np.greater(low[i, i], least[i], out=good[i])
            root = low[i, i] = 1.0 / np.sqrt(np.where(good[i], low[i, i], scale[i]))
            below = low[i + 1 :, i]
            below *= root
            if count <= BATCH_THRESHOLD:  # one call costs more than the half of the matrix that nobody reads
                low[i + 1 :, i + 1 :] -= below[:, None] * below[None, :-1]
                continue
            for j in range(i + 1, k):
                low[j:, j] -= low[j:, i] * low[j, i]
        step = low[k]
        for i in reversed(range(k)):
            step[i] *= low[i, i]
            step[:i] -= low[i, :i] * step[i]
    return step, np.asarray(~good.all(axis=0))


def saddle_free(h: Array, g: Array, damping: Array, curved: Array) -> Array:
    """Return Newton steps with the absolute values of the eigenvalues, in coordinates scaled to a unit diagonal."""
    scale = 1.0 / np.sqrt(curved)
    values, vectors = np.linalg.eigh(np.moveaxis(h * scale[:, None] * scale[None], 2, 0))
    sizes = np.maximum(np.abs(values), 1e-10) + damping[:, None]
    across = np.einsum("bij,ib->bj", vectors, g * scale)
    return np.asarray(-np.einsum("bij,bj->ib", vectors, across / sizes) * scale)
