"""Models inside models, and the quantities they need."""

from __future__ import annotations

from collections.abc import Iterator

from forecast.models.protocol import Model, OtherModel, OtherQuantity


def walk_models(model: Model) -> Iterator[Model]:
    """Traverse a model and, depth first, the models it contains."""
    yield model
    for need in model.inputs.values():
        if isinstance(need, OtherModel):
            yield from walk_models(need.model)


def required_quantities(model: Model) -> Iterator[tuple[str, OtherQuantity]]:
    """Yield the quantities a model needs, its members' included."""
    for inner in walk_models(model):
        for need, needed in inner.inputs.items():
            if isinstance(needed, OtherQuantity):
                yield need, needed
