"""CSV files: what is read, what is refused and where, and that a round trip loses nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from forecast.errors import DataError, EmptyDataError, ResultError, TableError
from forecast.tables import delimited_text, to_columns
from forecast.tables.csv_format import write_csv
from forecast.tables.delimited_text import parse_text
from forecast.tables.file_formats import MAX_FILE_BYTES, read_file
from forecast.tables.raw_table import RawTable


def parse(data: bytes) -> RawTable:
    return parse_text(data, "a.csv", "")


def test_cells_are_text_and_lines_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('x,y\n1,"a\nb"\n\n2,c\n', newline="")
    found = read_file(path)
    assert dict(found) == {"x": ["1", "2"], "y": ["a\nb", "c"]}
    assert found.lines == [2, 5]
    assert found.at(1, "y") == "a.csv:5:y"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_remarks_before_the_header_are_skipped_and_counted(end: str, mark: str) -> None:
    text = mark + end.join(["# Table 4, as printed", "# in: nats", "n,x", "1,2", "# 3,4", "5,6", ""])
    found = parse(text.encode())
    assert dict(found) == {"n": ["1", "5"], "x": ["2", "6"]}
    assert list(found.lines) == [4, 6]
    assert found.notes == ("3 remarks (#) left out",)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"x,y\n1,2\n1,2,3\n1\n4,5\n", r"a\.csv:3: 3 cells where the header names 2 columns; a\.csv:4: 1 cells"),
        (b'x,y\n1,2\n1,"a\n2,3\n', r"a\.csv:3: a quoted cell that starts here never ends"),
        (b'x,y\n1,"a"b\n', r"a\.csv:2: text after the closing quote"),
        (b"x\n" + b"a" * 200_000 + b"\n", r"a\.csv:2: a cell longer"),
        (b"x," * 19_999 + b"x\n" + b"1," * 19_999 + b"1\n", r"20,000 columns; at most 10,000"),
        (b"x" * 10_000 + b",y\n1,2\n", r"a name of 10,000 characters"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_bad_input_059_refused_variants(data: bytes, says: str) -> None:
    with pytest.raises(TableError, match=says) as caught:
        parse(data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf", b"\n\n", b"x,y\n", b"x,y", b"# x"])
def test_bad_input_030_no_rows(data: bytes) -> None:
    with pytest.raises(EmptyDataError, match=r"a\.csv"):
        parse(data)


@pytest.mark.slow
def test_bad_input_060_one_text_cell_in_row_900_000(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    lines = ["x,y", *("1,2" for _ in range(1_000_000))]
    lines[900_000] = "1,oops"
    path.write_text("\n".join(lines) + "\n")
    found = to_columns(path)
    assert found["x"].sum() == 1_000_000  # a column nobody spoilt is fine
    with pytest.raises(TableError, match=r"long\.csv:900001:y: 'oops': expected a number"):
        found.numeric("y")


@pytest.mark.parametrize("kind", ["folder", "fifo", "zero", "missing", "broken link", "loop", "nul", "under a file"])
def test_bad_input_073_no_ordinary_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "zero":
        path = Path("/dev/zero")
    elif kind == "broken link":
        path.symlink_to(tmp_path / "gone")
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "nul":
        path = Path(f"{tmp_path}/a\0b.csv")
    elif kind == "under a file":
        (tmp_path / "f").write_text("x")
        path = tmp_path / "f" / "a.csv"
    with pytest.raises(DataError) as caught:
        read_file(path)
    assert path.name.replace("\0", r"\x00") in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_bad_input_073_permission_denied(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n")
    path.chmod(0)
    with pytest.raises(DataError, match=r"a\.csv: permission denied"):
        read_file(path)


def test_bad_input_073_every_failure_of_opening_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def vanished(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", vanished)
    with pytest.raises(DataError, match=r"a\.csv: permission denied"):
        read_file(tmp_path / "a.csv")


@pytest.mark.parametrize("stdin", ["closed", "pipe"])
def test_bad_input_073_standard_input(stdin: str) -> None:
    code = (
        "import forecast.tables.file_formats as c, forecast.errors as e\n"
        "try: c.read_file('/dev/stdin')\n"
        "except e.DataError as x: print(x)\n"
    )
    command = [sys.executable, "-c", code]
    if stdin == "closed":
        command = ["sh", "-c", 'exec "$0" "$@" <&-', *command]
    done = subprocess.run(command, stdin=subprocess.PIPE, capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("/dev/stdin: "), done.stderr


def test_bad_input_074_two_gigabytes_are_refused_before_reading(tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    with path.open("wb") as stream:
        stream.write(b"x\n1\n")
        stream.truncate(2 * 2**30)
    tracemalloc.start()
    with pytest.raises(DataError, match=rf"huge\.csv: 2,147,483,648 bytes; at most {MAX_FILE_BYTES:,}"):
        read_file(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def test_bad_input_074_too_many_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited_text, "MAX_TABLE_CELLS", 12)
    assert len(parse(b"x,y\n" + b"1,2\n" * 5).lines) == 5
    with pytest.raises(TableError, match=r"a\.csv:7: more than 12 cells"):
        parse(b"x,y\n" + b"1,2\n" * 6)


def test_bad_input_024_control_characters_are_shown_escaped(tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[2Jb.csv"
    path.write_text("na\x1b[2Jme,y\n1\n")
    path.write_text("na\x1b[2Jme,y\n1,2\n1\n2,3\n4,5\n6,7\n")
    with pytest.raises(TableError) as caught:
        read_file(path)
    assert "\x1b" not in str(caught.value)
    assert r"a\x1b[2Jb.csv:3" in str(caught.value)
    with pytest.raises(TableError) as caught:
        to_columns({"na\x1b[2J\nme": ["a"]}).numeric("na\x1b[2J\nme")
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_input_062_names_are_one_in_nfc(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("e\u0301,\u202ertl,\u200b,😀\na,b,c,d\n", encoding="utf-8")
    assert list(read_file(path)) == ["\u00e9", "\u202ertl", "\u200b", "😀"]
    with pytest.raises(DataError, match="given twice"):
        to_columns({"e\u0301": [1.0], "\u00e9": [2.0]})
    with pytest.raises(DataError, match="lone surrogate"):
        write_csv(path, {"x": ["\ud800"]})
    write_csv(path, {"name": ["x" * 10_000]})
    assert read_file(path)["name"] == ["x" * 10_000]


def test_bad_input_022_a_spreadsheet_runs_nothing(tmp_path: Path) -> None:
    texts = ['=HYPERLINK("x","y")', "+1", "-1+2", "@SUM(A1)", "\tx", "\rx", "\nx", "'=1", "''-", "'plain", "plain"]
    path = write_csv(tmp_path / "a.csv", {"=name": texts, "x": [-1.5] * len(texts)})
    raw = path.read_bytes().decode()
    assert ",-1.5\n" in raw  # a number stays one
    for line in raw.splitlines():
        assert line.lstrip('"')[:1] not in tuple("=+-@\t\r")
    back = read_file(path)
    assert back["=name"] == texts
    assert to_columns(path)["x"].tolist() == [-1.5] * len(texts)


CELL = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)


#: A row, in which something stands: one in which nothing does is a blank line.
ROW = st.tuples(CELL, st.floats(allow_infinity=False)).filter(lambda row: row[0].strip() or row[1] == row[1])


@given(st.lists(ROW, min_size=1, max_size=8))
def test_bad_input_022_what_is_written_comes_back(tmp_path_factory: pytest.TempPathFactory, rows: list) -> None:
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    texts, numbers = [r[0] for r in rows], [r[1] for r in rows]
    write_csv(path, {"t": texts, "x": numbers})
    back = read_file(path)
    assert back["t"] == texts
    np.testing.assert_array_equal([float(c) if c else np.nan for c in back["x"]], numbers)


def test_a_lone_column_with_an_empty_cell_keeps_its_row(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", {"x": [1.0, None, 3.0]})
    np.testing.assert_array_equal(to_columns(path)["x"], [1, np.nan, 3])


def test_dates_and_truth_are_written_as_the_schema_reads_them(tmp_path: Path) -> None:
    when = np.array(["2024-06-01", "NaT"], dtype="datetime64[s]")
    path = write_csv(tmp_path / "a.csv", {"when": when, "ok": [True, False], "n": np.array([1, 2])})
    assert path.read_text() == "when,ok,n\n2024-06-01,true,1\n,false,2\n"


@pytest.mark.parametrize(
    ("given_columns", "says"),
    [
        ({}, "no columns"),
        ({"a": [1], "b": [1, 2]}, "differ in length: a 1, b 2"),
        ({"a": [float("inf")]}, "row 1, column a: infinity"),
        ({"a": [object()]}, "a object has no CSV form"),
        ({"a": ["\0"]}, "NUL"),
    ],
)
def test_what_has_no_csv_form_is_refused(given_columns: dict, says: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=says):
        write_csv(tmp_path / "a.csv", given_columns)
    assert list(tmp_path.iterdir()) == []


def test_writing_to_a_missing_folder_names_it(tmp_path: Path) -> None:
    with pytest.raises(ResultError, match="nowhere"):
        write_csv(tmp_path / "nowhere" / "a.csv", {"a": [1]})


def test_bad_input_074_a_file_that_takes_more_memory_than_allowed_is_not_read(tmp_path):
    from forecast.base.budgets import resource_limits

    path = tmp_path / "large.csv"
    path.write_text("x\n" + "12\n" * 100_000)
    with (
        resource_limits(memory="5MB"),
        pytest.raises(DataError, match=r"large\.csv: reading it takes up to .*; 4\.77 MiB is the"),
    ):
        read_file(path)
    assert len(read_file(path).lines) == 100_000
