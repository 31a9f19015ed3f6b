"""A ledger of forecasts: a file of JSON lines, to which forecasts and their outcomes are added and never changed.

Every line holds ``sha256``, over its own canonical JSON (keys in order, no spaces, ASCII), and ``previous``, the hash
of the line before: a line that was altered, taken out or put in between is found. What was cut off at the end is not,
nor a file that was written anew from some line on, unless somebody has a hash from before: publish the last one, with
the number of its line, and everything up to it is fixed. `verify_chain` holds a ledger to what was published.

Lines are added under a lock, to a file that is replaced whole: see `forecast.base.locked_file`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from forecast.base.dates import today
from forecast.base.distributions import MAX_MAGNITUDE
from forecast.base.files import read_bytes
from forecast.base.json_text import strict_json
from forecast.base.locked_file import update
from forecast.base.quantiles import QUANTILE_NAMES
from forecast.base.saved_records import (
    COUNT,
    DAY,
    NAME,
    NUMBER,
    SHARE,
    TEXT,
    Form,
    ListSchema,
    MappingSchema,
    ObjectSchema,
    OptionalSchema,
    ValueSchema,
    check_record,
    one_of,
)
from forecast.contract.fields import date
from forecast.errors import DataError, UnknownNameError, UsageError, printable

#: A larger ledger is refused unread.
MAX_LEDGER_BYTES = 1 << 26
#: The outcome of what did not happen.
NEVER_OUTCOME = "never"
#: So many digits of a hash name a line.
SHORT_HASH_DIGITS = 8

#: A published hash, with or without the number of its line.
_PUBLISHED_HASH_PATTERN = re.compile(r"(?:([1-9][0-9]{0,8}):)?([0-9a-f]{64})", re.ASCII | re.IGNORECASE)


def canonical(record: Mapping[str, Any]) -> str:
    r"""Return the one JSON text of a record: keys in order, no spaces, ASCII.

    Examples
    --------
    >>> canonical({"b": 1.50, "a": "é"})
    '{"a":"\\u00e9","b":1.5}'
    """
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _record_hash(record: Mapping[str, Any]) -> str:
    content = {key: value for key, value in record.items() if key != "sha256"}
    return hashlib.sha256(canonical(content).encode("ascii")).hexdigest()


def seal(record: Mapping[str, Any], previous: str | None) -> dict[str, Any]:
    """Return a record with the hash of the line before it and its own.

    Examples
    --------
    >>> one = seal({"kind": "forecast"}, None)
    >>> seal({"kind": "outcome"}, one["sha256"])["previous"] == one["sha256"]
    True
    """
    chained = {**record, "previous": previous}
    return {**chained, "sha256": _record_hash(chained)}


def parse_date(text: str, where: str) -> str:
    """Return an ISO date; ``today`` is the only word that reads the clock.

    Examples
    --------
    >>> parse_date("2026-11-22", "--on")
    '2026-11-22'
    """
    if text == "today":
        return today()
    if not date(text):
        raise UsageError(f"{where}: expected a date such as 2026-11-22, or today, got '{printable(text, 40)}'")
    return text


def past(text: str, where: str) -> str:
    """Return an ISO date that has come: what is known on a date cannot be written down before it.

    Examples
    --------
    >>> past("2099-01-01", "--on")
    Traceback (most recent call last):
    forecast.errors.UsageError: --on 2099-01-01: comes after today, ...
    """
    day, now = parse_date(text, where), today()
    if day > now:
        raise UsageError(f"{where} {day}: comes after today, {now}; expected a date that has come")
    return day


# --- what a line holds ------------------------------------------------------------------------------------------------


# a whole number of JSON may be longer than any float
_NUMBER_SCHEMA = ValueSchema("a number", lambda v: NUMBER.good(v) and abs(v) <= MAX_MAGNITUDE)
_DRAW_COUNT = ValueSchema("a whole number of worlds", lambda v: COUNT.good(v) and 1 <= v <= 10**9)
_BY = ListSchema(ObjectSchema({"date": DAY, "probability": SHARE}, more=True), 1)


def _quantile_schema(form: Form) -> ObjectSchema:
    return ObjectSchema(dict.fromkeys(QUANTILE_NAMES, form))


#: What every forecast holds, what one of a date or of a number holds besides, and what an outcome holds. Keys beyond
#: these say more and are left alone.
_FORECAST: dict[str, Form] = {
    "on": DAY,
    "scenario": TEXT,
    "question": NAME,
    "asks": one_of("when", "value", "growth"),
    "asked": TEXT,
    "unit": TEXT,
    "choices": MappingSchema(TEXT),
    "resolves": ValueSchema("the source that decides", NAME.good),
    "draws": _DRAW_COUNT,
}
_OF_DATES: dict[str, Form] = {
    "start": DAY,
    "until": DAY,
    "by": _BY,
    "quantiles": _quantile_schema(OptionalSchema(DAY)),
    "points": ListSchema(OptionalSchema(ValueSchema("a decimal year", _NUMBER_SCHEMA.good)), 1),
}
_OF_NUMBERS: dict[str, Form] = {
    "at": DAY,
    "quantiles": _quantile_schema(_NUMBER_SCHEMA),
    "points": ListSchema(_NUMBER_SCHEMA, 1),
}
_OUTCOME: dict[str, Form] = {
    "on": DAY,
    "of": ValueSchema("the hash of a forecast", NAME.good),
    "outcome": ValueSchema(
        "a number, a date or never", lambda v: _NUMBER_SCHEMA.good(v) or DAY.good(v) or v == NEVER_OUTCOME
    ),
    "source": ValueSchema("where the outcome was read", NAME.good),
}


def _check_record(record: Any, where: str) -> dict[str, Any]:
    """Check what one line holds."""
    kind = record.get("kind") if isinstance(record, dict) else None
    if kind not in ("forecast", "outcome"):
        raise DataError(
            f'{where}: expected a record of a ledger, {{"kind": "forecast" or "outcome", ...}}, '
            f"got {printable(record, 60)}"
        )
    at = f"{where}: {kind}"
    check_record(
        record, ObjectSchema(_FORECAST if kind == "forecast" else _OUTCOME, more=True), where=at, error=DataError
    )
    if kind == "forecast":
        when = record["asks"] == "when"
        check_record(record, ObjectSchema(_OF_DATES if when else _OF_NUMBERS, more=True), where=at, error=DataError)
        if when and not record["start"] < record["until"]:
            raise DataError(f"{at}: until: expected a date after start, {record['start']}")
    return dict(record)


# --- the file ---------------------------------------------------------------------------------------------------------


def read_ledger(path: str | Path, *, expect: str | Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return the lines of a ledger, each checked, and the chain of their hashes.

    Parameters
    ----------
    path : str or path
    expect : str or iterable of str
        Hashes that were published, which it must hold; see `parse_published_hashes` and `verify_chain`.

    Raises
    ------
    DataError
        Naming file and line: for what is no record of a ledger, for a line that is not what it was, for one that does
        not follow on the line before it, for an outcome of no forecast, and for what was published otherwise.
    """
    records = _parse_lines(read_bytes(path, limit=MAX_LEDGER_BYTES), printable(path))
    verify_chain(records, parse_published_hashes(expect), where=printable(path))
    return records


