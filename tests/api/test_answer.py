"""Answers: dates with *already* and *never*, and what can be asked of them further."""

import numpy as np
import pytest

import forecast
from forecast.errors import ScenarioError, UnknownNameError, UsageError
from toolkit import assert_bitwise

SPAN = {"start": 2025, "until": 2033, "draws": 1000, "seed": 0}


def quantities():
    spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    price = forecast.uncertain(p05=2e4, p95=5e4, unit="USD", name="price")
    peak = forecast.quantity("peak", model="hardware/gpu-peak-fp16", shape="trends/exponential")
    return spend, price, peak, (spend / price * peak).named("fleet")


@pytest.fixture(scope="module")
def asked():
    spend, price, peak, fleet = quantities()
    return spend, price, peak, fleet, (fleet >= 3e8).when(**SPAN)


def test_dates_are_years_and_never_is_infinite(asked):
    answer = asked[-1]
    dates = np.asarray(answer)
    assert dates.shape == (1000,)
    assert answer.never == np.isposinf(dates).mean() > 0
    assert answer.already == (dates == 2025).mean()
    assert answer.median() == np.sort(dates)[499]
    assert answer.to_pandas().tolist() == dates.tolist()
    assert answer.quantiles(1 - answer.never / 2).item() == np.inf
    assert (np.diff(answer.quantiles(0.1, 0.5, 0.9)) >= 0).all()


def test_it_says_so_in_a_sentence(asked):
    assert repr(asked[-1]).startswith("In the median draw 'fleet >= 300000000' holds in 20")
    spend = quantities()[0]
    said = (spend >= 1).when(title="money is spent", **SPAN)
    assert repr(said) == "It is already so at the first step (2025) in 100.0% of the draws that money is spent."


