"""The estimates of the brain's compute, against the table they come from."""

from __future__ import annotations

import math

import numpy as np
import pytest

import forecast
from forecast.registry import get_registry
from forecast.specs import EstimateSpec, MixtureSpec

ESTIMATES = ["ai-impacts-2015", "carlsmith-2020", "dettmers-2015", "kurzweil-2005", "moravec-1997",
             "sandberg-bostrom-2008"]  # fmt: skip


def spec(name):
    return get_registry().find("model", f"brain/{name}").spec


def draws(name, count=1000, **settings):
    made = {"start": 2025, "until": 2026, "quantities": {"brain": {"model": f"brain/{name}"}}}
    run = forecast.project(made, draws=count, set=settings)
    level = run["projection"]["brain"].values
    assert (level[0] == level[1]).all()
    return level[0]


def test_dettmers_at_its_medians_is_exactly_the_reconstruction():
    stated = {i.name: i.distribution.get("value", i.distribution.get("p50")) for i in spec("dettmers-2015").inputs}
    assert all(v is not None for v in stated.values())
    level = draws("dettmers-2015", 3, **{f"brain/dettmers-2015.{k}": v for k, v in stated.items()})
    assert level.tolist() == [1.075e21] * 3
    assert float(forecast.formula.parse(spec("dettmers-2015").expression).evaluate(stated)) == 1.075e21


def test_the_inputs_of_dettmers_multiply_out_by_hand():
    assert 2 * 200 * (10 * 1000 * 5) * (5e10 * (15 * 5) + 1e8 * (1e5 * 5)) == 1.075e21


@pytest.fixture(scope="module")
def table():
    data = forecast.table("brain-estimates")
    names = data["estimate"].values.tolist()

    def row(name):
        return {k: data[k].values[names.index(name)] for k in data.data_vars}

    return row


#: Model to the row of the table and the figures of the model's distribution that must be the row's.
ROWS = {
    "kurzweil-2005": ("kurzweil-2005", {"value": "central"}),
    "carlsmith-2020": ("carlsmith-2020", {"p05": "low", "p50": "central", "p95": "high"}),
    "ai-impacts-2015": ("ai-impacts-2015-flops", {"low": "low", "high": "high"}),
    "moravec-1997": ("moravec-1997", {"value": "low"}),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_figures_of_a_model_are_those_of_a_verified_row(table, name):
    row, figures = ROWS[name]
    found = table(row)
    (given,) = spec(name).inputs
    assert found["status"] == "verified"
    numbers = {k: v for k, v in given.distribution.items() if k != "family"}
    assert numbers == {key: float(found[column]) for key, column in figures.items()}


def test_the_range_of_the_roadmap_is_two_verified_rows(table):
    (given,) = spec("sandberg-bostrom-2008").inputs
    rows = [table(f"sandberg-bostrom-2008-{r}") for r in ("l4-spiking", "l5-electrophysiology")]
    assert [float(r["central"]) for r in rows] == [given.distribution["low"], given.distribution["high"]]
    assert {r["status"] for r in rows} == {"verified"}
    assert table("dettmers-2015")["status"] == "verified"
    assert float(table("dettmers-2015")["low"]) == 1.075e21


def test_every_model_of_the_plugin_is_tried_here():
    names = {n.partition("/")[2] for n in forecast.catalogue("model") if n.startswith("brain/")}
    assert names == {*ESTIMATES, "pooled"}
    assert set(ROWS) | {"sandberg-bostrom-2008", "dettmers-2015", "pooled"} == names


def test_no_model_uses_a_row_that_could_not_be_verified(table):
    data = forecast.table("brain-estimates")
    unverified = {
        float(data[c].values[i])
        for i, status in enumerate(data["status"].values)
        if status != "verified"
        for c in ("low", "central", "high")
        if not math.isnan(float(data[c].values[i]))
    }
    verified = {
        float(data[c].values[i])
        for i, status in enumerate(data["status"].values)
        if status == "verified"
        for c in ("low", "central", "high")
    }
    for name in ESTIMATES:
        for given in spec(name).inputs:
            if given.unit == "FLOP/s":
                used = {v for v in given.distribution.values() if not isinstance(v, str)}
                assert not used & (unverified - verified)


def test_what_cannot_be_converted_or_is_an_upper_limit_is_not_pooled():
    weights = spec("pooled").weights
    assert sorted(weights) == [f"brain/{n}" for n in ESTIMATES]
    assert set(weights.values()) == {1.0}


def test_the_pooled_estimate_takes_each_author_with_its_weight():
    count = 20_000
    made = {"start": 2025, "until": 2026,
            "quantities": {n.replace("-", "_"): {"model": f"brain/{n}"} for n in [*ESTIMATES, "pooled"]}}  # fmt: skip
    data = forecast.project(made, draws=count)["projection"].to_dataset().isel(time=0)
    taken = np.stack([data[n.replace("-", "_")].values == data["pooled"].values for n in ESTIMATES])
    assert (taken.sum(axis=0) == 1).all()
    error = math.sqrt(count * (1 / 6) * (5 / 6))
    assert (abs(taken.sum(axis=1) - count / 6) < 4.5 * error).all()


@pytest.mark.parametrize("name", ESTIMATES)
def test_every_input_has_a_source_and_every_model_says_what_it_is(name):
    record = spec(name)
    assert isinstance(record, EstimateSpec)
    assert record.reference
    assert all(i.source for i in record.inputs)
    said = forecast.model(f"brain/{name}").fit().describe()
    assert said.summary
    assert said.sources == (record.reference,)


def test_the_pooled_estimate_says_that_its_weights_are_a_choice():
    assert isinstance(spec("pooled"), MixtureSpec)
    said = forecast.model("brain/pooled").fit().describe()
    assert "equal weights are a choice, not a measurement" in said.summary
    assert "weights are ours" in said.assumptions[0]


def test_carlsmith_has_the_quantiles_he_gives():
    level = draws("carlsmith-2020", 20_000)
    for share, value in ((0.05, 1e13), (0.5, 1e15), (0.95, 1e17)):
        assert abs((level <= value).mean() - share) < 4 * math.sqrt(share * (1 - share) / 20_000)
