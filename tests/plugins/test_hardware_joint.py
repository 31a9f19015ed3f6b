"""What a device gives at all, per watt and per dollar, estimated together on the same devices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import forecast
from forecast.errors import FitError
from forecast_hardware.joint import joint_posterior
from forecast_hardware.named import DEVICE_MEASURES

NAMES = ("rate", "per-watt", "per-dollar")
PAIRS = list(itertools.combinations(range(3), 2))


def ranks(a, b):
    """Return Spearman's rank correlation."""
    return float(np.corrcoef(*(np.argsort(np.argsort(each)) for each in (a, b)))[0, 1])


@pytest.fixture(scope="module")
def fitted():
    return forecast.model("hardware/gpu-joint-rate").fit()


@pytest.fixture(scope="module")
def growths():
    """Growth to 2040 of the three in each world, drawn together ("1") and apart ("0")."""
    run = forecast.project("gpu-goal", draws=2048)
    found = {}
    for together in "10":
        for name in ("joint_rate", "joint_per_watt", "joint_per_dollar"):
            level = run["projection"][name]
            level = level.sel(together=together) if "together" in level.dims else level
            found[together, name] = np.log(level.isel(time=14).values / level.isel(time=0).values)
    return {key: [found[key, n] for n in ("joint_rate", "joint_per_watt", "joint_per_dollar")] for key in "10"}


def test_growths_are_correlated_in_the_drawn_worlds_as_they_were_estimated(fitted, growths):
    facts = fitted.describe().facts
    for i, j in PAIRS:
        asked = facts[f"rank_correlation_{NAMES[i]}_{NAMES[j]}".replace("-", "_")]
        assert ranks(growths["1"][i], growths["1"][j]) == pytest.approx(asked, abs=0.03), (NAMES[i], NAMES[j])
        assert ranks(growths["0"][i], growths["0"][j]) == pytest.approx(0.0, abs=0.03), (NAMES[i], NAMES[j])


def test_rate_and_rate_per_watt_grow_together_and_the_rate_per_dollar_by_itself(fitted):
    """What comes out: cards that are faster than their day are so per watt too, and cost as much more."""
    facts = fitted.describe().facts
    assert facts["n"] >= 52
    assert facts["correlation_rate_per_watt_p05"] > 0.5
    for pair in ("rate_per_dollar", "per_watt_per_dollar"):
        assert facts[f"correlation_{pair}_p05"] < 0 < facts[f"correlation_{pair}_p95"]


def test_the_three_are_of_the_same_devices():
    rows = forecast.tables.to_columns("datasets/accelerators")
    kept = (rows["precision"] == "fp32") & (rows["path"] == "vector") & (rows["sparsity"] == "dense")
    kept &= (rows["peak_status"] == "verified") & (rows["status"] == "verified")
    kept &= np.isfinite(rows["peak"] + rows["tdp"] + rows["launch_price"])
    kept &= ~np.isnat(rows["release_date"].astype("datetime64[D]"))
    assert {forecast.model(f"hardware/gpu-joint-{name}").fit().describe().facts["n"] for name in NAMES} == {kept.sum()}
    best = {"rate": rows["peak"], "per-watt": 1e3 * rows["peak"] / rows["tdp"],
            "per-dollar": 1e3 * rows["peak"] / rows["launch_price"]}  # fmt: skip
    for name in NAMES:
        points = forecast.model(f"hardware/gpu-joint-{name}").fit().observed()
        assert points.unit == DEVICE_MEASURES[name][0]
        assert points.value[-1] == pytest.approx(np.max(best[name][kept]))


def test_a_best_device_never_falls_and_starts_at_the_last_one():
    run = forecast.project("gpu-goal", draws=256)
    for name in ("joint_rate", "joint_per_watt", "joint_per_dollar"):
        level = run["projection"][name]
        record = forecast.model("hardware/gpu-" + name.replace("_", "-")).fit().observed().value[-1]
        assert (level.diff("time") >= 0).all()
        assert float(level.isel(time=0).min()) >= record * (1 - 1e-9)


def test_it_stands_as_it_would_have_stood_before():
    early = forecast.model("hardware/gpu-joint-per-dollar").fit(as_of=2018.0)
    assert early.observed().time[-1] < 2018
    assert early.describe().facts["n"] < forecast.model("hardware/gpu-joint-per-dollar").fit().describe().facts["n"]
    with pytest.raises(FitError, match="at least 12 devices"):
        forecast.model("hardware/gpu-joint-rate").fit(as_of=2012.0)


@pytest.mark.slow
def test_intervals_hold_what_devices_were_simulated_from():
    """Walks and scatters of known correlation: 90 % intervals hold it, and the growths, as often as they say."""
    rng = np.random.default_rng(5)
    held = {"growth": [], "correlation": []}
    for _ in range(60):
        t = np.sort(rng.uniform(2008, 2025, 52))
        covariance = 0.16 * np.array([[1.0, 0.7, 0.0], [0.7, 1.0, 0.0], [0.0, 0.0, 1.0]])
        root = np.linalg.cholesky(covariance)
        walk = np.cumsum(
            0.3 * np.sqrt(np.diff(t, prepend=2008))[:, None] * (rng.standard_normal((52, 3)) @ root.T), axis=0
        )
        logs = np.outer(t - 2008, [0.24, 0.2, 0.2]) + walk + rng.standard_normal((52, 3)) @ root.T
        found = joint_posterior(t, logs, draws=400, seed=int(rng.integers(1e6)))
        low, high = np.quantile(found.growth, [0.05, 0.95], axis=0)
        held["growth"] += list((low <= [0.24, 0.2, 0.2]) & (high >= [0.24, 0.2, 0.2]))
        low, high = np.quantile(found.correlation()[:, 0, 1], [0.05, 0.95])
        held["correlation"].append(low <= 0.7 <= high)
    assert 0.85 <= np.mean(held["growth"]) <= 0.96
    assert 0.82 <= np.mean(held["correlation"]) <= 0.97
