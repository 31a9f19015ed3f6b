"""Fits of one law as arrays over curves, and what follows from them; a single fit is the solution of one curve."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array, BoolArray, IntArray
from forecast.fit.data.residual_autocorrelation import autocorrelation
from forecast.fit.inference.covariance import Uncertainty, assess_parameters, join_uncertainties
from forecast.fit.inference.profile_endpoints import Optima
from forecast.fit.kernels.general import natural
from forecast.fit.problem.poles import POLE_BY_CHANCE
from forecast.fit.problem.problem import Problem, Setting, Target
from forecast.fit.sizes import CHUNK_ELEMENTS
from forecast.fit.solve.multistart import outcome

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observations
    from forecast.fit.inference.bootstrap import Replicates
    from forecast.fit.objectives.objective import Objective
    from forecast.laws import Law


#: Points times parameters up to which the default interval is the profile's: some hundredths of a second.
MAX_PROFILE_COST = 100_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Solutions:
    """Fits of one law under one objective to curves.

    Parameters
    ----------
    setting : Setting
    curves : Observations
        The data, (B, n).
    q : ndarray
        (k, B), in the solver's coordinates; nan where a fit failed.
    settled, converged : ndarray of bool
        (B,): those that are solutions; and those that are the optimum, as far as starts tell.
    starts : ndarray of int
        (2, B), how many starts led there, and how many there were.
    options : mapping of str to ndarray
        (B,), options that came from the data: Huber's threshold, the width of a quantile.
    given : bool
        The only start was given.
    doubts : dict of int to str
        Why a fit that has settled is no optimum, of those that are none.
    remarks : dict of int to str
        What else is to be said of how a search ended.
    assessed : Uncertainty, optional
        What is known of the parameters, where that is known already.
    replicates : tuple of Replicates or None, optional
        The bootstrap of each fit. Default: none.
    """

    setting: Setting
    curves: Observations
    q: Array
    settled: BoolArray
    converged: BoolArray
    starts: IntArray
    options: Mapping[str, Array] = field(default_factory=dict)
    given: bool = False
    doubts: dict[int, str] = field(default_factory=dict)
    remarks: dict[int, str] = field(default_factory=dict)
    assessed: Uncertainty | None = None
    replicates: tuple[Replicates | None, ...] = ()

    def __post_init__(self) -> None:
        if not self.replicates:
            object.__setattr__(self, "replicates", (None,) * self.settled.size)

    def one(self, b: int) -> Solutions:
        """Return one of the fits by itself."""
        return replace(
            self,
            curves=self.curves.one(b).as_curves(),
            q=self.q[:, b : b + 1].copy(),
            settled=self.settled[b : b + 1],
            converged=self.converged[b : b + 1].copy(),
            starts=self.starts[:, b : b + 1],
            options={o: v[b : b + 1] for o, v in self.options.items()},
            doubts={0: self.doubts[b]} if b in self.doubts else {},
            remarks={0: self.remarks[b]} if b in self.remarks else {},
            assessed=None,
            replicates=self.replicates[b : b + 1],
        )

    def refute(self, why: str, b: int = 0) -> None:
        """Note why a fit is no optimum after all: it has not converged."""
        self.converged[b] = False
        self.doubts[b] = why
        self.__dict__.pop("outcome", None)

    def judge(self, said: str, b: int = 0) -> None:
        """Note what is said of a fit beside curves with a pole among the data: only beyond chance is it no optimum."""
        if said == POLE_BY_CHANCE:
            self.remarks[b] = said
            self.__dict__.pop("outcome", None)
        elif said:
            self.refute(said, b)

    # What they are ----------------------------------------------------------------------------------------------------

    @property
    def law(self) -> Law:
        """The law of every fit."""
        return self.setting.law

    @property
    def objective(self) -> Objective:
        """The objective of every fit."""
        return self.setting.objective

    @property
    def name(self) -> str:
        """What to call the law in a message."""
        return self.setting.name

    @property
    def group(self) -> str | None:
        """Of which group of a fit this speaks; None of all."""
        return None

    @property
    def whole(self) -> Solutions:
        """The fit of all groups."""
        return self

    @property
    def has_data(self) -> bool:
        """Whether they are solutions of the data at hand, so that these can be fitted again."""
        return self.group is None

    @property
    def errs_in_x(self) -> bool:
        """Whether variables have known errors."""
        return self.has_data and bool(self.curves.sigma_x)

    def target(self, rows: IntArray) -> Target:
        """Return what was minimised for some of the curves."""
        if rows.size == 1:
            return self.problem(int(rows[0])).target()
        return self.setting.target(self.curves.take(rows), {o: v[rows] for o, v in self.options.items()})

    def problem(self, b: int = 0) -> Problem:
        """Return one of the fits as a problem of its own."""
        if b in self._problems:
            return self._problems[b]
        result = self.setting.problem(self.curves.one(b), {o: float(v[b]) for o, v in self.options.items()})
        if self.settled.size == 1:
            self._problems[b] = result
        return result

    def keep(self, problem: Problem) -> None:
        """Keep the problem of a single fit, which was made already."""
        self._problems[0] = problem

    @functools.cached_property
    def _problems(self) -> dict[int, Problem]:
        return {}

    # What follows from them -------------------------------------------------------------------------------------------

    @functools.cached_property
    def values(self) -> dict[str, Array]:
        """All parameters as the law has them, (B,) each."""
        coordinates = self.setting.coordinates
        with np.errstate(all="ignore"):
            p = natural(self.q, coordinates.logs)
        values = {n: np.full(self.settled.size, v) for n, v in coordinates.fixed.items()}
        values |= dict(zip(coordinates.free, p, strict=True))
        return {name: values[name] for name in self.law.parameters}

    @functools.cached_property
    def value(self) -> Array:
        """(B,), the plain value of the objective; nan of fits that failed."""
        value, good = np.full(self.settled.size, np.nan), np.flatnonzero(self.settled)
        step = max(1, CHUNK_ELEMENTS // self.curves.y.shape[1])
        for first in range(0, good.size, step):
            rows = good[first : first + step]
            value[rows] = self.target(rows).value(self.q[:, rows])
        return value

    @functools.cached_property
    def known(self) -> Uncertainty:
        """What is known of the parameters."""
        if self.assessed is not None:
            return self.assessed
        rows = np.flatnonzero(self.settled)
        free, parts = self.setting.coordinates.free, []
        if rows.size:
            where = self.problem(0) if self.errs_in_x else self.setting.coordinates
            part = assess_parameters(
                self.law, self.target(rows), self.q[:, rows], where, lambda j: self.problem(int(rows[j])),
                absolute_sigma=self.curves.absolute_sigma, groups=self.curves.groups,
            )  # fmt: skip
            if rows.size == self.settled.size:
                return part
            parts.append(part)
        return join_uncertainties(parts, rows, free, self.n - len(free))

    @functools.cached_property
    def errors(self) -> dict[str, Array]:
        """Standard errors of all parameters, (B,) each: the bootstrap's where there is one."""
        known = self.known
        errors = dict(zip(known.names, known.errors(), strict=True))
        if self.bootstrapped:
            some = ~known.exact  # the replicates of an exact fit repeat it
            some[list(known.flaws)] = False
            for name, column in errors.items():
                repeated = np.array([np.nan if r is None else r.stderr(name) for r in self.replicates])
                errors[name] = np.where(some, repeated, column)
        none = np.zeros(self.settled.size)
        return {name: errors.get(name, none) for name in self.law.parameters}

    @property
    def n(self) -> IntArray:
        """(B,), the number of points."""
        return np.asarray((self.curves.weights > 0).sum(axis=1))

    @property
    def delta(self) -> Any:
        """Huber's threshold: (B,), one number, or None."""
        return self.options.get("delta", self.setting.options.get("delta"))

    @property
    def stated(self) -> Any:
        """(B,), the objective as it is reported: the sum of squares is not halved."""
        return self.objective.stated(self.value, self.curves.weights.sum(axis=1), self.delta)

    @functools.cached_property
    def residual_scale(self) -> Array:
        """(B,), standard deviation of one observation of median weight; nan where it is not known."""
        scale = np.full(self.settled.size, np.nan)
        some = np.flatnonzero(self.settled)
        weights = np.where(self.curves.weights > 0, self.curves.weights, np.nan)
        scale[some] = self.known.scale[some] / np.sqrt(np.nanmedian(weights[some], axis=1))
        return np.where(np.isfinite(scale), scale, np.nan)

    def points(self) -> tuple[dict[str, Array], Array]:
        """Return the variables and the observations of a single fit."""
        data = self.curves.one(0)
        return dict(data.variables), data.y

    @functools.cached_property
    def ranges(self) -> dict[str, tuple[Array, Array]]:
        """The least and the greatest value of each variable that is no group, (B,) each."""
        return {n: ends for n, ends in self.curves.ranges().items() if n not in self.law.levels}

    @functools.cached_property
    def outcome(self) -> NDArray[np.str_]:
        """How each fit ended, (B,)."""
        found = np.array([reason or "not converged" for reason in self.curves.reasons], dtype=object)
        settled, starts = self.settled, self.starts
        for agree, total in {*zip(*starts[:, settled].tolist(), strict=True)}:
            alike = settled & (starts[0] == agree) & (starts[1] == total)
            for sure in (True, False):
                found[alike & (self.converged == sure)] = outcome(sure, (agree, total), self.given, {})
        special = np.isin(np.arange(settled.size), [*self.doubts, *self.remarks])
        for b in map(int, np.flatnonzero(settled & (self.known.sides.any(axis=0) | special))):
            agreed = int(starts[0, b]), int(starts[1, b])
            bounds, why, remark = self.known.on_bounds(b), self.doubts.get(b, ""), self.remarks.get(b, "")
            found[b] = outcome(bool(self.converged[b]), agreed, self.given, bounds, why, remark)
        return found.astype(str)

    # What the rules of inference ask ----------------------------------------------------------------------------------

    @property
    def bootstrapped(self) -> bool:
        """Whether any fit has a bootstrap."""
        return any(self.replicates)

    @property
    def likelihood(self) -> bool:
        """Whether the objective is a likelihood; Huber's loss and quantiles, with their sandwich, are none.

        Nor is any objective whose rows depend on each other in groups.
        """
        return self.objective.scale != "sandwich" and not self.known.clusters

    @property
    def ordered(self) -> bool:
        """Whether the points lie along one variable, so that residuals may follow each other."""
        return self.has_data and len(self.law.variables) == 1

    @functools.cached_property
    def correlation(self) -> Array:
        """How closely residuals follow each other along the variable, (B,); 0 where they do not, or have no order."""
        if not self.ordered or self.objective.scale not in ("residual", "sandwich") or self.known.clusters:
            return np.zeros(self.settled.shape)
        return autocorrelation(*self.residuals())

    def residuals(self) -> tuple[Array, Array, Array]:
        """Return the places of the points along the one variable, what the law leaves of them, and weights, (B, n)."""
        alone = self.settled.size == 1  # the code of a plugin need not broadcast
        parameters = {n: v[0] if alone else v[:, None] for n, v in self.values.items()}
        with np.errstate(all="ignore"):
            level = np.asarray(self.law.value(parameters, **self.curves.variables), dtype=float)
            left = self.objective.linked(self.curves.y) - self.objective.linked(level)
        (along,) = self.curves.variables.values()
        return np.broadcast_to(along, left.shape), left, np.where(np.isfinite(left), self.curves.weights, 0.0)

    @functools.cached_property
    def profilable(self) -> BoolArray:
        """Of which fits the profile can be followed: some scatter is left, and it is more than rounding."""
        good = self.settled & ~self.known.exact
        good[list(self.known.flaws)] = False
        return good

    @functools.cached_property
    def affordable(self) -> BoolArray:
        """Of which fits the profile costs little: the law has derivatives, the data are kept and not many."""
        few = self.n * len(self.law.parameters) <= MAX_PROFILE_COST
        return self.profilable & few & self.has_data & (self.law._plain.expression is not None)

    def enough_replicates(self, level: float) -> BoolArray:
        """Tell which fits have replicates enough for a level; those of an exact fit repeat it, and tell nothing."""
        enough = np.array([r is not None and r.enough(level) for r in self.replicates], dtype=bool)
        return enough & self.profilable

    @functools.cached_property
    def profiled(self) -> dict[float, Any]:
        """Cache of profile endpoints by level; see `forecast.fit.inference.profile.endpoints_of`."""
        return {}

    def optima(self, rows: IntArray) -> Optima:
        """Return what the profiles of some of the fits start from."""
        return Optima.of(self.target(rows), self.q[:, rows])
