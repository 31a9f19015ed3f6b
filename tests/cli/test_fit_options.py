"""``forecast fit``: what each option hands over, in a process of its own, and the bar of progress."""

import csv
import json
import os
import pty
import re
import subprocess
import sys

import numpy as np
import pytest

import forecast
from forecast.tables import csv_format

POWER = "scaling/power"


@pytest.fixture
def table():
    """Four families of twelve runs, which differ in level and share an exponent; x is known to 5 %."""
    rng = np.random.default_rng(7)
    x = np.tile(np.geomspace(10, 1e4, 12), 4)
    family = np.repeat(["a", "b", "c", "d"], 12)
    level = np.repeat([2.0, 3.0, 4.0, 5.0], 12)
    y = level * x**-0.3 * np.exp(0.02 * rng.standard_normal(48))
    tried = np.full(48, 200.0)
    passed = rng.binomial(200, 0.05 + 0.95 / (1 + np.exp(5 - np.log(x)))).astype(float)
    size = x * np.exp(0.05 * rng.standard_normal(48))
    return {"size": size, "y": y, "family": family, "tried": tried, "passed": passed}


@pytest.fixture
def fitted(said, here, table):
    """Run ``forecast fit scaling/power`` on that table; returns the JSON."""
    csv_format.write_csv(here / "runs.csv", {n: v.tolist() for n, v in table.items()})

    def run(*words, law=POWER, code=0):
        done = said("fit", law, "--data", "runs.csv", "--let", "x = size", *words, "--json")
        assert (done.code, done.err) == (code, "")
        return done.json["result"]

    return run


def by_name(result):
    return {row["name"]: row for row in result["parameters"]}


def same(result, fit):
    assert {n: row["value"] for n, row in by_name(result).items()} == pytest.approx(dict(fit.values), rel=1e-12)
    for name, row in by_name(result).items():
        assert row["stderr"] == pytest.approx(float(fit.stderr[name]), rel=1e-9)


# --- options of the fit -----------------------------------------------------------------------------------------------


def test_options_of_an_objective_are_numbers_or_columns(fitted, table):
    found = fitted("--objective", "quantile", "--option", "tau=0.9")
    same(found, forecast.law(POWER).fit(table, let={"x": "size"}, objective="quantile", options={"tau": 0.9}))
    text = "1/(1 + exp(-(a + b*log(x))))"
    words = ("--variables", "x", "--objective", "binomial", "--y", "passed")
    found = fitted(*words, "--option", "trials=tried", "--option", "chance=0.05", law=text)
    law, options = forecast.Law(text, variables=["x"]), {"trials": "tried", "chance": 0.05}
    same(found, law.fit(table, let={"x": "size"}, y="passed", objective="binomial", options=options))


def test_errors_in_x_widen_what_is_known(fitted, table):
    law = forecast.law(POWER)
    words = ("--sigma", "0.02 + 0*y", "--objective", "least_squares_log")
    plain, wide = fitted(*words), fitted(*words, "--sigma-x", "x = 0.05*size")
    known = {"sigma": "0.02 + 0*y", "sigma_x": {"x": "0.05*size"}}
    same(wide, law.fit(table, let={"x": "size"}, objective="least_squares_log", **known))
    assert by_name(wide)["c"]["stderr"] > by_name(plain)["c"]["stderr"]


def test_groups_and_parameters_of_their_own(fitted, table):
    found = fitted("--groups", "family", "--varying", "beta")
    values = {n: row["value"] for n, row in by_name(found).items()}
    fit = forecast.law(POWER).fit(table, let={"x": "size"}, groups="family", varying=["beta"])
    assert values == pytest.approx(dict(fit.values), rel=1e-12)
    assert len(values) == 5  # one exponent, four levels
    assert values["c"] == pytest.approx(0.3, abs=0.02)
    levels = sorted(v for n, v in values.items() if n != "c")
    assert levels == pytest.approx([2, 3, 4, 5], rel=0.1)


@pytest.mark.parametrize("resample", ["pairs", "residuals", "wild", "cluster"])
def test_kinds_of_bootstrap(fitted, table, resample):
    words = ("--groups", "family") if resample == "cluster" else ()
    keywords = {"groups": "family"} if resample == "cluster" else {}
    found = fitted("--bootstrap", "40", "--resample", resample, *words)
    same(found, forecast.law(POWER).fit(table, let={"x": "size"}, bootstrap=40, resample=resample, **keywords))


def test_many_fits_are_listed(fitted, table):
    found = fitted("--by", "family")
    fits = forecast.law(POWER).fit({**table, "x": table["size"]}, by="family")
    assert [row["name"] for row in found["fits"]] == ["a", "b", "c", "d"]
    assert (found["count"], found["converged"], found["by"]) == (4, 4, "family")
    for i, row in enumerate(found["fits"]):
        assert (row["points"], row["converged"], row["verdict"].split(";")[0]) == (12, True, "converged")
        values = {p["name"]: p["value"] for p in row["parameters"]}
        assert values == pytest.approx({n: float(fits.params[n][i]) for n in values}, rel=1e-12)
        assert all(p["lower"] < p["value"] < p["upper"] for p in row["parameters"])
    assert found["headline"].startswith("scaling/power over 'family': all 4 converged; median beta = ")
    assert by_name(found)["c"]["p05"] < by_name(found)["c"]["p50"] < by_name(found)["c"]["p95"]


