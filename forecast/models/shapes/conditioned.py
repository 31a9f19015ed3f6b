"""Parameters that vary together, of which some are held at other values than were drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forecast.models.protocol import Description, FittedShape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.base.streams import Streams

    Array = NDArray[np.float64]

__all__ = ["Conditioned", "regressed"]

#: A factor beyond e to this leaves what a float can hold once units are converted; such draws stay there, finite.
_LARGEST = 600.0


@dataclass(frozen=True, kw_only=True)
class Conditioned(FittedShape):
    """A fitted shape with some parameters held at other values than are drawn; the noise stays as it is drawn.

    Parameters
    ----------
    shape : FittedShape
    held : mapping of str to ndarray
        Draws, (draw,) each.
    """

    shape: FittedShape
    held: Mapping[str, Array]

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        """What may be set of the shape."""
        return self.shape.settable

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return the parameters that are held, and the others as they are where these are known."""
        return self.shape.conditional(self._drawn(streams), self.held)

    def _drawn(self, streams: Streams) -> Mapping[str, Array]:
        return streams.once(self.shape, "posterior", lambda: self.shape.posterior(streams))

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw the shape, and move each draw by what the parameters gain."""
        import numpy as np

        time = np.asarray(time, dtype=float)

        def free() -> tuple[Array, Array]:
            level = self.shape.sample(time, streams, observed=observed)
            # a level that left what a float holds stands at its end, and so did what made it
            made = np.clip(self.shape.log_level(time, self._drawn(streams)), -_LARGEST, _LARGEST)
            return np.log(level), made

        # neither depends on what is held, at one value or at the next
        drawn, made = streams.once(self.shape, ("sample", time.tobytes(), observed), free)
        then = self.shape.log_level(time, self.posterior(streams))
        return np.asarray(np.exp(np.clip(then + drawn - made, -_LARGEST, _LARGEST)))

    def central(self, time: Array) -> Array:
        """Return the shape at the fitted parameters: who holds some asks for draws."""
        return self.shape.central(time)

    def describe(self) -> Description:
        """Say what the shape says."""
        return self.shape.describe()


def regressed(
    drawn: Mapping[str, Array], held: Mapping[str, Array], names: Sequence[str], covariance: Array
) -> dict[str, Array]:
    """Return draws of parameters of which some are held: the others move by their regression on those.

    Where all are jointly normal this draws exactly from the conditional distribution (Matheron's rule). Of a Student t
    the location is that of the conditional distribution, and the spread stays that of the draws.

    Parameters
    ----------
    drawn, held : mapping of str to ndarray
        (draw,) each.
    names : sequence of str
        The parameters that vary together; all others keep their draws.
    covariance : ndarray
        Theirs, in this order; a factor common to all of it makes no difference.

    Examples
    --------
    >>> import numpy as np
    >>> drawn = {"level": np.array([1.0, 2.0]), "growth": np.array([0.1, 0.3])}
    >>> regressed(drawn, {"growth": np.array([0.2, 0.2])}, ["level", "growth"], np.array([[9.0, 5.0], [5.0, 10.0]]))
    {'level': array([1.05, 1.95]), 'growth': array([0.2, 0.2])}
    """
    import numpy as np

    known = [i for i, name in enumerate(names) if name in held]
    rest = [i for i, name in enumerate(names) if name not in held]
    out = {**drawn, **held}
    if known and rest:
        # a parameter that does not vary moves nothing
        slope = np.linalg.pinv(covariance[np.ix_(known, known)]) @ covariance[np.ix_(known, rest)]
        away = np.stack([held[names[i]] - drawn[names[i]] for i in known])
        out |= {names[i]: drawn[names[i]] + moved for i, moved in zip(rest, slope.T @ away, strict=True)}
    return out
