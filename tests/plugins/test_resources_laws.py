"""Laws between a resource and what it buys: closed forms, derivations, and fits to the shared tables."""

import numpy as np
import pytest
import sympy

import forecast
from forecast_resources import ideas


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_the_effective_number_of_ideas_is_that_of_the_inverted_matrix(n):
    closed = ideas.effective_number().subs(sympy.Symbol("n"), n)
    assert sympy.simplify(closed - ideas.effective_number(n)) == 0


def test_the_law_of_overlapping_ideas_is_the_derived_one():
    law = forecast.law("resources/overlapping-ideas")
    n, rho = sympy.symbols("n rho")
    derived = sympy.lambdify((n, rho), ideas.effective_number(), "numpy")
    x = np.array([1.0, 2.0, 10.0, 1000.0])
    assert law.value({"gain": 0.5, "rho": 0.2}, n=x) == pytest.approx(0.5 * derived(x, 0.2))
    # independent ideas add up, identical ones are worth one, and related ones never more than 1/rho
    assert law.value({"gain": 1.0, "rho": 0.0}, n=x) == pytest.approx(x)
    assert law.value({"gain": 1.0, "rho": 1.0}, n=x) == pytest.approx(np.ones(4))
    assert law.value({"gain": 1.0, "rho": 0.2}, n=1e12) == pytest.approx(5.0)
    assert sympy.simplify(ideas.limit() - 1 / sympy.Symbol("rho")) == 0


def test_pooling_over_a_distance_saturates_with_its_square():
    law = forecast.law("resources/contention")
    near, far = (law.value({"rate": 1.0, "k": 0.01}, n=1e9, d=d) for d in (1.0, 2.0))
    assert near / far == pytest.approx(4.0, rel=1e-6)
    assert law.value({"rate": 3.0, "k": 0.01}, n=1.0, d=9.0) == pytest.approx(3.0)


def test_the_laws_reach_their_floors_and_ceilings():
    sigmoid, ceiling = forecast.law("resources/sigmoid"), forecast.law("resources/power-ceiling")
    values = {"low": 0.2, "high": 0.8, "middle": 100.0, "steepness": 2.0}
    assert sigmoid.value(values, x=np.array([1e-6, 100.0, 1e9])) == pytest.approx([0.2, 0.5, 0.8])
    assert ceiling.value({"top": 90.0, "b": 5.0, "c": 0.5}, x=1e18) == pytest.approx(90.0)
    floor = forecast.law("resources/power-floor")
    assert floor.value({"bottom": 7.0, "b": 5.0, "c": 0.5}, x=1e-18) == pytest.approx(7.0, abs=1e-6)
