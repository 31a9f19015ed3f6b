from __future__ import annotations

import csv
import math

import pytest


@pytest.fixture(scope="module")
def models(shipped):
    return shipped("outlier-features").by_key("outlier-features")


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
