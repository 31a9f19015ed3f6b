"""One quantity, one forecast: what the gate between doors finds, and that what is shipped passes it."""

import dataclasses

import pytest

import forecast
from forecast.conformance.answer_checks import door_breaches
from forecast.contract.registry import get_registry
from forecast.errors import PluginContractError
from tests import toolkit
from tests.scenarios.test_world_quantities import PLUGIN

RUN = get_registry().find("quantity", "run-power").spec


def breaches(**changed):
    return {(each.rule, each.message) for each in door_breaches(dataclasses.replace(RUN, **changed), draws=64)}


@pytest.mark.slow
def test_doors_that_tell_other_numbers_are_found():
    assert breaches() == set()
    found = breaches(also=("model-compute.power", "model-limits.power_limit"))
    assert [rule for rule, _ in found] == ["doors"]
    assert all("model-limits.power_limit says" in message for _, message in found)


@pytest.mark.slow
def test_a_part_above_its_whole_is_found_in_any_choice_of_both():
    quantities = get_registry().records("quantity")
    stated = {(each.spec.name, whole) for each in quantities for whole in each.spec.at_most}
    assert {("site-rate-per-watt", "device-rate-per-watt-fp16"), ("run-cost", "run-cost-allowed")} <= stated
    found = breaches(at_most={"run-chips": "not so", "largest-site-power": "nor is this"})
    assert [rule for rule, _ in found] == ["doors"]
    assert "unit" in next(iter(found))[1]
    [(rule, message)] = breaches(at_most={"largest-site-power": "a run has one site"})
    assert rule == "relations"
    assert "% of the worlds before 2039: a run has one site" in message


@pytest.mark.parametrize("part", toolkit.sample(range(4), 0))
def test_every_quantity_is_one_by_all_its_doors(part):
    with toolkit.every() as case:
        for record in get_registry().records("quantity")[part::4]:
            with case(record.full_name):
                assert [each.message for each in door_breaches(record.spec, draws=64)] == []


def test_a_quantity_is_no_part_of_itself_and_a_part_says_why():
    for wrong in ({"run-power": "it is"}, {"largest-site-power": " "}):
        with pytest.raises(PluginContractError, match=r"at_most.*expected another quantity, and why"):
            dataclasses.replace(RUN, at_most=wrong)


@pytest.mark.parametrize(
    ("also", "says"), [("", []), ('"landauer",', ["landauer does not say that it is the rival heat"])]
)
def test_a_rival_that_is_asked_by_its_own_name_says_that_it_is_one(fake_plugins, also, says):
    rival = 'RivalForecast(name="heat", differs="of heat alone", forecast="landauer")'
    fake_plugins.add("wrong", PLUGIN.format(more=f'forecast="brain/carlsmith-2020", also=({also}), rivals=({rival},)'))
    found = door_breaches(get_registry().find("quantity", "speed").spec, draws=64)
    assert [each.message for each in found] == says


@pytest.mark.slow
def test_a_door_that_is_no_more_is_found():
    assert any("nothing" in message for _, message in breaches(also=("model-compute.nothing",)))


def test_a_conjunction_is_never_likelier_than_its_part():
    run = forecast.project("gpu-goal", draws=128)
    whole, parts = run.answers["all_three"], [run.answers[name] for name in ("dollars", "watts", "one")]
    assert whole.over(whole.default).never >= max(each.over(each.default).never for each in parts)


def test_the_command_takes_a_scenario_or_all(capsys):
    assert toolkit.command("scenarios", "check")(capsys).code == 2
    assert toolkit.command("scenarios", "check")(capsys, "brain-parity", "--all").code == 2
