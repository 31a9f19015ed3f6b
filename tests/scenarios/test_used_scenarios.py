"""Scenarios that another one uses: their quantities in any expression, bit for bit what they are at home."""

import types

import numpy as np
import pytest

import forecast
from forecast import Scenario
from forecast.errors import ScenarioError, UnitError, UnknownNameError, UsageError

DRAWS = 200
HOME = {
    "start": 2025, "until": 2032,
    "choices": {"pace": {"values": ["1.2", "1.5"], "kind": "rival", "weights": [0.25, 0.75]},
                "unit_of": {"values": ["a", "b"], "kind": "definition"}},
    "quantities": {
        "growth": {"expression": "{pace}"},
        "spread": {"lognormal": [0.5, 2], "unit": ""},
        "cost": {"p05": 1, "p95": 3, "unit": "USD"},
        "factor": {"value": 1, "unit": ""},
        "machine": {"expression": "factor*spread*growth**(t - start)", "limit": "9*spread"},
        "price": {"expression": "cost/machine", "unit": "USD"},
        "kind": {"draw": {"fast": 0.3, "slow": 0.7}},
        "lonely": {"p05": 1, "p95": 2, "unit": ""},
    },
    "correlations": [{"of": ["spread", "cost"], "rho": 0.6}],
    "labels": {"machine": "the machine"},
    "questions": {"cheap": {"when": "price <= 0.5"}},
    "show": ["machine"],
}  # fmt: skip


@pytest.fixture(scope="module")
def home():
    return Scenario.from_dict(HOME, name="home")


def worlds(run, name):
    return run.quantities[name].worlds


def test_what_is_used_is_bit_for_bit_what_it_is_at_home(home):
    run = forecast.project({"use": {"h": home}, "quantities": {"twice": {"expression": "2*h.price"}}}, draws=DRAWS)
    alone = forecast.project(home, draws=DRAWS)
    for name in ("machine", "price", "spread", "cost"):
        assert (worlds(run, f"h.{name}").values == worlds(alone, name).values).all()
    assert (worlds(run, "twice").values == 2 * worlds(alone, "price").values).all()
    assert (run.settings.start, run.settings.until) == (2025, 2032)
    assert run.shown == ["twice"]
    assert "h.lonely" not in run.quantities  # only what is needed is drawn
    assert "h.kind" not in run.quantities


def test_rivals_are_pooled_in_the_same_worlds(home):
    run = forecast.project({"use": {"h": home}, "questions": {"cheap": {"when": "h.price <= 0.5"}}}, draws=DRAWS)
    ours, theirs = run.answers["cheap"].headline, forecast.project(home, draws=DRAWS).answers["cheap"].headline
    assert ours == theirs
    many = forecast.project(
        {"use": {"h": home}, "questions": {"cheap": {"when": "h.price <= 0.5"}}}, draws=DRAWS, keep=64
    )
    assert many.answers["cheap"].headline.never == pytest.approx(ours.never, abs=1e-9)


def test_a_name_in_front_tells_two_of_one_name_apart(home):
    other = Scenario.from_dict(
        {**HOME, "quantities": {**HOME["quantities"], "cost": {"p05": 10, "p95": 30, "unit": "USD"}}}
    )
    both = {"use": {"a": home, "b": other}, "quantities": {"gap": {"expression": "b.cost - a.cost"}}}
    run = forecast.project(both, draws=DRAWS)
    assert float(worlds(run, "gap").min()) > 0
    assert "a.pace" not in worlds(run, "gap").dims


def test_without_a_name_in_front_quantities_keep_their_names(home):
    stated = {"use": [home], "quantities": {"twice": {"expression": "2*machine"}, "cost": {"value": 2, "unit": "USD"}}}
    run = forecast.project(stated, draws=DRAWS)
    alone = forecast.project(home, draws=DRAWS)
    assert (worlds(run, "machine").values == worlds(alone, "machine").values).all()
    assert float(worlds(run, "cost").max()) == 2  # what is stated stands in the place of what is used
    assert "lonely" in run.quantities
    with pytest.raises(ScenarioError, match="two scenarios that are used have a quantity 'cost'"):
        Scenario.from_dict({"use": [home, {"quantities": {"cost": {"value": 1, "unit": "USD"}}}],
                            "quantities": {"x": {"value": 1, "unit": ""}}})  # fmt: skip
    twice = Scenario.from_dict({"use": [home, home], "quantities": {"x": {"value": 1, "unit": ""}}})
    assert list(twice.quantities) == [*HOME["quantities"], "x"]


