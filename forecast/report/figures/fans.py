"""Trajectories: what was observed, the median and the 50 and 90 % bands, what is to be reached, and when it is."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import units
from forecast.base import paper
from forecast.base.dates import decimal_year
from forecast.errors import ForecastError, printable
from forecast.formula import Formula, Measured, parse_condition, parse_expression
from forecast.projection.answers.pooling import pooled
from forecast.projection.weights import level_quantiles, weights_of
from forecast.report.headline import Words
from forecast.report.plain import attribute
from forecast.report.spreads import Asked, Figure, Question, Spread
from forecast.report.words.dates import FINE, said
from forecast.report.words.numbers import amount, scale_of

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["Fan", "Line", "fans", "lines_over_time"]

#: What lies beyond is drawn here: an axis needs room above its highest value.
_LARGEST = 1e200
#: A path of fewer steps is no trajectory.
_FEWEST = 3
#: A band reaches at most so far beyond the medians and the points, as a share of their span.
_BEYOND = 0.35
#: A value axis is logarithmic where it spans more than this factor; beyond so many decades units take no prefix.
_FACTOR, _DECADES = 20.0, 6.0


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
    """

    label: str
    levels: Array
    dates: Array = field(default_factory=lambda: np.empty(0))
    values: Array = field(default_factory=lambda: np.empty(0))


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
    answer : Spread or None
        When it is reached.
    """

    title: str
    years: Array
    lines: tuple[Line, ...]
    unit: str
    threshold: float | None = None
    threshold_label: str = ""
    answer: Spread | None = None

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
        log = bool(wide.min() > 0 and max(near.max() / near.min(), np.nanmax(middle) / np.nanmin(middle)) > _FACTOR)
        if log:
            near, wide = np.log10(near), np.log10(wide)
        low, high = _cut(near, wide)
        return (10.0**low, 10.0**high, True) if log else (low, high, False)


def _cut(near: Array, wide: Array) -> tuple[float, float]:
    low, high = float(near.min()), float(near.max())
    span = (high - low) or abs(high) or 1.0
    low, high = max(float(wide.min()), low - _BEYOND * span), min(float(wide.max()), high + _BEYOND * span)
    room = 0.06 * ((high - low) or abs(high) or 1.0)
    return low - room, high + 2.5 * room  # the date stands on top


def fans(tree: xr.DataTree, name: str, kind: str, most: int) -> list[Fan]:
    """Return the panels of a question or a value: one for each of its definitions, as far as `most` panels hold them.

    Rivals are pooled by their weights. Empty where nothing of it is a number over time.
    """
    asked = Question(tree, name) if kind == "when" else Figure(tree, name)
    own = list(_chosen(asked, most))
    return [made for chosen in own if (made := _fan(tree, asked, kind, chosen, alone=len(own) == 1)) is not None]


def _chosen(asked: Asked, most: int) -> Iterator[dict[str, str]]:
    """Walk the choices of each panel; a choice of too many values stays at that of the sentence."""
    free = [d for d in asked.choices if d not in asked.rivals]
    default = {d: asked.default.get(d, asked.values(d)[0]) for d in free}
    along: list[str] = []
    for choice in free:
        if math.prod(len(asked.values(d)) for d in (*along, choice)) <= most:
            along.append(choice)
    for values in itertools.product(*(asked.values(d) for d in along)):
        yield {**default, **dict(zip(along, values, strict=True))}


def _fan(tree: xr.DataTree, asked: Asked, kind: str, chosen: dict[str, str], *, alone: bool) -> Fan | None:
    words = Words(tree)
    kept = tree["projection"].to_dataset()
    years = decimal_year(kept["time"].values)
    try:
        unit, sides = _when_sides(tree, asked.name) if kind == "when" else _value_side(tree, asked.name)
    except ForecastError:  # what is asked is no formula of levels: of a path's own past, say
        return None
    threshold, told = None, ""
    lines: list[Line] = []
    for side in sides:
        if not side.names:
            threshold = float(units.evaluate(side, {}, {}, target=unit))
            told = amount(threshold, unit, 4)
            continue
        levels = _levels(tree, side, unit, chosen, asked)
        if levels is None or not np.isfinite(levels).any():
            return None
        if kind == "when" and lines and (levels == levels.flat[0]).all():
            threshold = float(levels.flat[0])
            told = f"{words(side.text)}: {amount(threshold, unit)}"
            continue
        seen = _seen(tree, side.text, unit, chosen, asked)
        label = words(side.text) if len(side.names) == 1 else printable(side.text, 40)
        lines.append(Line(label=label, levels=levels, dates=seen[0], values=seen[1]))
    if not lines or len(years) < _FEWEST or all((each.levels == each.levels[:, :1]).all() for each in lines):
        return None
    answer = asked.spread(chosen) if kind == "when" else None
    title = lines[0].label if alone else ", ".join(words(value) for value in chosen.values() if value)
    return Fan(
        title=title, years=years, lines=tuple(lines), unit=unit, threshold=threshold, threshold_label=told,
        answer=answer,
    )  # fmt: skip


def _units_of(tree: xr.DataTree, names: Sequence[str]) -> dict[str, str]:
    kept = tree["projection"].to_dataset()
    known = {
        n: str(kept[n].attrs["units"]) for n in names if n in kept.data_vars and kept[n].attrs.get("kind") != "regime"
    }
    if missing := [n for n in names if n not in known]:
        raise ForecastError(f"'{printable(missing[0], 60)}' is no level")
    return known


def _when_sides(tree: xr.DataTree, name: str) -> tuple[str, list[Formula]]:
    """Return the unit of a question, and its sides: the greater one leads."""
    # the number of a choice is a name here
    when = parse_condition(re.sub("[{}]", "", attribute(tree, "questions")[name]["when"]))
    found = units.sides(when, _units_of(tree, when.names))
    sides = [found.left, found.right] if ">" in when.op else [found.right, found.left]
    if not sides[0].names or _still(tree, sides[0]):  # what moves leads
        sides.reverse()
    stated = sides[1].root  # the unit in which it was asked is that of people
    if isinstance(stated, Measured):
        return stated.unit, sides
    named = (
        str(tree["projection"].to_dataset()[sides[0].text].attrs["units"])
        if sides[0].names == (sides[0].text,)
        else found.unit
    )
    return named if units.same_dimension(named, found.unit) else found.unit, sides


def _still(tree: xr.DataTree, side: Formula) -> bool:
    kept = tree["projection"].to_dataset()
    return all(bool((kept[n] == kept[n].isel(time=0)).all()) for n in side.names)


def _value_side(tree: xr.DataTree, name: str) -> tuple[str, list[Formula]]:
    side = parse_expression(re.sub("[{}]", "", attribute(tree, "values")[name].get("value") or ""))
    return units.infer(side, _units_of(tree, side.names)), [side]


def _levels(tree: xr.DataTree, side: Formula, unit: str, chosen: Mapping[str, str], asked: Asked) -> Array | None:
    """Return the quantiles of a formula of quantities, rivals pooled, (quantile, time)."""
    kept, seed = tree["projection"].to_dataset(), attribute(tree, "seed")
    known: dict[str, Any] = {}
    for name in side.names:
        own = kept[name].sel({d: v for d, v in chosen.items() if d in kept[name].dims})
        drawn = pooled(own, asked.rivals, seed=seed)
        if set(drawn.dims) - {"draw", "time"}:
            return None
        known[name] = drawn.transpose("draw", "time").values
    values = np.asarray(units.evaluate(side, known, _units_of(tree, side.names), target=unit), dtype=float)
    weights = weights_of(tree)
    if weights is None:
        return level_quantiles(np.clip(values, -_LARGEST, _LARGEST), None)
    own = weights.sel({d: v for d, v in chosen.items() if d in weights.dims})
    counted = pooled(own, asked.rivals, seed=seed)
    if set(counted.dims) != {"draw"}:
        return None
    return level_quantiles(np.clip(values, -_LARGEST, _LARGEST), np.asarray(counted.values))


def _seen(tree: xr.DataTree, name: str, unit: str, chosen: Mapping[str, str], asked: Asked) -> tuple[Array, Array]:
    """Return what was observed of a quantity: dates and values; of rivals that weigh most."""
    if f"/observed/{name}" not in tree.groups:
        return np.empty(0), np.empty(0)
    seen = tree[f"observed/{name}"].to_dataset()
    keep = np.ones(seen.sizes["point"], dtype=bool)
    for choice in (str(c) for c in seen.coords if c != "date"):
        weights = asked.rivals.get(choice)
        heaviest = asked.values(choice)[int(np.argmax(weights))] if weights and choice in asked.choices else None
        value = chosen.get(choice, heaviest)
        keep &= seen[choice].values == (seen[choice].values[0] if value is None else value)
    values = units.convert(seen["value"].values[keep], str(seen["value"].attrs["units"]), unit)
    return decimal_year(seen["date"].values[keep]), np.asarray(values, dtype=float)


def lines_over_time(tree: xr.DataTree, names: Sequence[str], cells: Any, most: int) -> list[Fan]:
    """Return a panel for each of some quantities, where no question is asked of them."""
    from forecast.report.levels import Levels

    levels, words, made = Levels(tree), Words(tree), []
    years = decimal_year(levels.kept["time"].values)
    if len(years) < _FEWEST:
        return []
    for name in names:
        for cell in cells(name):
            path = np.clip(levels.quantiles(name, cell), -_LARGEST, _LARGEST)
            if np.isnan(path).all():
                continue
            given = words.given(cell)
            line = Line(label=words(name), levels=path)
            unit = str(levels.kept[name].attrs["units"])
            title = f"{words(name)}{f' ({given})' if given else ''}"
            made.append(Fan(title=title, years=years, lines=(line,), unit=unit))
    return made[:most]


# --- Drawing ----------------------------------------------------------------------------------------------------------


def draw(axis: Axes, fan: Fan, *, span: tuple[float, float], window: tuple[float, float, bool]) -> None:
    """Draw one panel over these dates and values."""
    low, high, log = window
    middle = math.sqrt(low) * math.sqrt(high) if log else max(abs(low), abs(high))
    factor, unit = scale_of([1e300 if log and math.log10(high / low) > _DECADES else middle], fan.unit)
    for place, line in enumerate(fan.lines):
        _draw_line(axis, fan.years, line, place, factor)
    _name_newest(axis, fan, span, factor)
    axis.set(xlim=span, ylim=(low / factor, high / factor))
    if log:
        axis.set_yscale("log")
        axis.set_ylim(low / factor, high / factor)
        paper.spread(axis.yaxis)
    else:
        from matplotlib.ticker import MaxNLocator

        axis.yaxis.set_major_locator(MaxNLocator(nbins=5))
        axis.yaxis.set_major_formatter(lambda value, _: paper.number(value))
    if fan.threshold is not None and low <= fan.threshold <= high:
        axis.axhline(
            fan.threshold / factor, color=paper.COLOURS[1], linestyle="--", linewidth=1.1, label=fan.threshold_label
        )
    if fan.answer is not None:
        _draw_answer(axis, fan.answer, span)
    paper.years(axis.xaxis)
    axis.grid(color="#e4e4e4", linewidth=0.5)
    axis.set_ylabel(printable(unit, 40))
    if fan.title:
        axis.set_title(printable(fan.title, 60))


def _draw_line(axis: Axes, years: Array, line: Line, place: int, factor: float) -> None:
    colour, style = paper.COLOURS[place % len(paper.COLOURS)], paper.LINES[place % len(paper.LINES)]
    p05, p25, p50, p75, p95 = line.levels / factor
    for low, high, alpha in ((p05, p95, 0.16), (p25, p75, 0.28)):
        axis.fill_between(years, low, high, color=colour, alpha=alpha, linewidth=0)
    axis.plot(years, p50, linestyle=style, color=colour, label=line.label)
    if line.dates.size:
        axis.plot(line.dates, line.values / factor, "o", color=paper.BLACK, ms=2.2, mew=0, alpha=0.6, zorder=3,
                  label="observed")  # fmt: skip


def _name_newest(axis: Axes, fan: Fan, span: tuple[float, float], factor: float) -> None:
    """Say what was observed last, beside its point, on the side where there are no others."""
    line = fan.lines[0]
    here = (line.dates >= span[0]) & (line.dates <= span[1])
    if not here.any():
        return
    dates, values = line.dates[here], line.values[here]
    last = int(np.argmax(dates))
    falling = values[last] < np.median(values)
    told = f"{said(float(dates[last]))}: {amount(float(values[last]), fan.unit)}"
    # before the point where the panel has room there, else behind it: neither is where the path goes
    before = dates[last] - span[0] > 0.45 * (span[1] - span[0])
    above = before != falling
    axis.annotate(told, (dates[last], values[last] / factor), xytext=(-3 if before else 3, 4 if above else -4),
                  fontsize=6, textcoords="offset points", ha="right" if before else "left",
                  va="bottom" if above else "top")  # fmt: skip


def _draw_answer(axis: Axes, answer: Spread, span: tuple[float, float]) -> None:
    """Mark the median date, and what holds 90 % of it, at the foot of the panel."""
    low, _, middle, _, high = answer.quantiles
    foot = axis.get_xaxis_transform()
    if math.isfinite(low) and answer.medians is None:
        axis.plot([low, min(high, span[1])], [0.0, 0.0], color=paper.BLACK, linewidth=3, transform=foot,
                  solid_capstyle="butt", zorder=5, label="90 % of dates")  # fmt: skip
    if math.isfinite(middle) and span[0] <= middle <= span[1]:
        axis.axvline(middle, color=paper.BLACK, linestyle=":", linewidth=1.0, label="median date")
        right = middle > (span[0] + span[1]) / 2
        fine = span[1] - span[0] < 3 * FINE
        told = "already" if answer.already >= 0.5 else said(middle, fine=fine, short=True)
        axis.annotate(told, (middle, 1.0), xycoords=foot, xytext=(-3 if right else 3, -1), textcoords="offset points",
                      ha="right" if right else "left", va="top", fontsize=7)  # fmt: skip
