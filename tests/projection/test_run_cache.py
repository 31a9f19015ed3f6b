"""What runs share: an answer with it is, to the last bit, the answer without it."""

import gc
import pickle
import types
import weakref
from dataclasses import dataclass, replace

import numpy as np
import pytest

import forecast
from forecast.models import Description, Model, Unfitted
from forecast.projection.engine import project
from forecast.projection.model_fits import ModelFits
from forecast.projection.operations import OPERATIONS
from forecast.projection.paths.run_cache import BoundedStore, RunCache, cache_of_process
from toolkit import sample

DRAWS = 64


def same(scenario, cache, **options):
    ours, fresh = (project(scenario, draws=DRAWS, cache=each, **options) for each in (cache, RunCache(0)))
    assert ours.identical(fresh)
    assert ours.attributes == fresh.attributes
    return ours


@pytest.fixture
def machine(tmp_path):
    """A scenario with a series of its own, rivals, a limit, a correlation, and a model that is registered."""
    values = (1, 2.2, 3.9, 8.5, 15, 33, 60, 130)
    rows = "\n".join(f"{2012 + i}-01-01,{value}" for i, value in enumerate(values))
    (tmp_path / "speed.csv").write_text(f"date,speed\n{rows}\n")
    (tmp_path / "machine.toml").write_text("""
start = 2021
until = 2045
[choices]
trend = { values = ["exponential", "random-walk"], kind = "rival", weights = [0.5, 0.5] }
[quantities.machine]
shape = "trends/{trend}"
data = "speed.csv"
x = "date"
y = "speed"
unit = "FLOP/s"
keeps = "frontier"
limit = "1e9 FLOP/s"
[quantities.goal]
p05 = 1e4
p95 = 1e6
unit = "FLOP/s"
[quantities.part]
p05 = 0.1
p95 = 0.5
unit = ""
[quantities.brain]
model = "brain/dettmers-2015"
[quantities.left]
expression = "part*goal"
[[correlations]]
of = ["goal", "part"]
matrix = [[1, 0.5], [0.5, 1]]
[questions.parity]
when = "machine >= left"
[questions.whole]
when = "machine >= brain"
""")
    return tmp_path / "machine.toml"


@pytest.mark.parametrize("shared", sample([True, False], 2))
def test_every_change_of_a_scenario_gives_what_a_fresh_run_gives(machine, shared):
    cache = RunCache() if shared else None  # what all runs of a process share
    changes = [
        {}, {"with_": {"brain/dettmers-2015.firing_rate": 3}}, {"with_": {"goal": 1e5}},
        {"with_": {"goal": "1e3..1e7"}}, {"with_": {"machine.growth": 0.4}}, {"with_": {"trend": "random-walk"}},
        {"with_": {"trend": ("random-walk", "exponential"), "part": 0.2}},
        {"with_": {"goal": "brain/carlsmith-2020"}},
        {"what_if": [{"of": "machine", "growth": "0.5*", "since": 2030}]},
        {"what_if": [{"of": "left", "value": "1e5 FLOP/s", "since": 2030}]}, {"until": 2040}, {"as_of": 2018.0},
        {"seed": 1}, {"sweep": {"trend": "*"}},
    ]  # fmt: skip
    for asked in [*changes, *changes[:3]]:
        same(machine, cache, **asked)


def test_a_cache_without_draws_has_what_others_fitted(machine, monkeypatch):
    fitted, fit = [], ModelFits._fit
    monkeypatch.setattr(ModelFits, "_fit", lambda self, model: fitted.append(model.name) or fit(self, model))
    cache = RunCache()
    for without in (cache, cache_of_process()):
        project(machine, draws=DRAWS, cache=without)
        fitted.clear()
        project(machine, draws=DRAWS, cache=without.without_draws())
        assert not fitted


def test_a_shipped_scenario_gives_what_a_fresh_run_gives():
    cache, asked = RunCache(), {"trend": ("pool", "exponential"), "metric": "linpack"}
    for more in ({}, {"machine.growth": 0.2}, {"machine.growth": 0.3}, {"brain": 1e17}, {"trend": "exponential"}):
        same("brain-parity", cache, with_={**asked, **more})


