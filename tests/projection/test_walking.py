"""Stocks, cycles through the past, and numbers that are solved for: closed forms, units, what is refused."""

import numpy as np
import pytest

import forecast
from forecast.base.dates import decimal_year
from forecast.errors import CycleError, DataError, ForecastError
from forecast.report import result_data


def run(record, **options):
    made = forecast.project({"start": 2025, "until": 2035, "step": "1/4", **record}, draws=3, **options)
    return made["projection"].to_dataset()


def path(data, name):
    return data[name].values[:, 0]


def years(data):
    return decimal_year(data["time"].values) - 2025


def test_a_stock_of_constant_growth_is_an_exponential():
    for method in ("rk4", "euler"):
        data = run({"stocks": {"S": {"initial": 2, "log_rate": "g", "method": method}},
                    "quantities": {"g": {"value": 0.3, "unit": "1/year"}}})  # fmt: skip
        np.testing.assert_allclose(path(data, "S"), 2 * np.exp(0.3 * years(data)), rtol=1e-12)


@pytest.mark.parametrize(("method", "order"), [("rk4", 4), ("euler", 1)])
def test_a_step_half_as_wide_is_nearer_by_the_order_of_the_method(method, order):
    record = {"stocks": {"S": {"initial": 0.1, "rate": "0.9*S*(1 - S)", "method": method}},
              "quantities": {"x": {"value": 1, "unit": ""}}}  # fmt: skip

    def error(step):
        data = run({**record, "step": step})
        exact = 1 / (1 + 9 * np.exp(-0.9 * years(data)))
        return np.abs(path(data, "S") - exact).max()

    assert np.log2(error("1/4") / error("1/8")) == pytest.approx(order, abs=0.25)


def test_capital_that_wears_out_and_is_invested_in():
    data = run({"step": "year", "stocks": {"K": {"initial": "100", "next": "K*(1 - d)**dt + invest*dt", "unit": "USD"}},
                "quantities": {"d": {"value": 0.1, "unit": ""}, "invest": {"value": 20, "unit": "USD"}}})  # fmt: skip
    expected = [100.0]
    for _ in range(10):
        expected.append(expected[-1] * 0.9 + 20)
    np.testing.assert_allclose(path(data, "K"), expected, rtol=1e-14)


def test_a_rate_has_the_unit_of_the_stock_a_year():
    record = {"stocks": {"cash": {"initial": "start_cash", "rate": "income - 0.1*cash/one_year", "unit": "USD"}},
              "quantities": {"income": {"value": 1e3, "unit": "USD/month"}, "one_year": {"value": 1, "unit": "year"},
                             "start_cash": {"value": 5, "unit": "USD"}}}  # fmt: skip
    data = run(record)
    ends = path(data, "cash")
    exact = 120_000 + (5 - 120_000) * np.exp(-0.1 * years(data))
    np.testing.assert_allclose(ends, exact, rtol=1e-6)
    record["stocks"]["cash"]["rate"] = "start_cash"
    with pytest.raises(ForecastError, match=r"stocks\.cash.*units do not balance"):
        run(record)


def test_what_needs_its_own_past_is_walked():
    record = {"quantities": {"x": {"expression": "1.1*previous(x)", "before": 1.0}}}
    np.testing.assert_allclose(path(run(record), "x"), 1.1 ** np.arange(1, 42), rtol=1e-12)
    record = {"quantities": {"x": {"expression": "2*lag(x, 1)", "before": 1.0}}}
    data = run(record)
    np.testing.assert_allclose(path(data, "x")[::4], 2.0 ** np.arange(1, 12), rtol=1e-12)


def test_two_that_feed_each_other():
    record = {"step": "year", "quantities": {
        "money": {"expression": "previous(machines)*2", "before": 1.0},
        "machines": {"expression": "previous(money) + 1", "before": 3.0},
        "most": {"expression": "maximum(money) - once(machines > 10)"}}}  # fmt: skip
    data = run(record)
    money, machines = [6.0], [2.0]
    for _ in range(10):
        money, machines = [*money, machines[-1] * 2], [*machines, money[-1] + 1]
    np.testing.assert_allclose(path(data, "money"), money)
    np.testing.assert_allclose(path(data, "machines"), machines)
    passed = np.maximum.accumulate(np.array(machines) > 10)
    np.testing.assert_allclose(path(data, "most"), np.maximum.accumulate(money) - passed)


