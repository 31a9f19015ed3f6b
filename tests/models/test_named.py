"""A model by its name, and a series with a shape beside it."""

import numpy as np
import pytest

import forecast
from forecast.contract.registry import get_registry
from forecast.contract.specs import SeriesShape, TrendSpec
from forecast.errors import ForecastError, UnknownNameError, UsageError
from forecast.models.model_lookup import find_model
from forecast.streams import Streams
from toolkit import assert_bitwise

SERIES = {"unit": "TFLOP/s", "reference": "r", "table": "datasets/supercomputers", "x": "date", "y": "rmax_top1",
          "where": {"status": "verified"}, "frontier": True}  # fmt: skip

PLUGIN = """
SERIES = {series!r}

def forecast_models():
    yield TrendSpec(name="pool", shapes=(
        SeriesShape(name="trends/exponential", weight=3.0),
        SeriesShape(name="trends/random-walk", weight=1.0, yearly=True, note="a walk goes year by year"),
        SeriesShape(name="trends/logistic", options={{"cap": {{"p05": 1e7, "p95": 1e9}}}}, reference="a cap's source"),
    ), **SERIES)
    yield TrendSpec(name="own", shape="trends/changepoint", options={{"level": 0.01}}, shapes=(
        SeriesShape(name="trends/logistic", needs=("cap",), note="nobody states one"),
        SeriesShape(name="trends/gompertz", refused="it has no cap"),
    ), **SERIES)
    yield TrendSpec(name="strict", shape="odd/exponential", **SERIES)

def forecast_shapes():
    yield ShapeSpec(name="exponential", target="fake_odd:Odd", reference="r")
    yield ShapeSpec(name="rate", target="fake_odd:Rate", reference="r")
"""
SHAPES = """
from forecast_trends.lines.exponential import Exponential

class Odd(Exponential):
    pass

class Rate(Exponential):
    def __init__(self, rate):
        self.rate = rate
"""


@pytest.fixture
def odd(fake_plugins):
    (fake_plugins.folder / "fake_odd.py").write_text(SHAPES)
    fake_plugins.modules.append("fake_odd")
    fake_plugins.add("odd", PLUGIN.format(series=SERIES), module="fake_odd_plugin")


def level(model, seed=0):
    return model.fit().sample(np.arange(2026.0, 2030.0), {}, Streams(seed, model.name, 0))


@pytest.mark.parametrize(
    ("name", "shape", "full"),
    [
        ("hardware/linpack", "", "hardware/linpack@pool"),
        ("hardware/linpack", "trends/changepoint", "hardware/linpack@changepoint"),
        ("hardware/linpack", "changepoint", "hardware/linpack@changepoint"),
        ("linpack@changepoint", "", "hardware/linpack@changepoint"),
        ("hardware/linpack@trends/changepoint", "", "hardware/linpack@changepoint"),
        ("hardware/gpu-bandwidth", "", "hardware/gpu-bandwidth@pool"),
        ("hardware/gpu-bandwidth", "trends/pooled", "hardware/gpu-bandwidth@pooled"),
        ("hardware/gpu-bandwidth@pooled", "", "hardware/gpu-bandwidth@pooled"),
        ("brain/power", "", "brain/power"),
    ],
)
def test_however_it_is_asked_for_a_model_has_one_name(name, shape, full):
    assert forecast.model(name, shape=shape).model.name == full


def test_one_series_on_two_shapes_is_two_models_with_draws_of_their_own():
    line, again = (forecast.model("hardware/linpack@exponential").model for _ in range(2))
    assert_bitwise(level(line), level(again))
    other = forecast.model("hardware/linpack", shape="trends/random-walk").model
    ranks = [np.argsort(np.argsort(level(model)[-1])) for model in (line, other)]
    assert abs(np.corrcoef(*ranks)[0, 1]) < 5 / np.sqrt(len(ranks[0]))


@pytest.mark.parametrize(
    ("name", "keys", "says"),
    [
        ("hardware/gpu-peak-fp16-exponential", {},
         "unknown model 'hardware/gpu-peak-fp16-exponential'; did you mean 'hardware/gpu-peak-fp16@exponential'?"),
        ("gpu-bandwidth-pooled", {}, "did you mean 'hardware/gpu-bandwidth@pooled'?"),
        ("hardware/linpac", {}, "did you mean 'hardware/linpack'?"),
        ("hardware/linpack@exponentail", {}, "model 'hardware/linpack': unknown shape 'exponentail'; did you mean "
                                             "'trends/exponential'?"),
        ("hardware/linpack", {"shape": "trends/pooled"}, "it has no pool of them"),
        ("hardware/linpack@", {}, "expected the name of a shape after '@'"),
        ("hardware/linpack@changepoint", {"shape": "trends/logistic"}, "'trends/logistic' is another: give one"),
        ("hardware/linpack", {"shape": 3}, "expected the name of a shape, got int"),
        ("brain/power", {"shape": "trends/exponential"}, "model 'brain/power' is no series"),
        ("brain/pooled@exponential", {}, "model 'brain/pooled' is no series"),
        ("brain/power", {"options": {"cap": 1}}, "model 'brain/power' is no series"),
        ("hardware/gpu-best@logistic", {}, "the shape 'trends/logistic' needs the option 'cap' here (no source says"),
        ("hardware/process-size@logistic", {}, "makes no sense beside it: it falls"),
        ("hardware/gpu-bandwidth@pooled", {"options": {"cap": 1e5}}, "options are those of one shape"),
        ("hardware/linpack@logistic", {"options": {"cpa": 1e9}}, "unknown option 'cpa'; did you mean 'cap'?"),
    ],
)  # fmt: skip
def test_bad_input_064_what_cannot_be_is_refused_with_a_way_out(name, keys, says):
    with pytest.raises(UsageError) as refused:
        forecast.model(name, where="demo.toml", **keys)
    assert says in str(refused.value)
    assert str(refused.value).startswith("demo.toml: ")


