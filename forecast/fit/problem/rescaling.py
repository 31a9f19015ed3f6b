"""Data in units of their own typical size, and a law's parameters with them.

A law that only multiplies, divides, adds what is alike and raises to powers holds in any unit: with x in other units it
is the same law with other parameters. What each parameter is multiplied by follows from the formula, as in a check of
units: both sides of a sum are alike, an exponent and the argument of exp are plain numbers. These conditions are linear
in the logarithms of the factors once the exponents are numbers. So a search can work on data whose typical size is 1,
and find the same optimum whatever units the data came in. A law with constants of its own (``100/(1 + ...)``,
``log(x)``) ties down a variable or the output: its data stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.fit.problem.problem import Coordinates, Problem, Target, kernel_for
from forecast.formula import tree
from forecast.formula.functions import DIMENSIONLESS, FUNCTIONS
from forecast.formula.tree import Binary, Call, Name, Node, Number, Unary
from forecast.laws.implicit import Implicit

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observations
    from forecast.fit.objectives.objective import Objective
    from forecast.laws import Law


#: A condition counts as one of its own if it is this far from following from the others.
CONDITION_RANK_RTOL = 1e-9


def typical(values: Array) -> float:
    """Return the geometric mean of the sizes of what is not 0; 1 where everything is."""
    return float(np.exp(_mean_logs(np.ravel(values))))


def _mean_logs(values: Array, given: BoolArray | None = None) -> Any:
    """Return the mean logarithm along the last axis of what is not 0, of the given points; 0 where everything is."""
    usable = (values != 0) & np.isfinite(values) & (True if given is None else given)
    logs = np.log(np.abs(np.where(usable, values, 1.0)))
    return logs.sum(axis=-1) / np.maximum(np.count_nonzero(usable, axis=-1), 1)


class _Conditions:
    """What must be alike for a law to hold in other units: rows over the logarithms of all factors.

    Parameters
    ----------
    law : forecast.Law
    values : mapping of str to ndarray
        The parameters, (G, 1): exponents are read off them.
    """

    def __init__(self, law: Law, values: Mapping[str, Array]) -> None:
        self.variables, self.values = set(law.variables), values
        self.columns = {n: i for i, n in enumerate([*law.parameters, *law.variables, law.output])}
        self.count = max((np.size(v) for v in values.values()), default=1)
        self.rows: list[Array] = []
        form = law._form
        if isinstance(form, Implicit):
            self._alike([self.of(form.left.root), self.of(form.right.root)])
            for end in form.ends:
                self._alike([self.of(end.root), self._unit(law.output)])
        else:
            self._alike([self.of(law.formula.root), self._unit(law.output)])

    def _unit(self, name: str) -> Array:
        row = np.zeros((self.count, len(self.columns)))
        row[:, self.columns[name]] = 1.0
        return row

    def _alike(self, parts: list[Array | None]) -> Array | None:
        """Ask that parts have one unit, and return it; 0 has every unit (None)."""
        known = [part for part in parts if part is not None]
        self.rows += [part - known[0] for part in known[1:]]
        return known[0] if known else None

    def _plain(self, node: Node) -> None:
        """Ask that a part is a plain number."""
        part = self.of(node)
        if part is not None:
            self.rows.append(part)

    def of(self, node: Node) -> Array | None:
        """Return the unit of a part of the formula, (G, all factors); None for 0."""
        none = np.zeros((self.count, len(self.columns)))
        if isinstance(node, Number):
            return none if node.value else None
        if isinstance(node, Name):
            return self._unit(node.name) if node.name in self.columns else none
        if isinstance(node, Unary):
            return self.of(node.operand)
        if isinstance(node, Call):
            function = FUNCTIONS[node.function]
            if DIMENSIONLESS in function.arguments:
                for part in node.args:
                    self._plain(part)
                return none
            whole = self._alike([self.of(part) for part in node.args])
            return None if whole is None else float(function.result) * whole
        assert isinstance(node, Binary)
        if node.op in "+-":
            return self._alike([self.of(node.left), self.of(node.right)])
        if node.op == "**":
            return self._power(node)
        left, right = self.of(node.left), self.of(node.right)
        if left is None or right is None:
            return None
        return left + right if node.op == "*" else left - right

    def _power(self, node: Binary) -> Array | None:
        base = self.of(node.left)
        self._plain(node.right)
        if any(isinstance(part, Name) and part.name in self.variables for part in tree.walk(node.right)):
            if base is not None:
                self.rows.append(base)
            return np.zeros((self.count, len(self.columns)))
        if base is None:
            return None
        with np.errstate(all="ignore"):
            exponent = np.asarray(tree.evaluate(node.right, self.values), dtype=float)
        return base * np.where(np.isfinite(exponent), exponent, 0.0).reshape(-1, 1)


@dataclass(frozen=True)
class Rescaling:
    """By what the variables, the output and the parameters of a law are divided.

    Parameters
    ----------
    law : forecast.Law
    unscaled : tuple of str
        Parameters whose factor is 1: fixed, or between bounds.
    logs : ndarray
        Logarithms of the factors of the variables and, last, of the output: a row a fit, (B, variables + 1), or one
        for all.
    """

    law: Law
    unscaled: tuple[str, ...]
    logs: Array

    def factor(self, name: str) -> Array:
        """Return the factors of a variable or of the output, (B,)."""
        return np.asarray(np.exp(self.logs[:, [*self.law.variables, self.law.output].index(name)]))

    def factors(self, values: Mapping[str, Any]) -> dict[str, Array]:
        """Return by what each parameter is divided, at parameters whose exponents are `values`, (B,) or (G,) each."""
        conditions = _linear(self.law, self.unscaled, values)
        k = len(self.law.parameters)
        a, side = conditions[:, :, :k], -np.einsum("gcv,gv->gc", *_broadcast_rows(conditions[:, :, k:], self.logs))
        squares = np.einsum("gci,gcj->gij", a, a)
        # the least of the answers where several do
        squares = squares + 1e-13 * np.eye(k)
        answer = np.linalg.solve(squares, np.einsum("gci,gc->gi", *_broadcast_rows(a, side))[..., None])[..., 0]
        with np.errstate(over="ignore"):
            return {n: np.exp(answer[:, i]) for i, n in enumerate(self.law.parameters)}

    def moved(self, name: str, values: Array) -> Array:
        """Return values of a variable or of the output in their new unit, (n,) or (B, n)."""
        factor = self.factor(name)
        return values / (factor[0] if values.ndim == 1 else factor[:, None])


def _broadcast_rows(*tables: Array) -> list[Array]:
    """Return tables with one row a fit, where one of them has a row for all."""
    count = max(len(table) for table in tables)
    return [np.broadcast_to(table, (count, *table.shape[1:])) for table in tables]


def _linear(law: Law, unscaled: tuple[str, ...], values: Mapping[str, Any]) -> Array:
    """Return the conditions on all factors, (G, conditions, parameters + variables + 1)."""
    given = _Conditions(law, {n: np.atleast_1d(np.asarray(v, dtype=float)).reshape(-1, 1) for n, v in values.items()})
    rows = [*given.rows, *(given._unit(name) for name in unscaled)]
    return np.stack(rows, axis=1) if rows else np.zeros((given.count, 1, len(given.columns)))


#: Cache of `_unit_constraints`, which every fit needs: by form, unscaled parameters, and whether the output has no
#: unit.
_tied: WeakKeyDictionary[Any, dict[tuple[tuple[str, ...], bool], Array]] = WeakKeyDictionary()


def _unit_constraints(law: Law, unscaled: tuple[str, ...], counts: bool) -> Array:
    """Return orthogonal rows over the factors of variables and output that no choice of a law's parameters moves."""
    known = _tied.setdefault(law._form, {})
    if (unscaled, counts) in known:
        return known[unscaled, counts]
    rng = np.random.default_rng(7)
    some = {name: rng.uniform(0.3, 0.9, 3) for name in law.parameters}
    k, tied = len(law.parameters), []
    for conditions in _linear(law, unscaled, some):
        left, sizes, _ = np.linalg.svd(conditions[:, :k])
        rank = int((sizes > CONDITION_RANK_RTOL * sizes.max(initial=1.0)).sum())
        tied.append(left[:, rank:].T @ conditions[:, k:])  # conditions that no choice of the parameters' factors meets
    if counts:
        tied.append(np.eye(conditions.shape[1] - k)[-1:])
    _, sizes, right = np.linalg.svd(np.concatenate(tied))
    known[unscaled, counts] = right[: int((sizes > CONDITION_RANK_RTOL * sizes.max(initial=1.0)).sum())]
    return known[unscaled, counts]


