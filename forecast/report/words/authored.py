"""Fill the slots of a sentence that a scenario's author wrote; the script of a page does the same."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from forecast.report.words.patterns import load_patterns
from forecast.scenarios.authored_sentences import PART, SLOT

__all__ = ["written"]


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
