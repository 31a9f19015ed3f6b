"""From money to a training run: constraints settle the open options, by a scenario of devices and a law of loss."""

from __future__ import annotations

import math
from collections.abc import Container, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from forecast import units
from forecast.api.answer import Answer
from forecast.api.scenario import Scenario, run_scenario
from forecast.base.dates import decimal_year, iso_date, parse_year, today
from forecast.base.quantiles import DEFAULT_LEVEL
from forecast.contract.registry import get_registry
from forecast.errors import UnitError, UnknownNameError, UsageError, printable
from forecast.planning.allocate import best_splits, price_of
from forecast.projection.paths.run_cache import SHARED_BYTES, RunCache
from forecast.projection.source_tables import OwnRows
from forecast.report.words.number_text import amount, amount_range, format_number, percent, scale_of
from forecast.scenarios.kinds.law_ref import LawRef
from forecast.scenarios.settings.setting_values import parse_measured, parse_set_number

Array = NDArray[np.float64]

#: The options and their units in a plan; the first five say how much is trained, the others how fast.
GIVEN_UNITS = {
    "budget": "USD", "compute": "FLOP", "loss": "nat/token", "size": "param", "tokens": "token",
    "days": "day", "cards": "", "power": "MW",
}  # fmt: skip
_HOW_MUCH, _HOW_FAST = tuple(GIVEN_UNITS)[:5], tuple(GIVEN_UNITS)[5:]
#: Options that say how much more often than once, and what of them is too much.
_TOLD_TWICE = {
    ("compute", "loss"): "one of them",
    ("size", "tokens", "loss"): "--loss", ("size", "tokens", "compute"): "--compute",
}  # fmt: skip
#: A plan's lines: quantity of the scenario, what it is called, its unit.
LINES = (
    ("work", "compute", "FLOP"), ("size", "parameters", "param"), ("tokens", "tokens", "token"),
    ("loss", "loss", "nat/token"), ("duration", "duration", "day"), ("cost", "rent", "USD"),
    ("energy", "electricity", "MWh"), ("carbon", "CO2", "Mg"), ("site_power", "power", "MW"),
    ("filled", "memory filled", ""),
)  # fmt: skip
#: Costs by who owns the devices, which a scenario need not have; an amount that no table gives is not known.
COSTS = (
    ("cost_specialised", "- specialised"), ("cost_marketplace", "- marketplace"),
    ("cost_hyperscaler", "- large cloud"), ("cost_owned", "own"),
)  # fmt: skip
#: Those that are parts of the rent, in its unit.
_RENTS = frozenset(dict(COSTS)) - {"cost_owned"}
#: Where nothing says how fast.
DEFAULT_DAYS = 90.0
#: The other model that is offered is so much smaller.
_SMALLER = 2.0
#: Of a law whose fitted parameters alone are asked for.
_LEAST_DRAWS = 100
#: More than ten times those of the largest site.
_MAX_CARDS = 10_000_000
_FIRST_CARDS, _FIRST_WORK, _MAX_ROUNDS, _SAME = 1024.0, 1e24, 20, 1e-3


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """One way to do it.

    Parameters
    ----------
    name : str
        ``"cheapest"`` (``"most compute"`` where cards and days are given alone), ``"fastest"`` or ``"smaller model"``.
    device : str
    cards : int
    draws : mapping of str to ndarray
        The quantities of `LINES` and `COSTS` in their units, a number a world; one where nothing is uncertain, and
        not a number of a cost that is not known.
    over_budget, late : float or None
        How likely it costs or lasts more than was given; None where that was left open.
    over : mapping of str to float
        How likely each of the costs that are known is more than the budget, by who owns the devices.
    loss : float, optional
        What was given: it is reached at the fitted parameters of the law, and stands for the median of its draws.
    """

    name: str
    device: str
    cards: int
    draws: Mapping[str, Array]
    over_budget: float | None
    late: float | None
    over: Mapping[str, float] = field(default_factory=dict)
    loss: float | None = None

    def interval(self, name: str, level: float = DEFAULT_LEVEL) -> tuple[float, float, float]:
        """Return the lower end, the median and the upper end of a quantity."""
        low, middle, high = np.quantile(self.draws[name], [(1 - level) / 2, 0.5, (1 + level) / 2])
        if name == "loss" and self.loss is not None:
            low, middle, high = min(low, self.loss), self.loss, max(high, self.loss)
        return float(low), float(middle), float(high)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Plan(Answer):
    """An answer that is a plan: the runs that meet what was given, the cheapest first. Made by `forecast.plan`.

    Parameters
    ----------
    constraints : mapping of str to float
        The options that were given, in the units of a plan.
    plans : tuple of PlannedRun
    binds : str
        The given option that decides.
    notes : tuple of str
        Notes for the reader: a free choice, memory that does not do.
    """

    constraints: Mapping[str, float]
    plans: tuple[PlannedRun, ...]
    binds: str
    notes: tuple[str, ...] = ()

    @cached_property
    def sentence(self) -> str:
        """The plan in one plain sentence."""
        first = self.plans[0]

        def median_of(name: str, unit: str) -> str:
            return _with_interval(*first.interval(name), unit)

        limits = [(first.over_budget, "cost more than", "budget"), (first.late, "take longer than", "days")]
        chances = [
            f"{percent(chance)} likely to {what} {amount(self.constraints[limit], GIVEN_UNITS[limit], 3)}"
            for chance, what, limit in limits
            if chance is not None
        ]
        trained = f"{_counted(first.interval('size')[1])} parameters on {_counted(first.interval('tokens')[1])} tokens"
        is_priced = math.isfinite(first.interval("cost")[1])
        cost = f" for {median_of('cost', 'USD')}" if is_priced else ", and what renting costs is not known"
        return (
            f"{first.cards:,} {'rented ' if is_priced else ''}{self.called(first.device)} train {trained} "
            f"({amount(first.interval('work')[1], 'FLOP')}) to a loss of {median_of('loss', 'nat/token')} in "
            f"{median_of('duration', 'day')}{cost}{': ' + ' and '.join(chances) if chances else ''}."
        )

    def called(self, device: str) -> str:
        """Return how a device is called."""
        return str(self.run.labels.get(device, device))

    def rows(self, level: float = DEFAULT_LEVEL) -> Iterator[list[str]]:
        """Yield the lines of the plans side by side: a label with the unit, and the median and interval in each.

        One screen: the power and the share of the memory, where nothing asks for them, are in `to_record` alone, as is
        how likely every owner's cost is over the budget.
        """
        yield ["device", *(self.called(each.device) for each in self.plans)]
        yield ["cards", *(f"{each.cards:,}" for each in self.plans)]
        for name, label, unit in _lines(self.plans[0].draws):
            if name == "filled" or (name == "site_power" and "power" not in self.constraints):
                continue
            every = [each.interval(name, level) for each in self.plans]
            if name not in _RENTS:  # which have the unit of the rent above them
                factor, named = scale_of([middle for _, middle, _ in every], unit)
            shown = "" if unit in ("param", "token") or name in _RENTS else named
            yield [", ".join(filter(None, (label, shown))), *(_cell(each, unit, factor) for each in every)]
        for label, chances in (
            ("over budget", [each.over_budget for each in self.plans]), ("late", [each.late for each in self.plans]),
        ):  # fmt: skip
            if any(chance is not None for chance in chances):
                yield [label, *("not known" if chance is None else percent(chance) for chance in chances)]

    def to_record(self, level: float = DEFAULT_LEVEL) -> dict[str, Any]:
        """Return it as plain data, with exact numbers."""
        low, high = f"p{50 * (1 - level):02.0f}", f"p{50 * (1 + level):02.0f}"
        return {
            "sentence": self.sentence,
            "given": dict(self.constraints),
            "binds": self.binds,
            "notes": list(self.notes),
            "plans": [
                {
                    "name": each.name, "device": each.device, "cards": each.cards,
                    **{n: {"unit": unit, **dict(zip((low, "p50", high), each.interval(n, level), strict=True))}
                       for n, _, unit in _lines(each.draws)},
                    "over_budget": each.over_budget, "late": each.late, "over_budget_by": dict(each.over),
                }
                for each in self.plans
            ],
        }  # fmt: skip


