"""Derivatives on disk: read back as text, rebuilt when damaged, never half written."""

import json
import logging
import os
import signal
import subprocess
import sys
import time

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


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"\xff\xfe", b'{"checksum":1}', b"[" * 100_000, b"1e999", b"{}"])
def test_other_contents_are_rebuilt(folder, data):
    path, right = the_file(folder), taken()
    path.write_bytes(data)
    assert taken() == right


WRITER = """
import sys
from forecast.formula import parse
from forecast.laws import cache
asked = (parse("a*x**b"), ["a", "b"], ["x"], 2)
right = cache.derivatives(*asked)
cache.differentiate = lambda *args: right
import logging, pathlib
logging.basicConfig(level=logging.WARNING, stream=sys.stdout)
read, cache._read = cache._read, lambda path, asked: None
for i in range(int(sys.argv[1])):
    assert cache.derivatives(*asked) == right  # writes
    path = cache.cache_folder() / (cache._digest({
        "schema": 1, "grammar": 1, "expression": "a*x**b", "parameters": ["a", "b"], "variables": ["x"], "order": 2
    }) + ".json")
    assert path.exists()
    assert read(path, __import__("json").loads(path.read_bytes())["content"]) == right
"""


@pytest.mark.bad_input(19)
def test_bad_input_019_two_processes_write_at_once(folder):
    command = [sys.executable, "-c", WRITER, "200"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(2)]
    outputs = [p.communicate(timeout=120)[0] for p in both]
    assert [p.returncode for p in both] == [0, 0], outputs
    assert outputs == ["", ""]
    assert [p.suffix for p in folder.iterdir()] == [".json"]


@pytest.mark.bad_input(19)
def test_bad_input_019_what_a_killed_writer_leaves_is_swept(folder, monkeypatch):
    path = the_file(folder)
    process = subprocess.Popen([sys.executable, "-c", WRITER, "1000000"])
    time.sleep(2.0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = folder / ".0123456789abcdef.part"  # as if it had been killed between writing and renaming
    left.write_bytes(b"{")
    os.utime(left, (1, 1))
    for found in folder.glob(".*.part"):
        os.utime(found, (1, 1))
    fresh = folder / ".fedcba9876543210.part"  # somebody writes it just now
    fresh.write_bytes(b"{")
    path.unlink()
    right = taken()
    assert sorted(p.name for p in folder.iterdir()) == sorted([fresh.name, path.name])
    assert taken() == right


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
