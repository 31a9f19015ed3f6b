"""Worlds weighed by what is known besides: against closed forms, and in every summary."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import norm

import forecast
from forecast import save
from forecast.base.dates import decimal_year
from forecast.base.netcdf import content_hash
from forecast.base.quantiles import QUANTILE_NAMES, QUANTILES
from forecast.errors import DataError
from forecast.projection.crossing import date_quantiles, weighted_quantiles
from forecast.projection.likelihood_weights import effective_sample_size, normalise_weights, weights_of
from forecast.report import result_data
from forecast.report.headline import opening_sentence
from forecast.sensitivity.first_order import first_order
from toolkit import assert_bitwise

#: A standard normal, and one observation of it at 1.5 with the standard deviation 0.5.
SCORE = norm.isf(0.05)
PRIOR = {"normal": [-SCORE, SCORE], "unit": ""}
SEEN = {"m": {"log_likelihood": "-(m - 1.5)**2/(2*0.5**2)"}}
#: The posterior of a normal mean.
PRECISION = 1 + 1 / 0.5**2
POSTERIOR = norm(1.5 / 0.5**2 / PRECISION, PRECISION**-0.5)


def project(quantities, *, draws=50_000, until=2060, start=2025, **more):
    options = {k: more.pop(k) for k in ("set", "seed", "workers", "step") if k in more}
    record = {"start": start, "until": until, "quantities": quantities, **more}
    return forecast.project(record, draws=draws, keep=50_000, **options)


@pytest.fixture(scope="module")
def weighed():
    """`m` is known besides; the date rises with it: `path` is 1 a year since 2025, `goal` is 10 + 3 m."""
    quantities = {
        "m": PRIOR,
        "other": PRIOR,
        "path": {"schedule": [[2025, 0], [2060, 35]], "as": "level", "between": "linear", "unit": ""},
        "goal": {"expression": "10 + 3*m"},
    }
    questions = {"q": {"when": "path >= goal", "dates": ["2038-01-01"]}, "r": {"when": "path >= 33.2 + m"}}
    return project(quantities, update=SEEN, questions=questions)


# --- closed form -----------------------------------------------------------------------------------------------------


def test_a_normal_prior_and_a_normal_likelihood_give_the_normal_posterior(weighed):
    row = next(r for r in result_data.quantity_rows(weighed) if r["name"] == "m")
    count = result_data.update_rows(weighed)[0]["effective"]
    for name, q in zip(QUANTILE_NAMES, QUANTILES, strict=True):
        # four standard errors of a quantile of as many worlds
        error = np.sqrt(q * (1 - q) / count) / POSTERIOR.pdf(POSTERIOR.ppf(q))
        assert row[name][0] == pytest.approx(POSTERIOR.ppf(q), abs=4 * error)


def test_the_effective_number_is_that_of_the_closed_form(weighed):
    """n E[w]²/E[w²]: both are normal integrals."""
    s2 = 0.5**2
    mean = norm(0, np.sqrt(1 + s2)).pdf(1.5) * np.sqrt(2 * np.pi * s2)
    square = norm(0, np.sqrt(1 + s2 / 2)).pdf(1.5) * np.sqrt(2 * np.pi * s2 / 2)
    (row,) = result_data.update_rows(weighed)
    assert row["effective"] / row["draws"] == pytest.approx(mean**2 / square, rel=0.03)
    assert weighed.attributes["effective_draws"] == row["effective"]
    assert weighed.attributes["update"] == {"m": "-(m - 1.5)**2/(2*0.5**2)"}
    assert row["of"] == ["m"]


def test_what_is_independent_of_what_is_known_stays_as_it_was(weighed):
    row = next(r for r in result_data.quantity_rows(weighed) if r["name"] == "other")
    count = result_data.update_rows(weighed)[0]["effective"]
    for name, q in zip(QUANTILE_NAMES, QUANTILES, strict=True):
        error = np.sqrt(q * (1 - q) / count) / norm.pdf(norm.ppf(q))
        assert row[name][0] == pytest.approx(norm.ppf(q), abs=4 * error)


def test_dates_and_shares_are_weighed(weighed):
    one, two = result_data.date_rows(weighed)
    for name, q in zip(QUANTILE_NAMES, QUANTILES, strict=True):
        found = decimal_year(np.datetime64(one["crossing"][name], "s"))
        assert found == pytest.approx(2025 + 10 + 3 * POSTERIOR.ppf(q), abs=0.05)
    # 2038 is m = 1; never is 33.2 + m > 35
    assert one["dates"][0]["probability"] == pytest.approx(POSTERIOR.cdf(1.0), abs=0.02)
    assert two["crossing"]["never"] == pytest.approx(POSTERIOR.sf(1.8), abs=0.02)
    assert norm.sf(1.8) < 0.05 < POSTERIOR.sf(1.8)
    assert two["crossing"]["p95"] is None


def test_a_regime_has_its_posterior_share():
    """Bayes' theorem for two regimes, whose likelihoods are 1 and exp(-2)."""
    run = project(
        {"kind": {"draw": {"a": 0.3, "b": 0.7}}},
        update={"kind": {"log_likelihood": 'where(kind == "b", -2, 0)'}},
        until=2026,
    )
    (row,) = result_data.regime_rows(run)
    assert row["shares"]["a"] == pytest.approx(0.3 / (0.3 + 0.7 * np.exp(-2)), abs=0.012)


