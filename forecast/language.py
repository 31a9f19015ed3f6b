"""The functions of the language and its time, for calculating with quantities.

::

    from forecast.language import ces, clip, growth, lag, maximum, once, previous, saturate, since, softmin, t, where

Each function of a scenario's expressions has its name here and makes a quantity; ``t``, ``start`` and ``dt`` are the
date, the first date and the step, in years. numpy's ``exp``, ``log``, ``sqrt``, ``minimum`` … take quantities too.
"""

from __future__ import annotations

import functools
from typing import Any

from forecast.api.quantity import call, quantity
from forecast.formula import SCENARIO_FUNCTIONS, TIME_NAMES


def __getattr__(name: str) -> Any:
    if name in TIME_NAMES:
        return quantity(name)
    if name in SCENARIO_FUNCTIONS:
        return functools.partial(call, name)
    raise AttributeError(f"module 'forecast.language' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*TIME_NAMES, *SCENARIO_FUNCTIONS])
