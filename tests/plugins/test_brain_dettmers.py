"""Dettmers 2015: what gives his number exactly, what does not, region by region, and what he left out."""

import numpy as np
import pytest

import forecast
from forecast.contract.registry import get_registry
from forecast_brain.dettmers import LEFT_OUT

MEDIANS = {"firing_rate": 200.0, "time_steps": 5.0, "purkinje_inputs": 1e5, "other_inputs": 1e4}


def spec(name):
    return get_registry().find("model", f"brain/{name}").spec


def level(name, **settings):
    """Return the one value of a model whose uncertain numbers stand at the essay's figures."""
    own = {i.name for i in spec(name).inputs}
    given = {f"brain/{name}.{k}": v for k, v in {**MEDIANS, **settings}.items() if k in own}
    assert set(settings) <= own
    made = {"start": 2025, "until": 2026, "quantities": {"brain": {"model": f"brain/{name}"}}}
    drawn = forecast.project(made, draws=3, with_=given)["projection"]["brain"].values
    assert np.ptp(drawn) == 0
    return float(drawn[0, 0])


@pytest.mark.parametrize("name", ["dettmers-2015", "dettmers-2015-b"])
def test_both_reconstructions_give_the_printed_number_exactly(name):
    assert level(name) == 1.075e21


def test_the_medians_are_the_essays_figures():
    stated = {i.name: i.distribution.get("value", i.distribution.get("p50")) for i in spec("dettmers-2015").inputs}
    assert all(v is not None for v in stated.values())
    assert {k: stated[k] for k in MEDIANS if k in stated} == {k: v for k, v in MEDIANS.items() if k in stated}
    assert float(forecast.formula.parse(spec("dettmers-2015").expression).evaluate(stated)) == 1.075e21


def test_own_filters_come_out_seven_percent_lower_and_take_somas_and_cortex_on_request():
    name = "dettmers-2015-own-filters"
    plain = level(name)
    assert plain == pytest.approx(1.00009e21)
    assert 1 - plain / 1.075e21 == pytest.approx(0.07, abs=0.001)
    assert level(name, with_soma=1.0) - plain == pytest.approx(level("dettmers-2015-soma"), rel=1e-6)
    assert level(name, with_cortex=1.0) - plain == pytest.approx(level("dettmers-2015-cortex"))


def test_the_regions_add_up():
    parts = {r: level(f"dettmers-2015-{r}") for r in ("granule", "purkinje", "soma", "cortex")}
    assert parts["granule"] + parts["purkinje"] == pytest.approx(level("dettmers-2015-own-filters"))
    assert parts["purkinje"] == 1e21
    assert parts["granule"] == pytest.approx(9e16)
    assert parts["soma"] == pytest.approx(2 * 200 * 5 * 3e11)
    assert parts["cortex"] == pytest.approx(2 * 200 * 5e4 * 3.59e10 * 5e4)


def test_what_he_left_out_is_a_factor_with_a_range_and_a_switch():
    inputs = {i.name: i for i in spec("dettmers-2015-extended").inputs}
    assert [n for n, _, _ in LEFT_OUT] == [n.removeprefix("with_") for n in inputs if n.startswith("with_")]
    assert inputs["backpropagation"].distribution == {"low": 1.0, "high": 2.0}
    assert inputs["backpropagation"].source.endswith("at most a doubling")
    for name, most, _ in LEFT_OUT[1:]:
        assert inputs[name].distribution["low"] == 1.0
        assert inputs[name].distribution["high"] == most
        assert "a range of ours" in inputs[name].source


def test_switches_take_each_factor_in_and_out():
    off = {f"with_{n}": 0.0 for n, _, _ in LEFT_OUT}
    assert level("dettmers-2015-extended", **off) == 1.075e21
    two = {**off, "with_glia": 1.0, "glia": 1.5, "with_backpropagation": 1.0, "backpropagation": 2.0}
    assert level("dettmers-2015-extended", **two) == pytest.approx(3 * 1.075e21)


def test_what_was_left_out_only_adds():
    made = {"start": 2025, "until": 2026, "quantities": {"brain": {"model": "brain/dettmers-2015-extended"}}}
    inputs = {f"brain/dettmers-2015-extended.{k}": v for k, v in MEDIANS.items() if k != "other_inputs"}
    drawn = forecast.project(made, draws=2000, with_=inputs)["projection"]["brain"].values[0]
    assert drawn.min() >= 1.075e21
    assert drawn.max() <= 1.075e21 * np.prod([most for _, most, _ in LEFT_OUT])
    assert np.median(drawn) > 1.075e22
