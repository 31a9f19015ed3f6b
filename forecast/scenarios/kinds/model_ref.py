"""A model in a scenario: a registered one by its name, or one of Python, its inputs fed by other quantities.

::

    [quantities.machine]
    model = "hardware/{metric}"      # choices in braces
    shape = "trends/{trend}"         # beside a series, with options
    inputs = { brain = "small" }     # else the quantity of an input's name feeds it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from forecast import models
from forecast.models import Model, model_lookup
from forecast.scenarios.quantities.node import Combination, ModelKind, Node, of_models
from forecast.scenarios.spec import fill
from forecast.scenarios.templates import choices_in_templates, walk_choices

if TYPE_CHECKING:
    from forecast.scenarios.parse import ScenarioReader
    from forecast.scenarios.scenario import Scenario
    from forecast.scenarios.table_values import Tables


@dataclass(frozen=True, kw_only=True)
class ModelRef(ModelKind):
    """A registered model, by a name that may hold choices in braces, or a model object.

    `shape` stands beside a series and may hold choices too; `options` are those of the shape. An input that `inputs`
    does not wire is fed by the quantity of its name, with `scope` in front.
    """

    KIND, IDENTIFYING_KEYS, FORM = "model", ("model",), "a model"

    model: Any
    shape: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)
    scope: str = ""

    @classmethod
    def read(cls, reader: ScenarioReader, record: Mapping[str, Any], key: str, choices: Mapping[str, Any]) -> ModelRef:
        """Return a model by name, or a model object."""
        from forecast.models.check_output import checked_model

        reader.only(record, ("model", "shape", "options", "inputs"), key)
        wiring = record.get("inputs", {})
        if not isinstance(wiring, Mapping) or not all(isinstance(v, str) for v in wiring.values()):
            raise reader.fail(f"{key}.inputs", "expected a table of input to quantity")
        if isinstance(record["model"], Model):
            checked_model(record["model"], f"{reader.where}: {key}.model")
            for beside in ("shape", "options"):
                if beside in record:
                    raise reader.fail(f"{key}.{beside}", "a model that is an object has what it needs")
            return cls(model=record["model"], inputs=dict(wiring))
        template = reader.text(record, "model", key)
        shape = reader.text(record, "shape", key, default="")
        reader.filled(template, choices, f"{key}.model")
        reader.filled(shape, choices, f"{key}.shape")
        options = dict(reader.mapping(record, "options", key))
        return cls(model=template, shape=shape, options=options, inputs=dict(wiring))

    def under(self, alias: str) -> Self:
        """Return it fed by the quantities that have a name in front."""
        return replace(self, scope=f"{alias}.{self.scope}")

    def fed_by(self, need: str) -> str:
        """Return the quantity that feeds an input of the model."""
        return self.inputs.get(need, f"{self.scope}{need}")

    def key_of(self, need: str) -> str:
        """Return the key that names a quantity it needs: its wires are keys of their own."""
        return "model needs an input"

    def node(self, scenario: Scenario, name: str, tables: Tables) -> Node:
        """Return the node of the model for each combination of the choices in its name and its shape."""
        key = f"{scenario.where}: quantities.{name}"
        if isinstance(self.model, Model):
            return of_models(scenario, name, self, (), {(): self.model})
        own = choices_in_templates(scenario, {"model": self.model, "shape": self.shape}, key=key)
        by_choice: dict[Combination, Model] = {}
        for combination, chosen in walk_choices(scenario, own):
            full, shape = fill(self.model, chosen), fill(self.shape, chosen)
            at = f"{key}.shape" if self.shape else f"{key}.model"
            by_choice[combination] = models.attempt(full, shape=shape, options=self.options, where=at)
        return of_models(scenario, name, self, own, by_choice)

    def described(self) -> str:
        """Return its name, its shape and what feeds it."""
        name = self.model if isinstance(self.model, str) else self.model.name
        beside = f" shape {self.shape} {sorted(self.options.items())}" if self.shape or self.options else ""
        return f"model {name}{beside} {sorted(self.inputs.items())}"

    @property
    def registered(self) -> bool:
        """Whether a plugin registered its model: it has it by name, or as the object that the name gives."""
        return isinstance(self.model, str) or model_lookup.is_registered(self.model)

    @property
    def parts(self) -> tuple[Self, tuple[Any, ...]]:
        """It without its model object, which compares by identity."""
        return (replace(self, model=""), (self.model,)) if isinstance(self.model, Model) else (self, ())
