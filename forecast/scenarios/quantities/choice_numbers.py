"""Numbers that depend on a choice: texts with choices in braces, where a distribution or a schedule has a number.

::

    [choices]
    cost = { values = ["1e9", "1e10"], kind = "definition" }
    [quantities.price]
    lognormal = ["{cost}", 5e10]
    unit = "USD"

Every combination of choices is read as if its values stood there. In a formula ``{cost}`` is a quantity that is the
number of the choice; a bare one that is a whole side of a comparison has the unit of the other side, as numbers there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forecast.errors import ScenarioError, printable
from forecast.formula import Formula, Name, tree

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader

__all__ = ["ChoiceNumber", "Chosen", "as_written", "chosen", "named", "plain", "read", "unit_beside"]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?inf", re.ASCII)
_MEASURED = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?:\s+([A-Za-z(%$1].*))?", re.ASCII)
_BRACES = re.compile(r"\{([A-Za-z_]\w{0,63}(?:\.[A-Za-z_]\w{0,63})*)\}", re.ASCII)
#: What is a text in any case.
_TEXTS = ("unit", "qualifiers", "as", "between", "family")
#: Forms that hold no numbers.
_NONE = ("draws", "fitted")


@dataclass(frozen=True, kw_only=True)
class ChoiceNumber:
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
        from forecast.scenarios.spec import braces, fill

        def number(value: Any, at: str) -> Any:
            if isinstance(value, Mapping):
                return {key: number(each, f"{at}.{key}") for key, each in value.items()}
            if isinstance(value, (list, tuple)):
                return [number(each, at) for each in value]
            if not isinstance(value, str) or not braces(value, where=at):
                return value
            text = fill(value, chosen)
            if not _NUMBER.fullmatch(text):
                given = ", ".join(f"{name} = {chosen[name]}" for name in braces(value, where=at))
                what = f"'{printable(value, 60)}' is '{printable(text, 60)}' where {printable(given, 120)}"
                raise ScenarioError(f"{at}: expected a number: {what}")
            return float(text)

        return {k: v if k in _TEXTS else number(v, f"{where}.{k}") for k, v in self.record.items()}


def read(
    reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]
) -> ChoiceNumber | None:
    """Read a quantity whose numbers hold choices; None where none does."""
    parts = {} if set(_NONE) & set(record) else {k: v for k, v in record.items() if k not in _TEXTS}
    templates = dict(_texts(parts, key, reader.where))
    for at, text in templates.items():
        reader.filled(text, choices, at)
    return ChoiceNumber(record=record, templates=templates) if templates else None


def _texts(value: Any, at: str, where: str) -> Iterator[tuple[str, str]]:
    """Walk the texts with braces and their places."""
    from forecast.scenarios.spec import braces

    if isinstance(value, str) and braces(value, where=f"{printable(where)}: {printable(at, 120)}"):
        yield at, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts(each, f"{at}.{key}", where)
    elif isinstance(value, (list, tuple)):
        for number, each in enumerate(value, 1):
            yield from _texts(each, f"{at}[{number}]", where)


# --- in formulas ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The number of a choice, in a formula.

    Parameters
    ----------
    choice : str
    like : Formula, optional
        What has the unit of bare numbers, beside which it is a side of a comparison.
    of : str
        The quantity that it bounds, which has that unit.
    """

    choice: str
    like: Formula | None = None
    of: str = ""


def plain(text: str) -> tuple[str, dict[str, str]]:
    """Return a text with names in the place of choices in braces, and what stands for which.

    Examples
    --------
    >>> plain("machine >= {goal}")
    ('machine >= _goal', {'_goal': '{goal}'})
    """
    names: dict[str, str] = {}

    def named(brace: re.Match[str]) -> str:
        name = f"_{brace[1].replace('.', '_')}"[:64]
        while names.get(name, brace[0]) != brace[0] or (name in text and name not in names):
            name = f"_{name}"[:64]
        names[name] = brace[0]
        return name

    return _BRACES.sub(named, text), names


def as_written(text: str) -> str:
    """Return a formula's text as it was written: a choice that is a number in two units has two names inside.

    Examples
    --------
    >>> as_written("machine >= {goal}'")
    'machine >= {goal}'
    """
    return re.sub(rf"({_BRACES.pattern})'+", r"\1", text, flags=re.ASCII)


def named(formula: Formula, names: Mapping[str, str]) -> Formula:
    """Return a formula with choices in braces where names stand for them."""

    def swapped(node: tree.Node) -> tree.Node:
        made = tree.rebuild(node, tuple(map(swapped, tree.children(node))))
        return Name(names[made.name]) if isinstance(made, Name) and made.name in names else made

    return Formula(swapped(formula.root)) if names else formula


def chosen(
    choice: str, values: Sequence[str], *, where: str, convert: Callable[[float, str, str], float]
) -> tuple[dict[tuple[str, ...], float], str | None]:
    """Return the numbers of a choice, and their unit; None of bare ones.

    Raises
    ------
    ScenarioError
        Where its values are no numbers, or only some have a unit.
    """
    numbers: dict[tuple[str, ...], tuple[float, str]] = {}
    for value in values:
        found = _MEASURED.fullmatch(value)
        if found is None:
            expected = f"expected numbers as the values of choice '{choice}', such as '1e9' or '1 EFLOP/s'"
            raise ScenarioError(
                f"{where}: '{{{choice}}}' stands for a number: {expected}, got '{printable(value, 60)}'"
            )
        numbers[(value,)] = float(found[1]), (found[2] or "").strip()
    stated = list(dict.fromkeys(unit for _, unit in numbers.values()))
    if "" in stated and len(stated) > 1:
        raise ScenarioError(f"{where}: choice '{choice}': expected a unit with every number, or with none")
    if stated == [""]:
        return {key: number for key, (number, _) in numbers.items()}, None
    return {key: convert(number, unit, stated[0]) for key, (number, unit) in numbers.items()}, stated[0]


def unit_beside(quantity: Chosen, known: Mapping[str, str | None], unit: str, *, where: str) -> str:
    """Return the unit of the number of a choice: of a bare one that of what it is compared with."""
    from forecast import units

    return unit if quantity.like is None else units.infer(quantity.like, known, where=where)