def test_two_updates_multiply_their_likelihoods():
    both = {"m": {"log_likelihood": "-(m - 1.5)**2/(4*0.5**2)"}, "n": {"log_likelihood": "-(m - 1.5)**2/(4*0.5**2)"}}
    quantities = {"m": PRIOR, "n": PRIOR}
    once, twice = (project(quantities, update=u, draws=3000, until=2026) for u in (SEEN, both))
    np.testing.assert_allclose(weights_of(once).values, weights_of(twice).values, rtol=1e-9)
    assert result_data.quantity_rows(once) == result_data.quantity_rows(twice)


def test_a_path_is_weighed_by_its_first_step():
    quantities = {
        "m": PRIOR,
        "path": {"expression": "m*plan"},
        "plan": {"schedule": [[2025, 1], [2026, 2]], "as": "level", "unit": ""},
    }
    update = {"path": {"log_likelihood": "-(path - 1.5)**2/(2*0.5**2)"}}
    run = project(quantities, update=update, until=2027, draws=3000)
    same = project(quantities, update=SEEN, until=2027, draws=3000)
    np.testing.assert_allclose(weights_of(run).values, weights_of(same).values, rtol=1e-12)


# --- along choices ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chosen():
    quantities = {
        "brain": {"model": "brain/{e}"},
        "one": {"value": 1e18, "unit": "FLOP/s"},
        "m": PRIOR,
        "path": {"schedule": [[2025, 0], [2060, 35]], "as": "level", "between": "linear", "unit": ""},
    }
    update = {"brain": {"log_likelihood": "-(log10(brain/one) - m)**2/8"}}
    return project(
        quantities, choices={"e": ["dettmers-2015", "carlsmith-2020"]}, update=update, draws=4000,
        questions={"q": {"when": "path >= 10 + 3*m"}},
    )  # fmt: skip


def test_what_is_known_along_a_choice_changes_everything_along_it(chosen):
    weights = weights_of(chosen)
    assert weights.dims == ("draw", "e")
    assert weights.sum("draw").values == pytest.approx([1, 1])
    rows = [r for r in result_data.quantity_rows(chosen) if r["name"] == "m"]
    assert [r["choices"]["e"] for r in rows] == ["dettmers-2015", "carlsmith-2020"]
    m = chosen["projection"]["m"].isel(time=0).values
    for row in rows:
        counts = weights.sel(e=row["choices"]["e"]).values
        assert row["p50"][0] == weighted_quantiles(m, counts, [0.5])[0]
    questions = result_data.date_rows(chosen)
    assert [r["choices"] for r in questions] == [r["choices"] for r in rows]
    least = min(row["effective"] for row in result_data.update_rows(chosen))
    assert chosen.attributes["effective_draws"] == least


@pytest.mark.slow
def test_a_weighed_projection_is_saved_and_drawn(chosen, weighed, tmp_path):
    from forecast.report import figures

    for number, run in enumerate((chosen, weighed)):
        save(run, tmp_path / f"{number}.nc")
        back = forecast.load(tmp_path / f"{number}.nc")
        back = back.run if isinstance(back, forecast.Answer) else back
        for said in (result_data.date_rows, result_data.quantity_rows, result_data.update_rows, opening_sentence):
            assert said(back) == said(run)
        assert figures.plot_projection(run, tmp_path / f"{number}.svg").stat().st_size > 1000


def test_weights_are_the_same_for_any_number_of_workers_and_a_prefix():
    quantities = {"m": PRIOR}
    one, two, few = (project(quantities, update=SEEN, draws=n, workers=w, until=2026)
                     for n, w in ((5000, 1), (5000, 3), (100, 1)))  # fmt: skip
    assert content_hash(one.to_xarray()) == content_hash(two.to_xarray())
    assert_bitwise(few["update"]["m"].values, np.ascontiguousarray(one["update"]["m"].values[:100]))


# --- other summaries -------------------------------------------------------------------------------------------------


def test_a_ranking_counts_worlds_by_their_weight():
    quantities = {"m": PRIOR, "x": {"model": "brain/{e}"}, "unit_of": {"value": 1, "unit": "FLOP/s"},
                  "worth": {"expression": "x/unit_of*(1 + 0*m)"}}  # fmt: skip
    record = {
        "choices": {"e": ["dettmers-2015", "carlsmith-2020"]},
        "questions": {"r": {"rank": "worth", "over": "e", "subject_to": ["m >= 1"]}},
        "draws": 20_000, "until": 2026,
    }  # fmt: skip
    plain, known = project(quantities, **record), project(quantities, update=SEEN, **record)
    for run, share in ((plain, norm.sf(1.0)), (known, POSTERIOR.sf(1.0))):
        (row,) = result_data.ranking_rows(run)
        for entry in row["order"]:
            assert entry["among"] == pytest.approx(share, abs=0.02)
        assert sum(entry["first"] for entry in row["order"]) == pytest.approx(row["order"][0]["among"])


