"""The two routes to derivatives: against each other, and against differences."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import forecast
from forecast.fit.kernels.general import Placement, ProgramKernel
from forecast.fit.kernels.power_sum import PowerSum, power_terms

X = {"N": np.geomspace(1e7, 1e10, 17), "D": np.geomspace(3e8, 4e11, 17)[::-1].copy()}
SUMS = {
    "A*N**-alpha": ["A"],
    "E + A*N**-alpha + B/D**beta": ["E", "A", "alpha", "B", "beta"],
    "E + 2*A/N**(alpha/2) + B*D**(-alpha)": ["E", "A", "B"],
    "A*N**-alpha*D**beta + sqrt(B)/D": ["A", "B"],
    "A*exp(-k*N/1e10) + E": ["A", "E"],
    "A*N**-alpha + 1/N + D/3e12": ["A"],  # terms without a parameter
}


def kernels(expression, positive, link):
    used = {v: x for v, x in X.items() if v in expression}
    law = forecast.Law(expression, variables=list(used), positive=positive)
    logs = np.array([law.bounds[p][0] >= 0 for p in law.parameters])
    terms = power_terms(law, law.parameters, logs, {})
    assert terms is not None
    placement = Placement(law=law, variables=used, free=law.parameters, logs=logs, fixed={}, link=link)
    return PowerSum(terms, used, law.parameters, logs, link), ProgramKernel(placement)


def points(kernel, seed, rows=5):
    rng = np.random.default_rng(seed)
    return np.where(kernel.logs[:, None], np.log(0.2), 0.2) + 0.1 * rng.standard_normal((len(kernel.free), rows))


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("expression", SUMS)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), share=st.sampled_from([None, 0.0, 0.3]))
def test_log_sum_exp_and_general_agree(expression, link, seed, share):
    quick, general = kernels(expression, SUMS[expression], link)
    rng = np.random.default_rng(seed)
    q = points(quick, seed)
    first, second = rng.standard_normal((2, 5, 17))
    part = None if share is None else np.full((5, 1), share)
    a, b = quick.at(q), general.at(q)
    np.testing.assert_allclose(a.f, b.f, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(quick.jacobian(a), general.jacobian(b), rtol=1e-9, atol=1e-12)
    for got, wanted in zip(
        quick.contract(a, first, second, part), general.contract(b, first, second, part), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("share", [None, 0.0, 0.3])
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("expression", ["E + A*N**-alpha + B/D**beta", "A*N**-alpha + E + B*D**-alpha"])
def test_a_linear_constant_at_zero_or_next_to_it_needs_no_general_route(expression, own, share):
    rng = np.random.default_rng(0)
    law = forecast.Law(expression, variables=["N", "D"])
    logs = np.array([p in ("alpha", "beta") for p in law.parameters])
    variables = {v: rng.uniform(1, 1000, (6, 17) if own else 17) for v in ("N", "D")}
    placement = Placement(law=law, variables=variables, free=law.parameters, logs=logs, fixed={}, link=True)
    terms = power_terms(law, law.parameters, np.ones(logs.size, dtype=bool), {})
    general, quick = (
        ProgramKernel(placement),
        PowerSum(terms, variables, law.parameters, logs, True),
    )  # and none to fall to
    rows = np.array([4, 0, 3, 1])
    q = rng.uniform(0.2, 1, (logs.size, 4))
    q[law.parameters.index("E")] = 0, 1e-12, 1e-4, 0.5
    first, second = rng.standard_normal((2, 4, 17))
    part = None if share is None else np.full((4, 1), share)
    a, b = quick.take(rows), general.take(rows)
    x, y = a.at(q), b.at(q)
    np.testing.assert_allclose(x.f, y.f, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(a.jacobian(x), b.jacobian(y), rtol=1e-11)
    for got, wanted in zip(a.contract(x, first, second, part), b.contract(y, first, second, part), strict=True):
        size = np.abs(wanted).max(axis=-1, keepdims=True)
        np.testing.assert_allclose(got / size, wanted / size, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("expression", "positive"),
    [
        ("E - A*N**-alpha", ["E", "A"]),  # a negative term
        ("E + A*N**-alpha", ["A"]),  # E of either sign
        ("A*N**-A", ["A"]),  # coefficient and exponent at once
        ("(N/c)**alpha", ["c"]),  # not affine: alpha*log c
        ("A*(1 + N)**-alpha*log(alpha)", ["A", "alpha"]),
    ],
)
def test_what_is_no_sum_of_power_terms(expression, positive):
    law = forecast.Law(expression, variables=["N"], positive=positive)
    logs = np.array([law.bounds[p][0] >= 0 for p in law.parameters])
    assert power_terms(law, law.parameters, logs, {}) is None


def test_a_fit_is_the_same_by_both_routes():
    n = np.geomspace(10, 1e4, 40)
    y = (1.7 + 8 * n**-0.35) * np.exp(0.02 * np.random.default_rng(0).standard_normal(40))
    quick = forecast.Law("E + b*N**-c", variables=["N"], positive=["E", "b", "c"])
    general = forecast.Law("E - (-b)*N**-c", variables=["N"], positive=["E", "b", "c"])
    logs = np.ones(3, dtype=bool)
    assert power_terms(general, general.parameters, logs, {}) is None
    for objective in ("least_squares", "huber_log"):
        one, other = (law.fit({"N": n, "y": y}, objective=objective) for law in (quick, general))
        assert one.values == pytest.approx(other.values, rel=1e-7)
        assert one.objective == pytest.approx(other.objective, rel=1e-9)
