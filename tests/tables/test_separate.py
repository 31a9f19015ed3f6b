"""Rows that must not be mixed: what a schema says of a column holds for trends, relations and fits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import forecast
from forecast.errors import QualifierError, TableError
from forecast.tables import table, to_columns
from toolkit import package, resource

CSV = "kind,year,cost,made\n" + "".join(
    f"{kind},{2000 + i},{level * 0.8**i:.6g},{3 * 1.5**i:.6g}\n"
    for kind, level in (("a", 10), ("b", 7e6))
    for i in range(8)
)


def described(folder: Path, separate: object = ("kind",)) -> str:
    fields = [
        {"name": "kind", "type": "string"},
        {"name": "year", "type": "integer", "unit": ""},
        {"name": "cost", "type": "number", "unit": ""},
        {"name": "made", "type": "number", "unit": ""},
    ]
    curves = resource(folder, "curves", CSV, fields, ["kind", "year"], separate=separate)
    return str(package(folder, "curves", curves))


MIXES = r'mixes kind a and b; keep one: where = \{ kind = "a" \}'
TREND = {"shape": "trends/exponential", "x": "year", "y": "cost", "unit": ""}
WRIGHT = {"let": {"Q": "made"}, "y": "cost"}


def test_a_trend_is_told_to_keep_one(tmp_path):
    source = described(tmp_path)
    for data in (source, table(source), to_columns(source)):
        with pytest.raises(QualifierError, match=f"^mine: {MIXES}$"):
            forecast.trend(data, name="mine", **TREND).fit()
        facts = forecast.trend(data, where={"kind": "b"}, **TREND).fit().describe().facts
        assert facts["doubling_years"] == pytest.approx(np.log(2) / np.log(0.8), rel=1e-4)
    one = table(source).sel(kind="a")
    assert forecast.trend(one, **TREND).fit().describe().facts["n"] == 8


def test_a_fit_keeps_one_or_tells_them_apart(tmp_path):
    source, law = described(tmp_path), forecast.law("scaling/wright")
    says = r"""scaling/wright: mixes kind a and b; keep one \(--where "kind is a"\), or fit each: by='kind'"""
    for data in (source, table(source), to_columns(source)):
        with pytest.raises(QualifierError, match=says):
            law.fit(data, **WRIGHT)
    assert law.fit(to_columns(source), by="kind", **WRIGHT).params["w"].sizes == {"kind": 2}
    assert law.fit(table(source), by="kind", **WRIGHT).params["w"].sizes == {"kind": 2}
    assert law.fit(to_columns(source), groups="kind", **WRIGHT).n == 16
    rows = to_columns(source)
    assert law.fit(rows.take(rows["kind"] == "a"), **WRIGHT).n == 8
    with pytest.raises(QualifierError, match="mixes kind a and b"):
        law.fit(table(source), by="year", let={"Q": "made"}, y="cost")


def test_hindcasts_tell_the_series_apart(tmp_path):
    from forecast_trends.hindcast import hindcasts

    source = described(tmp_path)
    assert hindcasts(source, series="kind", x="year", y="cost", window=2).technologies == ("a", "b")


@pytest.mark.parametrize(
    ("separate", "says"),
    [(["knid"], "schema.separate: no field 'knid'; did you mean 'kind'?"), ("kind", "separate: expected a list")],
)
def test_a_descriptor_that_says_it_wrongly_is_refused(tmp_path, separate, says):
    with pytest.raises(TableError) as caught:
        table(described(tmp_path, separate))
    assert says in str(caught.value)


@pytest.mark.parametrize("field", ["semiconductors", "united-states"])
def test_productivity_of_one_field_can_be_fitted_and_both_cannot(field):
    law, rows = forecast.law("resources/harder-ideas"), to_columns("datasets/research-productivity")
    asked = {"let": {"S": "effort/1e5", "A": "ideas"}, "y": "growth"}
    with pytest.raises(QualifierError, match="mixes field semiconductors and united-states"):
        law.fit("datasets/research-productivity", **asked)
    assert law.fit(rows.take(rows["field"] == field), **asked).values["beta"] > 0
