"""One Gaussian likelihood of training compute, algorithms, the capability index and time horizons.

A state space: C(t), log10 FLOP of the largest run, and A(t), orders of magnitude of compute that algorithms are worth,
are each a straight line, a random walk and an integrated one. What is observed is linear in them:

| row | value |
|---|---|
| record of compute | C(t) + noise |
| index, compute c disclosed | base + points·(f(c) + A(t)) + organisation + model + measurement |
| index, compute not disclosed | base + points·(f(C(t)) + A(t)) + lead + model + measurement |
| horizon, log2 minutes | anchor + doublings·(the index of the same model − 140) + noise + measurement |

f(x) = x in the *straight* form, and (1 − exp(−bend·x))/bend in the *bent* one, with x in orders over 1e25 FLOP; there
f(C) is its tangent at `TANGENT`. `lead` is by how many points those who don't disclose are off the line of those who
do. Given the positive numbers of `NUMBERS` the rows are jointly normal, so that lines, walks, undisclosed compute,
levels and the luck of models integrate out exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from forecast_capability.chain.rows import ANCHOR_LOG10_FLOP, DISCLOSED, RUN, UNDISCLOSED, Rows

Array = NDArray[np.float64]
_Pairs = tuple[NDArray[np.intp], ...]

__all__ = ["ASKED", "BENT", "FORMS", "STRAIGHT", "Asked", "Chain", "Form", "Number", "worth"]

#: Where lines and walks of C begin, where A is 0 but for its walks, and the index at which `anchor` is the horizon.
START, MIDDLE, INDEX_OF_ANCHOR = 2018.0, 2025.0, 140.0
#: Orders over 1e25 FLOP at which the bent form takes the tangent for compute that nobody disclosed.
TANGENT = 1.3


class Number(NamedTuple):
    """A positive number of the likelihood: lognormal before the data, by its median and the spread of its logarithm."""

    name: str
    median: float
    spread: float


#: What is drawn: slopes, how fast lines wander and turn (a year), and scatters.
NUMBERS = (
    Number("points", 10.0, 0.6),  # of the index for an order of magnitude of compute (at 1e25 FLOP)
    Number("doublings", 0.3, 0.7),  # of the horizon for a point
    Number("compute_walk", 0.15, 0.7),
    Number("compute_turn", 0.12, 0.7),
    Number("algorithms_walk", 0.15, 0.7),
    Number("algorithms_turn", 0.12, 0.7),
    Number("run_scatter", 0.15, 0.7),
    Number("disclosed_scatter", 5.0, 0.5),
    Number("organisation_scatter", 4.0, 0.5),
    Number("frontier_scatter", 2.5, 0.5),
    Number("horizon_scatter", 0.5, 0.5),
)
BEND = Number("bend", 0.15, 0.8)

#: What integrates out, normal before the data: mean and standard deviation.
LEVEL_PRIORS = {
    "compute": (22.5, 1.0),  # C at START
    "compute_slope": (0.6, 0.3),
    "algorithms_slope": (0.6, 0.5),
    "base": (130.0, 40.0),
    "lead": (0.0, 15.0),
    "anchor": (5.0, 5.0),
}


@dataclass(frozen=True, kw_only=True)
class Form:
    """How an order of magnitude of compute counts, and what its numbers are before the data.

    Parameters
    ----------
    name : {"straight", "bent"}
    numbers : tuple of Number
    """

    name: str
    numbers: tuple[Number, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What its numbers are called."""
        return tuple(number.name for number in self.numbers)

    def centred(self, points: float) -> Form:
        """Return the form whose prior of points per order has this median."""
        return replace(self, numbers=(self.numbers[0]._replace(median=points), *self.numbers[1:]))


STRAIGHT = Form(name="straight", numbers=NUMBERS)
BENT = Form(name="bent", numbers=(*NUMBERS, BEND))
FORMS = {form.name: form for form in (STRAIGHT, BENT)}

#: What may be asked of the state at a date: its parts and their slopes, the level of the frontier, and the anchor.
ASKED = ("compute", "compute_slope", "algorithms", "algorithms_slope", "level", "anchor")


