"""A plugin's function of other quantities, called date by date: blocks and their streams are made once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast.base.streams import Streams
from forecast.contract.plugin_calls import guarded
from forecast.models.check_output import checked_draws
from forecast.projection import blocks
from forecast.projection.paths.alike import PAIR, PairStreams, read_only

if TYPE_CHECKING:
    from forecast.models import FittedModel, Model
    from forecast.projection.world import World

Array = NDArray[np.float64]

__all__ = ["function_calls"]


def function_calls(
    world: World, fitted: FittedModel, model: Model, given: Mapping[str, Array]
) -> Callable[[Array], Array]:
    """Return what computes a function of other quantities, of all worlds or `PAIR`; it draws nothing.

    Parameters
    ----------
    world : World
    fitted : FittedModel
    model : Model
    given : mapping of str to ndarray
        What it needs, (time, draw): read at every call.

    Returns
    -------
    callable
        From dates to values, (time, draw).
    """
    what = f"model '{model.name}': sample"
    two = all(values.shape[-1] == PAIR for values in given.values())
    kind, stream, each = PairStreams if two else Streams, world.graph.stream(model.name), []
    for here, number in list(zip(world.places, world.blocks, strict=True))[: 1 if two else None]:
        streams = blocks.streams(kind, world.seed, stream, number)
        each.append(({name: read_only(values[..., here]) for name, values in given.items()}, streams))

    def call(time: Array) -> Array:
        parts = []
        for own, streams in each:
            drawn = guarded(what, partial(fitted.sample, read_only(time), dict(own), streams))
            parts.append(checked_draws(drawn, (len(time), streams.draws), what))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    return call
