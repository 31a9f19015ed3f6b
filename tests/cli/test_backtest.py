"""``forecast backtest``: series, scenarios and files, as one screen and as JSON."""

from pathlib import Path

import numpy as np
import pytest

import forecast
from forecast.errors import UsageError
from forecast.evaluation.rolling_origin import score_rows
from forecast.tables import csv_format
from toolkit import command, every

run = command("backtest")


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    years = np.arange(1990.0, 2010.0)
    rng = np.random.default_rng(0)
    cost = [np.exp(-0.2 * (years - 1990) + np.cumsum(0.05 * rng.standard_normal(20))) for _ in "ab"]
    table = {"tech": ["a"] * 20 + ["b"] * 20 + ["c"] * 3, "year": np.r_[years, years, years[:3]]}
    csv_format.write_csv(tmp_path / "costs.csv", {**table, "cost": np.r_[cost[0], cost[1], 3.0, 2.0, 1.0]})
    return "costs.csv"


FILE = ("--x", "year", "--y", "cost")
FEW = ("--shape", "exponential", "--shape", "trends/random-walk")


def test_a_series_with_a_shape_is_compared_with_what_it_must_beat(capsys):
    said = run(capsys, "hardware/linpack@exponential")
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0].startswith("In 50 forecasts of hardware/linpack@exponential from 6 dates in the past, trends/expon")
    assert len(lines) <= 50
    result = run(capsys, "hardware/linpack@exponential", "--json").json["result"]
    rows = {row["model"]: row for row in result["models"]}
    assert set(rows) == {"trends/exponential", "last-value", "drift"}
    own, last = (rows[name]["weighted-interval"] for name in ("trends/exponential", "last-value"))
    assert rows["trends/exponential"]["skill_last_value"] == pytest.approx(1 - own / last)
    beaten = 1 - own / last
    says = f"{100 * abs(beaten):.0f} % {'better' if beaten > 0 else 'worse'} than repeating the last value"
    assert says in result["headline"]


def test_a_file_is_cut_into_series(capsys, data):
    said = run(capsys, data, *FILE, "--by", "tech", *FEW, "--score", "crps", "--json").json
    assert said["result"]["series"] == ["a", "b"]
    assert said["warnings"] == [
        "c: too short to be cut: expected an observation after eight dates and 40 % of the span, got 3 dates"
    ]
    assert list(said["provenance"]["data"]) == ["costs.csv"]
    rows = {row["model"]: row for row in said["result"]["models"]}
    assert {row["series"] for row in rows.values()} == {2}
    assert all(row["crps"] > 0 for row in rows.values())
    one = run(capsys, data, *FILE, "--where", "tech is a", *FEW, "--json").json["result"]
    assert one["series"] == ["costs"]


def test_a_scenario_is_tested_by_its_series(capsys):
    result = run(capsys, "brain-parity", *FEW, "--json").json["result"]
    assert set(result["series"]) >= {"hardware/hpcg", "hardware/linpack"}


@pytest.mark.slow
def test_what_could_not_be_fitted_is_named(capsys, data):
    said = run(capsys, data, *FILE, "--where", "tech is a")
    assert "Not fitted to every past (--json says why): trends/experience, trends/frontier" in said.out


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    steps = np.geomspace(1e3, 1e6, 20)
    rng = np.random.default_rng(0)
    loss = [(1.7 + 40 * steps**-0.4) * np.exp(0.01 * rng.standard_normal(20)) for _ in "ab"]
    table = {"run": ["a"] * 20 + ["b"] * 20 + ["c"] * 3, "steps": np.r_[steps, steps, steps[:3]]}
    csv_format.write_csv(tmp_path / "runs.csv", {**table, "loss": np.r_[loss[0], loss[1], 3.0, 2.0, 1.9]})
    return "runs.csv"


def test_a_law_is_tried_on_each_curve_of_a_file(capsys, runs):
    words = ("saturating-power", "--data", runs, "--let", "x = steps", "--y", "loss", "--by", "run", "--origins", "2")
    said = run(capsys, *words, "--law", "a*x**-b", "--variables", "x", "--json").json
    assert said["result"]["series"] == ["a", "b"]
    assert "c: too short to be cut" in said["warnings"][0]
    rows = {row["model"]: row for row in said["result"]["models"]}
    assert set(rows) == {"scaling/saturating-power", "a*x**-b", "extrapolate", "last-value", "drift"}
    assert rows["scaling/saturating-power"]["skill_last_value"] > 0.5
    assert rows["scaling/saturating-power"]["origins"] == 4
    assert "from 4 places below, scaling/saturating-power was best" in said["result"]["headline"]
    assert list(said["provenance"]["data"]) == ["runs.csv"]
    along = run(capsys, words[0], "--data", runs, "--along", "steps", *words[5:], "--json").json["result"]["models"]
    assert rows["scaling/saturating-power"] in along


