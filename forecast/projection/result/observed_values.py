"""What was observed of the quantities of an answer, and what it stands at today: by their newest observations."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast import units
from forecast.base.dates import decimal_year
from forecast.base.lazy import xr
from forecast.errors import FormulaError
from forecast.formula import Comparison, Formula, parse_expression, tree

if TYPE_CHECKING:
    from forecast.projection.result.projected_answers import ProjectedAnswer

Array = NDArray[np.float64]

__all__ = ["Standing", "keeps_records", "observed", "standing"]


@dataclass(frozen=True, kw_only=True)
class Standing:
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
    """

    of: str
    value: float
    unit: str
    date: str
    row: str = ""


def observed(
    answer: ProjectedAnswer, name: str, unit: str, chosen: Mapping[str, str]
) -> tuple[Array, Array, list[str]]:
    """Return what was observed of a quantity under values of choices: dates as years, values, and names.

    Of rivals that are not chosen those count that weigh most. What is a formula of one observed quantity, and else of
    numbers that are the same in every world, was observed with it.
    """
    if f"observed/{name}" not in answer.run:
        return _through_formula(answer, name, unit, chosen)
    seen = answer.run[f"observed/{name}"].to_dataset()
    keep = _of_choices(seen, answer, chosen)
    values = units.convert(seen["value"].values[keep], str(seen["value"].attrs["units"]), unit)
    names = [str(each) for each in seen["row"].values[keep]] if "row" in seen else []
    return decimal_year(seen["date"].values[keep]), np.asarray(values, dtype=float), names


def _through_formula(
    answer: ProjectedAnswer, name: str, unit: str, chosen: Mapping[str, str]
) -> tuple[Array, Array, list[str]]:
    """Return what was observed of a formula, or of the quantity that the scenario states as one."""
    nothing: tuple[Array, Array, list[str]] = np.empty(0), np.empty(0), []
    quantities, text = answer.run.quantities, name
    if name in quantities:
        text = _stated_formula(answer, name)
    if not text or "{" in text:
        return nothing  # what it is differs along a choice
    formula = parse_expression(text)
    if any(each not in quantities for each in formula.names):
        return nothing
    fixed = {each: value for each in formula.names if (value := _fixed(answer, each)) is not None}
    moving = [each for each in formula.names if each not in fixed]
    if len(moving) != 1:
        return nothing
    dates, values, names = observed(answer, moving[0], quantities[moving[0]].unit, chosen)
    if not dates.size:
        return nothing
    its_units = {each: quantities[each].unit for each in formula.names}
    try:
        with np.errstate(all="ignore"):
            found = units.evaluate(formula, {**fixed, moving[0]: values}, its_units, target=unit)
    except FormulaError:  # it is of a path over time: what something grows by, say
        return nothing
    return dates, np.asarray(found, dtype=float), names


def _stated_formula(answer: ProjectedAnswer, name: str) -> str:
    """Return the formula by which the scenario states a quantity; empty where it does not, or where it was replaced."""
    run = answer.run
    if name in run.settings.set or name in run.settings.swap:
        return ""
    try:
        stated = tomllib.loads(run.scenario_text).get("quantities", {}).get(name, {})
    except (tomllib.TOMLDecodeError, AttributeError):  # a file that somebody changed
        return ""
    plain = isinstance(stated, dict) and not set(stated) - {"expression", "unit", "qualifiers"}
    return str(stated.get("expression", "")) if plain else ""


def standing(answer: ProjectedAnswer) -> Standing | None:
    """Return what a question is about as it was last observed; None where nobody observes it.

    Of a comparison it is the side that is observed, the left one of two. A running record stands at the best so far;
    any other series at its newest value. A number that is the same in every world counts as observed.
    """
    if answer.kind not in ("when", "value") or getattr(answer, "growth", False):
        return None
    if "{" in answer.text:
        return None  # what it asks for differs along what is swept
    root = parse_expression(answer.text).root
    sides = (root.left, root.right) if isinstance(root, Comparison) else (root,)
    for side in sides:
        formula = Formula(side)
        if not tree.constant(side) and (found := _of_formula(answer, formula)) is not None:
            return found
    return None


def _of_formula(answer: ProjectedAnswer, formula: Formula) -> Standing | None:
    newest: dict[str, tuple[float, str, str]] = {}
    fixed: dict[str, float] = {}
    quantities = answer.run.quantities
    for name in formula.names:
        if name not in quantities:
            return None  # time itself, a choice, or a quantity that was not kept
        if (point := _newest(answer, name)) is not None:
            newest[name] = point
        elif (value := _fixed(answer, name)) is not None:
            fixed[name] = value
        else:
            return None
    if not newest:
        return None
    known = {**fixed, **{name: point[0] for name, point in newest.items()}}
    its_units = {name: quantities[name].unit for name in known}
    unit = answer.unit if answer.kind == "value" else units.infer(formula, its_units)
    value = float(units.evaluate(formula, known, its_units, target=unit))
    _, date, row = max(newest.values(), key=lambda point: point[1])
    alone = len(newest) == 1
    return Standing(of=formula.text, value=value, unit=unit, date=date, row=row if alone else "")


def _newest(answer: ProjectedAnswer, name: str) -> tuple[float, str, str] | None:
    """Return value, date and name of the newest observation of a quantity, or of the record where it keeps one."""
    if f"observed/{name}" not in answer.run:
        return None
    seen = answer.run[f"observed/{name}"].to_dataset()
    places = np.flatnonzero(_of_choices(seen, answer, answer.default))
    values, dates = seen["value"].values[places], seen["date"].values[places]
    known = np.isfinite(values)
    places, values, dates = places[known], values[known], dates[known]
    if not places.size:
        return None
    order = np.lexsort((values, dates))
    last = int(order[-1])
    if keeps_records(answer, name):
        fell = values[last] < np.median(values)
        last = int(np.argmin(values) if fell else np.argmax(values))
    row = str(seen["row"].values[places[last]]) if "row" in seen else ""
    return float(values[last]), str(dates[last].astype("datetime64[D]")), row


def keeps_records(answer: ProjectedAnswer, name: str) -> bool:
    """Tell whether a quantity is a running record, or is observed as one."""
    if f"past/{name}" not in answer.run:
        seen = answer.run[f"observed/{name}"].to_dataset() if f"observed/{name}" in answer.run else {}
        return bool(seen) and seen["value"].attrs.get("keeps") == "frontier"
    return answer.run[f"past/{name}"].to_dataset()["level"].attrs.get("keeps") == "frontier"


def _fixed(answer: ProjectedAnswer, name: str) -> float | None:
    """Return a quantity that is one number in all worlds and at all steps."""
    worlds = answer.run.quantities[name].worlds
    if worlds.dtype.kind != "f":
        return None
    values = worlds.values
    return float(values.flat[0]) if values.size and (values == values.flat[0]).all() else None


def _of_choices(seen: xr.Dataset, answer: ProjectedAnswer, chosen: Mapping[str, str]) -> NDArray[np.bool_]:
    """Return which points are those under values of choices; of rivals those of the one that weighs most."""
    keep = np.ones(seen.sizes["point"], dtype=bool)
    for choice in (str(c) for c in seen.coords if c != "date"):
        weights = answer.rivals.get(choice)
        heaviest = answer.values(choice)[int(np.argmax(weights))] if weights and choice in answer.choices else None
        value = chosen.get(choice, heaviest)
        keep &= seen[choice].values == (seen[choice].values[0] if value is None else value)
    return keep
