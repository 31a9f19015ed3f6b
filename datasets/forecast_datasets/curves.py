"""The performance-curve database: unit cost and production of technologies by year.

A technology is a CSV file of four columns in this order: price, year, yearly and previous production, with their units
in the header, written by many hands. `read_folder` takes a folder of them and refuses all for one that is wrong, since
its owner can mend it. `performance_curves_archive` takes the archive of the whole database, in which nobody here can
mend anything: a technology that cannot be read is left out, with a warning that names it and says why.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from forecast_datasets.rows import Columns

if TYPE_CHECKING:
    import zipfile

__all__ = ["Curve", "flat", "performance_curves_archive", "read_folder"]

#: Bounds of an archive: what a file of a hundred rows, and a database of a hundred technologies, never need.
LIMIT_ARCHIVE = 256 * 2**20
LIMIT_MEMBERS = 20_000
LIMIT_CURVES = 1_000
LIMIT_DIRECTORY = 4 * 2**20
LIMIT_BYTES = 2**17
LIMIT_LINES = 2_000
LIMIT_NAME = 100

_MISSING = frozenset(("", "na", "n/a", "nan"))


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One technology: the headers of its cost and production, and (year, cost, production, cumulative) by year."""

    technology: str
    cost: str
    production: str
    rows: tuple[tuple[int, float | None, float | None, float | None], ...]

    @property
    def unit(self) -> str:
        """What stands in brackets after the cost."""
        return self.cost.partition("(")[2].rpartition(")")[0]


def read_curve(technology: str, data: bytes) -> Curve:
    r"""Read one technology; ValueError says what is wrong with it.

    Examples
    --------
    >>> curve = read_curve("Widget", b"Price (USD),Time (Year),Yearly (t),Previous (t)\n9,2000,1,NA\n8,2001,2,1\n")
    >>> curve.unit, curve.rows
    ('USD', ((2000, 9.0, 1.0, None), (2001, 8.0, 2.0, 3.0)))
    """
    from forecast.errors import DataError
    from forecast.tables.delimited_text import split_rows

    lines = max(data.count(b"\n"), data.count(b"\r"))
    if lines > LIMIT_LINES:
        raise ValueError(f"{lines:,} lines; there are {LIMIT_LINES:,} at most, one a year")
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        content = data.decode("cp1252")  # what spreadsheets write; UnicodeDecodeError is a ValueError
    try:
        return _curve(technology, (cells for _, cells in split_rows(content, ",", technology)))
    except DataError as error:
        raise ValueError(str(error)) from None


def _curve(technology: str, lines: Iterable[list[str]]) -> Curve:
    """Read rows one by one, so that nothing is read beyond the first that is wrong."""
    cells = ([cell.strip() for cell in row] for row in lines)
    rows = (_trimmed(row) for row in cells if any(row))
    head = next(rows, [])
    if len(head) != 4 or "year" not in head[1].lower():
        raise ValueError("expected price, year, yearly and previous production")
    found = []
    seen: set[int] = set()
    for number, row in enumerate(rows, start=2):
        if len(row) != 4:
            raise ValueError(f"row {number}: {len(row)} cells, expected 4")
        price, when, made, before = (_number(cell, f"row {number}") for cell in row)
        if when is None or not when.is_integer() or not 1500 <= when <= 2200:
            raise ValueError(f"row {number}: '{row[1][:40]}' is no year")
        if when in seen:
            raise ValueError(f"row {number}: the year {when:.0f} is given twice")
        seen.add(int(when))
        total = made + before if made is not None and before is not None else None
        found.append((int(when), price, made, total))
    if not found:
        raise ValueError("no rows")
    return Curve(technology=technology, cost=head[0], production=head[2], rows=tuple(found))


def _trimmed(row: list[str]) -> list[str]:
    """Drop the empty cells that a spreadsheet leaves at the end of a row, but not a figure that is missing."""
    end = len(row)
    while end > 4 and not row[end - 1]:
        end -= 1
    return row[:end]


def _number(cell: str, where: str) -> float | None:
    if cell.lower() in _MISSING:
        return None
    from forecast.tables.schema import cells

    try:
        value = cells.parse_cell_number(cell)
    except ValueError:
        raise ValueError(f"{where}: expected a number or NA, got '{cell[:40]}'") from None
    if value < 0:
        raise ValueError(f"{where}: '{cell[:40]}': expected a figure that is not negative")
    return value


def read_folder(folder: Path) -> list[Curve]:
    """Read a folder with one file a technology.

    Raises
    ------
    DataError
        Which names the first file that cannot be read.
    """
    from forecast.base.files import read_bytes
    from forecast.errors import DataError, printable

    found = []
    for file in sorted(folder.glob("*.csv")):
        try:
            found.append(read_curve(file.stem, read_bytes(file, limit=LIMIT_BYTES)))
        except ValueError as error:
            raise DataError(f"performance_curves: {printable(file.name)}: {printable(error)}") from error
    return found


