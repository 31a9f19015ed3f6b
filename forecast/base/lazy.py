"""Libraries that take longer to import than a fit takes: imported where they are first used.

``from forecast.base.lazy import xr`` costs nothing until the first use of an attribute of `xr`. numpy is imported
plainly at the top of whatever computes, and not at all by what only lists and describes. Its masked arrays, which
hardly anybody has, are recognised without importing their module, which takes as long as a small fit.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    import xarray

    xr = xarray  # no import of that name, which mypy would not let others use
else:
    import lazy_loader

    xr = lazy_loader.load("xarray")


def is_masked_array(values: Any) -> TypeGuard[Any]:
    """Tell whether values are a masked array; where nobody has imported what makes one, none is.

    Nor is one while another thread imports it, whose half-made module anybody can see.

    Examples
    --------
    >>> import numpy as np
    >>> is_masked_array(np.ma.masked_array([1.0])), is_masked_array(np.array([1.0])), is_masked_array("text")
    (True, False, False)
    """
    made = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return made is not None and isinstance(values, made)


def is_masked_value(value: object) -> bool:
    """Tell whether a value is the one that stands for what is masked.

    Examples
    --------
    >>> import numpy as np
    >>> is_masked_value(np.ma.masked), is_masked_value(0.0)
    (True, False)
    """
    masked = getattr(sys.modules.get("numpy.ma"), "masked", None)
    return masked is not None and value is masked
