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
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.formula import tree
from forecast.formula.functions import FUNCTIONS, PLAIN
from forecast.formula.tree import Binary, Call, Name, Node, Number, Unary
from forecast.laws.implicit import Implicit

if TYPE_CHECKING:
    from forecast.fit.problem.coordinates import Coordinates
    from forecast.fit.problem.problem import Problem
    from forecast.laws import Law

__all__ = ["Rescaled", "Rescaling", "held_by", "rescaled", "rescaling", "typical"]

Array: TypeAlias = NDArray[np.float64]

#: A condition counts as one of its own if it is this far from following from the others.
RANK = 1e-9


def typical(values: Array) -> float:
    """Return the geometric mean of the sizes of what is not 0; 1 where everything is."""
    sizes = np.abs(values[(values != 0) & np.isfinite(values)])
    return float(np.exp(np.mean(np.log(sizes)))) if sizes.size else 1.0


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
            if PLAIN in function.arguments:
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
    held : tuple of str
        Parameters that stay as they are: fixed, or between bounds.
    logs : ndarray
        Logarithms of the factors of the variables and, last, of the output.
    """

    law: Law
    held: tuple[str, ...]
    logs: Array

    def factor(self, name: str) -> float:
        """Return the factor of a variable or of the output."""
        return float(np.exp(self.logs[[*self.law.variables, self.law.output].index(name)]))

    def factors(self, values: Mapping[str, Any]) -> dict[str, Array]:
        """Return by what each parameter is divided, at parameters whose exponents are `values`, (G,) each."""
        found = _linear(self.law, self.held, values)
        k = len(self.law.parameters)
        a, side = found[:, :, :k], -found[:, :, k:] @ self.logs
        squares = np.einsum("gci,gcj->gij", a, a)
        # the least of the answers where several do
        squares = squares + 1e-13 * np.eye(k)
        answer = np.linalg.solve(squares, np.einsum("gci,gc->gi", a, side)[..., None])[..., 0]
        with np.errstate(over="ignore"):
            return {n: np.exp(answer[:, i]) for i, n in enumerate(self.law.parameters)}


def _linear(law: Law, held: tuple[str, ...], values: Mapping[str, Any]) -> Array:
    """Return the conditions on all factors, (G, conditions, parameters + variables + 1)."""
    given = _Conditions(law, {n: np.atleast_1d(np.asarray(v, dtype=float)).reshape(-1, 1) for n, v in values.items()})
    rows = [*given.rows, *(given._unit(name) for name in held)]
    return np.stack(rows, axis=1) if rows else np.zeros((given.count, 1, len(given.columns)))


def rescaling(
    law: Law, variables: Mapping[str, Array], observed: Array | None, held: tuple[str, ...] = ()
) -> Rescaling | None:
    """Return the factors that bring data close to 1, as far as the law holds in every unit; None where it has no text.

    Parameters
    ----------
    law : forecast.Law
    variables : mapping of str to ndarray
    observed : ndarray, optional
        None where it is no quantity with a unit: counts.
    held : tuple of str
    """
    if law.levels or (law.expression is None and not isinstance(law._form, Implicit)):
        return None
    rng = np.random.default_rng(7)
    some = {name: rng.uniform(0.3, 0.9, 3) for name in law.parameters}
    k, tied = len(law.parameters), []
    for found in _linear(law, held, some):
        left, sizes, _ = np.linalg.svd(found[:, :k])
        rank = int((sizes > RANK * sizes.max(initial=1.0)).sum())
        tied.append(left[:, rank:].T @ found[:, k:])  # conditions that no choice of the parameters' factors meets
    if observed is None:
        tied.append(np.eye(found.shape[1] - k)[-1:])
    _, sizes, right = np.linalg.svd(np.concatenate(tied))
    rows = right[: int((sizes > RANK * sizes.max(initial=1.0)).sum())]
    sizes_of = [*(variables[v] for v in law.variables), *([] if observed is None else [observed])]
    wanted = np.array([np.log(typical(np.asarray(v, dtype=float))) for v in sizes_of] + [0.0] * (observed is None))
    return Rescaling(law, held, wanted - rows.T @ (rows @ wanted))


def held_by(where: Problem | Coordinates) -> tuple[str, ...]:
    """Return the parameters that are fixed or stand between bounds, other than at 0."""
    with np.errstate(over="ignore"):
        low, high = (np.where(where.logs, np.exp(np.where(where.logs, b, 0.0)), b) for b in (where.lower, where.upper))
    between = ((low != 0) & np.isfinite(low)) | ((high != 0) & np.isfinite(high))
    held = [name for name, both in zip(where.free, between, strict=True) if both]
    return (*held, *(name for name, value in where.fixed.items() if value))


@dataclass(frozen=True)
class Rescaled:
    """A problem in units of the data's own size, and the way there and back.

    Parameters
    ----------
    given, problem : Problem
        As it came, and rescaled.
    scaling : Rescaling
    """

    given: Problem
    problem: Problem
    scaling: Rescaling

    def _moves(self, p: Array) -> Array:
        factors = self.scaling.factors({**self.given.fixed, **dict(zip(self.given.free, p.T, strict=True))})
        return np.stack([np.broadcast_to(factors[n], len(p)) for n in self.given.free], axis=1)

    def inwards(self, u: Array) -> Array:
        """Return parameters in the solver's coordinates, (G, k), as the rescaled problem has them."""
        p = self.given.natural(u)
        with np.errstate(all="ignore"):
            return np.where(self.given.logs, u - np.log(self._moves(p)), u / self._moves(p))

    def outwards(self, u: Array) -> Array:
        """Return parameters in the solver's coordinates, (G, k), as the given problem has them."""
        moves = self._moves(self.given.natural(u))
        with np.errstate(all="ignore"):
            found = np.where(self.given.logs, u + np.log(moves), u * moves)
        return np.clip(found, self.given.lower, self.given.upper)

    @property
    def unit(self) -> float:
        """What residuals are divided by."""
        return 1.0 if self.given.objective.log else self.scaling.factor(self.given.law.output)

    @property
    def share(self) -> float:
        """What the objective is divided by."""
        if self.given.errs_in_x:  # the weights are those of y, and carry its unit
            return 1.0
        return self.unit if self.given.objective.loss == "quantile" else self.unit**2

    def options(self, options: Mapping[str, Any], by: float) -> dict[str, Any]:
        """Return options of the objective with those that are lengths of residuals multiplied."""
        lengths = ("delta", "width")
        return {n: v * by if n in lengths and v is not None else v for n, v in options.items()}


def rescaled(problem: Problem) -> Rescaled | None:
    """Return a problem in units of its data's own size; None where the law does not allow it."""
    counts = problem.objective.scale == "known"
    scaling = rescaling(problem.law, problem.variables, None if counts else problem.observed, held_by(problem))
    if scaling is None or not scaling.logs.any():
        return None
    made = Rescaled(problem, problem, scaling)
    sizes = {name: scaling.factor(name) for name in problem.law.variables}
    changes: dict[str, Any] = {
        "variables": {n: v / sizes[n] for n, v in problem.variables.items()},
        "observed": problem.observed / scaling.factor(problem.law.output),
        "options": made.options(problem.options, 1 / made.unit),
    }
    if problem.errs_in_x:
        changes["weights"] = problem.weights * made.unit**2
        changes["sigma_x"] = {n: v / sizes[n] for n, v in problem.sigma_x.items()}  # type: ignore[attr-defined]
    return replace(made, problem=replace(problem, **changes))
