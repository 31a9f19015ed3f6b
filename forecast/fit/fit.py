"""A fit: parameters, what is known about them, and what follows from them."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forecast.base.lazy import xr
from forecast.base.operators import Operators
from forecast.errors import FitError, printable
from forecast.fit.notes import notes
from forecast.fit.problem.coordinates import label
from forecast.planning.plans import Plans

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forecast.base.streams import Streams
    from forecast.contract.specs import PublishedFit
    from forecast.fit.data.observations import Observations
    from forecast.fit.diagnostics.identifiability import Diagnostics
    from forecast.fit.inference.replicates import Replicates
    from forecast.fit.inference.uncertainty import Uncertainty
    from forecast.fit.solutions import Solutions
    from forecast.fit.solve.parallel import Progress, Workers
    from forecast.laws import Law

__all__ = ["Fit"]

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit(Plans):
    """Parameters of a law, from data or from a publication. Made by `forecast.Law.fit` and `forecast.Law.published`.

    A fit of data is the solution of one curve (`forecast.fit.solutions.Solutions`): what a fit says, `forecast.Fits`
    say over a dimension.

    Attributes
    ----------
    law : forecast.Law
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
        law = label(self.law)
        return f"{law}@{self.published.name}" if self.published else law

    @functools.cached_property
    def values(self) -> Mapping[str, float]:
        """The parameters as plain numbers."""
        if self.solutions is not None:
            return {n: float(v[0]) for n, v in self.solutions.values.items()}
        assert self.published is not None
        return {p: float(self.published.parameters[p]) for p in self.law.parameters}

    @property
    def objective_name(self) -> str:
        """The objective; ``"published"`` without data."""
        return "published" if self.solutions is None else self.solutions.objective.name

    @functools.cached_property
    def objective(self) -> float | None:
        """The plain value: the sum of squares (not halved), or of Huber losses."""
        made = self.solutions
        return None if made is None or not made.has_data else float(made.stated[0])

    @property
    def delta(self) -> float | None:
        """Huber's threshold, of log residuals."""
        found = None if self.solutions is None else self.solutions.delta
        return None if found is None else float(np.ravel(found)[0])

    @property
    def converged(self) -> bool | None:
        """Whether it is an optimum, as far as starts tell; None without data."""
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
    def uncertainty(self) -> Uncertainty | None:
        """What is known of the parameters: that of one fit; None of published ones."""
        return None if self.solutions is None else self.solutions.known

    @property
    def replicates(self) -> Replicates | None:
        """The bootstrap, where there is one."""
        return None if self.solutions is None else self.solutions.replicates[0]

    @functools.cached_property
    def data(self) -> Observations | None:
        """What was fitted."""
        made = self.solutions
        return None if made is None or not made.has_data else made.curves.one(0)

    @functools.cached_property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """The least and the largest value of each variable; nothing of published parameters."""
        ranges = {} if self.solutions is None else self.solutions.ranges
        return {n: (float(low[0]), float(high[0])) for n, (low, high) in ranges.items()}

    @functools.cached_property
    def outcome(self) -> str:
        """How the fit ended, in one line; `verdict` adds what the data can tell."""
        if self.solutions is not None:
            return str(self.solutions.outcome[0])
        assert self.published is not None
        return f"published parameters ({printable(self.published.reference, 200)})"

    @functools.cached_property
    def notes(self) -> tuple[str, ...]:
        """What the fit itself has to say of data and search."""
        if self.solutions is not None:
            return (*notes(self.solutions), *self.remarks)
        assert self.published is not None
        rounded = f"{self.name}: the source prints rounded figures, and rounded constants give biased forecasts"
        return (rounded, *self.remarks) if self.published.rounded else self.remarks

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
        return self.law.value(self.values, **variables) if among is None else among.under(self, variables)

    @property
    def log(self) -> bool:
        """Whether the scatter about the law is of the logarithm."""
        return self.solutions is not None and self.solutions.objective.log

    @functools.cached_property
    def params(self) -> xr.Dataset:
        """The parameters, one 0-d variable each."""
        return xr.Dataset({name: xr.DataArray(value) for name, value in self.values.items()})

    @functools.cached_property
    def stderr(self) -> xr.Dataset:
        """Standard errors, one 0-d variable each."""
        made = self.solutions
        attrs = {} if made is None or made.bootstrapped else {"method": made.known.method}
        return xr.Dataset({n: xr.DataArray(error) for n, error in self._stderr.items()}, attrs=attrs)

    @functools.cached_property
    def _stderr(self) -> dict[str, float]:
        """Standard errors as numbers: a page of text needs no xarray, which takes longer to import than to fit."""
        if self.solutions is not None:
            return {n: float(v[0]) for n, v in self.solutions.errors.items()}
        stated = self.published.errors if self.published else {}
        return {n: float(stated[n]) for n in self.values if n in stated}

    @functools.cached_property
    def covariance(self) -> xr.DataArray:
        """Covariance of the parameters that were fitted, as the law has them.

        Raises
        ------
        FitError
            If there is none, saying why.
        """
        names, table = self._covariance
        return xr.DataArray(table, dims=("parameter", "other"), coords={"parameter": names, "other": names})

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
            raise FitError(f"{self.name}: no {what}: {self._why_not()}")
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
        from forecast.fit.inference.interval import check, intervals, refusal, stated
        from forecast.fit.inference.profile import check_data

        check(name, level, method, self.values, self.name)
        if method == "profile":
            check_data(self.solutions, self.name)
        if self.solutions is None and method == "bootstrap":
            raise FitError(f"{self.name}: no bootstrap interval for '{name}': fit with bootstrap=1000 first")
        if self.solutions is None:
            return stated(self, name, level)
        low, high = (float(end[0]) for end in intervals(self.solutions, name, level, method))
        if np.isnan(low):
            raise refusal(self.solutions, name, level, method, self.name)
        return low, high

    def profile(self, name: str, *, points: int = 41, level: float = 0.99) -> xr.Dataset:
        """Return the profile likelihood of a parameter over ``point``; see `forecast.fit.inference.profile`."""
        from forecast.fit.inference.profile import profile

        return profile(self, name, points=points, level=level)

    def influence(self) -> xr.Dataset:
        """Return the parameters without each ``row`` (from 1), and their shifts in standard errors."""
        from forecast.fit.diagnostics.influence import influence

        return influence(self)

    def posterior(self, draws: int = 1000, seed: int = 0, *, priors: Mapping[str, Any] | None = None) -> xr.Dataset:
        """Return posterior draws of the parameters by Laplace's approximation; see `forecast.fit.inference.laplace`."""
        from forecast.fit.inference.laplace import posterior

        return posterior(self, draws, seed, priors or {})

    def resample(
        self,
        replicates: int,
        *,
        resample: str = "pairs",
        seed: int = 0,
        groups: Any = None,
        workers: Workers = None,
        progress: Progress = None,
    ) -> Fit:
        """Return the fit with a bootstrap: case, residual, wild or cluster; see `forecast.fit.inference.resample`.

        Parameters
        ----------
        replicates : int
            Fewer are the first of more.
        resample : {"pairs", "residuals", "wild", "cluster"}
        seed : int
        groups : array, optional
            One label a row, for ``resample="cluster"``.
        workers, progress
            See `forecast.fit.options.Request`.
        """
        from forecast.fit.inference.bootstrap import bootstrapped

        made = bootstrapped(
            self.solutions, replicates, where=self.name, resample=resample, seed=seed, groups=groups, workers=workers,
            progress=progress,
        )  # fmt: skip
        return replace(self, solutions=made)

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
        return tuple(dict.fromkeys([*self.notes, *self.diagnostics.warnings(self.name)]))

    @property
    def verdict(self) -> str:
        """The outcome and the diagnostics in one line."""
        return self.outcome if self.uncertainty is None else "; ".join([self.outcome, *self.diagnostics.phrases()])

    def sample_parameters(self, generator: np.random.Generator, draws: int) -> dict[str, Array]:
        """Return joint draws of the parameters, (draws,) each: Student's t about the estimate, or as published.

        Raises
        ------
        FitError
            If a parameter is not known well enough to draw.
        """
        return self.parameters_at(np.maximum(generator.random((len(self.values) + 1, draws)), 2.0**-54))

    def parameters_at(self, uniforms: Array) -> dict[str, Array]:
        """Return the same through uniforms in the open unit interval, (parameter + 1, draw); the last is the scale's.

        Raises
        ------
        FitError
            If a parameter is not known well enough to draw.
        """
        if self.published and self.published.covariance:
            from forecast.base.streams import student_t
            from forecast.fit.inference.draws import stated_draws

            return stated_draws(self, student_t(uniforms, np.inf))
        known = self._known("draws")
        drawn = known.draw(np.concatenate([uniforms[: len(known.names)], uniforms[-1:]]))
        return {n: drawn[n] if n in drawn else np.full(uniforms.shape[1], v) for n, v in self.values.items()}

    def drawn(self, streams: Streams) -> dict[str, Array]:
        """Return a block of joint draws of the parameters in the worlds of a projection, (draw,) each.

        They are the bootstrap's replicates where there are enough, else Student's t about the estimate.
        """
        from forecast.fit.inference.draws import joint_draws

        return joint_draws(self, streams)

    def scatter(self, level: Array, generator: np.random.Generator) -> Array:
        """Add the scatter of one observation to draws of the level."""
        if self.residual_scale is None:
            raise FitError(f"{self.name}: no scatter: {self._why_not()}")
        noise = self.residual_scale * generator.standard_normal(np.shape(level))
        return np.asarray(level * np.exp(noise) if self.log else level + noise)

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
            A value for every variable of the law; they broadcast. A group is named by its label.

        Returns
        -------
        xarray.Dataset
            ``median``, ``lower`` and ``upper`` (the law), ``observed_lower`` and ``observed_upper`` (an observation).
            Without uncertainty only ``median``, and the attribute ``no_interval`` says why. Under a log objective the
            bands are about the logarithm, and ``median`` is the median and not the mean. A point where the law cannot
            be computed is NaN and counted in the warnings. Attributes: ``bands`` (where they come from: the
            replicates of a bootstrap where there are enough, else standard errors), ``extrapolation_decades``,
            ``warnings``.
        """
        from forecast.fit.predict import predict

        return predict(self, data, level=level, statistic=statistic, variables=variables)

    def plot(self, ax: Axes | None = None, *, variable: str | None = None, level: float = 0.9) -> Axes:
        """Draw the points, the law, and both of its bands along one variable.

        Where the law has several, the others are fixed at their medians, or at the largest group, and the points are
        moved along the law to these.

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
        from forecast.fit.diagnostics.fit_plot import draw

        return draw(self, ax, variable, level)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the fit as netCDF; `forecast.load` reads it back, to the last bit."""
        from forecast.fit.save import save

        return save(self, path)

    def summary(self) -> str:
        """Return the fit as a page of text: the law, the verdict, the parameters and their intervals."""
        from forecast.fit.summary import summary

        return summary(self)

    def _repr_html_(self) -> str:
        from forecast.report import notebook

        return notebook.fit(self)
