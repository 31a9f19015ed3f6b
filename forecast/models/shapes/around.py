"""A wrapper of a fitted shape: all that is not its own is that of the shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from forecast.base.arrays import Array
from forecast.models.protocol import Description, FittedShape

if TYPE_CHECKING:
    from forecast.base.streams import Streams


@dataclass(frozen=True, kw_only=True)
class Around(FittedShape):
    """A fitted shape around another one, of which it changes the paths; a subclass says how.

    Parameters
    ----------
    shape : FittedShape
    """

    shape: FittedShape

    @property
    def settable(self) -> Mapping[str, str]:  # type: ignore[override]
        """The settable parameters of the shape."""
        return self.shape.settable

    def posterior(self, streams: Streams) -> Mapping[str, Array]:
        """Return the draws of the shape's parameters."""
        return self.shape.posterior(streams)

    def central(self, time: Array) -> Array:
        """Return the shape at the fitted parameters."""
        return self.shape.central(time)

    def with_parameters(self, parameters: Mapping[str, Array]) -> FittedShape:
        """Return the same of the shape with some parameters fixed."""
        return replace(self, shape=self.shape.with_parameters(parameters))

    def given(self, options: Mapping[str, Array]) -> FittedShape:
        """Return the same of the shape with draws of its options."""
        return replace(self, shape=self.shape.given(options))

    def describe(self) -> Description:
        """Return the description of the shape."""
        return self.shape.describe()
