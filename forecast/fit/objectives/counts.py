"""Likelihoods of counts: Poisson's, and the binomial one with a floor of guessing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from forecast.base.arrays import Array
from forecast.fit.objectives.objective import Objective, Option, RowRule


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
