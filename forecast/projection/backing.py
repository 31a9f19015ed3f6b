"""What stands behind a projection: the observations of its trends, the draws of its inputs and parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from forecast import units
from forecast.base.dates import from_decimal_year
from forecast.base.streams import BLOCK, Streams
from forecast.models import Model, Observations
from forecast.projection.world import Fits, World
from forecast.scenarios import graph as graphs
from forecast.scenarios.graph import Combination, Graph

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["described", "models_of", "observed", "points", "posteriors"]


def points(graph: Graph, fits: Fits) -> Iterator[tuple[str, Combination, Observations]]:
    """Walk the observations behind every quantity, with the combination of its model's own choices."""
    for name, node in graph.nodes.items():
        for combination, model in node.models.items():
            seen = fits.observed(model)
            if seen is not None:
                yield name, combination, seen


def observed(graph: Graph, fits: Fits) -> Iterator[tuple[str, xr.Dataset]]:
    """Return the points behind each quantity, each once, labelled by the choices that change them."""
    import xarray as xr

    by_name: dict[str, dict[Combination, Observations]] = {}
    for name, combination, seen in points(graph, fits):
        by_name.setdefault(name, {})[combination] = seen
    for name, series in by_name.items():
        own, unit = graph.nodes[name].own, graph.nodes[name].unit
        matters = [i for i in range(len(own)) if _changes(series, i)]
        kept: dict[Combination, Observations] = {}
        for combination, seen in series.items():
            kept.setdefault(tuple(combination[i] for i in matters), seen)
        time = np.concatenate([from_decimal_year(p.time) for p in kept.values()])
        value = np.concatenate([units.convert(p.value, p.unit, unit, where=name) for p in kept.values()])
        labels = {
            own[i]: ("point", np.concatenate([[c[k]] * len(p.time) for c, p in kept.items()]).astype(str))
            for k, i in enumerate(matters)
        }
        yield name, xr.Dataset({"value": ("point", value, {"units": unit})}, coords={"date": ("point", time), **labels})


def _changes(series: Mapping[Combination, Observations], axis: int) -> bool:
    """Tell whether the points differ between any two combinations that differ in this choice alone."""
    seen: dict[Combination, tuple[bytes, bytes]] = {}
    for combination, p in series.items():
        rest = (*combination[:axis], *combination[axis + 1 :])
        data = (p.time.tobytes(), p.value.tobytes())
        if seen.setdefault(rest, data) != data:
            return True
    return False


def models_of(graph: Graph) -> dict[str, Model]:
    """Return every model behind the quantities, and the models these contain, by name."""
    return {m.name: m for node in graph.nodes.values() for outer in node.models.values() for m in graphs.nested(outer)}


def described(graph: Graph, fits: Fits, model: Model) -> dict[str, Any] | None:
    """Return what a model says of itself; None where it fails."""
    world = World(graph, fits, np.empty(0), fits.seed, range(0))
    say = partial(fits.describe, model, graph.settings_of(model.name))
    return say() if fits.rests is None else fits.rests.aside(world, model, "described", say)


def posteriors(graph: Graph, fits: Fits, seed: int, draws: int) -> Iterator[tuple[str, xr.Dataset]]:
    """Return the draws of every input and of every fitted parameter."""
    import xarray as xr

    blocks = range(-(-draws // BLOCK))
    for name, model in models_of(graph).items():
        world = World(graph, fits, np.empty(0), seed, blocks)
        draw = partial(_posterior, world, model, draws)
        data = draw() if fits.rests is None else fits.rests.aside(world, model, f"posterior {draws}", draw)
        if data:
            yield name, xr.Dataset({p: ("draw", v) for p, v in data.items()})


def _posterior(world: World, model: Model, draws: int) -> dict[str, Any]:
    """Return draws of the inputs and of the fitted parameters of a model, (draw,) each."""
    name, graph, blocks = model.name, world.graph, world.blocks
    inputs = {key.rpartition(".")[2]: key for key in graph.inputs if key.rpartition(".")[0] == name}
    whole = {short: world.input(key, graph.inputs[key]) for short, key in inputs.items()}
    given, held = (_by_block(each, blocks) for each in (whole, world.held(model)))
    drawn = [
        world.fits.posterior(model, Streams(world.seed, name, b), g, h)
        for b, g, h in zip(blocks, given, held, strict=True)
    ]
    data = {short: v[:draws] for short, v in whole.items()}
    return data | {p: np.concatenate([d[p] for d in drawn])[:draws] for p in drawn[0] if all(p in d for d in drawn)}


def _by_block(values: Mapping[str, Any], blocks: range) -> list[dict[str, Any]]:
    """Cut draws, (draw,) each, into those of each block."""
    return [{name: each[b * BLOCK : (b + 1) * BLOCK] for name, each in values.items()} for b in blocks]
