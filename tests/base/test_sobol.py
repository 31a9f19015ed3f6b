from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from forecast.base import sobol
from forecast.base.sobol import (
    DRAWS_PER_BLOCK,
    MAX_DIMENSIONS,
    MAX_INDEX_BITS,
    REPLICATES,
    direction_numbers,
    uniform_block,
)


def test_the_direction_numbers_are_those_of_scipy():
    from scipy.stats import qmc

    theirs = qmc.Sobol(MAX_DIMENSIONS, scramble=False, bits=MAX_INDEX_BITS).random(2**11)
    number = np.arange(2**11)
    gray, ours = number ^ (number >> 1), np.zeros(theirs.shape, dtype=np.uint64)  # scipy walks in Gray's order
    for k in range(11):
        ours ^= np.where((gray >> k & 1)[:, None] == 1, direction_numbers()[:, k], np.uint64(0))
    assert (ours * 2.0**-MAX_INDEX_BITS == theirs).all()


@pytest.mark.parametrize("count", [1, 3, MAX_DIMENSIONS, MAX_DIMENSIONS + 2])
@pytest.mark.parametrize("block", [0, 1, 5])
def test_each_randomisation_of_a_block_is_evenly_spread_in_every_dimension(count, block):
    drawn = uniform_block(3, "name", "part", count, block)
    assert drawn.shape == (count, DRAWS_PER_BLOCK)
    assert ((drawn > 0) & (drawn < 1)).all()
    points = DRAWS_PER_BLOCK // REPLICATES
    for replicate in range(REPLICATES):
        cells = np.sort((drawn[:, replicate::REPLICATES] * points).astype(int), axis=1)
        assert (cells == np.arange(points)).all()


def test_the_first_two_dimensions_of_a_name_fill_every_elementary_rectangle():
    """The first two dimensions of Sobol' are a (0, 2)-sequence, and scrambling keeps it so."""
    drawn = uniform_block(0, "name", "part", 2, 2)
    points = DRAWS_PER_BLOCK // REPLICATES
    for bits in range(8):
        across, up = 2**bits, points // 2**bits
        for replicate in range(REPLICATES):
            x, y = drawn[:, replicate::REPLICATES]
            assert len(np.unique((x * across).astype(int) * up + (y * up).astype(int))) == points


def test_blocks_continue_the_sequence_and_are_the_same_at_every_call():
    whole = np.concatenate([uniform_block(0, "a", "p", 1, block)[0] for block in range(8)])
    for replicate in range(REPLICATES):
        assert len(np.unique((whole[replicate::REPLICATES] * DRAWS_PER_BLOCK).astype(int))) == DRAWS_PER_BLOCK
    before = uniform_block(1, "a", "p", 2, 7)
    sobol._scrambled_points.cache_clear()
    assert (uniform_block(1, "a", "p", 2, 7) == before).all()
    others = [uniform_block(2, "a", "p", 2, 7), uniform_block(1, "b", "p", 2, 7), uniform_block(1, "a", "q", 2, 7)]
    assert all((other != before).all() for other in others)


def test_names_and_randomisations_are_independent():
    """Of 40 names no pair has a correlation beyond 5 standard errors of independent draws."""
    drawn = np.stack([uniform_block(0, f"name {i}", "p", 1, 0)[0] for i in range(40)])
    table = np.corrcoef(drawn)
    assert np.abs(table[np.triu_indices(40, 1)]).max() < 5 / np.sqrt(DRAWS_PER_BLOCK)
    apart = np.corrcoef(drawn[0].reshape(-1, REPLICATES).T)
    assert np.abs(apart[np.triu_indices(REPLICATES, 1)]).max() < 5 / np.sqrt(DRAWS_PER_BLOCK / REPLICATES)


@pytest.mark.parametrize("worlds", [1024, 3072])
def test_a_mean_over_several_names_has_at_most_a_third_of_the_error_of_independent_draws(worlds):
    def error(seed):
        rows = [
            np.concatenate(
                [uniform_block(seed, name, "p", 1, block)[0] for block in range(-(-worlds // DRAWS_PER_BLOCK))]
            )[:worlds]
            for name in "abcde"
        ]
        return np.exp(0.5 * np.sum(rows, axis=0)).mean() - (2 * (np.exp(0.5) - 1)) ** 5

    ours = np.sqrt(np.mean([error(seed) ** 2 for seed in range(40)]))
    spread = np.sqrt((np.exp(1) - 1) ** 5 - (2 * (np.exp(0.5) - 1)) ** 10)
    assert ours < spread / np.sqrt(worlds) / 3


@given(seed=st.integers(0, 2**64 - 1), name=st.text(max_size=20), block=st.integers(0, 2**19))
@settings(max_examples=5, deadline=None)
def test_any_seed_name_and_block_give_points_inside(seed, name, block):
    drawn = uniform_block(seed, name, "p", 2, block)
    assert ((drawn > 0) & (drawn < 1)).all()
