"""Options that name the files a command writes: no file that was asked for is left out in silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from forecast.errors import UsageError, printable

__all__ = ["out_option", "plot_option"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _once(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> str | None:
    if len(given) > 1:
        named = " and ".join(f"'{printable(path, 60)}'" for path in given)
        raise UsageError(f"--{option.name}: expected one file, got {named}; one of them is enough")
    return given[0] if given else None


def out_option(ending: str, says: str) -> Decorator:
    """Make the option ``--out``: one file, for a second one would hold the same bytes."""
    return click.option("--out", multiple=True, callback=_once, metavar=f"FILE.{ending}", help=says)


#: The option ``--plot``, as often as there are formats to draw.
plot_option: Decorator = click.option(
    "--plot", "plots", multiple=True, metavar="FILE.svg", help="Draw it (.svg, .png or .pdf); may be given again."
)
