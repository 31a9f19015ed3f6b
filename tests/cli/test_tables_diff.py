"""``forecast tables diff`` as people type it, in a process of its own."""

import json
import shutil
from pathlib import Path

import pytest

import forecast_datasets
from forecast.tables import file_hash
from toolkit import command, copied, json_of

SHIPPED = Path(forecast_datasets.__file__).parent / "supercomputers"
TREND = ("--trend", "trends/exponential", "--x", "date", "--y", "rmax_top1")


@pytest.fixture
def former(tmp_path):
    """A version of the table of supercomputers without its last list, and with one figure wrong by ten."""
    folder = tmp_path / "former"
    shutil.copytree(SHIPPED, folder)
    file = folder / "supercomputers.csv"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith("2025-11")]
    assert sum(",1102000," in line for line in kept) > 0
    wrong = [line.replace(",1102000,", ",110200,") if line.startswith("2022-06") else line for line in kept]
    file.write_text("".join(wrong), encoding="utf-8")
    path = folder / "datapackage.json"
    package = json.loads(path.read_text(encoding="utf-8"))
    package["version"] = "0.9.0"
    package["resources"][0]["hash"] = file_hash(file)
    for resource in package["resources"]:
        resource["schema"].pop("checks", None)  # a check may refuse the wrong figure, which is what it is for
    path.write_text(json.dumps(package), encoding="utf-8")
    return folder


def run(*words, cwd):
    return copied("tables", "diff", *words, cwd=cwd, env={"NO_COLOR": "1"})


