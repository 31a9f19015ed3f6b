"""A quantity is one, whether a text, its name or an object says which: equal bits in everything that can be asked."""

import functools

import numpy as np
import pytest

import forecast
from forecast.api.scenario_quantities import line_of
from forecast.errors import ScenarioError, UsageError
from tests.toolkit import assert_bitwise

pytestmark = pytest.mark.filterwarnings("ignore::forecast.ForecastWarning")
SMALL = {"draws": 300, "seed": 3}
RECORD = {
    "start": 2025, "until": 2040, "title": "two machines",
    "quantities": {
        "chip": {"p05": 1e15, "p95": 4e15, "unit": "FLOP/s"}, "count": {"p05": 1e3, "p95": 1e5, "unit": ""},
        "apart": {"p05": 1, "p95": 2, "unit": ""}, "machine": {"expression": "chip*count*1.3**(t - start)"},
        "other": {"expression": "chip*2"},
    },
    "questions": {"one": {"when": "machine >= 1 ZFLOP/s"}, "two": {"when": "other >= 1 ZFLOP/s"}},
}  # fmt: skip
TWO = forecast.scenario(RECORD).named("two-machines")
LINPACK = "hardware/linpack"
PARITY = forecast.scenario("brain-parity")
RUN, RUN_COST = forecast.quantity("largest-run"), forecast.quantity("run-cost")


@functools.cache
def answer():
    """Ask where a test runs, not where it is collected."""
    return TWO.ask("one", **SMALL)


#: What is said as a text, and by an object.
PAIRS = {
    "given": lambda: (
        answer().given("at(machine, 2030) >= 0.1 ZFLOP/s"),
        answer().given(TWO.machine.at(2030) >= "0.1 ZFLOP/s"),
    ),
    "given what is beside it": lambda: (answer().given("other >= 4e15"), answer().given(TWO.other >= 4e15)),
    "given after a change": lambda: (
        answer().what_if("chip", value=2e15, since=2030).with_(count=3e4).given("at(machine, 2031) >= 1e20"),
        answer().what_if(TWO.chip, value=2e15, since=2030).with_({TWO.count: 3e4}).given(TWO.machine.at(2031) >= 1e20),
    ),
    "what if": lambda: (
        answer().what_if("machine", growth="0.5*", since=2028),
        answer().what_if(TWO.machine, growth="0.5*", since=2028),
    ),
    "what if of a scenario": lambda: (
        TWO.what_if("chip", value=2e15, since=2030).ask(**SMALL),
        TWO.what_if(TWO.chip, value=2e15, since=2030).ask(**SMALL),
    ),
    "with_": lambda: (answer().with_(count="1e4..1e5"), answer().with_({TWO.count: "1e4..1e5"})),
    "with_ of a scenario": lambda: (TWO.with_(count=3e4).ask(**SMALL), TWO.with_({TWO.count: 3e4}).ask(**SMALL)),
    "sweep": lambda: (answer().sweep(count=[1e3, 1e4]), answer().sweep({TWO.count: [1e3, 1e4]})),
    "a model": lambda: (
        PARITY.ask(**SMALL).with_(machine=f"{LINPACK}@random-walk"),
        PARITY.ask(**SMALL).with_(machine=forecast.model(f"{LINPACK}@random-walk")),
    ),
    "ask when": lambda: (
        forecast.ask("brain-parity.machine >= 100 PFLOP/s", **SMALL),
        forecast.ask(PARITY.machine >= "100 PFLOP/s", **SMALL),
    ),
    "ask when of a text": lambda: (
        forecast.ask(when="brain-parity.machine >= 100 PFLOP/s", **SMALL),
        (forecast.quantity("brain-parity.machine") >= "100 PFLOP/s").when(**SMALL),
    ),
    "ask value": lambda: (
        forecast.ask("brain-parity.machine", dates=[2030], **SMALL),
        forecast.ask(PARITY.machine, dates=[2030], **SMALL),
    ),
    "a quantity of the world": lambda: (
        forecast.ask("largest-run >= 1e28 FLOP", draws=64),
        forecast.ask(forecast.quantity("largest-run") >= "1e28 FLOP", draws=64),
    ),
    "a value of the world": lambda: (
        forecast.ask("brain-compute", draws=64),
        forecast.ask(forecast.quantity("brain-compute"), draws=64),
    ),
    "a value of a scenario": lambda: (
        forecast.ask("brain-parity.machine", draws=64),
        forecast.ask(PARITY.machine, draws=64),
    ),
    "a quantity that a model forecasts": lambda: (
        forecast.ask("fab-cost >= 40B USD", draws=64),
        forecast.ask(forecast.quantity("fab-cost") >= "40B USD", draws=64),
    ),
    "two quantities of one scenario": lambda: (
        forecast.ask("run-cost / largest-run >= 1e-19 USD/FLOP", draws=16),
        forecast.ask(RUN_COST / RUN >= "1e-19 USD/FLOP", draws=16),
    ),
    "a product with a number": lambda: (
        forecast.ask("run-price-performance * 1e6 USD", draws=64),
        forecast.ask(forecast.quantity("run-price-performance") * forecast.value(1e6, "USD"), draws=64),
    ),
    "an estimate": lambda: (
        forecast.ask("brain/dettmers-2015", draws=64),
        forecast.ask(forecast.model("brain/dettmers-2015"), draws=64),
    ),
    "given another quantity": lambda: (
        forecast.ask("largest-run >= 1e29 FLOP", draws=64).given("at(run-cost, 2030) <= 1B USD"),
        forecast.ask("largest-run >= 1e29 FLOP", draws=64).given(RUN_COST.at(2030) <= "1B USD"),
    ),
    "what if of the world": lambda: (
        forecast.ask("largest-run >= 1e29 FLOP", draws=64).what_if("largest-run", growth="0.5*", since=2028),
        forecast.ask("largest-run >= 1e29 FLOP", draws=64, what_if=[{"of": RUN, "growth": "0.5*", "since": 2028}]),
    ),
}


