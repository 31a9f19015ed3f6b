"""Options that name the files a command writes: no requested file is left out in silence.

The ending of ``--out`` says the form: a result that can be opened again (.nc), the answer as data (.json), or its table
(.csv, .parquet). What a command cannot write it refuses before the work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from forecast.cli import render
from forecast.errors import UsageError, printable

#: Where a command's context keeps what an option says of figures.
_FIGURE_KEY = "forecast.figure.{}"
#: The panels of an answer's figure: those of `forecast.report.figures`, which is loaded where one is drawn.
_PANELS = ("dates", "values", "path", "drivers", "ranking")

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

#: What a table can be written as, beside the whole answer as JSON.
TABLE_SUFFIXES = (".csv", ".parquet", ".json")
#: What a result that can be opened again can be written as.
RESULT_SUFFIXES = (".nc", *TABLE_SUFFIXES)


def _single_file(
    forms: Sequence[str], ctx: click.Context, option: click.Parameter, given: tuple[str, ...]
) -> str | None:
    """Return the one file that was named, in a form that can be written here."""
    if len(given) > 1:
        named = " and ".join(f"'{printable(path, 60)}'" for path in given)
        raise UsageError(f"--{option.name}: expected one file, got {named}; one of them is enough")
    if not given:
        return None
    ending, shown = Path(given[0]).suffix.lower(), f"--{option.name}: '{printable(given[0], 60)}'"
    if ending not in forms:
        *most, last = forms
        expected = f"{', '.join(most)} or {last}" if most else last
        raise UsageError(f"{shown}: expected a file that ends in {expected}")
    if ending == ".parquet":
        from forecast.tables.frames import check_parquet

        check_parquet(f"{shown}: writing")
    return given[0]


def out_option(forms: Sequence[str], says: str) -> Decorator:
    """Make the option ``--out``: one file, for a second one would hold the same bytes."""
    help = f"{says} Ends in {', '.join(forms[:-1])} or {forms[-1]}."
    return click.option(
        "--out", multiple=True, callback=partial(_single_file, forms), metavar=f"FILE{forms[0]}", help=help
    )


#: The option ``--csv``, for a table that people take elsewhere.
csv_option: Decorator = click.option(
    "--csv", multiple=True, callback=partial(_single_file, (".csv",)), metavar="FILE.csv", help="Write it as a table."
)

#: The option ``--report``: one page, for a second one would hold the same.
report_option: Decorator = click.option(
    "--report",
    multiple=True,
    callback=partial(_single_file, (".html",)),
    metavar="FILE.html",
    help="Write one page to read, steer and send.",
)


def emit_files(
    result: Any,
    *,
    text: Callable[[], None],
    table: Callable[[], Mapping[str, Sequence[Any]]],
    draw: Callable[..., object] | None = None,
    save: Callable[[str], object] | None = None,
    pages: Mapping[str, Callable[[], object]] | None = None,
    files: Sequence[str | None],
    plots: Sequence[str] = (),
    as_json: bool,
    told: Sequence[str] | None = None,
    **record: Any,
) -> None:
    """Write an answer and every requested file; nothing is made before it is written.

    Parameters
    ----------
    result, text, told
        As in `forecast.cli.render.emit`.
    table : callable
        The columns of the answer.
    draw : callable, optional
        Draws to a path, for the ``width`` of a page.
    save : callable, optional
        Writes a result that can be opened again to a path.
    pages : mapping of str to callable, optional
        What writes each report.
    files, plots : sequence of str
        None where an option was not given.
    as_json : bool
    **record
        Its ``warnings`` and ``provenance``.
    """

    def write(path: str) -> object:
        from forecast.base.files import write_atomic
        from forecast.tables import csv_format, frames

        ending = Path(path).suffix.lower()
        if ending == ".json":
            return write_atomic(path, render.json_envelope(result, **record) + "\n")
        if ending == ".nc" and save is not None:
            return save(path)
        return (frames.write_parquet if ending == ".parquet" else csv_format.write_csv)(path, table())

    writers: dict[str, Callable[[], object]] = {path: partial(write, path) for path in files if path is not None}
    writers |= {path: partial(draw, path, width=plot_width()) for path in plots if draw is not None}
    writers |= pages or {}
    render.emit(result, json=as_json, text=text, files=writers, told=told, **record)


def plot_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``--plot``, as often as there are formats to draw, and ``--width`` (see `plot_width`)."""
    files = click.option(
        "--plot", "plots", multiple=True, metavar="FILE.svg", help="Draw it (.svg, .png or .pdf); may be given again."
    )
    width = click.option(
        "--width", type=click.Choice(["page", "column"]), default="page", show_default=True, expose_value=False,
        callback=_keep, help="Of --plot: a journal's page, 183 mm, or a column of it, 89 mm.",
    )  # fmt: skip
    return files(width(command))


