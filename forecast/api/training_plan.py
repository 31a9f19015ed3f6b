"""From money to a training run: constraints settle the open options, by a scenario of devices and a law of loss."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from forecast import units
from forecast.api.answer import Answer
from forecast.api.scenario import Scenario, run_scenario
from forecast.base.arrays import Array
from forecast.base.dates import decimal_year, iso_date, parse_year, today
from forecast.base.lazy import xr
from forecast.base.quantiles import DEFAULT_LEVEL
from forecast.contract.registry import get_registry
from forecast.errors import UnknownNameError, UsageError, first_names, printable
from forecast.laws import law
from forecast.planning.allocate import best_splits, price_of
from forecast.projection.paths.run_cache import SHARED_BYTES, RunCache
from forecast.projection.source_tables import OwnRows
from forecast.report.headline import driver_labels
from forecast.report.words.number_text import amount, amount_range, format_number, percent, scale_of
from forecast.scenarios.settings.setting_values import parse_measured, parse_set_number
from forecast.sensitivity.first_order import MIN_DRIVER_SHARE, variance_shares

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
    cards : number
    draws : mapping of str to ndarray
        The quantities of `LINES` in their units, a number a world; one where nothing is uncertain, and not a number of
        a cost that is not known.
    constraints : mapping of str to float
        What was given. A loss is reached at the fitted parameters of the law, and stands for the median of its draws.
    """

    name: str
    device: str
    cards: float
    draws: Mapping[str, Array]
    constraints: Mapping[str, float]

    @property
    def rent(self) -> str:
        """The first cost of renting that is known, whoever rents out or by a kind of cloud; empty if none is."""
        costs = (name for name in self.draws if name.startswith("cost") and name != "cost_owned")
        return next((name for name in costs if np.isfinite(self.draws[name]).all()), "")

    @property
    def over(self) -> dict[str, float]:
        """How likely each cost that is known is more than the budget, and the duration more than the days."""
        known = {name: each for name, each in self.draws.items() if name.startswith("cost") or name == "duration"}
        known |= {"cost": self.draws[self.rent]} if self.rent else {}
        limits = {name: self.constraints.get("days" if name == "duration" else "budget") for name in known}
        return {
            name: float(np.mean(known[name] > limit * (1 + 1e-9)))
            for name, limit in limits.items() if limit is not None and np.isfinite(known[name]).all()
        }  # fmt: skip

    def median(self, name: str) -> float:
        """Return the median of a quantity."""
        return float(np.median(self.draws[name]))

    def interval(self, name: str, level: float = DEFAULT_LEVEL) -> tuple[float, float, float]:
        """Return the lower end, the median and the upper end of a quantity."""
        low, middle, high = np.quantile(self.draws[name], [(1 - level) / 2, 0.5, (1 + level) / 2]).tolist()
        middle = self.constraints.get(name, middle) if name == "loss" else middle
        return min(low, middle), middle, max(high, middle)


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
        first, rent = self.plans[0], self.plans[0].rent
        label = self.run.labels.get(first.device, first.device)
        size, tokens = (_format_count(first.interval(name)[1]) for name in ("size", "tokens"))
        kind = f" at {LINES[rent][0].removeprefix('- ')} rents" if rent not in ("", "cost") else ""
        cost = f" for {_with_interval(first, rent)}{kind}" if rent else ", and what renting costs is not known"
        missed = "".join(
            f", more than {amount(self.constraints[limit], GIVEN_UNITS[limit], 3)}: {percent(chance)}"
            for name, limit in (("cost", "budget"), ("duration", "days"))
            if (chance := first.over.get(name, 0.0)) > 0.5
        )
        return (
            f"{first.cards:,} {'rented ' if rent else ''}{label} train {size} parameters on {tokens} tokens to a loss "
            f"of {first.interval('loss')[1]:.3g} in {_with_interval(first, 'duration')}{cost}{missed}."
        )

    @cached_property
    def drivers(self) -> dict[str, float]:
        """The uncertain numbers that move the days of the first run, and so its costs: shares of the variance."""
        rows = variance_shares(self.run, xr.DataArray(self.plans[0].draws["duration"], dims="draw"))
        rows = [row for row in rows if row["share"] >= MIN_DRIVER_SHARE]
        labels = driver_labels(self.run, [row["name"] for row in rows])
        return {label: row["share"] for label, row in zip(labels, rows, strict=True)}

    def rows(self, level: float = DEFAULT_LEVEL) -> Iterator[list[str]]:
        """Yield the lines of the plans side by side: a label with the unit, and the median and interval in each.

        One screen: the power and the share of the memory, where nothing asks for them, are in `to_record` alone, as is
        how likely every owner's cost is over the budget.
        """
        hidden = {"filled"} if "power" in self.constraints else {"filled", "site_power"}
        yield ["device", *(self.run.labels.get(each.device, each.device) for each in self.plans)]
        yield ["cards", *(f"{each.cards:,}" for each in self.plans)]
        for name in (each for each in self.plans[0].draws if each not in hidden):
            (label, unit), every = LINES[name], [each.interval(name, level) for each in self.plans]
            paid = self.plans[0].rent if unit == "USD" else ""  # all costs are in the unit of the rent
            factor, named = scale_of([each.interval(paid or name, level)[2] for each in self.plans], unit)
            shown = "" if unit in ("param", "token") or label.startswith("-") else f", {named}" if named else ""
            yield [f"{label}{shown}", *(_interval_cell(each, unit, factor) for each in every)]
        for label, key, limit in (("over budget", "cost", "budget"), ("late", "duration", "days")):
            if limit in self.constraints:
                yield [label, *(percent(each.over[key]) if key in each.over else "not known" for each in self.plans)]

    def _lead(self) -> tuple[str, list[list[str]]]:
        return self.sentence, [["", *(each.name for each in self.plans)], *self.rows()]

    def to_record(self, level: float = DEFAULT_LEVEL) -> dict[str, Any]:
        """Return it as plain data, with exact numbers."""
        keys = "unit", f"p{50 * (1 - level):02.0f}", "p50", f"p{50 * (1 + level):02.0f}"
        runs = [
            {
                "name": each.name, "device": each.device, "cards": each.cards,
                **{n: dict(zip(keys, (LINES[n][1], *each.interval(n, level)), strict=True)) for n in each.draws},
                "over_budget": each.over.get("cost"), "late": each.over.get("duration"),
                "over_budget_by": {name: chance for name, chance in each.over.items() if name != "duration"},
            }
            for each in self.plans
        ]  # fmt: skip
        drivers = [{"name": name, "share": share} for name, share in self.drivers.items()]
        about = {"given": dict(self.constraints), "binds": self.binds, "notes": list(self.notes), "drivers": drivers}
        return {"sentence": self.sentence, **about, "plans": runs}


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
    is_twice = (
        len(told) > 2 or {"compute", "loss"} <= constraints.keys()
    )  # compute and loss follow from size and tokens
    for is_wrong, why in (
        (is_twice, f"{' and '.join(f'--{name}' for name in told)} say too much: leave one of them out"),
        (not 0 < risk < 1, f"risk: expected a share between 0 and 1, got {risk:g}"),
        ("device" in (with_ or {}), "set: device: it is named by --device"),
        (not constraints.keys() & _HOW_MUCH and not _is_timed(constraints),
         "two things are open: say how much (--budget, --compute, --loss, --size or --tokens), or how fast with --days "
         "and one of --cards and --power"),
    ):  # fmt: skip
        if is_wrong:
            raise UsageError(f"plan: {why}")
    base, device = _with_device(base, device)
    options = {"draws": draws, "seed": seed, "data": data}
    return _Planner(base, constraints, device, risk, dict(with_ or {}), options).plan()


