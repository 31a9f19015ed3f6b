"""Functions in a scenario: what a plugin registered, or a function of Python, its inputs wired to other quantities.

::

    [quantities.score]
    function = "capability/benchmark-from-index"
    index = "eci"                                  # every input of the function, by its name
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from forecast import models, units
from forecast.errors import ScenarioError, printable
from forecast.models.functions import check_along
from forecast.scenarios.kinds.law_ref import check_wires, variable_wires
from forecast.scenarios.quantities.node import Combination, ModelKind, Node, of_models
from forecast.scenarios.spec import fill
from forecast.scenarios.templates import choices_in_templates, walk_choices

if TYPE_CHECKING:
    from forecast.models import Model
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables

#: The keys that are no inputs of the function.
FUNCTION_KEYS = ("function", "unit", "inputs", "along")


@dataclass(frozen=True, kw_only=True)
class FunctionRef(ModelKind):
    """A function of other quantities.

    Parameters
    ----------
    function : str or callable
        A registered name, which may hold choices in braces; in Python also a function.
    inputs : mapping of str to str
        Input of the function to quantity.
    unit : str
        Of what a function of Python gives.
    arguments : mapping of str to str
        The inputs of a function of Python, and their units.
    along : {"", "time"}
        What a function of Python is along.
    """

    KIND, IDENTIFYING_KEYS, FORM = "function", ("function",), "a function"
    IN_CYCLE = True

    function: str | Callable[..., Any]
    inputs: Mapping[str, str]
    unit: str = ""
    arguments: Mapping[str, str] | None = None
    along: str = ""

    @property
    def registered(self) -> bool:
        """Whether a plugin registered its function."""
        return isinstance(self.function, str)

    @property
    def parts(self) -> tuple[Self, tuple[Any, ...]]:
        """It without its function of Python, which compares by identity."""
        return (self, ()) if self.registered else (replace(self, function=""), (self.function,))

    @property
    def templates(self) -> dict[str, str]:
        """What may hold choices in braces, by key."""
        return {"function": self.function} if isinstance(self.function, str) else {}

    def __repr__(self) -> str:
        """Say which function it is, without its address."""
        name = self.function
        if not isinstance(name, str):
            name = f"{getattr(name, '__module__', '?')}.{getattr(name, '__qualname__', type(name).__name__)}"
        along = f", {self.along}" if self.along else ""
        return f"FunctionRef({name}, {self.inputs}, {self.unit}, {self.arguments}{along})"

    @classmethod
    def read(
        cls, reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]
    ) -> FunctionRef:
        """Read a function; whether its inputs are wired is for the graph, where the function is known."""
        wired = dict(variable_wires(reader, record, FUNCTION_KEYS, key))
        if not callable(record["function"]):
            for name in FUNCTION_KEYS[1:]:
                if name in record:
                    raise reader.fail(f"{key}.{name}", "is stated by the plugin that registered the function")
            text = reader.text(record, "function", key)
            reader.filled(text, choices, f"{key}.function")
            return cls(function=text, inputs=wired)
        arguments = reader.texts_by_name(record, "inputs", key)
        for name, unit in arguments.items():
            if name in FUNCTION_KEYS:
                raise reader.fail(f"{key}.inputs", f"'{name}' is a key here: give the argument another name")
            units.unit(unit, where=f"{reader.where}: {key}.inputs.{name}")
        along = reader.text(record, "along", key, default="")
        check_along(along, f"{reader.where}: {key}")
        unit = reader.unit(record, key)
        return cls(function=record["function"], inputs=wired, unit=unit, arguments=arguments, along=along)

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node of the function for each combination of the choices that its name holds.

        Raises
        ------
        UnknownNameError, ScenarioError
            Naming the key: a function that is not there, an input without a quantity.
        """
        key = f"{scenario.where}: quantities.{name}"
        own = choices_in_templates(scenario, self.templates, key=key)
        models: dict[Combination, Model] = {}
        for values, chosen in walk_choices(scenario, own):
            if isinstance(self.function, str):
                models[values] = _find_function(fill(self.function, chosen), key)
            else:
                from forecast.models.functions import function

                arguments = self.arguments or {}
                models[values] = function(self.function, unit=self.unit, inputs=arguments, name=name, along=self.along)
        check_wires(self.inputs, models, FUNCTION_KEYS, what="function", key=key)
        return of_models(scenario, name, self, own, models)


def _find_function(name: str, key: str) -> Model:
    from forecast.contract.specs import FunctionSpec
    from forecast.models.model_lookup import find_model

    if not isinstance(find_model(name, where=f"{key}.function").spec, FunctionSpec):
        raise ScenarioError(f"{key}.function: '{printable(name, 80)}' is a model and no function: write model = ")
    return models.attempt(name, where=f"{key}.function")
