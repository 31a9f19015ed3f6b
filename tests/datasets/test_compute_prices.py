from __future__ import annotations

import csv

import pytest

import forecast
from forecast.errors import TableError, UnitError


@pytest.fixture(scope="module")
def quotes(shipped):
    return shipped("compute-prices").by_key("compute-prices")


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