class Asked(NamedTuple):
    """Something to be known of the state: one of `ASKED`, at a date."""

    what: str
    date: float


def worth(orders: Array, bend: Array | float) -> Array:
    """Return what compute counts, in orders of magnitude at 1e25 FLOP, from its orders over 1e25 FLOP.

    Examples
    --------
    >>> import numpy as np
    >>> worth(np.array([-1.0, 0.0, 1.0]), 0.0).tolist()
    [-1.0, 0.0, 1.0]
    >>> worth(np.array([-1.0, 0.0, 1.0]), 0.3).round(3).tolist()
    [-1.166, 0.0, 0.864]
    """
    flat = np.asarray(bend) == 0
    safe = np.where(flat, 1.0, bend)
    return np.where(flat, orders, -np.expm1(-safe * orders) / safe)


class _Block(NamedTuple):
    """What of a line with walks does not depend on the numbers, and the rows that hang on it: walks are of those."""

    rows: NDArray[np.intp]
    line: Array
    start: Array
    walk: Array
    turn: Array


def _block(dates: Array, slope: NDArray[np.bool_], on: NDArray[np.bool_], middle: float) -> _Block:
    """Return covariances of a line, of a random walk and of an integrated one, of their values and slopes."""
    rows = np.flatnonzero(on)
    t, tilt = np.maximum(dates[rows] - START, 0), slope[rows]
    low, high = np.minimum.outer(t, t), np.maximum.outer(t, t)
    both, none = np.outer(tilt, tilt), np.outer(~tilt, ~tilt)
    # the integral of a walk up to u with the walk at v: v*u - v**2/2 up to v = u, and u**2/2 from there on
    u = np.where(tilt[:, None], t[None, :], t[:, None])
    v = np.where(tilt[:, None], t[:, None], t[None, :])
    mixed = np.where(v < u, u * v - v**2 / 2, u**2 / 2)
    return _Block(
        rows=rows,
        line=np.where(slope, 1.0, dates - middle),
        start=np.where(slope, 0.0, 1.0),
        walk=np.where(none, low, 0.0),
        turn=np.where(none, low**2 * (3 * high - low) / 6, np.where(both, low, mixed)),
    )


