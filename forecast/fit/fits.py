"""Many fits of one law, a dimension of them: their parameters, intervals and predictions, and each by itself."""

from __future__ import annotations

import functools
import html
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from forecast.errors import FitError, UnknownNameError, printable
from forecast.fit.kernels.general import natural
from forecast.fit.problem.problem import Problem
from forecast.fit.problem.target import Target
from forecast.fit.solve.multistart import Solution

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forecast.base.streams import Streams
    from forecast.fit.data.padded import Padded
    from forecast.fit.diagnostics.identifiability import Diagnostics
    from forecast.fit.inference.fit_batch import FitBatch
    from forecast.fit.inference.profile_endpoints import Optima
    from forecast.fit.inference.replicates import Replicates
    from forecast.fit.inference.uncertainty import Uncertainties
    from forecast.fit.problem.setting import Setting
    from forecast.fit.solution import Fit
    from forecast.fit.solve.parallel import Progress, Workers
    from forecast.laws import Law

__all__ = ["Fits", "Solutions"]

Array: TypeAlias = NDArray[np.float64]

#: So many fits are kept whole once they were asked for.
MAX_CACHED_FITS = 1000


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
    known : Uncertainties
    options : mapping of str to ndarray
        (B,), options that came from the data: Huber's threshold, the width of a quantile.
    converged : ndarray of bool
        (B,): settled, and more than one start led there, where there were more.
    starts : ndarray of int
        (2, B), how many starts led there, and how many there were.
    outcome : ndarray of str
        How each fit ended.
    repeated : tuple of Replicates or None, optional
        The bootstrap of each fit, where there is one.
    """

    setting: Setting
    curves: Padded
    q: Array
    value: Array
    settled: NDArray[np.bool_]
    known: Uncertainties
    options: Mapping[str, Array]
    converged: NDArray[np.bool_]
    starts: NDArray[np.int64]
    outcome: NDArray[np.str_]
    given: bool = False
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
        coordinates = self.setting.coordinates
        with np.errstate(all="ignore"):
            p = natural(self.q, coordinates.logs)
        values = {n: np.full(self.settled.size, v) for n, v in coordinates.fixed.items()}
        values |= dict(zip(coordinates.free, p, strict=True))
        return {name: values[name] for name in self.setting.law.parameters}

    @functools.cached_property
    def errors(self) -> dict[str, Array]:
        """Standard errors of all parameters, (B,) each: the bootstrap's where there is one."""
        known = self.known
        errors = dict(zip(known.names, known.errors(), strict=True))
        if self.repeated is not None:
            some = ~known.exact  # the replicates of an exact fit repeat it
            some[list(known.flaws)] = False
            for name, column in errors.items():
                repeated = np.array([np.nan if r is None else r.stderr(name) for r in self.repeated])
                errors[name] = np.where(some, repeated, column)
        none = np.zeros(self.settled.size)
        return {name: errors.get(name, none) for name in self.setting.law.parameters}

    def optima(self, rows: NDArray[np.int64]) -> Optima:
        """Return what the profiles of some of the fits start from."""
        from forecast.fit.inference.profile_endpoints import Optima

        coordinates, target, q = self.setting.coordinates, self.target(rows), self.q[:, rows]
        value, _, hessian = target.evaluate(q)
        ends = {"lower": coordinates.lower, "upper": coordinates.upper}
        return Optima(target=target, q=q, value=value, hessian=hessian, logs=coordinates.logs, **ends)


@dataclass(frozen=True, kw_only=True, eq=False)
class Fits:
    """One fit for each value of a dimension. Made by ``law.fit(data, by=...)``.

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
    >>> fits = Law("s + b*x", variables=["x"]).fit(runs, by="run")
    >>> fits.params["b"].values.round(2)
    array([0.98, 1.98])
    >>> fits.select("b").n
    4
    """

    by: str
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
        return xr.DataArray(column, dims=(self.by, *dims), coords={self.by: self.labels, **coords})

    def _dataset(self, columns: Mapping[str, Array]) -> xr.Dataset:
        return xr.Dataset({n: ((self.by,), v) for n, v in columns.items()}, coords={self.by: self.labels})

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
        return self.along(self.made.converged)

    @property
    def n(self) -> xr.DataArray:
        """The number of points of each fit."""
        return self.along((self.made.curves.weights > 0).sum(axis=1))

    @property
    def outcome(self) -> xr.DataArray:
        """How each fit ended."""
        return self.along(self.made.outcome)

    @functools.cached_property
    def verdict(self) -> xr.DataArray:
        """The outcome and the diagnostics of each fit in words: the time of an interval for each."""
        verdicts = [str(text) for text in self.made.outcome]
        for b, fit in self._rows():
            verdicts[b] = fit.verdict
        return self.along(np.array(verdicts))

    @functools.cached_property
    def residual_scale(self) -> xr.DataArray:
        """Standard deviation of one observation of median weight."""
        weights = np.where(self.made.curves.weights > 0, self.made.curves.weights, np.nan)
        some = np.flatnonzero(self.made.settled)
        scale = np.full(len(self), np.nan)
        scale[some] = self.made.known.scale[some] / np.sqrt(np.nanmedian(weights[some], axis=1))
        return self.along(scale)

    @functools.cached_property
    def covariance(self) -> xr.DataArray:
        """Covariances of the fitted parameters, over the dimension, ``parameter`` and ``other``."""
        names = list(self.made.setting.coordinates.free)
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
        columns = {
            name: self.along(
                np.array([np.full(size, np.nan) if r is None else r.values[i] for r in repeated]), dims=("replicate",)
            )
            for i, name in enumerate(self.made.setting.coordinates.free)
        }
        flags = np.array([np.zeros(size, dtype=bool) if r is None else r.converged for r in repeated])
        return xr.Dataset({"converged": self.along(flags, dims=("replicate",)), **columns})

    @functools.cached_property
    def estimates(self) -> FitBatch:
        """The fits as the rules of inference see them."""
        from forecast.fit.inference.fit_batch import FitBatch

        made = self.made
        return FitBatch(
            name=self.name,
            law=self.law,
            objective=made.setting.objective,
            values=made.natural,
            known=made.known,
            settled=made.settled,
            points=(made.curves.weights > 0).sum(axis=1).astype(float),
            residual_scale=np.nan_to_num(self.residual_scale.values),
            ranges=made.curves.ranges(),
            replicates=(None,) * len(self) if made.repeated is None else made.repeated,
            errs_in_x=False,
            optima=made.optima,
            residuals=self._residuals if len(self.law.variables) == 1 else None,
        )

    def _residuals(self) -> tuple[Array, Array, Array]:
        """Return the places of the points, what the law leaves of them, and their weights, (B, n) each."""
        curves, objective = self.made.curves, self.made.setting.objective
        parameters = {n: v[:, None] for n, v in self.made.natural.items()}
        with np.errstate(all="ignore"):
            level = self.law.value(parameters, **curves.variables)
            left = curves.linked - (np.log(level) if objective.log else level)
        (along,) = curves.variables.values()
        return np.broadcast_to(along, left.shape), left, np.where(np.isfinite(left), curves.weights, 0.0)

    def interval(self, name: str, level: float = 0.95, method: str | None = None) -> xr.Dataset:
        """Return the interval of a parameter in every fit, ``lower`` and ``upper`` over the dimension.

        By the methods of `forecast.Fit.interval`, and with its defaults; nan where a fit has none, which the attribute
        ``warnings`` counts.
        """
        from forecast.fit.inference.interval import check, intervals

        made = self.made
        check(name, level, method, made.natural, self.name)
        low, high = intervals(self.estimates, name, level, method)
        none, failed = int(np.isnan(low).sum()), int((~made.settled).sum())
        notes = [*self.warnings]
        if none > failed:
            notes.append(f"{self.name}: {none - failed} of {len(self)} fits have no interval for '{name}'")
        attrs = {"parameter": name, "level": level, "method": method or "default", "warnings": "\n".join(notes)}
        return xr.Dataset({"lower": self.along(low), "upper": self.along(high)}, attrs=attrs)

    def predict(
        self, data: Any = None, /, *, level: float = 0.9, statistic: str = "median", **variables: Any
    ) -> xr.Dataset:
        """Evaluate the law of every fit, with two bands: of the law itself, and of one observation.

        As `forecast.Fit.predict`, over the dimension and then over the points. A variable may have the dimension
        itself, as a DataArray: then each fit has points of its own. A fit without bands gives nan, which the attribute
        ``warnings`` counts.
        """
        from forecast.fit.predict import predict_many

        return predict_many(self, data, level, statistic, variables)

    def select(self, label: Any) -> Fit:
        """Return one of the fits by itself: everything that `forecast.Fit` can do is then at hand.

        Raises
        ------
        UnknownNameError
            If there is no such label.
        FitError
            If that fit failed, saying why.
        """
        places = np.flatnonzero(self.labels == label)
        if not places.size:
            known = [str(text) for text in self.labels]
            raise UnknownNameError(self.by, printable(label, 60), known, where=self.name)
        b = int(places[0])
        if not self.made.settled[b]:
            raise FitError(f"{self.name}: {self.by} {printable(label, 60)}: {self.made.outcome[b]}")
        return self._one(b)

    def _rows(self) -> Iterator[tuple[int, Fit]]:
        """Go over the fits that did not fail."""
        return ((int(b), self._one(int(b))) for b in np.flatnonzero(self.made.settled))

    def _one(self, b: int) -> Fit:
        if b in self._made_whole:
            return self._made_whole[b]
        from forecast.fit.fit_law import diagnosed

        made = self.made
        problem = made.problem(b)
        solution = Solution(at=made.q[:, b].copy(), value=float(made.value[b]), settled=True, iterations=0)
        seen = replace(made.curves.one(b), options=problem.options)
        starts = (int(made.starts[0, b]), int(made.starts[1, b]))
        fit = diagnosed(problem, solution, starts, seen, given=made.given, level=self.level)
        repeated = None if made.repeated is None else made.repeated[b]
        if repeated is not None:
            fit = replace(fit, replicates=repeated, notes=(*fit.notes, *repeated.warnings(fit.name)))
        if len(self._made_whole) < MAX_CACHED_FITS:
            self._made_whole[b] = fit
        return fit

    @functools.cached_property
    def _made_whole(self) -> dict[int, Fit]:
        return {}

    # What a single fit has, for each ----------------------------------------------------------------------------------

    @property
    def values(self) -> Mapping[str, Array]:
        """The parameters as plain arrays, one number a fit."""
        return self.made.natural

    @property
    def log(self) -> bool:
        """Whether the scatter about the law is of the logarithm."""
        return self.made.setting.objective.log

    @property
    def published(self) -> None:
        """Nothing: fits of data are not published ones."""
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What the fits themselves warn of; what the verdict of each finds is in its words."""
        return self.warnings

    @property
    def data(self) -> Padded:
        """What was fitted."""
        return self.made.curves

    @property
    def ranges(self) -> Mapping[str, tuple[Array, Array]]:
        """The least and the largest value of each variable, one number a fit."""
        return self.made.curves.ranges()

    @property
    def uncertainty(self) -> Uncertainties:
        """What is known of the parameters."""
        return self.made.known

    @property
    def replicates(self) -> tuple[Replicates | None, ...] | None:
        """The bootstrap of each fit, where there is one."""
        return self.made.repeated

    @property
    def delta(self) -> xr.DataArray:
        """Huber's threshold of each fit; nan where there is none."""
        made = self.made
        known = made.options.get("delta", made.setting.options.get("delta", np.nan))
        return self.along(np.broadcast_to(np.asarray(known, dtype=float), (len(self),)).copy())

    @property
    def starts(self) -> xr.DataArray:
        """How many starts reached the optimum of each fit (``agree``), and how many there were (``all``)."""
        return self.along(self.made.starts.T, dims=("start",), start=["agree", "all"])

    @functools.cached_property
    def diagnostics(self) -> dict[Any, Diagnostics]:
        """What the data say about each fit that did not fail, by its label."""
        return {self.labels[b]: fit.diagnostics for b, fit in self._rows()}

    def profile(self, name: str, *, points: int = 41, level: float = 0.99) -> xr.Dataset:
        """Return the profile likelihood of a parameter in every fit; see `forecast.Fit.profile`."""
        return self._each(lambda fit: fit.profile(name, points=points, level=level))

    def influence(self) -> xr.Dataset:
        """Return the parameters of every fit without each of its rows; see `forecast.Fit.influence`."""
        return self._each(lambda fit: fit.influence())

    def posterior(self, draws: int = 1000, seed: int = 0, *, priors: Mapping[str, Any] | None = None) -> xr.Dataset:
        """Return posterior draws of the parameters of every fit; see `forecast.Fit.posterior`."""
        return self._each(lambda fit: fit.posterior(draws, seed, priors=priors))

    def invert(self, **asked: Any) -> xr.Dataset:
        """Return what reaches a goal by every fit; see `forecast.Fit.invert`."""
        return self._each(lambda fit: fit.invert(**asked))

    def allocate(self, **asked: Any) -> xr.Dataset:
        """Return how every fit splits a budget; see `forecast.Fit.allocate`."""
        return self._each(lambda fit: fit.allocate(**asked))

    def isoflop(self, **asked: Any) -> xr.Dataset:
        """Return the sections of equal compute of every fit; see `forecast.Fit.isoflop`."""
        return self._each(lambda fit: fit.isoflop(**asked))

    def speedup(self, other: Fit, **asked: Any) -> xr.Dataset:
        """Return what every fit saves against another law; see `forecast.Fit.speedup`."""
        return self._each(lambda fit: fit.speedup(other, **asked))

    def extrapolation(self, **variables: Any) -> xr.DataArray:
        """Return how far points lie outside the data of every fit, in decades; see `forecast.Fit.extrapolation`."""
        from forecast.fit.predict import extrapolation

        far = extrapolation(self, variables)
        far = np.where(self.made.settled.reshape(-1, *[1] * (far.ndim - 1)), far, np.nan)
        many = far.ndim > 2
        return self.along(far, dims=tuple(f"point_{i}" if many else "point" for i in range(far.ndim - 1)))

    def sample_parameters(self, generator: np.random.Generator, draws: int) -> dict[str, Array]:
        """Return joint draws of the parameters of every fit, (B, draws) each; nan where they are not known."""
        return self._draws(lambda fit: fit.sample_parameters(generator, draws), draws)

    def parameters_at(self, uniforms: Array) -> dict[str, Array]:
        """Return the same through uniforms inside of (0, 1), (parameter + 1, draw); the last is the scale's."""
        return self._draws(lambda fit: fit.parameters_at(uniforms), uniforms.shape[1])

    def drawn(self, streams: Streams) -> dict[str, Array]:
        """Return a block of joint draws in the worlds of a projection, (B, draw) each; nan where they are not known."""
        return self._draws(lambda fit: fit.drawn(streams), streams.draws)

    def _draws(self, draw: Callable[[Fit], dict[str, Array]], draws: int) -> dict[str, Array]:
        columns = {name: np.full((len(self), draws), np.nan) for name in self.law.parameters}
        for b, fit in self._rows():
            try:
                drawn = draw(fit)
            except FitError:
                continue
            for name, values in drawn.items():
                columns[name][b] = values
        return columns

    def scatter(self, level: Array, generator: np.random.Generator) -> Array:
        """Add the scatter of one observation to levels, one row a fit."""
        scale = self.residual_scale.values.reshape(-1, *[1] * (np.ndim(level) - 1))
        noise = scale * generator.standard_normal(np.shape(level))
        return np.asarray(level * np.exp(noise) if self.log else level + noise)

    def resample(
        self,
        replicates: int,
        *,
        resample: str = "pairs",
        seed: int = 0,
        groups: Any = None,
        workers: Workers = None,
        progress: Progress = None,
    ) -> Fits:
        """Return the fits with a bootstrap of each; see `forecast.Fit.resample`. Rows of a curve have no groups."""
        from forecast.fit.batch import bootstrapped

        return bootstrapped(
            self, replicates, resample=resample, seed=seed, groups=groups, workers=workers, progress=progress
        )

    def group(self, label: object) -> Fit:
        """Refuse: many fits at once take no law with groups."""
        raise FitError(f"{self.name}: no groups: by= takes no law with groups; select() one of the fits")

    def plot(self, ax: Axes | None = None, *, variable: str | None = None, level: float = 0.9) -> Axes:
        """Draw the points, the law, and its bands along one variable for the first fits, a colour each.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: axes of a new figure.
        variable : str, optional
            Default: the first.
        level : float
            Of both bands.

        Returns
        -------
        matplotlib Axes
        """
        from forecast.fit.diagnostics.fit_plot import draw_many

        return draw_many(self, ax, variable, level)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save all fits as one netCDF file; `forecast.load` reads it back, and computes again what is known."""
        from forecast.fit.save_many import save_many

        return save_many(self, path)

    def _each(self, asked: Callable[[Fit], xr.Dataset]) -> xr.Dataset:
        """Return what each fit answers, over the dimension; nan where one has no answer, which is counted."""
        answers, why = {}, ""
        for b, fit in self._rows():
            try:
                answers[b] = asked(fit)
            except FitError as problem:
                why = why or str(problem)
        if not answers:
            raise FitError(why or f"{self.name}: no fit over '{self.by}' converged")
        some = list(answers)
        kept = [part.drop_attrs().expand_dims({self.by: [self.labels[b]]}) for b, part in answers.items()]
        joined = xr.concat(kept, dim=self.by, join="outer", coords="minimal", compat="override", data_vars="all")
        notes = [*self.warnings]
        if len(some) < len(self):
            notes.append(f"{self.name}: {len(self) - len(some)} of {len(self)} fits have no answer")
            joined = joined.reindex({self.by: self.labels})
        return joined.assign_attrs(warnings="\n".join(notes))

    def summary(self) -> str:
        """Return the fits in a few lines: how many converged, and the middle of each parameter."""
        good = self.made.settled
        lines = [f"{len(self)} fits over '{self.by}', {int(good.sum())} converged ({self.objective_name})"]
        for name, values in self.made.natural.items():
            if good.any():
                low, middle, high = np.quantile(values[good], [0.05, 0.5, 0.95])
                lines.append(f"{name}: median {middle:.6g}, 90% of the fits in [{low:.6g}, {high:.6g}]")
        reasons, counts = np.unique(self.made.outcome[~good], return_counts=True)
        lines += [f"{count} fits: {reason}" for reason, count in zip(reasons, counts, strict=True)]
        return "\n".join([*lines, *(f"warning: {w}" for w in self.warnings)])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"
