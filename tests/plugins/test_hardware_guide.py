"""Which GPUs to get: prices of now, as many cards as hold the model, no launch price in the place of a price."""

import csv
from pathlib import Path

import pytest

import forecast
import forecast_datasets
from forecast.tables import read

PRICES = Path(forecast_datasets.__file__).parent / "accelerator-prices" / "accelerator-prices.csv"


@pytest.fixture(scope="module")
def guide():
    return forecast.project("gpu-guide", draws=64, with_={"use": ["inference-8bit"]})


def test_at_least_forty_devices_are_compared_at_prices_of_the_last_two_years(guide):
    devices = guide.choices["device"].values
    assert len(devices) >= 40
    rows = read(PRICES)
    quoted = {str(d) for d, date in zip(rows["device"], rows.years("date"), strict=True) if date >= 2024.75}
    with (PRICES.parents[1] / "compute-prices" / "compute-prices.csv").open(encoding="utf-8") as file:
        quoted |= {r["device"] for r in csv.DictReader(file) if r["purchase"] and r["date"] >= "2024-10"}
    assert set(devices) <= quoted


def test_a_launch_price_never_stands_for_that_of_now(guide):
    price = guide.worlds["price"].sel(device="geforce-rtx-5090")
    assert float(price.max()) > 1.5 * 1999  # what it was sold for first


def test_as_many_cards_are_bought_as_hold_what_is_needed_and_a_module_pays_its_board():
    run = forecast.project("gpu-guide", draws=64, with_={"use": ["inference-8bit"], "memory": "80 GiB"})
    cards = run.worlds["cards"]
    assert (float(cards.sel(device="geforce-rtx-3090").max()), float(cards.sel(device="h100-sxm5").max())) == (4, 1)
    board = run.worlds["board"]
    assert (board.sel(device="geforce-rtx-3090").max(), board.sel(device="h100-sxm5").max()) == (0, 3000)


def test_every_price_has_a_source_a_date_and_one_kind():
    with PRICES.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert row["source"]
            assert row["date"]
            assert bool(row["price"]) is (row["kind"] == "purchase")
            assert bool(row["rent"]) is (row["kind"] != "purchase")
