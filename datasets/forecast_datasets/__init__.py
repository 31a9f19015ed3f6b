"""The tables this project compiles from public facts, a source per row, and those it describes without shipping."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from forecast import ClaimSpec, ReaderSpec, TableSpec, UnitSpec, hookimpl
from forecast_datasets.claims import past_forecasts

_HERE = Path(__file__).parent

_CURVES = "performance-curve database, through carnegie/clab_experience_curve"
_EPOCH = "Epoch AI, https://epoch.ai/data"
_GPUS = "Hobbhahn & Besiroglu 2022, Predicting GPU performance"
_OBSERVATIONAL = "Ruan, Maddison, Hashimoto 2024, arXiv:2405.10938"
_POINTS = "Besiroglu, Erdil, Barnett, You 2024, arXiv:2404.10102"
_PROCESSORS = "Rupp, Microprocessor trend data"

#: What a descriptor's `parser` names, the function here that reads the file, and whose file it is.
_READERS = (
    ("chinchilla-points", "readers:chinchilla_points", _POINTS),
    ("gpu-trends", "readers:gpu_trends", _GPUS),
    ("processor-transistors", "readers:processor_transistors", _PROCESSORS),
    ("processor-frequency", "readers:processor_frequency", _PROCESSORS),
    ("processor-power", "readers:processor_power", _PROCESSORS),
    ("processor-specint", "readers:processor_specint", _PROCESSORS),
    ("processor-cores", "readers:processor_cores", _PROCESSORS),
    ("dram-curve", "readers:dram_curve", _CURVES),
    ("hard-disk-curve", "readers:hard_disk_curve", _CURVES),
    ("wind-curve", "readers:wind_curve", _CURVES),
    ("performance-curves", "curves:performance_curves_archive", _CURVES),
    ("epoch-hardware", "epoch:epoch_hardware", _EPOCH),
    ("epoch-index", "epoch:epoch_index", _EPOCH),
    ("epoch-models", "epoch:epoch_models", _EPOCH),
    ("epoch-prices", "epoch:epoch_prices", _EPOCH),
    ("observational-benchmarks", "observational:benchmarks", _OBSERVATIONAL),
    ("observational-emergent", "observational:emergent", _OBSERVATIONAL),
)


def _table(descriptor: Path) -> TableSpec:
    """Return the record of a table: its descriptor says what it is called, and where it is from."""
    stated = json.loads(descriptor.read_text("utf-8"))
    fetched = any("://" in resource["path"] for resource in stated["resources"])
    sources = (", ".join(filter(None, (each.get("title"), each.get("path")))) for each in stated["sources"])
    return TableSpec(
        name=stated["name"],
        descriptor=str(descriptor),
        title=stated["title"] + (" (described, not shipped)" if fetched else ""),
        reference="; ".join(sources),
    )


@hookimpl
def forecast_tables() -> Iterator[TableSpec]:
    """Bring the tables in the folders next to this file.

    Examples
    --------
    >>> [table.name for table in forecast_tables()][:4]
    ['accelerator-prices', 'accelerators', 'ai-clusters', 'benchmark-difficulty']
    """
    yield from map(_table, sorted(_HERE.glob("*/datapackage.json")))


@hookimpl
def forecast_claims() -> Iterator[ClaimSpec]:
    """Bring the dated forecasts of others, which their outcomes judge.

    Examples
    --------
    >>> next(iter(forecast_claims())).name
    'linpack-100-teraflops'
    """
    yield from past_forecasts(_HERE / "past-forecasts" / "past-forecasts.csv")


@hookimpl
def forecast_readers() -> Iterator[ReaderSpec]:
    """Bring the readers of the files that tables here describe, as their authors publish them.

    Examples
    --------
    >>> [reader.name for reader in forecast_readers()][:3]
    ['chinchilla-points', 'gpu-trends', 'processor-transistors']
    """
    for name, function, reference in _READERS:
        yield ReaderSpec(name=name, target=f"forecast_datasets.{function}", reference=reference)


@hookimpl
def forecast_units() -> Iterator[UnitSpec]:
    """Bring the unit of integer rates: an operation on integers is no FLOP, and the two never add.

    Examples
    --------
    >>> [unit.definition for unit in forecast_units()]
    ['OP = [integer_operation]']
    """
    yield UnitSpec(
        name="integer-operation",
        definition="OP = [integer_operation]",
        title="Integer operation",
        reference="Makers' data sheets give INT8 rates in TOPS, apart from TFLOPS",
    )
