"""The machine trends on the shipped table, against the published figures."""

import numpy as np
import pytest

import forecast


def facts(name, **options):
    return forecast.model(name).fit(**options).describe().facts


def test_hpcg_is_sixteen_points_and_seven_records():
    for trend in ("exponential", "changepoint"):
        said = forecast.model(f"hardware/hpcg@{trend}").fit().describe()
        assert (said.facts["n"], said.facts["n_records"]) == (16, 7)
        assert "16 points, 7 distinct records (effective n " in said.summary
        assert said.facts["n_effective"] <= 7


def test_hpcg_doubles_as_published():
    # 20.9 months [15.0, 34.5] over all points, 22.3 [13.7, 59.9] over the records: the width is that of the records
    found = forecast.model("hardware/hpcg@exponential").fit(as_of=2026.0).describe().facts
    months = {k: 12 * v for k, v in found.items() if k.startswith("doubling")}
    assert months["doubling_years"] == pytest.approx(20.9, abs=0.5)
    assert months["doubling_p05"] < 15.0
    assert months["doubling_p95"] > 34.5


def test_the_break_of_linpack_is_found():
    found = facts("hardware/linpack@changepoint")
    assert 2011 <= found["break"] <= 2016
    assert found["break_p_value"] <= 0.05
    assert 12 * found["doubling_years"] == pytest.approx(21.6, abs=1.5)
    assert 12 * np.log(2) / found["growth_before"] == pytest.approx(12.86, abs=0.5)
    assert found["n"] == 67


def test_linpack_on_one_line_says_that_it_fits_poorly():
    said = forecast.model("hardware/linpack@exponential").fit().describe()
    assert "a straight line fits this series poorly" in said.summary
    assert said.facts["n_effective"] < 10


def test_published_machines_lie_where_the_trend_puts_them():
    # Frontier, the first of 1.102 EFLOP/s in June 2022, within a factor of three of the broken line
    level = forecast.model("hardware/linpack@changepoint").fit().central(np.array([2022.45]))
    assert 1.102e6 / 3 < float(level[0]) < 1.102e6 * 3


def test_a_trend_reads_its_table_as_it_stood_before_a_date():
    then = forecast.model("hardware/linpack@exponential").fit(as_of=2013.0)
    assert then.observed().time.max() < 2013
    assert 12 * then.describe().facts["doubling_years"] == pytest.approx(12.86, abs=0.6)
