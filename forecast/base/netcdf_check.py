"""What a saved result may not hold, checked in the HDF5 file before anything is read from it.

An HDF5 file can point out of itself: external links, external storage, virtual datasets. None of them is followed. A
small file can also describe arrays larger than any memory: chunks that were never stored, chunks that unpack to a
thousand times their size, one text that a million cells share. What reading takes is added up first, against the limit
of `forecast.base.budgets.memory`. Types and filters are those that saved results use: a filter of another kind would
make HDF5 look for a library to load.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from forecast.base.budgets import check_memory, format_bytes, memory
from forecast.errors import ResultError, printable

SIGNATURE = b"\x89HDF\r\n\x1a\n"
MAX_OBJECTS = 10_000
MAX_GROUP_DEPTH = 32
MAX_ATTRIBUTES = 1000
#: What is stored unpacks to at most so many times its size; below `MIN_CHECKED_BYTES` bytes nobody minds.
MAX_COMPRESSION_RATIO, MIN_CHECKED_BYTES = 250, 1 << 20
#: deflate, shuffle and fletcher32; they are part of HDF5.
FILTERS = frozenset({1, 2, 3})
#: Loading holds a variable's values and, for a moment, a copy of them.
BYTES_FACTOR = 2
#: What netCDF-4 writes of dimensions beside the attributes of a variable: HDF5's pointers, never read as values.
POINTER_ATTRIBUTES = frozenset({"DIMENSION_LIST", "REFERENCE_LIST"})
#: All that it writes itself, of a variable or a group.
NETCDF_ATTRIBUTES = POINTER_ATTRIBUTES | {
    "CLASS", "NAME", "_NCProperties", "_Netcdf4Coordinates", "_Netcdf4Dimid", "_nc3_strict",
}  # fmt: skip
#: How a netCDF dimension that has no variable is marked; nothing is stored of it.
BARE_DIMENSION = b"This is a netCDF dimension but not a netCDF variable"


def check_structure(path: Path) -> None:
    """Refuse a file that is no HDF5 file, that reaches outside itself or that takes more memory than is allowed.

    Raises
    ------
    ResultError
        Naming the file and the object in it.
    """
    import h5py

    with path.open("rb") as stream:
        start = stream.read(len(SIGNATURE))
    if start != SIGNATURE:
        what = "is empty" if not start else "is not a netCDF-4/HDF5 file"
        raise ResultError(f"{printable(path)}: {what}; expected a result saved by forecast")
    size = path.stat().st_size
    check_memory(size, f"{printable(path)}: reading it takes", error=ResultError)
    with h5py.File(path, "r") as file:
        _StructureCheck(path, size).group(file, 0)


class _StructureCheck:
    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size, self.limit = path, size, memory()
        self.bytes, self.seen = 0, set[Any]()

    def refuse(self, name: str, reason: str) -> None:
        raise ResultError(f"{printable(self.path)}: '{printable(name)}': {reason}")

    def count(self, name: str, size: int) -> None:
        """Add what reading something takes to the sum."""
        self.bytes += size
        so_far = "" if self.bytes == size else " with what stands before it"
        what = f"{printable(self.path)}: '{printable(name)}': reading it{so_far} takes"
        check_memory(self.bytes, what, error=ResultError, limit=self.limit)

    def group(self, group: Any, depth: int) -> None:
        """Look at the kind of every link before it is opened: opening an external link opens another file."""
        import h5py

        self.attributes(group, group.name)
        if depth > MAX_GROUP_DEPTH:
            self.refuse(group.name, f"groups in groups, more than {MAX_GROUP_DEPTH} deep")
        if len(group) + len(self.seen) > MAX_OBJECTS:
            self.refuse(group.name, f"more than {MAX_OBJECTS:,} variables and groups")
        for key in group:
            name = f"{group.name.rstrip('/')}/{key}"
            link = group.get(key, getlink=True)
            if not isinstance(link, h5py.HardLink):
                self.refuse(name, f"a {_link_kind(type(link).__name__)}; links out of a result are not followed")
            thing = group[key]
            # One object under two names could be a circle.
            address = h5py.h5o.get_info(thing.id).addr
            if address in self.seen:
                self.refuse(name, "is linked twice")
            self.seen.add(address)
            if isinstance(thing, h5py.Group):
                self.group(thing, depth + 1)
            elif isinstance(thing, h5py.Dataset):
                self.dataset(thing, name)
            else:
                self.refuse(name, "neither a group nor a variable")

    def dataset(self, data: Any, name: str) -> None:
        if data.is_virtual:
            self.refuse(name, "a virtual dataset; other files are not read")
        if data.external:
            self.refuse(name, "stored in another file; other files are not read")
        self.attributes(data, name)
        scaled = [a for a in ("scale_factor", "add_offset") if a in data.attrs]
        if scaled:
            self.refuse(name, f"has {scaled[0]}; results are saved unscaled")
        text = self.is_text(data.id, name)
        plan = data.id.get_create_plist()
        foreign = {plan.get_filter(i)[0] for i in range(plan.get_nfilters())} - FILTERS
        if foreign:
            self.refuse(name, f"packed by the HDF5 filter {min(foreign)}; results are saved unpacked")
        count = math.prod(data.shape) if data.shape is not None else 0
        if not count or is_bare(data):
            return
        width = data.id.get_type().get_size()
        self.stored(data, name, count * width)
        self.count(name, count * width * BYTES_FACTOR)
        if text:
            self.text(data, name, count)

    def stored(self, data: Any, name: str, stated: int) -> None:
        """Compare what a variable says it holds with what the file has of it."""
        kept = data.id.get_storage_size()
        whole = f"holds {format_bytes(stated)}, of which the file stores {format_bytes(kept)}"
        if data.chunks is not None:
            chunks = math.prod(-(-n // c) for n, c in zip(data.shape, data.chunks, strict=True))
            if chunks > max(self.size, MIN_CHECKED_BYTES) or data.id.get_num_chunks() < chunks:
                self.refuse(name, whole)
        elif kept < stated:
            self.refuse(name, whole)
        if stated > MIN_CHECKED_BYTES and stated > MAX_COMPRESSION_RATIO * kept:
            self.refuse(name, whole)

    def text(self, data: Any, name: str, count: int) -> None:
        """Add up text of any length: many cells can share one, and in memory all are as wide as the longest."""
        flat = data.size == 1 or len(data.shape) == 1
        longest = 0
        # So few at a time that even cells as long as the file fit.
        step = max(1, min(4096, self.limit // max(self.size, 1) // 8))
        for low in range(0, data.shape[0] if data.shape else 1, step if flat else 1):
            part = data[low : low + (step if flat else 1)] if data.shape else data[()]
            cells = [part] if isinstance(part, (bytes, str)) else list(getattr(part, "flat", part))
            widest = max((len(cell) for cell in cells), default=0)
            if widest > longest:
                longest = widest
                # numpy keeps text at four bytes a character
                what = f"{printable(self.path)}: '{printable(name)}': reading text of {longest:,} characters takes"
                check_memory(self.bytes + BYTES_FACTOR * 4 * longest * count, what, error=ResultError, limit=self.limit)
        self.count(name, BYTES_FACTOR * 4 * longest * count)

    def is_text(self, thing: Any, name: str) -> bool:
        """Tell whether a variable or attribute is text of any length; refuse what is neither text nor number."""
        import h5py

        kind = thing.get_type()
        simple = (h5py.h5t.INTEGER, h5py.h5t.FLOAT, h5py.h5t.STRING)
        if kind.get_class() == h5py.h5t.ENUM:
            self.refuse(name, "an HDF5 enumeration; expected numbers or text")
        if kind.get_class() not in simple or (kind.get_class() != h5py.h5t.STRING and kind.get_size() > 8):
            self.refuse(name, "an HDF5 type of its own; expected numbers or text")
        return bool(kind.get_class() == h5py.h5t.STRING and kind.is_variable_str())

    def attributes(self, thing: Any, name: str) -> None:
        import h5py

        count = h5py.h5a.get_num_attrs(thing.id)
        if count > MAX_ATTRIBUTES:
            self.refuse(name, f"{count:,} attributes; at most {MAX_ATTRIBUTES:,} are read")
        for index in range(count):
            attribute = h5py.h5a.open(thing.id, index=index)
            key = attribute.name.decode("utf-8", "replace")
            at = f"{name}@{key}"
            size = math.prod(attribute.shape) * attribute.get_type().get_size()
            self.count(at, size * BYTES_FACTOR)
            if key in POINTER_ATTRIBUTES:
                continue
            if not self.is_text(attribute, at):
                continue
            if math.prod(attribute.shape) != 1:
                self.refuse(at, "several texts in one attribute; expected one")
            self.count(at, BYTES_FACTOR * len(thing.attrs[key]))


def is_bare(data: Any) -> bool:
    """Tell whether this is a netCDF dimension alone, of which no value is ever read."""
    mark = data.attrs.get("NAME") if data.is_scale else None
    return isinstance(mark, bytes) and mark.startswith(BARE_DIMENSION)


def _link_kind(name: str) -> str:
    return {"ExternalLink": "link to another file", "SoftLink": "symbolic link"}.get(name, name)
