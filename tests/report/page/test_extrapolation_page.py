"""The page of an extrapolation: what it says, and that it runs and fetches nothing."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from forecast.tables import csv_format
from toolkit import command

run = command("extrapolate")


class Seen(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of its own, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def curve(here):
    steps = np.geomspace(1e3, 1e6, 30)
    loss = 1.7 + 40 * steps**-0.4
    dates = [f"{1990 + i}-01-01" for i in range(30)]
    columns = {"steps": steps, "loss": loss, "<b>date</b>": dates, "size": 2.0 ** np.arange(30)}
    csv_format.write_csv(here / "curve.csv", columns)
    return "curve.csv"


def test_it_says_what_the_screen_says_and_runs_nothing(capsys, here, curve):
    asked = (curve, "--x", "steps", "--y", "loss", "--to", "2e6,4e6", "--report", "f.html")
    out = run(capsys, *asked)
    assert out.code == 0
    text = (here / "f.html").read_text(encoding="utf-8")
    seen = Seen(text)
    said = " ".join(seen.text.replace("\u00a0", " ").split())
    assert " ".join(out.out.splitlines()[0].split()) in said
    for row in re.findall(r"scaling/\S+", out.out):
        assert row in said
    assert f"forecast extrapolate {curve} --x steps --y loss --to 2e6,4e6" in said
    assert not [tag for tag, _ in seen.tags if tag in ("script", "link", "iframe")]
    (policy,) = [a["content"] for t, a in seen.tags if t == "meta" and a.get("http-equiv")]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    (table,) = [a["href"] for t, a in seen.tags if t == "a" and a["download"].endswith(".csv")]
    assert table.startswith("data:text/csv")
    assert table.count("%0A") == 3


@pytest.mark.slow
def test_a_date_that_is_reached_makes_a_page_and_foreign_text_stays_text(capsys, here, curve):
    out = run(capsys, curve, "--x", "<b>date</b>", "--y", "size", "--threshold", "1e12", "--report", "f.html")
    assert out.code == 0
    seen = Seen((here / "f.html").read_text(encoding="utf-8"))
    assert "size reaches 1e+12" in seen.text
    assert "<b>date</b>" in seen.text
    assert not [tag for tag, _ in seen.tags if tag == "b"]


@pytest.mark.parametrize(
    ("name", "reason"), [("f.pdf", "ends in .html"), ("curve.csv", "ends in .html"), ("no/f.html", "folder")]
)
def test_other_files_are_refused_before_the_work(capsys, curve, name, reason):
    assert reason in run(capsys, curve, "--x", "steps", "--y", "loss", "--to", "2e6", "--report", name).refusal


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 380])
def test_it_fits_and_has_no_serious_fault(capsys, here, curve, browser, width):
    from axe_playwright_python.sync_playwright import Axe

    run(capsys, curve, "--x", "steps", "--y", "loss", "--to", "2e6,4e6", "--report", "f.html")
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.goto((here / "f.html").as_uri())
    for box in page.locator("details").all():
        box.evaluate("(node) => { node.open = true; }")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = [each["id"] for each in Axe().run(page).response["violations"]]
    context.close()
    assert found == []
    assert said == []
