"""What many tests need: data from known laws, fits of stated parameters, tables on disk, and the command line."""

from __future__ import annotations

import ast
import base64
import contextvars
import functools
import hashlib
import io
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, redirect_stdout
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import pytest

import forecast
from forecast.cli import main
from forecast.contract import registry, specs
from forecast.projection.paths import run_cache
from forecast.projection.paths.run_cache import RunCache
from forecast.report.page.draw_encoding import EncodedDraws, EncodedValues
from forecast.tables import file_hash

# --- pages -----------------------------------------------------------------------------------------------------------


def page_data(page: str) -> dict[str, Any]:
    """Return what the script of a page draws from."""
    (packed,) = re.findall(r'<script type="application/zlib" id="data">([A-Za-z0-9+/=]*)</script>', page)
    return json.loads(zlib.decompress(base64.b64decode(packed)))


# --- names in source text ---------------------------------------------------------------------------------------------


def listed_names(tree: ast.Module) -> list[str] | None:
    """Return what a module writes out as its ``__all__``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return ast.literal_eval(node.value)
    return None


def public_names(tree: ast.Module) -> list[str]:
    """Return what a module lists or, without a list, what it defines or imports as itself and has no underscore."""
    listed = listed_names(tree)
    return [n for n in _defined(tree.body) if not n.startswith("_")] if listed is None else listed


def _defined(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            yield from (each.name for each in node.names if each.name == each.asname)
        elif isinstance(node, ast.If):
            yield from _defined([*node.body, *node.orelse])


# --- plugins ----------------------------------------------------------------------------------------------------------

#: What a plugin's hooks return, and what stands in it.
RECORDS = [name for name in forecast.__all__ if hasattr(specs, name)]


def plugin_module(source: str) -> str:
    """Return the text of a plugin's module: without a mark of its own, each hook is marked and each record imported."""
    if "hookimpl" in source or "def forecast_" not in source:
        return source
    text = re.sub(r"^def forecast_", "@hookimpl\ndef forecast_", source, flags=re.MULTILINE)
    title, body = re.fullmatch(r'("""[^\n]*"""\n)?(.*)', text, re.DOTALL).groups("")
    return f"{title}from forecast import {', '.join(RECORDS)}, hookimpl\n{body}"


# --- data from known laws ---------------------------------------------------------------------------------------------


def noise(n: int, scale: float = 0.02, seed: int = 0) -> np.ndarray:
    """Log-normal factors around 1."""
    return np.exp(scale * np.random.default_rng(seed).standard_normal(n))


def saturating(n: int = 40, scale: float = 0.02, seed: int = 0, gain: float = 1.0) -> dict[str, np.ndarray]:
    """Return points of ``1.7 + 8 (gain x)^-0.35`` from x = 10 to 10,000, with relative noise."""
    x = np.geomspace(10, 1e4, n)
    return {"x": x, "y": (1.7 + 8 * (gain * x) ** -0.35) * noise(n, scale, seed)}


def training_runs(n: int = 80) -> dict[str, np.ndarray]:
    """Return runs of many sizes on many tokens whose loss is that of Besiroglu et al., with 1 % of noise."""
    law, rng = forecast.law("scaling/chinchilla"), np.random.default_rng(0)
    points = {"N": 10 ** rng.uniform(8, 10, n), "D": 10 ** rng.uniform(9, 11, n)}
    loss = law.value(law.published("besiroglu2024").values, **points)
    return {**points, "loss": loss * np.exp(0.01 * rng.standard_normal(n))}


def stated(expression: str, parameters: Mapping[str, float], **options: Any) -> forecast.Fit:
    """Return a fit that nobody made: the law with these parameters, as a paper might state them."""
    published = forecast.PublishedFit(name="p", parameters=parameters, reference="test")
    return forecast.Law(expression, published=(published,), **options).published("p")


# --- tables on disk ---------------------------------------------------------------------------------------------------


def resource(folder: Path, name: str, /, text: str, fields: Iterable[dict], key: object, **schema: object) -> dict:
    """Write ``NAME.csv`` and return its description; what more is given goes into its schema."""
    path = folder / f"{name}.csv"
    path.write_text(text, encoding="utf-8", newline="")
    described = {"fields": list(fields), "primaryKey": key, **schema}
    return {"name": name, "path": path.name, "hash": file_hash(path), "schema": described}


def remote(name: str, url: str, fields: Sequence[dict], **changes: object) -> dict:
    """Return the description of a file that is downloaded, whose key is its first column.

    `changes` replace or (None) remove its keys.
    """
    schema = {"fields": fields, "primaryKey": fields[0]["name"]}
    licences = [{"name": "CC-BY-4.0"}]
    made = {"name": name, "path": url, "hash": "recorded", "parser": "csv", "licenses": licences, "schema": schema}
    return {key: value for key, value in {**made, **changes}.items() if value is not None}


