"""Ideas that get harder to find: the published figures, our fits beside them, and what the table cannot tell."""

import numpy as np
import pytest

import forecast
from forecast import tables
from forecast.streams import DRAWS_PER_BLOCK, Streams


def rows(field):
    table = tables.to_columns("datasets/research-productivity", where="test")
    return table.take(np.array([name == field for name in table["field"]]))


def facts(name):
    return forecast.model(f"resources/{name}").fit().describe().facts


@pytest.mark.parametrize(
    ("model", "field", "unit"),
    [("chip-progress-from-effort", "semiconductors", 1e5), ("us-productivity-from-effort", "united-states", 1e6)],
)
def test_beta_is_that_of_least_squares_in_logs(model, field, unit):
    table = rows(field)
    x, y = np.log(table["ideas"]), np.log(table["growth"] / (table["effort"] / unit))
    slope, level = np.polyfit(x, y, 1)
    found = facts(model)
    assert found["beta"] == pytest.approx(-slope, rel=1e-6)
    assert found["theta"] == pytest.approx(np.exp(level), rel=1e-6)
    assert found["beta_p05"] < found["beta"] < found["beta_p95"]


def test_published_betas_lie_inside_the_intervals():
    chips, us = facts("chip-progress-from-effort"), facts("us-productivity-from-effort")
    assert chips["beta_p05"] < 0.195 < chips["beta_p95"]
    assert us["beta_p05"] < 3.07 < us["beta_p95"]


@pytest.mark.parametrize("field", ["semiconductors", "united-states"])
def test_lambda_is_not_told_by_effort_that_only_rises(field):
    """Effort and ideas rose together: the interval of lambda has one in it, and is far wider than what one asks."""
    unit = "effort/1e5" if field == "semiconductors" else "effort/1e6"
    fit = forecast.law("scaling/semi-endogenous").fit(rows(field), let={"S": unit, "A": "ideas"}, y="growth")
    low, high = fit.interval("lambda_", 0.9)
    assert low < 0 < 1 < high
    assert high - low > 2


def drawn(**inputs):
    run = forecast.project(
        {"start": 2025, "until": 2026, "quantities": {"x": {"model": "resources/research-effort"}}},
        with_={f"resources/research-effort.{key}": value for key, value in inputs.items()},
    )
    return run["projection"]["x"].isel(time=0)


def test_research_must_grow_many_times_to_keep_moores_law():
    low, middle, high = drawn().quantile([0.05, 0.5, 0.95]).values
    beta = facts("research-effort")
    assert middle == pytest.approx(np.exp(beta["beta"] * np.log(2) / 2 * 43), rel=0.01)
    assert low < 18.3 < high  # what was spent, by the source
    assert drawn(years=0).values == pytest.approx(1.0)


def test_the_draws_are_those_of_the_relation():
    streams = Streams(seed=0, node="x", block=0)
    fitted = forecast.model("resources/research-effort").fit()
    beta = fitted.posterior(streams)["beta"]
    assert beta.shape == (DRAWS_PER_BLOCK,)
    relation = forecast.model("resources/chip-progress-from-effort").fit()
    assert beta == pytest.approx(relation.posterior(streams)["beta"])


def test_claims_are_computed_from_the_rows_of_the_table():
    from forecast.claim_verdicts import evaluate
    from forecast.contract.registry import get_registry

    table = tables.to_columns("datasets/research-effort", where="test")
    at = {(f, int(y)): i for i, (f, y) in enumerate(zip(table["field"], table["year"], strict=True))}
    specs = {r.spec.name: r.spec for r in get_registry().records("claim") if r.plugin.name == "resources"}
    chips, us = specs["research-chips"].values, specs["research-us-productivity"].values
    first, last = at["semiconductors", 1971], at["semiconductors", 2014]
    assert (chips["spent"], chips["spent_1971"]) == (table["spending"][last], table["spending"][first])
    assert (chips["wage"], chips["wage_1971"]) == (table["wage"][last], table["wage"][first])
    periods = rows("united-states")
    began = list(periods["begins"])
    first, last = began.index(1930), began.index(2000)
    assert (us["effort"], us["effort_1930s"]) == (periods["effort"][last], periods["effort"][first])
    assert (us["growth"], us["growth_1930s"]) == (periods["growth"][last], periods["growth"][first])
    assert specs["research-us-beta"].values["mean_growth"] == pytest.approx(periods["growth"].mean(), abs=1e-6)
    found = {n: evaluate(s) for n, s in specs.items() if n.startswith("research-")}
    assert {c["verdict"] for c in found.values()} == {"agrees", "rounds", "ours"}
    assert found["research-chips"]["computed"] == pytest.approx(18.31, abs=0.01)
    assert found["research-us-productivity"]["computed"] == pytest.approx(41.377, abs=0.01)


def test_the_relation_is_read_as_of_a_date():
    """A period is known from the year after it ends: before 2001 four of the six periods of chips are."""
    model = forecast.model("resources/chip-progress-from-effort").model
    assert model.fit(as_of=2001.5).describe().facts["n"] == 4
    assert model.fit(as_of=2001.0).describe().facts["n"] == 3
    assert model.fit().describe().facts["n"] == 6
