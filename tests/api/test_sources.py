"""Where quantities come from: distributions of scipy, draws and paths of one's own, functions of Python."""

import copy
import pickle

import numpy as np
import pytest
from scipy import stats

import forecast
from forecast.errors import ScenarioError, UnitError, UnknownNameError, UsageError
from toolkit import assert_bitwise, sample, training_runs

SPAN = {"start": 2025, "until": 2030, "draws": 500, "seed": 0}


def level(made, name=None, **more):
    run = (made >= 0).when(**{**SPAN, **more}).run
    return run["projection"][name or made.name]


FORMS = [
    (stats.norm(3, 2), "normal"), (stats.lognorm(0.5, scale=3), "lognormal"), (stats.uniform(1, 4), "uniform"),
    (stats.loguniform(1, 100), "loguniform"), (stats.triang(0.3, 2, 5), "triangular"),
]  # fmt: skip


@pytest.mark.parametrize(("frozen", "form"), FORMS, ids=[form for _, form in FORMS])
def test_a_distribution_of_scipy_that_the_language_has_is_that_form(frozen, form):
    made = forecast.uncertain(frozen, unit="USD", name="x")
    assert form in made.record
    from forecast.base.distributions import distribution

    u = np.array([0.001, 0.05, 0.3, 0.5, 0.9, 0.999])
    read = distribution({key: each for key, each in made.record.items() if key != "unit"})
    np.testing.assert_allclose(read.ppf(u), frozen.ppf(u), rtol=1e-9)
    assert f"{form} = [" in (made >= 1).when(**SPAN).scenario.to_toml()


def test_any_other_is_drawn_through_its_quantiles():
    made = forecast.uncertain(stats.gamma(2, scale=3), name="x")
    drawn = level(made).isel(time=0).values
    uniform = forecast.uncertain(uniform=[0, 1], name="x")
    np.testing.assert_allclose(drawn, stats.gamma(2, scale=3).ppf(level(uniform).isel(time=0).values), rtol=1e-9)
    assert_bitwise(drawn, level(made, draws=900).isel(time=0).values[:500])
    with pytest.raises(ScenarioError, match="only Python holds"):
        (made >= 1).when(**SPAN).scenario.to_toml()
    with pytest.raises(UsageError, match="expected a frozen distribution"):
        forecast.uncertain(3, name="x")


def test_a_truncated_one_is_cut_through_its_distribution_function():
    made = forecast.uncertain(stats.gamma(2), truncate=[1, 3], name="x")
    drawn = level(made, draws=4000).isel(time=0).values
    assert drawn.min() >= 1
    assert drawn.max() <= 3
    inside = stats.gamma(2).cdf([1, 3])
    expected = stats.gamma(2).ppf(inside.mean())
    assert np.median(drawn) == pytest.approx(expected, rel=0.03)


def test_columns_of_one_posterior_share_their_rows():
    rng = np.random.default_rng(0)
    columns = {"alpha": rng.normal(size=40), "beta": rng.normal(size=40)}
    joint = forecast.draws(columns, name="posterior")
    run = (joint["alpha"] + joint["beta"] >= 0).when(**SPAN).run["projection"]
    drawn = np.column_stack([run[name].isel(time=0).values for name in columns])
    rows = {tuple(row) for row in np.column_stack(list(columns.values()))}
    assert {tuple(row) for row in drawn} <= rows
    assert len({tuple(row) for row in drawn}) > 30


def test_draws_of_ones_own_are_those_of_a_file(tmp_path):
    values = np.array([1.5, 2.5, 4.0, 8.0])
    path = tmp_path / "mine.csv"
    path.write_text("x\n" + "\n".join(map(str, values)) + "\n", encoding="utf-8")
    file = forecast.quantity("x", draws=str(path), column="x", unit="USD")
    held = forecast.draws({"x": values}, unit={"x": "USD"}, name="mine.csv")["x"]
    assert_bitwise(level(held).values, level(file).values)


def test_a_data_frame_has_a_quantity_for_each_column():
    import pandas as pd

    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    assert list(forecast.draws(frame, name="posterior")) == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "message"),
    [([], "columns of one length"), ([[1.0]], "columns of one length"), ([1.0, np.nan], "1 of 2 are no finite")],
)
def test_what_are_no_draws_is_refused(given, message):
    with pytest.raises(UsageError, match=message):
        forecast.draws(given, name="x")
    with pytest.raises(UsageError, match="columns of one length"):
        forecast.draws({"a": [1.0], "b": [1.0, 2.0]}, name="x")


def test_a_path_is_a_schedule_or_one_of_many():
    plan = forecast.path([2025, 2030], [1.0, 11.0], unit="USD", name="plan")
    assert plan.record["schedule"] == [[2025.0, 1.0], [2030.0, 11.0]]
    np.testing.assert_allclose(level(plan).isel(draw=0), [1, 3, 5, 7, 9, 11], rtol=1e-12)
    times = np.array(["2025-01-01", "2029-01-01"], dtype="datetime64[D]")
    many = forecast.path(times, [[1.0, 2.0], [16.0, 32.0]], unit="USD", name="many", between="log")
    drawn = level(many).transpose("time", "draw").values
    assert {tuple(column.round(9)) for column in drawn.T} == {(1, 2, 4, 8, 16, 16), (2, 4, 8, 16, 32, 32)}
    steps = forecast.path([2026, 2028], [[1.0, 2.0], [3.0, 4.0]], name="steps", between="step")
    assert {tuple(column) for column in level(steps).transpose("draw", "time").values} == {
        (1, 1, 1, 3, 3, 3), (2, 2, 2, 4, 4, 4)
    }  # fmt: skip


