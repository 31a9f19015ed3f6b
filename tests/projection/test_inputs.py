"""What is drawn of a scenario's inputs, and that what a name draws depends on seed, name and world alone."""

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

import forecast
from forecast.errors import DataError
from forecast.projection.paths.moment_fits import WORLDS
from forecast.report import result_data
from toolkit import assert_bitwise, sample

NORMAL = {"normal": [-1, 3], "unit": ""}
YEARS = {"year": list(range(2000, 2020)), "v": [1.3**t * (1 + 0.1 * (-1) ** t) for t in range(20)]}


def trend(name="trend"):
    cap = {"lognormal": [1e4, 1e6], "unit": "FLOP", "source": "a judge"}
    return forecast.trend(
        YEARS, shape="trends/logistic", x="year", y="v", unit="FLOP", name=name, options={"cap": cap}
    ).model  # fmt: skip


def project(quantities, *, draws=2000, start=2025, until=2027, **more):
    options = {k: more.pop(k) for k in ("with_", "seed", "workers") if k in more}
    return forecast.project(
        {"start": start, "until": until, "quantities": quantities, **more}, draws=draws, keep=20_000, **options
    )  # fmt: skip


def drawn(run, name):
    """Return what a quantity holds at the first step, (draw,)."""
    return run["projection"][name].isel(time=0).values


# --- each kind -------------------------------------------------------------------------------------------------------


def test_a_regime_has_its_labels_and_its_shares(tmp_path):
    run = project({"kind": {"draw": {"fast": 0.45, "slow": 0.45, "none": 0.1}}}, draws=20_000)
    values = run["projection"]["kind"]
    assert values.attrs["flag_meanings"] == "fast slow none"
    assert values.attrs["flag_values"] == "0 1 2"
    assert (values.values == values.values[0]).all()  # one regime a world, at all times
    (row,) = result_data.regime_rows(run)
    # three standard deviations of a share of 20,000 draws
    assert row["shares"] == pytest.approx({"fast": 0.45, "slow": 0.45, "none": 0.1}, abs=0.011)
    assert sum(row["shares"].values()) == pytest.approx(1)
    assert result_data.quantity_rows(run) == []
    from forecast import save

    save(run, tmp_path / "run.nc")
    assert result_data.regime_rows(forecast.load(tmp_path / "run.nc")) == result_data.regime_rows(run)


def test_a_schedule_is_the_same_in_every_world():
    plan = {"schedule": [[2024, 2.0], [2026, 3.0]], "as": "rate", "between": "step"}
    stage = {"schedule": [[2024, 2.0], [2026, 3.0]], "as": "level", "between": "linear", "unit": "FLOP"}
    run = project({"plan": plan, "stage": stage}, draws=3, until=2028)
    assert run["projection"]["plan"].values[:, 0] == pytest.approx([1, 2, 6, 18])
    assert run["projection"]["stage"].values[:, 2] == pytest.approx([2.5, 3, 3, 3])
    assert run["projection"]["stage"].attrs == {"units": "FLOP", "kind": "schedule"}
    assert (run["projection"]["plan"].values == run["projection"]["plan"].values[:, :1]).all()


