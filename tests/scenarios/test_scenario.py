from __future__ import annotations

import pytest

from forecast import Scenario
from forecast.errors import CycleError, FormulaError, ScenarioError, UnitError, UnknownNameError, UsageError
from forecast.scenarios.graph import build
from forecast.scenarios.kinds.expression import Expression
from forecast.scenarios.kinds.model_ref import ModelRef
from forecast.scenarios.kinds.prior import Prior
from forecast.scenarios.kinds.series_ref import SeriesRef
from forecast.scenarios.spec import choices_in_braces, fill

#: A scenario with everything in it.
GOOD = """
title = "When?"
start = 2020
until = 2030
step = "month"
[choices]
metric = ["hpcg", "linpack"]
[quantities.machine]
model = "hardware/{metric}@exponential"
[quantities.brain]
p05 = 1e15
p95 = 1e21
unit = "FLOP/s"
[quantities.ratio]
expression = "machine / brain"
[quantities.mine]
shape = "trends/exponential"
data = "datasets/supercomputers"
x = "date"
y = "rmax_top1"
unit = "PFLOP/s"
frontier = true
[quantities.ppl]
model = "resources/perplexity-from-parameters"
inputs = { x = "size" }
[quantities.size]
value = 1e9
unit = ""
[questions.parity]
title = "it matches"
when = "machine >= brain"
"""


