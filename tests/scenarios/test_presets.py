"""Presets, settings under a name; and other probabilities of a regime."""

import numpy as np
import pytest

import forecast
from forecast import Scenario
from forecast.contract.registry import get_registry
from forecast.errors import ForecastError
from toolkit import json_of, shared_main as main

BASE = {
    "start": 2025,
    "until": 2030,
    "choices": {"how": {"values": ["1", "2"], "kind": "definition"}},
    "quantities": {
        "size": {"p05": 1, "p95": 100, "unit": "FLOP"},
        "kind": {"draw": {"a": 0.5, "b": 0.3, "c": 0.2}},
        "speed": {"expression": "{how}*where(kind == 'c', 3, 1)"},
        "made": {"expression": "size*speed"},
    },
    "questions": {"q": {"when": "made >= 10 FLOP"}},
}
SETTINGS = {"size": {"lognormal": [2, 8]}, "kind": {"draw": {"a": 0.25, "c": 0.75}}, "how": "1"}
PRESET = {"title": "another's", "source": "a page", "settings": SETTINGS}


def made(**presets):
    return Scenario.from_dict({**BASE, "presets": presets})


def same(one, other):
    return one.to_xarray()["projection"].to_dataset().identical(other.to_xarray()["projection"].to_dataset())


def test_a_preset_is_the_same_settings_and_what_is_set_beside_it_goes_before():
    scenario = made(theirs=PRESET)
    by_name, by_hand = (
        forecast.project(scenario, draws=64, **how) for how in ({"preset": "theirs"}, {"with_": SETTINGS})
    )
    assert by_name.identical(by_hand)
    assert not same(by_name, forecast.project(scenario, draws=64, with_={"how": "1"}))
    beside = forecast.project(scenario, draws=64, preset="theirs", with_={"size": 3})
    assert beside.identical(forecast.project(scenario, draws=64, with_={**SETTINGS, "size": 3}))
    assert scenario.ask(draws=64, preset="theirs").run["questions"].equals(by_name["questions"])


def test_it_survives_a_file_and_what_extends_it(tmp_path):
    scenario = made(theirs=PRESET)
    assert Scenario.from_text(scenario.to_toml()).presets == scenario.presets
    path = tmp_path / "run.nc"
    forecast.save(forecast.project(scenario, draws=64, preset="theirs"), path)
    assert forecast.load(path).run.settings.set["size"] == {"lognormal": [2, 8]}
    extends = {"extends": "capability/ai-2027-a"}
    assert [each.name for each in Scenario.from_dict(extends).presets] == ["nikola"]
    own = {**extends, "quantities": {"goal": {"value": 3, "unit": ""}}}
    assert Scenario.from_dict(own).presets == ()  # nobody published it beside this goal
    taken = Scenario.from_dict({**extends, "preset": "nikola"})
    assert taken.presets == ()
    assert taken.stated["quantities"]["goal"] == {"lognormal": [0.1, 24], "width": 0.8, "unit": ""}


@pytest.mark.parametrize(
    ("preset", "said"),
    [
        (
            {**PRESET, "settings": {"sise": 3}},
            "presets.p.settings: unknown quantity or choice 'sise'; did you mean 'size'",
        ),
        ({**PRESET, "settings": {"how": "3"}}, "unknown value of choice 'how' '3'; known: 1, 2"),
        ({**PRESET, "settings": {"kind": {"d": 1}}}, "unknown label 'd'; known: a, b, c"),
        ({**PRESET, "settings": {"size": {"lognormal": [2]}}}, "presets.p.settings: "),
        ({**PRESET, "settings": {}}, "presets.p.settings: is missing"),
        ({**PRESET, "setings": {}}, "unknown key 'setings'; did you mean 'settings'"),
        ({"title": "x", "settings": SETTINGS}, "presets.p.source: is missing"),
    ],
)
def test_what_it_cannot_set_is_refused_when_it_is_read(preset, said):
    with pytest.raises(ForecastError) as problem:
        made(p=preset)
    assert said in str(problem.value)


