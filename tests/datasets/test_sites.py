"""Data-centre sites and chips by date: editions and plans apart, sums that add up, figures of the reference data."""

import csv

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


def test_the_largest_site_of_2026(sites):
    """Colossus 2 in the edition of 2026-09: 1,111,673 H100 equivalents, 1,276 MW, 1.10e21 FLOP/s in dense 16-bit."""
    standing = [row for row in sites.values() if (row["edition"], row["plan"]) == ("2026-09", "no")]
    largest = max(standing, key=lambda row: row["peak"])
    assert (largest["site"], str(largest["date"]), largest["power"]) == ("Colossus 2", "2026-06-15", 1276)
    assert largest["h100_equivalents"] == pytest.approx(1111673, abs=1)
    assert largest["peak"] == pytest.approx(1.10e21, rel=1e-3)
    assert sum(row["peak"] > 1.075e21 for row in standing) == 1


def test_editions_and_plans_are_never_mixed():
    asked = {"shape": "trends/exponential", "x": "date", "y": "peak", "unit": "FLOP/s"}
    with pytest.raises(QualifierError, match="mixes edition"):
        forecast.trend("datasets/data-centres", **asked).fit()
    with pytest.raises(QualifierError, match="mixes plan"):
        forecast.trend("datasets/data-centres", where={"edition": "2026-09"}, **asked).fit()
    standing = {"edition": "2026-09", "plan": "no", "record": "yes"}
    facts = forecast.trend("datasets/data-centres", where=standing, **asked).fit().describe().facts
    assert 0.4 < facts["doubling_years"] < 0.8  # Epoch AI: 7 months


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
