"""Runs, the capability index and benchmarks to 2026: records, editions, and what links scores to the index."""

import collections
import csv

import numpy as np
import pytest

import forecast
from forecast.errors import QualifierError, TableError
from forecast.tables import decimal_year, to_columns


def reference(folder, name):
    with (folder / "capability" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def runs(shipped):
    return shipped("training-runs-2026").by_key("training-runs-2026")


@pytest.fixture(scope="module")
def editions():
    return to_columns("datasets/capability-editions")


def by_day(rows, value):
    """Return the days with their largest value, in order."""
    largest = collections.defaultdict(float)
    for row in rows:
        largest[row["date"]] = max(largest[row["date"]], row[value])
    return sorted(largest.items())


def test_records_of_training_compute_are_those_of_the_rows(runs):
    found, best = [], 0.0
    for day, compute in by_day(runs.values(), "training_compute"):
        if compute > best:
            best = compute
            found.append((day, compute))
    records = [row for row in runs.values() if row["record"] == "yes"]
    assert found == [(row["date"], row["training_compute"]) for row in records]
    assert [row["run"] for row in records[-4:]] == ["grok-3", "gpt-4.5", "grok-4", "gpt-6-astra"]


def test_units_of_a_known_run(runs):
    """Llama 3.1: 3.8e25 FLOP by 16,384 H100 (arXiv:2407.21783) at 43 % of their peak or below."""
    llama = runs["llama-3.1-405b"]
    assert (llama["training_compute"], llama["chips"]) == (3.8e25, 16384)
    assert 15 < llama["power"] < 30
    assert 3e7 < llama["cost"] < 1e8
    peak = llama["chips"] * 989.4e12 * llama["duration"] * 3600
    assert llama["training_compute"] / peak == pytest.approx(llama["utilisation"], abs=0.15)


def test_frontier_compute_grows_as_published():
    """Epoch AI: 5x a year since 2020 (90 % 4 to 6) for frontier models."""
    found = to_columns("datasets/training-runs-2026")
    time, compute = decimal_year(found["date"]), np.log10(found["training_compute"])
    keep = (found["frontier"] == "yes") & (time >= 2020)
    assert 4 < 10 ** np.polyfit(time[keep], compute[keep], 1)[0] < 6


def test_runs_are_those_of_the_reference_data(runs, reference_data):
    theirs = {row["model"]: row for row in reference(reference_data, "training_runs.csv")}
    for row in runs.values():
        their = theirs[row["name"]]
        assert row["training_compute"] == pytest.approx(float(their["training_flop"]), rel=1e-5)
        assert row["confidence"] == their["epoch_confidence"].lower()
        for ours, name, factor in (("cost", "cost_usd_2023", 1), ("power", "power_watts", 1e-6)):
            assert (row[ours] is None) == (their[name] == "")
            assert row[ours] is None or row[ours] == pytest.approx(float(their[name]) * factor, rel=1e-5)
    records = [row["model"] for row in reference(reference_data, "training_run_records.csv")]
    assert {row["name"] for row in runs.values() if row["record"] == "yes"} <= set(records)


@pytest.mark.parametrize(
    ("run", "cells", "check"),
    [
        ("grok-3", {"power": "109949"}, "power-per-chip"),  # kW
        ("grok-3", {"cost": "217.836"}, "flop-per-dollar"),  # millions
        ("llama-3.1-405b", {"utilisation": "0.95"}, "utilisation-is-a-share"),
    ],
)
def test_a_run_in_another_unit_is_rejected(altered, run, cells, check):
    with pytest.raises(TableError, match=f"check '{check}'"):
        altered("training-runs-2026", "training-runs-2026", (run,), **cells)


def test_editions_of_the_index_are_never_mixed():
    asked = {"shape": "trends/exponential", "x": "release_date", "y": "eci"}
    with pytest.raises(QualifierError, match="mixes edition"):
        forecast.trend("datasets/capability-editions", **asked).fit()
    one = {"edition": "2026-08", "record": "yes"}
    assert forecast.trend("datasets/capability-editions", where=one, **asked).fit().describe().facts["n"] == 20


def test_the_index_has_risen_as_published(editions):
    """Epoch AI: 15.5 points a year from 2024-04 to 2025-12, in an earlier edition."""
    time = decimal_year(editions["release_date"])
    keep = (editions["edition"] == "2026-08") & (editions["record"] == "yes") & (time > 2024.2) & (time < 2026)
    assert 13 < np.polyfit(time[keep], editions["eci"][keep], 1)[0] < 18


def test_editions_are_those_of_the_reference_data(editions, reference_data):
    names = {"2026-08": "eci"} | {
        e: f"eci_{e.replace('-', '_')}" for e in ("2026-02", "2026-04", "2026-05", "2026-07", "2026-09")
    }
    theirs = collections.defaultdict(set)
    for row in reference(reference_data, "eci.csv"):
        for edition, column in names.items():
            if row[column]:
                theirs[edition, row["model"]].add(round(float(row[column]), 2))
    ours = collections.defaultdict(set)
    for edition, name, index in zip(editions["edition"], editions["name"], editions["eci"], strict=True):
        ours[edition, name].add(round(float(index), 2))
    assert ours == theirs


def test_scores_follow_the_index_as_the_slopes_say(shipped):
    """score = logistic(slope x (ECI - difficulty)): the formula that comes with the slopes, on every core benchmark."""
    index = {
        row["model"]: row["eci"]
        for (edition, _), row in shipped("capability-editions").by_key("capability-editions").items()
        if edition == "2026-08"
    }
    benchmarks = shipped("benchmark-difficulty").by_key("benchmark-difficulty")
    off = collections.defaultdict(list)
    for (name, _), row in shipped("benchmark-scores").by_key("benchmark-scores").items():
        if row["model"] in index:
            of = benchmarks[name]
            said = 1 / (1 + np.exp(-of["slope"] * (index[row["model"]] - of["difficulty"])))
            off[name].append(row["score"] - said)
    assert set(off) == {name for name, row in benchmarks.items() if row["shipped"] == "yes"}
    for name, errors in off.items():
        assert abs(np.mean(errors)) < 0.03, name
        assert np.sqrt(np.mean(np.square(errors))) < 0.15, name
    assert sum(map(len, off.values())) > 1300


def test_benchmarks_are_those_of_the_reference_data(shipped, reference_data):
    theirs = {
        (row["benchmark"].lower(), row["model_version"]): float(row["score"])
        for row in reference(reference_data, "benchmarks_eci_inputs.csv")
    }
    scores = shipped("benchmark-scores").by_key("benchmark-scores")
    slugs = {name.replace(" ", "-"): name for name, _ in theirs}
    for (name, version), row in scores.items():
        assert row["score"] == pytest.approx(theirs[slugs[name], version], rel=1e-5)
    counts = collections.Counter(name for name, _ in scores)
    difficulty = {
        row["benchmark"].lower().replace(" ", "-"): float(row["difficulty_edi"])
        for row in reference(reference_data, "eci_benchmarks.csv")
    }
    for name, row in shipped("benchmark-difficulty").by_key("benchmark-difficulty").items():
        assert counts[name] == (row["scores"] if row["shipped"] == "yes" else 0)
        assert row["difficulty"] == pytest.approx(difficulty[name], rel=1e-6)
