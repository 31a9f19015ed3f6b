"""The wandering shapes as trends: in a scenario, from a record, with options."""

import numpy as np
import pytest

import forecast
from forecast.errors import UnknownNameError


def walked(seed, steps):
    """Log values of a random walk with drift."""
    return np.cumsum(0.3 + 0.2 * np.random.default_rng(seed).standard_normal(steps + 1))


SHAPES = ["trends/random-walk", "trends/damped-trend", "trends/local-linear"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_scenario_projects_a_csv(shape, tmp_path):
    rows = [f"{2000 + i}-06-01,{v:.6g}" for i, v in enumerate(np.exp(28 + walked(12, 20)))]
    (tmp_path / "my.csv").write_text("\n".join(["date,flops", *rows]) + "\n", encoding="utf-8")
    record = {
        "until": 2035,
        "quantities": {
            "y": {"shape": shape, "data": str(tmp_path / "my.csv"), "x": "date", "y": "flops", "unit": "FLOP/s"},
            "none": {"expression": "y - y"},
            "goal": {"value": 1e16, "unit": "FLOP/s"},
        },
        "questions": {"reached": {"when": "y >= goal"}},
    }
    runs = {k: forecast.project(record, **a) for k, a in {
        "year": {"draws": 1500}, "again": {"draws": 1500}, "few": {"draws": 300}, "long": {"draws": 300, "until": 2050},
        "month": {"draws": 300, "step": "month"},
    }.items()}  # fmt: skip
    year, few, long, month = (runs[k]["projection"]["y"] for k in ("year", "few", "long", "month"))
    assert year.attrs["units"] == "FLOP/s"
    assert (year.values == runs["again"]["projection"]["y"].values).all()
    assert (year.values[:, :300] == few.values).all()
    assert (long.values[: few.sizes["time"]] == few.values).all()
    assert np.log(month.sel(time=few["time"]).values) == pytest.approx(np.log(few.values), abs=1e-9)
    assert (runs["year"]["projection"]["none"].values == 0).all()
    spread = np.log(year.values).std(axis=1)
    assert spread[-1] > 2 * spread[2] > 0
    assert runs["year"]["questions"]["reached"].sel(quantile=0.5).dt.year.item() > 2020
    assert "y" in runs["year"]["observed"]


def test_options_reach_the_shape():
    data = {"year": 2000.0 + np.arange(12), "speed": np.exp(walked(0, 11))}
    made = {"shape": "trends/random-walk", "x": "year", "y": "speed", "unit": "FLOP/s"}
    said = forecast.trend(data, **made, options={"theta": "fitted"}).fit().describe()
    assert "fitted, 90 %" in said.summary
    assert "pooled over 53 technologies" in forecast.trend(data, **made).fit().describe().summary
    with pytest.raises(UnknownNameError, match="theta"):
        forecast.trend(data, **made, options={"tetha": 0.3}).fit()
