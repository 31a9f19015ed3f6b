"""How the cells of a table share the columns of a terminal: whole words, in as many lines as they take."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Sequence

__all__ = ["column_widths", "split", "width_of"]


#: What belongs to the number before or behind it: a percentage's sign, and a parameter's.
_SIGNS = re.compile(r" %| = (?=[-\d.])")


def width_of(text: str) -> int:
    """Return how many columns a text takes.

    Examples
    --------
    >>> width_of("law"), width_of("日本")
    (3, 4)
    """
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def split(text: str, width: int, *, hanging: int = 0) -> list[str]:
    """Return a text as lines of a width; a word that is longer stays whole, a sign stays with its number.

    Parameters
    ----------
    text : str
    width : int
    hanging : int
        Blanks before every line but the first.

    Examples
    --------
    >>> split("a law of two variables", 10)
    ['a law of', 'two', 'variables']
    """
    kept = _SIGNS.sub(lambda sign: sign[0].replace(" ", "\u00a0"), text)
    made = textwrap.wrap(
        kept, width, subsequent_indent=" " * hanging, break_long_words=False, break_on_hyphens=False
    )  # fmt: skip
    return [line.replace("\u00a0", " ") for line in made] or [""]


def column_widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Return the width of each column, so that all fit into a room; None where a word would have to be broken.

    The widest column gives way first.

    Parameters
    ----------
    columns : sequence of sequence of str
        The cells of each, its head among them.
    room : int
        Columns of a terminal.

    Examples
    --------
    >>> column_widths([["name", "pool"], ["title", "a mean of several shapes"]], 24)
    [4, 18]
    >>> column_widths([["formula", "a*b*c*d"]], 5) is None
    True
    """
    widths = [max(map(width_of, cells)) for cells in columns]
    least = [max((width_of(word) for cell in cells for word in cell.split()), default=0) for cells in columns]
    over = sum(widths) + 2 * (len(widths) - 1) - room
    while over > 0:
        free = [i for i in range(len(widths)) if widths[i] > least[i]]
        if not free:
            return None
        widest = max(free, key=lambda i: widths[i])
        widths[widest] -= 1
        over -= 1
    return widths
