"""Experience curves as trends: from a scenario, from a record, pooled, backtested, on the command line."""

import json

import numpy as np
import pytest

import forecast
from forecast.errors import DataError, UnitError, UnknownNameError
from forecast.streams import Streams
from forecast_trends.hindcast import coverage
from forecast_trends.learning.experience import Experience

YEARS = np.arange(1990, 2026)
MADE = 5 + np.cumsum(np.exp(np.cumsum(0.2 + 0.1 * np.random.default_rng(0).standard_normal(36))))
COST = 90 * MADE**-0.4 * np.exp(np.cumsum(0.05 * np.random.default_rng(1).standard_normal(36)))
DATA = {"year": YEARS, "cost": COST, "units": MADE, "sold": np.diff(MADE, prepend=0)}
COLUMN = {"shape": "trends/experience", "x": "year", "y": "cost", "unit": "USD"}
BY = {"cumulative": "units"}


def mine(data=DATA, options=BY, **given):
    return forecast.trend(data, **COLUMN, options=options, **given).model


@pytest.fixture
def table(tmp_path):
    rows = "\n".join(f"{y},{c:.6g},{m:.6g}" for y, c, m in zip(YEARS, COST, MADE, strict=True))
    (tmp_path / "cells.csv").write_text(f"year,cost,units\n{rows}\n", encoding="utf-8")
    return tmp_path


def quantity(folder, **options):
    return {**COLUMN, "data": str(folder / "cells.csv"), "options": {**BY, **options}}


def test_a_trend_of_the_users_own_data():
    said = mine().fit().describe()
    assert said.facts["w"] == pytest.approx(0.4, abs=0.15)
    assert "with every doubling of all that was ever made" in said.summary
    assert mine(options={"cumulative": "units*1e6"}).fit().describe().facts["w"] == pytest.approx(said.facts["w"])


def test_a_scenario_projects_it_under_three_futures_of_production(table):
    quantities = {
        "on": quantity(table),
        "stopped": quantity(table, growth=0),
        "judged": quantity(table, growth={"p05": 0.0, "p95": 0.4, "source": "a guess"}),
        "none": {"expression": "on - on"},
        "goal": {"value": 1.0, "unit": "USD"},
    }
    record = {"start": 2020, "until": 2050, "quantities": quantities, "questions": {"cheap": {"when": "on <= goal"}}}
    record["show"] = list(quantities)
    many, again = (forecast.project(record, draws=1500) for _ in range(2))
    few, long, month = (
        forecast.project({**record, **change}, draws=300) for change in ({}, {"until": 2080}, {"step": "month"})
    )
    fixed = forecast.project(record, draws=300, with_={"judged.growth": 0.0})
    for name in ("on", "stopped", "judged"):
        values = many["projection"][name]
        assert values.attrs["units"] == "USD"
        assert (values.values == again["projection"][name].values).all()
        assert (values.values[:, :300] == few["projection"][name].values).all()
        assert (long["projection"][name].values[: values.sizes["time"]] == few["projection"][name].values).all()
        yearly = month["projection"][name].sel(time=values["time"]).values
        assert np.log(yearly) == pytest.approx(np.log(few["projection"][name].values), abs=1e-9)
    assert (many["projection"]["none"].values == 0).all()
    end = {name: many["projection"][name].isel(time=-1) for name in ("on", "stopped", "judged")}
    assert end["stopped"].median() > 3 * end["on"].median()
    assert np.log(end["judged"]).std() > 1.5 * np.log(end["stopped"]).std()
    # a number that stands for a distribution is that number, given as an option
    ratio = fixed["projection"]["judged"] / fixed["projection"]["stopped"]
    assert np.log(ratio.isel(time=-1)).mean() == pytest.approx(0.0, abs=0.1)
    assert (
        forecast.project({**record, "quantities": quantities | {"stopped": quantity(table, growth=0.1)}}, draws=1)
        .to_xarray()
        .attrs["scenario_hash"]
        != many.attributes["scenario_hash"]
    )
    assert "judged.growth" in json.dumps(list(fixed.to_xarray().attrs.items()))
    assert many["questions"]["cheap"].sel(quantile=0.5).dt.year.item() > 2025
    assert "on" in many["observed"]


def test_a_forecast_made_in_the_past_sees_neither_the_cost_nor_the_production_of_later(table):
    then = {k: np.asarray(v)[YEARS < 2010] for k, v in DATA.items()}
    cut, whole = mine().fit(as_of=2010.0), mine(then).fit()
    ahead = np.array([2012.0, 2025.0])
    assert (cut.sample(ahead, {}, Streams(0, "a", 0)) == whole.sample(ahead, {}, Streams(0, "a", 0))).all()
    record = {"start": 2010, "until": 2025, "quantities": {"x": quantity(table)}}
    run = forecast.project(record, as_of=2010.0, draws=500)
    low, high = run["projection"]["x"].isel(time=-1).quantile([0.05, 0.95])
    assert low < COST[-1] < high


def test_an_instance_reads_the_column_it_names_and_coverage_does_too():
    given = forecast.trend(DATA, shape=Experience(cumulative="units"), x="year", y="cost", unit="USD").model
    assert given.fit().describe() == mine().fit().describe()
    table = {**DATA, "tech": ["cells"] * 36}
    columns = {"series": "tech", "x": "year", "y": "cost"}
    by_name = coverage(table, **columns, shape="trends/experience", options=BY, horizon=5)
    assert by_name.identical(coverage(table, **columns, shape=Experience(cumulative="units"), horizon=5))
    assert by_name.attrs["failed"] == 0
    assert 0.7 < by_name.attrs["coverage"] <= 1
    with pytest.raises(UnknownNameError, match="series 'cells': column for 'cumulative': unknown column 'cumulative'"):
        coverage(table, **columns, shape="trends/experience")


WRONG = {
    "missing": (
        {"options": {}},
        UnknownNameError,
        "column for 'cumulative': unknown column 'cumulative'; known: cost, ",
    ),
    "misspelt": (
        {"options": {"cumulative": "unist"}},
        UnknownNameError,
        "unknown column 'unist'; did you mean 'units'",
    ),
    "other option": ({"options": {"cumulatve": "units"}}, UnknownNameError, "unknown option 'cumulatve'; did you mean"),
    "yearly": (
        {"options": {"cumulative": "sold"}},
        DataError,
        "expected all that was ever made, which never falls, got .* at ",
    ),
    "unit": ({"options": {**BY, "growth": {"p05": 0, "p95": 1, "unit": "USD"}}}, UnitError, r"options\.growth"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_trend_is_named(case):
    given, error, says = WRONG[case]
    with pytest.raises(error, match=says) as caught:
        mine(**given).fit()
    assert "\n" not in str(caught.value)
