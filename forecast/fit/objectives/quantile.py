"""Quantile regression, its kink rounded off so that it has derivatives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from forecast.base.arrays import Array
from forecast.fit.objectives.objective import Objective, Option


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
