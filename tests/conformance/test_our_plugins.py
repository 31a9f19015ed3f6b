"""The plugins that come with the package meet the contract that everybody's are held to."""

import pytest

from forecast.conformance import kit
from forecast.contract.registry import get_registry
from forecast.testing import run_checks

OURS = ("brain", "capability", "datasets", "emergence", "hardware", "resources", "scaling", "trackers", "trends")


def test_all_of_them_are_held_to_it():
    assert {plugin.name for plugin in get_registry().plugins if plugin.distribution == "lawcast"} == set(OURS)


#: Runs a scenario at the ends of each lever, and takes longest: of every third one in the slow tier.
LEVERS = ": its levers move its answers"


@pytest.mark.parametrize("step", [pytest.param(3, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.xslow)])
@pytest.mark.parametrize("plugin", OURS)
def test_the_plugins_meet_their_contract(plugin, step, monkeypatch):
    """The frontier refuses twenty points and is tried on sixty."""
    todo = kit.plugin_checks(plugin)
    every = [check.label for check in todo if check.label.endswith(LEVERS)]
    few = {label for number, label in enumerate(every) if number % step}
    if step > 1:  # asked by all their doors: test_door_checks
        few |= {check.label for check in todo if check.label.startswith("quantity ")}
    if plugin == "capability" and step > 1:  # its claims are judged pack by pack: tests/plugins/capability
        few |= {check.label for check in todo if check.label.startswith("claim ")}
    monkeypatch.setattr(kit, "plugin_checks", lambda _: [check for check in todo if check.label not in few])
    assert [f"{o.label}: {o.message}" for o in run_checks(plugin) if not o.ok and o.status != "skipped"] == []
