"""Libraries that take longer to import than a fit takes: imported where they are first used.

``from forecast.base.lazy import xr`` costs nothing until the first use of an attribute of `xr`. numpy is imported
plainly at the top of whatever computes, and not at all by what only lists and describes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr
else:
    import lazy_loader

    xr = lazy_loader.load("xarray")

__all__ = ["xr"]