def digest(data: bytes) -> str:
    """Return the hash of a file as a description states it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def fetch(url: str, published: str, name: str, **how: Any) -> Path:
    """Return the file of a published hash, from the cache or the network."""
    from forecast.tables.remote.trust_on_first_use import take

    return take(url, name, where="demo", published=published, **how).path


def package(folder: Path, name: str, /, *resources: dict, file: str = "datapackage.json", **changes: object) -> Path:
    """Write the description of a table and return its path; `changes` replace or (None) remove its keys."""
    record = {
        "name": name, "title": name.title(), "version": "1", "licenses": [{"name": "CC0-1.0"}],
        "sources": [{"title": "data sheets"}], "resources": list(resources), **changes,
    }  # fmt: skip
    path = folder / file
    path.write_text(json.dumps({k: v for k, v in record.items() if v is not None}), encoding="utf-8")
    return path


# --- text of scenarios ------------------------------------------------------------------------------------------------

#: A quantity that grows, what it is compared with, and a regime.
GROWING = """
start = 2025
until = 2035
[quantities.goal]
value = 8
unit = "FLOP/s"
[quantities.kind]
draw = { fast = 0.5, slow = 0.5 }
[quantities.machine]
expression = "goal*exp(0.3*(t - start))"
"""


def inputs(file: str, column: str) -> str:
    """Return quantities of every kind of input; one has its draws in a column of a file."""
    return f"""
[quantities.kind]
draw = {{ exponential = 0.45, super = 0.45, sub = 0.10 }}
[quantities.plan]
schedule = [[2026, 2.6], [2029-07-02, 2.0]]
as = "rate"
between = "log"
[quantities.mine]
draws = "{file}"
column = "{column}"
unit = "FLOP"
[quantities.raw]
normal = [1.46, 2.46]
width = 0.8
truncate = [-1, inf]
unit = ""
[quantities.exact]
quantiles = {{ 0.05 = 1, 0.5 = 2, 0.95 = 9 }}
unit = ""
[quantities.req]
fitted = "normal"
of = "raw"
"""


# --- forecasts in a ledger --------------------------------------------------------------------------------------------

#: A forecast of a date, and one of a number, as a line of a ledger has them before it is hashed.
DATE = {
    "kind": "forecast", "on": "2026-01-01", "scenario": "s", "question": "q", "asks": "when", "asked": "x >= 1",
    "unit": "year", "choices": {}, "resolves": "the almanac", "draws": 100, "start": "2026-01-01",
    "until": "2036-01-01", "by": [{"date": "2030-01-01", "probability": 0.5}],
    "quantiles": {"p05": "2028-01-01", "p25": "2029-01-01", "p50": "2030-01-01", "p75": "2031-01-01", "p95": None},
    "points": [2028.5, 2029.5, 2030.5, None],
}  # fmt: skip
VALUE = {
    **{key: DATE[key] for key in ("kind", "on", "scenario", "choices", "resolves", "draws")},
    "question": "v", "asks": "value", "asked": "x", "unit": "USD", "at": "2030-01-01", "points": [1.0, 2.0, 4.0],
    "quantiles": {"p05": 1.0, "p25": 1.5, "p50": 2.0, "p75": 3.0, "p95": 4.0},
}  # fmt: skip


# --- the command line -------------------------------------------------------------------------------------------------


def no_constant(text: str) -> NoReturn:
    """Refuse NaN and infinity, which are no JSON."""
    raise AssertionError(f"{text} is no JSON")


def json_of(text: str) -> Any:
    """Read JSON as strictly as everybody else does."""
    return json.loads(text, parse_constant=no_constant)


#: What a command that only lists loads none of.
HEAVY = ("matplotlib", "mcp", "numpy", "pandas", "pint", "scipy", "statsmodels", "sympy", "xarray")


def heavy_imports(commands: Iterable[Sequence[str]], env: Mapping[str, str]) -> list[str]:
    """Run commands in a process of their own; return a line for each that fails, is silent or loads a heavy library."""
    script = f"""
import contextlib, io, sys
from forecast.cli import main
for words in {[*map(list, commands)]!r}:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = main(words)
    lazy = {{m for m, each in sys.modules.items() if type(each).__name__ == "_LazyModule"}}
    heavy = [m for m in {HEAVY!r} if m in sys.modules and m not in lazy]
    if code or heavy or not out.getvalue():
        print(words, code, heavy)
