"""What the shell is offered after TAB, in the protocols of three shells, without anything heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.toolkit import spawn

HEAVY = ("numpy", "scipy", "sympy", "xarray", "pandas", "statsmodels", "matplotlib", "pint")

SCENARIO = """
extends = "brain-parity"
[choices]
speed = { values = ["slow", "fast"], kind = "definition" }
[quantities.spend]
value = 3
unit = "USD"
"""


def offered(shell, line):
    """Return the values that a shell is offered for the last word of a line."""
    words = line.split(" ")
    if shell == "fish":
        env = {"COMP_WORDS": line, "COMP_CWORD": words[-1]}
    else:
        env = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = spawn(env={**env, "_FORECAST_COMPLETE": f"{shell}_complete"})
    assert (done.returncode, done.stderr) == (0, "")
    lines = list(filter(None, done.stdout.splitlines()))
    if shell == "zsh":  # kind, value and help, a line each
        return lines[1::3]
    return [each.partition(",")[2].partition("\t")[0] for each in lines]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_its_script_and_its_protocol(shell):
    done = spawn(env={"_FORECAST_COMPLETE": f"{shell}_source"})
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_FORECAST_COMPLETE={shell}_complete" in done.stdout
    assert offered(shell, "forecast run brain-par") == ["brain-parity"]
    assert offered(shell, "forecast sw") == ["sweep"]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("forecast run brain/brain-par", ["brain/brain-parity"]),
        ("forecast fit chinch", ["chinchilla"]),
        ("forecast laws show scaling/chinch", ["scaling/chinchilla"]),
        ("forecast models show hardware/linp", ["hardware/linpack"]),
        ("forecast run brain-parity --set tre", ["trend="]),
        ("forecast sweep brain-parity --set metric=l", ["metric=linpack"]),
        ("forecast run --draws 20 brain-parity --set ma", ["machine="]),
        ("forecast run brain-parity --swap machine=hardware/linp", ["machine=hardware/linpack"]),
        ("forecast run mine.toml --set sp", ["speed=", "spend="]),
        ("forecast run mine.toml --set speed=f", ["speed=fast"]),
        ("forecast run mine.toml --set brai", ["brain="]),
        ("forecast run no-such --set sp", []),
        ("forecast run mine.toml --unt", ["--until"]),
    ],
)
def test_names_are_those_of_the_records_and_of_the_scenario(here, line, names):
    (here / "mine.toml").write_text(SCENARIO, encoding="utf-8")
    assert offered("bash", line) == names


@pytest.mark.parametrize(
    "line", ["forecast run br", "forecast fit ch", "forecast run brain-parity --set t", "forecast "]
)
def test_nothing_heavy_is_imported(line):
    code = f"""
import os, sys
os.environ.update(_FORECAST_COMPLETE="bash_complete", COMP_WORDS={line!r}, COMP_CWORD={str(len(line.split(" ")) - 1)!r})
from forecast.cli import main
code = main([])
print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == "[]\n"
    assert done.stdout