def plan(
    *,
    budget: float | str | None = None,
    compute: float | str | None = None,
    loss: float | str | None = None,
    size: float | str | None = None,
    tokens: float | str | None = None,
    days: float | str | None = None,
    by: str | float | None = None,
    cards: float | str | None = None,
    power: float | str | None = None,
    device: str = "",
    risk: float = 0.2,
    scenario: str = "",
    with_: Mapping[str, object] | None = None,
    data: OwnRows | None = None,
    draws: int = 2048,
    seed: int = 0,
) -> Plan:
    """Plan a training run: the options that are given settle those left open.

    One of the first five says how much is trained, one of the others how fast; each may be a number in its unit or a
    text with one. Where nothing says how fast, a run takes 90 days. `cards` and `days` together say how much, too.
    A further option is held against the plan: how likely is it to cost or last more?

    Parameters
    ----------
    budget, compute, loss, size, tokens : float or str, optional
        USD, FLOP, nat/token, parameters, tokens: ``"20M USD"``. The work that a budget or a number of days allows is
        what it does not exceed but with the probability `risk`. Without `size` or `tokens` the law says which model is
        best for the compute; with one of them and `loss` or compute the other follows.
    days, by, cards, power : float or str, optional
        How long it may take, or the date by which it is to be done, from the scenario's start on; devices; MW.
    device : str
        The device; by default the one on which the run is cheapest.
    risk : float
    scenario : str
        By default the one that plans (`ScenarioSpec.plans`). It has a choice ``device``, the quantities ``work`` and
        ``chips`` that are set, ``size``, ``tokens``, ``loss`` (a law with published parameters), ``duration``,
        ``cost``, ``energy``, ``carbon``, ``site_power`` and ``filled``, and opens with a ranking of devices.
    with_ : mapping, optional
        Other settings of the scenario: ``{"rent": "2 USD/hour"}``.
    data : path or mapping, optional
        Rows of one's own, as `forecast.project` takes them: quotes of devices.
    draws, seed : int

    Returns
    -------
    Plan
        An `Answer`; ``plans`` has the cheapest run, the fastest, and that of a smaller model of the same loss.

    Raises
    ------
    UsageError, UnknownNameError
        If nothing says how much, a number is none, or no plan is possible.

    Examples
    --------
    >>> import forecast
    >>> plan = forecast.plan(budget="20M USD", days=120, draws=256)
    >>> plan.plans[0].name, round(plan.plans[0].over_budget, 1), plan.binds
    ('cheapest', 0.2, 'budget')
    """
    options_by_name = {"budget": budget, "compute": compute, "loss": loss, "size": size, "tokens": tokens, "days": days,
              "cards": cards, "power": power}  # fmt: skip
    if not 0 < risk < 1:
        raise UsageError(f"plan: risk: expected a share between 0 and 1, got {risk:g}")
    base = Scenario.load(scenario or _planning_scenario())
    choice = base.choices["device"]
    own = device.lower().replace(" ", "-")  # RTX 4090: of the one name that ends so
    ends = [each for each in (*choice.values, *choice.left_out) if f"-{each}".endswith(f"-{own}")]
    device = ends[0] if len(ends) == 1 and device else device
    if device in choice.left_out:  # it may lack no more than a rent
        values = [device, *choice.values]
        base = Scenario.from_dict(
            {"extends": base.name, "choices": {"device": {"values": values, "kind": "definition"}}}
        )
    constraints = {name: _number(name, value) for name, value in options_by_name.items() if value is not None}
    if by is not None:
        constraints["days"] = min(constraints.get("days", math.inf), _days_until(by, base))
    for told, too_much in _TOLD_TWICE.items():
        if constraints.keys() >= set(told):
            first, second = told[:2]
            raise UsageError(f"plan: --{first} and --{second} say how much by themselves; leave {too_much} out")
    if "device" in (with_ or {}):
        raise UsageError("plan: set: device: it is named by --device")
    if not any(name in constraints for name in _HOW_MUCH) and not {"cards", "days"} <= set(constraints):
        raise UsageError(
            "plan: two things are open: say how much (--budget, --compute, --loss, --size or --tokens), or how fast "
            "with both --cards and --days"
        )
    options = {"draws": draws, "seed": seed, "data": data}
    planner = _Planner(base, constraints, device, risk, dict(with_ or {}), options)
    planner.device, work, n_cards, binds = planner.solve()
    if not constraints.keys() & {"compute", "size", "tokens"}:
        work = float(f"{work:.4g}")  # nobody plans to more digits, and they stand in its sentence
    if n_cards > _MAX_CARDS:
        raise UsageError(
            f"plan: it takes {n_cards:,.3g} {planner.device}: expected up to {_MAX_CARDS:,}, ten times those of the "
            f"largest site, which do {work * _MAX_CARDS / n_cards:.2g} FLOP in that time; ask for less or more days"
        )
    size_ = planner.best_size(work)
    if not constraints.keys() & {"size", "tokens"}:
        size_ = float(f"{size_:.4g}")
    cards_ = max(1, math.ceil(n_cards - _SAME))
    settings = {**planner.settings, "work": f"{work!r} FLOP", "chips": cards_, "size": f"{size_!r} param"}
    plans = tuple(planner.plans(cards_, work, size_))
    notes = []
    if not any(name in constraints for name in _HOW_FAST):
        notes.append(
            f"how fast was left open: {DEFAULT_DAYS:g} days are a free choice (--days, --by, --cards, --power)"
        )
    if (full := float(np.median(plans[0].draws["filled"]))) > 1:
        notes.append(
            f"the model's state fills the memory of its cards {full:.3g} times: it takes at least "
            f"{math.ceil(full * cards_):,} of them"
        )
    drawn = float(np.median(plans[0].draws["site_power"]))
    if drawn > constraints.get("power", math.inf) * (1 + _SAME):
        notes.append(
            f"so many cards draw {amount(drawn, 'MW')}, more than the {amount(constraints['power'], 'MW')} given"
        )
    options |= {"with_": settings}
    question = base.opens or next(iter(base.rankings))
    result = Plan._to(
        question={}, options=options, base=base, name=question, cache=planner.cache, constraints=constraints,
        plans=plans, binds=binds, notes=tuple(notes),
    )  # fmt: skip
    assert isinstance(result, Plan)
    return result


