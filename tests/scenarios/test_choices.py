"""Rivals and definitions: kinds, weights, pooling; a scenario that extends another; grids of any width."""

import numpy as np
import pytest
import xarray as xr

import forecast
from forecast import Scenario
from forecast.base.streams import DRAWS_PER_BLOCK
from forecast.errors import ForecastError, ScenarioError, UnknownNameError
from forecast.projection.answers.crossing_dates import rival_of_draw
from forecast.report import result_data
from forecast.report.brief import section
from forecast.report.headline import opening_sentence
from toolkit import package, resource

KINDS = {
    "metric": {"values": ["fast", "slow"], "kind": "definition"},
    "trend": {"values": ["low", "high"], "weights": [0.25, 0.75]},
}


@pytest.fixture
def tree(tmp_path):
    fields = [
        {"name": "metric", "type": "string"}, {"name": "trend", "type": "string"},
        {"name": "need", "type": "number", "unit": "FLOP/s"},
    ]  # fmt: skip
    text = "metric,trend,need\nfast,low,2\nfast,high,4\nslow,low,8\nslow,high,16\n"
    needs = str(package(tmp_path, "needs", resource(tmp_path, "needs", text, fields, ["metric", "trend"])))
    record = {
        "start": 2025, "until": 2030, "choices": KINDS,
        "quantities": {
            "machine": {"p05": 1.0, "p95": 2.0, "unit": "FLOP/s"},
            "need": {"table": needs, "column": "need", "where": {"metric": "{metric}", "trend": "{trend}"}},
        },
        "questions": {"enough": {"when": "4*machine >= need"}},
    }  # fmt: skip
    return forecast.project(record, draws=400)


def test_rivals_are_pooled_world_by_world_and_definitions_are_not(tree):
    held = rival_of_draw("trend", [0.25, 0.75], seed=0, worlds=400)
    rows = {row["choices"]["metric"]: row for row in result_data.pooled_rows(tree)}
    dates = tree["questions"]["enough_date"]
    for metric, row in rows.items():
        by_world = dates.sel(metric=metric).values[np.arange(400), held]
        assert row["crossing"]["never"] == np.isnat(by_world).mean()
        assert row["weights"] == {"trend": [0.25, 0.75]}
    assert rows["fast"]["crossing"]["never"] < rows["slow"]["crossing"]["never"]
    said = opening_sentence(tree)
    assert "pooled over trend" in said
    assert "(metric: fast)" in said
    assert "slow" not in said


def test_weights_are_what_worlds_hold():
    held = rival_of_draw("trend", [0.2, 0.0, 0.8], seed=3, worlds=50 * DRAWS_PER_BLOCK)
    shares = np.bincount(held, minlength=3) / held.size
    assert shares[1] == 0
    assert shares[0] == pytest.approx(0.2, abs=0.006)  # 3.4 standard errors
    assert (rival_of_draw("trend", [0.2, 0.0, 0.8], seed=3, worlds=10) == held[:10]).all()
    assert (rival_of_draw("other", [0.2, 0.0, 0.8], seed=3, worlds=1000) != held[:1000]).any()


def test_pooling_takes_whole_worlds(tree):
    values = xr.DataArray(np.arange(8.0).reshape(4, 2), dims=("draw", "trend"), coords={"trend": ["low", "high"]})
    got = tree.pooled(values, ["trend"])
    rivals = rival_of_draw("trend", [0.25, 0.75], seed=0, worlds=4)
    assert got.values.tolist() == [values.values[i, k] for i, k in enumerate(rivals)]
    assert got.dims == ("draw",)
    assert tree.pooled(values, []) is values


def test_a_registered_scenario_draws_alike_wherever_it_is_extended_or_written_out(tmp_path):
    base = forecast.project("brain-parity", draws=200, with_={"brain": "1e14..1e18"})
    file = tmp_path / "mine.toml"
    file.write_text('extends = "brain-parity"\n[quantities.other]\np05 = 1\np95 = 2\nunit = "FLOP/s"\n')
    written = tmp_path / "written.toml"
    written.write_text(forecast.scenario("brain-parity").to_toml())
    for path in (file, written):
        run = forecast.project(path, draws=200, with_={"brain": "1e14..1e18"})
        assert run.quantities["brain"].worlds.equals(base.quantities["brain"].worlds)
        assert run.rival_of_draw("trend", 200).tolist() == base.rival_of_draw("trend", 200).tolist()
    alone = {"start": 2025, "until": 2030, "quantities": {"other": {"p05": 1, "p95": 2, "unit": "FLOP/s"}}}
    own = forecast.project(alone, draws=200).quantities["other"].worlds.isel(time=0)
    assert (forecast.project(file, draws=200).quantities["other"].worlds.isel(time=0).values == own.values).all()


def test_two_scenarios_with_one_name_for_two_things_do_not_share_its_draws():
    ours = {"start": 2025, "until": 2030, "quantities": {"pace": {"p05": 1, "p95": 2, "unit": ""}}}
    theirs = {**ours, "home": {"capability/model-capability": ["pace"]}}
    one, other = (
        forecast.project(each, draws=200).quantities["pace"].worlds.isel(time=0).values for each in (ours, theirs)
    )
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.2


