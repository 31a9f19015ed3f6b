"""Scaling laws and forecasts from plugins: fits, projections and questions, each with an interval and a source.

The names below are the front door. They are listed in ``__init__.pyi`` and imported at first use, so that
``import forecast`` and the command line's listings stay cheap.
"""

from __future__ import annotations

import lazy_loader

__version__ = "0.1.0"


def catalogue(kind: str = "law") -> list[str]:
    """List the full names of what plugins bring.

    Parameters
    ----------
    kind : {"law", "shape", "table", "model", "scenario", "claim", "score", "reader", "unit", "command"}

    Returns
    -------
    list of str

    Examples
    --------
    >>> import forecast
    >>> "scaling/chinchilla" in forecast.catalogue("law")
    True
    """
    from forecast.contract.registry import HOOKS, get_registry
    from forecast.errors import UnknownNameError

    kinds = [spec.kind for spec in HOOKS.values()]
    if kind not in kinds:
        raise UnknownNameError("kind", kind, kinds)
    return get_registry().names(kind)


__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__", "catalogue"]
