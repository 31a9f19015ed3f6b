from __future__ import annotations

import collections
import csv

import pytest

import forecast
from forecast.errors import TableError, UnitError


@pytest.fixture(scope="module")
def quotes(shipped):
    return shipped("compute-prices").by_key("compute-prices")


@pytest.fixture(scope="module")
def devices(shipped):
    return shipped("accelerators").by_key("accelerators")


def test_a_device_is_bought_or_rented(quotes):
    for name, row in quotes.items():
        assert (row["purchase"] is None) != (row["rental"] is None), name
        rented = row["kind"] in ("on-demand", "reserved", "spot", "median", "index")
        assert (row["rental"] is not None) == rented == (row["scope"] == "instance"), name
        assert row["term"] is None or row["kind"] == "reserved", name
        assert row["dollars"] == "nominal"


def test_every_device_is_one_of_the_accelerators_and_was_there_when_it_was_priced(quotes, devices):
    for name, row in quotes.items():
        assert row["device"] in devices, name
        released = devices[row["device"]]["release_date"]
        assert released is None or row["date"] >= released, name


def test_kinds_and_years(quotes):
    kinds = collections.Counter(row["kind"] for row in quotes.values())
    assert kinds == {
        "on-demand": 94, "purchase": 43, "reserved": 33, "list": 22, "launch": 13, "average": 11, "spot": 7, "index": 2,
        "median": 1,
    }  # fmt: skip
    years = [row["date"].year for row in quotes.values()]
    assert (min(years), max(years)) == (2010, 2026)


def test_an_average_is_an_estimate_and_no_quote(quotes):
    """Nvidia's H100: 20,000 to 27,000 dollars in 2025 (Epoch AI); halfway on a log scale, and unverified."""
    for name, row in quotes.items():
        assert (row["kind"] == "average") <= (row["status"] == "unverified"), name
    h100 = [row["purchase"] for row in quotes.values() if (row["device"], row["kind"]) == ("h100-sxm5", "average")]
    assert h100 == sorted(h100, reverse=True)
    assert h100[-1] == pytest.approx((20000 * 27000) ** 0.5, abs=1)


def test_what_can_be_rented_in_2026(quotes):
    on_sale = {r["device"] for r in quotes.values() if r["rental"] is not None and r["date"].year == 2026}
    assert {"a100-sxm4-80gb", "h100-sxm5", "h200-sxm", "b200", "l40s"} <= on_sale


def test_newer_prices_are_those_of_the_reference_data(quotes, reference_data):
    with (reference_data / "capability" / "accelerator_prices.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    ends = ("price_usd", "low_usd", "high_usd")
    known = {(row["date"], float(row[end])) for row in rows for end in ends if row[end]}
    newer = [r for r in quotes.values() if str(r["date"]) > "2026-05" or r["kind"] in ("average", "launch")]
    compared = [
        r for r in newer if "ml_hardware" in r["source"] or str(r["date"]) > "2026-05" or r["kind"] == "average"
    ]
    assert len(compared) == 5 + 9 + 11
    for row in compared:
        assert (str(row["date"]), row["purchase"] or row["rental"]) in known, row


def test_launch_prices_are_those_of_the_accelerators(quotes, devices):
    compared = 0
    for name, row in quotes.items():
        theirs = devices[row["device"]]["launch_price"]
        if row["kind"] == "launch" and theirs is not None:
            assert row["purchase"] == theirs, name
            compared += 1
    assert compared >= 6


def test_a_reservation_and_spare_capacity_cost_less_than_the_hour(quotes):
    """Held within one device, provider and day."""
    hour = {(r["device"], r["provider"], r["date"]): r["rental"] for r in quotes.values() if r["kind"] == "on-demand"}
    compared = 0
    for name, row in quotes.items():
        at = (row["device"], row["provider"], row["date"])
        if row["kind"] in ("reserved", "spot") and at in hour:
            assert row["rental"] < hour[at], name
            compared += 1
    assert compared >= 25


def test_known_answers(quotes):
    def only(**wanted):
        (found,) = [r for r in quotes.values() if all(str(r[k]) == v for k, v in wanted.items())]
        return found

    aws = only(device="h100-sxm5", provider="Amazon Web Services", kind="on-demand", date="2025-03-17")
    assert aws["rental"] == 12.29
    assert only(device="geforce-gtx-580", kind="launch")["purchase"] == 499
    # printed for one of the board's two GPUs
    rented = only(device="tesla-k80", provider="Amazon Web Services", kind="on-demand", date="2017-02-10")
    assert rented["rental"] == 1.8
    assert only(device="tesla-k80", kind="list", date="2022-07-01")["purchase"] == 435


def test_bought_and_rented_are_of_different_units():
    table = forecast.table("datasets/compute-prices")
    assert table["purchase"].attrs["unit"] == "USD"
    assert table["rental"].attrs["unit"] == "USD/hour"
    with pytest.raises(UnitError, match="USD/hour"):
        forecast.units.check("USD", "USD/hour")


BAD = {
    "the price of an instance with eight devices": (
        "h100-sxm5-on-demand-aws-2025-03-17", {"rental": "98.32"}, "rental-per-device",
    ),
    "the price of a system with eight devices": (
        "h200-sxm-purchase-anafrashop-com-2024-03-27", {"purchase": "270565"}, "purchase-per-device",
    ),
    "an hour in the column of the boards": (
        "h100-sxm5-on-demand-aws-2025-03-17", {"rental": "", "purchase": "12.29"}, "rented-is-not-bought",
    ),
    "a board in the column of the hours": (
        "geforce-gtx-580-launch-techpowerup-com-2010-11-09", {"rental": "4.99"}, "bought-is-not-rented",
    ),
    "a second instead of an hour": (
        "tesla-v100-sxm2-spot-aws-2025-06-03", {"rental": "0.0003"}, "rental-not-in-cents",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_price_of_something_else_is_rejected_with_a_reason(case, altered):
    quote, cells, check = BAD[case]
    with pytest.raises(TableError, match=rf"check '{check}': .*: \w+"):
        altered("compute-prices", "compute-prices", (quote,), **cells)


def test_overlap_with_the_reference_data(quotes, reference_data):
    """Every row that names Epoch has a row there with its date and its price (of one GPU of two for the K80)."""
    with (reference_data / "hardware" / "epoch_hardware_prices.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = [name for name in rows[0] if name.startswith("Price per chip-hour") or "purchase" in name]
    known = {(row["Price date"], round(float(row[c]), 2)) for row in rows for c in columns if row[c]}
    compared = 0
    for name, row in quotes.items():
        if row["source"].startswith("Epoch AI hardware prices"):
            price = row["purchase"] or row["rental"] / (2 if row["device"] == "tesla-k80" else 1)
            assert (str(row["date"]), round(price, 2)) in known, name
            compared += 1
    assert compared > 150
