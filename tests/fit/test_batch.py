import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings, strategies as st

import forecast
from forecast.errors import DataError, FitError, UnknownNameError, UsageError
from toolkit import sample

LAW = forecast.Law("E + b*x**-c", variables=["x"], positive=["E", "b", "c"])
X = np.geomspace(1, 1e4, 20)


def curves(rows=12, seed=0):
    rng = np.random.default_rng(seed)
    true = [rng.uniform(*span, (rows, 1)) for span in ((0.2, 2), (1, 5), (0.2, 0.9))]
    y = (true[0] + true[1] * X ** -true[2]) * np.exp(0.02 * rng.standard_normal((rows, 20)))
    return xr.Dataset(
        {"x": ("point", X), "y": (("curve", "point"), y)}, coords={"curve": [f"run {i}" for i in range(rows)]}
    )


def test_curves_of_different_lengths_from_a_grid_and_from_a_table_agree():
    data = curves(6)
    y = data["y"].values.copy()
    y[2, 12:] = np.nan
    grid = LAW.fit(data.assign(y=(("curve", "point"), y)), by="curve")
    assert list(grid.n.values) == [20, 20, 12, 20, 20, 20]
    there = np.isfinite(y)
    rows, points = np.nonzero(there)
    shuffled = np.random.default_rng(0).permutation(rows.size)
    table = {"x": X[points][shuffled], "y": y[there][shuffled], "curve": rows[shuffled]}
    long = LAW.fit(table, by="curve")
    assert list(long.params["curve"].values) == [0, 1, 2, 3, 4, 5]
    alone = LAW.fit({"x": X[:12], "y": y[2, :12]})
    for name in LAW.parameters:
        np.testing.assert_allclose(long.params[name].values, grid.params[name].values, rtol=1e-5)
        assert float(grid.params[name][2]) == pytest.approx(alone.values[name], rel=1e-5)


def test_weights_are_laid_by_the_names_of_their_dimensions():
    data = curves(4)
    weights = xr.DataArray(np.random.default_rng(1).uniform(0.5, 2, (4, 20)), dims=("curve", "point"))
    one, other = (LAW.fit(data, by="curve", weights=each) for each in (weights, weights.transpose()))
    assert one.params.identical(other.params)
    assert not one.params.equals(LAW.fit(data, by="curve").params)


def test_a_variable_that_all_curves_share_beside_one_that_they_do_not():
    law = forecast.Law("a + b*z + d*exp(-k*x)", variables=["x", "z"], positive=["d", "k"])
    rng, x = np.random.default_rng(0), np.linspace(0, 5, 30)
    z = rng.standard_normal((7, 30))
    y = 1 + 0.5 * z + 3 * np.exp(-rng.uniform(0.5, 2, (7, 1)) * x) + 0.01 * rng.standard_normal((7, 30))
    fits = law.fit(xr.Dataset({"x": ("p", x), "z": (("c", "p"), z), law.output: (("c", "p"), y)}), by="c")
    for i in range(7):
        alone = law.fit({"x": x, "z": z[i], law.output: y[i]})
        for name in law.parameters:
            assert float(fits.params[name][i]) == pytest.approx(alone.values[name], rel=1e-7)


def test_a_failed_row_is_marked_and_raises_nothing():
    data = curves(6)
    y = data["y"].values.copy()
    y[0] = -1.0
    y[1, 2:] = np.nan
    y[3, 4] = np.inf
    fits = LAW.fit(data.assign(y=(("curve", "point"), y)), by="curve", objective="least_squares_log")
    assert list(fits.converged.values) == [False, False, True, False, True, True]
    for name in LAW.parameters:
        assert list(np.isnan(fits.params[name].values)) == [True, True, False, True, False, False]
        assert list(np.isnan(fits.stderr[name].values)) == [True, True, False, True, False, False]
    assert "takes the log of y, which is not positive" in str(fits.verdict.values[0])
    assert "fewer than 3 points" in str(fits.verdict.values[1])
    assert "missing or infinite" in str(fits.verdict.values[3])
    assert "3 of 6 fits failed, the first is curve run 0" in fits.warnings[0]
    assert "6 fits over 'curve', 3 converged" in fits.summary()
    assert np.isnan(fits.residual_scale.values[[0, 1, 3]]).all()
    assert np.isnan(fits.covariance.values[[0, 1, 3]]).all()
    for found in (fits.interval("c"), fits.interval("c", method="wald"), fits.predict(x=[3.0, 1e5], level=0.8)):
        for column in ("lower", "upper"):
            rows = np.isnan(found[column].values).reshape(6, -1)
            assert rows.any(axis=1).tolist() == rows.all(axis=1).tolist() == [True, True, False, True, False, False]
        assert "3 of 6 fits failed" in found.attrs["warnings"]
    with pytest.raises(FitError, match="curve run 1: not fitted: fewer than 3 points"):
        fits.select("run 1")


