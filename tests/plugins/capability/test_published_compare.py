"""``forecast published compare``, end to end."""

import os
import re
import subprocess
import sys

import pytest
import xarray as xr

import forecast
from forecast import Scenario
from forecast.cli import main
from forecast.contract.registry import get_registry
from forecast.errors import ScenarioError, UnknownNameError
from forecast.evaluation.shared_questions import compare_scenarios, scenarios_sharing, shared_questions
from toolkit import json_of, sample


def command(*words):
    return subprocess.run(
        [sys.executable, "-m", "forecast", "published", "compare", *words],
        capture_output=True, text=True, timeout=300, env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_it_opens_with_one_screen_of_a_line_a_question():
    done = command("--draws", "256")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    for name in shared_questions(get_registry()):
        assert len([line for line in lines if line.startswith(f"{name} ")]) == 1, name
    row = next(line for line in lines if line.startswith("superhuman-coder "))
    assert re.search(r" 7 +20\d\d to 20\d\d +2025 to >2065 +not yet$", row)
    assert re.search(r" 5e26$", next(line for line in lines if line.startswith("largest-run-2025 ")))
    text = " ".join(done.stdout.split())
    nearest = re.search(r"Nearest on largest-run-2025: (\S+) \(.*?\); furthest: (\S+) ", text)
    (size,) = compare_scenarios(["largest-run-2025"], draws=256)
    scores = {row["scenario"].rpartition("/")[2]: row["score"] for row in size["answers"] if row["score"] is not None}
    assert nearest.groups() == (min(scores, key=scores.get), max(scores, key=scores.get))
    early = re.search(r"(\S+) gave superhuman-coder (\d+) % by 2026-09", text)
    (coder,) = compare_scenarios(["superhuman-coder"], draws=256)
    most = max(coder["answers"], key=lambda row: row["by_known"])
    assert early.groups() == (most["scenario"].rpartition("/")[2], f"{100 * most['by_known']:.0f}")


@pytest.mark.slow
def test_a_question_by_its_name_is_a_line_a_model_in_the_texts_of_all_tables():
    done = command("transformative-ai", "horizon-8h", "--draws", "256")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    rows = {line.split()[0]: line for line in lines if line}
    assert re.search(r"2020-09 +205\d +20\d\d to >2100 +2\d % +0\.0\d$", rows["cotra-2020"])
    # nothing is drawn: no interval and no probability
    assert re.search(r"2023-06 +2039-12 +- +- +0\.00$", rows["ftm-2023"])
    assert re.search(r"2023-06 +>2100 +- +- +0\.00$", rows["ftm-2023-conservative"])
    assert re.search(r"already to 2026-\d\d +<1 % +seen$", rows["metr-2025-piecewise"])
    text = " ".join(done.stdout.split())
    assert "6 models, 2027-03 to >2100 in their medians" in text or "6 models, 2027 to >2100 in their medians" in text
    assert "They do not mean the same: " in text
    assert "it happened on 2026-02-05." in text
    for name in ("kwa-2026-midpoints", "ai-futures-2025-defaults"):
        assert name not in rows


@pytest.mark.slow
def test_ai_2027_and_metr_share_month_long_tasks_at_80_percent():
    (month,) = compare_scenarios(["horizon-167h-80"], draws=256)
    rows = {row["scenario"].rpartition("/")[2]: row for row in month["answers"]}
    assert set(rows) == {"ai-2027-a", "ai-2027-a-nikola", "ai-2027-c", "metr-2025"}  # what extends metr-2025 has no p80
    assert rows["metr-2025"]["definitions"] == {"window": "2023-p80"}
    metr = forecast.project("capability/metr-2025", draws=256, with_={"window": "2023-p80"}).answers["month"].headline
    assert rows["metr-2025"]["p50"] == pytest.approx(metr.median, abs=0.01)
    assert "15 minutes" in month["differs"]
    run = forecast.project("capability/ai-2027-a", draws=256, with_={"goal": 2, "kind": "exponential"})
    coder, tasks = (run.answers[name].headline for name in ("coder", "month_long"))
    assert tasks.median < coder.median  # a superhuman coder has twice the horizon, and costs and speed besides


def test_the_answer_as_json(capsys):
    assert main(["published", "compare", "horizon-8h", "--json", "--draws", "128"]) == 0
    answer = json_of(capsys.readouterr().out)
    assert answer["command"] == "published compare"
    assert {p["name"] for p in answer["provenance"]["plugins"]} == {"capability"}
    (day,) = answer["result"]
    assert {row["scenario"].partition("/")[0] for row in day["answers"]} == {"capability"}
    assert all(row["seen"] and row["score"] is None for row in day["answers"])  # made when it was known


@pytest.mark.slow
def test_a_value_is_scored_by_its_distance_in_orders_of_magnitude():
    (size,) = compare_scenarios(["largest-run-2025"], draws=128)
    rows = {row["scenario"]: row for row in size["answers"]}
    fixed = rows["capability/cotra-2020-reconstructed"]
    assert fixed["p05"] == fixed["p95"] == pytest.approx(10**26.602, rel=0.01)
    assert fixed["score"] == pytest.approx(26.699 - 26.602, abs=0.002)  # of a point the CRPS is the distance
    assert rows["capability/direct-approach"]["score"] > fixed["score"]


@pytest.mark.slow
def test_the_brier_score_is_that_of_the_probability_by_the_day_to_which_it_is_known():
    (question,) = compare_scenarios(["superhuman-coder"], draws=512)
    row = next(r for r in question["answers"] if r["scenario"] == "capability/ai-2027-a")
    dates = forecast.project("capability/ai-2027-a", draws=512)["questions"]["coder_date"].values
    import numpy as np

    assert row["score"] == pytest.approx(float((dates <= np.datetime64("2026-09-28")).mean()) ** 2, abs=1e-9)


@pytest.mark.slow
def test_a_question_that_nobody_asks_is_refused():
    done = command("superhuman-codr")
    assert done.returncode == 2
    assert "unknown shared question 'superhuman-codr'; did you mean 'superhuman-coder'" in done.stderr


def test_a_scenario_that_shares_what_no_table_has_is_an_error():
    with pytest.raises(UnknownNameError, match=r"ai-2027-a: questions.coder.comparable_as: unknown shared question"):
        list(scenarios_sharing(get_registry(), {"horizon-8h": {}}))


def test_every_outcome_has_a_day():
    for name, question in shared_questions(get_registry()).items():
        if question["outcome"] is not None or question["happened"] is not None:
            assert question["known_by"] is not None, name


def test_when_a_forecast_was_made_is_a_day():
    with pytest.raises(ScenarioError, match="published_on: expected a date such as"):
        forecast.Scenario.from_dict(
            {"published_on": "last year", "until": 2030, "quantities": {"x": {"value": 1, "unit": ""}}}
        )


def test_a_question_is_shared_under_values_that_are_there():
    record = {
        "until": 2030,
        "choices": {"metric": {"values": ["1", "2"], "kind": "definition"}},
        "quantities": {"x": {"expression": "{metric}*(t - start)"}},
        "questions": {"there": {"when": "x >= 3", "comparable_as": {"horizon-8h": {"metric": "2"}}}},
    }
    assert forecast.Scenario.from_dict(record).questions["there"].shared == {"horizon-8h": {"metric": "2"}}
    record["questions"]["there"]["comparable_as"] = {"horizon-8h": {"metric": "3"}}
    with pytest.raises(UnknownNameError, match=r"questions.there.comparable_as: unknown value of metric '3'"):
        forecast.Scenario.from_dict(record)
    record["questions"]["there"]["comparable_as"] = {"horizon-8h": {"metrics": "2"}}
    with pytest.raises(UnknownNameError, match=r"comparable_as: unknown choice 'metrics'; did you mean 'metric'"):
        forecast.Scenario.from_dict(record)
    record["questions"]["there"]["comparable_as"] = {"horizon-8h": 3}
    with pytest.raises(ScenarioError, match=r"comparable_as.horizon-8h: expected values of choices"):
        forecast.Scenario.from_dict(record)


@pytest.mark.parametrize(
    ("name", "names"),
    sample([("ftm-2023-aggressive", ["agi", "run_2025"]), ("model-capability", ["horizon_month", "saved"])], 2),
)
def test_a_scenario_that_asks_some_of_its_questions_answers_them_as_before(name, names):
    scenario = Scenario.load(name)
    some, every = (forecast.project(each, draws=256, paths=()) for each in (scenario.asking(names), scenario))
    assert len(some.answers) == len(names) < len(every.answers)
    for one in names:
        group = "questions" if one in scenario.questions else f"values/{one}"
        answered = [column for column in some[group].data_vars if column.startswith(one) or group != "questions"]
        assert answered
        for column in answered:
            xr.testing.assert_identical(some[group].to_dataset()[column], every[group].to_dataset()[column])
