"""Warnings are records, a class for each kind: Python issues them where a person asks, and every form shows them."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pytest

import forecast
from forecast import errors
from forecast.base.warning_lines import warning_lines
from forecast.cli import main
from forecast.errors import (
    AsOfWarning,
    BeyondDataWarning,
    ChangedDataWarning,
    FailedWorldsWarning,
    FewWorldsWarning,
    FitWarning,
    FixedParametersWarning,
    ForecastWarning,
    HindcastWarning,
    IndependentParametersWarning,
    LeftOutWarning,
    ModelWarning,
    NoteWarning,
    RaisedPathsWarning,
    RoundedConstantsWarning,
    UncorrelatedWarning,
)
from forecast.models import Description, FittedModel, Model
from forecast.projection import engine

OF = {"subject": "loss", "model": "scaling/power"}
EXAMPLES = [
    *(AsOfWarning(date="2024-01-01", what=what, names=("a", "b"), reason="why")
      for what in ("model", "quantities", "questions", "rivals", "limits")),
    BeyondDataWarning(variable="N", values=(1.0, 2.0), data=(0.1, 0.2), decades=1.0, **OF),
    BeyondDataWarning(variable="N", values=(-1.0, -1.0), data=(0.1, 0.2), decades=None, **OF),
    ChangedDataWarning(names=("a.csv",)),
    FailedWorldsWarning(draws=100, failing=("x fails in 2",), reason="why"),
    FewWorldsWarning(left=12.0, draws=100, least=200),
    FewWorldsWarning(left=12.0, draws=100, least=200, condition="x >= 1"),
    FitWarning(note="few points", **OF),
    FixedParametersWarning(**OF),
    HindcastWarning(first=2020, last=2024),
    IndependentParametersWarning(**OF),
    ModelWarning(note="mind this", **OF),
    RaisedPathsWarning(**OF),
    RaisedPathsWarning(share=0.25, subject="peak", model="keeps"),
    RoundedConstantsWarning(fit="power@a", **OF),
    UncorrelatedWarning(names=("x", "y")),
]  # fmt: skip
#: A law whose source states standard errors alone, and one that states nothing of its rounded figures.
TWO = {
    "start": 2025,
    "until": 2030,
    "quantities": {
        "far": {"law": "scaling/chinchilla@besiroglu2024", "N": "size", "D": "tokens"},
        "rounded": {"law": "scaling/compute-optimal@llama3", "C": "compute"},
        "size": {"value": 7e10, "unit": "param"},
        "tokens": {"value": 1.4e12, "unit": "token"},
        "compute": {"low": 1e24, "high": 1e25, "unit": "FLOP"},
    },
    "questions": {"q": {"value": "far", "dates": [2026]}},
}


def kinds(kind: type[ForecastWarning] = ForecastWarning) -> set[type[ForecastWarning]]:
    return {kind, *(each for below in kind.__subclasses__() for each in kinds(below))}


def test_every_kind_has_an_example_and_a_public_name():
    assert {*map(type, EXAMPLES), ForecastWarning, NoteWarning, LeftOutWarning} == kinds()
    assert {kind.__name__ for kind in kinds()} <= set(errors.__all__)


@pytest.mark.parametrize("one", EXAMPLES, ids=lambda one: type(one).__name__)
def test_a_warning_is_a_record_that_comes_back(one):
    assert ForecastWarning.from_record(json.loads(json.dumps(one.record))) == one
    assert pickle.loads(pickle.dumps(one)) == one
    assert str(one).startswith(one.subject)
    assert one.text in str(one)
    assert str(one) in repr(one)


def test_several_of_one_kind_are_one_line():
    for kind in (FixedParametersWarning, IndependentParametersWarning):
        (line,) = warning_lines([kind(subject=name) for name in "abcde"])
        assert line.startswith("5 fits ")
        assert line.endswith(": a, b, c and 2 more")
    far = {"variable": "N", "values": (1.0, 1.0), "data": (2.0, 3.0)}
    cases = {
        (2.0, 3.44): "2 to 3.4 decades beyond",
        (2.0, 2.0): "2 decades beyond",
        (2.0, None): "2 or more decades beyond",
        (None, None): "at 0 or below, outside",
    }
    for decades, told in cases.items():
        several = [BeyondDataWarning(subject=name, decades=d, **far) for name, d in zip("ab", decades, strict=True)]
        assert warning_lines(several) == [f"2 quantities lie {told} their data: a, b"]
    assert warning_lines(["why it failed", *several])[-1] == "why it failed"


def test_python_warns_once_at_the_line_that_asks_and_the_engine_is_silent():
    with pytest.warns(ForecastWarning) as caught:
        run = forecast.project(TWO, draws=32)
    assert {type(each.message) for each in caught} == {RoundedConstantsWarning, FixedParametersWarning}
    assert [each.message for each in caught] == run.warnings
    assert {each.filename for each in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert engine.project(TWO, draws=32).warnings == run.warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ForecastWarning)
        warnings.simplefilter("error", RoundedConstantsWarning)
        with pytest.raises(RoundedConstantsWarning, match="rounded constants give biased forecasts"):
            forecast.project(TWO, draws=32)


def test_what_an_answer_warned_of_is_not_warned_of_again():
    scenario = forecast.scenario(TWO)
    with pytest.warns(RoundedConstantsWarning):
        answer = scenario.ask("q", draws=64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        changed = answer.with_(size=8e10)
    assert changed.run.warnings == answer.run.warnings
    spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    asked = (spend >= 2e8).when(start=2025, until=2030, draws=300)
    assert asked.run.warnings == []
    with pytest.warns(FewWorldsWarning, match="given 'spend >= 3.9e8': ") as caught:
        few = asked.given(spend >= 3.9e8)
    assert [each.message for each in caught] == few.run.warnings
    assert caught[0].filename == __file__


def test_every_form_shows_them(tmp_path):
    answer = forecast.scenario(TWO).ask("q", draws=64)
    told = "rounded constants give biased forecasts"
    for shown in (repr(answer), answer._repr_html_(), repr(answer.run), answer.run._repr_html_(), answer.to_json()):
        assert told in shown
    answer.run.save(tmp_path / "a.nc")
    assert forecast.load(tmp_path / "a.nc").run.warnings == answer.run.warnings


def test_the_command_line_says_each_once(tmp_path, capsys):
    (tmp_path / "two.toml").write_text(forecast.scenario(TWO).to_toml(), encoding="utf-8")
    assert main(["run", str(tmp_path / "two.toml"), "--draws", "32"]) == 0
    err = capsys.readouterr().err
    assert err.count("rounded constants give biased forecasts") == 1
    assert "Warning" not in err


def test_a_sweep_joins_them_and_processes_send_them():
    swept = engine.project(TWO, draws=32, sweep={"size": [1e10, 7e10]})
    assert swept.warnings == engine.project(TWO, draws=32).warnings
    many = {**TWO, "questions": {}}
    one, two = (engine.project(many, draws=3000, keep=100, workers=workers) for workers in (1, 2))
    assert one.warnings == two.warnings != []


def test_a_plugin_may_warn_in_a_sentence():
    class Fitted(FittedModel):
        def sample(self, time, inputs, streams, *, observed=False):
            return np.ones((len(time), streams.draws))

        def describe(self):
            return Description(summary="noise", assumptions=("none",), sources=())

        def warnings(self, inputs):
            return ("mind this", RaisedPathsWarning())

    class Noise(Model):
        name, unit, inputs = "noise", "FLOP", {}

        def fit(self, *, as_of=None, seed=0):
            return Fitted()

    with pytest.warns(ModelWarning, match="^x: noise: mind this$"):
        run = forecast.project({"start": 2025, "until": 2027, "quantities": {"x": {"model": Noise()}}}, draws=16)
    assert run.warnings == [
        ModelWarning(note="mind this", subject="x", model="noise"),
        RaisedPathsWarning(subject="x", model="noise"),
    ]
