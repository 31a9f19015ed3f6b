"""Saved results: equal bytes, bitwise reload, and a typed refusal of everything else; output files in general."""

from __future__ import annotations

import datetime
import json
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from forecast import h5check
from forecast.errors import ResultError
from forecast.results import content_hash, load, quantiles, safe_output, save, to_json, write_atomic


def dates(*texts: str) -> np.ndarray:
    return np.array(texts, dtype="datetime64[s]")


def example() -> xr.DataTree:
    """A tree with everything a result may hold."""
    projection = xr.Dataset(
        {
            "machine": (("time", "draw"), np.array([[1.0, np.nan], [np.inf, -0.0]]), {"unit": "FLOP/s", "empty": ""}),
            "single": ("draw", np.array([1, 2], dtype="f4")),
            "count": ("draw", np.array([1, 2**62])),
            "ok": ("draw", [True, False]),
        },
        {"time": dates("2020-01-01", "9999-12-31"), "metric": "hpcg", "trend": ("draw", ["é", "😀\x01"])},
    )
    questions = xr.Dataset(
        {"when": ("q", dates("2020-01-01", "2300-06-01", "NaT", "0001-01-01")), "note": ("q", ["", "a", "b", ""])}
    )
    nodes = {
        "/": xr.Dataset(attrs={"seed": "0", "provenance": '{"version": "0.1.0"}'}),
        "/projection": projection,
        "/questions/parity": questions,
        "/observed/x": xr.Dataset({"none": ("n", np.empty(0)), "dates": ("n", np.empty(0, "datetime64[s]"))}),
        "/empty": xr.Dataset(),
    }
    return xr.DataTree.from_dict(nodes)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save(example(), tmp_path / "r.nc")


def variables(tree: xr.DataTree) -> dict[str, xr.Variable]:
    return {f"{n.path}:{k}": v for n in tree.subtree for k, v in n.to_dataset(inherit=False).variables.items()}


def test_what_is_saved_comes_back_bitwise(saved: Path) -> None:
    before, after = variables(example()), variables(load(saved))
    assert before.keys() == after.keys()
    for name, variable in before.items():
        assert variable.dtype == after[name].dtype, name
        assert variable.dims == after[name].dims, name
        assert variable.values.tobytes() == after[name].values.tobytes(), name
        assert variable.attrs == after[name].attrs, name
    assert load(saved).identical(example())
    assert load(saved).attrs == example().attrs


def test_equal_trees_are_equal_bytes_in_any_process(saved: Path, tmp_path: Path) -> None:
    time.sleep(1.1)  # HDF5 would store times in seconds
    assert save(example(), tmp_path / "other name.nc").read_bytes() == saved.read_bytes()
    assert save(load(saved), tmp_path / "again.nc").read_bytes() == saved.read_bytes()
    code = f"from forecast.results import *; save(load({str(saved)!r}), {str(tmp_path / 'p.nc')!r})"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert (tmp_path / "p.nc").read_bytes() == saved.read_bytes()
    assert str(tmp_path).encode() not in saved.read_bytes()


def test_saving_does_not_change_the_tree(tmp_path: Path) -> None:
    tree = example()
    save(tree, tmp_path / "a.nc")
    assert tree.identical(example())
    assert tree["projection/machine"].encoding == {}


@given(
    hnp.arrays("i8", hnp.array_shapes(max_dims=1, max_side=5), elements=st.integers(-62_135_596_800, 253_402_300_799))
)
def test_every_second_of_four_digit_years_round_trips(
    tmp_path_factory: pytest.TempPathFactory, seconds: np.ndarray
) -> None:
    path = tmp_path_factory.mktemp("r") / "a.nc"
    stamps = seconds.astype("datetime64[s]")
    tree = xr.DataTree.from_dict({"/a": xr.Dataset({"t": ("n", stamps)})})
    save(tree, path)
    np.testing.assert_array_equal(load(path)["a/t"].values, stamps)


