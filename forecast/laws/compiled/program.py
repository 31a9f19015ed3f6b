"""Programs: a law's value, gradient and Hessian over arrays, its common parts computed once.

Everything broadcasts: parameters usually come as columns (B, 1), variables as rows (n,) or as (B, n).
"""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from forecast.formula import Node
from forecast.formula.differentiate import Differentiated
from forecast.laws.compiled.expression_graph import Graph, assign
from forecast.laws.compiled.tape import Tape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ["FormulaProgram", "Program"]

#: Value, gradient (one entry a parameter) and Hessian ({(i, j): entry}, i <= j, without those that are always zero).
Found: TypeAlias = "tuple[Array, list[Any], dict[tuple[int, int], Any]]"


class Program(abc.ABC):
    """Value and derivatives of a law.

    Parameters
    ----------
    parameters : sequence of str
        In the order of the gradient.
    variables : sequence of str
    """

    def __init__(self, parameters: Sequence[str], variables: Sequence[str]) -> None:
        self.parameters, self.variables = tuple(parameters), tuple(variables)

    def evaluate(self, values: Mapping[str, Any], order: int = 2) -> Found:
        """Compute the value, and the derivatives up to an order.

        Parameters
        ----------
        values : mapping of str to float or array
            Every parameter and variable; they broadcast together, to the full shape.
        order : {0, 1, 2}
            0: the value; 1: and the gradient; 2: and the Hessian.

        Returns
        -------
        value : numpy.ndarray
            Of the full shape.
        gradient : list
            One entry a parameter, in the order of `parameters`; empty for order 0. An entry is a number or an array
            that broadcasts to the full shape: 0.0 where the derivative is always zero, 1.0 for an added constant.
        hessian : dict of (int, int) to number or array
            For i <= j; pairs whose derivative is always zero are absent.

        Notes
        -----
        Results are for reading: one array may stand in several places, and may be one that was passed in.
        What overflows is inf, what has no real value is nan; nothing warns.
        """
        import numpy as np

        arrays = {n: np.asarray(values[n], dtype=np.float64) for n in (*self.parameters, *self.variables)}
        shape = np.broadcast_shapes(*(a.shape for a in arrays.values()))
        with np.errstate(all="ignore"):
            value, gradient, hessian = self._evaluate(arrays, shape, order)
        if np.shape(value) != shape or not isinstance(value, np.ndarray):
            value = np.broadcast_to(value, shape)
        return value, gradient, hessian

    def curved(self) -> frozenset[tuple[int, int]]:
        """Return the pairs (i, j), i <= j, of parameters whose second derivative is not always zero."""
        k = len(self.parameters)
        return frozenset((i, j) for i in range(k) for j in range(i, k))

    @abc.abstractmethod
    def _evaluate(self, values: Mapping[str, Array], shape: tuple[int, ...], order: int) -> Found: ...


class FormulaProgram(Program):
    """The program of a formula: compiled for the signs of the values it meets, so that powers of positive numbers share
    their logarithms.

    Parameters
    ----------
    root : Node
    parameters, variables : sequence of str
    """

    def __init__(
        self,
        root: Node,
        parameters: Sequence[str],
        variables: Sequence[str],
    ) -> None:
        super().__init__(parameters, variables)
        self._root = root
        self._tapes: dict[tuple[int, tuple[bool, ...]], tuple[Tape, list[tuple[int, int]]]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Make copies from the formula, without what was compiled."""
        return type(self), (self._root, self.parameters, self.variables)

    @functools.cached_property
    def _differentiated(self) -> Differentiated:
        """The derivatives, taken when they are first needed."""
        return Differentiated(self._root, self.parameters)

    def curved(self) -> frozenset[tuple[int, int]]:
        """Return the pairs of parameters that have a second derivative."""
        return self._differentiated.curved()

    def _tape(self, order: int, signs: tuple[bool, ...]) -> tuple[Tape, list[tuple[int, int]]]:
        key = (order, signs)
        if key not in self._tapes:
            positive = {n for n, yes in zip((*self.parameters, *self.variables), signs, strict=True) if yes}
            graph = Graph(self.parameters, self.variables, positive)
            results, pairs = [graph.tree(self._root)], []
            if order:
                found = self._differentiated.derivatives(order, positive)
                assign(graph, found.shared)
                results += [graph.tree(node) for node in found.gradient]
                if order > 1:
                    results += [graph.tree(node) for _, _, node in found.hessian]
                    pairs = [(i, j) for i, j, _ in found.hessian]
            self._tapes[key] = Tape(graph, results), pairs
        return self._tapes[key]

    def _evaluate(self, values: Mapping[str, Array], shape: tuple[int, ...], order: int) -> Found:
        signs = tuple(bool((a > 0).all()) for a in values.values())
        tape, pairs = self._tape(order, signs)
        value, *rest = tape.run(values, shape)
        k = len(self.parameters) if order else 0
        return value, rest[:k], dict(zip(pairs, rest[k:], strict=True))


#: Relative steps of differences: rounding error balances against what the formula leaves out.
FIRST, SECOND = 6e-6, 1.2e-4


class DifferenceProgram(Program):
    """The program of a law that is code: its derivatives are central differences.

    Parameters
    ----------
    compute : callable
        ``compute(values, shape)`` gives the value as an array of that shape.
    parameters, variables : sequence of str
    """

    def __init__(
        self,
        compute: Callable[[Mapping[str, Any], tuple[int, ...]], Array],
        parameters: Sequence[str],
        variables: Sequence[str],
    ) -> None:
        super().__init__(parameters, variables)
        self._compute = compute

    def _evaluate(self, values: Mapping[str, Array], shape: tuple[int, ...], order: int) -> Found:
        import numpy as np

        value = self._compute(values, shape)
        gradient: list[Any] = []
        hessian: dict[tuple[int, int], Any] = {}

        def moved(relative: float, *moves: tuple[str, int]) -> Array:
            changed = dict(values)
            for name, sign in moves:
                here = changed[name]
                changed[name] = here + sign * relative * np.where(values[name] == 0, 1.0, np.abs(values[name]))
            return self._compute(changed, shape)

        def step(name: str, relative: float) -> Array:
            here = values[name]
            size = relative * np.where(here == 0, 1.0, np.abs(here))
            return np.asarray(((here + size) - (here - size)) / 2)  # as it was rounded

        for i, p in enumerate(self.parameters if order else ()):
            gradient.append((moved(FIRST, (p, 1)) - moved(FIRST, (p, -1))) / (2 * step(p, FIRST)))
            for j in range(i, len(self.parameters) if order > 1 else i):
                q = self.parameters[j]
                if i == j:
                    bend = moved(SECOND, (p, 1)) - 2 * value + moved(SECOND, (p, -1))
                    hessian[i, j] = bend / step(p, SECOND) ** 2
                else:
                    same = moved(SECOND, (p, 1), (q, 1)) + moved(SECOND, (p, -1), (q, -1))
                    other = moved(SECOND, (p, 1), (q, -1)) + moved(SECOND, (p, -1), (q, 1))
                    hessian[i, j] = (same - other) / (4 * step(p, SECOND) * step(q, SECOND))
        return value, gradient, hessian
