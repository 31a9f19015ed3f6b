"""Results: an `xarray.DataTree` saved so that equal results are equal bytes and come back bitwise.

The file is netCDF-4. Attributes are text (JSON where they are more than a word). It holds no clock, host or path. The
root attribute ``content_hash`` is over everything else, and `load` verifies it: a file that was cut, damaged or made by
something else is refused, with its name. The hash is a checksum against accidents and no signature: whoever changes a
file can compute a new one, so that `forecast.load` checks what it reads besides. Nothing in a file is ever executed or
unpickled.
"""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.base.files import check_regular, safe_output, write_atomic
from forecast.base.json_text import to_json
from forecast.base.lazy import xr
from forecast.errors import ForecastError, ResultError, one_line, printable

if TYPE_CHECKING:
    import numpy.typing as npt

    from forecast.base.arrays import AnyArray, Array

HASH_ATTRIBUTE = "content_hash"
TIME_UNITS = "seconds since 1970-01-01"
#: The number that NaT is in memory; it cannot be a date.
NAT_INTEGER = -(2**63)


def save(tree: xr.DataTree, path: str | os.PathLike[str]) -> Path:
    """Save a tree as netCDF, whole or not at all, and return the path.

    Parameters
    ----------
    tree : xarray.DataTree
        Variables of float, integer, bool, text or ``datetime64[s]``; attributes are text. It is not changed.
    path : path-like
        See `forecast.base.files.safe_output`.

    Raises
    ------
    ResultError
        If something in the tree has no form in the file, or the file cannot be written. What stood there before is
        then untouched.

    Examples
    --------
    >>> import tempfile, pathlib, xarray as xr
    >>> tree = xr.DataTree.from_dict({"/": xr.Dataset(attrs={"title": "demo"}), "/a": xr.Dataset({"x": 1.5})})
    >>> path = save(tree, pathlib.Path(tempfile.mkdtemp(), "a.nc"))
    >>> float(load(path)["a/x"])
    1.5
    """
    target = safe_output(path)
    ready = _encode_tree(tree)
    ready.attrs[HASH_ATTRIBUTE] = content_hash(tree)
    # In memory first: HDF5 that meets a full disk cannot close its file, and takes the whole process down at exit.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = ready.to_netcdf(engine="h5netcdf")
    except (OSError, ValueError, TypeError, RuntimeError, KeyError) as error:
        raise ResultError(f"{printable(target)}: cannot write: {one_line(error, 160)}") from error
    return write_atomic(target, data)


def load(path: str | os.PathLike[str]) -> xr.DataTree:
    """Load a tree that `save` wrote.

    Raises
    ------
    ResultError
        In one line with the file's name: missing, not an ordinary file, not netCDF, cut short, changed, made by
        something else, or reaching into other files.

    Examples
    --------
    >>> load("nowhere.nc")
    Traceback (most recent call last):
    forecast.errors.ResultError: nowhere.nc: no such file or directory
    """
    from forecast.base.netcdf_check import check_structure

    source = Path(path)
    check_regular(source, error=ResultError)
    try:
        check_structure(source)
        tree = _open_tree(source)
        stated = tree.attrs.pop(HASH_ATTRIBUTE, None)
    except ForecastError:
        raise
    except Exception as error:  # HDF5 raises OSError, KeyError, RuntimeError, ValueError and more for damaged files
        cut = re.search(r"eof = (\d+).*stored_eof = (\d+)", str(error))
        what = f"is cut short: {int(cut[1]):,} of {int(cut[2]):,} bytes are there" if cut else "is damaged"
        raise ResultError(f"{printable(source)}: {what}; copy it again, or make it again with --out") from error
    if stated is None:
        raise ResultError(f"{printable(source)}: not a result saved by forecast (it has no {HASH_ATTRIBUTE})")
    actual = content_hash(tree)
    if stated != actual:
        raise ResultError(
            f"{printable(source)}: the contents are not those that were saved ({HASH_ATTRIBUTE}, a checksum, differs)"
        )
    return tree


