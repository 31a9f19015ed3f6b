"""Frontiers against what came: bands of an exponential from the record on, and of one that starts on its line."""

from __future__ import annotations

import numpy as np
import pytest

import forecast
from forecast.evaluation.rolling_origin import backtest
from forecast.streams import Streams

SERIES = ("linpack", "hpcg", "gpu-bandwidth", "gpu-peak-fp32", "gpu-best", "gpu-peak-fp16", "memory-bandwidth-frontier")


def held(years: float, *, anchored: bool) -> tuple[float, float, int]:
    """Return the share of outcomes in the 90 % band, the mean error of the median in logs, and the forecasts."""
    inside, missed = [], []
    for name in SERIES:
        model = forecast.model(f"hardware/{name}@exponential").model
        model = model if anchored else model.keeping("")
        seen = model.fit().observed()
        record = np.maximum.accumulate(seen.value)
        for as_of in np.arange(np.ceil(seen.time[0]) + 6, min(seen.time[-1] - 1, seen.time[-1] - years), 2.0):
            dates = as_of + years * np.array([0.0, 0.5, 1.0])
            drawn = model.fit(as_of=as_of).sample(dates, {}, Streams(0, name, 0))[-1]
            low, middle, high = np.quantile(drawn, [0.05, 0.5, 0.95])
            came = record[np.searchsorted(seen.time, dates[-1], side="right") - 1]
            inside.append(low * (1 - 1e-9) <= came <= high * (1 + 1e-9))
            missed.append(abs(np.log(came / middle)))
    return float(np.mean(inside)), float(np.mean(missed)), len(inside)


@pytest.mark.slow
@pytest.mark.parametrize(("years", "said", "free"), [(2.0, 0.91, 1.0), (5.0, 0.83, 1.0)])
def test_an_exponential_from_the_record_misses_by_less_than_one_from_its_line(years, said, free):
    """The shares that the page on trends states."""
    (share, missed, count), (before, missed_before, _) = (held(years, anchored=kept) for kept in (True, False))
    assert count > 20
    assert share == pytest.approx(said, abs=0.05)
    assert before == pytest.approx(free, abs=0.05)
    assert missed < missed_before


@pytest.mark.parametrize("shape", ["exponential", "changepoint"])
def test_a_shipped_frontier_and_the_same_rows_in_a_file_are_one_forecast(shape, tmp_path):
    shipped = forecast.model(f"hardware/gpu-peak-fp32@{shape}").model
    seen = shipped.fit().observed()
    path = tmp_path / "cards.csv"
    path.write_text(
        "date,speed\n" + "".join(f"{t!r},{v!r}\n" for t, v in zip(seen.time.tolist(), seen.value.tolist(), strict=True))
    )
    own = forecast.trend(
        path, shape=f"trends/{shape}", x="date", y="speed", unit=shipped.unit, records=True, keeps="frontier",
        name=shipped.name,
    ).model  # fmt: skip
    ahead = np.array([2026.9, 2031.37, 2040.0])
    for observed in (False, True):
        drawn = [model.fit().sample(ahead, {}, Streams(0, "n", 0), observed=observed) for model in (shipped, own)]
        np.testing.assert_allclose(drawn[0], drawn[1], rtol=1e-9)


@pytest.mark.parametrize("name", SERIES)
def test_a_frontier_does_not_jump_after_its_last_row(name):
    model = forecast.model(f"hardware/{name}@pool").model.fit()
    last = model.observed().time[-1]
    drawn = model.sample(last + np.array([0.0, 1e-6]), {}, Streams(0, "n", 0))
    np.testing.assert_allclose(drawn[1], drawn[0], rtol=1e-4)


def test_a_record_is_scored_as_it_stands_at_evenly_spaced_dates():
    time, value = [2000.0, 2001.0, 2001.2, 2003.0, 2004.0, 2007.0, 2007.1, 2009.0, 2010.0, 2015.0], 2.0 ** np.arange(10)
    series = forecast.trend(
        {"t": time, "y": value}, shape="trends/exponential", x="t", y="y", frontier=True, keeps="frontier", name="s"
    )
    found = backtest({"own": series.model}, dates=4)
    reached = found["origin"].values[:, None] + found["years"].values
    at = reached[np.isfinite(reached)]
    steps = (at - 2000.0) / (15.0 / 9)
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-6)
    stood = value[np.searchsorted(time, at + 1e-9, side="right") - 1]
    np.testing.assert_array_equal(found["observed"].values[np.isfinite(reached)], stood)
