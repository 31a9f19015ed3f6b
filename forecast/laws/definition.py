"""Laws: formulas with free parameters, their values, derivatives and LaTeX."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from forecast.base.arrays import Array
from forecast.base.other_words import OtherWords
from forecast.contract.specs import PublishedFit
from forecast.errors import FormulaError, UnknownNameError, UsageError, printable, shown_value
from forecast.formula import Formula, check_name, parse
from forecast.laws.compose import Composable, law_arguments, linear_parameters, other_arguments
from forecast.laws.forms import Code, Explicit, Form
from forecast.laws.requirements import meaningful, parse_requirements

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from forecast.fit.fit import Fit, Fits
    from forecast.fit.options import FitKeywords
    from forecast.fit.solver_options import SolverOptions
    from forecast.laws.program import Program


class Law(Composable, OtherWords):
    """A formula over variables and parameters.

    Parameters
    ----------
    expression : str
        The formula in the safe grammar. Names that are not variables are parameters, in order of appearance.
    variables : iterable of str, or mapping of str to str
        The variables; a mapping gives each its unit. Inside the formula a variable is the plain number in that unit.
    output : str
        Name of what the formula gives.
    unit : str
        Its unit.
    bounds : mapping of str to (float, float)
        Bounds of parameters; where both are one number the parameter is fixed.
    positive : iterable of str
        Shorthand for the bounds ``(0, inf)``.
    linear : iterable of str, optional
        The parameters in which, taken together, the law is linear. Default: found from the second derivatives.
    equals : str, optional
        Makes the law implicit: `expression` holds the output, and equals this formula, which does not. Between the
        two ends the left side must rise or fall throughout; where it does neither, or nowhere meets the right side,
        the value is nan.
    between : pair of str or float, optional
        What the output of an implicit law lies between: parameters, formulas of parameters, or numbers.
    requires : mapping of str to str, optional
        Formulas of its names that are above 0 where the law has a meaning, and what each is. Laws made of this one
        require the same.
    name : str, optional
        For messages and summaries; the full name of a catalogue law.
    objective : str
        The objective it is usually fitted with.
    published : iterable of PublishedFit
        Published parameters.
    title, reference : str
        For people.

    Raises
    ------
    FormulaError
        If a formula is outside the grammar; if a declared variable is not in it, or it has no parameter; if a
        parameter differs from a variable only in case, or the output is named like either.

    Examples
    --------
    >>> law = Law("E + A*N**-alpha", variables=["N"], positive=["A", "alpha"])
    >>> law.parameters, law.linear
    (('E', 'A', 'alpha'), ('E', 'A'))
    >>> float(law.value({"E": 1.0, "A": 8.0, "alpha": 0.5}, N=4.0))
    5.0
    >>> law.with_(E=2).expression
    '2 + A*N**-alpha'
    """

    def __init__(
        self,
        expression: str,
        *,
        variables: Iterable[str] | Mapping[str, str],
        output: str = "y",
        unit: str = "",
        bounds: Mapping[str, tuple[float, float]] | None = None,
        positive: Iterable[str] = (),
        linear: Iterable[str] | None = None,
        equals: str | None = None,
        between: Sequence[str | float] | None = None,
        requires: Mapping[str, str] | None = None,
        name: str | None = None,
        objective: str = "least_squares",
        published: Iterable[PublishedFit] = (),
        title: str = "",
        reference: str = "",
    ) -> None:
        self.name = name
        self._where = f"law '{printable(name, 80)}'" if name else "law"
        if equals is None:
            if between is not None:
                self._refuse("between: an explicit formula has no ends; give equals= for an implicit law")
            self._form: Form = Explicit(parse(expression, where=self._where))
            self._declare(variables, output, unit)
        else:
            from forecast.laws.implicit import parse_equation

            self._declare(variables, output, unit)
            own = tuple(self.variables)
            self._form = parse_equation(
                expression, equals, output=output, between=between, variables=own, where=self._where
            )
        self._finish(bounds, positive, linear, requires)
        self.objective, self.title, self.reference = objective, title, reference
        self.published_fits = tuple(published)

    @classmethod
    def _from_form(cls, form: Form, options: Mapping[str, Any]) -> Law:
        """Make a law of a form that was read before; `options` are those of the class."""
        result = cls.__new__(cls)
        result.name = options.get("name")
        result._where = f"law '{printable(result.name, 80)}'" if result.name else "law"
        result._declare(options["variables"], options["output"], options["unit"])
        result._form = form
        given = options.get("linear"), options.get("requires")
        result._finish(options.get("bounds"), options.get("positive", ()), *given)
        result.objective, result.published_fits = options["objective"], tuple(options.get("published", ()))
        result.title, result.reference = options.get("title", ""), options.get("reference", "")
        return result

    def _refuse(self, reason: str) -> None:
        raise FormulaError(f"{self._where}: {reason}")

    def _declare(self, variables: Iterable[str] | Mapping[str, str], output: str, unit: str) -> None:
        if isinstance(variables, str):
            self._refuse(f"variables: expected a list of names, got the text '{printable(variables, 60)}'")
        names = tuple(variables)
        found = dict(variables) if isinstance(variables, Mapping) else dict.fromkeys(names, "")
        if len(found) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            self._refuse(f"variables: '{printable(twice, 60)}' is given twice")
        if not found:
            self._refuse("has no variable")
        for name in found:
            check_name(name, where=f"{self._where}: variables")
        self.variables: Mapping[str, str] = MappingProxyType(found)
        self.output, self.unit = check_name(output, where=f"{self._where}: output"), unit
        given = {text for text in (*found.values(), unit) if text != ""}
        if given:
            from forecast import units

            for text in sorted(given, key=str):
                units.unit(text, where=self._where)

    def _finish(
        self,
        bounds: Mapping[str, tuple[float, float]] | None,
        positive: Iterable[str],
        linear: Iterable[str] | None,
        requires: Mapping[str, str] | None,
    ) -> None:
        names = self._form.names
        for variable in self.variables:
            if variable not in names:
                self._refuse(
                    f"the declared variable '{variable}' is not in '{printable(self.expression or self.text, 80)}'"
                )
        self.parameters = parameters = tuple(n for n in names if n not in self.variables)
        if not parameters:
            self._refuse("has no parameter left to fit: every name in it is a variable")
        folded = {v.lower(): v for v in self.variables}
        for name in parameters:
            if name.lower() in folded:
                self._refuse(f"the parameter '{name}' differs from the variable '{folded[name.lower()]}' only in case")
        if self.output in parameters or self.output in self.variables:
            self._refuse(f"the output '{self.output}' is also a name in the formula; give another with output=")
        self._positive = self._names("positive", positive)
        self._linear = None if linear is None else self._names("linear", linear)
        self.bounds = bounds_of(parameters, self._positive, bounds, self._where)
        self.requires = parse_requirements(requires, names, self._where)

    def _names(self, what: str, given: Iterable[str]) -> tuple[str, ...]:
        if isinstance(given, str):
            self._refuse(f"{what}: expected a list of names, got the text '{printable(given, 60)}'")
        found = tuple(given)
        for name in found:
            if name not in self.parameters:
                where = f"{self._where}: {'bounds' if what == 'positive' else what}"
                raise UnknownNameError("parameter", name, self.parameters, where=where)
        return found

    def __repr__(self) -> str:
        title = f"{self.name}: " if self.name else ""
        return f"<Law {title}{self.text}; variables {', '.join(self.variables)}>"

    def _repr_latex_(self) -> str | None:
        """Show the law as a formula in a notebook; as its line of text where it is code."""
        found = self._form.latex(self.output)
        return None if found is None else f"$\\displaystyle {found}$"

    def __reduce__(self) -> tuple[Any, ...]:
        """Make copies, and laws in other processes, from the law's text."""
        from forecast.laws.sendable import sent

        return sent(self)

    @property
    def text(self) -> str:
        """The law as one line for people: ``y = a*x``, or both sides of an implicit law."""
        return self._form.text(self.output)

    @property
    def formula(self) -> Formula:
        """The formula of the output, as a tree.

        Raises
        ------
        UsageError
            If the law is code, or implicit, and has no formula for its output.
        """
        if self._form.formula is None:
            kind = "is code" if isinstance(self._form, Code) else "has groups" if self.levels else "is implicit"
            raise UsageError(f"{self._where}: {kind} and has no text form that gives '{self.output}'")
        return self._form.formula

    @property
    def expression(self) -> str | None:
        """The formula of the output in canonical spelling; None where the law is code or implicit."""
        return None if self._form.formula is None else self._form.formula.text

    def latex(self) -> str:
        r"""Return the law in LaTeX: ``y = E + \frac{A}{N^{\alpha}}``."""
        found = self._form.latex(self.output)
        if found is None:
            raise UsageError(f"{self._where}: is code and has no text form")
        return found

    def record(self) -> dict[str, Any]:
        """Return the arguments that make this law again; ``Law(**law.record())`` is the same law.

        Raises
        ------
        UsageError
            If it is code.

        Examples
        --------
        >>> Law("a*x", variables=["x"], positive=["a"]).record()["bounds"]
        {'a': (0.0, inf)}
        """
        return {**law_arguments(self), **other_arguments(self)}

    # Values -----------------------------------------------------------------------------------------------------------

    def value(self, parameters: Mapping[str, Any], /, **variables: Any) -> Array:
        """Compute the law.

        Parameters
        ----------
        parameters : mapping of str to float or array
        **variables : float or array
            Everything broadcasts together. What overflows is inf; what has no real value, or lies where the law has no
            meaning (`requires`), is nan; nothing warns. `forecast.Fit.predict` says why.

        Returns
        -------
        numpy.ndarray
            float64, 0-d where all is scalar.
        """
        values, shape = _collect_arguments(self, parameters, variables)
        return meaningful(self.requires, values, self._form.value(values, shape))

    def jacobian(self, parameters: Mapping[str, Any], /, **variables: Any) -> Array:
        """Compute the derivatives with respect to the parameters, in the order of `parameters`.

        A law that is code is differentiated by central finite differences.

        Returns
        -------
        numpy.ndarray
            Shape (number of parameters, ...), the rest as `value`.
        """
        values, shape = _collect_arguments(self, parameters, variables)
        rows = np.empty((len(self.parameters), *shape))
        for i, slope in enumerate(self.program().evaluate(values, 1)[1]):
            rows[i] = slope
        return rows

    @functools.cached_property
    def _program(self) -> Program:
        return self._form.program(self.parameters, tuple(self.variables))

    def program(self) -> Program:
        """Return the program that computes value, gradient and Hessian over arrays, common parts once.

        Examples
        --------
        >>> value, gradient, hessian = Law("a*x**b", variables=["x"]).program().evaluate({"a": 2, "b": 1, "x": 3})
        >>> round(float(value), 3), [round(float(g), 3) for g in gradient], sorted(hessian)
        (6.0, [3.0, 6.592], [(0, 1), (1, 1)])
        """
        return self._program

    @functools.cached_property
    def linear(self) -> tuple[str, ...]:
        """The parameters in which, taken together, the law is linear."""
        return linear_parameters(self) if self._linear is None else self._linear

    # Fits -------------------------------------------------------------------------------------------------------------

    @overload
    def fit(self, data: Any, *, by: None = None, **keywords: Unpack[FitKeywords]) -> Fit: ...
    @overload
    def fit(self, data: Any, *, by: str, **keywords: Unpack[FitKeywords]) -> Fits: ...
    def fit(
        self,
        data: Any,
        *,
        objective: str | None = None,
        protocol: str | None = None,
        start: Mapping[str, float] | None = None,
        let: Mapping[str, str] | None = None,
        y: str | None = None,
        weights: Any = None,
        sigma: Any = None,
        sigma_x: Mapping[str, Any] | None = None,
        groups: Any = None,
        varying: Iterable[str] = (),
        options: Mapping[str, Any] | None = None,
        by: str | None = None,
        bootstrap: int | None = None,
        resample: str = "pairs",
        workers: int | Executor | None = None,
        progress: Callable[[float, float], None] | None = None,
        seed: int = 0,
        level: float = 0.9,
        solver: SolverOptions | None = None,
    ) -> Any:
        """Fit the law to observations.

        Parameters
        ----------
        data : xarray.Dataset, pandas or polars DataFrame, dict of arrays, path, or the name of a table
        objective : str, optional
            Default: the law's own.
        protocol : str, optional
            A published way of fitting this law (`forecast.protocol`); it says the objective and the starts, and drops
            no row.
        start : mapping of str to float, optional
            One start, instead of several.
        let : mapping of str to str, optional
            For a variable, a formula over the data's columns: ``{"N": "params_b*1e9"}``.
        y : str, optional
            The column, or formula over columns, that the law explains. Default: the law's output.
        weights, sigma, sigma_x, groups, varying, options, by, bootstrap, resample, workers, progress, seed, level,
        solver
            See `forecast.fit.options.FitRequest`.

        Returns
        -------
        forecast.Fit, or forecast.fit.fit.Fits with `over`

        Raises
        ------
        DataError, FitError, UsageError
            Naming the rows, the parameters or the option.

        Examples
        --------
        >>> x = [1.0, 2.0, 3.0, 4.0, 5.0]
        >>> fit = Law("a + b*x", variables=["x"]).fit({"x": x, "y": [1.1, 2.9, 5.2, 6.8, 9.1]})
        >>> round(float(fit.params["b"]), 3), fit.converged
        (1.99, True)
        """
        from forecast.fit import FitRequest, fit_law

        request = FitRequest(
            objective=objective, protocol=protocol, start=start, let=let, y=y, weights=weights, sigma=sigma,
            sigma_x=sigma_x, groups=groups, varying=varying, options=options, by=by, bootstrap=bootstrap,
            resample=resample, workers=workers, progress=progress, seed=seed, level=level, solver=solver,
        )  # fmt: skip
        return fit_law(self, data, request)

    def published(self, name: str) -> Fit:
        """Return published parameters as a fit: no data needed.

        Raises
        ------
        UnknownNameError
            If there are none of that name.
        """
        for found in self.published_fits:
            if found.name == name:
                from forecast.fit import published_fit

                return published_fit(self, found)
        known: Sequence[str] = [p.name for p in self.published_fits]
        raise UnknownNameError("published fit", name, known, where=self._where)


