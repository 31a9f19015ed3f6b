"""Records written as TOML: a file says what Python says, and is held to the same."""

import subprocess
import sys
from pathlib import Path

import pytest

import forecast
from forecast import (
    ClaimSpec,
    EstimateSpec,
    Input,
    LawSpec,
    ProtocolSpec,
    PublishedFit,
    ScenarioSpec,
    SeriesShape,
    TrendSpec,
    records_from,
)
from forecast.contract.registry import get_registry
from forecast.errors import PluginContractError

LAW = """
[power]
title = "Power law"
reference = "Hestness 2017, eq. 1"
expression = "beta*x**-c"
variables = { x = "" }
positive = ["beta", "c"]
bounds = { c = [0, inf] }
example = { beta = 5.0, c = 0.3 }
domain = { x = [1e2, 1e6] }

[power.published.kaplan2020]
parameters = { beta = 11.475739550450955, c = 0.076 }
rounded = true
reference = "Kaplan 2020, eq. 1.1"

[power.protocols.theirs]
starts = { c = [0.0, 0.5] }
keep = ["present x"]
reference = "Kaplan 2020"
"""


@pytest.fixture
def written(tmp_path):
    def write(text: str, name: str = "laws.toml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_file_says_what_python_says(written):
    assert records_from(written(LAW), LawSpec) == (
        LawSpec(
            name="power",
            title="Power law",
            reference="Hestness 2017, eq. 1",
            expression="beta*x**-c",
            variables={"x": ""},
            positive=("beta", "c"),
            bounds={"c": (0, float("inf"))},
            example={"beta": 5.0, "c": 0.3},
            domain={"x": (1e2, 1e6)},
            published=(
                PublishedFit(
                    name="kaplan2020",
                    parameters={"beta": 11.475739550450955, "c": 0.076},
                    rounded=True,
                    reference="Kaplan 2020, eq. 1.1",
                ),
            ),
            protocols=(
                ProtocolSpec(
                    name="theirs", starts={"c": (0.0, 0.5)}, keep=("present x",), reference="Kaplan 2020"
                ),
            ),
        ),
    )  # fmt: skip


def test_what_stands_above_the_tables_holds_for_all_that_do_not_say_otherwise(written):
    text = """
        group = "demo"
        reference = "the essay"
        [dozen]
        statement = "a dozen is 12"
        stated = "12"
        formula = "4*n"
        values = { n = 3 }
        [score]
        statement = "a score is 20"
        declared = "constant"
        reference = "another"
    """
    dozen, score = records_from(written(text), ClaimSpec)
    assert (dozen.name, dozen.group, dozen.reference) == ("dozen", "demo", "the essay")
    assert (score.group, score.reference, score.declared) == ("demo", "another", "constant")
    assert dozen.values["n"] == 3
    assert isinstance(dozen.values["n"], int)


def test_an_estimate_has_its_inputs_as_tables(written):
    text = """
        [x]
        unit = "FLOP/s"
        expression = "rate*size"
        reference = "demo"
        [x.inputs.rate]
        unit = "1/s"
        distribution = { p05 = 0.1, p95 = 2 }
        source = "Lennie 2003"
        [x.inputs.size]
        unit = "FLOP"
        distribution = { value = 1e15 }
        source = "assumed"
    """
    (found,) = records_from(written(text), EstimateSpec)
    assert found.inputs[0] == Input(name="rate", unit="1/s", distribution={"p05": 0.1, "p95": 2}, source="Lennie 2003")
    assert [i.name for i in found.inputs] == ["rate", "size"]


def test_a_series_has_what_differs_on_a_shape_as_tables(written):
    text = """
[speed]
reference = "lists"
unit = "TFLOP/s"
table = "datasets/supercomputers"
x = "date"
y = "rmax_top1"
[speed.shapes."trends/exponential"]
weight = 2
[speed.shapes."trends/logistic"]
weight = 1.0
options = { cap = { p05 = 1e9, p95 = 1e12, source = "ours" } }
[speed.shapes."trends/frontier"]
refused = "these are records"
"""
    (series,) = records_from(written(text), TrendSpec)
    assert series.shapes == (
        SeriesShape(name="trends/exponential", weight=2),
        SeriesShape(name="trends/logistic", weight=1.0, options={"cap": {"p05": 1e9, "p95": 1e12, "source": "ours"}}),
        SeriesShape(name="trends/frontier", refused="these are records"),
    )
    with pytest.raises(PluginContractError, match="SeriesShape 'trends/logistic': unknown key 'wieght'; did you mean"):
        records_from(written(text.replace("weight = 1.0", "wieght = 1.0")), TrendSpec)


def test_a_folder_is_read_in_the_order_of_its_files(written, tmp_path):
    one = '[{name}]\nreference = "r"\nexpression = "a*x"\nvariables = {{ x = "" }}\n'
    for name in ("b", "a"):
        written(one.format(name=name), f"{name}.toml")
    written("not TOML", "notes.txt")
    assert [law.name for law in records_from(tmp_path, LawSpec)] == ["a", "b"]
    assert records_from(str(tmp_path / "b.toml"), LawSpec)[0].name == "b"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("expression =", "expresion =", "LawSpec 'power': unknown key 'expresion'; did you mean 'expression'?"),
        ("rounded =", "rouned =", "LawSpec 'power': PublishedFit 'kaplan2020': unknown key 'rouned'; did you mean"),
        ('expression = "beta*x**-c"', 'target = "os:system"', "LawSpec 'power': target: a file names no code; write"),
        ("rounded = true", 'name = "other"', "PublishedFit 'kaplan2020': name: it is that of the table, [other]"),
        ('variables = { x = "" }', "", "LawSpec 'power': variables: is missing; expected a mapping of variable to"),
        ('reference = "Hestness 2017, eq. 1"', 'reference = " "', "LawSpec 'power': reference: is empty: say where"),
        ('["beta", "c"]', '"beta"', "LawSpec 'power': positive: expected a tuple of parameter names, got str"),
        ('["beta", "c"]', "[1]", "LawSpec 'power': positive: expected a tuple of parameter names, got tuple"),
        ("[0, inf]", "[inf, 0]", "LawSpec 'power': bounds: expected a mapping to (low, high)"),
        ("[power]", "[Power]", "LawSpec 'Power': name: expected lower case letters"),
        ("[power.published.kaplan2020]", "[power.published]", "LawSpec 'power': published: expected a table for each"),
        ("true", "1979-05-27", "PublishedFit 'kaplan2020': rounded: expected True or False, got date"),
        ("\n[power]", "\ngroop = 'a'\n[power]", "unknown key 'groop'"),
        ("title =", "title", "not TOML: "),
        ("title", "\x00", "not TOML: "),
    ],
)  # fmt: skip
def test_a_mistake_names_the_file_the_record_and_the_key(written, old, new, says):
    assert old in LAW
    with pytest.raises(PluginContractError) as caught:
        records_from(written(LAW.replace(old, new, 1)), LawSpec)
    assert str(caught.value).startswith("laws.toml: ")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["x = " + "[" * 5000, "\ufffe", "a = 1\n" * 2, "x = " + "9" * 5000])
