"""``forecast find`` and the options that narrow a list."""

import json

import pytest

from forecast.cli import main
from toolkit import heavy_imports, json_of

DEMO = '''"""A plugin for tests."""
from pathlib import Path

def forecast_laws():
    fit = PublishedFit(name="smith2020", parameters={"a": 1.0}, reference="Smith 2020")
    yield LawSpec(name="zebra-line", title="How stripes grow", variables={"x": "FLOP"}, expression="a*x", output="loss",
                  unit="nat", example={"a": 1}, published=(fit,), reference="Euclid")

def forecast_models():
    rate = Input(name="rate", unit="FLOP/s", distribution={"p05": 1, "p95": 2}, source="The zebra book", title="Rate")
    yield EstimateSpec(name="guess", title="A guess", unit="FLOP/s", expression="rate", inputs=(rate,), reference="r")
    yield EstimateSpec(name="faulty", unit="no such unit", expression="rate", inputs=(rate,), reference="r")
    yield TrendSpec(name="trend", unit="TFLOP/s", shape="a/b", table="demo/t", x="date", y="v",
                    title="The zebra and " + "its many stripes " * 9, reference="r")

def forecast_tables():
    yield TableSpec(name="t", title="Herds", descriptor=str(Path(__file__).parent / "t.json"), reference="r")

def forecast_scenarios():
    yield ScenarioSpec(name="s", title="When?", path=str(Path(__file__).parent / "s.toml"), reference="r")
'''
TABLE = {
    "name": "t", "title": "Herds", "version": "1", "licenses": [{"name": "CC0-1.0"}], "sources": [{"title": "b"}],
    "resources": [{"name": "t", "path": "t.csv", "hash": "sha256:" + "0" * 64, "schema": {
        "fields": [{"name": "date", "type": "date"}, {"name": "quagga", "type": "number", "unit": "FLOP/s"}]}}],
}  # fmt: skip


@pytest.fixture
def demo(fake_plugins, monkeypatch):
    (fake_plugins.folder / "t.json").write_text(json.dumps(TABLE))
    (fake_plugins.folder / "s.toml").write_text(
        'title = "?"\n[labels]\nx = "Okapi"\n[questions.q]\ntitle = "the herd is large"\nwhen = "x > 1"\n'
    )
    fake_plugins.add("demo", DEMO)
    monkeypatch.setenv("COLUMNS", "80")
    return fake_plugins


def found(capsys, *words):
    assert main([*words, "--json"]) == 0
    return json_of(capsys.readouterr().out)["result"]


def names(capsys, *words):
    return [row["name"] for row in found(capsys, "find", *words)]


def test_a_name_comes_before_a_title_and_a_title_before_a_source(demo, capsys):
    assert names(capsys, "zebra") == ["demo/zebra-line", "demo/trend", "demo/faulty", "demo/guess"]


def test_a_whole_word_comes_before_a_part_of_one(capsys):
    rows = [row["name"] for row in found(capsys, "find", "gpu") if row["kind"] != "quantity"]
    parts = [name for name in rows if "gpu" not in name.replace("/", "-").split("-")]
    assert parts
    assert rows[-len(parts) :] == parts


def test_what_can_be_asked_comes_first(capsys):
    kinds = [row["kind"] for row in found(capsys, "find", "training run")]
    assert kinds[:3] == ["quantity"] * 3
    assert {"model", "table"} <= set(kinds)


@pytest.mark.parametrize("words", [("stripes", "grow"), ("grow", "STRIPES"), ("stripes grow",)])
def test_every_word_must_match_in_any_order_and_case(demo, capsys, words):
    assert names(capsys, *words) == ["demo/zebra-line"]


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("quagga", "demo/t"), ("okapi", "demo/s"), ("herd is large", "demo/s"), ("smith2020", "demo/zebra-line"),
        ("euclid", "demo/zebra-line"), ("zebra book rate guess", "demo/guess"),
    ],
)  # fmt: skip
def test_columns_questions_labels_published_fits_and_sources_are_searched(demo, capsys, word, name):
    assert names(capsys, word) == [name]


