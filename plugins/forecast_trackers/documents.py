"""JSON documents, plain, under gzip or in an archive; all are bounded before they are unpacked."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forecast.errors import DataError, UsageError

__all__ = ["as_list", "as_mapping", "read_document"]

#: Of a document under gzip, unpacked; the file itself is no larger either.
MAX_DOCUMENT_BYTES = 256 * 2**20
#: Of a member of an archive, unpacked: the header of a log is below one MiB.
MAX_MEMBER_BYTES = 64 * 2**20
#: Of an archive: a log has a member for each sample.
MAX_MEMBERS = 500_000
_MEMBER_SIGNATURE = b"PK\x01\x02"
#: Inspect writes Zstandard, and wrote DEFLATE before.
_ZSTANDARD = 93
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTANDARD)
_LOCAL_HEADER_BYTES = 30


def read_document(path: Path, member: str = "") -> Mapping[str, Any]:
    """Return the JSON object of a file, or of one member if the file is an archive.

    Parameters
    ----------
    path : pathlib.Path
    member : str
        The name in a zip archive.

    Returns
    -------
    mapping

    Raises
    ------
    DataError
        If there is no such member, it is too large, or no JSON object.
    """
    data = path.read_bytes()
    if member and data.startswith(b"PK"):
        data = _read_member(data, member, path.name)
    elif data.startswith(b"\x1f\x8b"):
        data = _unpack_gzip(data, path.name)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path.name}: no JSON that can be read: {str(error)[:80]}") from None
    if not isinstance(document, dict):
        raise DataError(f"{path.name}: expected a JSON object, got {type(document).__name__}")
    return document


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return a value if it is a mapping, else an empty one: a log may lack any part.

    Examples
    --------
    >>> as_mapping({"a": 1}), as_mapping(None)
    ({'a': 1}, {})
    """
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return a value if it is a list, else an empty one.

    Examples
    --------
    >>> as_list([1]), as_list("text")
    ([1], [])
    """
    return value if isinstance(value, list) else []


def _read_member(data: bytes, name: str, where: str) -> bytes:
    if data.count(_MEMBER_SIGNATURE) > MAX_MEMBERS:
        raise DataError(f"{where}: an archive of more than {MAX_MEMBERS:,} files")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            info = archive.getinfo(name)
            if info.compress_type not in _METHODS:
                raise DataError(f"{where}: {name} is packed in a way that Inspect does not use")
            stream = _open_zstandard(data, info, where) if info.compress_type == _ZSTANDARD else archive.open(info)
            with stream:
                return _bounded(stream.read(MAX_MEMBER_BYTES + 1), MAX_MEMBER_BYTES, where)
    except KeyError:
        raise DataError(f"{where}: no {name} in it; expected the log of an evaluation that has ended") from None
    except (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, EOFError, ValueError) as error:
        raise DataError(f"{where}: an archive that cannot be read: {str(error)[:80]}") from None


def _open_zstandard(data: bytes, info: zipfile.ZipInfo, where: str) -> Any:
    """Open a member that Python's own library cannot read before 3.14."""
    try:
        import pyarrow
    except ImportError:
        raise UsageError(f"{where}: packed with Zstandard, which needs: pip install 'lawcast[parquet]'") from None
    start = info.header_offset + _LOCAL_HEADER_BYTES
    for end in (start - 4, start - 2):  # the lengths of the name and of the extra field
        start += int.from_bytes(data[end : end + 2], "little")
    packed = pyarrow.BufferReader(memoryview(data)[start : start + info.compress_size])
    return pyarrow.CompressedInputStream(packed, "zstd")


def _unpack_gzip(data: bytes, where: str) -> bytes:
    try:
        return _bounded(
            zlib.decompressobj(wbits=31).decompress(data, MAX_DOCUMENT_BYTES + 1), MAX_DOCUMENT_BYTES, where
        )
    except zlib.error as error:
        raise DataError(f"{where}: a gzip file that cannot be read: {str(error)[:80]}") from None


def _bounded(data: bytes, limit: int, where: str) -> bytes:
    if len(data) > limit:
        raise DataError(f"{where}: unpacks to more than {limit:,} bytes")
    return data
