"""The catalogue of scaling laws: its forms, its published parameters, its costs."""

from math import exp, log

import numpy as np
import pytest

import forecast
from forecast.contract.registry import get_registry
from forecast.formula import parse

RECORDS = {r.spec.name: r.spec for r in get_registry().records("law") if r.plugin.name == "scaling"}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_can_be_simulated_and_written_in_latex(name):
    spec, law = RECORDS[name], forecast.law(f"scaling/{name}")
    assert spec.title
    assert set(spec.domain) == set(spec.variables)
    assert set(spec.example) == set(law.parameters)
    if spec.target is None:
        assert " = " in law.latex()


@pytest.mark.parametrize(
    ("name", "parameters"),
    {
        "power": 2, "saturating-power": 3, "m3": 3, "m4": 5, "shifted-power": 4, "broken-power": 6,
        "broken-power-2": 9, "rosenfeld": 7, "kaplan": 4, "kaplan-steps": 4, "critical-batch": 2, "chinchilla": 5,
        "skaling": 6, "nested": 6, "farseer": 9, "over-training": 4, "over-training-error": 3, "data-constrained": 7,
        "filtering": 4, "precision": 11, "precision-ptq": 4, "moe-clark": 4, "moe-granularity": 7, "sparsity": 7,
        "vocabulary": 7, "transfer": 3, "distillation": 9, "annealing": 4, "two-step": 4, "compute-sigmoid": 4,
        "passuntil": 2, "repeated-sampling": 2, "algorithmic-progress": 7,
    }.items(),
)  # fmt: skip
def test_a_form_has_as_many_parameters_as_its_source(name, parameters):
    assert len(forecast.law(f"scaling/{name}").parameters) == parameters


def test_the_formulas_are_those_of_the_literature():
    assert forecast.law("scaling/power").expression == "beta*x**-c"
    assert forecast.law("scaling/saturating-power").expression == "E + beta*x**-c"
    chinchilla = forecast.law("scaling/chinchilla")
    assert float(chinchilla.value({"E": 1.0, "A": 8.0, "alpha": 0.5, "B": 27.0, "beta": 1.0}, N=4.0, D=9.0)) == 8.0
    assert dict(chinchilla.variables) == {"N": "param", "D": "token"}
    assert chinchilla.unit == "nat/token"


def test_m4_solves_its_equation():
    law = forecast.law("scaling/m4")
    p = {"einf": 0.3, "e0": 2.3, "alpha": 0.8, "beta": 4.0, "c": 0.4}
    x = np.geomspace(1e-3, 1e6, 40)
    y = law.value(p, x=x)
    assert ((y > 0.3) & (y < 2.3)).all()
    assert (y - 0.3) / (2.3 - y) ** 0.8 == pytest.approx(4.0 * x**-0.4, rel=1e-9)


def test_a_rosenfeld_law_does_not_change_with_the_scale_its_ridge_names():
    law, p = forecast.law("scaling/rosenfeld"), dict(RECORDS["rosenfeld"].example)
    scaled = p | {n: 3.0 * p[n] for n in ("a", "b", "c", "eta")}
    assert law.value(scaled, n=1e4, m=1e5) == pytest.approx(law.value(p, n=1e4, m=1e5), rel=1e-12)


def test_nested_is_chinchilla_and_kaplan_at_its_ends():
    nested, at = forecast.law("scaling/nested"), {"N": 1e9, "D": 3e10}
    p = {"E": 1.8, "A": 480.0, "alpha": 0.35, "B": 2100.0, "beta": 0.37}
    assert nested.value({**p, "q": 1.0}, **at) == pytest.approx(forecast.law("scaling/chinchilla").value(p, **at))
    k = {"N_c": 8.8e13, "alpha_N": 0.076, "alpha_D": 0.095, "D_c": 5.4e13}
    same = {"E": 0.0, "A": 8.8e13**0.076, "alpha": 0.076, "B": 5.4e13**0.095, "beta": 0.095, "q": 0.095}
    assert nested.value(same, **at) == pytest.approx(forecast.law("scaling/kaplan").value(k, **at))


