"""One verb that extrapolates: a pool of laws along x, or of shapes along dates, from what is known and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array
from forecast.base.dates import from_decimal_year, parse_year
from forecast.base.lazy import xr
from forecast.base.notebook_html import HtmlText
from forecast.base.plot_style import COLOURS
from forecast.base.quantiles import QUANTILE_NAMES
from forecast.errors import DataError, UsageError, printable
from forecast.evaluation.curve_record import record_text
from forecast.fit.options import check_level
from forecast.fit.pool.law_pool import FARTHEST_DECADES, MIN_CURVE_POINTS, CurveForecast, forecast_curve, is_rising
from forecast.fit.predict import WARN_BAND_FACTOR
from forecast.models.scales import UNBOUNDED, Bounds
from forecast.tables.intake import to_columns
from forecast.tables.same_place import reduce_places

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forecast.models import FittedModel


#: Blocks of worlds behind an answer along dates, 2,048 as of a run, and years ahead in which a level is to be reached.
N_BLOCKS, MAX_HORIZON_YEARS = 3, 50.0
#: Places along a figure.
PLOT_POINTS = 60


@dataclass(frozen=True, kw_only=True, eq=False)
class Extrapolation(HtmlText):
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
        What was pooled, laws and what stands beside them: ``name``, ``weight``, and ``says``, its own median at the
        farthest place.
    beyond : float
        How far beyond the data the farthest place lies: decades of x, or years.
    when : dict
        Dates at which `reach=` is met: quantiles in decimal years, ``never``, ``already``; else empty.
    warnings : tuple of str
        What a reader of any number from this must know.
    names : tuple of str
        Of x and y.
    threshold : float or None
        `reach=`, the y that is to be met.
    dates, rises : bool
        Whether x are dates, and whether y goes up.
    read : str
        What was read of a file, in one sentence.
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
    when: Mapping[str, float] = field(default_factory=dict)
    threshold: float | None = None
    dates: bool = False
    rises: bool = False
    warnings: tuple[str, ...] = ()
    read: str = ""

    @property
    def sentence(self) -> str:
        """The answer, in one sentence."""
        x, y = self.names
        if self.threshold is not None:
            return self._when()
        last = int(np.argmax(self.to))
        at = f"in {_month_text(self.to[last])}" if self.dates else f"at {x} = {self.to[last]:.6g}"
        band = f"{self.lower[last]:.4g} to {self.upper[last]:.4g}"
        sure = f"{100 * self.level:g} % interval"
        return f"{y} is expected to be {self.median[last]:.4g} {at} ({sure}: {band}), {self._far()}."

    def _when(self) -> str:
        begin = f"{self.names[1]} reaches {self.threshold:.6g}"
        if self.when["already"] > 0.5:
            return f"{begin} already."
        middle, low, high = (self.when[q] for q in ("p50", "p05", "p95"))
        if not np.isfinite(middle):
            likely = f"{100 * (1 - self.when['never']):.0f} %"
            return f"The probability that {begin} by {_month_text(self.to.max())} is {likely}."
        late = _month_text(high) if np.isfinite(high) else f"after {_month_text(self.to.max())}"
        ends = f"{_month_text(low)} to {late}"
        never = f"not by {_month_text(self.to.max())}: {100 * self.when['never']:.0f} %"
        return f"{begin} in {_month_text(middle)} (90 % interval: {ends}; {never})."

    def _far(self) -> str:
        if self.dates:
            return f"{self.beyond:.1f} years after the last of {self.x.size} points"
        return f"{self.beyond:.2f} decades beyond {self.x.size} points"

    @cached_property
    def hindcast(self) -> Mapping[str, float]:
        """The same forecast from the first part of these points alone, as far ahead as this one goes.

        ``from`` (its last x), ``points`` (later ones), ``held`` (coverage: the share of them inside the interval),
        ``error``; empty along dates, and where a part that is short enough has too few points.
        """
        return {} if self.dates else _hindcast_scores(self.x, self.y, 10**self.beyond, self.level)

    @property
    def record(self) -> tuple[str, ...]:
        """How forecasts as far ahead, from as many points, have done; and the same forecast on these very points."""
        if self.dates:
            return ()
        lines = [record_text(self.x.size, self.beyond)]
        if self.hindcast:
            coverage, count, at = self.hindcast["held"], int(self.hindcast["points"]), self.hindcast["from"]
            error = self.hindcast["error"]
            lines.append(
                f"this curve from {self.names[0]} = {at:.4g}: {100 * coverage:.0f} % of {count} later points lay in "
                f"the interval, off by {_format_percent(error)} in the root mean square"
            )
        return tuple(lines)

    def columns(self) -> dict[str, list[Any]]:
        """Return the answer as a table: the targets, dates as ISO text, ``median``, ``lower`` and ``upper``."""
        at = from_decimal_year(self.to).astype("datetime64[D]").astype(str) if self.dates else self.to
        every = {self.names[0]: at, "median": self.median, "lower": self.lower, "upper": self.upper}
        return {name: values.tolist() for name, values in every.items()}

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
        why = "weighed by how they pass through the points and would have forecast them"
        why = "along dates" if self.dates else why
        turned = " (of its reciprocal: it rises)" if self.rises else ""
        lines = [*([self.read] if self.read else []), self.sentence, "", f"pooled{turned}, {why}:", *used]
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
        axis.plot(self.x, self.y, "o", markersize=3, color=COLOURS[1], label=f"{self.x.size} points")
        axis.plot(path.to, path.median, color=COLOURS[0], label="median")
        label = f"{self.level:.0%} of observations"
        axis.fill_between(path.to, path.lower, path.upper, color=COLOURS[0], alpha=0.25, linewidth=0.0, label=label)
        if self.threshold is not None:
            axis.axhline(self.threshold, color=COLOURS[1], linewidth=0.8, linestyle=":")
        drawn = np.concatenate([self.y, path.lower, path.upper])
        axis.set(xscale="linear" if self.dates else "log", yscale="log" if np.ptp(np.log10(drawn)) > 1 else "linear")
        x, y = (printable(name, 60) for name in self.names)
        axis.set_xlabel("year" if self.dates else x)
        axis.set_ylabel(y)
        axis.legend(frameon=False)
        return axis

    def __repr__(self) -> str:
        """Return the summary."""
        return self.summary()


def extrapolate(
    x: Any,
    y: Any,
    to: Any = None,
    level: float = 0.9,
    *,
    reach: float | None = None,
    names: tuple[str, str] = ("x", "y"),
    reduce: str = "",
    unit: str = "",
    scale: str = "",
    floor: float | None = None,
    ceiling: float | None = None,
    seed: int = 0,
) -> Extrapolation:
    """Carry a curve beyond its data, by many laws at once where x is a number, by a shape of trends where it is a date.

    Along numbers a pool of laws is combined with the last value and a line through the last points, by how each would
    have forecast this curve. The interval is of an observation, and holds three kinds of doubt: of the laws and their
    parameters, between the three forecasts, and of the noise of a point. How such forecasts have done is the ``record``
    of the answer.

    Parameters
    ----------
    x : array of numbers from 0, or of dates
        In any order. A column of years is dates. A point without a value, or at the number 0, is left out, with a
        warning.
    y : array of numbers
        Above 0, except along dates.
    to : number, date, or array of them, optional
        Where to; all beyond the last x. Each gets its answer, in this order. Needed, except with `reach` along dates.
    level : float
        Of the interval.
    reach : float, optional
        Along dates: when is this level first met?
    names : (str, str)
        What x and y are called in sentences.
    reduce : {"", "mean", "median", "min", "max", "last", "best"}
        What becomes of several points at one x: by default an error.
    unit : str
        Of y: a share in percent ends at 100.
    scale, floor, ceiling
        Along dates: see `forecast.trend`.
    seed : int
        Of draws along dates; laws need none.

    Returns
    -------
    Extrapolation

    Raises
    ------
    DataError
        If there are too few points, or a value has no place on the scale.
    UsageError
        If `to` lies inside the data.

    Examples
    --------
    >>> import numpy as np
    >>> import forecast
    >>> steps = np.geomspace(1e3, 1e6, 30)
    >>> answer = forecast.extrapolate(steps, 1.7 + 40 * steps**-0.4, to=2e6)
    >>> print(answer.sentence)
    y is expected to be 1.823 at x = 2e+06 (90 % interval: 1.792 to 1.855), 0.30 decades beyond 30 points.
    """
    check_level(level, "extrapolate")
    places, dated = _as_axis(x, names[0])
    bounds = Bounds(scale=scale, floor=floor, ceiling=ceiling).check("extrapolate: scale")
    if not dated and bounds:
        raise UsageError(f"extrapolate: scale: of a series along dates, and '{printable(names[0], 40)}' is numbers")
    if not dated and reach is not None:
        raise UsageError(f"extrapolate: reach: expected x to be dates; '{printable(names[0], 40)}' is numbers")
    places, values, notes = _prepare_points(places, y, names, dated, reduce)
    if to is None and reach is None:
        raise UsageError("extrapolate: to: expected where to extrapolate to, got nothing")
    goal, which = _target_places(to, places, names[0], dated)
    if dated:
        answer = _extrapolate_dates(places, values, goal, level, reach, names, unit, bounds, seed)
    else:
        answer = _extrapolate_numbers(places, values, goal, level, names)
    answer = replace(answer, warnings=(*(f"extrapolate: {note}" for note in notes), *answer.warnings))
    if which.size == 0:  # the only question is when the threshold is reached
        return answer
    columns = {name: getattr(answer, name)[which] for name in ("to", "median", "lower", "upper")}
    return replace(answer, **columns)


def _as_axis(x: Any, name: str) -> tuple[Array, bool]:
    """Return numbers, dates as decimal years, and whether they were dates."""
    given = np.asarray(x)
    shown = printable(name, 40)
    if given.ndim != 1:
        raise DataError(f"extrapolate: '{shown}': expected one column, got {given.ndim} dimensions")
    columns = to_columns({name: given}, where="extrapolate")
    dated = columns.kind(name) == "time"
    return (columns.years(name) if dated else columns.numeric(name)), dated


def _as_numbers(given: Any, name: str) -> Array:
    array = np.asarray(given)
    if array.dtype.kind not in "iuf":
        raise DataError(f"extrapolate: '{printable(name, 40)}': expected numbers")
    return array.astype(float)


def _prepare_points(
    x: Array, y: Any, names: tuple[str, str], dated: bool, rule: str = "mean"
) -> tuple[Array, Array, tuple[str, ...]]:
    """Return x that rises, y with a logarithm, one at each x, and what was done for that."""
    values = _as_numbers(y, names[1])
    shown = [printable(n, 40) for n in names]
    if values.shape != x.shape:
        raise DataError(f"extrapolate: '{shown[1]}' has {values.size} values, '{shown[0]}' has {x.size}")
    known = ~(np.isnan(x) | np.isnan(values))
    zero = known & (x == 0) & (not dated)  # a log begins at step 0, which has no logarithm
    reasons = ((~known, f"no {shown[0]} or no {shown[1]}"), (zero, f"{shown[0]} is 0, which has no logarithm"))
    notes = tuple(f"{left.sum()} of {x.size} points left out: {why}" for left, why in reasons if left.any())
    rows = np.flatnonzero(known & ~zero)
    x, values = x[rows], values[rows]
    for name, column, positive in ((shown[0], x, not dated), (shown[1], values, not dated)):
        bad = np.flatnonzero(~np.isfinite(column) | (positive & (column <= 0)))
        if bad.size:
            what = "numbers above 0" if positive else "dates"
            raise DataError(f"extrapolate: '{name}', row {rows[bad[0]] + 1}: expected {what}, got {column[bad[0]]:g}")
    rule = rule or ("" if np.unique(x).size < x.size else "mean")
    distinct, values, reduced = reduce_places(x, values, rule, "extrapolate", names=names)
    if distinct.size < MIN_CURVE_POINTS and not dated:  # a shape of trends says how many it needs
        raise DataError(
            f"extrapolate: '{shown[0]}': expected at least {MIN_CURVE_POINTS} different values, got {distinct.size}"
        )
    return distinct, values, (*notes, *((reduced,) if reduced else ()))


def _target_places(to: Any, x: Array, name: str, dated: bool) -> tuple[Array, NDArray[np.intp]]:
    """Return the targets, sorted and unique, all beyond the data, and the index of each place of `to` in them."""
    if to is None:
        return np.zeros(0), np.zeros(0, dtype=np.intp)
    goal = np.atleast_1d(np.asarray(to))
    if goal.dtype.kind in "MUO" and dated:
        goal = np.array([parse_year(each, "extrapolate: to") for each in goal.ravel()])
    goal, which = np.unique(_as_numbers(goal, "to").ravel(), return_inverse=True)
    inside = goal[~(np.isfinite(goal) & (goal > x[-1]))]
    if not goal.size or inside.size:
        last = _month_text(x[-1]) if dated else f"{x[-1]:g}"
        got = "nothing" if not goal.size else _month_text(inside[0]) if dated else f"{inside[0]:g}"
        shown = printable(name, 40)
        raise UsageError(f"extrapolate: to: expected a place beyond the data, which end at {shown} = {last}; got {got}")
    return goal, which


def _format_percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _month_text(year: float) -> str:
    return str(from_decimal_year(year).astype("datetime64[M]")) if np.isfinite(year) else "no date"


# Along numbers: laws --------------------------------------------------------------------------------------------------


def forecast_quantiles(x: Any, y: Any, to: Array, shares: Array) -> Array:
    """Return quantiles of an observation of a curve beyond its data, (to, share), as `extrapolate` would say them."""
    places, values, _ = _prepare_points(np.asarray(x, dtype=float), y, ("x", "y"), False)
    goal, which = _target_places(to, places, "x", False)
    result = forecast_curve(places, values, goal)
    return np.stack([np.exp(result.quantile(share)) for share in shares], axis=1)[which]


def _median_and_interval(forecast: CurveForecast, level: float) -> tuple[Array, Array, Array]:
    """Return the median and both ends of an interval of an observation."""
    middle, lower, upper = (np.exp(forecast.quantile(q)) for q in (0.5, 0.5 - level / 2, 0.5 + level / 2))
    return middle, lower, upper


def _extrapolate_numbers(x: Array, y: Array, to: Array, level: float, names: tuple[str, str]) -> Extrapolation:
    result = forecast_curve(x, y, to)
    median, lower, upper = _median_and_interval(result, level)
    laws: list[dict[str, Any]] = [
        {"name": name, "weight": weight, "says": float(np.exp(result.says[name]))}
        for name, weight in result.weights.items()
        if name in result.says
    ]
    laws.sort(key=lambda row: -row["weight"])
    decades = float(np.log10(to[-1] / x[-1]))
    return Extrapolation(
        x=x, y=y, to=to, median=median, lower=lower, upper=upper, level=level, laws=tuple(laws), beyond=decades,
        names=names, rises=is_rising(x, y),
        warnings=tuple(f"extrapolate: {note}" for note in _distance_warnings(result, x, y, decades)),
    )  # fmt: skip


def _distance_warnings(forecast: CurveForecast, x: Array, y: Array, decades: float) -> list[str]:
    """Say where an extrapolation is likely to be far off, or where nothing is known of how such do."""
    notes = []
    if decades > FARTHEST_DECADES:
        record = f"no forecast on record went further than {FARTHEST_DECADES:g}"
        notes.append(f"{decades:.1f} decades beyond the data: {record}")
    _, lower, upper = _median_and_interval(forecast, 0.9)
    apart = float((upper / lower).max())
    if apart > WARN_BAND_FACTOR:
        notes.append(f"the ends of the 90 % interval are a factor of {apart:.2g} apart: little is known there")
    later = y[-max(x.size // 2, 2) :]
    if np.ptp(later) == 0:
        notes.append(f"the last {later.size} values are equal: nothing in them says how far a next step would go")
    return notes


def _hindcast_scores(x: Array, y: Array, times: float, level: float) -> dict[str, float]:
    """Forecast the later points from the earlier ones, over the same ratio of x."""
    count = int(np.searchsorted(x, x[-1] / times, side="right"))
    if count < MIN_CURVE_POINTS:
        return {}
    median, lower, upper = _median_and_interval(forecast_curve(x[:count], y[:count], x[count:]), level)
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
        As `extrapolate` does: too few dates, or a value without a place on the scale.
    """
    x, y, _ = _prepare_points(np.asarray(time, dtype=float), value, ("time", "value"), True)
    goal, which = _target_places(to, x, "time", False)
    _, draws = _fitted_series(x, y, seed)
    return np.asarray(np.quantile(draws(goal), shares, axis=1).T[which])


