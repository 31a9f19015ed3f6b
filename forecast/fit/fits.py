"""Many fits of one law, a dimension of them: their parameters, intervals and predictions, and each by itself."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from forecast.base.arrays import AnyArray, Array
from forecast.base.notebook_html import HtmlText
from forecast.errors import FitError, UnknownNameError, printable
from forecast.fit.any_fit import AnyFit
from forecast.fit.fit import Fit

if TYPE_CHECKING:
    from forecast.fit.data.observations import Observations
    from forecast.fit.diagnostics.identifiability import Diagnostics
    from forecast.fit.inference.bootstrap_replicates import Replicates
    from forecast.fit.solutions import Solutions
    from forecast.laws import Law


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
