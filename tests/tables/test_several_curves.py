"""Files that hold several curves: no verb takes them for one, and replicates stay what they are."""

import numpy as np
import pytest

import forecast
from forecast.errors import DataError
from toolkit import call, sample

YEARS = range(2010, 2021)
DAYS = range(2000, 2101, 2)
STEPS = np.arange(1, 13) * 100.0
LAW = ("fit", "a + b*step**-c", "--variables", "step", "--y", "loss")


def write(path, column, labels, limits=(3.4, 1.9)):
    rng = np.random.default_rng(0)
    rows = [f"{column},step,loss"]
    for label, limit in zip(labels, limits, strict=True):
        losses = limit + 2 * STEPS**-0.3 + rng.normal(0, 0.003, STEPS.size)
        rows += [f"{label},{step:.0f},{loss:.6f}" for step, loss in zip(STEPS, losses, strict=True)]
    path.write_text("\n".join(rows) + "\n")
    return str(path)


@pytest.mark.parametrize(
    ("column", "labels"), sample([("run", "12"), ("run", "ab"), ("optimiser", ("adam", "sgd"))], 3)
)
def test_a_fit_does_not_pool_runs(tmp_path, column, labels):
    path = write(tmp_path / "runs.csv", column, labels)
    code, _, err = call(*LAW, "--data", path)
    assert code == 1
    lines = (
        f"2 curves, by '{column}', over the same places: say --by {column}, --groups {column} for one fit to all, or"
    )
    assert f'{lines} --where "{column} is {labels[0]}"' in err
    code, out, err = call(*LAW, "--data", path, "--by", column)
    assert (code, "all 2 converged" in out) == (0, True), err
    code, out, err = call(*LAW, "--data", path, "--where", f"{column} is {labels[0]}")
    assert (code, "on 12 points" in out) == (0, True), err
    assert "on 24 points" in call(*LAW, "--data", path, "--groups", column)[1]
    with pytest.raises(DataError, match="2 curves"):
        forecast.Law("a + b*step**-c", variables=["step"]).fit(path, y="loss")


def test_a_comparison_does_not_pool_runs(tmp_path):
    path = write(tmp_path / "runs.csv", "run", "ab")
    words = ("compare", "scaling/power", "scaling/saturating-power", "--let", "x=step", "--y", "loss", "--data", path)
    code, _, err = call(*words)
    assert (code, "by 'run', over the same places: say --where \"run is a\"" in err) == (1, True)
    assert call(*words, "--where", "run is a")[0] == 0


def test_a_line_to_copy_is_whole(tmp_path):
    remark = "a remark of many words, about what was done on this day, which names nothing"
    rows = [f'"{label} {remark}",{label},{year},{year - 2000}' for label in "ab" for year in YEARS]
    (tmp_path / "a.csv").write_text("\n".join(["note,run,year,y", *rows]))
    code, _, err = call("ask", f"{tmp_path}/a.csv:y")
    assert (code, "they differ in 'run' (2 values): say --where \"run is a\"" in err) == (1, True), err


def test_replicates_are_one_data_set(tmp_path):
    for column, labels in (("seed", "12"), ("batch", (32, 64)), ("machine", ("", ""))):
        path = write(tmp_path / f"{column}.csv", column, labels, (1.9, 1.9))
        assert forecast.Law("a + b*step**-c", variables=["step"]).fit(path, y="loss").n == 24


def test_the_line_offered_leaves_one_row_at_a_place(tmp_path):
    """Of columns that tell rows apart only in part none is offered, nor is a remark."""
    path = tmp_path / "prices.csv"
    rows = [f"{year},{100 - year % 50 + i},{kind},{year}{i},seen on a page of somebody who sells them"
            for year in YEARS for i, kind in enumerate("ab")]  # fmt: skip
    path.write_text("year,price,kind,id,note\n" + "\n".join(rows) + "\n")
    for verb in (["ask", f"{path}:price", "--at", "2030", "--draws", "128"], ["backtest", f"{path}:price"]):
        code, _, err = call(*verb)
        assert (code, "they differ in 'kind' (2 values): say --where \"kind is a\"" in err) == (1, True), err
    assert call("backtest", f"{path}:price", "--where", "kind is a", "--shape", "exponential")[0] == 0
    path.write_text("year,price,kind,id,note\n" + "\n".join([*rows, "2010,5,a,0,again"]) + "\n")
    assert "say --reduce mean" in call("backtest", f"{path}:price", "--where", "kind is a")[2]


def test_what_is_to_come_tests_nothing_and_a_date_is_no_difference(tmp_path):
    path = tmp_path / "plans.csv"
    path.write_text("date,watts\n" + "".join(f"{year}-06-30,{1.3 ** (year - 2000)}\n" for year in DAYS))
    code, _, err = call("backtest", f"{path}:watts")
    assert (code, "have dates to come" in err) == (1, True)
    line = err.partition('--where "')[2].partition('"')[0]
    out = call("backtest", f"{path}:watts", "--where", line, "--shape", "exponential")[1]
    assert "of 51 rows" in out
    assert " not date <= 20" in out
    assert "with dates to come" in call("ask", f"{path}:watts", "--at", "2110", "--draws", "128")[1]


def test_a_name_within_records_is_not_guessed(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(
        '[{"date": 2020, "m": {"p50": {"low": 1, "estimate": 2}}}, {"date": 2021, "m": {"p50": {"low": 2}}}]'
    )
    assert "column 'p50' holds 'm.p50.low', 'm.p50.estimate': say one" in call("ask", f"{path}:p50", "--at", "2030")[2]