def _planning_scenario() -> str:
    found = [each.full_name for each in get_registry().records("scenario") if each.spec.plans]
    if len(found) != 1:
        raise UsageError(f"plan: name one by scenario=: {', '.join(found) or 'no scenario'} plans by itself")
    return found[0]


def _with_device(base: Scenario, device: str) -> tuple[Scenario, str]:
    """Return a device by its full name, of which the end will do, and the scenario, which has it among its choices."""
    choice = base.choices["device"]
    known, asked = [*choice.values, *choice.left_out], device.lower().replace(" ", "-")
    named = [each for each in known if f"-{each}".endswith(f"-{asked}")] or [device]
    if device and (len(named) > 1 or named[0] not in known):
        several = [each for each in known if asked in each]  # a name of several: H100
        note = f"there are {first_names(several)}" if len(several) > 1 else ""
        raise UnknownNameError("device", device, known, where="plan", note=note)
    if device and named[0] in choice.left_out:  # it may lack no more than a rent
        values = {"values": [named[0], *choice.values], "kind": "definition"}
        base = Scenario.from_dict({"extends": base.name, "choices": {"device": values}})
    return base, named[0] if device else ""


def _parse_option(name: str, value: float | str) -> float:
    """Return an option in its unit."""
    measured = parse_measured(value) if isinstance(value, str) else None
    if measured:
        number = float(units.convert(*measured, GIVEN_UNITS[name], where=f"plan: {name}"))
    else:
        number = parse_set_number(name, value, verb="plan:")
    if number <= 0:
        raise UsageError(f"plan: {name}: expected more than 0, got {number:g}")
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
        name, _, published = str(self.base.quantities["loss"].law).partition("@")  # type: ignore[attr-defined]
        return law(name).published(published)

    def plan(self) -> Plan:
        """Return the plans, what decides, and what else is to be said."""
        constraints, given = self.constraints, self.constraints.keys()
        device, work, n_cards, binds = self.solve()
        # nobody plans to more digits than four, and what was left open stands in its sentence
        work = work if given & {"compute", "size", "tokens"} else float(f"{work:.4g}")
        size = self.best_size(work) if given & {"size", "tokens"} else float(f"{self.best_size(work):.4g}")
        cards = max(1, math.ceil(n_cards - _SAME))
        plans = tuple(self.runs(device, cards, work, size))
        full, drawn = plans[0].median("filled"), plans[0].median("site_power")
        power = constraints.get("power", drawn)
        notes = {
            f"how fast was left open: {DEFAULT_DAYS:g} days are a free choice (--days, --by, --cards, --power)":
                not given & _HOW_FAST,
            f"the model's state fills the memory of its cards {full:.3g} times: it takes at least "
            f"{math.ceil(full * cards):,} of them": full > 1,
            f"so many cards draw {amount(drawn, 'MW')}, more than the {amount(power, 'MW')} given":
                drawn > power * (1 + _SAME),
        }  # fmt: skip
        return Plan._to(
            question={}, options={**self.options, "with_": self.set_to(cards, work, size)}, base=self.base,
            cache=self.cache, name=self.base.opens or next(iter(self.base.rankings)), constraints=constraints,
            plans=plans, binds=binds, notes=tuple(note for note, holds in notes.items() if holds),
        )  # fmt: skip

    def set_to(self, cards: float, work: float, size: float) -> dict[str, Any]:
        """Return the settings of the scenario of a run."""
        return {**self.settings, "chips": cards, "work": f"{work!r} FLOP", "size": f"{size!r} param"}

    def worlds(self, cards: float, work: float, size: float, **chosen: str) -> dict[str, PlannedRun]:
        """Return a run on so many cards by device, without a name: work and size are what it follows."""
        if not 1 <= cards <= _MAX_CARDS:
            raise UsageError(
                f"plan: cards: expected from 1 to {_MAX_CARDS:,}, ten times those of the largest site, got "
                f"{cards:.3g}: ask for less, or for more days"
            )
        settings = self.set_to(cards, work, size) | chosen
        run = run_scenario(self.base, with_=settings, keep=self.options["draws"], cache=self.cache, **self.options)
        draws: dict[str, dict[str, Array]] = {device: {} for device in run.choices["device"].values}
        for name in (each for each in LINES if each in run.worlds):
            array = run.worlds[name].isel(time=-1, missing_dims="ignore")
            for device, its in draws.items():
                own = array.sel(device=device) if "device" in array.dims else array
                its[name] = np.atleast_1d(units.convert(own.values, array.attrs["units"], LINES[name][1], where=name))
        made = partial(PlannedRun, name="", cards=cards, constraints=self.constraints)
        return {device: made(device=device, draws=its) for device, its in draws.items()}

    def solve(self) -> tuple[str, float, float, str]:
        """Return the device, the work, the number of cards, and what decides: most work, or least cost for the same."""
        cards, [work] = self.constraints.get("cards", _FIRST_CARDS), self.wanted.values() or [_FIRST_WORK]
        first = self.worlds(cards, work, self.best_size(work), **({"device": self.device} if self.device else {}))
        return max(map(self._solve, first.values()), key=lambda found: (found[1], -found[-1]))[:-1]

    def _solve(self, run: PlannedRun) -> tuple[str, float, float, str, float]:
        """Return the same of one device, and what it costs; it begins with some run on it."""
        given = self.constraints
        for _ in range(_MAX_ROUNDS):
            before, most = run.median("work"), self.most_cards(run)
            bounded = (run.draws[name] / before for name in (run.rent or "cost", "duration"))
            unit_cost, unit_days = (float(np.quantile(each, 1 - self.risk)) for each in bounded)
            allowed = dict(self.wanted)
            if not allowed and "budget" in given:
                if not math.isfinite(unit_cost):
                    raise UsageError(
                        f"plan: budget: no rent of {run.device} is known; state one: --set rent='2 USD/hour'"
                    )
                allowed["budget"] = given["budget"] / unit_cost
            if not self.wanted and _is_timed(given):
                allowed["days"] = given["days"] / unit_days * most / run.cards
            work, binds = min((limit, name) for name, limit in allowed.items())
            # what takes so long on so many: links cost more on more of them, which is why this is repeated
            needed = run.cards * work * unit_days / given.get("days", DEFAULT_DAYS)
            is_given = "cards" in given or ("power" in given and "days" not in given)
            cards = max(most if is_given else min(most, needed), 1.0)
            if max(abs(cards / run.cards - 1), abs(work / before - 1)) < _SAME:
                return run.device, work, cards, binds, unit_cost
            run = self.worlds(cards, work, self.best_size(work), device=run.device)[run.device]
        raise UsageError("plan: no number of cards does it in time: what links cost grows as fast as what they add")

    def most_cards(self, run: PlannedRun) -> float:
        """Return the number of devices that is given, or that draw the power given, by what those of a run draw."""
        if "cards" in self.constraints or "power" not in self.constraints:
            return self.constraints.get("cards", math.inf)
        return math.floor(run.cards * self.constraints["power"] / run.median("site_power") + _SAME)

    @cached_property
    def wanted(self) -> Mapping[str, float]:
        """The work that what is wanted takes, by the option that says so; empty if time or money say how much."""
        given = self.constraints
        fixed = next((name for name in ("size", "tokens") if name in given), "")
        if "compute" in given:
            return {"compute": given["compute"]}
        if "loss" in given:
            own, goal = {"size": ("N", "D"), "tokens": ("D", "N")}.get(fixed, ("", "compute"))
            variables = {own: given[fixed]} if fixed else {}
            found = float(self.fit.invert(y=given["loss"], solve_for=goal, draws=_LEAST_DRAWS, **variables)[goal])
            if not math.isfinite(found) or found <= 0:
                ends = f"the law of {self.fit.name} ends above it"
                raise UsageError(f"plan: loss: no {goal} gives {given['loss']:g}: {ends}")
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
        yield replace(per[own], name="device given" if self.device else best)
        fastest = min(per.values(), key=lambda run: run.median("duration"))
        # a rent that is given with a device is of no other
        if fastest.device != own and not (self.device and "rent" in self.settings):
            number = max(1, int(min(cards, self.most_cards(fastest))))  # of those that draw more, fewer
            fastest = self.worlds(number, work, size)[fastest.device]
            if fastest.median("duration") < per[own].median("duration"):
                yield replace(fastest, name="fastest")
        if self.constraints.keys() & {"size", "tokens"}:
            return
        # both at the fitted parameters: in a draw of them the best size is another
        smaller = float(f"{size / _SMALLER:.4g}")
        loss = float(self.fit.predict(N=size, D=work / (6 * size))["median"])
        tokens = float(self.fit.invert(y=loss, solve_for="D", N=smaller, draws=_LEAST_DRAWS)["D"])
        if math.isfinite(tokens) and tokens > 0:
            yield replace(self.worlds(cards, 6 * smaller * tokens, smaller)[own], name="smaller model")


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
