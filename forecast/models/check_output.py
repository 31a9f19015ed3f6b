"""Checks of the results of plugins' models, which are copied, so that a buffer of the plugin changes nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from forecast.base.arrays import Array
from forecast.base.lazy import is_masked_array
from forecast.base.operators import Operators
from forecast.contract.specs import Input
from forecast.errors import PluginContractError, printable
from forecast.models.protocol import Description, Model, Observations, OtherModel, OtherQuantity
from forecast.units import qualifiers

_MODEL_NAME_PART = r"[A-Za-z0-9_][\w-]{0,63}(/[A-Za-z0-9_][\w-]{0,63})?"
#: Of which distribution, where two offer a name.
_OF = r"([\w.-]{1,100}::)?"
#: A name, and beside a series the shape: ``hardware/hpcg@changepoint``.
_MODEL_NAME = re.compile(f"{_OF}{_MODEL_NAME_PART}(@{_OF}{_MODEL_NAME_PART})?", re.ASCII)


def checked_model(returned: object, what: str) -> Model:
    """Return a model, or the model that a quantity is, with a name, a unit and inputs as the protocol asks.

    Raises
    ------
    PluginContractError
    """
    model = returned.model if isinstance(returned, Operators) and returned.is_model else returned
    if not isinstance(model, Model):
        raise PluginContractError(f"{what}: expected a forecast.models.Model, got {type(model).__name__}")
    name, unit, inputs, basis = (getattr(model, field, None) for field in ("name", "unit", "inputs", "qualifiers"))
    if not isinstance(name, str) or not _MODEL_NAME.fullmatch(name):
        raise PluginContractError(
            f"{what}: name: expected letters, digits, hyphens and at most one slash, got '{printable(name, 80)}'"
        )
    if not isinstance(unit, str):
        raise PluginContractError(f"{what}: unit: expected text, got {type(unit).__name__}")
    if not isinstance(inputs, Mapping):
        raise PluginContractError(f"{what}: inputs: expected a mapping, got {type(inputs).__name__}")
    if not isinstance(basis, Mapping):
        raise PluginContractError(f"{what}: qualifiers: expected a mapping, got {type(basis).__name__}")
    qualifiers.check(basis, where=what)
    for key, need in inputs.items():
        if not isinstance(key, str) or not isinstance(need, (Input, OtherModel, OtherQuantity)):
            raise PluginContractError(
                f"{what}: inputs: '{printable(key, 60)}': expected an Input, OtherQuantity or OtherModel, "
                f"got {type(need).__name__}"
            )
    return model


def _copy_of_numbers(array: object, shape: tuple[int, ...], what: str, dims: str) -> Array:
    """Return a copy as float64 of an array of real numbers of this shape, none of them NaN."""
    out = _copy_of_floats(array, shape, what, dims)
    if np.isnan(out).any():
        raise PluginContractError(f"{what}: {int(np.isnan(out).sum())} of {out.size} values are NaN")
    return out


def _copy_of_floats(array: object, shape: tuple[int, ...], what: str, dims: str) -> Array:
    """Return a copy as float64 of an array of real numbers of this shape."""
    if not isinstance(array, np.ndarray):
        raise PluginContractError(f"{what}: expected an array of shape {dims}, got {type(array).__name__}")
    if array.dtype.kind not in "fiu":
        raise PluginContractError(f"{what}: expected real numbers, got {array.dtype}")
    if array.shape != shape:
        raise PluginContractError(f"{what}: expected shape {dims} = {shape}, got {array.shape}")
    if is_masked_array(array):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    return np.array(array, dtype=np.float64)


def checked_draws(draws: object, shape: tuple[int, int], what: str) -> Array:
    """Return the sample of a model as float64, or raise if it breaks its contract; a draw of NaN fails later.

    If all dates share one row in memory, they do in the result.

    Raises
    ------
    PluginContractError
    """
    dims = "(time, draw)"
    if isinstance(draws, np.ndarray) and draws.shape == shape and shape[0] > 1 and draws.strides[0] == 0:
        return np.broadcast_to(_copy_of_floats(draws[:1], (1, shape[1]), what, dims), shape)
    return _copy_of_floats(draws, shape, what, dims)


def checked_posterior(returned: object, draws: int, what: str) -> dict[str, Array]:
    """Return draws of parameters by name, (draw,) each.

    Raises
    ------
    PluginContractError
    """
    if not isinstance(returned, Mapping):
        raise PluginContractError(f"{what}: expected a mapping of parameter to draws, got {type(returned).__name__}")
    out: dict[str, Array] = {}
    for name, values in returned.items():
        if not isinstance(name, str) or not name.isidentifier() or name == "draw":
            raise PluginContractError(f"{what}: '{printable(name, 60)}' cannot name a parameter")
        out[name] = _copy_of_numbers(values, (draws,), f"{what}: '{name}'", "(draw,)")
    return out


def checked_observations(returned: object, what: str) -> Observations:
    """Return the points behind a fit, of which there may be none.

    Raises
    ------
    PluginContractError
    """
    from forecast import units

    if returned is None:
        return Observations()
    if not isinstance(returned, Observations):
        raise PluginContractError(f"{what}: expected Observations, got {type(returned).__name__}")
    count = np.size(returned.time)
    if not count:
        return Observations()
    time = _copy_of_numbers(returned.time, (count,), f"{what}: time", "(point,)")
    value = _copy_of_numbers(returned.value, (count,), f"{what}: value", "(point,)")
    units.unit(returned.unit, where=what)
    names: object = returned.names
    if not isinstance(names, tuple) or not all(isinstance(n, str) for n in names) or len(names) not in (0, count):
        raise PluginContractError(f"{what}: names: expected a text for each of {count} points, or none")
    return Observations(time=time, value=value, unit=returned.unit, names=names)


def checked_description(returned: object, what: str) -> dict[str, Any]:
    """Return the description of a fitted model as plain data.

    Raises
    ------
    PluginContractError
    """
    import math

    if not isinstance(returned, Description):
        raise PluginContractError(f"{what}: expected a Description, got {type(returned).__name__}")
    texts = (returned.summary, *returned.assumptions, *returned.sources)
    if not all(isinstance(t, str) for t in texts):
        raise PluginContractError(f"{what}: expected text in summary, assumptions and sources")
    try:
        facts = {str(k): float(v) for k, v in returned.facts.items()}
    except (TypeError, ValueError, OverflowError) as error:
        raise PluginContractError(f"{what}: facts: expected numbers by name") from error
    return {
        "summary": returned.summary,
        "assumptions": list(returned.assumptions),
        "sources": list(returned.sources),
        "facts": {k: v if math.isfinite(v) else None for k, v in facts.items()},
        **({"read": str(returned.read)} if returned.read else {}),
    }
