"""How many cells a workbook spans, told from its bytes: a library lays all of them out, however few are filled."""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator
from typing import Any
from xml.parsers import expat

from forecast.errors import DataError

__all__ = ["check_ods", "check_xls", "check_xlsx_sheet"]

MAX_SHEETS = 1000
_CELL_PATTERN = re.compile(rb"""<(?:\w+:)?c\s[^>]*?\br\s*=\s*["']([A-Za-z]{1,4})([0-9]{1,8})["']""")
_FREE_SECTOR, _SMALL_STREAM = 0xFFFFFFFA, 4096
_SHEET_RECORD, _END_RECORD, _DIMENSIONS_RECORD, _NUMBERS_RECORD = 0x85, 0x0A, 0x200, 0xBD
#: Records of BIFF that begin with the row and the column of a cell.
_CELL_RECORDS = frozenset((0x02, 0x03, 0x04, 0x05, 0x06, 0x7E, 0xBD, 0xBE, 0xD6, 0xFD, 0x201, 0x203, 0x204, 0x205,
                           0x206, 0x27E, 0x406))  # fmt: skip


def check_xlsx_sheet(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limit: int, label: str) -> None:
    """Raise `DataError` if the far corner of a sheet spans more than `limit` cells."""
    far_row = far_column = 0
    tail = b""
    with archive.open(member) as stream:
        while piece := stream.read(1 << 20):
            for letters, row in _CELL_PATTERN.findall(tail + piece):
                column = 0
                for letter in letters.upper():
                    column = 26 * column + letter - 64
                far_row, far_column = max(far_row, int(row)), max(far_column, column)
            tail = (tail + piece)[-256:]
    _check_corner(far_row, far_column, limit, label)


def check_ods(content: bytes, limit: int, label: str) -> None:
    """Raise `DataError` if a sheet of an OpenDocument's ``content.xml`` spans more than `limit` cells."""
    row = column = far_row = far_column = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal row, column, far_row, far_column
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
                _check_corner(far_row, far_column, limit, label)

    def refuse(*_: Any) -> None:
        raise DataError(f"{label}: a spreadsheet that declares entities; it is not read")

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EntityDeclHandler = start, refuse
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, ValueError) as error:
        raise DataError(f"{label}: a spreadsheet that cannot be read: {str(error)[:80]}") from None


def check_xls(data: bytes, limit: int, label: str) -> None:
    """Raise `DataError` if a sheet of an XLS file spans more than `limit` cells."""
    try:
        for stream in _workbook_streams(data):
            starts = {struct.unpack_from("<I", stream, at)[0] for kind, at, _ in _records(stream, 0)
                      if kind == _SHEET_RECORD}  # fmt: skip
            if len(starts) > MAX_SHEETS:
                raise DataError(f"{label}: a spreadsheet of more than {MAX_SHEETS:,} sheets")
            for start in starts:
                _check_corner(*_xls_corner(stream, start), limit, label)
    except (struct.error, IndexError, ValueError):
        raise DataError(f"{label}: a spreadsheet that cannot be read: its parts do not fit together") from None


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


def _check_corner(rows: int, columns: int, limit: int, label: str) -> None:
    if rows * columns > limit:
        raise DataError(f"{label}: a sheet of {rows:,} rows and {columns:,} columns; at most {limit:,} cells are read")


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