def test_given_counts_some_of_the_same_worlds(asked):
    spend, *_, answer = asked
    run, kept = answer.run, answer.run["projection"]["spend"].isel(time=0).values >= 2e8
    some = answer.given(spend >= 2e8)
    assert_bitwise(np.asarray(some), np.asarray(answer))
    assert_bitwise(some.run["projection"]["fleet"].values, run["projection"]["fleet"].values)
    assert some.median() == np.sort(np.asarray(answer)[kept])[-(-kept.sum() // 2) - 1]
    assert some.never == pytest.approx(np.isposinf(np.asarray(answer))[kept].mean(), rel=1e-12)
    assert repr(some).startswith("Given spend >= 200000000: In the median draw")


def test_given_twice_is_given_both(asked):
    spend, price, *_, answer = asked
    both = answer.given(spend >= 2e8).given(price <= 3e4)
    level = answer.run["projection"].isel(time=0)
    kept = ((level["spend"] >= 2e8) & (level["price"] <= 3e4)).values
    assert both.never == pytest.approx(np.isposinf(np.asarray(answer))[kept].mean(), rel=1e-12)


def test_given_a_path_at_a_date(asked):
    _, _, peak, fleet, answer = asked
    level = answer.run["projection"]["peak"].sel(time="2030-01-01").values.ravel()
    middle = float(np.median(level))
    some, kept = answer.given(peak.at(2030) >= middle), level >= middle
    assert kept.sum() == 500
    assert some.never == pytest.approx(np.isposinf(np.asarray(answer))[kept].mean(), rel=1e-12)
    with pytest.raises(UsageError, match=r"changes with time: name a date, such as fleet.at\(2028\)"):
        answer.given(fleet >= 1e8)


def test_what_is_set_stays_set():
    spend, price, _, fleet = quantities()
    answer = (fleet >= 3e8).when(set={"spend": 1e9}, **SPAN)
    some = answer.given(price <= 3e4)
    assert float(some.run["projection"]["spend"].min()) == 1e9
    with pytest.raises(UsageError, match="does not depend on it"):
        answer.given(forecast.value(1, name="one") >= 0)
    assert spend.name in answer.depends_on


def test_few_worlds_are_warned_of(asked):
    spend, *_, answer = asked
    assert "fewer than" in answer.given(spend >= 4e8).run.attrs["warnings"]


def test_swap_leaves_every_other_draw(asked):
    spend, _, _, _, answer = asked
    cheap = forecast.uncertain(p05=1e4, p95=2e4, unit="USD", name="cheap")
    swapped = answer.swap("price", cheap)
    was, now = answer.run["projection"], swapped.run["projection"]
    for name in ("spend", "peak"):
        assert_bitwise(now[name].values, was[name].values)
    assert_bitwise(now["price"].values, now["cheap"].values)
    assert swapped.median() < answer.median()
    assert answer.swap(spend, 1e9).run["projection"]["spend"].values == pytest.approx(1e9)


def test_sweep_is_a_dimension(asked):
    answer = asked[-1]
    swept = answer.sweep(spend=[1e8, 1e9])
    assert swept["quantiles"].dims == ("spend", "quantile")
    assert swept["never"].sel(spend=1e9) < swept["never"].sel(spend=1e8)
    alone = answer.swap("spend", 1e9)
    assert_bitwise(swept["quantiles"].sel(spend=1e9).values, alone.quantiles().values)


def test_choices_stay_side_by_side():
    spend, price, *_ = quantities()
    peak = forecast.quantity("peak", model="hardware/gpu-peak-fp16", shape="trends/{trend}")
    choices = {"trend": ["exponential", "random-walk"]}
    answer = (spend / price * peak >= 3e8).when(choices=choices, **SPAN)
    assert answer.quantiles().dims == ("quantile", "trend")
    assert answer.median().dims == answer.never.dims == ("trend",)
    assert "combinations of trend" in repr(answer)


@pytest.mark.parametrize("verb", ["given", "swap", "sweep"])
def test_what_the_answer_does_not_depend_on_is_refused(asked, verb):
    answer, other = asked[-1], forecast.uncertain(p05=1, p95=2, name="other")
    with pytest.raises(UsageError, match="does not depend on it; it depends on spend, price"):
        {
            "given": lambda: answer.given(other >= 1),
            "swap": lambda: answer.swap(other, 1),
            "sweep": lambda: answer.sweep(other=[1]),
        }[verb]()


def test_an_unknown_option_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="until"):
        (forecast.value(1, name="x") >= 1).when(untill=2030)


def test_the_scenario_of_an_answer_can_be_written(asked, tmp_path):
    spend, *_, answer = asked
    some = answer.given(spend >= 2e8).swap("price", 3e4)
    path = tmp_path / "asked.toml"
    path.write_text(some.scenario.to_toml(), encoding="utf-8")
    run = forecast.project(path, draws=1000, seed=0)
    assert_bitwise(run["questions"]["reached"].values, some.run["questions"]["reached"].values)


def test_a_mixture_starts_where_the_data_of_its_members_end():
    answer = (forecast.quantity(model="hardware/gpu-peak-fp16") >= 1e5).when(until=2035, draws=50)
    member = forecast.quantity(model="hardware/gpu-peak-fp16", shape="trends/exponential")
    alone = (member >= 1e5).when(until=2035, draws=50)
    assert answer.run["projection"]["time"].values[0] == alone.run["projection"]["time"].values[0]


def test_swap_for_another_of_the_same_name_and_for_what_is_made_of_it(asked):
    _, price, *_, answer = asked
    dear = forecast.uncertain(p05=4e4, p95=9e4, unit="USD", name="price")
    assert answer.swap(price, dear).median() > answer.median()
    with pytest.raises(ScenarioError, match="'price' is made of a quantity of its own name"):
        answer.swap(price, 2 * price)


def test_a_model_is_swapped_for_another():
    one, other = (forecast.model(f"hardware/gpu-peak-fp16@{shape}") for shape in ("exponential", "random-walk"))
    enough = forecast.value(50_000, "TFLOP/s") <= one
    answer = enough.when(until=2035, draws=200)
    swapped = answer.swap(one, other)
    assert swapped.median() == (forecast.value(50_000, "TFLOP/s") <= other).when(until=2035, draws=200).median()
    assert (answer.dates != swapped.dates).any()
