"""From money to a training run: constraints settle the open options, by a scenario of devices and a law of loss."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from forecast import units
from forecast.api.answer import Answer
from forecast.api.scenario import Scenario, run_scenario
from forecast.base.arrays import Array
from forecast.base.dates import decimal_year, iso_date, parse_year, today
from forecast.base.quantiles import DEFAULT_LEVEL
from forecast.contract.registry import get_registry
from forecast.errors import UnitError, UnknownNameError, UsageError, first_names, printable
from forecast.planning.allocate import best_splits, price_of
from forecast.projection.paths.run_cache import SHARED_BYTES, RunCache
from forecast.projection.source_tables import OwnRows
from forecast.report.words.number_text import amount, amount_range, format_number, percent, scale_of
from forecast.scenarios.settings.setting_values import parse_measured, parse_set_number

Amount = float | str | None

#: The options and their units in a plan; the first five say how much is trained, the others how fast.
GIVEN_UNITS = {
    "budget": "USD", "compute": "FLOP", "loss": "nat/token", "size": "param", "tokens": "token",
    "days": "day", "cards": "", "power": "MW",
}  # fmt: skip
_HOW_MUCH, _HOW_FAST = frozenset([*GIVEN_UNITS][:5]), frozenset([*GIVEN_UNITS][5:])
#: A plan's lines by the quantity of the scenario: what it is called, and its unit. Costs by who owns the devices need
#: not be there, and are not known where no table gives an amount; those that begin with a dash are parts of the rent.
LINES = {
    "work": ("compute", "FLOP"), "size": ("parameters", "param"), "tokens": ("tokens", "token"),
    "loss": ("loss", "nat/token"), "duration": ("duration", "day"), "cost": ("rent", "USD"),
    "cost_specialised": ("- specialised", "USD"), "cost_marketplace": ("- marketplace", "USD"),
    "cost_hyperscaler": ("- large cloud", "USD"), "cost_owned": ("own", "USD"), "energy": ("electricity", "MWh"),
    "carbon": ("CO2", "Mg"), "site_power": ("power", "MW"), "filled": ("memory filled", ""),
}  # fmt: skip
#: Where nothing says how fast.
DEFAULT_DAYS = 90.0
#: The other model that is offered is so much smaller.
_SMALLER = 2.0
#: Of a law whose fitted parameters alone are asked for.
_LEAST_DRAWS = 100
#: More than ten times those of the largest site.
_MAX_CARDS = 10_000_000
_FIRST_CARDS, _FIRST_WORK, _MAX_ROUNDS, _SAME = 1024.0, 1e24, 20, 1e-3
#: Compute for which the law is asked which size is best.
_COMPUTE_GRID = np.geomspace(1e15, 1e32, 69)


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """One way to do it.

    Parameters
    ----------
    name : str
        ``"cheapest"`` (``"most compute"`` where days and cards or power are given alone), ``"device given"``,
        ``"fastest"`` or ``"smaller model"``.
    device : str
    cards : int
    draws : mapping of str to ndarray
        The quantities of `LINES` in their units, a number a world; one where nothing is uncertain, and not a number of
        a cost that is not known.
    over : mapping of str to float
        How likely each of the costs that are known is more than the budget, and the duration more than the days:
        ``over["cost"]``, ``over["duration"]``; without those that were left open.
    loss : float, optional
        What was given: it is reached at the fitted parameters of the law, and stands for the median of its draws.
    """

    name: str
    device: str
    cards: int
    draws: Mapping[str, Array]
    over: Mapping[str, float] = field(default_factory=dict)
    loss: float | None = None

    def interval(self, name: str, level: float = DEFAULT_LEVEL) -> tuple[float, float, float]:
        """Return the lower end, the median and the upper end of a quantity."""
        low, middle, high = np.quantile(self.draws[name], [(1 - level) / 2, 0.5, (1 + level) / 2]).tolist()
        if name == "loss" and self.loss is not None:
            return min(low, self.loss), self.loss, max(high, self.loss)
        return low, middle, high


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
        first, rent = self.plans[0], _known_rent(self.plans[0].draws)
        size, tokens = (_format_count(first.interval(name)[1]) for name in ("size", "tokens"))
        kind = f" at {LINES[rent][0].removeprefix('- ')} rents" if rent not in ("", "cost") else ""
        cost = f" for {_with_interval(first, rent)}{kind}" if rent else ", and what renting costs is not known"
        missed = "".join(
            f", more than {amount(self.constraints[limit], GIVEN_UNITS[limit], 3)}: {percent(chance)}"
            for name, limit in (("cost", "budget"), ("duration", "days"))
            if (chance := first.over.get(name, 0.0)) > 0.5
        )
        return (
            f"{first.cards:,} {'rented ' if rent else ''}{self.called(first.device)} train {size} parameters on "
            f"{tokens} tokens to a loss of {first.interval('loss')[1]:.3g} in {_with_interval(first, 'duration')}"
            f"{cost}{missed}."
        )

    def called(self, device: str) -> str:
        """Return how a device is called."""
        return str(self.run.labels.get(device, device))

    def rows(self, level: float = DEFAULT_LEVEL) -> Iterator[list[str]]:
        """Yield the lines of the plans side by side: a label with the unit, and the median and interval in each.

        One screen: the power and the share of the memory, where nothing asks for them, are in `to_record` alone, as is
        how likely every owner's cost is over the budget.
        """
        hidden = {"filled"} if "power" in self.constraints else {"filled", "site_power"}
        yield ["device", *(self.called(each.device) for each in self.plans)]
        yield ["cards", *(f"{each.cards:,}" for each in self.plans)]
        for name in (each for each in self.plans[0].draws if each not in hidden):
            (label, unit), every = LINES[name], [each.interval(name, level) for each in self.plans]
            is_part = label.startswith("-")  # which has the unit of the rent above it
            if not is_part:
                known = _known_rent(self.plans[0].draws) or name if name == "cost" else name  # parts are in its unit
                factor, named = scale_of([each.interval(known, level)[2] for each in self.plans], unit)
            shown = "" if unit in ("param", "token") or is_part else named
            yield [", ".join(filter(None, (label, shown))), *(_interval_cell(each, unit, factor) for each in every)]
        for label, key, limit in (("over budget", "cost", "budget"), ("late", "duration", "days")):
            if limit in self.constraints:
                yield [label, *(percent(each.over[key]) if key in each.over else "not known" for each in self.plans)]

    def _lead(self) -> tuple[str, list[list[str]]]:
        return self.sentence, [["", *(each.name for each in self.plans)], *self.rows()]

    def to_record(self, level: float = DEFAULT_LEVEL) -> dict[str, Any]:
        """Return it as plain data, with exact numbers."""
        keys = "unit", f"p{50 * (1 - level):02.0f}", "p50", f"p{50 * (1 + level):02.0f}"
        return {
            "sentence": self.sentence,
            "given": dict(self.constraints),
            "binds": self.binds,
            "notes": list(self.notes),
            "plans": [
                {
                    "name": each.name, "device": each.device, "cards": each.cards,
                    **{n: dict(zip(keys, (LINES[n][1], *each.interval(n, level)), strict=True)) for n in each.draws},
                    "over_budget": each.over.get("cost"), "late": each.over.get("duration"),
                    "over_budget_by": {name: chance for name, chance in each.over.items() if name != "duration"},
                }
                for each in self.plans
            ],
        }  # fmt: skip


def plan(
    *, budget: Amount = None, compute: Amount = None, loss: Amount = None, size: Amount = None, tokens: Amount = None,
    days: Amount = None, by: str | float | None = None, cards: Amount = None, power: Amount = None, device: str = "",
    risk: float = 0.2, scenario: str = "", with_: Mapping[str, object] | None = None, data: OwnRows | None = None,
    draws: int = 2048, seed: int = 0,
) -> Plan:  # fmt: skip
    """Plan a training run: the options that are given settle those left open.

    One of the first five says how much is trained, one of the others how fast; each may be a number in its unit or a
    text with one. Where nothing says how fast, a run takes 90 days. `days` with `cards` or `power` say how much, too.
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
    >>> plan.plans[0].name, round(plan.plans[0].over["cost"], 1), plan.binds
    ('cheapest', 0.2, 'budget')
    """
    given = {"budget": budget, "compute": compute, "loss": loss, "size": size, "tokens": tokens, "days": days,
             "cards": cards, "power": power}  # fmt: skip
    constraints = {name: _parse_option(name, value) for name, value in given.items() if value is not None}
    base = Scenario.load(scenario or _planning_scenario())
    if by is not None:
        constraints["days"] = min(constraints.get("days", math.inf), _days_until(by, base))
    told = [name for name in constraints if name in _HOW_MUCH - {"budget"}]
    if len(told) > 2 or {"compute", "loss"} <= constraints.keys():  # compute and loss follow from size and tokens
        raise UsageError(f"plan: {' and '.join(f'--{name}' for name in told)} say too much: leave one of them out")
    if not 0 < risk < 1:
        raise UsageError(f"plan: risk: expected a share between 0 and 1, got {risk:g}")
    if "device" in (with_ or {}):
        raise UsageError("plan: set: device: it is named by --device")
    if not constraints.keys() & _HOW_MUCH and not _is_timed(constraints):
        raise UsageError(
            "plan: two things are open: say how much (--budget, --compute, --loss, --size or --tokens), or how fast "
            "with --days and one of --cards and --power"
        )
    base, device = _with_device(base, device)
    options = {"draws": draws, "seed": seed, "data": data}
    return _Planner(base, constraints, device, risk, dict(with_ or {}), options).plan()


def _planning_scenario() -> str:
    found = [each.full_name for each in get_registry().records("scenario") if getattr(each.spec, "plans", False)]
    if len(found) != 1:
        raise UsageError(f"plan: name one by scenario=: {', '.join(found) or 'no scenario'} plans by itself")
    return found[0]


def _with_device(base: Scenario, device: str) -> tuple[Scenario, str]:
    """Return a device by its full name, of which the end will do, and the scenario, which has it among its choices."""
    choice = base.choices["device"]
    known, end = [*choice.values, *choice.left_out], f"-{device.lower().replace(' ', '-')}"
    named = [each for each in known if device and f"-{each}".endswith(end)]
    device = named[0] if len(named) == 1 else device
    if device in choice.left_out:  # it may lack no more than a rent
        values = {"values": [device, *choice.values], "kind": "definition"}
        return Scenario.from_dict({"extends": base.name, "choices": {"device": values}}), device
    if device and device not in known:
        several = [each for each in known if device.lower() in each]  # a name of several: H100
        note = f"there are {first_names(several)}" if len(several) > 1 else ""
        raise UnknownNameError("device", device, known, where="plan", note=note)
    return base, device


def _parse_option(name: str, value: float | str) -> float:
    """Return an option in its unit."""
    unit, where = GIVEN_UNITS[name], f"plan: {name}"
    try:
        measured = parse_measured(value) if isinstance(value, str) else None
        number = float(units.convert(*measured, unit, where=where)) if measured else parse_set_number(name, value)
    except UnitError:
        raise
    except UsageError:
        expected = f"a number{f' of {unit}' if unit else ''}"
        raise UsageError(f"{where}: expected {expected}, got '{printable(value, 40)}'") from None
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


@dataclass(eq=False)
class _Planner:
    """What the scenario says of each device at some number of cards, and the search for what is open."""

    base: Scenario
    constraints: Mapping[str, float]
    device: str
    risk: float
    settings: dict[str, Any]
    options: Mapping[str, Any]
    cache: RunCache = field(default_factory=lambda: RunCache(SHARED_BYTES))

    @cached_property
    def fit(self) -> Any:
        from forecast.laws import law

        name, _, published = str(self.base.quantities["loss"].law).partition("@")  # type: ignore[attr-defined]
        return law(name).published(published)

    def plan(self) -> Plan:
        """Return the plans, what decides, and what else is to be said."""
        constraints = self.constraints
        chosen, work, n_cards, binds = self.solve()
        if not constraints.keys() & {"compute", "size", "tokens"}:
            work = float(f"{work:.4g}")  # nobody plans to more digits, and they stand in its sentence
        size = self.best_size(work)
        if not constraints.keys() & {"size", "tokens"}:
            size = float(f"{size:.4g}")
        cards = max(1, math.ceil(n_cards - _SAME))
        plans, notes = tuple(self.runs(chosen, cards, work, size)), []
        if not constraints.keys() & _HOW_FAST:
            notes.append(
                f"how fast was left open: {DEFAULT_DAYS:g} days are a free choice (--days, --by, --cards, --power)"
            )
        full, drawn = (float(np.median(plans[0].draws[name])) for name in ("filled", "site_power"))
        if full > 1:
            notes.append(
                f"the model's state fills the memory of its cards {full:.3g} times: it takes at least "
                f"{math.ceil(full * cards):,} of them"
            )
        if drawn > (most := constraints.get("power", math.inf)) * (1 + _SAME):
            notes.append(f"so many cards draw {amount(drawn, 'MW')}, more than the {amount(most, 'MW')} given")
        settings = {**self.settings, "work": f"{work!r} FLOP", "chips": cards, "size": f"{size!r} param"}
        result = Plan._to(
            question={}, options={**self.options, "with_": settings}, base=self.base, cache=self.cache,
            name=self.base.opens or next(iter(self.base.rankings)), constraints=constraints, plans=plans, binds=binds,
            notes=tuple(notes),
        )  # fmt: skip
        assert isinstance(result, Plan)
        return result

    def worlds(self, cards: float, work: float, size: float, **settings: object) -> dict[str, dict[str, Array]]:
        """Return the quantities of a run on so many cards, by device: work and size are what they follow."""
        if not 1 <= cards <= _MAX_CARDS:
            raise UsageError(
                f"plan: cards: expected from 1 to {_MAX_CARDS:,}, ten times those of the largest site, got "
                f"{cards:.3g}: ask for less, or for more days"
            )
        settings |= {**self.settings, "chips": cards, "work": f"{work!r} FLOP", "size": f"{size!r} param"}
        run = run_scenario(self.base, with_=settings, keep=self.options["draws"], cache=self.cache, **self.options)
        out: dict[str, dict[str, Array]] = {name: {} for name in run.choices["device"].values}
        for name in (each for each in LINES if each in run.worlds):
            array = run.worlds[name]
            values = array.isel(time=-1) if "time" in array.dims else array
            for each, draws in out.items():
                own = values.sel(device=each) if "device" in values.dims else values
                converted = units.convert(np.asarray(own.values), array.attrs["units"], LINES[name][1], where=name)
                draws[name] = np.atleast_1d(converted)
        return out

    def solve(self) -> tuple[str, float, float, str]:
        """Return the device, the work, the number of cards, and what decides: most work, or least cost for the same."""
        cards, [work] = self.constraints.get("cards", _FIRST_CARDS), self.wanted.values() or [_FIRST_WORK]
        first = self.worlds(cards, work, self.best_size(work), **({"device": self.device} if self.device else {}))
        solved = (self._solve(device, cards, work, draws) for device, draws in first.items())
        return max(solved, key=lambda found: (found[1], -found[-1]))[:-1]

    def _solve(
        self, device: str, cards: float, work: float, each: Mapping[str, Array]
    ) -> tuple[str, float, float, str, float]:
        """Return the same of one device, and what it costs; it begins with what so much work on so many cards takes."""
        constraints = self.constraints
        for _ in range(_MAX_ROUNDS):
            bounded, most = (_known_rent(each) or "cost", "duration"), self.most_cards(cards, each)
            unit_cost, unit_days = (float(np.quantile(each[n] / work, 1 - self.risk)) for n in bounded)
            allowed = dict(self.wanted)
            if not allowed and "budget" in constraints:
                if not math.isfinite(unit_cost):
                    raise UsageError(f"plan: budget: no rent of {device} is known; state one: --set rent='2 USD/hour'")
                allowed["budget"] = constraints["budget"] / unit_cost
            if not self.wanted and _is_timed(constraints):
                allowed["days"] = constraints["days"] / unit_days * most / cards
            before, (work, binds) = work, min((most, name) for name, most in allowed.items())
            # what takes so long on so many: links cost more on more of them, which is why this is repeated
            needed = cards * work * unit_days / constraints.get("days", DEFAULT_DAYS)
            is_given = "cards" in constraints or ("power" in constraints and "days" not in constraints)
            wanted = max(most if is_given else min(most, needed), 1.0)
            if max(abs(wanted / cards - 1), abs(work / before - 1)) < _SAME:
                return device, work, wanted, binds, unit_cost
            cards = wanted
            each = self.worlds(cards, work, self.best_size(work), device=device)[device]
        raise UsageError("plan: no number of cards does it in time: what links cost grows as fast as what they add")

    def most_cards(self, cards: float, draws: Mapping[str, Array]) -> float:
        """Return the number of devices that is given, or that draw the power given, by what some draw."""
        if "cards" in self.constraints or "power" not in self.constraints:
            return self.constraints.get("cards", math.inf)
        return math.floor(cards * self.constraints["power"] / float(np.median(draws["site_power"])) + _SAME)

    @cached_property
    def wanted(self) -> Mapping[str, float]:
        """The work that what is wanted takes, by the option that says so; empty if time or money say how much."""
        given = self.constraints
        fixed = next((name for name in ("size", "tokens") if name in given), "")
        if "compute" in given:
            return {"compute": given["compute"]}
        if "loss" in given:
            own, other = ("D", "N") if fixed == "tokens" else ("N", "D")
            goal, variables = (other, {own: given[fixed]}) if fixed else ("compute", {})
            found = float(self.fit.invert(y=given["loss"], solve_for=goal, draws=_LEAST_DRAWS, **variables)[goal])
            if not math.isfinite(found) or found <= 0:
                raise UsageError(
                    f"plan: loss: no {goal} gives {given['loss']:g}: the law of {self.fit.name} ends above it"
                )
            return {"loss": 6 * given[fixed] * found if fixed else found}
        if {"size", "tokens"} <= given.keys():
            return {"size": 6 * given["size"] * given["tokens"]}
        if not fixed or "budget" in given or _is_timed(given):
            return {}
        sizes = best_splits(self.fit, self.fit.values, price_of(self.fit, "6*N*D"), _COMPUTE_GRID)[0]["N"]
        along = sizes if fixed == "size" else _COMPUTE_GRID / (6 * sizes)
        return {fixed: float(np.exp(np.interp(math.log(given[fixed]), np.log(along), np.log(_COMPUTE_GRID))))}

    def best_size(self, work: float) -> float:
        """Return the size of the model: that which is given or follows, else the one that the law says is best."""
        if "size" in self.constraints:
            return self.constraints["size"]
        if "tokens" in self.constraints:
            return work / (6 * self.constraints["tokens"])
        return float(self.fit.allocate(work, draws=_LEAST_DRAWS)["N"])

    def runs(self, own: str, cards: int, work: float, size: float) -> Iterator[PlannedRun]:
        """Yield the cheapest run, the fastest where that is another, and one of a smaller model of the same loss."""
        per = self.worlds(cards, work, size)
        best = "cheapest" if self.wanted or "budget" in self.constraints else "most compute"
        yield self._planned("device given" if self.device else best, own, cards, per[own])
        days = {name: float(np.median(draws["duration"])) for name, draws in per.items()}
        # a rent that is given with a device is of no other
        if (fastest := min(days, key=days.__getitem__)) != own and not (self.device and "rent" in self.settings):
            number = max(1, int(min(cards, self.most_cards(cards, per[fastest]))))  # of those that draw more, fewer
            draws = self.worlds(number, work, size)[fastest]
            if np.median(draws["duration"]) < days[own]:
                yield self._planned("fastest", fastest, number, draws)
        if self.constraints.keys() & {"size", "tokens"}:
            return
        # both at the fitted parameters: in a draw of them the best size is another
        smaller = float(f"{size / _SMALLER:.4g}")
        loss = float(self.fit.predict(N=size, D=work / (6 * size))["median"])
        tokens = float(self.fit.invert(y=loss, solve_for="D", N=smaller, draws=_LEAST_DRAWS)["D"])
        if math.isfinite(tokens) and tokens > 0:
            yield self._planned("smaller model", own, cards, self.worlds(cards, 6 * smaller * tokens, smaller)[own])

    def _planned(self, name: str, device: str, cards: int, draws: Mapping[str, Array]) -> PlannedRun:
        limits = {each: "budget" for each in draws if each.startswith("cost")} | {"duration": "days"}
        known = {**draws, "cost": draws[_known_rent(draws) or "cost"]}
        over = {
            each: float(np.mean(known[each] > self.constraints[limit] * (1 + 1e-9)))
            for each, limit in limits.items() if limit in self.constraints and np.isfinite(known[each]).all()
        }  # fmt: skip
        return PlannedRun(
            name=name, device=device, cards=cards, draws=draws, over=over, loss=self.constraints.get("loss")
        )


def _known_rent(draws: Mapping[str, Array]) -> str:
    """Return the first cost of renting that is known, whoever rents out or by a kind of cloud; empty if none is."""
    return next((n for n in draws if n.startswith("cost") and n != "cost_owned" and np.isfinite(draws[n]).all()), "")


def _is_timed(constraints: Mapping[str, float]) -> bool:
    """Return True if the options say how long how many devices compute."""
    return "days" in constraints and bool(constraints.keys() & {"cards", "power"})


def _format_count(number: float) -> str:
    """Say a count of parameters or tokens as the field does: 70B, 1.4T."""
    for size, letter in ((1e15, "Q"), (1e12, "T"), (1e9, "B"), (1e6, "M")):
        if number >= size * 0.9995:
            return f"{number / size:.3g}{letter}"
    return f"{number:,.0f}"


def _interval_cell(interval: tuple[float, float, float], unit: str, factor: float) -> str:
    """Say a median and the ends of its interval in a unit that is `factor` times larger."""
    if unit in ("param", "token"):
        return _format_count(interval[1])
    if not math.isfinite(interval[1]):
        return "not known"
    low, middle, high = (format_number(each / factor, 3 if unit == "nat/token" else None) for each in interval)
    return middle if low == high else f"{middle} ({low} to {high})"


def _with_interval(run: PlannedRun, name: str) -> str:
    """Say the median of a quantity of a run with its unit and its 90 % interval."""
    (low, middle, high), unit = run.interval(name), LINES[name][1]
    ends = f" (90 %: {' to '.join(amount_range(low, high, unit, middle))})" if low != high else ""
    return f"{amount(middle, unit)}{ends}"
