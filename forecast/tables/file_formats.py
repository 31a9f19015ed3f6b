"""From a file to the text of its cells: the format is told by the content, and everything is bounded before it is read.

Text in UTF-8, UTF-16 or Latin-1 with any separator, JSON, JSON lines, YAML, spreadsheets (XLSX, XLS, ODS), tables of
web pages, each of them also under gzip; and what readers of plugins read (`forecast.ReaderSpec`).

How many cells a workbook spans is told from its bytes: a library lays all of them out, however few are filled.
"""

from __future__ import annotations

import contextlib
import datetime
import fnmatch
import functools
import gzip
import hashlib
import html
import io
import json
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from xml.parsers import expat

from forecast.base.budgets import check_memory
from forecast.base.files import check_regular, read_bytes
from forecast.errors import (
    AmbiguousNameError,
    DataError,
    EmptyDataError,
    PluginError,
    TableError,
    UsageError,
    one_line,
    printable,
)
from forecast.tables.csv_format import plain_cell
from forecast.tables.delimited_text import MAX_TABLE_CELLS, parse_text, table_of_rows
from forecast.tables.raw_table import RawTable
from forecast.tables.records import MAX_RECORD_DEPTH, flatten_document, holds_records, to_cells

if TYPE_CHECKING:
    from forecast.contract.registry import Record


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


MAX_FILE_BYTES = 256 * 2**20
MAX_YAML_BYTES = 16 * 2**20
MAX_YAML_ALIASES = 1000
MAX_WORKBOOK_BYTES = 64 * 2**20
#: What reading takes: the bytes, a copy while they are checked, and a text a cell.
TEXT_MEMORY_FACTOR, CELL_BYTES = 3, 66
#: What a library keeps for a cell of a sheet, and we of it.
WORKBOOK_CELL_BYTES = 120
#: Bytes of objects for a byte of JSON.
JSON_MEMORY_FACTOR = 12
#: First bytes of what people take for a table by mistake.
_BINARY_FORMATS = {
    b"\x89PNG": "a picture (PNG)", b"\xff\xd8\xff": "a picture (JPEG)", b"GIF8": "a picture (GIF)", b"%PDF": "a PDF",
    b"\x89HDF": "an HDF5 or netCDF file", b"CDF": "a netCDF file", b"\x93NUMPY": "a numpy array",
    b"\x80\x04": "a pickle, which can run code when read", b"\x80\x05": "a pickle, which can run code when read",
    b"SQLite": "a database", b"\x7fELF": "a program", b"BZh": "a bzip2 archive", b"\xfd7zXZ": "an xz archive",
    b"7z\xbc\xaf": "a 7z archive", b"(\xb5/\xfd": "a zstd archive",
}  # fmt: skip
#: A document, empty for a file of another kind, and the table of the file, or what lays the document out as one.
_Parsed = tuple[Mapping[Any, Any], RawTable | Callable[[], RawTable]]
#: What comes after blanks, and commas between records.
_NOT_BLANK_PATTERN = re.compile(r"[^\s,]")
_YAML_LINE_PATTERN = re.compile(r"\s*(- .*|-|[\w.\"'/ ()+-]+:( .*)?|#.*|---)", re.DOTALL)


