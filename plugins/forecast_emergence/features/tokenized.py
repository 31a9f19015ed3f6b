"""Relations that take a perplexity of one tokenizer: fed with one of another they refuse, and both are named."""

from __future__ import annotations

from dataclasses import dataclass

from forecast.contract.specs import ModelSpec, RelationSpec
from forecast.errors import PluginContractError
from forecast.models import FittedModel, Model, ModelRecord, Need, OtherQuantity
from forecast.models.relations import from_spec
from forecast_emergence.sources import TOKENIZER

__all__ = ["relation"]


@dataclass(frozen=True, kw_only=True)
class _Tokenized(ModelRecord):
    relation: Model

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        return self.relation.fit(as_of=as_of, seed=seed)


def relation(name: str, spec: ModelSpec) -> Model:
    """Build the relation a record describes, with a perplexity that must be of the tokenizer it was fitted to."""
    if not isinstance(spec, RelationSpec):
        raise PluginContractError(f"model '{name}': expected a RelationSpec")
    result = from_spec(name, spec)
    inputs: dict[str, Need] = {
        need: OtherQuantity(unit=needed.unit, title="C4 perplexity", qualifiers=TOKENIZER)
        if need == "PPL" and isinstance(needed, OtherQuantity)
        else needed
        for need, needed in result.inputs.items()
    }
    return _Tokenized(name=name, unit=result.unit, relation=result, inputs=inputs, qualifiers=result.qualifiers)
