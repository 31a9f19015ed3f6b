"""What the chain is estimated from: training runs, models with an index, and time horizons, a row each.

All come from tables of `forecast_datasets`. The index is that of one edition; models that only a later edition has are
shifted by the mean difference of those that are in both. As of a date before that edition it is what scores known then
give (`rescored`), which knows no later model.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast.base.arrays import Array, BoolArray
from forecast.errors import EmptyDataError
from forecast_capability.quantities.index import (
    HORIZON_TABLE,
    INDEX_EDITION,
    INDEX_TABLE,
    RELIABLE,
    RUNS_TABLE,
    SAME,
    horizon_version,
)

if TYPE_CHECKING:
    from forecast.tables.columns import Columns


__all__ = ["ANCHOR_LOG10_FLOP", "DISCLOSED", "FIRST_RECORD_YEAR", "RUN", "UNDISCLOSED", "Rows", "observed"]

#: What a row says its model's compute is: of a record of training compute, stated, or not stated.
RUN, DISCLOSED, UNDISCLOSED = 0, 1, 2

#: Compute stands in orders of magnitude over 1e25 FLOP.
ANCHOR_LOG10_FLOP = 25.0
#: Records of compute are rows from here on.
FIRST_RECORD_YEAR = 2018.0
LATER_EDITION = "2026-09"
#: When the edition was published: before it nobody knew its scale.
EDITION_YEAR = 2026.62
LEAST_LOG10_FLOP = 22.0

#: Orders of magnitude, one standard deviation, by what Epoch AI calls its confidence in a model's compute: ours.
ERROR_OF_COMPUTE = {"confident": 0.15, "likely": 0.3, "speculative": 0.5}
#: Points, one standard deviation, of an index without an interval.
ERROR_OF_INDEX = 0.5
#: Standard normal quantiles at 95 and 97.5 %: half the width of the intervals that the tables state.
Z_90, Z_95 = 1.6449, 1.9600

#: Rows of horizons whose compute stands in the table of runs alone, under another name.
RUN_OF = {"gpt-3.5-turbo-instruct": "gpt-3.5-davinci-002"}


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Observations, an element a row.

    Parameters
    ----------
    compute : ndarray of int
        `RUN`, `DISCLOSED` or `UNDISCLOSED`.
    horizon : ndarray of bool
        The value is a time horizon, log2 minutes; else log10 FLOP of a run, or points of the index.
    date, value : ndarray
    error : ndarray
        Of measurement, one standard deviation.
    at_least : ndarray of bool
        The value says no more than that it is at least this.
    stated, stated_error : ndarray
        Compute of a disclosed row, orders of magnitude over 1e25 FLOP; 0 elsewhere.
    model, organisation : ndarray of str
        Rows of one model share its luck, disclosed models of one organisation its habits.
    """

    compute: NDArray[np.intp]
    horizon: BoolArray
    date: Array
    value: Array
    error: Array
    at_least: BoolArray
    stated: Array
    stated_error: Array
    model: NDArray[np.str_]
    organisation: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.value)

    def take(self, which: BoolArray | NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        return Rows(**{each.name: getattr(self, each.name)[which] for each in fields(self)})

    @cached_property
    def hash(self) -> str:
        """A hash of the contents, to twelve digits: what an estimate was made from."""
        digest = hashlib.sha256()
        for each in fields(self):
            digest.update(each.name.encode())
            for one in getattr(self, each.name):
                digest.update(f"{one:.12g}\n".encode() if isinstance(one, float) else f"{one}\n".encode())
        return f"sha256:{digest.hexdigest()}"

    @property
    def rated(self) -> BoolArray:
        """Which rows are those of models with an index."""
        return (self.compute != RUN) & ~self.horizon

    @property
    def leading(self) -> Rows:
        """The rows of models whose index no earlier one exceeds, in the order of their dates."""
        rows = self.take(self.rated)
        rows = rows.take(np.lexsort((rows.value, rows.date)))
        return rows.take(rows.value >= np.maximum.accumulate(rows.value))

    @property
    def index_alone(self) -> Rows:
        """The index of the frontier and nothing else: models that led, or of undisclosed compute, without compute."""
        led = np.isin(self.model, self.leading.model)
        rows = self.take(self.rated & (led | (self.compute == UNDISCLOSED)))
        nothing, none = np.zeros(len(rows)), np.full(len(rows), "")
        compute = np.full(len(rows), UNDISCLOSED)
        return replace(rows, compute=compute, stated=nothing, stated_error=nothing, organisation=none)

    @property
    def undisclosed(self) -> Rows:
        """The rows without those of models whose compute is disclosed."""
        return self.take(self.compute != DISCLOSED)


def observed(as_of: float | None = None, *, rescore: bool = True) -> Rows:
    """Read the rows, as they stood before a date.

    Parameters
    ----------
    as_of : float, optional
        Later rows are left out.
    rescore : bool
        As of a date, take the index from the scores that were known then; False takes that of today's edition.

    Runs are the records of training compute from 2018 on. Of models with an index those count whose compute is
    disclosed (from 1e22 FLOP on), and of the others those that led at their release or have a time horizon.

    Raises
    ------
    EmptyDataError
        If there is no training run, or no time horizon, before the date. (That no model has an index is no error:
        `Rows.rated` says so.)

    Examples
    --------
    >>> rows = observed()
    >>> [int((rows.compute == each).sum()) for each in (RUN, DISCLOSED, UNDISCLOSED)], int(rows.at_least.sum())
    ([16, 90, 49], 1)
    """
    found = [*_runs(as_of)]
    models = _models(as_of, rescore=rescore)
    timed = [*_horizons(as_of, models)]
    tied = {row["model"] for row in timed}
    found += [row for row in models.values() if row.get("compute") == DISCLOSED or row["led"] or row["model"] in tied]
    found += timed
    if not found:
        raise EmptyDataError("chain: no row is left")
    kinds = {"compute": np.intp, "horizon": bool, "at_least": bool, "model": np.str_, "organisation": np.str_}
    return Rows(**{
        each.name: np.array([row.get(each.name, _NOTHING[each.name]) for row in found], kinds.get(each.name, float))
        for each in fields(Rows)
    })  # fmt: skip


_NOTHING: dict[str, object] = {
    "compute": UNDISCLOSED, "horizon": False, "date": 0.0, "value": 0.0, "error": 0.0, "at_least": False, "stated": 0.0,
    "stated_error": 0.0, "model": "", "organisation": "",
}  # fmt: skip
_Row = dict[str, object]


def _read(table: str, where: dict[str, str], as_of: float | None, date: str) -> tuple[Columns, Array]:
    from forecast import tables
    from forecast.tables import series

    rows = series.rows_as_of(table, where=where, as_of=as_of, name="chain", date=date)
    return rows, tables.decimal_year(rows.column(date))


def _runs(as_of: float | None) -> list[_Row]:
    rows, dates = _read(RUNS_TABLE, {"record": "yes"}, as_of, "date")
    return [
        {"compute": RUN, "date": date, "value": np.log10(flop), "model": f"run {name}"}
        for date, flop, name in zip(dates, rows.numeric("training_compute"), rows.column("run"), strict=True)
        if date >= FIRST_RECORD_YEAR
    ]


def _models(as_of: float | None, *, rescore: bool = True) -> dict[str, _Row]:
    """Return models with an index by name, and whether each led at its release; none as of a date before the first."""
    from forecast_capability.chain.rescored import rescored

    try:
        rows, dates = _read(INDEX_TABLE, {"edition": INDEX_EDITION}, as_of, "release_date")
    except EmptyDataError:
        return {}
    found = dict(zip(map(str, rows.column("model")), _index_rows(rows, dates, 0.0), strict=True))
    try:
        later, later_dates = _read(INDEX_TABLE, {"edition": LATER_EDITION}, as_of, "release_date")
    except EmptyDataError:
        later = None
    if later is not None:
        points = dict(zip(map(str, later.column("model")), later.numeric("eci"), strict=True))
        both = [float(found[name]["value"]) - points[name] for name in points if name in found]  # type: ignore[arg-type]
        shift = float(np.mean(both)) if both else 0.0
        for row in _index_rows(later, later_dates, shift):
            found.setdefault(str(row["model"]), row)
    if rescore and as_of is not None and as_of < EDITION_YEAR:
        anew = rescored({name: float(row["value"]) for name, row in found.items()}, as_of)  # type: ignore[arg-type]
        if anew:
            found = {name: row for name, row in found.items() if name in anew}
            for name, row in found.items():
                row["value"], row["error"] = anew[name]
    best = -np.inf
    for row in sorted(found.values(), key=lambda row: (row["date"], row["value"])):
        row["led"] = row["value"] >= best
        best = max(best, row["value"])  # type: ignore[call-overload]
    return found


def _index_rows(rows: Columns, dates: Array, shift: float) -> list[_Row]:
    flops, sureness = rows.numeric("training_compute"), rows.column("compute_confidence")
    width = rows.numeric("eci_high") - rows.numeric("eci_low")
    result = []
    for i, name in enumerate(rows.column("model")):
        row: _Row = {
            "model": str(name),
            "date": float(dates[i]),
            "value": float(rows.numeric("eci")[i]) + shift,
            "error": float(width[i]) / (2 * Z_90) if np.isfinite(width[i]) else ERROR_OF_INDEX,
        }
        if np.isfinite(flops[i]) and np.log10(flops[i]) >= LEAST_LOG10_FLOP:
            maker = str(rows.column("organisation")[i])
            row |= _disclosed(float(flops[i]), str(sureness[i]), maker)
        result.append(row)
    return result


def _disclosed(flop: float, sureness: str, maker: str) -> _Row:
    return {
        "compute": DISCLOSED,
        "stated": float(np.log10(flop)) - ANCHOR_LOG10_FLOP,
        "stated_error": ERROR_OF_COMPUTE.get(sureness, max(ERROR_OF_COMPUTE.values())),
        "organisation": maker.replace(",", ";").split(";")[0].strip(),
    }


def _horizons(as_of: float | None, models: dict[str, _Row]) -> list[_Row]:
    rows, dates = _read(HORIZON_TABLE, {"version": horizon_version(as_of)}, as_of, "release_date")
    runs, _ = _read(RUNS_TABLE, {}, as_of, "date")
    flop_of = dict(zip(map(str, runs.column("run")), runs.numeric("training_compute"), strict=True))
    sureness_of = dict(zip(map(str, runs.column("run")), map(str, runs.column("confidence")), strict=True))
    width = np.log2(rows.numeric("horizon_high") / rows.numeric("horizon_low"))
    result = []
    for i, name in enumerate(map(str, rows.column("model"))):
        beside = models.get(SAME.get(name, name))
        flop, sureness = float(rows.numeric("training_compute")[i]), str(rows.column("compute_confidence")[i])
        if name in RUN_OF and RUN_OF[name] in flop_of:
            flop, sureness = float(flop_of[RUN_OF[name]]), sureness_of[RUN_OF[name]]
        row: _Row = {"model": name}
        if beside is not None:
            row = {key: beside[key] for key in beside if key != "led"}
        elif np.isfinite(flop):
            row |= _disclosed(flop, sureness, "OpenAI")
        at_least = str(rows.column("censored")[i]) == "yes"
        minutes = RELIABLE if at_least else float(rows.numeric("horizon")[i])
        result.append(row | {
            "horizon": True, "date": float(dates[i]), "value": float(np.log2(minutes)),
            "error": float(width[i]) / (2 * Z_95), "at_least": at_least,
        })  # fmt: skip
    return result
