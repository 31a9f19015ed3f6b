"""The conformance kit must pass what is sound and catch what is not."""

from __future__ import annotations

import hashlib
import json
import unittest

import pytest

from forecast.errors import ForecastError
from forecast.testing import Check, checks, run_checks
from toolkit import sample

LAW = """
def forecast_laws():
    yield LawSpec(name="law", variables={{"x": ""}}, reference="r", {fields})
"""
SOUND = 'expression="a*x**-b + c", example={"a": 5.0, "b": 0.5, "c": 1.0}, domain={"x": (1.0, 1e4)}'

MODEL = """
def forecast_models():
    yield ModelSpec(name="model", unit="FLOP/s", target="{module}:make", reference="r")
"""
CODE = """
import random
import numpy as np
from forecast.models import FittedModel, Model
from forecast.models.protocol import Description
from forecast.contract.specs import Input

class Fitted(FittedModel):
    def __init__(self, shift):
        self.shift = shift

    def sample(self, time, inputs, streams, *, observed=False):
        rate = inputs["rate"]
        {body}

    def describe(self):
        return Description(summary="demo")

class Demo(Model):
    unit = "FLOP/s"
    inputs = {{"rate": Input(name="rate", unit="FLOP/s", distribution={{"p05": 1.0, "p95": 9.0}}, source="s")}}

    def __init__(self, name):
        self.name = name

    def fit(self, *, as_of=None, seed=0):
        return Fitted({shift})

def make(name, spec):
    return Demo(name)
"""
STEADY = "return rate * np.ones((len(time), 1)) + streams('noise').random((len(time), len(rate)))"


def failures(plugin: str) -> dict[str, str]:
    return {o.label: o.message for o in run_checks(plugin) if not o.ok}


@pytest.fixture
def law(fake_plugins):
    def add(fields: str) -> dict[str, str]:
        fake_plugins.add("kit", LAW.format(fields=fields))
        return failures("kit")

    return add


@pytest.fixture
def model(fake_plugins):
    def add(body: str = STEADY, shift: str = "0") -> dict[str, str]:
        (fake_plugins.folder / "kit_code.py").write_text(CODE.format(body=body, shift=shift))
        fake_plugins.modules.append("kit_code")
        fake_plugins.add("kit", MODEL.format(module="kit_code"))
        return failures("kit")

    return add


def test_a_check_is_named_and_called(fake_plugins):
    found = checks("trends")
    assert all(isinstance(c, Check) for c in found)
    assert len({str(c) for c in found}) == len(found)
    assert found[0]() is None


@pytest.mark.parametrize("plugin", ["no-such-plugin", "broken"])
def test_a_plugin_that_is_absent_or_broken_has_one_failing_check(fake_plugins, plugin):
    fake_plugins.add("broken", "1/0")
    (only,) = checks(plugin)
    assert str(only) == "loads"
    with pytest.raises(ForecastError):
        only()


def test_two_distributions_of_one_name_fail(fake_plugins):
    fake_plugins.add("kit", "", distribution="maker-a")
    fake_plugins.add("kit", "", distribution="maker-b")
    assert failures("kit") == {"loads": "plugin 'kit' is offered by maker-a and maker-b"}


@pytest.mark.parametrize(
    "source",
    ["import numpy", "def forecast_laws():\n    import numpy\n    return []"],
    ids=["at import", "in a hook"],
)
def test_heavy_imports_are_caught_even_when_the_module_is_loaded_already(fake_plugins, source):
    import numpy

    assert numpy
    fake_plugins.add("kit", source)
    found = failures("kit")
    assert list(found) == ["imports nothing heavy"]
    assert "import numpy" in found["imports nothing heavy"]


@pytest.mark.slow
def test_a_slow_import_is_over_budget(fake_plugins):
    fake_plugins.add("kit", "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass")
    assert "s of CPU; at most" in failures("kit")["imports nothing heavy"]


