"""Data-centre sites and chips by date: editions and plans apart, sums that add up, figures of the reference data."""

from __future__ import annotations

import collections
import csv
import itertools

import numpy as np
import pytest

import forecast
from forecast.errors import QualifierError, TableError
from forecast.tables import to_columns


def reference(folder, name):
    with (folder / "capability" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def sites(shipped):
    return shipped("data-centres").by_key("data-centres")


@pytest.fixture(scope="module")
def chips(shipped):
    return shipped("chip-stock").by_key("chip-stock")


#: The day of each edition: what it says of later days is a plan.
EDITIONS = {"2026-05": "2026-05-23", "2026-09": "2026-09-27"}


def test_plans_are_what_comes_after_the_edition(sites):
    for name, row in sites.items():
        later = str(row["date"]) > EDITIONS[row["edition"]]
        if name == "colossus-2-2026-05-2026-05-13":  # a projection that did not come true
            assert (later, row["plan"], row["evidence"]) == (False, "yes", "projected")
            assert row["power"] == 1494
        else:
            assert (row["plan"] == "yes") == later == (row["evidence"] == "projected"), name


def test_the_largest_site_of_2026(sites):
    """Colossus 2 in the edition of 2026-09: 1,111,673 H100 equivalents, 1,276 MW, 1.10e21 FLOP/s in dense 16-bit."""
    standing = [row for row in sites.values() if (row["edition"], row["plan"]) == ("2026-09", "no")]
    largest = max(standing, key=lambda row: row["peak"])
    assert (largest["site"], str(largest["date"]), largest["power"]) == ("Colossus 2", "2026-06-15", 1276)
    assert largest["h100_equivalents"] == pytest.approx(1111673, abs=1)
    assert largest["peak"] == pytest.approx(1.10e21, rel=1e-3)
    assert sum(row["peak"] > 1.075e21 for row in standing) == 1


def test_records_grow_and_are_no_plans(sites):
    for edition in EDITIONS:
        rows = [row for row in sites.values() if (row["edition"], row["record"]) == (edition, "yes")]
        assert all(row["plan"] == "no" for row in rows)
        assert all(a["peak"] < b["peak"] and a["date"] < b["date"] for a, b in itertools.pairwise(rows))
        standing = [r for r in sites.values() if (r["edition"], r["plan"]) == (edition, "no")]
        assert rows[-1]["peak"] == max(row["peak"] for row in standing)


def test_16_bit_is_half_of_8_bit(sites):
    for name, row in sites.items():
        assert row["peak"] / row["h100_equivalents"] == pytest.approx(989.5e12, rel=1e-3), name
        assert (row["precision"], row["sparsity"], row["basis"]) == ("16-bit", "dense", "peak")


def test_editions_and_plans_are_never_mixed():
    asked = {"shape": "trends/exponential", "x": "date", "y": "peak", "unit": "FLOP/s"}
    with pytest.raises(QualifierError, match="mixes edition"):
        forecast.trend("datasets/data-centres", **asked).fit()
    with pytest.raises(QualifierError, match="mixes plan"):
        forecast.trend("datasets/data-centres", where={"edition": "2026-09"}, **asked).fit()
    standing = {"edition": "2026-09", "plan": "no", "record": "yes"}
    facts = forecast.trend("datasets/data-centres", where=standing, **asked).fit().describe().facts
    assert 0.4 < facts["doubling_years"] < 0.8  # Epoch AI: 7 months


def test_one_site_of_two_editions_is_off_by_a_factor_of_four(sites):
    at = [sites[f"alibaba-zhangbei-{edition}-2026-01-03"]["h100_equivalents"] for edition in EDITIONS]
    assert at[0] / at[1] == pytest.approx(4.17, abs=0.01)


@pytest.mark.parametrize(
    ("cells", "check"),
    [
        ({"power": "1276000"}, "power-per-h100-high"),  # kW
        ({"it_power": "1494"}, "power-holds-it-power"),
        ({"peak": "2.2e21"}, "peak-of-an-h100"),  # 8-bit
        ({"it_power": "0.9", "power": "1.276"}, "power-per-h100-low"),  # GW
    ],
)
def test_a_site_in_another_unit_is_rejected(altered, cells, check):
    with pytest.raises(TableError, match=f"check '{check}'"):
        altered("data-centres", "data-centres", ("colossus-2-2026-09-2026-06-15",), **cells)


def test_sites_are_those_of_the_reference_data(sites, reference_data):
    """What was typed from the timeline of 2026-09 ends where the list of sites of that day stands."""
    last = {}
    for row in sites.values():
        if (row["edition"], row["plan"]) == ("2026-09", "no"):
            last[row["site"]] = row
    theirs = [r for r in reference(reference_data, "data_center_sites.csv") if r["as_of"] == EDITIONS["2026-09"]]
    for their in theirs:
        ours = last[their["site"]]
        assert str(ours["date"]) == their["row_date"]
        assert ours["h100_equivalents"] == pytest.approx(float(their["h100_equivalents"]), rel=1e-5)
        assert ours["power"] == pytest.approx(float(their["power_mw"]), rel=1e-5)
    earlier = {(r["site"], r["date"]): r for r in reference(reference_data, "data_center_timelines.csv")}
    compared = 0
    for row in sites.values():
        if row["edition"] == "2026-05":
            their = earlier[row["site"], str(row["date"])]
            assert row["peak"] == pytest.approx(float(their["flops_16bit_per_s"]), rel=1e-5)
            assert row["power"] == pytest.approx(float(their["power_mw"]), rel=1e-5)
            compared += 1
    assert compared > 150


def test_totals_hold_the_largest_site(shipped, sites):
    totals = shipped("data-centre-totals").by_key("data-centre-totals")
    for row in totals.values():
        assert (row["plan"] == "yes") == (str(row["date"]) > EDITIONS["2026-09"])
        before = [
            r for r in sites.values() if (r["edition"], r["plan"]) == ("2026-09", "no") and r["date"] <= row["date"]
        ]
        state = {r["site"]: r["h100_equivalents"] for r in before}
        if row["plan"] == "no":
            assert sum(state.values()) <= row["h100_equivalents"] * (1 + 1e-6)
    now = totals["2026-09-2026-09-27"]
    assert (now["sites"], now["power"]) == (73, 17266.9)


def test_chips_of_the_world_are_the_sum_over_owners(chips):
    owned = collections.defaultdict(float)
    for row in chips.values():
        if (row["role"], row["designer"]) == ("owner", "all"):
            owned[row["date"]] += row["h100_equivalents"]
    world = {row["date"]: row["h100_equivalents"] for row in chips.values() if row["role"] == "world"}
    assert world == owned
    assert len(world) == 16
    values = [world[day] for day in sorted(world)]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(2.09e7, rel=0.01)


def test_chips_made_never_fall(chips):
    made = collections.defaultdict(list)
    for row in chips.values():
        if row["role"] == "designer":
            made[row["holder"]].append((row["date"], row["h100_equivalents"]))
    assert set(made) == {"AMD", "Amazon", "Google", "Nvidia"}
    for series in made.values():
        values = [value for _, value in sorted(series)]
        assert values == sorted(values)


def test_chips_have_grown_as_published():
    """Epoch AI: 3.3x a year [2.7, 4.1], 2022 to 2025."""
    found = to_columns("datasets/chip-stock")
    world = (found["role"] == "world") & (found["date"] <= np.datetime64("2025-12-31"))
    years = (found["date"][world] - found["date"][world].min()) / np.timedelta64(1, "D") / 365.25
    growth = np.exp(np.polyfit(years, np.log(found["h100_equivalents"][world]), 1)[0])
    assert 2.7 < growth < 6


def test_roles_and_editions_of_chips_are_never_mixed():
    asked = {"shape": "trends/exponential", "x": "date", "y": "h100_equivalents"}
    with pytest.raises(QualifierError, match="mixes role"):
        forecast.trend("datasets/chip-stock", **asked).fit()
    with pytest.raises(QualifierError, match="mixes edition"):
        forecast.trend("datasets/chip-stock", where={"role": "owner"}, **asked).fit()


def test_chips_are_those_of_the_reference_data(chips, reference_data):
    short = {"Google (TPU)": "Google", "Amazon (Trainium)": "Amazon"}
    theirs = {
        ("designer", short.get(r["designer"], r["designer"]), short.get(r["designer"], r["designer"]), r["end_date"]): r
        for r in reference(reference_data, "chips_by_designer.csv")
    } | {
        ("owner", r["owner"], short.get(r["designer"], r["designer"]), r["end_date"]): r
        for r in reference(reference_data, "chips_by_owner.csv")
    }
    compared = 0
    for row in chips.values():
        their = theirs.get((row["role"], row["holder"], row["designer"], str(row["date"])))
        if their:
            assert row["h100_equivalents"] == float(their["h100e_median"])
            assert row["h100_low"] == (float(their["h100e_p5"]) if their["h100e_p5"] else None)
            compared += 1
    assert compared == 46 + 308
