"""A distribution, as people write it down, turned into a quantile function.

::

    {value = 3}                                     a fixed number
    {normal = [1, 4]}                               90 % lie between 1 and 4; also lognormal
    {lognormal = [1, 4], width = 0.8}               80 % do
    {uniform = [1, 4]}                              all do; also loguniform, and width for less than all
    {triangular = [1, 2, 4]}                        low, mode, high
    {quantiles = {"0.05" = 1e13, "0.5" = 1e15}}     probabilities to values, matched exactly: lognormal where all are
                                                    positive, normal otherwise, between and beyond; family insists
    {p05 = 1e13, p50 = 1e15, p95 = 1e17}            the same
    {low = 1, high = 4}, {low = 1, mode = 2, high = 4}    uniform (or family = "loguniform"), triangular

``truncate = [low, high]`` cuts any but the fixed number, through the inverse distribution function: every uniform gives
one value, so that nothing is drawn again.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeGuard

from forecast.base.number_checks import is_real
from forecast.errors import ScenarioError, UnknownNameError, printable

if TYPE_CHECKING:
    from forecast.base.arrays import Array

#: Beyond this, differences and tails leave what a float can hold.
MAX_MAGNITUDE = 1e300
#: A narrower interval says next to nothing about the rest.
MIN_INTERVAL_WIDTH = 0.01

FAMILIES = ("lognormal", "loguniform", "normal", "triangular", "uniform")
#: What share of a family lies within an interval [low, high], unless ``width`` says.
_DEFAULT_WIDTHS = {"normal": 0.9, "lognormal": 0.9, "uniform": 1.0, "loguniform": 1.0}
_LOGARITHMIC_FAMILIES = ("lognormal", "loguniform")
_QUANTILE_PATTERN = re.compile(r"p(\d\d)", re.ASCII)
_PROBABILITY = re.compile(r"0?\.\d{1,15}", re.ASCII)
_DISTRIBUTION_KEYS = (
    "value",
    "p05",
    "p50",
    "p95",
    "low",
    "mode",
    "high",
    "family",
    "quantiles",
    "width",
    "truncate",
    *FAMILIES,
)
_DISTRIBUTION_FORMS = "value, or quantiles such as p05 and p95, or low and high (with mode), or one of " + ", ".join(
    FAMILIES
)


@dataclass(frozen=True)
class Distribution:
    """A quantile function with the numbers that made it.

    Parameters
    ----------
    family : str
        ``fixed`` or one of `FAMILIES`.
    points : tuple of (float, float)
        (probability, value); of a triangular one low, mode and high with 0, 0.5 and 1.
    truncate : (float, float), optional
        What is cut off lies below the first or above the second.
    """

    family: str
    points: tuple[tuple[float, float], ...]
    truncate: tuple[float, float] | None = None

    def ppf(self, u: Array) -> Array:
        """Turn uniforms in (0, 1) into values, element by element.

        Examples
        --------
        >>> import numpy as np
        >>> distribution({"p05": 1.0, "p95": 100.0}).ppf(np.array([0.05, 0.5, 0.95])).round(6).tolist()
        [1.0, 10.0, 100.0]
        >>> distribution({"uniform": [0, 4], "truncate": [1, 2]}).ppf(np.array([0.0, 0.5, 1.0])).tolist()
        [1.0, 1.5, 2.0]
        """
        import numpy as np

        u = np.asarray(u, dtype=float)
        if self.family == "fixed":
            return np.full(u.shape, self.points[0][1])
        if self.truncate is None:
            return self._value(u, upper=False)
        below, above = self._cuts()
        # each half through the tail in which it lies: a tail keeps its digits, one minus it does not
        lower, upper = below[0] + u * (below[1] - below[0]), above[1] + (1 - u) * (above[0] - above[1])
        left, right = self._value(np.minimum(lower, 0.5), upper=False), self._value(np.minimum(upper, 0.5), upper=True)
        return np.clip(np.where(lower < 0.5, left, right), *self.truncate)

    def mass(self) -> float:
        """Return the probability of what `truncate` keeps, before it is cut."""
        if self.truncate is None:
            return 1.0
        below, above = self._cuts()
        return above[0] - above[1] if below[0] > 0.5 else below[1] - below[0]

    def _cuts(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the probabilities below the two cuts, and those above them."""
        low, high = self.truncate or (-math.inf, math.inf)
        below, above = ((self._tail(low, upper=u), self._tail(high, upper=u)) for u in (False, True))
        return below, above

    def _value(self, p: Array, *, upper: bool) -> Array:
        """Return the value below which, or (`upper`) above which, lies the probability `p`."""
        import numpy as np
        from scipy.special import ndtri

        if self.family == "triangular":
            low, mode, high = (v for _, v in self.points)
            below, above = (1 - p, p) if upper else (p, 1 - p)
            rising = low + np.sqrt(below * (high - low) * (mode - low))
            falling = high - np.sqrt(above * (high - low) * (high - mode))
            return np.asarray(np.where(below < (mode - low) / (high - low), rising, falling))
        places, values = self._line()
        if self.family in ("uniform", "loguniform"):
            place = 1 - p if upper else p
        else:
            place = -ndtri(p) if upper else ndtri(p)
        # Quantiles are joined by straight lines in normal scores, and the end pieces run on: two quantiles give
        # exactly the (log)normal through them, three a two-piece one.
        piece = np.clip(np.searchsorted(places, place) - 1, 0, len(places) - 2)
        slope = np.diff(values) / np.diff(places)
        out = values[piece] + slope[piece] * (place - places[piece])
        if self.family == "loguniform":
            return np.asarray(np.exp(np.clip(out, -745.0, 709.0)))
        # a tail so far out that no float holds it stays at the edge: positive and finite
        return np.asarray(np.exp(np.clip(out, -690.0, 690.0)) if self.family == "lognormal" else out)

    def _tail(self, x: float, *, upper: bool) -> float:
        """Return the probability below `x`, or above it."""
        import numpy as np
        from scipy.special import ndtr

        if self.family == "triangular":
            low, mode, high = (v for _, v in self.points)
            x = min(max(x, low), high)
            below = (x - low) ** 2 / ((high - low) * (mode - low)) if x < mode else None
            above = (high - x) ** 2 / ((high - low) * (high - mode)) if x > mode else None
            if below is None and above is None:
                below = (mode - low) / (high - low)
            if upper:
                return above if above is not None else 1 - (below or 0.0)
            return below if below is not None else 1 - (above or 0.0)
        if self.family in _LOGARITHMIC_FAMILIES:
            x = math.log(x) if x > 0 else -math.inf
        places, values = self._line()
        piece = int(np.clip(np.searchsorted(values, x) - 1, 0, len(values) - 2))
        slope = (places[piece + 1] - places[piece]) / (values[piece + 1] - values[piece])
        place = float(places[piece] + slope * (x - values[piece]))
        if self.family in ("normal", "lognormal"):
            return float(ndtr(-place if upper else place))
        place = min(max(place, 0.0), 1.0)
        return 1 - place if upper else place

    def _line(self) -> tuple[Array, Array]:
        """Return where the points stand on the scales on which they are joined by straight lines."""
        import numpy as np
        from scipy.special import ndtri

        places, values = (np.array(column) for column in zip(*self.points, strict=True))
        return (
            ndtri(places) if self.family in ("normal", "lognormal") else places,
            np.log(values) if self.family in _LOGARITHMIC_FAMILIES else values,
        )

    def median(self) -> float:
        """Return the middle value.

        Examples
        --------
        >>> round(distribution({"p05": 1.0, "p95": 100.0}).median(), 6)
        10.0
        """
        import numpy as np

        return float(self.ppf(np.array(0.5)))

    def __str__(self) -> str:
        """Say it in one line."""
        if self.family == "fixed":
            return f"{self.points[0][1]:.6g}"
        width = self.points[-1][0] - self.points[0][0]
        if self.family in ("normal", "lognormal") or width < 1:
            said = ", ".join(f"p{_percent_text(p)} = {v:.6g}" for p, v in self.points)
        else:
            said = " to ".join(f"{v:.6g}" for _, v in self.points)
        cut = "" if self.truncate is None else ", truncated to {:.6g} to {:.6g}".format(*self.truncate)
        return f"{self.family}, {said}{cut}"


