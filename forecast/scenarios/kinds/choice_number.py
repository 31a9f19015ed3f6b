"""A quantity whose numbers depend on a choice: texts with braces, where a distribution or a schedule has a number.

::

    [choices]
    cost = { values = ["1e9", "1e10"], kind = "definition" }
    [quantities.price]
    lognormal = ["{cost}", 5e10]
    unit = "USD"

Every combination of choices is read as if its values stood there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from forecast.errors import ScenarioError, printable
from forecast.scenarios.quantities.node import Node, QuantityKind
from forecast.scenarios.spec import choices_in_braces, fill
from forecast.scenarios.templates import choices_in_templates, walk_choices

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables

_BARE_NUMBER_PATTERN = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf", re.ASCII)
#: What is a text in any case.
_TEXT_KEYS = ("unit", "qualifiers", "as", "between", "family")
#: Forms that hold no numbers.
_NONE = ("draws", "fitted")


@dataclass(frozen=True, kw_only=True)
class ChoiceNumber(QuantityKind):
    """A quantity whose numbers hold choices in braces.

    Parameters
    ----------
    record : mapping
        As it stands in the file.
    templates : mapping of str to str
        The texts with braces, by their place.
    """

    record: Mapping[str, Any]
    templates: Mapping[str, str]

    def filled(self, chosen: Mapping[str, str], *, where: str) -> dict[str, Any]:
        """Return the record under these values of the choices.

        Raises
        ------
        ScenarioError
            Where a text is then no number.

        Examples
        --------
        >>> made = ChoiceNumber(record={"normal": ["{low}", 4], "unit": ""}, templates={"normal": "{low}"})
        >>> made.filled({"low": "1.5"}, where="demo")
        {'normal': [1.5, 4], 'unit': ''}
        """

        def number(value: Any, at: str) -> Any:
            if isinstance(value, Mapping):
                return {key: number(each, f"{at}.{key}") for key, each in value.items()}
            if isinstance(value, (list, tuple)):
                return [number(each, at) for each in value]
            if not isinstance(value, str) or not choices_in_braces(value, where=at):
                return value
            text = fill(value, chosen)
            if not _BARE_NUMBER_PATTERN.fullmatch(text):
                given = ", ".join(f"{name} = {chosen[name]}" for name in choices_in_braces(value, where=at))
                what = f"'{printable(value, 60)}' is '{printable(text, 60)}' where {printable(given, 120)}"
                raise ScenarioError(f"{at}: expected a number: {what}")
            return float(text)

        return {k: v if k in _TEXT_KEYS else number(v, f"{where}.{k}") for k, v in self.record.items()}

    @classmethod
    def told(cls, record: Mapping[str, Any]) -> bool:
        """Tell whether a text with braces stands where a number may."""
        return any(True for _ in _braced_texts(_numeric_parts(record), "", ""))

    @classmethod
    def read(
        cls, reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]
    ) -> ChoiceNumber:
        """Return the record and its texts with braces."""
        templates = dict(_braced_texts(_numeric_parts(record), key, reader.where))
        for at, text in templates.items():
            reader.filled(text, choices, at)
        return cls(record=record, templates=templates)

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node of the first combination, with what the quantity is in every one."""
        from forecast.scenarios.parse import ScenarioReader  # which knows all kinds

        key, reader = f"{scenario.where}: quantities.{name}", ScenarioReader(scenario.where, scenario.folder)
        own = choices_in_templates(scenario, self.templates, key=key)
        variants = {
            values: reader.quantity(name, self.filled(chosen, where=key), {})
            for values, chosen in walk_choices(scenario, own)
        }
        first = next(iter(variants.values()))
        result = first.node(replace(scenario, quantities={name: first}), name, tables)
        return replace(result, own=own, variants=variants)


def _numeric_parts(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a record that may hold numbers."""
    return {} if set(_NONE) & set(record) else {k: v for k, v in record.items() if k not in _TEXT_KEYS}


def _braced_texts(value: Any, at: str, where: str) -> Iterator[tuple[str, str]]:
    """Walk the texts with braces and their places."""
    if isinstance(value, str) and choices_in_braces(value, where=f"{printable(where)}: {printable(at, 120)}"):
        yield at, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _braced_texts(each, f"{at}.{key}", where)
    elif isinstance(value, (list, tuple)):
        for number, each in enumerate(value, 1):
            yield from _braced_texts(each, f"{at}[{number}]", where)
