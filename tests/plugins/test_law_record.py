"""The shipped record of laws, and the command that makes it."""

import csv

import pytest

import forecast
from forecast.contract import track_record
from forecast_scaling import LAW_RECORD
from forecast_scaling.make_record import DECADE_RANGES, SETS, backtests, law_record_rows
from toolkit import command


def shipped():
    with LAW_RECORD.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_law_of_the_record_exists_and_every_row_says_its_source():
    rows = shipped()
    known = {*forecast.catalogue("law"), "extrapolate"}
    assert {row["law"] for row in rows} <= known
    assert {row["kind"] for row in rows} == {"all", *(each.kind for each in SETS)}
    assert {row["source"] for row in rows if row["kind"] != "all"} == {each.source for each in SETS}
    assert {row["horizon"] for row in rows} <= set(DECADE_RANGES)
    for row in rows:
        assert 0 <= float(row["held"]) <= 1
        assert sum(map(float, row["deciles"].split())) == pytest.approx(1, abs=0.06)


def test_a_law_shows_its_record_and_one_without_shows_none(capsys):
    show = command("laws", "show")
    shown = show(capsys, "scaling/saturating-power", "--json").json["result"]
    assert shown["record"] == track_record.of_law("saturating-power")
    said = show(capsys, "scaling/saturating-power").out
    whole = shown["record"][0]
    assert f"calibration: {whole['forecasts']} forecasts of {whole['series']} series" in said
    assert track_record.of_law("scaling/bass") == []
    assert "calibration" not in show(capsys, "scaling/bass").out


@pytest.mark.slow
def test_the_command_makes_the_rows_that_are_shipped(reference_data):
    made = list(law_record_rows(list(backtests(reference_data, ["training runs"]))))
    own = [row for row in shipped() if row["kind"] == "training runs"]
    assert [{k: str(v) for k, v in row.items()} for row in made if row["kind"] == "training runs"] == own
