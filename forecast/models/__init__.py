"""Models: anything that produces a quantity, behind one protocol.

A **trend** makes it from time (a series and the shape beside it), an **estimate** from inputs (formula + inputs), a
**relation** from other quantities (law + fit), a **mixture** from rival models of one quantity.
"""

from __future__ import annotations

from forecast.base.arrays import Array
from forecast.models.estimates import estimate
from forecast.models.model_lookup import attempt, model
from forecast.models.protocol import (
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
from forecast.models.shapes import Anchored, condition_draws
from forecast.models.trends import shape, trend

__all__ = [
    "Anchored",
    "Array",
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
    "condition_draws",
    "estimate",
    "model",
    "shape",
    "trend",
]
