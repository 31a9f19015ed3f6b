"""Fixtures every test may use."""

from __future__ import annotations

import csv
import ctypes
import gc
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# Processes on all cores: threads of BLAS beside them wait for each other, which costs a tenth of all CPU. They are
# counted when numpy is imported; what a test starts inherits it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from forecast.base import access
from forecast.contract import registry
from forecast.contract.registry import Registry
from forecast.projection import engine
from toolkit import copied, package, plugin_module, spawn

# How long an example takes says how busy the machine is; what may be slow is a row of tests/benchmarks.
hypothesis.settings.register_profile("lawcast", deadline=None)
hypothesis.settings.load_profile("lawcast")

# a width of whoever runs the tests is not theirs: lines are as long as in a pipe
os.environ.pop("COLUMNS", None)

# a shell without job control ignores SIGINT in what it starts in the background: here it interrupts, as at a terminal
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# an error of display costs no answer, but it fails a test
os.environ["FORECAST_STRICT_DISPLAY"] = "1"


def keep_freed_memory() -> None:
    """Keep what arrays leave behind for the next ones instead of handing it back and clearing it anew (glibc)."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    for option, value in ((-3, 2**25), (-1, 2**28), (-2, 2**24)):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_TOP_PAD
        mallopt(option, value)


keep_freed_memory()

# What was collected stays, and is not searched for garbage again and again: an eighth of all CPU went there.
gc.set_threshold(100_000, 50, 100)

# Between runs a process that holds much hands memory back. That is for hours of one user's runs: here it was a
# twelfth of all CPU, for each test asks another.
engine.RESIDENT_BYTES = 2**30


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is xslow, in whichever tier it stands besides, unless ``-m`` asks for it."""
    if "xslow" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("xslow")]
        items[:] = [item for item in items if not item.get_closest_marker("xslow")]
        config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish() -> None:
    """Leave out of the search for garbage what was made so far."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--fuzz N``."""
    parser.addoption("--fuzz", type=int, default=10_000, metavar="N", help="try N hostile inputs  [default: 10000]")


@pytest.fixture(scope="session")
def reference_data() -> Path:
    """The folder of reference data; a test that asks for it is skipped where there is none.

    With ``FORECAST_REQUIRE_DATA=1`` a missing folder is a failure: the CI must not skip in silence.
    """
    name = os.environ.get("FORECAST_TEST_DATA", "")
    folder = Path(name)
    if name and folder.is_dir():
        return folder
    reason = f"FORECAST_TEST_DATA: {name!r} is no folder" if name else "FORECAST_TEST_DATA is not set"
    if os.environ.get("FORECAST_REQUIRE_DATA") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def chinchilla_points(reference_data: Path) -> dict[str, np.ndarray]:
    """The 240 points of Hoffmann et al. 2022, figure 4, that Besiroglu et al. 2024 fit: all but the five worst."""
    path = reference_data / "scaling" / "chinchilla_epoch" / "svg_extracted_data.csv"
    with path.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    n, flop, loss = (np.array([float(r[c]) for r in rows]) for c in ("Model Size", "Training FLOP", "loss"))
    keep = loss < np.sort(loss)[-5]
    assert keep.sum() == 240
    return {"N": n[keep], "D": flop[keep] / (6 * n[keep]), "loss": loss[keep]}


class FakePlugins:
    """Distributions in a folder on ``sys.path``: `importlib.metadata` and every subprocess see them as installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules: list[str] = []

    def add(
        self,
        name: str,
        source: str,
        *,
        distribution: str | None = None,
        version: str = "1.0",
        module: str | None = None,
    ) -> str:
        """Install a plugin whose module has this source, in which hooks need no mark; returns the module's name."""
        distribution = f"fake-{name}" if distribution is None else distribution
        if module is None:
            module = "fake_" + "".join(c if c.isalnum() else "_" for c in f"{name}_{distribution}")
        (self.folder / f"{module}.py").write_text(plugin_module(source), encoding="utf-8")
        info = self.folder / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        with (info / "entry_points.txt").open("a", encoding="utf-8") as entries:
            entries.write(f"[forecast.plugins]\n{name} = {module}\n")
        self.modules.append(module)
        return module

    @property
    def env(self) -> dict[str, str]:
        """The environment in which a subprocess sees them, without settings of whoever runs the tests."""
        ours = {k: v for k, v in os.environ.items() if not k.startswith(("FORECAST_PLUGINS", "FORECAST_STRICT"))}
        return {**ours, "PYTHONPATH": os.pathsep.join(p for p in (str(self.folder), ours.get("PYTHONPATH")) if p)}


@pytest.fixture(scope="session")
def installed() -> Registry:
    """The plugins that are installed, loaded once: with them stays what was computed for them."""
    return registry.Registry()


