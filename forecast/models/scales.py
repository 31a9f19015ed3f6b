"""On which scale a quantity is straight: its declaration says it, then its table, unit or name; never values alone."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

import numpy as np

from forecast import units
from forecast.base.arrays import Array, BoolArray
from forecast.contract.fields import SCALES
from forecast.errors import DataError, UnknownNameError, UsageError, printable

#: A scaled value beyond this leaves what a float can hold once it is carried back; such draws stay there, finite.
MAX_SCALED = 600.0
#: Decades that a quantity which crosses zero spans before it is read in arcsinh.
MAX_LINEAR_DECADES = 2.0
#: The best of a benchmark's scores in 0 to 1; where it is less, they may be points of something else.
MIN_BEST_SCORE = 0.02


def _words(text: str) -> str:
    return rf"(?:^|[^a-z])(?:{text})(?:[^a-z]|$)"


_SHARE_PATTERN = _words(
    r"accuracy|acc|accuracies|share|shares|fraction|proportion|probability|prob|auc|auroc|f1|em|exact.?match|recall|"
    r"win.?rate|pass(?:@|.?at.?|.?rate|.?)\d*|top.?[15]|success.?rate|hit.?rate|utili[sz]ation|mfu|hfu|coverage|solved|"
    r"percent|pct|percentage|correct|wer|cer|error.?rate|penetration|adoption"
)
_FORMULA_PATTERN = r"\b(exp|log|log10|log2|sqrt|max|min)\s*\(|\*"
#: What has a unit of its own, or tells of a scatter, is no share, whatever else its name says.
_NO_SHARE_PATTERN = _words(
    r"usd|eur|price|prices|cost|costs|fl?ops?|gflops|tflops|w|watts?|mw|kwh|hz|ghz|bytes|kb|mb|gb|tb|tokens?|mtok|"
    r"seconds?|minutes?|hours?|days?|years?|sd|std|stderr|cv|loss|perplexity|ppl|size|rmse|mae|units?"
)
_SCORE_PATTERN = _words(r"score|scores|benchmark|mmlu|gpqa|swe.?bench|hle|arc.?agi|gsm8k|humaneval|math")
_CHANGE_PATTERN = _words(
    r"growth|change|increase|decrease|decline|return|returns|inflation|yoy|qoq|diff|delta|margin|gain|improvement|"
    r"interest|discount|per.?year"
)
_LINEAR_PATTERN = _words(r"elo|rating|ratings|eci|temperature|temp|logit|logits|z.?score|iq|db|decibel|ph|nps")


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The declaration of a scale; empty where there is none.

    Parameters
    ----------
    scale : {"", "level", "share", "percent", "linear", "signed", "count"}
    floor, ceiling : float, optional
        The bounds that a quantity never reaches, in its unit: a score at chance, the whole of a share.
    """

    scale: str = ""
    floor: float | None = None
    ceiling: float | None = None

    def check(self, where: str) -> Bounds:
        """Return them, if they can be.

        Raises
        ------
        UnknownNameError, UsageError
        """
        if self.scale not in ("", *SCALES):
            raise UnknownNameError("scale", self.scale, SCALES, where=where)
        for name, value in (("floor", self.floor), ("ceiling", self.ceiling)):
            if value is not None and not math.isfinite(value):
                raise UsageError(f"{where}: {name}: expected a finite number, got {value:g}")
            if value is not None and self.scale in ("linear", "signed", "count"):
                raise UsageError(
                    f"{where}: {name}: a scale with ends is level, share or percent; '{self.scale}' has none"
                )
        if self.floor is not None and self.ceiling is not None and self.floor >= self.ceiling:
            raise UsageError(f"{where}: floor: {self.floor:g} is not below the ceiling, {self.ceiling:g}")
        return self

    def converted(self, source: str, target: str, *, where: str) -> Bounds:
        """Return them in another unit; a percent in one unit is a share in the other."""
        if not self or source == target:
            return self
        ends = {
            end: None if value is None else float(units.convert(value, source, target, where=where))
            for end, value in (("floor", self.floor), ("ceiling", self.ceiling))
        }
        return Bounds(scale="share" if self.scale == "percent" else self.scale, **ends)

    def __bool__(self) -> bool:
        return self != Bounds()

    @property
    def plain(self) -> dict[str, str | float]:
        """The declaration as plain data."""
        stated = {"scale": self.scale or None, "floor": self.floor, "ceiling": self.ceiling}
        return {name: value for name, value in stated.items() if value is not None}


