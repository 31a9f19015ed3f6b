"""`gpu-limit`: features that grow up to a limit, and the rate that follows, after Hobbhahn & Besiroglu."""

import numpy as np
import pytest

import forecast


@pytest.fixture(scope="module")
def run():
    return forecast.project("gpu-limit", draws=2000, seed=0)


def test_the_published_regression_is_a_fit_of_the_law():
    """log10 F = 10.084 - 0.412 log10 nm + 0.920 log10 cores, by hand for a card of 8 nm and 10,496 cores."""
    fit = forecast.law("hardware/rate-from-features").published("hobbhahn2022")
    predicted = float(fit.predict(process=8.0, units=10496.0)["median"])
    assert np.log10(predicted) == pytest.approx(10.084 - 0.412 * np.log10(8) + 0.920 * np.log10(10496))
    assert 35.6e12 / 2 < predicted < 35.6e12 * 2  # FP32 of an RTX 3090


def test_the_features_of_our_table_explain_its_rates():
    rows = forecast.tables.to_columns("datasets/accelerators")
    keep = (rows["precision"] == "fp32") & (rows["path"] == "vector") & (rows["sparsity"] == "dense")
    keep &= (rows["evidence"] == "released") & (rows["status"] == "verified")
    keep &= ~np.isnan(rows["peak"] + rows["process"] + rows["units"])
    x = np.column_stack([np.ones(keep.sum()), np.log(rows["process"][keep]), np.log(rows["units"][keep])])
    y = np.log(rows["peak"][keep])
    beta, left, *_ = np.linalg.lstsq(x, y, rcond=None)
    fit = forecast.model("hardware/rate-from-features").fit().fit
    assert [np.log(fit.values["c"]), -fit.values["a"], fit.values["b"]] == pytest.approx(list(beta), rel=1e-6)
    assert 1 - left[0] / np.sum((y - y.mean()) ** 2) > 0.85


def test_names_of_processes_shrink_and_the_summary_says_so():
    said = forecast.model("hardware/process-size@exponential").fit().describe()
    assert said.summary.startswith("halves every 4.0")
    assert said.facts["growth_p95"] < 0


def test_density_falls_short_of_the_square():
    """A name of a process that halves does not make four times as many transistors."""
    low, high = forecast.model("hardware/density-from-process").fit().fit.interval("k")
    assert 1.0 < low < high < 2.0


def test_the_process_stops_at_its_limit_and_the_rate_with_it(run):
    table = run["projection"]
    process, smallest = table["process"], table["smallest"]
    assert (process >= smallest - 1e-12).all()
    level = np.log(table["peak"].sel(time=slice("2045", None)).values)
    assert np.abs(np.diff(level, axis=0)).max() < 1e-9


def test_the_rate_starts_at_the_best_device_and_grows_as_its_features(run):
    """One level with `gpu-capability`, which has the same series: the two said 60 and 163 TFLOP/s of one year."""
    table = run["projection"]
    grown = table["peak"] / table["peak"].isel(time=0)
    assert grown.values == pytest.approx((table["by_features"] / table["by_features"].isel(time=0)).values)
    other = forecast.project("gpu-capability", draws=2000, seed=0, with_={"precision": "fp32", "shape": "pool"})
    best = other["projection"]["peak"].isel(time=0).squeeze()
    np.testing.assert_allclose(table["peak"].isel(time=0).values, best.values, rtol=1e-12)
    seen = forecast.model("hardware/gpu-peak-fp32").fit().observed()
    assert (table["peak"].isel(time=0).values >= seen.value.max() * (1 - 1e-12)).all()


def test_the_source_s_answer_is_inside_ours(run):
    """It says 2027 to 2035, and 1e14 to 1e15 FLOP/s in FP32; the best device is at 1.6e14 in 2023."""
    when = run["questions"].to_dataset()["ends"].dt.year
    assert int(when.sel(quantile=0.05)) < 2035
    assert int(when.sel(quantile=0.5)) in range(2030, 2040)
    last = run["projection"]["peak"].isel(time=-1).quantile([0.05, 0.5, 0.95], dim="draw").values
    assert last[0] < 1000  # TFLOP/s
    assert 100 < last[1] < 3000


def test_a_larger_limit_comes_sooner_and_leaves_less():
    near, far = (forecast.project("gpu-limit", draws=500, with_={"smallest": nm}) for nm in (2.0, 0.5))
    assert near["questions"]["ends"].sel(quantile=0.5) < far["questions"]["ends"].sel(quantile=0.5)
    left = [float(r["projection"]["peak"].isel(time=-1).median("draw")) for r in (near, far)]
    assert left[0] < left[1]


def test_memory_that_does_not_shrink_takes_more_of_the_device(run):
    table = run["projection"]
    share, density, held = table["memory_area"], table["density"], table["memory_density"]
    assert (np.diff(share, axis=0) >= -1e-12).all()
    whole = table["memory_share"] / held + (1 - table["memory_share"]) / density
    assert np.allclose(share, table["memory_share"] / held / whole, rtol=1e-9)
    assert (table["peak_with_memory"] <= table["peak"] * (1 + 1e-9)).all()
    never = run["questions"].to_dataset()
    assert float(never["beyond_with_memory_never"]) > float(never["beyond_never"])


def test_what_moves_goes_a_distance_whose_square_is_the_area_of_a_unit(run):
    table = run["projection"]
    area = table["area"] / table["units_with_memory"]
    expected = area / area.isel(time=0)
    assert np.allclose(table["movement"], expected.transpose(*table["movement"].dims), rtol=1e-9)
    last = table["movement"].isel(time=-1)
    assert float(last.max()) <= 1
    assert float((last < 1).mean()) > 0.99


def test_memory_that_does_shrink_changes_nothing():
    made = forecast.project("gpu-limit", draws=200, with_={"memory_stops": 0.0})["projection"]
    assert np.allclose(made["peak_with_memory"], made["peak"], rtol=1e-9)
    assert np.allclose(made["memory_area"], made["memory_share"], rtol=1e-9)


def test_the_cost_of_a_fab_grows_as_its_makers_announce():
    """A regression of log cost a plant on time, once more with numpy; the essay's text says 7 to 10 % a year."""
    rows = forecast.tables.to_columns("datasets/fabs")
    keep = rows["origin"] == "announced"
    time = forecast.tables.decimal_year(rows["date"][keep])
    slope = np.polyfit(time, np.log(rows["cost"][keep] / rows["plants"][keep]), 1)[0]
    facts = forecast.model("hardware/fab-cost@exponential").fit().describe().facts
    assert facts["growth_per_year"] == pytest.approx(slope, rel=1e-6)
    assert facts["growth_p05"] < np.log(1.10) < facts["growth_p95"]
