"""By which names quantities and choices draw: a registered scenario's draw alike wherever it is extended or used.

::

    [home]
    "brain/brain-parity" = ["trend", "brain"]

What a name draws depends on the seed, the name and the world alone. Two scenarios that both have a ``pace`` would share
its draws; so the streams of a registered scenario's quantities and choices have its full name in front,
``capability/model-capability:pace``. A registered scenario has this table without stating it; it is written where the
scenario is written out, so that the file draws as the scenario does. Names that stand in no list draw by themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader

#: Where the names stand that draw.
TABLE_HEADINGS = ("choices", "quantities", "stocks", "solve")


def at_home(stated: Mapping[str, Any], scenario: str) -> dict[str, list[str]]:
    """Return the table of a registered scenario: every name in it that no other scenario is the home of.

    Examples
    --------
    >>> at_home({"choices": {"trend": ["a", "b"]}, "quantities": {"x": {"value": 1}}}, "demo/one")
    {'demo/one': ['trend', 'x']}
    """
    elsewhere = dict(stated.get("home", {}))
    away = {name for names in elsewhere.values() for name in names}
    groups = (stated.get(heading) for heading in TABLE_HEADINGS)
    own = [name for group in groups if isinstance(group, Mapping) for name in group if name not in away]
    return {**elsewhere, scenario: own}


def read_stream_names(reader: ScenarioReader, record: Mapping[str, Any], names: Collection[str]) -> dict[str, str]:
    """Return the name by which each quantity and choice draws that is at home elsewhere; the last table counts."""
    streams: dict[str, str] = {}
    for scenario, listed in reader.mapping(record, "home", "").items():
        for name in reader.texts(listed, f"home.{scenario}") if listed else ():
            if name in names:  # one that a change took away has nothing to draw
                streams[name] = f"{scenario}:{name}"
    return streams


def stream(streams: Mapping[str, str], name: str) -> str:
    """Return the name by which something draws: a quantity, a choice, a number of a quantity, or a model of its own.

    Examples
    --------
    >>> stream({"machine": "brain/brain-parity:machine"}, "machine@scaling/power")
    'brain/brain-parity:machine@scaling/power'
    >>> stream({"machine": "brain/brain-parity:machine"}, "machine.growth")
    'brain/brain-parity:machine.growth'
    >>> stream({"machine": "brain/brain-parity:machine"}, "hardware/hpcg@exponential")
    'hardware/hpcg@exponential'
    """
    if name in streams:
        return streams[name]
    own, mark, rest = name.partition("@") if "@" in name else name.rpartition(".")
    return f"{streams[own]}{mark}{rest}" if own in streams else name