def _parse_lines(content: bytes, name: str) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    forecasts: dict[str, str] = {}
    lines = content.removesuffix(b"\n").split(b"\n") if content else []
    for i, line in enumerate(lines, 1):
        where = f"{name}:{i}"
        record = _check_record(strict_json(line, where=where), where)
        before = records[-1]["sha256"] if records else None
        if record.get("sha256") != _record_hash(record):
            raise DataError(f"{where}: the line was altered: its sha256 is not that of what it holds")
        if record.get("previous") != before:
            raise DataError(
                f"{where}: does not follow the line before it: expected previous {printable(before, 80)}, got "
                f"{printable(record.get('previous'), 80)}; a line was taken out, put in or moved"
            )
        if record["kind"] == "forecast":
            forecasts[record["sha256"]] = record["asks"]
        elif record["of"] not in forecasts:
            raise DataError(f"{where}: outcome: of: expected the hash of a forecast above, got {record['of'][:80]!r}")
        elif _NUMBER_SCHEMA.good(record["outcome"]) == (forecasts[record["of"]] == "when"):
            expected = "a date or never" if forecasts[record["of"]] == "when" else "a number"
            raise DataError(f"{where}: outcome: expected {expected}, got {printable(record['outcome'], 40)}")
        records.append(record)
    return records


