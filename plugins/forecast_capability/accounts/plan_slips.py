"""How plans of sites slip: what one edition planned, against what the next says was done and is planned now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array, BoolArray
from forecast.errors import DataError
from forecast_capability.accounts.ratios import EDITIONS, Tables

__all__ = ["EDITION_DAYS", "DueStep", "due_steps", "plan_revisions"]

#: The days of the two editions, decimal years: 2026-05-23 and 2026-09-27.
EDITION_DAYS = (2026.39, 2026.738)


@dataclass(frozen=True, kw_only=True)
class DueStep:
    """The next step of a site that one edition planned to be done by the day of the other.

    Parameters
    ----------
    site : str
    late : float
        Years from the planned day to that on which the site had the power, or to the later edition's.
    done : bool
        It had the power by then.
    """

    site: str
    late: float
    done: bool


@dataclass(frozen=True, kw_only=True)
class _Sites:
    """Dates and power of every site in one edition, what stands and what is planned."""

    dates: Array
    power: Array
    names: NDArray[np.str_]
    plan: BoolArray

    def of(self, site: str, *, plan: bool) -> tuple[Array, Array]:
        """Return dates and power of a site, the earliest first."""
        rows = np.flatnonzero((self.names == site) & (self.plan == plan))
        rows = rows[np.argsort(self.dates[rows], kind="stable")]
        return self.dates[rows], self.power[rows]


def _read_editions() -> tuple[_Sites, _Sites]:
    from forecast import tables

    found = []
    for edition in EDITIONS:
        rows = Tables().rows("data-centres", "date", edition=edition)
        if rows is None:
            raise DataError(f"datasets/data-centres: expected rows of the edition {edition}, got none")
        found.append(
            _Sites(
                dates=tables.decimal_year(rows.column("date")),
                power=rows.numeric("power"),
                names=np.char.lower(rows.column("site").astype(str)),
                plan=rows.column("plan").astype(str) == "yes",
            )
        )
    return found[0], found[1]


def due_steps() -> list[DueStep]:
    """Return the next step of each site that was due by the later edition, if that says what the site has.

    Examples
    --------
    >>> steps = due_steps()
    >>> len(steps), sum(step.done for step in steps)
    (8, 4)
    """
    before, after = _read_editions()
    steps = []
    for site in map(str, np.unique(before.names)):
        due, planned = before.of(site, plan=True)
        days, power = after.of(site, plan=False)
        if not len(due) or due[0] > EDITION_DAYS[1] or not len(days):
            continue
        there = days[power >= planned[0]]
        until = float(there[0]) if len(there) else EDITION_DAYS[1]
        late = max(until - float(due[0]), 0.0)
        steps.append(DueStep(site=site, late=late, done=bool(len(there))))
    return steps


def plan_revisions() -> dict[str, float]:
    """Return by how much the final power planned at a site grew from one edition to the next, in logs, by site."""
    before, after = _read_editions()
    ends = [{site: each.of(site, plan=True)[1] for site in map(str, np.unique(each.names))} for each in (before, after)]
    return {
        site: float(np.log(ends[1][site].max() / power.max()))
        for site, power in ends[0].items()
        if len(power) and len(ends[1].get(site, ()))
    }
