"""Every bad input of the table is run, and what must happen happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bad_inputs import data, safety
from bad_inputs.table import Case, Row

ROWS: tuple[Row, ...] = (*safety.ROWS, *data.ROWS)
#: How many bad inputs there are: none is left out.
COUNT = 91
TESTS = Path(__file__).resolve().parent


def ident(row: Row) -> str:
    return f"{row.number:03}-{row.input}".replace(" ", "-")


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=ident(row), marks=[pytest.mark.slow] if row.slow else []) for row in ROWS]
)
def test_what_must_happen_happens(row: Row, tmp_path, monkeypatch, request):
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, content in row.files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    case = Case(folder, request)
    if row.command:
        outcome = case.run(*row.command)
        assert outcome.code == row.exit_code, outcome.err
        text = outcome.refused(row.exit_code) if row.exit_code else outcome.out + outcome.err
    elif row.raises is not None:
        with pytest.raises(row.raises) as raised:
            row.call(case)
        outcome, text = raised.value, str(raised.value)
    else:
        outcome = row.call(case)
        text = str(outcome)
    assert [name for name in row.names if name not in text] == [], text
    for name, content in row.after.items():
        path = folder / name
        if content is None:
            assert not path.exists(), name
        else:
            assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    if row.holds is not None:
        row.holds(case, outcome)


def named() -> set[int]:
    """Return the numbers that tests of many cases hold: by their name, ``test_bad_input_NNN_...``, or by a mark."""
    texts = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")]
    names = [name for text in texts for name in re.findall(r"^ *def test_bad_input((?:_\d{3})+)_\w+", text, re.M)]
    marks = [mark for text in texts for mark in re.findall(r"^ *@pytest\.mark\.bad_input\((\d+)\)", text, re.M)]
    return {int(number) for name in names for number in re.findall(r"\d{3}", name)} | set(map(int, marks))


def test_every_number_is_a_row_or_held_by_tests_of_its_name():
    assert sorted({row.number for row in ROWS if not row.slow} | named()) == list(range(1, COUNT + 1))
