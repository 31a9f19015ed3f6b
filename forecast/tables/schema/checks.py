"""What a row must satisfy beyond its cells: conditions of the safe grammar, each with the reason why it holds.

A check stands in the schema of a resource. Its condition may name columns of numbers or dates (as decimal years) of
that resource, and of the resources of the package whose key it carries (``peak/tdp``, where the peaks of a device are
keyed by it). Two more prefixes reach another row: with ``other``, ``other_peak`` is the figure of the row whose key
differs only in the columns that ``other`` names; with ``previous``, ``previous_peak`` is the figure of the row before
it in the order of that column. A row that lacks one of the figures is passed over: a check says nothing of a hole.

Who ships a table mends a row that breaks a check: the table is refused. Of a download one bad row is left out, with a
warning that names it, since nobody here can mend it and the other rows are as good as before; where a check does not
hold for most rows, the file is in another unit or is another file, and is refused.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from forecast.base.dates import year_of
from forecast.errors import LeftOutWarning, TableError, did_you_mean, printable
from forecast.formula import Condition
from forecast.formula.tree import COMPARISON_FUNCTIONS

if TYPE_CHECKING:
    from forecast.base.arrays import AnyArray
    from forecast.tables.raw_table import RawTable
    from forecast.tables.schema.descriptor import Field, Resource

    Read = tuple[Resource, dict[str, list[Any]], RawTable]


OTHER_PREFIX, PREVIOUS_PREFIX = "other_", "previous_"
#: So few broken rows of a download are never taken for another unit.
MIN_BROKEN_ROWS = 2
_ORDERED = ("number", "integer", "date", "boolean")


@dataclass(frozen=True, kw_only=True)
class Check:
    """One condition on the rows of a resource.

    Parameters
    ----------
    name : str
        For messages.
    condition : Condition
        One comparison; a row it does not hold for is refused.
    reason : str
        Why it must hold: what a row that breaks it most likely got wrong.
    where : mapping of str to tuple of str
        The rows it is about: each column has one of these values.
    other : mapping of str to str
        Key columns and the values they have in the row that ``other_...`` names.
    previous : str
        The column that orders the rows for ``previous_...``.
    """

    name: str
    condition: Condition
    reason: str
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    other: Mapping[str, str] = field(default_factory=dict)
    previous: str = ""

    def columns(self) -> dict[str, tuple[str, str]]:
        """Return, for each name of the condition, the prefix it reaches a row by and the column it means."""
        prefixes = [prefix for prefix, used in ((OTHER_PREFIX, self.other), (PREVIOUS_PREFIX, self.previous)) if used]
        reached = {}
        for name in self.condition.names:
            prefix = next((p for p in prefixes if name.startswith(p)), "")
            reached[name] = (prefix, name[len(prefix) :])
        return reached


def _reach(resource: Resource, resources: Sequence[Resource]) -> dict[str, tuple[Resource, Field]]:
    """Return the columns a check of this resource may name: its own, and those of resources whose key it carries."""
    own = {f.name: (resource, f) for f in resource.fields}
    for each in resources:
        if each is not resource and each.key and set(each.key) <= set(resource.key):
            own.update({f.name: (each, f) for f in each.fields if f.name not in own})
    return own


def find_misfits(resource: Resource, resources: Sequence[Resource]) -> list[str]:
    """Say which checks name a column, a key or a value that is not there."""
    reasons = []
    known = _reach(resource, resources)

    def missing(name: str, of: Sequence[str], what: str) -> str:
        return f"no {what} '{printable(name, 60)}'{did_you_mean(name, of)}"

    for check in resource.checks:
        says = []
        for name, (_, column) in check.columns().items():
            if column not in known:
                says.append(missing(name, list(known), "column"))
            elif known[column][1].type not in _ORDERED:
                says.append(f"'{column}' is text; a condition compares numbers and dates")
        for column, values in check.where.items():
            if column not in known:
                says.append(missing(column, list(known), "column"))
                continue
            for value in values:
                says += _unreadable(known[column][1], value)
        for column, value in check.other.items():
            if column not in resource.key:
                says.append(missing(column, resource.key, "key column"))
            else:
                says += _unreadable(known[column][1], value)
        if check.previous and (check.previous not in known or known[check.previous][0] is not resource):
            says.append(missing(check.previous, [f.name for f in resource.fields], "column of its own"))
        reasons += [f"check '{printable(check.name, 60)}': {s}" for s in says]
    return reasons


def _unreadable(of: Field, value: str) -> list[str]:
    try:
        reason = of.check(of.value(value))
    except ValueError as error:
        reason = f"'{printable(value, 60)}': {error}"
    return [f"{of.name}: {reason}"] if reason else []


def enforce_checks(read: Sequence[Read], where: str) -> list[Read]:
    """Return the rows that satisfy the checks of their resource: all of them, but for broken rows of a download.

    Parameters
    ----------
    read : sequence of (Resource, values, cells)
    where : str
        The table, for warnings.

    Raises
    ------
    TableError
        With one ``file:row:column: reason`` for each row that breaks a check, where these are not left out.

    Warns
    -----
    UserWarning
        For each row that is left out.
    """
    failures: list[str] = []
    kept: list[Read] = []
    for resource, values, csv in read:
        columns = _join_columns(resource, values, read) if resource.checks else {}
        keys = _row_keys(resource, columns)
        left: dict[int, str] = {}
        for check in resource.checks:
            bad, judged = _failing_rows(check, resource, columns, csv, keys)
            if not resource.remote or (len(bad) > MIN_BROKEN_ROWS and 2 * len(bad) > judged):
                failures += bad.values()
            left = {**bad, **left}
        if left and len(left) == len(csv.lines):
            failures += left.values()
        kept.append((resource, values, csv) if not left else _drop_rows(left, resource, values, csv))
        if not failures:
            _warn(left, resource, values, where)
    if failures:
        raise TableError(list(dict.fromkeys(failures)))
    return kept


def with_own_checks(resource: Resource) -> Resource:
    """Return a resource with the checks that need no other."""
    names = {f.name for f in resource.fields}
    alone = tuple(c for c in resource.checks if {column for _, column in c.columns().values()} | set(c.where) <= names)
    return replace(resource, checks=alone)


def _drop_rows(left: Collection[int], resource: Resource, values: dict[str, list[Any]], csv: RawTable) -> Read:
    from forecast.tables.raw_table import RawTable

    rows = [row for row in range(len(csv.lines)) if row not in left]
    cells = {name: [column[r] for r in rows] for name, column in csv.items()}
    taken = {name: [column[r] for r in rows] for name, column in values.items()}
    return resource, taken, RawTable(cells, [csv.lines[r] for r in rows], csv.label, csv.hash)


def _warn(left: Mapping[int, str], resource: Resource, values: Mapping[str, list[Any]], where: str) -> None:
    import warnings

    for row, reason in sorted(left.items()):
        key = ", ".join(f"{k} = {printable(_key_text(values[k][row]), 60)}" for k in resource.key)
        warnings.warn(LeftOutWarning(note=f"{where}: the row {key or row + 1} is left out: {reason}"), stacklevel=4)


def _join_columns(resource: Resource, values: Mapping[str, list[Any]], read: Sequence[Read]) -> dict[str, list[Any]]:
    """Return the columns within reach, those of other resources brought to this one's rows."""
    columns = dict(values)
    for each, theirs, _ in read:
        if each is resource or not each.key or not set(each.key) <= set(resource.key):
            continue
        at = {key: row for row, key in enumerate(zip(*(theirs[k] for k in each.key), strict=True))}
        places = [at.get(key) for key in zip(*(values[k] for k in each.key), strict=True)]
        for name, column in theirs.items():
            columns.setdefault(name, [None if p is None else column[p] for p in places])
    return columns