"""
    words = [sys.executable, "-c", script]
    done = subprocess.run(words, env=env, stdout=subprocess.PIPE, text=True, timeout=120, check=True)
    return done.stdout.splitlines()


class Said(NamedTuple):
    """What a command left: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The object on stdout."""
        return json_of(self.out)

    @property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """The parameters of a fit, by name."""
        return {row["name"]: row for row in self.json["result"]["parameters"]}

    @property
    def refusal(self) -> str:
        """The one line of an error; nothing stands on stdout."""
        assert self.code in (1, 2), self.out
        return self.refused(self.code)

    def refused(self, code: int = 2) -> str:
        """Return the one line of an error with this exit code; nothing stands on stdout."""
        assert self.code == code, self.err
        assert self.out == ""
        (line,) = self.err.splitlines()
        assert self.err == f"{line}\n"
        assert line.startswith("forecast: error: ")
        assert line.isprintable()
        assert "Traceback" not in line
        return line


def command(*verb: str) -> Callable[..., Said]:
    """Return what runs ``forecast VERB ...`` in this process, for a test that holds `capsys`."""

    def run(capsys: Any, *words: str) -> Said:
        capsys.readouterr()
        code = shared_main([*verb, *words])
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return run


def call(*words: object) -> Said:
    """Run ``forecast ...`` in this process, for a test that holds no `capsys`."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = shared_main([str(word) for word in words])
    return Said(code, out.getvalue(), err.getvalue())


def shared_main(words: Sequence[str]) -> int:
    """Run ``forecast ...`` in this process, with what its process has fitted and drawn so far."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_cache, "RunCache", _shared_cache)
        return main(words)


def _shared_cache(size: int = 0, *, lasting: bool = False) -> RunCache:
    """Let a command share what its process has fitted and drawn; one that ends with its process keeps nothing."""
    return RunCache(size, lasting=True) if lasting else run_cache.cache_of_process()


def spawn(*words: object, env: Mapping[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run ``forecast ...`` in a process of its own and wait for it; the options are those of `subprocess.run`."""
    given = {"capture_output": True, "text": True, "timeout": 120, "check": False} | options
    return subprocess.run(
        [sys.executable, "-m", "forecast", *map(str, words)], env={**os.environ, **(env or {})}, **given
    )


def started(*words: object, **options: Any) -> subprocess.Popen[str]:
    """Start ``forecast ...`` in a process of its own; the options are those of `subprocess.Popen`.

    Ctrl-C reaches it, even where the tests run in the background of a script: such a job ignores SIGINT and hands that
    down to what it starts.
    """
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": _heeds_ctrl_c} | options
    return subprocess.Popen([sys.executable, "-m", "forecast", *map(str, words)], **given)


def wait_for(file: Path) -> None:
    """Wait until a file is there that a process writes when it has begun."""
    until = time.monotonic() + 120
    while not file.exists() and time.monotonic() < until:
        time.sleep(0.02)


def _heeds_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def forked(folder: Path, *words: object) -> BaseProcess:
    """Start ``forecast ...`` in a folder, silent, in a copy of this process, which need not import everything anew."""
    process = multiprocessing.get_context("fork").Process(target=_silent, args=(folder, [*map(str, words)]))
    process.start()
    return process


def _silent(folder: Path, words: list[str]) -> NoReturn:
    os.chdir(folder)
    for number in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    os._exit(main(words))


