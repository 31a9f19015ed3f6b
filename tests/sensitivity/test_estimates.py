"""Which numbers an estimate's variance comes from: indices known in closed form, and what cannot be told apart."""

import json

import numpy as np
import pytest
from scipy import stats

import forecast
from forecast.errors import DataError, UnknownNameError, UsageError
from forecast.sensitivity.first_and_total import sobol_indices
from toolkit import shared_main as main

Z = 1.6448536269514722


def lognormal(sigma, unit="", centre=1.0):
    return {"p05": centre * np.exp(-Z * sigma), "p95": centre * np.exp(Z * sigma), "unit": unit}


def made(expression, unit="FLOP", **inputs):
    return forecast.estimate(expression, unit=unit, inputs=inputs).model


def indices(found):
    rows = zip(found["input"].values, found["first"].values, found["total"].values, strict=True)
    return {str(n): (float(a), float(b)) for n, a, b in rows}


def test_a_product_shares_the_variance_of_the_logarithm():
    found = sobol_indices(made("a*b*c", a=lognormal(3.0, "FLOP"), b=lognormal(2.0), c={"value": 7.0}))
    assert list(found["input"].values) == ["a", "b"]  # a fixed number explains nothing and is left out
    for name, share in (("a", 9 / 13), ("b", 4 / 13)):
        assert indices(found)[name] == pytest.approx((share, share), abs=2e-3)
    assert found.attrs["explained"] == "the logarithm"


def test_numbers_that_act_only_together_have_a_total_and_no_first():
    # x·y of two numbers around zero: nothing alone, everything together
    sides = {"low": -1.0, "high": 1.0, "unit": ""}
    found = sobol_indices(made("a*b", unit="", a=sides, b=sides))
    assert found.attrs["explained"] == "the value"
    for first, total in indices(found).values():
        assert first == pytest.approx(0.0, abs=5e-3)
        assert total == pytest.approx(1.0, abs=5e-3)


def test_it_agrees_with_scipy_on_the_ishigami_like_polynomial_of_three():
    # a + 2b + a·b², uniforms on (-1, 1): worked out by hand
    side = {"low": -1.0, "high": 1.0, "unit": ""}
    found = indices(sobol_indices(made("a + 2*b + a*b**2", unit="", a=side, b=side)))
    va, vb, vab = (1 + 1 / 3) ** 2 / 3, 4 / 3, (1 / 3) * (1 / 5 - 1 / 9)
    total = va + vb + vab
    assert found["a"] == pytest.approx((va / total, (va + vab) / total), abs=3e-3)
    assert found["b"] == pytest.approx((vb / total, (vb + vab) / total), abs=3e-3)
    direct = stats.sobol_indices(
        func=lambda x: x[0] + 2 * x[1] + x[0] * x[1] ** 2, n=2**16, dists=[stats.uniform(-1, 2)] * 2, rng=3
    )
    assert [found["a"][0], found["b"][0]] == pytest.approx(direct.first_order.tolist(), abs=3e-3)


def test_its_quantiles_are_those_of_the_estimate():
    found = sobol_indices(made("a", a=lognormal(2.0, "FLOP", 1e15)), draws=200_000)
    assert float(found["value"].sel(quantile=0.5)) == pytest.approx(1e15, rel=0.03)
    assert float(found["value"].sel(quantile=0.95)) == pytest.approx(1e15 * np.exp(2 * Z), rel=0.05)
    assert found["value"].attrs["units"] == "FLOP"
    assert indices(found) == {"a": (1.0, 1.0)}


def test_equal_seeds_give_equal_numbers_and_others_nearly_the_same():
    model = made("a*b", a=lognormal(3.0, "FLOP"), b=lognormal(2.0))
    one, two, three = (sobol_indices(model, draws=50_000, seed=s) for s in (1, 1, 2))
    assert one.identical(two)
    assert not one.identical(three)
    assert float(abs(one["total"] - three["total"]).max()) < 0.05


def test_a_number_that_is_set_explains_nothing():
    model = made("a*b", a=lognormal(3.0, "FLOP"), b=lognormal(2.0))
    for key in ("a", "estimate.a"):
        assert indices(sobol_indices(model, draws=5000, with_={key: 2.0})) == {"b": (1.0, 1.0)}
    none = sobol_indices(model, draws=5000, with_={"a": 2.0, "b": 3.0})
    assert none.sizes["input"] == 0
    assert none["value"].values.tolist() == [6.0] * 5


