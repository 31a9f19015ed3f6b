"""Several rows at one place of an axis: an error that says what tells them apart, or one value by a rule."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from forecast.base.arrays import Array
from forecast.base.dates import parse_year, today
from forecast.errors import DataError, EmptyDataError, UnknownNameError, printable
from forecast.tables.columns import Columns

#: Columns with more values than this share of the rows are measurements and name no series.
MAX_SERIES_SHARE = 1 / 3
#: A label of more words is a remark.
MAX_LABEL_WORDS = 6
#: A longer cell is a remark or an address, and no line to copy.
MAX_LABEL_CHARACTERS = 60
#: Rows that a column tells apart at their places, if its values are series.
MIN_TOLD_APART_SHARE = 0.9
#: A trend needs as many rows.
MIN_SERIES_ROWS = 3
_RULES: dict[str, Callable[[Array], Any]] = {
    "mean": np.mean,
    "median": np.median,
    "min": np.min,
    "max": np.max,
    "last": lambda values: values[-1],
}
REDUCTIONS = (*_RULES, "best")
#: Names of columns whose whole numbers name series, and measure nothing.
_SERIES_NAME_PATTERN = re.compile(
    r"(^|[^a-z])(run|series|curve|experiment|model|config|group|device|gpu|card|tech|technology|site)([^a-z]|$)",
    re.IGNORECASE,
)


class Points(NamedTuple):
    """A column of a file along another: places, values, whether the places are dates, and what was read."""

    place: Array
    value: Array
    dated: bool
    rows: Columns


def read_points(
    columns: Columns, x: str, y: str, rule: str, where: str, *, by: bool = True, dated: bool | None = None
) -> Points:
    """Return the rows that have both columns, one a place, as every verb that goes along a column reads them.

    Parameters
    ----------
    columns : Columns
    x, y : str
    rule, where, by
        As in `reduce_places`.
    dated : bool, optional
        Whether `x` is dates. Default: as the column is.

    Raises
    ------
    UnknownNameError, TableError, DataError
    EmptyDataError
        If no row has both.
    """
    columns.column(x)
    columns.numeric(y)
    dated = columns.kind(x) == "time" if dated is None else dated
    rows = columns.complete([x, y])
    if not rows.rows:
        raise EmptyDataError(f"{where}: no row has both '{printable(x, 60)}' and '{printable(y, 60)}'")
    place = rows.years(x) if dated else rows.numeric(x)
    place, value, reduced = reduce_places(place, rows.numeric(y), rule, where, columns=rows, names=(x, y), by=by)
    rows.notes.series += [reduced] if reduced else []
    if dated:
        note_dates_to_come(rows, place)
    return Points(place, value, dated, rows)


def note_dates_to_come(rows: Columns, years: Array) -> int:
    """Return how many dates have not come: what stands there is no observation. They are counted in the notes."""
    count = int((years > parse_year(today(), "today")).sum())
    rows.notes.series += [f"{count:,} with dates to come"] if count else []
    return count


def reduce_places(
    place: Array, value: Array, rule: str, where: str, *, columns: Columns | None = None,
    names: tuple[str, str] = ("x", "y"), by: bool = True,
) -> tuple[Array, Array, str]:  # fmt: skip
    """Return one value a place, places rising, and what was done to get there.

    Parameters
    ----------
    place, value : ndarray
    rule : {"", "mean", "median", "min", "max", "last", "best"}
        What becomes of several rows at one place: a mean of logarithms where all values are above 0; the last in the
        order of the data; or the best so far in the direction in which the values go. Default: an error.
    where : str
        For messages.
    columns : Columns, optional
        The rows, of which a column may tell those of one place apart.
    names : (str, str)
        What place and value are called.
    by : bool
        Whether the asker can take each series by itself.

    Raises
    ------
    DataError
        Without a rule, if a place has several rows: with lines to copy.

    Examples
    --------
    >>> reduce_places(np.array([2.0, 1.0, 2.0]), np.array([3.0, 5.0, 4.0]), "max", "a.csv")
    (array([1., 2.]), array([5., 4.]), "the max of 2 rows at 1 place of 'x'")
    """
    if rule and rule not in REDUCTIONS:
        raise UnknownNameError("rule", rule, REDUCTIONS, where=f"{where}: reduce")
    distinct, index, counts = np.unique(place, return_inverse=True, return_counts=True)
    order = np.argsort(index, kind="stable")
    shown, many = printable(names[0], 40), int((counts > 1).sum())
    if rule == "mean" and (value > 0).all():
        reduced = np.exp(np.bincount(index, np.log(value)) / np.bincount(index))
    elif not rule and (says := _find_series(columns, place, value, counts, distinct, names)):
        raise DataError(f"{where}: {says}; {_advice(columns, place, names, by)}")
    elif distinct.size == place.size:
        reduced = value[order]
    else:
        chosen = _RULES.get(rule) or (np.min if _falls(place, value) else np.max)
        reduced = np.array([chosen(part) for part in np.split(value[order], np.cumsum(counts)[:-1])])
    places = f"{many:,} place{'s' * (many > 1)} of '{shown}'"
    return distinct, reduced, f"the {rule} of {int(counts[counts > 1].sum()):,} rows at {places}" if many else ""


def check_one_curve(columns: Columns, places: Array, used: Collection[str], where: str, *, by: bool = True) -> None:
    """Raise if rows of a file are several curves over the same places, told apart by a column that is not used.

    Replicates, several rows at one place that no column sorts into curves, are one data set.

    Parameters
    ----------
    columns : Columns
    places : ndarray, (variables, rows)
    used : collection of str
        The columns that the asker uses.
    where : str
        For messages.
    by : bool
        Whether the asker can take each curve by itself.

    Raises
    ------
    DataError
        Naming the column, with lines to copy.

    Examples
    --------
    >>> from forecast.tables.intake import to_columns
    >>> rows = to_columns({"run": list("aaabbb"), "step": [1.0, 2, 3] * 2})
    >>> check_one_curve(rows, np.tile([1.0, 2.0, 3.0], 2)[None], ["step"], "mine", by=False)
    Traceback (most recent call last):
    forecast.errors.DataError: mine: 2 curves, by 'run', over the same places: say --where "run is a"
    """
    if set(columns) <= set(used):
        return
    index = np.zeros(columns.rows, dtype=np.intp)
    for axis in places:
        axis_index = np.unique(axis, return_inverse=True)[1]
        index = np.unique(index * (axis_index.max() + 1) + axis_index, return_inverse=True)[1]
        if index.max() + 1 == index.size:
            return
    for name, labels in _series_columns(columns, used):
        if not _may_name_series(columns, name):
            continue
        rows_of: dict[str, set[int]] = {}
        for place, label in zip(index.tolist(), labels, strict=True):
            rows_of.setdefault(label, set()).add(place)
        curves = sorted((each for each in rows_of.values() if len(each) >= MIN_SERIES_ROWS), key=len)
        # a row more than places: replicates within a curve, which another column sorts
        distinct = sum(map(len, rows_of.values())) == len(labels)
        if distinct and len(curves) > 1 and 2 * len(curves[-1] & curves[-2]) >= len(curves[-2]):
            shown = printable(name, 60)
            first = printable(_most_frequent(labels)[0], 60)
            each = f"--by {_quoted(shown)}, --groups {_quoted(shown)} for one fit to all, or " if by else ""
            raise DataError(
                f"{where}: {len(rows_of):,} curves, by '{shown}', over the same places: say {each}"
                f'--where "{double_quoted(shown)} is {first}"'
            )


def _falls(place: Array, value: Array) -> bool:
    ranks = [np.argsort(np.argsort(each)) for each in (place, value)]
    correlation: Any = np.corrcoef(np.stack(ranks))
    return bool(correlation[0, 1] < 0)


def _find_series(
    columns: Columns | None, place: Array, value: Array, counts: Any, distinct: Array, names: tuple[str, str]
) -> str:
    """Return how many rows are at how many places, or series beside each other; empty for one row at each place."""
    if distinct.size < place.size:
        first = distinct[np.argmax(counts > 1)]
        some = value[place == first]
        rows = f"{counts.max():,}" if counts.min() == counts.max() else f"up to {counts.max():,}"
        where = "each place" if counts.min() > 1 else f"{int((counts > 1).sum()):,} of {distinct.size:,} places"
        x, y = (printable(name, 40) for name in names)
        return f"{rows} rows at {where} of '{x}' (at {first:.10g}: {y} {some.min():.6g} to {some.max():.6g})"
    for name, labels in () if columns is None else _series_columns(columns, names):
        parts = [place[np.array(labels) == label] for label in set(labels)] if _SERIES_NAME_PATTERN.search(name) else ()
        starts, ends = sorted(part.min() for part in parts), sorted(part.max() for part in parts)
        if parts and min(map(len, parts)) >= MIN_SERIES_ROWS and starts[-1] < ends[0]:  # all run at one time
            return f"{len(parts):,} series, by '{printable(name, 60)}', over the same places"
    return ""


def _advice(columns: Columns | None, place: Array, names: tuple[str, str], by: bool) -> str:
    """Return what tells the rows apart, and lines to copy, each of which leaves one row at a place."""
    rules = "--reduce mean, median, min, max, last or best"
    candidates = [] if columns is None else list(_series_columns(columns, names))
    found = []
    for name, labels in candidates:
        pairs = len(set(zip(place.tolist(), labels, strict=True)))
        most, rows = _most_frequent(labels)
        # a column of which no value stands in several rows names rows, not series
        told_apart = pairs >= MIN_TOLD_APART_SHARE * len(labels) and rows >= MIN_SERIES_ROWS
        one = place[np.array(labels) == most]
        if columns is not None and told_apart and len(set(one)) == rows and _may_name_series(columns, name):
            found.append((len(labels) - pairs, len(set(labels)), name, most))
    if found:
        _, kinds, name, most = min(found, key=lambda each: each[:2])
        shown = printable(name, 60)
        each = f"--by {_quoted(shown)}, " if by else ""
        kept = f'--where "{double_quoted(shown)} is {printable(most, 60)}"'
        return f"they differ in '{shown}' ({kinds:,} values): say {kept}, {each}or {rules}"
    differing = ", ".join(printable(name, 40) for name, _ in candidates[:4])
    return f"{f'they differ in {differing}' if differing else 'nothing else tells them apart'}: say {rules}"


def _most_frequent(labels: Sequence[str]) -> tuple[str, int]:
    """Return the label, not empty, that most rows have, and how many have it."""
    return Counter(label for label in labels if label.strip()).most_common(1)[0]


def _series_columns(columns: Columns, names: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the columns that may name a series, text before numbers and few values before many."""
    candidates = []
    for name in [each for each in columns if each not in names][:60]:
        meaning = columns.meaning(name)
        values = meaning.values if meaning.labels is None else meaning.labels
        labels = [f"{v:.15g}" if isinstance(v, float) else str(v) for v in values.tolist()]
        kinds = len({label for label in labels if label.strip()})
        if kinds and _is_remark(_most_frequent(labels)[0]):
            continue
        if 1 < kinds <= max(2, MAX_SERIES_SHARE * len(labels)):
            candidates.append((meaning.kind != "text", kinds, name, labels))
    for _, _, name, labels in sorted(candidates, key=lambda each: each[:2]):
        yield name, labels


def _may_name_series(columns: Columns, name: str) -> bool:
    return columns.meaning(name).kind == "text" or _SERIES_NAME_PATTERN.search(name) is not None


def _is_remark(label: str) -> bool:
    return len(label) > MAX_LABEL_CHARACTERS or label.count(" ") >= MAX_LABEL_WORDS or "://" in label


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name


def double_quoted(name: str) -> str:
    """Return the name of a column as a condition in double quotes has it."""
    return f"'{name}'" if not name.replace("_", "").isalnum() else name
