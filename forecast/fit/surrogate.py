"""A law replaced by its quadratic expansion about a point that many fits are near: a kernel without the law.

Refits of resampled data end close to the fit of all data. There the law, at each point of the data, is a quadratic in the
parameters whose coefficients all refits share, so that most of the way costs two small matrix products a step. The last
steps are taken on the law itself.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.fit.kernel import Kernel, State

__all__ = ["Quadratic"]

Array: TypeAlias = NDArray[np.float64]

#: Step of the differences that give the second derivatives.
STEP = 1e-5


class Quadratic:
    """The expansion of a kernel over shared points; the Hessian takes the slopes at the centre.

    Parameters
    ----------
    kernel : Kernel
    centre : ndarray
        (k,), in the solver's coordinates.
    """

    def __init__(self, kernel: Kernel, centre: Array) -> None:
        k = centre.size
        self.centre = centre[:, None]
        steps = STEP * np.maximum(np.abs(centre), 1.0)
        around = np.concatenate([centre[:, None] + np.diag(steps), centre[:, None] - np.diag(steps)], axis=1)
        slopes = kernel.jacobian(kernel.at(around))
        self.f = kernel.at(self.centre).f[0].copy()
        self.slopes = slopes[:, :k].mean(axis=1) / 2 + slopes[:, k:].mean(axis=1) / 2
        second = (slopes[:, :k] - slopes[:, k:]) / (2 * steps[None, :, None])
        second = (second + second.swapaxes(0, 1)) / 2
        self.pairs = [(a, b) for a in range(k) for b in range(a + 1)]
        first, other = (np.array(side) for side in zip(*self.pairs, strict=True))
        self.first, self.other = first, other
        half = np.where(first == other, 0.5, 1.0)
        self.curves = second[first, other]
        self.features = np.concatenate([self.slopes, half[:, None] * self.curves])
        self.products = self.slopes[first] * self.slopes[other]

    @property
    def usable(self) -> bool:
        """Whether the expansion could be computed."""
        return bool(np.isfinite(self.features).all() and np.isfinite(self.f).all())

    def take(self, rows: Any) -> Quadratic:
        """Return itself: all fits share the points."""
        return self

    def at(self, q: Array) -> State:
        """Return the expansion at parameters (k, B)."""
        moved = q - self.centre
        f = np.concatenate([moved, moved[self.first] * moved[self.other]]).T @ self.features
        f += self.f
        return State(f, moved)

    def contract(self, state: State, first: Array, second: Array, share: Array | None = None) -> tuple[Array, Array]:
        """Return gradient (k, B) and Hessian (k, k, B)."""
        moved: Array = state.inner
        k = moved.shape[0]
        sums, bends = self.features[:k] @ first.T, self.curves @ first.T
        flat = self.products @ second.T
        gradient, hessian = sums, np.empty((k, k, moved.shape[1]))
        for i, (a, b) in enumerate(self.pairs):
            gradient[a] += bends[i] * moved[b]
            if a != b:
                gradient[b] += bends[i] * moved[a]
            hessian[a, b] = hessian[b, a] = flat[i] + bends[i]
        return gradient, hessian

    def jacobian(self, state: State) -> Array:
        """Return the derivatives of f by the coordinates, (k, B, n)."""
        moved: Array = state.inner
        table = np.repeat(self.slopes[:, None], moved.shape[1], axis=1)
        for i, (a, b) in enumerate(self.pairs):
            table[a] += moved[b][:, None] * self.curves[i]
            if a != b:
                table[b] += moved[a][:, None] * self.curves[i]
        return table