@pytest.fixture
def posterior(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    rows = "\n".join(f"{a!r},{a + 10!r}" for a in x.tolist())
    (tmp_path / "posterior.csv").write_text(f"x,y\n{rows}\n", encoding="utf-8")
    return str(tmp_path / "posterior.csv"), x


def test_own_draws_are_read_row_by_row(posterior):
    path, x = posterior
    mine = {name: {"draws": path, "column": name, "unit": ""} for name in ("x", "y")}
    run = project({**mine, "gap": {"expression": "y - x"}}, draws=20_000)
    assert set(drawn(run, "x")) <= set(x)
    np.testing.assert_allclose(drawn(run, "gap"), np.full(20_000, 10.0), rtol=1e-6)  # both columns of one row
    counts = np.unique(drawn(run, "x"), return_counts=True)[1]
    assert len(counts) == 500
    assert abs(counts - 40).max() < 5.5 * np.sqrt(40)


def test_where_a_file_of_draws_stands_changes_nothing(posterior, tmp_path):
    path, _ = posterior
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / "posterior.csv"
    other.write_bytes((tmp_path / "posterior.csv").read_bytes())
    runs = [project({"x": {"draws": str(p), "column": "x", "unit": ""}}, draws=100) for p in (path, other)]
    assert_bitwise(*(drawn(run, "x") for run in runs))
    assert runs[0].to_xarray().attrs == runs[1].to_xarray().attrs
    assert "posterior.csv" in runs[0].data


@pytest.mark.parametrize("family", ["normal", "lognormal"])
def test_a_fitted_distribution_has_the_moments(family):
    raw = {"triangular": [1, 2, 7], "unit": "FLOP"}
    run = project({"raw": raw, "req": {"fitted": family, "of": "raw"}}, draws=20_000)
    raw, req = drawn(run, "raw"), drawn(run, "req")
    assert run["projection"]["req"].attrs["units"] == "FLOP"
    if family == "lognormal":
        raw, req = np.log(raw), np.log(req)
    # a mean of 20,000 against one of 8,192, in standard errors of their difference
    spread = raw.std() * np.sqrt(1 / 20_000 + 1 / WORLDS)
    assert req.mean() == pytest.approx(raw.mean(), abs=4 * spread)
    assert req.std() == pytest.approx(raw.std(), rel=0.04)
    assert abs(np.corrcoef(raw, req)[0, 1]) < 4 / np.sqrt(20_000)  # drawn on its own
    assert abs(((req - req.mean()) ** 3).mean() / req.std() ** 3) < 0.1  # the triangle is skewed, this is not


def test_what_is_fitted_does_not_depend_on_the_number_of_draws():
    quantities = {
        "raw": NORMAL, "more": {"expression": "2*req"}, "req": {"fitted": "normal", "of": "raw"},
        "again": {"fitted": "normal", "of": "more"},
    }  # fmt: skip
    few, many = (project(quantities, draws=n, workers=w) for n, w in ((10, 1), (3000, 2)))
    for name in quantities:
        assert_bitwise(drawn(few, name), np.ascontiguousarray(drawn(many, name)[:10]))
    assert drawn(many, "again").std() == pytest.approx(2 * drawn(many, "req").std(), rel=0.08)


def test_a_fit_follows_the_choices_of_what_it_is_fitted_to():
    quantities = {"raw": {"model": "brain/{e}"}, "req": {"fitted": "lognormal", "of": "raw"}}
    run = project(quantities, choices={"e": ["dettmers-2015", "carlsmith-2020"]}, draws=4000)
    raw, req = (np.log(run["projection"][n].isel(time=0).transpose("e", "draw").values) for n in ("raw", "req"))
    assert req.mean(axis=1) == pytest.approx(raw.mean(axis=1), abs=0.3)
    assert req.std(axis=1) == pytest.approx(raw.std(axis=1), rel=0.06, abs=1e-9)


@pytest.mark.parametrize(
    ("raw", "family", "says"),
    [
        ({"model": trend()}, "normal", "quantities.req.of: 'raw' changes with time"),
        (NORMAL, "lognormal", "values are not above 0: they have no lognormal distribution"),
        ({"expression": "1/where(heavy == 'a', 0, 1)"}, "normal", "quantities.raw: .* values are infinite"),
    ],
)
def test_what_has_no_moments_is_refused(raw, family, says):
    quantities = {"raw": raw, "req": {"fitted": family, "of": "raw"}, "heavy": {"draw": {"a": 0.5, "b": 0.5}}}
    with pytest.raises(DataError, match=says):
        project(quantities, draws=10)


# --- what moves together ---------------------------------------------------------------------------------------------

DRAWS = 100_000


def test_two_have_the_rank_correlation_that_is_stated():
    quantities = {"g": NORMAL, "cost": {"loguniform": [1, 1e6], "unit": "USD"}}
    alone = project(quantities, draws=DRAWS)
    both = project(quantities, draws=DRAWS, correlations=[{"of": ["g", "cost"], "rho": 0.7}])
    assert spearmanr(drawn(alone, "g"), drawn(alone, "cost"))[0] == pytest.approx(0, abs=0.01)
    assert spearmanr(drawn(both, "g"), drawn(both, "cost"))[0] == pytest.approx(0.7, abs=0.01)
    assert_bitwise(drawn(alone, "g"), drawn(both, "g"))  # the first keeps its draws
    for q in (0.05, 0.5, 0.95):  # and each its distribution
        assert np.log(np.quantile(drawn(both, "cost"), q)) == pytest.approx(q * np.log(1e6), abs=0.1)


def test_a_matrix_holds_for_every_pair():
    matrix = [[1, 0.7, -0.3], [0.7, 1, 0.2], [-0.3, 0.2, 1]]
    quantities = {"a": NORMAL, "b": {"p05": 1, "p50": 3, "p95": 100, "unit": ""},
                  "c": {"fitted": "normal", "of": "a"}}  # fmt: skip
    run = project(quantities, draws=20_000, seed=1, correlations=[{"of": ["a", "b", "c"], "matrix": matrix}])
    found = spearmanr(np.stack([drawn(run, n) for n in "abc"], axis=1))[0]
    np.testing.assert_allclose(found, matrix, atol=0.015)
    assert run.attributes["correlations"] == [{"of": ["a", "b", "c"], "matrix": matrix}]


@pytest.mark.slow
def test_a_regime_and_an_input_of_a_model_may_move_with_a_quantity():
    quantities = {"g": NORMAL, "kind": {"draw": {"slow": 0.5, "fast": 0.5}}, "x": {"model": trend()}}
    groups = [{"of": ["g", "kind", "trend.cap"], "rho": 0.6}]
    run = project(quantities, draws=20_000, correlations=groups)
    g, kind, cap = drawn(run, "g"), drawn(run, "kind"), run["posterior/trend"]["cap"].values
    assert spearmanr(g, cap)[0] == pytest.approx(0.6, abs=0.02)
    assert kind.mean() == pytest.approx(0.5, abs=0.015)
    assert kendalltau(g, kind)[0] > 0.3
    # the correlation of a normal with the sign of another: r sqrt(2/pi)
    r = 2 * np.sin(np.pi * 0.6 / 6)
    assert np.corrcoef(g, kind)[0, 1] == pytest.approx(r * np.sqrt(2 / np.pi), abs=0.02)


# --- draws by name ---------------------------------------------------------------------------------------------------


@pytest.fixture
def base(posterior):
    path, _ = posterior
    return {
        "prior": NORMAL,
        "kind": {"draw": {"fast": 0.3, "slow": 0.7}},
        "mine": {"draws": path, "column": "x", "unit": ""},
        "req": {"fitted": "normal", "of": "prior"},
        "plan": {"schedule": [[2025, 2.0]], "as": "rate"},
        "x": {"model": trend()},
        "paired": {"lognormal": [1, 9], "unit": ""},
        "second": {"uniform": [1, 9], "unit": ""},
    }


#: What depends on what: a change of the first changes the others too.
DEPEND = {"prior": {"prior", "req"}, "paired": {"paired", "second"}}
GROUPS = [{"of": ["paired", "second"], "rho": 0.5}]


def assert_others_same(one, other, changed):
    names = [str(n) for n in one["projection"].data_vars if n not in changed]
    assert names
    for name in names:
        assert_bitwise(one["projection"][name].values, other["projection"][name].values)


SWAPS = {
    "prior": {"triangular": [1, 2, 3], "unit": ""},
    "kind": {"draw": {"fast": 0.9, "slow": 0.1}},
    "mine": {"value": 3, "unit": ""},
    "req": {"fitted": "normal", "of": "paired"},
    "plan": {"schedule": [[2025, 3.0]], "as": "level", "unit": ""},
    "x": {"model": trend("another")},
    "second": {"draw": {"a": 0.5, "b": 0.5}},
}


@pytest.mark.parametrize("name", sample(SWAPS, 2))
def test_to_swap_one_leaves_the_draws_of_all_others(base, name):
    before = project(base, draws=1100, correlations=GROUPS)
    after = project({**base, name: SWAPS[name]}, draws=1100, correlations=GROUPS)
    assert_others_same(before, after, DEPEND.get(name, {name}))
    assert not np.array_equal(before["projection"][name].values, after["projection"][name].values)


@pytest.mark.parametrize("name", sample(["prior", "kind", "mine", "req", "plan", "x", "second", "paired"], 2))
def test_to_fix_one_leaves_the_draws_of_all_others(base, name):
    before = project(base, draws=1100, correlations=GROUPS)
    after = project(base, draws=1100, correlations=GROUPS, with_={name: "slow" if name == "kind" else 2.0})
    if name == "prior":  # what is fitted to a number is that number
        assert (drawn(after, "req") == 2.0).all()
    assert_others_same(before, after, {"prior", "req"} if name == "prior" else {name})


@pytest.mark.parametrize("name", sample(["prior", "kind", "mine", "req", "plan", "x", "second"], 2))
def test_to_leave_one_out_or_add_it_leaves_the_draws_of_all_others(base, name):
    before = project(base, draws=1100, correlations=GROUPS)
    without = {k: v for k, v in base.items() if k not in ({"prior", "req"} if name == "prior" else {name})}
    after = project(without, draws=1100, correlations=GROUPS if name != "second" else [])
    assert_others_same(after, before, {name})


def test_to_leave_out_a_model_leaves_what_moves_with_its_inputs():
    """Whether its quantity is set to a number, or its choice is narrowed to another."""
    quantities = {"brain": {"model": "brain/{e}"}, "second": {"uniform": [1, 9], "unit": ""}}
    more = {
        "choices": {"e": ["dettmers-2015", "carlsmith-2020"]},
        "correlations": [{"of": ["brain/dettmers-2015.firing_rate", "second"], "rho": 0.5}],
    }
    alone, before = project(quantities, choices=more["choices"]), project(quantities, **more)
    assert not np.array_equal(drawn(alone, "second"), drawn(before, "second"))
    for setting in ({"e": "carlsmith-2020"}, {"brain": 1e18}, {"brain/dettmers-2015.firing_rate": 1}):
        assert_bitwise(drawn(project(quantities, **more, with_=setting), "second"), drawn(before, "second"))


def test_to_correlate_or_weigh_leaves_the_draws_of_all_others(base):
    before = project(base, draws=1100)
    assert_others_same(before, project(base, draws=1100, correlations=GROUPS), {"second"})
    known = {"prior": {"log_likelihood": "-prior**2"}}
    assert_others_same(before, project(base, draws=1100, update=known), set())


def test_to_fix_an_input_leaves_the_draws_of_all_others(base):
    groups = [{"of": ["trend.cap", "second"], "rho": 0.5}]
    before, after = (project(base, draws=1100, correlations=groups, with_=s) for s in ({}, {"trend.cap": 1e5}))
    assert_others_same(before, after, {"x"})
    assert not np.array_equal(before["projection"]["x"].values, after["projection"]["x"].values)
