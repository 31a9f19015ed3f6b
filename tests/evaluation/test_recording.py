"""Forecasts of a projection: what goes into a ledger, that it is what the answer says, and what is refused."""

import numpy as np
import pytest

import forecast
from forecast import Scenario
from forecast.errors import UnknownNameError, UsageError
from forecast.evaluation import ledger, ledger_entries
from forecast.report import result_data
from toolkit import every

SCENARIO = {
    "start": 2026,
    "until": 2046,
    "choices": {
        "measure": {"values": ["1", "3"], "kind": "definition"},
        "speed": {"values": ["1", "2"], "weights": [0.75, 0.25]},
    },
    "quantities": {
        "rate": {"normal": [0.1, 0.4], "unit": ""},
        "machine": {"expression": "{measure}*exp({speed}*rate*(t - 2026))", "unit": ""},
        "goal": {"value": 20, "unit": ""},
    },
    "questions": {
        "reached": {"when": "machine >= goal", "dates": [2036, 2040], "resolves": "the yearbook"},
        "size": {"value": "machine", "dates": [2030, 2040], "resolves": "the yearbook"},
        "gains": {"growth": "machine", "dates": [2030], "resolves": "the yearbook"},
    },
}


def changed(**keys: object) -> dict:
    """Return the scenario with some of a question's keys changed, or (None) taken out."""
    question = {key: each for key, each in {**SCENARIO["questions"]["reached"], **keys}.items() if each is not None}
    return {**SCENARIO, "questions": {"reached": question}}


@pytest.fixture(scope="module")
def run():
    return forecast.project(SCENARIO, draws=400, seed=3)


def test_every_definition_and_every_date_of_a_value_is_a_forecast(run):
    made = ledger_entries.forecast_entries(run, on="2026-01-01")
    assert [(each["question"], each["choices"]["measure"], each.get("at")) for each in made] == [
        ("reached", "1", None), ("reached", "3", None),
        ("size", "1", "2030-01-01"), ("size", "3", "2030-01-01"),
        ("size", "1", "2040-01-01"), ("size", "3", "2040-01-01"),
        ("gains", "1", "2030-01-01"), ("gains", "3", "2030-01-01"),
    ]  # fmt: skip
    assert {each["asks"] for each in made} == {"when", "value", "growth"}
    for each in made:
        assert each["pooled"] == {"speed": {"1": 0.75, "2": 0.25}}
        assert (each["on"], each["seed"], each["draws"], each["resolves"]) == ("2026-01-01", 3, 400, "the yearbook")
        assert each["settings"] == {"start": 2026, "until": 2046, "step": "year"}
        assert len(each["points"]) == ledger_entries.N_QUANTILE_POINTS
    assert made[0]["threshold"] == {"side": "goal", "values": {"goal": {"value": 20.0, "unit": ""}}}


def test_a_forecast_is_what_the_answer_says(run):
    made = ledger_entries.forecast_entries(run, on="2026-01-01")
    said = {row["choices"]["measure"]: row["crossing"] for row in result_data.pooled_rows(run)}
    for each in made[:2]:
        crossing = said[each["choices"]["measure"]]
        assert each["quantiles"] == {q: crossing[q] for q in each["quantiles"]}
        assert each["never"] == pytest.approx(crossing["never"], abs=1e-12)
        assert each["already"] == pytest.approx(crossing["already"], abs=1e-12)
        low = sum(p is not None and p <= 2040 for p in each["points"]) / ledger_entries.N_QUANTILE_POINTS
        assert each["by"][1]["probability"] == pytest.approx(low, abs=0.011)
    pooled = [row for row in result_data.value_answers(run) if "weights" in row and row["name"] == "size"]
    sizes = {(row["choices"]["measure"], date["date"]): date for row in pooled for date in row["dates"]}
    for each in made[2:6]:
        date = sizes[each["choices"]["measure"], each["at"]]
        assert each["quantiles"] == pytest.approx({q: date[q] for q in each["quantiles"]}, rel=1e-12)


def test_the_probability_by_a_date_is_the_share_of_the_worlds(run):
    one = ledger_entries.forecast_entries(forecast.project(SCENARIO, draws=400, with_={"speed": "1"}), on="2026-01-01")[
        0
    ]
    rate = np.array(forecast.project(SCENARIO, draws=400)["projection"]["rate"])[0]
    for row, years in zip(one["by"], (10, 14), strict=True):
        assert row["probability"] == pytest.approx((np.log(20) / rate <= years)[rate > 0].sum() / 400, abs=0.003)
    assert (one["pooled"], one["choices"]) == ({}, {"measure": "1", "speed": "1"})


def test_worlds_that_are_weighed_count_as_they_do_in_the_answer():
    known = {**SCENARIO, "update": {"machine": {"log_likelihood": "-(rate - 0.2)**2/0.002"}}}
    run = forecast.project(known, draws=2000, with_={"speed": "1", "measure": "1"})
    made = ledger_entries.forecast_entries(run, on="2026-01-01", questions=["reached", "size"])
    (row,) = result_data.date_rows(run)
    assert made[0]["quantiles"] == {q: row["crossing"][q] for q in made[0]["quantiles"]}
    assert made[0]["by"][0]["probability"] == pytest.approx(row["dates"][0]["probability"], abs=1e-12)
    (figure, *_) = result_data.value_answers(run)
    assert made[1]["quantiles"] == pytest.approx({q: figure["dates"][0][q] for q in made[1]["quantiles"]}, rel=1e-12)


