"""A projection as one table: every answer and every step is a row, and says what the summary says."""

from __future__ import annotations

import numpy as np
import pytest

import forecast
from forecast.base.dates import decimal_year
from forecast.report import result_data

SCENARIO = {
    "start": 2025,
    "until": 2040,
    "choices": {
        "pace": {"values": ["0.7", "1"], "kind": "rival", "weights": [0.25, 0.75]},
        "name": {"values": ["1", "2"], "kind": "definition"},
    },
    "quantities": {
        "growth": {"normal": [0.1, 0.4], "unit": "1/year"},
        "kind": {"draw": {"often": 0.7, "seldom": 0.3}},
        "amount": {"expression": "where(kind == 'often', 1.1, 1)*exp({pace}*growth*(t - start))*{name}"},
    },
    "questions": {
        "there": {"when": "amount >= 20", "dates": [2035]},
        "soon": {"when": "amount >= 4"},
        "how_far": {"value": "amount", "dates": [2030]},
        "race": {"first": ["there", "soon"]},
    },
}
HEADS = ["kind", "name", "of", "unit", "name (choice)", "pace", "date", "p05", "p25", "p50", "p75", "p95"]


@pytest.fixture(scope="module")
def tree():
    return forecast.project(SCENARIO, draws=300)


@pytest.fixture(scope="module")
def rows(tree):
    table = result_data.tidy_columns(tree)
    assert list(table) == [*HEADS, "probability", "already", "never"]
    return [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]


def of(rows, kind):
    return [row for row in rows if row["kind"] == kind]


def chosen(row):
    return {choice: row[head] for choice, head in (("pace", "pace"), ("name", "name (choice)")) if row[head]}


@pytest.mark.parametrize(("kind", "said"), [("question", result_data.date_rows), ("pooled", result_data.pooled_rows)])
def test_dates_are_decimal_years_and_never_is_empty(tree, rows, kind, said):
    expected = said(tree)
    found = of(rows, kind)
    assert [(row["name"], chosen(row)) for row in found] == [(row["name"], row["choices"]) for row in expected]
    for row, asked in zip(found, expected, strict=True):
        for level in ("p05", "p50", "p95"):
            date = asked["crossing"][level]
            if date is None:
                assert row[level] is None
            else:
                assert row[level] == decimal_year(np.array([date], dtype="datetime64[s]"))[0]
        assert (row["already"], row["never"]) == (asked["crossing"]["already"], asked["crossing"]["never"])
    assert any(row["p95"] is None for row in found)


def test_probabilities_by_a_date_have_rows_of_their_own(tree, rows):
    expected = [
        (row["choices"], each["date"], each["probability"])
        for row in [*result_data.date_rows(tree), *result_data.pooled_rows(tree)]
        for each in row.get("dates", ())
    ]
    found = [(chosen(row), row["date"], row["probability"]) for row in of(rows, "probability")]
    assert sorted(found, key=str) == sorted(expected, key=str)


def test_values_races_and_regimes_are_rows(tree, rows):
    values = [(chosen(row), row["date"], row["p50"]) for row in of(rows, "value")]
    assert values == [(r["choices"], d["date"], d["p50"]) for r in result_data.value_answers(tree) for d in r["dates"]]
    first = [(chosen(row), row["of"], row["probability"]) for row in of(rows, "first")]
    for race in result_data.first_answers(tree):
        own = {event: share for choices, event, share in first if choices == race["choices"]}
        assert own == {**race["first"], "(together)": race["together"], "(none)": race["none"]}
        assert sum(own.values()) == pytest.approx(1, abs=1e-9)
    (regime,) = result_data.regime_rows(tree)
    assert {row["of"]: row["probability"] for row in of(rows, "regime")} == regime["shares"]


def test_steps_are_rows_and_may_stand_alone(tree, rows):
    for asked in result_data.quantity_rows(tree):
        own = [r for r in of(rows, "quantity") if (r["name"], chosen(r)) == (asked["name"], asked["choices"])]
        assert [row["date"] for row in own] == asked["time"]
        assert [row["p25"] for row in own] == asked["p25"]
        assert {row["unit"] for row in own} == {asked["unit"]}
    alone = result_data.tidy_columns(tree, only=["growth"])
    assert set(alone["name"]) == {"growth"}
    assert set(alone["kind"]) == {"quantity"}
