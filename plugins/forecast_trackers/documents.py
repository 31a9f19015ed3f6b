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

__all__ = ["as_mapping", "read_document"]

#: Of a document; the file itself is within the reader's own limit.
MAX_DOCUMENT_BYTES = 256 * 2**20
#: Of an archive: a log has a member for each sample.
MAX_MEMBERS = 500_000
_MEMBER_SIGNATURE = b"PK\x01\x02"
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
        data = _bounded(lambda: zlib.decompressobj(wbits=31).decompress(data, MAX_DOCUMENT_BYTES + 1), path.name)
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


def _read_member(data: bytes, name: str, where: str) -> bytes:
    if data.count(_MEMBER_SIGNATURE) > MAX_MEMBERS:
        raise DataError(f"{where}: an archive of more than {MAX_MEMBERS:,} files")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            info = archive.getinfo(name)
            try:
                with archive.open(info) as stream:
                    return _bounded(lambda: stream.read(MAX_DOCUMENT_BYTES + 1), where)
            except NotImplementedError:
                return _unpack_zstandard(data, info, where)
    except KeyError:
        raise DataError(f"{where}: no {name} in it; expected the log of an evaluation that has ended") from None
    except (zipfile.BadZipFile, RuntimeError, OSError, ValueError) as error:
        raise DataError(f"{where}: an archive that cannot be read: {str(error)[:80]}") from None


def _unpack_zstandard(data: bytes, info: zipfile.ZipInfo, where: str) -> bytes:
    """Unpack a member that Python's own library cannot read before 3.14."""
    try:
        import pyarrow
    except ImportError:
        raise UsageError(f"{where}: packed with Zstandard, which needs: pip install 'lawcast[parquet]'") from None
    header = data[info.header_offset :][:_LOCAL_HEADER_BYTES]
    start = (
        info.header_offset + _LOCAL_HEADER_BYTES + sum(int.from_bytes(header[i : i + 2], "little") for i in (26, 28))
    )
    packed = pyarrow.BufferReader(memoryview(data)[start : start + info.compress_size])
    with pyarrow.CompressedInputStream(packed, "zstd") as stream:
        return _bounded(lambda: stream.read(MAX_DOCUMENT_BYTES + 1), where)


def _bounded(read: Any, where: str) -> bytes:
    try:
        data: bytes = read()
    except (zlib.error, OSError, EOFError) as error:
        raise DataError(f"{where}: cannot be unpacked: {str(error)[:80]}") from None
    if len(data) > MAX_DOCUMENT_BYTES:
        raise DataError(f"{where}: unpacks to more than {MAX_DOCUMENT_BYTES:,} bytes")
    return data
