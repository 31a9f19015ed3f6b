"""How many cells a workbook spans, told from its bytes: a library lays all of them out, however few are filled."""

from __future__ import annotations

import functools
import io
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Any
from xml.parsers import expat

from forecast.errors import DataError

MAX_SHEETS = 1000
_PLACE_PATTERN = re.compile(r"([A-Za-z]{1,4})([0-9]{1,8})")
_FREE_SECTOR, _SMALL_STREAM = 0xFFFFFFFA, 4096
_SHEET_RECORD, _END_RECORD, _DIMENSIONS_RECORD, _NUMBERS_RECORD = 0x85, 0x0A, 0x200, 0xBD
#: Records of BIFF that begin with the row and the column of a cell.
_CELL_RECORDS = frozenset((0x02, 0x03, 0x04, 0x05, 0x06, 0x7E, 0xBD, 0xBE, 0xD6, 0xFD, 0x201, 0x203, 0x204, 0x205,
                           0x206, 0x27E, 0x406))  # fmt: skip


def check_xlsx_sheet(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int, label: str) -> int:
    """Return how many cells the far corner of a sheet spans; raise `DataError` if more than `limit`.

    A row or a cell without a place of its own (``r="B7"``) follows the one before it.
    """
    row = column = far_row = far_column = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal row, column, far_row, far_column
        name, place = tag.rpartition(":")[2], attributes.get("r", "")
        if name == "row":
            row, column = int(place or row + 1), 0
        elif name == "c":
            column += 1
            if match := _PLACE_PATTERN.fullmatch(place):
                row, column = int(match[2]), _column_number(match[1])
            if row > far_row or column > far_column:
                far_row, far_column = max(far_row, row), max(far_column, column)
                _check_corner(far_row, far_column, limit, label)

    with archive.open(member) as stream:
        if b"<" not in stream.read(8):  # a picture; a sheet may have any name
            return 0
    with archive.open(member) as stream:
        _parse_xml(stream, start, label)
    return far_row * far_column


@functools.lru_cache(maxsize=1024)
def _column_number(letters: str) -> int:
    return functools.reduce(lambda total, letter: 26 * total + ord(letter) - 64, letters.upper(), 0)


def check_ods(content: bytes, limit: int, label: str) -> int:
    """Return how many cells the largest sheet of an OpenDocument's ``content.xml`` spans; raise if over `limit`."""
    row = column = far_row = far_column = largest = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal row, column, far_row, far_column, largest
        name = tag.rpartition(":")[2]
        if name not in ("table", "table-row", "table-cell", "covered-table-cell"):
            return
        repeats = max((int(text) for each, text in attributes.items() if each.endswith("-repeated")), default=1)
        if name == "table":
            row = far_row = far_column = 0
        elif name == "table-row":
            row, column = row + repeats, 0
        else:
            column += repeats
            if any(each.startswith("office:") or each.endswith("formula") for each in attributes):
                far_row, far_column = max(far_row, row), max(far_column, column)
                largest = max(largest, _check_corner(far_row, far_column, limit, label))

    _parse_xml(io.BytesIO(content), start, label)
    return largest


def _parse_xml(stream: IO[bytes], start: Callable[[str, dict[str, str]], None], label: str) -> None:
    """Call a function at every element; raise `DataError` if entities are declared, or it is no XML."""

    def refuse(*_: Any) -> None:
        raise DataError(f"{label}: a spreadsheet that declares entities; it is not read")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EntityDeclHandler = start, refuse
    try:
        parser.ParseFile(stream)
    except (expat.ExpatError, ValueError) as error:
        raise DataError(f"{label}: a spreadsheet that cannot be read: {str(error)[:80]}") from None


