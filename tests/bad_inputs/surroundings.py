"""Bad inputs: signals, pipes, locales, threads, hashes and versions."""

from __future__ import annotations

import importlib.metadata
import json
import threading
from pathlib import Path

import numpy as np

import forecast
from bad_inputs.table import Case, Row
from toolkit import saturating, spawn

GOOD = "x,y\n" + "".join(f"{x},{5 * x**-0.3!r}\n" for x in (1, 2, 4, 8, 16, 32, 64))
SCENARIO = {"start": 2025, "until": 2030, "quantities": {"x": {"normal": [1, 9], "unit": ""}},
            "questions": {"q": {"when": "x >= 5"}}}  # fmt: skip


def interrupted(case: Case) -> str:
    """Interrupt a run while it writes: exit 130, and what stood there stands."""
    patch = case.request.getfixturevalue("monkeypatch")

    def half(self: Path, data: bytes) -> int:
        with self.open("wb") as handle:
            handle.write(data[: len(data) // 2])
        raise KeyboardInterrupt

    with patch.context() as some:
        some.setattr(Path, "write_bytes", half)
        done = case.run("run", "mine.json.toml", "--draws", "20", "--out", "a.nc")
    assert (done.code, done.out) == (130, "")
    assert sorted(p.name for p in case.folder.iterdir()) == ["a.nc", "mine.json.toml"]
    return done.err


def bare(case: Case) -> str:
    """Fit with no home, no terminal and a locale of ASCII alone."""
    env = {"PATH": "", "LANG": "C", "LC_ALL": "C", "TERM": "dumb", "PYTHONUTF8": "0", "HOME": "/dev/null"}
    done = spawn("fit", "scaling/power", "--data", "runs.csv", env=env, cwd=case.folder, capture_output=True, text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    return str(done.stdout)


def from_threads(case: Case) -> None:
    """Fit and project in several threads at once: the same bits as in one."""
    data = saturating(20)

    def once() -> tuple[dict[str, float], bytes]:
        fit = forecast.law("scaling/saturating-power").fit(data)
        run = forecast.project(SCENARIO, draws=64, workers=2)
        return dict(fit.values), run["projection"]["x"].values.tobytes()

    alone, found = once(), []
    threads = [threading.Thread(target=lambda: found.append(once()), daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [alone] * 3


def hashes(case: Case) -> str:
    """Fit without asserts under another hash seed and language: the same answer."""
    words = ("fit", "scaling/power", "--data", "runs.csv", "--json")
    env = {"PYTHONHASHSEED": "1", "LANG": "tr_TR.UTF-8", "PYTHONOPTIMIZE": "1", "HOME": str(case.folder)}
    done = spawn(*words, env=env, cwd=case.folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"] == case.run(*words).json["result"]
    return str(done.stdout)


def versions(case: Case) -> None:
    forecast.law("scaling/power").fit("runs.csv").save("fit.nc")
    said = case.run("show", "fit.nc", "--json").json["provenance"]["versions"]
    assert said["numpy"] == np.__version__
    assert said["lawcast"] == importlib.metadata.version("lawcast")


TOML = 'start = 2025\nuntil = 2030\n[quantities.x]\nnormal = [1, 9]\nunit = ""\n[questions.q]\nwhen = "x >= 5"\n'
ROWS: tuple[Row, ...] = (
    Row(80, "an interrupt while saving", {"mine.json.toml": TOML, "a.nc": "what was here"}, call=interrupted,
        names=("interrupted; nothing was written",), after={"a.nc": "what was here"}),
    Row(81, "no home, no terminal, no letters but ASCII", {"runs.csv": GOOD}, call=bare, names=("beta",)),
    Row(84, "threads and processes at once", call=from_threads),
    Row(86, "hash seeds, languages, no asserts", {"runs.csv": GOOD}, call=hashes, names=("beta",)),
    Row(87, "which libraries an answer was made with", {"runs.csv": GOOD}, call=versions),
)  # fmt: skip
