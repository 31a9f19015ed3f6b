"""Rows of one's own beside a table's: ``--data NEW.csv``, ``project(data=)``, ``forecast.ask(data=)``."""

import hashlib

import numpy as np
import pytest

import forecast
from forecast import units
from forecast.errors import UnknownNameError, UsageError
from forecast.projection.result.observed_values import last_observation
from toolkit import json_of, page_data, shared_main as main

RUN = (
    "name,date,training_compute,record,frontier,edition,status,confidence\n"
    "My run,2026-09-20,2e29,yes,yes,2026-09,verified,confident\n"
)
DEVICE = (
    "device,vendor,release_date,precision,path,sparsity,peak,peak_status,status\n"
    "my-gpu,Me,2025-12-01,fp32,vector,dense,2000,verified,verified\n"
)


@pytest.fixture
def rows(tmp_path):
    def write(text, name="new.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def already(run, name):
    answer = next(each for each in run.dates if each.name == name)
    return {row.distribution.already for row in answer.rows}


@pytest.mark.slow
def test_what_a_new_row_meets_is_so_already_in_every_world_of_every_row(rows):
    run = forecast.project("gpu-goal", draws=128, data=rows(DEVICE))
    assert already(run, "one") == {1.0}
    assert max(already(run, "dollars")) < 0.02  # one world in a hundred may come there by the first step
    assert all(share < 1 for share in already(forecast.project("gpu-goal", draws=128), "one"))


def test_a_question_about_a_trend_is_so_already_once_a_row_meets_it(rows):
    before = forecast.ask("capability/training-compute >= 1e29 FLOP", draws=128)
    answer = forecast.ask("capability/training-compute >= 1e29 FLOP", draws=128, data=rows(RUN))
    assert before.already == 0
    assert answer.already == 1
    assert answer.never == 0


@pytest.mark.parametrize(("level", "share"), [("1e8", 0), ("1e7", 1)])
def test_every_door_calls_already_what_a_row_meets_and_no_world_that_comes_there_since(capsys, tmp_path, level, share):
    asked, page = f"model-money.stock_counted >= {level}", tmp_path / "page.html"
    assert main(["ask", asked, "--draws", "512", "--json"]) == 0
    shown = json_of(capsys.readouterr().out)["result"]
    assert main(["ask", asked, "--draws", "512", "--report", str(page)]) == 0
    assert ("already" in capsys.readouterr().out) == bool(share)
    data = page_data(page.read_text(encoding="utf-8"))
    answer = forecast.ask(asked, draws=512)
    assert answer.run.dates[0].headline.at_start > 0.02
    assert {
        shown["answer"]["crossing"]["already"], shown["questions"][0]["crossing"]["already"],
        data["stated"]["answers"]["question"][2], answer.already, float(answer.by_choice["already"]),
    } == {share}  # fmt: skip


def test_a_level_that_differs_between_worlds_is_met_in_those_where_the_last_row_meets_it():
    run = forecast.project("brain-parity", draws=512, with_={"metric": "linpack"})
    dates = run.answers["parity"]
    last = units.convert(last_observation(dates).value, last_observation(dates).unit, run.quantities["brain"].unit)
    met = run.worlds["brain"].isel(time=0).sel(estimate="pooled").values <= last
    assert 0 < met.mean() == dates.headline.already < dates.headline.at_start


def test_the_rows_are_part_of_the_hash_of_their_table(rows, capsys):
    path = rows(RUN)
    assert main(["ask", "capability/training-compute >= 1e29 FLOP", "--draws", "64", "--json", "--data", path]) == 0
    said = json_of(capsys.readouterr().out)
    stated = said["provenance"]["data"]["datasets/training-runs-2026"]
    assert hashlib.sha256(RUN.encode()).hexdigest() in stated
    assert said["result"]["today"][0]["row"] == "My run"


@pytest.mark.slow
def test_an_answer_is_changed_and_loaded_with_its_rows(rows, tmp_path):
    answer = forecast.ask("capability/training-compute >= 1e29 FLOP", draws=64, data=rows(RUN))
    assert answer.with_(shape="changepoint").already == 1
    forecast.save(answer, tmp_path / "x.nc")
    loaded = forecast.load(tmp_path / "x.nc")
    assert loaded.already == 1
    with pytest.warns(UserWarning, match="the data have changed since the file was saved: datasets/training-runs-2026"):
        assert loaded.with_(shape="changepoint").already == 0


@pytest.mark.slow
def test_other_quantities_draw_what_they_drew(rows):
    one, other = (forecast.project("gpu-capability", draws=64, data=each) for each in (None, rows(DEVICE)))
    assert not np.array_equal(one["projection"]["peak"], other["projection"]["peak"])
    assert np.array_equal(one["projection"]["per_dollar"], other["projection"]["per_dollar"])


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (RUN.replace("date", "dat"), UnknownNameError, "unknown column 'dat'; did you mean 'date'"),
        (RUN.replace("2e29", "much"), forecast.ForecastError, "new.csv:2:training_compute: 'much'"),
        (RUN.replace("2e29", "2e20"), UsageError, "no model of the scenario reads a row of it"),
    ],
)
def test_rows_that_cannot_be_used_are_refused_in_one_line(rows, text, error, message):
    with pytest.raises(error, match=message) as found:
        forecast.ask("capability/training-compute >= 1e29 FLOP", draws=64, data=rows(text)).median  # noqa: B018 - it draws
    assert "\n" not in str(found.value)


def test_a_table_that_is_not_read_is_refused(rows):
    with pytest.raises(UnknownNameError, match="unknown table 'chip-stock'"):
        forecast.project("gpu-goal", draws=64, data={"chip-stock": rows(DEVICE)})
    run = forecast.project("gpu-goal", draws=64, data={"accelerators": rows(DEVICE)})
    assert already(run, "one") == {1.0}


@pytest.mark.slow
def test_processes_read_the_rows_too(rows):
    path = rows(DEVICE)
    one, two = (forecast.project("gpu-goal", draws=1024, workers=n, data=path) for n in (1, 2))
    assert np.array_equal(one["projection"]["card"], two["projection"]["card"])


def test_a_device_of_ones_own_is_ranked_with_the_others(rows):
    head = (
        "device,release_date,memory,bandwidth,tdp,launch_price,precision,path,sparsity,peak,basis,status,peak_status\n"
    )
    line = "super-gpu,2026-06-01,48,2000,300,1500,{},tensor,dense,{},peak,verified,verified\n"
    data = rows(head + line.format("fp8", 2000) + line.format("bf16", 1000))
    run = forecast.project("gpu-choice", draws=64, data=data)
    assert "super-gpu" in run.choices["device"].values
    assert "super-gpu" not in forecast.project("gpu-choice", draws=64).choices["device"].values