#: Nothing is stated.
UNBOUNDED = Bounds()


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The scale of one series.

    Between a floor and a ceiling a value becomes the logarithm of its distance from the floor over the share that is
    left below the ceiling: of a share that is the logit, and of a level without a ceiling the plain logarithm.

    Parameters
    ----------
    kind : {"level", "share", "percent", "linear", "signed", "count"}
    floor, ceiling : float
        Ends of a level or a share, in the quantity's unit.
    centre, size : float
        The middle and the width by which a value is shifted and divided, on the other scales.
    record : {0, 1, -1}
        Of a series that keeps its best so far, whether higher or lower is better; turned round, the latter is a running
        maximum all the same.
    why : str
        What decided.
    doubt : str
        The option that a reader may state instead, where nothing decided.
    notes : tuple of str
        A note on values that lay at an end.

    Examples
    --------
    >>> share = Scale(kind="share", ceiling=1.0)
    >>> [round(float(z), 2) for z in (share.to(0.5), share.to(0.9), share.back(share.to(0.9)))]
    [0.0, 2.2, 0.9]
    """

    kind: str = "level"
    floor: float = 0.0
    ceiling: float = math.inf
    centre: float = 0.0
    size: float = 1.0
    record: int = 0
    why: str = ""
    doubt: str = ""
    notes: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether a shape in logs takes its values as they are."""
        return self.kind == "level" and self.floor == 0 and self.ceiling == math.inf and self.record >= 0

    def converted(self, source: str, target: str, *, where: str) -> Scale:
        """Return the scale of the same quantity in another unit."""
        if source == target:
            return self
        floor, ceiling, centre, size = (
            float(units.convert(value, source, target, where=where))
            for value in (self.floor, self.ceiling, self.centre, self.size)
        )
        return replace(self, floor=floor, ceiling=ceiling, centre=centre, size=size)

    @property
    def sign(self) -> int:
        """-1 where lower is better, else 1."""
        return -1 if self.record < 0 else 1

    @property
    def line(self) -> str:
        """The scale in one line: ``share, ends at 100 %``."""
        if self.kind in ("share", "percent"):
            whole = "100 %" if self.ceiling in (1.0, 100.0) else f"{self.ceiling:g}"
            text = f"{'share' if self.floor == 0 else f'share from {self.floor:g} on'}, ends at {whole}"
        elif self.kind == "level":
            text = f"level above {self.floor:g}" + (f", ends at {self.ceiling:g}" if self.ceiling < math.inf else "")
        else:
            text = {"linear": "linear", "signed": "signed, in arcsinh", "count": "count from 0 on"}[self.kind]
        doubt = f"; {self.doubt}" if self.doubt else ""
        return "; ".join([f"{text} ({self.why}){doubt}" if self.why else f"{text}{doubt}", *self.notes])

    @property
    def ends(self) -> str:
        """Where its values lie: ``shares from 0 to 1``."""
        if self.kind in ("share", "percent"):
            return f"shares from {self.floor:g} to {self.ceiling:g}"
        top = f" to {self.ceiling:g}" if self.ceiling < math.inf else " on"
        return f"values from {self.floor:g}{top}"

    def is_beyond(self, value: Array) -> BoolArray:
        """Return where values lie beyond an end of the scale."""
        if self.kind in ("linear", "signed"):
            return np.zeros(np.shape(value), dtype=bool)
        return np.asarray((value < self.floor) | (value > self.ceiling))

    def to(self, value: Array) -> Array:
        """Return values on the scale."""
        value = np.asarray(value, dtype=float)
        if self.kind == "linear":
            return np.asarray(self.sign * (value - self.centre) / self.size)
        if self.kind in ("signed", "count"):
            return np.asarray(self.sign * np.arcsinh(value / self.size))
        above = value - self.floor
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.sign * (np.log(above) - np.log1p(-above / (self.ceiling - self.floor))))

    def to_level(self, value: Array) -> Array:
        """Return what a shape in logs takes: exp(z), of a level the values themselves and of a share its odds."""
        return value if self.is_plain else np.exp(self.to(value))

    def back(self, scaled: Array) -> Array:
        """Return the values of what is on the scale."""
        scaled = self.sign * np.clip(np.asarray(scaled, dtype=float), -MAX_SCALED, MAX_SCALED)
        if self.kind == "linear":
            return np.asarray(self.centre + self.size * scaled)
        if self.kind in ("signed", "count"):
            value = self.size * np.sinh(scaled)
            return np.asarray(np.maximum(value, 0.0) if self.kind == "count" else value)
        above = np.exp(scaled)
        # by rounding alone could it lie above the end
        return np.asarray(np.minimum(self.floor + above / (1 + above / (self.ceiling - self.floor)), self.ceiling))

    def inside(self, value: Array, where: str) -> tuple[Array, Scale]:
        """Return the values that have a place on the scale, and the scale that says which were moved.

        A share may be exactly at an end, which lies infinitely far away: it is taken half-way from there to the nearest
        other value.

        Raises
        ------
        DataError
            For a value beyond an end, or a series of which every value is at one.
        """
        value = np.array(value, dtype=float)
        if self.kind in ("linear", "signed", "count"):
            negative = value[value < 0] if self.kind == "count" else value[:0]
            if negative.size:
                raise DataError(f"{where}: a count cannot be {negative[0]:g}; say scale 'signed' if it crosses 0")
            return value, self
        name = "share" if self.kind in ("share", "percent") else "level"
        for end, beyond, what in (
            (self.floor, value < self.floor, "below its floor"), (self.ceiling, value > self.ceiling, "above its end"),
        ):  # fmt: skip
            if beyond.any():
                first = value[int(np.argmax(beyond))]
                raise DataError(f"{where}: {first:g} lies {what}, {end:g}, so it is no {name}; say another scale")
        notes = []
        for end in (self.floor, self.ceiling):
            there = value == end
            if there.any():
                others = value[~there]
                if name == "level" or not others.size:
                    raise DataError(
                        f"{where}: {'all values are' if not others.size else 'a value is'} {end:g}, which a {name} "
                        f"never reaches{'' if not others.size else '; say scale count or signed if it may'}"
                    )
                value[there] = end + (others[np.argmin(np.abs(others - end))] - end) / 2
                rows = "1 value is" if there.sum() == 1 else f"{there.sum()} values are"
                notes.append(f"{rows} exactly {end:g}, and taken as {value[there][0]:.4g}")
        return value, replace(self, notes=(*self.notes, *notes)) if notes else self


