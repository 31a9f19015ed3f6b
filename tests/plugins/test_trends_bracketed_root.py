"""Brent's rule, held against that of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import stdtr, stdtrit

from forecast_trends.bracketed_root import bracketed_root


def mixture(seed):
    """Return the distribution function of a mixture of Student t less a level, and two numbers around its root."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 50))
    centres = 10 ** rng.uniform(-3, 2) * rng.standard_normal(count)
    widths = 10 ** rng.uniform(-3, 2) * rng.exponential(size=count) + 1e-6
    dof, weights, level = rng.uniform(1, 60), rng.dirichlet(np.ones(count)), rng.choice([0.05, 0.5, 0.95])
    ends = centres + stdtrit(dof, level) * widths
    return (lambda x: float(weights @ stdtr(dof, (x - centres) / widths) - level)), ends.min(), ends.max()


def counted(find, function, low, high, **options):
    asked = []
    found = find(lambda x: asked.append(x) or function(x), low, high, **options)
    return found, len(asked)


@pytest.mark.parametrize("seed", range(40))
def test_a_quantile_of_a_mixture_takes_the_steps_of_scipy(seed):
    function, low, high = mixture(seed)
    tolerance = 1e-9 * (high - low)
    found, steps = counted(bracketed_root, function, low, high, xtol=tolerance)
    expected, theirs = counted(brentq, function, low, high, xtol=tolerance)
    assert found == pytest.approx(expected, abs=1e-3 * tolerance)
    assert steps == theirs


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 0.0), (-3.0, 5.0)])
def test_a_root_may_lie_at_an_end_or_be_bracketed_from_above(low, high):
    assert bracketed_root(lambda x: x**3, low, high, xtol=1e-9) == pytest.approx(0.0, abs=1e-9)
    assert bracketed_root(lambda x: -(x**3), high, low, xtol=1e-9) == pytest.approx(0.0, abs=1e-9)


def test_without_a_change_of_sign_or_an_end_there_is_no_root():
    with pytest.raises(ValueError, match=r"no change of sign between 1\.0 and 2\.0"):
        bracketed_root(lambda x: x, 1.0, 2.0, xtol=1e-9)
    with pytest.raises(ValueError, match="no root to within"):
        bracketed_root(lambda x: (x - 0.5) ** 5, 0.0, 1.1, xtol=1e-12)
