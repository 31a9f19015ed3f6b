"""``forecast fit``: what it says, and where it writes it."""

import numpy as np
import pytest

import forecast
from forecast.cli import main
from forecast.tables import csv_format
from toolkit import command, json_of, saturating

LAW = "scaling/saturating-power"
X, Y = saturating(40, 0.01, seed=1).values()
run = command("fit")


def answer(capsys, *words):
    code, out, _ = run(capsys, *words, "--json")
    return code, json_of(out)


def test_headline_then_table_then_verdict(capsys, data):
    code, out, err = run(capsys, LAW, "--data", data)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(f"{LAW} on 40 points: E = 1.")
    assert lines[0].endswith("(90 % intervals).")
    assert lines[1] == ""
    assert lines[2].split()[:4] == ["parameter", "value", "std", "error"]
    assert any(line.startswith("verdict") and "converged" in line for line in lines)


def test_json_is_the_fit(capsys, data):
    code, found = answer(capsys, LAW, "--data", data)
    assert code == 0
    assert list(found) == ["command", "result", "read", "warnings", "provenance"]
    fit = forecast.law(LAW).fit({"x": X, "y": Y})
    for row in found["result"]["parameters"]:
        assert row["value"] == fit.values[row["name"]]
        assert (row["lower"], row["upper"]) == fit.interval(row["name"], 0.9)
        assert row["identified"] is True
    assert found["result"]["objective"]["value"] == fit.objective
    assert found["provenance"]["data"]["runs.csv"].startswith("sha256:")


def test_formulas_variables_and_rows(capsys, data):
    words = (
        "--data", data, "--let", "x = thousands*1000", "--y", "loss", "--where", "x > 20", "--where", "kind is dense",
    )  # fmt: skip
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
        "--data", data, "--objective", "least_squares", "--start", "E=1,beta=5", "--start", "c=0.3", "--level", "0.5",
    )  # fmt: skip
    code, found = answer(capsys, LAW, *words)
    assert code == 0
    assert found["result"]["objective"]["name"] == "least_squares"
    assert "from the given start" in found["result"]["verdict"]
    assert found["result"]["level"] == 0.5


def test_a_bootstrap_is_where_the_intervals_come_from(capsys, data):
    fit = forecast.law(LAW).fit({"x": X, "y": Y}, bootstrap=300, seed=2)
    code, found = answer(capsys, LAW, "--data", data, "--bootstrap", "300", "--seed", "2")
    assert code == 0
    assert found["result"]["intervals"] == "percentiles of 300 bootstrap replicates (pairs)"
    for row in found["result"]["parameters"]:
        assert (row["lower"], row["upper"]) == fit.interval(row["name"], 0.9, "bootstrap")
    assert run(capsys, LAW, "--data", data, "--resample", "wild")[0] == 2


def test_a_parameter_that_the_verdict_does_not_identify_is_not_called_identified(capsys, reference_data):
    runs = reference_data / "scaling" / "datablations" / "datablations_182_outliers_removed.csv"
    words = ("--data", str(runs), "--protocol", "muennighoff2023", "--level", "0.95")
    code, found = answer(capsys, "scaling/data-constrained", *words)
    assert code == 0
    assert "not identified: R_N, R_D" in found["result"]["verdict"]
    rows = {row["name"]: row for row in found["result"]["parameters"]}
    assert rows["R_D"]["identified"] is False
    assert "misses a ridge" in rows["R_D"]["why"]
    assert "parameter 'R_D' is not identified by these data: its standard error misses" in " ".join(found["warnings"])
    assert rows["R_D"]["upper"] > 50 * rows["R_D"]["lower"]


def test_out_and_plot(capsys, data, tmp_path):
    code, _, _ = run(capsys, LAW, "--data", data, "--out", "fit.nc", "--plot", "fit.svg")
    assert code == 0
    assert forecast.load("fit.nc").values == forecast.law(LAW).fit({"x": X, "y": Y}).values
    drawn = (tmp_path / "fit.svg").read_text()
    assert all(text in drawn for text in ("observed", "confidence of the law", "of observations", LAW))
    assert run(capsys, LAW, "--data", data, "--plot", "again.svg")[0] == 0
    assert (tmp_path / "again.svg").read_text() == drawn


@pytest.mark.slow
def test_a_figure_has_a_panel_for_each_variable(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n, d = 10 ** rng.uniform(8, 10, 60), 10 ** rng.uniform(9, 11, 60)
    loss = (1.8 + 480 * n**-0.35 + 2100 * d**-0.37) * np.exp(0.01 * rng.standard_normal(60))
    csv_format.write_csv(tmp_path / "runs.csv", {"N": n, "D": d, "loss": loss})
    assert run(capsys, "scaling/chinchilla", "--data", "runs.csv", "--plot", "fit.svg")[0] == 0
    drawn = (tmp_path / "fit.svg").read_text()
    assert "at D = " in drawn
    assert "at N = " in drawn
    assert "moved along the law" in drawn


def test_a_figure_of_groups_stands_at_the_largest_of_them(said, data, here):
    words = ("--groups", "kind", "--varying", "E", "--out", "fit.nc", "--plot", "fit.svg")
    assert said("fit", LAW, "--data", data, *words).code == 0
    drawn = (here / "fit.svg").read_text()
    assert "at kind = dense" in drawn
    assert drawn.count("moved along the law") == 1
    assert set(forecast.load("fit.nc").values) == {"E_dense", "E_moe", "beta", "c"}


def test_bad_input_051_not_converged_is_seen_in_every_format(capsys, data, monkeypatch, tmp_path):
    from forecast.laws import Law

    whole = Law.fit

    def stuck(self, *args, **options):
        fit = whole(self, *args, **options)
        fit.solutions.converged[:] = False
        return fit

    monkeypatch.setattr(Law, "fit", stuck)
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
    assert "not converged" in forecast.load("fit.nc")._repr_html_()
    assert main(["predict", "fit.nc", "x=100"]) == 0
    assert capsys.readouterr().out.startswith("Not converged: ")
