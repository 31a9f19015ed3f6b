"""Capability, time horizons and training compute: our selections reproduce what is published about the sets."""

import csv

import numpy as np
import pytest

import forecast
from forecast.tables import decimal_year, to_columns


def line(time, value):
    """Return slope and R² of a straight line."""
    slope, start = np.polyfit(time, value, 1)
    return slope, 1 - np.var(value - start - slope * time) / np.var(value)


@pytest.fixture(scope="module")
def runs():
    return to_columns("datasets/training-runs")


@pytest.fixture(scope="module")
def horizons():
    return to_columns("datasets/time-horizons")


def days(horizons, version, since=0.0, until=9999.0):
    time = decimal_year(horizons["release_date"])
    keep = (horizons["version"] == version) & (horizons["frontier"] == "yes") & (horizons["censored"] == "no")
    keep &= (time >= since) & (time < until)
    slope, _ = line(time[keep], np.log2(horizons["horizon"][keep]))
    return 365.25 / slope, int(keep.sum())


def test_the_trend_of_the_library_says_the_same():
    asked = {"shape": "trends/exponential", "x": "date", "y": "training_compute", "unit": "FLOP"}
    facts = forecast.trend("datasets/training-runs", **asked).fit().describe().facts
    assert np.exp(facts["growth_per_year"]) == pytest.approx(4.679, abs=0.002)
    assert np.exp(facts["growth_p05"]) < 4.3 < 5.2 < np.exp(facts["growth_p95"])


def test_training_runs_are_those_of_the_reference_data(runs, reference_data):
    with (reference_data / "hardware/epoch_all_models_2025-06.csv").open(encoding="utf-8", newline="") as file:
        reference = {
            " ".join(row["Model"].split()): float(row["Training compute (FLOP)"])
            for row in csv.DictReader(file)
            if row["Notability criteria"] and row["Training compute (FLOP)"] and row["Publication date"] >= "2010"
        }
    assert set(reference) == set(runs["run"])
    for run, compute in zip(runs["run"], runs["training_compute"], strict=True):
        assert compute == pytest.approx(reference[run], rel=1e-5)


def test_time_horizon_of_the_first_edition_doubles_in_212_days(horizons):
    """METR: 212 days [171, 249], models to February 2025."""
    assert days(horizons, "TH1.0", until=2025.2) == (pytest.approx(213.0, abs=0.2), 11)


def test_time_horizon_of_the_second_edition_doubles_in_129_days(horizons):
    """METR, file of 2026-05-08: 128.744 days [104, 158] from 2023; 187.778 over all years. Without what is censored."""
    assert days(horizons, "TH1.1", since=2023) == (pytest.approx(128.74, abs=0.06), 14)
    assert days(horizons, "TH1.1") == (pytest.approx(187.78, abs=0.05), 17)


def test_horizons_are_those_of_the_reference_data(horizons, reference_data):
    """The editions that are in both, told apart by the model and its two figures."""
    names = {"TH1.0": "TH1.0-last", "TH1.1 first (2026-01)": "TH1.1-first", "TH1.1 revised (2026-05-08)": "TH1.1"}
    with (reference_data / "capability/time_horizons.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["edition"] in names]
    theirs = {(names[r["edition"]], r["date"], float(r["p50_minutes"]), float(r["p80_minutes"])) for r in rows}
    days_of = np.datetime_as_string(horizons["release_date"].astype("datetime64[D]"))
    both = zip(horizons["version"], days_of, horizons["horizon"], horizons["horizon_80"], strict=True)
    ours = {(v, d, float(a), float(b)) for v, d, a, b in both if v in names.values()}
    assert ours == theirs
    assert len(ours) == 33 + 17 + 26


def test_capability_is_that_of_the_reference_data(reference_data):
    found = to_columns("datasets/capability")
    with (reference_data / "hardware/epoch_capabilities_index.csv").open(encoding="utf-8", newline="") as file:
        reference = {row["Model version"]: row for row in csv.DictReader(file)}
    for model, index in zip(found["model"], found["eci"], strict=True):
        assert index == pytest.approx(float(reference[model]["ECI Score"]), rel=1e-9)
    assert len(found["model"]) == 295
