"""Exit codes, signals and hostile surroundings of the command line."""

import ast
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import forecast
from forecast.cli import main
from toolkit import sample, started, starts_in_the_c_locale, wait_for

ESCAPES = """
def forecast_laws():
    yield LawSpec(name="evil", title="red \\x1b[31m\\nnew\\u202eline \\ud800 \\U0001f600",
                  variables={"x\\x1b[2J": "\\x07"}, expression="a", reference="r\\x1b]0;title\\x07")
"""

#: A plugin whose loading tells that it has begun and then waits.
SLOW = "import pathlib, time\npathlib.Path({marker!r}).touch()\ntime.sleep(60)\n"


def assert_one_line(captured, code, expected=2):
    assert code == expected
    assert captured.out == ""
    assert captured.err.startswith("forecast: error: ")
    assert captured.err.count("\n") == 1
    assert captured.err[:-1].isprintable()
    assert len(captured.err) < 2100


@pytest.mark.parametrize(
    "words",
    [
        ["--frobnicate"], [""], ["-"], ["nope"], ["laws", "nope"], ["laws", "list", "--frobnicate"],
        ["laws", "list", "surplus"], ["laws", "list", *(f"file{i}.csv" for i in range(100_000))],
        ["laws", "list", "--json=1"], ["laws", "show"], ["laws", "show", ""], ["laws", "show", "-"],
        ["laws", "show", "--n", "-5"], ["laws", "show", "x" * 100_000], ["laws", "show", "a\nb\x1b[2J"],
        ["laws", "show", "\ud800"], ["plugins", "show", "../../etc/passwd"], ["plugins", "check"], ["plugins", "new"],
        ["plugins", "new", ""], ["plugins", "new", "--json"], ["--", "--debug"],
    ],
    ids=lambda words: " ".join(words[:3])[:30].encode("ascii", "backslashreplace").decode(),
)  # fmt: skip
def test_bad_input_079_wrong_usage_is_exit_2_and_one_line(capsys, fake_plugins, words):
    code = main(words)
    assert_one_line(capsys.readouterr(), code)


def test_an_unknown_command_suggests_the_nearest(capsys, fake_plugins):
    assert main(["lawz"]) == 2
    assert capsys.readouterr().err == "forecast: error: unknown command 'lawz'; did you mean 'laws'?\n"


def test_no_words_and_a_bare_noun_print_their_help(capsys, fake_plugins):
    for words in ([], ["laws"], ["plugins"]):
        assert main(words) == 0
        assert capsys.readouterr().out.startswith("Usage: forecast")


@pytest.mark.parametrize("words", [["--debug", "laws", "show", "nope"], ["laws", "show", "nope", "--debug"]])
def test_debug_adds_the_traceback_wherever_it_stands(capsys, fake_plugins, words):
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback (most recent call last):" in captured.err
    assert captured.err.splitlines()[-1].startswith("forecast: error: unknown law 'nope'")


def test_a_fault_of_ours_is_one_line_too(capsys, fake_plugins, monkeypatch):
    from forecast.contract import registry

    def fault(self, kind, **_):
        raise ValueError("surprise\nin two lines")

    monkeypatch.setattr(registry.Registry, "records", fault)
    code = main(["laws", "list", "--json"])
    captured = capsys.readouterr()
    assert_one_line(captured, code, expected=1)
    assert "unexpected ValueError: surprise in two lines; please report this" in captured.err


def test_bad_input_068_a_plugin_that_prints_does_not_spoil_json(fake_plugins, command_line):
    import json

    fake_plugins.add("loud", "print('hello, world')")
    done = command_line("plugins", "list", "--json")
    assert json.loads(done.stdout)["command"] == "plugins list"
    assert "hello, world" in done.stderr


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_bad_input_080_signals_end_quietly_with_their_code(fake_plugins, tmp_path, name, code):
    marker = tmp_path / "begun"
    fake_plugins.add("slow", SLOW.format(marker=str(marker)))
    process = started("plugins", "list", "--json", env=fake_plugins.env)
    try:
        wait_for(marker)
        process.send_signal(getattr(signal, name))
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    word = {"SIGINT": "interrupted", "SIGTERM": "terminated"}[name]
    assert (process.returncode, out, err) == (code, "", f"forecast: error: {word}; nothing was written\n")


def test_bad_input_080_a_reader_that_leaves_is_no_error(fake_plugins):
    source = "def forecast_laws():\n    for i in range(5000):\n"
    source += "        yield LawSpec(name=f'law-{i}', variables={'x': ''}, expression='a*x', reference='r')\n"
    fake_plugins.add("many", source)
    command = f"{shlex.quote(sys.executable)} -m forecast laws list | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], env=fake_plugins.env, capture_output=True, text=True, timeout=120, check=False
    )
    header, code = done.stdout.splitlines()
    assert header.startswith("name")
    assert (code, done.stderr) == ("141", "")


