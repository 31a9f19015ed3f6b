"""Noise that follows itself: the likelihood and the covariance by full matrices, and the noise of what comes."""

import numpy as np
import pytest

from forecast_trends.autoregression import Mixture, autocorrelations, going_on, regressions
from forecast_trends.evidence import first_of_each_record

N = 14
TIME = np.arange(float(N))


def fitted(x, y, **options):
    q, r = np.linalg.qr(x)
    return regressions(q[None], (y - q @ (q.T @ y))[None], np.linalg.inv(r)[None], **options)


def correlation(rho, n):
    return rho ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))


def test_likelihood_scale_and_covariance_are_those_of_the_full_matrices():
    x = np.stack([np.ones(N), TIME - 6.5], axis=1)
    y = 0.2 * TIME + np.cumsum(np.random.default_rng(0).standard_normal(N))
    found = fitted(x, y)
    q, _ = np.linalg.qr(x)
    plain = np.linalg.inv(x.T @ x) @ x.T
    picks = np.arange(0, len(found.rho), 5)
    expected = []
    for i in picks:
        v = correlation(found.rho[i], N)
        inverse = np.linalg.inv(v)
        information = x.T @ inverse @ x
        rest = y - x @ np.linalg.solve(information, x.T @ inverse @ y)
        squares = rest @ inverse @ rest
        assert found.scale[0, i] ** 2 == pytest.approx(squares / (N - 2), rel=1e-9)
        root = found.roots(np.array([0]), np.array([i]))[0]
        assert root @ root.T == pytest.approx(squares / (N - 2) * plain @ v @ plain.T, rel=1e-9)
        logs = [np.linalg.slogdet(m)[1] for m in (v, q.T @ inverse @ q)]
        expected.append(-0.5 * sum(logs) - 0.5 * (N - 2) * np.log(squares))
    assert np.diff(found.likelihood[0, picks]) == pytest.approx(np.diff(expected), rel=1e-9)


def test_designs_are_weighed_together_as_each_is_alone():
    rng = np.random.default_rng(4)
    y = np.cumsum(rng.standard_normal(N))
    basis = np.linalg.qr(rng.standard_normal((5, N, 3)))[0]
    rest = y - np.einsum("dnk,dk->dn", basis, np.einsum("dnk,n->dk", basis, y))
    options = {"records": np.arange(N) % 4 < 3}
    found = regressions(basis, rest, np.broadcast_to(np.eye(3), (5, 3, 3)), **options)
    for i in range(5):
        alone = regressions(basis[i : i + 1], rest[i : i + 1], np.eye(3)[None], **options)
        assert found.likelihood[i] == pytest.approx(alone.likelihood[0], rel=1e-12)
        assert found.scale[i] == pytest.approx(alone.scale[0], rel=1e-12)


def test_rows_that_repeat_a_record_share_its_vote():
    x = np.stack([np.ones(N), TIME], axis=1)
    y = np.maximum.accumulate(0.3 * TIME + np.random.default_rng(1).standard_normal(N))
    once = fitted(x, y, records=first_of_each_record(y))
    thrice = np.repeat(y, 3)
    often = fitted(np.repeat(x, 3, axis=0), thrice, records=first_of_each_record(thrice))
    assert once.size == often.size == first_of_each_record(y).sum() < N
    assert often.shares() == pytest.approx(once.shares(), rel=1e-9, abs=1e-12)
    assert often.scale == pytest.approx(once.scale, rel=1e-9)
    pair = np.array([0]), np.array([30])
    products = [root @ root.T for root in (each.roots(*pair)[0] for each in (once, often))]
    assert products[1] == pytest.approx(products[0], rel=1e-9)


def test_the_prior_is_the_reference_prior():
    """A share of values below ρ that grows as arcsin ρ has the density 1/√(1 − ρ²)."""
    rho = autocorrelations()
    assert (np.arange(len(rho)) + 0.5) / len(rho) == pytest.approx(np.arcsin(rho) / np.pi + 0.5, rel=1e-12)


def test_the_noise_of_what_comes_has_the_correlation_and_the_variance_that_it_should():
    draws = 40_000
    rng = np.random.default_rng(2)
    for rho in (0.7, -0.5):
        now = rng.standard_normal(draws)
        steps = np.array([-1.0, 0.2, 1.0, 2.0, 5.0])
        noise = going_on(steps, now, np.full(draws, rho), np.ones(draws), rng)
        expected = [0.0, rho, rho, rho**2, rho**5]
        assert [np.corrcoef(row, now)[0, 1] for row in noise] == pytest.approx(expected, abs=0.02)
        assert noise.std(axis=1) == pytest.approx(np.ones(5), abs=0.02)


def test_quantiles_of_a_mixture_are_those_of_its_draws():
    from forecast.streams import Streams

    x = np.stack([np.ones(N), TIME], axis=1)
    y = 0.2 * TIME + np.cumsum(np.random.default_rng(3).standard_normal(N))
    found = fitted(x, y)
    mixed = Mixture.of(found, np.linalg.lstsq(x, y, rcond=None)[0][None], found.shares())
    drawn = np.concatenate([mixed.drawn(Streams(0, "test", b))[0][1] for b in range(20)])
    for q in (0.05, 0.5, 0.95):
        value = mixed.quantile(q, np.array([0.0, 1.0]))
        assert np.mean(drawn < value) == pytest.approx(q, abs=4 * np.sqrt(q * (1 - q) / len(drawn)))