@dataclass(frozen=True, kw_only=True)
class Chain:
    """The likelihood of some rows, with what is asked beside them.

    Parameters
    ----------
    rows : Rows
    form : Form
    asked : tuple of Asked
        Further values whose moments are wanted; nothing of them is observed.

    Examples
    --------
    >>> from forecast_capability.chain.rows import observed
    >>> chain = Chain(rows=observed(), form=STRAIGHT)
    >>> mean, covariance = chain.moments({number.name: number.median for number in STRAIGHT.numbers})
    >>> covariance.shape
    (155, 155)
    """

    rows: Rows
    form: Form
    asked: tuple[Asked, ...] = ()

    @cached_property
    def _of(self) -> dict[str, Array]:
        """Indicators of rows: what each is and has, with what is asked after the observations."""
        rows, more = self.rows, len(self.asked)
        wanted = np.array([each.what for each in self.asked], dtype=np.str_)

        def one(observed: NDArray[np.bool_], *asked: str) -> Array:
            return np.concatenate([observed, np.isin(wanted, asked)]).astype(float)

        plain, no = ~rows.horizon, np.zeros(len(rows), dtype=bool)
        model = rows.compute != RUN
        return {
            "run": one(rows.compute == RUN),
            "compute": one(rows.compute == RUN, "compute", "compute_slope"),
            "algorithms": one(no, "algorithms", "algorithms_slope"),
            "model": one(model),
            "index": one(model & plain),
            "horizon": one(rows.horizon),
            "level": one(no, "level"),
            "anchor": one(no, "anchor"),
            "disclosed": one(rows.compute == DISCLOSED),
            "undisclosed": one(rows.compute == UNDISCLOSED),
            "stated": np.concatenate([rows.stated, np.zeros(more)]),
            "stated_error": np.concatenate([rows.stated_error, np.zeros(more)]),
            "error": np.concatenate([rows.error, np.zeros(more)]),
        }

    @cached_property
    def _blocks(self) -> tuple[_Block, _Block]:
        """Covariances of C and of A at every row."""
        dates = np.concatenate([self.rows.date, [each.date for each in self.asked]])
        slope = np.array([False] * len(self.rows) + [each.what.endswith("slope") for each in self.asked])
        of = self._of
        on_c, on_a = of["compute"] + of["undisclosed"] > 0, of["algorithms"] + of["model"] > 0
        return _block(dates, slope, on_c, START), _block(dates, slope, on_a, MIDDLE)

    @cached_property
    def _shared(self) -> tuple[_Pairs, _Pairs]:
        """Which rows are of one model, and which of one organisation, as pairs of places."""
        name, maker = self.rows.model, self.rows.organisation
        team = (maker[:, None] == maker[None, :]) & (maker != "")[None, :]
        return np.nonzero(name[:, None] == name[None, :]), np.nonzero(team)

    def moments(self, at: Mapping[str, float]) -> tuple[Array, Array]:
        """Return mean and covariance of the rows, and after them of what is asked, at some numbers."""
        of, (c, a), (same, team) = self._of, self._blocks, self._shared
        points, doublings, bend = at["points"], at["doublings"], at.get("bend", 0.0)
        # everything that is a model's stands in points, and in doublings where it is a horizon
        unit = np.where(of["horizon"] > 0, doublings, 1.0)
        rate = float(np.exp(-bend * TANGENT))
        on_c = of["compute"] + points * rate * unit * of["undisclosed"]
        on_a = of["algorithms"] + points * unit * of["model"]
        on_base = unit * of["model"] + of["level"]
        on_lead = unit * of["undisclosed"] + of["level"]
        on_anchor = of["horizon"] + of["anchor"]

        start, drift, pace = LEVEL_PRIORS["compute"], LEVEL_PRIORS["compute_slope"], LEVEL_PRIORS["algorithms_slope"]
        mean = on_c * (start[0] * c.start + drift[0] * c.line) + on_a * pace[0] * a.line
        counted = worth(of["stated"], bend) * of["disclosed"]
        tangent = float(worth(np.array(TANGENT), bend)) - rate * (ANCHOR_LOG10_FLOP + TANGENT)
        mean += points * unit * (counted + tangent * of["undisclosed"])
        mean += (
            LEVEL_PRIORS["base"][0] * on_base
            + LEVEL_PRIORS["lead"][0] * on_lead
            + LEVEL_PRIORS["anchor"][0] * on_anchor
        )
        mean -= INDEX_OF_ANCHOR * doublings * of["horizon"]

        levels = [
            start[1] * on_c * c.start, drift[1] * on_c * c.line, pace[1] * on_a * a.line,
            LEVEL_PRIORS["base"][1] * on_base, LEVEL_PRIORS["lead"][1] * on_lead, LEVEL_PRIORS["anchor"][1] * on_anchor,
        ]  # fmt: skip
        lines = np.stack(levels, axis=1)
        covariance = lines @ lines.T
        for part, block, on in (("compute", c, on_c), ("algorithms", a, on_a)):
            on = on[block.rows]
            wander = at[f"{part}_walk"] ** 2 * block.walk + at[f"{part}_turn"] ** 2 * block.turn
            covariance[np.ix_(block.rows, block.rows)] += wander * np.outer(on, on)
        # an error in stated compute is one of the model, at the slope where it stands
        off = points * np.exp(-bend * of["stated"]) * of["stated_error"]
        luck = np.where(of["disclosed"] > 0, np.hypot(at["disclosed_scatter"], off), at["frontier_scatter"])
        luck = luck * unit * of["model"]
        habit = at["organisation_scatter"] * unit * of["disclosed"]
        for each, (row, other) in ((luck, same), (habit, team)):
            covariance[row, other] += each[row] * each[other]
        own = of["error"] ** 2 + at["run_scatter"] ** 2 * of["run"] + at["horizon_scatter"] ** 2 * of["horizon"]
        covariance[np.diag_indices_from(covariance)] += own
        return mean, covariance
