"""Described tables: fetched once from a server of our own, verified, kept; nothing else touches the network."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forecast.base import access
from forecast.errors import DownloadError, TableError
from forecast.tables import table
from forecast.tables.remote import download
from forecast.tables.remote.download import cache_folder
from toolkit import digest, fetch, package, remote

BODY = b"run,loss\na,2.5\nb,2.25\n"
DIGEST = digest(BODY)


@pytest.fixture
def server(upstream: Any) -> str:
    """Serve BODY, half of it, much of it, a redirect to a local file and a circle of them."""
    upstream.pages = {
        "/runs.csv": BODY,
        "/big": BODY * 10_000,
        "/short": (200, {"Content-Length": str(2 * len(BODY))}, BODY),
        "/circle": (302, {"Location": "/circle"}, b""),
        "/redirect": (302, {"Location": "file:///etc/hostname"}, b""),
    }
    return upstream.url


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("the network was used")

    monkeypatch.setenv("FORECAST_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with access.allow(downloads=True):
        yield tmp_path / "cache"


FIELDS = [{"name": "run", "type": "string"}, {"name": "loss", "type": "number", "unit": ""}]


def descriptor(folder: Path, url: str, **changes: object) -> Path:
    return package(folder, "runs", remote("runs", url, FIELDS, **{"hash": DIGEST, **changes}))


def test_a_described_table_is_fetched_once(server: str, upstream: Any, tmp_path: Path) -> None:
    path = descriptor(tmp_path, f"{server}/runs.csv")
    assert table(path)["loss"].values.tolist() == [2.5, 2.25]
    assert table(path)["loss"].sizes == {"run": 2}
    assert upstream.asked == ["/runs.csv"]
    kept = list(cache_folder().iterdir())
    assert [p.read_bytes() for p in kept] == [BODY]


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("/missing", "the server answers 404"),
        ("/big", "sha256:"),
        ("/circle", "/circle: the server redirects in a circle, or too often;"),
        ("/short", "/short: the connection broke off before the end of the file;"),
        ("/redirect", "file:///etc/hostname': expected an http or https URL;"),
    ],
)
def test_what_is_not_the_described_file_is_not_kept(server: str, page: str, says: str) -> None:
    with pytest.raises(DownloadError, match=says) as caught:
        fetch(server + page, DIGEST, "a.csv")
    assert "\n" not in str(caught.value)
    assert not any(cache_folder().iterdir())


def test_the_size_is_capped(server: str) -> None:
    with pytest.raises(DownloadError, match="larger than the limit"):
        fetch(server + "/big", DIGEST, "a.csv", limit=1000)
    assert not any(cache_folder().iterdir())


def test_a_slow_server_meets_a_deadline(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "DEADLINE_SECONDS", -1.0)
    with pytest.raises(DownloadError, match="takes too long"):
        fetch(server + "/runs.csv", DIGEST, "a.csv")


def test_bad_input_088_offline_says_what_to_do(offline: Path, tmp_path: Path) -> None:
    with pytest.raises(DownloadError) as caught:
        table(descriptor(tmp_path, "https://example.org/runs.csv"))
    message = str(caught.value)
    assert "https://example.org/runs.csv" in message
    assert "\n" not in message
    by_hand = message.partition("put the file by hand at ")[2]
    assert by_hand.startswith(str(offline))
    Path(by_hand).write_bytes(BODY)
    assert table(tmp_path)["loss"].values.tolist() == [2.5, 2.25]


def test_bad_input_088_the_cached_copy_is_used_offline(offline: Path) -> None:
    offline.mkdir()
    target = offline / f"{DIGEST[7:19]}-a.csv"
    target.write_bytes(BODY)
    assert fetch("https://example.org/a", DIGEST, "a.csv") == target
    target.write_bytes(BODY + b"c,9\n")
    with pytest.raises(DownloadError, match="the file there now is another one"):
        fetch("https://example.org/a", DIGEST, "a.csv")
    assert target.read_bytes() == BODY + b"c,9\n"  # what somebody put there is left alone


def test_bad_input_088_a_dead_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    monkeypatch.setenv("FORECAST_DATA", str(tmp_path))
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "")
    with access.allow(downloads=True), pytest.raises(DownloadError, match="no connection through the proxy"):
        fetch("http://example.org/a", DIGEST, "a.csv")


@pytest.mark.slow
def test_bad_input_088_local_tables_use_no_network(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_bytes(BODY)
    descriptor(tmp_path, "runs.csv", parser=None)
    code = (
        "import socket, sys\n"
        "def no(*a, **k): raise SystemExit('network')\n"
        "socket.socket.connect = no; socket.getaddrinfo = no\n"
        "import forecast.tables as t\n"
        f"t.table({str(tmp_path)!r})\n"
        "print('requests' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["False"], done.stderr


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/a",
        "file:///etc/passwd",
        "http://",
        "http://u:p@example.org/a",
        "http://[::1/a",
        "http://a b/",
    ],
)
def test_only_plain_web_addresses(url: str, offline: Path) -> None:
    with pytest.raises(DownloadError) as caught:
        fetch(url, DIGEST, "a.csv")
    assert "u:p" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"hash": None}, r"resources\[0\]\.hash: is missing"),
        ({"licenses": None}, r"resources\[0\]\.licenses: is missing"),
        ({"parser": None}, r"resources\[0\]\.parser: is missing"),
        ({"path": "ftp://example.org/a"}, r"resources\[0\]\.path: a URL: expected http or https"),
        ({"format": "parquet"}, r"resources\[0\]\.format: 'parquet' needs a parser"),
    ],
)
def test_a_download_is_fully_described(change: dict, says: str, tmp_path: Path, offline: Path) -> None:
    with pytest.raises(TableError, match=says):
        table(descriptor(tmp_path, "https://example.org/a", **change))


READERS = """
def forecast_readers():
    for name in ("semicolons", "broken", "wrong", "ragged"):
        yield ReaderSpec(name=name, target=f"demo_parser:{name}", reference="test")
"""


def test_a_reader_hands_over_columns(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_plugins: Any
) -> None:
    fake_plugins.add("demo", READERS)
    (tmp_path / "demo_parser.py").write_text(
        "def semicolons(path):\n    print('noise')\n    return {'run': ['a', 'b'], 'loss': [0.1, None]}\n"
        "def broken(path):\n    raise ValueError('bad\\nfile')\n"
        "def wrong(path):\n    return {'run': ['a', 'b'], 'loss': ['x', '1']}\n"
        "def ragged(path):\n    return {'run': ['a', 'b'], 'loss': [1.0]}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def load(name: str) -> object:
        return table(descriptor(tmp_path, f"{server}/runs.csv", parser=name, format="text"))

    loss = load("demo/semicolons")["loss"].values  # type: ignore[index]
    assert loss[0] == 0.1
    assert loss[1] != loss[1]
    with pytest.raises(TableError, match="reader demo/broken: ValueError: bad"):
        load("broken")
    with pytest.raises(TableError, match=r"runs\.data:1:loss: 'x': expected a number"):
        load("wrong")
    with pytest.raises(TableError, match="different length"):
        load("ragged")
