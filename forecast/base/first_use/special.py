"""The functions of `scipy.special` that serve here, imported where they are first used, from a lean scipy."""

from __future__ import annotations

from forecast.base.first_use.lean_scipy import import_lean

import_lean()

from scipy.special import (  # noqa: E402 - after what makes it lean
    bdtr,
    betaincinv,
    erf,
    erfc,
    fdtrc,
    fdtri,
    gammainccinv,
    gammaincinv,
    gammaln,
    ndtr,
    ndtri,
    stdtrit,
)

__all__ = [
    "bdtr",
    "betaincinv",
    "erf",
    "erfc",
    "fdtrc",
    "fdtri",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "ndtr",
    "ndtri",
    "stdtrit",
]
