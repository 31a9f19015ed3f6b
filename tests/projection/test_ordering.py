"""Fitted numbers that move together with others: by the names that an answer prints, and by quantity.growth."""

from __future__ import annotations

import itertools
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import spearmanr

import forecast
from forecast.errors import ForecastError, ScenarioError, UnknownNameError
from forecast.models import Description, Unfitted
from forecast.sensitivity import first_order

YEARS = np.arange(2005.0, 2025.0)
#: The correlation that is realised may differ by so much from what is asked.
CLOSE = 0.03


def series(name, seed, shape="trends/exponential", **more):
    noise = np.random.default_rng(seed).normal(0, 0.4, len(YEARS))
    data = {"year": YEARS, "speed": np.exp(0.3 * (YEARS - 2005) + noise)}
    return forecast.trend(data, shape=shape, x="year", y="speed", unit="FLOP", name=name, **more).model


def project(correlations=(), *, quantities=(), of="exponential", draws=2048, **run):
    return forecast.project(
        {
            "start": 2025,
            "until": 2028,
            "quantities": {
                "x": {"model": series("one", 1, f"trends/{of}")},
                "y": {"model": series("two", 2, f"trends/{of}")},
                "z": {"model": series("three", 3)},
                "cost": {"loguniform": [1, 1e6], "unit": "USD"},
                "worth": {"uniform": [1, 9], "unit": "USD"},
                **dict(quantities),
            },
            "correlations": list(correlations),
        },
        draws=draws,
        **run,
    )


def number(run, name):
    model, _, short = name.rpartition(".")
    if not model:
        return run["projection"][name].values.reshape(-1, run["projection"].sizes["draw"])[0]
    return run[f"posterior/{model}/{short}"].values


def realised(run, *names):
    return spearmanr(np.stack([number(run, n) for n in names], axis=1))[0]


@pytest.mark.parametrize("of", ["exponential", "pool", "random-walk"])
def test_growths_of_trends_have_the_rank_correlation_that_is_asked(of):
    for names in (["x.growth", "y.growth"], ["one.growth", "two.growth"]):
        run = project([{"of": names, "rho": 0.7}], of=of)
        assert realised(run, "one.growth", "two.growth") == pytest.approx(0.7, abs=CLOSE), names


def test_every_pair_of_a_matrix_of_growths_and_numbers_is_realised():
    names = ["cost", "x.growth", "two.scatter", "z.growth", "worth"]
    matrix = np.array(
        [[1, 0.7, -0.3, 0, 0.5], [0.7, 1, 0, 0.1, 0.4], [-0.3, 0, 1, -0.4, 0.1], [0, 0.1, -0.4, 1, 0.3],
         [0.5, 0.4, 0.1, 0.3, 1]]
    )  # fmt: skip
    run = project([{"of": names, "matrix": matrix.tolist()}])
    found = realised(run, "cost", "one.growth", "two.scatter", "three.growth", "worth")
    np.testing.assert_allclose(found, matrix, atol=CLOSE)


def test_what_a_fit_says_of_its_numbers_and_paths_stays_as_it_is():
    before, after = project(), project([{"of": ["cost", "x.growth", "y.growth"], "rho": 0.7}])
    for of, model in (("x", "one"), ("y", "two")):

        def worlds(run, of=of, model=model):
            path = run["projection"][of].values.reshape(-1, 2048)
            return np.concatenate([path, [number(run, f"{model}.{n}") for n in ("growth", "log_level", "scatter")]])

        for block in (slice(0, 1024), slice(1024, 2048)):
            one, other = (np.sort(worlds(run)[:, block].T.copy().view("f8,f8,f8,f8,f8,f8,f8").ravel())
                          for run in (before, after))  # fmt: skip
            np.testing.assert_array_equal(one, other)  # the same worlds, in another order
        assert not np.array_equal(worlds(before), worlds(after))
    for name in ("cost", "worth", "three.growth"):
        np.testing.assert_array_equal(number(before, name), number(after, name))


def test_fewer_draws_are_a_prefix_and_workers_change_nothing():
    groups = [{"of": ["cost", "x.growth", "y.growth"], "rho": 0.7}]
    whole = project(groups, draws=2100)
    for other, draws in ((project(groups, draws=1500), 1500), (project(groups, draws=2100, workers=2), 2100)):
        for name in ("cost", "one.growth", "two.growth", "x", "y"):
            np.testing.assert_array_equal(number(whole, name)[:draws], number(other, name))


