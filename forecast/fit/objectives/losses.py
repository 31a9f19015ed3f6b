"""Losses, point by point: the value and its first two derivatives by the prediction.

A loss sees ``f``, the law in the objective's link (its logarithm under a log objective), and ``y``, the observation in
the same link. Weights come later: everything here is per unit weight. What cannot be computed is not finite, and the
solver refuses a step there. Options (``delta``, ``tau``, ...) are scalars, or one a fit of a batch, (B, 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "SUMMED",
    "Loss",
    "Scratch",
    "binomial",
    "huber",
    "huber_constant",
    "poisson",
    "quantile",
    "squares",
]

Array: TypeAlias = NDArray[np.float64]
#: f, y, options -> value, first and second derivative by f.
Loss: TypeAlias = Callable[[Array, Array, Mapping[str, Any]], tuple[Array, Array, Array]]

#: f, y, weights, options, scratch -> sums (B,), and weighted derivatives (B, n).
Summed: TypeAlias = "Callable[[Array, Array, Array, Mapping[str, Any], Scratch], tuple[Array, Array, Array]]"


def squares(f: Array, y: Array, options: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Return the square, not halved."""
    r = f - y
    return r * r, 2.0 * r, np.full_like(r, 2.0)


def huber(f: Array, y: Array, options: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Return Huber's loss: half a square up to the threshold ``delta``, linear beyond it."""
    r = f - y
    delta = options["delta"]
    slope = np.minimum(np.maximum(r, -delta), delta)
    inside = np.equal(slope, r).astype(float)
    value = slope * -0.5
    value += r
    value *= slope
    return value, slope, inside


class Scratch:
    """Arrays that every step uses again: allocating them anew would take noticeable time."""

    def __init__(self) -> None:
        self.tables: list[Array] = []

    def __call__(self, i: int, like: Array) -> Array:
        """Return table `i` in the shape of another."""
        while len(self.tables) <= i:
            self.tables.append(np.empty((0, 0)))
        if self.tables[i].shape[1:] != like.shape[1:] or self.tables[i].shape[0] < like.shape[0]:
            self.tables[i] = np.empty(like.shape)
        return self.tables[i][: like.shape[0]]


def squares_summed(
    f: Array, y: Array, w: Array, options: Mapping[str, Any], scratch: Scratch
) -> tuple[Array, Array, Array]:
    """Return the weighted sum of squares of every fit, and the weighted derivatives at every point."""
    r = np.subtract(f, y, out=scratch(0, f))
    slope = np.multiply(r, w, out=scratch(1, f))
    value = np.einsum("bn,bn->b", slope, r)
    slope *= 2.0
    return value, slope, np.broadcast_to(2.0 * w, slope.shape)


def huber_summed(
    f: Array, y: Array, w: Array, options: Mapping[str, Any], scratch: Scratch
) -> tuple[Array, Array, Array]:
    """Return the weighted sum of Huber losses of every fit, and the weighted derivatives at every point."""
    r, delta = np.subtract(f, y, out=scratch(0, f)), options["delta"]
    slope = np.clip(r, -delta, delta, out=scratch(1, f))
    inside = np.equal(slope, r, out=scratch(2, f))
    inside *= w
    weighted = np.multiply(slope, w, out=scratch(3, f))
    value = np.einsum("bn,bn->b", weighted, r)
    value -= 0.5 * np.einsum("bn,bn->b", weighted, slope)
    return value, weighted, inside


#: Losses whose weighted sums are taken without a table of the losses: what bootstraps spend their time in.
SUMMED: Mapping[str, Summed] = {"squares": squares_summed, "huber": huber_summed}


def poisson(f: Array, y: Array, options: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Return minus the log likelihood of a count whose mean is the law, less that of a perfect fit."""
    mean = np.where(f > 0, f, np.nan)
    ratio = y / mean
    return np.where(y > 0, _excess(y, mean - y), mean), 1.0 - ratio, ratio / mean


def binomial(f: Array, y: Array, options: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Return minus the log likelihood of ``y`` successes in ``trials``, less that of a perfect fit.

    The law is the chance of success once guessing is taken off: p = chance + (1 - chance)*f.
    """
    trials, floor = options["trials"], options.get("chance", 0.0)
    p = floor + (1.0 - floor) * f
    p = np.where((p > 0) & (p < 1), p, np.nan)
    fails = trials - y
    with np.errstate(all="ignore"):
        apart = trials * p - y
        value = np.where(y > 0, _excess(y, apart), apart) + np.where(fails > 0, _excess(fails, -apart), -apart)
    slope = fails / (1.0 - p) - y / p
    curve = fails / (1.0 - p) ** 2 + y / p**2
    return value, (1.0 - floor) * slope, (1.0 - floor) ** 2 * curve


def _excess(count: Array, apart: Array) -> Array:
    """Return c*log(c/m) - c + m for the mean m = c + apart: never negative, and exact where the two are close."""
    with np.errstate(all="ignore"):
        moved = apart / count
        return np.asarray(np.maximum(count * (moved - np.log1p(moved)), 0.0))


def quantile(f: Array, y: Array, options: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Return the quantile loss of level ``tau``, its kink rounded off over ``width``.

    With r = y - f it is tau*r + width*log(1 + exp(-r/width)), which lies at most 0.7 widths above the true loss.
    """
    tau, width = options["tau"], options["width"]
    z = (y - f) / width
    soft = np.logaddexp(0.0, -z)
    share = np.exp(-z - soft)  # the logistic function of -z
    return width * (tau * z + soft), share - tau, share * (1.0 - share) / width


def huber_constant(c: float) -> float:
    """Return the log of the integral of exp(-Huber loss) of threshold `c`: what makes it a density."""
    return math.log(math.sqrt(2 * math.pi) * math.erf(c / math.sqrt(2)) + 2 / c * math.exp(-c * c / 2))
