from math import log

import numpy as np
import pytest

import forecast

NAMES = ("power", "saturating-power", "chinchilla")


@pytest.mark.parametrize("name", NAMES)
def test_known_parameters_are_recovered_from_noisy_points(name):
    law = forecast.law(f"scaling/{name}")
    truth = {
        "power": {"beta": 5.0, "c": 0.3},
        "saturating-power": {"E": 1.7, "beta": 8.0, "c": 0.35},
        "chinchilla": {"E": 1.8, "A": 480.0, "alpha": 0.35, "B": 2100.0, "beta": 0.37},
    }[name]
    rng = np.random.default_rng(2)
    ranges = {"x": (1, 5), "N": (7.5, 10), "D": (9, 11.5)}
    data = {v: 10 ** rng.uniform(*ranges[v], 200) for v in law.variables}
    data[law.output] = law.value(truth, **data) * np.exp(0.01 * rng.standard_normal(200))
    fit = law.fit(data)
    assert fit.converged
    for parameter, value in truth.items():
        low, high = fit.interval(parameter, 0.999)
        assert low < value < high


def test_the_formulas_are_those_of_the_literature():
    assert forecast.law("scaling/power").expression == "beta*x**-c"
    assert forecast.law("scaling/saturating-power").expression == "E + beta*x**-c"
    chinchilla = forecast.law("scaling/chinchilla")
    assert float(chinchilla.value({"E": 1.0, "A": 8.0, "alpha": 0.5, "B": 27.0, "beta": 1.0}, N=4.0, D=9.0)) == 8.0
    assert dict(chinchilla.variables) == {"N": "param", "D": "token"}
    assert chinchilla.unit == "nat/token"


def test_hoffmann_a3_is_unrounded():
    values = forecast.law("scaling/chinchilla").published("hoffmann2022-a3").values
    assert log(values["A"]) == pytest.approx(6.0073404, rel=1e-12)
    assert log(values["B"]) == pytest.approx(6.0179186, rel=1e-12)
    assert log(values["E"]) == pytest.approx(0.5267228, rel=1e-12)
    printed = forecast.law("scaling/chinchilla").published("hoffmann2022").values
    assert round(values["E"], 2) == printed["E"]
    assert round(values["A"], 1) == printed["A"]
    assert round(values["alpha"], 2) == printed["alpha"]
    assert round(values["B"], 1) == printed["B"]
    assert round(values["beta"], 2) == printed["beta"]


def test_the_exponent_of_the_compute_optimal_size():
    # a = beta/(alpha + beta): .513 is what the source derives from its maximum-likelihood variant
    fit = forecast.law("scaling/chinchilla").published("besiroglu2024-mle")
    low, high = (float(fit.allocate(compute=c)["N"]) for c in (1e22, 1e24))
    assert log(high / low) / log(100) == pytest.approx(0.513, abs=5e-4)


def test_only_printed_figures_are_marked_rounded():
    published = {p.name: p.rounded for p in forecast.law("scaling/chinchilla").published_fits}
    assert published == {
        "besiroglu2024": False, "besiroglu2024-mle": True, "hoffmann2022": True, "hoffmann2022-a3": False,
    }  # fmt: skip