def performance_curves_archive(path: str | os.PathLike[str]) -> Columns:
    """Read the archive of a commit of carnegie/clab_experience_curve (MIT): the files ``*/expCurveData/*.csv`` in it.

    Nothing is unpacked to disk, no name in the archive is used as a path, and an archive with a name that leaves its
    folder, or with a symbolic link, is refused.

    Returns
    -------
    dict of lists
        ``technology``, ``year``, ``date`` (1 July), ``cost``, ``cost_measure`` (the header of the cost, with its unit
        and dollars), ``production``, ``cumulative`` (to the end of the year; what was made before the first year is the
        source's estimate), ``production_measure``. None is missing. Units differ by technology: compare shapes and
        rates, never levels.

    Raises
    ------
    DataError
        If it is no such archive, or larger than any such archive.
    """
    import warnings

    from forecast.errors import DataError, printable

    curves: dict[str, Curve] = {}
    for technology, data in _members(Path(path)):
        try:
            if technology in curves:
                raise ValueError("a second file of that name")
            curves[technology] = read_curve(technology, data)
        except ValueError as error:
            left = f"performance-curves: '{printable(technology, 80)}' is left out: {printable(error, 120)}"
            warnings.warn(left, stacklevel=2)
    if not curves:
        raise DataError(f"performance_curves: {Path(path).name}: no technology in it could be read")
    found = [curve for _, curve in sorted(curves.items())]
    return {
        **flat(found),
        "cost_measure": [curve.cost for curve in found for _ in curve.rows],
        "production_measure": [curve.production for curve in found for _ in curve.rows],
    }


def flat(curves: Sequence[Curve]) -> Columns:
    """Return the rows of all technologies, one below the other."""
    import datetime

    rows = [(curve.technology, *row) for curve in curves for row in curve.rows]
    return {
        "technology": [row[0] for row in rows],
        "year": [row[1] for row in rows],
        "date": [datetime.date(row[1], 7, 1) for row in rows],
        "cost": [row[2] for row in rows],
        "production": [row[3] for row in rows],
        "cumulative": [row[4] for row in rows],
    }


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Walk the technologies of an archive: the name of each, and its bytes."""
    import io
    import struct
    import zipfile
    import zlib

    from forecast.base.files import check_regular
    from forecast.errors import DataError, printable

    class Bounded(io.BufferedReader):
        """A file whose list of names, which `zipfile` reads in one piece and keeps as objects, is not too long."""

        def read(self, size: int | None = -1, /) -> bytes:
            if size is not None and size > LIMIT_DIRECTORY:
                raise DataError(f"{label}: a list of files of {size:,} bytes; at most {LIMIT_DIRECTORY:,} are read")
            return super().read(size)

    label = f"performance_curves: {printable(path.name)}"
    check_regular(path, limit=LIMIT_ARCHIVE)
    try:
        with Bounded(io.FileIO(path)) as file, zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if len(entries) > LIMIT_MEMBERS:
                raise DataError(f"{label}: {len(entries):,} files; at most {LIMIT_MEMBERS:,} are looked at")
            for info in entries:
                if reason := _strange(info):
                    raise DataError(f"{label}: '{printable(info.filename, 160)}' {reason}: the archive is refused")
            curves = [(name, info) for info in entries if (name := _technology(info))]
            if not curves:
                raise DataError(f"{label}: no file '*/expCurveData/*.csv' in it: another archive?")
            if len(curves) > LIMIT_CURVES:
                raise DataError(f"{label}: {len(curves):,} technologies; at most {LIMIT_CURVES:,} are read")
            for name, info in sorted(curves, key=lambda pair: pair[0]):
                if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise zipfile.BadZipFile(f"'{name}' is packed in a way that is not read here")
                with archive.open(info) as stream:
                    data = stream.read(LIMIT_BYTES + 1)  # what the archive says of its size need not be true
                if len(data) > LIMIT_BYTES:
                    raise DataError(f"{label}: '{printable(name, 80)}' is larger than {LIMIT_BYTES:,} bytes")
                yield name, data
    except (
        zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError,
    ) as error:  # fmt: skip
        raise DataError(f"{label}: not a zip archive that can be read: {printable(error, 120)}") from error


def _strange(info: zipfile.ZipInfo) -> str:
    """Say what no honest archive of these files holds; though nothing is unpacked, who made it meant it to be."""
    import stat

    parts = info.filename.replace("\\", "/").split("/")
    if not parts[0] or ".." in parts or any(":" in part for part in parts):
        return "would be unpacked outside the archive's folder"
    return "is a symbolic link" if stat.S_ISLNK(info.external_attr >> 16) else ""


def _technology(info: zipfile.ZipInfo) -> str:
    """Return the technology that a file of the archive holds, or nothing."""
    parts = PurePosixPath(info.filename).parts
    if len(parts) != 3 or parts[1] != "expCurveData" or info.is_dir():
        return ""
    name, dot, kind = parts[2].rpartition(".")
    plain = 0 < len(name) <= LIMIT_NAME and name.isprintable() and not name.startswith(".")
    return name if plain and dot and kind.lower() == "csv" else ""