@pytest.mark.parametrize("change", ["value", "name", "dims", "attribute", "group", "dtype", "text", "moved text"])
def test_the_hash_sees_every_change(change: str) -> None:
    def tree(**other: object) -> xr.DataTree:
        plan: dict = {
            "value": 1.0,
            "name": "x",
            "dims": "n",
            "attribute": "u",
            "group": "/g",
            "dtype": "f8",
            "text": ("ab", "c"),
        }
        plan.update(other)
        ds = xr.Dataset(
            {
                plan["name"]: (
                    plan["dims"],
                    np.array([plan["value"]], dtype=plan["dtype"]),
                    {"unit": plan["attribute"]},
                ),
                "t": ("m", list(plan["text"])),
            }
        )
        return xr.DataTree.from_dict({plan["group"]: ds})

    values = {
        "value": 1.0000000000000002,
        "name": "y",
        "dims": "k",
        "attribute": "v",
        "group": "/h",
        "dtype": "f4",
        "text": ("ab", "d"),
        "moved text": ("a", "bc"),
    }
    assert content_hash(tree()) == content_hash(tree())
    assert content_hash(tree(**{change.removeprefix("moved "): values[change]})) != content_hash(tree())


# Refusals


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


@pytest.mark.parametrize(
    ("ds", "says"),
    [
        (xr.Dataset(attrs={"seed": 0}), "attribute 'seed': expected text, got int"),
        (xr.Dataset({"x": ((), 1.0, {"ok": True})}), "attribute 'ok': expected text, got bool"),
        (xr.Dataset(attrs={"t": "\ud800"}), "text that UTF-8 cannot hold"),
        (xr.Dataset({"x": ("n", ["a\0b"])}), "text that UTF-8 cannot hold"),
        (xr.Dataset({"x": ("n", np.array([object()]))}), "expected numbers, text or dates, got objects"),
        (xr.Dataset({"x": ("n", np.array([1 + 2j]))}), "got complex128"),
        (xr.Dataset({"x": ("n", np.array(["2020-01-01"], dtype="datetime64[ns]"))}), r"dates are datetime64\[s\]"),
        (xr.Dataset({"x": ("n", np.array([1], dtype="timedelta64[s]"))}), "got timedelta64"),
    ],
)
def test_what_has_no_form_in_the_file(ds: xr.Dataset, says: str, tmp_path: Path) -> None:
    tree = xr.DataTree(xr.Dataset(), children={"g": xr.DataTree(ds)})
    with pytest.raises(ResultError, match=says):
        save(tree, tmp_path / "a.nc")
    assert list(tmp_path.iterdir()) == []


# Output files


