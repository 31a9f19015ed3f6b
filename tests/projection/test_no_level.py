"""Worlds without a level: an equation with several solutions or none, and what overflows, fail as NaN does."""

import json

import numpy as np
import pytest

import forecast
from forecast.errors import DataError
from forecast.formula import parse_expression
from forecast.formula.tree import evaluate
from forecast.projection.paths.find_solutions import find_solutions, is_injective

SPAN = {"start": 2025, "until": 2030}


def project(draws=2000, **record):
    return forecast.project({**SPAN, **record}, draws=draws)


def solved(so, draws=2048, **quantities):
    quantities = {n: {"expression": e} for n, e in quantities.items()}
    return project(draws=draws, solve={"k": {"so": so}}, quantities=quantities)


#: Equations with one solution, and it.
ONE = {
    "y == 7": ("2*k", 3.5),
    "y == 8": ("k**3", 2.0),
    "y == 0": ("k", 0.0),
    "y == 5": ("k + 5", 0.0),
    "y == -3": ("k", -3.0),
    "y == 4": ("where(k > 0, k*k, -1)", 2.0),
    "y == 0.5": ("1 - exp(-k)", np.log(2)),
    "y == 1e12": ("exp(k)", 12 * np.log(10)),
    "(k - 1)**2 == 0": ("k", 1.0),
    "1/(k - 1) == 2": ("k", 1.5),
}

#: Equations with several solutions, or infinitely many: none is taken.
SEVERAL = {
    "of either sign": "k*k - 4",
    "far apart": "(k - 1)*(k - 100)",
    "three in a row": "(k - 1)*(k - 1.2)*(k - 1.5)",
    "two of three between neighbouring powers": "(k - 1)*(k - 2)*(k - 3)",
    "close to each other": "(k - 1)*(k - 1.0001)",
    "three close to each other": "(k - 100)*(k - 100.5)*(k - 101)",
    "irrational": "k - k**3/6",
    "where they meet and do not change order": "(k - 1)**2*(k - 5)",
    "where they meet twice": "(k - 1.1)**2*(k - 1.3)**2",
    "of a logarithm": "log(k)**3 - log(k)",
    "of a sine": "sin_of",
    "a flat region": "min(k, 5) - 5",
    "everything": "k - k",
    "a flat region below zero": "max(k, -2) + 2",
}


def test_an_equation_with_one_solution_has_it():
    for so, (expression, answer) in ONE.items():
        found = solved(so, y=expression)["projection"]["k"].values
        np.testing.assert_allclose(found, answer, rtol=1e-9, atol=1e-9, err_msg=f"{so}, y = {expression}")


def test_an_equation_with_several_solutions_has_none():
    for case, expression in SEVERAL.items():
        if expression == "sin_of":
            expression = "k*(k - 3)*(k + 3)"
        with pytest.raises(DataError) as caught:
            solved("y == 0", draws=256, y=expression)
        says = "solve.k.so: 'y == 0' has several solutions in 256 of 256 worlds"
        assert says in str(caught.value), (case, str(caught.value))


def test_several_solutions_are_named():
    with pytest.raises(DataError, match=r"has several solutions in 2048 of 2048 worlds, such as 1, 2, 3"):
        solved("y == 0", y="(k - 1)*(k - 2)*(k - 3)")


@pytest.mark.slow
def test_the_solutions_of_polynomials_are_their_roots():
    """Roots are drawn, and found again by the values of the polynomial alone: all but of a few crowded ones."""
    rng = np.random.default_rng(0)
    wrong = several = worlds = 0
    for _ in range(20):
        roots = np.sign(rng.uniform(-1, 1, (4, 16))) * 10 ** rng.uniform(-2, 3, (4, 16))
        roots = roots[: rng.integers(1, 5)]
        found, flat = find_solutions(lambda k, roots=roots: (np.prod(k - roots, axis=0), np.full(16, 1e-300)), 16)
        assert not flat.any()
        for world in range(16):
            seen, stated = np.sort(found[:, world][~np.isnan(found[:, world])]), np.sort(roots[:, world])
            wrong += seen.shape != stated.shape or not np.allclose(seen, stated, rtol=1e-5)
            several += (len(seen) > 1) is not (len(stated) > 1)
            worlds += 1
    assert several == 0  # nobody is given one of several
    assert wrong <= 0.02 * worlds


