"""Every bad input of the table is run, and what must happen happens."""

from __future__ import annotations

import pytest

from bad_inputs import data, files, fits, plugins, safety, surroundings
from bad_inputs.table import Case, Row

ROWS: tuple[Row, ...] = tuple(row for part in (safety, plugins, files, data, fits, surroundings) for row in part.ROWS)
#: How many bad inputs there are: none is left out.
COUNT = 91


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


def test_no_number_is_left_out_of_the_default_tier():
    assert sorted({row.number for row in ROWS if not row.slow}) == list(range(1, COUNT + 1))
