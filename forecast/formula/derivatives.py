"""Derivatives of a formula by the chain rule, as nodes of the graph that is compiled anyway.

Every node is differentiated once by every name, with what is already there: the derivative of ``u**v`` is ``u**v``
times something.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from forecast.base import budgets
from forecast.formula.expression_graph import ExpressionGraph
from forecast.formula.tree import Node

#: The derivative of each function of one argument, in its own grammar; that of a step is taken away from the step.
DERIVATIVE_RULES: Mapping[str, str] = {
    "abs": "sign(x)",
    "acos": "-1/sqrt(1 - x**2)",
    "asin": "1/sqrt(1 - x**2)",
    "atan": "1/(1 + x**2)",
    "cbrt": "1/(3*cbrt(x)**2)",
    "ceil": "0",
    "cos": "-sin(x)",
    "cosh": "sinh(x)",
    "erf": "2/sqrt(pi)*exp(-x**2)",
    "erfc": "-2/sqrt(pi)*exp(-x**2)",
    "exp": "exp(x)",
    "expm1": "exp(x)",
    "heaviside": "0",
    "log": "1/x",
    "log10": "1/(log(10)*x)",
    "log1p": "1/(1 + x)",
    "log2": "1/(log(2)*x)",
    "sign": "0",
    "sin": "cos(x)",
    "sinh": "cosh(x)",
    "sqrt": "1/(2*sqrt(x))",
    "tan": "1 + tan(x)**2",
    "tanh": "1 - tanh(x)**2",
}


@functools.cache
def _rule(function: str) -> Node:
    from forecast.formula import parse

    return parse(DERIVATIVE_RULES[function]).root


class Derivatives:
    """Derivatives of the nodes of a graph, as nodes of the same graph; each is taken once.

    Parameters
    ----------
    graph : ExpressionGraph
    """

    def __init__(self, graph: ExpressionGraph) -> None:
        self.graph = graph
        self.zero, self.one = graph.number(0.0), graph.number(1.0)
        self._known: dict[str, dict[int, int]] = {}

    def by(self, name: str, root: int) -> int:
        """Return the node of the derivative of a node by a name; `zero` where it is always zero.

        Raises
        ------
        FormulaError
            If the graph grows too large.
        """
        known = self._known.setdefault(name, {self.graph.names[name]: self.one})
        found, todo = set[int](), [root]
        while todo:
            at = todo.pop()
            if at not in found and at not in known:
                found.add(at)
                todo.extend(self.graph.nodes[at][1])
        for at in sorted(found):  # arguments stand before what is made of them
            budgets.check_time("differentiating a formula")
            if at in self.graph.powers:
                base, power = self.graph.powers[at]
                known[at] = self._of_power(at, base, self.graph.number(power), known[base], self.zero)
            else:
                known[at] = self._by(at, [known[a] for a in self.graph.nodes[at][1]])
        return known[root]

    def _times(self, *nodes: int) -> int:
        if self.zero in nodes:
            return self.zero
        return self.graph.product([(node, False) for node in nodes if node != self.one] or [(self.one, False)])

    def _over(self, above: int, below: int) -> int:
        return self.zero if above == self.zero else self.graph.product([(above, False), (below, True)])

    def _plus(self, *terms: tuple[int, bool]) -> int:
        left = [term for term in terms if term[0] != self.zero]
        return self.graph.sum(left) if left else self.zero

    def _by(self, at: int, inner: list[int]) -> int:
        """Apply the chain rule to one node, `inner` being the derivatives of its arguments."""
        graph, (op, args) = self.graph, self.graph.nodes[at]
        if all(each == self.zero for each in inner):
            return self.zero
        match op:
            case "+" | "-":
                return self._plus((inner[0], False), (inner[1], op == "-"))
            case "negative":
                return graph.minus(inner[0])
            case "*":
                return self._plus((self._times(inner[0], args[1]), False), (self._times(args[0], inner[1]), False))
            case "/":
                return self._over(self._plus((inner[0], False), (self._times(at, inner[1]), True)), args[1])
            case "reciprocal":
                return graph.minus(self._over(self._times(at, inner[0]), args[0]))
            case "square":
                return self._times(graph.number(2.0), args[0], inner[0])
            case "**":
                return self._of_power(at, *args, *inner)
            case "exp":
                return self._times(at, inner[0])
            case "max" | "min":
                ahead = graph.sum([(args[0], False), (args[1], True)])
                steps = [graph.call("heaviside", [each]) for each in (ahead, graph.minus(ahead))]
                pairs = zip(inner, steps if op == "max" else reversed(steps), strict=True)
                return self._plus(*((self._times(each, step), False) for each, step in pairs))
        return self._times(graph.tree(_rule(op), {"x": args[0]}), inner[0])

    def _of_power(self, at: int, base: int, exponent: int, of_base: int, of_exponent: int) -> int:
        if of_exponent == self.zero:
            less = self.graph.power(base, self.graph.sum([(exponent, False), (self.one, True)]))
            return self._times(exponent, less, of_base)
        parts = [(self._times(of_exponent, self.graph.call("log", [base])), False)]
        if of_base != self.zero:
            parts.append((self._over(self._times(exponent, of_base), base), False))
        return self._times(at, self._plus(*parts))
