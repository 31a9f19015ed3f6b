"""``forecast run``, end to end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import forecast
from forecast.cli import main

PAYLOAD = "__import__('os').system('touch P')"
QUICK = ["--draws", "40", "--until", "2060"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of one's own, and a way to write scenarios there."""
    monkeypatch.chdir(tmp_path)

    def write(text, name="mine.toml"):
        Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
        return name

    return write


def call(capsys, *words):
    code = main(["run", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refused(capsys, *words, code=2):
    found, out, err = call(capsys, *words)
    assert found == code, err
    assert out == ""
    assert err.startswith("forecast: error: ")
    assert err.count("\n") == 1
    assert err[:-1].isprintable()
    assert "Traceback" not in err
    return err


def spawned(*words, cwd, env=None, python=()):
    own = {k: v for k, v in os.environ.items() if not k.startswith(("FORECAST_", "PYTHON"))}
    return subprocess.run(
        [sys.executable, *python, "-m", "forecast", "run", *words], cwd=cwd, env={**own, **(env or {})},
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip


# --- the answer -------------------------------------------------------------------------------------------------------


def test_the_headline_opens_then_crossings_then_quantities(capsys):
    code, out, err = call(capsys, "brain-parity", *QUICK, "--every", "25")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("When the fastest supercomputer matches the brain: the median date runs from ")
    assert lines[1] == ""
    assert lines[2] == "parity: machine >= brain"
    assert lines[3].split()[:3] == ["metric", "trend", "estimate"]
    assert lines[3].endswith("95 %     never  already")
    assert len([line for line in lines[5:21] if re.match(r"(hpcg|linpack) ", line)]) == 16
    assert "15 points, 6 distinct records (effective n" in out
    start = lines.index("machine [TFLOP/s]")
    assert [line.split()[2] for line in lines[start + 3 : start + 5]] == ["2025", "2050"]
    assert "ratio: 16 combinations, year by year in --json and --out" in lines[-1]
    assert "\x1b" not in out


def no_constants(text):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_is_one_object_of_the_agreed_form(capsys):
    code, out, err = call(capsys, "brain-parity", *QUICK, "--json", "--set", "trend=changepoint")
    assert (code, err) == (0, "")
    answer = no_constants(out)
    assert list(answer) == ["command", "result", "warnings", "provenance"]
    assert answer["command"] == "run"
    assert answer["warnings"] == []
    result = answer["result"]
    assert list(result) == ["scenario", "headline", "questions", "quantities", "models"]
    assert result["headline"].startswith("When the fastest supercomputer")
    assert len(result["questions"]) == 8
    first = result["questions"][0]
    assert list(first) == ["name", "title", "when", "choices", "crossing"]
    assert list(first["crossing"]) == ["p05", "p25", "p50", "p75", "p95", "never", "already"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", first["crossing"]["p05"])
    assert all("name" in row for key in ("questions", "quantities", "models") for row in result[key])
    said = answer["provenance"]
    assert (said["seed"], said["draws"], said["start"], said["until"], said["step"]) == (0, 40, 2025, 2060, "year")
    assert said["set"] == {"trend": "changepoint"}
    assert said["command"][:3] == ["forecast", "run", "brain-parity"]
    assert {p["name"] for p in said["plugins"]} == {"brain", "hardware"}
    assert said["data"]["datasets/supercomputers"]


def test_a_quantile_inside_the_never_mass_is_null(capsys, here):
    here('start = 2025\nuntil = 2030\n[quantities.x]\nlow = 0\nhigh = 1\nunit = ""\n[quantities.y]\nvalue = 0.5\n'
         'unit = ""\n[questions.q]\nwhen = "x >= y"\n')  # fmt: skip
    code, out, _ = call(capsys, "mine.toml", "--json")
    crossing = no_constants(out)["result"]["questions"][0]["crossing"]
    assert code == 0
    assert crossing["p05"] == "2025-01-01"
    assert crossing["p75"] is crossing["p95"] is None
    assert crossing["never"] == 1 - crossing["already"]
    code, out, _ = call(capsys, "mine.toml")
    assert out.splitlines()[5].split()[:2] == ["already", "already"]
    assert out.splitlines()[5].split()[3:5] == ["never", "never"]


def test_out_and_plot_are_written_and_load(capsys, here, tmp_path):
    code, _, err = call(capsys, "brain-parity", *QUICK, "--out", "a.nc", "--plot", "a.svg")
    assert (code, err) == (0, "")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.nc", "a.svg"]
    run = forecast.load("a.nc")
    assert run["projection"].sizes == {"time": 36, "draw": 40, "metric": 2, "trend": 2, "estimate": 4}
    assert Path("a.svg").read_text().startswith("<?xml")


def test_set_in_all_its_forms(capsys):
    def crossings(*words):
        code, out, err = call(capsys, "brain-parity", *QUICK, "--json", *(w for s in words for w in ("--set", s)))
        assert (code, err) == (0, "")
        return no_constants(out)["result"]

    assert len(crossings("metric=hpcg", "trend=changepoint", "estimate=pooled")["questions"]) == 1
    assert len(crossings("estimate=pooled,dettmers-2015")["questions"]) == 8
    fixed = crossings("brain=1.075e21")
    assert len(fixed["questions"]) == 4
    assert {r["unit"] for r in fixed["quantities"] if r["name"] == "brain"} == {"FLOP/s"}
    for key in ("brain/dettmers-2015.firing_rate", "dettmers-2015.firing_rate", "brain.firing_rate"):
        rows = crossings(f"{key}=50", "estimate=dettmers-2015")["quantities"]
        (brain,) = [r for r in rows if r["name"] == "brain"]
        assert brain["p95"][0] < 2e21


def test_one_combination_has_a_plain_sentence(capsys):
    words = [w for s in ("metric=hpcg", "trend=exponential", "brain=1.075e21") for w in ("--set", s)]
    code, out, _ = call(capsys, "brain-parity", "--until", "2150", *words)
    assert code == 0
    assert re.match(r"In the median draw the fastest supercomputer matches the brain in 20\d\d \(90 %: 20\d\d to ", out)


def test_fewer_draws_on_the_command_line_too(capsys):
    few, many = (no_constants(call(capsys, "brain-parity", "--until", "2030", "--json", "--draws", n)[1])["provenance"]
                 for n in ("7", "9"))  # fmt: skip
    assert (few["draws"], many["draws"]) == (7, 9)
    assert few["scenario_hash"] == many["scenario_hash"]


@pytest.mark.bad_input(68)
def test_bad_input_068_stdout_is_data_with_many_workers_too(here, tmp_path):
    done = spawned("brain-parity", "--until", "2030", "--draws", "20000", "--workers", "8", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert no_constants(done.stdout)["command"] == "run"


# --- the same bytes everywhere ----------------------------------------------------------------------------------------

PLACES = {
    "plain": ({}, ()),
    "far zone": ({"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "1"}, ()),
    "C locale, optimised": ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONHASHSEED": "77"},
                            ("-O",)),
    "one thread": ({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "HOME": "/nonexistent"},
                   ()),
}  # fmt: skip


@pytest.mark.bad_input(85)
@pytest.mark.bad_input(86)
def test_bad_input_085_086_the_same_seed_gives_the_same_bytes_everywhere(tmp_path):
    found = {}
    for place, (env, python) in PLACES.items():
        folder = tmp_path / place
        folder.mkdir()
        words = ["brain-parity", *QUICK, "--seed", "5", "--json", "--out", "a.nc", "--plot", "a.svg"]
        done = spawned(*words, cwd=folder, env=env, python=python)
        assert (done.returncode, done.stderr) == (0, b""), place
        found[place] = [done.stdout, (folder / "a.nc").read_bytes(), (folder / "a.svg").read_bytes()]
    for place, files in found.items():
        for kind, one, first in zip(("json", "netcdf", "svg"), files, found["plain"], strict=True):
            assert one == first, f"{kind} in {place}"
    text = b"".join(found["plain"])
    assert str(tmp_path).encode() not in text
    assert sys.prefix.encode() not in text


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.bad_input(53)
def test_bad_input_053_a_horizon_before_its_start_says_why(capsys):
    err = refused(capsys, "brain-parity", "--until", "2024")
    assert "until: expected a year after the first one, 2025, got 2024" in err


@pytest.mark.bad_input(53)
def test_bad_input_053_a_start_before_the_last_observation_is_labelled_a_hindcast(capsys):
    code, out, err = call(capsys, "brain-parity", "--start", "2010", *QUICK, "--json")
    says = "hindcast: the projection starts in 2010, its data end in 2025; until then it shows the fit"
    assert (code, err) == (0, "")
    assert no_constants(out)["warnings"] == [says]
    code, _, err = call(capsys, "brain-parity", "--start", "2010", *QUICK)
    assert (code, err) == (0, f"forecast: warning: {says}\n")


@pytest.mark.bad_input(57)
@pytest.mark.parametrize("seed", ["-1", str(2**128), "abc", "True", "1.5", ""])
def test_bad_input_057_what_is_no_seed_is_refused(capsys, seed):
    assert "seed" in refused(capsys, "brain-parity", "--seed", seed)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["brain-party"], "unknown scenario 'brain-party'; did you mean 'brain/brain-parity'?"),
        ([], "Missing argument 'SCENARIO'"),
        ([""], "unknown scenario ''"),
        (["nowhere.toml"], "nowhere.toml: no such file or directory"),
        (["brain-parity", "--draws", "0"], "draws: expected a whole number"),
        (["brain-parity", "--draws", "-5"], "draws: expected a whole number"),
        (["brain-parity", "--draws", "100000000"], "GiB is the limit"),
        (["brain-parity", "--until", "99999"], "until: expected a whole number from 1 to 9999"),
        (["brain-parity", "--until", "0"], "until: expected a whole number"),
        (["brain-parity", "--until", "soon"], "until"),
        (["brain-parity", "--step", "week"], "step"),
        (["brain-parity", "--every", "0"], "every"),
        (["brain-parity", "--workers", "0"], "workers: expected a whole number"),
        (["brain-parity", "--set", "trend"], "--set: expected KEY=VALUE, got 'trend'"),
        (["brain-parity", "--set", "=3"], "--set: expected KEY=VALUE"),
        (["brain-parity", "--set", "trend="], "--set: expected KEY=VALUE"),
        (["brain-parity", "--set", "trend=a"], "unknown value of choice 'trend' 'a'"),
        (["brain-parity", "--set", "brian=3"], "unknown choice, quantity or input 'brian'; did you mean 'brain'?"),
        (["brain-parity", "--set", "brain=nan"], "set brain: expected a finite number, got 'nan'"),
        (["brain-parity", "--set", "brain=1", "--set", "brain=2"], "--set: 'brain' is given twice"),
        (["brain-parity", "--plot", "a.txt"], "expected a figure file that ends in .svg, .png, .pdf"),
        (["brain-parity", "--out", "a.svg", "--plot", "a.svg"], "name the same file"),
    ],
    ids=lambda v: " ".join(v)[-30:] if isinstance(v, list) else "",
)
def test_wrong_usage_is_exit_2_and_one_line(capsys, here, tmp_path, words, says):
    assert says in refused(capsys, *words)
    assert list(tmp_path.iterdir()) == []


def test_files_are_refused_before_the_work(capsys, here, monkeypatch):
    from forecast import engine

    monkeypatch.setattr(engine, "project", lambda *a, **k: pytest.fail("the work was done"))
    refused(capsys, "brain-parity", "--plot", "a.gif")
    for option in ("--out", "--plot"):
        for path in ("", "nowhere/a.svg", "/", "x" * 300 + ".svg"):
            assert call(capsys, "brain-parity", option, path)[0] in (1, 2)


def test_a_scenario_is_not_overwritten_by_its_own_result(capsys, here):
    text = 'start = 2025\nuntil = 2030\n[quantities.x]\nvalue = 1\nunit = ""\n'
    here(text)
    assert "name the same file" in refused(capsys, "mine.toml", "--out", "./mine.toml")
    Path("link.nc").symlink_to("mine.toml")
    refused(capsys, "mine.toml", "--out", "link.nc")
    assert Path("mine.toml").read_text() == text


SCENARIOS = {
    "unknown key": 'titel = "a"\n',
    "key twice": "until = 1\nuntil = 2\n",
    "cycle": '[quantities.a]\nexpression = "b"\n[quantities.b]\nexpression = "a"\n',
    "unit mismatch": '[quantities.a]\nvalue = 1\nunit = "FLOP"\n[quantities.b]\nvalue = 1\nunit = "USD"\n'
    '[questions.q]\nwhen = "a >= b"\n',
    "not UTF-8": b"title = '\xff'",
    "empty": "",
    "large": b"#" * ((1 << 20) + 1),
}


@pytest.mark.bad_input(82)
@pytest.mark.parametrize("case", SCENARIOS)
def test_bad_input_082_a_wrong_scenario_is_one_line_that_names_the_file(capsys, here, case):
    assert "mine.toml" in refused(capsys, here(SCENARIOS[case]))


def test_a_folder_and_a_pipe_are_no_scenarios(capsys, here):
    Path("folder.toml").mkdir()
    assert "is a folder" in refused(capsys, "folder.toml")
    os.mkfifo("pipe.toml")
    assert "pipe" in refused(capsys, "pipe.toml")


def test_debug_shows_the_traceback(capsys):
    assert main(["run", "brain-party", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


# --- hostile text -----------------------------------------------------------------------------------------------------

SHAPE = "trends/exponential"
RELATION = "resources/perplexity-from-parameters"
Q = '[quantities.x]\nvalue = 1\nunit = "FLOP"\n'
SPAN = "start = 2025\nuntil = 2030\n"

#: Where a user can write text: the scenario, and whether it is refused there.
HOSTILE = {
    "expression": (f'[quantities.x]\nexpression = "{PAYLOAD}"\n', True),
    "when": (f'{Q}[questions.q]\nwhen = "{PAYLOAD} >= x"\n', True),
    "right side of when": (f'{Q}[questions.q]\nwhen = "x >= {PAYLOAD}"\n', True),
    "question name": (f'{Q}[questions."{PAYLOAD}"]\nwhen = "x >= x"\n', True),
    "question title": (f'{Q}[questions.q]\nwhen = "x >= x"\ntitle = "{PAYLOAD}"\n', False),
    "choice name": (f'choices."{PAYLOAD}" = ["a"]\n{Q}', True),
    "choice value": (f'choices.c = ["{PAYLOAD}"]\n[quantities.x]\nmodel = "brain/{{c}}"\n', True),
    "unused choice value": (f'choices.c = ["{PAYLOAD}"]\n{Q}', False),
    "quantity name": (f'[quantities."{PAYLOAD}"]\nvalue = 1\nunit = ""\n', True),
    "unit": (f'[quantities.x]\nvalue = 1\nunit = "{PAYLOAD}"\n', True),
    "model": (f'[quantities.x]\nmodel = "{PAYLOAD}"\n', True),
    "braces": (f'[quantities.x]\nmodel = "brain/{{{PAYLOAD}}}"\n', True),
    "input": (f'{Q}[quantities.y]\nmodel = "{RELATION}"\ninputs = {{ x = "{PAYLOAD}" }}\n', True),
    "input name": (f'{Q}[quantities.y]\nmodel = "{RELATION}"\ninputs = {{ "{PAYLOAD}" = "x" }}\n',
                   True),
    "shape": (f'[quantities.x]\nshape = "{PAYLOAD}"\ndata = "my.csv"\nx = "a"\ny = "b"\nunit = ""\n', True),
    "data": (f'[quantities.x]\nshape = "{SHAPE}"\ndata = "{PAYLOAD}"\nx = "a"\ny = "b"\nunit = ""\n', True),
    "data file": (f'[quantities.x]\nshape = "{SHAPE}"\ndata = "{PAYLOAD}.csv"\nx = "a"\ny = "b"\nunit = ""\n', True),
    "x": (f'[quantities.x]\nshape = "{SHAPE}"\ndata = "my.csv"\nx = "{PAYLOAD}"\ny = "b"\nunit = ""\n', True),
    "y": (f'[quantities.x]\nshape = "{SHAPE}"\ndata = "my.csv"\nx = "a"\ny = "{PAYLOAD}"\nunit = ""\n', True),
    "title": (f'title = "{PAYLOAD}"\n{Q}', False),
    "key": (f'"{PAYLOAD}" = 1\n{Q}', True),
    "step": (f'step = "{PAYLOAD}"\n{Q}', True),
    "number": (f'[quantities.x]\nvalue = "{PAYLOAD}"\nunit = ""\n', True),
    "family": (f'[quantities.x]\nvalue = 1\nfamily = "{PAYLOAD}"\nunit = ""\n', True),
}  # fmt: skip


@pytest.mark.parametrize("place", HOSTILE)
def test_hostile_text_in_a_scenario_runs_nothing(capsys, here, place):
    text, stops = HOSTILE[place]
    Path("my.csv").write_text("a,b\n2000,1\n2001,2\n2002,4\n")
    here(SPAN + text)
    code, out, err = call(capsys, "mine.toml", "--draws", "3", "--out", "a.nc", "--plot", "a.svg")
    assert not Path("P").exists()
    assert "Traceback" not in err
    if stops:
        assert code in (1, 2)
        assert out == ""
        assert err.count("\n") == 1
        assert not Path("a.nc").exists()
    else:
        assert (code, err) == (0, "")


@pytest.mark.parametrize(
    "words",
    [
        [PAYLOAD],
        [f"{PAYLOAD}.toml"],
        ["brain-parity", "--set", f"{PAYLOAD}=1"],
        ["brain-parity", "--set", f"brain={PAYLOAD}"],
        ["brain-parity", "--set", f"trend={PAYLOAD}"],
        ["brain-parity", "--set", f"brain.{PAYLOAD}=1"],
        ["brain-parity", "--until", PAYLOAD],
        ["brain-parity", "--seed", PAYLOAD],
        ["brain-parity", "--step", PAYLOAD],
        ["brain-parity", "--plot", PAYLOAD],
    ],
    ids=lambda w: " ".join(w)[:40],
)
def test_hostile_words_run_nothing(capsys, here, tmp_path, words):
    refused(capsys, *words)
    assert list(tmp_path.iterdir()) == []


def test_a_hostile_file_name_is_a_file_name(capsys, here, tmp_path):
    name = here(SPAN + Q, name=f"{PAYLOAD}.toml")
    code, _, err = call(capsys, name, "--draws", "3", "--out", PAYLOAD, "--plot", f"{PAYLOAD}.svg")
    assert (code, err) == (0, "")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([PAYLOAD, f"{PAYLOAD}.svg", f"{PAYLOAD}.toml"])
    assert forecast.load(PAYLOAD)["projection"].sizes["draw"] == 3


@pytest.mark.bad_input(24)
def test_bad_input_024_escapes_in_a_scenario_are_shown_escaped(capsys, here):
    here('title = "a\\u001b[2Jb\\nc"\n' + SPAN + 'choices.c = ["kurzweil-2005"]\n[quantities.x]\nmodel = "brain/{c}"\n'
         '[questions.q]\nwhen = "x >= x"\ntitle = "it \\u001b]0;x\\u0007 happens\\u202e"\n')  # fmt: skip
    code, out, err = call(capsys, "mine.toml", "--draws", "3")
    assert (code, err) == (0, "")
    assert all(line.isprintable() for line in out.splitlines())
    assert "it \\x1b]0;x\\x07 happens\\u202e" in out
    code, out, err = call(capsys, "mine.toml", "--draws", "3", "--json", "--out", "a.nc", "--plot", "a.svg")
    assert (code, err) == (0, "")
    assert out.isascii()
    assert "\x1b" not in out
    assert "\\x1b[2J" in refused(capsys, here('[quantities.x]\nmodel = "brain/a\\u001b[2J"\n'))


# --- failures and signals ---------------------------------------------------------------------------------------------

PLUGIN = """
from forecast import ModelSpec, hookimpl

@hookimpl
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

        def fit(self, *, before=None, seed=0):
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
def bad(fake_plugins, here):
    fake_plugins.add("bad", PLUGIN, module="fake_bad")

    def write(*kinds):
        return here(
            SPAN + f"choices.kind = {json.dumps(kinds)}\n" + '[quantities.x]\nmodel = "bad/{kind}"\n'
            '[quantities.limit]\nvalue = 1\nunit = "FLOP/s"\n[questions.q]\nwhen = "x >= limit"\n'
        )

    return write


@pytest.mark.bad_input(63)
@pytest.mark.bad_input(66)
@pytest.mark.bad_input(68)
def test_bad_input_063_066_068_a_failing_model_leaves_the_others_their_answer(bad, capsys):
    name = bad("good", "raises", "exits", "prints")
    code, out, err = call(capsys, name, "--draws", "5", "--json", "--out", "a.nc", "--plot", "a.svg")
    assert code == 1
    answer = no_constants(out)
    assert answer["warnings"] == [
        "x (kind = exits): model 'bad/exits': sample: SystemExit: 0",
        "x (kind = raises): model 'bad/raises': sample: RuntimeError: it broke",
    ]
    assert '{"command": "mine"}' in err
    never = {q["choices"]["kind"]: q["crossing"]["never"] for q in answer["result"]["questions"]}
    assert never == {"good": 0.0, "raises": None, "exits": None, "prints": 0.0}
    assert forecast.load("a.nc")["projection"].sizes["kind"] == 4
    code, out, err = call(capsys, name, "--draws", "5")
    assert code == 1
    assert "forecast: warning: x (kind = raises): model 'bad/raises': sample: RuntimeError: it broke\n" in err
    assert out.count("failed") >= 2


@pytest.mark.bad_input(66)
def test_bad_input_066_where_nothing_is_left_it_fails_loudly(bad, capsys):
    err = refused(capsys, bad("exits"), "--json", code=1)
    assert "model 'bad/exits': sample: SystemExit: 0" in err


@pytest.mark.bad_input(80)
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_bad_input_080_a_signal_ends_it_and_leaves_nothing_half_done(bad, fake_plugins, tmp_path, name, code):
    scenario = bad("good", "slow")
    words = [scenario, "--out", "a.nc", "--plot", "a.svg", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "forecast", "run", *words], env=fake_plugins.env, cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        until = time.monotonic() + 60
        while not (tmp_path / "begun").exists() and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(getattr(signal, name))
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (code, "", "")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["begun", "mine.toml", "site"]


@pytest.mark.bad_input(80)
def test_bad_input_080_an_interrupt_while_saving_leaves_nothing_half_done(capsys, here, tmp_path, monkeypatch):
    def interrupted(self, data):
        with self.open("wb") as handle:
            handle.write(data[: len(data) // 2])
        raise KeyboardInterrupt

    Path("a.nc").write_text("what was here")
    monkeypatch.setattr(Path, "write_bytes", interrupted)
    assert call(capsys, "brain-parity", *QUICK, "--out", "a.nc") == (130, "", "")
    assert [p.name for p in tmp_path.iterdir()] == ["a.nc"]
    assert Path("a.nc").read_text() == "what was here"
