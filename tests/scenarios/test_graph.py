from __future__ import annotations

import numpy as np
import pytest

import forecast
from forecast import Scenario
from forecast.errors import PluginContractError, UnknownNameError, UsageError
from forecast.models import Description, FittedModel, Model
from forecast.scenarios.graph import build


def graph(record, **settings):
    return build(Scenario.from_dict(record), settings or None)


def parity(**settings):
    return build(Scenario.load("brain-parity"), settings)


def prior(unit="FLOP/s", value=1):
    return {"value": value, "unit": unit}


def test_choices_reach_exactly_the_quantities_that_depend_on_them():
    record = {
        "choices": {"metric": ["hpcg", "linpack"], "trend": ["exponential"], "estimate": ["pooled", "kurzweil-2005"]},
        "quantities": {
            "machine": {"model": "hardware/{metric}", "shape": "trends/{trend}"},
            "brain": {"model": "brain/{estimate}"},
            "ratio": {"expression": "machine / brain"},
        },
    }
    dims = {name: node.dims for name, node in graph(record).nodes.items()}
    assert dims == {"machine": ("metric", "trend"), "brain": ("estimate",), "ratio": ("metric", "trend", "estimate")}


def test_everything_comes_after_what_it_needs():
    made = graph({"quantities": {"c": {"expression": "a*b"}, "b": {"expression": "a"}, "a": prior()}})
    assert list(made.nodes) == ["a", "b", "c"]
    assert made.nodes["c"].unit == "FLOP²/s²" or "FLOP" in made.nodes["c"].unit


def test_inputs_are_nodes_of_their_own():
    inputs = parity().inputs
    assert "brain/dettmers-2015.firing_rate" in inputs
    assert "brain/pooled.member" in inputs
    assert "brain/moravec-1997.retinas" in inputs  # a member of the pooled estimate


def test_settings_narrow_a_choice():
    assert parity(trend="changepoint").scenario.choices["trend"].values == ("changepoint",)
    several = parity(estimate="carlsmith-2020,pooled").scenario.choices["estimate"].values
    assert (
        several
        == ("carlsmith-2020", "pooled")
        == parity(estimate=("carlsmith-2020", "pooled")).scenario.choices["estimate"].values
    )
    assert parity(trend="changepoint,changepoint").scenario.choices["trend"].values == ("changepoint",)


def test_a_fixed_expression_keeps_the_unit_its_formula_gives():
    record = {
        "quantities": {"a": prior("TFLOP/s"), "sum": {"expression": "a + a"}, "limit": prior("FLOP/s")},
        "questions": {"p": {"when": "sum >= limit"}},
    }
    free, fixed = graph(record), graph(record, sum=3)
    assert fixed.nodes["sum"].unit == free.nodes["sum"].unit
    assert fixed.nodes["sum"].fixed == 3.0


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"trnd": "changepoint"}, UnknownNameError, "unknown choice, quantity or input 'trnd'; did you mean 'trend'"),
        ({"trend": "chnagepoint"}, UnknownNameError, "unknown value of choice 'trend' 'chnagepoint'; did you mean"),
        ({"trend": ""}, UnknownNameError, "unknown value of choice 'trend'"),
        ({"trend": 3}, UsageError, "set trend: expected a value of the choice"),
        ({"trend": []}, UsageError, "set trend: expected a value of the choice"),
        ({"trend": [3]}, UsageError, "set trend: expected a value of the choice"),
        ({"brain": "much"}, UsageError, "set brain: expected a finite number, got 'much'"),
        ({"brain": "1_000"}, UsageError, "set brain: expected a finite number"),
        ({"brain": "nan"}, UsageError, "set brain: expected a finite number"),
        ({"brain": "1e400"}, UsageError, "set brain: expected a finite number"),
        ({"brain": "１"}, UsageError, "set brain: expected a finite number"),
        ({"brain": "0x10"}, UsageError, "set brain: expected a finite number"),
        ({"brain": True}, UsageError, "set brain: expected a finite number"),
        ({"brain": None}, UsageError, "set brain: expected a finite number"),
        ({"brain": 10**400}, UsageError, "set brain: expected a finite number"),
        ({"brain": float("inf")}, UsageError, "set brain: expected a finite number"),
        ({"brain.firing_rat": 3}, UnknownNameError, "did you mean 'brain/dettmers-2015.firing_rate'"),
        ({"brain/dettmers-2015.firing_rate": "x"}, UsageError, "expected a finite number"),
        ({"": 3}, UnknownNameError, "unknown choice, quantity or input ''"),
    ],
)
def test_settings_that_cannot_be(settings, error, says):
    with pytest.raises(error, match=says) as caught:
        parity(**settings)
    assert "\n" not in str(caught.value)


SERIES = {"t": [2000.0, 2001.0, 2002.0, 2003.0], "v": [1.0, 2.0, 4.0, 8.0]}


def trend(**options):
    given = {"x": "t", "y": "v", "unit": "FLOP/s", "shape": "trends/exponential", **options}
    return forecast.trend(SERIES, **given).model


def test_two_models_of_one_name_are_refused_for_they_would_share_a_fit():
    other = forecast.trend({**SERIES, "v": [1.0, 3.0, 9.0, 27.0]}, x="t", y="v", unit="FLOP/s",
                           shape="trends/exponential").model  # fmt: skip
    with pytest.raises(UsageError, match="quantities a and b: two models have the name 'trend'"):
        graph({"quantities": {"a": {"model": trend()}, "b": {"model": other}}})
    one = trend()
    assert list(graph({"quantities": {"a": {"model": one}, "b": {"model": one}}}).nodes) == ["a", "b"]
    assert graph({"quantities": {"a": {"model": one}, "b": {"model": trend(name="other")}}}).nodes


def test_a_series_of_the_scenario_may_not_take_the_name_of_a_model_either():
    series = {"shape": "trends/exponential", "data": "datasets/supercomputers", "x": "date", "y": "rmax_top1",
              "unit": "TFLOP/s"}  # fmt: skip
    with pytest.raises(UsageError, match="two models have the name 'a'"):
        graph({"quantities": {"a": series, "b": {"model": trend(name="a")}}})


class Odd(Model):
    def __init__(self, name="odd", unit="FLOP/s", inputs=None):
        self.name, self.unit, self.inputs = name, unit, {} if inputs is None else inputs

    def fit(self, *, as_of=None, seed=0):
        return self


@pytest.mark.parametrize(
    "broken",
    [{"name": None}, {"name": ""}, {"name": "../up"}, {"name": "a/b/c"}, {"name": "a b"}, {"name": "a\0"},
     {"name": "x" * 1000}, {"unit": None}, {"unit": 3}, {"inputs": []}, {"inputs": {"a": 3}}, {"inputs": {3: None}}],
    ids=str,
)  # fmt: skip
def test_bad_input_064_a_model_that_breaks_the_protocol_is_refused(broken):
    with pytest.raises(PluginContractError, match=r"quantities\.x\.model: (name|unit|inputs)") as caught:
        graph({"quantities": {"x": {"model": Odd(**broken)}}})
    assert "\n" not in str(caught.value)


def test_a_class_is_no_model_and_neither_is_a_fitted_one():
    class Fitted(FittedModel):
        def sample(self, time, inputs, streams, *, observed=False):
            return np.ones((len(time), streams.draws))

        def describe(self):
            return Description(summary="")

    for given in (Odd, Fitted(), 3, None):
        with pytest.raises(UsageError, match=r"quantities\.x\.model: (expected text|is missing)"):
            graph({"quantities": {"x": {"model": given}}})
