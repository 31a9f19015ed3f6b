"""Least squares, not halved, and the normal likelihood that they stand for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from forecast.base.arrays import Array
from forecast.fit.objectives.objective import Objective, Scratch


class Squares(Objective):
    """The sum of squares, not halved."""

    scale = "residual"
    degree = 2
    convex = True
    takes_sigma_x = True

    def pointwise(self, f: Array, y: Array, options: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        """Return the square, not halved, and its derivatives."""
        r = f - y
        return r * r, 2.0 * r, np.full_like(r, 2.0)

    def summed(
        self, f: Array, y: Array, weights: Array, options: Mapping[str, Any], scratch: Scratch
    ) -> tuple[Array, Array, Array]:
        """Return sums and weighted derivatives without a table of squares: what bootstraps spend their time in."""
        r = np.subtract(f, y, out=scratch(0, f))
        slope = np.multiply(r, weights, out=scratch(1, f))
        value = np.einsum("bn,bn->b", slope, r)
        slope *= 2.0
        return value, slope, np.broadcast_to(2.0 * weights, slope.shape)

    def minus_log_likelihood(self, stated: float, n: int) -> float | None:
        """Return that of normal noise at the scale of greatest likelihood; None where nothing is left of it."""
        return 0.5 * n * (math.log(2 * math.pi * stated / n) + 1) if stated > 0 else None


class Gaussian(Squares):
    """Minus the log likelihood of normal noise, its scale profiled out: least squares with another value."""

    profile = True

    def stated(self, value: Any, weight: Any, length: Any = None) -> Any:
        """Return minus the log likelihood at the scale of greatest likelihood."""
        with np.errstate(all="ignore"):
            return 0.5 * weight * (np.log(2 * np.pi * value / weight) + 1)

    def minus_log_likelihood(self, stated: float, n: int) -> float | None:
        """Return what is reported."""
        return stated
