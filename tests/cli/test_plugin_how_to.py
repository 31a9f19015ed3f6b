"""The how-to of plugins, typed as it stands, in an environment like the one that the README makes: without pip."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HOW_TO = (ROOT / "docs" / "how-to" / "write-a-plugin.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
_, COMMANDS = [  # what is written, and the way from nothing to a tested plugin
    re.findall(r"^\$ (.+)$", block, re.MULTILINE)
    for block in re.findall(r"^```console\n(.*?)^```$", HOW_TO, re.MULTILINE | re.DOTALL)
]


@pytest.fixture
def here(tmp_path):
    """A folder with `.venv`: made as the README says, its packages linked instead of fetched, and without pip."""
    make = next(line for line in README.splitlines() if line.startswith("python3 -m venv ")).partition(" && ")[0]
    assert make == "python3 -m venv --without-pip .venv"
    subprocess.run([sys.executable, *make.split()[1:]], cwd=tmp_path, check=True)
    (site,) = (tmp_path / ".venv").glob("lib/python3*/site-packages")
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if not re.match(r"pip($|-)|__pycache__", package.name):
            (site / package.name).symlink_to(package)
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="forecast")
    module, function = entry.value.split(":")
    program = tmp_path / ".venv" / "bin" / "forecast"
    python = tmp_path / ".venv" / "bin" / "python"
    program.write_text(f"#!{python}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    program.chmod(0o755)
    return tmp_path


def typed(command: str, here: Path, *, activated: bool = False) -> str:
    """Run a line as a shell would; what builds a plugin comes from the index unless it is there."""
    names = ("FORECAST_PLUGINS", "FORECAST_STRICT", "PYTHONPATH", "VIRTUAL_ENV")
    env = {k: v for k, v in os.environ.items() if k not in names}
    env |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "COLUMNS": "80"}
    if all(importlib.util.find_spec(name) for name in ("hatchling", "editables")):
        env |= {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}  # pip reads 0 as "no isolation"
    # no environment is activated but the one that is asked for
    path = [folder for folder in env["PATH"].split(os.pathsep) if Path(folder) != Path(sys.executable).parent]
    env["PATH"] = os.pathsep.join([str(here / ".venv" / "bin"), *path] if activated else path)
    done = subprocess.run(
        shlex.split(command), cwd=here, env=env, capture_output=True, text=True, timeout=300, check=False,
        executable=shutil.which(shlex.split(command)[0], path=env["PATH"]) if "/" not in command.split()[0] else None,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.slow
def test_the_how_to_works_as_written_where_the_environment_has_no_pip(here):
    said = [typed(command, here) for command in COMMANDS]
    assert len(COMMANDS) == 5
    assert "Plugin demo meets its contract" in said[2]
    assert "passed" in said[4]
    assert "forecast-demo" in {d.name for d in importlib.metadata.distributions(path=sites(here))}
    # what `plugins new` says to type is what was typed here
    install, check = (line.strip() for line in said[0].splitlines()[-2:])
    assert [shlex.split(install)[1:], f".venv/bin/{check}"] == [shlex.split(COMMANDS[1])[1:], COMMANDS[2]]


def sites(here: Path) -> list[str]:
    return [str(path) for path in (here / ".venv").glob("lib/python3*/site-packages")]


def test_an_environment_with_pip_uses_its_own(tmp_path, monkeypatch, capsys):
    from forecast.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    assert main(["plugins", "new", "demo"]) == 0
    install = capsys.readouterr().out.splitlines()[-2].strip()
    assert shlex.split(install) == [sys.executable, "-m", "pip", "install", "--editable", "./forecast-demo[test]"]


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="no environment of its own, which could be activated")
def test_an_activated_environment_is_named_as_it_is_typed(tmp_path, monkeypatch, capsys):
    from forecast.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    assert main(["plugins", "new", "demo"]) == 0
    assert capsys.readouterr().out.splitlines()[-2].startswith("  python -m pip install ")
