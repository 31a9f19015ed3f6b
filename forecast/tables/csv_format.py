"""CSV files, read strictly and written so that a spreadsheet runs nothing.

The format: UTF-8 (a byte-order mark is dropped), commas, double quotes (``""`` inside quotes), lines ending in LF, CRLF
or CR, the last one with or without. Lines before the header that start with ``# `` (a hash and a blank) are remarks.
The header names the columns: none empty, none twice (compared in Unicode NFC), no blanks around. Blank lines are
skipped. Every row has as many cells as the header. Files over `MAX_CSV_BYTES` (256 MiB), and files that take more
memory than `forecast.base.budgets.memory` allows, are refused before they are read; those of more than `MAX_CSV_CELLS`
(10 million) cells where that shows. Everything else is an error that names file and line.

Spreadsheets run a text cell that starts with ``=``, ``+``, ``-``, ``@``, TAB, CR or LF. `write_csv` puts an apostrophe
before such *text* (numbers are untouched) and `read_csv` takes one off again, so that what was written comes back.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forecast.base.budgets import check_memory
from forecast.base.files import check_regular, read_bytes, write_atomic
from forecast.base.lazy import is_masked_value
from forecast.errors import DataError, EmptyDataError, TableError, printable
from forecast.tables.plain_csv import PlainRows, find_plain_rows
from forecast.tables.schema import cells

__all__ = [
    "MAX_CSV_BYTES",
    "MAX_CSV_CELLS",
    "CsvColumns",
    "join_rows",
    "load_bytes",
    "parse_csv",
    "read_csv",
    "read_plain_header",
    "write_csv",
]

MAX_CSV_BYTES = 256 * 2**20
MAX_CSV_CELLS = 10_000_000
MAX_CSV_COLUMNS = 10_000
MAX_COLUMN_NAME = 256
#: What reading takes: the bytes, a copy while they are checked, and a text a cell.
CSV_MEMORY_FACTOR, CELL_BYTES = 3, 66

_GUARDED = re.compile(r"'+[=+\-@\t\r\n]")
_DANGEROUS = re.compile(r"'*[=+\-@\t\r\n]")


class CsvColumns(dict[str, list[str]]):
    """Column name to cells, with the line each row starts on.

    Attributes
    ----------
    lines : sequence of int
        One a row; the header is line 1 where nothing stands before it.
    label : str
        The file's name for messages, printable.
    hash : str
        ``"sha256:..."`` over the file's bytes.
    """

    def __init__(self, columns: Mapping[str, list[str]], lines: Sequence[int], label: str, digest: str) -> None:
        super().__init__(columns)
        self.lines, self.label, self.hash = lines, label, digest

    def at(self, row: int, column: str) -> str:
        """Return ``file:line:column`` of a cell, for messages."""
        return f"{self.label}:{self.lines[row]}:{printable(column, 80)}"


def join_rows(one: CsvColumns, other: CsvColumns) -> CsvColumns:
    """Return the rows of two files, one after the other, by the columns of the first."""
    columns = {name: [*cells, *other.get(name, [""] * len(other.lines))] for name, cells in one.items()}
    return CsvColumns(columns, [*one.lines, *other.lines], f"{one.label} and {other.label}", one.hash)


def _line_of(data: bytes, position: int) -> int:
    head = data[:position]
    return head.count(b"\n") + head.count(b"\r") - head.count(b"\r\n") + 1


def _check_bytes(data: bytes, label: str) -> None:
    """Refuse what is not UTF-8 text, saying what it looks like."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TableError(f"{label}:1: UTF-16 text; expected UTF-8")
    if data.startswith(b"PK\x03\x04"):
        raise TableError(f"{label}:1: a zip archive (a spreadsheet or .npz?); expected CSV text")
    if (nul := data.find(b"\0")) >= 0:
        like = " (UTF-16 without a mark, or a binary file?)" if nul < 4 else ""
        raise TableError(f"{label}:{_line_of(data, nul)}: a NUL byte{like}; expected UTF-8 text")
    if data.isascii():
        return
    try:
        # In pieces: the whole text at once would double the memory. A character is at most four bytes.
        decoder = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
        while decoder.read(1 << 20):
            pass
    except UnicodeDecodeError:
        line = _first_bad_line(data)
        raise TableError(f"{label}:{line}: not UTF-8 (perhaps Latin-1 or Windows-1252); save it as UTF-8") from None


def _first_bad_line(data: bytes) -> int:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end + 1
        try:
            data[start:end].decode("utf-8")
        except UnicodeDecodeError as error:
            return _line_of(data, start + error.start)
        start = end
    return 1


