"""Tables that are described, not shipped: fetched once, verified, kept in a cache.

The cache is ``FORECAST_DATA``, or the user's cache folder. A cached copy with the described hash is used without asking
the network. Reading a table downloads nothing unless the user allows it (`forecast.base.access`); ``forecast tables
fetch`` does. A file put there by hand does as well: the error of an offline machine says under which name. A file whose
hash nobody published is verified against the one it had at the first fetch
(`forecast.tables.remote.trust_on_first_use`).
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from forecast.base import access, budgets
from forecast.base.files import check_regular
from forecast.errors import BudgetError, DataError, DownloadError, printable

MAX_DOWNLOAD_BYTES = 2 * 2**30
FETCH_COMMAND = "forecast tables fetch NAME"
TIMEOUT_SECONDS = 30.0
#: A server that drips a byte now and then keeps every read within its timeout.
DEADLINE_SECONDS = 1800.0
#: Small: a server that drips is noticed after so many bytes, and what a chunk unpacks to is bounded by it.
CHUNK_BYTES = 1 << 10
#: Who wants to know how far a download is.
_PROGRESS: ContextVar[Callable[[float, float], None] | None] = ContextVar("told", default=None)


def cache_folder() -> Path:
    """Return the folder of downloaded tables: ``FORECAST_DATA``, or the user's cache.

    Examples
    --------
    >>> import os
    >>> os.environ["FORECAST_DATA"] = "/tmp/tables"
    >>> cache_folder().as_posix()
    '/tmp/tables'
    >>> del os.environ["FORECAST_DATA"]
    """
    if chosen := os.environ.get("FORECAST_DATA"):
        return Path(chosen).absolute()
    from platformdirs import user_cache_path

    return user_cache_path("lawcast")


class _Bounded:
    """A file that refuses to grow beyond its limit or its deadline."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self.stream, self.left, self.limit = stream, limit, limit
        self.total = math.inf
        self.end = time.monotonic() + DEADLINE_SECONDS

    def write(self, data: bytes) -> int:
        budgets.check_time("a download", self.limit - self.left, things="bytes")
        self.left -= len(data)
        if self.left < 0 or time.monotonic() > self.end:
            what = "is larger than the limit" if self.left < 0 else "takes too long"
            raise _TransferError(f"it {what} ({self.limit:,} bytes, {DEADLINE_SECONDS:.0f} s)")
        if told := _PROGRESS.get():
            told(self.limit - self.left, self.total)
        return self.stream.write(data)

    def flush(self) -> None:
        self.stream.flush()


@contextlib.contextmanager
def report_downloads(progress: Callable[[float, float], None]) -> Iterator[None]:
    """Tell `progress` of every download inside: bytes done, and in all, which is infinite where nobody says it."""
    token = _PROGRESS.set(progress)
    try:
        yield
    finally:
        _PROGRESS.reset(token)


class _TransferError(Exception):
    """Why a file could not be fetched."""


class RefusedError(_TransferError):
    """An address that a file from a stranger may not name."""


def checked_host(url: str) -> str:
    """Return the host of a plain web address; RefusedError says what another address is."""
    try:
        parts = urlsplit(url)
        host, user = parts.hostname, parts.username
    except ValueError:
        raise RefusedError(f"'{printable(url, 120)}' is not a URL") from None
    if parts.scheme not in ("http", "https") or not host:
        raise RefusedError(f"'{printable(url, 120)}': expected an http or https URL")
    if user is not None:
        raise RefusedError(f"'{printable(host, 120)}': a URL with a user name")
    return host


def check_url(url: str, where: str) -> None:
    """Raise DownloadError unless `url` is a plain web address."""
    try:
        host = checked_host(url)
    except RefusedError as error:
        raise DownloadError(f"{where}: {error}") from None
    if any(not c.isprintable() or c == " " for c in url):
        raise DownloadError(f"{where}: '{printable(host, 120)}': a URL with blanks or control characters")


def absent(url: str, where: str, command: str, by_hand: str) -> str:
    """Say of a file that is not here yet how it comes here; reading a table opens no connection on its own."""
    return (
        f"{where}: {printable(url, 300)} is not here yet: run '{command}', allow the download (--allow-download, "
        f"forecast.allow(downloads=True) in Python), or {by_hand}"
    )


def transfer(url: str, target: Path, limit: int = MAX_DOWNLOAD_BYTES) -> str:
    """Write what a URL gives to a file. Return why it could not be done, or nothing."""
    if not access.current().downloads:  # this is the one place that opens a connection
        return "downloads are not allowed"
    from forecast.tables.remote.connection import session

    try:
        with (
            target.open("wb") as file,
            session() as made,
            made.get(url, timeout=TIMEOUT_SECONDS, stream=True) as answer,
        ):
            stream = _Bounded(file, limit)
            answer.raise_for_status()
            stated = answer.headers.get("Content-Length", "")
            if stated.isascii() and stated.isdigit() and "Content-Encoding" not in answer.headers:
                stream.total = int(stated[:20])  # a promise, and only for the bar
            for chunk in answer.iter_content(CHUNK_BYTES):
                stream.write(chunk)
    except BudgetError:
        raise
    except _TransferError as error:
        return str(error)
    except OSError as error:  # requests' exceptions are OSErrors; a full disk is one too
        return _short_reason(error)
    except Exception as error:  # urllib3 lets some of its own through (LocationParseError)
        return printable(f"{type(error).__name__}: {error}", 120)
    return ""


def copy_file(file: Path, target: Path, limit: int) -> str:
    """Copy a file that somebody has. Return why it could not be done, or nothing."""
    try:
        check_regular(file, limit=limit)
        shutil.copyfile(file, target)
    except (DataError, shutil.SameFileError) as error:
        return str(error)
    except OSError as error:
        return f"{printable(file, 300)}: {(error.strerror or type(error).__name__).lower()}"
    return ""


def _short_reason(error: OSError) -> str:
    """Say in a few words what requests says in a paragraph."""
    name = type(error).__name__
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None and name != "TooManyRedirects":
        return f"the server answers {status}"
    known = {
        "ConnectionError": "no connection (offline?)",
        "ProxyError": "no connection through the proxy",
        "ConnectTimeout": "no connection within the timeout",
        "ReadTimeout": "the server stopped sending",
        "SSLError": "the server's certificate does not verify",
        "TooManyRedirects": "the server redirects in a circle, or too often",
        "ChunkedEncodingError": "the connection broke off before the end of the file",
        "ContentDecodingError": "what the server sends cannot be unpacked",
    }
    return known.get(name) or printable(f"{name}: {error.strerror or error}", 120)
