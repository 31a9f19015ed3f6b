"""What a registered scenario names, so that it holds wherever the scenario is extended, changed or written out.

A path in its file lies beside that file. Everywhere else the path is ``SCENARIO:PATH``, the scenario's full name and
the path as it stands there: ``capability/model-limits:switches/datapackage.json`` is the same file on every machine
that has the plugin. It reaches what that scenario itself names, and nothing else in its folder.

A name in its file means what its own distribution brings, where that brings it; where another distribution brings the
same name, the name is written with its distribution.
"""

from __future__ import annotations

import functools
import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from forecast.contract.registry import Record, get_registry
from forecast.errors import ForecastError, ScenarioError, printable
from forecast.scenarios import stream_names
from forecast.scenarios.spec import choices_in_braces, fill

#: A scenario file larger than this is refused unread.
MAX_SCENARIO_BYTES = 1 << 20

_PLACED = re.compile(r"((?:[^:/\s]+::)?[a-z0-9-]+/[a-z0-9-]+):([^:].*)", re.ASCII | re.DOTALL)

#: Keys of a quantity or a choice that name data: a registered table, or a path.
_DATA = ("table", "data", "draws")
#: And those that name a record, with its kind.
_NAMES = {"table": "table", "data": "table", "draws": "table", "model": "model", "shape": "shape", "law": "law",
          "function": "model"}  # fmt: skip


def read_scenario(path: Path, where: str = "") -> dict[str, Any]:
    """Return what a scenario's file says; `where` is what errors call it, by default its path.

    Raises
    ------
    ScenarioError
        If it is no TOML.
    """
    from forecast.base import files

    content = files.read_bytes(path, limit=MAX_SCENARIO_BYTES, error=ScenarioError)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{printable(where or path)}: expected UTF-8 text: byte {error.start} is not") from error
    return parse_scenario(text, where or str(path))


def parse_scenario(text: str, where: str) -> dict[str, Any]:
    """Return what the text of a scenario's file says.

    Raises
    ------
    ScenarioError
        If it is no TOML, or longer than a file may be.
    """
    if len(text.encode(errors="replace")) > MAX_SCENARIO_BYTES:
        raise ScenarioError(f"{printable(where)}: larger than {MAX_SCENARIO_BYTES:,} bytes")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: also an integer of more digits than Python converts
        raise ScenarioError(f"{printable(where)}: not TOML: {printable(error)}") from error


def path_of(origin: Record) -> Path:
    """Return the file of a registered scenario."""
    return Path(origin.spec.path)


def read_registered(origin: Record) -> dict[str, Any]:
    """Return what a registered scenario says, so that its paths and names hold anywhere."""
    stated = read_scenario(path_of(origin))
    for heading in ("choices", "quantities"):
        group = stated.get(heading)
        if isinstance(group, dict):
            stated[heading] = {name: _with_full_names(each, origin) for name, each in group.items()}
    for key in ("extends", "use"):
        if key in stated:
            stated[key] = _resolved_names(stated[key], origin)
    return {**stated, "home": stream_names.at_home(stated, origin.full_name)}


def _resolved_names(named: Any, origin: Record) -> Any:
    """Return names and files of scenarios as they hold anywhere, alone, in a list or under names."""
    if isinstance(named, Mapping):
        return {alias: _resolved_names(each, origin) for alias, each in named.items()}
    if isinstance(named, list):
        return [_resolved_names(each, origin) for each in named]
    if isinstance(named, str) and named.lower().endswith(".toml"):
        return named if _PLACED.fullmatch(named) else f"{origin.full_name}:{named}"
    return get_registry().at_home("scenario", named, origin.plugin) if isinstance(named, str) else named


def _with_full_names(part: Any, origin: Record) -> Any:
    if not isinstance(part, Mapping):
        return part
    out: dict[str, Any] = {}
    for key, value in part.items():
        if key == "fallback":
            out[key] = _with_full_names(value, origin)
        elif not isinstance(value, str) or not value:
            out[key] = value
        elif key == "fit" or (key in _DATA and _is_data_path(value, path_of(origin).parent)):
            out[key] = value if _PLACED.fullmatch(value) else f"{origin.full_name}:{value}"
        else:
            out[key] = get_registry().at_home(_NAMES[key], value, origin.plugin) if key in _NAMES else value
    return out


