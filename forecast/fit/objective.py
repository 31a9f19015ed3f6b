"""What a fit minimises: squares or Huber's loss, of plain or of log residuals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from forecast.errors import UnknownNameError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["HUBER_FACTOR", "OBJECTIVES", "Objective", "find", "robust_scale"]

#: Huber's threshold in units of the residual scale: 95 % efficient where the noise is normal.
HUBER_FACTOR = 1.345


@dataclass(frozen=True)
class Objective:
    """A measure of misfit.

    Parameters
    ----------
    name : str
    log : bool
        Residuals are differences of logarithms.
    robust : bool
        Huber's loss, half a square up to a threshold and linear beyond it, instead of the square.

    Examples
    --------
    >>> import numpy as np
    >>> find("least_squares").value(np.array([1.0, -2.0]), np.ones(2))
    5.0
    >>> find("huber_log").value(np.array([1.0, -2.0]), np.ones(2), delta=1.0)
    2.0
    """

    name: str
    log: bool
    robust: bool

    def residuals(self, observed: Array, predicted: Array) -> Array:
        """Return predicted minus observed, of their logs where the objective says so; not finite where impossible."""
        import numpy as np

        with np.errstate(all="ignore"):
            return np.log(predicted) - np.log(observed) if self.log else predicted - observed

    def value(self, residuals: Array, weights: Array, delta: float | None = None) -> float:
        """Return the plain value: the weighted sum of squares (not halved), or of Huber losses."""
        import numpy as np

        with np.errstate(over="ignore"):
            if not self.robust or delta is None:
                return float(np.sum(weights * residuals**2))
            size = np.abs(residuals)
            loss = np.where(size <= delta, 0.5 * size**2, delta * (size - 0.5 * delta))
            return float(np.sum(weights * loss))


OBJECTIVES: Mapping[str, Objective] = MappingProxyType(
    {
        o.name: o
        for o in (
            Objective("least_squares", log=False, robust=False),
            Objective("least_squares_log", log=True, robust=False),
            Objective("huber_log", log=True, robust=True),
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


def robust_scale(residuals: Array, k: int) -> float:
    """Return the standard deviation that the middle half of the residuals suggests (MAD/0.6745), for `k` parameters."""
    import numpy as np

    n = residuals.size
    return float(np.median(np.abs(residuals)) / 0.6744897501960817 * np.sqrt(n / max(n - k, 1)))
