"""A distribution fitted to another quantity's worlds, in one pass before the worlds are drawn."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.distributions import Distribution
from forecast.base.streams import DRAWS_PER_BLOCK
from forecast.errors import DataError, ForecastError, printable
from forecast.projection import blocks
from forecast.projection.failures import FailureLog

if TYPE_CHECKING:
    from forecast.projection.evaluate import Block

#: Draws to fit to, whatever the number of draws of the run: otherwise the fit, and with it every draw, would change
#: with that number, and fewer draws would be no prefix of more. The mean is then known to 1.1 % of the spread, and the
#: spread of a normal to 0.8 %.
WORLDS = 8 * DRAWS_PER_BLOCK


def pass_before(block: Block) -> None:
    """Fit every distribution that is fitted to another quantity's worlds; a failure is raised where it is drawn."""
    for place, step in enumerate(block.plan.steps.every):
        if step.operation == "moments":
            with contextlib.suppress(ForecastError):
                block.value(place)


def by_moments(block: Block, name: str, of: str, family: str, place: int) -> Distribution:
    """Return the distribution with the mean and the variance of another quantity, or of its logarithm.

    Parameters
    ----------
    block : Block
        Any worlds of the plan.
    name, of : str
        The quantity that is drawn, and the one to which it is fitted, for messages.
    family : {"normal", "lognormal"}
    place : int
        The step of the other quantity.

    Raises
    ------
    DataError
        Where the quantity changes with time, or has no moments.
    """
    where = f"quantities.{name}.of"
    record = FailureLog()
    whole = type(block)(block.plan, blocks.blocks_between(0, WORLDS))  # what evaluates it imports this module
    path, faults = whole.watched(partial(whole.value, place))
    if (path != path[:1]).any():
        raise DataError(f"{where}: '{printable(of, 80)}' changes with time; fit to what is one number a world")
    failing = record.add(of, faults, 0, WORLDS)
    for _, _, error in record.exceeding(WORLDS):
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