def test_an_option_that_is_given_stands_before_what_the_series_states(odd):
    stated, given = (forecast.model("odd/pool@logistic", options=o).model for o in ({}, {"cap": 1e8}))
    assert set(stated.inputs) == {"cap"}
    assert not given.inputs
    assert "given cap of 1e+08" in given.fit().describe().summary
    assert forecast.model("odd/own").model.options == {"level": 0.01}
    assert forecast.model("odd/own@random-walk").model.options == {}
    needy = forecast.model("odd/own", shape="trends/logistic", options={"cap": 1e9}).model
    assert "nobody states one" in needy.fit().describe().summary


def test_what_a_series_says_of_a_shape_holds_for_that_shape_alone(odd):
    line, walk, capped = (
        forecast.model(f"odd/pool@{shape}").model for shape in ("exponential", "random-walk", "logistic")
    )
    assert (line.yearly, walk.yearly) == (False, True)
    assert (line.note, walk.note) == ("", "a walk goes year by year")
    assert (line.sources, capped.sources) == (("r",), ("r", "a cap's source"))
    with pytest.raises(UsageError, match="'trends/gompertz' makes no sense beside it: it has no cap"):
        forecast.model("odd/own@gompertz")


def test_a_pool_draws_one_shape_a_world_by_its_weights(odd):
    record = {"start": 2026, "until": 2028, "quantities": {
        "pool": {"model": "odd/pool"}, "line": {"model": "odd/pool@exponential"},
        "walk": {"model": "odd/pool", "shape": "trends/random-walk"}}}  # fmt: skip
    run = forecast.project(record, draws=2000, seed=0)["projection"]
    at_line, at_walk = ((run["pool"] == run[name]).all("time") for name in ("line", "walk"))
    assert bool((at_line ^ at_walk).all())
    assert float(at_line.mean()) == pytest.approx(0.75, abs=4 * np.sqrt(0.75 * 0.25 / 2000))
    said = forecast.model("odd/pool").fit().describe()
    assert said.summary == "a pool of 2 shapes: exponential 75%, random-walk 25%"
    assert "--set odd/pool@pooled.weight_exponential=2" in said.assumptions[1]


def test_the_record_decides_between_two_shapes_of_one_bare_name(odd):
    """What else is installed changes no name, and so no draw."""
    assert forecast.model("odd/pool@exponential").model.shape == "trends/exponential"
    assert forecast.model("odd/strict@exponential").model.shape == "odd/exponential"
    other = forecast.model("odd/pool", shape="odd/exponential").model
    assert (other.name, other.shape) == ("odd/pool@odd/exponential", "odd/exponential")
    with pytest.raises(ForecastError, match="shape 'exponential' is offered by several plugins"):
        forecast.model("odd/own@exponential")


def test_an_option_that_a_shape_cannot_do_without_is_asked_for(odd):
    with pytest.raises(UsageError, match="shape 'odd/rate': needs the option 'rate': options = "):
        forecast.model("hardware/linpack", shape="odd/rate")
    assert forecast.model("hardware/linpack", shape="odd/rate", options={"rate": 1}).fit().observed().time.size


def test_a_name_with_a_shape_says_its_record_and_what_is_said_of_the_shape():
    asked = find_model("gpu-best@staircase")
    assert (asked.record.full_name, asked.shape) == ("hardware/gpu-best", "trends/staircase")
    assert isinstance(asked.spec, TrendSpec)
    assert "16-bit" in asked.beside().options["features"]
    assert find_model("hardware/linpack@random-walk").beside() == SeriesShape(name="trends/random-walk")


def test_every_series_has_a_shape_that_stands_beside_it():
    for record in get_registry().records("model"):
        if isinstance(record.spec, TrendSpec):
            assert forecast.model(record.full_name).model.name.startswith(f"{record.full_name}@")


def test_a_mixture_may_name_a_series_with_its_shape(fake_plugins):
    fake_plugins.add("mix", (
        "def forecast_models():\n"
        "    yield MixtureSpec(name='two', unit='TFLOP/s', reference='r', weights={\n"
        "        'hardware/linpack@exponential': 1.0, 'hardware/linpack@changepoint': 1.0})\n"
    ))  # fmt: skip
    made = forecast.model("mix/two").model
    assert {"weight_exponential", "weight_changepoint", "hardware/linpack@changepoint"} <= set(made.inputs)
    with pytest.raises(UnknownNameError):
        forecast.model("mix/two-pooled")
