"""Approach 2: parabolas in log N, their optima, and how far they miss."""

import numpy as np
import pytest

import forecast
from forecast.errors import DataError, FitError, UnknownNameError, UsageError
from forecast.planning.isoflop import isoflop


def grid(budgets=(1e18, 1e19, 1e20), sizes=(0.25, 0.5, 1.0, 2.0, 4.0), exponent=0.5, offset=1.0):
    c, s = np.meshgrid(budgets, sizes, indexing="ij")
    n = s * c**exponent * offset
    return {"N": n.ravel(), "C": c.ravel(), "loss": (2 + np.log(n / c**exponent) ** 2).ravel()}


def test_exact_parabolas_are_found_exactly():
    found = isoflop(grid(exponent=0.46))
    assert float(found["exponent"]) == pytest.approx(0.46, rel=1e-9)
    np.testing.assert_allclose(found["optimum"], found["budget"] ** 0.46, rtol=1e-9)
    np.testing.assert_allclose(found["lowest"], 2.0, rtol=1e-9)
    assert found["points"].values.tolist() == [5, 5, 5]
    assert "not the law's shape" in found.attrs["warnings"]


def test_noise_gives_errors_and_an_interval():
    data = grid(budgets=np.geomspace(1e18, 1e21, 6))
    data["loss"] = data["loss"] + 0.05 * np.random.default_rng(0).standard_normal(data["loss"].size)
    found = isoflop(data)
    assert float(found["exponent_lower"]) < 0.5 < float(found["exponent_upper"])
    assert (found["optimum_stderr"] > 0).all()


def test_budgets_that_differ_by_rounding_are_one_and_columns_may_be_formulas():
    data = grid()
    data["C"] = data["C"] * np.exp(0.005 * np.random.default_rng(0).standard_normal(data["C"].size))
    assert isoflop(data).sizes["budget"] == 3
    tokens = {**grid(), "D": grid()["C"] / (6 * grid()["N"])}
    assert isoflop(tokens, compute="6*N*D").sizes["budget"] == 3


def test_an_optimum_outside_the_sizes_or_off_centre_is_said():
    assert "outside the sizes tried" in isoflop(grid(offset=8.0)).attrs["warnings"]
    assert "off the centre" in isoflop(grid(offset=3.0)).attrs["warnings"]
    assert "centre" not in isoflop(grid()).attrs["warnings"].replace("not centred", "")


def test_budgets_without_a_lowest_point_are_left_out():
    data = grid(budgets=(1e18, 1e19, 1e20))
    data["loss"][:5] *= -1
    found = isoflop(data)
    assert np.isfinite(found["optimum"]).values.tolist() == [False, True, True]
    assert "no lowest point; it is left out" in found.attrs["warnings"]
    data["loss"][5:10] *= -1
    with pytest.raises(FitError, match="1 of 3 budgets"):
        isoflop(data)
    with pytest.raises(FitError, match="0 of 3 budgets"):
        isoflop(grid(sizes=(1.0, 2.0)))


def test_what_cannot_be_used_is_named():
    data = grid()
    data["N"][2] = -1.0
    with pytest.raises(DataError, match="size: expected positive numbers, not so in row 3"):
        isoflop(data)
    with pytest.raises(UnknownNameError, match="'FLOPs'"):
        isoflop(grid(), compute="FLOPs")


def test_the_bias_of_the_method_is_measured_on_a_known_law():
    fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
    v = fit.values
    budgets = np.geomspace(1e18, 1e21, 5)
    narrow = fit.isoflop(compute=budgets, decades=0.3)
    wide = fit.isoflop(compute=budgets, decades=3.0)
    truth = v["beta"] / (v["alpha"] + v["beta"])
    assert float(wide["true_exponent"]) == pytest.approx(truth, rel=1e-9)
    exact = [float(fit.allocate(compute=c)["N"]) for c in budgets]
    np.testing.assert_allclose(wide["true_optimum"], exact, rtol=1e-9)

    def miss(found):
        return float(np.abs(np.log(found["optimum"] / found["true_optimum"])).max())

    assert miss(wide) > 5 * miss(narrow)
    assert abs(float(wide["bias"])) > 3 * abs(float(narrow["bias"]))
    assert float(wide["bias"]) == pytest.approx(float(wide["exponent"]) - truth, rel=1e-6)
    assert "without noise, the parabolas give" in wide.attrs["warnings"]
    with pytest.raises(UsageError, match="at least two budgets"):
        fit.isoflop(compute=[1e20])
    with pytest.raises(UsageError, match="points"):
        fit.isoflop(compute=[1e20, 1e21], points=2)
