"""What every scenario that ships says first: authored, short, in words, and true wherever its levers stand."""

import re

import pytest

import forecast
from forecast import Scenario
from forecast.contract.registry import get_registry
from forecast.projection.engine import project
from forecast.projection.paths.run_cache import SHARED_BYTES, RunCache
from forecast.report.headline import Labels, answer_sentence, opening_sentence
from forecast.report.words.number_text import percent
from forecast.scenarios.authored_sentences import CASES, SLOT, kind_of
from toolkit import sample

NAMES = sorted(get_registry().names("scenario", parts=False))
#: The cases that every answer of a kind may come to, whatever is set.
NEEDED = {"when": {"already", "date", "never"}, "value": {"value", "point"}, "rank": {"winner", "tie", "none"}}
#: Two lines of 80 columns, and three of a ranking that says what each of the first two comes to.
LONGEST, LONGEST_OF_TWO = 160, 200


def opening(scenario):
    """Return the question that the answer opens with."""
    every = {**scenario.questions, **scenario.rankings, **scenario.figures, **scenario.firsts}
    name = scenario.opens or next(iter(every), "")
    return name, every.get(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_opening_question_has_a_sentence_for_every_case(name):
    scenario = Scenario.load(name)
    opens, question = opening(scenario)
    if question is None:
        assert name == "brain/brain-evidence"  # asks for no date, no value and no order
        return
    kind = kind_of(question)
    assert scenario.says[opens].keys() >= NEEDED[kind]
    assert scenario.says[opens].keys() <= set(CASES[kind])


def check(run):
    """Hold the sentence of an answer to its rules."""
    answer = run.opening
    told = answer_sentence(answer, Labels(run)) if answer is not None else opening_sentence(run)
    of_two = answer is not None and "{cards of second}" in run.says.get(answer.name, {}).get("tie", "")
    assert len(told) <= (LONGEST_OF_TWO if of_two else LONGEST), told
    assert not re.search(r"[{}]", whole := opening_sentence(run)), whole  # what was set, too
    assert not re.search(r"[{}\[\]]|\w_\w|already in|\beach\b|  | \.", told), told
    assert not SLOT.search(told), told
    if answer is None or answer.name not in run.says:
        return
    found = getattr(answer, "headline", None) if answer.kind != "rank" else None
    if answer.kind == "when" and found is not None and found.medians is None and len(set(found.quantiles[:5:4])) > 1:
        # the number that decides the case stands in the sentence
        if found.at_start >= 0.5:
            assert found.already == 1 or percent(found.at_start) in told, told
        elif found.never >= 0.5:
            assert percent(1 - found.never) in told or percent(found.never) in told, told
        else:
            assert str(int(found.median)) in told, told
            assert found.never < 0.01 or "after" in told or percent(found.never) in told, told


@pytest.mark.parametrize("name", sample(NAMES, 12, 4))
def test_the_sentence_of_a_scenario_is_short_and_in_words(name):
    check(forecast.project(name, draws=64))


@pytest.mark.parametrize("name", sample(NAMES, 0, 6))
def test_the_sentence_stays_true_under_every_lever(name):
    scenario, cache = Scenario.load(name), RunCache(SHARED_BYTES)
    for lever in scenario.levers:
        for end in lever.ends:
            run = project(scenario, draws=64, cache=cache, **lever.moved(end))
            check(run)
            assert "; with " in opening_sentence(run) or lever.choice, (lever.name, end)
            slots = SLOT.findall(" ".join(run.says.get(run.opening.name, {}).values())) if run.opening else []
            if lever.name in slots and lever.name in run.settings.replaced:
                # a number that the sentence names is the one that was set
                now = Labels(run).slot(lever.name, {})
                assert now in answer_sentence(run.opening, Labels(run)), (lever.name, end, now)
