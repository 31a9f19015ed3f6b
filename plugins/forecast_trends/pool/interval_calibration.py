"""How wide forecasts of other series have had to be: hindcasts by family of series, shipped with the plugin.

`forecast_trends.pool.make` writes them anew.
"""

from __future__ import annotations

import csv
import functools
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from forecast.base.arrays import Array

__all__ = [
    "CROSSINGS",
    "FAMILIES_FILE",
    "HINDCASTS",
    "TRACK_RECORD",
    "Calibration",
    "calibration",
    "families",
    "family_of",
]

#: Which series tell of the same thing: what is tuned on one may not be judged on another.
FAMILIES_FILE = Path(__file__).with_name("families.csv")
#: One row a hindcast: family, date of the outcome, and by how much of half the 90 % interval it missed.
HINDCASTS = Path(__file__).with_name("hindcasts.csv")
#: How each shape has done, by kind of series and horizon.
TRACK_RECORD = Path(__file__).with_name("track-record.csv")
#: How often levels were reached by a date, as each shape stated.
CROSSINGS = Path(__file__).with_name("crossings.csv")

#: What 17 families of series ask for that are not shipped (technologies' costs, TOP500, processors, GPUs, AI), all of
#: their outcomes taken; with any one of them left out 1.05 to 1.24.
_PRIOR, _PRIOR_FAMILIES = 1.2, 17.0
#: A miss is never called so small that the interval all but vanishes.
_LEAST = 0.2


@dataclass(frozen=True)
class Calibration:
    """What the record asks for.

    Parameters
    ----------
    factor : float
        By which the spread is multiplied.
    families, hindcasts : int
        How many it rests on.
    """

    factor: float = _PRIOR
    families: int = 0
    hindcasts: int = 0

    def said(self) -> str:
        """Say it for a description."""
        if not self.families:
            return (
                f"its width is {self.factor:.2f} times that of the shapes: no record of other series goes back so far"
            )
        return (
            f"its width is {self.factor:.2f} times that of the shapes, after {self.hindcasts} forecasts of "
            f"{self.families} other families of series"
        )


@functools.cache
def families() -> dict[str, str]:
    """Return the family of each series that the table names."""
    with FAMILIES_FILE.open(encoding="utf-8", newline="") as file:
        return {row["series"]: row["family"] for row in csv.DictReader(file)}


def family_of(series: str) -> str:
    """Return the family of a series, by its name or as the name of a family; empty where the table has neither.

    Examples
    --------
    >>> family_of("hardware/linpack@pool")
    'top500'
    """
    name = series.partition("@")[0]
    known = families()
    return known.get(name, name if name in known.values() else "")


@functools.cache
def _hindcasts() -> tuple[list[str], Array, Array]:

    if not HINDCASTS.exists():
        return [], np.empty(0), np.empty(0)
    with HINDCASTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return (
        [row["family"] for row in rows],
        np.array([float(row["outcome"]) for row in rows]),
        np.array([float(row["miss"]) for row in rows]),
    )


def calibration(family: str, *, before: float) -> Calibration:
    """Return by how much 90 % intervals had to be stretched to hold 90 %, families alike, shrunk towards the prior.

    Parameters
    ----------
    family : str
        Left out.
    before : float
        Only outcomes up to this date.
    """
    names, outcome, miss = _hindcasts()
    told = np.array([name != family for name in names], dtype=bool) & (outcome <= before)
    if not told.any():
        return Calibration()
    kept, which, count = np.unique(np.array(names)[told], return_inverse=True, return_counts=True)
    order = np.argsort(miss[told], kind="stable")
    share = np.cumsum((1 / count[which])[order]) / len(kept)
    measured_factor = miss[told][order][int(np.searchsorted(share, 0.9 - 1e-9))]
    trust = len(kept) / (len(kept) + _PRIOR_FAMILIES)
    factor = math.exp(trust * math.log(max(float(measured_factor), _LEAST)) + (1 - trust) * math.log(_PRIOR))
    return Calibration(factor=factor, families=len(kept), hindcasts=int(told.sum()))
