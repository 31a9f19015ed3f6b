"""What a shell is offered after TAB: names from the plugins' records and a scenario's file, and nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

__all__ = ["models_of", "names", "settings"]

Complete = Callable[[click.Context, click.Parameter, str], list[str]]


def names(kind: str) -> Complete:
    """Return what offers the names of one kind of record, bare while these are unique."""

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        return _matching(kind, incomplete)

    return complete


def settings(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Offer the choices and the quantities of the scenario on the line, and the values of a choice."""
    record = _scenario(ctx)
    key, equals, value = incomplete.partition("=")
    choices = record.get("choices", {})
    if not equals:
        return [f"{name}=" for name in (*choices, *record.get("quantities", {})) if name.startswith(key)]
    stated = choices.get(key, ())
    values = stated.get("values", ()) if isinstance(stated, Mapping) else stated
    return [f"{key}={each}" for each in values if isinstance(each, str) and each.startswith(value)]


def models_of(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Offer the quantities of the scenario on the line, and models for one."""
    key, equals, value = incomplete.partition("=")
    if equals:
        return [f"{key}={name}" for name in _matching("model", value)]
    return [f"{name}=" for name in _scenario(ctx).get("quantities", {}) if name.startswith(key)]


def _matching(kind: str, incomplete: str) -> list[str]:
    from forecast.contract.registry import Registry

    every = Registry(hooks=(f"forecast_{kind}s",)).names(kind)  # the other records are not asked for
    if "/" in incomplete:
        return [name for name in every if name.startswith(incomplete)]
    bare = [name.partition("/")[2] for name in every]
    found = [name for name in bare if name.startswith(incomplete) and bare.count(name) == 1]
    return found or [name for name in every if name.startswith(incomplete)]


def _scenario(ctx: click.Context) -> dict[str, Any]:
    """Return the tables of the scenario's file, with what it extends; nothing where there is none."""
    import tomllib

    from forecast.contract.registry import Registry
    from forecast.errors import ForecastError

    given = ctx.params.get("scenario")
    # of a line that ends in an option without its value click has read nothing
    for word in [given] if isinstance(given, str) else [word for word in ctx.args if not word.startswith("-")]:
        read: dict[str, Any] = {}
        for _ in range(8):  # as often as scenarios may extend one another
            try:
                registered = not word.lower().endswith(".toml")
                found = Registry(hooks=("forecast_scenarios",)).find("scenario", word).spec if registered else None
                path = Path(word) if found is None else Path(found.path)  # type: ignore[attr-defined]
                text = tomllib.loads(path.read_text(encoding="utf-8-sig"))
            except (ForecastError, OSError, ValueError):
                break
            for group in ("choices", "quantities"):
                if isinstance(text.get(group), dict):
                    read[group] = {**text[group], **read.get(group, {})}
            if not isinstance(text.get("extends"), str):
                break
            word = text["extends"]
        if read:
            return read
    return {}
