"""Wright or Moore: the two are told apart where production changes its pace, and nowhere else."""

import numpy as np
import pytest

from forecast_trends.learning.experience import Experience
from forecast_trends.learning.sahal import Rivals
from forecast_trends.walks.echo import Increments
from toolkit import sample

T = 1980.0 + np.arange(40.0)


def bent(noise=0.0, seed=0):
    """Log of all that was made: it grew fast, then slowly."""
    rng = np.random.default_rng(seed)
    return np.cumsum(np.where(np.arange(40) < 20, 0.4, 0.05) + noise * rng.standard_normal(40))


def noisy(log_cost, seed, sigma=0.05):
    return log_cost + np.cumsum(sigma * np.random.default_rng(seed).standard_normal(len(log_cost)))


def rivals(y, made, t=T, rho=0.0):
    return Rivals.of(Increments.of(t, y, 1.0, along=made), rho)


def note(y, made):
    fitted = Experience().fit(T, np.exp(y), columns={"cumulative": np.exp(made)})
    return fitted.describe().summary.partition("around the curve")[2]


@pytest.mark.parametrize("rho", [0.0, 0.19, -0.7])
def test_the_two_p_values_are_those_of_generalised_least_squares(rho):
    from statsmodels.api import GLS

    rng = np.random.default_rng(0)
    t = np.cumsum(rng.uniform(0.2, 2.0, 30))
    made = np.cumsum(rng.uniform(0.01, 0.5, 30))
    y = -0.3 * made - 0.02 * t + np.cumsum(0.1 * rng.standard_normal(30))
    length = np.diff(t)
    steps = Increments.of(t, y, 1.0, along=made)
    covariance = (1 + rho**2) * np.diag(length) + rho * steps.shared
    oracle = GLS(np.diff(y), np.stack([np.diff(made), length], axis=1), sigma=covariance).fit()
    found = rivals(y, made, t, rho)
    assert (found.experience, found.time) == pytest.approx(tuple(oracle.pvalues))
    assert found.pace == pytest.approx((made[-1] - made[0]) / (t[-1] - t[0]))
    assert found.spread == pytest.approx(
        np.sqrt(np.average((np.diff(made) / length - found.pace) ** 2, weights=length))
    )


def test_what_the_series_shows_is_said():
    assert note(noisy(-0.5 * bent(), 1), bent()) == ""
    assert "a trend in time describes this series better" in note(noisy(-0.1 * (T - 1980), 1), bent())
    assert "time matters beside experience" in note(noisy(-0.5 * bent() - 0.2 * (T - 1980), 1), bent())
    even = note(noisy(-0.06 * (T - 1980), 1), 0.2 * (T - 1980))
    assert "cannot be told from time here (neither adds to the other, p = 1.00 and 1.00)" in even
    assert "grew by 0.2 ± " in even
    jitter = 0.2 * (T - 1980) + 0.005 * np.random.default_rng(3).standard_normal(40)
    assert "cannot be told from time" in note(noisy(-0.3 * jitter, 2), jitter)


def test_an_exact_curve_shows_experience_alone():
    found = rivals(-0.5 * bent(noise=0.01), bent(noise=0.01))
    assert found.experience < 1e-6
    assert (
        Rivals.of(Increments.of(T[:3], np.array([0.0, -1.0, -2.0]), 1.0, along=np.array([0.0, 1.0, 3.0])), 0.19).said()
        == ""
    )


@pytest.mark.parametrize("rho", sample([0.0, 0.19, 0.6], 0, 3))
@pytest.mark.parametrize("truth", ["experience", "time"])
def test_what_adds_nothing_is_seen_one_time_in_ten(truth, rho):
    made, series = bent(), 600
    line = -0.5 * made if truth == "experience" else -0.1 * (T - 1980)
    rng, alarms = np.random.default_rng(7), 0
    for _ in range(series):
        v = 0.05 * rng.standard_normal(len(T) + 1)
        found = rivals(line + np.cumsum(v[1:] + rho * v[:-1]), made, rho=rho)
        alarms += (found.time if truth == "experience" else found.experience) < 0.1
    assert alarms / series == pytest.approx(0.10, abs=3 * np.sqrt(0.09 / series))
