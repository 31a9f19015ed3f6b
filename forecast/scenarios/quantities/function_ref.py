"""Functions in a scenario: what a plugin registered, or a function of Python, its inputs wired to other quantities.

::

    [quantities.score]
    function = "capability/benchmark-from-index"
    index = "eci"                                  # every input of the function, by its name
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from forecast.errors import ScenarioError, printable
from forecast.models.functions import check_along
from forecast.models.nesting import asks
from forecast.scenarios.quantities.law_ref import check_wires, wires

if TYPE_CHECKING:
    from forecast.models import Model
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario

__all__ = ["FunctionRef", "by_choice", "read"]

#: The keys that are no inputs of the function.
KEYS = ("function", "unit", "inputs", "along")


@dataclass(frozen=True, kw_only=True)
class FunctionRef:
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

    NAMES: ClassVar = ("inputs",)

    function: str | Callable[..., Any]
    inputs: Mapping[str, str]
    unit: str = ""
    arguments: Mapping[str, str] | None = None
    along: str = ""

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


def read(reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]) -> FunctionRef:
    """Read a function; whether its inputs are wired is for the graph, where the function is known."""
    from forecast import units

    wired = dict(wires(reader, record, KEYS, key))
    if not callable(record["function"]):
        for name in KEYS[1:]:
            if name in record:
                raise reader.fail(f"{key}.{name}", "is stated by the plugin that registered the function")
        text = reader.text(record, "function", key)
        reader.filled(text, choices, f"{key}.function")
        return FunctionRef(function=text, inputs=wired)
    arguments = reader.texts_by_name(record, "inputs", key)
    for name, unit in arguments.items():
        if name in KEYS:
            raise reader.fail(f"{key}.inputs", f"'{name}' is a key here: give the argument another name")
        units.unit(unit, where=f"{reader.where}: {key}.inputs.{name}")
    along = reader.text(record, "along", key, default="")
    check_along(along, f"{reader.where}: {key}")
    unit = reader.unit(record, key)
    return FunctionRef(function=record["function"], inputs=wired, unit=unit, arguments=arguments, along=along)


def by_choice(
    scenario: Scenario, name: str, quantity: FunctionRef, own: tuple[str, ...], key: str
) -> dict[tuple[str, ...], Model]:
    """Return the model for each combination of the choices that the function's name holds.

    Raises
    ------
    UnknownNameError, ScenarioError
        Naming the key: a function that is not there, an input without a quantity.
    """
    from forecast.scenarios.spec import fill
    from forecast.scenarios.templates import walk

    models = {}
    for values, chosen in walk(scenario, own):
        if isinstance(quantity.function, str):
            models[values] = _registered(fill(quantity.function, chosen), key)
        else:
            from forecast.models.functions import function

            arguments = quantity.arguments or {}
            models[values] = function(
                quantity.function, unit=quantity.unit, inputs=arguments, name=name, along=quantity.along
            )
    needed_units = {n: need.unit for model in models.values() for n, need in asks(model)}
    check_wires(quantity.inputs, needed_units, KEYS, what="function", key=key)
    return models


def _registered(name: str, key: str) -> Model:
    from forecast import models
    from forecast.contract.specs import FunctionSpec
    from forecast.models.model_lookup import named

    if not isinstance(named(name, where=f"{key}.function").spec, FunctionSpec):
        raise ScenarioError(f"{key}.function: '{printable(name, 80)}' is a model and no function: write model = ")
    return models.attempt(name, where=f"{key}.function")
