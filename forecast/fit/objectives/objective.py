"""What a fit minimises, by name: a loss, the link it is taken in, and what its value and its curvature mean."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.errors import UnknownNameError, UsageError, printable

if TYPE_CHECKING:
    from forecast.fit.objectives.losses import Scratch

Array = NDArray[np.float64]


__all__ = ["HUBER_FACTOR", "OBJECTIVES", "Objective", "find", "robust_scale", "rows_of", "weighted_median"]

#: Huber's threshold in units of the residual scale: 95 % efficient where the noise is normal.
HUBER_FACTOR = 1.345


@dataclass(frozen=True)
class Objective:
    """A measure of misfit.

    Parameters
    ----------
    name : str
    loss : str
        The function of `forecast.fit.objectives.losses`.
    log : bool
        The loss sees logarithms of law and observations.
    robust : bool
        Huber's loss, half a square up to a threshold and linear beyond it.
    scale : {"residual", "known", "sandwich"}
        Where standard errors come from: the spread of the residuals, a likelihood whose scale is known, or the
        sandwich estimator, which trusts no likelihood.
    profile : bool
        The objective is minus a log likelihood whose scale is profiled out.
    options : mapping of str to float or None
        What may be set, with defaults; None has none.

    Examples
    --------
    >>> import numpy as np
    >>> find("least_squares").value(np.array([1.0, -2.0]), np.ones(2))
    5.0
    >>> find("huber_log").value(np.array([1.0, -2.0]), np.ones(2), delta=1.0)
    2.0
    """

    name: str
    loss: str = "squares"
    log: bool = False
    scale: str = "residual"
    profile: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def robust(self) -> bool:
        """Whether it has Huber's threshold."""
        return self.loss == "huber"

    @property
    def unit(self) -> float:
        """What is small and what is not in a log likelihood whose scale is known; 0 where the data must tell."""
        return 1.0 if self.scale == "known" else 0.0

    def sizes(self, y: Array, options: Mapping[str, Any]) -> Array:
        """Return the squares at every point against which a loss is rounding or not; `y` is in the link."""
        if self.loss == "binomial":
            return np.asarray(options["trials"] + 0.0 * y)
        return np.abs(y) if self.loss == "poisson" else np.ones_like(y) if self.log else y * y

    def pointwise(self, f: Array, y: Array, options: Mapping[str, Any]) -> tuple[Array, Array, Array]:
        """Return the loss and its two derivatives at every point; `f` and `y` are in the link."""
        from forecast.fit.objectives import losses

        found: tuple[Array, Array, Array] = getattr(losses, self.loss)(f, y, options)
        return found

    def summed(
        self, f: Array, y: Array, weights: Array, options: Mapping[str, Any], scratch: Scratch
    ) -> tuple[Array, Array, Array]:
        """Return the sum of each fit, (B,), and the weighted derivatives at every point, (B, n)."""
        from forecast.fit.objectives import losses

        if self.loss in losses.SUMMED:
            return losses.SUMMED[self.loss](f, y, weights, options, scratch)
        value, first, second = self.pointwise(f, y, options)
        whole = np.einsum("bn,bn->b", value, np.broadcast_to(weights, value.shape))
        return whole, first * weights, second * weights

    def linked(self, y: Array) -> Array:
        """Return observations, or the law, in the link: the logarithm, or as they are."""
        return np.log(y) if self.log else y

    def residuals(self, observed: Array, predicted: Array) -> Array:
        """Return predicted minus observed, of their logs where the objective says so; not finite where impossible."""
        with np.errstate(all="ignore"):
            return np.log(predicted) - np.log(observed) if self.log else predicted - observed

    def value(self, residuals: Array, weights: Array, delta: float | None = None) -> float:
        """Return the plain value: the weighted sum of squares (not halved), or of Huber losses."""
        with np.errstate(over="ignore"):
            if not self.robust or delta is None:
                return float(np.sum(weights * residuals**2))
            size = np.abs(residuals)
            loss = np.where(size <= delta, 0.5 * size**2, delta * (size - 0.5 * delta))
            return float(np.sum(weights * loss))

    def stated(self, value: Any, weight: Any, delta: Any = None) -> Any:
        """Return what is reported for a minimum of the plain loss: itself, or minus the log likelihood it stands for.

        Parameters
        ----------
        value : float or array
            The plain value.
        weight : float or array
            Sum of the weights.
        delta : float or array, optional
            Huber's threshold; the scale is `delta` over 1.345.
        """
        if not self.profile:
            return value
        with np.errstate(all="ignore"):
            if not self.robust:
                return 0.5 * weight * (np.log(2 * np.pi * value / weight) + 1)
            from forecast.fit.objectives.losses import huber_constant

            scale = delta / HUBER_FACTOR
            return value / scale**2 + weight * (np.log(scale) + huber_constant(HUBER_FACTOR))


