"""A quantity of a scenario, resolved: its models, what it needs, the choices it depends on, its unit; and its kind.

Every kind of quantity knows its keys in a file, its node, its unit, its steps and its description. A kind is one class
in one file of `forecast.scenarios.kinds`, which lists them. What a kind does not say itself is what stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

from forecast import units
from forecast.base.arrays import Array
from forecast.errors import UnknownNameError
from forecast.formula import TIME_NAMES, Condition, Formula
from forecast.models import Model
from forecast.models.nesting import required_quantities
from forecast.scenarios.quantities.changes import Change
from forecast.scenarios.quantities.limits import Limits
from forecast.units.qualifiers import Qualifiers, check, meet

if TYPE_CHECKING:
    from forecast.base.distributions import Distribution
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables


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


T = TypeVar("T")


class Plan(Protocol):
    """The steps of a run, as a kind of quantity adds its own; a step is told by its place."""

    def add(
        self,
        operation: str,
        inputs: Iterable[int] = (),
        *arguments: Any,
        stated: Any = None,
        dated: bool = False,
        of: str = "",
        at: Combination = (),
    ) -> int:
        """Return a step; see `forecast.projection.plan.Plan.add`."""

    def uniform(self, node: str) -> int:
        """Return the uniforms in (0, 1) that belong to a name."""

    def known(self, node: str, published: str, now: T, earlier: T | None) -> T:
        """Return what is stated, or what stood before where that is younger than the date of the run."""

    def number(self, node: str, numbers: Distribution) -> int:
        """Return the draws of what is one number a world."""

    def level(self, node: Node, at: Combination) -> int:
        """Return the draws of the model behind a node."""

    def formula(
        self,
        tree: Formula,
        dims: tuple[str, ...],
        at: Combination,
        *,
        target: str,
        where: str,
        rates: bool | None = None,
    ) -> int:
        """Return a formula over quantities, in the unit `target`."""

    def over_time(self, node: Node, function: str, of: str, argument: float | str | None, at: Combination) -> int:
        """Return a function over time of the path of a quantity."""

    def moments(self, node: Node, of: str, family: str, at: Combination) -> int:
        """Return the distribution with the mean and the variance of another quantity's worlds."""