def test_what_is_used_is_set_narrowed_changed_and_swept_by_its_full_name(home):
    stated = {"use": {"h": home}, "questions": {"cheap": {"when": "h.price <= 0.5"}}}
    alone = forecast.project(home, draws=DRAWS, with_={"cost": 2.0, "pace": "1.5"})
    run = forecast.project(stated, draws=DRAWS, with_={"h.cost": 2.0, "h.pace": "1.5"})
    assert run.answers["cheap"].headline == alone.answers["cheap"].headline
    changed = Scenario.from_dict(stated).with_(**{"h.factor": 2.0, "h.pace": "1.5"})
    alone = forecast.project(home, draws=DRAWS, with_={"factor": 2.0, "pace": "1.5"})
    assert forecast.project(changed, draws=DRAWS).answers["cheap"].headline == alone.answers["cheap"].headline
    grown = forecast.project(stated, draws=DRAWS, what_if=[{"of": "h.machine", "growth": "0.5*", "since": 2026}])
    at_home = forecast.project(home, draws=DRAWS, what_if=[{"of": "machine", "growth": "0.5*", "since": 2026}])
    assert grown.answers["cheap"].headline == at_home.answers["cheap"].headline
    swept = forecast.project(stated, draws=DRAWS, sweep={"h.cost": [1.0, 2.0]})
    assert "h.cost" in swept.swept
    with pytest.raises(UnknownNameError, match=r"did you mean \'h\.cost\'"):
        forecast.project(stated, draws=DRAWS, with_={"h.costs": 2.0})


def test_scenarios_that_use_scenarios(home):
    middle = Scenario.from_dict(
        {"use": {"h": home}, "quantities": {"twice": {"expression": "2*h.price"}}}, name="middle"
    )
    outer = {"use": {"m": middle}, "quantities": {"four": {"expression": "2*m.twice"}}}
    with pytest.raises(UnitError):
        forecast.project({**outer, "quantities": {"x": {"expression": "m.twice + m.h.spread"}}}, draws=DRAWS)
    run = forecast.project(outer, draws=DRAWS)
    assert (worlds(run, "four").values == 2 * worlds(forecast.project(middle, draws=DRAWS), "twice").values).all()


def test_it_is_written_and_read_again(home, tmp_path):
    stated = Scenario.from_dict({"use": {"h": home}, "quantities": {"twice": {"expression": "2*h.price"}}})
    file = tmp_path / "mine.toml"
    file.write_text(stated.to_toml())
    there, here = forecast.project(file, draws=DRAWS), forecast.project(stated, draws=DRAWS)
    assert worlds(there, "twice").equals(worlds(here, "twice"))
    registered = Scenario.from_dict({"use": {"b": "brain-parity"}, "quantities": {"x": {"expression": "b.brain"}}})
    assert '[use]\nb = "brain-parity"' in registered.to_toml()
    saved = tmp_path / "run.nc"
    answer = Scenario.from_dict({**stated.stated, "questions": {"q": {"value": "twice", "dates": [2030]}}}).ask(
        draws=DRAWS
    )
    forecast.save(answer, saved)
    assert forecast.load(saved).with_(**{"h.cost": 2.0}).median == answer.with_(**{"h.cost": 2.0}).median


