"""By how much a change moves an answer, world by world."""

import numpy as np
import pytest

import forecast
from forecast.projection.crossing import weighted_quantiles
from forecast.projection.engine import project
from forecast.projection.result.shifts import SHIFT_LEVELS

RECORD = {
    "start": 2025,
    "until": 2060,
    "quantities": {
        "machine": {"expression": "t - start"},
        "goal": {"p05": 5, "p95": 25, "unit": ""},
        "form": {"draw": {"no": 0.6, "yes": 0.4}},
        "everywhere": {"value": 0, "unit": ""},
        "somewhere": {"value": 0, "unit": ""},
        "scale": {"value": 1, "unit": ""},
        "wanted": {"expression": "scale*goal + everywhere + somewhere*where(form == 'yes', 1, 0)"},
    },
    "questions": {
        "reached": {"when": "machine >= wanted"},
        "worth": {"value": "wanted", "dates": ["2030-01-01"]},
        "less": {"value": "wanted - 1000", "dates": ["2030-01-01"]},
    },
}


def beside(change, record=RECORD, **options):
    options = {"draws": 512} | options
    return project(record, with_=change, **options).beside(project(record, **options))


def rows(run):
    return {each.answer.name: each.plain for each in run.differences}


def levels(row):
    return [row[level] for level in SHIFT_LEVELS]


def test_a_delay_of_two_years_in_every_world_is_two_years():
    made = rows(beside({"everywhere": 2}))
    assert levels(made["reached"]["shift"]) == pytest.approx([2, 2, 2], abs=0.01)
    assert (made["reached"]["shift"]["kind"], made["reached"]["shift"]["new"]) == ("years", 0.0)
    assert "by" not in made["reached"]
    earlier = rows(beside({"everywhere": -2}))
    assert levels(earlier["reached"]["shift"]) == pytest.approx([-2, -2, -2], abs=0.01)


def test_values_are_moved_by_a_ratio_or_by_a_difference_where_one_is_not_positive():
    made = rows(beside({"scale": 2}))
    assert levels(made["worth"]["shift"]) == pytest.approx([2, 2, 2])
    assert made["worth"]["shift"]["kind"] == "ratio"
    own = np.asarray(project(RECORD, draws=512).answers["worth"].worlds.values)
    expected = weighted_quantiles(own, np.ones(512), list(SHIFT_LEVELS.values()))
    assert levels(made["less"]["shift"]) == pytest.approx(expected.tolist())
    assert made["less"]["shift"]["kind"] == "difference"


def test_a_change_in_one_regime_names_it_with_both_amounts():
    by = rows(beside({"somewhere": 5}))["reached"]["by"]
    assert by["regime"] == "form"
    assert list(by["values"]) == ["no", "yes"]  # more worlds have the first
    assert levels(by["values"]["no"]) == [0, 0, 0]
    assert levels(by["values"]["yes"]) == pytest.approx([5, 5, 5], abs=0.01)


def test_a_regime_that_was_set_or_that_decides_little_is_not_named():
    assert "by" not in rows(beside({"somewhere": 5, "form": "yes"}))["reached"]
    assert "by" not in rows(beside({"scale": 1.2}))["reached"]


def test_of_many_values_the_three_that_hold_in_most_worlds_are_told():
    shares = {"a": 0.1, "b": 0.4, "c": 0.2, "d": 0.3}
    moved = "where(form == 'a', 1, 0) + 2*where(form == 'b', 1, 0) + 3*where(form == 'c', 1, 0)"
    quantities = RECORD["quantities"] | {
        "form": {"draw": shares}, "wanted": {"expression": f"goal + somewhere*({moved})"}, "everywhere": {"value": 0},
    }  # fmt: skip
    quantities = {name: each for name, each in quantities.items() if name not in ("everywhere", "scale")}
    by = rows(beside({"somewhere": 2}, RECORD | {"quantities": quantities}, draws=2048))["reached"]["by"]
    assert list(by["values"]) == ["b", "d", "c"]


