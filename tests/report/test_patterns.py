"""One place for a wording and for a rounding: whatever lays an answer out follows it."""

import copy
import re

import pytest

import forecast
from forecast.report import figures
from forecast.report.brief import brief, section
from forecast.report.page import html
from forecast.report.screen import brief_lines
from forecast.report.words.patterns import load_patterns
from toolkit import page_data, small


@pytest.fixture
def changed():
    """The patterns, which a test may change; they are put back."""
    before = copy.deepcopy(load_patterns())
    yield load_patterns()
    load_patterns().clear()
    load_patterns().update(before)


@pytest.fixture(scope="module")
def value():
    record = {
        "start": 2025,
        "until": 2030,
        "quantities": {"x": {"p05": 1.2345, "p95": 9.8765, "unit": "USD"}},
        "questions": {"worth": {"value": "x", "dates": [2030], "title": "what it is worth"}},
    }
    return forecast.project(record, draws=500)


def texts_of(run, tmp_path):
    """Return what the screen, a section, the notebook, JSON, the page, its script and the figure say."""
    answer = forecast.Answer._from_projection(run, tmp_path)
    page = html(run)
    data = page_data(page)
    figure = figures.plot_projection(run, tmp_path / "a.svg", titled=True).read_text()
    return {
        "screen": " ".join(brief_lines(brief(run))),
        "section": " ".join(brief_lines(section(run, "answers"))),
        "notebook": answer._repr_html_(),
        "json": answer.to_json(),
        "page": page,
        "script": data["sentence"],
        "figure": re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", figure)),
    }


def test_a_number_is_rounded_in_one_place(value, changed, tmp_path):
    two, three = (f"{value.answers['worth'].headline.median:.{digits}g} USD" for digits in (2, 4))
    assert all(two in text for text in texts_of(value, tmp_path).values())
    changed["digits"] = 4
    for name, text in texts_of(value, tmp_path).items():
        assert three in text, name
    assert page_data(html(value))["patterns"]["digits"] == 4  # the script rounds so too


def test_a_sentence_is_worded_in_one_place(changed, tmp_path):
    run = small({"x": {"expression": "g*(t - 2025)"}, "g": {"p05": 1, "p95": 3, "unit": ""}}, when="x >= 5")
    assert "in the median forecast" in brief(run).sentence
    changed["texts"]["when"] = [{"text": "{What} about {median}, give or take"}]
    for name, text in texts_of(run, tmp_path).items():
        assert "give or take" in text, name
        assert "in the median forecast" not in re.sub(r'"patterns".*', "", text), name


def test_the_script_knows_every_text_that_it_says():
    from importlib.resources import files

    script = "".join(each.read_text() for each in files("forecast.report.page").joinpath("script").iterdir())
    said = set(re.findall(r'\bsay\("(\w+)"', script)) | {"date", "date_in_row"}
    assert said <= set(load_patterns()["texts"])
    assert {"when", "value", "first", "rank", "best", "where", "interval", "percent"} <= said
