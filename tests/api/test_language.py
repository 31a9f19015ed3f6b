"""Every form of the language is the same graph in a file and in Python: the pairs of the page that shows both."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import forecast
import forecast.language
from forecast.api.scenario import records
from forecast.errors import FormulaError, UnknownNameError, UsageError
from forecast.scenarios.settings.replacements import group_records
from forecast.scenarios.toml_text import toml_text
from toolkit import assert_bitwise

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "language.md").read_text(encoding="utf-8")
PAIRS = re.findall(r"```toml\n(.*?)```\n```python\n(.*?)```", PAGE, re.S)
(HEAD, *_) = re.findall(r"```python\n(import .*?)```", PAGE, re.S)


def canonical(record):
    """Return a record with its formulas as a file would say them again."""
    if isinstance(record, dict):
        return {key: canonical(each) for key, each in record.items()}
    if isinstance(record, list):
        return [canonical(each) for each in record]
    try:
        return forecast.formula.parse_expression(record).text if isinstance(record, str) else record
    except FormulaError:
        return record


def test_the_page_shows_both_of_most_forms():
    assert len(PAIRS) >= 16
    whole = "".join(toml for toml, _ in PAIRS)
    for key in (
        "draw", "fitted", "schedule", "model", "shape", "law", "expression", "limit", "how", "at_least", "keeps",
        "at_most", "before", "initial", "log_rate", "so", "when", "value", "first", "choices", "correlations", "update",
        "changes",
    ):  # fmt: skip
        assert re.search(rf"\b{key}\b", whole), key


@pytest.mark.parametrize(("toml", "python"), PAIRS, ids=[f"pair{n}" for n in range(len(PAIRS))])
def test_a_file_and_python_are_one_graph(toml, python):
    record = tomllib.loads(toml)
    space = {}
    exec(HEAD + python, space)
    if "questions" in record:
        stated = space["answer"].scenario.stated
        ours = space["answer"].run
    else:
        name = [*record["quantities"], *record.get("stocks", {})][-1]
        top = {"start": 2025, "until": 2030}
        made = group_records(records([space[name]]))
        record, stated = {**top, **record}, {**top, **made}
        ours = forecast.project(stated)
    assert canonical(tomllib.loads(toml_text(stated))) == canonical(record)
    theirs = forecast.project(record)
    for part in ("projection", "questions"):
        assert set(ours[part].data_vars) == set(theirs[part].data_vars)
        for variable, data in theirs[part].data_vars.items():
            assert_bitwise(ours[part][variable].values, data.values)


def test_every_function_of_the_language_has_its_name():
    x = forecast.value(2, name="x")
    for name in dir(forecast.language):
        assert callable(getattr(forecast.language, name)) or name in ("t", "start", "dt")
    assert forecast.language.tanh(x).record == {"expression": "tanh(x)"}
    with pytest.raises(AttributeError):
        forecast.language.nothing  # noqa: B018


def test_arguments_are_counted_and_lists_are_lists():
    x = forecast.value(2, name="x")
    with pytest.raises(UsageError, match="lag: expected 2 arguments, got 1"):
        forecast.language.lag(x)
    with pytest.raises(UsageError, match="ces: argument 1: expected a list, got Quantity"):
        forecast.language.ces(x, [1], 1)
    with pytest.raises(UsageError, match="exp: argument 1: expected a quantity or a number, got list"):
        forecast.language.exp([x])


def test_a_formula_stands_where_it_is_used_and_is_a_quantity_where_it_is_named_or_fed():
    a, b = forecast.value(1, name="a"), forecast.value(2, name="b")
    assert (2 * (a + b) / a >= 1).text == "2*(a + b)/a >= 1"
    assert set(records([2 * (a + b).named("both")])) == {"a", "b", "both"}
    fed = forecast.quantity("loss", law="scaling/chinchilla@besiroglu2024", N=a + b, D=b)
    assert records([fed])["a_plus_b"] == {"expression": "a + b"}
    assert records([fed])["loss"]["N"] == "a_plus_b"


def test_a_formula_that_grows_is_cut_into_ones_that_can_be_read():
    total = x = forecast.value(1, name="x")
    for _ in range(200):
        total = total * x + x
    run = (total >= 0).when(start=2025, until=2026, draws=1).run
    assert max(len(each["expression"]) for each in records([total]).values() if "expression" in each) < 400
    assert float(run["projection"].to_dataset().to_array().max()) <= 201
    doubled = x
    for _ in range(60):  # 2**60 leaves, were each formula written out
        doubled = doubled + doubled
    assert (doubled >= 1).when(start=2025, until=2026, draws=1, seed=0).already == 1


def test_numpy_and_models_make_the_same_formulas():
    peak = forecast.model("hardware/gpu-peak-fp16@exponential")
    spend = forecast.value(3, "USD", name="spend")
    assert (spend / peak).record == {"expression": "spend/gpu_peak_fp16"}
    assert (np.float64(2) * peak).record == (2 * peak).record == {"expression": "2*gpu_peak_fp16"}
    assert (-abs(spend)).record == {"expression": "-abs(spend)"}
    assert (peak >= "1 EFLOP/s").text == "gpu_peak_fp16 >= 1 EFLOP/s"
    loss = forecast.law("scaling/chinchilla").published("besiroglu2024")(N=peak, D=spend)
    assert loss.record == {"law": "scaling/chinchilla@besiroglu2024", "N": "gpu_peak_fp16", "D": "spend"}
    assert peak.at(2030).record == {"expression": "at(gpu_peak_fp16, 2030)"}
    assert peak.model == forecast.model("hardware/gpu-peak-fp16@exponential").model
    with pytest.raises(UsageError, match="expected a number with a unit"):
        peak >= "spend"  # noqa: B015


def test_a_trend_of_ones_own_stands_in_expressions():
    import pandas as pd

    days = pd.to_datetime(["2020-01-01", "2021-01-01", "2022-01-01", "2023-01-01", "2024-01-01"])
    data = pd.DataFrame({"year": days, "n": [1.0, 2.1, 3.9, 8.2, 15.8]})
    chips = forecast.trend(data, x="year", y="n", shape="trends/exponential", name="chips")
    answer = (2 * chips >= 1000).when(until=2040, draws=200)
    assert 2028 < answer.median < 2031
    assert list(answer.run["projection"].data_vars) == ["chips"]


def test_a_registered_model_has_its_text():
    answer = (forecast.model("hardware/gpu-peak-fp16@exponential") >= 1e5).when(until=2030, draws=20)
    assert 'model = "hardware/gpu-peak-fp16@exponential"' in answer.scenario.to_toml()


def test_a_text_names_what_it_uses():
    g = forecast.value(0.1, name="g")
    spend = forecast.quantity("spend", expression="60e6*(1 + g)**(t - start)", uses=[g])
    assert (spend >= 1).when(start=2025, until=2026, draws=2).already == 1
    with pytest.raises(UnknownNameError, match="unknown quantity 'g'"):
        (forecast.quantity("spend", expression="2*g") >= 1).when(start=2025, until=2026)
