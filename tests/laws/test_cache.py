"""Derivatives on disk: read back as text, rebuilt when damaged, never half written."""

import json
import logging
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from forecast.formula import parse
from forecast.laws import Law, cache
from forecast.laws.derive import differentiate

TEXT, PARAMETERS, VARIABLES = "a*x**b", ["a", "b"], ["x"]
VALUES = {"a": np.array([[2.0], [3.0]]), "b": np.array([[0.3], [0.7]]), "x": np.array([1.0, 5.0, 9.0])}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FORECAST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "laws"


def taken():
    return cache.derivatives(parse(TEXT), PARAMETERS, VARIABLES, 2)


def numbers():
    f, g, h = Law(TEXT, variables=VARIABLES).program().evaluate(VALUES, 2)
    shown = {str(k): np.broadcast_to(v, f.shape).tobytes() for k, v in h.items()}
    return f.tobytes(), [np.broadcast_to(v, f.shape).tobytes() for v in g], shown


def the_file(folder):
    taken()
    (path,) = folder.iterdir()
    return path


def test_it_is_written_and_read(folder, monkeypatch):
    path = the_file(folder)
    assert path.suffix == ".json"
    assert json.loads(path.read_bytes())["content"]["expression"] == TEXT
    first = taken()
    monkeypatch.setattr(cache, "differentiate", None)  # nothing is taken again
    assert taken() == first
    assert first.gradient == differentiate(parse(TEXT).root, PARAMETERS, 2).gradient


def test_other_formulas_have_other_files(folder):
    for text, parameters, variables, order in [
        ("a*x**b", ["a", "b"], ["x"], 2),
        ("a*x**b", ["a", "b"], ["x"], 1),
        ("a*x**b", ["b", "a"], ["x"], 2),
        ("a*x**b", ["a"], ["b", "x"], 2),
        ("a*x**-b", ["a", "b"], ["x"], 2),
    ]:
        cache.derivatives(parse(text), parameters, variables, order)
    assert len(list(folder.iterdir())) == 5


@pytest.mark.bad_input(16)
def test_bad_input_016_every_truncation_is_rebuilt(folder, caplog, monkeypatch):
    path = the_file(folder)
    whole, right = path.read_bytes(), taken()
    monkeypatch.setattr(cache, "differentiate", lambda *args: right)  # sympy 300 times over is slow
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert taken() == right
        assert "are taken anew" in caplog.text, length
        assert path.read_bytes() == whole


@pytest.mark.bad_input(16)
def test_bad_input_016_same_bytes_as_without_a_cache(folder, monkeypatch):
    warm = (numbers(), numbers())
    path = next(folder.iterdir())
    path.write_bytes(path.read_bytes()[:-7])
    rebuilt = numbers()
    monkeypatch.setenv("FORECAST_CACHE", os.devnull)
    assert warm[0] == warm[1] == rebuilt == numbers()


@pytest.mark.bad_input(17)
def test_bad_input_017_every_flipped_bit_is_rebuilt(folder, caplog, monkeypatch):
    path = the_file(folder)
    whole, right = path.read_bytes(), taken()
    monkeypatch.setattr(cache, "differentiate", lambda *args: right)
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert taken() == right
        assert "are taken anew" in caplog.text, position


@pytest.mark.bad_input(18)
@pytest.mark.parametrize(("key", "value"), [("schema", 0), ("schema", 2), ("grammar", 2), ("order", 1)])
def test_bad_input_018_another_version_is_ignored(folder, caplog, key, value):
    path, right = the_file(folder), taken()
    content = json.loads(path.read_bytes())["content"] | {key: value, "gradient": ["1", "2"]}
    path.write_bytes(cache._canonical({"checksum": cache._digest(content), "content": content}))
    with caplog.at_level(logging.WARNING):
        assert taken() == right
    assert "another version" in caplog.text


