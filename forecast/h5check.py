"""What a saved result may not hold, checked in the HDF5 file before anything is read from it.

An HDF5 file can point out of itself: external links, external storage, virtual datasets. None of them is followed. A
small file can also describe arrays larger than any memory; their size is added up first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from forecast.errors import ResultError, printable

__all__ = ["check_structure"]

SIGNATURE = b"\x89HDF\r\n\x1a\n"
LIMIT_BYTES = 8 * 2**30
LIMIT_OBJECTS = 100_000


def check_structure(path: Path) -> None:
    """Refuse a file that is no HDF5 file or that reaches outside itself.

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
    with h5py.File(path, "r") as file:
        _Walk(path).group(file)


class _Walk:
    def __init__(self, path: Path) -> None:
        self.path, self.bytes, self.seen = path, 0, set[Any]()

    def refuse(self, name: str, reason: str) -> None:
        raise ResultError(f"{printable(self.path)}: '{printable(name)}': {reason}")

    def group(self, group: Any) -> None:
        """Look at the kind of every link before it is opened: opening an external link opens another file."""
        import h5py

        for key in group:
            name = f"{group.name.rstrip('/')}/{key}"
            link = group.get(key, getlink=True)
            if not isinstance(link, h5py.HardLink):
                self.refuse(name, f"a {_words(type(link).__name__)}; links out of a result are not followed")
            thing = group[key]
            # One object under two names could be a circle.
            address = h5py.h5o.get_info(thing.id).addr
            if address in self.seen or len(self.seen) > LIMIT_OBJECTS:
                self.refuse(name, "is linked twice" if address in self.seen else "too many objects")
            self.seen.add(address)
            if isinstance(thing, h5py.Group):
                self.group(thing)
            elif isinstance(thing, h5py.Dataset):
                self.dataset(thing, name)
            else:
                self.refuse(name, "neither a group nor a variable")

    def dataset(self, data: Any, name: str) -> None:
        if data.is_virtual:
            self.refuse(name, "a virtual dataset; other files are not read")
        if data.external:
            self.refuse(name, "stored in another file; other files are not read")
        scaled = [a for a in ("scale_factor", "add_offset") if a in data.attrs]
        if scaled:
            self.refuse(name, f"has {scaled[0]}; results are saved unscaled")
        self.bytes += int(data.size or 0) * data.dtype.itemsize
        if self.bytes > LIMIT_BYTES:
            self.refuse(name, f"the variables hold more than {LIMIT_BYTES:,} bytes")


def _words(name: str) -> str:
    return {"ExternalLink": "link to another file", "SoftLink": "symbolic link"}.get(name, name)
