"""Options that the commands about laws share: declared once, checked once, and handed on as one record."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from forecast.cli import completion
from forecast.cli.catalogue.listing import json_option
from forecast.cli.output_files import Decorator, add_options, check_outputs, out_option, plot_option
from forecast.cli.reading_options import access_options, reading_options
from forecast.formula.numbers import POWERS_OF_TEN, parse_number

if TYPE_CHECKING:
    from forecast.tables.columns import Columns


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """The values of the shared options; those that a command does not have keep their defaults."""

    data: str | None = None
    let: tuple[str, ...] = ()
    y: str | None = None
    variables: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    where: tuple[str, ...] = ()
    objective: str | None = None
    by: str | None = None
    level: float = 0.9
    seed: int = 0
    out: str | None = None
    plots: tuple[str, ...] = ()
    as_json: bool = False

    @property
    def lets(self) -> dict[str, str]:
        """Names and the formulas over columns that stand for them."""
        from forecast.cli.fit import fit_arguments

        return fit_arguments.parse_formulas(self.let, "--let")

    def check_outputs(self, source: str | None = None, named: str = "--data") -> None:
        """Refuse files that cannot be written, before the work.

        Parameters
        ----------
        source : str, optional
            The file that is read, which no output may replace.  [default: that of ``--data``]
        named : str
            How a command calls it.
        """
        check_outputs(self.plots, {named: source or self.data}, out=self.out)

    def columns(self, where: str) -> tuple[Columns, dict[str, str]]:
        """Return the columns of ``--data``, and its hash by name."""
        from forecast.cli.fit import fit_arguments

        return fit_arguments.data_of(self.data or "", where, self.reading)

    @property
    def files(self) -> dict[str, Any]:
        """The arguments of `forecast.cli.output_files.emit_files` that say what is written."""
        return {"files": (self.out,), "plots": self.plots, "as_json": self.as_json}


def let_option(help: str) -> Decorator:
    """Make the option ``--let``."""
    return click.option("--let", multiple=True, metavar='"N = FORMULA"', help=help)


class NumberType(click.ParamType):  # type: ignore[type-arg]  # generic only in later versions
    """A number of an option as people write it: ``1e12`` or ``10T``."""

    name = "float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; a fault names the option."""
        try:
            return parse_number(value.strip()) if value.strip()[-1:] in POWERS_OF_TEN else float(value)
        except ValueError:
            self.fail(f"{value!r} is not a valid float.", param, ctx)


def seed_option(help: str = "Equal seeds give equal bytes.") -> Decorator:
    """Make the option ``--seed``."""
    return click.option("--seed", type=int, default=0, show_default=True, metavar="N", help=help)


def data_options(*, let: str, y: str, variables: str) -> Decorator:
    """Make the options that say what laws are fitted to, from the help of three of them."""
    options = (
        click.option(
            "--data",
            required=True,
            metavar="TABLE|FILE",
            shell_complete=completion.complete_names("table", files=True),
            help="A table's name, or a file: CSV, TSV, JSON, XLSX, Parquet, or what a plugin reads.",
        ),
        reading_options,
        let_option(let),
        click.option("--y", metavar="COLUMN", help=y),
        click.option("--variables", multiple=True, metavar="NAMES", help=variables),
        click.option(
            "--where", multiple=True, metavar="CONDITION", help='Rows to keep: "params_b > 0.1", "kind is dense".'
        ),
    )
    return partial(add_options, options)


def output_options(forms: Sequence[str], out: str, *, reads_files: bool = True) -> Decorator:
    """Make the options that say what a command writes, and hand the shared options on as one `FitOptions`.

    Parameters
    ----------
    forms : sequence of str
        Endings that ``--out`` can write.
    out : str
        Its help.
    reads_files : bool
        Whether the command has the options of `access_options`.
    """
    access = (access_options,) if reads_files else ()
    return partial(add_options, (out_option(forms, out), plot_option, *access, json_option, _with_record))


def _with_record(command: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(command)
    def run(*args: Any, **values: Any) -> Any:
        shared = {each.name: values.pop(each.name) for each in fields(FitOptions) if each.name in values}
        return command(*args, options=FitOptions(**shared), **values)

    return run
