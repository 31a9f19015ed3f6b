"""What fits know about their parameters: values, covariances, bounds, and what is not identified."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from forecast.base.arrays import AnyArray, Array, BoolArray, IntArray
from forecast.base.streams import student_t
from forecast.errors import UncertaintyError

#: What is said of a fit whose residuals are rounding.
ROUNDING_REASON = "the data lie on the law to rounding"


@dataclass(frozen=True, kw_only=True)
class Uncertainty:
    """What fits know about their parameters.

    Parameters
    ----------
    names : tuple of str
        The free parameters.
    at : ndarray
        (k, B), their values, each in its own coordinate.
    logs : ndarray of bool
        (k, B): whose coordinate is the logarithm.
    covariance : ndarray
        (B, k, k), in these coordinates; rows and columns of what is not identified are nan.
    bounds : ndarray
        (k, B), the bound a parameter stands on, else nan.
    sides : ndarray of int
        (k, B), 1 or -1 for the side of the bound that is open, else 0.
    unidentified : mapping of int to mapping of str to str
        Parameter to reason, in the fits that have some.
    flaws : mapping of int to str
        Why a fit gives no interval at all.
    dof : ndarray of int
        (B,), points less parameters; the quantiles are Student's.
    scale : ndarray
        (B,), standard deviation of one residual.
    exact : ndarray of bool
        (B,): the residuals are rounding; the scale is their length, and at least that of the observations' rounding.
    absolute_sigma : bool
        It was given (``sigma=``), not estimated.
    clusters : int
        Over how many groups of rows the sandwich was summed; 0 where rows are independent.
    """

    names: tuple[str, ...]
    at: Array
    logs: BoolArray
    covariance: Array
    bounds: Array
    sides: IntArray
    unidentified: Mapping[int, Mapping[str, str]]
    flaws: Mapping[int, str]
    dof: IntArray
    scale: Array
    exact: BoolArray
    absolute_sigma: bool
    clusters: int = 0

    def on_bounds(self, b: int = 0) -> dict[str, tuple[float, int]]:
        """Return the parameters of a fit that stand on a bound: the bound, and 1 or -1 for the side that is open."""
        standing = zip(self.names, self.bounds[:, b], self.sides[:, b], strict=True)
        return {name: (float(bound), int(side)) for name, bound, side in standing if side}

    def reasons(self, b: int = 0) -> dict[str, str]:
        """Return the parameters of a fit that are not identified, with the reason."""
        return dict(self.unidentified.get(b, {}))

    def flaw(self, b: int = 0) -> str:
        """Say why a fit gives no interval at all; empty where it gives some."""
        return self.flaws.get(b, "")

    @functools.cached_property
    def known(self) -> BoolArray:
        """Whether a parameter has a standard error, (k, B)."""
        sure = np.ones(self.at.shape, dtype=bool)
        sure[:, list(self.flaws)] = False
        for b, reasons in self.unidentified.items():
            sure[[self.names.index(name) for name in reasons], b] = False
        return sure

    @property
    def freedom(self) -> IntArray:
        """Degrees of freedom of Student's t: groups less one where rows depend on each other, else `dof`."""
        freedom = np.full_like(self.dof, self.clusters - 1) if self.clusters else self.dof
        return np.maximum(freedom, 1)

    def quantile(self, p: float) -> Array:
        """Return the quantile of Student's t for every fit (normal where the scale is known), (B,)."""
        from scipy.special import ndtri, stdtrit

        if self.absolute_sigma and not self.clusters:
            return np.full(self.dof.size, float(ndtri(p)))
        if self.dof.size == 1:
            return np.asarray(stdtrit(self.freedom, p))
        kinds, place = np.unique(self.freedom, return_inverse=True)
        return np.asarray(np.asarray(stdtrit(kinds, p))[np.ravel(place)])

    @functools.cached_property
    def factors(self) -> Array:
        """What turns errors into those of the parameters as the law has them, (k, B)."""
        with np.errstate(over="ignore"):
            return np.where(self.logs, np.exp(np.where(self.logs, self.at, 0.0)), 1.0)

    def natural(self) -> Array:
        """Return the covariances of the parameters as the law has them, (B, k, k); nan where one is not known."""
        with np.errstate(all="ignore"):
            covariance = self.covariance * (self.factors.T[:, :, None] * self.factors.T[:, None, :])
        covariance[~self.known.all(axis=0)] = np.nan
        return np.asarray(covariance)

    def errors(self) -> Array:
        """Return standard errors as the law has the parameters, (k, B); inf where one is not identified."""
        with np.errstate(all="ignore"):
            errors = np.sqrt(np.einsum("bii->ib", self.covariance)) * self.factors
        return np.where(self.known, errors, np.inf)

    def wald(self, i: int, level: float) -> tuple[Array, Array]:
        """Return Student's interval of parameter `i` about the estimate, or its logarithm; one-sided on a bound.

        (B,) each; nan where there is none.
        """
        with np.errstate(all="ignore"):
            error = np.where(self.known[i], np.sqrt(self.covariance[:, i, i]), np.nan)
            half = self.quantile(0.5 + level / 2) * error
            low, high = self.at[i] - half, self.at[i] + half
            low, high = (np.where(self.logs[i], np.exp(end), end) for end in (low, high))
        bounded = np.flatnonzero(self.sides[i])
        if bounded.size:
            bound, side = self.bounds[i, bounded], self.sides[i, bounded]
            far = self.at[i, bounded] + side * self.quantile(level)[bounded] * error[bounded]
            bound = np.where(np.isnan(far), np.nan, bound)
            low[bounded], high[bounded] = np.where(side > 0, bound, far), np.where(side > 0, far, bound)
        return low, high

    def why_not(self, b: int, name: str) -> str:
        """Say why a parameter of a fit has no standard error; empty where it has one."""
        if b in self.flaws:
            return self.flaws[b]
        reason = self.unidentified.get(b, {}).get(name)
        return f"it is not identified by these data ({reason})" if reason else ""

    @property
    def method(self) -> str:
        """Where the standard errors come from."""
        return f"cluster-robust sandwich over {self.clusters} groups" if self.clusters else "curvature at the optimum"

    def refuse(self, where: str, what: str, b: int = 0) -> None:
        """Raise unless every parameter of a fit is known."""
        if b in self.flaws:
            raise UncertaintyError(where, what, self.flaws[b], unidentified=bool(self.reasons(b)))
        for name, reason in self.reasons(b).items():
            why = f"parameter '{name}' is not identified by these data ({reason})"
            raise UncertaintyError(where, what, why, unidentified=True)

    def draw(self, uniforms: Array, b: int = 0) -> dict[str, Array]:
        """Return joint draws of the free parameters of a fit through uniforms, (parameter + 1, draw)."""
        values, vectors = np.linalg.eigh(self.covariance[b])
        # the symmetric root: eigenvectors have any sign, and a library on another processor gives another one
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        estimated = self.clusters or not self.absolute_sigma
        moves = root @ student_t(uniforms, int(self.freedom[b]) if estimated else np.inf)
        drawn, on_bounds = {}, self.on_bounds(b)
        for i, name in enumerate(self.names):
            if name in on_bounds:
                bound, side = on_bounds[name]
                drawn[name] = bound + side * np.abs(moves[i])
            else:
                moved = self.at[i, b] + moves[i]
                drawn[name] = np.exp(moved) if self.logs[i, b] else moved
        return drawn


