"""Saved results: equal bytes, bitwise reload, whole files or none, and quantiles."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import forecast
from forecast.base.files import safe_output, write_atomic
from forecast.base.netcdf import content_hash, load, quantiles, save
from forecast.errors import ResultError


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


def test_what_is_read_is_what_xarray_reads(saved: Path, tmp_path: Path) -> None:
    """We read the file by h5py, which takes a third of the time."""
    run = forecast.project("brain-parity", draws=8, until=2035, with_={"metric": "linpack"})
    for path in (saved, forecast.save(run, tmp_path / "run.nc")):
        times = xr.coders.CFDatetimeCoder(time_unit="s")
        with xr.open_datatree(path, engine="h5netcdf", decode_times=times, decode_timedelta=False) as opened:
            theirs, ours = variables(opened.load()), variables(load(path))
        assert [*ours] == [*theirs]
        for name, variable in ours.items():
            other = theirs[name]
            assert (variable.dims, variable.attrs) == (other.dims, other.attrs), name
            assert variable.dtype == other.dtype or (variable.dtype.kind, other.dtype.kind) in {
                ("U", "O"),
                ("U", "T"),
            }, name
            np.testing.assert_array_equal(variable.values, other.values.astype(variable.dtype), err_msg=name)


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


@pytest.mark.slow
def test_equal_trees_are_equal_bytes_in_any_process(saved: Path, tmp_path: Path) -> None:
    time.sleep(1.1)  # HDF5 would store times in seconds
    assert save(example(), tmp_path / "other name.nc").read_bytes() == saved.read_bytes()
    assert save(load(saved), tmp_path / "again.nc").read_bytes() == saved.read_bytes()
    code = f"from forecast.base.netcdf import *; save(load({str(saved)!r}), {str(tmp_path / 'p.nc')!r})"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    assert (tmp_path / "p.nc").read_bytes() == saved.read_bytes()
    assert str(tmp_path).encode() not in saved.read_bytes()


def test_saving_does_not_change_the_tree(tmp_path: Path) -> None:
    tree = example()
    save(tree, tmp_path / "a.nc")
    assert tree.identical(example())
    assert tree["projection/machine"].encoding == {}


@pytest.mark.slow
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


def test_an_interrupted_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "a.txt", "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "the name is empty"), ("  ", "the name is empty"), ("a\0b", "NUL"), ("x" * 300, "longer than 255 bytes"),
        ("é" * 200, "longer than 255 bytes"), ("folder", "is a folder"), ("folder/", "names a folder"),
        ("..", "names a folder"), ("nowhere/a.nc", "nowhere': no such file"), ("../nowhere/etc/x", "no such file"),
        ("file/a.nc", "not a (folder|directory)"), ("fifo", "is a device, pipe or socket"),
        ("/dev/null", "is a device, pipe or socket"),
    ],
)  # fmt: skip
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


def test_bad_input_011_a_link_is_replaced_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    link = tmp_path / "out.json"
    link.symlink_to(target)
    write_atomic(link, "new")
    assert target.read_text() == "mine"
    assert not link.is_symlink()
    assert link.read_text() == "new"


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
