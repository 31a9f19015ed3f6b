"""Law + data = fit. One idea a file: data, objective, start, solver, uncertainty, result, allocate."""

from __future__ import annotations

from forecast.fit.fitting import fit_law, published_fit
from forecast.fit.request import Request
from forecast.fit.result import Fit

__all__ = ["Fit", "Request", "fit_law", "published_fit"]
