"""Quantities of the world: one forecast whichever door, and rivals that say how they differ."""

import numpy as np
import pytest

import forecast
from forecast import units
from forecast.contract.registry import get_registry
from forecast.errors import AmbiguousNameError, PluginContractError, ScenarioError, UnknownNameError, UsageError
from forecast.report.headline import name_in_words
from forecast.scenarios.question_text import read_question, rival_line, world_quantity
from forecast.testing import run_checks
from tests.toolkit import command, sample

PLUGIN = """
def forecast_quantities():
    yield QuantitySpec(name="speed", title="Speed", unit="TFLOP/s", definition="d", reference="r", {more})
"""


def values(text, **options):
    return forecast.ask(text, dates=[2030], draws=64, **options).values


@pytest.mark.parametrize(
    ("name", "door"),
    [
        ("largest-run", "model-capability.run"),
        pytest.param("horizon-50", "model-capability.horizon", marks=pytest.mark.slow),
        pytest.param("run-power", "model-capability.power", marks=pytest.mark.slow),
        ("fab-cost", "hardware/fab-cost"),
        ("brain-compute", "brain/pooled"),
    ],
)
def test_a_quantity_and_the_door_of_its_forecast_give_equal_bits(name, door):
    np.testing.assert_array_equal(values(name), values(door))


def test_a_name_with_its_plugin_is_the_same_question_also_where_a_model_has_it_too():
    registry = get_registry()
    models = registry.names("model")
    quantities = [
        record for record in registry.records("quantity") if record.spec.forecast and record.full_name in models
    ]
    assert len(quantities) > 5
    for record in quantities:
        full, short = (read_question(name).stated for name in (record.full_name, record.spec.name))
        assert {**full, "title": ""} == {**short, "title": ""}, record.full_name


def test_settings_are_those_of_the_scenario_that_is_asked():
    one, fixed = values("device-rate-per-watt-fp8"), {"gpu_capability.precision": "fp8"}
    other = forecast.ask("gpu-capability.per_watt", dates=[2030], draws=64, with_=fixed).values
    np.testing.assert_allclose(np.squeeze(one), np.squeeze(other), rtol=1e-15)  # told in its own unit
    both = read_question("max(supercomputer-hpl, supercomputer-hpcg)")
    assert set(both.stated["use"]) == {"brain_parity_linpack", "brain_parity_hpcg"}  # two values of one choice


def test_a_door_is_titled_as_the_quantity_that_it_forecasts():
    answer = forecast.ask("model-capability.power", dates=[2030], draws=64)
    assert str(answer).startswith("Power of the largest training run")


@pytest.mark.slow
def test_arithmetic_takes_quantities_and_the_forecast_may_be_a_formula():
    spent, run = values("run-cost * training-flop-per-dollar"), values("largest-run")
    assert spent.shape == run.shape  # of one world, in which the run is paid for
    door = "lag(capability-index, open-lag)"
    np.testing.assert_array_equal(values("open-index"), values(door))


@pytest.mark.slow
def test_every_quantity_names_what_exists():
    records = get_registry().records("quantity")
    names = {record.spec.name for record in records}
    assert len(records) > 60
    for record in records:
        assert set(record.spec.related) <= names, record.full_name
        assert len({rival.name for rival in record.spec.rivals}) == len(record.spec.rivals)
        for rival in ["", *(each.name for each in record.spec.rivals)] if record.spec.forecast else ():
            one, other = (read_question(record.spec.name, rival=each).stated for each in (rival, name_in_words(rival)))
            assert one == other, rival


@pytest.mark.slow
def test_rivals_stand_beneath_with_their_phrase_and_are_asked_alone(capsys):
    question = "largest-run >= 1e29 FLOP"
    spec = world_quantity(question)
    words = [question, "--draws", "64"]
    shown = command("ask")(capsys, *words).out
    found = command("ask")(capsys, *words, "--json").json["result"]["rivals"]
    assert [row["name"] for row in found] == [each.name for each in spec.rivals]
    for each in spec.rivals:
        assert each.differs in shown
    alone = command("ask")(capsys, *words, "--model", "exponential", "--until", "2039", "--json").json["result"]
    assert "rivals" not in alone
    assert alone["answer"]["crossing"] == found[0]["answer"]["crossing"]
    with pytest.raises(UnknownNameError, match="unknown rival 'nope'"):
        read_question(question, rival="nope")
    with pytest.raises(UnknownNameError, match="unknown rival 'exponential'"):
        read_question("hardware/linpack", rival="exponential")