def find_rescaling(
    law: Law,
    variables: Mapping[str, Array],
    observed: Array | None,
    unscaled: tuple[str, ...] = (),
    given: BoolArray | None = None,
) -> Rescaling | None:
    """Return the factors that bring data close to 1, as far as the law holds in every unit; None where it has no text.

    Parameters
    ----------
    law : forecast.Law
    variables : mapping of str to ndarray
        (n,), or (B, n) of many fits.
    observed : ndarray, optional
        (n,) or (B, n); None where the objective is another in another unit, as of counts.
    unscaled : tuple of str
    given : ndarray of bool, optional
        (B, n), what is a point of the data and no padding.
    """
    if law.levels or (law.expression is None and not isinstance(law._form, Implicit)):
        return None
    rows = _unit_constraints(law, unscaled, observed is None)
    columns = [*(variables[v] for v in law.variables), *([] if observed is None else [observed])]
    wanted = [_mean_logs(np.asarray(c, dtype=float), None if np.ndim(c) < 2 else given) for c in columns]
    logs = np.array(np.broadcast_arrays(*wanted, *([0.0] * (observed is None)))).reshape(len(law.variables) + 1, -1)
    moved = logs - rows.T @ (rows @ logs)
    # points that all fits share stay shared, though their unit hangs on that of outputs of different sizes
    common = [i for i, v in enumerate(law.variables) if np.ndim(variables[v]) == 1]
    if common and np.ptp(moved[common], axis=1).max() > CONDITION_RANK_RTOL:
        logs = logs.mean(axis=1, keepdims=True)
        moved = logs - rows.T @ (rows @ logs)
    return Rescaling(law, unscaled, moved.T)


