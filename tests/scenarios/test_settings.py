"""What a user sets is refused where it cannot be, with the name and the limit."""

import numpy as np
import pytest

import forecast
from forecast import save
from forecast.contract.specs import Input
from forecast.errors import EmptyDataError, ForecastError, PluginContractError, ScenarioError, UnitError, UsageError
from forecast.report.headline import opening_sentence
from forecast.sensitivity.first_and_total import sobol_indices
from tests.toolkit import assert_bitwise

SPAN = {"start": 2025, "until": 2027}


def run(quantities, **given):
    return forecast.project({**SPAN, "quantities": quantities}, draws=2, with_=given)


def test_a_quantity_that_is_stated_as_positive_cannot_be_set_below_0():
    for stated in ({"p05": 0.4, "p95": 1.4}, {"low": 1, "high": 4, "family": "loguniform"}):
        size = {**stated, "unit": "nm"}
        with pytest.raises(UsageError, match=r"^set size: expected at least 0 nm, got -1$"):
            run({"size": size}, size=-1)
        assert float(run({"size": size}, size=0)["projection"]["size"].max()) == 0.0


@pytest.mark.parametrize("stated", [{"value": 0.05}, {"p05": -1, "p95": 2}, {"low": 0, "high": 4}])
def test_a_growth_may_be_set_negative(stated):
    assert float(run({"growth": {**stated, "unit": "1/year"}}, growth="-0.02")["projection"]["growth"].max()) == -0.02


@pytest.mark.parametrize(
    "quantity",
    [
        {"value": 3000, "unit": "USD"},
        {"model": forecast.estimate("a", inputs={"a": {"value": 1.0, "unit": "USD"}}, unit="USD", name="money")},
        {"expression": "other*2"},
    ],
    ids=["number", "model", "expression"],
)
def test_a_scenario_states_the_least_that_a_quantity_may_be_set_to(quantity):
    quantities = {"other": {"value": 1, "unit": "USD"}, "budget": {**quantity, "lower": 10}}
    with pytest.raises(UsageError, match=r"^set budget: expected at least 10.*, got 9$"):
        run(quantities, budget=9)
    assert float(run(quantities, budget=10)["projection"]["budget"].max()) == 10
    run(quantities)


def test_a_bound_that_is_none_is_refused():
    with pytest.raises(ScenarioError, match=r"quantities\.x\.lower: expected a number, got zero"):
        run({"x": {"value": 1, "unit": "", "lower": "zero"}})
    with pytest.raises(ScenarioError, match=r"quantities\.x\.lower: the quantity itself holds 1, below 2"):
        run({"x": {"value": 1, "unit": "", "lower": 2}})
    with pytest.raises(PluginContractError, match="Input 'a': lower: its distribution holds 1, below 2"):
        Input(name="a", unit="", distribution={"value": 1.0}, source="s", lower=2.0)
    with pytest.raises(PluginContractError, match="lower: expected a number or None"):
        Input(name="a", unit="", distribution={"value": 1.0}, source="s", lower="0")  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["stages", "hardware/pipeline-bubble.stages", "pipeline-bubble.stages", "x.stages"])
def test_an_input_states_its_own_under_every_name_it_has(key):
    model = {"model": "hardware/pipeline-bubble"}
    if key != "stages":
        with pytest.raises(UsageError, match=rf"^set {key}: expected at least 1, got 0$"):
            run({"x": model}, **{key: 0})
        assert float(run({"x": model}, **{key: 1})["projection"]["x"].max()) == 0.0
    else:
        with pytest.raises(UsageError, match=r"^set stages: expected at least 1, got 0$"):
            sobol_indices("hardware/pipeline-bubble", draws=1000, with_={"stages": 0})


