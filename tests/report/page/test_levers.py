"""The levers of a page: what it carries at places of each, and what a browser shows of it."""

import numpy as np
import pytest

import forecast
from forecast.projection.engine import project
from forecast.report.changes import moved_and_unmoved
from forecast.report.headline import opening_sentence
from forecast.report.page import html, write_page
from forecast.report.page.lever_controls import answer_titles, carried_answer, lever_answers, lever_controls
from forecast.sensitivity.lever_points import lever_points
from toolkit import command, page_data, sample

run = command("run")

MOVABLE = {
    "start": 2025,
    "until": 2060,
    "choices": {"goal": {"values": ["20", "2000"], "kind": "definition"}},
    "quantities": {
        "growth": {"normal": [0.15, 0.45], "unit": "1/year"},
        "speed": {"value": 1.5, "unit": "FLOP/s"},
        "unit": {"value": 1, "unit": "FLOP/s"},
        "machine": {"expression": "speed*exp(growth*(t - start))"},
    },
    "questions": {
        "reached": {"when": "machine >= {goal}*unit", "title": "the machine reaches {goal} FLOP/s"},
        "size": {"value": "machine", "dates": ["2030-01-01"], "title": "what the machine gives"},
    },
    "levers": {
        "speed": {"label": "Speed today", "range": ["1 FLOP/s", "10 FLOP/s"], "about": "of one machine"},
        "growth": {"label": "Growth", "range": ["0.1 1/year", "0.5 1/year"]},
        "goal": {"label": "What to reach"},
        "machine": {"label": "Growth from 2030 on", "growth": ["0*", "2*"], "since": 2030},
    },
}


@pytest.fixture(scope="module")
def scenario():
    return forecast.scenario(MOVABLE)


@pytest.fixture(scope="module")
def tree(scenario):
    return project(scenario, draws=512)


@pytest.fixture(scope="module")
def moved(tree, scenario):
    return lever_answers(tree, scenario, draws=256)


@pytest.fixture(scope="module")
def page(tree, moved):
    return html(tree, lever_answers=moved)


def test_a_number_stands_at_nine_places_and_at_its_own(tree):
    speed, growth, pace = lever_controls(tree)
    assert [each.value for each in speed.stops] == [
        "1 FLOP/s", "1.3 FLOP/s", "", "1.8 FLOP/s", "2.4 FLOP/s", "3.2 FLOP/s", "4.2 FLOP/s", "5.6 FLOP/s",
        "7.5 FLOP/s", "10 FLOP/s",
    ]  # fmt: skip
    assert (speed.at, speed.stated) == (2, "1.5 FLOP/s")
    assert len(growth.stops) == 9  # it is uncertain, and stands at none of them
    assert "to" in growth.stated
    assert [each.value for each in pace.stops].index("") == pace.at == 4
    assert pace.stops[0].change == "machine.growth*0 since 2030"


def test_a_page_carries_five_places_around_where_a_lever_stands(page):
    speed, growth, _, pace = page_data(page)["levers"]
    assert [each.get("value") for each in speed["stops"]] == ["1 FLOP/s", "1.2 FLOP/s", None, "3.9 FLOP/s", "10 FLOP/s"]
    assert [each.get("value") for each in pace["stops"]] == ["0*", "0.5*", None, "1.5*", "2*"]
    assert [each["value"] for each in growth["stops"]] == [f"{x} 1/year" for x in (0.1, 0.2, 0.3, 0.4, 0.5)]
    for lever in (speed, growth, pace):
        assert [answer is None for answer in lever["answers"]] == ["value" not in each for each in lever["stops"]]


