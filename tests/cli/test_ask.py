"""``forecast ask``: questions in one line, on the command line and in Python; dates and levels of one's own."""

import json
import shlex

import numpy as np
import pytest

import forecast
from forecast.api.options import AskOptions
from forecast.cli.ask.ask import ask
from forecast.errors import UnknownNameError
from forecast.scenarios.question_text import in_words, read_question

USERS = "date,users,price\n" + "".join(
    f"{2015 + i}-01-01,{round(100 * 2**i * (1.1, 0.95, 1)[i % 3])},{5 - i / 4}\n" for i in range(10)
)
FEW = ("--draws", "128")


@pytest.fixture
def users(here):
    (here / "mine.csv").write_text(USERS, encoding="utf-8")
    return "mine.csv"


def result_of(said, *words):
    out = said("ask", *words, *FEW, "--json")
    return json.loads(out.out)["result"]


# --- what is asked ----------------------------------------------------------------------------------------------------


def test_a_trend_at_dates_says_what_a_scenario_of_it_says(said, scenario):
    own = result_of(said, "run-price-performance", "--at", "2030,2035")
    path = scenario(
        'until = 2035\n[quantities.run_price_performance]\nmodel = "capability/run-price-performance"\n'
        '[questions.q]\nvalue = "run_price_performance"\ndates = [2030, 2035]\n'
    )
    run = json.loads(said("run", path, *FEW, "--json").out)["result"]
    assert own["answer"]["unit"] == run["answer"]["unit"] == "FLOP/USD"
    pooled = {row["date"]: row["p50"] for row in own["values"][0]["dates"]}
    np.testing.assert_allclose(list(pooled.values()), [row["p50"] for row in run["values"][0]["dates"]], rtol=1e-9)


def test_a_level_to_be_reached_asks_when(said):
    found = result_of(said, "capability/training-compute >= 1e29 FLOP")
    assert found["answer"]["kind"] == "when"
    assert found["answer"]["asks"] == "training_compute >= 1e29 FLOP"
    assert found["headline"].startswith("Training compute of the largest run so far reaches 1e29 FLOP")
    assert {row["choices"]["shape"] for row in found["questions"] if row["choices"]} >= {"pool", "changepoint"}


def test_money_times_what_it_buys_is_compute(said):
    found = result_of(said, "run-price-performance * 1M USD >= 2.1e25 FLOP")
    alike = result_of(said, "run-price-performance * 2 * 500k USD >= 21 YFLOP")
    assert found["answer"]["crossing"] == alike["answer"]["crossing"]


def test_a_column_of_a_file_goes_along_its_dates(said, users):
    found = result_of(said, f"{users}:users", "--at", "2026")
    row = {"name": "question", "of": "users", "value": 56320.0, "unit": "", "date": "2024-01-01", "row": ""}
    assert found["today"] == [{**row, "stands": False}]
    low, high = found["answer"]["p05"], found["answer"]["p95"]
    assert 56320 < low < 56320 * 3 < high


def test_compare_puts_every_shape_with_a_record_beside_it(said, users):
    few = result_of(said, f"{users}:users", "--at", "2026")
    every = json.loads(said("ask", f"{users}:users", "--at", "2026", "--compare", *FEW, "--json").out)["result"]
    assert len(every["values"]) > len(few["values"]) >= 4


def test_an_estimate_never_moves_and_needs_no_date(said):
    found = result_of(said, "carlsmith-2020")
    assert len(found["values"][0]["dates"]) == 1
    assert "today" not in found


def test_python_asks_the_same(said):
    answer = forecast.ask("capability/training-compute >= 1e29 FLOP", draws=128)
    found = result_of(said, "capability/training-compute >= 1e29 FLOP")
    assert answer.to_dict()["result"]["answer"] == found["answer"]
    assert answer.with_(shape="changepoint").never <= answer.never + 1e-9
    assert "training_compute" in answer.scenario.to_toml()


#: Options of the command that say where its answer goes and what may be read; and what others are called in Python.
WRITTEN = {
    "question", "resume", "level", "section", "shown", "by", "every", "out", "plots", "width", "panel", "titled",
    "report", "lever_draws", "allow_path", "allow_download", "allow_host", "as_json", "full",
}  # fmt: skip
IN_PYTHON = {
    "rival": "model", "settings": "with_", "swaps": "with_", "changes": "what_if", "at": "dates", "rows": "data",
    **dict.fromkeys(("rule", "decimal", "dates", "missing", "reader"), "reading"),
}  # fmt: skip