#: The logarithm of what lies above 0.
LEVEL = Scale()


def find_scale(
    value: Array,
    *,
    name: str = "",
    unit: str = "",
    declared: Bounds = UNBOUNDED,
    limits: tuple[float | None, ...] = (None, None),
    where: str = "scale",
) -> Scale:
    """Say on which scale a series is straight.

    A declaration wins, then the smallest and largest value that its table states, then its unit, then its name. A
    price that falls below 1 lies in 0 to 1 too: values alone never make a share, and can only forbid one.

    Parameters
    ----------
    value : ndarray
    name, unit : str
        Of the column.
    declared : Bounds
    limits : pair of float or None
        The smallest and the largest value that the table of the column states.
    where : str
        For messages.

    Raises
    ------
    DataError
        For values that the declared scale does not have.

    Examples
    --------
    >>> import numpy as np
    >>> find_scale(np.array([0.2, 0.7]), name="accuracy").line
    "share, ends at 100 % (the name 'accuracy')"
    >>> find_scale(np.array([0.2, 0.7]), name="exp(elo/100)").kind
    'level'
    >>> find_scale(np.array([12.0, 3.0]), name="price", unit="USD").line
    'level above 0'
    """
    value = np.asarray(value, dtype=float)
    value = value[np.isfinite(value)]
    if declared.scale:
        kind, why, doubt = declared.scale, "as declared", ""
    else:
        kind, why, doubt = _kind_of_column(value, name, unit, limits, where)
    ends = {key: end for key, end in (("floor", declared.floor), ("ceiling", declared.ceiling)) if end is not None}
    if ends and kind not in ("level", "share", "percent"):
        kind = "level"  # whose values are then beyond the end, or lie inside
    if ends:
        why, doubt = "as declared", ""
    if value.size > 1 and np.ptp(value) == 0:
        doubt = f"all {value.size} values are {value[0]:g}: nothing in them says how it moves"
    if kind == "linear":
        centre, size = (float(np.mean(value)), float(np.std(value)) or 1.0) if value.size else (0.0, 1.0)
        return Scale(kind=kind, centre=centre, size=size, why=why, doubt=doubt)
    if kind in ("signed", "count"):
        away = np.abs(value[value != 0])
        size = 1.0 if kind == "count" or not away.size else float(np.quantile(away, 0.1))
        return Scale(kind=kind, size=size, why=why, doubt=doubt)
    low, high = ends.get("floor", 0.0), ends.get("ceiling", _share_ceiling(kind, unit, where))
    if low >= high:
        raise UsageError(f"{where}: floor: {low:g} is not below the end of a {kind}, {high:g}")
    return Scale(kind=kind, floor=low, ceiling=high, why=why, doubt=doubt)


