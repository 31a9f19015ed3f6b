"""The parts of ``model-capability``: each runs alone and says what the whole says, and can be exchanged."""

from functools import lru_cache

import pytest

import forecast
from forecast import Scenario
from forecast.projection.result import Projection
from forecast_capability.quantities import SCENARIOS
from toolkit import sample

WHOLE = "model-capability"
PARTS = [name for name in SCENARIOS if name not in (WHOLE, "model-loss")]


@lru_cache
def run(name: str) -> Projection:
    return forecast.project({"extends": name}, draws=64)


@pytest.mark.parametrize("part", sample(PARTS, 6))
def test_a_part_alone_has_the_quantities_of_the_whole_bit_for_bit(part):
    whole, own = run(WHOLE), run(part)
    assert len(own.quantities) > 20
    assert own.answers
    for name, quantity in own.quantities.items():
        assert quantity.worlds.equals(whole.quantities[name].worlds), name


def test_the_whole_is_its_parts_and_questions():
    whole = Scenario.load(WHOLE)
    assert whole.stated["use"] == PARTS
    assert set(whole.quantities) - set(whole.stated["quantities"]) == {
        name for part in PARTS for name in Scenario.load(part).quantities
    }
    homes = {whole.streams[name].partition(":")[0] for name in whole.quantities}
    assert homes == {f"capability/{name}" for name in (WHOLE, *PARTS)} | {"hardware/gpu-goal"}


@pytest.mark.parametrize("part", sample(PARTS, 6))
def test_a_part_reads_back_from_its_text(part):
    own = run(part)
    again = forecast.project(Scenario.from_text(Scenario.load(part).to_toml()), draws=64)
    for name, quantity in own.quantities.items():
        assert quantity.worlds.equals(again.quantities[name].worlds), name


def test_a_part_is_exchanged_for_a_scenario_that_has_its_quantities():
    of = {"expression": "first*exp(1.1*(t - 2026.75))", "unit": "FLOP"}
    grid = {"start": 2026.75, "until": 2040, "step": "1/2"}
    other = forecast.scenario({**grid, "quantities": {"run": of, "first": {"value": 5e26, "unit": "FLOP"}}})
    exchanged = forecast.project(Scenario.load("model-loss").with_(run=other.run), draws=64)
    assert float(exchanged.quantities["run"].worlds.isel(time=0).max()) == pytest.approx(5e26)
    size, ratio = (exchanged.quantities[name].worlds for name in ("size", "ratio"))
    assert (6 * ratio * size**2 / exchanged.quantities["run"].worlds).values == pytest.approx(1.0)


@pytest.mark.parametrize("value", ["capability/training-compute", "0.9..1.1"])
def test_what_a_part_has_is_replaced_in_the_whole(value):
    """A quantity that only a part states is there for `with_`, as for a file and the command line."""
    name = "run" if "/" in value else "pace"
    changed = Scenario.load(WHOLE).with_(**{name: value})
    before, after = Scenario.load(WHOLE).quantities[name], changed.quantities[name]
    assert after != before
    assert changed.streams[name] == Scenario.load(WHOLE).streams[name]
