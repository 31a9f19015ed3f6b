"""``forecast fit`` from the command line: what it says, and what it refuses."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import forecast
from forecast.cli import main
from forecast.tables import csvfile

LAW = "scaling/saturating-power"
X = np.geomspace(10, 1e4, 40)
Y = (1.7 + 8 * X**-0.35) * np.exp(0.01 * np.random.default_rng(1).standard_normal(40))


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kinds = np.where(np.arange(40) % 4 == 0, "moe", "dense")
    csvfile.write(tmp_path / "runs.csv", {"x": X, "thousands": X / 1000, "y": Y, "loss": Y, "kind": kinds.tolist()})
    return "runs.csv"


def run(capsys, *words):
    code = main(["fit", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def answer(capsys, *words):
    code, out, _ = run(capsys, *words, "--json")
    return code, json.loads(out, parse_constant=pytest.fail)


def test_headline_then_table_then_verdict(capsys, data):
    code, out, err = run(capsys, LAW, "--data", data)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"{LAW} on 40 points: E = 1.")
    assert lines[0].endswith("(95% intervals).")
    assert lines[1] == ""
    assert lines[2].split()[:4] == ["parameter", "value", "std", "error"]
    assert any(line.startswith("verdict") and "converged" in line for line in lines)


def test_json_is_the_fit(capsys, data):
    code, found = answer(capsys, LAW, "--data", data)
    assert code == 0
    assert list(found) == ["command", "result", "warnings", "provenance"]
    fit = forecast.law(LAW).fit({"x": X, "y": Y})
    for row in found["result"]["parameters"]:
        assert row["value"] == fit.values[row["name"]]
        assert (row["lower"], row["upper"]) == fit.interval(row["name"], 0.95)
        assert row["identified"] is True
    assert found["result"]["objective"]["value"] == fit.objective
    assert found["provenance"]["data"]["runs.csv"].startswith("sha256:")


def test_formulas_variables_and_rows(capsys, data):
    words = (
        "--data",
        data,
        "--let",
        "x = thousands*1000",
        "--y",
        "loss",
        "--where",
        "x > 20",
        "--where",
        "kind is dense",
    )
    code, found = answer(capsys, "E + b*x**-c", "--variables", "x", *words)
    keep = (X > 20) & (np.arange(40) % 4 != 0)
    fit = forecast.Law("E + b*x**-c", variables=["x"]).fit({"x": X[keep], "y": Y[keep]})
    assert code == 0
    assert found["result"]["points"] == keep.sum()
    assert found["warnings"] == [f"--where keeps {keep.sum()} of 40 rows"]
    values = {row["name"]: row["value"] for row in found["result"]["parameters"]}
    assert values == pytest.approx(dict(fit.values), rel=1e-6)


def test_objective_start_and_level(capsys, data):
    words = (
        "--data",
        data,
        "--objective",
        "least_squares",
        "--start",
        "E=1,beta=5",
        "--start",
        "c=0.3",
        "--level",
        "0.5",
    )
    code, found = answer(capsys, LAW, *words)
    assert code == 0
    assert found["result"]["objective"]["name"] == "least_squares"
    assert "from the given start" in found["result"]["verdict"]
    assert found["result"]["level"] == 0.5


def test_out_and_plot(capsys, data, tmp_path):
    code, _, _ = run(capsys, LAW, "--data", data, "--out", "fit.nc", "--plot", "fit.svg")
    assert code == 0
    assert forecast.load("fit.nc").values == forecast.law(LAW).fit({"x": X, "y": Y}).values
    drawn = (tmp_path / "fit.svg").read_text()
    assert all(text in drawn for text in ("observed", "confidence of the law", "of observations", LAW))
    assert run(capsys, LAW, "--data", data, "--plot", "again.svg")[0] == 0
    assert (tmp_path / "again.svg").read_text() == drawn


def test_a_figure_has_a_panel_for_each_variable(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n, d = 10 ** rng.uniform(8, 10, 60), 10 ** rng.uniform(9, 11, 60)
    loss = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * np.exp(0.01 * rng.standard_normal(60))
    csvfile.write(tmp_path / "runs.csv", {"N": n, "D": d, "loss": loss})
    assert run(capsys, "scaling/chinchilla", "--data", "runs.csv", "--plot", "fit.svg")[0] == 0
    drawn = (tmp_path / "fit.svg").read_text()
    assert "at D = " in drawn
    assert "at N = " in drawn
    assert "moved along the law" in drawn


def test_parquet(capsys, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"x": X, "y": Y}).to_parquet("runs.parquet")
    assert answer(capsys, LAW, "--data", "runs.parquet")[0] == 0


@pytest.mark.bad_input(51)
def test_bad_input_051_not_converged_is_seen_in_every_format(capsys, data, monkeypatch, tmp_path):
    import dataclasses

    from forecast.laws import Law

    whole = Law.fit
    stuck = {"converged": False, "outcome": "not converged; 1 of 1 starts agree"}
    monkeypatch.setattr(Law, "fit", lambda self, *a, **k: dataclasses.replace(whole(self, *a, **k), **stuck))
    code, out, _ = run(capsys, LAW, "--data", data, "--out", "fit.nc", "--plot", "fit.svg")
    assert code == 1
    assert out.startswith("Not converged: ")
    assert any(line.split() == ["converged", "no"] for line in out.splitlines())
    code, found = answer(capsys, LAW, "--data", data)
    assert code == 1
    assert found["result"]["converged"] is False
    assert "NOT CONVERGED" in (tmp_path / "fit.svg").read_text()
    assert forecast.load("fit.nc").converged is False
    assert "not converged" in forecast.load("fit.nc").summary()
    assert main(["predict", "fit.nc", "x=100"]) == 0
    assert capsys.readouterr().out.startswith("Not converged: ")


CELLS = {
    25: [("y", "")],
    26: [("y", "1e400"), ("x", "inf")],
    27: [("y", "0"), ("y", "-1")],
    37: [("x", "1_000"), ("x", '"1,234"'), ("y", "5e"), ("y", "0x10"), ("y", "TRUE"), ("y", "N/A")],
}


@pytest.mark.bad_input(25)
@pytest.mark.bad_input(26)
@pytest.mark.bad_input(27)
@pytest.mark.bad_input(37)
@pytest.mark.parametrize(("area", "column", "cell"), [(a, c, v) for a, rows in CELLS.items() for c, v in rows])
def test_bad_input_025_026_027_037_a_bad_cell_is_one_line(capsys, tmp_path, monkeypatch, area, column, cell):
    monkeypatch.chdir(tmp_path)
    rows = [[repr(float(a)), repr(float(b))] for a, b in zip(X, Y, strict=True)]
    rows[4]["xy".index(column)] = cell
    (tmp_path / "runs.csv").write_text("x,y\n" + "\n".join(map(",".join, rows)) + "\n")
    code, out, err = run(capsys, LAW, "--data", "runs.csv")
    assert code in (1, 2)
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "row 5" in err or "runs.csv:6:" in err or column in err


def few(capsys, tmp_path, monkeypatch, x, y, law="a + b*x", words=()):
    monkeypatch.chdir(tmp_path)
    csvfile.write(tmp_path / "few.csv", {"x": list(map(float, x)), "y": list(map(float, y))})
    given = ("--variables", "x") if law == "a + b*x" else ()
    return run(capsys, law, *given, "--data", "few.csv", *words)


@pytest.mark.bad_input(28)
def test_bad_input_028_a_constant_y_says_nothing_about_a_slope(capsys, tmp_path, monkeypatch):
    code, out, _ = few(
        capsys, tmp_path, monkeypatch, range(1, 11), [5.0] * 10, law="scaling/saturating-power", words=["--json"]
    )
    parameters = {row["name"]: row for row in json.loads(out)["result"]["parameters"]}
    assert code in (0, 1)
    row = parameters["c"]
    assert row["identified"] is False or row["lower"] is None or row["lower"] <= 0 or row["upper"] > 10 * row["lower"]


@pytest.mark.bad_input(29)
def test_bad_input_029_all_x_the_same(capsys, tmp_path, monkeypatch):
    _, out, err = few(capsys, tmp_path, monkeypatch, [3.0] * 6, [1.0, 1.1, 0.9, 1.0, 1.05, 0.95], words=["--json"])
    said = err + out
    assert "not identified" in said or "identical" in said or "cannot" in said
    if out:
        assert all(row["lower"] is None for row in json.loads(out)["result"]["parameters"])


@pytest.mark.bad_input(30)
@pytest.mark.parametrize("text", ["", "x,y\n", "\n"])
def test_bad_input_030_nothing_to_fit(capsys, tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none.csv").write_text(text)
    code, out, err = run(capsys, LAW, "--data", "none.csv")
    assert (code, out) == (1, "")
    assert len(err.splitlines()) == 1


@pytest.mark.bad_input(31)
def test_bad_input_031_few_points(capsys, tmp_path, monkeypatch):
    code, out, err = few(capsys, tmp_path, monkeypatch, [1], [1])
    assert (code, out) == (1, "")
    assert "1 points cannot determine 2 parameters" in err or "cannot determine" in err
    code, out, _ = few(capsys, tmp_path, monkeypatch, [1, 2], [1, 3], words=["--json"])
    assert all(row["lower"] is None for row in json.loads(out)["result"]["parameters"])
    code, out, _ = few(capsys, tmp_path, monkeypatch, [1, 2, 3], [1, 3, 4.9], words=["--json"])
    assert code == 0
    b = json.loads(out)["result"]["parameters"][1]
    assert b["upper"] - b["lower"] > 6 * b["stderr"]  # Student's t with one degree of freedom


@pytest.mark.bad_input(32)
def test_bad_input_032_the_same_rows_again_and_again_warn(capsys, tmp_path, monkeypatch):
    code, _, err = few(
        capsys, tmp_path, monkeypatch, list(range(1, 9)) * 100, [3.1, 4.9, 7.2, 8.8, 11.1, 13.0, 14.8, 17.2] * 100
    )
    assert code == 0
    assert "800 rows are only 8 different ones" in err


@pytest.mark.bad_input(33)
def test_bad_input_033_shuffled_rows(capsys, tmp_path, monkeypatch):
    order = np.random.default_rng(0).permutation(40)
    found = []
    for x, y in ((X, Y), (X[order], Y[order])):
        _, out, _ = few(capsys, tmp_path, monkeypatch, x, y, law=LAW, words=["--json"])
        found.append({row["name"]: row["value"] for row in json.loads(out)["result"]["parameters"]})
    assert found[0] == pytest.approx(found[1], rel=1e-9)


@pytest.mark.bad_input(34)
@pytest.mark.parametrize(("sx", "sy"), [(1e-30, 1.0), (1e30, 1.0), (1.0, 1e-12), (1.0, 1e12)])
def test_bad_input_034_scales(capsys, tmp_path, monkeypatch, sx, sy):
    _, out, _ = few(
        capsys, tmp_path, monkeypatch, X, 8 * X**-0.35 * Y / Y.mean(), law="scaling/power", words=["--json"]
    )
    _, scaled, _ = few(
        capsys, tmp_path, monkeypatch, X * sx, sy * 8 * X**-0.35 * Y / Y.mean(), law="scaling/power", words=["--json"]
    )
    one, two = ({r["name"]: r for r in json.loads(text)["result"]["parameters"]} for text in (out, scaled))
    assert two["c"]["value"] == pytest.approx(one["c"]["value"], rel=1e-6)
    assert two["beta"]["value"] == pytest.approx(one["beta"]["value"] * sy * sx ** one["c"]["value"], rel=1e-5)


@pytest.mark.bad_input(35)
def test_bad_input_035_years_days_and_dates_are_one_trend(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    days = np.array([f"{year}-01-01" for year in range(2015, 2027)], dtype="datetime64[s]")
    from forecast.tables import decimal_year

    years = decimal_year(days)
    y = 3 + 0.5 * (years - 2020) + 0.01 * np.random.default_rng(0).standard_normal(12)
    count = (days - np.datetime64("1970-01-01")) / np.timedelta64(1, "D")
    csvfile.write(tmp_path / "t.csv", {"when": days, "year": years, "days": count, "y": y})
    slopes = []
    for let in ("t = when - 2020", "t = year - 2020", "t = days/365.2425 - 50"):
        _, found = answer(capsys, "a + b*t", "--variables", "t", "--data", "t.csv", "--let", let)
        slopes.append(found["result"]["parameters"][1]["value"])
    assert slopes[0] == pytest.approx(slopes[1], rel=1e-9)
    assert slopes[2] == pytest.approx(slopes[1], rel=1e-3)  # a calendar year is not 365.2425 days


@pytest.mark.bad_input(36)
@pytest.mark.parametrize("cell", ["1900-01-00", "2023-02-29", "10000-01-01", "12/11/2024", "24-01-01"])
def test_bad_input_036_dates_that_are_none(capsys, tmp_path, monkeypatch, cell):
    monkeypatch.chdir(tmp_path)
    rows = [f"{year}-01-01,{year - 2000}" for year in range(2015, 2027)]
    (tmp_path / "t.csv").write_text("x,y\n" + "\n".join([*rows, f"{cell},1"]) + "\n")
    code, out, err = run(capsys, "a + b*x", "--variables", "x", "--data", "t.csv")
    assert (code, out) == (1, "")
    assert "t.csv:14:x" in err


@pytest.mark.bad_input(38)
def test_bad_input_038_a_column_of_mixed_units_is_text(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(
        "x,y\n" + "".join(f"{i} {'TFLOP' if i % 2 else 'PFLOP'},{i}\n" for i in range(1, 9))
    )
    code, out, err = run(capsys, "a + b*x", "--variables", "x", "--data", "t.csv")
    assert (code, out) == (1, "")
    assert "expected numbers, got text" in err


@pytest.mark.bad_input(40)
@pytest.mark.bad_input(41)
@pytest.mark.parametrize(
    ("words", "says"),
    [(("--sigma", "0*x"), "sigma"), (("--sigma", "-x"), "sigma"), (("--weights", "0*x"), "weights"),
     (("--weights", "x", "--sigma", "x"), "not both")],
)  # fmt: skip
def test_bad_input_040_041_sigma_and_weights(capsys, data, words, says):
    code, out, err = run(capsys, LAW, "--data", data, *words)
    assert code in (1, 2)
    assert out == ""
    assert says in err


@pytest.mark.bad_input(50)
@pytest.mark.parametrize(
    "start",
    ["E=nan,beta=1,c=1", "E=inf,beta=1,c=1", "E=-1,beta=1,c=1", "E=1", "E=1,beta=1,c=1,d=1", "E", "E=", "E=one"],
)
def test_bad_input_050_starts(capsys, data, start):
    code, out, err = run(capsys, LAW, "--data", data, "--start", start)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1


@pytest.mark.bad_input(8)
@pytest.mark.parametrize("name", ["a.npz", "a.npy"])
def test_bad_input_008_archives_of_objects_are_not_opened(capsys, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    objects = np.array([{"x": 1}], dtype=object)
    np.save("a.npy", objects, allow_pickle=True) if name.endswith("npy") else np.savez("a.npz", x=objects)
    code, out, err = run(capsys, LAW, "--data", name)
    assert (code, out) == (2, "")
    assert name in err


@pytest.mark.bad_input(79)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["scaling/saturating-powr", "--data", "runs.csv"], "did you mean 'scaling/saturating-power'"),
        ([LAW], "Missing option '--data'"),
        ([LAW, "--data", "none.csv"], "no such file"),
        ([LAW, "--data", ""], "expected"),
        ([LAW, "--data", "runs.csv", "--objective", "least_square"], "did you mean 'least_squares'"),
        ([LAW, "--data", "runs.csv", "--level", "1.5"], "between 0 and 1"),
        ([LAW, "--data", "runs.csv", "--bootstrap", "-5"], "--bootstrap"),
        ([LAW, "--data", "runs.csv", "--seed", "-5"], "seed"),
        ([LAW, "--data", "runs.csv", "--y", "los"], "did you mean 'loss'"),
        ([LAW, "--data", "runs.csv", "--let", "x"], "expected VARIABLE = FORMULA"),
        ([LAW, "--data", "runs.csv", "--let", "x=__import__('os')"], "formula"),
        ([LAW, "--data", "runs.csv", "--let", "x=y^2"], "write **"),
        ([LAW, "--data", "runs.csv", "--where", "x"], "expected one comparison"),
        ([LAW, "--data", "runs.csv", "--where", "kind > 2"], "write 'kind is VALUE'"),
        ([LAW, "--data", "runs.csv", "--where", "z > 2"], "unknown column 'z'"),
        ([LAW, "--data", "runs.csv", "--where", "x > 1e9"], "no row of 40 meets"),
        ([LAW, "--data", "runs.csv", "--select"], "--protocol"),
        ([LAW, "--data", "runs.csv", "--plot", "a.txt"], ".svg"),
        ([LAW, "--data", "runs.csv", "--plot", "a.svg", "--out", "a.svg"], "name the same file"),
        ([LAW, "--data", "runs.csv", "--out", "no/where.nc"], "no"),
        (["a + b*x", "--data", "runs.csv"], "needs its variables"),
        (["a + b*z", "--variables", "x", "--data", "runs.csv"], "'x' is not in"),
        (["", "--data", "runs.csv"], "expected the name of a law"),
    ],
)  # fmt: skip
def test_bad_input_079_wrong_usage_is_one_line(capsys, data, words, says):
    code, out, err = run(capsys, *words)
    assert code in (1, 2)
    assert out == ""
    assert says in err
    assert len(err.splitlines()) == 1


@pytest.mark.bad_input(61)
def test_bad_input_061_what_cannot_be_said_is_null(capsys, tmp_path, monkeypatch):
    _, out, _ = few(capsys, tmp_path, monkeypatch, [1, 2], [1, 3], words=["--json"])
    found = json.loads(out, parse_constant=pytest.fail)
    assert found["result"]["parameters"][0]["stderr"] is None
    assert found["result"]["covariance"] is None
    assert found["result"]["no_covariance"]


@pytest.mark.bad_input(86)
def test_bad_input_086_the_environment_changes_nothing(data, tmp_path):
    answers = []
    for extra, flags in (
        ({"PYTHONHASHSEED": "0", "LANG": "C"}, []),
        ({"PYTHONHASHSEED": "1", "LC_ALL": "tr_TR.UTF-8", "OMP_NUM_THREADS": "4"}, ["-O"]),
    ):
        command = [sys.executable, *flags, "-m", "forecast", "fit", LAW, "--data", data, "--json"]
        done = subprocess.run(
            command, env={**os.environ, **extra}, capture_output=True, text=True, cwd=tmp_path, check=True
        )
        answers.append(json.loads(done.stdout)["result"]["parameters"])
    for one, two in zip(*answers, strict=True):
        assert one["value"] == pytest.approx(two["value"], rel=1e-12)
        assert one["lower"] == pytest.approx(two["lower"], rel=1e-10)
