"""The losses that need no plugin: squares, Huber's and quantiles', which grow linearly, and those of counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from forecast.base.arrays import Array
from forecast.fit.objectives.objective import Objective, Option, RowRule, Scratch


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


class Poisson(Objective):
    """Minus the log likelihood of counts whose mean is the law, less that of a perfect fit."""

    scale = "known"

    def pointwise(self, f: Array, y: Array, options: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        """Return half the deviance and its derivatives."""
        mean = np.where(f > 0, f, np.nan)
        ratio = y / mean
        return np.where(y > 0, _excess(y, mean - y), mean), 1.0 - ratio, ratio / mean

    def sizes(self, y: Array, options: Mapping[str, Any]) -> Array:
        """Return the counts: their variance is of that size."""
        return np.abs(y)

    def row_rules(self, y: Array, columns: Mapping[str, Array]) -> Iterator[RowRule]:
        """Yield rows with negative counts."""
        yield RowRule(~(y >= 0), f"objective '{self.name}' takes counts, and y is negative")

    def doubt(self, y: Array, weights: Array) -> str:
        """Return how many values are no whole numbers."""
        bad = (weights > 0) & (np.abs(y - np.round(y)) > 1e-9 * np.maximum(np.abs(y), 1.0))
        if not bad.any():
            return ""
        share = f"{int(bad.sum())} of {int((weights > 0).sum())} values of y are no whole numbers"
        first = f"{float(y.ravel()[int(np.argmax(bad.ravel()))]):g}"
        return (
            f"objective '{self.name}' expects counts, and {share} (the first is {first}): the parameters are those of "
            "a quasi-Poisson fit, but the errors take the variance of counts; give counts, or bootstrap=N for the "
            "errors"
        )


class Binomial(Objective):
    """Minus the log likelihood of ``y`` successes in ``trials``, less that of a perfect fit.

    The law is the chance of success once guessing is taken off: p = chance + (1 - chance)*f.
    """

    scale = "known"
    options: ClassVar[Mapping[str, Option]] = {
        "trials": Option(column="how many were tried"),
        "chance": Option(0.0, column="the share that guessing gets right"),
    }

    def pointwise(self, f: Array, y: Array, options: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        """Return half the deviance and its derivatives."""
        trials, floor = options["trials"], options["chance"]
        p = floor + (1.0 - floor) * f
        p = np.where((p > 0) & (p < 1), p, np.nan)
        fails = trials - y
        with np.errstate(all="ignore"):
            apart = trials * p - y
            value = np.where(y > 0, _excess(y, apart), apart) + np.where(fails > 0, _excess(fails, -apart), -apart)
        slope = fails / (1.0 - p) - y / p
        curve = fails / (1.0 - p) ** 2 + y / p**2
        return value, (1.0 - floor) * slope, (1.0 - floor) ** 2 * curve

    def residuals(self, f: Array, y: Array, options: Mapping[str, Any]) -> Array:
        """Return by how much the chance of success misses the share of successes."""
        with np.errstate(all="ignore"):
            return np.asarray(options["chance"] + (1 - options["chance"]) * f - y / options["trials"])

    def sizes(self, y: Array, options: Mapping[str, Any]) -> Array:
        """Return the trials: the variance of successes is of that size."""
        return np.asarray(options["trials"] + 0.0 * y)

    def nearby_squares(self, y: Array, weights: Array, options: Mapping[str, Any]) -> tuple[Array, Array]:
        """Return the shares of successes above guessing, weighted by the trials."""
        floor = options["chance"]
        return (y / options["trials"] - floor) / (1 - floor), weights * options["trials"]

    def row_rules(self, y: Array, columns: Mapping[str, Array]) -> Iterator[RowRule]:
        """Yield rows whose numbers are no counts of successes, and scores that lie below guessing.

        Guessing itself scatters: a score is too low from four of its standard errors on.
        """
        trials, chance = columns["trials"], columns["chance"]
        yield RowRule(
            ~((y >= 0) & (y <= trials) & (trials > 0)), "expected 0 <= y <= trials, and trials above 0, not so"
        )
        share = (chance >= 0) & (chance < 1)
        yield RowRule(~share, "chance: expected numbers from 0 to below 1, not so")
        floor = np.where(share, chance, 0.0)
        with np.errstate(all="ignore"):
            low = y < floor * trials - 4.0 * np.sqrt(floor * (1.0 - floor) * trials)
            yield RowRule(
                low, "the chance floor {floor:g} lies above the score {score:g} by more than four standard errors",
                "one of the two is wrong", {"floor": floor, "score": y / trials},
            )  # fmt: skip


def _excess(count: Array, apart: Array) -> Array:
    """Return c*log(c/m) - c + m for the mean m = c + apart: never negative, and exact where the two are close."""
    with np.errstate(all="ignore"):
        moved = apart / count
        return np.asarray(np.maximum(count * (moved - np.log1p(moved)), 0.0))
