"""Operators for objects that build formulas, and what the rooms below `forecast.api` may ask of such an object."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, Generic, Self, TypeVar

Condition = TypeVar("Condition")


class Operators(abc.ABC, Generic[Condition]):
    """Base class of `forecast.Quantity`: every operation and function is one again, every comparison a `Condition`.

    A fit that is called with such objects, and a scenario whose record holds one, know them by this class alone.
    """

    @property
    @abc.abstractmethod
    def record(self) -> dict[str, Any]:
        """Its record in a scenario: TOML keys and values."""

    @property
    @abc.abstractmethod
    def is_model(self) -> bool:
        """Whether it is a model and nothing else: its record names or holds one."""

    @property
    @abc.abstractmethod
    def model(self) -> Any:
        """The `forecast.models.Model` that it is; an error if it is none."""

    @abc.abstractmethod
    def _under(self, fit: Any, variables: Mapping[str, Any]) -> Self:
        """Return the law of a fit at its parameters: ``fit(N=size, D=tokens)``."""

    @classmethod
    @abc.abstractmethod
    def _operation(cls, op: str, *operands: Any) -> Self:
        """Return ``+ - * / **`` of two operands, or the minus sign of one."""

    @classmethod
    @abc.abstractmethod
    def _call(cls, function: str, *arguments: Any) -> Self:
        """Return a function of the language."""

    @classmethod
    @abc.abstractmethod
    def _comparison(cls, left: Any, op: str, right: Any) -> Condition:
        """Return ``>= > <= <`` of two sides."""

    def at(self, year: float | Self) -> Self:
        """Return its value at a date, a decimal year, in every world."""
        return self._call("at", self, year)

    def __add__(self, other: Any) -> Self:
        return self._operation("+", self, other)

    def __radd__(self, other: Any) -> Self:
        return self._operation("+", other, self)

    def __sub__(self, other: Any) -> Self:
        return self._operation("-", self, other)

    def __rsub__(self, other: Any) -> Self:
        return self._operation("-", other, self)

    def __mul__(self, other: Any) -> Self:
        return self._operation("*", self, other)

    def __rmul__(self, other: Any) -> Self:
        return self._operation("*", other, self)

    def __truediv__(self, other: Any) -> Self:
        return self._operation("/", self, other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._operation("/", other, self)

    def __pow__(self, other: Any) -> Self:
        return self._operation("**", self, other)

    def __rpow__(self, other: Any) -> Self:
        return self._operation("**", other, self)

    def __neg__(self) -> Self:
        return self._operation("-", self)

    def __abs__(self) -> Self:
        return self._call("abs", self)

    def __ge__(self, other: Any) -> Condition:
        return self._comparison(self, ">=", other)

    def __gt__(self, other: Any) -> Condition:
        return self._comparison(self, ">", other)

    def __le__(self, other: Any) -> Condition:
        return self._comparison(self, "<=", other)

    def __lt__(self, other: Any) -> Condition:
        return self._comparison(self, "<", other)
