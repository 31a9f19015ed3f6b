"""A ledger of forecasts: a file of JSON lines, to which forecasts and their outcomes are added and never changed.

Every line holds ``sha256``, over its own canonical JSON (keys in order, no spaces, ASCII), and ``previous``, the hash
of the line before: a line that was altered, taken out or put in between is found. What was cut off at the end is not,
nor a file that was written anew from some line on, unless somebody has a hash from before: publish the last one, with
the number of its line, and everything up to it is fixed. `verify_chain` holds a ledger to what was published.

Lines are added under a lock, to a file that is replaced whole: see `forecast.base.files`.

What became of forecasts in a ledger: each is scored by its last outcome, as far as that tells.

A date is scored in years, up to the last date that is known: of an event that has not happened yet, what the forecast
said beyond that date does not count (the integral of the CRPS ends there, which is the CRPS of dates cut off there).
Whether it came by each deadline is scored as a probability. A quantity is scored in its unit, and in logarithms
where it is positive.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from forecast.base.dates import today, year_of
from forecast.base.distributions import MAX_MAGNITUDE
from forecast.base.files import check_regular, read_bytes, update
from forecast.base.json_text import strict_json
from forecast.base.lazy import xr
from forecast.base.quantiles import QUANTILE_NAMES, QUANTILES
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
from forecast.evaluation import scores
from forecast.evaluation.scores import mean_or_none

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


def resolve_forecast(
    path: str | Path,
    name: str,
    outcome: str | float,
    *,
    on: str,
    source: str = "",
    expect: str | Iterable[str] = (),
    alike: bool = False,
) -> dict[str, Any]:
    """Add what happened to a ledger, and return the scores of the forecast; its own line stays as it is.

    Parameters
    ----------
    path : str or path
    name : str
        The first digits of the forecast's hash.
    outcome : str or float
        The date on which it first was so, ``"never"`` for not by `on`, or a number in the unit of the forecast.
    on : str
        The date on which this was known, or ``"today"``; none that has not come.
    source : str
        Where it was read, if that is not what the forecast says.
    expect : str or iterable of str
        Hashes that were published, which the ledger must hold; see `forecast.evaluation.ledger.parse_published_hashes`.
    alike : bool
        It is the outcome of every forecast of this statement: of the same source and the same threshold, whoever made
        it and at which dates it asks.

    Returns
    -------
    dict
        As `score_forecast`, with ``"replaces"``: the outcome that stood there before, or None; and ``"alike"``: how
        many other forecasts it was added to.

    Raises
    ------
    UsageError
        For an outcome that is none of this forecast.
    DataError
        For what `forecast.evaluation.ledger.read_ledger` refuses.
    """
    check_regular(Path(path))
    known: list[dict[str, Any]] = []

    def line(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        known[:] = records
        forecast = find_forecast(records, name)
        day = past(on, "--on")
        told = _parse_outcome(forecast, outcome, day)
        decided = source.strip() or forecast["resolves"]
        told_of = [forecast, *(_same_statement_forecasts(records, forecast, told, day) if alike else ())]
        return [{"kind": "outcome", "of": e["sha256"], "on": day, "outcome": told, "source": decided} for e in told_of]

    added, *others = extend(path, line, expect=expect)
    forecast, before = find_forecast(known, name), _last_outcomes(known).get(added["of"])
    replaces = None if before is None else before["outcome"]
    return {**score_forecast(forecast, added), "replaces": replaces, "alike": len(others)}


def _same_statement_forecasts(
    records: Sequence[Mapping[str, Any]], forecast: Mapping[str, Any], outcome: str | float, day: str
) -> Iterator[Mapping[str, Any]]:
    """Walk the other forecasts of a statement that were made by a day and have another outcome, or none."""
    if forecast["asks"] != "when":
        raise UsageError("--statement: it asks for a value, and no other forecast asks when that is so")
    known, wanted = _last_outcomes(records), (forecast["resolves"], threshold_text(forecast))
    for line in records:
        if line["kind"] != "forecast" or line["asks"] != "when" or line["sha256"] == forecast["sha256"]:
            continue
        settled = known.get(str(line["sha256"]), {}).get("outcome")
        if (line["resolves"], threshold_text(line)) == wanted and line["on"] <= day and settled != outcome:
            yield line


def _parse_outcome(forecast: Mapping[str, Any], stated: str | float, on: str) -> str | float:
    """Read an outcome as this forecast can have it."""
    shown = printable(stated, 40)
    if on < forecast["on"]:
        raise UsageError(f"--on {on}: the forecast is of {forecast['on']}; expected that date or a later one")
    if forecast["asks"] == "when":
        if stated == NEVER_OUTCOME:
            return NEVER_OUTCOME
        date = parse_date(str(stated), "--outcome")
        if date > on:
            raise UsageError(f"--outcome {shown}: comes after --on {on}, on which it was known")
        return date
    try:
        number = float(stated)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        unit = f" in {forecast['unit']}" if forecast["unit"] else ""
        raise UsageError(f"--outcome: expected a number{unit}, got '{shown}'")
    if on < forecast["at"]:
        raise UsageError(f"--on {on}: the forecast is about {forecast['at']}, which comes after it")
    return number


def _last_outcomes(records: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the last outcome of every forecast that has one."""
    return {str(record["of"]): record for record in records if record["kind"] == "outcome"}


