"""One verb that extrapolates: a pool of laws along x, or of shapes along dates, from what is known and nothing else."""

from __future__ import annotations

import datetime
import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.base.dates import decimal_year, from_decimal_year
from forecast.base.lazy import xr
from forecast.errors import DataError, FitError, UsageError, printable
from forecast.evaluation.law_pool import FORMS, TUNING, Tuning, pool
from forecast.fit.options import check_level
from forecast.fit.predict import FAR

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "MIN_POINTS",
    "RECORD",
    "Extrapolation",
    "TrackRecord",
    "dated_quantiles",
    "extrapolate",
    "quantiles",
    "shape_for_dates",
]

Array: TypeAlias = NDArray[np.float64]

#: Points that a curve needs, and fewer than which the record has not seen.
MIN_POINTS, MIN_POINTS_IN_RECORD = 5, 10
#: Below this share of its own later points inside the band, an extrapolation is warned of.
MIN_COVERAGE = 0.5
#: Blocks of draws behind an answer along dates, and years that are looked ahead for a level that is to be reached.
BLOCKS, HORIZON = 4, 50.0
#: Places along a figure, and its colours: Okabe and Ito's (2008), told apart with any colour vision.
PLOT_POINTS, _SAID, _KNOWN = 60, "#0072B2", "#D55E00"


@dataclass(frozen=True, kw_only=True)
class TrackRecord:
    """How extrapolations of one kind have done, each scored with numbers chosen on the other data sets.

    Parameters
    ----------
    kind : str
        What the curves were.
    curves : int
        How many.
    times : float
        How far they were extrapolated: the last x over that of the data, the median curve.
    error, last_value : float
        Mean over curves of the root mean square error of log y: of the pool, and of the last value.
    coverage : float
        Mean over curves of the share of later points inside the 90 % intervals.
    """

    kind: str
    curves: int
    times: float
    error: float
    last_value: float
    coverage: float

    def sentence(self) -> str:
        """Say it."""
        errors = f"{_percent(self.error)} (the last value: {_percent(self.last_value)})"
        return (
            f"{self.curves} {self.kind} carried {self.times:.2g} times beyond their data missed by {errors}, "
            f"and {100 * self.coverage:.0f} % of their later points lay in the 90 % intervals"
        )


