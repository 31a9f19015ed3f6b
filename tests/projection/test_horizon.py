"""Steps are exact: t_k = start + k*step."""

from fractions import Fraction

import numpy as np
import pytest

import forecast
from forecast.errors import ForecastError
from forecast.projection.horizon import horizon, step_of


@pytest.mark.parametrize("step", ["1/12", "1/48", "1/365", "0.25", "2", "1/3"])
def test_steps_are_exact(step):
    made = horizon(2025.25, 2045.25, step_of(step))
    width = Fraction(step)
    assert made.years.tolist() == [float(Fraction(2025.25) + k * width) for k in range(len(made.years))]
    assert made.years[-1] <= 2045.25 + 1e-9
    assert made.years[-1] + float(width) > 2045.25
    assert (np.diff(made.dates) > np.timedelta64(0, "s")).all()


def test_years_and_months_are_those_of_the_calendar():
    years, months = horizon(2025, 2028, "year"), horizon(2024, 2025, "month")
    assert years.dates.astype(str).tolist() == [f"{y}-01-01T00:00:00" for y in range(2025, 2029)]
    assert months.dates.astype("datetime64[M]").astype(str).tolist()[:3] == ["2024-01", "2024-02", "2024-03"]
    assert len(months.dates) == 13


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"step": "weekly"}, "expected 'year', 'month', or years such as"),
        ({"step": 0}, "expected 'year', 'month', or years"),
        ({"step": "1/0"}, "expected 'year', 'month', or years"),
        ({"step": True}, "expected 'year', 'month', or years"),
        ({"step": "1/999", "until": 9000}, "steps from 2025 to 9000; at most"),
        ({"step": 10}, "at least one step of 10 years"),
        ({"step": "month", "start": 2025.5}, "months of the calendar need whole years"),
        ({"until": 2020}, "expected a year after the first one, 2025, got 2020"),
        ({"until": float("nan")}, "expected a year from 1 to 9999"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(given, says):
    record = {"start": 2025, "until": 2030, "quantities": {"x": {"value": 1, "unit": ""}}}
    with pytest.raises(ForecastError, match=says):
        forecast.project({**record, **given}, draws=2)


def test_a_fine_grid_comes_back_from_a_file(tmp_path):
    record = {"start": 2025.25, "until": 2026.5, "step": "1/48", "quantities": {"x": {"p05": 1, "p95": 4, "unit": ""}}}
    run = forecast.project(record, draws=3)
    assert run["projection"].sizes["time"] == 61
    forecast.save(run, tmp_path / "run.nc")
    assert forecast.load(tmp_path / "run.nc").to_xarray().attrs["step"] == '"1/48"'


def test_many_dates_are_each_rounded_once():
    """As fractions of whole numbers, which are exact; also where numerators are larger than floats hold exactly."""
    for first, width, count in [
        (2025.0, "1/12", 1501),
        (2021.5, "1/1000", 5000),
        (2020.1, "1/7", 700),
        (2019.9, "1/48", 99),
    ]:
        last = float(Fraction(first) + (count - 1) * Fraction(width))
        exact = [float(Fraction(first) + k * Fraction(width)) for k in range(count)]
        assert horizon(first, last, width).years.tolist() == exact