def failing(run):
    return {row["name"]: row for row in json.loads(run.to_xarray().attrs.get("failing", "[]"))}


@pytest.mark.parametrize("text", ["a*k/b - 2", "1/(k - a) - b", "log(k + a) - b", "logistic(a - k) - 1", "exp(-k*a)"])
def test_sides_that_are_equal_once_have_the_solution_that_a_look_everywhere_finds(text):
    """Also where there is a pole, no solution, or a stretch on which rounding makes the sides equal."""
    tree = parse_expression(text).root
    a, b = np.random.default_rng(1).normal(size=(2, 64)) * 10.0 ** np.arange(-2, 2).repeat(16)

    def sides(k):
        with np.errstate(all="ignore"):
            value = evaluate(tree, {"a": a, "b": b, "k": np.broadcast_to(k, 64)})
        return value, np.abs(value) + 1

    assert is_injective(tree, {"k"})
    with np.errstate(all="ignore"):
        (one, flat), (every, flat_too) = (find_solutions(sides, 64, once=once) for once in (True, False))
    np.testing.assert_array_equal(one, every)
    np.testing.assert_array_equal(flat, flat_too)


def test_worlds_in_which_an_equation_has_several_solutions_or_none_are_counted_and_left_out():
    # x is uniform from -1 to 4,000: below 0 there is no solution, just above it there are two, and above 1 there is one
    run = project(
        draws=10_000,
        solve={"k": {"so": "y == x"}},
        quantities={
            "x": {"low": -1, "high": 4000, "unit": ""},
            "y": {"expression": "where(k > 0, k*k, where(k > -1, k*k, -9))"},
            "z": {"expression": "k + 1"},
        },
        questions={"q": {"when": "z >= 2"}},
    )
    x, k = run["projection"]["x"].values, run["projection"]["k"].values
    x, k = (np.broadcast_to(each, (6, each.shape[-1]))[0] for each in (x, k))
    bad = np.isnan(k)
    assert bad[x < 0.3].all()
    assert not bad[x >= 1].any()
    np.testing.assert_allclose(k[~bad], np.sqrt(x[~bad]), rtol=1e-9)
    rows = failing(run)
    assert bad.any()
    assert {"k", "z", "q"} <= set(rows)
    assert rows["k"]["worlds"] == bad.sum()
    assert "solution" in rows["k"]["reason"]


def test_what_overflows_fails_in_the_worlds_in_which_it_does():
    stocks = {"S": {"initial": 1, "log_rate": "g"}}
    run = project(
        draws=10_000,
        stocks=stocks,
        quantities={
            "u": {"low": 0, "high": 1, "unit": ""},
            "g": {"expression": "where(u > 0.9997, 300, 0.1)"},
            "e": {"expression": "10**(where(u > 0.9997, 400, 1)*(t - start))"},
            "twice": {"expression": "2*S"},
        },
        questions={"q": {"when": "S >= 1e9"}},
    )
    data = run["projection"].to_dataset()
    bad = data["u"].values[0] > 0.9997
    assert 0 < bad.sum() < 20
    for name in ("S", "e", "twice"):
        assert np.isnan(data[name].values[:, bad]).all(), name
        assert np.isfinite(data[name].values[:, ~bad]).all(), name
    rows = failing(run)
    assert {"S", "e", "twice", "q"} <= set(rows)
    assert rows["S"]["first"] == "2028-01-01"
    assert rows["e"]["first"] == "2026-01-01"
    assert "infinite" in rows["S"]["reason"]
    assert "infinite" in rows["e"]["reason"]
    with pytest.raises(DataError, match=r"stocks\.S: .* values are infinite"):
        project(stocks={"S": {"initial": 1, "log_rate": "500"}})
    with pytest.raises(DataError, match=r"quantities\.e: .* values are infinite"):
        project(quantities={"e": {"expression": "10**(400*(t - start))"}})


def test_a_date_that_never_comes_stays_infinite_and_is_no_failure():
    run = project(
        quantities={
            "x": {"expression": "u*(t - start)"},
            "u": {"low": 0.5, "high": 2, "unit": ""},
            "later": {"expression": "where(since(x >= 6) >= 0, 1, 0)"},
        },
        questions={"q": {"when": "x >= 6"}},
    )
    assert 0 < float(run["questions"]["q_never"]) < 1
    assert "failing" not in run.to_xarray().attrs
