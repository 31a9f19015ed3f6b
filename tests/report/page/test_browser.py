"""The page of an answer in a browser: what is drawn and steered, and that it asks nothing of anyone."""

import re

import numpy as np
import pytest

import forecast
from forecast.projection.answers.crossing_dates import earliest
from forecast.projection.crossing import date_quantiles, weighted_quantiles
from forecast.report.brief import brief
from forecast.report.headline import Labels, first_sentence, opening_sentence
from forecast.report.page import write_page
from forecast.report.page.draw_encoding import EncodedDraws
from forecast.report.page.tornado_data import tornado_data
from forecast.report.result_data import first_answers
from forecast.report.words.number_text import amount, percent
from toolkit import remaining_worlds, values_of_worlds

pytestmark = pytest.mark.slow  # a browser

WIDTHS = (1280, 380)
#: How far a drawn path lies below the top of its figure and above the bottom.
ROOM = """(path) => {
    const own = path.getBBox(), whole = path.ownerSVGElement.viewBox.baseVal, top = own.y - whole.y;
    return [top, whole.height - top - own.height];
}"""
#: The colour of text under each preference.
SCHEMES = {"light": "rgb(26, 29, 33)", "dark": "rgb(232, 234, 237)"}
#: A range of an assumption, one of the values of a regime, and the other value of the definition.
NARROWED = {"growth": [20, 55], "kind": [1]}
ADDRESS = "c.goal=2000&a.growth=20-55&a.kind=1"


def plan(**more):
    """A goal that grows nearer, with whatever else is stated."""
    quantities = {
        "x": {"p05": 1, "p95": 100, "unit": "FLOP"},
        "one": {"value": 1, "unit": "FLOP"},
        "z": {"expression": "x*exp(0.1*(t - start))"},
    }
    asked = {"questions": {"q": {"when": "z >= 60*one", "title": "z reaches its goal"}}}
    stated = {"start": 2025, "until": 2060, "quantities": quantities, **asked}
    return {**stated, **more, "quantities": {**quantities, **more.get("quantities", {})}}


#: Three machines whose order is uncertain, one of which seldom meets the condition, under two uses and rivals.
RANKED = {
    "start": 2025,
    "until": 2026,
    "choices": {
        "machine": {"values": ["1", "2", "3"], "kind": "definition"},
        "use": {"values": ["2", "5"], "kind": "definition"},
    },
    "quantities": {
        "size": {"p05": 1, "p95": 100, "unit": "FLOP/s"},
        "gain": {"normal": [-0.5, 0.5], "unit": ""},
        "speed": {"expression": "size*{machine}**gain*{use}"},
        "limit": {"value": 250, "unit": "FLOP/s"},
    },
    "questions": {
        "fastest": {
            "rank": "speed",
            "over": "machine",
            "subject_to": ["speed <= limit"],
            "title": "the fastest machine",
        }
    },
}


#: A ranking whose best is not the first of its choice, and a value besides.
WINNING = {
    **RANKED,
    "until": 2030,
    "quantities": {**RANKED["quantities"], "gain": {"normal": [0.1, 0.3], "unit": ""}},
    "questions": {
        **RANKED["questions"],
        "then": {"value": "speed", "dates": ["2026-01-01"], "title": "the speed of machine {machine}"},
    },
}

#: Sentences of an author's own for each kind of answer.
DATES = {
    "already": "There is a {already} chance that z meets {c} by {start}[, and a {never} chance of none by {until}]",
    "date": "Z meets {c} by {median} (90 %: {interval}; today [{now} ]{one})[; {never} not by {until}]",
    "never": "Z meets {c} by {until} with a chance of {by}",
}
VALUES = {"value": "Z times {c} gives {value} by {on} (90 %: {interval})[, {ratio} times today's {now}]"}
ORDERS = {
    "winner": "The fastest of {n} for {use} is {first} ({p_first}): {value} (90 %: {interval})[, before {second}]",
    "tie": "{first} ({p_first}) and {second} ({p_second}) of {n} for {use}: too close to call",
    "none": "None meets {conditions}",
}


