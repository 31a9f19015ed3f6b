"""Laws: formulas with free parameters, their values, Jacobians and LaTeX.

Derivatives are taken by sympy once per law, share their common parts, and come back as trees of the safe grammar that
numpy walks: no code is generated, cached or executed.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from forecast.errors import FormulaError, PluginError, UnknownNameError, UsageError, printable
from forecast.formula import Formula, Node, check_name, parse, tree
from forecast.specs import LawSpec, PublishedFit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.fit.result import Fit

__all__ = ["Law", "law"]

#: Relative step of finite differences: the cube root of the rounding error balances it against the curvature.
STEP = 6e-6


class Law:
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
        Bounds of parameters.
    positive : iterable of str
        Shorthand for the bounds ``(0, inf)``.
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
        If the formula is outside the grammar; if a declared variable is not in it, or it has no parameter; if a
        parameter differs from a variable only in case, or the output is named like either.

    Examples
    --------
    >>> law = Law("E + A*N**-alpha", variables=["N"], positive=["A", "alpha"])
    >>> law.parameters
    ('E', 'A', 'alpha')
    >>> float(law.value({"E": 1.0, "A": 8.0, "alpha": 0.5}, N=4.0))
    5.0
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
        name: str | None = None,
        objective: str = "least_squares",
        published: Iterable[PublishedFit] = (),
        title: str = "",
        reference: str = "",
    ) -> None:
        self.name = name
        self._where = f"law '{printable(name, 80)}'" if name else "law"
        formula = parse(expression, where=self._where)
        self._declare(variables, output, unit)
        for variable in self.variables:
            if variable not in formula.names:
                self._refuse(f"the declared variable '{variable}' is not in '{printable(formula.text, 80)}'")
        self._formula: Formula | None = formula
        self._code: Callable[..., Any] | None = None
        self._finish(tuple(n for n in formula.names if n not in self.variables), bounds, positive)
        self.objective, self.title, self.reference = objective, title, reference
        self.published_fits = tuple(published)

    @classmethod
    def _from_code(cls, code: Callable[..., Any], spec: LawSpec, full_name: str) -> Law:
        """Make a law without a text form; its parameters are those of the record's example."""
        made = cls.__new__(cls)
        made.name, made._where = full_name, f"law '{full_name}'"
        made._declare(spec.variables, spec.output, spec.unit)
        made._formula, made._code = None, code
        made._finish(tuple(check_name(n, where=made._where) for n in spec.example), spec.bounds, spec.positive)
        made.objective, made.title, made.reference = spec.objective, spec.title, spec.reference
        made.published_fits = spec.published
        return made

    def _refuse(self, reason: str) -> None:
        raise FormulaError(f"{self._where}: {reason}")

    def _declare(self, variables: Iterable[str] | Mapping[str, str], output: str, unit: str) -> None:
        if isinstance(variables, str):
            self._refuse(f"variables: expected a list of names, got the text '{printable(variables, 60)}'")
        found = dict(variables) if isinstance(variables, Mapping) else dict.fromkeys(variables, "")
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
        parameters: tuple[str, ...],
        bounds: Mapping[str, tuple[float, float]] | None,
        positive: Iterable[str],
    ) -> None:
        self.parameters = parameters
        if not parameters:
            self._refuse("has no parameter left to fit: every name in it is a variable")
        folded = {v.lower(): v for v in self.variables}
        for name in parameters:
            if name.lower() in folded:
                self._refuse(f"the parameter '{name}' differs from the variable '{folded[name.lower()]}' only in case")
        if self.output in parameters or self.output in self.variables:
            self._refuse(f"the output '{self.output}' is also a name in the formula; give another with output=")
        if isinstance(positive, str):
            self._refuse(f"positive: expected a list of names, got the text '{printable(positive, 60)}'")
        limits = dict.fromkeys(parameters, (-math.inf, math.inf))
        for name, pair in {**dict.fromkeys(positive, (0.0, math.inf)), **(bounds or {})}.items():
            if name not in limits:
                raise UnknownNameError("parameter", name, parameters, where=f"{self._where}: bounds")
            low, high = map(float, pair)
            if not low < high:
                self._refuse(f"bounds of '{name}': expected low < high, got ({low:g}, {high:g})")
            limits[name] = (low, high)
        self.bounds: Mapping[str, tuple[float, float]] = MappingProxyType(limits)

    def __repr__(self) -> str:
        text = self.expression if self.expression is not None else "(code)"
        title = f"{self.name}: " if self.name else ""
        return f"<Law {title}{self.output} = {text}; variables {', '.join(self.variables)}>"

    @property
    def formula(self) -> Formula:
        """The formula as a tree.

        Raises
        ------
        UsageError
            If the law is code and has no text form.
        """
        if self._formula is None:
            raise UsageError(f"{self._where}: is code and has no text form")
        return self._formula

    @property
    def expression(self) -> str | None:
        """The formula in canonical spelling; None where the law has no text form."""
        return None if self._formula is None else self._formula.text

    def latex(self) -> str:
        r"""Return the law in LaTeX: ``y = E + \frac{A}{N^{\alpha}}``."""
        return f"{tree.latex_name(self.output)} = {self.formula.latex()}"

    def _values(self, parameters: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
        """Collect what the law needs as float64 arrays, or say what is missing."""
        import numpy as np

        for name in variables:
            if name not in self.variables:
                raise UnknownNameError("variable", name, self.variables, where=self._where)
        found = {}
        for kind, names, given in (
            ("parameter", self.parameters, parameters),
            ("variable", tuple(self.variables), variables),
        ):
            for name in names:
                if name not in given:
                    raise UsageError(f"{self._where}: no value for the {kind} '{name}'")
                try:
                    found[name] = np.asarray(given[name], dtype=np.float64)
                except (TypeError, ValueError):
                    got = type(given[name]).__name__
                    raise UsageError(f"{self._where}: {kind} '{name}': expected numbers, got {got}") from None
        return found

    def _shape(self, values: Mapping[str, NDArray[np.float64]]) -> tuple[int, ...]:
        import numpy as np

        try:
            return np.broadcast_shapes(*(v.shape for v in values.values()))
        except ValueError:
            shapes = ", ".join(f"{n} {v.shape}" for n, v in values.items() if v.ndim)
            raise UsageError(f"{self._where}: shapes do not broadcast: {shapes}") from None

    def value(self, parameters: Mapping[str, Any], /, **variables: Any) -> NDArray[np.float64]:
        """Compute the law.

        Parameters
        ----------
        parameters : mapping of str to float or array
        **variables : float or array
            Everything broadcasts together. What overflows is inf, what has no real value is nan; nothing warns.

        Returns
        -------
        numpy.ndarray
            float64, 0-d where all is scalar.
        """
        values = self._values(parameters, variables)
        return self._compute(values, self._shape(values))

    def _compute(self, values: Mapping[str, Any], shape: tuple[int, ...]) -> NDArray[np.float64]:
        import numpy as np

        if self._formula is not None:
            return np.array(np.broadcast_to(self._formula.evaluate(values), shape), dtype=np.float64)
        assert self._code is not None
        own = {n: values[n] for n in self.parameters}
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(self._code(own, **{n: values[n] for n in self.variables}))
            if found.dtype.kind not in "fiu":  # a cast would drop an imaginary part in silence
                raise TypeError(f"expected real numbers, got {found.dtype}")
            return np.array(np.broadcast_to(found, shape), dtype=np.float64)
        except Exception as error:  # a plugin's code may raise anything
            raise PluginError(f"{self._where}: its code failed: {type(error).__name__}: {printable(error)}") from error

    @functools.cached_property
    def _slopes(self) -> tuple[list[tuple[str, Node]], list[Node]]:
        from forecast.formula.symbolic import derivatives

        return derivatives(self.formula.root, self.parameters)

    def jacobian(self, parameters: Mapping[str, Any], /, **variables: Any) -> NDArray[np.float64]:
        """Compute the derivatives with respect to the parameters, in the order of `parameters`.

        A law without a text form is differentiated by central finite differences.

        Returns
        -------
        numpy.ndarray
            Shape (number of parameters, ...), the rest as `value`.
        """
        import numpy as np

        values: dict[str, Any] = dict(self._values(parameters, variables))
        shape = self._shape(values)
        if self._formula is None:
            return self._differences(values, shape)
        shared, slopes = self._slopes
        for name, node in shared:
            values[name] = tree.evaluate(node, values)
        rows = np.empty((len(slopes), *shape))
        for row, node in zip(rows, slopes, strict=True) if shape else ():
            row[...] = tree.evaluate(node, values)
        if not shape:
            rows[:] = [float(tree.evaluate(node, values)) for node in slopes]
        return rows

    def _differences(self, values: Mapping[str, Any], shape: tuple[int, ...]) -> NDArray[np.float64]:
        import numpy as np

        rows = []
        for name in self.parameters:
            here = values[name]
            step = STEP * np.where(here == 0, 1.0, np.abs(here))
            ahead, behind = here + step, here - step
            change = self._compute({**values, name: ahead}, shape) - self._compute({**values, name: behind}, shape)
            rows.append(change / (ahead - behind))
        return np.array(rows)

    def fit(
        self,
        data: Any,
        *,
        objective: str | None = None,
        start: Mapping[str, float] | None = None,
        let: Mapping[str, str] | None = None,
        y: str | None = None,
        weights: Any = None,
        sigma: Any = None,
        seed: int = 0,
        level: float = 0.95,
    ) -> Fit:
        """Fit the law to observations; see `forecast.fit.fit_law`.

        Parameters
        ----------
        data : xarray.Dataset, pandas or polars DataFrame, dict of arrays, path, or the name of a table
        objective : str, optional
            Default: the law's own.
        start : mapping of str to float, optional
            One start, instead of several.
        let : mapping of str to str, optional
            For a variable, a formula over the data's columns: ``{"N": "params_b*1e9"}``.
        y : str, optional
            The column, or formula over columns, that the law explains. Default: the law's output.
        weights, sigma : array or column name, optional
        seed : int
        level : float
            Of the intervals in the summary.

        Returns
        -------
        forecast.Fit
        """
        from forecast.fit import fit_law

        options = {"weights": weights, "sigma": sigma, "seed": seed, "level": level}
        return fit_law(self, data, objective=objective, start=start, let=let, y=y, **options)

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


_made: dict[int, tuple[LawSpec, Law]] = {}


def law(name: str | Law, *, where: str = "") -> Law:
    """Return a law of the catalogue by its name, full (``scaling/power``) or bare while unique.

    Raises
    ------
    UnknownNameError, AmbiguousNameError, ConflictError

    Examples
    --------
    >>> import forecast
    >>> forecast.law("scaling/chinchilla").parameters
    ('E', 'A', 'alpha', 'B', 'beta')
    """
    if isinstance(name, Law):
        return name
    from forecast.registry import get_registry, resolve

    record = get_registry().find("law", name, where=where)
    spec = record.spec
    assert isinstance(spec, LawSpec)
    # one law per record, so that its derivatives are taken once; the record is kept, so its id stays its own
    if id(spec) not in _made:
        if spec.expression is None:
            assert spec.target is not None
            code = resolve(spec.target, what=f"law {record.full_name}")
            made = Law._from_code(code, spec, record.full_name)
        else:
            made = Law(
                spec.expression,
                variables=spec.variables,
                output=spec.output,
                unit=spec.unit,
                bounds=spec.bounds,
                positive=spec.positive,
                name=record.full_name,
                objective=spec.objective,
                published=spec.published,
                title=spec.title,
                reference=spec.reference,
            )
        _made[id(spec)] = (spec, made)
    return _made[id(spec)][1]
