"""What a law computes: a formula, an equation to be solved for the output, or code."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from forecast.base.arrays import Array
from forecast.contract.plugin_calls import call_guarded
from forecast.errors import PluginContractError
from forecast.formula import Formula, parse
from forecast.formula.tree import latex_name
from forecast.laws.program import DifferenceProgram, FormulaProgram, Program


class Form(abc.ABC):
    """What a law computes; every other part of a law is about names and bounds."""

    #: The names in it, in order of appearance; not the output.
    names: tuple[str, ...]

    @property
    def formula(self) -> Formula | None:
        """The formula that gives the output, if there is one."""
        return None

    @abc.abstractmethod
    def text(self, output: str) -> str:
        """Return it as one line for people."""

    @abc.abstractmethod
    def latex(self, output: str) -> str | None:
        """Return it in LaTeX; None for code."""

    @abc.abstractmethod
    def value(self, values: Mapping[str, Any], shape: tuple[int, ...]) -> Array:
        """Compute it over float64 arrays that broadcast to `shape`."""

    @abc.abstractmethod
    def program(self, parameters: tuple[str, ...], variables: tuple[str, ...]) -> Program:
        """Return the program of value and derivatives."""

    @abc.abstractmethod
    def replaced(self, changes: Mapping[str, Formula]) -> Form:
        """Return it with names replaced by numbers or by other names."""


class Explicit(Form):
    """The output is a formula of variables and parameters."""

    def __init__(self, formula: Formula) -> None:
        self._formula, self.names = formula, formula.names

    @property
    def formula(self) -> Formula:
        """The formula."""
        return self._formula

    def text(self, output: str) -> str:
        """Return ``y = a*x``."""
        return f"{output} = {self._formula.text}"

    def latex(self, output: str) -> str:
        """Return it in LaTeX."""
        return f"{latex_name(output)} = {self._formula.latex()}"

    def value(self, values: Mapping[str, Any], shape: tuple[int, ...]) -> Array:
        """Compute the formula."""
        return np.array(np.broadcast_to(self._formula.evaluate(values), shape), dtype=np.float64)

    def program(self, parameters: tuple[str, ...], variables: tuple[str, ...]) -> Program:
        """Return the compiled formula."""
        return FormulaProgram(self._formula.root, parameters, variables)

    def replaced(self, changes: Mapping[str, Formula]) -> Explicit:
        """Return the changed formula, read anew."""
        return Explicit(replace_names(self._formula, changes))


class Code(Form):
    """The output comes from a function of a plugin: ``f(parameters, **variables)``."""

    def __init__(self, code: Callable[..., Any], parameters: tuple[str, ...], variables: tuple[str, ...], where: str):
        self._code, self._parameters, self._variables, self._where = code, parameters, variables, where
        self.names = (*parameters, *variables)

    def text(self, output: str) -> str:
        """Return that it is code."""
        return f"{output} = (code)"

    def latex(self, output: str) -> None:
        """Code has no LaTeX."""
        return

    def value(self, values: Mapping[str, Any], shape: tuple[int, ...]) -> Array:
        """Call the code."""
        own = {n: _read_only_view(values[n]) for n in self._parameters}
        variables = {n: _read_only_view(values[n]) for n in self._variables}

        def call() -> Array:
            with np.errstate(all="ignore"):
                found = np.asarray(self._code(own, **variables))
            if found.dtype.kind not in "fiu":  # a cast would drop an imaginary part in silence
                raise PluginContractError(f"{self._where}: its code returned {found.dtype}, expected real numbers")
            try:
                return np.array(np.broadcast_to(found, shape), dtype=np.float64)
            except ValueError:
                said = f"an array of shape {found.shape}, expected {shape}"
                raise PluginContractError(f"{self._where}: its code returned {said}") from None

        return call_guarded(f"{self._where}: its code", call)

    def program(self, parameters: tuple[str, ...], variables: tuple[str, ...]) -> Program:
        """Return a program with derivatives by differences."""
        return DifferenceProgram(self.value, parameters, variables)

    def replaced(self, changes: Mapping[str, Formula]) -> Code:
        """Return the code with some of its parameters computed from others."""
        code, names = self._code, self._parameters
        left = tuple(dict.fromkeys(m for n in names for m in (changes[n].names if n in changes else (n,))))

        def call(own: Mapping[str, Any], **variables: Any) -> Any:
            whole = {n: changes[n].evaluate(own) if n in changes else own[n] for n in names}
            return code(whole, **variables)

        return Code(call, left, self._variables, self._where)


def _read_only_view(value: Any) -> Any:
    """Return a view that cannot be written to: what the code is given stays what it was."""
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def replace_names(formula: Formula, changes: Mapping[str, Formula]) -> Formula:
    """Return a formula with names replaced, parsed again to check the limits of the grammar."""
    return parse(formula.substitute(changes).text)