def test_what_is_carried_is_what_a_run_says(tree, scenario, moved, page):
    lever = next(each for each in page_data(page)["levers"] if each["name"] == "speed")
    base = project(scenario, draws=256)
    for stop, answer in zip(lever["stops"], lever["answers"], strict=True):
        if "value" not in stop:
            assert answer is None
            continue
        there = project(scenario, draws=256, with_={"speed": stop["value"]}).beside(base)
        assert answer["sentence"] == opening_sentence(there)
        assert answer["changes"] == [[row.label, *row.cells] for row in moved_and_unmoved(there)[0].rows]
        assert answer["unmoved"] == moved_and_unmoved(there)[1]
        found = there.answers["reached"].headline
        finite = [2025 + q for q in answer["answers"]["reached"][0] if q is not None]
        assert finite == pytest.approx([q for q in found.quantiles if np.isfinite(q)], abs=1e-3)
        assert answer["answers"]["reached"][1:] == pytest.approx([found.never, found.already, found.at_start], abs=1e-4)
        other = there.answers["reached"].over({"goal": "2000"})
        assert answer["rows"]["goal"][1][1] == pytest.approx(other.never, abs=1e-4)
        assert answer["answers"]["size.0"][0][2] == pytest.approx(there.answers["size"].headline.median, rel=1e-3)
    assert page_data(page)["moved_draws"] == 256


#: With an input of a model, a pooled choice, a ranking, what comes first, and worlds that are weighed.
MANY = {
    **MOVABLE,
    "choices": {**MOVABLE["choices"], "path": {"values": ["1", "3"], "weights": [0.4, 0.6]}},
    "quantities": {
        **MOVABLE["quantities"],
        "rate": {"p05": 0.05, "p95": 0.1, "unit": "1/year"},
        "rival": {"expression": "unit*exp({path}*rate*(t - start))"},
        "kind": {"draw": {"plain": 0.25, "doubled": 0.75}},
        "other": {"expression": "where(kind == 'doubled', 2, 1)*rival"},
        "left": {"expression": "{goal}*unit/machine"},
    },
    "questions": {
        **MOVABLE["questions"],
        "overtaken": {"when": "other >= 10*speed", "title": "the other one, {other} at last, is ten times as fast"},
        "which": {"rank": "rival", "over": "path", "best": "highest"},
        "far": {"when": "rival >= {goal}*unit", "title": "the rival reaches {goal} FLOP/s"},
        "distance": {"value": "left", "dates": ["2030-01-01"]},
        "earliest": {"first": ["reached", "overtaken", "far"]},
    },
    "levers": {
        **MOVABLE["levers"],
        "kind": {"label": "The kind"},
        "rate": {"label": "Rate", "range": ["0.1 1/year", "0.3 1/year"]},
    },
    "says": {"reached": {"date": "the machine is there by {median}[, from {speed} and {now} today]"}},
}


@pytest.mark.parametrize(
    "more",
    sample(
        [
            {},
            {"update": {"growth": {"log_likelihood": "-(growth*1 year - 0.3)**2/0.02"}}},
            {"questions": {name: each for name, each in MANY["questions"].items() if name != "which"}},
        ],
        2,
    ),
)
def test_places_computed_together_say_what_runs_of_their_own_say(more):
    stated = forecast.scenario({**MANY, **more})
    settings = {"with_": {"unit": 2}, "what_if": [{"of": "rival", "growth": "0.9*", "since": 2030}]}
    run = project(stated, draws=64, **settings)
    base, places = project(stated, draws=32, **settings), list(lever_points(run, stated, draws=32))
    assert [point.lever.name for point in places] == sorted(
        (point.lever.name for point in places), key=list(MANY["levers"]).index
    )
    for point in places:
        moved = point.lever.moved(point.value)
        own = {key: type(each)([*each.items(), *moved.get(key, {}).items()]) if isinstance(each, dict)
               else [*each, *moved.get(key, ())] for key, each in settings.items()}  # fmt: skip
        alone = project(stated, draws=32, **own).beside(base)
        assert point.run is not None
        one, other = (carried_answer(each, base, answer_titles(base)) for each in (point.run, alone))
        assert repr(one) == repr(other), point.value  # where there is no number two differ
        assert point.run.settings == alone.settings


def test_a_lever_of_a_fitted_parameter_has_its_own_posterior_at_each_place():
    stated = forecast.scenario({
        "start": 2026, "until": 2040,
        "quantities": {"machine": {"model": "hardware/linpack", "shape": "trends/exponential"},
                       "goal": {"value": 1e19, "unit": "FLOP/s"}},
        "questions": {"there": {"when": "machine >= goal"}},
        "levers": {"machine.growth": {"label": "Growth", "range": ["0.2 1/year", "0.4 1/year"]}},
    })  # fmt: skip
    for point in lever_points(project(stated, draws=32), stated, draws=32):
        alone = project(stated, draws=32, **point.lever.moved(point.value))
        for name, data in alone.groups_in("posterior"):
            assert data.identical(point.run.dataset(f"posterior/{name}")), point.value


