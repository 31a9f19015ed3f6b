"""Money and limits: what is spent, what tokens cost, what the field says grows how fast and ends where."""

import collections
import csv

import pytest

import forecast
from forecast.errors import QualifierError, TableError


def reference(folder, name):
    with (folder / "capability" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def spending(shipped):
    return shipped("company-spending").by_key("company-spending")


@pytest.fixture(scope="module")
def prices(shipped):
    return shipped("token-prices").by_key("token-prices")


@pytest.fixture(scope="module")
def rates(shipped):
    return shipped("published-rates").by_key("published-rates")


def test_quarters_years_and_plans_are_never_mixed():
    asked = {"shape": "trends/exponential", "x": "ends", "y": "amount", "unit": "USD"}
    where = {"company": "Amazon", "what": "capital expenditure"}
    with pytest.raises(QualifierError, match="mixes span"):
        forecast.trend("datasets/company-spending", where=where, **asked).fit()
    with pytest.raises(QualifierError, match="mixes plan"):
        forecast.trend("datasets/company-spending", where=where | {"span": "year"}, **asked).fit()


def test_shares_of_different_wholes_are_never_mixed(shipped):
    splits = shipped("compute-splits").by_key("compute-splits")
    assert len(splits) == 12
    for name, row in splits.items():
        assert (row["share"] is None) == (row["share_low"] is not None), name
        assert (row["plan"] == "yes") == (row["evidence"] == "projected"), name
        assert "https://" in row["source"], name
    with pytest.raises(QualifierError, match=r"mixes (part|whole)"):
        forecast.trend(
            "datasets/compute-splits", x="ends", y="share", unit="", shape="trends/exponential", where={"plan": "no"}
        ).fit()


def test_a_share_whose_range_is_upside_down_is_rejected(altered):
    name = "openai-minimax-and-zai-final-runs-of-r-and-d-compute-2025"
    with pytest.raises(TableError, match="check 'range-in-order'"):
        altered("compute-splits", "compute-splits", (name,), share_low="0.4")


def test_shares_are_those_of_the_reference_data(shipped, reference_data):
    with (reference_data / "outlook" / "compute_splits.csv").open(encoding="utf-8", newline="") as file:
        theirs = {float(row["share"]) for row in csv.DictReader(file)}
    for row in shipped("compute-splits").by_key("compute-splits").values():
        for column in ("share", "share_low", "share_high"):
            assert row[column] is None or row[column] in theirs, row["split"]


def test_spending_in_billions_is_rejected(altered):
    with pytest.raises(TableError, match="check 'dollars-not-billions'"):
        altered("company-spending", "company-spending", ("meta-capital-expenditure-2025",), amount="69.691")


def test_spending_is_that_of_the_reference_data(spending, reference_data):
    theirs = {
        (row["company"], row["period"]): float(row["capex_usd_bn"])
        for row in reference(reference_data, "capex.csv")
        if row["kind"].endswith("cash capex")
    }
    ours = {
        (row["company"], row["period"]): row["amount"] / 1e9
        for row in spending.values()
        if (row["what"], row["plan"]) == ("capital expenditure", "no")
    }
    assert ours == pytest.approx(theirs)


def test_gpt_4_s_score_became_a_hundred_times_cheaper_in_2024(prices):
    """15 dollars from 2023-11, 0.1225 from 2024-12 (Epoch AI, GPQA diamond)."""
    at = {
        str(r["date"]): r["price"]
        for r in prices.values()
        if (r["benchmark"], r["threshold"]) == ("GPQA diamond", 0.33)
    }
    assert at["2023-11-06"] == 15
    assert at["2024-12-13"] == 0.1225


@pytest.mark.parametrize(
    ("cells", "check"),
    [
        ({"input_price": "60", "output_price": "30"}, "blend-above-input"),
        ({"input_price": "", "output_price": "30"}, "blend-below-output"),
        ({"price": "0.0000375", "input_price": "", "output_price": ""}, "dollars-a-million"),
    ],
)
def test_a_price_of_something_else_is_rejected(altered, cells, check):
    with pytest.raises(TableError, match=f"check '{check}'"):
        altered("token-prices", "token-prices", ("flagship-openai-gpt-4-2023-03-14",), **cells)


def test_prices_are_those_of_the_reference_data(prices, reference_data):
    theirs = collections.Counter(
        (row["date"], row["model"], float(row["usd_per_mtok"]), row["status"] == "unverified")
        for row in reference(reference_data, "token_prices.csv")
        if row["capability"] != "GPQA Diamond, GPT-4 level"  # the same rows as of GPQA Diamond >= 33
    )
    ours = collections.Counter(
        (str(row["date"]), row["model"], row["price"], row["status"] == "unverified") for row in prices.values()
    )
    assert set(ours) == set(theirs)
    assert ours == theirs


def test_both_forms_of_ho_et_al_stand(rates):
    """95 % [5, 14] months in the preprint, 90 % [2, 22] in the conference's version: factors 2^(12/months)."""
    found = {
        r["interval"]: (r["factor_low"], r["factor_high"])
        for r in rates.values()
        if "halves every" in (r["as_published"] or "")
    }
    assert found["95 %"] == pytest.approx((2 ** (12 / 14), 2 ** (12 / 5)), rel=0.01)
    assert found["90 %"] == pytest.approx((2 ** (12 / 22), 2**6), rel=0.01)


def test_a_doubling_time_taken_for_a_rate_is_rejected(altered, rates):
    name = next(n for n, r in rates.items() if r["kind"] == "time horizon" and r["factor_low"])
    with pytest.raises(TableError, match="check 'rate-low'"):
        altered("published-rates", "published-rates", (name,), factor_low="158", factor="128.7", factor_high="160")


def test_rates_are_those_of_the_reference_data(rates, reference_data):
    theirs = [
        float(r["factor_per_year"]) for r in reference(reference_data, "growth_rates.csv") if r["factor_per_year"]
    ]
    ours = [row["factor"] for row in rates.values()]
    assert all(any(abs(o - t) < 1e-9 for o in ours if o is not None) for t in theirs)
    kinds = collections.Counter(row["kind"] for row in rates.values())
    assert kinds["algorithms"] == 6
    assert kinds["token price"] == 24


@pytest.mark.parametrize(
    ("cells", "check"), [({"power": "4e9"}, "megawatts"), ({"power_low": "5e4"}, "power-in-order")]
)
def test_a_limit_in_watts_is_rejected(altered, shipped, cells, check):
    limits = shipped("supply-limits").by_key("supply-limits")
    (key,) = [k for k, r in limits.items() if r["scope"] == "power, distributed network"]
    with pytest.raises(TableError, match=f"check '{check}'"):
        altered("supply-limits", "supply-limits", (key,), **cells)