def test_python_takes_each_option_of_the_command(said, users):
    options = {each.name for each in ask.params} - WRITTEN
    assert {IN_PYTHON.get(name, name) for name in options} <= set(AskOptions.__annotations__)
    rival = forecast.ask("largest-run >= 1e29 FLOP", model="exponential", draws=128)
    told = said("ask", "largest-run >= 1e29 FLOP", "--model", "exponential", *FEW, "--json").out
    assert json.loads(told)["result"]["answer"] == rival.to_dict()["result"]["answer"]
    every, few = (forecast.ask(f"{users}:users", dates=[2026], compare=each, draws=16) for each in (True, False))
    assert every.by_choice.sizes["shape"] > few.by_choice.sizes["shape"]
    changed = forecast.ask("hpcg", what_if=[{"of": "hpcg", "value": "1 EFLOP/s", "since": 2028}], draws=16)
    assert "since 2028" in changed.sentence
    with pytest.raises(UnknownNameError, match="unknown rival 'exponentia'; did you mean 'exponential'"):
        forecast.ask("largest-run", model="exponentia")


def test_data_is_the_answer_and_what_is_behind_it_on_request(said):
    brief, full = (json.loads(said("ask", "hpcg", *FEW, "--json", *more).out)["result"] for more in ((), ("--full",)))
    assert set(full) - set(brief) >= {"models"}
    assert brief.pop("quantities") == []
    assert {key: full[key] for key in brief if key != "sources"} == {k: v for k, v in brief.items() if k != "sources"}
    assert brief["sources"] == list(dict.fromkeys(each for model in full["models"] for each in model["sources"]))
    assert len(said("ask", "largest-run", *FEW, "--json").out) < 20_000
    name = full["quantities"][0]["name"]
    one = json.loads(said("ask", "hpcg", *FEW, "--json", "--quantity", name).out)["result"]
    assert {row["name"] for row in one["quantities"]} == {name}
    assert "--full: is of --json" in said("ask", "hpcg", "--full").err


@pytest.mark.slow
def test_what_is_set_is_named_as_a_person_types_it(said):
    for asked, typed, near in (("device-price", "devic", "device"), ("largest-run", "runn", "model_capability.run")):
        assert f"did you mean '{near}'?" in said("ask", asked, "--set", f"{typed}=1").err
    short, whole = (
        result_of(said, "chip-stock", "--at", "2030", "--set", f"{name}=data-limited")["answer"]
        for name in ("variant", "model-capability.variant")
    )
    assert short == whole
    told = said("ask", "device-price / device-rent", *FEW).out
    assert "(device: RTX 4090, device: H100 SXM5)" in " ".join(told.split())


@pytest.mark.parametrize("beside", [{"over": "shape"}, {"when": "x >= 1"}, {"best": "lowest"}, {"value": 3}])
def test_a_question_in_one_line_stands_alone(beside):
    with pytest.raises(forecast.ForecastError, match=f"stands alone, without '{next(iter(beside))}'"):
        forecast.ask("capability/training-compute", **beside)


def test_what_is_asked_can_be_changed_saved_and_drawn(said, here):
    asked = ("capability/training-compute", "--at", "2030", *FEW, "--set", "shape=changepoint")
    out = said("ask", *asked, "--out", "a.nc", "--plot", "a.svg", "--report", "a.html", "--lever-draws", "0")
    assert out.code == 0, out.err
    assert {path.name for path in here.iterdir()} >= {"a.nc", "a.svg", "a.html"}
    trend, answer = out.out.split("\n\n", 1)
    assert "forecast ask largest-run" in trend, "a trend alone says whose forecast it is not"
    assert said("show", "a.nc").out.splitlines()[0] == answer.splitlines()[0]


