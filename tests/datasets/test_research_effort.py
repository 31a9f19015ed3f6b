"""Research effort: the rows give the source's published results, and the periods are computed from the years."""

import math

import numpy as np
import pytest

import forecast
from forecast import tables

PERIODS = {"semiconductors": 6, "united-states": 8}


@pytest.fixture(scope="module")
def years(shipped):
    return shipped("research-effort").by_key("research-effort")


@pytest.fixture(scope="module")
def periods(shipped):
    return shipped("research-productivity").by_key("research-productivity")


def researchers(row):
    return row["spending"] / row["wage"]


@pytest.mark.parametrize(
    ("year", "index"), [(1972, 1.16), (1980, 2.40), (1990, 5.49), (2000, 9.75), (2010, 14.03), (2014, 18.31)]
)
def test_chip_research_has_the_index_that_the_source_prints(years, year, index):
    base = researchers(years["semiconductors", 1971])
    assert researchers(years["semiconductors", year]) / base == pytest.approx(index, abs=0.005)


def test_us_researchers_are_those_that_the_source_prints(years):
    for year, printed in {1929: 269334, 1950: 852827, 1980: 3453851, 2015: 9891573}.items():
        assert researchers(years["united-states", year]) == pytest.approx(printed, rel=1e-4)  # it prints wages rounded


def test_productivity_has_intellectual_property_put_back(years):
    ideas = {y: row["ideas"] for (f, y), row in years.items() if f == "united-states"}
    assert ideas[1948] == 44.186
    assert ideas[2014] == pytest.approx(111.82, abs=0.005)  # as printed; without putting back it is 104.56
    assert [y for y, v in ideas.items() if v is None or math.isnan(v)] == [*range(1929, 1948), 2015]


def test_the_periods_are_those_of_the_years(years, periods):
    assert {f: sum(k[0] == f for k in periods) for f in PERIODS} == PERIODS
    for (name, begins), row in periods.items():
        ends = row["ends"]
        upto = 2015 if (name, ends) == ("united-states", 2014) else ends
        effort = [math.log(researchers(years[name, y])) for y in range(begins, upto + 1)]
        assert row["effort"] == pytest.approx(math.exp(np.mean(effort)), rel=1e-5)
        if name == "semiconductors":
            assert row["ideas"] == years[name, begins]["ideas"]
        if begins >= 1950:
            gained = math.log(years[name, ends]["ideas"] / years[name, begins]["ideas"])
            assert row["growth"] == pytest.approx(gained / (ends - begins), abs=2e-4)


@pytest.mark.parametrize(
    ("name", "spoil", "says"),
    [
        ("research-effort", ("15133", "15.133"), "thousands of dollars a year"),
        ("research-effort", ("408220000", "408.22"), "in dollars; the figure is in millions"),
        ("research-productivity", ("0.30067", "30.067"), "in percent"),
    ],
)
def test_a_figure_in_another_unit_is_refused(tmp_path, name, spoil, says):
    from pathlib import Path

    from forecast.base.files import file_hash
    from forecast.contract.registry import get_registry

    source = Path(get_registry().find("table", f"datasets/{name}").spec.descriptor)
    text = (source.parent / f"{name}.csv").read_text(encoding="utf-8")
    (tmp_path / f"{name}.csv").write_text(text.replace(*spoil, 1), encoding="utf-8")
    before, after = (file_hash(folder / f"{name}.csv") for folder in (source.parent, tmp_path))
    (tmp_path / "datapackage.json").write_text(source.read_text(encoding="utf-8").replace(before, after))
    with pytest.raises(forecast.errors.TableError, match=says):
        tables.to_columns(str(tmp_path / "datapackage.json"))["field"]