def test_the_handler_of_sigterm_is_given_back(fake_plugins):
    before = signal.getsignal(signal.SIGTERM)
    main(["--version"])
    assert signal.getsignal(signal.SIGTERM) is before


def test_main_works_in_a_thread(fake_plugins, capsys):
    import threading

    codes = []
    thread = threading.Thread(target=lambda: codes.append(main(["--version"])))
    thread.start()
    thread.join()
    assert codes == [0]


SURROUNDINGS = {
    "c locale": {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    "ascii": {"PYTHONIOENCODING": "ascii"},
    "dumb terminal": {"TERM": "dumb"},
    "no colour": {"NO_COLOR": "1"},
    "no home": {"HOME": ""},
    "home that is a file": {"HOME": "/dev/null"},
    "far time zone": {"TZ": "Pacific/Kiritimati"},
}


@pytest.mark.parametrize("surroundings", sample(SURROUNDINGS, 6))
@pytest.mark.parametrize("words", [["laws", "list"], ["laws", "show", "evil"], ["laws", "show", "e\udcffil"]])
def test_bad_input_081_works_in_any_surroundings(fake_plugins, command_line, command_copied, surroundings, words):
    if surroundings == "c locale":
        starts_in_the_c_locale()
    fake_plugins.add("ansi", ESCAPES.replace("expression", "output='Größe', expression"))
    if any(name.startswith("PYTHON") for name in SURROUNDINGS[surroundings]):  # which Python reads when it starts
        done = command_line(*words, env=SURROUNDINGS[surroundings], encoding="utf-8", errors="replace")
    else:
        done = command_copied(*words, env=SURROUNDINGS[surroundings])
    assert "Traceback" not in done.stderr
    if words[-1] == "e\udcffil":
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
    else:
        assert (done.returncode, done.stderr) == (0, "")
        assert "evil" in done.stdout


def test_bad_input_081_a_deleted_folder_is_no_obstacle(fake_plugins):
    script = 'd=$(mktemp -d); cd "$d"; rmdir "$d"; exec "$0" -m forecast plugins list'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable], env=fake_plugins.env, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("name")


@pytest.mark.parametrize(
    ("redirection", "reason"), sample([(">&-", "closed"), ("> /dev/full", "No space left on device")], 2)
)
@pytest.mark.parametrize("words", ["plugins list", "plugins list --json", "--version"])
def test_bad_input_081_a_stdout_that_takes_nothing_is_a_clear_error(fake_plugins, redirection, reason, words):
    if "full" in redirection and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    done = subprocess.run(
        ["bash", "-c", f'"$0" -m forecast {words} {redirection}', sys.executable],
        env=fake_plugins.env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("forecast: error: ")
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1


def test_bad_input_081_a_closed_stderr_keeps_the_exit_code(fake_plugins):
    done = subprocess.run(
        ["bash", "-c", '"$0" -m forecast laws show nope 2>&-', sys.executable],
        env=fake_plugins.env, stdout=subprocess.PIPE, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")


def test_bad_input_082_a_misspelt_selection_is_one_line_and_help_still_comes(fake_plugins, command_line):
    fake_plugins.add("demo", "")
    done = command_line("plugins", "list", env={"FORECAST_PLUGINS": "dmeo"})
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "forecast: error: FORECAST_PLUGINS: unknown plugin 'dmeo'; did you mean 'demo'?\n"
    assert command_line("--help", env={"FORECAST_PLUGINS": "dmeo"}).returncode == 0


def test_only_render_prints():
    root = Path(forecast.__file__).parent
    found = []
    for file in root.rglob("*.py"):
        if file.name == "render.py":
            continue
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if re.search(r"print\(|echo\(|sys\.std", text) else ():
            if isinstance(node, ast.Call) and re.fullmatch(
                r"print|click\.s?echo|sys\.(stdout|stderr)\.write", ast.unparse(node.func)
            ):
                found.append(f"{file.relative_to(root)}:{node.lineno}")
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("words", ["plugins list", "--help"])
def test_python_m_forecast_and_the_command_are_one(fake_plugins, words):
    outputs = [
        subprocess.run(
            [*command, *words.split()], env=fake_plugins.env, capture_output=True, text=True, timeout=120, check=True
        ).stdout
        for command in ([sys.executable, "-m", "forecast"], [str(Path(sys.executable).with_name("forecast"))])
    ]
    assert outputs[0] == outputs[1]