def test_what_does_not_depend_on_a_change_is_not_drawn_again(machine, monkeypatch):
    sampled, sample = [], OPERATIONS["model"]
    monkeypatch.setitem(OPERATIONS, "model", lambda *given: sampled.append(given[2].name) or sample(*given))
    cache = RunCache()
    for asked, again in [
        ({}, {"brain/dettmers-2015", "machine@exponential", "machine@random-walk"}),
        ({"brain/dettmers-2015.firing_rate": 3}, {"brain/dettmers-2015"}),
        ({"goal": 1e5}, set()),
        ({"trend": "random-walk"}, set()),
        ({}, set()),
    ]:
        sampled.clear()
        project(machine, draws=DRAWS, cache=cache, with_=asked)
        assert set(sampled) == again, asked


def test_a_second_run_of_a_process_fits_nothing_anew(machine, monkeypatch):
    fitted = []
    fit = ModelFits._fit
    monkeypatch.setattr(ModelFits, "_fit", lambda self, model: fitted.append(model.name) or fit(self, model))
    first = project(machine, draws=DRAWS)
    assert len(fitted) == len(set(fitted)) > 0
    fitted.clear()
    assert project(machine, draws=DRAWS).identical(first)
    assert fitted == []
    project(machine, draws=DRAWS, as_of=2018)  # an earlier date is another fit
    assert {"machine@exponential", "machine@random-walk"} <= set(fitted)


