"""Scaling laws: how loss, skill and cost move with parameters, data, compute, precision and time."""

from __future__ import annotations

from collections.abc import Iterator

from forecast import LawSpec, hookimpl


@hookimpl
def forecast_laws() -> Iterator[LawSpec]:
    """Bring the catalogue, family by family."""
    from forecast_scaling import (
        data,
        downstream,
        growth,
        hyper,
        loss,
        power,
        precision,
        sparsity,
        technology,
        training,
    )

    for family in (power, loss, data, training, precision, sparsity, hyper, downstream, technology, growth):
        yield from family.LAWS