def test_files_of_one_folder_use_each_other(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "rates.csv").write_text("x\n1.0\n2.0\n3.0\n")
    (tmp_path / "parts" / "part.toml").write_text(
        'start = 2025\nuntil = 2030\n[quantities.rate]\ndraws = "rates.csv"\ncolumn = "x"\nunit = "FLOP/s"\n'
    )
    (tmp_path / "whole.toml").write_text(
        'use = { part = "parts/part.toml" }\n[quantities.twice]\nexpression = "2*part.rate"\n'
    )
    run = forecast.project(tmp_path / "whole.toml", draws=DRAWS)
    assert set(np.unique(worlds(run, "twice"))) == {2.0, 4.0, 6.0}
    (tmp_path / "parts" / "out.toml").write_text(
        'use = { part = "../whole.toml" }\n[quantities.x]\nvalue = 1\nunit = ""\n'
    )
    with pytest.raises(ScenarioError, match="leaves the scenario's folder"):
        Scenario.load(tmp_path / "parts" / "out.toml")


@pytest.mark.parametrize(
    ("use", "says"),
    [
        ({"h": "brain-party"}, "use.h: unknown scenario 'brain-party'; did you mean"),
        ({"h": 3}, "use.h: expected the name of a scenario, or a table, got 3"),
        ("brain-parity", "use: expected names of scenarios"),
        ({"log": "brain-parity"}, "is the name of a function"),
        ({"a.b": "brain-parity"}, "expected letters, digits and underscores"),
        ({"h": {"quantities": {}}}, "expected at least one"),
    ],
)
def test_what_is_wrong_with_use_is_said(use, says):
    with pytest.raises((ScenarioError, UnknownNameError)) as refused:
        Scenario.from_dict({"use": use, "quantities": {"x": {"value": 1, "unit": ""}}})
    assert says in str(refused.value)


def test_a_name_that_is_nowhere_is_said_with_the_nearest(home):
    with pytest.raises(UnknownNameError, match=r"did you mean \'h\.machine\'"):
        forecast.project({"use": {"h": home}, "quantities": {"x": {"expression": "h.machin"}}}, draws=DRAWS)
    with pytest.raises(ScenarioError, match=r"own\.cost"):
        Scenario.from_dict({"use": {"h": home}, "quantities": {"own.cost": {"value": 1, "unit": ""}}})


# --- in Python --------------------------------------------------------------------------------------------------------


def test_quantities_of_scenarios_stand_in_expressions(home):
    bee = forecast.uncertain(p05=1, p95=2, unit="USD", name="bee")
    answer = (home.price / bee <= 0.5).when(draws=DRAWS)
    stated = {"use": {"home": home}, "quantities": {"bee": {"p05": 1, "p95": 2, "unit": "USD"}},
              "questions": {"q": {"when": "home.price/bee <= 0.5"}}}  # fmt: skip
    assert answer.median == forecast.scenario(stated).ask(draws=DRAWS).median
    assert home["price"].name == home.price.name == "home.price"
    assert (home.cost + home.cost).sample(9, at=2026).tolist() == (2 * home.cost).sample(9, at=2026).tolist()
    assert (home.cost + home.cost).name == "home_cost_plus_home_cost"
    assert answer.with_(**{"home.cost": 2.0}).median != answer.median
    with pytest.raises(UsageError, match="give at="):
        home.price.sample(9)


def test_a_scenario_takes_what_is_made_of_its_own_quantities(home):
    bee = forecast.uncertain(p05=1, p95=2, unit="USD", name="bee")
    own = home.with_(lonely=3.0, add={"bees": home.price / bee, "dear": home["price"] * 3})
    assert own.stated["quantities"]["bees"] == {"expression": "price/bee"}
    assert "use" not in own.stated
    run = forecast.project(own, draws=DRAWS)
    assert (worlds(run, "dear").values == 3 * worlds(forecast.project(home, draws=DRAWS), "price").values).all()


def test_two_scenarios_of_one_name_need_two_names(home):
    other = home.with_(factor=0.5)
    with pytest.raises(UsageError, match=r"scenario.named\('mine'\)"):
        (home.price / other.price >= 1).when(draws=DRAWS)
    asked = forecast.ask(value=other.named("dear").price / home.price, dates=[2026], draws=DRAWS)
    assert asked.median > 1


