import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import forecast
from forecast.errors import FitError, FormulaError, UnknownNameError, UsageError
from toolkit import stated, training_runs


def chinchilla(**parameters):
    return stated("E + A*N**-alpha + B*D**-beta", parameters, variables=["N", "D"], output="loss")


@pytest.mark.parametrize("name", ["besiroglu2024", "besiroglu2024-mle", "hoffmann2022", "hoffmann2022-a3"])
@pytest.mark.parametrize("compute", [1e18, 1e21, 1e25, 1e29])
def test_chinchilla_agrees_with_the_closed_form(name, compute):
    fit = forecast.law("scaling/chinchilla").published(name)
    v = fit.values
    total = v["alpha"] + v["beta"]
    gain = (v["alpha"] * v["A"] / (v["beta"] * v["B"])) ** (1 / total)
    best = fit.allocate(compute=compute, cost="6*N*D")
    assert float(best["N"]) == pytest.approx(gain * (compute / 6) ** (v["beta"] / total), rel=1e-10)
    assert float(best["D"]) == pytest.approx((compute / 6) ** (v["alpha"] / total) / gain, rel=1e-10)
    assert float(best["tokens_per_parameter"]) == pytest.approx(float(best["D"] / best["N"]))
    assert float(best["loss"]) == pytest.approx(float(fit.law.value(v, N=best["N"], D=best["D"])))
    assert best["N"].attrs["unit"] == "param"
    assert best.attrs["no_interval"]


@settings(max_examples=15, deadline=None)
@given(alpha=st.floats(0.1, 1.5), beta=st.floats(0.1, 1.5), share=st.floats(0.5, 3.0), compute=st.floats(18, 26))
def test_any_power_cost_agrees_with_the_closed_form(alpha, beta, share, compute):
    fit = chinchilla(E=1.0, A=300.0, alpha=alpha, B=900.0, beta=beta)
    best = fit.allocate(compute=10**compute, cost=f"N**{share!r}*D")
    n, d = float(best["N"]), float(best["D"])
    # at the best split the gain per cost is the same: alpha A N^-alpha / share = beta B D^-beta
    assert alpha * 300 * n**-alpha / share == pytest.approx(beta * 900 * d**-beta, rel=1e-8)
    assert n**share * d == pytest.approx(10**compute, rel=1e-9)


def test_a_cost_with_inference_moves_to_smaller_models():
    fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
    plain = fit.allocate(compute=1e24)
    lifetime = fit.allocate(compute=1e24, cost="6*N*D + 2*N*1e13")
    assert float(lifetime["N"]) < float(plain["N"])
    assert 6 * float(lifetime["N"] * lifetime["D"]) + 2e13 * float(lifetime["N"]) == pytest.approx(1e24, rel=1e-9)
    n = float(lifetime["N"]) * np.array([0.99, 1.01])
    assert fit.law.value(fit.values, N=n, D=(1e24 / n - 2e13) / 6).min() > float(lifetime["loss"])


def test_a_law_with_other_names_has_no_tokens_per_parameter():
    fit = stated("a*u**-b + c*w**-d", {"a": 1.0, "b": 0.5, "c": 1.0, "d": 0.5}, variables=["u", "w"])
    best = fit.allocate(compute=100.0, cost="u*w")
    assert float(best["u"]) == pytest.approx(10.0)
    assert set(best.data_vars) == {"u", "w", "y"}


@pytest.mark.parametrize(
    ("fit", "cost", "says"),
    [
        (chinchilla(E=1.0, A=300.0, alpha=0.3, B=0.0, beta=0.3), "6*N*D", "keeps falling as 'N' becomes as large"),
        (chinchilla(E=1.0, A=0.0, alpha=0.3, B=900.0, beta=0.3), "6*N*D", "keeps falling as 'N' becomes as small"),
        (chinchilla(E=1.0, A=0.0, alpha=0.3, B=0.0, beta=0.3), "6*N*D", "there is no best one"),
        (chinchilla(E=1.0, A=300.0, alpha=0.3, B=900.0, beta=0.3), "6*N", "does not depend on 'D'"),
        (chinchilla(E=1.0, A=300.0, alpha=0.3, B=900.0, beta=0.3), "N/D", "must grow with both"),
        (chinchilla(E=1.0, A=300.0, alpha=0.3, B=900.0, beta=0.3), "0*N*D", "no split spends"),
    ],
)
def test_corners_and_impossible_budgets_say_so(fit, cost, says):
    with pytest.raises(FitError, match=says):
        fit.allocate(compute=1e22, cost=cost)


def test_wrong_questions():
    fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
    for compute in (0.0, -1.0, float("nan"), float("inf"), True):
        with pytest.raises(UsageError, match="compute: expected a positive number"):
            fit.allocate(compute=compute)
    with pytest.raises(UnknownNameError, match="unknown variable 'P'"):
        fit.allocate(compute=1e20, cost="6*P*D")
    with pytest.raises(FormulaError):
        fit.allocate(compute=1e20, cost="__import__('os').system('true')")
    one = stated("a*x**-b", {"a": 1.0, "b": 0.5}, variables=["x"])
    with pytest.raises(UsageError, match="two variables, not 1"):
        one.allocate(compute=1.0, cost="x")


