"""One Gaussian likelihood of training compute, algorithms, the capability index and time horizons.

A state space: C(t), log10 FLOP of the largest run, and A(t), orders of magnitude of compute that algorithms are worth,
are each a straight line, a random walk and an integrated one; own(t), what the horizon gains beside the index, is a
line and a random walk. What is observed is linear in them:

| row | value |
|---|---|
| record of compute | C(t) + noise |
| index, compute c disclosed | base + points·(f(c) + A(t)) + organisation + model + measurement |
| index, compute not disclosed | base + points·(f(C(t)) + A(t)) + lead + model + measurement |
| horizon, log2 minutes | anchor + doublings·(the index of the same model − 140) + own(t) + noise + measurement |

`lead` is by how many points those who don't disclose are off the line of those who do. Given the positive numbers of a
form the rows are jointly normal, so that lines, walks, undisclosed compute, levels and the luck of models integrate
out exactly. Three things have rivals, and a `Form` has one of each:

compute
    f(x) = x in the *straight* form, and (1 − exp(−bend·x))/bend in the *bent* one, with x in orders over 1e25 FLOP;
    there f(C) is its tangent at `TANGENT`.
algorithms
    *walk*: a line, a walk and an integrated walk. *steady*: a line and a walk. *break*: steady, with another slope from
    `BREAK` on. *research*: dA/dt = pace·R^elasticity·10^(−beta·A) for the input R of research (Jones 1995), with a walk
    and an integrated one added. *research-break*: research and a walk, with a slope of its own added from `BREAK` on.
horizon
    *own*: beside the index, as above. *none*: own(t) = 0. *break*: a line from `BREAK` on. *square*: a square of the
    index in its place.

References
----------
Jones (1995), R&D-based models of economic growth, Journal of Political Economy 103(4), 759-784.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array, BoolArray
from forecast_capability.chain.rows import ANCHOR_LOG10_FLOP, DISCLOSED, RUN, UNDISCLOSED, Rows

_Pairs = tuple[NDArray[np.intp], ...]

__all__ = [
    "ALGORITHMS",
    "ASKED",
    "COMPUTE",
    "DRIVEN",
    "FORMS",
    "HORIZONS",
    "INDEX_OF_ANCHOR",
    "LABOUR_GROWTH",
    "LABOUR_SHARE",
    "LEVEL_PRIORS",
    "PACE_YEAR",
    "PLAIN",
    "TANGENT",
    "Asked",
    "Chain",
    "Form",
    "Number",
    "driven",
    "worth",
]

#: Where lines and walks of C begin, where A is 0 but for its walks, and the index at which `anchor` is the horizon.
START, MIDDLE, INDEX_OF_ANCHOR = 2018.0, 2025.0, 140.0
#: Where the break of a form is: models that reason at length came in September 2024.
BREAK = 2024.7
#: Where the pace of research is that of its prior, and where the horizon's own walk begins.
PACE_YEAR = 2023.0
#: Where the horizon's own line is 0.
OWN_MIDDLE = 2024.0
#: Orders over 1e25 FLOP at which the bent form takes the tangent for compute that nobody disclosed.
TANGENT = 1.3
#: Labour's part of the elasticity (Kwa 2026: .12 to .35), and orders a year by which staff grows: a judgement.
LABOUR_SHARE, LABOUR_GROWTH = 0.235, 0.2

#: The rivals, in the order of their codes.
COMPUTE = ("straight", "bent")
ALGORITHMS = ("walk", "steady", "break", "research", "research-break")
HORIZONS = ("own", "none", "break", "square")
#: Those in which the input of research drives algorithms.
DRIVEN = ("research", "research-break")


class Number(NamedTuple):
    """A positive number of the likelihood: lognormal before the data, by its median and the spread of its logarithm.

    `earlier` is the spread as of a date before `PRIORS_YEAR`, where it is another.
    """

    name: str
    median: float
    spread: float
    earlier: float | None = None


#: What every form draws: slopes, how fast lines wander and turn (a year), and scatters.
NUMBERS = (
    Number("points", 10.0, 0.6, 1.0),  # of the index for an order of magnitude of compute (at 1e25 FLOP)
    Number("doublings", 0.3, 0.7, 1.2),  # of the horizon for a point
    Number("compute_walk", 0.15, 0.7),
    Number("compute_turn", 0.12, 0.7),
    Number("algorithms_walk", 0.15, 0.7),
    Number("run_scatter", 0.15, 0.7),
    Number("disclosed_scatter", 5.0, 0.5),
    Number("organisation_scatter", 4.0, 0.5),
    Number("frontier_scatter", 2.5, 0.5),
    Number("horizon_scatter", 0.5, 0.5),
)
BEND = Number("bend", 0.15, 0.8)
TURN = Number("algorithms_turn", 0.12, 0.7)
OWN_WALK = Number("horizon_walk", 0.5, 0.7)
#: Elasticity .4 to 1.6 (90 %): Kwa 2026 .8 to 1.0, Davidson 2023 .7, Ho & Whitfill 2026 1.40. Beta .25 to 1.4: Kwa .3
#: to 1.0, Davidson .56 (.7/1.25), Ho & Whitfill 1.01. Pace in 2023 .2 to 1.3 orders a year: Ho et al. 2024 .16 to 1.8.
#: Research compute grew by .42 to .72 orders a year.
RESEARCH = (
    Number("elasticity", 0.8, 0.42),
    Number("beta", 0.6, 0.52),
    Number("pace_then", 0.5, 0.57),
    Number("research_growth", 0.55, 0.16),
)

#: To when those knew the rows who set these. As of an earlier date some are wider, and until Ho et al. (2024-03-09,
#: arXiv:2403.05812) nobody had said how fast algorithms go.
PRIORS_YEAR, PACE_PUBLISHED, EARLIER_PACE = 2026.75, 2024.19, (0.4, 0.5)

#: What integrates out, normal before the data: mean and standard deviation.
LEVEL_PRIORS = {
    "compute": (22.5, 1.0),  # C at START
    "compute_slope": (0.6, 0.3),
    "algorithms_slope": (0.6, 0.5),
    "algorithms_break": (0.0, 0.7),
    "base": (130.0, 40.0),
    "lead": (0.0, 15.0),
    "anchor": (5.0, 5.0),
    "own_slope": (0.0, 0.6),
    "own_break": (0.0, 1.0),
    "curve": (0.0, 0.004),
}


@dataclass(frozen=True, kw_only=True)
class Form:
    """Which rival of compute, of algorithms and of the horizon the likelihood has.

    Parameters
    ----------
    compute, algorithms, horizon : str
        Of `COMPUTE`, `ALGORITHMS` and `HORIZONS`.
    points : float
        The median of points per order before the data.
    known : float
        The date of what people knew who set its priors.

    Examples
    --------
    >>> Form(compute="bent", algorithms="research").code
    7
    >>> FORMS[7].name
    'bent, research, own'
    """

    compute: str = "straight"
    algorithms: str = "walk"
    horizon: str = "own"
    points: float = field(default=NUMBERS[0].median, repr=False)
    known: float = field(default=PRIORS_YEAR, repr=False)

    @property
    def name(self) -> str:
        """The three rivals."""
        return f"{self.compute}, {self.algorithms}, {self.horizon}"

    @property
    def code(self) -> int:
        """The place among `FORMS`, which a world of a scenario draws."""
        of = HORIZONS.index(self.horizon) * len(ALGORITHMS) + ALGORITHMS.index(self.algorithms)
        return of * len(COMPUTE) + COMPUTE.index(self.compute)

    @property
    def driven(self) -> bool:
        """Whether research drives algorithms."""
        return self.algorithms in DRIVEN

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        """What is drawn."""
        more = (
            (TURN, self.algorithms in ("walk", "research")),
            (BEND, self.compute == "bent"),
            (OWN_WALK, self.horizon == "own"),
        )
        first = NUMBERS[0]._replace(median=self.points)
        research = RESEARCH if self.driven else ()
        every = (first, *NUMBERS[1:], *(number for number, drawn in more if drawn), *research)
        if self.known >= PRIORS_YEAR:
            return every
        return tuple(each if each.earlier is None else each._replace(spread=each.earlier) for each in every)

    def level(self, name: str) -> tuple[float, float]:
        """Mean and standard deviation of one of `LEVEL_PRIORS`."""
        if name == "algorithms_slope" and self.known < PACE_PUBLISHED:
            return EARLIER_PACE
        return LEVEL_PRIORS[name]

    @property
    def names(self) -> tuple[str, ...]:
        """What its numbers are called."""
        return tuple(number.name for number in self.numbers)


FORMS = tuple(
    Form(compute=compute, algorithms=algorithms, horizon=horizon)
    for horizon, algorithms, compute in product(HORIZONS, ALGORITHMS, COMPUTE)
)
#: The form without a bend, a break or a drive.
PLAIN = FORMS[0]

#: What may be asked of the state at a date: its parts and their slopes, the level of the frontier, the anchor, and what
#: a square of the index is worth.
ASKED = (
    "compute", "compute_slope", "algorithms", "algorithms_slope", "level", "anchor", "own", "own_slope", "curve",
)  # fmt: skip


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


def driven(date: Array, at: Mapping[str, float | Array]) -> tuple[Array, Array]:
    """Return what research gave since `PACE_YEAR`, and its pace, where its input grew at a constant rate.

    dA/dt = pace·10^(e·τ − beta·A) has the solution A = log10(1 + beta·pace·(10^(e·τ) − 1)/e)/beta. Before `PACE_YEAR`,
    where no model has an index, the pace is that of then.

    Examples
    --------
    >>> at = dict(elasticity=0.8, beta=0.6, pace_then=0.5, research_growth=0.55)
    >>> gained, pace = driven(np.array([2022.0, 2023.0, 2026.0]), at)
    >>> gained.round(3).tolist(), pace.round(3).tolist()
    ([-0.5, 0.0, 1.724], [0.5, 0.5, 0.612])
    """
    growth = (1 - LABOUR_SHARE) * at["research_growth"] + LABOUR_SHARE * LABOUR_GROWTH
    rate, beta, pace = at["elasticity"] * growth, at["beta"], at["pace_then"]
    years = np.maximum(date - PACE_YEAR, 0)
    input_ = 10 ** (rate * years)
    power = 1 + beta * pace * (input_ - 1) / rate
    gained = np.log10(power) / beta + pace * np.minimum(date - PACE_YEAR, 0)
    return gained, np.where(date < PACE_YEAR, pace, pace * input_ / power)


class _Block(NamedTuple):
    """What of a line with walks does not depend on the numbers; walks are of the rows that hang on it."""

    line: Array
    start: Array
    walk: Array
    turn: Array


def _block(dates: Array, slope: BoolArray, middle: float, since: float) -> _Block:
    """Return covariances of a line, of a random walk and of an integrated one, of their values and slopes."""
    t = np.maximum(dates - since, 0)
    low, high = np.minimum.outer(t, t), np.maximum.outer(t, t)
    both, none = np.outer(slope, slope), np.outer(~slope, ~slope)
    # the integral of a walk up to u with the walk at v: v*u - v**2/2 up to v = u, and u**2/2 from there on
    u = np.where(slope[:, None], t[None, :], t[:, None])
    v = np.where(slope[:, None], t[:, None], t[None, :])
    mixed = np.where(v < u, u * v - v**2 / 2, u**2 / 2)
    return _Block(
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
    >>> chain = Chain(rows=observed(), form=PLAIN)
    >>> mean, covariance = chain.moments({number.name: number.median for number in PLAIN.numbers})
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

        def one(observed: BoolArray, *asked: str) -> Array:
            return np.concatenate([observed, np.isin(wanted, asked)]).astype(float)

        no = np.zeros(len(rows), dtype=bool)
        after = np.maximum(self._dates - BREAK, 0)
        return {
            "run": one(rows.compute == RUN),
            "compute": one(rows.compute == RUN, "compute", "compute_slope"),
            "algorithms": one(no, "algorithms", "algorithms_slope"),
            "own": one(rows.horizon, "own", "own_slope"),
            "model": one(rows.compute != RUN),
            "horizon": one(rows.horizon),
            "level": one(no, "level"),
            "anchor": one(no, "anchor"),
            "curve": one(no, "curve"),
            "disclosed": one(rows.compute == DISCLOSED),
            "undisclosed": one(rows.compute == UNDISCLOSED),
            "stated": np.concatenate([rows.stated, np.zeros(more)]),
            "stated_error": np.concatenate([rows.stated_error, np.zeros(more)]),
            "error": np.concatenate([rows.error, np.zeros(more)]),
            "square": np.concatenate([self._index_beside**2, np.zeros(more)]),
            "after": np.where(self._slope, (after > 0).astype(float), after),
        }

    @cached_property
    def _index_beside(self) -> Array:
        """By how much the index of a horizon's model is above `INDEX_OF_ANCHOR`; 0 where it has none."""
        rated = dict(zip(self.rows.model[self.rows.rated], self.rows.value[self.rows.rated], strict=True))
        beside = [rated.get(name, INDEX_OF_ANCHOR) - INDEX_OF_ANCHOR for name in self.rows.model]
        return np.where(self.rows.horizon, beside, 0.0)

    @cached_property
    def _dates(self) -> Array:
        return np.concatenate([self.rows.date, [each.date for each in self.asked]])

    @cached_property
    def _slope(self) -> BoolArray:
        return np.array([False] * len(self.rows) + [each.what.endswith("slope") for each in self.asked])

    @cached_property
    def _blocks(self) -> tuple[_Block, _Block, _Block]:
        """Covariances of C, of A and of the horizon's own line at every row."""
        lines = ((START, START), (MIDDLE, START), (OWN_MIDDLE, PACE_YEAR))
        return tuple(_block(self._dates, self._slope, *line) for line in lines)  # type: ignore[return-value]

    @cached_property
    def _shared(self) -> tuple[_Pairs, _Pairs]:
        """Which rows are of one model, and which of one organisation, as pairs of places."""
        name, maker = self.rows.model, self.rows.organisation
        team = (maker[:, None] == maker[None, :]) & (maker != "")[None, :]
        return np.nonzero(name[:, None] == name[None, :]), np.nonzero(team)

    def moments(self, at: Mapping[str, float | Array]) -> tuple[Array, Array]:
        """Return mean and covariance of the rows, and after them of what is asked, at some numbers.

        Parameters
        ----------
        at : mapping of str to float or ndarray
            Each number, or (..., ) of them, for as many means and covariances.
        """
        of, (c, a, own), (same, team), form = self._of, self._blocks, self._shared, self.form
        # numbers are columns beside the rows
        numbers = {name: np.asarray(value, dtype=float)[..., None] for name, value in at.items()}
        points, doublings, bend = numbers["points"], numbers["doublings"], numbers.get("bend", np.zeros(1))
        # everything that is a model's stands in points, and in doublings where it is a horizon
        unit = np.where(of["horizon"] > 0, doublings, 1.0)
        rate = np.exp(-bend * TANGENT)
        on_c = of["compute"] + points * rate * unit * of["undisclosed"]
        on_a = of["algorithms"] + points * unit * of["model"]
        on_own = np.broadcast_to(of["own"], on_c.shape)

        lines = {
            "compute": on_c * c.start,
            "compute_slope": on_c * c.line,
            "base": unit * of["model"] + of["level"],
            "lead": unit * of["undisclosed"] + of["level"],
            "anchor": of["horizon"] + of["anchor"],
        }
        if not form.driven:
            lines["algorithms_slope"] = on_a * a.line
        if form.algorithms.endswith("break"):
            lines["algorithms_break"] = on_a * of["after"]
        if form.horizon == "own":
            lines["own_slope"] = on_own * own.line
        elif form.horizon == "break":
            lines["own_break"] = on_own * of["after"]
        elif form.horizon == "square":
            lines["curve"] = of["square"] + of["curve"]

        counted = worth(of["stated"], bend) * of["disclosed"]
        tangent = worth(np.array([TANGENT]), bend) - rate * (ANCHOR_LOG10_FLOP + TANGENT)
        mean = points * unit * (counted + tangent * of["undisclosed"]) - INDEX_OF_ANCHOR * doublings * of["horizon"]
        if form.driven:
            gained, pace = driven(self._dates, numbers)
            mean += on_a * np.where(self._slope, pace, gained - driven(np.array([MIDDLE]), numbers)[0])
        for name, line in lines.items():
            mean += form.level(name)[0] * line
        levels = [np.broadcast_to(form.level(name)[1] * line, on_c.shape) for name, line in lines.items()]
        spread = np.stack(levels, axis=-1)
        covariance = spread @ np.swapaxes(spread, -1, -2)
        # an error in stated compute is one of the model, at the slope where it stands
        off = points * np.exp(-bend * of["stated"]) * of["stated_error"]
        luck = np.where(of["disclosed"] > 0, np.hypot(numbers["disclosed_scatter"], off), numbers["frontier_scatter"])
        habit = numbers["organisation_scatter"] * unit * of["disclosed"]
        for each, (row, other) in ((luck * unit * of["model"], same), (habit, team)):
            covariance[..., row, other] += each[..., row] * each[..., other]
        for part, block, on in (("compute", c, on_c), ("algorithms", a, on_a), ("horizon", own, on_own)):
            for moves, shape in ((f"{part}_walk", block.walk), (f"{part}_turn", block.turn)):
                if moves in numbers:
                    size = numbers[moves] * on
                    covariance += (size[..., :, None] * shape) * size[..., None, :]
        noise = of["error"] ** 2 + numbers["run_scatter"] ** 2 * of["run"]
        noise = noise + numbers["horizon_scatter"] ** 2 * of["horizon"]
        every = np.arange(len(of["error"]))
        covariance[..., every, every] += noise
        return mean, covariance
