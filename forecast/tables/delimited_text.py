"""Rows of text -> a table: where the header is, what separates the cells, and which lines are no rows.

Files are published with lines above the header, a row of units below it, remarks, totals at the end, separators of
every kind. Each such decision is a note of the table. What cannot be decided, a row with more or fewer cells than the
header in the middle of the table, is an error that names the lines.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from forecast.errors import EmptyDataError, TableError, printable
from forecast.tables.number_cells import is_unit
from forecast.tables.raw_table import RawTable
from forecast.tables.schema.cells import MISSING_WORDS, is_missing, normalise_text

if TYPE_CHECKING:
    from forecast.base.arrays import Array

MAX_TABLE_CELLS = 10_000_000
MAX_COLUMNS = 10_000
MAX_COLUMN_NAME = 256
#: From this size on only the columns that are used are taken out of a file.
MIN_LARGE_BYTES = 1 << 20
#: Lines from which the separator is told.
N_SAMPLE_LINES = 60
#: Most lines above a header, and most lines of a footer.
MAX_LINES_AROUND = 40
#: Rows of values below names tell these from a row of words.
MIN_ROWS_BELOW_HEADER = 2
SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars", "&": "ampersands"}
BLANKS = "blanks"

#: A text that a spreadsheet would run, behind the apostrophe that `forecast.tables.csv_format` puts before it.
_GUARDED_PATTERN = re.compile(r"'+[=+\-@#\t\r\n]")
_NUMBER_PATTERN = re.compile(r"[-+(]?[$€£]?[\d.,'_]*\d[\d.,'_]*([eE][-+]?\d+)?[)%]?")
_DATE_PATTERN = re.compile(r"\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4})?([T ].*)?")
_TOTAL_PATTERN = re.compile(
    r"((grand |sub-?)?total|totals|totale|totaal|sum|summe|suma|somme|somma|soma|gesamt|insgesamt|mean|average|median|"
    r"mittelwert|durchschnitt|moyenne|promedio|gemiddelde|min|max|minimum|maximum|std|count)\W*",
    re.IGNORECASE,
)
#: A remark; a row that begins so and has values is a row.
_NOTE_PATTERN = re.compile(r"(source|sources|note|notes)\b.*|[*†]+\s*\w.*|\(\d+ rows?\)", re.IGNORECASE | re.DOTALL)
#: A cell of the lines that markdown, databases and LaTeX draw around rows.
_RULE_PATTERN = re.compile(r"\s*([:+]?[-=]+[-=+:]*|\\(h|top|mid|bottom)(line|rule))?\s*")
#: The first line of a file whose names are in single quotes.
_SINGLE_QUOTES_PATTERN = re.compile(r"('[^'\"\n]+'[,;\t|])+'[^'\"\n]+'\r?\n")
_BRACKETED_PATTERN = re.compile(r"\(.*\)|\[.*\]")
#: A run of dashes below a name.
_DASHES_PATTERN = re.compile(r"-+|=+")
#: Lines that programs draw around cells, upright, level, and where they meet.
_BOX_LINES = {**dict.fromkeys(range(0x2500, 0x2580), "+"), **dict.fromkeys(map(ord, "│┃║┆┊╎"), "|"),
              **dict.fromkeys(map(ord, "─━═╌┄┈"), "-")}  # fmt: skip
#: A number with three digits in its exponent may be infinite or vanish: such are read one by one.
_LARGE_EXPONENT_PATTERN = re.compile(rb"[eE][+-]?[0-9]{3}")

Row = tuple[int, list[str]]


def unguard(cell: str) -> str:
    """Take off the apostrophe that `write_csv` puts before text that a spreadsheet would run, and ``="..."``."""
    if cell.startswith('="') and cell.endswith('"'):
        return cell[2:-1]
    return cell[1:] if cell.startswith("'") and _GUARDED_PATTERN.match(cell) else cell


def parse_text(data: bytes, label: str, digest: str, notes: Sequence[str] = ()) -> RawTable:
    r"""Read text as a table.

    Parameters
    ----------
    data : bytes
        UTF-8.
    label, digest : str
        The file's name and hash.
    notes : sequence of str
        Decisions made before.

    Raises
    ------
    TableError
        Naming the lines that have more or fewer cells than the header, and a quoted cell that never ends.
    EmptyDataError

    Examples
    --------
    >>> table = parse_text(b"made up\n\nx;y\n(s);(m)\n1;2,5\n2;3,5\nMean;3\n", "a.csv", "")
    >>> dict(table), table.units
    ({'x': ['1', '2'], 'y': ['2,5', '3,5']}, {'x': 's', 'y': 'm'})
    >>> table.notes
    ('columns separated by semicolons', '1 line above the header left out', '1 line below the table left out')
    """
    data = data.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\x1a")
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    if re.search("[│┃║]", data[:4096].decode("utf-8", "ignore")):
        data = data.decode("utf-8").translate(_BOX_LINES).encode()
    head = data[: 1 << 18].decode("utf-8", "ignore").splitlines()
    separator = _find_separator([line for line in head if line.strip()][:N_SAMPLE_LINES])
    if separator != ",":
        notes = (*notes, *((f"columns separated by {SEPARATORS.get(separator, separator)}",) if separator else ()))
    if len(data) >= MIN_LARGE_BYTES and (table := _large_table(data, separator, label, digest, notes)) is not None:
        return table
    rows = split_rows(data.decode("utf-8"), separator, label)
    if separator == "," and data.startswith(b'"') and all(len(cells) < 2 for _, cells in rows) and "," in rows[0][1][0]:
        return parse_text("\n".join(map("".join, (cells for _, cells in rows))).encode(), label, digest, notes)
    return table_of_rows(rows, label, digest, notes, separator)


def _find_separator(lines: Sequence[str]) -> str:
    """Return what separates the cells: the separator that gives most lines one width; empty for a single column."""
    ruled = [line for line in lines if not line.startswith("#")] or list(lines)
    lines = [line for line in ruled if not _is_rule(re.split("[|\\s]", line))] or ruled
    best, found = (0.0, 0.0, 0), ""
    for separator in (*SEPARATORS, BLANKS):
        if (separator == BLANKS and found) or (separator == "&" and not any("\\\\" in line for line in lines)):
            continue
        try:
            text = "\n".join(ruled if separator == BLANKS else lines)  # whose dashes show the places of columns
            rows = [cells for _, cells in split_rows(text, separator, "") if not _is_rule(cells)]
        except TableError:
            continue
        widths = list(map(len, rows))
        width, count = Counter(widths).most_common(1)[0] if widths else (0, 0)
        # decimal commas give every line of numbers one width, the header another
        header = next((i for i, each in enumerate(widths) if each >= width), 0)
        # a title may have the commas that the rows have in quoted prices, but not the same in every line below it
        below = widths[header:].count(width) / max(1, len(widths) - header)
        score = (count / len(lines) - 0.5 * (widths[header] != width), below, width) if width > 1 else (0.0, 0.0, 0)
        named = count == len(lines) - 1 and widths[0] == width - 1
        named = named and all(is_value(cells[-1]) or cells[0] == str(i) for i, cells in enumerate(rows[1:], start=1))
        if separator == BLANKS and count < 0.9 * len(lines) and not named:
            continue
        if score > best and count > 1:
            best, found = score, separator
    return found or ("," if any("," in line for line in lines) or len(lines) < 2 else "")


def split_rows(text: str, separator: str, label: str, *, escaped: bool = False) -> list[Row]:
    """Split text into rows of cells, each with the line on which it starts; blank lines are rows without a cell.

    Quotes in cells are doubled, or have a backslash before them if they are `escaped`.
    """
    if separator == BLANKS and '"' not in text:
        return list(enumerate(_split_at_blanks([re.split(r"\s+#", line)[0].rstrip() for line in text.splitlines()]), 1))
    escaped = escaped or (separator == "|" and "\\|" in text)  # as markdown writes a bar in a cell
    mark = " " if separator == BLANKS else separator or "\x1f"
    quoted = f'{separator} "' in text[:4096] or mark == " "  # a blank before the quotes of a cell
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=mark, strict=True, skipinitialspace=quoted,
        quotechar="'" if _SINGLE_QUOTES_PATTERN.match(text) else '"', escapechar="\\" if escaped else None,
    )  # fmt: skip
    rows, line, size = [], 1, 0
    try:
        for cells in reader:
            rows.append((line, [cell.strip().rstrip("\\ ") for cell in cells] if mark in "|&" else cells))
            size += len(cells)
            if size > MAX_TABLE_CELLS:
                raise TableError(f"{label}:{line}: more than {MAX_TABLE_CELLS:,} cells; split the file")
            line = reader.line_num + 1
    except csv.Error as error:
        if '\\"' in text and not escaped:
            return split_rows(text, separator, label, escaped=True)
        raise TableError(f"{label}:{line}: {_csv_reason(str(error))}") from error
    framed = [cells for _, cells in rows if mark == "|" and len(cells) > 2 and not (cells[0] or cells[-1])]
    if 2 * len(framed) > len(rows):  # bars at the ends of lines separate nothing
        rows = [(line, cells[1:-1] if not (cells[0] or cells[-1]) else cells) for line, cells in rows if cells]
    return rows


def _split_at_blanks(lines: Sequence[str]) -> list[list[str]]:
    """Split lines at two blanks and more, so that names may hold one; else where the columns are; else at any."""
    filled = [line for line in lines if line]
    if any(re.search(r"\S {2,}\S", line) for line in filled):
        widths = {len(re.split(r"\s{2,}|\t", line.strip())) for line in filled}
        if len(widths) == 1 and widths != {1}:
            return [re.split(r"\s{2,}|\t", line.strip()) if line else [] for line in lines]
        if places := _column_places(filled):
            return [[line[place].strip() for place in places] if line else [] for line in lines]
    return [line.split() for line in lines]


def _column_places(lines: Sequence[str]) -> list[slice]:
    """Return where columns are that dashes below their names or two blanks in every line set apart; empty if not so."""
    drawn = next((line for line in lines[:3] if all(map(_DASHES_PATTERN.fullmatch, line.split()))), "")
    used = 0
    for line in lines[:1000]:
        used |= int(re.sub(r"\s", "0", re.sub(r"\S", "1", line[::-1])), 2)
    runs = re.finditer(r"\S+", drawn) if drawn else re.finditer("1+(?:01+)*", f"{used:b}"[::-1])
    starts = [run.start() for run in runs]
    places = [slice(start, end) for start, end in zip([0, *starts[1:]], [*starts[1:], None], strict=True)]
    names = re.split(r"\s{2,}", lines[0].strip())
    cells = (line[place].split() for line in lines[1:] for place in places)
    if (
        len(starts) < 2
        or not (drawn or len(starts) - len(names) == lines[0].startswith(" "))
        or any("\t" in line or any(line[at - 1 : at].strip() for at in starts[1:]) for line in lines)
        or any(len(words) > 1 and all(map(is_value, words)) for words in cells)
    ):
        return []
    return places


def _csv_reason(text: str) -> str:
    if "unexpected end" in text:
        return "a quoted cell that starts here never ends"
    if "expected after" in text:
        return 'text after the closing quote of a cell; write "" for a quote inside'
    if "field larger" in text:
        return "a cell longer than 131,072 characters"
    return printable(text)


def is_value(cell: str) -> bool:
    """Return True if a cell looks like a number or a date, and not like a name."""
    cell = cell.strip()
    return bool(_NUMBER_PATTERN.fullmatch(cell) or _DATE_PATTERN.fullmatch(cell))


def _is_blank(cells: Sequence[str]) -> bool:
    """Return True if a line holds nothing; a lone quoted cell is a row."""
    return not any(cell.strip() for cell in cells) and cells != [""]


def table_of_rows(
    rows: Iterable[Row], label: str, digest: str, notes: Sequence[str] = (), separator: str = ""
) -> RawTable:
    """Return rows of cells as a table: header found, what surrounds the table left out.

    Parameters
    ----------
    rows : iterable of (int, list of str)
        The line and the cells of each row.
    label, digest, notes, separator
        As in `RawTable`.
    """
    said = list(notes)
    every = list(rows)
    blank = {line for line, cells in every if _is_blank(cells)}
    rows, remarks = _without_remarks([row for row in every if row[0] not in blank and not _is_rule(row[1])])
    if not rows:
        raise EmptyDataError(f"{label}: the file is empty; expected a header and rows")
    width = Counter(_width(cells) for _, cells in rows[:1000]).most_common(1)[0][0]
    top = next(
        (i for i, (_, cells) in enumerate(rows[:MAX_LINES_AROUND]) if _is_header(cells, width, rows[i + 1 :])), 0
    )
    while _is_title(rows[top:]):
        top += 1
    if top:
        said.append(f"{top} line{'s' * (top > 1)} above the header left out")
    (line, header), body = rows[top], rows[top + 1 :]
    header, body = _joined_levels(header, body)
    if is_value(header[0]) and all(is_value(cell) for cell in header if cell.strip()) and len(body) > 1 and width > 1:
        body, header = rows[top:], [f"column {i + 1}" for i in range(_width(header))]
        said.append("no header: the columns are called column 1, column 2, …")
    header = [normalise_text(" ".join(unguard(name.strip("\u200b\ufeff") or name).split())) for name in header]
    header = header[: max(_width(header), max((_width(cells) for _, cells in body[:1000]), default=0) if body else 0)]
    body, n_below = _without_footer(body, len(header), blank)
    if n_below:
        said.append(f"{n_below} line{'s' * (n_below > 1)} below the table left out")
    units, body = _read_units(header, body)
    again = [i for i, (_, cells) in enumerate(body) if [" ".join(cell.split()) for cell in cells] == header]
    if again:
        said.append(f"{len(again)} repeated header{'s' * (len(again) > 1)} left out")
        body = [row for i, row in enumerate(body) if i not in set(again)]
    if remarks:
        said.append(f"{remarks} remark{'s' * (remarks > 1)} (#) left out")
    cells_of = _checked_rows(header, units, body, label, line, separator)
    if not body:
        raise EmptyDataError(f"{label}: a header without a row")
    columns = [list(map(unguard, column)) for column in zip(*cells_of, strict=True)]
    names = _column_names(header, columns, label, line)
    kept = {name: column for name, column in zip(names, columns, strict=True) if name}
    return RawTable(
        kept, [row for row, _ in body], label, digest, notes=said, separator=separator,
        units={name: unit for name, unit in zip(names, units, strict=True) if name and unit},
    )  # fmt: skip


def _joined_levels(header: list[str], body: list[Row]) -> tuple[list[str], list[Row]]:
    """Return the names that pandas writes in several rows, of which the last names the index alone, as one a column."""
    lowest = next((i for i, (_, cells) in enumerate(body[:5]) if len(cells) > 2 and _width(cells) == 1), 0)
    if header[0] or len(set(header)) == len(header) or not lowest:
        return header, body
    levels = [header[1:], *(cells[1:] for _, cells in body[:lowest])]
    above, below = ([is_value(cells[0]) for _, cells in part] for part in (body[: lowest + 1], body[lowest + 1 :]))
    # words in an index of numbers are no rows of it
    if any(above) or not ((below and all(below)) or not any(is_value(name) for level in levels for name in level)):
        return header, body
    return [body[lowest][1][0], *map(".".join, zip(*levels, strict=False))], body[lowest + 1 :]


def _width(cells: Sequence[str]) -> int:
    """Return the number of cells up to the last that holds something."""
    return next((i for i in range(len(cells), 0, -1) if cells[i - 1].strip()), 0)


def _is_header(cells: Sequence[str], width: int, later: Sequence[Row]) -> bool:
    """Return True for the first row as wide as the table that is no title in its first cell alone."""
    filled = sum(bool(cell.strip()) for cell in cells)
    # an index has no name, and a trailing comma is no column
    named = len(cells) == 2 and not cells[0].strip() and any(map(is_value, later[0][1] if later else ()))
    return len(cells) >= width - 1 and (filled > 1 or width < 2 or named) and (_width(cells) >= width - 1 or not later)


def _is_title(rows: Sequence[Row]) -> bool:
    """Return True for a line with separators above a header: names follow, and no units, over columns of values."""
    if len(rows) < MIN_ROWS_BELOW_HEADER + 2:
        return False
    (title_line, title), (names_line, names), *later = rows
    below = [cells for _, cells in later[:MIN_ROWS_BELOW_HEADER]]
    if (
        len(names) < max(map(len, below)) - 1
        or any(map(is_value, names))
        or not all(cell.strip() for cell in names[1:])
    ):
        return False
    if any(map(is_value, title)) and not any(" " in cell.strip() for cell in title):
        return False  # a year or a size may be the name of a column
    numeric = [i for i in range(len(names)) if all(i < len(cells) and is_value(cells[i]) for cells in below)]
    plain = [names[i].strip() for i in numeric]
    named = [name for name in plain if not (is_missing(name) or _BRACKETED_PATTERN.fullmatch(name) or is_unit(name))]
    # one word among numbers may be a cell of the first row; words in all columns, or under prose, are names
    prose = any(cell.startswith(" ") for cell in title[1:]) and not any(cell.startswith(" ") for cell in names[1:])
    apart = names_line > title_line + 1 or len(title) != len(names)
    return bool(named) and (len(numeric) == len(names) or prose or apart)


def _is_rule(cells: Sequence[str]) -> bool:
    """Return True for a line of dashes."""
    drawn = re.search(r"[-=]{3}|\+|line|rule", " ".join(cells)) is not None
    return drawn and all(map(_RULE_PATTERN.fullmatch, cells))


def _without_remarks(rows: Sequence[Row]) -> tuple[list[Row], int]:
    """Leave out lines that begin with ``#``; the last of them at the top is the header if it names the columns."""
    marked = [cells[0].startswith("#") and cells[0].lower() not in MISSING_WORDS for _, cells in rows]
    if not any(marked) or all(marked):
        return list(rows), 0
    first = marked.index(False)
    kept = [row for row, mark in zip(rows, marked, strict=True) if not mark]
    if first:
        line, cells = rows[first - 1]
        bare = [cells[0].lstrip("#").strip(), *cells[1:]]
        bare = bare if bare[0] else bare[1:]
        if len(bare) == len(rows[first][1]) > 1 and is_value(rows[first][1][0]) and not any(map(is_value, bare)):
            return [(line, bare), *kept], sum(marked) - 1
    if sum(marked[first:]) > 0.5 * (len(rows) - first):  # names of the first column
        return list(rows[first:]), first
    return kept, sum(marked)


