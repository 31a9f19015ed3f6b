"""Questions beside dates of conditions and orders: a value at dates, its growth, and what comes first.

::

    [questions.spending]
    value = "spend/gdp"           # or growth = "machine"
    dates = [2030, 2040]
    [questions.race]
    first = ["parity", "ruin"]    # names of questions that ask when
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.dates import decimal_year
from forecast.contract.fields import is_number
from forecast.errors import UnknownNameError, printable
from forecast.formula import Formula
from forecast.scenarios.spec import DateQuestion, RankQuestion

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader

#: A date is the last one if it is later by no more than this: some seconds, above the rounding of a decimal year.
_DATE_ATOL_YEARS = 1e-6


@dataclass(frozen=True, kw_only=True)
class ValueQuestion:
    """The question for a value, or its growth, at dates.

    Parameters
    ----------
    of : Formula
    growth : bool
        The question is for the gain of the logarithm over the year before each date, not for the value itself.
    dates : tuple of str
        ISO dates.
    title : str
    resolves : str
        The table or page that decides it.
    shared : mapping of str to mapping
        As of `forecast.scenarios.spec.DateQuestion`.
    """

    of: Formula
    growth: bool = False
    dates: tuple[str, ...]
    title: str = ""
    resolves: str = ""
    shared: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)

    @property
    def needs(self) -> tuple[str, ...]:
        """The quantities that it names."""
        return self.of.names

    @property
    def plain(self) -> dict[str, Any]:
        """The question as plain data."""
        about = {"growth" if self.growth else "value": self.of.text, "dates": list(self.dates), "title": self.title}
        return {**about, **({"resolves": self.resolves} if self.resolves else {})}


@dataclass(frozen=True, kw_only=True)
class FirstQuestion:
    """Which of several questions' dates comes first.

    Parameters
    ----------
    first : tuple of str
        Names of questions that ask when.
    title : str
    """

    first: tuple[str, ...]
    title: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """The quantities that it names: none, beside those of the questions."""
        return ()

    @property
    def plain(self) -> dict[str, Any]:
        """The question as plain data."""
        return {"first": list(self.first), "title": self.title}


def read_questions(
    reader: ScenarioReader, group: Mapping[str, Mapping[str, Any]], choices: Mapping[str, Any]
) -> dict[str, DateQuestion | RankQuestion | ValueQuestion | FirstQuestion]:
    """Read the questions of a scenario, whatever they ask."""
    result: dict[str, DateQuestion | RankQuestion | ValueQuestion | FirstQuestion] = {}
    for name, record in group.items():
        key = f"questions.{name}"
        if "first" in record:
            result[name] = _read_first_question(reader, record, group, key)
        elif "value" in record or "growth" in record:
            result[name] = _read_value_question(reader, record, key)
        else:
            result[name] = reader.question(name, record, choices)
    return result


def shorten_questions(questions: Mapping[str, Any], until: object) -> dict[str, Any]:
    """Return records of questions that ask for values no later than a decimal year, and at it if no date is left.

    What is no record of a question, no date or no year is returned as it is: it is refused when it is read.

    Examples
    --------
    >>> asked = {"power": {"value": "x", "dates": [2030, "2040-06-01"]}, "far": {"growth": "x", "dates": [2050]}}
    >>> shorten_questions(asked, 2035)
    {'power': {'value': 'x', 'dates': [2030]}, 'far': {'growth': 'x', 'dates': [2035]}}
    """
    if not is_number(until):
        return dict(questions)
    last = until + _DATE_ATOL_YEARS

    def shortened(record: Any) -> Any:
        dates = record.get("dates") if isinstance(record, Mapping) and {"value", "growth"} & record.keys() else None
        if not isinstance(dates, (list, tuple)):
            return record
        return {**record, "dates": [each for each in dates if _year_of(each) <= last] or [until]}

    return {name: shortened(record) for name, record in questions.items()}


def _year_of(date: object) -> float:
    """Return a date as a decimal year; of what is no date a year before all."""
    if is_number(date):
        return float(date)
    try:
        return float(decimal_year(np.array([str(date)], dtype="datetime64[s]"))[0])
    except ValueError:
        return -math.inf


def _read_value_question(reader: ScenarioReader, record: Mapping[str, Any], key: str) -> ValueQuestion:
    word = "growth" if "growth" in record else "value"
    reader.only(record, (word, "dates", "title", "resolves", "comparable_as"), key)
    dates = record.get("dates")
    if not isinstance(dates, (list, tuple)) or not dates:
        raise reader.fail(f"{key}.dates", f"expected dates at which the {word} is asked for, such as [2030, 2040]")
    read_as = tuple(reader.date(given, f"{key}.dates") for given in dates)
    if len(set(read_as)) < len(read_as):
        raise reader.fail(f"{key}.dates", "a date stands there twice")
    return ValueQuestion(
        of=reader.formula(reader.text(record, word, key), f"{key}.{word}"),
        growth=word == "growth",
        dates=read_as,
        title=reader.text(record, "title", key, default=""),
        resolves=reader.text(record, "resolves", key, default=""),
        shared=reader.sharing(record, key),
    )


def _read_first_question(
    reader: ScenarioReader, record: Mapping[str, Any], group: Mapping[str, Mapping[str, Any]], key: str
) -> FirstQuestion:
    reader.only(record, ("first", "title"), key)
    names = reader.texts(record["first"], f"{key}.first")
    if len(names) < 2 or len(set(names)) < len(names):
        raise reader.fail(f"{key}.first", "expected two or more questions, each once")
    when = [name for name, other in group.items() if "when" in other]
    for name in names:
        if name not in group:
            raise UnknownNameError("question", name, when, where=f"{reader.where}: {key}.first")
        if name not in when:
            raise reader.fail(f"{key}.first", f"'{printable(name, 60)}' does not ask when: it has no date")
    return FirstQuestion(first=names, title=reader.text(record, "title", key, default=""))