def copied(
    *words: object, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``forecast ...`` in a copy of this process: apart, as by `spawn`, without importing everything anew.

    Settings that Python reads when it starts, such as PYTHONHASHSEED or LC_ALL, need `spawn`.
    """
    _warm()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given = (out.fileno(), err.fileno(), [*map(str, words)], {**os.environ, **(env or {})}, cwd)
        process = multiprocessing.get_context("fork").Process(target=_copied, args=given)
        process.start()
        process.join(120)
        if process.is_alive():
            process.kill()
            raise subprocess.TimeoutExpired([*map(str, words)], 120)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
        return subprocess.CompletedProcess([*map(str, words)], process.exitcode or 0, *texts)


@functools.cache
def _warm() -> None:
    """Import here what every answer needs, lest each copy do it."""
    small({"x": {"value": 1, "unit": "FLOP"}}, "", draws=2)


def _copied(out: int, err: int, words: list[str], env: dict[str, str], cwd: Path | None) -> NoReturn:
    code = 70
    try:
        os.environ.clear()
        os.environ.update(env)
        time.tzset()
        os.chdir(cwd or Path.cwd())
        for number, file in ((1, out), (2, err)):
            os.dup2(file, number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
        registry.get_registry.cache_clear()
        code = contextvars.Context().run(main, words)  # with none of the limits and permissions of a test
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def starts_in_the_c_locale() -> None:
    """Skip where Python itself does not: its files of paths (``*.pth``) are read as ASCII there, without UTF-8 mode."""
    if not f"{sys.prefix}{Path(forecast.__file__)}".isascii():
        pytest.skip("in the C locale Python does not start from a folder whose name is not ASCII")


# --- many cases in one test -------------------------------------------------------------------------------------------


def sample(cases: Iterable[Any], step: int, then: int = 1) -> list[Any]:
    """Return the cases of a parametrised test: one in `step`, the first among them, by default, where it is not 0.

    Of the others one in `then` is slow; the rest, which say at larger size what these say, are xslow.
    """
    marked, others = list[Any](), 0
    for i, case in enumerate(cases):
        if step and i % step == 0:
            marked.append(case)
        else:
            mark = pytest.mark.xslow if others % then else pytest.mark.slow
            marked.append(pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=mark))
            others += 1
    return marked


Case = Callable[[object], AbstractContextManager[None]]


@contextmanager
def every() -> Iterator[Case]:
    """Go through many cases in one test: each is tried, and those that fail are named together at the end."""
    failed: list[str] = []

    @contextmanager
    def case(name: object) -> Iterator[None]:
        try:
            yield
        except (Exception, pytest.fail.Exception) as error:
            failed.append(f"{name}: {type(error).__name__}: {error}")

    yield case
    assert not failed, f"{len(failed)} failed:\n" + "\n".join(failed)


# --- projections ------------------------------------------------------------------------------------------------------


def parity(**options: Any) -> Any:
    """Return the projection of brain-parity to 2100, in few worlds."""
    return forecast.project("brain-parity", **{"until": 2100, "draws": 200, **options})


def small(quantities: Mapping[str, Any], when: str = "x >= limit", **options: Any) -> Any:
    """Return a projection of a few quantities that asks one question, or none."""
    made: dict[str, Any] = {"title": "When?", "start": 2025, "until": 2040, "quantities": quantities}
    if when:
        made["questions"] = {"q": {"when": when, "title": "x reaches its limit"}}
    return forecast.project(made, **{"draws": 400, **options})


def growing(limit: Mapping[str, Any]) -> dict[str, Any]:
    """Return a quantity that doubles every year, from 1 FLOP in 2000, and its limit."""
    data = {"t": [2000.0, 2001.0, 2002.0, 2003.0], "v": [1.0, 2.0, 4.0, 8.0]}
    model = forecast.trend(data, x="t", y="v", unit="FLOP", shape="trends/exponential", name="x").model
    return {"x": {"model": model}, "limit": {**limit, "unit": "FLOP"}}


def assert_bitwise(found: np.ndarray, expected: np.ndarray) -> None:
    """Hold two arrays to the same type, shape and bytes."""
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


# --- the worlds of a page ---------------------------------------------------------------------------------------------
# What the script of a page does with its codes, in Python.


def decoded_values(of: EncodedValues) -> np.ndarray:
    """Return what codes say: the middle of their step; the low end below it, infinity above the high one."""
    top = int(np.iinfo(of.codes.dtype).max) - 1
    low, width = of.low[..., None], (of.high - of.low)[..., None]
    out = low + (of.codes.astype(float) - 0.5) / (top - 1) * width
    out = np.where(of.codes == 0, low, out)
    out = np.exp(out) if of.log else out
    return np.where(of.codes > top, np.nan, np.where(of.codes == top, np.inf, out))


def remaining_worlds(worlds: EncodedDraws, narrowed: Mapping[str, Sequence[int]]) -> np.ndarray:
    """Tell which worlds lie in ranges of assumptions, two shares in percent; or have one of some values, by place."""
    out = np.ones(worlds.count, dtype=bool)
    for name, stated in narrowed.items():
        ranks = worlds.inputs[name].ranks.astype(np.int64)
        if worlds.inputs[name].has_few_values:
            out &= np.isin(ranks, stated)
        else:
            low, high = stated
            out &= (ranks * 100 >= low * len(ranks)) & (ranks * 100 < high * len(ranks))
    return out


def values_of_worlds(worlds: EncodedDraws, of: EncodedValues, chosen: Mapping[str, str]) -> np.ndarray:
    """Return what every world says under these values of choices, those that have weights drawn; (..., draw)."""
    every = np.arange(worlds.count)
    place = tuple(
        np.full(worlds.count, worlds.run.choices[d].values.index(chosen[d])) if d in chosen else worlds.rival_of_draw[d]
        for d in of.dims
    )
    values = decoded_values(of)
    return np.moveaxis(values[(*place, slice(None), every)], 0, -1) if of.kind == "path" else values[(*place, every)]
