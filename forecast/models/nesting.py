"""Models inside models, and what they all ask for."""

from __future__ import annotations

from collections.abc import Iterator

from forecast.models.protocol import Model, OtherModel, OtherQuantity

__all__ = ["asks", "nested"]


def nested(model: Model) -> Iterator[Model]:
    """Walk a model and, depth first, the models it contains."""
    yield model
    for need in model.inputs.values():
        if isinstance(need, OtherModel):
            yield from nested(need.model)


def asks(model: Model) -> Iterator[tuple[str, OtherQuantity]]:
    """Walk the quantities a model needs, its members' included."""
    for inner in nested(model):
        for need, needed in inner.inputs.items():
            if isinstance(needed, OtherQuantity):
                yield need, needed
