"""Hostile input, made from a seed: text of the grammars and of shipped files, changed at random.

Run as a program it tries seeds one after the other and writes down, for each kind, how many were tried and what went
wrong. An audit hook watches over it: the program must not open a file outside the case's folder and the installation,
start a process, compile text or reach the network, whatever it is given.
"""

from __future__ import annotations

import io
import json
import os
import random
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

#: A case that takes so many seconds of CPU is one that does not end.
LIMIT_S = 120

# --- what is made -----------------------------------------------------------------------------------------------------

NAMES = [
    "a", "b", "x", "N", "D", "E", "I", "S", "beta", "gamma", "lambda", "pi", "e", "nan", "inf", "None", "exp", "log",
    "min", "max", "abs", "sqrt", "__import__", "__class__", "os", "eval", "draw", "time", "ｘ", "é", "x y", "a.b",
    "x[0]", "x" * 70, "_", "__a__", "True", "zoo",
]  # fmt: skip
NUMBERS = [
    "0", "1", "2", "-1", "0.5", "1e308", "1e-308", "1e999", "9" * 400, "0x10", "1_000", "1j", "007", ".5", "5.", "1e",
    "nan", "-0.0", "３",
]  # fmt: skip
OPERATORS = ["+", "-", "*", "/", "**", "^", "%", "//", "@", "<", ">=", "==", "and", "or", "not ", "if ", ":=", "!", "|"]
SHAPES = ["({})", "exp({})", "log({})", "min({}, 1)", "max({}, {})", "-{}", "+{}", "abs({})", "f({})", "{}.real",
          "{}[0]", "lambda: {}", "[{}]", "{{{}}}", "'{}'", "f'{}'", "({},)", "{} if x else {}", "sin({})", "{}()",
          "getattr({}, 'x')", "__import__('os').system('touch P')"]  # fmt: skip
SPICE = ["\0", "\n", "\r", "\t", "\x1b[2J", "\u202e", "\ud800", "\ufeff", "'", '"', "\\", "#", ";", "=", ",", "{", "}",
         "../", "/etc/passwd", "http://127.0.0.1/", "file:///etc/passwd", "os:system", "runpy:run_path", "%s", "$(id)",
         "`id`", "<script>", "=1+1", "@SUM(A1)", "1e400", "-", "NaN", "\N{ARABIC-INDIC DIGIT THREE}"]  # fmt: skip


def formula(r: random.Random, depth: int = 0) -> str:
    """Return a formula, or something like one."""
    if depth > 6 or r.random() < 0.3:
        return r.choice(NAMES if r.random() < 0.6 else NUMBERS)
    if r.random() < 0.5:
        return f"{formula(r, depth + 1)} {r.choice(OPERATORS[:5] * 6 + OPERATORS)} {formula(r, depth + 1)}"
    shape = r.choice(SHAPES[:9] * 4 + SHAPES)
    return shape.format(*(formula(r, depth + 1) for _ in range(2)))


def repeated(r: random.Random) -> str:
    """Return a text that is long or deep."""
    unit, end = r.choice([
        ("(", ")"), ("min(x, ", ")"), ("-", ""), ("x**", ""), ("exp(", ")"), ("x+", ""), ("a*", ""), ("[", "]"),
        ("(x+a)**", ""), ("1/", ""), ("not ", ""), ("x<", ""),
    ])  # fmt: skip
    n = r.choice([10, 50, 200, 2000, 20000])
    return unit * n + "x" + end * n


def mutated(r: random.Random, text: str) -> str:
    """Return a text with a few places changed."""
    for _ in range(r.randint(1, 6)):
        at = r.randrange(len(text) + 1)
        to = min(len(text), at + r.choice([0, 1, 1, 3, 20, 200]))
        new = r.choice([r.choice(SPICE), r.choice(NAMES), r.choice(NUMBERS), "", text[at:to] * 2, formula(r, 4)])
        text = text[:at] + new + text[to:]
    return text


def flipped(r: random.Random, data: bytes) -> bytes:
    """Return bytes with some changed, cut off or put in."""
    out = bytearray(data)
    for _ in range(r.choice([1, 1, 2, 5, 50])):
        if not out:
            break
        how, at = r.randrange(5), r.randrange(len(out))
        if how < 3:
            out[at] ^= 1 << r.randrange(8)
        elif how == 3:
            del out[at : at + r.choice([1, 8, 512])]
        else:
            out[at:at] = bytes(r.randrange(256) for _ in range(r.choice([1, 8, 64])))
    return bytes(out[: r.randrange(len(out) + 1)] if r.random() < 0.1 else out)


# --- what is done with it ---------------------------------------------------------------------------------------------