def append(path: str | Path, records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Add records to a ledger, a new one where there is none, and return them with their hashes; see `extend`."""
    given = list(records)
    return extend(path, lambda known: given)


def extend(
    path: str | Path,
    make: Callable[[list[dict[str, Any]]], Iterable[Mapping[str, Any]]],
    *,
    expect: str | Iterable[str] = (),
) -> list[dict[str, Any]]:
    """Add to a ledger what follows from its lines, and return the new lines with their hashes.

    From reading to writing nobody else adds a line. The whole file is checked first, and replaced by a new one: it
    holds all of the new lines or none, whenever the writer ends.

    Parameters
    ----------
    path : str or path
        Made where there is none.
    make : callable
        Takes the lines there are and returns what is to be added.
    expect : str or iterable of str
        As in `read_ledger`.

    Raises
    ------
    DataError
        For what `read_ledger` refuses.
    UsageError
        For a record of a day that has not come.
    ResultError
        For what cannot be locked or written.
    """
    name, hashes, added = printable(path), parse_published_hashes(expect), list[dict[str, Any]]()

    def change(content: bytes) -> bytes:
        known = _parse_lines(content, name)
        verify_chain(known, hashes, where=name)
        before = known[-1]["sha256"] if known else None
        for record in make(known):
            added.append(_check_record(seal(record, before), name))
            past(added[-1]["on"], f"{added[-1]['kind']}: on")
            before = added[-1]["sha256"]
        gap = b"\n" if content and not content.endswith(b"\n") else b""
        return content + gap + "".join(f"{canonical(record)}\n" for record in added).encode("ascii")

    update(path, change, limit=MAX_LEDGER_BYTES)
    return added


def find_forecast(records: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Return the forecast whose hash begins like this.

    Raises
    ------
    UnknownNameError, UsageError
        Where there is none, or more than one.
    """
    known = {str(record["sha256"]): record for record in records if record["kind"] == "forecast"}
    found = [hashed for hashed in known if name and hashed.startswith(name)]
    if not found:
        raise UnknownNameError("forecast", name, [hashed[:SHORT_HASH_DIGITS] for hashed in known])
    if len(found) > 1:
        raise UsageError(f"'{printable(name, 80)}' begins the names of {len(found)} forecasts: give more of its digits")
    return dict(known[found[0]])


# --- what was published -----------------------------------------------------------------------------------------------


def parse_published_hashes(expect: str | Iterable[str]) -> list[tuple[int | None, str]]:
    """Return hashes that were published, each with the number of its line or None.

    Parameters
    ----------
    expect : str or iterable of str
        Each a hash of 64 digits; ``"7:HASH"``, the hash of line 7; a file with one of these a line; or an earlier copy
        of the ledger, which has the hash of every line.

    Raises
    ------
    UsageError
        For what is no hash and no file.
    DataError
        For a file that holds anything else.

    Examples
    --------
    >>> parse_published_hashes(["AB" * 32, f"7:{'0' * 64}"]) == [(None, "ab" * 32), (7, "0" * 64)]
    True
    """
    found: list[tuple[int | None, str]] = []
    for text in [expect] if isinstance(expect, str) else map(str, expect):
        if match := _PUBLISHED_HASH_PATTERN.fullmatch(text.strip()):
            found.append(_parse_numbered_hash(match))
        elif os.path.exists(text):  # noqa: PTH110 - of any text, also one that is too long for a name
            found += _hashes_in_file(text)
        else:
            raise UsageError(
                "--expect: expected a hash of 64 digits, the number of its line before it (7:HASH), or a file of them; "
                f"got '{printable(text, 80)}'"
            )
    return found


def _parse_numbered_hash(match: re.Match[str]) -> tuple[int | None, str]:
    return int(match[1]) if match[1] else None, match[2].lower()


def _hashes_in_file(path: str) -> list[tuple[int | None, str]]:
    content, name = read_bytes(path, limit=MAX_LEDGER_BYTES), printable(path)
    if content.lstrip()[:1] == b"{":
        return [(number, record["sha256"]) for number, record in enumerate(_parse_lines(content, name), 1)]
    found = []
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _PUBLISHED_HASH_PATTERN.fullmatch(line.strip())
        if match is None:
            raise DataError(f"{name}:{number}: expected a hash of 64 digits or N:HASH, got {printable(line, 60)}")
        found.append(_parse_numbered_hash(match))
    if not found:
        raise DataError(f"{name}: holds no hash; expected one a line")
    return found


def verify_chain(records: Sequence[Mapping[str, Any]], expect: Iterable[tuple[int | None, str]], *, where: str) -> int:
    """Hold a ledger to hashes that were published, and return how many lines these fix.

    A line whose hash was published is as it was then, and so is every line before it; what follows was added since.
    The number returned is that of the last such line.

    Raises
    ------
    DataError
        Where a published hash is not there: naming the first line that differs as closely as the hashes tell. That is
        one line where that of the line before was published too; a hash without a number says only that something was
        changed after the last line that is known to be as it was.
    """
    hashes = [str(record["sha256"]) for record in records]
    places = {hashed: number for number, hashed in enumerate(hashes, 1)}
    fixed, wrong = 0, list[tuple[int | None, str]]()
    for number, hashed in expect:
        if hashed in places and number in (None, places[hashed]):
            fixed = max(fixed, places[hashed])
        else:
            wrong.append((number, hashed))
    if wrong:
        raise DataError(f"{where}: is not what was published: {_first_difference_text(hashes, places, fixed, wrong)}")
    return fixed


def _first_difference_text(
    hashes: Sequence[str], places: Mapping[str, int], fixed: int, wrong: Sequence[tuple[int | None, str]]
) -> str:
    """Say where a ledger first differs from hashes that it does not hold, as closely as these tell."""
    number, hashed = min(wrong, key=lambda each: (each[0] is None, each[0] or 0))
    same = f"records 1 to {fixed} are as published" if fixed > 1 else "record 1 is as published" if fixed else ""
    if number is None:
        if fixed == len(hashes):
            return f"no record has the hash {hashed}, and {same or 'it is empty'}: what followed was cut off"
        begins = f"{same}, so the first change is at record {fixed + 1} or later" if fixed else "any may be the first"
        return (
            f"no record has the hash {hashed}; it ends with record {len(hashes)}, {hashes[-1]}. It was changed or cut "
            f"off before that hash; {begins}: which record, only hashes with numbers (7:HASH) or an earlier copy tell"
        )
    if hashed in places:
        return f"the hash expected of record {number}, {hashed}, is that of record {places[hashed]}"
    if number <= fixed:
        return f"record {number} has the hash {hashes[number - 1]}, expected {hashed}; yet {same}: two ledgers"
    if number > len(hashes):
        what = f"record {number} is missing: expected {hashed}, and it ends with record {len(hashes)}"
        return f"{what}; {same}" if same else what
    what = f"record {number} differs: its hash is {hashes[number - 1]}, expected {hashed}"
    if number == fixed + 1:
        return f"{what}; {same or 'it is the first'}"
    return (
        f"{what}; {same + ', so ' if same else ''}the first change is in one of the records {fixed + 1} to {number}: "
        "which, only the hashes of these tell"
    )