def _without_footer(body: list[Row], width: int, blank: set[int]) -> tuple[list[Row], int]:
    """Leave out lines below the table: totals, remarks, and whatever follows a blank line and is no row."""
    n_values = sum(is_value(cells[0]) for _, cells in body[:200])
    starts_with_value = n_values > 0.8 * min(len(body), 200)
    end = len(body)
    for i in range(len(body) - 1, max(0, len(body) - MAX_LINES_AROUND), -1):
        line, cells = body[i]
        apart = any(each in blank for each in range(body[i - 1][0] + 1, line))
        strange = starts_with_value and not is_value(cells[0]) and cells[0].strip().lower() not in MISSING_WORDS
        short = width > 1 and (len(cells) != width and sum(bool(cell.strip()) for cell in cells) < width)
        if (
            _TOTAL_PATTERN.fullmatch(cells[0].strip())
            or (_NOTE_PATTERN.fullmatch(cells[0].strip()) and (":" in cells[0] or not "".join(cells[1:]).strip()))
            or (strange and short)
            or (apart and (strange or short))
            or (short and len(cells) < width and width > 2 and _width(cells) == 1)
        ):
            end = i
        elif not (strange or short):
            break
    return body[:end], len(body) - end


def _read_units(header: Sequence[str], body: list[Row]) -> tuple[list[str], list[Row]]:
    """Return the units in the row below the header, if it is one, and the rows without it."""
    none = [""] * len(header)
    if len(body) < 3 or any(is_value(cell) for cell in body[0][1]):
        return none, body
    cells = [cell.strip() for cell in body[0][1]]
    cells += [""] * (len(header) - len(cells))
    filled = [cell for cell in cells if cell]
    if not filled or len(cells) != len(header):
        return none, body
    if not all(_BRACKETED_PATTERN.fullmatch(cell) for cell in filled):
        numeric = [i for i in range(len(header)) if all(i < len(c) and is_value(c[i]) for _, c in body[1:4])]
        if not numeric or not all(cells[i] == "" or is_unit(cells[i]) for i in numeric):
            return none, body
        if all(is_missing(cells[i]) for i in numeric):
            return none, body
    bare = [cell[1:-1].strip() if _BRACKETED_PATTERN.fullmatch(cell) else cell for cell in cells]
    return [unit if is_unit(unit) else "" for unit in bare], body[1:]


