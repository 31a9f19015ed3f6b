"""An answer in brief, and on one screen."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import forecast
from forecast import Scenario
from forecast.projection.result import AnswerDistribution
from forecast.report import result_data
from forecast.report.brief import Brief, brief
from forecast.report.headline import Labels, opening_sentence
from forecast.report.rows import ReportRow, RowGroup, date_columns
from forecast.report.screen import HEIGHT, brief_lines
from forecast.scenarios.toml_text import toml_text


def rivals(**changed):
    """Return a scenario whose trend is one of two rivals with weights, along two definitions."""
    return {
        "start": 2025,
        "until": 2040,
        "choices": {
            "metric": {"values": ["1", "2"], "kind": "definition"},
            "growth": {"values": ["0.6", "0.1"], "weights": [0.75, 0.25]},
        },
        "labels": {"metric": "benchmark", "1": "FAST", "0.6": "steep", "0.1": "flat"},
        "quantities": {
            "noise": {"p05": 0.8, "p95": 1.25, "unit": ""},
            "goal": {"value": 8, "unit": ""},
            "machine": {"expression": "noise*exp({growth}*(t - start))/{metric}"},
        },
        "questions": {"q": {"when": "machine >= goal", "title": "the machine does eight times its work"}},
        **changed,
    }


@pytest.fixture(scope="module")
def run():
    return forecast.project(rivals(), draws=2000)


# --- what is pooled ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [{"weights": [0.75, 0.25]}, {}], ids=["pooled", "side by side"])
def test_rows_are_counted_without_computing_one(weights):
    choices = rivals()["choices"] | {"growth": {"values": ["0.6", "0.1"], **weights}}
    counted = forecast.project(rivals(choices=choices), draws=20).answers["q"]
    assert counted.row_count == len(counted.rows) == (6 if weights else 4)


def test_a_spread_is_that_of_the_pooled_answer_and_of_each_combination(run):
    question = run.answers["q"]
    assert question.default == {"metric": "1"}
    assert list(question.rivals) == ["growth"]
    (pooled,) = [row for row in result_data.pooled_rows(run) if row["choices"] == {"metric": "1"}]
    assert question.over({"metric": "1"}).never == pooled["crossing"]["never"]
    for row in result_data.date_rows(run):
        spread = question.over(row["choices"])
        assert spread.never == row["crossing"]["never"]
        assert spread.already == row["crossing"]["already"]
        for date, year in zip([row["crossing"][q] for q in ("p05", "p50", "p95")], spread.quantiles[::2], strict=True):
            assert (date is None) == math.isinf(year)
            assert date is None or date[:4] == str(int(year))


def test_the_kept_worlds_give_what_all_worlds_give():
    """Pooled from the worlds it is what the projection pooled, so that rows beside the sentence agree with it."""
    run = forecast.project(rivals(), draws=1000)
    question = run.answers["q"]
    exact = question.over({"metric": "2"})
    own, counts = question.pooled_draws({"metric": "2"})
    assert counts is None
    assert exact.never == np.isposinf(own).mean()
    assert exact.median == pytest.approx(np.sort(own)[499], abs=1e-6)  # dates are kept to the second


def test_without_weights_the_range_of_the_medians_is_said():
    record = rivals()
    record["choices"]["growth"] = {"values": ["0.6", "0.3"], "kind": "rival"}
    del record["labels"]["0.1"]
    run = forecast.project(record, draws=500)
    spread = run.answers["q"].over({"metric": "1"})
    expected = [2025 + math.log(8) / rate for rate in (0.6, 0.3)]
    assert spread.medians == pytest.approx(tuple(expected), abs=0.2)
    assert opening_sentence(run).startswith("The machine does eight times its work (benchmark: FAST) between ")
    assert "depending on growth" in opening_sentence(run)


def test_a_value_is_pooled_alike():
    run = forecast.project(rivals(questions={"v": {"value": "machine", "dates": [2030], "title": "work"}}), draws=2000)
    figure = run.answers["v"]
    rows = {tuple(r["choices"].items()): r for r in result_data.value_answers(run) if "weights" in r}
    spread = figure.over(figure.default)
    assert spread.median == pytest.approx(rows[(("metric", "1"),)]["dates"][0]["p50"], rel=1e-12)
    assert opening_sentence(run).startswith("Work (benchmark: FAST): ")


# --- sentences --------------------------------------------------------------------------------------------------------


def test_a_stated_number_that_is_changed_is_never_spelt_by_the_title():
    run = forecast.project(rivals(), draws=200, with_={"goal": 2})
    said = opening_sentence(run)
    assert "eight times" not in said
    assert "'machine >= goal' holds" in said
    assert said.endswith("; with goal = 2 instead of 8.")


def test_a_title_names_numbers_and_definitions_in_braces():
    record = rivals(questions={"q": {"when": "machine >= goal", "title": "the {metric} machine works {goal} times"}})
    assert opening_sentence(forecast.project(record, draws=200)).startswith("The FAST machine works 8 times by 20")
    said = opening_sentence(forecast.project(record, draws=200, with_={"goal": 2.5, "metric": "2"}))
    assert said.startswith("The 2 machine works 2.5 times by 20")
    assert said.endswith("; with goal = 2.5 instead of 8, benchmark: 2.")
    (row,) = result_data.date_rows(forecast.project(record, draws=50, with_={"metric": "1", "growth": "0.6"}))
    assert row["title"] == "the FAST machine works 8 times"


def test_labels_name_what_there_is(tmp_path):
    """A scenario's own must; those of one that another was made of may name what is there no more."""
    record = rivals()
    record["labels"]["q"] = "eightfold"  # a question
    known = Scenario.from_dict(record)
    assert known.labels["q"] == "eightfold"
    assert "q" not in known.with_(questions={}).labels
    record["labels"]["metrics"] = "benchmark"
    path = tmp_path / "mine.toml"
    path.write_text(toml_text(record), encoding="utf-8")
    for read, stated in ((Scenario.load, path), (Scenario.from_dict, record)):
        with pytest.raises(forecast.errors.UnknownNameError, match=r"labels.*'metrics'; did you mean 'metric'\?"):
            read(stated)
    record["labels"] = {"metric": 3}
    with pytest.raises(forecast.errors.ScenarioError, match=r"labels.metric: expected a text, got '3'"):
        Scenario.from_dict(record)


