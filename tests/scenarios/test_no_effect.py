"""What is set or changed and moves nothing that an answer shows is refused, with what could be changed instead."""

import pytest

import forecast
from forecast.errors import UsageError

SCENARIO = {
    "start": 2025,
    "until": 2030,
    "choices": {"by": ["sum", "product"]},
    "quantities": {
        "a": {"lognormal": [1, 4], "unit": "FLOP"},
        "b": {"lognormal": [1, 4], "unit": ""},
        "run": {"expression": "a*exp(0.1*(t - start))", "limit": "cap"},
        "cap": {"expression": "5*a"},
        "price": {"lognormal": [1, 4], "unit": "FLOP/USD"},
        "cost": {"expression": "run/price"},
        "double": {"expression": "2*cost"},
        "lonely": {"expression": "b*(t - start)"},
        "bounded": {"expression": "b*(t - start)", "limit": "roof"},
        "roof": {"value": 3, "unit": ""},
    },
    "questions": {"q": {"when": "run >= 3 FLOP"}, "spent": {"value": "double", "dates": ["2030-01-01"]}},
    "show": ["run", "lonely"],
}


def project(*, without=(), more=(), **asked):
    questions = {name: each for name, each in SCENARIO["questions"].items() if name not in without}
    record = {**SCENARIO, "questions": questions, **dict(more)}
    return forecast.project({k: v for k, v in record.items() if v is not None}, draws=20, **asked)


def what_if(name):
    return {"what_if": [{"of": name, "growth": "0*", "since": 2027}]}


def test_what_moves_nothing_that_is_shown_is_refused_with_what_could_be_changed_nearest_first():
    no = "no answer depends on it; what is asked depends on "
    for asked, says in (
        ({"with_": {"lonely": 3}}, f"set lonely: {no}"),  # its own row alone, which says what was typed
        (what_if("lonely"), f"changes[1].of: 'lonely': {no}"),
        ({"with_": {"roof": 2}}, f"set roof: {no}"),  # a limit that reaches nothing
        ({"with_": {"bounded": 2}}, f"set bounded: {no}"),
        ({"with_": {"double": 2}}, f"set double: {no}cost, run, price, a"),  # the answer would be what was typed
        ({"without": ["spent"], "with_": {"cost": 2}}, f"set cost: {no}run, a"),
        ({"without": ["spent"], **what_if("cost")}, f"changes[1].of: 'cost': {no}run, a"),
        ({"without": ["spent"], "with_": {"price": 2}}, f"set price: {no}run, a"),
        # what is set depends on nothing any more
        ({"without": ["spent"], "with_": {"run": 2, "a": 2}}, f"set a: {no}"),
    ):
        with pytest.raises(UsageError) as caught:
            project(**asked)
        assert says in str(caught.value), (asked, str(caught.value))
        assert caught.value.exit_code == 2


def test_what_moves_a_question_or_another_quantity_that_is_shown_or_a_limit_of_one_is_taken():
    for asked in (
        {"with_": {"a": 2}},
        {"with_": {"cap": 2}},  # a limit of what is asked
        {"with_": {"b": 2}},  # what is shown, without a question
        {"with_": {"cost": 2}},
        what_if("double"),  # a value at a date, which is changed and not typed
        {"with_": {"run": 2}},
        {"more": {"questions": {}}, "with_": {"lonely": 2}},  # where nothing is asked, all quantities are the answer
        {"more": {"show": None}, "with_": {"cost": 2}, "without": ["spent"]},  # a run shows them all
    ):
        project(**asked)


def test_the_answer_opens_with_a_question_that_depends_on_what_was_changed():
    for asked, opens in (({}, "q"), ({"with_": {"a": 2}}, "q"), ({"with_": {"cost": 2}}, "spent"),
                         (what_if("double"), "spent"), ({"with_": {"b": 2}}, "q")):  # fmt: skip
        run = project(**asked)
        assert run.opening.name == opens, asked
        assert ("opens" in run.attributes) == (opens != "q"), asked
    race = {**SCENARIO["questions"], "first": {"first": ["q", "late"]}, "late": {"when": "cost >= 3 USD"}}
    run = project(more={"questions": race}, with_={"price": 2})
    assert (run.opening.name, run.opening.kind) == ("late", "when")


def test_python_refuses_it_as_the_command_line_does():
    scenario = forecast.scenario({**SCENARIO, "questions": {"q": SCENARIO["questions"]["q"]}})
    with pytest.raises(UsageError, match="cost"):
        scenario.with_(changes=[{"of": "cost", "growth": "0*", "since": 2027}]).ask(draws=20)
    answer = scenario.ask(draws=20)
    with pytest.raises(UsageError, match="run"):
        answer.what_if("cost", growth="0*", since=2027)
    with pytest.raises(UsageError, match="run"):
        scenario.ask(draws=20, with_={"cost": 3})


def test_spending_moves_nothing_of_the_shipped_answers_but_its_own_question():
    with pytest.raises(UsageError, match="what is asked depends on run, flop_per_usd"):
        forecast.project("scaling-ends", draws=20, what_if=[{"of": "spending", "growth": "0*", "since": 2028}])
    for name, depends in (("scaling-ends", "run, flop_per_usd"), ("model-capability", "run, run_price")):
        with pytest.raises(UsageError, match=f"what is asked depends on {depends}"):
            forecast.project(name, draws=20, with_={"spending": 1e9})
