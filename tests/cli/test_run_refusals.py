"""``forecast run``: what it refuses, and hostile text that it never runs."""

import os
from pathlib import Path

import pytest

import forecast
from toolkit import json_of

PAYLOAD = "__import__('os').system('touch P')"


QUICK = ["--draws", "40", "--until", "2060"]


# --- what is refused --------------------------------------------------------------------------------------------------


def test_bad_input_053_a_horizon_before_its_start_says_why(said):
    err = said("run", "brain-parity", "--until", "2024").refused()
    assert "until: expected a year after the first one, 2027, got 2024" in err


def test_bad_input_053_a_start_before_the_last_observation_is_labelled_a_hindcast(said):
    code, out, err = said("run", "brain-parity", "--start", "2010", *QUICK, "--json")
    says = "hindcast: the projection starts in 2010, its data end in 2026; until then it shows the fit"
    assert (code, err) == (0, "")
    assert json_of(out)["warnings"] == [says]
    code, _, err = said("run", "brain-parity", "--start", "2010", *QUICK)
    assert (code, err) == (0, f"forecast: warning: {says}\n")


@pytest.mark.parametrize("seed", ["-1", str(2**128), "abc", "True", "1.5", ""])
def test_bad_input_057_what_is_no_seed_is_refused(said, seed):
    assert "seed" in said("run", "brain-parity", "--seed", seed).refused()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["brain-party"], "unknown scenario 'brain-party'; did you mean 'brain/brain-parity'?"),
        ([], "Missing argument 'SCENARIO'"),
        ([""], "unknown scenario ''"),
        (["nowhere.toml"], "nowhere.toml: no such file or directory"),
        (["brain-parity", "--draws", "0"], "draws: expected a whole number"),
        (["brain-parity", "--draws", "-5"], "draws: expected a whole number"),
        (["brain-parity", "--draws", "100000000", "--keep-draws", "100000000"], "GiB is the limit"),
        (["brain-parity", "--until", "99999"], "until: expected a year from 1 to 9999"),
        (["brain-parity", "--until", "0"], "until: expected a year"),
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
        (["brain-parity", "--plot", "./a.svg", "--plot", "a.svg"], "name the same file"),
        (["brain-parity", "--out", "a.svg"], "'a.svg': expected a file that ends in .nc, .csv, .parquet or .json"),
    ],
    ids=lambda v: " ".join(v)[-30:] if isinstance(v, list) else "",
)
def test_wrong_usage_is_exit_2_and_one_line(said, here, tmp_path, words, says):
    assert says in said("run", *words).refused()
    assert list(tmp_path.iterdir()) == []


def test_files_are_refused_before_the_work(said, here, monkeypatch):
    from forecast.projection import engine

    monkeypatch.setattr(engine, "project", lambda *a, **k: pytest.fail("the work was done"))
    said("run", "brain-parity", "--plot", "a.gif").refused()
    for option in ("--out", "--plot"):
        for path in ("", "nowhere/a.svg", "/", "x" * 300 + ".svg"):
            assert said("run", "brain-parity", option, path)[0] in (1, 2)


def test_a_scenario_is_not_overwritten_by_its_own_result(said, scenario):
    text = 'start = 2025\nuntil = 2030\n[quantities.x]\nvalue = 1\nunit = ""\n'
    scenario(text)
    said("run", "mine.toml", "--out", "./mine.toml").refused()
    Path("link.nc").symlink_to("mine.toml")
    assert "name the same file" in said("run", "mine.toml", "--out", "link.nc").refused()
    assert Path("mine.toml").read_text() == text


def test_a_folder_and_a_pipe_are_no_scenarios(said, here):
    Path("folder.toml").mkdir()
    assert "is a folder" in said("run", "folder.toml").refused()
    os.mkfifo("pipe.toml")
    assert "pipe" in said("run", "pipe.toml").refused()


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
def test_hostile_text_in_a_scenario_runs_nothing(said, scenario, place):
    text, stops = HOSTILE[place]
    Path("my.csv").write_text("a,b\n2000,1\n2001,2\n2002,4\n")
    scenario(SPAN + text)
    code, out, err = said("run", "mine.toml", "--draws", "3", "--out", "a.nc", "--plot", "a.svg")
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
        [PAYLOAD], [f"{PAYLOAD}.toml"], ["brain-parity", "--set", f"{PAYLOAD}=1"],
        ["brain-parity", "--set", f"brain={PAYLOAD}"], ["brain-parity", "--set", f"trend={PAYLOAD}"],
        ["brain-parity", "--set", f"brain.{PAYLOAD}=1"], ["brain-parity", "--until", PAYLOAD],
        ["brain-parity", "--seed", PAYLOAD], ["brain-parity", "--step", PAYLOAD], ["brain-parity", "--plot", PAYLOAD],
    ],
    ids=lambda w: " ".join(w)[:40],
)  # fmt: skip
def test_hostile_words_run_nothing(said, here, tmp_path, words):
    said("run", *words).refused()
    assert list(tmp_path.iterdir()) == []


def test_a_hostile_file_name_is_a_file_name(said, scenario, tmp_path):
    name = scenario(SPAN + Q, name=f"{PAYLOAD}.toml")
    code, _, err = said("run", name, "--draws", "3", "--out", f"{PAYLOAD}.nc", "--plot", f"{PAYLOAD}.svg")
    assert (code, err) == (0, "")
    assert {p.name for p in tmp_path.iterdir()} == {f"{PAYLOAD}{ending}" for ending in (".nc", ".svg", ".toml")}
    assert forecast.load(f"{PAYLOAD}.nc")["projection"].sizes["draw"] == 3


def test_bad_input_024_escapes_in_a_scenario_are_shown_escaped(said, scenario):
    scenario('title = "a\\u001b[2Jb\\nc"\n' + SPAN + 'choices.c = ["kurzweil-2005"]\n'
             '[quantities.x]\nmodel = "brain/{c}"\n'
             '[questions.q]\nwhen = "x >= x"\ntitle = "it \\u001b]0;x\\u0007 happens\\u202e"\n')  # fmt: skip
    code, out, err = said("run", "mine.toml", "--draws", "3")
    assert (code, err) == (0, "")
    assert all(line.isprintable() for line in out.splitlines())
    assert "It \\x1b]0;x\\x07 happens\\u202e" in out
    code, out, err = said("run", "mine.toml", "--draws", "3", "--json", "--out", "a.nc", "--plot", "a.svg")
    assert (code, err) == (0, "")
    assert out.isascii()
    assert "\x1b" not in out
    assert "\\x1b[2J" in said("run", scenario('[quantities.x]\nmodel = "brain/a\\u001b[2J"\n')).refused()
