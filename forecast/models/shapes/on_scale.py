"""A fitted shape on another scale than that of a level: of a share it forecasts the odds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from forecast.base.arrays import Array
from forecast.models.protocol import Description
from forecast.models.scales import Scale
from forecast.models.shapes.around import Around

if TYPE_CHECKING:
    from forecast.base.streams import Streams


@dataclass(frozen=True, kw_only=True)
class OnScale(Around):
    """A shape that was fitted to exp(z), z being a series on its scale, and whose draws are carried back.

    Parameters
    ----------
    shape : FittedShape
    scale : Scale

    Examples
    --------
    >>> import numpy as np
    >>> from forecast.models import shape
    >>> from forecast.models.scales import Scale
    >>> from forecast.streams import Streams
    >>> share, time = Scale(kind="share", ceiling=1.0), np.arange(2000.0, 2010.0)
    >>> odds = np.exp(share.to(np.linspace(0.1, 0.9, 10)))
    >>> fitted = OnScale(shape=shape("trends/exponential").fit(time, odds), scale=share)
    >>> bool((fitted.sample(np.array([2050.0]), Streams(0, "mine", 0)) < 1).all())
    True
    """

    scale: Scale

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw the shape, and carry it back."""
        return self._back(self.shape.sample(time, streams, observed=observed))

    def central(self, time: Array) -> Array:
        """Return the shape at the fitted parameters, carried back."""
        return self._back(self.shape.central(time))

    def describe(self) -> Description:
        """Return the description of the shape, which speaks of growth on the scale."""
        description = self.shape.describe()
        what = {"share": "the odds", "percent": "the odds", "level": "what lies above the floor"}
        of = what.get(self.scale.kind, f"exp(z), z being the value on the scale '{self.scale.kind}',")
        return replace(description, summary=f"{of}: {description.summary}")

    def _back(self, level: Array) -> Array:
        return self.scale.back(np.log(level))
