"""Shapes that end: caps that are given, judged, found or not to be seen; steps that come once; the frontier."""

import numpy as np
import pytest

import forecast
from forecast.errors import DataError, FitError, ScenarioError, UnknownNameError, UsageError
from forecast.streams import DRAWS_PER_BLOCK, Streams
from forecast_trends.limits.bounded_shape import Gompertz, Logistic
from forecast_trends.limits.frontier import Frontier
from forecast_trends.limits.staircase import Staircase, adoption

STREAMS = Streams(seed=0, node="test", block=0)
YEARS = np.arange(1980.0, 2021.0)


def logistic(t, cap=1000.0, middle=2005.0, rate=0.3):
    return cap / (1 + np.exp(-rate * (t - middle)))


def gompertz(t, cap=1000.0, middle=2000.0, rate=0.15):
    return cap * np.exp(-np.exp(-rate * (t - middle)))


CURVES = [(Logistic, logistic), (Gompertz, gompertz)]
IDS = ["logistic", "gompertz"]

# --- caps -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "curve"), CURVES, ids=IDS)
def test_a_noiseless_curve_below_its_given_cap_is_exact(shape, curve):
    fitted = shape(cap=1000.0).fit(YEARS[:25], curve(YEARS[:25]))
    ahead = np.array([2020.0, 2040.0])
    assert fitted.central(ahead) == pytest.approx(curve(ahead), rel=1e-6)
    assert fitted.sample(ahead, STREAMS) == pytest.approx(
        np.repeat(curve(ahead)[:, None], DRAWS_PER_BLOCK, axis=1), rel=1e-4
    )


@pytest.mark.parametrize(("shape", "curve"), CURVES, ids=IDS)
def test_a_cap_that_was_reached_is_found(shape, curve):
    noise = 0.05 * np.random.default_rng(0).standard_normal(YEARS.size)
    facts = shape().fit(YEARS, curve(YEARS) * np.exp(noise)).describe().facts
    assert facts["cap_identified"] == 1
    assert facts["cap_p05"] < 1000 < facts["cap_p95"] < 1.2 * facts["cap_p05"]
    assert facts["growth_per_year"] < 0.02


@pytest.mark.parametrize("shape", [Logistic, Gompertz], ids=IDS)
def test_an_exponential_shows_no_cap(shape):
    noise = 0.1 * np.random.default_rng(1).standard_normal(30)
    fitted = shape().fit(YEARS[:30], np.exp(0.3 * (YEARS[:30] - 1980) + noise))
    said = fitted.describe()
    if shape is Logistic:  # a Gompertz curve bends everywhere below its cap: it can refuse an exponential's line
        assert said.facts["cap_identified"] == 0
        assert "no cap" in said.summary
        drawn = np.log(fitted.sample(np.array([2060.0]), STREAMS)[0])
        assert np.ptp(np.quantile(drawn, [0.05, 0.95])) > 3  # the ignorance shows in the width
    assert "cap_p05" in said.facts


@pytest.mark.slow
def test_the_interval_of_an_identified_cap_covers():
    rng, inside, runs = np.random.default_rng(2), 0, 60
    for _ in range(runs):
        facts = Logistic().fit(YEARS, logistic(YEARS) * np.exp(0.1 * rng.standard_normal(YEARS.size))).describe().facts
        inside += facts["cap_p05"] <= 1000 <= facts["cap_p95"]
    assert 0.78 <= inside / runs <= 0.99


def test_each_draw_has_its_own_judged_cap():
    caps = np.exp(np.random.default_rng(0).normal(np.log(5000), 0.5, DRAWS_PER_BLOCK))
    fitted = Logistic(cap=5000.0).fit(YEARS[:25], logistic(YEARS[:25]))
    drawn = fitted.given({"cap": caps}).sample(np.array([2100.0]), STREAMS)[0]
    # a curve far from the points leaves hardly any evidence, and its widest draws go anywhere
    assert np.isclose(drawn, caps, rtol=1e-3).mean() > 0.97


