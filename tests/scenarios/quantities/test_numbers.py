"""Choices in numbers: a distribution, a schedule or a regime is read anew for every combination."""

import numpy as np
import pytest

import forecast
from forecast import Scenario, save
from forecast.errors import FormulaError, ScenarioError, UnitError, UnknownNameError
from forecast.report import figures, result_data
from tests.toolkit import assert_bitwise

RECORD = {
    "start": 2025,
    "until": 2040,
    "choices": {
        "cost": {"values": ["1e9", "1e10"], "kind": "definition"},
        "low": {"values": ["1", "2"], "weights": "equal"},
    },
    "quantities": {
        "x": {"lognormal": ["{low}", "{low}0"], "unit": "USD"},
        "y": {"p05": "{low}", "p95": 7, "unit": "USD"},
        "c": {"value": "{cost}", "unit": "USD"},
        "plan": {"schedule": [[2025, "{low}"], [2035, "{cost}"]], "as": "level", "between": "log", "unit": "USD"},
        "kind": {"draw": {"fast": "0.{low}", "slow": "0.{rest}"}},
        "other": {"lognormal": [1, 4], "unit": "USD"},
    },
    "questions": {"q": {"when": "plan >= 100*x"}},
}
RECORD["choices"]["rest"] = ["9", "8"]


def record(**quantities):
    return {**RECORD, "quantities": {**RECORD["quantities"], **quantities}}


def test_every_combination_is_what_it_would_be_with_its_numbers():
    plain = record(kind={"draw": {"fast": 0.1, "slow": 0.9}})
    tree = forecast.project(plain, draws=200)
    dims = {name: values.dims[2:] for name, values in tree["projection"].data_vars.items()}
    assert dims == {"x": ("low",), "y": ("low",), "c": ("cost",), "plan": ("cost", "low"), "kind": (), "other": ()}
    for cost, low in (("1e9", "1"), ("1e9", "2"), ("1e10", "1"), ("1e10", "2")):
        numbers = {
            "x": {"lognormal": [float(low), float(f"{low}0")], "unit": "USD"},
            "y": {"p05": float(low), "p95": 7, "unit": "USD"},
            "c": {"value": float(cost), "unit": "USD"},
            "plan": {**RECORD["quantities"]["plan"], "schedule": [[2025, float(low)], [2035, float(cost)]]},
        }
        alone = forecast.project({**plain, "choices": {}, "quantities": {**plain["quantities"], **numbers}}, draws=200)
        for name, values in tree["projection"].data_vars.items():
            here = values.sel({d: v for d, v in {"cost": cost, "low": low}.items() if d in values.dims})
            assert_bitwise(here.values, alone["projection"][name].values)
        assert_bitwise(tree["questions"]["q_date"].sel(cost=cost, low=low).values, alone["questions"]["q_date"].values)


def test_probabilities_and_moving_together():
    made = record(kind={"draw": {"fast": "0.{low}", "slow": "0.{rest}"}})
    made["choices"] = {**RECORD["choices"], "low": ["1"], "rest": ["9"]}
    tree = forecast.project(made, draws=4000)
    assert float((tree["projection"]["kind"].isel(time=0) == 0).mean()) == pytest.approx(0.1, abs=0.02)
    group = [{"of": ["other", "x"], "rho": 0.8}]
    tree = forecast.project({**record(kind=RECORD["quantities"]["other"]), "correlations": group}, draws=4000)
    other = np.log(tree["projection"]["other"].values[0])
    for low in ("1", "2"):
        x = np.log(tree["projection"]["x"].sel(low=low).values[0])
        assert np.corrcoef(other, x)[0, 1] == pytest.approx(2 * np.sin(np.pi * 0.8 / 6), abs=0.02)


def test_it_is_a_driver_is_narrowed_set_and_written_out():
    made = record(kind=RECORD["quantities"]["other"])
    tree = forecast.project(made, draws=1000)
    named = [row["name"] for row in result_data.driver_rows(tree)[0]["drivers"]]
    assert "x" in named
    narrowed = forecast.project(made, draws=1000, with_={"low": "2", "x": "3..4"})
    assert narrowed["projection"]["x"].dims == ("time", "draw")
    assert float(narrowed["projection"]["x"].min()) >= 3
    again = Scenario.from_dict(made)
    assert Scenario.from_dict(again.stated) == again


