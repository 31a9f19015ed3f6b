"""The laws on tables: published growth rates within their intervals, and progress split into compute and time."""

import numpy as np
import pytest
import xarray as xr

import forecast
from forecast.errors import DataError
from forecast.report.headline import opening_sentence
from forecast.streams import DRAWS_PER_BLOCK, Streams


def _edition():
    """Return the one edition of the index that the models are fitted to."""
    rows = forecast.tables.to_columns("datasets/capability-editions", where="test")
    return rows.take(rows.column("edition") == "2026-08")


def facts(name, **how):
    return forecast.model(f"resources/{name}").fit(**how).describe().facts


def test_the_published_rates_are_claims():
    from forecast.claim_verdicts import evaluate
    from forecast.contract.registry import get_registry

    specs = {r.spec.name: r.spec for r in get_registry().records("claim") if r.plugin.name == "resources"}
    asked = ("training-compute-growth", "metr-th1-1", "metr-th1-1-all", "metr-th1-0")
    found = {name: evaluate(specs[name]) for name in asked}
    assert {name: claim["verdict"] for name, claim in found.items()} == {
        "training-compute-growth": "agrees", "metr-th1-1": "agrees", "metr-th1-1-all": "agrees",
        "metr-th1-0": "compatible",
    }  # fmt: skip
    assert 171 < found["metr-th1-0"]["computed"] < 249
    assert "on the eleven of the source it is 213.0" in found["metr-th1-0"]["note"]


def test_the_frontier_of_training_compute_starts_at_the_largest_run():
    """The mean of notable models said 1.2e24 FLOP where Grok 3 had taken 4.6e26."""
    fitted = forecast.model("capability/training-compute").fit()
    runs = forecast.tables.to_columns("datasets/training-runs-2026")
    assert fitted.observed().value[-1] == np.nanmax(runs.numeric("training_compute")) == 1e27
    level = fitted.sample(np.array([2026.75]), {}, Streams(0, "capability/training-compute", 0))
    assert level.min() >= 1e27
    assert np.median(level) < 1.5e27
    exponential = forecast.model("capability/training-compute@exponential").fit()
    assert exponential.describe().facts["n"] == fitted.observed().value.size


@pytest.fixture(scope="module")
def models():
    """Log compute, years and index of the models of one edition that have all three, each less its mean."""
    rows = forecast.tables.to_columns("datasets/capability-editions", where="test")
    compute, eci = rows.numeric("training_compute"), rows.numeric("eci")
    known = np.isfinite(compute) & np.isfinite(eci) & (rows.column("edition") == "2026-08")
    t = forecast.tables.decimal_year(rows.column("release_date")[known])
    return tuple(v - v.mean() for v in (np.log(compute[known]), t, eci[known]))


def test_progress_lies_between_the_regressions_both_ways(models):
    c, t, y = models
    (b, g), *_ = np.linalg.lstsq(np.stack([c, t], axis=1), y, rcond=None)
    (of_index, of_time), *_ = np.linalg.lstsq(np.stack([y, t], axis=1), c, rcond=None)
    for name, forward, reverse in (
        ("progress-per-compute", b, 1 / of_index), ("progress-per-year", g, -of_time / of_index),
    ):  # fmt: skip
        found = facts(name)
        assert (found["forward"], found["reverse"]) == pytest.approx((forward, reverse), rel=1e-9)
        assert found["n"] == len(c)
    # what a year is worth in compute: no number, and a range in which Ho et al. (2.6 to 3 a year) lie
    said = forecast.model("resources/progress-per-year").fit().describe().summary
    assert np.exp(-of_time) < 2.6 < 3 < np.exp(g / b)
    assert f"a factor of {np.exp(g / b):.3g} to {np.exp(-of_time):.3g} in compute" in said
    assert "the points do not say" in said


