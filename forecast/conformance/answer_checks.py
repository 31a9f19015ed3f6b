"""What the answers of a scenario must hold against its data and against one another, whatever they forecast.

- *pooled*: a row that is called pooled lies between the rows that it is the pool of, its median and its *never* alike.
- *observed*: at the date of the last observation, and where the forecast begins soon after it, the 90 % band of one
  observation contains it; a running record starts at it.
- *already*: what the newest observation meets is so already, in every world.
- *nested*: a question that asks for more never comes before one that asks for less.
- *falls*: a series that rose through its history does not fall below its last observation in the median forecast, nor
  a running record below its record within the 90 % interval.
- *levers*: each lever moves something that the scenario shows.

A rebuilt publication (``published_on``) is exempt of all but the last: it prints what was published.

One quantity, one forecast, whichever door: what is held between scenarios, and between ``run`` and ``ask``.

- *doors*: what a quantity of a scenario forecasts for a quantity of the world is the same number in every scenario that
  has it, and the number that ``forecast ask`` tells.
- *bounds*: the forecast of a quantity, and each rival that is no rebuilt publication, lies within its bounds.
- *record*: what keeps its best so far does not fall below its last row within the 90 % interval.
- *relations*: in no world is a part above its whole, as the quantity's `at_most` states it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from forecast import units
from forecast.base.arrays import Array
from forecast.base.dates import decimal_year
from forecast.base.quantiles import QUANTILES, Z95
from forecast.contract.registry import get_registry
from forecast.contract.specs import QuantitySpec, RivalForecast
from forecast.errors import ForecastError, printable
from forecast.projection.engine import project
from forecast.projection.paths.run_cache import SHARED_BYTES, RunCache, cache_of_process
from forecast.projection.result import DateAnswer, ProjectedAnswer, Projection, RankingAnswer, ValueAnswer
from forecast.projection.result.observed_values import (
    LastObservation,
    keeps_records,
    last_observation,
    observed_points,
    of_choices,
    threshold,
)
from forecast.projection.result.projected_answers import AnswerDistribution
from forecast.report.words.date_text import as_text
from forecast.report.words.number_text import amount, percent
from forecast.scenarios.quantities.levers import Lever
from forecast.scenarios.question_text import is_name, quantity_name, read_line, read_question
from forecast.scenarios.scenario import Scenario

RULES = ("pooled", "observed", "already", "nested", "falls", "levers")
#: Standard errors of a share of the worlds by which a pool may lie outside its rows.
MAX_STANDARD_ERRORS = 4.0
#: The first step is the date of the last observation where it lies within so many years of it.
NEAR_YEARS = 1.0
#: Rounding of what is computed in two orders.
ANSWER_RTOL = 1e-6


@dataclass(frozen=True, kw_only=True)
class Breach:
    """A number of an answer that breaks a rule.

    Parameters
    ----------
    rule : str
        One of `RULES`.
    question : str
        Its name.
    message : str
        Which number it is, and what it was held against.
    """

    rule: str
    question: str
    message: str

    @property
    def plain(self) -> dict[str, str]:
        """The same as plain data."""
        return asdict(self)


def find_breaches(run: Projection) -> list[Breach]:
    """Return every number of a projection's answers that breaks a rule, question by question.

    Examples
    --------
    >>> import forecast
    >>> run = forecast.project({"start": 2025, "until": 2030, "quantities": {
    ...     "x": {"p05": 1, "p95": 4, "unit": "FLOP"}}, "questions": {
    ...     "one": {"when": "x >= 2"}, "two": {"when": "x >= 3"}}}, draws=64)
    >>> find_breaches(run)
    []
    """
    found: list[Breach] = []
    for answer in (*run.dates, *run.values):
        found += _check_pooled(answer)
        for chosen in answer.combinations([choice for choice in answer.definitions if choice not in run.swept]):
            found += [*_check_observed(answer, chosen), *_check_direction(answer, chosen)]
            if isinstance(answer, DateAnswer):
                found += _check_already(answer, chosen)
    return [*found, *_check_nested(run)]


def _check_pooled(answer: ProjectedAnswer) -> Iterator[Breach]:
    """Hold rows that are called pooled to those beside them, and what is pooled by weights to what it is made of."""
    labels = answer.run.labels
    for choice in answer.choices:
        values = answer.values(choice)
        called = [value for value in values if labels.get(value, value) == "pooled"]
        others = [value for value in values if value not in called]
        if called and len(others) > 1:
            whole = answer.over({**answer.default, choice: called[0]})
            yield from _check_pool(answer, whole, choice, others, f"'{called[0]}' of {choice} is called pooled")
    for choice, weights in answer.pooled_over.items():
        weighed = [value for value, share in zip(answer.values(choice), weights, strict=True) if share > 0]
        if len(weighed) > 1:
            whole = answer.over(answer.default)
            yield from _check_pool(answer, whole, choice, weighed, f"the answer is pooled over {choice}")


def _check_pool(
    answer: ProjectedAnswer, whole: AnswerDistribution | None, choice: str, values: Sequence[str], what: str
) -> Iterator[Breach]:
    """Hold the median and the *never* of a pool to those of the rows that it is made of."""
    rows = [answer.over({**answer.default, choice: value}) for value in values]
    known = [row for row in rows if row is not None and row.medians is None]
    if whole is None or whole.medians is not None or len(known) < 2:
        return
    # a share of the worlds is known to so much: the median of the pool may be any of its quantiles this near the middle
    error = MAX_STANDARD_ERRORS * 0.5 / math.sqrt(answer.run.settings.draws)
    low, high = min(row.median for row in known), max(row.median for row in known)
    ends = _interpolate_quantile(whole, 0.5 - error), _interpolate_quantile(whole, 0.5 + error)
    if not (ends[1] >= low * (1 - ANSWER_RTOL) and ends[0] <= high * (1 + ANSWER_RTOL)):
        texts = [_format_value(answer, value) for value in (whole.median, low, high)]
        yield Breach(
            rule="pooled", question=answer.name,
            message=f"{what}: its median is {texts[0]}, and those of the rows lie between {texts[1]} and {texts[2]}",
        )  # fmt: skip
    if isinstance(answer, DateAnswer):
        low, high = min(row.never for row in known), max(row.never for row in known)
        if not low - error <= whole.never <= high + error:
            yield Breach(
                rule="pooled", question=answer.name,
                message=f"{what}: it never comes with {percent(whole.never)}, and the rows with {percent(low)} to "
                f"{percent(high)}",
            )  # fmt: skip


def _interpolate_quantile(of: AnswerDistribution, share: float) -> float:
    """Return a quantile between two of those that are known; where one is never, that one."""
    shares = list(QUANTILES)
    place = int(np.searchsorted(shares, share))
    low, high = of.quantiles[place - 1], of.quantiles[place]
    if not (math.isfinite(low) and math.isfinite(high)):
        return high
    return low + (high - low) * (share - shares[place - 1]) / (shares[place] - shares[place - 1])


def _check_observed(answer: ProjectedAnswer, chosen: Mapping[str, str]) -> Iterator[Breach]:
    """Hold a quantity to its last observation: its fitted past at that date, and its first step where that is near."""
    if (last := _last_observation(answer, chosen)) is None:
        return
    name, run, start = last.of, answer.run, answer.run.span[0]
    date = float(decimal_year([last.date])[0])
    stands, rising = keeps_records(answer, name), _has_risen(answer, name, last.unit, chosen)
    bands: list[tuple[str, float, float]] = []
    if (at_last := _fitted_band(answer, name, last, chosen)) is not None:
        bands.append((last.date[:7], *at_last))
    if 0 <= start - date <= NEAR_YEARS:
        levels = run.quantities[name].quantiles(_default_combination(answer, name, chosen))
        low, high = (float(units.convert(levels[i][0], run.quantities[name].unit, last.unit)) for i in (0, 4))
        bands.append((f"{start:.0f}", *((low, high) if stands else _prediction_band(answer, name, chosen, low, high))))
    for when, low, high in bands:
        if stands:
            begins = low >= last.value * (1 - ANSWER_RTOL) if rising else high <= last.value * (1 + ANSWER_RTOL)
            what = "starts below its record" if rising else "starts above its record"
        else:
            begins = low * (1 - ANSWER_RTOL) <= last.value <= high * (1 + ANSWER_RTOL)
            what = "starts apart from its last observation"
        if not begins:
            band = f"{amount(low, last.unit)} to {amount(high, last.unit)}"
            yield Breach(
                rule="observed", question=answer.name,
                message=f"{name} {what}, {amount(last.value, last.unit)} ({last.row or last.date[:7]}): "
                f"{band} in {when}",
            )  # fmt: skip
            return


def _fitted_past(answer: ProjectedAnswer, name: str, chosen: Mapping[str, str]) -> tuple[Array, Array, str] | None:
    """Return the fitted past of a quantity: its dates as years, (quantile, date), and the unit; None without one."""
    if f"past/{name}" not in answer.run:
        return None
    past = answer.run.dataset(f"past/{name}")
    keep = of_choices(past, answer, chosen)
    levels = past["level"].transpose("quantile", "point").values[:, keep]
    return (decimal_year(past["date"].values[keep]), levels, str(past["level"].attrs["units"])) if keep.any() else None


def _fitted_band(
    answer: ProjectedAnswer, name: str, last: LastObservation, chosen: Mapping[str, str]
) -> tuple[float, float] | None:
    """Return the 90 % band of the fitted past at the date of the last observation; None where none was drawn."""
    if (past := _fitted_past(answer, name, chosen)) is None:
        return None
    years, levels, own = past
    apart = np.abs(years - decimal_year([last.date])[0])
    if apart.min() > 1 / 365:
        return None
    ends = levels[[0, -1], np.argmin(apart)]
    low, high = units.convert(ends, own, last.unit).tolist()
    return (low, high) if keeps_records(answer, name) else _prediction_band(answer, name, chosen, low, high)


def _prediction_band(
    answer: ProjectedAnswer, name: str, chosen: Mapping[str, str], low: float, high: float
) -> tuple[float, float]:
    """Widen the band of a level to that of one observation, by how far the observations lie from the fitted past."""
    if (past := _fitted_past(answer, name, chosen)) is None or not 0 < low <= high:
        return low, high
    (years, levels, own), order = past, np.argsort(past[0])
    dates, values, _ = observed_points(answer, name, own, chosen)
    middle = levels[2]
    if not (middle > 0).all() or not (values > 0).all():
        return low, high
    apart = np.log(values) - np.interp(dates, years[order], np.log(middle[order]))
    apart = apart[dates <= years.max() + 1 / 365]
    scatter = Z95 * float(np.sqrt(np.mean(apart**2))) if apart.size else 0.0
    middle_log, half = (math.log(low) + math.log(high)) / 2, (math.log(high) - math.log(low)) / 2
    wide = math.hypot(half, scatter)
    return math.exp(middle_log - wide), math.exp(middle_log + wide)


def _check_already(answer: DateAnswer, chosen: Mapping[str, str]) -> Iterator[Breach]:
    """Hold a question whose level the newest record meets to being so already."""
    found, level, last = answer.over(chosen), threshold(answer), _last_observation(answer, chosen)
    if found is None or level is None or last is None or last.of != level.of or not keeps_records(answer, last.of):
        return
    if found.already == 1 or float(decimal_year([last.date])[0]) > answer.run.span[0]:
        return
    if level.met(last.value, last.unit):
        yield Breach(
            rule="already", question=answer.name,
            message=f"{last.of} was {amount(last.value, last.unit)} in {last.date[:7]}, which meets {answer.text}: "
            f"it is so already with {percent(found.already)} only",
        )  # fmt: skip


def _check_nested(run: Projection) -> Iterator[Breach]:
    """Hold questions of one quantity to the order of their levels, in every world."""
    levels = [(answer, level) for answer in run.dates if (level := threshold(answer)) is not None]
    for (one, first), (other, second) in itertools.permutations(levels, 2):
        same = first.of == second.of and first.op[0] == second.op[0]
        if not same or one.worlds.dims != other.worlds.dims:
            continue
        own = float(units.convert(np.array(second.value), second.unit, first.unit))
        if not (first.value > own if first.op[0] == ">" else first.value < own):
            continue
        late, soon = (np.nan_to_num(np.asarray(each.worlds.values, dtype=float), nan=np.inf) for each in (one, other))
        wrong = float(np.mean(late < soon - ANSWER_RTOL))
        if wrong:
            yield Breach(
                rule="nested", question=one.name,
                message=f"{one.text} comes before {other.text} in {percent(wrong)} of worlds",
            )  # fmt: skip


def _check_direction(answer: ProjectedAnswer, chosen: Mapping[str, str]) -> Iterator[Breach]:
    """Hold the median of a value to its last observation, against which the series has not gone so far.

    Of a running record it is the end of the 90 % interval that is held to the record.
    """
    if not isinstance(answer, ValueAnswer) or answer.growth or (last := _last_observation(answer, chosen)) is None:
        return
    rising, stands = _has_risen(answer, last.of, last.unit, chosen), keeps_records(answer, last.of)
    for each in answer.at:
        found = each.over(chosen)
        if found is None or found.medians is not None:
            continue
        end = found.quantiles[0 if rising else -1] if stands else found.median
        if end < last.value * (1 - ANSWER_RTOL) if rising else end > last.value * (1 + ANSWER_RTOL):
            yield Breach(
                rule="falls", question=answer.name,
                message=f"{last.of} was {amount(last.value, last.unit)} in {last.date[:7]} after it "
                f"{'rose' if rising else 'fell'}; {'an end of the interval' if stands else 'the median'} of "
                f"{each.date[:4]} is {amount(end, last.unit)}",
            )  # fmt: skip


def _format_value(answer: ProjectedAnswer, value: float) -> str:
    return as_text(value) if isinstance(answer, DateAnswer) else amount(value, answer.unit)


def _last_observation(answer: ProjectedAnswer, chosen: Mapping[str, str]) -> LastObservation | None:
    """Return the last observation of the one quantity that a question is about, under values of choices."""
    last = last_observation(answer, chosen)
    return last if last is not None and last.of in answer.run.quantities else None


def _default_combination(answer: ProjectedAnswer, name: str, definitions: Mapping[str, str]) -> dict[str, str]:
    """Return the combination of a quantity's choices that the sentence is about, of rivals the one that weighs most."""
    run = answer.run
    first = run.quantities[name].cells[0]
    return {choice: definitions.get(choice, run.heaviest(choice) or value) for choice, value in first.items()}


