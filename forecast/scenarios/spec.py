"""What a scenario is made of beside quantities: choices, questions, and texts that hold choices in braces."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from forecast import formula
from forecast.errors import ScenarioError, printable


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A fork, which is a dimension of its own name.

    Parameters
    ----------
    values : tuple of str
    kind : {"rival", "definition"}
        Rivals are what one may believe: they stand side by side, and are pooled where their weights are stated. A
        definition states the question: its values are never pooled, and the sentence names the first one.
    weights : tuple of float, optional
        Of rivals, one for each value, in sum 1. Without them nothing is pooled.
    left_out : mapping of str to str
        Values of a table's column that are no values of the choice, and the first figure that each lacks.
    table : TableChoice, optional
        The table in which its values stand.
    """

    values: tuple[str, ...]
    kind: Literal["rival", "definition"] = "rival"
    weights: tuple[float, ...] | None = None
    left_out: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False, repr=False)
    table: TableChoice | None = field(default=None, compare=False, hash=False, repr=False)

    def narrowed(self, values: tuple[str, ...]) -> Choice:
        """Return the choice among some of its values, weighted as they were among themselves."""
        if self.weights is None:
            return replace(self, values=values)
        kept = [self.weights[self.values.index(value)] for value in values]
        return replace(self, values=values, weights=_normalise_weights(kept))


def _normalise_weights(weights: Sequence[float]) -> tuple[float, ...]:
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights) if total > 0 else (1 / len(weights),) * len(weights)


@dataclass(frozen=True, kw_only=True)
class TableChoice:
    """A choice whose values stand in a column of a table.

    Parameters
    ----------
    table, column : str
    where : mapping of str to tuple of str
        Keep the rows whose column holds one of these.
    known : tuple of str
        Quantities of the scenario that are read in tables: only values for which each of them is known are kept.
    kind : {"rival", "definition"}
        See `Choice`.
    """

    table: str
    column: str
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    kind: Literal["rival", "definition"] = "rival"


@dataclass(frozen=True, kw_only=True)
class DateQuestion:
    """The question for a date: when a condition between quantities first holds.

    Parameters
    ----------
    when : Condition
    title : str
    dates : tuple of str
        Dates (ISO) by which the answer states the probability.
    resolves : str
        The table or page that decides it.
    shared : mapping of str to mapping
        The questions that other scenarios ask too, by their names in a table ``shared-questions``: under which values
        of choices this one asks the same, where not under the first of every definition.
    """

    when: formula.Condition
    title: str = ""
    dates: tuple[str, ...] = ()
    resolves: str = ""
    shared: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False)

    @property
    def needs(self) -> tuple[str, ...]:
        """The quantities that it names."""
        return self.when.names

    @property
    def plain(self) -> dict[str, Any]:
        """The question as plain data."""
        beside = {"dates": list(self.dates), "resolves": self.resolves}
        return {"when": self.when.text, "title": self.title, **{key: each for key, each in beside.items() if each}}


@dataclass(frozen=True, kw_only=True)
class RankQuestion:
    """The question for an order: which value of a choice is best at the last step, and with which probability.

    Parameters
    ----------
    rank : Formula
        What is compared.
    over : str
        The choice whose values are ranked.
    among : tuple of Condition
        Only values that meet all of these take part; which ones may differ from draw to draw.
    best : {"highest", "lowest"}
    ordered : bool
        The values are steps of one ordered quantity (sizes, widths) and are listed along it, also those that seldom
        take part.
    title : str
    """

    NAMES: ClassVar = ("over",)

    rank: formula.Formula
    over: str
    among: tuple[formula.Condition, ...] = ()
    best: Literal["highest", "lowest"] = "highest"
    ordered: bool = False
    title: str = ""

    @property
    def needs(self) -> tuple[str, ...]:
        """The quantities that it names."""
        return (*self.rank.names, *(name for condition in self.among for name in condition.names))


def choices_in_braces(template: str, *, where: str) -> list[str]:
    """Return the choices named in braces in a model's name.

    ``str.format`` is not used on purpose: its fields can reach attributes.

    Examples
    --------
    >>> choices_in_braces("hardware/{metric}@{trend}", where="demo")
    ['metric', 'trend']
    """
    names: list[str] = []
    rest = template
    while "{" in rest or "}" in rest:
        as_of, opened, rest = rest.partition("{")
        inside, closed, rest = rest.partition("}")
        if "}" in as_of or not opened or not closed or "{" in inside or not inside:
            raise ScenarioError(f"{where}: braces do not match in '{printable(template, 80)}'")
        names.append(inside)
    return names


def fill(template: str, chosen: Mapping[str, str]) -> str:
    """Put the chosen values in the braces; a value that itself holds braces stays as it is.

    Examples
    --------
    >>> fill("hardware/{metric}@{trend}", {"metric": "hpcg", "trend": "{metric}"})
    'hardware/hpcg@{metric}'
    """
    return re.sub(r"\{([^{}]*)\}", lambda brace: chosen[brace[1]], template)