def test_a_judged_cap_is_an_input_of_the_trend():
    data = {"year": YEARS[:25].tolist(), "speed": logistic(YEARS[:25]).tolist()}
    cap = {"p05": 2e-9, "p95": 2e-8, "unit": "TFLOP/s", "source": "judged"}
    made = forecast.trend(
        data, shape="trends/logistic", x="year", y="speed", unit="kFLOP/s", options={"cap": cap}
    ).model
    asked = made.inputs["cap"]
    assert asked.unit == "kFLOP/s"
    assert asked.distribution == pytest.approx({"p05": 2.0, "p95": 20.0})
    assert asked.source == "judged"
    with pytest.raises(UnknownNameError, match=r"'cup'.*'cap'"):
        forecast.trend(data, shape="trends/logistic", x="year", y="speed", unit="FLOP/s", options={"cup": 1.0}).fit()


def test_a_scenario_fixes_and_draws_the_cap(tmp_path):
    rows = "\n".join(f"{int(t)}-01-01,{v:.6f}" for t, v in zip(YEARS[:25], logistic(YEARS[:25]), strict=True))
    (tmp_path / "speed.csv").write_text(f"date,speed\n{rows}\n")
    (tmp_path / "s.toml").write_text(
        'title = "t"\nstart = 2005\nuntil = 2100\n[quantities.y]\nshape = "trends/logistic"\ndata = "speed.csv"\n'
        'x = "date"\ny = "speed"\nunit = "FLOP/s"\noptions = { cap = { p05 = 2000, p95 = 20000 } }\n'
        '[questions.q]\nwhen = "y >= 1500"\n'.replace('"y >= 1500"', '"y >= level_asked"')
        + "[quantities.level_asked]\nvalue = 1500\nunit = 'FLOP/s'\n"
    )
    free = forecast.project(str(tmp_path / "s.toml"), draws=1024, seed=0)
    end = free["projection"]["y"].isel(time=-1).values
    assert np.quantile(end, [0.05, 0.95]) == pytest.approx([2000, 20000], rel=0.1)
    fixed = forecast.project(str(tmp_path / "s.toml"), draws=1024, seed=0, with_={"y.cap": 3000})
    assert np.isclose(fixed["projection"]["y"].isel(time=-1).values, 3000.0, rtol=0.05).mean() > 0.97


@pytest.mark.parametrize("cap", [0.0, -1.0, float("inf"), float("nan")])
def test_a_cap_that_cannot_be(cap):
    with pytest.raises(UsageError, match="cap"):
        Logistic(cap=cap)


def test_a_cap_far_below_the_data_is_refused():
    with pytest.raises(FitError, match="far below"):
        Logistic(cap=1.0).fit(YEARS, logistic(YEARS))


# --- steps ------------------------------------------------------------------------------------------------------------

STEP = {"wide": {"date": 2009.5, "gain": {"p05": 1.5, "p95": 8}, "years": 1.0}}


def stairs(t, gain=4.0, growth=0.15):
    return np.exp(growth * (t - 2000) + np.log(gain) * adoption(t, 2009.5, 1.0))


def test_the_gain_and_the_steady_growth_are_told_apart():
    t = np.linspace(2000, 2020, 80)
    noise = 0.2 * np.random.default_rng(0).standard_normal(80)
    fitted = Staircase(features=STEP).fit(t, stairs(t) * np.exp(noise))
    drawn = fitted.posterior(STREAMS)
    low, high = np.exp(np.quantile(drawn["log_gain_wide"], [0.05, 0.95]))
    assert low < 4 < high < 2 * low
    low, high = np.quantile(drawn["growth"], [0.05, 0.95])
    assert low < 0.15 < high
    facts = fitted.describe().facts
    assert facts["share_of_steps"] == pytest.approx(np.log(4) / (np.log(4) + 3.0), abs=0.1)
    assert facts["exhausted"] == 2010.5


def test_a_gain_given_as_a_number_is_taken_as_it_is():
    t = np.linspace(2000, 2020, 40)
    fitted = Staircase(features={"wide": {**STEP["wide"], "gain": 3.0}}).fit(t, stairs(t))
    assert np.exp(fitted.posterior(STREAMS)["log_gain_wide"]) == pytest.approx(np.full(DRAWS_PER_BLOCK, 3.0), rel=2e-2)


