"""A ledger of forecasts: a file of JSON lines, to which forecasts and their outcomes are added and never changed.

Every line holds ``sha256``, over its own canonical JSON (keys in order, no spaces, ASCII), and ``previous``, the hash
of the line before: a line that was altered, taken out or put in between is found. What was cut off at the end is not,
unless somebody has the last hash; publish it, and the whole file is fixed.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from forecast.base.files import read_bytes, replacing
from forecast.base.json_text import strict_json
from forecast.contract.fields import date
from forecast.errors import DataError, ResultError, UnknownNameError, UsageError, printable
from forecast.projection.crossing import QUANTILES

__all__ = ["NEVER", "append", "canonical", "dated", "find", "read", "sealed"]

#: A larger ledger is refused unread.
LIMIT_BYTES = 1 << 26
#: The outcome of what did not happen.
NEVER = "never"
#: So many digits of a hash name a line.
SHORT = 8

#: The largest number that a line may hold.
MOST = 1e300

Test = Callable[[Any], bool]


def canonical(record: Mapping[str, Any]) -> str:
    r"""Return the one JSON text of a record: keys in order, no spaces, ASCII.

    Examples
    --------
    >>> canonical({"b": 1.50, "a": "é"})
    '{"a":"\\u00e9","b":1.5}'
    """
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def _hash(record: Mapping[str, Any]) -> str:
    held = {key: value for key, value in record.items() if key != "sha256"}
    return hashlib.sha256(canonical(held).encode("ascii")).hexdigest()


def sealed(record: Mapping[str, Any], previous: str | None) -> dict[str, Any]:
    """Return a record with the hash of the line before it and its own.

    Examples
    --------
    >>> one = sealed({"kind": "forecast"}, None)
    >>> sealed({"kind": "outcome"}, one["sha256"])["previous"] == one["sha256"]
    True
    """
    chained = {**record, "previous": previous}
    return {**chained, "sha256": _hash(chained)}


def dated(text: str, where: str) -> str:
    """Return an ISO date; ``today`` is the only word that reads the clock.

    Examples
    --------
    >>> dated("2026-11-22", "--on")
    '2026-11-22'
    """
    if text == "today":
        return datetime.date.today().isoformat()
    if not date(text):
        raise UsageError(f"{where}: expected a date such as 2026-11-22, or today, got '{printable(text, 40)}'")
    return text


# --- what a line holds ------------------------------------------------------------------------------------------------


def _text(value: object) -> bool:
    return isinstance(value, str)


def _stated(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _number(value: object) -> bool:
    # a whole number of JSON may be longer than any float
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MOST


def _share(value: object) -> bool:
    return _number(value) and 0 <= value <= 1  # type: ignore[operator]


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10**9


def _or_none(test: Test) -> Test:
    return lambda value: value is None or test(value)


def _list(test: Test) -> Test:
    return lambda value: isinstance(value, list) and bool(value) and all(map(test, value))


def _quantiles(test: Test) -> Test:
    return lambda value: isinstance(value, dict) and set(value) == set(QUANTILES) and all(map(test, value.values()))


def _by(value: object) -> bool:
    return isinstance(value, dict) and date(value.get("date")) and _share(value.get("probability"))


_DATE = "a date YYYY-MM-DD"
#: What every forecast holds, what one of a date or of a number holds besides, and what an outcome holds.
_FORECAST: dict[str, tuple[Test, str]] = {
    "on": (date, _DATE),
    "scenario": (_text, "text"),
    "question": (_stated, "text"),
    "asks": (lambda v: v in ("when", "value", "growth"), "when, value or growth"),
    "asked": (_text, "text"),
    "unit": (_text, "text"),
    "choices": (lambda v: isinstance(v, dict) and all(map(_text, v.values())), "texts by name"),
    "resolves": (_stated, "the source that decides"),
    "draws": (_whole, "a whole number of worlds"),
}
_OF_DATES: dict[str, tuple[Test, str]] = {
    "start": (date, _DATE),
    "until": (date, _DATE),
    "by": (_list(_by), "dates with probabilities"),
    "quantiles": (_quantiles(_or_none(date)), f"dates, or null for never, by {', '.join(QUANTILES)}"),
    "points": (_list(_or_none(_number)), "decimal years, or null for never"),
}
_OF_NUMBERS: dict[str, tuple[Test, str]] = {
    "at": (date, _DATE),
    "quantiles": (_quantiles(_number), f"numbers by {', '.join(QUANTILES)}"),
    "points": (_list(_number), "numbers"),
}
_OUTCOME: dict[str, tuple[Test, str]] = {
    "on": (date, _DATE),
    "of": (_stated, "the hash of a forecast"),
    "outcome": (lambda v: _number(v) or date(v) or v == NEVER, "a number, a date or never"),
    "source": (_stated, "where the outcome was read"),
}


def _checked(record: Any, where: str) -> dict[str, Any]:
    """Check what one line holds; keys beyond these say more and are left alone."""
    kind = record.get("kind") if isinstance(record, dict) else None
    if kind not in ("forecast", "outcome"):
        raise DataError(
            f'{where}: expected a record of a ledger, {{"kind": "forecast" or "outcome", ...}}, '
            f"got {printable(record, 60)}"
        )
    wanted = dict(_FORECAST if kind == "forecast" else _OUTCOME)
    if kind == "forecast":
        wanted |= _OF_DATES if record.get("asks") == "when" else _OF_NUMBERS
    for key, (test, expected) in wanted.items():
        if key not in record:
            raise DataError(f"{where}: {kind}: {key} is missing; expected {expected}")
        if not test(record[key]):
            raise DataError(f"{where}: {kind}: {key}: expected {expected}, got {printable(record[key], 60)}")
    if kind == "forecast" and record["asks"] == "when" and not record["start"] < record["until"]:
        raise DataError(f"{where}: forecast: until: expected a date after start, {record['start']}")
    return dict(record)


# --- the file ---------------------------------------------------------------------------------------------------------


def read(path: str | Path) -> list[dict[str, Any]]:
    """Return the lines of a ledger, each checked, and the chain of their hashes.

    Raises
    ------
    DataError
        Naming file and line: for what is no record of a ledger, for a line that is not what it was, for one that does
        not follow on the line before it, and for an outcome of no forecast.
    """
    return _parsed(read_bytes(path, limit=LIMIT_BYTES), printable(path))


def _parsed(content: bytes, name: str) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    forecasts: dict[str, str] = {}
    lines = content.removesuffix(b"\n").split(b"\n") if content else []
    for i, line in enumerate(lines, 1):
        where = f"{name}:{i}"
        record = _checked(strict_json(line, where=where), where)
        before = records[-1]["sha256"] if records else None
        if record.get("sha256") != _hash(record):
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
        elif _number(record["outcome"]) == (forecasts[record["of"]] == "when"):
            expected = "a date or never" if forecasts[record["of"]] == "when" else "a number"
            raise DataError(f"{where}: outcome: expected {expected}, got {printable(record['outcome'], 40)}")
        records.append(record)
    return records


def append(path: str | Path, records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Add records to a ledger, a new one where there is none, and return them with their hashes.

    The whole file is read and checked first, written under another name and renamed: it holds all of them or none.

    Raises
    ------
    DataError
        For what `read` refuses.
    ResultError
        For what cannot be written, and where somebody else added a line in the meantime.
    """
    content = _content(path)
    known = _parsed(content, printable(path))
    before = known[-1]["sha256"] if known else None
    added = []
    for record in records:
        added.append(_checked(sealed(record, before), printable(path)))
        before = added[-1]["sha256"]
    gap = b"\n" if content and not content.endswith(b"\n") else b""
    with replacing(path) as temporary:
        temporary.write_bytes(content + gap + "".join(f"{canonical(record)}\n" for record in added).encode("ascii"))
        if _content(path) != content:
            raise ResultError(
                f"{printable(path)}: somebody else added to it in the meantime; nothing was added: try again"
            )
    return added


def _content(path: str | Path) -> bytes:
    return read_bytes(path, limit=LIMIT_BYTES) if Path(path).exists() else b""


def find(records: Sequence[Mapping[str, Any]], name: str) -> dict[str, Any]:
    """Return the forecast whose hash begins like this.

    Raises
    ------
    UnknownNameError, UsageError
        Where there is none, or more than one.
    """
    known = {str(record["sha256"]): record for record in records if record["kind"] == "forecast"}
    found = [hashed for hashed in known if name and hashed.startswith(name)]
    if not found:
        raise UnknownNameError("forecast", name, [hashed[:SHORT] for hashed in known])
    if len(found) > 1:
        raise UsageError(f"'{printable(name, 80)}' begins the names of {len(found)} forecasts: give more of its digits")
    return dict(known[found[0]])
