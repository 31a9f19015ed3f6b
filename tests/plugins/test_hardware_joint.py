"""What a device gives at all, per watt and per dollar, by one model of the devices to come."""

import itertools

import numpy as np
import pytest

import forecast
from forecast.errors import FitError
from forecast.streams import Streams
from forecast_hardware.joint import joint_posterior
from forecast_hardware.named import DEVICE_MEASURES
from toolkit import sample as sample_cases

NAMES = ("rate", "per-watt", "per-dollar")
COLUMNS = {"rate": ("peak",), "per-watt": ("peak", "tdp"), "per-dollar": ("peak", "launch_price")}
GROWTH = np.array([0.24, 0.2, 0.2])
COVARIANCE = 0.16 * np.array([[1.0, 0.7, 0.0], [0.7, 1.0, 0.3], [0.0, 0.3, 1.0]])
UNIFORM = (np.arange(2048) + 0.5) / 2048


def model(name):
    return forecast.model(f"hardware/gpu-joint-{name}")


def sample(name, years, *, as_of=None, **inputs):
    """Return what every world says, (time, draw)."""
    inputs = {"posterior": UNIFORM, **inputs}
    inputs = {key: np.broadcast_to(value, (len(years), len(UNIFORM))) for key, value in inputs.items()}
    return model(name).fit(as_of=as_of).sample(years, inputs, Streams(seed=0, node="joint", block=0))


@pytest.fixture(scope="module")
def devices():
    """Dates and measures of the devices whose FP32 rate is verified, in the units of the models; NaN where missing."""
    rows = forecast.tables.to_columns("datasets/accelerators")
    kept = (rows["precision"] == "fp32") & (rows["path"] == "vector") & (rows["sparsity"] == "dense")
    kept &= (rows["peak_status"] == "verified") & (rows["status"] == "verified")
    time = forecast.tables.decimal_year(rows["release_date"])
    kept &= np.isfinite(time)
    found = {name: DEVICE_MEASURES[name][1] * np.divide(*[rows.numeric(each) for each in (*columns, "peak")[:2]])
             for name, columns in COLUMNS.items() if name != "rate"}  # fmt: skip
    found["rate"] = rows.numeric("peak")
    order = np.flatnonzero(kept)[np.argsort(time[kept], kind="stable")]
    return time[order], {name: found[name][order] for name in NAMES}


def simulated(rng, n=80):
    """Return devices that walk, with a market whose prices are dearer and seldom known: 40 % of them are missing."""
    t = np.sort(rng.uniform(2008, 2025, n))
    root = np.linalg.cholesky(COVARIANCE)
    steps = 0.3 * np.sqrt(np.diff(t, prepend=2008))[:, None]
    logs = np.outer(t - 2008, GROWTH) + np.cumsum(steps * (rng.standard_normal((n, 3)) @ root.T), axis=0)
    logs += rng.standard_normal((n, 3)) @ root.T
    offset = np.zeros((n, 3))
    offset[:, 2] = rng.random(n) < 0.45
    logs[:, 2] -= 1.5 * offset[:, 2]
    logs[rng.random(n) < np.where(offset[:, 2] > 0, 0.8, 0.08), 2] = np.nan
    return t, logs, offset


def test_a_device_without_a_price_counts_for_what_it_has(devices):
    time, found = devices
    facts = model("rate").fit().describe().facts
    assert facts["n"] == time.size > 2 * facts["n_per_dollar"] == 2 * np.isfinite(found["per-dollar"]).sum()
    for name in NAMES:
        points = model(name).fit().observed()
        assert points.unit == DEVICE_MEASURES[name][0]
        assert points.value[-1] == pytest.approx(np.nanmax(found[name]))
    assert facts["correlation_rate_per_watt_p05"] > 0.3  # a card that is faster than its day is so per watt too
    assert facts["correlation_rate_per_dollar_p05"] < 0 < facts["correlation_rate_per_dollar_p95"]


def test_complete_devices_have_the_inverse_wishart_posterior_in_whatever_order():
    """The regressions of one measure on those before it are those of one matrix: no measure is the first of it."""
    t, logs, _ = simulated(np.random.default_rng(3))
    kept = np.isfinite(logs).all(axis=1)
    one = joint_posterior(t[kept], logs[kept], draws=20000)
    other = joint_posterior(t[kept], logs[kept][:, ::-1], draws=20000)
    ends = [0.05, 0.5, 0.95]
    growths = [np.quantile(each, ends, axis=0) for each in (one.growth, other.growth[:, ::-1])]
    np.testing.assert_allclose(*growths, atol=0.006)
    for i, j in itertools.combinations(range(3), 2):
        both = [np.quantile(each, ends) for each in (one.correlation()[:, i, j], other.correlation()[:, 2 - i, 2 - j])]
        np.testing.assert_allclose(*both, atol=0.02)


def test_a_best_device_never_falls_and_starts_at_the_last_one():
    years = np.arange(2027.0, 2050.0, 0.5)
    for name in (*NAMES, "rate-fp16", "per-watt-fp16"):
        level, record = sample(name, years), model(name).fit().observed().value[-1]
        assert (np.diff(level, axis=0) >= 0).all()
        assert level[0].min() >= record * (1 - 1e-9)
        assert np.array_equal(level[:9], sample(name, years[:9]))  # a later end changes nothing before it


