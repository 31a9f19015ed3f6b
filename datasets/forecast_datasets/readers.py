"""Readers of described files: from the file as its authors publish it to columns of our schema."""

from __future__ import annotations

from pathlib import Path

from forecast_datasets.rows import Columns, Numbers, figure, numbers, read_rows, require, text

__all__ = [
    "chinchilla_points",
    "dram_curve",
    "gpu_trends",
    "hard_disk_curve",
    "processor_cores",
    "processor_frequency",
    "processor_power",
    "processor_specint",
    "processor_transistors",
    "wind_curve",
]


def chinchilla_points(path: Path) -> dict[str, list[object]]:
    """Read the points of Besiroglu et al. 2024: keep what was measured, number the rows, drop pixels and colours."""
    from forecast.tables.file_formats import read_file

    found = read_file(path, reader="none")
    columns: dict[str, list[object]] = {"run": list(range(1, len(found["loss"]) + 1))}
    for ours, theirs in {"params": "Model Size", "compute": "Training FLOP", "loss": "loss"}.items():
        columns[ours] = list(found[theirs])
    return columns


_GPU: Numbers = {
    "peak_fp16": (("FP16_flops",), 1.0),
    "peak_fp32": (("FP32_flops",), 1.0),
    "peak_fp64": (("FP64_flops",), 1.0),
    "price": (("real_price_2020",), 1.0),
    "process": (("process_size_in_nm",), 1.0),
    "cores": (("num_cores",), 1.0),
    "tdp": (("TDP_in_W",), 1.0),
    "transistors": (("transistors_in_millions",), 1e6),
    "die_area": (("die_size_in_mm",), 1.0),
    "bandwidth": (("bandwidth_in_GBs",), 1.0),
    "memory": (("memory_size_in_MB",), 1.0),
}


def gpu_trends(path: Path) -> Columns:
    """Read the dated GPUs of Hobbhahn & Besiroglu 2022; the first column, which has no name, is a GPU's number."""
    rows = read_rows(path, "gpu_trends")
    require(rows, ("index", "product", "date", *(names[0] for names, _ in _GPU.values())), path, "gpu_trends")
    dated = [row for row in rows if row["date"]]
    return {
        "gpu": text(dated, "index"),
        "name": text(dated, "product"),
        "date": [row["date"][:10] for row in dated],
        **numbers(dated, _GPU),
    }


def processor_transistors(path: Path) -> dict[str, list[object]]:
    """Read Rupp's transistors, printed in thousands."""
    return _processors(path, "transistors", 1e3)


def processor_frequency(path: Path) -> dict[str, list[object]]:
    """Read Rupp's clock frequencies, in MHz."""
    return _processors(path, "frequency", 1.0)


def processor_power(path: Path) -> dict[str, list[object]]:
    """Read Rupp's typical power, in W."""
    return _processors(path, "power", 1.0)


def processor_specint(path: Path) -> dict[str, list[object]]:
    """Read Rupp's single-thread performance, SPECint printed times a thousand."""
    return _processors(path, "specint", 1e-3)


def processor_cores(path: Path) -> dict[str, list[object]]:
    """Read Rupp's numbers of logical cores."""
    return _processors(path, "cores", 1.0)


def _processors(path: Path, quantity: str, factor: float) -> dict[str, list[object]]:
    """Read two columns, decimal year and value; ``#`` starts a remark. The points are numbered in the file's order."""
    import numpy as np

    from forecast.base.files import read_bytes
    from forecast.errors import DataError
    from forecast.tables import from_decimal_year
    from forecast.tables.file_formats import MAX_FILE_BYTES
    from forecast.tables.schema import cells as grammar

    years, values = [], []
    for number, line in enumerate(read_bytes(path, limit=MAX_FILE_BYTES).decode("ascii").splitlines(), start=1):
        cells = line.partition("#")[0].split()
        if not cells:
            continue
        try:
            year, value = map(grammar.parse_cell_number, cells)
        except ValueError:
            raise DataError(f"{path.name}:{number}: expected a year and a value, got '{line[:40]}'") from None
        years.append(year)
        values.append(value * factor)
    dates = np.datetime_as_string(from_decimal_year(np.array(years)), unit="D")
    return {
        "point": list(range(1, len(values) + 1)),
        f"{quantity}_date": [str(date) for date in dates],
        quantity: list(values),
    }


def dram_curve(path: Path) -> dict[str, list[object]]:
    """Read prices and shipments of DRAM; shipments are printed in millions of megabits."""
    return _curve(path, "dram", 1.0, 1.0)


def hard_disk_curve(path: Path) -> dict[str, list[object]]:
    """Read prices and shipments of hard disks."""
    return _curve(path, "hard_disk", 1.0, 1.0)


def wind_curve(path: Path) -> dict[str, list[object]]:
    """Read the cost of wind electricity, printed in cents, and its production, in thousands of kWh."""
    return _curve(path, "wind", 1e-2, 1e3)


def _curve(path: Path, name: str, cost: float, made: float) -> dict[str, list[object]]:
    """Read a file of the performance-curve database: price, year, yearly and previous production, in this order."""
    from forecast.errors import DataError
    from forecast.tables.file_formats import read_file
    from forecast.tables.schema import cells

    table = read_file(path, reader="none")
    if len(table) != 4 or "Time" not in list(table)[1]:
        raise DataError(f"{path.name}: expected price, time, yearly and previous production: another file?")

    def number(cell: str, factor: float) -> float | None:
        return None if cell == "NA" else figure(cell, factor, path.name)

    read = [
        (number(p, cost), cells.integer(y), number(a, made), number(b, made))
        for p, y, a, b in zip(*table.values(), strict=True)
    ]
    return {
        "year": [year for _, year, _, _ in read],
        f"{name}_cost": [price for price, _, _, _ in read],
        f"{name}_production": [a for _, _, a, _ in read],
        f"{name}_cumulative": [None if a is None or b is None else a + b for _, _, a, b in read],
    }