def test_data_that_do_not_repeat_are_worth_their_number():
    law = forecast.law("scaling/data-constrained")
    p = law.published("muennighoff2023").values
    base = {n: p[n] for n in ("E", "A", "alpha", "B", "beta")}
    plain = forecast.law("scaling/chinchilla").value(base, N=1e8, D=1e11)
    assert law.value(p, N=1e8, D=1e11, U=1e12) == pytest.approx(plain, rel=1e-14)
    # many passes are worth R_D of them, for a model too small to be excessive
    seen = forecast.law("scaling/chinchilla").value(base, N=1e6, D=1e9 * (1 + p["R_D"]))
    assert law.value(p, N=1e6, D=1e15, U=1e9) == pytest.approx(seen, rel=1e-12)


def test_filtering_multiplies_pass_by_pass():
    law = forecast.law("scaling/filtering")
    p = {"a": 8.0, "b": -0.2, "tau": 2.0, "d": 0.1}
    second, third = 2.0**-0.5, 2.0**-1.0
    expected = 8.0 * 1e6**-0.2 * 2.0 ** (-0.2 * second) * (2.5 / 2) ** (-0.2 * third) + 0.1
    assert float(law.value(p, n=2.5e6, U=1e6)) == pytest.approx(expected, rel=1e-13)
    assert float(law.value(p, n=5e5, U=1e6)) == pytest.approx(8.0 * 5e5**-0.2 + 0.1, rel=1e-13)


def test_llama3_rounded_figures_miss_what_it_states():
    law = forecast.law("scaling/compute-optimal")
    rounded = law.published("llama3")
    assert float(law.value(rounded.values, C=3.8e25)) == pytest.approx(10.5e12, abs=0.05e12)
    assert float(law.value(law.published("llama3-figure").values, C=3.8e25)) == pytest.approx(16.3e12, abs=0.05e12)
    assert rounded.warnings


@pytest.mark.parametrize(("name", "scale"), [("parameters", 8.8e13), ("data", 5.4e13), ("compute", 3.1e8)])
def test_kaplan2020_losses_reach_one_at_their_scale(name, scale):
    fit = forecast.law("scaling/power").published(f"kaplan2020-{name}")
    assert float(fit.law.value(fit.values, x=scale)) == pytest.approx(1.0, rel=1e-12)


def test_hoffmann_a3_is_unrounded():
    values = forecast.law("scaling/chinchilla").published("hoffmann2022-a3").values
    assert log(values["A"]) == pytest.approx(6.0073404, rel=1e-12)
    assert log(values["B"]) == pytest.approx(6.0179186, rel=1e-12)
    assert log(values["E"]) == pytest.approx(0.5267228, rel=1e-12)
    printed = forecast.law("scaling/chinchilla").published("hoffmann2022").values
    for name, digits in {"E": 2, "A": 1, "alpha": 2, "B": 1, "beta": 2}.items():
        assert round(values[name], digits) == printed[name]


def test_the_exponent_of_the_compute_optimal_size():
    # a = beta/(alpha + beta): .513 is what the source derives from its maximum-likelihood variant
    fit = forecast.law("scaling/chinchilla").published("besiroglu2024-mle")
    low, high = (float(fit.allocate(compute=c)["N"]) for c in (1e22, 1e24))
    assert log(high / low) / log(100) == pytest.approx(0.513, abs=5e-4)


def test_what_is_not_marked_rounded_is_what_its_source_gives_unrounded():
    unrounded = {f"{n}@{p.name}" for n, spec in RECORDS.items() for p in spec.published if not p.rounded}
    assert unrounded == {
        "chinchilla@besiroglu2024", "chinchilla@hoffmann2022-a3", "chinchilla@muennighoff2023-base",
        "data-constrained@muennighoff2023", "broken-power@bnsl-addition",
    }  # fmt: skip


def test_costs_are_formulas_over_the_variables_and_what_they_name():
    costs = RECORDS["chinchilla"].costs
    assert costs["training"] == "6*N*D"
    assert parse(costs["lifetime"]).evaluate({"N": 2.0, "D": 3.0, "D_inf": 5.0}) == 56
    for spec in RECORDS.values():
        for cost in spec.costs.values():
            assert set(spec.variables) <= set(parse(cost).names)


def test_power_law_published_values_are_exact_powers():
    values = forecast.law("scaling/power").published("kaplan2020-compute").values
    assert values["beta"] == pytest.approx(exp(0.05 * log(3.1e8)), rel=1e-14)
