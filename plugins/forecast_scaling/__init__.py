"""Scaling laws: how loss, skill and cost move with parameters, data, compute, precision and time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from forecast import LawSpec, hookimpl, records_from

#: How forecasts with laws have done; `forecast_scaling.make_record` writes it.
LAW_RECORD = Path(__file__).with_name("track-record.csv")


@hookimpl
def forecast_laws() -> Iterator[LawSpec]:
    """Bring the catalogue, a file a family, and the one law that no formula can write."""
    for spec in (*records_from(Path(__file__).with_name("laws"), LawSpec), _filtering()):
        yield replace(spec, record=str(LAW_RECORD))


def _filtering() -> LawSpec:
    return LawSpec(
        name="filtering",
        title="Error from samples seen, of a pool whose worth halves with repetition",
        target="forecast_scaling.code:filtering",
        variables={"n": "", "U": ""},
        output="error",
        positive=("a", "d"),
        bounds={"b": (-2.0, 0.0), "tau": (0.05, 100.0)},
        objective="least_squares_log",
        example={"a": 8.0, "b": -0.2, "tau": 2.0, "d": 0.1},
        domain={"n": (1e6, 1e8), "U": (5e6, 1e8)},
        reference="Goyal, Maini, Lipton, Raghunathan, Kolter 2024, Scaling Laws for Data Filtering, arXiv:2404.07177: "
        "a*n1**b1*prod (n_j/n_(j-1))**b_j + d with b_k halving every tau passes; taken from notes, not compared with "
        "the paper",
    )
