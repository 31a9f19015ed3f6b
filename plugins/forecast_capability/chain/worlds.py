"""The chain at a date, a row a world: joint draws of its numbers, and of the state from which it goes on.

They are shipped for the rows of the tables, as `make_draws` wrote them. As of an earlier date, and with rows that
somebody adds, they are drawn anew in some seconds, and kept while the process lasts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from forecast.errors import EmptyDataError
from forecast_capability.chain.estimate import FIRST_INDEX_YEAR, NOW
from forecast_capability.chain.likelihood import FORMS, STRAIGHT, TANGENT, Asked, Chain, Form, worth
from forecast_capability.chain.posterior import sample, state
from forecast_capability.chain.rows import ANCHOR_LOG10_FLOP, Rows, observed

Array = NDArray[np.float64]

__all__ = [
    "ALONE",
    "DRAWS_FOLDER",
    "SPAN",
    "WORLD_COLUMNS",
    "WORLD_DATE_ATOL_YEARS",
    "Worlds",
    "columns",
    "columns_alone",
    "worlds",
]

#: Where they are shipped.
DRAWS_FOLDER = Path(__file__).parent / "draws"
#: Dates this many years apart are one.
WORLD_DATE_ATOL_YEARS = 1e-6
#: Years before the date over which growth so far is a mean.
SPAN = NOW - FIRST_INDEX_YEAR
#: Of an estimate as of an earlier date: draws, and steps of the ensemble.
N_WORLDS, N_WORLD_STEPS = 1000, 500

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
    "anchor": "Base-2 logarithm of the horizon in minutes at an index of 140",
    "doublings": "Doublings of the horizon a point of the index",
    "horizon_scatter": "Standard deviation of single models' horizons, doublings",
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


@dataclass(frozen=True, kw_only=True)
class Worlds:
    """Joint draws at a date.

    Parameters
    ----------
    form : str
        Or "alone".
    now : float
        The date of the state.
    rows : Rows
        What they are drawn from.
    columns : mapping of str to ndarray
        By the names of `WORLD_COLUMNS` or `ALONE`, (draw,) each, ordered by how fast the index rises at the date.
    """

    form: str
    now: float
    rows: Rows = field(repr=False)
    columns: dict[str, Array] = field(repr=False)

    def __len__(self) -> int:
        return len(self.columns["level"])

    def at(self, place: Array) -> dict[str, Array]:
        """Return the draws at places from 0 to 1 among them."""
        row = np.minimum((place * len(self)).astype(np.intp), len(self) - 1)
        return {name: values[row] for name, values in self.columns.items()}


def columns(rows: Rows, form: Form, *, now: float, draws: int, steps: int, seed: int = 0) -> dict[str, Array]:
    """Draw `WORLD_COLUMNS`, (draw,) each, for a scenario's worlds: ordered by how fast the index rises at the date.

    Parameters
    ----------
    rows : Rows
        All dated before `now`.
    form : Form
    now : float
        The date of the state.
    draws, steps, seed : int
    """
    asked = (
        *(Asked(f"{part}{slope}", now) for part in ("compute", "algorithms") for slope in ("", "_slope")),
        *(Asked(part, now - SPAN) for part in ("compute", "algorithms")),
        Asked("level", now),
        Asked("anchor", now),
    )
    drawn = sample(Chain(rows=rows, form=form), steps=steps, seed=seed).thinned(draws, seed)
    numbers = {"bend": np.zeros(draws), **drawn.numbers}
    found = state(Chain(rows=rows, form=form, asked=asked), drawn, seed=seed)
    compute, compute_slope, algorithms, algorithms_slope, compute_then, algorithms_then, level, anchor = found.T
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
    }
    rise = numbers["points"] * (
        algorithms_slope + np.exp(-numbers["bend"] * (compute - ANCHOR_LOG10_FLOP)) * compute_slope
    )
    order = np.argsort(rise, kind="stable")
    return {name: numbers[name][order] for name in WORLD_COLUMNS}


def columns_alone(rows: Rows, *, now: float, draws: int, steps: int, seed: int = 0) -> dict[str, Array]:
    """Draw `ALONE`, (draw,) each, ordered by the slope, from rows of the index alone.

    Likelihood and priors are those of the chain. Without a run, a horizon or disclosed compute they tell nothing of
    compute and algorithms but the sum of both, in points.

    Parameters
    ----------
    rows, now, draws, steps, seed
        See `columns`.
    """
    of = columns(rows, STRAIGHT, now=now, draws=draws, steps=steps, seed=seed)
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
    return {name: found[name][order] for name in ALONE}


def worlds(form: str, as_of: float | None = None) -> Worlds:
    """Return the joint draws of a form, or of the index alone, as of a date or from all rows.

    Raises
    ------
    EmptyDataError
        If no row is dated before it.
    """
    now = NOW if as_of is None else min(as_of, NOW)
    rows = observed(as_of)
    rows = rows.index_alone if form == "alone" else rows
    if not len(rows):
        raise EmptyDataError(f"chain: no model with an index is dated before {now:.2f}")
    return _drawn(_From(form=form, now=now, hash=rows.hash, rows=rows))


@dataclass(frozen=True, kw_only=True)
class _From:
    """What draws are from: the hash stands for the rows."""

    form: str
    now: float
    hash: str
    rows: Rows = field(compare=False)


@lru_cache(maxsize=32)
def _drawn(what: _From) -> Worlds:
    """Return the shipped draws where they are from the same rows, and others anew."""
    shipped = DRAWS_FOLDER / f"chain-{what.form}" / "made-from.json"
    if abs(what.now - NOW) < WORLD_DATE_ATOL_YEARS and json.loads(shipped.read_text("utf-8"))["rows"] == what.hash:
        from forecast import tables

        read = tables.to_columns(f"capability/chain-{what.form}", where=f"chain-{what.form}")
        made = {name: read.numeric(name) for name in read}
    elif what.form == "alone":
        made = columns_alone(what.rows, now=what.now, draws=N_WORLDS, steps=N_WORLD_STEPS)
    else:
        made = columns(what.rows, FORMS[what.form], now=what.now, draws=N_WORLDS, steps=N_WORLD_STEPS)
    return Worlds(form=what.form, now=what.now, rows=what.rows, columns=made)
