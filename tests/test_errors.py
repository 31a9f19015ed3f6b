from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from forecast import errors
from forecast.errors import ForecastError, TableError, UnknownNameError, nearest, printable


def tree_of(cls: type, depth: int = 0) -> list[tuple[int, str]]:
    below = sorted(cls.__subclasses__(), key=lambda c: list(vars(errors)).index(c.__name__))
    own = [c for c in below if c.__module__ == errors.__name__]
    return [(depth, cls.__name__)] + [line for c in own for line in tree_of(c, depth + 1)]


def test_the_tree_at_the_top_of_the_file_is_the_hierarchy():
    drawn = []
    for line in errors.__doc__.splitlines():
        if found := re.match(r"^( {4}[ │├└─]*)([A-Z]\w+Error)\b", line):
            drawn.append(((len(found[1]) - 4) // 4, found[2]))
    assert drawn == tree_of(ForecastError)


def test_all_is_sorted_and_names_every_error():
    classes = {n for n, v in vars(errors).items() if isinstance(v, type) and issubclass(v, ForecastError)}
    assert errors.__all__ == sorted(errors.__all__)
    assert classes <= set(errors.__all__)


def test_exit_codes_are_2_for_usage_and_1_for_the_rest():
    for _, name in tree_of(ForecastError):
        cls = getattr(errors, name)
        assert cls.exit_code == (2 if issubclass(cls, errors.UsageError) else 1)


@given(st.text(alphabet=st.characters(), max_size=300))
def test_printable_text_is_one_line_that_any_terminal_takes(text):
    shown = printable(text)
    assert shown.isprintable()
    shown.encode("utf-8")


def test_printable_cuts_long_text():
    assert len(printable("x" * 10_000, 50)) == 50


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("chinchila", "scaling/chinchilla"), ("scaling/chinchila", "scaling/chinchilla"), ("zzz", None)],
)
def test_nearest(typed, meant):
    assert nearest(typed, ["scaling/chinchilla", "scaling/power"]) == meant


def test_an_unknown_name_says_what_there_is_when_nothing_is_near():
    assert str(UnknownNameError("law", "zzz", ["b", "a"])) == "unknown law 'zzz'; known: a, b"
    assert str(UnknownNameError("law", "zzz")) == "unknown law 'zzz'; there are none"
    assert "q15 and 12 more" in str(UnknownNameError("law", "zzz", [f"q{i}" for i in range(20)]))


def test_an_unknown_name_stays_one_short_line():
    message = str(UnknownNameError("law", "x\n" * 5000, ["power"]))
    assert "\n" not in message
    assert len(message) < 200


def test_a_table_error_keeps_every_failure_and_prints_five():
    error = TableError([f"t.csv:{i}:a: no number" for i in range(9)])
    assert len(error.failures) == 9
    assert str(error).endswith("and 4 more")


def test_printable_survives_what_cannot_be_written():
    class Hostile:
        def __str__(self):
            raise RuntimeError

    assert printable(10**5000) == "<int>"
    assert printable(Hostile()) == "<Hostile>"


@pytest.mark.parametrize("typed", ["rtx-4090", "RTX4090", "rtx 4090", "GeForce_RTX-4090", "geforce-rtx-4091"])
def test_the_nearest_name_does_not_depend_on_case_blanks_and_hyphens(typed):
    assert nearest(typed, ["rtx-a4500", "geforce-rtx-4090", "rtx-a4000", "brain/brain-parity"]) == "geforce-rtx-4090"
