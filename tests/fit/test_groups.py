"""Groups: parameters of a group's own, cluster-robust standard errors, and what rows that share their x say."""

import numpy as np
import pytest
import statsmodels.api as sm

import forecast
from forecast.errors import DataError, FitError, UnknownNameError, UsageError
from forecast.fit.data.groups import point_codes
from forecast.laws.forms import Code

LAW = forecast.Law("E + A*N**-a", variables=["N"], positive=["E", "A", "a"])
N = np.geomspace(1e6, 1e10, 60)
FAMILY = np.where(np.arange(60) % 2, "llama", "gpt-2")
TRUE = np.where(FAMILY == "llama", 1.5, 2.1) + 400 * N**-0.34


def families(noise=0.01, seed=0):
    y = TRUE * np.exp(noise * np.random.default_rng(seed).standard_normal(60))
    return {"N": N, "y": y, "family": FAMILY}


def clustered(seed=0, n=90, groups=12):
    rng = np.random.default_rng(seed)
    g = rng.integers(0, groups, n)
    x = rng.uniform(0, 5, n)
    return {"x": x, "y": 1 + 2 * x + rng.standard_normal(groups)[g] + 0.5 * rng.standard_normal(n), "g": g}


def line():
    return forecast.Law("a + b*x", variables=["x"])


# --- parameters of a group's own --------------------------------------------------------------------------------------


def test_two_families_without_noise_are_recovered_exactly():
    fit = LAW.fit({"N": N, "y": TRUE, "family": FAMILY}, groups="family", varying=("E",))
    assert fit.values == pytest.approx({"E_gpt_2": 2.1, "E_llama": 1.5, "A": 400.0, "a": 0.34}, rel=1e-9)
    assert fit.converged
    assert fit.law.bounds["E_llama"] == (0.0, np.inf)


def test_all_own_is_a_fit_of_each_group_alone():
    data = families()
    fit = LAW.fit(data, groups="family", varying=("E", "A", "a"))
    total = 0.0
    for label in ("llama", "gpt-2"):
        rows = label == FAMILY
        alone = LAW.fit({"N": N[rows], "y": data["y"][rows]})
        total += alone.objective
        assert fit.group(label).values == pytest.approx(alone.values, rel=1e-7)
    assert fit.objective == pytest.approx(total, rel=1e-10)


def test_groups_of_very_different_sizes_each_find_their_optimum():
    rng = np.random.default_rng(4)
    x = np.tile(np.geomspace(1, 100, 25), 4)
    g = np.repeat(["a", "b", "c", "d"], 25)
    truth = {"a": (1.0, 5.0, 0.3), "b": (1e3, 5e4, 1.2), "c": (1e-3, 0.1, 0.7), "d": (10.0, 2.0, 2.0)}
    y = np.concatenate([e + b * np.geomspace(1, 100, 25) ** -c for e, b, c in truth.values()])
    y *= np.exp(0.005 * rng.standard_normal(100))
    law = forecast.law("scaling/saturating-power")
    fit = law.fit({"x": x, "y": y, "g": g}, groups="g", varying=law.parameters, objective="least_squares_log")
    alone = [law.fit({"x": x[g == k], "y": y[g == k]}, objective="least_squares_log").objective for k in truth]
    assert fit.objective == pytest.approx(sum(alone), rel=1e-6)


def test_a_line_with_own_intercepts_is_the_regression_on_dummies():
    data = clustered()
    fit = line().fit(data, groups="g", varying=("a",))
    dummies = (data["g"][:, None] == np.arange(12)).astype(float)
    oracle = sm.OLS(data["y"], np.column_stack([dummies, data["x"]])).fit()
    assert list(fit.values) == [*(f"a_{i}" for i in range(12)), "b"]  # labels that are numbers, in their order
    np.testing.assert_allclose(list(fit.values.values()), oracle.params, rtol=1e-8)
    np.testing.assert_allclose([float(fit.stderr[n]) for n in fit.values], oracle.bse, rtol=1e-8)
    assert fit.interval("b", 0.95) == pytest.approx(tuple(oracle.conf_int()[-1]), rel=1e-6)


@pytest.mark.slow
def test_the_shared_exponent_is_covered():
    inside = 0
    for seed in range(150):
        fit = LAW.fit(families(0.02, seed), groups="family", varying=("E",), objective="least_squares_log")
        low, high = fit.interval("a", 0.9)
        inside += low < 0.34 < high
    assert 0.82 <= inside / 150 <= 0.97


