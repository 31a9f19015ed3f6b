"""What shells offer after TAB: by the protocol of each, and without what a forecast needs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import forecast
from toolkit import Said, spawn

#: How each shell says which word is asked for: bash and zsh by its place, fish by its text.
SHELLS = ("bash", "zsh", "fish")
HEAVY = ("numpy", "scipy", "xarray", "pandas", "sympy", "pint", "statsmodels", "matplotlib")


def asked(line: str, shell: str = "bash") -> dict[str, str]:
    """Return the environment in which a shell asks for the last word of a line."""
    words = line.split(" ")
    place = words[-1] if shell == "fish" else str(len(words) - 1)
    return {"COMP_WORDS": line, "COMP_CWORD": place, "_FORECAST_COMPLETE": f"{shell}_complete"}


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch, said: Callable[..., Said]) -> Callable[..., list[str]]:
    """What a shell is offered for the last word of a line, in this process."""

    def offer(line: str, shell: str = "bash") -> list[str]:
        for name, value in asked(line, shell).items():
            monkeypatch.setenv(name, value)
        code, out, err = said()
        assert (code, err) == (0, "")
        if shell == "zsh":  # type, value and help, a line each
            return out.splitlines()[1::3]
        return [row.partition(",")[2].partition("\t")[0] for row in out.splitlines() if row]

    return offer


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("forecast ru", ["run"]),
        ("forecast run brain-par", ["brain-parity"]),
        ("forecast run brain/brain-par", ["brain/brain-parity"]),
        ("forecast fit scaling/chin", ["scaling/chinchilla"]),
        ("forecast laws show chin", ["chinchilla"]),
        ("forecast models show hardware/hpc", ["hardware/hpcg"]),
        (
            "forecast fit scaling/power --data datasets/superc",
            ["datasets/supercomputers", "datasets/supercomputers-2026"],
        ),
        (
            "forecast run brain-parity --set tre",
            [
                f"trend={each}"
                for each in ("pool", "local-linear", "damped-trend", "changepoint", "recent-line", "exponential")
            ],
        ),
        ("forecast run brain-parity --set mach", ["machine="]),
        ("forecast run brain-parity --unt", ["--until"]),
    ],
)
def test_each_shell_is_offered_the_names(
    offered: Callable[..., list[str]], shell: str, line: str, expected: list[str]
) -> None:
    assert offered(line, shell) == expected


def test_a_process_of_its_own_offers_the_same() -> None:
    done = spawn(env=asked("forecast run brain-par"))
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["plain,brain-parity"], "")


def test_every_name_is_offered_once(offered: Callable[..., list[str]]) -> None:
    for noun, kind in (("scenarios", "scenario"), ("laws", "law"), ("models", "model"), ("tables", "table")):
        found = offered(f"forecast {noun} show ")
        names = forecast.catalogue(kind)
        assert len(found) == len(set(found)) == len(names)
        bare = [n.partition("/")[2] for n in names]
        assert set(found) == {b if bare.count(b) == 1 else n for n, b in zip(names, bare, strict=True)}


def test_a_file_will_do_where_no_name_begins_so() -> None:
    done = spawn(env={"COMP_WORDS": "forecast run ./mi", "COMP_CWORD": "2", "_FORECAST_COMPLETE": "bash_complete"})
    assert done.stdout == "file,./mi\n"


def test_choices_of_a_file_and_of_what_it_extends(offered: Callable[..., list[str]], tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('extends = "brain-parity"\n[choices]\npace = ["slow", "fast"]\n[quantities.mine]\nvalue = 1\n')
    found = offered(f"forecast run {path} --set ")
    assert {"pace=slow", "pace=fast", "mine=", "metric=hpcg", "machine="} <= set(found)


@pytest.mark.parametrize("text", ["", "[", "choices = 1\nquantities = [2]", 'extends = "mine.toml"', "\xff"])
def test_what_cannot_be_read_offers_nothing(offered: Callable[..., list[str]], tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="latin-1")
    assert offered(f"forecast run {path} --set ") == []
    assert offered("forecast run no-such --set ") == []


def test_a_broken_selection_of_plugins_says_nothing() -> None:
    done = spawn(env={**asked("forecast laws show chin"), "FORECAST_PLUGINS": "no-such-plugin"})
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [], "")


def test_nothing_heavy_is_imported() -> None:
    code = (
        "import sys; from forecast.cli import main; main([]);"
        "lazy = {m for m, each in sys.modules.items() if type(each).__name__ == '_LazyModule'};"
        f"print(*[m for m in {HEAVY!r} if m in sys.modules and m not in lazy], sep=',', file=sys.stderr)"
    )
    for line in ("forecast run b", "forecast models show ", "forecast run brain-parity --set "):
        env = {**os.environ, **asked(line, "zsh")}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        assert done.stderr == "\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_asks_our_command(shell: str) -> None:
    if shell == "bash" and shutil.which("bash") is None:  # click asks it for its version
        pytest.skip("bash is not installed")
    script = spawn(env={"_FORECAST_COMPLETE": f"{shell}_source"}).stdout
    assert f"_FORECAST_COMPLETE={shell}_complete" in script


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_itself_completes() -> None:
    where = str(Path(sys.executable).parent)
    code = (
        'eval "$(_FORECAST_COMPLETE=bash_source forecast)"; COMP_WORDS=(forecast run brain-par); COMP_CWORD=2;'
        '_forecast_completion forecast; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", code],
        env={**os.environ, "PATH": f"{where}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "brain-parity"
