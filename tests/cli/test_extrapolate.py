"""``forecast extrapolate``: a file in, one sentence and its record out; bad inputs end in one line."""

import numpy as np
import pytest

from forecast.tables import csv_format
from toolkit import command, json_of, spawn

run = command("extrapolate")


@pytest.fixture
def curve(here):
    steps = np.geomspace(1e3, 1e6, 30)
    loss = (1.7 + 40 * steps**-0.4) * np.exp(0.005 * np.random.default_rng(0).standard_normal(30))
    runs = np.where(np.arange(30) < 15, "small", "big").tolist()
    csv_format.write_csv(here / "curve.csv", {"steps": steps, "loss": loss, "low": loss - 2, "run": runs})
    return "curve.csv"


def test_one_sentence_then_what_was_pooled_and_how_such_have_done(curve):
    done = spawn("extrapolate", curve, "--x", "steps", "--y", "loss", "--to", "2e6", cwd=".")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("loss is expected to be 1.")
    assert "0.30 decades beyond 30 points" in lines[0]
    assert "scaling/broken-power" in done.stdout
    assert "curves of 9 sources, from 16 or more points and up to 0.45 decades ahead" in done.stdout
    assert "later points lay in the interval" in done.stdout


def test_rows_are_sorted_and_each_place_is_answered_as_asked(capsys, here, curve):
    head, *rows = (here / curve).read_text().splitlines()
    (here / "mixed.csv").write_text("\n".join([head, *rows[::2], *rows[1::2]]) + "\n")
    asked = ("--x", "steps", "--y", "loss", "--to", "3e6,2e6,3e6", "--json")
    answers = [json_of(run(capsys, file, *asked).out)["result"] for file in (curve, "mixed.csv")]
    assert answers[0] == answers[1]
    points = answers[0]["points"]
    assert [row["steps"] for row in points] == [3e6, 2e6, 3e6]
    assert points[0] == points[2]


def test_json_holds_places_laws_and_record(capsys, curve):
    code, out, _ = run(capsys, curve, "--x", "steps", "--y", "loss", "--to", "1e9,2e6", "--level", "0.5", "--json")
    answer = json_of(out)
    result = answer["result"]
    assert code == 0
    assert [row["steps"] for row in result["points"]] == [1e9, 2e6]
    assert all(row["lower"] < row["median"] < row["upper"] for row in result["points"])
    assert {row["name"] for row in result["pooled"]} >= {"scaling/broken-power", "scaling/saturating-power"}
    assert result["beyond"]["decades"] == pytest.approx(3, abs=1e-9)
    assert any("decades beyond the data" in line for line in answer["warnings"])
    assert [p["name"] for p in answer["provenance"]["plugins"]] == ["scaling"]
    assert list(answer["provenance"]["data"]) == ["curve.csv"]


def test_it_writes_and_draws(capsys, here, curve):
    words = (
        curve, "--x", "steps", "--y", "loss", "--to", "2e6", "--out", "o.csv", "--plot", "o.svg", "--plot", "o.png",
    )  # fmt: skip
    assert run(capsys, *words).code == 0
    assert (here / "o.csv").read_text(encoding="utf-8").splitlines()[0] == "steps,median,lower,upper"
    first = (here / "o.svg").read_bytes()
    assert b"30 points" in first
    assert b"mathdefault" not in first  # a tick of TeX that nobody reads
    assert (here / "o.png").read_bytes().startswith(b"\x89PNG")
    run(capsys, *words)
    assert (here / "o.svg").read_bytes() == first


def test_rows_can_be_chosen(capsys, curve):
    code, out, err = run(capsys, curve, "--x", "steps", "--y", "loss", "--to", "2e6", "--where", "run is big", "--json")
    assert code == 0
    assert json_of(out)["result"]["observations"] == 15
    assert err == ""


REFUSED = {
    "few": (
        ("--x", "steps", "--y", "loss", "--to", "2e6", "--where", "steps < 2000"),
        1,
        "at least 5 different values",
    ),
    "negative": (("--x", "steps", "--y", "low", "--to", "2e6"), 1, "'low', row 24: expected numbers above 0"),
    "inside": (("--x", "steps", "--y", "loss", "--to", "1e5"), 2, "beyond the data, which end at steps = 1e+06"),
    "nowhere": (("--x", "steps", "--y", "loss"), 2, "to: expected where to extrapolate to"),
    "no number": (("--x", "steps", "--y", "loss", "--to", "far"), 2, "--to: expected a number, got 'far'"),
    "no column": (("--x", "step", "--y", "loss", "--to", "2e6"), 2, "'steps'"),
    "reach": (("--x", "steps", "--y", "loss", "--threshold", "2"), 2, "expected x to be dates"),
    "text": (("--x", "steps", "--y", "run", "--to", "2e6"), 1, "run"),
    "level": (("--x", "steps", "--y", "loss", "--to", "2e6", "--level", "2"), 2, "level"),
    "format": (("--x", "steps", "--y", "loss", "--to", "2e6", "--plot", "o.gif"), 2, ".svg"),
    "out": (("--x", "steps", "--y", "loss", "--to", "2e6", "--out", "o.txt"), 2, "ends in .csv"),
    "itself": (("--x", "steps", "--y", "loss", "--to", "2e6", "--out", "curve.csv"), 2, "name the same file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_inputs_end_in_one_line(capsys, curve, case):
    words, code, says = REFUSED[case]
    assert says in run(capsys, curve, *words).refused(code)


def test_without_the_plugin_of_laws_the_law_is_named(curve):
    words = ("extrapolate", curve, "--x", "steps", "--y", "loss", "--to", "2e6")
    done = spawn(*words, env={"FORECAST_PLUGINS": "none"})
    assert done.returncode == 2, done.stderr
    assert "scaling/broken-power" in done.stderr


@pytest.mark.parametrize(
    "rows", [(1.0, 1.3, 1.1, 1.8), (9.0, 7.0, 7.0, 5.0, 4.4, 4.4, 3.9), (-2.0, 1.0, 0.5, 3.0, 2.0, 4.0, 3.5)]
)
def test_a_series_along_dates_is_the_answer_to_its_column(tmp_path, monkeypatch, capsys, rows):
    """One interval by both verbs: of an ordinary series, of a record, and of one that crosses zero."""
    (tmp_path / "mine.csv").write_text("date,y\n" + "".join(f"{2010 + i}-01-01,{y}\n" for i, y in enumerate(rows)))
    monkeypatch.chdir(tmp_path)
    asked = command("ask")(capsys, "mine.csv:y", "--at", "2020", "--json").json["result"]["values"][0]["dates"][0]
    made = command("extrapolate")(capsys, "mine.csv", "--x", "date", "--y", "y", "--to", "2020", "--json")
    (point,) = made.json["result"]["points"]
    ends = [point["lower"], point["median"], point["upper"]]
    assert ends == pytest.approx([asked["p05"], asked["p50"], asked["p95"]], rel=1e-12)
    text = command("extrapolate")(capsys, "mine.csv", "--x", "date", "--y", "y", "--to", "2020").out
    assert "  forecast ask mine.csv:y --x date\n" in text  # which has the shapes and the record