@pytest.fixture
def write(tmp_path):
    def written(text, name="mine.toml"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return written


def test_everything_a_scenario_may_hold_is_read(write):
    made = Scenario.load(write(GOOD))
    assert (made.name, made.title, made.start, made.until, made.step) == ("mine", "When?", 2020, 2030, "month")
    assert {n: c.values for n, c in made.choices.items()} == {"metric": ("hpcg", "linpack")}
    kinds = {n: type(q) for n, q in made.quantities.items()}
    assert kinds == {
        "machine": ModelRef, "brain": Prior, "ratio": Expression, "mine": SeriesRef, "ppl": ModelRef, "size": Prior,
    }  # fmt: skip
    assert made.quantities["ppl"].inputs == {"x": "size"}
    assert made.quantities["mine"].frontier is True
    assert made.questions["parity"].title == "it matches"
    assert made.questions["parity"].when.text == "machine >= brain"


def test_a_registered_name_and_a_path_both_work(write):
    assert Scenario.load("brain-parity") == Scenario.load("brain/brain-parity")
    assert Scenario.load(str(write(GOOD))).title == Scenario.load(write(GOOD)).title


def test_a_csv_stands_beside_its_scenario(write, tmp_path):
    text = '[quantities.x]\nshape = "trends/exponential"\ndata = "my.csv"\nx = "a"\ny = "b"\nunit = ""\n'
    assert Scenario.load(write(text)).quantities["x"].data == str(tmp_path / "my.csv")


def test_a_byte_order_mark_is_no_part_of_the_first_key(write):
    assert Scenario.load(write(b"\xef\xbb\xbf" + GOOD.encode())).title == "When?"


Q = '[quantities.x]\nvalue = 1\nunit = "FLOP"\n'
TWO = Q + '[quantities.y]\nvalue = 1\nunit = "USD"\n'

#: What stands in the file, the error, and what its message says.
WRONG = {
    "unknown key": ("titel = 'a'\n" + Q, UnknownNameError, "unknown key 'titel'; did you mean 'title'"),
    "unknown key below": (Q + "[questions.p]\nwen = 'x >= 1'", UnknownNameError, "questions.p: unknown key 'wen'"),
    "unknown key of a model": ('[quantities.x]\nmodel = "a"\nuntil = 3', UnknownNameError, "unknown key 'until'"),
    "unknown distribution": ("[quantities.x]\np05 = 1\np59 = 3\nq = 3\nunit = ''", UnknownNameError, "unknown key 'q'"),
    "wrong type of title": ("title = 3\n" + Q, ScenarioError, "title: expected text, got 3"),
    "wrong type of until": ("until = 'soon'\n" + Q, ScenarioError, "until: expected a date such as"),
    "bool for until": ("until = true\n" + Q, ScenarioError, "until: expected a date"),
    "infinite until": ("until = inf\n" + Q, ScenarioError, "until: expected a year"),
    "huge until": ("until = 10000\n" + Q, ScenarioError, "until: expected a year from 1 to 9999"),
    "wrong step": ("step = true\n" + Q, ScenarioError, "step: expected 'year', 'month', or years such as '1/12'"),
    "choices no table": ("choices = 3\n" + Q, ScenarioError, "choices: expected a table, got int"),
    "choice no list": ("choices.a = 'b'\n" + Q, ScenarioError, "choices.a: expected a list of texts"),
    "choice empty": ("choices.a = []\n" + Q, ScenarioError, "choices.a: expected a list of texts"),
    "choice of numbers": ("choices.a = [1, 2]\n" + Q, ScenarioError, "choices.a: expected a list of texts"),
    "choice twice": ("choices.a = ['b', 'b']\n" + Q, ScenarioError, "choices.a: a value stands there twice"),
    "choice called quantile": ("choices.quantile = ['b']\n" + Q, ScenarioError, "choices.quantile: the name is taken"),
    "choice called date": ("choices.date = ['b']\n" + Q, ScenarioError, "choices.date: the name is taken"),
    "choice called draw": ("choices.draw = ['b']\n" + Q, ScenarioError, "draw"),
    "quantity no table": ("quantities.x = 3", ScenarioError, "quantities.x: expected a table, got int"),
    "no quantity": ("until = 2030", ScenarioError, "expected at least one"),
    "empty file": ("", ScenarioError, "expected at least one"),
    "empty quantity": ("[quantities.x]", ScenarioError, "quantities.x: expected a model, a function"),
    "quantity called time": ("[quantities.time]\nvalue = 1", ScenarioError, "time"),
    "quantity with a slash": ("[quantities.'a/b']\nvalue = 1", ScenarioError, "a/b"),
    "quantity with a dunder": ("[quantities.__class__]\nvalue = 1", ScenarioError, "__class__"),
    "choice and quantity": ("choices.x = ['b']\n" + Q, ScenarioError, "quantities.x: a choice has the same name"),
    "question and quantity": (
        Q + "[questions.x]\nwhen = 'x >= x'", ScenarioError, "questions.x: a quantity has the same name"),
    "question and choice": (
        "choices.c = ['b']\n" + Q + "[questions.c]\nwhen = 'x >= x'", ScenarioError, "questions.c: a choice has"),
    "question called quantile": (
        Q + "[questions.quantile]\nwhen = 'x >= x'", ScenarioError, "questions.quantile: the name is taken"),
    "questions that clash": (
        Q + "[questions.p]\nwhen = 'x >= x'\n[questions.p_never]\nwhen = 'x >= x'",
        ScenarioError, "questions.p_never: the name is taken"),
    "no unit": ("[quantities.x]\nvalue = 1", ScenarioError, "quantities.x.unit: is missing"),
    "unit no text": ("[quantities.x]\nvalue = 1\nunit = 3", ScenarioError, "quantities.x.unit: expected text"),
    "unknown unit": ("[quantities.x]\nvalue = 1\nunit = 'FLOPP'", UnitError, "quantities.x.unit"),
    "value no number": ("[quantities.x]\nvalue = 'a'\nunit = ''", ScenarioError, "x.value: expected a finite"),
    "value nan": ("[quantities.x]\nvalue = nan\nunit = ''", ScenarioError, "x.value: expected a finite"),
    "value inf": ("[quantities.x]\nvalue = inf\nunit = ''", ScenarioError, "x.value: expected a finite"),
    "value 1e400": ("[quantities.x]\nvalue = 1e400\nunit = ''", ScenarioError, "x.value: expected a finite"),
    "huge integer": (f"[quantities.x]\nvalue = {'9' * 400}\nunit = ''", ScenarioError, "quantities.x.value: expected"),
    "endless integer": (f"until = {'9' * 5000}\n" + Q, ScenarioError, "not TOML"),
    "expression no formula": ("[quantities.x]\nexpression = 'a +'", FormulaError, "quantities.x.expression"),
    "expression with a caret": (Q + "[quantities.z]\nexpression = 'x^2'", FormulaError, "quantities.z.expression"),
    "expression no text": ("[quantities.x]\nexpression = 3", ScenarioError, "expression: expected text, got 3"),
    "series without x": (
        "[quantities.x]\nshape = 'trends/exponential'\ndata = 'a.csv'\ny = 'b'\nunit = ''",
        ScenarioError, "quantities.x.x: is missing"),
    "frontier no bool": (
        "[quantities.x]\nshape='s'\ndata='a.csv'\nx='a'\ny='b'\nunit=''\nfrontier=1",
        ScenarioError, "frontier: expected true or false"),
    "inputs no table": ('[quantities.x]\nmodel = "a"\ninputs = 3', ScenarioError, "inputs: expected a table"),
    "inputs of numbers": ('[quantities.x]\nmodel = "a"\ninputs = {a = 3}', ScenarioError, "inputs: expected a table"),
    "condition without comparison": (Q + "[questions.p]\nwhen = 'x'", FormulaError, "questions.p.when"),
    "condition with two": (Q + "[questions.p]\nwhen = '1 < x < 2'", FormulaError, "questions.p.when"),
    "key twice": ("until = 2030\nuntil = 2031\n" + Q, ScenarioError, "not TOML"),
    "table twice": (Q + Q, ScenarioError, "not TOML"),
    "no TOML": ("this is no TOML", ScenarioError, "not TOML"),
    "deep nesting": ("a = " + "[" * 100_000, ScenarioError, "not TOML"),
    "not UTF-8": (b"title = '\xff'", ScenarioError, "expected UTF-8 text"),
    "UTF-16": ("title = 'a'".encode("utf-16"), ScenarioError, "expected UTF-8 text"),
    # found when the graph is built
    "cycle": (
        "[quantities.a]\nexpression = 'b'\n[quantities.b]\nexpression = 'c + 1'\n[quantities.c]\nexpression = 'a'",
        CycleError, "a → b → c → a"),
    "needs itself": ("[quantities.a]\nexpression = 'a + 1'", CycleError, "a → a"),
    "unknown name in an expression": (
        Q + "[quantities.z]\nexpression = '2 * xx'", UnknownNameError,
        "quantities.z.expression needs an input: unknown quantity 'xx'; did you mean 'x'"),
    "unknown name in when": (
        TWO + "[questions.p]\nwhen = 'x >= z'", UnknownNameError, "questions.p.when: unknown quantity 'z'"),
    "choice in when": (
        "choices.c = ['b']\n" + Q + "[questions.p]\nwhen = 'x >= c'", UnknownNameError, "unknown quantity 'c'"),
    "units of a sum": (TWO + "[quantities.z]\nexpression = 'x + y'", UnitError, "quantities.z.expression.*x.*y"),
    "units of a condition": (TWO + "[questions.p]\nwhen = 'x >= y'", UnitError, "questions.p.when.*'x'.*'y'"),
    "a threshold in another unit": (
        TWO + "[questions.p]\nwhen = 'x >= 1e6 mol'", UnitError, "questions.p.when: units do not balance"),
    "a threshold in no unit": (
        TWO + "[questions.p]\nwhen = 'x >= 1 FLOPPS'", UnitError, "questions.p.when: unit 'FLOPPS': unknown unit"),
    "a unit that does not balance": (
        TWO + "[questions.p]\nwhen = 'x >= 1 mol + x'", UnitError, "units do not balance: 'mol' against"),
    "a unit with an operator beside it": (
        TWO + "[questions.p]\nwhen = 'x >= 1 FLOP*x'", UnitError, "unit 'FLOP\\*x'"),
    "two conditions": (
        TWO + "[questions.p]\nwhen = 'x > 1 and y > 1'", FormulaError, r"write min\(x > 1, y > 1\) >= 1 where each"),
    "a date when two are equal": (
        TWO + "[questions.p]\nwhen = 'x == y'", ScenarioError, "questions.p.when: a date is when one side passes"),
    "quantity called t": ("[quantities.t]\nvalue = 1\nunit = ''", ScenarioError, "quantities.t: the name is taken"),
    "quantity called dt": ("[quantities.dt]\nvalue = 1\nunit = ''", ScenarioError, "quantities.dt: the name is taken"),
    "before no number": (Q + "before = 'a'", ScenarioError, "quantities.x.before: expected a number"),
    "text against a number": (
        Q + "[quantities.z]\nexpression = 'where(x == \"a\", 1, 2)'", UnitError, "'x' stands for numbers"),
    "unknown name over time": (
        Q + "[quantities.z]\nexpression = 'growth(xx + 1)'", UnknownNameError,
        "quantities.z.expression needs an input: unknown quantity 'xx'; did you mean 'x'"),
    "unknown function": (
        Q + "[quantities.z]\nexpression = 'growht(x)'", FormulaError, "did you mean 'growth'"),
    "units over time": (
        TWO + "[quantities.z]\nexpression = 'lag(x + y, 1)'", UnitError, "quantities.z.expression: .*'x \\+ y'"),
    "years with a unit": (
        TWO + "[quantities.z]\nexpression = 'lag(x, y)'", UnitError, r"z.expression: .*lag\(\) needs a number"),
    "a condition that is none": (
        TWO + "[quantities.z]\nexpression = 'since(x)'", UnitError, r"z.expression: .*since\(\) needs a condition"),
    "a cycle over time": (
        "[quantities.a]\nexpression = '2*maximum(a + 1)'", CycleError, r"a → maximum\(a \+ 1\) → a \+ 1 → a"),
    "unit of an expression": (
        Q + "[quantities.z]\nexpression = 'x'\nunit = 'USD'", UnitError, "z: the expression against its unit"),
    "unknown model": (
        '[quantities.x]\nmodel = "brain/kurzweil"', UnknownNameError,
        "quantities.x.model: unknown model 'brain/kurzweil'; did you mean 'brain/kurzweil-2005'"),
    "unknown model by a choice": (
        'choices.c = ["hpcg", "hpcq"]\n[quantities.x]\nmodel = "hardware/{c}@exponential"', UnknownNameError,
        "unknown model 'hardware/hpcq'; did you mean 'hardware/hpcg'"),
    "unknown choice in braces": (
        'choices.metric = ["hpcg"]\n[quantities.x]\nmodel = "hardware/{metrik}@exponential"', UnknownNameError,
        "quantities.x.model: unknown choice 'metrik'; did you mean 'metric'"),
    "too many combinations": (
        "".join(f"choices.c{i} = ['0', '1', '2', '3']\n" for i in range(40))
        + '[quantities.x]\nmodel = "' + "".join(f"{{c{i}}}" for i in range(40)) + '"',
        ScenarioError, "combinations of choices"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_bad_input_082_a_wrong_scenario_names_file_and_key(write, case):
    text, error, says = WRONG[case]
    with pytest.raises(error, match=says) as caught:
        build(Scenario.load(write(text)))
    message = str(caught.value)
    assert isinstance(caught.value, UsageError)
    assert "mine.toml" in message
    assert "\n" not in message
    assert len(message) < 1500


def test_the_members_of_a_scenario_of_many_choices_are_not_walked_by_an_expression_either():
    record = {
        "choices": {f"c{i}": [f"{a}-2005" for a in ("kurzweil",)] + ["carlsmith-2020"] for i in range(20)},
        "quantities": {f"q{i}": {"model": f"brain/{{c{i}}}"} for i in range(20)},
    }
    record["quantities"]["all"] = {"expression": " + ".join(f"q{i}" for i in range(20))}
    with pytest.raises(ScenarioError, match="1,048,576 combinations"):
        build(Scenario.from_dict(record))


@pytest.mark.parametrize("template", ["{a.__class__}", "{a[0]}", "{a!r}", "{a:>10}", "{0}", "{__import__('os')}"])
def test_braces_hold_the_name_of_a_choice_and_nothing_else(write, template):
    text = f'choices.a = ["b"]\n[quantities.x]\nmodel = "brain/{template}"'
    with pytest.raises(UnknownNameError, match=r"quantities\.x\.model: unknown choice"):
        Scenario.load(write(text))


@pytest.mark.parametrize("template", ["{", "}", "{}", "{a", "a}", "{{a}}", "{a}}", "{a{a}}", "}{"])
def test_braces_must_match(template):
    with pytest.raises(ScenarioError, match="braces do not match"):
        choices_in_braces(template, where="here")


def test_a_value_with_braces_is_no_template():
    assert fill("x/{a}-{b}", {"a": "{b}", "b": "{a}"}) == "x/{b}-{a}"


def test_a_file_that_is_not_there_a_folder_and_a_large_one(write, tmp_path):
    with pytest.raises(ScenarioError, match=r"nowhere\.toml: no such file"):
        Scenario.load(tmp_path / "nowhere.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(ScenarioError, match=r"folder\.toml: is a folder"):
        Scenario.load(tmp_path / "folder.toml")
    large = write(b"#" * ((1 << 20) + 1), "large.toml")
    with pytest.raises(ScenarioError, match=r"large\.toml: 1,048,577 bytes; at most 1,048,576 are read"):
        Scenario.load(large)
    just = write(Q.encode() + b"#" * ((1 << 20) - len(Q)), "just.toml")
    assert Scenario.load(just).quantities["x"].unit == "FLOP"


def test_an_unknown_scenario_names_the_nearest():
    with pytest.raises(UnknownNameError, match="unknown scenario 'brain-party'; did you mean 'brain/brain-parity'"):
        Scenario.load("brain-party")


@pytest.mark.parametrize("name", [None, 3, b"brain-parity"])
def test_a_name_is_text(name):
    with pytest.raises(UsageError):
        Scenario.load(name)


@pytest.mark.parametrize("record", [None, [], "x", {"quantities": []}, {"quantities": {3: {"value": 1}}},
                                    {"choices": {3: ["a"]}}, {"choices": {None: ["a"]}}])  # fmt: skip
def test_what_is_no_mapping_of_text_is_refused(record):
    with pytest.raises(ScenarioError):
        Scenario.from_dict(record)