def test_an_answer_of_quantities_records_itself(tmp_path):
    size = forecast.uncertain(p05=1, p95=4, unit="FLOP", name="size")
    asked = {"start": 2026, "until": 2030, "draws": 200}
    answer = forecast.ask(value=2 * size, dates=[2028], resolves="the yearbook", **asked)
    (line,) = answer.record(tmp_path / "mine.jsonl", on="2026-01-01")
    assert line["median"] == pytest.approx(answer.median, rel=0.02)
    when = (size >= "2 FLOP").when(dates=[2028], **asked)
    (other,) = when.record(tmp_path / "mine.jsonl", on="2026-01-01", by=["2027-01-01"], source="the yearbook")
    assert other["previous"] == line["sha256"]
    assert [row["date"] for row in other["by"]] == ["2027-01-01", "2028-01-01"]
    assert other["already"] == pytest.approx(when.already, abs=1e-12)
    rows = ledger.forecast_rows(ledger.read_ledger(tmp_path / "mine.jsonl"))
    assert [row["question"] for row in rows] == [line["question"], other["question"]]


def test_the_newest_observation_is_told(tmp_path):
    run = forecast.project("brain-parity", draws=64, until=2060, with_={"brain": 1e20, "metric": "linpack"})
    (line,) = ledger_entries.record(run, tmp_path / "l.jsonl", on="2026-10-01", by=["2030-01-01"])
    assert line["newest"] == run["observed/machine"]["date"].values.max().astype("datetime64[D]").astype(str)
    assert "top500.org" in line["resolves"]
    assert list(line["data"]) == ["datasets/supercomputers"]
    with pytest.raises(UsageError, match=f"the data go on until {line['newest']}"):
        ledger_entries.forecast_entries(run, on="2025-01-01", by=["2030-01-01"])


def test_what_the_source_is_survives_a_file_and_a_text(tmp_path, run):
    from forecast import save

    save(run, tmp_path / "run.nc")
    again = forecast.load(tmp_path / "run.nc").run
    assert ledger_entries.forecast_entries(again, on="2026-01-01") == ledger_entries.forecast_entries(
        run, on="2026-01-01"
    )
    text = Scenario.from_dict(SCENARIO).to_toml()
    assert text.count('resolves = "the yearbook"') == 3


def test_what_nobody_could_decide_is_refused_with_what_to_add(monkeypatch, run):
    def refused(scenario: object, says: str, error: type = UsageError, **options: object) -> None:
        with pytest.raises(error, match=says):
            ledger_entries.forecast_entries(forecast.project(scenario, draws=50), **{"on": "2026-01-01", **options})

    moving = {**SCENARIO["quantities"], "goal": {"p05": 10, "p95": 30, "unit": ""}}
    unweighted = {**SCENARIO["choices"], "speed": {"values": ["1", "2"]}}
    ranked = {"rank": "machine", "over": "speed"}
    monkeypatch.setattr(ledger, "today", lambda: "2046-01-01")
    with every() as case:
        with case("no source"):
            refused(changed(resolves=None), r'add resolves = "..." to \[questions.reached\], or give --source')
        with case("no date"):
            refused(changed(dates=None), r"add dates = \[2030\] to \[questions.reached\], or give --deadline DATE")
        with case("no threshold"):
            refused(
                {**changed(), "quantities": moving},
                r"no threshold: both sides of 'machine >= goal' differ from world to world \(goal, machine\)",
            )
        with case("rivals without weights"):
            refused(
                {**changed(), "choices": unweighted},
                r"the rivals of 'speed' have no weights; .*--set speed=... \(1, 2\)",
            )
        with case("an order"):
            refused({**SCENARIO, "questions": {"best": ranked}}, "asks for an order", questions=["best"])
        with case("no question that can be decided"):
            refused({**SCENARIO, "questions": {"best": ranked}}, "asks no question that can be decided")
        with case("no such question"):
            refused(SCENARIO, "did you mean 'reached'", UnknownNameError, questions=["reach"])
        with case("beyond the horizon"):
            refused(changed(), "the projection ends on 2046-01-01: --until", by=["2050-01-01"])
        with case("a date that is no more to come"):
            refused(changed(), "asked by 2036-01-01, which is not after --as-of 2036-01-01", on="2036-01-01")
        with case("no date at all"):
            refused(changed(), "--as-of: expected a date", on="tomorrow")
        with case("a sweep"), pytest.raises(UsageError, match="a sweep holds several answers"):
            ledger_entries.forecast_entries(
                forecast.project(SCENARIO, draws=50, sweep={"goal": [10, 20]}), on="2026-01-01"
            )
        with case("counted worlds"), pytest.raises(UsageError, match="worlds were counted"):
            ledger_entries.forecast_entries(forecast.project(SCENARIO, draws=3000, keep=50), on="2026-01-01")
        with (
            case("a source that is no text"),
            pytest.raises(UsageError, match=r"questions\.reached\.resolves: expected text"),
        ):
            forecast.project(changed(resolves=3))
