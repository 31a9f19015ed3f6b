"""Who is best, with which probability: choices and figures out of tables, and rankings over a choice."""

import json
import re

import numpy as np
import pytest

import forecast
from forecast import Scenario
from forecast.errors import DataError, EmptyDataError, QualifierError, ScenarioError, UnitError, UnknownNameError
from forecast.projection.answers.ranking import first
from forecast.report import figures, result_data
from forecast.report.headline import opening_sentence
from forecast.scenarios.graph import build
from forecast.scenarios.kinds.table_value import TableValue
from toolkit import package, resource, shared_main as main

CARDS = """card,kind,memory,price,tokenizer,date
old,plain,8,300,a,2020-01-01
mid,plain,16,600,a,2021-01-01
big,fast,48,4000,a,2022-01-01
odd,fast,24,,a,2023-01-01
"""
RATES = """card,precision,rate
old,fp16,10
mid,fp16,30
mid,fp8,60
big,fp16,200
"""
QUOTES = """quote,card,day,price
1,old,2024-01-01,200
2,old,2025-01-01,150
3,old,2025-01-01,170
"""


def described(folder, name, tables):
    """Write a table of one or more resources; returns its descriptor."""
    units = {"memory": "GiB", "price": "USD", "rate": "TFLOP/s"}
    resources = []
    for file, (text, key) in tables.items():
        fields = []
        for column in text.splitlines()[0].split(","):
            kind = "number" if column in units else "date" if column in ("date", "day") else "string"
            fields.append({"name": column, "type": kind, **({"unit": units[column]} if column in units else {})})
        resources.append(resource(folder, file, text, fields, key, missingValues=[""]))
    return str(package(folder, name, *resources, file=f"{name}.json"))


@pytest.fixture
def tables(tmp_path):
    cards = described(tmp_path, "cards", {"cards": (CARDS, ["card"]), "rates": (RATES, ["card", "precision"])})
    return {"cards": cards, "quotes": described(tmp_path, "quotes", {"quotes": (QUOTES, ["quote"])})}


@pytest.fixture
def record(tables):
    rate = {"table": tables["cards"], "column": "rate", "where": {"card": "{card}", "precision": ["fp8", "fp16"]}}
    return {
        "start": 2026,
        "until": 2027,
        "choices": {
            "card": {"table": tables["cards"], "column": "card", "requires": ["rate", "price"]},
            "use": ["home", "work"],
        },
        "quantities": {
            "rate": rate,
            "price": {
                "table": tables["cards"],
                "column": "price",
                "where": {"card": "{card}"},
                "qualifiers": {"dollars": "x"},
            },
            "memory": {"table": tables["cards"], "column": "memory", "where": {"card": "{card}"}},
            "extra": {"p05": 10.0, "p95": 1000.0, "unit": "USD"},
            "budget": {"value": 5000.0, "unit": "USD"},
            "per_dollar": {
                "expression": "rate/(price + extra)",
                "qualifiers": {"precision": "any"},
                "unit": "GFLOP/s/USD",
            },
        },
        "questions": {"best": {"rank": "per_dollar", "over": "card", "subject_to": ["price <= budget"]}},
    }


def test_shares_of_the_draws():
    value = np.array([[3.0, 2.0, 9.0], [1.0, 1.0, 9.0], [1.0, 2.0, 9.0], [1.0, 2.0, 9.0]])
    among = np.array([[True, True, False], [True, True, False], [True, True, True], [False, False, False]])
    assert first(value, among).tolist() == [0.375, 0.125, 0.25]  # a tie is shared, nobody in the last
    assert first(value, among, lowest=True).tolist() == [0.375, 0.375, 0.0]


def test_a_draw_in_which_one_fails_is_left_out_and_one_that_always_fails_takes_no_part():
    value = np.array([[3.0, 2.0, np.nan], [1.0, 1.0, 9.0], [1.0, 2.0, 9.0]])
    assert first(value, np.ones((3, 3), dtype=bool)).tolist() == [0.0, 0.0, 1.0]
    value[:, 2] = np.nan
    assert first(value, np.ones((3, 3), dtype=bool)).tolist() == [0.5, 0.5, 0.0]


