"""From runs to a budget, each command a process of its own: fit, compare, predict, allocate."""

import numpy as np
import pytest

import forecast
from forecast.tables import csv_format

LAW = "scaling/chinchilla"
TRUTH = {"E": 1.8, "A": 480.0, "alpha": 0.35, "B": 2100.0, "beta": 0.37}


@pytest.fixture
def runs():
    """Runs of two families, whose losses differ in what cannot be learned; sizes are known to 2 %."""
    rng = np.random.default_rng(4)
    n, d = 10 ** rng.uniform(7.5, 10, 120), 10 ** rng.uniform(9, 11.5, 120)
    family = np.where(np.arange(120) % 2, "web", "books")
    loss = (TRUTH["E"] + np.where(family == "web", 0.3, 0.0) + 480 * n**-0.35 + 2100 * d**-0.37) * np.exp(
        0.01 * rng.standard_normal(120)
    )
    return {"params_b": n / 1e9, "tokens": d, "val_loss": loss, "family": family}


@pytest.fixture
def call(said, here, runs):
    csv_format.write_csv(here / "runs.csv", {name: column.tolist() for name, column in runs.items()})

    def run(*words):
        done = said(*words, "--json")
        assert done.code == 0, done.err
        return done.json["result"]

    return run


LETS = ("--let", "N = params_b*1e9", "--let", "D = tokens", "--y", "val_loss")
NAMED = {"let": {"N": "params_b*1e9", "D": "tokens"}, "y": "val_loss"}


def test_fit_then_predict_then_allocate(call, runs, tmp_path):
    one = ("--data", "runs.csv", *LETS, "--where", "family is web")
    found = call("fit", LAW, *one, "--out", "fit.nc")
    web = runs["family"] == "web"
    here = forecast.law(LAW).fit({name: column[web] for name, column in runs.items()}, **NAMED)
    assert {row["name"]: row["value"] for row in found["parameters"]} == pytest.approx(dict(here.values), rel=1e-12)
    points = call("predict", "fit.nc", "N=1e10", "D=2e11")["points"]
    band = forecast.load(tmp_path / "fit.nc").predict(N=1e10, D=2e11)
    assert points[0]["median"] == float(band["median"])
    assert points[0]["observed_lower"] < points[0]["lower"] < points[0]["median"]
    best = call("allocate", "fit.nc", "--compute", "1e22", "--draws", "400")
    assert 6 * best["N"] * best["D"] == pytest.approx(1e22, rel=1e-9)
    for name in ("N", "D", "loss"):
        assert best["interval"][name]["lower"] < best[name] < best["interval"][name]["upper"]
    # the split of the law that made the data lies inside
    law = forecast.law(LAW)
    published = law.published("besiroglu2024")
    ratio = (TRUTH["alpha"] * TRUTH["A"] / (TRUTH["beta"] * TRUTH["B"])) ** (1 / (TRUTH["alpha"] + TRUTH["beta"]))
    n = ratio * (1e22 / 6) ** (TRUTH["beta"] / (TRUTH["alpha"] + TRUTH["beta"]))
    assert best["interval"]["N"]["lower"] < n < best["interval"]["N"]["upper"]
    stated = call("allocate", f"{LAW}@besiroglu2024", "--compute", "1e25")
    assert stated["N"] == pytest.approx(float(published.allocate(compute=1e25)["N"]), rel=1e-12)
    assert stated["interval"] is None
    assert "states no uncertainty" in stated["no_interval"]
