"""What the README says: its snippet runs, its commands exist, its answers are the program's own."""

import functools
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from toolkit import copied

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


SETUP = blocks("sh")
SHOWN = [block for block in blocks("text") if block.startswith("$ forecast ")]


@functools.cache
def forecast(*words: str) -> subprocess.CompletedProcess[str]:
    done = copied(*words)
    assert done.returncode == 0, done.stderr
    return done


def test_there_are_two_setup_commands_of_one_line_each():
    assert [block.count("\n") for block in SETUP] == [1, 1]


@pytest.mark.parametrize("command", SETUP, ids=["run", "test"])
def test_a_setup_command_makes_its_own_environment_and_uses_nothing_else(command):
    make, install, use = command.strip().split(" && ")
    assert make == "python3 -m venv --without-pip .venv"  # Debian without python3-venv has no ensurepip
    assert install.startswith("python3 -m pip --python .venv install ")  # nor may its own environment be touched
    assert use.startswith(".venv/bin/")


@pytest.mark.slow
def test_the_first_command_ends_in_the_founding_forecast():
    program, *words = shlex.split(SETUP[0].split(" && ")[-1])
    assert program == ".venv/bin/forecast"
    assert forecast(*words).stdout.startswith("There is a ")


def test_ci_runs_the_second_command():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (pattern,) = re.findall(r"grep -m 1 -E '([^']+)' README.md", script)
    (line,) = [line for line in README.splitlines() if re.search(pattern, line)]
    assert line == SETUP[1].strip()


def test_the_python_snippet_runs(capsys):
    (snippet,) = blocks("python")
    exec(compile(snippet, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "parity_never" in printed
    assert "converged" in printed


@pytest.mark.parametrize("block", SHOWN, ids=lambda block: block.splitlines()[0])
def test_an_answer_shown_is_what_the_program_prints(block):
    command, *lines = block.splitlines()
    printed = " ".join(forecast(*shlex.split(command)[2:]).stdout.split())
    parts = "\n".join(lines).split("\n...")
    assert len(lines) > 5
    for part in parts:
        assert " ".join(part.split()) in printed


def test_every_path_it_names_exists():
    paths = [p for p in re.findall(r"\]\(([^)]+)\)", README) if "//" not in p]
    paths += re.findall(r"^\| `([a-z]+/)` \|", README, re.MULTILINE)
    assert len(paths) >= 10
    assert [p for p in paths if not (ROOT / p).exists()] == []


def test_it_shows_nothing_from_elsewhere():
    assert not re.search(r"!\[|<img|https?://", README)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_a_page_points_to_the_lists_and_names_no_part_of_them(page):
    """Plugins and scenarios come and go; what lists them does not."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / link).exists(), link
    assert "(docs/reference/catalogue.md)" in text
    for noun in ("plugins", "scenarios"):
        assert f"`forecast {noun} list`" in text
        assert forecast(noun, "list").stdout
    for path in re.findall(r"`((?:forecast|plugins|datasets|docs|tests)/[\w./-]*)`", text):
        assert (ROOT / path).exists(), path
    assert not re.search(r"\b(five|six|seven|eight|nine|\d+) (first-party )?plugins", text)