def _checked_rows(
    header: list[str], units: list[str], body: Sequence[Row], label: str, line: int, separator: str
) -> list[list[str]]:
    """Return the cells of every row, as many as the header; raise if a row has more that hold something, or fewer."""
    if len(header) > MAX_COLUMNS:
        raise TableError(f"{label}:{line}: {len(header):,} columns; at most {MAX_COLUMNS:,} are read")
    wider = len(body) > 1 and all(len(cells) == len(header) + 1 and cells[-1].strip() for _, cells in body)
    first = [cells[0] for _, cells in body]
    counts = first in ([str(i + start) for i in range(len(body))] for start in (0, 1))
    # R separates by blanks, and counts the rows or names them
    if wider and (separator == "," or (separator == BLANKS and all(map(is_value, first)) and not counts)):
        pairs = zip(*(map(_are_halves, cells, cells[1:]) for _, cells in body), strict=False)
        if any(map(all, pairs)):
            hint = "name the first column, or put numbers with separators in quotes"
            raise TableError(f"{label}:{line}: the rows have one cell more than the header: {hint}")
    if wider and len(set(first)) == len(body):
        header.insert(0, "")  # what R writes: row names without a header
        units.insert(0, "")
    failures = [
        f"{label}:{at}: {len(cells)} cells where the header names {len(header)} columns"
        for at, cells in body
        if len(cells) < len(header) or _width(cells) > len(header)
    ]
    if failures:
        raise TableError(failures)
    return [cells[: len(header)] for _, cells in body]


