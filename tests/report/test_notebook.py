"""What a notebook shows: a sentence, a figure and a table, small, and with every text as text."""

from __future__ import annotations

import base64
import io
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import forecast
from forecast.base.notebook_html import MAX_BYTES
from forecast.contract.registry import get_registry
from toolkit import every

HOSTILE = '<script>alert("x")</script> & $\\frac{1}{2}$'


class Page(HTMLParser):
    """The elements and the text of a page; fails on what is not closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.cells, self.said = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.cells if self.open[-1:] == ["td"] else self.said).append(data)


def shown(thing):
    text = thing._repr_html_()
    assert len(text.encode()) < MAX_BYTES
    page = Page(text)
    assert {tag for tag, _ in page.tags} <= {"p", "strong", "img", "table", "thead", "tbody", "tr", "th", "td"}
    return page


def picture(page):
    from PIL import Image

    (image,) = [attrs for tag, attrs in page.tags if tag == "img"]
    assert image["alt"]
    kind, data = image["src"].split(",")
    assert kind == "data:image/png;base64"
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))


@pytest.fixture(scope="module")
def line():
    return forecast.Law("a*x**b", variables=["x"], output="y", positive=["a"])


@pytest.fixture(scope="module")
def made(line):
    x = np.geomspace(1, 1000, 30)
    return line.fit({"x": x, "y": 3 * x**0.5 * np.exp(np.random.default_rng(0).normal(0, 0.05, 30))})


def test_an_answer_is_its_sentence_a_figure_and_its_rivals():
    answer = forecast.scenario("brain-parity").ask(draws=256)
    page = shown(answer)
    assert page.said[0] == answer.sentence
    assert {"metric: LINPACK", "estimate: Dettmers 2015"} <= set(page.cells)
    assert any(text.startswith("What moves it") for text in page.said)
    pixels = picture(page)
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 3


def test_an_answer_under_a_condition_says_so():
    spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    answer = (spend >= 2e8).when(start=2025, until=2030, draws=2000).given(spend >= 1e8)
    assert shown(answer).said[0].startswith("Given spend >= 1e8: ")


def test_values_and_orders_are_shown_too():
    asked = {"size": {"value": "x", "dates": [2030]}, "race": {"first": ["two", "three"]}}
    asked |= {"two": {"when": "x >= 2"}, "three": {"when": "x >= 3"}}
    quantities = {"x": {"p05": 1, "p95": 4, "unit": ""}}
    scenario = forecast.Scenario.from_dict({"start": 2025, "until": 2031, "quantities": quantities, "questions": asked})
    for name in ("size", "race"):
        answer = scenario.ask(name, draws=200)
        page = shown(answer)
        assert page.said[0] == answer.sentence
        assert picture(page).size


def test_a_fit_is_its_law_the_curve_and_the_parameters(made):
    page = shown(made)
    assert page.said[0].startswith("y = a*x**b; 30 points; converged")
    assert page.cells[:2] == ["a", f"{made.values['a']:.6g}"]
    low, high = made.interval("b", made.level)
    assert f"{low:.4g} to {high:.4g}" in page.cells
    assert picture(page).size


def test_a_fit_of_several_variables_and_a_published_one():
    rng = np.random.default_rng(0)
    n, d = rng.uniform(1e8, 1e10, 60), rng.uniform(1e9, 1e11, 60)
    law = forecast.Law("E + A*N**-a + B*D**-b", variables=["N", "D"], output="loss", positive=["E", "A", "B"])
    assert picture(shown(law.fit({"N": n, "D": d, "loss": 1.7 + 400 * n**-0.34 + 2000 * d**-0.37}))).size
    page = shown(forecast.law("scaling/chinchilla").published("besiroglu2024"))
    assert "published in Besiroglu" in page.said[0]
    assert any(cell.startswith("none: the source states no uncertainty") for cell in page.cells)
    assert not [tag for tag, _ in page.tags if tag == "img"]


@pytest.mark.slow
def test_a_shipped_scenario_is_its_title_its_parts_and_what_it_asks():
    with every() as case:
        for name in get_registry().names("scenario")[::3]:
            with case(name):
                scenario = forecast.scenario(name)
                page = shown(scenario)
                assert page.said[0] == scenario.title
                names = [*scenario.choices, *scenario.questions, *scenario.figures, *scenario.firsts]
                names += scenario.rankings
                assert [row for row in names[:16] if row not in page.cells] == []
                assert (len(names) > 16) == any(text.endswith("more rows.") for text in page.said)
                assert picture(page).size


def test_a_scenario_of_what_is_not_installed_is_shown_without_its_figure():
    page = shown(forecast.Scenario.from_dict({"until": 2040, "quantities": {"x": {"model": "no/such"}}}))
    assert page.said[-1].startswith("It cannot be run here: ")


def test_text_from_outside_stays_text(line):
    x = np.geomspace(1, 1000, 30)
    made = forecast.Law("a*x**b", variables=["x"], output="y").fit({"x": x, "y": x**0.5})
    record = {
        "title": HOSTILE, "start": 2025, "until": 2030, "choices": {"side": [HOSTILE, "b"]},
        "quantities": {"x": {"value": 1, "unit": ""}}, "questions": {"q": {"when": "x > 2", "title": HOSTILE}},
    }  # fmt: skip
    scenario = forecast.Scenario.from_dict(record)
    for thing in (made, scenario, scenario.ask(draws=64)):
        assert "<script" not in thing._repr_html_()
    page = shown(scenario)
    assert page.said[0] == HOSTILE
    assert HOSTILE in page.cells


def test_a_law_is_a_formula(line):
    assert line._repr_latex_() == rf"$\displaystyle {line.latex()}$"
    assert "frac" in forecast.Law("a/(b + x)", variables=["x"])._repr_latex_()


@pytest.mark.slow
def test_matplotlib_is_imported_when_something_is_shown_and_no_window_is_opened():
    script = (
        "import sys, forecast; f = forecast.Law('a*x', variables=['x']).fit({'x': [1, 2, 3], 'y': [1, 2, 3.1]});"
        "f.summary(); assert 'matplotlib' not in sys.modules; f._repr_html_();"
        "assert 'matplotlib' in sys.modules; assert 'matplotlib.pyplot' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
