"""Does every route to an interval hold what it says? Profile, posterior and bootstrap of the same simulated series.

`test_coverage` has the profile on more laws. ``FORECAST_CALIBRATION=10`` simulates ten times as many series.
"""

import os

import numpy as np
import pytest

import forecast
from toolkit import sample

pytestmark = pytest.mark.slow

SERIES = 100 * int(os.environ.get("FORECAST_CALIBRATION", "1"))
CASES = {
    "power": (np.geomspace(1e2, 1e5, 40), {"beta": 5.0, "c": 0.3}),
    "saturating-power": (np.geomspace(1e1, 1e4, 60), {"E": 1.7, "beta": 8.0, "c": 0.35}),
}
#: Least share of 90 % intervals that hold: percentiles of resampled pairs are known to be a little narrow in small
#: samples (Efron, B. & Tibshirani, R. J. 1993, An introduction to the bootstrap, chapters 13 and 14).
NOMINAL = {"profile": (0.9, 0.9), "posterior": (0.9, 0.9), "bootstrap": (0.85, 0.9)}


@pytest.mark.parametrize("name", sample(reversed(CASES), 0, 2))
def test_ninety_per_cent_intervals_hold_ninety_per_cent(name, capsys):
    x, truth = CASES[name]
    law = forecast.law(f"scaling/{name}")
    mean = np.asarray(law.value(truth, x=x))
    held = {route: dict.fromkeys(truth, 0) for route in NOMINAL}
    for i in range(SERIES):
        y = mean * np.exp(0.02 * np.random.default_rng([5, i]).standard_normal(x.size))
        fit = law.fit({"x": x, law.output: y}, objective="least_squares_log", bootstrap=400, seed=i)
        drawn = fit.posterior(1000, seed=i)
        for p, value in truth.items():
            ends = {
                "profile": fit.interval(p, 0.9, method="profile"),
                "posterior": tuple(np.quantile(drawn[p].values, [0.05, 0.95])),
                "bootstrap": fit.interval(p, 0.9, method="bootstrap"),
            }
            for route, (low, high) in ends.items():
                held[route][p] += low <= value <= high
    error = 3 * np.sqrt(0.09 / SERIES)
    with capsys.disabled():
        for route, each in held.items():
            print(f"\n{name}, {route}: { {p: n / SERIES for p, n in each.items()} } of {SERIES}")
    for route, (least, most) in NOMINAL.items():
        for p, count in held[route].items():
            assert least - error <= count / SERIES <= most + error, (route, p, count / SERIES)
