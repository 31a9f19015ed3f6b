"""A stranger's file exhausts nothing: what it would expand to is counted before anything is built."""

import pytest

import forecast
from forecast.base import budgets
from forecast.errors import BudgetError, ForecastError
from forecast.projection.model_fits import ModelFits

HEAD = "start = 2025\nuntil = 2030\n"
X = '[quantities.x]\np05 = 1\np95 = 4\nunit = ""\n'
ONE = HEAD + '[quantities.q]\nvalue = 1\nunit = ""\n'
TABLE = "a,b,c,v\n" + "".join(f"a{i},b{i},c{i},{i}\n" for i in range(5))


def listed(texts):
    return ", ".join(f'"{each}"' for each in texts)


def twice(depth, last=ONE):
    """Return files of which each uses the next one twice."""
    text = 'use = {{ a = "f{0}.toml", b = "f{0}.toml" }}\n[quantities.q]\nexpression = "a.q + b.q"\n'
    return {f"f{i}.toml": text.format(i + 1) for i in range(depth)} | {f"f{depth}.toml": last}


def nested(depth):
    used = '{ quantities = { q = { value = 1, unit = "" } } }'
    for _ in range(depth):
        used = f'{{ use = {{ a = {used} }}, quantities = {{ q = {{ expression = "a.q" }} }} }}'
    return f'{HEAD}use = {{ a = {used} }}\n[quantities.q]\nexpression = "a.q"\n'


CHOICES = "[choices]\n" + "".join(f'c{i} = ["1", "2"]\n' for i in range(40))
MANY = "".join(f'[quantities.x{i}]\nnormal = [1, 2]\nunit = ""\n' for i in range(600))

#: The files, of which the first is read, and what is said.
BOMBS = {
    "uses the next twice": (twice(40), "more than 32 scenarios use one another"),
    "uses the next twice, not deep": (twice(25), "more than 20,000 quantities and choices"),
    "a choice of what is used twice": (twice(20, ONE + '[choices]\nc = ["1", "2"]\n'), "more than 20,000 quantities"),
    "tables in tables": (nested(40), "more than 32 scenarios use one another"),
    "one under many names": (
        "use = { " + ", ".join(f'a{i} = "brain-parity"' for i in range(9000)) + " }\n" + X,
        "more than 200 scenarios",
    ),
    "one many times": (f"use = [{listed(['brain-parity'] * 9000)}]\n{X}", "more than 200 scenarios"),
    "extends many": (f"extends = [{listed(['brain-parity'] * 9000)}]\n", "9,000 scenarios; at most 32"),
    "combinations": (
        HEAD + CHOICES + X + '[quantities.q]\nexpression = "x*(' + "+".join(f"{{c{i}}}" for i in range(40)) + ')"\n',
        "combinations of choices; at most",
    ),
    "choices": (HEAD + "[choices]\n" + "".join(f'c{i} = ["1"]\n' for i in range(501)) + X, "choices: 501 of them"),
    "quantities": (
        HEAD + "".join(f"[quantities.x{i}]\nvalue = 1\nunit = ''\n" for i in range(5001)),
        "quantities: 5,001 of them; at most 5,000",
    ),
    "questions": (
        HEAD + X + "".join(f'[questions.a{i}]\nwhen = "x >= {i}"\n' for i in range(1001)),
        "questions: 1,001",
    ),
    "changes": (HEAD + X + '[[changes]]\nof = "x"\nvalue = "1"\nsince = 2026\n' * 201, "changes: 201 of them"),
    "updates": (HEAD + X + "".join(f'[update.x{i}]\nlog_likelihood = "-x"\n' for i in range(201)), "update: 201"),
    "stocks": (HEAD + "".join(f'[stocks.S{i}]\ninitial = 1\nrate = "S0"\n' for i in range(1001)), "stocks: 1,001"),
    "equations": (HEAD + X + "".join(f'[solve.k{i}]\nso = "k{i} == x"\n' for i in range(101)), "solve: 101 of them"),
    "levers": (HEAD + X + "".join(f"[levers.x{i}]\n" for i in range(501)), "levers: 501 of them"),
    "presets": (
        HEAD + X + "".join(f'[presets.p{i}]\ntitle = "a"\nsource = "b"\nsettings = {{ x = 1 }}\n' for i in range(501)),
        "presets: 501 of them",
    ),
    "a group that moves together": (
        HEAD + MANY + "[[correlations]]\nof = [" + listed(f"x{i}" for i in range(600)) + "]\nrho = 0.5\n",
        "600 of them; at most 500",
    ),
    "a grid": (
        HEAD
        + "".join(f'[quantities.x{i}]\nvalue = 1\nunit = ""\n' for i in range(9))
        + '[quantities.q]\nexpression = "'
        + "+".join(f"x{i}" for i in range(9))
        + '"\n[sweep]\n'
        + "".join(f"x{i} = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" for i in range(9)),
        "387,420,489 runs; at most 1,000",
    ),
    "rows of a table": (
        {
            "f.toml": HEAD
            + '[quantities.q]\ntable = "t.csv"\ncolumn = "v"\nwhere = { '
            + ", ".join(f"{name} = [{listed([name + '0'] * 90)}]" for name in "abc")
            + " }\n",
            "t.csv": TABLE,
        },
        "729,000 combinations of texts",
    ),
    "steps": ('start = 2025\nuntil = 9999\nstep = "1/365"\n' + X, "steps from 2025 to 9999; at most"),
    "parentheses": (
        HEAD + X + '[quantities.q]\nexpression = "' + "(" * 900 + "x" + ")" * 900 + '"\n',
        "nested parentheses",
    ),
    "a long formula": (
        HEAD + X + '[quantities.q]\nexpression = "' + "+".join(["x"] * 9000) + '"\n',
        "characters; the limit",
    ),
    "a power of powers": (f'{HEAD}{X}[quantities.q]\nexpression = "9**9**9**9*x"\n', "out of range"),
    "a long unit": (
        HEAD + '[quantities.q]\nvalue = 1\nunit = "' + "*".join(["FLOP"] * 900) + '"\n',
        "characters; the limit",
    ),
    "a large file": (f"{HEAD}{X}[labels]\n" + 'x = "y"\n#' + "z" * (1 << 20), "at most 1,048,576 are read"),
}


