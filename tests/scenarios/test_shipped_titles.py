"""What the scenarios that come with the plugins call things: clauses that can stand in a sentence."""

import re

import pytest

import forecast
from forecast.contract.registry import get_registry
from forecast.errors import UnknownNameError
from forecast.formula import tree
from toolkit import command

SCENARIOS = get_registry().names("scenario")


@pytest.fixture(params=SCENARIOS, scope="module")
def scenario(request):
    return forecast.scenario(request.param)


def needed_by_questions(scenario):
    return {**scenario.questions, **scenario.figures, **scenario.firsts, **scenario.rankings}


def test_every_question_has_a_title_that_can_follow_other_words(scenario):
    """It is put after "the probability that" or before ": 4 bits, with a probability of 88 %"."""
    for name, asked in needed_by_questions(scenario).items():
        title = asked.title
        assert title, name
        assert len(title) <= 120, name
        assert not title.endswith((".", "?", ":")), name
        first = title.split()[0]
        assert first[0].islower() or not first.isalpha() or first[:2].isupper(), f"{name}: {title}"


def test_a_name_in_braces_is_one_that_can_be_filled(scenario):
    first = next(iter(scenario.questions), "")
    for name, asked in needed_by_questions(scenario).items():
        for brace in re.findall(r"\{([^{}]*)\}", asked.title):
            assert brace in scenario.choices or brace in scenario.quantities, f"{name}: {brace}"
            # questions beside the first stand without values of choices
            assert brace in scenario.quantities or name == first or name not in scenario.questions, f"{name}: {brace}"


def test_no_level_that_a_question_waits_for_is_typed_in_it(scenario):
    """A level is a quantity, which a setting moves and a title follows; 0 is none."""
    if scenario.name == "capability/model-statements":
        return  # each is a statement that stands in a ledger: with another level it would be another statement
    conditions = [asked.when for asked in scenario.questions.values()]
    conditions += [each for ranking in scenario.rankings.values() for each in ranking.among]
    for condition in conditions:
        for side in (condition.left.root, condition.right.root):
            assert not tree.constant(side) or side == tree.Number(0), condition.text


def test_a_scenario_has_a_title_and_its_labels_read_as_words(scenario):
    assert scenario.title
    for label in scenario.labels.values():
        assert set(re.findall(r"\{([^{}]*)\}", label)) <= set(scenario.quantities)
        assert "_" not in re.sub(r"\{[^{}]*\}", "", label)
    assert [name for name, label in scenario.labels.items() if name == label] == []


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("brain-parity", {"metric": "linpack"}, "matches a brain by January 2027 (LINPACK)"),
        ("gpu-cluster", {"work": 1e25}, "A 1e25 FLOP run"),
        ("quantisation", {"tolerated": 0.1}, "to within 0.1"),
        ("precision", {"memory": 24}, "in 24 GB"),
        ("gpu-delivered", {"chips": 64}, "64 Instinct"),
    ],
)
def test_a_title_follows_what_is_set(name, settings, said):
    from forecast.report.headline import opening_sentence

    told = opening_sentence(forecast.project(name, draws=64, with_=settings))
    assert said.lower() in told.lower()


def test_a_label_goes_with_the_value_that_it_names(tmp_path):
    """A scenario that has fewer values than the one it extends, or is narrowed, keeps the labels of those left."""
    (tmp_path / "mine.toml").write_text('extends = "brain-parity"\n[choices]\nmetric = ["hpcg", "mine"]\n')
    mine = forecast.Scenario.load(tmp_path / "mine.toml")
    assert {"hpcg", "dettmers-2015"} <= set(mine.labels)
    assert "linpack" not in mine.labels
    narrowed = forecast.scenario("brain-parity").narrowed("metric", ("linpack",))
    assert "linpack" in narrowed.labels
    assert "hpcg" not in narrowed.labels
    (tmp_path / "again.toml").write_text(narrowed.to_toml())
    assert forecast.Scenario.load(tmp_path / "again.toml").labels == narrowed.labels


def test_what_is_drawn_and_set_is_called_by_its_label(capsys, tmp_path):
    (tmp_path / "mine.toml").write_text(
        """
        start = 2025
        until = 2027
        [labels]
        kind = "how it goes on"
        slow = "as before"
        [quantities.kind]
        draw = { slow = 0.3, fast = 0.7 }
        [quantities.x]
        expression = "where(kind == 'fast', 2, 1)"
        [questions.q]
        value = "x"
        dates = [2026]
        """,
        encoding="utf-8",
    )
    scenario = forecast.Scenario.load(tmp_path / "mine.toml")
    assert forecast.Scenario.from_text(scenario.to_toml()).labels == scenario.labels
    shown = command("run")(capsys, str(tmp_path / "mine.toml"), "--show", "quantities").out
    assert "how it goes on  as before 30 %, fast 70 %" in shown
    for given, said in (("slow", "as before"), ("{slow = 0.9, fast = 0.1}", "as before 90 %, fast 10 %")):
        told = " ".join(command("run")(capsys, str(tmp_path / "mine.toml"), "--set", f"kind={given}").out.split())
        assert f"; with how it goes on = {said} instead of fast 70 %, as before 30 %" in told


def test_a_label_of_nothing_in_the_file_itself_names_the_nearest(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('extends = "brain-parity"\n[labels]\nmetrik = "measure"\n')
    with pytest.raises(UnknownNameError, match=r"labels: unknown .* 'metrik'; did you mean 'metric'"):
        forecast.Scenario.load(path)


def test_what_is_put_in_place_of_a_choice_takes_its_labels_along():
    changed = forecast.scenario("brain-parity").with_(brain=1e20)
    assert "hpcg" in changed.labels
    assert forecast.project(changed, draws=64)