def test_an_allocation_far_from_the_data_is_flagged():
    law = forecast.law("scaling/chinchilla")
    best = law.fit(training_runs(60)).allocate(compute=1e26)
    assert best.attrs["extrapolation_decades"] > 1
    assert "decades outside its data" in best.attrs["warnings"]


@pytest.fixture(scope="module")
def from_data():
    law = forecast.law("scaling/chinchilla")
    return law.fit(training_runs(120))


def test_every_draw_agrees_with_the_closed_form(from_data):
    from forecast.fit.inference.laplace import interval, parameter_draws
    from forecast.planning.allocate import best_splits, price_of

    p = parameter_draws(from_data, 2048, 0)
    found, end = best_splits(from_data, p, price_of(from_data, "6*N*D"), np.full(2048, 1e22))
    total = p["alpha"] + p["beta"]
    exact = (p["alpha"] * p["A"] / (p["beta"] * p["B"])) ** (1 / total) * (1e22 / 6) ** (p["beta"] / total)
    assert (end == 0).all()
    np.testing.assert_allclose(found["N"], exact, rtol=1e-9)
    best = from_data.allocate(compute=1e22, level=0.9)
    low, high = interval(exact, 0.9)
    assert float(best["N_lower"]) == pytest.approx(low, rel=1e-9)
    assert float(best["N_upper"]) == pytest.approx(high, rel=1e-9)
    for name in ("N", "D", "loss", "tokens_per_parameter"):
        assert float(best[f"{name}_lower"]) < float(best[name]) < float(best[f"{name}_upper"])
        assert best[f"{name}_lower"].attrs["unit"] == best[name].attrs["unit"]
    assert "no_interval" not in best.attrs
    assert best.attrs["level"] == 0.9


def test_the_interval_covers_the_truth(from_data):
    best = from_data.allocate(compute=1e22, level=0.99)
    truth = forecast.law("scaling/chinchilla").published("besiroglu2024").allocate(compute=1e22)
    for name in ("N", "D", "tokens_per_parameter"):
        assert float(best[f"{name}_lower"]) < float(truth[name]) < float(best[f"{name}_upper"])


def test_inference_tokens_are_a_cost_over_the_life_of_a_model(from_data):
    best = from_data.allocate(compute=1e23, inference_tokens=1e12, draws=100)
    formula = from_data.allocate(compute=1e23, cost="6*N*D + 2*N*1e12", draws=100)
    assert best.identical(formula)
    n, d = float(best["N"]), float(best["D"])
    assert 6 * n * d + 2e12 * n == pytest.approx(1e23, rel=1e-9)
    assert n < float(from_data.allocate(compute=1e23, draws=100)["N"])
    for wrong in (0, -1.0, float("nan"), "many"):
        with pytest.raises(UsageError, match="inference_tokens: expected a positive number"):
            from_data.allocate(compute=1e23, inference_tokens=wrong)


def test_equal_seeds_give_equal_intervals_and_fewer_draws_are_a_prefix(from_data):
    from forecast.fit.inference.laplace import parameter_draws

    one = from_data.allocate(compute=1e22, draws=300, seed=4)
    assert one.identical(from_data.allocate(compute=1e22, draws=300, seed=4))
    assert not one.equals(from_data.allocate(compute=1e22, draws=300, seed=5))
    few, many = parameter_draws(from_data, 100, 0), parameter_draws(from_data, 2000, 0)
    np.testing.assert_array_equal(few["alpha"], many["alpha"][:100])


def test_published_standard_errors_without_correlations_give_no_interval():
    fit = forecast.law("scaling/chinchilla").published("besiroglu2024-mle")
    best = fit.allocate(compute=1e25)
    assert "N_lower" not in best
    assert best.attrs["no_interval"] == ("the source states standard errors but not how the parameters vary together")


def test_a_law_that_is_code_is_split_as_its_formula_is():
    from forecast.formula import parse
    from forecast.planning.constrained_minimum import FormulaSurface, LawSurface, lowest

    law = forecast.law("scaling/chinchilla")

    class Code:
        variables, parameters = law.variables, law.parameters
        value = staticmethod(law.value)

        @property
        def formula(self):
            raise UsageError("is code")

    parameters = law.published("besiroglu2024").values
    cost = FormulaSurface(parse("6*N*D"), ("N", "D"))
    level = np.array([1e25])
    exact, numeric = (lowest(LawSurface.of(one, parameters), cost, level, rising=True).u for one in (law, Code()))
    np.testing.assert_allclose(numeric, exact, rtol=1e-8)


def test_a_bootstrap_gives_the_draws(from_data):
    from forecast.fit.inference.laplace import parameter_draws

    law = from_data.law
    fit = law.fit(training_runs(120), bootstrap=300)
    drawn = parameter_draws(fit, 100, 0)
    known = set(fit.replicates.good[fit.replicates.names.index("alpha")].tolist())
    assert set(drawn["alpha"].tolist()) <= known
    best = fit.allocate(compute=1e22)
    assert float(best["N_lower"]) < float(best["N"]) < float(best["N_upper"])
