"""Law + data = fit. One idea a file: data, objective, start, solver, uncertainty, result, allocate."""

from __future__ import annotations

from forecast.fit.fit import Fit
from forecast.fit.fit_law import fit_law, published_fit
from forecast.fit.options import FitRequest

__all__ = ["Fit", "FitRequest", "fit_law", "published_fit"]
