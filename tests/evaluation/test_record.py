"""A track record from backtests: means over forecasts, then over series, by kind and horizon."""

import numpy as np
import pytest
import xarray as xr

from forecast.evaluation.rolling_origin import tally
from forecast.evaluation.scores import QUANTILES


def backtest(score, held, pit, ahead, observed=1.0):
    """One origin, a model m and the last value with twice its score."""
    size = len(score)
    of = ("origin", "horizon", "model")
    both = np.stack([np.array(score), 2 * np.array(score)], axis=-1)[None]
    stated = np.broadcast_to(np.array([0.5, 0.9, 1.0, 1.1, 2.0]), (1, size, 2, 5))
    return xr.Dataset(
        {
            "weighted-interval": (of, both),
            "coverage": (of, np.stack([held, held], axis=-1)[None]),
            "pit": (of, np.stack([pit, pit], axis=-1)[None]),
            "forecast": ((*of, "quantile"), stated),
            "observed": (("origin", "horizon"), np.full((1, size), observed)),
            "ahead": (("origin", "horizon"), np.array(ahead)[None]),
        },
        coords={"origin": [0.0], "model": ["m", "last-value"], "quantile": list(QUANTILES)},
    )


def test_rows_are_means_over_forecasts_and_then_over_series():
    long = backtest([0.1, 0.3], [1.0, 0.0], [0.0, 1.0], [0.1, 1.0])
    short = backtest([0.6], [1.0], [0.55], [0.1], observed=1.5)
    found = [("a", long), ("b", short)]
    rows = {(row["kind"], row["horizon"]): row for row in tally(found, ["m"], {"all": (0, 9), "near": (0, 0.5)})}
    assert set(rows) == {(kind, horizon) for kind in ("all", "a", "b") for horizon in ("all", "near")}
    whole = rows["all", "all"]
    assert (whole["name"], whole["series"], whole["forecasts"]) == ("m", 2, 3)
    assert float(whole["score"]) == pytest.approx((0.2 + 0.6) / 2)
    assert float(whole["held"]) == pytest.approx((0.5 + 1) / 2)
    assert float(whole["half"]) == pytest.approx((1 + 0) / 2)  # 1.5 lies outside of .9 to 1.1
    assert float(whole["over_last_value"]) == pytest.approx(0.5)
    assert whole["deciles"].split() == ["0.25", "0.00", "0.00", "0.00", "0.00", "0.50", "0.00", "0.00", "0.00", "0.25"]
    assert float(rows["all", "near"]["score"]) == pytest.approx((0.1 + 0.6) / 2)
    assert rows["a", "near"]["forecasts"] == 1


def test_a_model_without_a_forecast_has_no_row():
    empty = backtest([np.nan], [np.nan], [np.nan], [0.1])
    assert list(tally([("a", empty)], ["m", "other"], {"all": (0, 9)})) == []
