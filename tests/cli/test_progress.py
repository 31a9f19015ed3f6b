"""Progress of what takes long: what is done, of how much; and what an interrupt leaves to go on with."""

from __future__ import annotations

import contextlib
import io
import math
import re
import time
from pathlib import Path

import pytest

from forecast.cli import Terminated, render
from forecast.projection.streaming import batches
from forecast.tables import csv_format
from toolkit import saturating

SCENARIO = """
start = 2025
until = 2030
[quantities.rate]
normal = [0.1, 0.5]
unit = ""
[quantities.size]
expression = "(1 + rate)**(t - 2024)"
[questions.two]
when = "size >= 2"
"""
POWER = ("a*x**b", "--variables", "x", "--data", "runs.csv")


@pytest.fixture
def folder(here, scenario):
    """A folder with a scenario, and with runs of 200 families."""
    scenario(SCENARIO)
    runs = saturating(1000, 0.01, seed=1)
    csv_format.write_csv("runs.csv", {**runs, "family": [f"f{i % 200:03d}" for i in range(1000)]})
    return here


@pytest.fixture
def told(monkeypatch):
    """What every bar was told, by its label."""
    calls: dict[str, list[tuple[float, float]]] = {}

    @contextlib.contextmanager
    def progress(label):
        yield lambda done, total: calls.setdefault(label, []).append((done, total))

    monkeypatch.setattr(render, "progress_bar", progress)
    return calls


@pytest.mark.parametrize(
    ("words", "label", "total"),
    [
        (("run", "mine.toml", "--draws", str(batches.DRAWS_PER_BATCH)), "drawing", batches.DRAWS_PER_BATCH),
        (("sweep", "mine.toml", "--draws", "128", "--set", "rate=0.1,0.2,0.3"), "drawing", 3 * 128),
        (("fit", *POWER, "--by", "family"), "fitting", 200),
        (("fit", *POWER, "--bootstrap", "300"), "refitting", 300),
        (("compare", *POWER[:1], "a*x", *POWER[1:]), "fitting", 12),
        (("claims", "--group", "hardware"), "recomputing", None),
        (("backtest", "hardware/linpack", "--shape", "trends/exponential", "--origins", "2"), "forecasting", None),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_progress_rises_to_the_end(said, folder, told, words, label, total):
    assert said(*words).code == 0
    done, of = zip(*told[label], strict=True)
    assert list(done) == sorted(done)
    assert len(set(done)) > 1 or words[-2:] == ("--by", "family")  # one array problem
    assert set(of) == {of[-1] if total is None else total}
    assert done[-1] == of[-1]


def test_progress_of_many_predictions(said, folder, told):
    said("fit", *POWER, "--by", "family", "--out", "fits.nc")
    assert said("predict", "fits.nc", "x=5,6,7", "family=f001,f002,f001").code == 0
    assert told["predicting"] == [(0, 2), (1, 2)]


def _terminal(monkeypatch) -> io.StringIO:
    err = io.StringIO()
    err.isatty = lambda: True
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("sys.stderr", err)
    monkeypatch.setattr(render, "PROGRESS_DELAY_SECONDS", -1)
    monkeypatch.setattr(render, "REFRESH_SECONDS", 0)
    return err


def test_a_bar_has_its_rate_and_the_time_left(monkeypatch):
    err = _terminal(monkeypatch)
    with render.progress_bar("drawing worlds") as report:
        report(1000, 4000)
        report(3000, 4000)
    shown = err.getvalue()
    assert "drawing worlds" in shown
    assert re.search(r"3,000/4,000 at [\d,]+/s", shown)
    assert "0:00:" in shown
    *_, last = lines = list(filter(None, shown.split("\r")))
    assert {len(line) for line in lines} == {119}
    assert not last.strip()  # what follows stands on a clean line


def test_what_is_slow_is_counted_in_minutes_and_an_unknown_total_is_not_shown(monkeypatch):
    err = _terminal(monkeypatch)
    with render.progress_bar("downloading") as report:
        report(1, math.inf)
        report(3_000_000, math.inf)
    assert re.search(r"3,000,000 at [\d,]+/s", err.getvalue())
    assert "inf" not in err.getvalue()
    assert [render._pace(rate) for rate in (0.05, 0.999, 1, 12345)] == ["3.0/min", "59.9/min", "1/s", "12,345/s"]


def test_what_a_resumed_run_begins_with_is_no_speed(monkeypatch):
    err = _terminal(monkeypatch)
    rates = []
    monkeypatch.setattr(render, "_pace", lambda rate: rates.append(rate) or "")
    with render.progress_bar("drawing") as report:
        for done in (1e12, 1e12 + 1, 1e12 + 2):
            time.sleep(0.01)
            report(done, 2e12)
    assert "drawing" in err.getvalue()
    assert max(rates[1:]) < 200


def test_a_bar_that_is_told_often_looks_seldom(monkeypatch):
    err = _terminal(monkeypatch)
    monkeypatch.setattr(render, "REFRESH_SECONDS", 1000)
    with render.progress_bar("drawing") as report:
        for done in range(100_000):
            report(done, 100_000)
    assert err.getvalue().count("drawing") < 10


@pytest.mark.parametrize(
    ("stop", "code", "word"), [(KeyboardInterrupt, 130, "interrupted"), (Terminated, 143, "terminated")]
)
def test_bad_input_020_an_interrupt_says_what_is_kept_and_resume_goes_on(said, folder, monkeypatch, stop, code, word):
    words = ("run", "mine.toml", "--draws", str(4 * batches.DRAWS_PER_BATCH + 10), "--seed", "3")
    assert said(*words, "--out", "whole.nc").code == 0
    monkeypatch.setattr(batches, "CHECKPOINT_SECONDS", 0)
    tell = batches._tell

    def stopping(progress, job, done):
        tell(progress, job, done)
        if done == 4:
            raise stop

    with monkeypatch.context() as patch:
        patch.setattr(batches, "_tell", stopping)
        ended = said(*words, "--out", "a.nc")
    assert ended == (
        code, "",
        f"forecast: error: {word}; kept: a.nc.part with {3 * batches.DRAWS_PER_BATCH:,} worlds; --resume goes on\n",
    )  # fmt: skip
    assert said(*words, "--out", "a.nc", "--resume").code == 0
    assert Path("a.nc").read_bytes() == Path("whole.nc").read_bytes()
    assert not Path("a.nc.part").exists()


def test_an_interrupt_before_anything_was_kept_says_so(said, folder, monkeypatch):
    Path("a.nc.part").write_bytes(b"of another run")

    def stop(progress, job, done):
        raise KeyboardInterrupt

    monkeypatch.setattr(batches, "_tell", stop)
    words = ("run", "mine.toml", "--draws", str(2 * batches.DRAWS_PER_BATCH), "--out", "a.nc")
    assert said(*words) == (130, "", "forecast: error: interrupted; nothing was written\n")
