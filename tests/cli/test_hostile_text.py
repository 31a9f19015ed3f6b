"""Formulas typed on the command line: hostile ones run nothing, large ones take no time, misspelt ones get a hint."""

import pytest

from forecast.tables import csv_format

HOSTILE = [
    "__import__('os').system('touch P')",
    "().__class__.__base__.__subclasses__()[0].__init__.__globals__['system']('touch P')",
    "+".join(["a*x"] * 100_000),
]
#: Others of their kinds: one parser reads every place.
MORE = [
    "exec(open('x').read())", "a*x + __import__('os').system('touch P')", "x.__class__", "x[0]", "a*x.real",
    "exp.__globals__", "9**9**9", "2**(10**9)", "factorial(10**7)", "(" * 5000 + "x" + ")" * 5000,
    "(a + b + c + x)**200", "-" * 3000 + "x", "x*" + "1" * 5000,
]  # fmt: skip

#: Every place of the fitting commands that takes a formula, with all else in order.
PLACES = {
    "law": lambda t: ("fit", t, "--variables", "x", "--data", "runs.csv"),
    "let": lambda t: ("fit", "scaling/power", "--data", "runs.csv", "--let", f"x = {t}"),
    "y": lambda t: ("fit", "scaling/power", "--data", "runs.csv", "--y", t),
    "where": lambda t: ("fit", "scaling/power", "--data", "runs.csv", "--where", f"x > {t}"),
    "weights": lambda t: ("fit", "scaling/power", "--data", "runs.csv", "--weights", t),
    "sigma": lambda t: ("fit", "scaling/power", "--data", "runs.csv", "--sigma", t),
    "sigma-x": lambda t: ("fit", "scaling/power", "--data", "runs.csv", "--sigma-x", f"x = {t}"),
    "option": lambda t: ("fit", "scaling/power", "--data", "runs.csv", "--objective", "binomial",
                         "--option", f"trials={t}"),
    "compare": lambda t: ("compare", t, "scaling/power", "--variables", "x", "--data", "runs.csv"),
    "by": lambda t: ("compare", "scaling/power", "--data", "runs.csv", "--by", t),
    "predict": lambda t: ("predict", "scaling/power@none", "--data", "runs.csv", "--let", f"x = {t}"),
    "cost": lambda t: ("allocate", "scaling/chinchilla@besiroglu2024", "--compute", "1e20", "--cost", t),
}  # fmt: skip


@pytest.fixture
def runs(here):
    x = [float(i) for i in range(1, 21)]
    csv_format.write_csv(here / "runs.csv", {"x": x, "y": [3 / v for v in x]})
    return here


@pytest.mark.parametrize(
    ("place", "text"), [*((p, t) for p in PLACES for t in HOSTILE), *(("law", t) for t in MORE)], ids=lambda t: t[:20]
)
def test_bad_input_001_002_075_hostile_text_is_wrong_usage(said, runs, place, text):
    assert said(*PLACES[place](text)).refused(2)
    assert [p.name for p in runs.iterdir()] == ["runs.csv"]


@pytest.mark.parametrize(
    "text",
    [
        'a: !!python/object/apply:os.system ["touch marker"]\n',
        "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 10)),
    ],
    ids=["names a program", "grows"],
)
@pytest.mark.parametrize("words", [("run",), ("fit", "scaling/power", "--data")], ids=["scenario", "table"])
def test_bad_input_009_010_yaml_runs_nothing_and_is_refused(said, here, words, text):
    (here / "c.yaml").write_text(text)
    assert said(*words, "c.yaml").refusal
    assert [p.name for p in here.iterdir()] == ["c.yaml"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("objective", ["least_squares", "least_squares_log", "huber_log"])
def test_bad_input_076_a_law_that_overflows_on_the_way_is_fitted(said, here, objective):
    x = [1e5 * i for i in range(1, 11)]
    csv_format.write_csv(here / "runs.csv", {"x": x, "y": [1 + 0.1 * i + 0.003 * (i % 3) for i in range(10)]})
    words = ("--variables", "x", "--data", "runs.csv", "--objective", objective, "--json")
    found = said("fit", "A*exp(a*x)", *words)
    assert found.code == 0
    assert found.parameters["a"]["value"] == pytest.approx(7e-7, rel=0.1)
    assert found.parameters["a"]["lower"] < found.parameters["a"]["value"] < found.parameters["a"]["upper"]
