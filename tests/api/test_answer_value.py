"""An answer is a value: scalars of what its sentence says, plain data, a file that is the answer again."""

import asyncio
import inspect
import json
import math
import re
import types
from datetime import datetime

import numpy as np
import pytest

import forecast
from forecast.api import options
from forecast.errors import PluginError, ResultError, ScenarioError, UnknownNameError, UsageError
from toolkit import assert_bitwise, command

RIVALS = {
    "start": 2025,
    "until": 2060,
    "choices": {
        "pace": {"values": ["1", "2"], "kind": "rival", "weights": [0.25, 0.75]},
        "goal": {"values": ["20", "2000"], "kind": "definition"},
    },
    "quantities": {"x": {"p05": 0.5, "p95": 2, "unit": ""}, "grown": {"expression": "x*exp({pace}*0.2*(t - start))"}},
    "questions": {"there": {"when": "grown >= {goal}", "title": "growth reaches {goal}"}},
}


@pytest.fixture(scope="module")
def answer():
    return forecast.scenario(RIVALS).ask(draws=2000)


def test_scalars_are_those_of_the_sentence(answer):
    assert all(isinstance(each, float) for each in (answer.median, answer.never, answer.already, answer.quantile(0.9)))
    assert str(int(answer.median)) in answer.sentence
    assert answer.date == datetime.fromisoformat(answer.to_dict()["result"]["answer"]["crossing"]["p50"]).replace(
        hour=answer.date.hour, minute=answer.date.minute, second=answer.date.second
    )
    pooled = answer.result.pooled_draws({"goal": "20"})[0]
    assert answer.probability(by=2040) == pytest.approx((pooled <= 2040).mean(), rel=1e-12)
    assert answer.probability(by=2060) == pytest.approx(1 - answer.never, rel=1e-12)
    assert answer.interval(0.9) == (answer.quantile(0.05), answer.quantile(0.95))


def test_every_combination_is_in_one_dataset(answer):
    every = answer.by_choice
    assert dict(every.sizes) == {"quantile": 5, "pace": 2, "goal": 2}
    alone = answer.with_(pace="1", goal="2000")
    at = every.sel(pace="1", goal="2000")
    assert float(at["never"]) == alone.never > 0.5
    assert math.isinf(float(at["quantiles"].sel(quantile=0.95)))
    assert alone.date is None
    assert alone.quantile(0.99) == math.inf


def test_plain_data_is_what_json_prints(answer, capsys, tmp_path):
    path = tmp_path / "rivals.toml"
    path.write_text(forecast.scenario(RIVALS).to_toml())
    printed = command("run")(capsys, str(path), "--draws", "2000", "--json").json
    mine = json.loads(answer.to_json())
    assert list(mine) == list(printed)
    assert {**printed["result"], "scenario": ""} == {**mine["result"], "scenario": ""}
    never = answer.with_(pace="1", goal="2000").to_dict()["result"]["answer"]["crossing"]
    assert (never["p95"], never["never"] > 0.5) == (None, True)


def test_a_service_returns_an_answer(answer):
    httpx, fastapi = pytest.importorskip("httpx"), pytest.importorskip("fastapi")
    service = fastapi.FastAPI()
    service.get("/when")(lambda: answer.to_dict())

    async def ask():
        way = httpx.ASGITransport(app=service)
        async with httpx.AsyncClient(transport=way, base_url="http://service") as client:
            return await client.get("/when")

    got = asyncio.run(ask())
    assert got.status_code == 200
    assert got.json() == json.loads(answer.to_json())


def test_a_saved_answer_is_an_answer_again(answer, tmp_path):
    loaded = forecast.load(forecast.save(answer, tmp_path / "a.nc"))
    assert isinstance(loaded, forecast.Answer)
    assert loaded.run.identical(answer.run)
    assert (loaded.sentence, loaded.median) == (answer.sentence, answer.median)
    assert_bitwise(np.asarray(loaded.with_(x=1.5)), np.asarray(answer.with_(x=1.5)))
    some, again = answer.given("x >= 1"), loaded.given("x >= 1")
    assert (again.median, again.sentence) == (some.median, some.sentence)
    assert again.sentence.startswith("Given x >= 1: ")
    assert loaded.sensitivity().index[0] == answer.sensitivity().index[0]
    assert loaded.report() == answer.report()
    loaded.plot()
    # what it is conditioned on stays with it
    twice = forecast.load(forecast.save(again, tmp_path / "b.nc"))
    assert twice.sentence == again.sentence
    assert twice.with_(pace="2").sentence.startswith("Given x >= 1: ")
    assert twice.with_(pace="2").median == again.with_(pace="2").median


