"""``forecast run``: which quantities the text shows, and which steps of them."""

import json
import re

import pytest

import forecast
from forecast.projection import engine
from toolkit import sample

SCENARIO = """
start = 2027
until = 2040
show = ["speed", "cost"]
[quantities.cost]
p05 = 1
p95 = 4
unit = "USD"
[quantities.one]
value = 1
unit = "USD"
[quantities.speed]
model = "hardware/linpack@exponential"
"""


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "mine.toml"
    found.write_text(SCENARIO)
    return found


def test_the_text_shows_what_the_scenario_names_in_its_order_and_counts_the_rest(said, path):
    code, out, err = said("run", str(path), "--draws", "50", "--show", "quantities")
    assert (code, err) == (0, "")
    assert out.index("\nspeed") < out.index("\ncost")
    assert "\none" not in out
    assert "Not shown: one" in out


def test_json_and_the_projection_have_every_quantity(said, path):
    code, out, _ = said("run", str(path), "--draws", "50", "--json")
    assert code == 0
    assert {row["name"] for row in json.loads(out)["result"]["quantities"]} == {"speed", "cost", "one"}
    assert set(forecast.project(path, draws=10)["projection"].data_vars) == {"speed", "cost", "one"}


def test_without_a_word_about_it_every_quantity_is_shown(said, path):
    path.write_text(SCENARIO.replace('show = ["speed", "cost"]\n', ""))
    _, out, _ = said("run", str(path), "--draws", "50", "--show", "quantities")
    assert re.search(r"^one +1 USD$", out, re.MULTILINE)
    assert "Not shown" not in out


@pytest.mark.parametrize("every", [(), ("--every", "4"), ("--every", "100")])
def test_the_last_step_is_always_shown(said, path, every):
    _, out, _ = said("run", str(path), "--draws", "50", "--quantity", "speed", *every)
    lines = out.splitlines()
    table = lines[lines.index("speed [TFLOP/s]") + 3 :]
    years = [line.split()[0] for line in table[: table.index("")]]
    assert years[0] == "2027"
    assert years[-1] == "2040"
    assert len(years) == len(set(years))


@pytest.mark.parametrize(
    ("shown", "says"),
    [
        ('["sped"]', "mine.toml: show: unknown quantity 'sped'; did you mean 'speed'?"),
        ('["speed", "speed"]', "mine.toml: show: a quantity stands there twice"),
        ('"speed"', "mine.toml: show: expected a list of texts"),
        ("[]", "mine.toml: show: expected a list of texts"),
    ],
)
def test_what_is_shown_must_be_quantities(said, path, shown, says):
    path.write_text(SCENARIO.replace('["speed", "cost"]', shown))
    assert says in said("run", str(path), "--draws", "50").refused()


PARITY = ["run", "brain-parity", "--draws", "200", "--what-if", "machine.growth*0.5 since 2028"]


@pytest.mark.parametrize(
    "section", sample([[], ["--show", "quantities"], ["--show", "limits"], ["--show", "answers"]], 4)
)
def test_a_screen_stores_the_ends_of_quantities_and_says_what_one_says_beside_a_file(said, path, monkeypatch, section):
    stored, project = [], engine.project

    def told(*args, **options):
        found = project(*args, **options)
        stored.append(len(found.time))
        return found

    monkeypatch.setattr(engine, "project", told)
    alone = said(*PARITY, *section)
    assert stored == [2, 2]
    beside = said(*PARITY, *section, "--out", str(path.with_suffix(".nc")))
    assert stored[2] > 2
    assert (alone.code, alone.out, alone.err) == (beside.code, beside.out, beside.err)


@pytest.mark.parametrize("option", [["--json"], ["--quantity", "speed", "--every", "1"]])
def test_what_is_printed_step_by_step_is_stored_so(said, path, option):
    alone = said("run", str(path), "--draws", "50", *option)
    assert alone.code == 0
    assert re.search(r"2033(-01-01)?\b", alone.out)