def _failing_rows(
    check: Check, resource: Resource, columns: Mapping[str, list[Any]], csv: RawTable, keys: list[tuple[str, ...]]
) -> tuple[dict[int, str], int]:
    """Return the rows that break a check, each with what is wrong, and how many rows the check could judge."""
    import numpy as np

    wanted = check.columns()
    rows = list(range(len(csv.lines)))
    for column, texts in check.where.items():
        rows = [r for r in rows if _key_text(columns[column][r]) in texts]
    there = {OTHER_PREFIX: _paired_rows(check, resource, keys, rows), PREVIOUS_PREFIX: _earlier(check, columns, rows)}
    figures: dict[str, AnyArray] = {}
    for name, (prefix, column) in wanted.items():
        places = there[prefix] if prefix else rows
        figures[name] = np.array(
            [np.nan if p is None else _cell_number(columns[column][p]) for p in places], dtype=float
        )
    known = np.all([~np.isnan(f) for f in figures.values()], axis=0) if figures else np.ones(len(rows), dtype=bool)
    with np.errstate(all="ignore"):
        left, right = (
            np.broadcast_to(np.asarray(side.evaluate(figures), dtype=float), (len(rows),))
            for side in (check.condition.left, check.condition.right)
        )
    at = next((c for p, c in wanted.values() if not p and c in csv), resource.fields[0].name)
    broken = f"check '{printable(check.name, 60)}': {check.condition.text} does not hold"
    bad = {
        rows[i]: f"{csv.at(rows[i], at)}: {broken} ({left[i]:.4g} against {right[i]:.4g}): {check.reason}"
        for i in np.flatnonzero(known & ~COMPARISON_FUNCTIONS[check.condition.op](left, right))
    }
    return bad, int(np.sum(known))


def _row_keys(resource: Resource, columns: Mapping[str, list[Any]]) -> list[tuple[str, ...]]:
    """Return the key of each row as text, where a check looks for other rows."""
    if not any(check.other for check in resource.checks):
        return []
    return list(zip(*(map(_key_text, columns[k]) for k in resource.key), strict=True))


def _paired_rows(check: Check, resource: Resource, keys: list[tuple[str, ...]], rows: list[int]) -> list[int | None]:
    """Return, for each row, the one whose key differs only in what the check says; None where there is none."""
    if not check.other:
        return []
    at = {key: row for row, key in enumerate(keys)}
    changed = [check.other.get(k) for k in resource.key]
    return [at.get(tuple(c if c is not None else k for c, k in zip(changed, keys[r], strict=True))) for r in rows]


def _earlier(check: Check, columns: Mapping[str, list[Any]], rows: list[int]) -> list[int | None]:
    """Return, for each row, the nearest earlier one that has the figures the check compares with."""
    if not check.previous:
        return []
    needed = [check.previous, *(c for p, c in check.columns().values() if p == PREVIOUS_PREFIX)]
    order = [r for r in rows if all(columns[c][r] is not None for c in needed)]
    order.sort(key=lambda r: columns[check.previous][r])
    last: dict[int, int] = dict(zip(order[1:], order, strict=False))
    return [last.get(r) for r in rows]


def _cell_number(value: Any) -> float:
    """Return a cell as the number a condition sees: a date is a decimal year."""
    if value is None:
        return float("nan")
    return year_of(value.isoformat()) if isinstance(value, datetime.date) else float(value)


def _key_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
