"""A distribution fitted to another quantity's worlds, in one pass before the worlds are drawn."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.distributions import Distribution
from forecast.base.streams import BLOCK
from forecast.errors import DataError, ForecastError, printable
from forecast.projection import blocks
from forecast.projection.failures import FailureLog
from forecast.scenarios.kinds.moment_fit import MomentFit

if TYPE_CHECKING:
    from forecast.projection.world import World
    from forecast.scenarios.quantities.node import Combination, Node

__all__ = ["WORLDS", "by_moments", "pass_before"]

#: Draws to fit to, whatever the number of draws of the run: otherwise the fit, and with it every draw, would change
#: with that number, and fewer draws would be no prefix of more. The mean is then known to 1.1 % of the spread, and the
#: spread of a normal to 0.8 %.
WORLDS = 8 * BLOCK


def pass_before(world: World) -> None:
    """Fit every distribution that is fitted to another quantity's worlds; a failure is raised where it is drawn."""
    for node in world.graph.nodes.values():
        if isinstance(node.quantity, MomentFit) and node.fixed is None:
            for combination in world.graph.combinations(node.dims):
                with contextlib.suppress(ForecastError):
                    world.fitted(node, combination)


def by_moments(world: World, node: Node, combination: Combination) -> Distribution:
    """Return the distribution with the mean and the variance of another quantity, or of its logarithm.

    Raises
    ------
    DataError
        Where the quantity changes with time, or has no moments.
    """
    assert isinstance(node.quantity, MomentFit)
    of, family = node.quantity.of, node.quantity.fitted
    where = f"quantities.{node.name}.of"
    record = FailureLog()
    whole = replace(world, blocks=blocks.covering(0, WORLDS), memo={}, faults=[], told={})
    own = world.restrict(of, node.dims, combination)
    path, faults = whole.watched(partial(whole.quantity, of, own))
    if (path != path[:1]).any():
        raise DataError(f"{where}: '{printable(of, 80)}' changes with time; fit to what is one number a world")
    failing = record.add((of, own), faults, 0, WORLDS)
    for _, _, error in record.too_many(WORLDS):
        raise error
    values = path[0][~failing]
    if family == "lognormal":
        if not (values > 0).all():
            below = int((values <= 0).sum())
            raise DataError(f"{where}: {below} of {WORLDS} values are not above 0: they have no lognormal distribution")
        values = np.log(values)
    if not np.isfinite(values).all():
        lost = int((~np.isfinite(values)).sum())
        raise DataError(f"{where}: {lost} of {WORLDS} values are not finite: they have no mean")
    if values.min() == values.max():  # somebody has set it to a number
        return Distribution("fixed", ((0.5, float(values[0])),))
    mean, deviation = float(values.mean()), float(values.std())
    ends = [(p, mean + side * deviation) for side, p in ((-1, 0.15865525393145707), (1, 0.8413447460685429))]
    if family == "lognormal":
        ends = [(p, float(np.exp(end))) for p, end in ends]
    return Distribution(family, tuple(ends))