@dataclass(frozen=True)
class _QuantileFunction(Distribution):
    """A distribution of somebody else, through its quantile function; its points say the 5, 50 and 95 % quantiles."""

    law: Any = field(default=None, repr=False, compare=False)

    def _value(self, p: Array, *, upper: bool) -> Array:
        import numpy as np

        tail = getattr(self.law, "isf", None)
        return np.asarray(tail(p) if upper and tail is not None else self.law.ppf(1 - p if upper else p), dtype=float)

    def _tail(self, x: float, *, upper: bool) -> float:
        return float(self.law.sf(x) if upper else self.law.cdf(x))


def _from_quantile_function(law: Any, where: str) -> Distribution:
    points = tuple((p, _finite(float(law.ppf(p)), f"{where}.ppf")) for p in (0.05, 0.5, 0.95))
    return _QuantileFunction(str(getattr(getattr(law, "dist", None), "name", type(law).__name__)), points, law=law)


def _percent_text(p: float) -> str:
    text = f"{100 * p:.6g}"
    return f"0{text}" if p < 0.1 else text


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
    for key in record:
        if key not in (*_DISTRIBUTION_KEYS, "ppf") and not _QUANTILE_PATTERN.fullmatch(str(key)):
            raise UnknownNameError("key", key, _DISTRIBUTION_KEYS, where=where)
    stated = {k: v for k, v in record.items() if k not in ("family", "width", "truncate")}
    named = [k for k in stated if k in FAMILIES]
    if "width" in record and not (len(stated) == 1 and named and named[0] in _DEFAULT_WIDTHS):
        raise ScenarioError(f"{where}.width: goes with an interval alone: {', '.join(_DEFAULT_WIDTHS)}")
    if len(stated) == 1 and named:
        if family is not None:
            raise ScenarioError(f"{where}.family: '{named[0]}' is one already")
        result = _from_family(named[0], stated[named[0]], record.get("width"), where)
    elif set(stated) == {"ppf"} and callable(getattr(stated["ppf"], "ppf", None)):  # what only Python holds
        result = _from_quantile_function(stated["ppf"], where)
    elif set(stated) == {"quantiles"}:
        result = _from_quantiles(_parse_probabilities(stated["quantiles"], where), family, where)
    else:
        numbers = {k: _finite(v, f"{where}.{printable(k, 40)}") for k, v in stated.items() if k not in _FAMILY_FORMS}
        if set(stated) == {"value"}:
            result = Distribution("fixed", ((0.5, numbers["value"]),))
        elif {"low", "high"} <= set(stated) <= {"low", "mode", "high"}:
            result = _range_distribution(numbers, family, where)
        elif stated and all(_QUANTILE_PATTERN.fullmatch(k) for k in stated):
            result = _from_quantiles({int(k[1:]) / 100: v for k, v in numbers.items()}, family, where)
        else:
            raise ScenarioError(f"{where}: expected {_DISTRIBUTION_FORMS}")
    return _truncate(result, record["truncate"], where) if "truncate" in record else result


