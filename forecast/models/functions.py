"""Functions that a plugin registers, or that one writes in Python: plain arrays of other quantities in, one out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast.base.arrays import Array
from forecast.base.lazy import is_masked_array
from forecast.contract.registry import import_target
from forecast.contract.specs import FunctionSpec
from forecast.errors import PluginContractError, UnknownNameError, UsageError
from forecast.models.protocol import Description, FittedModel, Model, ModelRecord, OtherQuantity

if TYPE_CHECKING:
    from forecast.base.streams import Streams


def from_spec(name: str, spec: FunctionSpec) -> Model:
    """Build the model that a `FunctionSpec` describes; its code is imported when it is fitted."""
    return _Function(
        name=name,
        unit=spec.unit,
        inputs={n: OtherQuantity(unit=unit) for n, unit in spec.inputs.items()},
        spec=spec,
        along=spec.along,
        title=spec.title,
        note=spec.note,
        sources=(spec.reference,),
        qualifiers=spec.qualifiers,
    )


def function(
    call: Callable[..., Any], *, unit: str, inputs: Mapping[str, str], name: str = "function", along: str = ""
) -> Model:
    """Make a model of a Python function.

    Parameters
    ----------
    call : callable
        Given an array for each of `inputs` by its name, (time, draw), it returns an array of that shape. An argument
        ``t`` that is no input is given the dates, as decimal years.
    unit : str
    inputs : mapping of str to str
        Argument to unit.
    name : str
    along : {"", "time"}
        Nothing: each element is that of the elements at its place. ``"time"``: each is made of its own world's path up
        to its date.

    Examples
    --------
    >>> made = function(lambda size: size / 2, unit="param", inputs={"size": "param"}, name="half")
    >>> made.fit().describe().summary
    'half(size)'
    """
    if not callable(call):
        raise UsageError(f"{name}: expected a function, got {type(call).__name__}")
    check_along(along, name)
    needs = {n: OtherQuantity(unit=u) for n, u in inputs.items()}
    return _Function(name=name, unit=unit, inputs=needs, call=call, along=along)


@dataclass(frozen=True, kw_only=True)
class _Function(ModelRecord):
    call: Callable[..., Any] | None = None
    spec: FunctionSpec | None = None
    title: str = ""
    along: str = ""

    def fit(self, *, as_of: float | None = None, seed: int = 0) -> FittedModel:
        call, spec = self.call, self.spec
        if spec is not None:
            assert spec.target is not None
            call = import_target(spec.target, what=f"model '{self.name}'")
        if not callable(call):
            raise PluginContractError(f"model '{self.name}': expected a function, got {type(call).__name__}")
        return _FittedFunction(model=self, call=call, dated="t" not in self.inputs and takes_time(call))


@dataclass(frozen=True, kw_only=True)
class _FittedFunction(FittedModel):
    model: _Function
    call: Callable[..., Any]
    dated: bool
    tried: list[bool] = field(default_factory=list, compare=False, repr=False)

    @property
    def pointwise(self) -> bool:
        """Whether each element is made of those at its place, so that any worlds may be computed together."""
        return not self.model.along

    def sample(self, time: Array, inputs: Mapping[str, Array], streams: Streams, *, observed: bool = False) -> Array:
        shape = (len(time), streams.draws)
        # what broadcasts is read-only: a function cannot write to what others read
        arrays = {
            name: values
            if (values := inputs[name]).shape == shape and not values.flags.writeable
            else np.broadcast_to(values, shape)
            for name in self.model.inputs
        }
        if self.dated:
            arrays["t"] = np.broadcast_to(np.asarray(time, dtype=np.float64)[:, None], shape)
        what = f"model '{self.model.name}': its function"
        result = _check_returned(self.call(**arrays), shape, what)
        if not self.tried:
            check_places(self.call, arrays, result, self.model.along, what)
            self.tried.append(True)
        return result

    def describe(self) -> Description:
        signature = f"{self.model.name}({', '.join(self.model.inputs)})"
        summary = "; ".join(filter(None, (self.model.title or signature, self.model.note)))
        return Description(summary=summary, sources=self.model.sources)


def check_along(along: object, name: str) -> None:
    """Raise if a function cannot be along this dimension.

    Raises
    ------
    UsageError
    """
    if along == "draw":
        raise UsageError(
            f"{name}: along='draw': worlds are drawn and reduced in blocks, and fewer are a prefix of more, so that no "
            "function sees all of them; take a mean over worlds of the result, or a distribution fitted to the worlds "
            "of another quantity (fitted = 'normal')"
        )
    if along not in ("", "time"):
        raise UnknownNameError("dimension of a function", str(along), ("time",), where=f"{name}: along")


def takes_time(call: Callable[..., Any]) -> bool:
    """Return True if a function has an argument ``t``: the dates.

    Examples
    --------
    >>> takes_time(lambda x, t: x * t), takes_time(lambda x: x)
    (True, False)
    """
    try:
        return "t" in inspect.signature(call).parameters
    except (TypeError, ValueError):  # built-in code that does not say what it takes
        return False


def check_places(call: Callable[..., Any], arrays: Mapping[str, Array], whole: Array, along: str, what: str) -> None:
    """Raise if a function gives other numbers for a part of its inputs, in another order, than for all of them.

    Parameters
    ----------
    call : callable
    arrays : mapping of str to array
        Its inputs, (time, draw).
    whole : array
        Its result.
    along : {"", "time"}
        As it declares.
    what : str
        Whose function it is, for the message.

    Raises
    ------
    PluginContractError
    """
    rng = np.random.default_rng(0)
    if along == "time":  # other worlds, and fewer dates
        steps, worlds = (len(whole) + 1) // 2, rng.permutation(whole.shape[1])[:7]
        part = {name: values[:steps, worlds] for name, values in arrays.items()}
        expected = whole[:steps, worlds]
        how = "along='time' each element is made of its own world's path up to its date"
    else:  # elements of any world and date, one under the other
        picked = rng.permutation(whole.size)[:21]
        place = picked.reshape(3, -1) if len(picked) % 3 == 0 else picked[:, None]
        part = {name: np.ascontiguousarray(values).reshape(-1)[place] for name, values in arrays.items()}
        expected = whole.reshape(-1)[place]
        how = "each element is made of those at its place alone; what needs its world's path says along='time'"
    for values in part.values():
        values.flags.writeable = False
    result = _check_returned(call(**part), expected.shape, what)
    if not np.allclose(result, expected, rtol=1e-9, atol=1e-12 * float(np.max(np.abs(expected), initial=0.0))):
        if not np.array_equal(_check_returned(call(**arrays), whole.shape, what), whole):
            raise PluginContractError(f"{what} gives other numbers for the same inputs")
        raise PluginContractError(f"{what} gives other numbers for a part of its inputs than for all of them: {how}")


def _check_returned(returned: object, shape: tuple[int, int], what: str) -> Array:
    """Return a copy of the result of a function, as float64 and in the shape of its inputs.

    Raises
    ------
    PluginContractError
    """
    if not isinstance(returned, (np.ndarray, float, int, np.number)) or isinstance(returned, bool):
        raise PluginContractError(f"{what}: expected an array, got {type(returned).__name__}")
    array = np.asarray(returned)
    if array.dtype.kind not in "fiu":
        raise PluginContractError(f"{what}: expected real numbers, got {array.dtype}")
    if is_masked_array(returned):
        array = np.ma.filled(returned.astype(np.float64), np.nan)
    if array.shape not in ((), shape):
        raise PluginContractError(f"{what}: expected the shape of its inputs, {shape}, got {array.shape}")
    if lost := array.size - np.count_nonzero(np.isfinite(array)):
        raise PluginContractError(f"{what}: {lost} of {array.size} values are not finite")
    return array.astype(np.float64) if array.shape == shape else np.full(shape, array, dtype=np.float64)
