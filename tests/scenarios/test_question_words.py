"""Questions in words: read as a line by the words of quantities and by units, or not read."""

import datetime

import pytest

import forecast
from forecast.errors import UsageError
from forecast.scenarios.question_text import read_question
from forecast.scenarios.question_words import readings
from tests.toolkit import command


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("when will a training run reach 1e29 FLOP", 'ask "largest-run >= 1e29 FLOP"'),
        ("how big will the biggest training run be in 2030", "ask largest-run --at 2030"),
        ("what is the chance of a 1e28 FLOP run by 2028", 'ask "largest-run >= 1e28 FLOP" --at 2028-12-31'),
        ("when does a training run cost 10 billion dollars", 'ask "run-cost >= 10e9 USD"'),
        ("how long do frontier training runs take", "ask run-duration"),
        ("when will the top supercomputer do 10 exaflops on LINPACK", 'ask "supercomputer-hpl >= 10 EFLOP/s"'),
        ("when will a GPU reach 1 PFLOP/s in FP32", 'ask "device-rate-fp32 >= 1 PFLOP/s"'),
        ("how much compute does 20M USD buy", 'ask "20M USD * rented-flop-per-dollar"'),
        ("when does capex of the big four pass 1 trillion a year", 'ask "capex >= 1e12 USD/year"'),
        ("when does a model reach 200 on the Epoch index", 'ask "capability-index >= 200"'),
        ("when can AI do a month of work", 'ask "horizon-50 >= 167 h"'),
        ("time horizon at the end of 2027", "ask horizon-50 --at 2027-12-31"),
        ("what will tokens cost in 2028", "ask token-price --at 2028"),
        ("when will gpus hit 10 petaflops fp8", 'ask "device-rate-fp8 >= 10 PFLOP/s"'),
        ("what share of adults use generative AI in 2028", "ask generative-ai-users --at 2028"),
        ("when can models do tasks that take humans a year", 'ask "horizon-50 >= 2000 h"'),
        ("when will AI work for a week on its own", 'ask "horizon-50 >= 40 h"'),
        ("price of an RTX 4090 in 2027", "ask device-price --at 2027"),
        ("what will an H100 PCIe card cost in 2027", "ask device-price --set device=h100-pcie --at 2027"),
        ("FP4 performance in 2030", "ask device-rate-fp4 --at 2030"),
        ("how much does a million tokens cost in 2027", "ask token-price --at 2027"),
        ("what will the largest model's training compute be at the end of 2029", "ask largest-run --at 2029-12-31"),
        ("when does the best model reach 170 points", 'ask "capability-index >= 170"'),
        ("how much memory will a GPU have in 2030", "quantities show device-memory"),
        ("what can I train for 5 million dollars", 'plan --budget "5e6 USD"'),
        ("When will accelerators have 20 TB/s of memory bandwidth?", 'ask "device-bandwidth >= 20 TB/s"'),
        ("when will H100s rent for less than $1 per hour", 'ask "device-rent <= 1 USD/hour"'),
        ("When will METR's 50% time horizon exceed 100 hours?", 'ask "horizon-50 >= 100 hour"'),
        ("how long a task will AIs be able to do with 80% reliability in 2028", "ask horizon-80 --at 2028"),
        ("When will Big Tech capex pass one trillion dollars a year?", 'ask "capex >= 1e12 USD/year"'),
        ("How many paramaters will the largest model have in 2030?", "ask run-model-size --at 2030"),
        ("energy efficiency of the best accelerators at 16 bit in 2028", "ask device-rate-per-watt-fp16 --at 2028"),
        ("price of an RTX 4090 in March 2027", "ask device-price --at 2027-03"),
        ("price of an RTX 4090 in 2027-03", "ask device-price --at 2027-03"),
        ("how big will training runs be by mid-2028", "ask largest-run --at 2028-06-30"),
        ("when will 50% of adults use AI", 'ask "generative-ai-users >= 0.5"'),
        ("When will someone spend a billion dollars on a training run?", 'ask "run-cost >= 1e9 USD"'),
        ("When do two thirds of adults use generative AI?", 'ask "generative-ai-users >= 0.67"'),
        (
            "What are the odds of a run of more than 1e28 FLOP by 2029?",
            'ask "largest-run >= 1e28 FLOP" --at 2029-12-31',
        ),
        ("How long do frontier runs last?", "ask run-duration"),
        ("How small can transistors get?", "ask smallest-process"),
        ("How many FLOP do I get for a dollar on rented GPUs?", "ask rented-flop-per-dollar"),
        ("How much will renting a GPU cost in 2028?", "ask device-rent --at 2028"),
        ("When will accelerators be made on a 2 nm process?", 'ask "process-size <= 2 nm"'),
        ("Odds of a 3 x 10^28 FLOP run by the end of 2029", 'ask "largest-run >= 3e28 FLOP" --at 2029-12-31'),
        ("Odds of a one hundred billion dollar training run before 2035", 'ask "run-cost >= 100e9 USD" --at 2035'),
        ("a new fab for more than 40bn US dollars, when?", 'ask "fab-cost >= 40e9 USD"'),
        ("H100 equivalents in the world on January 2nd, 2028", "ask chip-stock --at 2028-01-02"),
        ("task length at 80 percent reliability in 2029", "ask horizon-80 --at 2029"),
        ("When does GPT-4 level text cost under 1 cent per million tokens?", 'ask "token-price <= 0.01 USD/Mtoken"'),
        ("when will tokens cost 2 cents per million", 'ask "token-price <= 0.02 USD/Mtoken"'),
        ("when will a million tokens cost $0.01", 'ask "token-price <= 0.01 USD/Mtoken"'),
        ("when will serving a million tokens cost 1 cent", 'ask "serving-cost <= 0.01 USD/Mtoken"'),
        ("when will H100 rent reach $1 per hour", 'ask "device-rent <= 1 USD/hour"'),
        ("when will H100 rent exceed 5 dollars an hour", 'ask "device-rent >= 5 USD/hour"'),
        ("when will electricity cost 20 cents per kWh", 'ask "energy-price >= 0.2 USD/kWh"'),
        ("When will an accelerator do 20 PFLOPS of FP8?", 'ask "device-rate-fp8 >= 20 PFLOP/s"'),
        ("How much computing power does a brain have?", "ask brain-compute"),
        ("What share of R&D will AI automate by itself in 2032?", "ask research-automated --at 2032"),
        ("Training compute that a dollar buys, owned in 2030", "ask training-flop-per-dollar --at 2030"),
        ("When will a supercomputer do a zettaflop on LINPACK?", 'ask "supercomputer-hpl >= 1 ZFLOP/s"'),
    ],
)
def test_the_first_line_is_what_is_meant(question, line):
    assert readings(question)[0].line == f"forecast {line}"