def _after_remarks(data: bytes) -> int:
    """Return where the first line stands that is no remark."""
    start = 3 if data.startswith(b"\xef\xbb\xbf# ") else 0
    while data.startswith(b"# ", start):
        ends = [end + 1 for mark in (b"\n", b"\r") if (end := data.find(mark, start)) >= 0]
        if not ends:
            return len(data)
        start = min(ends)
        if data[start - 1 : start + 1] == b"\r\n":
            start += 1
    return start


def _check_header(row: list[str], label: str, line: int) -> list[str]:
    if len(row) > MAX_CSV_COLUMNS:
        raise TableError(f"{label}:{line}: {len(row):,} columns; at most {MAX_CSV_COLUMNS:,} are read")
    if len(row) == 1:
        for mark, called in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
            if mark in row[0]:
                raise TableError(f"{label}:{line}: the columns are separated by {called}; expected commas")
    failures: list[str] = []
    seen: dict[str, int] = {}
    names = [cells.normalise_text(_unguard(name)) for name in row]
    for index, name in enumerate(names, start=1):
        at = f"{label}:{line}: column {index}"
        if not name.strip():
            failures.append(f"{at} has no name" + (" (a trailing comma?)" if index == len(names) else ""))
        elif name != name.strip():
            failures.append(f"{at}: blanks around the name '{printable(name, 80)}'")
        elif len(name) > MAX_COLUMN_NAME:
            failures.append(f"{at}: a name of {len(name):,} characters; at most {MAX_COLUMN_NAME}")
        elif name in seen:
            failures.append(f"{at}: '{printable(name, 80)}' names column {seen[name]} too")
        seen.setdefault(name, index)
    if failures:
        raise TableError(failures)
    return names


def _unguard(cell: str) -> str:
    """Take off the apostrophe that `write_csv` puts before dangerous text."""
    return cell[1:] if cell.startswith("'") and _GUARDED.match(cell) else cell


def read_csv(path: str | os.PathLike[str], *, limit_bytes: int = MAX_CSV_BYTES) -> CsvColumns:
    r"""Read a CSV file into columns of text. Cells are as they stand: what they mean is the schema's business.

    Parameters
    ----------
    path : path-like
    limit_bytes : int
        A larger file is refused before it is read.

    Raises
    ------
    DataError
        If there is no such ordinary, readable file.
    EmptyDataError
        For a file without a byte, without a header or without a row.
    TableError
        Naming file and line of everything outside the format in this module's text.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = path.write_text("x,y\n1,2\n3,\n")
    >>> dict(read(path))
    {'x': ['1', '3'], 'y': ['2', '']}
    """
    data, label = load_bytes(path, limit_bytes=limit_bytes)
    return parse_csv(data, label)


