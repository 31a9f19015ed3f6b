"""What the references of published models say beside their claims, their variants, and one model's limit in another."""

import csv
import math
import pathlib
import tomllib

import numpy as np
import pytest
from scipy import optimize, sparse

import forecast
import forecast_capability
import forecast_datasets
from forecast.projection.claim_values import read_claim_value

PUBLISHED = pathlib.Path(forecast_capability.__file__).parent / "published"


def read(run, text):
    return read_claim_value(run, text, where="test")


# --- rows of a reference that are no claim ----------------------------------------------------------------------------


def led(since, column="horizon", *, older=None):
    """Fit the trend of METR apart: the models that led, from METR's table, and dates by which it reaches horizons."""
    rows = [r for r in read_dataset("time-horizons") if r["version"] == "TH1.1" and r["release_date"] < "2026-03-06"]
    replaced = {r["model"]: r for r in read_dataset("time-horizons") if r["version"] == older}
    rows = [replaced.get(r["model"], r) if r["release_date"] < "2023" else r for r in rows]
    rows = sorted((r for r in rows if r["release_date"] >= since), key=lambda r: r["release_date"])
    half = np.array([float(r["horizon"]) for r in rows])
    best = half >= np.maximum.accumulate(half)
    day = np.array([r["release_date"] for r in rows], dtype="datetime64[D]").astype(float)[best]
    log = np.log([float(r[column]) for r in rows])[best]
    slope, level = np.polyfit(day - day.mean(), log, 1)
    left = log - level - slope * (day - day.mean())
    dates = day.mean() + (np.log(np.array([8, 40, 167, 2000]) * 60) - level) / slope
    return np.log(2) / slope, 1 - left.var() / log.var(), [str(np.datetime64(int(d), "D")) for d in dates]


def read_dataset(name):
    with (pathlib.Path(forecast_datasets.__file__).parent / name / f"{name}.csv").open() as lines:
        return list(csv.DictReader(lines))


def test_why_the_figures_since_2019_disagree():
    """With the rows of 2019-2022 of METR's first file beside the others of the present one, the method gives them."""
    days, r2, dates = led("2019", older="TH1.1-first")
    assert days == pytest.approx(184.726, abs=5e-4)
    assert r2 == pytest.approx(0.9409, abs=5e-5)
    assert dates == ["2026-08-19", "2027-10-22", "2028-11-06", "2030-08-30"]
    days, r2, _ = led("2019", "horizon_80", older="TH1.1-first")
    assert days == pytest.approx(187.463, abs=5e-4)
    assert r2 == pytest.approx(0.941, abs=1e-3)
    own = forecast.model("capability/horizon-2019").fit().describe().facts
    assert own["n"] == 17
    assert own["doubling_days"] == pytest.approx(led("2019")[0], rel=1e-9)  # the present file alone


def test_without_the_models_of_2026_02():
    no_error = {"window": "2023", "doubling.error": "0", "horizon.error": "0"}
    run = forecast.project("capability/metr-2025", draws=1, with_=no_error, as_of=2026.0)
    facts = forecast.model("capability/horizon-2023").fit(as_of=2026.0).describe().facts
    assert facts["r2"] == pytest.approx(0.9292, abs=5e-5)
    stated = {"day": "2026-03-29", "week": "2027-02-03", "month": "2027-11-07", "year": "2029-03-01"}
    for question, day in stated.items():
        found = run["questions"][f"{question}_date"].values.ravel()[0]
        assert abs(found - np.datetime64(day)) <= np.timedelta64(1, "D")


def test_the_last_piece_of_a_trend_is_a_window():
    facts = forecast.model("capability/horizon-2024-05").fit().describe().facts
    assert facts["n"] == 12
    assert facts["doubling_days"] == pytest.approx(led("2024-05-13")[0], rel=1e-9)
    straight = {"window": "2024-05", "doubling.error": "0", "fitted.error": "0", "factor": "1", "off": "1"}
    run = forecast.project("capability/metr-2025-piecewise", draws=1, with_=straight)
    own = np.datetime64(led("2024-05-13")[2][2])
    assert abs(run["questions"]["month_date"].values.ravel()[0] - own) <= np.timedelta64(1, "D")


