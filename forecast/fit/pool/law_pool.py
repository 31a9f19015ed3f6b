"""Many laws of a curve at once: their shapes on grids, weighed by how well they pass through what is known.

No law is chosen. Each law of the catalogue that a curve may follow is laid out over a grid of its shapes; its scale is
profiled out, its floor is on a grid too, and every combination is a *member* with a weight. What members say beyond the
data differs by parameters and by form, and both are in the band.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from forecast.base.arrays import Array, IntArray
from forecast.fit.pool.curve_constants import TUNING, Tuning
from forecast.laws import Law, law


def _grid(**values: Sequence[float] | Array) -> dict[str, Array]:
    """Return every combination, one row each: (G, 1) a name."""
    rows = np.array(list(itertools.product(*values.values())), dtype=float).T
    return {name: row[:, None] for name, row in zip(values, rows, strict=True)}


def _saturating_grid(_: Array) -> dict[str, Array]:
    return _grid(c=np.geomspace(0.02, 3.0, 40))


def _shifted_grid(_: Array) -> dict[str, Array]:
    return _grid(d=np.geomspace(1e-3, 10.0, 14), b=np.geomspace(0.05, 8.0, 22))


def _broken_power_grid(x: Array) -> dict[str, Array]:
    """Breaks stand where there are points, and just beyond the last: one that is coming cannot be seen earlier."""
    places = np.append(np.quantile(np.log(x), [0.1, 0.3, 0.5, 0.65, 0.8, 0.9, 1.0]), 0.35)
    return _grid(
        c0=[0.0, 0.05, 0.15, 0.3, 0.6],
        c1=[-0.2, -0.08, 0.1, 0.25, 0.5, 1.0, 2.0],
        d1=np.exp(places),
        f1=[0.15, 0.5, 1.5],
    )


@dataclass(frozen=True, kw_only=True)
class CurveFamily:
    """A law of the catalogue, as the pool lays it out.

    Parameters
    ----------
    law : str
        Its full name; one variable, x.
    floor, scale : str
        The two parameters in which it is linear: what is left at the end, and the size of what falls away.
    prior : float
        Its share before any point is seen.
    shapes : callable
        From the places of the points, in units of the last one, to its other parameters: (G, 1) each.
    """

    law: str
    floor: str
    scale: str
    prior: float
    shapes: Callable[[Array], dict[str, Array]]


#: The broken power law contains the two others near enough (a break that does not bend, a break at the start), so it
#: has as large a share as both. Other laws of the catalogue (m3, hill) made the development curves worse.
CURVE_FAMILIES = (
    CurveFamily(law="scaling/broken-power", floor="a", scale="b", prior=0.5, shapes=_broken_power_grid),
    CurveFamily(law="scaling/shifted-power", floor="c", scale="a", prior=0.25, shapes=_shifted_grid),
    CurveFamily(law="scaling/saturating-power", floor="E", scale="beta", prior=0.25, shapes=_saturating_grid),
)
#: Floors, as the share by which they lie below the lowest point; 1 is no floor at all.
FLOOR_SHARES = np.array([0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.27, 0.35, 0.45, 0.55, 0.7, 0.85, 0.95, 1.0])
#: Residuals smaller than this share of y are as good as none: what a curve is read or printed to.
EXACT_FIT_RTOL = 1e-4
#: How many members of equal weight stand for the pool: quantiles at 5 % then rest on 25 of them.
N_MEMBERS = 512


@dataclass(frozen=True, kw_only=True)
class LawPool:
    """What the members say at some places, in logarithms.

    Parameters
    ----------
    log : ndarray
        (members, places), of equal weight.
    shares : mapping of str to float
        The weight of each law.
    says : mapping of str to float
        The median of each law's members at the last place; a law without a member is absent.
    """

    log: Array
    shares: Mapping[str, float]
    says: Mapping[str, float]


def pool(x: Array, y: Array, to: Array, tuning: Tuning = TUNING) -> LawPool:
    """Weigh the members by a falling curve and ask them for places beyond it.

    Parameters
    ----------
    x, y : ndarray
        (n,), positive, x rising.
    to : ndarray
        (p,).
    tuning : Tuning

    Returns
    -------
    LawPool
    """
    size, unit = x[-1], y.min()
    x, y, to = x / size, y / unit, to / size
    recent = x**tuning.recency
    recent /= recent.mean()
    worth = max(min(tuning.worth * x.size, tuning.most), 3.0)
    parts = [_weighted_members(form, x, y, recent, worth) for form in CURVE_FAMILIES]
    best = max(part.log_weight.max(initial=-np.inf) for part in parts)
    weights = [np.exp(part.log_weight - best) for part in parts]
    whole = sum(float(w.sum()) for w in weights)
    said, apart, chances = [], [], []
    shares, says = {}, {}
    for part, weight in zip(parts, weights, strict=True):
        kept = np.flatnonzero(weight > 1e-4 * max(w.max(initial=0.0) for w in weights))
        shares[part.form.law] = float(weight.sum()) / whole
        if not kept.size:
            continue
        there, residuals = part.at(kept, x, y, to)
        there += tuning.carried * residuals[:, -1:]
        chosen = _spread_evenly(there[:, -1], weight[kept], N_MEMBERS)
        says[part.form.law] = float(np.median(there[chosen, -1])) + np.log(unit)
        said.append(there)
        chances.append(weight[kept])
        apart.append(there[:, -1])
    chance = np.concatenate(chances)
    rows = _spread_evenly(np.concatenate(apart), chance, N_MEMBERS)
    return LawPool(log=np.concatenate(said)[rows] + np.log(unit), shares=shares, says=says)


def _spread_evenly(order: Array, weight: Array, count: int) -> IntArray:
    """Return the rows at even steps of their weight, in an order in which neighbours say nearly the same."""
    rows = np.argsort(order, kind="stable")
    reached = np.cumsum(weight[rows])
    return np.asarray(rows[np.searchsorted(reached, (np.arange(count) + 0.5) / count * reached[-1])])


@dataclass(frozen=True, kw_only=True)
class _LawMembers:
    """The members of one law: which row of its grid with which floor and scale, and log weights."""

    form: CurveFamily
    law: Law
    shapes: Mapping[str, Array]
    columns: Array
    floors: Array
    scales: Array
    log_weight: Array

    def at(self, members: IntArray, x: Array, y: Array, to: Array) -> tuple[Array, Array]:
        """Return logarithms at the places, (members, p), and residuals of log y, (members, n)."""
        row, floor = np.divmod(members, self.floors.size)
        rows, place = np.unique(row, return_inverse=True)
        beyond = _law_columns(self.form, self.law, {n: v[rows] for n, v in self.shapes.items()}, to)
        base, size = self.floors[floor][:, None], self.scales.ravel()[members][:, None]
        with np.errstate(all="ignore"):
            return np.log(base + size * beyond[place]), np.log(y) - np.log(base + size * self.columns[row])


def _law_columns(form: CurveFamily, chosen: Law, shapes: Mapping[str, Array], x: Array) -> Array:
    """Return what falls away, (G, n): the law without its floor, at a scale of 1."""
    return chosen.value({**shapes, form.floor: 0.0, form.scale: 1.0}, x=x)


def _weighted_members(form: CurveFamily, x: Array, y: Array, recent: Array, worth: float) -> _LawMembers:
    """Return the members of a law with their weights: a likelihood of relative residuals, tempered to their worth."""
    chosen, shapes = law(form.law), form.shapes(x)
    columns = _law_columns(form, chosen, shapes, x)
    floors = y.min() * (1.0 - FLOOR_SHARES)
    weights = recent / y**2
    with np.errstate(all="ignore"):
        square, side, total = (columns**2) @ weights, columns @ (weights * y), columns @ weights
        # the best scale of each shape above each floor, and what it leaves of the squares: sums alone, no residuals
        scales = (side[:, None] - floors * total[:, None]) / square[:, None]
        known = recent.sum() - 2 * floors * (weights @ y) + floors**2 * weights.sum()
        left = (known - scales**2 * square[:, None]) / x.size
        log_weight = -0.5 * worth * np.log(np.maximum(left, 0.0) + EXACT_FIT_RTOL**2) + np.log(form.prior / left.size)
    log_weight = np.where(np.isfinite(log_weight) & (scales > 0), log_weight, -np.inf)
    return _LawMembers(
        form=form,
        law=chosen,
        shapes=shapes,
        columns=columns,
        floors=floors,
        scales=scales,
        log_weight=log_weight.ravel(),
    )