@pytest.mark.parametrize("source", ["import os\nif __name__ != 'x': import sys\n", "print('{}')"])
def test_a_plugin_that_prints_at_import_is_still_read(fake_plugins, source):
    fake_plugins.add("kit", source)
    assert failures("kit") == {}


def test_a_plugin_that_ends_python_is_caught(fake_plugins):
    # loads here, dies in the process of the check
    fake_plugins.add("kit", "import os, sys\nif 'pytest' not in sys.modules: os._exit(3)")
    assert "importing it ends Python" in failures("kit")["imports nothing heavy"]


def test_references_inside_records_count(law):
    found = law(SOUND + ', published=(PublishedFit(name="p", parameters={"a": 1, "b": 1, "c": 1}, reference=" "),)')
    assert found == {"every record has a reference": "without a reference or source: law 'law': published 'p'"}


def test_a_sound_law_passes_everything(law):
    assert law(SOUND) == {}


def test_a_law_without_an_example_is_skipped_with_a_word(fake_plugins):
    fake_plugins.add("kit", LAW.format(fields='expression="a*x"'))
    skipped = {o.label: o.message for o in run_checks("kit") if o.status == "skipped"}
    assert skipped["law law: recovers known parameters"] == "gives no example and domain"
    with pytest.raises(unittest.SkipTest):
        next(c for c in checks("kit") if "recovers" in str(c))()


@pytest.mark.parametrize(
    ("requires", "said"),
    [
        ('"9e9 - x": "room"', None),
        ('"9 - x": "room"', "fails in its own domain"),
        ('"q": "room"', "requires: unknown name 'q'"),
    ],
)
def test_what_a_law_requires_holds_for_it(law, requires, said):
    found = law(f"{SOUND}, requires={{{requires}}}")
    label = "law law: requires what holds for it"
    assert found == {} if said is None else said in found[label]


def test_units_of_a_law_must_parse(law):
    found = law(SOUND + ', unit="florps"')
    assert "florps" in found["law law: units parse"]


def test_an_example_of_other_parameters_is_caught(law):
    found = law(SOUND.replace('"c": 1.0', '"d": 1.0'))
    assert "example: expected a, b, c; got a, b, d" in found["law law: vectorises and leaves its inputs alone"]


def test_published_parameters_of_another_law_are_caught(law):
    found = law(SOUND + ', published=(PublishedFit(name="p", parameters={"a": 1, "z": 1}, reference="r"),)')
    assert "published 'p': expected parameters a, b, c" in found["law law: published parameters are its own"]


def test_a_law_that_cannot_be_told_from_its_data_is_caught(law):
    found = law('expression="a*x + b*x", example={"a": 5.0, "b": 0.5}, domain={"x": (1.0, 10.0)}')
    assert list(found) == ["law law: recovers known parameters"]


@pytest.fixture
def coded(fake_plugins):
    def add(code: str) -> dict[str, str]:
        source = f"import random\nimport numpy as np\ndef f(p, x):\n    {code}\n"
        (fake_plugins.folder / "kit_law.py").write_text(source)
        fake_plugins.modules.append("kit_law")
        fields = 'target="kit_law:f", example={"a": 2.0}, domain={"x": (1.0, 9.0)}'
        fake_plugins.add("kit", LAW.format(fields=fields))
        return failures("kit")

    return add


def test_a_law_in_code_can_be_sound(coded):
    assert coded("return p['a'] * x") == {}


def test_bad_input_014_a_law_that_writes_into_its_inputs_is_caught(coded):
    found = coded("x *= p['a']; return x")
    assert any("writes into its inputs" in message for message in found.values()), found


@pytest.mark.parametrize(
    "code",
    sample(["return None", "return 'x'", "return 1j * x", "return x * np.nan", "return x[:3]", "return [1.0]"], 3),
)
def test_bad_input_064_a_law_that_returns_rubbish_is_caught(coded, code):
    assert "law law: vectorises and leaves its inputs alone" in coded(code)


