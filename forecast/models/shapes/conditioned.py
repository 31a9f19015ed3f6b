"""Correlated parameters, some of them fixed: draws of the others, conditional on these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array
from forecast.models.shapes.around import Around
from forecast.models.shapes.frontiers import MAX_LOG_FACTOR

if TYPE_CHECKING:
    from forecast.base.streams import Streams


@dataclass(frozen=True, kw_only=True)
class Conditioned(Around):
    """A fitted shape with some parameters fixed at other values than their draws; the noise keeps its draws.

    Parameters
    ----------
    shape : FittedShape
    fixed : mapping of str to ndarray
        Values of the fixed parameters, (draw,) each.
    """

    fixed: Mapping[str, Array]

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return the fixed parameters, and draws of the others conditional on them."""
        return self.shape.conditional(self._parameter_draws(streams), self.fixed)

    def _parameter_draws(self, streams: Streams) -> Mapping[str, Array]:
        return streams.once(self.shape, "posterior", lambda: self.shape.posterior(streams))

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Sample the shape, and shift each draw by the change of its logarithmic path under the fixed parameters."""
        time = np.asarray(time, dtype=float)

        def free() -> tuple[Array, Array]:
            path = self.shape.sample(time, streams, observed=observed)
            # clip both paths to the largest float, so that an overflow of one does not separate them
            log_path = np.clip(
                self.shape.log_level(time, self._parameter_draws(streams)), -MAX_LOG_FACTOR, MAX_LOG_FACTOR
            )
            return np.log(path), log_path

        # neither array depends on the fixed parameters, so that runs with other values share them
        draws, log_path = streams.once(self.shape, ("sample", time.tobytes(), observed), free)
        fixed_path = self.shape.log_level(time, self.posterior(streams))
        return np.asarray(np.exp(np.clip(fixed_path + draws - log_path, -MAX_LOG_FACTOR, MAX_LOG_FACTOR)))


def condition_draws(
    draws: Mapping[str, Array], fixed: Mapping[str, Array], names: Sequence[str], covariance: Array
) -> dict[str, Array]:
    """Return draws of parameters if some are fixed: the others move by their regression on these.

    For jointly normal parameters the result has the conditional distribution (Matheron's rule). For a Student t the
    location is conditional, and the scale stays that of the draws.

    Parameters
    ----------
    drawn, fixed : mapping of str to ndarray
        (draw,) each.
    names : sequence of str
        The correlated parameters; all others keep their draws.
    covariance : ndarray
        Covariance of these, in this order; a common factor makes no difference.

    Examples
    --------
    >>> import numpy as np
    >>> drawn = {"level": np.array([1.0, 2.0]), "growth": np.array([0.1, 0.3])}
    >>> covariance = np.array([[9.0, 5.0], [5.0, 10.0]])
    >>> condition_draws(drawn, {"growth": np.array([0.2, 0.2])}, ["level", "growth"], covariance)
    {'level': array([1.05, 1.95]), 'growth': array([0.2, 0.2])}
    """
    conditions = [i for i, name in enumerate(names) if name in fixed]
    rest = [i for i, name in enumerate(names) if name not in fixed]
    out = {**draws, **fixed}
    if conditions and rest:
        # a pseudo-inverse: a parameter without variance shifts nothing
        slope = np.linalg.pinv(covariance[np.ix_(conditions, conditions)]) @ covariance[np.ix_(conditions, rest)]
        deviation = np.stack([fixed[names[i]] - draws[names[i]] for i in conditions])
        out |= {names[i]: draws[names[i]] + shift for i, shift in zip(rest, slope.T @ deviation, strict=True)}
    return out
