"""Options that say how a file of the user's own is read, where the file does not tell; the same for every verb."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

__all__ = ["reading_options", "reduce_option"]

_OPTIONS = (
    click.option("--decimal", type=click.Choice(["comma", "point"]), help="What separates decimals in the file."),
    click.option("--dates", type=click.Choice(["dmy", "mdy"]), help="The order of day and month in the file."),
    click.option(
        "--missing",
        multiple=True,
        metavar="WORD",
        help="A further word for a missing cell; 'error': refuse missing cells.",
    ),
    click.option("--reader", metavar="NAME", help="The reader of a plugin, or 'none'.  [default: the one that fits]"),
)

reduce_option = click.option(
    "--reduce",
    "rule",
    type=click.Choice(["mean", "median", "min", "max", "last", "best"]),
    help="What becomes of several rows at one place.",
)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `forecast.read`, which it takes as one mapping ``reading``."""

    @functools.wraps(command)
    def run(*args: Any, decimal: str, dates: str, missing: tuple[str, ...], reader: str, **values: Any) -> Any:
        given = {"decimal": decimal, "dates": dates, "missing": missing, "reader": reader}
        return command(*args, reading={name: value for name, value in given.items() if value}, **values)

    wrapped: Callable[..., Any] = run
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
