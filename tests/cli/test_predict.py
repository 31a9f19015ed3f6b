"""``forecast predict``: both bands, points by hand or from a file, and what is carried along."""

import json
import shutil

import numpy as np
import pytest

import forecast
from forecast.tables import csv_format
from toolkit import command, json_of, saturating

PUBLISHED = "scaling/chinchilla@besiroglu2024"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "fit.nc"
    found = forecast.law("scaling/saturating-power").fit(saturating(40, 0.01, seed=1))
    found.save(path)
    return found, path


@pytest.fixture
def fit(saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(saved[1], "fit.nc")
    return saved[0]


run = command("predict")


def test_headline_names_both_bands(capsys, fit):
    code, out, _ = run(capsys, "fit.nc", "x=500")
    assert code == 0
    assert "the law " in out.splitlines()[0]
    assert "one observation " in out.splitlines()[0]


def test_json_is_the_prediction(capsys, fit):
    code, out, _ = run(capsys, "fit.nc", "x=20,500", "--level", "0.8", "--statistic", "mean", "--json")
    found = json_of(out)
    assert code == 0
    assert list(found) == ["command", "result", "warnings", "provenance"]
    want = fit.predict(x=[20.0, 500.0], level=0.8, statistic="mean")
    for name in ("median", "mean", "lower", "upper", "observed_lower", "observed_upper"):
        assert [row[name] for row in found["result"]["points"]] == want[name].values.tolist()
    assert "lognormal" in found["result"]["mean_by"]


def test_bad_input_047_points_that_cannot_be_computed(capsys, fit):
    code, out, _ = run(capsys, "fit.nc", "x=100,0,-1,nan", "--json")
    found = json_of(out)
    assert code == 0
    assert [row["median"] is None for row in found["result"]["points"]] == [False, True, True, True]
    assert "3 of 4 points cannot be computed" in " ".join(found["warnings"])
    code, out, _ = run(capsys, "fit.nc", "x=-1")
    assert code == 1
    assert "cannot be computed at x = -1" in out.splitlines()[0]
    assert "decades beyond" not in out  # nothing was predicted
    assert "cannot be computed at x = nan" in run(capsys, "fit.nc", "x=nan")[1].splitlines()[0]


def test_bad_input_022_text_is_guarded_and_numbers_are_not(capsys, fit, tmp_path):
    names = ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "plain"]
    points = [10.0, 20.0, 30.0, 40.0, 50.0]
    csv_format.write_csv(tmp_path / "points.csv", {"name": names, "k": points, "shift": [-1.0] * 5})
    code, _, _ = run(capsys, "fit.nc", "--data", "points.csv", "--let", "x = k*10", "--out", "out.csv", "--json")
    assert code == 0
    raw = (tmp_path / "out.csv").read_text().splitlines()
    assert all(line.lstrip('"')[:1] not in tuple("=+-@") for line in raw)
    assert ",-1," in raw[1] or ",-1.0," in raw[1]
    back = forecast.read(tmp_path / "out.csv")
    assert back["name"].tolist() == names
    want = fit.predict(x=10 * np.array(points))
    assert [float(v) for v in back["median"]] == want["median"].values.tolist()
    assert [float(v) for v in back["observed_upper"]] == want["observed_upper"].values.tolist()
    _, out, _ = run(capsys, "fit.nc", "--data", "out.csv", "--let", "x = k*10", "--json")  # what was written is data
    assert [row["median"] for row in json.loads(out)["result"]["points"]] == want["median"].values.tolist()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["fit.nc"], "no value for the variable 'x'"),
        (["fit.nc", "x"], "expected VARIABLE=NUMBER"),
        (["fit.nc", "x="], "expected VARIABLE=NUMBER"),
        (["fit.nc", "x=one"], "expected a number, got 'one'"),
        (["fit.nc", "x=1_000"], "expected a number"),
        (["fit.nc", "x=1", "x=2"], "given twice"),
        (["fit.nc", "X=1"], "unknown variable 'X'"),
        (["fit.nc", "x=1", "--level", "1.5"], "between 0 and 1"),
        (["fit.nc", "x=1", "--level", "nan"], "between 0 and 1"),
        (["fit.nc", "x=1", "--statistic", "mode"], "--statistic"),
        (["fit.nc", "x=1", "--let", "x=k"], "--let: needs --data"),
        (["fit.nc", "x=1", "--out", "a.txt"], "ends in .csv"),
        (["none.nc", "x=1"], "no such file"),
        (["scaling/chinchilla", "x=1"], "expected a law and its published parameters"),
        ([PUBLISHED, "N=1,2", "D=1,2,3"], "has 2 numbers, another variable has 3"),
        ([PUBLISHED, "N=1"], "no value for the variable 'D'"),
    ],
)
def test_bad_input_079_wrong_usage_is_one_line(capsys, fit, words, says):
    assert says in run(capsys, *words).refusal


def test_bad_input_047_a_point_without_a_value_says_why(capsys, fit):
    code, out, err = run(capsys, PUBLISHED, "N=1e9", "D=-1")
    assert code == 1
    assert "cannot be computed at N = 1e9 param, D = -1 token: 'D' is not positive (-1)." in out
    assert "1 of 1 points cannot be computed: 'D' is not positive (-1)" in err
    assert "'N': expected finite numbers, got inf" in run(capsys, PUBLISHED, "N=inf", "D=1").refused()
