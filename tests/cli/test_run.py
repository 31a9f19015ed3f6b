"""``forecast run``, end to end: the answer, and the same bytes everywhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import forecast
from toolkit import copied, json_of

QUICK = ["--draws", "40", "--until", "2060"]
FEWER = ["--set", "metric=hpcg,linpack", "--set", "trend=exponential,changepoint"]


def spawned(*words, cwd, env=None, python=()):
    own = {k: v for k, v in os.environ.items() if not k.startswith(("FORECAST_", "PYTHON"))}
    return subprocess.run(
        [sys.executable, *python, "-m", "forecast", "run", *words], cwd=cwd, env={**own, **(env or {})},
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip


# --- the answer -------------------------------------------------------------------------------------------------------


def test_an_answer_is_one_screen_and_opens_with_its_sentence(said):
    code, out, err = said("run", "brain-parity", *QUICK)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].endswith("chance that the fastest supercomputer matches a brain by January")
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("Most sensitive to: ") for line in lines)
    assert any(line.startswith("Newest data on ") for line in lines)
    assert "More with --show: " in out
    assert " answers (" in " ".join(lines)


@pytest.mark.parametrize("section", ["answers", "quantities", "limits", "sources", "warnings"])
def test_each_section_is_one_screen_that_opens_with_the_sentence(said, section):
    code, out, err = said("run", "brain-parity", *QUICK, "--show", section)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].endswith("chance that the fastest supercomputer matches a brain by January")
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    text = " ".join(out.split())
    assert {
        "answers": "LINPACK, pooled",
        "quantities": "Median and 90 % interval in 2060",
        "limits": "limit of the fastest supercomputer (metric = HPCG, trend = ensemble)",
        "sources": "Kurzweil 2005 (brain/kurzweil-2005): 1e+16 [FLOP/s]",
        "warnings": " none ",
    }[section] in text
    assert f"{section} (" not in text  # the others are named
    assert "--json" in text
    assert "\x1b" not in out


def test_a_quantity_is_shown_step_by_step(said):
    code, out, err = said("run", "brain-parity", *QUICK, *FEWER, "--quantity", "machine", "--every", "25")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    start = lines.index("machine [TFLOP/s]")
    assert [line.split()[2] for line in lines[start + 3 : start + 5]] == ["2027", "2052"]


def test_weighed_worlds_and_regimes_are_said(said, tmp_path):
    (tmp_path / "mine.toml").write_text(
        """
        start = 2025
        until = 2027
        show = ["kind"]
        [quantities.kind]
        draw = { slow = 0.3, fast = 0.7 }
        [quantities.m]
        normal = [-1, 1]
        unit = ""
        [update.m]
        log_likelihood = "-(m - 1)**2/0.001"
        """,
        encoding="utf-8",
    )
    code, out, _ = said("run", str(tmp_path / "mine.toml"), "--draws", "1000", "--show", "warnings")
    assert code == 0
    count = re.search(r"weighed by what is known of m: (\d+) of 1,000 worlds are effective", out)[1]
    assert f"update: {count} of 1,000 worlds are effective; answers rest on fewer than 200" in " ".join(out.split())
    out = said("run", str(tmp_path / "mine.toml"), "--draws", "1000", "--show", "quantities").out
    assert re.search(r"^kind +slow \d+ %, fast \d+ %$", out, re.MULTILINE)
    assert "Not shown: m" in out
    result = json_of(said("run", str(tmp_path / "mine.toml"), "--draws", "1000", "--json")[1])["result"]
    assert round(result["update"][0]["effective"]) == int(count)
    assert sum(result["regimes"][0]["shares"].values()) == pytest.approx(1)
    code, out, _ = said(
        "run", str(tmp_path / "mine.toml"), "--draws", "100", "--set", "kind=fast", "--show", "quantities"
    )
    assert "slow under 1 %, fast over 99 %" in out


def test_json_is_one_object_of_the_agreed_form(said):
    code, out, err = said("run", "brain-parity", *QUICK, "--json", "--set", "trend=changepoint")
    assert (code, err) == (0, "")
    answer = json_of(out)
    assert list(answer) == ["command", "result", "warnings", "provenance"]
    assert answer["command"] == "run"
    assert answer["warnings"] == []
    result = answer["result"]
    keys = [
        "scenario", "headline", "answer", "today", "differences", "questions", "pooled", "drivers", "record",
        "newest", "limits", "models", "quantities",
    ]  # fmt: skip
    assert list(result) == keys
    assert "the fastest supercomputer matches a brain" in result["headline"]
    assert len(result["questions"]) == 12
    first = result["questions"][0]
    assert list(first) == ["name", "title", "when", "choices", "crossing"]
    assert list(first["crossing"]) == ["p05", "p25", "p50", "p75", "p95", "never", "already", "error"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", first["crossing"]["p05"])
    assert all("name" in row for key in ("questions", "quantities", "models") for row in result[key])
    said = answer["provenance"]
    assert (said["seed"], said["draws"], said["start"], said["until"], said["step"]) == (0, 40, 2027, 2060, "year")
    assert said["set"] == {"trend": "changepoint"}
    assert said["command"][:3] == ["forecast", "run", "brain-parity"]
    assert {p["name"] for p in said["plugins"]} == {"brain", "hardware"}
    assert said["data"]["datasets/supercomputers"]


def test_a_quantile_inside_the_never_mass_is_null(said, scenario):
    scenario('start = 2025\nuntil = 2030\n[quantities.x]\nlow = 0\nhigh = 1\nunit = ""\n[quantities.y]\nvalue = 0.5\n'
             'unit = ""\n[questions.q]\nwhen = "x >= y"\n')  # fmt: skip
    code, out, _ = said("run", "mine.toml", "--json")
    crossing = json_of(out)["result"]["questions"][0]["crossing"]
    assert code == 0
    assert crossing["p05"] == "2025-01-01"
    assert crossing["p75"] is crossing["p95"] is None
    assert crossing["never"] == 1 - crossing["already"]
    out = said("run", "mine.toml", "--show", "answers").out
    assert "already to >2030" in out


def test_out_and_plot_are_written_and_load(said, here, tmp_path):
    code, _, err = said("run", "brain-parity", *QUICK, *FEWER, "--out", "a.nc", "--plot", "a.svg")
    assert (code, err) == (0, "")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.nc", "a.svg"]
    run = forecast.load("a.nc").run
    assert run["projection"].sizes == {"time": 34, "draw": 40, "metric": 2, "trend": 2, "estimate": 4}
    assert Path("a.svg").read_text().startswith("<?xml")


def test_set_in_all_its_forms(said):
    def crossings(*words):
        code, out, err = said("run", "brain-parity", *QUICK, "--json", *(w for s in words for w in ("--set", s)))
        assert (code, err) == (0, "")
        return json_of(out)["result"]

    assert len(crossings("metric=hpcg", "trend=changepoint", "estimate=pooled")["questions"]) == 1
    assert len(crossings("estimate=pooled,dettmers-2015")["questions"]) == 36
    fixed = crossings("brain=1.075e21")
    assert len(fixed["questions"]) == 18
    assert {r["unit"] for r in fixed["quantities"] if r["name"] == "brain"} == {"FLOP/s"}
    for key in ("brain/dettmers-2015.firing_rate", "dettmers-2015.firing_rate", "brain.firing_rate"):
        rows = crossings(f"{key}=50", "estimate=dettmers-2015")["quantities"]
        (brain,) = [r for r in rows if r["name"] == "brain"]
        assert brain["p95"][0] < 2e21


@pytest.mark.slow
def test_bad_input_068_stdout_is_data_with_many_workers_too(here, tmp_path):
    words = ("brain-parity", "--until", "2030", "--draws", "20000", "--workers", "8", "--json")
    done = copied("run", *words, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json_of(done.stdout)["command"] == "run"


# --- the same bytes everywhere ----------------------------------------------------------------------------------------


PLACES = {
    "plain": ({}, ()),
    "far zone, one thread": ({"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "1",
                              "OPENBLAS_NUM_THREADS": "1", "HOME": "/nonexistent"}, ()),
    "C locale, optimised, four threads": ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0",
                                           "PYTHONHASHSEED": "77", "OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "4"},
                                          ("-O",)),
}  # fmt: skip


@pytest.mark.slow
def test_bad_input_085_086_the_same_seed_gives_the_same_bytes_everywhere(tmp_path):
    found = {}
    for place, (env, python) in PLACES.items():
        folder = tmp_path / place
        folder.mkdir()
        words = ["brain-parity", *QUICK, *FEWER, "--seed", "5", "--json", "--out", "a.nc", "--plot", "a.svg"]
        done = spawned(*words, cwd=folder, env=env, python=python)
        assert (done.returncode, done.stderr) == (0, b""), place
        found[place] = [done.stdout, (folder / "a.nc").read_bytes(), (folder / "a.svg").read_bytes()]
    for place, files in found.items():
        for kind, one, first in zip(("json", "netcdf", "svg"), files, found["plain"], strict=True):
            assert one == first, f"{kind} in {place}"
    text = b"".join(found["plain"])
    assert str(tmp_path).encode() not in text
    assert sys.prefix.encode() not in text
