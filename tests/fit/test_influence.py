import numpy as np
import pytest

import forecast
from forecast.errors import FitError
from toolkit import saturating

X, Y = saturating().values()
LAW = forecast.law("scaling/saturating-power")


def test_leaving_a_row_out_is_the_fit_without_it():
    found = LAW.fit({"x": X, "y": Y}).influence()
    for row in found["row"].values[np.argsort(-found["largest"].values)[:3]]:
        keep = np.arange(40) != row - 1
        without = LAW.fit({"x": X[keep], "y": Y[keep]})
        for name in LAW.parameters:
            assert float(found[name].sel(row=row)) == pytest.approx(without.values[name], rel=1e-6)


def test_one_newton_step_is_near_the_fit_without_the_row():
    fit = LAW.fit({"x": X, "y": Y})
    found = fit.influence()
    for row in found["row"].values[np.argsort(-found["largest"].values)[10:14]]:
        keep = np.arange(40) != row - 1
        without = LAW.fit({"x": X[keep], "y": Y[keep]})
        error = 0.05 * float(fit.stderr["c"])
        assert float(found["c"].sel(row=row)) == pytest.approx(without.values["c"], abs=error)


def test_no_data_no_influence():
    with pytest.raises(FitError, match="no influence"):
        forecast.law("scaling/chinchilla").published("besiroglu2024").influence()