def test_a_second_run_of_a_process_draws_no_model_anew(monkeypatch):
    sampled, sample = [], OPERATIONS["model"]
    monkeypatch.setitem(OPERATIONS, "model", lambda *given: sampled.append(given[2].name) or sample(*given))
    machine, brain = {"model": "hardware/hpcg@exponential"}, {"model": "brain/dettmers-2015"}
    first = {"start": 2025, "until": 2030, "quantities": {"machine": machine, "brain": brain}}
    other = {**first, "quantities": {"computer": machine, "goal": {"expression": "brain*2"}, "brain": brain}}
    run = project(first, draws=DRAWS, seed=5)
    assert set(sampled) == {"hardware/hpcg@exponential", "brain/dettmers-2015"}
    sampled.clear()
    again, elsewhere = (project(each, draws=DRAWS, seed=5) for each in (first, other))
    assert sampled == []
    assert again.identical(run)
    assert elsewhere["projection"]["computer"].values.tobytes() == run["projection"]["machine"].values.tobytes()
    project(first, draws=DRAWS, seed=5, with_={"brain/dettmers-2015.firing_rate": 3})
    assert sampled == ["brain/dettmers-2015"]
    sampled.clear()
    project(first, draws=DRAWS, seed=5, keep=DRAWS // 2)  # worlds that are only counted are too many to keep
    assert set(sampled) == {"hardware/hpcg@exponential", "brain/dettmers-2015"}


class Flat(Model):
    """A model of somebody's own, which can be changed after a run."""

    def __init__(self, name, level):
        self.name, self.unit, self.inputs, self.level = name, "", {}, level

    def fit(self, *, as_of=None, seed=0):
        return Level(name=self.name, unit="", level=self.level)


@dataclass(frozen=True, kw_only=True)
class Level(Unfitted):
    level: float

    def sample(self, time, inputs, streams):
        return np.full((len(time), streams.draws), self.level)

    def describe(self):
        return Description(summary=f"always {self.level}")


@pytest.mark.parametrize("name", ["flat", "own/flat", "hardware/linpack@pool"])
def test_an_object_of_python_is_what_it_is_now(name):
    """Two objects of one name are two models, and a changed one is another one, also with a slash in its name."""

    def level(model):
        run = project({"start": 2025, "until": 2027, "quantities": {"x": {"model": model}}}, draws=DRAWS)
        assert run.attributes["models"][name]["summary"] == f"always {model.level}"
        return float(run["projection"]["x"].max())

    first = Flat(name, 1.0)
    assert [level(first), level(Flat(name, 2.0)), level(Level(name=name, unit="", level=3.0))] == [1.0, 2.0, 3.0]
    first.level = 4.0
    assert level(first) == 4.0


def test_a_function_of_python_is_what_it_is_now():
    levels = [1.0, 2.0]
    quantities = {"x": {"function": lambda t: np.full_like(t, levels[0]), "unit": "", "inputs": {}}}
    seen = []
    for _ in range(2):
        run = project({"start": 2025, "until": 2027, "quantities": quantities}, draws=DRAWS)
        seen.append(float(run["projection"]["x"].max()))
        levels.reverse()
    assert seen == [1.0, 2.0]


@pytest.mark.parametrize("name", ["own/flat", "x::y", "hardware/linpack"])
def test_what_an_object_of_python_is_called_says_nothing_of_the_data_behind_it(name):
    quantities = {"x": {"model": Level(name=name, unit="", level=1.0)}}
    run = project({"start": 2025, "until": 2027, "quantities": quantities}, draws=DRAWS)
    assert run.data == {}
    for own in (
        forecast.model("hardware/linpack").model,
        replace(forecast.model("hardware/linpack").model, at_most=1e25),
    ):
        run = project({"start": 2025, "until": 2027, "quantities": {"x": {"model": own}}}, draws=DRAWS)
        assert list(run.data) == ["datasets/supercomputers"]


@pytest.mark.parametrize("name", ["own/flat", "hardware/linpack@pool"])
def test_two_models_of_one_name_are_refused_in_one_scenario(name):
    def run(*models):
        quantities = {f"x{i}": {"model": each} for i, each in enumerate(models)}
        return project({"start": 2025, "until": 2027, "quantities": quantities}, draws=DRAWS)

    one, other = (Level(name=name, unit="", level=level) for level in (1.0, 2.0))
    with pytest.raises(forecast.errors.UsageError, match="two models have the name"):
        run(one, other)
    run(one, Level(name=name, unit="", level=1.0))
    linpack = forecast.model("hardware/linpack").model
    run(linpack, "hardware/linpack")  # it is the registered one
    with pytest.raises(forecast.errors.UsageError, match="two models have the name"):
        run(replace(linpack, at_most=1e20), linpack.name)


def test_other_plugins_fit_anew():
    """A model that is registered under the name of one that was is fitted by itself."""

    def plugin(level):
        speed = forecast.Input(name="speed", unit="FLOP/s", distribution={"value": level}, source="reason")
        spec = forecast.EstimateSpec(
            name="machine", title="Machine", unit="FLOP/s", expression="2*speed", inputs=(speed,), reference="ours"
        )
        module = types.ModuleType("anew")
        module.forecast_models = forecast.hookimpl(lambda: [spec])
        return module

    scenario = {"start": 2025, "until": 2026, "quantities": {"x": {"model": "anew/machine"}}}
    seen = []
    for level in (1.0, 3.0):
        forecast.register(plugin(level), name="anew")
        try:
            seen.append(float(project(scenario, draws=DRAWS)["projection"]["x"].max()))
        finally:
            forecast.unregister("anew")
    assert seen == [2.0, 6.0]


def test_another_file_is_read_anew(machine):
    cache = RunCache()
    first = same(machine, cache)
    data = machine.parent / "speed.csv"
    data.write_text(data.read_text().replace(",130", ",150"))
    again = same(machine, cache)
    assert not first["projection"]["machine"].equals(again["projection"]["machine"])


def test_files_of_one_name_in_two_folders_are_two(tmp_path):
    def write(folder, factor):
        (tmp_path / folder).mkdir(exist_ok=True)
        rows = [f"{2012 + i}-01-01,{value * factor**i}" for i, value in enumerate((1, 2.2, 3.9, 8.5, 15, 33, 60, 130))]
        (tmp_path / folder / "speed.csv").write_text("\n".join(["date,speed", *rows]))

    series = {"shape": "trends/exponential", "x": "date", "y": "speed", "unit": "FLOP/s"}
    quantities = {name: {**series, "data": f"{name}/speed.csv"} for name in ("a", "b")}
    write("a", 1)
    write("b", 1)
    record = {"start": 2021, "until": 2030, "quantities": quantities}
    scenario = forecast.Scenario.from_dict(record, folder=tmp_path)
    same(scenario, None)
    write("a", 2)
    same(scenario, None)
    write("b", 3)
    assert sorted(same(scenario, None).data) == ["speed.csv", "speed.csv (2)"]


def test_warnings_and_failures_come_again():
    scenario = {
        "start": 2025, "until": 2030,
        "quantities": {
            "x": {"p05": 1.0, "p95": 4.0, "unit": ""}, "y": {"expression": "log(x - 2)"}, "z": {"expression": "x + 1"},
        },
        "questions": {"q": {"when": "z >= 2"}},
    }  # fmt: skip
    cache = RunCache()
    for _ in range(2):
        ours, fresh = (_outcome(scenario, each) for each in (cache, None))
        assert ours == fresh


def _outcome(scenario, cache):
    try:
        return project(scenario, draws=DRAWS, cache=cache).attrs
    except forecast.errors.ForecastError as error:
        return str(error)


def test_what_a_fit_keeps_alive_counts():
    """Arrays within objects within objects, and the whole of what a view is of."""
    store, whole = BoundedStore(100_000, grows=True), np.zeros(12_000)
    fit = types.SimpleNamespace(shape=types.SimpleNamespace(parts={"slope": (whole[:3], [whole[5:]])}), name="x")
    store.give("fit", fit)
    assert store.take("fit") is fit
    assert whole.nbytes < store.n_bytes < whole.nbytes + 2 * 1024
    fit.shape.parts["more"] = np.zeros(200)  # it grows with its use, and is weighed again
    assert store.take("fit") is fit
    assert store.n_bytes > whole.nbytes + 1600
    store.give("second", np.zeros(10_000))
    assert store.take("fit") is fit
    store.weigh()  # what is never taken counts, too
    assert store.take("second") is not None
    assert store.take("fit") is None
    assert store.n_bytes <= store.size


@pytest.mark.slow
def test_a_long_chain_and_a_cycle_are_found_again():
    record = {
        "start": 2025, "until": 2027,
        "quantities": {
            "x0": {"p05": 1, "p95": 2, "unit": ""}, "fee": {"p05": 0.1, "p95": 0.2, "unit": ""},
            **{f"x{i + 1}": {"expression": f"x{i}*1.001"} for i in range(400)},
            "rate": {"expression": "0.1*size*fee + 0.001*x400"},
        },
        "stocks": {"size": {"initial": 1, "rate": "rate"}},
        "questions": {"twice": {"when": "size >= 2"}},
    }  # fmt: skip
    cache = RunCache()
    for asked in ({}, {"fee": 0.15}, {"x0": 1.5}, {}):
        same(record, cache, with_=asked)


def test_nothing_that_is_held_is_sent():
    cache = RunCache(size=10_000)
    cache.object_fits.give("fit", lambda: None)
    sent = pickle.loads(pickle.dumps(cache))
    assert (sent.size, sent.object_fits.take("fit")) == (10_000, None)


def test_what_was_asked_goes_with_its_last_name():
    record = {
        "start": 2025, "until": 2040,
        "quantities": {"fee": {"p05": 0.1, "p95": 0.3, "unit": ""}, "none": {"expression": "fee - fee"},
                       "size": {"expression": "1 + fee*(t - 2025)", "limit": "4"}},
        "questions": {"twice": {"when": "size >= 2"}, "fails": {"when": "size/none >= 2"},
                      "first": {"first": ["twice", "fails"]}, "then": {"value": "size", "dates": [2030, 2040]}},
    }  # fmt: skip
    gc.collect()
    gc.disable()
    try:
        run = forecast.project(record, draws=DRAWS)
        rows = [each.rows for each in (*run.dates, *run.values, *run.values[0].at)], [each.table for each in run.firsts]
        rows += run.limits, run.quantities["fee"].fixed
        assert run.answers["fails"].headline is None
        assert run.opening is run.dates[0]
        answer = forecast.Scenario.from_dict(record).ask("twice", draws=DRAWS)
        other = answer.with_(fee=0.2)
        rows += answer.sensitivity(), answer.result.rows
        assert other.median == 2030
        swept = answer.sweep(fee=[0.1, 0.2])
        changed = run.beside(forecast.project(record, draws=DRAWS, with_={"fee": 0.2}))
        opening = changed.opening
        assert changed.differences[0].answer is opening
        things = (run, changed, opening, answer, answer.run, other, other.run, swept, swept.run)
        gone = [*map(weakref.ref, things), weakref.ref(answer.result)]
        del run, rows, changed, opening, answer, other, swept, things
        assert [each() for each in gone] == [None] * len(gone)
    finally:
        gc.enable()
