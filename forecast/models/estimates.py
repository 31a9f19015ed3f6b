"""Formula + inputs = estimate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import formula, units
from forecast.base.arrays import Array
from forecast.base.distributions import distribution
from forecast.contract.specs import EstimateSpec, Input
from forecast.errors import UsageError
from forecast.models.protocol import Description, Model, Need, Unfitted

if TYPE_CHECKING:
    from forecast.base.streams import Streams


def from_spec(name: str, spec: EstimateSpec) -> Model:
    """Build the model an `EstimateSpec` describes."""
    return estimate(
        spec.expression,
        inputs=spec.inputs,
        unit=spec.unit,
        name=name,
        note=spec.note,
        sources=(spec.reference,),
        qualifiers=spec.qualifiers,
    )


@dataclass(frozen=True, kw_only=True)
class _Estimate(Unfitted):
    expression: str

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        input_units = {n: need.unit for n, need in self.inputs.items() if isinstance(need, Input)}
        tree = formula.parse(self.expression, where=self.name)
        value = units.value_of(tree, inputs, input_units, target=self.unit, where=self.name)
        return np.broadcast_to(value, (len(time), streams.draws))

    def describe(self) -> Description:
        inputs = [(i, distribution(i.distribution)) for i in self.inputs.values() if isinstance(i, Input)]
        uncertain = [i.name for i, dist in inputs if dist.family != "fixed"]
        if len(inputs) == 1:
            summary = f"{inputs[0][1]} [{self.unit}]"
        else:
            named = (
                f"{len(uncertain)} of them uncertain ({', '.join(uncertain)})"
                if uncertain
                else "none of them uncertain"
            )
            summary = f"a formula over {len(inputs)} inputs, {named}"
        return Description(
            summary=summary + (f"; {self.note}" if self.note else ""),
            assumptions=(f"{self.name} = {self.expression}", *(each.as_line() for each, _ in inputs)),
            sources=self.sources,
        )


def estimate(
    expression: str,
    *,
    inputs: Mapping[str, Input | Mapping[str, Any] | float] | tuple[Input, ...],
    unit: str,
    name: str = "estimate",
    note: str = "",
    sources: tuple[str, ...] = (),
    qualifiers: Mapping[str, str] | None = None,
) -> Model:
    """Make an estimate: a formula over uncertain inputs.

    Parameters
    ----------
    expression : str
        In the safe grammar, over the inputs' names. Its unit, worked out from the inputs' units, must match `unit`.
    inputs : tuple of Input, or mapping of name to Input, distribution record (with ``unit``) or number
    unit : str
    name : str
        Names its inputs' random streams.
    note : str
        A caveat for the reader.
    sources : tuple of str
        The sources of the formula.
    qualifiers : mapping of str to str
        Of the result, beside its unit, if they differ from those of its inputs (see
        `forecast.units.qualifiers`).

    Raises
    ------
    UnitError
        If the formula does not balance, or mixes bases.
    FormulaError, ScenarioError
        For formulas and distributions that cannot be.

    Examples
    --------
    >>> import forecast
    >>> brain = forecast.estimate("synapses*rate", unit="FLOP/s", inputs={
    ...     "synapses": {"p05": 1e14, "p95": 1e15, "unit": "FLOP"}, "rate": {"value": 1.0, "unit": "1/s"}})
    >>> brain.model.unit
    'FLOP/s'
    """
    from forecast.units import qualifiers as bases

    listed = {i.name: i for i in inputs} if isinstance(inputs, tuple) else dict(inputs)
    needs: dict[str, Need] = {}
    for key, value in listed.items():
        formula.check_name(key, where=name)
        if not isinstance(value, Input):
            record: dict[str, Any] = dict(value) if isinstance(value, Mapping) else {"value": value}
            value = Input(
                name=key,
                unit=record.pop("unit", ""),
                source=record.pop("source", "given"),
                title=record.pop("title", ""),
                qualifiers=record.pop("qualifiers", {}),
                distribution=record,
            )
        distribution(value.distribution, where=f"{name}.{key}")
        bases.check(value.qualifiers, where=f"{name}.{key}")
        needs[key] = value
    tree = formula.parse(expression, where=name)
    for missing in [n for n in tree.names if n not in needs]:
        raise UsageError(
            f"{name}: the formula uses '{missing}', which is not among its inputs: {', '.join(needs) or 'none'}"
        )
    inferred = units.infer(tree, {n: need.unit for n, need in needs.items() if isinstance(need, Input)}, where=name)
    units.check(inferred, unit, where=f"{name}: the formula against its declared unit")
    stated = bases.check(qualifiers or {}, where=name)
    given = {n: need.qualifiers for n, need in needs.items() if isinstance(need, Input)}
    return _Estimate(
        name=name,
        unit=unit,
        expression=tree.text,
        inputs=needs,
        note=note,
        sources=sources,
        qualifiers=bases.infer(tree, given, qualifiers=stated, where=name),
    )