def test_choices_come_from_a_table_where_figures_are_known(record):
    made = Scenario.from_dict(record)
    assert made.choices["card"].values == ("old", "mid", "big")  # odd has neither price nor rate
    assert isinstance(made.quantities["rate"], TableValue)
    record["choices"]["card"] = {**record["choices"]["card"], "where": {"kind": ["plain", "none"]}}
    assert Scenario.from_dict(record).choices["card"].values == ("old", "mid")


def test_a_list_takes_the_first_that_is_known(record):
    node = build(Scenario.from_dict(record)).nodes["rate"]
    assert node.figures == {("old",): 10.0, ("mid",): 60.0, ("big",): 200.0}
    assert node.unit == "TFLOP/s"
    assert {c[0]: b["precision"] for c, b in node.bases.items()} == {"old": "fp16", "mid": "fp8", "big": "fp16"}


def test_what_will_do_may_depend_on_a_choice(record):
    record["quantities"]["rate"]["where"]["precision"] = {"home": ["fp8", "fp16"], "work": "fp16"}
    node = build(Scenario.from_dict(record)).nodes["rate"]
    assert node.dims == ("card", "use")
    assert (node.figures["mid", "home"], node.figures["mid", "work"]) == (60.0, 30.0)
    record["quantities"]["rate"]["where"]["precision"] = {"home": "fp8"}
    with pytest.raises(ScenarioError, match=r"where.precision: expected the values of one choice as keys"):
        Scenario.from_dict(record)


def test_attributes_count_for_columns_of_their_own_dimensions(record):
    """What precision a rate has says nothing of the memory, which has no such dimension."""
    nodes = build(Scenario.from_dict(record)).nodes
    assert nodes["memory"].bases["old",] == {"tokenizer": "a"}
    assert nodes["price"].bases["old",] == {"tokenizer": "a", "dollars": "x"}


def test_the_newest_and_the_lowest_of_several(record, tables):
    price = {"table": tables["quotes"], "column": "price", "where": {"card": "{card}"}, "latest": "day"}
    record["quantities"]["price"] = {**price, "fallback": record["quantities"]["price"]}
    with pytest.raises(DataError, match=r"quantities.price: 2 rows match and differ \(150 and 170\); narrow where"):
        build(Scenario.from_dict(record))
    for aggregate, figure in (("lowest", 150.0), ("highest", 170.0)):
        record["quantities"]["price"]["aggregate"] = aggregate
        node = build(Scenario.from_dict(record)).nodes["price"]
        assert node.figures == {("old",): figure, ("mid",): 600.0, ("big",): 4000.0}


def test_a_projection_ranks(record):
    run = forecast.project(record, draws=500)
    data = run["rankings"].to_dataset()
    assert data["best"].dims == ("quantile", "card")
    assert data["best"].attrs["units"] == "GFLOP/s/USD"
    assert float(data["best_first"].sum()) == pytest.approx(1.0)
    extra = run["projection"]["extra"].values[0]
    levels = [60e3 / (600 + extra), 200e3 / (4000 + extra)]
    assert float(data["best_first"].sel(card="mid")) == pytest.approx(np.mean(levels[0] > levels[1]))
    assert float(data["best"].sel(card="mid", quantile=0.5)) == pytest.approx(np.median(levels[0]), rel=1e-6)
    assert data["best_among"].values.tolist() == [1.0, 1.0, 1.0]
    assert forecast.project(record, draws=500, workers=2)["rankings"].to_dataset().identical(data)


