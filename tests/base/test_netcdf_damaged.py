"""Files that are no results of ours: a typed refusal in one line, and nothing is run."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr

from forecast.base.budgets import resource_limits
from forecast.base.netcdf import content_hash, load, save
from forecast.errors import ResultError


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


def test_bad_input_072_cut_at_any_length(saved: Path, tmp_path: Path) -> None:
    whole = saved.read_bytes()
    path = tmp_path / "cut.nc"
    lengths = sorted({0, 1, 7, 8, 9, 48, 96, 512, 2048, *range(0, len(whole), len(whole) // 40), len(whole) - 1})
    for length in lengths:
        path.write_bytes(whole[:length])
        with pytest.raises(ResultError, match=r"cut\.nc: ") as caught:
            load(path)
        assert "\n" not in str(caught.value), length


@pytest.mark.slow
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


@pytest.mark.parametrize("edit", [_drop_variable, _drop_group, _value, _attribute, _no_hash, _scale, _fill, _new_dims])
def test_bad_input_072_a_changed_file_is_refused(edit: object, saved: Path) -> None:
    with pytest.raises(ResultError, match=r"r\.nc"):
        load(edited(saved, edit))


def test_bad_input_072_fill_values_are_missing(tmp_path: Path) -> None:
    ds = xr.Dataset({"x": ("n", [1.0, np.nan])}, attrs={"title": "t"})
    tree = xr.DataTree(ds)
    ds.attrs["content_hash"] = content_hash(tree)
    ds.to_netcdf(tmp_path / "a.nc", engine="h5netcdf", encoding={"x": {"_FillValue": -999.0}})
    with h5py.File(tmp_path / "a.nc") as file:
        assert file["x"][1] == -999.0
    np.testing.assert_array_equal(load(tmp_path / "a.nc")["x"].values, [1.0, np.nan])


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


@pytest.mark.parametrize("kind", ["chunks", "contiguous", "one chunk of many", "packed", "packed twice"])
def test_bad_input_072_a_small_file_that_describes_a_large_array(kind: str, saved: Path) -> None:
    with h5py.File(saved, "r+") as file:
        group = file["projection"]
        if kind == "chunks":
            group.create_dataset("huge", (10**9,), "f8", chunks=(1024,), compression="gzip")
        elif kind == "contiguous":
            group.create_dataset("huge", (10**7,), "f8")
        elif kind == "one chunk of many":
            group.create_dataset("huge", (10**7,), "f8", chunks=(10**5,))[0] = 1.0
        else:
            data = group.create_dataset("huge", (10**7,), "f8", chunks=(10**6,), compression=9, shuffle=True)
            if kind == "packed":
                data[...] = 0.0
            else:
                piece = zlib.compress(zlib.compress(bytes(8 * 10**6), 9), 9)
                for low in range(0, 10**7, 10**6):
                    data.id.write_direct_chunk((low,), piece)
    assert saved.stat().st_size < 2 * 10**6
    with pytest.raises(ResultError, match=r"'/projection/huge': holds .*iB, of which the file stores .*") as caught:
        load(saved)
    assert "\n" not in str(caught.value)


def test_bad_input_072_the_limit_of_memory_can_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(xr.DataTree(xr.Dataset({"x": ("n", np.zeros(1_000_000))})), tmp_path / "r.nc")
    with resource_limits(memory="10MB"), pytest.raises(ResultError) as caught:
        load(path)
    says = "reading it with what stands before it takes 15.3 MiB; 9.54 MiB is the limit, which FORECAST_MAX_MEMORY sets"
    assert str(caught.value) == f"{path}: '/x': {says}"
    with resource_limits(memory="20MB"):
        load(path)
    monkeypatch.setenv("FORECAST_MAX_MEMORY", "1MB")
    with pytest.raises(ResultError, match=r"r\.nc: reading it takes 7\.63 MiB; 977 KiB is the limit"):
        load(path)


def _many_texts(file: h5py.File) -> None:
    file["projection"].create_dataset("bomb", (100_000,), h5py.string_dtype())[...] = ["a" * 100_000] + ["b"] * 99_999


def _many_attributes(file: h5py.File) -> None:
    for i in range(1100):
        file.attrs[f"a{i}"] = "x"


def _texts_in_an_attribute(file: h5py.File) -> None:
    file.attrs.create("bomb", ["a", "b"], dtype=h5py.string_dtype())


def _deep(file: h5py.File) -> None:
    group = file
    for _ in range(200):
        group = group.create_group("g")


def _objects(file: h5py.File) -> None:
    for i in range(10_050):
        file.create_group(f"g{i}")


def _compound(file: h5py.File) -> None:
    file["projection/odd"] = np.zeros(2, dtype=[("a", "f8"), ("b", "i4")])


def _compound_attribute(file: h5py.File) -> None:
    file.attrs["odd"] = np.zeros(1, dtype=[("a", "f8")])


def _reference(file: h5py.File) -> None:
    file["projection"].create_dataset("odd", data=[file["projection"].ref], dtype=h5py.ref_dtype)


def _opaque(file: h5py.File) -> None:
    file["projection/odd"] = np.void(b"abc")


def _vlen(file: h5py.File) -> None:
    file["projection"].create_dataset("odd", (1,), h5py.vlen_dtype("f8"))[0] = [1.0, 2.0]


def _enumeration(file: h5py.File) -> None:
    file["projection"].create_dataset("odd", (1,), h5py.enum_dtype({"a": 1}, "i1"))[0] = 1


def _array(file: h5py.File) -> None:
    file["projection"].create_dataset("odd", (1,), np.dtype(("f8", (3,))))[0] = np.ones(3)


def _complex(file: h5py.File) -> None:
    file["projection/odd"] = np.array([1j])


def _named_type(file: h5py.File) -> None:
    file["projection/odd"] = np.dtype("f8")


def _long(file: h5py.File) -> None:
    file["projection/odd"] = np.zeros(1, dtype=np.longdouble)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (_many_texts, r"'/projection/bomb': reading text of 100,000 characters takes 74\.5 GiB; 4 GiB is the limit"),
        (_many_attributes, r"'/': 1,10\d attributes; at most 1,000 are read"),
        (_texts_in_an_attribute, "'/@bomb': several texts in one attribute; expected one"),
        (_deep, "groups in groups, more than 32 deep"),
        (_objects, "more than 10,000 variables and groups"),
        (_compound, "'/projection/odd': an HDF5 type of its own; expected numbers or text"),
        (_compound_attribute, "'/@odd': an HDF5 type of its own"),
        (_reference, "'/projection/odd': an HDF5 type of its own"),
        (_opaque, "'/projection/odd': an HDF5 type of its own"),
        (_vlen, "'/projection/odd': an HDF5 type of its own"),
        (_array, "'/projection/odd': an HDF5 type of its own"),
        (_complex, "'/projection/odd': an HDF5 type of its own"),
        (_long, "'/projection/odd': an HDF5 type of its own"),
        (_enumeration, "'/projection/odd': an HDF5 enumeration"),
        (_named_type, "'/projection/odd': neither a group nor a variable"),
    ],
)
def test_bad_input_072_what_no_result_holds(edit: object, says: str, saved: Path) -> None:
    edited(saved, edit)
    with pytest.raises(ResultError, match=says) as caught:
        load(saved)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_bad_input_072_text_that_many_cells_share(saved: Path) -> None:
    """In the file a cell of text is a reference; a million references to one long text are a small file."""
    with h5py.File(saved, "r+") as file:
        data = file["projection"].create_dataset("bomb", (2000,), h5py.string_dtype(), chunks=(2000,))
        data[0] = "a" * 2_000_000
        where = data.id.get_chunk_info(0)
        at, size = where.byte_offset, where.size
    with saved.open("r+b") as stream:
        stream.seek(at)
        first = stream.read(size // 2000)
        stream.seek(at)
        stream.write(first * 2000)
    with h5py.File(saved) as file:
        assert len(file["projection/bomb"][1999]) == 2_000_000
    with pytest.raises(ResultError, match=r"'/projection/bomb': reading text of 2,000,000 characters takes 29\.8 GiB"):
        load(saved)


def test_bad_input_072_no_filter_is_loaded_from_outside(saved: Path, tmp_path: Path) -> None:
    """HDF5 looks for an unknown filter among the libraries in HDF5_PLUGIN_PATH: a file must not make it look."""
    with h5py.File(saved, "r+") as file:
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_chunk((4,))
        plan.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, ())
        space = h5py.h5s.create_simple((4,))
        made = h5py.h5d.create(file["projection"].id, b"odd", h5py.h5t.IEEE_F64LE, space, plan)
        made.write_direct_chunk((0,), bytes(32))
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "libh5odd.so").write_bytes(b"no library: to load it is to fail")
    code = (
        "import os, sys\n"
        "seen = []\n"
        "from forecast import load\n"
        "from forecast.errors import ResultError\n"
        "try: load(sys.argv[1])\n"
        "except ResultError as error: print(error)\n"
        "print(os.stat(sys.argv[2]).st_atime_ns)\n"
    )
    os.utime(plugins / "libh5odd.so", ns=(1, 1))
    done = subprocess.run(
        [sys.executable, "-c", code, str(saved), str(plugins / "libh5odd.so")],
        env={**os.environ, "HDF5_PLUGIN_PATH": str(plugins)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    says, read = done.stdout.splitlines()
    assert says.endswith("'/projection/odd': packed by the HDF5 filter 32015; results are saved unpacked")
    assert read == "1", "the library was read"


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
    with pytest.raises(ResultError, match=path.name):
        load(path)


@pytest.mark.parametrize("says", [r"cut short: [\d,]+ of [\d,]+ bytes are there", "damaged"])
def test_a_damaged_file_is_told_in_a_sentence_without_words_of_hdf5(tmp_path, says):
    path = save(example(), tmp_path / "mine.nc")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 3] if "cut" in says else whole[:200] + bytes(255 - b for b in whole[200:]))
    with pytest.raises(ResultError, match=f"mine.nc: is {says}; copy it again, or make it again with --out$"):
        load(path)
