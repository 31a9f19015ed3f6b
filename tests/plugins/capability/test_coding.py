"""The best allocation of people and chips to a continuum of tasks, against a search that knows no closed form."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from forecast_capability.links import coding

CASE = {"people": 900.0, "chips": 3e4, "progress": 21.0, "now": 20.0, "then": 26.0, "automated": 0.3, "rate": 0.05,
        "slope": 2.0, "rho": -2.0}  # fmt: skip


def labour(**values):
    given = {name: np.array([[float(value)]]) for name, value in {**CASE, **values}.items()}
    return float(coding.labour(**given)[0, 0])


def does(i, case):
    """Return what a chip does of task i, in people."""
    need = case["now"] + (i - case["automated"]) / (1 - case["automated"]) * (case["then"] - case["now"])
    return case["rate"] * 10 ** (case["slope"] * (case["progress"] - need))


def by_search(case):
    """Split the tasks where that does most: chips do the easier ones, each by what it brings."""
    rho = case["rho"]
    steep = (1 - case["automated"]) / (case["then"] - case["now"])
    can = min(case["automated"] + steep * (case["progress"] - case["now"]), 1 - coding.TAIL)

    def done(cut):
        chips = quad(lambda i: does(i, case) ** (rho / (1 - rho)), 0, cut, epsrel=1e-12)[0]
        return (case["people"] ** rho * (1 - cut) ** (1 - rho) + case["chips"] ** rho * chips ** (1 - rho)) ** (1 / rho)

    found = minimize_scalar(lambda cut: -done(cut), bounds=(0, can), method="bounded", options={"xatol": 1e-12})
    return max(-found.fun, done(can))


@pytest.mark.parametrize("progress", [19.0, 20.0, 23.0, 25.9])
@pytest.mark.parametrize(("people", "chips"), [(900, 3e4), (2e4, 5e2), (50, 1e7)])
@pytest.mark.parametrize("rho", [-1.0, -2.0, -5.0])
def test_no_other_split_does_more(progress, people, chips, rho):
    case = {**CASE, "progress": progress, "people": people, "chips": chips, "rho": rho}
    assert labour(**case) == pytest.approx(by_search(case), rel=1e-7)


def test_chips_that_can_do_nothing_are_no_coders():
    assert labour(progress=17.0) == CASE["people"]
    assert labour(chips=1e-9) == pytest.approx(CASE["people"], rel=1e-6)


def test_where_all_is_automated_people_bound_only_what_is_left():
    rho, everything = CASE["rho"], labour(progress=26.0, chips=1e30)
    assert everything == pytest.approx(CASE["people"] * coding.TAIL ** ((1 - rho) / rho), rel=1e-6)


def test_twice_of_both_does_twice():
    assert labour(people=1800, chips=6e4) == pytest.approx(2 * labour(), rel=1e-12)


def test_more_of_anything_does_more():
    for name, values in (("chips", np.geomspace(1e-3, 1e9, 80)), ("people", np.geomspace(1, 1e6, 80)),
                         ("progress", np.linspace(15, 35, 80)), ("rate", np.geomspace(1e-3, 1e2, 80))):  # fmt: skip
        alike = {key: np.full((1, 80), value) for key, value in CASE.items()}
        made = coding.labour(**{**alike, name: values[None]})[0]
        assert (np.diff(made) >= -1e-9 * made[1:]).all(), name


def test_each_world_is_what_it_is_beside_others():
    rng, worlds = np.random.default_rng(3), 3000
    low = {"people": 0, "chips": 0, "progress": 15, "now": 19, "then": 25, "automated": 0.01, "slope": 0.5, "rho": -1}
    high = {"people": 5, "chips": 9, "progress": 30, "now": 21, "then": 45, "automated": 0.9, "slope": 8.0, "rho": 0.7}
    given = {name: np.full((1, worlds), value) for name, value in CASE.items()}
    given |= {name: rng.uniform(low[name], high[name], (1, worlds)) for name in low}
    given |= {name: 10 ** given[name] for name in ("people", "chips")} | {"rho": -(10 ** given["rho"])}
    together = coding.labour(**given)
    for first in range(0, worlds, 10):
        own = coding.labour(**{name: values[:, first : first + 10] for name, values in given.items()})
        np.testing.assert_array_equal(own, together[:, first : first + 10])
