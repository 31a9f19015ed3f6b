"""The rows of an answer: made once, and laid out by all that shows them."""

import html

import pytest

import forecast
from forecast.report import notebook, page, rows
from forecast.report.brief import SECTIONS, brief, section
from forecast.report.screen import brief_lines

SCENARIO = {
    "start": 2025,
    "until": 2040,
    "choices": {"name": {"values": ["1", "2"], "kind": "definition"}},
    "quantities": {
        "growth": {"normal": [0.1, 0.4], "unit": "1/year"},
        "amount": {"expression": "exp(growth*(t - start))*{name}"},
    },
    "questions": {
        "there": {"when": "amount >= 20", "title": "the amount is twenty"},
        "soon": {"when": "amount >= 4", "title": "the amount is four"},
        "race": {"first": ["there", "soon"], "title": "what comes first"},
    },
}


@pytest.fixture(scope="module")
def run():
    return forecast.project(SCENARIO, draws=200)


def test_a_column_is_its_name_and_its_cell_and_stands_wherever_rows_are_laid_out(monkeypatch, run):
    own = rows.table_cells
    monkeypatch.setitem(rows.COLUMNS, "date", (*rows.COLUMNS["date"], "at first"))
    monkeypatch.setattr(rows, "table_cells", lambda answer, found: (*own(answer, found), f"{found.already:.4f} of all"))
    short = brief(run)
    wanted = [row.cells[3] for row in short.groups[0].rows]
    assert len(wanted) == 3
    laid_out = {
        "screen": "\n".join(brief_lines(short, 120)),
        "narrow screen": " ".join(" ".join(brief_lines(short, 34)).split()),
        "section": "\n".join(brief_lines(section(run, "answers"), 120)),
        "notebook": notebook.answer_html(run, lambda axis: axis.plot([0, 1])),
        "projection": notebook.projection(run),
        "page": html.unescape(page.html(run)),
    }
    for name, text in laid_out.items():
        assert "at first" in text, name
        assert all(cell in text for cell in wanted), name


def test_a_race_has_one_set_of_rows(run):
    answer = run.firsts[0]
    race = rows.race_group(answer, rows.Labels(run))
    row = answer.sentence_row
    assert [each.share for each in race.rows[:2]] == sorted((low for low, _ in row.first.values()), reverse=True)
    assert race.rows[-1].label == "none"
    shown = [each.cells for group in section(run, "answers").groups for each in group.rows if each in race.rows]
    assert shown == [each.cells for each in race.rows]
    laid_out = page.html(run)
    assert all(f"<td>{cell}</td>" in laid_out for each in race.rows for cell in each.cells)


@pytest.mark.parametrize("name", SECTIONS)
def test_no_row_has_more_cells_than_its_group_has_columns(run, name):
    for group in section(run, name).groups:
        assert all(len(group.cells(row)) == len(group.columns) for row in group.rows)
        assert len(group.heads) == len(group.columns)
