"""What is minimised, in the solver's coordinates: of one data set, or over a batch of fits.

A positive parameter in which the law is not linear is solved in its logarithm; everything else as it is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.errors import FitError, UnknownNameError, UsageError, printable
from forecast.fit.kernels.general import Kernel, LawState, Placement, ProgramKernel
from forecast.fit.kernels.power_sum import PowerSum, power_terms
from forecast.fit.objectives.objective import Objective, Scratch
from forecast.fit.problem.poles import Poles, poles_of
from forecast.fit.sizes import CACHE_ELEMENTS
from forecast.fit.solver_options import SolverOptions
from forecast.formula.tree import Binary, Name, walk
from forecast.laws.grouped import Grouped

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observations
    from forecast.laws import Law


#: Residuals this small beside the observations are rounding.
RESIDUAL_RTOL = 1e-11
#: Residuals this small are as exact as numbers are.
EXACT_RTOL = 1e-14
#: More points than this are summed in pieces that stay in the cache.
MAX_UNBLOCKED_POINTS = 4 * CACHE_ELEMENTS


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is minimised, over a batch.

    Parameters
    ----------
    kernel : Kernel
    objective : Objective
    coordinates : Coordinates
        Their bounds, and which are logarithms.
    y : ndarray
        Observations in the link, (n,) or (B, n).
    weights : ndarray
        (n,) or (B, n).
    options : mapping
        Of the loss; arrays of two dimensions are one row a fit, of one dimension one number a point.
    factors : ndarray of bool, optional
        (k,): positive coordinates that multiply what bends with others; steps in them are factors, as in a logarithm,
        until they head for their bound. Default: none.
    solver : SolverOptions
    """

    kernel: Kernel
    objective: Objective
    coordinates: Coordinates
    y: Array
    weights: Array
    options: Mapping[str, Any]
    factors: BoolArray | None = None
    solver: SolverOptions = field(default_factory=SolverOptions)
    scratch: Scratch = field(default_factory=Scratch, repr=False)

    def take(self, rows: Any) -> Target:
        """Return the target of some of the fits."""
        return Target(
            kernel=self.kernel.take(rows),
            objective=self.objective,
            coordinates=self.coordinates,
            y=_rows_of(self.y, rows),
            weights=_rows_of(self.weights, rows),
            options={k: _rows_of(v, rows) for k, v in self.options.items()},
            factors=self.factors,
            solver=self.solver,
            scratch=self.scratch,
        )

    @functools.cached_property
    def pieces(self) -> list[Target]:
        """The target at a cacheful of points after the other, where all fits share many points; else itself."""
        n = self.y.shape[-1]
        options = {key: value for key, value in self.options.items() if np.ndim(value)}
        if (
            n <= MAX_UNBLOCKED_POINTS
            or self.y.ndim > 1
            or self.weights.ndim > 1
            or any(np.shape(v) != (n,) for v in options.values())
        ):
            return [self]
        found = []
        for first in range(0, n, CACHE_ELEMENTS):
            points = slice(first, first + CACHE_ELEMENTS)
            found.append(
                replace(
                    self, kernel=self.kernel.some(points), y=self.y[points], weights=self.weights[points],
                    options={**self.options, **{key: value[points] for key, value in options.items()}},
                )
            )  # fmt: skip
        return found

    def evaluate(self, q: Array, share: Array | None = None, ids: IntArray | None = None) -> tuple[Array, Array, Array]:
        """Return value (B,), gradient (k, B) and Hessian (k, k, B) of some fits, a cacheful of them at a time."""
        return self.evaluation(q, share, ids)[:3]

    def evaluation(self, q: Array, share: Array | None, ids: IntArray | None) -> Evaluation:
        """Return the same with what was computed for it, where a cacheful holds them all."""
        block = max(16, CACHE_ELEMENTS // self.y.shape[-1])
        parts = []
        for first in range(0, q.shape[1], block):
            rows = slice(first, min(first + block, q.shape[1]))
            part = self.take(rows if ids is None else ids[rows])
            parts.append(part._evaluated(q[:, rows], None if share is None else share[rows]))
        if len(parts) == 1:
            return parts[0]
        value, gradient, hessian = (np.concatenate(p, axis=-1) for p in zip(*(p[:3] for p in parts), strict=True))
        return Evaluation(value, gradient, hessian, self if ids is None else self.take(ids), None)

    def _evaluated(self, q: Array, share: Array | None) -> Evaluation:
        first, *more = self.pieces
        # without the law's own curvature, its second derivatives are not needed
        order = 2 if share is None or share.any() else 1
        state = first.kernel.at(q, order)
        value, gradient, hessian = first._summed(state, share)
        for piece in more:
            for whole, part in zip(
                (value, gradient, hessian), piece._summed(piece.kernel.at(q, order), share), strict=True
            ):
                whole += part
        return Evaluation(*_mask_non_finite(value, gradient, hessian), self, state if order == 2 and not more else None)

    def _summed(self, state: LawState, share: Array | None) -> tuple[Array, Array, Array]:
        with np.errstate(all="ignore"):
            value, first, second = self.objective.summed(state.f, self.y, self.weights, self.options, self.scratch)
        return value, *self.kernel.contract(state, first, second, share)

    def value(self, q: Array) -> Array:
        """Return the plain value, (B,); inf where it cannot be computed."""
        found = np.zeros(q.shape[1])
        for piece in self.pieces:
            with np.errstate(all="ignore"):
                value = self.objective.losses(piece.kernel.at(q, 0).f, piece.y, piece.options)[0]
                found += np.einsum("bn,bn->b", value, np.broadcast_to(piece.weights, value.shape))
        return np.where(np.isfinite(found), found, np.inf)

    def size(self) -> Any:
        """Return the length of the observations, against which a residual is small or not, a number or (B,)."""
        return np.sqrt(np.sum(self.weights * self.objective.sizes(self.y, self.options), axis=-1))

    def floor(self) -> Any:
        """Return the objective below which residuals are rounding only, a number or (B,)."""
        return (RESIDUAL_RTOL * self.size()) ** 2

    def rounding(self) -> Any:
        """Return the objective of residuals that are the rounding of the data, a number or (B,)."""
        return (EXACT_RTOL * self.size()) ** 2 + 1e-280

    def noise(self) -> Any:
        """Return what the root of an objective of squares is multiplied by to get its rounding, a number or (B,).

        Residuals carry the rounding of the observations, and the sum of n of them adds it up as errors add up.
        """
        return 2 * np.finfo(float).eps * self.size() / np.sqrt(self.y.shape[-1])

    def unit(self) -> Any:
        """Return what counts beside an objective near 0, a number or (B,)."""
        return self.objective.unit * np.mean(self.weights, axis=-1)


class Evaluation(NamedTuple):
    """Value (B,), gradient (k, B) and Hessian (k, k, B) of some fits, whose target it is, and the law there.

    `state` is there if it has the law's second derivatives.
    """

    value: Array
    gradient: Array
    hessian: Array
    target: Target
    state: LawState | None

    def curved(self, q: Array, rows: IntArray) -> tuple[Array, Array, Array]:
        """Return those of some of the fits, at `q`, with all of the law's own curvature."""
        target = self.target.take(rows)
        state = None if self.state is None else target.kernel.fits(self.state, rows)
        if state is None:
            return target._evaluated(q[:, rows], None)[:3]
        return _mask_non_finite(*target._summed(state, None))


def _mask_non_finite(value: Array, gradient: Array, hessian: Array) -> tuple[Array, Array, Array]:
    """Return what was summed; inf, and no derivatives, of fits where something is not a number."""
    bad = ~(np.isfinite(value) & np.isfinite(gradient).all(axis=0) & np.isfinite(hessian).all(axis=(0, 1)))
    if bad.any():
        value = np.where(bad, np.inf, value)
        gradient[:, bad] = 0.0
        hessian[:, :, bad] = 0.0
    return value, gradient, hessian


def _rows_of(values: Any, rows: Any) -> Any:
    return values[rows] if np.ndim(values) == 2 else values


def law_label(law: Law) -> str:
    """Return what to call a law in a message: its name, or its formula."""
    return printable(law.name or law.expression or "law", 100)


@dataclass(frozen=True)
class Coordinates:
    """Which parameters are solved for, and how.

    Parameters
    ----------
    free : tuple of str
    fixed : mapping of str to float
    logs : ndarray of bool
        Which of the free ones are solved in their logarithm: positive ones in which the law is not linear. What is
        linear may be 0, a bound like any other.
    lower, upper : ndarray
        Bounds in the solver's coordinates.
    """

    free: tuple[str, ...]
    fixed: Mapping[str, float]
    logs: BoolArray
    lower: Array
    upper: Array

    @functools.cached_property
    def positive(self) -> BoolArray:
        """Which of the free ones are never negative."""
        return self.logs | (self.lower >= 0)

    def natural(self, q: Array) -> Array:
        """Return the free parameters as the law has them, of coordinates (..., k)."""
        with np.errstate(over="ignore"):
            return np.where(self.logs, np.exp(np.where(self.logs, q, 0.0)), q)

    def internal(self, p: Array) -> Array:
        """Return the coordinates of free parameters (..., k)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.logs, np.log(np.where(self.logs, p, 1.0)), p)

    def with_logs(self, logs: BoolArray) -> Coordinates:
        """Return the coordinates of which these are logarithms."""
        moved = replace(self, logs=logs)
        return replace(
            moved, lower=moved.internal(self.natural(self.lower)), upper=moved.internal(self.natural(self.upper))
        )

    def take(self, keep: list[int], fixed: Mapping[str, float]) -> Coordinates:
        """Return the coordinates of some of the free parameters; the others are `fixed` now."""
        free = tuple(self.free[i] for i in keep)
        return Coordinates(free, fixed, self.logs[keep], self.lower[keep], self.upper[keep])

    def placement(self, law: Law, variables: Mapping[str, Array], *, link: bool) -> Placement:
        """Return a law at points, (n,) or (B, n), in these coordinates; `link` takes its logarithm."""
        return Placement(
            law=law, variables=variables, free=self.free, logs=self.logs, fixed=self.fixed, link=link,
            positive=self.positive,
        )  # fmt: skip


def solver_coordinates(law: Law, name: str) -> Coordinates:
    """Return the coordinates in which a law is solved.

    Raises
    ------
    FitError
        If its bounds are impossible, or leave nothing free.
    """
    bounds = dict.fromkeys(law.parameters, (-math.inf, math.inf))
    for parameter, (low, high) in law.bounds.items():
        if parameter not in bounds:
            raise UnknownNameError("parameter", parameter, law.parameters, where=f"{name}: bounds")
        if math.isnan(low) or math.isnan(high) or low > high:
            raise FitError(f"{name}: bounds of '{parameter}': expected low <= high, got ({low:g}, {high:g})")
        bounds[parameter] = (float(low), float(high))
    fixed = {p: low for p, (low, high) in bounds.items() if low == high}
    free = tuple(p for p in law.parameters if p not in fixed)
    if not free:
        raise FitError(f"{name}: every parameter is fixed by its bounds: nothing is left to fit")
    lower = np.array([bounds[p][0] for p in free])
    upper = np.array([bounds[p][1] for p in free])
    linear = law._plain.linear if law._plain.expression is not None else ()
    logs = (lower >= 0) & np.array([law._role(p) not in linear for p in free])
    with np.errstate(divide="ignore", invalid="ignore"):
        lower = np.where(logs, np.log(np.where(logs, lower, 1.0)), lower)
        upper = np.where(logs, np.log(np.where(logs, upper, 1.0)), upper)
    return Coordinates(free, fixed, logs, lower, upper)


def _float_or_nan(value: Any) -> float:
    """Return a number; nan where it is none, as True is not."""
    try:
        return math.nan if isinstance(value, (bool, np.bool_)) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def start_in_coordinates(problem: Problem, start: Mapping[str, float], name: str) -> Array:
    """Return a start in the solver's coordinates.

    Raises
    ------
    UsageError
        If a parameter is missing, unknown, outside its bounds or no number, or is fixed at another one.
    """
    for parameter in start:
        if parameter not in problem.law.parameters:
            raise UnknownNameError("parameter", parameter, problem.law.parameters, where=f"{name}: start")
        if parameter in problem.fixed and _float_or_nan(start[parameter]) != problem.fixed[parameter]:
            got = printable(repr(start[parameter]), 40)
            raise UsageError(
                f"{name}: start: '{parameter}' is fixed at {problem.fixed[parameter]:g} by its bounds, got {got}"
            )
    values = []
    for i, parameter in enumerate(problem.free):
        if parameter not in start:
            raise UsageError(
                f"{name}: start: '{parameter}' is missing; a start names every parameter that is not fixed"
            )
        value = _float_or_nan(start[parameter])
        if not math.isfinite(value) or (problem.logs[i] and value <= 0):
            kind = "a positive number" if problem.logs[i] else "a finite number"
            raise UsageError(
                f"{name}: start: '{parameter}': expected {kind}, got {printable(repr(start[parameter]), 40)}"
            )
        values.append(value)
    u = problem.internal(np.array(values))
    if (u < problem.lower).any() or (u > problem.upper).any():
        outside = problem.free[int(np.flatnonzero((u < problem.lower) | (u > problem.upper))[0])]
        raise UsageError(f"{name}: start: '{outside}' is outside its bounds")
    return u


#: Nearer to a bound than this share is on it.
BOUND_RTOL = 1e-7


def kernel_for(placement: Placement) -> Kernel:
    """Return the fastest kernel a law has at these points: log-sum-exp for sums of powers, else the general one."""
    law = placement.law
    if law.levels:
        from forecast.fit.kernels.general import GroupKernel, is_supported

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """What all fits of a batch have in common.

    Parameters
    ----------
    law : forecast.Law
    objective : Objective
    options : mapping
        Of the objective, numbers.
    coordinates : Coordinates
    name : str
        What to call the law in messages.
    solver : SolverOptions
    """

    law: Law
    objective: Objective
    options: Mapping[str, Any]
    coordinates: Coordinates
    name: str
    solver: SolverOptions = field(default_factory=SolverOptions)

    def target(self, curves: Observations, own: Mapping[str, Array] | None = None) -> Target:
        """Return what is minimised over some curves; `own` are options of each, (B,)."""
        kernel = kernel_for(self.coordinates.placement(self.law, curves.variables, link=self.objective.log))
        same = bool((curves.weights == curves.weights[0]).all())
        return Target(
            kernel=kernel,
            objective=self.objective,
            coordinates=self.coordinates,
            solver=self.solver,
            y=self.objective.linked(curves.y),
            weights=curves.weights[0] if same else curves.weights,
            options={**self.options, **curves.columns, **{o: v[:, None] for o, v in (own or {}).items()}},
            factors=multiplied_parameters(self.law, self.coordinates),
        )

    def problem(self, observations: Observations, own: Mapping[str, float] | None = None) -> Problem:
        """Return one data set as a problem; `own` are options that came from it."""
        parts: dict[str, Any] = {
            "law": self.law,
            "variables": observations.variables,
            "observed": observations.y,
            "weights": observations.weights,
            "objective": self.objective,
            "coordinates": self.coordinates,
            "solver": self.solver,
            "options": {**self.options, **observations.columns, **(own or {})},
        }
        if not observations.sigma_x:
            return Problem(**parts)
        from forecast.fit.problem.errors_in_variables import Orthogonal

        return Orthogonal(**parts, sigma_x=observations.sigma_x)
