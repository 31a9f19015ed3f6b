"""Fits as the rules of inference see them: always a batch, and a single fit is a batch of one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.fit.data.residual_autocorrelation import autocorrelation

if TYPE_CHECKING:
    from forecast.fit.inference.profile_endpoints import Optima
    from forecast.fit.inference.replicates import Replicates
    from forecast.fit.inference.uncertainty import Uncertainties
    from forecast.fit.objectives.objective import Objective
    from forecast.laws import Law

__all__ = ["FitBatch"]

Array: TypeAlias = NDArray[np.float64]

#: Points times parameters up to which the default interval is the profile's: some hundredths of a second.
CHEAP = 100_000


@dataclass(frozen=True, kw_only=True, eq=False)
class FitBatch:
    """Fits of one law under one objective.

    Parameters
    ----------
    name : str
        What to call the law in messages.
    law : forecast.Law
    objective : Objective
    values : mapping of str to ndarray
        (B,), all parameters as the law has them.
    known : Uncertainties
    settled : ndarray of bool
        (B,): those that are solutions.
    points : ndarray
        (B,), how many there are; inf where the data were not kept.
    residual_scale : ndarray
        (B,), of an observation of median weight.
    ranges : mapping of str to (ndarray, ndarray)
        The least and the greatest value of each variable, (B,) each.
    replicates : tuple of Replicates or None
        The bootstrap of each fit.
    errs_in_x : bool
        Variables have known errors.
    optima : callable
        ``optima(rows)`` is what the profiles of some of the fits start from.
    residuals : callable, optional
        The places along the one variable, the residuals and the weights, (B, n) each; none where there is no order.
    """

    name: str
    law: Law
    objective: Objective
    values: Mapping[str, Array]
    known: Uncertainties
    settled: NDArray[np.bool_]
    points: Array
    residual_scale: Array
    ranges: Mapping[str, tuple[Array, Array]]
    replicates: tuple[Replicates | None, ...]
    errs_in_x: bool
    optima: Callable[[NDArray[np.int64]], Optima]
    residuals: Callable[[], tuple[Array, Array, Array]] | None = None

    @property
    def likelihood(self) -> bool:
        """Whether the objective is a likelihood; Huber's loss and quantiles, with their sandwich, are none.

        Nor is any objective whose rows depend on each other in groups.
        """
        return self.objective.scale != "sandwich" and not self.known.clusters

    @functools.cached_property
    def correlation(self) -> Array:
        """How closely residuals follow each other along the variable, (B,); 0 where they do not, or have no order."""
        if self.residuals is None or self.objective.scale not in ("residual", "sandwich") or self.known.clusters:
            return np.zeros(self.settled.shape)
        return autocorrelation(*self.residuals())

    @functools.cached_property
    def profilable(self) -> NDArray[np.bool_]:
        """Of which fits the profile can be followed: some scatter is left, and it is more than rounding."""
        good = self.settled & ~self.known.exact
        good[list(self.known.flaws)] = False
        return good

    @functools.cached_property
    def affordable(self) -> NDArray[np.bool_]:
        """Of which fits the profile costs little: the law has derivatives, the data are kept and not many."""
        few = self.points * len(self.law.parameters) <= CHEAP
        return self.profilable & few & (self.law._plain.expression is not None)

    def repeated(self, level: float) -> NDArray[np.bool_]:
        """Tell which fits have replicates enough for a level; those of an exact fit repeat it, and tell nothing."""
        enough = np.array([r is not None and r.enough(level) for r in self.replicates], dtype=bool)
        return enough & self.profilable

    @functools.cached_property
    def profiled(self) -> dict[float, Any]:
        """Profile endpoints by level, as they were asked for; see `forecast.fit.inference.profile.endpoints_of`."""
        return {}
