"""The largest AI data centre so far: which rows count, how fast they grow, and that a peak is not a benchmark."""

import numpy as np
import pytest

import forecast
from forecast.tables import decimal_year
from tests.toolkit import command

SHAPES = ["exponential", "changepoint", "random-walk"]


@pytest.fixture(scope="module")
def records():
    """The record after each row of what operates, TFLOP/s, told by hand from the edition of 2026-09."""
    data = forecast.table("data-centres")
    keep = (data["edition"].values == "2026-09") & (data["plan"].values == "no") & (data["status"].values == "verified")
    keep &= ~np.isnan(data["peak"].values)
    order = np.argsort(data["date"].values[keep])
    peak = data["peak"].values[keep][order] / 1e12
    return decimal_year(data["date"].values[keep][order]), np.maximum.accumulate(peak)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_points_are_the_records_of_what_operates(records, shape):
    time, peak = records
    seen = forecast.model(f"hardware/ai-cluster@{shape}").fit().observed()
    assert seen.unit == "TFLOP/s"
    best = [peak[time <= when].max() for when in time]  # of one day the best counts
    assert {f"{v:.6g}" for v in seen.value} == {f"{v:.6g}" for v in best}
    for when, value in zip(seen.time, seen.value, strict=True):
        assert value == pytest.approx(peak[time <= when + 1e-9].max())


def test_a_straight_line_through_them_doubles_in_half_a_year():
    """Faster than the published 2.5-fold a year, which was of clusters until 2025 and is not excluded."""
    facts = forecast.model("hardware/ai-cluster@exponential").fit().describe().facts
    assert facts["doubling_p05"] < facts["doubling_years"] < np.log(2) / np.log(2.5) < facts["doubling_p95"]
    assert facts["doubling_years"] == pytest.approx(0.55, abs=0.01)


def test_the_screen_tells_days_and_carbon_of_the_device_that_is_cheapest(capsys):
    told = command("run")(capsys, "gpu-cluster", "--draws", "64").out
    run = forecast.project("gpu-cluster", draws=64)
    first = run.labels[run.winners["device"]]
    assert f"on rented {first}" in " ".join(told.split())
    for what in ("how long it takes", "its electricity", "its carbon dioxide"):
        assert f"{what} on {first}  " in told
