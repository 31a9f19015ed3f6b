"""Automatic names: an operation has its word and the names of its operands."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from forecast.formula import Measured, tree

#: The longest name that the grammar of formulas takes, and the longest that is still read.
MAX_NAME_LENGTH, MAX_READABLE_LENGTH = 64, 40

_OPERATOR_WORDS = {
    "+": "plus", "-": "minus", "*": "times", "/": "over", "**": "to",
    ">=": "at_least", ">": "above", "<=": "at_most", "<": "below", "==": "is",
}  # fmt: skip
#: The name of an operation whose own would be too long.
_OPERATION_NOUNS = {"+": "sum", "-": "difference", "*": "product", "/": "ratio", "**": "power"}


def infix(op: str, words: Iterable[str], depth: int, labels: Iterable[str]) -> str:
    """Return the name of an operation.

    As many underscores stand around its word as operations are nested within, so that ``a - (b - c)`` and
    ``(a - b) - c`` have names of their own.

    Examples
    --------
    >>> infix("-", ["a", "b_minus_c"], 2, ["a", "b", "c"])
    'a__minus__b_minus_c'
    """
    bar = "_" * depth
    name = f"{bar}{_OPERATOR_WORDS[op]}{bar}".join(words)
    return _shortened_name(name if name[:1].isalpha() else f"n{name}", _OPERATION_NOUNS.get(op, "comparison"), labels)


def operation_name(function: str, words: Iterable[str], depth: int, labels: Iterable[str]) -> str:
    """Return the name of a function of others.

    Examples
    --------
    >>> operation_name("min", ["a", "b"], 1, ["a", "b"])
    'min_of_a_and_b'
    """
    bar = "_" * depth
    rest = f"{bar}and{bar}".join(words)
    return _shortened_name(f"{function}{bar}of{bar}{rest}" if rest else function, function, labels)


def _shortened_name(name: str, kind: str, labels: Iterable[str]) -> str:
    """Return a name that can be read: a long one lists its operands, and ends with a digest.

    Examples
    --------
    >>> _shortened_name("x" * 65, "sum", ["spend", "price"])[:19]
    'sum_of_spend_price_'
    """
    name = name.replace(".", "_")  # in front of a quantity of a scenario
    if len(name) <= MAX_READABLE_LENGTH:
        return name
    digest = hashlib.blake2b(name.encode(), digest_size=4).hexdigest()
    readable = f"{kind}_of_{'_'.join(dict.fromkeys(labels))}"
    return f"{readable[: MAX_NAME_LENGTH - 9].rstrip('_')}_{digest}"


def number_as_word(number: float) -> str:
    """Return a number as a part of a name.

    Examples
    --------
    >>> number_as_word(-0.5), number_as_word(1e-9)
    ('minus0p5', '1em09')
    """
    text = tree.format_number(abs(number)).replace(".", "p").replace("e-", "em")
    return f"minus{text}" if number < 0 else text


def value_name(number: float, unit: str) -> str:
    """Return the name of a number with a unit that nobody named."""
    return plain_word(f"value_{number_as_word(number)}_{unit}")


def short_number(number: Any) -> str:
    """Return a number, with its unit if it has one, as a person types it: ``4e10``, ``1e6 USD``."""
    if isinstance(number, Measured):
        return f"{short_number(number.value)} {number.unit}"
    text = f"{number:g}".replace("e+0", "e").replace("e+", "e")
    return text if float(text) == number else tree.format_number(number)


def plain_word(text: str) -> str:
    """Return any text as a part of a name."""
    return _shortened_name(re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_"), "value", [text[:20]])


def short(text: str) -> str:
    """Return a word for a registered name or a formula.

    Examples
    --------
    >>> short("scaling/chinchilla@besiroglu2024")
    'chinchilla'
    """
    plain = re.sub(r"\W+", "_", text.rpartition("/")[2].partition("@")[0], flags=re.ASCII).strip("_")
    return plain if plain[:1].isalpha() else f"n{plain}"
