"""The page of an answer as text: what it holds, what it may do, and that foreign text stays text."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

import forecast
from forecast import save
from forecast.report.brief import brief
from forecast.report.page import html, style
from forecast.report.page.appendices import _link
from forecast.report.page.page_data import unit_scales
from toolkit import command, page_data

PLAN = {
    "title": "When is it?",
    "start": 2025,
    "until": 2060,
    "quantities": {
        "x": {"p05": 1, "p95": 100, "unit": "FLOP"},
        "y": {"p05": 9, "p95": 11, "unit": "FLOP"},
        "z": {"expression": "x*exp(0.1*(t - start))"},
    },
    "questions": {"q": {"when": "z >= y", "title": "z reaches y"}},
}


run = command("run")


class Seen(HTMLParser):
    """The tags of a page with their attributes, and the text of its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._open = tag

    def handle_endtag(self, tag):
        self._open = ""

    def handle_data(self, data):
        self.texts.append((self._open, data))

    def inside(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]

    def called(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def tree():
    return forecast.project(PLAN, draws=512)


@pytest.fixture(scope="module")
def page(tree):
    return html(tree, toml="until = 2060\n")


def test_slots_of_an_authored_ranking_stand_in_their_order():
    """A page is the same in every process: no set of texts says their order."""
    slots = [f"{name} of {place}" for name in ("speed", "use", "size") for place in ("second", "first")]
    record = {
        "start": 2025, "until": 2026, "choices": {"machine": {"values": ["1", "2"], "kind": "definition"}},
        "quantities": {"size": {"p05": 1, "p95": 9, "unit": "W"}, "use": {"value": 2, "unit": ""},
                       "speed": {"expression": "size*{machine}*use"}},
        "questions": {"best": {"rank": "speed", "over": "machine"}},
        "says": {"best": {"tie": " ".join(f"{{{slot}}}" for slot in slots), "winner": "{first}"}},
    }  # fmt: skip
    assert list(page_data(html(forecast.project(record, draws=64)))["orders"][0]["own"][0]) == slots


def test_the_page_says_what_the_brief_answer_says(page, tree):
    short = brief(tree)
    text = " ".join(" ".join(t for _, t in Seen(page).texts).replace("\u00a0", " ").split())
    assert short.sentence in text
    for row in short.groups[0].rows:
        assert all(cell in text for cell in row.cells)
    for wanted in ("What moves it", "Every assumption with its source", "The answer as JSON", "until = 2060"):
        assert wanted in text
    assert "forecast run scenario.toml" in text


def test_nothing_but_its_own_script_and_style_may_run(page):
    seen = Seen(page)
    (policy,) = [a["content"] for a in seen.called("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    for rule, text in (("script-src", script), ("style-src", style)):
        assert rules[rule] == f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_no_attribute_styles_runs_or_fetches(page):
    for tag, attributes in Seen(page).tags:
        assert "style" not in attributes, tag
        assert not [name for name in attributes if name.startswith("on")], tag
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        assert str(attributes.get("src", "data:")).startswith("data:")
        assert re.match(r"https?://", attributes["href"] or "") if "href" in attributes else True


def test_the_script_reads_text_as_text(page):
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "</script",
                 "fetch(", "XMLHttpRequest", ".style", "import("):  # fmt: skip
        assert word not in script, word


def test_the_data_are_json_that_ends_no_script(page):
    told = page_data(page)
    assert told["count"] == 512
    assert {each["name"] for each in told["inputs"]} == {"x", "y"}
    assert [each["name"] for each in told["questions"]] == ["q"]


def test_bad_input_023_foreign_text_stays_text(hostile):
    page = html(hostile, toml=f"title = {hostile.to_xarray().attrs['title']}")
    seen = Seen(page)
    assert len(seen.called("script")) == 2
    assert len(seen.called("style")) == 1
    assert not [a for _, a in seen.tags if "onerror" in a]
    assert not {"b", "i"} & {tag for tag, _ in seen.tags}
    assert "<script>alert" not in page
    assert any("alert(1)" in text for text in seen.inside("h1"))  # it is there, to be read
    assert "49" not in "".join(seen.inside("h1"))


@pytest.mark.slow
def test_a_page_that_leaves_worlds_out_says_so(page):
    more = html(forecast.project(PLAN, draws=5000))
    assert "carries 4,096 of 5,000 worlds, and quantities over time at no more than 24 dates" in more
    assert "So that it stays small" not in page


def test_equal_answers_make_equal_pages(tree, page):
    assert html(tree, toml="until = 2060\n") == page


@pytest.mark.slow
def test_a_page_of_a_saved_projection_is_that_of_the_fresh_one(tree, page, tmp_path):
    save(tree, tmp_path / "a.nc")
    assert html(forecast.load(tmp_path / "a.nc").run, toml="until = 2060\n") == page


def test_without_dates_or_values_the_page_is_a_report():
    page = html(forecast.project("gpu-choice", draws=64))
    text = " ".join(t for _, t in Seen(page).texts)
    assert "geforce-rtx-5090" in text
    assert "best in" in text


def test_swept_and_unweighed_choices_make_a_page():
    plan = {**PLAN, "choices": {"c": ["1", "2"]}, "questions": {"q": {"when": "z >= {c}*y"}}}
    told = page_data(html(forecast.project(plan, draws=256, sweep={"y": [5, 20]})))
    assert {each["kind"] for each in told["choices"]} == {"open"}


@pytest.mark.slow
def test_worlds_that_count_differently_carry_their_weights():
    plan = {**PLAN, "update": {"x": {"log_likelihood": "-(log(x/unit) - 3)**2"}}}
    plan["quantities"] = {**PLAN["quantities"], "unit": {"value": 1, "unit": "FLOP"}}
    assert page_data(html(forecast.project(plan, draws=256)))["weights"]["dims"] == []


def test_an_answer_writes_its_page(tmp_path):
    spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    answer = (spend >= 2e8).when(start=2025, until=2030, draws=256)
    path = answer.report(tmp_path / "f.html")
    text = path.read_text(encoding="utf-8")
    assert path.name == "f.html"
    assert "[quantities.spend]" in text
    assert answer.report().startswith(answer.sentence[:40])


def test_a_conditioned_answer_says_what_is_given(tmp_path):
    spend = forecast.uncertain(p05=1e8, p95=4e8, unit="USD", name="spend")
    answer = (spend >= 2e8).when(start=2025, until=2030, draws=1024).given(spend >= 1.5e8)
    page = answer.report(tmp_path / "f.html").read_text(encoding="utf-8")
    said = " ".join(" ".join(text for _, text in Seen(page).texts).replace("\u00a0", " ").split())
    assert answer.sentence.startswith("Given spend >= ")
    assert answer.sentence in said


@pytest.mark.parametrize(
    ("path", "linked"),
    [
        ("https://example.org/a?b=1", True),
        ("javascript:alert(1)", False),
        ('https://x/" onclick="a', False),
        ("a.csv", False),
    ],
)
def test_only_addresses_of_the_web_are_links(path, linked):
    assert bool(_link({"title": "t", "path": path})["path"]) is linked


def test_the_page_of_a_run_repeats_it(capsys, tmp_path):
    out = run(
        capsys, "brain-parity", "--draws", "64", "--until", "2040", "--set", "metric=linpack", "--lever-draws", "0",
        "--report", str(tmp_path / "f.html"),
    )  # fmt: skip
    assert out.code == 0
    text = (tmp_path / "f.html").read_text(encoding="utf-8")
    assert (
        "forecast run scenario.toml --set metric=linpack --until 2040 --start 2027 --step year --draws 64 --seed 0"
        in text
    )
    assert "[quantities.machine]" in text


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--report", "f.pdf"], "expected a file that ends in .html"),
        (["--report", "a.html", "--report", "b.html"], "expected one file"),
        (["--report", "a.html", "--plot", "a.html"], "name the same file"),
        (["--report", "no/a.html"], "folder"),
    ],
)
def test_bad_reports_are_refused_before_the_work(capsys, more, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert reason in run(capsys, "brain-parity", "--draws", "64", *more).refusal
    assert not list(tmp_path.iterdir())


def test_scales_say_numbers_as_the_report_does():
    from forecast.report.words.number_text import amount, format_number

    for unit in ("USD", "FLOP/s", "TFLOP/s", "FLOP", "", "1/year", "USD/kWh", "MW"):
        for value in (3e-5, 0.02, 0.7, 4.2, 3600.0, 2.5e7, 8.1e13, 3e22):
            factor, called = next(each[1:] for each in reversed(unit_scales(unit)) if value >= each[0])
            assert f"{format_number(value / factor)} {called}".rstrip() == amount(value, unit), (unit, value)


def _luminance(colour):
    parts = colour[1:] if len(colour) == 7 else "".join(2 * each for each in colour[1:])
    shares = [int(parts[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in shares]
    return sum(weight * each for weight, each in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_text_and_marks_have_contrast_in_both_colour_schemes():
    """WCAG 2.2, 1.4.3 and 1.4.11: 4.5 for text, on the paper and on the panel, and 3 for what is drawn or framed."""
    schemes = [dict(re.findall(r"--(\w+): (#\w+);", line)) for line in style().splitlines() if "--paper: " in line]
    assert len(schemes) == 2
    assert schemes[0].keys() == schemes[1].keys() >= {"ink", "low"}
    assert schemes[0]["paper"] != schemes[1]["paper"]
    assert len(re.findall(r"#[0-9a-f]{3,6}\b", style())) == 2 * len(schemes[0])  # no colour stands elsewhere
    surfaces, faint, text = {"paper", "soft", "well", "track"}, {"rule", "grid"}, {"ink", "quiet", "warm", "accent"}
    for scheme in schemes:
        for name in scheme.keys() - surfaces - faint:
            for behind in ("paper", "soft") if name in text else ("paper",):
                dark, light = sorted(_luminance(scheme[each]) for each in (name, behind))
                assert (light + 0.05) / (dark + 0.05) >= (4.5 if name in text else 3), (name, behind)