def test_a_date_that_then_never_comes_is_none_at_the_end_and_one_that_newly_comes_is_counted_apart():
    soon = RECORD | {"until": 2045}
    dates = np.asarray(project(soon, draws=512).answers["reached"].worlds.values)
    made = rows(beside({"everywhere": 10}, soon))["reached"]
    assert levels(made["shift"])[2] is None
    assert made["shift"]["p05"] == pytest.approx(10, abs=0.01)
    everything = rows(beside({"everywhere": 100}, soon))["reached"]["shift"]
    assert levels(everything) == [None, None, None]
    newly = rows(beside({"everywhere": -3}, soon))["reached"]["shift"]
    later = np.asarray(project(soon, draws=512, with_={"everywhere": -3}).answers["reached"].worlds.values)
    assert newly["new"] == pytest.approx(np.mean(np.isinf(dates) & np.isfinite(later)))
    assert newly["new"] > 0
    assert levels(newly)[1] == pytest.approx(-3, abs=0.01)


def test_a_change_that_reaches_nothing_has_a_shift_of_nothing():
    run = beside({"goal": {"p05": 5, "p95": 25}})
    assert levels(rows(run)["reached"]["shift"]) == [0, 0, 0]
    assert levels(rows(run)["worth"]["shift"]) == [1, 1, 1]
    assert not any(each.moved for each in run.differences)


def test_a_change_that_leaves_the_median_moves_what_a_twentieth_of_the_worlds_have():
    made = rows(beside({"somewhere": 5}))["reached"]
    assert made["shift"]["p50"] == 0
    assert made["moved"]


def test_counted_worlds_other_draws_and_other_models_have_no_shift():
    change = {"everywhere": 2}
    assert "shift" not in rows(beside(change, keep=64))["reached"]
    for options in ({"seed": 1}, {"draws": 256}, {"until": 2050}):
        other = project(RECORD, **({"draws": 512} | options))
        assert "shift" not in rows(project(RECORD, draws=512, with_=change).beside(other))["reached"]
    rivals = RECORD | {
        "choices": {"kind": {"values": ["1", "2"], "weights": [0.5, 0.5]}},
        "quantities": RECORD["quantities"] | {"machine": {"expression": "{kind}*(t - start)"}},
    }
    assert levels(rows(beside({"everywhere": 2}, rivals))["reached"]["shift"])[0] == pytest.approx(1, abs=0.02)
    assert "shift" not in rows(beside({"kind": "2"}, rivals))["reached"]


def test_it_is_the_same_when_saved_with_two_workers_and_of_the_first_worlds_with_fewer_draws(tmp_path):
    change = {"somewhere": 5, "scale": 1.3}
    run = beside(change, draws=2048)
    run.save(tmp_path / "a.nc")
    assert rows(forecast.load(tmp_path / "a.nc").run) == rows(run)
    assert rows(beside(change, draws=2048, workers=2)) == rows(run)
    pair = [project(RECORD, draws=2048, with_=each).answers["reached"].worlds.values[:300] for each in ({}, change)]
    reached = np.isfinite(pair[0])
    shifts = pair[1][reached] - pair[0][reached]
    expected = weighted_quantiles(shifts, np.ones(len(shifts)), list(SHIFT_LEVELS.values()))
    fewer = levels(rows(beside(change, draws=300))["reached"]["shift"])
    assert [np.inf if each is None else each for each in fewer] == expected.tolist()


def test_worlds_count_for_what_they_count_for_without_the_change():
    known = RECORD | {"update": {"goal": {"log_likelihood": "-(goal - 8)**2/8"}}}
    change = {"scale": 1.5}
    before, after = (project(known, draws=2048, with_=each) for each in ({}, change))
    dates = [np.asarray(each.answers["reached"].worlds.values) for each in (before, after)]
    reached = np.isfinite(dates[0])
    weights = np.asarray(before.weights.values)[reached]
    expected = weighted_quantiles(dates[1][reached] - dates[0][reached], weights, list(SHIFT_LEVELS.values()))
    found = levels(rows(after.beside(before))["reached"]["shift"])
    assert found == pytest.approx(expected.tolist())
    assert found[1] < levels(rows(beside(change, draws=2048))["reached"]["shift"])[1]