# --- what a forecast is of --------------------------------------------------------------------------------------------


def threshold_text(line: Mapping[str, Any]) -> str:
    """Return the fixed side of a condition: a number with its unit, or its text where it is more than one name."""
    stated = line.get("threshold", {})
    side, values = str(stated.get("side", line["asked"])), stated.get("values", {})
    return amount_text(values[side]["value"], values[side]["unit"]) if set(values) == {side} else side


def title(line: Mapping[str, Any], amount: Callable[[float, str], str] | None = None) -> str:
    """Return the title of a question with the numbers of its threshold in it."""
    text = str(line.get("title") or line["question"])
    for name, each in line.get("threshold", {}).get("values", {}).items():
        text = text.replace(f"{{{name}}}", (amount or amount_text)(each["value"], each["unit"]))
    return text


def amount_text(value: float, unit: str) -> str:
    """Return a number and its unit."""
    return f"{value:g} {unit}".strip()


# --- scores -----------------------------------------------------------------------------------------------------------


def score_forecast(forecast: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scores of one forecast.

    Returns
    -------
    dict
        ``id``, ``question``, ``asks``, ``outcome``, ``final`` (False while it has not happened and still may),
        ``crps``, ``wis`` (in years, or of logarithms; None where a quantity is not positive), ``held`` (whether the
        90 % interval covers the outcome; None while that is open) and ``by``: for each date that is decided, the
        ``probability``, whether it ``came``, ``brier`` and ``log_loss``.
    """
    about = {key: forecast[key] for key in ("question", "asks", "unit", "choices")}
    base = {"id": forecast["sha256"][:SHORT_HASH_DIGITS], **about, "outcome": outcome["outcome"], "on": outcome["on"]}
    return {
        **base,
        **(_score_date(forecast, outcome) if forecast["asks"] == "when" else _score_value(forecast, outcome)),
    }


def _score_date(forecast: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:

    start, until, known = (year_of(each) for each in (forecast["start"], forecast["until"], outcome["on"]))
    came = math.inf if outcome["outcome"] == NEVER_OUTCOME else year_of(outcome["outcome"])
    final = came < math.inf or known >= until
    end = until if final else max(known, start)
    points = np.clip([math.inf if p is None else float(p) for p in forecast["points"]], start, end)
    stated = {q: math.inf if (day := forecast["quantiles"][q]) is None else year_of(day) for q in QUANTILE_NAMES}
    levels = _quantile_array({q: min(max(value, start), end) for q, value in stated.items()})
    seen = _as_array(min(max(came, start), end))
    # a quantile is None where it lies after the horizon, as an event does that came later or never
    beyond = came if came <= until else math.inf
    covered: bool | None = stated["p05"] <= max(beyond, start) <= stated["p95"]
    if not final and stated["p95"] > known:
        covered = True if stated["p05"] <= known and stated["p95"] == math.inf else None
    by = []
    for row in forecast["by"]:
        if came < math.inf or outcome["on"] >= row["date"]:
            happened = came <= year_of(row["date"])
            by.append({**row, "came": happened, **_binary(row["probability"], happened, forecast["draws"])})
    return {
        "final": final,
        "crps": float(scores.crps(_draw_array(points), seen)),
        "wis": float(scores.weighted_interval(levels, seen, logs=False)),
        "held": covered,
        "by": by,
    }


def _score_value(forecast: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:
    levels, seen = _quantile_array(forecast["quantiles"]), _as_array(float(outcome["outcome"]))
    positive = bool((levels > 0).all()) and bool(seen > 0)
    return {
        "final": True,
        "crps": float(scores.crps(_draw_array(forecast["points"]), seen)),
        "wis": float(scores.weighted_interval(levels, seen)) if positive else None,
        "held": bool(scores.coverage(levels, seen)),
        "by": [],
    }


def _binary(probability: float, came: bool, worlds: int) -> dict[str, float]:
    """Score a probability; for its logarithm n worlds tell it no nearer to 0 and 1 than by half a world."""
    seen, half = _as_array(float(came)), 0.5 / worlds
    told = _as_array(min(max(probability, half), 1 - half))
    return {"brier": float(scores.brier(_as_array(probability), seen)), "log_loss": float(scores.log_loss(told, seen))}


def _as_array(value: float) -> xr.DataArray:

    return xr.DataArray(float(value))


def _draw_array(points: Any) -> xr.DataArray:

    return xr.DataArray(np.asarray(points, dtype=float), dims="draw")


def _quantile_array(quantiles: Mapping[str, float]) -> xr.DataArray:

    numbers = [float(quantiles[q]) for q in QUANTILE_NAMES]
    return xr.DataArray(numbers, dims="quantile", coords={"quantile": list(QUANTILES)})


# --- the whole ledger -------------------------------------------------------------------------------------------------


def due(forecast: Mapping[str, Any], outcome: Mapping[str, Any] | None) -> str | None:
    """Return the next date on which something of a forecast is decided, or None where all is."""
    if forecast["asks"] != "when":
        return None if outcome else str(forecast["at"])
    if outcome is None:
        return str(min(row["date"] for row in forecast["by"]))
    if score_forecast(forecast, outcome)["final"]:
        return None
    left = [row["date"] for row in forecast["by"] if row["date"] > outcome["on"]]
    return str(min([*left, forecast["until"]]))


def forecast_rows(records: Sequence[Mapping[str, Any]], on: str | None = None) -> list[dict[str, Any]]:
    """Return every forecast of a ledger with what became of it.

    Parameters
    ----------
    records : sequence of dict
        As `forecast.evaluation.ledger.read_ledger` returns them.
    on : str, optional
        What is due on this date is told; without it nothing is, for nothing here reads the clock.

    Returns
    -------
    list of dict
        ``id``, ``on``, ``scenario``, ``question``, ``asked``, ``unit``, ``choices``, ``resolves``, ``quantiles``,
        ``at`` (of a value, its date), ``next`` (the next date that decides something, None for none), ``due`` and
        ``score`` (as `score_forecast`, or None).
    """
    outcomes = _last_outcomes(records)
    out = []
    for forecast in (record for record in records if record["kind"] == "forecast"):
        outcome = outcomes.get(str(forecast["sha256"]))
        following = due(forecast, outcome)
        same = ("on", "scenario", "question", "asks", "asked", "unit", "choices", "resolves", "quantiles")
        out.append(
            {
                "id": str(forecast["sha256"])[:SHORT_HASH_DIGITS],
                **{key: forecast[key] for key in same},
                **({"at": forecast["at"]} if "at" in forecast else {}),
                "next": following,
                "due": None if on is None else following is not None and following <= on,
                "score": None if outcome is None else score_forecast(forecast, outcome),
            }
        )
    return out


def coverage_interval(covered: int, of: int, level: float = 0.9) -> tuple[float, float]:
    """Return the confidence interval of a coverage: `covered` of so many outcomes, after Clopper & Pearson.

    References
    ----------
    Clopper, C. J. & Pearson, E. S. (1934), The use of confidence or fiducial limits, Biometrika 26(4), 404-413.

    Examples
    --------
    >>> [round(end, 3) for end in coverage_interval(2, 3)]
    [0.135, 0.983]
    """
    from scipy.special import betaincinv

    outside = (1 - level) / 2
    low = float(betaincinv(covered, of - covered + 1, outside)) if covered else 0.0
    high = float(betaincinv(covered + 1, of - covered, 1 - outside)) if covered < of else 1.0
    return low, high


def mean_scores(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean scores so far, by what was forecast.

    Parameters
    ----------
    rows : sequence of dict
        As `forecast_rows`.

    Returns
    -------
    list of dict
        ``of`` (probabilities, dates, values), ``n``, and the scores: ``brier`` and ``log_loss``; ``open`` (dates that
        have not come yet and are scored so far), ``crps`` of dates in years, ``wis``, and ``held``: how many of the
        ``intervals`` cover the outcome, with ``low`` and ``high``, the 90 % confidence interval of that share.
    """
    found = [row["score"] for row in rows if row["score"] is not None]
    by = [each for score in found for each in score["by"]]
    out: list[dict[str, Any]] = []
    if by:
        means = {key: mean_or_none(row[key] for row in by) for key in ("brier", "log_loss")}
        out.append({"of": "probabilities", "n": len(by), **means})
    for name, asks in (("dates", ("when",)), ("values", ("value", "growth"))):
        of = [score for score in found if score["asks"] in asks]
        if not of:
            continue
        covered = [score["held"] for score in of if score["held"] is not None]
        row = {"of": name, "n": len(of), "open": sum(not score["final"] for score in of)}
        row |= {"crps": mean_or_none(score["crps"] for score in of)} if name == "dates" else {}
        row |= {"wis": mean_or_none(score["wis"] for score in of), "held": sum(covered), "intervals": len(covered)}
        if covered:
            row["low"], row["high"] = coverage_interval(sum(covered), len(covered))
        out.append(row)
    return out
