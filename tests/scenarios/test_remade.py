"""A scenario keeps its folder and its tables wherever it is made again: extended, conditioned, written out, saved."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

import forecast
from forecast.contract.registry import get_registry
from forecast.errors import ScenarioError
from toolkit import assert_bitwise

SMALL = {"draws": 8, "seed": 0}
CSV = "date,flops\n2018-01-01,1e15\n2019-01-01,2e15\n2020-01-01,4e15\n2021-01-01,7e15\n2022-01-01,2e16\n"
OWN = """
until = 2026
[choices]
source = ["one", "two"]
[quantities.machine]
shape = "trends/exponential"
data = "data/{source}.csv"
x = "date"
y = "flops"
unit = "FLOP/s"
[quantities.goal]
p05 = 1e16
p95 = 1e17
unit = "FLOP/s"
[questions.parity]
when = "machine >= goal"
"""
PLUGIN = """
def forecast_scenarios():
    yield ScenarioSpec(name="mine", path={path!r}, reference="r")
"""


def _same(one, other):
    assert set(one["projection"].data_vars) == set(other["projection"].data_vars)
    for name, data in one["projection"].data_vars.items():
        assert_bitwise(other["projection"][name].values, data.values)


def _condition(answer):
    """Return a condition that some worlds of an answer fulfil, on a date where it is on a quantity over time."""
    level = {name: data for name in answer.depends_on if "draw" in (data := answer.run["projection"][name]).dims}
    name, data = max(level.items(), key=lambda item: len(np.unique(item[1].values)))
    if "time" not in data.dims:
        return forecast.quantity(name) >= float(data.median())
    data = data.isel(time=-1)
    return forecast.quantity(name).at(int(data.time.dt.year)) >= float(data.median())


def _remade(name, folder):
    """Make a scenario again in every way; raise where one of them fails or says something else."""
    given, extended = forecast.scenario(name), forecast.scenario({"extends": name})
    text = given.to_toml()
    assert str(Path(forecast.__file__).parent.parent) not in text
    assert forecast.scenario(tomllib.loads(text)).to_toml() == extended.to_toml() == text
    path = folder / "again.toml"
    path.write_text(text)
    answer = extended.ask(**SMALL) if given.questions or given.figures or given.firsts else None
    run = answer.run if answer is not None else forecast.project(name, **SMALL)
    _same(run, forecast.project(path, **SMALL))
    forecast.save(run, folder / "run.nc")
    loaded = forecast.load(folder / "run.nc")
    _same(run, loaded.run if isinstance(loaded, forecast.Answer) else loaded)
    if answer is not None:
        some = answer.given(_condition(answer)).scenario
        assert forecast.scenario(tomllib.loads(some.to_toml())).to_toml() == some.to_toml()


#: One that reads a table of its own is made again in any case.
ALWAYS = "hardware/gpu-cluster"
EVERY = get_registry().names("scenario", parts=False)


@pytest.mark.filterwarnings("ignore")  # few worlds are left
@pytest.mark.parametrize("name", [ALWAYS, *(pytest.param(each, marks=pytest.mark.slow) for each in EVERY[::6])])
def test_a_scenario_is_made_again(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _remade(name, tmp_path)


def test_the_text_of_a_scenario_names_its_tables_by_scenario():
    text = forecast.scenario("model-limits").to_toml()
    assert 'table = "capability/model-limits:switches/datapackage.json"' in text
    made = forecast.scenario(tomllib.loads(text))
    assert made.quantities == forecast.scenario("model-limits").quantities
    assert forecast.scenario({"extends": "model-limits"}).quantities == made.quantities


@pytest.fixture
def own(tmp_path):
    """Write a scenario, the tables that it names and one that it does not."""
    folder = tmp_path / "own"
    (folder / "data").mkdir(parents=True)
    for name in ("one", "two", "private"):
        (folder / "data" / f"{name}.csv").write_text(CSV)
    (folder / "own.toml").write_text(OWN)
    return folder


def test_a_condition_on_a_file_reads_beside_the_file(own):
    answer = forecast.scenario(own / "own.toml").ask(**SMALL)
    with pytest.warns(UserWarning, match="worlds are left"):
        some = answer.given("goal >= 4e16")
    assert some.scenario.folder == own


def test_a_file_of_a_stranger_reaches_what_a_registered_scenario_names_and_nothing_beside_it(
    own, fake_plugins, tmp_path
):
    fake_plugins.add("demo", PLUGIN.format(path=str(own / "own.toml")))
    text = forecast.scenario("demo/mine").to_toml()
    assert 'data = "demo/mine:data/{source}.csv"' in text
    stranger = tmp_path / "elsewhere" / "stranger.toml"
    stranger.parent.mkdir()
    stranger.write_text(text)
    _same(forecast.project("demo/mine", **SMALL), forecast.project(stranger, **SMALL))
    for change in (
        ('"one", "two"', '"one", "private"'),
        ("data/{source}.csv", "data/private.csv"),
        ("data/{source}.csv", "../own/data/one.csv"),
        ("data/{source}.csv", "own.toml"),
    ):
        stranger.write_text(text.replace(*change))
        with pytest.raises(ScenarioError, match="scenario 'demo/mine' names no '"):
            forecast.project(stranger, **SMALL)