def test_rivals_are_told_in_the_unit_of_the_quantity():
    spec = world_quantity("horizon-50")
    for rival in spec.rivals:
        question = read_question("horizon-50", at=[2030], rival=rival.name)
        assert forecast.project(question, draws=64).values[0].unit == spec.unit


@pytest.mark.parametrize(
    ("trend", "quantity"), [("gpu-per-watt-fp8", "device-rate-per-watt-fp8"), ("horizon-th1-0", "horizon-50")]
)
def test_a_trend_that_is_a_rival_is_held_to_the_bounds_of_the_quantity(trend, quantity):
    spec = get_registry().find("quantity", quantity).spec
    answer = forecast.ask(trend, dates=[2040], draws=256)
    highest = max(max(row.distribution.quantiles) for row in answer.result.rows)
    # its members spread beyond it, so that some path reaches it
    assert units.convert(highest, answer.result.unit, spec.unit) == pytest.approx(spec.ceiling)


def test_a_rival_may_be_a_model_of_the_same_name():
    for name in ("site-rate-per-watt", "site-rate-per-dollar"):
        scenario = read_question(name, at=[2030], rival=name)
        assert forecast.project(scenario, draws=64).values[0].headline is not None


def test_an_answer_outside_its_bounds_says_so(capsys, fake_plugins):
    fake_plugins.add("bounded", PLUGIN.format(more='forecast="hardware/linpack", ceiling=1.0, ceiling_source="a law"'))
    told = command("ask")(capsys, "speed", "--at", "2030", "--draws", "64")
    assert "upper bound of 1 TFLOP/s decides in over 99 % of the worlds: a law" in " ".join(told.err.split())
    assert "1 TFLOP/s in 2030" in told.out
    assert any("a law" in line for line in command("ask")(capsys, "speed", "--at", "2030", "--json").json["warnings"])


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ('forecast="speed"', UsageError, "rests on itself: slow/speed -> slow/speed"),
        ("", UsageError, "nothing here forecasts 'speed' \\(Speed\\): forecast quantities show speed"),
        ('forecast="hardware/nope"', UnknownNameError, "unknown name 'hardware/nope'"),
        ('forecast="brain-parity.machine", settings={"metrik": "hpcg"}', UsageError, "unknown choice 'metrik'.*metric"),
    ],
)
def test_a_forecast_that_cannot_be_asked_is_one_sentence(fake_plugins, more, error, says):
    fake_plugins.add("slow", PLUGIN.format(more=more))
    with pytest.raises(error, match=says):
        read_question("speed")


@pytest.mark.parametrize(("ceiling", "also"), [("3e6", " and bounds"), ("1.6e16", "")])
def test_a_plugin_may_have_its_own_forecast_and_bounds_which_hold_its_answer_alone(capsys, fake_plugins, ceiling, also):
    own = f'forecast="hardware/linpack", keeps="frontier", ceiling={ceiling}, ceiling_source="a law"'
    fake_plugins.add("mine", PLUGIN.format(more=own).replace('"speed"', '"supercomputer-hpl"'))
    here, there = (command("ask")(capsys, f"{p}/supercomputer-hpl", "--at", "2030") for p in ("mine", "hardware"))
    for said, name, other in ((here, "mine", "hardware"), (there, "hardware", "mine")):
        line = f"{name}/supercomputer-hpl is one plugin's forecast{also}. There is another: forecast ask {other}/"
        assert said.out.startswith(line)
    assert ("a law" in here.err, "a law" in there.err) == (bool(also), False)
    with pytest.raises(AmbiguousNameError, match="hardware/supercomputer-hpl, mine/supercomputer-hpl"):
        read_question("supercomputer-hpl")


