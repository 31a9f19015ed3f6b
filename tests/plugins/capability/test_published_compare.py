"""``forecast published compare``, end to end."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import forecast
from forecast.cli import main
from forecast.contract.registry import get_registry
from forecast.errors import ScenarioError, UnknownNameError
from forecast.evaluation.shared_questions import compare, shared_questions, sharing
from toolkit import json_of


def command(*words):
    return subprocess.run(
        [sys.executable, "-m", "forecast", "published", "compare", *words],
        capture_output=True, text=True, timeout=300, env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_all_questions_on_one_screen_s_width():
    done = command("--draws", "100")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "it happened on 2026-02-05" in lines
    for name in ("metr-2025", "direct-approach", "cotra-2020", "ai-2027-a", "ai-2027-b", "kwa-2026", "epoch-limits",
                 "ho-2024", "gpu-limits", "ftm-2023", "ai-economy-2026",
                 "ai-futures-2025"):  # fmt: skip
        assert any(line.startswith(f"{name} ") for line in lines)
    for name in ("kwa-2026-midpoints", "ai-futures-2025-defaults"):
        assert not any(line.startswith(name) for line in lines)


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
    (size,) = compare(["largest-run-2025"], draws=128)
    rows = {row["scenario"]: row for row in size["answers"]}
    fixed = rows["capability/cotra-2020-reconstructed"]
    assert fixed["p10"] == fixed["p90"] == pytest.approx(10**26.602, rel=0.01)
    assert fixed["score"] == pytest.approx(26.699 - 26.602, abs=0.002)  # of a point the CRPS is the distance
    assert rows["capability/direct-approach"]["score"] > fixed["score"]


@pytest.mark.slow
def test_the_brier_score_is_that_of_the_probability_by_the_day_to_which_it_is_known():
    (question,) = compare(["superhuman-coder"], draws=512)
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
    with pytest.raises(UnknownNameError, match=r"ai-2027-a: questions.coder.shared: unknown shared question"):
        list(sharing(get_registry(), {"horizon-8h": {}}))


def test_every_outcome_has_a_day():
    for name, question in shared_questions(get_registry()).items():
        if question["outcome"] is not None or question["happened"] is not None:
            assert question["known_by"] is not None, name


def test_when_a_forecast_was_made_is_a_day():
    with pytest.raises(ScenarioError, match="published_on: expected a date such as 2030-01-01, got 'last year'"):
        forecast.Scenario.from_dict(
            {"published_on": "last year", "until": 2030, "quantities": {"x": {"value": 1, "unit": ""}}}
        )