def test_a_row_says_kind_title_unit_and_origin(demo, capsys):
    (row,) = found(capsys, "find", "stripes", "grow")
    assert row == {
        "kind": "law", "name": "demo/zebra-line", "title": "How stripes grow", "unit": "nat", "plugin": "demo",
        "distribution": "fake-demo", "version": "1.0",
    }  # fmt: skip


@pytest.mark.parametrize("words", [("zebra",), ("gpu",), ("brain",), ("FLOP/s",)])
def test_people_see_a_line_each_that_fits_and_a_name_that_can_be_shown(demo, capsys, words):
    rows = found(capsys, "find", *words)
    assert main(["find", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    listed = lines[: lines.index("")]
    assert len(listed) == min(len(rows), 20)
    for line, row in zip(listed, rows, strict=False):
        kind, name, *title = line.split(maxsplit=2)
        assert (kind, name.rpartition("/")[2]) == (row["kind"], row["name"].partition("/")[2])
        shown = "".join(title)
        assert row["title"].startswith(shown.removesuffix(" …"))
        assert shown == row["title"] or shown.endswith("…")
    command = next(line for line in lines if line.startswith("All about")).partition("forecast ")[2].split()
    assert command[1] == "show"
    if (len(rows) > 20) != any("more match" in line for line in lines):
        pytest.fail("it does not say how many are left out")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("zebar",), "Nothing mentions 'zebar'; did you mean 'zebra'?"),
        (("zebra", "qqqqqq"), "Nothing mentions 'qqqqqq'."),
        (("quagga", "zebra"), "Nothing matches all of 'quagga zebra': try fewer words."),
    ],
)
def test_what_matches_nothing_says_which_word_and_the_nearest(demo, capsys, words, says):
    assert main(["find", *words]) == 0
    assert capsys.readouterr().out == f"{says}\n"
    assert found(capsys, "find", *words) == []


@pytest.mark.parametrize("words", [(), ("  ",)])
def test_no_word_is_a_usage_error(capsys, words):
    assert main(["find", *words]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)


def test_a_file_that_cannot_be_read_hides_only_what_stands_in_it(demo, capsys):
    (demo.folder / "t.json").write_text("{")
    (demo.folder / "s.toml").write_text("= 1")
    assert names(capsys, "herds") == ["demo/t"]
    assert names(capsys, "quagga") == []


def test_a_list_is_narrowed_by_dimension_plugin_and_kind(capsys):
    every = found(capsys, "models", "list")
    narrow = found(capsys, "models", "list", "--unit", "FLOP/s", "--plugin", "hardware", "--kind", "trend")
    assert {row["unit"] for row in narrow} == {"TFLOP/s"}
    of = [row for row in every if row["plugin"] == "hardware" and row["kind"] == "trend"]
    assert narrow == [row for row in of if row["unit"].endswith("FLOP/s")]
    assert 0 < len(narrow) < len(of) < len(every)


def test_dimensions_are_told_apart_and_a_faulty_unit_hides_its_own_model_alone(demo, capsys):
    assert [r["name"] for r in found(capsys, "models", "list", "--unit", "FLOP/s", "--plugin", "demo")] == [
        "demo/guess", "demo/trend"]  # fmt: skip
    assert [r["name"] for r in found(capsys, "models", "list", "--unit=TFLOP", "--plugin=demo")] == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--kind", "trends"), "--kind: unknown kind of model 'trends'; did you mean 'trend'?"),
        (("--unit", "TFLPO"), "--unit: unit 'TFLPO': unknown unit 'TFLPO'; did you mean 'FLOP'?"),
        (("--plugin", "hardwear"), "unknown plugin 'hardwear'; did you mean 'hardware'?"),
    ],
)
def test_what_narrows_to_nothing_known_names_the_nearest(capsys, words, says):
    assert main(["models", "list", *words]) == 2
    assert capsys.readouterr().err.startswith(f"forecast: error: {says}")


def test_finding_loads_nothing_heavy(demo):
    commands = ("find", "gpu", "zebra"), ("find", "gpu"), ("models", "list", "--kind", "trend")
    assert heavy_imports(commands, demo.env) == []
