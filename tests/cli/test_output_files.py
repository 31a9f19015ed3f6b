"""``--out`` and ``--plot``: every file that is asked for is written, or the command refuses before the work."""

import csv
import json

import pytest

LAW = "scaling/saturating-power"
RUN = ("run", "brain-parity", "--draws", "20", "--until", "2030", "--set", "metric=hpcg", "--set", "trend=exponential")
FIT = ("fit", LAW, "--data", "runs.csv")


@pytest.mark.slow
@pytest.mark.parametrize("words", [RUN, FIT], ids=lambda words: words[0])
def test_every_plot_is_drawn(said, data, here, words):
    found = said(*words, "--plot", "a.svg", "--plot", "b.png", "--plot", "c.svg", "--json")
    assert (found.code, found.err) == (0, "")
    assert (here / "a.svg").read_bytes() == (here / "c.svg").read_bytes()
    assert (here / "a.svg").read_text().startswith("<?xml")
    assert (here / "b.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("words", [RUN, FIT], ids=lambda words: words[0])
@pytest.mark.parametrize(
    ("files", "says"),
    [
        (("--plot", "a.svg", "--plot", "./a.svg"), "name the same file"),
        (("--plot", "a.svg", "--plot", "b.txt"), "b.txt: expected a figure file that ends in"),
        (("--plot", "b.txt", "--plot", "a.svg"), "b.txt: expected a figure file that ends in"),
        (("--out", "a.nc", "--out", "b.nc"), "--out: expected one file, got 'a.nc' and 'b.nc'"),
        (("--out", "a.nc", "--out", "a.nc"), "--out: expected one file, got 'a.nc' and 'a.nc'"),
        (("--out", "../nowhere/a.nc"), "no such file"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(said, data, here, words, files, says):
    assert says in said(*words, *files).refusal
    assert [path.name for path in here.iterdir()] == ["runs.csv"]


def test_predictions_go_to_one_file(said, here):
    words = ("predict", "scaling/chinchilla@besiroglu2024", "N=1e9", "D=1e10", "--out", "a.csv", "--out", "b.csv")
    assert "--out: expected one file, got 'a.csv' and 'b.csv'" in said(*words).refusal
    assert list(here.iterdir()) == []


ANSWERS = {
    "allocate": ("allocate", "scaling/chinchilla@besiroglu2024", "--compute", "1e25"),
    "backtest": ("backtest", "hardware/linpack", "--shape", "exponential", "--origins", "2"),
    "claims": ("claims", "brain-flops"),
}


@pytest.mark.parametrize(
    ("name", "columns", "value"),
    [
        ("allocate", ["quantity", "value", "lower", "upper", "unit"], "N"),
        ("backtest", ["model", "series", "origins", "forecasts"], "trends/exponential"),
        ("claims", ["id", "group", "statement", "stated", "computed", "unit", "verdict"], "brain-flops"),
    ],
)
def test_every_answer_is_exported_as_data_and_as_a_table(said, here, name, columns, value):
    code, printed, err = said(*ANSWERS[name], "--out", "answer.csv")
    assert (code, err) == (0, "")
    assert len(printed.splitlines()) > 3
    rows = list(csv.DictReader((here / "answer.csv").read_text().splitlines()))
    assert list(rows[0])[: len(columns)] == columns
    assert value in {row[columns[0]] for row in rows}
    whole = said(*ANSWERS[name], "--out", "answer.json", "--json")
    assert json.loads((here / "answer.json").read_text()) == whole.json
    refused = said(*ANSWERS[name], "--out", "answer.nc")
    assert refused.code == 2
    assert "'answer.nc': expected a file that ends in .csv, .parquet or .json" in refused.refusal
