"""Options that say how a file of the user's own is read, where the file does not tell; the same for every verb."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from forecast.contract.fields import SCALES

__all__ = ["reading_options", "reduce_option", "scale_options"]

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


_SCALE_OPTIONS = (
    click.option(
        "--scale",
        type=click.Choice(SCALES),
        help="On which a series is straight: a share ends at 1.  [default: its table, unit or name says it]",
    ),
    click.option("--floor", type=float, metavar="NUMBER", help="What it never falls to: 0.25 of a score by chance."),
    click.option("--ceiling", type=float, metavar="NUMBER", help="What it never reaches."),
)


def scale_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command what is said of the scale of a series, which it takes as one mapping ``bounds``."""

    @functools.wraps(command)
    def run(*args: Any, scale: str | None, floor: float | None, ceiling: float | None, **values: Any) -> Any:
        stated = {"scale": scale, "floor": floor, "ceiling": ceiling}
        return command(*args, bounds={name: value for name, value in stated.items() if value is not None}, **values)

    wrapped: Callable[..., Any] = run
    for option in reversed(_SCALE_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


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
