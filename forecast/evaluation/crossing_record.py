"""How often a level was reached by a date, against the probability that was stated: reliability, Brier, climatology.

A statement is of the best so far: that a series reaches, by a date, a level so many times beyond the best that was
known at the origin. That it sets any new record by then is a statement of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from forecast.base.arrays import Array, accumulate
from forecast.base.lazy import xr

#: How far beyond the best so far the levels lie; 1: any new record.
LEVEL_FACTORS = (1.0, 1.1, 1.5, 2.0, 4.0, 10.0)
#: Stated probabilities that are counted together, by their ends.
PROBABILITY_BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
#: A value that is written twice in different digits is no new record.
RECORD_RTOL = 1e-9
#: Dates further ahead count as these where rates of other series are compared.
MOST_YEARS = 10
_KINDS = {"level": slice(1, None), "record": slice(0, 1)}


def reached_by(draws: Array, observed: Array, known: Array) -> tuple[Array, Array]:
    """Return the stated probability of each level by each date, and whether it was reached by then.

    Parameters
    ----------
    draws : ndarray
        (date, draw): paths of observations, positive, in the order of the dates.
    observed : ndarray
        (date,): what came.
    known : ndarray
        What was known at the origin, oldest first. Rising means that the later half is the higher one; of what falls
        the least is the best.

    Returns
    -------
    tuple of ndarray
        Both (date, level), the levels those of `LEVEL_FACTORS`; the second of 0 and 1.

    Examples
    --------
    >>> paths = np.array([[1.0, 3.0], [2.5, 3.0]])
    >>> stated, happened = reached_by(paths, np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    >>> stated[:, :3].tolist()  # any record, 1.1 and 1.5 times the best
    [[0.5, 0.5, 0.5], [1.0, 1.0, 0.5]]
    >>> happened[:, :3].tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    half = len(known) // 2
    sign = 1.0 if np.median(known[half:]) >= np.median(known[:half]) else -1.0
    levels = np.max(sign * np.log(known)) + np.log(LEVEL_FACTORS)
    levels[0] += RECORD_RTOL
    paths = accumulate(np.maximum, sign * np.log(draws))
    came = np.maximum.accumulate(sign * np.log(observed))
    return (paths[..., None] >= levels).mean(axis=1), (came[:, None] >= levels).astype(float)


def reliability_rows(stated: Array, happened: Array) -> list[dict[str, Any]]:
    """Return a row for each range of stated probabilities, and one for the whole, which comes first.

    Parameters
    ----------
    stated, happened : ndarray
        Of each statement.

    Returns
    -------
    list of dict
        ``lower`` and ``upper`` end of the range, the ``count`` of statements, their mean (``stated``) and the share
        that came true (``happened``); of the whole also the ``brier`` score. Ranges without a statement are left out.

    Examples
    --------
    >>> rows = reliability_rows(np.array([0.05, 0.4, 0.45]), np.array([0.0, 1.0, 0.0]))
    >>> [(row["lower"], row["upper"], row["count"], row["happened"]) for row in rows[1:]]
    [(0.0, 0.1, 1, 0.0), (0.3, 0.5, 2, 0.5)]
    """
    place = np.clip(np.searchsorted(PROBABILITY_BINS, stated, side="right") - 1, 0, len(PROBABILITY_BINS) - 2)
    rows = []
    for i, (low, high) in enumerate([(0.0, 1.0), *itertools.pairwise(PROBABILITY_BINS)]):
        chosen = np.full(len(stated), True) if i == 0 else place == i - 1
        if chosen.any():
            rows.append(
                {
                    "lower": low, "upper": high, "count": int(chosen.sum()), "stated": float(stated[chosen].mean()),
                    "happened": float(happened[chosen].mean()),
                }
            )  # fmt: skip
    if rows:
        rows[0]["brier"] = float(np.mean((stated - happened) ** 2))
    return rows


def tally_crossings(found: Sequence[tuple[str, xr.Dataset]], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Walk how statements of each model have done, by kind of series and by kind of statement.

    Parameters
    ----------
    found : sequence of (str, xarray.Dataset)
        Kind of series, and its backtest with ``crossings``.
    names : sequence of str
        Of the models.

    Yields
    ------
    dict
        ``name``, ``kind`` of series, ``statement`` (``level`` or ``record``), how many ``series`` and what
        `reliability_rows` gives; of the whole also the Brier score of ``climatology``: the share of other series, of
        any kind, in which the level was reached as many years ahead. It is missing where there is no other series.
    """
    for statement, levels in _KINDS.items():
        parts = [(kind, each.isel(level=levels)) for kind, each in found]
        usual = _climatology_shares([each for _, each in parts])
        for name in names:
            for kind in ("all", *sorted({kind for kind, _ in parts} - {"all"})):
                mine = [
                    (each["stated"].sel(model=name).values, each["happened"].values, rate)
                    for (own, each), rate in zip(parts, usual, strict=True)
                    if kind in ("all", own) and name in each["model"].values
                ]
                mine = [part for part in mine if np.isfinite(part[0]).any()]
                if not mine:
                    continue
                stated, happened, rate = (np.concatenate([part[i].ravel() for part in mine]) for i in range(3))
                made = np.isfinite(stated) & np.isfinite(happened)
                rows = reliability_rows(stated[made], happened[made])
                if np.isfinite(rate[made]).all():
                    rows[0]["climatology"] = float(np.mean((rate[made] - happened[made]) ** 2))
                for row in rows:
                    yield {"name": name, "kind": kind, "statement": statement, "series": len(mine), **row}


def _climatology_shares(found: Sequence[xr.Dataset]) -> list[Array]:
    """Return, for each statement about a series, how often its like came true in the others, as many years ahead."""
    years = [np.clip(np.ceil(each["years"].values), 1, MOST_YEARS) for each in found]  # (origin, horizon)
    came = [each["happened"].transpose("origin", "horizon", "level").values for each in found]
    if not found:
        return []
    sums = np.zeros((2, len(found), MOST_YEARS + 1, came[0].shape[-1]))
    for i, (ahead, happened) in enumerate(zip(years, came, strict=True)):
        known = np.isfinite(ahead)
        for total, values in zip(sums[:, i], (happened[known], np.ones_like(happened[known])), strict=True):
            np.add.at(total, ahead[known].astype(int), values)
    out = []
    for i, ahead in enumerate(years):
        hits, count = np.sum(sums, axis=1) - sums[:, i]
        rate = np.where(count > 0, hits / np.maximum(count, 1), math.nan)
        out.append(rate[np.where(np.isfinite(ahead), ahead, 0).astype(int)])
    return out


def statement_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say how statements like one have done, with one shape or several.

    Parameters
    ----------
    rows : sequence of mapping
        Of one range of stated probabilities.

    Examples
    --------
    >>> rows = [{"lower": 0.3, "upper": 0.5, "count": 210, "happened": share} for share in (0.41, 0.35)]
    >>> statement_text(rows)
    'of 210 past statements of 30 to 50 %, 35 to 41 % came true'
    """
    shares = sorted({round(100 * row["happened"]) for row in rows})
    came = " to ".join(str(share) for share in dict.fromkeys((shares[0], shares[-1])))
    return (
        f"of {min(row['count'] for row in rows):,} past statements of {100 * rows[0]['lower']:.0f} to "
        f"{100 * rows[0]['upper']:.0f} %, {came} % came true"
    )
