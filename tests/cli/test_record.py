"""``forecast record`` and ``forecast resolve``: a ledger from the command line, on the screen and as JSON."""

import json
from pathlib import Path

import pytest

from forecast.evaluation import ledger as ledgers
from toolkit import every, spawn

TEXT = """
start = 2026
until = 2046
[quantities.rate]
normal = [0.1, 0.4]
unit = ""
[quantities.machine]
expression = "exp(rate*(t - 2026))"
[questions.reached]
title = "the machine is reached"
when = "machine >= 20"
dates = [2036]
resolves = "the yearbook"
[questions.size]
value = "machine"
dates = [2030]
"""
WORDS = ("mine.toml", "--ledger", "ledger.jsonl", "--as-of", "2026-01-01", "--draws", "200")
ONE = (*WORDS, "--question", "reached")


@pytest.fixture(autouse=True)
def later(monkeypatch):
    """Let the dates of these tests have come; a process of its own knows nothing of it."""
    monkeypatch.setattr(ledgers, "today", lambda: "2046-01-01")


@pytest.fixture
def recorded(said, scenario):
    """Return the name of a ledger with one forecast, and the name of that forecast."""
    scenario(TEXT)
    return "ledger.jsonl", said("record", *ONE, "--json").json["result"]["forecasts"][0]["id"]


def test_a_forecast_is_written_down_on_one_screen(said, scenario):
    scenario(TEXT)
    got = said("record", *ONE)
    assert (got.code, got.err) == (0, "")
    lines = got.out.splitlines()
    assert lines[0] == "1 forecast of 2026-01-01 in ledger.jsonl."
    assert "reached: machine >= 20: 20" in lines[2]
    assert lines[3].strip().startswith("by 2036-01-01: ")
    assert lines[4].strip() == "decided by: the yearbook"
    (line,) = map(json.loads, Path("ledger.jsonl").read_text().splitlines())
    assert f"last line: {line['sha256']}" in got.out
    assert line["title"] == "the machine is reached"
    again = said("record", *WORDS, "--source", "a report", "--json").json
    assert [each["question"] for each in again["result"]["forecasts"]] == ["reached", "size"]
    assert again["result"]["forecasts"][0]["previous"] == line["sha256"]
    assert again["result"]["forecasts"][1]["resolves"] == "a report"
    assert again["provenance"]["seed"] == 0


def test_equal_seeds_give_equal_ledgers(said, scenario):
    scenario(TEXT)
    for name in ("a.jsonl", "b.jsonl"):
        assert said("record", "mine.toml", "--ledger", name, *ONE[3:]).code == 0
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()


def test_an_outcome_is_scored_and_the_forecast_stays(said, recorded):
    ledger, name = recorded
    before = Path(ledger).read_bytes()
    got = said("resolve", ledger, "--on", "2036-06-01")
    assert got.out.splitlines()[0] == "1 forecast in ledger.jsonl: 0 decided, 1 open, 1 of them due."
    assert "2036-01-01 (due)" in got.out
    assert "No score yet" in got.out
    got = said("resolve", ledger, "--id", name, "--outcome", "never", "--on", "2037-01-01")
    assert f"{name}  reached: never" in got.out
    assert "did not come: Brier" in got.out
    assert "so far, until 2037-01-01" in got.out
    got = said("resolve", ledger, "--id", name, "--outcome", "2038-03-01", "--on", "2038-04-01", "--json")
    result = got.json["result"]
    assert result["scored"]["final"] is True
    assert got.json["warnings"] == [f"forecast {name}: the outcome never stays in the ledger and counts no more"]
    (probabilities, dates) = result["scores"]
    assert probabilities["n"] == dates["n"] == dates["intervals"] == 1
    assert result["forecasts"][0]["next"] is None
    assert Path(ledger).read_bytes().startswith(before)
    said_now = said("resolve", ledger).out
    assert "1 decided, 0 open." in said_now
    assert "1 of 1 90 % intervals held, which leaves a share of 5 to 100 % possible" in said_now