class Kinds:
    """Each kind of input: made from a seed, and used as a person would use it."""

    def __init__(self, folder: Path, corpus: dict[str, list[Any]]) -> None:
        self.folder, self.corpus = folder, corpus

    def formula(self, r: random.Random) -> None:
        """Read a formula or a condition; compute it, write it and differentiate it."""
        from forecast import Law
        from forecast.formula import parse, parse_condition, parse_expression

        text = repeated(r) if r.random() < 0.05 else formula(r)
        if r.random() < 0.3:
            text = mutated(r, text)
        if r.random() < 0.2:
            parse_condition(text)
            return
        tree = parse(text)
        tree.evaluate(dict.fromkeys(tree.names, 1.5))
        assert parse(tree.text).text == tree.text
        assert parse_expression(text) == tree  # a scenario reads whatever a law reads
        tree.latex()
        if r.random() < 0.3:
            law = Law(text, variables=["x"])
            law.value(dict.fromkeys(law.parameters, 0.5), x=2.0)

    def toml(self, r: random.Random) -> None:
        """Read a scenario, and build its graph."""
        from forecast import Scenario
        from forecast.scenarios.graph import build

        path = self.folder / "case.toml"
        path.write_bytes(mutated(r, r.choice(self.corpus["toml"])).encode("utf-8", "surrogatepass"))
        build(Scenario.load(path))

    def descriptor(self, r: random.Random) -> None:
        """Read a described table."""
        from forecast import tables

        text, csv = r.choice(self.corpus["descriptor"])
        (self.folder / "rows.csv").write_bytes(csv)
        text = mutated(r, text)
        (self.folder / "datapackage.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        tables.table(self.folder)

    def csv(self, r: random.Random) -> None:
        """Read a file of data."""
        from forecast import tables

        data = r.choice(self.corpus["csv"])
        data = flipped(r, data) if r.random() < 0.5 else mutated(r, data.decode()).encode("utf-8", "surrogatepass")
        path = self.folder / "case.csv"
        path.write_bytes(data)
        tables.to_columns(path)

    def nc(self, r: random.Random) -> None:
        """Load a saved result."""
        from forecast import load

        path = self.folder / "case.nc"
        path.write_bytes(flipped(r, r.choice(self.corpus["nc"])))
        load(path)


#: How many of ten thousand cases are of each kind; the costly ones are few.
SHARES = {"formula": 6400, "toml": 1100, "descriptor": 800, "csv": 1300, "nc": 400}


#: What no shipped scenario has yet, beside every kind of input.
MORE = """\
[quantities.size]
value = 1e9
unit = "param"
[quantities.tokens]
value = 1e11
unit = "token"
[quantities.loss]
law = "scaling/chinchilla@besiroglu2024"
N = "size"
D = "tokens"
[quantities.own]
law = "E + A*M**-alpha"
variables = ["M"]
data = "rows.csv"
y = "loss"
let = { M = "loss*2" }
M = "exact"
[[correlations]]
of = ["raw", "exact", "kind"]
matrix = [[1, 0.3, 0.1], [0.3, 1, 0.2], [0.1, 0.2, 1]]
[update.req]
log_likelihood = "-8*10**(0.3*(17 - req))"
"""


def corpus(folder: Path) -> dict[str, list[Any]]:
    """Return what is changed: scenarios and tables that are shipped, and results that are saved here."""
    import numpy as np

    from forecast import Law, law, project, save
    from forecast.base.files import file_hash
    from forecast.contract.registry import get_registry

    registry = get_registry()
    toml = [Path(registry.find("scenario", n).spec.path).read_text("utf-8") for n in registry.names("scenario")]
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from toolkit import inputs

    toml.append("until = 2030\n" + inputs("rows.csv", "loss") + MORE)
    made = []
    rows = b"date,run,loss,kind\n2020-01-01,a,2.5,x\n2021-01-01,b,2.25,y\n2022-06-30,c,2.125,x\n"
    (folder / "rows.csv").write_bytes(rows)
    for key in (["run"], [], ["date", "kind"]):
        fields = [{"name": "date", "type": "date"}, {"name": "run", "type": "string"},
                  {"name": "loss", "type": "number", "unit": "nat/token", "constraints": {"minimum": 0}},
                  {"name": "kind", "type": "string", "constraints": {"enum": ["x", "y"]}}]  # fmt: skip
        about = {"name": "runs", "title": "Runs", "version": "1", "licenses": [{"name": "CC0-1.0"}],
                 "sources": [{"title": "us", "path": "https://example.org/"}], "resources": [{"name": "runs",
                 "path": "rows.csv", "hash": file_hash(folder / "rows.csv"),
                 "schema": {"fields": fields, "primaryKey": key}}]}  # fmt: skip
        made.append((json.dumps(about, indent=1), rows))
    remote = json.loads(made[0][0])
    remote["resources"][0] |= {"path": "https://example.org/a.dat", "hash": "sha256:" + "0" * 64, "parser": "csv"}
    made.append((json.dumps(remote), rows))
    fit = Law("E + B*D**-b", variables=["D"]).fit(
        {"D": [1e8, 1e9, 1e10, 1e11, 1e12], "y": [4.01, 2.91, 2.34, 2.02, 1.87]}
    )
    save_all = [
        lambda path: fit.save(path),
        lambda path: law("scaling/chinchilla").published("besiroglu2024").save(path),
        lambda path: save(project({"start": 2025, "until": 2030, "quantities": {"x": {"p05": 1, "p95": 4, "unit": ""}},
                                   "questions": {"q": {"when": "x >= 2"}}}, draws=16), path),
    ]  # fmt: skip
    saved = []
    for i, each in enumerate(save_all):
        each(folder / f"{i}.nc")
        saved.append((folder / f"{i}.nc").read_bytes())
    table = io.StringIO()
    np.savetxt(table, np.random.default_rng(0).random((30, 3)), delimiter=",", header="x,y,z", comments="")
    return {"toml": toml, "descriptor": made, "csv": [rows, table.getvalue().encode()], "nc": saved}


# --- what must not happen ---------------------------------------------------------------------------------------------

FORBIDDEN = re.compile(
    r"os\.(system|exec|fork|forkpty|posix_spawn|spawn|putenv|chmod|chown|kill)|subprocess\.Popen|socket\.(connect|bind|"
    r"getaddrinfo|sendto|sendmsg)|pty\.spawn|ctypes\.dlopen|pickle\.find_class|urllib\.Request|shutil\."
)


class Watch:
    """An audit hook; once armed it notes what no input may bring about."""

    def __init__(self, folder: Path) -> None:
        self.armed, self.seen = False, list[str]()
        own = [str(folder), sys.prefix, sys.base_prefix, *(str(Path(p).resolve()) for p in sys.path if p)]
        self.allowed = tuple(own)
        sys.addaudithook(self)

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note a forbidden event; opening is allowed in the case's folder and the installation."""
        if not self.armed:
            return
        if FORBIDDEN.match(event):
            self.seen.append(f"{event}{arguments!r}"[:300])
        elif event == "open" and isinstance(arguments[0], (str, bytes)):
            path = os.path.abspath(os.fsdecode(arguments[0]))  # noqa: PTH100 - no file is looked at in a hook
            if not path.startswith(self.allowed):
                self.seen.append(f"open {path}"[:300])


def attempt(kinds: Kinds, kind: str, seed: int, watch: Watch) -> str:
    """Try one case; return what went wrong, or nothing."""
    from forecast.errors import ForecastError

    r = random.Random(f"{kind}:{seed}")
    watch.seen.clear()
    signal.signal(signal.SIGVTALRM, _endless)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    watch.armed = True
    wrong = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(kinds, kind)(r)
    except ForecastError as error:
        said = str(error)
        if not said.isprintable():
            wrong = f"an error that does not fit on a line: {said!r}"
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    finally:
        watch.armed = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    if watch.seen:
        wrong = f"did {watch.seen[0]}"
    return wrong


def _endless(*_: object) -> NoReturn:
    raise TimeoutError(f"has not ended after {LIMIT_S} s of CPU")


def cases(count: int, first: int) -> Iterator[tuple[str, int]]:
    """Walk kinds and seeds, `count` in all, in the proportions of `SHARES`."""
    total = sum(SHARES.values())
    for kind, share in SHARES.items():
        for i in range(round(count * share / total)):
            yield kind, first + i


def main(folder: str, count: str, first: str, kept: str) -> int:
    """Try seeds and those that were kept; write what went wrong as JSON lines."""
    here = Path(folder)
    found = corpus(here)
    kinds, watch = Kinds(here, found), Watch(here)
    old = [line.split()[:2] for line in Path(kept).read_text("utf-8").splitlines() if line and not line.startswith("#")]
    done: dict[str, int] = {}
    for kind, seed in [*((k, int(s)) for k, s in old), *cases(int(count), int(first))]:
        done[kind] = done.get(kind, 0) + 1
        wrong = attempt(kinds, kind, seed, watch)
        if wrong:
            print(json.dumps({"kind": kind, "seed": seed, "wrong": wrong[:400]}), flush=True)
    print(json.dumps({"done": done}), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
