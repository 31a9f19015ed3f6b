"""Scaling laws and forecasts from plugins: fits, projections and questions, each with an interval and a source.

The names below are the front door. They are listed in ``__init__.pyi`` and imported at first use, so that
``import forecast`` and the command line's listings stay cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from forecast.contract.catalogue import Catalogue

__version__ = "0.2.0"


def catalogue(kind: str = "law") -> Catalogue:
    """List the full names of what plugins bring, each with its title.

    Parameters
    ----------
    kind : str
        ``"law"``, ``"objective"``, ``"shape"``, ``"table"``, ``"model"``, ``"quantity"``, ``"scenario"``, ``"claim"``,
        ``"score"``, ``"reader"``, ``"unit"`` or ``"command"``.

    Returns
    -------
    Catalogue
        A list of names, which shows as a table of names and titles; `titles` has them by name.

    Examples
    --------
    >>> import forecast
    >>> "scaling/chinchilla" in forecast.catalogue("law")
    True
    """
    from forecast.contract.catalogue import Catalogue
    from forecast.contract.registry import HOOKS, get_registry
    from forecast.errors import UnknownNameError, printable

    kinds = [spec.kind for spec in HOOKS.values()]
    if kind not in kinds:
        raise UnknownNameError("kind", kind, kinds)
    registry = get_registry()
    names = registry.names(kind, parts=False)
    return Catalogue({name: printable(getattr(registry.find(kind, name).spec, "title", ""), 120) for name in names})


_imported, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__", "catalogue"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        try:
            return _imported(name)
        except AttributeError:
            from forecast.base.other_words import absent

            raise absent("module 'forecast'", name, __all__) from None
