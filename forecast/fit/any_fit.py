"""What one fit says, and many say along a dimension: numbers from one place, methods written once."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from forecast.base.arrays import Array
from forecast.base.lazy import xr
from forecast.base.other_words import OtherWords
from forecast.errors import UncertaintyError
from forecast.planning.plans import Plans

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from forecast.base.streams import Streams
    from forecast.fit.fit import Fit
    from forecast.fit.fits import Fits
    from forecast.fit.inference.uncertainty import Uncertainty
    from forecast.fit.solutions import Solutions
    from forecast.fit.solve.parallel import Progress, Workers


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
        """Return the fit with a bootstrap: case, residual, wild or cluster; see `forecast.fit.inference.resample`.

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
        from forecast.fit.inference.draws import draws_at

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
        from forecast.fit.inference.draws import draws_at

        return self._draws(lambda fit: draws_at(fit, uniforms), uniforms.shape[1])

    def drawn(self, streams: Streams) -> dict[str, Array]:
        """Return a block of joint draws of the parameters in the worlds of a projection, as `sample_parameters`.

        They are the bootstrap's replicates where there are enough, else Student's t about the estimate.
        """
        from forecast.fit.inference.draws import joint_draws

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
