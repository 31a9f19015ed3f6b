"""As of a date: what was not known is not read, what rests on it is left out and named, and the rest is answered."""

import datetime
import re

import numpy as np
import pytest

import forecast
from forecast import tables
from forecast.base.warning_lines import warning_lines
from forecast.contract.registry import get_registry
from forecast.errors import ForecastError, UsageError
from forecast.projection.paths.run_cache import RunCache
from forecast.report.brief import section
from forecast.report.screen import brief_lines
from forecast.scenarios.scenario import Scenario
from tests.toolkit import command
from toolkit import sample

run_command = command("run")
SCENARIOS = get_registry().names("scenario", parts=False)
PUBLISHED = [each for each in SCENARIOS if "published_on" in Scenario.load(each).stated]


def rows(path, text):
    path.write_text(text)
    return str(path)


@pytest.fixture
def scenario(tmp_path):
    """Return a scenario of a long series, a short one, an undated table's law, and rivals that read them."""
    long = rows(tmp_path / "long.csv", "date,y\n" + "".join(f"{2010 + i}-01-01,{2.0**i}\n" for i in range(16)))
    short = rows(tmp_path / "short.csv", "date,y\n" + "".join(f"{2021 + i}-01-01,{3.0**i}\n" for i in range(5)))
    trend = {"shape": "trends/exponential", "x": "date", "y": "y", "unit": ""}
    return {
        "start": 2026,
        "until": 2036,
        "choices": {"route": {"values": ["a", "b"], "kind": "rival", "weights": "equal"}},
        "quantities": {
            "long": {"data": long, **trend},
            "short": {"data": short, **trend},
            "by": {"draw": {"long": 0.25, "short": 0.25, "flat": 0.5}},
            "mixed": {"expression": "where(by == 'long', long, where(by == 'short', short, 7))"},
            "capped": {"expression": "long", "limit": "short"},
            "reads": {"expression": "2*short"},
            "alone": {"expression": "3*long"},
        },
        "questions": {
            "first": {"when": "alone >= 1e6"},
            "second": {"when": "reads >= 1e6"},
            "third": {"value": "mixed", "dates": ["2026-01-01"]},
        },
    }


def test_what_reads_what_had_no_data_is_left_out_and_the_rest_is_as_before(scenario):
    run = forecast.project(scenario, draws=64, as_of=2022.0)
    assert "short" not in run.quantities
    assert "reads" not in run.quantities
    assert list(run.answers) == ["first", "third"]
    assert any("'short'" in text for text in map(str, run.warnings) if "left out" in text)
    (line,) = [each for each in warning_lines(run.warnings) if each.startswith("as of")]
    assert re.search(r"left out: models without data \(1\), .*quantities that rest on these \(", line), line
    assert "as of 2022-01-01: questions without an answer: second" in map(str, run.warnings)
    plain = {**scenario, "start": 2022}
    del plain["questions"]
    alone = forecast.project(
        {**plain, "quantities": {name: plain["quantities"][name] for name in ("long", "alone")}}, draws=64, as_of=2022.0
    )
    np.testing.assert_array_equal(run.worlds["alone"], alone.worlds["alone"])


def test_a_run_as_of_a_date_starts_there_and_reaches_the_dates_that_are_asked_for(scenario):
    run = forecast.project(scenario, draws=64, as_of=2022.4)
    assert run.years[0] == pytest.approx(2022.4)
    assert run.years[-1] >= 2036
    assert forecast.project(scenario, draws=64, as_of=2022.4, start=2024).years[0] == 2024
    assert max(run.newest.values()) < "2022-05-26"


def test_labels_without_data_are_not_drawn_and_the_others_keep_their_weights(scenario):
    run = forecast.project(scenario, draws=4096, as_of=2022.0)
    drawn = run.worlds["by"].values[0]
    assert set(np.unique(drawn)) == {0, 2}  # long and flat
    assert np.mean(drawn == 0) == pytest.approx(1 / 3, abs=0.02)
    assert np.isfinite(run.worlds["mixed"]).all()
    assert any(text.startswith("as of 2022-01-01: by: only long, flat") for text in map(str, run.warnings))


def test_a_limit_without_data_does_not_bind(scenario):
    run = forecast.project(scenario, draws=64, as_of=2022.0)
    np.testing.assert_array_equal(run.worlds["capped"], run.worlds["long"])
    assert not run.limits
    assert any("which do not bind: capped" in text for text in map(str, run.warnings))


def test_a_rival_without_data_leaves_its_weight_to_the_others(scenario):
    scenario["choices"] = {"trend": {"values": ["exponential", "local-linear"], "kind": "rival", "weights": "equal"}}
    scenario["quantities"]["short"]["shape"] = "trends/{trend}"  # a local linear trend needs five records
    run = forecast.project(scenario, draws=64, as_of=2024.5)
    assert run.choices["trend"].values == ("exponential",)
    assert "second" in run.answers
    assert not run.failures


