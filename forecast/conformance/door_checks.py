"""One quantity, one forecast, whichever door: what is held between scenarios, and between ``run`` and ``ask``.

- *doors*: what a quantity of a scenario forecasts for a quantity of the world is the same number in every scenario that
  has it, and the number that ``forecast ask`` tells.
- *bounds*: the forecast of a quantity, and each rival that is no rebuilt publication, lies within its bounds.
- *record*: what keeps its best so far does not fall below its last row within the 90 % interval.
- *relations*: in no world is a part above its whole, as the quantity's `at_most` states it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from forecast import units
from forecast.conformance.answer_checks import Breach
from forecast.contract.registry import get_registry
from forecast.contract.specs import QuantitySpec, RivalForecast
from forecast.errors import ForecastError, printable
from forecast.projection.engine import project
from forecast.projection.paths.run_cache import cache_of_process
from forecast.projection.result import Projection
from forecast.projection.result.observed_values import last_observation
from forecast.report.words.number_text import amount, percent
from forecast.scenarios.question_text import is_name, quantity_name, read_line, read_question
from forecast.scenarios.scenario import Scenario

DOOR_RULES = ("doors", "bounds", "record", "relations")
#: Dates at which doors are held to one another, where the forecast reaches them.
DATES = (2030, 2040)
#: Two orders of the same arithmetic, and two units.
DOOR_RTOL = 1e-9
#: What interpolation between steps may add to a part that is its whole.
RELATION_RTOL = 1e-6
#: Dates by which parts are held to their wholes.
RELATION_DATES = (2028, 2030, 2035, 2039)

Ends = NDArray[np.float64]


def door_breaches(spec: QuantitySpec, *, draws: int = 256, seed: int = 0) -> list[Breach]:
    """Return every number by which a quantity of the world contradicts itself.

    Parameters
    ----------
    spec : QuantitySpec
    draws, seed : int

    Examples
    --------
    >>> from forecast.contract.registry import get_registry
    >>> door_breaches(get_registry().find("quantity", "brain-power").spec, draws=64)
    []
    """
    if not spec.forecast:
        return []
    try:
        scenario = read_question(spec.name, shapes=())
        house = _run(scenario, draws, seed)
        own = _ends(house, spec)
        found = [*_out_of_bounds(spec, "its forecast", own), *_record_breaches(house, spec, own)]
        for door in (spec.forecast, *spec.also):
            head, dot, quantity = door.partition(".")
            if dot and not spec.settings and is_name(door):
                found += _rival_breaches(spec, door, own, _run(_value_scenario(head, quantity, scenario), draws, seed))
        for rival in spec.rivals:
            other = read_question(spec.name, shapes=(), rival=rival.name)
            found += _unlike(spec, rival, other)
            if any(key in each for each in other.stated["quantities"].values() for key in ("limit", "at_least")):
                found += _out_of_bounds(spec, f"the rival {rival.name}", _ends(_run(other, draws, seed), spec))
        for name, why in spec.at_most.items():
            if get_registry().find("quantity", name).spec.forecast:
                found += _whole_breaches(spec, name, why, draws, seed)
    except ForecastError as error:
        return [_breach("doors", spec, str(error))]
    return found


def _run(scenario: Scenario, draws: int, seed: int) -> Projection:
    return project(scenario, draws=draws, seed=seed, cache=cache_of_process())


def _value_scenario(head: str, quantity: str, like: Scenario) -> Scenario:
    """Return the scenario that asks a quantity of another one for its value, within the bounds that `like` has."""
    full = get_registry().find("scenario", head).full_name
    alias = quantity_name(head)
    until = Scenario.load(full).until
    wanted = next(iter(like.stated["questions"].values()))["dates"]
    dates = [date for date in wanted if until is None or date <= until] or [until]
    every = like.stated["quantities"].values()
    bounds = {key: each[key] for each in every for key in ("limit", "at_least") if key in each}
    stated = {"use": {alias: full}, "questions": {"door": {"value": "here", "dates": dates}}}
    stated |= {"quantities": {"here": {"expression": f"{alias}.{quantity}", **bounds}}}
    return Scenario.from_dict({"title": f"{head}.{quantity}", **stated}, name="door", where="door")


def _ends(run: Projection, spec: QuantitySpec) -> Ends:
    """Return the quantiles of the answer at each date, (date, quantile), in the quantity's unit."""
    told = [each.headline for answer in run.values for each in answer.at]
    rows = [each.quantiles for each in told if each is not None and each.medians is None]
    values = np.array(rows, dtype=float).reshape(-1, 5)
    return np.asarray(units.convert(values, run.values[0].unit, spec.unit, where=f"quantity '{spec.name}'"))


