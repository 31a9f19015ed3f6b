"""Who takes up what is there, what data for robots cost, and how far open models are behind."""

import numpy as np
import pytest

import forecast
from forecast.tables import decimal_year, descriptor_of, editions, to_columns
from forecast.tables.schema import descriptor

EDITIONS = "datasets/capability-editions"


def drawn(name, **inputs):
    full = f"resources/{name}"
    scenario = {"start": 2025, "until": 2026, "quantities": {"x": {"model": full}}}
    run = forecast.project(scenario, draws=512, with_={f"{full}.{key}": value for key, value in inputs.items()})
    return run["projection"]["x"].isel(time=0).values


def test_adoption_is_what_was_counted_and_then_logistic():
    assert drawn("adoption", years=0.0) == pytest.approx(0.39)
    assert drawn("adoption", share=0.1, span=10.0, years=10.0) == pytest.approx(0.9)
    assert drawn("adoption", share=0.1, span=10.0, years=5.0) == pytest.approx(0.5)
    share = drawn("adoption")
    assert share.min() > 0.39
    assert share.max() <= 1


def test_growth_of_use_is_the_derivative_of_adoption():
    step = 1e-4
    low, high = (drawn("adoption", years=5.0 + side, span=12.0) for side in (-step, step))
    assert drawn("adoption-growth", span=12.0) == pytest.approx(np.log(high / low) / (2 * step), rel=1e-5)


def test_the_lag_is_read_off_two_parallel_lines():
    """The regression once more with numpy, on the records as a reader would pick them."""
    rows = to_columns(EDITIONS)
    time, index = [], []
    for kind in ("closed", "open"):
        keep = (rows["edition"] == "2026-08") & (rows["weights"] == kind) & ~np.isnan(rows["eci"])
        t, y = decimal_year(rows["release_date"][keep]), rows["eci"][keep]
        order = np.lexsort((y, t))
        best = np.maximum.accumulate(y[order])
        kept = np.concatenate([[True], np.diff(best) > 0])
        kept[-1] = True  # that the record still stands is known too
        kept &= np.append(t[order][1:] != t[order][:-1], True)  # of one day the best
        time.append(t[order][kept])
        index.append(best[kept])
    is_open = np.repeat([0.0, 1.0], [len(part) for part in time])
    x = np.column_stack([np.ones(len(is_open)), np.concatenate(time) - 2024, is_open])
    _, slope, apart = np.linalg.lstsq(x, np.concatenate(index), rcond=None)[0]
    facts = forecast.model("resources/open-lag").fit().describe().facts
    assert facts["n"] == len(is_open)
    assert facts["value"] == pytest.approx(-apart / slope, rel=1e-9)
    assert facts["points"] == pytest.approx(-apart, rel=1e-9)


def test_the_draws_of_the_lag_have_the_interval_that_is_said():
    facts = forecast.model("resources/open-lag").fit().describe().facts
    low, high = np.quantile(drawn("open-lag"), [0.05, 0.95])
    assert low == pytest.approx(facts["p05"], abs=0.02)
    assert high == pytest.approx(facts["p95"], abs=0.02)
    assert 3.5 / 12 < facts["value"] < 1  # Epoch AI has 3.5 months, and counts what is not significantly behind as even


def made_up(path, seed):
    """Write an edition in which twelve points come a year, and open models are nine months behind."""
    package = descriptor.read_descriptor(descriptor_of(EDITIONS))
    names = [field.name for field in package.resources[0].fields]
    noise = np.random.default_rng(seed).normal(0, 0.2, (30, 2))
    lines = [",".join(names)]
    for month in range(30):
        for place, (kind, lag) in enumerate((("closed", 0.0), ("open", 0.75))):
            row = dict.fromkeys(names, "") | {
                "edition": "2026-08", "model": f"{kind}-{month}", "name": "m", "organisation": "us", "weights": kind,
                "release_date": f"{2023 + month // 12}-{month % 12 + 1:02d}-01", "record": "no", "status": "verified",
                "eci": f"{110 + 12 * (month / 12 - lag) + noise[month, place]:.4f}", "source": "us",
            }  # fmt: skip
            lines.append(",".join(row[name] for name in names))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return editions.try_file(package, str(path), where="test")


def test_a_known_lag_is_found_as_often_as_is_said(tmp_path):
    held = 0
    for seed in range(20):
        with editions.use_editions({descriptor_of(EDITIONS): made_up(tmp_path / f"{seed}.csv", seed)}):
            facts = forecast.model("resources/open-lag").fit().describe().facts
        assert facts["value"] == pytest.approx(0.75, abs=0.05)
        held += facts["p05"] < 0.75 < facts["p95"]
    assert held >= 14
