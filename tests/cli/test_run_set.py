"""``forecast run --set`` in a process of its own: every driver that an answer names, to whatever it may be."""

from __future__ import annotations

import pytest

from tests.toolkit import json_of, spawn

BASE = (
    "run",
    "brain-parity",
    "--draws",
    "1024",
    "--until",
    "2060",
    "--set",
    "metric=linpack",
    "--set",
    "trend=exponential",
)
GROWTH = "hardware/linpack@exponential.growth"


def ran(*words):
    return spawn(*BASE, *words, "--json")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("brain=1e18..1e20", "with brain = 1e18..1e20 (loguniform)."),
        ("brain=1 EFLOP/s", "with brain = 1 EFLOP/s."),
        ("brain={lognormal = [1e18, 1e20]}", "with brain = {lognormal = [1e18, 1e20]}."),
        (f"{GROWTH}=0.2", f"with {GROWTH} = 0.2."),
        ("machine.growth=20 percent/year", "with machine.growth = 20 percent/year."),
        ("machine.growth=0.1..0.3", "with machine.growth = 0.1..0.3 (loguniform)."),
        ("machine.growth={normal = [0.1, 0.3]}", "with machine.growth = {normal = [0.1, 0.3]}."),
    ],
)
def test_a_driver_is_set(text, said):
    # where estimates differ much, little is left for a trend to move
    alone = ("--set", "estimate=dettmers-2015") if "growth" in text else ()
    done = ran(*alone, "--set", text)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json_of(done.stdout)["result"]
    assert answer["headline"].endswith(said)
    key = text.partition("=")[0].replace("machine.growth", GROWTH)
    fixed = ".." not in text and "{" not in text
    assert fixed == (key not in [row["name"] for row in answer["drivers"][0]["drivers"]])


def test_another_model_is_swapped():
    done = ran("--swap", "machine=hardware/linpack@random-walk")
    assert (done.returncode, done.stderr) == (0, "")
    assert json_of(done.stdout)["result"]["headline"].endswith("with machine = hardware/linpack@random-walk.")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--set", "machine=hardware/linpack@random-walk"), "--swap machine=hardware/linpack@random-walk"),
        (("--set", "brain=1e17..1e13"), "set brain: expected a range that rises, such as 1e13..1e17"),
        (("--set", "brain=1 USD"), "set brain: "),
        (("--set", "brain={lognorml = [1, 2]}"), "did you mean 'lognormal'"),
        (("--set", f"{GROWTH}h=0.2"), f"did you mean '{GROWTH}'"),
        (("--set", "machine.growth=0.2 USD"), f"set {GROWTH}: "),
        (("--set", "machine.growth=fast"), f"set {GROWTH}: expected a finite number, got 'fast'"),
        (("--swap", "machin=hardware/linpack"), "unknown quantity 'machin'; did you mean 'machine'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(words, says):
    done = ran(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
