"""Observations that say "at least": a regression whose likelihood counts them so, and trends that rest on it.

METR holds horizons above 16 h unreliable: such a row says that the horizon is at least 16 h, and no more. Left out, it
takes with it what it says of growth; read as 16 h, it says that growth has ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.errors import FitError
from forecast.models import Description, FittedShape, Shape, shape
from forecast.streams import Streams

__all__ = ["AtLeast", "PoolAtLeast", "Tobit", "WalkAtLeast", "tobit"]

#: The objective is concave: Newton's method with steps that may halve ends long before.
_STEPS = 200
#: The fewest draws above the limit that say what is there; where fewer are, the highest, raised to the limit.
_DRAWS = 20


class Tobit(NamedTuple):
    """Coefficients, their covariance, the standard deviation around them, and the degrees of freedom of both."""

    found: Array
    covariance: Array
    scatter: float
    dof: float


def tobit(x: Array, y: Array, censored: BoolArray) -> Tobit:
    """Regress by maximum likelihood where some observations are only known to be at least what they say.

    In Olsen's parameters, coefficients and one over their standard deviation, the logarithm of the likelihood is
    concave, so that Newton's method finds its one maximum. Without a censored observation it is least squares. The
    variance is that of maximum likelihood times n/(n - k), as least squares has it.

    Parameters
    ----------
    x : ndarray
        Design, (point, coefficient).
    y : ndarray
        Observations; of those censored the limit.
    censored : ndarray of bool

    Raises
    ------
    FitError
        Where no more observations than coefficients say more than "at least".

    References
    ----------
    Tobin (1958), Econometrica 26(1), 24-36; Olsen (1978), Econometrica 46(5), 1211-1215.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.stack([np.ones(5), np.arange(5.0)], axis=1)
    >>> tobit(x, np.array([0.0, 1.1, 1.9, 3.0, 4.2]), np.array([False] * 4 + [True])).found.round(2).tolist()
    [-0.03, 1.04]
    """
    (n, k), seen = x.shape, ~censored
    if int(seen.sum()) <= k:
        raise FitError(f"expected more than {k} observations that are not censored, got {int(seen.sum())}")
    # columns are brought to one size, so that the first step is no matter of units
    size = np.sqrt((x**2).sum(axis=0))
    x = x / size
    start = np.linalg.lstsq(x[seen], y[seen], rcond=None)[0]
    left = y[seen] - x[seen] @ start
    precision = 1 / max(float(np.sqrt(left @ left / len(left))), 1e-12 * float(np.abs(y).max() or 1.0))
    at = np.append(start * precision, precision)
    rows = np.column_stack([-x, y])  # of which `at` makes standardised residuals

    def climbed(at: Array) -> float:
        from scipy.special import log_ndtr

        z = rows @ at
        return float(seen.sum() * np.log(at[-1]) - z[seen] @ z[seen] / 2 + log_ndtr(-z[censored]).sum())

    now = climbed(at)
    for _ in range(_STEPS):
        z = rows @ at
        ratio = _mills(-z[censored])
        weight, pull = np.ones(n), z.copy()
        weight[censored], pull[censored] = ratio * (ratio - z[censored]), ratio
        gradient = -pull @ rows
        gradient[-1] += seen.sum() / at[-1]
        curve = (rows * weight[:, None]).T @ rows
        curve[-1, -1] += seen.sum() / at[-1] ** 2
        step = np.linalg.solve(curve, gradient)
        gain = float(gradient @ step)
        if gain < 1e-22 * n:
            break
        share = 1.0
        while share > 1e-9 and not (
            at[-1] + share * step[-1] > 0 and (there := climbed(at + share * step)) >= now - 1e-12 * abs(now)
        ):
            share /= 2
        if share <= 1e-9:
            break
        at, now = at + share * step, there
    # from Olsen's parameters to coefficients and their variance
    scatter = 1 / at[-1]
    moved = np.column_stack([np.eye(k) * scatter, -at[:k] * scatter**2])
    covariance = moved @ np.linalg.inv(curve) @ moved.T * n / (n - k) / np.outer(size, size)
    return Tobit(at[:k] * scatter / size, covariance, float(scatter * np.sqrt(n / (n - k))), float(seen.sum() - k))


def _mills(z: Array) -> Array:
    """Return the density of the standard normal over its distribution."""
    from scipy.special import log_ndtr

    return np.asarray(np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(z)))


class AtLeast(Shape):
    """Another shape, for a series in which an observation at the limit says "at least".

    What such an observation would be, the other shape says: fitted to the rest, it draws observations at that date, of
    which those above the limit are left. That is the predictive distribution given "at least", so that what follows
    from it for the parameters is what a censored likelihood says of them (Tanner & Wong 1987). Its mean and variance
    are carried on: the other shape is fitted twice, to values a standard deviation above and below the mean, and each
    world takes one of the two. A frontier goes on from there: at the date of the last observation it stands at the
    figure that was read, and from then on no lower. Without an observation at the limit it is the other shape.

    Parameters
    ----------
    limit : float
        In the unit of the series; none by default.

    References
    ----------
    Tanner & Wong (1987), The calculation of posterior distributions by data augmentation, JASA 82(398), 528-540.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.arange(2000.0, 2010.0)
    >>> fitted = PoolAtLeast(limit=200.0).fit(t, np.minimum(2.0 ** (t - 2000) * (1 + 0.2 * (t % 2)), 200.0))
    >>> bool(fitted.central(np.array([2009.0]))[0] > 300)  # the last two values said "at least 200"
    True
    """

    of = ""
    needs_level = True

    def __init__(self, limit: float = float("inf")) -> None:
        self.limit = limit
        self.other = shape(self.of)

    def beside(self, series: str) -> Shape:
        """Return the shape around the other one as it fits this series."""
        out = type(self)(self.limit)
        out.other = self.other.beside(series)
        return out

    def fit(self, time: Array, value: Array, *, frontier: bool = False, seed: int = 0) -> FittedShape:
        """Fit the other shape, to two imputations where observations are at the limit."""
        time, value = np.asarray(time, dtype=float), np.asarray(value, dtype=float)
        at_limit = value >= self.limit
        if not at_limit.any():
            return self.other.fit(time, value, frontier=frontier, seed=seed)
        without = self.other.fit(time[~at_limit], value[~at_limit], frontier=frontier, seed=seed)
        least = np.log(self.limit)
        drawn = np.log(without.sample(time[at_limit], Streams(seed, "at least", 0), observed=True))
        lowest = drawn.min(axis=0)
        reached = np.argsort(lowest)[-max(_DRAWS, int((lowest >= least).sum())) :]
        missing = np.maximum(drawn[:, reached], least)
        middle, wide = missing.mean(axis=1), missing.std(axis=1)
        fits, above = [], []
        for sign in (-1.0, 1.0):
            above.append(np.maximum.accumulate(np.exp(np.maximum(middle + sign * wide, least))))
            filled = value.copy()
            filled[at_limit] = above[-1]
            filled = np.maximum.accumulate(filled) if frontier else filled
            fits.append(self.other.fit(time, filled, frontier=frontier, seed=seed))
        said = f"{int(at_limit.sum())} at the limit of {self.limit:.4g} count as at least that"
        said += f": by what the others say, {float(np.exp(middle[-1]) / self.limit):.2f} times that in the mean"
        return FittedAtLeast(fits=tuple(fits), dates=time[at_limit], above=tuple(above), said=said)


class PoolAtLeast(AtLeast):
    """`AtLeast` around ``trends/pool``."""

    of = "trends/pool"


class WalkAtLeast(AtLeast):
    """`AtLeast` around ``trends/random-walk``."""

    of = "trends/random-walk"


@dataclass(frozen=True, kw_only=True)
class FittedAtLeast(FittedShape):
    """A shape that was fitted to several imputations, of which each world takes one.

    Parameters
    ----------
    fits : tuple of FittedShape
    dates : ndarray
        Of the observations at the limit.
    above : tuple of ndarray
        For each fit, what it took them to be.
    said : str
    time : ndarray
        Dates of a frontier's records; none of another series.
    read : tuple of ndarray
        For each fit, those records as read, over what it took them to be.
    """

    fits: tuple[FittedShape, ...]
    dates: Array
    above: tuple[Array, ...]
    said: str
    time: Array | None = None
    read: tuple[Array, ...] = ()

    def _taken(self, each: list[Array], streams: Streams) -> Array:

        pick = (streams.uniforms("imputation", 1)[0] * len(each)).astype(int)
        return np.asarray(np.choose(pick, each))

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Draw the parameters of the fit that a world takes."""
        each = [fit.posterior(streams) for fit in self.fits]
        return {name: self._taken([drawn[name] for drawn in each], streams) for name in each[0]}

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw the fit that a world takes."""
        drawn = [fit.sample(time, streams, observed=observed) for fit in self.fits]
        return self._taken([path * read[:, None] for path, read in zip(drawn, self._read(time), strict=True)], streams)

    def _read(self, time: Array) -> list[Array]:
        """Return a factor of each fit's path: up to the last observation a frontier is as it was read."""
        if self.time is None:
            return [np.ones(len(time))] * len(self.fits)
        last = np.maximum(np.searchsorted(self.time, time, side="right") - 1, 0)
        return [np.where(np.asarray(time) > self.time[-1], 1.0, read[last]) for read in self.read]

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        """Those of the shape."""
        return self.fits[0].settable

    def with_parameters(self, parameters: Mapping[str, Array]) -> FittedShape:
        """Return the shape with the parameters fixed in every fit."""
        return replace(self, fits=tuple(fit.with_parameters(parameters) for fit in self.fits))

    def central(self, time: Array) -> Array:
        """Return the geometric mean of the fits' central paths."""
        each = [fit.central(time) * read for fit, read in zip(self.fits, self._read(time), strict=True)]
        return np.asarray(np.exp(np.mean(np.log(each), axis=0)))

    def anchored(self, time: Array, record: Array) -> FittedShape | None:
        """Return each fit from the record on that it saw."""
        kept, read = [], []
        for fit, above in zip(self.fits, self.above, strict=True):
            raised = record.copy()
            for date, value in zip(self.dates, above, strict=True):
                raised[time >= date] = np.maximum(raised[time >= date], value)
            kept.append(fit.anchored(time, raised))
            read.append(record / raised)
        fits = tuple(fit for fit in kept if fit is not None)
        return replace(self, fits=fits, time=time, read=tuple(read)) if len(fits) == len(kept) else None

    def describe(self) -> Description:
        """Say what the shape says of the lower imputation, and how both came about."""
        low = self.fits[0].describe()
        return replace(
            low,
            summary=f"{low.summary}, with the lower of two imputations; {self.said}",
            assumptions=(*low.assumptions, "an observation at the limit lies above it as the others say"),
            sources=(*low.sources, "Tanner & Wong (1987), JASA 82(398), 528-540"),
        )