@pytest.fixture(scope="module")
def trees(steerable, hostile):
    """Answers of every kind."""
    three = {"choices": {"c": ["20", "60", "2000"]}, "questions": {"q": {"when": "z >= {c}*one"}}}
    asked = {**three, "choices": {"c": {"values": ["20", "60", "2000"], "kind": "definition"}}}
    weighed = {"update": {"x": {"log_likelihood": "-(log(x/one) - 1)**2"}}}
    valued = {"choices": {"c": {"values": ["1", "3"], "kind": "definition"}}}
    valued["questions"] = {"v": {"value": "{c}*z", "dates": ["2030-01-01", "2050-01-01"], "title": "what z gives"}}
    raced = {"quantities": {"y": {"p05": 1, "p95": 100, "unit": "FLOP"}, "speed": {"value": 0.04, "unit": ""}}}
    raced["quantities"]["slow"] = {"expression": "y*exp(speed*(t - start))"}
    raced["questions"] = {"q": {"when": "z >= 60*one", "title": "z reaches"}}
    raced["questions"]["r"] = {"when": "slow >= 60*one", "title": "slow is there"}
    raced["questions"]["f"] = {"first": ["q", "r"], "title": "which is first"}
    failing = {"quantities": {"z": {"expression": "x*exp(0.1*(t - start)) + 0*sqrt(x - 0.12*one)*one**0.5"}}}
    return {
        "steerable": steerable,
        "hostile": hostile,
        "open": forecast.project(plan(**three), draws=512),
        "undated": forecast.project(plan(questions={"v": {"value": "x", "dates": ["2030-01-01"]}}), draws=512),
        "weighed": forecast.project(plan(**weighed), draws=2048),
        "valued": forecast.project(plan(**valued), draws=512),
        "failing": forecast.project(plan(**failing), draws=4096),
        "raced": forecast.project(plan(**raced), draws=512, with_={"speed": 0.05}),
        "ranked": forecast.project("gpu-choice", draws=256),
        "orders": forecast.project(RANKED, draws=1024),
        "winning": forecast.project(WINNING, draws=512),
        "brain": forecast.project("brain-parity", draws=1024),
        "authored": forecast.project(plan(**asked, says={"q": DATES}), draws=512),
        "authored value": forecast.project(plan(**valued, says={"v": VALUES}), draws=512),
        "authored order": forecast.project({**RANKED, "says": {"fastest": ORDERS}}, draws=1024),
    }


