"""Drivers of an answer: shares of its variance, constants that would move it more than any draw, and what would do.

What would do is the value of one assumption that makes an answer come true by a date.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array
from forecast.base.dates import parse_year
from forecast.base.lazy import xr
from forecast.errors import UsageError
from forecast.projection.crossing import answer_ranks
from forecast.projection.result import DateAnswer
from forecast.sensitivity.first_order import MIN_DRIVER_SHARE, variance_shares

if TYPE_CHECKING:
    import pandas as pd

    from forecast.api.answer import Answer


#: The assumption is looked for within this factor of where it is drawn, and found to this precision.
MAX_SEARCH_FACTOR, SEARCH_RTOL = 1e12, 1e-5
#: Worlds that are near one another in an assumption, and years after the date that are drawn too.
NEARBY_DRAWS, MARGIN_YEARS = 100, 10.0
#: How late what never comes is, in years.
NEVER_YEARS = 1e6
#: Dates farther off than this, in years, only say on which side they lie: a jump to never is halved, not followed.
MAX_FOLLOWED_YEARS = 3.0


def required_value(
    answer: Answer, name: str, *, by: float | str, probability: float = 0.5, within: tuple[float, float] | None = None
) -> float:
    """Return the value of a quantity, the same in every world, that makes it so by a date.

    The draws of all other quantities stay. The root is found on the date at which the answer of the sentence reaches
    the probability, in the logarithm of the assumption where that is positive.

    Parameters
    ----------
    answer : Answer
        To a question that asks when.
    name : str
        A quantity behind the answer, or an input of a model.
    by : float or str
        The date: 2030.5, ``"2030-07"``.
    probability : float
        How likely it should be by then: by default the median date is meant.
    within : (float, float), optional
        Where to look; by default from where the quantity is drawn outwards.

    Returns
    -------
    float
        In the unit of the quantity.

    Raises
    ------
    UsageError
        If the answer does not depend on it, if no number makes it so, or if there is no one answer.

    Examples
    --------
    >>> import forecast
    >>> from forecast.language import start, t
    >>> x = forecast.uncertain(p05=1, p95=4, name="x")
    >>> answer = (x * (t - start) >= 10).when(start=2020, until=2040, draws=50)
    >>> round(answer.needed("x", by=2025), 4)
    2.0
    """
    from scipy.optimize import brentq

    answer._only("needed", "when")
    if not 0 < probability < 1:
        raise UsageError(f"needed: expected a probability between 0 and 1, got {probability:g}")
    if name not in answer._settable_names:
        raise answer._not_of(name, "needed")
    by, first = parse_year(by, "needed: by"), math.floor(answer.run.span[0])
    if by <= first:
        raise UsageError(f"needed: {by:g} is not after the first step, {first:g}: nothing moves what is so already")
    _ = answer.distribution  # there is one
    near, lateness = _with_number(_shorten_horizon(answer, by), name), dict[float, float]()

    def late(number: float) -> float:
        """Return how many years after the date it is reached with this probability."""
        if number not in lateness:
            date = near(number).quantile(probability)
            lateness[number] = date - by if math.isfinite(date) else NEVER_YEARS
        return lateness[number]

    low, high = within or _input_range(answer, name)
    positive = low > 0
    if within is None:
        guess = _first_guess(answer, name, by, probability) if positive else None
        low, high = _bracket_date(late, low, high) if guess is None else _bracket_date(late, guess, guess)
    if (late(low) > 0) == (late(high) > 0):
        ends = ", ".join(f"{_format_lateness(late(end), by)} at {end:.3g}" for end in (low, high))
        raise UsageError(
            f"needed '{name}': no number from {low:.3g} to {high:.3g} makes it so by {by:g} with probability "
            f"{probability:g}: it is {ends}"
        )
    if not positive:
        return float(brentq(lambda x: _clip_lateness(late(x)), low, high, xtol=SEARCH_RTOL * (high - low)))
    lateness.update({math.exp(math.log(end)): late(end) for end in (low, high)})  # asked again as logarithms
    return math.exp(
        float(brentq(lambda x: _clip_lateness(late(math.exp(x))), math.log(low), math.log(high), xtol=SEARCH_RTOL))
    )


def _with_number(answer: Answer, name: str) -> Callable[[float], Answer]:
    """Return what gives the answer with a number in place of a quantity: variations of the first, where it has any."""
    from forecast.projection.answers.variations import Variations, can_vary

    first: Answer | None = None
    together: Variations | None = None

    def found(number: float) -> Answer:
        nonlocal first, together
        if first is not None and together is not None:
            run = next(together.walk([((name,), {"with_": {name: number}})]))
            if run is not None:
                return replace(first, run=run, options={**first.options, "with_": run.settings.set})
        answered = answer.with_(**{name: number})
        varies = "data" not in answered.options and can_vary(answered.run, whole=True)
        if first is None and name in answered._settings and varies:
            together = Variations(answered._run_scenario, answered.run, answered.cache, whole=True)
        first = first or answered
        return answered

    return found


def _clip_lateness(late: float) -> float:
    return min(max(late, -MAX_FOLLOWED_YEARS), MAX_FOLLOWED_YEARS)


def _format_lateness(late: float, by: float) -> str:
    return "never" if late == NEVER_YEARS else f"{by + late:.1f}"


def _shorten_horizon(answer: Answer, by: float) -> Answer:
    """Return the question over a shorter time: steps well after the date have no influence."""
    last = max([by + MARGIN_YEARS, *(float(date[:4]) + 1 for date in answer.result.dates)])
    if last >= answer.run.span[1]:
        return answer
    return replace(answer, options={**answer.options, "until": math.ceil(last)})


def _first_guess(answer: Answer, name: str, by: float, probability: float) -> float | None:
    """Return about where it is, from the worlds that are there: those near each value; None where they do not tell."""
    run, result = answer.run, answer.result
    draws = run.uncertain.get(name)
    if draws is None and name in run.quantities:
        own = run.quantities[name].worlds.isel(time=0)
        chosen = {d: v for d, v in result.default.items() if d in own.dims}
        pooled = run.pooled(own.sel(chosen), result.rivals)
        draws = pooled.values if pooled.dims == ("draw",) else None
    if draws is None or len(draws) < 2 * NEARBY_DRAWS or not np.isfinite(draws).all():
        return None
    dates, _ = result.pooled_draws(result.default)
    order = np.argsort(draws, kind="stable")
    middles, late = [], []
    for part in np.array_split(order, len(order) // NEARBY_DRAWS):
        middles.append(float(np.median(draws[part])))
        late.append(float(np.nanquantile(dates[part], probability, method="inverted_cdf")) <= by)
    turns = np.flatnonzero(np.diff(np.array(late, dtype=int)))
    return math.sqrt(middles[turns[0]] * middles[turns[0] + 1]) if len(turns) == 1 else None


def _input_range(answer: Answer, name: str) -> tuple[float, float]:
    """Return the ends of where an assumption is drawn."""
    run = answer.run
    if name in run.quantities:
        values = np.asarray(run.quantities[name].worlds.values)
    elif name in run.uncertain:
        values = run.uncertain[name]
    else:
        way = "give the numbers within which to look: within=(low, high)"
        raise UsageError(f"needed '{name}': it is no quantity of the answer: {way}")
    values = values[np.isfinite(values)]
    return float(values.min()), float(values.max())


def _bracket_date(late: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return ends on two sides of the date, as far out as it takes."""
    if low > 0:
        low, high = low / 2, high * 2
        step, start, end = 4.0, low, high
        while (late(low) > 0) == (late(high) > 0) and high / end < MAX_SEARCH_FACTOR:
            low, high, step = start / step, end * step, step**1.5
        return low, high
    width = max(high - low, abs(high), 1.0)
    low, high, step = low - width, high + width, 1.0
    while (late(low) > 0) == (late(high) > 0) and step < MAX_SEARCH_FACTOR:
        step *= 8
        low, high = low - step * width, high + step * width
    return low, high