def test_keywords_make_a_scenario(home):
    made = forecast.scenario(use={"h": home}, quantities={"wait": "h.price / h.machine", "own": home.price})
    assert made.stated["quantities"] == {
        "wait": {"expression": "h.price / h.machine"},
        "own": {"expression": "home.price"},
    }
    assert list(made.stated["use"]) == ["h", "home"]
    run = forecast.project(made, draws=DRAWS)
    assert (worlds(run, "own").values == worlds(run, "h.price").values).all()
    with pytest.raises(UsageError, match="expected a name, a file or a mapping"):
        forecast.scenario()


def test_what_is_no_quantity_is_no_attribute(home):
    with pytest.raises(AttributeError, match="no attribute 'prize'; did you mean 'price'"):
        home.prize  # noqa: B018
    with pytest.raises(UnknownNameError, match="did you mean 'price'"):
        home["prize"]
    assert not hasattr(home, "__array__")


@pytest.mark.slow
def test_one_object_in_every_shipped_scenario():
    both = forecast.scenario(
        use={"mc": "model-capability", "brain": "brain-parity"}, quantities={"wait": "mc.run / brain.machine"}
    )
    run = forecast.project(both, draws=64)
    assert run.quantities["wait"].unit == "s"
    mc = forecast.project("model-capability", draws=64)
    for name in ("run", "flop_per_usd", "fed"):
        assert (worlds(run, f"mc.{name}").values == worlds(mc, name).values).all()


def test_a_registered_scenario_takes_its_files_along(tmp_path, monkeypatch):
    """A file that a plugin's scenario uses is that plugin's, also where somebody else extends the scenario."""
    folder = tmp_path / "plugin"
    (folder / "parts").mkdir(parents=True)
    part = 'start = 2025\nuntil = 2027\n[quantities.pace]\nlognormal = [1, 4]\nunit = ""\n'
    (folder / "parts" / "one.toml").write_text(part)
    whole = '[use]\npart = "parts/one.toml"\n[quantities.x]\nexpression = "2*part.pace"\n'
    (folder / "whole.toml").write_text(whole)
    plugin = types.ModuleType("forecast_filed")
    spec = forecast.ScenarioSpec(name="whole", title="A whole", path=str(folder / "whole.toml"), reference="a test")
    plugin.forecast_scenarios = forecast.hookimpl(lambda: [spec])
    own = tmp_path / "own"
    own.mkdir()
    (own / "mine.toml").write_text('extends = "filed/whole"\nuntil = 2026\n')
    monkeypatch.chdir(own)
    forecast.register(plugin)
    try:
        there = forecast.project("filed/whole", draws=16).quantities["x"].worlds
        here = forecast.project("mine.toml", draws=16).quantities["x"].worlds
        assert here.equals(there.sel(time=here["time"]))
        used = forecast.scenario(use={"f": "filed/whole"}, quantities={"y": "f.x"})
        assert forecast.project(used, draws=16).quantities["f.x"].worlds.equals(there)
        assert "filed/whole:parts/one.toml" in forecast.scenario("filed/whole").to_toml()
        (folder / "parts" / "two.toml").write_text(part)
        with pytest.raises(ScenarioError, match=r"names no 'parts/two\.toml'"):  # only what it names itself
            forecast.scenario(use={"p": "filed/whole:parts/two.toml"}, quantities={"y": "p.pace"})
    finally:
        forecast.unregister("filed")


def test_scenarios_that_use_each_other_are_told(tmp_path):
    for one, other in ("ab", "ba"):
        text = f'until = 2030\n[use]\n{other} = "{other}.toml"\n[quantities.{one}]\nexpression = "{other}.{other}"\n'
        (tmp_path / f"{one}.toml").write_text(text)
    with pytest.raises(ScenarioError, match=r"use\.b: 'b\.toml' is used by what it uses"):
        Scenario.load(tmp_path / "a.toml")


