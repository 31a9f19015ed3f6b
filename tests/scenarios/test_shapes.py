"""A series of a plugin in a scenario, and the shape beside it."""

import numpy as np
import pytest

import forecast
from forecast import Scenario
from forecast.errors import ScenarioError, UnknownNameError, UsageError
from forecast.scenarios.graph import build

CAPPED = {"model": "hardware/gpu-best", "shape": "trends/logistic", "options": {"cap": {"p05": 1e5, "p95": 1e7}}}


def record(**quantities):
    return {"start": 2026, "until": 2028, "quantities": quantities}


def graph(made, **settings):
    return build(Scenario.from_dict(made), settings)


def models(run):
    return set(run.attributes["models"])


def test_choices_may_stand_in_the_series_and_in_the_shape():
    choices = {"metric": ["hpcg", "linpack"], "trend": ["exponential", "changepoint"]}
    made = {**record(machine={"model": "hardware/{metric}", "shape": "trends/{trend}"}), "choices": choices}
    node = graph(made).nodes["machine"]
    assert node.dims == ("metric", "trend")
    assert {key: model.name for key, model in node.models.items()} == {
        (metric, trend): f"hardware/{metric}@{trend}" for metric in choices["metric"] for trend in choices["trend"]
    }
    assert graph(made, trend="changepoint").nodes["machine"].models.keys() == {
        ("hpcg", "changepoint"), ("linpack", "changepoint")}  # fmt: skip


def test_a_shape_in_the_name_and_one_beside_it_are_the_same_world_for_world():
    run = forecast.project(record(
        a={"model": "hardware/linpack@changepoint"}, b={"model": "hardware/linpack", "shape": "trends/changepoint"},
        c={"model": "hardware/linpack"}), draws=200)  # fmt: skip
    assert models(run) == {"hardware/linpack@changepoint", "hardware/linpack@pool"}
    assert bool((run["projection"]["a"] == run["projection"]["b"]).all())
    last = run["projection"].to_dataset().isel(time=-1)
    assert float((last["a"] != last["c"]).mean()) > 0.9  # in some worlds both still stand at the record


def test_adding_a_shape_leaves_the_draws_of_the_others_as_they_were():
    line = {"model": "hardware/gpu-bandwidth", "shape": "trends/exponential"}
    alone = forecast.project(record(line=line), draws=300)["projection"]["line"]
    pool = forecast.project(record(line=line, pool={"model": "hardware/gpu-bandwidth"}), draws=300)["projection"][
        "line"
    ]
    assert bool((alone == pool).all())


@pytest.mark.parametrize("key", ["m.cap", "hardware/gpu-best@logistic.cap", "gpu-best@logistic.cap", "gpu-best.cap",
                                 "hardware/gpu-best.cap"])  # fmt: skip
def test_an_option_of_a_shape_is_set_by_quantity_by_its_full_name_or_by_series(key):
    made = graph(record(m=CAPPED), **{key: 2e6})
    assert made.set_inputs == {"hardware/gpu-best@logistic.cap": {"value": 2e6}}


def test_the_name_of_a_series_sets_an_input_on_each_of_its_shapes():
    made = record(a={"model": "hardware/gpu-peak-fp32@logistic"}, b={"model": "hardware/gpu-peak-fp32@gompertz"})
    fixed = graph(made, **{"gpu-peak-fp32.cap": 300}).set_inputs
    assert fixed == {f"hardware/gpu-peak-fp32@{shape}.cap": {"value": 300.0} for shape in ("logistic", "gompertz")}


def test_the_weights_of_a_pool_are_set_by_its_shapes():
    pool = {"model": "hardware/gpu-peak-fp32", "shape": "trends/pooled"}
    line = {"model": "hardware/gpu-peak-fp32@exponential"}
    shapes = ("changepoint", "logistic", "gompertz", "damped-trend", "local-linear", "random-walk")
    zero = {f"gpu-peak-fp32@pooled.weight_{shape.replace('-', '_')}": 0 for shape in shapes}
    run = forecast.project(record(pool=pool, line=line), draws=100, with_=zero)["projection"]
    np.testing.assert_array_equal(run["pool"].values, run["line"].values)


def test_the_series_and_its_table_are_in_the_provenance():
    run = forecast.project(record(m={"model": "hardware/linpack", "shape": "trends/random-walk"}), draws=10)
    assert list(run.attributes["data"]) == ["datasets/supercomputers"]
    other = forecast.project(record(m={"model": "hardware/linpack", "shape": "trends/exponential"}), draws=10)
    assert run.attributes["scenario_hash"] != other.attributes["scenario_hash"]


@pytest.mark.parametrize(
    ("quantity", "error", "says"),
    [
        ({"model": "hardware/linpack", "shape": "trends/expnential"}, UnknownNameError,
         "quantities.m.shape: model 'hardware/linpack': unknown shape 'trends/expnential'; did you mean "
         "'trends/exponential'?"),
        ({"model": "hardware/linpack", "shape": 3}, ScenarioError, "quantities.m.shape: expected text, got 3"),
        ({"model": "hardware/linpack", "shape": "trends/{x}"}, UnknownNameError, "m.shape: unknown choice 'x'"),
        ({"model": "brain/power", "shape": "trends/exponential"}, UsageError,
         "quantities.m.shape: model 'brain/power' is no series"),
        ({"model": "hardware/gpu-best", "shape": "trends/logistic"}, UsageError, "needs the option 'cap' here"),
        ({"model": "hardware/linpack", "options": {"cap": 3}}, UnknownNameError, "unknown option 'cap'"),
        ({"model": "hardware/linpack", "options": 3}, ScenarioError, "quantities.m.options: expected a table"),
        ({"model": "hardware/linpack", "shap": "trends/exponential"}, UnknownNameError,
         "unknown key 'shap'; did you mean 'shape'?"),
        ({"model": "hardware/linpack-exponential"}, UnknownNameError,
         "unknown model 'hardware/linpack-exponential'; did you mean 'hardware/linpack@exponential'?"),
        ({"model": forecast.model("hardware/linpack").model, "shape": "trends/exponential"}, ScenarioError,
         "quantities.m.shape: a model that is an object has what it needs"),
    ],
)  # fmt: skip
def test_bad_input_082_a_shape_that_cannot_be_names_file_and_key(quantity, error, says):
    with pytest.raises(error) as refused:
        graph(record(m=quantity))
    assert says in str(refused.value)
    assert "quantities.m" in str(refused.value)


def test_one_series_and_shape_with_two_sets_of_options_are_refused_in_one_scenario():
    other = {**CAPPED, "options": {"cap": 1e6}}
    with pytest.raises(UsageError, match=r"quantities a and b: two models have the name 'hardware/gpu-best@logistic'"):
        graph(record(a=CAPPED, b=other))
    assert set(graph(record(a=CAPPED, b=dict(CAPPED))).nodes) == {"a", "b"}