def racing(**changed):
    """Return a scenario that asks which of two dates comes first, over rivals with weights."""
    record = rivals(**changed)
    record["questions"] |= {
        "r": {"when": "goal >= machine", "title": "the goal is ahead"},
        "race": {"first": ["q", "r"], "title": "which is first"},
    }
    record["labels"] |= {"q": "the machine"}
    return record


def test_what_comes_first_is_said_below_the_chart_pooled_by_the_weights():
    record = racing()
    record["questions"]["r"]["when"] = "machine >= 20"
    run = forecast.project(record, draws=500)
    flat, steep = (
        {**row["first"], "none": row["none"]}
        for growth in ("0.1", "0.6")
        for row in result_data.first_answers(run)
        if row["choices"] == {"metric": "1", "growth": growth}
    )
    expected = 0.75 * steep["q"] + 0.25 * flat["q"]
    (said,) = brief(run).races
    assert said.startswith(
        f"Which is first (benchmark: FAST), by January 2040: the machine {round(100 * expected)} %, "
    )
    assert said.endswith(f"none {round(100 * (0.75 * steep['none'] + 0.25 * flat['none']))} %")
    assert said in " ".join(" ".join(brief_lines(brief(run))).split())
    assert len(brief_lines(brief(run))) <= HEIGHT


