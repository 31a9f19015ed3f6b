"""The only place that prints. stdout is data, stderr is progress and warnings.

Plain text on purpose: listings load no formatting library, and what a file or a plugin wrote is shown with its
control characters escaped.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import re
import shutil
import sys
import textwrap
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import forecast
from forecast.base.number_checks import is_real
from forecast.errors import ForecastError, join_lines, printable

if TYPE_CHECKING:
    from forecast.report.brief import Brief

# --- Layout -----------------------------------------------------------------------------------------------------------
# How the cells of a table share the columns of a terminal: whole words, in as many lines as they take.


#: What belongs to the number before or behind it: a percentage's sign, and a parameter's.
_SIGNS = re.compile(r" %| = (?=[-\d.])")


def width_of(text: str) -> int:
    """Return how many columns a text takes.

    Examples
    --------
    >>> width_of("law"), width_of("日本")
    (3, 4)
    """
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def split(text: str, width: int, *, hanging: int = 0) -> list[str]:
    """Return a text as lines of a width; a word that is longer stays whole, a sign stays with its number.

    Parameters
    ----------
    text : str
    width : int
    hanging : int
        Blanks before every line but the first.

    Examples
    --------
    >>> split("a law of two variables", 10)
    ['a law of', 'two', 'variables']
    """
    kept = _SIGNS.sub(lambda sign: sign[0].replace(" ", "\u00a0"), text)
    result = textwrap.wrap(
        kept, width, subsequent_indent=" " * hanging, break_long_words=False, break_on_hyphens=False
    )  # fmt: skip
    return [line.replace("\u00a0", " ") for line in result] or [""]


def column_widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Return the width of each column, so that all fit into a room; None where a word would have to be broken.

    The widest column gives way first.

    Parameters
    ----------
    columns : sequence of sequence of str
        The cells of each, its head among them.
    room : int
        Columns of a terminal.

    Examples
    --------
    >>> column_widths([["name", "pool"], ["title", "a mean of several shapes"]], 24)
    [4, 18]
    >>> column_widths([["formula", "a*b*c*d"]], 5) is None
    True
    """
    widths = [max(map(width_of, cells)) for cells in columns]
    least = [max((width_of(word) for cell in cells for word in cell.split()), default=0) for cells in columns]
    over = sum(widths) + 2 * (len(widths) - 1) - room
    while over > 0:
        free = [i for i in range(len(widths)) if widths[i] > least[i]]
        if not free:
            return None
        widest = max(free, key=lambda i: widths[i])
        widths[widest] -= 1
        over -= 1
    return widths


#: Work shorter than this shows no progress bar.
PROGRESS_DELAY_SECONDS = 1.0
#: Seconds between two looks of a progress bar, however often it is told.
REFRESH_SECONDS = 0.1
#: Characters of a bar, and seconds left that are not worth telling.
BAR, MOST_LEFT = 30, 1e7
#: Longest cell of a table: a formula is shown whole, a hostile text is not.
MAX_CELL_WIDTH = 2000
#: Most spaces that a long cell costs the others of its column; it stands whole and pushes its own line alone.
MAX_PADDING = 60
#: A table of one record's parts that is wider than this is written as blocks instead.
MAX_TABLE_WIDTH = 110
#: Columns that a table may take of a wide terminal, and that every terminal is taken to have.
MAX_TERMINAL_COLUMNS, MIN_TERMINAL_COLUMNS = 400, 20
#: The environment variable that has errors of display raised.
STRICT_DISPLAY_VARIABLE = "FORECAST_STRICT_DISPLAY"


def write(text: str = "") -> None:
    """Write lines to stdout.

    Raises
    ------
    ForecastError
        If stdout is closed or full. A broken pipe stays a ``BrokenPipeError``: the reader has seen enough.
    """
    if sys.stdout is None:
        raise ForecastError("standard output is closed: nothing can be written to it")
    try:
        sys.stdout.write(text + "\n")
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as problem:  # ValueError: closed by the program that calls us
        raise ForecastError(f"cannot write to standard output: {printable(problem)}") from problem