def test_a_scenario_extends_several():
    both = forecast.scenario({"extends": ["model-hardware", "brain-parity"], "until": 2040})
    assert set(both.questions) | set(both.figures) == {"flop_2030", "watt_2030", "parity"}
    grid = {"start": 2026.75, "until": 2040, "step": "1/2", "draws": 16}
    run = forecast.project(both, **grid)
    for name, of in (("model-hardware", ["flop_per_usd", "watts_by"]), ("brain-parity", ["brain", "machine"])):
        alone = forecast.project({"extends": name}, **grid)
        for each in of:
            assert worlds(run, each).equals(worlds(alone, each)), each
    parity = (each.answers["parity"].headline for each in (run, forecast.project("brain-parity", **grid)))
    assert len({repr(each) for each in parity}) == 1  # a number that is not known equals none
    again = forecast.scenario(
        {"extends": ["brain-parity", "model-hardware"], "quantities": {"brain": {"value": 1e16, "unit": "FLOP/s"}}}
    )
    assert again.stated["quantities"]["brain"] == {"value": 1e16, "unit": "FLOP/s"}
    with pytest.raises(ScenarioError, match=r"extends\[2\]: unknown scenario 'brain-parrity'; did you mean"):
        forecast.scenario({"extends": ["model-hardware", "brain-parrity"]})


@pytest.mark.parametrize(
    ("home", "says"),
    [
        (3, "home: expected a table, got int"),
        (["x"], "home: expected a table, got list"),
        ({"a/b": 3}, r"home\.a/b: expected a list of texts"),
        ({"a/b": ["x", 3]}, r"home\.a/b: expected a list of texts"),
    ],
)
def test_what_is_wrong_with_home_is_said(home, says):
    with pytest.raises(ScenarioError, match=says):
        forecast.scenario({"until": 2030, "quantities": {"x": {"value": 1, "unit": ""}}, "home": home})


def test_a_file_that_several_parts_use_is_read_once(tmp_path, monkeypatch):
    quantity = '[quantities]\n{0} = {{ value = 1, unit = "" }}\n'
    (tmp_path / "base.toml").write_text(quantity.format("base"))
    for part in ("left", "right"):
        (tmp_path / f"{part}.toml").write_text('use = ["base.toml"]\n' + quantity.format(part))
    (tmp_path / "whole.toml").write_text('start = 2025\nuntil = 2026\nuse = ["left.toml", "right.toml", "base.toml"]\n')
    loaded, load = [], Scenario.load
    monkeypatch.setattr(Scenario.__base__, "load", classmethod(lambda _, file: loaded.append(file.name) or load(file)))
    whole = load(tmp_path / "whole.toml")
    assert sorted(whole.quantities) == ["base", "left", "right"]
    assert loaded == ["left.toml", "base.toml", "right.toml"]


@pytest.mark.parametrize("name", ["ours/home", "brain/brain-parity", "home"])
def test_a_scenario_is_written_by_its_name_only_where_it_is_the_registered_one(home, name):
    made = Scenario.from_dict({"use": {"h": home.named(name)}, "quantities": {"twice": {"expression": "2*h.price"}}})
    assert made.record["use"]["h"]["quantities"] == HOME["quantities"]
    parity = Scenario.from_dict({"use": {"h": forecast.scenario("brain-parity")}})
    assert parity.record["use"] == {"h": "brain/brain-parity"}


@pytest.mark.parametrize("alias", ["h", "scaling_ends"])
def test_what_observes_a_quantity_comes_along_though_nothing_needs_it(alias):
    """Its points are those of another quantity, which then has to be there, whatever the scenarios are called."""
    own = {
        "until": 2030,
        "start": 2027,
        "quantities": {
            "seen": {"model": "hardware/hpcg"},
            "x": {"p05": 1, "p95": 2, "unit": "FLOP/s"},
            "size": {"expression": "2*x", "unit": "FLOP/s", "observed": "seen"},
        },
    }
    home = Scenario.from_dict(own, name="scaling-ends")
    run = forecast.project(
        {"use": {alias: home}, "questions": {"q": {"value": f"{alias}.size", "dates": [2028]}}}, draws=16
    )
    alone = forecast.project(home, draws=16)
    points, its_own = run[f"observed/{alias}.size"].to_dataset(), alone["observed/size"].to_dataset()
    assert (points["value"].values == its_own["value"].values).all()
