"""The sentence of every shipped scenario stays true under every number that is set."""

from __future__ import annotations

import re

import pytest

import forecast
from forecast import Scenario
from forecast.contract.registry import get_registry
from forecast.report.headline import name_in_words, opening_sentence
from forecast.report.words.number_text import amount
from toolkit import sample

SHIPPED = sorted(record.full_name for record in get_registry().records("scenario", parts=False))


def named(name):
    """Return the numbers that a scenario states and its first question names, with other values."""
    scenario = Scenario.load(name)
    question = next(iter(scenario.stated.get("questions", {}).values()), {})
    text = " ".join(str(question.get(key, "")) for key in ("when", "title", "value", "rank"))
    for key, record in scenario.stated.get("quantities", {}).items():
        if re.search(rf"\b{key}\b", text) and isinstance(record.get("value"), (int, float)):
            yield key, 3 * record["value"] if record["value"] else 1.0


@pytest.mark.parametrize("name", sample(SHIPPED, 9, 4))
def test_a_number_that_is_set_is_named_and_no_title_contradicts_it(name):
    settings, scenario = dict(named(name)), Scenario.load(name)
    before = opening_sentence(forecast.project(name, draws=4)) if settings else ""
    title = next(iter(scenario.stated.get("questions", {}).values()), {}).get("title", "")
    for key, value in settings.items():
        stated, _, changed = opening_sentence(forecast.project(name, draws=4, with_={key: value})).rpartition("; with ")
        label, unit = scenario.labels.get(key, name_in_words(key)), forecast.scenario(name).quantities[key].unit
        assert changed.startswith(f"{label} = {amount(value, unit, 6)} instead of ")
        if f"{{{key}}}" not in title:
            assert stated.split(" in 20")[0] != before.split(" in 20")[0] or not title, key