def _write_note(kind: str, text: object) -> None:
    # a stderr that is closed or full must not hide the exit code
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"forecast: {kind}: {printable(text, 2000)}\n")
            sys.stderr.flush()


def note(text: object) -> None:
    """Write one line to stderr that says how to go on."""
    _write_note("note", text)


def warn(text: object) -> None:
    """Write one line of warning to stderr."""
    _write_note("warning", text)


def error(text: object) -> None:
    """Write one line of error to stderr."""
    _write_note("error", text)


def traceback_of(problem: BaseException) -> None:
    """Write a traceback to stderr (``--debug``)."""
    import traceback

    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            traceback.print_exception(problem, file=sys.stderr)


def _bold() -> bool:
    term = os.environ.get("TERM", "")
    return bool(sys.stdout and sys.stdout.isatty()) and not os.environ.get("NO_COLOR") and term not in ("", "dumb")


def write_headline(text: str) -> None:
    """Write the one plain sentence that opens an answer, and an empty line."""
    for line in _wrap(printable(text, 1000)):
        write(f"\033[1m{line}\033[0m" if _bold() else line)
    write()


def prose(text: str, *, hanging: int = 2) -> None:
    """Write a sentence, wrapped at words where lines have a width: on a terminal, or by ``COLUMNS``."""
    for line in _wrap(text, hanging=hanging):
        write(line)


def _wrap(text: str, *, hanging: int = 0) -> list[str]:
    if not _has_width():
        return [text]  # whoever searches or cuts a pipe has one line a sentence
    return split(text, width(), hanging=hanging)


def _has_width() -> bool:
    """Tell whether lines have a width: on a terminal, or by ``COLUMNS``."""
    return bool(os.environ.get("COLUMNS") or (sys.stdout and sys.stdout.isatty()))


