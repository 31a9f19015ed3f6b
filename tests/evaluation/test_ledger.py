"""The ledger as a file: lines that follow each other, what is found when they do not, and what is refused."""

import datetime
import json
import math

import pytest
from hypothesis import given, strategies as st

from forecast.base import dates
from forecast.errors import DataError, UnknownNameError, UsageError
from forecast.evaluation import ledger
from toolkit import DATE, VALUE, every


def outcome(of: str, what: object, on: str = "2031-01-01") -> dict:
    return {"kind": "outcome", "of": of, "on": on, "outcome": what, "source": "seen"}


@pytest.fixture(autouse=True)
def later(monkeypatch):
    """Let the dates of these tests have come."""
    monkeypatch.setattr(ledger, "today", lambda: "2046-01-01")


@pytest.fixture
def written(tmp_path):
    """Return a ledger of two forecasts and an outcome."""
    path = tmp_path / "ledger.jsonl"
    first, _ = ledger.append(path, [DATE, VALUE])
    ledger.append(path, [outcome(first["sha256"], "2029-06-01")])
    return path


def test_what_is_appended_is_read_and_nothing_before_it_changes(written):
    before = written.read_bytes()
    records = ledger.read_ledger(written)
    assert [record["kind"] for record in records] == ["forecast", "forecast", "outcome"]
    assert [record["previous"] for record in records] == [None, records[0]["sha256"], records[1]["sha256"]]
    assert {key: records[0][key] for key in DATE} == DATE
    ledger.append(written, [{**VALUE, "question": "more"}])
    assert written.read_bytes().startswith(before)
    assert ledger.find_forecast(records, records[1]["sha256"][:6])["question"] == "v"


def test_a_hash_is_that_of_the_canonical_text():
    """Worked out by hand: SHA-256 of the text with sorted keys, no spaces, and no hash of its own."""
    import hashlib

    made = ledger.seal({"b": 1, "a": "é"}, None)
    text = '{"a":"\\u00e9","b":1,"previous":null}'
    assert made["sha256"] == hashlib.sha256(text.encode()).hexdigest()


def test_what_was_done_to_a_ledger_is_found(written):
    lines = written.read_text().splitlines()
    changed = json.dumps({**json.loads(lines[0]), "on": "2025-01-01"})
    again = ledger.canonical(ledger.seal({**DATE, "on": "2025-01-01"}, None))
    tampered = {
        "a line altered": ([changed, *lines[1:]], ":1: the line was altered"),
        "altered and hashed again": ([again, *lines[1:]], ":2: does not follow the line before it"),
        "the first taken out": (lines[1:], ":1: does not follow"),
        "one taken out": ([lines[0], lines[2]], ":2: does not follow"),
        "one put in": ([lines[0], lines[0], *lines[1:]], ":2: does not follow"),
        "moved": ([lines[1], lines[0], lines[2]], ":1: does not follow"),
    }
    with every() as case:
        for name, (left, says) in tampered.items():
            with case(name):
                written.write_text("\n".join(left) + "\n")
                with pytest.raises(DataError, match=says):
                    ledger.read_ledger(written)
                with pytest.raises(DataError, match=says):
                    ledger.append(written, [VALUE])
                assert written.read_text() == "\n".join(left) + "\n"


def test_foreign_lines_are_named_with_what_was_expected(tmp_path):
    path = tmp_path / "foreign.jsonl"

    def sealed(**changes: object) -> str:
        record = {key: value for key, value in {**DATE, **changes}.items() if value is not ...}
        return ledger.canonical(ledger.seal(record, None))

    lines = {
        "not JSON": ("__import__('os').system('true')", ":1:1:1: not JSON"),
        "no record": ("[1, 2]", "expected a record of a ledger"),
        "another kind": ('{"kind": "note"}', "expected a record of a ledger"),
        "empty": ("", "not JSON"),
        "NaN": ('{"kind": NaN}', "NaN is not JSON"),
        "no date": (sealed(on="soon"), "on: expected a date YYYY-MM-DD, got 'soon'"),
        "no such day": (sealed(on="2026-02-30"), "on: expected a date"),
        "no source": (sealed(resolves=" "), "resolves: expected the source that decides"),
        "something missing": (sealed(points=...), "points: is missing; expected a list"),
        "no probability": (
            sealed(by=[{"date": "2030-01-01", "probability": 2}]),
            "by[0].probability: expected a number from 0 to 1, got 2",
        ),
        "a long number": (sealed(points=[10**400]), "points[0]: expected a decimal year"),
        "no quantiles": (sealed(quantiles={"p50": None}), "quantiles.p05: is missing; expected a date"),
        "no time": (sealed(until="2026-01-01"), "until: expected a date after start"),
        "another question": (sealed(asks="rank"), "asks: expected one of when, value, growth, got 'rank'"),
    }
    with every() as case:
        for name, (line, says) in lines.items():
            with case(name):
                path.write_text(line + "\n")
                with pytest.raises(DataError) as refused:
                    ledger.read_ledger(path)
                assert says in str(refused.value)
                assert str(refused.value).startswith(f"{path}:1")
        with case("not UTF-8"):
            path.write_bytes(b"\xff\xfe\n")
            with pytest.raises(DataError, match=":1: not UTF-8"):
                ledger.read_ledger(path)
        with case("none"), pytest.raises(DataError, match="no such file"):
            ledger.read_ledger(tmp_path / "none.jsonl")


