"""The patterns of sentences: data, which Python and the script of a page read alike, so that no wording stands twice.

A text is a list of rules. The first rule whose flags all hold is filled; ``!flag`` holds where the flag does not.
What is filled in is text already: numbers are written by `forecast.report.words.number_text`, whose digits and
thresholds are among the patterns too.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["fill", "load_patterns"]


@functools.cache
def load_patterns() -> dict[str, Any]:
    """Return the patterns: ``texts`` by name, and how numbers and dates are rounded."""
    read: dict[str, Any] = json.loads(Path(__file__).with_name("patterns.json").read_text(encoding="utf-8"))
    return read


def fill(name: str, /, *flags: str, **texts: object) -> str:
    """Return a text under what holds.

    Parameters
    ----------
    name : str
        Of the text.
    *flags : str
        What holds; an empty one is left out.
    **texts
        What stands between the braces.

    Examples
    --------
    >>> fill("range", low="3 %", high="5 %"), fill("range", "same_text", low="3 %", high="3 %")
    ('3 % to 5 %', '3 %')
    """
    for rule in load_patterns()["texts"][name]:
        if all((flag[1:] not in flags) if flag[0] == "!" else (flag in flags) for flag in rule.get("if", ())):
            return _fill_slots(rule["text"], texts)
    raise KeyError(f"no rule of the text '{name}' holds for {', '.join(flags)}")


def _fill_slots(text: str, texts: Mapping[str, object]) -> str:
    return re.sub(r"\{(\w+)\}", lambda brace: str(texts[brace[1]]), text)
