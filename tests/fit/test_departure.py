"""What the last points say against a law widens its bands beyond them, and nothing else."""

import numpy as np
import pytest

import forecast
from forecast.fit.diagnostics.stability import CHANGE_FACTOR

POWER = forecast.law("scaling/power")
X = np.geomspace(1e3, 1e6, 40)


def bent(seed: int = 0, floor: float = 1.0, x: np.ndarray = X, scale: float = 0.01) -> dict[str, np.ndarray]:
    """A power law above a floor, which a power law without one misses more and more."""
    return {"x": x, "y": (floor + 40 * x**-0.4) * np.exp(scale * np.random.default_rng(seed).standard_normal(x.size))}


def half(fit, at, level=0.9):
    band = fit.predict(x=at, level=level)
    return np.log(band["median"] / band["lower"]).values  # the upper end of a curve that only fell is its last value


def bands_of(**data):
    return POWER.fit(data, y="y", objective="least_squares_log")


def test_a_law_that_is_bent_is_doubted_beyond_the_data_and_not_inside():
    fit = bands_of(**bent())
    true = bands_of(**bent(1, floor=0.0))
    inside, beyond = np.array([2e3, 1e5, 1e6]), np.array([4e6])
    for each, doubted in ((fit, True), (true, False)):
        errors, q = each.covariance.values, each.uncertainty.quantile(0.95)
        rho = float(each.solutions.correlation[0])
        slope = np.array([np.ones(3) / each.values["beta"], -np.log(inside)])
        plain = q * np.sqrt(np.einsum("ip,ij,jp->p", slope, errors, slope)) * np.sqrt((1 + rho) / (1 - rho))
        np.testing.assert_allclose(half(each, inside), plain, rtol=1e-6)
        said = each.predict(x=beyond).attrs["bands"]
        assert ("the last points turn away from the law" in said) == doubted


def test_it_is_the_difference_of_two_fits_less_what_noise_makes_of_it():
    """A line through logarithms: both fits in closed form."""
    data = bent()
    fit, at = bands_of(**data), 4e6
    design, z = np.column_stack([np.ones(X.size), np.log(X)]), np.log(data["y"])
    recent = (X / X[-1]) ** 2
    plain = np.linalg.solve(design.T @ design, design.T)
    latest = np.linalg.solve(design.T @ (recent[:, None] * design), design.T * recent)
    there = np.array([1.0, np.log(at)])
    moved = there @ (latest - plain)
    noise = np.sum((z - design @ plain @ z) ** 2) / (X.size - 2)
    departure = CHANGE_FACTOR * np.sqrt((moved @ z) ** 2 - noise * moved @ moved)
    rho = float(fit.solutions.correlation[0])
    error = np.sqrt(noise * there @ plain @ plain.T @ there * (1 + rho) / (1 - rho))
    q = float(fit.uncertainty.quantile(0.95)[0])
    assert half(fit, at) == pytest.approx(q * np.hypot(error, departure), rel=1e-6)


def test_the_band_does_not_jump_at_the_last_point():
    fit = bands_of(**bent())
    wide = half(fit, X[-1] * np.geomspace(1, X[-1] / X[-2], 400))
    assert wide[-1] > 1.5 * wide[0]
    assert np.abs(np.diff(wide)).max() < 0.02 * wide[-1]


def test_below_the_data_the_first_points_speak():
    fit = bands_of(x=X, y=1 / bent(x=1e9 / X)["y"])
    assert "the last points turn away" in fit.predict(x=X[0] / 4).attrs["bands"]


def test_many_fits_are_doubted_as_one_is():
    curves = [bent(0), bent(1, floor=0.0), bent(2, x=X[:25])]
    table = {k: np.concatenate([c[k] for c in curves]) for k in ("x", "y")}
    table["curve"] = np.repeat(["a", "b", "c"], [len(c["x"]) for c in curves])
    many = POWER.fit(table, y="y", by="curve", objective="least_squares_log").predict(x=[3e6, 1e3, 500.0])
    for label, curve in zip("abc", curves, strict=True):
        one = bands_of(**curve).predict(x=[3e6, 1e3, 500.0])
        np.testing.assert_allclose(many["upper"].sel(curve=label), one["upper"], rtol=1e-7)


@pytest.mark.parametrize("options", [{"objective": "huber_log"}, {"sigma_x": {"x": "0.01*x"}}])
def test_other_ways_of_fitting_are_left_as_they_are(options):
    fit = POWER.fit(bent(), y="y", **{"objective": "least_squares_log", **options})
    assert "turn away" not in fit.predict(x=4e6).attrs["bands"]


@pytest.mark.slow
def test_a_true_law_keeps_its_band_and_a_bent_one_gets_one_that_holds():
    """Nominal 90 % bands of the law, three times beyond the data."""
    law, at = forecast.law("scaling/saturating-power"), 3e6
    held = {"true": [], "bent": []}
    for seed in range(60):
        for name, chosen in (("true", law), ("bent", POWER)):
            fit = chosen.fit(bent(seed), y="y", objective="least_squares_log")
            band = fit.predict(x=at, level=0.9)
            held[name].append(float(band["lower"]) <= 1 + 40 * at**-0.4 <= float(band["upper"]))
    assert 0.8 <= np.mean(held["true"]) <= 0.99
    assert np.mean(held["bent"]) >= 0.8


@pytest.mark.slow
def test_bands_beyond_the_data_hold_on_published_learning_curves(reference_data, monkeypatch):
    """With what the last points say, 90 % bands hold their share of later points; without it they do not."""
    import forecast.fit.predict as predicting

    rows = np.genfromtxt(
        reference_data / "extrapolation" / "curves_dev.csv", delimiter=",", names=True, dtype=None, encoding="utf-8"
    )
    law = forecast.law("scaling/saturating-power")
    (variable,) = law.variables
    doubted, plain = predicting.stability_tests, lambda made, which, points, slopes: 0.0 * next(iter(points.values()))
    shares = {"doubted": [], "plain": []}
    for curve in np.unique(rows["curve_id"]):
        own = rows[rows["curve_id"] == curve]
        seen, later = own[own["split"] == "train"], own[own["split"] != "train"]
        if seen.size < len(law.parameters) + 3 or not later.size:
            continue
        fit = law.fit({variable: seen["x"], law.output: seen["y"]}, objective="least_squares_log")
        if not fit.converged:
            continue
        found = {}
        for name, tests in (("doubted", doubted), ("plain", plain)):
            monkeypatch.setattr(predicting, "stability_tests", tests)
            band = fit.predict(**{variable: later["x"]}, level=0.9)
            if "observed_lower" not in band or not np.isfinite(band["observed_lower"].values).all():
                break
            inside = (later["y"] >= band["observed_lower"].values) & (later["y"] <= band["observed_upper"].values)
            found[name] = inside.mean()
        if len(found) == 2:
            for name, share in found.items():
                shares[name].append(share)
    assert len(shares["plain"]) > 30
    assert np.mean(shares["doubted"]) > 0.88  # .94 in 39 curves
    assert np.mean(shares["plain"]) < 0.78  # .69