@pytest.fixture(scope="session")
def records_of(installed: Registry) -> dict[registry.Hook, tuple[Any, ...]]:
    """What each hook of the installed plugins returned."""
    hooks = (item for source in installed._sources for item in source.hooks.items())
    return {function: registry._call_hook(hook, function) for hook, function in hooks}


@pytest.fixture
def asked_once(records_of: dict[registry.Hook, tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the records of installed plugins from the first loading: only the fakes are others in each test."""
    asked = registry._call_hook

    def answers(hook: str, function: registry.Hook) -> tuple[Any, ...]:
        return records_of[function] if function in records_of else asked(hook, function)

    monkeypatch.setattr(registry, "_call_hook", answers)


@pytest.fixture
def fake_plugins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Registry, asked_once: None
) -> Iterator[FakePlugins]:
    """Plugins made for one test, beside the installed ones: the registry is loaded anew, and put back afterwards."""
    get_registry = registry.get_registry
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delenv("FORECAST_PLUGINS", raising=False)
    monkeypatch.delenv("FORECAST_STRICT", raising=False)
    get_registry.cache_clear()
    fakes = FakePlugins(folder)
    yield fakes
    get_registry.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(registry, "Registry", lambda: installed)
        get_registry()
    for module in fakes.modules:
        sys.modules.pop(module, None)


@pytest.fixture
def command_line(fake_plugins: FakePlugins, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``forecast ...`` in a process of its own, which sees the fake plugins."""

    def run(*words: str, env: dict[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
        return spawn(*words, env={**fake_plugins.env, **(env or {})}, **{"timeout": 120, "cwd": tmp_path, **options})

    return run


@pytest.fixture
def command_copied(fake_plugins: FakePlugins, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``forecast ...`` in a copy of this process, which sees the fake plugins: as `command_line`, and sooner."""

    def run(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return copied(*words, env={**fake_plugins.env, **(env or {})}, cwd=tmp_path)

    return run


class Upstream:
    """A web server of our own: what it gives under each path, and what it was asked for, with which headers.

    What is given is a body, or an answer in full: its status, its headers and its body.
    """

    def __init__(self) -> None:
        self.pages: dict[str, bytes | tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""


@pytest.fixture
def upstream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstream]:
    """A server for downloads, and an empty cache for them; a path without a page is a 404."""
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FORECAST_DATA", str(tmp_path / "cache"))
    here = Upstream()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            here.asked.append(self.path)
            here.headers.append({name.lower(): value for name, value in self.headers.items()})
            page = here.pages.get(self.path)
            if page is None:
                self.send_error(404)
                return
            status, headers, body = page if isinstance(page, tuple) else (200, {}, page)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        here.url = f"http://127.0.0.1:{running.server_port}"
        with access.allow(downloads=True, hosts=["127.0.0.1"]):
            yield here
        running.shutdown()
        thread.join()


def _described(folder: Path, path: str = "price.csv", **changes: object) -> Path:
    """Describe a table of prices, whose file is named so."""
    from forecast.tables import file_hash

    fields = [{"name": "date", "type": "date"}, {"name": "price", "type": "number", "unit": "USD"}]
    resource = {"name": "price", "path": path, "hash": f"sha256:{64 * '0'}", "schema": {"fields": fields}, **changes}
    if (folder / path).is_file() and "hash" not in changes:
        resource["hash"] = file_hash(folder / path)
    return package(folder, "price", resource)


def _naming(key: str, text: str) -> str:
    """Return a scenario that names something at one of the keys that can hold a path."""
    quoted = json.dumps(text)
    if key == "quantities.x.data":
        body = f'[quantities.x]\nshape = "trends/exponential"\ndata = {quoted}\nx = "date"\ny = "price"\nunit = "USD"\n'
    elif key == "quantities.x.table":
        body = f'[quantities.x]\ntable = {quoted}\ncolumn = "price"\naggregate = "lowest"\n'
    elif key == "quantities.x.fallback.table":
        body = (
            '[quantities.x]\ntable = "datasets/fabs"\ncolumn = "cost"\nwhere = { fab = "none" }\n'
            f'fallback = {{ table = {quoted}, column = "price", aggregate = "lowest" }}\n'
        )
    else:
        body = f'[choices]\nc = {{ table = {quoted}, column = "name" }}\n[quantities.x]\nvalue = 1\nunit = ""\n'
    return f"start = 2024\nuntil = 2026\n{body}"


@pytest.fixture
def described() -> Callable[..., Path]:
    """Write the description of a table of prices into a folder."""
    return _described


@pytest.fixture
def naming() -> Callable[[str, str], str]:
    """Write a scenario that names something at one of the keys that can hold a path."""
    return _naming
