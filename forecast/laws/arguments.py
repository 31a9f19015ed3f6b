"""What a law is computed of, as arrays, or what is missing or does not fit together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from forecast.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.laws.definition import Law

    Array = NDArray[np.float64]

__all__ = ["collect"]


def collect(
    law: Law, parameters: Mapping[str, Any], variables: Mapping[str, Any]
) -> tuple[dict[str, Array], tuple[int, ...]]:
    """Return everything a law needs as float64 arrays, and the shape they broadcast to."""
    import numpy as np

    for name in variables:
        if name not in law.variables:
            raise UnknownNameError("variable", name, law.variables, where=law._where)
    found = {}
    for kind, names, given in (
        ("parameter", law.parameters, parameters),
        ("variable", tuple(law.variables), variables),
    ):
        for name in names:
            if name not in given:
                raise UsageError(f"{law._where}: no value for the {kind} '{name}'")
            value = law._coded(name, given[name])
            try:
                found[name] = np.asarray(value, dtype=np.float64)
            except (TypeError, ValueError):
                got = type(given[name]).__name__
                raise UsageError(f"{law._where}: {kind} '{name}': expected numbers, got {got}") from None
    try:
        return found, np.broadcast_shapes(*(v.shape for v in found.values()))
    except ValueError:
        shapes = ", ".join(f"{n} {v.shape}" for n, v in found.items() if v.ndim)
        raise UsageError(f"{law._where}: shapes do not broadcast: {shapes}") from None
