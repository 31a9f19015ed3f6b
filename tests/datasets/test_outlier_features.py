from __future__ import annotations

import csv
import math

import pytest


@pytest.fixture(scope="module")
def models(shipped):
    return shipped("outlier-features").by_key("outlier-features")


def test_known_answers(models):
    assert len(models) == 10
    assert models["fseq-6.7b"]["outlier_count"] == 6
    assert models["fseq-6.7b"]["layers_affected"] == 100
    assert models["fseq-13b"]["params"] == 13e9
    assert models["gpt2-117m"]["outlier_count"] == 1
    assert models["fseq-125m"]["outlier_count"] == 2


def test_shares_are_percent(shipped, models):
    units = {f.name: f.unit for f in shipped("outlier-features").package.resources[0].fields}
    for column in ("layers_affected", "seq_dims_affected", "top1_with", "top1_without"):
        assert units[column] == "percent"
        assert max(row[column] for row in models.values()) > 1
    assert units["params"] == "param"


def test_rows_are_consistent(models):
    for name, row in models.items():
        assert row["outlier_count_1sided"] <= row["outlier_count"], name
        assert row["quartile1"] <= row["quartile2"] <= row["quartile3"], name
        assert row["top1_without"] < row["top1_with"], name


def test_published_slope_of_the_count(models):
    """ln count = 2.9263 - 0.09041 PPL by least squares on these ten rows."""
    x = [row["ppl_c4"] for row in models.values()]
    y = [math.log(row["outlier_count"]) for row in models.values()]
    mx, my = sum(x) / 10, sum(y) / 10
    slope = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / sum((a - mx) ** 2 for a in x)
    assert slope == pytest.approx(-0.09041, abs=5e-6)
    assert my - slope * mx == pytest.approx(2.9263, abs=5e-5)


def test_overlap_with_the_reference_data(models, reference_data, differences):
    renamed = {
        "layers_affected": "layers_pct",
        "seq_dims_affected": "sdims_pct",
        "quartile1": "q1",
        "quartile2": "q2",
        "quartile3": "q3",
        "top1_with": "top1_with_outlier_pct",
        "top1_without": "top1_no_outlier_pct",
    }
    same = ("ppl_c4", "params", "outlier_count", "outlier_count_1sided")
    columns = {**{name: name for name in same}, **renamed}
    with (reference_data / "emergence" / "llm_int8_table4.csv").open(encoding="utf-8", newline="") as file:
        reference = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert [row["family"] for row in models.values()] == [row["model"] for row in reference]
    pairs = [
        (f"{name}.{ours}", float(row[ours]), float(theirs[column]))
        for (name, row), theirs in zip(models.items(), reference, strict=True)
        for ours, column in columns.items()
    ]
    assert differences(pairs, 1e-9) == []
