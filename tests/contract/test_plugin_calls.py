from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from forecast.contract import crash_journal, plugin_calls
from forecast.errors import FitError, OverTimeError, PluginError


@pytest.fixture
def state(tmp_path, monkeypatch):
    """A folder of records of its own, and no record begun."""
    monkeypatch.setenv("FORECAST_STATE", str(tmp_path))
    monkeypatch.setattr(crash_journal, "_file", None)
    monkeypatch.setattr(crash_journal, "_tried", False)
    yield tmp_path
    crash_journal.end()


def raises(error):
    raise error


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(0), RecursionError(), MemoryError(), GeneratorExit()])
def test_what_foreign_code_raises_names_it(error):
    with pytest.raises(PluginError, match=f"^model 'demo/x': {type(error).__name__}"):
        plugin_calls.guarded("model 'demo/x'", lambda: raises(error))


def test_our_own_errors_pass():
    with pytest.raises(FitError, match=r"^too few$"):
        plugin_calls.guarded("model 'demo/x'", lambda: raises(FitError("too few")))


@pytest.mark.bad_input(66)
def test_bad_input_066_a_keyboard_interrupt_of_a_plugin_is_not_the_users(monkeypatch):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):  # nobody can tell: Python's own handler is in place
            plugin_calls.guarded("model 'demo/x'", lambda: raises(KeyboardInterrupt()))
        signal.signal(signal.SIGINT, lambda *_: None)
        with pytest.raises(PluginError, match="KeyboardInterrupt"):
            plugin_calls.guarded("model 'demo/x'", lambda: raises(KeyboardInterrupt()))
        with pytest.raises(plugin_calls.Interrupted):
            plugin_calls.guarded("model 'demo/x'", lambda: raises(plugin_calls.Interrupted()))
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.bad_input(68)
def test_bad_input_068_what_foreign_code_prints_goes_to_stderr(capsys):
    plugin_calls.guarded("x", lambda: print("hello"))
    assert capsys.readouterr() == ("", "hello\n")


def test_what_is_left_out_is_not_called(monkeypatch):
    monkeypatch.setenv("FORECAST_LEAVE_OUT", '{"model \'demo/x\'": "ended the process"}')
    plugin_calls.left_out.cache_clear()
    try:
        with pytest.raises(PluginError, match=r"^model 'demo/x': left out: ended the process$"):
            plugin_calls.guarded("model 'demo/x'", lambda: raises(AssertionError("called")))
        assert plugin_calls.guarded("model 'demo/y'", lambda: 3) == 3
    finally:
        plugin_calls.left_out.cache_clear()


@pytest.mark.bad_input(65)
def test_bad_input_065_code_over_its_time_is_interrupted():
    with pytest.raises(OverTimeError, match=r"after 0\.1 s"), plugin_calls.within(0.1, "x"):
        time.sleep(5)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_thread_and_a_taken_alarm_have_no_limit():
    found = []

    def call():
        with plugin_calls.within(0.01, "x"):
            time.sleep(0.05)
            found.append(1)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        call()
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 50
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    assert found == [1, 1]


def test_the_record_says_inside_which_code_the_process_is_and_since_when(state, monkeypatch):
    monkeypatch.setattr(crash_journal.time, "monotonic", lambda: 7.5)
    with crash_journal.inside("outer"):
        with crash_journal.inside("inner"):
            (file,) = state.iterdir()
            assert [e.what for e in crash_journal.entries(file)] == ["inner"]
        assert [e.what for e in crash_journal.entries(file)] == ["outer"]
        assert crash_journal.entries(file)[0].since == 7.5
    assert crash_journal.entries(file) == []
    crash_journal.end()
    assert list(state.iterdir()) == []


def test_each_thread_has_a_place_of_its_own(state):
    inside, out = threading.Barrier(4), threading.Event()

    def call(name):
        with crash_journal.inside(name):
            inside.wait(5)
            out.wait(5)

    crash_journal.begin()
    threads = [threading.Thread(target=call, args=(f"t{i}",)) for i in range(3)]
    for thread in threads:
        thread.start()
    inside.wait(5)
    (file,) = state.iterdir()
    assert sorted(e.what for e in crash_journal.entries(file)) == ["t0", "t1", "t2"]
    out.set()
    for thread in threads:
        thread.join()
    assert crash_journal.entries(file) == []


def test_a_name_longer_than_its_place_is_cut(state):
    with crash_journal.inside("ü" * 500):
        (file,) = state.iterdir()
        (entry,) = crash_journal.entries(file)
    assert entry.what.startswith("ü" * 100)


DIES = """
import os, sys
from forecast.contract import crash_journal
with crash_journal.inside("model 'demo/x': fit"):
    os._exit(0)
"""


def test_a_death_is_told_once_and_a_live_process_is_left_alone(state):
    with crash_journal.inside("mine"):
        subprocess.run([sys.executable, "-c", DIES], check=True, env={**os.environ, "FORECAST_STATE": str(state)})
        assert crash_journal.deaths() == ["model 'demo/x': fit"]
        assert crash_journal.deaths() == []
        assert len(list(state.iterdir())) == 1
    crash_journal.keep("plugin demo")
    assert crash_journal.deaths() == ["plugin demo"]


@pytest.mark.parametrize("content", [b"", b"\xff" * 4096, b"\x00" * 10, b"garbage" * 999])
def test_a_damaged_record_says_nothing_or_something_printable(state, content):
    (state / "0.inside").write_bytes(content)
    assert all(len(name) < 300 for name in crash_journal.deaths())
    assert list(state.iterdir()) == []


@pytest.mark.parametrize("where", ["", "/proc/no-such-folder"])
def test_where_nothing_can_be_recorded_all_else_goes_on(state, monkeypatch, where):
    monkeypatch.setenv("FORECAST_STATE", where)
    assert plugin_calls.guarded("x", lambda: 3) == 3
    assert crash_journal.deaths() == []


BEGUN_ANEW = """
import os, signal, sys, threading
from forecast.contract import plugin_calls
if "FORECAST_LEAVE_OUT" in os.environ:
    print(sorted(signal.sigpending()))
    sys.exit()
signal.signal(signal.SIGALRM, lambda *_: None)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})  # nobody takes the alarm in time
os.kill(os.getpid(), signal.SIGALRM)
threading.Thread(target=plugin_calls._begin_anew, args=("plugin slow", "is slow")).start()
signal.pause()
"""


def test_an_alarm_on_its_way_does_not_end_the_command_that_is_begun_anew():
    done = subprocess.run([sys.executable, "-c", BEGUN_ANEW], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


@pytest.mark.parametrize("first_out", ["the other", "mine"])
def test_calls_of_two_threads_that_overlap_leave_stdout_where_it_was(capsys, first_out):
    """Each put back what it had found: the later one the stderr of the earlier one, and results went there."""
    inside, go_on = threading.Event(), threading.Event()

    def waits():
        inside.set()
        assert go_on.wait(20)

    other = threading.Thread(target=plugin_calls.guarded, args=("model 'demo/other'", waits))
    before = sys.stdout
    other.start()
    assert inside.wait(20)

    def mine():
        print("of the plugin")
        if first_out == "the other":
            go_on.set()
            other.join(20)

    plugin_calls.guarded("model 'demo/mine'", mine)
    go_on.set()
    other.join(20)
    assert sys.stdout is before
    print("a result")
    said = capsys.readouterr()
    assert (said.out, said.err) == ("a result\n", "of the plugin\n")
