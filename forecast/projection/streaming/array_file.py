"""Arrays with what is said of them, in a file under a checksum: never half written, and checked before it is read.

Nothing is packed: a file takes as much memory as its header says, which is compared with its size before any of it is
read.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base import budgets
from forecast.base.files import open_regular, replace_atomically
from forecast.base.json_text import strict_json
from forecast.base.saved_records import (
    ANYTHING,
    COUNT,
    TEXT,
    ListSchema,
    MappingSchema,
    ObjectSchema,
    ValueSchema,
    check_record as check_form,
)
from forecast.errors import DataError, printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What a file of arrays begins with, before its checksum.
_MAGIC = b"lawcast arrays 1 "
#: The first line: this, the SHA-256 of everything after the line, and its end.
_FIRST_LINE = len(_MAGIC) + 64 + 1
#: A longer header is refused unread; it holds a line for each array and what models warned of.
_HEADER_BYTES = 1 << 26


def save_arrays(path: Path, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays of numbers and what is said of them, whole or not at all; see `load_arrays`.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.part")
    >>> save_arrays(path, {"next": 3}, {"x": np.arange(2.0)})
    >>> load_arrays(path, what="checkpoint", check=lambda about, layout: None)
    ({'next': 3}, {'x': array([0., 1.])})
    """
    layout = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    header = json.dumps({"about": about, "arrays": layout}, allow_nan=False).encode("ascii") + b"\n"
    digest = hashlib.sha256(header)
    with replace_atomically(path) as temporary, temporary.open("wb") as file:
        file.write(_MAGIC + b"0" * 64 + b"\n" + header)
        for array in arrays.values():
            content = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            digest.update(content)
            file.write(content)
        file.seek(len(_MAGIC))
        file.write(digest.hexdigest().encode("ascii"))


Layout = dict[str, tuple["np.dtype[Any]", tuple[int, ...]]]


def load_arrays(
    path: Path, *, what: str, check: Callable[[Mapping[str, Any], Layout], None]
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what `save_arrays` wrote: what is said of the arrays, and the arrays.

    Parameters
    ----------
    path : Path
    what : str
        What it is, for errors: ``"checkpoint"``.
    check : callable
        Called with what is said and with the type and shape of every array, once the checksum is right and before
        memory is taken; raises for what it will not have.

    Raises
    ------
    DataError
        For a file that is none of these, was cut, altered or lengthened, or takes more memory than the budget.
    """
    shown = printable(path.name)
    with open_regular(path, 1 << 60, DataError) as handle, open(handle, "rb", closefd=False) as file:
        try:
            size = os.fstat(handle).st_size
            first = file.read(_FIRST_LINE)
            if not first.startswith(_MAGIC) or len(first) < _FIRST_LINE or not first.endswith(b"\n"):
                raise DataError(f"{shown}: is no {what}, or one of another version")
            if hashlib.file_digest(file, "sha256").hexdigest().encode("ascii") != first[len(_MAGIC) : -1]:
                raise DataError(f"{shown}: the {what} was cut or altered: its checksum is not that of what it holds")
            file.seek(_FIRST_LINE)
            line = file.readline(_HEADER_BYTES)
            about, layout = _read_header(line, f"{shown}: the header of the {what}")
            check(about, layout)
            takes = sum(dtype.itemsize * math.prod(shape) for dtype, shape in layout.values())
            if takes != size - _FIRST_LINE - len(line):
                raise DataError(f"{shown}: the arrays of the {what} are not of the size that its header says")
            budgets.check_memory(takes, f"{shown}: the {what} takes", error=DataError)
            arrays = {}
            for name, (dtype, shape) in layout.items():
                arrays[name] = np.empty(shape, dtype=dtype)
                file.readinto(arrays[name].reshape(-1).view(np.uint8).data)
        except OSError as fault:
            raise DataError(f"{shown}: {(fault.strerror or type(fault).__name__).lower()}") from fault
    return about, arrays


#: The types of numbers that are kept.
_ARRAY_TYPES = ("<f8", "<i8", "<i4", "|b1", "|i1", "|u1", "<i2", "<f4", "<u4", "<u8", "<u2")
_LENGTH = ValueSchema("a length", lambda v: COUNT.good(v) and v < 1 << 48)
_ARRAY = ValueSchema(
    "a name, a type and lengths",
    lambda v: (
        isinstance(v, list) and len(v) == 3 and TEXT.good(v[0]) and v[1] in _ARRAY_TYPES
        and isinstance(v[2], list) and all(map(_LENGTH.good, v[2]))
    ),
)  # fmt: skip
_HEADER = ObjectSchema({"arrays": ListSchema(_ARRAY), "about": MappingSchema(ANYTHING)})


def _read_header(line: bytes, where: str) -> tuple[dict[str, Any], Layout]:
    """Read the header: of arrays only names, plain numbers as their type, and whole lengths."""
    header = strict_json(line, where=where)
    check_form(header, _HEADER, where=where, error=DataError)
    layout: Layout = {name: (np.dtype(kind), tuple(shape)) for name, kind, shape in header["arrays"]}
    if len(layout) < len(header["arrays"]):
        raise DataError(f"{where}: arrays: expected each name once")
    return header["about"], layout