def figure_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that answers questions `plot_option`, ``--panel`` and ``--titled`` (see `figure_keywords`)."""
    panel = click.option(
        "--panel", type=click.Choice(_PANELS), default=None, expose_value=False, callback=_keep,
        help="Of --plot: one panel alone.",
    )  # fmt: skip
    titled = click.option(
        "--titled", is_flag=True, expose_value=False, callback=_keep,
        help="Of --plot: with the title and the sentence, which a caption has otherwise.",
    )  # fmt: skip
    return plot_option(panel(titled(command)))


def _keep(ctx: click.Context, option: click.Parameter, given: object) -> None:
    ctx.meta[_FIGURE_KEY.format(option.name)] = given


def plot_width() -> str:
    """Return what ``--width`` says to the command that runs."""
    return str(click.get_current_context().meta[_FIGURE_KEY.format("width")])


def figure_keywords(plots: Sequence[str]) -> dict[str, Any]:
    """Return what ``--panel``, ``--width`` and ``--titled`` say to the command that runs, as its figures take it.

    Raises
    ------
    UsageError
        Where they say something of a figure, and none is drawn.
    """
    meta = click.get_current_context().meta
    stated = {name: meta[_FIGURE_KEY.format(name)] for name in ("panel", "titled")}
    if not plots and (named := [f"--{name}" for name, value in stated.items() if value]):
        raise UsageError(f"{', '.join(named)}: of a figure, and no --plot FILE is given")
    return {**stated, "width": plot_width()}


def check_outputs(plots: Sequence[str], sources: Mapping[str, str | None], **files: str | None) -> None:
    """Refuse, before the work, files that cannot be written, that are one file, or that are read.

    Parameters
    ----------
    plots : sequence of str
        Figures.
    sources : mapping of str to str or None
        What is read, by what names it: ``{"--data": "runs.csv"}``.
    **files
        Other outputs, by their options; None where one was not given.
    """
    from forecast.base.files import safe_output
    from forecast.base.plot_style import check_format

    stated = [*((f"--{name}", path) for name, path in files.items()), *(("--plot", path) for path in plots)]
    targets = [(option, safe_output(path).absolute()) for option, path in stated if path is not None]
    for option, target in targets:
        same = [other for other, path in targets if path == target]
        for named, source in sources.items():
            if source is not None and target.exists() and Path(source).exists() and target.samefile(source):
                same = [named, option]
        if len(same) > 1:
            raise UsageError(f"{printable(target.name)}: {' and '.join(same)} name the same file")
    for path in plots:
        check_format(path)


def add_options(options: Sequence[Decorator], command: Callable[..., Any]) -> Callable[..., Any]:
    """Add options to a command, in the order in which ``--help`` shows them.

    Examples
    --------
    >>> command = add_options([click.option("--first"), click.option("--second")], lambda first, second: None)
    >>> [option.name for option in click.command(command).params]
    ['first', 'second']
    """
    for option in reversed(options):
        command = option(command)
    return command


def stated_options(ctx: click.Context, *names: str) -> dict[str, object]:
    """Return what the options of these arguments say, by the words that are typed."""
    flags = {option.name: option.opts[0] for option in ctx.command.params}
    return {flags[name]: ctx.params[name] for name in names}


def reject_options(values: Mapping[str, object], why: str) -> None:
    """Raise if an option has a value, where it says nothing.

    Examples
    --------
    >>> reject_options({"--seed": None, "--draws": 10}, "only of a scenario")
    Traceback (most recent call last):
    forecast.errors.UsageError: --draws: only of a scenario
    """
    if names := [option for option, value in values.items() if value not in (None, False, ())]:
        raise UsageError(f"{', '.join(names)}: {why}")


def columns_of(rows: Sequence[Mapping[str, Any]], *, without: Collection[str] = ()) -> dict[str, list[Any]]:
    """Return rows as columns; a key that a row does not have is None there.

    Examples
    --------
    >>> columns_of([{"law": "a", "p": 1}, {"law": "b"}])
    {'law': ['a', 'b'], 'p': [1, None]}
    """
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if key not in without]
    return {key: [row.get(key) for row in rows] for key in keys}