def placed(parts: Sequence[AnyArray], rows: IntArray, whole: AnyArray) -> AnyArray:
    """Return a table with one batch after the other at these of its columns."""
    if parts:
        whole[..., rows] = np.concatenate(parts, axis=-1)
    return whole


def join_uncertainties(parts: list[Uncertainty], rows: IntArray, names: tuple[str, ...], dof: Any) -> Uncertainty:
    """Return what is known of one batch after the other, whose fits are these rows of all; nothing of the rest."""
    k, count = len(names), dof.size
    covariances = [np.moveaxis(p.covariance, 0, -1) for p in parts]
    places = np.split(rows, np.cumsum([p.dof.size for p in parts], dtype=int)[:-1])
    own = list(zip(parts, places, strict=False))
    return Uncertainty(
        names=names, dof=dof, absolute_sigma=bool(parts) and parts[0].absolute_sigma,
        at=placed([p.at for p in parts], rows, np.full((k, count), np.nan)),
        logs=placed([p.logs for p in parts], rows, np.zeros((k, count), dtype=bool)),
        bounds=placed([p.bounds for p in parts], rows, np.full((k, count), np.nan)),
        sides=placed([p.sides for p in parts], rows, np.zeros((k, count), dtype=np.int64)),
        scale=placed([p.scale for p in parts], rows, np.full(count, np.nan)),
        exact=placed([p.exact for p in parts], rows, np.zeros(count, dtype=bool)),
        covariance=np.ascontiguousarray(np.moveaxis(placed(covariances, rows, np.full((k, k, count), np.nan)), -1, 0)),
        unidentified={int(some[b]): reasons for p, some in own for b, reasons in p.unidentified.items()},
        flaws={int(some[b]): flaw for p, some in own for b, flaw in p.flaws.items()},
    )  # fmt: skip
