"""Functions that a plugin registers, or that one writes in Python: plain arrays of other quantities in, one out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forecast.contract.registry import resolve
from forecast.contract.specs import FunctionSpec
from forecast.errors import PluginContractError, UsageError
from forecast.models.protocol import Description, FittedModel, Model, ModelRecord, OtherQuantity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.base.streams import Streams

    Array = NDArray[np.float64]

__all__ = ["from_spec", "function"]


def from_spec(name: str, spec: FunctionSpec) -> Model:
    """Build the model that a `FunctionSpec` describes; its code is imported when it is fitted."""
    return _Function(
        name=name,
        unit=spec.unit,
        inputs={n: OtherQuantity(unit=unit) for n, unit in spec.inputs.items()},
        spec=spec,
        title=spec.title,
        note=spec.note,
        sources=(spec.reference,),
        qualifiers=spec.qualifiers,
    )


def function(call: Callable[..., Any], *, unit: str, inputs: Mapping[str, str], name: str = "function") -> Model:
    """Make a model of a Python function.

    Parameters
    ----------
    call : callable
        Given an array for each of `inputs` by its name, it returns an array of that shape, each element of which is
        that of the elements at its place.
    unit : str
    inputs : mapping of str to str
        Argument to unit.
    name : str

    Examples
    --------
    >>> made = function(lambda size: size / 2, unit="param", inputs={"size": "param"}, name="half")
    >>> made.fit().describe().summary
    'half(size)'
    """
    if not callable(call):
        raise UsageError(f"{name}: expected a function, got {type(call).__name__}")
    return _Function(name=name, unit=unit, inputs={n: OtherQuantity(unit=u) for n, u in inputs.items()}, call=call)


@dataclass(frozen=True, kw_only=True)
class _Function(ModelRecord):
    call: Callable[..., Any] | None = None
    spec: FunctionSpec | None = None
    title: str = ""

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        call, spec = self.call, self.spec
        if spec is not None:
            assert spec.target is not None
            call = resolve(spec.target, what=f"model '{self.name}'")
        if not callable(call):
            raise PluginContractError(f"model '{self.name}': expected a function, got {type(call).__name__}")
        return _FittedFunction(model=self, call=call)


@dataclass(frozen=True, kw_only=True)
class _FittedFunction(FittedModel):
    model: _Function
    call: Callable[..., Any]

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        import numpy as np

        shape = (len(time), streams.draws)
        # what broadcasts is read-only: a function cannot write to what others read
        given = {name: np.broadcast_to(inputs[name], shape) for name in self.model.inputs}
        return _checked(self.call(**given), shape, f"model '{self.model.name}': its function")

    def describe(self) -> Description:
        said = f"{self.model.name}({', '.join(self.model.inputs)})"
        summary = "; ".join(filter(None, (self.model.title or said, self.model.note)))
        return Description(summary=summary, sources=self.model.sources)


def _checked(returned: object, shape: tuple[int, int], what: str) -> Array:
    """Return a copy of what a function returned, as float64 and of the shape of what it was given.

    Raises
    ------
    PluginContractError
    """
    import numpy as np

    if not isinstance(returned, (np.ndarray, float, int, np.number)) or isinstance(returned, bool):
        raise PluginContractError(f"{what}: expected an array, got {type(returned).__name__}")
    array = np.asarray(returned)
    if array.dtype.kind not in "fiu":
        raise PluginContractError(f"{what}: expected real numbers, got {array.dtype}")
    if isinstance(returned, np.ma.MaskedArray):
        array = np.ma.filled(returned.astype(np.float64), np.nan)
    if array.shape not in ((), shape):
        raise PluginContractError(f"{what}: expected the shape of its inputs, {shape}, got {array.shape}")
    if lost := int((~np.isfinite(array)).sum()):
        raise PluginContractError(f"{what}: {lost} of {array.size} values are not finite")
    return np.array(np.broadcast_to(array, shape), dtype=np.float64)
