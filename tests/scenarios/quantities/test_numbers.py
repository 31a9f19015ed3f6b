"""Choices in numbers: a distribution, a schedule or a regime is read anew for every combination."""

from __future__ import annotations

import numpy as np
import pytest

import forecast
from forecast.errors import ScenarioError, UnknownNameError
from forecast.report import summary
from forecast.scenarios.scenario import Scenario
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
    named = [row["name"] for row in summary.drivers(tree)[0]["drivers"]]
    assert "x" in named
    narrowed = forecast.project(made, draws=1000, set={"low": "2", "x": "3..4"})
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
