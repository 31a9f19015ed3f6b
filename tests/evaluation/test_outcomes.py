"""Forecasts of others: what each verdict means, how they add up, and which are refused."""

import pytest

from forecast import ClaimSpec, DatedForecast, claim_verdicts as claims
from forecast.errors import PluginContractError
from forecast.evaluation import outcomes

DATE = {"who": "demo", "kind": "date", "published": "2010-01-01", "observed_on": "2021-01-01"}
VALUE = {"who": "demo", "kind": "value", "published": "2010-01-01", "target": "2020-01-01", "observed_on": "2020-02-01"}
CHANCE = {**VALUE, "kind": "probability"}


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        # a single date: a tenth of ten years ahead is one year
        ({**DATE, "median": 2020.0, "outcome": 2021.0}, "hit"),
        ({**DATE, "median": 2020.0, "outcome": 2019.0}, "hit"),
        ({**DATE, "median": 2020.0, "outcome": 2021.01}, "late"),
        ({**DATE, "median": 2020.0, "outcome": 2018.99}, "early"),
        # and at least a tenth of a year
        ({**DATE, "median": 2010.2, "outcome": 2010.3}, "hit"),
        ({**DATE, "median": 2010.2, "outcome": 2010.31}, "late"),
        # a stated interval or range alone counts, ends included; an open end holds everything
        ({**DATE, "median": 2020.0, "low": 2019.0, "high": 2020.5, "outcome": 2020.5}, "hit"),
        ({**DATE, "median": 2020.0, "low": 2019.0, "high": 2020.5, "outcome": 2020.6}, "late"),
        ({**DATE, "low": 2019.0, "outcome": 2900.0}, "hit"),
        ({**DATE, "high": 2019.0, "outcome": 1900.0}, "hit"),
        # what has not come
        ({**DATE, "median": 2020.0, "observed_on": "2021-06-01"}, "missed"),
        ({**DATE, "median": 2020.0, "observed_on": "2020-12-01"}, "pending"),
        ({**DATE, "median": 2020.0, "observed_on": ""}, "pending"),
        ({**DATE, "low": 2015.0, "observed_on": "2099-01-01"}, "pending"),
        # a value: 6 %, or its interval
        ({**VALUE, "median": 100.0, "outcome": 106.0}, "hit"),
        ({**VALUE, "median": 100.0, "outcome": 94.0}, "hit"),
        ({**VALUE, "median": 100.0, "outcome": 106.1}, "underestimated"),
        ({**VALUE, "median": 100.0, "outcome": 93.9}, "overestimated"),
        ({**VALUE, "median": -100.0, "outcome": -93.9}, "underestimated"),
        ({**VALUE, "low": 1.0, "high": 2.0, "level": 0.9, "outcome": 3.0}, "underestimated"),
        ({**VALUE, "median": 100.0}, "pending"),
        # a probability: the right side of one half
        ({**CHANCE, "median": 0.5, "outcome": 1}, "hit"),
        ({**CHANCE, "median": 0.5, "outcome": 0}, "hit"),
        ({**CHANCE, "median": 0.4, "outcome": 1}, "underestimated"),
        ({**CHANCE, "median": 0.6, "outcome": 0}, "overestimated"),
        # what does not count
        ({**VALUE, "median": 100.0, "outcome": 100.0, "provisional": True}, "provisional"),
        ({**VALUE, "median": 100.0, "outcome": 100.0, "verified": False}, "unverified"),
    ],
)
def test_verdicts_follow_from_the_numbers(fields, verdict):
    assert outcomes.judge(DatedForecast(**fields)) == verdict


