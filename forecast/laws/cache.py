"""Derivatives kept on disk, as text of the safe grammar: what is read back is parsed, and never run.

A file says for which formula it was written and carries a checksum. Whatever is wrong with it, the derivatives are
taken anew; where there is no folder to write to, nothing is kept.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from forecast.errors import ForecastError, ResultError, printable
from forecast.files import read_bytes, write_atomic
from forecast.formula import Formula, check_name, parse
from forecast.jsontext import strict_json
from forecast.laws.derive import Derivatives, differentiate

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = ["cache_folder", "derivatives"]

#: Of the file, and of the grammar its texts are written in.
SCHEMA, GRAMMAR = 1, 1
MAX_BYTES = 4 << 20
#: A temporary file as old as this has no writer any more, where locks cannot tell.
STALE_S = 3600.0
#: How often, and how far apart, a writer asks for the folder before it lets the others have it.
TURNS, TURN_S = 50, 0.005

_log = logging.getLogger(__name__)


def cache_folder() -> Path | None:
    """Return the folder of derivatives, in ``FORECAST_CACHE`` or the user's cache; None where a user has none.

    Examples
    --------
    >>> import os
    >>> os.environ["FORECAST_CACHE"] = "/tmp/cache"
    >>> cache_folder().as_posix()
    '/tmp/cache/laws'
    >>> del os.environ["FORECAST_CACHE"]
    """
    chosen = os.environ.get("FORECAST_CACHE")
    if chosen:
        return Path(chosen).absolute() / "laws"
    try:
        import pooch

        found = Path(pooch.os_cache("lawcast")) / "laws"
    except (OSError, RuntimeError, KeyError):
        return None
    return found if found.is_absolute() else None  # a home that cannot be found stays "~"


def derivatives(formula: Formula, parameters: Sequence[str], variables: Sequence[str], order: int) -> Derivatives:
    """Return the derivatives of a formula by its parameters, from the cache or taken now and put there.

    Parameters
    ----------
    formula : Formula
    parameters, variables : sequence of str
    order : {1, 2}
    """
    asked = {
        "schema": SCHEMA,
        "grammar": GRAMMAR,
        "expression": formula.text,
        "parameters": list(parameters),
        "variables": list(variables),
        "order": order,
    }
    folder = cache_folder()
    path = None if folder is None else folder / f"{_digest(asked)}.json"
    if path is not None:
        _swept(path.parent)
        found = _read(path, asked)
        if found is not None:
            return found
    made = differentiate(formula.root, parameters, order)
    written = _written(asked, made)
    try:
        again = _parsed(written, asked)
    except (ForecastError, ValueError, TypeError, KeyError):
        return made  # larger than the grammar lets a text be
    if path is not None:
        _write(path, written)
    return again  # the same trees as after a warm start, to the bit


def _canonical(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def _digest(content: Any) -> str:
    return hashlib.sha256(_canonical(content)).hexdigest()


def _written(asked: dict[str, Any], made: Derivatives) -> dict[str, Any]:
    return {
        **asked,
        "shared": [[name, Formula(node).text] for name, node in made.shared],
        "gradient": [Formula(node).text for node in made.gradient],
        "hessian": [[i, j, Formula(node).text] for i, j, node in made.hessian],
    }


def _parsed(content: dict[str, Any], asked: dict[str, Any]) -> Derivatives:
    """Read the content of a file.

    Raises ValueError, TypeError, KeyError or FormulaError where it is not what was asked for.
    """
    if any(content[key] != value for key, value in asked.items()):
        raise ValueError("was written for another formula, or by another version")
    count = len(asked["parameters"])
    known = set(parse(asked["expression"]).names)

    def tree(text: Any) -> Any:
        found = parse(text)
        if not known.issuperset(found.names):
            raise ValueError("holds a name that is not in the formula")
        return found.root

    shared = []
    for name, text in content["shared"]:
        shared.append((name, tree(text)))
        if check_name(name) in known:
            raise ValueError("assigns a name twice")
        known.add(name)
    gradient = tuple(map(tree, content["gradient"]))
    hessian = tuple((i, j, tree(text)) for i, j, text in content["hessian"])
    pairs = [(i, j) for i, j, _ in hessian]
    if len(gradient) != count or len(set(pairs)) != len(pairs):
        raise ValueError("has too few or too many derivatives")
    if not all(type(i) is int and type(j) is int and 0 <= i <= j < count for i, j in pairs):
        raise ValueError("has a derivative by no parameter")
    return Derivatives(tuple(shared), gradient, hessian)


def _read(path: Path, asked: dict[str, Any]) -> Derivatives | None:
    """Return what a file holds; None, after a warning, where anything is wrong with it."""
    try:
        if not path.exists():
            return None
        data = read_bytes(path, limit=MAX_BYTES, error=ResultError)
        document = strict_json(data, where=printable(path.name, 80), error=ResultError)
        if not isinstance(document, dict) or set(document) != {"checksum", "content"}:
            raise ValueError("is no file of this cache")
        if document["checksum"] != _digest(document["content"]) or _canonical(document) != data:
            raise ValueError("does not match its checksum")
        return _parsed(document["content"], asked)
    except (ForecastError, OSError, ValueError, TypeError, KeyError, RecursionError, MemoryError) as problem:
        _log.warning("cached derivatives %s are taken anew: %s", printable(path.name, 80), printable(problem, 200))
        return None


@contextlib.contextmanager
def _alone(folder: Path, turns: int = TURNS) -> Iterator[bool | None]:
    """Lock a folder; yields True while nobody else writes there, False where another holds it, None without locks.

    The lock is on the folder itself and the system drops it with its process: a killed writer leaves no lock behind.
    """
    if fcntl is None:
        yield None
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield _locked(handle, turns)
    finally:
        os.close(handle)  # and the lock with it


def _locked(handle: int, turns: int) -> bool | None:
    for turn in range(turns):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if turn + 1 < turns:
                time.sleep(TURN_S)
        except OSError:  # a file system without locks
            return None
        else:
            return True
    return False


def _sweep(folder: Path, alone: bool | None) -> None:
    """Remove what killed writers left: all of it while nobody else writes, else what is old."""
    for left in folder.glob(".*.part"):
        with contextlib.suppress(OSError):
            if alone or time.time() - left.stat().st_mtime > STALE_S:
                left.unlink()


@functools.cache
def _swept(folder: Path) -> None:
    """Clean up when a process first opens a folder."""
    with contextlib.suppress(OSError):
        if any(folder.glob(".*.part")):
            with _alone(folder, turns=1) as alone:
                _sweep(folder, alone)


def _write(path: Path, content: dict[str, Any]) -> None:
    try:
        data = _canonical({"checksum": _digest(content), "content": content})
        if len(data) > MAX_BYTES:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.parent) as alone:
            _sweep(path.parent, alone)
            if alone is not False:  # else another might sweep the file half written: it is kept next time
                write_atomic(path, data)
    except (OSError, ForecastError) as problem:
        _log.debug("derivatives are not kept: %s", printable(problem, 200))