def test_a_constant_curve_is_not_known_beyond_its_level():
    data = curves(3)
    y = data["y"].values.copy()
    y[1] = 2.0 * np.exp(0.02 * np.random.default_rng(4).standard_normal(20))
    fits = LAW.fit(data.assign(y=(("curve", "point"), y)), by="curve", objective="least_squares_log")
    errors = fits.stderr["c"].values / fits.params["c"].values
    assert np.isnan(errors[1]) or errors[1] > 0.5
    assert (errors[[0, 2]] < 0.2).all()


def test_weights_let_and_y_go_through():
    data = curves(4)
    weights = np.ones((4, 20))
    weights[:, 3] = 0.0
    data = data.assign(w=(("curve", "point"), weights), thousands=data["x"] / 1000).drop_vars("x")
    fits = LAW.fit(data, by="curve", let={"x": "thousands*1000"}, y="2*y", weights="w")
    keep = np.arange(20) != 3
    alone = LAW.fit({"x": X[keep], "y": 2 * data["y"].values[2, keep]})
    assert float(fits.params["b"][2]) == pytest.approx(alone.values["b"], rel=1e-6)
    assert int(fits.n[2]) == 19


LONG = {"x": np.tile(X, 2), "y": curves(2)["y"].values.ravel(), "run": np.repeat(["a", "b"], 20)}


@pytest.mark.parametrize(
    ("keywords", "says"),
    [
        ({"y": 3.0}, "y: expected a column or a formula, got float"),
        ({"let": {"x": 3}}, "variable 'x': expected a column or a formula, got int"),
        ({"y": "x"}, "y: the column 'x' is also the variable 'x'"),
        ({"weights": object()}, "weights: expected numbers"),
        ({"let": {"x": "run"}}, "variable 'x': column 'run': expected numbers, got text"),
    ],
)
def test_many_fits_read_their_data_as_one_does(keywords, says):
    for by in ({}, {"by": "run"}):
        with pytest.raises((DataError, UsageError), match=says):
            LAW.fit(LONG, **keywords, **by)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_a_curve_whose_squares_leave_double_precision_is_not_fitted(size):
    fits = LAW.fit({**LONG, "y": LONG["y"] * np.where(LONG["run"] == "a", 1.0, size)}, by="run")
    assert fits.converged.values.tolist() == [True, False]
    assert "leaves double precision; scale it: y='6e" in str(fits.outcome.values[1])


def test_dates_are_decimal_years_along_many_curves_too():
    line = forecast.Law("a + b*t", variables=["t"])
    days = np.datetime64("2020-01-01") + np.arange(40) * np.timedelta64(30, "D")
    table = {"t": np.tile(days, 2), "y": np.tile(np.arange(40.0), 2), "run": np.repeat([1, 2], 40)}
    grid = xr.Dataset({"t": ("p", days), "y": (("run", "p"), table["y"].reshape(2, 40))}, coords={"run": [1, 2]})
    alone = line.fit({name: column[:40] for name, column in table.items()})
    assert alone.values["b"] == pytest.approx(365.25 / 30, rel=1e-3)
    for data in (table, grid):
        np.testing.assert_allclose(line.fit(data, by="run").params["b"].values, alone.values["b"], rtol=1e-9)


def test_a_dimension_named_like_a_parameter_is_refused():
    with pytest.raises(UsageError, match="by='c' is also a parameter of the law"):
        LAW.fit({**LONG, "c": LONG["run"]}, by="c")


def test_what_is_wrong_with_all_of_them_is_raised():
    with pytest.raises(UnknownNameError, match="unknown column 'x'"):
        LAW.fit(curves(3).drop_vars("x"), by="curve")
    with pytest.raises(UnknownNameError, match="'curves'"):
        LAW.fit({"x": X, "y": X, "curve": X}, by="curves")
    with pytest.raises(DataError, match="one other dimension"):
        LAW.fit(curves(3).expand_dims("extra"), by="curve")
    with pytest.raises(UsageError, match="by= does not take"):
        LAW.fit(curves(3), by="curve", groups="g")
    with pytest.raises(UsageError, match="start: 'c' is missing"):
        LAW.fit(curves(3), by="curve", start={"E": 1.0, "b": 2.0})
    with pytest.raises(UsageError, match="needs options="):
        LAW.fit(curves(3), by="curve", objective="binomial")
    with pytest.raises(UnknownNameError, match="'trails'"):
        LAW.fit(curves(3), by="curve", objective="binomial", options={"trials": "trails"})


