"""The largest AI cluster of each year: which rows count, how fast they grow, and that a peak is not a benchmark."""

from __future__ import annotations

import numpy as np
import pytest

import forecast
from forecast.errors import QualifierError

SHAPES = ["exponential", "changepoint", "random-walk"]


@pytest.fixture(scope="module")
def largest():
    """The largest tensor-core peak of each year, TFLOP/s, told by hand from the table."""
    data = forecast.table("ai-clusters")
    keep = (data["path"].values == "tensor") & (data["status"].values == "verified")
    years = data["date"].values.astype("datetime64[Y]").astype(int) + 1970
    return {y: data["peak"].values[keep & (years == y)].max() / 1e12 for y in np.unique(years[keep])}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_points_are_the_yearly_maxima(largest, shape):
    seen = forecast.model(f"hardware/ai-cluster@{shape}").fit().observed()
    assert seen.unit == "TFLOP/s"
    assert dict(zip(np.floor(seen.time).astype(int).tolist(), seen.value.tolist(), strict=True)) == pytest.approx(
        largest
    )
    assert len(largest) == 9


def test_a_straight_line_through_them_doubles_about_every_year(largest):
    seen = forecast.model("hardware/ai-cluster@exponential").fit().observed()
    by_hand = np.log(2) / np.polyfit(seen.time, np.log(seen.value), 1)[0]
    facts = forecast.model("hardware/ai-cluster@exponential").fit().describe().facts
    assert facts["doubling_years"] == pytest.approx(by_hand, rel=1e-6)
    # the published 2.5-fold a year doubles in 0.76 years: faster than these nine, and within their interval
    assert facts["doubling_p05"] < np.log(2) / np.log(2.5) < facts["doubling_years"] < facts["doubling_p95"]


def test_a_break_is_looked_for_and_not_found():
    assert "no break found" in forecast.model("hardware/ai-cluster@changepoint").fit().describe().summary


def test_a_peak_is_not_compared_with_linpack():
    asked = {"until": 2030, "quantities": {
        "peak": {"model": "hardware/ai-cluster@exponential"}, "measured": {"model": "hardware/linpack@exponential"}},
        "questions": {"ahead": {"when": "peak >= measured"}}}  # fmt: skip
    with pytest.raises(
        QualifierError, match="'peak' is basis peak, precision 16-bit, 'measured' is basis linpack, precision fp64"
    ):
        forecast.project(asked, draws=2)