def test_a_row_of_what_had_no_data_says_so(scenario):
    scenario["choices"] = {"trend": {"values": ["exponential", "local-linear"], "kind": "definition"}}
    scenario["quantities"]["short"]["shape"] = "trends/{trend}"  # a local linear trend needs five records
    scenario["quantities"]["limited"] = {"expression": "short", "limit": "long"}
    then = forecast.project(scenario, draws=64, as_of=2024.5)
    assert then.unanswered({"trend": "local-linear"}) == "no data as of 2024-07-02"
    for shown in ("answers", "limits"):
        lines = brief_lines(section(then, shown), 140)
        assert any("no data as of 2024-07-02" in line for line in lines)
        assert not [line for line in lines if "failed" in line]
    assert forecast.project(scenario, draws=64).unanswered({}) == "failed"  # no date is to blame


def test_what_is_left_out_is_the_same_in_other_processes(scenario):
    one, two = (forecast.project(scenario, draws=9000, as_of=2022.0, workers=n) for n in (1, 2))
    assert one.identical(two)


def test_without_anything_to_answer_the_error_names_the_model(scenario, tmp_path):
    del scenario["questions"]["third"]
    with pytest.raises(forecast.errors.DataError, match=r"nothing is left to answer as of 2005-01-01: .*'long'"):
        forecast.project(scenario, draws=64, as_of=2005.0)


# --- numbers that people stated, by when they were published ----------------------------------------------------------

DATED = {
    "start": 2026,
    "until": 2030,
    "quantities": {
        "old": {"uniform": [0, 1], "width": 1, "unit": "", "published": "2020-05-01"},
        "young": {"uniform": [5, 6], "width": 1, "unit": "", "published": "2025-03-01", "earlier": {"value": 9}},
        "new": {"value": 4, "unit": "", "published": "2025-03-01"},
        "by": {"draw": {"a": 0.5, "b": 0.5}, "published": "2024-06-01", "earlier": {"a": 1.0, "b": 0.0}},
        "bounded": {"expression": "10*old", "limit": "new"},
        "mixed": {"expression": "where(by == 'a', old, new)"},
        "reads": {"expression": "new + 1"},
        "row": {
            "table": "datasets/benchmark-difficulty",
            "column": "slope",
            "where": {"benchmark": "osworld-2.0"},
            "published": "2025-03-01",
        },
    },
    "questions": {
        f"{name}_then": {"value": name, "dates": [2030]} for name in ("young", "bounded", "mixed", "reads", "row")
    },
}


def test_a_number_that_was_published_later_takes_its_older_figure_or_is_left_out():
    now, then = forecast.project(DATED, draws=256), forecast.project(DATED, draws=256, as_of=2024.0)
    assert now.worlds["young"].min() >= 5
    assert now.worlds["young"].max() <= 6
    assert (then.worlds["young"] == 9).all()
    np.testing.assert_array_equal(then.worlds["old"].isel(time=0), now.worlds["old"].isel(time=0))
    assert (now.worlds["bounded"] <= 4).all()
    assert then.worlds["bounded"].max() > 4  # a limit that nobody knew does not bind
    assert (then.worlds["by"] == 0).all()
    np.testing.assert_array_equal(then.worlds["mixed"].values[0], then.worlds["old"].values[0])
    assert list(then.answers) == ["young_then", "bounded_then", "mixed_then"]
    assert "row_then" in now.answers
    said = [text for text in map(str, then.warnings) if "published later" in text]
    assert said == [
        "as of 2024-01-01: numbers that were published later, of which older ones stand or none: by (2024-06-01), "
        "new (2025-03-01), row (2025-03-01), young (2025-03-01)"
    ]
    assert not [text for text in map(str, now.warnings) if "published" in text]
    later = forecast.project(DATED, draws=256, as_of=2025.5)
    np.testing.assert_array_equal(later.worlds["mixed"].values[0], now.worlds["mixed"].values[0])


def test_a_label_that_few_worlds_hold_is_not_blamed_for_what_others_lack():
    """Eight labels of which half lack data, each in a formula of its own, beside one of five that lacks nothing."""
    quantities = {
        "few": {"draw": {"a": 0.2, "b": 0.2, "c": 0.2, "d": 0.2, "e": 0.2}},
        "new": {"value": 4, "unit": "", "published": "2025-03-01"},
    }
    for i in range(8):
        quantities[f"by{i}"] = {"draw": {"old": 0.5, "young": 0.5}}
        quantities[f"x{i}"] = {"expression": f"where(by{i} == 'old', 1, new)"}
    quantities["whole"] = {"expression": "+".join(f"x{i}" for i in range(8)) + " + where(few == 'a', 1, 0)"}
    asked = {
        "start": 2026,
        "until": 2030,
        "quantities": quantities,
        "questions": {"w": {"value": "whole", "dates": [2030]}},
    }
    run = forecast.project(asked, draws=256, as_of=2024.0)
    said = [text for text in map(str, run.warnings) if ": only " in text]
    assert len(said) == 8
    assert not any("few" in text for text in said)
    assert set(np.unique(run.worlds["few"])) == set(range(5))


