"""Numbers as people type them: ``1e12``, ``.5``, and ``70B``, ``1.4T``, ``10M``, ``30k``."""

from __future__ import annotations

import re

#: What may follow a number without a blank; after a blank, B is the unit byte.
POWERS_OF_TEN = {"k": 3, "M": 6, "B": 9, "T": 12}
#: A number without a sign; ``float`` alone would also take ``1_000``, ``nan`` and full-width digits.
DIGITS_PATTERN = r"(?:\d+(?:\.\d+)?|\.\d+|\d+\.(?!\.))"
NUMBER_PATTERN = rf"{DIGITS_PATTERN}(?:[eE][+-]?\d+|[kMBT](?!\w))?"
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
    >>> parse_number("70B"), parse_number("-1.4T"), parse_number("1e3")
    (70000000000.0, -1400000000000.0, 1000.0)
    """
    if not _WHOLE.fullmatch(text):
        raise ValueError(text)
    power = POWERS_OF_TEN.get(text[-1])
    return float(text) if power is None else float(f"{text[:-1]}e{power}")
