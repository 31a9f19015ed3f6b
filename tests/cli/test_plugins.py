from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from forecast.cli import main
from forecast.conformance import scaffold
from forecast.errors import ForecastError, UsageError

GOOD = '''"""A plugin for tests."""

def forecast_laws():
    yield LawSpec(name="line", variables={"x": ""}, expression="a*x", reference="test")
'''


def test_list_shows_status_and_reason_and_exits_0_with_failed_plugins(fake_plugins, capsys, monkeypatch):
    fake_plugins.add("good", GOOD)
    fake_plugins.add("bad", "1/0")
    fake_plugins.add("idle", GOOD)
    monkeypatch.setenv("FORECAST_PLUGINS", "-idle")
    assert main(["plugins", "list"]) == 0
    captured = capsys.readouterr()
    lines = {line.split()[0]: line for line in captured.out.splitlines()}
    assert "loaded" in lines["good"]
    assert "1 law" in lines["good"]
    assert "A plugin for tests." in lines["good"]
    assert "failed" in lines["bad"]
    assert "ZeroDivisionError: division by zero" in lines["bad"]
    assert "off" in lines["idle"]
    assert "deselected by FORECAST_PLUGINS" in lines["idle"]


def test_list_as_json_has_the_same(fake_plugins, capsys):
    fake_plugins.add("bad", "1/0")
    assert main(["plugins", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    bad = next(row for row in found["result"] if row["name"] == "bad")
    assert (bad["status"], bad["reason"]) == ("failed", "ZeroDivisionError: division by zero")
    assert found["warnings"] == [
        "plugin bad (fake-bad 1.0) failed: ZeroDivisionError: division by zero (forecast plugins show bad)"
    ]
    assert "bad" not in [p["name"] for p in found["provenance"]["plugins"]]


def test_bad_input_063_show_prints_the_traceback_of_a_failure(fake_plugins, capsys):
    fake_plugins.add("bad", "def inner():\n    raise RuntimeError('boom\\x1b[2J')\ninner()\n")
    assert main(["plugins", "show", "bad"]) == 0
    printed = capsys.readouterr().out
    assert "Traceback (most recent call last):" in printed
    assert "in inner" in printed
    assert "boom\\x1b[2J" in printed
    assert "\x1b" not in printed


def test_other_listings_warn_about_a_failed_plugin_on_stderr(fake_plugins, capsys):
    fake_plugins.add("bad", "1/0")
    assert main(["laws", "list"]) == 0
    captured = capsys.readouterr()
    assert "forecast: warning: plugin bad (fake-bad 1.0) failed: ZeroDivisionError" in captured.err
    assert "bad" not in captured.out


def test_show_says_what_a_plugin_brings(fake_plugins, capsys):
    fake_plugins.add("good", GOOD)
    assert main(["plugins", "show", "good", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert found["brings"] == [{"kind": "law", "name": "good/line", "title": "", "reference": "test"}]


def test_show_of_a_name_two_distributions_offer_shows_both(fake_plugins, capsys):
    fake_plugins.add("twice", GOOD, distribution="maker-a")
    fake_plugins.add("twice", GOOD, distribution="maker-b")
    assert main(["plugins", "show", "twice", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert [p["distribution"] for p in found["offers"]] == ["maker-a", "maker-b"]
    assert main(["plugins", "show", "twice"]) == 0
    assert capsys.readouterr().out.count("A plugin for tests.") == 2


COMMANDS = """
def forecast_commands():
    yield CommandSpec(name="audit", target="{module}:audit", title="Audit a cluster", reference="r")
    yield CommandSpec(name="broken", target="no_such_module_z:x", title="Broken", reference="r")
    yield CommandSpec(name="wrong", target="json:dumps", title="Wrong", reference="r")
    yield CommandSpec(name="raises", target="{module}:raises", title="Raises", reference="r")
    yield CommandSpec(name="run", target="{module}:audit", title="Takes our name", reference="r")
"""
CODE = """
import click

@click.command()
@click.argument("n", type=int)
def audit(n):
    click.echo(n + 1)

@click.command()
def raises():
    raise ValueError("two\\nlines")
"""


@pytest.fixture
def commands(fake_plugins):
    (fake_plugins.folder / "audit_code.py").write_text(CODE)
    fake_plugins.modules.append("audit_code")
    fake_plugins.add("tool", COMMANDS.replace("{module}", "audit_code"))
    return fake_plugins


def test_commands_of_plugins_are_in_the_help_and_imported_only_when_called(commands, capsys):
    import sys

    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    assert "audit " in printed
    assert "Audit a cluster" in printed
    assert "tool/run" in printed  # the name `run` stays ours
    assert "audit_code" not in sys.modules
    assert main(["audit", "3"]) == 0
    assert capsys.readouterr().out == "4\n"
    assert main(["tool/run", "4"]) == 0
    assert capsys.readouterr().out == "5\n"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["broken"], 1, "command tool/broken of fake-tool: cannot load 'no_such_module_z:x': ModuleNotFoundError"),
        (["wrong"], 1, "command tool/wrong of fake-tool: expected a click command, got function"),
        (["raises"], 1, "command tool/raises of fake-tool: ValueError: two lines (its traceback: --debug)"),
        (["audit", "x"], 2, "Invalid value for 'N'"),
        (["audti"], 2, "unknown command 'audti'; did you mean 'audit'?"),
    ],
)
def test_a_broken_command_of_a_plugin_is_one_line(commands, capsys, words, code, says):
    assert main(words) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"forecast: error: {says}")
    assert captured.err.count("\n") == 1


def test_check_passes_a_sound_plugin_and_fails_a_broken_one(fake_plugins, capfd):
    fake_plugins.add("bad", "1/0")
    fake_plugins.add("plain", "'''Brings nothing.'''")
    assert main(["plugins", "check", "plain"]) == 0
    assert capfd.readouterr().out.startswith("Plugin plain meets its contract: 3 passed.\n")
    assert main(["plugins", "check", "bad", "--json"]) == 1
    found = json.loads(capfd.readouterr().out)
    assert [(row["name"], row["status"]) for row in found["result"]] == [("loads", "failed")]
    assert main(["plugins", "check", "plian"]) == 2
    assert "did you mean 'plain'?" in capfd.readouterr().err
    fake_plugins.add("ends", "import os; os._exit(0)")
    assert main(["plugins", "check", "ends"]) == 1
    assert "plugin 'ends': it ends Python while it is checked: exit status 0" in capfd.readouterr().err


# plugins new --------------------------------------------------------------------------------------------------------


def everything(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def test_new_writes_one_folder_here(fake_plugins, tmp_path, monkeypatch, capsys):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert main(["plugins", "new", "my-demo", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["result"]
    assert (found["name"], found["folder"]) == ("my-demo", "forecast-my-demo")
    assert [p.name for p in here.iterdir()] == ["forecast-my-demo"]
    folder = here / "forecast-my-demo"
    assert set(found["files"]) == {f for f in everything(folder) if (folder / f).is_file()}
    assert "forecast_my_demo/__init__.py" in found["files"]
    leftover = [p for p in (here / "forecast-my-demo").rglob("*") if p.is_file() and "{{" in p.read_text()]
    assert leftover == []
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((here / "forecast-my-demo").stat().st_mode) == 0o777 & ~umask


def test_the_scaffold_is_whole_and_its_plugin_loads_as_it_stands(fake_plugins, tmp_path, monkeypatch):
    from forecast.contract.registry import get_registry

    folder, files = scaffold.create("fresh", parent=tmp_path)
    assert {"pyproject.toml", ".gitignore", "forecast_fresh/__init__.py", "tests/test_fresh.py"} <= set(files)
    assert set(files) == {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    fake_plugins.add("fresh", "", distribution="forecast-fresh", module="forecast_fresh")
    monkeypatch.syspath_prepend(str(folder))  # its package goes before the empty module of that name
    get_registry.cache_clear()
    (plugin,) = get_registry().plugin("fresh")
    assert (plugin.status, plugin.reason) == ("loaded", "")
    assert sorted(spec.kind for spec in plugin.specs) == ["law", "model", "scenario", "table"]


@pytest.mark.parametrize(
    "name",
    ["", ".", "Demo", "../x", "/tmp/x", "a/b", "a b", "a_b", "-a", "a-", "a--b", "1a", "a\n", "a\0b", "\x1b", "x" * 41],
)
def test_new_refuses_a_bad_name_and_writes_nothing(fake_plugins, tmp_path, name):
    here = tmp_path / "here"
    here.mkdir()
    with pytest.raises(UsageError, match=r"^plugin name '") as caught:
        scaffold.create(name, parent=here)
    assert str(caught.value).isprintable()
    assert everything(here) == []


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_new_refuses_what_exists_and_leaves_it_alone(fake_plugins, tmp_path, kind):
    here = tmp_path / "here"
    here.mkdir()
    place = here / "forecast-demo"
    if kind == "folder":
        place.mkdir()
    elif kind == "file":
        place.write_text("mine")
    else:
        place.symlink_to(tmp_path / "nowhere")
    before = everything(here)
    with pytest.raises(UsageError, match="forecast-demo: exists already"):
        scaffold.create("demo", parent=here)
    assert everything(here) == before
    assert not (tmp_path / "nowhere").exists()


def test_new_refuses_the_name_of_an_installed_plugin_of_somebody_else(fake_plugins, tmp_path):
    fake_plugins.add("taken", GOOD, distribution="somebody")
    with pytest.raises(UsageError, match="plugin name 'taken': somebody brings a plugin of that name"):
        scaffold.create("taken", parent=tmp_path / "here")


def test_new_leaves_nothing_behind_when_the_disk_is_full(fake_plugins, tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    written = []

    def full(self, *args, **options):
        written.append(self)
        if len(written) == 4:
            raise OSError(28, "No space left on device")
        return Path.touch(self)

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ForecastError, match="forecast-demo: cannot be written here: no space left on device"):
        scaffold.create("demo", parent=here)
    assert everything(here) == []


def test_new_in_a_folder_that_is_gone_is_one_line(fake_plugins, tmp_path, monkeypatch, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["plugins", "new", "demo"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "forecast: error: forecast-demo: cannot be written here: no such file or directory\n"


def test_a_plugin_is_not_called_none(command_line, tmp_path):
    done = command_line("plugins", "new", "none")
    assert done.returncode == 2
    assert done.stderr == (
        "forecast: error: plugin name 'none': FORECAST_PLUGINS=none asks for no plugin at all; choose another name\n"
    )
    assert not (tmp_path / "forecast-none").exists()
