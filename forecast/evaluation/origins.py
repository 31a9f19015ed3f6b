"""The origins of a backtest, the targets of each, and the two benchmarks that any forecast must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.errors import FitError
from forecast.models import Description, FittedShape, Shape

if TYPE_CHECKING:
    from forecast.base.streams import Streams

Array = NDArray[np.float64]


__all__ = ["REFERENCE_SHAPES", "Drift", "choose_origins", "choose_targets"]


def choose_origins(time: Array, *, dates: int = 8, share: float = 0.4, most: int = 6) -> Array:
    """Return the dates from which to forecast: equally spaced among those with enough behind and something ahead.

    Parameters
    ----------
    time : ndarray
        Decimal years of the observations.
    dates : int
        Distinct dates that a fit needs, the origin's own among them.
    share : float
        Of the span that must have passed.
    most : int
        Origins.

    Examples
    --------
    >>> import numpy as np
    >>> choose_origins(np.arange(2000.0, 2021.0), most=3).tolist()
    [2008.0, 2014.0, 2019.0]
    """
    known = np.unique(time)
    allowed = known[dates - 1 : -1]
    return np.asarray(_equally_spaced(allowed[allowed >= known[0] + share * (known[-1] - known[0])], most))


def choose_targets(time: Array, origin: float, *, years: float = 10.0, most: int = 10) -> NDArray[np.intp]:
    """Return which observations a forecast from `origin` is compared with: equally spaced among those within `years`.

    Examples
    --------
    >>> import numpy as np
    >>> choose_targets(np.arange(2000.0, 2021.0), 2004.0, most=4).tolist()
    [5, 8, 11, 14]
    """
    return np.asarray(_equally_spaced(np.flatnonzero((time > origin) & (time <= origin + years)), most))


def _equally_spaced(found: Any, most: int) -> Any:

    if len(found) <= most:
        return found
    return found[np.unique(np.rint(np.linspace(0, len(found) - 1, most)).astype(int))]


@dataclass(frozen=True)
class Drift(Shape):
    """A random walk with drift of the logarithm, and the interval of a textbook: what a trend must beat.

    Parameters
    ----------
    drift : bool
        Without it the last value is the forecast of every date.

    References
    ----------
    Hyndman, R. J. & Athanasopoulos, G. (2021), Forecasting: principles and practice, 3rd edition, table 5.2: variance
    σ²·h·(1 + h/T) with the drift, σ²·h without it; h and T are years here, since dates may be uneven.
    """

    drift: bool = True

    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Measure drift and noise, several values of one date averaged in logs."""
        dates, which = np.unique(time, return_inverse=True)
        if len(dates) < 3:
            raise FitError(f"a walk needs at least 3 dates, got {len(dates)}")
        level = np.bincount(which, np.log(value)) / np.bincount(which)
        growth = float((level[-1] - level[0]) / (dates[-1] - dates[0])) if self.drift else 0.0
        step = np.diff(dates)
        noise = (np.diff(level) - growth * step) / np.sqrt(step)
        sigma = float(np.sqrt(np.sum(noise**2) / (len(noise) - self.drift)))
        span = float(dates[-1] - dates[0]) if self.drift else float("inf")
        return _FittedDrift(last=float(dates[-1]), level=float(level[-1]), growth=growth, sigma=sigma, span=span)


@dataclass(frozen=True, kw_only=True)
class _FittedDrift(FittedShape):
    last: float
    level: float
    growth: float
    sigma: float
    span: float

    def posterior(self, streams: Streams) -> dict[str, Array]:
        """Return nothing: no parameter is drawn."""
        return {}

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw each date independently: a backtest reads no paths of a benchmark."""
        ahead = np.maximum(np.asarray(time, dtype=float) - self.last, 0.0)[:, None]
        noise = streams("noise").standard_normal((len(ahead), streams.draws))
        spread = self.sigma * np.sqrt(ahead * (1 + ahead / self.span))
        return np.asarray(self.central(time)[:, None] * np.exp(spread * noise))

    def central(self, time: Array) -> Array:
        """Return the line from the last value on."""
        ahead = np.maximum(np.asarray(time, dtype=float) - self.last, 0.0)
        return np.asarray(np.exp(self.level + self.growth * ahead))

    def describe(self) -> Description:
        """Say how fast it grows."""
        return Description(summary=f"grows by {self.growth:.3g} a year in logs, from its last value")


#: The forecasts that skill is measured against, by the name they have in a backtest.
REFERENCE_SHAPES = {"last-value": Drift(drift=False), "drift": Drift()}