def test_two_plugins_that_name_one_quantity_are_named(fake_plugins):
    for name in ("one", "two"):
        fake_plugins.add(name, PLUGIN.format(more='forecast="hardware/linpack"'))
    with pytest.raises(AmbiguousNameError, match="one/speed, two/speed"):
        read_question("speed")


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"definition": " "}, "definition: is empty"),
        ({"ceiling": 1.0}, "ceiling_source: is missing"),
        ({"floor": 2.0, "ceiling": 1.0, "floor_source": "a", "ceiling_source": "b"}, "floor: 2 lies above the ceiling"),
        ({"scale": "log"}, "scale: expected one of level, share"),
    ],
)
def test_a_record_that_says_too_little_is_refused(keys, says):
    whole = {"name": "q", "unit": "W", "definition": "d", "reference": "r"}
    with pytest.raises(PluginContractError, match=says):
        forecast.QuantitySpec(**(whole | keys))


def test_a_rival_without_a_phrase_is_refused():
    with pytest.raises(PluginContractError, match="differs: is empty"):
        forecast.RivalForecast(name="a", forecast="hardware/linpack", differs="")


def test_the_commands_list_show_and_find_quantities(capsys):
    listed = command("quantities")(capsys, "list", "--json").json["result"]
    assert "capability/largest-run" in {row["name"] for row in listed}
    shown = command("quantities")(capsys, "show", "largest-run", "--json").json["result"]
    assert shown["definition"].startswith("Floating-point operations")
    assert shown["ceiling"].startswith("5e+35 FLOP: ")
    found = command("find")(capsys, "frontier", "training", "compute").out
    assert found.splitlines()[0].startswith("quantity")
    assert "largest-run" in found
    assert "All about the first: forecast quantities show" in found


def test_the_kit_finds_a_forecast_in_another_unit(fake_plugins):
    fake_plugins.add("wrong", PLUGIN.format(more='forecast="brain/power"'))
    failed = {outcome.label: outcome.message for outcome in run_checks("wrong") if not outcome.ok}
    assert any("units" in message and "speed" in label for label, message in failed.items()), failed


@pytest.mark.slow
def test_a_model_is_asked_for_the_quantity_that_it_is_one_forecast_of():
    np.testing.assert_array_equal(values("training-compute"), values("largest-run"))
    assert read_question("capability/training-compute").choices  # by its full name, with its shapes
    for record in get_registry().records("quantity"):
        for name in record.spec.also:
            if "." in name:  # bit for bit, before it is read as the quantity: `forecast scenarios check --all`
                scenario, quantity = name.split(".")
                assert quantity in forecast.scenario(scenario).quantities, record.full_name
            else:
                assert get_registry().find("model", name), record.full_name


@pytest.mark.slow
def test_no_world_has_an_open_model_that_is_better_than_the_best():
    apart = forecast.ask("open-index - capability-index", dates=[2027, 2030, 2039], draws=256)
    assert float(apart.values.max()) <= 0


@pytest.mark.slow
def test_no_world_has_a_mean_model_above_the_largest_and_the_last_row_has_its_date(capsys):
    found = command("ask")(capsys, "notable-run / largest-run", "--at", "2035", "--draws", "128", "--json").json
    # of one variant of the largest run; of two different ones the quotient says nothing
    assert found["result"]["answer"]["p95"] <= 1 + 1e-9
    assert "(Pangu Ultra, 2025-04)" in command("ask")(capsys, "notable-run", "--at", "2030", "--draws", "64").out


def test_a_scenario_takes_a_bound_from_the_quantity_that_states_it():
    spec = get_registry().find("quantity", "device-rate-fp8").spec
    bound = {"ceiling_of": "device-rate-fp8", "unit": "PFLOP/s"}
    run = forecast.project({"start": 2027, "until": 2030, "quantities": {"most": bound}}, draws=2)
    assert run.quantities["most"].fixed == pytest.approx(spec.ceiling / 1000)  # TFLOP/s
    for wrong, said in (("nothing", "unknown quantity 'nothing'"), ("open-index", "'open-index' has no ceiling")):
        with pytest.raises((ScenarioError, UnknownNameError), match=said):
            forecast.scenario({"until": 2030, "quantities": {"most": {"ceiling_of": wrong}}})