def load_bytes(path: str | os.PathLike[str], *, limit_bytes: int = MAX_CSV_BYTES) -> tuple[bytes, str]:
    """Return the bytes of a CSV file, and its name for messages; the first half of `read_csv`."""
    source = Path(path)
    check_regular(source, limit=limit_bytes)
    size = source.stat().st_size
    need = CSV_MEMORY_FACTOR * size + CELL_BYTES * min(size // 2, MAX_CSV_CELLS)
    check_memory(need, f"{printable(source)}: reading it takes up to", error=DataError)
    return read_bytes(source, limit=limit_bytes), printable(source.name)


def read_plain_header(data: bytes, label: str) -> tuple[dict[str, int], PlainRows, int] | None:
    """Read the header of a file that needs not be read cell by cell; None for one that does.

    Returns
    -------
    dict of str to int, Plain, int
        The place of each column by its name, the rows, and the line of the first.
    """
    _check_bytes(data, label)
    start = _after_remarks(data)
    if (found := find_plain_rows(data, start)) is None or found.rows * len(found.header) > MAX_CSV_CELLS:
        return None
    line = _line_of(data, start)
    return {name: place for place, name in enumerate(_check_header(found.header, label, line))}, found, line + 1


def parse_csv(data: bytes, label: str) -> CsvColumns:
    """Read the bytes of a CSV file; `label` names it in messages."""
    import hashlib

    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    if (found := read_plain_header(data, label)) is not None:
        names, rows, first = found
        return CsvColumns(dict(zip(names, rows.cells(), strict=True)), range(first, first + rows.rows), label, digest)
    return _by_cell(data, label, digest)


def _by_cell(data: bytes, label: str, digest: str) -> CsvColumns:
    stream = io.BytesIO(data)
    start = _after_remarks(data)
    stream.seek(start)
    skipped = _line_of(data, start) - 1
    reader = csv.reader(io.TextIOWrapper(stream, encoding="utf-8-sig", newline=""), strict=True)
    names: list[str] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    failures: list[str] = []
    line = skipped + 1
    try:
        for row in reader:
            if row and not names:
                names = _check_header(row, label, line)
            elif row and len(row) != len(names):
                failures.append(f"{label}:{line}: {len(row)} cells where the header names {len(names)} columns")
            elif row:
                if len(lines) * len(names) >= MAX_CSV_CELLS:
                    raise TableError(f"{label}:{line}: more than {MAX_CSV_CELLS:,} cells; split the file")
                rows.append(row)
                lines.append(line)
            line = skipped + reader.line_num + 1
    except csv.Error as error:
        raise TableError([*failures, f"{label}:{line}: {_csv_reason(str(error))}"]) from error
    if failures:
        raise TableError(failures)
    if not names:
        raise EmptyDataError(f"{label}: the file is empty; expected a header and rows")
    if not lines:
        raise EmptyDataError(f"{label}: a header without a row")
    columns = [list(column) for column in zip(*rows, strict=True)]
    if b"'" in data:  # it may guard a text
        columns = [list(map(_unguard, column)) for column in columns]
    return CsvColumns(dict(zip(names, columns, strict=True)), lines, label, digest)


def _csv_reason(text: str) -> str:
    if "unexpected end" in text:
        return "a quoted cell that starts here never ends"
    if "expected after" in text:
        return 'text after the closing quote of a cell; write "" for a quote inside'
    if "field larger" in text:
        return "a cell longer than 131,072 characters"
    return printable(text)


def _format_cell(value: Any, at: str) -> str:
    """Return one value as a cell of a file: text guarded and quoted."""
    plain = plain_cell(value, at)
    return _text_cell(plain, at) if isinstance(value, str) else plain


def plain_cell(value: Any, at: str) -> str:
    """Return one value as a cell's text: numbers unrounded, dates ISO, missing empty."""
    import numpy as np

    if value is None or is_masked_value(value):
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        number = float(value)
        if number != number:
            return ""
        if number in (float("inf"), float("-inf")):
            raise DataError(f"{at}: infinity has no CSV form")
        return repr(number)
    if isinstance(value, np.datetime64):
        return "" if np.isnat(value) else _date_cell(str(value.astype("datetime64[s]")))
    if hasattr(value, "isoformat"):
        stamp = value.isoformat()
        return "" if stamp == "NaT" else _date_cell(str(stamp))
    if isinstance(value, str):
        return str(value)
    raise DataError(f"{at}: a {type(value).__name__} has no CSV form")


def _date_cell(stamp: str) -> str:
    return stamp.removesuffix("T00:00:00")


def _text_cell(value: str, at: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(f"{at}: '{printable(value, 80)}' holds a lone surrogate, which UTF-8 cannot") from None
    if "\0" in value:
        raise DataError(f"{at}: text with a NUL character")
    guarded = "'" + value if _DANGEROUS.match(value) else value
    if any(c in guarded for c in ',"\r\n') or guarded != guarded.strip():
        guarded = '"' + guarded.replace('"', '""') + '"'
    return guarded


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, Sequence[Any]]) -> Path:
    r"""Write columns as CSV, whole or not at all, and return the path.

    Numbers are written unrounded, dates as ISO, missing values as empty cells. Text that a spreadsheet would run
    gets an apostrophe in front, which `read_csv` takes off again.

    Raises
    ------
    ResultError
        If the file cannot be written; see `forecast.base.files.safe_output`.
    DataError
        If columns differ in length or hold what has no CSV form (infinity, NUL, lone surrogates).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = write(pathlib.Path(tempfile.mkdtemp(), "a.csv"), {"name": ["=SUM(A1)", "b"], "x": [-0.1, 2.0]})
    >>> path.read_text()
    "name,x\n'=SUM(A1),-0.1\nb,2.0\n"
    """
    return write_atomic(path, to_csv(columns))


def to_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    """Return columns as CSV: what `write_csv` writes.

    Raises
    ------
    DataError
        See `write_csv`.
    """
    if not columns:
        raise DataError("csv: no columns to write")
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        each = ", ".join(f"{printable(name, 40)} {len(values)}" for name, values in columns.items())
        raise DataError(f"csv: the columns differ in length: {each}")
    header = [_text_cell(str(name), "header") for name in columns]
    lines = [",".join(header)]
    for index, row in enumerate(zip(*columns.values(), strict=True), start=1):
        line = ",".join(
            _format_cell(v, f"row {index}, column {printable(n, 40)}") for n, v in zip(columns, row, strict=True)
        )
        lines.append(line or '""')  # a lone empty cell: a blank line would be skipped
    return "\n".join(lines) + "\n"