def test_a_number_that_is_set_has_no_date():
    run = forecast.project(DATED, draws=64, as_of=2024.0, with_={"new": 7, "by": "b"})
    assert (run.worlds["mixed"] == 7).all()
    assert "reads_then" in run.answers
    # a file has dates and no texts
    stated = {**DATED["quantities"], "new": {**DATED["quantities"]["new"], "published": datetime.date(2025, 3, 1)}}
    again = forecast.project({**DATED, "quantities": stated}, draws=64, as_of=2024.0, with_={"new": 7, "by": "b"})
    np.testing.assert_array_equal(again.worlds["mixed"], run.worlds["mixed"])


@pytest.mark.parametrize(("earlier", "answered"), [({"a": 0.5, "b": 0.5}, True), ({"a": 0.0, "b": 1.0}, False)])
def test_of_a_dated_draw_labels_without_data_are_left_out_where_another_has_some(earlier, answered):
    by = {"draw": {"a": 0.2, "b": 0.8}, "published": "2024-06-01", "earlier": earlier}
    then = forecast.project({**DATED, "quantities": {**DATED["quantities"], "by": by}}, draws=256, as_of=2024.0)
    assert ("mixed_then" in then.answers) == answered
    if answered:
        np.testing.assert_array_equal(then.worlds["mixed"].values[0], then.worlds["old"].values[0])


@pytest.mark.parametrize(
    ("stated", "says"),
    [
        ({"value": 1, "unit": "", "earlier": {"value": 2}}, "quantities.x.earlier: states what stood before a date"),
        ({"value": 1, "unit": "", "published": "soon"}, "x.published: expected a date such as 2030, 2030-12"),
        ({"value": 1, "unit": "", "published": "2024-01-01", "earlier": {"wrong": [1]}}, "unknown key 'wrong'"),
        ({"value": 1, "unit": "", "published": "2024-01-01", "earlier": 3}, "earlier: expected a table, got int"),
        ({"draw": {"a": 0.5, "b": 0.5}, "published": "2024-01-01", "earlier": {"a": 0.5, "c": 0.5}}, "label 'c'"),
        ({"draw": {"a": 0.5, "b": 0.5}, "published": "2024-01-01", "earlier": {"a": 0.5, "b": 0.4}}, "sum to 1"),
    ],
)
def test_a_date_of_publication_that_says_nothing_is_one_sentence(stated, says):
    with pytest.raises(forecast.errors.ForecastError, match=says):
        forecast.project({"quantities": {"x": stated}, "questions": {"a": {"when": "x >= 1"}}})


def test_of_a_mixture_a_member_that_was_published_later_is_not_taken():
    from forecast import Input, MixtureSpec

    with pytest.raises(forecast.errors.ForecastError, match="published"):
        MixtureSpec(name="m", unit="", weights={"a/b": 1}, members_published={"a/b": "2024"}, reference="r")
    with pytest.raises(forecast.errors.ForecastError, match="published"):
        Input(name="x", unit="", distribution={"value": 1}, source="s", published="2024-13-01")
    part = {"quantities": {"days": {"model": "capability/duration-pool"}}, "start": 2026, "until": 2027}
    longest = {
        as_of: float(forecast.project(part, draws=4096, as_of=as_of).worlds["days"].median())
        for as_of in (None, 2026.0, 2024.0)
    }
    assert longest[None] == longest[2026.0]
    assert longest[2024.0] < longest[2026.0]


@pytest.mark.slow
def test_nothing_that_was_published_later_moves_the_flagship_as_of_a_date(monkeypatch):
    """Perturb every authored number that is younger than the vintage: not a bit of any world differs."""
    from forecast.projection.plan import Plan

    asked = {"draws": 32, "as_of": 2024.0, "until": 2027, "with_": {"variant": ["trends continue"]}}
    before = forecast.project("model-capability", **asked, cache=None)
    moved, known = [], Plan.known

    def perturbed(self, node, published, now, earlier):
        if published > "2024-01-01":
            moved.append(node)
            now = {"value": 0.123} if isinstance(now, dict) or hasattr(now, "items") else None
        return known(self, node, published, now, earlier)

    monkeypatch.setattr(Plan, "known", perturbed)
    after = forecast.project("model-capability", **asked, cache=None)
    assert len(set(moved)) >= 15
    for name in before.worlds:
        np.testing.assert_array_equal(before.worlds[name], after.worlds[name], err_msg=str(name))