@pytest.mark.slow
def test_a_preset_is_taken_and_listed_in_the_command_line(capsys):
    words = ["run", "ai-2027-a", "--draws", "64", "--json"]

    def answer(*words):
        assert main(list(words)) == 0
        return json_of(capsys.readouterr().out)["result"]["answer"]

    theirs = answer(*words, "--preset", "nikola")
    assert theirs["crossing"] == answer("run", "ai-2027-a-nikola", *words[2:])["crossing"]
    assert theirs["crossing"] != answer(*words)["crossing"]
    sure = answer(*words, "--preset", "nikola", "--set", "kind=exponential")
    assert sure["crossing"] == answer("run", "ai-2027-a-nikola", *words[2:], "--set", "kind=exponential")["crossing"]
    assert main([*words, "--preset", "nicola"]) == 2
    assert "unknown preset 'nicola'; did you mean 'nikola'?" in capsys.readouterr().err
    assert main(["scenarios", "show", "ai-2027-a"]) == 0
    assert "Nikola Jurkovic's parameters" in capsys.readouterr().out


@pytest.mark.parametrize("stated", [{"a": 0.25, "c": 0.75}, {"draw": {"a": 0.25, "c": 0.75}}, "{c = 0.75, a = 0.25}"])
def test_a_regime_is_set_to_other_probabilities_and_what_moves_with_it_stays(stated):
    run = forecast.project(BASE, draws=4096, with_={"kind": stated})
    kind = run["projection"]["kind"].values.reshape(-1, 4096)[0]
    assert [float((kind == code).mean()) for code in range(3)] == pytest.approx([0.25, 0, 0.75], abs=0.002)
    before = forecast.project(BASE, draws=4096)
    assert np.array_equal(run["projection"]["size"].values, before["projection"]["size"].values)
    # one uniform draws it, so that worlds move from one label to the next, and none back
    assert (kind >= before["projection"]["kind"].values.reshape(-1, 4096)[0]).all()
    restated = Scenario.from_dict(BASE).with_(kind=stated)
    assert same(forecast.project(restated, draws=4096), run)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("{aa = 1}", "set kind: unknown label 'aa'"),
        ({"a": 0.5, "b": 0.4}, "set kind: draw: expected probabilities that sum to 1; their sum is 0.9"),
        ("{a = 0.5", "set kind: expected probabilities such as {fast = 0.2, slow = 0.8}"),
        (0.5, "set kind: unknown label '0.5'"),
    ],
)
def test_what_a_regime_cannot_be_is_refused(stated, said):
    with pytest.raises(ForecastError) as problem:
        forecast.project(BASE, draws=8, with_={"kind": stated})
    assert said in str(problem.value)


def shipped():
    for name in get_registry().names("scenario"):
        yield from ((name, each.name) for each in Scenario.load(name).presets)


#: Presets for which a claim holds what the source prints stand in a scenario of their own, which takes them.
VARIANTS = {
    ("ai-2027-a", "nikola"): "ai-2027-a-nikola",
    ("ai-2027-b", "nikola"): "ai-2027-b-nikola",
    ("ai-2027-b", "futuresearch"): "ai-2027-b-futuresearch",
    ("ftm-2023", "conservative"): "ftm-2023-conservative",
    ("ftm-2023", "aggressive"): "ftm-2023-aggressive",
    ("kwa-2026", "midpoints"): "kwa-2026-midpoints",
}
#: What the source prints nothing of.
UNPRINTED = {("direct-approach", "scaled"), ("direct-approach", "raw")}


@pytest.mark.slow
def test_every_shipped_preset_runs_and_is_held_to_what_its_authors_print():
    registry = get_registry()
    claimed = [
        (spec.scenario, dict(spec.settings))
        for spec in (registry.find("claim", n).spec for n in registry.names("claim"))
    ]
    found = list(shipped())
    assert {(scenario.partition("/")[2], preset) for scenario, preset in found} >= {*VARIANTS, *UNPRINTED}
    for scenario, preset in found:
        key = scenario.partition("/")[2], preset
        # the aggressive ends have no bound beyond the year in which their own scenario ends
        variant = Scenario.load(f"capability/{VARIANTS[key]}") if key in VARIANTS else None
        grid = {} if variant is None else {"until": variant.until, "step": variant.step}
        run = forecast.project(scenario, draws=64, preset=preset, **grid)
        assert not run.failures, key
        if variant is not None:
            assert same(run, forecast.project(variant, draws=64)), key
            assert any(each == variant.name for each, _ in claimed), key
        elif key not in UNPRINTED:
            settings = {name: str(value) for name, value in Scenario.load(scenario).preset(preset).settings.items()}
            assert (scenario, settings) in claimed, key
