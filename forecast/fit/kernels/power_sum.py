"""Sums of positive power terms as log-sum-exp of affine functions: the fast route.

Each term of a law such as ``E + A*N**-alpha + B*D**-beta`` is exp(s) with s affine in the logarithms of coefficients
and in exponents. Derivatives of the sum, or of its logarithm, are then products of the terms' shares with tables that
depend on the points alone: a gradient and a Hessian for many fits are a few small matrix products. A coefficient at 0
has no logarithm: fits with one go to the general kernel.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from forecast.base.arrays import Array, BoolArray
from forecast.fit.kernels.general import LawState, ProgramKernel, to_logs
from forecast.formula import tree
from forecast.formula.tree import Binary, Call, Name, Node, Number, Unary
from forecast.laws import Law

#: The parts of an affine function: a parameter (None: none) to what it is multiplied with, a tree over variables alone.
#: ``"log a"`` is the logarithm of the parameter ``a``; no parameter has a blank in its name.
Affine: TypeAlias = dict[str | None, Node]

ONE = Number(1.0)
#: A linear constant below this share of the law is not told from what the other terms leave.
MIN_CONSTANT_SHARE = 1e-3


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


def power_terms(
    law: Law, free: tuple[str, ...], positive: BoolArray, fixed: Mapping[str, float]
) -> list[Affine] | None:
    """Return the terms of a law that is a sum of positive power terms, else None; `positive` coordinates are ones."""
    if law.expression is None:
        return None
    root = law.formula.substitute(dict(fixed)).root if fixed else law.formula.root
    terms = _TermReader(free, {name for name, sure in zip(free, positive, strict=True) if sure}).terms(root)
    if terms is None:
        return None
    used = {key for term in terms for key in term if key is not None}
    # a parameter that is a coefficient in one place and an exponent in another has no single inner coordinate
    mixed = any(f"log {name}" in used and name in used for name in free)
    return None if mixed or not used else terms


def exponential(node: Node, name: str) -> tuple[Node, Node] | None:
    """Return rate and level of a formula that is exp(rate*parameter + level), else None."""
    found = _TermReader((name,), set()).logarithm(node)
    usual = found is not None and set(found) <= {None, name}
    return (found.get(name, Number(0.0)), found.get(None, Number(0.0))) if found and usual else None


class _Term:
    """One term at the points: exp(offset + sum of coordinate * basis)."""

    def __init__(self, affine: Affine, order: Mapping[str, int], variables: Mapping[str, Array], n: int) -> None:
        def table(node: Node) -> Any:
            return np.asarray(tree.evaluate(node, variables), dtype=float)

        self.where = [order[key.removeprefix("log ")] for key in affine if key is not None]
        parts = [table(node) for key, node in affine.items() if key is not None]
        self.offset: Any = table(affine[None]) if None in affine else np.float64(0.0)
        self.flat = all(p.ndim == 0 for p in (*parts, self.offset))
        if self.flat:
            self.basis = np.array(parts, dtype=float)[:, None]
        else:
            shape = np.broadcast_shapes((n,), *(p.shape for p in (*parts, self.offset)))
            self.basis = np.array([np.broadcast_to(p, shape) for p in parts]).reshape(len(parts), *shape)
        self.bare = not np.any(self.offset)
        ones = [i for i, column in enumerate(self.basis) if bool((column == 1.0).all())]
        #: The basis with a constant among it, where the constant stands, and which coordinate each of the rest is of.
        self.wide = list(self.basis) if ones else [np.ones(self.basis.shape[1:]), *self.basis]
        self.one = ones[0] if ones else 0
        self.places = list(enumerate(self.where, start=0 if ones else 1))

    def take(self, rows: Any) -> _Term:
        result = copy.copy(self)
        result.basis = self.basis[:, rows] if self.basis.ndim == 3 else self.basis
        result.offset = self.offset[rows] if np.ndim(self.offset) == 2 else self.offset
        return result

    def some(self, points: slice) -> _Term:
        result = copy.copy(self)
        result.basis = self.basis if self.flat else self.basis[..., points]
        result.offset = self.offset[..., points] if np.ndim(self.offset) else self.offset
        return result

    def usable(self) -> bool:
        return bool(np.isfinite(self.basis).all() and np.isfinite(self.offset).all())

    def value(self, inner: Array, out: Array | None) -> Array:
        """Return exp(s): (B, n), or (B, 1) where no variable is in it."""
        if self.basis.ndim == 2:
            s = np.matmul(inner[self.where].T, self.basis, out=out)
        else:
            s = np.einsum("qb,qbn->bn", inner[self.where], self.basis, out=out)
        if not self.bare:
            s += self.offset
        return np.exp(s, out=s)


class PowerSum:
    """A sum of power terms; equal, within rounding, to `forecast.fit.kernels.general.ProgramKernel`.

    A constant term needs no array of its own: its share is what the others leave, and its sums are differences of
    theirs. A state is good until the next call of `at`: its arrays are used again.
    """

    def __init__(
        self,
        terms: list[Affine],
        variables: Mapping[str, Array],
        free: tuple[str, ...],
        logs: BoolArray,
        link: bool,
        general: ProgramKernel | None = None,
    ) -> None:
        self.free, self.logs, self.link, self.general = free, logs, link, general
        self.n = next(iter(variables.values())).shape[-1]
        self.own = any(v.ndim == 2 for v in variables.values())
        order = {name: i for i, name in enumerate(free)}
        parts = [_Term(t, order, variables, self.n) for t in terms]
        self.parts, flat = [p for p in parts if not p.flat], [p for p in parts if p.flat]
        self.flat = flat[0] if flat else None
        #: Whether every term can be computed at the points (a power of a negative number cannot).
        self.usable = len(flat) < 2 and bool(self.parts) and all(part.usable() for part in parts)
        coefficients = {key.removeprefix("log ") for t in terms for key in t if key is not None and key[:4] == "log "}
        #: Exponents that are solved in their logarithm.
        self.bent = np.array([bool(log) and n not in coefficients for n, log in zip(free, logs, strict=True)])
        #: Coefficients that are solved as they are: the law is linear in them.
        self.plain = np.array([not log and n in coefficients for n, log in zip(free, logs, strict=True)])
        #: Where a linear constant stands under a link: its share is then what the others leave, and good for nothing
        #: where it is next to nothing. One that is a parameter and nothing else may be so, and 0.
        self.rest, self.alone = None, False
        if link and self.flat is not None and self.plain[self.flat.where].any():
            self.rest = int(np.flatnonzero(self.plain & np.isin(np.arange(len(free)), self.flat.where))[0])
            self.alone = self.flat.bare and bool((self.flat.basis == 1.0).all()) and len(self.flat.where) == 1
        #: Coefficients that are nothing without a logarithm.
        self.sure = self.plain & ~(self.alone & (np.arange(len(free)) == self.rest))
        self.tables = {
            (j, m): _basis_products(left.wide, right.wide, j == m)
            for j, left in enumerate(self.parts)
            for m, right in enumerate(self.parts[: j + 1])
        }
        #: Tables that are used again, for each number of points.
        self.buffers: dict[int, list[Array]] = {}
        self.plans: dict[bool, _SumPlan] = {}

    def fits(self, state: LawState, rows: Any) -> None:
        """Return nothing: the tables are used again."""

    def take(self, rows: Any) -> PowerSum:
        """Return the kernel of some of the fits."""
        if not self.own:
            return self
        result = copy.copy(self)
        result.parts = [part.take(rows) for part in self.parts]
        result.general = None if self.general is None else self.general.take(rows)
        result.tables = {key: (t[:, rows] if t.ndim == 3 else t, at) for key, (t, at) in self.tables.items()}
        result.buffers = {}
        return result

    def some(self, points: slice) -> PowerSum:
        """Return the kernel at some of the points; what they all have is shared."""
        result = copy.copy(self)
        result.n = len(range(self.n)[points])
        result.parts = [part.some(points) for part in self.parts]
        result.general = None if self.general is None else self.general.some(points)
        result.tables = {key: (t[..., points], at) for key, (t, at) in self.tables.items()}
        return result

    def _buffer(self, i: int, rows: int) -> Array:
        buffers = self.buffers.setdefault(self.n, [])
        while len(buffers) <= i:
            buffers.append(np.empty((0, self.n)))
        if buffers[i].shape[0] < rows:
            buffers[i] = np.empty((rows, self.n))
        return buffers[i][:rows]

    def at(self, q: Array, order: int = 2) -> LawState:
        """Return the law at parameters (k, B)."""
        rows, count = q.shape[1], len(self.parts)
        with np.errstate(all="ignore"):
            inner = np.where(self.bent[:, None], np.exp(np.where(self.bent[:, None], q, 0.0)), q)
            if self.plain.any():
                if not q[self.sure].min(initial=1.0) > 0:
                    return self._generally(q, order)
                inner[self.plain] = np.log(q[self.plain])
            shares = [part.value(inner, self._buffer(i, rows)) for i, part in enumerate(self.parts)]
            constant = np.zeros((1, 1)) if self.flat is None else self.flat.value(inner, None)
            whole = np.add(shares[0], constant, out=self._buffer(count, rows))
            for share in shares[1:]:
                whole += share
            if not self.link:
                return LawState(whole, (inner, shares, constant, None))
            slight = self.rest is not None and not bool((constant[:, 0] > MIN_CONSTANT_SHARE * whole.min(axis=1)).all())
            if slight and not self.alone:
                return self._generally(q, order)
            f = np.log(whole, out=self._buffer(count + 1, rows))
            for share in shares:
                share /= whole
            unit = np.divide(1.0, whole, out=self._buffer(count + 4, rows)) if slight else None
            return LawState(f, (inner, shares, constant, unit))

    def _generally(self, q: Array, order: int) -> LawState:
        assert self.general is not None
        state = self.general.at(q, order)
        return LawState(state.f, (None, state, None, None))

    def contract(self, state: LawState, first: Array, second: Array, share: Array | None = None) -> tuple[Array, Array]:
        """Return gradient (k, B) and Hessian (k, k, B); see `Kernel.contract`."""
        inner, shares, constant, unit = state.inner
        if inner is None:
            assert self.general is not None
            return self.general.contract(shares, first, second, share)
        k, rows, count = len(self.free), first.shape[0], len(self.parts)
        # under a link the sum of the terms is not needed any more: its place is used again
        spare, weights, own = (self._buffer(count + i, rows) for i in (0 if self.link else 4, 2, 3))
        plan = self._plan(share is None)
        sums = np.empty((plan.size, rows))
        with np.errstate(all="ignore"):
            both = second
            if self.link:
                both = np.subtract(second, first if share is None else share * first, out=own)
            if self.flat is None:
                sums[:2] = 0.0
            else:
                np.sum(first, axis=1, out=sums[0])
                np.sum(both, axis=1, out=sums[1])
            for j in range(count):
                table = self.tables[j, j][0]
                _weighted_sums(table, np.multiply(first, shares[j], out=spare), sums[plan.slopes[j]])
                _weighted_sums(table, np.multiply(both, shares[j], out=spare), sums[plan.sides[j]])
                for m in range(j + 1):
                    np.multiply(spare, shares[m], out=weights)
                    _weighted_sums(self.tables[j, m][0], weights, sums[plan.crossed[j, m]])
            if self.flat is not None and not self.link:  # the constant's own sums are multiples of the others'
                value = constant[:, 0]
                sums[0] *= value
                sums[1] *= value * value
                for j in range(count):
                    np.multiply(sums[plan.sides[j]], value, out=sums[plan.valued[j]])
            if share is not None:
                for source, bent in plan.bent:
                    np.multiply(sums[source], share[:, 0], out=sums[bent])
            found = plan.matrix @ sums
            gradient, hessian = found[:k], found[k:].reshape(k, k, rows)
            if unit is not None:
                self._slight(gradient, hessian, shares, unit, first, both)
            # the plan leaves out what a logarithm would add to the curvature
            for a in np.flatnonzero(self.plain if unit is None else self.sure):
                size = np.exp(-inner[a])
                gradient[a] *= size
                hessian[a] *= size
                hessian[:, a] *= size
            return to_logs(gradient, hessian, inner, self.bent, share)

    def _slight(
        self, gradient: Array, hessian: Array, shares: list[Array], unit: Array, first: Array, both: Array
    ) -> None:
        """Put in the derivatives by a constant of next to nothing, which is `unit` of the law for each of its own."""
        e = self.rest
        side = both * unit
        across = np.zeros((len(self.free), len(first)))
        across[e] = np.einsum("bn,bn->b", side, unit)
        for part, share in zip(self.parts, shares, strict=True):
            crossed = side * share
            for a, basis in zip(part.where, part.basis, strict=True):
                across[a] += np.einsum("bn,bn->b", crossed, np.broadcast_to(basis, crossed.shape))
        gradient[e], hessian[e], hessian[:, e] = np.einsum("bn,bn->b", first, unit), across, across

    def _plan(self, plain: bool) -> _SumPlan:
        if plain not in self.plans:
            self.plans[plain] = _SumPlan(self, plain)
        return self.plans[plain]

    def jacobian(self, state: LawState) -> Array:
        """Return the derivatives of f by the coordinates, (k, B, n)."""
        inner, shares, constant, unit = state.inner
        if inner is None:
            assert self.general is not None
            return self.general.jacobian(shares)
        table = np.zeros((len(self.free), *state.f.shape))
        for part, term in zip(self.parts, shares, strict=True):
            for a, basis in zip(part.where, part.basis, strict=True):
                table[a] += term * basis
        if self.flat is not None:
            for a, basis in zip(self.flat.where, self.flat.basis, strict=True):
                table[a] += basis * (constant / np.exp(state.f) if self.link else constant)
        with np.errstate(all="ignore"):
            plain = self.plain if unit is None else self.sure
            factor = np.where(plain[:, None], np.exp(-inner), np.where(self.bent[:, None], inner, 1.0))
        if unit is not None:
            table[self.rest] = unit
            factor[self.rest] = 1.0
        table *= factor[:, :, None]
        return table


class _SumPlan:
    """How gradient and Hessian are put together from sums over the points: one small matrix, made once.

    Parameters
    ----------
    law : PowerSum
    plain : bool
        The law's own curvature enters whole, so that its sums need no copy of their own.
    """

    def __init__(self, law: PowerSum, plain: bool) -> None:
        self.law, self.size = law, 2
        parts, tables = law.parts, law.tables
        self.slopes = [self._room(tables[j, j]) for j in range(len(parts))]
        self.sides = [self._room(tables[j, j]) for j in range(len(parts))]
        self.crossed = {key: self._room(table) for key, table in tables.items()}
        scaled = law.flat is not None and not law.link
        self.valued = [self._room(tables[j, j]) for j in range(len(parts))] if scaled else self.sides
        self.bent: list[tuple[Any, slice]] = []
        whole, bends = slice(0, 1), self.slopes
        if not plain:
            bends = [self._room(tables[j, j]) for j in range(len(parts))]
            whole = self._take(1)
            self.bent = [(slice(0, 1), whole), *zip(self.slopes, bends, strict=True)]
        self.matrix = self._made(whole, bends)

    def _take(self, rows: int) -> slice:
        self.size += rows
        return slice(self.size - rows, self.size)

    def _room(self, table: tuple[Array, Any]) -> slice:
        return self._take(table[0].shape[0])

    def _made(self, whole: slice, bends: list[slice]) -> Array:
        """Put unit sums together, so that the columns are the contributions of each."""
        law, k = self.law, len(self.law.free)
        unit = np.eye(self.size)
        gradient, hessian = np.zeros((k, self.size)), np.zeros((k, k, self.size))
        slope, curve, bow = unit[0], unit[1], unit[whole][0]
        left = [unit[self.sides[j]] for j in range(len(law.parts))]
        crossed = []
        for j, part in enumerate(law.parts):
            at = law.tables[j, j][1]
            slopes, bend = unit[self.slopes[j]], unit[bends[j]]
            for i, a in part.places:
                gradient[a] += slopes[at[i, part.one]]
            sides = unit[self.valued[j]]
            crossed.append(np.array([sides[at[i, part.one]] for i in range(len(part.wide))]))
            if law.link:  # the shares of all terms are one: what is left of each sum is the constant's
                slope = slope - slopes[at[part.one, part.one]]
                bow = bow - bend[at[part.one, part.one]]
                curve = curve - left[j][at[part.one, part.one]]
            for m, other in enumerate(law.parts[: j + 1]):
                at, sums = law.tables[j, m][1], unit[self.crossed[j, m]]
                if law.link:
                    crossed[j] -= sums[[at[i, other.one] for i in range(len(part.wide))]]
                    if m != j:
                        crossed[m] -= sums[[at[part.one, i] for i in range(len(other.wide))]]
                for i, a in part.places:
                    for h, b in other.places:
                        straight = m != j or (a == b and bool(law.plain[a]))
                        added = sums[at[i, h]] + (0.0 if straight else bend[at[i, h]])
                        if m != j or b <= a:
                            hessian[a, b] += added
                            if m != j or b != a:
                                hessian[b, a] += added
        if law.flat is not None:
            if law.link:
                curve = curve - sum(x[part.one] for part, x in zip(law.parts, crossed, strict=True))
            places = list(zip(law.flat.where, law.flat.basis[:, 0], strict=True))
            for e, size in places:
                gradient[e] += size * slope
                for d, factor in places:
                    straight = e == d and bool(law.plain[e])
                    hessian[e, d] += size * factor * (curve if straight else curve + bow)
                for part, x in zip(law.parts, crossed, strict=True):
                    for i, a in part.places:
                        hessian[a, e] += size * x[i]
                        hessian[e, a] += size * x[i]
        return np.concatenate([gradient, hessian.reshape(k * k, self.size)])


@np.errstate(over="ignore")
def _basis_products(left: list[Array], right: list[Array], same: bool) -> tuple[Array, dict[tuple[int, int], int]]:
    """Return the products of two bases as a table (q, n) or (q, B, n), and where each stands in it."""
    columns: list[Array] = []
    at: dict[tuple[int, int], int] = {}
    for i, one in enumerate(left):
        for m, other in enumerate(right):
            if same and m < i:
                at[i, m] = at[m, i]
            else:
                at[i, m] = len(columns)
                columns.append(one * other)
    return np.array(np.broadcast_arrays(*columns)), at


def _weighted_sums(basis: Array, weights: Array, out: Array) -> None:
    """Put sums over the points of basis (q, n) or (q, B, n) times weights (B, n) into (q, B)."""
    if basis.ndim == 3:
        np.einsum("qbn,bn->qb", basis, weights, out=out)
    else:
        np.matmul(basis, weights.T, out=out)
