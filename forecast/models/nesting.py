"""Models inside models, and what they all ask for."""

from __future__ import annotations

from collections.abc import Iterator

from forecast.models.protocol import Model, OtherModel, OtherQuantity

__all__ = ["asks", "nested"]


def nested(made: Model) -> Iterator[Model]:
    """Walk a model and, depth first, the models it contains."""
    yield made
    for asked in made.inputs.values():
        if isinstance(asked, OtherModel):
            yield from nested(asked.model)


def asks(made: Model) -> Iterator[tuple[str, OtherQuantity]]:
    """Walk the quantities a model needs, its members' included."""
    for inner in nested(made):
        for need, asked in inner.inputs.items():
            if isinstance(asked, OtherQuantity):
                yield need, asked
