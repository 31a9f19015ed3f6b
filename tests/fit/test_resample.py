import numpy as np
import pytest

import forecast
from forecast.errors import DataError, FitError, UnknownNameError, UsageError

X = np.geomspace(10, 1e4, 60)
Y = 8 * X**-0.35 * np.exp(0.02 * np.random.default_rng(0).standard_normal(60))
FIT = forecast.law("scaling/power").fit({"x": X, "y": Y})


@pytest.mark.parametrize("resample", ["pairs", "residuals", "wild"])
def test_where_rows_are_independent_all_kinds_agree_with_wald(resample):
    again = FIT.resample(2000, resample=resample, seed=1)
    for name in ("beta", "c"):
        assert float(again.stderr[name]) == pytest.approx(float(FIT.stderr[name]), rel=0.25)
    assert again.interval("c", method="bootstrap") == pytest.approx(FIT.interval("c"), rel=0.02)
    assert again.values == FIT.values


def test_clusters_see_what_rows_of_a_group_share():
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(20), 10)
    x = np.repeat(np.geomspace(10, 1e4, 20), 10)
    y = 8 * x**-0.35 * np.exp(0.05 * rng.standard_normal(20)[groups] + 0.01 * rng.standard_normal(200))
    fit = forecast.law("scaling/power").fit({"x": x, "y": y})
    errors = {
        k: float(fit.resample(1000, resample=k, groups=g).stderr["c"])
        for k, g in (("pairs", None), ("cluster", groups))
    }
    assert errors["cluster"] > 2 * errors["pairs"]


def test_the_wild_bootstrap_sees_scatter_that_changes():
    rng = np.random.default_rng(3)
    scatter = np.where(X > 3000, 0.1, 0.005)
    y = 8 * X**-0.35 * np.exp(scatter * rng.standard_normal(60))
    fit = forecast.law("scaling/power").fit({"x": X, "y": y})
    wild, residual = (float(fit.resample(1000, resample=k).stderr["c"]) for k in ("wild", "residuals"))
    assert wild > 1.15 * residual


def test_impossible_requests():
    with pytest.raises(UnknownNameError, match="'wilde'"):
        FIT.resample(100, resample="wilde")
    with pytest.raises(UsageError, match="needs groups="):
        FIT.resample(100, resample="cluster")
    with pytest.raises(DataError, match="expected 60 labels"):
        FIT.resample(100, resample="cluster", groups=[1, 2])
    with pytest.raises(UsageError, match="at least 2"):
        FIT.resample(1)
    counts = forecast.Law("a + b*x", variables=["x"]).fit({"x": X, "y": np.round(X)}, objective="poisson")
    with pytest.raises(FitError, match="counts have none"):
        counts.resample(100, resample="wild")
