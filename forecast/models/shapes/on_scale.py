"""A fitted shape on another scale than that of a level: of a share it forecasts the odds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from forecast.models.protocol import Description, FittedShape
from forecast.models.scales import Scale

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from forecast.base.streams import Streams

    Array = NDArray[np.float64]

__all__ = ["OnScale"]


@dataclass(frozen=True, kw_only=True)
class OnScale(FittedShape):
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

    shape: FittedShape
    scale: Scale

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        """The settable parameters of the shape, which are of its own scale."""
        return self.shape.settable

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return the draws of the shape's parameters."""
        return self.shape.posterior(streams)

    def sample(self, time: Array, streams: Streams, *, observed: bool = False) -> Array:
        """Draw the shape, and carry it back."""
        return self._back(self.shape.sample(time, streams, observed=observed))

    def central(self, time: Array) -> Array:
        """Return the shape at the fitted parameters, carried back."""
        return self._back(self.shape.central(time))

    def with_parameters(self, parameters: Mapping[str, Array]) -> FittedShape:
        """Return the same of the shape with some parameters fixed."""
        return replace(self, shape=self.shape.with_parameters(parameters))

    def given(self, options: Mapping[str, Array]) -> FittedShape:
        """Return the same of the shape with draws of its options."""
        return replace(self, shape=self.shape.given(options))

    def describe(self) -> Description:
        """Return the description of the shape, which speaks of growth on the scale."""
        description = self.shape.describe()
        what = {"share": "the odds", "percent": "the odds", "level": "what lies above the floor"}
        of = what.get(self.scale.kind, f"exp(z), z being the value on the scale '{self.scale.kind}',")
        return replace(description, summary=f"{of}: {description.summary}")

    def _back(self, level: Array) -> Array:
        import numpy as np

        return self.scale.back(np.log(level))
