"""Arithmetic on what is still to be computed: a model or a quantity, with numbers and with each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forecast.api.quantity import Quantity, QuantityCondition

__all__ = ["Operators"]


class Operators:
    """What can be calculated with: every operation and function is a quantity, every comparison a condition.

    The work is done in `forecast.api.quantity_formulas`.
    """

    def under(self, fit: Any, variables: Mapping[str, Any]) -> Quantity:
        """Return a law with its parameters, of quantities: what ``fit(N=size, D=tokens)`` is."""
        from forecast.api.quantity import of_fit

        return of_fit(fit, variables)

    def at(self, year: float | Quantity) -> Quantity:
        """Return what it is at a date, a decimal year, in every world."""
        return _call_function("at", self, year)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Answer numpy: ``np.minimum(spend, budget)`` and ``np.float64(2)*spend`` are quantities."""
        from forecast.api.quantity_formulas import of_numpy

        return NotImplemented if method != "__call__" or options else of_numpy(ufunc.__name__, inputs)

    def __add__(self, other: Any) -> Quantity:
        return _operation("+", self, other)

    def __radd__(self, other: Any) -> Quantity:
        return _operation("+", other, self)

    def __sub__(self, other: Any) -> Quantity:
        return _operation("-", self, other)

    def __rsub__(self, other: Any) -> Quantity:
        return _operation("-", other, self)

    def __mul__(self, other: Any) -> Quantity:
        return _operation("*", self, other)

    def __rmul__(self, other: Any) -> Quantity:
        return _operation("*", other, self)

    def __truediv__(self, other: Any) -> Quantity:
        return _operation("/", self, other)

    def __rtruediv__(self, other: Any) -> Quantity:
        return _operation("/", other, self)

    def __pow__(self, other: Any) -> Quantity:
        return _operation("**", self, other)

    def __rpow__(self, other: Any) -> Quantity:
        return _operation("**", other, self)

    def __neg__(self) -> Quantity:
        return _operation("-", self)

    def __abs__(self) -> Quantity:
        return _call_function("abs", self)

    def __ge__(self, other: Any) -> QuantityCondition:
        return _comparison(self, ">=", other)

    def __gt__(self, other: Any) -> QuantityCondition:
        return _comparison(self, ">", other)

    def __le__(self, other: Any) -> QuantityCondition:
        return _comparison(self, "<=", other)

    def __lt__(self, other: Any) -> QuantityCondition:
        return _comparison(self, "<", other)


def _operation(op: str, *operands: Any) -> Quantity:
    from forecast.api.quantity_formulas import operation

    return operation(op, *operands)


def _call_function(word: str, *arguments: Any) -> Quantity:
    from forecast.api.quantity_formulas import call

    return call(word, *arguments)


def _comparison(left: Any, op: str, right: Any) -> QuantityCondition:
    from forecast.api.quantity_formulas import make_comparison

    return make_comparison(left, op, right)