@pytest.mark.slow
def test_bad_input_070_a_law_that_draws_random_numbers_is_caught(coded):
    found = coded("return p['a'] * x + random.random()")
    assert "draws random numbers" in found["law law: vectorises and leaves its inputs alone"]


def test_a_sound_model_passes_everything(model):
    assert model() == {}


def test_bad_input_014_a_model_that_writes_into_its_inputs_is_caught(model):
    found = model("rate *= 2; " + STEADY)
    assert all("sample writes into its inputs" in message for message in found.values())
    assert "model model: samples finite numbers and leaves its inputs alone" in found


@pytest.mark.parametrize(
    ("body", "says"),
    sample(
        [
            ("return None", "expected an array of float64, got NoneType"),
            ("return 'x'", "expected an array of float64, got str"),
            ("return [1.0]", "expected an array of float64, got list"),
            ("return rate", "expected the shape (12, 256), got (256,)"),
            ("return (rate * np.ones((len(time), 1))).T", "expected the shape (12, 256), got (256, 12)"),
            ("return 1j * rate * np.ones((len(time), 1))", "expected an array of float64, got an array of complex128"),
            ("return np.nan * rate * np.ones((len(time), 1))", "3072 of 3072 values are not finite"),
            ("yield rate", "expected an array of float64, got generator"),
            (
                "return np.ones((len(time), 1024))",
                "expected the shape (12, 256), got (12, 1024)",
            ),  # not `streams.draws`
        ],
        3,
    ),
)
def test_bad_input_064_a_model_that_returns_rubbish_is_named(model, body, says):
    assert says in model(body)["model model: samples finite numbers and leaves its inputs alone"]


def test_bad_input_063_a_model_that_raises_fails_its_checks_with_the_reason_and_its_line(model, fake_plugins):
    found = model("raise RuntimeError('boom')")
    code = fake_plugins.folder / "kit_code.py"
    (line,) = (n for n, text in enumerate(code.read_text().splitlines(), 1) if "boom" in text)
    assert set(found.values()) == {f"RuntimeError: boom ({code}, line {line})"}
    assert len(found) == 5


@pytest.mark.parametrize(
    ("body", "shift", "says"),
    sample(
        [
            (STEADY + " + random.random()", "0", "when sample is called again"),
            (STEADY + " + np.random.default_rng().random()", "0", "when sample is called again"),
            (STEADY + " + self.shift", "random.random()", "after fitting again"),
            (STEADY + " + np.random.random()", "0", "global random state"),
        ],
        2,
    ),
)
def test_bad_input_070_a_model_with_its_own_randomness_is_caught(model, body, shift, says):
    assert says in model(body, shift)["model model: same seed, same draws"]


def test_a_model_whose_early_steps_depend_on_the_horizon_is_caught(model):
    found = model("return rate * np.ones((len(time), 1)) + streams('noise').random((len(rate), len(time))).T")
    assert list(found) == ["model model: a longer horizon keeps the earlier steps"]


WALK = "return rate * np.exp(np.cumsum({step} * streams('noise').standard_normal((len(time), len(rate))), axis=0))"


def test_a_model_whose_noise_is_of_the_step_and_not_of_the_years_is_caught(model):
    (problem,) = model(WALK.format(step="1.0")).items()
    assert problem[0] == "model model: says the same at any step"
    assert "what it says of 2039 depends on the steps: 90 % in" in problem[1]


def test_a_model_whose_noise_is_of_the_years_passes(model):
    assert model(WALK.format(step="np.sqrt(np.diff(time, prepend=2 * time[0] - time[1]))[:, None]")) == {}


