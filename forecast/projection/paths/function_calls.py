"""A plugin's function of other quantities, called date by date: blocks and their streams are made once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from forecast.base.streams import Streams
from forecast.contract.plugin_calls import call_guarded
from forecast.models.check_output import checked_draws
from forecast.projection import blocks
from forecast.projection.paths.alike import PAIR, DrawlessStreams, read_only

if TYPE_CHECKING:
    from forecast.models import FittedModel, Model
    from forecast.projection.evaluate import Block

Array = NDArray[np.float64]

__all__ = ["function_calls"]


def function_calls(
    block: Block, fitted: FittedModel, model: Model, stream: str, given: Mapping[str, Array]
) -> Callable[[Array], Array]:
    """Return what computes a function of other quantities, of all worlds or `PAIR`; it draws nothing.

    Parameters
    ----------
    block : Block
    fitted : FittedModel
    model : Model
    stream : str
        The name by which the model draws.
    given : mapping of str to ndarray
        What it needs, (time, draw): read at every call.

    Returns
    -------
    callable
        From dates to values, (time, draw).
    """
    what = f"model '{model.name}': sample"
    draws = PAIR if all(values.shape[-1] == PAIR for values in given.values()) else block.draws
    places: Iterable[tuple[slice, Streams]]
    if draws == PAIR or getattr(fitted, "pointwise", False):
        places = [
            (slice(None), blocks.node_streams(DrawlessStreams, block.seed, stream, block.blocks[0], worlds=draws))
        ]
    else:
        every = [blocks.node_streams(Streams, block.seed, stream, number) for number in block.blocks]
        places = zip(block.places, every, strict=True)
    each = [({n: read_only(values[..., here]) for n, values in given.items()}, streams) for here, streams in places]

    def call(time: Array) -> Array:
        parts = []
        for own, streams in each:
            drawn = call_guarded(what, partial(fitted.sample, read_only(time), dict(own), streams))
            parts.append(checked_draws(drawn, (len(time), streams.draws), what))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    return call