def read_file(path: str | os.PathLike[str], *, reader: str = "") -> RawTable:
    r"""Read a file of any format as a table of text.

    Parameters
    ----------
    path : path-like
    reader : str
        The name of a plugin's reader, or ``"none"``. Default: the one whose patterns fit the file.

    Raises
    ------
    DataError
        If there is no such ordinary, readable file, or its format is no table.
    EmptyDataError, TableError, UsageError

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "log")
    >>> _ = path.write_text('{"step": 1, "loss": 2.5}\n{"step": 2, "loss": 2.25}')
    >>> dict(read_file(path))
    {'step': ['1', '2'], 'loss': ['2.5', '2.25']}
    """
    source = Path(path)
    check_regular(source, limit=MAX_FILE_BYTES)
    size = source.stat().st_size
    shown, label = printable(source), printable(source.name)
    if not size:
        raise EmptyDataError(f"{label}: the file is empty; expected a header and rows")
    check_memory(TEXT_MEMORY_FACTOR * size + CELL_BYTES * min(size // 2, MAX_TABLE_CELLS),
                 f"{shown}: reading it takes up to", error=DataError)  # fmt: skip
    if reader and reader != "none":
        from forecast.contract.registry import get_registry

        return read_with(get_registry().find("reader", reader, where="reader"), source)
    records = _matching_readers(source.name) if not reader else []
    named = [record for record in records if not record.spec.columns]
    if named:
        return read_with(_only_reader(named, label), source)
    data = read_bytes(source, limit=size)
    digest = "sha256:" + hashlib.sha256(data).hexdigest()
    document, table = _parse(data, label, digest, source)
    keys = [str(key) for key in document]
    if not (fitting := [record for record in records if _has_columns(record, keys)]):
        read = table() if callable(table) else table  # what a reader reads need not be a table to us
        if not (fitting := [record for record in records if _has_columns(record, [*read, *keys])]):
            return read
    record = _only_reader(fitting, label)
    return read_with(record, source, path=_records_path(document, record))


# Readers of plugins -------------------------------------------------------------------------------------------------


def _matching_readers(name: str) -> list[Record]:
    """Return the readers that may read a file of this name; those without patterns are reached by their own name."""
    from forecast.contract.registry import get_registry

    plain = name.casefold().removesuffix(".gz")
    every: list[tuple[Record, Any]] = [(record, record.spec) for record in get_registry().records("reader")]
    return [record for record, spec in every
            if any(fnmatch.fnmatchcase(plain, pattern.casefold()) for pattern in spec.matches)
            or (not spec.matches and spec.columns)]  # fmt: skip


def _has_columns(record: Record, names: Iterable[str]) -> bool:
    spec: Any = record.spec
    every = list(names)
    return all(any(fnmatch.fnmatchcase(name, pattern) for name in every) for pattern in spec.columns)


def _records_path(document: Mapping[Any, Any], record: Record) -> str:
    """Return where the records are that a reader is told by: ``results.*``; empty if it is told otherwise."""
    spec: Any = record.spec
    named = [key for key in document if any(fnmatch.fnmatchcase(str(key), pattern) for pattern in spec.columns)]
    lengths = {f"{key}.*": len(document[key]) for key in named if holds_records(document[key])}
    return max(lengths, key=lengths.__getitem__, default="")


def _only_reader(records: Sequence[Record], label: str) -> Record:
    if len(records) > 1:
        names = " and ".join(record.full_name for record in records)
        raise AmbiguousNameError(f"{label}: the readers {names} read such files: name one with reader=")
    return records[0]


def read_with(record: Record, source: Path, *, where: str = "", path: str = "") -> RawTable:
    """Return what a plugin's reader makes of a file, whose records are at a path of its document.

    Raises
    ------
    TableError
        Naming the reader, if its code fails, or returns neither records nor columns of one length.
    EmptyDataError
    """
    from forecast.contract.plugin_calls import call_guarded
    from forecast.contract.registry import import_target

    spec: Any = record.spec
    parser = import_target(spec.target, what=f"reader '{record.full_name}'")
    what = f"{where or printable(source.name)}: reader {record.full_name}"

    def call() -> Mapping[str, Any]:
        given = parser(source)
        if isinstance(given, list) and all(isinstance(each, Mapping) for each in given):
            given = to_cells(flatten_document(given, what)[1])
        if not isinstance(given, Mapping):
            raise TableError(f"{what} returned no mapping of column to cells, nor records, but {type(given).__name__}")
        return {str(name): _texts(values, f"{what}: {name}") for name, values in given.items()}

    try:
        columns = call_guarded(what, call)
    except PluginError as error:
        raise TableError(str(error)) from error
    lengths = {len(values) for values in columns.values()}
    if lengths in (set(), {0}):
        raise EmptyDataError(f"{what} returned no rows")
    if len(lengths) > 1:
        raise TableError(f"{what} returned columns of different length")
    digest = "sha256:" + hashlib.sha256(read_bytes(source, limit=MAX_FILE_BYTES)).hexdigest()
    return RawTable(columns, range(1, lengths.pop() + 1), printable(source.name), digest,
                    notes=(f"as {spec.title or record.full_name}",), path=path)  # fmt: skip


# Formats ------------------------------------------------------------------------------------------------------------


def _parse(data: bytes, label: str, digest: str, path: Path) -> _Parsed:
    if data.startswith(b"\x1f\x8b"):
        data = _unpack(data, label)
    if data.startswith(b"PAR1"):
        raise DataError(f"{label}: a Parquet file in another; unpack it first")
    if data.startswith(b"PK\x03\x04"):
        return _zipped(data, label, digest, path)
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        return {}, _workbook(data, label, digest, check_xls(data, MAX_TABLE_CELLS, label))
    for magic, called in _BINARY_FORMATS.items():
        if data.startswith(magic):
            raise DataError(f"{label}: {called}; expected a table (CSV, JSON, a spreadsheet or Parquet)")
    data, encoding = _to_utf8(data, label)
    notes = (f"read as {encoding}",) if encoding else ()
    start = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if re.match(rb"<(!doctype|html|svg|\?xml|table|div|meta|!--)", start, re.IGNORECASE):
        return {}, _web_table(data.decode("utf-8"), label, digest, notes)
    found = _parse_json(data, label) if start[:1] in (b"{", b"[") else None
    if found is None and _is_yaml(data[:4096].decode("utf-8", "ignore")):
        found = _parse_yaml(data, label)
    if found is None:
        return {}, parse_text(data, label, digest, notes)
    return found if isinstance(found, Mapping) else {}, partial(_table_of_document, found, label, digest, notes)


@contextlib.contextmanager
def _unpacking(label: str, what: str) -> Iterator[None]:
    """Turn whatever fails in a damaged archive into an error that says what it is."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise DataError(f"{label}: {what} that cannot be unpacked: {one_line(error, 80)}") from None


def _unpack(data: bytes, label: str) -> bytes:
    size = 0
    with _unpacking(label, "a gzip file"), gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        while piece := stream.read(1 << 20):  # counted before anything is kept
            size += len(piece)
            _check_unpacked(size, label)
        check_memory(TEXT_MEMORY_FACTOR * size, f"{label}: reading it takes up to", error=DataError)
        return gzip.decompress(data)


def _check_unpacked(size: int, label: str) -> None:
    if size > MAX_FILE_BYTES:
        raise DataError(f"{label}: unpacks to more than {MAX_FILE_BYTES:,} bytes; at most that many are read")


def _to_utf8(data: bytes, label: str) -> tuple[bytes, str]:
    """Return text as UTF-8, and the encoding it had if that was another."""
    marks = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    wide = next((encoding for mark, encoding in marks.items() if data.startswith(mark)), "")
    first, second = (data[i:4096:2].count(0) / max(1, len(data[:4096]) // 2) for i in (0, 1))
    if not wide and min(first, second) < 0.1 and max(first, second) > 0.7:  # else no text, or zeros
        wide = "utf-16-be" if first > second else "utf-16-le"
    if wide:
        name = wide[:6].upper()
        try:
            return data.decode(wide).encode(), name
        except UnicodeDecodeError:
            raise DataError(f"{label}: begins as {name} text, and is none") from None
    if (nul := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, nul) + 1
        raise DataError(f"{label}:{line}: a NUL byte: a binary file; expected a table (CSV, JSON, a spreadsheet)")
    try:
        if not data.isascii():
            data.decode()
    except UnicodeDecodeError:
        if sum(data[:4096].count(byte) for byte in range(9)) > 4:
            raise DataError(f"{label}: a binary file; expected a table (CSV, JSON, a spreadsheet)") from None
        try:
            return data.decode("cp1252").encode(), "Windows-1252"
        except UnicodeDecodeError:
            return data.decode("latin-1").encode(), "Latin-1"
    return data, ""


def _parse_json(data: bytes, label: str) -> Any:
    """Return a JSON document, or the records of JSON lines; None if it is neither."""
    check_memory(JSON_MEMORY_FACTOR * len(data), f"{label}: reading it takes up to", error=DataError)
    text, records, at, decoder = data.decode("utf-8-sig"), list[Any](), 0, json.JSONDecoder()
    while (match := _NOT_BLANK_PATTERN.search(text, at)) is not None:
        try:
            record, at = decoder.raw_decode(text, at := match.start())
        except RecursionError:
            raise DataError(f"{label}: nested more than {MAX_RECORD_DEPTH} deep") from None
        except ValueError as error:
            if not records and not label.lower().removesuffix(".gz").endswith((".json", ".jsonl", ".ndjson")):
                return None
            if len(records) > 1 and "\n" not in text[at:].strip():  # a log whose program was stopped as it wrote
                break
            where = f"{label}:{text.count(chr(10), 0, at) + 1}" if records else label
            raise DataError(f"{where}: no JSON that can be read: {one_line(error, 100)}") from None
        records.append(record)
    return records[0] if len(records) == 1 else records


def _is_yaml(head: str) -> bool:
    whole = head.splitlines() if len(head) < 4096 else head.splitlines()[:-1]
    lines = [line for line in whole[:30] if line.strip()]
    if len(lines) < 2 or lines[0].startswith("%"):
        return False
    return all(map(_YAML_LINE_PATTERN.fullmatch, lines)) and any(re.search(r"(:|: \[.*)\s*$", line) or "- " in line[:9]
                                                                 for line in lines)  # fmt: skip


def _parse_yaml(data: bytes, label: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise UsageError(f"{label}: reading YAML needs PyYAML: pip install 'lawcast[yaml]'") from None
    if len(data) > MAX_YAML_BYTES:
        raise DataError(f"{label}: {len(data):,} bytes of YAML; at most {MAX_YAML_BYTES:,} are read")
    loader: Any = type("TableLoader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
    for kind in ("bool", "int", "float"):  # in a table 1:30 is not 90, 010 not 8, and the country NO not false
        build = loader.yaml_constructors[tag := f"tag:yaml.org,2002:{kind}"]
        loader.add_constructor(tag, lambda own, node, build=build: (
            node.value if re.match(r"(?i)[a-z]|[-+]?0\d|.*:", node.value) else build(own, node)))  # fmt: skip
    depth = aliases = 0
    try:
        for event in yaml.parse(data, Loader=loader):  # counted before anything is built
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            aliases += isinstance(event, yaml.AliasEvent)
            if depth > MAX_RECORD_DEPTH:
                raise DataError(f"{label}: nested more than {MAX_RECORD_DEPTH} deep")
            if aliases > MAX_YAML_ALIASES:
                raise DataError(f"{label}: more than {MAX_YAML_ALIASES} aliases")
        reader = loader(data)
        try:
            return reader.get_single_data()  # by a safe loader: it builds no objects
        finally:
            reader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise DataError(f"{label}: no YAML that can be read: {one_line(error, 120)}") from None


def _table_of_document(document: Any, label: str, digest: str, notes: tuple[str, ...]) -> RawTable:
    path, rows = flatten_document(document, label)
    columns = {name: _texts(cells, f"{label}: {name}") for name, cells in to_cells(rows).items()}
    said = (*notes, f"the records of {path}") if path not in ("", "*") else notes
    return RawTable(columns, range(1, len(rows) + 1), label, digest, notes=said, path=path)


def _texts(cells: Iterable[Any], where: str) -> list[str]:
    """Return values as the text of cells; a whole number has no point."""
    return [
        str(int(cell)) if type(cell) is float and cell.is_integer() and abs(cell) < 1e15
        else "inf" if cell in (float("inf"), float("-inf")) and type(cell) is float
        else plain_cell(cell, where)
        for cell in cells
    ]  # fmt: skip


def _web_table(text: str, label: str, digest: str, notes: tuple[str, ...]) -> RawTable:
    """Read the longest table of a web page, which programs save as .xls; no row of it may hold another table."""
    plain, *commented = text.split("<!--")
    plain += "".join(part.partition("-->")[2] for part in commented)
    parts = (re.split("(?i)</table", part) for part in re.split(r"(?i)<table\b[^<>]*>", plain)[1:])
    tables = [re.split(r"(?i)<tr\b[^<>]*>", part) for part, *ends in parts if ends]
    longest = max(tables, key=len, default=[])
    if len(longest) < 3 or plain.count("<") > MAX_TABLE_CELLS:
        raise DataError(f"{label}: a web page or other markup; expected a table (save it as CSV, JSON or XLSX)")
    rows = [[" ".join(html.unescape(re.sub("<[^<>]*>", " ", cell)).split())
             for cell in re.split(r"(?i)<t[dh]\b[^<>]*>", row)[1:]] for row in longest[1:]]  # fmt: skip
    said = (*notes, f"table {tables.index(longest) + 1} of {len(tables)} of a web page")
    return table_of_rows(list(enumerate(rows, start=1)), label, digest, said)


# Spreadsheets and archives ------------------------------------------------------------------------------------------


def _zipped(data: bytes, label: str, digest: str, path: Path) -> _Parsed:
    """Read a spreadsheet, or the only file of an archive."""
    with _unpacking(label, "a zip archive"):
        archive = zipfile.ZipFile(io.BytesIO(data))
        members = [e for e in archive.infolist() if not e.is_dir() and not e.filename.startswith("__MACOSX/")]
    names, unpacked = [each.filename for each in members], sum(each.file_size for each in members)
    _check_unpacked(unpacked, label)
    if any(name.endswith("workbook.bin") for name in names):
        raise DataError(f"{label}: a binary workbook (XLSB), which is not read; save it as XLSX")
    if any(name.endswith(".xml") for name in names):
        check_memory(TEXT_MEMORY_FACTOR * unpacked, f"{label}: reading it takes up to", error=DataError)
        with _unpacking(label, "a spreadsheet"):
            n_cells = sum(
                check_ods(archive.read(each), MAX_TABLE_CELLS, label)
                if each.filename == "content.xml"
                else check_xlsx_sheet(archive, each, MAX_TABLE_CELLS, label)  # a sheet of XLSX may have any name
                for each in members
            )
        return {}, _workbook(data, label, digest, n_cells)
    if len(members) != 1:
        listed = ", ".join(printable(name, 40) for name in names[:5])
        raise DataError(f"{label}: a zip archive of {len(members)} files ({listed}); expected a table, or one file")
    with _unpacking(label, "a zip archive"), archive.open(members[0]) as stream:
        inner = stream.read(MAX_FILE_BYTES + 1)
    if len(inner) > MAX_FILE_BYTES or inner.startswith(b"PK\x03\x04"):
        raise DataError(f"{label}: an archive in an archive, or larger than it says; expected a table")
    return _parse(inner, label, digest, path)


def _workbook(data: bytes, label: str, digest: str, n_cells: int) -> RawTable:
    """Read the largest sheet of a workbook, whose sheets span so many cells."""
    check_memory(WORKBOOK_CELL_BYTES * n_cells, f"{label}: reading it takes up to", error=DataError)
    try:
        import python_calamine
    except ImportError:
        raise UsageError(f"{label}: reading spreadsheets needs calamine: pip install 'lawcast[excel]'") from None
    if len(data) > MAX_WORKBOOK_BYTES:
        raise DataError(f"{label}: a spreadsheet of {len(data):,} bytes; at most {MAX_WORKBOOK_BYTES:,} are read")
    try:
        book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        sheets = [book.get_sheet_by_index(i) for i in range(len(book.sheet_names))]
        sheets = [sheet for sheet in sheets if sheet.height and sheet.width]
        if not sheets:
            raise EmptyDataError(f"{label}: a spreadsheet without a cell")
        sheet = max(sheets, key=lambda each: each.height * each.width)
        grid = sheet.to_python(skip_empty_area=True)
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        raise DataError(f"{label}: a spreadsheet that cannot be read: {one_line(error, 100)}") from None
    except BaseException as error:  # what the library's code in Rust fails with is no Exception
        if type(error).__name__ != "PanicException":
            raise
        raise DataError(f"{label}: a spreadsheet that cannot be read; its parts do not fit together") from None
    first = (sheet.start or (0, 0))[0] + 1
    clock = datetime.time, datetime.timedelta
    rows = [(first + i, _texts(("" if isinstance(cell, clock) else cell for cell in cells), label))
            for i, cells in enumerate(grid)]  # fmt: skip
    notes = [f"sheet '{printable(sheet.name, 40)}', one of {len(book.sheet_names)}"] if len(sheets) > 1 else []
    return table_of_rows(rows, label, digest, notes)
