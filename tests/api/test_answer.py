"""Answers: dates with *already* and *never*, and what can be asked of them further."""

import numpy as np
import pytest

import forecast
from forecast.errors import FewWorldsWarning, FormulaError, ScenarioError, UnknownNameError, UsageError
from forecast.language import start, t
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
    assert answer.median == np.sort(dates)[499]
    assert answer.to_pandas().tolist() == dates.tolist() == answer.to_polars()["date"].to_list()
    assert answer.quantile(1 - answer.never / 2) == np.inf
    assert answer.interval(0.8) == (answer.quantile(0.1), answer.quantile(0.9))
    assert answer.quantile(0.1) < answer.median == answer.quantile(0.5)
    assert answer.date == np.datetime64(answer.run["questions"]["reached"].values[2], "s").item()


def test_it_says_so_in_a_sentence(asked):
    assert repr(asked[-1]).startswith("'fleet >= 3e8' holds by 20")
    spend = quantities()[0]
    said = (spend >= 1).when(title="money is spent", **SPAN)
    assert repr(said) == "Money is spent by January 2025 with a probability of over 99 %."


def test_given_counts_some_of_the_same_worlds(asked):
    spend, *_, answer = asked
    run, kept = answer.run, answer.run["projection"]["spend"].isel(time=0).values >= 2e8
    some = answer.given(spend >= 2e8)
    assert_bitwise(np.asarray(some), np.asarray(answer))
    assert_bitwise(some.run["projection"]["fleet"].values, run["projection"]["fleet"].values)
    assert some.median == np.sort(np.asarray(answer)[kept])[-(-kept.sum() // 2) - 1]
    assert some.never == pytest.approx(np.isposinf(np.asarray(answer))[kept].mean(), rel=1e-12)
    assert repr(some).startswith("Given spend >= 2e8: 'fleet >= 3e8' holds by ")


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
    answer = (fleet >= 3e8).when(with_={"spend": 1e9}, **SPAN)
    some = answer.given(price <= 3e4)
    assert float(some.run["projection"]["spend"].min()) == 1e9
    with pytest.raises(UsageError, match="does not depend on it"):
        answer.given(forecast.value(1, name="one") >= 0)
    assert spend.name in answer.depends_on


def test_few_worlds_are_warned_of(asked):
    spend, *_, answer = asked
    left = int((answer.run["projection"]["spend"].isel(time=0) >= 4e8).sum())
    told = f"given 'spend >= 4e8': {left} of 1,000 worlds are left, fewer than 200"
    with pytest.warns(FewWorldsWarning, match=told):
        few = answer.given(spend >= 4e8)
    assert "fewer than" in str(few.run.warnings)
    assert "spend" in few.sensitivity().index
    assert few.report().startswith("Given spend >= 4e8: ")


def test_swap_leaves_every_other_draw(asked):
    *_, answer = asked
    cheap = forecast.uncertain(p05=1e4, p95=2e4, unit="USD", name="cheap")
    swapped = answer.with_(price=cheap)
    was, now = answer.run["projection"], swapped.run["projection"]
    for name in ("spend", "peak"):
        assert_bitwise(now[name].values, was[name].values)
    assert_bitwise(now["price"].values, now["cheap"].values)
    assert swapped.median < answer.median
    assert answer.with_(spend=1e9).run["projection"]["spend"].values == pytest.approx(1e9)


def test_sweep_is_a_dimension(asked):
    answer = asked[-1]
    swept = answer.sweep(spend=[1e8, 1e9]).by_choice
    assert swept["quantiles"].dims == ("quantile", "spend")
    assert swept["never"].sel(spend=1e9) < swept["never"].sel(spend=1e8)
    alone = answer.with_(spend=1e9)
    assert_bitwise(swept["quantiles"].sel(spend=1e9).values, alone.by_choice["quantiles"].values)
    with pytest.raises(UsageError, match=r"there is no one number over spend: .*\.with_\(spend='1"):
        answer.sweep(spend=[1e8, 1e9]).median  # noqa: B018


def test_choices_stay_side_by_side():
    spend, price, *_ = quantities()
    peak = forecast.quantity("peak", model="hardware/gpu-peak-fp16", shape="trends/{trend}")
    choices = {"trend": ["exponential", "random-walk"]}
    answer = (spend / price * peak >= 3e8).when(choices=choices, **SPAN)
    assert answer.by_choice["quantiles"].dims == ("quantile", "trend")
    assert answer.by_choice["never"].dims == ("trend",)
    assert "depending on trend" in repr(answer)
    with pytest.raises(UsageError, match=r"depending on trend.*give weights in the scenario, or read \.by_choice"):
        answer.median  # noqa: B018
    assert answer.with_(trend="exponential").median == answer.by_choice["quantiles"].sel(quantile=0.5)[0]


@pytest.mark.parametrize("verb", ["given", "with_", "sweep"])
def test_what_the_answer_does_not_depend_on_is_refused(asked, verb):
    answer, other = asked[-1], forecast.uncertain(p05=1, p95=2, name="other")
    with pytest.raises(UsageError, match="does not depend on it; it depends on spend, price"):
        {
            "given": lambda: answer.given(other >= 1),
            "with_": lambda: answer.with_(other=1),
            "sweep": lambda: answer.sweep(other=[1]),
        }[verb]()


def test_an_unknown_option_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match="until"):
        (forecast.value(1, name="x") >= 1).when(untill=2030)
    with pytest.raises(UnknownNameError, match="the command's --at is 'dates' in Python"):
        forecast.ask("largest-run", at=2030)


def test_the_scenario_of_an_answer_can_be_written(asked, tmp_path):
    spend, *_, answer = asked
    some = answer.given(spend >= 2e8).with_(price=3e4)
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
    assert answer.with_(price=dear).median > answer.median
    with pytest.raises(ScenarioError, match="'price' is made of a quantity of its own name"):
        answer.with_(price=2 * price)


def test_a_model_is_swapped_for_another():
    one, other = (forecast.model(f"hardware/gpu-peak-fp16@{shape}") for shape in ("exponential", "random-walk"))
    enough = forecast.value(50_000, "TFLOP/s") <= one
    answer = enough.when(until=2035, draws=200)
    swapped = answer.with_(**{forecast.quantity(model=one).name: other})
    assert swapped.median == (forecast.value(50_000, "TFLOP/s") <= other).when(until=2035, draws=200).median
    assert (answer.dates != swapped.dates).any()


def test_the_probability_by_a_date_counts_worlds(asked):
    answer = asked[-1]
    assert answer.probability(2030) == pytest.approx((np.asarray(answer) <= 2030).mean(), rel=1e-12)
    assert answer.probability(2033) == pytest.approx(1 - answer.never, rel=1e-12)


def test_what_is_needed_makes_it_so(asked):
    spend, *_, answer = asked
    enough = answer.needed("spend", by=2030)
    assert answer.with_(spend=enough).median == pytest.approx(2030, abs=0.01)  # a frontier rises in steps
    assert answer.needed(spend, by=2030, probability=0.9) > enough
    alone = answer.with_(spend=answer.needed("spend", by=2030, probability=0.9))
    assert alone.probability(2030.001) == pytest.approx(0.9, abs=2e-3)
    with pytest.raises(UsageError, match=r"no number from 1e\+08 to 1\.1e\+08 makes it so"):
        answer.needed("spend", by=2026, within=(1e8, 1.1e8))
    with pytest.raises(UsageError, match="does not depend on it; it depends on spend"):
        answer.needed("other", by=2030)
    with pytest.raises(UsageError, match="2025 is not after the first step"):
        answer.needed("spend", by=2025)


def test_what_is_needed_is_found_in_the_same_worlds_as_run_by_run(asked, monkeypatch):
    *_, answer = asked
    found = answer.needed("spend", by=2030, probability=0.7)
    monkeypatch.setattr("forecast.projection.answers.variations.can_vary", lambda run, **_: False)
    assert answer.needed("spend", by=2030, probability=0.7) == found


def test_what_is_needed_along_choices():
    spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    peak = forecast.quantity("peak", model="hardware/gpu-peak-fp16", shape="trends/{trend}")
    choices = {"trend": ["exponential", "random-walk"]}
    answer = ((spend * peak).named("fleet") >= 3e12).when(choices=choices, **SPAN)
    with pytest.raises(UsageError, match="there is no one number over trend"):
        answer.needed("spend", by=2029)
    alone = answer.with_(trend="random-walk")
    assert alone.with_(spend=alone.needed("spend", by=2029)).median == pytest.approx(2029, abs=1e-3)


def rank_share(rho):
    """Return the share of the variance of a normal sum's rank behind a part of correlation rho with it."""
    return 6 / np.pi * np.arcsin(rho / 2)


def normals(**more):
    """Return a question for x + 2y, both standard normal."""
    x = forecast.uncertain(normal=[-1.6448536269514722, 1.6448536269514722], name="x")
    y = forecast.uncertain(normal=[-3.2897072539029444, 3.2897072539029444], name="y")
    return forecast.ask(value=x + y, dates=[2026], start=2025, until=2026, draws=10_000, **more)


def test_first_and_total_order_are_those_of_a_known_function():
    made = normals().sensitivity(total=True)
    assert list(made.index) == ["y", "x", "together"]
    for name, share in (("x", 0.2), ("y", 0.8)):
        # three standard errors of 10,000 worlds, 2*sqrt(S)*(1 - S)/100
        assert made["first"][name] == pytest.approx(rank_share(share), abs=0.025)
        assert made["total"][name] == pytest.approx(1 - rank_share(1 - share), abs=0.01)
    assert made["first"].sum() == pytest.approx(1, abs=1e-12)


def test_correlated_numbers_are_one_group():
    made = normals(correlations=[{"of": ["x", "y"], "rho": 0.5}]).sensitivity(total=True)
    assert made["kind"]["x, y"] == "group"
    assert made["first"]["x, y"] == pytest.approx(1, abs=0.02)
    # everything is drawn anew: what is left is the chance correlation of 10,000 pairs, within three standard errors
    assert made["total"]["x, y"] == pytest.approx(1, abs=0.03)


def test_a_constant_that_comes_first_is_named():
    spend, share = quantities()[0], forecast.value(0.4, name="share")
    values = forecast.ask(value=spend * share, dates=[2026], **SPAN)
    made = values.sensitivity()
    assert made.attrs["note"].startswith("a constant comes first: 'share' has no uncertainty")
    # the mean from half to double the constant: 1.5 times what it is
    assert made["moves"]["share"] == pytest.approx(1.5 * float(values.values[:500].mean()), rel=1e-9)
    tight = forecast.ask(value=forecast.uncertain(p05=1e3, p95=1e9, name="wide") * share, dates=[2026], **SPAN)
    assert "note" not in tight.sensitivity().attrs
    assert "a constant comes first" in " ".join(values.report().split())
    used = forecast.quantity("used", value=1, scale="share", unit="")  # a share is not twice 1
    assert "used" not in forecast.ask(value=spend * used, dates=[2026], **SPAN).sensitivity().index


def test_values_growth_and_order_are_answers():
    spend, _, peak, _ = quantities()
    values = forecast.ask(value=2 * spend, dates=[2026, 2030], **SPAN)
    assert values.values.dims == ("draw", "date")
    assert_bitwise(values.values[:, 0].values, 2 * values.run["projection"]["spend"].isel(time=0).values)
    assert values.by_choice["quantiles"].sizes == {"quantile": 5, "date": 2}
    assert values.median == values.by_choice["quantiles"].sel(quantile=0.5)[-1]
    assert repr(values).startswith("2*spend: ")
    grown = forecast.ask(growth=peak, dates=[2030], **SPAN)
    assert 0.1 < grown.median < 0.8
    cases = {"early": spend * (t - start) >= 2e8, "late": spend * (t - start) >= 4e8}
    order = forecast.ask(first=cases, **SPAN)
    assert order.shares.sel(event="late") == 0
    assert float(order.shares.sum()) == pytest.approx(1, rel=1e-12)
    assert order.to_pandas()["early"] == float(order.shares.sel(event="early"))
    with pytest.raises(UsageError, match="asks first: its answer has shares, and no median"):
        order.median  # noqa: B018
    with pytest.raises(UsageError, match="asks value: its answer has values"):
        values.never  # noqa: B018
    with pytest.raises(UsageError, match="expected one of when, value"):
        forecast.ask(until=2030)
    with pytest.raises(UnknownNameError, match="dates"):
        forecast.ask(value=spend, date=[2026])


def test_a_rank_is_an_answer():
    price = forecast.quantity("price", model="hardware/gpu-peak-fp16", shape="trends/{trend}")
    choices = {"trend": {"values": ["exponential", "random-walk"], "kind": "definition"}}
    answer = forecast.ask(rank=price, over="trend", choices=choices, **SPAN)
    assert float(answer.shares.sum()) == pytest.approx(1, rel=1e-12)
    assert set(answer.shares["trend"].values) == set(choices["trend"]["values"])


def test_a_dataset_has_attributes_of_python(asked):
    made = asked[-1].to_xarray()
    assert made.attrs["seed"] == 0
    assert made.attrs["questions"]["reached"]["when"] == "fleet >= 300000000"
    assert made["never"].item() == asked[-1].never
    assert np.isposinf(made["date"]).mean() == asked[-1].never


@pytest.mark.parametrize("kind", ["when", "value", "first"])
def test_each_answer_draws_itself_and_fills_a_page(kind):
    import matplotlib as mpl

    mpl.use("Agg")
    _, _, peak, fleet = quantities()
    answer = {
        "when": lambda: (fleet >= 3e8).when(**SPAN),
        "value": lambda: forecast.ask(value=fleet, dates=[2026, 2030], **SPAN),
        "first": lambda: forecast.ask(first={"one": fleet >= 3e8, "two": peak >= 4000}, **SPAN),
    }[kind]()
    ax = answer.plot()
    if kind == "when":
        line = ax.lines[0].get_ydata()
        assert line[-1] == pytest.approx(1 - answer.never, rel=1e-9)
        assert (np.diff(line) >= 0).all()
    page = answer.report()
    assert " ".join(page.split()).startswith(answer.sentence[:60])
    assert "[questions.reached]" in page
    assert "1,000 worlds, seed 0" in page
    assert answer.plot(ax) is ax


def test_swap_and_sweep_reach_formulas_and_choices(asked):
    spend, price, peak, _, _ = asked
    chips = spend / price
    answer = (chips * peak >= 3e8).when(**SPAN)
    assert "spend_over_price" not in answer.depends_on
    assert answer.with_(spend_over_price=1e4).depends_on == ("spend_over_price", "peak")
    swept = answer.sweep(spend_over_price=[1e3, 1e5]).by_choice
    assert swept["never"].sel(spend_over_price=1e3) > 0.9
    assert swept["never"].sel(spend_over_price=1e5) < 0.1


def test_both_of_two_conditions_are_one(asked):
    spend, price, _, fleet, _ = asked
    both = ((fleet >= 1e8) & (fleet >= 2e8)).when(**SPAN)
    alone = (fleet >= 2e8).when(**SPAN)
    assert both.never == alone.never
    assert abs(both.median - alone.median) <= 1
    either = ((fleet >= 1e8) | (fleet >= 2e8)).when(**SPAN)
    assert either.never == (fleet >= 1e8).when(**SPAN).never
    given = alone.given((spend >= 1e8) & (price <= 4e4))
    assert given.never == pytest.approx(alone.given(spend >= 1e8).given(price <= 4e4).never, rel=1e-12)


def test_a_condition_may_be_a_text_and_a_formula(asked):
    spend, price, *_, answer = asked
    ours = answer.given(spend / price >= 5e3)
    assert ours.never == answer.given("spend/price >= 5000").never
    level = answer.run["projection"].isel(time=0)
    kept = (level["spend"] / level["price"] >= 5e3).values
    assert ours.never == pytest.approx(np.isposinf(np.asarray(answer))[kept].mean(), rel=1e-12)
    assert answer.given("spend >= 2e8 USD").never == answer.given(spend >= 2e8).never
    with pytest.raises(FormulaError):
        answer.given("__import__('os')")


def test_what_if_changes_a_path_and_nothing_else(asked):
    _, _, peak, _, answer = asked
    slower = answer.what_if(peak, growth="0.5*", since=2027)
    was, now = answer.run["projection"], slower.run["projection"]
    assert_bitwise(now["spend"].values, was["spend"].values)
    assert (now["peak"].sel(time="2033") < was["peak"].sel(time="2033")).mean() > 0.9
    twice = slower.what_if("spend", value="1e9 USD", since=2028)
    assert [change["of"] for change in twice.scenario.stated["changes"]] == ["peak", "spend"]
    assert slower.scenario.stated["changes"] == [{"of": "peak", "growth": "0.5*", "since": 2027}]
    with pytest.raises(UsageError, match="what if 'other': the answer does not depend on it"):
        answer.what_if("other", growth="0.5*", since=2027)


def test_all_worlds_of_an_answer_are_kept():
    x = forecast.uncertain(low=0.0, high=1.0, name="x")
    answer = (x >= 0.25).when(start=2025, until=2026, draws=12_000)
    assert answer.dates.sizes["draw"] == 12_000
    assert float(answer.already) == pytest.approx(0.75, abs=1e-3)


@pytest.mark.slow
def test_a_condition_that_leaves_another_metric_alone_says_which_one_is_gone():
    mc = forecast.scenario("brain-parity")
    answer = mc.ask(draws=128)
    with pytest.warns(FewWorldsWarning):
        some = answer.given(mc.machine.at(2030) >= "1e21 FLOP/s")
    assert answer.result.default != some.result.default
    assert "(which leaves no world under HPCG): " in some.sentence