def test_many_fits_are_summed_up_and_a_failed_one_is_a_failure(said, here):
    x = [float(v) for v in (10, 20, 40, 80, 160)]
    rows = [(f, a, 3 * a**-0.4) for f in "pqr" for a in x] + [("few", 10.0, 1.0)]
    names, xs, ys = (list(column) for column in zip(*rows, strict=True))
    csv_format.write_csv(here / "runs.csv", {"family": names, "x": xs, "y": ys})
    found = said("fit", POWER, "--data", "runs.csv", "--by", "family")
    assert found.code == 1
    assert found.out.startswith("scaling/power over 'family': 3 of 4 converged; median beta = 3; median c = 0.4.\n")
    assert "not fitted: fewer than 2 points" in found.out
    assert re.search(r"\bfits\s+3 of 4 converged; --json lists them", found.out)
    assert "1 of 4 fits failed, the first is family few" in found.err


# --- protocols --------------------------------------------------------------------------------------------------------


def renamed(path, columns, target):
    """Write some columns of a CSV under other names."""
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    with target.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(columns.values())
        out.writerows([row[old] for old in columns] for row in rows)


CHINCHILLA = ("scaling/chinchilla", "chinchilla_epoch/svg_extracted_data.csv")
SIZES = {"Model Size": "size", "Training FLOP": "work", "loss": "final"}
BY_COLUMNS = ("--let", "Model Size = size", "--let", "Training FLOP = work", "--y", "final")
BY_VARIABLES = ("--let", "N = size", "--let", "D = work/(6*size)", "--let", "loss = final")
RUNS = {"params": "n", "tokens": "d", "unique_tokens": "u", "loss": "final"}


@pytest.mark.parametrize(
    ("law", "file", "columns", "protocol", "lets", "points", "name", "value"),
    [
        (*CHINCHILLA, SIZES, "besiroglu2024", BY_COLUMNS, 240, "A", 477.826),
        pytest.param(*CHINCHILLA, SIZES, "besiroglu2024", BY_VARIABLES, 240, "A", 477.826, marks=pytest.mark.slow),
        pytest.param(*CHINCHILLA, SIZES, "hoffmann2022-a3", BY_COLUMNS, 245, "E", 1.89134, marks=pytest.mark.slow),
        ("scaling/data-constrained", "datablations/datablations_182_outliers_removed.csv", RUNS, "muennighoff2023",
         ("--let", "params = n", "--let", "tokens = d", "--let", "unique_tokens = u", "--y", "final"), 182, "R_N",
         1.70601),
        ("scaling/broken-power", "bnsl/four_digit_addition.csv", {"x": "n", "y": "ce", "split": "part"},
         "bnsl-addition", ("--let", "x = n", "--let", "y = ce", "--let", "split = part"), 14, "d1", 612.584),
    ],
    ids=["columns", "variables", "hoffmann", "muennighoff", "bnsl"],
)  # fmt: skip
def test_let_reaches_the_columns_of_a_protocol(
    said, here, reference_data, law, file, columns, protocol, lets, points, name, value
):
    renamed(reference_data / "scaling" / file, columns, here / "mine.csv")
    found = said("fit", law, "--data", "mine.csv", "--protocol", protocol, "--select", *lets, "--json")
    assert found.code == 0, found.err
    assert found.json["result"]["points"] == points
    assert found.parameters[name]["value"] == pytest.approx(value, rel=1e-4)
    assert found.json["result"]["headline"].startswith(law)
    assert found.json["warnings"][0].startswith(f"--select keeps {points} of ")


def test_a_protocol_whose_columns_are_not_there_names_the_nearest(said, here):
    csv_format.write_csv(here / "mine.csv", {"Model Sise": [1e8] * 9, "Training FLOP": [1e19] * 9, "loss": [3.0] * 9})
    line = said("fit", "scaling/chinchilla", "--data", "mine.csv", "--protocol", "besiroglu2024", "--select").refusal
    assert "unknown column 'Model Size'; did you mean 'Model Sise'" in line


# --- progress ---------------------------------------------------------------------------------------------------------

BARRED = """
import sys
from forecast.cli import main, render
render.PROGRESS_DELAY_SECONDS = 0.0
sys.exit(main(sys.argv[1:]))
"""


def with_stderr(folder, env, words, terminal):
    """Run the command line with a pseudo-terminal, or a pipe, as stderr; returns what came on stdout and stderr."""
    ours, theirs = pty.openpty() if terminal else os.pipe()
    settings = {**env, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-c", BARRED, *words], stdout=subprocess.PIPE, stderr=theirs, env=settings, cwd=folder
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # a terminal whose last writer has gone
            break
        if not piece:
            break
        said += piece
    os.close(ours)
    out = process.stdout.read().decode()
    process.stdout.close()
    assert process.wait(timeout=120) == 0, said
    return out, said.decode()


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), pytest.param(("--workers", "2"), marks=pytest.mark.slow)], ids=["one", "two"])
def test_a_bar_with_a_rate_on_a_terminal_and_nothing_else(data, here, fake_plugins, words):
    asked = ["fit", "scaling/saturating-power", "--data", data, "--bootstrap", "3000", *words, "--json"]
    out, err = with_stderr(here, fake_plugins.env, asked, terminal=True)
    assert "refitting" in err
    assert re.search(r"[\d,]+/3,000 at [\d,]+/s", err)
    quiet, nothing = with_stderr(here, fake_plugins.env, asked, terminal=False)
    assert nothing == ""
    assert json.loads(out)["result"] == json.loads(quiet)["result"]
    assert "\x1b" not in out
    assert "refitting" not in out