def _is_data_path(text: str, folder: Path) -> bool:
    """Tell whether data are named by a path; a text that choices complete may become one."""
    from forecast import tables

    if "{" in text:
        return True
    try:
        return tables.resolve_data_name(text, folder, where="") != text
    except ForecastError:  # said where it is read
        return False


def data_of(text: str, folder: Path | None, *, where: str) -> str:
    """Return the data that a text names: a table's name, or a path that a scenario in this folder may reach.

    Parameters
    ----------
    text : str
        A registered table, a path from `folder`, or ``SCENARIO:PATH``.
    folder : Path or None
        None: the user's own mapping, which may name any path.
    where : str
        File and key, for messages.

    Raises
    ------
    UnknownNameError, ScenarioError

    Examples
    --------
    >>> data_of("datasets/supercomputers", None, where="mine")
    'datasets/supercomputers'
    >>> path = data_of("capability/model-limits:switches/datapackage.json", None, where="mine")
    >>> path.endswith("forecast_capability/scenarios/switches/datapackage.json")
    True
    """
    from forecast import tables

    base, path = _placed_path(text, folder, where)
    return path if base is None else tables.resolve_data_name(path, base, where=where)


def file_of(text: str, folder: Path | None, *, where: str) -> str:
    """Return the file that a text names, as in `data_of`.

    Raises
    ------
    UnknownNameError, ScenarioError
    """
    from forecast.base import access

    base, path = _placed_path(text, folder, where)
    return path if base is None else str(access.within(base, path, where=where))


def _placed_path(text: str, folder: Path | None, where: str) -> tuple[Path | None, str]:
    """Return the folder in which a text names something, and what it names there."""
    placed = _PLACED.fullmatch(text)
    if placed is None:
        return folder, text
    name, path = placed.groups()
    origin = get_registry().find("scenario", name, where=where)
    file = path_of(origin)
    try:
        stamp = file.stat().st_mtime_ns
    except OSError:
        stamp = 0
    if path not in _named_data(file, stamp) and path not in _filled_templates(origin.full_name, file, stamp):
        raise ScenarioError(
            f"{where}: scenario '{printable(name, 120)}' names no '{printable(path, 120)}': what stands beside a "
            "registered scenario is reached where that scenario itself names it"
        )
    return file.parent, path


@functools.lru_cache(maxsize=64)
def _named_data(file: Path, stamp: int) -> frozenset[str]:
    """Return the texts by which a scenario's file names data and other files, as it stood at `stamp`."""
    record = read_scenario(file)
    groups = (record.get(heading) for heading in ("choices", "quantities"))
    data = {text for group in groups if isinstance(group, Mapping) for text in _walk_texts(group.values())}
    return frozenset(data | set(_named_files(record.get("use"))))


def _named_files(named: Any) -> Iterator[str]:
    """Walk the files among the scenarios that a record uses."""
    if isinstance(named, str):
        yield from (named,) if named.lower().endswith(".toml") else ()
    elif isinstance(named, (Mapping, list)):
        for each in named.values() if isinstance(named, Mapping) else named:
            yield from _named_files(each)


@functools.lru_cache(maxsize=64)
def _filled_templates(name: str, file: Path, stamp: int) -> frozenset[str]:
    """Return the texts that a scenario's own choices make of those with braces."""
    from forecast.scenarios.scenario import Scenario

    templates = [text for text in _named_data(file, stamp) if "{" in text]
    if not templates:
        return frozenset()
    choices = Scenario.load(name).choices
    out = set()
    for text in templates:
        own = [each for each in choices_in_braces(text, where=name) if each in choices]
        for values in itertools.product(*(choices[each].values for each in own)):
            out.add(fill(text, dict(zip(own, values, strict=True))))
    return frozenset(out)


def _walk_texts(parts: Any) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Mapping):
            yield from (part[key] for key in (*_DATA, "fit") if isinstance(part.get(key), str))
            yield from _walk_texts([part.get("fallback")])