#: What takes long, and which door another pair has too.
SLOW = {
    "a model", "given another quantity", "ask when", "ask when of a text", "a quantity of the world",
    "what if of the world", "a product with a number",
}  # fmt: skip


@pytest.mark.parametrize("said", [pytest.param(p, marks=[pytest.mark.slow] if p in SLOW else []) for p in PAIRS])
def test_a_text_and_an_object_say_the_same(said):
    text, thing = PAIRS[said]()
    assert_bitwise(np.asarray(text), np.asarray(thing))
    assert_bitwise(text.weights.values, thing.weights.values)
    assert text.sentence == thing.sentence


def test_a_value_has_the_dates_of_its_scenario_whatever_that_is_called():
    stated = {"start": 2025, "until": 2028, "quantities": {"largest_run": {"p05": 1, "p95": 2, "unit": "FLOP"}}}
    asked = forecast.ask(forecast.scenario(stated).named("largest-run").largest_run, draws=64)
    assert asked.values["date"].dt.year.values.tolist() == [2028]  # not those of the quantity of the world of the name


def test_a_projection_takes_quantities_for_names():
    pairs = [
        {"with_": {count: 2e4}, "sweep": {chip: [1e15, 2e15]}, "what_if": [{"of": count, "value": 1e4, "since": 2030}]}
        for count, chip in (("count", "chip"), (TWO.count, TWO.chip))
    ]
    text, thing = (forecast.project(TWO, **SMALL, **each) for each in pairs)
    assert_bitwise(text["questions"]["one"].values, thing["questions"]["one"].values)
    assert answer().needed("count", by=2035) == answer().needed(TWO.count, by=2035)


def test_a_law_is_its_name_and_a_comparison_is_one_in_a_file(tmp_path):
    x = np.geomspace(1, 100, 20)
    names, data = ["scaling/power", "scaling/saturating-power"], {"x": x, "y": 1 + x**-0.5}
    text, thing = forecast.compare(names, data), forecast.compare([*map(forecast.law, names)], data)
    loaded = forecast.load(forecast.save(text, tmp_path / "both.nc"))
    assert text == thing == loaded
    assert repr(text) == repr(loaded)
    assert text.headline.startswith("scaling/saturating-power explains the 20 points best")
    assert text.to_polars()["aic"].to_list() == text.to_pandas()["aic"].tolist() == [row["aic"] for row in text]


def test_a_condition_on_what_is_not_behind_the_answer_keeps_the_worlds_in_which_it_holds():
    kept = TWO.chip.sample(300, at=2025, seed=3) * 2 >= 4e15
    never = np.isposinf(answer().dates.values)
    assert 0 < kept.mean() < 1
    assert answer().given(TWO.other >= 4e15).never == pytest.approx(never[kept].mean(), rel=1e-9)
    assert never[kept].mean() != never.mean()


def test_what_shares_no_worlds_or_only_a_name_is_refused(tmp_path):
    for alone in ("apart >= 1", TWO.apart >= 1):
        with pytest.raises(UsageError, match="does not depend on it"):
            answer().given(alone)
    mine = forecast.uncertain(p05=1, p95=2, unit="FLOP/s", name="chip")
    with pytest.raises(ScenarioError, match=r"another quantity called 'chip': .*\.named\('mine'\)"):
        answer().given(mine >= 1.5)
    loaded = forecast.load(forecast.save(answer(), tmp_path / "answer.nc"))
    assert loaded.given(TWO.chip >= 2e15).median == answer().given("chip >= 2e15").median
    with pytest.raises(UsageError, match="expected one name"):
        forecast.quantity("largest-run * 2")


def test_a_number_that_has_a_name_is_no_bare_number_whatever_it_is_called():
    runs = forecast.quantity("largest-run")
    assert line_of(runs >= forecast.value("1e29 FLOP")) == "largest-run >= 1e29 FLOP"
    assert line_of(runs >= forecast.quantity("value_of_mine", value=1e29, unit="FLOP")) == ""
    assert line_of(forecast.value("1 EFLOP/s") * forecast.value("90 day")) == ""