def test_what_comes_first_is_a_range_over_rivals_without_weights_and_stands_once():
    record = racing()
    record["choices"]["growth"] = {"values": ["0.6", "0.1"], "kind": "rival"}
    record["questions"]["r"]["when"] = "machine >= 20"
    record["questions"] = {"race": record["questions"].pop("race"), **record["questions"]}
    run = forecast.project(record, draws=500)
    assert re.match(
        r"Which is first \(benchmark: FAST\), by January 2040: the machine under 1 % to over 99 %, ",
        opening_sentence(run),
    )
    assert brief(run).races == ()


def test_what_moves_an_answer_is_called_by_the_words_of_its_scenario():
    words = Labels(forecast.project(rivals(), draws=50))
    assert words.driver("growth") == "growth"
    assert words.driver("metric") == "benchmark"
    assert words.driver("hardware/hpcg@0.6.log_level") == "level (best HPCG result of each TOP500 list, steep)"
    assert words.driver("brain/pooled.member") == "which source (one vote an author)"
    assert words.driver("metric, a/b.x") == "benchmark with x (b)"
    assert words.driver("metric, a, b") == "benchmark with 2 more that move together"


def test_best_ones_that_agree_are_said_together():
    record = rivals(questions={"best": {"rank": "machine", "over": "growth", "title": "the fastest growth"}})
    assert opening_sentence(forecast.project(record, draws=100)) == (
        "The fastest growth: steep for every benchmark, with a probability of over 99 %."
    )
    record["quantities"]["machine"]["expression"] = "noise*exp({growth}*({metric} - 1.5))"
    assert opening_sentence(forecast.project(record, draws=100)) == (
        "The fastest growth: flat (benchmark: FAST), with a probability of over 99 %; "
        "steep (benchmark: 2), with a probability of over 99 %."
    )


def test_where_nothing_is_drawn_no_probability_is_said():
    record = rivals()
    record["quantities"]["noise"] = {"value": 1, "unit": ""}
    never = forecast.project(record, draws=20, with_={"goal": 1e9, "growth": "0.1"})
    assert opening_sentence(never).startswith(
        "It is after January 2040, if ever, that 'machine >= goal' holds (benchmark: FAST); no unc"
    )
    (group,) = brief(never).groups
    assert [row.cells[1] for row in group.rows] == ["", ""]


# --- one screen -------------------------------------------------------------------------------------------------------


def test_rows_are_the_definitions_then_the_rivals(run):
    found = brief(run)
    (group,) = found.groups
    assert [(row.of, row.label) for row in group.rows] == [
        ("", "FAST, pooled"), ("benchmark", "2"), ("growth", "steep"), ("growth", "flat"),
    ]  # fmt: skip
    assert [row.leads for row in group.rows] == [True, False, False, False]
    asked = brief(run, by="growth").groups[0].rows
    assert [row.of for row in asked] == ["", "growth", "growth", "benchmark"]
    assert found.drivers[0][0] == "growth"
    assert found.together + sum(share for _, share in found.drivers) <= 1.05


@pytest.mark.parametrize("width", [64, 80, 120])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_lines_fit_and_bars_stand_where_the_dates_are(run, width, ascii_only):
    out = brief_lines(brief(run), width, ascii_only=ascii_only)
    assert len(out) <= HEIGHT
    assert max(map(len, out)) <= width
    assert all(line.isascii() for line in out) or not ascii_only
    (steep,) = [line for line in out if " steep" in line]
    (flat,) = [line for line in out if " flat" in line]
    dot = "o" if ascii_only else "●"
    axis = next(line for line in out if line.startswith("  ") and "median" in line)
    scale = (axis.index("2025"), axis.index("2040") + 4)
    at = steep.index(dot, scale[0])
    expected = scale[0] + (math.log(8) / 0.6) / 15 * (scale[1] - scale[0] - 1)
    assert abs(at - expected) <= 1.5
    assert (">" if ascii_only else "▶") in flat
    assert ">2040" in flat
    key = next(line for line in out if line.startswith("Marks: "))
    assert "90 %" in key
    assert f"{'>' if ascii_only else '▶'} >2040 after January 2040, or never" in " ".join(" ".join(out).split())
    assert ("not by 2040" if width > 80 else ">2040") in axis


