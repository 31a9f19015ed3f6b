"""Wright or Moore? Whether a series shows if experience or time made a value change.

Where production grows exponentially the two are the same line (Sahal 1979): only a change of pace tells them apart. So
both are put into one regression, and what each adds to the other is tested, as is usual for rival explanations neither
of which contains the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from forecast_trends.walks.echo import Increments

__all__ = ["Rivals"]

#: Two-sided level of both tests: what is outside a 90 % interval.
_TEST_LEVEL = 0.1

#: What is left of a sum of squares by rounding.
_VARIANCE_ATOL = 1e-18


@dataclass(frozen=True, kw_only=True)
class Rivals:
    """What experience and time add to one another in Δlog y = −w·Δlog Q − m·Δt + noise.

    Parameters
    ----------
    pace, spread : float
        Growth of experience a year, in logs, and the standard deviation of that from step to step.
    experience, time : float
        p values: what the data would show by chance if experience, or time, added nothing to the other. NaN where
        there are too few points to ask.

    References
    ----------
    Davidson, R. & MacKinnon, J. G. (1981), Several tests for model specification in the presence of alternative
    hypotheses, Econometrica 49(3), 781-793. Nordhaus, W. D. (2014), The perils of the learning model for modeling
    endogenous technological change, The Energy Journal 35(1), 1-13 (regresses on both, and warns; from memory).
    """

    pace: float
    spread: float
    experience: float
    time: float

    @classmethod
    def of(cls, steps: Increments, rho: float) -> Rivals:
        """Regress the steps of a series on both, by generalised least squares with the noise's covariance."""
        from scipy.special import stdtr

        y, drive, length = steps.whitened(rho)
        pace = float(steps.drive.sum() / steps.length.sum())
        left = steps.drive / steps.length - pace
        spread = float(np.sqrt(np.sum(steps.length * left**2) / steps.length.sum()))
        dof = len(y) - 2
        if dof < 1:
            return cls(pace=pace, spread=spread, experience=float("nan"), time=float("nan"))
        both = np.stack([drive, length], axis=1)
        found, _, rank, _ = np.linalg.lstsq(both, y, rcond=1e-9)
        if rank < 2:  # production grew exactly evenly
            return cls(pace=pace, spread=spread, experience=1.0, time=1.0)
        rest = y - both @ found
        scale = max(float(rest @ rest), _VARIANCE_ATOL * float(y @ y)) / dof
        covariance = scale * np.linalg.inv(both.T @ both)
        error = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        by_experience, by_time = 2 * stdtr(dof, -np.abs(found) / error)
        return cls(pace=pace, spread=spread, experience=float(by_experience), time=float(by_time))

    def said(self) -> str:
        """Say what follows, as the end of a sentence; nothing where experience alone explains the series."""
        if math.isnan(self.experience):
            return ""
        shows, moves = self.experience < _TEST_LEVEL, self.time < _TEST_LEVEL
        if shows and moves:
            return f"; time matters beside experience (p = {self.time:.2g}): Wright's law alone leaves a trend in time"
        if shows:
            return ""
        if moves:
            return (
                f"; time explains these changes and experience adds nothing to it (p = {self.experience:.2f}): "
                "a trend in time describes this series better"
            )
        return (
            f"; experience, which grew by {self.pace:.2g} ± {self.spread:.2g} a year in logs, cannot be told from time "
            f"here (neither adds to the other, p = {self.experience:.2f} and {self.time:.2f}): what happens when "
            "production changes its pace is assumed, not seen"
        )
