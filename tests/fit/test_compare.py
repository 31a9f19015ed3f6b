"""Rival laws: criteria that agree with their definitions, and forecasts from the smaller points."""

import math

import numpy as np
import pytest

import forecast
from forecast.errors import DataError, UnknownNameError
from forecast.fit.compare import best_laws, compare, criteria
from toolkit import saturating

X = np.geomspace(10, 1e4, 40)
CURVE = saturating(40, 0.01, seed=1)


def laws():
    return [forecast.law("scaling/power"), forecast.law("scaling/saturating-power")]


def test_the_law_behind_the_data_wins_by_every_measure():
    rows = compare(laws(), CURVE)
    assert set(best_laws(rows).values()) == {("scaling/saturating-power",)}
    assert rows.about["objective"] == "least_squares_log"
    assert rows.about["by"] == "x"
    assert [row["origins"] for row in rows] == [5, 5]


def test_criteria_follow_their_definitions():
    fit = laws()[1].fit(CURVE, objective="least_squares_log")
    residual = np.log(CURVE["y"]) - np.log(fit.law.value(fit.values, x=X))
    scale = np.mean(residual**2)
    loss = -np.sum(-0.5 * np.log(2 * math.pi * scale) - residual**2 / (2 * scale))
    found = criteria(fit)
    assert found["aic"] == pytest.approx(2 * loss + 2 * 4, rel=1e-9)
    assert found["aicc"] == pytest.approx(2 * loss + 8 + 2 * 4 * 5 / (40 - 5), rel=1e-9)
    assert found["bic"] == pytest.approx(2 * loss + 4 * math.log(40), rel=1e-9)


def test_no_criteria_where_the_objective_is_no_likelihood():
    rows = compare(laws(), CURVE, objective="huber_log")
    assert all(row["aic"] is None and row["rollout"] is not None for row in rows)
    assert best_laws(rows)["aic"] == ()


def test_the_rollout_forecasts_what_lies_beyond_each_origin():
    rows = compare(laws()[:1], CURVE)
    errors = []
    for share in (0.5, 0.6, 0.7, 0.8, 0.9):
        m = math.ceil(share * 40)
        fit = laws()[0].fit({k: v[:m] for k, v in CURVE.items()}, objective="least_squares_log")
        late = np.log(fit.law.value(fit.values, x=X[m:])) - np.log(CURVE["y"][m:])
        errors.append(np.mean(late**2))
    assert rows[0]["rollout"] == pytest.approx(math.sqrt(np.mean(errors)), rel=1e-6)


def test_bad_input_033_the_order_of_rows_is_irrelevant():
    order = np.random.default_rng(0).permutation(40)
    one = compare(laws(), CURVE)
    two = compare(laws(), {k: v[order] for k, v in CURVE.items()})
    for a, b in zip(one, two, strict=True):
        assert a["rollout"] == pytest.approx(b["rollout"], rel=1e-6)
        assert a["aic"] == pytest.approx(b["aic"], rel=1e-9)


def test_a_law_that_fails_is_listed_with_its_reason():
    many = forecast.Law(" + ".join(f"a{i}*x**{i}" for i in range(8)), variables=["x"])
    few = {k: v[:6] for k, v in CURVE.items()}
    rows = compare([*laws(), many], few, objective="least_squares")
    assert "6 points cannot determine 8 parameters" in rows[2]["failed"]
    assert "failed" not in rows[0]
    assert set(best_laws(rows)["aic"]) < {row["law"] for row in rows[:2]}


def test_a_law_written_twice_shares_first_place():
    twice = [forecast.Law(text, variables=["x"]) for text in ("a*x**b", "exp(c)*(x/1000)**-d", "a*x")]
    rows = compare(twice, {**CURVE, "y": CURVE["y"] - 1.7})
    assert {tuple(laws) for laws in best_laws(rows).values()} == {("a*x**b", "exp(c)*(x/1000)**-d")}
    assert best_laws(rows[1:])["aicc"] == ("exp(c)*(x/1000)**-d",)


def test_the_warnings_of_a_fit_stay_in_its_row():
    rows = compare([forecast.Law("a*x**b", variables=["x"])], CURVE, objective="poisson")
    assert "40 of 40 values of y are no whole numbers" in rows[0]["warnings"][0]


def test_a_mistake_that_fails_every_law_is_raised():
    with pytest.raises(UnknownNameError, match="'xx'"):
        compare(laws(), CURVE, let={"x": "xx*2"})
    with pytest.raises(UnknownNameError, match="unknown variable 'N'"):
        compare(laws(), CURVE, let={"N": "x"})
    holes = {**CURVE, "y": np.where(X > 5000, np.nan, CURVE["y"])}
    rows = compare(laws(), holes)
    assert rows.about["points"] == rows[0]["points"] == int((X <= 5000).sum())
    with pytest.raises(DataError, match="has no 'y'"):
        compare(laws(), forecast.read(holes, missing="error"))


def test_a_law_without_an_end_is_not_judged():
    """The verdict on a fit that did not converge would take longer than all fits together, and say nothing."""
    x = np.geomspace(10, 1e5, 20)
    y = (0.3 + 6 * x**-0.35) * np.exp(0.01 * np.random.default_rng(4).standard_normal(20))
    rows = compare([forecast.law("scaling/broken-power"), forecast.law("scaling/power")], {"x": x, "y": y})
    assert rows[0]["converged"] is False
    assert rows[0]["verdict"].startswith("not converged")
    assert "identified" not in rows[0]["verdict"]
    assert "identified" in rows[1]["verdict"]