def _kind_of_column(
    value: Array, name: str, unit: str, limits: tuple[float | None, ...], where: str
) -> tuple[str, str, str]:
    """Return the kind of a column of which nothing is declared, what decided, and what remains in doubt."""
    low, high = (float(value.min()), float(value.max())) if value.size else (1.0, 1.0)
    # what is computed from a column is not what the column's name says
    label = "" if re.search(_FORMULA_PATTERN, name) else name.lower()
    by_name = f"the name '{printable(name, 40)}'"
    in_percent = bool(unit) and units.same_dimension(unit, "") and units.factor(unit, "", where=where) == 0.01
    whole = 100.0 if in_percent else 1.0
    minimum, maximum = limits
    if maximum in (whole, 100) and minimum in (None, 0) and low >= 0 and high <= maximum:
        return "share" if maximum == whole else "percent", f"its table says at most {maximum:g}", ""
    if low < 0:
        return "signed" if _decades(value) > MAX_LINEAR_DECADES else "linear", "it crosses 0", ""
    if unit and not units.same_dimension(unit, ""):
        return ("level", "", "") if low > 0 else ("signed", "it may be 0", "")
    in_percent = in_percent or bool(re.search(r"%|percent|pct", label))
    if re.search(_LINEAR_PATTERN, label):
        return "linear", f"{by_name}: points without a zero", ""
    if re.search(_CHANGE_PATTERN, label) and (in_percent or "rate" in label):
        return "linear", "a rate of change may cross 0", ""
    nameable = not re.search(_NO_SHARE_PATTERN, label)
    named = nameable and bool(re.search(_SHARE_PATTERN, label))
    scored = nameable and bool(re.search(_SCORE_PATTERN, label))
    if in_percent or named:
        _check_unmixed(value, where)
    if in_percent and high <= 100:
        return "percent", "in percent", ""
    if (named or (scored and high >= MIN_BEST_SCORE)) and high <= 1:
        return "share", by_name, ""
    if named and 10 < high <= 100:
        return "percent", by_name, ""
    doubt = ""
    if in_percent or named:
        doubt = f"by {'its unit' if in_percent else by_name} a share, and {high:g} lies above its end"
    elif nameable and 0.3 <= high <= 1 and high < 100 * low:
        doubt = "all values lie in 0 to 1: say scale 'share' if it ends at 1"
    elif scored and 10 < high <= 100:
        doubt = "all values lie in 0 to 100: say scale 'percent' if it ends at 100"
    if low == 0 and value.size:
        return "count" if np.all(value == np.round(value)) else "signed", "it may be 0", doubt
    return "level", "", doubt


def _share_ceiling(kind: str, unit: str, where: str) -> float:
    """Return where a share ends: at 1, or at 100 in percent."""
    if kind == "share":
        if unit and not units.same_dimension(unit, ""):
            raise UsageError(f"{where}: a share has no unit, and this is in {printable(unit, 40)}")
        return float(units.convert(1.0, "", unit, where=where))
    return 100.0 if kind == "percent" else math.inf


def _check_unmixed(value: Array, where: str) -> None:
    """Refuse shares beside percentages: times 100 the small values lie nearer to the others than these do to them."""
    small, large = value[(value > 0) & (value <= 1)], value[value > 1]
    if not small.size or not large.size:
        return
    together = np.concatenate([100 * small, large])
    if large.min() / small.max() > together.max() / together.min():
        raise DataError(
            f"{where}: {small[0]:g} and {large[0]:g} in one column look like shares and percentages; use one of the "
            f"two, or say scale 'percent' if they are all percentages"
        )


def _decades(value: Array) -> float:
    size = np.abs(value[value != 0])
    return float(np.log10(size.max() / size.min())) if size.size else 0.0