def test_a_full_disk_leaves_the_previous_result(saved: Path, tmp_path: Path) -> None:
    before = saved.read_bytes()
    (tmp_path / "a.json").write_text("old")
    code = (
        "import resource, numpy as np, xarray as xr\n"
        "from forecast.results import save, write_atomic\n"
        "from forecast.errors import ResultError\n"
        "tree = xr.DataTree.from_dict({'/a': xr.Dataset({'x': ('n', np.random.default_rng(0).random(200_000))})})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))\n"
        f"nc, text = {str(saved)!r}, {str(tmp_path / 'a.json')!r}\n"
        "for do in (lambda: save(tree, nc), lambda: write_atomic(text, 'x' * 100_000)):\n"
        "    try: do()\n"
        "    except ResultError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert "r.nc: cannot write" in first
    assert "a.json: cannot write: file too large" in second
    assert saved.read_bytes() == before
    assert (tmp_path / "a.json").read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.json", "r.nc"]


def test_an_interrupted_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "a.txt", "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.bad_input(11)
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "the name is empty"),
        ("  ", "the name is empty"),
        ("a\0b", "NUL"),
        ("x" * 300, "longer than 255 bytes"),
        ("é" * 200, "longer than 255 bytes"),
        ("folder", "is a folder"),
        ("folder/", "names a folder"),
        ("..", "names a folder"),
        ("nowhere/a.nc", "nowhere': no such file"),
        ("../nowhere/etc/x", "no such file"),
        ("file/a.nc", "not a (folder|directory)"),
        ("fifo", "is a device, pipe or socket"),
        ("/dev/null", "is a device, pipe or socket"),
    ],
)
def test_bad_input_011_names_that_cannot_be_written(
    name: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    Path("folder").mkdir()
    Path("file").write_text("x")
    os.mkfifo("fifo")
    before = sorted(tmp_path.rglob("*"))
    for write in (safe_output, lambda p: write_atomic(p, "x"), lambda p: save(example(), p)):
        with pytest.raises(ResultError, match=says) as caught:
            write(name)
        assert "\n" not in str(caught.value)
        assert "\0" not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.bad_input(11)
def test_bad_input_011_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    link = tmp_path / "out.json"
    link.symlink_to(target)
    write_atomic(link, "new")
    assert target.read_text() == "mine"
    assert not link.is_symlink()
    assert link.read_text() == "new"


@pytest.mark.bad_input(11)
@pytest.mark.parametrize("name", ["con", "-rf", "a b", "x" * 255, "\x1b[2J.txt", "~", "$HOME"])
def test_bad_input_011_odd_names_are_ordinary_files_here(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_atomic(name, "x")
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_an_output_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    assert write_atomic(tmp_path / "a", "x").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert save(example(), tmp_path / "b.nc").stat().st_mode == (tmp_path / "plain").stat().st_mode


# JSON and quantiles


@pytest.mark.bad_input(61)
def test_bad_input_061_output_is_rfc_8259() -> None:
    value = {
        "nan": float("nan"),
        "inf": np.float32("inf"),
        "array": np.array([[1.0, np.nan]]),
        "int": np.int64(3),
        "ok": np.bool_(True),
        "when": dates("2040-01-01", "2040-06-01T12:00:00", "NaT"),
        "day": datetime.date(2040, 1, 1),
        "text": "é\ud800\x1b",
        "tuple": (1, None),
        "data": xr.Dataset({"x": ("n", [1.5])}),
        "one": xr.DataArray(2.0),
        "big": 10**30,
        "s": np.str_("a"),
    }

    def refuse(name: str) -> None:
        raise AssertionError(name)

    text = to_json(value)
    assert text.isascii()
    assert json.loads(text, parse_constant=refuse) == {
        "nan": None,
        "inf": None,
        "array": [[1.0, None]],
        "int": 3,
        "ok": True,
        "when": ["2040-01-01", "2040-06-01T12:00:00", None],
        "day": "2040-01-01",
        "text": "é\ud800\x1b",
        "tuple": [1, None],
        "data": {"x": [1.5]},
        "one": 2.0,
        "big": 10**30,
        "s": "a",
    }


@pytest.mark.parametrize(
    ("value", "says"),
    [({1: 2}, "expected text as key, got int"), ({"a": [object()]}, r"\.a\[0\]: a object"), ({"a": {1, 2}}, "a set")],
)
def test_what_has_no_json_form(value: object, says: str) -> None:
    with pytest.raises(ResultError, match=says):
        to_json(value)


def test_a_list_in_itself_has_no_json_form() -> None:
    ring: list = []
    ring.append(ring)
    with pytest.raises(ResultError, match="nested"):
        to_json(ring)


@given(
    hnp.arrays("f8", hnp.array_shapes(min_dims=1, max_dims=3, max_side=6), elements=st.floats(-1e6, 1e6)),
    st.lists(st.floats(0, 1), min_size=1, max_size=4),
)
def test_quantiles_are_numpys(values: np.ndarray, q: list[float]) -> None:
    np.testing.assert_allclose(quantiles(values, q), np.quantile(values, q, axis=-1), rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(quantiles(values, q, axis=0), np.quantile(values, q, axis=0), rtol=1e-12, atol=1e-9)


def test_quantiles_at_infinity_and_of_nothing() -> None:
    inf = np.inf
    assert quantiles([1.0, inf, inf], [0.0, 0.25, 0.5, 1.0]).tolist() == [1, inf, inf, inf]
    assert quantiles([-inf, 1.0, inf], [0.0, 0.25, 0.5, 0.75]).tolist() == [-inf, -inf, 1, inf]
    assert np.isnan(quantiles([1.0, np.nan], 0.5))
    assert np.ndim(quantiles([1.0, 2.0], 0.5)) == 0
    for bad in (1.5, -0.1, np.nan):
        with pytest.raises(ResultError, match="between 0 and 1"):
            quantiles([1.0], bad)
    with pytest.raises(ResultError, match="no values"):
        quantiles([], 0.5)