def check_xls(data: bytes, limit: int, label: str) -> int:
    """Return how many cells the sheets of an XLS file span; raise `DataError` if one spans more than `limit`."""
    n_cells = 0
    try:
        for stream in _workbook_streams(data):
            starts = {struct.unpack_from("<I", stream, at)[0] for kind, at, _ in _records(stream, 0)
                      if kind == _SHEET_RECORD}  # fmt: skip
            if len(starts) > MAX_SHEETS:
                raise DataError(f"{label}: a spreadsheet of more than {MAX_SHEETS:,} sheets")
            for start in starts:
                n_cells += _check_corner(*_xls_corner(stream, start), limit, label)
    except (struct.error, IndexError, ValueError):
        raise DataError(f"{label}: a spreadsheet that cannot be read: its parts do not fit together") from None
    return n_cells


def _xls_corner(stream: bytes, start: int) -> tuple[int, int]:
    far_row = far_column = 0
    for kind, at, size in _records(stream, start):
        if kind == _DIMENSIONS_RECORD:
            if size >= 14:
                _, row, _, column = struct.unpack_from("<IIHH", stream, at)
            else:
                _, row, _, column = struct.unpack_from("<HHHH", stream, at)
        elif kind in _CELL_RECORDS:
            row, column = (n + 1 for n in struct.unpack_from("<HH", stream, at))
            if kind == _NUMBERS_RECORD:
                column = max(column, struct.unpack_from("<H", stream, at + size - 2)[0] + 1)
        else:
            continue
        far_row, far_column = max(far_row, row), max(far_column, column)
    return far_row, far_column


def _records(stream: bytes, at: int) -> Iterator[tuple[int, int, int]]:
    """Yield the kind, the place and the size of each record up to the end of a part."""
    while at + 4 <= len(stream):
        kind, size = struct.unpack_from("<HH", stream, at)
        if kind == _END_RECORD:
            return
        yield kind, at + 4, size
        at += 4 + size


def _check_corner(rows: int, columns: int, limit: int, label: str) -> int:
    if rows * columns > limit:
        raise DataError(f"{label}: a sheet of {rows:,} rows and {columns:,} columns; at most {limit:,} cells are read")
    return rows * columns


def _workbook_streams(data: bytes) -> Iterator[bytes]:
    """Yield the streams of a compound file in which workbooks are kept."""
    shift, small_shift = struct.unpack_from("<HH", data, 30)
    directory, _, cutoff, small_table, _, more, _ = struct.unpack_from("<7I", data, 48)
    if shift not in (9, 12) or small_shift != 6 or cutoff != _SMALL_STREAM:
        raise ValueError("sizes of sectors that the format does not have")

    def sector(number: int) -> bytes:
        return data[(number + 1) << shift : (number + 2) << shift]

    def numbers(block: bytes) -> list[int]:
        return [each for (each,) in struct.iter_unpack("<I", block[: len(block) // 4 * 4])]

    def chain(number: int, table: list[int]) -> Iterator[int]:
        seen = 0
        while number < _FREE_SECTOR:
            if (seen := seen + 1) > len(table):
                raise ValueError("a chain without an end")
            yield number
            number = table[number]

    listed, visited = numbers(data[76:512]), 0
    while more < _FREE_SECTOR:
        *found, more = numbers(sector(more))
        listed += found
        if (visited := visited + 1) > len(data) >> shift:
            raise ValueError("a chain without an end")
    table = [each for number in listed if number < _FREE_SECTOR for each in numbers(sector(number))]
    entries = b"".join(map(sector, chain(directory, table)))
    if len(entries) & ((1 << shift) - 1):
        raise ValueError("a directory that ends too early")
    small = [each for number in chain(small_table, table) for each in numbers(sector(number))]
    root = b"".join(map(sector, chain(struct.unpack_from("<I", entries, 116)[0], table)))
    for at in range(0, len(entries) - 127, 128):
        name = entries[at : at + 64].decode("utf-16-le", "replace").partition("\0")[0]
        if name.casefold() in ("workbook", "book"):
            start, length = struct.unpack_from("<II", entries, at + 116)
            small_parts = (root[n << 6 : (n + 1) << 6] for n in chain(start, small))
            parts: Iterator[bytes] = small_parts if length < _SMALL_STREAM else map(sector, chain(start, table))
            stream = b"".join(parts)
            if len(stream) < length:
                raise ValueError("a stream that ends too early")
            yield stream
