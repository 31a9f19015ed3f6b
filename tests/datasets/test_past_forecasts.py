"""The forecasts of others: every row is a claim, has its sources, and agrees with reference data where there are."""

import csv
import os
from pathlib import Path

import pytest

import forecast
import forecast_datasets
from forecast.evaluation import outcomes

CLAIMS = {claim.name: claim for claim in forecast_datasets.forecast_claims()}


def test_every_row_is_a_claim():
    table = forecast.table("past-forecasts")
    assert sorted(CLAIMS) == sorted(table["forecast"].values.tolist())
    for name, claim in CLAIMS.items():
        row = table.sel(forecast=name)
        assert claim.forecast.who == str(row["who"].values)
        assert claim.forecast.verified == (str(row["status"].values) == "verified")
        assert claim.reference.startswith(str(row["source"].values))


def test_an_outcome_has_a_source():
    for claim in CLAIMS.values():
        assert (claim.forecast.outcome is not None) == ("; outcome: " in claim.reference), claim.name


def test_no_row_that_was_read_in_a_copy_alone_counts():
    unverified = [claim for claim in CLAIMS.values() if not claim.forecast.verified]
    assert unverified
    assert {outcomes.judge(claim.forecast) for claim in unverified} == {"unverified"}


def test_supercomputers_are_those_of_our_own_table():
    """The outcomes are worked out again: the first list on which a system, or the last place, is that fast."""
    lists = forecast.table("supercomputers")
    time = [float(t) for t in forecast.base.dates.decimal_year(lists["date"].values)]

    def first(column: str, level: float) -> float:
        return next(t for t, value in zip(time, lists[column].values, strict=True) if value >= level)

    for name, column, level in (
        ("linpack-100-teraflops", "rmax_top1", 1e2),
        ("last-place-one-teraflops", "rmax_500", 1.0),
        ("first-petaflops", "rmax_top1", 1e3),
        ("first-100-petaflops", "rmax_top1", 1e5),
        ("exascale-2018", "rmax_top1", 1e6),
    ):
        assert CLAIMS[name].forecast.outcome == pytest.approx(first(column, level), abs=1e-3), name
    at = dict(zip(lists["list"].values.tolist(), lists["rmax_top1"].values.tolist(), strict=True))
    assert CLAIMS["top500-decade"].forecast.outcome == pytest.approx(at["2025-11"] / at["2015-11"], rel=1e-4)


#: Rows of the reference data that are about the same forecast, and the verdict there.
SAME = {
    "top500-decade": "F41", "first-petaflops": "F42", "first-100-petaflops": "F43", "pimpale-swe-bench": "F55",
    "xpt-math-superforecasters": "F49", "xpt-mmlu-superforecasters": "F50", "xpt-quality-superforecasters": "F51",
    "xpt-math-experts": "F52", "xpt-mmlu-experts": "F53", "xpt-quality-experts": "F54",
}  # fmt: skip


def test_reference_data_agree():
    folder = os.environ.get("FORECAST_TEST_DATA")
    if not folder:
        pytest.skip("needs FORECAST_TEST_DATA")
    with Path(folder, "capability", "forecasts.csv").open(encoding="utf-8", newline="") as file:
        theirs = {row["id"]: row for row in csv.DictReader(file)}
    for name, key in SAME.items():
        made, row = CLAIMS[name].forecast, theirs[key]
        near = 0.6 if made.kind == "date" else 0.01 * abs(float(row["median_num"]))
        assert made.median == pytest.approx(float(row["median_num"]), abs=near), name
        assert made.outcome == pytest.approx(float(row["outcome_num"]), rel=0.01), name
        assert outcomes.judge(made) == row["verdict"], name
