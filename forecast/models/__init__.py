"""Models: anything that produces a quantity, behind one protocol.

A **trend** makes it from time (shape + column), an **estimate** from inputs (formula + inputs), a **relation** from
other quantities (law + fit), a **mixture** from rival models of one quantity.
"""

from __future__ import annotations

from forecast.contract.plugin_calls import guarded
from forecast.contract.registry import Record, get_registry, resolve
from forecast.contract.specs import EstimateSpec, MixtureSpec, ModelSpec, RelationSpec, TrendSpec
from forecast.errors import PluginContractError, PluginError
from forecast.models import estimates, mixtures, relations, trends
from forecast.models.check_output import checked_model
from forecast.models.estimates import estimate
from forecast.models.protocol import (
    Broken,
    Description,
    FittedModel,
    FittedShape,
    Model,
    ModelRecord,
    Need,
    Observations,
    OtherModel,
    OtherQuantity,
    Shape,
    Unfitted,
)
from forecast.models.trends import shape, trend
from forecast.units import qualifiers

__all__ = [
    "Description",
    "FittedModel",
    "FittedShape",
    "Model",
    "ModelRecord",
    "Need",
    "Observations",
    "OtherModel",
    "OtherQuantity",
    "Shape",
    "Unfitted",
    "attempt",
    "estimate",
    "model",
    "shape",
    "trend",
]


def model(name: str, *, where: str = "") -> Model:
    """Return a registered model by name.

    Parameters
    ----------
    name : str
        ``hardware/hpcg-exponential``, or a bare name while unique.
    where : str
        Where the name was written, for the error.

    Raises
    ------
    UnknownNameError, AmbiguousNameError, ConflictError
        If the name does not resolve.
    PluginError
        If the plugin's code fails or returns something else than a model.

    Examples
    --------
    >>> import forecast
    >>> forecast.model("hardware/linpack-exponential").unit
    'TFLOP/s'
    """
    return _build(get_registry().find("model", name, where=where))


def attempt(name: str, *, where: str = "") -> Model:
    """Return a registered model; one whose plugin cannot make it fails when it is fitted, so that the rest goes on."""
    record = get_registry().find("model", name, where=where)
    try:
        return _build(record)
    except PluginError as error:
        assert isinstance(record.spec, ModelSpec)
        return Broken(name=record.full_name, unit=record.spec.unit, error=error, qualifiers=record.spec.qualifiers)


def _build(record: Record, *, within: tuple[str, ...] = ()) -> Model:
    spec, name = record.spec, record.full_name
    assert isinstance(spec, ModelSpec)
    if spec.target is not None:
        make = resolve(spec.target, what=f"model '{name}'")
        model = checked_model(guarded(f"model '{name}'", lambda: make(name, spec)), f"model '{name}'")
        if dict(model.qualifiers) != dict(spec.qualifiers):
            sides = (
                f"the record states {qualifiers.text(spec.qualifiers)}, the model {qualifiers.text(model.qualifiers)}"
            )
            raise PluginContractError(f"model '{name}': qualifiers: {sides}")
        return model
    if isinstance(spec, TrendSpec):
        return trends.from_spec(name, spec)
    if isinstance(spec, EstimateSpec):
        return estimates.from_spec(name, spec)
    if isinstance(spec, RelationSpec):
        return relations.from_spec(name, spec)
    if isinstance(spec, MixtureSpec):
        if name in within:
            raise PluginContractError(f"model '{name}': the mixture contains itself: {' → '.join((*within, name))}")
        members = {
            member: _build(get_registry().find("model", member, where=f"model '{name}'"), within=(*within, name))
            for member in spec.weights
        }
        return mixtures.from_spec(name, spec, members)
    raise PluginContractError(f"model '{name}': no kind of model is made from {type(spec).__name__}")
