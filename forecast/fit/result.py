"""A fit: parameters, what is known about them, and what follows from them."""

from __future__ import annotations

import functools
import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from forecast.errors import DataError, FitError, UnknownNameError, UsageError, printable
from forecast.fit.uncertainty import Uncertainty

if TYPE_CHECKING:
    from forecast.laws import Law
    from forecast.specs import PublishedFit

__all__ = ["Fit"]

Array = NDArray[np.float64]

#: Predictions further than this from the data carry a warning, in decades.
FAR = 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """Parameters of a law, from data or from a publication. Made by `forecast.Law.fit` and `forecast.Law.published`.

    Attributes
    ----------
    law : forecast.Law
    values : mapping of str to float
        The parameters as plain numbers.
    params, stderr : xarray.Dataset
        One 0-d variable a parameter. A standard error is inf where the parameter is not identified; `stderr` lacks
        what a publication does not state.
    objective_name : str
        ``"published"`` without data.
    objective : float or None
        Plain value: the sum of squares (not halved), or of Huber losses.
    delta : float or None
        Huber's threshold, of log residuals.
    converged : bool or None
        None without data.
    starts : (int, int)
        How many starts reached the optimum, and how many there were.
    verdict : str
        The judgement in one line.
    n : int or None
        Number of points.
    covariance : xarray.DataArray
        Of the parameters as the law has them.
    warnings : tuple of str
        What a reader of any number from this fit must know.
    residual_scale : float or None
        Standard deviation of one observation about the law (of its logarithm under a log objective).

    Examples
    --------
    >>> from forecast import Law
    >>> line = Law("a + b*x", variables=["x"])
    >>> fit = line.fit({"x": [1.0, 2.0, 3.0, 4.0, 5.0], "y": [1.1, 2.9, 5.2, 6.8, 9.1]})
    >>> low, high = fit.interval("b", 0.95)
    >>> low < 2 < high
    True
    """

    law: Law
    values: Mapping[str, float]
    objective_name: str
    verdict: str
    objective: float | None = None
    delta: float | None = None
    converged: bool | None = None
    starts: tuple[int, int] = (0, 0)
    n: int | None = None
    residual_scale: float | None = None
    uncertainty: Uncertainty | None = field(default=None, repr=False)
    published: PublishedFit | None = field(default=None, repr=False)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict, repr=False)
    level: float = 0.95
    warnings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What to call it in a message: ``scaling/chinchilla@besiroglu2024``, or the law's name or formula."""
        law = printable(self.law.name or self.law.expression or "law", 100)
        return f"{law}@{self.published.name}" if self.published else law

    @property
    def log(self) -> bool:
        """Whether the scatter about the law is of the logarithm."""
        return self.objective_name.endswith("_log")

    @functools.cached_property
    def params(self) -> xr.Dataset:
        """The parameters, one 0-d variable each."""
        return xr.Dataset({name: xr.DataArray(value) for name, value in self.values.items()})

    @functools.cached_property
    def stderr(self) -> xr.Dataset:
        """Standard errors, one 0-d variable each."""
        known = self.uncertainty
        if known is None:
            stated = self.published.stderr if self.published else {}
            return xr.Dataset({n: xr.DataArray(float(stated[n])) for n in self.values if n in stated})
        errors = {n: known.stderr(known.names.index(n)) if n in known.names else 0.0 for n in self.values}
        return xr.Dataset({name: xr.DataArray(error) for name, error in errors.items()})

    @functools.cached_property
    def covariance(self) -> xr.DataArray:
        """Covariance of the parameters that were fitted, as the law has them.

        Raises
        ------
        FitError
            If there is none, saying why.
        """
        known = self._known("covariance")
        factors = np.where(known.logs, np.exp(np.where(known.logs, known.at, 0.0)), 1.0)
        table = known.covariance * np.outer(factors, factors)
        names = list(known.names)
        return xr.DataArray(table, dims=("parameter", "other"), coords={"parameter": names, "other": names})

    def _why_not(self) -> str:
        if self.published and self.published.stderr:
            return "the source states standard errors but not how the parameters vary together"
        return "the source states no uncertainty for this fit"

    def _known(self, what: str) -> Uncertainty:
        if self.uncertainty is None:
            raise FitError(f"{self.name}: no {what}: {self._why_not()}")
        self.uncertainty.refuse(self.name, what)
        return self.uncertainty

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval of a parameter.

        Student's t about the estimate; about its logarithm for a parameter that is solved in it. One-sided for a
        parameter on a bound.

        Parameters
        ----------
        name : str
        level : float

        Raises
        ------
        FitError
            Where the data give none (not identified, no degree of freedom, nothing published), saying why.
        """
        if name not in self.values:
            raise UnknownNameError("parameter", name, self.values, where=self.name)
        _check_level(level, self.name)
        known = self.uncertainty
        if known is not None:
            if name not in known.names:
                raise FitError(f"{self.name}: no interval for '{name}': its bounds fix it")
            return known.interval(name, level, self.name)
        stated = self.published.stderr if self.published else {}
        if name not in stated:
            raise FitError(f"{self.name}: no interval for '{name}': {self._why_not()}")
        from scipy import stats

        half = float(stats.norm.ppf(0.5 + level / 2)) * float(stated[name])
        return self.values[name] - half, self.values[name] + half

    def sample_parameters(self, generator: np.random.Generator, draws: int) -> dict[str, Array]:
        """Return joint draws of the parameters, (draws,) each: Student's t about the estimate.

        Raises
        ------
        FitError
            If a parameter is not known well enough to draw.
        """
        drawn = self._known("draws").draw(generator, draws)
        return {n: drawn[n] if n in drawn else np.full(draws, value) for n, value in self.values.items()}

    def scatter(self, level: Array, generator: np.random.Generator) -> Array:
        """Add the scatter of one observation to draws of the level."""
        if self.residual_scale is None:
            raise FitError(f"{self.name}: no scatter: {self._why_not()}")
        noise = self.residual_scale * generator.standard_normal(np.shape(level))
        return np.asarray(level * np.exp(noise) if self.log else level + noise)

    def extrapolation(self, **variables: Any) -> Array:
        """Return how far points lie outside the data, in decades of the variable that is furthest out; 0 inside.

        Variables that are not positive (a date, a score) do not count.
        """
        values = self._broadcast(variables)
        far = np.zeros(next(iter(values.values())).shape)
        for name, (low, high) in self.ranges.items():
            if low > 0:
                with np.errstate(all="ignore"):
                    beyond = np.maximum(np.log10(values[name] / high), np.log10(low / values[name]))
                far = np.fmax(far, np.where(np.isnan(beyond), np.inf, beyond))
        return far

    def predict(self, *, level: float = 0.9, **variables: Any) -> xr.Dataset:
        """Evaluate the law, with two bands: of the law itself, and of one observation.

        Parameters
        ----------
        level : float
            Of both bands.
        **variables : float, array or xarray.DataArray
            A value for every variable of the law; they broadcast.

        Returns
        -------
        xarray.Dataset
            ``median``, ``lower`` and ``upper`` (the law), ``observed_lower`` and ``observed_upper`` (an observation).
            Without uncertainty only ``median``, and the attribute ``no_interval`` says why. Under a log objective the
            bands are about the logarithm, and ``median`` is the median and not the mean. Attributes:
            ``extrapolation_decades`` and ``warnings``.
        """
        _check_level(level, self.name)
        values = self._broadcast(variables)
        shape = next(iter(values.values())).shape
        centre = self.law.value(self.values, **values)
        found = {"median": centre}
        attrs: dict[str, Any] = {"level": level, "fit": self.name}
        notes = list(self.warnings)
        try:
            found.update(self._bands(self._known("interval"), values, centre, level))
        except FitError as problem:
            attrs["no_interval"] = str(problem)
        if self.ranges:
            far = self.extrapolation(**variables)
            attrs["extrapolation_decades"] = float(far.max()) if far.size else 0.0
            if attrs["extrapolation_decades"] > FAR:
                notes.append(f"{self.name}: predicts {attrs['extrapolation_decades']:.1f} decades outside its data")
        if not np.isfinite(centre).all():
            notes.append(f"{self.name}: {int((~np.isfinite(centre)).sum())} of {centre.size} points cannot be computed")
        attrs["warnings"] = "\n".join(notes)
        dims, coords = self._labels(variables, values, shape)
        arrays = {
            n: xr.DataArray(np.reshape(v, shape), dims=dims, attrs={"unit": self.law.unit}) for n, v in found.items()
        }
        return xr.Dataset(arrays, coords=coords, attrs=attrs)

    def _bands(self, known: Uncertainty, values: Mapping[str, Array], centre: Array, level: float) -> dict[str, Array]:
        rows = self.law.jacobian(self.values, **values)
        keep = [list(self.values).index(name) for name in known.names]
        factors = np.where(known.logs, np.exp(np.where(known.logs, known.at, 0.0)), 1.0)
        slopes = np.array([np.broadcast_to(rows[i], centre.shape) * f for i, f in zip(keep, factors, strict=True)])
        with np.errstate(all="ignore"):
            if self.log:
                slopes = slopes / centre
            variance = np.einsum("i...,ij,j...->...", slopes, known.covariance, slopes)
            scale = self.residual_scale or 0.0
            q = known.quantile(0.5 + level / 2)
            found = {}
            for prefix, width in (("", np.sqrt(variance)), ("observed_", np.sqrt(variance + scale**2))):
                for side, sign in (("lower", -q), ("upper", q)):
                    moved = centre * np.exp(sign * width) if self.log else centre + sign * width
                    found[prefix + side] = moved
        return found

    def _broadcast(self, variables: Mapping[str, Any]) -> dict[str, Array]:
        for name in variables:
            if name not in self.law.variables:
                raise UnknownNameError("variable", name, self.law.variables, where=self.name)
        missing = [name for name in self.law.variables if name not in variables]
        if missing:
            raise UsageError(f"{self.name}: no value for the variable '{missing[0]}'")
        given = [variables[name] for name in self.law.variables]
        if any(isinstance(v, xr.DataArray) for v in given):
            given = list(xr.broadcast(*(xr.DataArray(v) if np.ndim(v) == 0 else v for v in given)))
        try:
            arrays = np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in given))
        except (TypeError, ValueError):
            raise DataError(f"{self.name}: {', '.join(self.law.variables)}: expected numbers that broadcast") from None
        return dict(zip(self.law.variables, arrays, strict=True))

    def _labels(
        self, variables: Mapping[str, Any], values: Mapping[str, Array], shape: tuple[int, ...]
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        labelled = [v for v in variables.values() if isinstance(v, xr.DataArray)]
        if labelled:
            together = xr.broadcast(*labelled)[0]
            dims = tuple(str(d) for d in together.dims)
            return dims, {str(k): v for k, v in together.coords.items() if k not in self.law.variables}
        dims = ("point",) if len(shape) == 1 else tuple(f"point_{i}" for i in range(len(shape)))
        return dims, {n: xr.DataArray(v, dims=dims, attrs={"unit": self.law.variables[n]}) for n, v in values.items()}

    def allocate(self, *, compute: float, cost: str = "6*N*D") -> xr.Dataset:
        """Return the split of a compute budget that gives the lowest output.

        Parameters
        ----------
        compute : float
            The budget, in the unit of `cost`.
        cost : str
            A formula over the law's two variables.

        Returns
        -------
        xarray.Dataset
            The two variables, the output, and ``tokens_per_parameter`` where the variables are N and D.

        Raises
        ------
        FitError
            If the output has no lowest point inside: the best is at an end, or nowhere.

        Examples
        --------
        >>> import forecast
        >>> fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
        >>> best = fit.allocate(compute=1e25, cost="6*N*D")
        >>> round(6e-25 * float(best.N * best.D), 9)
        1.0
        """
        from forecast.fit.allocate import allocate

        return allocate(self, compute=compute, cost=cost)

    def summary(self) -> str:
        """Return the fit as a page of text: the law, the verdict, the parameters and their intervals."""
        lines = [f"{self.name}: {self.law.output} = {self.law.expression or '(code)'}"]
        if self.published:
            lines.append(f"parameters published in {printable(self.published.reference, 300)}")
            if self.published.note:
                lines.append(f"note: {printable(self.published.note, 600)}")
        else:
            value = "" if self.objective is None else f" = {self.objective:.10g}"
            delta = "" if self.delta is None else f" (delta {self.delta:.4g})"
            lines.append(f"objective {self.objective_name}{delta}{value}; {self.n} points; {self.verdict}")
        rows = [("parameter", "value", "stderr", f"{self.level:.0%} interval")]
        for name, number in self.values.items():
            error = f"{float(self.stderr[name]):.4g}" if name in self.stderr else "-"
            try:
                span = "[{:.6g}, {:.6g}]".format(*self.interval(name, self.level))
            except FitError as problem:
                span = "none: " + str(problem).partition(f"'{name}': ")[2]
            rows.append((name, f"{number:.8g}", error, span))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines.append("")
        lines += ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[3]]) for row in rows]
        lines += ["", *(f"warning: {w}" for w in self.warnings)] if self.warnings else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"


def _check_level(level: float, where: str) -> None:
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise UsageError(f"{where}: level: expected a number between 0 and 1, got {printable(repr(level), 40)}")
