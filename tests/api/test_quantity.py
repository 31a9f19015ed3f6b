"""Quantities as objects: their names, what they refuse, and that they are the scenario a file would hold."""

import numpy as np
import pytest

import forecast
from forecast.api.automatic_names import MAX_NAME_LENGTH
from forecast.api.scenario import records
from forecast.errors import FormulaError, ScenarioError, UsageError
from toolkit import assert_bitwise, training_runs

TOML = {
    "start": 2025,
    "until": 2040,
    "quantities": {
        "spend": {"p05": 1e8, "p95": 4e8, "unit": "USD"},
        "price": {"lognormal": [2e4, 5e4], "width": 0.8, "unit": "USD"},
        "chips": {"expression": "spend/price"},
        "peak": {"model": "hardware/gpu-peak-fp16", "shape": "trends/exponential"},
        "fleet": {"expression": "chips*peak"},
    },
    "questions": {"reached": {"when": "fleet >= 2e7"}},
}


def spend(name="spend"):
    return forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name=name)


def price():
    return forecast.uncertain(lognormal=[2e4, 5e4], width=0.8, unit="USD", name="price")


def test_objects_and_a_file_give_the_same_bytes():
    chips = (spend() / price()).named("chips")
    peak = forecast.quantity("peak", model="hardware/gpu-peak-fp16", shape="trends/exponential")
    answer = ((chips * peak).named("fleet") >= 2e7).when(start=2025, until=2040, draws=300, seed=3)
    run = forecast.project(TOML, draws=300, seed=3)
    assert set(answer.run["projection"].data_vars) == set(TOML["quantities"])
    for part in ("projection", "questions"):
        for name, data in run[part].data_vars.items():
            assert_bitwise(answer.run[part][name].values, data.values)


def test_a_name_of_an_operation_is_unambiguous():
    a, b, c = (forecast.value(n, name=name) for n, name in ((1, "a"), (2, "b"), (3, "c")))
    assert (a - b - c).name == "a_minus_b__minus__c"
    assert (a - (b - c)).name == "a__minus__b_minus_c"
    assert (2 * a).name == "n2_times_a"
    assert (a**-0.5).name == "a_to_minus0p5"


def test_a_long_name_is_cut_and_stays_its_own():
    total = long = forecast.value(1, name="a" * 30)
    for number in range(40):
        total = total + long * number
    other = total + 1
    assert max(len(total.name), len(other.name)) <= MAX_NAME_LENGTH
    assert total.name != other.name


def test_a_quantity_less_itself_is_nothing():
    whole = spend()
    run = ((whole - whole).named("nothing") >= 1).when(start=2025, until=2026, draws=50).run
    assert float(abs(run["projection"]["nothing"]).max()) == 0


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda x: 2 + x, 5), (lambda x: x + 2, 5), (lambda x: 2 - x, -1), (lambda x: x - 2, 1), (lambda x: 2 * x, 6),
        (lambda x: x / 2, 1.5), (lambda x: 6 / x, 2), (lambda x: x**2, 9), (lambda x: 2**x, 8), (lambda x: -x, -3),
        (lambda x: np.float64(2) * x, 6), (lambda x: x - (x - (x - 1)), 2), (lambda x: (x + 1) * (x - -1), 16),
        (lambda x: np.minimum(x, 2), 2), (lambda x: np.maximum(2, np.sqrt(x + 6)), 3), (lambda x: np.exp(np.log(x)), 3),
        (lambda x: np.log10(x * 100 / 3), 2), (lambda x: np.float64(1) - x, -2),
        (lambda x: 1e25 * x, 3e25), (lambda x: x * 1e-9, 3e-9),
    ],
)  # fmt: skip
def test_arithmetic(made, expected):
    result = made(forecast.value(3, name="x")).named("result")
    run = (result >= 0).when(start=2025, until=2026, draws=2).run
    np.testing.assert_allclose(run["projection"]["result"], expected, rtol=1e-15)


def test_numbers_of_numpy_compare_from_either_side():
    x = forecast.value(3, name="x")
    assert (np.float64(2) <= x).text == "x >= 2"
    assert (x < np.float64(2)).text == "x < 2"
    with pytest.raises(UsageError, match="expected a quantity or a finite number"):
        np.array([1.0, 2.0]) * x
    with pytest.raises(TypeError):
        np.floor(x)


def test_a_trend_of_ones_own_is_a_quantity():
    data = {"year": [2020.0, 2021.0, 2022.0, 2023.0, 2024.0], "speed": [1.0, 2.1, 3.9, 8.2, 15.8]}
    trend = forecast.trend(data, x="year", y="speed", unit="FLOP/s", shape="trends/exponential", name="speed")
    answer = (2 * forecast.quantity(model=trend) >= 1000).when(until=2040, draws=200)
    assert 2028 < answer.median < 2031


def test_two_uncertain_quantities_of_one_name_are_refused():
    with pytest.raises(ScenarioError, match="two uncertain quantities have the name 'spend'"):
        records([spend() + spend()])
    with pytest.raises(ScenarioError, match="two different quantities have the name 'x'"):
        records([forecast.value(1, name="x") + forecast.value(2, name="x")])


