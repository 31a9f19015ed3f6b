"""Predictions at the rows of a table, whatever kind of table: what a law is fitted to, it is asked of."""

import numpy as np
import pandas as pd
import polars
import pytest
import xarray as xr

import forecast
from forecast.errors import DataError, EmptyDataError, UnknownNameError
from toolkit import every, saturating

LAW = forecast.Law("E + B*x**-b", variables={"x": "token"}, output="y", positive=["E", "B", "b"])
POINTS = {"x": np.array([3e4, 1e5]), "note": np.array(["a", "b"])}


@pytest.fixture(scope="module")
def fit():
    return LAW.fit(saturating())


def test_every_kind_of_table_is_predicted_at(fit, tmp_path):
    wanted = fit.predict(x=POINTS["x"])
    pd.DataFrame(POINTS).to_csv(tmp_path / "points.csv", index=False)
    kinds = {
        "pandas": pd.DataFrame(POINTS),
        "polars": polars.DataFrame(POINTS),
        "xarray": xr.Dataset({"x": ("run", POINTS["x"])}),
        "in another unit": xr.Dataset({"x": ("run", POINTS["x"] / 1e3, {"unit": "ktoken"})}),
        "mapping": POINTS,
        "lists": {"x": POINTS["x"].tolist()},
        "file": str(tmp_path / "points.csv"),
    }
    with every() as case:
        for kind, table in kinds.items():
            with case(kind):
                xr.testing.assert_allclose(fit.predict(table), wanted, rtol=1e-12)


def test_a_name_goes_before_a_column_and_a_missing_column_is_named(fit):
    assert fit.predict(POINTS, x=5e4).identical(fit.predict(x=5e4))
    with pytest.raises(UnknownNameError, match=r"variable 'x'.*column"):
        fit.predict({"X1": [1.0]})
    with pytest.raises(UnknownNameError, match="variable 'z'"):
        fit.predict(POINTS, z=1)
    with pytest.raises(EmptyDataError, match="no rows"):
        fit.predict({"x": []})
    with pytest.raises(DataError, match="expected numbers, got text"):
        fit.predict({"x": ["a", "b"]})


def test_many_fits_are_asked_at_every_row():
    one, two = saturating(), saturating(seed=1)
    many = {**{n: np.concatenate([one[n], two[n]]) for n in one}, "run": np.repeat(["a", "b"], len(one["x"]))}
    fits = LAW.fit(many, by="run")
    assert fits.predict(pd.DataFrame(POINTS)).identical(fits.predict(x=POINTS["x"]))


def test_groups_of_a_table_are_named_by_their_labels():
    one, two = saturating(), saturating(seed=1)
    points = {**{n: np.concatenate([one[n], two[n]]) for n in one}, "run": np.repeat(["a", "b"], len(one["x"]))}
    fit = LAW.fit(points, groups="run", varying=("E",))
    asked = {"x": [3e4, 3e4], "run": ["b", "a"]}
    assert fit.predict(asked).identical(fit.predict(x=np.array(asked["x"]), run=np.array(asked["run"])))
    with pytest.raises(UnknownNameError, match="'c'"):
        fit.predict({"x": [3e4], "run": ["c"]})