@pytest.mark.slow
def test_a_file_that_goes_along_numbers_is_tried_with_laws(capsys, runs):
    words = (runs, "--along", "steps", "--y", "loss", "--where", "run is a", "--origins", "1")
    one = run(capsys, *words, "--law", "scaling/power", "--json").json["result"]
    assert {row["model"] for row in one["models"]} == {"scaling/power", "extrapolate", "last-value", "drift"}
    said = run(capsys, *words)
    assert said.out.splitlines()[0].startswith("In 10 forecasts of runs from 1 place below, ")
    assert "scaling/m3" in said.out


def test_a_group_is_left_out(capsys, runs):
    words = ("scaling/power", "--data", runs, "--along", "steps", "--y", "loss", "--leave-out", "run", "--json")
    result = run(capsys, *words).json["result"]
    assert result["models"][0]["origins"] == 3
    assert "from 3 groups that were left out" in result["headline"]


def test_refusals_of_laws(capsys, runs):
    law = ("scaling/power", "--data", runs, "--along", "steps", "--y", "loss")
    with every() as case:
        with case("a law without data"):
            assert "--along: only of a law: forecast backtest LAW --data" in run(capsys, "x", "--along", "n").refusal
        with case("dates of a law"):
            assert "--x: only of a series: laws go --along" in run(capsys, *law, "--x", "steps").refusal
        with case("two files"):
            assert "expected a law to fit to --data" in run(capsys, runs, *law[1:]).refusal
        with case("no such law"):
            assert "did you mean 'scaling/power'" in run(capsys, "scaling/powr", *law[1:]).refusal
        with case("no such column"):
            assert "did you mean 'steps'" in run(capsys, *law[:3], "--along", "step", "--y", "loss").refusal
        with case("a formula without variables"):
            assert "a formula needs its variables" in run(capsys, "a*x", *law[1:]).refusal


def test_refusals(capsys, data):
    with every() as case:
        with case("no columns"):
            assert "expected a column of values, as y (--y) or FILE:COLUMN" in run(capsys, data).refusal
        with case("columns of no file"):
            said = run(capsys, "hardware/linpack", "--x", "year").refusal
            assert "--x: only of a file: 'hardware/linpack' says its own" in said
        with case("no such series"):
            assert "did you mean 'hardware/linpack'" in run(capsys, "hardware/linpackk").refusal
        with case("no series behind it"):
            assert "rests on no observations in time" in run(capsys, "brain/power").refusal
        with case("no series behind the scenario"):
            assert "rests on no registered series" in run(capsys, "emergence").refusal
        with case("no such column"):
            assert "did you mean 'cost'" in run(capsys, data, "--x", "year", "--y", "costs").refusal
        with case("no such shape"):
            assert (
                "did you mean 'trends/exponential'"
                in run(capsys, data, *FILE, "--by", "tech", "--shape", "exponentail").refusal
            )
        with case("no such score"):
            assert "did you mean 'crps'" in run(capsys, data, *FILE, *FEW, "--by", "tech", "--score", "crsp").refusal
        with case("nothing long enough"):
            assert "too short to be cut" in run(capsys, data, *FILE, "--where", "tech is c").refusal


def test_a_column_of_a_file_is_tested_from_python_too(capsys, data):
    shapes = ["trends/exponential"]
    words = ("--where", "tech is a", "--shape", "exponential", "--json")
    rows = run(capsys, f"{data}:cost", *words).json["result"]["models"]
    assert rows == run(capsys, data, *FILE, *words).json["result"]["models"]
    part = forecast.read(data).where("tech", "a", "test")
    found = forecast.backtest(part, y="cost", shapes=shapes)
    told = {row["model"]: row["weighted-interval"] for row in rows}
    assert {row["model"]: row["weighted-interval"] for row in score_rows([found])} == told
    csv_format.write_csv(Path("a.csv"), {name: part[name] for name in ("year", "cost")})
    same = forecast.backtest("a.csv:cost", shapes=shapes)
    np.testing.assert_array_equal(same["forecast"], found["forecast"])
    with pytest.raises(UsageError, match="expected a column of values, as y"):
        forecast.backtest(part)
