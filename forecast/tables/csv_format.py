"""CSV files written so that a spreadsheet runs nothing.

Spreadsheets run a text cell that starts with ``=``, ``+``, ``-``, ``@``, TAB, CR or LF. `write_csv` puts an apostrophe
before such *text* (numbers are untouched) and `forecast.tables.delimited_text` takes one off again, so that what was
written comes back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.base.files import write_atomic
from forecast.base.lazy import is_masked_value
from forecast.errors import DataError, printable

if TYPE_CHECKING:
    from forecast.base.arrays import AnyArray

#: Text that a spreadsheet would run, and text that begins as a remark does.
_DANGEROUS = re.compile(r"'*[=+\-@#\t\r\n]")


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


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, Sequence[Any] | AnyArray]) -> Path:
    r"""Write columns as CSV, whole or not at all, and return the path.

    Numbers are written unrounded, dates as ISO, missing values as empty cells. Text that a spreadsheet would run
    gets an apostrophe in front, which reading takes off again.

    Raises
    ------
    ResultError
        If the file cannot be written; see `forecast.base.files.safe_output`.
    DataError
        If columns differ in length or hold what has no CSV form (infinity, NUL, lone surrogates).

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = write_csv(pathlib.Path(tempfile.mkdtemp(), "a.csv"), {"name": ["=SUM(A1)", "b"], "x": [-0.1, 2.0]})
    >>> path.read_text()
    "name,x\n'=SUM(A1),-0.1\nb,2.0\n"
    """
    return write_atomic(path, to_csv(columns))


def to_csv(columns: Mapping[str, Sequence[Any] | AnyArray]) -> str:
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
        cells = []
        for name, value in zip(columns, row, strict=True):
            at = f"row {index}, column {printable(name, 40)}"
            cells.append(_text_cell(str(value), at) if isinstance(value, str) else plain_cell(value, at))
        lines.append(",".join(cells) or '""')  # a lone empty cell: a blank line would be skipped
    return "\n".join(lines) + "\n"
