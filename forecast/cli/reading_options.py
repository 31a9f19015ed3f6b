"""Options that say how a file of the user's own is read, where the file does not tell; the same for every verb."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import click

from forecast.base import access, budgets
from forecast.base.quantiles import DEFAULT_LEVEL
from forecast.cli.output_files import Decorator, add_options
from forecast.contract.fields import SCALES
from forecast.formula.numbers import parse_number

#: The options of `forecast.read`.
_READING_OPTIONS = (
    click.option("--decimal", type=click.Choice(["comma", "point"]), help="What separates decimals in the file."),
    click.option("--dates", type=click.Choice(["dmy", "mdy", "ymd"]), help="The order of days in the file."),
    click.option(
        "--missing",
        multiple=True,
        metavar="WORD",
        help="A further word for a missing cell; 'error': refuse missing cells.",
    ),
    click.option("--reader", metavar="NAME", help="The reader of a plugin, or 'none'.  [default: the one that fits]"),
)


def parse_date_option(context: click.Context, parameter: click.Parameter, given: str | None) -> float | None:
    """Read an option that is a date: a year, a month or a day; None where it is left out."""
    from forecast.base.dates import parse_year

    return None if given is None else parse_year(given, parameter.opts[0])


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


def _as_mapping(into: str, options: Sequence[Decorator], command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command options that it takes as one mapping of those that somebody gave."""

    @functools.wraps(command)
    def run(*args: Any, **values: Any) -> Any:
        given = {name: value for name in names if (value := values.pop(name)) not in (None, "", ())}
        return command(*args, **{into: given}, **values)

    before = len(getattr(run, "__click_params__", ()))
    wrapped = add_options(options, run)
    names = [option.name for option in wrapped.__click_params__[before:]]  # type: ignore[attr-defined]
    return wrapped


#: What is said of the scale of a series, which a command takes as one mapping ``bounds``.
scale_options: Decorator = partial(_as_mapping, "bounds", _SCALE_OPTIONS)
#: The options of `forecast.read`, which a command takes as one mapping ``reading``.
reading_options: Decorator = partial(_as_mapping, "reading", _READING_OPTIONS)


# --- Levels -----------------------------------------------------------------------------------------------------------
# ``--level``: the probability that an interval has, as a share or in percent; one way for every command.


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


# --- Access -----------------------------------------------------------------------------------------------------------
# Options that say what scenarios and tables may reach beyond their own folders (`forecast.base.access`).


def access_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--allow-path``, ``--allow-download`` and ``--allow-host`` to a command; they hold while it runs."""

    @click.option("--allow-path", multiple=True, metavar="DIR", help="Let files name files in this folder too.")
    @click.option("--allow-download", is_flag=True, help="Download tables that are needed and not here yet.")
    @click.option("--allow-host", multiple=True, metavar="HOST", help="Download from this host, even a private one.")
    @functools.wraps(command)
    def allowed(
        *args: Any, allow_path: tuple[str, ...], allow_download: bool, allow_host: tuple[str, ...], **options: Any
    ) -> Any:
        with access.allow(paths=allow_path, downloads=allow_download, hosts=allow_host):
            return command(*args, **options)

    return allowed


# --- Requests ---------------------------------------------------------------------------------------------------------
# What one request to a program that stays may take: of the page of ``explore``, or of an agent.


#: Joint samples of one answer.
MAX_REQUEST_DRAWS = 4096


def request_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--request-seconds`` and ``--request-memory`` to a command; a memory that is no size is refused."""

    @click.option(
        "--request-seconds", type=click.FloatRange(0, 86400, min_open=True), default=60, show_default=True, metavar="S",
        help="What one request may take; one that takes longer is answered with an error.",
    )  # fmt: skip
    @click.option("--request-memory", metavar="SIZE", help="The same of memory, as 2GiB.  [default: as --max-memory]")
    @functools.wraps(command)
    def limited(*args: Any, request_seconds: float, request_memory: str | None, **options: Any) -> Any:
        with budgets.of_request(request_memory, request_seconds):
            pass
        return command(*args, request_seconds=request_seconds, request_memory=request_memory, **options)

    return limited
