"""Make the record of laws anew: ``python -m forecast_scaling.make_record DATA [FOLDER]``.

DATA is a folder with the files that `SETS` names, as their authors publish them (see each set's source). None of them
is shipped; their scores are.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.errors import ForecastError
from forecast_scaling import LAW_RECORD

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["DECADE_RANGES", "SETS", "Set", "backtests", "law_record_rows", "write_law_record"]


#: Decades beyond the data: more than the first, at most the second.
DECADE_RANGES = {
    "all": (0.0, 99.0), "0-0.15 decades": (0.0, 0.15), "0.15-0.5 decades": (0.15, 0.5), "over 0.5 decades": (0.5, 99.0),
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Set:
    """Curves of one kind.

    Parameters
    ----------
    kind : str
    file, source : str
        Below the folder of data, and where it comes from.
    along, y : str
        Columns, or formulas.
    laws : tuple of str
        Default: the usual ones of learning curves.
    where : mapping of str to str
        Column and the value that its rows have.
    by : str
        A curve for each value of this column.
    let : mapping of str to str
    origins : int
        Of each curve; one is the earliest, after 40 % of its places.
    """

    kind: str
    file: str
    source: str
    along: str
    y: str
    laws: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)
    by: str = ""
    let: Mapping[str, str] = field(default_factory=dict)
    origins: int = 6


_CURVES = {
    "file": "extrapolation/curves_dev.csv",
    "along": "x",
    "y": "y",
    "by": "curve_id",
    "let": {"x": "x"},
    "origins": 1,
}
_BENCHMARK = "Alabdulmohsin et al. 2022, arXiv:2209.06640, its benchmark of learning curves (Apache-2.0), a half of it"
_COSTS = {
    "file": "technology/experience_curves_dev.csv", "along": "cum", "y": "cost", "by": "tech",
    "source": "performance-curve database through carnegie/clab_experience_curve (MIT), 19 technologies",
}  # fmt: skip
SETS = (
    Set(kind="image classifiers", where={"domain": "IC"}, source=_BENCHMARK, **_CURVES),  # type: ignore[arg-type]
    Set(kind="language models", where={"domain": "LM"}, source=_BENCHMARK, **_CURVES),  # type: ignore[arg-type]
    Set(
        kind="unit costs",
        laws=("scaling/wright", "scaling/moore", "scaling/goddard", "scaling/nordhaus", "scaling/skc"),
        let={"Q": "cum", "q": "prod", "t": "year - 1900"}, **_COSTS,  # type: ignore[arg-type]
    ),
    Set(
        kind="training runs", file="scaling/chinchilla_epoch/svg_extracted_data.csv", along="C", y="loss",
        laws=("scaling/chinchilla", "scaling/kaplan", "scaling/skaling"),
        let={"N": "N", "D": "C/(6*N)"},
        source="Besiroglu et al. 2024, arXiv:2404.10102, points of figure 4 of Hoffmann et al. 2022",
    ),
)  # fmt: skip


def _curves(data: Path, each: Set) -> Iterator[tuple[str, dict[str, Any]]]:
    """Walk the curves of a set: name and columns."""
    import numpy as np

    from forecast.tables import to_columns

    table = to_columns(data / each.file, where=each.file)
    named = {"Model Size": "N", "Training FLOP": "C"}
    rows = {named.get(name, name): table[name] for name in table}
    keep = np.ones(table.rows, dtype=bool)
    for column, value in each.where.items():
        keep &= rows[column] == value
    rows = {name: column[keep] for name, column in rows.items()}
    if not each.by:
        yield each.kind, rows
        return
    for value in np.unique(rows[each.by]):
        own = rows[each.by] == value
        yield str(value), {name: column[own] for name, column in rows.items()}


def backtests(data: Path, only: Collection[str] = ()) -> Iterator[tuple[str, xr.Dataset]]:
    """Walk the kinds of curves, or some of them, and the backtest of each curve."""
    import forecast
    from forecast.evaluation.law_rolling import backtest_laws

    for each in SETS:
        if only and each.kind not in only:
            continue
        laws = [forecast.law(name) for name in each.laws]
        for name, rows in _curves(data, each):
            try:
                options: dict[str, Any] = {"let": each.let, "y": each.y, "along": each.along, "name": name}
                yield each.kind, backtest_laws(laws, rows, **options, most_origins=each.origins)
            except ForecastError as problem:
                print(f"{name}: {problem}", file=sys.stderr)


def law_record_rows(found: list[tuple[str, xr.Dataset]]) -> Iterator[dict[str, Any]]:
    """Walk how each law has done, by kind of curve and by how far beyond its data."""
    from forecast.evaluation.law_rolling import POOL_NAME
    from forecast.evaluation.rolling_origin import tally

    laws = {str(name) for _, each in found for name in each["model"].values if "/" in str(name) or name == POOL_NAME}
    sources = {each.kind: each.source for each in SETS}
    for row in tally(found, sorted(laws), DECADE_RANGES):
        yield {"law": row.pop("name"), **row, "source": sources.get(row["kind"], "all kinds together")}


def write_law_record(data: str, folder: str | None = None) -> None:
    """Write ``track-record.csv``."""
    rows = list(law_record_rows(list(backtests(Path(data)))))
    with (LAW_RECORD if folder is None else Path(folder) / LAW_RECORD.name).open(
        "w", encoding="utf-8", newline=""
    ) as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    write_law_record(*sys.argv[1:3])
