"""Readers of described files: from the file as its authors publish it to columns of our schema."""

from __future__ import annotations

from pathlib import Path

__all__ = ["chinchilla_points"]


def chinchilla_points(path: Path) -> dict[str, list[object]]:
    """Read the points of Besiroglu et al. 2024: keep what was measured, number the rows, drop pixels and colours."""
    from forecast.tables import csvfile

    found = csvfile.read(path)
    columns: dict[str, list[object]] = {"run": list(range(1, len(found["loss"]) + 1))}
    for ours, theirs in {"params": "Model Size", "compute": "Training FLOP", "loss": "loss"}.items():
        columns[ours] = list(found[theirs])
    return columns
