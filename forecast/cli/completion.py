"""What the shell offers after TAB: names of scenarios, laws, models and tables, and what ``--set`` may name.

A shell asks at every TAB, so nothing is computed: names come from the records of one hook, choices and quantities from
the text of the scenario. What cannot be read offers nothing, and is an error only once the command is run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from click.shell_completion import CompletionItem

from forecast.errors import ForecastError

if TYPE_CHECKING:
    import click

Completer: TypeAlias = "Callable[[click.Context, click.Parameter, str], list[CompletionItem]]"

#: Longer chains of scenarios that extend each other are not looked into at a TAB.
MAX_EXTENDS_DEPTH = 8


def complete_names(kind: str, *, files: bool = False) -> Completer:
    """Return what completes names of one kind (``"law"``): bare while they are unique, or full.

    Parameters
    ----------
    kind : str
    files : bool
        A file will do too: where no name begins so, the shell offers files.
    """

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from forecast.contract.registry import get_registry

        found: list[CompletionItem] = []
        with contextlib.suppress(ForecastError):
            registry = get_registry()
            full = registry.names(kind, parts=False)
            bare = [name.partition("/")[2] for name in full]
            for name, short in zip(full, bare, strict=True):
                usual = short if bare.count(short) == 1 else name
                offered = next((n for n in (usual, name) if n.startswith(incomplete)), None)
                if offered is not None:
                    found.append(CompletionItem(offered, help=registry.find(kind, name).spec.title or None))
        return found or ([CompletionItem(incomplete, type="file")] if files else [])

    return complete


def complete_settings(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete ``--set``: each value of each choice of the scenario, and its quantities."""
    offered: list[str] = []
    # click gives up on a line that ends with an option without its value, and leaves the words it had not placed
    named = ctx.params.get("scenario") or next(iter(ctx.args), None)
    for raw in _scenario_records(named):
        for choice, stated in _mapping_at(raw, "choices").items():
            values = stated.get("values", ()) if isinstance(stated, Mapping) else stated
            offered += [f"{choice}={value}" for value in values] if isinstance(values, list) else []
        offered += [f"{name}=" for name in _mapping_at(raw, "quantities")]
    return [CompletionItem(text) for text in dict.fromkeys(offered) if text.startswith(incomplete)]


def _mapping_at(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = raw.get(key)
    return value if isinstance(value, Mapping) else {}


def _scenario_records(name: object) -> Iterable[Mapping[str, Any]]:
    """Read a scenario, and those that it extends, as they stand."""
    import tomllib

    from forecast.base.files import read_bytes
    from forecast.contract.registry import get_registry
    from forecast.scenarios.registered import MAX_SCENARIO_BYTES

    with contextlib.suppress(ForecastError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        registry = get_registry()
        for _ in range(MAX_EXTENDS_DEPTH):
            if not isinstance(name, str):
                return
            spec: Any = None if name.endswith(".toml") else registry.find("scenario", name).spec
            path = Path(name if spec is None else spec.path)
            raw = tomllib.loads(read_bytes(path, limit=MAX_SCENARIO_BYTES).decode("utf-8-sig"))
            yield raw
            name = raw.get("extends")
            if isinstance(name, str) and name.endswith(".toml"):
                name = str(path.parent / name)
