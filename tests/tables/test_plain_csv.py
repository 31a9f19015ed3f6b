"""Files that are read whole columns at once: what is read is, bit for bit, what the cell by cell reader reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

import forecast_datasets
from forecast.errors import ForecastError
from forecast.tables import csv_format, to_columns
from forecast.tables.columns import _from_csv
from forecast.tables.plain_csv import MIN_FAST_BYTES, PlainRows, find_plain_rows

SHIPPED = sorted(Path(forecast_datasets.__file__).parent.rglob("*.csv"))

#: Numbers, and what is one to somebody else only.
NUMBERS = st.one_of(
    st.floats().map(repr),
    st.floats(0, 1e6).map(lambda v: f"{v:.6g}"),
    st.integers(-(10**25), 10**25).map(str),
    st.sampled_from(["", "-0", "+.5", "007", "1E5", "1e-05", "0." + "1" * 200, "0." + "0" * 299 + "1", "9" * 301]),
)
ODD = st.one_of(
    st.text("0123456789..eE+-- \tinfaNAT_#;\v٣", max_size=7),
    st.sampled_from(
        ["5.", "5.e3", "1e5 ", " 1", "1e400", "1e-400", "1e0000001", "nan", "-inf", "Infinity", "True", "-"]
    ),
    st.sampled_from(["2024-06", "2024-06-31", "0x10", "1_000", '"1,5"', "'-1", "'it", 'a "b"', "A100", "é", "e\u0301"]),
)
CELLS = st.one_of(NUMBERS, NUMBERS, NUMBERS, ODD)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Return a file of a few columns: most of numbers, some rows ragged, blank or without a line end."""
    width = draw(st.integers(1, 3))
    cells = [draw(st.sampled_from([NUMBERS, CELLS])) for _ in range(width)]
    rows = [",".join(draw(each) for each in cells) for _ in range(draw(st.integers(1, 6)))]
    rows += draw(st.lists(st.sampled_from(["", "1", "1,2", "1,2,3", ",", " ", "# x"]), max_size=1))
    head = draw(st.sampled_from(["", "# remark, of two\n", "\ufeff", "\ufeff# remark\n", "\n"]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    text = head + end.join([",".join("xyz"[:width]), *rows]) + draw(st.sampled_from([end, ""]))
    return text.encode()


def outcome(read, data: bytes) -> object:
    """Return what a reader makes of a file: cells and lines, or its complaint."""
    try:
        found = read(data)
    except ForecastError as error:
        return type(error), str(error)
    return dict(found), list(found.lines), found.hash


def values(data: bytes, monkeypatch: pytest.MonkeyPatch, large: int) -> object:
    """Return each column of a file as bytes, or the complaint about it."""
    monkeypatch.setattr("forecast.tables.plain_csv.MIN_FAST_BYTES", large)
    try:
        found = _from_csv(data, "a.csv")
    except ForecastError as error:
        return type(error), str(error)
    each: dict[str, object] = {}
    for name in found:
        try:
            each[name] = found[name].dtype, found[name].tobytes()
        except ForecastError as error:
            each[name] = type(error), str(error)
    return found.rows, each


@given(files())
@example(b"x,y\n1,\n2,\n")
@example(b"x,y\n1.,2\n1.,3\n4,5\n")
def test_cells_are_those_of_the_cell_by_cell_reader(data: bytes) -> None:
    careful = outcome(lambda given: csv_format._by_cell(given, "a.csv", "h"), data)
    quick = outcome(lambda given: csv_format.parse_csv(given, "a.csv"), data)
    assert quick[:2] == careful[:2]


@given(files())
@example(b"x,y\n-0,0.1\n3,1e22\n")
def test_columns_are_those_of_the_cell_by_cell_reader(data: bytes) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert values(data, monkeypatch, 0) == values(data, monkeypatch, 1 << 40)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_tables_are_read_alike(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = path.read_bytes()
    assert values(data, monkeypatch, 0) == values(data, monkeypatch, 1 << 40)
    assert outcome(lambda given: csv_format.parse_csv(given, "a"), data)[:2] == outcome(
        lambda given: csv_format._by_cell(given, "a", "h"), data
    )[:2]  # fmt: skip


def test_numbers_are_read_without_a_text_a_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "runs.csv"
    rows = 40_000
    path.write_text("run,N,loss\n" + "".join(f"r{i},{1e9 + i!r},{1 / (i + 3)!r}\n" for i in range(rows)))
    assert path.stat().st_size > MIN_FAST_BYTES
    monkeypatch.setattr(csv_format, "parse_csv", lambda *_: pytest.fail("read cell by cell"))
    found = to_columns(path)
    np.testing.assert_array_equal(found["N"], 1e9 + np.arange(rows))
    np.testing.assert_array_equal(found["loss"], 1 / (np.arange(rows) + 3))
    monkeypatch.undo()
    assert found["run"][-1] == f"r{rows - 1}"


@pytest.mark.parametrize(
    "cell",
    ["5.", "5.e3", " 1", "1 ", "\t1", "1e400", "-1e-400", "1e0000001", "nan", "-Infinity", "0." + "0" * 330],
)
def test_a_doubtful_number_is_left_to_the_other_reader(cell: str) -> None:
    found = find_plain_rows(f"x,y\n1,2\n{cell},3\n".encode(), 0)
    assert found is None or found.numbers(0) is None
    assert find_plain_rows(b"x,y\n1,2\n3,4\n", 0).numbers(0).tolist() == [1.0, 3.0]


def test_a_piece_ends_with_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("forecast.tables.plain_csv.SCAN_BYTES", 3)
    for end in ("\n", "\r\n"):
        found = find_plain_rows(f"x,y{end}".encode() + end.join(f"{i},{i / 8}" for i in range(9)).encode(), 0)
        assert isinstance(found, PlainRows)
        assert found.cells() == [[str(i) for i in range(9)], [str(i / 8) for i in range(9)]]
        assert found.numbers(1).tolist() == [i / 8 for i in range(9)]
    assert find_plain_rows(b"x,y\n1,2\n3,4\n 5,6\n", 0).numbers(0) is None
    assert find_plain_rows(b"x,y\n1,2\n3,4\n5,6.", 0).numbers(1) is None
