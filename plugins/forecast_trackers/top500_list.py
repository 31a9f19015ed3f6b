"""TOP500 lists: what their columns are measured in has changed over the years."""

from __future__ import annotations

from pathlib import Path

import forecast
from forecast_trackers.step_records import is_zero

__all__ = ["read_list"]

#: By the start of a column's name: the unit that the lists before June 2017 do not state.
_EARLY_UNITS = {"rmax": "GFLOP/s", "rpeak": "GFLOP/s", "power": "kW", "mflops/watt": "MFLOP/s/W"}
#: By what stands in brackets in later lists, in lower case.
_UNITS = {"[tflop/s]": "TFLOP/s", "(kw)": "kW", "[gflops/watts]": "GFLOP/s/W", "(mhz)": "MHz"}
#: Zero is what early lists have where nothing was handed in.
_NEVER_ZERO = ("nmax", "nhalf")


def read_list(path: Path) -> dict[str, list[str]]:
    """Return a list with the units of its measurements; a zero among them is a missing cell.

    Lists before June 2017 have ``Rmax`` in GFLOP/s and do not say so, later ones ``Rmax [TFlop/s]``.

    Parameters
    ----------
    path : pathlib.Path
        TSV, CSV, XLS or XLSX.

    Returns
    -------
    dict of str to list
    """
    columns = forecast.read(path, reader="none")
    table = {}
    for name in columns:
        texts, unit = columns.texts(name), _unit(name.casefold())
        if unit or name.casefold() in _NEVER_ZERO:
            texts = [f"{text} {unit}".strip() if text and not is_zero(text) else "" for text in texts]
        table[name] = texts
    return table


def _unit(name: str) -> str:
    """Return the unit of a column, empty if it has none that matters.

    Examples
    --------
    >>> [_unit(name) for name in ("rmax", "rmax [tflop/s]", "power source", "nmax")]
    ['GFLOP/s', 'TFLOP/s', '', '']
    """
    stated = next((unit for end, unit in _UNITS.items() if name.endswith(end)), "")
    return stated or _EARLY_UNITS.get(name, "")
