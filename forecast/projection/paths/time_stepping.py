"""Through time step by step: quantities that need what they, or others, were before.

A cycle of quantities (through a stock, `previous` or `lag`) cannot be computed path by path. At each step stocks stand
as they are, then the other members follow in the order in which they need each other, then stocks move on. What is
outside of the cycle is drawn before, as whole paths; at the half-steps of a Runge-Kutta step these are interpolated,
positive ones in the logarithm, and functions over time keep the value that they had at the step.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import units
from forecast.base.arrays import Array
from forecast.base.budgets import check_time
from forecast.base.streams import Streams
from forecast.contract.plugin_calls import call_guarded
from forecast.errors import DataError, ForecastError, ScenarioError
from forecast.formula import TIME_NAMES, Binary, Condition, Formula, Node as Tree
from forecast.models.check_output import checked_draws
from forecast.models.protocol import OtherQuantity
from forecast.projection import blocks
from forecast.projection.failures import fill_failed_draws
from forecast.projection.horizon import clock
from forecast.projection.paths.alike import PAIR, DrawlessStreams, alike, dense, pair, read_only, spread, still
from forecast.projection.paths.apply_limits import limited
from forecast.projection.paths.find_solutions import find_solutions, is_injective
from forecast.projection.paths.step_program import Changes, StepDates, StepProgram, StepValue
from forecast.projection.paths.time_functions import HistoryOf, Past, at_step, step_reader
from forecast.scenarios.kinds.expression import Expression
from forecast.scenarios.kinds.function_ref import FunctionRef
from forecast.scenarios.kinds.over_time import OverTime
from forecast.scenarios.kinds.solved_number import SolvedNumber
from forecast.scenarios.kinds.stock import Stock
from forecast.units import Prepared

if TYPE_CHECKING:
    from forecast.models import FittedModel, Model
    from forecast.projection.evaluate import Block
    from forecast.scenarios.graph import ScenarioGraph
    from forecast.scenarios.quantities.node import Combination, Node

Rows = dict[str, Array]
Call = Callable[[], object]

#: So many numbers are computed at once: what fits the processor's caches.
CACHED = 2**15


def step_through(
    block: Block,
    graph: ScenarioGraph,
    members: tuple[str, ...],
    combination: Combination,
    sources: Sequence[str],
    path_of: Callable[[str], Array],
    key: bytes,
    read: Collection[str] | None = None,
) -> dict[str, Array]:
    """Return the paths of a cycle's members, (time, draw) each, in their units.

    Parameters
    ----------
    block : Block
    graph : ScenarioGraph
    members : tuple of str
        The nodes of one cycle, each after those that it needs at the same step.
    combination : tuple of str
        The values of the choices, which all members share.
    sources : sequence of str
        What the cycle needs from outside.
    path_of : callable
        Returns the path of what is outside of the cycle, by name.
    key : bytes
        What the paths are computed from.
    read : collection of str, optional
        The members that are needed; all by default. Paths of others are returned where they are there anyway.

    Raises
    ------
    DataError
        If a value is not a number, or an equation has no solution.
    """
    cycle = block, graph, members, combination, path_of
    paths = _walked_once(block, key, lambda: _Stepper(*cycle, PAIR), sources, path_of)
    if paths is None:
        try:
            return _Stepper(*cycle, block.draws, read).paths()
        except _FailingError:  # which of all members fails first, and where, their whole paths tell
            return _Stepper(*cycle, block.draws).paths()
    return {name: spread(path, block.draws) for name, path in paths.items()}


class _FailingError(Exception):
    """A value is no number, where not all paths are kept."""


def _walked_once(
    block: Block,
    key: bytes,
    stepper_of_pair: Callable[[], _Stepper],
    sources: Sequence[str],
    path_of: Callable[[str], Array],
) -> Rows | None:
    """Return the paths, (time, `PAIR`), of a cycle in which all worlds are alike, walked once a run; else None.

    What fails is walked in every world, which says in how many.
    """

    def walk() -> tuple[Rows, Rows]:
        stepper = stepper_of_pair()
        return stepper.paths(), stepper.needed

    try:
        if not all(_one_world(path_of(name)) for name in sources):
            return None
        paths, needed = block.fits.once(key, walk)
    except ForecastError:
        return None
    return paths if all(np.array_equal(path_of(name)[:, :1], row[:, :1]) for name, row in needed.items()) else None


def _one_world(path: Array) -> bool:
    """Tell whether all worlds of a path are one."""
    rows = still(path)
    return alike(path) or (bool((rows[0] == rows[0, 0]).all()) and bool((rows == rows[:, :1]).all()))


class _Stepper:
    """One walk: of all worlds, or of two in place of all.

    Attributes
    ----------
    needed : dict of str to ndarray
        What is outside of the cycle, (time, draw).
    """

    def __init__(
        self,
        block: Block,
        graph: ScenarioGraph,
        members: tuple[str, ...],
        combination: Combination,
        path_of: Callable[[str], Array],
        draws: int,
        read: Collection[str] | None = None,
    ) -> None:
        self.block, self.graph, self.combination, self.path_of = block, graph, combination, path_of
        self.time, self.draws = block.time, draws
        self.needed: Rows = {}
        self.nodes: dict[str, Node] = {name: graph.nodes[name] for name in members}
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
            n: self.block.fits[self._model(n)]
            for n, node in self.nodes.items()
            if isinstance(node.quantity, FunctionRef) and node.fixed is None
        }
        for name in self.functions:
            if getattr(self._model(name), "along", ""):
                raise ScenarioError(
                    f"{graph.scenario.where}: quantities.{name}: its function needs the path up to a date "
                    "(along='time'), and stands in a cycle, which is computed date by date: make what adds up a stock"
                )
        over_time = {n: node.quantity for n, node in self.nodes.items() if isinstance(node.quantity, OverTime)}
        looked_back = {*over_time, *(each.of for each in over_time.values())}
        #: The members whose paths are kept: those that are read, and those at which steps look back.
        self.kept = [
            n
            for n, node in self.nodes.items()
            if read is None or n in read or n in looked_back or node.limits is not None
        ]
        #: Of each function its arguments: the name, the quantity, and the unit in which it takes it.
        self._arguments = {name: list(self._takes(name)) for name in self.functions}
        self.free: Rows = {}
        self.paths_so_far: Rows = {}
        self._halves: Rows = {}

    def _past(self, name: str) -> Past:
        """Return what a quantity was before the first step."""
        dims = next(iter(self.nodes.values())).dims  # all members share them
        return self.block.past(HistoryOf.of(self.graph, name, dict(zip(dims, self.combination, strict=True))))

    def _model(self, name: str) -> Model:
        """Return the model of a member that is a function."""
        node = self.nodes[name]
        return node.models[node.own_values(self.combination)]

    def _takes(self, name: str) -> Iterator[tuple[str, str, str]]:
        for key, need in self._model(name).inputs.items():
            assert isinstance(need, OtherQuantity)
            yield key, self.nodes[name].source(key), need.unit

    def _function(self, name: str, program: StepProgram) -> StepValue:
        """Add a function of a plugin's, at a step or between it and the next one."""
        dates, fitted, model, unit = program.dates, self.functions[name], self._model(name), self.nodes[name].unit
        parts: dict[str, StepValue] = {}
        for key, source, wanted in self._arguments[name]:
            value, own = program.names.get(source) or dates.value(source), self.graph.nodes[source].unit
            if own != wanted:
                converted = partial(units.convert, source=own, target=wanted, where=name)
                value = program.called(("unit", own, wanted), converted, [value])
            parts[key] = value
        call = _function_calls(
            self.block,
            fitted,
            model,
            self.graph.stream(model.name),
            {key: value.array[np.newaxis] for key, value in parts.items()},
        )

        def computed(*_: Array) -> Array:
            step = max(dates.step, 0)
            value = call(self.time[step : step + 1])[0]
            return value if model.unit == unit else np.asarray(units.convert(value, model.unit, unit, where=name))

        least = Changes.DATES if getattr(fitted, "dated", True) else Changes.NEVER
        return program.called(("function", name), computed, [*parts.values()], least)

    def _path(self, name: str) -> Array:
        """Return the path of a quantity that is no member, (time, draw)."""
        if name not in self.needed:
            path = self.path_of(name)
            if self.draws == self.block.draws:
                self.needed[name] = dense(path) if len(path) == 1 else path
            else:
                self.needed[name] = pair(path)
        return self.needed[name]

    def _path_between_steps(self, name: str) -> Array:
        """Return a path between its steps; one row where it does not change."""
        if name not in self._halves:
            path = self._path(name)
            if len(path) == 1:
                self._halves[name] = path
            elif path.strides[0] == 0:
                self._halves[name] = halfway(path[:2])
            elif alike(path):
                self._halves[name] = spread(halfway(pair(path)), self.draws)
            else:
                self._halves[name] = halfway(path)
        return self._halves[name]

    def _labels(self, name: str) -> tuple[str, ...]:
        return () if name in TIME_NAMES else tuple(self.graph.nodes[name].labels)

    def _prepared(self, formula: Formula, name: str, *, target: str, rates: bool | None = None) -> Prepared:
        graph = self.graph
        where = graph.nodes[name].owner or f"{_kind(graph.nodes[name])}.{name}"
        return units.prepared(formula, graph.measured(formula.names), target=target, where=where, rates=rates)

    def _bound(self, name: str, condition: Condition) -> tuple[Prepared, str]:
        """Return what bounds a member, and the unit in which it is computed."""
        graph, where = self.graph, f"quantities.{name}: {condition.text}"
        sides, known = units.sides(condition, graph.measured(condition.names)), graph.measured(condition.right.names)
        return units.prepared(sides.right, known, target=sides.unit, where=where, rates=sides.rates), sides.unit

    def _add_limits(self, name: str, program: StepProgram, value: StepValue, *, half: bool) -> StepValue:
        """Add the limits of a member to it; the value without them is stored."""
        conditions = self.nodes[name].limits.conditions  # type: ignore[union-attr]
        bounds = {part: program.formula(self.bounds[name, part][0]) for part in conditions}
        within = partial(self._limit, name, program.dates, [*bounds], half)
        return program.called(("limits", name), within, [value, *bounds.values()], Changes.MEMBERS)

    def _limit(self, name: str, dates: StepDates, parts: list[str], half: bool, value: Array, *bounds: Array) -> Array:
        """Return the value of a member at a step within its limits, and store the one without them."""
        node, step = self.nodes[name], dates.step
        limits = node.limits
        assert limits is not None
        if not half:
            self.free[name][step] = value
        at = {
            part: np.asarray(units.convert(bound, self.bounds[name, part][1], node.unit, where=name))
            for part, bound in zip(parts, bounds, strict=True)
        }
        if "limit" in at:
            value = limited(value, at["limit"], limits.how, limits.sharpness)
        if "at_least" in at:
            value = np.maximum(value, at["at_least"])
        if limits.keeps == "frontier":
            before = step if half else step - 1
            stood = self._past(name).highest() if before < 0 else None
            value = np.maximum(value, self.paths_so_far[name][before] if stood is None else stood)
        return value

    def paths(self) -> dict[str, Array]:
        """Go through time; what overflows is inf, and nothing warns."""
        at, spare = {name: clock(name, self.time) for name in TIME_NAMES}, list[Array]()
        halfway = {**at, "t": at["t"] + 0.5 * at["dt"]}
        at_steps = StepDates(self.draws, at, self._path, self._labels, spare)
        between = StepDates(self.draws, halfway, self._path_between_steps, self._labels, spare)
        try:
            with np.errstate(all="ignore"):
                return self._walk_paths(at_steps, between)
        finally:  # what they call refers to them: the arrays would stay until Python looks for such circles
            at_steps.clear()
            between.clear()

    def _walk_paths(self, at_steps: StepDates, between: StepDates) -> dict[str, Array]:
        steps, shape = len(self.time), (len(self.time), self.draws)
        self.paths_so_far = {name: np.empty(shape) for name in self.kept}
        self.free = {name: np.empty(shape) for name, node in self.nodes.items() if node.limits is not None}
        names = {name: StepValue(row, Changes.NEVER) for name, row in self.fixed.items()}
        for name in self.solved:
            names[name] = StepValue(self._solution(name, at_steps, names), Changes.NEVER)
        begun = StepProgram(at_steps, names)
        initial = {name: begun.formula(made).array for name, made in self.initial.items()}
        stocks = {name: np.empty(self.draws) for name in self.stocks}
        rows = StepProgram(at_steps, names | {n: StepValue(row, Changes.MEMBERS) for n, row in stocks.items()})
        self._add_members(rows)
        moves = _Moves(self, rows, between, stocks)
        begun.run(0)
        for name, row in initial.items():
            np.copyto(stocks[name], row)
        rows.run(0)
        sums = []
        written: list[tuple[Array, Array]] = []
        for name in self.nodes:
            row = rows.names[name]
            if row.changes is Changes.NEVER:
                self.paths_so_far[name] = np.broadcast_to(row.array, shape)
            elif name in self.paths_so_far:
                written.append((self.paths_so_far[name], row.array))
            else:
                sums.append((np.zeros(self.draws), row.array))
        for step in range(steps):
            if step:
                moves.on(step - 1)
                rows.run(step)
            for path, row_now in written:
                path[step] = row_now
            for total, row_now in sums:
                np.add(total, row_now, out=total)
            if step + 1 < steps:
                check_time("walking through time", step, steps, "steps")
        if not all(np.isfinite(total.sum()) for total, _ in sums):
            raise _FailingError
        return self._without_failing()

    def _without_failing(self) -> dict[str, Array]:
        """Return the paths without values that are no numbers: a world fails in all members together.

        Those of limited members are without their limits, which the world takes of whole paths, to the same numbers.
        """
        self.paths_so_far |= self.free
        if all(np.isfinite(path.sum()) for path in self.paths_so_far.values()):  # then every value is
            return self.paths_so_far
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
        self.block.numbers(
            np.where(bad, np.nan, 0.0), lambda _: DataError(f"{what}: {count} of {path.size} values are {why}")
        )
        return {n: fill_failed_draws(p, bad.any(axis=0)) for n, p in self.paths_so_far.items()}

    def _add_members(self, program: StepProgram, members: Collection[str] | None = None) -> None:
        """Add every member at a step, or some: `program` has the stocks and what was solved for."""
        for name, made in self.ceilings.items():
            parts = program.names[name], program.formula(made)
            program.names[name] = program.called(("ceiling", name), np.minimum, parts)
        for name, node in self.nodes.items():
            if members is None or name in members:
                if name in self.formulas:
                    program.names[name] = program.formula(self.formulas[name])
                elif name in self.functions:
                    program.names[name] = self._function(name, program)
                elif isinstance(node.quantity, OverTime) and node.fixed is None:
                    program.names[name] = self._add_time_function(name, node.quantity, program)
                if node.limits is not None and node.fixed is None:
                    program.names[name] = self._add_limits(name, program, program.names[name], half=False)

    def _add_time_function(self, name: str, quantity: OverTime, program: StepProgram) -> StepValue:
        """Add a function over time, which reads the rows so far."""
        of, dates = quantity.of, program.dates
        past = self._past(of)
        known: Any = quantity.argument
        moving = None
        if isinstance(known, str):
            convert = partial(units.convert, source=self.graph.nodes[known].unit, target="year")
            if units.same_dimension(self.graph.nodes[known].unit, ""):
                convert = partial(convert, target="")
            moving = program.names.get(known)
            known = None if moving is not None else convert(self._path(known))
        now = program.names.get(of)
        if of in self.nodes:
            path = self.paths_so_far[of]
        else:
            path = np.broadcast_to(dense(self._path(of)), (len(self.time), self.draws))
        before = step_reader(quantity.function, self.time, known, past)

        def computed() -> Array:
            step = dates.step
            if now is not None:
                path[step] = now.array
            seen = path[:step] if now is None and of in self.nodes else path[: step + 1]
            own = self.paths_so_far[name][:step]
            if moving is None:
                return before(step, seen, own)
            return at_step(quantity.function, step, self.time, seen, own, convert(moving.array), past)

        return program.called(("over time", name), computed, least=Changes.MEMBERS)

    @cached_property
    def moving(self) -> list[str]:
        """The formulas and functions on which the rates of stocks rest at one step, each after those that it needs."""
        rates = [made for n, made in self.changes.items() if self.stocks[n].move != "next"]
        needed = self._needed({name for made in rates for name in made.formula.names})
        return [n for n in self.nodes if n in needed and (n in self.formulas or n in self.functions)]

    def stage(self, rows: StepProgram, dates: StepDates, stocks: Rows) -> tuple[StepProgram, Rows]:
        """Return what computes the rates of the stocks where these stand as given, and where it writes them.

        Functions over time stay as they are at the step.
        """
        here = {name: StepValue(row, Changes.MEMBERS) for name, row in stocks.items()}
        program, half = StepProgram(dates, rows.names | here), dates is not rows.dates
        for name in self.moving:
            made = program.formula(self.formulas[name]) if name in self.formulas else self._function(name, program)
            if self.nodes[name].limits is not None:
                made = self._add_limits(name, program, made, half=half)
            program.names[name] = made
        return program, {name: program.formula(self.changes[name]).array for name in stocks}

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

    def _solution(self, name: str, dates: StepDates, known: Mapping[str, StepValue]) -> Array:
        """Return the number a world for which an equation holds at the first step."""
        quantity = self.solved[name]
        graph, where = self.graph, f"solve.{name}.so"
        sides = units.sides(quantity.so, graph.measured(quantity.so.names), where=where)
        left, right = (self._prepared(side, name, target=sides.unit, rates=True) for side in (sides.left, sides.right))
        draws, members = self.draws, self._needed({*left.formula.names, *right.formula.names})
        size: Array = np.ones(draws)
        tried: Array = np.empty(draws)
        program = StepProgram(dates, {**known, name: StepValue(tried, Changes.MEMBERS)})
        program.names |= {stock: program.formula(made) for stock, made in self.initial.items()}
        self._add_members(program, members)
        a, b = program.formula(left).array, program.formula(right).array

        def difference(trial: Array | float) -> Array:
            nonlocal size
            np.copyto(tried, trial)
            with np.errstate(all="ignore"):
                program.run(0)
            size = np.maximum(np.abs(a), np.abs(b))
            apart: Array = a - b
            return apart

        once = self._is_equal_once(name, members, Binary("-", left.formula.root, right.formula.root))
        found, several = find_solutions(lambda place: (difference(place), size), draws, once=once)
        several |= ~np.isnan(found[1])
        best = found[0]
        none = np.isnan(best) & ~several
        said = f"{where}: '{quantity.so.text}' has"

        def problem(bad: int) -> DataError:
            told = [(none, "no solution"), (several, "several solutions")]
            counts = [f"{what} in {int(each.sum())}" for each, what in told if each.any()]
            named = sorted(found[:, several.argmax()][~np.isnan(found[:, several.argmax()])]) if several.any() else []
            such = f", such as {', '.join(f'{each:g}' for each in named)}" if len(named) > 1 else ""
            return DataError(f"{said} {' and '.join(counts)} of {best.size} worlds{such}")

        solved = self.block.numbers(np.where(several, np.nan, best)[None], problem)
        return np.asarray(solved[0])

    def _is_equal_once(self, name: str, members: set[str], difference: Tree) -> bool:
        """Tell whether the sides of an equation can be equal for one value of its unknown at most."""
        moving = {name}  # what changes with the unknown, and takes each of its values once
        for each in (n for n in self.nodes if n in members and n != name):
            sources = self._needed({each}) - {each}
            if each in self.initial:
                sources.update(self.initial[each].formula.names)
            if not moving.isdisjoint(sources):
                plain = each in self.formulas and self.nodes[each].limits is None
                if not plain or not is_injective(self.formulas[each].formula.root, moving):
                    return False
                moving.add(each)
        return is_injective(difference, moving)