@pytest.fixture(scope="module")
def files(trees, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {name: write_page(tree, folder / f"{name}.html", toml="until = 2060\n") for name, tree in trees.items()}


@pytest.fixture
def opened(browser, files):
    """Open a page, and note all that it says to the console and asks of anyone."""
    contexts = []

    def open_page(name, address="", width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.said, page.asked = [], []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.on("dialog", lambda dialog: (page.said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(f"{files[name].as_uri()}{'#' if address else ''}{address}")
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html.alive")
        return page

    yield open_page
    for context in contexts:
        context.close()


def now(page):
    """What the page answers, after what was asked of it has been drawn."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate("() => lawcast.now()")


def text(page, selector):
    return page.locator(selector).inner_text().replace("\u00a0", " ")


def cells(page, table):
    """The texts of a table."""
    return [[cell.inner_text() for cell in row.locator("th, td").all()] for row in page.locator(f"{table} tr").all()]


def drawings(page):
    """What the live figures are made of."""
    return page.locator("#live-answer path, #live-paths path").evaluate_all(
        "(all) => all.map((each) => each.outerHTML)"
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["steerable", "hostile", "ranked", "brain"])
def test_it_asks_nothing_says_nothing_and_fits(opened, files, name, width):
    page = opened(name, width=width)
    for box in page.locator("details").all():
        box.evaluate("(node) => { node.open = true; }")
    now(page)
    assert page.said == []
    assert [url for url in page.asked if not url.startswith("data:")] == [files[name].as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["steerable", "open", "weighed", "valued", "failing"])
def test_at_rest_it_says_what_the_brief_answer_says(opened, trees, name):
    page, short = opened(name), brief(trees[name])
    assert text(page, "#sentence") == short.sentence
    group = short.groups[0]
    rows = [row for row in group.rows if row.spread is not None]
    drawn = cells(page, "#row-body")
    assert [[f"{row.of} {row.label}".strip(), "", *group.cells(row)] for row in rows] == drawn


def test_the_tornado_is_that_of_the_report(opened, steerable):
    rows, page = tornado_data(steerable, EncodedDraws(steerable))["rows"], opened("steerable")
    drawn = [
        [cell.inner_text().replace("\n", " ") for cell in row.locator("th, td").all()]
        for row in page.locator("#move-body tr").all()
    ]
    assert [(row["label"], row["share"]) for row in rows] == list(brief(steerable).drivers)
    assert {row["label"].partition(" ")[0] for row in rows} >= {"growth", "goal"}  # a number and a choice

    def told(end):
        return f"{end['text']} {end['called']}".strip()

    assert [[row["label"], told(row["low"]), "", told(row["high"]), percent(row["share"])] for row in rows] == drawn
    assert "of a choice, under its values" in text(page, "#move-about")


def test_what_moves_the_worlds_that_remain_is_computed_from_them(opened, steerable):
    page = opened("steerable", "a.one=0-100")
    now(page)
    assert [row[0] for row in cells(page, "#move-body")] == ["growth", "one"]


def test_narrowed_it_answers_as_python_does_to_one_world(opened, steerable):
    worlds = EncodedDraws(steerable)
    keep = remaining_worlds(worlds, NARROWED)
    found = now(opened("steerable", ADDRESS))
    assert found["worlds"] == keep.sum()
    coded = date_quantiles(values_of_worlds(worlds, worlds.questions["reached"], {"goal": "2000"})[keep])[2]
    assert found["median"] == pytest.approx(coded, abs=1e-9)
    exact = np.sort(steerable.answers["reached"].pooled_draws({"goal": "2000"})[0][keep])
    place = -(-len(exact) * 50 // 100) - 1
    assert exact[place - 1] <= found["median"] <= exact[place + 1]
    assert found["never"] == pytest.approx(np.isposinf(exact).mean(), abs=1e-12)


def test_worlds_that_count_differently_answer_as_python_does(opened, trees):
    worlds = EncodedDraws(trees["weighed"])
    keep = remaining_worlds(worlds, {"x": [10, 60]})
    said = values_of_worlds(worlds, worlds.questions["q"], {})[keep]
    counts = worlds.weights.values[keep]
    found = now(opened("weighed", "a.x=10-60"))
    assert found["worlds"] == keep.sum()
    assert found["median"] == pytest.approx(weighted_quantiles(said, counts, [0.5])[0], abs=1e-9)
    assert found["never"] == pytest.approx(counts[np.isposinf(said)].sum() / counts.sum(), abs=1e-7)
    assert 0.001 < found["never"] < 0.9


def test_what_comes_first_follows(opened, trees):
    tree = trees["raced"]
    page, (row,) = opened("raced"), first_answers(tree)
    wanted = [*row["first"].values(), row["together"], row["none"]]
    assert [each[2] for each in cells(page, "#races tbody")] == [percent(share) for share in wanted]
    keep = remaining_worlds(EncodedDraws(tree), {"x": [0, 30]})
    dates = np.stack([tree.answers[name].pooled_draws({})[0][keep] for name in ("q", "r")])
    wanted = earliest(dates).mean(axis=1)
    page = opened("raced", "a.x=0-30")
    assert [each[2] for each in cells(page, "#races tbody")] == [percent(float(share)) for share in wanted]


@pytest.mark.parametrize("name", ["ranked", "orders"])
def test_at_rest_rankings_are_those_of_the_report(opened, trees, name):
    page = opened(name)
    assert text(page, "#sentence") == brief(trees[name]).sentence
    for group, place in zip(brief(trees[name]).groups, ("first-child", "last-child"), strict=True):
        rows = [[row.label, "", *group.cells(row)] for row in group.body]
        assert cells(page, f"#orders section:{place} tbody") == rows
        assert rows


def test_rankings_follow_as_the_same_condition_in_python(opened):
    """What the page ranks in the worlds that remain is what `given` says, to one world."""
    asked = forecast.scenario(RANKED).ask(draws=1024)
    gain = asked.run["projection"].to_dataset()["gain"].isel(time=0).values
    lowest, highest = np.sort(gain)[[-(-1024 * 30 // 100), -(-1024 * 60 // 100)]].tolist()
    left = asked.given(f"gain >= {lowest!r}").given(f"gain < {highest!r}")
    keep = remaining_worlds(EncodedDraws(asked.run), {"gain": [30, 60]})
    found = now(opened("orders", "a.gain=30-60"))
    assert found["worlds"] == keep.sum() == ((gain >= lowest) & (gain < highest)).sum()
    shares = left.shares.transpose("use", "machine").values
    assert 0.05 < shares.max() < 0.95
    assert np.abs(np.array(found["orders"][0]) - shares).max() < 1 / keep.sum()
    page = opened("orders", "a.gain=30-60")
    rows = [row.cells[2] for row in brief(left.run).groups[0].body]
    assert [row[4] for row in cells(page, "#orders section:first-child tbody")] == rows
    said = opening_sentence(left.run)
    assert said.startswith("Given gain >= ")
    assert text(page, "#sentence") == said.partition(": ")[2]


def test_what_is_told_besides_a_ranking_is_of_its_winner(opened, trees):
    page, tree = opened("winning"), trees["winning"]
    winner = tree.winners["machine"]
    assert winner != tree.choices["machine"].values[0]
    (value,) = [row for row in cells(page, "#other-body") if "the speed of machine" in row[0]]
    assert f"machine {winner}" in value[0]
    (answer,) = [at for each in tree.values for at in each.at]
    assert value[2] == amount(answer.over({"machine": winner, "use": "2"}).median, answer.unit)
    assert not page.locator("#note").is_visible()
    page.get_by_label("Question", exact=True).select_option(value="then.0")
    now(page)
    assert page.get_by_label("machine", exact=True).locator("option:checked").inner_text() == winner
    assert f"machine {winner}" in text(page, "#sentence")


def test_members_of_a_mixture_are_told_by_author_and_year(opened):
    told = text(opened("brain"), "#moves")
    assert re.search(r"(Moravec|Kurzweil|AI Impacts|Dettmers) \d{4}", told)
    assert not re.search(r"[a-z]-\d{4}", told)


def test_the_sentence_of_what_comes_first_follows(opened, trees):
    tree = trees["raced"]
    page = opened("raced", "q=f")
    whole = f"{first_sentence(tree.answers['f'], Labels(tree))}; with speed = 0.05 instead of 0.04."
    assert text(page, "#sentence") == whole
    page.locator("input[aria-label='x: highest']").fill("30")
    now(page)
    drawn = {each[0]: each[2] for each in cells(page, "#races tbody")}
    assert f"slow is there {drawn['slow is there']}" in text(page, "#sentence")
    assert text(page, "#sentence") != whole


def test_what_was_changed_stays_in_every_sentence(opened, trees):
    changed = brief(trees["raced"]).sentence.partition("; with ")[2]
    assert changed
    for address in ("", "a.x=10-60", "q=r", "q=f&a.x=10-60"):
        assert text(opened("raced", address), "#sentence").endswith(f"; with {changed}")


def test_figures_of_all_worlds_are_marked(opened, trees):
    page = opened("failing", "a.x=10-60")
    assert text(page, "#about h2") == "Warnings of all 4,096 worlds"
    assert page.get_by_text("Figures here are of all 4,096 worlds").is_visible()
    page = opened("failing", java_script_enabled=False)
    assert text(page, "#about h2") == "Warnings"


def test_rivals_without_weights_are_drawn_side_by_side_until_one_is_picked(opened):
    page = opened("open")
    assert len(drawings(page)) >= 3
    assert "pick one of each choice" in text(page, "#move-about")
    page.get_by_label("c", exact=True).select_option(label="60")
    found = now(page)
    assert found["median"] is not None
    assert "lowest fifth" in text(page, "#move-about")


@pytest.mark.parametrize(
    "name",
    [
        "steerable", "open", "undated", "weighed", "valued", "failing", "brain", "authored", "authored value",
        "authored order",
    ],
)  # fmt: skip
def test_the_script_says_the_sentence_of_the_report(opened, trees, name):
    """Where an assumption is narrowed to all of its range, the script writes the sentence, and all worlds remain."""
    own = {"steerable": "growth", "brain": "brain/carlsmith-2020.compute", "authored order": "gain"}.get(name, "x")
    page = opened(name, f"a.{own}=0-100")
    assert now(page)["worlds"] == EncodedDraws(trees[name]).count
    assert f"remain: {'compute' if name == 'brain' else own}" in text(page, "#note")
    assert text(page, "#sentence") == brief(trees[name]).sentence


@pytest.mark.parametrize(
    ("name", "address", "said"),
    [
        (
            "authored",
            "c.c=60&a.x=0-100",
            r"Z meets 60 by 20\d\d \(90 %: .* to .*; today 1 FLOP\); \d+ % not by January 2060\.",
        ),
        ("authored", "c.c=20&a.x=60-100", r"There is an? .* % chance that z meets 20 by January 2025\."),
        ("authored", "c.c=2000&a.x=0-50", r"Z meets 2000 by January 2060 with a chance of under 1 %\."),
        ("authored value", "c.c=3&a.x=0-50", r"Z times 3 gives .* FLOP by 2050 \(90 %: .*\)\."),
        ("authored order", "a.gain=90-100", r"The fastest of \d for 2 is 3 \(\d+ %\): .* FLOP/s \(90 %: .*\)(, .*)?\."),
    ],
)
def test_the_sentences_of_an_author_follow(opened, name, address, said):
    page = opened(name, address)
    now(page)
    assert re.fullmatch(said, text(page, "#sentence")), text(page, "#sentence")
    assert page.said == []


def test_worlds_that_fail_are_left_out(opened, trees):
    assert "failing" in trees["failing"].to_xarray().attrs
    page = opened("failing")
    assert "failed" not in text(page, "#row-body")
    assert now(page)["worlds"] == 4096


def test_every_shown_number_follows(opened):
    page = opened("steerable")
    before = {name: text(page, name) for name in ("#sentence", "#row-body", "#move-body", "#note", "#count")}
    drawn = drawings(page)
    page.locator("input[aria-label='growth: lowest']").fill("60")
    now(page)
    for name, told in before.items():
        assert text(page, name) != told, name
    assert drawings(page) != drawn
    assert "growth" in text(page, "#note")
    page.get_by_role("button", name="Reset").click()
    now(page)
    assert {name: text(page, name) for name in before} == before


def test_the_fitted_past_is_that_of_all_worlds(opened):
    page = opened("brain")
    assert page.locator("#live-paths .fitted").count() == 1
    assert "thin line: fitted past" in text(page, "#key-paths")
    page.locator("#assumption-box summary").click()
    page.locator("input[aria-label$=': lowest']").first.fill("60")
    now(page)
    assert page.locator("#live-paths .fitted").count() == 0
    assert "fitted past" not in text(page, "#key-paths")
    page.get_by_role("button", name="Reset").click()
    now(page)
    assert page.locator("#live-paths .fitted").count() == 1


def test_the_address_holds_the_state(opened):
    page = opened("steerable")
    page.locator("input[aria-label='growth: highest']").fill("40")
    page.get_by_label("goal", exact=True).select_option(label="2000")
    page.get_by_label("pace", exact=True).select_option(label="0.5")
    page.get_by_label("broken", exact=True).uncheck()
    found, told = now(page), text(page, "#sentence")
    address = page.evaluate("location.hash")
    assert set(address[1:].split("&")) == {"c.goal=2000", "c.pace=0.5", "a.growth=0-40", "a.kind=0"}
    page.reload()
    assert now(page) == found
    assert text(page, "#sentence") == told
    assert page.get_by_label("goal", exact=True).input_value() == "1"
    assert now(opened("steerable", address[1:])) == found


@pytest.mark.parametrize(
    "address", ["a.growth=9-2", "a.nobody=1-2", "c.goal=3", "q=none", "a.growth=x", "a.kind=7", "%ff", "a.growth=0-400"]
)
def test_an_address_of_another_page_is_left_alone(opened, address):
    page = opened("steerable", address)
    assert now(page)["worlds"] == 2048
    assert page.said == []


def test_few_worlds_are_warned_of(opened):
    page = opened("steerable", "a.growth=50-55")
    assert now(page)["worlds"] < 200
    assert "Fewer than 200 worlds remain" in text(page, "#few")
    page = opened("steerable", "a.growth=40-60")
    assert not page.locator("#few").is_visible()


def test_no_world_left_is_said(opened):
    page = opened("steerable", "a.growth=0-1&a.one=0-1&a.kind=0")
    assert now(page)["worlds"] == 0
    assert "No world remains" in text(page, "#sentence")
    assert page.said == []


def test_a_keyboard_is_enough(opened):
    page = opened("steerable")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.id"))
        if reached[-1] == "growth: lowest":
            break
    assert reached[-1] == "growth: lowest", reached
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert now(page)["worlds"] == pytest.approx(0.95 * 2048, abs=1)
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    now(page)
    assert page.evaluate("location.hash") == "#a.growth=5-99"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.locator("footer summary").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("footer details").first.get_attribute("open") is not None


@pytest.mark.parametrize(
    ("name", "rows", "told"),
    [
        ("steerable", "#row-body", r"median .*; half of the worlds: .*; 90 %: .*"),
        ("steerable", "#move-body", r"where low: .*; where high: .*; line: .*, in all worlds"),
        ("orders", "#orders section:first-child tbody", r"median .* FLOP/s; half of the worlds: .*; 90 %: .* FLOP/s"),
        ("raced", "#races tbody", r"\w.*: (\d+|under 1|over 99) %"),
    ],
)
def test_every_bar_tells_its_numbers_to_pointer_and_keyboard(opened, name, rows, told):
    page = opened(name)
    bars = page.locator(f"{rows} svg.bar")
    words = [bars.nth(i).get_attribute("aria-label") for i in range(bars.count())]
    assert len(set(words)) == len(words) > 1
    assert all(re.fullmatch(told, each) for each in words), words
    assert [bars.nth(i).get_attribute("tabindex") for i in range(2)] == ["0", "-1"]
    bars.nth(1).hover()
    assert text(page, ".tip") == words[1]
    page.mouse.move(2, 2)
    assert not page.locator(".tip").is_visible()
    bars.nth(0).focus()
    assert text(page, ".tip") == words[0]
    page.keyboard.press("ArrowDown")
    assert text(page, ".tip") == words[1]
    page.keyboard.press("Escape")
    assert not page.locator(".tip").is_visible()
    assert page.said == []


def test_a_figure_is_read_by_keyboard(opened, trees):
    page = opened("brain")
    for figure, key, first in (("#live-answer svg", "End", "by 21"), ("#live-paths svg", "Home", "20")):
        page.locator("#steer-box summary").first.focus()
        page.locator(figure).first.focus()
        page.keyboard.press(key)
        told = page.locator(figure).first.get_attribute("aria-valuetext")
        assert told.startswith(first), told
        assert page.locator(f"{figure} .pointer text").all_text_contents() == told.split("; ")
        page.keyboard.press("ArrowLeft" if key == "End" else "PageUp")
        assert page.locator(figure).first.get_attribute("aria-valuetext") != told
    assert "data: " in told  # the first row that was observed


def test_the_probability_by_a_year_is_that_of_the_worlds(opened, steerable):
    page = opened("steerable")
    page.get_by_label("Probability by").fill("2040")
    dates = steerable.answers["reached"].pooled_draws({"goal": "20"})[0]
    share = (dates <= 2040).mean()
    assert text(page, "#by-share") == f"{100 * share:.0f} %"


@pytest.mark.parametrize("name", ["steerable", "brain"])
def test_it_prints_on_two_pages(opened, name):
    page = opened(name)
    pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4", print_background=True)))
    assert 1 <= pages <= 2
    for box in page.locator("footer details").all():
        box.evaluate("(node) => { node.open = true; }")
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4", print_background=True))) > 2


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("name", "figures", "unit"),
    [
        ("steerable", ("#live-answer", "#live-paths"), "kFLOP/s"),
        ("brain", ("#live-answer", "#live-paths"), "FLOP/s"),
        ("valued", ("#live-answer",), "FLOP"),
    ],
)
def test_axes_have_three_ticks_and_a_unit_and_no_curve_is_cut(opened, name, figures, unit, width):
    page = opened(name, width=width)
    for figure in figures:
        ticks = page.locator(f"{figure} .tick").evaluate_all(
            "(all) => all.map((n) => [n.textContent, n.attributes['text-anchor'].value])"
        )
        for anchor in ("middle", "end"):
            assert sum(words[0].isdigit() for words, at in ticks if at == anchor) >= 3, (figure, anchor, ticks)
        drawn = page.locator(f"{figure} .curve, {figure} .band").evaluate_all(f"(all) => all.map({ROOM})")
        assert min(map(min, drawn)) > 0, (figure, drawn)
    if name == "brain":  # a curve that goes on after the last date of the axis is cut there, and not bent to it
        beyond = "(path) => path.getBBox().x + path.getBBox().width - path.ownerSVGElement.viewBox.baseVal.width"
        assert page.locator("#live-paths .curve.line-0").last.evaluate(beyond) > 64
    assert page.locator(f"{figures[-1]} .unit").text_content() == unit
    assert unit not in text(page, "#key-paths")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["steerable", "ranked", "brain"])
def test_axe_finds_no_fault(opened, name, width, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = opened(name, ADDRESS if name == "steerable" else "", width=width, color_scheme=scheme)
    assert page.evaluate("getComputedStyle(document.body).color") == SCHEMES[scheme]
    for box in page.locator("details").all():
        box.evaluate("(node) => { node.open = true; }")
    now(page)
    found = Axe().run(page).response["violations"]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"]][:3]) for each in found] == []


def test_bad_input_023_foreign_text_stays_text_in_the_browser(opened, hostile):
    page = opened("hostile")
    title = hostile.title
    assert page.locator("h1").inner_text() == title
    assert page.title() == title
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    assert page.locator("b, i, img[onerror]").count() == 0
    assert text(page, "#sentence").startswith(brief(hostile).sentence[:40])
    page.locator("input[aria-label='<b>x</b>: lowest']").fill("30")
    now(page)
    assert "<b>x</b>" in text(page, "#note")
    assert page.locator("b, i, img[onerror]").count() == 0
    assert page.said == []


def test_a_page_that_was_cut_is_a_report(browser, files, steerable, tmp_path):
    whole, cut = files["steerable"].read_text(encoding="utf-8"), tmp_path / "cut.html"
    cut.write_text(re.sub(r'(?<=id="data">)[^<]*', lambda data: data[0][:400], whole), encoding="utf-8")
    page, broken = browser.new_page(), []
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.goto(cut.as_uri())
    page.wait_for_timeout(500)
    assert text(page, "#sentence") == brief(steerable).sentence
    assert page.locator("img").is_visible()
    assert not page.locator("aside").is_visible()
    assert len(broken) == 1  # and nothing else that asks for what is not there
    page.close()


def test_without_a_script_it_is_a_report(opened, steerable):
    page = opened("steerable", java_script_enabled=False)
    assert page.said == []
    assert text(page, "#sentence") == brief(steerable).sentence
    assert page.locator("img").is_visible()
    assert not page.locator("aside").is_visible()
    assert "growth" in page.locator("#move-body").inner_text()
    row = brief(steerable).groups[0].rows[0]
    assert page.get_by_role("cell", name=row.cells[1]).first.is_visible()
