"""Numbers with a letter for a power of ten: 70B, 1.4T, 10M, 30k."""

import pytest
from hypothesis import given, strategies as st

import forecast
from forecast import formula
from forecast.errors import FormulaError, UsageError
from forecast.formula.numbers import POWERS_OF_TEN, parse_number
from toolkit import command


@given(
    st.decimals(min_value=0, max_value=9999, places=3),
    st.sampled_from(sorted(POWERS_OF_TEN)),
    st.sampled_from(["", "-"]),
)
def test_a_letter_is_its_power_of_ten_to_the_last_bit(digits, letter, sign):
    assert parse_number(f"{sign}{digits}{letter}") == float(f"{sign}{digits}e{POWERS_OF_TEN[letter]}")
    value = formula.parse(f"{digits}{letter}*x").evaluate({"x": 1.0})
    assert value == float(f"{digits}e{POWERS_OF_TEN[letter]}")


@pytest.mark.parametrize("text", ["70b", "70K", "1e3B", "70BB", "70B1", "7_0B", "B", "", "nan", "1 B", "1G"])
def test_other_letters_are_no_numbers(text):
    with pytest.raises(ValueError, match=r".*"):
        parse_number(text)


def test_a_short_number_may_have_a_unit_and_stands_where_it_was_written():
    condition = formula.parse_condition("cost >= 1.5M USD")
    assert condition.text == "cost >= 1500000 USD"
    quantities, questions = {"cost": {"value": 2e6, "unit": "USD"}}, {"dear": {"when": "cost >= 1.5M USD"}}
    scenario = forecast.scenario(quantities=quantities, questions=questions, start=2026, until=2030)
    assert scenario.ask().already == 1.0
    with pytest.raises(FormulaError, match=r"position 9"):
        formula.parse("70B*x + $")


def test_a_byte_is_a_unit_after_a_blank():
    def memory(text):
        quantities = {"memory": {"value": 80.0, "unit": "B"}}
        questions = {"enough": {"when": f"memory >= {text}"}}
        return forecast.scenario(quantities=quantities, questions=questions, start=2026, until=2030).ask().already

    assert memory("70 B") == 1.0
    assert memory("70B") == 0.0


def test_settings_and_changes_take_short_numbers():
    run = {"quantities": {"run": {"lognormal": [1e9, 1e11], "unit": "FLOP"}}, "until": 2030, "start": 2026}
    scenario = forecast.scenario(questions={"big": {"when": "run >= 60B FLOP"}}, **run)
    assert scenario.with_(run="70B").ask(draws=64).already == 1.0
    assert scenario.with_(run="70B FLOP").ask(draws=64).already == 1.0
    assert scenario.with_(run="10B..50B").ask(draws=64).already == 0.0
    with pytest.raises(UsageError, match=r"set run: expected a finite number, got '70b'"):
        scenario.with_(run="70b")


def test_a_unit_that_the_screen_shows_as_a_dash_is_read():
    quantities = {"ratio": {"value": 2.0, "unit": "-"}}
    questions = {"more": {"when": "ratio >= 1"}}
    assert forecast.scenario(quantities=quantities, questions=questions, start=2026, until=2030).ask().already == 1.0


def test_the_command_line_takes_short_numbers(capsys):
    law = "scaling/chinchilla@besiroglu2024"
    allocate, predict = command("allocate"), command("predict")
    short = allocate(capsys, law, "--compute", "1e24", "--inference-tokens", "2T")
    assert short[0] == 0
    assert short == allocate(capsys, law, "--compute", "1e24", "--inference-tokens", "2e12")
    assert predict(capsys, law, "N=70B", "D=1.4T") == predict(capsys, law, "N=70e9", "D=1.4e12")
    code, _, err = allocate(capsys, law, "--compute", "1X")
    assert code == 2
    assert "'1X' is not a valid float" in err