@pytest.mark.parametrize(
    ("quantity", "error", "says"),
    [
        ({"value": "{word}", "unit": ""}, ScenarioError,
         r"quantities\.z\.value: expected a number: '\{word\}' is 'high' where word = high"),
        ({"lognormal": ["{low}", "1e{word}"], "unit": ""}, ScenarioError,
         r"quantities\.z\.lognormal: expected a number: '1e\{word\}' is '1ehigh'"),
        ({"value": "{lo}", "unit": ""}, UnknownNameError, "unknown choice 'lo'; did you mean 'low'"),
        ({"value": "{low", "unit": ""}, ScenarioError, "braces do not match"),
        ({"normal": ["{cost}", "{low}"], "unit": ""}, ScenarioError, r"quantities\.z.*expected low < high"),
        ({"schedule": [[2025, "{word}"]], "as": "level", "unit": ""}, ScenarioError, "schedule: expected a number"),
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused(quantity, error, says):
    made = record(kind=RECORD["quantities"]["other"], z=quantity)
    made["choices"] = {**RECORD["choices"], "word": ["high", "3"]}
    with pytest.raises(error, match=says):
        forecast.project(made, draws=2)


# --- in formulas ------------------------------------------------------------------------------------------------------

GOALS = {
    "start": 2025,
    "until": 2060,
    "choices": {
        "goal": {"values": ["50", "5000"], "kind": "definition"},
        "cap": {"values": ["1 kFLOP/s", "0.2 MFLOP/s"], "kind": "definition"},
        "rate": {"values": ["0.2", "0.4"], "weights": "equal"},
    },
    "quantities": {
        "noise": {"lognormal": [0.5, 2], "unit": "FLOP/s"},
        "machine": {"expression": "noise*exp({rate}*(t - start))", "limit": "{cap}"},
        "price": {"expression": "2*noise", "unit": "FLOP/s", "at_least": "{goal}"},
    },
    "questions": {
        "there": {"when": "machine >= {goal}"},
        "first": {"when": "price <= {goal}*noise"},
        "worth": {"value": "machine/noise + {rate}", "dates": [2030]},
        "none": {"when": "machine >= {cap}"},
    },
}


def at(record, **values):
    """Return the scenario as it would be written for these values."""
    if isinstance(record, str):
        for name, value in values.items():
            record = record.replace(f"{{{name}}}", value)
        return record
    if isinstance(record, dict):
        return {key: at(value, **values) for key, value in record.items()}
    return record


def test_a_formula_is_what_it_would_be_with_the_number_there():
    tree = forecast.project(GOALS, draws=200)
    assert tree["projection"]["machine"].dims == ("time", "draw", "cap", "rate")
    assert set(tree["projection"].data_vars) == set(GOALS["quantities"])
    assert tree["questions"]["there_date"].dims == ("draw", "goal", "cap", "rate")
    for goal, cap, rate in (("50", "1 kFLOP/s", "0.2"), ("5000", "0.2 MFLOP/s", "0.4"), ("50", "0.2 MFLOP/s", "0.2")):
        chosen = {"goal": goal, "cap": cap, "rate": rate}
        alone = forecast.project({**at(GOALS, **chosen), "choices": {}}, draws=200)
        for group in ("projection", "questions"):
            for name, values in tree[group].data_vars.items():
                here = values.sel({d: v for d, v in chosen.items() if d in values.dims})
                if values.dtype.kind == "M":
                    assert_bitwise(here.values, alone[group][name].values)
                else:
                    np.testing.assert_allclose(here.values, alone[group][name].values, rtol=1e-12)


def test_it_is_said_drawn_saved_and_swept(tmp_path):
    tree = forecast.project(GOALS, draws=100)
    assert tree.attributes["questions"]["there"]["when"] == "machine >= {goal}"
    assert forecast.load(save(tree, tmp_path / "n.nc")).run.identical(tree)
    figures.plot_projection(tree, tmp_path / "n.svg")
    narrowed = forecast.project(GOALS, draws=100, with_={"goal": "50"})
    assert_bitwise(narrowed["questions"]["there_date"].values, tree["questions"]["there_date"].sel(goal=["50"]).values)
    assert Scenario.from_dict(Scenario.from_dict(GOALS).stated) == Scenario.from_dict(GOALS)


@pytest.mark.parametrize(
    ("part", "error", "says"),
    [
        ({"when": "machine >= {word}"}, ScenarioError,
         r"'\{word\}' stands for a number: expected numbers as the values of choice 'word', .* got 'high'"),
        ({"when": "machine >= {gaol}"}, UnknownNameError, "unknown choice 'gaol'; did you mean 'goal'"),
        ({"when": "machine >= {mixed}"}, ScenarioError, "choice 'mixed': expected a unit with every number"),
        ({"when": "machine >= {goal"}, FormulaError, "machine"),
        ({"when": "machine >= {money}"}, UnitError, "USD"),
        ({"when": "machine + {goal} >= 3"}, UnitError, "FLOP/s"),
    ],
)  # fmt: skip
def test_what_is_no_number_in_a_formula_is_refused(part, error, says):
    more = {"word": ["high", "3"], "mixed": ["1", "2 FLOP/s"], "money": ["1 USD", "2 USD"]}
    made = {**GOALS, "choices": {**GOALS["choices"], **more}, "questions": {"q": part}}
    with pytest.raises(error, match=says):
        forecast.project(made, draws=2)