def test_a_question_of_objects_is_an_answer_again_too(tmp_path):
    x = forecast.uncertain(p05=1, p95=4, name="x")
    asked = (x >= 2).when(start=2025, until=2027, draws=500, with_={"x": "1..3"})
    loaded = forecast.load(forecast.save(asked, tmp_path / "a.nc"))
    assert (loaded.already, loaded.with_(x=3).already) == (asked.already, 1.0)
    own = (forecast.draws([1.0, 3.0], name="own") >= 2).when(start=2025, until=2027, draws=500)
    held = forecast.load(forecast.save(own, tmp_path / "b.nc"))
    assert held.already == own.already
    with pytest.raises(ResultError, match="holds no scenario that can be run again"):
        held.with_(own=3)


def test_a_projection_that_asks_nothing_is_a_projection(tmp_path):
    run = forecast.project({"start": 2025, "until": 2030, "quantities": {"x": {"value": 3, "unit": ""}}}, draws=10)
    loaded = forecast.load(forecast.save(run, tmp_path / "a.nc"))
    assert isinstance(loaded, forecast.Projection)
    assert loaded.identical(run)
    assert "1 quantities, 0 answers" in repr(run)


def test_two_verbs_change_everything(answer):
    scenario = forecast.scenario(RIVALS)
    fixed = answer.with_(x=1.0)
    assert forecast.project(RIVALS, draws=2000, with_={"x": 1.0}).answers["there"].headline == fixed.distribution
    assert scenario.with_(x=1.0).ask(draws=2000).distribution == fixed.distribution
    assert scenario.ask(draws=2000, with_={"x": 1.0}).distribution == fixed.distribution
    ranged = scenario.with_(x="0.5..2").ask(draws=2000)
    assert (
        ranged.distribution
        == answer.with_(x="0.5..2").distribution
        == answer.with_(x={"loguniform": [0.5, 2]}).distribution
    )
    swept = answer.sweep(x=[0.5, 1.0]).by_choice
    assert_bitwise(swept.sel(x=1.0)["never"].values, fixed.by_choice["never"].values)
    assert_bitwise(scenario.sweep(x=[0.5, 1.0]).ask(draws=2000).by_choice["never"].values, swept["never"].values)
    more = scenario.with_(add={"y": {"expression": "2*x"}}, questions={"twice": {"when": "y >= 2"}}).ask(draws=2000)
    assert more.name == "twice"
    assert 0.4 < more.already < 0.6
    with pytest.raises(UnknownNameError, match="did you mean 'grown'"):
        scenario.with_(growm=1)
    with pytest.raises(UsageError, match="add 'x': the scenario has it"):
        scenario.with_(add={"x": 1})
    with pytest.raises(UsageError, match="does not depend on it"):
        answer.with_(xx=1)


def test_a_quantity_is_sampled_as_it_is_in_answers(answer):
    x = forecast.uncertain(p05=0.5, p95=2, name="x")
    assert_bitwise(x.sample(2000), answer.run["projection"]["x"].isel(time=0).values)
    peak = forecast.quantity(model="hardware/gpu-peak-fp16")
    assert peak.sample(50, at=2028).shape == (50,)
    with pytest.raises(UsageError, match="give at="):
        peak.sample(50)


def test_records_are_registered_while_python_runs():
    mine = types.ModuleType("forecast_mine")

    def forecast_laws():
        return [forecast.LawSpec(name="half", title="Half", expression="a*x/2", variables={"x": ""}, reference="ours")]

    mine.forecast_laws = forecast.hookimpl(forecast_laws)
    try:
        assert forecast.register(mine) == ["mine/half"]
        assert forecast.register(mine) == ["mine/half"]  # again: it takes the place of the first
        fit = forecast.law("mine/half").fit({"x": [1.0, 2.0, 3.0], "y": [2.0, 4.0, 6.0]})
        assert fit.params["a"].item() == pytest.approx(4)
        assert re.search(r"^mine/half +Half$", repr(forecast.catalogue()), re.MULTILINE)
        assert "<td>Half</td>" in forecast.catalogue()._repr_html_()
    finally:
        forecast.unregister("mine")
    assert "mine/half" not in forecast.catalogue()
    with pytest.raises(PluginError, match="brings nothing"):
        forecast.register(types.ModuleType("empty"))
    with pytest.raises(UnknownNameError):
        forecast.unregister("mine")


