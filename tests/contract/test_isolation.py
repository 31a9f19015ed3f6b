"""What a plugin may do to the program: it is named, and the others work."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolkit import every

GOOD = '''"""A plugin for tests."""
from forecast import LawSpec, hookimpl

@hookimpl
def forecast_laws():
    yield LawSpec(name="line", variables={"x": ""}, expression="a*x", reference="test")
'''
HOOK = "from forecast import hookimpl\n@hookimpl\ndef forecast_laws():\n    "
SWALLOW = "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except BaseException:\n        pass\n"
DEAF = "import signal, time\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\ntime.sleep(60)\n"
THREADS = "import threading, time\nfor _ in range(50):\n    threading.Thread(target=time.sleep, args=(60,)).start()\n"

#: Source of a broken plugin, and what a listing says of it; None where it loads and does no harm.
BROKEN = {
    "import": ("import no_such_module_anywhere", "ModuleNotFoundError"),
    "syntax": ("def :", "SyntaxError"),
    "raises": ("1/0", "ZeroDivisionError"),
    "base": ("class Odd(BaseException): pass\nraise Odd", "Odd"),
    "mute": ("class Mute(Exception):\n    def __str__(self):\n        raise RuntimeError\nraise Mute", "Mute"),
    "generator-exit": ("raise GeneratorExit", "GeneratorExit"),
    "memory-error": ("raise MemoryError", "MemoryError"),
    "exit": ("import sys; sys.exit(0)", "SystemExit"),
    "keyboard": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "recursion": (HOOK + "return forecast_laws()", "RecursionError"),
    "hook-raises": (HOOK + "raise OSError('disk')", "OSError: disk"),
    "hook-exits": (HOOK + "raise SystemExit(0)", "SystemExit"),
    "hook-rubbish": (HOOK + "return [1j]", "expected LawSpec, got complex"),
    "hook-async": ("from forecast import hookimpl\n@hookimpl\nasync def forecast_laws():\n    return []", "coroutine"),
    "hook-endless": (HOOK + "import time\n    while True:\n        time.sleep(.1)", "has not loaded after 5 s"),
    "misspelt": ("from forecast import hookimpl\n@hookimpl\ndef forecast_lawz(): return []", "unknown hook"),
    "sleeps": ("import time; time.sleep(60)", "has not loaded after 5 s"),
    "spins": ("while True: pass", "has not loaded after 5 s"),
    "swallows": (SWALLOW, "has not loaded after 5 s"),
    "deaf": (DEAF, "has not loaded after 5 s"),
    "forks": ("import os; os.fork()", None),
    "threads": (THREADS, None),
    "loud": ("print('loud')", None),
    "descriptor": ("import os; os.write(1, b'garbage')", None),
    "stdout-none": ("import sys; sys.stdout = None", "took from everybody else: sys.stdout"),
    "json-none": ("import sys; sys.modules['json'] = None", "took from everybody else: sys.modules['json']"),
    "sigterm": ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "it sent SIGTERM to its own process"),
}
#: Source of a plugin that ends the process at once, and how.
DEADLY = {
    "exit-0": ("import os; os._exit(0)", "exit status 0"),
    "exit-3": ("import os; os._exit(3)", "exit status 3"),
    "abort": ("import os; os.abort()", "killed by SIGABRT"),
    "segfault": ("import ctypes; ctypes.string_at(0)", "killed by SIGSEGV"),
    "kill": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL"),
    "hook-exit": (HOOK + "import os; os._exit(0)", "exit status 0"),
    "closes": ("import os; os.closerange(0, 100)", "exit status 1"),
}
#: And one that ends it later, when the code of others runs.
LATE = {
    "later": ("import os, threading\nthreading.Timer(0.02, os._exit, [0]).start()\n", "exit status 0"),
    "atexit": ("import atexit, os; atexit.register(os._exit, 9)", "exit status 9"),
}
SLOW = ("hook-endless", "sleeps", "spins", "swallows", "deaf")


def beside_others(these, quick):
    """Return parameters: every run starts processes of its own, so that only one of each kind is a quick one."""
    return [pytest.param(how, marks=[] if how in quick else pytest.mark.slow) for how in sorted(these)]


def test_there_are_33_broken_ones_and_more():
    assert len(BROKEN) + len(DEADLY) + len(LATE) >= 33


def answered(done, name="good/line"):
    """Hold an answer: one JSON object on stdout and nothing else."""
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"]["name"] == name


@pytest.mark.parametrize("how", beside_others(set(BROKEN) - {*SLOW}, {"exit", "descriptor"}))
def test_beside_a_broken_plugin_the_others_work_and_it_is_named(fake_plugins, command_line, how):
    source, reason = BROKEN[how]
    fake_plugins.add("good", GOOD)
    fake_plugins.add("broken", source)
    done = command_line("laws", "show", "good/line", "--json")
    answered(done)
    if reason is not None:
        listed = command_line("plugins", "list", "--json")
        (row,) = [row for row in json.loads(listed.stdout)["result"] if row["name"] == "broken"]
        assert row["status"] == "failed"
        assert reason in row["reason"]


@pytest.mark.slow
def test_beside_a_slow_plugin_the_others_work_and_it_is_named(fake_plugins, command_line, tmp_path):
    """All of them at once, each beside a good one of its own: they wait for the same five seconds."""

    def beside(how):
        folder = tmp_path / how
        folder.mkdir()
        alone = type(fake_plugins)(folder)
        alone.add("good", GOOD)
        alone.add("broken", BROKEN[how][0])
        env = {**alone.env, "FORECAST_STATE": str(folder / "state")}
        return command_line("laws", "show", "good/line", "--json", env=env)

    with ThreadPoolExecutor(len(SLOW)) as pool:
        ran = dict(zip(SLOW, pool.map(beside, SLOW), strict=True))
    with every() as case:
        for how, done in ran.items():
            with case(how):
                answered(done)
                assert f"plugin broken (fake-broken 1.0) is left out: {BROKEN[how][1]}" in done.stderr


# how the process ended, its next start cannot know
@pytest.mark.parametrize("how", beside_others({"exit-0", "segfault", "hook-exit", "closes", "later"}, {"segfault"}))
def test_a_plugin_that_ends_the_process_is_named_at_the_next_start_and_left_out(fake_plugins, command_line, how):
    source, _ = LATE.get(how) or DEADLY[how]
    fake_plugins.add("good", GOOD)
    fake_plugins.add("broken", source)
    first = command_line("laws", "show", "good/line", "--json")
    assert first.stdout == ""
    for _ in range(2):  # and it stays left out
        again = command_line("laws", "show", "good/line", "--json")
        answered(again)
        (line,) = [w for w in again.stderr.splitlines() if "plugin broken (fake-broken 1.0) is left out: " in w]
        assert "ended an earlier command and does so still" in line
        assert "FORECAST_PLUGINS=-broken" in line
    fake_plugins.add("broken", GOOD)  # mended: it is tried by itself, and taken back
    answered(command_line("laws", "show", "broken/line", "--json"), "broken/line")


@pytest.mark.parametrize("how", beside_others(["stdout-none", "json-none", "sigterm"], {"sigterm"}))
def test_isolated_it_is_named_and_the_others_work_too(fake_plugins, command_line, how):
    source, reason = BROKEN[how]
    fake_plugins.add("good", GOOD)
    fake_plugins.add("broken", source)
    done = command_line("--isolate", "plugins", "list", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)["result"]}
    assert rows["good"]["status"] == "loaded"
    assert reason in rows["broken"]["reason"]


@pytest.mark.parametrize("how", beside_others({*DEADLY, *LATE}, {"kill"}))
def test_isolated_the_first_start_answers_and_names_who_ended_it(fake_plugins, command_line, how):
    source, ended = LATE.get(how) or DEADLY[how]
    fake_plugins.add("good", GOOD)
    fake_plugins.add("broken", source)
    done = command_line("--isolate", "laws", "show", "good/line", "--json")
    answered(done)
    who = "plugin broken (fake-broken 1.0)" if how != "atexit" else "what is registered for the end of the process"
    assert f"{who}: ended the process ({ended}); it is left out" in done.stderr


def test_help_beside_a_plugin_that_sleeps_comes(fake_plugins, command_line):
    fake_plugins.add("broken", BROKEN["sleeps"][0])
    done = command_line("--help")
    assert done.returncode == 0
    assert "Commands:" in done.stdout
    assert BROKEN["sleeps"][1] in done.stderr


def test_of_ninety_nine_good_plugins_all_work_beside_every_quick_broken_one(fake_plugins, command_line):
    for i in range(99):
        fake_plugins.add(f"p{i:02}", GOOD, distribution=f"maker-{i:02}")
    failing = [how for how, (_, reason) in BROKEN.items() if reason is not None and how not in SLOW]
    for how in failing:
        fake_plugins.add(f"broken-{how}", BROKEN[how][0])
    done = command_line("plugins", "list", "--json")
    rows = {row["name"]: row for row in json.loads(done.stdout)["result"]}
    assert all(rows[f"p{i:02}"]["status"] == "loaded" for i in range(99))
    assert all(rows[f"broken-{how}"]["status"] == "failed" for how in failing)


CHECKED = {
    "exit-0": "ended the process (exit status 0)",
    "sleeps": "has not loaded after 5 s",
    "threads": "leaves 50 threads running",
    "descriptor": "writes to stdout while it loads: 'garbage'",
    "keyboard": "KeyboardInterrupt",
    "big": "MemoryError",
}


@pytest.mark.bad_input(65)
@pytest.mark.bad_input(66)
@pytest.mark.bad_input(67)
@pytest.mark.parametrize("how", beside_others(CHECKED, {"exit-0"}))
def test_check_names_what_a_plugin_did(fake_plugins, command_line, how):
    source = (BROKEN | DEADLY | {"big": ("data = bytearray(5 << 30)", "")})[how][0]
    fake_plugins.add("broken", source + "\n" + GOOD)
    done = command_line("plugins", "check", "broken", "--json")
    assert done.returncode == 1, done.stderr
    messages = [row["message"] for row in json.loads(done.stdout)["result"] if row["status"] == "failed"]
    assert any(CHECKED[how] in message for message in messages), messages


# --- code that runs later: laws and models ----------------------------------------------------------------------------

LAWS = '''"""A plugin for tests."""
from forecast import LawSpec, hookimpl

def plain(parameters, x):
    return parameters["a"] * x + parameters["b"]

def changes(parameters, x):
    a = parameters["a"]
    try:
        a *= 2
    except TypeError:
        pass
    parameters["b"] = 0.0
    return plain({"a": a, "b": 1.0}, x)

def exits(parameters, x):
    import sys; sys.exit(0)

def interrupts(parameters, x):
    raise KeyboardInterrupt

def writes(parameters, x):
    import os; os.write(1, b"garbage")
    return plain(parameters, x)

def dies(parameters, x):
    import os; os._exit(0)

def hangs(parameters, x):
    import time; time.sleep(600)

def grows(parameters, x):
    bytearray(1 << 45)

@hookimpl
def forecast_laws():
    for name in ("plain", "changes", "exits", "interrupts", "writes", "dies", "hangs", "grows"):
        yield LawSpec(name=name, variables={"x": ""}, target=f"{__name__}:{name}", reference="test",
                      example={"a": 2.0, "b": 1.0}, domain={"x": (1.0, 9.0)})
'''


@pytest.fixture
def fitted(fake_plugins, command_line, tmp_path):
    """Fit one of the laws above to a line, on the command line."""
    fake_plugins.add("bad", LAWS)
    (tmp_path / "line.csv").write_text("x,y\n" + "".join(f"{x},{2 * x + 1 + 0.1 * (x % 3)}\n" for x in range(1, 20)))
    return lambda law, *words, **env: command_line(
        *words, "fit", f"bad/{law}", "--data", "line.csv", "--start", "a=1,b=1", "--json", env=env
    )


@pytest.mark.bad_input(66)
@pytest.mark.parametrize(
    ("law", "reason"),
    [
        ("exits", "SystemExit: 0"),
        *(
            pytest.param(*each, marks=pytest.mark.slow)
            for each in (("interrupts", "KeyboardInterrupt"), ("grows", "MemoryError"))
        ),
    ],
)
def test_bad_input_066_code_of_a_law_that_ends_the_fit_is_named(fitted, law, reason):
    done = fitted(law)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"law 'bad/{law}': its code: {reason}" in done.stderr


@pytest.mark.slow
@pytest.mark.bad_input(68)
def test_bad_input_068_what_code_writes_to_file_descriptor_1_leaves_stdout_alone(fitted):
    done = fitted("writes")
    plain = fitted("plain")
    assert json.loads(done.stdout)["result"]["parameters"] == json.loads(plain.stdout)["result"]["parameters"]
    assert "garbage" in done.stderr


@pytest.mark.bad_input(14)
def test_bad_input_014_code_that_writes_to_what_it_is_given_is_told_so_or_changes_nothing(fitted):
    done = fitted("changes")
    assert (done.returncode, done.stdout) == (1, "")
    assert "law 'bad/changes': its code: ValueError: output array is read-only" in done.stderr


@pytest.mark.bad_input(65)
@pytest.mark.parametrize(
    ("law", "ended"),
    [pytest.param("dies", "ended the process (exit status 0)", marks=pytest.mark.slow), ("hangs", "ran for over 2 s")],
)
def test_bad_input_065_isolated_code_that_dies_or_hangs_is_named(fitted, law, ended):
    done = fitted(law, "--isolate", FORECAST_ISOLATE_SECONDS="2")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"law 'bad/{law}': its code: {ended}; it is left out" in done.stderr


MODELS = '''"""A plugin for tests."""
from dataclasses import dataclass
from forecast import ModelSpec, hookimpl

def make(name, spec):
    from forecast.models import Description, Unfitted

    @dataclass(frozen=True, kw_only=True)
    class Noisy(Unfitted):
        def sample(self, time, inputs, streams, *, observed=False):
            what = self.name.partition("/")[2]
            if what == "segfault":
                import ctypes; ctypes.string_at(0)
            if what == "hangs":
                import time as clock; clock.sleep(600)
            if what == "grows":
                bytearray(1 << 45)
            return streams("noise").lognormal(size=(len(time), streams.draws))

        def describe(self):
            return Description(summary="noise", sources=self.sources)

    return Noisy(name=name, unit=spec.unit, inputs={}, sources=("test",))

@hookimpl
def forecast_models():
    for name in ("flat", "segfault", "hangs", "grows"):
        yield ModelSpec(name=name, unit="", target=f"{__name__}:make", reference="test")
'''
SCENARIO = """
start = 2025
until = 2027
[choices]
which = ["flat", "{how}"]
[quantities.machine]
model = "bad/{{which}}"
[questions.enough]
when = "machine >= 1"
"""


@pytest.mark.slow
@pytest.mark.bad_input(65)
@pytest.mark.bad_input(66)
@pytest.mark.bad_input(67)
@pytest.mark.parametrize(
    ("how", "ended"),
    [("segfault", "ended the process (killed by SIGSEGV)"), ("hangs", "ran for over 2 s"), ("grows", "MemoryError")],
)
def test_isolated_a_model_that_takes_the_process_down_is_left_out_and_the_rest_answered(
    fake_plugins, command_line, tmp_path, how, ended
):
    fake_plugins.add("bad", MODELS)
    (tmp_path / "mine.toml").write_text(SCENARIO.format(how=how))
    env = {"FORECAST_ISOLATE": "1", "FORECAST_ISOLATE_SECONDS": "2"}
    done = command_line("run", "mine.toml", "--draws", "100", "--json", env=env)
    assert done.returncode == 1  # one combination failed
    answer = json.loads(done.stdout)
    rows = {row["choices"]["which"]: row["crossing"] for row in answer["result"]["questions"]}
    assert rows["flat"]["never"] is not None
    assert rows[how]["never"] is None
    assert any(f"model 'bad/{how}': sample" in line and ended in line for line in answer["warnings"])


@pytest.mark.bad_input(71)
@pytest.mark.parametrize("how", ["folder", "latin-1"])
def test_a_distribution_whose_entry_points_cannot_be_read_is_listed(fake_plugins, command_line, how):
    fake_plugins.add("good", GOOD)
    fake_plugins.add("broken", GOOD)
    (entries,) = fake_plugins.folder.glob("fake_broken-*.dist-info/entry_points.txt")
    entries.unlink()
    if how == "folder":
        entries.mkdir()
    else:
        entries.write_bytes(b"[forecast.plugins]\nbr\xf6ken = x\n")
    done = command_line("plugins", "list", "--json")
    rows = {row["name"]: row for row in json.loads(done.stdout)["result"]}
    assert rows["good"]["status"] == "loaded"
    assert rows["fake_broken"]["status"] == "failed"
    assert "entry_points.txt, cannot be read" in rows["fake_broken"]["reason"]


RUBBISH = '''"""A plugin for tests."""
import numpy as np
from forecast import LawSpec, hookimpl

def value(parameters, x):
    return {value}

@hookimpl
def forecast_laws():
    yield LawSpec(name="odd", variables={{"x": ""}}, target=f"{{__name__}}:value", reference="test",
                  example={{"a": 1.0}}, domain={{"x": (1.0, 9.0)}})
'''


@pytest.mark.bad_input(64)
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("None", "object, expected real numbers"),
        ("'text'", "<U4, expected real numbers"),
        ("1j * x", "complex128, expected real numbers"),
        ("(i for i in x)", "object, expected real numbers"),
        ("x > 1", "bool, expected real numbers"),
        ("np.ones(7)", "an array of shape (7,), expected (3,)"),
    ],
)
def test_bad_input_064_what_a_laws_code_returns_is_held_to_the_contract(fake_plugins, value, said):
    from forecast import law
    from forecast.errors import PluginContractError

    fake_plugins.add("bad", RUBBISH.format(value=value))
    with pytest.raises(PluginContractError) as caught:
        law("bad/odd").value({"a": 1.0}, x=[1.0, 2.0, 3.0])
    assert str(caught.value) == f"law 'bad/odd': its code returned {said}"