def test_an_uncertain_quantity_needs_a_name():
    loose = forecast.uncertain(p05=1, p95=2, unit="USD")
    with pytest.raises(ScenarioError, match="give name="):
        loose + 1
    assert (loose.named("it") + 1).name == "it_plus_1"
    with pytest.raises(FormulaError):
        loose.named("no name")


def test_what_has_no_truth_value_says_how_to_ask():
    with pytest.raises(UsageError, match="given"):
        bool(spend() >= 1e8)
    with pytest.raises(UsageError, match="given"):
        1e8 <= spend() <= 2e8  # noqa: B015
    with pytest.raises(UsageError, match="when"):
        bool(spend())
    with pytest.raises(UsageError, match="write <= or >="):
        spend() == 1e8  # noqa: B015
    with pytest.raises(UsageError, match="expected a quantity or a finite number"):
        spend() >= float("nan")  # noqa: B015


def test_a_function_of_python_is_one_of_quantities():
    @forecast.function(unit="FLOP/s", rate="FLOP/s", chips="")
    def cluster(rate, chips):
        return 0.4 * rate * chips

    rate, chips = forecast.value(1, "PFLOP/s", name="rate"), (spend() / price()).named("chips")
    made = cluster(rate=rate, chips=chips)
    run = (made >= 1e18).when(start=2025, until=2026, draws=20).run["projection"]
    assert made.name == "cluster_of_rate_and_chips"
    np.testing.assert_allclose(run[made.name], 0.4e15 * run["chips"])


def test_records_may_hold_quantities():
    size, tokens = forecast.value(7e10, "param", name="size"), forecast.value(1.4e12, "token", name="tokens")
    loss = forecast.quantity(law="scaling/chinchilla@besiroglu2024", N=size, D=tokens)
    assert loss.name == "chinchilla_of_size_and_tokens"
    run = (loss <= 1).when(start=2025, until=2026, draws=200).run["projection"]
    assert 1.9 < float(run[loss.name].median()) < 2.0


def test_wrong_forms_are_refused_at_once():
    with pytest.raises(ScenarioError, match="quantiles must increase"):
        forecast.uncertain(p05=3, p95=2, name="x")
    with pytest.raises(UsageError, match="finite"):
        forecast.value(float("inf"))


def fitted():
    law = forecast.law("scaling/chinchilla")
    return law.fit(training_runs(), y="loss")


def published(name="besiroglu2024-mle"):
    return forecast.law("scaling/chinchilla").published(name)


@pytest.mark.parametrize("made", [fitted, published])
def test_a_fit_has_one_set_of_parameters_in_a_world(made):
    fit = made()
    tokens = forecast.value(1e12, "token", name="tokens")
    small, large = (fit(N=forecast.value(n, "param", name=f"n{k}"), D=tokens) for k, n in enumerate((1e9, 1e10)))
    run = ((small - large).named("gain") >= 0).when(start=2025, until=2026, draws=100).run
    drawn = {name: values.values for name, values in run["posterior"][small.name].data_vars.items()}
    assert np.ptp(drawn["E"]) > 0
    gain = fit.law.value(drawn, N=1e9, D=1e12) - fit.law.value(drawn, N=1e10, D=1e12)
    np.testing.assert_allclose(run["projection"]["gain"].isel(time=0), gain, rtol=1e-9)


def test_a_fit_of_numbers_is_a_number():
    fit = published("besiroglu2024")
    assert float(fit(N=7e10, D=1.4e12)) == float(fit.law.value(fit.values, N=7e10, D=1.4e12))
    assert fit(N=np.array([1e9, 1e10]), D=1e12).shape == (2,)


def test_a_published_fit_gives_the_bytes_of_a_file():
    size, tokens = (
        forecast.value(7e10, "param", name="size"),
        forecast.uncertain(p05=1e11, p95=1e13, unit="token", name="tokens"),
    )
    loss = published()(N=size, D=tokens).named("loss")
    answer = (loss <= 1.9).when(start=2025, until=2026, draws=200)
    quantities = {
        "size": {"value": 7e10, "unit": "param"},
        "tokens": {"p05": 1e11, "p95": 1e13, "unit": "token"},
        "loss": {"law": "scaling/chinchilla@besiroglu2024-mle", "N": "size", "D": "tokens"},
    }
    asked = {"reached": {"when": "loss <= 1.9"}}
    run = forecast.project({"start": 2025, "until": 2026, "quantities": quantities, "questions": asked}, draws=200)
    assert loss.record == quantities["loss"]
    for name in quantities:
        assert_bitwise(answer.run["projection"][name].values, run["projection"][name].values)
    assert answer.run.attributes == run.attributes


def test_a_fit_called_on_what_is_no_variable_says_which_there_are():
    fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
    loss = fit(N=forecast.value(1e9, "param"))
    with pytest.raises(ScenarioError, match="D: is missing"):
        (loss <= 2).when(start=2025, until=2026)