def _are_halves(whole: str, rest: str) -> bool:
    """Return True if two cells could be a number with a comma in it."""
    return bool(re.fullmatch(r"\s*[-+$€£]*\d+", whole) and re.fullmatch(r"\d+|\d{3}\.\d+", rest))


def _column_names(header: Sequence[str], columns: Sequence[Sequence[str]], label: str, line: int) -> list[str]:
    """Return a name for every column, empty for one without name and cells; equal names are counted."""
    twice = {name for name, count in Counter(header).items() if count > 1 and name}
    counts: Counter[str] = Counter()
    names = []
    for i, name in enumerate(header):
        if len(name) > MAX_COLUMN_NAME:
            raise TableError(
                f"{label}:{line}: column {i + 1}: a name of {len(name):,} characters; at most {MAX_COLUMN_NAME}"
            )
        if name in twice:
            counts[name] += 1
            name = f"{name} ({counts[name]})"
        elif not name and not _is_blank(columns[i]):
            name = "index" if i == 0 and "index" not in header else f"column {i + 1}"
        names.append(name)
    return names


# Large files --------------------------------------------------------------------------------------------------------


def _large_table(data: bytes, separator: str, label: str, digest: str, notes: Sequence[str]) -> RawTable | None:
    """Return a large file as a table whose columns pandas takes out when they are used; None if it is irregular."""
    if separator not in SEPARATORS or data.startswith(b"'") or (separator == "|" and b" |" in data[: 1 << 16]):
        return None
    start = 0
    while data.startswith(b"# ", start):
        start = data.find(b"\n", start) + 1
    # the ends of the file decide where the table begins and ends, and what its columns are called
    last = data.rfind(b"\n", 0, len(data) - (1 << 16)) + 1
    first = data.find(b"\n", start + (1 << 16)) + 1
    if last <= first or b'"' in data[start:first] + data[last:]:
        return None
    sample = split_rows((data[start:first] + data[last:]).decode("utf-8"), separator, label)
    table = table_of_rows(sample, label, digest, notes, separator)
    width = len(sample[0][1])
    if table.notes != tuple(notes) or table.units or len(table) != width or table.rows != len(sample) - 1:
        return None
    begin = data.find(b"\n", start) + 1
    if (rows := _n_regular_rows(data, begin, separator, width)) is None:
        return None
    places = {name: i for i, name in enumerate(table)}
    line = data.count(b"\n", 0, begin) + 1
    read = partial(_read_column, data, begin, separator)
    return RawTable(
        {name: partial(_read_texts, read, i) for name, i in places.items()},
        range(line, line + rows), label, digest, notes=notes, separator=separator,
        numbers=lambda name: _read_numbers(read, places[name], data, begin), sample=table,
    )  # fmt: skip