def test_what_lies_outside_of_a_cycle_is_met_between_steps():
    # dS/dt = C with C = exp(g*t): at half-steps C is interpolated in its logarithm, so that this is Simpson's rule
    data = run({"step": "year", "stocks": {"S": {"initial": 0, "rate": "C"}},
                "quantities": {"C": {"expression": "exp(0.2*(t - start))"}}})  # fmt: skip
    exact = (np.exp(0.2 * years(data)) - 1) / 0.2
    np.testing.assert_allclose(path(data, "S"), exact, rtol=1e-6)


def test_a_ceiling_holds():
    data = run({"stocks": {"S": {"initial": 1, "log_rate": "1.0", "ceiling": "cap"}},
                "quantities": {"cap": {"p05": 50.0, "p95": 500.0, "unit": ""}}})  # fmt: skip
    ends, cap = data["S"].values, data["cap"].values
    assert (ends <= cap).all()
    np.testing.assert_allclose(ends[-1], cap[-1])


def test_an_equation_is_solved_world_by_world():
    record = {"quantities": {"x": {"p05": 0.5, "p95": 9.0, "unit": ""}, "y": {"expression": "k*x + x"}},
              "solve": {"k": {"so": "y == 7"}}}  # fmt: skip
    data = run(record)
    np.testing.assert_allclose(data["k"].values, 7 / data["x"].values - 1, rtol=1e-12)
    np.testing.assert_allclose(data["y"].values, 7.0, rtol=1e-12)


def test_a_rate_is_calibrated_at_the_start():
    data = run({"stocks": {"S": {"initial": 1, "log_rate": "k*S**(-b)"}},
                "solve": {"k": {"so": "log_rate(S) == log(5)"}},
                "quantities": {"b": {"low": 0.2, "high": 0.9, "unit": ""}}})  # fmt: skip
    np.testing.assert_allclose(data["k"].values, np.log(5), rtol=1e-12)
    b, since = data["b"].values[0], years(data)[:, np.newaxis]
    exact = (1 + b * np.log(5) * since) ** (1 / b)  # of dS/dt = k*S**(1 - b)
    np.testing.assert_allclose(data["S"].values, exact, rtol=2e-4)


def test_a_choice_walks_each_of_its_values():
    record = {"choices": {"g": ["as-needed", "as-measured"]},
              "stocks": {"S": {"initial": 1, "log_rate": "r"}},
              "quantities": {"r": {"model": "resources/compute-growth-{g}"}}}  # fmt: skip
    models = {
        "wanted": "frontier-progress", "by_compute": "progress-per-compute", "without_compute": "progress-per-year",
    }  # fmt: skip
    record["quantities"] |= {name: {"model": f"resources/{model}"} for name, model in models.items()}
    data = run(record)
    assert data["S"].dims == ("time", "draw", "g")
    np.testing.assert_allclose(np.log(data["S"].values[-1] / data["S"].values[-2]), data["r"].values[-1] / 4, rtol=1e-9)


def test_a_stock_may_be_set_and_fewer_worlds_are_the_first_of_more():
    record = {"start": 2025, "until": 2030, "stocks": {"S": {"initial": 1, "log_rate": "g*S**(-0.1)"}},
              "quantities": {"g": {"p05": 0.1, "p95": 0.9, "unit": "1/year"}}}  # fmt: skip
    few, many = (forecast.project(record, draws=n)["projection"]["S"].values for n in (5, 1500))
    np.testing.assert_array_equal(few, many[:, :5])
    held = forecast.project(record, draws=5, with_={"S": 3})["projection"]["S"].values
    np.testing.assert_array_equal(held, 3.0)