#: So many worlds tell how far a constant moves an answer.
CONSTANT_DRAWS = 500
#: So often a number is drawn anew for its total order.
REDRAWS = 4
#: Worlds around a quantile of a number: so large a share on either side of it.
QUANTILE_HALF_WIDTH = 0.025


def sensitivity(answer: Answer, *, total: bool = False) -> pd.DataFrame:
    """Return what moves an answer, the largest share of its variance first.

    Parameters
    ----------
    answer : Answer
        To a question that asks when, or for a value or growth (the last date then counts).
    total : bool
        Also the total order, by pick-freeze: each uncertain number is drawn anew while all others stay (Jansen 1999,
        Computer Physics Communications 117, 35-43). Of what has no other draws (a law's parameters, a posterior of
        one's own, a regime, a choice) it is NaN.

    Returns
    -------
    pandas.DataFrame
        By driver: its ``kind``; ``first``, the share of the variance of the answer's rank that it explains alone, of
        correlated numbers as one group; the rest to 1 is in the row ``together``. ``moves`` is how far the mean
        answer goes (a date of never counts as the last step): of a number from the worlds around its 5 % quantile to
        those around its 95 % quantile, of a constant from half of it to its double. ``attrs["note"]`` says so where
        a constant comes first.

    Examples
    --------
    >>> import forecast
    >>> from forecast.language import start, t
    >>> x, y = forecast.uncertain(p05=1, p95=4, name="x"), forecast.uncertain(p05=0.9, p95=1.1, name="y")
    >>> answer = (x * y * (t - start) >= 10).when(start=2020, until=2060, draws=1000)
    >>> answer.sensitivity().index[0]
    'x'
    """
    import pandas as pd

    if answer.kind not in ("when", "value"):
        raise UsageError(f"sensitivity: the question asks {answer.kind}: ask when, or for a value")
    failing = answer.result.failing if isinstance(answer.result, DateAnswer) else None
    shares = variance_shares(answer.run, _answer_per_draw(answer), failing)
    rows: dict[str, dict[str, Any]] = {
        row["name"]: {"kind": row["kind"], "first": row["share"], "moves": float("nan")} for row in shares
    }
    left = max(1 - sum(row["share"] for row in shares), 0.0) if shares else float("nan")
    rows["together"] = {"kind": "together", "first": left, "moves": float("nan")}
    drivers = {row["name"] for row in shares if row["share"] >= MIN_DRIVER_SHARE and row["kind"] == "number"}
    numbers = answer.run.uncertain
    regimes = {name for name, quantity in answer.run.quantities.items() if quantity.kind == "regime"}
    worlds, counts = _answers_of(answer)
    for name in drivers - regimes:
        rows[name]["moves"] = _mean_shift(worlds, counts, numbers[name][: len(worlds)])
    rows |= {name: {"kind": "constant", "first": 0.0, "moves": moves} for name, moves in _constant_moves(answer, rows)}
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("driver")
    if total:
        table["total"] = pd.Series(dict(_total_indices(answer, [row["name"] for row in shares])), dtype=float)
        table = table[["kind", "first", "total", "moves"]]
    varying, fixed = table[table.kind != "constant"].moves, table[table.kind == "constant"].moves
    if len(fixed) and fixed.max() > varying.fillna(0.0).max():
        unit = "years" if answer.kind == "when" else answer.values.attrs["units"]
        by = f"{fixed.max():.3g} {unit}".rstrip()
        note = f"a constant comes first: '{fixed.idxmax()}' has no uncertainty, and from half of it to its double"
        most = f", with '{varying.idxmax()}' by {varying.max():.3g}" if varying.notna().any() else ""
        table.attrs["note"] = f"{note} the mean answer moves by {by}{most}"
    return table


