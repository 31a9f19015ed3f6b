"""Regressions in which undisclosed compute is a latent, and what of the real tables they say."""

import numpy as np
import pytest

import forecast
from forecast.errors import FitError
from forecast_capability.quantities.latent import beside_frontier, plane


def models(rng, n=3000, *, per_order=8.0, per_year=10.0, hides=0.0):
    """Make models with compute below a frontier; those that lead hide theirs, the more `hides` is."""
    years = rng.uniform(-3, 3, n)
    frontier = 26 + 0.55 * years
    logs = frontier - 1.2 + 0.8 * rng.normal(size=n)
    index = 140 + per_order * (logs - 25) + per_year * years + 5 * rng.normal(size=n)
    usual = 140 + per_order * (frontier - 1.2 - 25) + per_year * years
    known = rng.uniform(size=n) > 1 / (1 + np.exp(-hides * (index - usual)))
    return years, frontier, logs, index, known


def by_date(logs, years):
    return np.stack([np.ones_like(years), logs, years], axis=1)


def test_if_all_is_disclosed_it_is_least_squares():
    rng = np.random.default_rng(1)
    years, _, logs, index, _ = models(rng, 60)
    x = by_date(logs, years)
    for through in (1, None):
        got = plane(x, index, np.zeros(60), through=through)
        found, left, *_ = np.linalg.lstsq(x, index, rcond=None)
        np.testing.assert_allclose(got.found, found, rtol=1e-9)
        np.testing.assert_allclose(got.covariance, left[0] / 57 * np.linalg.inv(x.T @ x), rtol=1e-6, atol=1e-12)
        assert got.rows == pytest.approx(60)


def test_it_is_the_maximum_of_the_likelihood_with_compute_integrated_out():
    """The integral by quadrature, row by row, and a general optimiser."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(2)
    years, frontier, logs, index, known = models(rng, 40, hides=0.3)
    middle, spread = np.where(known, logs, frontier - 1.2), np.where(known, 0.0, 0.8)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)

    def lost(p):
        a, b, g, own = *p[:3], np.exp(p[3])
        compute = middle[:, None] + spread[:, None] * nodes
        left = (index[:, None] - a - b * compute - g * years[:, None]) / own
        return -np.log(np.exp(-(left**2) / 2) @ weights / own / np.sqrt(2 * np.pi)).sum()

    got = plane(by_date(middle, years), index, spread, through=1)
    start = np.append(got.found + 0.1, 1.5)
    best = minimize(lost, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxfev": 20_000})
    np.testing.assert_allclose(got.found, best.x[:3], rtol=1e-3)


def test_that_models_that_lead_hide_their_compute_no_longer_biases_the_slope():
    """Who discloses hangs on the index, which is seen: what all models take is then all that must be known."""
    rng = np.random.default_rng(3)
    slopes, held = [], []
    for _ in range(40):
        years, frontier, logs, index, known = models(rng, 400, hides=0.4)
        own = plane(by_date(logs, years)[known], index[known], np.zeros(known.sum()), through=1)
        census = np.where(known, logs, frontier - 1.2)
        whole = plane(by_date(census, years), index, np.where(known, 0.0, 0.8), through=1)
        # and with what the disclosed ones alone say of the others
        told = beside_frontier(np.where(known, logs, np.nan), frontier, np.full(400, "any"))
        likely = plane(by_date(told.middle, years), index, told.spread, through=1)
        slopes.append((own.found[1], whole.found[1], likely.found[1]))
        held.append(abs(whole.found[1] - 8) < 1.65 * np.sqrt(whole.covariance[1, 1]))
    alone, latent, estimated = np.mean(slopes, axis=0) - 8.0
    assert alone < -1.5
    assert abs(latent) < 0.25
    assert alone * 0.7 < estimated < 0  # better, and not well: those who disclose are not like the others
    assert np.mean(held) > 0.75  # of a 90 % interval


def test_what_is_hidden_lies_as_far_below_the_frontier_as_what_is_not_of_its_kind():
    logs = np.array([25.0] * 5 + [25.4] * 5 + [23.0] * 10 + [np.nan] * 3)
    frontier = np.array([26.0] * 20 + [27.0, 26.5, 26.0])
    kind = np.array(["closed"] * 10 + ["open"] * 10 + ["closed", "open", "other"])
    got = beside_frontier(logs, frontier, kind)
    np.testing.assert_array_equal(got.middle[:20], logs[:20])
    assert (got.spread[:20] == 0).all()
    below = logs[:20] - 26
    np.testing.assert_allclose(got.middle[20:], [27 - 0.8, 26.5 - 3, 26 + below.mean()], rtol=1e-12)
    np.testing.assert_allclose(got.spread[20:], [below[:10].std(ddof=1), 0, below.std(ddof=1)], atol=1e-12)
    np.testing.assert_allclose(got.shared[20:], got.spread[20:] / np.sqrt([10, 10, 20]))


def test_a_plane_needs_rows_that_are_disclosed():
    with pytest.raises(FitError, match="more than 3 rows without a latent, got 3"):
        plane(np.ones((9, 3)), np.ones(9), np.array([0.0] * 3 + [1.0] * 6))


def test_of_the_real_tables_every_model_with_an_index_counts():
    alone, whole = (forecast.model(f"capability/pace-from-{name}").fit().describe() for name in ("disclosed", "index"))
    assert "83 models with disclosed compute and 139 of which it is a latent" in whole.summary
    assert "83 models with disclosed compute; where" in alone.summary
    # an order of magnitude is worth less with them: what leaders hide is large, and gains them little
    assert whole.facts["reverse"] < alone.facts["reverse"] < alone.facts["forward"] < whole.facts["forward"]


def test_the_disclosed_alone_say_what_least_squares_says():
    from forecast import tables
    from forecast.tables import series

    rows = series.rows_as_of(
        "datasets/capability-editions", where={"edition": "2026-08"}, as_of=None, name="t", date="release_date"
    )
    compute, index = rows.numeric("training_compute"), rows.numeric("eci")
    known = np.isfinite(compute) & np.isfinite(index)
    x, y, t = np.log10(compute[known]), index[known], tables.decimal_year(rows.column("release_date")[known]) - 2024
    _, b, g = np.linalg.lstsq(by_date(x, t), y, rcond=None)[0]
    _, _, back = np.linalg.lstsq(by_date(y, t), x, rcond=None)[0]
    said = forecast.model("capability/pace-from-disclosed").fit().describe().facts
    assert said["forward"] == pytest.approx(g / b, rel=1e-9)
    assert said["reverse"] == pytest.approx(-back, rel=1e-9)
