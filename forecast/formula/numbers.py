"""Numbers as people type them: ``1e12``, ``.5``, and ``70B``, ``1.4T``, ``10M``, ``30k``, ``20 million``, ``3,000``."""

from __future__ import annotations

import re

#: What may follow a number: letters without a blank (after one, B is the unit byte), and the words that answers use.
POWERS_OF_TEN = {"k": 3, "M": 6, "B": 9, "T": 12, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
POWER_PATTERN = r"(?:[kMBT](?!\w)| *(?:thousand|million|billion|trillion)\b)"
#: A number without a sign; ``float`` alone would also take ``1_000``, ``nan`` and full-width digits.
DIGITS_PATTERN = r"(?:\d+(?:\.\d+)?|\.\d+|\d+\.(?!\.))"
#: One with its thousands apart, as answers write it.
GROUPED_PATTERN = r"[1-9]\d{0,2}(?:,\d{3})+(?![\d,])(?:\.\d+)?"
NUMBER_PATTERN = rf"(?:{GROUPED_PATTERN}|{DIGITS_PATTERN})(?:[eE][+-]?\d+|{POWER_PATTERN})?"
_LAST_POWER = re.compile(rf"{POWER_PATTERN}$")
_WHOLE = re.compile(rf"[+-]?{NUMBER_PATTERN}", re.ASCII)


def parse_number(text: str) -> float:
    """Return the number that a text is, infinite where no float holds it.

    Parameters
    ----------
    text : str
        As `NUMBER_PATTERN` says, with a sign or without.

    Raises
    ------
    ValueError
        For any other text.

    Examples
    --------
    >>> parse_number("70B"), parse_number("-1.4T"), parse_number("20 million")
    (70000000000.0, -1400000000000.0, 20000000.0)
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(text)
    power = _LAST_POWER.search(text)
    digits = text[: power.start() if power else None].replace(",", "")
    return float(f"{digits}e{POWERS_OF_TEN[power[0].strip()]}" if power else digits)