def test_what_moves_an_answer_is_what_is_left_to_move_it():
    """The date is m + n in variances 1 and 1; m is then known to a fifth: shares of 1/6 and 5/6."""
    quantities = {
        "m": PRIOR, "n": PRIOR,
        "path": {"schedule": [[2025, 0], [2060, 35]], "as": "level", "between": "linear", "unit": ""},
        "goal": {"expression": "15 + m + n"},
    }  # fmt: skip
    questions = {"q": {"when": "path >= goal"}}
    shares = [
        {row["name"]: row["share"] for row in first_order(project(quantities, questions=questions, **known), "q")}
        for known in ({}, {"update": SEEN})
    ]
    assert shares[0] == pytest.approx({"m": 0.5, "n": 0.5}, abs=0.04)
    assert shares[1] == pytest.approx({"m": 1 / 6, "n": 5 / 6}, abs=0.04)


def test_few_effective_worlds_are_warned_of():
    sharp = {"m": {"log_likelihood": "-(m - 3)**2/(2*0.01**2)"}}
    run = project({"m": PRIOR}, update=sharp, draws=2000, until=2026)
    (warning,) = run.warnings
    count = result_data.update_rows(run)[0]["effective"]
    assert count < 200
    assert str(warning).startswith(f"update: {count:.0f} of 2,000 worlds are effective; answers rest on fewer than 200")
    assert project({"m": PRIOR}, update=SEEN, draws=2000, until=2026).warnings == []


def test_a_likelihood_of_zero_leaves_worlds_out():
    run = project({"m": PRIOR}, update={"m": {"log_likelihood": "log(max(m, 0))"}}, draws=20_000, until=2026)
    (row,) = result_data.quantity_rows(run)
    # density m exp(-m²/2) over m > 0
    assert row["p05"][0] == pytest.approx(np.sqrt(-2 * np.log(0.95)), abs=0.03)
    assert row["p50"][0] == pytest.approx(np.sqrt(-2 * np.log(0.5)), abs=0.03)
    m = run["projection"]["m"].isel(time=0).values
    assert (weights_of(run).values[m <= 0] == 0).all()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("log(0*m)", "scenario: update: no world is possible: the likelihood is 0 in each"),
        ("-log(max(m, 0))", r"update.m.log_likelihood: '-log\(max\(m, 0\)\)' is infinite: no likelihood is"),
        ("sqrt(m)", "values are not numbers"),
    ],
)
def test_what_is_no_likelihood_is_refused(text, says):
    with pytest.raises(DataError, match=says):
        project({"m": PRIOR}, update={"m": {"log_likelihood": text}}, draws=100, until=2026)


def test_a_value_of_a_choice_may_be_impossible():
    """Every draw of one estimate lies above what is possible, and every one of the other below."""
    quantities = {"x": {"model": "brain/{e}"}, "most": {"value": 1.3e19, "unit": "FLOP/s"}}
    run = project(
        quantities, choices={"e": ["dettmers-2015", "carlsmith-2020"]}, draws=100, until=2026,
        update={"x": {"log_likelihood": "log(max(0, sign(most/x - 1)))"}}, questions={"q": {"when": "x >= most"}},
    )  # fmt: skip
    counts = {row["choices"]["e"]: row["effective"] for row in result_data.update_rows(run)}
    assert counts == {"dettmers-2015": None, "carlsmith-2020": pytest.approx(100)}
    assert run.attributes["effective_draws"] == pytest.approx(100)
    reason = "update (e = dettmers-2015): no world is possible: the likelihood is 0 in each"
    assert run.attributes["failures"] == [reason]
    never = {row["choices"]["e"]: row["crossing"]["never"] for row in result_data.date_rows(run)}
    assert never == {"dettmers-2015": None, "carlsmith-2020": pytest.approx(1.0)}


# --- the functions ---------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(2000, 2100) | st.just(np.inf), st.integers(0, 5)), min_size=1, max_size=40))
def test_whole_weights_say_what_as_many_draws_would(rows):
    dates, counts = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    if counts.sum() == 0:
        return
    repeated = np.repeat(dates, counts.astype(int))
    found = weighted_quantiles(dates, counts, QUANTILES)
    assert found.tolist() == date_quantiles(repeated).tolist()
    assert effective_sample_size(normalise_weights(np.log(np.ones(7)))) == pytest.approx(7)


def test_a_projection_without_an_update_says_nothing_of_weights():
    run = project({"m": PRIOR}, draws=10, until=2026)
    assert weights_of(run) is None
    assert result_data.update_rows(run) == []
    assert not {"update", "effective_draws", "correlations"} & set(run.to_xarray().attrs)
    assert json.loads(run.to_xarray().attrs["failures"]) == []
