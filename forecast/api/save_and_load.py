"""Results that were saved, of every kind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecast.base import netcdf
from forecast.base.lazy import xr
from forecast.errors import UsageError, printable
from forecast.projection.result import Projection

if TYPE_CHECKING:
    from forecast.api.answer import Answer
    from forecast.fit.compare import Comparison
    from forecast.fit.fit import Fit, Fits


def save(result: Fit | Fits | Answer | Projection | Comparison | xr.DataTree, path: str | os.PathLike[str]) -> Path:
    """Save a fit, fits, an answer, a projection or a comparison as netCDF, whole or not at all; `load` reads it.

    Raises
    ------
    ResultError
        If it cannot be written.
    UsageError
        For any other object.

    Examples
    --------
    >>> import pathlib, tempfile, forecast
    >>> fit = forecast.law("scaling/chinchilla").published("besiroglu2024")
    >>> path = save(fit, pathlib.Path(tempfile.mkdtemp(), "fit.nc"))
    >>> load(path).values == fit.values
    True
    """
    from forecast.api.answer import Answer
    from forecast.fit.compare import Comparison
    from forecast.fit.fit import Fit, Fits

    if isinstance(result, (Fit, Fits, Comparison)):
        return result.save(path)
    if isinstance(result, Answer):
        result = result.run
    if isinstance(result, Projection):
        return result.save(path)
    if isinstance(result, xr.DataTree):
        return netcdf.save(result, path)
    raise UsageError(f"save: expected a fit, an answer or a projection, got {type(result).__name__}")


def load(path: str | os.PathLike[str]) -> Any:
    """Load what `forecast` saved: a `Fit`, `Fits` over a dimension, an `Answer`, a `Projection` or a `Comparison`.

    A projection that asks anything is the `Answer` that it opens with, and ``.run`` the projection; one that asks
    nothing is a `Projection`. A further question to such an answer runs the scenario of the file again;
    nothing of it runs before.

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
    from forecast.api.answer import Answer
    from forecast.fit.compare import comparison_of, is_comparison
    from forecast.fit.save import fit_of, is_fit, read_untrusted
    from forecast.projection.saved_projection import check_projection, is_projection

    tree = netcdf.load(path)
    if is_fit(tree):
        return fit_of(tree, path)
    if is_comparison(tree):
        return read_untrusted(lambda: comparison_of(tree, path), printable(path), "comparison")
    if is_projection(tree):
        read_untrusted(lambda: check_projection(tree, printable(path)), printable(path), "projection")
        run = Projection.of_tree(tree)
        return run if run.opening is None else Answer._from_projection(run, Path(path).parent)
    return tree
