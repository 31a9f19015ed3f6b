"""One quantity, one forecast: what the gate between doors finds, and that what is shipped passes it."""

import dataclasses

import pytest

import forecast
from forecast.conformance.door_checks import door_breaches
from forecast.contract.registry import get_registry
from tests.toolkit import command

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
def test_a_door_that_is_no_more_is_found():
    assert any("nothing" in message for _, message in breaches(also=("model-compute.nothing",)))


def test_a_conjunction_is_never_likelier_than_its_part():
    run = forecast.project("gpu-goal", draws=128)
    whole, parts = run.answers["all_three"], [run.answers[name] for name in ("dollars", "watts", "one")]
    assert whole.over(whole.default).never >= max(each.over(each.default).never for each in parts)


def test_the_command_takes_a_scenario_or_all(capsys):
    assert command("scenarios", "check")(capsys).code == 2
    assert command("scenarios", "check")(capsys, "brain-parity", "--all").code == 2