@pytest.mark.parametrize("case", BOMBS)
def test_what_would_expand_without_end_is_refused_with_one_sentence(tmp_path, case):
    files, said = BOMBS[case]
    files = files if isinstance(files, dict) else {"f.toml": files}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ForecastError) as caught:
        forecast.project(tmp_path / next(iter(files)), draws=16)
    assert said in str(caught.value)
    assert str(caught.value).isprintable()


def test_combinations_of_choices_are_walked_as_long_as_there_is_time(tmp_path):
    values = "+".join(f"{{c{i}}}" for i in range(16))
    (tmp_path / "f.toml").write_text(f'{HEAD}{CHOICES}{X}[quantities.q]\nexpression = "x*({values})"\n')
    with pytest.raises(BudgetError), forecast.resource_limits(seconds=0.2):
        forecast.project(tmp_path / "f.toml", draws=16)


def test_models_are_fitted_as_long_as_there_is_time(tmp_path, monkeypatch):
    laws = ", ".join(f'"a{i}"' for i in range(9))
    (tmp_path / "d.csv").write_text("x,y\n" + "".join(f"{x},{2 * x + x % 3}\n" for x in range(1, 9)))
    (tmp_path / "f.toml").write_text(
        f'{HEAD}[choices.c]\nvalues = [{laws}]\n{X}[quantities.q]\nlaw = "{{c}}*x + b"\nvariables = ["x"]\n'
        'data = "d.csv"\nx = "x"\ny = "y"\n'
    )
    fits = []
    monkeypatch.setattr(budgets, "monotonic", lambda: 1e6 if len(fits) == 3 else 0.0)
    fit = ModelFits._fit
    monkeypatch.setattr(ModelFits, "_fit", lambda self, model: fits.append(model.name) or fit(self, model))
    with (
        pytest.raises(BudgetError, match="fitting and describing models stopped after"),
        forecast.resource_limits(seconds=1000),
    ):
        forecast.project(tmp_path / "f.toml", draws=16)
    assert len(fits) == 3


@pytest.mark.slow
def test_the_end_of_what_extends_another_is_that_of_a_run(tmp_path):
    stated, said = {"extends": "model-capability", "until": 2035}, {"until": 2035, "draws": 16}
    extended, run = forecast.project(stated, draws=16), forecast.project("model-capability", **said)
    assert extended["projection"].to_dataset().equals(run["projection"].to_dataset())
    assert list(extended.answers) == list(run.answers)
    written = tmp_path / "written.toml"
    written.write_text(forecast.scenario(stated).to_toml(), encoding="utf-8")
    assert list(forecast.project(written, draws=16).answers) == list(run.answers)
    assert forecast.scenario(written).figures == forecast.scenario(stated).figures
    changed = forecast.scenario("model-capability").with_(until=2035)
    assert forecast.project(changed, draws=16)["projection"].to_dataset().equals(run["projection"].to_dataset())
