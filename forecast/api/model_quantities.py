"""`forecast.model`, `forecast.trend` and `forecast.estimate`: the models of `forecast.models`, as quantities."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec

from forecast import models
from forecast.api.quantity import Quantity, as_quantity
from forecast.models import Model

__all__ = ["estimate", "model", "trend"]

P = ParamSpec("P")


def _as_quantities(make: Callable[P, Model]) -> Callable[P, Quantity]:
    @functools.wraps(make)
    def make_quantity(*args: P.args, **keywords: P.kwargs) -> Quantity:
        return as_quantity(make(*args, **keywords))

    make_quantity.__module__ = __name__  # where pickle and the documentation find it
    return make_quantity


model = _as_quantities(models.model)
trend = _as_quantities(models.trend)
estimate = _as_quantities(models.estimate)