# A batch is the loop of its fits --------------------------------------------------------------------------------------

SPREAD = {"w": np.linspace(0.5, 2, 20), "s": np.linspace(0.01, 0.03, 20)}
START = {"E": 1.0, "b": 2.0, "c": 0.5}
COMBINATIONS = {
    "start": {"start": START},
    "start, Huber": {"start": START, "objective": "huber_log"},
    "weights": {"weights": "w"},
    "weights as numbers": {"weights": np.linspace(0.5, 2, 20)},
    "sigma": {"sigma": "s"},
    "sigma, logarithms, start": {"sigma": "s", "objective": "least_squares_log", "start": START},
    "likelihood of Huber": {"objective": "huber_likelihood_log"},
    "quantile": {"objective": "quantile_log", "options": {"tau": 0.8}},
    "delta": {"objective": "huber_log", "options": {"delta": 0.01}},
    "bootstrap": {"objective": "least_squares_log", "bootstrap": 40, "seed": 2},
    "bootstrap, wild, weights": {"bootstrap": 40, "resample": "wild", "weights": "w"},
    "bootstrap, start": {"bootstrap": 40, "start": START, "resample": "residuals"},
}


def same(fits, i, alone, level=0.9, close=1e-8):
    """Hold one of many fits to the single fit."""
    for name in alone.law.parameters:
        error = float(alone.stderr[name])
        assert float(fits.params[name][i]) == pytest.approx(alone.values[name], rel=close, abs=1e-5 * min(error, 1e9))
        assert float(fits.stderr[name][i]) == pytest.approx(error, rel=2e-6)
        for method in (None, "wald", *(["bootstrap"] if alone.replicates else [])):
            try:
                expected = alone.interval(name, level, method)
            except FitError:
                expected = (np.nan, np.nan)
            found = fits.interval(name, level, method)
            both = (float(found["lower"][i]), float(found["upper"][i]))
            assert both == pytest.approx(expected, rel=1e-4, nan_ok=True), (name, method)
    assert bool(fits.converged[i]) == alone.converged
    assert float(fits.objective[i]) == pytest.approx(alone.objective, rel=2e-6)
    assert float(fits.residual_scale[i]) == pytest.approx(alone.residual_scale, rel=2e-6)
    points = {v: [5.0, 1e5] for v in alone.law.variables}
    ours, theirs = fits.predict(level=0.8, **points), alone.predict(level=0.8, **points)
    for column in ("median", "lower", "upper", "observed_lower", "observed_upper"):
        np.testing.assert_allclose(ours[column].values[i], theirs[column].values, rtol=1e-5)
    size = np.sqrt(np.diag(alone.covariance.values))
    apart = (fits.covariance.values[i] - alone.covariance.values) / np.outer(size, size)
    assert np.abs(apart).max() < 1e-5


@pytest.mark.parametrize("combination", sample(COMBINATIONS, 6))
def test_each_combination_is_the_loop_of_single_fits(combination):
    asked, data = COMBINATIONS[combination], curves(5, seed=3)
    fits = LAW.fit(data.assign({n: ("point", v) for n, v in SPREAD.items()}), by="curve", **asked)
    assert fits.converged.all()
    for i in range(5):
        alone = LAW.fit({"x": X, "y": data["y"].values[i], **SPREAD}, **asked)
        same(fits, i, alone, close=1e-7 if "objective" in asked else 1e-8)


@pytest.mark.slow
def test_counts_are_the_loop_too():
    rng = np.random.default_rng(1)
    x, trials = np.linspace(-5, 5, 25), np.full((4, 25), 200)
    share = 0.9 / (1 + np.exp(-rng.uniform(0.5, 2, (4, 1)) * (x - rng.uniform(-2, 2, (4, 1)))))
    hits = rng.binomial(trials, 0.25 + 0.75 * share)
    law = forecast.Law("top/(1+exp(-k*(x-m)))", variables=["x"], bounds={"top": (0, 1)}, positive=["k"])
    asked = {"objective": "binomial", "options": {"trials": "n", "chance": 0.25}}
    columns = {"x": np.tile(x, 4), "y": hits.ravel(), "n": trials.ravel(), "task": np.repeat([*"abcd"], 25)}
    keep = np.ones(100, dtype=bool)
    keep[60:75] = False
    fits = law.fit({n: v[keep] for n, v in columns.items()}, by="task", **asked)
    for i in range(4):
        rows = keep.reshape(4, 25)[i]
        alone = law.fit({"x": x[rows], "y": hits[i, rows], "n": trials[i, rows]}, **asked)
        same(fits, i, alone, close=1e-6)
    wrong = hits.copy()
    wrong[1, 3] = 201
    bad = law.fit({**columns, "y": wrong.ravel()}, by="task", **asked)
    assert list(bad.converged.values) == [True, False, True, True]
    assert "0 <= y <= trials" in str(bad.verdict.values[1])
    with pytest.raises(DataError, match="0 <= y <= trials"):
        law.fit({"x": x, "y": wrong[1], "n": trials[1]}, **asked)