def _open_tree(path: Path) -> xr.DataTree:
    """Read a file by h5py itself: through h5netcdf each variable is looked up by its path a dozen times."""
    import h5py

    times = xr.coders.CFDatetimeCoder(time_unit="s")
    with warnings.catch_warnings(), h5py.File(path, "r") as file:
        warnings.simplefilter("ignore")
        read = {
            group.name: xr.decode_cf(_read_group(group), decode_times=times, decode_timedelta=False).load()
            for group in _walk_groups(file)
        }
    return xr.DataTree.from_dict(read)


def _walk_groups(group: Any) -> Iterator[Any]:
    import h5py

    yield group
    for thing in group.values():
        if isinstance(thing, h5py.Group):
            yield from _walk_groups(thing)


def _read_group(group: Any) -> xr.Dataset:
    import h5py
    import numpy as np

    from forecast.base.netcdf_check import is_bare

    variables = {}
    for name, data in group.items():
        if isinstance(data, h5py.Dataset) and not is_bare(data):
            # text of any width comes as objects
            values = np.asarray(data.asstr()[()]).astype(str) if h5py.check_string_dtype(data.dtype) else data[()]
            dims = (name,) if data.is_scale and data.ndim == 1 else tuple(_dimensions(data))
            # how netCDF-4 names a variable that shares its name with a dimension that is not its own
            variables[name.removeprefix("_nc4_non_coord_")] = xr.Variable(dims, values, _read_attributes(data))
    return xr.Dataset(variables, attrs=_read_attributes(group))


def _dimensions(data: Any) -> Iterator[str]:
    for scales in data.attrs["DIMENSION_LIST"] if data.ndim else ():
        yield data.file[scales[-1]].name.rpartition("/")[2]


def _read_attributes(thing: Any) -> dict[str, Any]:
    from forecast.base.netcdf_check import NETCDF_ATTRIBUTES

    found = {key: value for key, value in thing.attrs.items() if key not in NETCDF_ATTRIBUTES}
    return {key: value[0] if getattr(value, "shape", ()) == (1,) else value for key, value in found.items()}


def _map_variables(tree: xr.DataTree, change: Any) -> xr.DataTree:
    """Return a new tree of the same nodes with `change` applied to every variable."""
    nodes: dict[str, xr.Dataset] = {}
    for node in tree.subtree:
        own = node.to_dataset(inherit=False)
        at = node.path
        variables = {name: change(v, f"{at.rstrip('/')}/{name}") for name, v in own.variables.items()}
        data = {n: v for n, v in variables.items() if n not in own.coords}
        coords = {n: v for n, v in variables.items() if n in own.coords}
        nodes[at] = xr.Dataset(data, coords, dict(own.attrs))
    return xr.DataTree.from_dict(nodes)


def _encode_tree(tree: xr.DataTree) -> xr.DataTree:
    """Return a copy of the tree with the encoding of every variable fixed, and refuse what has no form in the file."""
    for node in tree.subtree:
        _check_attrs(node.attrs, node.path)
        for name in node.to_dataset(inherit=False).variables:
            if not isinstance(name, str) or "/" in name or not name:
                raise ResultError(f"result: {node.path}: '{printable(name, 60)}' cannot name a variable")
    return _map_variables(tree, _encode_variable)


def _check_attrs(attrs: Any, at: str) -> None:
    for key, value in attrs.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ResultError(
                f"result: {printable(at)}: attribute '{printable(key, 60)}': expected text, got {type(value).__name__}"
            )
        if "\0" in value or not _is_encodable(value):
            raise ResultError(f"result: {printable(at)}: attribute '{printable(key, 60)}': text that UTF-8 cannot hold")