WRONG = {
    "same step": (
        {"quantities": {"x": {"expression": "y"}, "y": {"expression": "x"}}},
        CycleError, "needs itself: x → y → x",
    ),
    "no past": (
        {"quantities": {"x": {"expression": "previous(x)"}}},
        ForecastError, r"previous\(x\) needs 'x' at 2024\.75",
    ),
    "no solution": (
        {"quantities": {"y": {"expression": "k*k"}}, "solve": {"k": {"so": "y == -4"}}},
        DataError, "'y == -4' has no solution in 256 of 256 worlds",
    ),
    "a pole": (
        {"quantities": {"y": {"expression": "1/(k - 2)"}}, "solve": {"k": {"so": "y == 0"}}},
        DataError, "has no solution",
    ),
    "no equation": (
        {"quantities": {"y": {"expression": "k"}}, "solve": {"k": {"so": "y >= 1"}}},
        ForecastError, "expected an equation",
    ),
    "two moves": (
        {"stocks": {"S": {"initial": 1, "rate": "1", "next": "2"}}},
        ForecastError, "expected one of log_rate, rate, next",
    ),
    "no start": ({"stocks": {"S": {"rate": "1"}}}, ForecastError, r"stocks\.S\.initial: is missing"),
    "no method": (
        {"stocks": {"S": {"initial": 1, "rate": "1", "method": "rk5"}}},
        ForecastError, "did you mean 'rk4'",
    ),
    "no stock": (
        {"solve": {"k": {"so": "log_rate(S) == 1"}}, "quantities": {"S": {"value": 1, "unit": ""}}},
        ForecastError, "unknown stock with a log_rate 'S'",
    ),
    "unknown": (
        {"stocks": {"S": {"initial": 1, "rate": "grwth"}}, "quantities": {"growth_": {"value": 1, "unit": ""}}},
        ForecastError, "unknown quantity 'grwth'; did you mean 'growth_'",
    ),
    "not a number": (
        {"stocks": {"S": {"initial": -1, "log_rate": "log(S)"}}},
        DataError, r"stocks\.S: .* values are not numbers",
    ),
    "twice": (
        {"stocks": {"S": {"initial": 1, "rate": "1"}}, "quantities": {"S": {"value": 1, "unit": ""}}},
        ForecastError, "a stock, or a number that is solved for, has the same name",
    ),
    "unit": (
        {"quantities": {"x": {"expression": "2*previous(x)", "before": 1.0, "unit": "USD"},
                        "z": {"expression": "x + 1"}}},
        ForecastError, "units do not balance",
    ),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cannot_be_is_refused(wrong):
    record, error, says = WRONG[wrong]
    with pytest.raises(error, match=says):
        run({"quantities": {"one": {"value": 1, "unit": ""}, **record.get("quantities", {})},
             **{k: v for k, v in record.items() if k != "quantities"}})  # fmt: skip


# --- limits on a cycle -----------------------------------------------------------------------------------------------

COMPOUND = {"g": {"p05": 0.2, "p95": 0.6, "unit": ""}, "cap": {"expression": "10 + t - start"}}


def compound(**stated):
    """Return g and x, each what it was a step before, times 1 + g, from 1; and the limits that were told."""
    x = {"expression": "previous(x)*(1 + g)", "unit": "", "before": 1, **stated}
    record = {"start": 2025, "until": 2040, "quantities": {**COMPOUND, "x": x, "twice": {"expression": "2*x"}}}
    tree = forecast.project(record, draws=50)
    data = tree["projection"].to_dataset()
    np.testing.assert_array_equal(data["twice"].values, 2 * data["x"].values)
    return data["g"].values[0], data["x"].values, result_data.limit_rows(tree)


@pytest.mark.parametrize(
    ("stated", "held"),
    [
        ({"limit": "cap"}, lambda v, k: np.minimum(v, 10 + k)),
        ({"limit": "cap", "how": "saturating"}, lambda v, k: (10 + k) * (1 - np.exp(-v / (10 + k)))),
        ({"limit": "cap", "at_least": 4}, lambda v, k: np.maximum(np.minimum(v, 10 + k), 4)),
        ({"keeps": "positive", "at_most": 1e9}, lambda v, k: v),
    ],
)
def test_a_limit_of_what_stands_on_a_cycle_is_felt_at_the_next_step(stated, held):
    g, found, _ = compound(**stated)
    now = np.ones_like(g)
    for step in range(16):
        now = held(now * (1 + g), step)
        np.testing.assert_allclose(found[step], now, rtol=1e-12)


def test_when_a_limit_on_a_cycle_binds_is_told():
    _, found, (row,) = compound(limit="cap")
    at_cap = found == 10 + np.arange(16)[:, None]
    assert row["ever"] == at_cap.any(axis=0).mean()
    assert 0.5 < row["ever"] < 1


def test_a_frontier_on_a_cycle_never_falls_and_others_see_it():
    wave = {
        "expression": "where(t < 2030, previous(y) + 1, 0.5*previous(y))",
        "unit": "",
        "before": 3,
        "keeps": "frontier",
    }
    data = run({"step": "year", "quantities": {"y": wave}})
    np.testing.assert_array_equal(path(data, "y"), [4, 5, 6, 7, 8, 8, 8, 8, 8, 8, 8])


@pytest.mark.parametrize("method", ["rk4", "euler"])
def test_a_stock_that_feeds_on_a_limited_rate_grows_by_the_limit(method):
    data = run({"stocks": {"S": {"initial": 1, "rate": "spend", "unit": "USD", "method": method}},
                "quantities": {"spend": {"expression": "S/one", "unit": "USD/year", "limit": "2 USD/year"},
                               "one": {"value": 1, "unit": "year"}}})  # fmt: skip
    late = path(data, "S")[path(data, "spend") >= 2]
    np.testing.assert_allclose(np.diff(late), 2 * 0.25, rtol=1e-9)
    assert len(late) > 20


def test_a_function_stands_on_a_cycle_and_is_taken_at_half_steps_too():
    def decay(**given):
        return -given["rate"] * given["now"]

    run = forecast.project(
        {
            "start": 2025, "until": 2027, "step": "1/12",
            "quantities": {
                "rate": {"uniform": [0.5, 1.5], "unit": ""},
                "lost": {"function": decay, "unit": "", "inputs": {"now": "", "rate": ""}, "now": "S", "rate": "rate"},
            },
            "stocks": {"S": {"initial": 1, "rate": "lost"}},
        },
        draws=2000,
    )["projection"]  # fmt: skip
    rate = run["rate"].values[0]
    np.testing.assert_allclose(run["S"].values[-1], np.exp(-2 * rate), rtol=1e-5)  # of order four in the step
    np.testing.assert_allclose(run["lost"].values, -run["S"].values * run["rate"].values, rtol=1e-12)


def test_a_function_of_the_same_step_is_a_cycle_still():
    asked = {
        "start": 2025, "until": 2027,
        "quantities": {
            "x": {"function": abs, "unit": "", "inputs": {"y": ""}, "y": "z"},
            "z": {"expression": "x + 1"},
        },
    }  # fmt: skip
    with pytest.raises(CycleError):
        forecast.project(asked, draws=10)


@pytest.mark.parametrize("draws", [3, 2000])
def test_parts_of_a_formula_that_rest_on_no_stock_are_those_of_the_formula_written_out(draws):
    """A part that stays, one that moves with time and one of the date, each beside a stock that differs by world."""
    record = {"start": 2025, "until": 2030, "step": "1/12",
              "quantities": {"a": {"p05": 0.1, "p95": 0.4, "unit": ""}, "c": {"expression": "1 + 0.1*(t - start)"},
                             "doubled": {"expression": "S*(2*a)"}, "still": {"expression": "where(k > 0, a + k, 0)"}},
              "stocks": {"S": {"initial": 1, "rate": "still*0 + (1 + a)**2*c*sqrt(1 + t - start)*S/(1 + S) + 0*doubled",
                               "method": "euler"}},
              "solve": {"k": {"so": "rate(S) == (1 + a)**2/2*k", "at": "start"}}}  # fmt: skip
    made = forecast.project(record, draws=draws).worlds
    a, date, stock = made["a"].values[0], decimal_year(made["time"].values), np.ones(draws)
    for step, now in enumerate(date):
        np.testing.assert_allclose(made["S"].values[step], stock, rtol=1e-12)
        c = 1 + 0.1 * (now - 2025)
        width = date[step + 1] - now if step + 1 < len(date) else 0
        stock = stock + width * (1 + a) ** 2 * c * np.sqrt(1 + now - 2025) * stock / (1 + stock)
    np.testing.assert_allclose(made["still"].values, np.broadcast_to(a + 1, made["still"].shape), rtol=1e-12)
    np.testing.assert_allclose(made["doubled"].values, made["S"].values * 2 * a, rtol=1e-12)
