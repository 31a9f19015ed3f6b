"""Quantiles of mixtures of Student t, held against scipy's root finder."""

import numpy as np
import pytest
from scipy.special import stdtr, stdtrit

from forecast_trends.points import quantile


@pytest.mark.parametrize("level", [0.05, 0.5, 0.95])
def test_where_all_weight_is_of_one_component_the_quantile_is_its_own(level):
    weights, centres, widths = np.array([0.0, 1.0, 0.0]), np.array([-1.0, 2.0, 5.0]), np.array([0.1, 0.3, 0.2])
    for order in ([0, 1, 2], [1, 0, 2], [0, 2, 1]):
        found = quantile(level, centres[order], widths[order], 7.0, weights[order])
        assert found == pytest.approx(2.0 + 0.3 * stdtrit(7.0, level), rel=1e-9)


def test_components_without_width_are_one_number():
    centres = np.full(3, 0.25)
    assert quantile(0.95, centres, np.zeros(3), 5.0, np.ones(3) / 3) == pytest.approx(0.25, rel=1e-9)


@pytest.mark.parametrize("seed", range(60))
def test_a_quantile_is_where_the_mixture_has_its_share_whatever_its_scales(seed):
    """Centres may be nearly one beside their widths, and nearly all weight may be of one component."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        count = int(rng.integers(2, 30))
        centres = rng.normal(size=count) * 10 ** rng.uniform(-12, 3) + rng.normal() * 10 ** rng.uniform(-3, 3)
        widths = 10 ** rng.uniform(-3, 3) * np.exp(rng.normal(size=count) * rng.choice([0, 1, 5]))
        weights = np.exp(rng.normal(size=count) * rng.choice([0, 1, 10, 40]))
        weights /= weights.sum()
        level, dof = rng.choice([0.05, 0.5, 0.95]), rng.choice([1.0, 3.0, 10.0, 50.0])
        found = quantile(level, centres, widths, dof, weights)
        near = 1e-11 * (1 + np.abs(centres).max())  # numbers lie so far apart, beside the narrowest component
        below, above = (weights @ stdtr(dof, (found + step - centres) / widths) for step in (-near, near))
        assert below - 1e-12 <= level <= above + 1e-12