def test_the_two_halves_of_progress_are_drawn_jointly(models):
    c, t, y = models
    slope = forecast.model("resources/progress-per-compute").fit()
    rate = forecast.model("resources/progress-per-year").fit()
    time, b, g = np.array([2025.0]), [], []
    for block in range(20):
        streams = Streams(0, "resources/progress-per-compute", block)
        place = np.random.default_rng(block).uniform(size=(1, streams.draws))
        b.append(slope.sample(time, {"place": place}, streams))
        g.append(rate.sample(time, {"slope": b[-1]}, Streams(0, "resources/progress-per-year", block)))
    b, g = (np.concatenate([x[0] for x in found]) for found in (b, g))
    ends = facts("progress-per-compute")
    assert np.median(1 / b) == pytest.approx((1 / ends["forward"] + 1 / ends["reverse"]) / 2, rel=0.02)
    assert (b > 0).all()
    on_time = (t @ y - b * (t @ c)) / (t @ t)  # what a year brings where a factor e of compute brings b
    assert np.corrcoef(b, g)[0, 1] < -0.8
    assert np.median(g - on_time) == pytest.approx(0, abs=0.03)


def test_too_few_models_with_compute_are_refused():
    with pytest.raises(DataError, match="progress-per-compute: expected ten models with compute and index, got"):
        forecast.model("resources/progress-per-compute").fit(as_of=2023.2)


def test_a_floor_under_the_horizon_is_fitted_as_by_scipy_and_lies_nearer_than_a_power_alone():
    from scipy.optimize import curve_fit

    rows = forecast.tables.to_columns("datasets/time-horizons", where="test")
    compute, horizon = rows.numeric("training_compute") / 1e25, rows.numeric("horizon")
    known = np.isfinite(compute) & np.isfinite(horizon) & (rows.column("version") == "TH1.1")
    fit = forecast.model("resources/horizon-floor").fit().fit
    assert fit.converged
    found, _ = curve_fit(
        lambda x, bottom, b, c: np.log(np.exp(bottom) + np.exp(b) * x**c),
        compute[known], np.log(horizon[known]), p0=[-2.0, -1.0, 2.0],
    )  # fmt: skip
    assert list(fit.values.values()) == pytest.approx([*np.exp(found[:2]), found[2]], rel=1e-3)
    assert 0 < fit.interval("bottom")[0] < fit.interval("bottom")[1] < 1  # some seconds, and not 0
    power = forecast.model("resources/horizon-from-compute").fit().fit
    assert (fit.n, power.n) == (9, 9)
    assert fit.objective < 0.5 * power.objective  # both of log horizon


def test_the_capability_index_shows_no_floor():
    """Its exponent runs to 0, where the law is the log-linear one: nothing tells floor and factor apart."""
    rows = _edition()
    compute, eci = rows.numeric("training_compute") / 1e24, rows.numeric("eci")
    known = np.isfinite(compute) & np.isfinite(eci)
    fit = forecast.law("resources/power-floor").fit({"x": compute[known], "y": eci[known]})
    assert "not identified: b, c" in str(fit.verdict)
    assert fit.objective > 0.999 * forecast.model("resources/capability-from-compute").fit().fit.objective


@pytest.mark.parametrize(("name", "law", "top"), [
    ("capability-sigmoid", lambda x, low, high, middle, k: low + (high - low) / (1 + (x / middle) ** -k), "high"),
    ("capability-ceiling", lambda x, top, b, c: top - b * x**-c, "top"),
])  # fmt: skip
def test_laws_with_a_ceiling_are_fitted_as_by_scipy_and_lie_nearer_than_the_line(name, law, top):
    from scipy.optimize import curve_fit

    rows = _edition()
    compute, eci = rows.numeric("training_compute") / 1e24, rows.numeric("eci")
    known = np.isfinite(compute) & np.isfinite(eci)
    fit = forecast.model(f"resources/{name}").fit().fit
    assert fit.converged
    found, _ = curve_fit(law, compute[known], eci[known], p0=list(fit.values.values()), maxfev=20000)
    assert list(fit.values.values()) == pytest.approx(found, rel=1e-3)
    assert fit.values[top] > eci[known].max() - 15
    assert fit.objective < forecast.model("resources/capability-from-compute").fit().fit.objective