_DELTA = {"delta": None}
OBJECTIVES: Mapping[str, Objective] = MappingProxyType(
    {
        o.name: o
        for o in (
            Objective("least_squares"),
            Objective("least_squares_log", log=True),
            Objective("huber_log", "huber", log=True, scale="sandwich", options=_DELTA),
            Objective("gaussian", profile=True),
            Objective("gaussian_log", log=True, profile=True),
            Objective("huber_likelihood", "huber", scale="sandwich", profile=True),
            Objective("huber_likelihood_log", "huber", log=True, scale="sandwich", profile=True),
            Objective("poisson", "poisson", scale="known"),
            Objective("binomial", "binomial", scale="known", options={"trials": None, "chance": 0.0}),
            Objective("quantile", "quantile", scale="sandwich", options={"tau": 0.5, "width": None}),
            Objective("quantile_log", "quantile", log=True, scale="sandwich", options={"tau": 0.5, "width": None}),
        )
    }
)


def find(name: str, *, where: str = "") -> Objective:
    """Return the objective of that name.

    Raises
    ------
    UnknownNameError
        With the nearest name.
    """
    if name not in OBJECTIVES:
        raise UnknownNameError("objective", name, OBJECTIVES, where=where)
    return OBJECTIVES[name]


def check_options(objective: Objective, given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the options of an objective with its defaults; ``trials`` and ``chance`` may be columns.

    Raises
    ------
    UsageError
        For what the objective does not know, or numbers outside their range.
    """
    found = dict(objective.options)
    for name, value in given.items():
        if name not in found:
            raise UnknownNameError("option", name, found, where=f"{where}: objective '{objective.name}'")
        if name in ("tau", "width", "delta"):
            most = 1.0 if name == "tau" else math.inf
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not (number and 0 < value < most):
                span = "between 0 and 1" if name == "tau" else "above 0"
                raise UsageError(f"{where}: {name}: expected a number {span}, got {printable(repr(value), 40)}")
        found[name] = value
    return found


def rows_of(weights: Array) -> Any:
    """Return for how many rows weights stand, along the last axis: a weight of 2 is two copies of a row.

    Weights below 1 are relative ones (one over a variance), and no row stands for less than itself.
    """
    return np.maximum(np.sum(weights, axis=-1), np.count_nonzero(weights, axis=-1))


def weighted_median(values: Array, weights: Array) -> Any:
    """Return the median along the last axis as if each value stood there as often as its weight says.

    Examples
    --------
    >>> import numpy as np
    >>> weighted_median(np.array([3.0, 1.0, 2.0]), np.array([2.0, 1.0, 1.0])).item()
    2.5
    """
    least = weights.min(initial=np.inf)
    if least > 0 and least == weights.max() and not np.isnan(values).any():
        return np.median(values, axis=-1)  # without sorting
    order = np.argsort(np.where(weights > 0, values, np.inf), axis=-1)
    ranked = np.take_along_axis(values, order, axis=-1)
    reached = np.cumsum(np.take_along_axis(np.broadcast_to(weights, values.shape), order, axis=-1), axis=-1)
    half = 0.5 * reached[..., -1:]
    near = 1e-12 * half  # half of the weight, but for rounding
    ends = [np.argmax(reached >= half - near, axis=-1), np.argmax(reached > half + near, axis=-1)]
    low, high = (np.take_along_axis(ranked, place[..., None], axis=-1)[..., 0] for place in ends)
    return 0.5 * (low + high)


def robust_scale(residuals: Array, k: int, weights: Array) -> Any:
    """Return the standard deviation that the middle half of the residuals suggests (MAD/0.6745), for `k` parameters.

    Parameters
    ----------
    residuals, weights : ndarray
        (n,), or (B, n) of many fits.
    """
    n = rows_of(weights)
    return weighted_median(np.abs(residuals), weights) / 0.6744897501960817 * np.sqrt(n / np.maximum(n - k, 1))
