"""What a reader of a page sees under the pointer, and takes away: a picture, the numbers, the address."""

import csv
import io
import re

import pytest

import forecast
from forecast.report.page import write_page

pytestmark = pytest.mark.slow  # a browser


@pytest.fixture
def opened(browser, tmp_path):
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)

    def open_page(tree, address=""):
        page = context.new_page()
        page.said = []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(f"{write_page(tree, tmp_path / 'f.html').as_uri()}{'#' if address else ''}{address}")
        page.wait_for_selector("html.alive")
        return page

    yield open_page
    context.close()


def saved(page, what):
    with page.expect_download() as found:
        page.locator(f"#take-{what}").click()
    return found.value


def under_pointer(page, figure, share):
    drawing = page.locator(f"{figure} > svg")
    box = drawing.bounding_box()
    drawing.hover(position={"x": share * box["width"], "y": box["height"] / 2})
    return page.locator(f"{figure} .pointer text").all_text_contents()


def test_the_table_holds_the_numbers_of_the_answer(opened, steerable):
    page = opened(steerable)
    text = saved(page, "csv").path().read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    answer = steerable.answers["reached"]
    found = answer.headline
    assert rows[0]["question"] == "the machine reaches 20 FLOP/s"
    assert float(rows[0]["never"]) == pytest.approx(found.never, rel=1e-3)
    assert float(rows[0]["p50"][:4]) == int(found.median)
    size = [row for row in rows if row["unit"] == "FLOP/s"]
    assert float(size[-1]["p50"]) == pytest.approx(steerable.answers["size"].headline.median, rel=1e-3)
    assert page.said == []


def test_the_table_follows_what_is_narrowed(opened, steerable):
    rows = [
        list(csv.DictReader(io.StringIO(saved(opened(steerable, each), "csv").path().read_text(encoding="utf-8"))))
        for each in ("", "a.growth=60-100")
    ]
    assert rows[0][0]["p50"] > rows[1][0]["p50"]
    assert "remain: growth" in rows[1][0]["state"]


def test_what_a_spreadsheet_would_compute_is_text(opened):
    stated = {"start": 2025, "until": 2060, "quantities": {"x": {"p05": 1, "p95": 100, "unit": "FLOP"}}}
    stated["questions"] = {"q": {"value": "x", "dates": ["2030-01-01"], "title": "=1+1"}}
    rows = list(csv.reader(io.StringIO(saved(opened(forecast.project(stated, draws=64)), "csv").path().read_text())))
    assert rows[1][0].startswith("'=1+1")


@pytest.mark.parametrize("name", ["steerable", "gpu-choice"])
def test_the_picture_is_one_of_what_is_drawn(opened, steerable, name):
    page = opened(steerable if name == "steerable" else forecast.project(name, draws=64))
    picture = saved(page, "picture")
    assert picture.suggested_filename.endswith(".png")
    content = picture.path().read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 10_000
    assert page.said == []


def test_the_address_is_given_away(opened, steerable):
    page = opened(steerable, "a.growth=20-55")
    page.locator("#take-link").click()
    page.wait_for_function("() => document.getElementById('taken').textContent")
    assert page.locator("#link").input_value() == page.url
    assert page.url.endswith("#a.growth=20-55")


def test_the_pointer_tells_the_values_under_it(opened, steerable):
    page = opened(steerable)
    date, share = under_pointer(page, "#live-answer", 0.5)
    year = int(re.search(r"\d{4}", date)[0])
    dates = steerable.answers["reached"].pooled_draws({"goal": "20"})[0]
    assert (dates <= year).mean() - 0.01 <= float(share.removesuffix(" %")) / 100 <= (dates <= year + 1).mean() + 0.01
    date, values, *_ = under_pointer(page, "#live-paths", 0.6)
    assert re.fullmatch(r"\d{4}|\w+ \d{4}", date)
    assert re.search(r"\(.* to .*\).*FLOP/s", values)
    page.mouse.move(2, 2)
    assert page.locator(".pointer text").count() == 0
    assert page.said == []


def test_an_axis_is_in_the_unit_of_the_question(opened):
    stated = {
        "start": 2025,
        "until": 2060,
        "quantities": {
            "pace": {"normal": [0.2, 0.4], "unit": ""},
            "one": {"value": 60, "unit": "min"},
            "horizon": {"expression": "one*exp(pace*(t - start))"},
            "goal": {"value": 167, "unit": "hour"},
        },
        "questions": {"month": {"when": "horizon >= goal", "title": "a month of work"}},
    }
    page = opened(forecast.project(stated, draws=256))
    assert "threshold 167 h" in page.locator("#live-paths").text_content()
    assert page.locator("#live-paths .unit").text_content() == "h"
    _, values, goal = under_pointer(page, "#live-paths", 0.12)
    assert goal == "goal: 167 h"  # as the sentence has it
    assert 0.5 < float(values.removeprefix("horizon: ").partition(" ")[0]) < 3  # an hour at first, not sixty minutes
