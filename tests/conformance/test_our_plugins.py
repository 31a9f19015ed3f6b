"""The plugins that come with the package meet the contract that everybody's are held to."""

import pytest

from forecast.contract.registry import get_registry
from forecast.testing import run_checks

OURS = ("brain", "capability", "datasets", "emergence", "hardware", "resources", "scaling", "trackers", "trends")


def test_all_of_them_are_held_to_it():
    assert {plugin.name for plugin in get_registry().plugins if plugin.distribution == "lawcast"} == set(OURS)


@pytest.mark.parametrize("plugin", [pytest.param(p, marks=pytest.mark.slow) for p in OURS])
def test_the_plugins_meet_their_contract(plugin):
    """The frontier refuses twenty points and is tried on sixty."""
    assert [f"{o.label}: {o.message}" for o in run_checks(plugin) if not o.ok and o.status != "skipped"] == []
