"""What a model says of numbers that somebody stated: their ranges, their sources, and what a user has set instead."""

import numpy as np
import pytest

import forecast
from forecast.contract.specs import Input

YEARS = np.arange(2000.0, 2026.0)
#: Far below any cap that is given here.
SPEED = 1.3 ** (YEARS - 2000) * np.exp(0.05 * np.random.default_rng(0).standard_normal(26))
MADE = np.cumsum(1.2 ** (YEARS - 2000) * np.exp(0.1 * np.random.default_rng(1).standard_normal(26)))
DATA = {"year": YEARS, "speed": SPEED, "cost": MADE**-0.3, "made": MADE}
CAP = {"p05": 2e3, "p95": 5e4, "unit": "TFLOP/s", "source": "a judge"}
GROWTH = {"p05": 0.05, "p95": 0.4, "source": "a guess"}


def capped(cap=CAP, **given):
    asked = {"shape": "trends/logistic", "x": "year", "y": "speed", "unit": "TFLOP/s", **given}
    return forecast.trend(DATA, options={"cap": cap} if cap else {}, name="machine", **asked).model


def cell(growth=GROWTH):
    asked = {"shape": "trends/experience", "x": "year", "y": "cost", "unit": "USD"}
    return forecast.trend(DATA, options={"cumulative": "made", "growth": growth}, name="cell", **asked).model


def said(model, **given):
    quantities = {"x": {"model": model}}
    run = forecast.project({"start": 2026, "until": 2028, "quantities": quantities}, draws=2, with_=given)
    return run.attributes["models"][model.name]


def test_a_judged_cap_is_said_with_its_interval_its_unit_and_its_source():
    found = capped().fit().describe()
    assert "logistic towards a given cap of 1e+04" in found.summary
    assert "; cap from 2000 to 5e+04 TFLOP/s (90 %; a judge)" in found.summary
    assert "cap [TFLOP/s]: lognormal, p05 = 2000, p95 = 50000 (a judge)" in found.assumptions
    assert found.sources == ("a judge",)
    assert found.facts["cap"] == pytest.approx(1e4)


def test_nothing_is_said_of_options_that_are_no_distributions():
    """A number is in the shape's own sentence; without a cap there is none to be stated."""
    for cap in (2e4, None):
        found = capped(cap).fit().describe()
        assert "90 %;" not in found.summary
        assert found.sources == ()


def test_a_cap_may_be_an_interval_in_another_unit():
    """Its truncation too is in that unit; its width is none of its values."""
    stated = {"lognormal": [2, 50], "width": 0.8, "truncate": [1, 100], "unit": "PFLOP/s", "source": "a judge"}
    found = capped(stated).fit().describe()
    said = "cap [TFLOP/s]: lognormal, p10 = 2000, p90 = 50000, truncated to 1000 to 100000 (a judge)"
    assert said in found.assumptions


def test_a_cap_that_is_set_is_the_cap_that_is_described():
    """And everything that follows from it: it is what a trend that is given the number says."""
    found, given = said(capped(), **{"machine.cap": 3000}), capped(3000.0).fit().describe()
    assert "towards a given cap of 3e+03;" in found["summary"]
    assert "1e+04" not in found["summary"]
    assert "a judge" not in str(found)
    assert "cap [TFLOP/s]: 3000 (set for this run)" in found["assumptions"]
    for name in ("cap", "share_of_cap", "growth_per_year"):
        assert found["facts"][name] == pytest.approx(given.facts[name])


def test_a_growth_of_production_that_is_set_is_the_one_that_is_described():
    assert "said to grow by 15.2 % a year; " in cell().fit().describe().summary  # the median, 0.1414 in logs
    assert "; growth from 0.05 to 0.4 1/year (90 %; a guess)" in cell().fit().describe().summary
    found = said(cell(), **{"cell.growth": 0.3})
    assert "production is said to grow by 35.0 % a year" in found["summary"]
    assert "a guess" not in str(found)


def test_an_input_of_a_scenario_s_own_series_is_described_as_set(tmp_path):
    rows = "\n".join(f"{y:.0f},{s:.6g}" for y, s in zip(YEARS, SPEED, strict=True))
    (tmp_path / "mine.csv").write_text(f"year,speed\n{rows}\n", encoding="utf-8")
    series = {"shape": "trends/logistic", "data": str(tmp_path / "mine.csv"), "x": "year", "y": "speed",
              "unit": "TFLOP/s", "options": {"cap": CAP}}  # fmt: skip
    record = {"start": 2026, "until": 2028, "quantities": {"mine": series}}
    for given, says in (({}, "from 2000 to 5e+04"), ({"mine.cap": 3000}, "given cap of 3e+03")):
        assert says in forecast.project(record, draws=2, with_=given).attributes["models"]["mine"]["summary"]


def test_estimates_and_mixtures_say_what_is_set():
    rate = Input(name="rate", unit="FLOP/s", distribution={"p05": 1.0, "p95": 9.0}, source="a book")
    made = forecast.estimate("rate", inputs=(rate,), unit="FLOP/s", name="guess").model
    assert said(made)["assumptions"][1] == "rate [FLOP/s]: lognormal, p05 = 1, p95 = 9 (a book)"
    assert said(made, **{"guess.rate": 4})["assumptions"][1] == "rate [FLOP/s]: 4 (set for this run)"
    assert said(made, **{"guess.rate": 4})["summary"] == "4 [FLOP/s]"
    pooled = forecast.project("gpu-capability", draws=2, with_={
        "precision": "fp32", "shape": "pooled", "gpu-peak-fp32@pooled.weight_logistic": 5})  # fmt: skip
    summary = pooled.attributes["models"]["hardware/gpu-peak-fp32@pooled"]["summary"]
    assert "logistic 45%" in summary  # 5 of 5 + 6
    assert "exponential 9%" in summary


def test_a_set_number_changes_no_other_model():
    one, two = (forecast.project("gpu-capability", draws=2, with_={"precision": "fp32", "shape": "logistic", **s
                }).attributes["models"] for s in ({}, {"gpu-peak-fp32@logistic.cap": 300.0}))  # fmt: skip
    assert [n for n in one if one[n] != two[n]] == ["hardware/gpu-peak-fp32@logistic"]
    assert "given cap of 300;" in two["hardware/gpu-peak-fp32@logistic"]["summary"]


def test_a_cap_of_nothing_is_refused():
    with pytest.raises(forecast.errors.ForecastError, match="cap: expected a positive number, got 0"):
        said(capped(), **{"machine.cap": 0})


def test_the_posterior_that_is_kept_is_the_one_that_was_drawn_under_the_judged_cap():
    """Its parameters and the drawn cap give every level of the projection; the cap stands there once."""
    model = capped()
    run = forecast.project({"start": 2026, "until": 2028, "quantities": {"x": {"model": model}}}, draws=1500)
    kept = {str(n): v.values for n, v in run["posterior/machine"].to_dataset().items()}
    assert set(kept) == {"cap", "offset", "rate", "scatter", "autocorrelation"}
    z = kept["offset"] + kept["rate"] * (2028.0 - model.fit().shape.origin)
    assert run["projection"]["x"].isel(time=-1).values == pytest.approx(kept["cap"] / (1 + np.exp(-z)), rel=1e-9)


def test_a_growth_that_is_stated_is_one_driver_and_not_two():
    quantities = {"x": {"model": cell()}}
    run = forecast.project({"start": 2026, "until": 2028, "quantities": quantities}, draws=20)
    assert set(run["posterior/cell"].to_dataset()) == {"growth", "w", "noise_per_year"}
