"""``--level``: the probability that an interval has, as a share or in percent; one way for every command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from forecast.base.quantiles import DEFAULT_LEVEL
from forecast.formula.numbers import parse_number

__all__ = ["Level", "level_option"]

#: A number from here on is in percent.
MIN_PERCENT = 10


Command = TypeVar("Command", bound=Callable[..., Any])


class Level(click.ParamType):  # type: ignore[type-arg]  # generic only in later versions
    """A probability between 0 and 1: ``0.8``, or ``80`` in percent."""

    name = "level"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share."""
        try:
            stated = parse_number(str(value).strip().removesuffix("%").rstrip())
        except ValueError:
            stated = -1.0
        # a number such as 1.5 is a mistake rather than one and a half percent
        percent = stated >= MIN_PERCENT or str(value).strip().endswith("%")
        share = round(stated / 100, 12) if percent else stated
        if not 0 < share < 1:
            self.fail(f"expected a level between 0 and 1, such as 0.8, or in percent, 80: got '{value}'", param, ctx)
        return share


def level_option(help_text: str) -> Callable[[Command], Command]:
    """Return the option, by default 90 %.

    Parameters
    ----------
    help_text : str
        What the interval is of.
    """
    return click.option(
        "--level", type=Level(), default=DEFAULT_LEVEL, metavar="LEVEL", help=f"{help_text}  [default: 90 %]"
    )
