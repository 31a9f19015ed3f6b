"""What a scenario is made of: kinds of quantities, and kinds of questions."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from forecast import formula
from forecast.base.distributions import Distribution
from forecast.errors import ScenarioError, printable
from forecast.scenarios.quantities.choice_numbers import ChoiceNumber, Chosen
from forecast.scenarios.quantities.dynamics import SolvedNumber, Stock
from forecast.scenarios.quantities.function_ref import FunctionRef
from forecast.scenarios.quantities.law_ref import LawRef
from forecast.scenarios.quantities.uncertain_inputs import MomentFit, OwnDraws, Regime, Schedule

__all__ = [
    "ByChoice",
    "Choice",
    "DateQuestion",
    "Expression",
    "ModelRef",
    "OverTime",
    "Prior",
    "Quantity",
    "RankQuestion",
    "SeriesRef",
    "TableChoice",
    "TableValue",
    "braces",
    "fill",
]


@dataclass(frozen=True, kw_only=True)
class ModelRef:
    """A registered model, by a name that may hold choices in braces, or a model object.

    `shape` stands beside a series and may hold choices too; `options` are those of the shape. An input that `inputs`
    does not wire is fed by the quantity of its name, with `scope` in front.
    """

    NAMES: ClassVar = ("inputs",)

    model: Any
    shape: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    scope: str = ""

    def fed_by(self, need: str) -> str:
        """Return the quantity that feeds an input of the model."""
        return self.inputs.get(need, f"{self.scope}{need}")


@dataclass(frozen=True, kw_only=True)
class Expression:
    """A formula over other quantities.

    Parameters
    ----------
    tree : Formula
    unit : str, optional
        Without it the unit that the formula gives.
    qualifiers : mapping of str to str
        What it states of its own (see `forecast.units.qualifiers`).
    rates : bool, optional
        Quantities in 1/time are plain numbers a year (see `forecast.units.infer`).
    """

    tree: formula.Formula
    unit: str | None = None
    qualifiers: Mapping[str, str] = field(default_factory=dict)
    rates: bool | None = None


@dataclass(frozen=True, kw_only=True)
class OverTime:
    """A function over time of another quantity; made for formulas that call one.

    Parameters
    ----------
    function : str
        ``previous``, ``lag``, ``growth``, ``maximum``, ``since``, ``once`` or ``at``.
    of : str
        The quantity whose path it reads.
    argument : float, str or None
        The years, or the date: a number, or the quantity that gives it.
    """

    function: str
    of: str
    argument: float | str | None = None


@dataclass(frozen=True, kw_only=True)
class Prior:
    """An uncertain (or fixed) number."""

    distribution: Distribution
    unit: str
    qualifiers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SeriesRef:
    """Shape + column of the user's own data; what it holds is what `forecast.models.trend` takes.

    `shape` and `data` may hold choices in braces.
    """

    shape: str
    data: str
    x: str
    y: str
    unit: str
    frontier: bool = False
    records: bool = False
    yearly: bool = False
    since: str = ""
    where: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    qualifiers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ByChoice:
    """What a column must hold, where that depends on a choice: value of the choice to what will do."""

    NAMES: ClassVar = ("choice",)

    choice: str
    values: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class TableValue:
    """A figure read in a table, where choices may say which row.

    Parameters
    ----------
    table : str
        The name of a table.
    column : str
    where : mapping of str to tuple of str or ByChoice
        Column to the values that will do; the first for which the table holds a figure is taken. A value may hold
        choices in braces.
    latest : str
        A column of dates: only the last ones count.
    within : float, optional
        Only the dates in these many years before the start of the scenario count, and none after it: a product has
        to be on sale at the start to have a price. Without it every date counts.
    aggregate : {"", "lowest", "highest"}
        Which of several different figures; where this is not said they are an error.
    fallback : TableValue, optional
        Where this one finds nothing.
    qualifiers : mapping of str to str
        Instead of what the table's columns state.
    """

    table: str
    column: str
    where: Mapping[str, tuple[str, ...] | ByChoice] = field(default_factory=dict)
    latest: str = ""
    within: float | None = None
    aggregate: str = ""
    fallback: TableValue | None = None
    qualifiers: Mapping[str, str] = field(default_factory=dict)

    @property
    def dated(self) -> bool:
        """Whether it depends on when the scenario starts."""
        return self.within is not None or (self.fallback is not None and self.fallback.dated)


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
    """

    values: tuple[str, ...]
    kind: Literal["rival", "definition"] = "rival"
    weights: tuple[float, ...] | None = None
    left_out: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False, repr=False)

    def narrowed(self, values: tuple[str, ...]) -> Choice:
        """Return the choice among some of its values, weighted as they were among themselves."""
        if self.weights is None:
            return replace(self, values=values)
        kept = [self.weights[self.values.index(value)] for value in values]
        return replace(self, values=values, weights=_shares(kept))


def _shares(weights: Sequence[float]) -> tuple[float, ...]:
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


Quantity = (
    ModelRef
    | LawRef
    | FunctionRef
    | Expression
    | Prior
    | SeriesRef
    | TableValue
    | OverTime
    | Regime
    | Schedule
    | OwnDraws
    | MomentFit
    | Stock
    | SolvedNumber
    | ChoiceNumber
    | Chosen
)


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
    shared : str
        The question that other scenarios ask too, by its name in a table ``shared-questions``.
    """

    when: formula.Condition
    title: str = ""
    dates: tuple[str, ...] = ()
    resolves: str = ""
    shared: str = ""

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


def braces(template: str, *, where: str) -> list[str]:
    """Return the choices named in braces in a model's name.

    ``str.format`` is not used on purpose: its fields can reach attributes.

    Examples
    --------
    >>> braces("hardware/{metric}@{trend}", where="demo")
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
