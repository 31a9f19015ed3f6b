"""Losses that grow linearly: Huber's beyond its threshold, with the likelihood that it stands for, and quantiles'."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from forecast.base.arrays import Array
from forecast.fit.objectives.objective import Objective, Option, Scratch

#: Huber's threshold in units of the residual scale: 95 % efficient where the noise is normal.
HUBER_FACTOR = 1.345


class Huber(Objective):
    """Huber's loss; its threshold is ``delta``, by default 1.345 robust standard deviations of the residuals."""

    degree = 2
    convex = True
    robust = True
    tuning = "delta"
    takes_sigma_x = True
    options: ClassVar[Mapping[str, Option]] = {"delta": Option()}

    def pointwise(self, f: Array, y: Array, options: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        """Return Huber's loss and its derivatives."""
        r = f - y
        delta = options["delta"]
        slope = np.minimum(np.maximum(r, -delta), delta)
        inside = np.equal(slope, r).astype(float)
        value = slope * -0.5
        value += r
        value *= slope
        return value, slope, inside

    def summed(
        self, f: Array, y: Array, weights: Array, options: Mapping[str, Any], scratch: Scratch
    ) -> tuple[Array, Array, Array]:
        """Return sums and weighted derivatives without a table of losses: what bootstraps spend their time in."""
        r, delta = np.subtract(f, y, out=scratch(0, f)), options["delta"]
        slope = np.clip(r, -delta, delta, out=scratch(1, f))
        inside = np.equal(slope, r, out=scratch(2, f))
        inside *= weights
        weighted = np.multiply(slope, weights, out=scratch(3, f))
        value = np.einsum("bn,bn->b", weighted, r)
        value -= 0.5 * np.einsum("bn,bn->b", weighted, slope)
        return value, weighted, inside


class HuberLikelihood(Huber):
    """Minus the log likelihood whose loss is Huber's, its scale profiled out; the threshold is 1.345 such scales."""

    profile = True
    options: ClassVar[Mapping[str, Option]] = {}

    def stated(self, value: Any, weight: Any, length: Any = None) -> Any:
        """Return minus the log likelihood; the scale is the threshold over 1.345."""
        with np.errstate(all="ignore"):
            scale = length / HUBER_FACTOR
            return value / scale**2 + weight * (np.log(scale) + huber_constant(HUBER_FACTOR))


def huber_constant(c: float) -> float:
    """Return the log of the integral of exp(-Huber loss) of threshold `c`: what makes it a density."""
    return math.log(math.sqrt(2 * math.pi) * math.erf(c / math.sqrt(2)) + 2 / c * math.exp(-c * c / 2))


class Quantile(Objective):
    """The quantile loss of level ``tau``, its kink rounded off over ``width``.

    With r = y - f it is tau*r + width*log(1 + exp(-r/width)), which lies at most 0.7 widths above the true loss.
    """

    degree = 1
    convex = True
    tuning = "width"
    options: ClassVar[Mapping[str, Option]] = {"tau": Option(0.5, below=1.0), "width": Option()}

    def pointwise(self, f: Array, y: Array, options: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        """Return the rounded quantile loss and its derivatives."""
        tau, width = options["tau"], options["width"]
        z = (y - f) / width
        soft = np.logaddexp(0.0, -z)
        share = np.exp(-z - soft)  # the logistic function of -z
        return width * (tau * z + soft), share - tau, share * (1.0 - share) / width