def _answer_per_draw(answer: Answer) -> xr.DataArray:
    """Return one number for each draw: the date, or the value at the last date of the question."""
    return answer.result.unmasked if isinstance(answer.result, DateAnswer) else answer.result.worlds


def _answers_of(answer: Answer) -> tuple[Array, Array]:
    """Return the mean answer of every world over the choices, never as the last date, and its weight; (draw,)."""
    answers = _answer_per_draw(answer)
    if answer.kind == "when":
        answers = answers.where(answers.isnull() | np.isfinite(answers), answer.run.span[1])
    weights = answer.weights.mean([d for d in answer.weights.dims if d != "draw"])
    over = [d for d in answers.dims if d != "draw"]
    return np.asarray(answers.mean(over, skipna=True).values), np.asarray(weights.values)


def _mean_answer(answer: Answer) -> float:
    worlds, counts = _answers_of(answer)
    answered = ~np.isnan(worlds)
    return float(np.average(worlds[answered], weights=counts[answered]))


def _mean_shift(worlds: Array, counts: Array, draws: Array) -> float:
    """Return how far the mean answer around the 95 % quantile of a number is from that around the 5 % quantile."""
    answered = ~np.isnan(worlds) & (counts > 0)
    worlds, counts, draws = worlds[answered], counts[answered], draws[answered]
    edges = np.quantile(draws, [q + side * QUANTILE_HALF_WIDTH for q in (0.05, 0.95) for side in (-1, 1)])
    near = [(draws >= low) & (draws <= high) for low, high in (edges[:2], edges[2:])]
    ends = [np.average(worlds[at], weights=counts[at]) for at in near if at.any()]
    return float(abs(ends[-1] - ends[0])) if ends else math.nan