def _fitted_series(
    x: Array, y: Array, seed: int, name: str = "y", unit: str = "", bounds: Bounds = UNBOUNDED
) -> tuple[FittedModel, Callable[[Array], Array]]:
    """Fit a shape to a series, and return what draws rows to come, (date, draw): the worlds of `forecast ask`."""
    from forecast.base.streams import Streams, check_seed
    from forecast.models import trend
    from forecast.projection.blocks import node_streams
    from forecast.scenarios.question_text import quantity_name

    time, shape = "time" if name != "time" else "date", shape_for_dates()
    series = f"{quantity_name(name)}@{shape.partition('/')[2]}"
    made = trend(
        {time: x, name: y}, shape=shape, x=time, y=name, unit=unit, of_rows=True, name=series, scale=bounds.scale,
        floor=bounds.floor, ceiling=bounds.ceiling,
    )  # fmt: skip
    fitted = made.fit(seed=check_seed(seed))

    def draws(dates: Array) -> Array:
        blocks = [node_streams(Streams, seed, series, number) for number in range(N_BLOCKS)]
        return np.concatenate([fitted.sample(dates, {}, streams) for streams in blocks], axis=1)

    return fitted, draws


def _extrapolate_dates(
    x: Array, y: Array, to: Array, level: float, reach: float | None, names: tuple[str, str], unit: str, bounds: Bounds,
    seed: int,
) -> Extrapolation:  # fmt: skip
    """Sample a shape at the target dates, and monthly if there is a threshold to reach."""
    from forecast.projection.crossing import date_quantiles, find_crossing

    fitted, draws = _fitted_series(x, y, seed, names[1], unit, bounds)
    end = to if to.size else np.array([x[-1] + MAX_HORIZON_YEARS])
    shares: Sequence[float] = (0.5, 0.5 - level / 2, 0.5 + level / 2)
    median, lower, upper = np.quantile(draws(end), shares, axis=1)
    when: dict[str, float] = {}
    if reach is not None:
        if not np.isfinite(reach) or fitted.scale.is_beyond(np.array(reach)):
            raise UsageError(f"extrapolate: reach: expected {fitted.scale.ends}, got {reach:g}")
        months = np.append(np.arange(x[-1], end[-1], 1 / 12), end[-1])
        level_of, goal = draws(months), np.full((1, 1), float(reach))
        goal = np.broadcast_to(goal, level_of.shape)
        # a record goes one way, and has met what lies on the other side of it
        rising = fitted.scale.record > 0 or (fitted.scale.record == 0 and reach > y[-1])
        met = find_crossing(months, level_of, goal) if rising else find_crossing(months, goal, level_of)
        when = dict(zip(QUANTILE_NAMES, map(float, date_quantiles(met)), strict=True))
        when |= {"never": float(np.isposinf(met).mean()), "already": float((met <= months[0]).mean())}
    laws = ({"name": shape_for_dates(), "weight": 1.0, "says": float(median[-1])},)
    years = float(end[-1] - x[-1])
    notes = []
    if reach is None and years > x[-1] - x[0]:
        notes.append(f"{years:.0f} years ahead from {x[-1] - x[0]:.0f} years of data")
    return Extrapolation(
        x=x, y=y, to=end, median=median, lower=lower, upper=upper, level=level, laws=laws, beyond=years, names=names,
        when=when, threshold=reach, dates=True, read=fitted.describe().read,
        warnings=tuple(f"extrapolate: {note}" for note in notes),
    )  # fmt: skip
