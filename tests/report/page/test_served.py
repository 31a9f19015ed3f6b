"""The page of ``forecast explore`` in a browser: what is changed is answered, and the page stays what it is."""

import json
import os
import signal

import pytest

from toolkit import started

SCENARIO = """
title = "When is it enough?"
start = 2025
until = 2060
[quantities.growth]
normal = [0.15, 0.45]
unit = "1/year"
[quantities.one]
p05 = 0.5
p95 = 2
unit = "FLOP/s"
[quantities.machine]
expression = "one*exp(growth*(t - start))"
[quantities.goal]
value = 2000
unit = "FLOP/s"
[questions.enough]
when = "machine >= goal"
title = "the machine is fast enough"
[levers.one]
label = "Speed of one machine"
range = ["0.5 FLOP/s", "2 FLOP/s"]
[levers.machine]
label = "Growth from 2030 on"
growth = ["0.5*", "1.5*"]
since = 2030
"""


@pytest.fixture
def address(tmp_path):
    (tmp_path / "enough.toml").write_text(SCENARIO)
    words = ["explore", str(tmp_path / "enough.toml"), "--port", "0", "--no-browser", "--draws", "1024"]
    process = started(*words, stderr=None, env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=120)
        process.stdout.close()


@pytest.mark.slow
def test_what_is_changed_in_a_browser_is_answered(browser, address, tmp_path):
    context = browser.new_context(viewport={"width": 380, "height": 900})
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    try:
        page.goto(address, timeout=60_000)
        page.wait_for_selector("html.alive")

        def drawn():
            page.wait_for_function(
                "() => document.getElementById('engine-status').textContent.startsWith('Drawn again')"
            )
            page.evaluate("() => { document.getElementById('engine-status').textContent = ''; }")
            return page.inner_text("#sentence")

        def focused():
            return page.evaluate("() => document.activeElement.getAttribute('aria-label')")

        first = page.inner_text("#sentence")
        page.locator("aside summary").first.click()
        page.locator("#lever-one").fill("8")
        assert "with one = 2 FLOP/s" in drawn()
        page.locator("#lever-machine").fill("0")  # an engine sets several together
        both = drawn()
        assert "one = 2 FLOP/s" in both
        assert "machine.growth*0.5 since 2030" in both
        assert "2 FLOP/s" in page.locator(".lever").first.inner_text()
        page.get_by_role("button", name="Speed of one machine: as stated").click()
        assert "one = " not in drawn()
        page.get_by_role("button", name="Growth from 2030 on: as stated").click()
        assert drawn() == first
        page.locator("#assumption-box summary").click()
        page.get_by_label("goal: set to").fill("20")
        page.keyboard.press("Enter")
        assert drawn() != first
        assert focused() == "goal: set to"  # whoever types stays there
        page.keyboard.press("Tab")
        assert focused() == "goal: as stated"
        page.keyboard.press("Enter")
        assert drawn() == first
        assert focused() == "goal: set to"
        command, goal = page.get_by_label("The command"), page.get_by_role("row", name="goal", exact=False)
        page.locator("#appendices summary").first.click()
        assert "2 kFLOP/s" in goal.inner_text()
        page.get_by_label("goal: set to").fill("30")
        page.keyboard.press("Tab")
        drawn()  # what is open is renewed once nothing changes, and stays open
        page.wait_for_function("() => document.getElementById('appendices').innerText.includes('30 FLOP/s')")
        assert "--set goal=30" in command.text_content()
        page.locator("#appendices summary").first.click()
        page.get_by_role("button", name="goal: as stated").click()
        assert drawn() == first
        page.wait_for_timeout(600)
        assert "--set goal=30" in command.text_content()  # while nobody looks it is not made
        page.locator("#appendices summary").nth(3).click()
        page.wait_for_function("() => !document.getElementById('appendices').textContent.includes('--set')")
        assert command.is_visible()
        page.locator("#appendices summary").nth(3).click()
        growth = page.get_by_role("group", name="growth", exact=True)
        assert growth.get_by_role("slider").count() == 2
        growth.get_by_role("slider").first.fill("50")  # narrowed, as in a file
        page.wait_for_function("() => lawcast.now().worlds === 512")
        assert "remain: growth" in page.inner_text("#note")
        page.get_by_label("growth: set to").fill("0.9")  # beyond what is sampled
        page.keyboard.press("Enter")
        assert "with growth = 0.9" in drawn()
        assert growth.get_by_role("slider").count() == 0
        assert "0.9 a year" in growth.inner_text()
        assert page.evaluate("() => lawcast.now().worlds") == 1024
        page.get_by_role("button", name="Reset").click()
        assert drawn() == first
        assert growth.get_by_role("slider").count() == 2
        page.locator("#engine-box summary").first.click()
        page.locator("#engine-box summary").last.click()
        text = page.get_by_label("Edit the scenario, as TOML")
        text.fill(SCENARIO.replace("2000", "20").replace("enough?", "<b>enough</b>?"))
        page.get_by_role("button", name="Use this text").click()
        assert drawn() != first
        assert page.inner_text("h1") == "When is it <b>enough</b>?"
        page.get_by_label("Edit the scenario, as TOML").fill("until = ")
        page.get_by_role("button", name="Use this text").click()
        page.wait_for_function("() => document.getElementById('engine-problem').textContent.includes('not TOML')")
        (tmp_path / "mine.csv").write_text("date,speed\n" + "".join(f"{2012 + i}-01-01,{2**i}\n" for i in range(8)))
        page.locator("#engine-box summary").nth(2).click()
        page.get_by_label("A CSV file").set_input_files(tmp_path / "mine.csv")
        page.get_by_label("Stands for").select_option("machine")
        page.get_by_label("Grows as").select_option("trends/exponential")
        before = page.inner_text("#sentence")
        page.get_by_role("button", name="Use it").click()
        assert drawn() != before
        assert page.get_by_role("group", name="growth (machine", exact=False).count()
        page.get_by_label("Scenario", exact=True).select_option("brain/brain-evidence")  # without a question
        page.wait_for_function("() => document.getElementById('sentence').textContent.includes('published estimate')")
        assert not page.locator("#others").is_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 380
        assert all(url.startswith(address.partition("?")[0]) for url in asked)
        assert [text for text in said if "400" not in text] == []  # the browser notes what was refused
    finally:
        context.close()


@pytest.mark.slow
def test_the_served_page_has_no_fault(browser, address):
    from axe_playwright_python.sync_playwright import Axe

    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    try:
        page.goto(address, timeout=60_000)
        page.wait_for_selector("html.alive")
        for box in page.locator("aside details").all():
            box.evaluate("(node) => { node.open = true; }")
        page.locator("#column").evaluate("(node) => { node.hidden = false; }")
        found = json.loads(json.dumps(Axe().run(page).response["violations"]))
        assert [each["id"] for each in found] == []
    finally:
        context.close()
