"""Texts that hold choices in braces: which choices, what each combination fills in, and where it may reach."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

from forecast.base.budgets import check_time
from forecast.errors import ScenarioError
from forecast.scenarios import registered
from forecast.scenarios.spec import Choice, choices_in_braces, fill

if TYPE_CHECKING:
    from forecast.scenarios.scenario import Scenario

#: More combinations of choices than this are refused before they are walked.
MAX_COMBINATIONS = 100_000
#: A record's full name, perhaps with what stands beside it.
_RECORD_NAME_PATTERN = re.compile(r"[\w-]+(/[\w-]+)?(@[\w-]+)?", re.ASCII)


def choices_in_templates(scenario: Scenario, templates: Mapping[str, str], *, key: str) -> tuple[str, ...]:
    """Return the choices that these texts hold, in the scenario's order; `templates` is key to text.

    Raises
    ------
    ScenarioError
        Where their combinations are too many.
    """
    used = {each for name, text in templates.items() for each in choices_in_braces(text, where=f"{key}.{name}")}
    own = tuple(choice for choice in scenario.choices if choice in used)
    check_size(scenario, own, key)
    return own


def check_size(scenario: Scenario, dims: Iterable[str], key: str) -> None:
    """Refuse more combinations of choices than can be walked.

    Raises
    ------
    ScenarioError
    """
    count = math.prod(len(scenario.choices[d].values) for d in dims)
    if count > MAX_COMBINATIONS:
        raise ScenarioError(f"{key}: {count:,} combinations of choices; at most {MAX_COMBINATIONS:,} are walked")


def walk_choices(scenario: Scenario, own: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """Walk every combination of choices, as values and by choice."""
    for values in combinations(scenario.choices, own):
        yield values, dict(zip(own, values, strict=True))


def combinations(choices: Mapping[str, Choice], dims: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Walk every combination of the values of these choices, as long as there is time."""
    for count, values in enumerate(itertools.product(*(choices[each].values for each in dims))):
        check_time("walking the combinations of choices", count, things="combinations")
        yield values


def chosen_name(name: str, values: tuple[str, ...]) -> str:
    """Return the name of a model of a quantity under these values of its choices.

    Results have groups of this name: what is no name of a record is escaped, so that different values stay different.

    Examples
    --------
    >>> chosen_name("loss", ()), chosen_name("loss", ("scaling/power@p", "../c"))
    ('loss', 'loss@scaling/power@p,..%2Fc')
    """
    said = (value if _RECORD_NAME_PATTERN.fullmatch(value) else quote(value, safe="") for value in values)
    return f"{name}@{','.join(said)}" if values else name


def source_of(scenario: Scenario, template: str, chosen: Mapping[str, str], *, key: str) -> str:
    """Return the data that a text names under a choice; a path that only a choice completes is checked here.

    Raises
    ------
    UnknownNameError, ScenarioError
    """
    text = fill(template, chosen)
    return text if text == template else registered.data_of(text, scenario.folder, where=key)


def file_of(scenario: Scenario, template: str, chosen: Mapping[str, str], *, key: str) -> str:
    """Return the file that a text names under a choice.

    Raises
    ------
    ScenarioError
    """
    text = fill(template, chosen)
    return text if text == template else registered.file_of(text, scenario.folder, where=key)
