"""One data set: the problem in the solver's coordinates.

A positive parameter in which the law is not linear is solved in its logarithm; everything else as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.fit.kernels.general import General, Kernel, Placement
from forecast.fit.kernels.power_sum import PowerSum, power_terms
from forecast.fit.objectives.objective import Objective
from forecast.fit.problem.poles import Poles, poles_of
from forecast.fit.problem.target import EXACT, Target
from forecast.formula.tree import Binary, Name, walk
from forecast.laws.grouped import Grouped

if TYPE_CHECKING:
    from forecast.laws import Law

__all__ = ["Problem", "factors", "kernel_for", "on_bound"]

Array: TypeAlias = NDArray[np.float64]

#: Nearer to a bound than this share is on it.
BESIDE = 1e-7


def kernel_for(placement: Placement) -> Kernel:
    """Return the fastest kernel a law has at these points: log-sum-exp for sums of powers, else the general one."""
    law = placement.law
    if law.levels:
        from forecast.fit.kernels.grouped import GroupKernel, suits

        if suits(law, placement.variables):
            return GroupKernel(placement)
    general = General(placement)
    positive = placement.logs if placement.positive is None else placement.positive
    terms = power_terms(law, placement.free, positive, placement.fixed)
    if terms is not None:
        quick = PowerSum(terms, placement.variables, placement.free, placement.logs, placement.link, general)
        if quick.usable:
            return quick
    return general


def factors(law: Law, free: tuple[str, ...], positive: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which of some positive parameters stand in a term with other parameters, as A in A*N**-alpha."""
    plain = law._plain
    if plain.expression is None:
        return np.zeros(len(free), dtype=bool)
    multiplied: set[str] = set()
    terms = [plain.formula.root]
    while terms:
        term = terms.pop()
        if isinstance(term, Binary) and term.op in "+-":
            terms += [term.left, term.right]
            continue
        names = {part.name for part in walk(term) if isinstance(part, Name)} & set(plain.parameters)
        multiplied |= names if len(names) > 1 else set()
    return np.asarray(positive & np.array([law._role(name) in multiplied for name in free]))


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A law, observations and an objective, over the free parameters in the solver's coordinates.

    Parameters
    ----------
    law : forecast.Law
    variables : mapping of str to ndarray
    observed, weights : ndarray
    objective : Objective
    free : tuple of str
        The parameters that are solved for.
    fixed : mapping of str to float
        The others.
    logs : ndarray of bool
        Which of the free ones are solved in their logarithm.
    lower, upper : ndarray
        Bounds in the solver's coordinates.
    options : mapping
        Of the objective: Huber's threshold ``delta``, ``tau``, ``trials``, ...
    """

    law: Law
    variables: Mapping[str, Array]
    observed: Array
    weights: Array
    objective: Objective
    free: tuple[str, ...]
    fixed: Mapping[str, float]
    logs: NDArray[np.bool_]
    lower: Array
    upper: Array
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def delta(self) -> float | None:
        """Huber's threshold, once it is known."""
        found: float | None = self.options.get("delta")
        return found

    def with_options(self, **options: Any) -> Problem:
        """Return the same problem under other options."""
        made = replace(self, options={**self.options, **options})
        made.__dict__["kernel"] = self.kernel
        return made

    def as_squares(self) -> Problem:
        """Return the problem of least squares in the same link, for a first look."""
        return replace(self, objective=self.objective.as_squares(), options={})

    def thinned(self, count: int) -> Problem:
        """Return the problem at so many of its points, drawn at random, for a look at many; itself where they are few.

        A law with groups, and one with errors in x, keeps all of its points.
        """
        n = self.observed.size
        if n <= count or self.errs_in_x or isinstance(self.law._form, Grouped):
            return self
        rows = np.sort(np.random.default_rng(0).choice(n, count, replace=False))

        def of(values: Any) -> Any:
            return values[rows] if np.shape(values) == (n,) else values

        return replace(
            self, variables={name: of(v) for name, v in self.variables.items()}, observed=of(self.observed),
            weights=of(self.weights), options={name: of(v) for name, v in self.options.items()},
        )  # fmt: skip

    def placement(self, logs: NDArray[np.bool_]) -> Placement:
        """Return the law at the points, with these coordinates in logarithms."""
        return Placement(
            law=self.law, variables=self.variables, free=self.free, logs=logs, fixed=self.fixed,
            link=self.objective.log, positive=self.positive,
        )  # fmt: skip

    @functools.cached_property
    def kernel(self) -> Kernel:
        """The law at the points."""
        return kernel_for(self.placement(self.logs))

    @functools.cached_property
    def poles(self) -> Poles | None:
        """What the law is divided by, where that may change its sign among the points."""
        return poles_of(self.law, self, self.variables, self.weights)

    @property
    def errs_in_x(self) -> bool:
        """Whether variables have known errors, see `forecast.fit.problem.errors_in_variables`."""
        return False

    def general(self, logs: NDArray[np.bool_]) -> Kernel:
        """Return the general kernel in other coordinates."""
        return General(self.placement(logs))

    @functools.cached_property
    def linked(self) -> Array:
        """The observations in the objective's link."""
        return self.objective.linked(self.observed)

    def target(self, weights: Array | None = None) -> Target:
        """Return what the solver minimises, with other weights if given: (n,) or one row a fit."""
        options = {name: value for name, value in self.options.items() if value is not None}
        return Target(
            kernel=self.kernel,
            objective=self.objective,
            y=self.linked,
            weights=self.weights if weights is None else weights,
            options=options,
            factors=self.factors,
        )

    @property
    def positive(self) -> NDArray[np.bool_]:
        """Which of the free parameters are never negative."""
        return self.logs | (self.lower >= 0)

    @functools.cached_property
    def factors(self) -> NDArray[np.bool_]:
        """Which positive parameters are solved in steps that are factors."""
        return factors(self.law, self.free, self.positive & ~self.logs)

    def about(self, p: Array) -> Problem:
        """Return the problem with every positive parameter in its logarithm, but for those that are 0 in `p`."""
        logs = self.positive & (p > 0)
        lower, upper = self.natural(self.lower), self.natural(self.upper)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = [np.where(logs, np.log(np.where(logs, end, 1.0)), end) for end in (lower, upper)]
        return replace(self, logs=logs, lower=ends[0], upper=ends[1])

    @property
    def n(self) -> int:
        """Number of points with weight."""
        return int(np.count_nonzero(self.weights))

    @property
    def k(self) -> int:
        """Number of free parameters."""
        return len(self.free)

    def natural(self, u: Array) -> Array:
        """Return the free parameters as the law has them."""
        with np.errstate(over="ignore"):
            return np.where(self.logs, np.exp(np.where(self.logs, u, 0.0)), u)

    def internal(self, p: Array) -> Array:
        """Return the free parameters in the solver's coordinates."""
        with np.errstate(divide="ignore"):
            return np.where(self.logs, np.log(np.where(self.logs, p, 1.0)), p)

    def named(self, p: Array) -> dict[str, float]:
        """Return all parameters by name, in the law's order."""
        known = {**self.fixed, **dict(zip(self.free, (float(v) for v in p), strict=True))}
        return {name: known[name] for name in self.law.parameters}

    def predicted(self, p: Array) -> Array:
        """Return the law at the points, not finite where it overflows."""
        with np.errstate(all="ignore"):
            value = np.asarray(self.law.value(self.named(p), **self.variables), dtype=float)
        return np.asarray(np.broadcast_to(value, self.observed.shape))

    def residuals(self, u: Array) -> Array:
        """Return residuals, unweighted."""
        return self.residuals_at(self.natural(u))

    def residuals_at(self, p: Array) -> Array:
        """Return residuals at parameters as the law has them."""
        with np.errstate(all="ignore"):
            return self.objective.residuals(self.objective.linked(self.predicted(p)), self.linked, self.options)

    def slopes(self, p: Array) -> Array:
        """Return the derivatives of the residuals by the free parameters as the law has them, (n, k)."""
        with np.errstate(all="ignore"):
            rows = np.asarray(self.law.jacobian(self.named(p), **self.variables), dtype=float)
            keep = [list(self.law.parameters).index(name) for name in self.free]
            table = np.array([np.broadcast_to(rows[i], self.observed.shape) for i in keep], dtype=float).T
            return np.asarray(table / self.predicted(p)[:, None]) if self.objective.log else table

    def jacobian(self, u: Array) -> Array:
        """Return the derivatives of the residuals by the solver's coordinates, (n, k)."""
        p = self.natural(u)
        with np.errstate(all="ignore"):
            return self.slopes(p) * np.where(self.logs, p, 1.0)

    def value(self, u: Array) -> float:
        """Return the objective; inf where it cannot be computed."""
        return self.value_at(self.natural(u))

    def value_at(self, p: Array) -> float:
        """Return the objective at parameters as the law has them."""
        with np.errstate(all="ignore"):
            loss = self.pointwise(p)[0]
            got = float(np.sum(self.weights * loss))
        return got if np.isfinite(got) else float("inf")

    def pointwise(self, p: Array) -> tuple[Array, Array, Array]:
        """Return the loss and its derivatives by the law in the link, at every point."""
        with np.errstate(all="ignore"):
            target = self.target()
            return self.objective.pointwise(self.objective.linked(self.predicted(p)), target.y, target.options)

    def rounding(self) -> float:
        """Return the objective of residuals that are the rounding of the data."""
        return (EXACT * self.size()) ** 2 + 1e-280

    def size(self) -> float:
        """Return the length of the observations, against which a residual is small or not."""
        return float(np.sqrt(np.sum(self.weights * self.objective.sizes(self.linked, self.options))))


def on_bound(q: Array, lower: Array, upper: Array, logs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell which coordinates stand on a finite bound: as near as solvers come, in its own size."""
    standing = np.zeros(q.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        for bound in (lower, upper):
            near = BESIDE * np.where(logs, np.maximum(np.abs(q), 1.0), np.abs(bound))
            standing |= np.isfinite(bound) & (np.abs(q - bound) <= near)
    return standing
