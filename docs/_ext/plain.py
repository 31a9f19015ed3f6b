"""What the pages' directives need and Sphinx does not: plain functions on text."""

from __future__ import annotations

import re
import textwrap

#: An attribute of an element that a browser fetches without being asked; a plain link is not.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'\s>]+
      | <link\b(?![^>]*rel=["']?(?:canonical|next|prev|search|index))[^>]*\bhref=["']?(?:https?:)?//[^"'\s>]+
      | @import\s+(?:url\()?["']?(?:https?:)?//[^"')\s]+
      | \burl\(["']?(?:https?:)?//[^"')\s]+""",
    re.IGNORECASE | re.VERBOSE,
)


#: Characters in a line of what a command prints.
WIDTH = 96


def fetched(text: str) -> list[str]:
    """List what a page or style sheet would fetch from the net."""
    return [match.group(0) for match in FETCHED.finditer(text)]


def wrapped(line: str) -> str:
    """Break a long line of prose as a terminal would; a row of a table stays whole."""
    table = line.startswith(" ") or "  " in line
    return line if table else textwrap.fill(line, WIDTH, break_on_hyphens=False, break_long_words=False)


def picked(lines: list[str], wanted: str) -> list[str]:
    """Keep some ranges of lines; what is left out between them is shown as ``...``."""
    kept: list[str] = []
    last = 0
    for part in wanted.split(","):
        first, _, end = part.strip().partition("-")
        low, high = int(first), int(end or first)
        kept += ["..."] if low > last + 1 else []
        kept += lines[low - 1 : high]
        last = high
    return kept + (["..."] if last < len(lines) else [])