def _is_encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _encode_variable(variable: xr.Variable, at: str) -> xr.Variable:
    import numpy as np

    _check_attrs(variable.attrs, at)
    values = variable.values
    kind = values.dtype.kind
    encoding: dict[str, Any] = {"_FillValue": None}
    if kind == "M":
        if values.dtype != np.dtype("datetime64[s]"):
            raise ResultError(f"result: {printable(at)}: dates are datetime64[s], got {values.dtype}")
        encoding = {"units": TIME_UNITS, "calendar": "proleptic_gregorian", "dtype": "int64", "_FillValue": None}
        if np.isnat(values).any():
            encoding["_FillValue"] = NAT_INTEGER
    elif kind in "OT":
        if not all(isinstance(v, str) for v in values.ravel()):
            raise ResultError(f"result: {printable(at)}: expected numbers, text or dates, got objects")
        values = values.astype(str)
        kind = "U"
    elif kind not in "biufU":
        raise ResultError(f"result: {printable(at)}: expected numbers, text or dates, got {values.dtype}")
    if kind == "U" and any("\0" in v or not _is_encodable(v) for v in values.ravel()):
        raise ResultError(f"result: {printable(at)}: text that UTF-8 cannot hold")
    return xr.Variable(variable.dims, values, dict(variable.attrs), encoding)


def content_hash(tree: xr.DataTree) -> str:
    """Return a hash over names, dimensions, values and attributes of a tree, whatever their order.

    It is a checksum against accidents, and no signature: anybody can compute it.

    The root attribute ``content_hash`` itself is left out.

    Examples
    --------
    >>> import xarray as xr
    >>> a = xr.DataTree(xr.Dataset({"x": 1.0, "y": 2.0}))
    >>> b = xr.DataTree(xr.Dataset({"y": 2.0, "x": 1.0}))
    >>> content_hash(a) == content_hash(b)
    True
    """
    digest = hashlib.sha256()
    for piece in _hashed_parts(tree):
        # Lengths go in too: "ab" + "c" is not "a" + "bc".
        digest.update(len(piece).to_bytes(8, "little"))
        digest.update(piece)
    return digest.hexdigest()


def _hashed_parts(tree: xr.DataTree) -> Iterator[bytes | memoryview[int]]:
    for node in sorted(tree.subtree, key=lambda n: n.path):
        own = node.to_dataset(inherit=False)
        attrs = {k: v for k, v in own.attrs.items() if not (k == HASH_ATTRIBUTE and node.path == tree.path)}
        yield _header_bytes("node", node.path, sorted(attrs.items()))
        for name in sorted(own.variables, key=str):
            variable = own.variables[name]
            role = "coordinate" if name in own.coords else "variable"
            values = _canonical_array(variable.values)
            yield _header_bytes(
                role, name, list(variable.dims), list(values.shape), values.dtype.kind, sorted(variable.attrs.items())
            )
            if values.dtype.kind == "U":
                yield to_json(values.ravel().tolist()).encode()
            else:
                yield values.dtype.str.encode()
                yield values.tobytes()


def _header_bytes(*parts: Any) -> bytes:
    return to_json(parts).encode()


def _canonical_array(values: AnyArray) -> AnyArray:
    """Little-endian and contiguous; text as ``str`` of its own width."""
    import numpy as np

    if values.dtype.kind in "OT":
        return values.astype(str)
    return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).reshape(values.shape)


def quantiles(array: npt.ArrayLike, q: npt.ArrayLike, axis: int = -1) -> Array:
    """Return quantiles along an axis, as `numpy.quantile` does (linear), and without NaN from infinities.

    The quantiles come first in the shape. A NaN among the values makes their quantiles NaN.

    Examples
    --------
    >>> quantiles([1.0, 2.0, 3.0, float("inf")], [0.5, 0.9])
    array([2.5, inf])
    """
    import numpy as np

    levels, values = np.asarray(q, dtype=np.float64), np.asarray(array, dtype=np.float64)
    if levels.ndim > 1 or not np.all((levels >= 0) & (levels <= 1)):
        raise ResultError("quantiles: expected levels between 0 and 1")
    if not values.shape[axis]:
        raise ResultError("quantiles: no values")
    with np.errstate(invalid="ignore"):
        found = np.asarray(np.quantile(values, levels, axis=axis))
    if np.isinf(values).any():  # between two values of which one is infinite lies that one
        low, high = (np.quantile(values, levels, axis=axis, method=each) for each in ("lower", "higher"))
        found = np.where((low == high) | (np.isinf(low) & np.isfinite(high)), low, found)
        found = np.where(np.isfinite(low) & np.isinf(high), high, found)
    return found