def test_without_weights_nothing_is_pooled():
    record = {"start": 2025, "until": 2030, "choices": {"trend": ["low", "high"]},
              "quantities": {"x": {"value": 1, "unit": ""}}}  # fmt: skip
    made = Scenario.from_dict(record).choices["trend"]
    assert (made.kind, made.weights) == ("rival", None)
    assert made.narrowed(("high",)).values == ("high",)


def test_a_narrowed_choice_keeps_its_weights_among_themselves():
    record = {"until": 2030, "choices": {"t": {"values": ["a", "b", "c"], "weights": [0.5, 0.2, 0.3]}},
              "quantities": {"x": {"value": 1, "unit": ""}}}  # fmt: skip
    choice = Scenario.from_dict(record).choices["t"]
    assert choice.narrowed(("c", "b")).weights == pytest.approx((0.6, 0.4))


WRONG = {
    "kind": ({"values": ["a", "b"], "kind": "rivals"}, "choices.t.kind: unknown kind of choice 'rivals'; did you mean"),
    "weights of a definition": ({"values": ["a", "b"], "kind": "definition", "weights": "equal"}, "only rivals have"),
    "too few": ({"values": ["a", "b"], "weights": [1]}, "choices.t.weights: expected 'equal', or 2 numbers"),
    "sum": ({"values": ["a", "b"], "weights": [0.5, 0.6]}, r"in sum 1, got 1\.1 in sum"),
    "negative": ({"values": ["a", "b"], "weights": [-0.5, 1.5]}, "expected weights from 0 to 1"),
    "record": (
        {"values": ["a", "b"], "weights": "track-record"},
        "weighs shapes by their past forecasts: unknown shape 'a'",
    ),
    "none": ({"kind": "rival"}, "expected a list of texts"),
    "key": ({"values": ["a"], "wieghts": [1]}, "unknown key 'wieghts'; did you mean 'weights'"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_choice_that_cannot_be_is_refused(wrong):
    choice, says = WRONG[wrong]
    with pytest.raises(ForecastError, match=says):
        Scenario.from_dict({"choices": {"t": choice}, "quantities": {"x": {"value": 1, "unit": ""}}})


def test_a_scenario_extends_another():
    base = Scenario.load("brain-parity")
    made = Scenario.from_dict(
        {"extends": "brain-parity", "until": 2060, "quantities": {"brain": {"value": 1e18, "unit": "FLOP/s"}}}
    )
    assert (made.until, made.start, made.title) == (2060, base.start, base.title)
    assert set(made.quantities) == set(base.quantities)
    assert made.quantities["machine"] == base.quantities["machine"]
    assert made.quantities["brain"].distribution.median() == 1e18
    assert made.questions == base.questions
    with pytest.raises(ScenarioError, match=r"extends: unknown scenario 'brain-party'; did you mean .*brain-parity"):
        Scenario.from_dict({"extends": "brain-party"})
    with pytest.raises(UnknownNameError, match="unknown key 'until_'"):
        Scenario.from_dict({"extends": "brain-parity", "until_": 3})


def test_values_are_pooled_world_by_world_too():
    record = {
        "start": 2025, "until": 2030,
        "choices": {"pace": {"values": ["1", "3"], "weights": [0.25, 0.75]},
                    "unit_of": {"values": ["1", "10"], "kind": "definition"}},
        "quantities": {"x": {"expression": "{pace}*{unit_of}*(t - start)"}},
        "questions": {"far": {"value": "x", "dates": [2027]}},
    }  # fmt: skip
    tree = forecast.project(record, draws=400)
    rows = {row["choices"]["unit_of"]: row for row in result_data.value_answers(tree) if "weights" in row}
    held = rival_of_draw("pace", [0.25, 0.75], seed=0, worlds=400)
    for scale, row in rows.items():
        wanted = np.quantile(np.where(held == 0, 2.0, 6.0) * float(scale), [0.05, 0.25, 0.5, 0.75, 0.95])
        assert [row["dates"][0][f"p{q:02}"] for q in (5, 25, 50, 75, 95)] == pytest.approx(wanted)
        assert row["weights"] == {"pace": [0.25, 0.75]}
    found = section(tree, "answers")
    assert ("2027, 1, pooled", "6") in [(row.label, *row.cells[:1]) for group in found.groups for row in group.rows]


def test_a_choice_of_a_table_is_narrowed_by_what_its_rows_say():
    guide, table = Scenario.load("hardware/gpu-guide"), forecast.table("accelerators")
    amd = set(table["device"].values[table["vendor"].values == "AMD"].tolist())
    kept = guide.narrowed("device", ("vendor is AMD", "b200")).choices["device"].values
    assert set(kept) == amd & set(guide.choices["device"].values) | {"b200"}
    assert len(kept) > 10
    for wrong, match in (("vendor is Amd", "unknown vendor 'Amd'; did you mean 'AMD'"), ("maker is AMD", "'maker'")):
        with pytest.raises(UnknownNameError, match=match):
            guide.narrowed("device", (wrong,))