def test_what_is_no_toml_is_an_error_in_one_line(written, text):
    with pytest.raises(PluginContractError, match=r"^laws\.toml: not TOML: "):
        records_from(written(text), LawSpec)


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "laws.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PluginContractError, match=r"^laws\.toml: not TOML: "):
        records_from(tmp_path / "laws.toml", LawSpec)


@pytest.mark.parametrize("path", ["laws.toml", "../laws.toml"])
def test_a_relative_path_is_refused_since_it_depends_on_where_a_command_is_run(path):
    with pytest.raises(PluginContractError, match=r"expected a full path, as Path\(__file__\)\.with_name\('laws.toml'"):
        records_from(path, LawSpec)


def test_a_folder_without_a_file_is_an_error_and_not_a_plugin_without_laws(tmp_path):
    with pytest.raises(PluginContractError, match="the folder holds no TOML file"):
        records_from(tmp_path, LawSpec)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(PluginContractError, match=r"laws\.toml: no such file"):
        records_from(tmp_path / "laws.toml", LawSpec)


@pytest.mark.parametrize("kind", [ScenarioSpec, PublishedFit, forecast.ModelSpec, "law"])
def test_other_records_are_written_in_python(tmp_path, kind):
    with pytest.raises(PluginContractError, match=r"expected one of LawSpec, ClaimSpec, .* UnitSpec; every other"):
        records_from(tmp_path / "laws.toml", kind)


def test_listing_what_plugins_bring_imports_none_of_the_code_that_they_name():
    code = "import sys; from forecast.contract.registry import get_registry; get_registry(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert not {"forecast.models", "forecast.fit", "forecast.formula", "numpy"} & set(done.stdout.split())


def test_every_law_and_claim_that_ships_without_code_is_in_a_file():
    laws = [r for kind in ("law", "claim") for r in get_registry().records(kind)]
    assert {r.full_name for r in laws if getattr(r.spec, "target", None)} == {"scaling/filtering"}
    shelf = Path(__file__).parent.parent.parent / "plugins"
    for path in shelf.rglob("*.py"):
        assert "ClaimSpec(" not in path.read_text(encoding="utf-8"), path
    held = [p.read_text(encoding="utf-8").count("LawSpec(") for p in shelf.rglob("*.py")]
    assert sum(held) == 1
