"""What was observed of the quantities of an answer, and what it stands at today: by their newest observations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from forecast import units
from forecast.base.arrays import Array, BoolArray
from forecast.base.dates import decimal_year, iso_date
from forecast.base.lazy import xr
from forecast.errors import ForecastError, FormulaError
from forecast.formula import Comparison, Formula, Measured, Name, parse_condition, parse_expression, tree
from forecast.formula.tree import COMPARISON_FUNCTIONS, MIRRORED_OPERATORS, Call
from forecast.projection.result.projected_answers import ProjectedAnswer

#: Expressions of expressions that are followed to what is observed.
_MAX_DEPTH = 8


@dataclass(frozen=True, kw_only=True)
class LastObservation:
    """What an answer is about, as it was last observed.

    Parameters
    ----------
    of : str
        The formula.
    value : float
    unit : str
    date : str
        Of the newest observation behind it, ISO.
    row : str
        What that observation is called; empty where it has no name, and where several stand behind the value.
    stands : bool
        It is the best so far of what keeps its records, and has stood since that date.
    """

    of: str
    value: float
    unit: str
    date: str
    row: str = ""
    stands: bool = False


def observed_points(
    answer: ProjectedAnswer, name: str, unit: str, chosen: Mapping[str, str]
) -> tuple[Array, Array, list[str]]:
    """Return what was observed of a quantity under values of choices: dates as years, values, and names.

    Of rivals that are not chosen those count that weigh most. What is a formula of one observed quantity, and else of
    numbers that are the same in every world, was observed with it.
    """
    if f"observed/{name}" not in answer.run:
        return _through_formula(answer, name, unit, chosen)
    seen = answer.run.dataset(f"observed/{name}")
    keep = of_choices(seen, answer, chosen)
    values = units.convert(seen["value"].values[keep], str(seen["value"].attrs["units"]), unit)
    names = [str(each) for each in seen["row"].values[keep]] if "row" in seen else []
    return decimal_year(seen["date"].values[keep]), np.asarray(values, dtype=float), names


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """The level that a question waits for: ``horizon >= goal``, with the side that moves first.

    Parameters
    ----------
    of : str
        The formula of the side that moves.
    op : str
        That of the comparison with this side on the left.
    value : float
        The level.
    unit : str
        In which the sides are compared.
    stated : str
        In which the level is stated: ``hour`` of ``horizon >= 167 hour``, where the horizon is in minutes.
    """

    of: str
    op: str
    value: float
    unit: str
    stated: str

    def met(self, value: float, unit: str) -> bool:
        """Tell whether a value of that side meets it."""
        own = float(units.convert(np.array(value), unit, self.unit))
        return bool(COMPARISON_FUNCTIONS[self.op](own, self.value))


def threshold(answer: ProjectedAnswer) -> Threshold | None:
    """Return the level that a question waits for; None where neither side is one number in every world."""
    if answer.kind != "when" or "{" in answer.text:
        return None
    condition = parse_condition(answer.text)
    quantities = answer.run.quantities
    if condition.op not in MIRRORED_OPERATORS or any(name not in answer.run.numeric for name in condition.names):
        return None
    sides = units.sides(condition, its_units := {name: quantities[name].unit for name in condition.names})
    for of, level, op in (
        (sides.left, sides.right, condition.op), (sides.right, sides.left, MIRRORED_OPERATORS[condition.op]),
    ):  # fmt: skip
        known = {name: quantities[name].fixed for name in level.names}
        if not tree.constant(of.root) and None not in known.values():
            value = units.value_of(level, known, its_units, target=sides.unit, rates=sides.rates)
            root = level.root
            stated = (
                root.unit if isinstance(root, Measured) else
                its_units[root.name] if isinstance(root, Name) else sides.unit
            )  # fmt: skip
            return Threshold(of=of.text, op=op, value=float(np.asarray(value).flat[0]), unit=sides.unit, stated=stated)
    return None


def share_met_by_rows(answer: ProjectedAnswer, chosen: Mapping[str, str]) -> float:
    """Return in what share of the worlds in which it is so at the first step the newest rows meet the world's level.

    What nobody observes is met there, unless that comes after all rows; what is so before the newest row is met, too.
    """
    run, last = answer.run, last_observation(answer, chosen)
    if "time" not in run.worlds:  # none is kept, and nothing is known of their steps
        return 1.0
    start = run.span[0]
    if last is None or last.date > iso_date(start) or not {*parse_condition(answer.text).names} <= {*run.numeric}:
        return float(not run.newest or max(run.newest.values()) >= iso_date(start))
    condition = parse_condition(answer.text)
    at_start = {name: _first_levels(answer, name, chosen) for name in condition.names}
    found = units.sides(condition, its_units := {name: run.quantities[name].unit for name in at_start})
    row = units.convert(np.array(last.value), last.unit, found.unit)
    left, right = (
        row if side.text == last.of else
        units.value_of(side, {n: at_start[n] for n in side.names}, its_units, target=found.unit, rates=found.rates)
        for side in (found.left, found.right)
    )  # fmt: skip
    dates, weights = answer.pooled_draws(chosen)
    counts = (dates <= start) * (1.0 if weights is None else weights)
    return float((counts * COMPARISON_FUNCTIONS[condition.op](left, right)).sum() / max(counts.sum(), 1e-300))


def _first_levels(answer: ProjectedAnswer, name: str, chosen: Mapping[str, str]) -> Array:
    """Return a quantity at the first step as `_pooled_level` has it: as xarray selects it, for a part of its cost."""
    run, data = answer.run, answer.run.worlds.variables
    path, worlds = data[name], data[name].sizes["draw"]
    pooled = [d for d in map(str, path.dims) if d in run.rivals and d not in chosen]
    places: dict[str, Any] = {"time": 0, "draw": np.arange(worlds) if pooled else slice(None)}
    places |= {c: data[c].values.tolist().index(value) for c, value in chosen.items() if c in path.dims}
    places |= {choice: run.rival_of_draw(choice, worlds) for choice in pooled}
    return np.asarray(path.values[tuple(places.get(str(d), slice(None)) for d in path.dims)])


def _pooled_level(path: xr.DataArray, answer: ProjectedAnswer, chosen: Mapping[str, str]) -> xr.DataArray:
    """Return a quantity under values of choices, in every world with one rival of each choice that is pooled."""
    own = {choice: value for choice, value in chosen.items() if choice in path.dims}
    return answer.run.pooled(path.sel(own), [each for each in answer.run.rivals if each not in own])


def _through_formula(
    answer: ProjectedAnswer, name: str, unit: str, chosen: Mapping[str, str]
) -> tuple[Array, Array, list[str]]:
    """Return what was observed of a formula, or of the quantity that the scenario states as one."""
    nothing: tuple[Array, Array, list[str]] = np.empty(0), np.empty(0), []
    quantities, text = answer.run.quantities, name
    if name in quantities:
        text = answer.run.expressions.get(name, "")
    moving = _uncertain_quantity(answer, text)
    if not moving:
        return nothing
    formula = parse_expression(text)
    fixed = {each: value for each in formula.names if (value := quantities[each].fixed) is not None}
    dates, values, names = observed_points(answer, moving, quantities[moving].unit, chosen)
    if not dates.size:
        return nothing
    its_units = {each: quantities[each].unit for each in formula.names}
    try:
        with np.errstate(all="ignore"):
            found = units.value_of(formula, {**fixed, moving: values}, its_units, target=unit)
    except FormulaError:  # it is of a path over time: what something grows by, say
        return nothing
    return dates, np.asarray(found, dtype=float), names


def _uncertain_quantity(answer: ProjectedAnswer, text: str) -> str:
    """Return the one quantity of a formula that is not the same number in every world; empty where there is not one."""
    if not text or "{" in text:
        return ""  # what it is differs along a choice
    names = parse_expression(text).names
    if any(each not in answer.run.quantities for each in names):
        return ""
    moving = [each for each in names if answer.run.quantities[each].fixed is None]
    return moving[0] if len(moving) == 1 else ""


def last_observation(answer: ProjectedAnswer, chosen: Mapping[str, str] | None = None) -> LastObservation | None:
    """Return what a question is about as it was last observed; None where nobody observes it.

    Of a comparison it is the side that is observed, the left one of two. A running record stands at the best so far;
    any other series at its newest value. A number that is the same in every world counts as observed, and so does what
    an expression makes of observed quantities. It is that under values of choices, by default those of the sentence.
    """
    chosen = answer.default if chosen is None else chosen
    for formula in _compared_formulas(answer):
        if not tree.constant(formula.root) and (found := _observation_of_formula(answer, formula, chosen)) is not None:
            return found
    return None


def _compared_formulas(answer: ProjectedAnswer) -> list[Formula]:
    """Return what a question compares, or is for; nothing of a growth, and of what differs along what is swept."""
    if answer.kind not in ("when", "value") or getattr(answer, "growth", False) or "{" in answer.text:
        return []
    root = parse_expression(answer.text).root
    return list(map(Formula, (root.left, root.right) if isinstance(root, Comparison) else (root,)))


def _observation_of_formula(
    answer: ProjectedAnswer, formula: Formula, chosen: Mapping[str, str], depth: int = _MAX_DEPTH
) -> LastObservation | None:
    newest: dict[str, tuple[float, str, str]] = {}
    fixed: dict[str, float] = {}
    quantities = answer.run.quantities
    for name in formula.names:
        if name not in quantities:
            return None  # time itself, a choice, or a quantity that was not kept
        if (point := _newest_observation(answer, name, chosen)) is not None:
            newest[name] = point
        elif (value := quantities[name].fixed) is not None:
            fixed[name] = value
        elif depth and (made := _observation_of_expression(answer, name, chosen, depth - 1)) is not None:
            newest[name] = made
        else:
            return None
    if not newest:
        return None
    known = {**fixed, **{name: point[0] for name, point in newest.items()}}
    its_units = {name: quantities[name].unit for name in known}
    unit = answer.unit if answer.kind == "value" else units.infer(formula, its_units)
    value = float(units.value_of(formula, known, its_units, target=unit))
    if isinstance(formula.root, Call) and formula.root.function in ("min", "max"):  # it is one of them
        newest = {name: point for name, point in newest.items() if point[0] == value} or newest
    _, date, row = max(newest.values(), key=lambda point: point[1])
    if len(newest) > 1:
        return LastObservation(of=formula.text, value=value, unit=unit, date=date)
    stands = keeps_records(answer, *newest)
    return LastObservation(of=formula.text, value=value, unit=unit, date=date, row=row, stands=stands)


def _observation_of_expression(
    answer: ProjectedAnswer, name: str, chosen: Mapping[str, str], depth: int
) -> tuple[float, str, str] | None:
    """Return what the expression of a quantity makes of observed ones, in its unit, with the date of the newest."""
    try:
        found = _observation_of_formula(answer, parse_expression(answer.run.expressions[name]), chosen, depth)
    except (ForecastError, KeyError):  # no expression, or one that looks back in time
        return None
    unit = answer.run.quantities[name].unit
    if found is None or not units.same_dimension(found.unit, unit):
        return None
    return float(units.convert(np.array(found.value), found.unit, unit)), found.date, found.row


def computed_median(
    answer: ProjectedAnswer, today: str = "", chosen: Mapping[str, str] | None = None
) -> LastObservation | None:
    """Return the median, under values of choices, of the quantity that a question is about, where nobody observes it.

    It is that of today, between two steps as dates are; of the first step where that lies ahead, or no day is given;
    and of the step before where a world is not positive.
    """
    chosen = answer.default if chosen is None else chosen
    run = answer.run
    day = min(max(np.datetime64(today or run.time[0], "s"), run.time[0]), run.time[-1])
    for name in (side.text for side in _compared_formulas(answer)):
        if name not in run.numeric or "time" not in run.worlds[name].dims:
            continue
        path = run.worlds[name]
        if bool((path > 0).all()) and day > run.time[0]:
            logs = path.copy(data=np.log(path.values)).interp(time=day)
            level = logs.copy(data=np.exp(logs.values))
        else:
            level = path.sel(time=day, method="ffill")
        pooled = _pooled_level(level, answer, chosen)
        if set(pooled.dims) == {"draw"} and np.isfinite(pooled.values).any():
            date, unit = str(day)[:10], run.quantities[name].unit
            return LastObservation(of=name, value=float(np.nanmedian(pooled.values)), unit=unit, date=date)
    return None


def _newest_observation(answer: ProjectedAnswer, name: str, chosen: Mapping[str, str]) -> tuple[float, str, str] | None:
    """Return value, date and name of the newest observation of a quantity, or of the record where it keeps one."""
    if f"observed/{name}" not in answer.run:
        return None
    seen = answer.run.dataset(f"observed/{name}")
    places = np.flatnonzero(of_choices(seen, answer, chosen))
    values, dates = seen["value"].values[places], seen["date"].values[places]
    known = np.isfinite(values)
    places, values, dates = places[known], values[known], dates[known]
    if not places.size:
        return None
    order = np.lexsort((values, dates))
    last = int(order[-1])
    if keeps_records(answer, name):
        _, at = np.unique(dates, return_inverse=True)
        # lower is better where no row is above those before it; the newest of all devices is often no record
        fell = bool((np.diff(np.bincount(at, values) / np.bincount(at)) <= 0).all())
        last = int(np.argmin(values) if fell else np.argmax(values))
    row = str(seen["row"].values[places[last]]) if "row" in seen else ""
    return float(values[last]), str(dates[last].astype("datetime64[D]")), row


def keeps_records(answer: ProjectedAnswer, name: str) -> bool:
    """Tell whether a quantity is a running record, is observed as one, or is a formula of one and of fixed numbers."""
    for group, variable in ((f"past/{name}", "level"), (f"observed/{name}", "value")):
        if group in answer.run:
            return answer.run.dataset(group)[variable].attrs.get("keeps") == "frontier"
    of = _uncertain_quantity(answer, answer.run.expressions.get(name, ""))
    return of not in ("", name) and keeps_records(answer, of)


def of_choices(observed: xr.Dataset, answer: ProjectedAnswer, chosen: Mapping[str, str]) -> BoolArray:
    """Return which points are those under values of choices; of rivals those of the one that weighs most."""
    keep = np.ones(observed.sizes["point"], dtype=bool)
    for choice in (str(c) for c in observed.coords if c != "date" and observed[c].dims == ("point",)):
        value = chosen.get(choice, answer.run.heaviest(choice) if choice in answer.choices else "")
        keep &= observed[choice].values == (value or observed[choice].values[0])
    return keep
