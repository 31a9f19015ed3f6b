"""A fit repeated on resampled data: the replicates, and what must be said of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.base.lazy import xr

#: Percentiles are taken where this many replicates lie beyond each of them.
MIN_TAIL_COUNT = 5


@dataclass(frozen=True, kw_only=True)
class Replicates:
    """A fit repeated on resampled data.

    Parameters
    ----------
    names : tuple of str
        The free parameters.
    values : ndarray
        (k, B), as the law has them; nan where a replicate could not be fitted.
    objective : ndarray
        (B,), the plain value.
    converged : ndarray of bool
    resample : str
    seed : int
    audited, changed : int
        Replicates that were solved again from fresh starts, and how many of them found a better optimum.
    degenerate : int
        Replicates with fewer different points than parameters.
    clusters : int
        How many groups there were to draw from; 0 where rows were drawn.
    """

    names: tuple[str, ...]
    values: Array
    objective: Array
    converged: BoolArray
    resample: str
    seed: int
    audited: int
    changed: int
    degenerate: int
    clusters: int = 0

    @property
    def good(self) -> Array:
        """The replicates that were fitted, (k, B')."""
        return self.values[:, self.converged]

    def enough(self, level: float) -> bool:
        """Tell whether enough replicates lie beyond both percentiles of a level."""
        return bool(self.good.shape[1] * (1 - level) >= 2 * MIN_TAIL_COUNT * (1 - 1e-9))  # rounding of 1 - level aside

    def stderr(self, name: str) -> float:
        """Return the standard deviation over replicates; inf with fewer than two."""
        values = self.good[self.names.index(name)]
        return float(np.std(values, ddof=1)) if values.size > 1 else float("inf")

    def interval(self, name: str, level: float) -> tuple[float, float]:
        """Return the percentile interval."""
        low, high = np.quantile(self.good[self.names.index(name)], [0.5 - level / 2, 0.5 + level / 2])
        return float(low), float(high)

    def dataset(self) -> xr.Dataset:
        """Return one variable a parameter over ``replicate``, with the objective and what became of each."""
        columns = {"objective": self.objective, "converged": self.converged}
        columns |= dict(zip(self.names, self.values, strict=True))
        attrs = {
            "resample": self.resample,
            "seed": self.seed,
            "audited": self.audited,
            "changed": self.changed,
            "degenerate": self.degenerate,
            "not_converged": int(np.sum(~self.converged)),
        }
        return xr.Dataset({name: ("replicate", column) for name, column in columns.items()}, attrs=attrs)

    def warnings(self, name: str) -> list[str]:
        """Return what a reader of any number from the replicates must know."""
        lines = []
        lost, total = int((~self.converged).sum()), self.converged.size
        if lost:
            lines.append(
                f"{name}: {lost} of {total} replicates could not be fitted; {self.degenerate} had too few points"
            )
        if self.changed:
            lines.append(f"{name}: {self.changed} of {self.audited} audited replicates had a better optimum elsewhere")
        return lines
