"""CSV files without quotes, whole columns at once: the same as `forecast.tables.csv_format` reads, or nothing.

Where no cell is quoted, every comma and every line end of a file is one. Then the file is split instead of parsed, and
a column of numbers is read by pandas without a text a cell. What the two could take differently (a blank beside a
comma, ``5.``, ``nan``, ``1e400``) is not read here: the cell by cell reader reads it, or says where it stands.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["PlainRows", "find_plain_rows"]

#: A file of fewer bytes is read cell by cell before pandas is imported.
MIN_FAST_BYTES = 1 << 20
#: No line is longer, in bytes: no number of it then vanishes in zeros, nor is longer than `cells` reads.
MAX_LINE_BYTES = 300
#: How many bytes are looked at once; they stay in the processor's cache.
SCAN_BYTES = 1 << 18
_NO_MARK = bytes(set(range(256)) - set(b",\n"))
#: A number of three digits in an exponent may be infinite, vanish, or be one that this grammar refuses.
_EXPONENTS = tuple(re.compile(letter + rb"[+-]?[0-9]{3}") for letter in (b"e", b"E"))


def _byte_table(kinds: dict[bytes, int]) -> bytes:
    """Return a table of the 256 bytes: the sum of the bits of the kinds that hold each."""
    return bytes(sum(bit for members, bit in kinds.items() if byte in members) for byte in range(256))


#: A cell with one of these beside each other is a number to one of the two readers only: a point and the end of a cell
#: or an exponent (1); a letter e, a sign or a blank, and the end of a cell (2); the end of a cell and a blank (4).
_FIRST = _byte_table({b".": 1, b"eE+- \t\v\f": 2, b",\r\n": 4})
_SECOND = _byte_table({b",\r\neE": 1, b",\r\n": 2, b" \t\v\f": 4})


@dataclass(frozen=True)
class PlainRows:
    """A file's header, and the rows from `start` on: each on a line of its own, with as many cells as the header."""

    header: list[str]
    data: bytes
    start: int
    rows: int

    def _pieces(self) -> Iterator[bytes]:
        start = self.start
        while start < len(self.data):
            end = self.data.find(b"\n", start + SCAN_BYTES) + 1 or len(self.data)
            yield self.data[start:end]
            start = end

    def cells(self) -> list[list[str]]:
        """Return the cells, column by column."""
        columns: list[list[str]] = [[] for _ in self.header]
        for piece in self._pieces():
            flat = piece.decode().replace("\r\n", "\n").removesuffix("\n").replace("\n", ",").split(",")
            for place, column in enumerate(columns):
                column += flat[place :: len(columns)]
        return columns

    @cached_property
    def doubtful(self) -> bool:
        """Whether some cell may be a number to pandas only, or not to the last digit."""
        import numpy as np

        if any(exponent.search(self.data, self.start) for exponent in _EXPONENTS):
            return True
        for piece in self._pieces():
            first, second = (np.frombuffer(piece.translate(bits), dtype=np.uint8) for bits in (_FIRST, _SECOND))
            # the end of a cell stands before a piece, and behind the last one
            if second[0] & 4 or first[-1] & 3 or (first[:-1] & second[1:]).any():
                return True
        return False

    def numbers(self, place: int) -> npt.NDArray[np.float64] | None:
        """Return a column of numbers, an empty cell as NaN; None unless that is certainly what it is."""
        import numpy as np
        import pandas as pd

        # Since 3.1 pandas rounds to the nearest double by itself; what it did so with before took "nan" for a number.
        exact = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
        options: Any = {} if exact else {"float_precision": "round_trip"}
        if self.doubtful or (not exact and b"nan" in self.data.lower()):
            return None
        stream = io.BytesIO(self.data)
        stream.seek(self.start)
        try:
            read = pd.read_csv(
                stream, header=None, usecols=[place], dtype=np.float64, na_values=[""], keep_default_na=False,
                quoting=csv.QUOTE_NONE, engine="c", **options,
            )  # fmt: skip
        except ValueError:
            return None
        values = read.iloc[:, 0].to_numpy()
        return values if len(values) == self.rows and not np.isinf(values).any() else None


def find_plain_rows(data: bytes, start: int) -> PlainRows | None:
    r"""Return the header at `start` and the rows below it; None for a file that must be read cell by cell.

    Parameters
    ----------
    data : bytes
        Of a file, UTF-8 without NUL.
    start : int
        Where its header stands.

    Examples
    --------
    >>> plain(b"x,y\n1,a\n3,\n", 0).cells()
    [['1', '3'], ['a', '']]
    >>> plain(b'x,y\n1,"a,b"\n', 0) is plain(b"x,y\n1\n", 0) is None
    True
    """
    import numpy as np

    end = data.find(b"\n", start) + 1
    header = data[start:end].removeprefix(codecs.BOM_UTF8).rstrip(b"\r\n").decode().split(",")
    # A blank line, which is skipped, could be the row of a single column; an apostrophe may guard a cell.
    if len(header) == 1 or b'"' in data or b"'" in data or data.count(b"\r") != data.count(b"\r\n"):
        return None
    marks = data.translate(None, _NO_MARK)[len(data[:end].translate(None, _NO_MARK)) :]
    if not data.endswith(b"\n"):
        marks += b"\n"
    rows = len(marks) // len(header)
    if not rows or marks != (b"," * (len(header) - 1) + b"\n") * rows:
        return None
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8, offset=end) == ord("\n"))
    if np.diff(ends, prepend=0, append=len(data) - end).max() > MAX_LINE_BYTES:
        return None
    return PlainRows(header, data, end, rows)