@pytest.mark.slow
def test_a_protocol_starts_each_curve_from_its_own_best_point():
    rng = np.random.default_rng(0)
    law = forecast.law("scaling/chinchilla")
    true = {"E": 1.8, "A": 480.0, "alpha": 0.35, "B": 2100.0, "beta": 0.37}
    n, d = (np.exp(rng.uniform(*np.log(span), 80)) for span in ((1e7, 1e10), (1e9, 1e12)))
    loss = law.value(true, N=n, D=d) * np.exp(0.01 * rng.standard_normal((3, 80)))
    loss[1, 60:] = np.nan
    grid = xr.Dataset(
        {"N": ("run", n), "D": ("run", d), "loss": (("lab", "run"), loss)}, coords={"lab": ["a", "b", "c"]}
    )
    fits = law.fit(grid, by="lab", protocol="besiroglu2024")
    assert fits.n.values.tolist() == [80, 60, 80]
    for i in range(3):
        there = np.isfinite(loss[i])
        alone = law.fit({"N": n[there], "D": d[there], "loss": loss[i, there]}, protocol="besiroglu2024")
        assert float(fits.objective[i]) == pytest.approx(alone.objective, rel=1e-9)
        for name in law.parameters:
            assert float(fits.params[name][i]) == pytest.approx(alone.values[name], rel=1e-6)


def test_what_the_batch_does_not_settle_is_searched_as_a_single_fit():
    law = forecast.Law("a*exp(-((x - m)/w)**2) + b", variables=["x"], positive=["a", "w"])
    rng = np.random.default_rng(2)
    x = np.linspace(0, 100, 60)
    middle = rng.uniform(20, 80, (12, 1))
    y = 3 * np.exp(-(((x - middle) / 4) ** 2)) + 1 + 0.05 * rng.standard_normal((12, 60))
    fits = law.fit(xr.Dataset({"x": ("point", x), "y": (("curve", "point"), y)}), by="curve")
    assert fits.converged.all()
    np.testing.assert_allclose(fits.params["m"].values, middle[:, 0], atol=0.3)


def test_parameters_at_a_bound_and_unknown_ones_are_judged_as_in_a_single_fit():
    data = curves(6, seed=5)
    y = data["y"].values.copy()
    y[1] -= 0.98 * y[1].min()  # no floor: E runs to zero
    y[2] = 2.0 + 0.01 * np.random.default_rng(1).standard_normal(20)  # nothing to see of b and c
    y[4] = 1 + 3 * X**-0.5  # no noise at all
    y[5, 3:] = np.nan  # as many points as parameters
    fits = LAW.fit(data.assign(y=(("curve", "point"), y)), by="curve", objective="least_squares_log")
    for i in range(6):
        there = ~np.isnan(y[i])
        alone = LAW.fit({"x": X[there], "y": y[i][there]}, objective="least_squares_log")
        if not fits.converged[i]:
            assert not alone.converged or alone.uncertainty.unidentified
            continue
        for name in LAW.parameters:
            ours, theirs = float(fits.stderr[name][i]), float(alone.stderr[name])
            assert np.isinf(ours) == np.isinf(theirs), (i, name)
    assert "the data lie on the law to rounding" in str(fits.verdict.values[4])
    assert fits.interval("c")["lower"].values[4] == pytest.approx(0.5, rel=1e-8)
    assert fits.stderr["c"].values[4] < 1e-8
    assert "leave nothing to judge the fit by" in str(fits.verdict.values[5])
    assert "1 of 6 fits have no interval for 'c'" in fits.interval("c").attrs["warnings"]


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(8)), st.integers(0, 5))
def test_the_order_of_curves_and_rows_is_of_no_account(order, seed):
    data = curves(8, seed=9)
    rows, points = np.repeat(np.arange(8), 20), np.tile(np.arange(20), 8)
    shuffled = np.random.default_rng(seed).permutation(160)
    names = np.array([f"{order[i]} {i}" for i in range(8)])  # the labels' own order is another one
    table = {"x": X[points], "y": data["y"].values.ravel(), "curve": names[rows]}
    fits = LAW.fit({n: v[shuffled] for n, v in table.items()}, by="curve", objective="least_squares_log")
    plain = LAW.fit(data, by="curve", objective="least_squares_log")
    for i, name in enumerate(names):
        for parameter in LAW.parameters:
            ours, theirs = fits.params[parameter].sel(curve=name), plain.params[parameter][i]
            assert float(ours) == pytest.approx(float(theirs), rel=1e-8)
            ours, theirs = fits.stderr[parameter].sel(curve=name), plain.stderr[parameter][i]
            assert float(ours) == pytest.approx(float(theirs), rel=1e-6)


