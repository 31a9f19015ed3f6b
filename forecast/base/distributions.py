"""A distribution, as people write it down, turned into a quantile function.

::

    {value = 3}                                     a fixed number
    {p05 = 1e13, p50 = 1e15, p95 = 1e17}            quantiles: matched exactly, lognormal or normal between and beyond
    {low = 1, high = 4}                             uniform; family = "loguniform" for its logarithm
    {low = 1, mode = 2, high = 4}                   triangular
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forecast.errors import ScenarioError, UnknownNameError, printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["FAMILIES", "Distribution", "distribution"]

#: Beyond this, differences and tails leave what a float can hold.
LARGEST = 1e300

FAMILIES = ("lognormal", "loguniform", "normal", "triangular", "uniform")
_QUANTILE = re.compile(r"p(\d\d)", re.ASCII)


@dataclass(frozen=True)
class Distribution:
    """A quantile function with the numbers that made it.

    Parameters
    ----------
    family : str
        ``fixed`` or one of `FAMILIES`.
    points : tuple of (float, float)
        (probability, value) for quantiles; (0, low), (1, high) and the mode otherwise.
    """

    family: str
    points: tuple[tuple[float, float], ...]

    def ppf(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        """Turn uniforms in (0, 1) into values, element by element.

        Examples
        --------
        >>> import numpy as np
        >>> distribution({"p05": 1.0, "p95": 100.0}).ppf(np.array([0.05, 0.5, 0.95])).round(6).tolist()
        [1.0, 10.0, 100.0]
        """
        import numpy as np
        from scipy.special import ndtri

        u = np.asarray(u, dtype=float)
        values = np.array([v for _, v in self.points])
        if self.family == "fixed":
            return np.full(u.shape, float(values[0]))
        if self.family == "uniform":
            return np.asarray(values[0] + u * (values[1] - values[0]))
        if self.family == "loguniform":
            low, high = np.log(values)
            return np.asarray(np.exp(low + u * (high - low)))
        if self.family == "triangular":
            low, mode, high = values
            turn = (mode - low) / (high - low)
            rising = low + np.sqrt(u * (high - low) * (mode - low))
            falling = high - np.sqrt((1 - u) * (high - low) * (high - mode))
            return np.asarray(np.where(u < turn, rising, falling))
        if self.family == "lognormal":
            values = np.log(values)
        # Quantiles are joined by straight lines in normal scores, and the end pieces run on: two quantiles give
        # exactly the (log)normal through them, three a two-piece one.
        z, scores = ndtri(u), ndtri(np.array([p for p, _ in self.points]))
        piece = np.clip(np.searchsorted(scores, z) - 1, 0, len(scores) - 2)
        slope = np.diff(values) / np.diff(scores)
        out = values[piece] + slope[piece] * (z - scores[piece])
        # a tail so far out that no float holds it stays at the edge: positive and finite
        return np.asarray(np.exp(np.clip(out, -690.0, 690.0)) if self.family == "lognormal" else out)

    def median(self) -> float:
        """Return the middle value.

        Examples
        --------
        >>> distribution({"p05": 1.0, "p95": 100.0}).median()
        10.0
        """
        import numpy as np

        return float(self.ppf(np.array(0.5)))

    def __str__(self) -> str:
        """Say it in one line."""
        if self.family == "fixed":
            return f"{self.points[0][1]:.6g}"
        if self.family in ("normal", "lognormal"):
            return f"{self.family}, " + ", ".join(f"p{round(p * 100):02d} = {v:.6g}" for p, v in self.points)
        return f"{self.family}, " + " to ".join(f"{v:.6g}" for _, v in self.points)


def distribution(record: Mapping[str, Any], *, where: str = "distribution") -> Distribution:
    """Read a distribution from its record.

    Parameters
    ----------
    record : mapping
        As in the module's head.
    where : str
        Named in errors: a file and key, or a plugin's input.

    Raises
    ------
    ScenarioError
        For keys, types or values that make no distribution.
    """
    family = record.get("family")
    if family is not None and family not in FAMILIES:
        raise UnknownNameError("distribution family", family, FAMILIES, where=where)
    numbers: dict[str, float] = {}
    for key, value in record.items():
        if key == "family":
            continue
        at = f"{where}.{printable(key, 40)}"
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ScenarioError(f"{at}: expected a finite number, got '{printable(value, 40)}'")
        if not abs(value) <= LARGEST:  # NaN too
            raise ScenarioError(f"{at}: expected a finite number, at most {LARGEST:g} in size")
        numbers[key] = float(value)
    if set(numbers) == {"value"}:
        return Distribution("fixed", ((0.5, numbers["value"]),))
    if {"low", "high"} <= set(numbers) <= {"low", "mode", "high"}:
        return _between(numbers, family, where)
    if numbers and all(_QUANTILE.fullmatch(k) for k in numbers):
        return _through(numbers, family, where)
    known = ("value", "p05", "p50", "p95", "low", "mode", "high", "family")
    strange = [k for k in record if k not in known and not _QUANTILE.fullmatch(str(k))]
    if strange:
        raise UnknownNameError("key", strange[0], known, where=where)
    raise ScenarioError(f"{where}: expected value, or quantiles such as p05 and p95, or low and high (with mode)")


def _between(numbers: dict[str, float], family: str | None, where: str) -> Distribution:
    low, high, mode = numbers["low"], numbers["high"], numbers.get("mode")
    if not low < high or not (mode is None or low <= mode <= high):
        raise ScenarioError(f"{where}: expected low < high with the mode between, got {low:g} and {high:g}")
    if mode is not None:
        if family not in (None, "triangular"):
            raise ScenarioError(f"{where}.family: low, mode and high make a triangular distribution, not {family}")
        return Distribution("triangular", ((0.0, low), (0.5, mode), (1.0, high)))
    if family not in (None, "uniform", "loguniform"):
        raise ScenarioError(f"{where}.family: low and high make a uniform or loguniform distribution, not {family}")
    if family == "loguniform" and low <= 0:
        raise ScenarioError(f"{where}.low: a loguniform distribution needs low > 0, got {low:g}")
    return Distribution(family or "uniform", ((0.0, low), (1.0, high)))


def _through(numbers: dict[str, float], family: str | None, where: str) -> Distribution:
    points = tuple(sorted((int(k[1:]) / 100, v) for k, v in numbers.items()))
    if len(points) < 2:
        raise ScenarioError(f"{where}: one quantile makes no distribution; give two or more, such as p05 and p95")
    if points[0][0] == 0.0:
        raise ScenarioError(f"{where}.p00: expected a quantile between p01 and p99; use low and high for a hard limit")
    if any(b <= a for (_, a), (_, b) in itertools.pairwise(points)):
        raise ScenarioError(f"{where}: quantiles must increase, got {', '.join(f'{v:g}' for _, v in points)}")
    if family not in (None, "normal", "lognormal"):
        raise ScenarioError(f"{where}.family: quantiles make a normal or lognormal distribution, not {family}")
    positive = points[0][1] > 0
    if family == "lognormal" and not positive:
        raise ScenarioError(f"{where}: a lognormal distribution needs positive quantiles, got {points[0][1]:g}")
    return Distribution(family or ("lognormal" if positive else "normal"), points)
