"""Fitted numbers that move together with others: whole worlds of a model are taken in another order, block by block.

What a fit says of its numbers is a joint distribution, and its noise belongs to them too. So that all of it stays as it
is, nothing is drawn anew: in each block, the worlds of the model are put in the order in which one of its numbers has
the ranks of a Gaussian copula (Iman & Conover 1982, A distribution-free approach to inducing rank correlation among
input variables, Communications in Statistics - Simulation and Computation 11(3), 311-334). Blocks have one size, so
that fewer draws are a prefix of more, and any number of workers gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array

if TYPE_CHECKING:
    from forecast.scenarios.quantities.correlation import Correlation


def scores(group: Correlation, name: str, own: Mapping[str, Array], drawn: frozenset[str]) -> Array:
    """Return normal scores of one member of a group, with the stated correlations to the other members, (draw,).

    Parameters
    ----------
    group : Correlation
    name : str
        The member, whose ranks alone will count.
    own : mapping of str to ndarray
        Normal scores of every member that are its own, independent but for chance, of one block.
    drawn : frozenset of str
        The members that are drawn through their own uniforms, where a score is more than a rank: they stay as they are.

    Notes
    -----
    The own scores of members of which only ranks count are made orthogonal to those of the others. This removes the
    sampling error: 1,024 draws have the stated correlation, not one that is a few hundredths off.

    Examples
    --------
    >>> from forecast.scenarios.quantities.correlation import Correlation
    >>> group = Correlation(of=("a", "b"), matrix=((1.0, 0.7), (0.7, 1.0)))
    >>> own = dict(zip("ab", np.random.default_rng(0).standard_normal((2, 1024)), strict=True))
    >>> round(float(np.corrcoef(own["a"], scores(group, "b", own, frozenset("a")))[0, 1]), 2)
    0.71
    """
    apart = {each: own[each] for each in group.of if each in drawn}
    for each in (n for n in group.of if n not in drawn):
        apart[each] = _without(own[each], [*apart.values()])
    place = group.of.index(name)
    weights = group.factor()[place, : place + 1].tolist()
    return np.asarray(sum(weight * apart[each] for each, weight in zip(group.of, weights, strict=False)))


def _without(score: Array, others: list[Array]) -> Array:
    """Return what is left of normal scores without their regression on others, with a mean of 0 and a variance of 1."""
    known = np.column_stack([np.ones_like(score), *others])
    left = score - known @ np.linalg.lstsq(known, score, rcond=None)[0]
    return np.asarray(left / np.std(left))


def in_order(values: Array, wanted: Array) -> NDArray[np.intp]:
    """Return the order in which values have the ranks of others.

    Examples
    --------
    >>> values = np.array([30.0, 10.0, 20.0])
    >>> values[in_order(values, np.array([0.1, 0.2, 0.3]))].tolist()
    [10.0, 20.0, 30.0]
    """
    order = np.empty(len(values), dtype=np.intp)
    order[np.argsort(wanted, kind="stable")] = np.argsort(values, kind="stable")
    return order
