"""How far the data behind a projection reach: by table, in the file, in the answer and on the command line."""

import datetime
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import forecast
from forecast import save
from forecast.base.dates import decimal_year
from forecast.errors import UsageError
from forecast.report import result_data
from forecast.report.words.date_text import age
from toolkit import command, package, resource

FIELDS = [{"name": "device", "type": "string"}, {"name": "price", "type": "number", "unit": "USD"}]
DAY = {"name": "day", "type": "date"}
SERIES = "date,v\n2020-01-01,1\n2021-01-01,2\n2022-01-01,4\n2023-05-01,9\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "speeds.csv").write_text(SERIES, encoding="utf-8")
    return tmp_path


def priced(folder, *dated):
    """Write a table of prices with columns of dates, all of which hold 2025-02-03 at the latest."""
    head = ",".join(["device", "price", *dated])
    rows = [",".join([name, "10", *([day] * len(dated))]) for name, day in (("a", "2024-01-01"), ("b", "2025-02-03"))]
    (folder / "prices").mkdir()
    fields = [*FIELDS, *({**DAY, "name": name} for name in dated)]
    text = "\n".join([head, *rows]) + "\n"
    package(folder / "prices", "prices", resource(folder / "prices", "prices", text, fields, "device"))


def scenario(folder, **more):
    text = """
start = 2024
until = 2030
[quantities.speed]
shape = "trends/exponential"
data = "speeds.csv"
x = "date"
y = "v"
unit = "FLOP/s"
[quantities.price]
table = "prices"
column = "price"
where = { device = "a" }
[questions.fast]
when = "speed >= 20 FLOP/s"
"""
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_each_table_and_file_says_its_last_date(folder):
    priced(folder, "day")
    run = forecast.project(scenario(folder), draws=8)
    assert run.newest == {"prices": "2025-02-03", "speeds.csv": "2023-05-01"}
    assert max(run.newest.values()) == "2025-02-03"
    assert result_data.newest_data(run) == "Newest data: prices 2025-02-03, speeds.csv 2023-05-01"
    assert result_data.newest_data(run, "2026-02-03").startswith(
        "Newest data on 3 February 2026: prices 2025-02 (12 months old), sp"
    )
    assert "prices 2025-02 (planned)" in result_data.newest_data(run, "2025-01-01")


@pytest.mark.parametrize("dated", [(), ("day", "seen")])
def test_a_table_without_one_column_of_dates_says_none(folder, dated):
    priced(folder, *dated)
    assert forecast.project(scenario(folder), draws=8).newest == {"speeds.csv": "2023-05-01"}


def test_what_is_not_known_yet_does_not_count(folder):
    priced(folder, "day")
    run = forecast.project(scenario(folder), draws=8, as_of=2022.5)
    assert run.newest == {"speeds.csv": "2022-01-01"}
    assert forecast.project(scenario(folder), draws=8, as_of=2024.5).newest["prices"] == "2024-01-01"


def test_data_without_a_name_have_that_of_their_quantity(tmp_path):
    """What somebody has in memory is known until its last date too, and a ledger must not date a forecast before it."""
    data = {"year": [2020.0, 2021.0, 2022.0, 2023.5], "speed": [1.0, 2.1, 4.0, 8.2]}
    trend = forecast.trend(data, shape="trends/exponential", x="year", y="speed", unit="FLOP/s").model
    speed = forecast.quantity("speed", model=trend)
    answer = (speed >= "100 FLOP/s").when(start=2024, until=2040, draws=64, dates=[2030], resolves="us")
    assert answer.newest == {"speed": "2023-07-02"}
    with pytest.raises(UsageError, match="the data go on until 2023-07-02"):
        answer.record(tmp_path / "l.jsonl", on="2023-01-01")


@pytest.mark.slow
def test_a_table_that_the_code_of_a_model_reads_counts_too():
    run = forecast.project("scaling-ends", draws=8, with_={"compute": "as-needed"})
    rows = forecast.tables.to_columns("datasets/capability-editions")
    last_row = rows["release_date"][~np.isnat(rows["release_date"])].max()
    assert run.newest["datasets/capability-editions"] == str(last_row.astype("datetime64[D]"))
    assert (
        forecast.project("scaling-ends", draws=8, with_={"compute": "as-needed"}, workers=2).to_xarray().attrs
        == run.to_xarray().attrs
    )


def test_nothing_dated_is_behind_a_calculation():
    run = forecast.project({"start": 2025, "until": 2027, "quantities": {"x": {"expression": "t"}}}, draws=4)
    assert run.newest == {}
    assert result_data.newest_data(run) == ""
    assert "newest" not in run.to_xarray().attrs


def test_it_survives_a_file_and_is_asked_of_the_answer(folder, tmp_path):
    priced(folder, "day")
    run = forecast.project(scenario(folder), draws=8)
    save(run, tmp_path / "a.nc")
    assert forecast.load(tmp_path / "a.nc").run.newest == run.newest
    answer = forecast.scenario(str(folder / "mine.toml")).ask(draws=8)
    assert answer.newest == run.newest
    assert "Newest data: prices 2025-02-03, speeds.csv 2023-05-01\n" in answer.report()


def test_the_command_says_it_in_one_line(folder, capsys):
    priced(folder, "day")
    path = str(scenario(folder))
    said = command("run")(capsys, path, "--draws", "8")
    (line,) = [line for line in said.out.splitlines() if line.startswith("Newest data on ")]
    today, then = decimal_year(
        np.array([datetime.date.today().replace(day=1), datetime.date(2025, 2, 1)], dtype="datetime64[s]")
    )
    assert f"prices 2025-02 ({age(today - then)})" in line
    result = json.loads(command("run")(capsys, path, "--draws", "8", "--json").out)["result"]
    assert result["newest"] == {"prices": "2025-02-03", "speeds.csv": "2023-05-01"}


@pytest.mark.slow
def test_what_is_planned_is_not_the_newest_datum():
    run = forecast.project("model-capability", draws=8)
    assert run.newest["datasets/data-centres"] < "2027"


@pytest.mark.slow
def test_the_hash_of_a_scenario_does_not_hold_its_folder(tmp_path):
    from forecast.contract.registry import get_registry

    path = Path(get_registry().find("scenario", "model-capability").spec.path)
    hashes = set()
    for folder in ("one", "another"):
        shutil.copytree(path.parent, tmp_path / folder)
        run = forecast.project(str(tmp_path / folder / path.name), draws=8)
        hashes.add(run.attributes["scenario_hash"])
    assert len(hashes) == 1
