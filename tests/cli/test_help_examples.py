"""Every example of every ``--help`` is run, in a folder that holds the files it names."""

from __future__ import annotations

import functools
import shlex
import shutil
from pathlib import Path

import click
import numpy as np
import pytest

import forecast
from forecast import save
from forecast.cli import cli
from forecast.conformance import answer_checks
from forecast.contract.registry import Registry
from forecast.evaluation import ledger
from forecast.tables import csv_format
from forecast.tables.remote import trust_on_first_use
from toolkit import DATE, noise, sample

ROOT = Path(__file__).resolve().parents[2]
#: The id that stands in the examples for one that a ledger of one's own has.
SHOWN_ID = "1d7f834d"
#: What draws takes few of them here.
DRAWING = (["run"], ["ask"], ["sweep"], ["record"], ["tables", "refresh"], ["published", "compare"])
#: Here only one table can be fetched; the help says that this exits with 1, and the others are listed.
OFFLINE = "forecast tables refresh"


def commands(command: click.Command, words: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    """Return every command, also those of groups, with the words that call it."""
    found = [(words, command)]
    if isinstance(command, click.Group):
        with click.Context(command) as ctx:
            for name in command.list_commands(ctx):
                inner = command.get_command(ctx, name)
                assert inner is not None
                found += commands(inner, (*words, name))
    return found


def examples() -> list[str]:
    """Return the lines of help that are commands: those of paragraphs that click may not wrap."""
    found = []
    for _, command in commands(cli):
        for paragraph in (command.help or "").split("\n\n"):
            lines = paragraph.strip().splitlines()
            if lines and lines[0].strip() == "\b":
                found += [line.strip() for line in lines if line.strip().startswith("forecast ")]
    return list(dict.fromkeys(found))


EXAMPLES = examples()
#: What draws, fits or starts a server, by how the line begins: the others list and show.
LONG = (
    "forecast run", "forecast ask", "forecast sweep", "forecast explore", "forecast backtest", "forecast compare",
    "forecast models", "forecast scenarios check",
    "forecast claims", "forecast find", "forecast published compare", "forecast tables refresh",
)  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the tables and the scenario that the examples name."""
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(
        'start = 2025\nuntil = 2030\n[quantities.machine]\np05 = 1\np95 = 4\nunit = "FLOP"\n'
        '[questions.revenue]\nvalue = "machine"\ndates = [2029]\n[questions.soon]\nwhen = "machine >= 2 FLOP"\n'
    )
    rng = np.random.default_rng(0)
    steps = np.geomspace(10, 1e4, 40)
    loss = (1.7 + 8 * steps**-0.35) * noise(40, 0.01)
    csv_format.write_csv("run.csv", {"steps": steps, "loss": loss})
    csv_format.write_csv("curve.csv", {"x": steps, "y": loss})
    few, part = steps[::4], loss[::4]  # each origin of a backtest fits six laws
    runs = [f"{name}" for name in ("a", "b", "c", "d") for _ in few]
    curves = np.concatenate([part * factor * noise(10, 0.01, seed) for seed, factor in enumerate((1, 1.1, 1.2, 1.3))])
    csv_format.write_csv("curves.csv", {"run": runs, "steps": np.tile(few, 4), "loss": curves})
    dates = [f"{year}-01-01" for year in range(2000, 2026)]
    growing = 1e9 * np.exp(0.4 * np.arange(26)) * noise(26, 0.1)
    csv_format.write_csv("series.csv", {"date": dates, "flops": growing})
    names = [name for name in ("solar", "wind", "cells") for _ in dates]
    falling = np.concatenate([100 * np.exp(-0.05 * np.arange(26)) * noise(26, 0.05, seed) for seed in range(3)])
    csv_format.write_csv("costs.csv", {"technology": names, "year": np.tile(np.arange(2000, 2026), 3), "cost": falling})
    law = forecast.law("scaling/chinchilla")
    n, d = 10 ** rng.uniform(8, 10, 80), 10 ** rng.uniform(9, 11, 80)
    found = law.value(law.published("besiroglu2024").values, N=n, D=d) * noise(80, 0.01)
    of = ["dense", "moe"] * 40
    power = 3 * (n / 1e9) ** -0.1 * noise(80, 0.01)
    csv_format.write_csv(
        "runs.csv",
        {"params": n, "params_b": n / 1e9, "tokens": d, "loss": found, "x": n / 1e9,
         "score": (1 + n / 1e10) * noise(80),
         "family": of, "y": power},
    )  # fmt: skip
    csv_format.write_csv("planned.csv", {"N": n[:3], "D": d[:3]})
    shutil.copytree(ROOT / "datasets/forecast_datasets/supercomputers", "old")
    shutil.copy("old/supercomputers.csv", "mine.csv")
    return tmp_path


@functools.cache
def runs_fit(by=None):
    """Fit the runs, which are the same in every folder."""
    return forecast.law("scaling/chinchilla").fit("runs.csv", let={"N": "params", "D": "tokens"}, y="loss", by=by)


def projection():
    """Save the projection that ``show`` opens."""
    save(forecast.project("mine.toml", draws=64), "mine.nc")


def one_ledger():
    """Write a ledger, the hashes that were published of it, and an earlier copy; return the id of its forecast."""
    (first,) = ledger.append("ledger.jsonl", [DATE])
    shutil.copy("ledger.jsonl", "earlier.jsonl")
    (second,) = ledger.append("ledger.jsonl", [{**DATE, "question": "another"}])
    Path("published.txt").write_text(f"2:{second['sha256']}\n")
    return first["sha256"][:8]


#: What is made before an example is run, by what stands in it; the first that fits.
NEEDS = {
    "forecast show mine.nc": projection,
    "forecast allocate mine.nc": lambda: runs_fit().save("mine.nc"),
    "fit.nc": lambda: runs_fit().save("fit.nc"),
    "families.nc": lambda: runs_fit(by="family").save("families.nc"),
}


def upstream(monkeypatch):
    """Let a download of one table bring another row each time, and any other fail; nothing opens a connection."""
    head = "Model,Publication date,Training compute (FLOP),Notability criteria\n"
    rows: list[str] = []

    def transfer(url, target, limit=0):
        if not url.endswith("all_ai_models.csv"):
            return "nobody answers here"
        rows.append(f"model-{len(rows)},20{10 + len(rows)}-01-01,1e{20 + len(rows)},\n")
        target.write_text(head + "".join(rows))
        return ""

    monkeypatch.setattr(trust_on_first_use, "transfer", transfer)
    monkeypatch.setenv("FORECAST_DATA", str(Path("cache").absolute()))


#: Of what is shipped, all that is gone through: scenarios that rest on the tables of the examples, and another one.
FEW = {
    "scenario": {"brain/brain-parity", "capability/chain", "capability/model-compute"},
    "quantity": {"brain/brain-power", "capability/largest-run"},  # all by their doors: tests/conformance
}


def few(registry, kind, *, every, **options):
    """Return what `every` does of a kind, names or records, or few of them."""
    found = {getattr(each, "full_name", each): each for each in every(registry, kind, **options)}
    return [each for name, each in found.items() if name in FEW.get(kind, found)]


def check(said, monkeypatch, example):
    words = shlex.split(example)[1:]
    with forecast.allow(paths=["."]), monkeypatch.context() as patch:
        for name, make in NEEDS.items():
            if name in example and "--out " + name not in example:
                make()
                break
        if SHOWN_ID in words or words[0] == "resolve":
            own = one_ledger()
            words = [own if word == SHOWN_ID else word for word in words]
        if any(words[: len(each)] == each for each in DRAWING) and "--draws" not in words:
            words += ["--draws", "100"]
        if words[0] == "backtest" and "--whole" in words:
            words += ["--draws", "100"]
        if words[0] in (serving := {"explore": "explore.server", "mcp": "agents.tools"}):
            pytest.importorskip({"explore": "uvicorn"}.get(words[0], words[0]))
            patch.setattr(f"forecast.cli.{serving[words[0]]}.serve", lambda *_: None)
        if "epoch-models" in example or example == OFFLINE:
            upstream(patch)
            for earlier in ((), ("--update",)) if "@" in example or "--update" in words else ():
                assert said("tables", "fetch", "epoch-models", *earlier).code == 0
        if "--all" in words:  # each scenario and its levers are held to the contract with its plugin: here few are
            patch.setattr(answer_checks, "lever_breaches", lambda *_, **__: ())
        if words[:2] == ["scenarios", "check"] and "--all" in words:
            patch.setattr(Registry, "records", functools.partialmethod(few, every=Registry.records))
        if "--all" in words or words[:2] == ["tables", "refresh"]:
            patch.setattr(Registry, "names", functools.partialmethod(few, every=Registry.names))
        done = said(*words)
    assert done.code == (example == OFFLINE), f"exit {done.code}: {done.err}"
    assert example != OFFLINE or ("nobody answers here" in done.out and "epoch-models" in done.out)


#: What takes longest, whose words other tests try: tests/evaluation/test_scenario_backtest, test_published_compare.
LONGEST = [
    each for each in EXAMPLES
    if each.startswith(("forecast backtest chain", "forecast tables refresh --edition"))
    or each.endswith("published compare")
]  # fmt: skip
SLOW = [each for each in EXAMPLES if each.startswith(LONG) and each not in LONGEST]
USUAL = [each for each in EXAMPLES if not each.startswith(LONG)]


@pytest.mark.parametrize(
    "example",
    [*sample(USUAL, 3), *sample(SLOW, 0), *(pytest.param(each, marks=pytest.mark.xslow) for each in LONGEST)],
)
def test_an_example_of_help_runs(said, folder, monkeypatch, example):
    check(said, monkeypatch, example)


def test_most_commands_show_examples():
    assert len(EXAMPLES) > 40
    own = [words for words, command in commands(cli) if not isinstance(command, click.Group)]
    assert {"run", "record", "resolve", "fit", "sweep"} <= {words[0] for words in own}
