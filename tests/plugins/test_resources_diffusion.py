"""`ai-diffusion`: open models, users, robots and research itself, each with today's value and a date that decides."""

import datetime

import numpy as np
import pytest

import forecast

DATED = ("open_models", "widely_used", "robots", "faster")


@pytest.fixture(scope="module")
def run():
    return forecast.project("ai-diffusion", draws=2048)


def test_every_question_has_a_source_that_decides_it_and_dates_ahead(run):
    for name in DATED:
        answer = run.answers[name]
        assert len(answer.resolves) > 40, name
        assert answer.dates, name
        assert all(datetime.date.fromisoformat(date) > datetime.date(2026, 11, 1) for date in answer.dates), name
    assert set(run.answers) == {*DATED, "robots_cost", "speed_2030"}


def test_an_open_model_comes_by_as_much_later_as_the_lag_says(run):
    lag = forecast.model("resources/open-lag").fit().describe().facts["value"]
    assert run.answers["open_models"].quantile(0.5) == pytest.approx(2026.52 + lag, abs=0.08)
    halved = forecast.project("ai-diffusion", draws=512, with_={"lag_change": -0.5})
    assert halved.answers["open_models"].quantile(0.5) < run.answers["open_models"].quantile(0.5)
    today = run["projection"]["open_index"].isel(time=0)
    assert float(today.min()) >= 157  # the best open model of the edition: no world forgets it


def test_users_follow_a_logistic_through_what_was_counted(run):
    share, time = run["projection"]["users"], run["projection"]["time"]
    odds = np.log(share / (1 - share)).values
    steps = np.diff(odds, axis=0)
    assert np.allclose(steps[0], steps[5], rtol=0.05)  # odds grow by one factor a quarter; quarters differ by days
    middle = np.log(81) / np.log((1 / 0.446 - 1) / (1 / 0.546 - 1))  # through 44.6 % and, a year later, 54.6 %
    assert middle == pytest.approx(10.9, abs=0.1)
    wanted = 2025.62 + np.log(3 * (1 / 0.546 - 1)) / np.log(81) * np.sqrt(8 * 18)
    assert run.answers["widely_used"].quantile(0.5) == pytest.approx(wanted, abs=0.1)
    assert time.size > 50


def test_demonstrations_cost_as_much_as_the_last_hour_did(run):
    ten = forecast.project("ai-diffusion", draws=2048, with_={"goal_hours": 1e8})
    once, tenfold = (each["projection"]["demonstrations_cost"].isel(time=-1).values for each in (run, ten))
    assert tenfold == pytest.approx(10 * once)
    assert ten.answers["robots"].quantile(0.5) > run.answers["robots"].quantile(0.5) + 1


def test_research_that_improves_itself_fades_below_returns_of_one_and_without_machines():
    """Bounded: with few returns each step brings less than the last; with many it runs into its limit."""
    speeds = {}
    for returns in (0.4, 1.2, 3.6):
        run = forecast.project("ai-diffusion", draws=512, with_={"returns": returns})
        speeds[returns] = float(run["projection"]["speed_up"].max("time").median())
        assert float(run["projection"]["software"].max()) <= 1e17  # and nothing runs away
        if returns == 0.4:
            assert run.answers["faster"].probability(2031.0) < 0.2
    assert speeds[0.4] < speeds[1.2] < speeds[3.6]
    alone = forecast.project("ai-diffusion", draws=512, with_={"machines": 1e-30})
    assert float(alone["projection"]["speed_up"].max()) <= 1 + 1e-6
    assert alone.answers["faster"].headline.never > 0.99