def unit_of_parameter(limits: Coordinates) -> tuple[str, ...]:
    """Return the parameters that are fixed or stand between bounds, other than at 0."""
    low, high = limits.natural(limits.lower), limits.natural(limits.upper)
    between = ((low != 0) & np.isfinite(low)) | ((high != 0) & np.isfinite(high))
    unscaled = [name for name, both in zip(limits.free, between, strict=True) if both]
    return (*unscaled, *(name for name, value in limits.fixed.items() if value))


@dataclass(frozen=True)
class Rescaled:
    """Fits in units of their data's own size, and the way there and back.

    Parameters
    ----------
    limits : Coordinates
    objective : Objective
    scaling : Rescaling
    """

    limits: Coordinates
    objective: Objective
    scaling: Rescaling

    def _moves(self, q: Array) -> Array:
        p = self.limits.natural(q.T).T
        factors = self.scaling.factors({**self.limits.fixed, **dict(zip(self.limits.free, p, strict=True))})
        return np.stack([np.broadcast_to(factors[n], q.shape[1]) for n in self.limits.free])

    def inwards(self, q: Array) -> Array:
        """Return parameters in the solver's coordinates, (k, B), in the units of the data's own size."""
        moves = self._moves(q)
        with np.errstate(all="ignore"):
            return np.where(self.limits.logs[:, None], q - np.log(moves), q / moves)

    def outwards(self, q: Array) -> Array:
        """Return parameters in the solver's coordinates, (k, B), in the units that were given."""
        moves = self._moves(q)
        with np.errstate(all="ignore"):
            p = np.where(self.limits.logs[:, None], q + np.log(moves), q * moves)
        return np.clip(p, self.limits.lower[:, None], self.limits.upper[:, None])

    @property
    def unit(self) -> Array:
        """What residuals are divided by, (B,)."""
        return np.ones(len(self.scaling.logs)) if self.objective.log else self.scaling.factor(self.scaling.law.output)

    @property
    def share(self) -> Array:
        """What the objective is divided by, (B,), where the weights stay as they are."""
        return self.unit ** (self.objective.degree or 0)

    def options(self, options: Mapping[str, Any], by: Any) -> dict[str, Any]:
        """Return options of the objective with those that are lengths of residuals multiplied."""
        if self.objective.log:
            return dict(options)
        return {n: v * by if n == self.objective.tuning and v is not None else v for n, v in options.items()}


def _find_scaling(
    law: Law,
    limits: Coordinates,
    objective: Objective,
    variables: Mapping[str, Array],
    y: Array,
    given: BoolArray | None = None,
) -> Rescaled | None:
    has_unit = objective.log or objective.degree is not None
    scaling = find_rescaling(law, variables, y if has_unit else None, unit_of_parameter(limits), given)
    return None if scaling is None or not scaling.logs.any() else Rescaled(limits, objective, scaling)


def rescale_problem(problem: Problem) -> tuple[Rescaled, Problem] | None:
    """Return a problem in units of its data's own size, and the way back; None where the law does not allow it."""
    result = _find_scaling(problem.law, problem.coordinates, problem.objective, problem.variables, problem.observed)
    if result is None:
        return None
    moved, unit = result.scaling.moved, float(result.unit[0])
    changes: dict[str, Any] = {
        "variables": {n: moved(n, v) for n, v in problem.variables.items()},
        "observed": moved(problem.law.output, problem.observed),
        "options": result.options(problem.options, 1 / unit),
    }
    if problem.errs_in_x:  # the weights are those of y, and carry its unit
        changes["weights"] = problem.weights * unit**2
        changes["sigma_x"] = {n: moved(n, v) for n, v in problem.sigma_x.items()}  # type: ignore[attr-defined]
    return result, problem.with_changes(**changes)


def rescaled_curves(
    law: Law, observations: Observations, target: Target
) -> tuple[Rescaled, Observations, Target] | None:
    """Return curves, each in units of its own size, and what is minimised; None where the law does not allow it."""
    limits = target.coordinates
    result = _find_scaling(law, limits, target.objective, observations.variables, observations.y, observations.given)
    if result is None:
        return None
    scaling = replace(
        result.scaling, logs=np.broadcast_to(result.scaling.logs, (len(observations.y), len(law.variables) + 1))
    )
    result = replace(result, scaling=scaling)
    y = result.scaling.moved(law.output, observations.y)
    moved = replace(
        observations, variables={n: result.scaling.moved(n, v) for n, v in observations.variables.items()}, y=y
    )
    kernel = kernel_for(limits.placement(law, moved.variables, link=target.objective.log))
    options = result.options(target.options, 1 / result.unit[:, None])
    return result, moved, replace(target, kernel=kernel, y=target.objective.linked(y), options=options)
