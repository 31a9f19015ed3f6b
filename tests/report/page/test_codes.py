"""Ranks, and codes between the ends of a range."""

import numpy as np
import pytest

from forecast.report.page.draw_encoding import EncodedRanks, EncodedValues


def test_equal_draws_share_a_rank():
    drawn = EncodedRanks.of("x", np.concatenate([np.zeros(40), np.linspace(1, 2, 60)]))
    assert not drawn.has_few_values
    assert (drawn.ranks[:40] == 0).all()
    assert drawn.ranks[40] == 40
    assert drawn.kept([0, 10]).sum() == 40


def test_codes_tell_below_above_and_failed():
    values = np.array([[-np.inf, 2.0, np.inf, np.nan]])
    coded = EncodedValues.of(values, np.array([1.0]), np.array([3.0]), np.uint8, name="x", kind="date", dims=("a",))
    assert coded.codes.tolist() == [[0, 127, 254, 255]]
    back = coded.values()[0]
    assert back[0] == 1
    assert back[1] == pytest.approx(2, abs=2 / 253)
    assert np.isposinf(back[2])
    assert np.isnan(back[3])
