"""The kernel of any law: its derivatives against differences, and the points of some of the fits."""

from dataclasses import replace

import numpy as np
import pytest

import forecast
from forecast.fit.kernels.general import Placement, ProgramKernel

X = {"N": np.geomspace(1e7, 1e10, 17), "D": np.geomspace(3e8, 4e11, 17)[::-1].copy()}
LAWS = {
    "A*N**-alpha": ["A"],
    "E + A*N**-alpha + B/D**beta": ["E", "A", "alpha", "B", "beta"],
    "E + 2*A/N**(alpha/2) + B*D**(-alpha)": ["E", "A", "B"],
    "A*N**-alpha*D**beta + sqrt(B)/D": ["A", "B"],
    "A*exp(-k*N/1e10) + E": ["A", "E"],
    "A*N**-alpha + 1/N + D/3e12": ["A"],  # terms without a parameter
}


def kernel_of(expression, link):
    used = {v: x for v, x in X.items() if v in expression}
    law = forecast.Law(expression, variables=list(used), positive=LAWS[expression])
    logs = np.array([law.bounds[p][0] >= 0 for p in law.parameters])
    return ProgramKernel(Placement(law=law, variables=used, free=law.parameters, logs=logs, fixed={}, link=link))


def points(kernel, seed, rows=5):
    rng = np.random.default_rng(seed)
    return np.where(kernel.logs[:, None], np.log(0.2), 0.2) + 0.1 * rng.standard_normal((len(kernel.free), rows))


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("expression", LAWS)
def test_gauss_newton_takes_first_derivatives_only(expression, link):
    kernel = kernel_of(expression, link)
    first, second = np.random.default_rng(1).standard_normal((2, 5, 17))
    q, none = points(kernel, 0), np.zeros((5, 1))
    wanted = kernel.contract(kernel.at(q), first, second, none)
    got = kernel.contract(kernel.at(q, 1), first, second, none)
    np.testing.assert_array_equal(kernel.at(q, 0).f, kernel.at(q).f)
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13 * np.abs(other).max())


@pytest.mark.parametrize("link", [False, True])
@pytest.mark.parametrize("expression", ["E + A*N**-alpha + B/D**beta", "A*exp(-k*N/1e10) + E"])
def test_fits_with_points_of_their_own(expression, link):
    rng, kernel = np.random.default_rng(1), kernel_of(expression, link)
    own = {v: x * np.exp(rng.normal(0, 0.2, (5, 17))) for v, x in kernel.variables.items()}
    some = ProgramKernel(replace(kernel.placement, variables=own)).take(np.array([4, 1]))
    first, second = rng.standard_normal((2, 2, 17))
    q = points(kernel, 0, 2)
    got = some.contract(some.at(q), first, second)
    for i, row in enumerate((4, 1)):
        alone = ProgramKernel(replace(kernel.placement, variables={v: x[row] for v, x in own.items()}))
        wanted = alone.contract(alone.at(q[:, i : i + 1]), first[i : i + 1], second[i : i + 1])
        for one, other in zip(got, wanted, strict=True):
            np.testing.assert_allclose(one[..., i : i + 1], other, rtol=1e-9, atol=1e-9 * np.abs(other).max())


@pytest.mark.parametrize("share", [None, 0.0, 0.3])
@pytest.mark.parametrize("expression", LAWS)
def test_against_differences(expression, share):
    kernel = kernel_of(expression, True)
    q = points(kernel, 3, 1)
    first = np.random.default_rng(0).standard_normal((1, 17))
    zero, part = np.zeros_like(first), None if share is None else np.full((1, 1), share)
    gradient, hessian = kernel.contract(kernel.at(q), first, zero, part)
    for i in range(len(kernel.free)):
        step = np.zeros_like(q)
        step[i] = 1e-5
        up, down = (np.sum(first * kernel.at(q + s * step).f) for s in (1, -1))
        assert gradient[i, 0] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-8)
        up, down = (kernel.contract(kernel.at(q + s * step), first, zero)[0][:, 0] for s in (1, -1))
        bend = (up - down) / 2e-5 * (1.0 if share is None else share)
        np.testing.assert_allclose(hessian[i, :, 0], bend, rtol=1e-5, atol=1e-7)
