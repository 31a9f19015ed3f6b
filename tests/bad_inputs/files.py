"""Bad inputs: names of files, files of another kind, cut or changed ones, full disks, cells and texts for others."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import forecast
from bad_inputs.table import Case, Row
from forecast.base import access, netcdf
from forecast.errors import DataError, DownloadError, ResultError
from forecast.projection.streaming import batches
from forecast.report.page import html
from forecast.tables import csv_format
from forecast.tables.csv_format import parse_csv, read_csv, write_csv
from forecast.tables.remote.download import fetch
from toolkit import forked

GOOD = "x,y\n" + "".join(f"{x},{5 * x**-0.3!r}\n" for x in (1, 2, 4, 8, 16, 32, 64))
LINE = ("fit", "a + b*x", "--variables", "x", "--data", "runs.csv", "--y", "y")
SCENARIO = """
start = 2025
until = 2030
[quantities.size]
normal = [1, 9]
unit = ""
[questions.ten]
when = "size*exp(t - start) >= 10"
"""
RUN = ("run", "mine.toml", "--draws", "20")
SCRIPT = '<script>alert(1)</script>"><img src=x onerror=alert(1)>'
FORMULAS = ('=HYPERLINK("http://x","y")', "+1", "-1+2", "@SUM(A1)", "\tx", "\rx")


def unwritten(name: str) -> Row:
    return Row(
        11, f"a result named {name[:20]!r}".replace("/", ":"), {"mine.toml": SCENARIO}, call=lambda case: to(case, name)
    )


def to(case: Case, name: str) -> None:
    """Run with an output of that name: refused in a line, and nothing new stands anywhere."""
    before = sorted(case.folder.parent.rglob("*"))
    assert "\n" not in case.run(*RUN, "--out", name).refused(2)
    assert sorted(case.folder.parent.rglob("*")) == before


def linked(case: Case) -> None:
    """Write to a link: it is replaced, and what it pointed to is left alone."""
    Path("target").write_text("mine")
    Path("a.nc").symlink_to("target")
    assert case.run(*RUN, "--out", "a.nc").code == 0
    assert Path("target").read_text() == "mine"
    assert not Path("a.nc").is_symlink()


def checkpoint(case: Case) -> tuple[tuple[str, ...], Path]:
    """Interrupt a run after its first batches; return its words and what is kept of it."""
    patch = case.request.getfixturevalue("monkeypatch")
    words = ("run", "mine.toml", "--draws", str(2 * batches.DRAWS_PER_BATCH), "--seed", "3", "--out", "a.nc")
    tell = batches._tell

    def stopping(progress: Any, job: Any, done: int) -> None:
        tell(progress, job, done)
        if done == 2:
            raise KeyboardInterrupt

    with patch.context() as some:
        some.setattr(batches, "CHECKPOINT_SECONDS", 0)
        some.setattr(batches, "_tell", stopping)
        assert case.run(*words).code == 130
    assert not Path("a.nc").exists()
    return words, Path("a.nc.part")


def changed_checkpoint(change: Any) -> Any:
    """Go on from a checkpoint that was changed: it is refused, not believed."""

    def call(case: Case) -> str:
        words, part = checkpoint(case)
        part.write_bytes(change(part.read_bytes()))
        text = case.run(*words, "--resume").refused(1)
        assert not Path("a.nc").exists()
        return text

    return call


def resumed(case: Case) -> None:
    """Go on after an interrupt: the same bytes as of a run that nobody interrupted."""
    words, part = checkpoint(case)
    assert case.run(*words, "--resume").code == 0
    assert not part.exists()
    assert case.run(*words[:-1], "whole.nc").code == 0
    assert Path("a.nc").read_bytes() == Path("whole.nc").read_bytes()


def flipped(data: bytes) -> bytes:
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def of_another_version(case: Case) -> None:
    forecast.law("scaling/power").fit("runs.csv").save("fit.nc")
    tree = netcdf.load(Path("fit.nc"))
    tree.attrs["format"] = '"0"'
    forecast.save(tree, Path("fit.nc"))
    forecast.load("fit.nc")


def several_writers(*words: str, count: int) -> Any:
    """Let several processes write one file; return what stands in the folder afterwards."""

    def call(case: Case) -> str:
        writers = [forked(case.folder, *words, "--seed", seed, "--out", "r.nc") for seed in range(count)]
        for writer in writers:
            writer.join(120)
            assert writer.exitcode == 0
        forecast.load("r.nc")  # all of it is of one of them: its hash says so
        return str(sorted(p.name for p in case.folder.iterdir()))

    return call


def full_disk(case: Case) -> str:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, hard))
    try:
        done = case.run(*LINE, "--out", "fit.nc")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert done.code == 1
    assert "b" in done.out  # the answer is there
    return done.err


def exported(case: Case) -> None:
    """Write cells that a spreadsheet would run: each begins with a quote, and is read back as it was."""
    write_csv(Path("out.csv"), {"t": list(FORMULAS), "x": [-1.5] * len(FORMULAS)})
    raw = Path("out.csv").read_bytes().decode()
    assert raw.count(",-1.5\n") == len(FORMULAS)
    assert not [line for line in raw.splitlines() if line.lstrip('"')[:1] in tuple("=+-@\t\r")]
    assert read_csv(Path("out.csv"))["t"] == list(FORMULAS)


def shown(case: Case) -> None:
    """Write the page of a scenario whose title is a script."""
    scenario = {"title": SCRIPT, "start": 2025, "until": 2030,
                "quantities": {"x": {"normal": [1, 9], "unit": ""}},
                "questions": {"q": {"when": "x >= 5"}}}  # fmt: skip
    text = html(forecast.project(scenario, draws=20))
    assert "<script>alert(1)" not in text
    assert "<img src=x" not in text
    assert "alert(1)" in text


def escaped(case: Case) -> str:
    text = case.run("fit", "a + b*x", "--variables", "x", "--data", "na\x1b[2J\nme.csv").refused(1)
    assert "\x1b" not in text
    return text


def large(case: Case) -> None:
    with Path("huge.csv").open("wb") as stream:
        stream.write(b"x\n1\n")
        stream.truncate(2 * 2**30)
    read_csv(Path("huge.csv"))


def cells(case: Case) -> None:
    case.request.getfixturevalue("monkeypatch").setattr(csv_format, "MAX_CSV_CELLS", 10)
    parse_csv(b"x,y\n" + b"1,2\n" * 6, "a.csv")


def offline(case: Case) -> None:
    """Fetch a table where nothing answers and nothing is kept."""
    patch = case.request.getfixturevalue("monkeypatch")
    patch.setenv("FORECAST_DATA", str(case.folder / "kept"))
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        patch.setenv(name, "http://127.0.0.1:9")
    with access.allow(downloads=True, hosts=["127.0.0.1"]):
        fetch("http://127.0.0.1:9/runs.csv", "sha256:" + "0" * 64, "runs.csv", where="demo")


ROWS: tuple[Row, ...] = (
    *(unwritten(name) for name in ("", "a\0b", "x" * 300, "../nowhere/etc/x", "..", "/dev/null")),
    Row(11, "a result named con", {"mine.toml": SCENARIO}, (*RUN, "--out", "con.nc"),
        holds=lambda case, _: forecast.load("con.nc")),
    Row(11, "a result that is a link", {"mine.toml": SCENARIO}, call=linked),
    # nothing is cached between runs but what a run keeps to go on from, and files that somebody saved
    Row(16, "a cut checkpoint", {"mine.toml": SCENARIO}, call=changed_checkpoint(lambda data: data[: len(data) // 2]),
        names=("a.nc.part",)),
    Row(17, "a checkpoint with a flipped bit", {"mine.toml": SCENARIO}, call=changed_checkpoint(flipped),
        names=("a.nc.part",)),
    Row(18, "a fit of another version", {"runs.csv": GOOD}, call=of_another_version, raises=ResultError,
        names=("fit.nc", "in the format")),
    Row(19, "two processes write one file", {"mine.toml": SCENARIO}, call=several_writers(*RUN, count=2),
        names=("['mine.toml', 'r.nc']",)),
    Row(20, "an interrupted run goes on", {"mine.toml": SCENARIO}, call=resumed),
    Row(21, "a full disk", {"runs.csv": GOOD, "fit.nc": "before"}, call=full_disk,
        names=("fit.nc: cannot write: file too large",), after={"fit.nc": "before"}),
    Row(22, "cells that a spreadsheet would run", call=exported),
    Row(23, "a title that is a script", call=shown),
    Row(24, "a name with control characters", call=escaped, names=(r"na\x1b[2J\nme.csv",)),
    Row(74, "a table of two gigabytes", call=large, raises=DataError, names=("huge.csv: 2,147,483,648 bytes",)),
    Row(74, "a table of too many cells", call=cells, raises=DataError, names=("a.csv:7: more than 10 cells",)),
    Row(83, "two runs with one output", {"mine.toml": SCENARIO}, call=several_writers(*RUN, count=3),
        names=("['mine.toml', 'r.nc']",)),
    Row(88, "nobody answers", call=offline, raises=DownloadError, names=("http://127.0.0.1:9/runs.csv", "by hand at")),
)  # fmt: skip
