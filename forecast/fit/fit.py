"""A fit, and many of one law along a dimension: parameters, what is known about them, and what follows from them.

What one fit says, and many say along their dimension, comes from one place, by methods that are written once.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from forecast.base.arrays import AnyArray, Array
from forecast.base.lazy import xr
from forecast.base.notebook_html import HtmlText
from forecast.base.operators import Operators
from forecast.base.other_words import OtherWords
from forecast.errors import FitError, RoundedConstantsWarning, UncertaintyError, UnknownNameError, printable
from forecast.fit.notes import notes_of_fit
from forecast.fit.problem.problem import law_label
from forecast.planning.plans import Plans

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forecast.base.streams import Streams
    from forecast.contract.specs import PublishedFit
    from forecast.fit.data.observations import Observations
    from forecast.fit.diagnostics.identifiability import Diagnostics
    from forecast.fit.inference.bootstrap import Replicates
    from forecast.fit.inference.covariance import Uncertainty
    from forecast.fit.solutions import Solutions
    from forecast.fit.solve.parallel import Progress, Workers
    from forecast.laws import Law

AnyQuantity = TypeVar("AnyQuantity", bound=Operators[Any])


class AnyFit(Plans, OtherWords):
    """The part that `forecast.Fit` and `forecast.Fits` share: of a fit by itself a number is 0-d, of many along `by`.

    What must be found fit by fit is written for a single one, and `_each` and `_draws` go over those there are.
    """

    solutions: Solutions | None

    @property
    def _by(self) -> str | None:
        """The dimension; None of a fit by itself."""
        return None

    @property
    def _one_or_many(self) -> Fit | Fits:
        return cast("Fit | Fits", self)

    def _draws(self, draw: Callable[[Fit], dict[str, Array]], draws: int) -> dict[str, Array]:
        """Return draws of the parameters of the fit, or of each."""
        return draw(cast("Fit", self))

    @property
    def _dimension(self) -> dict[str, Any]:
        """The labels of many fits by their dimension; nothing of a fit by itself."""
        return {} if self._by is None or self.solutions is None else {self._by: self.solutions.curves.labels}

    def along(self, column: Any, *, dims: tuple[str, ...] = (), **coords: Any) -> xr.DataArray:
        """Return an array over the dimension of many fits, and others."""
        own = self._dimension
        return xr.DataArray(column, dims=(*own, *dims), coords={**own, **coords})

    @property
    def uncertainty(self) -> Uncertainty | None:
        """What is known of the parameters; None of published ones."""
        return None if self.solutions is None else self.solutions.known

    @property
    def read(self) -> str:
        """What was read of the data, in one sentence; empty for published parameters and for what was loaded."""
        return "" if self.solutions is None else self.solutions.curves.read

    def __repr__(self) -> str:
        """Return the summary."""
        return self._one_or_many.summary()

    @property
    def objective_name(self) -> str:
        """The objective; ``"published"`` without data."""
        return "published" if self.solutions is None else self.solutions.objective.name

    @property
    def log(self) -> bool:
        """Whether the scatter about the law is of the logarithm."""
        return self.solutions is not None and self.solutions.objective.log

    @functools.cached_property
    def params(self) -> xr.Dataset:
        """The parameters, one variable each."""
        return self._dataset(self._one_or_many.values)

    @functools.cached_property
    def stderr(self) -> xr.Dataset:
        """Standard errors, one variable each."""
        made = self.solutions
        attrs = {} if made is None or made.bootstrapped else {"method": made.known.method}
        return self._dataset(self._one_or_many._stderr).assign_attrs(attrs)

    def _dataset(self, columns: Mapping[str, Any]) -> xr.Dataset:
        coords = self._dimension
        return xr.Dataset({name: (tuple(coords), values) for name, values in columns.items()}, coords=coords)

    @functools.cached_property
    def covariance(self) -> xr.DataArray:
        """Covariance of the parameters that were fitted, as the law has them, over ``parameter`` and ``other``.

        nan where one of many fits has none.

        Raises
        ------
        FitError
            If a fit by itself has none, saying why.
        """
        names, table = self._one_or_many._covariance
        return self.along(table, dims=("parameter", "other"), parameter=names, other=names)

    def profile(self, name: str, *, points: int = 41, level: float = 0.99) -> xr.Dataset:
        """Return the profile likelihood of a parameter over ``point``; see `forecast.fit.inference.profile`."""
        from forecast.fit.inference.profile import profile

        return self._each(lambda fit: profile(fit, name, points=points, level=level))

    def influence(self) -> xr.Dataset:
        """Return the parameters without each ``row`` (from 1), and their shifts in standard errors of the fit.

        Beside them stands the ``probability`` with which chance puts the worst row so far off.
        """
        from forecast.fit.diagnostics.influence import influence

        return self._each(influence)

    def posterior(self, draws: int = 1000, seed: int = 0, *, priors: Mapping[str, Any] | None = None) -> xr.Dataset:
        """Return posterior draws of the parameters by Laplace's approximation; see `forecast.fit.inference.laplace`."""
        from forecast.fit.inference.laplace import posterior

        return self._each(lambda fit: posterior(fit, draws, seed, priors or {}))

    def resample(
        self,
        replicates: int,
        *,
        resample: str = "pairs",
        seed: int = 0,
        groups: Any = None,
        workers: Workers = None,
        progress: Progress = None,
    ) -> Self:
        """Return the fit with a bootstrap: case, residual, wild or cluster; see `forecast.fit.inference.bootstrap`.

        Parameters
        ----------
        replicates : int
            Fewer are the first of more.
        resample : {"pairs", "residuals", "wild", "cluster"}
        seed : int
        groups : array, optional
            One label a row, for ``resample="cluster"``; rows of one of many curves have none.
        workers, progress
            See `forecast.fit.options.FitRequest`.
        """
        from forecast.fit.inference.bootstrap import run_bootstrap

        made = run_bootstrap(
            self.solutions, replicates, where=self._one_or_many.name, resample=resample, seed=seed, groups=groups,
            workers=workers, progress=progress,
        )  # fmt: skip
        fit: Self = replace(cast(Any, self), solutions=made)
        return fit

    def sample_parameters(self, generator: np.random.Generator, draws: int) -> dict[str, Array]:
        """Return joint draws of the parameters: Student's t about the estimate, or as published.

        Returns
        -------
        dict of ndarray
            (draws,) each; (B, draws) of many fits, nan where a fit is not known well enough to draw.

        Raises
        ------
        FitError
            If a parameter of a fit by itself is not known well enough to draw.
        """
        from forecast.fit.inference.laplace import draws_at

        def sample(fit: Fit) -> dict[str, Array]:
            return draws_at(fit, np.maximum(generator.random((len(fit.values) + 1, draws)), 2.0**-54))

        return self._draws(sample, draws)

    def parameters_at(self, uniforms: Array) -> dict[str, Array]:
        """Return the same through uniforms in the open unit interval, (parameter + 1, draw); the last is the scale's.

        Raises
        ------
        FitError
            As `sample_parameters`.
        """
        from forecast.fit.inference.laplace import draws_at

        return self._draws(lambda fit: draws_at(fit, uniforms), uniforms.shape[1])

    def drawn(self, streams: Streams) -> dict[str, Array]:
        """Return a block of joint draws of the parameters in the worlds of a projection, as `sample_parameters`.

        They are the bootstrap's replicates where there are enough, else Student's t about the estimate.
        """
        from forecast.fit.inference.laplace import joint_draws

        return self._draws(lambda fit: joint_draws(fit, streams), streams.draws)

    def scatter(self, level: Array, generator: np.random.Generator) -> Array:
        """Add the scatter of one observation to draws of the level, of many fits (B, ...)."""
        scale = np.nan if self.solutions is None else self.solutions.residual_scale
        if self._by is None and np.isnan(scale).all():
            raise UncertaintyError(self._one_or_many.name, "scatter", cast("Fit", self)._why_not())
        scale = np.reshape(scale, (-1, *[1] * (np.ndim(level) - 1)) if self._by else ())
        noise = scale * generator.standard_normal(np.shape(level))
        return np.asarray(level * np.exp(noise) if self.log else level + noise)

    def predict(
        self, data: Any = None, /, *, level: float = 0.9, statistic: str = "median", **variables: Any
    ) -> xr.Dataset:
        """Evaluate the law, with two bands: of the law itself, and of one observation.

        Parameters
        ----------
        data : Dataset, DataFrame, mapping of arrays, path or table name, optional
            Points, a row each: whatever `forecast.Law.fit` takes, with a column for every variable of the law that is
            not given by its name.
        level : float
            Of both bands.
        statistic : {"median", "mean"}
            ``"mean"`` adds the mean of an observation: under a log objective it lies above the median, by the
            lognormal factor that the attribute ``mean_by`` states.
        **variables : float, array or xarray.DataArray
            A value for every variable of the law; they broadcast. A group is named by its label. With many fits a
            DataArray may have their dimension: then each has points of its own.

        Returns
        -------
        xarray.Dataset
            ``median``, ``lower`` and ``upper`` (the law), ``observed_lower`` and ``observed_upper`` (an observation),
            over the points, and before these over the dimension of many fits. Without uncertainty only ``median``, and
            the attribute ``no_interval`` says why; one of many fits without bands gives nan, which the warnings count.
            Under a log objective the bands are about the logarithm, and ``median`` is the median and not the mean. A
            point where the law cannot be computed is NaN and counted in the warnings. Attributes: ``bands`` (where
            they come from: the replicates of a bootstrap where there are enough, else standard errors),
            ``extrapolation_decades``, ``warnings``.
        """
        from forecast.fit.predict import predict

        return predict(self._one_or_many, data, level=level, statistic=statistic, variables=variables, by=self._by)

    def plot(self, ax: Axes | None = None, *, variable: str | None = None, level: float = 0.9) -> Axes:
        """Draw the points, the law, and both of its bands along one variable; of many fits the first, a colour each.

        Where the law has several variables, the others are fixed at their medians, or at the largest group, and the
        points are moved along the law to these.

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
        from forecast.fit.diagnostics.fit_plot import plot_fit

        return plot_fit(self._one_or_many, ax, variable, level, by=self._by)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save it as one netCDF file; `forecast.load` reads it back, to the last bit."""
        from forecast.fit.save import save_fit

        return save_fit(self._one_or_many, path, by=self._by)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Fit(AnyFit):
    """Parameters of a law, from data or from a publication. Made by `forecast.Law.fit` and `forecast.Law.published`.

    A fit of data is the solution of one curve (`forecast.fit.solutions.Solutions`): what a fit says, `forecast.Fits`
    say over a dimension.

    Attributes
    ----------
    law : forecast.Law
    solutions : forecast.fit.solutions.Solutions or None
        What the solver found; None of published parameters.
    level : float
        Of intervals that name none.
    published : forecast.PublishedFit or None
        The record of published parameters.
    remarks : tuple of str
        What a reader of the file that they came from must know.

    Examples
    --------
    >>> from forecast import Law
    >>> line = Law("a + b*x", variables=["x"])
    >>> fit = line.fit({"x": [1.0, 2.0, 3.0, 4.0, 5.0], "y": [1.1, 2.9, 5.2, 6.8, 9.1]})
    >>> low, high = fit.interval("b")
    >>> low < 2 < high
    True
    """

    law: Law
    solutions: Solutions | None = field(default=None, repr=False)
    published: PublishedFit | None = field(default=None, repr=False)
    level: float = 0.9
    remarks: tuple[str, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """What to call it in a message: ``scaling/chinchilla@besiroglu2024``, or the law's name or formula."""
        law = law_label(self.law)
        return f"{law}@{self.published.name}" if self.published else law

    @functools.cached_property
    def values(self) -> Mapping[str, float]:
        """The parameters as plain numbers."""
        if self.solutions is not None:
            return {n: float(v[0]) for n, v in self.solutions.values.items()}
        assert self.published is not None
        return {p: float(self.published.parameters[p]) for p in self.law.parameters}

    @functools.cached_property
    def objective(self) -> float | None:
        """The plain value: the sum of squares (not halved), or of Huber losses."""
        result = self.solutions
        return None if result is None or not result.has_data else float(result.stated[0])

    @property
    def delta(self) -> float | None:
        """Huber's threshold, of log residuals."""
        found = None if self.solutions is None else self.solutions.delta
        return None if found is None else float(np.ravel(found)[0])

    @property
    def converged(self) -> bool | None:
        """Whether it is an optimum, as far as is known by now; None without data.

        By its starts; and not where `verdict`, an interval or `influence` found a better one.
        """
        return None if self.solutions is None else bool(self.solutions.converged[0])

    @property
    def starts(self) -> tuple[int, int]:
        """How many starts reached the optimum, and how many there were."""
        return (
            (0, 0) if self.solutions is None else (int(self.solutions.starts[0, 0]), int(self.solutions.starts[1, 0]))
        )

    @property
    def n(self) -> int | None:
        """The number of points."""
        return None if self.solutions is None else int(self.solutions.n[0])

    @functools.cached_property
    def residual_scale(self) -> float | None:
        """Standard deviation of one observation about the law (of its logarithm under a log objective)."""
        scale = np.nan if self.solutions is None else float(self.solutions.residual_scale[0])
        return scale if np.isfinite(scale) else None

    @property
    def replicates(self) -> Replicates | None:
        """The bootstrap, where there is one."""
        return None if self.solutions is None else self.solutions.replicates[0]

    @functools.cached_property
    def data(self) -> Observations | None:
        """What was fitted."""
        result = self.solutions
        return None if result is None or not result.has_data else result.curves.one(0)

    @functools.cached_property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """The least and the largest value of each variable; nothing of published parameters."""
        ranges = {} if self.solutions is None else self.solutions.ranges
        return {n: (float(low[0]), float(high[0])) for n, (low, high) in ranges.items()}

    @property
    def outcome(self) -> str:
        """How the fit ended, in one line; `verdict` adds what the data can tell, and looks for a better optimum."""
        if self.solutions is not None:
            return str(self.solutions.outcome[0])
        assert self.published is not None
        return f"published parameters ({printable(self.published.reference, 200)})"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the fit itself has to say of data and search."""
        if self.solutions is not None:
            return (*notes_of_fit(self.solutions), *self.remarks)
        assert self.published is not None
        rounded = RoundedConstantsWarning(fit=self.name).text
        return (rounded, *self.remarks) if self.published.rounded else self.remarks

    @overload
    def __call__(self, **variables: ArrayLike) -> Array: ...  # type: ignore[overload-overlap]  # without variables
    @overload
    def __call__(self, **variables: AnyQuantity | ArrayLike) -> AnyQuantity: ...
    def __call__(self, **variables: Any) -> Any:
        """Return the law at its fitted parameters: plain numbers for numbers, a quantity for quantities.

        Parameters
        ----------
        **variables
            Every variable of the law: numbers and arrays, or quantities (`forecast.quantity`, `forecast.uncertain`, a
            model).

        Examples
        --------
        >>> import forecast
        >>> fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
        >>> round(float(fit(N=7e10, D=1.4e12)), 2)
        1.97
        """
        among = next((each for each in variables.values() if isinstance(each, Operators)), None)
        return self.law.value(self.values, **variables) if among is None else among._under(self, variables)

    @functools.cached_property
    def _stderr(self) -> dict[str, float]:
        """Standard errors as numbers: a page of text needs no xarray, which takes longer to import than to fit."""
        if self.solutions is not None:
            return {n: float(v[0]) for n, v in self.solutions.errors.items()}
        stated = self.published.errors if self.published else {}
        return {n: float(stated[n]) for n in self.values if n in stated}

    @functools.cached_property
    def _covariance(self) -> tuple[list[str], Array]:
        """The names of the covariance's rows, and its numbers: see `_stderr`."""
        stated = self.published.covariance if self.published else {}
        if stated:
            names = list(stated)
            return names, np.array([[stated[a][b] for b in names] for a in names])
        known = self._known("covariance")
        return list(known.names), known.natural()[0]

    def _why_not(self) -> str:
        if self.published and self.published.stderr:
            return "the source states standard errors but not how the parameters vary together"
        return "the source states no uncertainty for this fit"

    def _known(self, what: str) -> Uncertainty:
        if self.uncertainty is None:
            raise UncertaintyError(self.name, what, self._why_not())
        self.uncertainty.refuse(self.name, what)
        return self.uncertainty

    @functools.cached_property
    def bootstrap(self) -> xr.Dataset:
        """The replicates, one variable a parameter over ``replicate``; a FitError without ``bootstrap=``."""
        if self.replicates is None:
            raise FitError(f"{self.name}: no bootstrap: fit with bootstrap=1000 for a thousand replicates")
        return self.replicates.dataset()

    def interval(self, name: str, level: float = 0.9, method: str | None = None) -> tuple[float, float]:
        """Return the confidence interval of a parameter: the bootstrap's, the profile likelihood's, or Wald's.

        See `forecast.fit.inference.interval`: the methods ``"profile"``, ``"wald"``, ``"bootstrap"``, and which is the
        default.
        """
        from forecast.fit.inference.interval import (
            check_interval_arguments,
            interval_arrays,
            published_interval,
            refusal,
        )
        from forecast.fit.inference.profile import check_data

        check_interval_arguments(name, level, method, self.values, self.name)
        if method == "profile":
            check_data(self.solutions, self.name)
        if self.solutions is None and method == "bootstrap":
            raise UncertaintyError(self.name, f"bootstrap interval for '{name}'", "fit with bootstrap=1000 first")
        if self.solutions is None:
            return published_interval(self, name, level)
        low, high = (float(end[0]) for end in interval_arrays(self.solutions, name, level, method))
        if np.isnan(low):
            raise refusal(self.solutions, name, level, method, self.name)
        return low, high

    @functools.cached_property
    def diagnostics(self) -> Diagnostics:
        """What the data say about the fit: identified or not, ridges, places beyond the data, single rows."""
        from forecast.fit.diagnostics.identifiability import diagnose

        return diagnose(self)

    @functools.cached_property
    def warnings(self) -> tuple[str, ...]:
        """The notes of the fit, and what the verdict finds."""
        if self.uncertainty is None:
            return self.notes
        judged = self.diagnostics.warnings(self.name)  # first: it may find a better optimum
        return tuple(dict.fromkeys([*self.notes, *judged]))

    @property
    def verdict(self) -> str:
        """The outcome and the diagnostics in one line."""
        phrases = [] if self.uncertainty is None else self.diagnostics.phrases()  # first, as for warnings
        return "; ".join([self.outcome, *phrases])

    def group(self, label: object) -> Fit:
        """Return what a fit with groups says of one: a fit of the plain law, to predict, invert and allocate with."""
        from forecast.fit.inference.by_group import one_of

        return one_of(self, label)

    def extrapolation(self, **variables: Any) -> Array:
        """Return how far points lie outside the data, in decades of the variable that is furthest out; 0 inside.

        Variables that are not positive (a date, a score) do not count.
        """
        from forecast.fit.predict import extrapolation

        return np.asarray(extrapolation(self, variables)[0])

    def summary(self) -> str:
        """Return the fit as a page of text: the law, the verdict, the parameters and their intervals."""
        from forecast.fit.summary import summary

        return summary(self)

    def _repr_html_(self) -> str:
        from forecast.fit.summary import fit_page

        return fit_page(self)


#: Most single fits in the cache.
MAX_CACHED_FITS = 1000


@dataclass(frozen=True, kw_only=True, eq=False)
class Fits(HtmlText, AnyFit):
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
    level: float = 0.9
    solutions: Solutions = field(repr=False)
    remarks: tuple[str, ...] = field(default=(), repr=False)

    @property
    def _by(self) -> str:
        return self.by

    @property
    def law(self) -> Law:
        """The law of every fit."""
        return self.solutions.setting.law

    @property
    def name(self) -> str:
        """What to call the law in a message."""
        return self.solutions.setting.name

    def __len__(self) -> int:
        return int(self.solutions.settled.size)

    @property
    def labels(self) -> AnyArray:
        """The values of the dimension."""
        return self.solutions.curves.labels

    @functools.cached_property
    def objective(self) -> xr.DataArray:
        """The value of the objective."""
        return self.along(self.solutions.stated)

    @property
    def converged(self) -> xr.DataArray:
        """Whether each fit is an optimum."""
        return self.along(self.solutions.converged)

    @property
    def n(self) -> xr.DataArray:
        """The number of points of each fit."""
        return self.along(self.solutions.n)

    @property
    def outcome(self) -> xr.DataArray:
        """How each fit ended."""
        return self.along(self.solutions.outcome)

    @functools.cached_property
    def verdict(self) -> xr.DataArray:
        """The outcome and the diagnostics of each fit in words: the time of an interval for each."""
        verdicts = [str(text) for text in self.solutions.outcome]
        for b, fit in self._rows():
            verdicts[b] = fit.verdict
        return self.along(np.array(verdicts))

    @functools.cached_property
    def residual_scale(self) -> xr.DataArray:
        """Standard deviation of one observation of median weight."""
        return self.along(self.solutions.residual_scale)

    @functools.cached_property
    def bootstrap(self) -> xr.Dataset:
        """The replicates, one variable a parameter over the dimension and ``replicate``.

        Replicate 7 of two curves of equal length is made of the same rows of both.

        Raises
        ------
        FitError
            Without ``bootstrap=``.
        """
        repeated = self.solutions.replicates
        if not self.solutions.bootstrapped:
            raise FitError(f"{self.name}: no bootstrap: fit with bootstrap=1000 for a thousand replicates")
        size = next((r.converged.size for r in repeated if r is not None), 0)
        columns = {
            name: self.along(
                np.array([np.full(size, np.nan) if r is None else r.values[i] for r in repeated]), dims=("replicate",)
            )
            for i, name in enumerate(self.solutions.setting.coordinates.free)
        }
        flags = np.array([np.zeros(size, dtype=bool) if r is None else r.converged for r in repeated])
        return xr.Dataset({"converged": self.along(flags, dims=("replicate",)), **columns})

    def interval(self, name: str, level: float = 0.9, method: str | None = None) -> xr.Dataset:
        """Return the interval of a parameter in every fit, ``lower`` and ``upper`` over the dimension.

        By the methods of `forecast.Fit.interval`, and with its defaults; nan where a fit has none, which the attribute
        ``warnings`` counts.
        """
        from forecast.fit.inference.interval import check_interval_arguments, interval_arrays

        made = self.solutions
        check_interval_arguments(name, level, method, made.values, self.name)
        low, high = interval_arrays(made, name, level, method)
        none, failed = int(np.isnan(low).sum()), int((~made.settled).sum())
        notes = [*self.warnings]
        if none > failed:
            notes.append(f"{self.name}: {none - failed} of {len(self)} fits have no interval for '{name}'")
        attrs = {"parameter": name, "level": level, "method": method or "default", "warnings": "\n".join(notes)}
        return xr.Dataset({"lower": self.along(low), "upper": self.along(high)}, attrs=attrs)

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
        if not self.solutions.settled[b]:
            raise FitError(f"{self.name}: {self.by} {printable(label, 60)}: {self.solutions.outcome[b]}")
        return self._one(b)

    def _rows(self) -> Iterator[tuple[int, Fit]]:
        """Go over the fits that did not fail."""
        return ((int(b), self._one(int(b))) for b in np.flatnonzero(self.solutions.settled))

    def _one(self, b: int) -> Fit:
        if b in self._whole:
            return self._whole[b]
        fit = Fit(law=self.law, solutions=self.solutions.one(b), level=self.level)
        if len(self._whole) < MAX_CACHED_FITS:
            self._whole[b] = fit
        return fit

    @functools.cached_property
    def _whole(self) -> dict[int, Fit]:
        return {}

    # What a single fit has, for each ----------------------------------------------------------------------------------

    @property
    def values(self) -> Mapping[str, Array]:
        """The parameters as plain arrays, one number a fit."""
        return self.solutions.values

    @property
    def published(self) -> None:
        """Nothing: fits of data are not published ones."""
        return None

    @functools.cached_property
    def warnings(self) -> tuple[str, ...]:
        """What the fits themselves warn of; what the verdict of each finds is in its words."""
        made, found = self.solutions, []
        if not made.converged.all():
            first = str(self.labels[int(np.flatnonzero(~made.converged)[0])])
            lost = int((~made.converged).sum())
            found.append(
                f"{self.name}: {lost} of {len(self)} fits failed, the first is {self.by} {printable(first, 40)}"
            )
        if doubt := made.objective.doubt(made.curves.y, made.curves.weights):
            found.append(f"{self.name}: {doubt}")
        return (*found, *self.remarks)

    @property
    def notes(self) -> tuple[str, ...]:
        """The same: a single fit has both."""
        return self.warnings

    @property
    def data(self) -> Observations:
        """What was fitted."""
        return self.solutions.curves

    @property
    def ranges(self) -> Mapping[str, tuple[Array, Array]]:
        """The least and the largest value of each variable, one number a fit."""
        return self.solutions.ranges

    @property
    def replicates(self) -> tuple[Replicates | None, ...]:
        """The bootstrap of each fit, where there is one."""
        return self.solutions.replicates

    @property
    def delta(self) -> xr.DataArray:
        """Huber's threshold of each fit; nan where there is none."""
        delta = self.solutions.delta
        known = np.asarray(np.nan if delta is None else delta, dtype=float)
        return self.along(np.broadcast_to(known, (len(self),)).copy())

    @property
    def starts(self) -> xr.DataArray:
        """How many starts reached the optimum of each fit (``agree``), and how many there were (``all``)."""
        return self.along(self.solutions.starts.T, dims=("start",), start=["agree", "all"])

    @functools.cached_property
    def diagnostics(self) -> dict[Any, Diagnostics]:
        """What the data say about each fit that did not fail, by its label."""
        return {self.labels[b]: fit.diagnostics for b, fit in self._rows()}

    def extrapolation(self, **variables: Any) -> xr.DataArray:
        """Return how far points lie outside the data of every fit, in decades; see `forecast.Fit.extrapolation`."""
        from forecast.fit.predict import extrapolation

        far = extrapolation(self, variables)
        far = np.where(self.solutions.settled.reshape(-1, *[1] * (far.ndim - 1)), far, np.nan)
        many = far.ndim > 2
        return self.along(far, dims=tuple(f"point_{i}" if many else "point" for i in range(far.ndim - 1)))

    @property
    def _stderr(self) -> Mapping[str, Array]:
        return self.solutions.errors

    @property
    def _covariance(self) -> tuple[list[str], Array]:
        return list(self.solutions.setting.coordinates.free), self.solutions.known.natural()

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

    def group(self, label: object) -> Fit:
        """Refuse: many fits at once take no law with groups."""
        raise FitError(f"{self.name}: no groups: by= takes no law with groups; select() one of the fits")

    def _each(self, compute: Callable[[Fit], xr.Dataset]) -> xr.Dataset:
        """Return what each fit answers, over the dimension; nan where one has no answer, which is counted."""
        answers, why = {}, ""
        for b, fit in self._rows():
            try:
                answers[b] = compute(fit)
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
        good = self.solutions.settled
        lines = [f"{len(self)} fits over '{self.by}', {int(good.sum())} converged ({self.objective_name})"]
        for name, values in self.solutions.values.items():
            if good.any():
                low, middle, high = np.quantile(values[good], [0.05, 0.5, 0.95])
                lines.append(f"{name}: median {middle:.6g}, 90% of the fits in [{low:.6g}, {high:.6g}]")
        reasons, counts = np.unique(self.solutions.outcome[~good], return_counts=True)
        lines += [f"{count} fits: {reason}" for reason, count in zip(reasons, counts, strict=True)]
        return "\n".join([*lines, *(f"warning: {w}" for w in self.warnings)])