@pytest.mark.bad_input(7)
def test_bad_input_007_a_pickle_is_never_unpickled(folder, tmp_path, caplog):
    path, right = the_file(folder), taken()
    marker = tmp_path / "marker"
    payload = b"cposix\nsystem\n(S'touch " + bytes(marker) + b"'\ntR."  # what unpickling would run
    for data in (payload, b"\x80\x04\x95" + payload):
        path.write_bytes(data)
        with caplog.at_level(logging.WARNING):
            assert taken() == right
    assert "are taken anew" in caplog.text
    assert not marker.exists()


@pytest.mark.bad_input(7)
@pytest.mark.parametrize(
    "changes",
    [
        {"gradient": ["__import__('os').system('touch marker')", "1"]},
        {"gradient": ["x**b", "secret"]},
        {"gradient": ["x**b"]},
        {"gradient": "x**b"},
        {"gradient": [1, 2]},
        {"gradient": {"x": 1}},
        {"gradient": ["9**9**9", "1"]},
        {"gradient": ["(" * 4000, "1"]},
        {"shared": [["x", "a*b"]]},
        {"shared": [["eval", "a*b"], ["lambda", "a"]]},
        {"shared": [["s", "t"], ["t", "a"]]},
        {"shared": 7},
        {"hessian": [[0, 2, "1"]]},
        {"hessian": [[1, 0, "1"]]},
        {"hessian": [[0, 1, "1"], [0, 1, "2"]]},
        {"hessian": [[True, 1, "1"]]},
        {"hessian": [["0", "1", "1"]]},
    ],
)
def test_bad_input_007_hostile_text_with_a_right_checksum(folder, tmp_path, monkeypatch, changes, caplog):
    monkeypatch.chdir(tmp_path)
    path, right = the_file(folder), taken()
    content = json.loads(path.read_bytes())["content"] | changes
    path.write_bytes(cache._canonical({"checksum": cache._digest(content), "content": content}))
    with caplog.at_level(logging.WARNING):
        assert taken() == right
    assert "are taken anew" in caplog.text
    assert not (tmp_path / "marker").exists()


@pytest.mark.bad_input(61)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"checksum":1}',
        b"[" * 100_000,
        b'{"checksum":' * 100_000,
        b"1e999",
        b"{}",
        b"NaN",
        b'{"checksum":NaN,"content":Infinity}',
        b'{"checksum":1,"checksum":2,"content":{}}',
        b'{"checksum":"1e9","content":' + b"9" * 5000 + b"}",
    ],
    ids=lambda data: data[:20].decode("ascii", "backslashreplace"),
)
def test_bad_input_061_other_contents_are_rebuilt(folder, data, caplog):
    path, right = the_file(folder), taken()
    whole = path.read_bytes()
    path.write_bytes(data)
    with caplog.at_level(logging.WARNING):
        assert taken() == right
    assert "are taken anew" in caplog.text
    assert path.read_bytes() == whole


WRITER = """
import logging, random, sys, time
from forecast.formula import parse
from forecast.laws import cache
from forecast.laws.derive import Derivatives, differentiate

logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
formula = parse("a*x**b")
one = differentiate(formula.root, ["a", "b"], 2)
two = Derivatives(one.shared, tuple(parse("+".join([f"a*x**b*{i}" for i in range(9)])).root for _ in "ab"), one.hessian)
mine = one if sys.argv[2] == "one" else two
cache.differentiate = lambda *args: mine
read, cache._read = cache._read, lambda path, asked: None  # every call writes
found = set()
print("ready", flush=True)
sys.stdin.readline()
for i in range(int(sys.argv[1])):
    cache.derivatives(formula, ["a", "b"], ["x"], 2)
    (path,) = cache.cache_folder().glob("*.json")
    time.sleep(0.002 * random.random())  # the other gets its turn
    seen = read(path, ASKED)
    assert seen in (one, two), seen
    found.add(seen == one)
print(sorted(found))
"""
ASKED = {
    "schema": cache.SCHEMA,
    "grammar": cache.GRAMMAR,
    "expression": TEXT,
    "parameters": PARAMETERS,
    "variables": VARIABLES,
    "order": 2,
}