def _rival_breaches(spec: QuantitySpec, door: str, own: Ends, run: Projection) -> Iterator[Breach]:
    """Hold a quantity of a scenario, within the bounds of the quantity, to the forecast."""
    other = _ends(run, spec)
    if (own == own[:1]).all():  # it does not change with time, however far either scenario goes
        own, other = own[:1], other[:1]
    own = own[: len(other)]
    if not np.allclose(other, own, rtol=DOOR_RTOL, atol=0):
        at = np.unravel_index(np.abs(np.log(np.abs(other / own))).argmax(), own.shape)
        yield _breach(
            "doors", spec, f"{door} says {_text(other[at], spec)} where the forecast says {_text(own[at], spec)}"
        )


def _unlike(spec: QuantitySpec, rival: RivalForecast, other: Scenario) -> Iterator[Breach]:
    """Hold a rival that is asked by what it states to the rival that is asked by its name, and to its phrase."""
    for text in (rival.forecast, *rival.also):
        if get_registry().get("quantity", text) is not None:  # a model of that name is asked as the rival alone
            continue
        asked = read_line(text, settings=rival.settings)
        model, shape, _ = text.partition("@")
        alone = not rival.settings and (not shape or "/" in model) and get_registry().get("model", model) is not None
        one, two = (([*each.stated["quantities"].values()], each.stated.get("use")) for each in (asked.scenario, other))
        if one != two and not alone:  # a model is also asked alone, with its shapes
            yield _breach("doors", spec, f"{text} is read as another forecast than the rival {rival.name}, its own")
        elif rival.differs not in asked.read_as:
            yield _breach("doors", spec, f"{text} does not say that it is the rival {rival.name}")


def _out_of_bounds(spec: QuantitySpec, what: str, ends: Ends) -> Iterator[Breach]:
    low, high = spec.limits
    for bound, past, side in ((low, ends.min(initial=np.inf), "below"), (high, ends.max(initial=-np.inf), "above")):
        if bound is not None and (
            past < bound - abs(bound) * DOOR_RTOL if side == "below" else past > bound * (1 + DOOR_RTOL)
        ):
            yield _breach(
                "bounds", spec, f"{what} reaches {_text(past, spec)}, {side} its bound of {_text(bound, spec)}"
            )


def _record_breaches(run: Projection, spec: QuantitySpec, ends: Ends) -> Iterator[Breach]:
    last = last_observation(run.values[0]) if spec.keeps == "frontier" else None
    if last is not None:
        value = float(units.convert(last.value, run.values[0].unit, spec.unit, where=spec.name))
        worst = float(ends[:, -1].max() if spec.falls else ends[:, 0].min())
        if worst > value * (1 + 1e-3) if spec.falls else worst < value * (1 - 1e-3):
            end = f"{95 if spec.falls else 5} % end, {_text(worst, spec)}"
            yield _breach("record", spec, f"its {end}, lies behind its last row, {_text(value, spec)}")


def _whole_breaches(spec: QuantitySpec, whole: str, why: str, draws: int, seed: int) -> Iterator[Breach]:
    """Count the worlds in which a part has been above its whole by a date, in whatever choices these are most."""
    asked = read_question(f"{spec.name} > {1 + RELATION_RTOL!r}*{whole}", at=RELATION_DATES, shapes=())
    shares = np.zeros(len(RELATION_DATES))
    for row in _run(asked, draws, seed).dates[0].rows:
        chosen = {(choice.rpartition(".")[2], value) for choice, value in row.choices.items()}
        if row.distribution is not None and len(chosen) == len(dict(chosen)):  # a choice of both has one value
            shares = np.maximum(shares, row.distribution.by)
    if shares.any():
        told = ", ".join(f"{percent(s)} of the worlds before {d}" for s, d in zip(shares, RELATION_DATES, strict=True))
        yield _breach("relations", spec, f"it is above {whole} in {told}: {why}")


def _text(value: float, spec: QuantitySpec) -> str:
    return amount(float(value), spec.unit)


def _breach(rule: str, spec: QuantitySpec, message: str) -> Breach:
    return Breach(rule=rule, question=spec.name, message=printable(message, 300))