# --- what is not ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("traning-compute", "did you mean 'training-compute'?"),
        ("training-compute-run-cost", "unknown name 'training-compute-run-cost'"),
        ("brain-parity", "'brain-parity.QUANTITY' is one of its quantities"),
        ("brain-parity.machin", "did you mean 'machine'?"),
        ("1 + 1", "names nothing of the catalogue"),
        ("training-compute >= 1 m", "units do not balance"),
        ("training-compute^2", "write **"),
        ("training-compute >= run-cost >= 1", "a condition is one comparison"),
        ("__import__('os')", "ask"),
        ("", "expected a question"),
        ("training-compute --at nan", "expected a date such as"),
        ("training-compute --at inf", "expected a date such as"),
        ("training-compute --at ,", "expected a date such as"),
        ("training-compute --at 2035-13-01", "expected a date such as"),
        ("mine.csv:usrs", "did you mean 'users'?"),
        ("other.csv:users", "other.csv"),
    ],
)
def test_what_cannot_be_asked_says_why(said, users, text, told):
    question, *options = text.split(" --at ")
    out = said("ask", question, *(word for at in options for word in ("--at", at)), *FEW)
    assert (out.code, out.out) == (1 if told == "other.csv" else 2, "")
    assert told in " ".join(out.err.split())


def test_a_question_in_words_proposes_lines_that_run(said):
    out = said("ask", *["when", "does", "a", "supercomputer", "match", "the", "brain"], "--json")
    assert out.code == 2
    lines = json.loads(out.out)["result"]["proposals"]
    assert lines[0] == "forecast run brain-parity"
    assert len(lines) <= 5
    assert said(*shlex.split(lines[0])[1:], *FEW).code == 0
    assert "nothing is about them" in said("ask", "xylophone quokka").out


@pytest.mark.parametrize("text", ["a + b", "x >= 1 EFLOP/s", "min(a, b)", "3 FLOP/s * x", "model-capability.power"])
def test_a_formula_is_no_question_in_words(text):
    assert not in_words(text)


def test_a_minus_stands_between_blanks():
    assert (
        read_question("capability/training-compute - capability/training-compute").figures["question"].of.text
        == "training_compute - training_compute"
    )


# --- dates and levels of one's own ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_run_takes_dates_beyond_its_own(said):
    run = json.loads(said("run", "gpu-capability", "--at", "2045", *FEW, "--json").out)["result"]
    assert {row["date"] for value in run["values"] for row in value["dates"]} == {"2045-01-01"}
    assert all(row["dates"][0]["probability"] is not None for row in run["questions"])


@pytest.mark.parametrize("stated", ["80", "0.8", "80%"])
def test_a_level_of_ones_own_is_told_beside_ninety(said, stated):
    out = said("ask", "run-price-performance", "--at", "2030", "--level", stated, *FEW)
    assert "80 % interval: " in out.out
    answer = forecast.ask("run-price-performance", dates=[2030], draws=128)
    found = json.loads(said("ask", "run-price-performance", "--at", "2030", "--level", stated, *FEW, "--json").out)
    low, high = answer.interval(0.8)
    assert found["result"]["answer"]["interval"] == {"level": 0.8, "low": low, "high": high}
    assert answer.interval(0.9)[0] < low < high < answer.interval(0.9)[1]


@pytest.mark.parametrize("stated", ["0", "1.5", "100", "nine", "-0.9"])
def test_a_level_that_is_none_is_refused(said, stated):
    out = said("run", "brain-parity", "--level", stated)
    assert out.code == 2
    assert "expected a level between 0 and 1" in " ".join(out.err.split())


# --- what it stands at today ------------------------------------------------------------------------------------------


def test_todays_value_is_the_newest_observation_or_the_record(said, scenario, here):
    (here / "m.csv").write_text("date,v\n2019-01-01,1\n2020-01-01,8\n2021-01-01,4\n2022-01-01,6\n", encoding="utf-8")
    text = (
        "start = 2022\nuntil = 2030\n[quantities.budget]\nvalue = 3\nunit = 'USD'\n"
        "[quantities.x]\ndata = 'm.csv'\nx = 'date'\ny = 'v'\nunit = 'FLOP/USD'\nshape = 'trends/exponential'\n{keeps}"
        "[questions.q]\nvalue = 'x*budget'\ndates = [2030]\n[questions.w]\nwhen = 'x >= 50'\n"
    )

    def today(path):
        rows = json.loads(said("run", path, *FEW, "--json").out)["result"]["today"]
        return {row["name"]: (row["value"], row["unit"], row["date"]) for row in rows}

    newest = today(scenario(text.format(keeps="")))
    assert newest == {"w": (6.0, "FLOP/USD", "2022-01-01"), "q": (18.0, "FLOP", "2022-01-01")}
    assert "Last observed: " in said("run", "mine.toml", *FEW).out
