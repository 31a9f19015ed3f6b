"""A trend of one's own data in a scenario takes what `forecast.trend` takes."""

import dataclasses
import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import forecast
from forecast import Scenario
from forecast.contract.specs import TrendSpec
from forecast.errors import QualifierError, ScenarioError, UnknownNameError, UsageError
from forecast.scenarios.graph import build
from forecast.scenarios.kinds.series_ref import SeriesRef

CSV = """year,kind,precision,speed
2000,a,fp32,1
2000.5,a,fp32,3
2001,a,fp32,2
2002,a,fp32,8
2003,a,fp32,16
2004,b,fp16,700
2005,a,fp32,64
"""
PLAIN = {"shape": "trends/exponential", "x": "year", "y": "speed", "unit": "TFLOP/s"}


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(CSV)
    return str(path)


def scenario(csv, **keys):
    return Scenario.from_dict({"quantities": {"mine": {**PLAIN, "data": csv, **keys}}})


def model(csv, **keys):
    return build(scenario(csv, **keys)).nodes["mine"].models[()]


def test_a_scenario_a_trend_and_a_record_take_the_same():
    in_scenario = {field.name for field in dataclasses.fields(SeriesRef)}
    assert set(inspect.signature(forecast.trend).parameters) == in_scenario | {
        *("name", "keeps", "scale", "floor", "ceiling")  # any quantity's
    }
    # a record of a plugin names a table, which is described
    assert in_scenario - {"data", "reading", "of_rows"} <= {field.name for field in dataclasses.fields(TrendSpec)}


@pytest.mark.parametrize(
    ("keys", "years"),
    [
        ({}, [2000, 2000.5, 2001, 2002, 2003, 2005]),
        ({"yearly": True}, [2000.5, 2001, 2002, 2003, 2005]),
        ({"records": True}, [2000, 2000.5, 2002, 2003, 2005]),
        ({"since": "2001-01-01"}, [2001, 2002, 2003, 2005]),
        ({"records": True, "since": "2002-01-01"}, [2002, 2003, 2005]),
    ],
)
def test_the_rows_that_are_kept_are_those_of_the_function(csv, keys, years):
    keys = {"where": {"kind": "a"}, **keys}
    found = model(csv, **keys).fit().observed()
    same = forecast.trend(csv, **PLAIN, **keys).fit().observed()
    assert found.time.tolist() == same.time.tolist() == years
    assert found.value.tolist() == same.value.tolist()


def test_it_runs_from_a_file_where_since_is_a_date_of_toml(csv, tmp_path):
    text = "until = 2007\n[quantities.mine]\n" + "".join(f'{key} = "{value}"\n' for key, value in PLAIN.items())
    text += 'data = "mine.csv"\nsince = 2002-01-01\nwhere = { kind = "a" }\nyearly = true\n'
    (tmp_path / "mine.toml").write_text(text)
    run = forecast.project(tmp_path / "mine.toml", draws=20)
    # every value doubles in a year: 64 in 2005
    assert float(run["projection"]["mine"].median("draw")[-1]) == pytest.approx(256, rel=0.01)


def test_rows_of_two_precisions_are_one_series_only_where_that_is_said(csv):
    with pytest.raises(QualifierError, match="mixes precision fp16 and fp32"):
        model(csv).fit()
    assert model(csv, qualifiers={"precision": "mixed"}).fit().observed().time.size == 7
    assert forecast.trend(csv, **PLAIN, qualifiers={"precision": "mixed"}).model.qualifiers == {"precision": "mixed"}


def test_what_where_keeps_is_part_of_the_basis(csv):
    kept = {"where": {"precision": "fp32"}}
    assert forecast.trend(csv, **PLAIN, **kept).model.qualifiers == {"precision": "fp32"}
    other = {"value": 1, "unit": "TFLOP/s", "qualifiers": {"precision": "fp16"}}
    rivals = {"quantities": {"mine": {**PLAIN, "data": csv, **kept}, "other": other}}
    with pytest.raises(QualifierError, match=r"fp32.*fp16"):
        build(Scenario.from_dict({**rivals, "questions": {"q": {"when": "mine >= other"}}}))


def test_the_hash_of_a_scenario_tells_which_rows_are_kept(csv):
    def hashed(**keys):
        return (
            forecast.project({"until": 2006, "quantities": {"mine": {**PLAIN, "data": csv, **keys}}}, draws=5)
            .to_xarray()
            .attrs["scenario_hash"]
        )

    kept = [{"kind": "a"}, {"precision": "fp32"}]
    assert hashed(where=kept[0]) == hashed(where=kept[0])
    assert hashed(where=kept[0]) != hashed(where=kept[1])


