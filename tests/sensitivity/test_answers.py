"""What moves an answer: shares known in closed form, choices and numbers told apart, never included."""

import numpy as np
import pytest

import forecast
from forecast.errors import UnknownNameError
from forecast.sensitivity.first_order import first_order


def scenario(**quantities):
    years = {"year": list(range(1990, 2000)), "v": [float(np.exp(t)) for t in range(10)]}
    trend = forecast.trend(years, shape="trends/exponential", x="year", y="v", unit="FLOP", name="trend").model
    return {"start": 2000, "until": 2100, "quantities": {"x": {"model": trend}, **quantities}}


def shares(found):
    return {row["name"]: row["share"] for row in found}


def test_a_lone_number_explains_everything():
    level = {"p05": 1e6, "p95": 1e30, "unit": "FLOP"}
    run = forecast.project(scenario(level_asked=level) | {"questions": {"q": {"when": "x >= level_asked"}}}, draws=2000)
    found = first_order(run, "q")
    assert found[0]["name"] == "level_asked"
    assert found[0]["share"] > 0.9
    assert found[0]["kind"] == "number"


def test_two_numbers_share_by_their_variances():
    # log level = a + b, normal with standard deviations 3 and 1: shares 0.9 and 0.1 of what ranks can show
    a, b = ({"p05": np.exp(-s * 1.6448536), "p95": np.exp(s * 1.6448536), "unit": ""} for s in (6.0, 2.0))
    base = {"value": 1e20, "unit": "FLOP"}
    more = {"a": a, "b": b, "base": base, "level_asked": {"expression": "base*a*b"}}
    run = forecast.project(scenario(**more) | {"questions": {"q": {"when": "x >= level_asked"}}}, draws=8000)
    found = shares(first_order(run, "q"))
    assert found["a"] == pytest.approx(0.9, abs=0.06)
    assert found["b"] == pytest.approx(0.1, abs=0.05)
    assert "level_asked" not in found  # an expression is no cause of its own
    assert sum(found.values()) == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
def test_a_choice_is_told_from_a_number(tmp_path):
    run = forecast.project("brain-parity", until=2100, draws=500)
    found = {row["name"]: row for row in first_order(run, "parity")}
    assert found["estimate"]["kind"] == "choice"
    assert found["estimate"]["share"] > 0.3
    assert max(found, key=lambda name: found[name]["share"]) == "estimate"
    # a saved projection says the same
    forecast.save(run, tmp_path / "run.nc")
    assert first_order(forecast.load(tmp_path / "run.nc").run, "parity") == first_order(run, "parity")


def test_noise_explains_nothing():
    none = {"p05": 0.5, "p95": 2.0, "unit": "FLOP"}
    level = {"p05": 1e10, "p95": 1e30, "unit": "FLOP"}
    run = forecast.project(
        scenario(noise=none, level_asked=level) | {"questions": {"q": {"when": "x >= level_asked"}}}, draws=4000
    )
    assert shares(first_order(run, "q")).get("noise", 0.0) < 0.01


def test_one_answer_in_every_draw_has_no_driver():
    level = {"value": 1e10, "unit": "FLOP"}
    run = forecast.project(scenario(level_asked=level) | {"questions": {"q": {"when": "x >= level_asked"}}}, draws=100)
    assert shares(first_order(run, "q")).get("level_asked", 0.0) == 0.0
    with pytest.raises(UnknownNameError, match="'p'"):
        first_order(run, "p")


@pytest.mark.filterwarnings("error")
def test_a_value_of_a_choice_that_failed_throughout_is_left_out_without_a_warning():
    settings = {"estimate": "pooled,kurzweil-2005,dettmers-2015", "metric": "linpack", "trend": "exponential"}
    failing = {**settings, "brain/pooled.weight_kurzweil_2005": -1.0}
    without = {**settings, "estimate": "kurzweil-2005,dettmers-2015"}
    found, expected = (
        shares(first_order(forecast.project("brain-parity", draws=500, with_=given), "parity"))
        for given in (failing, without)
    )
    assert found["estimate"] == pytest.approx(expected["estimate"])


def test_shapes_that_failed_hide_no_driver_of_the_others(tmp_path):
    (tmp_path / "four.csv").write_text("date,n\n2020,1\n2021,1.6\n2022,2.25\n2023,3.5\n")
    answer = forecast.ask(f"{tmp_path / 'four.csv'}:n", dates=["2030"], draws=256)
    assert shares(first_order(answer.run, answer.name))["n@pool.log_level"] > 0.02


@pytest.mark.parametrize("least", [1e-9, 1e99])
def test_where_every_draw_answers_alike_nothing_moves_the_answer(least):
    # ranks that are all one number have a variance of a rounding error, and shares of it were many hundred per cent
    asked = {"value": least, "unit": "FLOP"}
    run = forecast.project(
        scenario(asked=asked, other={"p05": 1, "p95": 9, "unit": ""}) | {"questions": {"q": {"when": "x >= asked"}}},
        draws=2048,
    )
    assert first_order(run, "q") == []


def test_a_value_and_a_ranking_have_drivers_too():
    wide, narrow = ({"p05": np.exp(-s * 1.6448536), "p95": np.exp(s * 1.6448536), "unit": ""} for s in (0.9, 0.3))
    quantities = {"wide": wide, "narrow": narrow, "idle": wide, "product": {"expression": "wide*narrow"}}
    quantities["cost"] = {"expression": "1 + {card}*(product - 1)"}
    scenario = {
        "start": 2025, "until": 2030, "quantities": quantities, "choices": {"card": {"values": ["0", "1"]}},
        "questions": {
            "size": {"value": "product", "dates": ["2030"]},
            "which": {"rank": "cost", "over": "card", "best": "lowest"},
        },
    }  # fmt: skip
    run = forecast.project(scenario, draws=8000)
    for question in ("size", "which"):  # shares of a sum of normal logarithms; by rank for both
        found = shares(first_order(run, question))
        assert found["wide"] == pytest.approx(0.9, abs=0.06), question
        assert found["narrow"] == pytest.approx(0.1, abs=0.05), question
        assert "idle" not in found or found["idle"] < 0.01
        assert "card" not in found
    alone = shares(first_order(forecast.project(scenario, draws=4000, with_={"card": "1"}), "which"))
    assert alone["wide"] == pytest.approx(0.9, abs=0.06)  # nothing to be ahead of
    with pytest.raises(UnknownNameError, match="did you mean 'which'"):
        first_order(run, "wich")
