"""A quantity of a scenario, resolved: its models, what it needs, the choices on which it depends, its unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from forecast import units
from forecast.base.arrays import Array
from forecast.errors import UnknownNameError
from forecast.formula import TIME_NAMES
from forecast.models import Model
from forecast.models.nesting import required_quantities
from forecast.scenarios.quantities.changes import Change
from forecast.scenarios.quantities.limits import Limits
from forecast.units.qualifiers import Qualifiers

if TYPE_CHECKING:
    from forecast.scenarios.quantities.kind import ModelKind, QuantityKind
    from forecast.scenarios.scenario import Scenario

#: One value for each choice a quantity depends on, in the order of its dimensions.
Combination = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Node:
    """One quantity, resolved.

    Parameters
    ----------
    name, unit : str
    dims : tuple of str
        The choices it depends on, its own and those of the quantities it needs, in the scenario's order.
    own : tuple of str
        The choices that its model's name and its shape hold.
    models : mapping of combination to Model
        The model for each combination of `own`; empty for expressions and priors.
    needs : tuple of str
        The quantities it needs at the same step.
    past : tuple of str
        The quantities of which it needs earlier steps.
    steady : bool
        It does not change with time.
    owner : str
        The key of the formula that it is a part of; empty for a quantity that the scenario names.
    quantity : QuantityKind
    fixed : float or None
        Set to a number, whatever its model says.
    variants : mapping of combination to QuantityKind
        What it is for each combination of `own`, where its numbers hold choices; `quantity` is then the first.
    figures : mapping of combination to float
        What was read in a table for each combination of `own`, in `unit`.
    histories : mapping of combination to tuple of (str, str, float)
        Of figures that are looked up by date: the table, the dates, ISO, and the figures, the newest first.
    since : mapping of combination to str
        Of other figures the day, ISO, from which their row was known.
    bases : mapping of combination to qualifiers
        What is stated beside its unit, for each combination of `dims`; empty where nothing ever is.
    limits : Limits or None
        What bounds it.
    changes : tuple of Change
        What if: how it changes from a date on.
    own_draws : ndarray or None
        The column of draws that it reads, in `unit`.
    left_out : bool
        Nothing of it is told: as of the date of the run it has no data.
    """

    name: str
    unit: str
    dims: tuple[str, ...]
    own: tuple[str, ...] = ()
    models: Mapping[Combination, Model] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    steady: bool = False
    owner: str = ""
    quantity: QuantityKind
    fixed: float | None = None
    variants: Mapping[Combination, QuantityKind] = field(default_factory=dict)
    figures: Mapping[Combination, float] = field(default_factory=dict)
    histories: Mapping[Combination, tuple[tuple[str, str, float], ...]] = field(default_factory=dict)
    since: Mapping[Combination, str] = field(default_factory=dict)
    bases: Mapping[Combination, Qualifiers] = field(default_factory=dict)
    limits: Limits | None = None
    changes: tuple[Change, ...] = ()
    cycle: tuple[str, ...] = ()
    own_draws: Array | None = field(default=None, compare=False)
    left_out: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """What its values stand for, by number; empty for everything but a regime."""
        return self.quantity.labels

    @property
    def measured(self) -> str | None:
        """The unit of its values; None where they stand for texts."""
        return None if self.labels else self.unit

    @property
    def hidden(self) -> bool:
        """Whether it is a part of a formula, and no quantity that the scenario names, or is left out."""
        return bool(self.owner) or self.left_out

    @property
    def sources(self) -> tuple[str, ...]:
        """The quantities it needs, at whatever step, and those that bound or change it."""
        return tuple(dict.fromkeys((*self.needs, *self.past, *self.bounds)))

    @property
    def bounds(self) -> tuple[str, ...]:
        """The quantities that bound or change it."""
        return tuple(n for n in self.bounded_by if n not in TIME_NAMES)

    @property
    def bounded_by(self) -> tuple[str, ...]:
        """The names, time among them, that bound or change it."""
        limits = () if self.limits is None else self.limits.names
        return tuple(dict.fromkeys((*limits, *(n for change in self.changes for n in change.names))))

    def own_values(self, combination: Combination) -> Combination:
        """Return the values of its own choices in a combination of its dims."""
        return self.own_in(dict(zip(self.dims, combination, strict=True)))

    def own_in(self, chosen: Mapping[str, str]) -> Combination:
        """Return the values of its own choices among these."""
        return tuple(chosen[c] for c in self.own)

    def stated_in(self, chosen: Mapping[str, str]) -> Qualifiers:
        """Return what it states beside its unit under these values of the choices."""
        return self.bases.get(tuple(chosen[d] for d in self.dims), {})

    def source(self, need: str) -> str:
        """Return the quantity that feeds the input `need` of this node's model."""
        return self.quantity.fed_by(need)


def quantity_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names that are quantities, each once: time is none."""
    return tuple(dict.fromkeys(n for n in names if n not in TIME_NAMES))


def of_models(
    scenario: Scenario, name: str, quantity: ModelKind, own: tuple[str, ...], by_choice: Mapping[Combination, Model]
) -> Node:
    """Return the node of a quantity that models give.

    Parameters
    ----------
    scenario : Scenario
    name : str
    quantity : ModelKind
    own : tuple of str
        The choices on which the model depends.
    by_choice : mapping of combination to Model

    Raises
    ------
    UnitError, UnknownNameError
        Where the models measure different things, or a wire is no input of theirs.
    """
    unit = next(iter(by_choice.values())).unit
    needs: dict[str, None] = {}
    for made in by_choice.values():
        key = f"{scenario.where}: quantities.{name}: model '{made.name}'"
        units.check(made.unit, unit, where=key)
        for need, _ in required_quantities(made):
            needs[quantity.fed_by(need)] = None
    wanted = {need for made in by_choice.values() for need, _ in required_quantities(made)}
    for wired in quantity.wired:
        if wired not in wanted:
            raise UnknownNameError("input", wired, wanted, where=f"{scenario.where}: quantities.{name}.inputs")
    return Node(name=name, unit=unit, dims=(), own=own, models=by_choice, needs=tuple(needs), quantity=quantity)