# What many fits are asked ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["least_squares", "huber_log"])
def test_one_of_many_is_a_whole_fit(objective):
    data = curves(4)
    fits = LAW.fit(data, by="curve", objective=objective)
    one = fits.select("run 2")
    alone = LAW.fit({"x": X, "y": data["y"].values[2]}, objective=objective)
    for name in LAW.parameters:
        assert one.values[name] == float(fits.params[name][2])
        assert one.interval(name) == pytest.approx(alone.interval(name), rel=1e-4)
    assert one.n == 20
    assert alone.delta is None or one.delta == pytest.approx(alone.delta, rel=1e-6)
    assert one.converged
    assert one.verdict.startswith("converged; the starts agree")
    reached = one.invert(y=2.0, solve_for="x")
    assert float(reached["x"]) == pytest.approx(float(alone.invert(y=2.0, solve_for="x")["x"]), rel=1e-5)
    assert one.profile("c", points=11).sizes["point"] == alone.profile("c", points=11).sizes["point"]
    with pytest.raises(UnknownNameError, match="did you mean 'run 2'"):
        fits.select("run2")


def test_one_of_many_keeps_its_bootstrap():
    fits = LAW.fit(curves(3), by="curve", bootstrap=30, resample="wild")
    one = fits.select("run 1")
    np.testing.assert_array_equal(one.bootstrap["c"].values, fits.bootstrap["c"].values[1])
    assert fits.bootstrap["c"].dims == ("curve", "replicate")
    assert float(one.stderr["c"]) == float(fits.stderr["c"][1])
    with pytest.raises(FitError, match="no bootstrap"):
        _ = LAW.fit(curves(3), by="curve").bootstrap


def test_curves_of_points_of_their_own_are_predicted_by_label():
    fits = LAW.fit(curves(3), by="curve")
    own = xr.DataArray(
        [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dims=("curve", "at"), coords={"curve": ["run 2", "run 0", "run 1"]}
    )
    found = fits.predict(x=own, statistic="mean")
    assert found["median"].dims == ("curve", "at")
    assert found["mean"].dims == ("curve", "at")
    for label in fits.params["curve"].values:
        alone = fits.select(label).predict(x=own.sel(curve=label).values)
        np.testing.assert_allclose(found["lower"].sel(curve=label).values, alone["lower"].values, rtol=1e-9)
    with pytest.raises(DataError, match="lacks some labels of 'curve'"):
        fits.predict(x=own[:2])


def test_intervals_of_a_parameter_that_is_fixed_or_unknown_are_refused():
    fits = LAW.with_(c=0.5).fit(curves(3), by="curve")
    with pytest.raises(UnknownNameError):
        fits.interval("c")
    held = forecast.Law(LAW.expression, variables=["x"], bounds={"c": (0.5, 0.5)}).fit(curves(3), by="curve")
    with pytest.raises(FitError, match="its bounds fix it"):
        held.interval("c")
    assert (held.stderr["c"].values == 0).all()
    with pytest.raises(UnknownNameError, match="did you mean 'wald'"):
        fits.interval("E", method="wold")


def test_the_keywords_are_the_same_for_people_and_for_type_checkers():
    import inspect

    from forecast.fit.options import FitKeywords, FitRequest

    asked = dict(inspect.signature(forecast.Law.fit).parameters)
    asked = {n: p for n, p in asked.items() if n not in ("self", "data")}
    fields = dict(FitRequest.__dataclass_fields__)
    assert set(asked) == set(fields) == {*FitKeywords.__annotations__, "by"}
    for name, parameter in asked.items():
        assert parameter.default == fields[name].default, name
        assert parameter.annotation == fields[name].type, name
