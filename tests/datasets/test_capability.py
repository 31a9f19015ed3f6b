"""Capability, time horizons and training compute: our selections reproduce what is published about the sets."""

from __future__ import annotations

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


def test_training_compute_grows_4_7_times_a_year(runs):
    """Epoch AI: 4.7x a year (90 % interval 4.3 to 5.2), n = 428, R² 0.60; 4 to 5x to May 2024."""
    time, compute = decimal_year(runs["date"]), np.log10(runs["training_compute"])
    slope, share = line(time, compute)
    assert len(time) == 428
    assert 10**slope == pytest.approx(4.679, abs=0.002)
    assert share == pytest.approx(0.604, abs=0.001)
    early = time < decimal_year(np.array(["2024-06-01"], dtype="datetime64[s]"))[0]
    assert early.sum() == 386
    assert 10 ** line(time[early], compute[early])[0] == pytest.approx(4.26, abs=0.01)


def test_language_models_grow_faster(runs):
    """Epoch AI: up to 9x a year from mid-2017."""
    time, compute = decimal_year(runs["date"]), np.log10(runs["training_compute"])
    keep = (runs["language"] == "yes") & (time >= 2017.41)
    assert 9 < 10 ** line(time[keep], compute[keep])[0] < 10.5


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


def test_time_horizon_of_the_first_state_of_the_second_edition(horizons):
    """METR, file of 2026-01: 122.6 days [99.6, 149.1] from 2023; a plain line through the same points is slower."""
    doubles, points = days(horizons, "TH1.1-first", since=2023)
    assert points == 11
    assert 99.552 < doubles < 149.126


def test_intervals_hold_their_horizon(horizons):
    stated = ~np.isnan(horizons["horizon_low"])
    assert (stated | (horizons["version"] == "report-2026-06")).all()
    assert (horizons["horizon_low"] < horizons["horizon"])[stated].all()
    assert (horizons["horizon"] < horizons["horizon_high"])[stated].all()
    second = ~np.isin(horizons["version"], ["TH1.0", "report-2026-06"])
    assert np.isnan(horizons["horizon_80"][~second]).all()
    assert (horizons["horizon_80"][second] < horizons["horizon"][second]).all()
    assert (horizons["horizon_80_low"][second] < horizons["horizon_80"][second]).all()
    assert (horizons["horizon_80"][second] < horizons["horizon_80_high"][second]).all()


def test_above_16_hours_horizons_are_censored(horizons):
    assert ((horizons["horizon"] > 960) == (horizons["censored"] == "yes")).all()
    above = (horizons["censored"] == "yes") & (horizons["status"] == "verified")
    assert horizons["model"][above].tolist() == ["claude-mythos-preview"]
    robust = horizons["version"] != "report-2026-06"
    assert ((horizons["status"] == "verified") == robust).all()


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


def test_the_editions_differ_on_the_same_model():
    """Mixing them would add a step: GPT-4 fell from 5.4 to 4.0 minutes, Claude Opus 4 rose from 80 to 100."""
    table = forecast.table("datasets/time-horizons")
    gpt, opus = (table["horizon"].sel(model=m) for m in ("gpt-4", "claude-4-opus"))
    assert float(gpt.sel(version="TH1.0")) == pytest.approx(5.364, abs=1e-3)
    assert float(gpt.sel(version="TH1.1")) == pytest.approx(3.987, abs=1e-3)
    assert float(opus.sel(version="TH1.0")) < float(opus.sel(version="TH1.1"))
    first, second = (table["release_date"].sel(version=v).values for v in ("TH1.0", "TH1.1"))
    both = ~np.isnat(first) & ~np.isnat(second)
    assert both.sum() == 17
    assert (first[both] == second[both]).all()


def test_capability_rises_with_compute_and_time():
    found = to_columns("datasets/capability")
    known = ~np.isnan(found["training_compute"])
    assert known.sum() > 120
    assert (found["compute_confidence"][known] != "").all()
    assert (found["compute_confidence"][~known] == "").all()
    compute, index = np.log10(found["training_compute"][known]), found["eci"][known]
    assert np.corrcoef(compute, index)[0, 1] > 0.6
    assert found["eci"].min() > 50
    assert found["eci"].max() < 200


def test_one_version_of_each_model_is_marked_best():
    """Versions and efforts of one model are no independent points: a fit takes one of each."""
    found = to_columns("datasets/capability")
    best = found["best"] == "yes"
    assert len(set(found["name"][best])) == best.sum() == len(set(found["name"]))
    for name in ("GPT-5", "o3"):
        of = found["name"] == name
        assert of.sum() > 1
        assert found["eci"][of & best] == found["eci"][of].max()


def test_capability_is_that_of_the_reference_data(reference_data):
    found = to_columns("datasets/capability")
    with (reference_data / "hardware/epoch_capabilities_index.csv").open(encoding="utf-8", newline="") as file:
        reference = {row["Model version"]: row for row in csv.DictReader(file)}
    for model, index in zip(found["model"], found["eci"], strict=True):
        assert index == pytest.approx(float(reference[model]["ECI Score"]), rel=1e-9)
    assert len(found["model"]) == 295
