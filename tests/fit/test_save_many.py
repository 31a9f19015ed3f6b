"""Fits over a dimension are saved as one file and come back with every method; a file that was changed is refused."""

import numpy as np
import pytest
import xarray as xr

import forecast
from forecast.base import netcdf
from forecast.errors import ResultError
from forecast.fit.fit import Fits
from toolkit import sample

X = np.geomspace(10, 1e4, 24)
LAW = forecast.law("scaling/saturating-power")


def grid(count=5, **other):
    rng = np.random.default_rng(1)
    true = rng.uniform(0.5, 2, (count, 1)) + rng.uniform(2, 9, (count, 1)) * X ** -rng.uniform(0.2, 0.5, (count, 1))
    y = true * np.exp(0.02 * rng.standard_normal(true.shape))
    y[3, 10:] = np.nan
    y[4, 2:] = np.nan  # too few points
    labels = np.array(["a", "b", "c", "d", "e"])
    return xr.Dataset({"x": ("n", X), LAW.output: (("run", "n"), y), **other}, coords={"run": labels})


def counted():
    rng = np.random.default_rng(2)
    size, x = np.full((3, 9), 40.0), np.linspace(-2, 2, 9)
    y = rng.binomial(40, 1 / (1 + np.exp(-1.5 * x)), size=(3, 9)).astype(float)
    law = forecast.Law("1/(1 + exp(-(a + b*x)))", variables=["x"])
    data = xr.Dataset({"x": ("n", x), "y": (("run", "n"), y), "t": (("run", "n"), size)})
    return law.fit(data, by="run", objective="binomial", options={"trials": "t"})


def lines_of_days():
    x = np.arange(8.0)
    y = np.array([1.0, 2.0])[:, None] * x + 0.1 * np.sin(5 * x)
    days = np.array(["2024-01-01", "2025-03-01"], dtype="datetime64[D]")
    data = xr.Dataset({"x": ("n", x), "y": (("day", "n"), y)}, coords={"day": days.astype("datetime64[ns]")})
    return forecast.Law("a + b*x", variables=["x"]).fit(data, by="day", sigma=0.1)


FITS = {
    "ordinary": lambda: LAW.fit(grid(), by="run"),
    "bootstrap": lambda: LAW.fit(grid(), by="run", bootstrap=6),
    "huber": lambda: LAW.fit(grid(), by="run", objective="huber_log"),
    "quantile": lambda: LAW.fit(grid(), by="run", objective="quantile_log", options={"tau": 0.3}),
    "exact": lambda: LAW.fit({"x": X, LAW.output: 1 + 3 * X**-0.5, "run": np.repeat(["p", "q"], 12)}, by="run"),
    "binomial": counted,
    "dates": lines_of_days,
}


@pytest.mark.parametrize("name", sample(FITS, 6))
def test_fits_come_back_with_every_number(name, tmp_path):
    fits = FITS[name]()
    again = forecast.load(fits.save(tmp_path / "fits.nc"))
    assert isinstance(again, Fits)
    xr.testing.assert_identical(again.params, fits.params)
    xr.testing.assert_identical(again.objective, fits.objective)
    xr.testing.assert_allclose(again.stderr, fits.stderr, rtol=1e-8)
    assert (again.by, again.level, again.warnings) == (fits.by, fits.level, fits.warnings)
    np.testing.assert_array_equal(again.verdict, fits.verdict)
    parameter = list(fits.params)[-1]
    xr.testing.assert_allclose(again.interval(parameter), fits.interval(parameter), rtol=1e-8)
    assert again.interval(parameter).attrs == fits.interval(parameter).attrs
    xr.testing.assert_allclose(again.predict(x=1.5), fits.predict(x=1.5), rtol=1e-8)
    label = fits.labels[0]
    assert again.select(label).values == fits.select(label).values
    assert again.select(label).summary() == fits.select(label).summary()
    if name == "bootstrap":
        xr.testing.assert_identical(again.bootstrap, fits.bootstrap)
    elif name == "ordinary":
        xr.testing.assert_identical(again.resample(10).bootstrap, fits.resample(10).bootstrap)
        xr.testing.assert_allclose(again.influence(), fits.influence())
        xr.testing.assert_allclose(again.profile("c", points=5), fits.profile("c", points=5))


def test_a_law_of_ones_own_is_saved_with_its_text(tmp_path):
    law = forecast.Law("a + b*x", variables={"x": "year"}, bounds={"a": (0.0, np.inf)})
    data = {
        "x": np.tile(np.arange(6.0), 2),
        "y": np.r_[np.arange(6.0), 1 + 2.2 * np.arange(6.0)],
        "g": [0] * 6 + [1] * 6,
    }
    data["y"][[1, 8]] += 0.3
    again = forecast.load(law.fit(data, by="g").save(tmp_path / "fits.nc"))
    assert again.law.text == law.text
    assert again.law.bounds == law.bounds


TABLES = {"starts": (lambda v: v - 9, "starts"), "variable:x": (lambda v: v[:-1], "expected 24 along n, got 23")}


def changed(path, change):
    tree = netcdf.load(path)
    parts = {name: node.to_dataset() for name, node in (("/", tree), *((f"/{n}", c) for n, c in tree.children.items()))}
    parts["/"].attrs.pop(netcdf.HASH_ATTRIBUTE, None)
    change(parts)
    return forecast.save(xr.DataTree.from_dict(parts), path.with_name("changed.nc"))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return FITS["bootstrap"]().save(tmp_path_factory.mktemp("fits") / "fits.nc")


@pytest.mark.parametrize("name", TABLES)
def test_a_changed_table_is_refused(name, saved):
    other, word = TABLES[name]

    def change(parts):
        new = other(parts["/arrays"][name].values)
        parts["/arrays"] = parts["/arrays"].drop_vars(name).assign({name: ([f"d{i}" for i in range(new.ndim)], new)})

    with pytest.raises(ResultError, match=word):
        forecast.load(changed(saved, change))


def test_numbers_for_other_programs_are_no_part_of_what_is_read(saved):
    def change(parts):
        parts["/parameters"]["c"] = parts["/parameters"]["c"] * 1.001

    back = forecast.load(changed(saved, change))
    xr.testing.assert_identical(back.params, forecast.load(saved).params)
