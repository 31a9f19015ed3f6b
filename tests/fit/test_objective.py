import numpy as np
import pytest

from forecast.errors import UnknownNameError
from forecast.fit.objectives import find
from forecast.fit.objectives.objective import Scratch, robust_scale, weighted_median


def test_plain_values():
    r, one = np.array([[0.5, -3.0, 2.0]]), np.ones(3)

    def value(name, weights):
        return find(name).summed(r, np.zeros(3), weights, {"delta": 1.0}, Scratch())[0].item()

    assert value("least_squares", one) == 13.25  # not halved
    assert value("huber_log", one) == pytest.approx(0.125 + 2.5 + 1.5)
    assert value("huber_log", np.array([2.0, 0.0, 1.0])) == pytest.approx(0.25 + 1.5)


def test_log_residuals():
    objective = find("least_squares_log")
    got = objective.residuals(objective.linked(np.array([np.e, 2.0])), objective.linked(np.array([1.0, 2.0])), {})
    np.testing.assert_allclose(got, [1.0, 0.0])
    assert np.isnan(objective.linked(np.array([-1.0]))).all()


def test_the_robust_scale_is_the_standard_deviation_of_normal_noise():
    noise = np.random.default_rng(0).normal(0, 3.0, 100_001)
    assert robust_scale(noise, 0, np.ones(noise.size)) == pytest.approx(3.0, rel=0.02)


def test_unknown():
    with pytest.raises(UnknownNameError, match="did you mean 'least_squares'"):
        find("least-squares")


@pytest.mark.parametrize("count", [1, 2, 7, 10])
def test_equal_weights_give_the_plain_median(count):
    values = np.random.default_rng(count).standard_normal((3, count))
    padded = np.concatenate([values, np.full((3, 1), np.nan)], axis=1)  # nan, of no weight: the way of unequal weights
    weights = np.concatenate([np.full(count, 0.3), [0.0]])
    np.testing.assert_array_equal(weighted_median(values, np.full(count, 0.3)), weighted_median(padded, weights))
    lost = np.where(np.arange(count) == 0, np.nan, values)
    assert np.isfinite(weighted_median(lost, np.ones(count))).all() == (count > 2)