class _Moves:
    """What moves the stocks of a cycle from one step to the next.

    Parameters
    ----------
    stepper : _Stepper
    rows : StepProgram
        What computes every member at a step.
    between : StepDates
        What is read halfway between steps.
    stocks : mapping of str to ndarray
        Where the stocks stand, which are moved.
    """

    def __init__(self, stepper: _Stepper, rows: StepProgram, between: StepDates, stocks: Rows) -> None:
        self.time, self.kinds = stepper.time, stepper.stocks
        self._here = {name: rows.names[name].array for name in stocks}
        self._work = np.empty(stepper.draws), np.empty(stepper.draws)
        self._years, self._half = np.empty(()), np.empty(())
        first = StepProgram(rows.dates, rows.names)
        changes = {name: first.formula(made).array for name, made in stepper.changes.items()}
        rates = {name: rate for name, rate in changes.items() if self.kinds[name].move != "next"}
        #: What is computed at the step, or the one after it, and what is then called.
        self._parts: list[tuple[StepProgram, int, list[Call]]] = []
        mean = {name: np.empty(stepper.draws) for name in rates if self.kinds[name].method == "rk4"}
        calls: list[Call] = []
        if mean:
            at = {name: np.empty(stepper.draws) for name in rates}
            halfway, middle = stepper.stage(rows, between, at)
            ending, ended = stepper.stage(rows, rows.dates, at)
            twice = self._work[0]
            first_half, second_half = (
                [
                    call
                    for name, total in mean.items()
                    for call in (partial(np.multiply, 2, middle[name], twice), partial(np.add, to[name], twice, total))
                ]
                for to in (rates, mean)
            )
            self._parts.append((first, 0, self._move_calls(at, rates, self._half)))
            self._parts.append((halfway, 0, [*first_half, *self._move_calls(at, middle, self._half)]))
            self._parts.append((halfway, 0, [*second_half, *self._move_calls(at, middle, self._years)]))
            calls = [
                call
                for name, total in mean.items()
                for call in (partial(np.add, total, ended[name], total), partial(np.divide, total, 6, total))
            ]
        calls += self._move_calls(stocks, {**rates, **mean}, self._years)
        calls += [partial(np.copyto, stocks[n], change) for n, change in changes.items() if n not in rates]
        self._parts.append((ending, 1, calls) if mean else (first, 0, calls))

    def on(self, step: int) -> None:
        """Move the stocks to the next step."""
        years = float(self.time[step + 1] - self.time[step])
        self._years[()], self._half[()] = years, years / 2
        for program, later, calls in self._parts:
            program.run(step + later)
            for call in calls:
                call()

    def _move_calls(self, to: Rows, rates: Rows, years: Array) -> list[Call]:
        """Return the calls that write where stocks are after some years at these rates."""
        change, factor = self._work
        calls: list[Call] = []
        for name, rate in rates.items():
            calls.append(partial(np.multiply, years, rate, change))
            if self.kinds[name].move == "log_rate":
                calls.append(partial(np.exp, change, factor))
                calls.append(partial(np.multiply, self._here[name], factor, to[name]))
            else:
                calls.append(partial(np.add, self._here[name], change, to[name]))
        return calls