def test_an_estimate_whose_units_do_not_balance_is_caught(fake_plugins):
    source = """
def forecast_models():
    n = Input(name="n", unit="FLOP", distribution={"value": 1.0}, source="s")
    yield EstimateSpec(name="model", unit="FLOP/s", expression="2*n", inputs=(n,), reference="r")
"""
    fake_plugins.add("kit", source)
    found = failures("kit")
    assert "FLOP" in found["model model: units parse and balance"]


TABLE = """
from pathlib import Path

def forecast_tables():
    yield TableSpec(name="t", descriptor=str(Path(__file__).parent / "datapackage.json"), reference="r")
"""


@pytest.mark.parametrize(
    ("change", "says"),
    sample(
        [
            ({}, None), ({"licenses": []}, "licenses"), ({"sources": []}, "sources"), ({"hash": ""}, "hash"),
            ({"hash": "sha256:" + "0" * 64}, "sha256"), ({"schema": None}, "schema"), ({"unit": "florps"}, "florps"),
        ],
        3,
    ),
)  # fmt: skip
def test_a_table_has_schema_licence_source_and_hash(fake_plugins, change, says):
    rows = b"year,v\n2020,1\n2021,2\n"
    fields = [{"name": "year", "type": "integer"}, {"name": "v", "type": "number", "unit": change.get("unit", "FLOP")}]
    resource = {
        "name": "t", "path": "t.csv", "hash": change.get("hash", "sha256:" + hashlib.sha256(rows).hexdigest()),
        "schema": change.get("schema", {"fields": fields, "primaryKey": "year"}),
    }  # fmt: skip
    package = {
        "name": "t", "title": "T", "version": "1", "licenses": change.get("licenses", [{"name": "CC0-1.0"}]),
        "sources": change.get("sources", [{"title": "s"}]), "resources": [resource],
    }  # fmt: skip
    (fake_plugins.folder / "t.csv").write_bytes(rows)
    (fake_plugins.folder / "datapackage.json").write_text(json.dumps(package))
    fake_plugins.add("kit", TABLE)
    found = failures("kit")
    if says is None:
        assert found == {}
    else:
        assert found
        assert all(says in message for message in found.values())


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"pool": ("trends/nothing",)}, "shape 'kit/pool': members: unknown shape 'trends/nothing'"),
        ({"pool": ("kit/pool",)}, "members: the pool contains itself: kit/pool → kit/pool"),
        ({"pool": ("kit/other",), "other": ("kit/pool",)}, "itself: kit/pool → kit/other → kit/pool"),
        ({"pool": ("kit/other", "trends/pool"), "other": ("trends/steps",)}, ""),
    ],
)
def test_a_pool_names_members_that_are_there_and_not_itself(fake_plugins, members, says):
    specs = "".join(
        f"    yield ShapeSpec(name={name!r}, target='forecast_trends.lines.exponential:Exponential', reference='r', "
        f"members={named!r})\n"
        for name, named in members.items()
    )
    fake_plugins.add("kit", f"def forecast_shapes():\n{specs}")
    found = failures("kit")
    assert says in found.get("shape pool: pools shapes that are there", "")
    assert bool(says) == bool(found)


def test_a_shape_that_is_none_and_code_that_does_not_load_are_caught(fake_plugins):
    source = """
def forecast_readers():
    yield ReaderSpec(name="r", target="no_such_module_r:f", reference="r")
    yield ReaderSpec(name="n", target="math:pi", reference="r")

def forecast_shapes():
    yield ShapeSpec(name="s", target="builtins:dict", reference="r")

def forecast_scores():
    yield ScoreSpec(name="c", target="no_such_module_q:f", reference="r")

def forecast_commands():
    yield CommandSpec(name="d", target="json:dumps", reference="r")
"""
    fake_plugins.add("kit", source)
    found = failures("kit")
    assert "expected a forecast.models.Shape, got dict" in found["shape s: fits, and same seed, same draws"]
    assert "no_such_module_q" in found["score c: its code loads"]
    assert "expected a click command" in found["command d: its code loads"]
    assert "no_such_module_r" in found["reader r: its code loads"]
    assert "expected something to call, got float" in found["reader n: its code loads"]


