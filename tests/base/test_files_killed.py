"""Writers that are killed: the file is whole, and the next write leaves nothing of them behind."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import pytest

from forecast.base import files
from forecast.base.files import replace_atomically, sweep, temporary_file, write_atomic
from forecast.errors import ResultError

fork = multiprocessing.get_context("fork")
PART = ".0123456789abcdef.part"


def parts(folder: Path) -> list[str]:
    return [p.name for p in folder.iterdir() if p.name.endswith(".part")]


def writing(path: Path, number: int, ready: object) -> None:
    """Write for ever, in small pieces, so that a kill meets every moment of it."""
    ready.set()  # type: ignore[attr-defined]
    content = bytes([65 + number % 26]) * 300_000
    while True:
        with replace_atomically(path) as temporary, temporary.open("wb") as stream:
            for low in range(0, len(content), 50_000):
                stream.write(content[low : low + 50_000])
                stream.flush()


def arriving_for_ever(folder: Path, ready: object) -> None:
    ready.set()  # type: ignore[attr-defined]
    while True:
        with temporary_file(folder, inside=True) as own:
            (own / "table.csv").write_text("x\n" * 1000)


@pytest.mark.parametrize("many", [20, pytest.param(100, marks=pytest.mark.xslow)])
def test_bad_input_020_killed_writers_leave_whole_files_and_nothing_else(many: int, tmp_path: Path) -> None:
    generator = random.Random(0)
    path = tmp_path / "r.bin"
    left = 0
    for number in range(many):
        ready = fork.Event()
        if number % 4:
            process = fork.Process(target=writing, args=(path, number, ready))
        else:
            process = fork.Process(target=arriving_for_ever, args=(tmp_path, ready))
        process.start()
        ready.wait(10)
        time.sleep(generator.random() * 0.01)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        left += bool(parts(tmp_path))
        if path.exists():
            whole = path.read_bytes()
            assert len(whole) == 300_000
            assert len(set(whole)) == 1
    assert left > many // 10, "no kill met a write: this test shows nothing"
    write_atomic(path, "done")
    assert [p.name for p in tmp_path.iterdir()] == ["r.bin"]


def churning(path: Path, failures: object) -> None:
    try:
        for number in range(150):
            write_atomic(path, f"{number:06d}" * 1000)
    except BaseException as problem:
        failures.put(repr(problem))  # type: ignore[attr-defined]


def test_live_writers_never_sweep_each_other(tmp_path: Path) -> None:
    failures = fork.SimpleQueue()
    every = [fork.Process(target=churning, args=(tmp_path / f"{i % 2}.bin", failures)) for i in range(4)]
    for process in every:
        process.start()
    for process in every:
        process.join(60)
        assert process.exitcode == 0
    assert failures.empty()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.bin", "1.bin"]


def test_a_live_writers_file_and_folder_are_left_alone(tmp_path: Path) -> None:
    with replace_atomically(tmp_path / "a") as one, temporary_file(tmp_path, inside=True) as two:
        (two / "x.csv").write_text("x")
        sweep(tmp_path)
        write_atomic(tmp_path / "b", "b")
        assert one.exists()
        assert (two / "x.csv").exists()
        one.write_text("a")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "b"]


def test_only_names_of_the_exact_pattern_are_swept(tmp_path: Path) -> None:
    kept = {
        "0123456789abcdef.part", ".0123456789ABCDEF.part", ".0123456789abcde.part", ".0123456789abcdef0.part",
        ".0123456789abcdef.parts", ".x.part", "a.part", ".0123456789abcdeg.part", ".0123456789abcdef.part\n",
    }  # fmt: skip
    for name in kept:
        (tmp_path / name).write_text("mine")
    (tmp_path / PART).write_text("left")
    folder = tmp_path / ".fedcba9876543210.part"
    folder.mkdir()
    (folder / "table.csv").write_text("left")
    write_atomic(tmp_path / "out", "x")
    assert {p.name for p in tmp_path.iterdir()} == kept | {"out"}


@pytest.mark.parametrize("kind", ["link", "link to a folder", "fifo", "deep folder"])
def test_what_no_writer_of_ours_makes_is_left_alone(kind: str, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "precious").write_text("x")
    here = tmp_path / "here"
    here.mkdir()
    odd = here / PART
    if kind == "fifo":
        os.mkfifo(odd)
    elif kind == "deep folder":
        (odd / "deeper").mkdir(parents=True)
        (odd / "deeper" / "precious").write_text("x")
    else:
        odd.symlink_to(mine if kind == "link to a folder" else mine / "precious")
    write_atomic(here / "out", "x")
    assert os.path.lexists(odd)
    assert (mine / "precious").read_text() == "x"


def test_a_name_that_was_swept_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, taken = files._try_lock, []

    def late(handle: int) -> bool:
        if not taken:  # a sweeper comes between the making and the lock
            (name,) = parts(tmp_path)
            (tmp_path / name).unlink()
            taken.append(name)
        return real(handle)

    monkeypatch.setattr(files, "_try_lock", late)
    write_atomic(tmp_path / "a", "whole")
    assert taken
    assert (tmp_path / "a").read_text() == "whole"
    assert parts(tmp_path) == []


def test_a_folder_that_was_swept_before_it_was_opened_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, taken = Path.mkdir, []

    def swept(path: Path) -> None:
        real(path)
        if not taken:  # a sweeper comes between the making and the opening
            taken.append(path)
            path.rmdir()

    monkeypatch.setattr(Path, "mkdir", swept)
    with temporary_file(tmp_path, inside=True) as folder:
        (folder / "x.csv").write_text("x")
        assert taken != [folder]
    assert parts(tmp_path) == []


def test_without_locks_only_old_files_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "fcntl", None)
    young, old = tmp_path / PART, tmp_path / ".fedcba9876543210.part"
    young.write_text("x")
    old.write_text("x")
    then = time.time() - files.ABANDONED_SECONDS - 10
    os.utime(old, (then, then))
    write_atomic(tmp_path / "a", "x")
    with temporary_file(tmp_path, inside=True) as own:
        (own / "x").write_text("x")
    assert sorted(p.name for p in tmp_path.iterdir()) == [PART, "a"]


def test_an_error_in_the_block_leaves_nothing(tmp_path: Path) -> None:
    with (
        pytest.raises(ResultError, match="a: cannot write: no space left on device"),
        replace_atomically(tmp_path / "a"),
    ):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []
