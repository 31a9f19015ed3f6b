"""Programs: a law's value, gradient and Hessian over arrays, its common parts computed once.

Everything broadcasts: parameters usually come as columns (B, 1), variables as rows (n,) or as (B, n).
"""

from __future__ import annotations

import abc
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from forecast.base.arrays import Array
from forecast.errors import printable
from forecast.formula import Node, tree
from forecast.formula.derivatives import Derivatives
from forecast.formula.expression_graph import ExpressionGraph
from forecast.formula.tape import Tape

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
        arrays = {n: np.asarray(values[n], dtype=np.float64) for n in (*self.parameters, *self.variables)}
        shapes = {a.shape for a in arrays.values()}
        shape = next(iter(shapes)) if len(shapes) == 1 else np.broadcast_shapes(*shapes)
        with np.errstate(all="ignore"):
            value, gradient, hessian = self._evaluate(arrays, shape, order)
        if np.shape(value) != shape or not isinstance(value, np.ndarray):
            value = np.broadcast_to(value, shape)
        return value, gradient, hessian

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

    def __init__(self, root: Node, parameters: Sequence[str], variables: Sequence[str]) -> None:
        super().__init__(parameters, variables)
        self._root = root
        self._tapes: dict[tuple[int, tuple[bool, ...]], tuple[Tape, list[tuple[int, int]]]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Make copies from the formula, without what was compiled."""
        return type(self), (self._root, self.parameters, self.variables)

    def curved(self) -> frozenset[tuple[int, int]]:
        """Return the pairs (i, j), i <= j, of parameters whose second derivative is not always zero."""
        return frozenset(self._graph(2, ())[2])

    def _graph(
        self, order: int, positive: Collection[str]
    ) -> tuple[ExpressionGraph, list[int], dict[tuple[int, int], int]]:
        """Return the graph, the nodes of value and gradient, and those of the second derivatives that are not zero."""
        graph = ExpressionGraph(
            self.parameters, self.variables, positive, shown=printable(tree.to_text(self._root), 80)
        )
        results, second = [graph.tree(self._root)], {}
        if order:
            derivatives = Derivatives(graph)
            results += [derivatives.by(name, results[0]) for name in self.parameters]
            for i, j in itertools.combinations_with_replacement(range(len(self.parameters) if order > 1 else 0), 2):
                node = derivatives.by(self.parameters[j], results[1 + i])
                if node != derivatives.zero:
                    second[i, j] = node
        return graph, results, second

    def _tape(self, order: int, signs: tuple[bool, ...]) -> tuple[Tape, list[tuple[int, int]]]:
        key = (order, signs)
        if key not in self._tapes:
            positive = {n for n, yes in zip((*self.parameters, *self.variables), signs, strict=True) if yes}
            graph, results, second = self._graph(order, positive)
            self._tapes[key] = Tape(graph, [*results, *second.values()]), list(second)
        return self._tapes[key]

    def _evaluate(self, values: Mapping[str, Array], shape: tuple[int, ...], order: int) -> Found:
        signs = tuple(bool(np.count_nonzero(a > 0) == a.size) for a in values.values())
        tape, pairs = self._tape(order, signs)
        value, *rest = tape.run(values)
        k = len(self.parameters) if order else 0
        return value, rest[:k], dict(zip(pairs, rest[k:], strict=True))


#: Relative steps of differences: rounding error balances against what the formula leaves out.
GRADIENT_STEP, HESSIAN_STEP = 6e-6, 1.2e-4


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
            gradient.append(
                (moved(GRADIENT_STEP, (p, 1)) - moved(GRADIENT_STEP, (p, -1))) / (2 * step(p, GRADIENT_STEP))
            )
            for j in range(i, len(self.parameters) if order > 1 else i):
                q = self.parameters[j]
                if i == j:
                    bend = moved(HESSIAN_STEP, (p, 1)) - 2 * value + moved(HESSIAN_STEP, (p, -1))
                    hessian[i, j] = bend / step(p, HESSIAN_STEP) ** 2
                else:
                    same = moved(HESSIAN_STEP, (p, 1), (q, 1)) + moved(HESSIAN_STEP, (p, -1), (q, -1))
                    other = moved(HESSIAN_STEP, (p, 1), (q, -1)) + moved(HESSIAN_STEP, (p, -1), (q, 1))
                    hessian[i, j] = (same - other) / (4 * step(p, HESSIAN_STEP) * step(q, HESSIAN_STEP))
        return value, gradient, hessian
