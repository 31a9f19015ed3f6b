from __future__ import annotations

import hashlib

import numpy as np
import pytest

from forecast.errors import UsageError
from forecast.streams import DRAWS_PER_BLOCK, Streams, check_seed, choice, student_t


def test_the_same_names_give_the_same_numbers_and_others_give_others():
    def drawn(seed=0, node="a", block=0, part="noise"):
        return Streams(seed, node, block)(part).random(4).tolist()

    assert drawn() == drawn()
    others = [drawn(seed=1), drawn(node="b"), drawn(block=1), drawn(part="parameters")]
    assert all(drawn() != other for other in others)
    assert len({tuple(other) for other in others}) == len(others)


def test_the_numbers_of_a_stream_stay_what_they_are():
    def key(text):
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")

    stated = np.random.SeedSequence(7, spawn_key=(key("a/b"), key("noise"), 2))
    expected = np.random.Generator(np.random.PCG64(stated)).random(5)
    assert (Streams(7, "a/b", 2)("noise").random(5) == expected).all()
    # a change here changes every published forecast
    found = Streams(0, "hardware/hpcg@exponential", 0)("parameters").random(2).tolist()
    assert found == [0.6918393629563204, 0.6962152988584058]


def test_a_stream_always_gives_whole_blocks():
    assert Streams(0, "a", 3).draws == DRAWS_PER_BLOCK


@pytest.mark.parametrize("seed", [-1, 2**64, 2**128, "abc", "7", True, np.True_, 1.0, [1], float("nan")])
def test_bad_input_057_what_is_no_seed_is_refused(seed):
    with pytest.raises(UsageError, match="seed: expected an integer from 0 to"):
        check_seed(seed)


def test_bad_input_057_no_seed_takes_a_fresh_one():
    assert len({check_seed(None) for _ in range(20)}) > 1
    assert all(0 <= check_seed(None) < 2**32 for _ in range(20))


@pytest.mark.parametrize("seed", [0, 2**64 - 1, np.int64(5), np.uint64(2**64 - 1)])
def test_integers_of_any_kind_are_seeds(seed):
    assert check_seed(seed) == int(seed)
    assert type(check_seed(seed)) is int


@pytest.mark.parametrize("dof", [2.0, 5.0, np.inf])
def test_student_t_vectors_have_the_right_spread(dof):
    z = student_t(np.concatenate([Streams(0, "t", block).uniforms("p", 3) for block in range(20)], axis=1), dof)
    assert z.shape == (2, 20 * DRAWS_PER_BLOCK)
    from scipy.stats import t as student

    for level in (0.01, 0.1, 0.5, 0.9, 0.99):
        q = student.ppf(level, dof)
        # a tenth of the error of independent draws would do; four of theirs let nothing wrong through
        error = np.sqrt(level * (1 - level) / z.shape[1]) / student.pdf(q, dof)
        assert np.abs(np.quantile(z, level, axis=1) - q).max() < 4 * error


def test_a_choice_has_its_weights():
    (uniform,) = Streams(0, "c", 0).uniforms("p", 1)
    assert np.bincount(choice([2, 1, 1], uniform)).tolist() == [512, 256, 256]


@pytest.mark.parametrize("dof", [1.0, 3.5, 23.0, 400.0])
def test_student_t_scales_by_the_inverse_of_chi_square(dof):
    from scipy.stats import chi2

    uniform = np.concatenate([Streams(0, "scale", 0).uniforms("p", 1)[0], [1e-15, 1e-6, 1 - 1e-6]])
    made = student_t(np.array([np.full(uniform.size, 0.8413447460685429), uniform]), dof)[0]
    assert made == pytest.approx(np.sqrt(dof / chi2.isf(uniform, dof)), rel=1e-9)


def test_what_is_drawn_once_is_made_each_time_by_whoever_holds_nothing():
    streams, made = Streams(seed=0, node="x", block=0), []
    assert [streams.once(streams, "part", lambda: made.append(1) or len(made)) for _ in range(2)] == [1, 2]