def test_forecasts_add_up_by_kind():
    made = [
        DatedForecast(**DATE, median=2020.0, outcome=2020.5),
        DatedForecast(**DATE, median=2020.0, outcome=2023.0),
        DatedForecast(**DATE, median=2020.0, low=2019.0, high=2021.0, level=0.8, outcome=2024.0),
        DatedForecast(**{**DATE, "observed_on": "2030-01-01"}, median=2020.0),
        DatedForecast(**VALUE, median=10.0, low=5.0, high=30.0, level=0.9, outcome=20.0),
        DatedForecast(**VALUE, median=10.0, low=5.0, high=30.0, outcome=30.0),
        DatedForecast(**VALUE, median=10.0, outcome=1000.0, verified=False),
        DatedForecast(**CHANCE, median=0.2, outcome=1),
        DatedForecast(**CHANCE, median=0.1, outcome=0),
    ]
    dates, values, chances = outcomes.summary_by_kind(made)
    assert (dates["kind"], dates["n"], dates["decided"], dates["hits"]) == ("date", 4, 4, 1)
    assert dates["verdicts"] == {"hit": 1, "late": 2, "missed": 1}
    assert (dates["intervals"], dates["held"]) == (1, 0)
    assert dates["years"] == pytest.approx(3.0, abs=1e-12)
    assert (values["decided"], values["hits"], values["intervals"], values["held"]) == (2, 2, 1, 1)
    assert values["ratio"] == pytest.approx(2.5, abs=1e-12)
    assert chances["brier"] == pytest.approx((0.64 + 0.01) / 2, abs=1e-12)
    assert outcomes.hit_rate_sentence([dates, values, chances]) == (
        "4 of 8 dated forecasts whose outcome is known came true (19% to 81% by so few); 1 of 2 stated intervals held."
    )
    assert (
        outcomes.hit_rate_sentence(outcomes.summary_by_kind(made[6:7]))
        == "No dated forecast has an outcome that counts."
    )
    assert outcomes.summary_by_kind([]) == []


def test_a_claim_is_judged_by_its_outcome():
    made = DatedForecast(**VALUE, median=100.0, low=50.0, level=0.9, outcome=40.0)
    claim = claims.evaluate(ClaimSpec(name="c", group="g", statement="s", reference="r", unit="USD", forecast=made))
    assert (claim["stated"], claim["computed"], claim["verdict"]) == ("100 (90 %: 50 to open)", 40.0, "overestimated")
    assert (
        claims.verdict_counts_sentence([claim, {"verdict": "hit"}, {"verdict": "hit"}])
        == "3 claims: 2 hits, 1 overestimated"
    )


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        (DATE, "median: expected a forecast"),
        ({**DATE, "median": 2020.0, "target": "2020-01-01"}, "target: a value and a probability are about a date"),
        ({**VALUE, "median": 1.0, "target": ""}, "target: a value and a probability are about a date"),
        ({**VALUE, "median": 1.0, "target": "2020"}, "target: expected a date YYYY-MM-DD"),
        ({**VALUE, "median": 1.0, "published": "2020-02-30"}, "published: expected a date YYYY-MM-DD"),
        ({**VALUE, "median": 1.0, "outcome": 1.0, "observed_on": ""}, "observed_on: expected the date"),
        ({**VALUE, "low": 2.0, "high": 1.0}, "low: expected less than high, 1, got 2"),
        ({**VALUE, "median": 1.0, "level": 0.9}, "level: of which interval"),
        ({**VALUE, "median": 1.0, "low": 0.5, "level": 90}, "level: expected a share"),
        ({**VALUE, "median": float("inf")}, "median: expected a finite number"),
        ({**CHANCE, "median": 1.5}, "expected a probability from 0 to 1"),
        ({**CHANCE, "median": 0.5, "outcome": 0.5}, "an outcome of 1 or 0"),
        ({**DATE, "median": 2020.0, "kind": "when"}, "kind: expected date, value or probability"),
    ],
)
def test_forecasts_that_cannot_be(fields, says):
    with pytest.raises(PluginContractError, match=says):
        DatedForecast(**fields)


def test_a_forecast_has_no_formula_beside():
    made = DatedForecast(**VALUE, median=1.0)
    with pytest.raises(PluginContractError, match="forecast: is judged by its outcome"):
        ClaimSpec(name="c", group="g", statement="s", reference="r", stated="3", forecast=made)
    with pytest.raises(PluginContractError, match="forecast: expected a DatedForecast"):
        ClaimSpec(name="c", group="g", statement="s", reference="r", forecast={"median": 1.0})
