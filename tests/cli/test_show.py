"""``forecast show``: a result that was saved says what it said when it was made, and is written in every form."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import forecast
from forecast.tables import csv_format
from toolkit import json_of, sample, saturating

SCENARIO = """
title = "a size"
start = 2025
until = 2035
[choices.speed]
values = ["0.1", "0.3"]
[quantities.rate]
normal = [0.1, 0.5]
unit = ""
[quantities.size]
expression = "(1 + rate + {speed})**(t - 2024)"
unit = ""
[questions.ten]
when = "size >= 10"
dates = ["2030-01-01"]
title = "the size reaches ten"
[questions.late]
value = "size"
dates = ["2033-01-01"]
title = "the size in 2033"
"""
POWER = ("a*x**b", "--variables", "x", "--data", "runs.csv")
#: One saved result of each kind, and the command that makes it.
MADE = {
    "projection.nc": ("run", "mine.toml", "--draws", "200"),
    "sweep.nc": ("sweep", "mine.toml", "--draws", "200", "--set", "speed=*"),
    "fit.nc": ("fit", *POWER, "--where", "family is b"),
    "fits.nc": ("fit", *POWER, "--by", "family"),
    "comparison.nc": ("compare", "scaling/power", "a + b*log(x)", "a*x", *POWER[1:], "--where", "family is b"),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a saved result of each kind; one label is a formula to a spreadsheet."""
    folder = tmp_path_factory.mktemp("saved")
    parts = {name: saturating(20, 0.01, seed=i) for i, name in enumerate(("=1+1", "b"))}
    columns = {n: np.concatenate([part[n] for part in parts.values()]) for n in ("x", "y")}
    csv_format.write_csv(folder / "runs.csv", {**columns, "family": np.repeat(list(parts), 20).tolist()})
    (folder / "mine.toml").write_text(SCENARIO)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        from forecast.cli import main

        for name, words in MADE.items():
            assert main([*words, "--out", name]) == 0
        yield folder


