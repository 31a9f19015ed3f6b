"""What a curve's own past says of a law that is carried beyond it: bands where the fit has none, and where they end.

A fit whose parameters are not identified has no interval of its own. Along one variable the pool of laws has: it needs
no parameter to be identified, since every member says something of the places beyond.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.errors import FitError
from forecast.fit.pool.curve_constants import TUNING
from forecast.fit.pool.curve_forecast import MIN_CURVE_POINTS, ceiling_of, forecast_curve, is_rising
from forecast.fit.solutions import Solutions

#: A band of 90 % whose ends are further apart than this factor is warned of. Of what was tried on real curves this
#: alone told large errors from small ones (``tests/evaluation/test_curve_record.py``).
WARN_BAND_FACTOR = 2.0


@dataclass(frozen=True, eq=False)
class Curve:
    """The points of a fit along its one variable, rows of one place averaged in logarithms, and the places beyond.

    Parameters
    ----------
    x, y : ndarray
        (n,), x rising.
    places : ndarray
        (p,), where the law is asked for.
    ahead : ndarray of bool
        (p,): beyond the last x.
    """

    x: Array
    y: Array
    places: Array
    ahead: BoolArray

    def pooled(self, level: float) -> dict[str, Array]:
        """Return the bands of the pool of laws at the places ahead: of the law, and of an observation; maybe none."""
        to, which = np.unique(self.places[self.ahead], return_inverse=True)
        try:
            made = forecast_curve(self.x, self.y, to)
        except FitError:
            return {}
        bands: dict[str, Array] = {}
        for prefix, said in (("", made.without_noise()), ("observed_", made)):
            ends = np.exp([said.quantile(q)[which] for q in (0.5 - level / 2, 0.5 + level / 2)])
            bands |= {f"{prefix}lower": ends[0], f"{prefix}upper": ends[1]}
        return bands

    def end(self, level: float) -> tuple[str, float] | None:
        """Return the side on which a curve that never turned back ends, and where; None of one that did.

        It is the last value and the noise of a point, as `forecast.extrapolate` has it.
        """
        from scipy.special import stdtrit

        sign = -1.0 if is_rising(self.x, self.y) else 1.0
        last = ceiling_of(self.x, self.y, sign)
        if last is None:
            return None
        return ("upper" if sign > 0 else "lower"), float(
            np.exp(last[0] + sign * stdtrit(TUNING.freedom, 0.5 + level / 2) * last[1])
        )


def beyond(solutions: Solutions, row: int, places: Array) -> Curve | None:
    """Return the curve that a fit is carried beyond, at places (p,); None where it is not one, or no place is beyond.

    A curve has one variable, and enough positive points of which none is known to depend on another.
    """
    if not solutions.ordered or solutions.law.levels or solutions.curves.groups is not None:
        return None
    data = solutions.curves.one(row)
    (along,) = data.variables.values()
    used = data.weights > 0
    x, y = along[used], data.y[used]
    if not ((x > 0) & (y > 0) & np.isfinite(x) & np.isfinite(y)).all():
        return None
    distinct, which = np.unique(x, return_inverse=True)
    ahead = np.isfinite(places) & (places > distinct.max(initial=0.0))
    if distinct.size < MIN_CURVE_POINTS or not ahead.any():
        return None
    return Curve(distinct, np.exp(np.bincount(which, np.log(y)) / np.bincount(which)), places, ahead)