def test_a_mixture_blames_the_pick_and_the_numbers_of_its_members():
    found = indices(sobol_indices("brain/pooled", draws=200_000))
    assert next(iter(found)) == "member"
    assert "brain/dettmers-2015.firing_rate" in found
    assert found["member"][0] > 0.8
    alone = {f"weight_{n}": 0.0 for n in ("kurzweil_2005", "carlsmith_2020", "ai_impacts_2015",
                                          "sandberg_bostrom_2008", "moravec_1997")}  # fmt: skip
    only = indices(sobol_indices("brain/pooled", draws=200_000, with_=alone))
    assert next(iter(only)) == "brain/dettmers-2015.firing_rate"
    assert only["member"] == pytest.approx((0.0, 0.0), abs=1e-9)


@pytest.mark.parametrize(
    ("name", "options", "error", "says"),
    [
        ("hardware/hpcg@exponential", {}, UsageError, "draws its own 'parameters'; only named numbers"),
        ("emergence/token-cost", {}, UsageError, "needs the quantity 'per_token' of a scenario"),
        ("brain/dettmers-2015", {"with_": {"firing_rat": 1.0}}, UnknownNameError, "did you mean 'firing_rate'"),
        ("brain/dettmers-2015", {"with_": {"firing_rate": float("nan")}}, UsageError, "expected a finite number"),
        ("brain/dettmers-2015", {"with_": {"firing_rate": True}}, UsageError, "expected a finite number"),
        ("brain/dettmers-2015", {"draws": 100}, UsageError, "expected an integer from 1280 to 4000000 for 3 numbers"),
        ("brain/dettmers-2015", {"draws": 10**9}, UsageError, "expected an integer from 1280 to 4000000"),
        ("brain/dettmers-2015", {"draws": 1e6}, UsageError, "expected an integer from"),
        ("brain/dettmers-2015", {"seed": -1}, UsageError, "seed: expected an integer"),
        ("brain/evidence", {"at": 1990.0}, DataError, "nothing was published by 1990.0; expected a start from 1997"),
        ("brain/evidence", {"at": float("nan")}, UsageError, "at: expected a year, got 'nan'"),
        ("brain/dettmers-2051", {}, UnknownNameError, "did you mean 'brain/dettmers-2015'"),
    ],
)
def test_what_cannot_be_told_apart_is_refused_in_a_line(name, options, error, says):
    with pytest.raises(error, match=says) as caught:
        sobol_indices(name, **options)
    assert "\n" not in str(caught.value)


def test_the_command_says_who_is_to_blame(capsys):
    words = ["models", "attribute", "dettmers-2015", "--draws", "20000"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert out.startswith("brain/dettmers-2015 is ")
    assert "firing_rate moves it most" in out
    assert out.splitlines()[2].split() == ["input", "alone", "in", "total"]
    assert main([*words, "--json", "--set", "firing_rate=200"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in answer["result"]["inputs"]] == ["time_steps", "purkinje_inputs"]
    assert list(answer["result"]["value"]) == ["p05", "p25", "p50", "p75", "p95"]


def test_an_estimate_that_is_not_finite_is_refused_without_a_warning(capsys):
    with pytest.raises(DataError, match=r"'brain/dettmers-2015': 5000 of 5000 values are not finite"):
        sobol_indices("brain/dettmers-2015", draws=5000, with_={"time_steps": 1e308})
    assert main(["models", "attribute", "brain/dettmers-2015", "--draws", "5000", "--set", "firing_rate=1e308"]) == 1
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)


@pytest.mark.parametrize("alone", [False, True])
def test_numbers_that_move_nothing_are_not_blamed(capsys, alone):
    settings = {"firing_rate": 0.0, **({"time_steps": 5.0} if alone else {})}
    found = sobol_indices("brain/dettmers-2015", draws=5000, with_=settings)
    assert not found["first"].any()
    assert not found["total"].any()
    words = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    assert main(["models", "attribute", "brain/dettmers-2015", "--draws", "5000", *words]) == 0
    said = "brain/dettmers-2015 is 0 FLOP/s in every draw: none of its uncertain numbers moves it."
    assert capsys.readouterr().out.splitlines()[0] == said


def test_what_changes_with_time_is_told_apart_at_a_year(capsys):
    def blamed(year):
        assert main(["models", "attribute", "brain/evidence", "--at", year, "--draws", "20000", "--json"]) == 0
        rows = json.loads(capsys.readouterr().out)["result"]["inputs"]
        return {row["name"] for row in rows if row["total"] > 1e-6}

    assert blamed("2000") == set()  # one author, one number
    assert blamed("2010") == {"member", "brain/sandberg-bostrom-2008.compute"}
    assert "brain/carlsmith-2020.compute" in blamed("2021")


def test_the_command_says_when_nothing_is_uncertain(capsys):
    assert main(["models", "attribute", "brain/landauer", "--draws", "2000"]) == 0
    out = capsys.readouterr().out
    assert out.strip() == "brain/landauer is 6.74e+21 bit_erasure/s: none of its numbers is uncertain."
    assert main(["models", "attribute", "brain/landauer", "--set", "power"]) == 2
    assert "--set" in capsys.readouterr().err