def test_what_was_set_is_kept_where_a_lever_is_moved(scenario):
    tree = project(scenario, draws=64, with_={"growth": 0.2}, until=2050)
    moved = lever_answers(tree, scenario, draws=64)
    there = project(scenario, draws=64, with_={"growth": 0.2, "speed": "10 FLOP/s"}, until=2050).beside(tree)
    assert moved.points["speed"]["10 FLOP/s"]["sentence"] == opening_sentence(there)


def test_growth_that_was_changed_already_is_not_changed_again(scenario):
    tree = project(scenario, draws=64, what_if=[{"of": "machine", "growth": "0.5*", "since": 2028}])
    assert [each.name for each in lever_controls(tree)] == ["speed", "growth"]


def test_what_is_drawn_stands_at_its_shares_and_moves_from_label_to_label():
    stated = {
        "start": 2025, "until": 2030, "labels": {"slow": "as before"},
        "quantities": {"kind": {"draw": {"slow": 0.25, "fast": 0.75}}, "x": {"p05": 1, "p95": 4, "unit": "FLOP"},
                       "y": {"expression": "where(kind == 'fast', 2, 1)*x"}},
        "questions": {"q": {"when": "y >= 4 FLOP"}}, "levers": {"kind": {"label": "The kind"}},
    }  # fmt: skip
    (drawn,) = lever_controls(forecast.project(stated, draws=1024))
    assert [(each.value, each.label) for each in drawn.stops] == [("slow", "as before"), ("fast", "fast")]
    assert (drawn.at, drawn.stated) == (1, "as before 25 %, fast 75 %")
    (fixed,) = lever_controls(forecast.project(stated, draws=64, with_={"kind": "slow"}))
    assert (fixed.at, fixed.stated) == (0, "as before")
    carried = lever_answers(forecast.project(stated, draws=64), stated, draws=64).points["kind"]
    assert list(carried) == ["slow", "fast"]


def test_a_place_that_cannot_be_run_says_why(scenario):
    stated = {**MOVABLE, "levers": {"growth": {"label": "Growth", "range": ["0.1 1/year", "1e9 1/year"]}}}
    failing = forecast.scenario(stated)
    tree = project(failing, draws=64)
    points = lever_answers(tree, failing, draws=64).points["growth"]
    assert isinstance(points["1e9 1/year"], str)
    assert not isinstance(points["0.1 1/year"], str)
    assert html(tree, lever_answers=lever_answers(tree, failing, draws=64))


def test_a_page_without_them_offers_no_slider(tree):
    assert not [each for each in page_data(html(tree))["levers"] if "answers" in each]


@pytest.mark.slow
def test_a_run_writes_them_and_can_leave_them_out(capsys, tmp_path, scenario):
    file = tmp_path / "s.toml"
    file.write_text(scenario.to_toml(), encoding="utf-8")
    for more, count in (([], 64), (["--lever-draws", "16"], 16), (["--lever-draws", "0"], 0)):
        out = run(capsys, str(file), "--draws", "64", "--report", str(tmp_path / "f.html"), *more)
        assert out.code == 0
        text = (tmp_path / "f.html").read_text(encoding="utf-8")
        assert bool(page_data(text)["levers"][0].get("answers")) == bool(count)
        assert (f"the answers of {count} worlds at each" in text) == bool(count)
    assert "is of the page that --report writes" in run(capsys, str(file), "--lever-draws", "16").refusal


# --- In a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def file(tree, moved, tmp_path_factory):
    return write_page(tree, tmp_path_factory.mktemp("levers") / "f.html", lever_answers=moved)


@pytest.fixture
def opened(browser, file):
    context = browser.new_context(viewport={"width": 1280, "height": 900})

    def open_page(address=""):
        page = context.new_page()
        page.said = []
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(f"{file.as_uri()}{'#' if address else ''}{address}")
        page.wait_for_selector("html.alive")
        return page

    yield open_page
    context.close()


