"""Published parameters with a covariance: they are drawn jointly, and a table that is none is refused."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import forecast
from forecast.base.streams import Streams
from forecast.errors import FitError, PluginContractError
from forecast.models.relations import fitted_law

TABLE = {"a": {"a": 0.04, "b": 0.03}, "b": {"a": 0.03, "b": 0.09}}


def published(covariance=TABLE, **more):
    made = forecast.PublishedFit(
        name="p", parameters={"a": 2.0, "b": 1.0, "c": 5.0}, reference="test", covariance=covariance, **more
    )
    law = forecast.Law("a + b*x + c*x**2", variables=["x"], published=(made,))
    return law.published("p")


def test_parameters_are_drawn_jointly() -> None:
    fit = published(stderr={"c": 0.5})
    assert {n: float(v) for n, v in fit.stderr.items()} == pytest.approx({"a": 0.2, "b": 0.3, "c": 0.5}, rel=1e-12)
    assert fit.covariance.sel(parameter="a", other="b") == 0.03
    law = fitted_law(fit.law, name="y", parameters=fit).fit()
    drawn = law.posterior(Streams(0, "y", 0))
    assert np.corrcoef(drawn["a"], drawn["b"])[0, 1] == pytest.approx(0.5, abs=0.03)
    assert np.corrcoef(drawn["a"], drawn["c"])[0, 1] == pytest.approx(0.0, abs=0.04)
    assert np.std(drawn["b"]) == pytest.approx(0.3, rel=0.03)
    assert law.warnings({"x": np.ones(3)}) == ()
    assert "joint normal numbers" in law.describe().assumptions[0]
    alone = fit.sample_parameters(np.random.default_rng(0), 20_000)
    assert np.cov(alone["a"], alone["b"])[0, 1] == pytest.approx(0.03, rel=0.05)


def test_what_varies_as_one_is_drawn_as_one() -> None:
    drawn = published({"a": {"a": 0.04, "b": 0.06}, "b": {"a": 0.06, "b": 0.09}}).sample_parameters(
        np.random.default_rng(0), 1000
    )
    np.testing.assert_allclose((drawn["a"] - 2) / 0.2, (drawn["b"] - 1) / 0.3, rtol=0, atol=1e-9)


def test_it_is_saved_and_copied(tmp_path: Path) -> None:
    fit = published()
    fit.save(tmp_path / "fit.nc")
    again = forecast.load(tmp_path / "fit.nc")
    assert again.published == fit.published
    assert copy.deepcopy(fit.published) == pickle.loads(pickle.dumps(fit.published)) == fit.published


@pytest.mark.parametrize(
    ("table", "more", "says"),
    [
        ({"a": {"a": 1.0, "b": 0.5}, "b": {"a": 0.4, "b": 1.0}}, {}, "a with b is 0.5, and b with a is 0.4"),
        ({"a": {"a": 1.0}, "b": {"a": 0.4, "b": 1.0}}, {}, "'a': expected a number for each of a, b"),
        ({"a": {"a": 1.0, "b": 2.0}, "b": {"a": 2.0, "b": 1.0}}, {}, "no combination of negative variance"),
        ({"a": {"a": 0.0}}, {}, "expected positive variances"),
        ({"a": {"a": 1.0}}, {"stderr": {"a": 1.0}}, "state one"),
        ({"a": 1.0}, {}, "covariance: expected a mapping of parameter"),
    ],
)
def test_what_is_no_covariance_is_refused(table: object, more: dict, says: str) -> None:
    with pytest.raises(PluginContractError, match=says):
        published(table, **more)


def test_a_parameter_that_is_none_is_refused() -> None:
    with pytest.raises(FitError, match="'d' is no parameter of the law"):
        published({"d": {"d": 1.0}})
