from __future__ import annotations

import csv
import datetime
import itertools

import pytest

from forecast.errors import TableError


@pytest.fixture(scope="module")
def lists(shipped):
    return shipped("supercomputers").by_key("supercomputers")


def test_there_is_a_row_for_each_of_the_67_lists(lists):
    assert list(lists) == [f"{year}-{month}" for year in range(1993, 2027) for month in ("06", "11")][:67]


def test_date_is_the_middle_of_the_month(lists):
    assert all(row["date"] == datetime.date.fromisoformat(f"{name}-15") for name, row in lists.items())


def test_known_answers(lists):
    assert lists["2022-06"]["top1"] == "Frontier"
    assert lists["2022-06"]["rmax_top1"] == 1_102_000
    assert lists["1993-06"]["rmax_top1"] == 0.0597
    assert lists["2013-06"]["rmax_top1"] == 33862.7
    assert lists["2025-11"]["rmax_top1"] == 1_809_000
    assert (lists["2026-06"]["top1"], lists["2026-06"]["rmax_top1"]) == ("LineShine", 2_198_000)


def test_hpcg_maxima_in_petaflops(lists):
    """The figures printed in prose: 0.603, 2.926, 13.4, 16.0, 17.41 and 22.00 PF."""
    stated = {"2017-06": 0.603, "2018-06": 2.926, "2020-06": 13.4, "2020-11": 16.0, "2024-11": 16.0, "2025-06": 17.41}
    for name, petaflops in stated.items():
        assert lists[name]["hpcg_best"] / 1e3 == pytest.approx(petaflops, rel=2e-3), name
    assert lists["2025-06"]["hpcg_best"] == 17406.9
    assert max(row["hpcg_best"] or 0 for row in lists.values()) == 22000


def test_hpcg_never_falls_and_has_six_machines(lists):
    """16 lists, 7 distinct figures; 602.7 and 602.736 are one run, printed twice with different digits."""
    hpcg = [row["hpcg_best"] for row in lists.values() if row["hpcg_best"] is not None]
    assert hpcg == sorted(hpcg)
    assert len(hpcg) == 16
    assert len(set(hpcg)) == 7
    assert len({round(value) for value in hpcg}) == 6


def test_maxima_never_fall_and_are_ordered(lists):
    for column in ("rmax_top1", "rmax_500", "rmax_sum"):
        values = [row[column] for row in lists.values() if row[column] is not None]
        # 2017-06 prints 93014.594 for what its neighbours print as 93014.59388: a repeat, not a record.
        assert all(b >= a * (1 - 1e-8) for a, b in itertools.pairwise(values)), column
    for name, row in lists.items():
        if row["rmax_sum"] is not None:
            assert 500 * row["rmax_500"] < row["rmax_sum"], name
            assert row["rmax_500"] < row["rmax_top1"] < row["rmax_sum"], name
        if row["hpcg_best"] is not None:
            assert row["hpcg_best"] < row["rmax_top1"], name


def test_units_are_one_throughout(shipped):
    """The trap of these lists: GFLOP/s before 2017-06, TFLOP/s after. A slip would be a factor of a thousand."""
    rows = shipped("supercomputers").rows["supercomputers"]
    for before, after in itertools.pairwise(rows):
        assert after["rmax_top1"] / before["rmax_top1"] < 6, after["list"]


def test_the_best_efficiency_is_that_of_the_lists(lists):
    best = {name: row["efficiency_best"] for name, row in lists.items() if row["efficiency_best"] is not None}
    assert best["2013-11"] == pytest.approx(3.418, abs=1e-3)
    assert best["2025-06"] == pytest.approx(69.1, abs=0.01)
    assert len(best) == 32
    assert min(best) == "2008-06"


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


def test_the_newest_lists_go_on_from_the_former(shipped, lists):
    newest = shipped("supercomputers-2026").by_key("supercomputers-2026")
    el_capitan, line_shine = newest["2025-11"], newest["2026-06"]
    assert el_capitan["rmax"] == lists["2025-11"]["rmax_top1"]
    assert el_capitan["hpcg_best"] == pytest.approx(lists["2025-06"]["hpcg_best"], abs=5)  # a rounded repeat
    assert line_shine["rmax"] / line_shine["power"] == pytest.approx(line_shine["efficiency"], rel=1e-3)
    assert (line_shine["rmax"], line_shine["hpcg_best"]) == (2_198_000, 22_000)
    assert line_shine["efficiency"] < el_capitan["efficiency"]


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
