"""What is minimised of one data set, in the solver's coordinates.

A positive parameter in which the law is not linear is solved in its logarithm; everything else as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.fit.kernels.general import Kernel, Placement, ProgramKernel
from forecast.fit.kernels.power_sum import PowerSum, power_terms
from forecast.fit.objectives.objective import Scratch
from forecast.fit.problem.poles import Poles, poles_of
from forecast.fit.problem.target import Target
from forecast.formula.tree import Binary, Name, walk
from forecast.laws.grouped import Grouped

if TYPE_CHECKING:
    from forecast.fit.problem.coordinates import Coordinates
    from forecast.laws import Law


#: Nearer to a bound than this share is on it.
BOUND_RTOL = 1e-7


def kernel_for(placement: Placement) -> Kernel:
    """Return the fastest kernel a law has at these points: log-sum-exp for sums of powers, else the general one."""
    law = placement.law
    if law.levels:
        from forecast.fit.kernels.grouped import GroupKernel, is_supported

        if is_supported(law, placement.variables):
            return GroupKernel(placement)
    general = ProgramKernel(placement)
    positive = placement.logs if placement.positive is None else placement.positive
    terms = power_terms(law, placement.free, positive, placement.fixed)
    if terms is not None:
        quick = PowerSum(terms, placement.variables, placement.free, placement.logs, placement.link, general)
        if quick.usable:
            return quick
    return general


def multiplied_parameters(law: Law, coordinates: Coordinates) -> BoolArray:
    """Tell which positive parameters, but for logarithms, stand in a term with others, as A in A*N**-alpha."""
    plain, free = law._plain, coordinates.free
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
    positive = coordinates.positive & ~coordinates.logs
    return np.asarray(positive & np.array([law._role(name) in multiplied for name in free]))


@dataclass(frozen=True, kw_only=True)
class Problem(Target):
    """What is minimised of one data set, beside the law, the observations and the coordinates that it comes from.

    Parameters
    ----------
    law : forecast.Law
    variables : mapping of str to ndarray
    observed : ndarray
        (n,), not in the link.
    kernel, y, factors : optional
        As of a `Target`; they follow from the others.
    free, fixed, logs, lower, upper
        Those of the coordinates.
    """

    law: Law
    variables: Mapping[str, Array]
    observed: Array
    kernel: Any = field(default=None, repr=False)
    y: Any = field(default=None, repr=False)
    free: tuple[str, ...] = field(init=False, repr=False)
    fixed: Mapping[str, float] = field(init=False, repr=False)
    logs: BoolArray = field(init=False, repr=False)
    lower: Array = field(init=False, repr=False)
    upper: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        c = self.coordinates
        self.__dict__.update(free=c.free, fixed=c.fixed, logs=c.logs, lower=c.lower, upper=c.upper)
        if self.kernel is not None:
            return
        self.__dict__["y"] = self.objective.linked(self.observed)
        self.__dict__["factors"] = multiplied_parameters(self.law, c)
        self.__dict__["kernel"] = self.kernel_in(self.logs)

    def __getstate__(self) -> dict[str, Any]:
        """Leave what follows from the rest to the process that it is sent to."""
        return self.parts()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def parts(self) -> dict[str, Any]:
        """Return of what a problem like it is made, but for what follows from that."""
        given = {name: self.__dict__[name] for name, part in self.__dataclass_fields__.items() if part.init}
        return {**given, "kernel": None, "scratch": Scratch()}

    def with_changes(self, **changes: Any) -> Self:
        """Return the problem with other data, coordinates or weights, and what follows from these."""
        return replace(self, kernel=None, scratch=Scratch(), **changes)

    def with_options(self, **options: Any) -> Self:
        """Return the same problem under other options."""
        return replace(self, options={**self.options, **options}, scratch=Scratch())

    def as_squares(self) -> Self:
        """Return the problem of least squares in the same link, for a first look."""
        return replace(self, objective=self.objective.as_squares(), options={}, scratch=Scratch())

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

        return self.with_changes(
            variables={name: of(v) for name, v in self.variables.items()}, observed=of(self.observed),
            weights=of(self.weights), options={name: of(v) for name, v in self.options.items()},
        )  # fmt: skip

    def target(self, weights: Array | None = None) -> Target:
        """Return it for one solver, with tables of its own, and other weights if given: (n,) or one row a fit."""
        own = {name: self.__dict__[name] for name in Target.__dataclass_fields__ if name != "scratch"}
        return Target(**own if weights is None else {**own, "weights": weights})

    def kernel_in(self, logs: BoolArray) -> Kernel:
        """Return the fastest kernel, with these coordinates in logarithms."""
        return kernel_for(self.placement(logs))

    def general(self, logs: BoolArray) -> Kernel:
        """Return the general kernel in other coordinates."""
        return ProgramKernel(self.placement(logs))

    def placement(self, logs: BoolArray) -> Placement:
        """Return the law at the points, with these coordinates in logarithms."""
        placed = self.coordinates.placement(self.law, self.variables, link=self.objective.log)
        return placed if logs is self.logs else replace(placed, logs=logs)

    @functools.cached_property
    def poles(self) -> Poles | None:
        """What the law is divided by, where that may change its sign among the points."""
        return poles_of(self.law, self.coordinates, self.variables, self.weights)

    @property
    def errs_in_x(self) -> bool:
        """Whether variables have known errors, see `forecast.fit.problem.errors_in_variables`."""
        return False

    @property
    def positive(self) -> BoolArray:
        """Which of the free parameters are never negative."""
        return self.coordinates.positive

    def about(self, p: Array) -> Problem:
        """Return the problem with every positive parameter in its logarithm, but for those that are 0 in `p`."""
        return self.with_changes(coordinates=self.coordinates.with_logs(self.positive & (p > 0)))

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
        return self.coordinates.natural(u)

    def internal(self, p: Array) -> Array:
        """Return the free parameters in the solver's coordinates."""
        return self.coordinates.internal(p)

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
            return self.objective.residuals(self.objective.linked(self.predicted(p)), self.y, self.options)

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

    def value_at(self, p: Array) -> float:
        """Return the objective at parameters as the law has them; inf where it cannot be computed."""
        with np.errstate(all="ignore"):
            loss = self.objective.losses(self.objective.linked(self.predicted(p)), self.y, self.options)[0]
            value = float(np.sum(self.weights * loss))
        return value if np.isfinite(value) else float("inf")


def on_bound(q: Array, coordinates: Coordinates | Problem) -> BoolArray:
    """Tell which coordinates, (k,) or (k, B), stand on a finite bound: as near as solvers come, in its own size."""
    standing = np.zeros(q.T.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        for bound in (coordinates.lower, coordinates.upper):
            near = BOUND_RTOL * np.where(coordinates.logs, np.maximum(np.abs(q.T), 1.0), np.abs(bound))
            standing |= np.isfinite(bound) & (np.abs(q.T - bound) <= near)
    return standing.T