def _planning_scenario() -> str:
    found = [each.full_name for each in get_registry().records("scenario") if getattr(each.spec, "plans", False)]
    if len(found) != 1:
        which = f"several: {', '.join(found)}" if found else "none"
        raise UsageError(f"plan: expected one scenario that plans, got {which}; name it with scenario=")
    return found[0]


def _number(name: str, value: float | str) -> float:
    """Return an option in its unit."""
    unit, where = GIVEN_UNITS[name], f"plan: {name}"
    expected = f"{where}: expected a number{f' of {unit}' if unit else ''}, got '{printable(value, 40)}'"
    measured = parse_measured(value) if isinstance(value, str) else None
    try:
        number = float(units.convert(*measured, unit, where=where)) if measured else parse_set_number(name, value)
    except UnitError as error:
        if name != "budget":
            raise
        raise UnitError(
            f"{where}: expected an amount in USD, got '{printable(value, 40)}': convert another currency by the rate "
            "of the day"
        ) from error
    except UsageError:
        raise UsageError(expected) from None
    if name == "cards" and not 1 <= number <= _MAX_CARDS:
        raise UsageError(f"{where}: expected from 1 to {_MAX_CARDS:,}, got {number:g}")
    if number <= 0:
        raise UsageError(f"{where}: expected more than 0, got {number:g}")
    return number


