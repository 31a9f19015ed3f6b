from __future__ import annotations

import io

import pytest
from hypothesis import given, strategies as st

from forecast.cli import render


def test_a_table_is_aligned_with_numbers_to_the_right(capsys):
    render.write_table(["name", "n"], [["a", 1], ["long name", 1000], ["日本", None]])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "name          n"
    assert lines[1] == "---------  ----"
    assert lines[2] == "a             1"
    assert lines[3] == "long name  1000"
    assert lines[4] == "日本          -"  # two glyphs, four columns


def test_one_long_cell_is_whole_and_widens_its_own_line_alone(capsys):
    long = " + ".join(f"a{i}*x**{i}" for i in range(40))
    render.write_table(["name", "formula", "title"], [["a", "b*x", "short"], ["c", long, "long"]])
    head, dashes, short, pushed = capsys.readouterr().out.splitlines()
    assert len(long) > 240
    assert pushed == f"c     {long}  long"
    assert head.index("title") == short.index("short") == dashes.rindex("  ") + 2 == len("name") + 2 + 60 + 2


def test_a_table_fits_a_terminal_by_wrapping_cells_at_words(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    rows = [["damped-trend", 12, "a local line whose slope dies out, so that the level ends"], ["b", 3, "short"]]
    render.write_table(["shape", "series", "what it is"], rows, indent=2)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[2:4] == [
        "  damped-trend      12  a local line whose slope dies out,",
        "                        so that the level ends",
    ]
    assert lines[4] == "  b                  3  short"


def test_a_table_whose_words_do_not_fit_is_a_block_a_row(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    render.write_table(["name", "formula", "n"], [["long", "x" * 36, 3], ["short", "a = 1, b = 2", None]])
    assert capsys.readouterr().out.splitlines() == [
        "long", f"  formula  {'x' * 36}", "  n        3", "short", "  formula  a = 1, b = 2",
    ]  # fmt: skip


def test_a_record_is_wrapped_below_its_value(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    render.write_details(
        {"name": "x", "note": "the mean of all shapes, stretched until its intervals hold, 90 % of them"}
    )
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 50
    assert lines[0] == "name  x"
    assert [line[:6] for line in lines[1:]] == ["note  ", "      "]


@given(st.lists(st.lists(st.text(max_size=30), min_size=2, max_size=2), max_size=5))
def test_a_table_is_one_line_a_row_whatever_is_in_it(rows):
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", out)
        render.write_table(["a", "b"], rows)
    assert len(out.getvalue().split("\n")) == len(rows) + 3
    assert all(line.isprintable() for line in out.getvalue().split("\n"))


def test_text_goes_to_stdout_and_warnings_to_stderr(capsys):
    render.emit({"a": 1}, json=False, warnings=["be\x1b[2J careful"])
    captured = capsys.readouterr()
    assert captured.out == "a  1\n"
    assert captured.err == "forecast: warning: be\\x1b[2J careful\n"


@pytest.mark.parametrize(
    ("environment", "terminal", "bold"),
    [({}, True, True), ({"NO_COLOR": "1"}, True, False), ({"TERM": "dumb"}, True, False), ({}, False, False)],
)
def test_the_headline_is_bold_only_on_a_terminal_that_wants_it(monkeypatch, environment, terminal, bold):
    out = io.StringIO()
    out.isatty = lambda: terminal
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", out)
    render.write_headline("It never happens.")
    assert ("\x1b[1m" in out.getvalue()) == bold
    assert "It never happens." in out.getvalue()


@pytest.mark.parametrize("patience", [0.0, 1000.0])
def test_progress_on_a_terminal_waits_a_second(monkeypatch, patience):
    err = io.StringIO()
    err.isatty = lambda: True
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", err)
    monkeypatch.setattr(render, "PROGRESS_DELAY_SECONDS", patience - 1)
    with render.progress_bar("drawing") as report:
        report(1, 2)
        report(2, 2)
    assert ("drawing" in err.getvalue()) == (patience == 0.0)
