from __future__ import annotations

import hashlib
import json
import re

import pytest

import forecast
from forecast.cli import main
from forecast.contract.registry import get_registry
from forecast.errors import UsageError
from forecast.scenarios.question_text import read_question
from toolkit import heavy_imports, json_of

NOUNS = ("laws", "models", "tables", "scenarios", "plugins")
#: Those whose list for people is a table.
TABLES = tuple(noun for noun in NOUNS if noun != "models")

DEMO = '''"""A plugin for tests."""
from pathlib import Path

def forecast_laws():
    fit = PublishedFit(name="smith2020", parameters={"a": 0.123456789012}, stderr={"a": 0.5}, rounded=True,
                       reference="S")
    yield LawSpec(name="line", title="A line", variables={"x": "FLOP"}, expression="a*x + b", output="loss", unit="nat",
                  positive=("a",), bounds={"b": (-1, 1)}, example={"a": 1, "b": 0}, published=(fit,),
                  reference="Euclid")
    yield LawSpec(name="code", variables={"x": ""}, target="nowhere:f", example={"k": 1}, reference="ours")

def forecast_models():
    rate = Input(name="rate", unit="FLOP/s", distribution={"p05": 1, "p95": 2}, source="a book", title="Rate")
    yield EstimateSpec(name="guess", unit="FLOP/s", quantity="demo.speed", expression="rate", inputs=(rate,),
                       reference="r")
    yield TrendSpec(name="trend", unit="FLOP/s", shape="a/b", table="demo/t", x="date", y="v", where={"k": "v"},
                    reference="r")
    yield MixtureSpec(name="mix", unit="FLOP/s", weights={"demo/guess": 1.0}, reference="r")
    yield RelationSpec(name="rel", unit="nat", law="demo/line", table="demo/t", let={"x": "v"}, y="v", reference="r")

def forecast_tables():
    yield TableSpec(name="t", descriptor=str(Path(__file__).parent / "t" / "datapackage.json"), reference="r")

def forecast_scenarios():
    yield ScenarioSpec(name="s", title="When?", path=str(Path(__file__).parent / "s.toml"), reference="r")
'''

SCENARIO = """
title = "When does it happen?"
until = 2100
[choices]
metric = ["a", "b"]
[quantities.x]
model = "demo/{metric}"
[questions.parity]
when = "x >= 1"
"""


@pytest.fixture
def demo(fake_plugins):
    folder = fake_plugins.folder / "t"
    folder.mkdir()
    rows = b"date,v,source\n2020-01-01,1,a book\n2021-01-01,2,a book\n"
    (folder / "t.csv").write_bytes(rows)
    fields = [
        {"name": "date", "type": "date"},
        {"name": "v", "type": "number", "unit": "FLOP/s", "title": "Speed"},
        {"name": "source", "type": "string"},
    ]
    resource = {"name": "t", "path": "t.csv", "hash": "sha256:" + hashlib.sha256(rows).hexdigest()}
    package = {
        "name": "t", "title": "Speeds", "version": "1.2", "licenses": [{"name": "CC0-1.0"}],
        "sources": [{"title": "a book"}],
        "resources": [{**resource, "schema": {"fields": fields, "primaryKey": "date"}}],
    }  # fmt: skip
    (folder / "datapackage.json").write_text(json.dumps(package))
    (fake_plugins.folder / "s.toml").write_text(SCENARIO)
    fake_plugins.add("demo", DEMO)
    return fake_plugins


def answer(capsys, *words):
    assert main([*words, "--json"]) == 0
    captured = capsys.readouterr()
    found = json_of(captured.out)
    assert list(found) == ["command", "result", "warnings", "provenance"]
    return found


@pytest.mark.parametrize("noun", NOUNS)
def test_list_gives_objects_with_a_name(demo, capsys, noun):
    found = answer(capsys, noun, "list")
    assert found["command"] == f"{noun} list"
    assert all({"name", "title"} <= set(row) for row in found["result"])
    assert [row["name"] for row in found["result"]] == sorted(row["name"] for row in found["result"])
    assert any(row["name"].startswith("demo") for row in found["result"])