class QuantityKind:
    """A kind of quantity; a frozen dataclass of what its record states."""

    #: What results call it.
    KIND: ClassVar[str] = ""
    #: The keys of a record any of which tells this kind from the others; `FORM` names it where none is there.
    IDENTIFYING_KEYS: ClassVar[tuple[str, ...]] = ()
    FORM: ClassVar[str] = ""
    #: Fields that hold names of quantities or choices: a scenario that is used has a name in front of them.
    NAMES: ClassVar[tuple[str, ...]] = ()
    #: It is one value a world, whatever it depends on.
    CONSTANT: ClassVar[bool] = False
    #: It may stand on a cycle through time; it goes through time, or is solved for, even alone.
    IN_CYCLE: ClassVar[bool] = False
    STEPPED: ClassVar[bool] = False
    #: It reads what another quantity was before the first step.
    LOOKS_BACK: ClassVar[bool] = False
    #: Its unit may be that of the quantities it needs, also once it is set.
    UNIT_OF_NEEDS: ClassVar[bool] = False

    # --- in a file ----------------------------------------------------------------------------------------------------

    @classmethod
    def told(cls, record: Mapping[str, Any]) -> bool:
        """Tell whether a record is of this kind."""
        return any(key in record for key in cls.IDENTIFYING_KEYS)

    @classmethod
    def read(
        cls, reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]
    ) -> QuantityKind:
        """Return the quantity of a record; `key` is its place in the file.

        Raises
        ------
        ScenarioError
        """
        raise NotImplementedError

    def under(self, alias: str) -> Self:
        """Return it as it stands in a scenario that uses its own under a name in front; see `NAMES`."""
        return self

    def mapped(
        self, formula: Callable[..., Formula], condition: Callable[[Condition, str], Condition], name: str
    ) -> Self:
        """Return it with other formulas and conditions in the place of its own; both functions take the key too."""
        return self

    # --- in a graph ---------------------------------------------------------------------------------------------------

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node, before its order, dimensions and unit are known to be right.

        Raises
        ------
        ForecastError
            Naming the file and the key.
        """
        raise NotImplementedError

    @property
    def labels(self) -> tuple[str, ...]:
        """What its values stand for, by number; empty where they are numbers."""
        return ()

    @property
    def wired(self) -> Mapping[str, str]:
        """Input of its model to quantity, where the scenario says so."""
        return {}

    def fed_by(self, need: str) -> str:
        """Return the quantity that feeds an input of its model."""
        return self.wired.get(need, need)

    def key_of(self, need: str) -> str:
        """Return the key that names a quantity it needs, for messages."""
        return next((key for key, source in self.wired.items() if source == need), "model needs an input")

    @property
    def rows(self) -> tuple[str, Any] | None:
        """The name of the uniforms that choose its rows, and the file that it reads rows of; None where it does not."""
        return None

    def unit_in(self, node: Node, nodes: Mapping[str, Node], unit_of: Mapping[str, str | None], where: str) -> str:
        """Return its unit, where those of what it needs are known.

        Raises
        ------
        UnitError
        """
        return node.unit

    def steady(self, node: Node, nodes: Mapping[str, Node]) -> bool:
        """Tell whether it is known not to change with time."""
        return self.CONSTANT

    @property
    def observed_by(self) -> tuple[str, ...]:
        """The quantities whose observations are those of this one: they come with it, and it does not need them."""
        return ()

    @property
    def states_qualifiers(self) -> bool:
        """Whether it states qualifiers of its own, whatever it needs."""
        return False

    def qualifiers_in(self, node: Node, chosen: Mapping[str, str], nodes: Mapping[str, Node], where: str) -> Qualifiers:
        """Return what it states beside its unit under these values of the choices.

        Raises
        ------
        QualifierError
        """
        return {}

    # --- in a plan ----------------------------------------------------------------------------------------------------

    @property
    def one_uniform(self) -> bool:
        """Whether it is drawn through one uniform of its own name, and so can move together with others."""
        return False

    def lower(self, plan: Plan, node: Node, combination: Combination) -> int:
        """Add the steps that compute it, and return the last: its draws, (time, draw) or (1, draw)."""
        raise NotImplementedError

    # --- in results ---------------------------------------------------------------------------------------------------

    def described(self) -> str:
        """Return what the hash of a scenario says of it: nothing of where files stand."""
        return repr(self)

    @property
    def registered(self) -> bool:
        """Whether plugins registered its models: their names, and what stands beside a series, say all of them."""
        return False

    @property
    def parts(self) -> tuple[Self, tuple[Any, ...]]:
        """It without objects of Python that compare by identity, and these."""
        return self, ()

    def files(self, node: Node) -> tuple[tuple[str, Any], ...]:
        """Return the tables and files that it reads, each with the model that does, or None."""
        return ()

    def hashes(self) -> dict[str, str]:
        """Return the hashes of data that Python holds, by name."""
        return {}


class StatedKind(QuantityKind):
    """A quantity that states its qualifiers itself, whatever it needs."""

    unit: str
    qualifiers: Mapping[str, str]

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node, which needs nothing."""
        return Node(name=name, unit=self.unit, dims=(), quantity=self)

    @property
    def states_qualifiers(self) -> bool:
        """Whether it states qualifiers of its own."""
        return bool(self.qualifiers)

    def qualifiers_in(self, node: Node, chosen: Mapping[str, str], nodes: Mapping[str, Node], where: str) -> Qualifiers:
        """Return what it states."""
        return self.qualifiers


class ModelKind(QuantityKind):
    """A quantity that a model gives; its `inputs` say which quantities feed the model."""

    NAMES = ("inputs",)
    inputs: Mapping[str, str]

    @property
    def wired(self) -> Mapping[str, str]:
        """Input of its model to quantity, where the scenario says so."""
        return self.inputs

    def qualifiers_in(self, node: Node, chosen: Mapping[str, str], nodes: Mapping[str, Node], where: str) -> Qualifiers:
        """Return what the model states, once what feeds it states what it asks for."""
        stated = stated_by_needs(node, chosen, nodes)
        model = node.models[node.own_in(chosen)]
        for need, needed in required_quantities(model):
            source = node.source(need)
            at = f"{where}: input '{need}' of model '{model.name}'"
            left = f"{model.name}.{need}" if need == source else need
            meet(check(needed.qualifiers, where=at), stated[source], left=left, right=source, where=at)
        return model.qualifiers

    def lower(self, plan: Plan, node: Node, combination: Combination) -> int:
        """Return the draws of the model."""
        return plan.level(node, combination)


def stated_by_needs(node: Node, chosen: Mapping[str, str], nodes: Mapping[str, Node]) -> dict[str, Qualifiers]:
    """Return what the quantities that a node needs state under these values of the choices."""
    return {n: nodes[n].stated_in(chosen) for n in node.sources}
