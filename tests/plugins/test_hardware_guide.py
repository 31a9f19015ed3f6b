"""Which GPUs to get: prices of now, as many cards as hold the model, no launch price in the place of a price."""

import csv
from pathlib import Path

import pytest

import forecast
import forecast_datasets
from forecast import tables
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


def test_buying_has_paid_after_the_hours_in_which_rent_exceeds_electricity():
    """By hand from the newest quotes: 37,500 USD new in 2026-02, a board of 3,000, rent of 2.69 USD/h in 2026-10."""
    settings = {"device": ["h100-sxm5"], "rented_from": ["specialised"], "market": 1, "desktop": 500}
    run = forecast.project("rent-or-buy", draws=16, with_=settings)
    hours = (37_500 + 3_000 + 500) / (2.69 - 0.7 * 0.175)
    assert run.answers["break_even"].headline.median == pytest.approx(hours, rel=1e-6)
    years = run.answers["years"].headline.median
    assert years == pytest.approx(hours / (0.15 * 24 * 365.25), rel=2e-3)
    busier = forecast.project("rent-or-buy", draws=16, with_={**settings, "busy": 0.3})
    assert busier.answers["years"].headline.median == pytest.approx(years / 2)
    assert busier.answers["break_even"].headline.median == pytest.approx(hours, rel=1e-6)
    resold = forecast.project("rent-or-buy", draws=16, with_={**settings, "resale": 0.5})
    assert resold.answers["break_even"].headline.median == pytest.approx((18_750 + 3_500) / (2.69 - 0.1225), rel=1e-6)


def test_every_rent_says_from_what_kind_of_cloud_it_is():
    quotes = tables.to_columns("datasets/accelerator-prices")
    rented = quotes.column("kind") != "purchase"
    kinds = dict(zip(quotes.column("provider")[rented], quotes.column("channel")[rented], strict=True))
    assert set(kinds.values()) == {"hyperscaler", "specialised", "marketplace"}
    assert kinds["aws"] == "hyperscaler"
    assert kinds["vast"] == "marketplace"
    assert kinds["lambda"] == "specialised"
