"""The monthly run end to end: tables fetched anew, answers that moved, statements resolved, and scores."""

from __future__ import annotations

import pytest

from forecast.evaluation import ledger
from forecast.tables.remote import snapshots
from tests.toolkit import package, remote

ONE = b"date,v\n2020-01-01,1\n2021-01-01,2\n2022-01-01,4\n2023-01-01,8.5\n"
TWO = ONE + b"2024-06-01,300\n"
PLUGIN = """
def forecast_tables():
    yield TableSpec(name="speeds", descriptor={table!r}, title="speeds", reference="them")
def forecast_scenarios():
    yield ScenarioSpec(name="speed", path={scenario!r}, title="speed", reference="us")
"""
SPEED = """
start = 2024
until = 2040
[quantities.speed]
shape = "trends/exponential"
data = "demo/speeds"
x = "date"
y = "v"
unit = "FLOP/s"
[questions.fast]
title = "it is fast"
when = "speed >= 100 FLOP/s"
dates = [2025-01-01, 2026-01-01]
resolves = "the list of speeds"
[questions.faster]
title = "it is faster"
when = "speed >= 1e6 FLOP/s"
dates = [2026-01-01]
resolves = "the list of speeds"
"""


@pytest.fixture
def month(fake_plugins, upstream, here, monkeypatch):
    """A table that is downloaded, a scenario whose statements rest on it, and a calendar; return what changes both."""
    monkeypatch.setattr(snapshots, "today", lambda: "2024-07-01")
    upstream.pages["/speeds.csv"] = ONE
    fields = [{"name": "date", "type": "date"}, {"name": "v", "type": "number", "unit": "FLOP/s"}]
    (here / "speeds").mkdir()
    (here / "speed.toml").write_text(SPEED, encoding="utf-8")
    table = str(package(here / "speeds", "speeds", remote("speeds", f"{upstream.url}/speeds.csv", fields)))
    fake_plugins.add("demo", PLUGIN.format(table=table, scenario=str(here / "speed.toml")))

    def at(day: str, page: bytes) -> None:
        monkeypatch.setattr(ledger, "today", lambda: day)
        upstream.pages["/speeds.csv"] = page

    return at


def test_the_month_from_tables_to_scores(month, said):
    month("2024-02-01", ONE)
    said("tables", "fetch", "speeds")
    record = ("record", "demo/speed", "--ledger", "mine.jsonl", "--as-of", "today", "--draws", "200")
    assert said(*record).code == 0
    seen = said("resolve", "mine.jsonl", "--on", "today", "--tables", "--json").json["result"]["tables"]
    assert [(row["met"], row["value"], row["newest"]) for row in seen] == [(None, 8.5, "2023-01-01")] * 2

    # a month later: the table has a row more
    month("2024-07-01", TWO)
    refreshed = said("tables", "refresh", "speeds", "--scenario", "demo/speed", "--draws", "200", "--json").json[
        "result"
    ]
    assert refreshed["headline"] == "1 table: 1 changed, 1 of 1 scenario moved."
    moved = {row["name"]: row for row in refreshed["scenarios"][0]["answers"]}
    assert moved["fast"]["after"]["p50"] < moved["fast"]["before"]["p50"]

    # which statements does that decide?
    got = said("resolve", "mine.jsonl", "--on", "today", "--tables")
    assert (got.code, got.err) == (0, "")
    assert "met on 2024-06-01" in got.out
    rows = said("resolve", "mine.jsonl", "--on", "today", "--tables", "--json").json["result"]["tables"]
    assert [(row["statement"], row["met"], row["value"]) for row in rows] == [
        ("it is fast", "2024-06-01", 300), ("it is faster", None, 300),
    ]  # fmt: skip
    before = len(ledger.read_ledger("mine.jsonl"))

    # said anew, then decided: the outcome counts for every forecast of the statement, and is no line of another
    assert said(*record).code == 0
    words = ("--id", rows[0]["id"], "--outcome", "2024-06-01", "--on", "today", "--statement")
    added = said("resolve", "mine.jsonl", *words, "--json").json["result"]["scored"]
    assert added["alike"] == 1
    lines = ledger.read_ledger("mine.jsonl")
    assert [line["kind"] for line in lines[before:]] == ["forecast", "forecast", "outcome", "outcome"]
    of = {line["sha256"]: line["question"] for line in lines if line["kind"] == "forecast"}
    assert {of[line["of"]] for line in lines if line["kind"] == "outcome"} == {"fast"}

    card = said("scorecard", "mine.jsonl", "--on", "2026-02-01", "--json").json["result"]
    states = {
        (row["threshold"], row["by"]): row["state"]
        for row in card["statements"]
        if row["resolves"] == "the list of speeds"
    }
    assert states == {
        ("100 FLOP/s", "2025-01-01"): "resolved", ("100 FLOP/s", "2026-01-01"): "resolved",
        ("1000000 FLOP/s", "2026-01-01"): "due",
    }  # fmt: skip
    mine = next(row for row in card["scores"] if row["who"] == "speed")
    first, second = (line for line in lines if line.get("question") == "fast")
    told = [row["probability"] for line in (first, second) for row in line["by"]]
    assert mine["n"] == 4
    assert mine["brier"] == pytest.approx(sum((1 - each) ** 2 for each in told) / 4)


def test_an_outcome_of_one_forecast_decides_the_statement_for_all_who_answered_it(month, said):
    month("2024-02-01", ONE)
    said("tables", "fetch", "speeds")
    record = (
        "record", "demo/speed", "--ledger", "mine.jsonl", "--as-of", "today", "--draws", "200", "--question", "fast",
    )  # fmt: skip
    said(*record)
    said(*record, "--seed", "1")
    month("2026-02-01", TWO)
    name = ledger.read_ledger("mine.jsonl")[0]["sha256"][:8]
    said("resolve", "mine.jsonl", "--id", name, "--outcome", "never", "--on", "today")
    card = said("scorecard", "mine.jsonl", "--on", "2026-02-01", "--json").json["result"]
    rows = [row for row in card["statements"] if row["resolves"] == "the list of speeds"]
    assert {each["came"] for row in rows for each in row["forecasts"]} == {False}
    for row in rows:
        for each in row["forecasts"]:
            assert each["brier"] == pytest.approx(each["probability"] ** 2)


def test_what_says_nothing_is_refused(month, said):
    month("2024-02-01", ONE)
    said("tables", "fetch", "speeds")
    said("record", "demo/speed", "--ledger", "mine.jsonl", "--as-of", "today", "--draws", "200")
    for words, says in (
        (("--tables",), "--tables: rows up to when? --on DATE"),
        (("--statement",), "--statement: goes with an --outcome"),
    ):
        got = said("resolve", "mine.jsonl", *words)
        assert got.code == 2
        assert says in got.err
