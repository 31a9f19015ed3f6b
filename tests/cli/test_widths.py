"""An answer on terminals of every width: its sentence and its table, and no error of display that costs them."""

import pytest

import forecast
from forecast.cli import render
from forecast.report import brief as briefs, screen
from toolkit import command, every

SAMPLE = (20, 21, 24, 28, 33, 39, 40, 41, 44, 47, 50, 53, 57, 60, 66, 72, 80, 100, 120, 160, 200, 300, 400)

run = command("run")


def words(text):
    return " ".join(text.replace("\u00a0", " ").split())


def assert_laid_out(brief, widths, capsys, monkeypatch, case, name):
    """One result, laid out again for each width."""
    for width in widths:
        monkeypatch.setenv("COLUMNS", str(width))
        with case(f"{name}, {width} columns"):
            render.screen(brief)
            out = capsys.readouterr().out
            assert words(out).startswith(words(brief.sentence))
            row = next(row for group in brief.groups for row in group.rows if row.cells)
            table = words(out[out.index("\n\n") :])
            number, _, unit = words(row.cells[0]).partition(" ")  # a column of one unit has it in its heading
            assert number in table
            assert unit in table
            # a word that is longer than a line stays whole
            long = [line for line in out.splitlines() if len(line) > width and len(line.split()) > 1]
            assert not long, long


def in_brief(name):
    return briefs.brief(forecast.project(name, draws=64))


def test_an_answer_has_its_sentence_and_its_table_at_every_width(capsys, monkeypatch):
    with every() as case:
        assert_laid_out(in_brief("brain-parity"), SAMPLE, capsys, monkeypatch, case, "brain-parity")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("widths") / "enough.toml"
    path.write_text(
        'title = "When is it enough?"\nstart = 2025\nuntil = 2060\n'
        '[quantities.growth]\nnormal = [0.15, 0.45]\nunit = "1/year"\n'
        '[quantities.machine]\nexpression = "exp(growth*(t - start))"\n'
        '[quantities.goal]\np05 = 20\np95 = 2000\nunit = ""\n'
        '[questions.enough]\nwhen = "machine >= goal"\ntitle = "the machine is fast enough"\n'
    )
    return str(path)


def test_the_command_answers_in_twenty_columns(capsys, monkeypatch, file):
    monkeypatch.setenv("COLUMNS", "20")
    said = run(capsys, file, "--draws", "64")
    assert said.code == 0
    assert "The machine is fast enough by" in words(said.out)
    assert "(90 %:" in words(said.out)
    assert all(len(line) <= 20 for line in said.out.splitlines())


def test_a_chart_that_fails_costs_no_answer(capsys, monkeypatch, file):
    def fails(*given):
        raise IndexError("no such column")

    whole = run(capsys, file, "--draws", "64")
    monkeypatch.setattr(screen, "_interval_bar", fails)
    monkeypatch.setenv("FORECAST_STRICT_DISPLAY", "0")
    said = run(capsys, file, "--draws", "64")
    assert said.code == 0
    assert "●" not in said.out
    assert said.out.splitlines()[0] == whole.out.splitlines()[0]
    assert "90 %" in said.out.split("\n\n")[1]
    assert "warning: the answer could not be drawn as usual (IndexError: no such column)" in said.err
    monkeypatch.setattr(screen, "_group_table", fails)  # the sentence is left
    said = run(capsys, file, "--draws", "64")
    assert (said.code, words(said.out)) == (0, words(whole.out.split("\n\n")[0]))
    monkeypatch.setenv("FORECAST_STRICT_DISPLAY", "1")
    assert run(capsys, file, "--draws", "64").code == 1


def test_the_guard_hides_no_error_of_the_answer(capsys, monkeypatch, file):
    def fails(*given, **named):
        raise ValueError("no answer")

    monkeypatch.setenv("FORECAST_STRICT_DISPLAY", "0")
    monkeypatch.setattr(briefs, "brief", fails)
    said = run(capsys, file, "--draws", "64")
    assert (said.code, said.out) == (1, "")
    assert "unexpected ValueError: no answer" in said.err
