import numpy as np
import pytest

from forecast.errors import UnknownNameError
from forecast.fit.objectives import find_objective
from forecast.fit.objectives.objective import robust_scale


def test_log_residuals():
    objective = find_objective("least_squares_log")
    got = objective.residuals(objective.linked(np.array([np.e, 2.0])), objective.linked(np.array([1.0, 2.0])), {})
    np.testing.assert_allclose(got, [1.0, 0.0])
    assert np.isnan(objective.linked(np.array([-1.0]))).all()


def test_the_robust_scale_is_the_standard_deviation_of_normal_noise():
    noise = np.random.default_rng(0).normal(0, 3.0, 100_001)
    assert robust_scale(noise, 0, np.ones(noise.size)) == pytest.approx(3.0, rel=0.02)


def test_unknown():
    with pytest.raises(UnknownNameError, match="did you mean 'least_squares'"):
        find_objective("least-squares")
