"""Effective speed-up: the compute two laws need for one output."""

import numpy as np
import pytest

import forecast
from forecast.errors import FitError, UsageError
from toolkit import saturating, stated


def power(**parameters):
    return stated("E + a*x**-b", parameters, variables=["x"])


def noisy(gain, seed):
    return forecast.law("scaling/saturating-power").fit(saturating(60, 0.01, seed, gain))


def test_a_law_that_is_worth_three_times_the_compute():
    old, new = power(E=1.0, a=5.0, b=0.3), power(E=1.0, a=5.0 * 3**-0.3, b=0.3)
    found = new.speedup(old, compute=1e3)
    assert float(found["speedup"]) == pytest.approx(3.0, rel=1e-9)
    assert float(found["needed"]) == pytest.approx(1e3 / 3, rel=1e-9)
    assert float(old.speedup(new, compute=1e3)["speedup"]) == pytest.approx(1 / 3, rel=1e-9)
    assert "states no uncertainty" in found.attrs["no_interval"]


def test_the_interval_covers_what_was_put_in():
    found = noisy(3.0, 1).speedup(noisy(1.0, 0), compute=1e3, level=0.99)
    assert float(found["speedup_lower"]) < 3 < float(found["speedup_upper"])
    assert float(found["speedup_lower"]) > 2
    assert float(found["never"]) == 0


def test_no_speed_up_over_itself():
    fit = noisy(1.0, 0)
    found = fit.speedup(fit, compute=1e3)
    assert float(found["speedup"]) == pytest.approx(1.0, rel=1e-9)
    assert float(found["speedup_lower"]) < 1 < float(found["speedup_upper"])


def test_two_variables_at_their_best_splits():
    law = forecast.law("scaling/chinchilla")
    new, old = law.published("besiroglu2024"), law.published("hoffmann2022-a3")
    found = new.speedup(old, compute=1e23)
    loss = float(old.allocate(compute=1e23)["loss"])
    assert float(found["loss"]) == pytest.approx(loss, rel=1e-10)
    needed = float(found["needed"])
    assert float(new.allocate(compute=needed)["loss"]) == pytest.approx(loss, rel=1e-9)
    assert float(found["speedup"]) == pytest.approx(1e23 / needed)


def test_what_cannot_be_reached_is_never():
    found = power(E=3.0, a=5.0, b=0.3).speedup(power(E=1.0, a=5.0, b=0.3), compute=1e6)
    assert float(found["speedup"]) == 0.0
    assert np.isinf(found["needed"])
    assert "never reaches" in found.attrs["warnings"]


def test_only_like_is_compared_with_like():
    one = power(E=1.0, a=5.0, b=0.3)
    two = forecast.law("scaling/chinchilla").published("besiroglu2024")
    with pytest.raises(UsageError, match="over other variables"):
        one.speedup(two, compute=1e3)
    with pytest.raises(UsageError, match="positive number"):
        one.speedup(one, compute=-1)
    with pytest.raises(FitError, match="it would be free"):
        one.speedup(one, compute=1.0, cost="7")