def _constant_moves(answer: Answer, rows: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """Yield the constants behind an answer, with the shift of the mean answer from half of each to its double.

    All of them are first spread at once from half to double, in one run, and a least-squares fit on their logarithms
    tells them apart. The one that may come first is then set to both ends.
    """
    constants = dict(_constant_quantities(answer))
    if not constants:
        return
    # a number that is set may be one that a condition excludes
    fewest = min(CONSTANT_DRAWS, int(answer.options.get("draws", CONSTANT_DRAWS)))
    quick = replace(answer, conditions=(), options={**answer.options, "draws": fewest})
    spread = {name: {"loguniform": sorted((n / 2, n * 2))} for name, n in constants.items() if n > 0}
    spread |= {name: {"uniform": sorted((n / 2, n * 2))} for name, n in constants.items() if n < 0}
    estimates = dict.fromkeys(constants, math.inf)
    if len(constants) > 1:
        screened = _with_constants(quick, spread)
        worlds, counts = _answers_of(screened)
        answered = ~np.isnan(worlds)
        levels = [
            screened.run.quantities[name].worlds.isel(time=0).values.reshape(fewest, -1)[:, 0] for name in constants
        ]
        design = np.column_stack([np.ones(fewest), *(np.log(np.abs(level)) for level in levels)])
        root = np.sqrt(counts[answered])
        slopes = np.linalg.lstsq(design[answered] * root[:, None], worlds[answered] * root, rcond=None)[0][1:]
        estimates = {name: abs(float(slope)) * math.log(4) for name, slope in zip(constants, slopes, strict=True)}
    leading = max(estimates, key=lambda name: estimates[name])
    most = max((row["moves"] for row in rows.values() if row["moves"] == row["moves"]), default=0.0)
    if estimates[leading] > most / 2:
        number = constants[leading]
        low, high = (_mean_answer(_with_constants(quick, {leading: end})) for end in (number / 2, number * 2))
        estimates[leading] = abs(high - low)
    yield from estimates.items()


def _with_constants(answer: Answer, values: Mapping[str, Any]) -> Answer:
    """Return the answer with quantities set that it is known to depend on: no need to look for them again."""
    options = {**answer.options, "with_": {**answer._settings, **values}}
    return replace(answer, options=options)._answered()


def _constant_quantities(answer: Answer) -> Iterator[tuple[str, float]]:
    """Yield the quantities behind an answer that are one number in all worlds, and may be twice that."""
    from forecast.scenarios.graph import build
    from forecast.scenarios.kinds.prior import Prior

    graph = build(answer._run_scenario, answer._settings)
    for name in answer.depends_on:
        node = graph.nodes.get(name)
        if node is not None and isinstance(node.quantity, Prior) and node.fixed is None:
            distribution, scale = node.quantity.distribution, node.limits.bounds.scale if node.limits else ""
            most = {"share": 1.0, "percent": 100.0}.get(scale, math.inf)
            if distribution.family == "fixed" and distribution.median() != 0 and 2 * distribution.median() <= most:
                yield name, distribution.median()


def _total_indices(answer: Answer, drivers: list[str]) -> Iterator[tuple[str, float]]:
    """Yield the drivers that can be drawn anew, with their total-order index."""
    from forecast.api.scenario import run_scenario

    outcome = _answer_per_draw(answer)
    weights = answer.weights.broadcast_like(outcome).transpose(*outcome.dims).values * outcome.sizes["draw"]
    place = answer_ranks(outcome.values, weights)
    order = np.argsort(outcome.values.ravel(), kind="stable")
    steps = _unique_levels(outcome.values.ravel()[order], place.ravel()[order])
    middle = np.average(place, weights=weights)
    scenario, options = answer._run_scenario, {**answer._run_options, "cache": answer.cache}
    for name in drivers:
        members = name.split(", ")
        outcomes = [place]
        for count in range(1, REDRAWS + 1):
            record = _with_redrawn_inputs(scenario.stated, members, f"again{count}")
            if record is None:
                break
            again = _answer_per_draw(replace(answer, run=run_scenario(scenario.restated(record), **options)))
            # the same scale for all: where an answer would stand among those that were given
            outcomes.append(np.interp(again.transpose(*outcome.dims).values, *steps))
        if len(outcomes) > 1:
            # what varies while all else stays
            left = np.average(np.var(outcomes, axis=0, ddof=1), weights=weights)
            whole = np.mean([np.average((each - middle) ** 2, weights=weights) for each in outcomes])
            yield name, float(left / whole)


def _unique_levels(levels: Any, place: Any) -> tuple[Any, Any]:
    """Return places by level, each level once; never, which is infinite, as the largest float."""
    is_number = ~np.isnan(levels)
    values, first = np.unique(np.nan_to_num(levels[is_number], posinf=np.finfo(float).max), return_index=True)
    return values, place[is_number][first]


def _with_redrawn_inputs(scenario_record: Mapping[str, Any], members: list[str], ending: str) -> dict[str, Any] | None:
    """Return a scenario in which these numbers are drawn by other names; None where they cannot be."""
    quantities = dict(scenario_record.get("quantities", {}))
    groups = [dict(group) for group in scenario_record.get("correlations", ())]
    for name in members:
        quantity_record = quantities.get(name)
        if quantity_record is None or any(
            key in quantity_record for key in ("draw", "draws", "model", "law", "function", "expression")
        ):
            return None
        again = f"{name[:55]}_{ending}"
        beside = {
            key: quantity_record[key]
            for key in ("lower", "before", "limit", "how", "at_least", "keeps", "scale", "floor", "ceiling")
            if key in quantity_record
        }
        quantities[again] = {key: each for key, each in quantity_record.items() if key not in beside}
        quantities[name] = {"expression": again, **beside}
        for group in groups:
            group["of"] = [again if each == name else each for each in group["of"]]
    return {**scenario_record, "quantities": quantities, **({"correlations": groups} if groups else {})}