@pytest.mark.parametrize(
    ("keys", "error", "says"),
    [
        ({"wehre": {"kind": "a"}}, UnknownNameError, "quantities.mine: unknown key 'wehre'; did you mean 'where'"),
        ({"record": True}, UnknownNameError, "quantities.mine: unknown key 'record'; did you mean 'records'"),
        ({"sinse": "2001-01-01"}, UnknownNameError, "unknown key 'sinse'; did you mean 'since'"),
        ({"where": "a"}, ScenarioError, "quantities.mine.where: expected a table, got str"),
        (
            {"where": {"year": 2000}},
            ScenarioError,
            "quantities.mine.where.year: expected text, true or false, got 2000",
        ),
        ({"where": {"kind": ["a"]}}, ScenarioError, "quantities.mine.where.kind: expected text"),
        ({"where": {"kind": "{metric}"}}, ScenarioError, "where.kind: a choice may stand in shape and in data"),
        ({"where": {"knid": "a"}}, UnknownNameError, "unknown column 'knid'; did you mean 'kind'"),
        ({"where": {"kind": "z"}}, forecast.errors.EmptyDataError, "no row is left where kind = z"),
        ({"since": "then"}, ScenarioError, "quantities.mine.since: expected a date such as 2030, 2030-12"),
        ({"yearly": 1}, ScenarioError, "quantities.mine.yearly: expected true or false, got 1"),
        ({"records": "yes"}, ScenarioError, "quantities.mine.records: expected true or false, got"),
        ({"options": {"cpa": 3}}, UnknownNameError, "cpa"),
        ({"qualifiers": {"precison": "fp8"}}, UsageError, "unknown attribute 'precison'; did you mean 'precision'"),
    ],
)
def test_what_cannot_be_says_which_key(csv, keys, error, says):
    with pytest.raises(error, match=says) as caught:
        model(csv, **{"where": {"kind": "a"}, **keys}).fit()
    assert "\n" not in str(caught.value)


def test_since_must_be_a_date_in_python_too(csv):
    with pytest.raises(UsageError, match=r"trend: since: expected a date such as 2030, .*, got 'then'"):
        forecast.trend(csv, **PLAIN, since="then").fit()


@pytest.mark.parametrize(("kept", "first"), [(True, 2000), (False, 2001), ("true", 2000), ("false", 2001)])
def test_rows_are_kept_by_a_truth_value(kept, first):
    import xarray as xr

    flags = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    columns = {
        "year": ("row", np.arange(2000.0, 2006)),
        "speed": ("row", 2.0 ** np.arange(6)),
        "notable": ("row", flags, {"type": "boolean"}),
    }
    fitted = forecast.trend(xr.Dataset(columns), where={"notable": kept}, **PLAIN).fit()
    assert fitted.observed().time.tolist() == [first, first + 2, first + 4]
    record = {"quantities": {"mine": {**PLAIN, "data": "x.csv", "where": {"notable": kept}}}}
    assert Scenario.from_dict(record).quantities["mine"].where == {"notable": str(kept).lower()}


def test_a_figure_is_read_by_a_truth_value():
    cell = {"table": "datasets/capability", "column": "eci", "where": {"model": "x", "open": True}}
    made = Scenario.from_dict({"quantities": {"mine": cell}}).quantities["mine"]
    assert made.where == {"model": ("x",), "open": ("true",)}


def test_a_truth_value_that_is_none_says_what_is_accepted():
    with pytest.raises(UsageError, match="mine: where: year: expected text, True or False, got 2000"):
        forecast.trend({"year": [2000.0]}, where={"year": 2000}, name="mine", **PLAIN)


# --- choices ----------------------------------------------------------------------------------------------------------

FORK = """
start = 2005
until = 2008
[choices]
trend = ["exponential", "local-linear"]
set = [{sets}]
[quantities.mine]
shape = "trends/{{trend}}"
data = "{{set}}.csv"
x = "year"
y = "speed"
unit = "TFLOP/s"
where = {{ precision = "fp32" }}
"""


def fork(csv, sets='"mine", "other"'):
    other = CSV.replace("64", "128")
    Path(csv).with_name("other.csv").write_text(other)
    path = Path(csv).with_name("fork.toml")
    path.write_text(FORK.format(sets=sets))
    return path


def test_a_shape_and_the_data_are_choices(csv):
    run = forecast.project(fork(csv), draws=30)
    level = run["projection"]["mine"]
    assert level.dims[2:] == ("trend", "set")
    assert np.isfinite(level.values).all()
    names = {f"mine@{trend},{data}" for trend in ("exponential", "local-linear") for data in ("mine", "other")}
    assert set(run["posterior"].children) == names
    assert {name.partition(":")[0] for name in run.attributes["data"]} == {"mine.csv", "other.csv"}
    points = run["observed/mine"].to_dataset()
    assert set(points.coords) == {"date", "set"}  # the shape changes no point


def test_to_narrow_a_choice_leaves_the_draws_of_the_rest(csv):
    path = fork(csv)
    every = forecast.project(path, draws=30)["projection"]["mine"]
    one = forecast.project(path, draws=30, with_={"trend": "local-linear", "set": "other"})["projection"]["mine"]
    assert one.values.ravel().tobytes() == every.sel(trend="local-linear", set="other").values.ravel().tobytes()


def test_a_trend_with_one_shape_is_what_it_is_without_a_choice(csv):
    fitted = forecast.project(fork(csv), draws=30).to_xarray().attrs["models"]
    alone = scenario(csv, where={"precision": "fp32"})
    whole = json.loads(
        forecast.project(dataclasses.replace(alone, start=2005, until=2008), draws=30).to_xarray().attrs["models"]
    )
    assert json.loads(fitted)["mine@exponential,mine"]["facts"] == whole["mine"]["facts"]


def test_a_choice_does_not_lead_out_of_the_folder(csv):
    with pytest.raises(ScenarioError, match=r"quantities\.mine\.data: '\.\./mine\.csv' leaves the scenario's folder"):
        forecast.project(fork(csv, sets='"mine", "../mine"'), draws=5)


@pytest.mark.parametrize("key", ["shape", "data"])
def test_braces_name_a_choice(key):
    with pytest.raises(UnknownNameError, match=rf"quantities\.mine\.{key}: unknown choice 'which'"):
        Scenario.from_dict({"quantities": {"mine": {**PLAIN, "data": "mine.csv", key: "{which}"}}})
