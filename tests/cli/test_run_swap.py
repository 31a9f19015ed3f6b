"""``forecast run --swap``: another model for a quantity."""

from __future__ import annotations

import numpy as np
import pytest

import forecast
from forecast import save
from forecast.report.headline import opening_sentence

WORDS = ("brain-parity", "--draws", "20", "--until", "2060", "--set", "metric=hpcg", "--set", "trend=changepoint")


@pytest.mark.slow
def test_another_model_is_taken_and_nothing_else_is_drawn_anew(tmp_path):
    options = {"draws": 20, "until": 2060, "with_": {"metric": "hpcg", "trend": "changepoint"}}
    before = forecast.project("brain-parity", **options)
    other = {**options["with_"], "machine": "hardware/linpack@random-walk"}
    after = forecast.project("brain-parity", **{**options, "with_": other})
    record = {"start": 2025, "until": 2060, "quantities": {"machine": {"model": "hardware/linpack@random-walk"}}}
    alone = forecast.project({**record, "start": int(after["projection"]["time"].dt.year[0])}, draws=20)
    own, other = (np.squeeze(tree["projection"]["machine"].values) for tree in (after, alone))
    np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(after["projection"]["brain"].values, before["projection"]["brain"].values)
    assert opening_sentence(after).endswith(", machine = hardware/linpack@random-walk.")
    assert forecast.load(save(after, tmp_path / "p.nc")).run.identical(after)


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