def test_a_device_within_a_power_and_a_price_is_one_that_the_table_has_or_that_comes(devices):
    time, found = devices
    years = np.array([2016.0, 2021.0, 2025.5, 2035.0])
    level = sample("within", years, power=300.0, budget=1000.0)
    watts, dollars = (1e3 * found["rate"] / found[name] for name in ("per-watt", "per-dollar"))
    fits = (watts <= 300 + 1e-6) & (dollars <= 1000 + 1e-6)
    for at, worlds in zip(years[:3], level[:3], strict=True):
        assert np.unique(worlds) == pytest.approx(found["rate"][fits & (time <= at)].max())
    rate, per_watt, per_dollar = (sample(name, years)[-1] for name in NAMES)
    assert (level[-1] <= np.minimum(rate, np.minimum(0.3 * per_watt, per_dollar)) * (1 + 1e-9)).all()
    assert np.quantile(level[-1], 0.95) > level[2].max()


@pytest.mark.parametrize("as_of", sample_cases([None, 2022.0], 2))
@pytest.mark.parametrize("level", sample_cases(["500 TFLOP/s", "200 TFLOP/s", "2 PFLOP/s"], 3))
def test_one_device_with_all_is_never_likelier_than_any_of_them_alone(as_of, level):
    """Asked by the quantities themselves, at whatever level and date."""
    dates = [2028, 2034, 2045]
    options = {"draws": 256, "dates": dates, "as_of": as_of}
    run = forecast.project("gpu-goal", draws=256, as_of=as_of, with_={"goal": level})
    whole = run["projection"]["within"].values >= run["projection"]["goal"].values
    parts = [
        forecast.ask(f"device-rate-fp32 >= {level}", **options),
        forecast.ask(f"device-rate-per-watt-fp32 * 1 kW >= {level}", **options),
        forecast.ask(f"device-rate-per-dollar-fp32 * 1000 USD >= {level}", **options),
    ]
    years = forecast.tables.decimal_year(run["projection"]["time"].values)
    for date in dates:
        share = whole[np.searchsorted(years, date + 1e-6) - 1].mean()
        assert share <= min(part.probability(by=date + 0.02) for part in parts) + 1e-9, date


def test_it_stands_as_it_would_have_stood_before():
    early = model("per-dollar").fit(as_of=2018.0)
    assert early.observed().time[-1] < 2018
    assert early.describe().facts["n"] < model("per-dollar").fit().describe().facts["n"]
    with pytest.raises(FitError, match="at least 7 devices with measure 3 of 3"):
        model("rate").fit(as_of=2011.0)


@pytest.mark.slow
def test_intervals_hold_what_devices_were_simulated_from():
    """With 40 % of the prices missing, by market: 90 % intervals hold growths and correlations as often as they say."""
    rng = np.random.default_rng(5)
    held, missing = {"growth": [], "correlation": []}, []
    for _ in range(120):
        t, logs, offset = simulated(rng)
        missing.append(np.isnan(logs[:, 2]).mean())
        found = joint_posterior(t, logs, offset, draws=400, seed=int(rng.integers(1e6)))
        low, high = np.quantile(found.growth, [0.05, 0.95], axis=0)
        held["growth"].append((low <= GROWTH) & (high >= GROWTH))
        scale = np.sqrt(np.diag(COVARIANCE))
        for i, j in itertools.combinations(range(3), 2):
            low, high = np.quantile(found.correlation()[:, i, j], [0.05, 0.95])
            held["correlation"].append(low <= COVARIANCE[i, j] / (scale[i] * scale[j]) <= high)
    assert np.mean(missing) == pytest.approx(0.4, abs=0.03)
    assert np.mean(held["growth"], axis=0) == pytest.approx(0.9, abs=0.07)
    assert np.mean(held["correlation"]) == pytest.approx(0.9, abs=0.05)


@pytest.mark.slow
def test_as_of_five_dates_it_forecasts_the_records_no_worse_than_their_extrapolation(devices):
    """One to ten years ahead, to today: 90 % bands hold 80 to 100 %, and the score is below that of `extrapolate`."""
    time, found = devices
    for name in NAMES:
        value = np.nan_to_num(found[name])
        held, scores = [], {"joint": [], "extrapolate": []}
        for cut in (2016.0, 2018.0, 2020.0, 2022.0, 2024.0):
            at = np.array([cut + ahead for ahead in (1, 2, 3, 4, 5, 6, 8, 10) if cut + ahead < 2026.9])
            came = np.array([value[time <= each].max() for each in at])
            known = time < cut
            best = np.maximum.accumulate(value[known])
            rows = np.flatnonzero(np.diff(best, prepend=0) > 0)
            dates = forecast.tables.from_decimal_year(time[known][rows])
            inner, outer = (
                forecast.extrapolate(dates, best[rows], forecast.tables.from_decimal_year(at), level, reduce="max")
                for level in (0.5, 0.9)
            )
            ends = np.array([outer.lower, inner.lower, outer.median, inner.upper, outer.upper])
            said = np.quantile(sample(name, at, as_of=cut), [0.05, 0.25, 0.5, 0.75, 0.95], axis=1)
            held += list((said[0] <= came * (1 + 1e-9)) & (came <= said[4] * (1 + 1e-9)))
            for key, each in (("joint", said), ("extrapolate", np.maximum(ends, best[-1]))):
                error = np.log(came / each)
                loss = [2 * error[i] * (q - (error[i] < 0)) for i, q in enumerate((0.05, 0.25, 0.5, 0.75, 0.95))]
                scores[key] += list(np.mean(loss, axis=0))
        assert len(held) == 27
        assert 0.8 <= np.mean(held) <= 1, name
        assert np.mean(scores["joint"]) <= np.mean(scores["extrapolate"]), name