def width(most: int = 120) -> int:
    """Return how many columns a line may have: those of the terminal, 80 where there is none; of prose not too many."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, MIN_TERMINAL_COLUMNS), most)


def first_drawable(what: str, *ways: Callable[[], list[str]]) -> list[str]:
    """Return the lines of the first way of drawing something that does not fail; no lines where none is left.

    The one guard around what is laid out for a terminal: an error of display costs no answer. It is told as a warning,
    with its traceback under ``--debug``. The answer itself is computed outside, so that its errors are not hidden.
    ``FORECAST_STRICT_DISPLAY=1`` raises the error instead.

    Examples
    --------
    >>> first_drawable("a chart", lambda: ["a line"])
    ['a line']
    """
    for way in ways:
        try:
            return way()
        except Exception as problem:
            if os.environ.get(STRICT_DISPLAY_VARIABLE, "") not in ("", "0"):
                raise
            warn(
                f"{what} could not be drawn as usual ({type(problem).__name__}: {problem}); the answer is not affected"
            )
            if _debug():
                traceback_of(problem)
    return []


def _debug() -> bool:
    context = click.get_current_context(silent=True)
    return bool(context and (context.find_root().obj or {}).get("debug"))


def screen(brief: Brief) -> None:
    """Write an answer in brief on one screen, its sentence first."""
    from forecast.report.screen import brief_lines

    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        "━●▶".encode(encoding)
        ascii_only = False
    except (LookupError, UnicodeEncodeError):
        ascii_only = True
    bold = _bold()
    laid_out = partial(brief_lines, brief, width(), ascii_only=ascii_only)
    sentence = partial(_wrap, printable(brief.sentence, 1000))
    for line in first_drawable("the answer", laid_out, partial(laid_out, charts=False), sentence):
        bold = bold and bool(line)  # the sentence ends at the first empty line
        write(f"\033[1m{line}\033[0m" if bold else line)


def cell(value: object) -> str:
    """Return a value as the text of a cell: ``-`` for nothing, ``yes`` and ``no``, numbers without noise.

    Examples
    --------
    >>> cell(None), cell(True), cell(0.1), cell(1e25), cell(["a", "b"])
    ('-', 'yes', '0.1', '1e+25', 'a, b')
    """
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format(value, ".12g")
    if isinstance(value, Mapping):
        return ", ".join(f"{k} = {cell(v)}" for k, v in value.items()) or "-"
    if isinstance(value, (list, tuple)):
        return ", ".join(cell(v) for v in value) or "-"
    return printable(value, MAX_CELL_WIDTH)


def write_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, indent: int = 0) -> None:
    """Write an aligned table; columns that hold only numbers are aligned to the right.

    Every cell is whole, on a terminal and in a pipe. In a pipe a row is a line, and a cell of more than 60 characters
    moves what follows it, so that one long formula does not widen the whole table. Where lines have a width, cells are
    wrapped at words; where that does not do, each row is a block, a line a cell.

    Parameters
    ----------
    columns : sequence of str
        The header.
    rows : iterable of sequence
        One cell a column; text from outside is escaped here.
    indent : int
        Spaces before each line.
    """
    raw = [list(row) for row in rows]
    texts = [[cell(v) for v in row] for row in raw]
    aligned = partial(_table_lines, columns, raw, texts, indent=indent)
    for line in first_drawable("a table", aligned, lambda: ["  ".join(row) for row in [list(columns), *texts]]):
        write(line)


def _table_lines(
    columns: Sequence[str], raw: Sequence[Sequence[object]], texts: Sequence[Sequence[str]], *, indent: int
) -> list[str]:
    """Return the lines of a table: its columns aligned, or a block for each row where they do not fit."""
    widths = [min(max(width_of(t) for t in column), MAX_PADDING) for column in zip(columns, *texts, strict=True)]
    right = [
        bool(raw) and all(v is None or is_real(v) for v in column)
        for column in (zip(*raw, strict=True) if raw else [()] * len(columns))
    ]

    heads = [printable(c) for c in columns]
    if _has_width():
        cells = [list(column) for column in zip(heads, *texts, strict=True)]
        fitted = column_widths(cells, width(MAX_TERMINAL_COLUMNS) - indent)
        if fitted is None:
            return _block_lines(columns, [dict(zip(columns, row, strict=True)) for row in raw], indent=indent)
        widths = fitted

    def line(cells: Sequence[str]) -> str:
        parts = []
        for text, width, numeric in zip(cells, widths, right, strict=True):
            pad = " " * (width - width_of(text))
            parts.append(pad + text if numeric else text + pad)
        return (" " * indent + "  ".join(parts)).rstrip()

    row_lines = partial(_row_lines, line=line, widths=widths if _has_width() else None)
    return [*row_lines(heads), line(["-" * w for w in widths]), *(each for row in texts for each in row_lines(row))]


def _row_lines(
    texts: Sequence[str], *, line: Callable[[Sequence[str]], str], widths: Sequence[int] | None
) -> list[str]:
    """Return one row: a line in a pipe, else as many as its cells take."""
    if widths is None:
        return [line(texts)]
    split_cells = [split(text, max(wide, 1)) for text, wide in zip(texts, widths, strict=True)]
    return [line(cells) for cells in itertools.zip_longest(*split_cells, fillvalue="")]


def write_details(record: Mapping[str, Any]) -> None:
    """Write one record: its plain values first, then a section for each list or mapping in it."""
    plain = {k: v for k, v in record.items() if not _section(v) and v not in (None, "", [], {}, ())}
    wide = max((len(k) for k in plain), default=0)
    for key, value in plain.items():
        said = printable(value, 2000) if isinstance(value, str) else cell(value)
        for line in _wrap(f"{printable(key):<{wide}}  {said}", hanging=wide + 2):
            write(line)
    for key, value in record.items():
        if not _section(value):
            continue
        write()
        write(f"{printable(key)}:")
        if isinstance(value, Mapping):
            write_table(["name", "value"], value.items(), indent=2)
            continue
        columns = list(dict.fromkeys(k for row in value for k in row))
        columns = [c for c in columns if any(row.get(c) not in (None, "", [], {}) for row in value)]
        if sum(max(width_of(cell(row.get(c))) for row in value) + 2 for c in columns) <= (
            width() if _has_width() else MAX_TABLE_WIDTH
        ):
            write_table(columns, [[row.get(c) for c in columns] for row in value], indent=2)
        else:
            for line in first_drawable("a table", partial(_block_lines, columns, value)):
                write(line)


def _block_lines(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], *, indent: int = 2) -> list[str]:
    """Return records that are too wide for a table, one below the other: the first value, then the others by name."""
    wide = max((width_of(printable(c)) for c in columns[1:]), default=0)
    room = width() if _has_width() else MAX_TABLE_WIDTH
    lead = " " * (indent + 2)
    out = []
    for row in rows:
        out.append(f"{' ' * indent}{cell(row.get(columns[0]))}")
        for column in columns[1:]:
            if row.get(column) in (None, "", [], {}):
                continue
            label = printable(column)
            first, *others = split(cell(row[column]), max(room - len(lead) - wide - 2, 20))
            out.append(f"{lead}{label:<{wide}}  {first}")
            out += [f"{lead}{'':<{wide}}  {line}" for line in others]
    return out


def verbatim(text: str) -> None:
    """Write lines as they stand (a traceback), with their control characters escaped."""
    for line in text.splitlines():
        write(printable(line, 1000))


def _section(value: object) -> bool:
    if isinstance(value, Mapping):
        return bool(value)
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(v, Mapping) for v in value)


def _argv() -> list[str]:
    """Return the command line as typed, absolute paths cut to their last part: an answer names no machine."""
    context = click.get_current_context(silent=True)
    typed = (context.find_root().obj or {}).get("argv", []) if context else []
    return ["forecast", *(_shorten_path(word) for word in typed)]


def _shorten_path(word: str) -> str:
    head, equals, tail = word.partition("=")
    value = tail if equals else head
    if not Path(value).is_absolute():
        return word
    base = Path(value).name or "/"
    return f"{head}={base}" if equals else base


def provenance(plugins: Iterable[Any] = (), *, computed: bool = False, **more: Any) -> dict[str, Any]:
    """Return what is needed to repeat an answer: versions, plugins and the command. No clock, host or path.

    Parameters
    ----------
    plugins : iterable of forecast.contract.registry.Plugin
        Those that the answer used.
    computed : bool
        The answer was computed, not only looked up: the versions of numpy, scipy and xarray matter too.
    **more
        Anything else (a seed, data hashes).
    """
    import platform
    from importlib.metadata import version

    libraries = ("numpy", "scipy", "xarray") if computed else ()
    versions = {"lawcast": forecast.__version__, "python": platform.python_version()}
    used = {(p.name, p.distribution, p.version) for p in plugins}
    return {
        "versions": {**versions, **{name: version(name) for name in libraries}},
        "plugins": [{"name": n, "distribution": d, "version": v} for n, d, v in sorted(used)],
        "command": _argv(),
        **more,
    }


_provenance = provenance  # `emit` has an argument of that name


#: The names of the files that this process has written.
written: list[str] = []


def emit(
    result: Any,
    *,
    json: bool,
    text: Callable[[], None] | None = None,
    warnings: Sequence[str] = (),
    told: Sequence[str] | None = None,
    provenance: Mapping[str, Any] | None = None,
    files: Mapping[str, Callable[[], object]] | None = None,
    read: Sequence[str] = (),
) -> None:
    """Write an answer: as one JSON object, or as text; and the requested files.

    A file that cannot be written does not cost the answer, nor the other files: the answer is written all the same,
    and then the error is raised. A reader who closes stdout costs no file.

    Parameters
    ----------
    result : object
        The answer, or a function that makes it; with ``json``, under the key ``result``.
    json : bool
        Write ``{"command", "result", "warnings", "provenance"}``, in ASCII, so that no locale can spoil it.
    text : callable, optional
        Writes the answer for people. Default: `write_details` of the result.
    warnings : sequence of str
        In the JSON object, or one line each on stderr, below the answer.
    told : sequence of str, optional
        What stands on stderr instead of them: the same in fewer lines.
    provenance : mapping, optional
        Default: `provenance()`.
    files : mapping of str to callable, optional
        A file's name, and what writes it.
    read : sequence of str
        What was read of files, a sentence each: below the answer, and in the JSON object.
    """
    unwritten: list[Exception] = []
    for name, write_file in (files or {}).items():
        try:
            write_file()
            written.append(Path(name).name)
        except Exception as problem:
            unwritten.append(problem)
    try:
        if json:
            write(json_envelope(result, warnings=warnings, provenance=provenance, read=read))
        else:
            (text or (lambda: write_details(result)))()
            for line in filter(None, read):
                write(line)
            if warnings and sys.stdout is not None:
                sys.stdout.flush()  # they stand below the answer
            for line in warnings if told is None else told:
                warn(line)
        if unwritten and sys.stdout is not None:
            sys.stdout.flush()
    except BaseException:
        _say_all(unwritten)
        raise
    _say_all(unwritten[:-1])
    if unwritten:
        raise unwritten[-1]


def _say_all(problems: Iterable[Exception]) -> None:
    for problem in problems:
        error(join_lines(problem))


def json_envelope(
    result: Any, *, warnings: Sequence[str] = (), provenance: Mapping[str, Any] | None = None, read: Sequence[str] = ()
) -> str:
    """Return an answer as the JSON object that ``--json`` prints and ``--out FILE.json`` holds."""
    from forecast.base.json_text import to_json  # a listing for people needs none

    answer = {
        "command": _command_name(),
        "result": result() if callable(result) else result,
        **({"read": list(read)} if any(read) else {}),
        "warnings": [str(w) for w in warnings],
        "provenance": _provenance() if provenance is None else provenance,
    }
    return to_json(answer, indent=2)


def _command_name() -> str:
    """Return the command that runs, without the program: ``laws list``."""
    ctx, names = click.get_current_context(), []
    while ctx.parent is not None:
        names.append(str(ctx.info_name))
        ctx = ctx.parent
    return " ".join(reversed(names))


def _pace(rate: float) -> str:
    """Say how fast something goes: in a minute where less than one is done in a second."""
    return f"{rate:,.0f}/s" if rate >= 1 else f"{60 * rate:,.1f}/min"


@contextlib.contextmanager
def progress_bar(label: str) -> Iterator[Callable[[float, float], None]]:
    """Offer a progress bar on stderr, shown only on a terminal and only for work over a second.

    Yields
    ------
    callable
        ``report(done, total)``; a total that is not known is infinite.

    Examples
    --------
    >>> with progress_bar("drawing") as report:
    ...     report(1, 2)
    """
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda done, total: None
        return
    began, last, shown, begins = time.monotonic(), -math.inf, False, list[tuple[float, float]]()

    def report(done: float, total: float) -> None:
        nonlocal last, shown
        now = time.monotonic()
        if done < total and now - last < REFRESH_SECONDS:
            return
        last = now
        if not begins:
            begins.append((now, done))
        shown = shown or (now - began > PROGRESS_DELAY_SECONDS and done < total)
        if shown:
            since, before = begins[0] if done > begins[0][1] else (began, 0.0)  # a resumed run begins with some
            _write_over(f"{printable(label, 60)}  {_bar_text(done, total, (done - before) / max(now - since, 1e-9))}")

    try:
        yield report
    finally:
        if shown:
            _write_over("")


def _bar_text(done: float, total: float, rate: float) -> str:
    """Say how far something is, how fast it goes, and when it ends where that is known."""
    pace = f"at {_pace(rate)}"
    if not math.isfinite(total):
        return f"{done:,.0f} {pace}"
    filled = "#" * int(BAR * min(done / max(total, 1e-9), 1))
    left = f"  {timedelta(seconds=round((total - done) / rate))} left" if rate > (total - done) / MOST_LEFT else ""
    return f"[{filled:-<{BAR}}] {done:,.0f}/{total:,.0f} {pace}{left}"


def _write_over(text: str) -> None:
    """Write a line to stderr in the place of the last one, which the next writes over; an empty one clears it."""
    room = width() - 1
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"\r{text[:room]:<{room}}\r")
        sys.stderr.flush()
