"""No two shipped scenarios contradict each other, and none the last row of its own data."""

import functools
import itertools

import numpy as np
import pytest

import forecast
from forecast import Scenario, units
from forecast.base.distributions import distribution
from forecast.contract.registry import get_registry
from forecast.contract.specs import Input
from forecast.models import OtherQuantity
from forecast.report.headline import Labels, event, value_title
from forecast.scenarios.graph import build
from forecast.streams import Streams
from forecast.tables import decimal_year
from forecast_capability import packs
from toolkit import every, sample

#: Published models are other people's: they are kept as printed, and may contradict whom they like. The parts of
#: ``model-capability`` say bit for bit what it says (`tests/plugins/capability/test_model_parts.py`).
SCENARIOS = sorted(
    {r.full_name for r in get_registry().records("scenario")}
    - {f"capability/{spec.name}" for spec in packs.scenarios()}
    - {f"capability/{part}" for part in Scenario.load("model-capability").stated["use"]}
)
DRAWS = 2048


@functools.cache
def graph(name):
    return build(Scenario.load(name))


@functools.cache
def run(name, draws=DRAWS):
    return forecast.project(forecast.scenario(name), draws=draws, seed=0)


def own(model):
    """Whether nothing that a scenario says moves a model."""
    return not any(isinstance(need, OtherQuantity) for need in model.inputs.values())


def read(name, node):
    """Return the median of a quantity over time, in each combination of choices."""
    level = run(name)["projection"][node]
    level = level.expand_dims("time") if "time" not in level.dims else level
    level = level.median("draw") if "draw" in level.dims else level
    return level.assign_coords(time=decimal_year(run(name)["projection"]["time"].values))


@pytest.mark.slow
def test_rates_of_the_best_device_are_those_of_one_series():
    """`gpu-limit` said 60 TFLOP/s of the year in which `gpu-capability` said 145, and the record was 163."""
    limit = read("hardware/gpu-limit", "peak")
    capability = read("hardware/gpu-capability", "peak").sel(precision="fp32", shape="pool")
    record = forecast.model("hardware/gpu-peak-fp32").fit().observed().value.max()
    assert float(limit[0]) == pytest.approx(float(capability[0]), rel=1e-9)
    assert float(limit[0]) >= record * (1 - 1e-9)


# --- the last row -----------------------------------------------------------------------------------------------------


def series(name):
    """Walk the series of a scenario: of rivals the pool, else each."""
    for key, node in graph(name).nodes.items():
        models = {m.name: m for m in node.models.values()}
        pools = {n: m for n, m in models.items() if n.endswith("@pool")}
        for model in (pools or models).values():
            if own(model) and len(model.fit().observed().value) > 0:
                yield key, model


def drawn(model, time, *, observed):
    inputs = {
        name: distribution(need.distribution, where=name).ppf(np.random.default_rng(i).random(2048))
        for i, (name, need) in enumerate(model.inputs.items())
        if isinstance(need, Input)
    }
    return np.concatenate([
        model.fit().sample(time, inputs, Streams(0, model.name, block), observed=observed) for block in range(2)
    ], axis=1)  # fmt: skip


@pytest.mark.parametrize("name", sample(SCENARIOS, 9, 3))
def test_the_last_row_lies_in_the_band_of_one_observation(name):
    with every() as case:
        for key, model in series(name):
            with case(f"{key}: {model.name}"):
                check_last_row(name, key, model)


def check_last_row(name, key, model):
    seen = model.fit().observed()
    last = np.argmax(seen.time)
    time = np.array([seen.time[last]])
    low, high = np.quantile(drawn(model, time, observed=True), [0.05, 0.95])
    assert low * (1 - 1e-9) <= seen.value[last] <= high * (1 + 1e-9), (name, key)
    if model.keeps == "frontier":
        top = seen.value.max()
        np.testing.assert_allclose(drawn(model, time, observed=False), top, rtol=1e-9)
        level = run(name, draws=64)["projection"][key]  # it holds in every world, so in these
        start = float(decimal_year(level["time"].values[:1])[0])
        if (
            start >= seen.time[last]
            and level.attrs.get("units") == seen.unit
            and len(graph(name).nodes[key].models) == 1
        ):
            assert float(level.isel(time=0).min()) >= top * (1 - 1e-9)


# --- Labels -----------------------------------------------------------------------------------------------------------