_FAMILY_FORMS = (*FAMILIES, "quantiles")


def numbers_in(record: Mapping[str, Any]) -> Iterator[float]:
    """Walk the values that a record states, as far as ``truncate`` lets the distribution reach.

    Examples
    --------
    >>> list(numbers_in({"normal": [-1, 4], "width": 0.8, "truncate": [0, float("inf")]}))
    [0, 4]
    """
    cut = record.get("truncate")
    low = cut[0] if isinstance(cut, (list, tuple)) and cut and _is_float(cut[0]) else -math.inf
    for key, value in record.items():
        if key not in ("width", "truncate"):
            yield from (max(v, low) for v in _nested_floats(value))


def scale_record(record: Mapping[str, Any], factor: float) -> dict[str, Any]:
    """Return the record of the same distribution in another unit.

    Examples
    --------
    >>> scale_record({"lognormal": [1, 4], "width": 0.8}, 10.0)
    {'lognormal': [10.0, 40.0], 'width': 0.8}
    """
    return {key: value if key == "width" else _multiply(value, factor) for key, value in record.items()}


def _multiply(value: Any, factor: float) -> Any:
    if isinstance(value, Mapping):
        return {k: _multiply(v, factor) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_multiply(v, factor) for v in value]
    return value * factor if _is_float(value) else value


def _nested_floats(value: object) -> Iterator[float]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from _nested_floats(each)
    elif _is_float(value):
        yield value


