"""How far answers change when a table does, without a projection."""

import math

import pytest

from forecast.errors import UsageError
from forecast.evaluation.table_changes import AnswerChange, AnswerLabel, compare_editions, table_requests


def change(before, after, unit="USD"):
    return AnswerChange(
        label=AnswerLabel(name="q", title="a question", choices={}, unit=unit), before=before, after=after
    )


@pytest.mark.parametrize(
    ("before", "after", "unit", "size"),
    [
        ({"p50": 2.0}, {"p50": 4.0}, "USD", math.log(2)),
        ({"p50": -1.0}, {"p50": 1.0}, "USD", 2.0),
        ({"p50": "2030-01-01"}, {"p50": "2032-01-01"}, "date", 2.0),
        ({"p50": None}, {"p50": 1.0}, "USD", -1.0),
        (None, {"p50": 1.0}, "USD", -1.0),
        ({"p50": 1.0, "best": "a"}, {"p50": 2.0, "best": "b"}, "USD", -1.0),
    ],
)
def test_the_size_of_a_change_is_that_of_its_median(before, after, unit, size):
    assert change(before, after, unit).size == pytest.approx(size, abs=0.01)


def test_no_scenario_is_run_where_no_table_changed():
    result = compare_editions([], ["no-such-scenario"], read_answers=lambda tree: [])
    assert (result.tables, result.scenarios, result.failed) == ((), (), False)


def test_a_shipped_table_is_compared_with_a_substitute_only():
    with pytest.raises(UsageError, match="there is nothing to fetch"):
        table_requests(["datasets/supercomputers"])
    with pytest.raises(UsageError, match="stands in its own place"):
        table_requests(substitutes=[("datasets/capability-editions", "2026-08", "2026-08")])
