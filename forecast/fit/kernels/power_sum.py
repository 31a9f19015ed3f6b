"""Terms that are exponentials of something affine in a parameter, read off a formula."""

from __future__ import annotations

from typing import TypeAlias

from forecast.formula import tree
from forecast.formula.tree import Binary, Call, Name, Node, Number, Unary

__all__ = ["exponential"]

#: The parts of an affine function: a parameter (None: none) to what it is multiplied with, a tree over variables alone.
#: ``"log a"`` is the logarithm of the parameter ``a``; no parameter has a blank in its name.
Affine: TypeAlias = dict[str | None, Node]

ONE = Number(1.0)


def _join(left: Affine | None, right: Affine | None, op: str) -> Affine | None:
    if left is None or right is None:
        return None
    found = dict(left)
    for key, node in right.items():
        if key in found:
            found[key] = Binary(op, found[key], node)
        else:
            found[key] = node if op == "+" else Unary("-", node)
    return found


def _map_terms(part: Affine | None, by: Node, op: str = "*") -> Affine | None:
    return None if part is None else {key: Binary(op, node, by) for key, node in part.items()}


class _TermReader:
    """Reads terms off a tree; None stands for what is no power term."""

    def __init__(self, free: tuple[str, ...], positive: set[str]) -> None:
        self.free, self.positive = set(free), positive

    def known(self, node: Node) -> bool:
        return not any(isinstance(part, Name) and part.name in self.free for part in tree.walk(node))

    def logarithm(self, node: Node) -> Affine | None:
        """Return the logarithm of a product of powers."""
        if self.known(node):
            return {None: Call("log", (node,))}
        if isinstance(node, Name):
            return {f"log {node.name}": ONE} if node.name in self.positive else None
        if isinstance(node, Call):
            if node.function == "exp":
                return self.affine(node.args[0])
            return _map_terms(self.logarithm(node.args[0]), Number(0.5)) if node.function == "sqrt" else None
        if not isinstance(node, Binary):
            return None
        if node.op in "*/":
            return _join(self.logarithm(node.left), self.logarithm(node.right), "+" if node.op == "*" else "-")
        if node.op == "**":
            base, exponent = self.logarithm(node.left), self.affine(node.right)
            if base is None or exponent is None:
                return None
            if set(exponent) == {None}:
                return _map_terms(base, exponent[None])
            return _map_terms(exponent, base[None]) if set(base) == {None} else None
        return None

    def affine(self, node: Node) -> Affine | None:
        """Return an affine function of the parameters."""
        if self.known(node):
            return {None: node}
        if isinstance(node, Name):
            return {node.name: ONE}
        if isinstance(node, Unary):
            return _map_terms(self.affine(node.operand), Unary("-", ONE))
        if not isinstance(node, Binary):
            return None
        if node.op in "+-":
            return _join(self.affine(node.left), self.affine(node.right), node.op)
        if node.op == "*" and self.known(node.left):
            return _map_terms(self.affine(node.right), node.left)
        if node.op in "*/" and self.known(node.right):
            return _map_terms(self.affine(node.left), node.right, node.op)
        return None


def exponential(node: Node, name: str) -> tuple[Node, Node] | None:
    """Return rate and level of a formula that is exp(rate*parameter + level), else None."""
    found = _TermReader((name,), set()).logarithm(node)
    usual = found is not None and set(found) <= {None, name}
    return (found.get(name, Number(0.0)), found.get(None, Number(0.0))) if found and usual else None
