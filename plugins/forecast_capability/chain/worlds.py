"""The chain at a date, a row a world: joint draws of its numbers, and of the state from which it goes on.

They are shipped for the rows of the tables, as `make_draws` wrote them. As of an earlier date, and with rows that
somebody adds, a form is drawn anew when a world has it, in a second or two, and kept while the process lasts.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array
from forecast.errors import EmptyDataError
from forecast_capability.chain.estimate import FIRST_INDEX_YEAR, NOW
from forecast_capability.chain.likelihood import FORMS, HORIZONS, TANGENT, Asked, Chain, Form, worth
from forecast_capability.chain.posterior import sample, state
from forecast_capability.chain.rows import ANCHOR_LOG10_FLOP, RUN, Rows, observed

__all__ = [
    "ALONE",
    "ALONE_FORM",
    "DRAWS_FOLDER",
    "RIVALS",
    "SPAN",
    "WORLD_COLUMNS",
    "WORLD_DATE_ATOL_YEARS",
    "Estimates",
    "Worlds",
    "columns",
    "columns_alone",
    "estimates",
]

#: Where they are shipped.
DRAWS_FOLDER = Path(__file__).parent / "draws"
#: Dates this many years apart are one.
WORLD_DATE_ATOL_YEARS = 1e-6
#: Years before the date over which growth so far is a mean.
SPAN = NOW - FIRST_INDEX_YEAR
#: Of an estimate as of an earlier date: draws, and of how many independent ones they are worth.
N_WORLDS, WORTH = 200, 120.0
#: What the index by its own trend is estimated under: it has no compute, and no horizon.
ALONE_FORM = Form(horizon=HORIZONS[1])

#: The columns of a table of draws, and what each is.
WORLD_COLUMNS = {
    "points": "Points of the index per order of magnitude of compute, at 1e25 FLOP",
    "bend": "By which share an order of magnitude is worth less an order further on; 0 in the straight form",
    "pace": f"Orders of magnitude of compute a year that algorithms gave over the last {SPAN:g} years",
    "growth": f"Orders of magnitude a year that the largest training run grew over the last {SPAN:g} years",
    "compute": "Base-10 logarithm of the FLOP of the largest training run",
    "compute_slope": "What it gains a year at the date",
    "compute_walk": "Standard deviation of its random walk over a year",
    "compute_turn": "Standard deviation of what its slope gains in a year",
    "algorithms_slope": "Orders of magnitude of compute a year that algorithms give at the date",
    "algorithms_walk": "Standard deviation of their random walk over a year",
    "algorithms_turn": "Standard deviation of what their slope gains in a year",
    "level": "Index of the frontier (edition 2026-08)",
    "frontier_scatter": "Standard deviation of single models at the frontier, points",
    "elasticity": "By which power of its input research finds more; 0 where nothing drives algorithms",
    "beta": "Orders by which what is found makes the next order harder to find; 0 where nothing drives algorithms",
    "anchor": "Base-2 logarithm of the horizon in minutes at an index of 140",
    "doublings": "Doublings of the horizon a point of the index",
    "curve": "Doublings a squared point above 140",
    "own": "Doublings of the horizon beside the index, at the date",
    "own_slope": "What they gain a year",
    "own_walk": "Standard deviation of their random walk over a year",
    "horizon_scatter": "Standard deviation of single models' horizons, doublings",
}

#: The columns that say of which form a row of the shipped table is.
RIVALS = {
    "compute_form": "What an order of magnitude of compute is worth beyond 1e25 FLOP",
    "algorithms_form": "How algorithms go on",
    "horizon_form": "How the time horizon goes on beside the index",
}

#: The same of the index by its own trend.
ALONE = {
    "so_far": f"Points a year that the index of the frontier gained over the last {SPAN:g} years",
    "slope": "Points a year that it gains at the date",
    "walk": "Standard deviation of its random walk over a year, points",
    "turn": "Standard deviation of what its slope gains in a year, points a year",
    "level": WORLD_COLUMNS["level"],
    "frontier_scatter": WORLD_COLUMNS["frontier_scatter"],
}


class DrawnColumns(dict[str, Array]):
    """Columns of worlds, each drawn when it is first read: a model reads few of them."""

    def __init__(self, column: Callable[[str], Array]) -> None:
        self._column = column

    def __missing__(self, name: str) -> Array:
        """Draw a column."""
        self[name] = self._column(name)
        return self[name]


@dataclass(frozen=True, kw_only=True)
class Worlds:
    """Joint draws of a form at a date.

    Parameters
    ----------
    form : Form
    columns : mapping of str to ndarray
        By the names of `WORLD_COLUMNS` or `ALONE`, (draw,) each, ordered by how fast the index rises at the date.
    """

    form: Form
    columns: dict[str, Array] = field(repr=False)

    def __len__(self) -> int:
        return len(self.columns["level"])

    def at(self, place: Array) -> dict[str, Array]:
        """Return the draws at places from 0 to 1 among them."""
        row = np.minimum((place * len(self)).astype(np.intp), len(self) - 1)
        return DrawnColumns(lambda name: self.columns[name][row])


@dataclass(frozen=True, kw_only=True)
class Estimates:
    """The joint draws of every form at a date, each when it is asked for.

    Parameters
    ----------
    now : float
        The date of the state.
    rows : Rows
        What they are drawn from.
    """

    now: float
    rows: Rows = field(repr=False)

    def of(self, form: Form) -> Worlds:
        """Return the draws of a form."""
        return _drawn(_From(form=form, now=self.now, hash=self.rows.hash, rows=self.rows))

    def at(self, codes: NDArray[np.intp], place: Array) -> dict[str, Array]:
        """Return the draws of worlds that have these forms, by their codes, at these places among the draws of each."""
        rows = {int(code): np.flatnonzero(codes == code) for code in np.unique(codes)}
        drawn = [(which, self.of(FORMS[code]).at(place[which])) for code, which in rows.items()]

        def column(name: str) -> Array:
            found = np.empty(len(place))
            for which, each in drawn:
                found[which] = each[name]
            return found

        return DrawnColumns(column)


def columns(rows: Rows, form: Form, *, now: float, draws: int, worth_of: float, seed: int = 0) -> Worlds:
    """Draw `WORLD_COLUMNS` for a scenario's worlds, ordered by how fast the index rises at the date.

    Parameters
    ----------
    rows : Rows
        All dated before `now`.
    form : Form
    now : float
        The date of the state.
    draws : int
    worth_of : float
        Of how many independent draws they are worth.
    seed : int
    """
    asked = (
        *(Asked(f"{part}{slope}", now) for part in ("compute", "algorithms", "own") for slope in ("", "_slope")),
        *(Asked(part, now - SPAN) for part in ("compute", "algorithms")),
        *(Asked(part, now) for part in ("level", "anchor", "curve")),
    )
    drawn = sample(Chain(rows=rows, form=form), draws=draws, worth=worth_of, seed=seed)
    # what a form does not have moves nothing
    numbers = {name: np.zeros(draws) for name in ("bend", "elasticity", "beta", "algorithms_turn", "horizon_walk")}
    numbers |= drawn.numbers
    found = state(Chain(rows=rows, form=form, asked=asked), drawn, seed=seed)
    compute, compute_slope, algorithms, algorithms_slope, own, own_slope = found.T[:6]
    compute_then, algorithms_then, level, anchor, curve = found.T[6:]
    counted = worth(np.array(TANGENT), numbers["bend"])
    counted = counted + np.exp(-numbers["bend"] * TANGENT) * (compute - ANCHOR_LOG10_FLOP - TANGENT)
    numbers |= {
        "pace": (algorithms - algorithms_then) / SPAN,
        "growth": (compute - compute_then) / SPAN,
        "compute": compute,
        "compute_slope": compute_slope,
        "algorithms_slope": algorithms_slope,
        "level": level + numbers["points"] * (counted + algorithms),
        "anchor": anchor,
        "curve": curve,
        "own": own,
        "own_slope": own_slope,
        "own_walk": numbers["horizon_walk"],
    }
    rise = numbers["points"] * (
        algorithms_slope + np.exp(-numbers["bend"] * (compute - ANCHOR_LOG10_FLOP)) * compute_slope
    )
    if form.horizon in ("none", "square"):
        numbers |= {"own": np.zeros(draws), "own_slope": np.zeros(draws)}
    if form.horizon != "square":
        numbers["curve"] = np.zeros(draws)
    order = np.argsort(rise, kind="stable")
    result = {name: numbers[name][order] for name in WORLD_COLUMNS}
    return Worlds(form=form, columns=result)


def columns_alone(
    rows: Rows, form: Form = ALONE_FORM, *, now: float, draws: int, worth_of: float, seed: int = 0
) -> Worlds:
    """Draw `ALONE`, ordered by the slope, from rows of the index alone.

    Likelihood and priors are those of the chain. Without a run, a horizon or disclosed compute they tell nothing of
    compute and algorithms but the sum of both, in points.

    Parameters
    ----------
    rows, form, now, draws, worth_of, seed
        See `columns`; of its rivals the form has none.
    """
    of = columns(rows, form, now=now, draws=draws, worth_of=worth_of, seed=seed).columns
    points = of["points"]
    found = {
        "so_far": points * (of["growth"] + of["pace"]),
        "slope": points * (of["compute_slope"] + of["algorithms_slope"]),
        "walk": points * np.hypot(of["compute_walk"], of["algorithms_walk"]),
        "turn": points * np.hypot(of["compute_turn"], of["algorithms_turn"]),
        "level": of["level"],
        "frontier_scatter": of["frontier_scatter"],
    }
    order = np.argsort(found["slope"], kind="stable")
    return Worlds(form=form, columns={name: found[name][order] for name in ALONE})


def estimates(as_of: float | None = None, *, alone: bool = False) -> Estimates:
    """Return what gives the joint draws, as of a date or from all rows; `alone`, from rows of the index alone.

    Raises
    ------
    EmptyDataError
        If no row is dated before it.
    """
    now = NOW if as_of is None else min(as_of, NOW)
    rows = observed(as_of)
    rows = rows.index_alone if alone else rows
    if not len(rows):
        raise EmptyDataError(f"chain: no model with an index is dated before {now:.2f}")
    return Estimates(now=now, rows=rows)


@dataclass(frozen=True, kw_only=True)
class _From:
    """What draws are from: the hash stands for the rows."""

    form: Form
    now: float
    hash: str
    rows: Rows = field(compare=False)


@lru_cache(maxsize=128)
def _drawn(what: _From) -> Worlds:
    """Return the shipped draws where they are from the same rows, and others anew."""
    name = "chain-alone" if what.form == ALONE_FORM and not np.any(what.rows.compute == RUN) else "chain-worlds"
    shipped = json.loads((DRAWS_FOLDER / name / "made-from.json").read_text("utf-8"))
    if abs(what.now - NOW) < WORLD_DATE_ATOL_YEARS and shipped["rows"] == what.hash:
        return Worlds(form=what.form, columns=_shipped(name)[what.form.name])
    form = replace(what.form, known=what.now)
    draw = columns_alone if name == "chain-alone" else columns
    return draw(what.rows, form, now=what.now, draws=N_WORLDS, worth_of=WORTH)


@lru_cache(maxsize=2)
def _shipped(name: str) -> dict[str, dict[str, Array]]:
    """Return a shipped table of draws, by the names of its forms."""
    from forecast import tables

    read = tables.to_columns(f"capability/{name}", where=name)
    if name == "chain-alone":
        return {ALONE_FORM.name: {column: read.numeric(column) for column in ALONE}}
    of = np.array([", ".join(each) for each in zip(*map(read.column, RIVALS), strict=True)])
    rows = {form.name: np.flatnonzero(of == form.name) for form in FORMS}
    values = {column: read.numeric(column) for column in WORLD_COLUMNS}
    return {form: {column: each[mine] for column, each in values.items()} for form, mine in rows.items()}