def test_a_bent_trend_is_the_regression_on_days_that_count_double():
    rows = [
        r
        for r in read_dataset("time-horizons")
        if r["version"] == "TH1.1" and "2023" <= r["release_date"] < "2026-03-06"
    ]
    rows.sort(key=lambda r: r["release_date"])
    log = np.log2([float(r["horizon"]) for r in rows])
    day = np.array([r["release_date"] for r in rows], dtype="datetime64[D]").astype(float)
    best = log >= np.maximum.accumulate(log)
    bent = 2 ** ((day[best] - day[best][0]) / 365)
    slope, level = np.polyfit(bent, log[best], 1)  # a + K 2^(d/H): a doubling takes H/(K ln2 2^(d/H)) days
    at_last = 365 / (slope * np.log(2) * bent[-1])
    facts = forecast.model("capability/horizon-bent-2023").fit().describe().facts
    assert facts["doubling_days"] == pytest.approx(at_last, rel=1e-9)
    exact = {"window": "2023", "doubling.error": "0", "fitted.error": "0"}
    run = forecast.project("capability/metr-2025-superexponential", draws=1, with_={**exact, "factor": "1", "off": "1"})
    shown, t = run["projection"]["horizon"], 2026.5
    expected = 2 ** (level + slope * bent[-1] * 2 ** ((t - 2026.0959) * 365.25 / 365))  # before the floor of 30 days
    assert float(shown.sel(time="2026-07-02", method="nearest").values.ravel()[0]) == pytest.approx(expected, rel=0.02)


def test_the_lines_of_the_gpu_pack_are_those_of_its_source(reference_data):
    rows = list(csv.DictReader((reference_data / "hardware" / "hobbhahn_gpu_trends_factors.csv").open()))
    assert len(rows) == 1948
    second, cores, count, size, rate = (
        np.array([float(row[c] or "nan") for row in rows])
        for c in ("timestamp", "num_cores", "transistors_in_millions", "process_size_in_nm", "FP32_flops")
    )
    fitted = 10.084357 - 0.41175061 * np.log10(size) + 0.91987187 * np.log10(cores)
    assert 1 - np.var(np.log10(rate) - fitted) / np.var(np.log10(rate)) == pytest.approx(0.95031, abs=1e-5)
    known = np.isfinite(second) & np.isfinite(count)
    assert known.sum() == 1729
    np.testing.assert_allclose(
        np.polyfit(second[known] / 1e9, np.log10(count[known]), 1), [3.56208359, -1.7054015], atol=1e-6
    )
    dated = np.isfinite(second)
    x, y = second[dated] / 1e9, np.log10(cores[dated])
    stated = {0.8: (-1.636266559, 3.366322195), 0.85: (-1.047729927, 3.025249262),
              0.9: (-0.7293906414, 2.874640101), 0.95: (-0.1670172016, 2.553205065)}  # fmt: skip
    for level, line in stated.items():
        assert quantile_line(x, y, level) == pytest.approx(line, abs=1e-6)
    assert quantile_line(x, np.log10(size[dated]), 0.05) == pytest.approx((4.545, -2.344), abs=1e-3)  # not the source's


def quantile_line(x, y, level):
    ones, n = sparse.eye(len(x)), len(x)
    table = sparse.hstack([sparse.csr_matrix(np.column_stack([np.ones(n), x])), ones, -ones])
    costs = np.concatenate([[0, 0], np.full(n, level), np.full(n, 1 - level)])
    bounds = [(None, None)] * 2 + [(0, None)] * (2 * n)
    return tuple(optimize.linprog(costs, A_eq=table, b_eq=y, bounds=bounds, method="highs").x[:2])


def test_the_reconstruction_of_cotra_lies_near_her_table():
    with (PUBLISHED / "cotra-2020.toml").open("rb") as file:
        table = {int(year): share for year, share in tomllib.load(file)["quantities"]["arrived"]["schedule"]}
    run = forecast.project("capability/cotra-2020-reconstructed", draws=8192)
    off = np.array([100 * read(run, f"tai by {year}") - share for year, share in table.items()])
    assert len(off) == 77
    # over seeds and 8,192 to 65,536 worlds: 0.80 to 0.99, and 2.7 to 3.6
    assert np.sqrt((off**2).mean()) == pytest.approx(0.9, abs=0.15)
    assert np.abs(off).max() == pytest.approx(3.2, abs=0.6)
    assert read(forecast.project("capability/cotra-2020"), "tai p90") == np.inf  # >2100


# --- AI 2027, its update of May 2025 ----------------------------------------------------------------------------------


def by_days(goal, doubling, extra, bends_at, decay, share, now, then, delay):
    """Walk the update day by day in one world."""
    start = 15 / 10020
    n, even = math.log2(goal / start), math.log2(min(goal, bends_at) / start)
    base = doubling * (even + (1 - (1 - decay) ** (n - even)) / decay) + extra
    t, progress, labour, stock, first = 2025.3333 - delay / 12, 0.0, 1000.0, 50.0, None
    while progress < base:
        v = (1 + now) * ((1 + then) / (1 + now)) ** (progress / base)
        hiring = next(r for since, r in ((2031, 0.1), (2030, 0.15), (2029, 0.2), (2028, 0.4), (0, 0.5)) if t >= since)
        compute = next(r for since, r in ((2031, 0.3), (2030, 0.4), (2029, 0.5), (2028, 0.9), (0, 1)) if t >= since)
        labour *= (1 + hiring) ** (1 / 250)
        gained = ((labour + 1) ** 0.3 - 1) * v / 250
        growth = math.log(1 + gained / stock)
        first, stock = first or growth, stock + gained
        progress += (share * growth / first + (1 - share) * compute) / 30.5
        t += 1 / 366
    return base, t