def test_code_and_implicit_laws_have_groups_too():
    code = Code(lambda p, N: p["E"] + p["A"] * np.asarray(N) ** -float(p["a"]), ("E", "A", "a"), ("N",), "law")
    options = {"variables": {"N": ""}, "output": "y", "unit": "", "objective": "least_squares"}
    coded = forecast.Law._from_form(code, options)
    implicit = forecast.Law(
        "log(y - E)", equals="log(A) - a*log(N)", variables=["N"], between=("E", 1e9), positive=["A"]
    )
    start = {"E": 1.7, "A": 300, "a": 0.3}
    plain = LAW.fit(families(), groups="family", varying=("E",))
    for law in (coded, implicit):
        fit = law.fit(families(), groups="family", varying=("E",), start=start)
        assert fit.values == pytest.approx(plain.values, rel=1e-4)


def test_predict_takes_labels_and_suggests_the_nearest(tmp_path):
    fit = LAW.fit(families(), groups="family", varying=("E",), bootstrap=50)
    out = fit.predict(N=[1e9, 1e9], family=["llama", "gpt-2"])
    np.testing.assert_allclose(np.diff(out["median"]), fit.values["E_gpt_2"] - fit.values["E_llama"])
    assert list(out["family"].values) == ["llama", "gpt-2"]
    with pytest.raises(UnknownNameError, match=r"family: unknown group 'lama'; did you mean 'llama'"):
        fit.predict(N=1e9, family="lama")
    again = forecast.load(fit.save(tmp_path / "f.nc"))
    assert again.values == fit.values
    assert again.law.levels == {"family": ("gpt-2", "llama")}
    assert float(again.predict(N=1e9, family="llama")["upper"]) == float(fit.predict(N=1e9, family="llama")["upper"])
    numbered = line().fit(clustered(), groups="g", varying=("a",))
    assert float(numbered.predict(x=0.0, g=11)["median"]) == pytest.approx(numbered.values["a_11"])
    with pytest.raises(UnknownNameError, match="unknown group '12'"):
        numbered.predict(x=0.0, g=12)


def test_one_group_is_a_fit_of_the_plain_law():
    fit = LAW.fit(families(), groups="family", varying=("E",), bootstrap=200)
    one = fit.group("llama")
    assert one.law is LAW
    assert float(one.stderr["E"]) == float(fit.stderr["E_llama"])
    both = [f.predict(N=1e9, **w) for f, w in ((one, {}), (fit, {"family": "llama"}))]
    assert all(float(both[0][n]) == pytest.approx(float(both[1][n]), rel=1e-12) for n in ("lower", "observed_upper"))
    assert float(one.invert(y=2.5, solve_for="N")["N"]) == pytest.approx(
        ((2.5 - one.values["E"]) / one.values["A"]) ** (-1 / one.values["a"]), rel=1e-6
    )
    with pytest.raises(UsageError, match="has no groups"):
        one.group("llama")


def test_the_summary_says_what_is_shared():
    text = LAW.fit(families(), groups="family", varying=("E",)).summary()
    assert "each of 2 groups has its own E (family: gpt-2, llama)" in text
    assert "shared by all groups: A, a" in text


def test_a_start_for_an_own_parameter_is_every_groups():
    fit = LAW.fit(families(), groups="family", varying=("E",), start={"E": 1.7, "A": 300, "a": 0.3})
    assert fit.values == pytest.approx(LAW.fit(families(), groups="family", varying=("E",)).values, rel=1e-5)


def test_fixed_and_tied_groups():
    law = LAW.grouped("family", ["gpt-2", "llama"], varying=["E", "a"]).with_(E_llama=1.5, tie=("a_gpt_2", "a_llama"))
    assert law.parameters == ("E_gpt_2", "A", "a_gpt_2")
    fit = law.fit({"N": N, "y": TRUE, "family": FAMILY})
    assert fit.values == pytest.approx({"E_gpt_2": 2.1, "A": 400.0, "a_gpt_2": 0.34}, rel=1e-8)


@pytest.mark.parametrize(
    ("words", "error", "match"),
    [
        ({"groups": "famly", "varying": ("E",)}, UnknownNameError, "did you mean 'family'"),
        ({"groups": "family", "varying": "E"}, UsageError, "expected names"),
        ({"groups": "family", "varying": ("B",)}, UnknownNameError, "varying: unknown parameter 'B'"),
        ({"varying": ("E",)}, UsageError, "needs groups="),
        ({"groups": ["one"] * 60, "varying": ("E",)}, DataError, "at least 2 different labels"),
        ({"groups": ["a", "b"], "varying": ("E",)}, DataError, "expected 60 labels"),
        ({"groups": np.where(np.arange(60) == 3, "", FAMILY)}, DataError, "no label in row 4 of 60"),
        (
            {"groups": np.where(np.arange(60) == 3, "solo", FAMILY), "varying": ("E", "a")},
            FitError,
            "'solo' has 1 point",
        ),
        ({"groups": np.where(np.arange(60) % 2, "a-b", "a b"), "varying": ("E",)}, UsageError, "'a b' and 'a-b'"),
        (
            {"groups": "family", "varying": ("E",), "bootstrap": 9, "resample": "cluster"},
            UsageError,
            "no 'E' of its own",
        ),
        ({"groups": "family", "by": "family"}, UsageError, "by= does not take groups="),
    ],
)
def test_wrong_use_is_named(words, error, match):
    with pytest.raises(error, match=match):
        LAW.fit(families(), **words)


