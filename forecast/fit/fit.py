"""A fit: parameters, what is known about them, and what follows from them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from forecast.base.arrays import Array
from forecast.base.lazy import xr
from forecast.base.operators import Operators
from forecast.errors import FitError, RoundedConstantsWarning, UncertaintyError, printable
from forecast.fit.any_fit import AnyFit
from forecast.fit.notes import notes_of_fit
from forecast.fit.problem.problem import law_label

if TYPE_CHECKING:
    from forecast.contract.specs import PublishedFit
    from forecast.fit.data.observations import Observations
    from forecast.fit.diagnostics.identifiability import Diagnostics
    from forecast.fit.inference.bootstrap_replicates import Replicates
    from forecast.fit.inference.uncertainty import Uncertainty
    from forecast.fit.solutions import Solutions
    from forecast.laws import Law

AnyQuantity = TypeVar("AnyQuantity", bound=Operators[Any])


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