def _n_regular_rows(data: bytes, begin: int, separator: str, width: int) -> int | None:
    """Return the number of rows if each is on a line of its own with `width` cells; None if not."""
    if b'"' in data:
        try:
            text = io.TextIOWrapper(io.BytesIO(data[begin:]), encoding="utf-8", newline="")
            widths = Counter(map(len, csv.reader(text, delimiter=separator, strict=True)))
        except csv.Error:
            return None
        return widths[width] if set(widths) == {width} else None
    if width == 1 or data.count(b"\r") != data.count(b"\r\n"):
        return None
    mark = separator.encode()
    marks = data[begin:].translate(None, bytes(set(range(256)) - set(mark + b"\n")))
    marks += b"" if data.endswith(b"\n") else b"\n"
    rows = len(marks) // width
    return rows if marks == (mark * (width - 1) + b"\n") * rows else None


def _read_column(data: bytes, begin: int, separator: str, place: int, **options: Any) -> Any:
    import pandas as pd

    stream = io.BytesIO(data)
    stream.seek(begin)
    return pd.read_csv(
        stream, sep=separator, header=None, usecols=[place], na_values=[""], keep_default_na=False, engine="c",
        skip_blank_lines=False, **options,
    ).iloc[:, 0]  # fmt: skip


def _read_texts(read: Callable[..., Any], place: int) -> list[str]:
    cells: list[str] = read(place, dtype=str).fillna("").tolist()
    return list(map(unguard, cells)) if any(cell.startswith("'") for cell in cells) else cells


def _read_numbers(read: Callable[..., Any], place: int, data: bytes, begin: int) -> Array | None:
    """Return a column of plain numbers, an empty cell as NaN; None unless that is what it is."""
    import numpy as np
    import pandas as pd

    # Since 3.1 pandas rounds to the nearest double by itself; what it did so with before took "nan" for a number.
    exact = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
    # one letter is sought in a tenth of the time that a pattern takes
    powers = any(data.find(e, begin) >= 0 for e in (b"e", b"E")) and _LARGE_EXPONENT_PATTERN.search(data, begin)
    if powers or (not exact and b"nan" in data.lower()):
        return None
    try:
        values = read(place, dtype=np.float64, **({} if exact else {"float_precision": "round_trip"})).to_numpy()
    except ValueError:
        return None
    return None if np.isinf(values).any() else values