def _is_float(value: object) -> TypeGuard[float]:
    """Tell whether a value is a number that a float holds."""
    return is_real(value) and (not isinstance(value, int) or abs(value) <= MAX_MAGNITUDE)


def _finite(value: object, at: str) -> float:
    if not is_real(value):
        raise ScenarioError(f"{at}: expected a finite number, got '{printable(value, 40)}'")
    if not abs(value) <= MAX_MAGNITUDE:  # NaN too
        raise ScenarioError(f"{at}: expected a finite number, at most {MAX_MAGNITUDE:g} in size")
    return float(value)


def _check_numbers(value: object, count: int, says: str, at: str) -> list[float]:
    if not isinstance(value, (list, tuple)) or len(value) != count:
        raise ScenarioError(f"{at}: expected {says}, got '{printable(value, 40)}'")
    return [_finite(v, at) for v in value]


def _from_family(family: str, value: object, width: object, where: str) -> Distribution:
    """Return one of a named family: [low, mode, high], or the interval that holds its middle `width`."""
    at = f"{where}.{family}"
    if family == "triangular":
        low, mode, high = _check_numbers(value, 3, "[low, mode, high]", at)
        return _range_distribution({"low": low, "mode": mode, "high": high}, None, at)
    low, high = _check_numbers(value, 2, "[low, high]", at)
    if not low < high:
        raise ScenarioError(f"{at}: expected low < high, got {low:g} and {high:g}")
    if family in _LOGARITHMIC_FAMILIES and low <= 0:
        raise ScenarioError(f"{at}: a {family} distribution needs low > 0, got {low:g}")
    most = _DEFAULT_WIDTHS[family]
    share = most if width is None else _finite(width, f"{where}.width")
    whole = most == 1.0
    if not (share >= MIN_INTERVAL_WIDTH and (share <= 1 if whole else share < 1)):
        room = f"from {MIN_INTERVAL_WIDTH:g} to 1" if whole else f"from {MIN_INTERVAL_WIDTH:g} to below 1"
        raise ScenarioError(f"{where}.width: expected the probability within the interval, {room}, got {share:g}")
    return Distribution(family, ((round(0.5 - share / 2, 15), low), (round(0.5 + share / 2, 15), high)))


def _parse_probabilities(value: object, where: str) -> dict[float, float]:
    """Read quantiles by their probability: ``"0.05"``, or 0.05, which TOML reads as a table within a table."""
    at = f"{where}.quantiles"
    if not isinstance(value, Mapping):
        raise ScenarioError(f"{at}: expected probabilities to values, such as {{0.05 = 1, 0.95 = 9}}")
    stated: dict[float, float] = {}
    for key, each in value.items():
        nested = isinstance(each, Mapping) and str(key) == "0"
        for text, number in {f"0.{k}": v for k, v in each.items()}.items() if nested else ((str(key), each),):
            if not _PROBABILITY.fullmatch(text) or not 0 < float(text) < 1:
                raise ScenarioError(f"{at}: expected a probability between 0 and 1, got '{printable(text, 40)}'")
            if float(text) in stated:
                raise ScenarioError(f"{at}: the probability {float(text):g} stands there twice")
            stated[float(text)] = _finite(number, f"{at}.{text}")
    return stated


def _truncate(distribution: Distribution, value: object, where: str) -> Distribution:
    at = f"{where}.truncate"
    if distribution.family == "fixed":
        raise ScenarioError(f"{at}: a fixed number has nothing to cut")
    if not isinstance(value, (list, tuple)) or len(value) != 2 or not all(_is_float(v) and v == v for v in value):
        raise ScenarioError(f"{at}: expected [low, high], inf allowed, got '{printable(value, 40)}'")
    low, high = map(float, value)
    if not low < high:
        raise ScenarioError(f"{at}: expected low < high, got {low:g} and {high:g}")
    cut = replace(distribution, truncate=(low, high))
    if not cut.mass() > 0:
        raise ScenarioError(f"{at}: nothing is left: the probability from {low:g} to {high:g} is 0 ({distribution})")
    return cut


def _range_distribution(numbers: dict[str, float], family: str | None, where: str) -> Distribution:
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


def _from_quantiles(quantiles: dict[float, float], family: str | None, where: str) -> Distribution:
    points = tuple(sorted(quantiles.items()))
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
