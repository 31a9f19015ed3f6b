"""Files that are no results of ours: a typed refusal in one line, and nothing is run."""

from __future__ import annotations

import os
import pickle
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

from forecast import h5check
from forecast.errors import ResultError
from forecast.results import content_hash, load, save


def example() -> xr.DataTree:
    """A small result: numbers of several kinds, text and dates."""
    projection = {
        "machine": (("time", "draw"), np.array([[1.0, np.nan], [np.inf, -0.0]]), {"unit": "FLOP/s"}),
        "single": ("draw", np.array([1, 2], dtype="f4")),
        "count": ("draw", np.array([1, 2**62])),
        "ok": ("draw", [True, False]),
        "trend": ("draw", ["é", "😀\x01"]),
    }
    when = np.array(["2020-01-01", "NaT", "0001-01-01"], dtype="datetime64[s]")
    nodes = {
        "/": xr.Dataset(attrs={"seed": "0", "provenance": '{"version": "0.1.0"}'}),
        "/projection": xr.Dataset(projection),
        "/questions/parity": xr.Dataset({"when": ("q", when)}),
    }
    return xr.DataTree.from_dict(nodes)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save(example(), tmp_path / "r.nc")


@pytest.mark.bad_input(72)
def test_bad_input_072_cut_at_any_length(saved: Path, tmp_path: Path) -> None:
    whole = saved.read_bytes()
    path = tmp_path / "cut.nc"
    lengths = sorted({0, 1, 7, 8, 9, 48, 96, 512, 2048, *range(0, len(whole), len(whole) // 40), len(whole) - 1})
    for length in lengths:
        path.write_bytes(whole[:length])
        with pytest.raises(ResultError, match=r"cut\.nc: ") as caught:
            load(path)
        assert "\n" not in str(caught.value), length


@pytest.mark.bad_input(72)
def test_bad_input_072_a_flipped_byte_is_noticed_or_harmless(saved: Path, tmp_path: Path) -> None:
    whole = saved.read_bytes()
    path = tmp_path / "flipped.nc"
    refused = 0
    for place in range(100, len(whole), len(whole) // 60):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            assert load(path).identical(example())  # padding
        except ResultError:
            refused += 1
    assert refused > 5


@pytest.mark.bad_input(72)
@pytest.mark.parametrize(
    "content",
    [b"", b"x,y\n1,2\n", b"CDF\x01" + b"\0" * 100, b"\x89HDF\r\n\x1a\n", b"\x89HDF\r\n\x1a\n" + b"\xff" * 5000],
)
def test_bad_input_072_not_a_result(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.nc"
    path.write_bytes(content)
    with pytest.raises(ResultError, match=r"a\.nc: ") as caught:
        load(path)
    assert "\n" not in str(caught.value)


def edited(path: Path, edit: object) -> Path:
    with h5py.File(path, "r+") as file:
        edit(file)  # type: ignore[operator]
    return path


def _drop_variable(f: h5py.File) -> None:
    del f["projection/ok"]


def _drop_group(f: h5py.File) -> None:
    del f["questions"]


def _value(f: h5py.File) -> None:
    f["projection/count"][0] = 7


def _attribute(f: h5py.File) -> None:
    f["projection/machine"].attrs["unit"] = "W"


def _no_hash(f: h5py.File) -> None:
    del f.attrs["content_hash"]


def _scale(f: h5py.File) -> None:
    f["projection/machine"].attrs["scale_factor"] = 0.0


def _fill(f: h5py.File) -> None:
    f["projection/single"].attrs["_FillValue"] = np.float32(1.0)


def _new_dims(f: h5py.File) -> None:
    del f["projection/machine"]
    f["projection/machine"] = np.zeros((3, 5))


@pytest.mark.bad_input(72)
@pytest.mark.parametrize("edit", [_drop_variable, _drop_group, _value, _attribute, _no_hash, _scale, _fill, _new_dims])
def test_bad_input_072_a_changed_file_is_refused(edit: object, saved: Path) -> None:
    with pytest.raises(ResultError, match=r"r\.nc"):
        load(edited(saved, edit))


@pytest.mark.bad_input(72)
def test_bad_input_072_fill_values_are_missing(tmp_path: Path) -> None:
    ds = xr.Dataset({"x": ("n", [1.0, np.nan])}, attrs={"title": "t"})
    tree = xr.DataTree(ds)
    ds.attrs["content_hash"] = content_hash(tree)
    ds.to_netcdf(tmp_path / "a.nc", engine="h5netcdf", encoding={"x": {"_FillValue": -999.0}})
    with h5py.File(tmp_path / "a.nc") as file:
        assert file["x"][1] == -999.0
    np.testing.assert_array_equal(load(tmp_path / "a.nc")["x"].values, [1.0, np.nan])


@pytest.mark.bad_input(72)
@pytest.mark.parametrize(
    "kind", ["external link", "soft link", "dangling link", "external storage", "virtual", "circle"]
)
def test_bad_input_072_nothing_outside_the_file_is_read(kind: str, saved: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.nc"
    with h5py.File(secret, "w") as file:
        file["x"] = np.arange(4.0)
    (tmp_path / "raw.bin").write_bytes(b"\0" * 32)
    with h5py.File(saved, "r+") as file:
        group = file["projection"]
        if kind == "external link":
            group["out"] = h5py.ExternalLink(str(secret), "/x")
        elif kind == "soft link":
            group["out"] = h5py.SoftLink("/projection/machine")
        elif kind == "dangling link":
            group["out"] = h5py.SoftLink("/nowhere")
        elif kind == "external storage":
            group.create_dataset("out", (4,), "f8", external=[(str(tmp_path / "raw.bin"), 0, 32)])
        elif kind == "virtual":
            layout = h5py.VirtualLayout((4,), "f8")
            layout[:] = h5py.VirtualSource(str(secret), "x", (4,))
            group.create_virtual_dataset("out", layout)
        else:
            group["out"] = file["/projection"]
    with pytest.raises(ResultError, match=r"r\.nc: '/projection/out': "):
        load(saved)


@pytest.mark.bad_input(72)
def test_bad_input_072_a_small_file_that_describes_a_large_array(saved: Path) -> None:
    with h5py.File(saved, "r+") as file:
        file["projection"].create_dataset("huge", (10**12,), "f8", chunks=(1024,), compression="gzip")
    assert saved.stat().st_size < 10**6
    with pytest.raises(ResultError, match=rf"'/projection/huge': the variables hold more than {h5check.LIMIT_BYTES:,}"):
        load(saved)


@pytest.mark.bad_input(7)
@pytest.mark.bad_input(8)
@pytest.mark.parametrize("form", ["pickle", "npz", "npy"])
def test_bad_input_007_and_008_nothing_is_unpickled(form: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"

    class Payload:
        def __reduce__(self) -> tuple:
            return (Path.touch, (marker,))

    path = tmp_path / "r.nc"
    with path.open("wb") as stream:
        if form == "pickle":
            pickle.dump(Payload(), stream)
        elif form == "npz":
            np.savez(stream, np.array([Payload()], dtype=object))
        else:
            np.save(stream, np.array([Payload()], dtype=object))
    with pytest.raises(ResultError, match=r"r\.nc: is not a netCDF-4/HDF5 file"):
        load(path)
    assert not marker.exists()


@pytest.mark.bad_input(73)
@pytest.mark.parametrize("kind", ["folder", "fifo", "zero", "missing", "broken link"])
def test_bad_input_073_load_wants_an_ordinary_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "r.nc"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "zero":
        path = Path("/dev/zero")
    elif kind == "broken link":
        path.symlink_to(tmp_path / "gone")
    start = time.monotonic()
    with pytest.raises(ResultError, match=path.name):
        load(path)
    assert time.monotonic() - start < 2
