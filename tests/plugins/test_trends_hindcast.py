"""Hindcasts: every one is made, errors are those of the formula, and what intervals really hold is counted."""

import csv

import numpy as np
import pytest

from forecast.errors import DataError, UnknownNameError, UsageError
from forecast.models import Description, FittedShape, Shape
from forecast.streams import DRAWS_PER_BLOCK
from forecast_trends.hindcast import coverage, hindcasts, improvers
from forecast_trends.walks.echo import forecast_variance
from forecast_trends.walks.walk import RandomWalk

COLUMNS = {"series": "tech", "x": "year", "y": "cost"}


def table(*series, start=1950):
    """A table of yearly series of log values."""
    names = [f"t{i}" for i, s in enumerate(series) for _ in s]
    years = [start + k for s in series for k in range(len(s))]
    return {"tech": names, "year": years, "cost": np.exp(np.concatenate(series))}


def walks(seed, count, length, *, mu=-0.1, sigma=0.1, theta=0.0):
    rng = np.random.default_rng(seed)
    v = sigma * rng.standard_normal((count, length + 1))
    return np.cumsum(mu + v[:, 1:] + theta * v[:, :-1], axis=1)


class PlainLine(Shape):
    """The straight log-linear regression of the literature, with its textbook prediction interval, by statsmodels."""

    def fit(self, time, value, *, frontier=False, seed=0):
        from statsmodels.api import OLS

        return FittedPlainLine(OLS(np.log(value), np.stack([np.ones_like(time), time - 2000], axis=1)).fit())


class FittedPlainLine(FittedShape):
    def __init__(self, result):
        self.result = result

    def posterior(self, streams):
        return {}

    def central(self, time):
        return np.exp(self.result.predict(np.stack([np.ones_like(time), time - 2000], axis=1)))

    def describe(self):
        return Description(summary="a plain line")

    def sample(self, time, streams, *, observed=False):
        from scipy.stats import t

        found = self.result.get_prediction(np.stack([np.ones_like(time), time - 2000], axis=1))
        at = t.ppf((np.arange(DRAWS_PER_BLOCK) + 0.5) / DRAWS_PER_BLOCK, self.result.df_resid)
        return np.exp(found.predicted_mean[:, None] + found.se_obs[:, None] * at)


# --- which hindcasts there are ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("length", "window", "horizon"), [(7, 5, 20), (20, 5, 20), (60, 5, 20), (30, 3, 4)])
def test_every_hindcast_is_made(length, window, horizon):
    found = hindcasts(table(*walks(0, 2, length)), **COLUMNS, window=window, horizon=horizon)
    origins = range(window, length - 1)
    assert found.count == 2 * sum(min(horizon, length - 1 - i) for i in origins)
    per_horizon = found.coverage()["count"]
    assert per_horizon.sel(horizon=1) == 2 * (length - 1 - window)
    assert found.horizon.max() == min(horizon, length - 1 - window)
    assert len({(s, o, h) for s, o, h in zip(found.series, found.origin, found.horizon, strict=True)}) == found.count


def test_one_hindcast_by_hand():
    found = hindcasts(table([0.0, 1.0, 3.0, 4.0]), **COLUMNS, window=2)
    # from 1952: drift (3 − 0)/2, forecast 4.5, outcome 4
    assert (found.origin.tolist(), found.horizon.tolist()) == ([1952.0], [1])
    assert found.error == pytest.approx([-0.5])
    assert found.noise == pytest.approx([np.std([1.0, 2.0], ddof=1)])
    size = np.std([1.0, 2.0], ddof=1) * np.sqrt(forecast_variance(1.0, 2, 0.63) / (1 + 0.63**2))
    assert found.normalised(0.63) == pytest.approx([-0.5 / size])


def test_a_window_with_a_missing_year_makes_no_hindcast_and_the_horizon_counts_years():
    whole, holed = table(*walks(1, 1, 15)), table(*walks(1, 1, 15))
    keep = np.array(holed["year"]) != 1958
    holed = {k: np.array(v)[keep] for k, v in holed.items()}
    a, b = (hindcasts(d, **COLUMNS, window=4) for d in (whole, holed))
    kept = ~np.isin(a.origin, np.arange(1958, 1963)) & (a.origin + a.horizon != 1958)
    assert b.error == pytest.approx(a.error[kept])
    assert b.horizon.tolist() == a.horizon[kept].tolist()


def test_only_the_named_series_are_used():
    data = table(*walks(2, 3, 20))
    assert hindcasts(data, **COLUMNS, only=["t1"]).technologies == ("t1",)
    with pytest.raises(UnknownNameError, match="t9"):
        hindcasts(data, **COLUMNS, only=["t9"])


# --- what they show where the truth is known --------------------------------------------------------------------------


@pytest.mark.slow
def test_on_simulated_walks_the_normalised_errors_are_student_t():
    found = hindcasts(table(*walks(4, 300, 60)), **COLUMNS)
    compared = found.compare(theta=0.0)
    assert compared.attrs["degrees_of_freedom"] == 4
    assert float(compared["gap"]) < 0.01
    assert compared["hindcasts"].values == pytest.approx(compared["student"].values, rel=0.06, abs=0.02)
    assert found.coverage(theta=0.0).attrs["coverage"] == pytest.approx(0.9, abs=0.01)


