"""Sentences that the author of a scenario wrote for its answers, with slots for what is computed.

::

    [says]
    source = "Kwa (2026)"              # a text of one's own, which the sentences may name
    [says.parity]                      # a question; a sentence for each case of its answer
    already = "There is a {already} chance that the fastest machine matches a brain by {start} ({metric})"
    date = "The fastest machine matches a brain by {median} ({metric}; 90 %: {interval})[; {never} not by {until}]"
    never = "A machine matches a brain by {until} ({metric}) with a chance of {by}[; the best so far: {now}]"

Which case an answer is, its probabilities decide (`CASES`). A slot is what the answer says (`SLOTS`), a definition
(the label of its value), a quantity that is one number, or a text of one's own. In a ranking it may be another ranking,
which is what is first in it, or a quantity of that: ``{cheapest}``, ``{cards of cheapest}``. A part in brackets is left
out where a slot in it has nothing to say: what nobody observed, a probability of never under 1 %, a second that there
is not. A case without a sentence of its own is worded as every scenario's is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from forecast.errors import UnknownNameError

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader

#: The cases of each kind of question.
CASES: dict[str, tuple[str, ...]] = {
    "when": ("already", "date", "never", "point", "point_never"),
    "value": ("value", "point"),
    "rank": ("winner", "tie", "none", "point"),
}
#: What a sentence may say of an answer of each kind.
SLOTS: dict[str, tuple[str, ...]] = {
    "when": ("median", "low", "high", "interval", "already", "never", "by", "start", "until", "now", "now_date"),
    "value": ("value", "low", "high", "interval", "on", "ratio", "now", "now_date"),
    "rank": ("first", "second", "p_first", "p_second", "p_others", "n", "tier", "value", "interval", "conditions"),
}  # fmt: skip
SLOT = re.compile(r"\{([^{}]*)\}")
PART = re.compile(r"\[([^\[\]]*)\]")
#: The end of a slot that is a quantity of what is ranked first or second: ``{cards of first}``.
CONTENDER_SLOT = re.compile(r" of (first|second)$")


def kind_of(question: object) -> str:
    """Return the kind of a question of a scenario; empty of one that no sentence is written for."""
    from forecast.scenarios.questions import ValueQuestion
    from forecast.scenarios.spec import DateQuestion, RankQuestion

    kinds = {"when": DateQuestion, "value": ValueQuestion, "rank": RankQuestion}
    return next((kind for kind, of in kinds.items() if isinstance(question, of)), "")


def read_sentences(
    reader: ScenarioReader, record: Mapping[str, Any], questions: Mapping[str, object], names: Collection[str]
) -> dict[str, dict[str, str]]:
    """Return the sentences by question and case, with the texts of one's own filled in.

    Sentences for a question that is there no more, since a change took it away, are left out.

    Parameters
    ----------
    reader : ScenarioReader
    record : mapping
        The scenario.
    questions : mapping
    names : collection of str
        The quantities and the choices, which slots may name.

    Raises
    ------
    ScenarioError, UnknownNameError
        Naming file and key.
    """
    stated = reader.mapping(record, "says", "")
    own = {name: text for name, text in stated.items() if isinstance(text, str)}
    out: dict[str, dict[str, str]] = {}
    for name, sentences in stated.items():
        if name in own:
            continue
        kind, key = kind_of(questions.get(name)), f"says.{name}"
        if not kind and name in questions:
            raise reader.fail(key, "sentences are written for dates, values and rankings")
        if not kind:
            continue
        reader.only(sentences, CASES[kind], key)
        out[name] = {}
        for case in sentences:
            text = reader.text(sentences, case, key).strip().removesuffix(".")
            filled = SLOT.sub(lambda brace: own.get(brace[1], brace[0]), text)
            others = [each for each in questions if kind == "rank" and kind_of(questions[each]) == kind]
            of_others = (f"{each} of {other}" for each in names for other in others)
            _check_slots(reader, filled, f"{key}.{case}", [*SLOTS[kind], *names, *others, *of_others], own)
            out[name][case] = filled
    return out


def _check_slots(
    reader: ScenarioReader, text: str, key: str, valid_names: Collection[str], own: Collection[str]
) -> None:
    """Refuse a slot that nothing fills, and brackets that do not close."""
    left = PART.sub(r"\1", text)
    if re.search(r"[\[\]]", left) or re.search(r"[{}]", SLOT.sub("", left)):
        raise reader.fail(key, "a bracket or a brace is not closed, or stands within another one")
    for name in SLOT.findall(text):
        if name not in valid_names and CONTENDER_SLOT.sub("", name) not in valid_names:
            raise UnknownNameError("slot", name, [*valid_names, *own], where=f"{reader.where}: {key}")


def check_sentences(record: Mapping[str, Any], questions: Collection[str], where: str) -> None:
    """Refuse sentences for a question that is not there.

    Raises
    ------
    UnknownNameError
    """
    for name, each in record.get("says", {}).items():
        if not isinstance(each, str) and name not in questions:
            raise UnknownNameError("question", name, questions, where=f"{where}: says")
