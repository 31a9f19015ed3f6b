"""What belongs to the whole process stays when a plugin loads: it is put back, and the plugin is named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from forecast.contract.registry import get_registry
from toolkit import every

GOOD = """
from forecast import LawSpec, hookimpl

@hookimpl
def forecast_laws():
    yield LawSpec(name="line", variables={"x": ""}, expression="a*x", reference="test")
"""
#: What a plugin does, and what is said to be taken.
TAKES = {
    "barred": ("import sys; sys.modules['json'] = None", "sys.modules['json']"),
    "removed": ("import sys; del sys.modules['json']", "sys.modules['json']"),
    "replaced": ("import sys; sys.modules['json'] = sys", "sys.modules['json']"),
    "barred-early": ("import sys; sys.modules['not_imported_yet'] = None", "sys.modules['not_imported_yet']"),
    "in-hook": ("from forecast import hookimpl\n@hookimpl\ndef forecast_laws():\n    import sys; sys.stdout = None\n"
                "    return []", "sys.stdout"),
    "stderr": ("import sys; sys.stderr = None", "sys.stderr"),
    "stdin": ("import sys; sys.stdin = None", "sys.stdin"),
    "path": ("import sys; sys.path.clear()", "sys.path"),
    "path-list": ("import sys; sys.path = []", "sys.path"),
    "finders": ("import sys; sys.meta_path.clear()", "sys.meta_path"),
    "builtins": ("import builtins; builtins.len = None", "the built-in name len"),
    "folder": ("import os; os.chdir('/')", "the working directory"),
    "handler": ("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)", "the handler of SIGTERM"),
}  # fmt: skip
#: What a plugin may well do.
MAY = {
    "adds": "import sys; sys.path.append('/nowhere'); sys.modules['an_alias'] = sys",
    "environment": "import os; os.environ['A_SETTING_OF_MINE'] = '1'",
    "wraps": "import sys; sys.stderr = sys.stderr",
}


def test_what_it_takes_is_put_back_and_it_is_named(fake_plugins):
    for how, (source, _) in TAKES.items():
        fake_plugins.add(how, source)
    for how, source in MAY.items():
        fake_plugins.add(how, source + "\n" + GOOD)
    before = (dict(sys.modules), list(sys.path), list(sys.meta_path), sys.stdin, sys.stdout, sys.stderr, Path.cwd())
    handler, names = signal.getsignal(signal.SIGTERM), (len, open)
    try:
        with every() as case:
            for how, (_, what) in TAKES.items():
                with case(how):
                    (plugin,) = get_registry().plugin(how)
                    assert plugin.status == "failed"
                    assert plugin.reason == f"while loading it took from everybody else: {what}"
            for how in MAY:
                with case(how):
                    (plugin,) = get_registry().plugin(how)
                    assert (plugin.status, plugin.reason) == ("loaded", "")
        assert {name: sys.modules.get(name) for name in before[0]} == before[0]
        assert "not_imported_yet" not in sys.modules
        assert set(before[1]) <= set(sys.path)
        assert (list(sys.meta_path), sys.stdin, sys.stdout, sys.stderr, Path.cwd()) == before[2:]
        assert signal.getsignal(signal.SIGTERM) is handler
        assert (len, open) == names
    finally:
        os.environ.pop("A_SETTING_OF_MINE", None)
        sys.modules.pop("an_alias", None)
        sys.path[:] = before[1]


def test_a_signal_of_the_user_still_ends_the_command_while_a_plugin_loads(fake_plugins, tmp_path):
    mark = tmp_path / "loading"
    fake_plugins.add("slow", f"open({str(mark)!r}, 'w').close()\nimport time\ntime.sleep(240)\n")
    words = [sys.executable, "-m", "forecast", "plugins", "list"]
    with subprocess.Popen(words, env=fake_plugins.env, cwd=tmp_path, stdout=-1, stderr=-1, text=True) as process:
        end = time.monotonic() + 120
        while not mark.exists() and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (143, ""), err
    assert "terminated" in err
