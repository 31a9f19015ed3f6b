"""``forecast run --set``: every driver that an answer names, to whatever it may be."""

import pytest

from toolkit import sample

BASE = (
    "run", "brain-parity", "--draws", "1024", "--until", "2060", "--set", "metric=linpack", "--set",
    "trend=exponential",
)  # fmt: skip
GROWTH = "hardware/linpack@exponential.growth"


@pytest.fixture
def ran(said):
    """Run it in this process with these words."""
    return lambda *words: said(*BASE, *words, "--json")


@pytest.mark.parametrize(
    ("text", "says"),
    sample(
        [
            ("brain=1e18..1e20", "with brain = 1e18..1e20 (loguniform) instead of its model"),
            ("brain=1 EFLOP/s", "with brain = 1 EFLOP/s instead of its model"),
            ("brain={lognormal = [1e18, 1e20]}", "with brain = {lognormal = [1e18, 1e20]} instead of its model"),
            (f"{GROWTH}=0.2", f"with {GROWTH} = 0.2"),
            ("machine.growth=20 percent/year", "with machine.growth = 20 percent/year"),
            ("machine.growth=0.1..0.3", "with machine.growth = 0.1..0.3 (loguniform)"),
            ("machine.growth={normal = [0.1, 0.3]}", "with machine.growth = {normal = [0.1, 0.3]}"),
        ],
        3,
    ),
)
def test_a_driver_is_set(ran, text, says):
    # where estimates differ much, little is left for a trend to move
    alone = ("--set", "estimate=dettmers-2015") if "growth" in text else ()
    done = ran(*alone, "--set", text)
    assert (done.code, done.err) == (0, "")
    answer = done.json["result"]
    assert says.removeprefix("with ") in answer["headline"]
    key = text.partition("=")[0].replace("machine.growth", GROWTH)
    fixed = ".." not in text and "{" not in text
    assert fixed == (key not in [row["name"] for row in answer["drivers"][0]["drivers"]])