def test_an_unweighted_choice_has_no_one_number():
    open_ = {**RIVALS, "choices": {**RIVALS["choices"], "pace": ["1", "2"]}}
    answer = forecast.scenario(open_).ask(draws=200)
    for number in (lambda: answer.median, lambda: answer.never, lambda: answer.quantile(0.9), lambda: answer.date):
        with pytest.raises(UsageError, match=r"depending on pace .*Choose with .with_\(pace='1'\)"):
            number()
    assert answer.with_(pace="1").median > 2025
    with pytest.raises(ScenarioError):
        forecast.scenario(RIVALS).with_(until="soon").ask()


def test_a_notebook_shows_every_object_of_the_front_door(answer):
    x = forecast.uncertain(p05=1, p95=4, name="x")
    protocol = forecast.protocol("besiroglu2024")
    shown = [answer, answer.run, answer.scenario, x, x >= 2, protocol, forecast.catalogue("shape")]
    for each in shown:
        html = each._repr_html_()
        assert html.startswith("<")
        assert "object at 0x" not in repr(each) + html
    assert "growth reaches" in answer.run._repr_html_()
    assert "&gt;= 2" in (x >= 2)._repr_html_()
    assert forecast.law("scaling/chinchilla")._repr_latex_().startswith("$")


def test_a_file_from_a_stranger_reaches_nothing_outside_its_folder(tmp_path):
    (tmp_path / "private.csv").write_text("x\n1\n2\n3\n")
    mine = tmp_path / "mine"
    mine.mkdir()
    record = {
        "start": 2025,
        "until": 2027,
        "quantities": {"x": {"p05": 1, "p95": 4, "unit": ""}},
        "questions": {"q": {"when": "x >= 2"}},
    }
    tree = forecast.project(record, draws=50).to_xarray()
    for place in ("../private.csv", str(tmp_path / "private.csv")):
        stated = {**record, "quantities": {"x": {"draws": place, "column": "x", "unit": ""}}}
        text = "".join(f"{key} = {stated[key]}\n" for key in ("start", "until"))
        text += f'[quantities.x]\ndraws = "{place}"\ncolumn = "x"\nunit = ""\n[questions.q]\nwhen = "x >= 2"\n'
        tree.attrs["scenario_text"] = json.dumps(text)
        loaded = forecast.load(forecast.save(tree, mine / "a.nc"))
        assert loaded.median > 2020  # what the file holds is read
        with pytest.raises(ScenarioError, match=r"leaves the scenario's folder|outside"):
            loaded.with_(x=3)


def test_the_options_of_a_run_are_those_of_project():
    of_project = inspect.signature(forecast.project).parameters
    named = {**options.ScenarioAskOptions.__annotations__, "what_if": None}
    assert set(named) <= set(of_project)
    not_asked = {"scenario", "paths", "ends", "checkpoint", "resume", "cache"}  # of files and screens
    assert set(of_project) - set(named) == not_asked


def test_a_value_at_a_date_needs_no_other_date():
    x = forecast.uncertain(p05=1, p95=4, name="x")
    short = forecast.ask(value=2 * x, dates=[2026], draws=200)
    assert short.median == forecast.ask(value=2 * x, dates=[2026], start=2025, until=2030, draws=200).median
    assert forecast.value("1.5 EFLOP/s").record == forecast.value(1.5, "EFLOP/s").record


def test_a_trend_of_several_shapes_pools_them():
    data = {"year": np.arange(2000.0, 2020), "size": np.exp(0.3 * np.arange(20) + 0.1 * np.sin(np.arange(20.0)))}
    shapes = ["trends/exponential", "trends/random-walk"]

    def reached(shape):
        size = forecast.trend(data, shape=shape, x="year", y="size", name="size")
        return (size >= 5000).when(until=2045, draws=4000)

    both, *alone = map(reached, (shapes, *shapes))
    assert both.probability(2028) == pytest.approx(np.mean([each.probability(2028) for each in alone]), abs=0.03)