def test_conditions_leave_out(record):
    run = forecast.project(record, draws=50, with_={"budget": 650})
    assert run["rankings"]["best_among"].values.tolist() == [1.0, 1.0, 0.0]
    assert float(run["rankings"]["best_first"].sel(card="mid")) == 1.0
    rows = result_data.ranking_rows(run)
    assert [entry["name"] for entry in rows[0]["order"]] == ["mid", "old", "big"]
    assert opening_sentence(run) == (
        "The highest per_dollar: mid, with a probability of over 99 %, ahead of old; "
        "with budget = 650 USD instead of 5,000 USD."
    )
    nothing = forecast.project(record, draws=50, with_={"budget": 1})
    assert (
        opening_sentence(nothing)
        == "The highest per_dollar: none of 3 meets price <= budget; with budget = 1 USD instead of 5,000 USD."
    )


def test_what_seldom_takes_part_comes_last_unless_the_values_are_ordered(record):
    """Prices are 300, 600 and 4000: over a limit the dearer takes part the oftener, under one the cheaper does."""
    record["quantities"]["limit"] = {"low": 250, "high": 1200, "unit": "USD"}
    for condition, best, ordered, names in (
        ("price >= limit", "lowest", True, ["old", "mid", "big"]),  # in 5, 37 and 100 % of the draws
        ("price >= limit", "lowest", False, ["big", "old", "mid"]),
        ("price <= limit", "highest", True, ["mid", "old", "big"]),  # in 63, 95 and 0 %
        ("price >= limit", "highest", True, ["big", "mid", "old"]),
    ):
        asked = {"rank": "price", "over": "card", "best": best, "subject_to": [condition], "ordered": ordered}
        record["questions"]["best"] = asked
        (row,) = result_data.ranking_rows(forecast.project(record, draws=500))
        assert [entry["name"] for entry in row["order"]] == names, (condition, ordered)


def test_what_takes_part_in_few_draws_is_not_listed_before_what_is_best(record):
    """The larger the dearer, as of what is sold: each takes part at least as often as the larger one before it."""
    record["quantities"]["limit"] = {"p05": 500, "p95": 3000, "unit": "USD"}
    record["questions"]["best"] = {"rank": "memory", "over": "card", "subject_to": ["price <= limit"]}
    run = forecast.project(record, draws=500)
    (row,) = result_data.ranking_rows(run)
    shares = {entry["name"]: entry["among"] for entry in row["order"]}
    assert 0 < shares["big"] < 0.1 < shares["mid"] <= shares["old"]
    assert [entry["name"] for entry in row["order"]] == ["mid", "old", "big"]
    assert "The highest memory: mid, with" in opening_sentence(run)


def test_ordered_is_true_or_false(record):
    record["questions"]["best"]["ordered"] = "yes"
    with pytest.raises(ScenarioError, match=r"questions.best.ordered: expected true or false, got yes"):
        Scenario.from_dict(record)


def test_the_lowest_may_be_the_best(record):
    record["questions"]["best"] = {"rank": "price + extra", "over": "card", "best": "lowest", "title": "Cheapest"}
    run = forecast.project(record, draws=50)
    assert opening_sentence(run).startswith("Cheapest: old, with a probability of over 99 %, ahead of mid")


def test_each_combination_of_the_other_choices_is_ranked(record):
    record["quantities"]["rate"]["where"]["precision"] = {"home": ["fp8", "fp16"], "work": "fp16"}
    rows = result_data.ranking_rows(forecast.project(record, draws=50))
    assert [row["choices"] for row in rows] == [{"use": "home"}, {"use": "work"}]
    assert json.loads(json.dumps(rows)) == rows


def test_a_saved_ranking_comes_back(record, tmp_path):
    from forecast import save

    run = forecast.project(record, draws=20)
    save(run, tmp_path / "run.nc")
    assert result_data.ranking_rows(forecast.load(tmp_path / "run.nc").run) == result_data.ranking_rows(run)


def test_what_is_ranked_is_in_the_provenance(record):
    run = forecast.project(record, draws=20)
    assert run.attributes["rankings"]["best"] == {
        "rank": "per_dollar", "over": "card", "among": ["price <= budget"], "best": "highest", "title": "",
    }  # fmt: skip
    other = forecast.project({**record, "questions": {}}, draws=20)
    assert "rankings" not in other.to_xarray().attrs
    assert other.to_xarray().attrs["scenario_hash"] != run.to_xarray().attrs["scenario_hash"]