@pytest.mark.parametrize(
    ("kind", "bends_at", "goal", "share"),
    [("month", 1, 120, 0.55), ("decade", 120, 12000, 0.2), ("exponential", 1e300, 1200, 0.85)],
)
def test_the_update_of_ai_2027_is_its_walk_by_days(kind, bends_at, goal, share):
    base, date = by_days(goal, 4.7, 4, bends_at, 0.095, share, 0.095, 7.75, 1.22)
    drawn = {"goal": goal, "T": 4.7, "extra": 4, "drawn_decay": 0.095, "drawn_share": share}
    drawn |= {"faster_now": 0.095, "faster_then": 7.75, "delay": 1.22}
    given = {"kind": kind, **{name: str(value) for name, value in drawn.items()}}
    run = forecast.project("capability/ai-2027-c", draws=1, with_=given, until=2050)
    assert read(run, "base p50") == pytest.approx(base, rel=1e-9)
    assert read(run, "coder p50") == pytest.approx(date, abs=0.06)  # steps of half a month


def test_a_superexponential_reaches_any_horizon_in_a_bounded_time():
    """The criticism of titotal 2025: T/0.1 months are enough for a horizon of any length."""
    run = forecast.project("capability/ai-2027-a", draws=64, with_={"kind": "super", "goal": "1e15", "extra": "0"})
    shown = run["projection"]
    np.testing.assert_allclose(shown["base"].values, shown["infinite"].values, rtol=0.01)
    assert (shown["base"].values < shown["infinite"].values).all()
    straight = forecast.project(
        "capability/ai-2027-a", draws=64, with_={"kind": "exponential", "goal": "1e15", "extra": "0"}
    )
    assert (straight["projection"]["base"].values > 5 * shown["infinite"].values).all()


# --- one model's limit in another -------------------------------------------------------------------------------------


def test_the_four_limits_of_epoch_bound_the_run_of_the_direct_approach():
    limits = {f"by_{name}": {"model": f"capability/epoch-{name}"} for name in ("chips", "data", "latency")}
    own = {"extends": "capability/direct-approach", "until": 2040, "show": ["physical"]}
    bound = {
        **limits,
        "by_power": {"model": "capability/epoch-power-distributed"},
        "bound": {"expression": "min(by_power, by_chips, by_data, by_latency)"},
        "physical": {"expression": "10**(log10(spend) + per_dollar)*one_flop", "limit": "bound"},
    }
    free = forecast.project(own, draws=1024)
    held = forecast.project({**own, "show": ["physical", "bound"], "quantities": bound}, draws=1024)
    run, bound = held["projection"]["physical"].values, held["projection"]["bound"].values
    np.testing.assert_allclose(run, np.minimum(free["projection"]["physical"].values, bound), rtol=1e-9)
    assert read(held, "tai by 2040.01") < read(free, "tai by 2040.01") - 0.01
    assert read(held, "tai by 2025.01") == pytest.approx(read(free, "tai by 2025.01"), abs=0.005)


def test_the_plateau_of_the_gpu_pack_ends_the_price_path_of_cotra():
    card = read(forecast.project("capability/gpu-limits", draws=1024), "rate p50 2021")
    process = "(4.35932948 - log10(L/one_nm))/2.190814934e-9"
    plateau = f"10.084357 - 0.41175061*log10(L/one_nm) + 0.91987187*(3.56208359e-9*{process} - 1.7054015 - log10(R))"
    changed = {
        "L": {"model": "capability/gpu-smallest-process"},
        "R": {"model": "capability/gpu-transistors-per-core"},
        "one_nm": {"value": 1, "unit": "nm"},
        "plateau": {"expression": plateau},
        "per_dollar": {"expression": f"17 + min(log10(2)*(t - 2020)/2.5, plateau - {card})"},
    }
    pack = {"extends": "capability/cotra-2020-reconstructed", "show": ["physical", "per_dollar", "plateau"]}
    own = forecast.project("capability/cotra-2020-reconstructed", draws=1024)
    ends = forecast.project({**pack, "quantities": changed}, draws=1024)
    assert read(ends, "plateau p50") == pytest.approx(14.41, abs=0.02)  # what the GPU pack prints
    assert read(ends, "per_dollar p50 2100") == pytest.approx(17 + read(ends, "plateau p50") - card, abs=1e-9)
    assert read(ends, "tai by 2050") < read(own, "tai by 2050") - 0.1