def test_a_group_that_says_nothing_about_what_is_shared_is_named():
    fit = LAW.fit(families(), groups=np.where(np.arange(60) == 3, "solo", FAMILY), varying=("E",))
    assert any("'solo' has only as many points (1)" in w for w in fit.warnings)


# --- rows that depend on each other -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, np.random.default_rng(5).uniform(0.5, 2, 90)], ids=["plain", "weighted"])
def test_groups_alone_give_the_cluster_sandwich(weights):
    data = clustered()
    fit = line().fit(data, groups="g", weights=weights)
    model = sm.WLS(data["y"], sm.add_constant(data["x"]), weights=1.0 if weights is None else weights)
    oracle = model.fit().get_robustcov_results("cluster", groups=data["g"], use_t=True)
    np.testing.assert_allclose([float(fit.stderr[n]) for n in fit.values], oracle.bse, rtol=1e-8)
    np.testing.assert_allclose(fit.interval("b", 0.95), oracle.conf_int()[1], rtol=1e-8)
    assert fit.stderr.attrs["method"] == "cluster-robust sandwich over 12 groups"
    assert "cluster-robust over 12 groups" in fit.summary()
    assert "cluster-robust" in fit.predict(x=1.0).attrs["bands"]
    assert float(fit.stderr["a"]) > 1.3 * float(line().fit(data, weights=weights).stderr["a"])


def test_clusters_of_counts():
    data = clustered()
    counts = np.random.default_rng(6).poisson(np.exp(0.5 + 0.3 * data["x"]))
    law = forecast.Law("exp(a + b*x)", variables=["x"])
    fit = law.fit({**data, "y": counts}, groups="g", objective="poisson")
    oracle = sm.Poisson(counts, sm.add_constant(data["x"])).fit(
        disp=0, cov_type="cluster", cov_kwds={"groups": data["g"]}
    )
    np.testing.assert_allclose([float(fit.stderr[n]) for n in fit.values], oracle.bse, rtol=1e-6)


def test_few_clusters_are_a_warning():
    data = clustered(groups=4)
    assert any("4 groups are few" in w for w in line().fit(data, groups="g").warnings)


# --- lack of fit ------------------------------------------------------------------------------------------------------


def replicated(bend, seed=0):
    x = np.repeat(np.arange(1.0, 9.0), 4)
    return {"x": x, "y": 1 + 2 * x + bend * x**2 + 0.5 * np.random.default_rng(seed).standard_normal(32)}


@pytest.mark.parametrize("bend", [0.0, 0.1])
def test_lack_of_fit_is_the_f_test_against_a_mean_at_each_x(bend):
    data = replicated(bend)
    found = line().fit(data).diagnostics.lack_of_fit
    cells = (data["x"][:, None] == np.unique(data["x"])).astype(float)
    f, p, _ = sm.OLS(data["y"], cells).fit().compare_f_test(sm.OLS(data["y"], sm.add_constant(data["x"])).fit())
    assert (found.statistic, found.p, found.dof) == (pytest.approx(f), pytest.approx(p), (6, 24))


def test_a_law_that_misses_is_said_to():
    assert "the law misses: lack of fit p = " in line().fit(replicated(0.1)).verdict
    assert "misses" not in line().fit(replicated(0.0)).verdict
    bent = replicated(0.1)
    assert "misses or groups differ" in line().fit(bent, groups=np.arange(32) % 12).verdict
    wide = line().fit({"x": np.arange(8.0), "y": np.arange(8.0) ** 2})
    assert wide.diagnostics.lack_of_fit is None  # no rows share their x


@pytest.mark.slow
def test_lack_of_fit_is_level():
    p = [line().fit(replicated(0.0, seed)).diagnostics.lack_of_fit.p for seed in range(200)]
    assert 0.02 <= np.mean(np.array(p) < 0.1) <= 0.18


def test_copies_of_rows_are_no_pure_error():
    x = np.repeat(np.arange(1.0, 9.0), 2)
    assert line().fit({"x": x, "y": x**2}).diagnostics.lack_of_fit is None


def test_points_have_the_codes_that_numpy_gives_rows():
    rng = np.random.default_rng(0)
    for columns in (1, 2, 3):
        design = rng.integers(-3, 4, (200, columns)).astype(float)
        by_rows = np.unique(design, axis=0, return_inverse=True)[1].ravel()
        np.testing.assert_array_equal(point_codes(list(design.T)), by_rows)
