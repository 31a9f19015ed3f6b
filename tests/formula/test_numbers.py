"""Numbers with a letter or a word for a power of ten, and as answers write them: 70B, 1.4T, 20 million, 14,000 h."""

import datetime

import pytest
from hypothesis import given, strategies as st

import forecast
from forecast import formula, units
from forecast.base.dates import parse_year
from forecast.errors import FormulaError, UsageError
from forecast.formula.numbers import POWERS_OF_TEN, parse_number
from forecast.report.words.date_text import day_text
from forecast.report.words.number_text import amount
from forecast.scenarios.settings.setting_values import parse_measured
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


UNITS = (
    "USD", "USD/h", "USD/Mtoken", "USD/year", "W", "FLOP", "FLOP/s", "FLOP/s/USD", "param", "token", "h", "day", "kg",
    "GiB", "nm", "percent", "1/year",
)  # fmt: skip


@given(st.floats(-9, 30), st.sampled_from(UNITS))
def test_what_an_answer_prints_is_read_as_it_was_meant(power, unit):
    value = 10**power
    shown = amount(value, unit)
    number, own = parse_measured(shown)
    assert units.convert(number, own, unit, where="") == pytest.approx(value, rel=0.06)  # two digits
    quantities, questions = {"x": {"value": value, "unit": unit}}, {"more": {"when": f"0.9 * x <= {shown}"}}
    record = {"quantities": quantities, "start": 2026, "until": 2027}
    assert forecast.scenario(questions=questions, **record).ask(draws=2).already == 1.0
    less = {"more": {"when": f"1.1 * x <= {shown}"}}
    assert forecast.scenario(questions=less, **record).ask(draws=2).already == 0.0


@given(st.dates(datetime.date(1900, 1, 1), datetime.date(2200, 1, 1)))
def test_a_date_that_an_answer_prints_is_that_date(day):
    assert parse_year(day_text(day.isoformat()), "at") == parse_year(day.isoformat(), "at")
    assert parse_year(f"{day:%b %Y}", "at") == parse_year(f"{day:%Y-%m}", "at")


@pytest.mark.parametrize("text", ["Junk 2030", "31 February 2030", "by 2031", "Ma 2030", "12 2030"])
def test_what_is_no_date_in_words_is_refused(text):
    with pytest.raises(UsageError, match="expected a date such as"):
        parse_year(text, "at")


@pytest.mark.parametrize(
    ("text", "read"),
    [("x >= 1,200", "x >= 1200"), ("x >= 20 billion USD", "x >= 20000000000 USD"), ("x >= 95%", "x >= 95 %")],
)
def test_thousands_words_and_percent_are_read_in_a_formula(text, read):
    assert formula.parse_condition(text).text == read


@pytest.mark.parametrize("text", ["x >= 1,20", "x >= 1,2000", "x >= 0,200", "x >= 12,34,567"])
def test_a_comma_that_parts_no_thousands_is_refused(text):
    with pytest.raises(FormulaError):
        formula.parse_condition(text)


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
