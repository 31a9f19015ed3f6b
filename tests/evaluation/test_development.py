"""How the pool does on series that are not shipped: three groups of them, held to what was asked of it."""

import csv
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import forecast
from forecast.evaluation.rolling import backtest, rivals, summary
from forecast.tables import decimal_year


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


def forecasts_of(name, time, value, frontier, family):
    def series(shape):
        data = {"t": time, "y": value}
        return forecast.trend(data, shape=shape, x="t", y="y", unit="", frontier=frontier, name=family)

    return backtest(rivals(series, ["trends/pool"])[0], name=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("group", "count", "score", "held"),
    [(top500, 3, 0.33, 0.78), (processors, 5, 0.50, 0.78), (technologies, 11, 0.145, 0.78)],
    ids=["top500", "processors", "technologies"],
)
def test_the_pool_scores_as_asked_and_no_worse_than_the_last_value(group, count, score, held, reference_data):
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(forecasts_of, *zip(*group(reference_data), strict=True)))
    rows = {row["model"]: row for row in summary(found)}
    own = rows["trends/pool"]
    assert own["series"] == count
    assert own["weighted-interval"] <= score
    assert own["coverage"] >= held
    assert own["skill_last_value"] > 0