FUNCTION = """
calls = []

def good(x):
    return (x - 5)**0.5

def sorts(x):
    x = x.copy()
    x.sort()
    return x

def writes(x):
    x[0] = 1
    return x

def counts(x):
    calls.append(1)
    return x + len(calls)

def few(x):
    return x[:3]

def forecast_functions():
    yield FunctionSpec(name="f", target=f"{{__name__}}:{name}", unit="{unit}", inputs={{"x": "{of}"}},
                       domain={{"x": (6, 9)}}, reference="r")
"""


@pytest.mark.parametrize(
    ("name", "check", "says"),
    sample(
        [
            ("sorts", "vectorises", "its function gives other numbers for a part of its inputs than for all of them"),
            ("writes", "samples finite numbers and leaves its inputs alone", "sample writes into its inputs"),
            ("counts", "same seed, same draws", "gives other numbers for the same inputs"),
            ("few", "samples finite numbers and leaves its inputs alone", "expected the shape of its inputs"),
        ],
        2,
    ),
)
def test_a_function_that_breaks_its_rules_is_caught(fake_plugins, name, check, says):
    fake_plugins.add("kit", FUNCTION.format(name=name, unit="W", of=""))
    assert says in failures("kit")[f"model f: {check}"]


def test_a_function_is_tried_in_its_domain(fake_plugins):
    fake_plugins.add("kit", FUNCTION.format(name="good", unit="W", of=""))
    assert failures("kit") == {}


def test_the_units_of_a_function_are_read(fake_plugins):
    fake_plugins.add("kit", FUNCTION.format(name="good", unit="W", of="wat"))
    assert "input 'x'" in failures("kit")["model f: units parse and balance"]


def test_a_table_whose_reader_is_not_registered_is_caught(fake_plugins, tmp_path, described):
    path = described(tmp_path, "price.csv", parser="datasets/gpu-trend", format="data")
    fake_plugins.add(
        "kit",
        f"def forecast_tables():\n    yield TableSpec(name='t', descriptor={str(path)!r}, reference='r')\n",
    )
    found = failures("kit")["table t: has schema, licence, source and hash"]
    assert "parser: unknown reader 'datasets/gpu-trend'; did you mean 'datasets/gpu-trends'?" in found


def test_progress_is_reported(fake_plugins):
    fake_plugins.add("kit", "")
    seen = []
    run_checks("kit", report=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


SERIES = """
def forecast_models():
    yield TrendSpec(name="speed", unit="TFLOP/s", table="datasets/supercomputers", x="date", y="rmax_top1",
                    shape="trends/exponential", reference="r", shapes=({shapes},))
"""


@pytest.mark.parametrize(
    ("shapes", "says"),
    sample(
        [
            ("SeriesShape(name='trends/logistic', options={'cap': 1e9})", ""),
            ("SeriesShape(name='trends/logistic', needs=('cap',))", ""),
            ("SeriesShape(name='trends/gompertz', refused='it has no cap')", ""),
            ("SeriesShape(name='trends/logistc')", "unknown shape 'trends/logistc'; did you mean 'trends/logistic'?"),
            ("SeriesShape(name='trends/gompertz', needs=('cpa',))", "unknown option 'cpa'; did you mean 'cap'?"),
            ("SeriesShape(name='trends/logistic', options={'cap': 1.0})", "cap"),
        ],
        3,
    ),
)
def test_what_a_series_says_of_its_shapes_is_tried(fake_plugins, shapes, says):
    fake_plugins.add("fake", SERIES.format(shapes=shapes))
    (outcome,) = [o for o in run_checks("fake") if o.label.startswith("model speed: samples")]
    assert outcome.ok == (not says), outcome
    assert says in outcome.message
