"""Small files of the shapes that people publish: what every verb makes of them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forecast
from forecast.errors import UsageError
from toolkit import call

DATA = Path(os.environ.get("FORECAST_TEST_DATA", "")) / "own_files"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the files are not here")
#: All hold about 4 * 1.45**(year - 2012), in May.
GROWTH = 4 * 1.45 ** np.arange(12.0)


def answer(*words: str) -> dict[str, Any]:
    """Return what a command answers, as JSON."""
    code, out, err = call(*words, "--json")
    assert code == 0, err
    return json.loads(out)


def series(name: str, y: str, x: str = "when") -> forecast.tables.Columns:
    columns = forecast.read(DATA / name)
    columns = columns.complete([x, y])
    assert columns.kind(x) == "time"
    return columns


def at_2030(text: str, scale: float = 1.0) -> tuple[float, str]:
    """Return the median of a question about 2030, near the growth so far, and what was read."""
    found = answer("ask", str(DATA / text), "--at", "2030")
    about = found["result"]["answer"]
    assert GROWTH[-1] * 1.3**6 < about["p50"] / scale < GROWTH[-1] * 1.5**7
    return about["p50"], found["read"][0]


def test_01_a_column_of_years_is_time_for_every_verb() -> None:
    path = DATA / "01-year-column.csv"
    found = answer("extrapolate", str(path), "--x", "year", "--y", "ops", "--to", "2030")
    asked, read = at_2030("01-year-column.csv:ops")
    assert found["read"] == [read] == ["Read 01-year-column.csv: 12 rows, 'year' as years."]
    assert found["result"]["points"][0]["median"] == pytest.approx(asked, rel=0.1)
    assert found["result"]["beyond"] == {"years": 7.0}
    assert [row["name"] for row in found["result"]["pooled"]] == ["trends/pool"]
    reached = answer("extrapolate", str(path), "--x", "year", "--y", "ops", "--threshold", "1000")
    assert reached["result"]["when"]["p50"][:4] in ("2027", "2028")
    columns = forecast.read(path)
    law = forecast.Law("a*exp(g*(year - 2012))", variables=["year"]).fit(columns, y="ops")
    assert law.values["g"] == pytest.approx(np.log(1.45), rel=1e-3)


def test_02_two_runs_are_not_averaged() -> None:
    path = str(DATA / "02-two-runs.csv")
    code, _, err = call("extrapolate", path, "--x", "step", "--y", "loss", "--to", "30000")
    assert code == 1
    says = r"2 rows at each place of 'step' .*differ in 'run'.*--where \"run is wee\", --by run, or --reduce mean"
    assert re.search(says, err)
    each = answer("extrapolate", path, "--x", "step", "--y", "loss", "--to", "30000", "--by", "run")["result"]["series"]
    assert {row["run"]: round(row["points"][0]["median"], 1) for row in each} == {"vast": 1.8, "wee": 3.2}
    one = answer("extrapolate", path, "--x", "step", "--y", "loss", "--to", "30000", "--where", "run is wee")
    assert one["read"] == ["Read 02-two-runs.csv: 6 of 12 rows (6 of other run), one of 2 series (run is wee)."]
    assert one["result"]["points"][0]["median"] == each[1]["points"][0]["median"]


def test_03_an_unnamed_first_column_is_an_index() -> None:
    fit = forecast.Law("a + b*log(size)", variables=["size"]).fit(DATA / "03-index-column.csv", y="score")
    assert fit.values["a"] == pytest.approx(0.2, abs=1e-3)
    assert fit.values["b"] == pytest.approx(0.05, abs=1e-3)
    assert list(forecast.read(DATA / "03-index-column.csv")) == ["index", "size", "score"]


def test_05_a_blank_cell() -> None:
    fit = forecast.Law("a + b*x", variables=["x"]).fit(DATA / "05-blank-cell.csv")
    assert fit.read == "Read 05-blank-cell.csv: 6 of 7 rows (1 without y)."
    assert fit.values["b"] == pytest.approx(2.0, abs=0.05)
    found = answer("extrapolate", str(DATA / "05-blank-cell.csv"), "--x", "x", "--y", "y", "--to", "20")
    assert found["read"] == [fit.read]
    assert found["result"]["observations"] == 6


def test_06_only_columns_that_are_asked_for_are_judged() -> None:
    assert at_2030("06-thousands-elsewhere.csv:level")[1] == "Read 06-thousands-elsewhere.csv: 12 rows."
    assert series("06-thousands-elsewhere.csv", "seats")["seats"][:2].tolist() == [4000, 5800]


def test_16_names_with_blanks() -> None:
    value, _ = at_2030("16-names-with-blanks.csv:Units shipped (median)", 100)
    quoted, _ = at_2030('16-names-with-blanks.csv:"Units shipped (median)"', 100)
    assert value == quoted
    path = str(DATA / "16-names-with-blanks.csv")
    found = answer("ask", f'{path}:"Units shipped (median)" >= 1e6')["result"]["answer"]
    assert found["kind"] == "when"
    options = ("--x", "Start date", "--y", '"Units shipped (median)"', "--to", "2030")
    some = answer("extrapolate", path, *options, "--where", '"Units shipped (median)" > 1000', "--where", "Kind is red")
    assert some["result"]["observations"] == 9
    with pytest.raises(UsageError, match="did you mean 'Units shipped"):
        forecast.ask(f"{path}:Units shiped (median)")


def test_20_scores_in_a_fresh_process() -> None:
    import subprocess
    import sys

    code = "import forecast; print(forecast.scores.crps)"
    assert "crps" in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_23_units() -> None:
    from forecast import units

    pairs = (("µm", "m"), ("mm^2", "m**2"), ("%", ""))
    assert [units.factor(a, b) for a, b in pairs] == pytest.approx([1e-6, 1e-6, 0.01])


def test_a_new_scenario_runs_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = answer("scenarios", "new", "mine")["result"]["text"]
    assert (tmp_path / "mine.toml").read_text() == text
    assert len(text.splitlines()) == 13
    assert answer("run", "mine.toml", "--draws", "256")["result"]["answer"]["kind"] == "when"
    # of what a row has reached the answer is not a date before it, whatever the shape
    reached = text.replace("trends/pool", "trends/exponential").replace("1e20", "2e18")
    (tmp_path / "reached.toml").write_text(reached)
    crossing = answer("run", "reached.toml", "--draws", "256")["result"]["answer"]["crossing"]
    assert (crossing["already"], crossing["p05"] > "2026-06-15") == (1.0, True)
    assert text in Path(__file__).parents[2].joinpath("docs/how-to/write-a-scenario.md").read_text()
    code, _, err = call("scenarios", "new", "mine")
    assert code == 2
    assert "is there already" in err
