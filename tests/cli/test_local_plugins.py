"""``forecast --plugin ./mine.py``: a plugin in one file, for one command."""

import json
import os

import pytest

SOURCE = '''"""Mine alone."""
from pathlib import Path
from forecast import EstimateSpec, Input, ScenarioSpec, hookimpl

@hookimpl
def forecast_models():
    rate = Input(name="rate", unit="FLOP/s", distribution={"p05": 1.0, "p95": 4.0}, source="test")
    yield EstimateSpec(name="speed", unit="FLOP/s", expression="2*rate", inputs=(rate,), reference="test")

@hookimpl
def forecast_scenarios():
    yield ScenarioSpec(name="race", path=str(Path(__file__).parent / "race.toml"), reference="test")
'''
RACE = 'start = 2026\nuntil = 2030\n[quantities.x]\nmodel = "mine/speed"\n'


@pytest.fixture
def here(tmp_path):
    (tmp_path / "mine.py").write_text(SOURCE)
    (tmp_path / "race.toml").write_text(RACE)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("--plugin", "./mine.py", "run", "mine/race", "--draws", "20", "--json"),
        ("--plugin", "mine.py", "run", "race.toml", "--draws", "20", "--json"),
        ("run", "mine/race", "--draws", "20", "--json", "--plugin=./mine.py"),
    ],
)
def test_a_scenario_runs_with_it(here, command_copied, words):
    done = command_copied(*words)
    assert done.returncode == 0, done.stderr
    provenance = json.loads(done.stdout)["provenance"]
    (used,) = [p for p in provenance["plugins"] if p["name"] == "mine"]
    assert used["distribution"] == "local"
    assert used["version"].startswith("sha256:")
    assert str(here) not in done.stdout


def test_without_it_nobody_knows_it(here, command_copied):
    done = command_copied("run", "race.toml")
    assert done.returncode == 2
    assert "unknown model 'mine/speed'" in done.stderr


def test_it_is_listed_with_its_path(here, command_copied):
    listed = command_copied("plugins", "list", env={"FORECAST_PLUGINS": "./mine.py", "COLUMNS": "300"})
    (line,) = [line for line in listed.stdout.splitlines() if line.startswith("mine ")]
    assert f"local {here / 'mine.py'}" in line
    rows = json.loads(command_copied("plugins", "list", "--json", "--plugin", "mine.py").stdout)["result"]
    assert [r["module"] for r in rows if r["local"]] == [str(here / "mine.py")]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--plugin", "race.toml", "laws", "list"), "local plugin './race.toml': expected a Python file, NAME.py"),
        (("--plugin", "a,b.py", "laws", "list"), "'a,b.py': a path with a comma cannot be told from two"),
        (("laws", "list", "--plugin"), "Option '--plugin' requires an argument"),
    ],
)
def test_what_is_no_plugin_is_a_usage_error(here, command_copied, words, says):
    done = command_copied(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_of_somebody_else_names_none(here, command_copied):
    """A path where a scenario names a model is a name nobody has; the file beside it is not run."""
    (here / "trap.py").write_text("import pathlib\npathlib.Path('sprung').touch()\n" + SOURCE)
    for name in ("./trap.py", "./trap.py::trap/speed", "trap/speed", f"{here}/trap.py/speed"):
        (here / "race.toml").write_text(RACE.replace("mine/speed", name))
        assert command_copied("run", "race.toml").returncode == 2
    assert not (here / "sprung").exists()


def test_it_holds_for_its_command_alone(here, monkeypatch, capsys, fake_plugins):
    from forecast.cli import main
    from forecast.contract.registry import get_registry

    monkeypatch.chdir(here)
    fake_plugins.modules.append("mine")
    assert main(["--plugin", "./mine.py", "models", "show", "mine/speed"]) == 0
    assert "FORECAST_PLUGINS" not in os.environ
    assert "mine" not in {p.name for p in get_registry().plugins}
    assert main(["models", "show", "mine/speed"]) == 2
    monkeypatch.setenv("FORECAST_PLUGINS", "-trends")
    assert main(["--plugin", "./mine.py", "plugins", "list"]) == 0
    assert os.environ["FORECAST_PLUGINS"] == "-trends"
