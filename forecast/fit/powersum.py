"""Sums of positive power terms as log-sum-exp of affine functions: the fast route.

Each term of a law such as ``E + A*N**-alpha + B*D**-beta`` is exp(s) with s affine in the logarithms of coefficients
and in exponents. Derivatives of the sum, or of its logarithm, are then products of the terms' shares with tables that
depend on the points alone: a gradient and a Hessian for many fits are a few small matrix products.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from forecast.fit.kernel import State, to_logs
from forecast.formula import tree
from forecast.formula.tree import Binary, Call, Name, Node, Number, Unary

if TYPE_CHECKING:
    from forecast.laws import Law

__all__ = ["PowerSum", "power_terms"]

Array: TypeAlias = NDArray[np.float64]
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


def _scaled(part: Affine | None, by: Node, op: str = "*") -> Affine | None:
    return None if part is None else {key: Binary(op, node, by) for key, node in part.items()}


class _Reader:
    """Reads terms off a tree; None stands for what is no power term."""

    def __init__(self, free: tuple[str, ...], positive: set[str]) -> None:
        self.free, self.positive = set(free), positive

    def known(self, node: Node) -> bool:
        return not any(isinstance(part, Name) and part.name in self.free for part in tree.walk(node))

    def terms(self, node: Node) -> list[Affine] | None:
        if isinstance(node, Binary) and node.op == "+":
            left, right = self.terms(node.left), self.terms(node.right)
            return None if left is None or right is None else left + right
        found = self.logarithm(node)
        return None if found is None else [found]

    def logarithm(self, node: Node) -> Affine | None:
        """Return the logarithm of a product of powers."""
        if self.known(node):
            return {None: Call("log", (node,))}
        if isinstance(node, Name):
            return {f"log {node.name}": ONE} if node.name in self.positive else None
        if isinstance(node, Call):
            if node.function == "exp":
                return self.affine(node.args[0])
            return _scaled(self.logarithm(node.args[0]), Number(0.5)) if node.function == "sqrt" else None
        if not isinstance(node, Binary):
            return None
        if node.op in "*/":
            return _join(self.logarithm(node.left), self.logarithm(node.right), "+" if node.op == "*" else "-")
        if node.op == "**":
            base, exponent = self.logarithm(node.left), self.affine(node.right)
            if base is None or exponent is None:
                return None
            if set(exponent) == {None}:
                return _scaled(base, exponent[None])
            return _scaled(exponent, base[None]) if set(base) == {None} else None
        return None

    def affine(self, node: Node) -> Affine | None:
        """Return an affine function of the parameters."""
        if self.known(node):
            return {None: node}
        if isinstance(node, Name):
            return {node.name: ONE}
        if isinstance(node, Unary):
            return _scaled(self.affine(node.operand), Unary("-", ONE))
        if not isinstance(node, Binary):
            return None
        if node.op in "+-":
            return _join(self.affine(node.left), self.affine(node.right), node.op)
        if node.op == "*" and self.known(node.left):
            return _scaled(self.affine(node.right), node.left)
        if node.op in "*/" and self.known(node.right):
            return _scaled(self.affine(node.left), node.right, node.op)
        return None


def power_terms(
    law: Law, free: tuple[str, ...], logs: NDArray[np.bool_], fixed: Mapping[str, float]
) -> list[Affine] | None:
    """Return the terms of a law that is a sum of positive power terms, else None."""
    if law.expression is None:
        return None
    root = law.formula.substitute(dict(fixed)).root if fixed else law.formula.root
    positive = {name for name, log in zip(free, logs, strict=True) if log}
    terms = _Reader(free, positive).terms(root)
    if terms is None:
        return None
    used = {key for term in terms for key in term if key is not None}
    # a parameter that is a coefficient in one place and an exponent in another has no single inner coordinate
    mixed = any(f"log {name}" in used and name in used for name in free)
    return None if mixed or not used else terms


class _Term:
    """One term at the points: exp(offset + sum of coordinate * basis)."""

    def __init__(self, affine: Affine, order: Mapping[str, int], variables: Mapping[str, Array], n: int) -> None:
        def table(node: Node) -> Any:
            return np.asarray(tree.evaluate(node, variables), dtype=float)

        self.where = [order[key.removeprefix("log ")] for key in affine if key is not None]
        parts = [table(node) for key, node in affine.items() if key is not None]
        self.offset = table(affine[None]) if None in affine else np.float64(0.0)
        self.flat = all(p.ndim == 0 for p in (*parts, self.offset))
        if self.flat:
            self.basis = np.array(parts, dtype=float)[:, None]
        else:
            shape = np.broadcast_shapes((n,), *(p.shape for p in (*parts, self.offset)))
            self.basis = np.array([np.broadcast_to(p, shape) for p in parts])
        self.bare = not np.any(self.offset)

    def take(self, rows: Any) -> _Term:
        made = copy.copy(self)
        made.basis = self.basis[:, rows] if self.basis.ndim == 3 else self.basis
        made.offset = self.offset[rows] if self.offset.ndim == 2 else self.offset
        return made

    def usable(self) -> bool:
        return bool(np.isfinite(self.basis).all() and np.isfinite(self.offset).all())

    def value(self, inner: Array, out: Array | None) -> Array:
        """Return exp(s): (B, n), or (B, 1) where no variable is in it."""
        if self.basis.ndim == 2:
            s = np.matmul(inner[self.where].T, self.basis, out=None if self.flat else out)
        else:
            s = np.einsum("qb,qbn->bn", inner[self.where], self.basis, out=out)
        if not self.bare:
            s += self.offset
        return np.exp(s, out=s)


class PowerSum:
    """A sum of power terms; a kernel like `forecast.fit.kernel.General`, and equal to it within rounding.

    A state is good until the next call of `at`: its arrays are used again.
    """

    def __init__(
        self,
        terms: list[Affine],
        variables: Mapping[str, Array],
        free: tuple[str, ...],
        logs: NDArray[np.bool_],
        link: bool,
    ) -> None:
        self.terms, self.variables, self.free, self.logs, self.link = terms, variables, free, logs, link
        self.n = next(iter(variables.values())).shape[-1]
        self.own = any(v.ndim == 2 for v in variables.values())
        order = {name: i for i, name in enumerate(free)}
        self.parts = [_Term(t, order, variables, self.n) for t in terms]
        coefficients = {key.removeprefix("log ") for t in terms for key in t if key is not None and key[:4] == "log "}
        #: Exponents that are solved in their logarithm.
        self.bent = np.array([bool(log) and n not in coefficients for n, log in zip(free, logs, strict=True)])
        self.pairs = self._pairs()
        self.buffers: list[Array] = []

    @property
    def usable(self) -> bool:
        """Whether every term can be computed at the points (a power of a negative number cannot)."""
        return all(part.usable() for part in self.parts)

    def take(self, rows: Any) -> PowerSum:
        """Return the kernel of some of the fits."""
        if not self.own:
            return self
        made = copy.copy(self)
        made.parts = [part.take(rows) for part in self.parts]
        made.pairs = [(j, m, b[:, rows] if b.ndim == 3 else b, into) for j, m, b, into in self.pairs]
        made.buffers = []
        return made

    def _pairs(self) -> list[tuple[int, int, Array, list[tuple[int, int, int]]]]:
        """Return for each pair of terms the products of their bases, and which entries of the Hessian they add to."""
        found = []
        for j, left in enumerate(self.parts):
            for m, right in enumerate(self.parts[: j + 1]):
                columns, into = [], []
                for a, one in zip(left.where, left.basis, strict=True):
                    for b, other in zip(right.where, right.basis, strict=True):
                        if j != m or b <= a:
                            into.append((a, b, len(columns)))
                            columns.append(one * other)
                if columns:
                    shape = np.broadcast_shapes(*(c.shape for c in columns))
                    found.append((j, m, np.array([np.broadcast_to(c, shape) for c in columns]), into))
        return found

    def _buffer(self, i: int, rows: int) -> Array:
        while len(self.buffers) <= i:
            self.buffers.append(np.empty((0, self.n)))
        if self.buffers[i].shape[0] < rows:
            self.buffers[i] = np.empty((rows, self.n))
        return self.buffers[i][:rows]

    def at(self, q: Array, order: int = 2) -> State:
        """Return the law at parameters (k, B)."""
        rows = q.shape[1]
        with np.errstate(all="ignore"):
            inner = np.where(self.bent[:, None], np.exp(np.where(self.bent[:, None], q, 0.0)), q)
            shares = [p.value(inner, None if p.flat else self._buffer(i, rows)) for i, p in enumerate(self.parts)]
            whole = self._buffer(len(shares), rows)
            if len(shares) > 1:
                np.add(shares[0], shares[1], out=whole)
            else:
                whole[...] = shares[0]
            for share in shares[2:]:
                whole += share
            if not self.link:
                return State(whole, (inner, shares))
            f = np.log(whole, out=self._buffer(len(shares) + 1, rows))
            np.reciprocal(whole, out=whole)
            for i, share in enumerate(shares):
                if share.shape[1] == self.n:
                    share *= whole
                else:
                    shares[i] = np.multiply(share, whole, out=self._buffer(i, rows))
            return State(f, (inner, shares))

    def contract(self, state: State, first: Array, second: Array, share: Array | None = None) -> tuple[Array, Array]:
        """Return gradient (k, B) and Hessian (k, k, B); see `Kernel.contract`."""
        inner, shares = state.inner
        k, rows = len(self.free), first.shape[0]
        gradient, hessian = np.zeros((k, rows)), np.zeros((k, k, rows))
        with np.errstate(all="ignore"):
            bend = first if share is None else share * first
            both = second - bend if self.link else second
            spare, side, weights = (self._buffer(len(self.parts) + i, rows) for i in (2, 3, 4))
            for j, part in enumerate(self.parts):
                np.multiply(first, shares[j], out=spare)
                for a, moved in zip(part.where, _summed(part.basis, spare), strict=True):
                    gradient[a] += moved
                np.multiply(both, shares[j], out=side)
                if share is not None:
                    np.multiply(bend, shares[j], out=spare)
                for left, right, basis, into in self.pairs:
                    if left != j:
                        continue
                    np.multiply(side, shares[right], out=weights)
                    if left == right:
                        weights += spare
                    sums = _summed(basis, weights)
                    for a, b, i in into:
                        hessian[a, b] += sums[i]
                        if left != right or a != b:
                            hessian[b, a] += sums[i]
            return to_logs(gradient, hessian, inner, self.bent, share)

    def jacobian(self, state: State) -> Array:
        """Return the derivatives of f by the coordinates, (k, B, n)."""
        inner, shares = state.inner
        table = np.zeros((len(self.free), *state.f.shape))
        for part, term in zip(self.parts, shares, strict=True):
            for a, basis in zip(part.where, part.basis, strict=True):
                table[a] += term * basis
        table *= np.where(self.bent[:, None], inner, 1.0)[:, :, None]
        return table


def _summed(basis: Array, weights: Array) -> Array:
    """Return sums over the points of basis (q, n) or (q, B, n) times weights (B, n), as (q, B)."""
    if basis.ndim == 3:
        return np.einsum("qbn,bn->qb", basis, weights)
    if basis.shape[1] == 1:
        return np.asarray(basis * weights.sum(axis=1))
    return basis @ weights.T