def _has_risen(answer: ProjectedAnswer, name: str, unit: str, chosen: Mapping[str, str]) -> bool:
    """Tell whether what was observed of a quantity rose, from its first third to its last; yes where it has no points.

    A quantity that is computed from several, such as the least of them, stands somewhere today and has no series.
    """
    dates, values, _ = observed_points(answer, name, unit, chosen)
    if not len(values):
        return True
    values = values[np.argsort(dates, kind="stable")]
    third = max(len(values) // 3, 1)
    return bool(np.median(values[-third:]) >= np.median(values[:third]))


# --- Levers -----------------------------------------------------------------------------------------------------------
# What the levers of a scenario must hold: each moves something that the scenario shows.


def lever_breaches(
    scenario: Scenario, *, draws: int = 64, seed: int = 0, cache: RunCache | None = None
) -> Iterator[Breach]:
    """Walk the levers that cannot be moved to an end, or move no answer at either.

    The worlds are the same with and without, so that whatever differs was moved by the lever.

    Parameters
    ----------
    scenario : Scenario
    draws, seed : int
    cache : RunCache, optional
        What was fitted and drawn for the scenario already.

    Examples
    --------
    >>> scenario = Scenario.from_dict({"start": 2025, "until": 2030, "quantities": {
    ...     "x": {"p05": 1, "p95": 4, "unit": "FLOP"}, "y": {"value": 1, "unit": "FLOP"}},
    ...     "questions": {"one": {"when": "x >= 2"}},
    ...     "levers": {"x": {"label": "size", "range": [1, 3]}, "y": {"label": "other", "range": [1, 3]}}})
    >>> [each.question for each in lever_breaches(scenario)]
    ['y']
    """
    if not scenario.levers:
        return
    cache = RunCache(SHARED_BYTES) if cache is None else cache
    base = project(scenario, draws=draws, seed=seed, cache=cache)
    for lever in scenario.levers:
        try:
            moves = _changes_answer(base, lever) or any(
                each.moved
                for end in lever.ends
                for each in project(scenario, draws=draws, seed=seed, cache=cache, **lever.moved(end))
                .beside(base)
                .differences
            )
        except ForecastError as error:
            yield Breach(rule="levers", question=lever.name, message=f"cannot be moved: {error}")
            continue
        if not moves:
            text = f"'{lever.label}' moves no answer, from {' to '.join((lever.ends[0], lever.ends[-1]))}"
            yield Breach(rule="levers", question=lever.name, message=text)


def _changes_answer(run: Projection, lever: Lever) -> bool:
    """Tell whether a choice is one whose values have different answers: one of them is another question, no change."""
    for answer in run.answers.values():
        if isinstance(answer, RankingAnswer):
            rows = [
                [(each.name, each.first, each.median) for each in row.taking_part]
                for row in answer.table
                if lever.name in row.choices
            ]
            if any(row != rows[0] for row in rows):
                return True
        elif isinstance(answer, (DateAnswer, ValueAnswer)) and lever.name in answer.choices:
            found = [answer.over({**answer.default, lever.name: value}) for value in answer.values(lever.name)]
            if any(each is not None and found[0] is not None and each != found[0] for each in found):
                return True
    return False


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
