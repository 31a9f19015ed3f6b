"""A fitted parameter of a trend is set: the level moves by what it does, and the noise stays as it was drawn."""

import numpy as np
import pytest

import forecast
from forecast.streams import Streams
from toolkit import sample

YEARS = np.arange(2000.0, 2021.0)
VALUES = np.exp(0.3 * (YEARS - 2000) + np.cumsum(np.random.default_rng(0).normal(0, 0.1, 21)))
TIME = np.array([1995.0, 2000.0, 2010.5, 2021.0, 2025.0, 2040.5])
STREAMS = Streams(0, "m", 0)
SHAPES = ("exponential", "changepoint", "logistic", "gompertz", "random-walk", "local-linear", "damped-trend")


def bent(years):
    return np.exp(0.6 * np.minimum(years - 2000, 10) + 0.1 * np.maximum(years - 2010, 0))


def fitted(shape, years=YEARS, values=VALUES):
    return forecast.trend({"t": years, "y": values}, shape=f"trends/{shape}", x="t", y="y", unit="FLOP", name="m").fit()


def moved(model, **held):
    draws = {name: np.broadcast_to(np.asarray(value, dtype=float), STREAMS.draws) for name, value in held.items()}
    return model.with_parameters(draws)


@pytest.mark.parametrize("shape", sample(SHAPES, 3))
def test_parameters_held_as_they_were_drawn_change_nothing(shape):
    model = fitted(shape)
    drawn, level = model.posterior(STREAMS), model.sample(TIME, {}, STREAMS)
    assert model.settable
    for name in model.settable:
        same = moved(model, **{name: drawn[name]})
        assert same.sample(TIME, {}, STREAMS) == pytest.approx(level, rel=1e-9)
        assert same.posterior(STREAMS)[name] == pytest.approx(drawn[name], rel=1e-12)


@pytest.mark.parametrize("shape", ["exponential", "random-walk", "local-linear"])
def test_growth_that_is_set_is_the_growth_beyond_the_data(shape):
    model, ahead = fitted(shape), np.array([2021.0, 2031.0])
    slow, fast = (np.log(moved(model, growth=g).sample(ahead, {}, STREAMS)) for g in (0.1, 0.5))
    np.testing.assert_allclose((fast - slow)[1] - (fast - slow)[0], 4.0, rtol=1e-9)
    gained = slow[1] - slow[0]
    assert np.median(gained) == pytest.approx(1.0, abs=0.05 if shape != "local-linear" else 0.3)
    if shape == "exponential":
        np.testing.assert_allclose(gained, 1.0, rtol=1e-9)


def test_damped_growth_ends_at_a_finite_gain():
    model, far = fitted("damped-trend"), np.array([2021.0, 2400.0])
    slow, fast = (np.log(moved(model, growth=g).sample(far, {}, STREAMS)) for g in (0.1, 0.5))
    damping = model.posterior(STREAMS)["damping"]
    np.testing.assert_allclose((fast - slow)[1][damping < 0.97], (0.4 / (1 - damping))[damping < 0.97], rtol=2e-3)


def test_a_line_with_a_break_takes_the_conditional_distribution():
    years = np.arange(2000.0, 2021.0, 0.25)
    values = bent(years) * np.exp(np.random.default_rng(1).normal(0, 0.05, years.size))
    model = fitted("changepoint", years, values)
    drawn = model.posterior(STREAMS)
    held = moved(model, growth=float(np.median(drawn["growth"])) + 0.02)
    after = held.posterior(STREAMS)
    # a steeper first part goes with a lower start of the second: the regression of the draws of the best line
    which = max(range(len(model.shape.breaks)), key=lambda i: np.sum(drawn["break"] == model.shape.breaks[i]))
    mine = drawn["break"] == model.shape.breaks[which]
    assert mine.sum() > 30
    joint = model.shape.lines.covariance(which)
    slope = joint[[0, 2], 1] / joint[1, 1]
    for name, each in zip(("log_level", "growth_change"), slope, strict=True):
        expected = drawn[name][mine] + each * (after["growth"] - drawn["growth"])[mine]
        assert after[name][mine] == pytest.approx(expected, rel=1e-9)
    assert slope[1] < -0.5
    direct = (
        after["log_level"]
        + after["growth"] * (TIME[:, None] - model.shape.origin)
        + after["growth_change"] * np.maximum(0, TIME[:, None] - after["break"])
    )
    np.testing.assert_allclose(np.log(held.sample(TIME, {}, STREAMS)), direct, atol=1e-9)


def test_a_frontier_moves_its_level_with_its_growth():
    random = np.random.default_rng(2)
    years = np.sort(random.uniform(2000, 2020, 400))
    model = fitted("frontier", years, np.exp(0.3 * (years - 2000) + random.normal(0, 0.5, 400)))
    drawn, after = model.posterior(STREAMS), moved(model, growth=0.4).posterior(STREAMS)
    joint = model.shape.covariance
    expected = drawn["log_level"] + joint[0, 1] / joint[1, 1] * (0.4 - drawn["growth"])
    assert after["log_level"] == pytest.approx(expected, rel=1e-9)


def test_below_another_cap_the_curve_still_goes_through_the_points():
    years = np.arange(2000.0, 2021.0)
    values = 100 / (1 + np.exp(-0.4 * (years - 2010))) * np.exp(np.random.default_rng(3).normal(0, 0.02, 21))
    model = fitted("logistic", years, values)
    held = moved(model, log_cap=np.log(130.0))
    late = held.sample(np.array([2200.0]), {}, STREAMS)
    assert late == pytest.approx(130.0, rel=1e-3)
    inside = held.sample(np.array([2010.0]), {}, STREAMS)
    assert np.median(inside) == pytest.approx(50.0, rel=0.15)


def test_the_staircase_holds_growth_and_gains():
    options = {"features": {"fp16": {"date": 2010, "gain": 2.0}, "fp4": {"date": 2030, "gain": 2.0}}}
    model = forecast.trend(
        {"t": YEARS, "y": VALUES}, shape="trends/staircase", x="t", y="y", unit="FLOP", name="m", options=options
    ).fit()
    assert set(model.settable) == set(model.posterior(STREAMS)) - {"scatter", "autocorrelation"}
    far = np.array([2100.0, 2110.0])
    level = np.log(moved(model, growth=0.25).sample(far, {}, STREAMS))
    inside = np.abs(level).max(axis=0) < 599  # what leaves a float stands at its end
    assert inside.mean() > 0.99
    np.testing.assert_allclose((level[1] - level[0])[inside], 2.5, rtol=1e-3)
