"""Results that were saved, of every kind."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from forecast.base.lazy import xr
from forecast.errors import printable

if TYPE_CHECKING:
    from forecast.fit.fit import Fit
    from forecast.fit.fits import Fits

__all__ = ["load"]


def load(path: str | os.PathLike[str]) -> Fit | Fits | xr.DataTree:
    """Load what `forecast` saved: a `Fit`, `Fits` over a dimension; projections and comparisons as `xarray.DataTree`.

    Raises
    ------
    ResultError
        In one line with the file's name: see `forecast.base.netcdf.load`; or a fit whose law is not here.

    Examples
    --------
    >>> load("nowhere.nc")
    Traceback (most recent call last):
    forecast.errors.ResultError: nowhere.nc: no such file or directory
    """
    from forecast.base import netcdf
    from forecast.fit.compare import comparison_of, is_comparison
    from forecast.fit.save import fit_of, guarded, is_fit
    from forecast.projection.result_schema import check_projection, is_projection

    tree = netcdf.load(path)
    if is_fit(tree):
        return fit_of(tree, path)
    if is_comparison(tree):
        guarded(lambda: comparison_of(tree, path), printable(path), "comparison")
        return tree
    if is_projection(tree):
        guarded(lambda: check_projection(tree, printable(path)), printable(path), "projection")
    return tree
