"""Programs of a step: the digits of formulas as they are written, and nothing that stays behind."""

import numpy as np
import pytest

import forecast
from forecast import units
from forecast.formula import parse_expression
from forecast.projection.paths.step_program import Changes, StepDates, StepProgram, StepValue
from toolkit import sample

DRAWS = 64
STEPS = 3


def worlds(*, special=True):
    values = np.exp(np.random.default_rng(1).normal(0, 2, DRAWS))
    if special:
        values[:6] = [0.0, -1.0, np.nan, np.inf, -np.inf, 1.0]
    return values


def made_of(text):
    return units.prepared(parse_expression(text), {"x": "", "w": "", "still": "", "dated": ""}, target="")


def dates_of(paths):
    clocks = {"t": 2025.0 + np.arange(STEPS), "start": np.array([2025.0]), "dt": np.array([1.0])}
    return StepDates(DRAWS, clocks, lambda name: paths[name], lambda name: (), [])


@pytest.mark.parametrize(
    "text",
    [
        "x*w + still/dated - 3", "-x**2 + x**0.5*w**-1 + x**1.7 + 2**x + x**(t - start)",
        "min(x, 0.9, w) + max(w, 0) - clip(x, still, 2)",
        "where(x >= w, still, dated) + where(x == 1, 1, where(dated < x, x, -w))",
        "(x > w) + (still <= dated)*(t > 2026)", "logistic(x) + exp(-w) + log(x*dated) + sqrt(still) + heaviside(x)",
        "ces([x, dated], [0.3, 0.7], -0.5) + softmin(x, still, w, 8) + saturate(x, w)",
        "dated**still*x + dated**still*w", "still*dated + t*dt", "x", "2*3",
    ],
)  # fmt: skip
def test_a_program_computes_what_the_formula_computes_to_the_last_digit(text):
    paths = {"still": worlds()[None] + 1.5, "dated": np.abs(np.random.default_rng(2).normal(size=(STEPS, DRAWS)))}
    made, dates, moving = made_of(text), dates_of(paths), {"x": np.empty(DRAWS), "w": np.empty(DRAWS)}
    program = StepProgram(dates, {name: StepValue(row, Changes.MEMBERS) for name, row in moving.items()})
    with np.errstate(all="ignore"):
        value, again = program.formula(made), program.formula(made_of(f"({text})*2"))
        for step in (0, 1, 2, 1):
            rows = {"x": worlds() * (1 + step), "w": worlds(special=False)[::-1] + step}
            for name, row in rows.items():
                np.copyto(moving[name], row)
            program.run(step)
            known = {**rows, "still": paths["still"][0], "dated": paths["dated"][step]}
            known |= {"t": np.float64(2025 + step), "start": np.float64(2025), "dt": np.float64(1)}
            expected = np.full(DRAWS, made.compute(known)) if text == "2*3" else made.compute(known)
            assert value.array.tobytes() == np.ascontiguousarray(expected).tobytes()
            np.testing.assert_array_equal(again.array, expected * 2)


#: What changes with dates alone.
DATED = (
    "t", "dt*1", "t - 2024", "-(t - 2030)", "0.1*(t - 2024)", "(t - 2024)**2", "2**(t - 2024)", "exp(t - 2025)",
    "min(t - 2024, 2)", "clip(t - 2024, 1, 2)", "where(t >= 2027, 2, 1)", "(t >= 2027) + 1",
    "ces([t - 2024, 1], [0.5, 0.5], 0.5)", "dated",
)  # fmt: skip


@pytest.mark.parametrize(
    ("form", "method"),
    sample(
        [(form, "rk4") for form in ("log_rate", "rate", "next", "initial", "ceiling", "limit", "at_least")]
        + [("log_rate", "euler"), ("rate", "euler")],
        8,
    ),
)
def test_what_changes_with_dates_alone_is_what_it_is_beside_something_that_changes_in_worlds(form, method):
    moves = {"method": method, form: None} if form in ("log_rate", "rate") else {"rate": "q/100"}

    def paths(formula):
        stock = {"initial": 1, **({"next": None} if form == "next" else moves)}
        quantity = {"expression": "S + 1"}
        (quantity if form in ("limit", "at_least") else stock)[form] = f"({formula})/1000"
        quantities = {"q": quantity, "x": {"p05": 0.5, "p95": 2, "unit": ""}, "dated": {"expression": "t - 2020"}}
        record = {"start": 2025, "until": 2028, "quantities": quantities, "stocks": {"S": stock}}
        return forecast.project(record, draws=4)["projection"]["S"].values * np.ones((4, 4))

    beside = "x" if form in ("initial", "ceiling") else "S"  # the one that it does not need itself for
    for formula in DATED:
        np.testing.assert_allclose(paths(formula), paths(f"{formula} + 0*{beside}"), rtol=1e-12, err_msg=formula)