def perturbed_after(ds, date):
    """Return a table in which every number of a row all of whose dates come later is another one."""
    days = [column for column in ds.variables.values() if column.dtype.kind == "M"]
    ds = ds.copy(deep=True)
    for column in ds.variables.values() if days else ():
        known = np.array([day.values for day in days if day.dims == column.dims == days[0].dims])
        if column.dtype.kind == "f" and len(known):
            late = ((known > np.datetime64(date)) | np.isnat(known)).all(axis=0) & ~np.isnat(known).all(axis=0)
            column.values = np.where(late, 7.3 * column.values, column.values)
    return ds


@pytest.mark.parametrize("name", sample([each for each in SCENARIOS if each not in PUBLISHED], 0, 3))
def test_no_row_of_a_later_date_moves_anything_as_of_a_date(monkeypatch, name):
    """Of every table, whoever reads it: models, figures that are looked up, choices."""
    date, load = "2025-01-01", tables._load

    def worlds():
        tables.cache._kept.clear()
        return forecast.project(name, draws=48, as_of=date, cache=RunCache()).worlds

    before = worlds()
    monkeypatch.setattr(tables, "_load", lambda edition: perturbed_after(load(edition), date))
    after = worlds()
    monkeypatch.undo()
    tables.cache._kept.clear()
    assert set(before) == set(after)
    for each in before:
        np.testing.assert_array_equal(before[each], after[each], err_msg=str(each))


def test_a_figure_is_looked_up_as_of_a_date_and_one_whose_row_came_later_is_left_out(tmp_path):
    prices = rows(tmp_path / "prices.csv", "date,price\n2020-01-01,9\n2022-01-01,5\n2024-01-01,3\n")
    record = {
        "start": 2025, "until": 2027,
        "quantities": {
            "price": {"table": prices, "column": "price", "latest": "date"},
            "size": {"table": "datasets/accelerators", "column": "memory", "where": {"device": "b200"}},
        },
        "questions": {"paid": {"value": "price", "dates": [2026]}, "big": {"value": "size", "dates": [2026]}},
    }  # fmt: skip
    assert forecast.project(record, draws=4).answer("paid").quantile(0.5) == 3
    then = forecast.project(record, draws=4, as_of=2023.0)
    assert then.answer("paid").quantile(0.5) == 5
    assert "big" not in then.answers
    assert forecast.project(record, draws=4, as_of=2021.0).answer("paid").quantile(0.5) == 9
    with pytest.raises(ForecastError, match="price"):
        forecast.project(record, draws=4, as_of=2019.0)


def test_nothing_is_left_out_without_a_date(scenario):
    run = forecast.project(scenario, draws=64)
    assert list(run.answers) == ["first", "second", "third"]
    assert not [t for t in map(str, run.warnings) if "as of" in t]


def test_the_command_reads_dates_and_refuses_what_is_none(capsys):
    said = run_command(capsys, "brain-parity", "--as-of", "2024-01-01", "--draws", "16", "--json")
    assert said.code == 0
    assert said.json["result"]["newest"]
    assert run_command(capsys, "brain-parity", "--as-of", "soon").code == 2


@pytest.mark.parametrize("date", ["2024-01-01", "2025-06-01"])
@pytest.mark.parametrize("name", sample(SCENARIOS, 0, 6))
def test_every_scenario_answers_as_of_a_date_or_names_what_it_lacks(capsys, name, date):
    said = run_command(capsys, name, "--as-of", date, "--draws", "64", "--json")
    if said.code:
        assert re.search("model '| has no '", said.refused(1))
        return
    found = said.json["result"]
    assert not {table: newest for table, newest in found.get("newest", {}).items() if newest >= date}
    assert found["quantities"]


def test_a_date_is_a_year_or_a_text_and_anything_else_is_told_what_one_is(scenario):
    year = forecast.project(scenario, draws=64, as_of=2022.0)
    for text in ("2022", "2022.0", "2022-01-01", np.datetime64("2022-01-01"), datetime.date(2022, 1, 1)):
        assert forecast.project(scenario, draws=64, as_of=text).identical(year)
    for wrong in ("soon", "2022-13-01", "today", "", "99999-01-01"):
        with pytest.raises(UsageError, match="as_of: expected a "):
            forecast.project(scenario, draws=64, as_of=wrong)
    with pytest.raises(UsageError, match="as_of: expected a date such as"):
        forecast.project(scenario, draws=64, as_of=[2022])
