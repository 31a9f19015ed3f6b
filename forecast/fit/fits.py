"""Many fits of one law, a dimension of them: their parameters, intervals and predictions, and each by itself."""

from __future__ import annotations

import functools
import html
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from forecast.errors import FitError, UnknownNameError, printable
from forecast.fit.kernels.general import Placement, natural
from forecast.fit.problem.coordinates import Coordinates, problem_of
from forecast.fit.problem.problem import Problem, Solution, factors, kernel_for
from forecast.fit.solve.newton import Target

if TYPE_CHECKING:
    from forecast.fit.data.padded import Padded
    from forecast.fit.inference.known import Known
    from forecast.fit.inference.replicates import Replicates
    from forecast.fit.problem.objective import Objective
    from forecast.fit.solution import Fit
    from forecast.laws import Law

__all__ = ["Fits", "Setting", "Solutions"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """What all fits of a batch have in common.

    Parameters
    ----------
    law : forecast.Law
    objective : Objective
    options : mapping
        Of the objective, numbers.
    where : Coordinates
    name : str
        What to call the law in messages.
    """

    law: Law
    objective: Objective
    options: Mapping[str, Any]
    where: Coordinates
    name: str

    def target(self, curves: Padded, own: Mapping[str, Array] | None = None) -> Target:
        """Return what is minimised over some curves; `own` are options of each, (B,)."""
        where = self.where
        placed = Placement(
            law=self.law, variables=curves.variables, free=where.free, logs=where.logs, fixed=where.fixed,
            link=self.objective.log, positive=where.positive,
        )  # fmt: skip
        kernel = kernel_for(placed)
        same = bool((curves.weights == curves.weights[0]).all())
        return Target(
            kernel=kernel,
            objective=self.objective,
            y=curves.linked,
            weights=curves.weights[0] if same else curves.weights,
            options={**self.options, **curves.options, **{o: v[:, None] for o, v in (own or {}).items()}},
            factors=factors(self.law, where.free, where.positive & ~where.logs),
        )

    def problem(self, curves: Padded, b: int, own: Mapping[str, float] | None = None) -> Problem:
        """Return one curve as a problem of its own."""
        seen = curves.one(b)
        options = {**self.objective.options, **self.options, **seen.options, **(own or {})}
        return problem_of(self.law, replace(seen, options=options), self.objective, self.name)


@dataclass(frozen=True, kw_only=True, eq=False)
class Solutions:
    """The fits of a batch as arrays.

    Parameters
    ----------
    setting : Setting
    curves : Padded
        The data.
    q : ndarray
        (k, B), in the solver's coordinates; nan where a fit failed.
    value : ndarray
        (B,), the plain value of the objective.
    settled : ndarray of bool
    known : Known
    options : mapping of str to ndarray
        (B,), options that came from the data: Huber's threshold, the width of a quantile.
    verdict : ndarray of str
    repeated : tuple of Replicates or None, optional
        The bootstrap of each fit, where there is one.
    """

    setting: Setting
    curves: Padded
    q: Array
    value: Array
    settled: NDArray[np.bool_]
    known: Known
    options: Mapping[str, Array]
    verdict: NDArray[np.str_]
    repeated: tuple[Replicates | None, ...] | None = None

    def target(self, rows: NDArray[np.int64]) -> Target:
        """Return what was minimised for some of the curves."""
        return self.setting.target(self.curves.take(rows), {o: v[rows] for o, v in self.options.items()})

    def problem(self, b: int) -> Problem:
        """Return one of the fits as a problem of its own."""
        return self.setting.problem(self.curves, b, {o: float(v[b]) for o, v in self.options.items()})

    @functools.cached_property
    def natural(self) -> dict[str, Array]:
        """All parameters as the law has them, (B,) each."""
        where = self.setting.where
        with np.errstate(all="ignore"):
            p = natural(self.q, where.logs)
        known = {n: np.full(self.settled.size, v) for n, v in where.fixed.items()}
        known |= dict(zip(where.free, p, strict=True))
        return {name: known[name] for name in self.setting.law.parameters}

    @functools.cached_property
    def errors(self) -> dict[str, Array]:
        """Standard errors of all parameters, (B,) each: the bootstrap's where there is one."""
        where, count = self.setting.where, self.settled.size
        found = dict(zip(where.free, self.known.errors(), strict=True))
        if self.repeated is not None:
            for name in where.free:
                found[name] = np.array([np.nan if r is None else r.stderr(name) for r in self.repeated])
            exact = [b for b, own in self.known.odd.items() if own.flaw]  # their replicates repeat an exact fit
            for name in where.free:
                found[name][exact] = np.inf
        return {name: found.get(name, np.zeros(count)) for name in self.setting.law.parameters}


@dataclass(frozen=True, kw_only=True, eq=False)
class Fits:
    """One fit for each value of a dimension. Made by ``law.fit(data, over=...)``.

    Attributes
    ----------
    law : forecast.Law
    over : str
        The dimension.
    params, stderr : xarray.Dataset
        One variable a parameter, over the dimension; nan where a fit failed; a standard error is inf where not known.
    objective, converged, n, verdict : xarray.DataArray
        The plain value, whether it is an optimum, the number of points, and the judgement in words.
    residual_scale : xarray.DataArray
        Standard deviation of one observation about the law (of its logarithm under a log objective).
    covariance : xarray.DataArray
        Of the parameters that were fitted, as the law has them; nan where it is not known.
    objective_name : str
    warnings : tuple of str

    Examples
    --------
    >>> from forecast import Law
    >>> runs = {"x": [1, 2, 3, 4] * 2, "y": [1, 2.1, 2.9, 4, 2, 4.1, 5.9, 8], "run": ["a"] * 4 + ["b"] * 4}
    >>> fits = Law("s + b*x", variables=["x"]).fit(runs, over="run")
    >>> fits.params["b"].values.round(2)
    array([0.98, 1.98])
    >>> fits.select("b").n
    4
    """

    over: str
    level: float = 0.95
    warnings: tuple[str, ...] = ()
    made: Solutions = field(repr=False)

    @property
    def law(self) -> Law:
        """The law of every fit."""
        return self.made.setting.law

    @property
    def objective_name(self) -> str:
        """The objective of every fit."""
        return self.made.setting.objective.name

    @property
    def name(self) -> str:
        """What to call the law in a message."""
        return self.made.setting.name

    def __len__(self) -> int:
        return int(self.made.settled.size)

    @property
    def labels(self) -> NDArray[Any]:
        """The values of the dimension."""
        return self.made.curves.labels

    def along(self, column: Any, *, dims: tuple[str, ...] = (), **coords: Any) -> xr.DataArray:
        """Return an array over the dimension, and others."""
        return xr.DataArray(column, dims=(self.over, *dims), coords={self.over: self.labels, **coords})

    def _dataset(self, columns: Mapping[str, Array]) -> xr.Dataset:
        return xr.Dataset({n: ((self.over,), v) for n, v in columns.items()}, coords={self.over: self.labels})

    @functools.cached_property
    def params(self) -> xr.Dataset:
        """The parameters, over the dimension."""
        return self._dataset(self.made.natural)

    @functools.cached_property
    def stderr(self) -> xr.Dataset:
        """Standard errors, over the dimension."""
        return self._dataset(self.made.errors)

    @functools.cached_property
    def objective(self) -> xr.DataArray:
        """The value of the objective."""
        made = self.made
        weight = made.curves.weights.sum(axis=1)
        delta = made.options.get("delta", made.setting.options.get("delta"))
        return self.along(made.setting.objective.stated(made.value, weight, delta))

    @property
    def converged(self) -> xr.DataArray:
        """Whether each fit is an optimum."""
        return self.along(self.made.settled)

    @property
    def n(self) -> xr.DataArray:
        """The number of points of each fit."""
        return self.along((self.made.curves.weights > 0).sum(axis=1))

    @property
    def verdict(self) -> xr.DataArray:
        """The judgement of each fit in words."""
        return self.along(self.made.verdict)

    @functools.cached_property
    def residual_scale(self) -> xr.DataArray:
        """Standard deviation of one observation of median weight."""
        weights = np.where(self.made.curves.weights > 0, self.made.curves.weights, np.nan)
        some = np.flatnonzero(self.made.settled)
        found = np.full(len(self), np.nan)
        found[some] = self.made.known.scale[some] / np.sqrt(np.nanmedian(weights[some], axis=1))
        return self.along(found)

    @functools.cached_property
    def covariance(self) -> xr.DataArray:
        """Covariances of the fitted parameters, over the dimension, ``parameter`` and ``other``."""
        names = list(self.made.setting.where.free)
        table = self.made.known.natural()
        return self.along(table, dims=("parameter", "other"), parameter=names, other=names)

    @functools.cached_property
    def bootstrap(self) -> xr.Dataset:
        """The replicates, one variable a parameter over the dimension and ``replicate``.

        Replicate 7 of two curves of equal length is made of the same rows of both.

        Raises
        ------
        FitError
            Without ``bootstrap=``.
        """
        repeated = self.made.repeated
        if repeated is None:
            raise FitError(f"{self.name}: no bootstrap: fit with bootstrap=1000 for a thousand replicates")
        size = next((r.converged.size for r in repeated if r is not None), 0)
        found = {
            name: self.along(
                np.array([np.full(size, np.nan) if r is None else r.values[i] for r in repeated]), dims=("replicate",)
            )
            for i, name in enumerate(self.made.setting.where.free)
        }
        flags = np.array([np.zeros(size, dtype=bool) if r is None else r.converged for r in repeated])
        return xr.Dataset({"converged": self.along(flags, dims=("replicate",)), **found})

    @functools.cached_property
    def profiled(self) -> dict[float, Any]:
        """Limits of the profiles by level, as they were asked for."""
        return {}

    def interval(self, name: str, level: float = 0.95, method: str | None = None) -> xr.Dataset:
        """Return the interval of a parameter in every fit, ``lower`` and ``upper`` over the dimension.

        By the methods of `forecast.Fit.interval`, and with its defaults; nan where a fit has none, which the attribute
        ``warnings`` counts.
        """
        from forecast.fit.spans import interval

        return interval(self, name, level, method)

    def predict(self, *, level: float = 0.9, statistic: str = "median", **variables: Any) -> xr.Dataset:
        """Evaluate the law of every fit, with two bands: of the law itself, and of one observation.

        As `forecast.Fit.predict`, over the dimension and then over the points. A variable may have the dimension
        itself, as a DataArray: then each fit has points of its own. A fit without bands gives nan, which the attribute
        ``warnings`` counts.
        """
        from forecast.fit.spans import predict

        return predict(self, level, statistic, variables)

    def select(self, label: Any) -> Fit:
        """Return one of the fits by itself: everything that `forecast.Fit` can do is then at hand.

        Raises
        ------
        UnknownNameError
            If there is no such label.
        FitError
            If that fit failed, saying why.
        """
        from forecast.fit.fit_law import judged

        made = self.made
        places = np.flatnonzero(self.labels == label)
        if not places.size:
            known = [str(text) for text in self.labels]
            raise UnknownNameError(self.over, printable(label, 60), known, where=self.name)
        b = int(places[0])
        if not made.settled[b]:
            raise FitError(f"{self.name}: {self.over} {printable(label, 60)}: {made.verdict[b]}")
        problem = made.problem(b)
        solution = Solution(at=made.q[:, b].copy(), value=float(made.value[b]), settled=True, iterations=0)
        beside = f"fitted together with {len(self) - 1} others over '{self.over}'"
        seen = replace(made.curves.one(b), options=problem.options)
        fit = judged(problem, [solution], seen, given=False, level=self.level, instead=beside)
        repeated = None if made.repeated is None else made.repeated[b]
        if repeated is None:
            return fit
        return replace(fit, replicates=repeated, warnings=(*fit.warnings, *repeated.warnings(fit.name)))

    def summary(self) -> str:
        """Return the fits in a few lines: how many converged, and the middle of each parameter."""
        good = self.made.settled
        lines = [f"{len(self)} fits over '{self.over}', {int(good.sum())} converged ({self.objective_name})"]
        for name, values in self.made.natural.items():
            if good.any():
                low, middle, high = np.quantile(values[good], [0.05, 0.5, 0.95])
                lines.append(f"{name}: median {middle:.6g}, 90% of the fits in [{low:.6g}, {high:.6g}]")
        reasons, counts = np.unique(self.made.verdict[~good], return_counts=True)
        lines += [f"{count} fits: {reason}" for reason, count in zip(reasons, counts, strict=True)]
        return "\n".join([*lines, *(f"warning: {w}" for w in self.warnings)])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"
