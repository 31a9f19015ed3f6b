"""``forecast run``: models that fail, and signals."""

import json
import signal
from pathlib import Path

import pytest

import forecast
from toolkit import json_of, started, wait_for

QUICK = ["--draws", "40", "--until", "2060"]


SPAN = "start = 2025\nuntil = 2030\n"


PLUGIN = """
def forecast_models():
    for name in ("good", "raises", "exits", "prints", "slow"):
        yield ModelSpec(name=name, unit="FLOP/s", target="fake_bad:make", reference="a test")

def make(name, spec):
    import pathlib, sys, time
    import numpy as np
    from forecast.models import Description, FittedModel, Model

    class Made(Model, FittedModel):
        def __init__(self):
            self.name, self.unit, self.inputs = name, "FLOP/s", {}

        def fit(self, *, as_of=None, seed=0):
            return self

        def sample(self, time_, inputs, streams, *, observed=False):
            if spec.name == "raises":
                raise RuntimeError("it broke\\nbadly")
            if spec.name == "exits":
                sys.exit(0)
            if spec.name == "prints":
                print('{"command": "mine"}')
            if spec.name == "slow":
                pathlib.Path("begun").touch()
                time.sleep(60)
            return np.ones((len(time_), streams.draws))

        def describe(self):
            return Description(summary="made")

    return Made()
"""


@pytest.fixture
def bad(fake_plugins, scenario):
    fake_plugins.add("bad", PLUGIN, module="fake_bad")

    def write(*kinds):
        return scenario(
            SPAN + f"choices.kind = {json.dumps(kinds)}\n" + '[quantities.x]\nmodel = "bad/{kind}"\n'
            '[quantities.limit]\nvalue = 1\nunit = "FLOP/s"\n[questions.q]\nwhen = "x >= limit"\n'
        )

    return write


def test_bad_input_063_066_068_a_failing_model_leaves_the_others_their_answer(bad, said):
    name = bad("good", "raises", "exits", "prints")
    code, out, err = said("run", name, "--draws", "5", "--json", "--out", "a.nc", "--plot", "a.svg")
    assert code == 1
    answer = json_of(out)
    assert answer["warnings"] == [
        "x (kind = exits): model 'bad/exits': sample: SystemExit: 0",
        "x (kind = raises): model 'bad/raises': sample: RuntimeError: it broke",
    ]
    assert '{"command": "mine"}' in err
    never = {q["choices"]["kind"]: q["crossing"]["never"] for q in answer["result"]["questions"]}
    assert never == {"good": 0.0, "raises": None, "exits": None, "prints": 0.0}
    assert forecast.load("a.nc").run["projection"].sizes["kind"] == 4
    code, out, err = said("run", name, "--draws", "5")
    assert code == 1
    assert "forecast: warning: x (kind = raises): model 'bad/raises': sample: RuntimeError: it broke\n" in err
    assert out.count("failed") >= 2


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), [pytest.param("SIGINT", 130, marks=pytest.mark.slow), ("SIGTERM", 143)])
def test_bad_input_080_a_signal_ends_it_and_leaves_nothing_half_done(bad, fake_plugins, tmp_path, name, code):
    scenario = bad("good", "slow")
    words = [scenario, "--out", "a.nc", "--plot", "a.svg", "--json"]
    process = started("run", *words, env=fake_plugins.env, cwd=tmp_path)
    try:
        wait_for(tmp_path / "begun")
        process.send_signal(getattr(signal, name))
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    word = {"SIGINT": "interrupted", "SIGTERM": "terminated"}[name]
    assert (process.returncode, out, err) == (code, "", f"forecast: error: {word}; nothing was written\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["begun", "mine.toml", "site"]


@pytest.mark.slow
def test_bad_input_080_an_interrupt_while_saving_leaves_nothing_half_done(said, here, tmp_path, monkeypatch):
    def interrupted(self, data):
        with self.open("wb") as handle:
            handle.write(data[: len(data) // 2])
        raise KeyboardInterrupt

    Path("a.nc").write_text("what was here")
    monkeypatch.setattr(Path, "write_bytes", interrupted)
    assert said("run", "brain-parity", *QUICK, "--out", "a.nc") == (
        130,
        "",
        "forecast: error: interrupted; nothing was written\n",
    )
    assert [p.name for p in tmp_path.iterdir()] == ["a.nc"]
    assert Path("a.nc").read_text() == "what was here"