def test_which_path_holds_moves_the_answer():
    many = forecast.path([2025, 2030], [[1.0, 2.0, 3.0], [5.0, 9.0, 20.0]], name="many")
    answer = (many >= 4).when(**SPAN)
    assert answer.sensitivity().index[0] == "many.row"


@pytest.mark.parametrize(
    ("times", "values", "between", "error"),
    [
        ([2025, 2030], [1.0], "linear", "expected times"),
        ([2030, 2025], [[1.0, 2.0], [1.0, 2.0]], "linear", "times that increase"),
        ([2025, 2030], [[0.0, 2.0], [1.0, 2.0]], "log", "values above 0"),
        ([2025, 2030], [[0.0, 2.0], [1.0, 2.0]], "logs", "unknown word 'logs'"),
    ],
)
def test_what_is_no_path_is_refused(times, values, between, error):
    with pytest.raises((UsageError, UnknownNameError), match=error):
        forecast.path(times, values, name="x", between=between)


@forecast.function(unit="param", rate="FLOP/s", chips="")
def size(rate, chips):
    """The model that these train in ninety days."""
    return np.sqrt(rate * chips * 0.4 * 90 * 86400 / 120)


def test_the_example_of_the_language_runs():
    runs = training_runs()

    fit = forecast.law("scaling/chinchilla").fit(runs)
    peak = forecast.model("hardware/gpu-peak-fp16@exponential")
    spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    price = forecast.uncertain(p05=2e4, p95=5e4, unit="USD", name="price")
    chips = spend / price
    N = size(rate=peak, chips=chips)
    loss = fit(N=N, D=N * forecast.value(20, "token/param"))
    a = (loss <= 1.9).when(until=2045)
    other = forecast.model("hardware/gpu-peak-fp16@random-walk")
    assert 0 < a.given(spend >= 2e8).never < 1
    assert a.with_(**{forecast.quantity(model=peak).name: other}).never != a.never
    assert a.sweep(spend=[1e8, 1e9]).by_choice["never"].sel(spend=1e9) < a.never
    assert a.sensitivity().index[0].endswith(".E")


@pytest.mark.parametrize("again", sample([lambda given: pickle.loads(pickle.dumps(given)), copy.deepcopy], 2))
def test_everything_goes_to_another_process(again):
    spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    peak = forecast.model("hardware/gpu-peak-fp16@exponential")
    made = size(rate=peak, chips=spend / forecast.value(3e4, "USD"))
    loss = forecast.law("scaling/chinchilla").fit(training_runs())(N=made, D=forecast.value(1e12, "token"))
    condition = (loss <= 1.9) & (spend >= "1e8 USD")
    answer = condition.when(until=2030, draws=50)
    scenario = forecast.scenario("brain-parity")
    joint = forecast.draws({"a": [1.0, 2.0]}, name="posterior")["a"]
    path = forecast.path([2025, 2030], [[1.0, 2.0], [3.0, 4.0]], name="many")
    gamma = forecast.uncertain(stats.gamma(2), name="gamma")
    for each in (spend, made, loss, joint, path, gamma):
        assert again(each).name == each.name
        assert_bitwise(level(again(each), each.name).values, level(each).values)
    assert again(condition).text == condition.text
    assert_bitwise(np.asarray(again(answer)), np.asarray(answer))
    theirs, money = again((answer, spend))
    assert theirs.given(money >= 2e8).never == theirs.given("spend >= 2e8").never == answer.given(spend >= 2e8).never
    assert again(scenario).to_toml() == scenario.to_toml()


@pytest.mark.parametrize(
    ("stated", "same"),
    [
        ({"p05": "1 EFLOP/s", "p95": "2 ZFLOP/s"}, {"p05": 1, "p95": 2000, "unit": "EFLOP/s"}),
        ({"p05": "1 EFLOP/s", "p95": 2000}, {"p05": 1, "p95": 2000, "unit": "EFLOP/s"}),
        ({"normal": ["1 GW", "3000 MW"], "width": 0.8}, {"normal": [1, 3], "width": 0.8, "unit": "GW"}),
        (
            {"quantiles": {0.05: "1 day", 0.95: "48 hour"}, "unit": "hour"},
            {"quantiles": {0.05: 24, 0.95: 48}, "unit": "hour"},
        ),
    ],
)
def test_texts_with_units_make_a_distribution(stated, same):
    made, expected = forecast.uncertain(**stated, name="x"), forecast.uncertain(**same, name="x")
    assert made.record == expected.record


def test_texts_of_other_units_and_no_numbers_are_refused():
    with pytest.raises(UnitError, match=r"x\.p95"):
        forecast.uncertain(p05="1 EFLOP/s", p95="2 day", name="x")
    with pytest.raises(ScenarioError, match=r"x\.p95: expected a finite number, got 'many'"):
        forecast.uncertain(p05=1, p95="many", name="x")