def test_what_lies_ahead_comes_with_its_probability_and_is_used_up():
    t = np.linspace(2000, 2020, 40)
    ahead = {"date": {"low": 2022.0, "high": 2024.0}, "gain": 2.0, "years": 1.0, "probability": 0.6}
    fitted = Staircase(features={**STEP, "next": ahead}).fit(t, stairs(t))
    later = fitted.sample(np.array([2030.0, 2040.0]), STREAMS)
    without = Staircase(features=STEP).fit(t, stairs(t)).central(np.array([2030.0, 2040.0]))
    gains = later[0] / without[0]
    assert np.isclose(gains, 2, rtol=1e-3).mean() == pytest.approx(0.6, abs=0.05)
    assert np.isclose(gains, 1, rtol=1e-3).mean() == pytest.approx(0.4, abs=0.05)
    # after the last step only the steady growth is left
    assert np.log(later[1] / later[0]) == pytest.approx(np.full(DRAWS_PER_BLOCK, 1.5), abs=1e-3)
    assert fitted.describe().facts["exhausted"] == 2024.0


def test_without_a_step_an_exponential_overstates_what_is_left():
    t = np.linspace(2000, 2020, 80)
    straight = forecast.models.shape("trends/exponential").fit(t, stairs(t)).describe().facts["growth_per_year"]
    steady = Staircase(features=STEP).fit(t, stairs(t)).describe().facts["growth_per_year"]
    assert steady == pytest.approx(0.15, abs=1e-6)
    assert straight > 0.2


@pytest.mark.parametrize(
    ("features", "says"),
    [
        ([], "features: expected a table"),
        ({}, "features: expected a table"),
        ({"a": 3}, "features.a: expected a table"),
        ({"a": {"date": 2000}}, "'gain' is missing"),
        ({"a": {"date": 2000, "gain": 2, "year": 3}}, "'year'.*'years'"),
        ({"a": {"date": 2000, "gain": -2}}, "gain: expected a positive"),
        ({"a": {"date": 2000, "gain": 2, "years": 0}}, "years: expected a positive"),
        ({"a": {"date": 2000, "gain": 2, "probability": 2}}, "probability: expected"),
        ({"a": {"date": "soon", "gain": 2}}, "date"),
    ],
)
def test_features_that_cannot_be(features, says):
    with pytest.raises((UsageError, UnknownNameError, ScenarioError), match=says):
        Staircase(features=features)


# --- the frontier -----------------------------------------------------------------------------------------------------


def test_the_frontier_refuses_records_and_few_points():
    t = np.linspace(2000, 2020, 12)
    with pytest.raises(UsageError, match="takes every observation"):
        Frontier().fit(t, np.exp(t - 2000), frontier=True)
    with pytest.raises(FitError, match="at least 50 points, got 12"):
        Frontier().fit(t, np.exp(t - 2000))
    with pytest.raises(UsageError, match="tau"):
        Frontier(tau=1.0)
    with pytest.raises(DataError, match="positive"):
        Frontier().fit(t, -np.ones(12))


# --- all --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", ["logistic", "gompertz"])
@pytest.mark.parametrize("scatter", [0.0, 0.01, 0.2])
def test_a_cap_near_the_points_makes_no_draw_collapse(shape, scatter):
    """The straight approximation to the curve is useless at its cap; draws of it once fell to 1e-261."""
    noise = scatter * np.random.default_rng(0).standard_normal(10)
    series = {"t": [2000.0 + i for i in range(10)], "y": list(np.exp(noise))}
    options = {"cap": {"p05": 1.2, "p95": 3}}
    trend = forecast.trend(series, shape=f"trends/{shape}", x="t", y="y", unit="", options=options).model
    run = forecast.project({"start": 2010, "until": 2012, "quantities": {"a": {"model": trend}}}, draws=2000)
    assert float((run["projection"]["a"] < 0.5).mean()) < 0.2  # a fall is not excluded where points scatter
    if scatter < 0.1:
        assert float(run["projection"]["a"].quantile(0.001)) > 0.4


def test_the_shipped_cap_of_fp8_leaves_no_device_without_a_rate():
    quantities = {"a": {"model": "hardware/gpu-peak-fp8@logistic"}}
    run = forecast.project({"start": 2025, "until": 2040, "quantities": quantities}, draws=4000)
    # seven points leave Student's t few degrees of freedom: a draw in thousands may fall, a hundredth must not
    assert float(run["projection"]["a"].quantile(0.005)) > 100


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shape", ["logistic", "gompertz", "staircase"])
def test_a_flat_series_is_described_without_a_warning_or_nan(shape):
    series = {"t": [2000.0 + i for i in range(10)], "y": [1.0] * 10}
    said = forecast.trend(series, shape=f"trends/{shape}", x="t", y="y", unit="").fit().describe().summary
    assert "nan" not in said
