"""Calls through public doors, drawn from a seed, and what each gives; as a program, each in a process of its own.

A case is a scenario with one quantity that rests on a file, and the door by which it is asked for. The next case
differs from it in one thing: the file, its column or its rows, an edit of the file, the law, the shape or an option,
whether a choice says so, or the door.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

DRAWS = 16
FILES = ("a.csv", "b.csv")

#: What a case is told by, and the values that each may have; the first are those of the first case.
FIELDS: dict[str, tuple[Any, ...]] = {
    "form": ("shape", "law", "registered law"),
    "door": ("project", "mapping", "explore", "sweep", "scenario", "run", "ask"),
    "chosen": ("all", "none", "data", "shape", "law"),  # what a choice says
    "file": FILES,
    "edition": (0, 1, 2),  # how often the file was edited
    "column": ("y", "z"),
    "kind": ("", "u", "w"),  # of the rows
    "since": ("", "2014-01-01"),
    "records": (False, True),
    "shape": ("random-walk", "exponential", "local-linear"),
    "options": ({}, {"average": 0.25}),
    "law": ("a*x**b", "a + b*x"),
    "let": ("x", "w"),
    "objective": ("", "huber_log"),
    "keeps": ("", "frontier"),
    "growth": (None, 0.5),  # set by whoever asks
    "seed": (0, 1),
    "as_of": (None, 2019.0),
}
#: The doors whose calls share more than the others.
SHARING = ("project", "mapping", "explore")
#: What the other form has not.
OF_SHAPES = ("since", "records", "shape", "options", "keeps", "growth")
OF_LAWS = ("law", "let", "objective")


def rows(file: str, edition: int) -> str:
    """Return the text of a file, as long in every edition."""
    r = random.Random(f"{file}:{edition}")
    lines = ["vintage,x,w,y,z,kind"]
    for i in range(12):
        numbers = (f"{grow**i * r.uniform(0.9, 1.1) * 1000:09.1f}" for grow in (1.3, 1.4, 1.5, 1.9))
        lines.append(f"{2010 + i}-01-01,{','.join(numbers)},{'uw'[i % 3 == 2]}")
    return "\n".join(lines) + "\n"


def neighbours(seed: int) -> list[dict[str, Any]]:
    """Return cases in which a choice says all, each followed by what differs from it in one thing and by what door."""
    r, cases = random.Random(seed), []
    for form in ("shape", "registered law"):
        first = {name: values[0] for name, values in FIELDS.items()} | {"form": form}
        cases.append(first)
        for name in _told_by(first):
            cases.append(_changed(r, first | {"door": r.choice(SHARING)}, name))
    return cases


def walk(seed: int, steps: int) -> list[dict[str, Any]]:
    """Return cases, each the one before but for one thing and perhaps its door; now and then an old one comes back."""
    r = random.Random(seed)
    cases = neighbours(seed)[:1]
    while len(cases) < steps:
        case = cases[-1]
        if r.random() < 0.15:
            case = r.choice(cases)
        else:
            case = _changed(r, case, r.choice(_told_by(case)))
            case |= {"door": r.choice(FIELDS["door"])} if r.random() < 0.5 else {}
        cases.append(case)
    return cases


def _told_by(case: dict[str, Any]) -> list[str]:
    without = {"shape": OF_LAWS, "law": OF_SHAPES, "registered law": (*OF_SHAPES, "law")}[case["form"]]
    return [name for name in FIELDS if name not in without]


def _changed(r: random.Random, case: dict[str, Any], name: str) -> dict[str, Any]:
    return {**case, name: r.choice([each for each in FIELDS[name] if each != case[name]])}


def record(case: dict[str, Any]) -> dict[str, Any]:
    """Return the scenario of a case, as a file has it."""
    choices: dict[str, Any] = {}

    def said(what: str, text: str) -> str:
        if case["chosen"] not in (what, "all"):
            return text
        choices[what] = [text]
        return f"{{{what}}}"

    where = {"kind": case["kind"]} if case["kind"] else {}
    quantity: dict[str, Any] = {"data": said("data", case["file"])} | ({"where": where} if where else {})
    if case["form"] == "shape":
        quantity |= {"shape": said("shape", f"trends/{case['shape']}"), "x": "vintage", "y": case["column"], "unit": ""}
        quantity |= {"since": case["since"]} if case["since"] else {}
        quantity |= {"records": True} if case["records"] else {}
        quantity |= {"options": case["options"]} if case["options"] and case["shape"] != "exponential" else {}
        quantity |= {"keeps": case["keeps"]} if case["keeps"] else {}
    else:
        own = case["form"] == "law"
        quantity |= {"law": said("law", case["law"] if own else "resources/log-linear"), "y": case["column"]}
        quantity |= {"variables": ["x"]} if own else {}
        quantity |= {"x": "size", "let": {"x": case["let"]}}
        quantity |= {"objective": case["objective"]} if case["objective"] else {}
    return {
        "start": 2024, "until": 2027, "choices": choices,
        "quantities": {"size": {"value": 2e4, "unit": ""}, "q": quantity},
        "questions": {"reached": {"when": "q*size >= 1e11"}},
    }  # fmt: skip


def call(case: dict[str, Any], before: dict[str, Any] | None = None) -> str:
    """Make a call in this folder, whose file is written first; return what tells its result from others.

    One to a page that stays open comes after that of `before`, where one is given.
    """
    import forecast
    from forecast.cli import main
    from forecast.cli.explore.session import Session
    from forecast.scenarios.toml_text import toml_text

    stated, path = record(case), Path("case.toml")
    path.write_text(toml_text(stated))
    _write(case)
    options: dict[str, Any] = {"draws": DRAWS, "seed": case["seed"]}
    grown = case["growth"] and case["form"] == "shape"
    beside = {"as_of": case["as_of"]} | ({"with_": {"q.growth": case["growth"]}} if grown else {})
    try:
        match case["door"]:
            case "mapping":
                return _bytes(forecast.project(stated, **options, **beside))
            case "sweep":
                return _bytes(forecast.project(stated, sweep={"size": [1e4, 3e4]}, **options, **beside))
            case "scenario":
                return _bytes(forecast.Scenario.load(path).ask("reached", **options, **beside).run)
            case "run":
                words = ["run", str(path), "--json", "--draws", str(DRAWS), "--seed", str(case["seed"])]
                words += ["--set", f"q.growth={case['growth']}"] if grown else []
                words += ["--as-of", str(case["as_of"])] if case["as_of"] else []
                with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
                    code = main(words)
                return _digest(f"{code} {out.getvalue()} {err.getvalue()}".encode())
            case "explore":
                with Session(str(path), **options) as session:
                    if before is not None:
                        _write(before)
                        session.run({"toml": toml_text(record(before))})
                        _write(case)
                    asked = {"set": {"q.growth": str(case["growth"])}} if grown else {}
                    return _bytes(session.run(asked))
            case "ask":
                asked = f"{case['file']}:{case['column']} >= 1e6"
                return _bytes(forecast.ask(asked, **options, as_of=case["as_of"]).run)
            case _:
                return _bytes(forecast.project(path, **options, **beside))
    except forecast.errors.ForecastError as error:
        return f"{type(error).__name__}: {error}"


def _write(case: dict[str, Any]) -> None:
    """Write the file: one that is edited in its place keeps its length and its time."""
    Path(case["file"]).write_text(rows(case["file"], case["edition"]))
    os.utime(case["file"], (1e9, 1e9))


def _bytes(run: Any) -> str:
    """Return what tells a projection from others: all that a file of it would hold."""
    parts: list[Any] = []
    for node in run.to_xarray().subtree:
        parts += [node.path, sorted(node.attrs.items())]
        for name, column in sorted(node.variables.items()):
            values = column.values.tolist() if column.dtype.kind == "O" else column.values.tobytes()
            parts += [name, column.dims, values, sorted(column.attrs.items())]
    return _digest(repr(parts).encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main() -> None:
    """Read cases as JSON, and write what each gives in a copy of a process that has computed nothing."""
    from forecast.contract import registry

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # imports alone are to outlast this
        first = {name: values[0] for name, values in FIELDS.items()}
        for door in FIELDS["door"]:
            call({**first, "door": door, "form": "law" if door == "project" else "shape"})
    registry.get_registry.cache_clear()  # and with it all that runs share
    registry.get_registry()
    for case in json.load(sys.stdin):
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            os.write(write, call(case).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            print(json.dumps(pipe.read().decode()), flush=True)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
