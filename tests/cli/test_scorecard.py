"""The scorecard: statements side by side, scores by hand, and the ledger that ships."""

import json
import math

import numpy as np
import pytest

import forecast
from forecast.contract.registry import get_registry
from forecast.evaluation import ledger, scorecard

SHIPPED = scorecard.shipped_ledgers(get_registry())
RECORDS = {name: ledger.read_ledger(path) for name, path in SHIPPED.items()}
SAID = [each for records in RECORDS.values() for each in scorecard.statements(records)]
PEOPLE = scorecard.public(get_registry())


@pytest.fixture
def card(said, monkeypatch):
    """Return the scorecard of a day, as the command prints it."""

    def at(day: str, *more: str) -> dict:
        return said("scorecard", "--on", day, "--json", *more).json["result"]

    return at


def test_a_ledger_ships_whose_chain_holds_and_that_no_change_survives(tmp_path):
    assert list(SHIPPED) == ["capability/model-statements"]
    (path,) = SHIPPED.values()
    lines = path.read_text(encoding="ascii").splitlines()
    for i in (0, len(lines) // 2):
        altered = [*lines[:i], lines[i].replace('"draws":2048', '"draws":2049'), *lines[i + 1 :]]
        copy = tmp_path / f"{i}.jsonl"
        copy.write_text("\n".join(altered) + "\n", encoding="ascii")
        with pytest.raises(forecast.ForecastError, match=rf":{i + 1}: the line was altered"):
            ledger.read_ledger(copy)


def test_at_least_25_statements_each_with_scenario_threshold_date_source_and_how_to_repeat_it():
    ours = [each for each in SAID if each["who"] == "model-statements" and each["kind"] == "forecast"]
    made = {each["made"] for each in ours}
    assert min(made) == "2026-11-25"
    for day in made:  # each day's forecasts are of every statement once
        of_day = [each["statement"] for each in ours if each["made"] == day]
        assert len(set(of_day)) == len(of_day) >= 25
    for each in ours:
        assert each["statement"].threshold
        assert each["statement"].by > each["made"]
        assert "http" in each["statement"].resolves or "data sheets" in each["statement"].resolves
        assert 0 <= each["probability"] <= 1
    for line in RECORDS["capability/model-statements"]:
        if line["kind"] == "forecast":
            get_registry().find("scenario", line["scenario"])
            assert line["threshold"]["side"]
            assert line["draws"] >= 2048
            assert len(line["scenario_hash"]) == 64
            assert line["seed"] == 0


def test_the_scenario_asks_all_that_the_ledger_says_it_said():
    scenario = forecast.scenario("model-statements")
    asked = {(each.resolves, str(date)[:10]) for each in scenario.questions.values() for date in each.dates}
    ours = {
        (each["statement"].resolves, each["statement"].by)
        for each in SAID
        if each["who"] == "model-statements" and each["kind"] == "forecast"
    }
    assert {source for source, _ in ours} == {source for source, _ in asked}


def test_scores_are_those_of_a_calculation_by_hand(card):
    found = card("2026-11-25")
    for row in found["scores"]:
        mine = [
            (each["probability"], statement["came"])
            for statement in found["statements"]
            for each in statement["forecasts"]
            if (each["who"], each["kind"]) == (row["who"], row["kind"]) and each["came"] is not None
        ]
        assert row["n"] == len(mine)
        if mine:
            assert row["brier"] == pytest.approx(sum((p - came) ** 2 for p, came in mine) / len(mine))
            logs = [-math.log(p if came else 1 - p) for p, came in mine]
            assert row["log_score"] == pytest.approx(sum(logs) / len(logs), rel=1e-6)
    # Manifold by hand: .323, .039 and .030 came to nothing, so did .826; .355 and .608 came
    manifold = next(row for row in found["scores"] if row["who"] == "manifold")
    by_hand = (0.323**2 + 0.039**2 + 0.030**2 + 0.826**2 + (1 - 0.355) ** 2 + (1 - 0.608) ** 2) / 6
    assert (manifold["n"], manifold["brier"]) == (6, pytest.approx(by_hand))


def test_what_two_answered_is_scored_on_what_both_answered(card):
    beside = card("2026-11-25")["beside"]
    (row,) = [row for row in beside if {each["who"] for each in row["of"]} == {"metaculus", "model-statements"}]
    assert row["n"] == 1
    metaculus = next(each for each in row["of"] if each["who"] == "metaculus")
    assert metaculus["brier"] == pytest.approx((1 - 0.8) ** 2)


def test_a_hindcast_reads_nothing_of_later_and_stands_apart():
    hindcasts = [line for records in RECORDS.values() for line in records if "as_of" in line.get("settings", {})]
    assert hindcasts
    for line in hindcasts:
        assert line["newest"] <= line["on"] < min(row["date"] for row in line["by"])
    assert {each["kind"] for each in SAID if each["came"] is not None} == {"hindcast"}


def test_a_date_that_has_passed_without_an_outcome_is_due_and_not_before(card):
    def states(day: str) -> dict:
        return {
            (row["threshold"], row["by"]): row["state"]
            for row in card(day)["statements"]
            if row["title"].startswith("a model reaches")
        }

    before, on = states("2026-12-30"), states("2026-12-31")
    assert before["170", "2026-12-31"] == "open"
    assert on["170", "2026-12-31"] == "due"
    assert on["170", "2027-06-30"] == "open"


def test_an_outcome_resolves_a_statement_of_a_copy(card, tmp_path):
    (path,) = SHIPPED.values()
    copy = tmp_path / "mine.jsonl"
    copy.write_bytes(path.read_bytes())
    lines = [each for each in RECORDS["capability/model-statements"] if each.get("question") == "run_of_3e27"]
    said = [by["probability"] for each in lines for by in each["by"]]
    ledger_date = ledger.today()

    ledger.resolve_forecast(copy, lines[0]["sha256"], ledger_date, on=ledger_date, source="a test")
    found = card(ledger_date, str(copy))
    (row,) = [each for each in found["statements"] if each["threshold"] == "3e+27 FLOP"]
    assert (row["state"], row["came"]) == ("resolved", True)
    ours = next(each for each in found["scores"] if (each["who"], each["kind"]) == ("model-statements", "forecast"))
    assert ours["n"] == len(said)  # the first forecast and each later one
    assert ours["brier"] == pytest.approx(np.mean([(1 - probability) ** 2 for probability in said]))


def test_people_are_set_beside_us_or_it_is_said_why_not():
    ours = {each["statement"] for each in SAID}
    for each in PEOPLE:
        assert each["where"].startswith("https://"), each["title"]
        assert (each["statement"] in ours) == (not each["reason"]), each["title"]
    assert sum(each["came"] is not None for each in PEOPLE) >= 10


def test_the_screen_says_what_is_due_open_and_scored(said):
    got = said("scorecard", "--on", "2026-12-31")
    assert (got.code, got.err) == (0, "")
    lines = got.out.splitlines()
    assert lines[0].split(": ")[0].endswith("statements on 2026-12-31")
    assert "scores so far" in got.out
    assert "due:" in lines
    assert "\x1b" not in got.out
    assert json.dumps(got.out)


def test_a_ledger_of_its_own_needs_no_score(said, scenario):
    scenario(
        'start = 2000\nuntil = 2010\n[quantities.m]\nexpression = "t"\n'
        '[questions.q]\ntitle = "q"\nwhen = "m >= 2005"\ndates = [2006]\nresolves = "a book"\n'
    )
    said("record", "mine.toml", "--ledger", "mine.jsonl", "--as-of", "2000-01-01")
    row = next(
        each
        for each in said("scorecard", "mine.jsonl", "--on", "2007-01-01", "--json").json["result"]["statements"]
        if each["resolves"] == "a book"
    )
    assert (row["state"], row["threshold"], row["forecasts"][0]["probability"]) == ("due", "2005", 1.0)
