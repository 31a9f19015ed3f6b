"""Where a step fails, is not there, or is too large: what rests on it says so, and everything else answers."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from forecast.errors import CycleError, DataError, ForecastError, PluginContractError, ScenarioError
from forecast.models import Description, OtherQuantity, Unfitted
from forecast.projection.engine import project
from forecast.projection.operations import OPERATIONS
from forecast.projection.paths.run_cache import RunCache


@dataclass(frozen=True, kw_only=True)
class Scaled(Unfitted):
    """What another quantity is, times a factor; from some block on its draws have another shape."""

    factor: float = 1.0
    wrong_from: int = 10**9

    def sample(self, time, inputs, streams, *, observed=False):
        whole = np.broadcast_to(self.factor * inputs["x"], (len(time), streams.draws))
        return whole[:, :-1] if streams.block >= self.wrong_from else whole

    def describe(self):
        return Description(summary="scaled")


def scaled(name, **options):
    return Scaled(name=name, unit="", inputs={"x": OtherQuantity(unit="")}, **options)


X = {"p05": 1, "p95": 4, "unit": ""}


def record(quantities, **more):
    return {"start": 2025, "until": 2030, "quantities": {"x": X, **quantities}, **more}


def test_a_model_that_fails_under_one_value_leaves_the_others():
    choice = {"factor": {"values": ["1", "0", "2"], "kind": "definition"}}
    quantities = {
        "y": {"expression": "1/({factor}*x - 0*x) + log({factor})"},
        "z": {"expression": "y + 1"},
        "w": {"expression": "x + 1"},
    }
    run = project(record(quantities, choices=choice, questions={"q": {"when": "z >= 1"}}), draws=64)
    assert [text.partition(":")[0] for text in run.failures][:2] == ["y (factor = 0)", "z (factor = 0)"]
    assert np.isnan(run["questions"]["q_never"].sel(factor="0"))
    alone = project(
        record(quantities, choices=choice, questions={"q": {"when": "z >= 1"}}), draws=64, with_={"factor": "2"}
    )
    np.testing.assert_array_equal(run["projection"]["z"].sel(factor="2"), alone["projection"]["z"].squeeze())


def test_an_error_that_many_read_is_no_longer_for_it():
    def frames(n):
        limited = {f"y{i}": {"expression": "x", "limit": "nothing"} for i in range(n)}
        with pytest.raises(DataError) as raised:
            project(record({"nothing": {"expression": "log(x - 500)"}, **limited}), draws=8)
        return len(raised.traceback)

    assert frames(20) == frames(2)


def test_a_limit_without_data_does_not_bind_and_one_with_data_does():
    quantities = {
        "capped": {"expression": "x*1", "limit": "lid"},
        "lid": {"expression": "0.5*machine/machine"},
        "machine": {"model": "hardware/hpcg@exponential"},
    }
    run, now = (project(record(quantities), draws=64, as_of=as_of) for as_of in (2012.0, None))
    np.testing.assert_array_equal(run["projection"]["capped"], run["projection"]["x"])
    assert any("do not bind: capped" in str(each) for each in run.warnings)
    assert (now["projection"]["capped"] == 0.5).all()


@pytest.mark.parametrize("rho", [1, -1])
def test_correlated_inputs_at_the_ends(rho):
    """At an end two inputs are one; close to it they are almost one, each with the distribution that it states."""

    def run(rho):
        return project(record({"y": X}, correlations=[{"of": ["x", "y"], "rho": rho}]), draws=256)["projection"]

    with pytest.raises(ScenarioError, match="expected a rank correlation between -1 and 1"):
        run(rho)
    x, y = (run(0.9999 * rho)[name].values[0] for name in ("x", "y"))
    assert np.corrcoef(x.argsort().argsort(), y.argsort().argsort())[0, 1] == pytest.approx(rho, abs=0.01)
    assert np.median(y) == pytest.approx(2, rel=0.05)


def test_a_cycle_through_a_model_that_is_swapped_in():
    quantities = {"y": {"model": scaled("twice", factor=2.0), "inputs": {"x": "z"}}, "z": {"expression": "y + 1"}}
    with pytest.raises(CycleError, match=r"z → y → z|y → z → y"):
        project(record(quantities), draws=16)


def test_an_update_that_leaves_no_world():
    with pytest.raises(DataError, match="no world is possible"):
        project(record({}, update={"x": {"log_likelihood": "log(0*x)"}}, questions={"q": {"when": "x >= 2"}}), draws=64)


def test_many_combinations_are_refused_and_those_that_are_alike_are_computed_once(monkeypatch):
    names = [f"c{i}" for i in range(10)]
    choices = {name: {"values": ["1", "2", "3", "4"], "kind": "definition"} for name in names}
    sums = {"y": {"expression": " + ".join(f"{{{name}}}*x" for name in names)}}
    with pytest.raises(ForecastError, match="1,048,576"):
        project(record(sums, choices=choices), draws=8)
    alike = {name: {"values": ["1", "1.0", "1e0", "10e-1"], "kind": "definition"} for name in names[:5]}
    few = {"y": {"expression": " + ".join(f"{{{name}}}*x" for name in names[:5])}}
    computed, compute = [], OPERATIONS["formula"]
    monkeypatch.setitem(OPERATIONS, "formula", lambda *given: computed.append(1) or compute(*given))
    assert project(record(few, choices=alike), draws=8)["projection"]["y"].size == 6 * 8 * 4**5
    assert len(computed) == 1


def test_a_function_that_returns_another_shape_in_the_third_block_only():
    late = record({"y": {"model": scaled("late", wrong_from=1)}, "z": {"expression": "x + 1"}})
    assert project(late, draws=1024)["projection"]["y"].size  # blocks of 256 and 768 worlds are right
    with pytest.raises(PluginContractError, match=r"model 'late': sample: expected shape .* \(6, 1024\)"):
        project(late, draws=2048)


def test_threads_that_share_a_cache_each_have_what_they_have_alone():
    scenario = record({"machine": {"model": "hardware/hpcg@exponential"}, "y": {"expression": "x*machine"}})
    asked = [{"with_": {"x": float(place % 3)}} for place in range(1, 9)]
    alone = [project(scenario, draws=64, cache=RunCache(0), **each) for each in asked]
    cache, begin = RunCache(), threading.Barrier(4)

    def ask(place):
        if place < 4:
            begin.wait()
        return project(scenario, draws=64, cache=cache, **asked[place])

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(ask, range(len(asked))))
    assert all(one.identical(other) for one, other in zip(together, alone, strict=True))


def test_the_command_prints_the_steps(tmp_path, capsys):
    from forecast.cli import main

    (tmp_path / "mine.toml").write_text('start = 2025\nuntil = 2027\n[quantities.x]\np05 = 1\np95 = 4\nunit = ""\n')
    assert main(["run", str(tmp_path / "mine.toml"), "--draws", "8", "--steps"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["step", "of", "operation", "reads", "holds", "ms"]
    assert [line.split()[2] for line in lines[2:-1]] == ["uniform", "quantiles", "path_of_number", "quantity"]
    assert lines[-1].startswith("4 steps, ")