@pytest.mark.slow
def test_end_to_end_in_processes_of_their_own(tmp_path):
    text = TEXT
    for year, then in (("2026", "1926"), ("2046", "1946"), ("2036", "1936"), ("2030", "1940")):
        text = text.replace(year, then)
    Path(tmp_path, "mine.toml").write_text(text)
    done = spawn("record", *ONE[:3], "--as-of", "1926-01-01", *ONE[5:], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    name = done.stdout.splitlines()[2].split()[0]
    words = ("--id", name, "--outcome", "1934-01-01", "--on", "1934-02-01")
    done = spawn("resolve", "ledger.jsonl", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "the 90 % interval held" in done.stdout
    assert [json.loads(line)["kind"] for line in Path(tmp_path, "ledger.jsonl").read_text().splitlines()] == [
        "forecast", "outcome",
    ]  # fmt: skip


def test_what_was_changed_by_hand_is_an_error_that_names_the_line(said, recorded):
    ledger, _name = recorded
    text = Path(ledger).read_text()
    Path(ledger).write_text(text.replace("the yearbook", "my own word"))
    for words in (("resolve", ledger), ("record", *ONE)):
        assert "ledger.jsonl:1: the line was altered" in said(*words).refused(1)
    Path(ledger).write_text(text + "hello\n")
    assert "ledger.jsonl:2:1:1: not JSON" in said("resolve", ledger).refused(1)


def test_refusals(said, recorded, scenario):
    ledger, name = recorded
    before = Path(ledger).read_bytes()
    with every() as case:
        with case("a source is missing"):
            refusal = said("record", *WORDS).refused()
            assert 'add resolves = "..." to [questions.size], or give --source' in refusal
        with case("no date of its own"):
            assert "'--as-of'" in said("record", *WORDS[:3]).refused()
        with case("no such day"):
            assert "--as-of: expected a date such as" in said("record", *WORDS[:4], "soon").refused()
        with case("no such date"):
            assert "--deadline: expected a date such as" in said("record", *ONE, "--deadline", "2030").refused()
        with case("a folder"):
            Path("folder").mkdir()
            assert "is a folder" in said("record", "mine.toml", "--ledger", "folder", *ONE[3:]).refused(1)
        with case("no such ledger"):
            assert "none.jsonl: no such file" in said("resolve", "none.jsonl").refused(1)
        with case("no such forecast"):
            refusal = said("resolve", ledger, "--id", "zz", "--outcome", "never", "--on", "2030-01-01").refused()
            assert "unknown forecast 'zz'" in refusal
        with case("of which forecast"):
            assert "of which forecast? --id" in said("resolve", ledger, "--outcome", "never").refused()
        with case("known when"):
            assert "known when? --on DATE" in said("resolve", ledger, "--id", name, "--outcome", "never").refused()
        with case("no outcome"):
            assert "--id: goes with an --outcome" in said("resolve", ledger, "--id", name).refused()
        with case("a source of nothing"):
            assert "--source: goes with an --outcome" in said("resolve", ledger, "--source", "x").refused()
    assert Path(ledger).read_bytes() == before


def test_a_ledger_is_held_to_a_published_hash(said, recorded):
    name, _ = recorded
    said("record", *WORDS, "--source", "a report")
    (first, *_, head) = (json.loads(line) for line in Path(name).read_text().splitlines())
    got = said("resolve", name, "--expect", first["sha256"])
    assert (got.code, got.out.splitlines()[2]) == (0, "as published up to record 1; 2 records were added since.")
    got = said("resolve", name, "--expect", f"3:{head['sha256']}", "--json")
    assert (got.json["result"]["published"], got.json["result"]["records"]) == (3, 3)
    assert "published" not in said("resolve", name, "--json").json["result"]
    Path("published.txt").write_text(f"1:{first['sha256']}\n3:{head['sha256']}\n")
    records = [json.loads(line) for line in Path(name).read_text().splitlines()]
    chain, before = [], None
    for record in records:  # rewritten from the first line on, and hashed again
        record |= {"resolves": "my own word"}
        chain.append(ledgers.seal({k: v for k, v in record.items() if k not in ("previous", "sha256")}, before))
        before = chain[-1]["sha256"]
    Path(name).write_text("".join(f"{ledgers.canonical(record)}\n" for record in chain))
    assert said("resolve", name).code == 0
    refusal = said("resolve", name, "--expect", "published.txt").refused(1)
    assert f"record 1 differs: its hash is {chain[0]['sha256']}, expected {first['sha256']}" in refusal
    assert "no record has the hash" in said("resolve", name, "--expect", head["sha256"]).refused(1)
    assert "--expect: expected a hash of 64 digits" in said("resolve", name, "--expect", "1d7f834d").refused()


def test_nothing_is_written_down_for_a_day_that_has_not_come(said, recorded, monkeypatch):
    ledger, name = recorded
    before = Path(ledger).read_bytes()
    monkeypatch.setattr(ledgers, "today", lambda: "2026-03-01")
    for words in (
        ("record", *WORDS[:4], "2099-01-01", "--question", "reached"),
        ("resolve", ledger, "--on", "2099-01-01"),
        ("resolve", ledger, "--id", name, "--outcome", "never", "--on", "2099-01-01"),
    ):
        option = "--as-of" if words[0] == "record" else "--on"
        says = f"{option} 2099-01-01: comes after today, 2026-03-01; expected a date that has come"
        assert says in said(*words).refused()
    assert Path(ledger).read_bytes() == before
