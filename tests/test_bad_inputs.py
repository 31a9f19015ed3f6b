"""Every numbered bad input of the fitting core has a test that holds it to its required answer."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
#: Numbers of the bad inputs of data, fits, formulas, JSON, caches, pickles, archives of arrays, exports, environments,
#: runs, and programs side by side.
NUMBERS = (
    1,
    2,
    3,
    6,
    7,
    8,
    *range(11, 14),
    *range(16, 23),
    *range(25, 53),
    61,
    73,
    *range(75, 79),
    83,
    84,
    *range(86, 92),
)


@pytest.fixture(scope="module")
def marked():
    texts = [path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py")]
    return {int(number) for text in texts for number in re.findall(r"^@pytest\.mark\.bad_input\((\d+)\)", text, re.M)}


@pytest.mark.parametrize("number", NUMBERS)
def test_a_bad_input_has_a_test(number, marked):
    assert number in marked
