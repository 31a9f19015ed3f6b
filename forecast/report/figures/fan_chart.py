"""Trajectories: what was observed, the median and the 50 and 90 % bands, what is to be reached, and when it is."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from forecast import units
from forecast.base import plot_style
from forecast.base.dates import decimal_year
from forecast.errors import ForecastError, printable
from forecast.formula import Formula, Measured, Name, parse_condition, parse_expression
from forecast.projection.likelihood_weights import value_quantiles
from forecast.projection.result import AnswerDistribution, DateAnswer, ProjectedAnswer, Projection, ValueAnswer
from forecast.projection.result.observed_values import observed_points as seen_of
from forecast.projection.supporting_data import notable
from forecast.report.headline import Labels
from forecast.report.words.date_text import as_text, fine_span
from forecast.report.words.number_text import amount, scale_of, short_zeros

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]


#: What lies beyond is drawn here: an axis needs room above its highest value.
_MAX_PLOTTED = 1e200
#: Points of a page: a line is called by a text of so many in the legend, in several lines if need be.
_MAX_LEGEND_WIDTH = 96.0
#: A path of fewer steps is no trajectory.
_MIN_STEPS = 3
#: A band reaches at most so far beyond the medians and the points, as a share of their span.
_AXIS_MARGIN = 0.35
#: A value axis is logarithmic where it spans more than this factor; beyond so many decades units take no prefix.
_LOG_AXIS_RATIO, _MAX_PREFIX_DECADES = 10.0, 6.0
#: So many points of a panel have names.
_MAX_NAMED_POINTS = 4


class FittedPast(NamedTuple):
    """The fitted level before the first step: dates that rise, and five quantiles at each, (5, date)."""

    dates: Array
    levels: Array
    is_constant: bool = False  # a record does, until the next

    def to(self, year: float, levels: Array) -> tuple[Array, Array]:
        """Return dates and levels as they are drawn: up to these levels of the first step."""
        dates, own = self.dates, self.levels
        if self.is_constant:
            dates, own = np.repeat(dates, 2)[1:], np.repeat(own, 2, axis=1)[:, :-1]
        return np.append(dates, year), np.column_stack([own, levels])


@dataclass(frozen=True, kw_only=True)
class Line:
    """One quantity over time.

    Parameters
    ----------
    label : str
    levels : ndarray
        The five quantiles at every step, (5, time).
    dates, values : ndarray
        What was observed.
    names : sequence of str
        What some of these points are called, and of the others an empty text.
    past : ObservedSeries or None
        What was fitted to it.
    """

    label: str
    levels: Array
    dates: Array = field(default_factory=lambda: np.empty(0))
    values: Array = field(default_factory=lambda: np.empty(0))
    names: Sequence[str] = ()
    past: FittedPast | None = None

    def with_past(self, years: Array) -> tuple[Array, Array]:
        """Return dates and levels, the fitted past among them."""
        if self.past is None:
            return years, self.levels
        before, own = self.past.to(float(years[0]), self.levels[:, 0])
        return np.append(before[:-1], years), np.column_stack([own[:, :-1], self.levels])


@dataclass(frozen=True, kw_only=True)
class Fan:
    """One panel of trajectories.

    Parameters
    ----------
    title : str
        The values of choices.
    years : ndarray
    lines : tuple of Line
        The first leads.
    unit : str
    threshold : float or None
        What is to be reached, where it is one number.
    threshold_label : str
    answer : AnswerDistribution or None
        When it is reached.
    """

    title: str
    years: Array
    lines: tuple[Line, ...]
    unit: str
    threshold: float | None = None
    threshold_label: str = ""
    answer: AnswerDistribution | None = None

    @property
    def spreads(self) -> bool:
        """Whether any of it is uncertain."""
        return any(bool((line.levels[0] < line.levels[4]).any()) for line in self.lines)

    @property
    def span(self) -> tuple[float, float]:
        """The dates that the answer needs: some past, and as much of the future as holds it."""
        first, last = float(self.years[0]), float(self.years[-1])
        end = last
        if self.answer is not None:
            found = [q for q in self.answer.quantiles if math.isfinite(q)]
            most = max(found, default=last)
            # where most of it is already so, some years ahead are shown all the same
            end = min(last, first + max(1.25 * (most - first), 8.0 if last - first > 8 else last - first))
        seen = [float(line.dates.min()) for line in self.lines if line.dates.size]
        return max(min([first, *seen]), first - max(end - first, 12.0)), end

    def window(self, span: tuple[float, float]) -> tuple[float, float, bool]:
        """Return the ends of the value axis over these dates, and whether it is logarithmic."""
        here = (self.years >= span[0]) & (self.years <= span[1])
        core = [line.values[(line.dates >= span[0]) & (line.dates <= span[1])] for line in self.lines]
        far = [line.levels[:, here].ravel() for line in self.lines]
        if self.threshold is None and len(self.lines) < 2:
            core.append(self.lines[0].levels[1:4, here].ravel())
        else:  # where it begins, and what is to be reached: not all of what comes after
            core.append(self.lines[0].levels[:, here][1:4, :1].ravel())
            core += [line.levels[1:4, here].ravel() for line in self.lines[1:]]
            core += [np.array([self.threshold])] if self.threshold is not None else []
        near, wide = np.concatenate(core), np.concatenate([*core, *far])
        near, wide = near[np.isfinite(near)], wide[np.isfinite(wide)]
        if not near.size:
            return 0.0, 1.0, False
        middle = self.lines[0].levels[2, here]
        log = bool(
            wide.min() > 0 and max(near.max() / near.min(), np.nanmax(middle) / np.nanmin(middle)) > _LOG_AXIS_RATIO
        )
        if log:
            near, wide = np.log10(near), np.log10(wide)
        low, high = _value_window(near, wide)
        return (10.0**low, 10.0**high, True) if log else (low, high, False)


def _value_window(near: Array, wide: Array) -> tuple[float, float]:
    low, high = float(near.min()), float(near.max())
    span = (high - low) or abs(high) or 1.0
    low, high = max(float(wide.min()), low - _AXIS_MARGIN * span), min(float(wide.max()), high + _AXIS_MARGIN * span)
    room = 0.06 * ((high - low) or abs(high) or 1.0)
    return low - room, high + 2.5 * room  # the date stands on top


def fan_panels(answer: DateAnswer | ValueAnswer, most: int) -> list[Fan]:
    """Return the panels of a date or a value: one for each of its definitions, as far as `most` panels hold them.

    Rivals are pooled by their weights. Empty where nothing of it is a number over time.
    """
    free = [d for d in answer.choices if d not in answer.rivals]
    default = {d: answer.default.get(d, answer.values(d)[0]) for d in free}
    along: list[str] = []
    for choice in sorted(free, key=lambda d: -_median_range(answer, default, d)):
        if math.prod(len(answer.values(d)) for d in (*along, choice)) <= most:
            along.append(choice)
    result = []
    for here in answer.combinations(along):
        fan = _build_fan(answer, {**default, **here})
        title = ", ".join(Labels(answer.run)(value) for value in here.values() if value)
        result += [] if fan is None else [replace(fan, title=title if len(here) else "")]
    return [replace(fan, title="") for fan in result] if len(result) == 1 else result


def _median_range(answer: ProjectedAnswer, default: Mapping[str, str], choice: str) -> float:
    """Return how far a choice moves the median, on a scale that is the same for all choices of an answer.

    The panels are along the choices that move it most: others would look alike.
    """
    found = [answer.over({**default, choice: value}) for value in answer.values(choice)]
    medians = [each.median for each in found if each is not None]
    if isinstance(answer, DateAnswer):
        medians = [min(median, 2 * answer.run.span[1] - answer.run.span[0]) for median in medians]
    elif min(medians, default=0.0) > 0:
        medians = [math.log(median) for median in medians]
    return max(medians, default=0.0) - min(medians, default=0.0)


def _build_fan(answer: DateAnswer | ValueAnswer, chosen: dict[str, str]) -> Fan | None:
    run = answer.run
    words, years = Labels(run), run.years
    dated = isinstance(answer, DateAnswer)
    try:
        unit, sides = _when_sides(answer) if isinstance(answer, DateAnswer) else _value_side(answer)
    except ForecastError:  # the formula has no levels: one of the past of a path, say
        return None
    threshold, threshold_label = None, ""
    lines: list[Line] = []
    for side in sides:
        if not side.names:
            threshold = float(units.value_of(side, {}, {}, target=unit))
            threshold_label = amount(threshold, unit, 4)
            continue
        levels = _formula_quantiles(run, side, unit, chosen, answer)
        if levels is None or not np.isfinite(levels).any():
            return None
        if dated and lines and (levels == levels.flat[0]).all():
            threshold = float(levels.flat[0])
            threshold_label = f"{words(side.text)}: {amount(threshold, unit, 4)}"
            continue
        observed = seen_of(answer, side.text, unit, chosen)
        names = [words(name) for name in observed[2]]
        label = _formula_label(answer, side, chosen, words)
        past = _fitted_past(run, side.text, unit, chosen, answer)
        lines.append(Line(label=label, levels=levels, dates=observed[0], values=observed[1], names=names, past=past))
    if not lines or len(years) < _MIN_STEPS or all((each.levels == each.levels[:, :1]).all() for each in lines):
        return None
    distribution = answer.over(chosen) if dated else None
    return Fan(
        title="", years=years, lines=tuple(lines), unit=unit, threshold=threshold, threshold_label=threshold_label,
        answer=distribution,
    )  # fmt: skip


def _units_of(run: Projection, names: Sequence[str]) -> dict[str, str]:
    known = {name: run.quantities[name].unit for name in names if name in run.numeric}
    if missing := [n for n in names if n not in known]:
        raise ForecastError(f"'{printable(missing[0], 60)}' is no level")
    return known


def _when_sides(answer: DateAnswer) -> tuple[str, list[Formula]]:
    """Return the unit of a question, and its sides: the greater one leads."""
    run = answer.run
    # the number of a choice is a name here
    when = parse_condition(re.sub("[{}]", "", answer.text))
    found = units.sides(when, _units_of(run, when.names))
    sides = [found.left, found.right] if ">" in when.op else [found.right, found.left]
    if not sides[0].names or _is_constant(run, sides[0]):  # the side that changes with time leads
        sides.reverse()
    stated = sides[1].root  # people expect the unit of the question
    if isinstance(stated, Measured):
        return stated.unit, sides
    if isinstance(stated, Name) and _is_constant(run, sides[1]):  # as of a goal that stands by itself
        return run.quantities[stated.name].unit, sides
    named = run.quantities[sides[0].text].unit if sides[0].names == (sides[0].text,) else found.unit
    return named if units.same_dimension(named, found.unit) else found.unit, sides


def _is_constant(run: Projection, side: Formula) -> bool:
    kept = run.worlds
    return all(bool((kept[n] == kept[n].isel(time=0)).all()) for n in side.names)


def _value_side(answer: ValueAnswer) -> tuple[str, list[Formula]]:
    side = parse_expression("" if answer.growth else re.sub("[{}]", "", answer.text))
    return units.infer(side, _units_of(answer.run, side.names)), [side]


def _formula_quantiles(
    run: Projection, side: Formula, unit: str, chosen: Mapping[str, str], answer: ProjectedAnswer
) -> Array | None:
    """Return the quantiles of a formula of quantities, rivals pooled, (quantile, time)."""
    kept = run.worlds
    known: dict[str, Any] = {}
    for name in side.names:
        own = kept[name].sel({d: v for d, v in chosen.items() if d in kept[name].dims})
        drawn = run.pooled(own, answer.rivals)
        if set(drawn.dims) - {"draw", "time"}:
            return None
        known[name] = drawn.transpose("draw", "time").values
    values = np.asarray(units.value_of(side, known, _units_of(run, side.names), target=unit), dtype=float)
    weights = run.pooled_weights(chosen, answer.rivals)
    if weights is not None and set(weights.dims) != {"draw"}:
        return None
    return value_quantiles(np.clip(values, -_MAX_PLOTTED, _MAX_PLOTTED), None if weights is None else weights.values)


def _fitted_past(
    run: Projection, name: str, unit: str, chosen: Mapping[str, str], answer: ProjectedAnswer
) -> FittedPast | None:
    """Return the fitted past of a quantity; None where it has none, or where several rivals each have their own."""
    if f"past/{name}" not in run:
        return None
    fitted = run[f"past/{name}"].to_dataset()
    keep = np.ones(fitted.sizes["point"], dtype=bool)
    for choice in (str(c) for c in fitted.coords if fitted[c].dims == ("point",) and c != "date"):
        weights = answer.rivals.get(choice, ())
        counted = (
            [value for value, weight in zip(answer.values(choice), weights, strict=True) if weight] if weights else []
        )
        value = chosen.get(choice, counted[0] if len(counted) == 1 else None)
        keep &= fitted[choice].values == value
    if not keep.any():
        return None
    level = fitted["level"]
    result = units.convert(level.values[:, keep], str(level.attrs["units"]), unit)
    return FittedPast(decimal_year(fitted["date"].values[keep]), np.asarray(result), level.attrs["keeps"] == "frontier")


def lines_over_time(run: Projection, names: Sequence[str], most: int) -> list[Fan]:
    """Return a panel for each of these quantities, for a scenario without a question."""
    words, result = Labels(run), []
    if len(run.years) < _MIN_STEPS:
        return []
    for quantity in (run.quantities[name] for name in names):
        for cell in quantity.cells:
            path = np.clip(quantity.quantiles(cell), -_MAX_PLOTTED, _MAX_PLOTTED)
            if np.isnan(path).all():
                continue
            given = words.given(cell)
            line = Line(label=words(quantity.name), levels=path)
            title = f"{words(quantity.name)}{f' ({given})' if given else ''}"
            result.append(Fan(title=title, years=run.years, lines=(line,), unit=quantity.unit))
    return result[:most]


# --- Drawing ----------------------------------------------------------------------------------------------------------


def plot_fan(
    axis: Axes, fan: Fan, *, span: tuple[float, float], window: tuple[float, float, bool], width: float
) -> Callable[[], None]:
    """Draw one panel over these dates and values, so many points wide; return what writes its labels, once laid out."""
    low, high, log = window
    middle = math.sqrt(low) * math.sqrt(high) if log else max(abs(low), abs(high))
    factor, unit = scale_of([1e300 if log and math.log10(high / low) > _MAX_PREFIX_DECADES else middle], fan.unit)
    for place, line in enumerate(fan.lines):
        _draw_line(axis, fan.years, line, place, factor)
    axis.set(xlim=span, ylim=(low / factor, high / factor))
    if log:
        axis.set_yscale("log")
        axis.set_ylim(low / factor, high / factor)
        plot_style.set_log_ticks(axis.yaxis)
    else:
        from matplotlib.ticker import MaxNLocator

        axis.yaxis.set_major_locator(MaxNLocator(nbins=5))
        axis.yaxis.set_major_formatter(lambda value, _: plot_style.format_tick(value))
    if fan.threshold is not None and low <= fan.threshold <= high:
        axis.axhline(
            fan.threshold / factor,
            color=plot_style.COLOURS[1],
            linestyle="--",
            linewidth=1.1,
            label=_in_legend(fan.threshold_label),
        )
    if fan.answer is not None:
        _draw_answer(axis, fan.answer, span)
    plot_style.set_year_ticks(axis.xaxis)
    axis.grid(color="#e4e4e4", linewidth=0.5)
    axis.set_ylabel(printable(unit, 40))
    if fan.title:
        axis.set_title(plot_style.wrap_text(printable(fan.title, 200), 0.8 * width, 8.0))
    return partial(_add_labels, axis, fan, factor)


def _draw_line(axis: Axes, years: Array, line: Line, place: int, factor: float) -> None:
    colour = plot_style.COLOURS[place % len(plot_style.COLOURS)]
    style = plot_style.LINE_STYLES[place % len(plot_style.LINE_STYLES)]
    dates, levels = line.with_past(years)
    if line.past is not None:
        before, own = line.past.to(float(years[0]), line.levels[:, 0])
        axis.plot(before, own[2] / factor, linestyle=style, color=colour, linewidth=0.7, label="fitted past")
    p05, p25, _, p75, p95 = levels / factor
    for low, high, alpha in ((p05, p95, 0.16), (p25, p75, 0.28)):
        axis.fill_between(dates, low, high, color=colour, alpha=alpha, linewidth=0)
    axis.plot(years, line.levels[2] / factor, linestyle=style, color=colour, label=_in_legend(line.label))
    if line.dates.size:
        axis.plot(line.dates, line.values / factor, "o", color=plot_style.BLACK, ms=2.2, mew=0, alpha=0.6, zorder=3,
                  label="observed")  # fmt: skip


def _draw_answer(axis: Axes, answer: AnswerDistribution, span: tuple[float, float]) -> None:
    """Mark the median date, and what holds 90 % of it, at the foot of the panel."""
    low, _, middle, _, high = answer.quantiles
    foot = axis.get_xaxis_transform()
    if math.isfinite(low) and answer.medians is None:
        axis.plot([low, min(high, span[1])], [0.0, 0.0], color=plot_style.BLACK, linewidth=3, transform=foot,
                  solid_capstyle="butt", zorder=5, label="90 % of dates")  # fmt: skip
    if math.isfinite(middle) and span[0] <= middle <= span[1]:
        axis.axvline(middle, color=plot_style.BLACK, linestyle=":", linewidth=1.0, label="median date")


def _formula_label(answer: ProjectedAnswer, side: Formula, chosen: Mapping[str, str], words: Labels) -> str:
    """Call a formula of one quantity by that, else by the title of the question for its value, or by its text."""
    if side.text in answer.run.quantities:
        return words(side.text)
    if isinstance(answer, ValueAnswer) and answer.title:
        return printable(words.title(answer.title, chosen), 200)
    return printable(short_zeros(side.text), 200)


def _in_legend(label: str) -> str:
    return plot_style.wrap_text(label, _MAX_LEGEND_WIDTH, 7.0)


def _add_labels(axis: Axes, fan: Fan, factor: float) -> None:
    """Say the date of the answer, and the names of points: the newest with its value, and records that have room."""
    span, (foot, top) = axis.get_xlim(), axis.get_ylim()
    wanted: list[Label] = []
    columns: list[float] = []
    if fan.answer is not None and span[0] <= (middle := fan.answer.quantiles[2]) <= span[1]:
        columns.append(middle)
        fine = fine_span(*span)
        told = "already" if fan.answer.already >= 0.5 else as_text(middle, fine=fine, short=True)
        wanted.append(Label([told], ((middle, top), (middle, foot)), size=7.0, over=2))
    line, (points, bands) = fan.lines[0], _occupied_areas(fan, factor)
    here = np.flatnonzero((line.dates >= span[0]) & (line.dates <= span[1]))
    known: set[str] = set()
    for rank, place in enumerate(notable(line.dates[here], line.values[here])):
        date, value = float(line.dates[here[place]]), float(line.values[here[place]])
        name = line.names[here[place]] if line.names else ""
        if name not in known and (name or not rank):
            called = [name, as_text(date)] if name else [as_text(date)]
            newest = [f"{each}{between}{amount(value, fan.unit)}" for each in called for between in (": ", "\n")]
            wanted.append(Label([name] if rank else newest, ((date, value / factor),), over=0 if rank else 1))
        known.add(name)
    rows = [] if fan.threshold is None else [fan.threshold / factor]
    place_labels(axis, wanted, OccupiedAreas(points, bands, rows, columns), _MAX_NAMED_POINTS + len(columns))


def _occupied_areas(fan: Fan, factor: float) -> tuple[Array, list[Band]]:
    """Return what a panel shows, as no label may lie on it: points, and bands with the lines in their middle."""
    points, bands = [np.empty((0, 2))], []
    for line in fan.lines:
        points.append(np.column_stack([line.dates, line.values / factor]))
        dates, levels = line.with_past(fan.years)
        bands.append(Band(dates, *(levels[[0, 2, 4]] / factor)))
    return np.concatenate(points), bands


# --- Labels -----------------------------------------------------------------------------------------------------------
# Labels beside points: as many as fit, measured on their boxes, on no data and on no other label.


Box = tuple[float, float, float, float]

#: From left to right, and from foot to top, in pixels.


#: Points of a page: how far from what it names a label begins, and in which direction; the best first.
_NEAR_POINTS, _FAR_POINTS = 3.0, 8.0
_DIRECTIONS = ((-1, 1), (1, -1), (-1, -1), (1, 1), (-1, 0), (1, 0), (0, 1), (0, -1))
_OFFSETS = [
    (x * far / math.hypot(x, y), y * far / math.hypot(x, y))
    for far in (_NEAR_POINTS, _FAR_POINTS)
    for x, y in _DIRECTIONS
]
#: Pixels between a label and what lies beside it.
_CLEARANCE_PIXELS = 1.5


class Label(NamedTuple):
    """A text, or others in its place, and the places that it may stand beside, in units of the data.

    `over` says what it may lie on where nothing is free: 0 nothing, it is left out then; 1 bands; 2 all but labels.
    """

    texts: Sequence[str]
    beside: Sequence[tuple[float, float]]
    size: float = 6.0
    over: int = 0


class Band(NamedTuple):
    """A band over time, and the line in it."""

    dates: Array
    low: Array
    middle: Array
    high: Array


class OccupiedAreas(NamedTuple):
    """What is drawn, in units of the data: points, (point, 2), bands, and lines across the panel and up through it."""

    points: Array
    bands: Sequence[Band] = ()
    rows: Sequence[float] = ()
    columns: Sequence[float] = ()


def place_labels(axis: Axes, wanted: Sequence[Label], taken: OccupiedAreas, most: int) -> None:
    """Write so many of the labels as fit, the first first.

    The figure must have been laid out: what is measured is where it will be.
    """
    sheet = _LabelCanvas(axis, taken)
    for label in wanted:
        if most and sheet.write(label):
            most -= 1


class _LabelCanvas:
    """A panel in pixels, and what is taken of it."""

    def __init__(self, axis: Axes, taken: OccupiedAreas) -> None:
        self.axis, self.inside = axis, axis.get_window_extent()
        self.boxes: list[Box] = []
        self.points = self._pixels(*taken.points.T)
        self.lines = [self._pixels(band.dates, band.middle) for band in taken.bands]
        self.bands = [(self._pixels(b.dates, b.low), self._pixels(b.dates, b.high)) for b in taken.bands]
        self.rows = [float(self._pixels(axis.get_xlim()[:1], [row])[0, 1]) for row in taken.rows]
        self.columns = [float(self._pixels([column], axis.get_ylim()[:1])[0, 0]) for column in taken.columns]

    def _pixels(self, x: Any, y: Any) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):  # no logarithm: below the panel
            places = self.axis.transData.transform(np.column_stack([x, y]))
        return np.asarray(np.nan_to_num(places, neginf=-1e9, posinf=1e9))

    def write(self, label: Label) -> bool:
        """Write a label at the first place that is free; tell whether there is one."""
        text = self.axis.annotate("", label.beside[0], xytext=(0, 0), textcoords="offset points", fontsize=label.size,
                                  linespacing=1.0)  # fmt: skip
        text.set_in_layout(False)
        sizes = {}
        for told in label.texts:
            text.set_text(told)
            sizes[told] = text.get_window_extent().size
        for over, told, at, (across, up) in product(range(label.over + 1), label.texts, label.beside, _OFFSETS):
            if self._free(box := self._box(at, across, up, *sizes[told]), over):
                text.set_text(told)
                text.xy = at
                text.set_position((across, up))
                text.set_horizontalalignment("right" if across < 0 else "left" if across else "center")
                text.set_verticalalignment("top" if up < 0 else "bottom" if up else "center")
                self.boxes.append(box)
                self._lead(at, (across, up))
                return True
        text.remove()
        return False

    def _box(self, at: tuple[float, float], across: float, up: float, width: float, height: float) -> Box:
        """Return where a text of this size stands that begins so many points of a page away from a place."""
        figure = self.axis.get_figure(root=True)
        assert figure is not None
        x, y = self._pixels(*([each] for each in at))[0] + np.array([across, up]) * figure.dpi / 72
        left = x - (width if across < 0 else 0.0 if across else width / 2)
        foot = y - (height if up < 0 else 0.0 if up else height / 2)
        room = _CLEARANCE_PIXELS
        return left - room, foot - room, left + width + room, foot + height + room

    def _lead(self, at: tuple[float, float], to: tuple[float, float]) -> None:
        """Draw a thin line to a label that does not touch what it names."""
        if math.hypot(*to) > _NEAR_POINTS + 1:
            line = {"arrowstyle": "-", "linewidth": 0.4, "color": plot_style.GREY, "shrinkA": 0.0, "shrinkB": 1.2}
            self.axis.annotate("", at, xytext=to, textcoords="offset points", arrowprops=line).set_in_layout(False)

    def _free(self, box: Box, over: int) -> bool:
        """Tell whether nothing lies here that may not."""
        x0, y0, x1, y1 = box
        own = self.inside
        if x0 < own.x0 or x1 > own.x1 or y0 < own.y0 or y1 > own.y1 + _CLEARANCE_PIXELS:
            return False
        if any(x0 < other[2] and other[0] < x1 and y0 < other[3] and other[1] < y1 for other in self.boxes):
            return False
        if any(x0 < column < x1 for column in self.columns):
            return False
        if over > 1:
            return True
        x, y = self.points.T
        if ((x0 < x) & (x < x1) & (y0 < y) & (y < y1)).any() or any(y0 < row < y1 for row in self.rows):
            return False
        drawn = [(line, line) for line in self.lines] + (self.bands if not over else [])
        return not any(_is_band_in_box(low, high, box) for low, high in drawn)


def _is_band_in_box(low: Array, high: Array, box: Box) -> bool:
    """Tell whether a band, or a line where both are one, meets a box."""
    x0, y0, x1, y1 = box
    inner = low[(low[:, 0] > x0) & (low[:, 0] < x1), 0]
    along = np.unique(np.clip([x0, *inner, x1], low[0, 0], low[-1, 0]))
    if along[-1] < x0 or along[0] > x1 or (len(along) < 2 and not x0 < along[0] < x1):
        return False
    below, above = (np.interp(along, edge[:, 0], edge[:, 1]) for edge in (low, high))
    # between two places it may pass from under the box to above it
    least = np.minimum(below[:-1], below[1:]) if len(along) > 1 else below
    most = np.maximum(above[:-1], above[1:]) if len(along) > 1 else above
    return bool(((least < y1) & (most > y0)).any())
