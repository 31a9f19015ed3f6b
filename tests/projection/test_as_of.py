"""As of a date: what was not known is not read, what rests on it is left out and named, and the rest is answered."""

import datetime

import numpy as np
import pytest

import forecast
from forecast.contract.registry import get_registry
from forecast.errors import UsageError
from tests.toolkit import command

run_command = command("run")
SCENARIOS = get_registry().names("scenario")


def rows(path, text):
    path.write_text(text)
    return str(path)


@pytest.fixture
def scenario(tmp_path):
    """Return a scenario of a long series, a short one, an undated table's law, and rivals that read them."""
    long = rows(tmp_path / "long.csv", "date,y\n" + "".join(f"{2010 + i}-01-01,{2.0**i}\n" for i in range(16)))
    short = rows(tmp_path / "short.csv", "date,y\n" + "".join(f"{2021 + i}-01-01,{3.0**i}\n" for i in range(5)))
    trend = {"shape": "trends/exponential", "x": "date", "y": "y", "unit": ""}
    return {
        "start": 2026,
        "until": 2036,
        "choices": {"route": {"values": ["a", "b"], "kind": "rival", "weights": "equal"}},
        "quantities": {
            "long": {"data": long, **trend},
            "short": {"data": short, **trend},
            "by": {"draw": {"long": 0.25, "short": 0.25, "flat": 0.5}},
            "mixed": {"expression": "where(by == 'long', long, where(by == 'short', short, 7))"},
            "capped": {"expression": "long", "limit": "short"},
            "reads": {"expression": "2*short"},
            "alone": {"expression": "3*long"},
        },
        "questions": {
            "first": {"when": "alone >= 1e6"},
            "second": {"when": "reads >= 1e6"},
            "third": {"value": "mixed", "dates": ["2026-01-01"]},
        },
    }


def test_what_reads_what_had_no_data_is_left_out_and_the_rest_is_as_before(scenario):
    run = forecast.project(scenario, draws=64, as_of=2022.0)
    assert "short" not in run.quantities
    assert "reads" not in run.quantities
    assert list(run.answers) == ["first", "third"]
    assert any("'short'" in text for text in map(str, run.warnings) if "left out" in text)
    assert "as of 2022-01-01: questions without an answer: second" in map(str, run.warnings)
    plain = {**scenario, "start": 2022}
    del plain["questions"]
    alone = forecast.project(
        {**plain, "quantities": {name: plain["quantities"][name] for name in ("long", "alone")}}, draws=64, as_of=2022.0
    )
    np.testing.assert_array_equal(run.worlds["alone"], alone.worlds["alone"])


def test_a_run_as_of_a_date_starts_there_and_reaches_the_dates_that_are_asked_for(scenario):
    run = forecast.project(scenario, draws=64, as_of=2022.4)
    assert run.years[0] == pytest.approx(2022.4)
    assert run.years[-1] >= 2036
    assert forecast.project(scenario, draws=64, as_of=2022.4, start=2024).years[0] == 2024
    assert max(run.newest.values()) < "2022-05-26"


def test_labels_without_data_are_not_drawn_and_the_others_keep_their_weights(scenario):
    run = forecast.project(scenario, draws=4096, as_of=2022.0)
    drawn = run.worlds["by"].values[0]
    assert set(np.unique(drawn)) == {0, 2}  # long and flat
    assert np.mean(drawn == 0) == pytest.approx(1 / 3, abs=0.02)
    assert np.isfinite(run.worlds["mixed"]).all()
    assert any(text.startswith("as of 2022-01-01: by: only long, flat") for text in map(str, run.warnings))


def test_a_limit_without_data_does_not_bind(scenario):
    run = forecast.project(scenario, draws=64, as_of=2022.0)
    np.testing.assert_array_equal(run.worlds["capped"], run.worlds["long"])
    assert not run.limits
    assert any("which do not bind: capped" in text for text in map(str, run.warnings))


def test_a_rival_without_data_leaves_its_weight_to_the_others(scenario):
    scenario["choices"] = {"trend": {"values": ["exponential", "local-linear"], "kind": "rival", "weights": "equal"}}
    scenario["quantities"]["short"]["shape"] = "trends/{trend}"  # a local linear trend needs five records
    run = forecast.project(scenario, draws=64, as_of=2024.5)
    assert run.choices["trend"].values == ("exponential",)
    assert "second" in run.answers
    assert not run.failures


def test_what_is_left_out_is_the_same_in_other_processes(scenario):
    one, two = (forecast.project(scenario, draws=9000, as_of=2022.0, workers=n) for n in (1, 2))
    assert one.identical(two)


def test_without_anything_to_answer_the_error_names_the_model(scenario, tmp_path):
    del scenario["questions"]["third"]
    with pytest.raises(forecast.errors.DataError, match=r"nothing is left to answer as of 2005-01-01: .*'long'"):
        forecast.project(scenario, draws=64, as_of=2005.0)


def test_nothing_is_left_out_without_a_date(scenario):
    run = forecast.project(scenario, draws=64)
    assert list(run.answers) == ["first", "second", "third"]
    assert not [t for t in map(str, run.warnings) if "as of" in t]


def test_the_command_reads_dates_and_refuses_what_is_none(capsys):
    said = run_command(capsys, "brain-parity", "--as-of", "2024-01-01", "--draws", "16", "--json")
    assert said.code == 0
    assert said.json["result"]["newest"]
    assert run_command(capsys, "brain-parity", "--as-of", "soon").code == 2


@pytest.mark.slow
@pytest.mark.parametrize("date", ["2024-01-01", "2025-06-01"])
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_answers_as_of_a_date_or_names_what_it_lacks(capsys, name, date):
    said = run_command(capsys, name, "--as-of", date, "--draws", "64", "--json")
    if said.code:
        assert "model '" in said.refused(1)
        return
    found = said.json["result"]
    assert not {table: newest for table, newest in found.get("newest", {}).items() if newest >= date}
    assert found["quantities"]


def test_a_date_is_a_year_or_a_text_and_anything_else_is_told_what_one_is(scenario):
    year = forecast.project(scenario, draws=64, as_of=2022.0)
    for text in ("2022", "2022.0", "2022-01-01", np.datetime64("2022-01-01"), datetime.date(2022, 1, 1)):
        assert forecast.project(scenario, draws=64, as_of=text).identical(year)
    for wrong in ("soon", "2022-13-01", "today", "", "99999-01-01"):
        with pytest.raises(UsageError, match=r"as_of: expected a year or a date, 2024\.5 or '2024-07-01', got"):
            forecast.project(scenario, draws=64, as_of=wrong)
    with pytest.raises(UsageError, match="as_of: expected a year from 1 to 9999"):
        forecast.project(scenario, draws=64, as_of=[2022])
