"""The patterns of sentences: data, which Python and the script of a page read alike, so that no wording stands twice.

A text is a list of rules. The first rule whose flags all hold is filled; ``!flag`` holds where the flag does not.
What is filled in is text already: numbers are written by `forecast.report.words.number_text`, whose digits and
thresholds are among the patterns too.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from forecast.scenarios.authored_sentences import PART, SLOT


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
            return re.sub(r"\{(\w+)\}", lambda brace: str(texts[brace[1]]), rule["text"])
    raise KeyError(f"no rule of the text '{name}' holds for {', '.join(flags)}")


# --- Sentences of a scenario's author ---------------------------------------------------------------------------------
# Fill the slots of a sentence that a scenario's author wrote; the script of a page does the same.


def written(sentence: str, texts: Mapping[str, str], idle: Collection[str] = ()) -> str:
    """Return a sentence with its slots filled.

    Parameters
    ----------
    sentence : str
    texts : mapping of str to str
        What stands in each slot; a slot that is not among them stays as it is.
    idle : collection of str
        The slots that have nothing to say: a part in brackets that holds one is left out.

    Examples
    --------
    >>> written("There is a {already} chance[, and a {never} chance of none]", {"already": "8 %", "never": "3 %"})
    'There is an 8 % chance, and a 3 % chance of none'
    >>> written("by {median}[; {never} not by 2050]", {"median": "2030", "never": "under 1 %"}, ["never"])
    'by 2030'
    """

    def part(found: re.Match[str]) -> str:
        return "" if any(name in idle for name in SLOT.findall(found[1])) else found[1]

    kept = PART.sub(part, sentence)
    filled = SLOT.sub(lambda brace: texts.get(brace[1], brace[0]), kept)
    # an 8 %, an 11 %, an under 1 %
    return re.sub(load_patterns()["spoken_with_a_vowel"], r"\1n ", filled)