@pytest.mark.parametrize(
    ("scenario", "key", "unit"),
    [
        ("gpu-limit", "smallest", " nm"),
        ("gpu-limit", "area", " mm**2"),
        ("scaling-ends", "power_far", " GW"),
        ("scaling-ends", "power_limit", " GW"),
        ("gpu-choice", "memory", " GiB"),
        ("gpu-choice", "budget", " USD"),
        ("gpu-choice", "training-16bit-memory.layers", ""),
        ("gpu-capability", "gpu-peak-fp32@logistic.cap", " TFLOP/s"),
        ("brain-parity", "dettmers-2015.firing_rate", " 1/s"),
    ],
)
def test_what_is_never_negative_is_not_answered_as_if_it_could_be(scenario, key, unit):
    with pytest.raises(UsageError, match=rf"^set {key}: expected at least 0{unit.replace('*', '.')}, got -5$"):
        forecast.project(scenario, draws=2, with_={key: -5})


# --- units, ranges, distributions -------------------------------------------------------------------------------------

SET = {
    "machine": {"expression": "brain*exp(rate*(t - start))"},
    "brain": {"lognormal": [1, 100], "unit": "PFLOP/s"},
    "rate": {"normal": [0.2, 0.6], "unit": "1/year"},
    "made": {"model": forecast.estimate("a*b", inputs={"a": {"value": 2.0, "unit": "TFLOP/s"},
                                                       "b": {"p05": 1, "p95": 2, "unit": ""}},
                                        unit="TFLOP/s", name="made-of-two")},
    "twice": {"expression": "2*made"},
}  # fmt: skip


def projected(draws=500, **given):
    record = {**SPAN, "quantities": SET, "questions": {"q": {"when": "machine >= 90 PFLOP/s"}}, "show": ["twice"]}
    return forecast.project(record, draws=draws, with_=given)


def ends(tree, name):
    values = tree["projection"][name].values[0]
    return float(values.min()), float(values.max())


@pytest.mark.parametrize(
    ("key", "value", "low", "high"),
    [
        ("brain", "1 EFLOP/s", 1000, 1000), ("brain", "2..8", 2, 8), ("brain", "1e15 .. 2e15 FLOP/s", 1, 2),
        ("brain", "1..3.5", 1, 3.5), ("brain", "{uniform = [3, 4]}", 3, 4), ("brain", {"uniform": [3, 4]}, 3, 4),
        ("machine", "1 EFLOP/s", 1000, 1000), ("machine", "1..2 EFLOP/s", 1000, 2000), ("rate", "-0.5..0", -0.5, 0),
        ("rate", "0.1 1/year", 0.1, 0.1), ("made", "3 GFLOP/s", 0.003, 0.003),
    ],
)  # fmt: skip
def test_a_quantity_is_set_with_a_unit_a_range_or_a_distribution(key, value, low, high):
    least, most = ends(projected(**{key: value}), key)
    assert low <= least <= low + 0.02 * (high - low)
    assert high - 0.02 * (high - low) <= most <= high
    assert (low == high) == (least == most)


def test_a_range_is_even_in_the_logarithm_where_both_ends_are_positive():
    logs = np.log10(projected(draws=4000, brain="1e-3..1e3")["projection"]["brain"].values[0])
    assert np.quantile(logs, [0.25, 0.5, 0.75]) == pytest.approx([-1.5, 0, 1.5], abs=0.15)
    plain = projected(draws=4000, rate="-1..1")["projection"]["rate"].values[0]
    assert np.quantile(plain, [0.25, 0.5, 0.75]) == pytest.approx([-0.5, 0, 0.5], abs=0.05)


def test_an_input_is_set_alike_and_nothing_else_is_drawn_anew():
    before, after = projected(), projected(**{"made.b": "5..6", "made-of-two.a": "1 PFLOP/s"})
    least, most = ends(after, "made")
    assert 5000 <= least < 5050 < 5950 < most <= 6000
    for name in ("brain", "rate", "machine"):
        assert_bitwise(after["projection"][name].values, before["projection"][name].values)
    ranged = projected(brain="1..2")
    for name in ("rate", "made"):
        assert_bitwise(ranged["projection"][name].values, before["projection"][name].values)
    assert ranged.attributes["scenario_hash"] == before.attributes["scenario_hash"]