@pytest.fixture
def there(saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own with the saved results."""
    for file in saved.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_same(found: object, expected: object) -> None:
    """Compare plain data; the errors of many fits are computed again when they are loaded, and differ by rounding."""
    if isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-8)
    elif isinstance(expected, (dict, list)):
        assert isinstance(found, type(expected))
        assert len(found) == len(expected)
        for key in expected if isinstance(expected, dict) else range(len(expected)):
            assert_same(found[key], expected[key])
    else:
        assert found == expected


@pytest.mark.parametrize("name", sample(MADE, 2))
def test_what_is_shown_is_what_was_printed(said, there, name):
    assert said("show", name).out == said(*MADE[name]).out
    shown, made = said("show", name, "--json").json, said(*MADE[name], "--json").json
    assert shown["command"] == "show"
    assert_same(shown["result"], made["result"])
    assert set(made["warnings"]) >= set(shown["warnings"])
    assert shown["provenance"]["versions"] == made["provenance"]["versions"]


@pytest.mark.parametrize(
    "words", [("--show", "answers"), ("--split", "speed"), ("--quantity", "size", "--every", "5")], ids=str
)
def test_a_projection_is_narrowed_as_when_it_is_run(said, there, words):
    assert said("show", "projection.nc", *words).out == said(*MADE["projection.nc"], *words).out


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in ("projection.nc", "fits.nc") else n for n in MADE]
)
def test_every_form_is_written_whole(said, there, name):
    import pyarrow.parquet as pq

    for ending in ("nc", "json", "csv", "parquet"):
        assert said("show", name, "--out", f"out.{ending}").code == 0
    whole = said("show", name, "--json").json["result"]
    assert_same(said("show", "out.nc", "--json").json["result"], whole)
    assert json_of(Path("out.json").read_text())["result"] == whole
    with Path("out.csv").open() as file:
        rows = list(csv.DictReader(file))
    table = pq.read_table("out.parquet").to_pydict()
    assert list(table) == list(rows[0])
    assert [len(column) for column in table.values()] == [len(rows)] * len(table)
    numbers = [key for key, column in table.items() if any(isinstance(v, float) for v in column)]
    assert numbers
    for key in numbers:  # the same to the last bit
        assert [float(row[key]) if row[key] else None for row in rows] == table[key]
    assert not [path.name for path in there.iterdir() if path.name.endswith(".part")]


def test_a_label_that_a_spreadsheet_would_run_is_guarded(said, there):
    said("show", "fits.nc", "--csv", "out.csv", "--out", "out.parquet")
    assert Path("out.csv").read_text().splitlines()[1].startswith("'=1+1,a,")
    import pyarrow.parquet as pq

    assert set(pq.read_table("out.parquet").column("family").to_pylist()) == {"=1+1", "b"}


def test_the_table_of_a_projection_has_the_answers_and_the_steps(said, there):
    said("run", "mine.toml", "--draws", "200", "--out", "run.csv")
    with Path("run.csv").open() as file:
        rows = list(csv.DictReader(file))
    result = said("show", "projection.nc", "--json").json["result"]
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in dict.fromkeys(r["kind"] for r in rows)}
    assert {kind: len(own) for kind, own in by_kind.items()} == {
        "question": 2, "probability": 2, "value": 2, "quantity": 3 * 11
    }  # fmt: skip
    for asked, row in zip(result["questions"], by_kind["question"], strict=True):
        middle = asked["crossing"]["p50"]
        assert row["p50"].startswith(middle[:4])
        assert float(row["never"]) == asked["crossing"]["never"]
        assert row["speed"] == asked["choices"]["speed"]
    assert [float(row["probability"]) for row in by_kind["probability"]] == [
        asked["dates"][0]["probability"] for asked in result["questions"]
    ]
    (fast,) = [q for q in result["quantities"] if q["name"] == "size" and q["choices"] == {"speed": "0.3"}]
    own = [row for row in by_kind["quantity"] if row["name"] == "size" and row["speed"] == "0.3"]
    assert [float(row["p95"]) for row in own] == fast["p95"]
    assert [row["date"] for row in own] == fast["time"]
    said("show", "projection.nc", "--quantity", "rate", "--csv", "rate.csv")
    assert {line.split(",")[1] for line in Path("rate.csv").read_text().splitlines()[1:]} == {"rate"}


def test_the_level_is_of_the_intervals_of_a_fit(said, there):
    wide, narrow = (said("show", "fit.nc", "--level", level, "--json").parameters["b"] for level in ("0.99", "0.5"))
    assert wide["lower"] < narrow["lower"] < wide["value"] < narrow["upper"] < wide["upper"]


@pytest.mark.parametrize("name", [pytest.param("fit.nc", marks=pytest.mark.slow), "fits.nc"])
def test_a_fit_is_drawn_as_when_it_was_made(said, there, name):
    said(*MADE[name], "--plot", "made.svg")
    said("show", name, "--plot", "shown.svg")
    assert Path("made.svg").read_bytes() == Path("shown.svg").read_bytes()
    titles = Path("shown.svg").read_text()
    assert ("family = =1+1" in titles) == (name == "fits.nc")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("none.nc",), "none.nc: no such file"),
        (("runs.csv",), "runs.csv: expected a .nc file; the other forms are for other programs"),
        (("mine.toml",), "mine.toml: is not a netCDF-4/HDF5 file"),
        (("comparison.nc", "--level", "0.5"), "--level: the file holds a comparison"),
        (("projection.nc", "--split", "sped"), "did you mean 'speed'"),
        (("projection.nc", "--quantity", "siz"), "did you mean 'size'"),
        (("fit.nc", "--show", "limits", "--split", "speed"), "--show, --split: the file holds a fit"),
        (("fits.nc", "--every", "2"), "--every: the file holds a fit"),
        (("comparison.nc", "--plot", "a.svg"), "--plot: the file holds a comparison"),
        (("fit.nc", "--level", "2"), "between 0 and 1"),
        (("fit.nc", "--out", "fit.nc"), "FILE and --out name the same file"),
        (("fit.nc", "--csv", "a.csv", "--out", "a.csv"), "--out and --csv name the same file"),
        (("fit.nc", "--csv", "a.txt"), "--csv: 'a.txt': expected a file that ends in .csv"),
        (("fit.nc", "--out", "a.txt"), "--out: 'a.txt': expected a file that ends in .nc, .csv, .parquet or .json"),
        (("fit.nc", "--plot", "a.txt"), "expected a figure file"),
        (("fit.nc", "--out", "no/a.csv"), "folder 'no'"),
    ],
)
def test_what_cannot_be_shown_is_refused(said, there, words, says):
    before = sorted(there.iterdir())
    assert says in said("show", *words).refusal
    assert sorted(there.iterdir()) == before


def test_parquet_without_pyarrow_says_how_to_get_it(said, there, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for words in (("show", "fit.nc"), MADE["fit.nc"]):
        line = said(*words, "--out", "a.parquet").refused()
        assert "--out: 'a.parquet': writing Parquet needs pyarrow: pip install 'lawcast[parquet]'" in line


def test_a_result_of_another_kind_is_refused(said, here):
    import xarray as xr

    forecast.save(xr.DataTree(xr.Dataset({"a": 1.0})), "other.nc")
    assert "other.nc: holds no projection, fit or comparison" in said("show", "other.nc").refused(1)