@pytest.mark.bad_input(19)
def test_bad_input_019_two_processes_write_two_values_at_once(folder):
    script = f"ASKED = {ASKED!r}\n{WRITER}"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", script, "200", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name in ("one", "two")
    ]
    assert [p.stdout.readline() for p in writers] == ["ready\n"] * 2
    for process in writers:
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [p.communicate(timeout=120)[0] for p in writers]
    assert [p.returncode for p in writers] == [0, 0], outputs
    assert all(set(text) <= set("[TrueFals, ]\n") for text in outputs), outputs  # no warning of a torn file
    assert "[False, True]\n" in outputs, outputs  # they did meet: one read what the other had written
    assert [p.suffix for p in folder.iterdir()] == [".json"]


STUCK = """
import pathlib, sys, time
from forecast.formula import parse
from forecast.laws import cache

def replace(self, target):
    print("written", flush=True)
    time.sleep(600)

pathlib.Path.replace = replace
cache.derivatives(parse("a*x**b"), ["a", "b"], ["x"], 2)
"""


@pytest.mark.bad_input(19)
@pytest.mark.skipif(cache.fcntl is None, reason="no locks of files on this system")
@pytest.mark.parametrize("how", ["read", "write"])
def test_bad_input_019_what_a_killed_writer_leaves_goes_when_the_folder_is_next_opened(folder, how):
    path = the_file(folder)
    kept = path.read_bytes()
    path.unlink()
    process = subprocess.Popen([sys.executable, "-c", STUCK], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "written\n"
        (left,) = folder.iterdir()
        assert left.suffix == ".part"
        cache._swept.cache_clear()
        taken()  # it still writes: its file stays, and nobody waits for it
        assert list(folder.iterdir()) == [left]
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    assert left.exists()
    if how == "read":
        path.write_bytes(kept)
        cache._swept.cache_clear()  # as in a new process
    taken()
    assert list(folder.iterdir()) == [path]
    assert path.read_bytes() == kept


@pytest.mark.bad_input(19)
@pytest.mark.parametrize("lacking", ["fcntl", "flock"])
def test_bad_input_019_without_locks_only_what_is_old_is_swept(folder, monkeypatch, lacking):
    path = the_file(folder)
    path.unlink()
    if lacking == "fcntl":
        monkeypatch.setattr(cache, "fcntl", None)
    else:

        def refuse(handle, how):
            raise OSError(95, "not supported")

        monkeypatch.setattr(cache.fcntl, "flock", refuse)
    left, fresh = folder / ".0123456789abcdef.part", folder / ".fedcba9876543210.part"
    for file in (left, fresh):
        file.write_bytes(b"{")
    os.utime(left, (1, 1))
    assert taken() == taken()
    assert sorted(folder.iterdir()) == sorted([fresh, path])


@pytest.mark.parametrize("where", ["", "/proc/nowhere", os.devnull])
def test_no_place_to_write_is_no_matter(where, tmp_path, monkeypatch, caplog):
    if where:
        monkeypatch.setenv("FORECAST_CACHE", where)
    else:
        monkeypatch.delenv("FORECAST_CACHE")
        for name in ("HOME", "XDG_CACHE_HOME", "USERPROFILE", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("os.path.expanduser", lambda path: path)  # nobody knows of this user
        monkeypatch.chdir(tmp_path)
    with caplog.at_level(logging.WARNING):
        assert taken() == taken()
    assert caplog.text == ""
    assert list(tmp_path.iterdir()) == []


WARM = """
import sys
import numpy as np
import forecast
law = forecast.law("scaling/chinchilla")
rng = np.random.default_rng(0)
N, D = 10 ** rng.uniform(8, 10, 60), 10 ** rng.uniform(9, 11, 60)
y = 1.8 + 480 * N**-0.35 + 2000 * D**-0.37
fit = law.fit({"N": N, "D": D, law.output: y})
law.program().evaluate({n: fit.params[n].values for n in law.parameters} | {"N": N, "D": D}, 2)
print("sympy" in sys.modules)
"""


def test_a_warm_start_imports_no_sympy(folder):
    def run():
        done = subprocess.run([sys.executable, "-c", WARM], capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert (run(), run()) == ("True", "False")