@pytest.mark.parametrize("width", [48, 58, 80])
def test_the_ends_of_an_axis_and_its_numbers_share_a_unit_that_is_said_once(width):
    spreads = {"slow": (1.6e14, 1e15, 1e16, 1e17, 1e18), "fast": (1e16, 1e17, 1e18, 1e19, 4.7e20)}
    group = RowGroup(
        rows=tuple(ReportRow(label=n, cells=("9.7 PFLOP/s", "420 TFLOP/s to 160 PFLOP/s"),
                             spread=AnswerDistribution(quantiles=q))
                   for n, q in spreads.items()),
        kind="value", unit="FLOP/s", ends=(1.6e14, 4.7e20), log=True,
    )  # fmt: skip
    out = brief_lines(Brief(sentence="It is so.", groups=(group,)), width)
    axis, slow, fast = next(out[i : i + 3] for i, line in enumerate(out) if "median" in line)
    assert axis.split() == ["[EFLOP/s]", "1.6e-4", "470", "median", "90", "%"]
    assert slow.split()[-4:] == ["0.01", "1.6e-4", "to", "1"]
    assert fast.split()[-4:] == ["1", "0.01", "to", "470"]
    assert "/s" not in slow + fast
    assert max(map(len, out)) <= width


def test_what_there_is_no_room_for_is_counted(run):
    out = brief_lines(brief(run), 80, 13)
    assert len(out) <= 13
    assert "1 more row," in " ".join(out)


# --- rows -------------------------------------------------------------------------------------------------------------


def test_rows_with_the_numbers_of_the_leading_one_are_named_in_one_line():
    record = rivals()
    record["choices"]["shade"] = {"values": ["1", "3"], "kind": "definition"}
    record["labels"]["3"] = "bright"
    record["quantities"]["goal"] = {"expression": "8 + 0*{shade}"}
    run = forecast.project(record, draws=300)
    (group,) = brief(run).groups
    assert [row.label for row in group.rows if row.repeats] == ["bright"]
    out = brief_lines(brief(run))
    assert "The same under shade: bright." in out
    assert not [line for line in out if line.startswith("shade")]
    asked = brief(run, by="shade")  # what is asked for by name is a row
    assert not [row for row in asked.groups[0].rows if row.repeats]
    assert [line for line in brief_lines(asked) if re.match(r"shade +bright ", line)]


def test_a_row_is_called_by_its_question():
    asks = {"when": "noise*(t - 2025) >= 8", "title": "the machine does eight times its work"}
    record = rivals(questions={"q": asks})
    del record["choices"]
    record["quantities"] = {"noise": record["quantities"]["noise"]}
    record["labels"] = {}
    (row,) = brief(forecast.project(record, draws=50)).groups[0].rows
    assert row.label == "the machine does eight times its work"
    record["labels"] = {"q": "eightfold"}
    (row,) = brief(forecast.project(record, draws=50)).groups[0].rows
    assert row.label == "eightfold"


def test_a_long_label_is_broken_and_its_chart_keeps_its_columns():
    label = "a question whose label is much longer than the columns beside a chart"
    row = ReportRow(label=label, cells=("2027-09", "2027-05 to 2028-02", "under 1 %"),
                    spread=AnswerDistribution(quantiles=(2027.4, 2027.5, 2027.7, 2027.9, 2028.1)))  # fmt: skip
    group = RowGroup(rows=(row,), columns=date_columns(2040.0), kind="date", ends=(2025.0, 2040.0))
    out = brief_lines(Brief(sentence="It is so.", groups=(group,)), 80)
    axis = next(line for line in out if "median" in line)
    assert axis.index("2040") + 4 - axis.index("2025") >= 24
    at = axis.index("2025")
    told = [line[:at].strip() for line in out[out.index(axis) + 1 :] if line[:at].strip()]
    assert " ".join(told).startswith("a question whose label is much longer")
    assert "<1 %" in " ".join(out)