def _days_until(by: str | float, base: Scenario) -> float:
    """Return the days from today, or from a later start of the scenario, to a date."""
    date = parse_year(by, "plan: by")
    start = max(float(base.start or 0), float(decimal_year([today()])[0]))
    if date <= start:
        raise UsageError(f"plan: by: {printable(by, 40)} is past: a run begins on {iso_date(start)} at the earliest")
    return (date - start) * 365.25


class _Planner:
    """What the scenario says of each device at some number of cards, and the search for what is open."""

    def __init__(
        self, base: Scenario, constraints: Mapping[str, float], device: str, risk: float, settings: dict[str, Any],
        options: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.base, self.constraints, self.risk, self.settings, self.options = base, constraints, risk, settings, options
        self.cache = RunCache(SHARED_BYTES)
        kind = base.quantities["loss"]
        assert isinstance(kind, LawRef)
        from forecast.laws import law

        name, _, published = str(kind.law).partition("@")
        self.fit = law(name).published(published)
        devices = base.choices["device"].values
        if device and device not in devices:
            raise UnknownNameError("device", device, (*devices, *base.choices["device"].left_out), where="plan")
        self.device = device

    def worlds(self, cards: float, work: float, **settings: object) -> dict[str, dict[str, Array]]:
        """Return the quantities of a run on so many cards, by device: work is what they follow."""
        settings = {**self.settings, "chips": cards, "work": f"{work!r} FLOP", **settings}
        run = run_scenario(self.base, with_=settings, keep=self.options["draws"], cache=self.cache, **self.options)
        devices = run.choices["device"].values
        out: dict[str, dict[str, Array]] = {name: {} for name in devices}
        for name, _, unit in _lines(run.worlds):
            array = run.worlds[name]
            values = array.isel(time=-1) if "time" in array.dims else array
            for each in devices:
                own = values.sel(device=each) if "device" in values.dims else values
                converted = units.convert(np.asarray(own.values), array.attrs["units"], unit, where=name)
                out[each][name] = np.atleast_1d(converted)
        return out

    def solve(self) -> tuple[str, float, float, str]:
        """Return the device, the work, the number of cards, and what decides: most work, or least cost for the same."""
        cards, work = self.constraints.get("cards", _FIRST_CARDS), self._wanted() or _FIRST_WORK
        settings = {"device": self.device} if self.device else {}
        first = self.worlds(cards, work, size=f"{self.best_size(work)!r} param", **settings)
        solved = (self._solve(device, cards, work, draws) for device, draws in first.items())
        return max(solved, key=lambda found: (found[1], -found[-1]))[:-1]

    def _solve(
        self, device: str, cards: float, work: float, each: Mapping[str, Array]
    ) -> tuple[str, float, float, str, float]:
        """Return the same of one device, and what it costs; it begins with what so much work on so many cards takes."""
        constraints = self.constraints
        for _ in range(_MAX_ROUNDS):
            unit_cost, unit_days = (self._at_risk(each[name] / work) for name in ("cost", "duration"))
            before, (work, binds) = work, self._work(unit_cost, unit_days)
            wanted = cards
            if "cards" not in constraints:
                # what takes so long on so many: links cost more on more of them, which is why this is repeated
                wanted = cards * work * unit_days / constraints.get("days", DEFAULT_DAYS)
                if "power" in constraints and "days" not in constraints:
                    wanted = cards * constraints["power"] / float(np.median(each["site_power"]))
            wanted = max(wanted, 1.0)
            if max(abs(wanted / cards - 1), abs(work / before - 1)) < _SAME:
                return device, work, wanted, binds, unit_cost
            cards = wanted
            each = self.worlds(cards, work, size=f"{self.best_size(work)!r} param", device=device)[device]
        raise UsageError("plan: no number of cards does it in time: what links cost grows as fast as what they add")

    def _at_risk(self, draws: Array) -> float:
        return float(np.quantile(draws, 1 - self.risk))

    def _work(self, unit_cost: float, unit_days: float) -> tuple[float, str]:
        """Return the work that is wanted or allowed, and what decides."""
        constraints = self.constraints
        wanted = self._wanted()
        if wanted is not None:
            return wanted, next(name for name in ("compute", "loss", "size", "tokens") if name in constraints)
        if "budget" in constraints and not math.isfinite(unit_cost):
            raise UsageError(f"plan: budget: no rent of {self.device} is known; state one: --set rent='2 USD/hour'")
        allowed = {"budget": constraints["budget"] / unit_cost} if "budget" in constraints else {}
        if {"cards", "days"} <= set(constraints):
            allowed["days"] = constraints["days"] / unit_days
        binds = min(allowed, key=lambda name: allowed[name])
        return allowed[binds], binds

    @cached_property
    def _compute_per_size(self) -> Array:
        """The best size at each of a grid of compute, as rows of both."""
        compute = np.geomspace(1e15, 1e32, 69)
        found, _ = best_splits(self.fit, self.fit.values, price_of(self.fit, "6*N*D"), compute)
        return np.array([compute, found["N"]])

    def _wanted(self) -> float | None:
        """Return the work that what is wanted takes; None where nothing is."""
        constraints = self.constraints
        if "compute" in constraints:
            return constraints["compute"]
        if "size" in constraints and "tokens" in constraints:
            return 6 * constraints["size"] * constraints["tokens"]
        fixed = next((name for name in ("size", "tokens") if name in constraints), "")
        if "loss" in constraints:
            if not fixed:
                return self._inverted(constraints["loss"], "compute")
            own, other = ("N", "D") if fixed == "size" else ("D", "N")
            return 6 * constraints[fixed] * self._inverted(constraints["loss"], other, **{own: constraints[fixed]})
        if not fixed or "budget" in constraints or {"cards", "days"} <= set(constraints):
            return None
        compute, sizes = np.log(self._compute_per_size)
        along = sizes if fixed == "size" else compute - sizes - math.log(6)
        return float(np.exp(np.interp(math.log(constraints[fixed]), along, compute)))

    def _inverted(self, loss: float, of: str, **variables: Any) -> float:
        found = self.fit.invert(y=loss, solve_for=of, draws=_LEAST_DRAWS, **variables)
        value = float(found[of])
        if not math.isfinite(value) or value <= 0:
            raise UsageError(f"plan: loss: no {of} gives {loss:g}: the law of {self.fit.name} ends above it")
        return value

    def best_size(self, work: float) -> float:
        """Return the size of the model: that which is given or follows, else the one that the law says is best."""
        if "size" in self.constraints:
            return self.constraints["size"]
        if "tokens" in self.constraints:
            return work / (6 * self.constraints["tokens"])
        return float(self.fit.allocate(work, draws=_LEAST_DRAWS)["N"])

    def plans(self, cards: int, work: float, size: float) -> Iterator[PlannedRun]:
        """Yield the cheapest run, the fastest where that is another, and one of a smaller model of the same loss."""
        per = self.worlds(cards, work, size=f"{size!r} param")
        planned = partial(self._planned, cards)
        own = self.device
        yield planned("cheapest" if self._wanted() or "budget" in self.constraints else "most compute", own, per[own])
        if (fastest := min(per, key=lambda name: float(np.median(per[name]["duration"])))) != own:
            number, draws = cards, per[fastest]
            if "power" in self.constraints and "cards" not in self.constraints:  # of cards that draw more, fewer
                number = max(1, int(cards * self.constraints["power"] / float(np.median(draws["site_power"]))))
                draws = self.worlds(number, work, size=f"{size!r} param")[fastest]
            if np.median(draws["duration"]) < np.median(per[own]["duration"]):
                yield self._planned(number, "fastest", fastest, draws)
        if self.constraints.keys() & {"size", "tokens"}:
            return
        # both at the fitted parameters: in a draw of them the best size is another
        smaller = float(f"{size / _SMALLER:.4g}")
        loss = float(self.fit.predict(N=size, D=work / (6 * size))["median"])
        tokens = float(self.fit.invert(y=loss, solve_for="D", N=smaller, draws=_LEAST_DRAWS)["D"])
        if math.isfinite(tokens) and tokens > 0:
            more = self.worlds(cards, 6 * smaller * tokens, size=f"{smaller!r} param")
            yield planned("smaller model", own, more[own])

    def _planned(self, cards: int, name: str, device: str, draws: Mapping[str, Array]) -> PlannedRun:
        budget, days = self.constraints.get("budget"), self.constraints.get("days")
        costs = [each for each in ("cost", *dict(COSTS)) if each in draws and np.isfinite(draws[each]).all()]
        over = {} if budget is None else {n: float(np.mean(draws[n] > budget * (1 + 1e-9))) for n in costs}
        return PlannedRun(
            name=name, device=device, cards=cards, draws=draws, over=over, over_budget=over.get("cost"),
            loss=self.constraints.get("loss"),
            late=None if days is None else float(np.mean(draws["duration"] > days * (1 + 1e-9))),
        )  # fmt: skip


def _lines(names: Container[Hashable]) -> Iterator[tuple[str, str, str]]:
    """Yield the lines of a plan, costs by who owns the devices below the cost; those alone that are there."""
    for name, label, unit in LINES:
        yield name, label, unit
        if name == "cost":
            yield from ((own, label, unit) for own, label in COSTS if own in names)


def _counted(number: float) -> str:
    """Say a count of parameters or tokens as the field does: 70B, 1.4T."""
    for size, letter in ((1e15, "Q"), (1e12, "T"), (1e9, "B"), (1e6, "M")):
        if number >= size * 0.9995:
            return f"{number / size:.3g}{letter}"
    return f"{number:,.0f}"


def _cell(interval: tuple[float, float, float], unit: str, factor: float) -> str:
    """Say a median and the ends of its interval in a unit that is `factor` times larger."""
    if unit in ("param", "token"):
        return _counted(interval[1])
    if not math.isfinite(interval[1]):
        return "not known"
    digits = 3 if unit == "nat/token" else None
    low, middle, high = (format_number(each / factor, digits) for each in interval)
    return middle if low == high else f"{middle} ({low} to {high})"


def _with_interval(low: float, middle: float, high: float, unit: str) -> str:
    """Say a median with its unit and its 90 % interval."""
    if unit == "nat/token":
        return f"{middle:.3g} (90 %: {low:.3g} to {high:.3g})" if low < high else f"{middle:.3g}"
    text = amount(middle, unit)
    return text if low == high else f"{text} (90 %: {' to '.join(amount_range(low, high, unit, middle))})"
