"""Everything public is data: it goes to another process and comes back, and a copy is its own.

Results are saved as netCDF and TOML, never as pickles; but multiprocessing, dask and joblib hand objects over this way.
"""

import copy
import pickle
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest
import xarray as xr

import forecast
from forecast.contract.registry import HOOKS, get_registry
from forecast.errors import ScenarioError, UnknownNameError
from toolkit import every

WAYS = {"pickle": lambda value: pickle.loads(pickle.dumps(value)), "deepcopy": copy.deepcopy}
X = np.geomspace(1.0, 1e6, 40)
Y = (2 + 8 * X**-0.35) * np.exp(0.02 * np.random.default_rng(0).standard_normal(40))
LAW = forecast.Law("E + A*x**-a", variables=["x"], positive=["A", "a"])


#: Of everything that is shipped a copy takes each tenth: it goes by the same methods as a pickle.
EACH = {"pickle": 1, "deepcopy": 10}


@pytest.fixture(params=WAYS)
def again(request) -> Callable[[Any], Any]:
    """Pickle and read back, or copy."""
    return WAYS[request.param]


@pytest.fixture
def shipped(request, again) -> Callable[[str], tuple[str, ...]]:
    """Return the names of a kind that are gone through in this way."""
    step = EACH[request.node.callspec.params["again"]]
    return lambda kind: get_registry().names(kind)[::step]


def alike(one: Any, two: Any) -> bool:
    """Tell whether two things hold the same: laws their record, records their fields, arrays their numbers."""
    if type(one) is not type(two):
        return False
    if isinstance(one, forecast.Law):
        return one.name == two.name if one.expression is None else one.record() == two.record()
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and one.tobytes() == two.tobytes()
    if isinstance(one, xr.Dataset | xr.DataArray | xr.DataTree):
        return bool(one.identical(two))
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(alike(one[key], two[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(two) and all(map(alike, one, two))
    if is_dataclass(one):
        return all(alike(getattr(one, f.name), getattr(two, f.name)) for f in fields(one))
    if isinstance(one, float) and one != one:
        return two != two
    if type(one).__eq__ is object.__eq__:  # a shape or a curve of a plugin
        return alike(getattr(one, "__dict__", {}), getattr(two, "__dict__", {}))
    return bool(one == two)


def test_a_record_holds_a_mapping_that_nobody_writes_to(again):
    given = {"x": "FLOP"}
    law = again(forecast.LawSpec(name="line", expression="a*x", variables=given, reference="ours"))
    given["z"] = "s"
    assert law.variables == {"x": "FLOP"}
    with pytest.raises(TypeError):
        law.variables["x"] = "s"  # type: ignore[index]


def test_every_name_of_the_front_door(again):
    names = set(forecast.__all__) - {"__version__", "hookimpl", "language", "scores"}
    assert {n for n in names if again(getattr(forecast, n)) is not getattr(forecast, n)} == set()


def test_every_record_of_every_plugin(again):
    with every() as case:
        for plugin in get_registry().plugins:
            with case(plugin.name):
                assert plugin.specs
                assert again(plugin) == plugin
            for spec in plugin.specs:
                with case(f"{spec.kind} {plugin.name}/{spec.name}"):
                    assert again(spec) == spec


def test_every_hook_has_a_record_that_goes_through(again):
    made = {
        "command": forecast.CommandSpec(name="c", reference="r", target="a:b"),
        "score": forecast.ScoreSpec(name="s", reference="r", target="a:b"),
    }
    shipped = {spec.kind: spec for plugin in get_registry().plugins for spec in plugin.specs}
    for kind in (spec.kind for spec in HOOKS.values()):
        record = (shipped | made).get(kind)
        if record is not None:
            assert again(record) == record, kind


def check_law(name: str, again: Callable[[Any], Any]) -> None:
    law = forecast.law(name)
    assert alike(again(law), law)
    for published in law.published_fits:
        fit = law.published(published.name)
        assert alike(again(fit), fit)
        assert again(published) == published
        fit.summary()
        assert again(fit).summary() == fit.summary()
    for spec in get_registry().find("law", name).spec.protocols:
        protocol = forecast.protocol(spec.name, law=name)
        assert again(protocol) == protocol


def test_every_law_and_what_is_published_of_it(again, shipped):
    with every() as case:
        for name in shipped("law"):
            with case(name):
                check_law(name, again)


def test_every_model(again, shipped):
    with every() as case:
        for name in shipped("model"):
            with case(name):
                model = forecast.model(name).model
                assert alike(again(model), model)


#: One of each family of models, fitted; fitting all of them would take a minute.
FITTED = (
    "hardware/hpcg@exponential", "hardware/linpack@changepoint", "hardware/linpack@random-walk",
    "emergence/outlier-count", "brain/dettmers-2015", "brain/pooled", "hardware/roofline",
)  # fmt: skip


@pytest.mark.parametrize("name", FITTED)
def test_a_fitted_model(name, again):
    fitted = forecast.model(name).fit()
    made = again(fitted)
    assert alike(made, fitted)
    assert made.describe() == fitted.describe()


def test_every_scenario(again, shipped):
    with every() as case:
        for name in shipped("scenario"):
            with case(name):
                scenario = forecast.Scenario.load(name)
                assert again(scenario) == scenario


ASKED = {
    "fresh": lambda fit: None,
    "summary": lambda fit: fit.summary(),
    "predict": lambda fit: fit.predict(x=[1.0, 2.0]),
    "interval": lambda fit: fit.interval("a"),
    "profile": lambda fit: fit.profile("a", points=5),
    "all": lambda fit: (fit.params, fit.stderr, fit.covariance, fit.verdict, fit.summary()),
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_a_fit_whatever_it_was_asked_before(asked, again):
    fit = LAW.fit({"x": X, "y": Y})
    asked(fit)
    made = again(fit)
    assert alike(made, fit)
    assert made.verdict == fit.verdict
    assert made.interval("a") == fit.interval("a")
    xr.testing.assert_identical(made.predict(x=[3.0]), fit.predict(x=[3.0]))


def test_fits_with_a_bootstrap_with_groups_and_over_a_dimension(again):
    both = {"x": np.r_[X, X], "y": np.r_[Y, 2 * Y], "g": ["a"] * 40 + ["b"] * 40}
    drawn = LAW.fit({"x": X, "y": Y}, bootstrap=20)
    drawn.summary()
    xr.testing.assert_identical(again(drawn).bootstrap, drawn.bootstrap)
    varying = LAW.fit(both, groups="g", varying=["E"])
    varying.summary()
    assert again(varying).group("b").values == varying.group("b").values
    many = LAW.fit(both, by="g")
    xr.testing.assert_identical(again(many).params, many.params)
    assert again(many).interval("a").identical(many.interval("a"))


def test_a_projection(again):
    made = forecast.project("brain-parity", draws=50)
    assert again(made).identical(made)


def test_errors_come_back_from_another_process(again):
    for error in (ScenarioError("a.toml: until: is missing"), UnknownNameError("law", "chinchila", ["chinchilla"])):
        made = again(error)
        assert (type(made), str(made)) == (type(error), str(error))