def test_rankings_of_different_bases_are_refused(record):
    record["quantities"]["per_dollar"].pop("qualifiers")
    with pytest.raises(QualifierError, match=r"questions.best.rank: .*'old' is precision fp16, 'mid' is precision fp8"):
        build(Scenario.from_dict(record))


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"over": "crad"}, UnknownNameError, "questions.best.over: unknown choice 'crad'; did you mean 'card'"),
        ({"over": "use"}, ScenarioError, "is the same for every value of 'use': there is nothing to rank"),
        ({"rank": "per_dolar"}, UnknownNameError, "did you mean 'per_dollar'"),
        ({"rank": "rate + price"}, UnitError, "units do not balance"),
        ({"best": "max"}, UnknownNameError, "unknown order 'max'"),
        ({"subject_to": ["price <= rate"]}, UnitError, "questions.best.subject_to: units do not balance"),
        ({"subject_to": "price <= budget"}, ScenarioError, "expected a list of texts"),
        ({"when": "price >= budget"}, UnknownNameError, "unknown key 'when'"),
    ],
)
def test_wrong_rankings(record, change, error, says):
    record["questions"]["best"] |= change
    with pytest.raises(error) as caught:
        build(Scenario.from_dict(record, where="mine.toml"))
    assert says in str(caught.value)
    assert str(caught.value).startswith("mine.toml: ")


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"column": "rat"}, UnknownNameError, "did you mean 'rate'"),
        ({"where": {"card": "{crad}"}}, UnknownNameError, "did you mean 'card'"),
        ({"where": {"crad": "{card}"}}, UnknownNameError, "did you mean 'card'"),
        ({"where": {"card": "none"}}, EmptyDataError, "quantities.rate: .* has no 'rate' where card = none"),
        ({"aggregate": "best"}, UnknownNameError, "unknown aggregate 'best'"),
        ({"latest": "kind"}, DataError, "column 'kind' holds no dates"),
        ({"fallback": 3}, ScenarioError, "quantities.rate.fallback: expected a table"),
        ({"colum": "rate"}, UnknownNameError, "did you mean 'column'"),
    ],
)
def test_wrong_figures(record, change, error, says):
    record["choices"]["card"] = ["old", "mid", "big"]
    record["quantities"]["rate"] |= change
    with pytest.raises(error, match=says):
        build(Scenario.from_dict(record))


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"requires": ["extra"]}, UnknownNameError, "choices.card.requires: unknown quantity read in a table 'extra'"),
        ({"where": {"kind": "none"}}, EmptyDataError, "choices.card: no value is left"),
        ({"column": "memory"}, DataError, "choices.card.column: 'memory' holds no text"),
        ({"requirs": []}, UnknownNameError, "did you mean 'requires'"),
    ],
)
def test_wrong_choices(record, change, error, says):
    record["choices"]["card"] = {**record["choices"]["card"], **change}
    with pytest.raises(error, match=says):
        Scenario.from_dict(record)


def test_the_command_line_shows_them(record, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("forecast.scenarios.registered.read_scenario", lambda path: record)
    (tmp_path / "mine.toml").write_text("")
    words = ["run", str(tmp_path / "mine.toml"), "--draws", "50", "--set", "budget=650"]
    assert main([*words, "--show", "answers"]) == 0
    out = capsys.readouterr().out
    assert "[GFLOP/s/USD]" in out
    assert re.search(r"^mid .*>99 % +1$", out, re.MULTILINE)
    assert main([*words, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert result["rankings"][0]["order"][0]["name"] == "mid"


def test_a_ranking_is_drawn(record, tmp_path):
    figures.plot_projection(forecast.project(record, draws=20), tmp_path / "run.svg")
    drawn = (tmp_path / "run.svg").read_text()
    assert "mid" in drawn
    assert "per_dollar" in drawn