def test_compute_that_brings_nothing_is_named():
    asked = {"by_compute": 0, "compute": "as-needed"}
    with pytest.raises(DataError, match=r"compute-growth-as-needed: by_compute is 0: .* no growth of it is enough"):
        forecast.project("scaling-ends", draws=DRAWS_PER_BLOCK, with_=asked)


def test_growth_below_zero_gives_no_more_than_there_was():
    """Growth below 0 once gave more before the start than at it: `--set wanted=-20` had 88 % *already*."""
    asked = forecast.project("scaling-ends", draws=DRAWS_PER_BLOCK, with_={"wanted": -20, "compute": "as-needed"})
    assert float(asked["questions"]["ends_already"].max()) < 0.05
    run = asked["projection"]["run"]
    np.testing.assert_allclose(run, run.isel(time=0).broadcast_like(run).transpose(*run.dims), rtol=1e-12)


# --- the scenario -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run():
    return forecast.project("scaling-ends", draws=2 * DRAWS_PER_BLOCK, seed=0)


def test_growth_of_compute_is_what_progress_needs(run):
    q = run["projection"].to_dataset().isel(time=0)
    needed = (q.wanted - q.without_compute) / q.by_compute
    np.testing.assert_allclose(q.compute_growth.sel(compute="as-needed"), needed)
    np.testing.assert_allclose(q.progress.sel(compute="as-needed"), q.wanted)


def highest(level):
    """Return the highest so far: what was built is there, and output may shrink."""
    return xr.apply_ufunc(np.maximum.accumulate, level, kwargs={"axis": level.get_axis_num("time")})


def test_chips_power_money_and_data_are_of_one_run_in_every_world(run):
    """They were four rates that compounded by themselves: 125 GW in 2030, and 1e32 dollars in 2060."""
    q = run["projection"].to_dataset()
    seconds, watts = q.duration * 86400, q.power * 1e9
    by_chips = q.h100s * 989.5e12 * q.precision * q.utilisation * seconds
    by_power = watts * 1e9 * q.per_watt * q.precision * q.utilisation * seconds
    for made in (by_chips, by_power, q.spending * q.flop_per_usd, 6 * q.tokens_used**2 / q.ratio):
        np.testing.assert_allclose((made / q.run).values, 1, rtol=1e-9)
    assert (q.run <= np.maximum(highest(q.allowed), q.largest_now) * (1 + 1e-12)).all()
    assert (q.run.isel(time=0) <= q.run * (1 + 1e-12)).all()
    for used, most in (("spending", "budget"), ("power", "power_limit"), ("tokens_used", "tokens")):
        # a limit holds wherever what was done before it does not lie above
        above = (q.run > q.largest_now * (1 + 1e-9)) & (q[used] > highest(q[most]) * (1 + 1e-9))
        assert not above.any(), used


def test_what_stops_improving_stands_still(run):
    q = run["projection"].to_dataset().sel(hardware="ends")
    for name in ("flop_per_usd", "per_watt", "precision"):
        np.testing.assert_allclose(q[name], q[name].isel(time=0).broadcast_like(q[name]).transpose(*q[name].dims))
    assert (q.price_growth == 0).all()
    np.testing.assert_allclose(q.progress_left, q.without_compute.broadcast_like(q.progress_left))


def test_compute_compounds_from_the_largest_run(run):
    q = run["projection"].to_dataset().sel(hardware="continues", compute="as-needed")
    record = forecast.model("capability/training-compute").fit().observed().value.max()
    assert float(q.largest_now.min()) >= record * (1 - 1e-9)
    when = forecast.tables.decimal_year(q.time.values)
    expected = q.largest_now * np.exp(q.compute_growth * (when[-1] - when[0]))
    np.testing.assert_allclose(q.run_wanted.isel(time=-1), expected.isel(time=-1), rtol=1e-9)