def sentence(page):
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.inner_text("#sentence").replace("\u00a0", " ")


@pytest.mark.slow
def test_moving_a_lever_shows_what_is_carried(opened, tree, moved):
    page = opened()
    assert sentence(page) == opening_sentence(tree)
    page.locator("#lever-speed").fill("4")
    carried = moved.points["speed"]["10 FLOP/s"]
    assert sentence(page) == carried["sentence"]
    assert page.evaluate("lawcast.now().median") == pytest.approx(2025 + carried["answers"]["reached"][0][2], abs=1e-3)
    assert "Of 256 worlds, with this lever moved alone" in page.inner_text("#note")
    rows = [
        [cell.inner_text() for cell in row.locator("th, td").all()] for row in page.locator("#change-body tr").all()
    ]
    assert rows == carried["changes"]
    assert len(rows) >= 2
    assert page.locator("#live-answer .before").count()  # what it was stays in sight
    assert not page.locator("#paths").is_visible()
    page.locator("#lever-growth").focus()
    page.keyboard.press("Home")  # the one that was moved before goes back
    assert sentence(page) == moved.points["growth"]["0.1 1/year"]["sentence"]
    assert page.locator("#lever-speed").input_value() == "2"
    assert page.evaluate("location.hash") == "#l.growth=0"
    page.get_by_role("button", name="Growth: as stated").click()
    assert sentence(page) == opening_sentence(tree)
    assert page.locator("#paths").is_visible()
    assert not page.locator("#changes").is_visible()
    assert page.said == []


@pytest.mark.slow
def test_what_was_set_for_the_page_is_told_as_a_difference(browser, scenario, tree, tmp_path):
    changed = project(scenario, draws=512, with_={"speed": 9}).beside(tree)
    for script in (True, False):
        context = browser.new_context(java_script_enabled=script)
        page = context.new_page()
        page.goto(write_page(changed, tmp_path / "f.html").as_uri())
        if script:
            page.wait_for_selector("html.alive")
        told = page.locator("#change-body").inner_text()
        context.close()
        for row in moved_and_unmoved(changed)[0].rows:
            assert row.cells[0] in told
            assert row.cells[2] in told


@pytest.mark.slow
def test_what_was_moved_stands_in_the_address(opened, moved):
    page = opened("l.machine=0")
    assert sentence(page) == moved.points["machine"]["0*"]["sentence"]
    page.get_by_label("Question", exact=True).select_option(index=1)
    assert "what the machine gives" in sentence(page).lower()
    assert "machine.growth*0 since 2030" in sentence(page)
    for address in ("l.machine=99", "l.machine=2", "l.nobody=1", "l.goal=0", "l.speed=x"):
        assert "machine.growth" not in sentence(opened(address))


@pytest.mark.slow
def test_what_is_moved_together_takes_an_engine(opened, tree):
    page = opened("l.speed=4&a.growth=20-55")
    assert "takes the engine" in sentence(page)
    assert "Growth" in sentence(page)
    assert not page.locator("#rivals").is_visible()
    page.get_by_role("button", name="Reset").click()
    assert sentence(page) == opening_sentence(tree)
    assert page.locator("#rivals").is_visible()


@pytest.mark.slow
def test_a_page_with_its_levers_stays_small():
    tree, toml = forecast.project("brain-parity"), forecast.scenario("brain-parity").to_toml()
    page = html(tree, toml=toml, lever_answers=lever_answers(tree, "brain-parity", draws=64))
    assert sum(len(each.get("answers", ())) > 4 for each in page_data(page)["levers"]) >= 2
    assert len(page.encode()) <= 800_000


@pytest.mark.slow
def test_the_first_view_has_no_raw_names(browser, tmp_path):
    for name, raw in (("brain-parity", ("teps", "brain/pooled", "log level")), ("gpu-choice", ("hardware/",))):
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto(write_page(forecast.project(name, draws=256), tmp_path / f"{name}.html").as_uri())
        page.wait_for_selector("html.alive")
        seen = page.inner_text("body")
        context.close()
        for each in (*raw, "/pooled", "@pool", "member "):
            assert each not in seen, each