#: Computed, and checked, by ``tests/evaluation/test_extrapolate_record.py``.
RECORD = (
    TrackRecord(
        kind="error curves of image classifiers", curves=35, times=2.1, error=0.0315, last_value=0.0945, coverage=0.88
    ),
    TrackRecord(
        kind="loss curves of language models", curves=5, times=2.0, error=0.00075, last_value=0.0072, coverage=1.0
    ),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Extrapolation:
    """What a curve is expected to do beyond its data. Made by `forecast.extrapolate`.

    Attributes
    ----------
    x, y : ndarray
        What was known, x rising. Dates are decimal years.
    to : ndarray
        The targets, in the order of the argument `to`.
    median, lower, upper : ndarray
        Of an observation there.
    level : float
        Of the interval.
    laws : tuple of dict
        What was pooled: ``name``, ``weight``, and ``says``, its own median at the farthest place.
    beyond : float
        How far beyond the data the farthest place lies: decades of x, or years.
    tried : dict
        The same forecast from the first part of these points alone: ``from`` (its last x), ``points`` (later ones),
        ``held`` (coverage: the share of them inside the interval), ``error``; empty where there are too few points.
    when : dict
        Dates at which `reach=` is met: quantiles in decimal years, ``never``, ``already``; else empty.
    warnings : tuple of str
        What a reader of any number from this must know.
    """

    x: Array
    y: Array
    to: Array
    median: Array
    lower: Array
    upper: Array
    level: float
    laws: tuple[Mapping[str, Any], ...]
    beyond: float
    names: tuple[str, str] = ("x", "y")
    tried: Mapping[str, float] = field(default_factory=dict)
    when: Mapping[str, float] = field(default_factory=dict)
    threshold: float | None = None
    dates: bool = False
    rises: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The answer, in one sentence."""
        x, y = self.names
        if self.threshold is not None:
            return self._when()
        last = int(np.argmax(self.to))
        at = f"in {_date(self.to[last])}" if self.dates else f"at {x} = {self.to[last]:.6g}"
        band = f"{self.lower[last]:.4g} to {self.upper[last]:.4g}"
        sure = f"{100 * self.level:g} % interval"
        return f"{y} is expected to be {self.median[last]:.4g} {at} ({sure}: {band}), {self._far()}."

    def _when(self) -> str:
        begin = f"{self.names[1]} reaches {self.threshold:.6g}"
        if self.when["already"] > 0.5:
            return f"{begin} already."
        middle, low, high = (self.when[q] for q in ("p50", "p05", "p95"))
        if not np.isfinite(middle):
            return f"The probability that {begin} by {_date(self.to.max())} is {100 * (1 - self.when['never']):.0f} %."
        late = _date(high) if np.isfinite(high) else f"after {_date(self.to.max())}"
        ends = f"{_date(low)} to {late}"
        never = f"not by {_date(self.to.max())}: {100 * self.when['never']:.0f} %"
        return f"{begin} in {_date(middle)} (90 % interval: {ends}; {never})."

    def _far(self) -> str:
        if self.dates:
            return f"{self.beyond:.1f} years after the last of {self.x.size} points"
        return f"{self.beyond:.2f} decades beyond {self.x.size} points"

    @property
    def record(self) -> tuple[str, ...]:
        """How such extrapolations have done: of the kind, and on these very points."""
        lines = [] if self.dates else [each.sentence() for each in RECORD]
        if self.tried:
            coverage, count, at = self.tried["held"], int(self.tried["points"]), self.tried["from"]
            place = _date(at) if self.dates else f"{self.names[0]} = {at:.4g}"
            error = self.tried["error"]
            lines.append(
                f"this curve from {place}: {100 * coverage:.0f} % of {count} later points lay in the interval, "
                f"off by {_percent(error)} in the root mean square"
            )
        return tuple(lines)

    def dataset(self) -> xr.Dataset:
        """Return the answer over ``point``: ``median``, ``lower``, ``upper``."""
        columns = {"median": self.median, "lower": self.lower, "upper": self.upper}
        at = from_decimal_year(self.to) if self.dates else self.to
        attrs = {"level": self.level, "beyond": self.beyond, "warnings": "\n".join(self.warnings)}
        return xr.Dataset(
            {n: ("point", v) for n, v in columns.items()}, coords={self.names[0]: ("point", at)}, attrs=attrs
        )

    def summary(self) -> str:
        """Return the answer as a page of text: what was used and why, how far it goes, how such have done."""
        used = [f"  {row['name']:<28} {row['weight']:>5.0%}   says {row['says']:.4g}" for row in self.laws]
        why = "weighed by how they pass through the points, the last ones most" if not self.dates else "along dates"
        turned = " (of its reciprocal: it rises)" if self.rises else ""
        lines = [self.sentence, "", f"pooled{turned}, {why}:", *used]
        if self.record:
            lines += ["", "how such extrapolations have done:", *(f"  {line}" for line in self.record)]
        return "\n".join([*lines, *(f"warning: {line}" for line in self.warnings)])

    def plot(self, axis: Axes | None = None) -> Axes:
        """Draw the points, the median and the interval on axes of matplotlib; on new ones by default."""
        if axis is None:
            import matplotlib.pyplot as plt

            _, axis = plt.subplots(figsize=(7, 4), layout="constrained")
        start, end = self.x[-1], self.to.max()
        between = (np.linspace if self.dates else np.geomspace)(start, end, PLOT_POINTS + 1)[1:]
        at = from_decimal_year(between) if self.dates else between
        known = from_decimal_year(self.x) if self.dates else self.x
        path = extrapolate(known, self.y, at, self.level, names=self.names)
        axis.plot(self.x, self.y, "o", markersize=3, color=_KNOWN, label=f"{self.x.size} points")
        axis.plot(path.to, path.median, color=_SAID, label="median")
        label = f"{self.level:.0%} of observations"
        axis.fill_between(path.to, path.lower, path.upper, color=_SAID, alpha=0.25, linewidth=0.0, label=label)
        if self.threshold is not None:
            axis.axhline(self.threshold, color=_KNOWN, linewidth=0.8, linestyle=":")
        drawn = np.concatenate([self.y, path.lower, path.upper])
        axis.set(xscale="linear" if self.dates else "log", yscale="log" if np.ptp(np.log10(drawn)) > 1 else "linear")
        x, y = (printable(name, 60) for name in self.names)
        axis.set_xlabel("year" if self.dates else x)
        axis.set_ylabel(y)
        axis.legend(frameon=False)
        return axis

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"


def extrapolate(
    x: Any,
    y: Any,
    to: Any = None,
    level: float = 0.9,
    *,
    reach: float | None = None,
    names: tuple[str, str] = ("x", "y"),
    seed: int = 0,
) -> Extrapolation:
    """Carry a curve beyond its data, by many laws at once where x is a number, by a shape of trends where it is a date.

    The interval is of an observation, and holds three kinds of doubt: of the parameters, of the law, and of residuals
    that follow each other. What it is widened by was learnt on other curves (see ``record`` of the answer).

    Parameters
    ----------
    x : array of numbers above 0, or of dates
        In any order; points that share their x are averaged.
    y : array of numbers above 0
    to : number, date, or array of them, optional
        Where to; all beyond the last x. Each gets its answer, in this order. Needed, except with `reach` along dates.
    level : float
        Of the interval.
    reach : float, optional
        Along dates: when is this level first met?
    names : (str, str)
        What x and y are called in sentences.
    seed : int
        Of draws along dates; laws need none.

    Returns
    -------
    Extrapolation

    Raises
    ------
    DataError
        If there are too few points, or a value has no logarithm.
    UsageError
        If `to` lies inside the data.

    Examples
    --------
    >>> import numpy as np
    >>> import forecast
    >>> steps = np.geomspace(1e3, 1e6, 30)
    >>> answer = forecast.extrapolate(steps, 1.7 + 40 * steps**-0.4, to=2e6)
    >>> print(answer.sentence)
    y is expected to be 1.825 at x = 2e+06 (90 % interval: 1.811 to 1.832), 0.30 decades beyond 30 points.
    """
    check_level(level, "extrapolate")
    places, dated = _axis(x, names[0])
    if not dated and reach is not None:
        raise UsageError(f"extrapolate: reach: expected x to be dates; '{printable(names[0], 40)}' is numbers")
    places, values = _checked(places, y, names, dated)
    if to is None and reach is None:
        raise UsageError("extrapolate: to: expected where to extrapolate to, got nothing")
    goal, which = _goal(to, places, names[0], dated)
    if dated:
        answer = _along_dates(places, values, goal, level, reach, names, seed)
    else:
        answer = _along_numbers(places, values, goal, level, names)
    if which.size == 0:  # the only question is when the threshold is reached
        return answer
    columns = {name: getattr(answer, name)[which] for name in ("to", "median", "lower", "upper")}
    return replace(answer, **columns)


def _axis(x: Any, name: str) -> tuple[Array, bool]:
    """Return numbers, dates as decimal years, and whether they were dates."""
    given = np.asarray(x)
    shown = printable(name, 40)
    if given.ndim != 1:
        raise DataError(f"extrapolate: '{shown}': expected one column, got {given.ndim} dimensions")
    if given.dtype.kind == "O" and all(isinstance(v, (datetime.date, str)) for v in given):
        given = given.astype(str)
    if given.dtype.kind in "MU":
        try:
            return decimal_year(given.astype("datetime64[s]")), True
        except ValueError:
            raise DataError(f"extrapolate: '{shown}': expected numbers or dates (2025-06-30), got text") from None
    return _numbers(given, shown), False


def _numbers(given: Any, name: str) -> Array:
    array = np.asarray(given)
    if array.dtype.kind not in "iuf":
        raise DataError(f"extrapolate: '{printable(name, 40)}': expected numbers")
    return array.astype(float)


def _checked(x: Array, y: Any, names: tuple[str, str], dated: bool) -> tuple[Array, Array]:
    """Return x that rises and y with a logarithm, points of one x averaged (in the logarithm)."""
    values = _numbers(y, names[1])
    shown = [printable(n, 40) for n in names]
    if values.shape != x.shape:
        raise DataError(f"extrapolate: '{shown[1]}' has {values.size} values, '{shown[0]}' has {x.size}")
    for name, column, positive in ((shown[0], x, not dated), (shown[1], values, True)):
        bad = np.flatnonzero(~np.isfinite(column) | (positive & (column <= 0)))
        if bad.size:
            what = "numbers above 0" if positive else "dates"
            raise DataError(f"extrapolate: '{name}', row {bad[0] + 1}: expected {what}, got {column[bad[0]]:g}")
    distinct, place = np.unique(x, return_inverse=True)
    if distinct.size < MIN_POINTS:
        raise DataError(
            f"extrapolate: '{shown[0]}': expected at least {MIN_POINTS} different values, got {distinct.size}"
        )
    return distinct, np.exp(np.bincount(place, np.log(values)) / np.bincount(place))


def _goal(to: Any, x: Array, name: str, dated: bool) -> tuple[Array, NDArray[np.intp]]:
    """Return the targets, sorted and unique, all beyond the data, and the index of each place of `to` in them."""
    if to is None:
        return np.zeros(0), np.zeros(0, dtype=np.intp)
    goal = np.atleast_1d(np.asarray(to))
    if goal.dtype.kind in "MUO" and dated:
        goal, _ = _axis(goal, "to")
    goal, which = np.unique(_numbers(goal, "to").ravel(), return_inverse=True)
    inside = goal[~(np.isfinite(goal) & (goal > x[-1]))]
    if not goal.size or inside.size:
        last = _date(x[-1]) if dated else f"{x[-1]:g}"
        got = "nothing" if not goal.size else _date(inside[0]) if dated else f"{inside[0]:g}"
        shown = printable(name, 40)
        raise UsageError(f"extrapolate: to: expected a place beyond the data, which end at {shown} = {last}; got {got}")
    return goal, which


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _date(year: float) -> str:
    return str(from_decimal_year(year).astype("datetime64[M]")) if np.isfinite(year) else "no date"


# Along numbers: laws --------------------------------------------------------------------------------------------------


def _band(
    x: Array, y: Array, to: Array, level: float, tuning: Tuning
) -> tuple[Array, Array, Array, list[dict[str, Any]]]:
    """Return the median and both ends of an observation, and what each law says; a rising curve by its reciprocal."""
    sign = -1.0 if _rises(x, y) else 1.0
    made = pool(x, y**sign, to, tuning)
    ends = [np.exp(sign * made.quantile(q, tuning.spread)) for q in (0.5, 0.5 - level / 2, 0.5 + level / 2)]
    if not all(np.isfinite(end).all() for end in ends):
        raise FitError("extrapolate: no law of the pool passes near these points")
    said = {name: float(np.exp(sign * v)) for name, v in made.says.items()}
    laws: list[dict[str, Any]] = [
        {"name": form.law, "weight": made.shares[form.law], "says": said[form.law]}
        for form in FORMS
        if form.law in said
    ]
    laws.sort(key=lambda row: -row["weight"])
    return ends[0], np.minimum(ends[1], ends[2]), np.maximum(ends[1], ends[2]), laws


def quantiles(x: Any, y: Any, to: Array, shares: Array) -> Array:
    """Return quantiles of an observation of a curve beyond its data, (to, share), as `extrapolate` would say them."""
    places, values = _checked(np.asarray(x, dtype=float), y, ("x", "y"), False)
    sign = -1.0 if _rises(places, values) else 1.0
    goal, which = _goal(to, places, "x", False)
    made = pool(places, values**sign, goal, TUNING)
    said = np.stack([np.exp(sign * made.quantile(share, TUNING.spread)) for share in shares], axis=1)
    return (said if sign > 0 else said[:, ::-1])[which]


def _rises(x: Array, y: Array) -> bool:
    """Tell whether y rises with x, by the slope of the logarithms."""
    along = np.log(x)
    return bool((along - along.mean()) @ np.log(y) > 0)


def _along_numbers(x: Array, y: Array, to: Array, level: float, names: tuple[str, str]) -> Extrapolation:
    median, lower, upper, laws = _band(x, y, to, level, TUNING)
    decades = float(np.log10(to[-1] / x[-1]))
    tried = _tried(x, y, float(to[-1] / x[-1]), level)
    notes = []
    if decades > FAR:
        known = np.log10(max(each.times for each in RECORD))
        notes.append(f"{decades:.1f} decades beyond the data: the record is of {known:.1f}")
    if x.size < MIN_POINTS_IN_RECORD:
        notes.append(f"{x.size} points: the record is of curves with {MIN_POINTS_IN_RECORD} or more")
    if tried and tried["held"] < MIN_COVERAGE:
        notes.append(
            f"from {names[0]} = {tried['from']:.4g} the same forecast held {tried['held']:.0%} of its later points"
        )
    return Extrapolation(
        x=x, y=y, to=to, median=median, lower=lower, upper=upper, level=level, laws=tuple(laws), beyond=decades,
        names=names, tried=tried, rises=_rises(x, y), warnings=tuple(f"extrapolate: {note}" for note in notes),
    )  # fmt: skip


def _tried(x: Array, y: Array, times: float, level: float) -> dict[str, float]:
    """Forecast the later points from the earlier ones, over the same ratio of x or from half of the points."""
    count = max(int(np.searchsorted(x, x[-1] / times, side="right")), MIN_POINTS, x.size // 2)
    if count >= x.size:
        return {}
    median, lower, upper, _ = _band(x[:count], y[:count], x[count:], level, TUNING)
    later = y[count:]
    error = float(np.sqrt(np.mean((np.log(median) - np.log(later)) ** 2)))
    coverage = float(np.mean((later >= lower) & (later <= upper)))
    return {"from": float(x[count - 1]), "points": float(later.size), "held": coverage, "error": error}


# Along dates: shapes --------------------------------------------------------------------------------------------------


def shape_for_dates() -> str:
    """Return the shape that extrapolates along dates: the pool where a plugin brings it."""
    from forecast.contract.registry import get_registry

    return "trends/pool" if "trends/pool" in get_registry().names("shape") else "trends/local-linear"


def dated_quantiles(time: Array, value: Array, to: Array, shares: Sequence[float], seed: int = 0) -> Array:
    """Return quantiles of an observation of a series beyond its data, (to, share), as `extrapolate` would say them.

    Raises
    ------
    DataError, UsageError, FitError
        As `extrapolate` does: too few dates, or a value that is not above 0.
    """
    x, y = _checked(np.asarray(time, dtype=float), value, ("time", "value"), True)
    goal, which = _goal(to, x, "time", False)
    return np.asarray(np.quantile(_dated_draws(x, y, seed)(goal, True), shares, axis=1).T[which])


def _dated_draws(x: Array, y: Array, seed: int) -> Callable[[Array, bool], Array]:
    """Fit a shape to a series, and return what draws it at dates, (date, draw)."""
    from forecast.base.streams import Streams, check_seed
    from forecast.models import trend

    fitted = trend({"x": x, "y": y}, shape=shape_for_dates(), x="x", y="y", unit="").fit(seed=check_seed(seed))

    def draws(time: Array, observed: bool) -> Array:
        blocks = [Streams(seed=seed, node="extrapolate", block=b) for b in range(BLOCKS)]
        return np.concatenate([fitted.sample(time, {}, s, observed=observed) for s in blocks], axis=1)

    return draws


def _along_dates(
    x: Array, y: Array, to: Array, level: float, reach: float | None, names: tuple[str, str], seed: int
) -> Extrapolation:
    """Sample a shape at the target dates, and monthly if there is a threshold to reach."""
    from forecast.projection.crossing import QUANTILES, crossing, date_quantiles

    shape, draws = shape_for_dates(), _dated_draws(x, y, seed)
    end = to if to.size else np.array([x[-1] + HORIZON])
    shares: Sequence[float] = (0.5, 0.5 - level / 2, 0.5 + level / 2)
    median, lower, upper = np.quantile(draws(end, True), shares, axis=1)
    when: dict[str, float] = {}
    if reach is not None:
        if not (np.isfinite(reach) and reach > 0):
            raise UsageError(f"extrapolate: reach: expected a number above 0, got {reach:g}")
        months = np.append(np.arange(x[-1], end[-1], 1 / 12), end[-1])
        level_of, goal = draws(months, False), np.full((1, 1), float(reach))
        goal = np.broadcast_to(goal, level_of.shape)
        met = crossing(months, level_of, goal) if reach > y[-1] else crossing(months, goal, level_of)
        when = dict(zip(QUANTILES, map(float, date_quantiles(met.date)), strict=True))
        when |= {"never": float(met.never.mean()), "already": float(met.already.mean())}
    laws = ({"name": shape, "weight": 1.0, "says": float(median[-1])},)
    years = float(end[-1] - x[-1])
    notes = []
    if reach is None and years > x[-1] - x[0]:
        notes.append(f"{years:.0f} years ahead from {x[-1] - x[0]:.0f} years of data")
    return Extrapolation(
        x=x, y=y, to=end, median=median, lower=lower, upper=upper, level=level, laws=laws, beyond=years, names=names,
        when=when, threshold=reach, dates=True, warnings=tuple(f"extrapolate: {note}" for note in notes),
    )  # fmt: skip