def test_every_variant_of_a_quantity_moves_with_the_others():
    run = forecast.project({
        "extends": "brain-parity",
        "until": 2028,
        "choices": {"metric": ["hpcg", "linpack"], "trend": ["exponential", "pool"], "estimate": ["carlsmith-2020"]},
        "correlations": [{"of": ["brain/carlsmith-2020.compute", "machine.growth"], "rho": -0.7}],
    })  # fmt: skip
    models = [f"hardware/{m}@{t}" for m, t in itertools.product(("hpcg", "linpack"), ("exponential", "pool"))]
    for model in models:
        found = realised(run, f"{model}.growth", "brain/carlsmith-2020.compute")
        assert found == pytest.approx(-0.7, abs=CLOSE), model
    (group,) = run.attributes["correlations"]
    assert group["fitted"] == {"machine.growth": [f"{model}.growth" for model in models]}
    together = next(row for row in first_order.first_order(run, "parity") if row["kind"] == "group")
    assert set(together["name"].split(", ")) == {"brain/carlsmith-2020.compute", *group["fitted"]["machine.growth"]}


def test_others_move_as_before_where_one_is_set_or_left_out():
    groups = [{"of": ["x.growth", "cost", "z.growth"], "rho": 0.7}]
    before = project(groups)
    for key in ({"x": 1e9}, {"x.growth": 0.2}, {"x.growth": "0.1..0.3"}):
        after = project(groups, with_=key)
        for name in ("cost", "three.growth", "z", "y"):
            np.testing.assert_array_equal(number(before, name), number(after, name), err_msg=f"{key} {name}")
    assert realised(after, "one.growth", "three.growth") == pytest.approx(0.7, abs=CLOSE)
    swapped = project(groups, with_={"x": "capability/training-compute@pool"})
    np.testing.assert_array_equal(number(before, "three.growth"), number(swapped, "three.growth"))
    assert "drawn on its own now: x.growth" in str(swapped.warnings)


class Flat(Unfitted):
    """A model whose fitted number is certain."""

    settable: ClassVar = {"rate": ""}

    def sample(self, time, inputs, streams, *, observed=False):
        return np.ones((len(time), streams.draws))

    def posterior(self, streams):
        return {"rate": np.ones(streams.draws)}

    def describe(self):
        return Description(summary="flat")


def test_what_cannot_be_correlated_is_refused_with_what_could_be():
    flat = {"flat": {"model": Flat(name="flat", unit="")}, "sum": {"expression": "x + y"}}
    for of, kind, says in (
        (["x.growht", "cost"], UnknownNameError, "unknown fitted number 'one.growht'; did you mean 'one.growth'?"),
        (["x.zzz", "cost"], UnknownNameError, "known: one.autocorrelation, one.growth, one.log_level, one.scatter"),
        (["xx.growth", "cost"], UnknownNameError, "unknown quantity, input or fitted number 'xx.growth'; did you mean "
                                                  "'x.growth'?"),
        (["cost.growth", "worth"], UnknownNameError, "unknown quantity, input or fitted number 'cost.growth'"),
        (["x", "cost"], ScenarioError, "'x' has no distribution of its own to be drawn from; what could be: x.growth"),
        (["sum", "cost"], ScenarioError, "what could be: x.growth, y.growth"),
        (["x.growth", "one.log_level"], ScenarioError, "are numbers of one fit, 'one', which vary together as it says"),
        (["x.growth", "one.growth"], ScenarioError, "are numbers of one fit, 'one'"),
        (["flat.rate", "cost"], ScenarioError, "'flat.rate' is certain: it moves with nothing"),
    ):  # fmt: skip
        with pytest.raises(ForecastError) as caught:
            project([{"of": of, "rho": 0.7}], quantities=flat, draws=64)
        assert isinstance(caught.value, kind), of
        assert "correlations[1].of" in str(caught.value), of
        assert says in str(caught.value), (of, str(caught.value))


def test_a_name_that_no_variant_has_is_refused_where_a_choice_is_narrowed_too():
    asked = {"extends": "brain-parity", "until": 2028, "correlations": [{"of": ["brain/nobody.x", "machine.growth"],
                                                                         "rho": 0.7}]}  # fmt: skip
    with pytest.raises(UnknownNameError, match=r"input or fitted number .brain/nobody\.x."):
        forecast.project(asked, draws=64, with_={"estimate": "carlsmith-2020"})


@pytest.mark.slow
def test_growths_in_the_shipped_chain_have_the_correlation_that_is_asked():
    of = [
        "site_trend.growth",
        "tokens_trend.growth",
        "capability/chain-world.place",
        "capability/chip-stock@pool.growth",
    ]
    chain = forecast.scenario("model-capability").with_(correlations=[{"of": of, "rho": 0.7}])
    run = forecast.project(chain, until=2036)
    names = [f"capability/{s}@pool.growth" for s in ("largest-site", "tokens-per-dollar")]
    found = realised(run, *names, *of[2:])
    np.testing.assert_allclose(found[np.triu_indices(4, 1)], 0.7, atol=CLOSE)