def _collect_arguments(
    law: Law, parameters: Mapping[str, Any], variables: Mapping[str, Any]
) -> tuple[dict[str, Array], tuple[int, ...]]:
    """Return everything a law needs as float64 arrays, and the shape they broadcast to."""
    for name in variables:
        if name not in law.variables:
            raise UnknownNameError("variable", name, law.variables, where=law._where)
    found = {}
    for kind, names, given in (
        ("parameter", law.parameters, parameters),
        ("variable", tuple(law.variables), variables),
    ):
        for name in names:
            if name not in given:
                raise UsageError(f"{law._where}: no value for the {kind} '{name}'")
            value = law._coded(name, given[name])
            try:
                found[name] = np.asarray(value, dtype=np.float64)
            except (TypeError, ValueError):
                got = type(given[name]).__name__
                raise UsageError(f"{law._where}: {kind} '{name}': expected numbers, got {got}") from None
    try:
        return found, np.broadcast_shapes(*(v.shape for v in found.values()))
    except ValueError:
        shapes = ", ".join(f"{n} {v.shape}" for n, v in found.items() if v.ndim)
        raise UsageError(f"{law._where}: shapes do not broadcast: {shapes}") from None


def bounds_of(
    parameters: Iterable[str], positive: Iterable[str], bounds: Mapping[str, tuple[float, float]] | None, where: str
) -> Mapping[str, tuple[float, float]]:
    """Return the bounds of every parameter; what is stated in `bounds` comes before `positive`.

    Raises
    ------
    UnknownNameError, FormulaError

    Examples
    --------
    >>> dict(bounds_of(["a", "b"], ["b"], {"a": (0, 1)}, "law"))
    {'a': (0.0, 1.0), 'b': (0.0, inf)}
    """
    if not isinstance(bounds or {}, Mapping):
        raise FormulaError(
            f"{where}: bounds: expected a mapping of parameter to (low, high), got {shown_value(bounds)}"
        )
    found = dict.fromkeys(parameters, (-math.inf, math.inf))
    for name, pair in {**dict.fromkeys(positive, (0.0, math.inf)), **(bounds or {})}.items():
        if name not in found:
            raise UnknownNameError("parameter", name, list(found), where=f"{where}: bounds")
        try:
            if isinstance(pair, str):
                raise TypeError
            low, high = map(float, pair)
        except (TypeError, ValueError):
            raise FormulaError(f"{where}: bounds of '{name}': expected (low, high), got {shown_value(pair)}") from None
        if not low <= high or low == math.inf or high == -math.inf:
            raise FormulaError(f"{where}: bounds of '{name}': expected low <= high, got ({low:g}, {high:g})")
        found[name] = (low, high)
    return MappingProxyType(found)