def test_end_to_end(former, tmp_path):
    done = run("former", "datasets/supercomputers", *TREND, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(
        "1 row added, 0 removed, 1 changed (66 rows before, 67 after); the doubling time of rmax_top1 moves from 1."
    )
    assert lines[0].endswith("].")
    assert "its 90 % interval before [" in lines[0]
    assert "  2025-11" in lines
    changed = next(line for line in lines if line.startswith("  2022-06"))
    assert changed.split() == ["2022-06", "rmax_top1", "110200", "1102000", "+900", "%"]
    assert any(line.startswith("  before: doubles every") for line in lines)
    assert any(line.strip().startswith("doubling_years") for line in lines)


def test_json_end_to_end(former, tmp_path):
    done = run("former", "datasets/supercomputers", *TREND, "--json", cwd=tmp_path)
    found = json_of(done.stdout)
    assert list(found) == ["command", "result", "warnings", "provenance"]
    assert found["command"] == "tables diff"
    result = found["result"]
    assert result["before"]["version"] == "0.9.0"
    assert result["before"]["hash"] != result["after"]["hash"]
    assert found["provenance"]["data"] == {side: result[side]["hash"] for side in ("before", "after")}
    (part,) = result["parts"]
    assert part["key"] == ["list"]
    assert (part["rows_before"], part["rows_after"], part["rows_changed"]) == (66, 67, 1)
    assert part["added"] == [{"name": "2025-11", "key": {"list": "2025-11"}}]
    (change,) = part["changed"]
    assert (change["column"], change["before"], change["after"]) == ("rmax_top1", 110200, 1102000)
    assert change["relative"] == pytest.approx(9)
    figures = {figure["name"]: figure for figure in result["trend"]["figures"]}
    doubling = figures["doubling_years"]
    assert doubling["relative"] == pytest.approx(doubling["after"] / doubling["before"] - 1)
    assert set(doubling["interval_before"]) == {"p05", "p95"}
    assert (figures["n"]["before"], figures["n"]["after"]) == (66, 67)
    assert result["trend"]["unit"] == "TFLOP/s"


answer = command("tables", "diff")


def test_the_same_table_has_no_difference_and_its_trend_stays(capsys):
    name = "datasets/supercomputers"
    code, out, err = answer(capsys, name, name, *TREND)
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith(
        "the versions hold the same 67 rows; the doubling time of rmax_top1 stays at "
    )


def test_where_picks_rows_of_the_trend_only(capsys):
    words = ("datasets/time-horizons", "datasets/time-horizons", "--trend", "trends/exponential", "--x", "release_date",
             "--y", "horizon", "--where", "version is TH1.1", "--where", "frontier is yes", "--json")  # fmt: skip
    code, out, _ = answer(capsys, *words)
    result = json.loads(out)["result"]
    assert code == 0
    assert result["trend"]["where"] == {"version": "TH1.1", "frontier": "yes"}
    assert next(f for f in result["trend"]["figures"] if f["name"] == "n")["before"] == 18
    assert result["parts"][0]["rows_before"] == 108


def test_a_trend_that_fails_on_one_side_is_said_and_the_rows_are_listed(capsys, tmp_path):
    (tmp_path / "a.csv").write_text("year,v\n2000,1\n2001,2\n2002,4\n2003,9\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("year,v\n2000,1\n2001,-2\n2002,4\n2003,9\n", encoding="utf-8")
    words = (str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--trend", "trends/staircase", "--x", "year", "--y", "v")
    code, out, err = answer(capsys, *words, "--json")
    result = json.loads(out)
    assert code == 1
    assert err == ""
    assert result["warnings"][0].startswith("trend of after: ")
    assert result["result"]["trend"]["figures"] == []
    assert result["result"]["parts"][0]["changed"][0]["after"] == -2
    code, out, err = answer(capsys, *words)
    assert code == 1
    assert "no trend of v could be compared" in out.splitlines()[0]
    assert err.startswith("forecast: warning: trend of after: ")


def test_a_long_list_is_cut_in_text_and_whole_in_json(capsys, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n0,0\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("x,y\n" + "".join(f"{i},{i}\n" for i in range(30)), encoding="utf-8")
    words = (str(tmp_path / "a.csv"), str(tmp_path / "b.csv"))
    _, out, _ = answer(capsys, *words, "--limit", "5")
    assert "  … and 24 more (--json lists all)" in out.splitlines()
    assert sum(line.startswith("  ") and line.strip().replace(".0", "").isdigit() for line in out.splitlines()) == 5
    _, out, _ = answer(capsys, *words, "--json")
    assert len(json.loads(out)["result"]["parts"][0]["added"]) == 29


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--key", "list"), "--key is for files; of a described table its description says it"),
        (("--x", "date"), "--x: about a trend: name its shape with --trend"),
        (("--trend", "trends/exponential"), "--trend needs --x (dates) and --y (values)"),
        ((*TREND, "--where", "rmax_top1 > 3"), "--where: expected 'COLUMN is VALUE', got 'rmax_top1 > 3'"),
        (("--trend", "trends/exponentail", "--x", "date", "--y", "rmax_top1"), "did you mean 'trends/exponential'?"),
        (("--trend", "trends/exponential", "--x", "date", "--y", "rmax_top"), "did you mean 'rmax_top1'?"),
    ],
)
def test_wrong_use(capsys, words, says):
    assert says in answer(capsys, "datasets/supercomputers", "datasets/supercomputers", *words, "--json").refused()


CURVE = "year,cost,dram_cumulative,ok\n" + "".join(
    f"{1990 + i},{100 * 1.4 ** (-0.5 * i):.8g},{10 * 1.4**i:.8g},{str(i % 2 == 0).lower()}\n" for i in range(12)
)


@pytest.fixture
def curve(tmp_path):
    (tmp_path / "a.csv").write_text(CURVE + ",5,,\n", encoding="utf-8")
    return str(tmp_path / "a.csv")


def trend(capsys, curve, *words):
    code, out, err = answer(capsys, curve, curve, "--key", "cost", "--trend", *words, "--json")
    assert code == 0, err
    return json.loads(out)["result"]["trend"]


def test_rows_without_a_date_are_left_out_and_said(capsys, curve):
    found = trend(capsys, curve, "trends/exponential", "--x", "year", "--y", "cost")
    assert found["before"]["summary"].endswith("; 1 row without a date left out")


def test_a_trend_since_a_date_and_with_options(capsys, curve):
    found = trend(capsys, curve, "trends/exponential", "--x", "year", "--y", "cost", "--since", "1995-01-01")
    assert {f["name"]: f["after"] for f in found["figures"]}["n"] == 7
    assert found["since"] == "1995-01-01"
    words = ("trends/experience", "--x", "year", "--y", "cost", "--option", "cumulative=dram_cumulative")
    found = trend(capsys, curve, *words)
    assert found["options"] == {"cumulative": "dram_cumulative"}
    assert {f["name"]: f["after"] for f in found["figures"]}["n"] == 12
    code, out, _ = answer(capsys, curve, curve, "--key", "cost", "--trend", *words)
    assert code == 0
    assert "trends/experience of cost over year, cumulative = dram_cumulative:" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--since", "then"), "--since: 'then': expected a date YYYY, YYYY-MM or YYYY-MM-DD"),
        (("--option", "cumulative"), "--option: expected NAME=NUMBER or NAME=COLUMN"),
        (("--option", "cumulatve=made"), "unknown option 'cumulatve'"),
    ],
)
def test_wrong_options_of_a_trend(capsys, curve, words, says):
    asked = ("--trend", "trends/experience", "--x", "year", "--y", "cost")
    assert says in answer(capsys, curve, curve, "--key", "cost", *asked, *words).refused()