@pytest.mark.slow
def test_a_drift_in_driftless_noise_is_a_false_alarm_one_time_in_ten():
    found = improvers(table(*walks(6, 600, 30, mu=0.0)), **COLUMNS)
    assert len(found) / 600 == pytest.approx(0.1, abs=3 * np.sqrt(0.09 / 600))
    falling = table(*walks(7, 20, 30, mu=-0.2))
    assert len(improvers(falling, **COLUMNS)) == 20
    assert improvers(falling, **COLUMNS, lower=False) == []


@pytest.mark.slow
def test_the_coverage_of_any_shape_is_counted():
    data = table(*walks(8, 25, 30))
    plain, line, walk = (
        coverage(data, **COLUMNS, shape=shape, horizon=10)
        for shape in (PlainLine(), "trends/exponential", RandomWalk(0.0))
    )
    shares = [found.attrs["coverage"] for found in (plain, line, walk)]
    print("on random walks, 90 % intervals of a plain line, trends/exponential, random walk:", np.round(shares, 3))
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] == pytest.approx(0.9, abs=0.03)
    assert walk["count"].sum() == walk.attrs["count"] == 25 * sum(min(10, 29 - i) for i in range(5, 29))
    assert walk.attrs["failed"] == 0


def test_fits_that_are_refused_are_counted():
    found = coverage(table(*walks(9, 1, 9)), **COLUMNS, shape="trends/local-linear", least=3, horizon=2)
    assert found.attrs["failed"] == 2  # from 3 and from 4 points
    with pytest.raises(DataError, match="no series could be forecast"):
        coverage(table(*walks(9, 1, 5)), **COLUMNS, shape="trends/local-linear", least=3)


# --- what is refused --------------------------------------------------------------------------------------------------

WRONG = {
    "window": (lambda: hindcasts(table(*walks(0, 1, 9)), **COLUMNS, window=1), UsageError, "window: .* from 2"),
    "horizon": (lambda: hindcasts(table(*walks(0, 1, 9)), **COLUMNS, horizon=0), UsageError, "horizon"),
    "level": (lambda: coverage(table(*walks(0, 1, 9)), **COLUMNS, shape=PlainLine(), level=90), UsageError, "level"),
    "short": (lambda: hindcasts(table(*walks(0, 1, 6)), **COLUMNS), DataError, "7 years in a row"),
    "column": (lambda: hindcasts(table(*walks(0, 1, 9)), **{**COLUMNS, "y": "costs"}), UnknownNameError, "cost"),
    "zero": (
        lambda: hindcasts({"tech": ["a"] * 9, "year": range(9), "cost": [1.0, 0.0, *[1.0] * 7]} | {}, **COLUMNS),
        DataError,
        "series 'a': point 2 of 9",
    ),
    "twice a year": (
        lambda: hindcasts({"tech": ["a"] * 9, "year": np.arange(9) / 2 + 2000, "cost": np.ones(9)}, **COLUMNS),
        DataError,
        "series 'a': expected one value a year, got dates 2000.00 and 2000.50",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_hindcast_is_refused(case):
    call, error, says = WRONG[case]
    with pytest.raises(error, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)


# --- the shared technologies ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_straight_line_holds_far_less_than_it_says_on_history_and_the_walk_does_not(reference_data):
    data = reference_data / "technology" / "experience_curves_dev.csv"
    shapes = {"plain regression": PlainLine(), "exponential": "trends/exponential", "random walk": "trends/random-walk"}
    found = {name: coverage(data, **COLUMNS, shape=shape) for name, shape in shapes.items()}
    print("\n90 % intervals on 19 technologies, every origin from the sixth point, up to 20 years:")
    for name, held in found.items():
        print(f"  {name}: {held.attrs['coverage']:.1%} of {held.attrs['count']} outcomes")
    # others found 57 % for the regression on another choice of series
    assert 0.5 < found["plain regression"].attrs["coverage"] < 0.65
    assert found["exponential"].attrs["coverage"] > found["plain regression"].attrs["coverage"]
    assert found["random walk"].attrs["coverage"] >= 0.87


@pytest.mark.slow
def test_top500_breaks_the_straight_line(reference_data):
    with (reference_data / "hardware" / "top500_history.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lists = [r["list"] for r in rows]
    at = [int(s[:4]) + (int(s[4:]) - 0.5) / 12 for s in lists]
    columns = ("rmax_top1_tflops", "rmax_500_tflops", "rmax_sum_tflops")
    data = {
        "tech": [c for c in columns for _ in rows],
        "year": at * len(columns),
        "cost": [float(r[c]) for c in columns for r in rows],
    }
    shapes = {"plain regression": PlainLine(), "exponential": "trends/exponential", "random walk": "trends/random-walk"}
    found = {name: coverage(data, **COLUMNS, shape=shape, least=10) for name, shape in shapes.items()}
    print("\n90 % intervals on three series of TOP500, every origin from the tenth list, up to 20 years:")
    for name, held in found.items():
        print(f"  {name}: {held.attrs['coverage']:.1%} of {held.attrs['count']} outcomes")
    # others found 24 % for the regression; the break of 2013 is what no straight line expects
    assert found["plain regression"].attrs["coverage"] < 0.5
    assert found["random walk"].attrs["coverage"] > found["plain regression"].attrs["coverage"] + 0.2