def told(name):
    """Walk what a scenario tells under a label: the label, its date, what every world says, and the unit.

    A question is told by its title and by its label, a quantity that has a label at every step: of definitions the
    first, of rivals the pool, as the sentence tells it. Conditions that no label names are no excuse.
    """
    made = run(name)
    words = Labels(made)

    for answer in made.dates:
        for label in {event(answer, answer.default, words), event(answer, answer.default, words, short=True)}:
            yield label, "", answer.pooled_draws(answer.default)[0], "year"
    for value in made.values:
        for answer in value.at:
            for label in {
                value_title(answer, answer.default, words),
                value_title(answer, answer.default, words, short=True),
            }:
                yield label, answer.date, answer.pooled_draws(answer.default)[0], answer.unit
    for quantity in made.numeric:
        if quantity not in made.labels:
            continue
        level = made.worlds[quantity]
        own = {str(dim): str(level[dim].values[0]) for dim in level.dims if dim in made.definitions}
        level = made.pooled(level.sel(own), [dim for dim in level.dims if dim in made.rivals])
        if set(level.dims) == {"draw", "time"}:
            for place, date in enumerate(made["projection"]["time"].values.astype("datetime64[D]")):
                worlds = level.isel(time=place).values
                yield words(quantity), str(date), worlds, made.quantities[quantity].unit


@functools.cache
def by_label():
    found = {}
    for name in SCENARIOS:
        for label, date, worlds, unit in told(name):
            found.setdefault((label, date), {}).setdefault(name, (worlds, unit))
    return {key: each for key, each in found.items() if len(each) > 1}


def apart(one, other):
    """By how many standard errors the share of worlds below the median of others differs from a half."""
    one, other = np.sort(one), np.sort(other)
    middle, error = np.median(one), np.sqrt(0.25 / len(one) + 0.25 / len(other))
    low, high = (np.searchsorted(other, middle, side=side) / len(other) for side in ("left", "right"))
    return max(low - 0.5, 0.5 - high, 0.0) / error


@pytest.mark.xslow
def test_one_label_is_one_value_in_all_scenarios():
    found = by_label()
    wrong = [
        (label, date, one, other, [f"{np.median(worlds):.4g} {unit}" for worlds, unit in (each[one], each[other])])
        for (label, date), each in found.items()
        for one, other in itertools.combinations(each, 2)
        if not units.same_dimension(each[one][1], each[other][1])
        or apart(each[one][0], units.convert(each[other][0], each[other][1], each[one][1])) > 4
    ]
    assert wrong == []


# --- Tails ------------------------------------------------------------------------------------------------------------


def level(name, quantity, **chosen):
    """Return what every world says of a quantity at every step, (time, draw)."""
    found = run(name)["projection"][quantity].sel(chosen)
    return found.transpose("time", "draw").values if "time" in found.dims else found.values[None]


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "fp16", "fp8"])
def test_what_a_device_gives_is_bounded_by_its_record_and_by_its_power(precision):
    """The fifth hundredth of FP8 per watt was 5e-7 GFLOP/s/W in 2040 once, and the last of its peak 470 EFLOP/s."""
    peak = level("gpu-capability", "peak", precision=precision, shape="pool")
    per_watt = level("gpu-capability", "per_watt", precision=precision, shape="pool")
    years = decimal_year(run("gpu-capability")["projection"]["time"].values)
    for each, name in ((peak, "peak"), (per_watt, "best-per-watt")):
        seen = forecast.model(f"hardware/gpu-{name}-{precision}").fit().observed()
        for date, record in zip(seen.time, seen.value, strict=True):  # on the day on which it stands, and from then on
            assert each[np.argmax(years >= date) :].min() >= record * (1 - 1e-9)
    assert peak.max() <= 4.7e7 * (1 + 1e-9)  # 10 kW at 4.7e15 FLOP/s/W, in TFLOP/s
    assert per_watt.max() <= 4.7e6 * (1 + 1e-9)
    assert level("model-capability", "eight_bit", variant="trends continue").max() <= 4.7e7 * (1 + 1e-9)


@pytest.mark.slow
def test_a_dollar_buys_no_less_than_it_does_today():
    on_sale = forecast.model("hardware/gpu-per-dollar-fp32").fit().observed().value.max()
    for name, chosen in (("gpu-capability", {"shape": "pool"}), ("gpu-goal", {})):
        assert level(name, "per_dollar", **chosen).min() >= on_sale * (1 - 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["trends continue", "hardware stalls 2026"])
def test_all_chips_together_run_on_the_electricity_of_the_world(variant):
    """Of 29,471 TWh in 2023, which grows with the output of the world: 2.7e12 H100 were forecast once."""
    stock, per_watt = (level("model-capability", each, variant=variant) for each in ("stock", "per_watt"))
    years = decimal_year(run("model-capability")["projection"]["time"].values)[:, None]
    growth = np.maximum(level("model-capability", "output_growth"), 0)
    watts = stock * 989.5e12 / (per_watt * 1e9)
    assert (watts <= 3.364e12 * (1 + growth) ** (years - 2023) * (1 + 1e-6)).all()
    assert np.quantile(stock[-1], 0.95) < 1e12
