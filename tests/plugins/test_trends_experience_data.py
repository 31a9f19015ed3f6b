"""Experience curves of nineteen real technologies: what their intervals held, and what the echo and w are there."""

import csv

import numpy as np
import pytest

import forecast
from forecast_trends.hindcast import coverage
from forecast_trends.learning.experience import POOLED_STEP_CORRELATION, Experience
from forecast_trends.walks.echo import Increments

COLUMNS = {"series": "tech", "x": "year", "y": "cost"}
WHEAT = "Wheat_(US)"


@pytest.fixture(scope="module")
def path(reference_data):
    return reference_data / "technology" / "experience_curves_dev.csv"


@pytest.fixture(scope="module")
def curves(path):
    """Year, cost and all that was made of every technology."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        name: tuple(np.array([float(r[k]) for r in rows if r["tech"] == name]) for k in ("year", "cost", "cum"))
        for name in dict.fromkeys(r["tech"] for r in rows)
    }


@pytest.mark.slow
def test_hindcasts_of_the_shared_technologies(path, curves):
    """Every origin from the sixth point, up to 20 years, production forecast too; four in five outcomes are wheat's."""
    shapes = {
        "exponential": "trends/exponential",
        "random walk": "trends/random-walk",
        "experience": Experience(cumulative="cum"),
    }
    without = [name for name in curves if name != WHEAT]
    every, rest = (
        {name: coverage(path, **COLUMNS, shape=shape, only=only) for name, shape in shapes.items()}
        for only in (None, without)
    )
    for said, found in (("19 technologies", every), ("without wheat", rest)):
        print(f"\n90 % intervals, {said}; median width in logs at 1, 5 and 10 years:")
        for name, held in found.items():
            width = [f"{float(held['width'].sel(horizon=h)):.2f}" for h in (1, 5, 10)]
            print(f"  {name}: {held.attrs['coverage']:.1%} of {held.attrs['count']}; {', '.join(width)}")
    assert every["experience"].attrs["failed"] == rest["experience"].attrs["failed"] == 0
    assert every["experience"].attrs["count"] == every["random walk"].attrs["count"] == 3340
    assert every["experience"].attrs["coverage"] >= 0.87
    assert rest["experience"].attrs["coverage"] >= 0.87
    assert rest["experience"].attrs["coverage"] > rest["exponential"].attrs["coverage"] + 0.2


def test_the_echo_of_the_shared_technologies_is_near_the_published_one_but_for_wheat(curves):
    grid = np.linspace(-0.9, 0.9, 181)
    found = {}
    for name, (year, cost, made) in curves.items():
        found[name] = Increments.of(year, np.log(cost), 1.0, along=np.log(made)).likelihood(grid)
    rest = sum(like for name, like in found.items() if name != WHEAT)
    best, inside = grid[np.argmax(rest)], grid[rest > rest.max() - 1.353]
    every = grid[np.argmax(rest + found[WHEAT])]
    print(f"\nrho: {best:.2f} [90 %: {inside.min():.2f}, {inside.max():.2f}] without wheat, {every:.2f} with it")
    assert best == pytest.approx(0.22, abs=0.02)
    assert inside.min() < POOLED_STEP_CORRELATION < inside.max()
    assert grid[np.argmax(found[WHEAT])] == pytest.approx(-0.60, abs=0.02)
    assert every == pytest.approx(-0.13, abs=0.02)


@pytest.mark.parametrize(
    ("technology", "changes", "levels"),
    [("Hard_Disk_Drive", 1.017, 1.035), ("Wind_Electricity", 0.051, 0.188), ("Titanium_Sponge", 0.367, 0.556)],
)
def test_w_from_changes_and_from_levels(path, curves, technology, changes, levels):
    """A level fit compares the ends of the series; changes weigh the years in which experience grew most."""
    _, cost, made = curves[technology]
    trend = forecast.trend(
        str(path), shape="trends/experience", x="year", y="cost", unit="", where={"tech": technology},
        options={"cumulative": "cum"},
    ).model  # fmt: skip
    facts = trend.fit().describe().facts
    law = forecast.law("scaling/wright").fit({"Q": made, "cost": cost})
    low, high = law.interval("w", 0.9)
    y, x = np.diff(np.log(cost)), np.diff(np.log(made))
    left = np.log(cost) + law.values["w"] * np.log(made)
    left -= left.mean()
    follow = left[1:] @ left[:-1] / (left @ left)
    print(f"\n{technology}: w = {facts['w']:.3f} [90 %: {facts['w_p05']:.3f}, {facts['w_p95']:.3f}] from changes, "
          f"{law.values['w']:.3f} [{low:.3f}, {high:.3f}] from levels, whose errors follow one another "
          f"by {follow:.2f}; the year of most experience has {np.max(x**2) / (x @ x):.0%} of the weight; "
          f"end to end {-y.sum() / x.sum():.3f}")  # fmt: skip
    assert facts["w"] == pytest.approx(changes, abs=5e-4)
    assert facts["w"] == pytest.approx(-(x @ y) / (x @ x))
    assert law.values["w"] == pytest.approx(levels, abs=5e-4)
