"""Frontiers against what came: bands of an exponential from the record on, and of one that starts on its line."""

from __future__ import annotations

import numpy as np
import pytest

import forecast
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


@pytest.mark.parametrize(("years", "said", "free"), [(2.0, 0.91, 1.0), (5.0, 0.83, 1.0)])
def test_an_exponential_from_the_record_misses_by_less_than_one_from_its_line(years, said, free):
    """The shares that the page on trends states."""
    (share, missed, count), (before, missed_before, _) = (held(years, anchored=kept) for kept in (True, False))
    assert count > 20
    assert share == pytest.approx(said, abs=0.05)
    assert before == pytest.approx(free, abs=0.05)
    assert missed < missed_before