@pytest.mark.parametrize("noun", TABLES)
def test_list_for_people_names_the_same(demo, capsys, noun):
    names = [row["name"] for row in answer(capsys, noun, "list")["result"]]
    assert main([noun, "list"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("name ")
    assert [line.split()[0] for line in printed[2:]] == names


@pytest.mark.parametrize("plugin", ["hardware", "brain", "resources", "emergence", "trends"])
def test_the_models_of_one_plugin_have_a_line_each_with_unit_and_title(capsys, plugin):
    rows = answer(capsys, "models", "list", "--plugin", plugin)["result"]
    assert rows
    assert {row["plugin"] for row in rows} == {plugin}
    assert main(["models", "list", "--plugin", plugin]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{plugin} ({len(rows)})"
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 80
    cut = [re.split("  +", line.strip()) for line in lines if line.startswith("    ")]
    said = {name: (unit, title) for name, unit, title in cut}
    assert len(said) == len(rows) == len(cut)
    for row in rows:
        shape = f"@{row['shape'].rpartition('/')[2]}" if row["shape"] else ""
        unit, title = said[row["name"].partition("/")[2] + shape]
        assert unit == (row["unit"] or "-")
        assert row["title"].startswith(title.removesuffix("…"))


def test_the_list_of_a_plugin_that_is_not_there_names_the_nearest(capsys):
    assert main(["models", "list", "--plugin", "hardwear"]) == 2
    assert "unknown plugin 'hardwear'; did you mean 'hardware'?" in capsys.readouterr().err


def test_provenance_names_versions_plugins_and_the_command_but_no_machine(demo, capsys):
    found = answer(capsys, "laws", "show", "demo/line")["provenance"]
    assert found["plugins"] == [{"name": "demo", "distribution": "fake-demo", "version": "1.0"}]
    assert found["command"] == ["forecast", "laws", "show", "demo/line", "--json"]
    assert set(found["versions"]) == {"lawcast", "python"}
    assert set(found) == {"versions", "plugins", "command"}


def test_a_law_shows_formula_units_parameters_and_published_fits(demo, capsys):
    law = answer(capsys, "laws", "show", "line")["result"]
    assert law["name"] == "demo/line"
    assert law["expression"] == "a*x + b"
    assert law["output"] == {"name": "loss", "unit": "nat"}
    assert law["variables"] == [{"name": "x", "unit": "FLOP", "low": None, "high": None}]
    assert [(p["name"], p["low"], p["high"]) for p in law["parameters"]] == [("a", 0, None), ("b", -1, 1)]
    assert law["published"][0]["parameters"] == {"a": 0.123456789012}
    assert law["published"][0]["rounded"] is True
    assert law["reference"] == "Euclid"
    assert main(["laws", "show", "line"]) == 0
    printed = capsys.readouterr().out
    for word in ("a*x + b", "FLOP", "nat", "smith2020", "0.123456789012", "Euclid"):
        assert word in printed


def test_a_law_without_text_says_so(demo, capsys):
    law = answer(capsys, "laws", "show", "code")["result"]
    assert (law["expression"], law["code"], [p["name"] for p in law["parameters"]]) == (None, "nowhere:f", ["k"])


def test_models_show_unit_inputs_distributions_and_sources(demo, capsys):
    guess = answer(capsys, "models", "show", "demo/guess")["result"]
    assert (guess["kind"], guess["unit"]) == ("estimate", "FLOP/s")
    assert guess["inputs"] == [
        {"name": "rate", "unit": "FLOP/s", "distribution": {"p05": 1, "p95": 2}, "source": "a book", "title": "Rate"}
    ]
    trend = answer(capsys, "models", "show", "demo/trend")["result"]
    assert (trend["kind"], trend["table"], trend["where"]) == ("trend", "demo/t", {"k": "v"})
    assert (trend["since"], trend["records"], trend["yearly"], trend["options"], trend["inputs"]) == (
        "", False, False, [], [])  # fmt: skip
    assert answer(capsys, "models", "show", "demo/mix")["result"]["weights"] == {"demo/guess": 1.0}
    assert answer(capsys, "models", "show", "demo/rel")["result"]["let"] == {"x": "v"}


def test_a_trend_shows_what_was_judged_of_it_and_which_rows_it_keeps(capsys):
    found = answer(capsys, "models", "show", "hardware/gpu-peak-fp32@logistic")["result"]
    (cap,) = found["options"]
    assert (cap["name"], cap["value"], cap["unit"]) == ("cap", {"p05": 100.0, "p95": 1000.0}, "TFLOP/s")
    assert cap["source"].startswith("Hobbhahn & Besiroglu 2022")
    (asked,) = found["inputs"]
    assert (asked["name"], asked["distribution"], asked["source"]) == ("cap", cap["value"], cap["source"])
    assert (found["since"], found["records"], found["yearly"]) == ("2006-01-01", True, False)
    assert found["qualifiers"] == {"precision": "fp32", "path": "vector", "sparsity": "dense", "basis": "peak"}
    assert answer(capsys, "models", "show", "hardware/gpu-peak-fp32@random-walk")["result"]["yearly"] is True
    assert main(["models", "show", "hardware/gpu-peak-fp32@logistic"]) == 0
    text = capsys.readouterr().out
    for part in (
        "since         2006-01-01",
        "records       yes",
        "p05 = 100, p95 = 1000",
        "TFLOP/s",
        "Hobbhahn",
        "peak",
    ):
        assert part in text


@pytest.mark.parametrize("words", [("hardware/hpcg@changepoint",), ("hpcg", "--shape", "trends/changepoint")])
def test_a_series_is_shown_with_the_shape_beside_it(capsys, words):
    found = answer(capsys, "models", "show", *words)["result"]
    assert (found["name"], found["kind"], found["shape"]) == (
        "hardware/hpcg@changepoint",
        "trend",
        "trends/changepoint",
    )


def test_a_series_is_shown_with_its_own_shape_or_its_pool_and_says_what_differs_on_others(capsys):
    own = answer(capsys, "models", "show", "hardware/gpu-best")["result"]
    assert (own["name"], own["shape"]) == ("hardware/gpu-best@pool", "trends/pool")
    differs = {row["name"]: row for row in own["shapes"]}
    assert differs["trends/logistic"]["needs"] == "cap"
    assert differs["trends/staircase"]["options"] == "features"
    pool = answer(capsys, "models", "show", "hardware/gpu-bandwidth@pooled")["result"]
    assert (pool["name"], pool["shape"]) == ("hardware/gpu-bandwidth@pooled", "pooled")
    assert set(pool["weights"].values()) == {1.0}
    assert set(pool["weights"]) == {row["name"] for row in pool["shapes"]} - {"trends/staircase", "trends/pool"}
    assert {"member", "weight_logistic", "hardware/gpu-bandwidth@logistic"} <= {row["name"] for row in pool["inputs"]}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("brain/power", "--shape", "trends/exponential"), "model 'brain/power' is no series"),
        (("hardware/hpcg@exponentail",), "unknown shape 'exponentail'; did you mean 'trends/exponential'?"),
        (("hardware/hpcg-changepoint",), "unknown model 'hardware/hpcg-changepoint'; did you mean "
                                         "'hardware/hpcg@changepoint'?"),
    ],
)  # fmt: skip
def test_a_shape_that_cannot_be_shown_is_one_line(capsys, words, says):
    assert main(["models", "show", *words]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert says in captured.err


def test_tables_show_fields_units_licences_sources_and_rows(demo, capsys):
    table = answer(capsys, "tables", "show", "demo/t")["result"]
    assert [(f["name"], f["unit"]) for f in table["fields"]] == [("date", ""), ("v", "FLOP/s"), ("source", "")]
    assert table["licences"] == [{"name": "CC0-1.0"}]
    assert table["sources"] == [{"title": "a book"}]
    assert (table["resources"][0]["rows"], table["resources"][0]["key"]) == (2, ["date"])


def test_tables_show_what_a_unit_cannot_say(demo, capsys):
    path = demo.folder / "t" / "datapackage.json"
    package = json.loads(path.read_text())
    package["resources"][0]["schema"]["fields"][1]["qualifiers"] = {"precision": "fp16", "sparsity": "dense"}
    path.write_text(json.dumps(package))
    fields = answer(capsys, "tables", "show", "demo/t")["result"]["fields"]
    assert [f["qualifiers"] for f in fields] == [{}, {"precision": "fp16", "sparsity": "dense"}, {}]
    assert main(["tables", "show", "demo/t"]) == 0
    assert "precision = fp16, sparsity = dense" in capsys.readouterr().out


def test_scenarios_show_choices_quantities_and_questions(demo, capsys):
    scenario = answer(capsys, "scenarios", "show", "demo/s")["result"]
    assert scenario["choices"] == [{"name": "metric", "options": ["a", "b"]}]
    assert scenario["quantities"] == [{"name": "x", "from": {"model": "demo/{metric}"}}]
    assert scenario["questions"] == [{"name": "parity", "when": "x >= 1"}]
    assert scenario["until"] == 2100


@pytest.mark.parametrize("noun", NOUNS)
def test_an_unknown_name_suggests_the_nearest(demo, capsys, noun):
    meant = {"laws": "line", "models": "guess", "tables": "t", "scenarios": "s", "plugins": "demo"}[noun]
    assert main([noun, "show", meant + "x" if len(meant) > 1 else f"demo/{meant}x"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"forecast: error: unknown {noun[:-1]} '")
    assert "did you mean 'demo" in captured.err


def test_a_conflict_is_a_warning_of_the_list_and_an_error_of_show(demo, capsys):
    demo.add("demo", DEMO, distribution="other-maker")
    assert answer(capsys, "laws", "list")["warnings"] == [
        "law 'demo/code' is offered by two distributions: it resolves to neither",
        "law 'demo/line' is offered by two distributions: it resolves to neither",
    ]
    assert main(["laws", "show", "demo/line"]) == 1
    assert "fake-demo and other-maker" in capsys.readouterr().err


def test_listing_loads_nothing_heavy(demo):
    shown = ("plugins", "show", "demo"), ("laws", "show", "line")
    assert heavy_imports([("--help",), *((noun, "list") for noun in NOUNS), *shown], demo.env) == []


def test_a_function_is_listed_among_the_models_and_shows_its_inputs(fake_plugins, capsys):
    source = "def forecast_functions():\n"
    source += "    yield FunctionSpec(name='power', target='math:prod', unit='W', inputs={'chips': '', 'each': 'kW'},\n"
    fake_plugins.add("demo", source + "                       reference='a manual')\n")
    (row,) = answer(capsys, "models", "list", "--plugin", "demo")["result"]
    assert (row["name"], row["kind"], row["unit"]) == ("demo/power", "function", "W")
    shown = answer(capsys, "models", "show", "demo/power")["result"]
    assert (shown["code"], shown["reference"]) == ("math:prod", "a manual")
    assert [(need["name"], need["unit"]) for need in shown["inputs"]] == [("chips", ""), ("each", "kW")]


def test_a_part_is_neither_listed_nor_run_and_each_of_its_questions_can_be_asked(capsys):
    parts = [each for each in get_registry().records("scenario") if each.spec.part]
    listed = {row["name"] for row in answer(capsys, "scenarios", "list")["result"]}
    found = {row["name"] for row in forecast.find("model") if row["kind"] == "scenario"}
    assert "capability/model-limits" in listed & found
    for each in parts:
        assert each.full_name not in listed | found
        assert main(["run", each.full_name]) == 2
        said = capsys.readouterr().err
        first, more = re.search(r"'forecast ask (\S+)'(?: \(or (.*)\))?, or run", said).groups("")
        assert all(read_question(name).figures for name in [first, *more.partition(" and ")[0].split(", ")] if name)
    part = parts[0]
    for run in (lambda: forecast.project(part.full_name), forecast.scenario(part.full_name).ask):
        with pytest.raises(UsageError, match=f'is a part that others use.*extends = "{part.spec.name}"'):
            run()


def test_the_list_of_quantities_has_what_ask_says(capsys):
    rows = answer(capsys, "quantities", "list", "--plugin", "brain", "--values")["result"]
    power = next(row for row in rows if row["name"] == "brain/brain-power")
    asked = forecast.ask("brain-power", dates=[2030], draws=256)
    assert power["2030"].startswith(f"{asked.median:.2g} W (")
    assert power["today"].endswith(" W")
    assert "20" not in asked.sentence.split("(")[0]  # what stays as it is has no date
    assert "today" not in answer(capsys, "quantities", "list")["result"][0]