@pytest.mark.parametrize(
    "question",
    [
        "how tall is the Eiffel tower",
        "who won the world cup",
        "what is the price of bread",
        "will it rain tomorrow",
        "a b",
        "how fast will the best gpu be in 2030",  # in which format?
        "what does an H100 cost",  # to buy or to rent?
        "how much will Bitcoin cost in 2030",
        "when will AGI come",
        "how much energy does ChatGPT use",
        "time horizon at 99% in 2028",  # of which nobody has a record
        "4-bit peak per watt in 2028",
        "how much does brain surgery cost in 2028",
        "how long will the largest marathon run take in 2030",
        "what share of electricity will come from wind by 2035",
        "training compute of the largest training run in 2024",  # which has been
    ],
)
def test_a_question_about_something_else_is_not_answered(question):
    assert not any(each.clear for each in readings(question))


def test_every_line_that_is_proposed_can_be_read():
    for question in (
        "which GPU should I buy",
        "how much does a GPU cost per hour",
        "what limits training runs",
        "brains",
    ):
        for each in readings(question):
            if each.command == "run":
                assert each.text in forecast.scenario(each.text).name
            else:
                read_question(each.text, at=[each.at] if each.at else ())


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("which GPU should I buy", "run gpu-guide"),
        ("best GPU for 2,000 dollars", 'run gpu-guide --set budget="2000 USD"'),
        ("what does 1e24 FLOP cost", 'run gpu-cluster --set work="1e24 FLOP"'),
        ("when does a supercomputer match the brain", "run brain-parity"),
        ("when do transistors stop shrinking", "run gpu-limit"),
        ("when does 1,000 dollars of GPU give a petaflop", 'ask "device-rate-per-dollar-fp32 * 1000 USD >= 1 PFLOP/s"'),
    ],
)
def test_a_question_that_a_scenario_answers_is_proposed_as_its_run(question, line):
    first = readings(question)[0]
    assert first.line == f"forecast {line}"
    assert not (first.command == "run" and first.clear)


@pytest.mark.slow
def test_what_is_read_is_answered_as_the_line_that_it_is_read_as(capsys):
    found = command("ask")(capsys, "what will tokens cost in 2028", "--draws", "64", "--json").json
    alone = command("ask")(capsys, "token-price", "--at", "2028", "--draws", "64", "--json").json
    assert found["read"] == ["Read as: forecast ask token-price --at 2028"]
    assert found["result"]["answer"] == alone["result"]["answer"]


def test_what_is_not_clear_proposes_lines(capsys):
    told = command("ask")(capsys, "what is the price of bread")
    assert told.code == UsageError.exit_code
    assert "is a question in words. Nearest to it are:" in told.out
    assert "forecast ask" in told.out


def test_of_which_one_a_quantity_is_asked_is_set(capsys):
    asked = command("ask")
    told = asked(capsys, "device-rent", "--set", "device=b200", "--draws", "64", "--json").json
    assert [*told["result"]["answer"]["choices"].values()] == ["b200"]
    answer = forecast.ask("device-rent", with_={"device": "b200"}, draws=64)
    assert told["result"]["headline"].startswith(answer.sentence.partition(" USD")[0])
    said = asked(capsys, "device-rent", "--set", "device=b20")
    assert said.code == UsageError.exit_code
    assert "unknown value of choice 'device' 'b20'; did you mean 'b200'?" in said.err


def test_what_shares_one_word_is_not_proposed(capsys):
    assert "nothing is about them" in command("ask")(capsys, "how big will the economy be in 2030").out


def test_a_date_that_is_told_from_today_is_read():
    today = datetime.date.today()
    assert readings("largest training run in 5 years")[0].line.endswith(f"--at {today.year + 5}-{today.month:02}")
    assert readings("price of an RTX 4090 next year")[0].line == f"forecast ask device-price --at {today.year + 1}"
