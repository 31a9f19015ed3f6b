"""``forecast run --swap``: another model for a quantity."""

import pytest

WORDS = ("brain-parity", "--draws", "20", "--until", "2060", "--set", "metric=hpcg", "--set", "trend=changepoint")


def test_it_is_in_json(said):
    done = said("run", *WORDS, "--swap", "machine=hardware/linpack@random-walk", "--json")
    assert done.code == 0
    assert done.json["provenance"]["swap"] == {"machine": "hardware/linpack@random-walk"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("machine", "--swap: expected NAME=MODEL, got 'machine'"),
        ("machin=hardware/linpack", "unknown quantity 'machin'; did you mean 'machine'"),
        ("machine=hardware/linpak@random-walk", "hardware/linpak"),
        ("machine=hardware/gpu-bandwidth@exponential", "swap machine=hardware/gpu-bandwidth@exponential"),
    ],
)
def test_what_cannot_be_swapped_is_refused(said, text, says):
    assert says in said("run", *WORDS, "--swap", text).refusal
