"""METR's time horizons: one row for a model, or for an agent of a model where a file tells them apart."""

from __future__ import annotations

import re
from pathlib import Path

import forecast
from forecast.errors import DataError

__all__ = ["read_horizons"]

#: ``agents.NAME.p50_horizon_length.estimate`` in version 1 is ``metrics.p50_horizon_length.estimate`` in version 1.1.
_AGENT_PATTERN = re.compile(r"agents\.(?P<agent>.+)\.(?P<metric>\w+\.(?:estimate|ci_low|ci_high)|is_sota)")
_HORIZON_PATTERN = re.compile(r"metrics\.\w*horizon_length(\.\w+)?")
_HORIZON_UNIT = "min"


def read_horizons(path: Path) -> list[dict[str, str]]:
    """Return the time horizons of models, in minutes, under the names of version 1.1 of the file.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    list of dict
        ``name``, ``release_date``, ``agent`` if there are any, ``metrics.p50_horizon_length.estimate`` and so on.

    Raises
    ------
    DataError
        If there is no horizon.
    """
    columns = forecast.read(path, reader="none")
    texts = {name: columns.texts(name) for name in columns}
    rows = []
    for i in range(columns.rows):
        shared: dict[str, str] = {}
        agents: dict[str, dict[str, str]] = {}
        for name, cells in texts.items():
            if match := _AGENT_PATTERN.fullmatch(name):
                if cells[i]:
                    row = agents.setdefault(match["agent"], {"agent": match["agent"]})
                    row[f"metrics.{match['metric']}"] = cells[i]
            else:
                shared[name] = cells[i]
        rows += [{n: _with_unit(n, c) for n, c in {**shared, **row}.items()} for row in agents.values() or ({},)]
    if not any(_HORIZON_PATTERN.fullmatch(name) for row in rows for name in row):
        raise DataError(f"{path.name}: expected time horizons of models under 'results'")
    return rows


def _with_unit(name: str, cell: str) -> str:
    return f"{cell} {_HORIZON_UNIT}" if cell and _HORIZON_PATTERN.fullmatch(name) else cell