@pytest.mark.slow
def test_a_record_says_since_when_it_stands_and_no_rival_behind_it_is_told_first(capsys):
    said = " ".join(command("ask")(capsys, "device-rate-fp32", "--at", "2030", "--draws", "128").out.split())
    assert "163 TFLOP/s, the record since December 2023, no new one before 2030: " in said
    behind = forecast.project(read_question("device-rate-fp32", at=[2030], shapes=(), rival="gpu-limits"), draws=128)
    assert behind.opening.headline.quantiles[0] < 163  # TFLOP/s
    assert "Another forecast, " in said
    assert "Another forecast, gpu-limits," not in said
    assert "Most sensitive to" not in command("run")(capsys, "gpu-goal", "--draws", "64").out


@pytest.mark.slow
def test_every_name_of_a_rival_is_read_as_it():
    """`run-cost@exponential` said 2.6e16 USD of 2040, where the rival of that name is held to what the world makes."""
    for name in ("run-cost@exponential", "capability/run-cost@exponential"):
        assert values(name).max() <= get_registry().find("quantity", "run-cost").spec.ceiling
    assert "precision = fp16 of device-rate-per-watt-fp16 (its own trend" in rival_line("gpu-capability.per_watt")
    ceiling = get_registry().find("quantity", "largest-site").spec.ceiling
    assert values("brain-parity.machine", with_={"brain_parity.metric": "ai-cluster"}).max() <= ceiling
    one, other = values("1/model-tokens.tokens_per_dollar"), values("token-price", model="trend-and-links")
    np.testing.assert_array_equal(one, other)  # a rival that is a formula is asked by it too
    np.testing.assert_allclose(values("model-tokens.tokens_per_dollar") * np.squeeze(other), 1)  # and not itself it
    assert values("largest-site-power").min() >= get_registry().find("quantity", "largest-site-power").spec.floor


def test_an_answer_says_of_an_input_what_takes_it_and_of_a_price_there_is_one_name(capsys):
    ask = command("ask")
    assert "automated-now is an input of model-money: an assumption, and no forecast. Source: Kwa" in (
        ask(capsys, "automated-now", "--draws", "64").out
    )
    assert rival_line("model-hardware.lifetime").startswith("model-hardware.lifetime is an input of model-hardware: ")
    assert rival_line("run-price-performance").startswith("run-price-performance is another forecast of training-flop")
    for name in ("tokens-per-dollar", "capability/tokens-per-dollar@exponential"):
        with pytest.raises(UsageError, match="one over a price: ask for the price, forecast ask token-price, and"):
            read_question(name)
    assert values("token-price", model="tokens-per-dollar").size
    assert "HPCG of the best supercomputer: " in ask(capsys, "hpcg", "--at", "2030", "--draws", "64").out


@pytest.mark.slow
def test_a_setting_that_moves_nothing_names_some_that_do(capsys):
    ask = command("ask")
    for key in ("pace", "model_capability.pace"):
        found = ask(capsys, "largest-run", "--set", f"{key}=3", "--draws", "64")
        assert "set model_capability.pace: no answer depends on it; what is asked depends on model_capab" in found.err
    first = found.err.split("depends on ")[2].split(",")[0]
    assert ask(capsys, "largest-run", "--set", f"{first}=1e28", "--draws", "64").code == 0
    assert "did you mean 'model_capability.variant'?" in ask(capsys, "largest-run", "--set", "varient=x").err
    # what limits it is no more needed
    assert ask(capsys, "largest-run", "--set", "model_capability.paid=1e28", "--draws", "64").code == 0


@pytest.mark.filterwarnings("ignore::forecast.ForecastWarning")
@pytest.mark.parametrize("name", sample(["largest-run", "notable-run", "model-capability.run"], 0))
def test_what_is_given_stands_in_the_worlds_that_are_drawn_already(name):
    answer = forecast.ask("horizon-50 >= 167 h", draws=64)
    given = answer.given(f"{name} >= 1e26 FLOP at 2030")
    assert sum("model-capability" in str(each) for each in given.scenario.stated["use"].values()) == 1
    assert name == "notable-run" or given.median == answer.median  # of the largest it holds in every world
