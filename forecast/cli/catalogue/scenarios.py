"""``forecast scenarios``: choices, quantities and questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forecast.cli.catalogue.listing import catalogue
from forecast.contract.registry import Record
from forecast.contract.specs import ScenarioSpec
from forecast.errors import ScenarioError, printable

__all__ = ["read_scenario", "scenarios"]

LIMIT_BYTES = 2**20


def read_scenario(path: Path) -> dict[str, Any]:
    """Read the TOML as it stands; whether it can be run is `forecast run`'s business."""
    import tomllib

    from forecast.base.files import read_bytes

    label = printable(path.name)
    try:
        return tomllib.loads(read_bytes(path, limit=LIMIT_BYTES, error=ScenarioError).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ScenarioError(f"{label}: not UTF-8 text") from None
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise ScenarioError(f"{label}: not TOML: {printable(problem)}") from problem


def _describe(record: Record) -> dict[str, Any]:
    assert isinstance(record.spec, ScenarioSpec)
    path = Path(record.spec.path)
    raw = read_scenario(path)
    return {
        "question": raw.get("title"),
        "from": raw.get("start"),
        "until": raw.get("until"),
        "choices": [{"name": name, "options": value} for name, value in _table(raw, "choices", path).items()],
        "quantities": [{"name": name, "from": value} for name, value in _table(raw, "quantities", path).items()],
        "questions": [
            {"name": name, **(value if isinstance(value, Mapping) else {"when": value})}
            for name, value in _table(raw, "questions", path).items()
        ],
    }


def _table(raw: Mapping[str, Any], key: str, path: Path) -> Mapping[str, Any]:
    value = raw.get(key, {})
    if not isinstance(value, Mapping):
        raise ScenarioError(f"{printable(path.name)}: {key}: expected a table, got {type(value).__name__}")
    return value


scenarios = catalogue("scenarios", "scenario", columns={}, describe=_describe)
