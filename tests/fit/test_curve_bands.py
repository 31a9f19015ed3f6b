"""Predictions beyond a curve: bands where the fit has none, where they end, what is warned of, and who does better."""

import json

import numpy as np
import pytest

import forecast
from toolkit import shared_main as main

X = np.geomspace(1e3, 1e6, 20)


def loss(x: np.ndarray = X, scale: float = 0.003, seed: int = 0) -> np.ndarray:
    return (1.7 + 40 * x**-0.4) * np.exp(scale * np.random.default_rng(seed).standard_normal(x.size))


def fitted(law: str, x: np.ndarray, y: np.ndarray) -> forecast.Fit:
    found = forecast.law(law)
    return found.fit({"x": x, found.output: y})


def test_where_parameters_are_not_identified_the_band_is_that_of_extrapolate():
    """A plain power law says nothing of a shift below its points."""
    y = 5 * X**-0.2 * np.exp(0.01 * np.random.default_rng(3).standard_normal(X.size))
    fit = fitted("scaling/shifted-power", X, y)
    band = fit.predict(x=[2e6, 4e6])
    assert "no_interval" in fit.predict(x=1e5).attrs
    assert "no_interval" not in band.attrs
    assert band.attrs["bands"].startswith("the pool of laws that forecast.extrapolate uses (parameter ")
    answer = forecast.extrapolate(X, y, to=[2e6, 4e6])
    middle = band["median"].values
    np.testing.assert_allclose(band["observed_lower"], np.minimum(answer.lower, middle), rtol=1e-9)
    np.testing.assert_allclose(band["observed_upper"], np.maximum(answer.upper, middle), rtol=1e-9)
    assert (band["lower"] >= band["observed_lower"]).all()
    assert (band["upper"] <= band["observed_upper"]).all()
    assert band.attrs["warnings"] == ""


@pytest.mark.slow
def test_inside_the_data_and_of_several_variables_there_is_no_such_band():
    y = 5 * X**-0.2 * np.exp(0.01 * np.random.default_rng(3).standard_normal(X.size))
    fit = fitted("scaling/shifted-power", X, y)
    assert "no_interval" in fit.predict(x=1e5).attrs
    both = fit.predict(x=[1e5, 2e6])
    assert np.isnan(both["lower"][0])
    assert np.isfinite(both["lower"][1])
    assert "1 of 2 points have no interval" in both.attrs["warnings"]
    grid = {"N": np.tile([1e6, 1e7, 1e8], 4), "D": np.repeat([1e9, 1e10, 1e11, 1e12], 3)}
    law = forecast.Law("E + A*(N*D)**-a", variables=["N", "D"], output="L", positive=["E", "A", "a"])
    flat = law.fit({**grid, "L": 2 + 0.01 * np.sin(np.arange(12.0))})
    assert "no_interval" in flat.predict(N=1e9, D=1e13).attrs


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.0005, 0.005])
def test_a_loss_that_only_fell_is_not_predicted_above_its_last_value_and_noise(scale):
    """Six points and a known floor."""
    rng, x, inside, above = np.random.default_rng(1), np.geomspace(1e6, 1e9, 6), [], []
    for _ in range(40):
        floor, exponent, size = rng.uniform(1, 2.5), rng.uniform(0.1, 0.4), rng.uniform(0.5, 3)
        y = floor + size * (np.append(x, 3e9) / x[0]) ** -exponent
        y *= np.exp(scale * rng.standard_normal(7))
        law = forecast.Law(f"{floor!r} + A*x**-b", variables=["x"], output="L", positive=["A", "b"])
        band = law.fit({"x": x, "L": y[:-1]}, objective="least_squares_log").predict(x=3e9)
        inside.append(float(band["observed_lower"]) <= y[-1] <= float(band["observed_upper"]))
        if (np.diff(y[:-1]) < 0).all():
            above.append(np.log(float(band["observed_upper"]) / y[-2]))
    assert len(above) > 20
    assert np.max(above) <= 0.03 + 5 * scale
    assert np.mean(inside) >= 0.85


def test_many_fits_end_where_one_does():
    x, law = np.geomspace(1e3, 1e6, 8), forecast.law("scaling/power")
    curves = {name: loss(x, seed=seed) for seed, name in enumerate("abc")}
    table = {"x": np.tile(x, 3), "y": np.concatenate(list(curves.values())), "curve": np.repeat(list("abc"), 8)}
    many = law.fit(table, y="y", by="curve").predict(x=[1e5, 3e6])
    for name, y in curves.items():
        one = law.fit({"x": x, "y": y}, y="y").predict(x=[1e5, 3e6])
        np.testing.assert_allclose(many["observed_upper"].sel(curve=name), one["observed_upper"], rtol=1e-7)


def test_what_says_nothing_of_a_place_ahead_is_no_warning_and_a_wide_band_is_one():
    near, far = (fitted("scaling/saturating-power", X, loss()).predict(x=at).attrs["warnings"] for at in (4e6, 1e7))
    assert near == ""  # 0.6 decades
    assert "1.0 decades outside its data" in far
    rough = fitted("scaling/power", X, loss(scale=0.4)).predict(x=3e6)
    assert "the ends of the 90 % band of an observation are a factor of" in rough.attrs["warnings"]


@pytest.mark.slow
def test_the_command_says_when_extrapolate_would_have_done_better(tmp_path, capsys):
    path = tmp_path / "run.csv"
    path.write_text("x,y\n" + "\n".join(f"{a!r},{b!r}" for a, b in zip(X.tolist(), loss().tolist(), strict=True)))
    for law, better in (("scaling/power", True), ("scaling/shifted-power", False)):
        saved = str(tmp_path / "fit.nc")
        main(["fit", law, "--data", str(path), "--out", saved])
        capsys.readouterr()
        main(["predict", saved, "x=3e6", "--json"])
        beside = json.loads(capsys.readouterr().out)["result"]["beside_extrapolate"]
        assert (beside["extrapolate"] < beside["law"]) == better
        main(["predict", saved, "x=3e6"])
        shown = capsys.readouterr().out
        said = f"{100 * beside['law']:.2g} %, forecast extrapolate by {100 * beside['extrapolate']:.2g} %"
        assert (said in " ".join(shown.split())) == better
