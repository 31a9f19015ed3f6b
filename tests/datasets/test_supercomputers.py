from __future__ import annotations

import csv

import pytest

from forecast.errors import TableError


@pytest.fixture(scope="module")
def lists(shipped):
    return shipped("supercomputers").by_key("supercomputers")


def test_known_answers(lists):
    assert lists["2022-06"]["top1"] == "Frontier"
    assert lists["2022-06"]["rmax_top1"] == 1_102_000
    assert lists["1993-06"]["rmax_top1"] == 0.0597
    assert lists["2013-06"]["rmax_top1"] == 33862.7
    assert lists["2025-11"]["rmax_top1"] == 1_809_000
    assert (lists["2026-06"]["top1"], lists["2026-06"]["rmax_top1"]) == ("LineShine", 2_198_000)


def test_the_bad_power_entry_of_2021_is_rejected_with_a_reason(altered):
    """78 GFLOP/s/W, where the Green500 of that list was led by about 39: it rises too far, and the next list falls."""
    with pytest.raises(TableError) as caught:
        altered("supercomputers", "supercomputers", ("2021-11",), efficiency_best="78.0375")
    rise, fall = caught.value.failures
    assert rise.startswith("supercomputers.csv:59:efficiency_best: check 'efficiency-does-not-jump'")
    assert "(78.04 against 74.25)" in rise
    assert rise.endswith("a larger step is a wrong power entry")
    assert fall.startswith("supercomputers.csv:60:efficiency_best: check 'efficiency-does-not-fall'")


@pytest.mark.parametrize(
    ("key", "cells", "check"),
    [
        ("2016-11", {"rmax_top1": "93014593.88"}, "rmax-is-in-tflops"),  # GFLOP/s, as the files before 2017-06 print it
        ("2018-06", {"power_top1": "8.8055"}, "top1-efficiency"),  # MW
        ("2018-06", {"power_top1": "880.55"}, "top1-at-most-the-best"),
        ("2020-06", {"hpcg_best": "415530"}, "hpcg-below-linpack"),  # the other benchmark
        ("2020-06", {"rmax_500": "1230000"}, "last-below-first"),
        ("2020-06", {"rmax_sum": "222207.9"}, "sum-above-first"),
    ],
)
def test_a_slip_of_unit_or_benchmark_is_rejected(altered, key, cells, check):
    with pytest.raises(TableError, match=f"check '{check}'"):
        altered("supercomputers", "supercomputers", (key,), **cells)


def test_overlap_with_the_reference_data(lists, reference_data, differences):
    columns = {
        "rmax_top1": "rmax_top1_tflops",
        "rmax_500": "rmax_500_tflops",
        "rmax_sum": "rmax_sum_tflops",
        "hpcg_best": "hpcg_max_tflops",
        "power_top1": "top1_power_kw",
        "efficiency_best": "max_eff_gflops_per_w",
    }
    with (reference_data / "hardware" / "top500_history.csv").open(encoding="utf-8", newline="") as file:
        reference = {f"{row['list'][:4]}-{row['list'][4:]}": row for row in csv.DictReader(file)}
    pairs = []
    for name, row in reference.items():
        for ours, theirs in columns.items():
            if (name, ours) == ("2021-11", "efficiency_best"):  # the bad power entry, left out
                assert row[theirs].startswith("78.03")
                assert lists[name][ours] is None
                continue
            assert (lists[name][ours] is None) == (row[theirs] == ""), (name, ours)
            pairs.append((f"{name}.{ours}", lists[name][ours], float(row[theirs]) if row[theirs] else None))
    assert differences(pairs, 1e-6) == []
    assert sorted(set(lists) - set(reference)) == ["2022-11", "2023-11", "2025-11", "2026-06"]


def test_the_newest_lists_are_those_of_the_reference_data(shipped, reference_data):
    with (reference_data / "capability" / "top500_recent.csv").open(encoding="utf-8", newline="") as file:
        theirs = {row["list"]: float(row["rmax_pflops"]) * 1e3 for row in csv.DictReader(file)}
    newest = shipped("supercomputers-2026").by_key("supercomputers-2026")
    assert {name: row["rmax"] for name, row in newest.items()} == theirs


@pytest.mark.parametrize(
    ("cells", "check"),
    [
        ({"rpeak": "2736"}, "rmax-below-peak"),
        ({"power": "42.2"}, "rmax-per-watt"),
        ({"hpcg_best": "2198000"}, "hpcg-below-rmax"),
    ],
)
def test_a_newest_list_in_another_unit_is_rejected(altered, cells, check):
    with pytest.raises(TableError, match=f"check '{check}'"):
        altered("supercomputers-2026", "supercomputers-2026", ("2026-06",), **cells)
