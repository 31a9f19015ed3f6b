"""Through time step by step: quantities that need what they, or others, were before.

A cycle of quantities (through a stock, `previous` or `lag`) cannot be computed path by path. At each step stocks stand
as they are, then the other members follow in the order in which they need each other, then stocks move on. What is
outside of the cycle is drawn before, as whole paths; at the half-steps of a Runge-Kutta step these are interpolated,
positive ones in the logarithm, and functions over time keep the value that they had at the step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast import units
from forecast.base.budgets import check_time
from forecast.base.roots import roots
from forecast.errors import DataError, ForecastError, ScenarioError
from forecast.formula import TIME, Condition, Formula
from forecast.models.protocol import OtherQuantity
from forecast.projection.failures import others_instead
from forecast.projection.horizon import clock
from forecast.projection.paths.alike import PAIR, alike, dense, pair, spread
from forecast.projection.paths.apply_limits import limited
from forecast.projection.paths.step_formula import StepFormula
from forecast.projection.paths.time_functions import at_step
from forecast.scenarios.kinds.expression import Expression
from forecast.scenarios.kinds.function_ref import FunctionRef
from forecast.scenarios.kinds.over_time import OverTime
from forecast.scenarios.kinds.solved_number import SolvedNumber
from forecast.scenarios.kinds.stock import Stock
from forecast.units import Prepared

if TYPE_CHECKING:
    from forecast.models import Model
    from forecast.projection.world import World
    from forecast.scenarios.quantities.node import Combination, Node

Array = NDArray[np.float64]
Rows = dict[str, Array]


__all__ = ["step_through"]

#: Where a solution is looked for: powers of ten, of either sign.
DECADES = np.linspace(-15.0, 15.0, 121)
#: A place is a solution if the sides differ by less than this share of their size there: a pole is none.
CLOSE = 1e-6
#: Two places are one solution if they differ by less than this share of their size.
SAME = 1e-9
#: Sides that differ by less than this share of their size are equal but for rounding.
ROUNDING = 1e-14
#: Below this, a number beside others of ordinary size is lost to rounding: sides that stay equal there say nothing.
SMALL = 1e-4
#: So many places where the sides change order are looked at on each side of zero, and within one so many more.
MOST_SOLUTIONS = 12
WITHIN = np.arange(1, 16) / 16
#: So many numbers are computed at once: what fits the processor's caches.
CACHED = 2**15


def step_through(world: World, members: tuple[str, ...], combination: Combination) -> dict[str, Array]:
    """Return the paths of a cycle's members, (time, draw) each, in their units.

    Parameters
    ----------
    world : World
    members : tuple of str
        The nodes of one cycle, each after those that it needs at the same step.
    combination : tuple of str
        The values of the choices, which all members share.

    Raises
    ------
    DataError
        If a value is not a number, or an equation has no solution.
    """
    paths = _walked_once(world, members, combination)
    if paths is None:
        return _Stepper(world, members, combination, world.draws).paths()
    return {name: spread(path, world.draws) for name, path in paths.items()}


class _DifferError(Exception):
    """Worlds differ in what a cycle needs."""


def _walked_once(world: World, members: tuple[str, ...], combination: Combination) -> Rows | None:
    """Return the paths, (time, `PAIR`), of a cycle in which all worlds are alike, walked once a run; else None.

    What fails is walked in every world, which says in how many.
    """
    known = world.fits.walked
    key = (members, combination, world.time.tobytes())
    if key not in known:
        stepper = _Stepper(world, members, combination, PAIR)
        try:
            known[key] = stepper.paths(), stepper.needed
        except (_DifferError, ForecastError):
            known[key] = {}, {}
    paths, needed = known[key]
    node = world.graph.nodes[members[0]]
    if not paths or not all(_one_world(world.path(name, node, combination), row) for name, row in needed.items()):
        return None
    return paths


def _one_world(path: Array, row: Array | None = None) -> bool:
    """Tell whether all worlds are one, and that of another path."""
    first = path[:, :1]
    own = alike(path) or bool((path == first).all())
    return own and (row is None or np.array_equal(first, row[:, :1]))


class _Stepper:
    """One walk: of all worlds, or of two in place of all.

    Attributes
    ----------
    needed : dict of str to ndarray
        What is outside of the cycle, (time, draw).
    """

    def __init__(self, world: World, members: tuple[str, ...], combination: Combination, draws: int) -> None:
        self.world, self.combination, self.time, self.draws = world, combination, world.time, draws
        self.needed: Rows = {}
        self.nodes: dict[str, Node] = {name: world.graph.nodes[name] for name in members}
        # a member that was set to a number keeps it
        self.fixed = {n: np.full(draws, node.fixed) for n, node in self.nodes.items() if node.fixed is not None}
        self.stocks = {n: node.quantity for n, node in self.nodes.items() if isinstance(node.quantity, Stock)}
        self.solved = {n: node.quantity for n, node in self.nodes.items() if isinstance(node.quantity, SolvedNumber)}
        self.formulas = {
            n: self._prepared(node.quantity.tree, n, target=node.unit, rates=node.quantity.rates)
            for n, node in self.nodes.items()
            if isinstance(node.quantity, Expression) and node.fixed is None
        }
        self.initial = {n: self._prepared(s.initial, n, target=s.unit) for n, s in self.stocks.items()}
        self.ceilings = {
            n: self._prepared(s.ceiling, n, target=s.unit) for n, s in self.stocks.items() if s.ceiling is not None
        }
        self.changes = {n: self._prepared(s.change, n, target=_target(s), rates=True) for n, s in self.stocks.items()}
        self.bounds = {
            (n, part): self._bound(n, condition)
            for n, node in self.nodes.items()
            if node.limits is not None and node.fixed is None
            for part, condition in node.limits.conditions.items()
        }
        self.functions = {
            n: self.world.fits[self._model(n)]
            for n, node in self.nodes.items()
            if isinstance(node.quantity, FunctionRef) and node.fixed is None
        }
        for name in self.functions:
            if getattr(self._model(name), "along", ""):
                raise ScenarioError(
                    f"{world.graph.scenario.where}: quantities.{name}: its function needs the path up to a date "
                    "(along='time'), and stands in a cycle, which is computed date by date: make what adds up a stock"
                )
        #: Of each function its arguments: the name, the quantity, and the unit in which it takes it.
        self._arguments = {name: list(self._takes(name)) for name in self.functions}
        self.free: Rows = {}
        self.rk4 = any(s.move != "next" and s.method == "rk4" for s in self.stocks.values())
        self.paths_so_far: Rows = {}
        at = {name: clock(name, self.time) for name in TIME}
        self._clocks = {False: at, True: {**at, "t": at["t"] + 0.5 * at["dt"]}}
        self._at_steps: dict[tuple[int, bool], StepFormula] = {}
        self._halves: Rows = {}

    def _model(self, name: str) -> Model:
        """Return the model of a member that is a function."""
        node = self.nodes[name]
        return node.models[node.own_values(self.combination)]

    def _takes(self, name: str) -> Iterator[tuple[str, str, str]]:
        for key, need in self._model(name).inputs.items():
            assert isinstance(need, OtherQuantity)
            yield key, self.nodes[name].source(key), need.unit

    def _called(self, name: str, step: int, rows: Rows, *, half: bool = False) -> Array:
        """Return a function of a plugin's at a step, or between it and the next one."""
        node, model = self.nodes[name], self._model(name)
        given: dict[str, Array] = {}
        for key, source, unit in self._arguments[name]:
            row, own = rows.get(source), self.world.graph.nodes[source].unit
            row = self._row(source, step, half=half) if row is None else row
            given[key] = (row if own == unit else units.convert(row, own, unit, where=name))[np.newaxis]
        value = self.world.called(self.functions[name], model, given, self.time[step : step + 1])[0]
        return np.asarray(units.convert(value, model.unit, node.unit, where=name))

    def _path(self, name: str) -> Array:
        """Return the path of a quantity that is no member, (time, draw)."""
        if name not in self.needed:
            path = self.world.path(name, next(iter(self.nodes.values())), self.combination)
            if self.draws == self.world.draws:
                self.needed[name] = dense(path)
            elif _one_world(path):
                self.needed[name] = pair(path)
            else:
                raise _DifferError
        return self.needed[name]

    def _row(self, name: str, step: int, *, half: bool) -> Array:
        """Return a quantity that is no member at a step, or between it and the next one."""
        path = self._between(name) if half else self._path(name)
        return np.asarray(path[0] if len(path) == 1 else path[step])

    def _between(self, name: str) -> Array:
        """Return a path between its steps; one row where it does not change."""
        if name not in self._halves:
            path = self._path(name)
            self._halves[name] = halfway(path) if len(path) > 1 else path
        return self._halves[name]

    def _prepared(self, formula: Formula, name: str, *, target: str, rates: bool | None = None) -> Prepared:
        graph = self.world.graph
        unit_of = {n: graph.nodes[n].measured for n in formula.names if n not in TIME}
        where = graph.nodes[name].owner or f"{_kind(graph.nodes[name])}.{name}"
        return units.prepared(formula, unit_of, target=target, where=where, rates=rates)

    def _bound(self, name: str, condition: Condition) -> tuple[Prepared, str]:
        """Return what bounds a member, and the unit in which it is computed."""
        graph, where = self.world.graph, f"quantities.{name}: {condition.text}"
        sides = units.sides(condition, {n: graph.nodes[n].measured for n in condition.names if n not in TIME})
        known = {n: graph.nodes[n].measured for n in sides.right.names if n not in TIME}
        return units.prepared(sides.right, known, target=sides.unit, where=where, rates=sides.rates), sides.unit

    def _constrained(self, name: str, step: int, value: Array, rows: Rows, *, half: bool = False) -> Array:
        """Apply the limits of a member to its value at a step, and store the value without them."""
        node = self.nodes[name]
        limits = node.limits
        if limits is None or node.fixed is not None:
            return value
        if not half:
            self.free[name][step] = value
        at = {
            part: np.asarray(units.convert(self._value(self.bounds[name, part][0], step, rows, half=half),
                                           self.bounds[name, part][1], node.unit, where=name))
            for part in limits.conditions
        }  # fmt: skip
        if "limit" in at:
            value = limited(value, at["limit"], limits.how, limits.sharpness)
        if "at_least" in at:
            value = np.maximum(value, at["at_least"])
        if limits.keeps == "frontier":
            before = step if half else step - 1
            stood = self.world.past(name, node, self.combination).highest() if before < 0 else None
            value = np.maximum(value, self.paths_so_far[name][before] if stood is None else stood)
        return value

    def paths(self) -> dict[str, Array]:
        """Go through time; what overflows is inf, and nothing warns."""
        with np.errstate(all="ignore"):
            return self._walked()

    def _walked(self) -> dict[str, Array]:
        steps = len(self.time)
        shape = (steps, self.draws)
        self.paths_so_far = {name: np.empty(shape) for name in self.nodes}
        self.free = {name: np.empty(shape) for name, node in self.nodes.items() if node.limits is not None}
        still = self._still(at_steps=True)
        moving = [name for name in self.nodes if name not in still]
        state: Rows = {}
        for name in self.solved:
            state[name] = self._solution(name, state)
        for step in range(steps):
            if not step:
                rows = self._rows(step, {**state, **self._begun(state)})
                kept = {name: rows[name] for name in still}
            else:
                rows = self._rows(step, {**kept, **state}, moving)
            for name, row in rows.items():
                self.paths_so_far[name][step] = row
            if step + 1 < steps:
                check_time("walking through time", step, steps, "steps")
                state = {**{n: rows[n] for n in self.solved}, **self._moved(step, rows)}
        return self._without_failing()

    def _without_failing(self) -> dict[str, Array]:
        """Return the paths without values that are no numbers: a world fails in all members together.

        Those of limited members are without their limits, which the world takes of whole paths, to the same numbers.
        """
        self.paths_so_far |= self.free
        failing = {
            n: ~np.isfinite(path) if n in self.stocks else np.isnan(path) for n, path in self.paths_so_far.items()
        }
        bad = np.logical_or.reduce(list(failing.values()))
        if not bad.any():
            return self.paths_so_far
        # of a cycle, what fails first fails the others
        name = min((n for n, each in failing.items() if each.any()), key=lambda n: int(failing[n].any(axis=1).argmax()))
        what, path = f"{_kind(self.nodes[name])}.{name}", self.paths_so_far[name]
        count, why = int(failing[name].sum()), "not numbers (NaN)" if np.isnan(path).any() else "infinite"
        self.world.numbers(
            np.where(bad, np.nan, 0.0), lambda _: DataError(f"{what}: {count} of {path.size} values are {why}")
        )
        return {n: others_instead(p, bad.any(axis=0)) for n, p in self.paths_so_far.items()}

    def _begun(self, state: Rows) -> Rows:
        """Return the stocks at the first step."""
        return {name: self._value(made, 0, state) for name, made in self.initial.items()}

    def _rows(self, step: int, state: Rows, members: Collection[str] | None = None) -> Rows:
        """Return every member at a step, or some: `state` has the stocks and what was solved for."""
        rows = {**self.fixed, **state}
        for name, made in self.ceilings.items():
            rows[name] = np.minimum(rows[name], self._value(made, step, rows))
        for name, node in self.nodes.items():
            if members is not None and name not in members:
                continue
            if name in self.formulas:
                rows[name] = self._value(self.formulas[name], step, rows)
            elif name in self.functions:
                rows[name] = self._called(name, step, rows)
            elif isinstance(node.quantity, OverTime):
                rows[name] = self._over_time(name, node.quantity, step, rows)
            rows[name] = self._constrained(name, step, rows[name], rows) if node.limits is not None else rows[name]
        return rows

    def _over_time(self, name: str, quantity: OverTime, step: int, rows: Rows) -> Array:
        """Return a function over time at a step, from the rows so far."""
        world, node = self.world, self.nodes[name]
        argument: Array | float | None = quantity.argument if not isinstance(quantity.argument, str) else None
        if isinstance(quantity.argument, str):
            unit = world.graph.nodes[quantity.argument].unit
            given = rows.get(quantity.argument)
            if given is None:
                path = self._path(quantity.argument)
                given = path[0] if len(path) == 1 else path[step]
            argument = units.convert(given, unit, "" if units.same_dimension(unit, "") else "year")
        of = quantity.of
        if of in self.nodes:
            path = self.paths_so_far[of]
            if of in rows:
                path[step] = rows[of]
            seen = path[: step + 1] if of in rows else path[:step]
        else:
            seen = np.broadcast_to(self._path(of), (len(self.time), self.draws))[: step + 1]
        own = self.paths_so_far[name][:step]
        return at_step(quantity.function, step, self.time, seen, own, argument, world.past(of, node, self.combination))

    def _outside(self, made: Prepared, name: str, *, half: bool) -> Array:
        """Return the path of a quantity that is no member, as a formula takes it; of half-steps, that between steps."""
        path, labels = self._between(name) if half else self._path(name), self.world.graph.nodes[name].labels
        return np.asarray(labels)[path.astype(np.intp)] if labels else made.base(name, path)

    def _value(self, made: Prepared, step: int, rows: Mapping[str, Array], *, half: bool = False) -> Array:
        """Compute a formula at a step, or between it and the next one."""
        formula = self._at_steps.get((id(made), half))
        if formula is None:
            outside = partial(self._outside, made, half=half)
            formula = self._at_steps[id(made), half] = StepFormula(made, rows.keys(), outside, self._clocks[half])
        value = np.asarray(formula(step, rows), dtype=np.float64)
        return value if value.ndim else np.full(self.draws, float(value))

    def _still(self, *, at_steps: bool) -> set[str]:
        """Return the formulas and functions that rest only on what stays the same: between steps too, or at steps.

        Between two equal values lies one that differs in its last digit (see `halfway`).
        """
        known = {*self.fixed, *self.solved}
        still: set[str] = set()

        def stays(name: str) -> bool:
            if name in self.nodes or name in TIME:
                return name in known or name in still
            path = self._path(name)
            return len(path) == 1 or (at_steps and _same(path[0], path[-1]) and _same(path, path[:1]))

        for name, node in self.nodes.items():
            if name in self.formulas:
                reads = {*self.formulas[name].formula.names}
            elif name in self.functions and not getattr(self.functions[name], "dated", True):
                reads = {source for _, source, _ in self._arguments[name]}
            else:
                continue
            if node.limits is None and all(map(stays, reads)):
                still.add(name)
        return still

    @cached_property
    def _moving(self) -> list[str]:
        """The formulas and functions on which the rates of stocks rest at one step, each after those that it needs."""
        rates = [made for n, made in self.changes.items() if self.stocks[n].move != "next"]
        needed = self._needed({name for made in rates for name in made.formula.names})
        needed -= self._still(at_steps=False)
        return [n for n in self.nodes if n in needed and (n in self.formulas or n in self.functions)]

    def _needed(self, names: set[str]) -> set[str]:
        """Return these names, and those of the members that they need at the same step."""
        found: set[str] = set()
        while names:
            found |= names
            read: set[str] = set()
            for name in names & self.nodes.keys():
                made = [each[name] for each in (self.formulas, self.ceilings) if name in each]
                made += [bound for (of, _), (bound, _) in self.bounds.items() if of == name]
                read.update(each for one in made for each in one.formula.names)
                read.update(source for _, source, _ in self._arguments.get(name, ()))
                quantity = self.nodes[name].quantity
                if isinstance(quantity, OverTime):
                    read.update(each for each in (quantity.of, quantity.argument) if isinstance(each, str))
            names = read - found
        return found

    def _moved(self, step: int, rows: Rows) -> Rows:
        """Return the stocks at the next step."""
        dt = float(self.time[step + 1] - self.time[step])
        first = {name: self._value(made, step, rows) for name, made in self.changes.items()}
        rates = {name: rate for name, rate in first.items() if self.stocks[name].move != "next"}
        if self.rk4:
            halfway = self._stage(step, rows, self._gone(rows, rates, dt / 2), half=True)
            again = self._stage(step, rows, self._gone(rows, halfway, dt / 2), half=True)
            ended = self._stage(step + 1, rows, self._gone(rows, again, dt), half=False)
            rates |= {
                name: (rate + 2 * halfway[name] + 2 * again[name] + ended[name]) / 6
                for name, rate in rates.items()
                if self.stocks[name].method == "rk4"
            }
        return {**self._gone(rows, rates, dt), **{n: v for n, v in first.items() if n not in rates}}

    def _stage(self, step: int, rows: Rows, state: Rows, *, half: bool) -> Rows:
        """Return the rates of the stocks where these stand as given; functions over time stay as they are."""
        here = {**rows, **state}
        for name in self._moving:
            if name in self.formulas:
                value = self._value(self.formulas[name], step, here, half=half)
            else:
                value = self._called(name, step, here, half=half)
            here[name] = self._constrained(name, step, value, here, half=half)
        return {
            name: self._value(made, step, here, half=half)
            for name, made in self.changes.items()
            if self.stocks[name].move != "next"
        }

    def _gone(self, rows: Rows, rates: Rows, years: float) -> Rows:
        """Return the stocks after some years at these rates."""
        return {
            name: rows[name] * np.exp(years * rate)
            if self.stocks[name].move == "log_rate"
            else rows[name] + years * rate
            for name, rate in rates.items()
        }

    def _solution(self, name: str, state: Rows) -> Array:
        """Return the number a world for which an equation holds at the first step."""
        quantity = self.solved[name]
        graph, where = self.world.graph, f"solve.{name}.so"
        unit_of = {n: graph.nodes[n].measured for n in quantity.so.names if n not in TIME}
        sides = units.sides(quantity.so, unit_of, where=where)
        left, right = (self._prepared(side, name, target=sides.unit, rates=True) for side in (sides.left, sides.right))
        draws, members = self.draws, self._needed({*left.formula.names, *right.formula.names})
        size: Array = np.ones(draws)

        def difference(trial: Array) -> Array:
            nonlocal size
            known = {**state, name: trial}
            with np.errstate(all="ignore"):
                rows = self._rows(0, {**known, **self._begun(known)}, members)
                a, b = self._value(left, 0, rows), self._value(right, 0, rows)
            size = np.maximum(np.abs(a), np.abs(b))
            return a - b

        best, several = np.full(draws, np.nan), np.zeros(draws, dtype=bool)

        def found_at(place: Array) -> None:
            """Take what is a solution; where there is another one already, the world has several."""
            apart = np.abs(difference(place))
            solves = np.isfinite(size) & (apart <= CLOSE * size)
            new = solves & np.isnan(best)
            again = solves & ~new & (np.abs(place - best) > SAME * np.maximum(np.abs(place), np.abs(best)))
            best[new] = place[new]
            if again.any():  # two places of one solution, between which rounding hides that the sides differ
                between = np.abs(difference((place + best) / 2))
                several[again & (between > ROUNDING * size)] = True

        for sign in (1.0, -1.0):
            trials = sign * 10.0**DECADES
            values, zero = np.empty((2, len(trials), draws))
            for i, trial in enumerate(trials):
                values[i] = difference(np.full(draws, trial))
                zero[i] = np.isfinite(size) & (np.abs(values[i]) <= ROUNDING * size)
            flat = (zero[:-1] > 0) & (zero[1:] > 0)
            several |= flat[np.abs(trials[:-1]) >= SMALL].any(axis=0)
            changes = np.isfinite(values[:-1]) & np.isfinite(values[1:]) & (values[:-1] * values[1:] <= 0) & ~flat
            for _ in range(MOST_SOLUTIONS):
                place, found = changes.argmax(axis=0), changes.any(axis=0) & ~several
                if not found.any():
                    break
                changes[place, np.arange(draws)] = False
                low, high = (np.where(found, ends, np.nan) for ends in (trials[place], trials[place + 1]))
                found_at(roots(difference, low, high))
                inside = np.array([difference(low + share * (high - low)) for share in WITHIN])
                signs = np.sign(
                    np.concatenate([[values[place, np.arange(draws)]], inside, [values[place + 1, np.arange(draws)]]])
                )
                several |= found & (np.sum(signs[:-1] * signs[1:] < 0, axis=0) > 1)
        found_at(np.zeros(draws))
        none = np.isnan(best) & ~several
        said = f"{where}: '{quantity.so.text}' has"

        def problem(bad: int) -> DataError:
            told = [(none, "no solution"), (several, "several solutions")]
            counts = [f"{what} in {int(each.sum())}" for each, what in told if each.any()]
            return DataError(f"{said} {' and '.join(counts)} of {best.size} worlds")

        solved = self.world.numbers(np.where(several, np.nan, best)[None], problem)
        return np.asarray(solved[0])


def _same(a: Array, b: Array) -> bool:
    return bool((a == b).all())


def halfway(path: Array) -> Array:
    """Return what lies between the steps of a path: in the logarithm where both are positive."""
    out = np.empty((len(path) - 1, *path.shape[1:]))
    rows = max(CACHED // path.shape[1], 1)
    for first in range(0, len(out), rows):
        low, high = path[first : first + rows + 1][:-1], path[first + 1 : first + rows + 1]
        both = (low > 0) & (high > 0)
        out[first : first + rows] = np.where(both, np.sqrt(np.abs(low)) * np.sqrt(np.abs(high)), (low + high) / 2)
    return out


def _target(stock: Stock) -> str:
    """Return the unit of a stock's change."""
    if stock.move == "log_rate" or not stock.unit:
        return ""
    return stock.unit if stock.move == "next" else f"{stock.unit}/year"


def _kind(node: Node) -> str:
    return {Stock: "stocks", SolvedNumber: "solve"}.get(type(node.quantity), "quantities")
