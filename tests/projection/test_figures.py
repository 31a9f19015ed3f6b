"""Values at dates, growth, and what comes first: against closed forms."""

import numpy as np
import pytest
from scipy.stats import norm

import forecast
from forecast import save
from forecast.errors import ResultError, ScenarioError
from forecast.report import result_data
from forecast.report.headline import opening_sentence

#: A growth rate whose distribution function is known.
RATE = norm(0.2, 0.1 / norm.isf(0.05))
PATH = {"expression": "exp(rate*(t - start))"}


def project(questions, *, draws=20_000, more=(), **options):
    quantities = {"rate": {"normal": [0.1, 0.3], "unit": ""}, "x": PATH, **dict(more)}
    return forecast.project(
        {"start": 2025, "until": 2050, "quantities": quantities, "questions": questions, **options}, draws=draws
    )


def test_the_quantiles_of_a_value_are_those_of_the_closed_form():
    tree = project({"v": {"value": "10*x", "dates": [2030, "2040-07-02"]}})
    (row,) = result_data.value_answers(tree)
    assert (row["value"], row["unit"], row["choices"]) == ("10*x", "", {})
    for each, years in zip(row["dates"], (5, 15.5), strict=True):
        for name, q in (("p05", 0.05), ("p50", 0.5), ("p95", 0.95)):
            error = 4 * np.sqrt(q * (1 - q) / 20_000) / RATE.pdf(RATE.ppf(q))
            # between steps the logarithm of this path is a straight line: nothing is lost
            assert np.log(each[name] / 10) == pytest.approx(RATE.ppf(q) * years, abs=error * years)


def test_growth_is_that_of_the_year_before():
    tree = project({"w": {"growth": "x", "dates": [2040]}}, draws=300)
    drawn = tree["values/w"]["value"]
    np.testing.assert_allclose(drawn.values[:, 0], tree["projection"]["rate"].values[0], rtol=1e-9)
    assert drawn.attrs["units"] == "1/year"


def test_growth_at_the_first_step_needs_what_was_before():
    asked = {"w": {"growth": "x", "dates": [2025]}}
    known = project(asked, draws=50, more={"x": {**PATH, "before": 0.5}}.items())
    np.testing.assert_allclose(known["values/w"]["value"].values, np.log(2))
    lost = project(asked, draws=50)
    assert "before = NUMBER" in lost.to_xarray().attrs["failures"]
    assert result_data.value_answers(lost)[0]["dates"][0]["p50"] is None
    with pytest.raises(ScenarioError, match=r"questions\.w\.dates: expected dates from 2025 to 2050, got 2051-01-01"):
        project({"w": {"growth": "x", "dates": [2051]}}, draws=50)


def test_what_is_not_positive_has_no_growth():
    lost = project({"w": {"growth": "x - 2", "dates": [2030]}}, draws=50)
    assert "questions.w.growth: 'x - 2' has no growth in " in lost.to_xarray().attrs["failures"]


RACE = {
    "a": {"when": "x >= 10"},
    "b": {"when": "t >= 2036"},
    "c": {"when": "x >= 1e99"},
    "race": {"first": ["a", "b", "c"]},
}


def test_what_comes_first_has_the_share_of_the_closed_form():
    (row,) = result_data.first_answers(project(RACE))
    wanted = RATE.sf(np.log(10) / 11)  # x reaches 10 within 11 years
    assert row["first"]["a"] == pytest.approx(wanted, abs=4 * np.sqrt(wanted * (1 - wanted) / 20_000))
    assert row["first"]["c"] == 0
    assert sum(row["first"].values()) + row["together"] + row["none"] == pytest.approx(1, abs=1e-12)
    assert row["none"] == 0


def test_what_is_so_already_comes_together_and_nothing_is_none():
    questions = {"a": {"when": "x >= 0.5"}, "b": {"when": "x >= 0.25"}, "c": {"when": "x >= 1e99"}}
    questions |= {"d": {"when": "x >= 1e98"}, "e": {"first": ["a", "b"]}, "f": {"first": ["c", "d"]}}
    already, never = result_data.first_answers(project(questions, draws=100))
    assert (already["together"], already["none"], already["first"]) == (1, 0, {"a": 0, "b": 0})
    assert (never["together"], never["none"], never["first"]) == (0, 1, {"c": 0, "d": 0})


def test_worlds_are_weighed():
    update = {"rate": {"log_likelihood": "where(rate > 0.2, log(3), 0)"}}
    tree = project({**RACE, "v": {"value": "rate", "dates": [2030]}}, draws=4000, update=update)
    (row,), (figure,) = result_data.first_answers(tree), result_data.value_answers(tree)
    rate = tree["projection"]["rate"].values[0]
    weight = np.where(rate > 0.2, 3.0, 1.0)
    reached = rate > np.log(10) / 11
    assert row["first"]["a"] == pytest.approx((weight * reached).sum() / weight.sum(), rel=1e-9)
    # three quarters of the weight lie above the median
    assert figure["dates"][0]["p50"] == pytest.approx(RATE.ppf(2 / 3), abs=0.006)


def test_choices_stay_side_by_side():
    tree = forecast.project(
        "brain-parity", draws=50, until=2060, with_={"trend": "exponential", "metric": "hpcg,linpack"}
    )
    assert result_data.value_answers(tree) == result_data.first_answers(tree) == []
    record = {
        "start": 2025,
        "until": 2030,
        "choices": {"case": ["dettmers-2015", "sandberg-bostrom-2008-l4-spiking"]},
        "quantities": {"cap": {"model": "brain/{case}"}, "x": {"expression": "cap*exp(t - start)"}},
        "questions": {
            "v": {"value": "x/cap", "dates": [2026]},
            "a": {"when": "x >= 1e20"},
            "b": {"when": "t >= 2027"},
            "race": {"first": ["a", "b"]},
        },
    }
    tree = forecast.project(record, draws=50)
    assert [row["choices"]["case"] for row in result_data.value_answers(tree)] == record["choices"]["case"]
    assert [row["dates"][0]["p50"] for row in result_data.value_answers(tree)] == pytest.approx([np.e, np.e])
    assert [row["choices"]["case"] for row in result_data.first_answers(tree)] == record["choices"]["case"]


def test_the_answer_opens_with_the_first_question_whatever_it_asks():
    asked = {"v": {"value": "x", "dates": [2030], "title": "Compute"}, **RACE}
    assert opening_sentence(project(asked, draws=200)).startswith("Compute: 2.")
    race = {"race": {**RACE["race"], "title": "Who wins"}, **{k: v for k, v in RACE.items() if k != "race"}}
    assert opening_sentence(project(race, draws=200)).startswith("Who wins, by January 2050: b 55 %, a 45 %, c under ")
    assert opening_sentence(project(RACE, draws=200)).startswith("'x >= 10' holds by ")


def test_it_is_kept_in_files_and_a_changed_one_is_refused(tmp_path):
    tree = project({"v": {"value": "x", "dates": [2030]}, **RACE}, draws=30)
    assert forecast.load(save(tree, tmp_path / "p.nc")).run.identical(tree)
    for at, (key, text) in enumerate(
        [
            ("values", '{"u": {"value": "x", "dates": ["2030-01-01"], "title": ""}}'),
            ("first", '{"race": {"first": ["a", "z"], "title": ""}}'),
        ]
    ):
        changed = tree.to_xarray().copy()
        changed.attrs[key] = text
        with pytest.raises(ResultError):
            forecast.load(save(changed, tmp_path / f"{at}.nc"))
