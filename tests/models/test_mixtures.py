from __future__ import annotations

import math

import numpy as np
import pytest

import forecast
from forecast.contract.specs import MixtureSpec
from forecast.errors import PluginContractError, UnitError, UsageError
from forecast.models import mixtures
from forecast.models.check_output import checked_model
from forecast.streams import DRAWS_PER_BLOCK, Streams

UNITS = {"a": "FLOP/s", "b": "TFLOP/s", "c": "FLOP/s"}


def mixture(weights, units=UNITS, **options):
    spec = MixtureSpec(name="mix", unit="FLOP/s", weights=weights, reference="a test", **options)
    members = {n: forecast.estimate("x", inputs={"x": {"value": 1.0, "unit": units[n]}}, unit=units[n], name=n).model
               for n in weights}  # fmt: skip
    return checked_model(mixtures.from_spec("test/mix", spec, members), "test")


def taken(model, pick, set_weights=None, **values):
    given = {n: np.full((2, DRAWS_PER_BLOCK), v) for n, v in values.items()}
    weights = {n: need.distribution["value"] for n, need in model.inputs.items() if n.startswith("weight_")}
    given |= {n: np.full(DRAWS_PER_BLOCK, v) for n, v in (weights | (set_weights or {})).items()}
    return model.fit().sample(np.array([1.0, 2.0]), {"member": pick, **given}, Streams(0, "test/mix", 0))


def test_each_draw_takes_one_member_in_its_unit():
    pick = np.linspace(0, 1, DRAWS_PER_BLOCK, endpoint=False)
    level = taken(mixture({"a": 1.0, "b": 1.0, "c": 2.0}), pick, a=5.0, b=2.0, c=7.0)
    assert level.shape == (2, DRAWS_PER_BLOCK)
    assert (level[0] == level[1]).all()
    assert (level[0] == np.where(pick < 0.25, 5.0, np.where(pick < 0.5, 2e12, 7.0))).all()


def test_a_weight_of_zero_is_never_taken_and_the_edges_belong_to_someone():
    model = mixture({"a": 0.0, "b": 1.0, "c": 0.0})
    level = taken(model, np.array([0.0, 1 - 2.0**-53, 1.0] + [0.5] * (DRAWS_PER_BLOCK - 3)), a=1.0, b=1.0, c=1.0)
    assert (level[:, :2] == 1e12).all()
    assert (level[:, 3:] == 1e12).all()
    assert np.isfinite(level).all()


def test_weights_are_shares_of_their_sum():
    model = mixture({"a": 3.0, "c": 1.0})
    pick = np.random.default_rng(0).random(DRAWS_PER_BLOCK)
    share = (taken(model, pick, a=1.0, c=2.0)[0] == 1.0).mean()
    assert abs(share - 0.75) < 4 * math.sqrt(0.75 * 0.25 / DRAWS_PER_BLOCK)


def test_it_says_what_it_is():
    said = mixture({"a": 3.0, "c": 1.0}, note="ours").fit().describe()
    assert said.summary == "a mixture of 2 estimates: a 75%, c 25%; ours"
    assert said.assumptions[1] == "every weight is an input: --set test/mix.weight_a=2"


def test_a_weight_is_an_input_that_can_be_set_and_even_be_uncertain():
    model = mixture({"a": 1.0, "b": 1.0, "c": 2.0})
    pick = np.linspace(0, 1, DRAWS_PER_BLOCK, endpoint=False)
    level = taken(model, pick, {"weight_a": 3.0, "weight_b": 0.0, "weight_c": 1.0}, a=5.0, b=2.0, c=7.0)
    assert (level[0] == np.where(pick < 0.75, 5.0, 7.0)).all()
    drawn = np.where(np.arange(DRAWS_PER_BLOCK) % 2 == 0, 1.0, 0.0)
    level = taken(model, pick, {"weight_a": drawn, "weight_b": 1 - drawn, "weight_c": 0.0}, a=5.0, b=2.0, c=7.0)
    assert (level[0] == np.where(drawn > 0, 5.0, 2e12)).all()


@pytest.mark.parametrize("weights", [{"weight_a": -1.0}, {"weight_a": 0.0, "weight_c": 0.0}])
def test_weights_that_are_set_to_nothing_or_below_are_refused(weights):
    with pytest.raises(UsageError, match=r"test/mix: weights must be 0 or more, and not all 0; got a "):
        taken(mixture({"a": 3.0, "c": 1.0}), np.full(DRAWS_PER_BLOCK, 0.5), weights, a=1.0, c=2.0)


def test_two_members_of_one_bare_name_keep_weights_apart():
    assert mixtures._weight_names(["x/same", "y/same", "x/other-1"]) == {
        "x/same": "weight_x_same", "y/same": "weight_y_same", "x/other-1": "weight_other_1"}  # fmt: skip


def test_a_member_of_another_dimension_is_refused():
    with pytest.raises(UnitError, match="model 'test/mix': member 'b'"):
        mixture({"a": 1.0, "b": 1.0}, units={"a": "FLOP/s", "b": "USD"})


@pytest.mark.parametrize("weights", [{}, {"a": 0.0}, {"a": -1.0}, {"a": float("nan")}, {"a": "1"}])
def test_weights_that_weigh_nothing_are_refused(weights):
    with pytest.raises(PluginContractError):
        MixtureSpec(name="mix", unit="FLOP/s", weights=weights, reference="a test")


def test_a_mixture_that_contains_itself_is_refused_by_name(fake_plugins):
    source = (
        "def forecast_models():\n"
        "    yield MixtureSpec(name='a', unit='FLOP/s', weights={'loop/b': 1.0}, reference='t')\n"
        "    yield MixtureSpec(name='b', unit='FLOP/s', weights={'loop/a': 1.0}, reference='t')\n"
    )
    fake_plugins.add("loop", source)
    with pytest.raises(PluginContractError, match="contains itself: loop/a → loop/b → loop/a"):
        forecast.model("loop/a")