def test_what_is_set_is_said_recorded_and_kept(tmp_path):
    tree = projected(brain="1..2 EFLOP/s", rate={"normal": [0, 1], "truncate": [0, float("inf")]})
    assert opening_sentence(tree).endswith(
        "; with brain = 1..2 EFLOP/s (loguniform) instead of 1 to 100 PFLOP/s, "
        "rate = {normal = [0, 1], truncate = [0, inf]} instead of 0.2 to 0.6 a year."
    )
    assert forecast.load(save(tree, tmp_path / "p.nc")).run.identical(tree)


@pytest.mark.parametrize(
    ("key", "value", "error", "says"),
    [
        ("brain", "1 EFLOPS", UnitError, "EFLOPS"),
        ("brain", "1 USD", UnitError, "set brain: "),
        ("brain", "1..2 year", UnitError, "set brain: "),
        ("brain", "2..1", UsageError, "set brain: expected a range that rises"),
        ("brain", "1EFLOP/s", UsageError, "set brain: expected a finite number, got '1EFLOP/s'"),
        ("brain", "1..", UsageError, "set brain: expected a finite number, got '1..'"),
        ("brain", "1..2..3", UsageError, "set brain: expected a finite number"),
        ("brain", "-1..2", UsageError, "set brain: expected at least 0 PFLOP/s, got -1"),
        ("brain", "{lognormal = [1, 2]", UsageError, "set brain: expected a distribution such as"),
        ("brain", "{lognormal = [1, 2]}\nx = 1", UsageError, "set brain: expected a distribution such as"),
        ("brain", "{lognorml = [1, 2]}", ForecastError, "set brain: unknown key 'lognorml'; did you mean 'lognormal'"),
        ("brain", "{unit = 'x', value = 1}", ForecastError, "set brain: unknown key 'unit'"),
        ("brain", "{normal = [1, 2], truncate = [8e9, 9e9]}", ForecastError, "set brain"),
        ("made.b", "1..2 USD", UnitError, "set made.b: "),
        ("made.c", "1..2", ForecastError, "unknown choice, quantity or input 'made.c'"),
    ],
)
def test_what_cannot_be_set_is_refused(key, value, error, says):
    with pytest.raises(error) as caught:
        projected(**{key: value})
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


# --- a figure of the years before the start --------------------------------------------------------------------------


def _priced(**cell):
    price = {"table": "datasets/compute-prices", "column": "rental", "aggregate": "lowest", "latest": "date", **cell}
    price["where"] = {"device": "h100-sxm5", "kind": "on-demand"}
    return {"start": 2024.5, "until": 2025.5, "quantities": {"price": price}}


def test_a_figure_within_years_of_the_start_moves_with_it():
    def rent(start, **cell):
        run = forecast.project(_priced(**cell), draws=2, start=start, until=start + 1)
        return float(run["projection"]["price"].isel(time=0, draw=0))

    newest = rent(2024.5)
    assert rent(2026.75) == newest == rent(2026.75, within=1)  # without it the newest counts, whenever one asks
    assert rent(2024.5, within=1) > newest
    with pytest.raises(EmptyDataError, match="has no 'rental'"):
        rent(2015.0, within=1)


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ({"within": 0}, r"price\.within: expected a number of years above 0, beside latest"),
        ({"within": "1"}, r"price\.within: expected a number of years above 0, beside latest"),
        ({"within": 1, "latest": None}, r"price\.within: expected a number of years above 0, beside latest"),
        ({"own": "yes"}, r"price\.own: expected true or false, beside latest"),
        ({"own": True, "latest": None}, r"price\.own: expected true or false, beside latest"),
    ],
)
def test_what_stands_beside_a_column_of_dates_is_refused_without_it(cell, says):
    record = _priced(**cell)
    record["quantities"]["price"] = {k: v for k, v in record["quantities"]["price"].items() if v is not None}
    with pytest.raises(ScenarioError, match=says):
        forecast.project(record, draws=2)