def halfway(path: Array) -> Array:
    """Return what lies between the steps of a path: in the logarithm where both are positive."""
    out = np.empty((len(path) - 1, *path.shape[1:]))
    rows = max(CACHED // path.shape[1], 1)
    for first in range(0, len(out), rows):
        some = path[first : first + rows + 1]
        low, high = some[:-1], some[1:]
        if (some > 0).all():
            each = np.sqrt(some)
            np.multiply(each[:-1], each[1:], out=out[first : first + rows])
            continue
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


def _function_calls(
    block: Block, fitted: FittedModel, model: Model, stream: str, given: Mapping[str, Array]
) -> Callable[[Array], Array]:
    """Return what computes a function of other quantities from dates to (time, draw), of all worlds or `PAIR`.

    It draws nothing: blocks and their streams are made once. `given`, (time, draw) each, are read at every call.
    """
    what = f"model '{model.name}': sample"
    draws = PAIR if all(values.shape[-1] == PAIR for values in given.values()) else block.draws
    places: Iterable[tuple[slice, Streams]]
    if draws == PAIR or getattr(fitted, "pointwise", False):
        places = [
            (slice(None), blocks.node_streams(DrawlessStreams, block.seed, stream, block.blocks[0], worlds=draws))
        ]
    else:
        every = [blocks.node_streams(Streams, block.seed, stream, number) for number in block.blocks]
        places = zip(block.places, every, strict=True)
    each = [({n: read_only(values[..., here]) for n, values in given.items()}, streams) for here, streams in places]

    def call(time: Array) -> Array:
        parts = []
        for own, streams in each:
            drawn = call_guarded(what, partial(fitted.sample, read_only(time), dict(own), streams))
            parts.append(checked_draws(drawn, (len(time), streams.draws), what))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    return call
