"""``forecast fit`` on data that are wrong, few or strange."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from forecast.tables import csv_format
from toolkit import sample

LAW = "scaling/saturating-power"
LINE = ("a + b*x", "--variables", "x")
X = np.geomspace(10, 1e4, 40)
NOISE = np.exp(0.01 * np.random.default_rng(1).standard_normal(40))
Y = (1.7 + 8 * X**-0.35) * NOISE


@pytest.fixture
def fit(said, here):
    """Fit a law to columns x and y."""

    def call(x, y, *words, law=LINE, **columns):
        csv_format.write_csv(here / "few.csv", {"x": np.asarray(x, float), "y": np.asarray(y, float), **columns})
        return said("fit", *law, "--data", "few.csv", *words)

    return call


@pytest.fixture
def with_cell(said, here):
    """Fit a law to a table of which one cell, in row 5 (line 6 of the file), is another."""

    def call(column, cell, *words):
        rows = [[repr(float(v)) for v in row] for row in zip(X, Y, 0 * X + 0.01, strict=True)]
        rows[4][["x", "y", "s"].index(column)] = cell
        (here / "runs.csv").write_text("x,y,s\n" + "\n".join(map(",".join, rows)) + "\n", encoding="utf-8")
        return said("fit", LAW, "--data", "runs.csv", *words)

    return call


# --- single cells -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "words"), [("x", ()), ("y", ()), ("s", ("--sigma", "s")), ("s", ("--weights", "s"))]
)
@pytest.mark.parametrize("cell", sample(["", "NaN", "inf", "N/A", "-"], 2))
def test_bad_input_025_a_row_with_a_missing_cell_is_left_out_and_said(with_cell, column, words, cell):
    found = with_cell(column, cell, *words, "--json")
    assert found.json["result"]["points"] == 39
    assert found.json["read"] == [f"Read runs.csv: 39 of 40 rows (1 without {column})."]
    assert f"row 5 of 40 has no '{column}'" in with_cell(column, cell, *words, "--missing", "error").refusal


def test_bad_input_026_what_overflows_in_a_formula_is_named(with_cell):
    line = with_cell("x", "1e308", "--let", "x = x*10").refusal
    assert "variable 'x' is missing or infinite in row 5 of 40" in line


@pytest.mark.parametrize("cell", ["0", "-1"])
def test_bad_input_027_a_log_of_what_is_not_positive_is_named(with_cell, cell):
    line = with_cell("y", cell).refusal
    assert LAW in line
    assert "y, which is not positive in row 5 of 40" in line
    assert with_cell("y", cell, "--objective", "least_squares").code == 0  # and without logs it is fitted


# --- too little to go by ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", [LINE, ("scaling/power",), (LAW,)], ids=lambda law: law[0])
@pytest.mark.parametrize(
    "words", [(), ("--objective", "least_squares"), ("--objective", "huber_log"), ("--bootstrap", "50")], ids=" ".join
)
def test_bad_input_028_a_constant_y_gives_no_interval_of_a_slope_and_none_of_zero_width(fit, law, words):
    found = fit(np.arange(1, 11), np.full(10, 5.0), *words, "--json", law=law)
    assert found.code == 0
    slope = found.parameters["b" if law is LINE else "c"]
    assert slope["lower"] is None or slope["lower"] <= 0 <= slope["upper"]
    for row in found.parameters.values():
        assert row["lower"] is None or row["lower"] < row["upper"]
        assert row["why"] or row["lower"] is not None
    said_so = any("the data lie on the law to rounding" in line for line in found.json["warnings"])
    assert said_so or "no interval" in found.json["result"]["headline"]


@pytest.mark.parametrize("law", [("scaling/power",), (LAW,)], ids=lambda law: law[0])
def test_bad_input_028_a_y_that_is_constant_but_for_noise_has_an_exponent_that_may_be_zero(fit, law):
    found = fit(X, 5 * NOISE, "--json", law=law)
    row = found.parameters["c"]
    assert row["identified"] is False or row["lower"] == 0


# --- what is written --------------------------------------------------------------------------------------------------


def test_bad_input_087_an_answer_records_the_versions_it_was_made_with(fit):
    import scipy
    import xarray

    versions = fit(X, Y, "--json").json["provenance"]["versions"]
    assert (versions["numpy"], versions["scipy"], versions["xarray"]) == (
        np.__version__,
        scipy.__version__,
        xarray.__version__,
    )


PLACES = [
    ({"PYTHONHASHSEED": "0", "LANG": "C", "LC_ALL": "C"}, []),
    ({"PYTHONHASHSEED": "1", "LC_ALL": "tr_TR.UTF-8", "OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"}, []),
    ({"PYTHONHASHSEED": "random", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}, ["-O"]),
]


@pytest.mark.slow
def test_bad_input_086_the_environment_changes_nothing(data, here):
    answers = []
    for extra, flags in PLACES:
        command = [sys.executable, *flags, "-m", "forecast", "fit", LAW, "--data", data, "--bootstrap", "20", "--json"]
        done = subprocess.run(
            command, env={**os.environ, **extra}, capture_output=True, text=True, cwd=here, check=True
        )
        answers.append(json.loads(done.stdout)["result"]["parameters"])
    for other in answers[1:]:
        for one, two in zip(answers[0], other, strict=True):
            for key in ("value", "stderr", "lower", "upper"):
                assert two[key] == pytest.approx(one[key], rel=1e-12 if key == "value" else 1e-9)


@pytest.mark.slow
def test_bad_input_086_without_asserts_the_same_is_refused(data, here):
    wrong = (["--start", "E=nan,beta=1,c=1"], ["--weights", "0*x"], ["--level", "2"], ["--y", "kind"])
    asked = [["fit", LAW, "--data", data, *words] for words in wrong]
    script = f"import sys; from forecast.cli import main; sys.exit(sum(main(w) in (1, 2) for w in {asked}))"
    done = subprocess.run([sys.executable, "-O", "-c", script], capture_output=True, text=True, cwd=here, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    assert [line[:17] for line in done.stderr.splitlines()] == 4 * ["forecast: error: "]


# --- files that are no tables -----------------------------------------------------------------------------------------


class Payload:
    """Whoever unpickles it makes the file ``marker``."""

    def __reduce__(self):
        return os.system, ("touch marker",)


@pytest.mark.parametrize("name", ["runs.csv", "runs.parquet", "runs.pkl", "runs.pickle", "datapackage.json"])
def test_bad_input_007_a_pickle_is_no_table_whatever_its_name(said, here, name):
    (here / name).write_bytes(pickle.dumps(Payload()))
    assert name in said("fit", *LINE, "--data", f"./{name}").refusal
    assert not (here / "marker").exists()


def test_a_missing_cell_is_refused_by_every_verb_that_is_told_to(said, here):
    rows = [f"{year}-01-01,{'' if year == 2013 else year - 2000}" for year in range(2010, 2020)]
    (here / "m.csv").write_text("date,y\n" + "\n".join(rows) + "\n")
    for words in (
        ("ask", "m.csv:y", "--at", "2026"),
        ("extrapolate", "m.csv", "--x", "date", "--y", "y", "--to", "2026"),
    ):
        assert "row 4 of 10 has no 'y'" in said(*words, "--missing", "error").refusal


def test_several_rows_at_one_place_offer_what_runs_when_copied(said, here):
    rows = [
        f"{run},{step},{3 / step + (run == 'small')},id{run}{step}" for run in ("big", "small") for step in range(1, 9)
    ]
    (here / "r.csv").write_text("run,step,loss,id\n" + "\n".join(rows) + "\n")
    words = ("extrapolate", "r.csv", "--x", "step", "--y", "loss", "--to", "20")
    offered = said(*words).refusal
    assert '--where "run is big"' in offered
    for condition in ("run is big", "run is 'big'", '"run" is big'):
        assert said(*words, "--where", condition).code == 0
