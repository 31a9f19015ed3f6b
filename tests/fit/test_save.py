"""Saved fits come back to the last bit, and nothing in a file is executed."""

import json

import numpy as np
import pytest
import xarray as xr

import forecast
from forecast.base import netcdf
from forecast.errors import ResultError
from forecast.fit.save import load_fit
from toolkit import saturating, training_runs


def curve():
    return saturating(60, seed=1)


FITS = {
    "registered": lambda: forecast.law("scaling/saturating-power").fit(curve()),
    "formula": lambda: forecast.Law("E + b*x**-c", variables=["x"], bounds={"E": (0.5, 3.0)}).fit(curve()),
    "at a bound": lambda: forecast.Law("E + b*x**-c", variables=["x"], bounds={"E": (2.0, 3.0)}).fit(curve()),
    "bootstrap": lambda: forecast.law("scaling/saturating-power").fit(curve(), bootstrap=50),
    "published": lambda: forecast.law("scaling/chinchilla").published("besiroglu2024-mle"),
    "too few points": lambda: forecast.Law("a + b*x", variables=["x"]).fit({"x": [1.0, 2.0], "y": [1.0, 3.0]}),
}


@pytest.mark.parametrize("kind", FITS)
def test_a_fit_comes_back_to_the_last_bit(kind, tmp_path):
    fit = FITS[kind]()
    back = forecast.load(fit.save(tmp_path / "fit.nc"))
    assert back.summary() == fit.summary()
    assert dict(back.values) == dict(fit.values)
    points = {v: [0.0, 123.0, 1e9] for v in fit.law.variables}
    one, two = fit.predict(**points), back.predict(**points)
    assert one.identical(two)
    assert all(one[n].values.tobytes() == two[n].values.tobytes() for n in one)
    back.save(tmp_path / "again.nc")
    assert (tmp_path / "again.nc").read_bytes() == (tmp_path / "fit.nc").read_bytes()


def test_draws_and_allocation_come_back_too(tmp_path):
    law = forecast.law("scaling/chinchilla")
    fit = law.fit(training_runs(60))
    fit.save(tmp_path / "fit.nc")
    back = forecast.load(tmp_path / "fit.nc")
    assert back.law is law
    assert back.allocate(compute=1e22, draws=200).identical(fit.allocate(compute=1e22, draws=200))
    assert back.covariance.equals(fit.covariance)


def test_the_file_is_readable_by_others(tmp_path):
    fit = FITS["registered"]()
    fit.save(tmp_path / "fit.nc")
    tree = netcdf.load(tmp_path / "fit.nc")
    assert float(tree["parameters/E"]) == fit.values["E"]
    assert float(tree["parameters/E_stderr"]) == float(fit.stderr["E"])
    assert json.loads(tree.attrs["law"])["name"] == "scaling/saturating-power"
    assert json.loads(tree["parameters"].attrs["converged"]) is True


def test_bad_input_051_not_converged_is_in_the_file(tmp_path):
    fit = FITS["registered"]()
    fit.solutions.converged[:] = False
    fit.save(tmp_path / "fit.nc")
    assert forecast.load(tmp_path / "fit.nc").converged is False
    assert json.loads(netcdf.load(tmp_path / "fit.nc")["parameters"].attrs["converged"]) is False


def changed(path, **attrs):
    tree = netcdf.load(path)
    tree.attrs.update(attrs)
    forecast.save(tree, path)


@pytest.fixture(scope="module")
def registered(tmp_path_factory):
    return FITS["registered"]().save(tmp_path_factory.mktemp("fits") / "fit.nc").read_bytes()


@pytest.fixture
def path(registered, tmp_path):
    """A copy of one saved fit, to be changed."""
    (tmp_path / "fit.nc").write_bytes(registered)
    return tmp_path / "fit.nc"


@pytest.mark.parametrize(
    ("attrs", "says"),
    [
        ({"format": '"9"'}, "in the format 9"),
        ({"fit": "{}"}, "fit.by: is missing; expected text or null"),
        ({"fit": "not json"}, "not JSON"),
        ({"fit": '{"record": "Popen", "fields": {}}'}, "fit.by: is missing"),
        ({"law": '{"name": "evil/code", "arguments": null, "parameters": []}'}, "no plugin here brings the same"),
    ],
)
def test_a_file_that_is_no_fit_of_ours_is_refused(attrs, says, path):
    changed(path, **attrs)
    with pytest.raises(ResultError, match=says):
        forecast.load(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"name": NaN}', "NaN is not JSON"),
        ('{"name": -Infinity}', "-Infinity is not JSON"),
        ('{"name": 1, "name": 2}', "the key 'name' is given twice"),
        ("[" * 100_000, "nested too deeply"),
        ('{"name": ' * 100_000, "nested too deeply"),
        ("9" * 5000, "a number that is too long"),
        ("1e999", "outside the range of double precision"),
        ('"1e9"', "fit"),
    ],
    ids=["NaN", "Infinity", "twice", "lists", "objects", "digits", "exponent", "text"],
)
def test_bad_input_061_json_in_a_file_is_read_strictly(text, says, path):
    changed(path, fit=text)
    with pytest.raises(ResultError, match=says) as caught:
        forecast.load(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("version", ['"0"', '"1"', '"3"', "2", "null"])
def test_bad_input_018_a_file_of_another_version_is_refused_and_not_misread(version, path):
    changed(path, format=version)
    with pytest.raises(ResultError, match="in the format"):
        forecast.load(path)


def test_bad_input_087_a_file_records_the_versions_it_was_made_with(tmp_path):
    import scipy

    versions = json.loads(netcdf.load(FITS["registered"]().save(tmp_path / "fit.nc")).attrs["provenance"])["versions"]
    found = (versions["lawcast"], versions["numpy"], versions["scipy"], versions["xarray"])
    assert found == (forecast.__version__, np.__version__, scipy.__version__, xr.__version__)


def test_bad_input_001_006_a_hostile_law_in_a_file_is_only_text(tmp_path):
    path = FITS["formula"]().save(tmp_path / "fit.nc")
    marker = tmp_path / "marker"
    law = json.loads(netcdf.load(path).attrs["law"])
    law["arguments"]["expression"] = f"__import__('os').system('touch {marker}')"
    changed(path, law=json.dumps(law))
    with pytest.raises(ResultError, match="formula"):
        forecast.load(path)
    assert not marker.exists()


def test_a_law_that_changed_since_is_said(tmp_path):
    path = FITS["registered"]().save(tmp_path / "fit.nc")
    law = json.loads(netcdf.load(path).attrs["law"])
    law["arguments"]["expression"] = "E + beta*x**-c + 0"
    changed(path, law=json.dumps(law))
    back = forecast.load(path)
    assert "another one now" in back.warnings[-1]
    assert back.law.expression == "E + beta*x**-c + 0"


def test_another_result_is_no_fit(tmp_path):
    forecast.save(xr.DataTree(xr.Dataset({"x": 1.0})), tmp_path / "a.nc")
    assert isinstance(forecast.load(tmp_path / "a.nc"), xr.DataTree)
    with pytest.raises(ResultError, match="holds another result, not a fit"):
        load_fit(tmp_path / "a.nc")