def test_an_outcome_belongs_to_a_forecast(written):
    first, value = (record["sha256"] for record in ledger.read_ledger(written)[:2])
    for wrong, says in (
        (outcome("0" * 64, "never"), "expected the hash of a forecast above"),
        (outcome(first, 3.0), "expected a date or never, got 3.0"),
        (outcome(value, "never"), "expected a number, got never"),
    ):
        chained = ledger.seal(wrong, ledger.read_ledger(written)[-1]["sha256"])
        text = written.read_text()
        written.write_text(text + ledger.canonical(chained) + "\n")
        with pytest.raises(DataError, match=f":4: outcome: .*{says}"):
            ledger.read_ledger(written)
        written.write_text(text)


def test_a_forecast_is_found_by_the_first_digits_of_its_hash(written):
    records = ledger.read_ledger(written)
    with pytest.raises(UnknownNameError, match="unknown forecast 'zzz'"):
        ledger.find_forecast(records, "zzz")
    with pytest.raises(UnknownNameError):
        ledger.find_forecast(records, "")
    twins = [{**record, "sha256": f"abc{i}"} for i, record in enumerate(records[:2])]
    with pytest.raises(UsageError, match="begins the names of 2 forecasts"):
        ledger.find_forecast(twins, "abc")


def test_a_last_line_without_its_end_is_a_line(written):
    written.write_bytes(written.read_bytes().rstrip(b"\n"))
    ledger.append(written, [VALUE])
    assert len(ledger.read_ledger(written)) == 4


def test_only_one_word_reads_the_clock(monkeypatch):
    monkeypatch.undo()

    class Day(datetime.date):
        @classmethod
        def today(cls):
            return cls(2031, 5, 6)

    monkeypatch.setattr(dates.datetime, "date", Day)
    assert ledger.parse_date("today", "--on") == "2031-05-06"
    assert ledger.parse_date("2026-11-22", "--on") == "2026-11-22"
    for text in ("", "Today", "2026-13-01", "20261122", "2026-11-22T00:00"):
        with pytest.raises(UsageError, match="--on: expected a date such as"):
            ledger.parse_date(text, "--on")


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.text()
    | st.floats(allow_nan=False).filter(math.isfinite),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text().filter(lambda key: key not in ("previous", "sha256")), PLAIN, max_size=4))
def test_a_record_goes_through_text_and_keeps_its_hash(record):
    try:
        text = ledger.canonical(ledger.seal(record, None))
        text.encode("ascii")
    except UnicodeEncodeError:
        pytest.fail("the text of a record is ASCII")
    again = json.loads(text)
    assert ledger.canonical(again) == text
    assert ledger.seal({k: v for k, v in again.items() if k not in ("previous", "sha256")}, None) == again


@given(st.integers(0, 10**6), st.integers(0, 127))
def test_any_byte_that_changes_what_a_line_says_is_found(place, byte):
    line = ledger.canonical(ledger.seal(DATE, None))
    at = place % len(line)
    changed = line[:at] + chr(byte) + line[at + 1 :]
    try:
        same = json.loads(changed) == json.loads(line)
    except ValueError:
        return
    if not same and isinstance(json.loads(changed), dict):
        record = json.loads(changed)
        assert ledger.seal({k: v for k, v in record.items() if k != "sha256"}, record.get("previous")) != record