def test_the_power_of_the_run_of_2030_is_what_others_expect():
    """Epoch AI and EPRI (2025) say 4 to 16 GW; growth as measured, held to what is there and paid, reaches it."""
    run = forecast.project("scaling-ends", with_={"compute": "as-measured"}, until=2031.75)
    power = run["projection"]["power"].sel(hardware="continues").squeeze()
    when = forecast.tables.decimal_year(power["time"].values)
    around = power.isel(time=int(np.argmin(abs(when - 2030.75))))
    low, middle, high = (float(v) for v in around.quantile([0.05, 0.5, 0.95]))
    assert 1.5 < middle < 16
    assert low < 4
    assert 4 < high < 100


def test_the_first_ceiling_binds_no_later_than_any(run):
    asked = run["questions"].to_dataset()
    one = {"hardware": "continues", "compute": "as-needed"}
    first = asked["ends_date"].sel(one)
    for name in ("dollars", "gigawatts", "chip_supply"):
        other = asked[f"{name}_date"].sel(one)
        both = ~(np.isnat(first) | np.isnat(other))
        # two dates within one step are read off lines of the logarithm of different ratios
        assert (first.values[both] <= other.values[both] + np.timedelta64(2, "D")).all()
    never = asked["ends_never"].sel(compute="as-needed")
    assert float(never.sel(hardware="ends")) <= float(never.sel(hardware="continues"))


def test_the_measured_growth_of_compute_stands_beside_the_one_asked_for(run):
    """Progress "as it has been" needs x2 to x3 of compute a year; the largest runs grew by x5.3: both are shown."""
    growth = run["projection"]["compute_growth"].isel(time=0)
    asked, measured = (np.exp(growth.sel(compute=name).median().item()) for name in ("as-needed", "as-measured"))
    assert 2 < asked < 3.1
    assert measured == pytest.approx(5.3, abs=0.3)
    low, high = growth.sel(compute="as-measured").quantile([0.05, 0.95])
    facts = forecast.model("capability/training-compute@exponential").fit().describe().facts
    assert [float(low), float(high)] == pytest.approx([facts["growth_p05"], facts["growth_p95"]], abs=0.02)
    middle = run["questions"]["ends"].sel(quantile=0.5)
    apart = middle.sel(compute="as-needed") - middle.sel(compute="as-measured")
    assert (apart.values > np.timedelta64(180, "D")).all()
    more = run["projection"]["progress"].isel(time=0).median("draw")
    assert float(more.sel(compute="as-measured")) > float(more.sel(compute="as-needed"))


def test_one_or_two_more_years_is_answered_with_a_probability_and_what_drives_it(run):
    from forecast.report import result_data

    rows = [r for r in result_data.date_rows(run) if r["name"] == "ends"]
    for row in rows:
        assert [d["date"] for d in row["dates"]] == ["2026-12-10", "2027-12-10"]
        one, two = (d["probability"] for d in row["dates"])
        assert 0 <= one <= two <= 1
        reached = run["questions"].to_dataset()["ends_date"].sel(row["choices"]).values
        assert two == np.mean(reached <= np.datetime64("2027-12-10"))
    moved = next(d["drivers"] for d in result_data.driver_rows(run) if d["name"] == "ends")
    assert moved[0]["share"] > 0.1
    assert opening_sentence(run).startswith(
        "If training compute grows as progress asks, money, power, chips or data run short by"
    )


def test_the_frontier_counts_models_and_not_the_date_at_which_the_last_record_stands():
    rows = _edition()
    score, date = rows.numeric("eci"), rows.column("release_date")
    known = np.isfinite(score)
    of_each = [score[known & (date == day)].max() for day in np.unique(date[known])]  # of one date the best counts
    assert facts("frontier-progress")["n"] == len(np.unique(np.maximum.accumulate(of_each)))
